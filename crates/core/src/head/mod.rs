//! The head: brings the DVM up, moves jobs through their states, decides what a failure means, answers clients.
//! Processes are the daemons' affair, even on its own node.

mod clients;
mod counters;
mod dvm;
mod elastic;
mod jobs;
mod lists;
mod pmix;
mod sessions;

use ferrite_rm::params::Params;
use ferrite_types::resources::SiteResources;
use ferrite_types::{DaemonRank, ExitStatus, JobId, JobState, NodeRecord};
use ferrite_wire::{DaemonMessage, HeadMessage};

pub use self::jobs::{ERROR_STATES, LAUNCH_STATES, state_tables};

use self::counters::{Counted, Counters};
use crate::cx::Cx;
use crate::{HeadConfig, HeadInput, HeadTimer, LocalNode, RelayInput};

/// The head of a DVM.
#[derive(Debug)]
pub struct Head {
    config: HeadConfig,
    params: Params,
    local: LocalNode,
    pool: dvm::Pool,
    dvm: dvm::Dvm,
    elastic: elastic::Elastic,
    sessions: sessions::Sessions,
    jobs: jobs::Jobs,
    clients: clients::Clients,
    counters: Counters,
    pmix: pmix::Pmix,
}

impl Head {
    pub(crate) fn new(config: HeadConfig, local: &LocalNode) -> Head {
        let mut params = Params::default();
        config.params.iter().for_each(|(name, value)| params.set(name, value));
        // The DVM refuses a bad list at its start.
        let resources = params.text("ferrite_resources").ok().flatten();
        let site = resources.and_then(|text| SiteResources::parse(text).ok()).unwrap_or_default();
        Head {
            pool: dvm::Pool::of_allocation(&config, local, &params),
            elastic: elastic::Elastic::default(),
            sessions: sessions::Sessions::of_dvm(&config.dvm),
            params,
            dvm: dvm::Dvm::of_head(&local.contact),
            local: local.clone(),
            config,
            jobs: jobs::Jobs::on(site),
            clients: clients::Clients::default(),
            counters: Counters::default(),
            pmix: pmix::Pmix::default(),
        }
    }

    /// Width of the tree; a bad value is reported by [`crate::Input::Start`].
    pub(crate) fn radix(&self) -> u32 {
        self.params.number("rml_base_radix").unwrap_or(64).max(2)
    }

    /// The DVM's name.
    #[must_use]
    pub fn dvm(&self) -> &str {
        &self.config.dvm
    }

    /// The node pool, for status and tests.
    #[must_use]
    pub fn nodes(&self) -> &[NodeRecord] {
        self.pool.records()
    }

    /// The number of jobs that the head has met so far in walks over all jobs or over the queue, for tests.
    #[must_use]
    pub fn looks(&self) -> u64 {
        self.jobs.looks()
    }

    /// The number of times that the head has tried to place a job so far, for tests.
    #[must_use]
    pub fn placements(&self) -> u64 {
        self.jobs.placements()
    }

    /// The number of nodes that these tries have looked at, for tests.
    #[must_use]
    pub fn nodes_tried(&self) -> u64 {
        self.jobs.nodes_tried()
    }

    /// Handles the start of the machine.
    pub(crate) fn start(&mut self, cx: &mut Cx) {
        self.activate(JobId::DAEMONS, JobState::Init, cx);
        self.finish(cx);
    }

    /// Handles the end of a daemon's launcher process ([`crate::Input::LauncherEnded`]).
    pub(crate) fn launcher_ended(&mut self, rank: DaemonRank, status: Option<ExitStatus>, message: &str, cx: &mut Cx) {
        self.on_launcher_ended(rank, status, message, cx);
        self.finish(cx);
    }

    /// Handles an order to the head's process to end.
    pub(crate) fn terminate(&mut self, cause: &str, cx: &mut Cx) {
        self.on_terminate(cause, cx);
        self.finish(cx);
    }

    /// Handles an event on the connection of a relayed client.
    pub(crate) fn on_relay(&mut self, input: RelayInput, cx: &mut Cx) {
        self.clients.on_relay(input, cx);
        self.finish(cx);
    }

