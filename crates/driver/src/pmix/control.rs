//! Translates `PMIx_Job_control` of processes and tools into orders for the head. Pure.

use std::collections::BTreeMap;

use ferrite_pmix::{Info, Proc, Status};
use ferrite_pmix_sys as sys;
use ferrite_types::{JobId, Rank};
use ferrite_wire::{ControlOrder, ProcessSet, bad_set_name};
use thiserror::Error;

/// The reason why an order is refused. The words are for the log, because PMIx cannot carry them.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{cause}")]
pub(super) struct Refusal {
    pub(super) status: Status,
    cause: String,
}

impl Refusal {
    fn bad(cause: impl Into<String>) -> Refusal {
        Refusal { status: Status::BAD_PARAM, cause: cause.into() }
    }

    fn unsupported(cause: impl Into<String>) -> Refusal {
        Refusal { status: Status::NOT_SUPPORTED, cause: cause.into() }
    }
}

/// The processes that an order is about, by job; no ranks = the whole job.
pub(super) type Targets = Vec<(JobId, Vec<Rank>)>;

/// True for an order that defines a process set.
pub(super) fn defines_set(directives: &[Info]) -> bool {
    directives.iter().any(|info| info.is(sys::PMIX_JOB_CTRL_DEFINE_PSET))
}

/// Translates an order. `own` is the job of the process that gives it, which it means when it names no targets.
///
/// # Errors
/// A directive that is not offered, or makes no sense.
pub(super) fn order(
    own: Option<JobId>,
    targets: &[Proc],
    directives: &[Info],
    required: &[String],
    dvm: &str,
) -> Result<ControlOrder, Refusal> {
    let [info] = directives else {
        return Err(match directives {
            [] => Refusal::bad("it has no directive"),
            _ => Refusal::unsupported(format!("one directive at a time; required: {}", required.join(", "))),
        });
    };
    let targets = named(own, targets, dvm)?;
    if info.is(sys::PMIX_JOB_CTRL_DEFINE_PSET) {
        let name = info.value.as_str().ok_or_else(|| Refusal::bad(format!("{}: no text", info.key)))?;
        return match bad_set_name(name) {
            Some(why) => Err(Refusal::bad(format!("{}: {name:?}: {why}", info.key))),
            None => Ok(ControlOrder::DefineSet(ProcessSet { name: name.to_owned(), members: targets })),
        };
    }
    Err(Refusal::unsupported(format!("{} is not offered", info.key)))
}

/// Returns the targets by job.
fn named(own: Option<JobId>, targets: &[Proc], dvm: &str) -> Result<Targets, Refusal> {
    if targets.is_empty() {
        let own = own.ok_or_else(|| Refusal::bad("a tool has to name the processes"))?;
        return Ok(vec![(own, Vec::new())]);
    }
    let mut jobs: BTreeMap<JobId, Option<Vec<Rank>>> = BTreeMap::new();
    for target in targets {
        let job = job_of(&target.nspace, dvm).ok_or_else(|| Refusal {
            status: Status::NOT_FOUND,
            cause: format!("{} is no namespace of this DVM", target.nspace),
        })?;
        let ranks = jobs.entry(job).or_insert_with(|| Some(Vec::new()));
        match ranks {
            _ if target.rank == Proc::WILDCARD => *ranks = None,
            Some(ranks) => ranks.push(Rank(target.rank)),
            None => {}
        }
    }
    let sorted = |ranks: Option<Vec<Rank>>| {
        let mut ranks = ranks.unwrap_or_default();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    };
    Ok(jobs.into_iter().map(|(job, ranks)| (job, sorted(ranks))).collect())
}

/// Returns the job of a namespace.
pub(super) fn job_of(nspace: &str, dvm: &str) -> Option<JobId> {
    let number = nspace.strip_prefix(dvm)?.strip_prefix('@')?;
    number.parse().ok().filter(|number| *number > 0).map(JobId)
}

#[cfg(test)]
mod tests {
    use ferrite_pmix::Value;

    use super::*;

    fn define(own: Option<JobId>, targets: &[(&str, u32)], name: impl Into<Value>) -> Result<ProcessSet, Status> {
        let targets: Vec<Proc> = targets.iter().map(|(nspace, rank)| Proc::new(*nspace, *rank)).collect();
        let directive = [Info::new(sys::PMIX_JOB_CTRL_DEFINE_PSET, name)];
        match order(own, &targets, &directive, &[], "d") {
            Ok(ControlOrder::DefineSet(set)) => Ok(set),
            Err(refusal) => Err(refusal.status),
        }
    }

    #[test]
    fn a_set_is_of_the_named_processes_or_of_the_callers_job() {
        let members = |own, targets: &[(&str, u32)]| define(own, targets, "s").map(|set| set.members);
        let ranks = |ranks: &[u32]| ranks.iter().copied().map(Rank).collect::<Vec<_>>();
        assert_eq!(members(Some(JobId(3)), &[]), Ok(vec![(JobId(3), Vec::new())]));
        assert_eq!(members(None, &[]), Err(Status::BAD_PARAM));
        let two = [("d@2", 5), ("d@1", 1), ("d@2", 0), ("d@2", 5)];
        assert_eq!(members(None, &two), Ok(vec![(JobId(1), ranks(&[1])), (JobId(2), ranks(&[0, 5]))]));
        assert_eq!(members(None, &[("d@2", 1), ("d@2", Proc::WILDCARD)]), Ok(vec![(JobId(2), Vec::new())]));
        for stranger in ["e@1", "d", "d@0", "d@x"] {
            assert_eq!(members(None, &[(stranger, 0)]), Err(Status::NOT_FOUND), "{stranger}");
        }
        assert_eq!(define(Some(JobId(1)), &[], "a,b"), Err(Status::BAD_PARAM));
        assert_eq!(define(Some(JobId(1)), &[], 7u32), Err(Status::BAD_PARAM));
    }
}
