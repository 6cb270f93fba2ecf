//! PMIx tools of other packages, such as the reference's own `prun` and `pterm`: their calls of libpmix become the same
//! requests that our own clients make over the control socket. At the head these go to the machine, and at a daemon
//! over a line to the head, one for each tool. Only [`super::PmixBridge`] uses it: in a persistent DVM, and at the head
//! of a DVM for one job.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::rc::Rc;

use bytes::Bytes;
use ferrite_core::RequestId;
use ferrite_pmix::{Completer, Info, Proc, Status, Upcall, Value};
use ferrite_pmix_sys as sys;
use ferrite_types::{DaemonRank, JobId, PmixStatus, Rank, StdinTarget};
use ferrite_wire::control::{Reply, Request, Submission, Watch};
use ferrite_wire::{EventRange, ResizeOutcome, ResizeRequest, Stream, ToolName};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use super::caller::Connection;
use super::feeds::{Feeds, Pushed};
use super::library::Library;
use super::pulls::Pulls;
use super::{admission, allocate, called, events, spawn};
use crate::control::{Dials, Later, Lines, Receipt, Requests, Submitter};
use crate::notice;

/// The way to the machine of the head.
pub(super) enum Way {
    /// In this process.
    Here(Requests),
    /// Over a line for each tool; what follows its replies comes to the sender.
    Lines(Lines, UnboundedSender<Later>),
    /// Over connections of this process, a client that a tool directs: no daemon knows the tool.
    Dials(Rc<Dials>, UnboundedSender<Later>),
}

impl Way {
    /// The requests of one tool, or of the pulls of one job.
    fn open(&self) -> Requests {
        match self {
            Way::Here(requests) => requests.clone(),
            Way::Lines(lines, later) => Requests::Relayed(lines.open(later.clone())),
            Way::Dials(dials, later) => Requests::Relayed(dials.open(later.clone())),
        }
    }

    /// True when events of the DVM reach tools by their names.
    fn has_daemon(&self) -> bool {
        match self {
            Way::Here(_) | Way::Lines(..) => true,
            Way::Dials(..) => false,
        }
    }
}

/// The state of all tools.
pub(super) struct Tools {
    way: Way,
    /// The begin of the names that tools without a name get.
    prefix: String,
    dvm: String,
    next: u32,
    tools: BTreeMap<Proc, Tool>,
    /// The tool that has started this launcher, once it has let it go on.
    caller: Option<Proc>,
    /// The connections of tools that have come with a name.
    connections: BTreeMap<Proc, Connection>,
    pulls: Pulls,
    feeds: Feeds,
    /// Rings when a job of a tool is over, or a tool is gone.
    ends: Rc<Notify>,
    /// Tools that have attached as a scheduler: their changes of the DVM's size are pushes and have no owner.
    schedulers: BTreeSet<Proc>,
    /// Requests that may own a session, with the tool that made them.
    asked: BTreeMap<RequestId, Proc>,
    /// Tools whose changes of the DVM's size are under way.
    resizing: Rc<RefCell<BTreeMap<RequestId, Proc>>>,
    /// Tools that want a warning before the time of their request's session is over.
    warned: Rc<RefCell<BTreeMap<RequestId, Proc>>>,
}

/// A connected tool.
struct Tool {
    requests: Requests,
    jobs: Vec<(RequestId, Rc<ToolJob>)>,
}

/// True for a tool that says, when it attaches or makes a request, that it is the scheduler.
fn is_scheduler(info: &[Info]) -> bool {
    info.iter().any(|info| info.is(sys::PMIX_SERVER_SCHEDULER) && info.value == Value::Bool(true))
}

/// The ranks among the targets of input, sorted; none = the whole job is named.
fn readers(targets: &[Proc]) -> Vec<Rank> {
    if targets.iter().any(|target| target.rank == Proc::WILDCARD) {
        return Vec::new();
    }
    let ranks: BTreeSet<Rank> = targets.iter().map(|target| Rank(target.rank)).collect();
    ranks.into_iter().collect()
}

impl Tools {
    pub(super) fn new(way: Way, dvm: &str, daemon: DaemonRank) -> Tools {
        // Two tools of one DVM never have the same name.
        let prefix = if daemon == DaemonRank::HEAD { format!("{dvm}-tool@") } else { format!("{dvm}-tool{daemon}@") };
        Tools {
            way,
            prefix,
            dvm: dvm.to_owned(),
            next: 0,
            tools: BTreeMap::new(),
            caller: None,
            connections: BTreeMap::new(),
            pulls: Pulls::new(dvm),
            feeds: Feeds::default(),
            ends: Rc::default(),
            schedulers: BTreeSet::new(),
            asked: BTreeMap::new(),
            resizing: Rc::default(),
            warned: Rc::default(),
        }
    }

