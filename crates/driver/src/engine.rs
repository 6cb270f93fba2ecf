//! The main loop: takes inputs out of the inbox, hands them to the machine and carries out its effects. One thread;
//! anything that would block is a task that reports through the inbox.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use ferrite_core::{
    Account, BatchInput, DaemonInput, Effect, Effects, HeadInput, Input, LaneEffect, LocalNode, Node, RelayEffect,
    RequestId, Sink, Transition,
};
use ferrite_rm::LaunchCommand;
use ferrite_types::{DaemonRank, JobId, PictureFormat, Rank, Signal, Timestamp};
use ferrite_wire::control::{CONTROL_VERSION, Reply, Request, Submission};
use ferrite_wire::{DvmContact, FrameKind, Served, Ticket};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, LocalSet};

use crate::batches::Batches;
use crate::children::Processes;
use crate::control::relay::{Relays, SocketOwner};
use crate::control::service::Opened;
use crate::control::{self, Control, Published};
use crate::detach::Detach;
use crate::extension::Extensions;
use crate::guard::{self, Keeper};
use crate::history::History;
use crate::launcher::Launcher;
use crate::link::{Identity, Links};
use crate::logs::Logs;
use crate::output::OutputSinks;
use crate::output_files::OutputFiles;
use crate::pmix::PmixBridge;
use crate::release::{Offer, Turn};
use crate::secret::Secret;
use crate::session_dir::SessionDir;
use crate::spawn::MemoryPolicy;
use crate::stage::{FileReader, Question, Stages};
use crate::stdio::OwnStdin;
use crate::timers::Timers;
use crate::timing::Timing;
use crate::{Inbox, KeepPicture, Serve, local_time, notice, params, pmix, release, signals, topology};

/// Number of inputs that are handled before tasks run again: few enough to keep links flowing.
const BATCH: usize = 128;
/// Time at the end for neighbours to take the frames that were sent.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);
/// From this value of `state_base_verbose` on, each step of a state machine is shown.
const VERBOSE_STEPS: u64 = 5;
/// From this value on, each step of jobs and campaigns is shown.
const VERBOSE_JOBS: u64 = 1;

/// The parts that the engine is made from.
pub(crate) struct Setup {
    pub(crate) dvm: String,
    pub(crate) rank: DaemonRank,
    pub(crate) key: Rc<Secret>,
    pub(crate) hostname: String,
    pub(crate) params: Vec<(String, String)>,
    pub(crate) session_dir: SessionDir,
    /// The session directory for PMIx tools; it may be the same.
    pub(crate) tools: SessionDir,
    /// Start time of this process.
    pub(crate) began: Instant,
    /// Holds the descriptors that stay open until the guard is gone.
    pub(crate) keeper: Keeper,
    pub(crate) role: Role,
}

/// The data that only a head or only a daemon needs.
pub(crate) enum Role {
    Head {
        /// Numbers of the signals that are passed on to jobs.
        forward: Vec<Signal>,
        /// The job of this process itself, for `prterun`.
        submit: Option<Box<Submission>>,
        /// Options of a DVM that serves clients.
        serve: Option<Box<Serving>>,
        /// Receiver of the pictures of the submitted job's map.
        pictures: Option<Box<dyn KeepPicture>>,
    },
    Daemon(Option<Detach>),
}

/// Options for a head that clients can find and that detaches from its user.
pub(crate) struct Serving {
    pub(crate) serve: Serve,
    /// Process id that the user sees.
    pub(crate) pid: u32,
    /// Start time of that process (seconds since 1970).
    pub(crate) started_s: u64,
    /// The pipe to the waiting caller, with `--daemonize`.
    pub(crate) detach: Option<Detach>,
}

/// The reason why the engine could not start.
#[derive(Debug, Error)]
#[error("{what}: {cause}")]
pub(crate) struct StartError {
    what: &'static str,
    cause: io::Error,
}

fn failed<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> StartError {
    move |cause| StartError { what, cause: cause.into() }
}

