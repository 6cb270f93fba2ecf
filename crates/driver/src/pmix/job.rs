//! The description of a job for the library, from its launch order. Only [`super::PmixBridge`] uses it.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use ferrite_core::Registration;
use ferrite_pmix::{AppInfo, DETAILS_UP_TO, Info, JobInfo, LocalProc, NodeInfo, Proc, RemoteProc, Stop, Value};
use ferrite_pmix_sys as sys;
use ferrite_types::{AppContext, Device, EnvOp, JobMap, Placement, StopPoint, Topology};
use ferrite_wire::LaunchOrder;

use super::locality;

/// The machine of this daemon, as its processes may ask for it.
pub(super) struct Machine {
    pub(super) topology: Topology,
    /// All of its memory, in bytes; `None` when the system does not say.
    pub(super) memory: Option<u64>,
    /// True when the domains of host names are part of the names (`prte_keep_fqdn_hostnames`).
    pub(super) keep_fqdn: bool,
    /// True when variables of this daemon say how its processes find the topology.
    pub(super) own_topology: bool,
}

/// Returns the size of this machine's memory, in bytes.
pub(super) fn physical_memory() -> Option<u64> {
    let system = rustix::system::sysinfo();
    system.totalram.checked_mul(system.mem_unit.into()).filter(|bytes| *bytes > 0)
}

/// True when a variable of these says how hwloc or an MPI library finds the topology: the processes then look
/// themselves, because they would not read it otherwise (spec L164).
pub(super) fn names_a_topology(names: impl IntoIterator<Item = impl AsRef<str>>) -> bool {
    let says_how =
        |name: &str| (name.starts_with("HWLOC_") && name != "HWLOC_HIDE_ERRORS") || name.ends_with("_topo_file");
    names.into_iter().any(|name| says_how(name.as_ref()))
}

/// True when the processes of the job find the topology themselves.
pub(super) fn finds_topology(registration: &Registration, machine: &Machine) -> bool {
    let ops = registration.order.spec.apps.iter().flat_map(|app| &app.env);
    machine.own_topology
        || names_a_topology(ops.map(|op| match op {
            EnvOp::Set(name, _) | EnvOp::Unset(name) | EnvOp::Append(name, ..) | EnvOp::Prepend(name, ..) => name,
        }))
}

/// Describes the job as this node's server presents it; `session_dir` contains the directory of the job.
pub(super) fn job_info(registration: &Registration, session_dir: &Path, machine: &Machine) -> JobInfo {
    let order = &registration.order;
    let map = &order.map;
    let nspace = order.job.nspace(&registration.dvm);
    let nsdir = session_dir.join(order.job.to_string());
    let size = map.procs.len() as u32;
    let policy = map.policy(0).cloned().unwrap_or_default();
    JobInfo {
        session_id: order.session.0,
        job_id: nspace.clone(),
        nspace,
        universe_size: order.univ_size,
        rank_offset: order.rank_offset,
        size,
        max_procs: order.univ_size.max(size),
        map_by: policy.map_by,
        rank_by: policy.rank_by,
        bind_to: policy.bind_to,
        tmpdir: session_dir.to_owned(),
        nodes: nodes(map),
        local_node: map.nodes.iter().position(|n| n.daemon == registration.daemon),
        apps: apps(order),
        local: local(registration, &nsdir, &machine.topology),
        remote: remote(registration),
        memory: machine.memory,
        keep_fqdn: machine.keep_fqdn,
        restarts: registration.order.spec.options.max_restarts > 0,
        oversubscribed: registration.oversubscribed,
        stop: stop(registration),
        nsdir,
        parent: order.parent.map(|parent| Proc::new(parent.job.nspace(&registration.dvm), parent.rank.0)),
        uid: rustix::process::getuid().as_raw(),
        gid: rustix::process::getgid().as_raw(),
        own_topology: finds_topology(registration, machine),
        topology: None,
        extra: target(registration),
    }
}

/// Returns the place where processes of this node wait for a debugger in the library or in their program.
fn stop(registration: &Registration) -> Option<Stop> {
    let order = &registration.order;
    let stop = order.spec.stop.as_ref()?;
    order.map.on_daemon(registration.daemon).find(|(rank, _)| stop.concerns(*rank))?;
    match stop.at {
        StopPoint::Exec => None,
        StopPoint::Init => Some(Stop::Init),
        StopPoint::App => Some(Stop::App(stop.breakpoint.clone())),
    }
}

