//! Events about a job that its requester has asked for (`PMIX_NOTIFY_...`): it runs, its processes end. That it is over
//! is told to every process and tool that has spawned it (`spawn`, and the driver).

use ferrite_types::{JobId, PmixStatus, ProcId};
use ferrite_wire::{EventInfo, EventRange, EventSource, PmixEvent};

use crate::cx::Cx;
use crate::head::Head;
use crate::pmix_status::{PMIX_EVENT_JOB_START, PMIX_EVENT_PROC_TERMINATED, PMIX_LAUNCH_COMPLETE};

impl Head {
    /// Tells the watcher of a job that it runs (spec L62).
    pub(super) fn tell_of_start(&mut self, id: JobId, cx: &mut Cx) {
        if self.jobs.at(id).watch.job {
            for code in [PMIX_EVENT_JOB_START, PMIX_LAUNCH_COMPLETE] {
                self.tell_watcher(id, code, EventInfo::Job { job: id, code: None }, cx);
            }
        }
    }

    /// Tells the watcher of a job that a process has ended (spec L62), and its groups.
    pub(super) fn tell_of_end(&mut self, proc: ProcId, is_failure: bool, code: Option<u8>, cx: &mut Cx) {
        self.leave_groups(proc, cx);
        let watch = &self.jobs.at(proc.job).watch;
        if watch.ends || (watch.failures && is_failure) {
            self.tell_watcher(proc.job, PMIX_EVENT_PROC_TERMINATED, EventInfo::Proc { proc, code }, cx);
        }
    }

    fn tell_watcher(&mut self, id: JobId, code: PmixStatus, info: EventInfo, cx: &mut Cx) {
        let job = self.jobs.at(id);
        let range = match (&job.watch.tool, job.birth.parent()) {
            (Some(tool), _) => EventRange::Named { procs: Vec::new(), tools: vec![tool.clone()] },
            (None, Some(parent)) => EventRange::only(parent),
            (None, None) => return,
        };
        self.raise(PmixEvent { code, source: EventSource::Dvm, info }, range, cx);
    }
}