/// Runs a machine to its end, and ends the process with its exit code. Returns only when this machine lacks something
/// that the start needs; an unfinished [`Detach`] comes back, so that the caller can report it there.
pub(crate) fn run(mut setup: Setup, make: impl FnOnce(LocalNode) -> Node) -> (StartError, Option<Detach>) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return (failed("no runtime")(error), setup.take_detach()),
    };
    LocalSet::new().block_on(&runtime, async {
        match Engine::new(&mut setup, make) {
            // The kernel takes memory, descriptors and threads back at once, faster than we could one after another;
            // and waiting for a blocking task (a read from a terminal) would hang.
            Ok(mut engine) => guard::exit_now(i32::from(engine.run().await)),
            Err(error) => (error, setup.take_detach()),
        }
    })
}

impl Setup {
    fn take_detach(&mut self) -> Option<Detach> {
        match &mut self.role {
            Role::Head { serve, .. } => serve.as_mut().and_then(|serving| serving.detach.take()),
            Role::Daemon(detach) => detach.take(),
        }
    }

    fn take_pictures(&mut self) -> Option<Box<dyn KeepPicture>> {
        match &mut self.role {
            Role::Head { pictures, .. } => pictures.take(),
            Role::Daemon(_) => None,
        }
    }
}

struct Engine {
    clock: Clock,
    node: Node,
    effects: Effects,
    /// Output files that could not be written. The machine hears of them before anything else: the ends of their
    /// processes may wait already.
    lost_files: VecDeque<Input>,
    inbox: Inbox,
    arrivals: Arrivals,
    timers: Timers,
    links: Links,
    keeper: Rc<Keeper>,
    launcher: Launcher,
    extensions: Extensions,
    releases: Turn,
    /// Command that is run with the names of nodes that have left.
    release_command: Option<String>,
    processes: Processes,
    sinks: OutputSinks,
    output_files: OutputFiles,
    history: History,
    logs: Logs,
    batches: Batches,
    stdin: OwnStdin,
    stages: Stages,
    files: FileReader,
    pmix: PmixBridge,
    /// The control socket, if clients can come.
    control: Option<Control>,
    /// Relayed clients; at a daemon, those of its own node.
    relays: Relays,
    /// Data for clients of this node, kept until the control socket is open.
    to_serve: Option<Box<Served>>,
    dvm: String,
    rank: DaemonRank,
    hostname: String,
    ready_message: bool,
    published: Published,
    session_dir: SessionDir,
    tools: SessionDir,
    detach: Option<Detach>,
    /// Task that waits for the end of the process that the launcher started.
    launcher_watch: Option<JoinHandle<()>>,
    /// Ends when that process, which may end by now, is gone.
    launcher_end: Option<Pin<Box<dyn Future<Output = ()>>>>,
    /// Parameter `state_base_verbose`.
    verbose: u64,
    timing: Option<Timing>,
    /// Receiver of the pictures of the map of this process's own job.
    pictures: Option<Box<dyn KeepPicture>>,
    /// True when a picture could not be kept.
    picture_lost: bool,
    exit: Option<u8>,
}

/// The inputs that wait for the machine.
struct Arrivals {
    questions: mpsc::UnboundedReceiver<Input>,
    others: mpsc::UnboundedReceiver<Input>,
    /// Without a sender a receiver would be ready all the time.
    _open: Inbox,
}

impl Arrivals {
    /// Returns the ways in as well: that of all inputs, and that of questions.
    fn new() -> (Arrivals, Inbox, Inbox) {
        let (inbox, others) = mpsc::unbounded_channel();
        let (asked, questions) = mpsc::unbounded_channel();
        (Arrivals { questions, others, _open: asked.clone() }, inbox, asked)
    }

