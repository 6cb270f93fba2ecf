//! Lost daemons: the head declares them dead, tells all daemons, and ends or spares the jobs that had processes
//! there. The parents of the daemons detect the loss and report it; the head does not probe.

use std::collections::BTreeMap;

use ferrite_types::{DaemonRank, Duration, JobId, JobState, ProcId, ProcState, RankSet};
use ferrite_wire::{Message, ProcFailure, TreeMessage};

use crate::HeadTimer;
use crate::cx::{Cx, Outgoing, Purpose};
use crate::head::Head;
use crate::head::clients::Counted;
use crate::head::jobs::Failure;
use crate::head::jobs::notices;
use crate::pmix_status::PMIX_ERR_LOST_CONNECTION;

/// The time in which successive losses are declared together (milliseconds), so that a failed rack takes one repair.
const GATHER_MS: u64 = 20;

/// Losses between their report and the end of the repair.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// Reported losses that are not declared yet, with their causes.
    reported: BTreeMap<DaemonRank, String>,
    /// True shortly after a declaration: further losses wait for the timer.
    gathering: bool,
    /// Nodes of dead daemons whose death some daemons have not acknowledged yet.
    repairing: BTreeMap<DaemonRank, String>,
}

impl Losses {
    pub(super) fn under_repair(&self) -> impl Iterator<Item = &str> {
        self.repairing.values().map(String::as_str)
    }

    /// Notes that every daemon has repaired its tree.
    fn on_repaired(&mut self, ranks: &RankSet) {
        self.repairing.retain(|rank, _| !ranks.contains(*rank));
    }
}

/// One dead daemon: its node and the cause.
#[derive(Debug)]
pub(in crate::head) struct Loss {
    pub(in crate::head) node: String,
    pub(in crate::head) cause: String,
}

impl Head {
    /// Handles a parent's report that a daemon is gone without an order to leave (spec G4).
    pub(in crate::head) fn on_daemon_lost(&mut self, rank: DaemonRank, cause: &str, cx: &mut Cx) {
        if self.dvm.is_ending() || !cx.tree.contains(rank) {
            return;
        }
        // A newcomer is not part of the DVM yet.
        if let Some(campaign) = self.elastic.grow_of(rank) {
            return self.on_target_lost(campaign, rank, cause, cx);
        }
        if !self.dvm.is_ready() {
            return self.fail_bringup(notices::daemon_lost_in_bringup(self.node_name(rank), cause), cx);
        }
        self.dvm.losses.reported.insert(rank, cause.to_owned());
        if !self.dvm.losses.gathering {
            self.declare_deaths(cx);
        }
    }

    pub(in crate::head) fn on_deaths_timer(&mut self, cx: &mut Cx) {
        self.dvm.losses.gathering = false;
        self.declare_deaths(cx);
    }

    /// Declares the reported losses as deaths, except for daemons that were ordered to leave (spec E33).
    fn declare_deaths(&mut self, cx: &mut Cx) {
        let mut reported = std::mem::take(&mut self.dvm.losses.reported);
        // A daemon that was ordered to leave meanwhile departs with its campaign, even when it has crashed.
        reported.retain(|rank, _| cx.tree.contains(*rank));
        if reported.is_empty() || self.dvm.is_ending() {
            return;
        }
        self.dvm.losses.gathering = true;
        cx.set_timer(HeadTimer::Deaths, cx.now + Duration::from_millis(GATHER_MS));
        let name = |(rank, cause)| (rank, Loss { node: self.node_name(rank).to_owned(), cause });
        let dead: BTreeMap<DaemonRank, Loss> = reported.into_iter().map(name).collect();
        let ranks: RankSet = dead.keys().copied().collect();
        self.dvm.losses.repairing.extend(dead.iter().map(|(rank, loss)| (*rank, loss.node.clone())));
        self.clients.count(Counted::DaemonsLost(ranks.len()));
        self.pool.lose(&ranks);
        // Sent before anything else, so that all later messages take the repaired tree.
        self.clients.count(Counted::Xcast);
        let (message, purpose) =
            (Message::Tree(TreeMessage::Died { ranks: ranks.clone() }), Purpose::Deaths(ranks.clone()));
        cx.out.push_back(Outgoing::Xcast(message, purpose));
        self.dvm.place_orphans(&ranks, cx);
        self.clients.lose(&ranks, cx);
        self.lose_participants(&ranks, cx);
        let ids: Vec<JobId> = self.jobs.keys().copied().collect();
        let hit = ids.into_iter().filter(|id| self.lose_procs(*id, &dead, cx)).count();
        if hit == 0 || self.config.persistent {
            cx.notice(notices::daemons_lost(&dead));
        }
        self.settle_grants(cx);
        self.sweep_sessions(cx);
        // A queued job that needs more nodes than are left is refused; it no longer holds up others.
        self.serve_queue(cx);
    }

    /// Records that every daemon has repaired its tree.
    pub(super) fn on_repaired(&mut self, ranks: &RankSet) {
        self.clients.count(Counted::Repair);
        self.dvm.losses.on_repaired(ranks);
    }

    /// Ends the processes on dead daemons. True when the job had any (spec L32).
    fn lose_procs(&mut self, id: JobId, dead: &BTreeMap<DaemonRank, Loss>, cx: &mut Cx) -> bool {
        // A job on map hold has no processes there yet; it is mapped again when it is released.
        let Some(job) = self.jobs.get_mut(&id).filter(|job| job.held.is_none()) else {
            return false;
        };
        let map = job.map.clone();
        let survived = job.survives_losses();
        let mut first: Option<&Loss> = None;
        let mut failed = Vec::new();
        for (rank, _) in map.ranks() {
            let Some(loss) = map.daemon_of(rank).and_then(|daemon| dead.get(&daemon)) else {
                continue;
            };
            let proc = &mut job.procs[rank.0 as usize];
            if !proc.state.has_ended() {
                proc.state = ProcState::CommFailed;
                job.ended += 1;
                failed.push(ProcFailure { rank, state: ProcState::CommFailed, code: None });
                first.get_or_insert(loss);
            }
        }
        job.lost.extend(failed.iter().map(|end| end.rank));
        dead.keys().for_each(|rank| job.stdin.forget(*rank));
        let hit = first.is_some();
        if let Some(Loss { node, cause }) = first {
            let text = notices::daemon_lost(id, node, cause, failed.len());
            self.on_failure(id, Failure { state: JobState::CommFailed, code: 1, text }, survived, cx);
            self.refuse_spawn(id, PMIX_ERR_LOST_CONNECTION, cx);
            failed.iter().for_each(|end| self.pmix.purge_failed(ProcId { job: id, rank: end.rank }, cx));
            self.tell_survivors(id, failed, cx);
        }
        // A job that goes on does not wait for the dead daemons' init calls, nor for their knowledge of the job.
        for rank in dead.keys() {
            self.on_registered(*rank, id, cx);
            self.on_local_launch(*rank, id, Vec::new(), Vec::new(), cx);
        }
        self.check_terminated(id, cx);
        hit
    }
}
