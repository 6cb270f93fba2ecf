//! What a run is made of: the DVM, the weather, the fate of daemons, the jobs, the faults. Drawn from a
//! seed, or written by hand for a test. Plain data: the world acts it out.

use ferrite_types::{AppContext, DaemonRank, JobId, JobSpec, MapBy, OutputOptions, SlotCount};
use ferrite_wire::control::{Request, Submission};
use serde::{Deserialize, Serialize};

use crate::fault::{self, Fault};
use crate::mutation::Mutation;
use crate::network::Weather;
use crate::queue::Time;
use crate::rng::Rng;

/// Daemons from which on a DVM counts as large.
const LARGE: u32 = 512;

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
    /// Daemons start their subtree's daemons, instead of the head starting all.
    pub tree_spawn: bool,
    /// The network.
    pub weather: Weather,
    /// Daemons whose start does not go well; all others start.
    pub fates: Vec<(DaemonRank, Fate)>,
    /// Longest time from launch to life of a daemon (microseconds).
    pub slowest_start: Time,
    /// In so many of a thousand cases the system refuses to start a process.
    pub spawn_trouble: u64,
    /// Jobs that clients submit.
    pub jobs: Vec<JobPlan>,
    /// What else clients ask, and when.
    pub questions: Vec<(Time, Request)>,
    /// What goes wrong, and when.
    pub faults: Vec<(Time, Fault)>,
    /// The loss of daemons must not keep the DVM from running the jobs of the quiet phase.
    pub survives: bool,
    /// How it ends.
    pub ending: Ending,
    /// Bytes that wait on the head's standard input.
    pub stdin_bytes: usize,
    /// A fault planted on purpose, to see whether the referee sees it.
    pub mutation: Option<Mutation>,
}

/// What becomes of the start of a daemon.
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
    /// The daemon starts so much later than others.
    Late(Time),
}

/// A job that a client submits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobPlan {
    /// When.
    pub at: Time,
    /// What.
    pub spec: JobSpec,
    /// What should come of it when nothing else goes wrong.
    pub expect: Expect,
    /// Who asks.
    pub client: Client,
    /// It belongs to the quiet phase: the faults are over, and what is left of the DVM has had time to settle.
    pub quiet: bool,
}

/// How a client behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// It waits for slots.
    pub patient: bool,
    /// It does not wait for the job's end.
    pub detached: bool,
    /// Its user wants the job to end at this time.
    pub cancels: Option<Time>,
    /// It is gone at this time.
    pub leaves: Option<Time>,
}

impl JobPlan {
    /// What the client sends.
    #[must_use]
    pub fn request(&self) -> Request {
        let Client { patient: wait_for_slots, detached: detach, .. } = self.client;
        Request::Submit(Box::new(Submission { detach, wait_for_slots, ..Submission::of(self.spec.clone()) }))
    }
}

/// The exit code that a user is to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expect {
    /// This one.
    Code(u8),
    /// Anything but zero.
    Failure,
    /// Whatever; only that there is one.
    Anything,
}

/// How a run comes to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// A one-shot DVM ends with its job; a persistent one is told to end when all jobs were answered.
    Natural,
    /// Ctrl-C so many times, from this time on, so much apart.
    Interrupts(Time, u32, Time),
    /// The head is told to end at this time.
    Terminate(Time),
}

impl Scenario {
    /// A DVM on a calm network, with nothing to do and nothing wrong.
    #[must_use]
    pub fn calm(seed: u64, daemons: u32, radix: u32) -> Scenario {
        Scenario {
            seed,
            daemons,
            radix,
            slots: 4,
            persistent: false,
            tree_spawn: true,
            weather: Weather::CALM,
            fates: Vec::new(),
            slowest_start: 1000,
            spawn_trouble: 0,
            jobs: Vec::new(),
            questions: Vec::new(),
            faults: Vec::new(),
            survives: false,
            ending: Ending::Natural,
            stdin_bytes: 0,
            mutation: None,
        }
    }

    /// Adds a job that is asked for at `at`.
    #[must_use]
    pub fn with_job(mut self, at: Time, spec: JobSpec, expect: Expect) -> Scenario {
        self.jobs.push(JobPlan { at, spec, expect, client: Client::default(), quiet: false });
        self
    }

