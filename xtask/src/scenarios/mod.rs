//! The testbed scenarios: real programs under the real `prterun` on virtual nodes reached by ssh.
//!
//! Called by `cargo xtask scenarios [FILTER]` and by `cargo xtask test`. Each scenario is one function named by the
//! sentence it proves; after each one **nothing** may be left on any node. A scenario never looks into the product:
//! it knows command lines, output, exit codes and what the kernel shows.

mod attacks_bounds;
mod attacks_files;
mod attacks_pmix;
mod bad_input;
mod batches;
mod chaos;
mod context;
mod debuggers;
mod debugging;
mod dvm;
mod elastic;
mod elastic_jobs;
mod elastic_pmix;
mod endings;
mod events;
mod feeds;
mod groups;
mod job_control;
mod job_data;
mod limits;
mod logs;
mod machine;
mod managers;
mod monitors;
mod mpi;
mod mpich;
mod mpirun;
mod objects;
mod output;
mod parameters;
mod policies;
mod preload;
mod psets;
mod pulls;
mod push;
mod queries;
mod queue;
mod relayed;
mod relayed_tools;
mod service;
mod sessions;
mod slurm;
mod slurm_changes;
mod slurm_deadlines;
mod slurm_elastic;
mod slurm_grants;
mod spawn;
mod streams;
mod turns;
mod web;
mod workflows;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use crate::args::Args;
use crate::peers;
use crate::runner;
use crate::setup::{self, Need};
use crate::testbed::{Bed, Kind, missing_of_slurm};
use crate::workspace;
use context::{Context, Skipped};

/// Nodes of the bed that most scenarios share.
const NODES: usize = 4;
/// The time after which the nodes are removed, so that even a scenario that waits for output ends.
const SCENARIO_LIMIT: Duration = Duration::from_secs(180);
/// Daemons may take this long to leave after `prterun` has ended.
const LEAVE_LIMIT: Duration = Duration::from_secs(5);

/// The body of a scenario; an error names the violated expectation.
type Body = Box<dyn Fn(&Context) -> Result<()>>;

/// One scenario.
pub(crate) struct Scenario {
    name: String,
    body: Body,
    /// Nodes that it needs.
    nodes: usize,
    /// The kind of bed that it needs.
    kind: Kind,
    /// True when `--quick` omits it, because another scenario shows nearly the same.
    is_extra: bool,
}

impl Scenario {
    fn new(name: impl Into<String>, body: impl Fn(&Context) -> Result<()> + 'static) -> Self {
        Self { name: name.into(), body: Box::new(body), nodes: NODES, kind: Kind::Plain, is_extra: false }
    }

    fn on_nodes(self, nodes: usize) -> Self {
        Self { nodes, ..self }
    }

    fn under_slurm(self) -> Self {
        Self { kind: Kind::Slurm, ..self }
    }

    /// Returns the reason why it cannot run on this machine.
    fn obstacle(&self) -> Option<String> {
        let missing = if self.kind == Kind::Slurm { missing_of_slurm() } else { Vec::new() };
        (!missing.is_empty()).then(|| format!("Slurm is not installed: no {}", missing.join(", ")))
    }

    fn extra(self, is_extra: bool) -> Self {
        Self { is_extra, ..self }
    }
}

/// Turns a list of functions into scenarios whose names are the functions' names as sentences.
macro_rules! scenarios {
    ($($function:ident),+ $(,)?) => {
        vec![$($crate::scenarios::Scenario::new(stringify!($function).replace('_', " "), $function)),+]
    };
}
use scenarios;

fn all() -> Vec<Scenario> {
    let mut all = output::all();
    all.extend(machine::all());
    all.extend(mpi::all());
    all.extend(job_data::all());
    all.extend(queries::all());
    all.extend(job_control::all());
    all.extend(monitors::all());
    all.extend(logs::all());
    all.extend(endings::all());
    all.extend(debuggers::all());
    all.extend(debugging::all());
    all.extend(policies::all());
    all.extend(events::all());
    all.extend(feeds::all());
    all.extend(groups::all());
    all.extend(parameters::all());
    all.extend(spawn::all());
    all.extend(mpich::all());
    all.extend(mpirun::all());
    all.extend(limits::all());
    all.extend(bad_input::all());
    all.extend(attacks_pmix::all());
    all.extend(attacks_files::all());
    all.extend(attacks_bounds::all());
    all.extend(preload::all());
    all.extend(streams::all());
    all.extend(dvm::all());
    all.extend(batches::all());
    all.extend(queue::all());
    all.extend(relayed::all());
    all.extend(relayed_tools::all());
    all.extend(psets::all());
    all.extend(pulls::all());
    all.extend(push::all());
    all.extend(elastic_jobs::all());
    all.extend(elastic_pmix::all());
    all.extend(service::all());
    all.extend(web::all());
    all.extend(workflows::all());
    all.extend(sessions::all());
    all.extend(objects::all());
    all.extend(managers::all());
    all.extend(turns::all());
    // These come last, because they need a bed of another size.
    all.extend(elastic::all());
    all.extend(chaos::all());
    all.extend(slurm::all());
    all.extend(slurm_changes::all());
    all.extend(slurm_deadlines::all());
    all.extend(slurm_elastic::all());
    all.extend(slurm_grants::all());
    all
}

