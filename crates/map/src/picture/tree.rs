//! The objects of a node as areas within areas. Any topology is accepted: kinds may be missing, and objects may
//! overlap. Every processor is in exactly one area.

use ferrite_types::{CpuSet, ObjectKind, Topology, TopologyObject};

/// The most processors of a node that are drawn one by one; otherwise cores or areas are drawn.
const MOST_UNITS: usize = 4096;

/// The objects of a node.
#[derive(Debug)]
pub(super) struct Tree {
    /// The whole node; it has no label.
    pub(super) root: Area,
    /// The number of [`Unit`]s; they are numbered in the order of drawing.
    pub(super) units: usize,
}

/// A package, a NUMA domain, or the processors that share a cache.
#[derive(Debug, Default)]
pub(super) struct Area {
    /// `package 0 · L3 32 MiB`: several objects of the same processors are one area.
    pub(super) label: String,
    pub(super) areas: Vec<Area>,
    pub(super) cores: Vec<Core>,
    /// Its place among its siblings.
    order: usize,
}

/// A core, or processors that belong to none.
#[derive(Debug)]
pub(super) struct Core {
    /// `core 3`.
    pub(super) label: String,
    /// Details that its label leaves out, shown on pointing.
    pub(super) about: String,
    /// The package that it is in, by position.
    pub(super) package: Option<usize>,
    pub(super) units: Vec<Unit>,
}

/// The smallest part of a drawing: a hardware thread, or several in a very large machine.
#[derive(Debug)]
pub(super) struct Unit {
    /// Its place in the order of drawing.
    pub(super) at: usize,
    pub(super) cpus: CpuSet,
    /// False when the job's daemon may not use it.
    pub(super) usable: bool,
}

impl Tree {
    pub(super) fn of(topology: &Topology) -> Tree {
        let cores = cores(topology);
        let mut frames = frames(topology, &cores);
        let home = homes(&frames, &cores);
        for (core, home) in cores.into_iter().zip(home) {
            frames[home].area.cores.push(core);
        }
        let mut root = nested(frames);
        if count(&root, &|core| core.units.len()) > MOST_UNITS {
            join_threads(&mut root);
        }
        if count(&root, &|core| core.units.len()) > MOST_UNITS {
            join_cores(&mut root);
        }
        let mut units = 0;
        number(&mut root, &mut units);
        Tree { root, units }
    }

    /// All cores in the order of drawing.
    pub(super) fn cores(&self) -> Vec<&Core> {
        fn collect<'a>(area: &'a Area, into: &mut Vec<&'a Core>) {
            into.extend(&area.cores);
            area.areas.iter().for_each(|area| collect(area, into));
        }
        let mut list = Vec::new();
        collect(&self.root, &mut list);
        list
    }
}

/// Returns all processors in cores; a processor without a core gets one of its own.
fn cores(topology: &Topology) -> Vec<Core> {
    let mut left = topology.allowed.clone();
    topology.objects.iter().flat_map(|(_, list)| list).for_each(|object| left.union_with(&object.cpus));
    let mut left: Vec<bool> =
        (0..left.iter().last().map_or(0, |last| last + 1)).map(|cpu| left.contains(cpu)).collect();
    let mut take = |cpus: &CpuSet| -> Vec<u32> {
        cpus.iter().filter(|cpu| std::mem::replace(&mut left[*cpu as usize], false)).collect()
    };
    let mut list = Vec::new();
    for (index, object) in topology.of_kind(ObjectKind::Core).iter().enumerate() {
        let cpus = take(&object.cpus);
        if !cpus.is_empty() {
            let about = format!("core {index} (the system's {})", object.os_index);
            list.push(core(topology, format!("{index}"), about, &cpus));
        }
    }
    let loose: Vec<u32> = (0..left.len() as u32).filter(|cpu| left[*cpu as usize]).collect();
    list.extend(loose.iter().map(|cpu| core(topology, format!("P{cpu}"), "no known core".to_owned(), &[*cpu])));
    list
}

fn core(topology: &Topology, label: String, about: String, cpus: &[u32]) -> Core {
    let unit =
        |cpu: &u32| Unit { at: 0, cpus: std::iter::once(*cpu).collect(), usable: topology.allowed.contains(*cpu) };
    let word = if cpus.len() == 1 { "processor" } else { "processors" };
    let about = format!("{about}, {word} {}", super::names::ranges(cpus, 8));
    let packages = topology.of_kind(ObjectKind::Package);
    let package = packages.iter().position(|package| package.cpus.contains(cpus[0]));
    Core { label, about, package, units: cpus.iter().map(unit).collect() }
}

/// An object that may hold cores or other objects.
struct Frame<'a> {
    cpus: Option<&'a CpuSet>,
    area: Area,
}