    /// Waits for inputs. Questions come first (spec L129); neither kind can hold up the other for longer than a turn.
    async fn take(&mut self, batch: &mut Vec<Input>) {
        poll_fn(|cx| {
            let asked = self.questions.poll_recv_many(cx, batch, BATCH);
            let came = self.others.poll_recv_many(cx, batch, BATCH);
            if asked.is_ready() || came.is_ready() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// The machine's time: microseconds since the start of the process.
struct Clock(Instant);

impl Clock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.elapsed().as_micros() as u64)
    }
    fn instant(&self, at: Timestamp) -> tokio::time::Instant {
        (self.0 + Duration::from_micros(at.0)).into()
    }
}

impl Engine {
    fn new(setup: &mut Setup, make: impl FnOnce(LocalNode) -> Node) -> Result<Engine, StartError> {
        let (arrivals, inbox, questions) = Arrivals::new();
        let identity = Identity { dvm: setup.dvm.clone(), rank: setup.rank, key: Rc::clone(&setup.key) };
        let mut links =
            Links::new(identity, inbox.clone(), &setup.params).map_err(failed("cannot listen for other daemons"))?;
        if matches!(setup.role, Role::Daemon(_)) {
            links.open().map_err(failed("cannot listen for other daemons"))?;
        }
        let mut topology = topology::discover().map_err(failed("cannot read the topology"))?;
        topology::restrict(&mut topology, &setup.params).map_err(failed("parameter hwloc_default_cpu_list"))?;
        let memory = MemoryPolicy::of(params::value(&setup.params, "ferrite_mem_policy"), &topology);
        let processes = Processes::new(inbox.clone(), &setup.session_dir, memory, &setup.params);
        let processes = processes.map_err(failed("cannot look after processes"))?;
        let launcher_watch = setup.watch_signals(&inbox).map_err(failed("cannot watch signals"))?;
        let control = setup.serving().map(|serving| {
            let service = serving.serve.service.clone();
            let service = service.map(|service| Opened::new(service, &setup.dvm, setup.began));
            Control::new(inbox.clone(), questions.clone(), &setup.dvm, service)
        });
        let requests = control.as_ref().map(Control::requests);
        let host = pmix::Host {
            dvm: &setup.dvm,
            daemon: setup.rank,
            hostname: &setup.hostname,
            session_dir: &setup.session_dir,
            topology: &topology,
            keep_fqdn: params::is_on(&setup.params, "prte_keep_fqdn_hostnames"),
            runner: pmix::Runner::of(&setup.params),
            size_events: params::value(&setup.params, "prte_dvm_events"),
            caller: setup.serve().and_then(|serve| serve.caller.as_ref()),
        };
        let mut pmix = PmixBridge::new(inbox.clone(), host, requests, processes.holders());
        let node = make(LocalNode {
            hostname: setup.hostname.clone(),
            topology,
            contact: links.contact().clone(),
            pid: std::process::id(),
            local_time_at_zero_s: local_time::now_s() - setup.began.elapsed().as_secs() as i64,
        });
        let clock = Clock(setup.began);
        let published = control.as_ref().map(|control| setup.open_door(control, &mut pmix)).transpose();
        let published = published.map_err(failed("the DVM cannot be reached by clients"))?.unwrap_or_default();
        let is_timed = params::is_on(&setup.params, "ferrite_timing");
        Ok(Engine {
            node,
            effects: Effects::new(),
            lost_files: VecDeque::new(),
            timers: Timers::default(),
            links,
            keeper: Rc::new(std::mem::replace(&mut setup.keeper, Keeper::none())),
            launcher: Launcher::new(inbox.clone(), &setup.params, Rc::clone(&setup.key)),
            extensions: Extensions::new(inbox.clone(), &setup.session_dir),
            releases: Turn::default(),
            processes,
            sinks: OutputSinks::new(inbox.clone()),
            output_files: OutputFiles::default(),
            history: History::new(&setup.session_dir),
            logs: Logs::new(inbox.clone(), &setup.dvm, &setup.params),
            batches: Batches::new(inbox.clone(), &setup.session_dir),
            stdin: OwnStdin::new(inbox.clone()),
            stages: Stages::new(inbox.clone(), &setup.session_dir),
            files: FileReader::new(inbox.clone()),
            pmix,
            relays: Relays::new(inbox.clone(), control.as_ref()),
            to_serve: None,
            dvm: setup.dvm.clone(),
            rank: setup.rank,
            hostname: setup.hostname.clone(),
            control,
            ready_message: setup.serve().is_some_and(|serve| serve.ready_message),
            published,
            session_dir: setup.session_dir.clone(),
            tools: setup.tools.clone(),
            detach: setup.take_detach(),
            launcher_watch,
            launcher_end: None,
            release_command: params::value(&setup.params, "ferrite_release_command").map(str::to_owned),
            verbose: params::number(&setup.params, "state_base_verbose").unwrap_or(0),
            timing: is_timed.then(|| Timing::new(clock.now())),
            pictures: setup.take_pictures(),
            picture_lost: false,
            exit: None,
            clock,
            inbox,
            arrivals,
        })
        .inspect(|engine| engine.queue_first_inputs(&mut setup.role))
    }

