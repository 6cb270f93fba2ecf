//! The topology of this machine, read from `/sys`; the engine asks once at its start.
//!
//! The numbers are those that hwloc shows on Linux, where it reads the same files. The library itself is not used: with
//! its default plug-ins and devices it takes more than ten milliseconds to start, besides the loading of its libraries;
//! this code takes half a millisecond on two processors, and a daemon needs nothing else from hwloc.

mod devices;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use ferrite_types::{CpuSet, ObjectKind, Topology, TopologyObject};
use rustix::thread::sched_getaffinity;

use crate::{attribute, params};
use devices::Places;

/// The directory in which Linux describes the machine.
const SYSTEM: &str = "/sys/devices/system";

/// Reads this machine's topology. Data that `/sys` lacks is assumed as hwloc does: one package, one NUMA domain, each
/// hardware thread a core.
///
/// # Errors
/// When the system does not even report this process's affinity.
pub(crate) fn discover() -> io::Result<Topology> {
    let mut topology = read(Path::new(SYSTEM), own_affinity()?);
    let online = topology.of_kind(ObjectKind::HwThread).iter().flat_map(|t| t.cpus.iter()).collect();
    topology.devices = Places::of_this_machine().devices(&online);
    Ok(topology)
}

/// Restricts the topology to the processors that the parameters allow. With a topology file a list is about that file's
/// machine, and has no effect here.
///
/// # Errors
/// A list that does not fit this machine.
pub(crate) fn restrict(topology: &mut Topology, parameters: &[(String, String)]) -> io::Result<()> {
    if params::value(parameters, "hwloc_use_topo_file").is_some_and(|file| !file.is_empty()) {
        return Ok(());
    }
    let list = params::value(parameters, "hwloc_default_cpu_list").unwrap_or_default();
    let threads = params::is_on(parameters, "hwloc_base_use_hwthreads_as_cpus");
    ferrite_map::restrict(topology, list, threads).map_err(io::Error::other)
}

/// Returns this process's affinity, which the kernel keeps within its cgroup.
fn own_affinity() -> io::Result<CpuSet> {
    let mask = sched_getaffinity(None)?;
    let cpus = 0..rustix::thread::CpuSet::MAX_CPU;
    Ok(cpus.filter(|c| mask.is_set(*c)).map(|c| c as u32).collect())
}

fn read(system: &Path, allowed: CpuSet) -> Topology {
    let online = list(&system.join("cpu/online")).unwrap_or_else(|| allowed.clone());
    let machine = Machine { cpus: system.join("cpu"), nodes: system.join("node"), online };
    let indexes = machine.cache_indexes();
    let mut found: Vec<(ObjectKind, Objects)> = vec![
        (ObjectKind::Package, machine.packages()),
        (ObjectKind::Numa, machine.numa_domains()),
        (ObjectKind::L3Cache, machine.caches(3, &indexes)),
        (ObjectKind::L2Cache, machine.caches(2, &indexes)),
        (ObjectKind::L1Cache, machine.caches(1, &indexes)),
        (ObjectKind::Core, machine.cores()),
        (ObjectKind::HwThread, machine.hardware_threads()),
    ];
    found.retain(|(_, objects)| !objects.is_empty());
    let order = Order::of(&machine.online, &found);
    let objects = found.into_iter().map(|(kind, objects)| (kind, order.sort(objects))).collect();
    Topology { objects, allowed, devices: Vec::new() }
}

type Objects = Vec<TopologyObject>;

/// More caches than a processor has.
const INDEXES: u32 = 8;

struct Machine {
    cpus: PathBuf,
    nodes: PathBuf,
    online: CpuSet,
}

impl Machine {
    fn packages(&self) -> Objects {
        let names = ["topology/package_cpus_list", "topology/core_siblings_list"];
        let packages = self.partition(&names, "topology/physical_package_id");
        self.or_whole(packages)
    }

    fn cores(&self) -> Objects {
        let names = ["topology/core_cpus_list", "topology/thread_siblings_list"];
        let cores = self.partition(&names, "topology/core_id");
        if cores.is_empty() { self.hardware_threads() } else { cores }
    }

    fn hardware_threads(&self) -> Objects {
        self.online.iter().map(|cpu| object(cpu, [cpu].into_iter().collect())).collect()
    }

