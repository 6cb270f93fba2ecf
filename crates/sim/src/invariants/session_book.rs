//! Guarantee: the status of sessions that clients have requested agrees with their requests: the end of the limit, the
//! warning, the pause, the removal after the end, and the session of each job. The referee cannot see two changes:
//! orders by an ambiguous name, and more time that a process has requested. It accepts them for the session concerned,
//! until the next status.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, HeadInput, Input, RequestId, Transition};
use ferrite_types::{AllocReqId, DaemonRank, JobId, JobState, SessionId};
use ferrite_wire::control::{Reply, Request, SessionChoice, SessionDirective, SessionStatus};
use ferrite_wire::{DaemonMessage, GrowRequest, Message, Resize, ResizeOutcome, ResizeRequest, SessionTerms};

use super::changes::plain;
use super::own_session::{more_seconds, more_time_unseen};
use super::{Invariant, Observation, require};
use crate::elastic::{Asker, ResizePlan};
use crate::queue::Time;
use crate::scenario::Scenario;

const SECOND: Time = 1_000_000;

pub(super) struct SessionBook {
    first: RequestId,
    grows: Vec<Option<GrowRequest>>,
    /// Seconds of more time, for each request that asks for nothing else.
    extends: Vec<Option<u32>>,
    choices: Vec<SessionChoice>,
    /// Sessions whose limit may move to a later time unseen.
    unsure: BTreeSet<SessionId>,
    /// Orders that were carried out for a session of this name since the last status of all sessions.
    by_name: Vec<(AllocReqId, SessionDirective)>,
    /// Orders that have no answer yet.
    orders: BTreeMap<RequestId, (SessionChoice, SessionDirective)>,
    /// The last two times at which the head has handled an input: a head that stood still could not act.
    awake: [Time; 2],
    /// Sessions that clients have requested, and the ends of those with a limit.
    limits: BTreeMap<SessionId, Option<Time>>,
    /// Limits by requests for more nodes that were answered before the first request of their session.
    early: BTreeMap<SessionId, Time>,
    /// For each session: how long before its end it warns, and the request of the client that it warns.
    warnings: BTreeMap<SessionId, (Time, RequestId)>,
    warned: BTreeSet<RequestId>,
    /// Sessions for which a requester that the referee cannot follow asks to be warned: the last such request counts.
    warns_others: BTreeSet<SessionId>,
    paused: BTreeSet<SessionId>,
    ended: BTreeSet<SessionId>,
    jobs: BTreeMap<JobId, SessionChoice>,
}

/// Returns the grow request whose client the referee can follow: a client that has left is not warned.
fn seen_grow(plan: &ResizePlan) -> Option<GrowRequest> {
    let ResizeRequest::Grow(grow) = &plan.request else { return None };
    let mut grow = grow.clone();
    grow.terms.warn_s = grow.terms.warn_s.filter(|_| plan.by == Asker::Client(None));
    Some(grow)
}

/// Returns the session of an allocation for which a request asks to be warned.
fn warned_alloc(plan: &ResizePlan) -> Option<SessionId> {
    let ResizeRequest::Grow(grow) = &plan.request else { return None };
    grow.terms.warn_s?;
    number(&SessionChoice::Alloc(grow.alloc_id.clone()?))
}

fn number(choice: &SessionChoice) -> Option<SessionId> {
    match plain(choice) {
        SessionChoice::Id(number) => Some(number),
        SessionChoice::Default | SessionChoice::Alloc(_) | SessionChoice::Ref(_) => None,
    }
}

impl SessionBook {
    pub(super) fn new(scenario: &Scenario) -> SessionBook {
        let plans = &scenario.elastic.resizes;
        let unseen =
            plans.iter().filter_map(|plan| more_time_unseen(plan, scenario.elastic.mode)).map(SessionChoice::Alloc);
        let warns_others = plans.iter().filter(|plan| plan.by != Asker::Client(None)).filter_map(warned_alloc);
        SessionBook {
            first: scenario.resize_request(0),
            grows: plans.iter().map(seen_grow).collect(),
            extends: plans.iter().map(more_seconds).collect(),
            choices: scenario.jobs.iter().map(|job| job.session.clone()).collect(),
            unsure: unseen.filter_map(|alloc| number(&alloc)).collect(),
            by_name: Vec::new(),
            orders: BTreeMap::new(),
            awake: [0; 2],
            limits: BTreeMap::new(),
            early: BTreeMap::new(),
            warnings: BTreeMap::new(),
            warned: BTreeSet::new(),
            warns_others: warns_others.collect(),
            paused: BTreeSet::new(),
            ended: BTreeSet::new(),
            jobs: BTreeMap::new(),
        }
    }

