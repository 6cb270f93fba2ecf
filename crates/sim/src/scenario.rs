//! The content of a run: the DVM, the network, the fates of daemons, the jobs, the faults. Drawn from a seed
//! (`draw`), or written by hand for a test. Plain data, which the world plays.

use ferrite_types::{AppContext, DaemonRank, JobSpec, OutputOptions, SlotCount};
use ferrite_wire::GrowRequest;
use ferrite_wire::control::{Dependency, Request, SessionChoice, Submission};
use serde::{Deserialize, Serialize};

use crate::children::ChildPlan;
use crate::elastic::Elastic;
use crate::fault::Fault;
use crate::mutation::Mutation;
use crate::network::Weather;
use crate::queue::Time;

/// One run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scenario {
    /// Seed of everything that the world draws.
    pub seed: u64,
    /// Nodes of the allocation, the head's included.
    pub daemons: u32,
    /// Width of the routing tree.
    pub radix: u32,
    /// Slots of each node.
    pub slots: u32,
    /// True for `prte`, false for `prterun`.
    pub persistent: bool,
    /// True when daemons start the daemons of their subtree; false when the head starts all.
    pub tree_spawn: bool,
    /// Daemons are started by steps of a resource manager's jobs, one for all nodes of a job.
    pub steps: bool,
    /// The network.
    pub weather: Weather,
    /// Daemons whose start does not go well; all others start.
    pub fates: Vec<(DaemonRank, Fate)>,
    /// Longest time from launch to life of a daemon (microseconds).
    pub slowest_start: Time,
    /// Starts of processes that the system refuses, per mille.
    pub spawn_refusals: u64,
    /// Jobs that clients submit.
    pub jobs: Vec<JobPlan>,
    /// Further requests of clients, with their times.
    pub questions: Vec<(Time, Request)>,
    /// The faults, with their times.
    pub faults: Vec<(Time, Fault)>,
    /// The end of the run.
    pub ending: Ending,
    /// Bytes that wait on the head's standard input.
    pub stdin_bytes: usize,
    /// Changes of the DVM's size, and how it deals with them.
    pub elastic: Elastic,
    /// The time for which later jobs may pass the first one of the queue (seconds).
    #[serde(default = "usual_backfill")]
    pub backfill_s: u32,
    /// Units of a resource that each node has; `None` = the nodes have no such resource.
    #[serde(default)]
    pub units: Option<u64>,
    /// True when all nodes together have these units.
    #[serde(default)]
    pub shared_units: bool,
    /// The parameter `ferrite_second_tree_bytes`; `None` = its default, which no scenario of a few daemons reaches.
    #[serde(default)]
    pub second_tree_bytes: Option<u32>,
    /// Jobs that processes spawn, by number.
    #[serde(default)]
    pub children: Vec<ChildPlan>,
    /// A planted fault, which the referee must report.
    pub mutation: Option<Mutation>,
}

/// The resource of which nodes have [`Scenario::units`].
pub(crate) const UNIT: &str = "unit";

fn usual_backfill() -> u32 {
    30
}

/// The outcome of a daemon's start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// The launcher's command cannot be run.
    NoLauncher,
    /// The launcher ends with this code and text, and no daemon was started.
    Fails(u8, String),
    /// The launcher hangs; no daemon ever reports.
    Silent,
    /// The daemon dies before it has connected.
    DiesEarly,
    /// The daemon starts later than others by this time.
    Late(Time),
    /// The daemon starts, and is killed after this time.
    Dies(Time),
}

/// A job that a client submits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobPlan {
    /// The time of the submission.
    pub at: Time,
    /// The job request.
    pub spec: JobSpec,
    /// The expected result without other faults.
    pub expect: Expect,
    /// The client that submits it.
    pub client: Client,
    /// True for a job of the quiet phase, which comes after the faults and the DVM's reaction to them.
    pub quiet: bool,
    /// Nodes that the DVM is to have first.
    pub grow: Option<GrowRequest>,
    /// The session in which it runs.
    pub session: SessionChoice,
    /// The name of its task; empty = none.
    #[serde(default)]
    pub task: String,
    /// The jobs after which it begins.
    #[serde(default)]
    pub after: Vec<Dependency>,
}

/// The behaviour of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// True when it waits for slots.
    pub patient: bool,
    /// True when it does not wait for the job's end.
    pub detached: bool,
    /// The priority of its job among those that wait.
    #[serde(default)]
    pub priority: i16,
    /// Its number among the clients of the queue; 0 = it does not say who it is.
    #[serde(default)]
    pub name: u8,
    /// The time at which it cancels the job, if it does.
    pub cancels: Option<Time>,
    /// The time at which it leaves, if it does.
    pub leaves: Option<Time>,
}

impl JobPlan {
    /// A job of the fault phase, whose client waits for its end and wants nothing special.
    #[must_use]
    pub fn new(at: Time, spec: JobSpec, expect: Expect) -> JobPlan {
        let (client, session) = (Client::default(), SessionChoice::Default);
        let (task, after) = (String::new(), Vec::new());
        JobPlan { at, spec, expect, client, quiet: false, grow: None, session, task, after }
    }

