//! Actions of virtual processes, and the inputs by which their daemon learns of them.

use ferrite_core::{AbortScope, DaemonInput, Input, PmixCall, PmixToken};
use ferrite_types::{DaemonRank, ExitStatus, ProcId, Signal};
use ferrite_wire::{Members, Stream};

use crate::event::Event;
use crate::invariants::Observation;
use crate::pmix::{Meeting, Waiting};
use crate::process::{Process, Step};
use crate::queue::Time;
use crate::world::World;

const STREAMS: [Stream; 2] = [Stream::Stdout, Stream::Stderr];

/// Of so many ranks one does not wait for the answer to its finalize, as a client of a library that is slow.
const IMPATIENT: u32 = 6;

/// The reason why a process is stopped for now.
enum Stop {
    /// Something outside must happen first.
    Blocked,
    /// Time must pass.
    For(Time),
    /// It is over.
    End(ExitStatus),
}

impl World {
    pub(crate) fn process(&mut self, rank: DaemonRank, proc: ProcId) -> Option<&mut Process> {
        self.hosts.get_mut(&rank)?.procs.get_mut(&proc).filter(|p| p.ended.is_none())
    }

    pub(crate) fn wake(&mut self, rank: DaemonRank, proc: ProcId) {
        if let Some(process) = self.process(rank, proc) {
            process.waiting = false;
            process.unborn = false;
            self.advance(rank, proc);
        }
    }

    /// Lets a process do what it can do now.
    fn advance(&mut self, rank: DaemonRank, proc: ProcId) {
        while let Some(process) = self.process(rank, proc).filter(|p| !p.waiting && !p.stopped) {
            let step = process.steps.pop_front();
            match self.step(rank, proc, step) {
                None => {}
                Some(Stop::Blocked) => return,
                Some(Stop::For(time)) => {
                    if let Some(process) = self.process(rank, proc) {
                        process.waiting = true;
                    }
                    return self.queue.after(time, Event::Wake(rank, proc));
                }
                Some(Stop::End(status)) => return self.end_process(rank, proc, status),
            }
        }
    }

    /// Performs a step; `None` when it is done and the next may follow.
    fn step(&mut self, rank: DaemonRank, proc: ProcId, step: Option<Step>) -> Option<Stop> {
        match step {
            None => Some(Stop::End(ExitStatus::Exited(0))),
            Some(Step::Pause(time)) => Some(Stop::For(time)),
            Some(Step::Lines(stream, count)) => self.write_lines(rank, proc, stream, count),
            Some(Step::ReadStdin) => self.consume_stdin(rank, proc),
            Some(Step::Init) => {
                self.process(rank, proc)?.has_called = true;
                self.observe(&Observation::Init {
                    rank,
                    proc,
                    known: self.hosts.get(&rank).is_some_and(|h| h.pmix.knows(proc.job)),
                });
                Some(Stop::For(self.upcall(rank, Input::Daemon(DaemonInput::Pmix(PmixCall::ClientConnected(proc))))))
            }
            Some(Step::Finalize) => {
                let heard = self.upcall(rank, Input::Daemon(DaemonInput::Pmix(PmixCall::ClientFinalized(proc))));
                // The call returns when the daemon has heard of it, or when the process has waited long enough.
                Some(Stop::For(if proc.rank.0 % IMPATIENT == IMPATIENT - 1 { 1 } else { heard }))
            }
            Some(Step::Fence) => {
                self.gather(rank, proc, Meeting::Fence, Members::of(proc.job, Vec::new()));
                Some(Stop::Blocked)
            }
            Some(Step::Abort(code)) => {
                self.process(rank, proc)?.waiting = true;
                let token = self.ask(rank, Waiting::Abort(proc));
                let message = "gives up".to_owned();
                self.upcall(
                    rank,
                    Input::Daemon(DaemonInput::Pmix(PmixCall::Abort {
                        proc,
                        code,
                        message,
                        scope: AbortScope::Job,
                        token,
                    })),
                );
                Some(Stop::Blocked)
            }
            Some(Step::Exit(code)) => Some(Stop::End(ExitStatus::Exited(code))),
            Some(Step::Die(signal)) => Some(Stop::End(ExitStatus::Signaled(signal))),
            Some(
                step @ (Step::Spawn(_)
                | Step::Meet(..)
                | Step::Publish(..)
                | Step::Lookup(..)
                | Step::Unpublish(_)
                | Step::Define(_)
                | Step::Group(_)
                | Step::Raise(..)
                | Step::Retire(_)),
            ) => self.call_pmix(rank, proc, &step).then_some(Stop::Blocked),
            Some(Step::Work(all)) => {
                let process = self.process(rank, proc)?;
                process.steps.push_front(Step::Work(all));
                process.waiting = true;
                self.begin_work(rank, proc, all);
                Some(Stop::Blocked)
            }
            Some(Step::Forever) => {
                self.process(rank, proc)?.steps.push_front(Step::Forever);
                Some(Stop::Blocked)
            }
        }
    }

