//! The MPI side of local processes: libpmix and the PMI-1 sockets. The engine calls [`PmixBridge`] for the machine's
//! [`PmixEffect`]s, and for the environment by which a new process finds its server; calls of processes come back as
//! [`PmixCall`]s.
//!
//! The library runs in a process of its own ([`library`]). It starts when the first process connects to the front door,
//! or beside the launch of a program that is recognised as its user; a job that never calls PMIx costs nothing. When
//! that process dies, the jobs that had called it fail, and the next caller gets a new one. The machine decides about
//! jobs.

mod absent;
mod adding;
mod admission;
mod allocate;
mod beside;
mod called;
mod caller;
mod calls;
mod control;
mod door;
mod early;
mod events;
mod feeds;
mod groups;
mod hint;
mod job;
mod library;
mod locality;
mod logs;
mod monitors;
mod notices;
mod placing;
mod pmi1;
mod published;
mod pulls;
mod query;
mod rendezvous;
mod renewal;
mod session_control;
mod spawn;
mod tools;
mod wish;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ferrite_core::{DaemonInput, Input, PmixCall, PmixEffect, PmixToken, Registration, RequestId};
use ferrite_pmi1::{ClientPlace, client_env};
use ferrite_pmix::{FrontDoor, Proc, SHARED_FROM, ServerConfig, Status, Upcall, compat_env};
use ferrite_types::{DaemonRank, JobId, PmixStatus, ProcId, Rank, Topology};
use ferrite_wire::{EventSource, Fact, ProcFailure, ProcessSet, Resize, TimeWarning, ToolName};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::spawn_local;

use crate::Inbox;
use crate::children::Holders;
use crate::control::{Dials, Later, Lines, Requests};
use crate::head::Caller;
use crate::session_dir::SessionDir;
use allocate::SizeEvents;
pub(crate) use called::{BEYOND, is_beyond};
use calls::{Calls, Known, Names};
use door::Door;
use early::Early;
use hint::Hints;
use job::Machine;
pub(crate) use library::Runner;
use library::{Event, Library, Question};
use monitors::Monitors;
use pmi1::Pmi1;
use tools::{Tools, Way};

/// Number of the PMI-1 socket's descriptor in a process.
const PMI_FD: RawFd = 3;

/// Environment variables of a process.
pub(crate) type ChildEnv = Vec<(String, String)>;
/// Descriptors of a process, with their numbers there.
pub(crate) type ChildFds = Vec<(RawFd, OwnedFd)>;

/// The time that the library gets to read what an ended process has sent, before it is asked again.
const UNREAD: Duration = Duration::from_millis(1);

/// The bridge between the machine and libpmix.
pub(crate) struct PmixBridge {
    shared: Rc<Shared>,
    pmi1: Pmi1,
    door: Option<Door>,
}

/// The daemon that owns a bridge.
pub(crate) struct Host<'a> {
    pub(crate) dvm: &'a str,
    pub(crate) daemon: DaemonRank,
    pub(crate) hostname: &'a str,
    pub(crate) session_dir: &'a SessionDir,
    /// The machine's topology.
    pub(crate) topology: &'a Topology,
    /// True when the domains of host names are part of the names.
    pub(crate) keep_fqdn: bool,
    /// The program that runs the library.
    pub(crate) runner: Runner,
    /// The value of `prte_dvm_events`.
    pub(crate) size_events: Option<&'a str>,
    /// The tool that has started this launcher.
    pub(crate) caller: Option<&'a Caller>,
}

/// State that the tasks of the bridge share with it.
struct Shared {
    inbox: Inbox,
    dvm: String,
    daemon: DaemonRank,
    /// This daemon's name in the library.
    name: Proc,
    /// The tool that has started this launcher and was not called yet.
    caller: RefCell<Option<Caller>>,
    /// Takes the answer of that tool.
    called: RefCell<Option<oneshot::Sender<called::Answer>>>,
    /// The job of this launcher itself, until its end.
    own_job: Cell<Option<JobId>>,
    hostname: String,
    session_dir: SessionDir,
    machine: Machine,
    jobs: RefCell<BTreeMap<JobId, Job>>,
    names: RefCell<Names>,
    /// The process sets that are known here.
    sets: RefCell<BTreeMap<String, Vec<Proc>>>,
    /// The address by which tools find this daemon, once they are admitted.
    uri: OnceCell<String>,
    hints: RefCell<Hints>,
    calls: RefCell<Calls>,
    /// PMIx tools, once they are admitted.
    tools: OnceCell<RefCell<Tools>>,
    /// The rule for events about the DVM's size.
    size_events: SizeEvents,
    /// The program that runs the library, and its process.
    runner: Runner,
    library: RefCell<Option<Library>>,
    /// Whether the library may end, while that is asked.
    idle: Cell<Option<Question>>,
    /// Shared by those who are on their way to the library.
    guests: Rc<()>,
    /// Processes that have ended, by the orders to read what they have sent.
    ended: RefCell<BTreeMap<u64, ProcId>>,
    /// Finds the process that holds a connection.
    holders: Holders,
    /// Monitors that local processes have asked for.
    monitors: RefCell<Monitors>,
}