    fn numa_domains(&self) -> Objects {
        let mut domains: Objects = Vec::new();
        for node in list(&self.nodes.join("online")).unwrap_or_default().iter() {
            let dir = self.nodes.join(format!("node{node}"));
            let cpus = list(&dir.join("cpulist")).unwrap_or_default().intersection(&self.online);
            // Memory without processors, or of another sort beside processors that have their own, is no place for
            // processes.
            if !cpus.is_empty() && !domains.iter().any(|other| other.cpus.intersects(&cpus)) {
                domains.push(TopologyObject { bytes: memory(&dir), ..object(node, cpus) });
            }
        }
        self.or_whole(domains)
    }

    /// Returns the index of each level's data cache, as the first processor numbers them.
    fn cache_indexes(&self) -> BTreeMap<u32, u32> {
        let mut indexes = BTreeMap::new();
        let Some(first) = self.online.iter().next() else { return indexes };
        let dir = self.cpus.join(format!("cpu{first}/cache"));
        for index in 0..INDEXES {
            let Some(level) = level_of(&dir, index) else { break };
            if !indexes.contains_key(&level) && holds_data(&dir, index) {
                indexes.insert(level, index);
            }
        }
        indexes
    }

    /// Returns the data caches of a level. Each processor is asked for the level only: if it numbers its caches
    /// differently, they are searched.
    fn caches(&self, level: u32, indexes: &BTreeMap<u32, u32>) -> Objects {
        let mut found: Objects = Vec::new();
        let mut covered = CpuSet::new();
        let first = self.online.iter().next();
        for cpu in self.online.iter() {
            if covered.contains(cpu) {
                continue;
            }
            let dir = self.cpus.join(format!("cpu{cpu}/cache"));
            let known = indexes.get(&level).copied();
            let is_so = |index: &u32| first == Some(cpu) || level_of(&dir, *index) == Some(level);
            let Some(index) = known.filter(is_so).or_else(|| find_cache(&dir, level)) else {
                continue;
            };
            let dir = dir.join(format!("index{index}"));
            let Some(cpus) = list(&dir.join("shared_cpu_list")) else {
                continue;
            };
            covered.union_with(&cpus);
            let cpus = cpus.intersection(&self.online);
            // Caches of a level that serve equally many processors are equally large: this saves one file per core.
            let like = found.iter().find(|other| other.cpus.len() == cpus.len()).map(|other| other.bytes);
            let bytes = like.unwrap_or_else(|| kilobytes(&dir.join("size")));
            let os_index = number(&dir.join("id")).unwrap_or(cpu);
            found.push(TopologyObject { os_index, cpus, bytes });
        }
        found
    }

    /// Reads disjoint sets that cover the machine; each file is read once per set, not once per processor.
    fn partition(&self, lists: &[&str], id: &str) -> Objects {
        let mut found = Vec::new();
        let mut covered = CpuSet::new();
        for cpu in self.online.iter() {
            if covered.contains(cpu) {
                continue;
            }
            let dir = self.cpus.join(format!("cpu{cpu}"));
            let Some(cpus) = lists.iter().find_map(|name| list(&dir.join(name))) else {
                continue;
            };
            covered.union_with(&cpus);
            found.push(object(number(&dir.join(id)).unwrap_or(0), cpus.intersection(&self.online)));
        }
        found
    }

    fn or_whole(&self, objects: Objects) -> Objects {
        if objects.is_empty() { vec![object(0, self.online.clone())] } else { objects }
    }
}

/// Logical order: an object's children stay together, and siblings are ordered by their first processor. So a
/// processor's place follows from the first processors of all objects around it, the largest object first.
struct Order {
    rank: BTreeMap<u32, usize>,
}

impl Order {
    fn of(online: &CpuSet, found: &[(ObjectKind, Objects)]) -> Order {
        let mut containers: Vec<&CpuSet> = found.iter().flat_map(|(_, list)| list).map(|o| &o.cpus).collect();
        containers.sort_by_key(|c| std::cmp::Reverse(c.len()));
        let mut path: BTreeMap<u32, Vec<u32>> = online.iter().map(|cpu| (cpu, Vec::new())).collect();
        for container in containers {
            let first = container.iter().next().unwrap_or(0);
            for cpu in container.iter() {
                path.entry(cpu).or_default().push(first);
            }
        }
        let mut cpus: Vec<u32> = online.iter().collect();
        cpus.sort_by(|a, b| path[a].cmp(&path[b]).then(a.cmp(b)));
        Order { rank: cpus.into_iter().enumerate().map(|(rank, cpu)| (cpu, rank)).collect() }
    }

    fn sort(&self, mut objects: Objects) -> Objects {
        objects.sort_by_key(|o| o.cpus.iter().filter_map(|cpu| self.rank.get(&cpu)).min().copied());
        objects
    }
}

