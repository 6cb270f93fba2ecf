//! The stacks of processes of a job whose time is over.

mod common;

use bytes::Bytes;
use common::{Cluster, app, job, proc};
use ferrite_core::{DaemonInput, HeadTimer, Input, Timer};
use ferrite_types::{DaemonRank, Duration, ExitStatus, JobId, JobSpec, ProcId, Rank};
use ferrite_wire::control::{Request, Submission};

fn limited(np: u32) -> JobSpec {
    let mut spec = job("a.out", np);
    spec.options.timeout = Some(Duration::from_secs(5));
    spec.options.stack_traces = true;
    spec
}

fn time_is_over(dvm: &mut Cluster) {
    dvm.fire(0, Timer::Head(HeadTimer::JobTimeout(JobId(1))));
}

/// Answers for the debugger of a daemon.
fn take(dvm: &mut Cluster, at: u32, text: &'static str) {
    let (daemon, job, procs) = dvm.stacks.iter().find(|(daemon, ..)| daemon.0 == at).expect("it takes stacks").clone();
    for proc in procs {
        let text = Bytes::from_static(text.as_bytes());
        dvm.input(daemon, Input::Daemon(DaemonInput::StackTaken { proc, text }));
    }
    dvm.input(daemon, Input::Daemon(DaemonInput::StacksTaken { job, obstacle: None }));
    dvm.run();
}

/// The stacks come first, then the message about the limit, then the end (spec L50).
#[test]
fn stacks_are_shown_before_a_job_whose_time_is_over_is_ended() {
    let mut dvm = Cluster::with_job(2, &[], limited(2));
    time_is_over(&mut dvm);
    assert_eq!(dvm.running.len(), 2, "nothing is ended yet");
    take(&mut dvm, 0, "#0 wait\x1b[2J");
    assert_eq!(dvm.running.len(), 2);
    take(&mut dvm, 1, "#0 send");
    assert_eq!(dvm.exit_code(), 124);
    let pid = |notice: &str| notice.contains("(pid ");
    assert!(dvm.notices[0].starts_with("Stack of rank 0 of job 1 on node n0") && pid(&dvm.notices[0]));
    assert!(dvm.notices[0].ends_with("#0 wait\\x1b[2J"), "a terminal obeys none of it: {:?}", dvm.notices[0]);
    assert!(dvm.notices[1].starts_with("Stack of rank 1 of job 1 on node n1") && dvm.notices[1].ends_with("#0 send"));
    assert!(dvm.notices[2].contains("Timeout: 5 seconds"));
    dvm.assert_gone();
}

#[test]
fn a_parameter_says_how_long_stacks_may_take() {
    let limit = |params: &[(&str, &str)]| {
        let mut dvm = Cluster::with_job(1, params, limited(1));
        time_is_over(&mut dvm);
        dvm.stack_limits[0]
    };
    assert_eq!(limit(&[]), limit(&[("prte_timeout_for_stack_trace", "7")]) + Duration::from_secs(30 - 7));
}

/// The limit for stacks is the head's own (spec L50).
#[test]
fn a_debugger_that_hangs_keeps_no_job_alive() {
    let mut dvm = Cluster::with_job(2, &[], limited(2));
    time_is_over(&mut dvm);
    take(&mut dvm, 0, "#0 wait");
    dvm.fire(0, Timer::Head(HeadTimer::Stacks(JobId(1))));
    assert_eq!(dvm.exit_code(), 124);
    assert!(dvm.notices[1].contains("stacks of node n1"), "{}", dvm.notices[1]);
    dvm.assert_gone();
}

#[test]
fn a_node_without_a_debugger_is_named_once() {
    let mut dvm = Cluster::with_job(1, &[], limited(3));
    time_is_over(&mut dvm);
    let obstacle = Some("none of gdb, pstack is there".to_owned());
    dvm.input(DaemonRank::HEAD, Input::Daemon(DaemonInput::StacksTaken { job: JobId(1), obstacle }));
    dvm.run();
    assert_eq!(dvm.exit_code(), 124);
    assert_eq!(dvm.notices[0], "No stacks from node n0: none of gdb, pstack is there.");
    assert_eq!(dvm.notices.len(), 2);
}

