//! The cost of a change of size in an otherwise idle DVM, in frames and bytes.
//!
//! The tables of `sim scale` and tests use it. It plays without a referee, because the sizes are large and other runs
//! check.

use std::fmt::Write;

use crate::count::{Spent, Tally};
use crate::invariants::Referee;
use crate::queue::Time;
use crate::scenario::{Expect, Scenario, job};
use crate::trace::Keep;
use crate::world::World;

/// The time for each change; it is more than a change needs. Ten times as much would be spent on heartbeats.
const SPAN: Time = 6_000_000;

/// One change of size.
#[derive(Clone, Debug)]
pub struct SizeRow {
    /// Daemons before it, the head included.
    pub daemons: u32,
    /// Width of the tree.
    pub radix: u32,
    /// The requested change.
    pub what: &'static str,
    /// Nodes that leave or come.
    pub targets: u32,
    /// The cost from the request to the last frame about it.
    pub spent: Spent,
    /// Daemons that are there afterwards, the head included.
    pub after: u32,
}

/// Shrinks a DVM by the second half of its nodes (whole branches), grows it by them again, and shrinks it by every
/// twentieth node. Every second one leaves another DVM that has had the first two changes.
#[must_use]
pub fn sizes(daemons: u32, radix: u32) -> Vec<SizeRow> {
    let names: Vec<String> = (0..daemons).map(|i| format!("n{i}")).collect();
    let half: Vec<&str> = names.iter().skip(names.len().div_ceil(2)).map(String::as_str).collect();
    let every = |step: usize| -> Vec<&str> { names.iter().skip(1).step_by(step).map(String::as_str).collect() };
    let after_two = |what, nodes: &Vec<&str>| {
        play(daemons, radix, &[("shrink by a half in one piece", &half), ("grow by it", &half), (what, nodes)])
    };
    let mut rows = after_two("shrink by every twentieth", &every(20));
    rows.extend(after_two("shrink by every second", &every(2)).pop());
    rows
}

/// One change after the other.
fn play(daemons: u32, radix: u32, changes: &[(&'static str, &Vec<&str>)]) -> Vec<SizeRow> {
    let mut scenario = Scenario { persistent: true, ..Scenario::calm(1, daemons, radix) };
    for (at, (what, nodes)) in (1..).map(|nth| nth * SPAN).zip(changes) {
        let grows = what.starts_with("grow");
        scenario = if grows { scenario.with_grow(at, nodes) } else { scenario.with_shrink(at, nodes) };
    }
    let scenario = scenario.with_job(100 * SPAN, job(1, "exit:0"), Expect::Code(0));
    let mut world = World::new(scenario, Keep::Unwritten, Referee::blind());
    world.begin();
    world.play_until(SPAN - 1);
    let row = |(nth, (what, nodes)): (usize, &(&'static str, &Vec<&str>))| {
        let before = world.hosts.len() as u32;
        world.bill.tally = Some(Tally::silent());
        let began = (nth as Time + 1) * SPAN;
        world.play_until(began + SPAN - 1);
        let spent = world.bill.tally.take().unwrap_or_default().spent(began);
        SizeRow { daemons: before, radix, what, targets: nodes.len() as u32, spent, after: world.hosts.len() as u32 }
    };
    changes.iter().enumerate().map(row).collect()
}

/// The rows as a markdown table.
#[must_use]
pub fn sizes_table(rows: &[SizeRow]) -> String {
    let [heads, line] = Spent::HEADS;
    let mut out = format!("| daemons | radix | change | nodes | {heads}\n|--:|--:|---|--:|{line}\n");
    for SizeRow { daemons, radix, what, targets, spent, .. } in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "| {daemons} | {radix} | {what} | {targets} | {spent}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shrink_costs_a_broadcast_and_links_among_survivors() {
        let rows = sizes(400, 8);
        let sizes: Vec<_> = rows.iter().map(|row| (row.daemons, row.after)).collect();
        assert_eq!(sizes, [(400, 200), (200, 400), (400, 380), (400, 200)]);
        let [piece, _, _, scattered] = rows.as_slice() else { panic!("four changes") };
        // Each leaving daemon costs the order and its acknowledgement.
        assert_eq!(piece.spent.frames, 2 * 399, "{piece:?}");
        assert_eq!(piece.spent.head.0, 2 * 8, "{piece:?}");
        // Survivors make new links: each costs a greeting, the order again, and a report on the route.
        assert!(scattered.spent.frames < 4 * 400 && scattered.spent.head.0 < 400, "{scattered:?}");
    }
}
