//! What the head says of its sessions is what was asked of them: when one with a limit ends, that it warns before, whether it
//! pauses, that it is gone when it was ended, and that a job runs in the session that it names. Of sessions that clients have
//! asked for and named by number or allocation; one that somebody else may have changed unseen is left out, it alone.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, HeadInput, Input, RequestId, Transition};
use ferrite_types::{DaemonRank, JobId, JobState};
use ferrite_wire::control::{Reply, Request, SessionChoice, SessionDirective, SessionStatus};
use ferrite_wire::{DaemonMessage, GrowRequest, Message, Resize, ResizeOutcome, ResizeRequest};

use super::changes::plain;
use super::{Invariant, Observation, require};
use crate::elastic::{Asker, ResizePlan};
use crate::queue::Time;
use crate::scenario::Scenario;

const SECOND: Time = 1_000_000;

pub(super) struct SessionBook {
    first: RequestId,
    grows: Vec<Option<GrowRequest>>,
    choices: Vec<SessionChoice>,
    /// Sessions whose limit or pause may change without our seeing it.
    unsure: BTreeSet<u32>,
    /// Names by which orders are given.
    names: BTreeSet<String>,
    /// Sessions that may have been told to go on by such a name.
    resumed: BTreeSet<u32>,
    /// Orders that have no answer yet.
    orders: BTreeMap<RequestId, (u32, SessionDirective)>,
    /// Sessions that clients have asked for, and when those with a limit end.
    limits: BTreeMap<u32, Option<Time>>,
    /// So long before its end a session warns the client with this request.
    warnings: BTreeMap<u32, (Time, RequestId)>,
    warned: BTreeSet<RequestId>,
    paused: BTreeSet<u32>,
    ended: BTreeSet<u32>,
    jobs: BTreeMap<JobId, SessionChoice>,
}

/// A grow as far as it can be followed: a client that has gone is not warned.
fn seen_grow(plan: &ResizePlan) -> Option<GrowRequest> {
    let ResizeRequest::Grow(grow) = &plan.request else { return None };
    let mut grow = grow.clone();
    grow.terms.warn_s = grow.terms.warn_s.filter(|_| plan.by == Asker::Client(None));
    Some(grow)
}

fn number(choice: &SessionChoice) -> Option<u32> {
    match plain(choice) {
        SessionChoice::Id(number) => Some(number),
        SessionChoice::Default | SessionChoice::Alloc(_) | SessionChoice::Ref(_) => None,
    }
}

impl SessionBook {
    pub(super) fn new(scenario: &Scenario) -> SessionBook {
        let plans = &scenario.elastic.resizes;
        // A process, or a client that goes, is answered where we do not hear it.
        let unseen =
            plans.iter().filter(|plan| plan.by != Asker::Client(None)).filter_map(|plan| match &plan.request {
                ResizeRequest::Grow(grow) => grow.alloc_id.clone().map(SessionChoice::Alloc),
                ResizeRequest::Shrink(_) | ResizeRequest::Cancel(_) | ResizeRequest::Extend(_) => None,
            });
        // Which session that is only the head knows, which tells the names of all.
        let names = scenario.questions.iter().filter_map(|(_, question)| match question {
            Request::Session { session: SessionChoice::Ref(name), .. } => Some(name.clone()),
            _ => None,
        });
        SessionBook {
            first: scenario.resize_request(0),
            grows: plans.iter().map(seen_grow).collect(),
            choices: scenario.jobs.iter().map(|job| job.session.clone()).collect(),
            unsure: unseen.filter_map(|alloc| number(&alloc)).collect(),
            names: names.collect(),
            resumed: BTreeSet::new(),
            orders: BTreeMap::new(),
            limits: BTreeMap::new(),
            warnings: BTreeMap::new(),
            warned: BTreeSet::new(),
            paused: BTreeSet::new(),
            ended: BTreeSet::new(),
            jobs: BTreeMap::new(),
        }
    }

