//! Minimizes a failing scenario: omits, lowers or rounds everything that is not needed to break the same guarantee.
//!
//! It serves a failed seed. Greedy and bounded: the result fails, but need not be the smallest scenario.

use ferrite_types::DaemonRank;
use ferrite_wire::ResizeRequest;

use crate::children::ChildPlan;
use crate::elastic::Asker;
use crate::fault::Fault;
use crate::network::Weather;
use crate::queue::Time;
use crate::scenario::{Client, Ending, Expect, Fate, JobPlan, Scenario};

/// The smallest scenario that was found.
#[derive(Clone, Debug)]
pub struct Minimized {
    /// The scenario; it fails in the same way.
    pub scenario: Scenario,
    /// Runs that were spent.
    pub runs: usize,
}

/// Minimizes a scenario in at most `most_runs` runs. `fails` plays a smaller one: true when it fails in the same way.
pub fn minimize(scenario: &Scenario, most_runs: usize, mut fails: impl FnMut(&Scenario) -> bool) -> Minimized {
    let mut best = scenario.clone();
    let mut runs = 0;
    loop {
        let before = best.clone();
        for step in STEPS {
            // Each success makes a new list of proposals; those before the place of the success are not tried again.
            let mut next = 0;
            while let Some(smaller) = step(&best).into_iter().nth(next) {
                if runs == most_runs {
                    return Minimized { scenario: best, runs };
                }
                next += 1;
                if smaller == best {
                    continue;
                }
                runs += 1;
                if fails(&smaller) {
                    best = smaller;
                    next -= 1;
                }
            }
        }
        if best == before {
            return Minimized { scenario: best, runs };
        }
    }
}

/// Proposals of one kind, the boldest first.
type Step = fn(&Scenario) -> Vec<Scenario>;

const STEPS: [Step; 12] = [
    few_daemons,
    no_jobs,
    no_questions,
    no_faults,
    no_fates,
    no_resizes,
    small_resizes,
    plain,
    small_jobs,
    small_children,
    calm,
    round_times,
];

fn few_daemons(s: &Scenario) -> Vec<Scenario> {
    let smaller = |daemons: u32| (1..s.daemons).contains(&daemons).then(|| with_daemons(s, daemons));
    // Fractions first, because a DVM may be large; then one daemon less.
    let sizes = [s.daemons / 16, s.daemons / 4, s.daemons / 2, s.daemons * 3 / 4, s.daemons - 1];
    sizes.into_iter().filter_map(smaller).collect()
}

/// Lowers the number of daemons: victims beyond the end become the last one.
fn with_daemons(s: &Scenario, daemons: u32) -> Scenario {
    let there = |rank: DaemonRank| DaemonRank(rank.0.min(daemons - 1));
    let mut out = Scenario { daemons, ..s.clone() };
    // Newcomers get the ranks after these; faults that struck a newcomer still strike it.
    let came = |rank: DaemonRank| DaemonRank(rank.0 - s.daemons + daemons);
    let there = |rank: DaemonRank| if rank.0 >= s.daemons { came(rank) } else { there(rank) };
    for (_, fault) in &mut out.faults {
        *fault = fault.victim().map_or(*fault, |rank| fault.at(there(rank)));
    }
    out.fates.retain(|(rank, _)| rank.0 < daemons || rank.0 >= s.daemons);
    out.fates.iter_mut().filter(|(rank, _)| rank.0 >= s.daemons).for_each(|(rank, _)| *rank = came(*rank));
    fit(out)
}

/// Makes jobs smaller for a smaller DVM: a job with too few slots would fail for another reason.
fn fit(mut s: Scenario) -> Scenario {
    let at_once = s.jobs.iter().filter(|job| !job.quiet && !job.client.patient).count().max(1) as u32;
    let capacity = s.daemons * s.slots;
    let left = s.daemons.saturating_sub(s.faults.len() as u32).max(1) * s.slots;
    for job in &mut s.jobs {
        let limit = match (job.quiet, job.client.patient) {
            (true, _) => left,
            (false, true) => capacity,
            (false, false) => capacity / at_once,
        };
        let apps = &mut job.spec.apps;
        let others = apps.len() as u32 - 1;
        if limit <= others {
            // There is no room for one process of each app, so any result is accepted.
            job.expect = Expect::Anything;
        }
        apps[0].np = apps[0].np.map(|np| np.min(limit.saturating_sub(others)).max(1));
    }
    s
}