struct Job {
    registration: Arc<Registration>,
    local_size: u32,
    /// True when one of its processes has called: the job cannot continue without the library.
    has_called: bool,
    /// Ranks of local processes that are connected to the library.
    connected: BTreeSet<Rank>,
    /// Failures that each process learns of when it connects: libpmix 4.2 delivers an event that is older than the
    /// connection twice.
    failures: Vec<ProcFailure>,
    /// Events that wait for local processes to connect.
    early: Early,
    /// Local processes that have failed before their init; true when the library knows that they are gone.
    absent: BTreeMap<Rank, bool>,
}

impl PmixBridge {
    pub(crate) fn new(inbox: Inbox, host: Host<'_>, requests: Option<Requests>, holders: Holders) -> Self {
        let Host { dvm, daemon, hostname, session_dir, topology, keep_fqdn, runner, size_events, caller } = host;
        let given = caller.and_then(|caller| caller.own_name.as_ref());
        let name = given.map(|(nspace, rank)| Proc::new(nspace, *rank));
        let tools = requests.map(|requests| RefCell::new(Tools::new(Way::Here(requests), dvm, daemon)));
        let shared = Shared {
            dvm: dvm.to_owned(),
            daemon,
            name: name.unwrap_or_else(|| Proc::new(JobId::DAEMONS.nspace(dvm), daemon.0)),
            caller: RefCell::new(caller.cloned()),
            called: RefCell::default(),
            own_job: Cell::default(),
            hostname: hostname.to_owned(),
            session_dir: session_dir.clone(),
            machine: Machine {
                topology: topology.clone(),
                memory: job::physical_memory(),
                keep_fqdn,
                own_topology: job::names_a_topology(
                    std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()),
                ),
            },
            jobs: RefCell::default(),
            names: RefCell::default(),
            sets: RefCell::default(),
            uri: OnceCell::new(),
            hints: RefCell::default(),
            calls: RefCell::new(Calls::new(inbox.clone(), dvm)),
            tools: tools.map_or_else(OnceCell::new, OnceCell::from),
            size_events: SizeEvents::of(size_events),
            runner,
            library: RefCell::default(),
            idle: Cell::default(),
            guests: Rc::default(),
            ended: RefCell::default(),
            holders: holders.clone(),
            monitors: RefCell::default(),
            inbox: inbox.clone(),
        };
        PmixBridge { shared: Rc::new(shared), pmi1: Pmi1::new(inbox, holders), door: None }
    }

    /// Admits PMIx tools of a daemon's node, whose requests go to the head. This comes before the library starts, and
    /// [`PmixBridge::open_to_tools`] follows.
    pub(crate) fn relay_tools(&self, lines: Lines) {
        self.serve_tools(|later| Way::Lines(lines, later));
    }

    /// Serves the tool that directs this process, a client of the DVM (spec L139).
    pub(crate) fn dial_for_tool(&self, dials: Rc<Dials>) {
        self.serve_tools(|later| Way::Dials(dials, later));
    }

    fn serve_tools(&self, way: impl FnOnce(UnboundedSender<Later>) -> Way) {
        let (later, follows) = unbounded_channel();
        let tools = Tools::new(way(later), &self.shared.dvm, self.shared.daemon);
        if self.shared.tools.set(RefCell::new(tools)).is_ok() {
            spawn_local(self.shared.clone().follow(follows));
        }
    }

    /// Carries out an effect of the machine.
    pub(crate) fn apply(&mut self, effect: PmixEffect) {
        match effect {
            PmixEffect::Register(registration) => self.shared.register(registration),
            PmixEffect::Deregister(job) => {
                self.pmi1.close(job);
                self.shared.deregister(job);
            }
            PmixEffect::Absent(proc) => self.shared.note_absent(proc),
            PmixEffect::HearOut(proc) => self.shared.hear_out(proc),
            PmixEffect::Reply { token, result } => self.shared.calls.borrow_mut().reply(token, result),
            PmixEffect::SpawnReply { token, result } => {
                let result = result.map(|job| job.nspace(&self.shared.dvm));
                self.shared.calls.borrow_mut().reply_spawn(token, result);
            }
            PmixEffect::DataReply { token, result } => {
                let nspace = |proc: ProcId| proc.job.nspace(&self.shared.dvm);
                self.shared.calls.borrow_mut().reply_data(token, result, nspace);
            }
            PmixEffect::QueryReply { token, facts } => self.shared.reply_query(token, &facts),
            PmixEffect::DefineSet(set) => self.shared.define_set(&set),
            PmixEffect::DeleteSet(name) => self.shared.delete_set(name),
            PmixEffect::FetchModex { fetch, proc } => self.shared.fetch(fetch, proc),
            PmixEffect::Notify { job, failed } => self.shared.notify(job, &failed),
            PmixEffect::Event { event, to, range } => self.shared.tell(&event, &to, &range),
            PmixEffect::ReplyResize { token, resize } => {
                self.shared.calls.borrow_mut().reply_resize(token, &resize);
            }
            PmixEffect::ResizeEvent { proc, resize } => {
                self.shared.announce_size(Proc::new(proc.job.nspace(&self.shared.dvm), proc.rank.0), &resize);
            }
            PmixEffect::JobEnd { parent, job, code } => {
                let name = |job: JobId, rank| Proc::new(job.nspace(&self.shared.dvm), rank);
                let (parent, job) = (name(parent.job, parent.rank.0), name(job, Proc::WILDCARD));
                if let Some(library) = self.shared.running() {
                    library.job_end(parent, job, code.into());
                }
            }
            PmixEffect::JobReady { parent, job } => {
                let name = |job: JobId, rank| Proc::new(job.nspace(&self.shared.dvm), rank);
                let (parent, job) = (name(parent.job, parent.rank.0), name(job, Proc::WILDCARD));
                self.shared.send(events::ready_for_debug(self.shared.server(), parent, job));
            }
            PmixEffect::Release(proc) => {
                let name = Proc::new(proc.job.nspace(&self.shared.dvm), proc.rank.0);
                self.shared.send(events::release(self.shared.server(), name));
            }
            PmixEffect::TimeWarning { proc, warning } => {
                self.shared.warn(Proc::new(proc.job.nspace(&self.shared.dvm), proc.rank.0), &warning);
            }
            PmixEffect::Pmi1 { proc, data } => self.pmi1.write(proc, data),
        }
    }

    /// Tells a tool that the change which it requested has ended.
    pub(crate) fn resized(&self, request: RequestId, resize: &Resize) {
        self.shared.resized(request, resize);
    }

    /// Tells a tool that the session which it requested is about to end.
    pub(crate) fn warned(&self, request: RequestId, warning: &TimeWarning) {
        self.shared.warned(request, warning);
    }

    /// Returns the variables of a process of a registered job, and its descriptors with their numbers there.
    pub(crate) fn child_env(&mut self, proc: ProcId) -> (ChildEnv, ChildFds) {
        let mut env = compat_env(std::env::var_os("HOME").is_some(), Path::new("/"));
        let mut fds = Vec::new();
        match self.door_port() {
            Ok(port) => env.extend(self.shared.pmix_env(proc, port)),
            Err(error) => tracing::warn!(%proc, %error, "no PMIx for this process: its port cannot be opened"),
        }
        if let Some(place) = self.shared.place(proc) {
            match self.pmi1.open(proc) {
                Ok(theirs) => {
                    env.extend(client_env(place));
                    fds.push((PMI_FD, theirs));
                }
                Err(error) => tracing::warn!(%proc, %error, "no PMI-1 for this process: no socket"),
            }
        }
        (env, fds)
    }

    /// Fails all waiting calls, because this process is about to exit.
    pub(crate) fn shutdown(&mut self) {
        self.door = None;
        self.shared.calls.borrow_mut().fail(None, Status::LOST_CONNECTION);
        if let Some(library) = self.shared.running() {
            library.end();
        }
    }

    fn door_port(&mut self) -> io::Result<u16> {
        if self.door.is_none() {
            let shared = self.shared.clone();
            self.door = Some(Door::open(move |guest| shared.clone().admit(guest))?);
        }
        Ok(self.door.as_ref().map_or(0, Door::port))
    }
}