    fn write_lines(&mut self, rank: DaemonRank, proc: ProcId, stream: Stream, count: u64) -> Option<Stop> {
        let process = self.process(rank, proc)?;
        let left = process.write_lines(proc, stream, count);
        if left > 0 {
            process.steps.push_front(Step::Lines(stream, left));
        }
        let served = self.serve(rank, proc);
        (left > 0 && !served).then_some(Stop::Blocked)
    }

    fn consume_stdin(&mut self, rank: DaemonRank, proc: ProcId) -> Option<Stop> {
        let process = self.process(rank, proc)?;
        let taken = process.stdin.flow(true, false);
        let more = !process.stdin.closed;
        if more {
            process.steps.push_front(Step::ReadStdin);
        }
        self.stdin_taken(rank, proc, taken);
        more.then_some(Stop::Blocked)
    }

    fn stdin_taken(&mut self, rank: DaemonRank, proc: ProcId, bytes: usize) {
        if bytes > 0 {
            let delay = self.small_delay();
            let taken = Input::Daemon(DaemonInput::StdinTaken { proc, bytes: bytes as u64 });
            self.queue.after(delay, Event::Input(rank, taken));
        }
    }

    /// Gives output to waiting readers; true when one got some.
    fn serve(&mut self, rank: DaemonRank, proc: ProcId) -> bool {
        let mut served = false;
        for stream in STREAMS {
            let process = self.hosts.get_mut(&rank).and_then(|h| h.procs.get_mut(&proc));
            let Some(data) = process.and_then(|p| p.pipes[stream as usize].read()) else {
                continue;
            };
            served = true;
            let input = if data.is_empty() {
                Input::Daemon(DaemonInput::OutputClosed { proc, stream })
            } else {
                Input::Daemon(DaemonInput::Output { proc, stream, data })
            };
            let delay = self.small_delay();
            self.queue.after(delay, Event::Input(rank, input));
        }
        served
    }

    pub(crate) fn end_process(&mut self, rank: DaemonRank, proc: ProcId, status: ExitStatus) {
        let Some(process) = self.process(rank, proc) else { return };
        process.ended = Some(status);
        self.leave_work(proc);
        let Some(process) = self.hosts.get_mut(&rank).and_then(|host| host.procs.get_mut(&proc)) else { return };
        let (orphan, has_called) = (process.orphan, process.has_called);
        if orphan == 0 {
            process.close_pipes();
        }
        let taken = process.stdin.flow(false, true);
        let lines = STREAMS.map(|s| process.lines(s));
        self.observe(&Observation::ProcEnded { rank, proc, lines });
        let delay = self.small_delay();
        self.queue.after(delay, Event::Input(rank, Input::Daemon(DaemonInput::Exited { proc, status })));
        if has_called {
            self.leaves_meetings(rank, proc);
        }
        self.stdin_taken(rank, proc, taken);
        self.serve(rank, proc);
        if orphan > 0 {
            self.queue.after(orphan, Event::OrphanEnds(rank, proc));
        }
    }