/// Proposes to omit all items, each half, and each single item.
fn without<T: Clone>(s: &Scenario, items: &[T], put: impl Fn(&mut Scenario, Vec<T>)) -> Vec<Scenario> {
    let n = items.len();
    let mut ranges = vec![0..n, 0..n / 2, n / 2..n];
    ranges.extend((0..n).map(|i| i..i + 1));
    let mut out = Vec::new();
    for range in ranges.into_iter().filter(|r| !r.is_empty()) {
        let mut smaller = s.clone();
        put(&mut smaller, [&items[..range.start], &items[range.end..]].concat());
        out.push(smaller);
    }
    out
}

fn no_jobs(s: &Scenario) -> Vec<Scenario> {
    // A one-shot DVM keeps its one job.
    let least = usize::from(!s.persistent);
    without(s, &s.jobs, |s, jobs| s.jobs = jobs).into_iter().filter(|s| s.jobs.len() >= least).collect()
}

fn no_questions(s: &Scenario) -> Vec<Scenario> {
    without(s, &s.questions, |s, questions| s.questions = questions)
}

fn no_faults(s: &Scenario) -> Vec<Scenario> {
    without(s, &s.faults, |s, faults| s.faults = faults)
}

fn no_fates(s: &Scenario) -> Vec<Scenario> {
    without(s, &s.fates, |s, fates| s.fates = fates)
}

fn no_resizes(s: &Scenario) -> Vec<Scenario> {
    without(s, &s.elastic.resizes, |s, resizes| s.elastic.resizes = resizes)
}

/// Simplifies each request (fewer nodes, a client that stays), then the settings of the DVM.
fn small_resizes(s: &Scenario) -> Vec<Scenario> {
    let mut out = Vec::new();
    let mut propose = |change: &dyn Fn(&mut Scenario)| {
        let mut smaller = s.clone();
        change(&mut smaller);
        out.push(smaller);
    };
    for (i, plan) in s.elastic.resizes.iter().enumerate() {
        propose(&|s| s.elastic.resizes[i].by = Asker::Client(None));
        propose(&|s| s.elastic.resizes[i].by = Asker::Scheduler(None));
        let names = match &plan.request {
            ResizeRequest::Grow(grow) => grow.hosts.len(),
            ResizeRequest::Shrink(shrink) => shrink.nodes.len(),
            ResizeRequest::Cancel(_) | ResizeRequest::Extend(_) => 0,
        };
        // A request without names would ask for something else.
        for name in (0..names).filter(|_| names > 1) {
            propose(&|s| match &mut s.elastic.resizes[i].request {
                ResizeRequest::Grow(grow) => drop(grow.hosts.remove(name)),
                ResizeRequest::Shrink(shrink) => drop(shrink.nodes.remove(name)),
                ResizeRequest::Cancel(_) | ResizeRequest::Extend(_) => {}
            });
        }
        propose(&|s| match &mut s.elastic.resizes[i].request {
            ResizeRequest::Grow(grow) => (grow.req_id, grow.wait) = (None, true),
            ResizeRequest::Shrink(shrink) => (shrink.req_id, shrink.wait) = (None, true),
            ResizeRequest::Cancel(_) | ResizeRequest::Extend(_) => {}
        });
    }
    for i in 0..s.jobs.len() {
        propose(&|s| s.jobs[i].grow = None);
        propose(&|s| s.jobs[i].spec.apps.iter_mut().for_each(|app| app.hosts = Default::default()));
    }
    propose(&|s| s.elastic.prep_ms = 0);
    propose(&|s| s.elastic.slowest_release = 0);
    propose(&|s| s.elastic.launch_timeout_s = 5);
    out
}

