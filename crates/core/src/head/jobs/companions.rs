//! Companion jobs: the daemons of a debugger, or other processes that run beside those of a target job. They use no
//! slots and do not wait for any; they may use the nodes of their target in whatever session. Neither job ends with the
//! other: the companions hear that the target is over, and end by themselves.

use ferrite_map::place_beside;
use ferrite_types::{Beside, JobId, JobMap, SessionId};
use ferrite_wire::{EventInfo, EventRange, EventSource, PmixEvent};

use super::record::Job;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::elastic::Reason;
use crate::pmix_status::{PMIX_ERR_BAD_PARAM, PMIX_ERR_NOT_FOUND, PMIX_EVENT_JOB_END};

impl Job {
    /// True for a job whose processes use slots.
    pub(super) fn takes_slots(&self) -> bool {
        self.spec.beside.is_none()
    }
}

impl Head {
    /// The session of a companion job: that of its first target (spec L66).
    ///
    /// # Errors
    /// A target that is not there, or has no processes yet.
    pub(in crate::head) fn session_beside(&self, beside: &Beside) -> Result<SessionId, Reason> {
        let Some((first, _)) = beside.targets.first() else {
            return Err(Reason::new(PMIX_ERR_BAD_PARAM, "The job is to run beside another, and names none."));
        };
        self.check_targets(beside).map_err(|cause| Reason::new(PMIX_ERR_NOT_FOUND, cause))?;
        Ok(self.jobs.at(*first).session)
    }

    fn check_targets(&self, beside: &Beside) -> Result<(), String> {
        for (target, _) in &beside.targets {
            match self.jobs.get(*target) {
                Some(job) if job.is_over() => return Err(format!("Job {target} is over: nothing can run beside it.")),
                Some(job) if job.is_launched() => {}
                Some(_) => return Err(format!("Job {target} has no processes yet: nothing can run beside it.")),
                None => return Err(format!("There is no job {target} beside which to run; `pdvm jobs` lists them.")),
            }
        }
        Ok(())
    }

    /// Says why a companion job must not start now: its target has ended while it was held (spec L66).
    pub(super) fn lacks_target(&self, id: JobId) -> Option<String> {
        let beside = self.jobs.at(id).spec.beside.as_ref()?;
        self.check_targets(beside).err()
    }

    /// Places a companion job on the nodes of its targets (spec L66).
    pub(super) fn placed_beside(&mut self, beside: &Beside, apps: usize) -> Result<JobMap, String> {
        self.check_targets(beside)?;
        let targets: Vec<&JobMap> =
            beside.targets.iter().map(|(target, _)| self.jobs.at(*target).map().as_ref()).collect();
        let map = place_beside(apps, beside, &targets, self.pool.records(), &self.jobs.occupancy);
        let map = map.map_err(|cause| format!("The job cannot run beside its target: {cause}."))?;
        self.jobs.occupancy.claim_ranks(&map);
        Ok(map)
    }

    /// Tells the companions of a job that it is over (spec L67).
    pub(super) fn tell_companions(&mut self, id: JobId, cx: &mut Cx) {
        let is_companion = |job: &&Job| job.spec.beside.as_ref().is_some_and(|beside| beside.concerns(id));
        let companions: Vec<JobId> =
            self.jobs.companions().filter(is_companion).filter(|job| job.is_launched()).map(|job| job.id).collect();
        let code = Some(self.jobs.at(id).exit_code().unwrap_or(0));
        for companion in companions {
            let info = EventInfo::Job { job: id, code };
            let event = PmixEvent { code: PMIX_EVENT_JOB_END, source: EventSource::Dvm, info };
            self.raise(event, EventRange::Job(companion), cx);
        }
    }
}
