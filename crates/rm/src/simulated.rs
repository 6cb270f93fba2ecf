//! Simulated allocations (`ras_simulator_*`): nodes to try placement on with `--rtos donotlaunch`. The command line
//! calls this; no daemon is ever started on such a node.

use ferrite_types::{HostEntry, SlotCount};

use crate::params::{ParamError, Params};

/// The most nodes of a group.
const LARGEST_GROUP: usize = 100_000;
/// The most groups; a letter names each.
const GROUPS: usize = 26;

/// Returns the nodes: a group for each number of `ras_simulator_num_nodes`, `nodeA0 nodeA1 nodeB0 ...`, with the slots
/// of the same position in `ras_simulator_slots` and `ras_simulator_max_slots`, whose last number applies to all
/// further groups. Without a number a node has a slot for each core. Empty = nothing is simulated.
///
/// # Errors
/// A parameter that is no list of numbers.
pub fn simulated(params: &Params) -> Result<Vec<HostEntry>, ParamError> {
    let groups =
        List::of(params, "ras_simulator_num_nodes", "numbers of nodes up to 100000, as 2 or 4,2", LARGEST_GROUP)?;
    let slots = List::of(params, "ras_simulator_slots", "numbers of slots, as 8 or 8,4", u32::MAX as usize)?;
    let max_slots = List::of(params, "ras_simulator_max_slots", "numbers of slots, as 8 or 8,4", u32::MAX as usize)?;
    if groups.0.len() > GROUPS {
        return Err(params.refuse("ras_simulator_num_nodes", "at most 26 numbers of nodes"));
    }
    let mut nodes = Vec::new();
    for (group, (letter, count)) in ('A'..='Z').zip(&groups.0).enumerate() {
        let width = count.to_string().len();
        for index in 0..*count {
            nodes.push(HostEntry {
                slots: slots.at(group).map_or(SlotCount::FromCores, SlotCount::Given),
                max_slots: max_slots.at(group),
                ..HostEntry::named(&format!("node{letter}{index:0width$}"))
            });
        }
    }
    Ok(nodes)
}

/// The numbers of a parameter; empty when it is not set.
struct List(Vec<usize>);

impl List {
    fn of(params: &Params, name: &str, wanted: &str, largest: usize) -> Result<List, ParamError> {
        let text = params.text(name)?.unwrap_or_default();
        let parts = text.split(',').map(str::trim).filter(|_| !text.trim().is_empty());
        let numbers = parts.map(|part| part.parse().ok().filter(|n| *n <= largest)).collect::<Option<Vec<usize>>>();
        numbers.map(List).ok_or_else(|| params.refuse(name, wanted))
    }

    fn at(&self, group: usize) -> Option<u32> {
        self.0.get(group).or(self.0.last()).and_then(|n| u32::try_from(*n).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(num: &str, slots: &str, max: &str) -> String {
        let mut params = Params::default();
        for (name, value) in [("num_nodes", num), ("slots", slots), ("max_slots", max)] {
            if value != "-" {
                params.set(&format!("ras_simulator_{name}"), value);
            }
        }
        let shown = |node: &HostEntry| {
            let slots = match node.slots {
                SlotCount::Given(n) => n.to_string(),
                SlotCount::FromCores => "cores".to_owned(),
            };
            format!("{}:{slots}/{}", node.name, node.max_slots.map_or("-".to_owned(), |n| n.to_string()))
        };
        match simulated(&params) {
            Ok(nodes) => nodes.iter().map(shown).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn nodes_are_named_by_group_and_number_and_the_last_slots_hold_for_the_rest() {
        assert_eq!(nodes("2", "-", "-"), "nodeA0:cores/- nodeA1:cores/-");
        assert_eq!(nodes("1,1,1", "4,5", "7"), "nodeA0:4/7 nodeB0:5/7 nodeC0:5/7");
        assert_eq!(nodes(" 1, 0, 1", "4", "0"), "nodeA0:4/0 nodeC0:4/0");
        assert!(nodes("10", "4", "-").starts_with("nodeA00:4/- nodeA01"));
        assert_eq!(nodes("-", "4", "-"), "");
        assert_eq!(nodes("0", "4", "-"), "");
    }

    #[test]
    fn what_is_no_number_is_refused() {
        insta::assert_snapshot!(
            [
                nodes("1,x", "4", "-"),
                nodes("-1", "4", "-"),
                nodes("1000000", "4", "-"),
                nodes("2", "4,", "-"),
                nodes(&["1"; 27].join(","), "4", "-"),
            ]
            .join("\n")
        );
    }
}
