//! Every state of both tables, with its number, is entered where the specification says (docs/spec/launch.md), and no
//! table shows one that is not.

mod common;

use std::collections::BTreeSet;

use common::{Cluster, app, job, proc};
use ferrite_core::{
    AbortScope, DaemonInput, ERROR_STATES, HeadInput, HeadTimer, Input, LAUNCH_STATES, PmixCall, Timer,
};
use ferrite_types::*;
use ferrite_wire::control::{JobDetail, Reply, Request, Submission};
use ferrite_wire::{AddedHost, GrowRequest, ResizeRequest, SlotChange};

/// The job states that the specification names, and those of the field that jobs here enter besides.
const JOB_NUMBERS: &[(u8, &str)] = &[
    (1, "INIT"),
    (2, "INIT_COMPLETE"),
    (3, "ALLOCATE"),
    (4, "ALLOCATION_COMPLETE"),
    (5, "MAP"),
    (6, "MAP_COMPLETE"),
    (7, "SYSTEM_PREP"),
    (8, "LAUNCH_DAEMONS"),
    (9, "DAEMONS_LAUNCHED"),
    (10, "DAEMONS_REPORTED"),
    (11, "VM_READY"),
    (12, "LAUNCH_APPS"),
    (13, "SEND_LAUNCH_MSG"),
    (14, "RUNNING"),
    (16, "REGISTERED"),
    (17, "WAITING_FOR_DAEMONS"),
    (18, "LOCAL_LAUNCH_COMPLETE"),
    (19, "READY_FOR_DEBUG"),
    (20, "STARTED"),
    (31, "TERMINATED"),
    (32, "ALL_JOBS_COMPLETE"),
    (33, "DAEMONS_TERMINATED"),
    (34, "NOTIFY_COMPLETED"),
    (35, "NOTIFIED"),
    (51, "KILLED_BY_CMD"),
    (52, "ABORTED"),
    (53, "FAILED_TO_START"),
    (54, "ABORTED_BY_SIG"),
    (55, "ABORTED_WO_SYNC"),
    (56, "COMM_FAILED"),
    (59, "CALLED_ABORT"),
    (60, "NEVER_LAUNCHED"),
    (62, "NON_ZERO_TERM"),
    (64, "FORCED_EXIT"),
    (68, "ALLOC_FAILED"),
    (69, "MAP_FAILED"),
    (70, "CANNOT_LAUNCH"),
];

const PROC_NUMBERS: &[(u8, &str)] = &[
    (1, "INIT"),
    (4, "RUNNING"),
    (5, "REGISTERED"),
    (6, "IOF_COMPLETE"),
    (7, "WAITPID_FIRED"),
    (9, "READY_FOR_DEBUG"),
    (20, "TERMINATED"),
    (51, "KILLED_BY_CMD"),
    (53, "FAILED_TO_START"),
    (54, "ABORTED_BY_SIG"),
    (55, "TERM_WO_SYNC"),
    (56, "COMM_FAILED"),
    (58, "CALLED_ABORT"),
    (62, "TERM_NON_ZERO"),
];

/// A DVM of four nodes that is up and keeps running.
fn dvm() -> Cluster {
    let mut dvm = Cluster::build(4, &[("rml_base_radix", "2"), ("prte_elastic_mode", "1")], true);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    dvm
}

fn with(spec: JobSpec) -> Cluster {
    let mut dvm = dvm();
    dvm.submit(1, Submission::of(spec));
    dvm
}

fn surviving(np: u32) -> JobSpec {
    let mut spec = job("a.out", np);
    spec.map.by = Some(MapBy::Node);
    spec.options.recoverable = true;
    spec
}

fn call(dvm: &mut Cluster, rank: u32, call: fn(ProcId) -> PmixCall) {
    let (at, _) = dvm.running[&proc(rank)];
    dvm.input(at, Input::Daemon(DaemonInput::Pmix(call(proc(rank)))));
    dvm.run();
}

fn detail(dvm: &mut Cluster, id: u64) -> JobDetail {
    dvm.ask(id, Request::Job(JobId(1)));
    match dvm.reply(id) {
        Reply::Job(detail) => (**detail).clone(),
        other => panic!("{other:?}"),
    }
}

/// The states of job 1, of a DVM that can be asked for them.
fn walk(dvm: &mut Cluster) -> Vec<JobState> {
    detail(dvm, 100).states.into_iter().map(|(state, _)| state).collect()
}

