//! Lanes of spreads: links of the network with a purpose of their own, as sockets are on real machines.

use ferrite_core::{Input, Lane, LaneEffect, LaneInput};
use ferrite_types::DaemonRank;
use ferrite_wire::{Dest, Frame, FrameKind, Message, SpreadMessage};

use crate::event::Event;
use crate::network::LinkId;
use crate::world::World;

impl World {
    /// Carries out a daemon's order about a lane.
    pub(crate) fn lane(&mut self, rank: DaemonRank, effect: LaneEffect) {
        match effect {
            LaneEffect::Open { lane: Lane { peer, spread }, contact, deadline } => {
                let until = self.hosts.get(&rank).map_or(0, |host| host.world_time(deadline));
                let delay = self.network.delay();
                let lane = Some(spread);
                self.queue.after(delay, Event::Call { from: rank, peer, contact, until, insist: false, lane });
            }
            LaneEffect::Say { lane, message } => self.say(rank, lane, message),
            LaneEffect::Close(lane) => {
                if let Some(id) = self.hosts.get_mut(&rank).and_then(|host| host.lanes.remove(&lane)) {
                    self.close_end(rank, lane.peer, id, "connection closed by peer");
                }
            }
        }
    }

    fn say(&mut self, rank: DaemonRank, lane: Lane, message: SpreadMessage) {
        if let Some(id) = self.hosts.get(&rank).and_then(|host| host.lanes.get(&lane).copied()) {
            let kind = message.kind();
            let (dest, payload) = (Dest::One(lane.peer), Message::Spread(message).encode());
            let frame = Frame { dest, origin: rank, kind: FrameKind::Direct, payload };
            self.post([rank, lane.peer], id, frame, kind);
        }
    }

    /// One end of a lane comes up; the caller's machine is told.
    pub(crate) fn lane_up(&mut self, at: DaemonRank, lane: Lane, id: LinkId) {
        let Some(host) = self.hosts.get_mut(&at) else {
            return self.close_end(at, lane.peer, id, "connection reset by peer");
        };
        host.lanes.insert(lane, id);
        if self.network.caller(id) == Some(at) {
            self.deliver(at, Input::Lane(LaneInput::Up(lane)));
        }
    }

    pub(crate) fn lane_down(&mut self, at: DaemonRank, lane: Lane, id: LinkId, cause: &str) {
        let Some(host) = self.hosts.get_mut(&at) else { return };
        if host.lanes.get(&lane) == Some(&id) {
            host.lanes.remove(&lane);
            self.lose_lane(at, lane, cause);
        }
    }

    pub(crate) fn lose_lane(&mut self, at: DaemonRank, lane: Lane, cause: &str) {
        self.deliver(at, Input::Lane(LaneInput::Lost { lane, cause: cause.to_owned() }));
    }

    pub(crate) fn heard(&mut self, to: DaemonRank, lane: Lane, id: LinkId, frame: &Frame) {
        let known = self.hosts.get(&to).and_then(|host| host.lanes.get(&lane)) == Some(&id);
        if known
            && self.network.delivers(id, to)
            && let Ok(Message::Spread(message)) = Message::decode(&frame.payload)
        {
            self.deliver(to, Input::Lane(LaneInput::Heard { lane, message }));
        }
    }
}
