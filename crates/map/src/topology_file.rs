//! Topology files (`hwloc_use_topo_file`): hwloc's XML, formats 1 and 2, as `lstopo FILE.xml` writes it. The command
//! line reads the file and passes its text. Whatever the text is, the result is a [`Topology`] that placement can use,
//! or an error.
//!
//! The document's order is hwloc's logical order. Objects that placement does not use are skipped: dies, groups,
//! instruction caches, memory without processors. Missing objects are not added, except one NUMA domain: hwloc gives
//! every machine one.

mod cpus;
mod devices;

use ferrite_types::{CpuSet, ObjectKind, Topology, TopologyObject};
use roxmltree::{Document, Node, ParsingOptions};
use thiserror::Error;

/// A text that describes no machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {what}")]
pub struct TopologyFileError {
    /// Line, from 1.
    pub line: u32,
    /// The error there.
    pub what: Flaw,
}

/// The error in a topology file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Flaw {
    /// The text is no XML.
    #[error("this is not XML ({0})")]
    Xml(String),
    /// The text is other XML.
    #[error("this is <{0}> and not the <topology> of hwloc")]
    Foreign(String),
    /// The version of the format is unknown.
    #[error("this is hwloc's format {0}; formats 1 and 2 can be read")]
    Version(String),
    /// An attribute that cannot be understood.
    #[error("{attribute}={value:?} of a {kind} is not {wanted}")]
    Attribute {
        /// The object's type.
        kind: String,
        /// The attribute.
        attribute: &'static str,
        /// The text there; empty when it is missing.
        value: String,
        /// The expected text.
        wanted: &'static str,
    },
    /// The same hardware thread a second time.
    #[error("hardware thread {0} is there twice")]
    Twice(u32),
    /// There are no processors.
    #[error("the machine has no hardware thread that may be used")]
    NoProcessors,
}

/// Reads a topology file.
///
/// # Errors
/// The first flaw, with its line.
pub fn parse(text: &str) -> Result<Topology, TopologyFileError> {
    // hwloc writes a document type, which is never fetched.
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|e| TopologyFileError { line: e.pos().row, what: Flaw::Xml(without_place(&e.to_string())) })?;
    check_root(&document)?;
    let machine = Machine { document: &document };
    machine.topology()
}

/// Removes the place from the library's text, because the error names the line.
fn without_place(text: &str) -> String {
    text.rsplit_once(" at ").map_or(text, |(what, _)| what).to_owned()
}

fn check_root(document: &Document<'_>) -> Result<(), TopologyFileError> {
    let root = document.root_element();
    let at = |what| Err(TopologyFileError { line: line(root), what });
    if !root.has_tag_name("topology") {
        return at(Flaw::Foreign(root.tag_name().name().to_owned()));
    }
    // Format 1 has no version.
    let version = root.attribute("version").unwrap_or("1");
    match version.split('.').next() {
        Some("1" | "2") => Ok(()),
        _ => at(Flaw::Version(version.to_owned())),
    }
}

/// Returns the kind of an object, as far as placement needs it.
fn kind_of(object: Node<'_, '_>) -> Option<ObjectKind> {
    match object.attribute("type")? {
        "Package" | "Socket" => Some(ObjectKind::Package),
        "NUMANode" => Some(ObjectKind::Numa),
        "L3Cache" => Some(ObjectKind::L3Cache),
        "L2Cache" => Some(ObjectKind::L2Cache),
        "L1Cache" => Some(ObjectKind::L1Cache),
        "Cache" => cache_of_format_1(object),
        "Core" => Some(ObjectKind::Core),
        "PU" => Some(ObjectKind::HwThread),
        _ => None,
    }
}

/// One type for all caches: the level is the depth, and type 2 holds instructions.
fn cache_of_format_1(object: Node<'_, '_>) -> Option<ObjectKind> {
    if object.attribute("cache_type") == Some("2") {
        return None;
    }
    match object.attribute("depth")? {
        "1" => Some(ObjectKind::L1Cache),
        "2" => Some(ObjectKind::L2Cache),
        "3" => Some(ObjectKind::L3Cache),
        _ => None,
    }
}

/// The kinds in the order in which a topology lists them.
const KINDS: [ObjectKind; 7] = [
    ObjectKind::Package,
    ObjectKind::Numa,
    ObjectKind::L3Cache,
    ObjectKind::L2Cache,
    ObjectKind::L1Cache,
    ObjectKind::Core,
    ObjectKind::HwThread,
];

struct Machine<'a, 'input> {
    document: &'a Document<'input>,
}

