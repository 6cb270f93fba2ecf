//! PMIx events as the library and the machine know them: the failure of a process for the survivors of its job, events
//! that processes and tools raise, and those of the DVM. Pure; only [`super::PmixBridge`] and its parts use it.

use bytes::Bytes;
use ferrite_pmix::{Audience, Info, Notice, Proc, Status, Value};
use ferrite_pmix_sys as sys;
use ferrite_types::pmix_status::PMIX_EVENT_PROC_TERMINATED;
use ferrite_types::{JobId, PmixStatus, ProcId, ProcState, Rank};
use ferrite_wire::{EventInfo, EventRange, EventSource, GrowthOffer, PmixEvent, ProcFailure, ToolName, Withdrawal};

use super::control::job_of;

/// Returns an event that a process or a tool has raised, and its addressees. `None` for the range of the resource
/// manager, whose events end here.
///
/// # Errors
/// An event without addressees, or that cannot be encoded.
pub(super) fn raised(
    dvm: &str,
    source: EventSource,
    code: Status,
    range: u8,
    info: &[Info],
) -> Result<Option<(Box<PmixEvent>, EventRange)>, Status> {
    let range = match u32::from(range) {
        sys::PMIX_RANGE_RM => return Ok(None),
        sys::PMIX_RANGE_UNDEF | sys::PMIX_RANGE_GLOBAL => EventRange::Everyone,
        sys::PMIX_RANGE_SESSION => EventRange::Session,
        sys::PMIX_RANGE_NAMESPACE => match &source {
            EventSource::Proc(proc) => EventRange::Job(proc.job),
            EventSource::Tool(tool) => {
                let all = ToolName { nspace: tool.nspace.clone(), rank: None };
                EventRange::Named { procs: Vec::new(), tools: vec![all] }
            }
            EventSource::Dvm => return Err(Status::BAD_PARAM),
        },
        sys::PMIX_RANGE_CUSTOM => named(dvm, info).ok_or(Status::BAD_PARAM)?,
        // The library has told all of its own node.
        sys::PMIX_RANGE_LOCAL | sys::PMIX_RANGE_PROC_LOCAL => return Ok(None),
        _ => return Err(Status::BAD_PARAM),
    };
    // Each addressee gets the event in its own name.
    let info: Vec<&Info> = info.iter().filter(|info| !info.is(sys::PMIX_EVENT_CUSTOM_RANGE)).collect();
    let info = postcard::to_stdvec(&info).map_err(|_| Status::BAD_PARAM)?;
    let event = PmixEvent { code: PmixStatus(code.0), source, info: EventInfo::Raised(Bytes::from(info)) };
    Ok(Some((Box::new(event), range)))
}

/// Returns those that a custom range names.
fn named(dvm: &str, info: &[Info]) -> Option<EventRange> {
    let value = info.iter().find(|info| info.is(sys::PMIX_EVENT_CUSTOM_RANGE)).map(|info| &info.value)?;
    let all = match value {
        Value::Proc(proc) => std::slice::from_ref(proc),
        Value::Procs(procs) => procs.as_slice(),
        _ => return None,
    };
    let (mut procs, mut tools): (Vec<(JobId, Vec<Rank>)>, Vec<ToolName>) = Default::default();
    for proc in all {
        let rank = Some(proc.rank).filter(|rank| *rank != Proc::WILDCARD);
        let Some(job) = job_of(&proc.nspace, dvm) else {
            tools.push(ToolName { nspace: proc.nspace.clone(), rank });
            continue;
        };
        match (procs.iter_mut().find(|(of, _)| *of == job), rank) {
            (Some((_, ranks)), Some(rank)) if !ranks.is_empty() => ranks.push(Rank(rank)),
            (Some((_, ranks)), None) => ranks.clear(),
            // The whole job is named already.
            (Some(_), Some(_)) => {}
            (None, rank) => procs.push((job, rank.into_iter().map(Rank).collect())),
        }
    }
    Some(EventRange::Named { procs, tools })
}

