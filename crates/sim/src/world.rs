//! The simulated world: the real state machines over a virtual network, launcher, processes and clock.
//!
//! One event happens at a time; a daemon's effects become further events. All random numbers come from the scenario's
//! seed, so a run can be repeated exactly.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Arguments;

use ferrite_core::{Effect, Effects, HeadConfig, HeadInput, Input, LinkInput, LocalNode, Node, RequestId, Timer};
use ferrite_rm::{Allocation, Source};
use ferrite_types::{DaemonRank, ExitStatus, HostEntry, JobId, Signal, Topology};
use ferrite_wire::control::Request;
use ferrite_wire::{Contact, SpreadId, Ticket};

use crate::count::Bill;
use crate::describe;
use crate::event::Event;
use crate::fault::strike::Partition;
use crate::handshakes::Handshakes;
use crate::head_work::Meter;
use crate::host::Host;
use crate::invariants::{Observation, Referee, Violation};
use crate::links::address;
use crate::manager::Manager;
use crate::messages;
use crate::mutation::families::FamilyMutations;
use crate::mutation::losses::LossMutations;
use crate::mutation::resizes::ResizeMutations;
use crate::mutation::waits::WaitMutations;
use crate::mutation::{self, Mutation};
use crate::network::{LinkId, Network};
use crate::pmix::FENCE_BYTES;
use crate::queue::{Queue, Time};
use crate::rng::Rng;
use crate::scenario::{Ending, Fate, Scenario, UNIT};
use crate::steps::{FIRST_JOB, Steps};
use crate::trace::{Keep, Trace};
use crate::works::Work;

/// The cores of each node.
pub(crate) const CORES: u32 = 8;

/// The virtual time after the last planned event within which the run must end.
const PATIENCE: Time = 1_200_000_000;
/// The most events of a run; more of them mean an endless loop.
const MOST_EVENTS: u64 = 20_000_000;

/// A daemon's start.
pub(crate) struct Launch {
    /// The daemon that has started the launcher.
    pub(crate) by: DaemonRank,
    pub(crate) ticket: Option<Ticket>,
    pub(crate) abandoned: bool,
}

/// A run in progress.
pub(crate) struct World {
    pub(crate) scenario: Scenario,
    pub(crate) queue: Queue<Event>,
    pub(crate) network: Network,
    pub(crate) partition: Partition,
    pub(crate) handshakes: Handshakes,
    /// The links that are lanes, with their spreads.
    pub(crate) lanes: BTreeMap<LinkId, SpreadId>,
    pub(crate) rng: Rng,
    pub(crate) hosts: BTreeMap<DaemonRank, Host>,
    pub(crate) launches: BTreeMap<DaemonRank, Launch>,
    pub(crate) steps: Steps,
    pub(crate) manager: Manager,
    /// Output files that could not be written: their daemon hears of them before anything else.
    pub(crate) lost_files: Vec<Input>,
    loss_mutations: LossMutations,
    resize_mutations: ResizeMutations,
    wait_mutations: WaitMutations,
    family_mutations: FamilyMutations,
    pub(crate) referee: Referee,
    pub(crate) bill: Bill,
    /// The time that the head computes, while somebody measures it.
    pub(crate) head_meter: Option<Meter>,
    pub(crate) next_id: u64,
    /// The jobs that each job has spawned, by the number of the spawn.
    pub(crate) children: BTreeMap<(JobId, u32), JobId>,
    /// The root of the spawn tree of each job.
    pub(crate) roots: BTreeMap<JobId, JobId>,
    /// The work of spawn trees, by their roots.
    pub(crate) works: BTreeMap<JobId, Work>,
    /// Microseconds for which processes have held their slots while they worked.
    pub(crate) held: u64,
    pub(crate) stdin_left: usize,
    /// Bytes that each daemon puts into a fence.
    pub(crate) fence_bytes: usize,
    pub(crate) ready: bool,
    /// Submissions whose client has its reply, or is gone.
    pub(crate) settled: BTreeSet<RequestId>,
    pub(crate) report: Report,
    trace: Trace,
    violation: Option<Violation>,
    events: u64,
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// The first broken guarantee.
    pub violation: Option<Violation>,
    /// Exit codes that clients got, by request.
    pub replies: BTreeMap<RequestId, u8>,
    /// The times at which they got them.
    pub replied: BTreeMap<RequestId, Time>,
    /// Exit code of the head.
    pub head_exit: Option<u8>,
    /// Messages for the user.
    pub notices: Vec<String>,
    /// Equal for equal runs.
    pub fingerprint: (u64, u64),
    /// Lines of the trace that were kept.
    pub lines: Vec<String>,
    /// Events that happened.
    pub events: u64,
    /// The virtual time at which the last daemon ended.
    pub end: Time,
    /// The costs of the run.
    pub bill: Bill,
    /// Daemons that were alive at the end.
    pub left: Vec<DaemonRank>,
}