fn object(os_index: u32, cpus: CpuSet) -> TopologyObject {
    TopologyObject { os_index, cpus, bytes: 0 }
}

fn find_cache(dir: &Path, level: u32) -> Option<u32> {
    (0..INDEXES).find(|index| level_of(dir, *index) == Some(level) && holds_data(dir, *index))
}

fn level_of(dir: &Path, index: u32) -> Option<u32> {
    number(&dir.join(format!("index{index}/level")))
}

fn holds_data(dir: &Path, index: u32) -> bool {
    attribute::read(&dir.join(format!("index{index}/type"))).is_some_and(|kind| kind != "Instruction")
}

fn number(file: &Path) -> Option<u32> {
    attribute::read(file)?.parse().ok()
}

/// Reads `1024K`, in bytes; 0 = unknown.
fn kilobytes(file: &Path) -> u64 {
    let text = attribute::read(file).unwrap_or_default();
    text.strip_suffix('K').and_then(|n| n.parse::<u64>().ok()).map_or(0, |n| n << 10)
}

/// Reads the first line, `Node 0 MemTotal:       24684096 kB`.
fn memory(node: &Path) -> u64 {
    let text = attribute::read(&node.join("meminfo")).unwrap_or_default();
    let words = text.lines().next().unwrap_or_default().split_whitespace();
    words.rev().nth(1).and_then(|n| n.parse::<u64>().ok()).map_or(0, |n| n << 10)
}