/// Returns the whole node, then each object that groups cores, the largest first.
fn frames<'a>(topology: &'a Topology, cores: &[Core]) -> Vec<Frame<'a>> {
    const KINDS: [ObjectKind; 4] = [ObjectKind::Package, ObjectKind::Numa, ObjectKind::L3Cache, ObjectKind::L2Cache];
    let mut list = vec![Frame { cpus: None, area: Area::default() }];
    for kind in KINDS {
        let objects = topology.of_kind(kind);
        // A second-level cache is drawn only if cores share it.
        if kind == ObjectKind::L2Cache && objects.len() >= cores.len() {
            continue;
        }
        for (at, object) in objects.iter().enumerate().filter(|(_, object)| !object.cpus.is_empty()) {
            let area = Area { label: label(kind, at, object), order: list.len(), ..Area::default() };
            list.push(Frame { cpus: Some(&object.cpus), area });
        }
    }
    // The sort is stable: objects with the same processors stay in the order of kinds.
    list[1..].sort_by_key(|frame| std::cmp::Reverse(frame.cpus.map_or(0, CpuSet::len)));
    list
}

fn label(kind: ObjectKind, at: usize, object: &TopologyObject) -> String {
    let name = match kind {
        ObjectKind::Package => format!("package {at}"),
        ObjectKind::Numa => format!("NUMA {at}"),
        ObjectKind::L3Cache => "L3".to_owned(),
        _ => "L2".to_owned(),
    };
    match object.bytes {
        0 => name,
        bytes => format!("{name} {}", size(bytes)),
    }
}

/// `32 MiB`.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let step = (0..4).take_while(|step| bytes >> (10 * (step + 1)) > 0).count();
    format!("{} {}", bytes >> (10 * step), UNITS[step])
}

/// Returns for each core the smallest frame with its first processor.
fn homes(frames: &[Frame<'_>], cores: &[Core]) -> Vec<usize> {
    let first = |core: &Core| core.units[0].cpus.iter().next().unwrap_or(0);
    let most = cores.iter().map(first).max().unwrap_or(0);
    let mut home = vec![0; most as usize + 1];
    for (at, frame) in frames.iter().enumerate() {
        for cpu in frame.cpus.into_iter().flat_map(CpuSet::iter).take_while(|cpu| *cpu <= most) {
            home[cpu as usize] = at;
        }
    }
    cores.iter().map(|core| home[first(core) as usize]).collect()
}

/// Puts each frame into the smallest earlier one that holds it, and leaves out empty frames.
fn nested(frames: Vec<Frame<'_>>) -> Area {
    let within = |inner: &CpuSet, outer: &CpuSet| &inner.intersection(outer) == inner;
    let parent_of = |at: usize| {
        let cpus = frames[at].cpus?;
        (1..at).rev().find(|before| frames[*before].cpus.is_some_and(|outer| within(cpus, outer)))
    };
    let parents: Vec<usize> = (0..frames.len()).map(|at| parent_of(at).unwrap_or(0)).collect();
    let mut areas: Vec<Area> = frames.into_iter().map(|frame| frame.area).collect();
    for at in (1..areas.len()).rev() {
        let mut area = std::mem::take(&mut areas[at]);
        merge_only_child(&mut area);
        if !(area.areas.is_empty() && area.cores.is_empty()) {
            areas[parents[at]].areas.push(area);
        }
    }
    let mut root = std::mem::take(&mut areas[0]);
    sort(&mut root);
    root
}

fn sort(area: &mut Area) {
    area.areas.sort_by_key(|area| area.order);
    area.areas.iter_mut().for_each(sort);
}

/// Merges an area with its only child of the same processors.
fn merge_only_child(area: &mut Area) {
    if area.cores.is_empty() && area.areas.len() == 1 {
        let Area { label, areas, cores, .. } = area.areas.remove(0);
        area.label = format!("{} · {label}", area.label);
        (area.areas, area.cores) = (areas, cores);
    }
}

fn count(area: &Area, of: &impl Fn(&Core) -> usize) -> usize {
    area.cores.iter().map(of).sum::<usize>() + area.areas.iter().map(|area| count(area, of)).sum::<usize>()
}

fn joined(units: impl Iterator<Item = Unit>) -> Vec<Unit> {
    let mut all = Unit { at: 0, cpus: CpuSet::new(), usable: false };
    for unit in units {
        all.cpus.union_with(&unit.cpus);
        all.usable |= unit.usable;
    }
    vec![all]
}

fn join_threads(area: &mut Area) {
    for core in &mut area.cores {
        core.units = joined(core.units.drain(..));
    }
    area.areas.iter_mut().for_each(join_threads);
}

fn join_cores(area: &mut Area) {
    let cores = std::mem::take(&mut area.cores);
    if let (Some(first), Some(last)) = (cores.first(), cores.last()) {
        let label = format!("{}-{}", first.label, last.label);
        let about = format!("{} cores, from {} to {}", cores.len(), first.about, last.about);
        let package = first.package;
        area.cores = vec![Core { label, about, package, units: joined(cores.into_iter().flat_map(|core| core.units)) }];
    }
    area.areas.iter_mut().for_each(join_cores);
}

fn number(area: &mut Area, next: &mut usize) {
    for unit in area.cores.iter_mut().flat_map(|core| &mut core.units) {
        unit.at = *next;
        *next += 1;
    }
    area.areas.iter_mut().for_each(|area| number(area, next));
}
