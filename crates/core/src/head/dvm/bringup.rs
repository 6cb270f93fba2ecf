//! The first grow campaign: from the allocation to a DVM in which every daemon has acknowledged the wireup
//! (docs/spec/launch.md).

use ferrite_rm::launcher::{self, Launcher};
use ferrite_rm::params::ParamError;
use ferrite_types::{DaemonRank, Duration, ExitStatus, HostEntry, JobId, JobState, NodeId, RankSet};
use ferrite_wire::{Contact, DaemonMessage, DaemonReport, LaunchFailure, Message, NodeLaunch, Ticket, Wireup};

use crate::cx::{Cx, Outgoing, Purpose};
use crate::daemon::describe_end;
use crate::head::Head;
use crate::head::counters::Counted;
use crate::launches::TicketBase;
use crate::{Effect, HeadTimer};

/// The time in which a daemon must connect after its start (milliseconds).
const CONNECT_MS: u64 = 20_000;

/// The wait for more daemons that cannot be started, after the first one: a user has to correct all of them
/// (milliseconds).
const MORE_FAILURES_MS: u64 = 2_000;

/// The most failures that the message lists.
const MOST_FAILURES: usize = 16;

fn command_and_cause(failure: &LaunchFailure) -> String {
    let command = match failure.command.as_str() {
        "" => String::new(),
        command => format!("\n  command: {command}"),
    };
    format!("{command}\n  cause:   {}", failure.cause)
}

/// State of the campaign.
#[derive(Debug, Default)]
pub(super) struct BringUp {
    /// Daemons that have not reported.
    missing: RankSet,
    /// Daemons that could not be started.
    failures: Vec<LaunchFailure>,
    /// True once the DVM takes jobs.
    ready: bool,
}

impl BringUp {
    pub(super) fn is_ready(&self) -> bool {
        self.ready
    }

    pub(super) fn missing(&self) -> &RankSet {
        &self.missing
    }

    /// True when daemons could not be started and no other one is awaited.
    fn only_failed(&self) -> bool {
        let failed: usize = self.failures.iter().map(|failure| failure.nodes.len()).sum();
        failed > 0 && failed >= self.missing.len()
    }

    /// Notes a report. True when it was the last that was missing.
    fn on_report(&mut self, rank: DaemonRank) -> bool {
        self.missing.remove(rank) && self.missing.is_empty()
    }
}

impl Head {
    /// LAUNCH_DAEMONS: starts the daemons of all nodes but the head's.
    pub(in crate::head) fn launch_daemons(&mut self, cx: &mut Cx) {
        let targets = self.targets();
        if targets.is_empty() {
            self.activate(JobId::DAEMONS, JobState::DaemonsReported, cx);
            return;
        }
        let base = match self.ticket_base(targets.len()) {
            Ok(base) => base,
            Err(error) => return self.fail_bringup(error.to_string(), cx),
        };
        cx.tree.grow(targets.len() as u32 + 1);
        self.dvm.bringup.missing = targets.iter().map(|t| t.rank).collect();
        let limit = Duration::from_secs(u64::from(self.launch_timeout_s()));
        cx.set_timer(HeadTimer::BringUp, cx.now + limit);
        self.begin_progress(cx);
        self.dvm.launches.start(&base, DaemonRank::HEAD, &targets, &self.local, cx);
        self.activate(JobId::DAEMONS, JobState::DaemonsLaunched, cx);
    }

    fn targets(&self) -> Vec<NodeLaunch> {
        let others = self.pool.records().iter().zip(&self.config.allocation.nodes);
        let launch = |rank: DaemonRank, host: &HostEntry| NodeLaunch { rank, host: host.clone() };
        others
            .filter_map(|(node, host)| node.daemon.filter(|r| *r != DaemonRank::HEAD).map(|rank| launch(rank, host)))
            .collect()
    }

    pub(in crate::head) fn ticket_base(&self, daemons: usize) -> Result<TicketBase, ParamError> {
        let ticket = Ticket {
            dvm: self.config.dvm.clone(),
            key: Ticket::NO_KEY,
            rank: DaemonRank::HEAD,
            node: String::new(),
            size: daemons as u32 + 1,
            dead: RankSet::new(),
            joins: false,
            radix: self.radix(),
            home: DaemonRank::HEAD,
            contact: Contact::default(),
            params: self.params_of_daemons(),
            program: launcher::daemon_program(&self.params, &self.config.prted)?,
            subtree: Vec::new(),
            group: Vec::new(),
            stays: false,
            cwd: self.config.cwd.clone(),
            connect_ms: CONNECT_MS,
            served: self.config.served.clone(),
        };
        Ok(TicketBase { ticket, launcher: self.launcher()? })
    }

