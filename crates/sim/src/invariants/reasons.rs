//! The reason that the status gives for a wait is one that holds at that moment. Judged where the head is asked, without a break, for
//! its sessions, its own status and its jobs.

use ferrite_core::{Effect, HeadInput, Input};
use ferrite_types::{CampaignKind, CampaignStep, DaemonRank, JobId, JobState};
use ferrite_wire::control::{CampaignStatus, JobStatus, Reply, Request, SessionStatus};

use super::{Invariant, Observation, require};

#[derive(Default)]
pub(super) struct Reasons {
    sessions: Option<Vec<SessionStatus>>,
    campaigns: Option<Vec<CampaignStatus>>,
}

/// `4 slots (1 of 8 are free, 0 jobs are before it)`.
fn slots_wanted(reason: &str) -> Option<(u32, u32, u32)> {
    let (asked, rest) = reason.split_once(" slots (")?;
    let (free, rest) = rest.split_once(" of ")?;
    let (_, rest) = rest.split_once(" are free, ")?;
    let (before, _) = rest.split_once(' ')?;
    Some((asked.parse().ok()?, free.parse().ok()?, before.parse().ok()?))
}

impl Reasons {
    fn is_paused(&self, job: JobId) -> bool {
        self.sessions.iter().flatten().any(|session| session.paused && session.jobs.contains(&job))
    }

    fn holds(&self, job: &JobStatus) -> bool {
        let reason = job.waiting_for.as_str();
        let open = || self.campaigns.iter().flatten();
        if reason.is_empty() {
            return matches!(job.state, JobState::Terminated | JobState::NotifyCompleted | JobState::Notified)
                || job.ended_us.is_some();
        }
        if reason.contains("session to be resumed") {
            return self.is_paused(job.job);
        }
        if reason.starts_with("the DVM's new size") {
            // The one that a job is for holds it while it is queued, too.
            return open().next().is_some();
        }
        if reason.starts_with("nodes to leave") {
            return open().any(|c| c.kind == CampaignKind::Shrink && c.step != CampaignStep::Queued);
        }
        slots_wanted(reason).is_none_or(|(asked, free, before)| asked > free || before > 0)
    }
}

impl Invariant for Reasons {
    fn name(&self) -> &'static str {
        "the reason for a wait is one that holds"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Input { rank: DaemonRank::HEAD, input, .. } => {
                let asks = matches!(
                    input,
                    Input::Head(HeadInput::Request {
                        request: Request::Sessions | Request::Status | Request::Jobs,
                        ..
                    })
                );
                if !asks {
                    *self = Reasons::default();
                }
                Ok(())
            }
            Observation::Effect { rank: DaemonRank::HEAD, effect: Effect::Reply { reply, .. }, .. } => {
                match reply {
                    Reply::Sessions(sessions) => self.sessions = Some(sessions.clone()),
                    Reply::Status(status) => self.campaigns = Some(status.campaigns.clone()),
                    Reply::Jobs(jobs) if self.sessions.is_some() && self.campaigns.is_some() => {
                        let false_one = jobs.iter().find(|job| !self.holds(job));
                        return require(false_one.is_none(), || {
                            let job = false_one.map(|job| (job.job, job.state, &job.waiting_for));
                            format!("what {job:?} waits for is not so: {:?}", self.campaigns)
                        });
                    }
                    _ => {}
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_that_are_wanted_are_read() {
        assert_eq!(slots_wanted("4 slots (1 of 8 are free, 2 jobs are before it)"), Some((4, 1, 2)));
        assert_eq!(slots_wanted("the slots (1 of 8 are free, 2 jobs are before it)"), None);
    }
}
