//! Scenarios about sessions: reserved nodes, time limits, inheritance, jobs that name their session, orders for
//! sessions, and cancelled requests. They extend an elastic scenario without changing its draws.

use ferrite_types::{AllocReqId, JobId, SessionId, Signal};
use ferrite_wire::control::{Request, SessionChoice, SessionDirective};
use ferrite_wire::{CancelRequest, GrowRequest, Inheritance, ResizeRequest, SessionTerms};

use crate::elastic::{Asker, ResizePlan};
use crate::queue::Time;
use crate::rng::Rng;
use crate::scenario::{Expect, Scenario};

pub(crate) const SECOND: Time = 1_000_000;
/// The longest time limit of a session (seconds).
pub(crate) const LONGEST_S: u64 = 8;
/// The most time by which a request lengthens a session (seconds).
pub(crate) const MOST_ADDED_S: u64 = 5;

impl Scenario {
    /// A scenario about changes of size, in sessions.
    #[must_use]
    pub fn sessions(seed: u64) -> Scenario {
        let mut s = Scenario::elastic(seed);
        let mut rng = Rng::new(seed ^ 0x5e55_1045_0000_0001);
        for plan in &mut s.elastic.resizes {
            if let ResizeRequest::Grow(grow) = &mut plan.request {
                grow.terms = draw_terms(&mut rng);
                // Requests that may contain the head's node reserve nothing, because the quiet phase needs that node.
                grow.terms.reserve &= grow.activate.is_empty() && grow.alloc_id.is_none();
            }
        }
        for job in s.jobs.iter_mut().filter(|job| !job.quiet) {
            if rng.permille(400) {
                job.session = draw_choice(&mut rng);
            }
            // The job's session may end or be unknown, so any result is accepted.
            job.expect = Expect::Anything;
        }
        s.draw_orders(&mut rng);
        s.draw_cancellations(&mut rng);
        // A separate generator keeps all other draws as they are.
        s.draw_more_orders(&mut Rng::new(seed ^ 0x5e55_1045_0000_0002));
        s.move_quiet_phase();
        s.let_all_go_on();
        s.ask_how_it_is(&mut rng);
        s.ask_after_orders();
        s
    }

