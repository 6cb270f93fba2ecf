//! A launcher that a PMIx tool has started to direct it (spec L147, L139): it calls the tool, waits for its release,
//! and launches its job as the tool's directives say. Only [`super::PmixBridge`] uses it.

use std::ffi::CStr;
use std::rc::Rc;
use std::time::Duration;

use ferrite_pmix::{CalledBy, Info, Proc, Value};
use ferrite_pmix_sys as sys;
use ferrite_types::JobId;
use ferrite_wire::ToolName;
use ferrite_wire::control::{Submission, Watch};
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

use super::{PmixBridge, events, spawn};
use crate::head::Caller;
use crate::notice;

/// The time after which the user is told what the launcher waits for.
const IN_SILENCE: Duration = Duration::from_secs(5);

/// Keys whose job is done by the launcher anyway: its streams are those that the tool has given it.
const ANYWAY: [&CStr; 4] =
    [sys::PMIX_FWD_STDIN, sys::PMIX_FWD_STDOUT, sys::PMIX_FWD_STDERR, sys::PMIX_NOTIFY_COMPLETION];

/// Why a client of a DVM cannot have what a tool wants to watch (spec L139).
pub(crate) const BEYOND: &str = "A tool that directs prun hears of the begin and the end of a job and not of its \
    processes (PMIX_NOTIFY_PROC_TERMINATION, PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION).\n\
    Let the tool start prterun, or attach it to the DVM.";

/// True for events about processes: they go to tools that a daemon knows.
pub(crate) fn is_beyond(watch: &Watch) -> bool {
    watch.ends || watch.failures
}

/// The tool's answer, which comes once.
pub(super) type Answer = Result<CalledBy, String>;

impl PmixBridge {
    /// Calls the tool that has started this launcher, if one has. Its answer becomes changes of the launcher's job
    /// (spec L147).
    pub(crate) fn call(
        &self,
        submission: Box<Submission>,
    ) -> impl Future<Output = Result<Box<Submission>, String>> + use<> {
        let caller = self.shared.caller.borrow().clone();
        let (tell, told) = oneshot::channel();
        *self.shared.called.borrow_mut() = Some(tell);
        let shared = Rc::clone(&self.shared);
        async move {
            let Some(caller) = caller else { return Ok(submission) };
            shared.library();
            obey(caller, told, submission).await
        }
    }

    /// Returns the tool that has started this launcher, while it is connected.
    fn caller(&self) -> Option<Proc> {
        self.shared.tools.get().and_then(|tools| tools.borrow().caller().cloned())
    }

    /// Notes the job of this launcher itself.
    pub(crate) fn know_own_job(&self, job: JobId) {
        self.shared.own_job.set(Some(job));
    }

    /// Tells the tool that has started this launcher that its job runs.
    pub(crate) fn own_job_runs(&self) {
        if let (Some(tool), Some(job), Some(library)) =
            (self.caller(), self.shared.own_job.get(), self.shared.running())
        {
            library.job_start(&tool, &Proc::new(job.nspace(&self.shared.dvm), Proc::WILDCARD));
        }
    }

    /// Tells the tool that has started this launcher that its job is over.
    pub(crate) fn own_job_is_over(&self, exit_code: u8) {
        let (Some(tool), Some(job), Some(library)) = (self.caller(), self.shared.own_job.take(), self.shared.running())
        else {
            return;
        };
        library.job_end(tool, Proc::new(job.nspace(&self.shared.dvm), Proc::WILDCARD), exit_code.into());
    }

    /// The jobs of tools that are not over.
    pub(crate) fn jobs_of_tools(&self) -> Vec<String> {
        self.shared.tools.get().map(|tools| tools.borrow().open_jobs()).unwrap_or_default()
    }

    /// Rings when a job of a tool is over, or the tool itself is gone.
    pub(crate) fn ends_of_jobs(&self) -> Rc<Notify> {
        self.shared.tools.get().map(|tools| tools.borrow().ends()).unwrap_or_default()
    }

    /// Waits, before the end of this process, until the library has passed on what tools are to hear.
    pub(crate) fn settle(&self, limit: Duration) -> impl Future<Output = ()> + use<> {
        let has_tools = self.shared.tools.get().is_some_and(|tools| tools.borrow().has_any());
        let library = self.shared.running().filter(|_| has_tools);
        async move {
            if let Some(library) = library {
                let _ = timeout(limit, library.settle()).await;
            }
        }
    }

    /// Tells the tool that has started this launcher that the launcher's job waits for a debugger.
    pub(crate) fn own_job_waits(&self) {
        if let Some(job) = self.shared.own_job.get() {
            self.ready_for_debug(job);
        }
    }