    /// Handles an input that only the head has.
    pub(crate) fn handle(&mut self, input: HeadInput, cx: &mut Cx) {
        match input {
            HeadInput::TasksEnded { launcher, nodes, message } => self.on_tasks_ended(launcher, &nodes, &message, cx),
            HeadInput::Request { id, request } => self.on_request(id, request, cx),
            HeadInput::ClientGone(request) => {
                self.forget_pull(request, cx);
                self.forget_feed(request, cx);
                self.forget_wait(request);
                self.forget_requester(request, cx);
                self.end_submission(request, cx);
            }
            HeadInput::ToolGone(requests) => self.on_tool_gone(&requests, cx),
            HeadInput::Cancel(request) => self.on_cancel(request, cx),
            HeadInput::SignalSubmitted { request, signal } => self.on_signal_submitted(request, signal, cx),
            HeadInput::Interrupt => self.on_interrupt(cx),
            HeadInput::ForwardSignal(signal) => self.on_forward_signal(signal, cx),
            HeadInput::FileRead { request, piece } => self.on_submitted_file(request, piece, cx),
            HeadInput::Stdin { request, data } => self.on_stdin(request, data, cx),
            HeadInput::Batch(input) => self.on_batch_input(input, cx),
            HeadInput::Recalled { request, found } => self.on_recalled(request, found, cx),
            HeadInput::OutputWritten(account) => self.on_output_written(account, cx),
            HeadInput::Logged { daemon, id, result } => cx.send(daemon, DaemonMessage::LogReply { id, result }),
            HeadInput::ReleaseOffered { campaign, kept, error } => self.on_release_offered(campaign, &kept, error, cx),
            HeadInput::NodesGranted { extension, job, nodes } => self.on_nodes_granted(extension, job, nodes, cx),
            HeadInput::NodesRefused { extension, cause } => self.on_nodes_refused(extension, &cause, cx),
            HeadInput::JobEndTold { job, told } => self.on_job_end_told(&job, told, cx),
            HeadInput::NodesAwaited { extension, says } => self.elastic.on_nodes_awaited(extension, says),
            HeadInput::AllocationEnded { job, error } => self.on_allocation_ended(&job, error, cx),
        }
        self.finish(cx);
    }

    /// Handles a timer of the head.
    pub(crate) fn on_timer(&mut self, timer: HeadTimer, cx: &mut Cx) {
        match timer {
            HeadTimer::Campaign(id) => self.on_campaign_deadline(id, cx),
            HeadTimer::Session(id) => self.on_session_timer(id, cx),
            HeadTimer::Prep(job) => self.on_prepared(job, cx),
            HeadTimer::BringUp => self.on_bringup_deadline(cx),
            HeadTimer::Progress => self.on_progress_timer(cx),
            HeadTimer::JobTimeout(job) => self.on_job_timeout(job, cx),
            HeadTimer::SpawnTimeout(job) => self.on_spawn_timeout(job, cx),
            HeadTimer::Stacks(job) => self.on_stacks_deadline(job, cx),
            HeadTimer::Lookup(number) => self.pmix.on_lookup_timeout(number, cx),
            HeadTimer::Assembly(number) => self.on_assembly_timeout(number, cx),
            HeadTimer::Pulls(job) => self.on_pulls_timer(job, cx),
            HeadTimer::Companions => self.end_jobs_of_tools(|_| true, cx),
            HeadTimer::Deaths => self.on_deaths_timer(cx),
            HeadTimer::Policy => self.on_policy_timer(cx),
            HeadTimer::Deadlines => self.on_deadlines_timer(cx),
        }
        self.finish(cx);
    }

