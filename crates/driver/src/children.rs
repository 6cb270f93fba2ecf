//! The local processes of jobs: starts, reads, writes, signals and reaps them. The engine calls [`Processes`] for the
//! effects of the machine; everything that happens to a process comes back as an [`Input`]. The machine decides when to
//! signal a process and when a job is over.
//!
//! Each process is reaped through its own pidfd, so children of other owners in this process (the launcher's) are never
//! touched. This process is also a subreaper: orphans of a job's processes become its children, stay within reach of
//! signals, and are reaped here.

mod orphans;
mod sockets;
mod stacks;
mod starter;
mod starts;
mod told;
mod tree;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use ferrite_core::{DaemonInput, Input, SpawnRequest, TIDY_MS};
use ferrite_types::{self as types, ExitStatus, JobId, ProcId};
use ferrite_wire::{StartError, StartErrorKind, Stream};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process, kill_process_group, waitid};
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::spawn_local;

use crate::Inbox;
use crate::memory_limit::MemoryLimits;
use crate::params;
use crate::segments::Sweeper;
use crate::session_dir::SessionDir;
use crate::spawn::{MemoryPolicy, Spawner, Started};
use crate::stdio::{Chunk, Progress, Reader, Writer, nonblocking, watched};
use orphans::Orphans;
pub(crate) use sockets::{Holder, Holders};
use stacks::Stacks;
use starter::{Order, Outcome, Starter};
use starts::{Act, Starts};
use told::Told;

/// Environment variable that marks every process of a job and its descendants, unless one clears its environment: `<pid
/// of the daemon>.<job>.<rank>`.
const MARK: &str = "PRTE_LOCAL_PROC";

/// Number of passes over the process tree when a job is killed: a process that is to die may start another meanwhile.
const KILL_PASSES: usize = 4;

/// The processes that this daemon started for jobs.
pub(crate) struct Processes {
    started: Rc<StartedOnes>,
    session_dir: SessionDir,
    starter: Starter,
    stacks: Stacks,
    segments: Sweeper,
}

/// The processes whose start is over, and the acts for the others.
struct StartedOnes {
    inbox: Inbox,
    table: Table,
    running: Rc<Cell<usize>>,
    /// Signals go to processes and not to what they have started.
    direct_only: bool,
    told: Told,
    orphans: Rc<Orphans>,
    starts: Rc<Starts>,
    limits: Rc<RefCell<MemoryLimits>>,
}

type Table = Rc<RefCell<BTreeMap<ProcId, Local>>>;

/// A started process. The entry stays until its job is cleaned, because its orphans are found by its group.
struct Local {
    pid: Pid,
    /// Its process group, until the kernel reuses the number.
    group: Option<Pid>,
    reaped: bool,
    stdout: Option<Rc<Reader>>,
    stderr: Option<Rc<Reader>>,
    stdin: Option<Writer>,
}

impl Local {
    fn stream(&mut self, stream: Stream) -> &mut Option<Rc<Reader>> {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }

    /// Ends the waiting for this process.
    fn end(&self) {
        if let Some(stdin) = &self.stdin {
            stdin.abandon();
        }
        if !self.reaped {
            let _ = kill_process_group(self.pid, Signal::KILL);
        }
    }
}

impl Processes {
    /// Makes this process a subreaper. Needs a runtime; the environment that processes inherit is read now.
    pub(crate) fn new(
        inbox: Inbox,
        session_dir: &SessionDir,
        memory: Option<MemoryPolicy>,
        parameters: &[(String, String)],
    ) -> io::Result<Self> {
        let starts = Rc::<Starts>::default();
        let started = Rc::new(StartedOnes {
            inbox,
            direct_only: params::is_on(parameters, "odls_base_signal_direct_children_only"),
            told: Told::of(parameters),
            orphans: Rc::new(Orphans::adopt(Rc::clone(&starts))?),
            table: Table::default(),
            running: Rc::new(Cell::new(0)),
            starts,
            limits: Rc::default(),
        });
        let (sender, mut outcomes) = unbounded_channel();
        let settling = Rc::clone(&started);
        spawn_local(async move {
            while let Some(outcome) = outcomes.recv().await {
                settling.settle(outcome);
            }
        });
        Ok(Processes {
            started,
            session_dir: session_dir.clone(),
            starter: Starter::new(Spawner::new(memory, parameters)?, sender),
            stacks: Stacks::default(),
            segments: Sweeper::default(),
        })
    }

