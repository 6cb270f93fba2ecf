//! Scenarios about the policy for elastic jobs (`ferrite_elastic_policy fill`): jobs that share their work among as
//! many processes as they have, and others that wait for slots. The DVM keeps its size.

use ferrite_types::{Duration, Grace, MapBy, SizeRange};

use crate::network::Weather;
use crate::queue::Time;
use crate::rng::Rng;
use crate::scenario::{Client, Expect, JobPlan, Scenario, job};

const SECOND: Time = 1_000_000;

impl Scenario {
    /// Draws a scenario about the policy for elastic jobs.
    #[must_use]
    pub fn fills(seed: u64) -> Scenario {
        let mut rng = Rng::new(seed ^ 0xf111_0000_0000_0001);
        let mut s = Scenario { persistent: true, ..Scenario::calm(seed, *rng.pick(&[1, 2, 3, 5]), 2) };
        s.slots = rng.between(1, 4) as u32;
        s.weather = *rng.pick(&[Weather::CALM, Weather { fastest: 5, slowest: 20_000, hiccups: 5 }]);
        s.elastic.policy_pause_s = *rng.pick(&[1, 5, 30]);
        let count = rng.between(1, 3);
        for _ in 0..count {
            let plan = s.draw_worker(&mut rng);
            s.jobs.push(plan);
        }
        let all = u64::from(s.daemons * s.slots);
        for _ in 0..rng.between(0, 10) {
            let at = rng.between(SECOND, 90 * SECOND);
            let mut spec = job(rng.between(1, all) as u32, &format!("pause:{}", rng.between(0, 20 * SECOND)));
            spec.map.by = rng.pick(&[None, Some(MapBy::Node)]).clone();
            let client = Client { patient: true, name: rng.between(0, 2) as u8, ..Client::default() };
            s.jobs.push(JobPlan { client, ..JobPlan::new(at, spec, Expect::Code(0)) });
        }
        s
    }

    /// Draws an elastic job. Most of them take what they are offered, and let processes end.
    fn draw_worker(&self, rng: &mut Rng) -> JobPlan {
        let all = u64::from(self.daemons * self.slots);
        let np = rng.between(1, all.div_ceil(2)) as u32;
        let range = SizeRange { min: rng.between(1, np.into()) as u32, max: np + rng.between(0, all) as u32 };
        let mut words = vec![format!("work:{}", u64::from(range.min) * rng.between(5 * SECOND, 400 * SECOND))];
        match rng.between(0, 9) {
            0 => words.push("declines".to_owned()),
            1 => {}
            _ => words.push("takes".to_owned()),
        }
        match rng.between(0, 9) {
            0 => words.push("refuses".to_owned()),
            1 => words.push("deaf".to_owned()),
            2 => {}
            _ => words.push(format!("leaves:{}", rng.between(0, 3 * SECOND))),
        }
        let mut spec = job(np, &words.join(" "));
        spec.options.elastic = Some(range);
        let time = Duration::from_secs(rng.between(1, 20));
        spec.options.grace = rng.permille(700).then_some(Grace { time, signal: None });
        let client = Client { patient: true, ..Client::default() };
        JobPlan { client, ..JobPlan::new(rng.between(SECOND, 20 * SECOND), spec, Expect::Code(0)) }
    }
}
