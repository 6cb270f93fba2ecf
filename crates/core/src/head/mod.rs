//! The head: brings the DVM up, walks jobs through their states, decides what a failure means, answers clients. It
//! never touches a process: daemons do, its own node's included.

mod clients;
mod dvm;
mod elastic;
mod jobs;
mod pmix;
mod sessions;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ferrite_map::Occupancy;
use ferrite_rm::params::Params;
use ferrite_types::{DaemonRank, HostEntry, JobId, JobState, NodeId, NodeRecord, RankSet};
use ferrite_wire::Message;
use ferrite_wire::control::Submission;

pub use self::jobs::Job;

use self::dvm::BringUp;
use self::dvm::Exit;
use crate::cx::Cx;
use crate::launches::Launches;
use crate::{HeadConfig, Input, LocalNode, RequestId, Timer};

/// The head of a DVM.
#[derive(Debug)]
pub struct Head {
    config: HeadConfig,
    params: Params,
    local: LocalNode,
    /// The node pool, in the order of the allocation.
    nodes: Vec<NodeRecord>,
    /// What was said of them to reach them, in the same order.
    hosts: Vec<HostEntry>,
    /// Nodes of the pool that are not the DVM's: given back, or never come.
    given_back: BTreeSet<NodeId>,
    campaigns: elastic::Campaigns,
    extensions: elastic::Extensions,
    connections: jobs::Connections,
    sessions: sessions::Sessions,
    /// The first grow campaign.
    bringup: BringUp,
    launches: Launches,
    /// Jobs that arrived before the DVM was ready.
    cached: Vec<(RequestId, Submission)>,
    jobs: BTreeMap<JobId, Job>,
    /// The jobs of submissions whose client is there.
    submitted: BTreeMap<RequestId, JobId>,
    /// Jobs that wait for slots, in their order.
    queue: VecDeque<JobId>,
    /// The daemons that were there when it was last looked whether all of them can ever run; none before the first time.
    queue_hopes: RankSet,
    history: clients::History,
    counters: clients::Counters,
    next_job: u32,
    /// State of the daemons' own job.
    dvm_state: Option<JobState>,
    /// States that were activated and not handled yet.
    activated: VecDeque<(JobId, JobState)>,
    collectives: pmix::Collectives,
    /// What running jobs use of each node.
    occupancy: Occupancy,
    output: jobs::Mux,
    losses: dvm::Losses,
    /// Shapes of the DVM that have been told.
    wireups: u64,
    trees: jobs::Trees,
    published: pmix::Store,
    exit: Exit,
}

impl Head {
    pub(crate) fn new(config: HeadConfig, local: &LocalNode) -> Head {
        let mut params = Params::default();
        config.params.iter().for_each(|(name, value)| params.set(name, value));
        Head {
            nodes: dvm::pool(&config, local),
            hosts: config.allocation.nodes.clone(),
            given_back: BTreeSet::new(),
            campaigns: elastic::Campaigns::default(),
            extensions: elastic::Extensions::default(),
            connections: jobs::Connections::default(),
            sessions: sessions::Sessions::default(),
            params,
            local: local.clone(),
            config,
            bringup: BringUp::of(&local.contact),
            launches: Launches::default(),
            cached: Vec::new(),
            jobs: BTreeMap::new(),
            submitted: BTreeMap::new(),
            queue: VecDeque::new(),
            queue_hopes: RankSet::new(),
            history: clients::History::default(),
            counters: clients::Counters::default(),
            next_job: 1,
            dvm_state: None,
            activated: VecDeque::new(),
            collectives: pmix::Collectives::default(),
            occupancy: Occupancy::default(),
            output: jobs::Mux::default(),
            losses: dvm::Losses::default(),
            wireups: 0,
            trees: jobs::Trees::default(),
            published: pmix::Store::default(),
            exit: Exit::default(),
        }
    }

    /// Width of the tree; a bad value is reported by [`Input::Start`].
    pub(crate) fn radix(&self) -> u32 {
        self.params.number("rml_base_radix").unwrap_or(64).max(2)
    }

    /// Name of the DVM.
    #[must_use]
    pub fn dvm(&self) -> &str {
        &self.config.dvm
    }

