//! Jobs that begin after the ends of others.

mod common;

use common::{Cluster, job};
use ferrite_core::{DaemonInput, HeadInput, Input, PmixCall, PmixToken, RequestId};
use ferrite_types::*;
use ferrite_wire::control::{Dependency, Ending, JobDetail, JobRef, Reply, Request, Submission};

/// A job of `np` processes, named by its task, after others: `3` and `fit` have to end well, `3?` need only end.
fn after(task: &str, np: u32, others: &[&str]) -> Submission {
    let dependency = |text: &&str| {
        let (name, well) = text.strip_suffix('?').map_or((*text, true), |name| (name, false));
        let job = name.parse().map_or_else(|_| JobRef::Name(name.to_owned()), |id| JobRef::Number(JobId(id)));
        Dependency { job, well }
    };
    let after = others.iter().map(dependency).collect();
    Submission { task: task.to_owned(), after, wait_for_slots: true, ..Submission::of(job("a.out", np)) }
}

/// One node of four slots, with these jobs submitted by the clients 1, 2 and so on.
fn dvm_with(jobs: &[(&str, u32, &[&str])]) -> Cluster {
    let mut dvm = Cluster::persistent(1);
    for (at, (task, np, others)) in jobs.iter().enumerate() {
        dvm.submit(at as u64 + 1, after(task, *np, others));
    }
    dvm
}

fn is_running(dvm: &Cluster, job: u32) -> bool {
    dvm.running.keys().any(|proc| proc.job == JobId(job))
}

fn fail(dvm: &mut Cluster, job: u32) {
    dvm.exit(ProcId { job: JobId(job), rank: Rank(0) }, ExitStatus::Exited(3));
    dvm.run();
}

fn detail(dvm: &mut Cluster, id: u64, job: u32) -> JobDetail {
    dvm.ask(id, Request::Job(JobId(job)));
    match dvm.reply(id) {
        Reply::Job(detail) => (**detail).clone(),
        other => panic!("{other:?}"),
    }
}

fn refusal(dvm: &Cluster, id: u64) -> &str {
    match dvm.reply(id) {
        Reply::Refused(text) => text,
        other => panic!("{other:?}"),
    }
}

/// A waiting job says its reason, and counts as queued (spec L152).
#[test]
fn a_job_begins_when_those_are_over_after_which_it_begins() {
    let mut dvm = dvm_with(&[("fit", 1, &[]), ("", 1, &[]), ("", 1, &["fit", "2?"]), ("", 1, &[])]);
    assert!(!is_running(&dvm, 3) && is_running(&dvm, 4), "others do not wait for it");
    assert_eq!(detail(&mut dvm, 10, 3).status.waiting_for, "the end of jobs 1 (fit), 2 at any end");
    dvm.ask(11, Request::Status);
    let Reply::Status(status) = dvm.reply(11) else { panic!("status") };
    assert_eq!((status.jobs_running, status.jobs_queued), (3, 1));
    fail(&mut dvm, 2);
    assert_eq!(detail(&mut dvm, 12, 3).status.waiting_for, "the end of job 1 (fit)");
    dvm.exit_job(1);
    assert!(is_running(&dvm, 3));
    dvm.exit_job(3);
    assert_eq!((dvm.code_of(2), dvm.code_of(3)), (3, 0));
}

/// The failure passes on (spec L152).
#[test]
fn a_job_is_never_run_when_one_has_not_ended_well_after_which_it_was_to_run() {
    let mut dvm = dvm_with(&[("", 1, &[]), ("", 1, &["1"]), ("", 1, &["2"]), ("", 1, &["2?"])]);
    fail(&mut dvm, 1);
    assert_eq!((dvm.code_of(2), dvm.code_of(3)), (1, 1));
    let detail = detail(&mut dvm, 10, 2);
    assert_eq!((detail.status.ending, detail.status.state), (Some(Ending::NotRun), JobState::Notified));
    let cause = "Job 2 was not run: it was to run after a good end of job 1, which has ended with code 3.";
    assert_eq!(detail.cause, cause);
    assert!(dvm.notices.iter().any(|notice| format!("{notice:?}").contains(cause)), "its client is told");
    assert!(is_running(&dvm, 4), "any end of job 2 will do");
}