    /// Takes the upcalls of tools; returns all others.
    pub(super) fn receive(&mut self, upcall: Upcall, library: &Library) -> Option<Upcall> {
        match upcall {
            Upcall::ToolConnected { info, reply } => self.admit(&info, reply),
            Upcall::Spawn { proc, info, required, apps, reply } if self.tools.contains_key(&proc) => {
                tracing::debug!(?proc, ?info, ?apps, "a PMIx tool spawns a job");
                self.spawn(proc, spawn::wish(&info, &required, &apps, "/", &self.dvm), reply, library);
            }
            Upcall::Event { code: Status::DEBUGGER_RELEASE, source, info, .. } if self.tools.contains_key(&source) => {
                let Tool { requests, .. } = self.tools.get(&source)?;
                for (nspace, ranks) in events::release_of(&info) {
                    let Some(job) = super::control::job_of(&nspace, &self.dvm) else { continue };
                    requests.ask(Request::Release { job, ranks }, |reply| match reply {
                        Reply::Refused(cause) => tracing::warn!(cause, "what a PMIx tool releases does not wait"),
                        _ => tracing::debug!("a PMIx tool lets processes go on"),
                    });
                }
            }
            Upcall::PullOutput { from, stdout, stderr, stops } => {
                let open = || self.way.open();
                self.pulls.receive(from, (stdout, stderr), stops, library, &open);
            }
            Upcall::PushStdin { source, targets, data, reply } if self.tools.contains_key(&source) => {
                self.push(source, &targets, data, reply);
            }
            Upcall::JobControl { proc, directives, reply, .. } if self.tools.contains_key(&proc) => {
                self.control(&proc, &directives, reply);
            }
            Upcall::Allocate { proc, directive, info, required, reply } if self.tools.contains_key(&proc) => {
                let is_other = |key: &String| key.as_bytes() != sys::PMIX_SERVER_SCHEDULER.to_bytes();
                let required: Vec<String> = required.into_iter().filter(is_other).collect();
                let wish = allocate::request(directive, &info, &required);
                match self.schedulers.contains(&proc) || is_scheduler(&info) {
                    true => self.push_change(&proc, wish, reply),
                    false => self.resize(proc, wish, reply),
                }
            }
            Upcall::Lost { proc } => self.forget(&proc),
            Upcall::ClientFinalized { proc, reply } if self.tools.contains_key(&proc) => {
                self.forget(&proc);
                reply.complete(Ok(()));
            }
            other => return Some(other),
        }
        None
    }

    /// Takes the orders of the tool that has started this launcher: the launcher has called it, so it does not come by
    /// the front door.
    pub(super) fn obey(&mut self, tool: Proc) {
        let requests = self.way.open();
        self.pulls.meet(&tool);
        self.tools.insert(tool.clone(), Tool { requests, jobs: Vec::new() });
        self.caller = Some(tool);
    }

    /// Returns the tool that has started this launcher, while it is connected.
    pub(super) fn caller(&self) -> Option<&Proc> {
        self.caller.as_ref().filter(|tool| self.knows(tool))
    }

    /// The jobs that tools have spawned and that are not over.
    pub(super) fn open_jobs(&self) -> Vec<String> {
        let jobs = self.tools.values().flat_map(|tool| &tool.jobs);
        jobs.filter(|(_, job)| !*job.over.borrow()).map(|(_, job)| job.nspace.borrow().clone()).collect()
    }

    /// Rings at the end of each of them.
    pub(super) fn ends(&self) -> Rc<Notify> {
        self.ends.clone()
    }

    /// True when a tool is connected.
    pub(super) fn has_any(&self) -> bool {
        !self.tools.is_empty()
    }

    /// True for a tool that is connected.
    pub(super) fn knows(&self, tool: &Proc) -> bool {
        self.tools.contains_key(tool)
    }