    /// Closes the pipes of a process when their last holder has ended.
    pub(crate) fn orphan_ends(&mut self, rank: DaemonRank, proc: ProcId) {
        if let Some(process) = self.hosts.get_mut(&rank).and_then(|h| h.procs.get_mut(&proc)) {
            process.close_pipes();
            self.serve(rank, proc);
        }
    }

    pub(crate) fn signal(&mut self, rank: DaemonRank, proc: ProcId, signal: Signal) {
        if let Some(status) = self.process(rank, proc).filter(|p| !p.unborn).and_then(|p| p.end_by(signal)) {
            self.end_process(rank, proc, status);
        }
        if signal == Signal::CONT
            && let Some(process) = self.process(rank, proc)
            && std::mem::take(&mut process.stopped)
        {
            self.advance(rank, proc);
        }
        // The whole process group gets the signal; only the process itself may ignore it.
        let group = self.hosts.get_mut(&rank).and_then(|h| h.procs.get_mut(&proc));
        if group.is_some_and(|p| p.ended.is_some() && [Signal::KILL, Signal::TERM].contains(&signal)) {
            self.orphan_ends(rank, proc);
        }
    }

    pub(crate) fn read_output(&mut self, rank: DaemonRank, proc: ProcId, stream: Stream, limit: usize) {
        let process = self.hosts.get_mut(&rank).and_then(|h| h.procs.get_mut(&proc));
        if let Some(process) = process {
            process.pipes[stream as usize].reader = Some(limit);
            if self.serve(rank, proc) {
                self.advance(rank, proc);
            }
        }
    }

    /// Checks that no output waits in a pipe with an open read, after output on its way has arrived.
    pub(crate) fn check_output(&mut self, rank: DaemonRank, proc: ProcId, stream: Stream) {
        self.queue.after(
            1_000,
            Event::Input(rank, Input::Daemon(DaemonInput::OutputIdle { proc, stream, writer_runs: false })),
        );
    }

    pub(crate) fn write_stdin(&mut self, rank: DaemonRank, proc: ProcId, bytes: usize) {
        let Some(process) = self.process(rank, proc) else {
            return self.stdin_taken(rank, proc, bytes);
        };
        process.stdin.pending += bytes;
        let taken = process.stdin.flow(false, false);
        self.stdin_taken(rank, proc, taken);
        self.advance(rank, proc);
    }

    pub(crate) fn close_stdin(&mut self, rank: DaemonRank, proc: ProcId) {
        if let Some(process) = self.process(rank, proc) {
            process.stdin.closed = true;
            self.advance(rank, proc);
        }
    }

    /// Passes an upcall of the PMIx library to the daemon; upcalls stay in order. Returns the delay.
    pub(crate) fn upcall(&mut self, rank: DaemonRank, input: Input) -> Time {
        let now = self.queue.now();
        let due = now + self.small_delay();
        let Some(host) = self.hosts.get_mut(&rank) else { return 0 };
        host.pmix_last = host.pmix_last.max(due);
        let at = host.pmix_last;
        self.queue.at(at, Event::Input(rank, input));
        at - now
    }

    pub(crate) fn ask(&mut self, rank: DaemonRank, waiting: Waiting) -> PmixToken {
        self.next_id += 1;
        let token = PmixToken(self.next_id);
        if let Some(host) = self.hosts.get_mut(&rank) {
            host.pmix.ask(token, waiting);
        }
        token
    }

    /// Handles the answer to an upcall: waiting processes go on, or fail as an MPI program would.
    pub(crate) fn answered(&mut self, rank: DaemonRank, procs: &[ProcId], well: bool) {
        for proc in procs {
            let Some(process) = self.process(rank, *proc) else { continue };
            if !well {
                process.steps.clear();
                process.steps.push_front(Step::Exit(1));
            }
            let delay = self.small_delay();
            self.queue.after(delay, Event::Wake(rank, *proc));
        }
    }
}
