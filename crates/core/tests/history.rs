//! Jobs that are over: who waits for them, and where they are found.

mod common;

use common::{Cluster, job};
use ferrite_core::{HeadInput, Input, RequestId};
use ferrite_types::*;
use ferrite_wire::control::{EndedJobs, Reply, Request, Submission};

fn named(task: &str) -> Submission {
    Submission { task: task.to_owned(), ..Submission::of(job("a", 1)) }
}

fn code(reply: &Reply) -> (u32, Option<u8>, &str) {
    match reply {
        Reply::Job(job) => (job.status.job.0, job.status.exit_code, &job.status.task),
        other => panic!("no job: {other:?}"),
    }
}

/// Runs so many jobs, one after the other.
fn with_jobs(count: u32, params: &[(&str, &str)]) -> Cluster {
    let mut dvm = Cluster::build(1, params, true);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    for id in 1..=count {
        dvm.submit(id.into(), named(&format!("t{id}")));
        dvm.exit_job(id);
    }
    dvm
}

/// All pages of the history.
fn all(dvm: &mut Cluster, mut id: u64) -> Vec<u32> {
    let (mut jobs, mut from) = (Vec::new(), Some(0));
    while let Some(first) = from {
        id += 1;
        dvm.ask(id, Request::Ended { from: first });
        dvm.run();
        let Reply::Ended(EndedJobs { jobs: page, next }) = dvm.reply(id) else { panic!() };
        jobs.extend(page.iter().map(|job| job.job.0));
        from = *next;
    }
    jobs
}

/// Bounded files (spec L115).
#[test]
fn a_job_that_is_in_memory_no_more_is_found_in_the_files() {
    let mut dvm = with_jobs(1_250, &[("ferrite_history_jobs", "1100")]);
    dvm.ask(5_001, Request::Job(JobId(200)));
    dvm.ask(5_002, Request::Wait(JobId(200)));
    dvm.ask(5_003, Request::Job(JobId(20)));
    dvm.ask(5_004, Request::Job(JobId(1_249)));
    dvm.run();
    assert_eq!(code(dvm.reply(5_001)), (200, Some(0), "t200"));
    assert_eq!(code(dvm.reply(5_002)), (200, Some(0), "t200"));
    assert_eq!(code(dvm.reply(5_004)), (1_249, Some(0), "t1249"));
    let Reply::Refused(text) = dvm.reply(5_003) else { panic!("its file is removed") };
    assert_eq!(text, "There is no job 20; `pdvm jobs` lists them.");
    assert_eq!(all(&mut dvm, 6_000), (111..=1_250).collect::<Vec<_>>());
}

#[test]
fn without_files_the_last_thousand_are_known() {
    let mut dvm = with_jobs(1_003, &[("ferrite_history_jobs", "0")]);
    assert!(dvm.kept.is_empty());
    dvm.ask(5_001, Request::Job(JobId(3)));
    assert!(matches!(dvm.reply(5_001), Reply::Refused(_)));
    assert_eq!(all(&mut dvm, 6_000), (4..=1_003).collect::<Vec<_>>());
}

/// One answer for each wait (spec L116).
#[test]
fn whoever_waits_for_a_job_is_answered_once_at_its_end() {
    let mut dvm = Cluster::persistent(1);
    dvm.submit(1, named("first"));
    for id in [2, 3, 4] {
        dvm.ask(id, Request::Wait(JobId(1)));
    }
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::ClientGone(RequestId(3))));
    dvm.run();
    assert!(dvm.replies.is_empty());
    dvm.exit_job(1);
    dvm.ask(5, Request::Wait(JobId(1)));
    dvm.ask(6, Request::Wait(JobId(9)));
    for id in [2, 4, 5] {
        assert_eq!(code(dvm.reply(id)), (1, Some(0), "first"));
    }
    assert!(matches!(dvm.reply(6), Reply::Refused(text) if text.starts_with("There is no job 9")));
    assert!(!dvm.replies.iter().any(|(id, _)| *id == RequestId(3)));
}

/// One answer for each wait, at the end as well (spec L39).
#[test]
fn a_wait_is_answered_at_the_end_of_the_dvm() {
    let mut dvm = Cluster::persistent(1);
    dvm.submit(1, named("first"));
    dvm.ask(2, Request::Wait(JobId(1)));
    dvm.ask(3, Request::Terminate);
    dvm.run();
    assert_eq!(dvm.replies.iter().filter(|(id, _)| *id == RequestId(2)).count(), 1);
}

/// Neither 0 nor the code of a failure (spec L117).
#[test]
fn a_job_that_is_cancelled_has_a_code_of_its_own() {
    let mut dvm = Cluster::persistent(1);
    dvm.submit(1, named("a"));
    dvm.submit(2, named("b"));
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::Cancel(RequestId(1))));
    dvm.ask(3, Request::Kill(JobId(2)));
    dvm.run();
    assert_eq!((dvm.code_of(1), dvm.code_of(2)), (125, 125));
}
