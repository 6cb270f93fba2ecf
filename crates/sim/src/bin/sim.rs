//! `sim`: plays seeds and stories, sweeps over many seeds on all cores, measures costs.
//!
//! `cargo xtask sim` calls it. Only this file uses threads, files and a clock; the library has none of them.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{LazyLock, mpsc};
use std::time::{Duration, Instant};

use ferrite_sim::{
    Keep, Mutation, Referee, Report, Scenario, Violation, breaks, check, collectives_table, fence, fence_table,
    head_work, head_work_table, idle, idle_table, minimize, one_job, one_job_table, repair, repair_table, replay, run,
    scale, scale_table, sizes, sizes_table, story, workload_table,
};
use ferrite_types::DaemonRank;

const USAGE: &str = "\
usage: sim --seed S [--daemons N] [--radix R | FAMILY] [--trace]
                                            one scenario, twice, under all guarantees
       sim --seeds N | --seconds S [--at-least N] [--from M] [--daemons N] [--radix R | FAMILY | --all]
                                            a sweep over many seeds on all cores (--jobs N: on so many); it takes longer
                                            when at least so many are to be played. A family: --losses or --elastic, about
                                            nothing else; --steps, the latter with daemons started by a resource manager;
                                            --managed, with nodes that it is asked for; --sessions, with sessions of every
                                            kind and orders for them; --families, with jobs that spawn others, connect and
                                            exchange data; --pushed, with changes that a scheduler
                                            pushes; --graces, with jobs that have time before their
                                            nodes leave; --queues, with more jobs than slots; --sizes, with a job whose size changes;
                                            --fills, with a policy that fills such jobs; --deadlines, with nodes
                                            that their manager takes back; --spreads, whose fences use the second tree; --all: each in turn, sharing seconds and number
       sim replay FILE [--until EVENT] [--node RANK]...
                                            a story, up to an event, and the state of nodes then (default: the head)
       sim mutants [--seeds N] [NAME ...]   planted faults, or these of them, and how soon each is seen
       sim scale [--radix R] [--min N] [--max N] [TABLE ...]
                                            costs as markdown tables, or these of them: jobs, losses, changes,
                                            fences, collectives, idle, head
       sim workload [--days N] [--seed S]   what the policy for elastic jobs gains, as a markdown table";

/// The directory for the stories of failed seeds.
const STORIES: &str = "target/sim";
/// The number of failed seeds after which a sweep ends: more would show the same few bugs.
const ENOUGH: usize = 20;
/// The number of failed seeds to minimize; a minimization costs as much as a sweep.
const MINIMIZED: usize = 3;
/// The most runs of one minimization.
const MINIMIZE_RUNS: usize = 600;
/// The longest time of one minimization: a story of thousands of daemons is better than none.
const MINIMIZE_TIME: Duration = Duration::from_secs(60);
/// The number of last events that a replay prints.
const LAST_EVENTS: usize = 20;

fn main() -> ExitCode {
    let outcome = Words { left: std::env::args().skip(1).collect() }.dispatch();
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("sim: {message}");
            ExitCode::from(2)
        }
    }
}

/// The rest of the command line. A command returns `Ok(false)` when a guarantee was broken, `Err` when a word is wrong.
struct Words {
    left: Vec<String>,
}

type Outcome = Result<bool, String>;

impl Words {
    fn dispatch(mut self) -> Outcome {
        match self.left.first().map(String::as_str) {
            None | Some("-h" | "--help" | "help") => {
                println!("{USAGE}");
                Ok(true)
            }
            Some("replay") => self.replay(),
            Some("mutants") => self.mutants(),
            Some("scale") => self.scale(),
            Some("workload") => self.workload(),
            Some(word) if word.starts_with("--") => match self.number("--seed")? {
                Some(seed) => self.seed(seed),
                None => self.sweep(),
            },
            Some(word) => Err(format!("unknown command '{word}'\n{USAGE}")),
        }
    }

    /// Takes `--name` out; true if it was there.
    fn flag(&mut self, name: &str) -> bool {
        let before = self.left.len();
        self.left.retain(|word| word != name);
        self.left.len() != before
    }