/// Returns an event for the library, yet without addressees; `server` stands for the DVM. `None` for infos of another
/// build. An event about a change of size names its nodes, allocation and request (spec E50). News of a job or a
/// process go to those alone who have registered for them: with libpmix 7 Open MPI's handler for everything else, which
/// ends its process, would hear them as well (spec L62).
pub(super) fn notice(dvm: &str, server: Proc, event: &PmixEvent) -> Option<Notice> {
    let name = |proc: &ProcId| Proc::new(proc.job.nspace(dvm), proc.rank.0);
    let source = match &event.source {
        // The debuggers of PRRTE take the begin and the end of a job from the job alone.
        EventSource::Dvm => match &event.info {
            EventInfo::Job { job, .. } => Proc::new(job.nspace(dvm), Proc::WILDCARD),
            _ => server,
        },
        EventSource::Proc(proc) => name(proc),
        EventSource::Tool(tool) => Proc::new(&tool.nspace, tool.rank.unwrap_or(Proc::WILDCARD)),
    };
    let affected = |proc| Info::new(sys::PMIX_EVENT_AFFECTED_PROC, Value::Proc(proc));
    let ended = |code: &Option<u8>| code.map(|code| Info::new(sys::PMIX_EXIT_CODE, Value::Int(code.into())));
    let quiet = || Info::new(sys::PMIX_EVENT_NON_DEFAULT, true);
    let is_news = matches!(event.info, EventInfo::Job { .. }) || event.code == PMIX_EVENT_PROC_TERMINATED;
    let news = is_news.then(quiet);
    let info = match &event.info {
        EventInfo::Raised(bytes) => postcard::from_bytes(bytes).ok()?,
        EventInfo::Job { job, code } => {
            let whole = affected(Proc::new(job.nspace(dvm), Proc::WILDCARD));
            let term = code.map(|code| Info::new(sys::PMIX_JOB_TERM_STATUS, Value::Status(Status(code.into()))));
            [news, Some(whole), term, ended(code)].into_iter().flatten().collect()
        }
        EventInfo::Proc { proc, code } => {
            [news, Some(affected(name(proc))), ended(code)].into_iter().flatten().collect()
        }
        EventInfo::Withdrawal(notice) => {
            let Withdrawal { job, ranks, nodes, of_procs: _, seconds, alloc_id, req_id } = &**notice;
            let nspace = job.nspace(dvm);
            let ranks = ranks.iter().map(|rank| Proc::new(&nspace, rank.0)).collect();
            let mut info = vec![
                // Open MPI's handler for everything else ends the process.
                quiet(),
                Info::new(sys::PMIX_EVENT_AFFECTED_PROCS, Value::Procs(ranks)),
                Info::new(sys::PMIX_ALLOC_NODE_LIST, nodes.join(",").as_str()),
                Info::new(sys::PMIX_TIME_REMAINING, *seconds),
                Info::new(sys::PMIX_ALLOC_ID, &**alloc_id),
            ];
            info.extend(req_id.iter().map(|id| Info::new(sys::PMIX_ALLOC_REQ_ID, &**id)));
            info
        }
        EventInfo::Growth(offer) => {
            let GrowthOffer { root: _, procs, slots, seconds, alloc_id, req_id } = &**offer;
            let nodes: Vec<&str> = slots.iter().map(|(node, _)| node.as_str()).collect();
            vec![
                // Open MPI's handler for everything else ends the process.
                quiet(),
                Info::new(sys::PMIX_NUM_SLOTS, *procs),
                Info::new(sys::PMIX_ALLOC_NODE_LIST, nodes.join(",").as_str()),
                Info::new(sys::PMIX_TIME_REMAINING, *seconds),
                Info::new(sys::PMIX_ALLOC_ID, &**alloc_id),
                Info::new(sys::PMIX_ALLOC_REQ_ID, &**req_id),
            ]
        }
        EventInfo::Member { group, proc } => {
            vec![affected(name(proc)), Info::new(sys::PMIX_GROUP_ID, group.as_str())]
        }
    };
    Some(Notice { code: Status(event.code.0), source, to: Audience::Procs(Vec::new()), info })
}