    /// Handles the end of tasks of a step that goes on.
    pub(in crate::head) fn on_tasks_ended(
        &mut self,
        launcher: DaemonRank,
        nodes: &[String],
        message: &str,
        cx: &mut Cx,
    ) {
        if let Some(failure) = self.dvm.launches.on_tasks_ended(launcher, nodes, message) {
            self.on_launch_failed(&failure, cx);
        }
    }

    /// The parameters that daemons are told (`ferrite_head_params`).
    fn params_of_daemons(&self) -> Vec<(String, String)> {
        let kept = self.params.text("ferrite_head_params").ok().flatten().unwrap_or_default();
        let is_told = |name: &str| kept.split(',').all(|kept| kept.trim() != name);
        self.config.params.iter().filter(|(name, _)| is_told(name)).cloned().collect()
    }

    fn launcher(&self) -> Result<Launcher, ParamError> {
        Launcher::from_params(&self.params, Some(&self.config.allocation))
    }

    fn launch_advice(&self) -> &'static str {
        self.launcher().map_or("", |launcher| launcher.advice())
    }

    pub(in crate::head) fn launch_timeout_s(&self) -> u32 {
        self.params.number("ferrite_launch_timeout").ok().filter(|s| *s > 0).unwrap_or(60)
    }

    pub(crate) fn on_link_up(&mut self, peer: DaemonRank) {
        self.dvm.launches.on_linked(peer);
    }

    /// Handles the call of a daemon whose tree parent is another: the head names the parent as soon as that is up.
    pub(in crate::head) fn on_announce(&mut self, rank: DaemonRank, contact: Contact, cx: &mut Cx) {
        self.dvm.contacts.on_announce(rank, contact, cx);
    }

    /// Handles the report of a daemon that is up.
    pub(in crate::head) fn on_report(&mut self, report: DaemonReport, cx: &mut Cx) {
        if self.dvm.is_ending() {
            return;
        }
        let rank = report.rank;
        let Some(report) = self.on_newcomer_report(report, cx) else { return };
        let node = self.pool.node_of(rank).map(|node| node.id);
        self.meet(report, node);
        self.dvm.contacts.rehome(cx);
        if self.dvm.bringup.on_report(rank) {
            self.activate(JobId::DAEMONS, JobState::DaemonsReported, cx);
        } else if self.dvm.bringup.only_failed() {
            self.fail_launches(cx);
        }
    }

    /// Notes what a daemon reports: where it listens, its process, and the machine of its node.
    pub(in crate::head) fn meet(&mut self, report: DaemonReport, node: Option<NodeId>) {
        let DaemonReport { rank, hostname, contact, topology, pid } = report;
        self.dvm.contacts.on_report(rank, contact, pid);
        if let Some(node) = node {
            self.pool.learn(node, hostname, &topology);
        }
    }

    /// Sends the wireup to all daemons, and tells the tree parents of those that have come where these listen.
    pub(in crate::head) fn send_wireup(&mut self, come: RankSet, purpose: Purpose, cx: &mut Cx) {
        self.dvm.wireups += 1;
        let (size, dead, coming) = (cx.tree.size(), cx.tree.holes().clone(), cx.tree.coming().clone());
        let wireup = Wireup { number: self.dvm.wireups, size, dead, coming, come: come.clone() };
        self.counters.count(Counted::Xcast);
        cx.out.push_back(Outgoing::Xcast(Message::Daemon(DaemonMessage::Wireup(wireup)), purpose));
        self.dvm.contacts.place_newcomers(&come, cx);
    }

    /// DAEMONS_REPORTED: sends the wireup to all daemons; VM_READY follows when all have acknowledged it (spec L8).
    pub(in crate::head) fn wire_up(&mut self, cx: &mut Cx) {
        self.pool.default_slots();
        if cx.tree.size() == 1 {
            self.activate(JobId::DAEMONS, JobState::VmReady, cx);
            return;
        }
        self.send_wireup(RankSet::new(), Purpose::Wireup, cx);
    }

    /// Handles an xcast that every daemon has acknowledged (spec L8).
    pub(crate) fn on_xcast_complete(&mut self, purpose: &Purpose, cx: &mut Cx) {
        match purpose {
            Purpose::Wireup if !self.dvm.is_ending() => {
                self.activate(JobId::DAEMONS, JobState::VmReady, cx);
            }
            Purpose::Deaths(ranks) => self.on_repaired(ranks),
            Purpose::Grow(id) => self.on_grown(*id, cx),
            Purpose::Shrink { campaign, targets } => self.on_departed(*campaign, targets, cx),
            Purpose::Wireup | Purpose::Exit => {}
        }
        self.run_activated(cx);
    }

    /// VM_READY: dispatches the jobs that were submitted early.
    pub(in crate::head) fn vm_ready(&mut self, cx: &mut Cx) {
        // Cancelled only here: the deadline also covers the acknowledgements of the wireup.
        cx.cancel_timer(HeadTimer::BringUp);
        self.end_progress(true, cx);
        self.dvm.bringup.ready = true;
        if self.config.persistent {
            cx.effect(Effect::Ready);
        }
        self.dispatch_early(cx);
    }

    pub(in crate::head) fn on_launcher_ended(
        &mut self,
        rank: DaemonRank,
        status: Option<ExitStatus>,
        message: &str,
        cx: &mut Cx,
    ) {
        let ended = self.dvm.launches.on_ended(rank, status, message, &describe_end(status));
        if let Some(failure) = ended.failure {
            self.on_launch_failed(&failure, cx);
        }
        let held: Vec<&str> =
            ended.held.iter().filter(|rank| cx.tree.contains(*rank)).map(|rank| self.node_name(rank)).collect();
        if !held.is_empty() && !self.dvm.is_ending() {
            let (nodes, cause) = (held.join(", "), &ended.cause);
            cx.notice(format!(
                "What holds the daemons on {nodes} was killed, and the resource manager may end them as well: {cause}."
            ));
        }
    }

    /// Handles a daemon that the head or another daemon could not start (spec L10).
    pub(in crate::head) fn on_launch_failed(&mut self, failure: &LaunchFailure, cx: &mut Cx) {
        if self.dvm.is_ending() {
            return;
        }
        // In a DVM that is ready the campaign of a daemon that is nobody's newcomer is over.
        if self.on_newcomer_not_launched(failure, cx) || self.dvm.is_ready() {
            return;
        }
        if self.dvm.bringup.failures.is_empty() {
            cx.set_timer(HeadTimer::BringUp, cx.now + Duration::from_millis(MORE_FAILURES_MS));
        }
        self.dvm.bringup.failures.push(failure.clone());
        if self.dvm.bringup.only_failed() {
            self.fail_launches(cx);
        }
    }

    /// Ends the bring-up when daemons could not be started, with one message about all of them (spec L10).
    fn fail_launches(&mut self, cx: &mut Cx) {
        if self.dvm.is_ending() || self.dvm.is_ready() {
            return;
        }
        let failures = std::mem::take(&mut self.dvm.bringup.failures);
        let advice = self.launch_advice();
        let text = match failures.as_slice() {
            [] => return,
            [failure] => {
                let who = failure.subject();
                format!("{who} could not be started.{}\n{advice}; nothing was started.", command_and_cause(failure))
            }
            several => {
                let one = |failure: &LaunchFailure| format!("\n{}:{}", failure.subject(), command_and_cause(failure));
                let all: String = several.iter().take(MOST_FAILURES).map(one).collect();
                let more = several.len().saturating_sub(MOST_FAILURES);
                let more = if more > 0 { format!("\nand {more} more.") } else { String::new() };
                format!("{} daemons could not be started.{all}{more}\n{advice}; nothing was started.", several.len())
            }
        };
        self.fail_bringup(text, cx);
    }

    /// Ends a bring-up that has taken too long; the message names the missing daemons (spec L11).
    pub(in crate::head) fn on_bringup_deadline(&mut self, cx: &mut Cx) {
        if self.dvm.is_ready() || self.dvm.is_ending() {
            return;
        }
        if !self.dvm.bringup.failures.is_empty() {
            return self.fail_launches(cx);
        }
        let limit = self.launch_timeout_s();
        if self.dvm.missing().is_empty() {
            let text = format!(
                "All daemons reported, but not all of them were wired up within {limit} seconds.\n\
                 A node may have become unreachable meanwhile; nothing was started."
            );
            return self.fail_bringup(text, cx);
        }
        let missing: Vec<String> = self.dvm.missing().iter().map(|rank| self.missing_text(rank)).collect();
        let count = missing.len();
        let shown = missing.into_iter().take(8).collect::<Vec<_>>().join("\n");
        self.fail_bringup(
            format!(
                "{count} of the daemons did not report within {limit} seconds:\n{shown}\n\
                 Check that the nodes can connect to this one, or allow more time with\n\
                 --prtemca ferrite_launch_timeout SECONDS; nothing was started."
            ),
            cx,
        );
    }

    fn missing_text(&self, rank: DaemonRank) -> String {
        let node = self.node_name(rank);
        match self.dvm.launches.command(rank) {
            Some(command) => format!("  {node} (by: {command})"),
            None => format!("  {node}"),
        }
    }

    /// Fails the bring-up: all its daemons are undone, and cached jobs are never launched (spec L10).
    pub(super) fn fail_bringup(&mut self, text: String, cx: &mut Cx) {
        self.refuse_early(&text, cx);
        cx.notice(text);
        cx.cancel_timer(HeadTimer::BringUp);
        self.end_progress(false, cx);
        self.dvm.enter(JobState::FailedToStart, cx);
        self.shut_down(1, cx);
    }
}
