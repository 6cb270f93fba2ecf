//! The description of a job for the library, and the infos that express it in PMIx. Pure: the library is needed only to
//! compress two lists, and the caller passes that function in.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use ferrite_pmix_sys as sys;
use serde::{Deserialize, Serialize};

use crate::{Info, Proc, Value};

/// A job as one node sees it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct JobInfo {
    /// The namespace.
    pub nspace: String,
    /// The PMIx session that the job runs in.
    pub session_id: u32,
    /// The scheduler's name of the job; the namespace when there is no scheduler.
    pub job_id: String,
    /// Number of processes that the session has room for.
    pub universe_size: u32,
    /// Number of processes in the job; ranks start at 0.
    pub size: u32,
    /// Number of processes that the job may grow to.
    pub max_procs: u32,
    /// Added to a rank to make it unique in the session.
    pub rank_offset: u32,
    /// The mapping policy in effect.
    pub map_by: String,
    /// The ranking policy in effect.
    pub rank_by: String,
    /// The binding policy in effect.
    pub bind_to: String,
    /// The session directory; must exist.
    #[serde(with = "crate::protocol::path")]
    pub tmpdir: PathBuf,
    /// The job's directory; must exist.
    #[serde(with = "crate::protocol::path")]
    pub nsdir: PathBuf,
    /// Every node that hosts processes of the job, in the order of the job map.
    pub nodes: Vec<NodeInfo>,
    /// This machine in `nodes`. `None` when it hosts no process of the job.
    pub local_node: Option<usize>,
    /// Every application of the job.
    pub apps: Vec<AppInfo>,
    /// True when failed processes of the job are started again.
    pub restarts: bool,
    /// The processes on this machine.
    pub local: Vec<LocalProc>,
    /// Data of processes elsewhere beside their place, by rank; not asked for above [`DETAILS_UP_TO`].
    pub remote: BTreeMap<u32, RemoteProc>,
    /// The place where processes of this node wait for a debugger.
    pub stop: Option<Stop>,
    /// All memory of this machine, in bytes.
    pub memory: Option<u64>,
    /// True when the domains of host names are part of the names.
    pub keep_fqdn: bool,
    /// True when the node has fewer processors than processes: Open MPI 5 then yields the processor while it waits.
    pub oversubscribed: bool,
    /// The process that spawned the job by PMIx_Spawn.
    pub parent: Option<Proc>,
    /// The user that the processes run as.
    pub uid: u32,
    /// The group that the processes run as.
    pub gid: u32,
    /// True when the processes are to find the machine's topology themselves, because their user says how.
    pub own_topology: bool,
    /// The machine's topology in the XML of hwloc 2, once `ferrite-pmixd` has it. The processes need not look then.
    pub topology: Option<String>,
    /// Further infos for the processes.
    pub extra: Vec<Info>,
}

/// A node of a job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeInfo {
    /// Its name; no comma in it.
    pub hostname: String,
    /// Its number in the DVM.
    pub node_id: u32,
    /// The ranks of the job that it hosts, ascending.
    pub ranks: Vec<RangeInclusive<u32>>,
}

impl NodeInfo {
    fn expand(&self) -> impl Iterator<Item = u32> {
        self.ranks.iter().cloned().flatten()
    }

    fn size(&self) -> u32 {
        self.ranks.iter().map(|r| r.end().saturating_sub(*r.start()) + 1).sum()
    }

    /// `0,1,2,3,7`: the library and its clients split at commas only, whatever its header says of ranges.
    fn rank_text(&self) -> String {
        self.expand().map(|rank| rank.to_string()).collect::<Vec<_>>().join(",")
    }
}

/// An application of a job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AppInfo {
    /// Its place on the command line, from zero.
    pub number: u32,
    /// Number of its processes.
    pub size: u32,
    /// Its lowest rank in the job.
    pub leader: u32,
    /// Its working directory.
    #[serde(with = "crate::protocol::path")]
    pub wdir: PathBuf,
    /// Its command.
    pub argv: Vec<String>,
    /// The process set that it brings along.
    pub set: Option<String>,
}