/// Tells the daemons of a debugger their target, by the key of today and by the older one.
fn target(registration: &Registration) -> Vec<Info> {
    let beside = registration.order.spec.beside.as_ref();
    let Some((job, ranks)) = beside.and_then(|beside| beside.targets.first()) else { return Vec::new() };
    let rank = if let [rank] = ranks[..] { rank.0 } else { Proc::WILDCARD };
    let nspace = job.nspace(&registration.dvm);
    vec![
        Info::new(sys::PMIX_DEBUG_JOB, nspace.as_str()),
        Info::new(sys::PMIX_DEBUG_TARGET, Value::Proc(Proc::new(nspace, rank))),
    ]
}

fn nodes(map: &JobMap) -> Vec<NodeInfo> {
    let node = |n: &ferrite_types::JobNode| NodeInfo { hostname: n.name.clone(), node_id: n.id.0, ranks: Vec::new() };
    let mut nodes: Vec<NodeInfo> = map.nodes.iter().map(node).collect();
    for (rank, placement) in map.ranks() {
        if let Some(node) = nodes.get_mut(placement.node as usize) {
            extend(&mut node.ranks, rank.0);
        }
    }
    nodes
}

fn extend(ranges: &mut Vec<RangeInclusive<u32>>, rank: u32) {
    match ranges.last_mut() {
        Some(last) if *last.end() + 1 == rank => *last = *last.start()..=rank,
        _ => ranges.push(rank..=rank),
    }
}

fn apps(order: &LaunchOrder) -> Vec<AppInfo> {
    let app = |(number, app): (usize, &AppContext)| AppInfo {
        number: number as u32,
        size: 0,
        leader: 0,
        wdir: PathBuf::from(app.wdir.as_ref().unwrap_or(&app.submit_dir)),
        argv: app.argv.clone(),
        set: app.set.clone(),
    };
    let mut apps: Vec<AppInfo> = order.spec.apps.iter().enumerate().map(app).collect();
    for (rank, placement) in order.map.ranks() {
        if let Some(app) = apps.get_mut(usize::from(placement.app)) {
            if app.size == 0 {
                app.leader = rank.0;
            }
            app.size += 1;
        }
    }
    apps
}

/// Returns what the job map says of each process elsewhere, if the job is small enough that the library gets it.
fn remote(registration: &Registration) -> BTreeMap<u32, RemoteProc> {
    let map = &registration.order.map;
    if map.procs.len() > DETAILS_UP_TO as usize {
        return BTreeMap::new();
    }
    let is_here = |placement: &Placement| {
        map.nodes.get(placement.node as usize).is_some_and(|node| node.daemon == registration.daemon)
    };
    let elsewhere = map.ranks().filter(|(_, placement)| !is_here(placement));
    let told = elsewhere.map(|(rank, placement)| {
        let cpuset = placement.cpus.as_ref().map(locality::cpuset);
        (rank.0, RemoteProc { node_rank: placement.node_rank.0, cpuset })
    });
    told.collect()
}

fn local(registration: &Registration, nsdir: &Path, topology: &Topology) -> Vec<LocalProc> {
    let map = &registration.order.map;
    let here = map.nodes.iter().position(|n| n.daemon == registration.daemon);
    let mut seen_of_app = vec![0u32; registration.order.spec.apps.len()];
    let mut seen_on_package: BTreeMap<u32, u16> = BTreeMap::new();
    let mut found = Vec::new();
    for (rank, placement) in map.ranks() {
        let app_rank = match seen_of_app.get_mut(usize::from(placement.app)) {
            Some(seen) => std::mem::replace(seen, *seen + 1),
            None => rank.0,
        };
        if Some(placement.node as usize) == here {
            let cpus = placement.cpus.as_ref();
            let package = cpus.and_then(|cpus| locality::package(topology, cpus));
            let package_rank = package.map(|package| {
                let seen = seen_on_package.entry(package).or_default();
                std::mem::replace(seen, seen.saturating_add(1))
            });
            found.push(LocalProc {
                rank: rank.0,
                app: placement.app.into(),
                app_rank,
                local_rank: placement.local_rank.0,
                node_rank: placement.node_rank.0,
                proc_dir: nsdir.join(rank.to_string()),
                cpuset: cpus.map(locality::cpuset),
                locality: cpus.and_then(|cpus| locality::string(topology, cpus)),
                package_rank,
                devices: registration.devices.get(&rank).map(|devices| device_names(devices)),
            });
        }
    }
    found
}

