//! PMIx tools of others, such as the reference's own `prun` and `pterm`: what they ask for by way of libpmix becomes
//! the same requests that our own clients make over the control socket. Only [`super::PmixBridge`] uses it, and only at
//! the head of a persistent DVM.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::CStr;
use std::rc::Rc;

use bytes::Bytes;
use ferrite_core::{Account, RequestId};
use ferrite_pmix::{Completer, Info, Proc, Status, Upcall, Value};
use ferrite_pmix_sys as sys;
use ferrite_types::{JobId, PmixStatus};
use ferrite_wire::control::{Reply, Request, Submission};
use ferrite_wire::{ResizeOutcome, ResizeRequest, Stream};

use super::library::Library;
use super::{allocate, spawn};
use crate::control::{Requests, Submitter};
use crate::notice;
use crate::output::credit;

/// Everything about tools.
pub(super) struct Tools {
    requests: Requests,
    dvm: String,
    next: u32,
    /// Connected tools and their jobs.
    tools: BTreeMap<Proc, Vec<(RequestId, Rc<ToolJob>)>>,
    /// Those that have attached as a scheduler: what they want of the DVM's size is pushed, and nobody's own.
    schedulers: BTreeSet<Proc>,
    /// What tools have asked for that they may own.
    asked: BTreeMap<RequestId, Proc>,
    /// Tools whose changes of the DVM's size are under way.
    resizing: Rc<RefCell<BTreeMap<RequestId, Proc>>>,
    /// Tools that want to be told when the time of what they asked for is nearly up.
    warned: Rc<RefCell<BTreeMap<RequestId, Proc>>>,
}

/// True for a tool that says that it is the scheduler, when it attaches or when it asks.
fn is_scheduler(info: &[Info]) -> bool {
    info.iter().any(|info| info.is(sys::PMIX_SERVER_SCHEDULER) && info.value == Value::Bool(true))
}

impl Tools {
    pub(super) fn new(requests: Requests, dvm: &str) -> Tools {
        Tools {
            requests,
            dvm: dvm.to_owned(),
            next: 0,
            tools: BTreeMap::new(),
            schedulers: BTreeSet::new(),
            asked: BTreeMap::new(),
            resizing: Rc::default(),
            warned: Rc::default(),
        }
    }

