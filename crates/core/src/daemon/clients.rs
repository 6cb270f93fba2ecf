//! Clients on this daemon's node: they ask here, and the head answers. The daemon lets them in as soon as it has its
//! place, and goes when the head has said its last to each of them.

use ferrite_wire::ClientWord;

use super::bringup::Phase;
use super::{Daemon, after};
use crate::cx::Cx;
use crate::{DaemonTimer, Effect, RelayEffect, RelayId, RelayInput};

/// Clients that do not take their last words within this time do not get them (milliseconds).
const LAST_WORDS_MS: u64 = 1_000;

impl Daemon {
    /// The daemon has its place: the head can be reached for others.
    pub(super) fn let_clients_in(&mut self, cx: &mut Cx) {
        if let Some(served) = self.served.take() {
            cx.effect(Effect::Relay(RelayEffect::Listen(Box::new(served))));
        }
    }

    /// Something happens to the connection of a client of this node (spec L40).
    pub(crate) fn on_relay(&mut self, input: RelayInput, cx: &mut Cx) {
        match input {
            // Whoever comes now would hear nothing before this daemon goes.
            RelayInput::Came(client) if self.is_leaving() => {
                cx.effect(Effect::Relay(RelayEffect::Close(client)));
            }
            RelayInput::Came(_) | RelayInput::Read { .. } | RelayInput::Written { .. } | RelayInput::Ended(_) => {
                self.relays.handle(input, cx);
            }
        }
    }

    pub(super) fn on_client_word(&mut self, number: u64, word: ClientWord, cx: &mut Cx) {
        let client = RelayId { daemon: self.me, number };
        match word {
            // The client takes the end of its connection for the end of the DVM here: it comes with the end of this
            // process.
            ClientWord::Gone if matches!(self.phase, Phase::Leaving { .. }) => self.relays.keep_open(client),
            ClientWord::Came | ClientWord::Bytes(_) | ClientWord::Credit(_) | ClientWord::Gone => {
                self.relays.receive(client, word, cx);
            }
        }
    }

    /// This daemon leaves in order, and its clients have a while to hear the last.
    pub(super) fn part_with_clients(&mut self, cx: &mut Cx) {
        if !self.relays.is_empty() {
            self.relays.drop_stalled(cx);
            cx.set_timer(DaemonTimer::LastWords, after(cx.now, LAST_WORDS_MS));
        }
    }
}
