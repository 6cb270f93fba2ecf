//! Clients on other nodes, at the head: served like those of its own node, over a connection that their daemon passes
//! on.

use ferrite_types::{DaemonRank, RankSet};
use ferrite_wire::ClientWord;

use crate::cx::Cx;
use crate::head::Head;
use crate::{Effect, RelayEffect, RelayId};

impl Head {
    /// A daemon speaks for a client of its node (spec L40).
    pub(in crate::head) fn on_client_word(&mut self, daemon: DaemonRank, number: u64, word: ClientWord, cx: &mut Cx) {
        let client = RelayId { daemon, number };
        match word {
            ClientWord::Came => {
                cx.effect(Effect::Relay(RelayEffect::Serve(client)));
                self.relays.open(client, cx);
            }
            ClientWord::Bytes(_) | ClientWord::Credit(_) | ClientWord::Gone => self.relays.receive(client, word, cx),
        }
    }

    /// Daemons are dead: so is the way to their clients.
    pub(in crate::head) fn lose_clients(&mut self, daemons: &RankSet, cx: &mut Cx) {
        self.relays.lose(daemons, cx);
    }

    /// Daemons are to leave: their clients get what waits for them, and the daemons go when that is read.
    pub(in crate::head) fn part_with_clients(&mut self, daemons: &RankSet, cx: &mut Cx) {
        self.relays.finish(|daemon| daemons.contains(daemon), cx);
    }

    /// The DVM ends: when the last job has been told of, there is nothing more to say to anybody.
    pub(in crate::head) fn part_with_everybody(&mut self, cx: &mut Cx) {
        if self.exit.begun() && self.jobs.is_empty() {
            self.relays.finish(|_| true, cx);
        }
    }
}
