//! Translates `PMIx_Job_control` of processes and tools into orders for the head. Pure.

use std::collections::BTreeMap;
use std::ffi::CStr;

use ferrite_pmix::{Info, Proc, Status, Value};
use ferrite_pmix_sys as sys;
use ferrite_types::{JobId, Rank, Signal};
use ferrite_wire::{ControlOrder, ProcessSet, WithdrawalAnswer, bad_set_name};
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

/// Keys that come with an operation. libpmix itself keeps what is to be cleaned up.
const BESIDE: [&CStr; 6] = [
    sys::PMIX_JOB_CTRL_ID,
    sys::PMIX_REGISTER_CLEANUP,
    sys::PMIX_REGISTER_CLEANUP_DIR,
    sys::PMIX_CLEANUP_RECURSIVE,
    sys::PMIX_CLEANUP_IGNORE,
    sys::PMIX_CLEANUP_LEAVE_TOPDIR,
];

/// Operations that are on or off.
const SWITCHES: [&CStr; 4] =
    [sys::PMIX_JOB_CTRL_KILL, sys::PMIX_JOB_CTRL_TERMINATE, sys::PMIX_JOB_CTRL_PAUSE, sys::PMIX_JOB_CTRL_RESUME];

/// Keys of this DVM: the answers of an elastic job to the notice that nodes are to leave (spec E52, E53). The value is
/// on or off, or the time that the job needs (seconds).
const REFUSE: &CStr = c"ferrite.withdrawal.refuse";
const DEFER: &CStr = c"ferrite.withdrawal.defer";
/// A key of this DVM: an elastic job refuses the offer of more processes (spec E56). The value is on or off.
const REFUSE_GROWTH: &CStr = c"ferrite.growth.refuse";

/// Keys that are refused, with the reason.
const NOT_OFFERED: [(&CStr, &str); 10] = [
    (sys::PMIX_JOB_CTRL_CANCEL, "an order is carried out at once"),
    (sys::PMIX_JOB_CTRL_RESTART, "only a failure starts a process again (--max-restarts)"),
    (sys::PMIX_JOB_CTRL_CHECKPOINT, "no process is saved"),
    (sys::PMIX_JOB_CTRL_CHECKPOINT_EVENT, "no process is saved"),
    (sys::PMIX_JOB_CTRL_CHECKPOINT_METHOD, "no process is saved"),
    (sys::PMIX_JOB_CTRL_PROVISION, "nodes are as they are"),
    (sys::PMIX_JOB_CTRL_PROVISION_IMAGE, "nodes are as they are"),
    (sys::PMIX_JOB_CTRL_PREEMPTIBLE, "no scheduler takes nodes from a job"),
    (sys::PMIX_JOB_CTRL_SEP, "a job is separate from its start (pmix.spchildsep)"),
    (sys::PMIX_CLEANUP_EMPTY, "libpmix 4.2 does not know it"),
];

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
    if let Some((key, why)) = NOT_OFFERED.iter().find(|(key, _)| directives.iter().any(|info| info.is(key))) {
        return Err(Refusal::unsupported(format!("{} is not offered: {why}", key.to_string_lossy())));
    }
    let is_off = |info: &&Info| SWITCHES.iter().any(|key| info.is(key)) && info.value == Value::Bool(false);
    let is_beside = |info: &&Info| BESIDE.iter().any(|key| info.is(key));
    let said: Vec<&Info> = directives.iter().filter(|info| !is_beside(info) && !is_off(info)).collect();
    let (known, unknown): (Vec<&Info>, Vec<&Info>) = said.into_iter().partition(|info| is_operation(info));
    if let Some(info) = unknown.into_iter().find(|info| required.contains(&info.key)) {
        return Err(Refusal::unsupported(format!("{} is required, and not offered", info.key)));
    }
    let info = match known[..] {
        [only] => only,
        [] if directives.is_empty() => return Err(Refusal::bad("it has no directive")),
        [] => return Err(Refusal::unsupported(format!("{} is not offered", directives[0].key))),
        _ => return Err(Refusal::unsupported("it has several operations: give one at a time")),
    };
    if info.is(REFUSE) || info.is(DEFER) || info.is(REFUSE_GROWTH) {
        return answer(info, targets);
    }
    let targets = named(own, targets, dvm)?;
    if info.is(sys::PMIX_JOB_CTRL_DEFINE_PSET) {
        let name = info.value.as_str().ok_or_else(|| Refusal::bad(format!("{}: no text", info.key)))?;
        return match bad_set_name(name) {
            Some(why) => Err(Refusal::bad(format!("{}: {name:?}: {why}", info.key))),
            None => Ok(ControlOrder::DefineSet(ProcessSet { name: name.to_owned(), members: targets })),
        };
    }
    let signal = |signal| Ok(ControlOrder::Signal { targets: targets.clone(), signal });
    if info.is(sys::PMIX_JOB_CTRL_SIGNAL) {
        return match info.value.as_i64().and_then(Signal::from_number) {
            Some(of_number) => signal(of_number),
            None => Err(Refusal::bad(format!("{}: no number of a signal", info.key))),
        };
    }
    if info.is(sys::PMIX_JOB_CTRL_PAUSE) {
        return signal(Signal::STOP);
    }
    if info.is(sys::PMIX_JOB_CTRL_RESUME) {
        return signal(Signal::CONT);
    }
    let is_forced = info.is(sys::PMIX_JOB_CTRL_KILL);
    let whole = targets.iter().filter(|(_, ranks)| ranks.is_empty()).count();
    match whole {
        0 => signal(if is_forced { Signal::KILL } else { Signal::TERM }),
        all if all == targets.len() => Ok(ControlOrder::End(targets.into_iter().map(|(job, _)| job).collect())),
        _ => Err(Refusal::unsupported("whole jobs and single processes: give one order for each")),
    }
}