/// A process on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LocalProc {
    /// Its rank in the job.
    pub rank: u32,
    /// The number of its application.
    pub app: u32,
    /// Its rank in the application.
    pub app_rank: u32,
    /// Its rank among the job's processes on this machine.
    pub local_rank: u16,
    /// Its rank among all processes on this machine.
    pub node_rank: u16,
    /// Its directory; must exist.
    #[serde(with = "crate::protocol::path")]
    pub proc_dir: PathBuf,
    /// The processors that it is bound to, in the library's form (`hwloc:0-3`); `None` when it is unbound.
    pub cpuset: Option<String>,
    /// The objects of the machine that its binding touches (`SK0:CR0-1:HT0-1:NM0`); `None` when it is unbound.
    pub locality: Option<String>,
    /// Its rank among the job's processes on its package; `None` when it is not bound to one.
    pub package_rank: Option<u16>,
    /// The devices that it was mapped by, as unique or system names with commas between; `None` for another mapping.
    pub devices: Option<String>,
}

/// A process on another machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RemoteProc {
    /// Its rank among all processes on its machine.
    pub node_rank: u16,
    /// The processors that it is bound to, as in [`LocalProc::cpuset`].
    pub cpuset: Option<String>,
}

/// The library's compression of lists: the node names (comma between) and the ranks per node (semicolon between).
pub(crate) trait Compress {
    /// Compresses names such as `n0,n1,n2`.
    fn nodes(&self, list: &str) -> Value;
    /// Compresses ranks such as `0,1;2,3`.
    fn ranks(&self, list: &str) -> Value;
}

/// The place where processes wait for a debugger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stop {
    /// In `PMIx_Init`.
    Init,
    /// At the place of this name, where the program itself waits.
    App(Option<String>),
}

/// Each stop has all ranks as its value: a server of libpmix 4.2 takes any other value for one waiting process, and its
/// clients look only whether the key is there.
fn stop_infos(job: &JobInfo) -> Vec<Info> {
    let all = || Value::Rank(Proc::WILDCARD);
    match &job.stop {
        None => Vec::new(),
        Some(Stop::Init) => vec![Info::new(sys::PMIX_DEBUG_STOP_IN_INIT, all())],
        Some(Stop::App(name)) => {
            let name = name.as_ref().map(|name| Info::new(sys::PMIX_BREAKPOINT, Value::String(name.clone())));
            [Info::new(sys::PMIX_DEBUG_STOP_IN_APP, all())].into_iter().chain(name).collect()
        }
    }
}

/// Largest job size for which every process and node is described in full. In a larger job the two maps alone describe
/// processes elsewhere: their host names and peers, which MPI libraries query. Each full description costs the daemon
/// about 10 microseconds and 8 kB, whether or not it is queried.
pub const DETAILS_UP_TO: u32 = 256;

/// Smallest number of a job's processes on a node for which the node's topology is found, so that they need not look
/// themselves. It costs about four times what a process of Open MPI 5 saves, and a process of Open MPI 4.1 saves all of
/// it.
pub const SHARED_FROM: usize = 4;

/// Returns the infos for `PMIx_server_register_nspace`. The cost grows with the processes *here* and with the number of
/// nodes; the library derives the others from the two lists on demand.
pub(crate) fn describe(job: &JobInfo, compress: &dyn Compress) -> Vec<Info> {
    let mut infos = job_level(job, compress);
    // The key is present only when true: Open MPI 5.0.11 checks its presence and ignores its value.
    infos.extend(job.oversubscribed.then(|| Info::new(sys::PMIX_NODE_OVERSUBSCRIBED, true)));
    infos.extend(stop_infos(job));
    // The parent may be queried of the job as well as of a process.
    infos.extend(birth(job));
    infos.extend(job.apps.iter().map(|app| app_array(job, app)));
    infos.extend((job.size <= DETAILS_UP_TO).then(|| Info::new(sys::PMIX_NODE_LIST, node_names(job))));
    infos.extend(job.local.iter().map(|proc| local_array(job, proc)));
    if job.size <= DETAILS_UP_TO {
        infos.extend(job.nodes.iter().enumerate().map(|(at, node)| node_array(job, at, node)));
        let elsewhere = job.nodes.iter().enumerate().filter(|(at, _)| Some(*at) != job.local_node);
        infos.extend(elsewhere.flat_map(|(_, node)| remote_arrays(job, node)));
    } else {
        infos.extend(job.local_node.and_then(|at| Some(node_array(job, at, job.nodes.get(at)?))));
    }
    infos.extend(job.topology.as_deref().map(|xml| Info::new(sys::PMIX_HWLOC_XML_V2, xml)));
    infos.extend(job.extra.iter().cloned());
    infos
}

