//! Clients on this daemon's node, which the head serves through the daemon. The daemon admits them as soon as it has
//! its place, and leaves after the head's last word to each of them.

use ferrite_wire::ClientWord;

use super::bringup::Phase;
use super::{Daemon, after};
use crate::cx::Cx;
use crate::{DaemonTimer, Effect, RelayEffect, RelayId, RelayInput};

/// The time in which clients must read their last words before the daemon drops them (milliseconds).
const LAST_WORDS_MS: u64 = 1_000;

impl Daemon {
    /// Admits clients once the daemon has its place and can reach the head for them.
    pub(super) fn let_clients_in(&mut self, cx: &mut Cx) {
        if let Some(served) = self.served.take() {
            cx.effect(Effect::Relay(RelayEffect::Listen(Box::new(served))));
        }
    }

    /// Handles an event on the connection of a client of this node (spec L40).
    pub(crate) fn on_relay(&mut self, input: RelayInput, cx: &mut Cx) {
        match input {
            // A new client would get no answer before this daemon leaves.
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
            // The client reads the end of its connection as the end of the DVM on this node, so the connection stays
            // open until the process ends.
            ClientWord::Gone if matches!(self.phase, Phase::Leaving { .. }) => self.relays.keep_open(client),
            ClientWord::Came | ClientWord::Bytes(_) | ClientWord::Credit(_) | ClientWord::Gone => {
                self.relays.receive(client, word, cx);
            }
        }
    }

    /// Gives the clients time for their last words before this daemon leaves in order.
    pub(super) fn part_with_clients(&mut self, cx: &mut Cx) {
        if !self.relays.is_empty() {
            self.relays.drop_stalled(cx);
            cx.set_timer(DaemonTimer::LastWords, after(cx.now, LAST_WORDS_MS));
        }
    }
}