    /// Takes `--name NUMBER` out.
    fn number<T: std::str::FromStr>(&mut self, name: &str) -> Result<Option<T>, String> {
        let Some(at) = self.left.iter().position(|word| word == name) else {
            return Ok(None);
        };
        self.left.remove(at);
        if at == self.left.len() {
            return Err(format!("{name} needs a number"));
        }
        let text = self.left.remove(at);
        text.parse().map(Some).map_err(|_| format!("{name} {text}: not a number that fits here"))
    }

    /// Takes a size out, which is at least one.
    fn size(&mut self, name: &str) -> Result<Option<u32>, String> {
        match self.number(name)? {
            Some(0) => Err(format!("{name} 0: at least 1")),
            size => Ok(size),
        }
    }

    /// Refuses words that no option took.
    fn finish(&self) -> Result<(), String> {
        self.left.first().map_or(Ok(()), |word| Err(format!("unexpected word '{word}'\n{USAGE}")))
    }

    fn draw(&mut self) -> Result<Draw, String> {
        let (daemons, radix) = (self.size("--daemons")?, self.size("--radix")?);
        let words = [
            ("--losses", Family::Losses),
            ("--elastic", Family::Elastic),
            ("--steps", Family::Steps),
            ("--managed", Family::Managed),
            ("--sessions", Family::Sessions),
            ("--families", Family::Families),
            ("--pushed", Family::Pushed),
            ("--graces", Family::Graces),
            ("--queues", Family::Queues),
            ("--sizes", Family::Sizes),
            ("--fills", Family::Fills),
            ("--deadlines", Family::Deadlines),
            ("--spreads", Family::Spreads),
        ];
        let named: Vec<(&str, Family)> = words.into_iter().filter(|(word, _)| self.flag(word)).collect();
        let family = match named[..] {
            [] => Family::Plain,
            [(_, family)] => family,
            [(one, _), (other, _), ..] => return Err(format!("{one} and {other} are families: name one")),
        };
        if family != Family::Plain && (daemons.is_some() || radix.is_some()) {
            return Err("only plain scenarios take --daemons and --radix".to_owned());
        }
        Ok(Draw { daemons, radix, family })
    }

    fn seed(mut self, seed: u64) -> Outcome {
        let scenario = self.draw()?.scenario(seed);
        let trace = self.flag("--trace");
        self.finish()?;
        tell_story(&scenario);
        if trace {
            let report = run(&scenario, Keep::All(Vec::new()), Referee::strict(&scenario));
            report.lines.iter().for_each(|line| println!("{line}"));
        }
        let report = check(&scenario);
        if report.violation.is_some() && !trace {
            println!("last events:");
            report.lines.iter().for_each(|line| println!("  {line}"));
        }
        tell_end(&report);
        if let Some(violation) = &report.violation {
            tell_minimized(&scenario, violation)?;
        }
        Ok(report.violation.is_none())
    }

    fn sweep(mut self) -> Outcome {
        let all = self.flag("--all");
        let draw = self.draw()?;
        if all && draw.family != Family::Plain {
            return Err("--all plays every family: name none".to_owned());
        }
        let count: Option<u64> = self.number("--seeds")?;
        let seconds: Option<u64> = self.number("--seconds")?;
        let least: u64 = self.number("--at-least")?.unwrap_or(0);
        let first: u64 = self.number("--from")?.unwrap_or(1);
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        let jobs = self.size("--jobs")?.unwrap_or(cores);
        self.finish()?;
        if count.is_none() && seconds.is_none() {
            return Err(format!("one of --seed, --seeds and --seconds says what to play\n{USAGE}"));
        }
        let end = count.map_or(u64::MAX, |n| first.saturating_add(n));
        let mut good = true;
        for (family, share) in if all { FAMILIES.to_vec() } else { vec![(draw.family, 100)] } {
            let draw = Draw { family, ..draw };
            let limit = seconds.map(|seconds| Duration::from_millis(seconds * 10 * share));
            let least = first.saturating_add(least * share / 100);
            let bad = Sweep { draw, first, least, end, limit, jobs }.play();
            good &= bad.is_empty();
            for (seed, violation) in bad.iter().take(MINIMIZED) {
                println!();
                tell_minimized(&draw.scenario(*seed), violation)?;
            }
        }
        Ok(good)
    }

