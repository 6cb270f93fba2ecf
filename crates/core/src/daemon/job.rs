//! The part of a job that runs on this node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferrite_types::resources::MEMORY;
use ferrite_types::{DaemonRank, Device, EnvOp, JobId, Placement, ProcId, Rank, StdinTarget, StopPoint};
use ferrite_wire::{HeadMessage, LaunchOrder, ProcEnd, StartError};

use super::Daemon;
use super::debug::Debug;
use super::iof::{OutputFiles, Window};
use super::kill::KillStep;
use super::pmi1::Pmi1Job;
use super::proc::{LocalProc, proc_id};
use crate::cx::Cx;
use crate::{Effect, PmixEffect, Registration, SpawnRequest};

/// A job with processes on this node.
#[derive(Debug)]
pub(super) struct LocalJob {
    pub(super) order: Arc<LaunchOrder>,
    pub(super) procs: BTreeMap<Rank, LocalProc>,
    /// Results of the launch that are not reported yet.
    pub(super) started: Vec<(Rank, u32)>,
    pub(super) failed: Vec<(Rank, StartError)>,
    pub(super) launch_reported: bool,
    pub(super) registered: bool,
    /// Ends of processes that are not reported yet.
    pub(super) ends: Vec<ProcEnd>,
    pub(super) kill: Option<KillStep>,
    /// Failed ranks, here or elsewhere, without which the job goes on.
    pub(super) failed_ranks: BTreeSet<Rank>,
    /// True after the end of the job's standard input.
    pub(super) stdin_ended: bool,
    /// Standard input that all local readers have taken and that is not credited yet (bytes).
    pub(super) stdin_uncredited: u64,
    pub(super) pmi1: Pmi1Job,
    pub(super) window: Window,
    pub(super) files: OutputFiles,
    pub(super) debug: Debug,
    /// Bytes of stacks that may still be sent, while they are taken.
    pub(super) stacks: Option<usize>,
}

impl LocalJob {
    /// Processes that have not ended.
    pub(super) fn living(&self) -> impl Iterator<Item = ProcId> + '_ {
        let id = self.order.job;
        self.procs.iter().filter(|(_, p)| !p.state.has_ended()).map(move |(rank, _)| proc_id(id, *rank))
    }

    /// True when all local processes have entered the PMI-1 barrier.
    pub(super) fn is_at_barrier(&self) -> bool {
        self.pmi1.at_barrier.len() == self.procs.len()
    }

    /// True for a job whose size may change.
    pub(super) fn is_elastic(&self) -> bool {
        self.order.spec.options.elastic.is_some()
    }

    /// True for a process that was reaped; its output may still come.
    pub(super) fn is_reaped(&self, rank: Rank) -> bool {
        self.procs.get(&rank).is_some_and(|local| local.exit.is_some())
    }

    pub(super) fn is_being_killed(&self) -> bool {
        self.kill.is_some()
    }
}

impl Daemon {
    /// Handles the launch order: starts the job's local processes, or records a job that has none here (spec L18).
    pub(super) fn on_launch(&mut self, order: Arc<LaunchOrder>, cx: &mut Cx) {
        let id = order.job;
        // The order to leave has overtaken this one: the head ends these processes with the node.
        if self.jobs.contains_key(&id) || self.is_leaving() {
            return;
        }
        let oversubscribed = self.is_oversubscribed(order.map.on_daemon(self.me).count());
        let registration = Registration {
            order: order.clone(),
            dvm: self.dvm.clone(),
            daemon: self.me,
            oversubscribed,
            devices: devices_of(&order, self.me, &self.local.topology.devices),
        };
        let registration = Arc::new(registration);
        cx.effect(Effect::Pmix(PmixEffect::Register(registration.clone())));
        self.define_sets_of(&order, cx);
        let local: Vec<(Rank, Placement)> = order.map.on_daemon(self.me).map(|(rank, p)| (rank, p.clone())).collect();
        let job = LocalJob {
            procs: local.iter().map(|(rank, _)| (*rank, LocalProc::new(reads_stdin(&order, *rank)))).collect(),
            order: order.clone(),
            started: Vec::new(),
            failed: Vec::new(),
            launch_reported: false,
            registered: false,
            ends: Vec::new(),
            kill: None,
            failed_ranks: BTreeSet::new(),
            stdin_ended: false,
            stdin_uncredited: 0,
            pmi1: Pmi1Job::default(),
            window: Window::shared_between(cx.tree.size(), self.jobs.len() + 1, self.output_limit),
            files: OutputFiles::default(),
            debug: Debug::default(),
            stacks: None,
        };
        self.jobs.insert(id, job);
        for (rank, _) in &local {
            let devices = registration.devices.get(rank).cloned().unwrap_or_default();
            self.spawn(proc_id(id, *rank), devices, oversubscribed, cx);
        }
        // A daemon without processes reports at once.
        self.report_launch(id, cx);
    }