impl<'a, 'input> Machine<'a, 'input> {
    /// Returns all objects: parents before their children, siblings in logical order.
    fn objects(&self) -> impl Iterator<Item = Node<'a, 'input>> + use<'a, 'input> {
        self.document.root_element().descendants().filter(|node| node.has_tag_name("object"))
    }

    fn topology(&self) -> Result<Topology, TopologyFileError> {
        // Unusable hardware threads are left out, as hwloc does with a file.
        let mut threads = self.hardware_threads()?;
        let allowed = self.allowed(&threads.iter().flat_map(|t| t.cpus.iter()).collect())?;
        threads.retain(|thread| thread.cpus.intersects(&allowed));
        if allowed.is_empty() {
            return Err(TopologyFileError { line: line(self.document.root_element()), what: Flaw::NoProcessors });
        }
        let mut objects = Vec::new();
        for kind in KINDS {
            let list = match kind {
                ObjectKind::HwThread => threads.clone(),
                ObjectKind::Numa => self.numa_domains(&allowed)?,
                _ => self.of_kind(kind, &allowed)?,
            };
            if !list.is_empty() {
                objects.push((kind, list));
            }
        }
        let devices = devices::devices(self.objects(), &allowed)?;
        Ok(Topology { objects, allowed, devices })
    }

    fn hardware_threads(&self) -> Result<Vec<TopologyObject>, TopologyFileError> {
        let mut seen = CpuSet::new();
        let mut threads = Vec::new();
        for node in self.objects().filter(|node| kind_of(*node) == Some(ObjectKind::HwThread)) {
            let cpus = required_cpus(node)?;
            let mut each = cpus.iter();
            let (Some(cpu), None) = (each.next(), each.next()) else {
                return Err(bad(node, "cpuset", "one hardware thread, as 0x00000004"));
            };
            drop(each);
            if seen.contains(cpu) {
                return Err(TopologyFileError { line: line(node), what: Flaw::Twice(cpu) });
            }
            seen.insert(cpu);
            threads.push(TopologyObject { os_index: cpu, cpus, bytes: 0 });
        }
        Ok(threads)
    }

    /// Returns the objects of a kind that have a hardware thread.
    fn of_kind(&self, kind: ObjectKind, all: &CpuSet) -> Result<Vec<TopologyObject>, TopologyFileError> {
        let mut found: Vec<TopologyObject> = Vec::new();
        let mut nodes: Vec<Node<'_, '_>> = self.objects().filter(|node| kind_of(*node) == Some(kind)).collect();
        if kind == ObjectKind::Numa {
            nodes.sort_by_key(|node| end_of_holder(*node));
        }
        for node in nodes {
            let cpus = required_cpus(node)?.intersection(all);
            if !cpus.is_empty() {
                let size = if kind == ObjectKind::Numa { "local_memory" } else { "cache_size" };
                let os_index = number(node, "os_index")?.unwrap_or(found.len() as u64);
                let os_index = u32::try_from(os_index).map_err(|_| bad(node, "os_index", "a small number"))?;
                found.push(TopologyObject { os_index, cpus, bytes: number(node, size)?.unwrap_or(0) });
            }
        }
        Ok(found)
    }

    /// Returns the NUMA domains. Further memory beside processors that have a domain (HBM, or expansion memory of the
    /// whole machine) makes no second one. The system numbers domains with processors first.
    fn numa_domains(&self, all: &CpuSet) -> Result<Vec<TopologyObject>, TopologyFileError> {
        let mut domains = self.of_kind(ObjectKind::Numa, all)?;
        let mut numbers: Vec<u32> = domains.iter().map(|domain| domain.os_index).collect();
        numbers.sort_unstable();
        let mut covered = CpuSet::new();
        for number in numbers {
            let Some(at) = domains.iter().position(|domain| domain.os_index == number) else { continue };
            if covered.intersects(&domains[at].cpus) {
                domains.remove(at);
            } else {
                covered.union_with(&domains[at].cpus);
            }
        }
        if domains.is_empty() {
            let machine = self.objects().next();
            let bytes = machine.map(|m| number(m, "local_memory")).transpose()?.flatten().unwrap_or(0);
            domains.push(TopologyObject { os_index: 0, cpus: all.clone(), bytes });
        }
        Ok(domains)
    }

    /// Returns the usable hardware threads, which the machine object has; other objects of format 1 repeat their part.
    fn allowed(&self, all: &CpuSet) -> Result<CpuSet, TopologyFileError> {
        let stated = self.objects().next().map(|machine| cpus_of(machine, "allowed_cpuset")).transpose()?.flatten();
        Ok(stated.map_or_else(|| all.clone(), |stated| stated.intersection(all)))
    }
}

