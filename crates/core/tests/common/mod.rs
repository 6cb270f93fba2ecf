//! A DVM in one test: real `Node`s, links that are queues, processes that are entries in a map. No time passes
//! unless a test fires a timer.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

pub mod elastic;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use ferrite_core::{
    AbortScope, BatchEffect, DaemonInput, Effect, Effects, HeadConfig, HeadInput, Input, Lane, LaneEffect, LaneInput,
    LinkInput, LocalNode, LogId, Node, PmixCall, PmixEffect, PmixToken, Recall, Recalled, RelayEffect, RequestId, Sink,
    StageEffect, Timer,
};
use ferrite_rm::{Allocation, GiveBack, NodeAsk, Share};
use ferrite_types::*;
use ferrite_wire::control::{EndedJobs, JobDetail, Reply, Request, Submission};
use ferrite_wire::{Contact, LogRecord, Members, Message, Resize, Stream, Ticket};

/// See the module.
pub struct Cluster {
    pub nodes: BTreeMap<DaemonRank, Node>,
    queue: VecDeque<(DaemonRank, Input)>,
    links: BTreeSet<(DaemonRank, DaemonRank)>,
    /// Processes that run: where, and how they were asked for.
    pub running: BTreeMap<ProcId, (DaemonRank, ferrite_core::SpawnRequest)>,
    /// Kinds of messages that each daemon received.
    pub received: BTreeMap<DaemonRank, Vec<&'static str>>,
    pub notices: Vec<String>,
    /// Lines about the bring-up.
    pub progress: Vec<String>,
    pub pictures: Vec<(RequestId, PictureFormat, String)>,
    pub written: BTreeMap<Sink, Vec<u8>>,
    /// Output files, by path.
    pub files: BTreeMap<String, Vec<u8>>,
    pub replies: Vec<(RequestId, Reply)>,
    /// Jobs that submissions became.
    pub accepted: BTreeMap<RequestId, JobId>,
    /// Answers whether the jobs of submissions run, in the order in which it was said.
    pub started: Vec<(RequestId, Result<(), PmixStatus>)>,
    pub closed_files: Vec<String>,
    /// Pieces of files that were asked for, and steps by which files were put in their places.
    pub file_reads: Vec<(DaemonRank, Effect)>,
    pub staged: Vec<(DaemonRank, JobId, StageEffect)>,
    pub exits: BTreeMap<DaemonRank, u8>,
    pub transitions: Vec<String>,
    pub pmix: Vec<(DaemonRank, PmixEffect)>,
    pub timers: BTreeSet<(DaemonRank, Timer)>,
    pub stdin_reads: usize,
    pub stdin_given: BTreeMap<ProcId, Vec<u8>>,
    pub stdin_closed: BTreeSet<ProcId>,
    /// Daemons on these nodes fail to start, with this text of the launcher.
    pub bad_nodes: BTreeMap<String, String>,
    /// On these nodes the launcher succeeds and no daemon ever comes.
    pub silent_nodes: BTreeSet<String>,
    /// Tickets of daemons that have not come there.
    pub late: BTreeMap<DaemonRank, Ticket>,
    /// The commands that started daemons.
    pub launched: Vec<Vec<String>>,
    /// Daemons whose launchers were given up.
    pub abandoned: BTreeSet<DaemonRank>,
    /// Nodes that were offered back, in order.
    pub offered: Vec<String>,
    /// The shares that went back to the manager with them.
    pub given_back: Vec<GiveBack>,
    /// True while nobody answers an offer.
    pub is_manager_slow: bool,
    /// Answers to offers that are still to come.
    late_answers: Vec<Input>,
    /// Nodes that the manager does not take back alone.
    pub unwanted_by_manager: BTreeSet<String>,
    /// Requests to the manager, and those that were withdrawn.
    pub asked_for: Vec<(ExtensionId, NodeAsk)>,
    /// Jobs of the manager whose ends were asked for.
    pub asked_for_end: Vec<String>,
    pub withdrawn: Vec<ExtensionId>,
    /// Jobs of the manager that were given back whole, apart from any campaign.
    pub ended_jobs: Vec<String>,
    /// Ends of requests that were answered at their beginning.
    pub resized: Vec<(RequestId, ferrite_wire::Resize)>,
    /// Jobs that the history's files have: number, file, and the job. Files that are too old are removed.
    pub kept: Vec<(u64, u64, JobDetail)>,
    /// The effects that concern processes and files of batches.
    pub batches: Vec<BatchEffect>,
    /// Warnings for requests whose sessions are about to end.
    pub warned: Vec<(RequestId, ferrite_wire::TimeWarning)>,
    /// Texts for the logs of nodes.
    pub logs: Vec<(DaemonRank, LogId, LogRecord)>,
    /// Effects of daemons and head about clients on other nodes.
    pub relayed: Vec<(DaemonRank, RelayEffect)>,
    /// True when the test itself says that the library has read what processes sent before their ends.
    pub is_library_slow: bool,
    /// Programs that cannot be started.
    pub missing: BTreeSet<String>,
    /// Ranks of any job that cannot be started, whatever their program.
    pub unlucky: BTreeSet<Rank>,
    /// States that processes have entered, as their daemons tell.
    pub proc_states: BTreeSet<ProcState>,
    pub signals: Vec<(ProcId, ferrite_types::Signal)>,
    /// When false, output credits and stdin acknowledgements are withheld.
    pub flowing: bool,
    pub withheld: Vec<(DaemonRank, Input)>,
    /// Something waits to be read wherever a daemon looks.
    pub pipes_are_full: bool,
    /// Processes that are killed leave something in their pipes.
    pub pipes_stay_open: bool,
    /// Daemons that take the stacks of processes of a job, in the order of their beginning.
    pub stacks: Vec<(DaemonRank, JobId, Vec<ProcId>)>,
    /// When they give up.
    pub stack_limits: Vec<Timestamp>,
    /// Messages for submitters about processes that wait for a debugger.
    pub ready_for_debug: Vec<String>,
    /// Streams that daemons have asked for a piece of, in order.
    pub reads: Vec<(ProcId, Stream)>,
    /// Processes that pause in the middle of a line do so for want of a processor.
    pub writers_run: bool,
    /// Daemons that answer no call for a lane, and daemons that take nothing from their lanes.
    pub unreachable_by_lanes: BTreeSet<DaemonRank>,
    pub deaf_to_lanes: BTreeSet<DaemonRank>,
    /// Lanes that are up, as each end sees them.
    pub lanes: BTreeSet<(DaemonRank, Lane)>,
    /// Frames from the first to the second are lost.
    lossy: Option<(DaemonRank, DaemonRank)>,
    /// Moves when a timer is fired.
    now: Timestamp,
}

