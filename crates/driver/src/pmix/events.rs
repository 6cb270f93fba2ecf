//! The failure of a process as a PMIx event for the survivors of its job. Pure; only [`super::PmixBridge`] uses it.

use ferrite_pmix::{Audience, Info, Notice, Proc, Status, Value};
use ferrite_pmix_sys as sys;
use ferrite_types::{ProcState, Rank};
use ferrite_wire::ProcFailure;

/// Returns the event for these ranks. Its source is the server that reports it, as in the standard;
/// `PMIX_EVENT_AFFECTED_PROC` names the failed process. `None` for a state that is no failure.
///
/// Every rank is named: with a wildcard libpmix 4.2 may forget the event before a process registers for it.
pub(super) fn failure(server: Proc, nspace: &str, failed: &ProcFailure, to: &[Rank]) -> Option<Notice> {
    let affected = Proc::new(nspace, failed.rank.0);
    let mut info = vec![Info::new(sys::PMIX_EVENT_AFFECTED_PROC, Value::Proc(affected))];
    if let Some(code) = failed.code {
        info.push(Info::new(sys::PMIX_EXIT_CODE, Value::Int(code.into())));
    }
    let to = to.iter().map(|rank| Proc::new(nspace, rank.0)).collect();
    Some(Notice { code: code(failed.state)?, source: server, to: Audience::Procs(to), info })
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
    use super::*;

    fn event(state: ProcState, code: Option<u8>) -> Option<Notice> {
        failure(Proc::new("d@0", 2), "d@1", &ProcFailure { rank: Rank(3), state, code }, &[Rank(0), Rank(2)])
    }

    #[test]
    fn an_event_names_the_failed_process_and_everybody_who_is_to_hear_it() {
        let notice = event(ProcState::AbortedBySig, Some(137)).unwrap();
        assert_eq!((notice.code, notice.source), (Status::PROC_ABORTED_BY_SIG, Proc::new("d@0", 2)));
        assert_eq!(notice.to, Audience::Procs(vec![Proc::new("d@1", 0), Proc::new("d@1", 2)]));
        let affected = Info::new(sys::PMIX_EVENT_AFFECTED_PROC, Value::Proc(Proc::new("d@1", 3)));
        assert_eq!(notice.info, [affected, Info::new(sys::PMIX_EXIT_CODE, Value::Int(137))]);
    }

    #[test]
    fn no_exit_code_is_made_up_for_a_process_whose_end_nobody_saw() {
        let notice = event(ProcState::CommFailed, None).unwrap();
        assert_eq!((notice.code, notice.info.len()), (Status::COMM_FAILURE, 1));
    }

    #[test]
    fn every_error_state_has_a_code_of_its_own_and_no_other_state_has_one() {
        let with_code = ProcState::ALL.iter().filter(|state| event(**state, None).is_some());
        let errors = ProcState::ALL.iter().filter(|state| state.is_error() && **state != ProcState::Error);
        assert!(with_code.eq(errors));
    }
}
