//! The time of sessions: when one with a limit ends, and who is warned before. What the end of a session means is in
//! `registry.rs`.

use ferrite_types::{DaemonRank, Duration, JobId, Timestamp};
use ferrite_wire::control::Reply;
use ferrite_wire::{DaemonMessage, ExtendRequest, Resize, ResizeOutcome, SessionTerms, TimeWarning};

use crate::cx::Cx;
use crate::head::Head;
use crate::head::elastic::Requester;
use crate::head::elastic::Trouble;
use crate::pmix_status::PMIX_ERR_BAD_PARAM;
use crate::{Effect, HeadTimer, RequestId};

/// How long a session lasts.
#[derive(Debug, Default)]
pub(super) struct SessionTime {
    /// When it ends, if it has a limit.
    until: Option<Timestamp>,
    /// How long before that a warning is given.
    warn: Option<Duration>,
    /// The warning for this end was given.
    warned: bool,
    /// Who asked for the warning: it gets an event. The submitters of the session's jobs are told in words.
    asked_by: Option<Requester>,
}

impl SessionTime {
    fn set(&mut self, terms: &SessionTerms, requester: Requester, now: Timestamp) {
        if let Some(seconds) = terms.warn_s {
            self.warn = Some(Duration::from_secs(seconds.into()));
            self.asked_by = Some(requester);
            self.warned = false;
        }
        // Of a session that has a limit, which it lengthens.
        if let Some(seconds) = terms.time_limit_s {
            self.until = Some(self.until.unwrap_or(now) + Duration::from_secs(seconds.into()));
            self.warned = false;
        }
    }

    /// Another end has a warning of its own. False when there is no limit.
    fn extend(&mut self, seconds: u32) -> bool {
        let Some(until) = &mut self.until else { return false };
        *until = *until + Duration::from_secs(seconds.into());
        self.warned = false;
        true
    }

    /// When the warning is due that has not been given.
    fn warn_at(&self) -> Option<Timestamp> {
        let before = self.warn.filter(|_| !self.warned)?;
        Some(Timestamp(self.until?.0.saturating_sub(before.0)))
    }

    fn left(&self, now: Timestamp) -> Option<Duration> {
        Some(Timestamp(self.until?.0.max(now.0)) - now)
    }

    pub(super) fn seconds_left(&self, now: Timestamp) -> Option<u64> {
        Some(self.left(now)?.as_micros() / 1_000_000)
    }

    /// Seconds before its end at which it warns.
    pub(super) fn warns_s(&self) -> Option<u64> {
        self.until.and(self.warn).map(|before| before.as_micros() / 1_000_000)
    }

    pub(super) fn is_warned(&self) -> bool {
        self.warned
    }

    pub(super) fn forget_requester(&mut self, request: RequestId) {
        self.asked_by = self.asked_by.filter(|requester| !requester.is(request));
    }
}