    /// Lets a tool in that comes with a name, over this connection. libpmix 4.2 does not say that a tool has finalized
    /// itself; so an earlier one of that name is forgotten when its connection has ended (spec L101). Returns true when
    /// no other tool of its namespace is connected.
    ///
    /// # Errors
    /// The name is that of a tool that is connected.
    pub(super) fn expect(&mut self, name: &Proc, connection: Connection) -> Result<bool, &'static str> {
        if self.connections.get(name).is_some_and(Connection::stands) {
            return Err("a tool of that name is connected");
        }
        self.forget(name);
        self.connections.insert(name.clone(), connection);
        Ok(self.tools.keys().all(|tool| tool.nspace != name.nspace))
    }

    /// Returns the connected tools among the addressees of an event.
    pub(super) fn named(&self, range: &EventRange) -> Vec<Proc> {
        self.tools.keys().filter(|tool| range.includes_tool(&tool.nspace, tool.rank)).cloned().collect()
    }

    /// Admits a tool. The front door has asked the kernel for its user.
    fn admit(&mut self, info: &[Info], reply: Completer<Proc>) {
        self.next += 1;
        let proc =
            admission::stated_name(info).unwrap_or_else(|| Proc::new(format!("{}{}", self.prefix, self.next), 0));
        if self.tools.contains_key(&proc) {
            tracing::warn!(?proc, "a PMIx tool took the name of one that is connected, and was turned away");
            return reply.complete(Err(Status::BAD_PARAM));
        }
        if is_scheduler(info) {
            self.schedulers.insert(proc.clone());
        }
        let requests = self.way.open();
        self.pulls.meet(&proc);
        self.tools.insert(proc.clone(), Tool { requests, jobs: Vec::new() });
        reply.complete(Ok(proc));
    }

    fn spawn(
        &mut self,
        tool: Proc,
        wish: Result<Submission, spawn::Refused>,
        reply: Completer<String>,
        library: &Library,
    ) {
        let Some(Tool { requests, jobs }) = self.tools.get_mut(&tool) else { return };
        match wish {
            Ok(submission) if !self.way.has_daemon() && called::is_beyond(&submission.watch) => {
                notice::print(called::BEYOND);
                reply.complete(Err(Status::NOT_SUPPORTED));
            }
            Ok(submission) => {
                let name = ToolName { nspace: tool.nspace.clone(), rank: Some(tool.rank) };
                let tells_start = submission.watch.job && !self.way.has_daemon();
                let watch = Watch { tool: Some(name), ..submission.watch.clone() };
                let submission = Submission { launcher: tool.nspace.clone(), watch, ..submission };
                let (requests, pulls, ends) = (requests.clone(), self.pulls.clone(), self.ends.clone());
                let job = ToolJob::new(tool, &self.dvm, reply, library, requests.clone(), pulls, tells_start);
                let stdin = submission.spec.stdin.unwrap_or(StdinTarget::Rank(Rank(0)));
                let job = Rc::new(ToolJob { ends, stdin, ..job });
                let request = requests.submit(submission, job.clone());
                *job.request.borrow_mut() = Some(request);
                jobs.push((request, job));
            }
            Err(refused) => {
                tracing::warn!(cause = %refused, "what a PMIx tool wants to spawn is refused");
                reply.complete(Err(refused.status()));
            }
        }
    }

    fn push(&self, tool: Proc, targets: &[Proc], data: Bytes, reply: Completer<()>) {
        let Some(nspace) = targets.first().map(|target| target.nspace.as_str()) else {
            return reply.complete(Err(Status::BAD_PARAM));
        };
        if targets.iter().any(|target| target.nspace != nspace) {
            tracing::warn!(?tool, "a PMIx tool feeds one job at a time");
            return reply.complete(Err(Status::NOT_SUPPORTED));
        }
        let ranks = readers(targets);
        let mut jobs = self.tools.values().flat_map(|tool| &tool.jobs);
        match jobs.find(|(_, job)| nspace == job.nspace.borrow().as_str()) {
            Some((_, job)) if job.stdin.is_for(&ranks) => job.push(data, reply),
            Some((_, job)) => {
                tracing::warn!(nspace, ?ranks, readers = ?job.stdin, "a PMIx tool feeds ranks that do not read alone");
                reply.complete(Err(Status::NOT_SUPPORTED));
            }
            None => self.feeds.push(tool, (nspace, ranks), &self.dvm, data, reply, &|| self.way.open()),
        }
    }

    /// Ends the DVM for a tool that names no processes. Other orders do not come here.
    fn control(&self, tool: &Proc, directives: &[Info], reply: Completer<Vec<Info>>) {
        let is_on = |info: &Info| info.value != Value::Bool(false);
        let says = |key: &CStr| directives.iter().any(|info| info.is(key) && is_on(info));
        if !says(sys::PMIX_JOB_CTRL_TERMINATE) && !says(sys::PMIX_JOB_CTRL_KILL) {
            return reply.refuse();
        }
        let Some(Tool { requests, .. }) = self.tools.get(tool) else { return };
        requests.ask(Request::Terminate, move |answer| {
            reply.complete(match answer {
                Reply::Refused(_) => Err(Status::NOT_FOUND),
                _ => Ok(Vec::new()),
            });
        });
    }

    fn resize(&mut self, tool: Proc, wish: Result<ResizeRequest, allocate::Refusal>, reply: Completer<Vec<Info>>) {
        let wish = match wish {
            Ok(wish) => wish,
            Err(refusal) => return reply.complete(Err(refusal.told(&tool.nspace))),
        };
        let (resizing, warned) = (self.resizing.clone(), self.warned.clone());
        let warns = matches!(&wish, ResizeRequest::Grow(grow) if grow.terms.warn_s.is_some());
        let (owner, request) = (tool.clone(), Request::Resize(Box::new(wish)));
        let Some(Tool { requests, .. }) = self.tools.get(&tool) else { return };
        let id = requests.ask_numbered(request, move |id, answer| {
            let Reply::Resize(resize) = answer else {
                return reply.complete(Err(Status::ERROR));
            };
            if warns && resize.session.is_some() {
                warned.borrow_mut().insert(id, tool.clone());
            }
            if matches!(resize.outcome, ResizeOutcome::Begun | ResizeOutcome::Requested { .. }) {
                resizing.borrow_mut().insert(id, tool);
            }
            reply.complete(allocate::answer(&resize));
        });
        self.asked.insert(id, owner);
    }

    /// Passes a scheduler's change on: the answer is its only report.
    fn push_change(&self, tool: &Proc, wish: Result<ResizeRequest, allocate::Refusal>, reply: Completer<Vec<Info>>) {
        let mut wish = match wish {
            Ok(wish) => wish,
            Err(refusal) => return reply.complete(Err(refusal.told(&tool.nspace))),
        };
        if let ResizeRequest::Grow(grow) = &mut wish {
            // Nodes of a request are reserved for its requester; those of a push are for all jobs.
            grow.terms.reserve = false;
        }
        let Some(Tool { requests, .. }) = self.tools.get(tool) else { return };
        requests.ask(Request::Push(Box::new(wish)), |answer| match answer {
            Reply::Resize(resize) => reply.complete(allocate::answer(&resize)),
            _ => reply.complete(Err(Status::ERROR)),
        });
    }

    /// Returns and forgets the tool that awaits the end of this change of the DVM's size.
    pub(super) fn take_requester(&mut self, request: RequestId) -> Option<Proc> {
        self.resizing.borrow_mut().remove(&request)
    }

    /// Returns the tool that wants a warning before the time of this request's session is over.
    pub(super) fn to_be_warned(&self, request: RequestId) -> Option<Proc> {
        self.warned.borrow().get(&request).cloned()
    }

    /// Forgets all tools, because the library is gone.
    pub(super) fn forget_all(&mut self) {
        let tools: Vec<_> = self.tools.keys().cloned().collect();
        tools.iter().for_each(|tool| self.forget(tool));
    }

    /// Forgets a tool, and ends its jobs. Its sessions end, each in its way; its changes of the DVM remain.
    fn forget(&mut self, tool: &Proc) {
        let asked = self.asked.extract_if(.., |_, owner| owner == tool).map(|(request, _)| request);
        let asked: Vec<RequestId> = asked.collect();
        tracing::debug!(?tool, ?asked, "a PMIx tool is gone");
        self.schedulers.remove(tool);
        self.warned.borrow_mut().retain(|_, asker| asker != tool);
        let resizing: Vec<_> = self.resizing.borrow_mut().extract_if(.., |_, requester| requester == tool).collect();
        self.connections.remove(tool);
        let Some(Tool { requests, jobs }) = self.tools.remove(tool) else { return };
        self.pulls.part_with(tool);
        self.feeds.part_with(tool);
        self.ends.notify_one();
        let owners = if asked.is_empty() { Vec::new() } else { jobs.iter().map(|(request, _)| *request).collect() };
        requests.tool_gone(asked.into_iter().chain(owners).collect());
        resizing.into_iter().for_each(|(request, _)| requests.gone(request));
        jobs.iter().filter(|(_, job)| !*job.over.borrow()).for_each(|(request, _)| requests.gone(*request));
    }
}

