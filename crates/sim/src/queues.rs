//! Scenarios about the queue: more jobs than slots, of several clients and priorities. The allocation stays whole and
//! keeps its size, so that the referee can count slots.

use ferrite_types::MapBy;
use ferrite_wire::control::{Dependency, JobRef, Request};

use crate::network::Weather;
use crate::queue::Time;
use crate::rng::Rng;
use crate::scenario::{Client, Expect, JobPlan, Scenario, UNIT, job};

const SECOND: Time = 1_000_000;

impl Scenario {
    /// Draws a scenario about jobs that wait for slots.
    #[must_use]
    pub fn queues(seed: u64) -> Scenario {
        let mut rng = Rng::new(seed ^ 0x0e0e_0000_0000_0001);
        let mut s = Scenario { persistent: true, ..Scenario::calm(seed, *rng.pick(&[1, 1, 2, 3, 5]), 2) };
        s.slots = rng.between(1, 4) as u32;
        s.weather = *rng.pick(&[Weather::CALM, Weather { fastest: 5, slowest: 20_000, hiccups: 5 }]);
        s.backfill_s = *rng.pick(&[0, 1, 3, 3, 30]);
        let clients = rng.between(1, 5);
        const PRIORITIES: [&[i16]; 3] = [&[0], &[0, 0, 0, 5], &[-1_000, -1, 0, 0, 1, 1_000]];
        let priorities = *rng.pick(&PRIORITIES);
        // Jobs come at once, or one after the other.
        let span = *rng.pick(&[0, 2 * SECOND, 15 * SECOND]);
        for _ in 0..rng.between(4, 30) {
            let at = SECOND + rng.between(0, span);
            let plan = s.draw_waiting(&mut rng, at);
            let name = rng.between(1, clients) as u8;
            let priority = *rng.pick(priorities);
            let client = Client { priority, name, ..plan.client };
            s.jobs.push(JobPlan { client, ..plan });
        }
        s.draw_units();
        s.draw_dependencies();
        for _ in 0..rng.between(0, 3) {
            let at = rng.between(SECOND, 10 * SECOND);
            s.questions.push((at, if rng.permille(700) { Request::Jobs } else { Request::Status }));
        }
        s
    }

    /// Has jobs take units of a resource of which nodes have fewer than slots. What is drawn before stays as it was.
    fn draw_units(&mut self) {
        let mut rng = Rng::new(self.seed ^ 0x0e0e_0000_0000_0002);
        if rng.permille(600) {
            return;
        }
        let units = rng.between(1, self.slots.into());
        self.units = Some(units);
        // Nodes may share them.
        self.shared_units = Rng::new(self.seed ^ 0x0e0e_0000_0000_0004).permille(500);
        for plan in &mut self.jobs {
            let app = &mut plan.spec.apps[0];
            let Some(np) = app.np.filter(|_| rng.permille(600)) else { continue };
            let each = rng.between(1, units);
            app.takes.insert(UNIT.to_owned(), each);
            let room = match self.shared_units {
                true => units / each,
                false => u64::from(self.daemons) * (units / each).min(self.slots.into()),
            };
            if u64::from(np) > room {
                plan.expect = Expect::Anything;
            }
        }
    }

    /// Has jobs begin after others. What is drawn before stays as it was.
    fn draw_dependencies(&mut self) {
        let mut rng = Rng::new(self.seed ^ 0x0e0e_0000_0000_0006);
        if rng.permille(500) {
            return;
        }
        // A few names, so that some are used twice.
        let names = rng.between(2, 2 * self.jobs.len() as u64);
        // A job depends on those that were submitted before it.
        self.jobs.sort_by_key(|plan| plan.at);
        for at in 0..self.jobs.len() {
            let (before, rest) = self.jobs.split_at_mut(at);
            let plan = &mut rest[0];
            plan.task = format!("t{}", rng.between(1, names));
            let count = if rng.permille(500) { 0 } else { rng.between(1, 3) };
            for _ in 0..count.min(before.len() as u64) {
                let other = &before[rng.between(0, before.len() as u64 - 1) as usize];
                let well = rng.permille(600);
                plan.after.push(Dependency { job: JobRef::Name(other.task.clone()), well });
                plan.expect = Expect::Anything;
            }
        }
    }

    fn draw_waiting(&self, rng: &mut Rng, at: Time) -> JobPlan {
        let all = self.daemons * self.slots;
        let np = match rng.between(0, 19) {
            0..=8 => 1,
            9..=11 => all,
            12 => all + 1,
            _ => rng.between(1, all.into()) as u32,
        };
        let pause = rng.between(0, 3 * SECOND);
        let (program, expect) = match rng.between(0, 5) {
            0 => (format!("pause:{pause} exit:3"), Expect::Code(3)),
            1 => (format!("init fence pause:{pause} finalize"), Expect::Code(0)),
            _ => (format!("pause:{pause}"), Expect::Code(0)),
        };
        let mut later = |chance| rng.permille(chance).then(|| at + rng.between(0, 4 * SECOND));
        let (cancels, leaves) = (later(120), later(60));
        // Others take what is free, and are refused when that is too little.
        let patient = rng.permille(950);
        let is_sure = np <= all && patient && cancels.is_none();
        let expect = if is_sure { expect } else { Expect::Anything };
        let mut spec = job(np, &program);
        spec.map.by = rng.pick(&[None, Some(MapBy::Slot), Some(MapBy::Node)]).clone();
        let detached = rng.permille(80);
        let client = Client { patient, detached, cancels, leaves, ..Client::default() };
        JobPlan { client, ..JobPlan::new(at, spec, expect) }
    }
}