/// A daemon that stands still, and the daemons with which it was linked.
pub struct Frozen {
    rank: DaemonRank,
    node: Node,
    links: Vec<DaemonRank>,
}

pub fn local(name: &str) -> LocalNode {
    LocalNode {
        hostname: name.to_owned(),
        topology: Topology::uniform(1, 4, 1),
        contact: Contact::default(),
        pid: 1,
        local_time_at_zero_s: 0,
    }
}

pub fn app(program: &str, np: u32) -> AppContext {
    AppContext { argv: vec![program.to_owned()], np: Some(np), submit_dir: "/".to_owned(), ..AppContext::default() }
}

pub fn job(program: &str, np: u32) -> JobSpec {
    let mut spec = JobSpec::new(vec![app(program, np)]);
    spec.map.by = Some(MapBy::Node);
    spec.map.bind_to = Some(BindTo::None);
    spec
}

pub fn proc(rank: u32) -> ProcId {
    ProcId { job: JobId(1), rank: Rank(rank) }
}

/// A DVM in elastic mode that is up and outlives its jobs.
pub fn elastic_dvm(nodes: u32) -> Cluster {
    dvm_with(nodes, &[("prte_elastic_mode", "1")])
}

/// A DVM with these parameters that is up and outlives its jobs.
pub fn dvm_with(nodes: u32, params: &[(&str, &str)]) -> Cluster {
    let mut dvm = Cluster::build(nodes, params, true);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    dvm
}

/// The answer to a request for another size.
pub fn resize(dvm: &Cluster, id: u64) -> &Resize {
    match dvm.reply(id) {
        Reply::Resize(resize) => resize,
        other => panic!("no answer to a request for another size: {other:?}"),
    }
}

