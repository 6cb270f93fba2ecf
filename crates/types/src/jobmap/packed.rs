//! A job map in its packed form. Every daemon of a job gets the whole map, so it is packed into columns in which
//! equal data of nodes are written once. A million processes by core on ten thousand nodes take some hundred bytes.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use super::column::{Column, Malformed};
use super::names::{Names, Palette};
use super::{JobMap, JobNode, Placement, PlacementTexts};
use crate::resources::Amounts;
use crate::{CpuSet, DaemonRank, LocalRank, NodeId};

#[derive(Serialize, Deserialize)]
struct Packed {
    node_count: u32,
    ids: Column,
    daemons: Column,
    names: Names,
    proc_count: u32,
    node: Column,
    app: Column,
    local_rank: Column,
    node_rank: Column,
    bindings: Vec<Option<CpuSet>>,
    binding: Column,
    device_lists: Vec<Vec<u16>>,
    devices: Column,
    policies: Vec<PlacementTexts>,
    oversubscribe: bool,
    total_slots: u32,
    takes: Amounts,
}

impl Packed {
    fn of(map: &JobMap) -> Packed {
        let (mut bindings, mut device_lists) = (Palette::default(), Palette::default());
        let binding = Column::pack(map.procs.iter().map(|p| bindings.place(&p.cpus)));
        let devices = Column::pack(map.procs.iter().map(|p| device_lists.place(&p.devices)));
        Packed {
            node_count: map.nodes.len() as u32,
            ids: Column::pack(map.nodes.iter().map(|n| n.id.0)),
            daemons: Column::pack(map.nodes.iter().map(|n| n.daemon.0)),
            names: Names::pack(map.nodes.iter().map(|n| n.name.as_str())),
            proc_count: map.procs.len() as u32,
            node: Column::pack(map.procs.iter().map(|p| p.node)),
            app: Column::pack(map.procs.iter().map(|p| p.app.into())),
            local_rank: Column::pack(map.procs.iter().map(|p| p.local_rank.0.into())),
            node_rank: Column::pack(map.procs.iter().map(|p| p.node_rank.0.into())),
            bindings: bindings.values.into_iter().cloned().collect(),
            binding,
            device_lists: device_lists.values.into_iter().cloned().collect(),
            devices,
            policies: map.policies.clone(),
            oversubscribe: map.oversubscribe,
            total_slots: map.total_slots,
            takes: map.takes.clone(),
        }
    }

    fn unpack(self) -> Result<JobMap, Malformed> {
        let (node_count, proc_count) = (self.node_count as usize, self.proc_count as usize);
        if proc_count > JobMap::MAX_PROCS || node_count > JobMap::MAX_NODES {
            return Err(Malformed);
        }
        let ids = self.ids.unpack(node_count)?.into_iter().map(NodeId);
        let daemons = self.daemons.unpack(node_count)?.into_iter().map(DaemonRank);
        let names = self.names.unpack(node_count)?;
        let nodes = ids.zip(daemons).zip(names).map(|((id, daemon), name)| JobNode { id, daemon, name }).collect();
        let numbers = |column: &Column| column.unpack(proc_count);
        let (node, app) = (numbers(&self.node)?, numbers(&self.app)?);
        let (local_rank, node_rank) = (numbers(&self.local_rank)?, numbers(&self.node_rank)?);
        let (binding, devices) = (numbers(&self.binding)?, numbers(&self.devices)?);
        let place = |rank: usize| {
            let exists = (node[rank] as usize) < node_count;
            Ok(Placement {
                node: exists.then_some(node[rank]).ok_or(Malformed)?,
                app: narrow(app[rank])?,
                local_rank: LocalRank(narrow(local_rank[rank])?),
                node_rank: LocalRank(narrow(node_rank[rank])?),
                cpus: self.bindings.get(binding[rank] as usize).ok_or(Malformed)?.clone(),
                devices: self.device_lists.get(devices[rank] as usize).ok_or(Malformed)?.clone(),
            })
        };
        Ok(JobMap {
            nodes,
            procs: (0..proc_count).map(place).collect::<Result<_, _>>()?,
            policies: self.policies,
            oversubscribe: self.oversubscribe,
            total_slots: self.total_slots,
            takes: self.takes,
        })
    }
}