/// Returns the members of a group that this event announces: all of its addressees.
pub(super) fn members(dvm: &str, event: &PmixEvent, range: &EventRange) -> Option<Vec<Proc>> {
    let EventRange::Named { procs, tools } = range else { return None };
    if event.code.0 != sys::PMIX_GROUP_CONSTRUCT_COMPLETE {
        return None;
    }
    let of_job = |(job, ranks): &(JobId, Vec<Rank>)| {
        let nspace = job.nspace(dvm);
        let all = ranks.is_empty().then(|| Proc::new(&nspace, Proc::WILDCARD));
        let some: Vec<Proc> = ranks.iter().map(|rank| Proc::new(&nspace, rank.0)).collect();
        some.into_iter().chain(all)
    };
    let of_tools = tools.iter().map(|tool| Proc::new(&tool.nspace, tool.rank.unwrap_or(Proc::WILDCARD)));
    Some(procs.iter().flat_map(of_job).chain(of_tools).collect())
}

/// Returns the events for these ranks. Their source is the server that reports them, as in the standard;
/// `PMIX_EVENT_AFFECTED_PROC` names the failed process. Empty for a state that is no failure.
///
/// A process that leaves with a non-zero code and without PMIx_Finalize has two events: the code, and the missing
/// synchronisation. Open MPI's ULFM hears the second alone.
///
/// Every rank is named: with a wildcard libpmix 4.2 may forget the event before a process registers for it.
pub(super) fn failure(server: Proc, nspace: &str, failed: &ProcFailure, to: &[Rank]) -> Vec<Notice> {
    let affected = Proc::new(nspace, failed.rank.0);
    let mut info = vec![Info::new(sys::PMIX_EVENT_AFFECTED_PROC, Value::Proc(affected))];
    if let Some(code) = failed.code {
        info.push(Info::new(sys::PMIX_EXIT_CODE, Value::Int(code.into())));
    }
    let to: Vec<Proc> = to.iter().map(|rank| Proc::new(nspace, rank.0)).collect();
    let has_left = failed.without_finalize && failed.state == ProcState::TermNonZero;
    let codes = code(failed.state).into_iter().chain(has_left.then_some(Status::PROC_TERM_WO_SYNC));
    let notice = |code| Notice { code, source: server.clone(), to: Audience::Procs(to.clone()), info: info.clone() };
    codes.map(notice).collect()
}

/// Returns the event for a debugger: all processes of a job wait for it. The processes are named as those affected.
pub(super) fn ready_for_debug(server: Proc, to: Proc, job: Proc) -> Notice {
    // The debuggers of PRRTE listen for events about their server, others for those about the job.
    let servers = Proc::new(server.nspace.clone(), Proc::WILDCARD);
    let info = vec![
        Info::new(sys::PMIX_EVENT_NON_DEFAULT, true),
        Info::new(sys::PMIX_NSPACE, Value::String(job.nspace.clone())),
        Info::new(sys::PMIX_EVENT_AFFECTED_PROCS, Value::Procs(vec![job, servers])),
    ];
    Notice { code: Status::READY_FOR_DEBUG, source: server, to: Audience::Procs(vec![to]), info }
}

/// Returns the event that lets a process go on which waits for a debugger.
pub(super) fn release(server: Proc, proc: Proc) -> Notice {
    let info = vec![Info::new(sys::PMIX_EVENT_NON_DEFAULT, true)];
    Notice { code: Status::DEBUGGER_RELEASE, source: server, to: Audience::Procs(vec![proc]), info }
}

/// Returns the processes that a debugger lets go on, by namespace; `None` = all of it. A release without names
/// (`PMIX_EVENT_CUSTOM_RANGE`) is for nobody: there may be several jobs.
pub(super) fn release_of(info: &[Info]) -> Vec<(String, Option<Vec<Rank>>)> {
    let range = info.iter().find(|info| info.is(sys::PMIX_EVENT_CUSTOM_RANGE)).map(|info| &info.value);
    let named: Vec<&Proc> = match range {
        Some(Value::Proc(proc)) => vec![proc],
        Some(Value::Procs(procs)) => procs.iter().collect(),
        _ => Vec::new(),
    };
    let mut found: Vec<(String, Option<Vec<Rank>>)> = Vec::new();
    for proc in named {
        let at = found.iter().position(|(nspace, _)| *nspace == proc.nspace).unwrap_or_else(|| {
            found.push((proc.nspace.clone(), Some(Vec::new())));
            found.len() - 1
        });
        match &mut found[at].1 {
            ranks if proc.rank == Proc::WILDCARD => *ranks = None,
            Some(ranks) => ranks.push(Rank(proc.rank)),
            None => {}
        }
    }
    found
}

