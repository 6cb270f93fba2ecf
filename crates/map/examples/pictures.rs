//! Sample pictures: `pictures NAME [svg|html|text]` prints one, `pictures` the names. A help for those who
//! change their looks.

use std::sync::Arc;

use ferrite_map::{Occupancy, directive, picture, place};
use ferrite_types::{
    AppContext, CpuSet, DaemonRank, Device, DeviceKind, DeviceVendor, JobMap, JobSpec, NodeId, NodeRecord, NodeShare,
    ObjectKind, Topology, TopologyObject,
};

const NAMES: &[&str] =
    &["small", "threads", "server", "mixed", "shared", "unbound", "large", "odd", "devices", "apps", "different"];

fn main() {
    let mut args = std::env::args().skip(1);
    let Some(name) = args.next() else { return println!("{}", NAMES.join("\n")) };
    let form = args.next().unwrap_or_default();
    let (programs, map, nodes) = sample(&name);
    let subject = picture::Subject {
        job: "prterun-n0-4711@1",
        programs: &programs,
        map: &map,
        nodes: &nodes,
        not_launched: name == "small",
    };
    match form.as_str() {
        "html" => print!("{}", picture::html(&subject)),
        "text" => println!("{}", picture::lines(&subject, 16).join("\n")),
        _ => print!("{}", picture::svg(&subject)),
    }
}

fn sample(name: &str) -> (Vec<String>, JobMap, Vec<NodeRecord>) {
    match name {
        "threads" => made(&[("./solver", 8)], "package", "", nodes(2, 8, server(2, 8, 2, 4))),
        "server" => made(&[("lmp -in in.lj", 96)], "core", "", nodes(1, 96, server(2, 48, 2, 6))),
        "mixed" => {
            let apps = [("./ocean", 6), ("./atmosphere", 5), ("./coupler", 1), ("./io-server", 2)];
            made(&apps, "core", "core", nodes(2, 8, server(2, 4, 2, 4)))
        }
        "shared" => made(
            &[("./a", 6), ("./b", 6)],
            "package:oversubscribe",
            "package:overload-allowed",
            nodes(1, 8, server(2, 4, 2, 4)),
        ),
        "unbound" => made(&[("./a", 9), ("./b", 2)], "slot:oversubscribe", "none", nodes(2, 4, server(1, 4, 1, 4))),
        "large" => made(&[("./xhpl", 10_000 * 16)], "core", "", nodes(10_000, 16, server(2, 8, 1, 4))),
        "odd" => odd(),
        "apps" => {
            let names: Vec<String> = (0..12).map(|i| format!("./part-{i}")).collect();
            let apps: Vec<(&str, u32)> = names.iter().map(|name| (name.as_str(), 2)).collect();
            let (programs, mut map, pool) = made(&apps, "core", "", nodes(3, 8, server(2, 4, 1, 4)));
            map.policies = (0..12).map(|_| map.policies[0].clone()).collect();
            (programs, map, pool)
        }
        "different" => {
            let mut pool = nodes(400, 4, server(1, 8, 1, 4));
            pool.iter_mut().zip(4..).for_each(|(node, slots)| node.slots = slots);
            made(&[("./a", 2000)], "slot", "core:overload-allowed", pool)
        }
        "devices" => devices(),
        _ => made(&[("./hello", 6)], "core", "", nodes(2, 4, Topology::uniform(2, 2, 1))),
    }
}

fn made(
    apps: &[(&str, u32)],
    map_by: &str,
    bind_to: &str,
    nodes: Vec<NodeRecord>,
) -> (Vec<String>, JobMap, Vec<NodeRecord>) {
    let app = |(name, np): &(&str, u32)| AppContext {
        argv: name.split(' ').map(str::to_owned).collect(),
        np: Some(*np),
        ..AppContext::default()
    };
    let mut spec = JobSpec::new(apps.iter().map(app).collect());
    directive::parse_map_by(map_by).expect("a directive").apply(&mut spec.map);
    if !bind_to.is_empty() {
        directive::parse_bind_to(bind_to).expect("a directive").apply(&mut spec.map);
    }
    let shares: Vec<NodeShare> = nodes.iter().map(|node| NodeShare { node: node.id, cap: None }).collect();
    let map = place(&spec, &nodes, &vec![shares; apps.len()], &Occupancy::default()).expect("room for all");
    (apps.iter().map(|(name, _)| (*name).to_owned()).collect(), map, nodes)
}

