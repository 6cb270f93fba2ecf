//! The daemon of one node: comes into the DVM, starts processes and follows them to their end, forwards their I/O,
//! carries their collectives, leaves. It never decides about membership or placement: the head does.

mod bringup;
mod collective;
mod failed;
mod iof;
mod job;
mod kill;
mod leaving;
mod lifeline;
mod modex;
mod pmi1;
mod proc;
mod questions;
mod resize;
mod sessions;

use std::collections::BTreeMap;

use bytes::Bytes;
use ferrite_types::{DaemonRank, Duration, JobId, ProcId, Timestamp};
use ferrite_wire::{CollectiveKind, Message, Ticket};

use self::bringup::Phase;
use self::collective::Collectives;
use self::job::LocalJob;
use self::lifeline::Lifeline;
use self::modex::Modexes;
use self::proc::LocalProc;
use self::questions::Questions;

pub(crate) use self::bringup::describe as describe_end;
pub(crate) use self::collective::{concatenate, merge, participants};
use crate::cx::Cx;
use crate::launches::Launches;
use crate::{Effect, Input, LocalNode, PmixCall, PmixEffect, Timer};

/// One daemon.
#[derive(Debug)]
pub(crate) struct Daemon {
    me: DaemonRank,
    dvm: String,
    local: LocalNode,
    phase: Phase,
    launches: Launches,
    jobs: BTreeMap<JobId, LocalJob>,
    collectives: Collectives,
    modexes: Modexes,
    questions: Questions,
    lifeline: Lifeline,
    resizes: resize::Resizes,
    session_orders: sessions::SessionOrders,
}

impl Daemon {
    /// A daemon that a launcher started.
    pub(crate) fn new(ticket: Ticket, local: LocalNode, silence: Duration) -> Daemon {
        Daemon::in_phase(ticket.rank, ticket.dvm.clone(), local, silence, Phase::Homing(Box::new(ticket)))
    }

    /// The daemon of the head's own node: there from the start.
    pub(crate) fn on_head(dvm: &str, local: LocalNode, silence: Duration) -> Daemon {
        Daemon::in_phase(DaemonRank::HEAD, dvm.to_owned(), local, silence, Phase::Member)
    }

    fn in_phase(me: DaemonRank, dvm: String, local: LocalNode, silence: Duration, phase: Phase) -> Daemon {
        Daemon {
            me,
            dvm,
            local,
            phase,
            launches: Launches::default(),
            jobs: BTreeMap::new(),
            collectives: Collectives::default(),
            modexes: Modexes::default(),
            questions: Questions::default(),
            lifeline: Lifeline::for_silence(silence),
            resizes: resize::Resizes::default(),
            session_orders: sessions::SessionOrders::default(),
        }
    }

    /// Inputs that are not about links or frames.
    pub(crate) fn handle(&mut self, input: Input, cx: &mut Cx) {
        match input {
            Input::Start => self.on_start(cx),
            Input::LauncherEnded { rank, status, message } => self.on_launcher_ended(rank, status, &message, cx),
            Input::Timer(timer) => self.on_timer(timer, cx),
            Input::Terminate { cause } => self.on_terminate(&cause, cx),
            Input::Spawned { proc, pid } => self.on_spawned(proc, pid, cx),
            Input::SpawnFailed { proc, error } => self.on_spawn_failed(proc, error, cx),
            Input::Exited { proc, status } => self.on_exited(proc, status, cx),
            Input::Output { proc, stream, data } => self.on_output(proc, stream, data, cx),
            Input::OutputIdle { proc, stream, writer_runs } => self.on_output_idle(proc, stream, writer_runs, cx),
            Input::OutputClosed { proc, stream } => self.on_output_closed(proc, stream, cx),
            Input::StdinTaken { proc, bytes } => self.on_stdin_taken(proc, bytes, cx),
            Input::Pmix(call) => self.on_pmix(call, cx),
            // The head's affairs; at a daemon nobody makes them.
            Input::Request { .. }
            | Input::ClientGone(_)
            | Input::ToolGone(_)
            | Input::Cancel(_)
            | Input::SignalSubmitted { .. }
            | Input::TasksEnded { .. }
            | Input::Interrupt
            | Input::ForwardSignal(_)
            | Input::Stdin { .. }
            | Input::ReleaseOffered { .. }
            | Input::NodesGranted { .. }
            | Input::NodesRefused { .. }
            | Input::NodesAwaited { .. }
            | Input::AllocationEnded { .. }
            | Input::OutputWritten(_) => {}
            Input::ConnectFailed { .. }
            | Input::LinkUp { .. }
            | Input::LinkActivity { .. }
            | Input::LinkLost { .. }
            | Input::Frame { .. } => {
                unreachable!("the node hands these over itself")
            }
        }
    }