    /// Returns the known times at which sessions begin or end; each may be a change of size.
    pub(crate) fn session_changes(&self) -> impl Iterator<Item = Time> + '_ {
        let by_order = self.questions.iter().filter(|(_, question)| matches!(question, Request::Session { .. }));
        let of_request = |plan: &ResizePlan| match &plan.request {
            ResizeRequest::Grow(GrowRequest { terms, .. }) if *terms != SessionTerms::default() => {
                Some(plan.at + (LONGEST_S + MOST_ADDED_S) * SECOND)
            }
            _ => None,
        };
        by_order.map(|(at, _)| *at).chain(self.elastic.resizes.iter().filter_map(of_request))
    }

    fn draw_orders(&mut self, rng: &mut Rng) {
        for _ in 0..rng.between(0, 5) {
            let at = rng.between(SECOND / 2, 12 * SECOND);
            let mut session = draw_choice(rng);
            let directive = match rng.between(0, 9) {
                0..=2 => SessionDirective::Pause,
                3 => SessionDirective::Resume,
                4 => SessionDirective::Signal(Signal(*rng.pick(&[10, 15]))),
                5 | 6 => SessionDirective::Terminate,
                7 => SessionDirective::Extend { seconds: rng.between(1, MOST_ADDED_S) as u32 },
                8 => SessionDirective::Separate,
                _ => {
                    session = SessionChoice::Id(SessionId(rng.between(50, 52) as u32));
                    let alloc_id = Some(format!("a{}", rng.between(1, 3)).into());
                    SessionDirective::Instantiate(Box::new(GrowRequest { alloc_id, ..GrowRequest::default() }))
                }
            };
            self.questions.push((at, Request::Session { session, directive }));
        }
        let is_limited = |plan: &ResizePlan| match &plan.request {
            ResizeRequest::Grow(grow) => grow.terms.time_limit_s.is_some(),
            _ => false,
        };
        let limited: Vec<Time> =
            self.elastic.resizes.iter().filter(|plan| is_limited(plan)).map(|plan| plan.at).collect();
        for at in limited.into_iter().filter(|_| rng.permille(400)).collect::<Vec<Time>>() {
            let session = SessionChoice::Id(SessionId(rng.between(1, 3) as u32));
            let directive = SessionDirective::Extend { seconds: rng.between(2, MOST_ADDED_S) as u32 };
            self.questions.push((at + rng.between(SECOND / 2, 2 * SECOND), Request::Session { session, directive }));
        }
        if rng.permille(200) {
            let job = JobId(rng.between(1, 8) as u32);
            self.questions.push((rng.between(SECOND, 10 * SECOND), Request::Kill(job)));
        }
    }

    fn draw_cancellations(&mut self, rng: &mut Rng) {
        let named = |plan: &ResizePlan| match &plan.request {
            ResizeRequest::Grow(GrowRequest { req_id: Some(name), .. }) => Some((plan.at, name.clone())),
            _ => None,
        };
        let named: Vec<(Time, AllocReqId)> = self.elastic.resizes.iter().filter_map(named).collect();
        for (at, name) in named {
            if rng.permille(300) {
                let most = *rng.pick(&[100, 20_000, 2_000_000]);
                let at = at + rng.between(0, most);
                let request = ResizeRequest::Cancel(CancelRequest { alloc_id: None, req_id: Some(name) });
                let by =
                    if rng.permille(700) { Asker::Client(None) } else { Asker::Process(rng.between(0, 100) as u32) };
                self.elastic.resizes.push(ResizePlan { at, request, by });
            }
        }
    }

    /// Asks the head now and then for sessions, status and jobs at one time; the referee judges the answers.
    fn ask_how_it_is(&mut self, rng: &mut Rng) {
        for _ in 0..8 {
            let at = rng.between(SECOND / 2, 14 * SECOND);
            self.questions.extend([Request::Sessions, Request::Status, Request::Jobs].map(|question| (at, question)));
        }
    }

    /// Asks for the sessions after each order: the answer shows which session an ambiguous name meant.
    fn ask_after_orders(&mut self) {
        let is_order = |(at, question): &(Time, Request)| matches!(question, Request::Session { .. }).then_some(*at);
        let orders: Vec<Time> = self.questions.iter().filter_map(is_order).collect();
        for at in orders {
            self.questions
                .extend([Request::Sessions, Request::Status, Request::Jobs].map(|question| (at + 1, question)));
        }
    }

    /// Resumes all sessions before the quiet phase; otherwise their jobs would wait for ever.
    fn let_all_go_on(&mut self) {
        let at = self.quiet_from().saturating_sub(SECOND);
        let paused = |(_, question): &(Time, Request)| match question {
            Request::Session { session, directive: SessionDirective::Pause } => Some(session.clone()),
            _ => None,
        };
        let paused: Vec<SessionChoice> = self.questions.iter().filter_map(paused).collect();
        let resume = |session| (at, Request::Session { session, directive: SessionDirective::Resume });
        self.questions.extend(paused.into_iter().map(resume));
    }
}

fn draw_terms(rng: &mut Rng) -> SessionTerms {
    let time_limit_s = rng.permille(250).then(|| rng.between(1, LONGEST_S) as u32);
    let inheritance = [
        None,
        Some(Inheritance::Default),
        Some(Inheritance::None),
        Some(Inheritance::Child),
        Some(Inheritance::ChildDefault),
    ];
    SessionTerms {
        reserve: rng.permille(350),
        inheritance: *rng.pick(&inheritance),
        separate: rng.permille(200),
        time_limit_s,
        warn_s: time_limit_s.filter(|limit| *limit > 1).map(|limit| limit / 2),
    }
}

pub(crate) fn draw_choice(rng: &mut Rng) -> SessionChoice {
    match rng.between(0, 5) {
        0 | 1 => SessionChoice::Id(SessionId(rng.between(1, 4) as u32)),
        2 | 3 => SessionChoice::Alloc(format!("a{}", rng.between(1, 3)).into()),
        _ => SessionChoice::Ref(format!("r{}", rng.between(0, 5)).into()),
    }
}
