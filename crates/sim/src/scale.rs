//! Costs of a DVM with a job, in frames and bytes.

use std::fmt::Write;

use ferrite_types::{HostEntry, HostRef};

use crate::count::{Cost, Phase, Spent, Tally};
use crate::invariants::Referee;
use crate::queue::Time;
use crate::scenario::{Expect, Scenario, job};
use crate::trace::Keep;
use crate::world::World;

/// The time for the bring-up of a DVM, and for one job; it is more than they need.
const SPAN: Time = 6_000_000;

/// The cost of one DVM and its job.
#[derive(Clone, Debug)]
pub struct ScaleRow {
    /// Daemons, the head included.
    pub daemons: u32,
    /// Radix of the tree.
    pub radix: u32,
    /// Processes of the job.
    pub procs: u32,
    /// Cost of each phase, in order.
    pub phases: Vec<(Phase, Cost)>,
    /// The failure of the run, in words; `None` = all went well.
    pub failure: Option<String>,
}

/// One DVM with one job of `procs` processes, counted.
#[must_use]
pub fn scale(daemons: u32, radix: u32, procs: u32) -> ScaleRow {
    let mut scenario = Scenario::calm(1, daemons, radix);
    scenario.slots = 1;
    let mut spec = job(procs, "exit:0");
    spec.map.by = Some(ferrite_types::MapBy::Node);
    let scenario = scenario.with_job(0, spec, Expect::Code(0));
    let mut world = World::new(scenario, Keep::Unwritten, Referee::blind());
    world.bill.each = Some(Default::default());
    world.begin();
    world.play(None);
    let report = world.finish();
    let ended_well = report.head_exit == Some(0) && report.left.is_empty();
    let failure = (!ended_well)
        .then(|| format!("exit {:?}, {} daemons left, {:?}", report.head_exit, report.left.len(), report.notices));
    ScaleRow { daemons, radix, procs, phases: Phase::ALL.map(|p| (p, report.bill.of(p))).to_vec(), failure }
}

/// The cost of a job of one process on the last node of an otherwise idle DVM.
#[derive(Clone, Debug)]
pub struct OneJobRow {
    /// Daemons, the head included.
    pub daemons: u32,
    /// Radix of the tree.
    pub radix: u32,
    /// The cost from the request to the last frame about the job, its end included.
    pub spent: Spent,
}

/// Plays a job of one process on the last node.
#[must_use]
pub fn one_job(daemons: u32, radix: u32) -> OneJobRow {
    let mut spec = job(1, "exit:0");
    spec.apps[0].hosts.hosts = vec![HostRef::Host(HostEntry::named(&format!("n{}", daemons - 1)))];
    let scenario = Scenario { persistent: true, ..Scenario::calm(1, daemons, radix) };
    let scenario = scenario.with_job(SPAN, spec, Expect::Code(0));
    // The DVM ends after its last job.
    let scenario = scenario.with_job(100 * SPAN, job(1, "exit:0"), Expect::Code(0));
    let mut world = World::new(scenario, Keep::Unwritten, Referee::blind());
    world.begin();
    world.play_until(SPAN - 1);
    world.bill.tally = Some(Tally::silent());
    world.play_until(2 * SPAN);
    let spent = world.bill.tally.take().unwrap_or_default().spent(SPAN);
    OneJobRow { daemons, radix, spent }
}

/// The rows as a markdown table.
#[must_use]
pub fn scale_table(rows: &[ScaleRow]) -> String {
    let [heads, line] = Spent::HEADS;
    let mut out = format!("| daemons | radix | processes | phase | {heads}\n|--:|--:|--:|---|{line}\n");
    for ScaleRow { daemons, radix, procs, phases, failure } in rows {
        let mut since = 0;
        for (phase, cost) in phases {
            let head = (cost.head_sent + cost.head_received, cost.head_bytes);
            let time = cost.until.saturating_sub(since);
            let spent = Spent { frames: cost.frames, bytes: cost.bytes, head, most: cost.most, time };
            // Writing to a string cannot fail.
            let _ = writeln!(out, "| {daemons} | {radix} | {procs} | {} | {spent}", phase.name());
            since = since.max(cost.until);
        }
        if let Some(failure) = failure {
            let _ = writeln!(out, "| {daemons} | {radix} | {procs} | **failed** | {failure} | | | | | | |");
        }
    }
    out
}

/// The rows as a markdown table.
#[must_use]
pub fn one_job_table(rows: &[OneJobRow]) -> String {
    let [heads, line] = Spent::HEADS;
    let mut out = format!("| daemons | radix | {heads}\n|--:|--:|{line}\n");
    for OneJobRow { daemons, radix, spent } in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "| {daemons} | {radix} | {spent}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_on_one_node_costs_its_way_and_the_phases_count_each_daemon() {
        // The last node is two links below the head in the small tree, and three in the large one.
        for (daemons, links) in [(20, 2), (400, 3)] {
            let spent = one_job(daemons, 8).spent;
            assert_eq!(spent.frames, links * spent.head.0, "{spent:?}");
            assert_eq!(spent.most.0, 2 * spent.head.0, "{spent:?}");
        }
        let row = scale(100, 8, 100);
        assert_eq!(row.failure, None);
        let bring_up = &row.phases[0].1;
        assert!(bring_up.most.0 > 0 && bring_up.most.0 < bring_up.head_sent + bring_up.head_received, "{bring_up:?}");
    }
}