    /// Tells the tool that has started this launcher that the job waits for a debugger; false when there is none.
    pub(crate) fn ready_for_debug(&self, job: JobId) -> bool {
        let whole = Proc::new(job.nspace(&self.shared.dvm), Proc::WILDCARD);
        let notice = self.caller().map(|tool| events::ready_for_debug(self.shared.server(), tool, whole));
        let is_told = notice.is_some();
        notice.into_iter().for_each(|notice| self.shared.send(notice));
        is_told
    }
}

/// Waits for the release, and applies the directives to the launcher's job (spec L147, L139).
///
/// # Errors
/// The reason, in words, why the job cannot be launched as the tool wants it.
async fn obey(
    caller: Caller,
    answer: oneshot::Receiver<Answer>,
    mut submission: Box<Submission>,
) -> Result<Box<Submission>, String> {
    tokio::pin!(answer);
    let told = match timeout(IN_SILENCE, &mut answer).await {
        Ok(told) => told,
        Err(_) => {
            let address = &caller.address;
            notice::print(&format!(
                "This launcher waits for the tool at {address} to let it go on (PMIX_DEBUGGER_RELEASE)."
            ));
            answer.await
        }
    };
    let explain = |cause: String| {
        let address = &caller.address;
        format!(
            "The job was not launched for the tool at {address}:\n{cause}.\n\
             Without a tool that directs the launcher, unset PMIX_LAUNCHER_RNDZ_URI."
        )
    };
    // The sender is gone only while this process is ending.
    let called = told.unwrap_or_else(|_| Err("the launcher is ending".to_owned())).map_err(explain)?;
    let tool = ToolName { nspace: called.tool.nspace.clone(), rank: Some(called.tool.rank) };
    let unknown = direct(&called.directives, &mut submission).map_err(explain)?;
    submission.watch.tool = Some(tool);
    if !unknown.is_empty() {
        notice::print(&format!("The tool's directives {} are not known here and have no effect.", unknown.join(", ")));
    }
    Ok(submission)
}

/// Applies a tool's directives to a job; returns the keys that nobody knows.
///
/// # Errors
/// A directive that cannot be read, or that belongs to the launcher's command line.
fn direct(directives: &[Info], submission: &mut Submission) -> Result<Vec<String>, String> {
    let is_anyway = |info: &&Info| ANYWAY.iter().any(|key| info.is(key));
    let is_off = |info: &&Info| info.value == Value::Bool(false);
    if let Some(info) = directives.iter().filter(is_anyway).find(is_off) {
        return Err(format!("its directive {} is false, which is not offered for a launcher", info.key));
    }
    let rest: Vec<Info> = directives.iter().filter(|info| !is_anyway(info)).cloned().collect();
    spawn::direct(&rest, submission).map_err(|refused| format!("its directives: {refused}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    use ferrite_types::{DebugStop, JobSpec, StopPoint};

    use super::super::placing::tests::info;

    fn directed(directives: &[Info]) -> (Submission, Result<Vec<String>, String>) {
        let mut submission = Submission::of(JobSpec::new(Vec::new()));
        let unknown = direct(directives, &mut submission);
        (submission, unknown)
    }

    /// What a debugger asks of the launcher that it starts (spec L147).
    #[test]
    fn a_job_waits_and_is_watched_as_the_tool_says() {
        let (job, unknown) = directed(&[
            info("pmix.dbg.init", true),
            info("pmix.note.jev", true),
            info("pmix.fwd.stdout", true),
            info("pmix.job.time", 7u32),
        ]);
        assert_eq!(unknown, Ok(Vec::new()));
        assert_eq!(job.spec.stop, Some(DebugStop::of_all(StopPoint::Init)));
        assert!(job.watch.job);
        assert_eq!(job.spec.options.timeout, Some(ferrite_types::Duration::from_secs(7)));
    }

    /// Nothing is ignored in silence (spec L147).
    #[test]
    fn what_a_tool_may_not_direct_is_named() {
        let (_, unknown) = directed(&[info("my.own", 1u32)]);
        assert_eq!(unknown, Ok(vec!["my.own".to_owned()]));
        for (bad, named) in
            [(info("pmix.mapby", "node"), "pmix.mapby"), (info("pmix.fwd.stdout", false), "pmix.fwd.stdout")]
        {
            let cause = directed(&[bad]).1.unwrap_err();
            assert!(cause.contains(named), "{cause}");
        }
    }

    /// The command line counts where the tool says nothing (spec L147).
    #[test]
    fn what_the_tool_does_not_say_stays_as_it_was() {
        let mut submission = Submission::of(JobSpec::new(Vec::new()));
        submission.spec.stop = Some(DebugStop::of_all(StopPoint::Exec));
        direct(&[], &mut submission).unwrap();
        assert_eq!(submission.spec.stop, Some(DebugStop::of_all(StopPoint::Exec)));
    }
}
