//! What the policy for elastic jobs gains: a stream of jobs for days, with and without it.
//!
//! `sim workload` prints the table of docs/benchmarks.md. Sizes and times of jobs are drawn; each job shares its work
//! among its processes (see `works.rs`), and loses two seconds with each change of its size.

use std::fmt::Write;

use ferrite_core::RequestId;
use ferrite_types::{Duration, Grace, SizeRange};

use crate::invariants::Referee;
use crate::queue::Time;
use crate::rng::Rng;
use crate::scenario::{Client, Expect, JobPlan, Scenario, job};
use crate::trace::Keep;
use crate::world::World;

const SECOND: Time = 1_000_000;
const HOUR: Time = 3_600 * SECOND;
/// The time after which the jobs that are left are given up.
const MOST: Time = 30 * 24 * HOUR;
/// The DVM: so many nodes with so many slots.
const NODES: u32 = 8;
const SLOTS: u32 = 16;
/// The sizes of jobs, each as likely as the others.
const SIZES: [u32; 10] = [1, 2, 4, 8, 8, 16, 16, 32, 32, 64];
/// The shortest job, and how often the longest one is as long, as a power of two (each power is as likely).
const SHORTEST: f64 = 60.0;
const DOUBLINGS: f64 = 7.0;
/// A change between two jobs makes them wait no longer than this.
const GRACE_S: u64 = 60;
/// `ferrite_elastic_pause`.
const PAUSE_S: u32 = 30;

/// A stream of jobs.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// The time in which its jobs come (hours).
    pub hours: u64,
    /// The work of the jobs that come, in percent of what the DVM can do.
    pub load: u32,
    /// The jobs that are elastic (percent).
    pub elastic: u32,
    /// True with the policy `fill`.
    pub fills: bool,
    /// All else.
    pub seed: u64,
}

/// What became of the jobs.
#[derive(Clone, Debug, Default)]
pub struct WorkloadRow {
    /// Their number.
    pub jobs: usize,
    /// Those with another exit code than 0.
    pub failed: usize,
    /// From the submission to the end (seconds), in order.
    pub completion: Vec<f64>,
    /// The slots that had a process (percent), until the last job has ended.
    pub used: f64,
    /// The end of the last job (seconds).
    pub end: f64,
}

/// Plays a stream of jobs.
#[must_use]
pub fn workload(stream: Workload) -> WorkloadRow {
    let scenario = stream.scenario();
    let jobs = scenario.jobs.clone();
    let mut world = World::new(scenario, Keep::Nothing, Referee::blind());
    world.begin();
    let mut time = 0;
    while world.report.replied.len() < jobs.len() && time < stream.hours * HOUR + MOST {
        time += HOUR;
        world.play_until(time);
    }
    let held = world.held as f64;
    let report = world.stop();
    let ended = |(number, plan): (usize, &JobPlan)| {
        let at = report.replied.get(&RequestId(number as u64))?;
        Some((at - plan.at) as f64 / SECOND as f64)
    };
    let mut completion: Vec<f64> = jobs.iter().enumerate().filter_map(ended).collect();
    completion.sort_unstable_by(f64::total_cmp);
    let end = report.replied.values().max().copied().unwrap_or(0) as f64;
    WorkloadRow {
        jobs: jobs.len(),
        failed: jobs.len() - report.replies.values().filter(|code| **code == 0).count(),
        completion,
        used: 100.0 * held / (end * f64::from(NODES * SLOTS)),
        end: end / SECOND as f64,
    }
}

impl Workload {
    fn scenario(&self) -> Scenario {
        let mut rng = Rng::new(self.seed ^ 0x3017_0000_0000_0001);
        // Whether a job is elastic changes nothing else of it.
        let mut elastic = rng.fork();
        let mut s = Scenario { persistent: true, slots: SLOTS, ..Scenario::calm(self.seed, NODES, 64) };
        s.elastic.policy_pause_s = if self.fills { PAUSE_S } else { 0 };
        let mean_size = f64::from(SIZES.iter().sum::<u32>()) / SIZES.len() as f64;
        let mean_time = SHORTEST * (DOUBLINGS.exp2() - 1.0) / (DOUBLINGS * std::f64::consts::LN_2);
        let between = mean_size * mean_time / (f64::from(NODES * SLOTS) * f64::from(self.load) / 100.0);
        let mut at = 10.0;
        while at < (self.hours * HOUR / SECOND) as f64 {
            let np = *rng.pick(&SIZES);
            let seconds = SHORTEST * (DOUBLINGS * unit(&mut rng)).exp2();
            let work = (f64::from(np) * seconds * SECOND as f64) as u64;
            let is_elastic = elastic.permille(u64::from(self.elastic) * 10);
            let mut spec = job(np, &format!("work:{work}{}", if is_elastic { " takes leaves:1000000" } else { "" }));
            if is_elastic {
                let range = SizeRange { min: np.div_ceil(4), max: (4 * np).min(NODES * SLOTS) };
                spec.options.elastic = Some(range);
                spec.options.grace = Some(Grace { time: Duration::from_secs(GRACE_S), signal: None });
            }
            let client = Client { patient: true, ..Client::default() };
            let plan = JobPlan::new((at * SECOND as f64) as Time, spec, Expect::Code(0));
            s.jobs.push(JobPlan { client, ..plan });
            at -= between * unit(&mut rng).ln();
        }
        s
    }
}

/// A number between 0 and 1, without both.
fn unit(rng: &mut Rng) -> f64 {
    ((rng.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

/// The table: each load without the policy, with half of the jobs elastic, and with all.
#[must_use]
pub fn workload_table(days: u64, seed: u64) -> String {
    let mut table = String::from(
        "| load | elastic jobs | policy | jobs | failed | mean completion | median | 95 % | slots in use | last end |\n\
         |--:|--:|---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for load in [60, 80, 95] {
        for (elastic, fills) in [(0, false), (50, true), (100, true)] {
            let row = workload(Workload { hours: 24 * days, load, elastic, fills, seed });
            let mean = row.completion.iter().sum::<f64>() / row.completion.len().max(1) as f64;
            let at = |part: f64| row.completion.get(((row.completion.len() as f64) * part) as usize).copied();
            let minutes = |seconds: f64| format!("{:.0} min", seconds / 60.0);
            let _ = writeln!(
                table,
                "| {load} % | {elastic} % | {} | {} | {} | {} | {} | {} | {:.0} % | {:.1} h |",
                if fills { "fill" } else { "none" },
                row.jobs,
                row.failed,
                minutes(mean),
                minutes(at(0.5).unwrap_or(0.0)),
                minutes(at(0.95).unwrap_or(0.0)),
                row.used,
                row.end / 3600.0,
            );
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All jobs end well, and the policy lets them end sooner (spec E62, E63).
    #[test]
    fn elastic_jobs_end_sooner_with_the_policy() {
        let stream = Workload { hours: 3, load: 80, elastic: 100, fills: false, seed: 1 };
        let (without, with) = (workload(stream), workload(Workload { fills: true, ..stream }));
        let mean = |row: &WorkloadRow| row.completion.iter().sum::<f64>() / row.completion.len() as f64;
        assert_eq!((without.failed, with.failed), (0, 0));
        assert_eq!(without.jobs, with.completion.len());
        assert!(mean(&with) < 0.8 * mean(&without), "{} and {} s", mean(&with), mean(&without));
    }
}