/// A job that a tool has spawned.
struct ToolJob {
    tool: Proc,
    pulls: Pulls,
    /// Rings when it is over.
    ends: Rc<Notify>,
    /// The readers of its standard input.
    stdin: StdinTarget,
    dvm: String,
    library: Library,
    /// True when the tool is told here that the job has begun.
    tells_start: bool,
    requests: Requests,
    request: RefCell<Option<RequestId>>,
    phase: RefCell<Phase>,
    nspace: RefCell<String>,
    pushed: RefCell<Pushed>,
    over: RefCell<bool>,
}

/// The tool's knowledge of its job.
enum Phase {
    /// The tool knows nothing; output waits for the answer, which names the job to the tool.
    Asked(Completer<String>, Vec<(Rank, Stream, Bytes, Receipt)>),
    /// The job runs.
    Runs,
    /// The job never runs.
    Refused,
}

impl ToolJob {
    fn new(
        tool: Proc,
        dvm: &str,
        spawned: Completer<String>,
        library: &Library,
        requests: Requests,
        pulls: Pulls,
        tells_start: bool,
    ) -> ToolJob {
        ToolJob {
            tool,
            pulls,
            ends: Rc::default(),
            stdin: StdinTarget::None,
            tells_start,
            dvm: dvm.to_owned(),
            library: library.clone(),
            requests,
            request: RefCell::default(),
            phase: RefCell::new(Phase::Asked(spawned, Vec::new())),
            nspace: RefCell::default(),
            pushed: RefCell::default(),
            over: RefCell::default(),
        }
    }