impl Cluster {
    /// A head on `n0` and daemons for `n1` ... as one allocation of `count` nodes.
    pub fn new(count: u32, params: &[(&str, &str)]) -> Cluster {
        Cluster::build(count, params, false)
    }

    /// A DVM that stays up: it is ready when this returns.
    pub fn persistent(count: u32) -> Cluster {
        let mut cluster = Cluster::build(count, &[], true);
        cluster.input(DaemonRank::HEAD, Input::Start);
        cluster.run();
        cluster
    }

    pub fn build(count: u32, params: &[(&str, &str)], persistent: bool) -> Cluster {
        Cluster::of(Cluster::config(count, params, persistent))
    }

    pub fn config(count: u32, params: &[(&str, &str)], persistent: bool) -> HeadConfig {
        let nodes = (0..count).map(|i| HostEntry::named(&format!("n{i}"))).collect();
        HeadConfig {
            dvm: "prterun-n0-1".to_owned(),
            params: params.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            allocation: Allocation::of(nodes, Some(0)),
            topology: None,
            prted: "prted".to_owned(),
            cwd: "/".to_owned(),
            session_dir: "/tmp/prte.1".to_owned(),
            on_terminal: false,
            env: Vec::new(),
            persistent,
            served: None,
        }
    }

    /// The configuration of an elastic DVM on all nodes of Slurm job 7, two slots each.
    pub fn config_in_slurm(count: u32) -> HeadConfig {
        let mut config = Cluster::config(count, &[("rml_base_radix", "2"), ("prte_elastic_mode", "1")], true);
        config.allocation.source =
            ferrite_rm::Source::Managed { manager: ferrite_rm::Manager::Slurm, job: "7".to_owned() };
        for host in &mut config.allocation.nodes {
            (host.rm_job, host.slots) = (Some("7".to_owned()), SlotCount::Given(2));
        }
        config
    }

    pub fn of(config: HeadConfig) -> Cluster {
        let mut nodes = BTreeMap::new();
        nodes.insert(DaemonRank::HEAD, Node::head(config, local("n0")));
        Cluster {
            nodes,
            queue: VecDeque::new(),
            links: BTreeSet::new(),
            running: BTreeMap::new(),
            received: BTreeMap::new(),
            notices: Vec::new(),
            progress: Vec::new(),
            pictures: Vec::new(),
            written: BTreeMap::new(),
            files: BTreeMap::new(),
            replies: Vec::new(),
            accepted: BTreeMap::new(),
            started: Vec::new(),
            closed_files: Vec::new(),
            file_reads: Vec::new(),
            staged: Vec::new(),
            exits: BTreeMap::new(),
            transitions: Vec::new(),
            pmix: Vec::new(),
            timers: BTreeSet::new(),
            stdin_reads: 0,
            stdin_given: BTreeMap::new(),
            stdin_closed: BTreeSet::new(),
            bad_nodes: BTreeMap::new(),
            silent_nodes: BTreeSet::new(),
            late: BTreeMap::new(),
            launched: Vec::new(),
            abandoned: BTreeSet::new(),
            offered: Vec::new(),
            given_back: Vec::new(),
            is_manager_slow: false,
            late_answers: Vec::new(),
            unwanted_by_manager: BTreeSet::new(),
            asked_for: Vec::new(),
            asked_for_end: Vec::new(),
            withdrawn: Vec::new(),
            ended_jobs: Vec::new(),
            resized: Vec::new(),
            kept: Vec::new(),
            batches: Vec::new(),
            warned: Vec::new(),
            logs: Vec::new(),
            relayed: Vec::new(),
            is_library_slow: false,
            missing: BTreeSet::new(),
            unlucky: BTreeSet::new(),
            proc_states: BTreeSet::new(),
            signals: Vec::new(),
            flowing: true,
            withheld: Vec::new(),
            pipes_are_full: false,
            pipes_stay_open: false,
            reads: Vec::new(),
            stacks: Vec::new(),
            stack_limits: Vec::new(),
            ready_for_debug: Vec::new(),
            writers_run: false,
            unreachable_by_lanes: BTreeSet::new(),
            deaf_to_lanes: BTreeSet::new(),
            lanes: BTreeSet::new(),
            lossy: None,
            now: Timestamp(1),
        }
    }