impl Shared {
    fn register(self: &Rc<Self>, registration: Arc<Registration>) {
        let order = &registration.order;
        let id = order.job;
        let known = Known { job: id, size: order.map.procs.len() as u32 };
        self.names.borrow_mut().insert(id.nspace(&self.dvm), known);
        let local_size = order.map.on_daemon(self.daemon).count() as u32;
        let job = Job {
            registration,
            local_size,
            has_called: false,
            connected: BTreeSet::new(),
            failures: Vec::new(),
            early: Early::default(),
            absent: BTreeMap::new(),
        };
        if let Some(library) = self.running() {
            self.present(&library, &job);
        }
        self.jobs.borrow_mut().insert(id, job);
        if local_size > 0 && self.running().is_none() {
            // The job's processes start before this task runs, and load their program while it looks into the file.
            let shared = Rc::clone(self);
            spawn_local(async move { shared.start_if_wanted(id) });
        }
    }

    fn deregister(&self, id: JobId) {
        let nspace = id.nspace(&self.dvm);
        self.jobs.borrow_mut().remove(&id);
        self.names.borrow_mut().remove(&nspace);
        self.monitors.borrow_mut().forget(id);
        self.calls.borrow_mut().fail(Some(id), Status::NOT_FOUND);
        if let Some(library) = self.running() {
            library.deregister(nspace);
            self.ask_idle(&library);
        }
    }

