//! The output of `--display topo` and `--display cpus`, in the field's form. The head calls it.

use std::cmp::Reverse;
use std::fmt::Write;

use ferrite_types::{CpuSet, Device, DeviceKind, ObjectKind, Topology, TopologyObject};

const RULE: &str = "=================================================================";

/// Returns the usable processors of a node by package and logical number: hardware threads if these are the job's
/// processors, cores otherwise.
#[must_use]
pub fn processors(node: &str, topology: &Topology, threads: bool, parseable: bool) -> String {
    let cores = !threads && !topology.of_kind(ObjectKind::Core).is_empty();
    let kind = if cores { ObjectKind::Core } else { ObjectKind::HwThread };
    let usable = |of: &CpuSet| -> CpuSet {
        let cpus = of.intersection(&topology.allowed);
        let objects = topology.of_kind(kind).iter().zip(0..);
        objects.filter(|(o, _)| o.cpus.intersects(&cpus)).map(|(_, index)| index).collect()
    };
    let packages = topology.of_kind(ObjectKind::Package).iter().map(|p| usable(&p.cpus)).enumerate();
    let mut lines = String::new();
    for (index, cpus) in packages {
        let _ = match parseable {
            true => writeln!(lines, "    <package id=\"{index}\" cpus=\"{cpus}\"/>"),
            false => writeln!(lines, "PKG[{index}]: {cpus}"),
        };
    }
    if lines.is_empty() {
        // The machine has no packages: all its processors in one line.
        let cpus = usable(&topology.allowed);
        lines = if parseable { format!("    <cpus>{cpus}</cpus>\n") } else { format!("CPUS: {cpus}\n") };
    }
    if parseable {
        return format!("<processors node=\"{}\">\n{lines}</processors>\n", escape(node));
    }
    format!(
        "\n======================   AVAILABLE PROCESSORS [node: {node}]   ======================\n\n{lines}\n\
         ======================================================================\n"
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// Returns the objects of a node as a tree.
#[must_use]
pub fn topology(node: &str, topology: &Topology) -> String {
    let mut text = format!("{RULE}\nTOPOLOGY FOR NODE {node}\n");
    Tree::of(topology).write(0, 0, &mut text);
    let _ = writeln!(text, "{RULE}");
    text
}

/// One object of the tree.
struct Item<'a> {
    what: What<'a>,
    cpus: &'a CpuSet,
    children: Vec<usize>,
}

#[derive(Clone, Copy)]
enum What<'a> {
    Machine,
    Object(ObjectKind, &'a TopologyObject),
    /// The processors of a NUMA domain, if no other object has exactly these.
    Group,
    Device(&'a Device),
}

impl What<'_> {
    fn kind(self) -> Option<ObjectKind> {
        match self {
            What::Object(kind, _) => Some(kind),
            What::Machine | What::Group | What::Device(_) => None,
        }
    }
}

/// The tree of objects. A topology has the processors of each object; they show which objects contain others.
struct Tree<'a> {
    items: Vec<Item<'a>>,
    topology: &'a Topology,
}