    /// Finds which processes of jobs hold a socket.
    pub(crate) fn holders(&self) -> Holders {
        let StartedOnes { table, orphans, starts, .. } = &*self.started;
        Holders::new(table.clone(), orphans.clone(), starts.clone())
    }

    /// Starts a process; answered by `Spawned` or `SpawnFailed`. While other processes run, a thread starts it, because
    /// the loop has to hear of the others (spec L110). A process that is to stop is started here, where it is quick:
    /// the thread that starts it waits for the stop.
    pub(crate) fn spawn(
        &mut self,
        proc: ProcId,
        mut request: SpawnRequest,
        mut env: Vec<(String, String)>,
        fds: Vec<(RawFd, OwnedFd)>,
    ) {
        self.segments.begin(proc.job);
        env.push((MARK.to_owned(), mark(proc)));
        let prepared = if request.session_cwd { self.own_dir(proc, &mut request) } else { Ok(()) };
        if let Err(error) = prepared {
            return self.started.settle(Outcome { proc, request, started: Err(error) });
        }
        let group = match request.memory {
            Some(bytes) => match self.limited(proc, bytes) {
                Ok(group) => group,
                Err(error) => return self.started.settle(Outcome { proc, request, started: Err(error) }),
            },
            None => None,
        };
        let is_alone = self.started.running.get() == 0 && self.started.starts.is_empty();
        let is_here = is_alone || request.stopped;
        let mut order = Order { proc, request, env, fds, group };
        if !is_here {
            order = match self.starter.start_beside(order) {
                None => return self.started.starts.begin(proc),
                Some(order) => order,
            };
        }
        self.started.settle(self.starter.start_here(order));
    }

    /// Prepares the limit of a process's memory. Says once why there is none here.
    fn limited(&self, proc: ProcId, bytes: u64) -> Result<Option<OwnedFd>, StartError> {
        let mut limits = self.started.limits.borrow_mut();
        let group = limits.prepare(proc, bytes)?;
        if let Some(obstacle) = limits.obstacle() {
            self.started.tell(Input::Daemon(DaemonInput::MemoryNotLimited { job: proc.job, obstacle }));
        }
        Ok(group)
    }

    /// Makes the process's own directory its working directory. The directory goes with the job.
    fn own_dir(&self, proc: ProcId, request: &mut SpawnRequest) -> Result<(), StartError> {
        let make = || -> io::Result<String> {
            let dir = self.session_dir.dir()?.join(proc.job.to_string()).join(proc.rank.to_string());
            std::fs::create_dir_all(&dir)?;
            if request.preloaded {
                crate::stage::link_into(&dir, &dir.with_file_name(crate::stage::FILES))?;
            }
            Ok(dir.to_string_lossy().into_owned())
        };
        let failed = |error| StartError {
            kind: StartErrorKind::Directory,
            detail: format!("a directory below the session directory: {error}"),
        };
        request.wdir = make().map_err(failed)?;
        request.wdir_given = true;
        Ok(())
    }

    /// Signals a process and all of its descendants, including its orphans.
    pub(crate) fn signal(&mut self, proc: ProcId, signal: types::Signal) {
        self.started.apply(proc, Act::Signal(signal));
    }

    /// Takes the stacks of processes of a job with a debugger; answered by `StackTaken` for each, and `StacksTaken`.
    pub(crate) fn take_stacks(&mut self, job: JobId, procs: &[ProcId], until: tokio::time::Instant, most: usize) {
        let table = self.started.table.borrow();
        let pid = |proc: &ProcId| Some((*proc, table.get(proc).filter(|local| !local.reaped)?.pid));
        let procs = procs.iter().filter_map(pid).collect();
        self.stacks.take(job, procs, until, most, self.started.inbox.clone());
    }

    /// Reads once; answered by `Output` or `OutputClosed`. A stream that does not exist is closed.
    pub(crate) fn read_output(&mut self, proc: ProcId, stream: Stream, limit: usize) {
        self.started.apply(proc, Act::Read(stream, limit));
    }

    /// Answers `OutputIdle` unless something waits to be read.
    pub(crate) fn check_output(&mut self, proc: ProcId, stream: Stream) {
        let mut table = self.started.table.borrow_mut();
        let Some(local) = table.get_mut(&proc) else {
            return;
        };
        let writer_runs = !local.reaped && tree::is_running(local.pid);
        if local.stream(stream).as_ref().is_some_and(|reader| reader.is_idle()) {
            self.started.tell(Input::Daemon(DaemonInput::OutputIdle { proc, stream, writer_runs }));
        }
    }

    /// Writes to a standard input, in order after earlier writes; answered by `StdinTaken`.
    pub(crate) fn write_stdin(&mut self, proc: ProcId, data: Bytes) {
        self.started.apply(proc, Act::Write(data));
    }