    fn hear_out(&self, proc: ProcId) {
        self.end_monitors(proc);
        match self.running() {
            Some(library) => drop(self.ended.borrow_mut().insert(library.hear_out(), proc)),
            None => self.heard_out(proc),
        }
    }

    /// Asks the library again, which reads soon: nothing says when. A library that hangs is ended.
    fn ask_again(self: &Rc<Self>, proc: ProcId) {
        let shared = Rc::clone(self);
        spawn_local(async move {
            tokio::time::sleep(UNREAD).await;
            shared.hear_out(proc);
        });
    }

    fn heard_out(&self, proc: ProcId) {
        // The machine is gone only while this process is ending.
        let _ = self.inbox.send(Input::Daemon(DaemonInput::Pmix(PmixCall::HeardOut(proc))));
    }

    fn define_set(&self, set: &ProcessSet) {
        let members = query::members(set, &self.dvm);
        if let Some(library) = self.running() {
            library.define_set(set.name.clone(), members.clone());
        }
        self.sets.borrow_mut().insert(set.name.clone(), members);
    }

    fn delete_set(&self, name: String) {
        self.sets.borrow_mut().remove(&name);
        if let Some(library) = self.running() {
            library.delete_set(name);
        }
    }

    fn reply_query(&self, token: PmixToken, facts: &[Fact]) {
        let place = query::Place {
            dvm: &self.dvm,
            hostname: &self.hostname,
            uri: self.uri.get().cloned(),
            memory: &resident_memory,
        };
        self.calls.borrow_mut().reply_query(token, &place, facts);
    }

    fn name(&self, proc: ProcId) -> Proc {
        Proc::new(proc.job.nspace(&self.dvm), proc.rank.0)
    }

    /// Returns this daemon's name in the library.
    fn server(&self) -> Proc {
        self.name.clone()
    }

    fn fetch(self: &Rc<Self>, fetch: u64, proc: ProcId) {
        let inbox = self.inbox.clone();
        let done = move |result: Result<Bytes, Status>| {
            let _ = inbox.send(Input::Daemon(DaemonInput::Pmix(PmixCall::ModexFetched {
                fetch,
                result: result.map_err(|status| PmixStatus(status.0)),
            })));
        };
        if !self.jobs.borrow().contains_key(&proc.job) {
            return done(Err(Status::NOT_FOUND));
        }
        match self.library() {
            Some(library) => library.fetch(Proc::new(proc.job.nspace(&self.dvm), proc.rank.0), done),
            None => done(Err(Status::NOT_RUNNING)),
        }
    }

    /// Returns the process of the library, if it runs.
    fn running(&self) -> Option<Library> {
        self.library.borrow().clone()
    }