fn code(state: ProcState) -> Option<Status> {
    Some(match state {
        ProcState::TermNonZero => Status::EXIT_NONZERO_TERM,
        ProcState::AbortedBySig => Status::PROC_ABORTED_BY_SIG,
        ProcState::TermWoSync => Status::PROC_TERM_WO_SYNC,
        ProcState::CalledAbort => Status::PROC_REQUESTED_ABORT,
        ProcState::KilledByCmd => Status::PROC_KILLED_BY_CMD,
        ProcState::FailedToStart => Status::PROC_FAILED_TO_START,
        // The cause may be the node or its daemon alone; the DVM cannot tell.
        ProcState::CommFailed => Status::COMM_FAILURE,
        ProcState::Init
        | ProcState::Running
        | ProcState::Registered
        | ProcState::IofComplete
        | ProcState::WaitpidFired
        | ProcState::ReadyForDebug
        | ProcState::Unterminated
        | ProcState::Terminated
        | ProcState::Error => return None,
    })
}

#[cfg(test)]
mod tests {
    use ferrite_types::pmix_status::{FERRITE_GROWTH_OFFERED, PMIX_ALLOC_TIMEOUT_WARNING};

    use super::*;

    fn events(state: ProcState, code: Option<u8>, without_finalize: bool) -> Vec<Notice> {
        let failed = ProcFailure { rank: Rank(3), state, code, without_finalize };
        failure(Proc::new("d@0", 2), "d@1", &failed, &[Rank(0), Rank(2)])
    }

    #[test]
    fn an_event_names_the_failed_process_and_everybody_who_is_to_hear_it() {
        let notices = events(ProcState::AbortedBySig, Some(137), true);
        let [notice] = &notices[..] else { panic!("{notices:?}") };
        assert_eq!((notice.code, notice.source.clone()), (Status::PROC_ABORTED_BY_SIG, Proc::new("d@0", 2)));
        assert_eq!(notice.to, Audience::Procs(vec![Proc::new("d@1", 0), Proc::new("d@1", 2)]));
        let affected = Info::new(sys::PMIX_EVENT_AFFECTED_PROC, Value::Proc(Proc::new("d@1", 3)));
        assert_eq!(notice.info, [affected, Info::new(sys::PMIX_EXIT_CODE, Value::Int(137))]);
    }

    /// Debuggers restrict themselves to the job, or to their server.
    #[test]
    fn who_waits_for_a_debugger_is_told_with_the_job_and_the_servers() {
        let notice = ready_for_debug(Proc::new("d@0", 2), Proc::new("tool", 0), Proc::new("d@1", Proc::WILDCARD));
        let affected = notice.info.iter().find(|info| info.is(sys::PMIX_EVENT_AFFECTED_PROCS)).expect("the affected");
        let both = ["d@1", "d@0"].map(|nspace| Proc::new(nspace, Proc::WILDCARD));
        assert_eq!(affected.value, Value::Procs(both.to_vec()));
    }

    #[test]
    fn a_process_that_leaves_with_a_code_and_without_finalize_has_two_events() {
        let codes = |without_finalize| -> Vec<Status> {
            let notices = events(ProcState::TermNonZero, Some(3), without_finalize);
            notices.into_iter().map(|notice| notice.code).collect()
        };
        assert_eq!(codes(true), [Status::EXIT_NONZERO_TERM, Status::PROC_TERM_WO_SYNC]);
        assert_eq!(codes(false), [Status::EXIT_NONZERO_TERM]);
    }

    /// An event names nodes, allocation and request (spec E50).
    #[test]
    fn a_notice_of_withdrawal_names_nodes_allocation_and_request() {
        let withdrawal = Withdrawal {
            job: JobId(1),
            ranks: vec![Rank(2)],
            nodes: vec!["n1".to_owned(), "n2".to_owned()],
            of_procs: false,
            seconds: 30,
            alloc_id: "a1".into(),
            req_id: Some("mine".into()),
        };
        let (code, info) = (PMIX_ALLOC_TIMEOUT_WARNING, EventInfo::Withdrawal(Box::new(withdrawal)));
        let event = PmixEvent { code, source: EventSource::Dvm, info };
        let notice = notice("d", Proc::new("d@0", 2), &event).unwrap();
        let named = [
            Info::new(sys::PMIX_ALLOC_NODE_LIST, "n1,n2"),
            Info::new(sys::PMIX_ALLOC_ID, "a1"),
            Info::new(sys::PMIX_ALLOC_REQ_ID, "mine"),
        ];
        assert!(named.iter().all(|info| notice.info.contains(info)), "{:?}", notice.info);
    }

