//! One local process, from its spawn until it has ended *and* its output is complete, in either order.

use ferrite_types::{ExitStatus, JobId, ProcId, ProcState, Rank, Signal};
use ferrite_wire::{HeadMessage, InitState, ProcEnd, StartError, Stream};

use super::Daemon;
use crate::cx::Cx;
use crate::{AbortScope, Effect, PmixEffect};

use super::iof::OutStream;

/// A process of this node.
#[derive(Debug)]
pub(super) struct LocalProc {
    pub(super) state: ProcState,
    pub(super) pid: Option<u32>,
    /// Its exit status, once it was reaped.
    pub(super) exit: Option<ExitStatus>,
    /// True after its init; `finalized` is true after its finalize.
    pub(super) connected: bool,
    pub(super) finalized: bool,
    /// Whether the library has read all calls that it made before its end.
    last_calls: LastCalls,
    /// True after it asked for the end of its job, or of itself.
    pub(super) aborted: bool,
    /// The exit code of its request to end itself alone.
    pub(super) abort_code: Option<u8>,
    /// True when the kill sequence has signalled it.
    pub(super) killed: bool,
    /// True when the head keeps data or lookups of it that go with it: its end is reported at once.
    pub(super) is_kept_for: bool,
    /// True when the system ended it, or a child, because it used more memory than it may.
    over_memory: bool,
    /// True when it was told that it is to end: its end is reported at once.
    pub(super) retires: bool,
    /// True when it was ordered to end, and others of its job go on.
    pub(super) is_retired: bool,
    /// The number of times that it was started again.
    pub(super) restarts: u32,
    pub(super) stdout: OutStream,
    pub(super) stderr: OutStream,
    /// Standard input that the driver has and the process has not taken yet (bytes); `None` = it has no input.
    pub(super) stdin_pending: Option<u64>,
}

/// The library reads what a process has sent when it has time, and a process waits for it two seconds at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LastCalls {
    #[default]
    NotAsked,
    Asked,
    Heard,
}

impl LocalProc {
    pub(super) fn new(reads_stdin: bool) -> LocalProc {
        LocalProc {
            state: ProcState::Init,
            pid: None,
            exit: None,
            connected: false,
            finalized: false,
            last_calls: LastCalls::default(),
            aborted: false,
            abort_code: None,
            killed: false,
            is_kept_for: false,
            over_memory: false,
            retires: false,
            is_retired: false,
            restarts: 0,
            stdout: OutStream::default(),
            stderr: OutStream::default(),
            stdin_pending: reads_stdin.then_some(0),
        }
    }

    pub(super) fn stream_mut(&mut self, stream: Stream) -> &mut OutStream {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }

    fn init_state(&self) -> InitState {
        match (self.connected, self.finalized) {
            (false, _) => InitState::Never,
            (true, false) => InitState::Initialized,
            (true, true) => InitState::Finalized,
        }
    }

    pub(super) fn output_is_through(&self) -> bool {
        self.stdout.closed && self.stderr.closed
    }

    /// True for a process of which nothing is left on this node.
    pub(super) fn has_left(&self) -> bool {
        self.exit.is_some() && self.output_is_through()
    }

    /// True for a process that has ended well but for a finalize of which nothing was heard.
    fn lacks_finalize(&self, status: ExitStatus, exit_without_sync_ok: bool) -> bool {
        status == ExitStatus::Exited(0) && self.connected && !self.finalized && !exit_without_sync_ok
    }

    /// The final state of a process that was started, from its exit status and its calls of init, finalize and abort.
    /// A process is `awaited` when its parent waits for it to call init.
    fn end_state(&self, status: ExitStatus, exit_without_sync_ok: bool, awaited: bool) -> ProcState {
        match status {
            _ if self.aborted => ProcState::CalledAbort,
            _ if self.killed => ProcState::KilledByCmd,
            ExitStatus::Signaled(_) => ProcState::AbortedBySig,
            status if self.lacks_finalize(status, exit_without_sync_ok) => ProcState::TermWoSync,
            ExitStatus::Exited(0) if !self.connected && awaited => ProcState::TermWoSync,
            ExitStatus::Exited(0) => ProcState::Terminated,
            ExitStatus::Exited(_) => ProcState::TermNonZero,
        }
    }
}

/// The notice for the first job whose memory is not limited on a node.
pub(super) fn memory_not_limited(node: &str, obstacle: &str) -> String {
    format!(
        "Memory (--mem) is counted and not limited on node {node}: {obstacle}. Other nodes may be like it; this is said \
         once.\nLimits need a control group (cgroup v2) that is given to the user, such as\n\
         systemd-run --user --scope -p Delegate=yes prte"
    )
}

