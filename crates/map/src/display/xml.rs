//! `--display map:parseable` and `allocation:parseable`: XML with the reference's elements. In addition a process has a
//! `<device>` element for each of its devices.

use std::fmt::Write as _;

use ferrite_types::{CpuSet, NodeRecord, ObjectKind, Rank, Topology};

use super::binding::Unit;
use super::{Node, Numbers, Shown, WARNING, by_node};

impl Shown<'_> {
    /// The job map as XML.
    #[must_use]
    pub fn xml(&self) -> String {
        let mut text = String::from("<?xml version=\"1.0\" ?>\n<map>\n");
        for node in by_node(self.map, self.nodes) {
            let _ = writeln!(
                text,
                "    <host name=\"{}\" slots=\"{}\" max_slots=\"{}\">",
                escape(node.name),
                node.slots(),
                node.max_slots(),
            );
            self.processors_xml(&mut text, &node);
            for rank in &node.ranks {
                self.rank_xml(&mut text, &node, *rank);
            }
            text.push_str("    </host>\n");
        }
        if self.not_launched {
            let _ = writeln!(text, "<!--\n{WARNING}\n-->");
        }
        text.push_str("</map>\n");
        text
    }

    fn processors_xml(&self, text: &mut String, node: &Node<'_>) {
        let topology = node.topology();
        let threads = node.ranks.first().is_some_and(|rank| self.threads(self.placement(*rank).app));
        text.push_str("        <processors>\n");
        for (at, package) in topology.of_kind(ObjectKind::Package).iter().enumerate() {
            let usable = package.cpus.intersection(&topology.allowed);
            let numbers = Unit::of(topology, &usable, threads).numbered(topology, &usable, self.numbers);
            if !numbers.is_empty() {
                let _ = writeln!(text, "            <package id=\"{at}\" cpus=\"{numbers}\"/>");
            }
        }
        text.push_str("        </processors>\n");
    }

    fn rank_xml(&self, text: &mut String, node: &Node<'_>, rank: Rank) {
        let placement = self.placement(rank);
        let topology = node.topology();
        let _ = writeln!(text, "\n        <rank id=\"{rank}\" appid=\"{}\">", placement.app);
        match &placement.cpus {
            None => text.push_str("            <binding></binding>\n"),
            Some(cpus) => {
                text.push_str("            <binding>\n");
                bound_xml(text, topology, cpus, self.threads(placement.app), self.numbers);
                text.push_str("            </binding>\n");
            }
        }
        for device in placement.devices.iter().filter_map(|at| topology.devices.get(usize::from(*at))) {
            let _ = writeln!(text, "            <device>{}</device>", escape(&device.name));
        }
        text.push_str("        </rank>\n");
    }
}

/// Writes the packages, and in each the cores or hardware threads with a part in the set.
fn bound_xml(text: &mut String, topology: &Topology, cpus: &CpuSet, threads: bool, numbers: Numbers) {
    let unit = Unit::of(topology, cpus, threads);
    let list = |text: &mut String, of: &CpuSet, indent: usize| {
        for number in unit.numbered(topology, &cpus.intersection(of), numbers).iter() {
            let _ = writeln!(text, "{:indent$}<{}>{number}</{}>", "", unit.word, unit.word);
        }
    };
    let packages = topology.of_kind(ObjectKind::Package);
    if packages.is_empty() {
        list(text, cpus, 16);
    }
    for (at, package) in packages.iter().enumerate().filter(|(_, p)| p.cpus.intersects(cpus)) {
        let _ = writeln!(text, "                <package id=\"{at}\">");
        list(text, &package.cpus, 20);
        text.push_str("                </package>\n");
    }
}

/// `--display allocation:parseable`.
#[must_use]
pub fn allocation<'a>(nodes: impl IntoIterator<Item = &'a NodeRecord>) -> String {
    let mut text = String::from("<allocation>\n");
    for NodeRecord { name, slots, max_slots, slots_inuse, .. } in nodes {
        let _ = writeln!(
            text,
            "\t<host name=\"{}\" slots=\"{slots}\" max_slots=\"{max_slots}\" slots_inuse=\"{slots_inuse}\"/>",
            escape(name)
        );
    }
    text.push_str("</allocation>\n");
    text
}

/// Joins the parts of `--display ...:parseable` to one document. A part alone stays as it is; several get a root.
#[must_use]
pub fn document(parts: &[String]) -> String {
    const DECLARATION: &str = "<?xml version=\"1.0\" ?>\n";
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        several => {
            let bare = several.iter().map(|part| part.strip_prefix(DECLARATION).unwrap_or(part));
            format!("{DECLARATION}<display>\n{}</display>\n", bare.collect::<String>())
        }
    }
}

/// Escapes a text for XML; characters that XML cannot hold are replaced.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}
