//! Slurm's data about a job: the command that asks for them, and its answer (`man squeue`). Each line has one value:
//! names may contain any character but a line break.

use ferrite_types::HostEntry;

use super::super::nodes::Nodes;
use super::super::{Flaw, nodelist};
use crate::hostfile::LARGEST;

/// The queried fields, in this order: state, nodes, time left, partition, account, quality of service, reservation,
/// features, sharing, number of nodes, of processors, generic resources, the host on which it executes.
const FORMAT: &str = "%T\n%N\n%L\n%P\n%a\n%q\n%v\n%f\n%h\n%D\n%C\n%b\n%B";
const LINES: usize = 13;
/// The longest answer (bytes).
const LONGEST: usize = 4 << 20;

/// A job of Slurm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmJob {
    /// `RUNNING`, `PENDING`, ...
    pub state: String,
    /// Its nodes; none while it waits.
    pub nodes: Vec<String>,
    /// Its remaining time.
    pub left: TimeLeft,
    /// Its partition.
    pub partition: Option<String>,
    /// Its account.
    pub account: Option<String>,
    /// Its quality of service.
    pub qos: Option<String>,
    /// The reservation that it uses.
    pub reservation: Option<String>,
    /// The required features of its nodes.
    pub features: Option<String>,
    /// Slurm's word for sharing its nodes: `NO` = no other job uses them.
    pub sharing: String,
    /// Processors of one of its nodes.
    pub cpus_per_node: u32,
    /// Generic resources of each node, as `--gres` takes them.
    pub gres: Option<String>,
    /// The host on which its script runs, or on which `salloc` was called.
    pub executes_on: Option<String>,
}

/// The remaining time of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLeft {
    /// This number of seconds.
    Seconds(u64),
    /// There is no time limit.
    Unlimited,
    /// Slurm does not tell.
    Unknown,
}

/// Returns the command that asks for a job.
#[must_use]
pub fn question(job: &str) -> Vec<String> {
    ["squeue", "--noheader", "--states=all", &format!("--jobs={job}"), &format!("--format={FORMAT}")]
        .map(str::to_owned)
        .into()
}

impl SlurmJob {
    /// Reads the answer.
    ///
    /// # Errors
    /// A text that is no answer, or may not be in a command line.
    pub fn parse(text: &str) -> Result<SlurmJob, Flaw> {
        if text.len() > LONGEST {
            return Err(Flaw::TooLong(text.len()));
        }
        let lines: Vec<&str> = text.trim_end_matches('\n').split('\n').map(str::trim).collect();
        let [state, nodes, left, partition, account, qos, reservation, features, sharing, count, cpus, gres, host] =
            <[&str; LINES]>::try_from(lines).map_err(|lines| Flaw::number(&lines.join(" "), "an answer of squeue"))?;
        let count = number(count)?;
        Ok(SlurmJob {
            state: word(state)?.unwrap_or_default(),
            nodes: nodelist::expand(optional(nodes).unwrap_or_default())?,
            left: TimeLeft::parse(left)?,
            partition: word(partition)?,
            account: word(account)?,
            qos: word(qos)?,
            reservation: word(reservation)?,
            features: word(features)?,
            sharing: word(sharing)?.unwrap_or_default(),
            cpus_per_node: (number(cpus)? / count.max(1)).clamp(1, LARGEST),
            gres: word(gres)?.map(|list| plain_gres(&list)),
            executes_on: word(host)?,
        })
    }

    /// True when Slurm has taken its nodes back or is about to.
    #[must_use]
    pub fn is_over(&self) -> bool {
        is_over(&self.state)
    }

    /// True when no other job uses its nodes.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.sharing == "NO"
    }

    /// Returns its nodes as hosts of a DVM.
    ///
    /// # Errors
    /// A name that is no host, or no nodes.
    pub fn hosts(&self, job: &str, slots: u32) -> Result<Vec<HostEntry>, Flaw> {
        let mut nodes = Nodes::default();
        self.nodes.iter().try_for_each(|name| nodes.add(name, slots))?;
        let granted = |host: HostEntry| HostEntry { rm_job: Some(job.to_owned()), ..host };
        Ok(nodes.finish()?.into_iter().map(granted).collect())
    }
}

impl TimeLeft {
    /// Parses `1-02:03:04`, `03:04` or `UNLIMITED`.
    fn parse(text: &str) -> Result<TimeLeft, Flaw> {
        match text {
            "UNLIMITED" => return Ok(TimeLeft::Unlimited),
            "" | "NOT_SET" | "INVALID" | "N/A" | "(null)" => return Ok(TimeLeft::Unknown),
            // A negative time means that the limit has passed.
            text if text.starts_with('-') => return Ok(TimeLeft::Seconds(0)),
            _ => {}
        }
        let (days, clock) = text.split_once('-').unwrap_or(("0", text));
        let parts: Option<Vec<u64>> = clock.split(':').chain([days]).map(|part| part.parse().ok()).collect();
        let seconds = parts.and_then(|mut parts| {
            let days = parts.pop()?;
            let clock = match parts[..] {
                [h, m, s] => [h, m, s],
                [m, s] => [0, m, s],
                _ => return None,
            };
            [(days, 86_400), (clock[0], 3600), (clock[1], 60), (clock[2], 1)]
                .iter()
                .try_fold(0u64, |sum, (n, unit)| sum.checked_add(n.checked_mul(*unit)?))
        });
        seconds.map(TimeLeft::Seconds).ok_or_else(|| Flaw::number(text, "a time, as 1-02:03:04"))
    }
}

/// True for the state of a job whose nodes Slurm has taken back or is about to.
pub(super) fn is_over(state: &str) -> bool {
    const OVER: [&str; 11] = [
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "COMPLETING",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "REVOKED",
        "TIMEOUT",
    ];
    OVER.contains(&state)
}

/// Returns a value; `None` for the texts by which Slurm says that there is none.
fn optional(text: &str) -> Option<&str> {
    Some(text).filter(|text| !matches!(*text, "" | "(null)" | "N/A" | "None"))
}

/// Returns a value that will follow `--option=`. It cannot be taken for another option, so only control characters are
/// refused.
fn word(text: &str) -> Result<Option<String>, Flaw> {
    match optional(text) {
        Some(text) if text.len() > 4096 => Err(Flaw::TooLong(text.len())),
        Some(text) => match text.chars().find(|c| c.is_control() || c.is_whitespace()) {
            Some(c) => Err(Flaw::Control(c)),
            None => Ok(Some(text.to_owned())),
        },
        None => Ok(None),
    }
}

fn number(text: &str) -> Result<u32, Flaw> {
    // Some releases write numbers above 100,000 with a K.
    let (digits, unit) = text.strip_suffix('K').map_or((text, 1), |digits| (digits, 1024));
    let number = digits.parse::<u32>().ok().and_then(|n| n.checked_mul(unit));
    number.ok_or_else(|| Flaw::number(text, "a number"))
}

/// Converts `gres:gpu:2` and `gres/gpu:2` to `gpu:2`.
fn plain_gres(list: &str) -> String {
    let plain = |one: &str| {
        let one = one.strip_prefix("gres").map_or(one, |rest| rest.trim_start_matches([':', '/']));
        one.to_owned()
    };
    list.split(',').map(plain).collect::<Vec<_>>().join(",")
}