    /// A message whose addressee is a daemon.
    pub(crate) fn receive(&mut self, origin: DaemonRank, message: Message, cx: &mut Cx) {
        match message {
            Message::Rehome { parent, contact } => self.on_rehome(parent, contact, cx),
            Message::Listening(contact) => self.on_listening(origin, contact),
            Message::Above(contacts) => self.on_above(contacts, cx),
            Message::Adopt(orphans) => self.on_adopt(orphans, cx),
            Message::Wireup(wireup) => self.on_wireup(&wireup, cx),
            Message::Exit => self.on_exit_order(cx),
            Message::ResizeReply { id, resize } => self.on_resize_reply(id, resize, cx),
            Message::ResizeDone { proc, resize } => self.on_resize_done(proc, resize, cx),
            Message::TimeWarning { proc, warning } => self.on_time_warning(proc, warning, cx),
            Message::SpawnedEnded { parent, job, code } => self.on_spawned_ended(parent, job, code, cx),
            Message::SessionReply { id, result } => self.on_session_reply(id, result, cx),
            Message::Launch(order) => self.on_launch(*order, cx),
            Message::ProcsFailed { job, failed } => self.on_procs_failed(job, failed, cx),
            Message::Kill(job) => self.on_kill(job, cx),
            Message::Signal { job, signal } => self.on_signal(job, signal, cx),
            Message::Forget(job) => self.on_forget(job, cx),
            Message::OutputCredit { job, bytes } => self.on_output_credit(job, bytes, cx),
            Message::Stdin { job, dest, data } => self.on_stdin(job, dest, data, cx),
            Message::CollectivePart { key, part } => self.on_collective_part(origin, key, part, cx),
            Message::CollectiveDone { key, result } => self.on_collective_done(&key, &result, cx),
            Message::ModexRequest { id, proc } => self.on_modex_request(origin, id, proc, cx),
            Message::ModexReply { id, result } => self.on_modex_reply(id, result, cx),
            Message::SpawnReply { id, result } => self.on_spawn_reply(id, result, cx),
            Message::DataReply { id, result } => self.on_data_reply(id, result, cx),
            // The head's conversations, or the node's; a daemon that gets one is late or misaddressed, and ignores it.
            Message::Announce(_)
            | Message::Report(_)
            | Message::LaunchFailed(_)
            | Message::DaemonLost { .. }
            | Message::Died { .. }
            | Message::Shrink { .. }
            | Message::ResizeRequest { .. }
            | Message::SessionRequest { .. }
            | Message::Rejoined { .. }
            | Message::LocalLaunchComplete { .. }
            | Message::Registered(_)
            | Message::ProcsEnded { .. }
            | Message::Abort { .. }
            | Message::Output { .. }
            | Message::StdinCredit { .. }
            | Message::CollectiveFailed { .. }
            | Message::CollectiveRoot { .. }
            | Message::SpawnRequest { .. }
            | Message::DataRequest { .. } => {}
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx) {
        match timer {
            Timer::Wireup => self.on_wireup_deadline(cx),
            Timer::LastData(fetch) => self.on_last_data(fetch, cx),
            Timer::KillStep(job) => self.on_kill_step(job, cx),
            Timer::PartialLine(proc, stream) => self.on_partial_line(proc, stream, cx),
            Timer::Departure => self.on_departure_deadline(cx),
            Timer::Rejoin => self.on_rejoin_timer(cx),
            Timer::Grace => self.on_grace_over(cx),
            Timer::BringUp
            | Timer::JobTimeout(_)
            | Timer::SpawnTimeout(_)
            | Timer::Lookup(_)
            | Timer::Deaths
            | Timer::Campaign(_)
            | Timer::Session(_)
            | Timer::Prep(_)
            | Timer::Leavers
            | Timer::Heartbeat
            | Timer::Probe => {}
        }
    }

    fn on_pmix(&mut self, call: PmixCall, cx: &mut Cx) {
        match call {
            PmixCall::ClientConnected(proc) => self.on_client_connected(proc, cx),
            PmixCall::ClientFinalized(proc) => self.on_client_finalized(proc),
            PmixCall::Abort { proc, code, message, scope, token } => {
                self.on_abort(proc, code, message, scope, cx);
                cx.effect(Effect::Pmix(PmixEffect::Reply { token, result: Ok(Bytes::new()) }));
            }
            PmixCall::Resize { proc, request, token } => self.on_resize(proc, request, token, cx),
            PmixCall::Session { order, token } => self.on_session_order(order, token, cx),
            PmixCall::Fence { members, data, token } => {
                self.on_collective(CollectiveKind::PmixFence, members, data, token, cx);
            }
            PmixCall::Connect { members, token } => {
                self.on_collective(CollectiveKind::PmixConnect, members, Bytes::new(), token, cx);
            }
            PmixCall::Disconnect { members, token } => {
                self.on_collective(CollectiveKind::PmixDisconnect, members, Bytes::new(), token, cx);
            }
            PmixCall::Spawn { proc, submission, token } => self.on_spawn(proc, submission, token, cx),
            PmixCall::Data { call, token } => self.on_data(call, token, cx),
            PmixCall::Modex { proc, token } => self.on_modex(proc, token, cx),
            PmixCall::ModexFetched { fetch, result } => self.on_modex_fetched(fetch, result, cx),
            PmixCall::Pmi1 { proc, data } => self.on_pmi1(proc, &data, cx),
        }
    }

    fn proc_mut(&mut self, proc: ProcId) -> Option<&mut LocalProc> {
        self.jobs.get_mut(&proc.job)?.procs.get_mut(&proc.rank)
    }

    fn proc(&self, proc: ProcId) -> Option<&LocalProc> {
        self.jobs.get(&proc.job)?.procs.get(&proc.rank)
    }

    /// Every local process that has not ended.
    fn living(&self) -> Vec<ProcId> {
        self.jobs.values().flat_map(LocalJob::living).collect()
    }
}

/// `now` plus some milliseconds.
fn after(now: Timestamp, ms: u64) -> Timestamp {
    now + ferrite_types::Duration::from_millis(ms)
}