    fn queue_first_inputs(&self, role: &mut Role) {
        if let Role::Head { submit, serve, .. } = role {
            let is_called = serve.as_ref().is_some_and(|serving| serving.serve.caller.is_some());
            if self.verbose >= VERBOSE_STEPS {
                notice::print_table();
            }
            if let Some(submission) = submit.take() {
                return self.submit(submission, is_called);
            }
        }
        let _ = self.inbox.send(Input::Start);
    }

    /// Submits the job of this process itself, and starts. A launcher that a tool directs asks the tool first.
    fn submit(&self, submission: Box<Submission>, is_called: bool) {
        // This comes before the start, so that a head whose only job is to be mapped starts no daemon.
        let begin = |inbox: &Inbox, submission| {
            let request = Request::Submit(submission);
            let _ = inbox.send(Input::Head(HeadInput::Request { id: RequestId::OWN, request }));
            let _ = inbox.send(Input::Start);
        };
        if !is_called {
            return begin(&self.inbox, submission);
        }
        let (inbox, called) = (self.inbox.clone(), self.pmix.call(submission));
        tokio::task::spawn_local(async move {
            match called.await {
                Ok(submission) => begin(&inbox, submission),
                Err(cause) => {
                    notice::print(&cause);
                    let _ = inbox.send(Input::Terminate { cause });
                }
            }
        });
    }

    /// Returns the exit code; all is given back by then but what dies with the process.
    async fn run(&mut self) -> u8 {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            self.fire_timers();
            for input in batch.drain(..) {
                if self.exit.is_none() {
                    self.handle(input);
                }
            }
            if let Some(code) = self.exit {
                self.finish().await;
                return code;
            }
            if self.to_serve.is_some() {
                // The wireup comes with it and other daemons wait for it to be passed on; files take long.
                tokio::task::yield_now().await;
                self.let_clients_in();
            }
            self.wait(&mut batch).await;
        }
    }

    /// Waits until the inbox has an input or a timer is due.
    async fn wait(&mut self, batch: &mut Vec<Input>) {
        let arrival = self.arrivals.take(batch);
        match self.timers.next() {
            None => arrival.await,
            Some(at) => {
                let _ = tokio::time::timeout_at(self.clock.instant(at), arrival).await;
            }
        }
    }

    fn fire_timers(&mut self) {
        while self.exit.is_none() {
            let Some(timer) = self.timers.take_due(self.clock.now()) else {
                return;
            };
            self.handle(Input::Timer(timer));
        }
    }

    fn handle(&mut self, input: Input) {
        self.handle_one(input);
        while let Some(lost) = self.lost_files.pop_front() {
            self.handle_one(lost);
        }
    }

    fn handle_one(&mut self, input: Input) {
        if let Input::Head(HeadInput::Batch(BatchInput::Ended(batch, _))) = &input {
            self.batches.reaped(*batch);
        }
        let mut effects = std::mem::take(&mut self.effects);
        self.node.handle(self.clock.now(), input, &mut effects);
        for effect in effects.drain() {
            self.execute(effect);
        }
        self.effects = effects;
    }

