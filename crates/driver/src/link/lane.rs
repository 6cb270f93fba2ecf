//! Lanes: connections for the pieces of one large message, apart from the links. The machine opens and closes them.

use std::cell::Cell;
use std::rc::Rc;

use bytes::Bytes;
use ferrite_core::{Input, Lane, LaneInput};
use ferrite_wire::{Contact, Dest, Frame, FrameKind, Message, SpreadMessage};
use snow::StatelessTransportState;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{Connection, Line, Links, Shared, call, callable};

/// The engine's end of one lane.
pub(super) struct End {
    queue: mpsc::UnboundedSender<Frame>,
    /// True when the machine must not hear of this lane any more.
    muted: Rc<Cell<bool>>,
}

impl End {
    /// Sends a frame after earlier ones; it is dropped when the connection is over.
    pub(super) fn send(&self, frame: Frame) {
        let _ = self.queue.send(frame);
    }

    /// Sends what is queued and closes the lane; the machine hears nothing more of it.
    pub(super) fn mute(self) {
        self.muted.set(true);
    }
}

impl Links {
    /// Calls a daemon for a lane until the deadline, or until its machine refuses. `Up` or `Lost` follows.
    pub(crate) fn open_lane(&mut self, lane: Lane, contact: Contact, deadline: Instant) {
        let contact = callable(contact, &self.contact);
        let shared = Rc::clone(&self.shared);
        let task = tokio::task::spawn_local(async move {
            let called = (lane.peer, Some(lane.spread));
            match call::call(&shared.me, called, &contact, deadline, false, || true).await {
                Ok((stream, noise)) => {
                    shared.establish_lane(lane, stream, noise, true);
                    shared.report(Input::Lane(LaneInput::Up(lane)));
                }
                Err(call::Failed { cause, .. }) => {
                    tracing::warn!(peer = %lane.peer, spread = %lane.spread, %cause, "no lane");
                    shared.report(Input::Lane(LaneInput::Lost { lane, cause }));
                }
            }
        });
        self.lane_calls.retain(|_, call| !call.is_finished());
        self.lane_calls.insert(lane, task.abort_handle());
    }

    /// Sends a message over a lane, in order after earlier ones. One for a lane that is gone is dropped.
    pub(crate) fn say(&self, lane: Lane, message: SpreadMessage) {
        if let Some(end) = self.shared.lanes.borrow().get(&lane) {
            let (dest, origin) = (Dest::One(lane.peer), self.shared.me.rank);
            let payload: Bytes = Message::Spread(message).encode();
            end.send(Frame { dest, origin, kind: FrameKind::Direct, payload });
        }
    }

    /// Sends what is queued and closes a lane; the machine hears nothing more of it.
    pub(crate) fn close_lane(&mut self, lane: Lane) {
        if let Some(call) = self.lane_calls.remove(&lane) {
            call.abort();
        }
        if let Some(end) = self.shared.lanes.borrow_mut().remove(&lane) {
            end.mute();
        }
    }
}

impl Shared {
    /// Makes an authenticated connection a lane. The machine of the called daemon learns of it with the first message.
    pub(super) fn establish_lane(
        self: &Rc<Self>,
        lane: Lane,
        stream: TcpStream,
        noise: StatelessTransportState,
        calling: bool,
    ) {
        let (queue, frames) = mpsc::unbounded_channel();
        let muted = Rc::new(Cell::new(false));
        let connection = Connection { shared: Rc::clone(self), line: Line::Lane(lane), muted: Rc::clone(&muted) };
        if let Some(earlier) = self.lanes.borrow_mut().insert(lane, End { queue, muted }) {
            earlier.mute();
        }
        self.serve(connection.run(stream, noise, calling, frames));
    }
}