    /// The node pool, for status and tests.
    #[must_use]
    pub fn nodes(&self) -> &[NodeRecord] {
        &self.nodes
    }

    /// The jobs that are not over, for status and tests.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.values()
    }

    /// True for inputs that the head takes where both machines live.
    pub(crate) fn handles(input: &Input) -> bool {
        match input {
            Input::Start
            | Input::LauncherEnded { .. }
            | Input::TasksEnded { .. }
            | Input::Request { .. }
            | Input::ClientGone(_)
            | Input::ToolGone(_)
            | Input::Cancel(_)
            | Input::SignalSubmitted { .. }
            | Input::Interrupt
            | Input::Terminate { .. }
            | Input::ForwardSignal(_)
            | Input::Stdin { .. }
            | Input::ReleaseOffered { .. }
            | Input::NodesGranted { .. }
            | Input::NodesRefused { .. }
            | Input::NodesAwaited { .. }
            | Input::AllocationEnded { .. }
            | Input::OutputWritten(_) => true,
            Input::Timer(timer) => match timer {
                Timer::BringUp
                | Timer::Campaign(_)
                | Timer::Session(_)
                | Timer::Prep(_)
                | Timer::JobTimeout(_)
                | Timer::SpawnTimeout(_)
                | Timer::Lookup(_)
                | Timer::Deaths => true,
                Timer::Wireup
                | Timer::LastData(_)
                | Timer::KillStep(_)
                | Timer::PartialLine(..)
                | Timer::Departure
                | Timer::Rejoin
                | Timer::Grace
                | Timer::Leavers
                | Timer::Heartbeat
                | Timer::Probe => false,
            },
            Input::LinkUp { .. }
            | Input::LinkActivity { .. }
            | Input::LinkLost { .. }
            | Input::ConnectFailed { .. }
            | Input::Frame { .. }
            | Input::Spawned { .. }
            | Input::SpawnFailed { .. }
            | Input::Exited { .. }
            | Input::Output { .. }
            | Input::OutputIdle { .. }
            | Input::OutputClosed { .. }
            | Input::StdinTaken { .. }
            | Input::Pmix(_) => false,
        }
    }

    /// Inputs for which [`Head::handles`] says true.
    pub(crate) fn handle(&mut self, input: Input, cx: &mut Cx) {
        match input {
            Input::Start => self.on_start(cx),
            Input::LauncherEnded { rank, status, message } => self.on_launcher_ended(rank, status, &message, cx),
            Input::TasksEnded { launcher, nodes, message } => self.on_tasks_ended(launcher, &nodes, &message, cx),
            Input::Request { id, request } => self.on_request(id, request, cx),
            Input::ClientGone(request) => self.on_client_gone(request, cx),
            Input::ToolGone(requests) => self.on_tool_gone(&requests, cx),
            Input::Cancel(request) => self.on_cancel(request, cx),
            Input::SignalSubmitted { request, signal } => self.on_signal_submitted(request, signal, cx),
            Input::Interrupt => self.on_interrupt(cx),
            Input::Terminate { cause } => self.on_terminate(&cause, cx),
            Input::ForwardSignal(signal) => self.on_forward_signal(signal, cx),
            Input::Stdin { request, data } => self.on_stdin(request, data, cx),
            Input::OutputWritten(account) => self.on_output_written(account, cx),
            Input::ReleaseOffered { campaign, kept, trouble } => self.on_release_offered(campaign, &kept, trouble, cx),
            Input::NodesGranted { extension, job, nodes } => self.on_nodes_granted(extension, job, nodes, cx),
            Input::NodesRefused { extension, cause } => self.on_nodes_refused(extension, &cause, cx),
            Input::NodesAwaited { extension, says } => self.on_nodes_awaited(extension, says),
            Input::AllocationEnded { job, trouble } => self.on_allocation_ended(&job, trouble, cx),
            Input::Timer(Timer::Campaign(id)) => self.on_campaign_deadline(id, cx),
            Input::Timer(Timer::Session(id)) => self.on_session_timer(id, cx),
            Input::Timer(Timer::Prep(job)) => self.on_prepared(job, cx),
            Input::Timer(Timer::BringUp) => self.on_bringup_deadline(cx),
            Input::Timer(Timer::JobTimeout(job)) => self.on_job_timeout(job, cx),
            Input::Timer(Timer::SpawnTimeout(job)) => self.on_spawn_timeout(job, cx),
            Input::Timer(Timer::Lookup(number)) => self.on_lookup_timeout(number, cx),
            Input::Timer(Timer::Deaths) => self.on_deaths_timer(cx),
            other => unreachable!("not an input of the head: {other:?}"),
        }
        self.run_activated(cx);
    }

    /// True for messages that the head takes where both machines live.
    pub(crate) fn receives(message: &Message) -> bool {
        match message {
            Message::Announce(_)
            | Message::Report(_)
            | Message::LaunchFailed(_)
            | Message::DaemonLost { .. }
            | Message::Rejoined { .. }
            | Message::LocalLaunchComplete { .. }
            | Message::Registered(_)
            | Message::ProcsEnded { .. }
            | Message::Abort { .. }
            | Message::ResizeRequest { .. }
            | Message::SessionRequest { .. }
            | Message::Output { .. }
            | Message::StdinCredit { .. }
            | Message::CollectiveFailed { .. }
            | Message::CollectiveRoot { .. }
            | Message::SpawnRequest { .. }
            | Message::DataRequest { .. } => true,
            Message::Rehome { .. }
            | Message::Wireup(_)
            | Message::Died { .. }
            | Message::Adopt(_)
            | Message::Listening(_)
            | Message::Above(_)
            | Message::Shrink { .. }
            | Message::ResizeReply { .. }
            | Message::ResizeDone { .. }
            | Message::TimeWarning { .. }
            | Message::SpawnedEnded { .. }
            | Message::SessionReply { .. }
            | Message::Exit
            | Message::Launch(_)
            | Message::ProcsFailed { .. }
            | Message::Kill(_)
            | Message::Signal { .. }
            | Message::Forget(_)
            | Message::OutputCredit { .. }
            | Message::Stdin { .. }
            | Message::CollectivePart { .. }
            | Message::CollectiveDone { .. }
            | Message::ModexRequest { .. }
            | Message::ModexReply { .. }
            | Message::SpawnReply { .. }
            | Message::DataReply { .. } => false,
        }
    }

    /// Messages for which [`Head::receives`] says true.
    pub(crate) fn receive(&mut self, origin: DaemonRank, message: Message, cx: &mut Cx) {
        match message {
            Message::Announce(contact) => self.on_announce(origin, contact, cx),
            Message::Report(report) => self.on_report(*report, cx),
            Message::ResizeRequest { id, proc, request } => self.on_resize_message(origin, id, proc, &request, cx),
            Message::SessionRequest { id, order } => self.on_session_order(origin, id, &order, cx),
            Message::LaunchFailed(failure) => self.on_launch_failed(&failure, cx),
            Message::DaemonLost { rank, cause } => self.on_daemon_lost(rank, &cause, cx),
            Message::Rejoined { .. } => self.counters.rejoins += 1,
            Message::LocalLaunchComplete { job, started, failed } => {
                self.on_local_launch(origin, job, started, failed, cx)
            }
            Message::Registered(job) => self.on_registered(origin, job, cx),
            Message::ProcsEnded { job, ends } => self.on_procs_ended(job, &ends, cx),
            Message::Abort { proc, code, message } => self.on_abort(proc, code, &message, cx),
            Message::Output { proc, stream, data } => self.on_output(origin, proc, stream, data, cx),
            Message::StdinCredit { job, bytes } => self.on_stdin_credit(origin, job, bytes, cx),
            Message::CollectiveFailed { key, status } => self.decide_collective(&key, Err(status), cx),
            Message::CollectiveRoot { key, part } => self.on_collective_root(origin, key, part, cx),
            Message::SpawnRequest { id, parent, submission } => self.on_spawn(origin, id, parent, *submission, cx),
            Message::DataRequest { id, call } => self.on_data(origin, id, *call, cx),
            other => unreachable!("not a message for the head: {}", other.kind()),
        }
        self.run_activated(cx);
    }
}