fn fails(dvm: &mut Cluster) -> Vec<JobState> {
    walk(dvm).into_iter().filter(|state| state.is_error()).collect()
}

fn aborted() -> Cluster {
    let mut dvm = with(job("a.out", 4));
    dvm.abort(1, 3, AbortScope::Job);
    dvm
}

fn aborted_alone() -> Cluster {
    let mut dvm = with(surviving(2));
    dvm.abort(1, 3, AbortScope::Caller);
    dvm.exit_all();
    dvm
}

fn elsewhere() -> Cluster {
    let mut spec = job("a.out", 1);
    spec.apps[0].hosts.hosts = vec![HostRef::Host(HostEntry::named("elsewhere"))];
    with(spec)
}

fn too_many() -> Cluster {
    let mut spec = job("a.out", 100);
    spec.map.oversubscribe = Some(false);
    with(spec)
}

fn of_two(missing: &str, unlucky: &[u32]) -> Cluster {
    let mut dvm = dvm();
    dvm.missing.insert(missing.to_owned());
    dvm.unlucky.extend(unlucky.iter().copied().map(Rank));
    let mut spec = JobSpec::new(vec![app("good", 2), app("bad", 2)]);
    spec.map.by = Some(MapBy::Node);
    dvm.submit(1, Submission::of(spec));
    dvm
}

fn never_launched() -> Cluster {
    let mut dvm = dvm();
    dvm.silent_nodes.insert("m0".to_owned());
    let hosts = vec![AddedHost { host: HostEntry::named("m0"), slots: SlotChange::Unstated }];
    let wish = GrowRequest { hosts, ..GrowRequest::default() };
    dvm.ask(2, Request::Resize(Box::new(ResizeRequest::Grow(wish))));
    dvm.submit(1, Submission::of(job("a.out", 1)));
    dvm.fire(0, Timer::Head(HeadTimer::Campaign(CampaignId(1))));
    dvm
}

fn killed() -> Cluster {
    let mut dvm = with(job("a.out", 2));
    dvm.ask(2, Request::Kill(JobId(1)));
    dvm
}

fn ended(status: ExitStatus) -> Cluster {
    let mut dvm = with(job("a.out", 2));
    dvm.exit_proc(0, status);
    dvm
}

fn left() -> Cluster {
    let mut dvm = with(job("a.out", 1));
    call(&mut dvm, 0, PmixCall::ClientConnected);
    dvm.exit_proc(0, ExitStatus::Exited(0));
    dvm
}

fn lost() -> Cluster {
    let mut dvm = with(surviving(4));
    dvm.crash(3);
    dvm
}

/// A run from the start of the DVM to its end, with processes that register and wait for a debugger.
fn whole() -> Cluster {
    let mut dvm = Cluster::with_job(3, &[], job("a.out", 3));
    for said in [PmixCall::ClientConnected, PmixCall::ReadyForDebug, PmixCall::ClientFinalized] {
        (0..3).for_each(|rank| call(&mut dvm, rank, said));
    }
    dvm.exit_all();
    dvm
}

fn forced() -> Cluster {
    let mut dvm = with(job("a.out", 1));
    (0..3).for_each(|_| dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::Interrupt)));
    dvm.run();
    dvm
}

fn everything() -> Vec<Cluster> {
    let mut lost = lost();
    lost.exit_all();
    vec![
        whole(),
        aborted(),
        aborted_alone(),
        elsewhere(),
        too_many(),
        of_two("bad", &[]),
        never_launched(),
        killed(),
        ended(ExitStatus::Exited(3)),
        ended(ExitStatus::Signaled(Signal::KILL)),
        left(),
        lost,
        forced(),
    ]
}