/// Reads a list such as `0-3,8`.
fn list(file: &Path) -> Option<CpuSet> {
    let text = attribute::read(file)?;
    let mut set = CpuSet::new();
    for range in text.split(',').filter(|r| !r.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        for cpu in first.parse().ok()?..=last.parse().ok()? {
            set.insert(cpu);
        }
    }
    Some(set)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write(dir: &Path, name: &str, text: &str) {
        let file = dir.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("{text}\n")).unwrap();
    }

    /// Makes two packages of two cores of two threads, numbered as on many servers: packages alternate, and the second
    /// threads come after all first ones.
    fn alternating(dir: &Path) {
        write(dir, "cpu/online", "0-7");
        for cpu in 0..8u32 {
            let (package, core) = (cpu % 2, cpu / 2 % 2);
            let own = format!("cpu/cpu{cpu}");
            let first = package + core * 2;
            let siblings = format!("{first},{}", first + 4);
            let all = if package == 0 { "0,2,4,6" } else { "1,3,5,7" };
            write(dir, &format!("{own}/topology/package_cpus_list"), all);
            write(dir, &format!("{own}/topology/physical_package_id"), &package.to_string());
            write(dir, &format!("{own}/topology/core_cpus_list"), &siblings);
            write(dir, &format!("{own}/topology/core_id"), &core.to_string());
            for (index, level, kind, cpus) in [
                (0, 1, "Data", siblings.as_str()),
                (1, 1, "Instruction", &siblings),
                (2, 2, "Unified", &siblings),
                (3, 3, "Unified", all),
            ] {
                let cache = format!("{own}/cache/index{index}");
                write(dir, &format!("{cache}/level"), &level.to_string());
                write(dir, &format!("{cache}/type"), kind);
                write(dir, &format!("{cache}/size"), &format!("{}K", 32 << level));
                write(dir, &format!("{cache}/shared_cpu_list"), cpus);
            }
        }
        write(dir, "node/online", "0-3");
        write(dir, "node/node0/cpulist", "0,2,4,6");
        write(dir, "node/node1/cpulist", "1,3,5,7");
        write(dir, "node/node2/cpulist", "");
        write(dir, "node/node3/cpulist", "0,2,4,6");
        write(dir, "node/node0/meminfo", "Node 0 MemTotal:       1024 kB\nNode 0 MemFree: 5 kB");
    }

    fn shown(topology: &Topology, kind: ObjectKind) -> Vec<String> {
        topology.of_kind(kind).iter().map(|o| o.cpus.to_string()).collect()
    }

    #[test]
    fn cores_of_a_package_are_neighbours_whatever_the_system_calls_them() {
        let dir = tempfile::tempdir().unwrap();
        alternating(dir.path());
        let topology = read(dir.path(), (0..4).collect());
        assert_eq!(shown(&topology, ObjectKind::Package), ["0,2,4,6", "1,3,5,7"]);
        assert_eq!(shown(&topology, ObjectKind::Core), ["0,4", "2,6", "1,5", "3,7"]);
        assert_eq!(shown(&topology, ObjectKind::HwThread), ["0", "4", "2", "6", "1", "5", "3", "7"]);
        assert_eq!(shown(&topology, ObjectKind::L3Cache), ["0,2,4,6", "1,3,5,7"]);
        assert_eq!(shown(&topology, ObjectKind::L1Cache).len(), 4);
        assert_eq!(topology.allowed.to_string(), "0-3");
    }

    #[test]
    fn memory_without_processors_or_beside_others_is_no_domain_for_processes() {
        let dir = tempfile::tempdir().unwrap();
        alternating(dir.path());
        let topology = read(dir.path(), (0..8).collect());
        assert_eq!(shown(&topology, ObjectKind::Numa), ["0,2,4,6", "1,3,5,7"]);
        let sizes = |kind| topology.of_kind(kind).iter().map(|o| o.bytes >> 10).collect::<Vec<_>>();
        assert_eq!(sizes(ObjectKind::Numa), [1024, 0]);
        assert_eq!(sizes(ObjectKind::L3Cache), [256, 256]);
        assert_eq!(sizes(ObjectKind::L1Cache), [64; 4]);
    }

    #[test]
    fn processors_that_number_their_caches_differently_are_searched() {
        let dir = tempfile::tempdir().unwrap();
        alternating(dir.path());
        // Processor 2 has its cache of the second level first, and the one for instructions before the one for data.
        for (index, level, kind) in [(0, 2, "Unified"), (1, 1, "Instruction"), (2, 1, "Data")] {
            let cache = format!("cpu/cpu2/cache/index{index}");
            write(dir.path(), &format!("{cache}/level"), &level.to_string());
            write(dir.path(), &format!("{cache}/type"), kind);
            write(dir.path(), &format!("{cache}/id"), &(70 + index).to_string());
        }
        let topology = read(dir.path(), (0..8).collect());
        let of_two = |kind| topology.of_kind(kind).iter().find(|o| o.cpus.contains(2)).map(|o| o.os_index);
        assert_eq!((of_two(ObjectKind::L2Cache), of_two(ObjectKind::L1Cache)), (Some(70), Some(72)));
    }

    #[test]
    fn a_machine_that_says_nothing_is_one_package_of_cores() {
        let dir = tempfile::tempdir().unwrap();
        let topology = read(dir.path(), (0..2).collect());
        assert_eq!(shown(&topology, ObjectKind::Package), ["0-1"]);
        assert_eq!(shown(&topology, ObjectKind::Numa), ["0-1"]);
        assert_eq!(shown(&topology, ObjectKind::Core), ["0", "1"]);
        assert_eq!(topology.of_kind(ObjectKind::L3Cache), []);
        assert_eq!(topology.usable_cores(), 2);
    }

    /// Run by hand: `cargo test --release -p ferrite-driver --lib -- --ignored --nocapture discovery`.
    #[test]
    #[ignore = "a measurement: cargo test --release -p ferrite-driver --lib -- --ignored --nocapture discovery"]
    fn cost_of_discovery() {
        let median = |what: &str, once: &dyn Fn()| {
            let time = |_| {
                let start = std::time::Instant::now();
                once();
                start.elapsed()
            };
            let mut times: Vec<_> = (0..301).map(time).collect();
            times.sort_unstable();
            println!("{what}: median {:?}, largest {:?}", times[150], times[300]);
        };
        let online: CpuSet = own_affinity().unwrap();
        median("everything", &|| drop(discover().unwrap()));
        median("processors and memory", &|| drop(read(Path::new(SYSTEM), online.clone())));
        median("devices", &|| drop(Places::of_this_machine().devices(&online)));
        median("sizes", &|| {
            for level in 1..=3 {
                let _ = kilobytes(Path::new(&format!("{SYSTEM}/cpu/cpu0/cache/index{level}/size")));
            }
            memory(Path::new("/sys/devices/system/node/node0"));
        });
    }

    #[test]
    fn this_machine_has_what_every_machine_has() {
        let start = std::time::Instant::now();
        let topology = discover().unwrap();
        println!("{:?}: {topology:?}", start.elapsed());
        assert!(topology.usable_cores() > 0);
        assert!(!topology.of_kind(ObjectKind::Package).is_empty());
        let threads: CpuSet = topology.of_kind(ObjectKind::HwThread).iter().flat_map(|t| t.cpus.iter()).collect();
        assert_eq!(topology.allowed.intersection(&threads), topology.allowed);
    }
}