    fn execute(&mut self, effect: Effect) {
        match effect {
            Effect::Transmit { peer, frame } => {
                // The DVM is ready with the last acknowledgement, and clients may come here at once (spec L40).
                if matches!(frame.kind, FrameKind::XcastAck { .. }) {
                    self.let_clients_in();
                }
                self.links.transmit(peer, frame);
            }
            Effect::Connect { peer, contact, deadline, insist } => {
                self.links.connect(peer, contact, self.clock.instant(deadline), insist);
            }
            Effect::CloseLink { peer } => self.links.close(peer),
            Effect::Lane(LaneEffect::Open { lane, contact, deadline }) => {
                self.links.open_lane(lane, contact, self.clock.instant(deadline));
            }
            Effect::Lane(LaneEffect::Say { lane, message }) => self.links.say(lane, message),
            Effect::Lane(LaneEffect::Close(lane)) => self.links.close_lane(lane),
            Effect::LaunchDaemon { rank, command, ticket } => self.launch(rank, command, ticket),
            Effect::AbandonLaunch { rank } => self.launcher.abandon(rank),
            Effect::SetTimer { timer, at } => self.timers.set(timer, at),
            Effect::CancelTimer(timer) => self.timers.cancel(timer),
            Effect::Detach => self.let_go_of_launcher(),
            Effect::Spawn { proc, request } => {
                let (env, fds) = self.pmix.child_env(proc);
                self.processes.spawn(proc, *request, env, fds);
            }
            Effect::Signal { proc, signal } => self.processes.signal(proc, signal),
            Effect::TakeStacks { job, procs, until, most } => {
                self.processes.take_stacks(job, &procs, self.clock.instant(until), most);
            }
            Effect::ReadOutput { proc, stream, limit } => self.processes.read_output(proc, stream, limit),
            Effect::CheckOutput { proc, stream } => self.processes.check_output(proc, stream),
            Effect::WriteStdin { proc, data } => self.processes.write_stdin(proc, data),
            Effect::CloseStdin { proc } => self.processes.close_stdin(proc),
            Effect::ReadStdin { request: RequestId::OWN, limit } => self.stdin.read(limit),
            Effect::ReadFile { request, entry, path, offset, length } => {
                let elsewhere = self.control.as_ref().filter(|_| request != RequestId::OWN);
                if elsewhere.is_some_and(|control| control.read_file(request, entry, offset, length)) {
                    return;
                }
                let answer = Box::new(move |piece| Input::Head(HeadInput::FileRead { request, piece }));
                self.files.read(Question { entry, path, offset, length, answer });
            }
            Effect::ReadLocalFile { job, entry, path, offset, length } => {
                let answer = Box::new(move |piece| Input::Daemon(DaemonInput::FileRead { job, piece }));
                self.files.read(Question { entry, path, offset, length, answer });
            }
            Effect::Stage { job, step } => self.stages.take(job, step),
            Effect::WriteOutput { sink, from, data, account } => self.write_output(sink, from, data, account),
            Effect::WriteFile { job, path, data } => self.write_file(job, path, &data),
            Effect::CloseFile(path) => self.output_files.close(&path),
            Effect::Pmix(effect) => self.pmix.apply(effect),
            Effect::Relay(RelayEffect::Listen(served)) => {
                self.pmix.relay_tools(self.relays.lines(self.rank));
                self.to_serve = Some(served);
            }
            Effect::Relay(effect) => self.relays.apply(effect),
            Effect::Notice { to: None | Some(RequestId::OWN), text } => notice::print(&text),
            Effect::Progress(line) => notice::print_line(&line),
            Effect::Trace(step) => self.trace(&step),
            Effect::Ready => self.say_ready(),
            // The waiting submitter is this process itself: the code comes again with the exit.
            Effect::Accepted { request: RequestId::OWN, job } => self.pmix.know_own_job(job),
            Effect::Reply { request: RequestId::OWN, reply: Reply::Done(done) } => {
                self.pmix.own_job_is_over(done.exit_code);
            }
            Effect::Reply { request: RequestId::OWN, .. } => {}
            Effect::Picture { to: RequestId::OWN, format, text } => self.keep_picture(format, &text),
            Effect::ReadStdin { .. }
            | Effect::Notice { .. }
            | Effect::Accepted { .. }
            | Effect::Picture { .. }
            | Effect::Reply { .. } => self.tell_client(effect),
            Effect::Batch(effect) => self.batches.apply(effect),
            Effect::Keep { number, file, oldest, job } => self.history.keep(number, file, oldest, &job),
            Effect::Recall { request, what } => {
                let found = self.history.recall(what);
                let _ = self.inbox.send(Input::Head(HeadInput::Recalled { request, found }));
            }
            Effect::Log { id, record } => self.logs.take(id, *record),
            Effect::OfferRelease { campaign, nodes, back } => {
                let offer = Offer { campaign, nodes, back };
                release::offer(self.release_command.as_deref(), offer, &self.session_dir, &self.releases, &self.inbox);
            }
            Effect::RequestNodes { extension, ask } => self.extensions.request(extension, *ask),
            Effect::AskForEnd { job } => self.extensions.ask_for_end(job),
            Effect::WithdrawRequest { extension } => self.extensions.withdraw(extension),
            Effect::EndAllocation { job } => self.extensions.end(job),
            Effect::Resized { request, resize } => {
                if !self.control.as_ref().is_some_and(|control| control.resized(request, &resize)) {
                    self.pmix.resized(request, &resize);
                }
            }
            Effect::TimeWarning { request, warning } => {
                if !self.control.as_ref().is_some_and(|control| control.warned(request, &warning)) {
                    self.pmix.warned(request, &warning);
                }
            }
            Effect::ReadyForDebug { request: RequestId::OWN, job, text } => {
                // The tool that has started this launcher has the job go on; nobody else can.
                if !self.pmix.ready_for_debug(job) {
                    notice::print(&text);
                }
            }
            Effect::ReadyForDebug { request, text, .. } => {
                if let Some(control) = &self.control {
                    control.ready_for_debug(request, text);
                }
            }
            Effect::Launched { request, result } => {
                if let Some(control) = &self.control {
                    control.launched(request, result);
                }
            }
            Effect::CleanJob(job) => {
                self.stages.clean(job);
                self.processes.clean_job(job);
            }
            Effect::Exit { code } => self.exit = Some(if code == 0 { u8::from(self.picture_lost) } else { code }),
        }
    }

