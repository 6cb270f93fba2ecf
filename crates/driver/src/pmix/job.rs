//! The description of a job for the library, from its launch order. Pure; only [`super::PmixBridge`] uses it.

use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use ferrite_core::Registration;
use ferrite_pmix::{AppInfo, JobInfo, LocalProc, NodeInfo, Proc};
use ferrite_types::{AppContext, CpuSet, Device, JobMap};
use ferrite_wire::LaunchOrder;

/// Describes the job as this node's server presents it; `session_dir` contains the directory of the job.
pub(super) fn job_info(registration: &Registration, session_dir: &Path) -> JobInfo {
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
        size,
        max_procs: order.univ_size.max(size),
        map_by: policy.map_by,
        rank_by: policy.rank_by,
        bind_to: policy.bind_to,
        tmpdir: session_dir.to_owned(),
        nodes: nodes(map),
        local_node: map.nodes.iter().position(|n| n.daemon == registration.daemon),
        apps: apps(order),
        local: local(registration, &nsdir),
        oversubscribed: registration.oversubscribed,
        nsdir,
        parent: order.parent.map(|parent| Proc::new(parent.job.nspace(&registration.dvm), parent.rank.0)),
        uid: rustix::process::getuid().as_raw(),
        gid: rustix::process::getgid().as_raw(),
        ..JobInfo::default()
    }
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

fn local(registration: &Registration, nsdir: &Path) -> Vec<LocalProc> {
    let map = &registration.order.map;
    let here = map.nodes.iter().position(|n| n.daemon == registration.daemon);
    let mut seen_of_app = vec![0u32; registration.order.spec.apps.len()];
    let mut found = Vec::new();
    for (rank, placement) in map.ranks() {
        let app_rank = match seen_of_app.get_mut(usize::from(placement.app)) {
            Some(seen) => std::mem::replace(seen, *seen + 1),
            None => rank.0,
        };
        if Some(placement.node as usize) == here {
            found.push(LocalProc {
                rank: rank.0,
                app: placement.app.into(),
                app_rank,
                local_rank: placement.local_rank.0,
                node_rank: placement.node_rank.0,
                reincarnation: 0,
                proc_dir: nsdir.join(rank.to_string()),
                cpuset: placement.cpus.as_ref().map(hwloc_text),
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

/// Formats a set of processors in hwloc's notation: words of 32 bits, the highest first.
fn hwloc_text(cpus: &CpuSet) -> String {
    let mut words = vec![0u32];
    for cpu in cpus.iter() {
        let word = cpu as usize / 32;
        if words.len() <= word {
            words.resize(word + 1, 0);
        }
        words[word] |= 1 << (cpu % 32);
    }
    let mut text = String::from("hwloc:");
    for (at, word) in words.iter().rev().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(text, "{comma}0x{word:08x}");
    }
    text
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
        let info = job_info(&registration(1, "a"), Path::new("/s"));
        assert_eq!((info.nspace.as_str(), info.session_id), ("dvm@1", 5));
        assert_eq!((info.size, info.universe_size, info.local_node), (3, 4, Some(1)));
        assert_eq!(info.nodes[0].ranks, [0..=1]);
        assert_eq!(info.apps[1].leader, 2);
        assert_eq!(info.local.len(), 1);
        assert_eq!((info.local[0].rank, info.local[0].app_rank), (2, 0));
        assert_eq!(info.local[0].proc_dir, Path::new("/s/1/2"));
    }

    #[test]
    fn processors_are_written_as_hwloc_reads_them() {
        assert_eq!(hwloc_text(&[0, 1].into_iter().collect()), "hwloc:0x00000003");
        assert_eq!(hwloc_text(&[1, 32].into_iter().collect()), "hwloc:0x00000001,0x00000002");
    }
}