    fn replay(mut self) -> Outcome {
        self.left.remove(0);
        let until = self.number("--until")?;
        let mut nodes = Vec::new();
        while let Some(rank) = self.number("--node")? {
            nodes.push(DaemonRank(rank));
        }
        if nodes.is_empty() {
            nodes.push(DaemonRank::HEAD);
        }
        if self.left.is_empty() {
            return Err(format!("replay needs the file of a story\n{USAGE}"));
        }
        let file = self.left.remove(0);
        self.finish()?;
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
        let scenario = story::read(&text).map_err(|error| format!("{file}: {error}"))?;
        tell_story(&scenario);
        let played = replay(&scenario, until, LAST_EVENTS, &nodes);
        println!("last events (number, us, daemon; < comes in, > goes out):");
        played.last.iter().for_each(|line| println!("  {line}"));
        for (rank, state) in played.states.iter().filter(|(_, state)| until.is_some() || state.is_some()) {
            println!("daemon {rank} after event {}:", played.report.events);
            println!("{}", state.as_deref().unwrap_or("  is not there"));
        }
        tell_end(&played.report);
        Ok(played.report.violation.is_none())
    }

    fn mutants(mut self) -> Outcome {
        self.left.remove(0);
        let seeds: u64 = self.number("--seeds")?.unwrap_or(300);
        let names = std::mem::take(&mut self.left);
        let mut missed = 0;
        println!("| planted fault | scenarios | seen at seed | by the guarantee |\n|---|---|--:|---|");
        let any = |family| Draw { daemons: None, radix: None, family };
        let plain = Mutation::ALL.into_iter().map(|mutation| (mutation, Family::Plain));
        let hard = Mutation::LOSSES.into_iter().flat_map(|m| [(m, Family::Losses), (m, Family::Plain)]);
        let elastic = Mutation::ELASTIC.into_iter().map(|mutation| (mutation, Family::Elastic));
        let managed = Mutation::MANAGED.into_iter().map(|mutation| (mutation, Family::Managed));
        let sessions = Mutation::SESSIONS.into_iter().map(|mutation| (mutation, Family::Sessions));
        let families = Mutation::FAMILIES.into_iter().map(|mutation| (mutation, Family::Families));
        let pushed = Mutation::PUSHED.into_iter().map(|mutation| (mutation, Family::Pushed));
        let graces = Mutation::GRACES.into_iter().map(|mutation| (mutation, Family::Graces));
        let queues = Mutation::QUEUES.into_iter().map(|mutation| (mutation, Family::Queues));
        let sizes = Mutation::SIZES.into_iter().map(|mutation| (mutation, Family::Sizes));
        let fills = Mutation::FILLS.into_iter().map(|mutation| (mutation, Family::Fills));
        let about_size = elastic.chain(managed).chain(pushed).chain(graces);
        let deadlines = Mutation::DEADLINES.into_iter().map(|mutation| (mutation, Family::Deadlines));
        let spreads = Mutation::SPREADS.into_iter().map(|mutation| (mutation, Family::Spreads));
        let is_wanted = |(mutation, _): &(Mutation, Family)| {
            names.is_empty() || names.iter().any(|name| *name == format!("{mutation:?}"))
        };
        let of_jobs = queues.chain(sizes).chain(fills).chain(deadlines).chain(spreads);
        let all = plain.chain(hard).chain(about_size).chain(sessions).chain(families).chain(of_jobs);
        for (mutation, family) in all.filter(is_wanted) {
            let draw = |seed| any(family).scenario(seed);
            let family_name = family.name();
            match (1..=seeds).find_map(|seed| Some((seed, caught(mutation, draw(seed))?))) {
                Some((seed, violation)) => {
                    println!("| {mutation:?} | {family_name} | {seed} | {} |", violation.invariant)
                }
                None => {
                    // Losses are rare in other families.
                    let rare = Mutation::LOSSES.contains(&mutation) && family == Family::Plain;
                    missed += u32::from(!rare);
                    println!("| {mutation:?} | {family_name} | **not seen** | |");
                }
            }
        }
        Ok(missed == 0)
    }