fn plain(s: &Scenario) -> Vec<Scenario> {
    vec![
        Scenario { ending: Ending::Natural, ..s.clone() },
        Scenario { stdin_bytes: 0, spawn_refusals: 0, ..s.clone() },
        fit(Scenario { slots: 1, ..s.clone() }),
        fit(Scenario { slots: (s.slots / 2).max(1), ..s.clone() }),
        Scenario { radix: 2, ..s.clone() },
        Scenario { second_tree_bytes: None, ..s.clone() },
        Scenario { tree_spawn: false, steps: false, ..s.clone() },
    ]
}

/// Simplifies each job: an ordinary client, fewer processes, a shorter program.
fn small_jobs(s: &Scenario) -> Vec<Scenario> {
    let mut out = Vec::new();
    let mut propose = |i: usize, change: &dyn Fn(&mut JobPlan)| {
        let mut smaller = s.clone();
        change(&mut smaller.jobs[i]);
        out.push(smaller);
    };
    for (i, job) in s.jobs.iter().enumerate() {
        let patient = job.client.patient;
        propose(i, &|job| job.client = Client { patient, ..Client::default() });
        if job.spec.apps.len() > 1 {
            propose(i, &|job| {
                job.spec.apps.truncate(1);
                job.expect = Expect::Anything;
            });
        }
        propose(i, &|job| job.spec.output = Default::default());
        propose(i, &|job| job.spec.map.by = None);
        let np = job.spec.apps[0].np.unwrap_or(1);
        for fewer in [1, np / 2, np - 1].into_iter().filter(|n| (1..np).contains(n)) {
            propose(i, &|job| job.spec.apps[0].np = Some(fewer));
        }
        let words = &job.spec.apps[0].argv;
        let aborts = words.iter().any(|word| says(word, &["abort"]));
        let idle = IDLE.iter().filter(|drop| !(aborts && drop.contains(&"init")));
        for drop in idle.filter(|drop| words.iter().any(|word| says(word, drop))) {
            propose(i, &|job| job.spec.apps[0].argv.retain(|word| !says(word, drop)));
        }
    }
    out
}

/// Simplifies spawned jobs (fewer processes, no hosts, no added nodes), then omits single words from all programs.
fn small_children(s: &Scenario) -> Vec<Scenario> {
    let mut out = Vec::new();
    for i in 0..s.children.len() {
        let mut propose = |change: &dyn Fn(&mut ChildPlan)| {
            let mut smaller = s.clone();
            change(&mut smaller.children[i]);
            out.push(smaller);
        };
        propose(&|child| child.grow = None);
        propose(&|child| child.separate = false);
        propose(&|child| child.spec.apps[0].np = Some(1));
        propose(&|child| child.spec.apps[0].hosts = Default::default());
        propose(&|child| child.spec.map = Default::default());
        for word in 1..s.children[i].spec.apps[0].argv.len() {
            propose(&|child| drop(child.spec.apps[0].argv.remove(word)));
        }
    }
    let parents = if s.children.is_empty() { 0 } else { s.jobs.len() };
    for i in 0..parents {
        for word in 1..s.jobs[i].spec.apps[0].argv.len() {
            let mut smaller = s.clone();
            smaller.jobs[i].spec.apps[0].argv.remove(word);
            out.push(smaller);
        }
    }
    out
}

/// Words that a program can omit and end in the same way; some only together.
const IDLE: [&[&str]; 6] =
    [&["pause"], &["out", "err"], &["stdin"], &["orphan"], &["fence"], &["init", "fence", "finalize"]];

fn says(word: &str, names: &[&str]) -> bool {
    names.contains(&word.split(':').next().unwrap_or(word))
}

fn calm(s: &Scenario) -> Vec<Scenario> {
    let quick = Scenario { slowest_start: 1000, ..s.clone() };
    vec![Scenario { weather: Weather::CALM, ..s.clone() }, quick]
}

