//! Relayed clients at the head. The head serves them like clients of its own node; their daemon passes the bytes on.

use ferrite_types::{DaemonRank, RankSet};
use ferrite_wire::ClientWord;

use super::Clients;
use crate::cx::Cx;
use crate::head::Head;
use crate::{Effect, RelayEffect, RelayId, RelayInput};

impl Clients {
    /// Handles an event on the connection of a relayed client of the head's node.
    pub(in crate::head) fn on_relay(&mut self, input: RelayInput, cx: &mut Cx) {
        self.relays.handle(input, cx);
    }

    /// Handles a message of a relayed client, which its daemon has passed on (spec L40).
    pub(in crate::head) fn on_word(&mut self, daemon: DaemonRank, number: u64, word: ClientWord, cx: &mut Cx) {
        let client = RelayId { daemon, number };
        match word {
            ClientWord::Came => {
                cx.effect(Effect::Relay(RelayEffect::Serve(client)));
                self.relays.open(client, cx);
            }
            ClientWord::Bytes(_) | ClientWord::Credit(_) | ClientWord::Gone => self.relays.receive(client, word, cx),
        }
    }

    /// Drops the relayed clients of dead daemons.
    pub(in crate::head) fn lose(&mut self, daemons: &RankSet, cx: &mut Cx) {
        self.relays.lose(daemons, cx);
    }

    /// Closes the connections of relayed clients at leaving daemons. Each client first gets the output that waits for
    /// it; the daemon leaves when that is read.
    pub(in crate::head) fn part_with(&mut self, daemons: &RankSet, cx: &mut Cx) {
        self.relays.finish(|daemon| daemons.contains(daemon), cx);
    }
}

impl Head {
    /// Closes the connections of all relayed clients at the end of the DVM, after the last reply.
    pub(in crate::head) fn part_with_everybody(&mut self, cx: &mut Cx) {
        if self.dvm.is_ending() && self.jobs.is_empty() {
            self.clients.relays.finish(|_| true, cx);
        }
    }
}
