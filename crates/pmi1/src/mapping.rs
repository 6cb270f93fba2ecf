//! The value of `PMI_process_mapping`: which ranks share a node, in blocks.

use std::ops::RangeInclusive;

use crate::MAX_VALUE;

/// Ranks `first..first + count`, all on one node.
struct Run {
    node: usize,
    first: u32,
    count: u32,
}

/// `count` nodes from `node` on, with `ranks` ranks each.
struct Block {
    node: usize,
    count: usize,
    ranks: u32,
}

/// Describes the nodes of a job's ranks: `nodes[i]` holds the ranks of node `i`. Blocks are `(first node, nodes, ranks
/// per node)`, in the order of ranks. `None` when the text would exceed the limit of a value; clients without a mapping
/// exchange host names.
pub fn process_mapping(nodes: &[Vec<RangeInclusive<u32>>]) -> Option<String> {
    let blocks = blocks_of(&runs_of(nodes));
    let blocks = blocks.iter().map(|b| format!("({},{},{})", b.node, b.count, b.ranks)).collect::<Vec<_>>().join(",");
    let text = format!("(vector,{blocks})");
    (text.len() <= MAX_VALUE).then_some(text)
}

fn runs_of(nodes: &[Vec<RangeInclusive<u32>>]) -> Vec<Run> {
    let ranges = nodes.iter().enumerate().flat_map(|(node, ranges)| ranges.iter().map(move |range| (node, range)));
    let runs = ranges.filter(|(_, range)| !range.is_empty());
    let mut runs: Vec<_> =
        runs.map(|(node, range)| Run { node, first: *range.start(), count: range.end() - range.start() + 1 }).collect();
    runs.sort_by_key(|run| run.first);
    // Consecutive ranks on one node are one run, even if the caller has split them.
    runs.dedup_by(|next, run| {
        let same = next.node == run.node;
        run.count += if same { next.count } else { 0 };
        same
    });
    runs
}

fn blocks_of(runs: &[Run]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for run in runs {
        match blocks.last_mut() {
            Some(block) if block.ranks == run.count && block.node + block.count == run.node => block.count += 1,
            _ => blocks.push(Block { node: run.node, count: 1, ranks: run.count }),
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_blocks_on_neighbouring_nodes_are_one() {
        let nodes = [vec![0..=1], vec![2..=3], vec![4..=5], vec![6..=7]];
        assert_eq!(process_mapping(&nodes).as_deref(), Some("(vector,(0,4,2))"));
    }

    #[test]
    fn an_uneven_end_is_a_block_of_its_own() {
        let nodes = [vec![0..=1], vec![2..=3], vec![4..=4]];
        assert_eq!(process_mapping(&nodes).as_deref(), Some("(vector,(0,2,2),(2,1,1))"));
    }

    #[test]
    fn round_robin_repeats_the_nodes() {
        let nodes = [vec![0..=0, 2..=2], vec![1..=1, 3..=3]];
        assert_eq!(process_mapping(&nodes).as_deref(), Some("(vector,(0,2,1),(0,2,1))"));
    }

    #[test]
    fn how_the_caller_cut_the_ranges_does_not_matter() {
        assert_eq!(process_mapping(&[vec![0..=1, 2..=2], vec![3..=5]]).as_deref(), Some("(vector,(0,2,3))"));
    }

    #[test]
    fn a_text_that_is_no_value_any_more_is_left_out() {
        let node = |odd: u32| (0..400).map(|n| 2 * n + odd..=2 * n + odd).collect::<Vec<_>>();
        assert_eq!(process_mapping(&[node(0), node(1)]), None);
    }
}
