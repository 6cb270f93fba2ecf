//! The daemon of one node: comes into the DVM, starts processes and follows them to their end, forwards their I/O,
//! carries their collectives, leaves. The head decides about membership and placement.

mod bringup;
mod child_calls;
mod clients;
mod collective;
mod debug;
mod events;
mod failed;
mod iof;
mod job;
mod kill;
mod leaving;
mod lifeline;
mod limits;
mod logs;
mod modex;
mod pmi1;
mod preload;
mod proc;
mod questions;
mod resize;
mod restart;
mod sessions;
mod sets;
mod settings;
mod stacks;

use std::collections::BTreeMap;

use bytes::Bytes;
use ferrite_types::{DaemonRank, JobId, ProcId, Timestamp};
use ferrite_wire::{CollectiveKind, DaemonMessage, HeadMessage, Served, Ticket};

use self::bringup::Phase;
use self::child_calls::ChildCalls;
use self::collective::Collectives;
use self::job::LocalJob;
use self::lifeline::Lifeline;
use self::limits::Limits;
use self::modex::Modexes;
use self::proc::{LocalProc, memory_not_limited};
use self::questions::{Asker, Questions};
pub(crate) use self::settings::Settings;

pub(crate) use self::bringup::describe as describe_end;
pub(crate) use self::collective::{concatenate, merge, participants};
pub use self::kill::TIDY_MS;
use crate::cx::Cx;
use crate::launches::Launches;
use crate::preload::Receiving;
use crate::relay::Relays;
use crate::{DaemonInput, DaemonTimer, Effect, LocalNode, PmixCall, PmixEffect};

/// The state of one daemon.
#[derive(Debug)]
pub(crate) struct Daemon {
    me: DaemonRank,
    dvm: String,
    local: LocalNode,
    phase: Phase,
    launches: Launches,
    jobs: BTreeMap<JobId, LocalJob>,
    /// The files of jobs that were announced, until the jobs are over.
    preloads: BTreeMap<JobId, Receiving>,
    collectives: Collectives,
    modexes: Modexes,
    limits: Limits,
    questions: Questions,
    logs: logs::Logs,
    lifeline: Lifeline,
    child_calls: ChildCalls,
    resizes: resize::Resizes,
    sets: sets::Sets,
    session_orders: sessions::SessionOrders,
    /// The announcement for clients of this node, until they are admitted.
    served: Option<Served>,
    relays: Relays,
    /// Bytes of output of one job that may be on their way to the head.
    output_limit: usize,
}

impl Daemon {
    /// A daemon that a launcher has started.
    pub(crate) fn new(ticket: Ticket, local: LocalNode, settings: Settings) -> Daemon {
        let served = ticket.served.clone();
        let daemon =
            Daemon::in_phase(ticket.rank, ticket.dvm.clone(), local, settings, Phase::Homing(Box::new(ticket)));
        Daemon { served, ..daemon }
    }

    /// The daemon of the head's own node, which is a member from the start.
    pub(crate) fn on_head(dvm: &str, local: LocalNode, settings: Settings) -> Daemon {
        Daemon::in_phase(DaemonRank::HEAD, dvm.to_owned(), local, settings, Phase::Member)
    }

    fn in_phase(me: DaemonRank, dvm: String, local: LocalNode, settings: Settings, phase: Phase) -> Daemon {
        Daemon {
            me,
            dvm,
            local,
            phase,
            launches: Launches::default(),
            jobs: BTreeMap::new(),
            preloads: BTreeMap::new(),
            collectives: Collectives::default(),
            modexes: Modexes::default(),
            limits: Limits::default(),
            questions: Questions::default(),
            logs: logs::Logs::default(),
            lifeline: Lifeline::by(&settings),
            child_calls: ChildCalls::by(settings.silence),
            output_limit: settings.output_limit,
            resizes: resize::Resizes::default(),
            sets: sets::Sets::default(),
            session_orders: sessions::SessionOrders::default(),
            served: None,
            relays: Relays::of(me),
        }
    }