    /// Returns the process of the library and starts it if needed. A new one learns of all jobs first.
    fn library(self: &Rc<Self>) -> Option<Library> {
        if let Some(library) = self.running() {
            return Some(library);
        }
        let (events, happened) = unbounded_channel();
        match self.start(events) {
            Ok(library) => {
                self.jobs.borrow().values().for_each(|job| self.present(&library, job));
                for (name, members) in &*self.sets.borrow() {
                    library.define_set(name.clone(), members.clone());
                }
                *self.library.borrow_mut() = Some(library.clone());
                spawn_local(self.clone().listen(happened));
                Some(library)
            }
            Err(cause) => {
                self.give_up(&cause);
                None
            }
        }
    }

    fn start(&self, events: UnboundedSender<Event>) -> Result<Library, String> {
        let dir = self.session_dir.dir().map_err(|error| error.to_string())?.to_owned();
        let config = ServerConfig {
            system_tmpdir: dir.clone(),
            tmpdir: dir,
            dvm: self.dvm.clone(),
            nspace: self.name.nspace.clone(),
            rank: self.name.rank,
            hostname: self.hostname.clone(),
            tool_support: self.tools.get().is_some(),
            share_topology: self.jobs.borrow().values().any(|job| self.shares_topology(job)),
            // A second process of the library would wait for a second release.
            caller: self.caller.borrow_mut().take().map(|caller| caller.address),
        };
        Library::start(&self.runner, config, events)
    }

    /// True when the library's process looks for the machine's topology for that job.
    fn shares_topology(&self, job: &Job) -> bool {
        job.local_size as usize >= SHARED_FROM && !job::finds_topology(&job.registration, &self.machine)
    }

    fn present(&self, library: &Library, job: &Job) {
        library.register(job::job_info(&job.registration, self.session_dir.path(), &self.machine));
    }

    async fn listen(self: Rc<Self>, mut happened: UnboundedReceiver<Event>) {
        while let Some(event) = happened.recv().await {
            match event {
                Event::Upcall(Upcall::SessionControl { proc, session, directives, required, reply })
                    if self.tools.get().is_some_and(|tools| tools.borrow().knows(&proc)) =>
                {
                    let order = session_control::order(session, &directives, &required);
                    self.calls.borrow_mut().order(JobId::DAEMONS, &proc, order, reply);
                }
                Event::Upcall(Upcall::JobControl { proc, targets, directives, required, reply })
                    if !targets.is_empty() && self.tools.get().is_some_and(|tools| tools.borrow().knows(&proc)) =>
                {
                    let order = control::order(None, &targets, &directives, &required, &self.dvm);
                    self.calls.borrow_mut().control(None, order, reply);
                }
                Event::Upcall(Upcall::Log { proc, entries, others, directives, required, reply })
                    if self.tools.get().is_some_and(|tools| tools.borrow().knows(&proc)) =>
                {
                    let source = tool_source(&proc);
                    let call = logs::Call::new(&proc, source, entries, &others, &directives, &required);
                    self.calls.borrow_mut().log(call, reply);
                }
                Event::Upcall(Upcall::Monitor { proc, monitor, code, directives, reply }) => {
                    let order = monitors::order(&monitor, code, &directives);
                    let result = order.and_then(|order| self.monitor(&proc, order));
                    if let Err(status) = result {
                        tracing::warn!(?proc, monitor = monitor.key, %status, "a monitor is refused");
                    }
                    reply.complete(result.map(|()| Vec::new()));
                }
                Event::Upcall(Upcall::Event { code, source, range, info })
                    if ![Status::READY_FOR_DEBUG, Status::DEBUGGER_RELEASE].contains(&code) =>
                {
                    self.calls.borrow().note_left(code, &source, &info, &self.names.borrow());
                    self.raise(code, &source, range, &info);
                }
                Event::Upcall(upcall) => {
                    let rest = match (self.tools.get(), self.running()) {
                        (Some(tools), Some(library)) => {
                            self.meet(upcall).and_then(|upcall| tools.borrow_mut().receive(upcall, &library))
                        }
                        _ => self.meet(upcall),
                    };
                    if let Some(upcall) = rest {
                        if let Upcall::ClientFinalized { proc, .. } | Upcall::Lost { proc } = &upcall {
                            let known = calls::find(proc, &self.names.borrow());
                            known.into_iter().for_each(|proc| self.end_monitors(proc));
                        }
                        let newcomer = calls::newcomer(&upcall, &self.names.borrow());
                        self.calls.borrow_mut().receive(upcall, &self.names.borrow());
                        newcomer.into_iter().for_each(|proc| self.welcome(proc));
                    }
                }
                Event::HeardOut(number, all) => {
                    let asked = self.ended.borrow_mut().remove(&number);
                    match asked {
                        Some(proc) if all => self.heard_out(proc),
                        Some(proc) => self.ask_again(proc),
                        None => {}
                    }
                }
                Event::Idle(number, idle) => {
                    if self.renew(number, idle) {
                        return;
                    }
                }
                Event::Called(called) => {
                    if let Some(tools) = self.tools.get() {
                        tools.borrow_mut().obey(called.tool.clone());
                    }
                    let answer = self.called.borrow_mut().take();
                    answer.into_iter().for_each(|answer| drop(answer.send(Ok(called.clone()))));
                }
                Event::Refused(nspace, cause) => {
                    let job = self.names.borrow().get(&nspace).map(|known| known.job);
                    job.into_iter().for_each(|job| self.end_job(job, &cause));
                }
                Event::Ended(cause) => {
                    *self.library.borrow_mut() = None;
                    let ended = std::mem::take(&mut *self.ended.borrow_mut());
                    ended.into_values().for_each(|proc| self.heard_out(proc));
                    if let Some(tools) = self.tools.get() {
                        tools.borrow_mut().forget_all();
                    }
                    self.give_up(&cause);
                }
            }
        }
    }