    /// The request that the client sends.
    #[must_use]
    pub fn request(&self) -> Request {
        let Client { patient: wait_for_slots, detached: detach, priority, name, .. } = self.client;
        let launcher = if name == 0 { String::new() } else { format!("prun.n0.{name}") };
        let grow = self.grow.clone().map(Box::new);
        let session = self.session.clone();
        Request::Submit(Box::new(Submission {
            detach,
            wait_for_slots,
            priority,
            launcher,
            grow,
            session,
            task: self.task.clone(),
            after: self.after.clone(),
            ..Submission::of(self.spec.clone())
        }))
    }
}

/// The directory on a disk that is full: no output file there can be written.
pub const FULL: &str = "/full/";

/// The exit code that the client must get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expect {
    /// This one.
    Code(u8),
    /// Anything but zero.
    Failure,
    /// Any exit code.
    Anything,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// A one-shot DVM ends with its job; a persistent one is told to end when all jobs were answered.
    Natural,
    /// Interrupts (Ctrl-C): the time of the first, their number, the time between two.
    Interrupts(Time, u32, Time),
    /// The head is told to end at this time.
    Terminate(Time),
}

impl Scenario {
    /// Returns a DVM on a calm network, without jobs and faults.
    #[must_use]
    pub fn calm(seed: u64, daemons: u32, radix: u32) -> Scenario {
        Scenario {
            seed,
            daemons,
            radix,
            slots: 4,
            persistent: false,
            tree_spawn: true,
            steps: false,
            weather: Weather::CALM,
            fates: Vec::new(),
            slowest_start: 1000,
            spawn_refusals: 0,
            jobs: Vec::new(),
            questions: Vec::new(),
            faults: Vec::new(),
            ending: Ending::Natural,
            stdin_bytes: 0,
            elastic: Elastic::default(),
            backfill_s: usual_backfill(),
            second_tree_bytes: None,
            units: None,
            shared_units: false,
            children: Vec::new(),
            mutation: None,
        }
    }

    /// Adds a job that is submitted at `at`.
    #[must_use]
    pub fn with_job(mut self, at: Time, spec: JobSpec, expect: Expect) -> Scenario {
        self.jobs.push(JobPlan::new(at, spec, expect));
        self
    }

    /// Adds a job of the quiet phase. Its client waits for slots: a job of the fault phase may still hold them.
    #[must_use]
    pub fn with_quiet_job(mut self, at: Time, spec: JobSpec, expect: Expect) -> Scenario {
        self.add_quiet_job(at, spec, expect);
        self
    }

    pub(crate) fn add_quiet_job(&mut self, at: Time, spec: JobSpec, expect: Expect) {
        let client = Client { patient: true, ..Client::default() };
        self.jobs.push(JobPlan { client, quiet: true, ..JobPlan::new(at, spec, expect) });
    }

    /// Returns the time at which the faults are over and all daemons have noticed the losses.
    #[must_use]
    pub fn quiet_from(&self) -> Time {
        const SETTLED: Time = 30_000_000;
        let faults = self.faults.iter().map(|(at, fault)| at + fault.lasts()).max().unwrap_or(0);
        let late = self.fates.iter().map(|(_, fate)| if let Fate::Late(time) = fate { *time } else { 0 });
        let resizes = if self.resizes() { self.settles_after() + late.max().unwrap_or(0) } else { 0 };
        faults.max(resizes) + SETTLED
    }

    /// True when the jobs of the quiet phase must end well: faults strike only daemons other than the head, and nobody
    /// ends the DVM.
    #[must_use]
    pub fn must_survive(&self) -> bool {
        self.persistent
            && self.faults.iter().all(|(_, fault)| fault.victim() != Some(DaemonRank::HEAD))
            // Newcomers may fail.
            && self.fates.iter().all(|(rank, fate)| matches!(fate, Fate::Late(_)) || rank.0 >= self.daemons)
            && self.spawn_refusals == 0
            && self.ending == Ending::Natural
    }

    /// True when jobs are submitted after the faults.
    #[must_use]
    pub fn has_quiet_phase(&self) -> bool {
        self.jobs.iter().any(|job| job.quiet)
    }

    /// True when a job can fail only by itself.
    #[must_use]
    pub fn is_kind(&self) -> bool {
        self.fates.iter().all(|(_, fate)| matches!(fate, Fate::Late(_)))
            && self.faults.iter().all(|(_, fault)| fault.is_brief())
            && self.spawn_refusals == 0
            && self.only_grows_well()
            && self.elastic.manager.is_none()
            && self.session_changes().next().is_none()
            && !self.questions.iter().any(|(_, question)| matches!(question, Request::Kill(_)))
            && self.ending == Ending::Natural
    }

    /// Slots of a node as the head is told.
    #[must_use]
    pub fn slot_count(&self) -> SlotCount {
        // One planted fault is a head that believes in more slots than there are.
        SlotCount::Given(self.slots + u32::from(self.mutation == Some(Mutation::MoreSlots)))
    }
}

/// A job of one app: `np` copies of a virtual program (see [`crate::process::Step`]).
#[must_use]
pub fn job(np: u32, program: &str) -> JobSpec {
    let argv = ["vp"].into_iter().chain(program.split_whitespace());
    let app = AppContext {
        argv: argv.map(str::to_owned).collect(),
        np: Some(np),
        submit_dir: "/home/user".to_owned(),
        ..AppContext::default()
    };
    JobSpec { output: OutputOptions::default(), ..JobSpec::new(vec![app]) }
}