    /// Handles an input that only the daemon has.
    pub(crate) fn handle(&mut self, input: DaemonInput, cx: &mut Cx) {
        match input {
            DaemonInput::Spawned { proc, pid } => self.on_spawned(proc, pid, cx),
            DaemonInput::SpawnFailed { proc, error } => self.on_spawn_failed(proc, error, cx),
            DaemonInput::OverMemory(proc) => self.on_over_memory(proc),
            DaemonInput::MemoryNotLimited { job, obstacle } => {
                let text = memory_not_limited(&self.local.hostname, &obstacle);
                cx.send_head(HeadMessage::MemoryNotLimited { job, text });
            }
            DaemonInput::Exited { proc, status } => self.on_exited(proc, status, cx),
            DaemonInput::Output { proc, stream, data } => self.on_output(proc, stream, data, cx),
            DaemonInput::OutputIdle { proc, stream, writer_runs } => self.on_output_idle(proc, stream, writer_runs, cx),
            DaemonInput::Logged { id, result } => self.on_logged(id, result, cx),
            DaemonInput::FileFailed { job, path, error } => self.on_file_failed(job, &path, &error, cx),
            DaemonInput::OutputClosed { proc, stream } => self.on_output_closed(proc, stream, cx),
            DaemonInput::StdinTaken { proc, bytes } => self.on_stdin_taken(proc, bytes, cx),
            DaemonInput::StackTaken { proc, text } => self.on_stack_taken(proc, text, cx),
            DaemonInput::StacksTaken { job, obstacle } => self.on_stacks_taken(job, obstacle, cx),
            DaemonInput::Staged { job, bytes } => self.on_staged(job, bytes, cx),
            DaemonInput::StageEnded { job, result } => self.on_stage_ended(job, result, cx),
            DaemonInput::FileRead { job, piece } => cx.send_head(HeadMessage::FileRead { job, piece }),
            DaemonInput::Pmix(call) => self.on_pmix(call, cx),
        }
    }