/// Lists each device's unique name, or the system's name for a device without one.
fn device_names(devices: &[Device]) -> String {
    let names = devices.iter().map(|device| device.uuid.as_deref().unwrap_or(&device.name));
    names.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use ferrite_types::{DaemonRank, JobId, JobNode, JobSpec, LocalRank, NodeId, Placement, SessionId};

    use super::*;

    /// Ranks 0 and 1 of the first app on the first node, rank 2 of the second app on the second.
    pub(in crate::pmix) fn registration(daemon: u32, program: &str) -> Registration {
        let app = |argv: &str| AppContext { argv: vec![argv.to_owned()], ..AppContext::default() };
        let node = |i: u32| JobNode { id: NodeId(i), daemon: DaemonRank(i), name: format!("n{i}") };
        let place = |node, app, local| Placement {
            node,
            app,
            local_rank: LocalRank(local),
            node_rank: LocalRank(local),
            cpus: None,
            devices: Vec::new(),
        };
        let map = JobMap {
            nodes: vec![node(0), node(1)],
            procs: vec![place(0, 0, 0), place(0, 0, 1), place(1, 1, 0)],
            ..JobMap::default()
        };
        let order = LaunchOrder {
            job: JobId(1),
            parent: None,
            session: SessionId(5),
            spec: JobSpec::new(vec![app(program), app(program)]),
            map,
            env: Vec::new(),
            rank_offset: 10,
            univ_size: 4,
            exit_without_sync_ok: false,
            devices: None,
        };
        Registration {
            order: Arc::new(order),
            dvm: "dvm".to_owned(),
            daemon: DaemonRank(daemon),
            oversubscribed: false,
            devices: std::collections::BTreeMap::new(),
        }
    }

    #[test]
    fn a_job_is_described_from_where_the_daemon_stands() {
        let info = job_info(&registration(1, "a"), Path::new("/s"), &machine());
        assert_eq!((info.nspace.as_str(), info.session_id), ("dvm@1", 5));
        assert_eq!(info.rank_offset, 10);
        assert_eq!((info.size, info.universe_size, info.local_node), (3, 4, Some(1)));
        assert_eq!(info.nodes[0].ranks, [0..=1]);
        assert_eq!(info.apps[1].leader, 2);
        assert_eq!(info.local.len(), 1);
        assert_eq!((info.local[0].rank, info.local[0].app_rank), (2, 0));
        assert_eq!(info.local[0].proc_dir, Path::new("/s/1/2"));
    }

    fn machine() -> Machine {
        Machine { topology: Topology::uniform(1, 4, 1), memory: Some(1 << 30), keep_fqdn: false, own_topology: false }
    }

    #[test]
    fn a_user_who_says_how_the_topology_is_found_keeps_that() {
        let shared = |env: Vec<EnvOp>, own: bool| {
            let mut registration = registration(0, "a");
            let order = Arc::get_mut(&mut registration.order).expect("nobody else has it");
            order.spec.apps.last_mut().expect("an app").env = env;
            !job_info(&registration, Path::new("/s"), &Machine { own_topology: own, ..machine() }).own_topology
        };
        let set = |name: &str| vec![EnvOp::Set(name.to_owned(), "x".to_owned())];
        assert!(shared(Vec::new(), false));
        assert!(shared(set("HWLOC_HIDE_ERRORS"), false), "that only silences hwloc");
        assert!(!shared(set("HWLOC_XMLFILE"), false));
        assert!(!shared(set("OMPI_MCA_hwloc_base_topo_file"), false));
        assert!(!shared(Vec::new(), true), "the daemon's own variables say so");
    }

    /// The same job with ranks 0 and 2 bound to core 1 of their nodes.
    fn bound(daemon: u32) -> Registration {
        let mut registration = registration(daemon, "a");
        let order = Arc::get_mut(&mut registration.order).expect("nobody else has it");
        for rank in [0, 2] {
            order.map.procs[rank].cpus = Some([1].into_iter().collect());
            order.map.procs[rank].node_rank = LocalRank(7);
        }
        registration
    }

    #[test]
    fn a_bound_process_is_told_where_it_is_among_its_neighbours() {
        let info = job_info(&bound(0), Path::new("/s"), &machine());
        let first = &info.local[0];
        assert_eq!(first.cpuset.as_deref(), Some("hwloc:1"));
        assert_eq!((first.locality.as_deref(), first.package_rank), (Some("SK0:CR1:HT1:NM0"), Some(0)));
        assert_eq!((&info.local[1].locality, info.local[1].package_rank), (&None, None), "it is not bound");
        let expected = RemoteProc { node_rank: 7, cpuset: Some("hwloc:1".to_owned()) };
        assert_eq!(info.remote, [(2, expected)].into());
        assert_eq!((info.memory, info.keep_fqdn), (Some(1 << 30), false));
    }
}
