//! Details of a job beyond its status line, as `pdvm job` shows them (docs/spec/sessions.md).

use std::collections::BTreeSet;

use ferrite_types::{AppContext, DaemonRank, NodeId, RankSet};
use ferrite_wire::control::{AppRecord, JobRecord};

use super::record::Job;
use crate::head::Head;

impl Head {
    pub(super) fn job_record(&self, job: &Job) -> JobRecord {
        let hosts = job.map().daemons();
        let silent = |waits_for: &RankSet| hosts.iter().filter(|daemon| waits_for.contains(*daemon)).count() as u32;
        let on = |is_meant: &dyn Fn(DaemonRank) -> bool| {
            job.map().ranks().filter(|(rank, _)| job.map().daemon_of(*rank).is_some_and(is_meant)).count() as u32
        };
        let mut apps = app_records(&job.spec.apps);
        job.map().ranks().for_each(|(_, place)| apps[usize::from(place.app)].procs += 1);
        let daemons = hosts.iter().count() as u32;
        let launch = job.launch();
        JobRecord {
            session: job.session,
            personality: if job.personality.is_empty() { "prte".to_owned() } else { job.personality.clone() },
            launcher: job.launcher.clone(),
            parent: job.birth.parent(),
            children: self.jobs.children(job.id).collect(),
            apps,
            session_dir: format!("{}/{}", self.config.session_dir, job.id),
            sets: self.sets_of(job.id),
            stdin: job.spec.stdin,
            elastic: job.spec.options.elastic.map(|range| (range, self.jobs.places_of_tree(job.root).len() as u32)),
            changes: job.spec.options.elastic.map(|_| self.size_steps(job.root)).unwrap_or_default(),
            slots: self.slots_for(job),
            bookmark: job.bookmark().map(|node| self.pool.record(node).name.clone()).unwrap_or_default(),
            daemons,
            daemons_reported: launch.map_or(0, |launch| daemons - silent(&launch.launching)),
            mapped: job.size() as u32,
            local: on(&|daemon| daemon == DaemonRank::HEAD),
            launched: job.procs().filter(|(_, proc)| proc.pid.is_some()).count() as u32,
            registered: launch.map_or(0, |launch| on(&|daemon| !launch.registering.contains(daemon))),
            ready_for_debug: launch.map_or(0, |launch| job.count_ready(launch)),
            terminated: job.ended() as u32,
            traces: job.stacks_taken,
            restarts: job.all_restarts(),
        }
    }

    /// Slots of the nodes that a job may use: the nodes of its session, limited to its hosts.
    fn slots_for(&self, job: &Job) -> u32 {
        let spec = self.spec_of(job);
        let names_none = spec.apps.iter().all(|app| app.hosts.is_empty() && !spec.map_of(app).lists_hosts());
        if names_none {
            let some = || self.usable_by(job.session).map(|node| node.slots).sum();
            return if self.may_use_all(job.session) { self.pool.slots() } else { some() };
        }
        let pool = self.pool_of(job.session);
        let nodes = pool.as_deref().unwrap_or(self.pool.records());
        let shares = self.shares_among(&spec, nodes).unwrap_or_default();
        let mut counted = BTreeSet::new();
        let of_each = shares.iter().flatten().filter(|share| counted.insert(share.node)).map(|share| {
            let node = &nodes[share.node.0 as usize];
            let slots = if node.daemon.is_some() { node.slots } else { 0 };
            share.cap.map_or(slots, |cap| cap.min(slots))
        });
        of_each.sum()
    }
}

/// The room for the arguments of all programs in the record of a job (bytes): the history keeps a thousand records.
const ROOM_FOR_ARGUMENTS: usize = 8 << 10;

/// The programs of a job, before it is mapped. Each one is named, and its arguments are kept while there is room.
fn app_records(apps: &[AppContext]) -> Vec<AppRecord> {
    let mut room = ROOM_FOR_ARGUMENTS;
    let record = |app: &AppContext| {
        let mut fits = |argument: &&String| {
            let rest = room.checked_sub(argument.len() + 1);
            room = rest.unwrap_or(0);
            rest.is_some()
        };
        let kept = app.argv.iter().skip(1).take_while(|argument| fits(argument)).count();
        AppRecord {
            argv: app.argv[..=kept].to_vec(),
            left_out: (app.argv.len() - 1 - kept) as u32,
            procs: 0,
            wdir: (!app.session_cwd).then(|| app.directory()),
        }
    };
    apps.iter().map(record).collect()
}

impl Job {
    /// The node of the last process that was mapped.
    pub(super) fn bookmark(&self) -> Option<NodeId> {
        self.map().procs.last().map(|place| self.map().nodes[place.node as usize].id)
    }
}