    /// Handles a message of the head or of another daemon.
    pub(crate) fn receive(&mut self, origin: DaemonRank, message: DaemonMessage, cx: &mut Cx) {
        match message {
            DaemonMessage::Rehome { parent, contact } => self.on_rehome(parent, contact, cx),
            DaemonMessage::Listening(contact) => self.on_listening(origin, contact),
            DaemonMessage::Above(contacts) => self.on_above(contacts, cx),
            DaemonMessage::Adopt(orphans) => self.on_adopt(orphans, cx),
            DaemonMessage::Wireup(wireup) => self.on_wireup(&wireup, cx),
            DaemonMessage::Exit => self.on_exit_order(cx),
            DaemonMessage::ResizeReply { id, resize } => self.on_resize_reply(id, resize, cx),
            DaemonMessage::ResizeDone { proc, resize } => self.on_resize_done(proc, resize, cx),
            DaemonMessage::TimeWarning { proc, warning } => self.on_time_warning(proc, warning, cx),
            // The streams keep their order: the notice has gone to the processes.
            DaemonMessage::Withdrawal(campaign) => cx.send_head(HeadMessage::WithdrawalTold(campaign)),
            DaemonMessage::ManagerSays { stays } => self.on_word_of_manager(stays, cx),
            DaemonMessage::Retiring { change, procs } => {
                self.on_retiring(&procs, cx);
                cx.send_head(HeadMessage::WithdrawalTold(change));
            }
            DaemonMessage::Retire(procs) => self.on_retire(&procs, cx),
            DaemonMessage::SpawnedEnded { parent, job, code } => self.on_spawned_ended(parent, job, code, cx),
            DaemonMessage::SessionReply { id, result } => self.on_session_reply(id, result, cx),
            DaemonMessage::Launch(order) => self.on_launch(order, cx),
            DaemonMessage::ProcsFailed { job, failed } => self.on_procs_failed(job, failed, cx),
            DaemonMessage::Restart(order) => self.on_restart(order, cx),
            DaemonMessage::Kill(job) => self.on_kill(job, cx),
            DaemonMessage::Signal { job, ranks, signal } => self.on_signal(job, &ranks, signal, cx),
            DaemonMessage::Release { job, ranks } => self.on_release(job, ranks, cx),
            DaemonMessage::SpawnedReady { parent, job } => {
                cx.effect(Effect::Pmix(PmixEffect::JobReady { parent, job }));
            }
            DaemonMessage::TakeStacks { job, limit, most } => self.on_take_stacks(job, limit, most, cx),
            DaemonMessage::AbortProcs { job, ranks, code } => self.on_abort_procs(job, &ranks, code, cx),
            DaemonMessage::Forget(job) => self.on_forget(job, cx),
            DaemonMessage::OutputCredit { job, bytes } => self.on_output_credit(job, bytes, cx),
            DaemonMessage::Stdin { job, dest, data } => self.on_stdin(job, dest, data, cx),
            DaemonMessage::Preload { job, entries } => self.on_preload(job, entries, cx),
            DaemonMessage::PreloadPiece { job, piece } => self.on_preload_piece(job, piece, cx),
            DaemonMessage::ReadFile { job, entry, path, offset, length } => {
                cx.effect(Effect::ReadLocalFile { job, entry, path, offset, length });
            }
            DaemonMessage::CollectivePart { key, part } => self.on_collective_part(origin, key, part, cx),
            DaemonMessage::CollectiveDone { key, result } => self.on_collective_done(&key, &result, cx),
            DaemonMessage::ModexRequest { id, proc } => self.on_modex_request(origin, id, proc, cx),
            DaemonMessage::ModexReply { id, result } => self.on_modex_reply(id, result, cx),
            DaemonMessage::SpawnReply { id, result } => self.on_spawn_reply(id, result, cx),
            DaemonMessage::DataReply { id, result } => self.on_data_reply(id, result, cx),
            DaemonMessage::GroupReply { id, result } => self.on_group_reply(id, result, cx),
            DaemonMessage::ControlReply { id, result } => self.on_control_reply(id, result, cx),
            DaemonMessage::LogReply { id, result } => self.on_logged(id, result, cx),
            DaemonMessage::QueryReply { id, facts } => self.on_query_reply(id, facts, cx),
            DaemonMessage::DefineSet(set) => self.on_define_set(*set, cx),
            DaemonMessage::DeleteSet(name) => self.on_delete_set(name, cx),
            DaemonMessage::Event { event, range } => self.on_event_of_others(*event, range, cx),
            DaemonMessage::Client { number, word } => self.on_client_word(number, word, cx),
        }
    }

    /// Handles a timer of this daemon.
    pub(crate) fn on_timer(&mut self, timer: DaemonTimer, cx: &mut Cx) {
        match timer {
            DaemonTimer::Wireup => self.on_wireup_deadline(cx),
            DaemonTimer::LastData(fetch) => self.on_last_data(fetch, cx),
            DaemonTimer::CallLimit(token) => self.on_call_limit(token, cx),
            DaemonTimer::Log(id) => self.on_log_deadline(id, cx),
            DaemonTimer::KillStep(job) => self.on_kill_step(job, cx),
            DaemonTimer::RetireStep(job) => self.on_retire_step(job, cx),
            DaemonTimer::Descendants(proc) => self.on_descendants_late(proc, cx),
            DaemonTimer::PartialLine(proc, stream) => self.on_partial_line(proc, stream, cx),
            DaemonTimer::LastWords => self.part_with_clients(cx),
            DaemonTimer::Departure => self.on_departure_deadline(cx),
            DaemonTimer::Rejoin => self.on_rejoin_timer(cx),
            DaemonTimer::Word => self.on_word_of_manager(false, cx),
            DaemonTimer::Grace => self.on_grace_over(cx),
        }
    }