    /// Adds a job of the quiet phase. Its client waits for slots: a job of the fault phase may still hold them.
    #[must_use]
    pub fn with_quiet_job(mut self, at: Time, spec: JobSpec, expect: Expect) -> Scenario {
        self.add_quiet_job(at, spec, expect);
        self
    }

    fn add_quiet_job(&mut self, at: Time, spec: JobSpec, expect: Expect) {
        let client = Client { patient: true, ..Client::default() };
        self.jobs.push(JobPlan { at, spec, expect, client, quiet: true });
    }

    /// When the faults are over and everybody has had time to find out what is left.
    #[must_use]
    pub fn quiet_from(&self) -> Time {
        const SETTLED: Time = 30_000_000;
        self.faults.iter().map(|(at, fault)| at + fault.lasts()).max().unwrap_or(0) + SETTLED
    }

    /// True when the jobs of the quiet phase are owed a good end: nothing went wrong but with daemons that are
    /// not the head, and nobody ends the DVM.
    #[must_use]
    pub fn must_survive(&self) -> bool {
        self.survives
            && self.persistent
            && self.faults.iter().all(|(_, fault)| fault.victim() != Some(DaemonRank::HEAD))
            && self.fates.iter().all(|(_, fate)| matches!(fate, Fate::Late(_)))
            && self.spawn_trouble == 0
            && self.ending == Ending::Natural
    }

    /// True when nothing but the jobs themselves can make a job fail.
    #[must_use]
    pub fn is_kind(&self) -> bool {
        self.fates.iter().all(|(_, fate)| matches!(fate, Fate::Late(_)))
            && self.faults.iter().all(|(_, fault)| fault.is_brief())
            && self.spawn_trouble == 0
            && !self.questions.iter().any(|(_, question)| matches!(question, Request::Kill(_)))
            && self.ending == Ending::Natural
    }

    /// A scenario drawn from a seed. `daemons` and `radix` are drawn too when they are not given.
    #[must_use]
    pub fn random(seed: u64, daemons: Option<u32>, radix: Option<u32>) -> Scenario {
        let mut rng = Rng::new(seed);
        // Drawn apart: it reshuffles nothing else.
        let mut extra = Rng::new(seed ^ 0x1a46_e000_0000_0001);
        let small = *rng.pick(&[1, 2, 3, 4, 5, 7, 8, 12, 16, 33, 70]);
        let daemons = daemons.unwrap_or_else(|| draw_large(&mut extra).unwrap_or(small));
        let radix = radix.unwrap_or_else(|| *rng.pick(&[2, 2, 3, 4, 64]));
        let mut s = Scenario::calm(seed, daemons, radix);
        s.slots = rng.between(1, 8) as u32;
        s.persistent = rng.permille(500);
        s.tree_spawn = rng.permille(600);
        s.weather = *rng.pick(&[
            Weather::CALM,
            Weather { fastest: 20, slowest: 400, hiccups: 0 },
            Weather { fastest: 5, slowest: 20_000, hiccups: 5 },
        ]);
        s.slowest_start = *rng.pick(&[1_000, 50_000, 2_000_000]);
        s.draw_jobs(&mut rng);
        match rng.between(0, 9) {
            0..=4 if !extra.permille(400) => {}
            5 | 6 => s.draw_fates(&mut rng),
            0..=4 | 7 | 8 => {
                // Most faults are to find a DVM that is up.
                if extra.permille(800) {
                    s.slowest_start = s.slowest_start.min(50_000);
                }
                s.faults = fault::draw(&mut rng, daemons, radix);
                s.draw_quiet_phase(&mut rng);
            }
            _ => s.draw_ending(&mut rng),
        }
        s
    }