/// The answer of the caller's job to the notice that nodes are to leave, or that it may grow (spec E52, E53, E56).
fn answer(info: &Info, targets: &[Proc]) -> Result<ControlOrder, Refusal> {
    if !targets.is_empty() {
        return Err(Refusal::bad(format!("{}: a job answers for itself: name no processes", info.key)));
    }
    if info.is(REFUSE) || info.is(REFUSE_GROWTH) {
        return match info.value {
            Value::Bool(true) if info.is(REFUSE_GROWTH) => Ok(ControlOrder::RefuseGrowth),
            Value::Bool(true) => Ok(ControlOrder::AnswerWithdrawal(WithdrawalAnswer::Refuse)),
            _ => Err(Refusal::bad(format!("{}: it is true or left out", info.key))),
        };
    }
    match info.value.as_i64().and_then(|seconds| u32::try_from(seconds).ok()).filter(|seconds| *seconds > 0) {
        Some(seconds) => Ok(ControlOrder::AnswerWithdrawal(WithdrawalAnswer::Defer(seconds))),
        None => Err(Refusal::bad(format!("{}: no number of seconds", info.key))),
    }
}

fn is_operation(info: &Info) -> bool {
    let others = [sys::PMIX_JOB_CTRL_DEFINE_PSET, sys::PMIX_JOB_CTRL_SIGNAL, REFUSE, DEFER, REFUSE_GROWTH];
    SWITCHES.iter().chain(&others).any(|key| info.is(key))
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
    use super::*;

    fn define(own: Option<JobId>, targets: &[(&str, u32)], name: impl Into<Value>) -> Result<ProcessSet, Status> {
        let targets: Vec<Proc> = targets.iter().map(|(nspace, rank)| Proc::new(*nspace, *rank)).collect();
        let directive = [Info::new(sys::PMIX_JOB_CTRL_DEFINE_PSET, name)];
        match order(own, &targets, &directive, &[], "d") {
            Ok(ControlOrder::DefineSet(set)) => Ok(set),
            Ok(other) => panic!("another order: {other:?}"),
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

    #[test]
    fn whole_jobs_are_ended_and_single_processes_get_a_signal() {
        let ask = |targets: &[(&str, u32)], key: &CStr, value: Value| {
            let targets: Vec<Proc> = targets.iter().map(|(nspace, rank)| Proc::new(*nspace, *rank)).collect();
            let directives = [Info::new(key, value), Info::new(sys::PMIX_JOB_CTRL_ID, "mine")];
            order(Some(JobId(1)), &targets, &directives, &[], "d").map_err(|refusal| refusal.status)
        };
        let yes = || Value::Bool(true);
        let signal = |job, ranks: &[u32], number| {
            let ranks = ranks.iter().copied().map(Rank).collect();
            Ok(ControlOrder::Signal { targets: vec![(JobId(job), ranks)], signal: Signal(number) })
        };
        assert_eq!(ask(&[], sys::PMIX_JOB_CTRL_KILL, yes()), Ok(ControlOrder::End(vec![JobId(1)])));
        assert_eq!(
            ask(&[("d@2", Proc::WILDCARD)], sys::PMIX_JOB_CTRL_TERMINATE, yes()),
            Ok(ControlOrder::End(vec![JobId(2)]))
        );
        assert_eq!(ask(&[("d@2", 3)], sys::PMIX_JOB_CTRL_KILL, yes()), signal(2, &[3], 9));
        assert_eq!(ask(&[("d@2", 3)], sys::PMIX_JOB_CTRL_TERMINATE, yes()), signal(2, &[3], 15));
        assert_eq!(ask(&[], sys::PMIX_JOB_CTRL_PAUSE, yes()), signal(1, &[], 19));
        assert_eq!(ask(&[], sys::PMIX_JOB_CTRL_RESUME, yes()), signal(1, &[], 18));
        assert_eq!(ask(&[("d@2", 0)], sys::PMIX_JOB_CTRL_SIGNAL, Value::Int(10)), signal(2, &[0], 10));
        for wrong in [Value::Int(0), Value::Int(65), Value::Bool(true)] {
            assert_eq!(ask(&[], sys::PMIX_JOB_CTRL_SIGNAL, wrong), Err(Status::BAD_PARAM));
        }
        assert_eq!(
            ask(&[("d@2", 3), ("d@1", Proc::WILDCARD)], sys::PMIX_JOB_CTRL_KILL, yes()),
            Err(Status::NOT_SUPPORTED)
        );
        assert_eq!(ask(&[], sys::PMIX_JOB_CTRL_KILL, Value::Bool(false)), Err(Status::NOT_SUPPORTED));
        for (key, _) in NOT_OFFERED {
            assert_eq!(ask(&[], key, yes()), Err(Status::NOT_SUPPORTED), "{key:?}");
        }
    }

    /// (spec E52, E53, E56)
    #[test]
    fn a_job_answers_for_itself_with_a_refusal_or_a_time() {
        let ask = |targets: &[Proc], key: &CStr, value: Value| {
            order(Some(JobId(1)), targets, &[Info::new(key, value)], &[], "d").map_err(|refusal| refusal.status)
        };
        let says = |answer| Ok(ControlOrder::AnswerWithdrawal(answer));
        assert_eq!(ask(&[], REFUSE, Value::Bool(true)), says(WithdrawalAnswer::Refuse));
        assert_eq!(ask(&[], DEFER, Value::Uint(30)), says(WithdrawalAnswer::Defer(30)));
        assert_eq!(ask(&[], REFUSE_GROWTH, Value::Bool(true)), Ok(ControlOrder::RefuseGrowth));
        for (key, value) in [
            (REFUSE_GROWTH, Value::Bool(false)),
            (REFUSE, Value::Bool(false)),
            (REFUSE, Value::Uint(1)),
            (DEFER, Value::Uint(0)),
            (DEFER, Value::Bool(true)),
            (DEFER, Value::Int(-1)),
        ] {
            assert_eq!(ask(&[], key, value.clone()), Err(Status::BAD_PARAM), "{key:?} {value:?}");
        }
        assert_eq!(ask(&[Proc::new("d@1", 0)], REFUSE, Value::Bool(true)), Err(Status::BAD_PARAM));
    }
}