    fn tell_client(&self, effect: Effect) {
        let Some(control) = &self.control else {
            return;
        };
        match effect {
            Effect::ReadStdin { request, limit } => control.read_stdin(request, limit),
            Effect::Notice { to: Some(request), text } => control.notice(request, text),
            Effect::Accepted { request, job } => control.accepted(request, job),
            Effect::Picture { to, format, text } => control.picture(to, format, text.into()),
            Effect::Reply { request, reply } => control.reply(request, reply),
            _ => {}
        }
    }

    /// Opens the control socket of this node, and the front door to its PMIx tools, once the machine has said so. A
    /// failure is logged and disturbs nothing else.
    fn let_clients_in(&mut self) {
        let Some(served) = self.to_serve.take() else { return };
        let Engine { dvm, rank, hostname, session_dir, relays, published, pmix, tools, .. } = self;
        let opened = tools.dir().and_then(|dir| pmix.open_to_tools(dir, served.pid, served.system));
        match opened {
            Ok((_, file)) => published.remember(file),
            Err(error) => tracing::warn!(%error, "the PMIx tools of this node cannot be let in"),
        }
        let owner = SocketOwner { dvm, daemon: *rank, hostname, session_dir };
        if let Err(error) = relays.listen(*served, &owner, published) {
            tracing::warn!(%error, "the clients of this node cannot be let in");
        }
    }

    /// Starts a launcher and opens the port at which the new daemon calls.
    fn launch(&mut self, rank: DaemonRank, command: LaunchCommand, ticket: Box<Ticket>) {
        if let Err(error) = self.links.open() {
            notice::print(&format!("other daemons cannot call the one on this node: {error}"));
        }
        self.launcher.launch(rank, command, ticket);
    }

