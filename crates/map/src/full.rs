//! Jobs that need a free slot for each process. In a full DVM the head need not try to place them.

use ferrite_types::{CpuKind, JobSpec, MapBy, ObjectKind};

/// True when each process of a job takes a free slot, on machines whose slots are counted by their cores or stated.
/// False says nothing.
#[must_use]
pub fn needs_free_slots(spec: &JobSpec) -> bool {
    spec.map.oversubscribe != Some(true)
        && spec.apps.iter().map(|app| spec.map_of(app)).all(|map| match map.by {
            Some(MapBy::Object(ObjectKind::HwThread)) => false,
            None | Some(MapBy::Slot | MapBy::Node | MapBy::Object(_)) => map.cpus != Some(CpuKind::HwThread),
            Some(_) => false,
        })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ferrite_types::{AppContext, DaemonRank, NodeId, NodeRecord, NodeShare, Topology};

    use super::*;
    use crate::{Occupancy, directive, place};

    /// Places a job on nodes without a free slot: one has its own count, and one has a process too many.
    fn place_in_full(by: &str, np: Option<u32>) -> (bool, bool) {
        let node = |at: u32, slots_given, slots_inuse| NodeRecord {
            id: NodeId(at),
            name: format!("n{at}"),
            aliases: vec![],
            daemon: Some(DaemonRank(at)),
            slots: 2,
            slots_given,
            max_slots: 0,
            slots_inuse,
            topology: Arc::new(Topology::uniform(1, 2, 2)),
        };
        let nodes = [node(0, true, 2), node(1, false, 2), node(2, true, 3)];
        let mut spec = JobSpec::new(vec![AppContext { argv: vec!["a".to_owned()], np, ..AppContext::default() }]);
        if !by.is_empty() {
            directive::parse_map_by(by).unwrap().apply(&mut spec.map);
        }
        let shares = nodes.iter().map(|node| NodeShare { node: node.id, cap: None }).collect();
        (needs_free_slots(&spec), place(&spec, &nodes, &[shares], &Occupancy::default()).is_ok())
    }

    #[test]
    fn a_job_that_needs_free_slots_is_never_placed_where_none_is_free() {
        for np in [None, Some(1), Some(3)] {
            for by in ["", "slot", "node", "core", "package", "slot:SPAN", "core:PE=2"] {
                assert_eq!(place_in_full(by, np), (true, false), "{by:?} {np:?}");
            }
            for by in [":OVERSUBSCRIBE", "hwthread", ":HWTCPUS", "ppr:1:node", "node:OVERSUBSCRIBE"] {
                assert!(!place_in_full(by, np).0, "{by:?} {np:?}");
            }
        }
        let placed = [":OVERSUBSCRIBE", "hwthread", ":HWTCPUS"].map(|by| place_in_full(by, Some(1)).1);
        assert_eq!(placed, [true; 3], "these find room");
    }
}