    /// Notes an order that was carried out; a refused order changes nothing.
    fn ordered(&mut self, at: Time, id: RequestId) {
        let Some((session, directive)) = self.orders.remove(&id) else { return };
        let Some(number) = number(&session) else {
            if let SessionChoice::Ref(name) = session {
                self.by_name.push((name, directive));
            }
            return;
        };
        match directive {
            SessionDirective::Pause => {
                self.paused.insert(number);
            }
            SessionDirective::Resume => {
                self.paused.remove(&number);
            }
            SessionDirective::Extend { seconds } => self.extended(number, seconds),
            SessionDirective::Terminate => {
                self.ended.insert(number);
            }
            SessionDirective::Instantiate(wish) => {
                self.ended.remove(&number);
                let until = wish.terms.time_limit_s.map(|seconds| at + Time::from(seconds) * SECOND);
                self.limits.insert(number, until);
            }
            SessionDirective::Signal(_) | SessionDirective::Separate => {}
        }
    }

    fn extended(&mut self, session: SessionId, seconds: u32) {
        let known = self.limits.get_mut(&session).and_then(Option::as_mut);
        if let Some(until) = known.or_else(|| self.early.get_mut(&session)) {
            *until += Time::from(seconds) * SECOND;
        }
    }

    fn grown(&mut self, at: Time, request: RequestId, resize: &Resize) {
        let plan = request.0.checked_sub(self.first.0).map(|plan| plan as usize);
        if let (Some(Some(Some(seconds))), Some(session), ResizeOutcome::Unchanged) =
            (plan.map(|plan| self.extends.get(plan)), resize.session, &resize.outcome)
        {
            return self.extended(session, *seconds);
        }
        let plan = plan.and_then(|plan| self.grows.get(plan));
        let Some(Some(grow)) = plan else { return };
        let (ResizeOutcome::Done | ResizeOutcome::Unchanged, Some(session)) = (&resize.outcome, resize.session) else {
            return;
        };
        // A session that somebody else has requested, and that this request only meets, stays unknown.
        let meets = resize.outcome == ResizeOutcome::Unchanged && grow.terms == SessionTerms::default();
        if !self.limits.contains_key(&session) && (grow.alloc_id.is_some() || meets) {
            // The first request of this session may be answered later.
            if let Some(seconds) = grow.terms.time_limit_s {
                let until = self.early.get(&session).copied().unwrap_or(at);
                self.early.insert(session, until + Time::from(seconds) * SECOND);
            }
            return;
        }
        let early = self.early.remove(&session);
        let until = self.limits.entry(session).or_insert(early);
        if let Some(seconds) = grow.terms.time_limit_s {
            // More time for a session with a limit.
            *until = Some(until.unwrap_or(at) + Time::from(seconds) * SECOND);
        }
        if let Some(before) = grow.terms.warn_s {
            self.warnings.insert(session, (Time::from(before) * SECOND, request));
        }
    }

    /// Judges the status of all sessions; from now on the effect of orders by name is known.
    fn judge_all(&mut self, at: Time, sessions: &[SessionStatus]) -> Result<(), String> {
        for status in sessions {
            self.learn(at, status);
            self.judge(at, status)?;
        }
        let of_one_that_is_gone = |id: &SessionId| sessions.iter().all(|status| status.session != *id);
        self.paused.retain(|id| !of_one_that_is_gone(id));
        self.by_name.clear();
        Ok(())
    }

    fn learn(&mut self, at: Time, status: &SessionStatus) {
        let id = status.session;
        let meant = self.by_name.iter().filter(|(name, _)| status.req_id.as_ref() == Some(name));
        let meant: Vec<SessionDirective> = meant.map(|(_, directive)| directive.clone()).collect();
        for directive in meant {
            match directive {
                SessionDirective::Pause => drop(self.paused.insert(id)),
                SessionDirective::Resume => drop(self.paused.remove(&id)),
                SessionDirective::Extend { seconds } => self.extended(id, seconds),
                _ => {}
            }
        }
        // The limit is later than the requests that the referee has seen.
        if let (true, Some(Some(until)), Some(says)) =
            (self.unsure.contains(&id), self.limits.get_mut(&id), status.seconds_left)
        {
            *until = (*until).max(at + says * SECOND);
        }
    }