    fn draw_jobs(&mut self, rng: &mut Rng) {
        let patient = self.persistent && rng.permille(400);
        let count = match (self.persistent, patient) {
            (true, true) => rng.between(1, 12),
            (true, false) => rng.between(0, 5),
            (false, _) => 1,
        };
        // A large DVM is for what only its size shows: few jobs, of few processes each.
        let large = self.daemons >= LARGE;
        let count = if large { count.min(2) } else { count };
        let capacity = if large { 64 } else { self.daemons * self.slots };
        for _ in 0..count {
            let at = if self.persistent { rng.between(0, 5_000_000) } else { 0 };
            // Impatient jobs of a persistent DVM run side by side: each small enough that slots are not the question.
            let most = if self.persistent && !patient { (capacity / 6).max(1) } else { capacity };
            let np = rng.between(1, u64::from(most)) as u32;
            let (program, expect) = draw_program(rng, np);
            // More jobs than slots is no fault, but may be refused.
            let crowded = self.persistent && !patient && capacity < 6;
            let expect = if crowded { Expect::Anything } else { expect };
            let mut spec = job(np, &program);
            let expect = if np > 1 && rng.permille(250) { odd_one_out(rng, &mut spec, expect) } else { expect };
            spec.map.by = *rng.pick(&[None, Some(MapBy::Slot), Some(MapBy::Node)]);
            spec.output.raw = rng.permille(200);
            draw_policy(self.seed ^ self.jobs.len() as u64, &mut spec);
            let client = if self.persistent { draw_client(rng, at, patient) } else { Client::default() };
            let expect = if client.cancels.is_some() { Expect::Anything } else { expect };
            self.jobs.push(JobPlan { at, spec, expect, client, quiet: false });
        }
        if self.persistent {
            self.draw_questions(rng);
        }
        if rng.permille(300) {
            self.stdin_bytes = rng.between(0, 300_000) as usize;
        }
    }

    /// The first job of a quiet phase often wants every slot that must be left, each fault having cost a daemon at
    /// most; others are small.
    fn draw_quiet_phase(&mut self, rng: &mut Rng) {
        let from = self.quiet_from();
        let left = self.daemons.saturating_sub(self.faults.len() as u32).max(1) * self.slots;
        let count = if self.persistent { rng.between(1, 3) } else { 0 };
        for i in 0..count {
            let all = i == 0 && self.daemons < LARGE && rng.permille(600);
            let np = if all { left } else { rng.between(1, u64::from(left.min(16))) as u32 };
            let mut spec = job(np, if rng.permille(500) { "exit:0" } else { "init fence finalize" });
            spec.map.by = *rng.pick(&[None, Some(MapBy::Node)]);
            self.add_quiet_job(from + rng.between(0, 1_000_000), spec, Expect::Code(0));
        }
    }

    fn draw_questions(&mut self, rng: &mut Rng) {
        let kills = rng.permille(150);
        for _ in 0..rng.between(0, 6) {
            let job = JobId(rng.between(0, 1 + self.jobs.len() as u64) as u32);
            let question = match rng.between(0, 5) {
                0 => Request::Status,
                1 => Request::Nodes,
                2 => Request::Jobs,
                3 if kills => Request::Kill(job),
                _ => Request::Job(job),
            };
            self.questions.push((rng.between(0, 5_000_000), question));
        }
    }

    fn draw_fates(&mut self, rng: &mut Rng) {
        for _ in 0..rng.between(1, 3) {
            let fate = match rng.between(0, 5) {
                0 => Fate::NoLauncher,
                1 => Fate::Fails(255, "ssh: connect to host n1 port 22: Connection refused".to_owned()),
                2 => Fate::Fails(127, "bash: line 1: prted: command not found".to_owned()),
                3 => Fate::Silent,
                4 => Fate::DiesEarly,
                _ => Fate::Late(rng.between(1, 5_000_000)),
            };
            if self.daemons > 1 {
                let rank = DaemonRank(rng.between(1, u64::from(self.daemons) - 1) as u32);
                self.fates.push((rank, fate));
            }
        }
        if rng.permille(200) {
            self.spawn_trouble = 100;
        }
    }

    fn draw_ending(&mut self, rng: &mut Rng) {
        let at = rng.between(0, 3_000_000);
        self.ending = if rng.permille(500) {
            Ending::Terminate(at)
        } else {
            let times = rng.between(1, 3) as u32;
            Ending::Interrupts(at, times, rng.between(1, 1_000_000))
        };
    }