/// Returns the end of the object to which a domain belongs; domains are ordered by it. The file has memory before its
/// processors, but hwloc counts it after the memory of their parts.
fn end_of_holder(domain: Node<'_, '_>) -> usize {
    let holds_processors = |node: &Node<'_, '_>| node.attribute("type") != Some("MemCache");
    domain.ancestors().skip(1).find(holds_processors).map_or(0, |holder| holder.range().end)
}

fn line(node: Node<'_, '_>) -> u32 {
    node.document().text_pos_at(node.range().start).row
}

fn bad(node: Node<'_, '_>, attribute: &'static str, wanted: &'static str) -> TopologyFileError {
    let kind = node.attribute("type").unwrap_or("object").to_owned();
    let value = node.attribute(attribute).unwrap_or_default().to_owned();
    TopologyFileError { line: line(node), what: Flaw::Attribute { kind, attribute, value, wanted } }
}

fn cpus_of(node: Node<'_, '_>, attribute: &'static str) -> Result<Option<CpuSet>, TopologyFileError> {
    let Some(text) = node.attribute(attribute) else { return Ok(None) };
    cpus::parse(text).map(Some).ok_or_else(|| bad(node, attribute, "a set of hardware threads, as 0x0000000f"))
}

fn required_cpus(node: Node<'_, '_>) -> Result<CpuSet, TopologyFileError> {
    cpus_of(node, "cpuset")?.ok_or_else(|| bad(node, "cpuset", "a set of hardware threads, as 0x0000000f"))
}

fn number(node: Node<'_, '_>, attribute: &'static str) -> Result<Option<u64>, TopologyFileError> {
    let Some(text) = node.attribute(attribute) else { return Ok(None) };
    text.parse().map(Some).map_err(|_| bad(node, attribute, "a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = r#"<topology version="2.0"><object type="Machine" cpuset="0x3" allowed_cpuset="0x2">
<object type="PU" os_index="0" cpuset="0x1"/>
<object type="PU" os_index="1" cpuset="0x2"/>
</object></topology>"#;

    fn refused(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn the_least_machine_has_what_may_be_used_and_one_domain_and_nothing_made_up() {
        let topology = parse(ONE).unwrap();
        assert_eq!(topology.of_kind(ObjectKind::HwThread).len(), 1);
        assert_eq!(topology.of_kind(ObjectKind::Numa).len(), 1);
        assert!(topology.of_kind(ObjectKind::Core).is_empty() && topology.of_kind(ObjectKind::Package).is_empty());
        assert_eq!(topology.allowed.to_string(), "1");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let all = [
            refused(""),
            refused("<topology>\n<object></topology>"),
            refused("<svg/>"),
            refused(&ONE.replace("2.0", "3.0")),
            refused(&ONE.replace("\"0x1\"", "\"0xg\"")),
            refused(&ONE.replace("\"0x1\"", "\"0x3\"")),
            refused(&ONE.replace("\"0x1\"", "\"0x2\"")),
            refused(&ONE.replace("cpuset=\"0x1\"", "")),
            refused(&ONE.replace("allowed_cpuset=\"0x2\"", "allowed_cpuset=\"0x4\"")),
            refused(&ONE.replace(
                "<object type=\"PU\" os_index=\"0\" cpuset=\"0x1\"",
                "<object type=\"Core\" os_index=\"x\" cpuset=\"0x2\"",
            )),
        ];
        insta::assert_snapshot!(all.join("\n"));
    }

    #[test]
    fn memory_beside_the_same_processors_or_none_is_no_other_domain() {
        let domains = r#"<object type="NUMANode" os_index="4" cpuset="0x3" local_memory="5"/>
<object type="NUMANode" os_index="5" cpuset="0x3" local_memory="7"/>
<object type="NUMANode" os_index="6" cpuset="0x0"/>
<object type="PU" os_index="0""#;
        let topology = parse(&ONE.replace("<object type=\"PU\" os_index=\"0\"", domains)).unwrap();
        let [domain] = topology.of_kind(ObjectKind::Numa) else { panic!("{topology:?}") };
        assert_eq!((domain.os_index, domain.bytes), (4, 5));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "[<>/a-zA-Z0-9=\"x, \n]{0,200}") {
            let _ = parse(&text);
            let _ = parse(&ONE.replace("0x1", &text));
        }
    }
}