fn job_level(job: &JobInfo, compress: &dyn Compress) -> Vec<Info> {
    let ranks: Vec<_> = job.nodes.iter().map(NodeInfo::rank_text).collect();
    let local = job.local.iter().map(|proc| Proc::new(&job.nspace, proc.rank)).collect();
    vec![
        Info::new(sys::PMIX_SESSION_ID, job.session_id),
        Info::new(sys::PMIX_JOBID, job.job_id.as_str()),
        Info::new(sys::PMIX_NPROC_OFFSET, Value::Rank(job.rank_offset)),
        Info::new(sys::PMIX_NODE_MAP, compress.nodes(&node_names(job))),
        Info::new(sys::PMIX_PROC_MAP, compress.ranks(&ranks.join(";"))),
        Info::new(sys::PMIX_NUM_NODES, job.nodes.len() as u32),
        Info::new(sys::PMIX_UNIV_SIZE, job.universe_size),
        Info::new(sys::PMIX_JOB_SIZE, job.size),
        Info::new(sys::PMIX_JOB_NUM_APPS, job.apps.len() as u32),
        Info::new(sys::PMIX_MAX_PROCS, job.max_procs),
        Info::new(sys::PMIX_MAPBY, job.map_by.as_str()),
        Info::new(sys::PMIX_RANKBY, job.rank_by.as_str()),
        Info::new(sys::PMIX_BINDTO, job.bind_to.as_str()),
        Info::new(sys::PMIX_TMPDIR, path(&job.tmpdir)),
        Info::new(sys::PMIX_NSDIR, path(&job.nsdir)),
        Info::new(sys::PMIX_LOCAL_PROCS, Value::Procs(local)),
        Info::new(sys::PMIX_HOSTNAME_KEEP_FQDN, job.keep_fqdn),
    ]
}

/// `n0,n1,n2`.
fn node_names(job: &JobInfo) -> String {
    job.nodes.iter().map(|node| node.hostname.as_str()).collect::<Vec<_>>().join(",")
}

/// Returns the name of a node without its domain, by which programs may ask for it as well. An address has none.
fn alias(hostname: &str) -> Option<&str> {
    let is_address = hostname.parse::<core::net::IpAddr>().is_ok();
    hostname.split_once('.').map(|(name, _)| name).filter(|name| !is_address && !name.is_empty())
}

fn node_array(job: &JobInfo, at: usize, node: &NodeInfo) -> Info {
    let size = node.size();
    // Without the name first the library reads through a null pointer.
    let mut infos = vec![
        Info::new(sys::PMIX_HOSTNAME, node.hostname.as_str()),
        Info::new(sys::PMIX_NODEID, node.node_id),
        Info::new(sys::PMIX_NODE_SIZE, size),
        Info::new(sys::PMIX_LOCAL_SIZE, size),
        Info::new(sys::PMIX_LOCAL_PEERS, node.rank_text()),
    ];
    infos.extend(node.expand().next().map(|leader| Info::new(sys::PMIX_LOCALLDR, Value::Rank(leader))));
    infos.extend(alias(&node.hostname).map(|alias| Info::new(sys::PMIX_HOSTNAME_ALIASES, alias)));
    let memory = job.memory.filter(|_| Some(at) == job.local_node);
    infos.extend(memory.map(|bytes| Info::new(sys::PMIX_AVAIL_PHYS_MEMORY, bytes)));
    Info::new(sys::PMIX_NODE_INFO_ARRAY, infos)
}

