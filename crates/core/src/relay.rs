//! Connections of clients on other nodes than the head's. Each has two ends, at the client's daemon and at the head,
//! and both do the same: read a piece when the other end has room for it, pass it on, write what comes, give credit
//! when it is written. So what is on its way of one client is bounded, and one that floods or does not read stops
//! nobody but itself.

use std::collections::BTreeMap;

use ferrite_types::{DaemonRank, RankSet};
use ferrite_wire::{ClientWord, DaemonMessage, HeadMessage};

use crate::cx::Cx;
use crate::{Effect, RelayEffect, RelayId, RelayInput};

/// Bytes of one client that may be on their way, in each direction.
const WINDOW: usize = 256 * 1024;
/// Read at a time (bytes).
const PIECE: usize = 64 * 1024;

/// The ends that this node has.
#[derive(Debug)]
pub(crate) struct Relays {
    me: DaemonRank,
    pipes: BTreeMap<RelayId, Pipe>,
}

/// One of them.
#[derive(Debug)]
struct Pipe {
    /// Bytes that the other end has room for.
    room: usize,
    /// A piece is being read.
    reading: bool,
    /// Bytes that are being written here.
    unwritten: usize,
    /// Nothing has been taken since [`Relays::drop_stalled`] has looked.
    is_still: bool,
    /// The head has been told to end its service.
    finishing: bool,
}

impl Relays {
    /// Of this node; none yet.
    pub(crate) fn of(me: DaemonRank) -> Relays {
        Relays { me, pipes: BTreeMap::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pipes.is_empty()
    }

    /// The client is there: its end here is read from now on.
    pub(crate) fn open(&mut self, client: RelayId, cx: &mut Cx) {
        let pipe = Pipe { room: WINDOW, reading: false, unwritten: 0, is_still: false, finishing: false };
        self.pipes.insert(client, pipe);
        self.read_on(client, cx);
    }

    /// A client of this node: the head is to serve it.
    pub(crate) fn announce(&mut self, client: RelayId, cx: &mut Cx) {
        self.say(client, ClientWord::Came, cx);
        self.open(client, cx);
    }

    /// What this node's driver says.
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

    /// What the other end says of a client that is there.
    pub(crate) fn receive(&mut self, client: RelayId, word: ClientWord, cx: &mut Cx) {
        let Some(pipe) = self.pipes.get_mut(&client) else { return };
        match word {
            ClientWord::Bytes(data) if pipe.unwritten + data.len() > WINDOW => {
                // Nobody gave it that much credit: what it says cannot be believed.
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

    /// The other end has said its last, and this end stays open until this process ends: for whoever waits for that.
    pub(crate) fn keep_open(&mut self, client: RelayId) {
        self.pipes.remove(&client);
    }

    /// The other ends of these are gone without a word.
    pub(crate) fn lose(&mut self, daemons: &RankSet, cx: &mut Cx) {
        for client in self.those(|client, _| daemons.contains(client.daemon)) {
            self.close(client, cx);
        }
    }

    /// These are served to the end of what is for them, and then no more.
    pub(crate) fn finish(&mut self, which: impl Fn(DaemonRank) -> bool, cx: &mut Cx) {
        for client in self.those(|client, pipe| which(client.daemon) && !pipe.finishing) {
            if let Some(pipe) = self.pipes.get_mut(&client) {
                pipe.finishing = true;
                cx.effect(Effect::Relay(RelayEffect::Finish(client)));
            }
        }
    }

    /// Those are closed that have something to read, and have read nothing since this was called before.
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

    /// True if it was open.
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

    /// To the other end.
    fn say(&self, client: RelayId, word: ClientWord, cx: &mut Cx) {
        let number = client.number;
        if self.me == DaemonRank::HEAD {
            cx.send(client.daemon, DaemonMessage::Client { number, word });
        } else {
            cx.send_head(HeadMessage::Client { number, word });
        }
    }
}