impl Head {
    /// Limit and warning of a session, counted from now (spec S18).
    pub(super) fn set_session_time(&mut self, id: u32, terms: &SessionTerms, requester: Requester, cx: &mut Cx) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.time.set(terms, requester, cx.now);
        }
        self.watch_session(id, cx);
    }

    /// Lengthens the limit of a session that has one (spec S21).
    pub(super) fn extend_session(&mut self, id: u32, seconds: u32, cx: &mut Cx) -> Result<(), Trouble> {
        if self.sessions.get_mut(id).is_some_and(|session| !session.time.extend(seconds)) {
            return Err(Trouble::new(PMIX_ERR_BAD_PARAM, format!("Session {id} has no time limit.")));
        }
        self.watch_session(id, cx);
        Ok(())
    }

    /// What is asked for an allocation that is there lengthens its limit: it must have one, or get one by what is on
    /// its way (spec S21).
    pub(in crate::head) fn check_can_extend(&self, session: u32, terms: &SessionTerms) -> Result<(), Trouble> {
        let Some(has) = self.sessions.get(session).filter(|_| terms.time_limit_s.is_some()) else { return Ok(()) };
        let mut coming = self.campaigns.coming_for(&has.alloc_id);
        let will_have = coming.any(|campaign| campaign.joins().is_some_and(|joins| joins.terms.time_limit_s.is_some()));
        if has.time.until.is_some() || will_have || self.extensions.limits(&has.alloc_id) {
            return Ok(());
        }
        let cause = format!("Allocation {} has no time limit that could be lengthened.", has.alloc_id);
        Err(Trouble::new(PMIX_ERR_BAD_PARAM, cause))
    }

    /// So many seconds from now lasts an allocation that gets so many on top.
    pub(in crate::head) fn lasts_s(&self, session: Option<u32>, more_s: u32, now: Timestamp) -> u32 {
        let left = session.and_then(|id| self.sessions.get(id)).and_then(|session| session.time.seconds_left(now));
        more_s.saturating_add(left.map_or(0, |left| u32::try_from(left).unwrap_or(u32::MAX)))
    }

    /// A client wants more time for a session (`PMIX_ALLOC_EXTEND` of a tool).
    pub(in crate::head) fn on_extend_request(&mut self, id: RequestId, request: &ExtendRequest, cx: &mut Cx) {
        let resize = self.extend_time(request, None, cx);
        cx.reply(id, Reply::Resize(Box::new(resize)));
    }

    /// A process of `asker` does.
    pub(in crate::head) fn on_extend_message(
        &mut self,
        daemon: DaemonRank,
        id: u64,
        asker: JobId,
        request: &ExtendRequest,
        cx: &mut Cx,
    ) {
        let resize = Box::new(self.extend_time(request, Some(asker), cx));
        cx.send(daemon, DaemonMessage::ResizeReply { id, resize });
    }

    /// It is true at once and the DVM has the size that it had, so that no second answer follows (spec S12).
    fn extend_time(&mut self, request: &ExtendRequest, asker: Option<JobId>, cx: &mut Cx) -> Resize {
        let req_id = request.req_id.as_ref();
        let extended = self.session_to_extend(request, asker).and_then(|id| {
            self.extend_session(id, request.seconds, cx)?;
            Ok((id, self.allocation_of(id).0))
        });
        match extended {
            // By its number: another session may be on the same allocation.
            Ok((id, alloc_id)) => {
                Resize { session: Some(id), ..self.resize_of(&alloc_id, req_id, &[], ResizeOutcome::Unchanged) }
            }
            Err(Trouble { status, cause }) => {
                let outcome = ResizeOutcome::Refused { status, cause };
                Resize { alloc_id: String::new(), req_id: req_id.cloned(), session: None, nodes: Vec::new(), outcome }
            }
        }
    }

    fn session_to_extend(&self, request: &ExtendRequest, asker: Option<JobId>) -> Result<u32, Trouble> {
        if let Some(name) = request.alloc_id.as_ref().filter(|name| **name != self.config.dvm) {
            return self.allocation_named(name);
        }
        let asker = asker.filter(|_| request.alloc_id.is_none()).and_then(|job| self.jobs.get(&job));
        asker.map(|job| job.session).filter(|id| self.sessions.get(*id).is_some()).ok_or_else(|| {
            let cause = "The DVM's own session has no time limit, and no other is named that is to have more time.";
            Trouble::new(PMIX_ERR_BAD_PARAM, cause)
        })
    }

    /// Sets the timer for the next thing that time brings to a session.
    fn watch_session(&self, id: u32, cx: &mut Cx) {
        let Some(session) = self.sessions.get(id) else { return };
        match session.time.until {
            None => cx.cancel_timer(HeadTimer::Session(id)),
            // A limit that is nearer than its warning: the warning is due now.
            Some(until) => cx.set_timer(HeadTimer::Session(id), session.time.warn_at().unwrap_or(until).max(cx.now)),
        }
    }

    /// A warning is due, or the end (spec S19).
    pub(in crate::head) fn on_session_timer(&mut self, id: u32, cx: &mut Cx) {
        let Some(session) = self.sessions.get(id) else { return };
        let Some(until) = session.time.until else { return };
        if until > cx.now {
            if session.time.warn_at().is_some_and(|at| at <= cx.now) {
                self.warn_session(id, cx);
            }
            return self.watch_session(id, cx);
        }
        let why = format!("The time limit of session {id} (allocation {}) has been reached.", session.alloc_id);
        self.end_session(id, &why, cx);
    }

    /// Its end is near: the submitters of its jobs hear it in words, who asked for the warning gets an event
    /// (spec S20).
    fn warn_session(&mut self, id: u32, cx: &mut Cx) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        session.time.warned = true;
        let Some(left) = session.time.left(cx.now) else { return };
        let seconds_left = u32::try_from(left.as_micros().div_ceil(1_000_000)).unwrap_or(u32::MAX);
        let (alloc_id, req_id) = (session.alloc_id.clone(), session.req_id.clone());
        let asked_by = session.time.asked_by;
        let text = format!("Session {id} (allocation {alloc_id}) ends in {seconds_left} seconds.");
        for request in self.jobs.values().filter(|job| job.session == id).filter_map(|job| job.request) {
            cx.notice_to(request, text.clone());
        }
        let warning = Box::new(TimeWarning { alloc_id, req_id, session: id, seconds_left });
        match asked_by {
            None
            | Some(Requester::Nobody | Requester::Pushed(_) | Requester::OrderedBy(_) | Requester::OrderedAt(..)) => {}
            Some(Requester::Waiting(request) | Requester::Answered(request)) => {
                cx.effect(Effect::TimeWarning { request, warning });
            }
            Some(Requester::Proc(proc, daemon)) => cx.send(daemon, DaemonMessage::TimeWarning { proc, warning }),
        }
    }
}