#[test]
fn every_state_has_the_number_of_the_field_and_is_entered() {
    let jobs = JobState::ALL.iter().filter(|state| !JobState::BOUNDARIES.contains(state));
    let jobs: Vec<_> = jobs.map(|state| (state.number(), state.name())).collect();
    assert_eq!(jobs, JOB_NUMBERS);
    let procs = ProcState::ALL.iter().filter(|state| !ProcState::BOUNDARIES.contains(state));
    let procs: Vec<_> = procs.map(|state| (state.number(), state.name())).collect();
    assert_eq!(procs, PROC_NUMBERS);

    let all = everything();
    let entered: BTreeSet<&str> =
        all.iter().flat_map(|dvm| &dvm.transitions).filter_map(|line| line.split(' ').nth(1)).collect();
    let missing: Vec<_> = JOB_NUMBERS.iter().filter(|(_, name)| !entered.contains(name)).collect();
    assert_eq!(missing, Vec::<&(u8, &str)>::new());

    let mut entered: BTreeSet<ProcState> = all.iter().flat_map(|dvm| dvm.proc_states.iter().copied()).collect();
    entered.extend(detail(&mut lost(), 100).procs.iter().map(|proc| proc.state));
    // A process begins in the first.
    let missing = PROC_NUMBERS.iter().filter(|(number, _)| {
        *number != ProcState::Init.number() && !entered.iter().any(|state| state.number() == *number)
    });
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&(u8, &str)>::new());
}

#[test]
fn the_tables_show_each_state_that_is_entered_once_and_no_other() {
    let shown: Vec<JobState> = LAUNCH_STATES.iter().chain(ERROR_STATES).map(|(state, _)| *state).collect();
    let once: BTreeSet<JobState> = shown.iter().copied().collect();
    assert_eq!(shown.len(), once.len());
    let numbers: Vec<_> = once.iter().map(|state| (state.number(), state.name())).collect();
    assert_eq!(numbers, JOB_NUMBERS);
    assert!(LAUNCH_STATES.iter().all(|(state, _)| !state.is_error()));
    assert!(ERROR_STATES.iter().all(|(state, _)| state.is_error()));
}

#[test]
fn each_failure_has_the_state_of_the_seed() {
    use JobState::*;
    assert_eq!(fails(&mut aborted()), [Aborted]);
    assert_eq!(fails(&mut aborted_alone()), [CalledAbort]);
    assert_eq!(fails(&mut elsewhere()), [AllocFailed]);
    assert_eq!(fails(&mut too_many()), [MapFailed]);
    assert_eq!(fails(&mut never_launched()), [NeverLaunched]);
    assert_eq!(fails(&mut killed()), [KilledByCmd]);
    assert_eq!(fails(&mut ended(ExitStatus::Exited(3))), [NonZeroTerm]);
    assert_eq!(fails(&mut ended(ExitStatus::Signaled(Signal::KILL))), [AbortedBySig]);
    assert_eq!(fails(&mut left()), [AbortedWoSync]);
}

#[test]
fn a_program_that_no_node_can_start_cannot_be_launched_and_one_that_some_can_failed_to_start() {
    use JobState::*;
    assert_eq!(fails(&mut of_two("bad", &[])), [FailedToStart, CannotLaunch]);
    assert_eq!(fails(&mut of_two("none", &[3])), [FailedToStart]);
    assert_eq!(fails(&mut of_two("none", &[2, 3])), [FailedToStart, CannotLaunch]);
}

#[test]
fn the_first_report_of_a_host_is_a_state_of_its_own_before_all_run() {
    use JobState::*;
    let states = walk(&mut with(job("a.out", 8)));
    assert_eq!(states[states.len() - 4..], [SendLaunchMsg, Started, LocalLaunchComplete, Running]);
    let states = walk(&mut of_two("bad", &[]));
    assert!(states.windows(3).any(|three| three == [LocalLaunchComplete, FailedToStart, CannotLaunch]), "{states:?}");
}

#[test]
fn processes_that_wait_for_a_debugger_are_counted_and_make_a_state_when_all_do() {
    let mut dvm = with(surviving(2));
    (0..2).for_each(|rank| call(&mut dvm, rank, PmixCall::ClientConnected));
    let states = |dvm: &mut Cluster, id| detail(dvm, id).procs.iter().map(|proc| proc.state).collect::<Vec<_>>();
    assert_eq!(states(&mut dvm, 2), [ProcState::Registered; 2]);
    call(&mut dvm, 1, PmixCall::ReadyForDebug);
    assert_eq!(states(&mut dvm, 3), [ProcState::Registered, ProcState::ReadyForDebug]);
    assert!(!walk(&mut dvm).contains(&JobState::ReadyForDebug));
    call(&mut dvm, 1, PmixCall::ReadyForDebug);
    call(&mut dvm, 0, PmixCall::ReadyForDebug);
    assert!(dvm.transitions.ends_with(&["1 READY_FOR_DEBUG".to_owned()]));
}
