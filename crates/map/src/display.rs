//! Job map and allocation as text, in the field's format to the letter: scripts and graphs read it.
//! Source: output-formats.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ferrite_types::{CpuSet, JobMap, NodeId, NodeRecord, ObjectKind, Rank, Topology};

/// `--display map`, with the empty line in front. `job` is the job's namespace. With `not_launched`
/// (`--rtos donotlaunch`) a paragraph warns that no node was asked for its architecture.
#[must_use]
pub fn job_map(job: &str, map: &JobMap, nodes: &[NodeRecord], not_launched: bool) -> String {
    let mut text = String::new();
    let threads = counts_threads(map);
    let policy = map.policy(0).cloned().unwrap_or_default();
    let _ = write!(
        text,
        "\n========================   JOB MAP   ========================\n\
         Data for JOB {job} offset 0 Total slots allocated {}\n    \
         Mapping policy: {}  Ranking policy: {} Binding policy: {}\n    \
         Cpu set: N/A  PPR: {}  Cpus-per-rank: N/A  Cpu Type: {}\n\n",
        map.total_slots,
        policy.map_by,
        policy.rank_by,
        policy.bind_to,
        policy.ppr.as_deref().unwrap_or("N/A"),
        if threads { "HWT" } else { "CORE" },
    );
    for node in by_node(map, nodes) {
        let _ = writeln!(
            text,
            "\nData for node: {}\tNum slots: {}\tMax slots: {}\tNum procs: {}",
            node.name,
            node.slots(),
            node.max_slots(),
            node.ranks.len(),
        );
        for rank in &node.ranks {
            let placement = &map.procs[rank.0 as usize];
            let _ = writeln!(
                text,
                "        Process jobid: {job} App: {} Process rank: {rank} Bound: {}",
                placement.app,
                binding(node.topology(), placement.cpus.as_ref(), threads),
            );
        }
    }
    if not_launched {
        text.push_str(
            "\nNothing was started (donotlaunch): this map assumes that every node is built like this\n\
             machine. On nodes of another architecture the real map and bindings will differ.\n",
        );
    }
    text.push_str("\n=============================================================\n");
    text
}

/// `--display allocation`, with the empty line in front: the nodes that one app of a job may use.
#[must_use]
pub fn allocation<'a>(job: &str, app: u32, nodes: impl IntoIterator<Item = &'a NodeRecord>) -> String {
    let mut text = format!("\n============   ALLOCATED NODES FOR JOB {job} APP {app} ============\n");
    for node in nodes {
        let NodeRecord { name, slots, max_slots, slots_inuse, .. } = node;
        let _ = writeln!(text, "    {name}: slots={slots} max_slots={max_slots} slots_inuse={slots_inuse}");
    }
    text.push_str("=================================================================================\n");
    text
}

/// What a process is bound to: `N/A`, `package[0][core:L0-1]`. `threads` shows hardware threads
/// (`hwt:`) even where whole cores are bound.
#[must_use]
pub fn binding(topology: &Topology, cpus: Option<&CpuSet>, threads: bool) -> String {
    let Some(cpus) = cpus else { return "N/A".to_owned() };
    let packages = topology.of_kind(ObjectKind::Package);
    let whole_cores = !threads && covers_whole_cores(topology, cpus);
    let (word, kind) = if whole_cores { ("core", ObjectKind::Core) } else { ("hwt", ObjectKind::HwThread) };
    let inside = |of: &CpuSet| {
        let part = cpus.intersection(of);
        let logical: CpuSet = indices(topology, kind, &part);
        let ranges: Vec<String> = logical.to_string().split(',').map(|r| format!("L{r}")).collect();
        format!("{word}:{}", ranges.join(","))
    };
    if packages.is_empty() {
        return inside(cpus);
    }
    let bound = packages.iter().filter(|p| p.cpus.intersects(cpus));
    let parts: Vec<String> = bound.map(|p| format!("package[{}][{}]", p.os_index, inside(&p.cpus))).collect();
    parts.join(" ")
}

/// `--display map:parseable`: the job map as XML.
#[must_use]
pub fn job_map_xml(map: &JobMap, nodes: &[NodeRecord]) -> String {
    let mut text = String::from("<map>\n");
    let threads = counts_threads(map);
    for node in by_node(map, nodes) {
        let _ = writeln!(
            text,
            "    <host name=\"{}\" slots=\"{}\" max_slots=\"{}\">\n        <processors>",
            escape(&node.name),
            node.slots(),
            node.max_slots(),
        );
        objects_xml(&mut text, node.topology(), &node.topology().allowed, threads, 12);
        text.push_str("        </processors>\n");
        for rank in &node.ranks {
            let placement = &map.procs[rank.0 as usize];
            let _ = writeln!(text, "        <rank id=\"{rank}\" appid=\"{}\">\n            <binding>", placement.app);
            if let Some(cpus) = &placement.cpus {
                objects_xml(&mut text, node.topology(), cpus, threads, 16);
            }
            text.push_str("            </binding>\n        </rank>\n");
        }
        text.push_str("    </host>\n");
    }
    text.push_str("</map>\n");
    text
}

