//! Time limits of sessions: the end of a session with a limit, and the warning before it. `end.rs` ends the session.

use ferrite_types::{Duration, JobId, NodeId, SessionId, Timestamp};
use ferrite_wire::{DaemonMessage, ExtendRequest, GrowRequest, Resize, ResizeOutcome, SessionTerms, TimeWarning};

use super::registry::Sessions;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::elastic::{Reason, Requester};
use crate::head::jobs::Job;
use crate::pmix_status::PMIX_ERR_BAD_PARAM;
use crate::{Effect, HeadTimer, RequestId};

/// The time limit of a session and its warning.
#[derive(Debug, Default)]
pub(super) struct SessionTime {
    limit: Option<Limit>,
    warning: Option<Warning>,
}

/// A time limit.
#[derive(Debug)]
struct Limit {
    /// The time of the session's end.
    until: Timestamp,
    /// True once the warning for this end was given.
    warned: bool,
}

/// A warning before the end. The submitters of the session's jobs get a message.
#[derive(Debug)]
struct Warning {
    /// Its lead time.
    before: Duration,
    /// Its requester, which gets an event.
    asked_by: Requester,
}

impl SessionTime {
    fn set(&mut self, terms: &SessionTerms, requester: Requester, now: Timestamp) {
        if let Some(seconds) = terms.warn_s {
            self.warning = Some(Warning { before: Duration::from_secs(seconds.into()), asked_by: requester });
            self.limit.iter_mut().for_each(|limit| limit.warned = false);
        }
        // The request lengthens the limit of an existing session.
        if let Some(seconds) = terms.time_limit_s {
            let from = self.until().unwrap_or(now);
            self.limit = Some(Limit { until: from + Duration::from_secs(seconds.into()), warned: false });
        }
    }

    /// Lengthens the limit; the new end has a warning of its own. False when there is no limit.
    fn extend(&mut self, seconds: u32) -> bool {
        let Some(limit) = &mut self.limit else { return false };
        *limit = Limit { until: limit.until + Duration::from_secs(seconds.into()), warned: false };
        true
    }

    /// The time of the outstanding warning.
    fn warn_at(&self) -> Option<Timestamp> {
        let limit = self.limit.as_ref().filter(|limit| !limit.warned)?;
        Some(Timestamp(limit.until.0.saturating_sub(self.warning.as_ref()?.before.0)))
    }

    /// The time of its end, if it has a limit.
    fn until(&self) -> Option<Timestamp> {
        self.limit.as_ref().map(|limit| limit.until)
    }

    fn left(&self, now: Timestamp) -> Option<Duration> {
        Some(Timestamp(self.until()?.0.max(now.0)) - now)
    }

    pub(super) fn seconds_left(&self, now: Timestamp) -> Option<u64> {
        Some(self.left(now)?.as_micros() / 1_000_000)
    }

    /// The lead time of the warning in seconds.
    pub(super) fn warns_s(&self) -> Option<u64> {
        self.limit.as_ref().and(self.warning.as_ref()).map(|warning| warning.before.as_micros() / 1_000_000)
    }

    pub(super) fn is_warned(&self) -> bool {
        self.limit.as_ref().is_some_and(|limit| limit.warned)
    }

    pub(super) fn forget_requester(&mut self, request: RequestId) {
        if let Some(warning) = self.warning.as_mut().filter(|warning| warning.asked_by.is(request)) {
            warning.asked_by = Requester::Nobody;
        }
    }
}

impl Sessions {
    /// Sets limit and warning of a session, counted from now (spec S18).
    pub(super) fn set_time(&mut self, id: SessionId, terms: &SessionTerms, requester: Requester, cx: &mut Cx) {
        self.expect_mut(id).time.set(terms, requester, cx.now);
        self.watch(id, cx);
    }

    /// Lengthens the limit of a session that has one (spec S21).
    pub(super) fn extend(&mut self, id: SessionId, seconds: u32, cx: &mut Cx) -> Result<(), Reason> {
        if !self.expect_mut(id).time.extend(seconds) {
            return Err(Reason::new(PMIX_ERR_BAD_PARAM, format!("Session {id} has no time limit.")));
        }
        self.watch(id, cx);
        Ok(())
    }

    /// The remaining seconds of an allocation after an extension by `more_s`.
    pub(in crate::head) fn lasts_s(&self, session: Option<SessionId>, more_s: u32, now: Timestamp) -> u32 {
        let left = session.and_then(|id| self.get(id)).and_then(|session| session.time.seconds_left(now));
        more_s.saturating_add(left.map_or(0, |left| u32::try_from(left).unwrap_or(u32::MAX)))
    }

    /// Sets the timer for the session's next warning or end.
    fn watch(&self, id: SessionId, cx: &mut Cx) {
        let session = self.expect(id);
        match session.time.until() {
            None => cx.cancel_timer(HeadTimer::Session(id)),
            // When the limit is nearer than its warning, the warning is due now.
            Some(until) => cx.set_timer(HeadTimer::Session(id), session.time.warn_at().unwrap_or(until).max(cx.now)),
        }
    }
}