impl Daemon {
    pub(super) fn on_spawned(&mut self, proc: ProcId, pid: u32, cx: &mut Cx) {
        let leaving = !matches!(self.phase, super::Phase::Member);
        let Some(job) = self.jobs.get_mut(&proc.job) else {
            return;
        };
        let killed = leaving || job.is_being_killed();
        let Some(local) = job.procs.get_mut(&proc.rank) else {
            return;
        };
        let is_first = local.restarts == 0;
        if is_first {
            job.started.push((proc.rank, pid));
        } else {
            cx.send_head(HeadMessage::Restarted { proc, pid });
        }
        local.pid = Some(pid);
        local.killed |= killed;
        set_state(local, proc, ProcState::Running, cx);
        if killed {
            // The order to kill came during the start.
            cx.effect(Effect::Signal { proc, signal: Signal::KILL });
        }
        for stream in [Stream::Stdout, Stream::Stderr] {
            self.read_more(proc, stream, cx);
        }
        if is_first {
            self.report_launch(proc.job, cx);
        } else {
            self.end_stdin_of(proc, cx);
        }
        self.note_stopped(proc, cx);
    }

    pub(super) fn on_spawn_failed(&mut self, proc: ProcId, error: StartError, cx: &mut Cx) {
        let Some(job) = self.jobs.get_mut(&proc.job) else {
            return;
        };
        let Some(local) = job.procs.get_mut(&proc.rank) else {
            return;
        };
        if local.restarts > 0 {
            // The end of a process, as the head has it in its books.
            let (state, status) = (ProcState::FailedToStart, ExitStatus::Exited(1));
            job.ends.push(ProcEnd { rank: proc.rank, state, status, init: InitState::Never, over_memory: false });
        } else {
            job.failed.push((proc.rank, error));
        }
        set_state(local, proc, ProcState::FailedToStart, cx);
        local.stdout.closed = true;
        local.stderr.closed = true;
        self.expect_last_data(proc, cx);
        self.report_launch(proc.job, cx);
        // Other processes may have ended during this attempt, and wait for a common report.
        self.report_ends(proc.job, cx);
    }

    pub(super) fn on_exited(&mut self, proc: ProcId, status: ExitStatus, cx: &mut Cx) {
        let Some(local) = self.proc_mut(proc) else {
            return;
        };
        local.exit = Some(status);
        set_state(local, proc, ProcState::WaitpidFired, cx);
        if !local.output_is_through() && !status.is_success() {
            self.end_descendants(proc, cx);
        }
        self.on_stdin_closed(proc, cx);
        if !self.proc(proc).is_none_or(LocalProc::output_is_through) {
            self.read_last(cx);
        }
        self.try_complete(proc, cx);
    }

    pub(super) fn on_over_memory(&mut self, proc: ProcId) {
        if let Some(local) = self.proc_mut(proc) {
            local.over_memory = true;
        }
    }

    /// Completes a process that was reaped and whose output is complete (spec L24). One that seems to lack a finalize
    /// is judged when the library has read all that it sent (spec L133).
    pub(super) fn try_complete(&mut self, proc: ProcId, cx: &mut Cx) {
        let goes_alone = self.goes_alone();
        let Some(job) = self.jobs.get_mut(&proc.job) else {
            return;
        };
        let sync_ok = job.order.exit_without_sync_ok;
        let awaited = job.order.spec.pmi1.is_some();
        let Some(local) = job.procs.get_mut(&proc.rank) else {
            return;
        };
        let Some(status) = local.exit.filter(|_| local.output_is_through()) else {
            return;
        };
        if local.state.has_ended() {
            return;
        }
        if local.lacks_finalize(status, sync_ok) && local.last_calls != LastCalls::Heard {
            if local.last_calls == LastCalls::NotAsked {
                local.last_calls = LastCalls::Asked;
                cx.effect(Effect::Pmix(PmixEffect::HearOut(proc)));
            }
            return;
        }
        let state = local.end_state(status, sync_ok, awaited);
        let status = local.abort_code.map_or(status, ExitStatus::Exited);
        set_state(local, proc, state, cx);
        job.files.end_lines_of(proc, cx);
        // Processes that end because this daemon leaves are lost with it; the head sees the loss as their cause.
        if !(goes_alone && state == ProcState::KilledByCmd) {
            job.ends.push(ProcEnd {
                rank: proc.rank,
                state,
                status,
                init: local.init_state(),
                over_memory: local.over_memory,
            });
        }
        self.expect_last_data(proc, cx);
        self.report_ends(proc.job, cx);
    }

