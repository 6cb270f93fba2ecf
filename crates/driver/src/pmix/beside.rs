//! Companion jobs in a spawn request: the daemons of a debugger, and processes that are to be placed with others. Pure;
//! only `spawn.rs` uses it.

use std::ffi::CStr;

use ferrite_pmix::{App, Info, Proc, Value};
use ferrite_pmix_sys as sys;
use ferrite_types::{Beside, BindTo, Each, JobId, MapBy, MapRequest, Rank};

use super::control::job_of;
use super::spawn::Refused;

/// The keys of companion jobs. Each may stand with the job, or with its apps.
pub(super) const KEYS: [&CStr; 8] = [
    sys::PMIX_DEBUGGER_DAEMONS,
    sys::PMIX_DEBUG_TARGET,
    sys::PMIX_DEBUG_JOB,
    sys::PMIX_DEBUG_DAEMONS_PER_NODE,
    sys::PMIX_DEBUG_DAEMONS_PER_PROC,
    sys::PMIX_COLOCATE_PROCS,
    sys::PMIX_COLOCATE_NPERNODE,
    sys::PMIX_COLOCATE_NPERPROC,
];

/// Keys that name nodes, which a companion job gets from its target.
const NODES: [&CStr; 4] = [sys::PMIX_HOST, sys::PMIX_HOSTFILE, sys::PMIX_ADD_HOST, sys::PMIX_ADD_HOSTFILE];

/// Returns the place of a companion job, whose own mapping is `map`; `None` for any other job.
///
/// # Errors
/// A target that is not named, or keys that contradict each other.
pub(super) fn beside(info: &[Info], apps: &[App], map: &MapRequest, dvm: &str) -> Result<Option<Beside>, Refused> {
    let all = || info.iter().chain(apps.iter().flat_map(|app| &app.info));
    let is_off = |info: &Info| info.value == Value::Bool(false);
    if all().any(|info| info.is(sys::PMIX_COSPAWN_APP) && !is_off(info)) {
        return Err(Refused::NotSupported(
            "pmix.cospawn: spawn the program by a call of its own, with pmix.dbg.tgt beside its target",
        ));
    }
    let speaks =
        |info: &&Info| KEYS.iter().any(|key| info.is(key)) && !(info.is(sys::PMIX_DEBUGGER_DAEMONS) && is_off(info));
    let Some(first) = all().find(speaks) else { return Ok(None) };
    if !info.iter().any(|info| speaks(&info)) && !apps.iter().all(|app| app.info.iter().any(|info| speaks(&info))) {
        return Err(Refused::Malformed(format!("{}: daemons and other programs cannot be one job", first.key)));
    }
    if let Some(info) = all().find(|info| NODES.iter().any(|key| info.is(key))) {
        return Err(Refused::Malformed(format!("{}: daemons run on the nodes of their target", info.key)));
    }
    let mut targets = Vec::new();
    for info in all() {
        add_targets(info, dvm, &mut targets)?;
    }
    if targets.is_empty() {
        return Err(Refused::Malformed(format!("{}: pmix.dbg.tgt has to name the job to debug", first.key)));
    }
    Ok(Some(Beside { targets, each: each(all(), map)? }))
}

/// Reads the number of processes: the keys, or a mapping as `ppr:N:node`, or one for each node.
fn each<'a>(all: impl Iterator<Item = &'a Info>, map: &MapRequest) -> Result<Each, Refused> {
    let per_node = [sys::PMIX_DEBUG_DAEMONS_PER_NODE, sys::PMIX_COLOCATE_NPERNODE];
    let per_proc = [sys::PMIX_DEBUG_DAEMONS_PER_PROC, sys::PMIX_COLOCATE_NPERPROC];
    let mut said = None;
    for info in all {
        let of = match () {
            () if per_node.iter().any(|key| info.is(key)) => Each::Node,
            () if per_proc.iter().any(|key| info.is(key)) => Each::Proc,
            () => continue,
        };
        let number = info.value.as_i64().and_then(|n| u16::try_from(n).ok()).filter(|n| *n > 0);
        let each = of(number.ok_or_else(|| Refused::Malformed(format!("{}: no number of processes", info.key)))?);
        if said.is_some_and(|before| before != each) {
            return Err(Refused::Malformed(format!("{}: contradicts another number of processes", info.key)));
        }
        said = Some(each);
    }
    let mapped = match map.by {
        None => None,
        Some(MapBy::PerNode(times)) => u16::try_from(times).ok().map(Each::Node),
        Some(_) => return Err(Refused::NotSupported("pmix.mapby: daemons are placed with their target")),
    };
    if map.bind_to.is_some_and(|bind| bind != BindTo::None) {
        return Err(Refused::NotSupported("pmix.bindto: daemons beside a target are not bound"));
    }
    Ok(said.or(mapped).unwrap_or(Each::Node(1)))
}