    /// Closes a standard input after all earlier writes.
    pub(crate) fn close_stdin(&mut self, proc: ProcId) {
        self.started.apply(proc, Act::Close);
    }

    /// Ends all remaining processes of a job, and removes its directory and the shared memory that it has left (spec
    /// L138).
    pub(crate) fn clean_job(&mut self, job: JobId) {
        self.stacks.stop(job);
        self.started.starts.give_up(job);
        self.started.end_all(|proc| proc.job == job);
        // Most jobs have no directory.
        let _ = std::fs::remove_dir_all(self.session_dir.path().join(job.to_string()));
        self.segments.end(job);
        self.started.limits.borrow_mut().sweep();
    }
}

impl StartedOnes {
    /// Ends a start: takes charge of the process, reports it, and does what waited for it (spec L111).
    fn settle(&self, outcome: Outcome) {
        let Outcome { proc, request, started } = outcome;
        self.told.start(proc, &request, started.as_ref());
        match started.and_then(|s| self.adopt(proc, s).map_err(|e| no_room(&e))) {
            Ok(pid) => self.tell(Input::Daemon(DaemonInput::Spawned { proc, pid })),
            Err(error) => {
                self.limits.borrow_mut().ended(proc);
                self.tell(Input::Daemon(DaemonInput::SpawnFailed { proc, error }));
            }
        }
        let waiting = self.starts.settle(proc);
        waiting.acts.into_iter().for_each(|act| self.carry_out(proc, act));
        if waiting.unwanted {
            self.end_all(|other| other == proc);
        }
    }

    /// Acts on a process now, or when its start is over (spec L111).
    fn apply(&self, proc: ProcId, act: Act) {
        if let Some(act) = self.starts.keep(proc, act) {
            self.carry_out(proc, act);
        }
    }

    fn carry_out(&self, proc: ProcId, act: Act) {
        match act {
            Act::Signal(signal) => self.signal(proc, signal),
            Act::Write(data) => self.write_stdin(proc, data),
            Act::Close => self.close_stdin(proc),
            Act::Read(stream, limit) => self.read_output(proc, stream, limit),
        }
    }

    fn signal(&self, proc: ProcId, signal: types::Signal) {
        let Some(signal) = Signal::from_named_raw(signal.0) else {
            return;
        };
        let Some((pid, reaped)) = self.table.borrow().get(&proc).map(|l| (l.pid, l.reaped)) else {
            return;
        };
        // A signal that kills goes to all of them: a job leaves nothing behind.
        if self.direct_only && signal != Signal::KILL {
            if !reaped {
                let _ = kill_process(pid, signal);
            }
            return;
        }
        let group = self.group_of(proc);
        let outside = || {
            let mut below = self.orphans.matching(|o| belongs_to(o, proc, group));
            if !reaped {
                below.extend(tree::descendants_of(pid));
                below.retain(|p| !tree::is_in_group(*p, pid));
            }
            below
        };
        // This search comes before the group is signalled: a process that has lost its parent is harder to find.
        let first = outside();
        if !reaped {
            // The process is not reaped yet, so its number is not reused. The kernel signals a group in one step.
            let _ = kill_process_group(pid, signal);
        }
        send_to_each(first, outside, signal);
    }

    fn read_output(&self, proc: ProcId, stream: Stream, limit: usize) {
        let mut table = self.table.borrow_mut();
        let Some(reader) = table.get_mut(&proc).and_then(|l| l.stream(stream).clone()) else {
            return self.tell(Input::Daemon(DaemonInput::OutputClosed { proc, stream }));
        };
        drop(table);
        let ends = OutputEnds { inbox: self.inbox.clone(), table: self.table.clone(), proc, stream };
        match reader.try_read(limit) {
            Some(chunk) => ends.deliver(chunk, &reader),
            None => drop(spawn_local(async move {
                let chunk = reader.read(limit).await;
                ends.deliver(chunk, &reader);
            })),
        }
    }

    fn write_stdin(&self, proc: ProcId, data: Bytes) {
        let writer = self.table.borrow().get(&proc).and_then(|l| l.stdin.clone());
        match writer {
            Some(writer) => writer.write(data),
            None => self.tell(Input::Daemon(DaemonInput::StdinTaken { proc, bytes: data.len() as u64 })),
        }
    }

    fn close_stdin(&self, proc: ProcId) {
        let writer = self.table.borrow().get(&proc).and_then(|l| l.stdin.clone());
        if let Some(writer) = writer {
            writer.close();
        }
    }