    fn keep_picture(&mut self, format: PictureFormat, text: &str) {
        let Some(pictures) = &mut self.pictures else { return };
        if let Err(complaint) = pictures.keep(format, text) {
            self.picture_lost = true;
            notice::print(&complaint);
        }
    }

    fn write_file(&mut self, job: JobId, path: String, data: &[u8]) {
        if let Err(error) = self.output_files.write(&path, data) {
            let error = error.to_string();
            self.lost_files.push_back(Input::Daemon(DaemonInput::FileFailed { job, path, error }));
        }
    }

    fn write_output(&mut self, sink: Sink, from: Rank, data: Bytes, account: Option<Account>) {
        match (sink.to, &self.control) {
            (RequestId::OWN, _) | (_, None) => self.sinks.write(sink.stream, data, account),
            (to, Some(control)) => control.output(to, from, sink.stream, data, account),
        }
    }

    /// Reports that jobs can start from now on, and releases the caller that waits with `--daemonize`.
    fn say_ready(&mut self) {
        if self.ready_message {
            notice::write_stdout("DVM ready\n");
        }
        if self.control.is_some() {
            self.detach = self.detach.take().and_then(Detach::complete);
        }
    }

    /// Releases the launcher, unless it stays. From here on its end does not concern the daemon.
    fn let_go_of_launcher(&mut self) {
        if let Some(gone) = self.detach.as_ref().filter(|detach| !detach.is_attached()).map(Detach::launcher_gone) {
            self.launcher_end = gone.ok().map(|gone| Box::pin(gone) as Pin<Box<dyn Future<Output = ()>>>);
        }
        self.detach = self.detach.take().and_then(Detach::complete);
        if self.detach.is_none()
            && let Some(watch) = self.launcher_watch.take()
        {
            watch.abort();
        }
    }

    fn trace(&mut self, step: &Transition) {
        let now = self.clock.now();
        if let Some(timing) = &mut self.timing {
            timing.note(now, step);
        }
        let is_of_proc = matches!(step, Transition::Proc { .. });
        if self.verbose >= if is_of_proc { VERBOSE_STEPS } else { VERBOSE_JOBS } {
            notice::print_transition(now.0, step);
        }
        if let Some(control) = &self.control {
            control.event(now, step);
        }
    }

    /// Flushes output, which waits for its reader without limit until the user ends it.
    async fn flush_output(&mut self) {
        let flushed = self.sinks.flush();
        tokio::pin!(flushed);
        loop {
            tokio::select! {
                () = &mut flushed => return,
                input = self.arrivals.others.recv() => {
                    if matches!(input, None | Some(Input::Head(HeadInput::Interrupt) | Input::Terminate { .. })) {
                        return;
                    }
                }
            }
        }
    }

    /// Carries out everything that was requested before the end.
    async fn finish(&mut self) {
        self.flush_output().await;
        if let Some(control) = &self.control {
            control.flush(FLUSH_LIMIT).await;
        }
        self.batches.finish(FLUSH_LIMIT).await;
        self.launcher.close().await;
        self.extensions.finish().await;
        if let Some(gone) = self.launcher_end.take() {
            // A daemon that leaves soon after it came: no launcher process of it may remain when its links close.
            let _ = tokio::time::timeout(FLUSH_LIMIT, gone).await;
        }
        self.links.flush(FLUSH_LIMIT, &self.keeper).await;
        self.pmix.settle(FLUSH_LIMIT).await;
        self.pmix.shutdown();
        // Clients take the end of their connection for the end of the DVM: all its files have to be gone by then.
        self.published = Published::default();
        self.session_dir.remove();
        self.tools.remove();
        if let Some(timing) = &self.timing {
            notice::write_stderr(&timing.report(self.clock.now()));
        }
    }
}

impl Setup {
    fn serving(&self) -> Option<&Serving> {
        match &self.role {
            Role::Head { serve, .. } => serve.as_deref(),
            Role::Daemon(_) => None,
        }
    }