#[test]
fn a_daemon_that_is_lost_meanwhile_is_not_waited_for() {
    let mut spec = limited(2);
    spec.options.recoverable = true;
    let mut dvm = Cluster::with_job(2, &[], spec);
    time_is_over(&mut dvm);
    take(&mut dvm, 0, "#0 wait");
    dvm.crash(1);
    assert_eq!(dvm.exit_code(), 124);
    assert!(dvm.notices.iter().any(|text| text.contains("Timeout")), "{:?}", dvm.notices);
}

#[test]
fn a_job_that_ends_by_itself_meanwhile_waits_for_no_debugger() {
    let mut dvm = Cluster::with_job(2, &[], limited(2));
    time_is_over(&mut dvm);
    dvm.exit_all();
    assert_eq!(dvm.exit_code(), 0);
    assert!(!dvm.timers.contains(&(DaemonRank::HEAD, Timer::Head(HeadTimer::Stacks(JobId(1))))));
    dvm.assert_gone();
}

#[test]
fn a_failure_meanwhile_decides_and_ends_the_job_at_once() {
    let mut dvm = Cluster::with_job(2, &[], limited(2));
    time_is_over(&mut dvm);
    dvm.exit_proc(1, ExitStatus::Exited(3));
    assert_eq!(dvm.exit_code(), 3);
    dvm.assert_gone();
}

#[test]
fn what_one_node_sends_is_bounded() {
    let mut dvm = Cluster::persistent(1);
    let mut spec = limited(40);
    spec.map.oversubscribe = Some(true);
    dvm.submit(1, Submission::of(spec));
    time_is_over(&mut dvm);
    for rank in 0..40 {
        let text = Bytes::from(vec![b'x'; 64 * 1024]);
        let proc = proc(rank);
        dvm.input(DaemonRank::HEAD, Input::Daemon(DaemonInput::StackTaken { proc, text }));
    }
    dvm.run();
    let sent: usize = dvm.notices.iter().map(String::len).sum();
    assert!(sent < (1 << 20) + 40 * 200, "{sent} bytes");
    assert!(dvm.notices.last().unwrap().ends_with("(the rest is left out: the stacks of this node are too long)"));
}

/// Nobody reads the standard error of a detached job: its files get the stacks.
#[test]
fn a_detached_job_finds_its_stacks_in_its_files() {
    let mut dvm = Cluster::persistent(1);
    let mut spec = limited(1);
    spec.output.file = Some("/tmp/f".to_owned());
    dvm.ask(1, Request::Submit(Box::new(Submission { detach: true, ..Submission::of(spec) })));
    dvm.run();
    time_is_over(&mut dvm);
    take(&mut dvm, 0, "#0 wait");
    let (name, data) = dvm.files.first_key_value().expect("a file was written");
    let text = String::from_utf8_lossy(data);
    assert!(name.ends_with(".err") && text.contains("Stack of rank 0"), "{name}: {text}");
    assert_eq!(dvm.closed_files, std::slice::from_ref(name));
}

/// Stacks of spawned jobs tell why a parent waits.
#[test]
fn stacks_of_spawned_jobs_are_taken_too() {
    let mut dvm = Cluster::persistent(2);
    dvm.submit(1, Submission::of(limited(1)));
    let child = JobSpec::new(vec![app("child", 1)]);
    let call = ferrite_core::PmixCall::Spawn {
        proc: ProcId { job: JobId(1), rank: Rank(0) },
        submission: Box::new(Submission::of(child)),
        token: ferrite_core::PmixToken(7),
    };
    dvm.input(DaemonRank::HEAD, Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
    time_is_over(&mut dvm);
    let jobs: Vec<u32> = dvm.stacks.iter().map(|(_, job, _)| job.0).collect();
    assert_eq!(jobs, [1, 2]);
    assert!(dvm.replies.is_empty(), "the job waits for its stacks");
}
