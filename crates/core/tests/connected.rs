//! Jobs that are connected: as far as failures go they are one application (PMIx standard, `PMIx_Connect`).

mod common;

use common::{Cluster, job};
use ferrite_core::{DaemonInput, Input, PmixCall, PmixToken};
use ferrite_types::*;
use ferrite_wire::control::Submission;
use ferrite_wire::{Access, DataCall, DataRange, DataRequest, Members, Persistence};

fn on(node: &str) -> JobSpec {
    let mut spec = job("a.out", 2);
    spec.apps[0].hosts.hosts = vec![HostRef::Host(HostEntry::named(node))];
    spec
}

fn of(job: u32, rank: u32) -> ProcId {
    ProcId { job: JobId(job), rank: Rank(rank) }
}

/// Job 1 of client 1 on n1 has spawned job 2 on n2.
fn family(child: JobSpec) -> Cluster {
    let mut dvm = Cluster::persistent(4);
    dvm.submit(1, Submission::of(on("n1")));
    spawn(&mut dvm, of(1, 0), child);
    dvm
}

fn spawn(dvm: &mut Cluster, parent: ProcId, spec: JobSpec) {
    let (at, submission) = (dvm.running[&parent].0, Box::new(Submission::of(spec)));
    dvm.input(at, Input::Daemon(DaemonInput::Pmix(PmixCall::Spawn { proc: parent, submission, token: PmixToken(7) })));
    dvm.run();
}

/// Each of the jobs is on the node of its number.
fn meet(dvm: &mut Cluster, jobs: &[u32], call: impl Fn(Members, PmixToken) -> PmixCall) {
    let members = Members::of_jobs(jobs.iter().map(|job| (JobId(*job), Vec::new())).collect()).expect("jobs");
    for job in jobs {
        dvm.input(
            DaemonRank(*job),
            Input::Daemon(DaemonInput::Pmix(call(members.clone(), PmixToken(20 + u64::from(*job))))),
        );
    }
    dvm.run();
}

fn connect(dvm: &mut Cluster, jobs: &[u32]) {
    meet(dvm, jobs, |members, token| PmixCall::Connect { members, token });
}

fn disconnect(dvm: &mut Cluster, jobs: &[u32]) {
    meet(dvm, jobs, |members, token| PmixCall::Disconnect { members, token });
}

fn lives(dvm: &Cluster, job: u32) -> bool {
    dvm.running.keys().any(|proc| proc.job == JobId(job))
}

#[test]
fn a_connected_parent_ends_with_what_it_has_spawned_and_one_message_names_the_cause() {
    let mut dvm = family(on("n2"));
    connect(&mut dvm, &[1, 2]);
    dvm.exit(of(2, 1), ExitStatus::Exited(9));
    assert!(dvm.running.is_empty());
    assert_eq!(dvm.code_of(1), 9);
    let [notice] = &dvm.notices[..] else { panic!("one message: {:?}", dvm.notices) };
    assert!(notice.contains("rank 1 of job 2") && notice.contains("code 9"), "{notice}");
    assert!(notice.ends_with("Job 1, which is connected with it, ends as well."), "{notice}");
}

#[test]
fn a_parent_that_is_not_connected_or_not_any_more_goes_on() {
    for fence in [None, Some(false), Some(true)] {
        let mut dvm = family(on("n2"));
        match fence {
            None => {}
            Some(false) => {
                connect(&mut dvm, &[1, 2]);
                disconnect(&mut dvm, &[1, 2]);
            }
            // As Open MPI disconnects.
            Some(true) => {
                connect(&mut dvm, &[1, 2]);
                let data = bytes::Bytes::new;
                meet(&mut dvm, &[1, 2], |members, token| PmixCall::Fence { members, data: data(), token });
            }
        }
        dvm.exit(of(2, 1), ExitStatus::Exited(9));
        assert!(lives(&dvm, 1) && !lives(&dvm, 2), "{fence:?}");
        assert!(dvm.notices[0].ends_with("Job 1, which has spawned it, goes on."), "{:?}", dvm.notices);
        dvm.exit_job(1);
        assert_eq!(dvm.code_of(1), 9);
    }
}

#[test]
fn jobs_that_met_twice_are_connected_until_they_have_parted_twice() {
    let mut dvm = family(on("n2"));
    connect(&mut dvm, &[1, 2]);
    connect(&mut dvm, &[1, 2]);
    disconnect(&mut dvm, &[1, 2]);
    dvm.exit(of(2, 0), ExitStatus::Signaled(Signal::KILL));
    assert!(dvm.running.is_empty());
}

#[test]
fn a_job_that_goes_on_after_failures_goes_on_after_those_of_others_too() {
    let mut dvm = Cluster::persistent(4);
    let mut parent = on("n1");
    parent.options.recoverable = true;
    dvm.submit(1, Submission::of(parent));
    spawn(&mut dvm, of(1, 0), on("n2"));
    connect(&mut dvm, &[1, 2]);
    dvm.exit(of(2, 1), ExitStatus::Exited(9));
    assert!(lives(&dvm, 1) && !lives(&dvm, 2));
    let mut child = on("n2");
    child.options.continuous = true;
    let mut dvm = family(child);
    connect(&mut dvm, &[1, 2]);
    dvm.exit(of(2, 1), ExitStatus::Exited(9));
    assert!(lives(&dvm, 1) && lives(&dvm, 2), "a failure that a job survives ends nobody else");
}

#[test]
fn jobs_of_several_clients_that_are_connected_end_together_and_each_client_is_told_why() {
    let mut dvm = Cluster::persistent(4);
    for (client, node) in [(1, "n1"), (2, "n2"), (3, "n3")] {
        dvm.submit(client, Submission::of(on(node)));
    }
    // The first two have heard of each other by a published name.
    let items = vec![("port".to_owned(), bytes::Bytes::from_static(b"here"))];
    let (range, persistence, access) = (DataRange::Dvm, Persistence::App, Access::default());
    say(&mut dvm, of(1, 0), DataRequest::Publish { items, range, persistence, access });
    let lookup = DataRequest::Lookup { keys: vec!["port".to_owned()], range, wait: 0, timeout: None };
    say(&mut dvm, of(2, 0), lookup);
    connect(&mut dvm, &[1, 2]);
    dvm.exit(of(1, 1), ExitStatus::Exited(5));
    assert!(!lives(&dvm, 1) && !lives(&dvm, 2) && lives(&dvm, 3));
    assert_eq!((dvm.code_of(1), dvm.code_of(2)), (5, 5));
    let [first, second] = &dvm.notices[..] else { panic!("one for each: {:?}", dvm.notices) };
    assert!(first.contains("rank 1 of job 1") && !first.contains("job 2"), "{first}");
    assert!(second.contains("Job 1, which was connected with job 2, failed") && second.contains("code 5"), "{second}");
}

fn say(dvm: &mut Cluster, proc: ProcId, request: DataRequest) {
    let (at, call) = (dvm.running[&proc].0, Box::new(DataCall { proc, uid: 1, gid: 1, request }));
    dvm.input(at, Input::Daemon(DaemonInput::Pmix(PmixCall::Data { call, token: PmixToken(9) })));
    dvm.run();
}

#[test]
fn the_end_of_a_connected_job_that_ends_well_ends_nobody() {
    let mut dvm = family(on("n2"));
    connect(&mut dvm, &[1, 2]);
    dvm.exit_job(2);
    assert!(lives(&dvm, 1));
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
}
