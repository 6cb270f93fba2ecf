//! Limits that callers give to fences, connects, disconnects and modexes (`PMIX_TIMEOUT`). The head decides how a
//! collective ends, so a limit of one caller ends it everywhere, and a process that enters later hears the same.

use std::collections::BTreeSet;

use ferrite_types::Duration;
use ferrite_wire::{CollectiveResult, HeadMessage};

use super::Daemon;
use crate::cx::Cx;
use crate::pmix_status::PMIX_ERR_TIMEOUT;
use crate::{DaemonTimer, Effect, PmixEffect, PmixToken};

/// Open calls with a limit.
#[derive(Debug, Default)]
pub(super) struct Limits(BTreeSet<PmixToken>);

impl Daemon {
    /// Sets the limit of a call, unless the call has its answer already.
    pub(super) fn on_limit(&mut self, token: PmixToken, limit: Duration, cx: &mut Cx) {
        if self.collective_of(token).is_some() || self.awaits_modex(token) {
            self.limits.0.insert(token);
            cx.set_timer(DaemonTimer::CallLimit(token), cx.now + limit);
        }
    }

    /// Ends a call whose limit is over (spec L154).
    pub(super) fn on_call_limit(&mut self, token: PmixToken, cx: &mut Cx) {
        if !self.limits.0.contains(&token) {
            return;
        }
        match self.collective_of(token) {
            // It may be complete by now: the answer comes from the head in any case.
            Some(key) => cx.send_head(HeadMessage::CollectiveFailed { key, status: PMIX_ERR_TIMEOUT }),
            None => self.fail_modex(token, PMIX_ERR_TIMEOUT, cx),
        }
    }

    /// Answers a call, once, and removes its limit.
    pub(super) fn answer_call(&mut self, token: PmixToken, result: CollectiveResult, cx: &mut Cx) {
        if self.limits.0.remove(&token) {
            cx.cancel_timer(DaemonTimer::CallLimit(token));
        }
        cx.effect(Effect::Pmix(PmixEffect::Reply { token, result }));
    }
}