    /// Ends these processes with all that they have started, and forgets them. When they have ended themselves, what
    /// they have left gets SIGTERM and a moment before SIGKILL: helpers of a program tidy up after it (spec L156).
    fn end_all(&self, wanted: impl Fn(ProcId) -> bool) {
        let gone: Vec<_> = self.table.borrow_mut().extract_if(.., |proc, _| wanted(*proc)).collect();
        if gone.iter().all(|(_, local)| local.reaped) {
            return self.end_left(&gone);
        }
        let left = || {
            let of_job = |o| gone.iter().any(|(proc, local)| belongs_to(o, *proc, local.group));
            let mut left = self.orphans.matching(of_job);
            let unreaped = gone.iter().filter(|(_, local)| !local.reaped);
            left.extend(unreaped.flat_map(|(_, local)| tree::descendants_of(local.pid)));
            left
        };
        // As with a signal, the search comes before the end of the groups: a process that has left its group is found
        // below its parent as long as that lives.
        let first = left();
        gone.iter().for_each(|(_, local)| local.end());
        send_to_each(first, left, Signal::KILL);
    }

    /// Ends what these processes have left.
    fn end_left(&self, gone: &[(ProcId, Local)]) {
        let of_job = |orphan| gone.iter().any(|(proc, local)| belongs_to(orphan, *proc, local.group));
        let asked: HashSet<(Pid, u64)> =
            self.orphans.matching(of_job).into_iter().filter_map(|pid| Some((pid, tree::began(pid)?))).collect();
        if asked.is_empty() {
            return;
        }
        send_to_each(asked.iter().map(|(pid, _)| *pid).collect(), Vec::new, Signal::TERM);
        let (orphans, procs) = (Rc::clone(&self.orphans), gone.iter().map(|(proc, _)| *proc).collect::<Vec<_>>());
        spawn_local(async move {
            tokio::time::sleep(Duration::from_millis(TIDY_MS)).await;
            // By now others may have these numbers, also that of the group.
            let is_same = |pid| tree::began(pid).is_some_and(|began| asked.contains(&(pid, began)));
            let is_left = |pid| is_same(pid) || procs.iter().any(|proc| belongs_to(pid, *proc, None));
            send_to_each(orphans.matching(is_left), || orphans.matching(is_left), Signal::KILL);
        });
    }

    /// Takes charge of a new process. When that is impossible the process does not stay.
    fn adopt(&self, proc: ProcId, started: Started) -> io::Result<u32> {
        let pid = started.pid;
        let result = self.enter(proc, started);
        if result.is_err() {
            let _ = kill_process_group(pid, Signal::KILL);
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
        }
        result.map(|()| pid.as_raw_nonzero().get().unsigned_abs())
    }

    fn enter(&self, proc: ProcId, started: Started) -> io::Result<()> {
        let Started { pid, pidfd, stdin, stdout, stderr } = started;
        let pidfd = watched(pidfd)?;
        let inbox = self.inbox.clone();
        let tell = move |progress| {
            // A process that reads no more is no failure: the rest was dropped and counted.
            if let Progress::Taken(bytes) = progress {
                let _ = inbox.send(Input::Daemon(DaemonInput::StdinTaken { proc, bytes }));
            }
        };
        let reader = |fd| Reader::new(fd).map(Rc::new);
        let local = Local {
            pid,
            group: Some(pid),
            reaped: false,
            stdout: Some(reader(stdout)?),
            stderr: stderr.map(reader).transpose()?,
            stdin: stdin.map(nonblocking).transpose()?.map(|fd| Writer::new(Rc::new(fd), tell)),
        };
        let mut table = self.table.borrow_mut();
        // The kernel has reused the number: orphans of its former owner are known only by their mark from now on.
        for other in table.values_mut().filter(|o| o.group == Some(pid)) {
            other.group = None;
        }
        table.insert(proc, local);
        self.orphans.own().borrow_mut().insert(pid);
        self.running.set(self.running.get() + 1);
        spawn_local(watch(Child {
            proc,
            pid,
            pidfd,
            inbox: self.inbox.clone(),
            table: self.table.clone(),
            own: self.orphans.own().clone(),
            running: self.running.clone(),
            limits: self.limits.clone(),
        }));
        Ok(())
    }

    fn group_of(&self, proc: ProcId) -> Option<Pid> {
        self.table.borrow().get(&proc).and_then(|l| l.group)
    }

    fn tell(&self, input: Input) {
        // The machine is gone only while this process is ending.
        let _ = self.inbox.send(input);
    }
}