    /// A DVM that is starting, with a job submitted.
    pub fn with_job(count: u32, params: &[(&str, &str)], spec: JobSpec) -> Cluster {
        let mut cluster = Cluster::new(count, params);
        cluster.start(spec);
        cluster
    }

    pub fn start(&mut self, spec: JobSpec) {
        let request = Request::Submit(Box::new(Submission::of(spec)));
        self.input(DaemonRank::HEAD, Input::Head(HeadInput::Request { id: RequestId::OWN, request }));
        self.input(DaemonRank::HEAD, Input::Start);
        self.run();
    }

    /// A client asks; what it hears is in `replies`.
    pub fn ask(&mut self, id: u64, request: Request) {
        self.input(DaemonRank::HEAD, Input::Head(HeadInput::Request { id: RequestId(id), request }));
        self.run();
    }

    pub fn submit(&mut self, id: u64, submission: Submission) {
        self.ask(id, Request::Submit(Box::new(submission)));
    }

    /// The one reply to a request.
    pub fn reply(&self, id: u64) -> &Reply {
        let mut own = self.replies.iter().filter(|(request, _)| *request == RequestId(id));
        let (_, reply) = own.next().expect("a reply");
        assert!(own.next().is_none(), "exactly one reply");
        reply
    }

    /// The exit code that the submitter of this request sees.
    pub fn code_of(&self, id: u64) -> u8 {
        match self.reply(id) {
            Reply::Done(done) => done.exit_code,
            other => panic!("not over: {other:?}"),
        }
    }

    pub fn input(&mut self, at: DaemonRank, input: Input) {
        self.queue.push_back((at, input));
    }

    pub fn run(&mut self) {
        while let Some((at, input)) = self.queue.pop_front() {
            let Some(node) = self.nodes.get_mut(&at) else { continue };
            if let Input::Link(LinkInput::Frame { frame, .. }) = &input {
                let kind = Message::decode(&frame.payload).map_or("ack", |m| m.kind());
                self.received.entry(at).or_default().push(kind);
            }
            let mut fx = Effects::new();
            node.handle(self.now, input, &mut fx);
            for effect in fx.drain().collect::<Vec<_>>() {
                self.execute(at, effect);
            }
        }
    }

    /// A daemon comes that was on its way for too long.
    pub fn come(&mut self, rank: u32) {
        let rank = DaemonRank(rank);
        let ticket = self.late.remove(&rank).expect("it is on its way");
        let name = ticket.node.clone();
        self.nodes.insert(rank, Node::daemon(ticket, local(&name)));
        self.input(rank, Input::Start);
        self.run();
    }

    /// The answers to offers come.
    pub fn answer_offers(&mut self) {
        self.is_manager_slow = false;
        for answer in std::mem::take(&mut self.late_answers) {
            self.input(DaemonRank::HEAD, answer);
        }
        self.run();
    }

    pub fn fire(&mut self, at: u32, timer: Timer) {
        assert!(self.timers.remove(&(DaemonRank(at), timer)), "{timer:?} is not set at {at}");
        // Longer than anybody waits for an answer, shorter than anybody gives up.
        self.now = self.now + Duration::from_millis(2_000);
        self.input(DaemonRank(at), Input::Timer(timer));
        self.run();
    }