    /// (spec E54)
    #[test]
    fn an_offer_says_how_many_processes_where_and_how_long() {
        let offer = GrowthOffer {
            root: JobId(1),
            procs: 3,
            slots: vec![("n1".to_owned(), 2), ("n2".to_owned(), 1)],
            seconds: 30,
            alloc_id: "a1".into(),
            req_id: "resize-4".into(),
        };
        let info = EventInfo::Growth(Box::new(offer));
        let event = PmixEvent { code: FERRITE_GROWTH_OFFERED, source: EventSource::Dvm, info };
        let notice = notice("d", Proc::new("d@0", 2), &event).unwrap();
        let named = [
            Info::new(sys::PMIX_NUM_SLOTS, 3_u32),
            Info::new(sys::PMIX_ALLOC_NODE_LIST, "n1,n2"),
            Info::new(sys::PMIX_TIME_REMAINING, 30_u32),
            Info::new(sys::PMIX_ALLOC_ID, "a1"),
            Info::new(sys::PMIX_ALLOC_REQ_ID, "resize-4"),
        ];
        assert!(named.iter().all(|info| notice.info.contains(info)), "{:?}", notice.info);
    }

    #[test]
    fn a_raised_event_goes_to_its_range_and_comes_out_as_it_went_in() {
        let source = EventSource::Proc(ProcId { job: JobId(1), rank: Rank(3) });
        let raise = |range: u32, info: &[Info]| raised("d", source.clone(), Status(-3000), range as u8, info);
        let range_of = |range, info: &[Info]| raise(range, info).map(|event| event.map(|(_, range)| range));
        assert_eq!(range_of(sys::PMIX_RANGE_RM, &[]), Ok(None));
        for range in [sys::PMIX_RANGE_UNDEF, sys::PMIX_RANGE_GLOBAL] {
            assert_eq!(range_of(range, &[]), Ok(Some(EventRange::Everyone)));
        }
        assert_eq!(range_of(sys::PMIX_RANGE_SESSION, &[]), Ok(Some(EventRange::Session)));
        assert_eq!(range_of(sys::PMIX_RANGE_NAMESPACE, &[]), Ok(Some(EventRange::Job(JobId(1)))));
        assert_eq!(range_of(sys::PMIX_RANGE_CUSTOM, &[]), Err(Status::BAD_PARAM), "nobody is named");
        assert_eq!(range_of(sys::PMIX_RANGE_INVALID, &[]), Err(Status::BAD_PARAM));

        let all =
            [("d@1", 0), ("d@2", 1), ("t", 4), ("d@1", 2), ("d@2", Proc::WILDCARD), ("d@2", 0), ("u", Proc::WILDCARD)];
        let all = all.map(|(nspace, rank)| Proc::new(nspace, rank)).to_vec();
        let info =
            [Info::new(c"k", 7u32), Info::new(sys::PMIX_EVENT_CUSTOM_RANGE, Value::Procs(all)), Info::new(c"l", "x")];
        let (event, range) = raise(sys::PMIX_RANGE_CUSTOM, &info).unwrap().unwrap();
        let tool = |nspace: &str, rank| ToolName { nspace: nspace.to_owned(), rank };
        let procs = vec![(JobId(1), vec![Rank(0), Rank(2)]), (JobId(2), Vec::new())];
        assert_eq!(range, EventRange::Named { procs, tools: vec![tool("t", Some(4)), tool("u", None)] });
        let notice = notice("d", Proc::new("d@0", 2), &event).unwrap();
        assert_eq!((notice.code, notice.source), (Status(-3000), Proc::new("d@1", 3)));
        assert_eq!(notice.info, [info[0].clone(), info[2].clone()]);
    }