    fn ask(&mut self, id: RequestId, session: &SessionChoice, directive: &SessionDirective) {
        let Some(number) = number(session) else {
            if *directive == SessionDirective::Resume {
                self.resumed.extend(&self.paused);
            }
            return;
        };
        // What goes on does so before the answer.
        if *directive == SessionDirective::Resume {
            self.paused.remove(&number);
        }
        self.orders.insert(id, (number, directive.clone()));
    }

    fn ordered(&mut self, id: RequestId) {
        let Some((number, directive)) = self.orders.remove(&id) else { return };
        match directive {
            SessionDirective::Pause => {
                self.paused.insert(number);
                self.resumed.remove(&number);
            }
            SessionDirective::Extend { seconds } => {
                if let Some(Some(until)) = self.limits.get_mut(&number) {
                    *until += Time::from(seconds) * SECOND;
                }
            }
            SessionDirective::Terminate => {
                self.ended.insert(number);
            }
            SessionDirective::Instantiate(_) => {
                self.ended.remove(&number);
                self.paused.remove(&number);
            }
            SessionDirective::Resume | SessionDirective::Signal(_) | SessionDirective::Separate => {}
        }
    }

    fn grown(&mut self, at: Time, request: RequestId, resize: &Resize) {
        let plan = request.0.checked_sub(self.first.0).and_then(|plan| self.grows.get(plan as usize));
        let Some(Some(grow)) = plan else { return };
        let (ResizeOutcome::Done | ResizeOutcome::Unchanged, Some(session)) = (&resize.outcome, resize.session) else {
            return;
        };
        let until = self.limits.entry(session).or_default();
        if let Some(seconds) = grow.terms.time_limit_s {
            // Of a session that has a limit, which is lengthened.
            *until = Some(until.unwrap_or(at) + Time::from(seconds) * SECOND);
        }
        if let Some(before) = grow.terms.warn_s {
            self.warnings.insert(session, (Time::from(before) * SECOND, request));
        }
    }

    fn judge(&self, at: Time, status: &SessionStatus) -> Result<(), String> {
        let id = status.session;
        require(!self.ended.contains(&id), || format!("session {id} was ended, and is there"))?;
        let is_named = status.req_id.as_ref().is_some_and(|name| self.names.contains(name));
        if self.unsure.contains(&id) || is_named {
            return Ok(());
        }
        require(status.paused == self.paused.contains(&id), || {
            format!("session {id} was told to pause or to go on, and has not: {status:?}")
        })?;
        let Some(limit) = self.limits.get(&id) else { return Ok(()) };
        let left = limit.map(|until| until.saturating_sub(at) / SECOND);
        let is_near = match (left, status.seconds_left) {
            (None, None) => true,
            (Some(left), Some(says)) => left.abs_diff(says) <= 1,
            _ => false,
        };
        require(is_near, || format!("session {id} ends in {left:?} seconds, and says {:?}", status.seconds_left))?;
        let (Some(until), Some((before, request))) = (limit, self.warnings.get(&id)) else { return Ok(()) };
        let is_late = at > until.saturating_sub(*before) + SECOND;
        require(!is_late || self.warned.contains(request), || {
            format!("session {id} is about to end, and request {request:?} was not warned")
        })
    }

    fn launched(&self, job: JobId) -> Result<(), String> {
        let paused = self.jobs.get(&job).and_then(number).filter(|id| self.paused.contains(id));
        let judged = paused.filter(|id| !self.unsure.contains(id) && !self.resumed.contains(id));
        require(judged.is_none(), || format!("job {job} is launched, and its session {judged:?} pauses"))
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
                self.ordered(*request);
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
            Effect::Reply { reply: Reply::Sessions(sessions), .. } => {
                sessions.iter().try_for_each(|status| self.judge(at, status))
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
            Observation::Input {
                rank: DaemonRank::HEAD,
                input: Input::Head(HeadInput::Request { id, request: Request::Session { session, directive } }),
                ..
            } => {
                self.ask(*id, session, directive);
                Ok(())
            }
            Observation::Effect { rank: DaemonRank::HEAD, at, effect, message } => {
                self.says(*at, effect)?;
                let Some(Message::Daemon(DaemonMessage::Launch(order))) = message else { return Ok(()) };
                let named = match self.jobs.get(&order.job) {
                    Some(SessionChoice::Default) => Some(0),
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