/// Jobs that are over count as they have ended (spec L152).
#[test]
fn a_job_begins_at_once_or_never_after_jobs_that_are_over() {
    let mut dvm = dvm_with(&[("good", 1, &[]), ("bad", 1, &[])]);
    dvm.exit_job(1);
    fail(&mut dvm, 2);
    dvm.submit(3, after("", 1, &["good", "bad?"]));
    dvm.submit(4, after("", 1, &["1", "2"]));
    assert!(is_running(&dvm, 3));
    assert_eq!(dvm.code_of(4), 1);
}

/// Names (spec L152).
#[test]
fn the_latest_job_of_a_name_counts_and_unknown_ones_are_refused() {
    let mut dvm = dvm_with(&[("x", 1, &[]), ("x", 1, &[]), ("", 1, &["x"]), ("", 1, &["prterun-n0-1@1"])]);
    dvm.exit_job(1);
    assert!(!is_running(&dvm, 3) && is_running(&dvm, 4));
    dvm.exit_job(2);
    assert!(is_running(&dvm, 3));
    for (at, name) in ["0", "9", "prterun-n0-1@9", "y"].into_iter().enumerate() {
        let id = 20 + at as u64;
        dvm.submit(id, after("", 1, &[name]));
        assert!(refusal(&dvm, id).contains("there is no job"), "{}", refusal(&dvm, id));
    }
    assert!(refusal(&dvm, 23).contains("\"y\""));
    dvm.submit(30, after("own", 1, &["own"]));
    assert!(refusal(&dvm, 30).contains("there is no job"), "a job does not wait for itself");
    dvm.submit(31, after("", 1, &vec!["2"; 4_097]));
    assert!(refusal(&dvm, 31).contains("4096 are the most"), "{}", refusal(&dvm, 31));
}

/// A job that need not wait any more waits for slots like others: by priority (spec L152, L122).
#[test]
fn jobs_that_need_not_wait_any_more_go_on_by_priority() {
    let mut dvm = dvm_with(&[("", 4, &[]), ("", 4, &["1"])]);
    dvm.submit(3, Submission { priority: 5, ..after("", 4, &["1"]) });
    dvm.submit(4, after("", 4, &[]));
    dvm.exit_job(1);
    // It was in the queue before them.
    assert!(is_running(&dvm, 4));
    dvm.exit_job(4);
    assert!(is_running(&dvm, 3));
    dvm.exit_job(3);
    assert!(is_running(&dvm, 2));
}

/// Spawned jobs belong to the one that has spawned them (spec L152).
#[test]
fn a_job_waits_for_what_others_have_spawned() {
    let mut dvm = dvm_with(&[("", 1, &[]), ("", 1, &["1"])]);
    let proc = ProcId { job: JobId(1), rank: Rank(0) };
    let submission = Box::new(Submission::of(job("child", 1)));
    let call = PmixCall::Spawn { proc, submission, token: PmixToken(1) };
    dvm.input(DaemonRank::HEAD, Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
    dvm.exit_job(1);
    assert!(is_running(&dvm, 3) && !is_running(&dvm, 2));
    fail(&mut dvm, 3);
    assert_eq!((dvm.code_of(1), dvm.code_of(2)), (3, 1), "its failure is one of the whole");
}

/// A job that waits ends like one of the queue (spec L152).
#[test]
fn a_job_that_waits_for_others_ends_with_its_client_or_by_an_order() {
    let mut dvm = dvm_with(&[("", 1, &[]), ("", 1, &["1"]), ("", 1, &["1"]), ("", 1, &["2"])]);
    dvm.ask(10, Request::Kill(JobId(2)));
    assert_eq!((dvm.code_of(2), dvm.code_of(4)), (125, 1));
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::ClientGone(RequestId(3))));
    dvm.run();
    dvm.exit_job(1);
    assert!(dvm.running.is_empty(), "{:?}", dvm.running);
    dvm.ask(11, Request::Status);
    let Reply::Status(status) = dvm.reply(11) else { panic!("status") };
    assert_eq!((status.jobs_running, status.jobs_queued), (0, 0));
}

/// The order among jobs that come early (spec L152, L9).
#[test]
fn a_job_that_comes_early_finds_those_after_which_it_begins() {
    let mut dvm = Cluster::build(1, &[], true);
    dvm.submit(1, after("first", 1, &[]));
    dvm.submit(2, Submission { priority: 9, ..after("second", 1, &["first"]) });
    dvm.submit(3, Submission { priority: 10, ..after("third", 1, &["second"]) });
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    for job in 1..=3 {
        assert_eq!(dvm.running.len(), 1);
        dvm.exit_job(job);
    }
    assert_eq!([1, 2, 3].map(|id| dvm.code_of(id)), [0, 0, 0]);
}