    #[test]
    fn the_announcement_of_a_group_names_all_of_its_members() {
        let event = |code| PmixEvent {
            code: PmixStatus(code),
            source: EventSource::Dvm,
            info: EventInfo::Raised(Bytes::new()),
        };
        let procs = vec![(JobId(1), vec![Rank(0), Rank(2)]), (JobId(2), Vec::new())];
        let range = EventRange::Named { procs, tools: vec![ToolName { nspace: "t".to_owned(), rank: Some(4) }] };
        let all = [("d@1", 0), ("d@1", 2), ("d@2", Proc::WILDCARD), ("t", 4)];
        let all = all.map(|(nspace, rank)| Proc::new(nspace, rank)).to_vec();
        assert_eq!(members("d", &event(sys::PMIX_GROUP_CONSTRUCT_COMPLETE), &range), Some(all));
        assert_eq!(members("d", &event(-3000), &range), None, "another event has a copy for each");
        assert_eq!(members("d", &event(sys::PMIX_GROUP_CONSTRUCT_COMPLETE), &EventRange::Everyone), None);
    }

    /// News are for those who have registered for them, and failures for everybody (spec L62).
    #[test]
    fn an_event_of_the_dvm_names_the_job_or_process_and_its_end() {
        let coded = |code, info| notice("d", Proc::new("d@0", 2), &PmixEvent { code, source: EventSource::Dvm, info });
        let of = |info| coded(PmixStatus(-1), info);
        let quiet = Info::new(sys::PMIX_EVENT_NON_DEFAULT, true);
        let job = of(EventInfo::Job { job: JobId(3), code: None }).unwrap();
        assert_eq!((job.source, job.info.len()), (Proc::new("d@3", Proc::WILDCARD), 2));
        assert!(job.info.contains(&quiet));
        let end = EventInfo::Proc { proc: ProcId { job: JobId(3), rank: Rank(1) }, code: Some(0) };
        assert!(coded(PMIX_EVENT_PROC_TERMINATED, end).unwrap().info.contains(&quiet));
        let proc = ProcId { job: JobId(3), rank: Rank(1) };
        let ended = of(EventInfo::Proc { proc, code: Some(7) }).unwrap();
        let affected = Info::new(sys::PMIX_EVENT_AFFECTED_PROC, Value::Proc(Proc::new("d@3", 1)));
        assert_eq!(ended.info, [affected.clone(), Info::new(sys::PMIX_EXIT_CODE, Value::Int(7))]);
        let member = of(EventInfo::Member { group: "g".to_owned(), proc }).unwrap();
        assert_eq!(member.info, [affected, Info::new(sys::PMIX_GROUP_ID, "g")]);
    }

    #[test]
    fn a_release_names_processes_or_whole_jobs() {
        let range = |value| release_of(&[Info::new(sys::PMIX_EVENT_CUSTOM_RANGE, value)]);
        let job = || "d@1".to_owned();
        assert_eq!(range(Value::Proc(Proc::new("d@1", Proc::WILDCARD))), [(job(), None)]);
        let some = vec![Proc::new("d@1", 2), Proc::new("d@2", Proc::WILDCARD), Proc::new("d@1", 4)];
        let ranks = Some(vec![Rank(2), Rank(4)]);
        assert_eq!(range(Value::Procs(some)), [(job(), ranks), ("d@2".to_owned(), None)]);
        assert_eq!(release_of(&[]), []);
        let event = release(Proc::new("d@0", 0), Proc::new("d@1", 3));
        assert_eq!((event.code, event.to), (Status::DEBUGGER_RELEASE, Audience::Procs(vec![Proc::new("d@1", 3)])));
    }

    #[test]
    fn no_exit_code_is_made_up_for_a_process_whose_end_nobody_saw() {
        let notices = events(ProcState::CommFailed, None, false);
        let [notice] = &notices[..] else { panic!("{notices:?}") };
        assert_eq!((notice.code, notice.info.len()), (Status::COMM_FAILURE, 1));
    }

    #[test]
    fn every_error_state_has_a_code_of_its_own_and_no_other_state_has_one() {
        let with_code = ProcState::ALL.iter().filter(|state| !events(**state, None, true).is_empty());
        let errors = ProcState::ALL.iter().filter(|state| state.is_error() && **state != ProcState::Error);
        assert!(with_code.eq(errors));
    }
}
