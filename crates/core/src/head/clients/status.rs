//! The status of the DVM and of all jobs, put together from what the wings know of their own.

use ferrite_types::{JobId, Timestamp};
use ferrite_wire::control::{DvmStatus, JobDetail, JobStatus};

use crate::head::Head;

impl Head {
    pub(super) fn status(&self, now: Timestamp) -> DvmStatus {
        let jobs = self.jobs.counts();
        DvmStatus {
            dvm: self.config.dvm.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            now_us: now.0,
            state: self.dvm.state(),
            waiting_for: self.dvm_waits_for(now),
            nodes: self.pool.size_inside(),
            daemons: self.pool.size(),
            slots: self.pool.slots(),
            slots_in_use: self.pool.used_slots(),
            jobs_running: jobs.running as u32,
            jobs_queued: jobs.queued as u32,
            jobs_held: jobs.held as u32,
            campaigns: self.campaign_statuses(),
            jobs_ended: self.clients.history.ended,
            jobs_failed: self.clients.history.failed,
            procs_running: jobs.procs as u32,
            resources: self.jobs.shared_resources(),
        }
    }

    /// The details of a job, over or not.
    pub(super) fn known_detail(&self, id: JobId) -> Option<JobDetail> {
        self.job_detail(id).or_else(|| self.clients.history.find(id).cloned())
    }

    pub(super) fn job_statuses(&self) -> Vec<JobStatus> {
        let over = self.clients.history.jobs().map(|job| job.status.clone());
        self.all_job_statuses().chain(over).collect()
    }
}
