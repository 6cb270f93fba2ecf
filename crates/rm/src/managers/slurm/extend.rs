//! More nodes of Slurm for a job that runs: a second job beside it, of the same shape, that ends when the first one
//! does (`man salloc`). Another size of the first job itself is no way: without a database Slurm changes it once only.

use thiserror::Error;

use super::job::{SlurmJob, TimeLeft};
use crate::extension::NodeAsk;

/// A list of nodes beyond this size is not given to a command: the kernel takes no argument of more than 128 KiB.
const LONGEST_LIST: usize = 100_000;

/// Why Slurm is not asked at all.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoExtension {
    /// The first job is over, or as good as.
    #[error("Slurm job {job} is {state}, and only a job that runs can have more nodes")]
    NotRunning {
        /// Which.
        job: String,
        /// In Slurm's words.
        state: String,
    },
    /// Slurm counts time limits in minutes.
    #[error("less than a minute is left of Slurm job {job}")]
    NoTime {
        /// Which.
        job: String,
    },
}

/// The request to Slurm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Salloc {
    /// The command. It waits until the nodes are there, however long that takes, and ends then.
    pub command: Vec<String>,
    /// Slots that each of the nodes has; `None` = as many as it gets processors.
    pub slots: Option<u32>,
    /// The time limit, if there is one (minutes).
    pub minutes: Option<u64>,
}

/// The command that gets so many nodes.
///
/// # Errors
/// A first job that cannot have more.
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
    // A node that is shared may be granted again to the same user, who has a daemon there already.
    let has = ask.has.join(",");
    match parent.is_exclusive() || has.len() > LONGEST_LIST {
        true => command.push("--exclusive".to_owned()),
        false if has.is_empty() => {}
        false => add("exclude", &has),
    }
    // Nodes that have to be switched on first are not there before they are.
    command.push("--wait-all-nodes=1".to_owned());
    // The loss of one node is no reason to take all; the DVM goes on without it.
    command.push("--no-kill".to_owned());
    Ok(Salloc { command, slots, minutes })
}

/// Whole minutes; the inner `None` = no limit, the outer one = none left.
fn minutes_left(left: TimeLeft) -> Option<Option<u64>> {
    match left {
        TimeLeft::Seconds(seconds) if seconds < 60 => None,
        TimeLeft::Seconds(seconds) => Some(Some(seconds / 60)),
        TimeLeft::Unlimited | TimeLeft::Unknown => Some(None),
    }
}

/// The command that makes a job which has waited long end with its first one; `None` = it does so already.
#[must_use]
pub fn trimmed(job: &str, granted: &Salloc, parent: &SlurmJob) -> Option<Vec<String>> {
    let TimeLeft::Seconds(seconds) = parent.left else { return None };
    let left = (seconds / 60).max(1);
    let too_long = granted.minutes.is_none_or(|minutes| minutes > left);
    too_long.then(|| {
        ["scontrol", "update", &format!("JobId={job}"), &format!("TimeLimit={left}")].map(str::to_owned).into()
    })
}
