//! The cost of a fence of one process on each node, in frames and bytes, with and without data.
//!
//! The table of `sim scale` and a test use it. It plays without a referee, because the sizes are large and other runs
//! check.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::count::{Spent, Tally};
use crate::invariants::Referee;
use crate::queue::Time;
use crate::scenario::{Expect, Scenario, job};
use crate::trace::Keep;
use crate::world::World;

/// The time after which all processes run and wait, and the time for the fence.
const SPAN: Time = 60_000_000;

/// A fence of a whole DVM.
#[derive(Clone, Debug)]
pub struct FenceRow {
    /// Daemons, the head included; each has one process.
    pub daemons: u32,
    /// Radix of the tree.
    pub radix: u32,
    /// Bytes that each daemon contributes.
    pub data: usize,
    /// True when data may go down the second tree.
    pub second_tree: bool,
    /// Frames by kind.
    pub kinds: BTreeMap<&'static str, u64>,
    /// The cost from the first process in the fence to the last frame about it.
    pub spent: Spent,
}

/// Plays one fence, to which each daemon contributes `data` bytes. With `second_tree` they go down the second tree when
/// they are as many as by default.
#[must_use]
pub fn fence(daemons: u32, radix: u32, data: usize, second_tree: bool) -> FenceRow {
    let mut spec = job(daemons, &format!("init pause:{} fence pause:{} finalize", SPAN, 2 * SPAN));
    spec.map.by = Some(ferrite_types::MapBy::Node);
    let second_tree_bytes = (!second_tree).then_some(0);
    let scenario = Scenario { slots: 1, second_tree_bytes, ..Scenario::calm(1, daemons, radix) };
    let scenario = scenario.with_job(0, spec, Expect::Code(0));
    let mut world = World::new(scenario, Keep::Unwritten, Referee::blind());
    world.fence_bytes = data;
    world.begin();
    // Each process pauses from its own init on, so all of them enter the fence some seconds after this.
    world.play_until(SPAN - 1);
    world.bill.tally = Some(Tally::silent());
    world.play_until(2 * SPAN);
    let tally = world.bill.tally.take().unwrap_or_default();
    FenceRow { daemons, radix, data, second_tree, kinds: tally.kinds.clone(), spent: tally.spent(SPAN) }
}

/// The rows as a markdown table.
#[must_use]
pub fn fence_table(rows: &[FenceRow]) -> String {
    let [heads, line] = Spent::HEADS;
    let mut out = format!("| daemons | radix | bytes of each | second tree | {heads}\n|--:|--:|--:|:-:|{line}\n");
    for FenceRow { daemons, radix, data, second_tree, spent, .. } in rows {
        let second_tree = if *second_tree { "yes" } else { "no" };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "| {daemons} | {radix} | {data} | {second_tree} | {spent}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_goes_up_and_down_each_link_once() {
        let FenceRow { kinds, spent, .. } = fence(200, 8, 8, true);
        assert_eq!((kinds["collective-part"], kinds["collective-done"]), (199, 199), "{kinds:?}");
        // The result goes to each daemon as a whole: 8 bytes of each, and a little around them.
        assert!((200 * 200 * 8..2 * 200 * 200 * 8).contains(&spent.bytes), "{spent:?}");
        let empty = fence(200, 8, 0, true);
        assert_eq!((empty.kinds["collective-part"], empty.kinds["collective-done"]), (199, 199), "{:?}", empty.kinds);
        assert!(empty.spent.bytes < 200 * 200, "{:?}", empty.spent);
    }

    #[test]
    fn much_data_leave_the_head_twice_instead_of_once_for_each_child() {
        let [narrow, wide] = [true, false].map(|second_tree| fence(200, 64, 1_000, second_tree).spent.head.1);
        // The data on their way up to the head are counted too.
        assert!((65 * 200_000..66 * 201_000).contains(&wide), "{wide}");
        assert!((3 * 200_000..4 * 200_000).contains(&narrow), "{narrow}");
    }
}