    /// Starts a local process of a job.
    fn spawn(&self, proc: ProcId, devices: Vec<Device>, oversubscribed: bool, cx: &mut Cx) {
        let job = self.jobs.get(&proc.job).expect("only known jobs have processes here");
        let placement = &job.order.map.procs[proc.rank.0 as usize];
        let mut request = spawn_request(&job.order, proc.rank, placement, job.procs.len());
        request.devices = devices;
        request.env.insert(0, yield_env(oversubscribed));
        request.preloaded = self.preloads.contains_key(&proc.job);
        request.restarts = job.procs.get(&proc.rank).map_or(0, |local| local.restarts);
        request.env.extend(restart_env(request.restarts));
        cx.effect(Effect::Spawn { proc, request: Box::new(request) });
    }

    /// Starts a local process of a job again.
    pub(super) fn spawn_again(&self, proc: ProcId, cx: &mut Cx) {
        let order = self.jobs.get(&proc.job).map(|job| job.order.clone());
        let order = order.expect("only known jobs have processes here");
        let devices = devices_of(&order, self.me, &self.local.topology.devices).remove(&proc.rank);
        self.spawn(proc, devices.unwrap_or_default(), self.is_oversubscribed(0), cx);
    }

    /// True when processes share cores once `more` of them are started. Cores count and not slots: a process that
    /// spins while it waits takes the core from the process that it waits for.
    fn is_oversubscribed(&self, more: usize) -> bool {
        let living: usize = self.jobs.values().map(|job| job.living().count()).sum();
        living + more > self.local.topology.usable_cores()
    }

    /// Reports the launch to the head once every local process was attempted (spec L19).
    pub(super) fn report_launch(&mut self, id: JobId, cx: &mut Cx) {
        let job = self.job_mut(id);
        if job.launch_reported || job.started.len() + job.failed.len() < job.procs.len() {
            return;
        }
        job.launch_reported = true;
        let (started, failed) = (std::mem::take(&mut job.started), std::mem::take(&mut job.failed));
        cx.send_head(HeadMessage::LocalLaunchComplete { job: id, started, failed });
        self.report_ends(id, cx);
    }

    /// Forgets a job that is over everywhere.
    pub(super) fn on_forget(&mut self, id: JobId, cx: &mut Cx) {
        let had_files = self.preloads.remove(&id).is_some();
        let Some(job) = self.jobs.remove(&id) else {
            // The job was over before its launch.
            if had_files {
                cx.effect(Effect::CleanJob(id));
            }
            return;
        };
        job.files.close(cx);
        self.drop_collectives(id, cx);
        self.drop_modexes(id, cx);
        self.drop_questions(id, cx);
        self.drop_logs(id, cx);
        cx.effect(Effect::Pmix(PmixEffect::Deregister(id)));
        cx.effect(Effect::CleanJob(id));
    }
}

/// The devices of local processes that were mapped by devices: those that the daemon has found, unless a topology
/// file lists them.
fn devices_of(order: &LaunchOrder, daemon: DaemonRank, found: &[Device]) -> BTreeMap<Rank, Vec<Device>> {
    let all = order.devices.as_deref().unwrap_or(found);
    let own = |placement: &Placement| {
        let each = placement.devices.iter().filter_map(|at| all.get(usize::from(*at)).cloned());
        each.collect()
    };
    let here = order.map.on_daemon(daemon).filter(|(_, placement)| !placement.devices.is_empty());
    here.map(|(rank, placement)| (rank, own(placement))).collect()
}

pub(super) fn reads_stdin(order: &LaunchOrder, rank: Rank) -> bool {
    match order.spec.stdin {
        Some(StdinTarget::All) => true,
        Some(StdinTarget::Rank(target)) => target == rank,
        Some(StdinTarget::None) | None => false,
    }
}

fn spawn_request(order: &LaunchOrder, rank: Rank, placement: &Placement, local_size: usize) -> SpawnRequest {
    let app = &order.spec.apps[placement.app as usize];
    let mut env = order.env.clone();
    env.extend(identity_env(order, rank, placement, local_size));
    env.extend(app.env.iter().cloned());
    SpawnRequest {
        argv: app.argv.clone(),
        arg0: app.arg0.clone(),
        path: app.path.clone(),
        wdir_given: app.wdir.is_some(),
        wdir: app.directory(),
        env,
        agent: app.exec_agent.clone(),
        session_cwd: app.session_cwd,
        preloaded: false,
        memory: app.takes.get(MEMORY).copied(),
        devices: Vec::new(),
        cpus: placement.cpus.clone(),
        traceable: order.spec.options.stack_traces || order.spec.stop.is_some(),
        restarts: 0,
        stopped: order.spec.stop_of(rank) == Some(StopPoint::Exec),
        stdin: reads_stdin(order, rank),
        merge_stderr: order.spec.output.merge_stderr,
    }
}

