//! Slurm's data of a job: the query as a command line, and its answer (`man squeue`). One value stands on a line,
//! because no name contains a line break, and some contain every other character.

use ferrite_types::HostEntry;

use super::super::nodes::Nodes;
use super::super::{Flaw, nodelist};
use crate::hostfile::LARGEST;

/// The queried fields, in this order: state, nodes, time left, partition, account, quality of service, reservation,
/// features, sharing, number of nodes, of processors, generic resources, the host on which it executes.
const FORMAT: &str = "%T\n%N\n%L\n%P\n%a\n%q\n%v\n%f\n%h\n%D\n%C\n%b\n%B";
const LINES: usize = 13;
/// Longer than the list of any machine's nodes.
const LONGEST: usize = 4 << 20;

/// A job of Slurm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmJob {
    /// `RUNNING`, `PENDING`, ...
    pub state: String,
    /// Its nodes; none while it waits.
    pub nodes: Vec<String>,
    /// How long it goes on.
    pub left: TimeLeft,
    /// Where it runs.
    pub partition: Option<String>,
    /// Who pays.
    pub account: Option<String>,
    /// Its quality of service.
    pub qos: Option<String>,
    /// The reservation that it uses.
    pub reservation: Option<String>,
    /// What its nodes must have.
    pub features: Option<String>,
    /// Whether it has its nodes for itself: `NO` when it has.
    pub sharing: String,
    /// Processors of one of its nodes.
    pub cpus_per_node: u32,
    /// Generic resources of each node, as `--gres` takes them.
    pub gres: Option<String>,
    /// Where its script runs, or where `salloc` was called.
    pub executes_on: Option<String>,
}

/// How long a job goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLeft {
    /// So many seconds.
    Seconds(u64),
    /// As long as it likes.
    Unlimited,
    /// It has not been said.
    Unknown,
}

/// Asks for a job.
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
    /// What cannot be an answer, or has no place in a command line.
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

    /// True when Slurm has taken its nodes back already, or is about to.
    #[must_use]
    pub fn is_over(&self) -> bool {
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
        OVER.contains(&self.state.as_str())
    }

    /// True when nobody else has processors of its nodes.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.sharing == "NO"
    }

    /// Its nodes as hosts of a DVM.
    ///
    /// # Errors
    /// Names that are none, and none at all.
    pub fn hosts(&self, job: &str, slots: u32) -> Result<Vec<HostEntry>, Flaw> {
        let mut nodes = Nodes::default();
        self.nodes.iter().try_for_each(|name| nodes.add(name, slots))?;
        let granted = |host: HostEntry| HostEntry { rm_job: Some(job.to_owned()), ..host };
        Ok(nodes.finish()?.into_iter().map(granted).collect())
    }
}

impl TimeLeft {
    /// `1-02:03:04`, `03:04`, `UNLIMITED`.
    fn parse(text: &str) -> Result<TimeLeft, Flaw> {
        match text {
            "UNLIMITED" => return Ok(TimeLeft::Unlimited),
            "" | "NOT_SET" | "INVALID" | "N/A" | "(null)" => return Ok(TimeLeft::Unknown),
            // It has had its time.
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

/// Slurm's ways to say nothing.
fn optional(text: &str) -> Option<&str> {
    Some(text).filter(|text| !matches!(*text, "" | "(null)" | "N/A" | "None"))
}

/// A value that will stand behind `--option=`: it cannot be taken for another option, so that only what is no text is
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
    // More than 100,000 are written with a K by some releases.
    let (digits, unit) = text.strip_suffix('K').map_or((text, 1), |digits| (digits, 1024));
    let number = digits.parse::<u32>().ok().and_then(|n| n.checked_mul(unit));
    number.ok_or_else(|| Flaw::number(text, "a number"))
}

/// `gres:gpu:2` and `gres/gpu:2`, as `gpu:2`.
fn plain_gres(list: &str) -> String {
    let plain = |one: &str| {
        let one = one.strip_prefix("gres").map_or(one, |rest| rest.trim_start_matches([':', '/']));
        one.to_owned()
    };
    list.split(',').map(plain).collect::<Vec<_>>().join(",")
}