/// The way in which a daemon ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// It has exited with this code.
    Exit(u8),
    /// It was killed.
    Crash,
}

/// Plays a scenario from beginning to end.
#[must_use]
pub fn run(scenario: &Scenario, keep: Keep, referee: Referee) -> Report {
    let mut world = World::new(scenario.clone(), keep, referee);
    world.begin();
    world.play(None);
    world.finish()
}

impl World {
    pub(crate) fn new(scenario: Scenario, keep: Keep, referee: Referee) -> World {
        let mut rng = Rng::new(scenario.seed ^ 0x0005_1a7e_d000_77d5);
        let network = Network::new(rng.fork(), scenario.weather);
        World {
            network,
            partition: Partition::default(),
            handshakes: Handshakes::default(),
            lanes: BTreeMap::new(),
            rng,
            queue: Queue::default(),
            hosts: BTreeMap::new(),
            launches: BTreeMap::new(),
            steps: Steps::default(),
            manager: Manager::of(&scenario),
            lost_files: Vec::new(),
            loss_mutations: LossMutations::default(),
            resize_mutations: ResizeMutations::default(),
            wait_mutations: WaitMutations::default(),
            family_mutations: FamilyMutations::default(),
            referee,
            bill: Bill::default(),
            head_meter: None,
            next_id: 1,
            children: BTreeMap::new(),
            roots: BTreeMap::new(),
            works: BTreeMap::new(),
            held: 0,
            stdin_left: scenario.stdin_bytes,
            fence_bytes: FENCE_BYTES,
            ready: false,
            settled: BTreeSet::new(),
            report: Report::default(),
            trace: Trace::new(keep),
            violation: None,
            events: 0,
            scenario,
        }
    }

    /// Starts the head, and puts all planned events into the queue.
    pub(crate) fn begin(&mut self) {
        let config = head_config(&self.scenario);
        let local = self.local_node(DaemonRank::HEAD, "n0");
        self.give_birth(DaemonRank::HEAD, Node::head(config, local).reading_by(messages::read));
        for (i, job) in self.scenario.jobs.clone().into_iter().enumerate() {
            let id = RequestId(i as u64);
            self.request(job.at, id, job.request());
            if let Some(at) = job.client.cancels {
                self.queue.at(at, Event::Input(DaemonRank::HEAD, Input::Head(HeadInput::Cancel(id))));
            }
            if let Some(at) = job.client.leaves {
                self.queue.at(at, Event::ClientLeaves(id));
            }
        }
        for (i, (at, question)) in self.scenario.questions.clone().into_iter().enumerate() {
            self.request(at, RequestId((self.scenario.jobs.len() + i) as u64), question);
        }
        self.plan_resizes();
        for (at, fault) in self.scenario.faults.clone() {
            self.queue.at(at, Event::Fault(fault));
        }
        match self.scenario.ending {
            Ending::Natural => {}
            Ending::Terminate(at) => self.queue.at(at, Event::Finish),
            Ending::Interrupts(at, times, apart) => {
                for i in 0..u64::from(times) {
                    self.queue.at(at + i * apart, Event::Input(DaemonRank::HEAD, Input::Head(HeadInput::Interrupt)));
                }
                // A head that has only got a second Ctrl-C must still end some time.
                self.queue.at(at + 60_000_000, Event::Finish);
            }
        }
    }

    pub(crate) fn request(&mut self, at: Time, id: RequestId, request: Request) {
        self.queue.at(at, Event::Input(DaemonRank::HEAD, Input::Head(HeadInput::Request { id, request })));
    }

    /// Lets a client leave that has not been answered.
    fn client_leaves(&mut self, id: RequestId) {
        if !self.settled.contains(&id) || self.is_resize(id) {
            self.deliver(DaemonRank::HEAD, Input::Head(HeadInput::ClientGone(id)));
            self.settle(id);
        }
    }

    /// Plays to the end, or until this number of events.
    pub(crate) fn play(&mut self, until: Option<u64>) {
        let limit = self.planned_end() + PATIENCE;
        while self.violation.is_none() && until.is_none_or(|until| self.events < until) {
            let Some(event) = self.queue.pop() else { break };
            self.events += 1;
            if self.queue.now() > limit || self.events > MOST_EVENTS {
                break;
            }
            self.happen(event);
        }
    }