    fn push(&self, data: Bytes, reply: Completer<()>) {
        self.pushed.borrow_mut().push(data, reply);
        self.feed();
    }

    fn feed(&self) {
        let Some(request) = *self.request.borrow() else { return };
        let piece = self.pushed.borrow_mut().next();
        piece.into_iter().for_each(|piece| self.requests.stdin(request, piece));
    }

    fn whole(&self) -> Proc {
        Proc::new(self.nspace.borrow().clone(), Proc::WILDCARD)
    }

    /// Answers the spawn, once.
    fn answer(&self, result: Result<(), Status>) {
        let next = if result.is_ok() { Phase::Runs } else { Phase::Refused };
        let mut phase = self.phase.borrow_mut();
        if !matches!(*phase, Phase::Asked(..)) {
            return;
        }
        if let Phase::Asked(spawned, kept) = std::mem::replace(&mut *phase, next) {
            drop(phase);
            let is_refused = result.is_err();
            spawned.complete(result.map(|()| self.nspace.borrow().clone()));
            for (rank, stream, data, receipt) in kept {
                if is_refused {
                    let text = String::from_utf8_lossy(&data).into_owned();
                    tracing::warn!(text, "what a PMIx tool wanted to spawn does not run");
                }
                self.output(rank, stream, data, receipt);
            }
        }
    }
}

impl Submitter for ToolJob {
    fn accepted(&self, nspace: String) {
        self.pulls.comes_anyway(&nspace);
        *self.nspace.borrow_mut() = nspace;
    }

    fn launched(&self, result: Result<(), PmixStatus>) {
        let runs = result.is_ok();
        self.answer(result.map_err(|status| Status(status.0)));
        if self.tells_start && runs {
            self.library.job_start(&self.tool, &self.whole());
        }
    }

    /// The text contains its tags already.
    fn output(&self, rank: Rank, stream: Stream, data: Bytes, receipt: Receipt) {
        match &mut *self.phase.borrow_mut() {
            Phase::Asked(_, kept) => kept.push((rank, stream, data, receipt)),
            // The tool has no name for the job under which to show it.
            Phase::Refused => drop(receipt),
            Phase::Runs => {
                let nspace = self.nspace.borrow().clone();
                let is_pulled = self.pulls.has(&nspace);
                self.library.deliver(Proc::new(nspace, rank.0), stream, data, is_pulled, receipt);
            }
        }
    }

    fn ready_for_debug(&self) {
        let server = Proc::new(JobId::DAEMONS.nspace(&self.dvm), 0);
        self.library.notify(events::ready_for_debug(server, self.tool.clone(), self.whole()));
    }

    fn notice(&self, text: String) {
        self.output(Rank(0), Stream::Stderr, Bytes::from(notice::framed(&text)), Receipt::none());
    }

    fn read_stdin(&self, limit: usize) {
        self.pushed.borrow_mut().read(limit);
        self.feed();
    }

    fn reply(&self, reply: Reply) {
        *self.over.borrow_mut() = true;
        let exit_code = match reply {
            Reply::Done(done) => i32::from(done.exit_code),
            _ => 1,
        };
        // A job that was only to be mapped ends without having run.
        self.answer(if exit_code == 0 { Ok(()) } else { Err(Status::ERROR) });
        self.pushed.borrow_mut().end(Status::IOF_COMPLETE);
        if matches!(*self.phase.borrow(), Phase::Runs) {
            self.library.job_end(self.tool.clone(), self.whole(), exit_code);
        }
        self.pulls.is_over(&self.nspace.borrow(), &self.library, Some(&self.tool));
        self.ends.notify_one();
    }
}