    fn workload(mut self) -> Outcome {
        self.left.remove(0);
        let (days, seed) = (self.number("--days")?.unwrap_or(7), self.number("--seed")?.unwrap_or(1));
        self.finish()?;
        print!("{}", workload_table(days, seed));
        Ok(true)
    }

    fn scale(mut self) -> Outcome {
        self.left.remove(0);
        let radix = self.size("--radix")?.unwrap_or(64);
        let (least, most) = (self.size("--min")?.unwrap_or(0), self.size("--max")?.unwrap_or(10_000));
        let sizes_of =
            |all: &[u32]| -> Vec<u32> { all.iter().copied().filter(|n| (least..=most).contains(n)).collect() };
        let all = sizes_of(&SCALE_SIZES);
        if all.is_empty() {
            return Err(format!("sim scale has no size from {least} to {most}: it has {SCALE_SIZES:?}"));
        }
        let tables = std::mem::take(&mut self.left);
        if let Some(word) = tables.iter().find(|word| !SCALE_TABLES.contains(&word.as_str())) {
            return Err(format!("sim scale has no table '{word}': it has {}", SCALE_TABLES.join(", ")));
        }
        let wants = |name: &str| tables.is_empty() || tables.iter().any(|word| word == name);
        let large = sizes_of(&SCALE_SIZES[1..]);
        let mut is_well = true;
        if wants("jobs") {
            let rows: Vec<_> = large.iter().map(|&n| scale(n, radix, n)).collect();
            println!("A DVM with a job of one process on each node:\n\n{}", scale_table(&rows));
            let single: Vec<_> = large.iter().map(|&n| one_job(n, radix)).collect();
            println!("A job of one process on the last node:\n\n{}", one_job_table(&single));
            is_well = rows.iter().all(|row| row.failure.is_none());
        }
        if wants("losses") {
            let losses: Vec<_> = large.iter().flat_map(|&n| [repair(n, radix), repair(n, 2)]).collect();
            println!("The loss of one daemon, until nobody talks about it:\n\n{}", repair_table(&losses));
        }
        if wants("changes") {
            let changes: Vec<_> = large.iter().flat_map(|&n| sizes(n, radix)).collect();
            println!("Changes of size:\n\n{}", sizes_table(&changes));
        }
        if wants("fences") {
            let kinds = [(0, true), (8, false), (8, true), (100, false), (100, true)];
            // With more data the world of 100,000 daemons needs more memory than most machines have.
            let kinds_of = |n| if n > 10_000 { &kinds[..1] } else { &kinds[..] };
            let rows = large.iter().flat_map(|&n| kinds_of(n).iter().map(move |&(data, second)| (n, data, second)));
            let fences: Vec<_> = rows.map(|(n, data, second)| fence(n, radix, data, second)).collect();
            println!("A fence of one process on each node:\n\n{}", fence_table(&fences));
        }
        if wants("collectives") {
            let ways = collectives_table(&[1_000, 10_000], &[100_000, 1_000_000]);
            println!("A fence with data, by a model of the network:\n\n{ways}");
        }
        if wants("idle") && large.contains(&1_000) {
            let rows = [false, true].map(|lost| idle(1_000, radix, lost));
            println!("Nothing to do:\n\n{}", idle_table(&rows));
        }
        if wants("head") {
            static START: LazyLock<Instant> = LazyLock::new(Instant::now);
            let work: Vec<_> = all.iter().map(|&n| head_work(n, radix, || START.elapsed())).collect();
            println!("The head's time for a request:\n\n{}", head_work_table(&work));
        }
        Ok(is_well)
    }
}

/// The numbers of daemons of `sim scale`; only the table `head` has the smallest.
const SCALE_SIZES: [u32; 4] = [100, 1_000, 10_000, 100_000];