    /// Plays all events up to a time.
    pub(crate) fn play_until(&mut self, time: Time) {
        while self.queue.due().is_some_and(|due| due <= time) {
            let Some(event) = self.queue.pop() else { break };
            self.events += 1;
            self.happen(event);
        }
    }

    /// True when the run was stopped at an event before its end.
    pub(crate) fn is_under_way(&self, until: u64) -> bool {
        self.events >= until && self.violation.is_none() && !self.hosts.is_empty()
    }

    /// Ends the run: all guarantees are checked for the last time.
    pub(crate) fn finish(mut self) -> Report {
        if self.violation.is_none() {
            let left: Vec<DaemonRank> = self.hosts.keys().copied().collect();
            self.violation = self.referee.at_end(self.queue.now(), &left);
        }
        self.stop()
    }

    /// Stops the run without the last checks.
    pub(crate) fn stop(self) -> Report {
        let left = self.hosts.keys().copied().collect();
        Report {
            violation: self.violation,
            fingerprint: self.trace.fingerprint(),
            lines: self.trace.into_lines(),
            events: self.events,
            bill: self.bill,
            left,
            ..self.report
        }
    }

    fn planned_end(&self) -> Time {
        let faults = self.scenario.faults.iter().map(|(at, fault)| at + fault.lasts());
        let jobs = self.scenario.jobs.iter().map(|j| j.at);
        faults.chain(jobs).max().unwrap_or(0)
    }

    pub(crate) fn happen(&mut self, event: Event) {
        let Some(event) = self.hold_up(event) else { return };
        if let Some(rank) = event.whose()
            && let Some(host) = self.hosts.get_mut(&rank)
            && let Some(waiting) = &mut host.stopped
        {
            waiting.push_back(event);
            return;
        }
        self.act(event);
    }

    pub(crate) fn act(&mut self, event: Event) {
        match event {
            Event::Input(rank, input) => self.deliver(rank, input),
            Event::LinkUp { at, peer, id } => self.link_up(at, peer, id),
            Event::LinkDown { at, peer, id, cause } => self.link_down(at, peer, id, cause),
            Event::Arrive { from, to, id, frame } => self.arrive(from, to, id, frame),
            Event::Call { from, peer, contact, until, insist, lane } => {
                self.call((from, peer, lane), contact, until, insist);
            }
            Event::CallLapses { from, peer, id } => self.call_lapses(from, peer, id),
            Event::Timer { rank, timer, setting } => self.timer_due(rank, timer, setting),
            Event::DaemonStarts(rank) => self.daemon_starts(rank),
            Event::Wake(rank, proc) => self.wake(rank, proc),
            Event::Leaves(rank, proc) => self.leave(rank, proc),
            Event::WorkDone(root, changes) => self.work_done(root, changes),
            Event::OrphanEnds(rank, proc) => self.orphan_ends(rank, proc),
            Event::ProcAsks(plan) => self.proc_asks(plan),
            Event::Killed(rank) => self.bury(rank, Gone::Crash),
            Event::Fault(fault) => self.on_fault(fault),
            Event::Resume(rank) => self.resume(rank),
            Event::Heal(rank) => self.heal(rank),
            Event::ClientLeaves(id) => self.client_leaves(id),
            Event::ManagerDecides(extension) => self.manager_decides(extension),
            Event::ManagerAnnounces(job) => self.manager_announces(&job),
            Event::ManagerEnds(job) => self.manager_ends(&job),
            Event::Finish => self.deliver(DaemonRank::HEAD, Input::Terminate { cause: "told to end".to_owned() }),
        }
    }