/// Numbers of scenarios by result.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    skipped: usize,
}

impl Tally {
    pub(crate) fn is_good(self) -> bool {
        self.failed == 0 && self.passed > 0
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "scenarios: {} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 { write!(f, ", {} skipped", self.skipped) } else { Ok(()) }
    }
}

/// `cargo xtask scenarios [FILTER...] [--list] [--quick] [--no-build] [--repeat N] [--in SUITE]`
pub(crate) fn main(mut args: Args) -> Result<()> {
    let (list, quick, no_build) = (args.flag("--list"), args.flag("--quick"), args.flag("--no-build"));
    let suite = args.value("--in")?;
    let times: u32 = args.parsed("--repeat")?.unwrap_or(1);
    let mut filters = Vec::new();
    while let Some(word) = args.optional()? {
        filters.push(word);
    }
    args.finish()?;
    if list {
        all().iter().for_each(|s| println!("{}", s.name));
        return Ok(());
    }
    if suite.is_none() {
        setup::ensure_installed(Need::Slurm)?;
    }
    if !no_build {
        runner::build_product()?;
    }
    if let Some(suite) = suite {
        let mut words = vec!["--repeat".to_owned(), times.to_string()];
        words.extend(quick.then(|| "--quick".to_owned()).into_iter().chain(filters));
        return peers::run_in(&suite, "scenarios", &words, None);
    }
    let tally = run(&filters, quick, times)?;
    println!("{tally}");
    ensure!(tally.is_good(), "not all scenarios passed");
    Ok(())
}

/// Runs the scenarios whose names contain any of `filters`, each so many times; all without filters.
pub(crate) fn run(filters: &[String], quick: bool, times: u32) -> Result<Tally> {
    let prterun = workspace::product("prterun");
    ensure!(workspace::is_executable(&prterun), "{} does not exist: build it first", prterun.display());
    let chosen: Vec<Scenario> = all()
        .into_iter()
        .filter(|s| !(quick && s.is_extra))
        .filter(|s| filters.is_empty() || filters.iter().any(|f| s.name.contains(f.as_str())))
        .collect();
    ensure!(!chosen.is_empty(), "no scenario's name contains that; see --list");
    let mut tally = Tally::default();
    let mut bed: Option<Bed> = None;
    for scenario in chosen.iter().flat_map(|scenario| (0..times).map(move |_| scenario)) {
        if let Some(why) = scenario.obstacle() {
            println!("skip {:8}  {} ({why})", "", scenario.name);
            tally.skipped += 1;
            continue;
        }
        let fits = |bed: &Bed| bed.len() == scenario.nodes && bed.kind() == scenario.kind;
        let standing = match bed.take().filter(fits) {
            Some(bed) => bed,
            None => Bed::own("scenarios", scenario.nodes, scenario.kind)?,
        };
        let context = Context::new(standing, quick);
        // A failure leaves the nodes in an unknown state: the next scenario gets new ones.
        bed = report(scenario, context, &mut tally);
    }
    Ok(tally)
}

/// Runs one scenario and prints its line; returns the bed if it can be used again.
fn report(scenario: &Scenario, context: Context, tally: &mut Tally) -> Option<Bed> {
    let start = Instant::now();
    let result = run_one(scenario, &context);
    let time = format!("{:6.2} s", start.elapsed().as_secs_f64());
    match result {
        Ok(()) => {
            println!("pass {time}  {}", scenario.name);
            context.notes().iter().for_each(|note| println!("               {note}"));
            tally.passed += 1;
            let bed = context.into_bed();
            return bed.is_as_new().then_some(bed);
        }
        Err(error) if error.is::<Skipped>() => {
            println!("skip {time}  {} ({error})", scenario.name);
            tally.skipped += 1;
        }
        Err(error) => {
            println!("FAIL {time}  {}\n    {error:#}", scenario.name);
            tally.failed += 1;
        }
    }
    None
}

fn run_one(scenario: &Scenario, context: &Context) -> Result<()> {
    let _watchdog = context.bed().watchdog(SCENARIO_LIMIT);
    match catch_unwind(AssertUnwindSafe(|| (scenario.body)(context))) {
        Ok(result) => result?,
        Err(_) => bail!("the scenario panicked"),
    }
    ensure!(context.bed().is_standing(), "over the limit of {SCENARIO_LIMIT:?}");
    let left = context.bed().residue(LEAVE_LIMIT);
    ensure!(left.is_empty(), "left behind:\n    {}", left.join("\n    "));
    Ok(())
}
