//! Job map and allocation as text, exactly in the field's format, because scripts read it. Source: output-formats, and
//! the reference's own output.

mod binding;
mod devel;
mod xml;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ferrite_types::{CpuSet, JobMap, NodeId, NodeRecord, Placement, PlacementTexts, Rank, Topology};

pub use binding::{Numbers, binding, binding_by, devices};
pub(crate) use xml::escape;
pub use xml::{allocation as allocation_xml, document as xml_document};

/// A job map to show.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// The job's namespace.
    pub job: &'a str,
    /// The job's map.
    pub map: &'a JobMap,
    /// The pool.
    pub nodes: &'a [NodeRecord],
    /// True with `--rtos donotlaunch`: a paragraph warns that nothing is started and no node was asked for its
    /// topology.
    pub not_launched: bool,
    /// The numbers by which cores and hardware threads are named.
    pub numbers: Numbers,
}

/// Returns the text of `--display map`, with the empty line in front. `job` is the job's namespace. With `not_launched`
/// (`--rtos donotlaunch`) a paragraph warns that no node was asked for its topology.
#[must_use]
pub fn job_map(job: &str, map: &JobMap, nodes: &[NodeRecord], not_launched: bool) -> String {
    Shown { job, map, nodes, not_launched, numbers: Numbers::Logical }.map()
}

/// Returns the text of `--display map:parseable`: the job map as XML.
#[must_use]
pub fn job_map_xml(map: &JobMap, nodes: &[NodeRecord]) -> String {
    Shown { job: "", map, nodes, not_launched: false, numbers: Numbers::Logical }.xml()
}

impl Shown<'_> {
    /// `--display map`, with the empty line in front.
    #[must_use]
    pub fn map(&self) -> String {
        let Shown { job, map, .. } = *self;
        let mut text = format!(
            "\n========================   JOB MAP   ========================\n\
             Data for JOB {job} offset 0 Total slots allocated {}\n",
            map.total_slots,
        );
        match map.policies.as_slice() {
            [_, _, ..] => self.app_lines(&mut text, "    "),
            one => {
                let PlacementTexts { map_by, rank_by, bind_to, .. } = one.first().cloned().unwrap_or_default();
                let _ =
                    writeln!(text, "    Mapping policy: {map_by}  Ranking policy: {rank_by} Binding policy: {bind_to}");
            }
        }
        let _ = write!(text, "    {}\n\n", self.processors());
        for node in by_node(map, self.nodes) {
            self.node(&mut text, &node);
        }
        self.warning(&mut text);
        text.push_str("\n=============================================================\n");
        text
    }

    fn node(&self, text: &mut String, node: &Node<'_>) {
        let _ = writeln!(
            text,
            "\nData for node: {}\tNum slots: {}\tMax slots: {}\tNum procs: {}",
            node.name,
            node.slots(),
            node.max_slots(),
            node.ranks.len(),
        );
        for rank in &node.ranks {
            let placement = self.placement(*rank);
            let _ = writeln!(
                text,
                "        Process jobid: {} App: {} Process rank: {rank} Bound: {}{}",
                self.job,
                placement.app,
                self.bound(node, placement),
                devices(node.topology(), placement).map(|names| format!(" Device: {names}")).unwrap_or_default(),
            );
        }
    }

    /// Writes a line for each app, unless all were placed alike.
    fn app_lines(&self, text: &mut String, indent: &str) {
        for (app, policy) in self.map.policies.iter().enumerate() {
            let PlacementTexts { mapper, map_by, rank_by, bind_to, .. } = policy;
            let _ = writeln!(
                text,
                "{indent}App {app}: Mapper: {mapper}  Mapping policy: {map_by}  Ranking policy: {rank_by}  Binding policy: {bind_to}"
            );
        }
    }

    /// Returns the line about processors: the values that all apps share; a value that differs between apps is omitted.
    fn processors(&self) -> String {
        let cpu_set = self.common(|policy| policy.cpu_set.clone());
        let ppr = self.common(|policy| policy.ppr.clone());
        let cpus_per_rank = self.common(|policy| policy.cpus_per_rank.map(|n| n.to_string()));
        let threads = self.map.policies.first().is_some_and(|first| first.hwthreads)
            && self.map.policies.iter().all(|policy| policy.hwthreads);
        let cpu_type = if threads { "HWT" } else { "CORE" };
        format!("Cpu set: {cpu_set}  PPR: {ppr}  Cpus-per-rank: {cpus_per_rank}  Cpu Type: {cpu_type}")
    }

    fn common(&self, value: impl Fn(&PlacementTexts) -> Option<String>) -> String {
        let mut values = self.map.policies.iter().map(value);
        let first = values.next().flatten();
        first.filter(|first| values.all(|other| other.as_ref() == Some(first))).unwrap_or_else(|| "N/A".to_owned())
    }

    fn warning(&self, text: &mut String) {
        if self.not_launched {
            let _ = write!(text, "\n{WARNING}\n");
        }
    }

    fn placement(&self, rank: Rank) -> &Placement {
        &self.map.procs[rank.0 as usize]
    }

    fn bound(&self, node: &Node<'_>, placement: &Placement) -> String {
        binding_by(node.topology(), placement.cpus.as_ref(), self.threads(placement.app), self.numbers)
    }

    /// True when hardware threads are the processors of this app.
    fn threads(&self, app: u16) -> bool {
        self.map.policy(app).is_some_and(|policy| policy.hwthreads)
    }
}

/// The warning of a map without a launch.
const WARNING: &str = "Warning: a map generated with the DONOTLAUNCH option starts nothing and probes no node: it reflects the\n\
     HEADNODE ARCHITECTURE. On compute nodes of another architecture the real map and bindings will differ.";

/// Returns the text of `--display allocation`, with the empty line in front: the nodes that one app of a job may use.
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

/// A node of the map with its ranks, ascending.
pub(crate) struct Node<'a> {
    pub(crate) name: &'a str,
    pub(crate) record: Option<&'a NodeRecord>,
    pub(crate) ranks: Vec<Rank>,
}

/// The topology of a node that has left the pool.
static UNKNOWN: Topology = Topology { objects: Vec::new(), allowed: CpuSet::new(), devices: Vec::new() };

impl<'a> Node<'a> {
    pub(crate) fn slots(&self) -> u32 {
        self.record.map_or(0, |r| r.slots)
    }
    pub(crate) fn max_slots(&self) -> u32 {
        self.record.map_or(0, |r| r.max_slots)
    }
    pub(crate) fn topology(&self) -> &'a Topology {
        self.record.map_or(&UNKNOWN, |r| &r.topology)
    }
}

/// Returns the nodes of a map in their order.
pub(crate) fn by_node<'a>(map: &'a JobMap, nodes: &'a [NodeRecord]) -> Vec<Node<'a>> {
    let records: BTreeMap<NodeId, &NodeRecord> = nodes.iter().map(|n| (n.id, n)).collect();
    let node =
        |n: &'a ferrite_types::JobNode| Node { name: &n.name, record: records.get(&n.id).copied(), ranks: Vec::new() };
    let mut list: Vec<Node<'a>> = map.nodes.iter().map(node).collect();
    for (rank, placement) in map.ranks() {
        list[placement.node as usize].ranks.push(rank);
    }
    list
}