fn nodes(count: u32, slots: u32, topology: Topology) -> Vec<NodeRecord> {
    let topology = Arc::new(topology);
    let node = |i| NodeRecord {
        id: NodeId(i),
        name: format!("node{i}"),
        aliases: Vec::new(),
        daemon: Some(DaemonRank(i)),
        slots,
        slots_given: false,
        max_slots: 0,
        slots_inuse: 0,
        topology: topology.clone(),
    };
    (0..count).map(node).collect()
}

/// Packages with a NUMA domain each, and caches that so many cores share.
fn server(packages: u32, cores: u32, threads: u32, shared_by: u32) -> Topology {
    let mut machine = Topology::uniform(packages, cores, threads);
    let width = shared_by * threads;
    let cache = |i: u32| TopologyObject { os_index: i, cpus: (i * width..(i + 1) * width).collect(), bytes: 32 << 20 };
    let caches = (0..packages * cores / shared_by).map(cache).collect();
    machine.objects.push((ObjectKind::L3Cache, caches));
    for (kind, list) in &mut machine.objects {
        if *kind == ObjectKind::Numa {
            list.iter_mut().for_each(|numa| numa.bytes = 256 << 30);
        }
    }
    machine
}

/// Cores of two kinds, some not to be used, and processors of no core.
fn odd() -> (Vec<String>, JobMap, Vec<NodeRecord>) {
    let object = |os_index, cpus: std::ops::Range<u32>| TopologyObject { os_index, cpus: cpus.collect(), bytes: 0 };
    let machine = Topology {
        objects: vec![
            (ObjectKind::Package, vec![object(0, 0..20)]),
            (ObjectKind::L2Cache, vec![object(0, 12..16), object(1, 16..20)]),
            (
                ObjectKind::Core,
                (0..6)
                    .map(|i| object(i * 4, i * 2..i * 2 + 2))
                    .chain((12..20).map(|i| object(i + 20, i..i + 1)))
                    .collect(),
            ),
        ],
        allowed: (0..22).filter(|cpu| ![2, 5, 13].contains(cpu)).collect(),
        devices: Vec::new(),
    };
    let mut pool = nodes(2, 6, Topology::uniform(1, 4, 1));
    pool[0].topology = Arc::new(machine);
    let (programs, mut map, pool) = made(&[("./a", 8), ("./b <x> & \"y\"", 3)], "slot:oversubscribe", "none", pool);
    let sets: [&[u32]; 8] = [&[0, 1], &[3], &[4, 6, 7], &[6, 7, 8, 9], &[12], &[16, 17, 18, 19], &[20], &[900]];
    for (placement, set) in map.procs.iter_mut().filter(|placement| placement.node == 0).zip(sets) {
        placement.cpus = Some(set.iter().copied().collect::<CpuSet>());
    }
    (programs, map, pool)
}

fn devices() -> (Vec<String>, JobMap, Vec<NodeRecord>) {
    let mut machine = server(2, 8, 1, 8);
    machine.devices = (0..4)
        .map(|index| Device {
            kind: DeviceKind::Gpu,
            name: format!("cuda{index}"),
            vendor: DeviceVendor::Nvidia,
            index,
            uuid: None,
            cpus: CpuSet::new(),
        })
        .collect();
    let (programs, mut map, pool) = made(&[("python train.py", 6)], "package", "", nodes(2, 3, machine));
    for (placement, device) in map.procs.iter_mut().zip([0, 1, 2, 0, 1, 2]) {
        placement.devices = vec![device];
        placement.cpus = Some((u32::from(device) * 4..u32::from(device) * 4 + 2).collect());
    }
    (programs, map, pool)
}