    /// Slots of a node as the head is told.
    #[must_use]
    pub fn slot_count(&self) -> SlotCount {
        // A head that believes in more slots than there are is one of the planted faults.
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

/// Splits one process off into an app of its own with another program: who fails is not always everybody.
fn odd_one_out(rng: &mut Rng, spec: &mut JobSpec, expect: Expect) -> Expect {
    let (program, odd) = draw_program(rng, 1);
    let mut other = job(1, &program).apps;
    // Only programs of one kind meet in a fence; a mixed pair would wait for each other for ever.
    let meets = |app: &AppContext| app.argv.iter().any(|w| w == "init");
    if meets(&spec.apps[0]) || meets(&other[0]) {
        return expect;
    }
    spec.apps[0].np = spec.apps[0].np.map(|n| n - 1);
    spec.apps.append(&mut other);
    match (expect, odd) {
        (Expect::Code(0), odd) => odd,
        (expect, Expect::Code(0)) => expect,
        // Whoever fails first decides.
        _ => Expect::Failure,
    }
}

/// What becomes of the others when a process fails; the exit code is that of the first failure either way. From a seed of its own:
/// what else a scenario draws does not depend on it.
fn draw_policy(seed: u64, spec: &mut JobSpec) {
    let mut rng = Rng::new(!seed);
    spec.options.recoverable = rng.permille(250);
    spec.options.continuous = rng.permille(120);
    spec.options.notify_errors = rng.permille(500);
}

/// One in two hundred is as large as real machines are; in small ones faults meet more often.
fn draw_large(rng: &mut Rng) -> Option<u32> {
    rng.permille(5).then(|| {
        let sizes = [LARGE, LARGE, LARGE, 600, 600, 777, 777, 1000, 1024, 1024, 2048, 2048, 4096];
        *rng.pick(&sizes)
    })
}

fn draw_client(rng: &mut Rng, at: Time, patient: bool) -> Client {
    let mut later = |chance| rng.permille(chance).then(|| at + rng.between(0, 1_000_000));
    let (cancels, leaves) = (later(80), later(80));
    Client { patient, detached: rng.permille(80), cancels, leaves }
}

/// What `np` processes do. Much output comes from few: windows fill by what one writes, and time goes by what all do.
fn draw_program(rng: &mut Rng, np: u32) -> (String, Expect) {
    let pause = rng.between(0, 200_000);
    let lines = rng.between(0, 50);
    match rng.between(0, 11) {
        0 => ("exit:0".to_owned(), Expect::Code(0)),
        1 => (format!("out:{lines} pause:{pause} err:{lines}"), Expect::Code(0)),
        2 => (format!("out:{}", lines * 800 / u64::from(np.max(8))), Expect::Code(0)),
        3 => (format!("pause:{pause} exit:3"), Expect::Code(3)),
        4 => (format!("pause:{pause} die:11"), Expect::Code(128 + 11)),
        5 => ("missing".to_owned(), Expect::Failure),
        6 | 7 => (format!("init out:{lines} fence pause:{pause} fence finalize"), Expect::Code(0)),
        8 => (format!("deaf init pause:{pause} abort:7 forever"), Expect::Code(7)),
        // A child of the process holds its output open for a while, or until it is killed.
        9 => (format!("orphan:{pause} out:{lines}"), Expect::Code(0)),
        10 => (format!("orphan:100000000 pause:{pause} exit:4"), Expect::Code(4)),
        _ => ("stdin".to_owned(), Expect::Code(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_scenario_and_most_kinds_appear() {
        let text = |seed| format!("{:?}", Scenario::random(seed, None, None));
        assert_eq!(text(5), text(5));
        let all: Vec<Scenario> = (0..300).map(|s| Scenario::random(s, None, None)).collect();
        assert!(all.iter().any(|s| !s.fates.is_empty()) && all.iter().any(|s| !s.faults.is_empty()));
        assert!(all.iter().any(|s| s.ending != Ending::Natural) && all.iter().any(Scenario::is_kind));
        assert!(all.iter().any(|s| s.persistent && s.jobs.len() > 2));
        let clients = || all.iter().flat_map(|s| &s.jobs).map(|job| job.client);
        assert!(clients().any(|c| c.leaves.is_some()) && clients().any(|c| c.cancels.is_some()));
        assert!(clients().any(|c| c.patient) && clients().any(|c| c.detached));
    }
}