/// Packages, and in each the cores (or hardware threads), that have a part in the set.
fn objects_xml(text: &mut String, topology: &Topology, cpus: &CpuSet, threads: bool, indent: usize) {
    let (word, kind) = if threads { ("hwt", ObjectKind::HwThread) } else { ("core", ObjectKind::Core) };
    let list = |text: &mut String, of: &CpuSet, indent: usize| {
        for index in indices(topology, kind, &cpus.intersection(of)).iter() {
            let _ = writeln!(text, "{:indent$}<{word} id=\"{index}\"/>", "");
        }
    };
    let packages = topology.of_kind(ObjectKind::Package);
    if packages.is_empty() {
        list(text, cpus, indent);
    }
    for package in packages.iter().filter(|p| p.cpus.intersects(cpus)) {
        let _ = writeln!(text, "{:indent$}<package id=\"{}\">", "", package.os_index);
        list(text, &package.cpus, indent + 4);
        let _ = writeln!(text, "{:indent$}</package>", "");
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// Logical indices of the objects of a kind that have a part in the set.
fn indices(topology: &Topology, kind: ObjectKind, cpus: &CpuSet) -> CpuSet {
    let objects = topology.of_kind(kind).iter().enumerate();
    objects.filter(|(_, o)| o.cpus.intersects(cpus)).map(|(i, _)| i as u32).collect()
}

/// True when every core that is touched is bound as far as it may be used at all.
fn covers_whole_cores(topology: &Topology, cpus: &CpuSet) -> bool {
    let cores = topology.of_kind(ObjectKind::Core);
    let whole = |core: &CpuSet| {
        let usable = core.intersection(&topology.allowed);
        usable.intersection(cpus) == usable
    };
    !cores.is_empty() && cores.iter().filter(|c| c.cpus.intersects(cpus)).all(|c| whole(&c.cpus))
}

/// True when hardware threads are the processors of this job.
fn counts_threads(map: &JobMap) -> bool {
    map.policy(0).is_some_and(|policy| policy.hwthreads)
}

/// A node of the map with its ranks, ascending.
struct Node<'a> {
    name: String,
    record: Option<&'a NodeRecord>,
    ranks: Vec<Rank>,
}

/// Of a node that left the pool meanwhile.
static UNKNOWN: Topology = Topology { objects: Vec::new(), allowed: CpuSet::new(), devices: Vec::new() };

impl Node<'_> {
    fn slots(&self) -> u32 {
        self.record.map_or(0, |r| r.slots)
    }
    fn max_slots(&self) -> u32 {
        self.record.map_or(0, |r| r.max_slots)
    }
    fn topology(&self) -> &Topology {
        self.record.map_or(&UNKNOWN, |r| &r.topology)
    }
}

fn by_node<'a>(map: &JobMap, nodes: &'a [NodeRecord]) -> Vec<Node<'a>> {
    let records: BTreeMap<NodeId, &NodeRecord> = nodes.iter().map(|n| (n.id, n)).collect();
    let node = |n: &ferrite_types::JobNode| Node {
        name: n.name.clone(),
        record: records.get(&n.id).copied(),
        ranks: Vec::new(),
    };
    let mut list: Vec<Node<'a>> = map.nodes.iter().map(node).collect();
    for (rank, placement) in map.ranks() {
        list[placement.node as usize].ranks.push(rank);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bindings_show_the_package_by_os_index_and_cores_by_logical_index() {
        let machine = Topology::uniform(2, 4, 2);
        let show = |cpus: &[u32]| binding(&machine, Some(&cpus.iter().copied().collect()), false);
        assert_eq!(binding(&machine, None, false), "N/A");
        assert_eq!(show(&[0, 1]), "package[0][core:L0]");
        assert_eq!(show(&[8, 9, 10, 11]), "package[1][core:L4-5]");
        assert_eq!(show(&[0, 1, 4, 5, 8, 9]), "package[0][core:L0,L2] package[1][core:L4]");
        assert_eq!(show(&[3]), "package[0][hwt:L3]");
    }
}
