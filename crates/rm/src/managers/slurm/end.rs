//! The end of a job of Slurm, by its time limit or a preemption: the commands that ask for it, and their answers
//! (`man scontrol`). Times are seconds since 1970 ([`TIME_FORMAT`]).

use super::super::Flaw;
use super::job::is_over;
use crate::extension::JobEnd;

/// A variable for Slurm's commands, with the format of times that the answers here need.
pub const TIME_FORMAT: (&str, &str) = ("SLURM_TIME_FORMAT", "%s");
/// The longest answer (bytes).
const LONGEST: usize = 1 << 20;

/// What Slurm says of a job's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ends {
    state: String,
    /// The end by the time limit.
    limit: Option<u64>,
    /// The time at which Slurm has told it that it ends for another job, and its partition.
    preempted: Option<(u64, String)>,
}

/// Returns the command that asks for a job.
#[must_use]
pub fn question(job: &str) -> Vec<String> {
    ["scontrol", "--oneliner", "show", "job", job].map(str::to_owned).into()
}

impl Ends {
    /// Reads the answer.
    ///
    /// # Errors
    /// A text that is no answer.
    pub fn parse(text: &str) -> Result<Ends, Flaw> {
        let state = value(text, "JobState")?.unwrap_or_default().to_owned();
        let limit = time(text, "EndTime")?;
        let at = time(text, "PreemptTime")?;
        let partition = value(text, "Partition")?.unwrap_or_default();
        Ok(Ends { state, limit, preempted: at.map(|at| (at, partition.to_owned())) })
    }

    /// Returns the command that asks how long a preempted job may go on; `None` = it is not preempted.
    #[must_use]
    pub fn question_of_grace(&self) -> Option<Vec<String>> {
        let (_, partition) = self.preempted.as_ref()?;
        Some(["scontrol", "--oneliner", "show", "partition", partition].map(str::to_owned).into())
    }

    /// Returns the end, at this time and with this grace of a preempted job (both in seconds).
    #[must_use]
    pub fn at(&self, now: u64, grace: u64) -> JobEnd {
        let preempted = self.preempted.as_ref().map(|(at, _)| at.saturating_add(grace));
        let end = self.limit.into_iter().chain(preempted).min();
        JobEnd {
            left_s: end.map(|end| end.saturating_sub(now)),
            is_preempted: preempted.is_some(),
            is_over: is_over(&self.state),
        }
    }
}

/// Reads the grace of preempted jobs (seconds) in the answer about a partition.
///
/// # Errors
/// A text that is no answer.
pub fn grace_of_partition(text: &str) -> Result<u64, Flaw> {
    match value(text, "GraceTime")? {
        Some(grace) => number(grace),
        None => Err(Flaw::number(&excerpt(text), "an answer of scontrol about a partition")),
    }
}

/// The word after `NAME=`, which begins a word; `None` for the texts by which Slurm says that there is none.
fn value<'a>(text: &'a str, name: &str) -> Result<Option<&'a str>, Flaw> {
    if text.len() > LONGEST {
        return Err(Flaw::TooLong(text.len()));
    }
    let found = text.split_ascii_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    Ok(found.filter(|value| !matches!(*value, "" | "(null)" | "N/A" | "NONE" | "None" | "Unknown" | "UNLIMITED")))
}

fn time(text: &str, name: &str) -> Result<Option<u64>, Flaw> {
    value(text, name)?.map(number).transpose()
}

fn number(text: &str) -> Result<u64, Flaw> {
    text.parse().map_err(|_| Flaw::number(text, "a number of seconds"))
}

fn excerpt(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREEMPTED: &str = "JobId=9 JobName=interactive UserId=root(0) JobState=RUNNING Reason=None RunTime=00:00:06 \
        TimeLimit=UNLIMITED StartTime=1795687725 EndTime=Unknown Deadline=N/A PreemptEligibleTime=1795687725 \
        PreemptTime=1795687728 Scheduler=Main Partition=low AllocNode:Sid=login:0 Command=(null)";
    const LIMITED: &str = "JobId=1 JobName=a JobState=RUNNING TimeLimit=00:01:00 StartTime=1795687606 \
        EndTime=1795687666 Deadline=N/A Partition=main";

    #[test]
    fn a_limit_and_a_preemption_end_a_job() {
        let limited = Ends::parse(LIMITED).unwrap();
        assert_eq!(limited.question_of_grace(), None);
        let end = |left_s, is_preempted, is_over| JobEnd { left_s, is_preempted, is_over };
        assert_eq!(limited.at(1_795_687_636, 0), end(Some(30), false, false));
        assert_eq!(limited.at(1_795_687_999, 0), end(Some(0), false, false), "its limit has passed");
        let preempted = Ends::parse(PREEMPTED).unwrap();
        assert_eq!(preempted.question_of_grace().unwrap().join(" "), "scontrol --oneliner show partition low");
        assert_eq!(preempted.at(1_795_687_730, 12), end(Some(10), true, false));
        let free = Ends::parse(&LIMITED.replace("EndTime=1795687666", "EndTime=Unknown")).unwrap();
        assert_eq!(free.at(0, 0), end(None, false, false));
        let over = Ends::parse(&LIMITED.replace("RUNNING", "COMPLETING")).unwrap();
        assert!(over.at(0, 0).is_over);
    }

    #[test]
    fn the_grace_is_that_of_the_partition() {
        let said = "PartitionName=low AllowGroups=ALL DisableRootJobs=NO ExclusiveUser=NO GraceTime=12 Hidden=NO";
        assert_eq!(grace_of_partition(said), Ok(12));
        assert!(grace_of_partition("PartitionName=low").is_err());
    }

    #[test]
    fn a_time_that_is_none_is_refused() {
        assert!(Ends::parse(&LIMITED.replace("1795687666", "2026-11-26T10:07:46")).is_err());
        assert!(Ends::parse(&"x".repeat(LONGEST + 1)).is_err());
    }
}