/// Adds the processes that an info names; a wildcard stands for its whole job.
fn add_targets(info: &Info, dvm: &str, targets: &mut Vec<(JobId, Vec<Rank>)>) -> Result<(), Refused> {
    let procs = match &info.value {
        _ if ![sys::PMIX_DEBUG_TARGET, sys::PMIX_DEBUG_JOB, sys::PMIX_COLOCATE_PROCS]
            .iter()
            .any(|key| info.is(key)) =>
        {
            return Ok(());
        }
        Value::Proc(proc) => vec![proc.clone()],
        Value::Procs(procs) => procs.clone(),
        Value::String(nspace) => vec![Proc::new(nspace, Proc::WILDCARD)],
        _ => return Err(Refused::Malformed(format!("{}: no names of processes", info.key))),
    };
    for proc in procs {
        let job = job_of(&proc.nspace, dvm)
            .ok_or_else(|| Refused::Malformed(format!("{}: {:?} is no job of this DVM", info.key, proc.nspace)))?;
        let rank = (proc.rank != Proc::WILDCARD).then_some(Rank(proc.rank));
        match (targets.iter_mut().find(|(of, _)| *of == job), rank) {
            (Some((_, ranks)), Some(rank)) if !ranks.is_empty() && !ranks.contains(&rank) => ranks.push(rank),
            (Some(_), Some(_)) => {}
            (Some((_, ranks)), None) => ranks.clear(),
            (None, rank) => targets.push((job, rank.into_iter().collect())),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::placing::tests::info;
    use super::super::spawn;
    use super::*;

    fn app(info: Vec<Info>) -> App {
        App { argv: vec!["a".to_owned()], arg0: None, env: Vec::new(), cwd: None, maxprocs: 1, info, required: vec![] }
    }

    fn of(job: &[Info], own: Vec<Info>) -> Result<Option<Beside>, Refused> {
        spawn::wish(job, &[], &[app(own)], "/", "d").map(|wish| wish.spec.beside)
    }

    fn target(rank: u32) -> Info {
        info("pmix.dbg.tgt", Value::Proc(Proc::new("d@3", rank)))
    }

    fn beside(ranks: &[u32], each: Each) -> Beside {
        Beside { targets: vec![(JobId(3), ranks.iter().copied().map(Rank).collect())], each }
    }

    #[test]
    fn daemons_of_a_debugger_have_a_target_and_a_number() {
        let daemons = || info("pmix.debugger", true);
        let whole = target(Proc::WILDCARD);
        assert_eq!(of(&[], vec![]), Ok(None));
        assert_eq!(of(&[info("pmix.debugger", false)], vec![]), Ok(None));
        assert_eq!(of(&[daemons(), whole.clone()], vec![]), Ok(Some(beside(&[], Each::Node(1)))));
        let per_node = [daemons(), whole.clone(), info("pmix.dbg.dpnd", 2u16)];
        assert_eq!(of(&per_node, vec![]), Ok(Some(beside(&[], Each::Node(2)))));
        let of_app = vec![daemons(), target(4), info("pmix.dbg.dpproc", 1u16)];
        assert_eq!(of(&[], of_app), Ok(Some(beside(&[4], Each::Proc(1)))));
        let older = [info("pmix.mapby", "ppr:3:node"), daemons(), info("pmix.dbg.job", "d@3")];
        assert_eq!(of(&older, vec![]), Ok(Some(beside(&[], Each::Node(3)))));
        let procs = Value::Procs(vec![Proc::new("d@3", 2), Proc::new("d@3", 5), Proc::new("d@3", 2)]);
        let placed = [info("pmix.colproc", procs), info("pmix.colnum.proc", 1u16)];
        assert_eq!(of(&placed, vec![]), Ok(Some(beside(&[2, 5], Each::Proc(1)))));
    }

    #[test]
    fn what_does_not_go_with_daemons_is_refused() {
        let whole = || target(Proc::WILDCARD);
        let node = || info("pmix.dbg.dpnd", 1u16);
        for (job, own, cause) in [
            (vec![info("pmix.debugger", true)], vec![], "has to name the job"),
            (vec![info("pmix.dbg.tgt", Value::Proc(Proc::new("other@3", 0)))], vec![], "no job of this DVM"),
            (vec![whole(), node(), info("pmix.dbg.dpproc", 1u16)], vec![], "contradicts"),
            (vec![whole(), info("pmix.dbg.dpnd", 0u16)], vec![], "no number of processes"),
            (vec![whole(), info("pmix.mapby", "core")], vec![], "placed with their target"),
            (vec![whole(), info("pmix.bindto", "core")], vec![], "are not bound"),
            (vec![whole()], vec![info("pmix.host", "n1")], "on the nodes of their target"),
            (vec![], vec![info("pmix.cospawn", true)], "a call of its own"),
        ] {
            let told = of(&job, own).unwrap_err().to_string();
            assert!(told.contains(cause), "{told}");
        }
        let apps = [app(vec![whole()]), app(vec![])];
        let told = spawn::wish(&[], &[], &apps, "/", "d").unwrap_err().to_string();
        assert!(told.contains("cannot be one job"), "{told}");
    }
}
