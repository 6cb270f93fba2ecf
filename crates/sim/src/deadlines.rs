//! Ends of the manager's jobs: a time limit that the head asks for, or a signal that announces an end. The manager
//! kills what is still there two seconds after the end.

use ferrite_core::{HeadInput, Input};
use ferrite_rm::JobEnd;
use ferrite_types::{DaemonRank, Duration, Grace, MapBy};
use ferrite_wire::{GrowRequest, ResizeRequest};

use crate::elastic::{Asker, ResizePlan};
use crate::event::Event;
use crate::manager::ManagerPlan;
use crate::network::Weather;
use crate::queue::Time;
use crate::rng::Rng;
use crate::scenario::{Client, Expect, JobPlan, Scenario, job};
use crate::world::World;

const SECOND: Time = 1_000_000;
/// The time between the end of a job and the death of what is left of it (`KillWait`).
const KILL_WAIT: Time = 2 * SECOND;

/// The end of a granted job.
pub(crate) struct End {
    at: Time,
    is_preempted: bool,
}

impl World {
    /// A granted job may have an end of its own: a time limit from its beginning, or an announced one.
    pub(crate) fn draw_end(&mut self, job: &str, announces: u64) {
        if announces == 0 || !self.manager.rng.permille(announces) {
            return;
        }
        let rng = &mut self.manager.rng;
        if rng.permille(400) {
            let at = self.queue.now() + rng.between(8 * SECOND, 40 * SECOND);
            self.manager.ends.insert(job.to_owned(), End { at, is_preempted: false });
            return self.queue.after(at - self.queue.now() + KILL_WAIT, Event::ManagerEnds(job.to_owned()));
        }
        let soon = rng.between(SECOND, 15 * SECOND);
        self.queue.after(soon, Event::ManagerAnnounces(job.to_owned()));
    }

    /// Announces the end of a granted job to the daemons on its nodes. A preempted job gets SIGTERM.
    pub(crate) fn manager_announces(&mut self, job: &str) {
        let daemons: Vec<DaemonRank> = self.manager.daemons_of(job).collect();
        let rng = &mut self.manager.rng;
        let left = rng.between(5 * SECOND, 20 * SECOND);
        let is_preempted = rng.permille(600);
        self.manager.ends.insert(job.to_owned(), End { at: self.queue.now() + left, is_preempted });
        for daemon in daemons.into_iter().filter(|daemon| self.hosts.contains_key(daemon)) {
            let delay = self.manager.rng.between(1, 50_000);
            self.queue.after(delay, Event::Input(daemon, Input::ManagerSignal { is_order: is_preempted }));
        }
        self.queue.after(left + KILL_WAIT, Event::ManagerEnds(job.to_owned()));
    }

    /// Answers the head when a job ends.
    pub(crate) fn ask_for_end(&mut self, job: String) {
        let now = self.queue.now();
        let end = self.manager.ends.get(&job);
        let told = JobEnd {
            left_s: end.map(|end| end.at.saturating_sub(now) / SECOND),
            is_preempted: end.is_some_and(|end| end.is_preempted),
            is_over: self.manager.daemons_of(&job).next().is_none() && end.is_some_and(|end| end.at < now),
        };
        self.tell_head(Input::Head(HeadInput::JobEndTold { job, told: Ok(told) }));
    }
}

impl Scenario {
    /// Draws a scenario about a DVM that is granted nodes which the manager takes back at a time of its own.
    #[must_use]
    pub fn deadlines(seed: u64) -> Scenario {
        let mut rng = Rng::new(seed ^ 0xdead_11e5_0000_0001);
        let mut s = Scenario { persistent: true, ..Scenario::calm(seed, rng.between(1, 3) as u32, 2) };
        s.slots = rng.between(1, 2) as u32;
        s.weather = *rng.pick(&[Weather::CALM, Weather { fastest: 5, slowest: 20_000, hiccups: 5 }]);
        let spare = rng.between(1, 4) as u32;
        s.elastic.manager = Some(ManagerPlan {
            seed: rng.between(0, u64::MAX - 1),
            spare,
            slowest: 100_000,
            refuses: 0,
            keeps: 0,
            ends: 0,
            announces: 900,
        });
        let mut granted = 0;
        for _ in 0..rng.between(1, 3) {
            let count = rng.between(1, u64::from(spare)) as u32;
            granted += count;
            let request = ResizeRequest::Grow(GrowRequest { count, wait: true, ..GrowRequest::default() });
            let at = rng.between(SECOND, 8 * SECOND);
            s.elastic.resizes.push(ResizePlan { at, request, by: Asker::Client(None) });
        }
        s.elastic.resizes.sort_by_key(|plan| plan.at);
        let most = u64::from((s.daemons + granted.min(spare)) * s.slots);
        for _ in 0..rng.between(1, 5) {
            let at = rng.between(2 * SECOND, 20 * SECOND);
            let mut spec =
                job(rng.between(1, most) as u32, &format!("pause:{}", rng.between(SECOND / 10, 25 * SECOND)));
            spec.map.by = rng.pick(&[None, Some(MapBy::Node)]).clone();
            let time = Duration::from_secs(rng.between(1, 10));
            spec.options.grace = rng.permille(800).then_some(Grace { time, signal: None });
            let client = Client { patient: true, ..Client::default() };
            s.jobs.push(JobPlan { client, ..JobPlan::new(at, spec, Expect::Anything) });
        }
        s
    }
}