/// Rounds each time to whole seconds, then to milliseconds.
fn round_times(s: &Scenario) -> Vec<Scenario> {
    let mut out = Vec::new();
    for unit in [1_000_000, 100_000, 1_000] {
        let round = |time: Time| time / unit * unit;
        let mut propose = |change: &dyn Fn(&mut Scenario)| {
            let mut rounder = s.clone();
            change(&mut rounder);
            out.push(rounder);
        };
        (0..s.jobs.len()).for_each(|i| propose(&|s| s.jobs[i].at = round(s.jobs[i].at)));
        (0..s.elastic.resizes.len())
            .for_each(|i| propose(&|s| s.elastic.resizes[i].at = round(s.elastic.resizes[i].at)));
        (0..s.questions.len()).for_each(|i| propose(&|s| s.questions[i].0 = round(s.questions[i].0)));
        for i in 0..s.faults.len() {
            propose(&|s| s.faults[i].0 = round(s.faults[i].0));
            propose(&|s| s.faults[i].1 = shorter(s.faults[i].1, unit));
        }
        for i in 0..s.fates.len() {
            propose(&|s| {
                if let Fate::Late(time) | Fate::Dies(time) = &mut s.fates[i].1 {
                    *time = round(*time);
                }
            });
        }
    }
    out
}

fn shorter(fault: Fault, unit: Time) -> Fault {
    let round = |time: Time| (time / unit * unit).max(time.min(unit));
    match fault {
        Fault::CutLink | Fault::CutUplink(_) | Fault::Crash(_) => fault,
        Fault::Pause(rank, time) => Fault::Pause(rank, round(time)),
        Fault::Isolate(rank, time) => Fault::Isolate(rank, round(time)),
        Fault::SlowUplink(rank, delay, time) => Fault::SlowUplink(rank, round(delay), round(time)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mutation;
    use crate::scenario::job;

    /// A large scenario with much in it that does not matter.
    fn large() -> Scenario {
        let seed = (0..).find(|seed| {
            let s = Scenario::random(*seed, Some(70), None);
            s.persistent && s.jobs.len() > 3 && s.faults.len() > 2 && s.questions.len() > 1
        });
        Scenario::random(seed.unwrap(), Some(70), None)
    }

    #[test]
    fn what_does_not_matter_is_left_out() {
        let mut scenario = large();
        scenario.faults.push((1_234_567, Fault::Crash(DaemonRank(9))));
        let crash_of_9 = |s: &Scenario| s.faults.iter().any(|(_, f)| *f == Fault::Crash(DaemonRank(9)));
        let small = minimize(&scenario, 1000, crash_of_9).scenario;
        assert_eq!((small.daemons, small.jobs.len(), small.questions.len()), (10, 0, 0));
        assert_eq!(small.faults, [(1_000_000, Fault::Crash(DaemonRank(9)))]);
        assert_eq!((small.weather, small.slots, small.radix), (Weather::CALM, 1, 2));
    }

    #[test]
    fn a_scenario_that_only_fails_as_it_is_stays_as_it_is_and_runs_are_counted() {
        let scenario = large();
        let mut asked = 0;
        let minimized = minimize(&scenario, 25, |_| {
            asked += 1;
            false
        });
        assert_eq!((minimized.scenario, minimized.runs, asked), (scenario, 25, 25));
    }

    #[test]
    fn a_planted_fault_is_minimized_to_a_short_story() {
        let mut scenario =
            Scenario { persistent: true, mutation: Some(Mutation::SpawnTwice), ..Scenario::calm(1, 12, 2) };
        for i in 0..4 {
            scenario = scenario.with_job(i * 1000, job(5, "init out:3 fence finalize"), Expect::Code(0));
        }
        let invariant = crate::check(&scenario).violation.unwrap().invariant;
        let small = minimize(&scenario, 300, |s| crate::breaks(s, invariant)).scenario;
        assert_eq!((small.daemons, small.jobs.len()), (1, 1));
        assert_eq!(small.jobs[0].spec.apps[0].np, Some(1));
    }
}
