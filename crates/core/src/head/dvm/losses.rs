//! Daemons that are lost: the head declares them dead, tells everybody, and ends or spares the jobs that had processes
//! there. It never looks for them: their parents have done that before they reported the loss.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::{DaemonRank, Duration, JobId, JobState, NodeRecord, ProcId, ProcState, RankSet};
use ferrite_wire::{Contact, DaemonMessage, Message, ProcFailure, TreeMessage};

use crate::HeadTimer;
use crate::cx::{Cx, Outgoing, Purpose};
use crate::head::Head;
use crate::head::clients::notices;
use crate::head::jobs::Failure;
use crate::pmix_status::PMIX_ERR_LOST_CONNECTION;

/// Losses that follow one another within this time are declared together: one repair for a rack that goes down.
const GATHER_MS: u64 = 20;

/// Losses on their way to becoming deaths.
#[derive(Debug, Default)]
pub(in crate::head) struct Losses {
    /// Reported and not declared yet, with the cause.
    reported: BTreeMap<DaemonRank, String>,
    /// Deaths were declared a moment ago: what comes now waits for the timer.
    gathering: bool,
    /// Nodes of those that are declared dead and not known to be so by all daemons yet.
    pub(in crate::head) repairing: BTreeMap<DaemonRank, String>,
    /// Nodes whose daemon was lost.
    pub(in crate::head) nodes: BTreeSet<String>,
}

/// What is known of one dead daemon.
#[derive(Debug)]
pub(in crate::head) struct Loss {
    pub(in crate::head) node: String,
    pub(in crate::head) cause: String,
}

impl Head {
    /// A daemon is gone that was not told to go, says its parent (spec G4).
    pub(in crate::head) fn on_daemon_lost(&mut self, rank: DaemonRank, cause: &str, cx: &mut Cx) {
        if self.exit.begun() || !cx.tree.contains(rank) {
            return;
        }
        // It was not part of the DVM yet, elastic or not.
        if let Some(campaign) = self.campaigns.of_newcomer(rank) {
            return self.on_target_lost(campaign, rank, cause, cx);
        }
        if !self.bringup.ready {
            return self.fail_bringup(notices::daemon_lost_in_bringup(self.node_name(rank), cause), cx);
        }
        self.losses.reported.insert(rank, cause.to_owned());
        if !self.losses.gathering {
            self.declare_deaths(cx);
        }
    }

    pub(in crate::head) fn on_deaths_timer(&mut self, cx: &mut Cx) {
        self.losses.gathering = false;
        self.declare_deaths(cx);
    }

    /// Declares dead who was reported lost and was not told to leave (spec E33).
    fn declare_deaths(&mut self, cx: &mut Cx) {
        let mut reported = std::mem::take(&mut self.losses.reported);
        // One that was told to leave in the meantime departs with its campaign, by a crash as well as by itself.
        reported.retain(|rank, _| cx.tree.contains(*rank));
        if reported.is_empty() || self.exit.begun() {
            return;
        }
        self.losses.gathering = true;
        cx.set_timer(HeadTimer::Deaths, cx.now + Duration::from_millis(GATHER_MS));
        let name = |(rank, cause)| (rank, Loss { node: self.node_name(rank).to_owned(), cause });
        let dead: BTreeMap<DaemonRank, Loss> = reported.into_iter().map(name).collect();
        let ranks: RankSet = dead.keys().copied().collect();
        self.losses.nodes.extend(dead.values().map(|loss| loss.node.clone()));
        self.losses.repairing.extend(dead.iter().map(|(rank, loss)| (*rank, loss.node.clone())));
        self.counters.daemons_lost += ranks.len() as u64;
        let of_dead = |node: &&mut NodeRecord| node.daemon.is_some_and(|rank| ranks.contains(rank));
        self.nodes.iter_mut().filter(of_dead).for_each(|node| node.daemon = None);
        // Before anything else is sent: the rest then takes the repaired way.
        self.counters.xcasts += 1;
        let (message, purpose) =
            (Message::Tree(TreeMessage::Died { ranks: ranks.clone() }), Purpose::Deaths(ranks.clone()));
        cx.out.push_back(Outgoing::Xcast(message, purpose));
        self.place_orphans(&ranks, cx);
        self.lose_clients(&ranks, cx);
        self.lose_participants(&ranks, cx);
        let ids: Vec<JobId> = self.jobs.keys().copied().collect();
        let hit = ids.into_iter().filter(|id| self.lose_procs(*id, &dead, cx)).count();
        if hit == 0 || self.config.persistent {
            cx.notice(notices::daemons_lost(&dead));
        }
        self.settle_grants(cx);
        self.sweep_sessions(cx);
        // Who waits for more than is left waits in vain, and before others.
        self.serve_queue(cx);
    }

    /// Tells the new parents of those that hung on the dead, or on those who leave, where they listen.
    pub(in crate::head) fn place_orphans(&self, dead: &RankSet, cx: &mut Cx) {
        let children = dead.iter().flat_map(|rank| cx.tree.children(rank)).filter(|child| !dead.contains(*child));
        let mut adopted: BTreeMap<DaemonRank, Vec<(DaemonRank, Contact)>> = BTreeMap::new();
        for orphan in children {
            let parent = cx.tree.ancestors(orphan).find(|above| !dead.contains(*above));
            if let (Some(parent), Some(contact)) = (parent, self.bringup.contacts.get(&orphan)) {
                adopted.entry(parent).or_default().push((orphan, contact.clone()));
            }
        }
        for (parent, orphans) in adopted {
            cx.send(parent, DaemonMessage::Adopt(orphans));
        }
    }

    /// Everybody has repaired its tree.
    pub(super) fn on_repaired(&mut self, ranks: &RankSet) {
        self.counters.repairs += 1;
        for rank in ranks.iter() {
            self.losses.repairing.remove(&rank);
        }
    }

    /// Processes on dead daemons have ended. True when the job had any (spec L32).
    fn lose_procs(&mut self, id: JobId, dead: &BTreeMap<DaemonRank, Loss>, cx: &mut Cx) -> bool {
        // One that is held with its map has nothing there yet, and is mapped again when it is let go.
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
            failed.iter().for_each(|end| self.purge_failed(ProcId { job: id, rank: end.rank }, cx));
            self.tell_survivors(id, failed, cx);
        }
        // A job that goes on does not wait for those there to call init, nor for daemons that were only to know it.
        for rank in dead.keys() {
            self.on_registered(*rank, id, cx);
            self.on_local_launch(*rank, id, Vec::new(), Vec::new(), cx);
        }
        self.check_terminated(id, cx);
        hit
    }
}