/// The tables of `sim scale`.
const SCALE_TABLES: [&str; 7] = ["jobs", "losses", "changes", "fences", "collectives", "idle", "head"];

/// The settings of the command line for all scenarios.
#[derive(Clone, Copy)]
struct Draw {
    daemons: Option<u32>,
    radix: Option<u32>,
    family: Family,
}

/// A family of scenarios.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    /// Everything but changes of size.
    Plain,
    /// Losses only.
    Losses,
    /// A DVM that changes its size.
    Elastic,
    /// A DVM that changes its size, with daemons started by the resource manager's steps.
    Steps,
    /// A DVM that asks a resource manager for nodes.
    Managed,
    /// A DVM with sessions of every kind.
    Sessions,
    /// A DVM whose jobs spawn others, connect with them and exchange data.
    Families,
    /// A DVM whose size a scheduler changes too.
    Pushed,
    /// A DVM that changes its size, with jobs that have asked for time.
    Graces,
    /// A DVM with more jobs than slots.
    Queues,
    /// A DVM with a job that changes its size.
    Sizes,
    /// A DVM that fills its elastic jobs.
    Fills,
    /// A DVM with nodes that the resource manager takes back at a time of its own.
    Deadlines,
    /// A DVM whose fences use the second tree.
    Spreads,
}

/// All families, each with its share of the time (percent): recent finds get the most.
const FAMILIES: [(Family, u64); 14] = [
    (Family::Plain, 12),
    (Family::Losses, 8),
    (Family::Elastic, 10),
    (Family::Steps, 10),
    (Family::Managed, 10),
    (Family::Sessions, 14),
    (Family::Families, 10),
    (Family::Pushed, 4),
    (Family::Graces, 6),
    (Family::Queues, 4),
    (Family::Sizes, 4),
    (Family::Fills, 2),
    (Family::Deadlines, 2),
    (Family::Spreads, 4),
];

impl Family {
    fn name(self) -> &'static str {
        match self {
            Family::Plain => "any",
            Family::Losses => "losses",
            Family::Elastic => "elastic",
            Family::Steps => "steps",
            Family::Managed => "managed",
            Family::Sessions => "sessions",
            Family::Families => "families",
            Family::Pushed => "pushed",
            Family::Graces => "graces",
            Family::Queues => "queues",
            Family::Sizes => "sizes",
            Family::Fills => "fills",
            Family::Deadlines => "deadlines",
            Family::Spreads => "spreads",
        }
    }
}

impl Draw {
    fn scenario(&self, seed: u64) -> Scenario {
        match self.family {
            Family::Plain => Scenario::random(seed, self.daemons, self.radix),
            Family::Losses => Scenario::losses(seed),
            Family::Elastic => Scenario::elastic(seed),
            Family::Steps => Scenario::elastic(seed).by_steps(),
            Family::Managed => Scenario::managed(seed),
            Family::Sessions => Scenario::sessions(seed),
            Family::Families => Scenario::families(seed),
            Family::Pushed => Scenario::pushed(seed),
            Family::Graces => Scenario::graces(seed),
            Family::Queues => Scenario::queues(seed),
            Family::Sizes => Scenario::sizes(seed),
            Family::Fills => Scenario::fills(seed),
            Family::Deadlines => Scenario::deadlines(seed),
            Family::Spreads => Scenario::spreads(seed),
        }
    }
}

/// A sweep over many seeds, distributed among threads. The result of a seed depends on the seed alone.
struct Sweep {
    draw: Draw,
    first: u64,
    /// The number of seeds that are played in any case.
    least: u64,
    end: u64,
    limit: Option<Duration>,
    jobs: u32,
}