impl Head {
    /// The session that a grow request extends, if any. More time for an allocation without a limit is refused, unless
    /// a request on its way brings one (spec S21).
    pub(in crate::head) fn session_to_grow(&self, request: &GrowRequest) -> Result<Option<SessionId>, Reason> {
        let Some(name) = &request.alloc_id else { return Ok(None) };
        let session = self.sessions.allocation_named(name)?;
        self.check_can_extend(session, &request.terms)?;
        Ok(Some(session))
    }

    /// Refuses more time for an allocation without a limit, unless a request on its way brings one (spec S21).
    fn check_can_extend(&self, session: SessionId, terms: &SessionTerms) -> Result<(), Reason> {
        let Some(has) = self.sessions.get(session).filter(|_| terms.time_limit_s.is_some()) else { return Ok(()) };
        if has.time.limit.is_some() || self.elastic.brings_limit(&has.alloc_id) {
            return Ok(());
        }
        let cause = format!("Allocation {} has no time limit that could be lengthened.", has.alloc_id);
        Err(Reason::new(PMIX_ERR_BAD_PARAM, cause))
    }

    /// Extends a session at once. The DVM keeps its size, so no second answer follows (spec S12). The
    /// asker is the job of a process; a client has none (`PMIX_ALLOC_EXTEND`).
    pub(in crate::head) fn extend_time(
        &mut self,
        request: &ExtendRequest,
        asker: Option<JobId>,
        cx: &mut Cx,
    ) -> Resize {
        let req_id = request.req_id.as_ref();
        let extended = self.session_to_extend(request, asker).and_then(|id| {
            self.sessions.extend(id, request.seconds, cx)?;
            Ok((id, self.allocation_of(id).0))
        });
        match extended {
            // Addressed by number, because another session may use the same allocation.
            Ok((id, alloc_id)) => {
                Resize { session: Some(id), ..self.resize_of(&alloc_id, req_id, &[], ResizeOutcome::Unchanged) }
            }
            Err(Reason { status, cause }) => {
                let outcome = ResizeOutcome::Refused { status, cause };
                Resize { alloc_id: None, req_id: req_id.cloned(), session: None, nodes: Vec::new(), outcome }
            }
        }
    }

    fn session_to_extend(&self, request: &ExtendRequest, asker: Option<JobId>) -> Result<SessionId, Reason> {
        if let Some(name) = request.alloc_id.as_ref().filter(|name| *name != self.sessions.dvm_alloc_id()) {
            return self.sessions.allocation_named(name);
        }
        let asker = asker.filter(|_| request.alloc_id.is_none()).and_then(|job| self.jobs.get(job)).map(Job::session);
        asker.filter(|id| self.sessions.get(*id).is_some()).ok_or_else(|| {
            let cause = "The DVM's own session has no time limit, and no other is named that is to have more time.";
            Reason::new(PMIX_ERR_BAD_PARAM, cause)
        })
    }

    /// Handles the timer of a session: its warning, or its end (spec S19).
    pub(in crate::head) fn on_session_timer(&mut self, id: SessionId, cx: &mut Cx) {
        // The timer may have fired before the session ended; another one may have its number now.
        let Some(session) = self.sessions.get(id) else { return };
        let Some(until) = session.time.until() else { return };
        if until > cx.now {
            if session.time.warn_at().is_some_and(|at| at <= cx.now) {
                self.warn_session(id, cx);
            }
            return self.sessions.watch(id, cx);
        }
        let why = format!("The time limit of session {id} (allocation {}) has been reached.", session.alloc_id);
        self.end_session(id, &why, cx);
    }

    /// Warns of the near end: the submitters of its jobs get a message, the requester of the warning an event (spec
    /// S20).
    fn warn_session(&mut self, id: SessionId, cx: &mut Cx) {
        let session = self.sessions.expect_mut(id);
        let SessionTime { limit: Some(limit), warning: Some(Warning { asked_by, .. }) } = &mut session.time else {
            panic!("session {id} has no warning to give")
        };
        limit.warned = true;
        let (left, asked_by) = (Timestamp(limit.until.0.max(cx.now.0)) - cx.now, *asked_by);
        let seconds_left = u32::try_from(left.as_micros().div_ceil(1_000_000)).unwrap_or(u32::MAX);
        let (alloc_id, req_id) = (session.alloc_id.clone(), session.req_id.clone());
        let text = format!("Session {id} (allocation {alloc_id}) ends in {seconds_left} seconds.");
        for request in self.jobs.submitters_in(id) {
            cx.notice_to(request, text.clone());
        }
        let nodes: Vec<NodeId> = self.sessions.expect(id).nodes.all().iter().copied().collect();
        let nodes = self.pool.names(&nodes);
        let warning = Box::new(TimeWarning { alloc_id, req_id, session: id, nodes, seconds_left });
        match asked_by {
            Requester::Nobody
            | Requester::Offer(_)
            | Requester::Pushed(_)
            | Requester::OrderedBy(_)
            | Requester::OrderedAt(..) => {}
            Requester::Waiting(request) | Requester::Answered(request) => {
                cx.effect(Effect::TimeWarning { request, warning });
            }
            Requester::Proc(proc, daemon) => cx.send(daemon, DaemonMessage::TimeWarning { proc, warning }),
        }
    }
}
