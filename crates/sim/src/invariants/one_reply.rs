//! Guarantee: every accepted request gets exactly one reply, and none after its client is gone.

use std::collections::BTreeMap;

use ferrite_core::{Effect, HeadInput, Input, RequestId};
use ferrite_types::DaemonRank;

use super::{Invariant, Observation, require};
use crate::world::Gone;

#[derive(Default)]
pub(super) struct OneReply {
    /// Replies so far, by request.
    replies: BTreeMap<RequestId, u32>,
    /// True after the head's death, when nobody can reply.
    head_crashed: bool,
}

impl Invariant for OneReply {
    fn name(&self) -> &'static str {
        "every accepted request gets exactly one reply"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Input { input: Input::Head(HeadInput::Request { id, .. }), .. } => {
                self.replies.insert(*id, 0);
            }
            Observation::Input { input: Input::Head(HeadInput::ClientGone(request)), .. } => {
                self.replies.remove(request);
            }
            Observation::Effect { effect: Effect::Reply { request, .. }, .. } => {
                let count = self
                    .replies
                    .get_mut(request)
                    .ok_or_else(|| format!("a reply to {request:?}, which nobody made or waits for"))?;
                *count += 1;
                return require(*count == 1, || format!("a second reply to {request:?}"));
            }
            Observation::Gone { rank: DaemonRank::HEAD, how: Gone::Crash, .. } => self.head_crashed = true,
            _ => {}
        }
        Ok(())
    }

    fn at_end(&mut self, _: &[DaemonRank]) -> Result<(), String> {
        let open = self.replies.iter().find(|(_, n)| **n == 0);
        require(self.head_crashed || open.is_none(), || format!("no reply to {:?}", open.map(|(r, _)| *r)))
    }
}

#[cfg(test)]
mod tests {
    use ferrite_wire::control::{Reply, Request};

    use super::*;

    fn submit(check: &mut OneReply) {
        let input = Input::Head(HeadInput::Request { id: RequestId(1), request: Request::Status });
        let seen = Observation::Input { rank: DaemonRank::HEAD, at: 0, input: &input, message: None };
        check.observe(&seen).unwrap();
    }
    fn reply(check: &mut OneReply, request: u64) -> Result<(), String> {
        let effect = Effect::Reply { request: RequestId(request), reply: Reply::Ordered };
        check.observe(&Observation::Effect { rank: DaemonRank::HEAD, at: 0, effect: &effect, message: None })
    }

    #[test]
    fn none_two_and_unasked_replies_are_seen() {
        let mut check = OneReply::default();
        submit(&mut check);
        assert!(check.at_end(&[]).is_err());
        assert!(reply(&mut check, 1).is_ok() && check.at_end(&[]).is_ok());
        assert!(reply(&mut check, 1).is_err());
        assert!(reply(&mut check, 2).is_err());
    }
}