    /// Takes the connection of a process of a job that calls itself a tool (`PMIx_tool_init`), as the daemons of a
    /// debugger do: the front door has asked whether it is that process. Returns all other upcalls.
    fn meet(&self, upcall: Upcall) -> Option<Upcall> {
        let upcall = self.meet_absent(upcall)?;
        let Upcall::ToolConnected { info, reply } = upcall else { return Some(upcall) };
        let known = admission::process_as_tool(&info, &self.names.borrow());
        let Some(proc) = known.and_then(|name| calls::find(&name, &self.names.borrow())) else {
            return Some(Upcall::ToolConnected { info, reply });
        };
        // For the machine it has not called init: a tool need not finalize.
        reply.complete(Ok(self.name(proc)));
        self.welcome(proc);
        None
    }

    /// Ends the jobs that have called the library, with the reason: their processes cannot continue without it.
    fn give_up(&self, cause: &str) {
        let answer = self.called.borrow_mut().take();
        answer.into_iter().for_each(|answer| drop(answer.send(Err(cause.to_owned()))));
        let mut called = Vec::new();
        for (id, job) in self.jobs.borrow_mut().iter_mut() {
            job.connected.clear();
            called.extend(std::mem::take(&mut job.has_called).then_some(*id));
        }
        called.into_iter().for_each(|id| self.end_job(id, cause));
    }

    fn end_job(&self, id: JobId, cause: &str) {
        let message = format!("node {}: the PMIx server cannot serve this job: {cause}", self.hostname);
        let jobs = self.jobs.borrow();
        let rank = jobs.get(&id).and_then(|job| job.registration.order.map.on_daemon(self.daemon).next());
        if let Some((rank, _)) = rank {
            self.calls.borrow_mut().give_up(ProcId { job: id, rank }, message);
        }
    }

    fn pmix_env(&self, proc: ProcId, port: u16) -> Vec<(String, String)> {
        let door = FrontDoor {
            port,
            server_nspace: &self.name.nspace,
            server_rank: self.name.rank,
            hostname: &self.hostname,
            tmpdir: self.session_dir.path(),
            system_tmpdir: self.session_dir.path(),
        };
        door.child_env(&proc.job.nspace(&self.dvm), proc.rank.0)
    }

    fn place(&self, proc: ProcId) -> Option<ClientPlace> {
        let jobs = self.jobs.borrow();
        let job = jobs.get(&proc.job)?;
        let map = &job.registration.order.map;
        let placement = map.procs.get(proc.rank.0 as usize)?;
        Some(ClientPlace {
            fd: PMI_FD,
            rank: proc.rank.0,
            size: map.procs.len() as u32,
            local_rank: u32::from(placement.local_rank.0),
            local_size: job.local_size,
            spawned: job.registration.order.spec.pmi1.is_some(),
        })
    }
}

/// A tool as the author of an event or a text.
fn tool_source(tool: &Proc) -> EventSource {
    EventSource::Tool(ToolName { nspace: tool.nspace.clone(), rank: Some(tool.rank) })
}

/// Reads the memory that a process uses, in bytes; 0 stands for this process.
fn resident_memory(pid: u32) -> Option<u64> {
    let who = if pid == 0 { "self".to_owned() } else { pid.to_string() };
    let text = std::fs::read_to_string(format!("/proc/{who}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests;
