//! Machines and jobs in short form, for the tests of placement.
#![allow(dead_code)] // each test uses its part

use std::sync::Arc;

use ferrite_map::{MapError, Occupancy, directive, display, place};
use ferrite_types::{AppContext, DaemonRank, JobMap, JobSpec, NodeId, NodeRecord, NodeShare, Topology};

/// Nodes n0, n1, ... of this shape, each with so many slots.
pub(crate) fn nodes(count: u32, slots: u32, topology: Topology) -> Vec<NodeRecord> {
    let topology = Arc::new(topology);
    let node = |i| NodeRecord {
        id: NodeId(i),
        name: format!("n{i}"),
        aliases: vec![],
        daemon: Some(DaemonRank(i)),
        slots,
        slots_given: false,
        max_slots: 0,
        slots_inuse: 0,
        topology: topology.clone(),
    };
    (0..count).map(node).collect()
}

/// Every node, without caps.
pub(crate) fn all(nodes: &[NodeRecord]) -> Vec<NodeShare> {
    nodes.iter().map(|n| NodeShare { node: n.id, cap: None }).collect()
}

pub(crate) fn app(np: Option<u32>) -> AppContext {
    AppContext { argv: vec!["./a.out".into()], np, ..AppContext::default() }
}

/// A job as its command line would have it; `""` = not given.
pub(crate) fn job(nps: &[Option<u32>], map_by: &str, rank_by: &str, bind_to: &str) -> JobSpec {
    let mut spec = JobSpec::new(nps.iter().map(|np| app(*np)).collect());
    if !map_by.is_empty() {
        directive::parse_map_by(map_by).expect("a valid directive").apply(&mut spec.map);
    }
    if !rank_by.is_empty() {
        spec.map.rank_by = Some(directive::parse_rank_by(rank_by).expect("a valid directive"));
    }
    if !bind_to.is_empty() {
        directive::parse_bind_to(bind_to).expect("a valid directive").apply(&mut spec.map);
    }
    spec
}

/// Places on all nodes, nothing else running.
pub(crate) fn placed(spec: &JobSpec, nodes: &[NodeRecord]) -> Result<JobMap, MapError> {
    let shares = vec![all(nodes); spec.apps.len()];
    place(spec, nodes, &shares, &Occupancy::default())
}

/// The map or the refusal, as a user sees it.
pub(crate) fn shown(spec: &JobSpec, nodes: &[NodeRecord]) -> String {
    match placed(spec, nodes) {
        Ok(map) => display::job_map("prterun-n0-42@1", &map, nodes, false),
        Err(error) => error.refusal(),
    }
}
