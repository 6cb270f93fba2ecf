//! Further scenarios about sessions: repeated pauses; sessions of a scheduler, on nodes of their own and on
//! allocations, with a time limit or without; and requests for more time alone.

use ferrite_types::{HostEntry, SessionId};
use ferrite_wire::control::{Request, SessionChoice, SessionDirective};
use ferrite_wire::{AddedHost, ExtendRequest, GrowRequest, ResizeRequest, SessionTerms, SlotChange};

use crate::elastic::{Asker, ResizePlan};
use crate::queue::Time;
use crate::rng::Rng;
use crate::scenario::Scenario;
use crate::sessions::{LONGEST_S, MOST_ADDED_S, SECOND, draw_choice};

impl Scenario {
    /// Draws orders in addition to the ones of the scenario.
    pub(crate) fn draw_more_orders(&mut self, rng: &mut Rng) {
        if rng.permille(300) {
            self.draw_pauses(rng);
        }
        if rng.permille(250) {
            self.draw_instantiations(rng);
        }
        if rng.permille(250) {
            self.draw_more_time(rng);
        }
    }

    /// Draws sessions that pause and resume, and jobs that are submitted meanwhile.
    fn draw_pauses(&mut self, rng: &mut Rng) {
        let session = draw_choice(rng);
        let mut at = rng.between(SECOND / 2, 6 * SECOND);
        for _ in 0..rng.between(1, 3) {
            for directive in [SessionDirective::Pause, SessionDirective::Resume] {
                self.questions.push((at, Request::Session { session: session.clone(), directive }));
                at += draw_gap(rng);
            }
        }
        for job in self.jobs.iter_mut().filter(|job| !job.quiet) {
            if rng.permille(300) {
                job.session = session.clone();
            }
        }
    }

    /// Draws sessions of a scheduler, on nodes of their own or of an allocation, and later orders for them.
    fn draw_instantiations(&mut self, rng: &mut Rng) {
        for number in 60..60 + rng.between(1, 3) as u32 {
            let mut at = rng.between(SECOND / 2, 6 * SECOND);
            let time_limit_s = rng.permille(500).then(|| rng.between(1, LONGEST_S) as u32);
            let mut wish = GrowRequest {
                terms: SessionTerms { time_limit_s, ..SessionTerms::default() },
                ..GrowRequest::default()
            };
            if rng.permille(600) {
                let slots = SlotChange::Set(self.slots);
                let host = |i: u64| AddedHost { host: HostEntry::named(&format!("m{i}")), slots };
                let first = rng.between(0, 6);
                wish.hosts = (first..=first + rng.between(0, 2)).map(host).collect();
            } else {
                wish.alloc_id = Some(format!("a{}", rng.between(1, 3)).into());
            }
            let session = SessionChoice::Id(SessionId(number));
            let make = SessionDirective::Instantiate(Box::new(wish));
            self.questions.push((at, Request::Session { session: session.clone(), directive: make }));
            for _ in 0..rng.between(0, 3) {
                at += draw_gap(rng);
                let directive = match rng.between(0, 4) {
                    0 => SessionDirective::Pause,
                    1 => SessionDirective::Resume,
                    2 | 3 => SessionDirective::Extend { seconds: rng.between(1, MOST_ADDED_S) as u32 },
                    _ => SessionDirective::Terminate,
                };
                self.questions.push((at, Request::Session { session: session.clone(), directive }));
            }
            for job in self.jobs.iter_mut().filter(|job| !job.quiet && job.at > at) {
                if rng.permille(200) {
                    job.session = session.clone();
                }
            }
        }
    }

    /// Draws requests for more time, by allocation, with a limit or without.
    fn draw_more_time(&mut self, rng: &mut Rng) {
        for _ in 0..rng.between(1, 3) {
            let at = rng.between(SECOND, 8 * SECOND);
            let alloc_id = Some(format!("a{}", rng.between(1, 3)).into());
            let request = ExtendRequest { alloc_id, req_id: None, seconds: rng.between(1, MOST_ADDED_S) as u32 };
            let by = if rng.permille(800) { Asker::Client(None) } else { Asker::Process(rng.between(0, 100) as u32) };
            self.elastic.resizes.push(ResizePlan { at, request: ResizeRequest::Extend(request), by });
        }
    }
}

/// Draws the time between two orders, which may be 0.
fn draw_gap(rng: &mut Rng) -> Time {
    let most = *rng.pick(&[2, 20_000, 1_000_000, 3_000_000]);
    rng.between(1, most)
}
