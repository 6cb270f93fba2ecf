//! Lost daemons: the head declares them dead, tells all daemons, and ends or spares the jobs that had processes
//! there. The parents of the daemons detect the loss and report it; the head does not probe.

use std::collections::BTreeMap;

use ferrite_types::{DaemonRank, Duration, RankSet};
use ferrite_wire::{Message, TreeMessage};

use crate::HeadTimer;
use crate::cx::{Cx, Outgoing, Purpose};
use crate::head::Head;
use crate::head::counters::Counted;

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
        if self.on_target_lost(rank, cause, cx) {
            return;
        }
        if !self.dvm.is_ready() {
            return self.fail_bringup(lost_in_bringup(self.node_name(rank), cause), cx);
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
        self.counters.count(Counted::DaemonsLost(ranks.len()));
        self.pool.lose(&ranks);
        // Sent before anything else, so that all later messages take the repaired tree.
        self.counters.count(Counted::Xcast);
        let (message, purpose) =
            (Message::Tree(TreeMessage::Died { ranks: ranks.clone() }), Purpose::Deaths(ranks.clone()));
        cx.out.push_back(Outgoing::Xcast(message, purpose));
        self.dvm.place_orphans(&ranks, cx);
        self.clients.lose(&ranks, cx);
        self.lose_participants(&ranks, cx);
        let was_used = self.lose_procs_on(&dead, cx);
        self.move_no_files_to(&ranks, cx);
        if !was_used || self.config.persistent {
            cx.notice(daemons_lost(&dead));
        }
        self.settle_grants(cx);
        self.sweep_sessions(cx);
        // A queued job that needs more nodes than are left is refused; it no longer holds up others.
        self.serve_queue(cx);
    }

    /// Records that every daemon has repaired its tree.
    pub(super) fn on_repaired(&mut self, ranks: &RankSet) {
        self.counters.count(Counted::Repair);
        self.dvm.losses.on_repaired(ranks);
    }
}

/// Message about lost daemons for the operator of the DVM.
fn daemons_lost(dead: &BTreeMap<DaemonRank, Loss>) -> String {
    let each: Vec<String> = dead.values().take(8).map(|loss| format!("  {}: {}", loss.node, loss.cause)).collect();
    let more = dead.len().saturating_sub(each.len());
    let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
    format!("The DVM has lost daemons and goes on without their nodes:\n{}{more}", each.join("\n"))
}

/// Message about a daemon whose loss ends the bring-up.
fn lost_in_bringup(node: &str, cause: &str) -> String {
    format!("The daemon on node {node} was lost while the DVM was being started ({cause}).\nNothing was started.")
}
