//! Gets more nodes of Slurm by a second job of the same shape, which ends when the first one does (`man salloc`).
//! Growing the first job does not work: without a database Slurm changes its size only once.

use thiserror::Error;

use super::job::{SlurmJob, TimeLeft};
use crate::extension::NodeAsk;

/// The longest list of nodes in an argument (bytes); the kernel takes no argument of more than 128 KiB.
const LONGEST_LIST: usize = 100_000;

/// The reason why Slurm is not asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoExtension {
    /// The first job is over or ends now.
    #[error("Slurm job {job} is {state}, and only a job that runs can have more nodes")]
    NotRunning {
        /// The id of the job.
        job: String,
        /// Slurm's word for its state.
        state: String,
    },
    /// Less than a minute is left, and Slurm counts time limits in minutes.
    #[error("less than a minute is left of Slurm job {job}")]
    NoTime {
        /// The id of the job.
        job: String,
    },
}

/// The request to Slurm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Salloc {
    /// The command. It waits until the nodes are granted, without a limit, and then ends.
    pub command: Vec<String>,
    /// Slots of each node; `None` = as many as its granted processors.
    pub slots: Option<u32>,
    /// The time limit, if there is one (minutes).
    pub minutes: Option<u64>,
}

/// Returns the command that gets this number of nodes.
///
/// # Errors
/// The first job cannot get more nodes.
pub fn salloc(ask: &NodeAsk, nodes: u32, parent: &SlurmJob) -> Result<Salloc, NoExtension> {
    if parent.state != "RUNNING" {
        let state = if parent.state.is_empty() { "not known".to_owned() } else { parent.state.clone() };
        return Err(NoExtension::NotRunning { job: ask.parent.clone(), state });
    }
    let left = minutes_left(parent.left).ok_or_else(|| NoExtension::NoTime { job: ask.parent.clone() })?;
    let asked = ask.time_limit_s.map(|seconds| u64::from(seconds).div_ceil(60));
    let minutes = left.into_iter().chain(asked).min();
    let slots = ask.slots.map(|slots| slots.clamp(1, parent.cpus_per_node));
    let mut command = vec!["salloc".to_owned(), "--no-shell".to_owned()];
    let mut add = |option: &str, value: &str| command.push(format!("--{option}={value}"));
    add("job-name", &ask.name);
    add("nodes", &nodes.to_string());
    match (minutes, parent.left) {
        (Some(minutes), _) => add("time", &minutes.to_string()),
        (None, TimeLeft::Unlimited) => add("time", "UNLIMITED"),
        // Without a limit the partition's default applies.
        (None, TimeLeft::Unknown | TimeLeft::Seconds(_)) => {}
    }
    if let Some(slots) = slots {
        add("ntasks-per-node", &slots.to_string());
    }
    let shape = [
        ("partition", ask.queue.as_ref().map_or(&parent.partition, |_| &ask.queue)),
        ("account", &parent.account),
        ("qos", &parent.qos),
        ("reservation", &parent.reservation),
        ("constraint", &parent.features),
        ("gres", &parent.gres),
    ];
    for (option, value) in shape {
        value.iter().for_each(|value| add(option, value));
    }
    // Slurm may grant a shared node again to the same user, whose daemon is already there.
    let has = ask.has.join(",");
    match parent.is_exclusive() || has.len() > LONGEST_LIST {
        true => command.push("--exclusive".to_owned()),
        false if has.is_empty() => {}
        false => add("exclude", &has),
    }
    // The command waits for nodes that must be switched on.
    command.push("--wait-all-nodes=1".to_owned());
    // The loss of one node does not end the job; the DVM goes on without it.
    command.push("--no-kill".to_owned());
    Ok(Salloc { command, slots, minutes })
}

/// Returns the remaining whole minutes; the inner `None` = no limit, the outer `None` = no minute is left.
fn minutes_left(left: TimeLeft) -> Option<Option<u64>> {
    match left {
        TimeLeft::Seconds(seconds) if seconds < 60 => None,
        TimeLeft::Seconds(seconds) => Some(Some(seconds / 60)),
        TimeLeft::Unlimited | TimeLeft::Unknown => Some(None),
    }
}

/// Returns the command that shortens a job that was granted late, so that it ends with the first one; `None` = it does
/// so already.
#[must_use]
pub fn trimmed(job: &str, granted: &Salloc, parent: &SlurmJob) -> Option<Vec<String>> {
    let TimeLeft::Seconds(seconds) = parent.left else { return None };
    let left = (seconds / 60).max(1);
    let too_long = granted.minutes.is_none_or(|minutes| minutes > left);
    too_long.then(|| {
        ["scontrol", "update", &format!("JobId={job}"), &format!("TimeLimit={left}")].map(str::to_owned).into()
    })
}
