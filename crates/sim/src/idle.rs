//! The cost of an idle DVM, and the cost of the loss of one daemon until its tree is repaired.
//!
//! The tables of `sim scale` and tests use it. It plays without a referee, because the sizes are large and other runs
//! check.

use std::collections::BTreeMap;
use std::fmt::Write;

use ferrite_router::Tree;
use ferrite_types::DaemonRank;

use crate::count::{Spent, Tally};
use crate::fault::Fault;
use crate::invariants::Referee;
use crate::queue::Time;
use crate::scenario::{Expect, Scenario, job};
use crate::trace::Keep;
use crate::world::World;

const SECOND: Time = 1_000_000;
/// The time after which the DVM is up and quiet, even after a loss.
const SETTLED: Time = 60 * SECOND;
/// The time for which an idle DVM is measured.
const WATCHED: Time = 600 * SECOND;

/// The cost of ten minutes of an idle DVM.
#[derive(Clone, Debug)]
pub struct IdleRow {
    /// Daemons at the start, the head included.
    pub daemons: u32,
    /// Radix of the tree.
    pub radix: u32,
    /// True when a daemon was lost before the measurement.
    pub lost: bool,
    /// Links at the end.
    pub links: usize,
    /// Frames by kind.
    pub kinds: BTreeMap<&'static str, u64>,
    /// Bytes of all of them.
    pub bytes: u64,
}

impl IdleRow {
    /// Frames of all kinds.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.kinds.values().sum()
    }
}

/// The cost of the loss of one daemon with children.
#[derive(Clone, Debug)]
pub struct RepairRow {
    /// Daemons, the head included.
    pub daemons: u32,
    /// Radix of the tree.
    pub radix: u32,
    /// The lost daemon.
    pub victim: DaemonRank,
    /// The number of its children.
    pub orphans: usize,
    /// The cost from the loss to the last frame about it.
    pub spent: Spent,
}

/// A DVM that waits for a job in the far future.
fn idle_world(daemons: u32, radix: u32) -> World {
    let scenario = Scenario { persistent: true, ..Scenario::calm(1, daemons, radix) };
    let scenario = scenario.with_job(100 * WATCHED, job(1, "exit:0"), Expect::Code(0));
    let mut world = World::new(scenario, Keep::Unwritten, Referee::blind());
    world.begin();
    world.play_until(SETTLED);
    world
}

/// Returns a daemon with children; if the tree is deep enough, its parent is not the head.
fn interior(daemons: u32, radix: u32) -> DaemonRank {
    let tree = Tree::new(radix, daemons);
    let inner = |rank: &DaemonRank| !tree.children(*rank).is_empty();
    let deep = tree.living().iter().skip(1).filter(|rank| tree.depth(*rank) > 1).find(inner);
    deep.unwrap_or(DaemonRank(1))
}

/// Measures an idle DVM for ten minutes.
#[must_use]
pub fn idle(daemons: u32, radix: u32, lost: bool) -> IdleRow {
    let mut world = idle_world(daemons, radix);
    if lost {
        world.on_fault(Fault::Crash(interior(daemons, radix)));
        world.play_until(2 * SETTLED);
    }
    let from = if lost { 2 * SETTLED } else { SETTLED };
    world.bill.tally = Some(Tally::default());
    world.play_until(from + WATCHED);
    let tally = world.bill.tally.take().unwrap_or_default();
    let links = world.network.live().count();
    IdleRow { daemons, radix, lost, links, kinds: tally.kinds, bytes: tally.bytes }
}

/// Loses one daemon of an idle DVM, and measures until the last frame about it.
#[must_use]
pub fn repair(daemons: u32, radix: u32) -> RepairRow {
    let mut world = idle_world(daemons, radix);
    let victim = interior(daemons, radix);
    let orphans = Tree::new(radix, daemons).children(victim).len();
    world.bill.tally = Some(Tally::silent());
    world.on_fault(Fault::Crash(victim));
    world.play_until(2 * SETTLED);
    let spent = world.bill.tally.take().unwrap_or_default().spent(SETTLED);
    RepairRow { daemons, radix, victim, orphans, spent }
}

/// The rows as a markdown table.
#[must_use]
pub fn idle_table(rows: &[IdleRow]) -> String {
    let mut out = String::from(
        "| idle daemons | radix | one lost | links | frames in 10 min | kinds | frames per daemon and minute | bytes per daemon and minute |\n\
         |--:|--:|---|--:|--:|---|--:|--:|\n",
    );
    for row in rows {
        let per = |n: u64| n as f64 / f64::from(row.daemons) / (WATCHED / SECOND / 60) as f64;
        let kinds: Vec<_> = row.kinds.keys().copied().collect();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {:.1} | {:.0} |",
            row.daemons,
            row.radix,
            if row.lost { "yes" } else { "no" },
            row.links,
            row.frames(),
            kinds.join(", "),
            per(row.frames()),
            per(row.bytes),
        );
    }
    out
}

/// The rows as a markdown table.
#[must_use]
pub fn repair_table(rows: &[RepairRow]) -> String {
    let [heads, line] = Spent::HEADS;
    let mut out = format!("| daemons | radix | lost | orphans | {heads}\n|--:|--:|--:|--:|{line}\n");
    for RepairRow { daemons, radix, victim, orphans, spent } in rows {
        let _ = writeln!(out, "| {daemons} | {radix} | {victim} | {orphans} | {spent}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The default time between two heartbeats (microseconds).
    const INTERVAL: Time = 5 * SECOND;

    #[test]
    fn an_idle_dvm_of_a_thousand_daemons_sends_no_more_than_signs_of_life() {
        for lost in [false, true] {
            let row = idle(1000, 64, lost);
            assert_eq!(row.links, 999 - usize::from(lost));
            assert_eq!(row.kinds.keys().copied().collect::<Vec<_>>(), ["heartbeat"], "lost: {lost}");
            let most = row.links as u64 * 2 * (WATCHED / INTERVAL);
            assert!(row.frames() <= most && row.frames() > most / 2, "{} of {most} frames", row.frames());
        }
    }

    #[test]
    fn the_loss_of_a_daemon_costs_little_more_than_a_broadcast() {
        let row = repair(1000, 2);
        let broadcast = 2 * u64::from(row.daemons);
        // Daemons below the lost one hear that their route works again.
        let below = Tree::new(2, 1000).subtree_size(row.victim) as u64;
        let Spent { frames, head, most, .. } = row.spent;
        assert!(frames >= broadcast - 10 && frames < broadcast + below + 60, "{row:?}");
        assert!(head.0 < 40 && most.0 < 60, "{row:?}");
    }
}
