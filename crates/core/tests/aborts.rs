//! Aborts that a process asks for in the name of others.

mod common;

use common::{Cluster, job};
use ferrite_core::{DaemonInput, Input, PmixCall, PmixToken};
use ferrite_types::*;
use ferrite_wire::control::{Reply, Submission};

fn of(job: u32, rank: u32) -> ProcId {
    ProcId { job: JobId(job), rank: Rank(rank) }
}

/// Three nodes; job 1 of client 1 has two processes and has spawned job 2, which has two as well.
fn dvm(change: impl Fn(&mut JobSpec)) -> Cluster {
    let mut dvm = Cluster::persistent(3);
    let spec = |name: &str| {
        let mut spec = job(name, 2);
        change(&mut spec);
        spec
    };
    dvm.submit(1, Submission::of(spec("parent")));
    let submission = Box::new(Submission::of(spec("child")));
    let call = PmixCall::Spawn { proc: of(1, 0), submission, token: PmixToken(1) };
    dvm.input(dvm.running[&of(1, 0)].0, Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
    assert_eq!(dvm.running.len(), 4);
    dvm
}

fn abort(dvm: &mut Cluster, proc: ProcId, targets: Vec<(u32, Vec<u32>)>) {
    let targets = targets.into_iter().map(|(job, ranks)| (JobId(job), ranks.into_iter().map(Rank).collect()));
    let (message, targets, token) = ("enough".to_owned(), targets.collect(), PmixToken(9));
    let call = PmixCall::AbortOthers { proc, code: 5, message, targets, token };
    dvm.input(dvm.running[&proc].0, Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
}

fn left(dvm: &Cluster) -> Vec<ProcId> {
    dvm.running.keys().copied().collect()
}

#[test]
fn a_process_aborts_the_job_that_it_has_spawned_and_goes_on() {
    let mut dvm = dvm(|_| {});
    abort(&mut dvm, of(1, 0), vec![(2, vec![])]);
    assert_eq!(left(&dvm), [of(1, 0), of(1, 1)]);
    let told = dvm.notices.concat();
    assert!(told.contains("rank 0 of job 1 called abort with code 5 for job 2") && told.contains("enough"), "{told}");
    assert!(dvm.replies.iter().all(|(_, reply)| !matches!(reply, Reply::Done(_))), "the tree is not over");
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 5);
}

#[test]
fn single_ranks_are_aborted_in_a_job_that_goes_on_and_else_their_job() {
    let mut tolerant = dvm(|spec| spec.options.recoverable = true);
    abort(&mut tolerant, of(1, 0), vec![(2, vec![1])]);
    assert_eq!(left(&tolerant), [of(1, 0), of(1, 1), of(2, 0)]);
    abort(&mut tolerant, of(1, 0), vec![(1, vec![1])]);
    assert_eq!(left(&tolerant), [of(1, 0), of(2, 0)]);
    let mut strict = dvm(|_| {});
    abort(&mut strict, of(1, 0), vec![(2, vec![1])]);
    assert_eq!(left(&strict), [of(1, 0), of(1, 1)]);
}

#[test]
fn a_job_that_is_over_needs_no_abort() {
    let mut dvm = dvm(|_| {});
    dvm.exit_job(2);
    abort(&mut dvm, of(1, 0), vec![(2, vec![]), (7, vec![])]);
    assert_eq!(left(&dvm), [of(1, 0), of(1, 1)]);
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
}
