//! Leaves out nodes that a job cannot reach because it fills node after node. A small job then costs the same in a DVM
//! of ten thousand nodes as in one of ten. Only `place` calls this; the map is the same without it.

use std::sync::Arc;

use ferrite_types::{DaemonRank, JobSpec, MapBy, NodeRecord, NodeShare};

use crate::candidate::{Candidate, slots_for};
use crate::occupancy::{Occupancy, Taken};
use crate::place::{lists, policy_of, positions};
use crate::shape::Shape;

/// The nodes that a job fills, and the number of all slots for its map.
pub(crate) struct Few {
    pub(crate) shares: Vec<NodeShare>,
    pub(crate) total_slots: u32,
}

/// Returns the nodes that take the whole job. `None` = all nodes matter: the job is mapped in another way, there are
/// too few slots (the message shows every node), or the machines differ (defaults depend on all of them).
pub(crate) fn narrowed(
    spec: &JobSpec,
    nodes: &[NodeRecord],
    apps: &[Vec<NodeShare>],
    occupancy: &Occupancy,
) -> Option<Few> {
    let ([app], [shares]) = (&spec.apps[..], apps) else {
        return None;
    };
    let request = spec.map_of(app);
    let fills = matches!(request.by, None | Some(MapBy::Slot | MapBy::Object(_))) && !request.span;
    let np = app.np.filter(|np| fills && *np > 0)?;
    let position = positions(nodes);
    let usable = |share: &NodeShare| {
        let record = &nodes[position(share.node)?];
        let is_local = record.daemon == Some(DaemonRank::HEAD);
        (record.daemon.is_some() && !(request.nolocal && is_local)).then_some(record)
    };
    let first = shares.iter().find_map(usable)?;
    let policy = policy_of(request, &spec.map, u64::from(np), std::iter::once(&*first.topology)).ok()?;
    let processors = Shape::new(&first.topology, &policy, lists(request), &Taken::default()).capacity;
    let mut total_slots: u32 = 0;
    for record in shares.iter().filter_map(usable) {
        if !Arc::ptr_eq(&record.topology, &first.topology) {
            return None;
        }
        total_slots = total_slots.saturating_add(slots_for(record, policy.cpus));
    }
    let mut free = 0;
    let mut few = Vec::new();
    for share in shares {
        let Some(record) = usable(share) else { continue };
        // Each used hardware thread costs room for at most one process, so this number fits in any case.
        let taken = || u32::try_from(occupancy.busy(record.id).len()).unwrap_or(u32::MAX);
        let room = processors.map_or(u32::MAX, |all| all.saturating_sub(taken()));
        let candidate = Candidate::new(record);
        let room = room.min(candidate.resource_room(&app.takes, occupancy).unwrap_or(u32::MAX));
        let (slots, _) = candidate.free_and_room(policy.cpus);
        if slots > 0 {
            few.push(*share);
            free += u64::from(slots.min(share.cap.unwrap_or(u32::MAX)).min(room));
        }
        if free >= u64::from(np) {
            return Some(Few { shares: few, total_slots });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use ferrite_types::{AppContext, MapRequest, NodeId, Topology};
    use proptest::prelude::*;

    use super::*;
    use crate::place::place_among;
    use crate::{Occupancy, directive, place};

    prop_compose! {
        fn pool()(slots in prop::collection::vec((0u32..5, 0u32..5, 0u32..7, prop::bool::weighted(0.9)), 1..9)) -> Vec<NodeRecord> {
            let topology = Arc::new(Topology::uniform(2, 2, 2));
            let node = |(at, (slots, inuse, max, up)): (usize, (u32, u32, u32, bool))| NodeRecord {
                id: NodeId(at as u32),
                name: format!("n{at}"),
                aliases: vec![],
                daemon: up.then_some(DaemonRank(at as u32)),
                slots,
                slots_given: false,
                max_slots: if max < slots { 0 } else { max },
                slots_inuse: inuse.min(slots),
                topology: topology.clone(),
            };
            slots.into_iter().enumerate().map(node).collect()
        }
    }

    fn request(by: &str, nolocal: bool) -> MapRequest {
        let mut map = MapRequest { nolocal, ..MapRequest::default() };
        if !by.is_empty() {
            directive::parse_map_by(by).unwrap().apply(&mut map);
        }
        map
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn few_nodes_give_the_same_map_as_all(
            pool in pool(),
            np in 1u32..9,
            cap in prop::option::of(1u32..4),
            by in prop::sample::select(vec!["", "slot", "core", "package", ":OVERSUBSCRIBE", "core:OVERSUBSCRIBE"]),
            nolocal in any::<bool>(),
        ) {
            let app = AppContext { argv: vec!["a".to_owned()], np: Some(np), ..AppContext::default() };
            let mut spec = JobSpec::new(vec![app]);
            spec.map = request(by, nolocal);
            let all: Vec<NodeShare> = pool.iter().map(|node| NodeShare { node: node.id, cap }).collect();
            if let Some(few) = narrowed(&spec, &pool, std::slice::from_ref(&all), &Occupancy::default()) {
                let none = Occupancy::default();
                let map = place(&spec, &pool, std::slice::from_ref(&all), &none);
                prop_assert!(few.shares.len() <= pool.len());
                prop_assert_eq!(map, place_among(&spec, &pool, &[all], &none));
            }
        }
    }
}