    /// Takes what comes from a tool; gives back what does not.
    pub(super) fn receive(&mut self, upcall: Upcall, library: &Library) -> Option<Upcall> {
        match upcall {
            Upcall::ToolConnected { info, reply } => self.admit(&info, reply),
            Upcall::Spawn { proc, info, required, apps, reply } if self.tools.contains_key(&proc) => {
                tracing::debug!(?proc, ?info, ?apps, "a PMIx tool spawns a job");
                self.spawn(proc, spawn::wish(&info, &required, &apps, "/"), reply, library);
            }
            Upcall::PushStdin { targets, data, reply, .. } => self.push(&targets, data, reply),
            Upcall::JobControl { proc, targets, directives, reply } if self.tools.contains_key(&proc) => {
                self.control(&targets, &directives, reply);
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

    /// True for a tool that is connected.
    pub(super) fn knows(&self, tool: &Proc) -> bool {
        self.tools.contains_key(tool)
    }

    /// The front door has asked the kernel whose the tool is.
    fn admit(&mut self, info: &[Info], reply: Completer<Proc>) {
        let find = |key: &CStr| info.iter().find(|info| info.is(key)).map(|info| &info.value);
        let number = |key: &CStr| find(key).and_then(Value::as_i64);
        self.next += 1;
        let proc = match find(sys::PMIX_NSPACE).and_then(Value::as_str) {
            Some(nspace) if !nspace.is_empty() => {
                Proc::new(nspace, number(sys::PMIX_RANK).and_then(|r| r.try_into().ok()).unwrap_or(0))
            }
            _ => Proc::new(format!("{}-tool@{}", self.dvm, self.next), 0),
        };
        if self.tools.contains_key(&proc) {
            tracing::warn!(?proc, "a PMIx tool took the name of one that is connected, and was turned away");
            return reply.complete(Err(Status::BAD_PARAM));
        }
        if is_scheduler(info) {
            self.schedulers.insert(proc.clone());
        }
        self.tools.insert(proc.clone(), Vec::new());
        reply.complete(Ok(proc));
    }

    fn spawn(
        &mut self,
        tool: Proc,
        wish: Result<Submission, spawn::Refused>,
        reply: Completer<String>,
        library: &Library,
    ) {
        match wish {
            Ok(submission) => {
                let submission = Submission { launcher: tool.nspace.clone(), ..submission };
                let job = Rc::new(ToolJob::new(tool.clone(), &self.dvm, reply, library, self.requests.clone()));
                let request = self.requests.submit(submission, job.clone());
                *job.request.borrow_mut() = Some(request);
                self.tools.entry(tool).or_default().push((request, job));
            }
            Err(refused) => {
                tracing::warn!(cause = %refused, "what a PMIx tool wants to spawn is refused");
                reply.complete(Err(refused.status()));
            }
        }
    }

    fn push(&self, targets: &[Proc], data: Vec<u8>, reply: Completer<()>) {
        let nspace = targets.first().map(|target| target.nspace.as_str());
        let job = self.tools.values().flatten().find(|(_, job)| nspace == Some(job.nspace.borrow().as_str()));
        match job {
            Some((_, job)) => job.push(data, reply),
            // Its job is over: there is nobody to read it, and nobody to tell that it is lost.
            None => reply.complete(Err(Status::IOF_COMPLETE)),
        }
    }

    fn control(&self, targets: &[Proc], directives: &[Info], reply: Completer<Vec<Info>>) {
        let job = match targets {
            [] => None,
            [first, ..] => match self.job_of(&first.nspace) {
                Some(job) => Some(job),
                None => return reply.complete(Err(Status::NOT_FOUND)),
            },
        };
        let find = |key: &CStr| directives.iter().find(|info| info.is(key));
        let signal = find(sys::PMIX_JOB_CTRL_SIGNAL).and_then(|info| info.value.as_i64());
        let ends = find(sys::PMIX_JOB_CTRL_TERMINATE).or_else(|| find(sys::PMIX_JOB_CTRL_KILL)).is_some();
        let request = match (job, signal.and_then(|s| s.try_into().ok())) {
            (None, None) if ends => Request::Terminate,
            (Some(job), None) if ends => Request::Kill(job),
            (Some(job), Some(signal)) => Request::Signal { job, signal },
            _ => return reply.refuse(),
        };
        self.requests.ask(request, move |answer| {
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
        let id = self.requests.ask_numbered(request, move |id, answer| {
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

    /// A scheduler's change: its answer is all that is said of it.
    fn push_change(&self, tool: &Proc, wish: Result<ResizeRequest, allocate::Refusal>, reply: Completer<Vec<Info>>) {
        let mut wish = match wish {
            Ok(wish) => wish,
            Err(refusal) => return reply.complete(Err(refusal.told(&tool.nspace))),
        };
        if let ResizeRequest::Grow(grow) = &mut wish {
            // What others ask for is for them alone; this is for everybody.
            grow.terms.reserve = false;
        }
        self.requests.ask(Request::Push(Box::new(wish)), |answer| match answer {
            Reply::Resize(resize) => reply.complete(allocate::answer(&resize)),
            _ => reply.complete(Err(Status::ERROR)),
        });
    }

    /// Who is to hear of the end of a change of the DVM's size; once.
    pub(super) fn take_requester(&mut self, request: RequestId) -> Option<Proc> {
        self.resizing.borrow_mut().remove(&request)
    }

    /// Who is to hear that the time of what this request brought is nearly up.
    pub(super) fn to_be_warned(&self, request: RequestId) -> Option<Proc> {
        self.warned.borrow().get(&request).cloned()
    }

    fn job_of(&self, nspace: &str) -> Option<JobId> {
        let number = nspace.strip_prefix(&self.dvm)?.strip_prefix('@')?;
        number.parse().ok().filter(|number| *number > 0).map(JobId)
    }

    /// The library is gone, and all tools with it.
    pub(super) fn forget_all(&mut self) {
        let tools: Vec<_> = self.tools.keys().cloned().collect();
        tools.iter().for_each(|tool| self.forget(tool));
    }

    /// A tool is gone, and so are its jobs. Its sessions end, each in its way; what it has changed of the DVM stays.
    fn forget(&mut self, tool: &Proc) {
        let asked = self.asked.extract_if(.., |_, owner| owner == tool).map(|(request, _)| request);
        let asked: Vec<RequestId> = asked.collect();
        tracing::debug!(?tool, ?asked, "a PMIx tool is gone");
        if !asked.is_empty() {
            let jobs = self.tools.get(tool).into_iter().flatten().map(|(request, _)| *request);
            self.requests.tool_gone(asked.into_iter().chain(jobs).collect());
        }
        self.schedulers.remove(tool);
        self.warned.borrow_mut().retain(|_, asker| asker != tool);
        for (request, _) in self.resizing.borrow_mut().extract_if(.., |_, requester| requester == tool) {
            self.requests.gone(request);
        }
        for (request, job) in self.tools.remove(tool).unwrap_or_default() {
            if !*job.over.borrow() {
                self.requests.gone(request);
            }
        }
    }
}

/// A job that a tool has spawned.
struct ToolJob {
    tool: Proc,
    dvm: String,
    library: Library,
    requests: Requests,
    request: RefCell<Option<RequestId>>,
    phase: RefCell<Phase>,
    nspace: RefCell<String>,
    stdin: RefCell<Stdin>,
    over: RefCell<bool>,
}

/// What the tool knows of its job.
enum Phase {
    /// Nothing yet; what is to be shown waits for the answer, by which the tool learns whose it is.
    Asked(Completer<String>, Vec<(Stream, Bytes, Option<Account>)>),
    /// It runs.
    Runs,
    /// It never will.
    Refused,
}

/// Standard input on its way from the tool: pieces that were pushed, and the read that waits for one.
#[derive(Default)]
struct Stdin {
    pieces: VecDeque<(Bytes, Completer<()>)>,
    limit: Option<usize>,
}

impl ToolJob {
    fn new(tool: Proc, dvm: &str, spawned: Completer<String>, library: &Library, requests: Requests) -> ToolJob {
        ToolJob {
            tool,
            dvm: dvm.to_owned(),
            library: library.clone(),
            requests,
            request: RefCell::default(),
            phase: RefCell::new(Phase::Asked(spawned, Vec::new())),
            nspace: RefCell::default(),
            stdin: RefCell::default(),
            over: RefCell::default(),
        }
    }

    fn push(&self, data: Vec<u8>, reply: Completer<()>) {
        self.stdin.borrow_mut().pieces.push_back((Bytes::from(data), reply));
        self.feed();
    }

    /// A piece for the read that waits. Whoever pushed it goes on when all of it is taken.
    fn feed(&self) {
        let mut stdin = self.stdin.borrow_mut();
        let (Some(request), Some(limit)) = (*self.request.borrow(), stdin.limit) else {
            return;
        };
        let Some((mut data, reply)) = stdin.pieces.pop_front() else {
            return;
        };
        stdin.limit = None;
        let piece = data.split_to(data.len().min(limit));
        if piece.is_empty() {
            reply.complete(Err(Status::IOF_COMPLETE));
        } else if data.is_empty() {
            reply.complete(Ok(()));
        } else {
            stdin.pieces.push_front((data, reply));
        }
        self.requests.stdin(request, piece);
    }

    fn whole(&self) -> Proc {
        Proc::new(self.nspace.borrow().clone(), Proc::WILDCARD)
    }

    /// Answers the spawn, unless that was done.
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
            for (stream, data, account) in kept {
                if is_refused {
                    let text = String::from_utf8_lossy(&data).into_owned();
                    tracing::warn!(text, "what a PMIx tool wanted to spawn does not run");
                }
                self.output(stream, data, account);
            }
        }
    }
}

impl Submitter for ToolJob {
    fn accepted(&self, nspace: String) {
        *self.nspace.borrow_mut() = nspace;
    }

    fn launched(&self, result: Result<(), PmixStatus>) {
        self.answer(result.map_err(|status| Status(status.0)));
    }

    /// Tags are in the text already, so that it does not matter in whose name it goes.
    fn output(&self, stream: Stream, data: Bytes, account: Option<Account>) {
        match &mut *self.phase.borrow_mut() {
            Phase::Asked(_, kept) => kept.push((stream, data, account)),
            // The tool knows no name under which it could be shown.
            Phase::Refused => credit(&self.requests.inbox(), account),
            Phase::Runs => {
                let source = Proc::new(self.nspace.borrow().clone(), 0);
                self.library.deliver(source, stream, data.into(), account, self.requests.inbox());
            }
        }
    }

    fn notice(&self, text: String) {
        self.output(Stream::Stderr, Bytes::from(notice::framed(&text)), None);
    }

    fn read_stdin(&self, limit: usize) {
        self.stdin.borrow_mut().limit = Some(limit);
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
        for (_, pushed) in std::mem::take(&mut self.stdin.borrow_mut().pieces) {
            pushed.complete(Err(Status::IOF_COMPLETE));
        }
        if matches!(*self.phase.borrow(), Phase::Runs) {
            let server = Proc::new(JobId::DAEMONS.nspace(&self.dvm), 0);
            self.library.job_end(server, self.tool.clone(), self.whole(), exit_code);
        }
    }
}