    fn on_pmix(&mut self, call: PmixCall, cx: &mut Cx) {
        match call {
            PmixCall::ClientConnected(proc) => self.on_client_connected(proc, cx),
            PmixCall::ReadyForDebug(proc) => self.on_ready_for_debug(proc, cx),
            PmixCall::AllReadyForDebug(job) => self.on_all_ready_for_debug(job, cx),
            PmixCall::Release { job, ranks } => cx.send_head(HeadMessage::Release { job, ranks }),
            PmixCall::ClientFinalized(proc) => self.on_client_finalized(proc, cx),
            PmixCall::HeardOut(proc) => self.on_heard_out(proc, cx),
            PmixCall::Abort { proc, code, message, scope, token } => {
                self.on_abort(proc, code, message, scope, cx);
                cx.effect(Effect::Pmix(PmixEffect::Reply { token, result: Ok(Bytes::new()) }));
            }
            PmixCall::AbortOthers { proc, code, message, targets, token } => {
                cx.send_head(HeadMessage::AbortOthers { proc, code, message, targets });
                cx.effect(Effect::Pmix(PmixEffect::Reply { token, result: Ok(Bytes::new()) }));
            }
            PmixCall::Resize { proc, request, token } => self.on_resize(proc, request, token, cx),
            PmixCall::Control { by, order, token } => self.on_control(by, order, token, cx),
            PmixCall::Log { call, token } => self.on_log(*call, token, cx),
            PmixCall::Query { about, token } => self.on_query(about, token, cx),
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
            PmixCall::GroupConstruct { name, members, part, token } => {
                self.on_collective(CollectiveKind::GroupConstruct(name), members, part.encode(), token, cx);
            }
            PmixCall::GroupEntry { entry, token } => self.on_group_entry(entry, token, cx),
            PmixCall::GroupLeft { proc, group } => cx.send_head(HeadMessage::GroupLeft { proc, group }),
            PmixCall::GroupDestruct { name, members, token } => {
                self.on_collective(CollectiveKind::GroupDestruct(name), members, Bytes::new(), token, cx);
            }
            PmixCall::GiveUp { kind, members, status, token } => {
                self.on_given_up(kind, members, status, token, cx);
            }
            PmixCall::Spawn { proc, submission, token } => self.on_spawn(proc, submission, Asker::Pmix(token), cx),
            PmixCall::Event { event, range } => self.on_event(event, range, cx),
            PmixCall::Alert { proc, event, range } => self.on_alert(proc, event, range, cx),
            PmixCall::Data { call, token } => self.on_data(call, Asker::Pmix(token), cx),
            PmixCall::Modex { proc, token } => self.on_modex(proc, token, cx),
            PmixCall::Limit { token, limit } => self.on_limit(token, limit, cx),
            PmixCall::ModexFetched { fetch, result } => self.on_modex_fetched(fetch, result, cx),
            PmixCall::Pmi1 { proc, data } => self.on_pmi1(proc, &data, cx),
        }
    }

    /// A job that its caller has just looked up. Other lookups may fail: the news of a process, or an order of the
    /// head, may come when the job is forgotten.
    #[track_caller]
    fn job_mut(&mut self, id: JobId) -> &mut LocalJob {
        self.jobs.get_mut(&id).unwrap_or_else(|| panic!("job {id} is not known here"))
    }

    fn proc_mut(&mut self, proc: ProcId) -> Option<&mut LocalProc> {
        self.jobs.get_mut(&proc.job)?.procs.get_mut(&proc.rank)
    }

    fn proc(&self, proc: ProcId) -> Option<&LocalProc> {
        self.jobs.get(&proc.job)?.procs.get(&proc.rank)
    }

    /// All local processes that have not ended.
    fn living(&self) -> Vec<ProcId> {
        self.jobs.values().flat_map(LocalJob::living).collect()
    }
}

/// The time `now` plus `ms` milliseconds.
fn after(now: Timestamp, ms: u64) -> Timestamp {
    now + ferrite_types::Duration::from_millis(ms)
}