impl<'a> Tree<'a> {
    fn of(topology: &'a Topology) -> Tree<'a> {
        let machine = Item { what: What::Machine, cpus: &topology.allowed, children: Vec::new() };
        let mut tree = Tree { items: vec![machine], topology };
        let lists = topology.objects.iter().filter(|(kind, _)| *kind != ObjectKind::Numa);
        let normal: Vec<_> = lists.flat_map(|(kind, list)| list.iter().map(|o| (*kind, o))).collect();
        let domains = topology.of_kind(ObjectKind::Numa).iter().map(|domain| &domain.cpus);
        let has_none = |cpus: &&CpuSet| !normal.iter().any(|(_, o)| o.cpus == **cpus) && **cpus != topology.allowed;
        let mut all: Vec<(What<'a>, &'a CpuSet)> = domains.filter(has_none).map(|cpus| (What::Group, cpus)).collect();
        all.extend(normal.into_iter().map(|(kind, object)| (What::Object(kind, object), &object.cpus)));
        // Larger objects come first, and of equal ones the outer kind, so that parents come before their children.
        all.sort_by_key(|(what, cpus)| (Reverse(cpus.len()), what.kind()));
        for (what, cpus) in all {
            tree.insert(what, cpus);
        }
        tree.sort_children();
        for domain in topology.of_kind(ObjectKind::Numa) {
            tree.attach(What::Object(ObjectKind::Numa, domain), &domain.cpus);
        }
        for device in &topology.devices {
            tree.attach(What::Device(device), &device.cpus);
        }
        tree
    }

    fn add(&mut self, parent: usize, what: What<'a>, cpus: &'a CpuSet) {
        self.items.push(Item { what, cpus, children: Vec::new() });
        let new = self.items.len() - 1;
        self.items[parent].children.push(new);
    }

    /// Returns the child that has all these processors.
    fn inside(&self, parent: usize, cpus: &CpuSet) -> Option<usize> {
        let has_all = |child: &&usize| {
            let child = &self.items[**child];
            let holds =
                matches!(child.what, What::Group) || child.what.kind().is_some_and(|kind| kind != ObjectKind::Numa);
            holds && child.cpus.intersection(cpus) == *cpus
        };
        self.items[parent].children.iter().find(has_all).copied()
    }

    fn insert(&mut self, what: What<'a>, cpus: &'a CpuSet) {
        let mut parent = 0;
        while let Some(child) = self.inside(parent, cpus) {
            parent = child;
        }
        self.add(parent, what, cpus);
    }

    /// Attaches memory or a device to the outermost object with exactly these processors, or to the smallest that has
    /// more.
    fn attach(&mut self, what: What<'a>, cpus: &'a CpuSet) {
        let mut parent = 0;
        while let Some(child) = self.inside(parent, cpus) {
            parent = child;
            if self.items[child].cpus == cpus {
                break;
            }
        }
        self.add(parent, what, cpus);
    }

    /// Sorts siblings by their first hardware thread, in logical order.
    fn sort_children(&mut self) {
        let threads = self.topology.of_kind(ObjectKind::HwThread);
        let place = |cpus: &CpuSet| threads.iter().position(|t| t.cpus.intersects(cpus));
        for at in 0..self.items.len() {
            let mut children = std::mem::take(&mut self.items[at].children);
            children.sort_by_cached_key(|child| place(self.items[*child].cpus));
            self.items[at].children = children;
        }
    }

    /// Returns the memory of an object's part of the machine (bytes).
    fn memory(&self, at: usize) -> u64 {
        match self.items[at].what {
            What::Object(ObjectKind::Numa, domain) => domain.bytes,
            _ => self.items[at].children.iter().map(|child| self.memory(*child)).sum(),
        }
    }

    fn write(&self, at: usize, depth: usize, text: &mut String) {
        let item = &self.items[at];
        let mut line = |indent: usize, words: &str| {
            text.extend(std::iter::repeat_n('\t', indent));
            let _ = writeln!(text, "{words}");
        };
        line(depth, &format!("Type: {} Number of child objects: {}", type_name(item.what), item.children.len()));
        let depth = depth + 1;
        match item.what {
            What::Device(device) => {
                line(depth, &format!("Name={}", device.name));
                if let Some(uuid) = &device.uuid {
                    line(depth, &format!("UUID={uuid}"));
                }
            }
            What::Machine | What::Group | What::Object(..) => {
                line(depth, "Name=NULL");
                self.sizes(at).iter().for_each(|size| line(depth, size));
                line(depth, &format!("Cpuset:  {}", mask(item.cpus)));
            }
        }
        if matches!(item.what, What::Machine) {
            for what in ["CPU proc:  ", "CPU thread:", "MEM proc:  ", "MEM thread:"] {
                line(depth, &format!("Bind {what} TRUE"));
            }
        }
        item.children.iter().for_each(|child| self.write(*child, depth, text));
    }

    fn sizes(&self, at: usize) -> Vec<String> {
        let line = |word: &str, bytes: u64| (bytes > 0).then(|| format!("{word}={}KB", bytes >> 10));
        let total = line("total", self.memory(at));
        let (first, last) = match self.items[at].what {
            What::Object(ObjectKind::Numa, domain) => (line("local", domain.bytes), total),
            What::Object(_, object) => (total, line("size", object.bytes)),
            _ => (total, None),
        };
        first.into_iter().chain(last).collect()
    }
}

fn type_name(what: What<'_>) -> &'static str {
    match what {
        What::Machine => "Machine",
        What::Group => "Group0",
        What::Object(kind, _) => match kind {
            ObjectKind::Package => "Package",
            ObjectKind::Numa => "NUMANode",
            ObjectKind::L3Cache => "L3Cache",
            ObjectKind::L2Cache => "L2Cache",
            ObjectKind::L1Cache => "L1Cache",
            ObjectKind::Core => "Core",
            ObjectKind::HwThread => "PU",
        },
        What::Device(device) => match device.kind {
            DeviceKind::Gpu => "GPU",
            DeviceKind::Network => "Network",
            DeviceKind::Block => "Block",
        },
    }
}

/// Formats a set as hwloc does: words of 32 bits, the highest first, without leading zero words.
fn mask(cpus: &CpuSet) -> String {
    let mut words = vec![0u32];
    for cpu in cpus.iter() {
        let word = cpu as usize / 32;
        words.resize(words.len().max(word + 1), 0);
        words[word] |= 1 << (cpu % 32);
    }
    let shown = words.iter().enumerate().rev().map(|(at, word)| match (at, word) {
        (0, 0) => "0x0".to_owned(),
        (_, 0) => String::new(),
        _ => format!("0x{word:08x}"),
    });
    shown.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology_file;

    fn of_file(text: &str) -> Topology {
        topology_file::parse(text).expect("a good file")
    }

    #[test]
    fn the_tree_of_an_asymmetric_machine() {
        insta::assert_snapshot!(topology("n0", &of_file(include_str!("../tests/topologies/asymmetric.xml"))));
    }

    #[test]
    fn processors_of_a_domain_that_nothing_else_has_are_a_group() {
        let text = topology("n0", &of_file(include_str!("../tests/topologies/no-package.xml")));
        assert_eq!(text.matches("\tType: Group0 Number of child objects: 3\n").count(), 2, "{text}");
        assert_eq!(text.matches("\t\tType: NUMANode").count(), 2);
    }

    #[test]
    fn devices_hang_where_they_are() {
        insta::assert_snapshot!(topology("n0", &of_file(include_str!("../tests/topologies/devices.xml"))));
    }

    #[test]
    fn available_processors_are_counted_over_the_node() {
        let mut machine = Topology::uniform(2, 4, 2);
        machine.allowed = (0..12).collect();
        let no_package = of_file(include_str!("../tests/topologies/no-package.xml"));
        insta::assert_snapshot!(
            [
                processors("n0", &machine, false, false),
                processors("n0", &machine, true, false),
                processors("n0", &machine, false, true),
                processors("n1", &no_package, false, false),
            ]
            .concat()
        );
    }

    #[test]
    fn sets_are_written_as_hwloc_does() {
        assert_eq!(mask(&CpuSet::new()), "0x0");
        assert_eq!(mask(&[0, 31, 64].into_iter().collect()), "0x00000001,,0x80000001");
        assert_eq!(mask(&[32].into_iter().collect()), "0x00000001,0x0");
    }
}
