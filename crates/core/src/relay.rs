//! Connections of relayed clients. Each has two ends, at the client's daemon and at the head, which work alike: read
//! a piece when the other end has room, pass it on, write what arrives, give credit when it is written. So a client's
//! bytes on their way are bounded, and a client that floods or does not read stops only itself.

use std::collections::BTreeMap;

use ferrite_types::{DaemonRank, RankSet};
use ferrite_wire::{ClientWord, DaemonMessage, HeadMessage};

use crate::cx::Cx;
use crate::{Effect, RelayEffect, RelayId, RelayInput};

/// The window of one client in each direction (bytes).
const WINDOW: usize = 256 * 1024;
/// The size of one read (bytes).
const PIECE: usize = 64 * 1024;

/// The ends of connections at this node.
#[derive(Debug)]
pub(crate) struct Relays {
    me: DaemonRank,
    pipes: BTreeMap<RelayId, Pipe>,
}

/// One end of a client's connection.
#[derive(Debug)]
struct Pipe {
    /// The room at the other end (bytes).
    room: usize,
    /// True while a read is open.
    reading: bool,
    /// Bytes that are being written here.
    unwritten: usize,
    /// True when the client has taken nothing since the last check of [`Relays::drop_stalled`].
    is_still: bool,
    /// True once the head was told to end its service.
    finishing: bool,
}

impl Relays {
    /// The relays of a node, still without clients.
    pub(crate) fn of(me: DaemonRank) -> Relays {
        Relays { me, pipes: BTreeMap::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pipes.is_empty()
    }

    /// Opens this end of a client's connection, and begins to read.
    pub(crate) fn open(&mut self, client: RelayId, cx: &mut Cx) {
        let pipe = Pipe { room: WINDOW, reading: false, unwritten: 0, is_still: false, finishing: false };
        self.pipes.insert(client, pipe);
        self.read_on(client, cx);
    }

    /// Asks the head to serve a client of this node.
    pub(crate) fn announce(&mut self, client: RelayId, cx: &mut Cx) {
        self.say(client, ClientWord::Came, cx);
        self.open(client, cx);
    }

    /// Handles an event of this node's driver.
    pub(crate) fn handle(&mut self, input: RelayInput, cx: &mut Cx) {
        match input {
            RelayInput::Came(client) => self.announce(client, cx),
            RelayInput::Read { client, data } => {
                let Some(pipe) = self.pipes.get_mut(&client) else { return };
                pipe.reading = false;
                pipe.room = pipe.room.saturating_sub(data.len());
                self.say(client, ClientWord::Bytes(data), cx);
                self.read_on(client, cx);
            }
            RelayInput::Written { client, bytes } => {
                let Some(pipe) = self.pipes.get_mut(&client) else { return };
                pipe.unwritten = pipe.unwritten.saturating_sub(bytes);
                pipe.is_still = false;
                self.say(client, ClientWord::Credit(u32::try_from(bytes).unwrap_or(u32::MAX)), cx);
            }
            RelayInput::Ended(client) => {
                if self.close(client, cx) {
                    self.say(client, ClientWord::Gone, cx);
                }
            }
        }
    }

    /// Handles a message of the other end of a client's connection.
    pub(crate) fn receive(&mut self, client: RelayId, word: ClientWord, cx: &mut Cx) {
        let Some(pipe) = self.pipes.get_mut(&client) else { return };
        match word {
            ClientWord::Bytes(data) if pipe.unwritten + data.len() > WINDOW => {
                // The client exceeds its credit, so its data are not trusted.
                self.close(client, cx);
                self.say(client, ClientWord::Gone, cx);
            }
            ClientWord::Bytes(data) => {
                pipe.unwritten += data.len();
                cx.effect(Effect::Relay(RelayEffect::Write { client, data }));
            }
            ClientWord::Credit(bytes) => {
                pipe.room = (pipe.room + bytes as usize).min(WINDOW);
                self.read_on(client, cx);
            }
            ClientWord::Gone => {
                self.close(client, cx);
            }
            ClientWord::Came => {}
        }
    }

    /// Keeps this end open until the process ends, after the other end has closed: the client waits for that.
    pub(crate) fn keep_open(&mut self, client: RelayId) {
        self.pipes.remove(&client);
    }

    /// Drops the clients of these daemons without further messages.
    pub(crate) fn lose(&mut self, daemons: &RankSet, cx: &mut Cx) {
        for client in self.those(|client, _| daemons.contains(client.daemon)) {
            self.close(client, cx);
        }
    }

    /// Ends the service of clients after all answers for them are read.
    pub(crate) fn finish(&mut self, which: impl Fn(DaemonRank) -> bool, cx: &mut Cx) {
        for client in self.those(|client, pipe| which(client.daemon) && !pipe.finishing) {
            if let Some(pipe) = self.pipes.get_mut(&client) {
                pipe.finishing = true;
                cx.effect(Effect::Relay(RelayEffect::Finish(client)));
            }
        }
    }

    /// Closes connections with unread data whose client has read nothing since the last call.
    pub(crate) fn drop_stalled(&mut self, cx: &mut Cx) {
        for client in self.those(|_, pipe| pipe.is_still) {
            self.close(client, cx);
            self.say(client, ClientWord::Gone, cx);
        }
        for pipe in self.pipes.values_mut() {
            pipe.is_still = pipe.unwritten > 0;
        }
    }

    fn those(&self, which: impl Fn(&RelayId, &Pipe) -> bool) -> Vec<RelayId> {
        self.pipes.iter().filter(|(client, pipe)| which(client, pipe)).map(|(client, _)| *client).collect()
    }

    /// Closes a connection. True if it was open.
    fn close(&mut self, client: RelayId, cx: &mut Cx) -> bool {
        let was_open = self.pipes.remove(&client).is_some();
        if was_open {
            cx.effect(Effect::Relay(RelayEffect::Close(client)));
        }
        was_open
    }

    fn read_on(&mut self, client: RelayId, cx: &mut Cx) {
        let Some(pipe) = self.pipes.get_mut(&client).filter(|pipe| !pipe.reading && pipe.room > 0) else { return };
        pipe.reading = true;
        let limit = pipe.room.min(PIECE);
        cx.effect(Effect::Relay(RelayEffect::Read { client, limit }));
    }

    /// Sends a message to the other end.
    fn say(&self, client: RelayId, word: ClientWord, cx: &mut Cx) {
        let number = client.number;
        if self.me == DaemonRank::HEAD {
            cx.send(client.daemon, DaemonMessage::Client { number, word });
        } else {
            cx.send_head(HeadMessage::Client { number, word });
        }
    }
}
