//! Orders of processes and tools for processes (`PMIx_Job_control`). The head answers each once.

use ferrite_types::{DaemonRank, JobId, JobState, PmixStatus, ProcId, Rank, Signal};
use ferrite_wire::{ControlOrder, DaemonMessage};

use super::sets::SetRefusal;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::dvm::INTERRUPTED;
use crate::pmix_status::PMIX_ERR_NOT_FOUND;

impl Head {
    /// Carries out an order, or refuses it (spec L45). `by` is the process that gives it; a tool has no name here.
    pub(in crate::head) fn on_control(
        &mut self,
        daemon: DaemonRank,
        id: u64,
        by: Option<ProcId>,
        order: ControlOrder,
        cx: &mut Cx,
    ) {
        let result = match order {
            ControlOrder::DefineSet(set) => {
                self.define_set(set, cx).map_err(|refusal| Self::tell_refusal(by, refusal, cx))
            }
            ControlOrder::Signal { targets, signal } => self.signal_targets(targets, signal, cx),
            ControlOrder::End(jobs) => self.end_targets(by, &jobs, cx),
            ControlOrder::AnswerWithdrawal(answer) => self.on_withdrawal_answer(by, answer, cx),
            ControlOrder::RefuseGrowth => self.on_growth_refused(by),
        };
        cx.send(daemon, DaemonMessage::ControlReply { id, result });
    }

    /// Signals processes, if all of them exist. One that is over already gets none. A signal that ends a process counts
    /// as its failure: the policy of its job decides what follows (spec L45).
    fn signal_targets(
        &mut self,
        targets: Vec<(JobId, Vec<Rank>)>,
        signal: Signal,
        cx: &mut Cx,
    ) -> Result<(), PmixStatus> {
        let exists = |(id, ranks): &(JobId, Vec<Rank>)| {
            let job = self.jobs.get(*id).filter(|job| job.is_launched());
            job.is_some_and(|job| ranks.iter().all(|rank| (rank.0 as usize) < job.map().procs.len()))
        };
        if !targets.iter().all(exists) {
            return Err(PMIX_ERR_NOT_FOUND);
        }
        for (job, ranks) in targets {
            // A process that is stopped would keep the signal for later.
            if signal == Signal::TERM {
                self.send_signal(job, &ranks, Signal::CONT, cx);
            }
            self.send_signal(job, &ranks, signal, cx);
        }
        Ok(())
    }

    /// Ends whole jobs, if all of them exist (spec L45).
    fn end_targets(&mut self, by: Option<ProcId>, jobs: &[JobId], cx: &mut Cx) -> Result<(), PmixStatus> {
        if !jobs.iter().all(|id| self.jobs.get(*id).is_some()) {
            return Err(PMIX_ERR_NOT_FOUND);
        }
        let whose = asker(by);
        for id in jobs {
            // It may have ended with another one just now.
            if self.jobs.get(*id).is_some() {
                let text = format!("Job {id} was ended by request of {whose} (PMIx_Job_control).");
                self.fail_job(*id, JobState::KilledByCmd, INTERRUPTED, text, cx);
            }
        }
        Ok(())
    }

    /// Shows why a set is refused; the caller gets the status.
    fn tell_refusal(by: Option<ProcId>, refusal: SetRefusal, cx: &mut Cx) -> PmixStatus {
        cx.notice(format!("{} asks for a process set.\n{}", asker(by), refusal.cause));
        refusal.status
    }
}

/// The giver of an order, in words.
fn asker(by: Option<ProcId>) -> String {
    by.map_or("a tool".to_owned(), |by| format!("rank {} of job {}", by.rank, by.job))
}