    /// Lets this time pass, in which nothing happens.
    pub fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
    }

    pub fn exit_proc(&mut self, rank: u32, status: ExitStatus) {
        self.exit(proc(rank), status);
    }

    /// A process of any job ends.
    pub fn exit(&mut self, proc: ProcId, status: ExitStatus) {
        let (at, _) = self.running.remove(&proc).expect("it runs");
        for stream in [Stream::Stdout, Stream::Stderr] {
            self.input(at, Input::Daemon(DaemonInput::OutputClosed { proc, stream }));
        }
        self.input(at, Input::Daemon(DaemonInput::Exited { proc, status }));
        self.run();
    }

    pub fn exit_all(&mut self) {
        for id in self.running.keys().copied().collect::<Vec<_>>() {
            self.exit(id, ExitStatus::Exited(0));
        }
    }

    pub fn exit_job(&mut self, job: u32) {
        for id in self.running.keys().copied().filter(|id| id.job == JobId(job)).collect::<Vec<_>>() {
            self.exit(id, ExitStatus::Exited(0));
        }
    }

    pub fn crash(&mut self, rank: u32) {
        self.crash_all(&[rank]);
    }

    /// Several die before anybody can react.
    pub fn crash_all(&mut self, ranks: &[u32]) {
        for rank in ranks {
            self.exits.insert(DaemonRank(*rank), 137);
            self.remove(DaemonRank(*rank), "connection reset");
        }
        self.run();
    }

    /// A link breaks; both ends learn it.
    pub fn cut(&mut self, a: u32, b: u32) {
        let (a, b) = (DaemonRank(a), DaemonRank(b));
        assert!(self.links.remove(&(a.min(b), a.max(b))), "there is no such link");
        for (at, peer) in [(a, b), (b, a)] {
            self.input(at, Input::Link(LinkInput::LinkLost { peer, cause: "connection timed out".to_owned() }));
        }
        self.run();
    }

    /// From now on what one daemon sends to another is lost, until [`Cluster::keep_nothing_back`].
    pub fn losing(&mut self, from: u32, to: u32) {
        self.lossy = Some((DaemonRank(from), DaemonRank(to)));
    }

    pub fn keep_nothing_back(&mut self) {
        self.lossy = None;
    }

    /// A daemon stands still, so long that everybody gives it up.
    pub fn freeze(&mut self, rank: u32) -> Frozen {
        let rank = DaemonRank(rank);
        let node = self.nodes.remove(&rank).expect("it lives");
        let ends: Vec<_> = self.links.iter().copied().filter(|(a, b)| *a == rank || *b == rank).collect();
        let peers: Vec<DaemonRank> = ends.iter().map(|(a, b)| if *a == rank { *b } else { *a }).collect();
        ends.iter().for_each(|link| assert!(self.links.remove(link)));
        for peer in &peers {
            self.input(*peer, Input::Link(LinkInput::LinkLost { peer: rank, cause: "no sign of life".to_owned() }));
        }
        self.run();
        Frozen { rank, node, links: peers }
    }

    /// A daemon stands still, and nobody has noticed yet.
    pub fn freeze_quietly(&mut self, rank: u32) -> Frozen {
        let rank = DaemonRank(rank);
        let node = self.nodes.remove(&rank).expect("it lives");
        Frozen { rank, node, links: Vec::new() }
    }

    /// A daemon that stood still is killed.
    pub fn kill(&mut self, frozen: Frozen) {
        self.exits.insert(frozen.rank, 137);
        self.remove(frozen.rank, "connection reset");
        self.run();
    }

    pub fn thaw(&mut self, frozen: Frozen) {
        let Frozen { rank, node, links } = frozen;
        self.nodes.insert(rank, node);
        for peer in links {
            self.input(rank, Input::Link(LinkInput::LinkLost { peer, cause: "closed".to_owned() }));
        }
        self.run();
    }

    pub fn links(&self) -> impl Iterator<Item = (DaemonRank, DaemonRank)> + '_ {
        self.links.iter().copied()
    }

    pub fn output(&mut self, rank: u32, text: &str) {
        let (at, _) = self.running[&proc(rank)].clone();
        let data = Bytes::copy_from_slice(text.as_bytes());
        self.input(at, Input::Daemon(DaemonInput::Output { proc: proc(rank), stream: Stream::Stdout, data }));
        self.run();
    }

    pub fn fence(&mut self, at: u32, token: u64, data: &'static [u8]) {
        self.fence_of(at, &[], token, data);
    }

    /// A fence of these ranks only.
    pub fn fence_of(&mut self, at: u32, ranks: &[u32], token: u64, data: &'static [u8]) {
        let ranks = ranks.iter().map(|rank| Rank(*rank)).collect();
        let members = Members::of(JobId(1), ranks);
        let call = PmixCall::Fence { members, data: Bytes::from_static(data), token: PmixToken(token) };
        self.input(DaemonRank(at), Input::Daemon(DaemonInput::Pmix(call)));
        self.run();
    }

    /// A process calls abort; the reply is to token 9.
    pub fn abort(&mut self, rank: u32, code: i32, scope: AbortScope) {
        let at = self.running[&proc(rank)].0;
        let message = "enough".to_owned();
        let call = PmixCall::Abort { proc: proc(rank), code, message, scope, token: PmixToken(9) };
        self.input(at, Input::Daemon(DaemonInput::Pmix(call)));
        self.run();
    }

    pub fn stdout(&self) -> String {
        self.stdout_of(RequestId::OWN.0)
    }

    pub fn stdout_of(&self, id: u64) -> String {
        let sink = Sink { to: RequestId(id), stream: Stream::Stdout };
        String::from_utf8_lossy(self.written.get(&sink).map_or(&[], Vec::as_slice)).into_owned()
    }

    /// The job's exit code, as the client hears it; asserts that it hears it once.
    pub fn exit_code(&self) -> u8 {
        assert_eq!(self.replies.len(), 1, "exactly one reply");
        self.code_of(RequestId::OWN.0)
    }

    /// Everything is over and nothing is left.
    pub fn assert_gone(&self) {
        assert!(self.nodes.is_empty(), "daemons are left: {:?}", self.nodes.keys());
        assert!(self.running.is_empty(), "processes are left");
        assert!(self.links.is_empty(), "links are left");
    }

    fn remove(&mut self, rank: DaemonRank, cause: &str) {
        self.nodes.remove(&rank);
        self.running.retain(|_, (at, _)| *at != rank);
        let links: Vec<_> = self.links.iter().copied().filter(|(a, b)| *a == rank || *b == rank).collect();
        for (a, b) in links {
            self.links.remove(&(a, b));
            let other = if a == rank { b } else { a };
            self.input(other, Input::Link(LinkInput::LinkLost { peer: rank, cause: cause.to_owned() }));
        }
    }

    fn link(&mut self, a: DaemonRank, b: DaemonRank) {
        self.links.insert((a.min(b), a.max(b)));
        self.input(a, Input::Link(LinkInput::LinkUp { peer: b }));
        self.input(b, Input::Link(LinkInput::LinkUp { peer: a }));
    }

    /// A daemon is started, by a command that is known by the rank `launcher`.
    fn launch(&mut self, at: DaemonRank, launcher: DaemonRank, stays: bool, ticket: Ticket) {
        let (rank, name) = (ticket.rank, ticket.node.clone());
        let ended = |status, message| Input::LauncherEnded { rank: launcher, status: Some(status), message };
        if self.silent_nodes.contains(&name) {
            self.late.insert(rank, ticket);
            if !stays {
                self.input(at, ended(ExitStatus::Exited(0), String::new()));
            }
        } else if let Some(text) = self.bad_nodes.get(&name) {
            let message = text.clone();
            self.input(at, ended(ExitStatus::Exited(255), message));
        } else {
            self.nodes.insert(rank, Node::daemon(ticket, local(&name)));
            self.input(rank, Input::Start);
        }
    }

    /// Looks into the history as the driver does; a page has 700 jobs.
    fn recall(&self, what: Recall) -> Recalled {
        match what {
            Recall::Job(id) => {
                let found = self.kept.iter().rev().find(|(.., job)| job.status.job == id);
                Recalled::Job(id, found.map(|(.., job)| Box::new(job.clone())))
            }
            Recall::From(from) => {
                let later: Vec<_> = self.kept.iter().filter(|(number, ..)| *number >= from).collect();
                let jobs = later.iter().take(700).map(|(.., job)| job.status.clone()).collect();
                Recalled::Page(EndedJobs { jobs, next: later.get(700).map(|(number, ..)| *number) })
            }
        }
    }

    fn acknowledge(&mut self, at: DaemonRank, input: Input) {
        if self.flowing { self.input(at, input) } else { self.withheld.push((at, input)) }
    }

    fn lane(&mut self, at: DaemonRank, effect: LaneEffect) {
        let other_end = |lane: Lane| (lane.peer, Lane { peer: at, spread: lane.spread });
        match effect {
            LaneEffect::Open { lane, .. } if self.unreachable_by_lanes.contains(&lane.peer) => {
                self.input(at, Input::Lane(LaneInput::Lost { lane, cause: "no answer".to_owned() }));
            }
            LaneEffect::Open { lane, .. } => {
                self.lanes.extend([(at, lane), other_end(lane)]);
                self.input(at, Input::Lane(LaneInput::Up(lane)));
            }
            LaneEffect::Say { lane, .. } if self.deaf_to_lanes.contains(&lane.peer) => {}
            LaneEffect::Say { lane, message } => {
                let (to, lane) = other_end(lane);
                self.input(to, Input::Lane(LaneInput::Heard { lane, message }));
            }
            LaneEffect::Close(lane) => {
                let (to, there) = other_end(lane);
                self.lanes.remove(&(at, lane));
                if self.lanes.remove(&(to, there)) {
                    self.input(to, Input::Lane(LaneInput::Lost { lane: there, cause: "closed".to_owned() }));
                }
            }
        }
    }

    fn execute(&mut self, at: DaemonRank, effect: Effect) {
        match effect {
            Effect::Lane(effect) => self.lane(at, effect),
            Effect::Transmit { peer, .. } if self.lossy == Some((at, peer)) => {}
            Effect::Transmit { peer, frame } => self.input(peer, Input::Link(LinkInput::Frame { from: at, frame })),
            Effect::Connect { peer, .. } if self.nodes.contains_key(&peer) => self.link(at, peer),
            Effect::Connect { peer, .. } => {
                self.input(
                    at,
                    Input::Link(LinkInput::ConnectFailed { peer, cause: "refused".to_owned(), refused: true }),
                );
            }
            Effect::CloseLink { peer } => {
                self.links.remove(&(at.min(peer), at.max(peer)));
                self.input(peer, Input::Link(LinkInput::LinkLost { peer: at, cause: "closed".to_owned() }));
            }
            Effect::LaunchDaemon { rank: launcher, command, ticket } => {
                let stays = command.manners.stays();
                self.launched.push(command.argv);
                let names: Vec<String> = ticket.group.iter().map(|(_, name)| name.clone()).collect();
                let names = if names.is_empty() { vec![ticket.node.clone()] } else { names };
                for name in names {
                    let ticket = ticket.member(|node| node == name).expect("a name of the ticket");
                    self.launch(at, launcher, stays, ticket);
                }
            }
            Effect::SetTimer { timer, .. } => {
                self.timers.insert((at, timer));
            }
            Effect::CancelTimer(timer) => {
                self.timers.remove(&(at, timer));
            }
            Effect::Spawn { proc, request }
                if self.missing.contains(&request.argv[0]) || self.unlucky.contains(&proc.rank) =>
            {
                let error = ferrite_wire::StartError {
                    kind: ferrite_wire::StartErrorKind::Executable,
                    detail: "not found".to_owned(),
                };
                self.input(at, Input::Daemon(DaemonInput::SpawnFailed { proc, error }));
            }
            Effect::Spawn { proc, request } => {
                self.running.insert(proc, (at, *request));
                self.input(at, Input::Daemon(DaemonInput::Spawned { proc, pid: 1000 + proc.rank.0 }));
            }
            Effect::Signal { proc, signal } => {
                self.signals.push((proc, signal));
                if matches!(signal, Signal::KILL | Signal::TERM) && self.running.remove(&proc).is_some() {
                    let closed: &[Stream] = if self.pipes_stay_open { &[] } else { &[Stream::Stdout, Stream::Stderr] };
                    for stream in closed.iter().copied() {
                        self.input(at, Input::Daemon(DaemonInput::OutputClosed { proc, stream }));
                    }
                    self.input(at, Input::Daemon(DaemonInput::Exited { proc, status: ExitStatus::Signaled(signal) }));
                }
            }
            Effect::WriteStdin { proc, data } => {
                self.stdin_given.entry(proc).or_default().extend_from_slice(&data);
                self.acknowledge(at, Input::Daemon(DaemonInput::StdinTaken { proc, bytes: data.len() as u64 }));
            }
            Effect::ReadOutput { proc, stream, .. } => self.reads.push((proc, stream)),
            Effect::TakeStacks { job, procs, until, .. } => {
                self.stacks.push((at, job, procs));
                self.stack_limits.push(until);
            }
            Effect::ReadyForDebug { text, .. } => self.ready_for_debug.push(text),
            Effect::CheckOutput { .. } if self.pipes_are_full => {}
            Effect::CheckOutput { proc, stream } => {
                self.input(at, Input::Daemon(DaemonInput::OutputIdle { proc, stream, writer_runs: self.writers_run }));
            }
            Effect::CloseStdin { proc } => {
                self.stdin_closed.insert(proc);
            }
            Effect::ReadStdin { .. } => self.stdin_reads += 1,
            Effect::WriteOutput { sink, data, account, .. } => {
                self.written.entry(sink).or_default().extend_from_slice(&data);
                if let Some(account) = account {
                    self.acknowledge(at, Input::Head(HeadInput::OutputWritten(account)));
                }
            }
            Effect::Pmix(PmixEffect::HearOut(proc)) if !self.is_library_slow => {
                self.input(at, Input::Daemon(DaemonInput::Pmix(PmixCall::HeardOut(proc))));
            }
            Effect::Pmix(effect) => self.pmix.push((at, effect)),
            Effect::Notice { text, .. } => self.notices.push(text),
            Effect::Progress(line) => self.progress.push(line),
            Effect::Picture { to, format, text } => self.pictures.push((to, format, text)),
            Effect::WriteFile { path, data, .. } => {
                self.files.entry(path).or_default().extend_from_slice(&data);
            }
            Effect::CloseFile(file) => self.closed_files.push(file),
            Effect::Accepted { request, job } => {
                self.accepted.insert(request, job);
            }
            Effect::Launched { request, result } => self.started.push((request, result)),
            Effect::Trace(ferrite_core::Transition::Job { job, to, .. }) => {
                self.transitions.push(format!("{job} {to}"))
            }
            Effect::Reply { request, reply } => self.replies.push((request, reply)),
            Effect::Exit { code } => {
                self.exits.insert(at, code);
                self.remove(at, "closed by the peer");
            }
            Effect::AbandonLaunch { rank } => {
                self.abandoned.insert(rank);
            }
            Effect::OfferRelease { campaign, nodes, back } => {
                self.offered.extend(nodes);
                let part = |back: &GiveBack| match &back.share {
                    Share::Whole => Vec::new(),
                    Share::Part { leave, .. } => leave.clone(),
                };
                let kept: Vec<String> =
                    back.iter().flat_map(part).filter(|name| self.unwanted_by_manager.contains(name)).collect();
                self.given_back.extend(back);
                let error = (!kept.is_empty()).then(|| format!("{} cannot go back", kept.join(", ")));
                let answer = Input::Head(HeadInput::ReleaseOffered { campaign, kept, error });
                match self.is_manager_slow {
                    true => self.late_answers.push(answer),
                    false => self.input(at, answer),
                }
            }
            Effect::AskForEnd { job } => self.asked_for_end.push(job),
            Effect::RequestNodes { extension, ask } => self.asked_for.push((extension, *ask)),
            Effect::WithdrawRequest { extension } => self.withdrawn.push(extension),
            Effect::Batch(effect) => self.batches.push(effect),
            Effect::Keep { number, file, oldest, job } => {
                self.kept.retain(|(_, file, _)| *file >= oldest);
                self.kept.push((number, file, *job));
            }
            Effect::Recall { request, what } => {
                let found = self.recall(what);
                self.input(at, Input::Head(HeadInput::Recalled { request, found }));
            }
            Effect::EndAllocation { job } => {
                self.ended_jobs.push(job.clone());
                self.input(at, Input::Head(HeadInput::AllocationEnded { job, error: None }));
            }
            Effect::Resized { request, resize } => self.resized.push((request, *resize)),
            Effect::TimeWarning { request, warning } => self.warned.push((request, *warning)),
            Effect::Trace(ferrite_core::Transition::Campaign { campaign, kind, step }) => {
                self.transitions.push(format!("{kind} {campaign} {step}"));
            }
            Effect::Trace(ferrite_core::Transition::Size { root, is_offer, procs, step }) => {
                let sign = if is_offer { '+' } else { '-' };
                self.transitions.push(format!("size of {root}: {sign}{procs} {}", step.name()));
            }
            Effect::Relay(effect) => self.relayed.push((at, effect)),
            Effect::Log { id, record } => self.logs.push((at, id, *record)),
            Effect::Trace(ferrite_core::Transition::Proc { to, .. }) => {
                self.proc_states.insert(to);
            }
            Effect::ReadFile { .. } | Effect::ReadLocalFile { .. } => self.file_reads.push((at, effect)),
            Effect::Stage { job, step } => self.staged.push((at, job, step)),
            Effect::Ready | Effect::Detach | Effect::CleanJob(_) => {}
        }
    }
}