    /// Gives an input to a daemon and carries out what it wants.
    pub(crate) fn deliver(&mut self, rank: DaemonRank, mut input: Input) {
        let now = self.queue.now();
        if !self.hosts.contains_key(&rank) {
            return;
        }
        let message = match &input {
            Input::Link(LinkInput::Frame { frame, .. }) => messages::look(&frame.payload),
            _ => None,
        };
        if self.trace.is_written() {
            self.record(format_args!("{now} {rank} < {}", describe::input(&input, message.as_deref())));
        }
        self.observe(&Observation::Input { rank, at: now, input: &input, message: message.as_deref() });
        let cause = self.scenario.mutation.map(|mutation| (mutation, input.clone()));
        self.loss_mutations.reach(&self.scenario, rank, &mut input);
        self.resize_mutations.reach(&self.scenario, rank, &mut input);
        WaitMutations::reach(self.scenario.mutation, &mut input);
        self.family_mutations.reach(self.scenario.mutation, rank, &mut input);
        let mut fx = Effects::new();
        if let Some(host) = self.hosts.get_mut(&rank) {
            let clock = host.clock(now);
            match self.head_meter.as_mut().filter(|_| rank == DaemonRank::HEAD) {
                Some(meter) => meter.time(|| host.node.handle(clock, input, &mut fx)),
                None => host.node.handle(clock, input, &mut fx),
            }
        }
        let mut wanted: Vec<Effect> = fx.drain().collect();
        if let Some((mutation, cause)) = &cause {
            mutation.tamper(rank, &mut wanted);
            self.loss_mutations.tamper(*mutation, rank, cause, &mut wanted);
            self.resize_mutations.tamper(*mutation, rank, cause, &mut wanted);
            self.wait_mutations.tamper(*mutation, rank, cause, &mut wanted);
            self.family_mutations.tamper(*mutation, rank, &mut wanted);
            mutation::spreads::tamper(*mutation, cause, &mut wanted);
        }
        for effect in wanted {
            let message = match &effect {
                Effect::Transmit { frame, .. } => messages::look(&frame.payload),
                _ => None,
            };
            if self.trace.is_written() {
                self.record(format_args!("{now} {rank} > {}", describe::effect(&effect, message.as_deref())));
            }
            self.observe(&Observation::Effect { rank, at: now, effect: &effect, message: message.as_deref() });
            self.apply(rank, effect, message.as_deref());
        }
        for lost in std::mem::take(&mut self.lost_files) {
            self.deliver(rank, lost);
        }
        if let Some(code) = self.hosts.get(&rank).and_then(|h| h.exiting) {
            self.bury(rank, Gone::Exit(code));
        }
    }

    /// Writes a line of the trace.
    pub(crate) fn record(&mut self, text: Arguments<'_>) {
        self.trace.record(self.events, text);
    }

    pub(crate) fn observe(&mut self, what: &Observation<'_>) {
        if self.violation.is_none() {
            self.violation = self.referee.observe(self.queue.now(), what);
        }
    }

    fn give_birth(&mut self, rank: DaemonRank, node: Node) {
        let skew = self.rng.between(0, 1_000_000_000_000);
        self.hosts.insert(rank, Host::new(node, skew));
        self.observe(&Observation::Born { rank });
        self.deliver(rank, Input::Start);
    }

    /// Ends a daemon: its links close, and its processes die with it.
    pub(crate) fn bury(&mut self, rank: DaemonRank, how: Gone) {
        let now = self.queue.now();
        let Some(host) = self.hosts.remove(&rank) else { return };
        self.record(format_args!("{now} {rank} gone: {how:?}"));
        self.observe(&Observation::Gone { rank, at: now, how, running: host.running() });
        for (peer, id) in &host.links {
            self.close_end(rank, *peer, *id, "connection closed by peer");
        }
        for (lane, id) in &host.lanes {
            self.close_end(rank, lane.peer, *id, "connection closed by peer");
        }
        // Timers of ended daemons may still be in the queue; the run ends with the last daemon.
        self.report.end = now;
        self.bill.close(now);
        if rank == DaemonRank::HEAD
            && let Gone::Exit(code) = how
        {
            self.report.head_exit = Some(code);
        }
        if (!host.detached || self.steps.holds(rank)) && rank != DaemonRank::HEAD {
            let status = match how {
                Gone::Exit(code) => ExitStatus::Exited(code),
                Gone::Crash => ExitStatus::Signaled(Signal::KILL),
            };
            self.launcher_ends(rank, Some(status), String::new(), 500);
        }
    }

    /// Ends the daemon `rank`, or its launch, and with it the launcher if that is its own.
    pub(crate) fn launcher_ends(&mut self, rank: DaemonRank, status: Option<ExitStatus>, message: String, delay: Time) {
        if self.steps.holds(rank) {
            self.task_ends(rank, status, message, delay);
        } else {
            self.tell_launcher_end(rank, status, message, delay);
        }
    }

    /// Tells the daemon whose launcher started `rank` that the launcher's process ended.
    pub(crate) fn tell_launcher_end(
        &mut self,
        rank: DaemonRank,
        status: Option<ExitStatus>,
        message: String,
        delay: Time,
    ) {
        let Some(launch) = self.launches.get(&rank).filter(|l| !l.abandoned) else { return };
        let by = launch.by;
        self.queue.after(delay, Event::Input(by, Input::LauncherEnded { rank, status, message }));
    }

    fn timer_due(&mut self, rank: DaemonRank, timer: Timer, setting: u64) {
        let Some(host) = self.hosts.get_mut(&rank) else { return };
        if host.timers.get(&timer) == Some(&setting) {
            host.timers.remove(&timer);
            self.deliver(rank, Input::Timer(timer));
        }
    }