/// The variable by which Open MPI 4 decides whether to yield the processor while it waits; Open MPI 5 finds the same
/// fact in libpmix's data of the job. It is set first, so that the user's environment and `mpi_yield_when_idle`
/// override it.
fn yield_env(oversubscribed: bool) -> EnvOp {
    EnvOp::Set("OMPI_MCA_mpi_oversubscribe".to_owned(), u8::from(oversubscribed).to_string())
}

/// The variables by which a process that was started again knows how often: the field's name, and libpmix's key as a
/// variable for programs that do not call libpmix (spec L81).
fn restart_env(restarts: u32) -> impl Iterator<Item = EnvOp> {
    let names = ["OMPI_MCA_orte_num_restarts", "PMIX_REINCARNATION"];
    let of = move |name: &str| EnvOp::Set(name.to_owned(), restarts.to_string());
    names.into_iter().filter(move |_| restarts > 0).map(of)
}

/// The variables that tell scripts around MPI programs their rank and job, under Open MPI's names.
fn identity_env(order: &LaunchOrder, rank: Rank, placement: &Placement, local_size: usize) -> Vec<EnvOp> {
    [
        ("OMPI_COMM_WORLD_RANK", rank.0.to_string()),
        ("OMPI_COMM_WORLD_SIZE", order.map.procs.len().to_string()),
        ("OMPI_COMM_WORLD_LOCAL_RANK", placement.local_rank.0.to_string()),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", local_size.to_string()),
        ("OMPI_COMM_WORLD_NODE_RANK", placement.node_rank.0.to_string()),
        ("OMPI_UNIVERSE_SIZE", order.univ_size.to_string()),
    ]
    .map(|(name, value)| EnvOp::Set(name.to_owned(), value))
    .to_vec()
}

#[cfg(test)]
mod tests {
    use ferrite_types::{
        AppContext, CpuSet, DeviceKind, DeviceVendor, JobMap, JobNode, JobSpec, LocalRank, NodeId, SessionId,
    };

    use super::*;

    fn device(name: &str) -> Device {
        let (kind, vendor) = (DeviceKind::Gpu, DeviceVendor::Nvidia);
        Device { kind, name: name.to_owned(), vendor, index: 0, uuid: None, cpus: CpuSet::new() }
    }

    #[test]
    fn the_wishes_of_a_program_about_its_start_reach_its_processes() {
        let agent = vec!["nice".to_owned()];
        let wishes = AppContext { exec_agent: Some(agent.clone()), session_cwd: true, ..AppContext::default() };
        let place = |app| Placement {
            node: 0,
            app,
            local_rank: LocalRank(0),
            node_rank: LocalRank(0),
            cpus: None,
            devices: Vec::new(),
        };
        let order = LaunchOrder {
            job: JobId(1),
            parent: None,
            session: SessionId(0),
            spec: JobSpec::new(vec![wishes, AppContext::default()]),
            map: JobMap { procs: vec![place(0), place(1)], ..JobMap::default() },
            env: Vec::new(),
            rank_offset: 0,
            univ_size: 2,
            exit_without_sync_ok: false,
            devices: None,
        };
        let of = |rank: u32| {
            let request = spawn_request(&order, Rank(rank), &order.map.procs[rank as usize], 2);
            (request.agent, request.session_cwd)
        };
        assert_eq!(of(0), (Some(agent), true));
        assert_eq!(of(1), (None, false));
    }

    #[test]
    fn a_daemon_takes_devices_from_its_own_machine_or_from_the_file_of_the_order() {
        let node = |i: u32| JobNode { id: NodeId(i), daemon: DaemonRank(i), name: format!("n{i}") };
        let place = |node, devices: &[u16]| Placement {
            node,
            app: 0,
            local_rank: LocalRank(0),
            node_rank: LocalRank(0),
            cpus: None,
            devices: devices.to_vec(),
        };
        let procs = vec![place(0, &[0]), place(1, &[1, 0]), place(1, &[])];
        let mut order = LaunchOrder {
            job: JobId(1),
            parent: None,
            session: SessionId(0),
            spec: JobSpec::new(Vec::new()),
            map: JobMap { nodes: vec![node(0), node(1)], procs, ..JobMap::default() },
            env: Vec::new(),
            rank_offset: 0,
            univ_size: 3,
            exit_without_sync_ok: false,
            devices: None,
        };
        let found = [device("a"), device("b")];
        let named = |order: &LaunchOrder| {
            let all = devices_of(order, DaemonRank(1), &found).into_iter();
            all.map(|(rank, list)| (rank.0, list.into_iter().map(|d| d.name).collect::<String>())).collect::<Vec<_>>()
        };
        assert_eq!(named(&order), [(1, "ba".to_owned())]);
        order.devices = Some(vec![device("x"), device("y")]);
        assert_eq!(named(&order), [(1, "yx".to_owned())]);
    }
}
