//! The orders of the lists of `top`, and its filter. Pure.

use std::cmp::Reverse;

use ferrite_wire::control::{JobStatus, NodeStatus};

use super::state::is_over;
use crate::pdvm::jobs::state;

/// The order of the jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum JobOrder {
    /// Running and waiting jobs first; then ended ones, the latest first.
    #[default]
    Usual,
    Number,
    State,
    Processes,
    Name,
}

impl JobOrder {
    pub(super) const fn next(self) -> JobOrder {
        match self {
            JobOrder::Usual => JobOrder::Number,
            JobOrder::Number => JobOrder::State,
            JobOrder::State => JobOrder::Processes,
            JobOrder::Processes => JobOrder::Name,
            JobOrder::Name => JobOrder::Usual,
        }
    }

    /// The order in words; empty = the usual one.
    pub(super) const fn name(self) -> &'static str {
        match self {
            JobOrder::Usual => "",
            JobOrder::Number => "by number",
            JobOrder::State => "by state",
            JobOrder::Processes => "most processes first",
            JobOrder::Name => "by name",
        }
    }
}

/// The order of the nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum NodeOrder {
    /// The order of the pool.
    #[default]
    Usual,
    Name,
    State,
    InUse,
}

impl NodeOrder {
    pub(super) const fn next(self) -> NodeOrder {
        match self {
            NodeOrder::Usual => NodeOrder::Name,
            NodeOrder::Name => NodeOrder::State,
            NodeOrder::State => NodeOrder::InUse,
            NodeOrder::InUse => NodeOrder::Usual,
        }
    }

    /// The order in words; empty = the usual one.
    pub(super) const fn name(self) -> &'static str {
        match self {
            NodeOrder::Usual => "",
            NodeOrder::Name => "by name",
            NodeOrder::State => "by state",
            NodeOrder::InUse => "most slots in use first",
        }
    }
}

/// Returns the jobs that have the text of the filter in their line, in order.
pub(super) fn jobs_in_order<'a>(
    jobs: &'a [JobStatus],
    filter: &str,
    order: JobOrder,
    reversed: bool,
) -> Vec<&'a JobStatus> {
    let line = |job: &JobStatus| {
        let wdir = job.wdir.as_deref().unwrap_or_default();
        format!("{} {} {} {} {} {wdir}", job.job, state(job), job.first_node, job.name, job.command)
    };
    let mut listed: Vec<&JobStatus> = jobs.iter().filter(|job| has(&line(job), filter)).collect();
    listed.sort_by_key(|job| job.job);
    match order {
        JobOrder::Usual => listed.sort_by_key(|job| match is_over(job) {
            false => (0, i64::from(job.job.0)),
            true => (1, -i64::from(job.job.0)),
        }),
        JobOrder::Number => {}
        JobOrder::State => listed.sort_by_key(|job| state(job)),
        JobOrder::Processes => listed.sort_by_key(|job| Reverse(job.procs)),
        JobOrder::Name => listed.sort_by(|a, b| a.name.cmp(&b.name)),
    }
    if reversed {
        listed.reverse();
    }
    listed
}

/// Returns the nodes that have the text of the filter in their line, in order.
pub(super) fn nodes_in_order<'a>(
    nodes: &'a [NodeStatus],
    filter: &str,
    order: NodeOrder,
    reversed: bool,
) -> Vec<&'a NodeStatus> {
    let mut listed: Vec<&NodeStatus> =
        nodes.iter().filter(|node| has(&format!("{} {}", node.name, node.state), filter)).collect();
    match order {
        NodeOrder::Usual => {}
        NodeOrder::Name => listed.sort_by(|a, b| a.name.cmp(&b.name)),
        NodeOrder::State => listed.sort_by(|a, b| a.state.cmp(&b.state)),
        NodeOrder::InUse => listed.sort_by_key(|node| Reverse(node.slots_in_use)),
    }
    if reversed {
        listed.reverse();
    }
    listed
}

fn has(line: &str, filter: &str) -> bool {
    line.to_lowercase().contains(&filter.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdvm::samples;

    #[test]
    fn each_order_has_a_next_one_and_all_are_reached() {
        let names: Vec<_> =
            std::iter::successors(Some(JobOrder::Usual), |o| Some(o.next())).map(JobOrder::name).take(6).collect();
        assert_eq!(names, ["", "by number", "by state", "most processes first", "by name", ""]);
        let names: Vec<_> =
            std::iter::successors(Some(NodeOrder::Usual), |o| Some(o.next())).map(NodeOrder::name).take(5).collect();
        assert_eq!(names, ["", "by name", "by state", "most slots in use first", ""]);
    }

    #[test]
    fn nodes_are_sorted_and_filtered_by_what_their_lines_say() {
        let nodes = samples::nodes();
        let names = |filter: &str, order, reversed| {
            nodes_in_order(&nodes, filter, order, reversed).iter().map(|n| n.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names("", NodeOrder::InUse, false), ["n0", "n3", "n1", "n2"]);
        assert_eq!(names("", NodeOrder::State, true), ["n0", "n1", "n3", "n2"]);
        assert_eq!(names("LEAV", NodeOrder::Usual, false), ["n3"]);
    }

    #[test]
    fn jobs_are_sorted_by_what_their_lines_say() {
        let jobs = samples::jobs();
        let ids = |order| jobs_in_order(&jobs, "", order, false).iter().map(|job| job.job.0).collect::<Vec<_>>();
        assert_eq!(ids(JobOrder::Processes), [41, 40, 42]);
        assert_eq!(ids(JobOrder::Name), [40, 41, 42]);
        assert_eq!(ids(JobOrder::State), [42, 41, 40]);
    }
}