    fn daemon_starts(&mut self, rank: DaemonRank) {
        let Some(launch) = self.launches.get_mut(&rank) else { return };
        let orphaned = launch.abandoned || !self.hosts.contains_key(&launch.by);
        let Some(ticket) = launch.ticket.take() else { return };
        // A killed launcher may have started its daemon before.
        if orphaned && self.rng.permille(500) {
            return;
        }
        let ticket = Ticket::decode(&ticket.encode()).expect("a ticket survives the launcher's pipe");
        let local = self.local_node(rank, &ticket.node);
        if let Some(Fate::Dies(after)) = self.fate(rank) {
            self.queue.after(after, Event::Killed(rank));
        }
        self.give_birth(rank, Node::daemon(ticket, local).reading_by(messages::read));
    }

    fn local_node(&mut self, rank: DaemonRank, name: &str) -> LocalNode {
        self.next_id += 1;
        LocalNode {
            hostname: name.to_owned(),
            topology: Topology::uniform(1, CORES, 1),
            contact: Contact(vec![address(rank)]),
            pid: self.next_id as u32,
            local_time_at_zero_s: 0,
        }
    }
}

fn head_config(scenario: &Scenario) -> HeadConfig {
    let managed = scenario.steps || scenario.elastic.manager.is_some();
    let rm_job = managed.then(|| FIRST_JOB.to_owned());
    let host =
        |i| HostEntry { slots: scenario.slot_count(), rm_job: rm_job.clone(), ..HostEntry::named(&format!("n{i}")) };
    let mut allocation = Allocation::of((0..scenario.daemons).map(host).collect(), Some(0));
    if let Some(job) = rm_job.clone().filter(|_| scenario.elastic.manager.is_some()) {
        allocation.source = Source::Managed { manager: ferrite_rm::Manager::Slurm, job };
    }
    let mut params = vec![
        ("prte_rml_base_radix", scenario.radix.to_string()),
        ("rml_base_radix", scenario.radix.to_string()),
        ("plm_ssh_no_tree_spawn", (!scenario.tree_spawn).to_string()),
        ("state_base_verbose", "5".to_owned()),
    ];
    let elastic = &scenario.elastic;
    let numbers = [("ferrite_debug_prep_ms", elastic.prep_ms), ("ferrite_launch_timeout", elastic.launch_timeout_s)];
    params.extend(numbers.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| (name, n.to_string())));
    if scenario.steps || scenario.elastic.manager.is_some() {
        params.push(("plm", if scenario.steps { "slurm" } else { "ssh" }.to_owned()));
    }
    let backfill_s = match scenario.mutation {
        Some(Mutation::LongBackfill) => 1_000_000,
        Some(Mutation::NoBackfill) => 0,
        _ => scenario.backfill_s,
    };
    params.push(("ferrite_backfill", backfill_s.to_string()));
    if let Some(units) = scenario.units {
        let units = match scenario.mutation {
            Some(Mutation::MoreUnits) if !scenario.shared_units => units + 1,
            Some(Mutation::FewerUnits) if !scenario.shared_units => units - 1,
            Some(Mutation::MoreSharedUnits) if scenario.shared_units => units + 1,
            Some(Mutation::FewerSharedUnits) if scenario.shared_units => units - 1,
            _ => units,
        };
        let all = if scenario.shared_units { "dvm:" } else { "" };
        params.push(("ferrite_resources", format!("{all}{UNIT}={units}")));
    }
    if elastic.policy_pause_s > 0 && scenario.mutation != Some(Mutation::IdlePolicy) {
        params.push(("ferrite_elastic_policy", "fill".to_owned()));
        params.push(("ferrite_elastic_pause", elastic.policy_pause_s.to_string()));
    }
    if let Some(bytes) = scenario.second_tree_bytes {
        params.push(("ferrite_second_tree_bytes", bytes.to_string()));
    }
    if elastic.mode {
        params.push(("prte_elastic_mode", "1".to_owned()));
    }
    HeadConfig {
        dvm: "prterun-n0-1".to_owned(),
        params: params.into_iter().map(|(k, v)| (k.to_owned(), v)).collect(),
        allocation,
        topology: None,
        prted: "/opt/ferrite/bin/prted".to_owned(),
        cwd: "/home/user".to_owned(),
        session_dir: "/tmp/prte.1".to_owned(),
        persistent: scenario.persistent,
        served: None,
        on_terminal: false,
        env: Vec::new(),
    }
}