    fn judge(&self, at: Time, status: &SessionStatus) -> Result<(), String> {
        let id = status.session;
        // A session appears when its nodes are on their way; its terms apply when they have come.
        let is_made = |(session, directive): &(SessionChoice, SessionDirective)| {
            matches!(directive, SessionDirective::Instantiate(_)) && number(session) == Some(id)
        };
        let is_coming = self.orders.values().any(is_made);
        require(!self.ended.contains(&id) || is_coming, || format!("session {id} was ended, and is there"))?;
        require(status.paused == self.paused.contains(&id), || {
            format!("session {id} was told to pause or to go on, and has not: {status:?}")
        })?;
        let Some(limit) = self.limits.get(&id).filter(|_| !is_coming) else { return Ok(()) };
        let left = limit.map(|until| until.saturating_sub(at) / SECOND);
        let is_near = match (left, status.seconds_left) {
            (None, None) => true,
            (None, Some(_)) => self.unsure.contains(&id),
            (Some(left), Some(says)) => left.abs_diff(says) <= 1,
            (Some(_), None) => false,
        };
        require(is_near, || format!("session {id} ends in {left:?} seconds, and says {:?}", status.seconds_left))?;
        let Some(until) = limit else { return Ok(()) };
        // A limit that may have moved to a later time unseen is accepted.
        require(!self.is_late(at, *until) || status.seconds_left > Some(0), || {
            format!("the time of session {id} was up at {until}, and it is there")
        })?;
        let Some((before, request)) = self.warnings.get(&id) else { return Ok(()) };
        // Another requester may have asked for another lead time.
        let by_other = self.warns_others.contains(&id);
        let before = status.warns_s.filter(|_| by_other).map_or(*before, |seconds| seconds * SECOND);
        let is_late = self.is_late(at, until.saturating_sub(before));
        let is_warned = self.warned.contains(request) || (by_other && status.warned);
        require(!is_late || is_warned, || {
            format!("session {id} is about to end, and request {request:?} was not warned")
        })
    }

    /// True when an act is late and the head has handled other inputs since it was due.
    fn is_late(&self, at: Time, due: Time) -> bool {
        at > due + SECOND && self.awake[0] >= due
    }

    fn launched(&self, job: JobId) -> Result<(), String> {
        let paused = self.jobs.get(&job).and_then(number).filter(|id| self.paused.contains(id));
        // The order that is carried out now resumes the session, or an order by its name has.
        let going_on = |directive: &SessionDirective| *directive == SessionDirective::Resume;
        let resuming = self.orders.values().any(|(_, directive)| going_on(directive));
        let resumed = self.by_name.iter().any(|(_, directive)| going_on(directive));
        require(paused.is_none() || resuming || resumed, || {
            format!("job {job} is launched, and its session {paused:?} pauses")
        })
    }

    fn says(&mut self, at: Time, effect: &Effect) -> Result<(), String> {
        match effect {
            Effect::Accepted { request, job } | Effect::Reply { request, reply: Reply::Detached(job) } => {
                if let Some(choice) = self.choices.get(request.0 as usize) {
                    self.jobs.insert(*job, choice.clone());
                }
                Ok(())
            }
            Effect::Reply { request, reply: Reply::Ordered } => {
                self.ordered(at, *request);
                Ok(())
            }
            Effect::Reply { request, reply: Reply::Resize(resize) } | Effect::Resized { request, resize } => {
                self.grown(at, *request, resize);
                Ok(())
            }
            Effect::TimeWarning { request, .. } => {
                self.warned.insert(*request);
                Ok(())
            }
            Effect::Reply { reply: Reply::Sessions(sessions), .. } => self.judge_all(at, sessions),
            Effect::Reply { request, .. } => {
                self.orders.remove(request);
                Ok(())
            }
            Effect::Trace(Transition::Job { job, to: JobState::SendLaunchMsg, .. }) => self.launched(*job),
            _ => Ok(()),
        }
    }
}

impl Invariant for SessionBook {
    fn name(&self) -> &'static str {
        "a session is as it was asked to be"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Input { rank: DaemonRank::HEAD, at, input, .. } => {
                if *at > self.awake[1] {
                    self.awake = [self.awake[1], *at];
                }
                if let Input::Head(HeadInput::Request { id, request: Request::Session { session, directive } }) = input
                {
                    self.orders.insert(*id, (session.clone(), directive.clone()));
                }
                Ok(())
            }
            Observation::Effect { rank: DaemonRank::HEAD, at, effect, message } => {
                self.says(*at, effect)?;
                let Some(Message::Daemon(DaemonMessage::Launch(order))) = message else { return Ok(()) };
                let named = match self.jobs.get(&order.job) {
                    Some(SessionChoice::Default) => Some(SessionId::DVM),
                    Some(SessionChoice::Id(number)) => Some(*number),
                    Some(SessionChoice::Alloc(_) | SessionChoice::Ref(_)) | None => None,
                };
                require(named.is_none_or(|named| named == order.session), || {
                    format!("job {} is for session {named:?}, and is launched in {}", order.job, order.session)
                })
            }
            _ => Ok(()),
        }
    }
}