    /// Reports ends of processes. Ordinary ends are reported together after the last local process; a failure, an end
    /// that others may notice, and that of a process of an elastic job, at once (spec L25, E58), but after the report
    /// of the launch: a process may have ended while others are being started.
    pub(super) fn report_ends(&mut self, id: JobId, cx: &mut Cx) {
        let job = self.job_mut(id);
        if !job.launch_reported {
            return;
        }
        let is_kept_for = |rank| job.procs.get(&rank).is_some_and(|local| local.is_kept_for || local.retires);
        let is_urgent = job.is_elastic() || job.ends.iter().any(|end| end.state.is_error() || is_kept_for(end.rank));
        if !job.ends.is_empty() && (is_urgent || job.living().next().is_none()) {
            let ends = std::mem::take(&mut job.ends);
            cx.send_head(HeadMessage::ProcsEnded { job: id, ends });
        }
    }

    /// Handles a process's init; after the last local one the daemon reports it (spec L21).
    pub(super) fn on_client_connected(&mut self, proc: ProcId, cx: &mut Cx) {
        let Some(job) = self.jobs.get_mut(&proc.job) else {
            return;
        };
        let Some(local) = job.procs.get_mut(&proc.rank) else {
            return;
        };
        local.connected = true;
        local.finalized = false;
        if local.state == ProcState::Running {
            set_state(local, proc, ProcState::Registered, cx);
        }
        if !job.registered && job.procs.values().all(|p| p.connected) {
            job.registered = true;
            cx.send_head(HeadMessage::Registered(proc.job));
        }
    }

    /// Handles a process's finalize. The head hears of those of elastic jobs, which give their slots back (spec E70).
    pub(super) fn on_client_finalized(&mut self, proc: ProcId, cx: &mut Cx) {
        let Some(job) = self.jobs.get_mut(&proc.job) else { return };
        let is_elastic = job.is_elastic();
        if let Some(local) = job.procs.get_mut(&proc.rank) {
            local.finalized = true;
            if is_elastic {
                cx.send_head(HeadMessage::Finalized(proc));
            }
        }
    }

    pub(super) fn on_heard_out(&mut self, proc: ProcId, cx: &mut Cx) {
        let Some(local) = self.proc_mut(proc).filter(|local| local.last_calls == LastCalls::Asked) else { return };
        local.last_calls = LastCalls::Heard;
        self.try_complete(proc, cx);
    }

    pub(super) fn on_abort(&mut self, proc: ProcId, code: i32, message: String, scope: AbortScope, cx: &mut Cx) {
        let tolerant = self.jobs.get(&proc.job).is_some_and(|job| job.order.spec.options.tolerates_failures());
        match scope {
            AbortScope::Caller if tolerant => self.abort_alone(proc, code, cx),
            // The first failure ends the job, so both scopes mean the same.
            AbortScope::Caller | AbortScope::Job => self.abort_from(proc, code, message, cx),
        }
    }

    /// Ends local processes whose end another one has asked for, in a job that goes on without them.
    pub(super) fn on_abort_procs(&mut self, job: JobId, ranks: &[Rank], code: i32, cx: &mut Cx) {
        ranks.iter().for_each(|rank| self.abort_alone(ProcId { job, rank: *rank }, code, cx));
    }

    /// Ends a process whose own end was asked for, in a job that goes on without it.
    fn abort_alone(&mut self, proc: ProcId, code: i32, cx: &mut Cx) {
        let Some(local) = self.proc_mut(proc).filter(|local| local.exit.is_none()) else {
            return;
        };
        local.aborted = true;
        // The exit code as a shell sees exit(code); an abort is never a success.
        local.abort_code = Some(((code & 0xff) as u8).max(1));
        cx.effect(Effect::Signal { proc, signal: Signal::KILL });
    }

    /// Handles a process's request to end its job, by any interface.
    pub(super) fn abort_from(&mut self, proc: ProcId, code: i32, message: String, cx: &mut Cx) {
        if let Some(local) = self.proc_mut(proc) {
            local.aborted = true;
        }
        cx.send_head(HeadMessage::Abort { proc, code, message });
    }
}

/// Changes a process's state; all changes go through here, so that each is traced.
pub(super) fn set_state(local: &mut LocalProc, proc: ProcId, to: ProcState, cx: &mut Cx) {
    cx.trace_proc(proc, local.state, to);
    local.state = to;
}

/// The id of a process from its parts.
pub(super) fn proc_id(job: JobId, rank: Rank) -> ProcId {
    ProcId { job, rank }
}