fn app_array(job: &JobInfo, app: &AppInfo) -> Info {
    let mut infos = vec![
        Info::new(sys::PMIX_APPNUM, app.number),
        Info::new(sys::PMIX_APP_SIZE, app.size),
        Info::new(sys::PMIX_APPLDR, Value::Rank(app.leader)),
        Info::new(sys::PMIX_WDIR, path(&app.wdir)),
        Info::new(sys::PMIX_APP_ARGV, app.argv.join(" ")),
    ];
    if let Some(set) = &app.set {
        infos.push(Info::new(sys::PMIX_PSET_NAME, set.as_str()));
        // The members of a larger set are had by a query.
        if app.size <= DETAILS_UP_TO {
            let members = (app.leader..app.leader.saturating_add(app.size)).map(|rank| Proc::new(&job.nspace, rank));
            infos.push(Info::new(sys::PMIX_PSET_MEMBERS, Value::Procs(members.collect())));
        }
    }
    Info::new(sys::PMIX_APP_INFO_ARRAY, infos)
}

fn local_array(job: &JobInfo, proc: &LocalProc) -> Info {
    let node = job.local_node.and_then(|at| job.nodes.get(at));
    let mut infos = place(job, proc, node);
    infos.push(Info::new(sys::PMIX_PROCDIR, path(&proc.proc_dir)));
    if let Some(locality) = &proc.locality {
        infos.push(Info::new(sys::PMIX_LOCALITY_STRING, locality.as_str()));
    }
    infos.extend(proc.package_rank.map(|rank| Info::new(sys::PMIX_PACKAGE_RANK, rank)));
    if let Some(devices) = &proc.devices {
        infos.push(Info::new(sys::PMIX_DEVICE_ID, devices.as_str()));
    }
    infos.extend(birth(job));
    Info::new(sys::PMIX_PROC_DATA, infos)
}

/// Returns the infos about the parent of a spawned job.
fn birth(job: &JobInfo) -> impl Iterator<Item = Info> + '_ {
    let parent = job.parent.iter();
    parent.flat_map(|parent| [Info::new(sys::PMIX_SPAWNED, true), Info::new(sys::PMIX_PARENT_ID, parent.clone())])
}

/// Returns the infos of another node's processes. Their places follow from the maps, and an application's ranks are
/// contiguous.
fn remote_arrays<'a>(job: &'a JobInfo, node: &'a NodeInfo) -> impl Iterator<Item = Info> + 'a {
    node.expand().zip(0u16..).map(move |(rank, local_rank)| {
        let told = job.remote.get(&rank);
        let app = job.apps.iter().find(|app| rank.checked_sub(app.leader).is_some_and(|at| at < app.size));
        let proc = LocalProc {
            rank,
            app: app.map_or(0, |app| app.number),
            app_rank: app.map_or(rank, |app| rank - app.leader),
            local_rank,
            node_rank: told.map_or(local_rank, |told| told.node_rank),
            cpuset: told.and_then(|told| told.cpuset.clone()),
            ..LocalProc::default()
        };
        Info::new(sys::PMIX_PROC_DATA, place(job, &proc, Some(node)))
    })
}

/// Returns a process's place in the job and on the machines; the library needs the rank first.
fn place(job: &JobInfo, proc: &LocalProc, node: Option<&NodeInfo>) -> Vec<Info> {
    let mut infos = vec![
        Info::new(sys::PMIX_RANK, Value::Rank(proc.rank)),
        Info::new(sys::PMIX_GLOBAL_RANK, Value::Rank(job.rank_offset.saturating_add(proc.rank))),
        Info::new(sys::PMIX_APPNUM, proc.app),
        Info::new(sys::PMIX_APP_RANK, Value::Rank(proc.app_rank)),
        Info::new(sys::PMIX_LOCAL_RANK, proc.local_rank),
        Info::new(sys::PMIX_NODE_RANK, proc.node_rank),
    ];
    // The library cannot be told later of a restart: a variable of the process has the number then.
    infos.extend((!job.restarts).then(|| Info::new(sys::PMIX_REINCARNATION, 0u32)));
    let set = job.apps.iter().find(|app| app.number == proc.app).and_then(|app| app.set.clone());
    infos.extend(set.map(|set| Info::new(sys::PMIX_PSET_NAMES, Value::Strings(vec![set]))));
    infos.extend(proc.cpuset.as_deref().map(|cpuset| Info::new(sys::PMIX_CPUSET, cpuset)));
    if let Some(node) = node {
        infos.push(Info::new(sys::PMIX_NODEID, node.node_id));
        infos.push(Info::new(sys::PMIX_HOSTNAME, node.hostname.as_str()));
    }
    infos
}

fn path(path: &std::path::Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
