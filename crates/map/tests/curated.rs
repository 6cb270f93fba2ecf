//! Whole maps on machines of several shapes, as text that changes only on purpose. The machines are files that hwloc
//! wrote or that are written by hand; the maps are those that the reference prints, where it does not refuse.

mod common;

use std::fmt::Write as _;

use common::{job, nodes, placed};
use ferrite_map::{display, topology_file};
use ferrite_types::{JobMap, NodeRecord};

/// Processes, map, rank, bind; an empty text is what nobody asked for.
const REQUESTS: &[(Option<u32>, &str, &str, &str)] = &[
    (None, "", "", ""),
    (Some(2), "", "", ""),
    (Some(2), "slot", "", ""),
    (Some(5), "slot", "", ""),
    (Some(5), "node", "", ""),
    (Some(5), "node", "slot", "core"),
    (Some(5), "core", "", ""),
    (Some(5), "hwthread", "", ""),
    (Some(5), "core:HWTCPUS", "", ""),
    (Some(5), "l1cache", "", ""),
    (Some(5), "l2cache", "", "core"),
    (Some(5), "l3cache", "slot", "core"),
    (Some(5), "numa", "fill", ""),
    (Some(5), "package", "span", "core"),
    (Some(5), "package", "node", "core"),
    (Some(3), "package:PE=2", "", ""),
    (Some(3), "slot:PE=2", "", ""),
    (Some(3), "core:PE=2:HWTCPUS", "", ""),
    (Some(5), "core:SPAN", "", ""),
    (Some(5), "package:SPAN", "", "core"),
    (None, "ppr:1:package", "", ""),
    (None, "ppr:1:numa", "", "core"),
    (None, "ppr:2:node", "", ""),
    (Some(3), "pe-list=0-1", "", ""),
    (Some(3), "pe-list=0-1:ORDERED", "", ""),
    (Some(4), "", "", "none"),
    (Some(4), "", "", "l3cache"),
    (Some(4), "package", "", "core:limit=1"),
    (Some(4), "package", "", "hwthread"),
    (Some(99), "core:OVERSUBSCRIBE", "", ""),
    (Some(99), "core", "", ""),
    (Some(4), "core", "", "package"),
];

const MACHINES: [(&str, &str); 5] = [
    ("two-packages", include_str!("topologies/two-packages.xml")),
    ("asymmetric", include_str!("topologies/asymmetric.xml")),
    ("format-1", include_str!("topologies/format-1.xml")),
    ("no-package", include_str!("topologies/no-package.xml")),
    ("devices", include_str!("topologies/devices.xml")),
];

/// Two nodes built like the machine of a file, a slot for each core.
fn pool(file: &str) -> Vec<NodeRecord> {
    let topology = topology_file::parse(file).expect("a machine");
    let slots = topology.usable_cores() as u32;
    nodes(2, slots, topology)
}

/// `n0: 0@package[0][core:L0]`, a node after the other.
fn compact(map: &JobMap, pool: &[NodeRecord]) -> String {
    let policy = &map.policies[0];
    let mut text = format!("{} {} {}\n", policy.map_by, policy.rank_by, policy.bind_to);
    for (index, node) in map.nodes.iter().enumerate() {
        let record = &pool[node.id.0 as usize];
        let mine: Vec<_> = map.ranks().filter(|(_, p)| p.node as usize == index).collect();
        let _ = write!(text, "    {}:", node.name);
        for (rank, placement) in mine.iter().take(12) {
            let bound = display::binding(&record.topology, placement.cpus.as_ref(), policy.hwthreads);
            let _ = write!(text, " {rank}@{bound}");
        }
        text += if mine.len() > 12 { " ...\n" } else { "\n" };
    }
    text
}

#[test]
fn maps_on_machines_of_several_shapes() {
    for (name, file) in MACHINES {
        let pool = pool(file);
        let mut text = String::new();
        for (np, map, rank, bind) in REQUESTS {
            let number = np.map_or("all".to_owned(), |n| n.to_string());
            let _ = writeln!(text, "-n {number} --map-by {map:?} --rank-by {rank:?} --bind-to {bind:?}");
            text += &match placed(&job(&[*np], map, rank, bind), &pool) {
                Ok(map) => format!("  {}", compact(&map, &pool)),
                Err(error) => format!("  refused: {}\n", error.to_string().lines().next().unwrap_or_default()),
            };
        }
        insta::assert_snapshot!(name, text);
    }
}