/// State of the task that waits for the end of one process.
struct Child {
    proc: ProcId,
    pid: Pid,
    pidfd: AsyncFd<OwnedFd>,
    inbox: Inbox,
    table: Table,
    own: orphans::Own,
    running: Rc<Cell<usize>>,
    limits: Rc<RefCell<MemoryLimits>>,
}

async fn watch(child: Child) {
    let status = wait_for_end(&child.pidfd).await;
    let proc = child.proc;
    // The entry may have been removed with its job, or belong to another process by now.
    if let Some(local) = child.table.borrow_mut().get_mut(&proc)
        && local.pid == child.pid
    {
        local.reaped = true;
    }
    child.own.borrow_mut().remove(&child.pid);
    child.running.set(child.running.get() - 1);
    if child.limits.borrow_mut().ended(proc) {
        let _ = child.inbox.send(Input::Daemon(DaemonInput::OverMemory(proc)));
    }
    let _ = child.inbox.send(Input::Daemon(DaemonInput::Exited { proc, status }));
}

async fn wait_for_end(pidfd: &AsyncFd<OwnedFd>) -> ExitStatus {
    loop {
        let ready = pidfd.readable().await;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        match (waitid(WaitId::PidFd(pidfd.get_ref().as_fd()), options), ready) {
            (Ok(Some(status)), _) => return exit_status(&status),
            (Ok(None) | Err(rustix::io::Errno::INTR), Ok(mut ready)) => ready.clear_ready(),
            // Only this task may reap the process; if it was reaped elsewhere, its exit status is unknown.
            (Ok(None) | Err(_), _) => return ExitStatus::Exited(1),
        }
    }
}

fn exit_status(status: &WaitIdStatus) -> ExitStatus {
    let byte = |n: i32| (n & 0xff) as u8;
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => ExitStatus::Exited(byte(code)),
        (None, Some(signal)) => ExitStatus::Signaled(types::Signal(signal)),
        (None, None) => ExitStatus::Exited(1),
    }
}

/// The destination of one stream's output.
struct OutputEnds {
    inbox: Inbox,
    table: Table,
    proc: ProcId,
    stream: Stream,
}

impl OutputEnds {
    fn deliver(self, chunk: Chunk, reader: &Rc<Reader>) {
        let (proc, stream) = (self.proc, self.stream);
        let input = match chunk {
            Chunk::Data(data) => Input::Daemon(DaemonInput::Output { proc, stream, data }),
            Chunk::Closed => {
                if let Some(local) = self.table.borrow_mut().get_mut(&proc) {
                    local.stream(stream).take_if(|r| Rc::ptr_eq(r, reader));
                }
                Input::Daemon(DaemonInput::OutputClosed { proc, stream })
            }
        };
        let _ = self.inbox.send(input);
    }
}

/// True for an orphan of this process: it is in the group or carries the mark.
fn belongs_to(orphan: Pid, proc: ProcId, group: Option<Pid>) -> bool {
    // A process with the group's own number is a new one that is not in the table yet.
    group.is_some_and(|g| g != orphan && tree::is_in_group(orphan, g))
        || tree::variable_of(orphan, MARK).is_some_and(|m| m == mark(proc))
}

fn mark(proc: ProcId) -> String {
    let daemon = rustix::process::getpid().as_raw_nonzero();
    format!("{daemon}.{}.{}", proc.job, proc.rank)
}

/// Signals each of `first`; with a signal that kills, also the processes that they started meanwhile.
fn send_to_each(first: Vec<Pid>, again: impl Fn() -> Vec<Pid>, signal: Signal) {
    let mut done = HashSet::new();
    let mut next = first;
    for _ in 0..KILL_PASSES {
        next.retain(|pid| done.insert(*pid));
        for pid in &next {
            let _ = kill_process(*pid, signal);
        }
        if next.is_empty() || signal != Signal::KILL {
            break;
        }
        next = again();
    }
}

fn no_room(error: &io::Error) -> StartError {
    StartError { kind: StartErrorKind::System, detail: format!("watching the process: {error}") }
}

#[cfg(test)]
impl Processes {
    /// Processes that were started and not reaped.
    pub(crate) fn running(&self) -> usize {
        self.started.running.get()
    }

    /// Stands for a start that is under way until it is settled.
    pub(crate) fn hold_start(&self, proc: ProcId) -> impl FnOnce() + use<> {
        let starts = Rc::clone(&self.started.starts);
        starts.begin(proc);
        move || drop(starts.settle(proc))
    }
}

#[cfg(test)]
mod tests;
