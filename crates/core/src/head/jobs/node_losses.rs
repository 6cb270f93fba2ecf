//! Processes whose nodes are gone: because the daemon there was lost, or because the nodes have left the DVM.

use std::collections::BTreeMap;

use ferrite_types::{DaemonRank, JobId, JobState, ProcId, ProcState, Rank, RankSet};
use ferrite_wire::ProcFailure;

use super::failure_policy::Failure;
use super::notices;
use super::record::Job;
use super::registry::Jobs;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::dvm::Loss;
use crate::pmix_status::PMIX_ERR_LOST_CONNECTION;

impl Jobs {
    /// Sends no more input to daemons that leave, so that they hold up no other.
    pub(in crate::head) fn stop_input_to(&mut self, daemons: &RankSet) {
        for launch in self.known.values_mut().filter_map(Job::launch_mut) {
            daemons.iter().for_each(|rank| launch.stdin.forget(rank));
        }
    }

    /// Jobs that any of these daemons knows: because it runs them, or because its processes may meet theirs.
    fn known_at(&self, daemons: &RankSet) -> Vec<JobId> {
        let hit = self
            .iter()
            .filter(|job| job.launch().is_some_and(|launch| daemons.iter().any(|rank| launch.known_at.contains(rank))));
        hit.map(|job| job.id).collect()
    }
}

impl Head {
    /// Ends the processes on dead daemons. True when a job had any there.
    pub(in crate::head) fn lose_procs_on(&mut self, dead: &BTreeMap<DaemonRank, Loss>, cx: &mut Cx) -> bool {
        let ids = self.jobs.ids();
        ids.into_iter().filter(|id| self.lose_procs(*id, dead, cx)).count() > 0
    }

    /// Ends the processes of a job on dead daemons (spec L32). True when it had any.
    fn lose_procs(&mut self, id: JobId, dead: &BTreeMap<DaemonRank, Loss>, cx: &mut Cx) -> bool {
        // A job on map hold has no processes there yet; it is mapped again when it is released.
        let job = self.jobs.at_mut(id);
        if job.hold().is_some() {
            return false;
        }
        let survived = job.survives_losses();
        let loss_of = |rank: Rank| job.map().daemon_of(rank).and_then(|daemon| dead.get(&daemon));
        let gone: Vec<Rank> = job.living().filter(|rank| loss_of(*rank).is_some()).collect();
        let first = gone.first().and_then(|rank| loss_of(*rank));
        if let Some(launch) = job.launch_mut() {
            for rank in &gone {
                launch.on_ended(*rank, ProcState::CommFailed);
            }
            dead.keys().for_each(|rank| launch.stdin.forget(*rank));
        }
        let failed: Vec<ProcFailure> = gone.iter().map(|rank| unobserved(*rank, ProcState::CommFailed)).collect();
        job.lost.extend(gone);
        let hit = first.is_some();
        if let Some(Loss { node, cause }) = first {
            let text = notices::daemon_lost(id, node, cause, failed.len());
            self.on_failure(id, Failure { state: JobState::CommFailed, code: 1, text }, survived, cx);
            self.refuse_spawn(id, PMIX_ERR_LOST_CONNECTION, cx);
            failed.iter().for_each(|end| self.tell_of_end(ProcId { job: id, rank: end.rank }, true, None, cx));
            failed.iter().for_each(|end| self.pmix.purge_failed(ProcId { job: id, rank: end.rank }, cx));
            self.tell_survivors(id, failed, cx);
        }
        // A job that goes on does not wait for the dead daemons' init calls, nor for their knowledge of the job.
        for rank in dead.keys() {
            self.lose_stacks(*rank, cx);
            self.on_registered(*rank, id, cx);
            self.on_ready_for_debug(*rank, id, cx);
            self.on_local_launch(*rank, id, Vec::new(), Vec::new(), cx);
        }
        if self.jobs.at(id).is_mapped() {
            self.free_slots_on(id, |daemon| dead.contains_key(&daemon));
        }
        self.check_terminated(id, cx);
        hit
    }

    /// Ends the processes on daemons that have departed.
    pub(in crate::head) fn end_procs_on(&mut self, gone: &RankSet, cx: &mut Cx) {
        for job in self.jobs.known_at(gone) {
            self.end_procs(job, gone, cx);
        }
    }

    /// Records the end of processes that went without an exit status.
    fn end_procs(&mut self, id: JobId, gone: &RankSet, cx: &mut Cx) {
        let job = self.jobs.at_mut(id);
        let survives = job.survives_losses();
        let there = |rank: &Rank| job.map().daemon_of(*rank).is_some_and(|daemon| gone.contains(daemon));
        let silent: Vec<Rank> = job.living().filter(there).collect();
        let launch = job.launch_mut().expect("daemons know only jobs that are launched");
        for rank in &silent {
            launch.on_ended(*rank, ProcState::KilledByCmd);
        }
        self.take_procs(id, &silent, survives, cx);
        silent.iter().for_each(|rank| self.tell_of_end(ProcId { job: id, rank: *rank }, true, None, cx));
        self.tell_survivors(id, silent.into_iter().map(|rank| unobserved(rank, ProcState::KilledByCmd)).collect(), cx);
        // Departed daemons report neither their started processes nor their knowledge of the job.
        gone.iter().for_each(|rank| self.on_local_launch(rank, id, Vec::new(), Vec::new(), cx));
        gone.iter().for_each(|rank| self.on_registered(rank, id, cx));
        gone.iter().for_each(|rank| self.on_ready_for_debug(rank, id, cx));
        gone.iter().for_each(|rank| self.lose_stacks(rank, cx));
        self.free_slots_on(id, |daemon| gone.contains(daemon));
        self.check_terminated(id, cx);
    }
}

/// The failure of a process whose end nobody has observed.
fn unobserved(rank: Rank, state: ProcState) -> ProcFailure {
    ProcFailure { rank, state, code: None, without_finalize: false }
}