fn narrow(number: u32) -> Result<u16, Malformed> {
    u16::try_from(number).map_err(|_| Malformed)
}

impl Serialize for JobMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Packed::of(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for JobMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let packed = Packed::deserialize(deserializer)?;
        packed.unpack().map_err(|Malformed| D::Error::custom("the map of a job contradicts itself"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(map: &JobMap) -> Vec<u8> {
        postcard::to_stdvec(map).expect("a map can be written")
    }

    fn read(bytes: &[u8]) -> Result<JobMap, postcard::Error> {
        postcard::from_bytes(bytes)
    }

    fn node(i: u32) -> JobNode {
        JobNode { id: NodeId(i), daemon: DaemonRank(i), name: format!("nid{i:06}") }
    }

    /// A process on each of `cores` of each node, ranked along the node or across the nodes.
    fn full(nodes: u32, cores: u32, across: bool) -> JobMap {
        let place = |rank: u32| {
            let (node, core) = if across { (rank % nodes, rank / nodes) } else { (rank / cores, rank % cores) };
            let local = LocalRank(core as u16);
            let cpus = Some([2 * core, 2 * core + 1].into_iter().collect());
            Placement { node, app: 0, local_rank: local, node_rank: local, cpus, devices: vec![core as u16 / 25] }
        };
        let procs = (0..nodes * cores).map(place).collect();
        JobMap { nodes: (0..nodes).map(node).collect(), procs, ..JobMap::default() }
    }

    #[test]
    fn a_map_does_not_grow_with_the_nodes() {
        for across in [false, true] {
            let sizes = [10, 1_000].map(|nodes| {
                let map = full(nodes, 100, across);
                let bytes = bytes(&map);
                assert_eq!(read(&bytes), Ok(map));
                bytes.len()
            });
            assert!(sizes[1] < sizes[0] + 100, "{sizes:?} bytes for 10 and 1,000 nodes");
        }
    }

    #[test]
    fn a_map_with_a_node_that_is_not_there_is_refused() {
        let mut map = full(2, 2, false);
        map.procs[3].node = 2;
        assert!(read(&bytes(&map)).is_err());
    }

    #[test]
    fn a_map_that_says_it_is_enormous_is_refused() {
        let mut packed = Packed::of(&full(2, 2, false));
        packed.proc_count = u32::MAX;
        assert!(matches!(packed.unpack(), Err(Malformed)));
    }

    fn any_map() -> impl Strategy<Value = JobMap> {
        let cpus = prop::option::of(prop::collection::vec(0u32..200, 0..3).prop_map(|cpus| cpus.into_iter().collect()));
        let place =
            (any::<u32>(), any::<u16>(), 0u16..4, any::<u16>(), cpus, prop::collection::vec(any::<u16>(), 0..2));
        let node = (any::<u32>(), any::<u32>(), "[a-c]{0,2}[0-9]{0,12}[.-]?[0-9]{0,3}");
        (prop::collection::vec(node, 1..20), prop::collection::vec(place, 0..60)).prop_map(|(nodes, procs)| {
            let count = nodes.len() as u32;
            let node = |(id, daemon, name)| JobNode { id: NodeId(id), daemon: DaemonRank(daemon), name };
            let place = |(node, app, local, on_node, cpus, devices)| {
                let (local_rank, node_rank) = (LocalRank(local), LocalRank(on_node));
                Placement { node: node % count, app, local_rank, node_rank, cpus, devices }
            };
            let (nodes, procs) = (nodes.into_iter().map(node).collect(), procs.into_iter().map(place).collect());
            JobMap { nodes, procs, total_slots: 7, ..JobMap::default() }
        })
    }

    proptest! {
        #[test]
        fn any_map_comes_back_as_it_was(map in any_map()) {
            prop_assert_eq!(read(&bytes(&map)), Ok(map));
        }

        #[test]
        fn changed_bytes_are_a_map_or_refused(map in any_map(), at: prop::sample::Index, byte: u8) {
            let mut bytes = bytes(&map);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(map) = read(&bytes) {
                prop_assert!(map.procs.iter().all(|p| (p.node as usize) < map.nodes.len()));
            }
        }
    }
}