impl Sweep {
    /// Plays all seeds; returns the failed ones in their order.
    fn play(&self) -> Vec<(u64, Violation)> {
        let (start, next, enough) = (Instant::now(), AtomicU64::new(self.first), AtomicBool::new(false));
        let (sender, results) = mpsc::channel();
        let mut tally = Tally { next: self.first, ..Tally::default() };
        std::thread::scope(|scope| {
            for _ in 0..self.jobs {
                let sender = sender.clone();
                let (next, enough) = (&next, &enough);
                scope.spawn(move || {
                    let in_time = || self.limit.is_none_or(|limit| start.elapsed() < limit);
                    let goes_on = || in_time() || next.load(Ordering::Relaxed) < self.least;
                    while goes_on() && !enough.load(Ordering::Relaxed) {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if seed >= self.end {
                            break;
                        }
                        let report = check(&self.draw.scenario(seed));
                        // The other end lives as long as this scope.
                        let _ = sender.send((seed, report.events, report.violation));
                    }
                });
            }
            drop(sender);
            for (seed, events, violation) in results {
                tally.add(seed, events, violation);
                enough.store(tally.bad.len() >= ENOUGH, Ordering::Relaxed);
            }
        });
        tally.tell(self.draw.family, start.elapsed());
        tally.bad
    }
}

/// Results in the order of the seeds, whichever thread was first.
#[derive(Default)]
struct Tally {
    next: u64,
    early: BTreeMap<u64, Option<Violation>>,
    scenarios: u64,
    events: u64,
    bad: Vec<(u64, Violation)>,
}

impl Tally {
    fn add(&mut self, seed: u64, events: u64, violation: Option<Violation>) {
        self.scenarios += 1;
        // Each scenario is played twice.
        self.events += 2 * events;
        self.early.insert(seed, violation);
        while let Some(violation) = self.early.remove(&self.next) {
            if let Some(violation) = violation {
                println!("seed {}: {violation}", self.next);
                self.bad.push((self.next, violation));
            }
            self.next += 1;
        }
    }

    fn tell(&self, family: Family, time: Duration) {
        let seconds = time.as_secs_f64();
        println!(
            "{}: {} scenarios (each twice), {} events in {seconds:.1} s: {:.0} scenarios/s, {:.0} events/s, {} violations",
            family.name(),
            self.scenarios,
            self.events,
            self.scenarios as f64 / seconds,
            self.events as f64 / seconds,
            self.bad.len()
        );
    }
}

/// The referee's verdict on a planted fault in one scenario.
fn caught(mutation: Mutation, scenario: Scenario) -> Option<Violation> {
    let scenario = Scenario { mutation: Some(mutation), ..scenario };
    run(&scenario, Keep::Nothing, Referee::strict(&scenario)).violation
}

/// Minimizes a failed scenario, writes its story, and prints the command that plays it again.
fn tell_minimized(scenario: &Scenario, violation: &Violation) -> Result<(), String> {
    let start = Instant::now();
    let minimized = minimize(scenario, MINIMIZE_RUNS, |smaller| {
        start.elapsed() < MINIMIZE_TIME && breaks(smaller, violation.invariant)
    });
    let path = format!("{STORIES}/seed-{}.json", scenario.seed);
    let write = || {
        std::fs::create_dir_all(STORIES)?;
        std::fs::write(&path, story::write(&minimized.scenario))
    };
    write().map_err(|error| format!("{path}: {error}"))?;
    let report = check(&minimized.scenario);
    println!("seed {}, minimized in {} runs to {} events:", scenario.seed, minimized.runs, report.events);
    tell_story(&minimized.scenario);
    if let Some(violation) = &report.violation {
        println!("  broken: {violation}");
    }
    println!("play it again: cargo xtask sim replay {path} --until {}", report.events);
    Ok(())
}

fn tell_story(scenario: &Scenario) {
    println!("{}", story::options(scenario));
    story::events(scenario).iter().for_each(|line| println!("{line}"));
}

fn tell_end(report: &Report) {
    report.notices.iter().for_each(|n| println!("notice: {}", n.replace('\n', " | ")));
    println!(
        "head exit {:?}, replies {:?}, {} events, {} us of virtual time",
        report.head_exit, report.replies, report.events, report.end
    );
    match &report.violation {
        None if !report.left.is_empty() => println!("all guarantees hold so far"),
        None => println!("all guarantees hold"),
        Some(violation) => println!("broken: {violation}"),
    }
}