    fn serve(&self) -> Option<&Serve> {
        self.serving().map(|serving| &serving.serve)
    }

    /// Opens the control socket and publishes its address.
    fn open_door(&self, control: &Control, pmix: &mut PmixBridge) -> io::Result<Published> {
        let mut published = Published::default();
        let Some(Serving { serve, pid, started_s, .. }) = self.serving() else {
            return Ok(published);
        };
        if serve.tools_only {
            pmix.open_beside_job(&self.tools, *pid, serve.rendezvous.as_deref())?;
            published.remember(serve.rendezvous.clone());
            return Ok(published);
        }
        let socket = control::listen(control, &self.session_dir)?;
        if let Some(place) = params::value(&self.params, "ferrite_metrics") {
            published.remember(control::metrics::listen(control, place)?);
        }
        let remote = serve.listen.as_ref();
        let remote = remote
            .map(|place| control::remote::listen(control, &self.session_dir, place, &self.hostname))
            .transpose()?;
        let (endpoint, file) = pmix.open_to_tools(self.tools.dir()?, *pid, serve.system_server)?;
        published.remember(file);
        let contact = DvmContact {
            dvm: self.dvm.clone(),
            endpoints: vec![endpoint],
            pid: *pid,
            host: self.hostname.clone(),
            started_s: *started_s,
            head: None,
            batch: serve.batch.clone(),
            system: serve.system_server,
            socket: socket.to_string_lossy().into_owned(),
            control: CONTROL_VERSION,
            key: remote.as_ref().map(|remote| remote.key_file.to_string_lossy().into_owned()),
            remote: remote.map(|remote| remote.address),
        };
        published.contact(&contact, self.session_dir.dir()?, serve.report_uri.as_ref())?;
        published.report(serve.report_pid.as_ref(), &format!("{pid}\n"))?;
        Ok(published)
    }

    /// Watches signals. The returned task, if any, ends with the process that the launcher started.
    fn watch_signals(&self, inbox: &Inbox) -> io::Result<Option<JoinHandle<()>>> {
        match &self.role {
            Role::Head { forward, serve, .. } => {
                let lifeline = serve.as_ref().and_then(|serving| serving.serve.keepalive);
                lifeline.map_or(Ok(()), |fd| signals::watch_lifeline(inbox, fd))?;
                signals::watch_head(inbox, forward).map(|()| None)
            }
            Role::Daemon(detach) => {
                signals::watch_daemon(inbox)?;
                detach.as_ref().map(|detach| watch_launcher(detach, inbox)).transpose()
            }
        }
    }
}

fn watch_launcher(detach: &Detach, inbox: &Inbox) -> io::Result<JoinHandle<()>> {
    let gone = detach.launcher_gone()?;
    let inbox = inbox.clone();
    Ok(tokio::task::spawn_local(async move {
        gone.await;
        let _ = inbox.send(Input::Terminate { cause: "its launcher is gone".to_owned() });
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(request: Request) -> Input {
        Input::Head(HeadInput::Request { id: RequestId(1), request })
    }

    /// Questions come first (spec L129).
    #[test]
    fn a_question_is_handled_before_what_waits_and_holds_it_up_for_no_longer_than_a_turn() {
        let (mut arrivals, inbox, questions) = Arrivals::new();
        (0..3 * BATCH).for_each(|_| inbox.send(ask(Request::Kill(JobId(1)))).unwrap());
        (0..2 * BATCH).for_each(|_| questions.send(ask(Request::Jobs)).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            for expected in [[BATCH, BATCH], [BATCH, BATCH], [0, BATCH]] {
                let mut batch = Vec::new();
                arrivals.take(&mut batch).await;
                let is_question =
                    |input: &Input| matches!(input, Input::Head(HeadInput::Request { request: Request::Jobs, .. }));
                assert!(batch.is_sorted_by_key(|input| !is_question(input)), "questions come first");
                let asked = batch.iter().filter(|input| is_question(input)).count();
                assert_eq!([asked, batch.len() - asked], expected);
            }
        });
    }
}