    /// Handles a message of a daemon to the head.
    pub(crate) fn receive(&mut self, origin: DaemonRank, message: HeadMessage, cx: &mut Cx) {
        match message {
            HeadMessage::Announce(contact) => self.on_announce(origin, contact, cx),
            HeadMessage::Report(report) => self.on_report(*report, cx),
            HeadMessage::ResizeRequest { id, proc, request } => self.on_resize_message(origin, id, proc, &request, cx),
            HeadMessage::SignalOfManager { is_order } => self.on_signal_of_manager(origin, is_order, cx),
            HeadMessage::WithdrawalTold(campaign) => self.on_withdrawal_told(origin, campaign, cx),
            HeadMessage::SessionRequest { id, order } => self.on_session_order(origin, id, &order, cx),
            HeadMessage::LaunchFailed(failure) => self.on_launch_failed(&failure, cx),
            HeadMessage::DaemonLost { rank, cause } => self.on_daemon_lost(rank, &cause, cx),
            HeadMessage::Rejoined { .. } => self.counters.count(Counted::Rejoin),
            HeadMessage::LocalLaunchComplete { job, started, failed } => {
                self.on_local_launch(origin, job, started, failed, cx)
            }
            HeadMessage::ReadyForDebug(job) => self.on_ready_for_debug(origin, job, cx),
            HeadMessage::Registered(job) => self.on_registered(origin, job, cx),
            HeadMessage::Finalized(proc) => self.on_finalized(proc, cx),
            HeadMessage::ProcsEnded { job, ends } => self.on_procs_ended(job, &ends, cx),
            HeadMessage::Restarted { proc, pid } => self.on_restarted(proc, pid),
            HeadMessage::Abort { proc, code, message } => self.on_abort(proc, code, &message, cx),
            HeadMessage::AbortOthers { proc, code, message, targets } => {
                self.on_abort_others(proc, code, &message, targets, cx);
            }
            HeadMessage::Release { job, ranks } => drop(self.release(job, ranks, cx)),
            HeadMessage::Stack { proc, text } => self.on_stack(proc, &text, cx),
            HeadMessage::StacksTaken { job, obstacle } => self.on_stacks_taken(origin, job, obstacle, cx),
            HeadMessage::Output { proc, stream, data } => self.on_output(origin, proc, stream, data, cx),
            HeadMessage::MemoryNotLimited { job, text } => self.on_memory_not_limited(job, text, cx),
            HeadMessage::OutputLost { job, text } => self.on_output_lost(job, text, cx),
            HeadMessage::StdinCredit { job, bytes } => self.on_stdin_credit(origin, job, bytes, cx),
            HeadMessage::FileRead { job, piece } => self.on_file_read(origin, job, piece, cx),
            HeadMessage::PreloadCredit { job, bytes } => self.on_preload_credit(origin, job, bytes, cx),
            HeadMessage::Preloaded { job, result } => self.on_preloaded(origin, job, result, cx),
            HeadMessage::CollectiveFailed { key, status } => self.decide_collective(&key, Err(status), cx),
            HeadMessage::CollectiveRoot { key, part } => self.on_collective_root(origin, key, part, cx),
            HeadMessage::BadSpawn { parent, reason } => self.on_bad_spawn(parent, &reason, cx),
            HeadMessage::SpawnRequest { id, parent, submission } => self.on_spawn(origin, id, parent, *submission, cx),
            HeadMessage::DataRequest { id, call } => self.on_data(origin, id, *call, cx),
            HeadMessage::GroupEntry { id, entry } => self.on_group_entry(origin, id, *entry, cx),
            HeadMessage::GroupLeft { proc, group } => self.on_group_left(origin, proc, &group),
            HeadMessage::Control { id, by, order } => self.on_control(origin, id, by, *order, cx),
            HeadMessage::Log { id, record } => self.on_log(origin, id, record, cx),
            HeadMessage::Query { id, about } => self.on_query(origin, id, &about, cx),
            HeadMessage::Event { event, range } => self.on_event(origin, *event, range, cx),
            HeadMessage::Alert { proc, event, range } => self.on_alert(origin, proc, *event, range, cx),
            HeadMessage::Client { number, word } => self.clients.on_word(origin, number, word, cx),
        }
        self.finish(cx);
    }

    /// Performs the follow-up work of an input within the head.
    fn finish(&mut self, cx: &mut Cx) {
        self.run_activated(cx);
        self.end_drains(cx);
        self.settle_sizes(cx);
        self.settle_memberships(cx);
        self.part_with_everybody(cx);
    }
}
