//! Jobs that processes of jobs spawn: their messages, their ends, and their connections.

mod common;

use bytes::Bytes;
use common::{Cluster, app, job};
use ferrite_core::{DaemonInput, HeadInput, HeadTimer, Input, LinkTimer, PmixCall, PmixEffect, PmixToken, Timer};
use ferrite_types::SessionId;
use ferrite_types::pmix_status::{
    PMIX_ERR_BAD_PARAM, PMIX_ERR_BAD_PARAM as BAD_PARAM, PMIX_ERR_JOB_CANCELED as CANCELED,
    PMIX_ERR_JOB_FAILED_TO_LAUNCH as FAILED_TO_LAUNCH, PMIX_ERR_JOB_KILLED_BY_CMD as KILLED_BY_CMD,
    PMIX_ERR_LOST_CONNECTION as LOST_CONNECTION, PMIX_ERR_OUT_OF_RESOURCE as OUT_OF_RESOURCE,
    PMIX_ERR_TIMEOUT as TIMEOUT,
};
use ferrite_types::*;
use ferrite_wire::control::{Reply, Request, SessionChoice, Submission};
use ferrite_wire::{
    AddedHost, GrowRequest, HeadMessage, Members, Message, ResizeRequest, SessionTerms, ShrinkRequest, SlotChange,
};

const ALLOC_FAILED: PmixStatus = ferrite_types::pmix_status::PMIX_ERR_JOB_ALLOC_FAILED;

fn on_nodes(program: &str, nodes: &[&str]) -> JobSpec {
    let mut spec = job(program, nodes.len() as u32);
    spec.apps[0].hosts.hosts = nodes.iter().map(|name| HostRef::Host(HostEntry::named(name))).collect();
    spec
}

fn of(job: u32, rank: u32) -> ProcId {
    ProcId { job: JobId(job), rank: Rank(rank) }
}

/// Four nodes; job 1 of client 1 runs on n1 and n2.
fn parents() -> Cluster {
    let mut dvm = Cluster::persistent(4);
    dvm.submit(1, Submission::of(on_nodes("parent", &["n1", "n2"])));
    dvm
}

fn spawn(dvm: &mut Cluster, parent: ProcId, spec: JobSpec, token: u64) {
    let at = dvm.running[&parent].0;
    let submission = Box::new(Submission::of(spec));
    dvm.input(
        at,
        Input::Daemon(DaemonInput::Pmix(PmixCall::Spawn { proc: parent, submission, token: PmixToken(token) })),
    );
    dvm.run();
}

/// Answers to spawns, in their order.
fn answers(dvm: &Cluster) -> Vec<(u64, Result<u32, PmixStatus>)> {
    let answer = |(_, effect): &(DaemonRank, PmixEffect)| match effect {
        PmixEffect::SpawnReply { token, result } => Some((token.0, result.map(|job| job.0))),
        _ => None,
    };
    dvm.pmix.iter().filter_map(answer).collect()
}

fn registered_at(dvm: &Cluster, job: u32) -> Vec<u32> {
    let at = |(at, effect): &(DaemonRank, PmixEffect)| match effect {
        PmixEffect::Register(registration) if registration.order.job == JobId(job) => Some(at.0),
        _ => None,
    };
    let mut all: Vec<u32> = dvm.pmix.iter().filter_map(at).collect();
    all.sort_unstable();
    all
}

/// The nodes of the ranks of a job.
fn places(dvm: &Cluster, job: u32) -> Vec<u32> {
    let of_job = dvm.running.iter().filter(|(proc, _)| proc.job == JobId(job));
    of_job.map(|(_, (at, _))| at.0).collect()
}

fn connect(dvm: &mut Cluster, at: u32, members: Vec<(u32, Vec<u32>)>, token: u64) {
    let jobs = members.into_iter().map(|(job, ranks)| (JobId(job), ranks.into_iter().map(Rank).collect()));
    let members = Members::of_jobs(jobs.collect()).expect("there are members");
    dvm.input(DaemonRank(at), Input::Daemon(DaemonInput::Pmix(PmixCall::Connect { members, token: PmixToken(token) })));
    dvm.run();
}

fn replies(dvm: &Cluster) -> Vec<(u32, u64, Result<Bytes, PmixStatus>)> {
    let reply = |(at, effect): &(DaemonRank, PmixEffect)| match effect {
        PmixEffect::Reply { token, result } => Some((at.0, token.0, result.clone())),
        _ => None,
    };
    let mut all: Vec<_> = dvm.pmix.iter().filter_map(reply).collect();
    all.sort_unstable();
    all
}

fn is_answered(dvm: &Cluster, id: u64) -> bool {
    dvm.replies.iter().any(|(request, _)| request.0 == id)
}

#[test]
fn a_process_of_another_node_spawns_a_job_that_has_what_its_parent_has() {
    let mut dvm = Cluster::persistent(4);
    let mut parent = Submission::of(on_nodes("parent", &["n1", "n2"]));
    parent.spec.apps[0].submit_dir = "/home/me".to_owned();
    parent.spec.output.tag = true;
    parent.env = vec![EnvOp::Set("A".to_owned(), "1".to_owned())];
    dvm.submit(1, parent);
    let mut child = on_nodes("child", &["n3", "n1"]);
    child.apps[0].submit_dir = String::new();
    spawn(&mut dvm, of(1, 1), child, 7);
    assert_eq!(answers(&dvm), [(7, Ok(2))]);
    assert_eq!(dvm.running.keys().filter(|proc| proc.job == JobId(2)).count(), 2);
    let (_, request) = &dvm.running[&of(2, 0)];
    assert_eq!(request.wdir, "/home/me");
    assert!(request.env.contains(&EnvOp::Set("A".to_owned(), "1".to_owned())));
    assert!(!request.stdin);
    let parent_of_child = dvm.pmix.iter().find_map(|(_, effect)| match effect {
        PmixEffect::Register(r) if r.order.job == JobId(2) => r.order.parent,
        _ => None,
    });
    assert_eq!(parent_of_child, Some(of(1, 1)));
    // Its output goes where that of its parent goes, in the same dress.
    let data = Bytes::from_static(b"hello\n");
    let (at, stream) = (dvm.running[&of(2, 0)].0, ferrite_wire::Stream::Stdout);
    dvm.input(at, Input::Daemon(DaemonInput::Output { proc: of(2, 0), stream, data }));
    dvm.run();
    assert_eq!(dvm.stdout_of(1), "[2,0]<stdout>: hello\n");
}

/// The limit of a call of PMIx_Spawn is that of the call: it counts while the job waits, and not once it runs.
#[test]
fn a_spawn_that_takes_too_long_is_refused_and_what_was_started_in_time_runs_on() {
    let mut dvm = parents();
    let mut limited = on_nodes("child", &["n3"]);
    limited.options.spawn_timeout = Some(Duration::from_secs(2));
    let timer = |job| (DaemonRank::HEAD, Timer::Head(HeadTimer::SpawnTimeout(JobId(job))));
    spawn(&mut dvm, of(1, 0), limited.clone(), 7);
    assert_eq!(answers(&dvm), [(7, Ok(2))]);
    assert!(!dvm.timers.contains(&timer(2)), "it runs");
    let frozen = dvm.freeze_quietly(3);
    spawn(&mut dvm, of(1, 0), limited, 8);
    assert_eq!(answers(&dvm).len(), 1);
    dvm.fire(0, timer(3).1);
    assert_eq!(answers(&dvm)[1], (8, Err(TIMEOUT)));
    dvm.thaw(frozen);
    dvm.run();
    assert!(!is_answered(&dvm, 1), "its parent goes on");
    assert!(dvm.running.keys().all(|proc| proc.job != JobId(3)), "nothing of it runs: {:?}", dvm.running.keys());
}

/// The launch order goes to those who need it (spec L17).
#[test]
fn the_daemons_of_a_spawn_tree_know_all_its_jobs_and_no_others_do() {
    let mut dvm = parents();
    spawn(&mut dvm, of(1, 0), on_nodes("child", &["n3"]), 7);
    assert_eq!(registered_at(&dvm, 1), [1, 2, 3]);
    assert_eq!(registered_at(&dvm, 2), [1, 2, 3]);
    dvm.exit_job(2);
    dvm.exit_job(1);
    let gone =
        |job| dvm.pmix.iter().filter(|(_, e)| matches!(e, PmixEffect::Deregister(of) if *of == JobId(job))).count();
    assert_eq!((gone(1), gone(2)), (3, 3));
}

/// TERMINATED, then the reply (spec L34).
#[test]
fn the_submitter_is_answered_when_the_whole_tree_is_over() {
    let mut dvm = parents();
    spawn(&mut dvm, of(1, 0), on_nodes("child", &["n3"]), 7);
    spawn(&mut dvm, of(2, 0), on_nodes("grandchild", &["n2"]), 8);
    dvm.exit_job(1);
    dvm.exit_job(2);
    assert!(!is_answered(&dvm, 1), "a grandchild runs");
    assert_eq!(dvm.running.len(), 1, "the end of a parent that ends well is no reason to end");
    dvm.exit_job(3);
    assert_eq!(dvm.code_of(1), 0);
    assert!(matches!(dvm.reply(1), Reply::Done(done) if done.job.as_ref().is_some_and(|job| job.job == JobId(1))));
}

#[test]
fn the_first_failure_of_the_tree_is_its_result_and_is_told() {
    let mut dvm = parents();
    spawn(&mut dvm, of(1, 0), on_nodes("child", &["n3"]), 7);
    dvm.exit(of(2, 0), ExitStatus::Exited(9));
    assert!(dvm.notices.iter().any(|text| text.contains("job 2") && text.contains("code 9")), "{:?}", dvm.notices);
    assert_eq!(dvm.running.len(), 2, "the parents go on");
    assert!(dvm.notices.iter().any(|text| text.ends_with("Job 1, which has spawned it, goes on.")), "and say so");
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 9);
}

#[test]
fn failures_of_spawned_jobs_do_not_count_when_they_are_reported_separately() {
    let mut dvm = Cluster::build(4, &[("prte_report_child_jobs_separately", "1")], true);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    dvm.submit(1, Submission::of(on_nodes("parent", &["n1", "n2"])));
    spawn(&mut dvm, of(1, 0), on_nodes("child", &["n3"]), 7);
    dvm.exit(of(2, 0), ExitStatus::Exited(9));
    assert!(dvm.notices.iter().any(|text| text.contains("code 9")), "the failure is told: {:?}", dvm.notices);
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
}

#[test]
fn a_job_can_ask_that_its_spawned_jobs_are_reported_separately() {
    for (separately, code) in [(true, 0), (false, 9)] {
        let mut dvm = Cluster::persistent(4);
        let mut parent = on_nodes("parent", &["n1", "n2"]);
        parent.options.children_separately = separately;
        dvm.submit(1, Submission::of(parent));
        spawn(&mut dvm, of(1, 0), on_nodes("child", &["n3"]), 7);
        spawn(&mut dvm, of(2, 0), on_nodes("grandchild", &["n3"]), 8);
        dvm.exit(of(3, 0), ExitStatus::Exited(9));
        dvm.exit_job(2);
        dvm.exit_job(1);
        assert_eq!(dvm.code_of(1), code);
    }
}

/// A DVM for one job ends with it (spec L35).
#[test]
fn a_spawned_job_is_registered_when_it_runs_and_not_before() {
    let mut dvm = parents();
    // The report of the parents' other daemon is late: it is to know the child, and has none of it.
    dvm.losing(2, 0);
    spawn(&mut dvm, of(1, 0), on_nodes("child", &["n3"]), 7);
    dvm.input(DaemonRank(3), Input::Daemon(DaemonInput::Pmix(PmixCall::ClientConnected(of(2, 0)))));
    dvm.run();
    assert!(answers(&dvm).is_empty() && !dvm.transitions.contains(&"2 REGISTERED".to_owned()));
    dvm.keep_nothing_back();
    dvm.cut(0, 2);
    assert_eq!(answers(&dvm), [(7, Ok(2))]);
    let child = dvm.transitions.iter().filter_map(|step| step.strip_prefix("2 "));
    assert_eq!(
        child.collect::<Vec<_>>()[11..],
        ["SEND_LAUNCH_MSG", "STARTED", "LOCAL_LAUNCH_COMPLETE", "RUNNING", "REGISTERED"]
    );
}

/// A DVM for one job waits for all that the job has spawned (spec L35).
#[test]
fn a_dvm_for_one_job_stays_for_what_that_job_has_spawned() {
    let mut dvm = Cluster::with_job(3, &[], job("parent", 1));
    spawn(&mut dvm, of(1, 0), on_nodes("child", &["n2"]), 7);
    dvm.exit_job(1);
    assert!(dvm.replies.is_empty() && !dvm.nodes.is_empty());
    dvm.exit(of(2, 0), ExitStatus::Exited(4));
    assert_eq!(dvm.exit_code(), 4);
    assert_eq!(dvm.exits[&DaemonRank::HEAD], 4);
    dvm.assert_gone();
}

/// Jobs of tools neither hold a DVM for one job nor decide about its code (spec L35).
#[test]
fn a_dvm_for_one_job_takes_the_jobs_of_tools_along_and_has_the_code_of_its_own() {
    let mut dvm = Cluster::with_job(3, &[], job("own", 1));
    dvm.submit(1, Submission::of(on_nodes("short", &["n1"])));
    dvm.submit(2, Submission::of(on_nodes("long", &["n2"])));
    spawn(&mut dvm, of(1, 0), on_nodes("child", &["n2"]), 7);
    // A job of a tool that fails is no reason for anything.
    dvm.exit(of(2, 0), ExitStatus::Exited(9));
    dvm.exit(of(1, 0), ExitStatus::Exited(0));
    assert_eq!(dvm.running.keys().copied().collect::<Vec<_>>(), [of(3, 0), of(4, 0)], "its child belongs to it");
    dvm.exit(of(4, 0), ExitStatus::Exited(4));
    let told: Vec<_> = dvm.notices.iter().filter(|text| text.contains("which a tool has started")).collect();
    assert_eq!(told.len(), 2, "the tool and the user: {told:?}");
    assert!(told[0].contains("Job 3") && told[0].contains("prte"), "{told:?}");
    assert_eq!(dvm.exits[&DaemonRank::HEAD], 4);
    dvm.assert_gone();
}

#[test]
fn a_failed_or_cancelled_parent_takes_its_children_along() {
    for by_client in [false, true] {
        let mut dvm = parents();
        spawn(&mut dvm, of(1, 0), on_nodes("child", &["n3"]), 7);
        spawn(&mut dvm, of(2, 0), on_nodes("grandchild", &["n0"]), 8);
        let notices = dvm.notices.len();
        let code = if by_client {
            dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::Cancel(ferrite_core::RequestId(1))));
            dvm.run();
            125
        } else {
            dvm.exit(of(1, 1), ExitStatus::Exited(6));
            6
        };
        assert!(dvm.running.is_empty());
        assert_eq!(dvm.code_of(1), code);
        assert_eq!(dvm.notices.len(), notices + 1, "one cause, one message");
    }
}

const ELASTIC: &[(&str, &str)] = &[("prte_elastic_mode", "1")];

/// With job 1 on n1.
fn growing(params: &[(&str, &str)]) -> Cluster {
    let mut dvm = Cluster::build(2, params, true);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    dvm.submit(1, Submission::of(on_nodes("parent", &["n1"])));
    dvm
}

/// Job 1 spawns a job on these nodes; a grow brings the first of them.
fn spawn_bringing(dvm: &mut Cluster, nodes: &[&str], slots: SlotChange, token: u64) {
    let hosts = vec![AddedHost { host: HostEntry::named(nodes[0]), slots }];
    let grow = Some(Box::new(GrowRequest { hosts, ..GrowRequest::default() }));
    let submission = Box::new(Submission { grow, ..Submission::of(on_nodes("child", nodes)) });
    let (at, token) = (dvm.running[&of(1, 0)].0, PmixToken(token));
    dvm.input(at, Input::Daemon(DaemonInput::Pmix(PmixCall::Spawn { proc: of(1, 0), submission, token })));
    dvm.run();
}

#[test]
fn a_spawned_job_brings_nodes_along_and_hears_precisely_why_they_did_not_come() {
    for params in [ELASTIC, &[]] {
        let mut dvm = growing(params);
        dvm.silent_nodes.insert("m1".to_owned());
        spawn_bringing(&mut dvm, &["m0", "n0"], SlotChange::Unstated, 1);
        assert_eq!(answers(&dvm), [(1, Ok(2))]);
        assert_eq!(dvm.running.keys().filter(|proc| proc.job == JobId(2)).count(), 2);
        spawn_bringing(&mut dvm, &["m1"], SlotChange::Unstated, 2);
        assert_eq!(answers(&dvm).len(), 1, "it waits");
        dvm.fire(0, Timer::Head(HeadTimer::Campaign(CampaignId(2))));
        assert_eq!(answers(&dvm)[1..], [(2, Err(TIMEOUT))]);
        let jobs = dvm.running.len();
        spawn_bringing(&mut dvm, &["n1"], SlotChange::Adjust(-100), 3);
        assert_eq!(answers(&dvm)[2..], [(3, Err(BAD_PARAM))]);
        assert_eq!(dvm.running.len(), jobs, "nothing has begun");
        dvm.exit_job(1);
        dvm.exit_job(2);
        assert_eq!(dvm.code_of(1), 0, "what a refusal means is the caller's affair");
    }
}

/// A job belongs to one session (spec S3).
#[test]
fn a_caller_does_not_wait_for_slots_when_the_node_of_what_it_spawns_has_left() {
    let mut dvm = Cluster::build(3, &[ELASTIC, &[("ferrite_debug_prep_ms", "50")]].concat(), true);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    let mut parent = on_nodes("parent", &["n0", "n1"]);
    parent.apps[0].np = None;
    dvm.submit(1, Submission::of(parent));
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
    spawn(&mut dvm, of(1, 0), job("child", 1), 7);
    let shrink = ShrinkRequest { nodes: vec!["n2".to_owned()], wait: true, ..ShrinkRequest::default() };
    dvm.ask(2, Request::Resize(Box::new(ResizeRequest::Shrink(shrink))));
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(2))));
    assert_eq!(answers(&dvm), [(7, Err(OUT_OF_RESOURCE))]);
}

/// A job is in one session, and so is what it brings (spec S3).
#[test]
fn what_a_job_in_a_session_brings_along_comes_to_its_session() {
    let mut dvm = growing(ELASTIC);
    let hosts = vec![AddedHost { host: HostEntry::named("m0"), slots: SlotChange::Unstated }];
    let terms = SessionTerms { reserve: true, ..SessionTerms::default() };
    let request = GrowRequest { hosts, terms, wait: true, ..GrowRequest::default() };
    dvm.ask(2, Request::Resize(Box::new(ResizeRequest::Grow(request))));
    dvm.exit_job(1);
    let session = SessionChoice::Id(SessionId(1));
    dvm.submit(3, Submission { session, ..Submission::of(on_nodes("parent", &["m0"])) });
    let hosts = vec![AddedHost { host: HostEntry::named("m1"), slots: SlotChange::Unstated }];
    let grow = Some(Box::new(GrowRequest { hosts, ..GrowRequest::default() }));
    let submission = Box::new(Submission { grow, ..Submission::of(on_nodes("child", &["m1"])) });
    let at = dvm.running[&of(2, 0)].0;
    dvm.input(
        at,
        Input::Daemon(DaemonInput::Pmix(PmixCall::Spawn { proc: of(2, 0), submission, token: PmixToken(1) })),
    );
    dvm.run();
    assert_eq!(answers(&dvm), [(1, Ok(3))]);
    dvm.ask(4, Request::Sessions);
    let Reply::Sessions(sessions) = dvm.reply(4) else { panic!("sessions") };
    assert_eq!((sessions.len(), &sessions[0].nodes[..]), (1, &["m0".to_owned(), "m1".to_owned()][..]));
}

fn spawn_apart(dvm: &mut Cluster, parent: ProcId, spec: JobSpec, token: u64) {
    let at = dvm.running[&parent].0;
    let submission = Box::new(Submission { separate: true, ..Submission::of(spec) });
    dvm.input(
        at,
        Input::Daemon(DaemonInput::Pmix(PmixCall::Spawn { proc: parent, submission, token: PmixToken(token) })),
    );
    dvm.run();
}

#[test]
fn a_separate_job_neither_ends_with_its_parent_nor_is_waited_for() {
    for ends in [ExitStatus::Exited(0), ExitStatus::Exited(6)] {
        let mut dvm = parents();
        spawn_apart(&mut dvm, of(1, 0), on_nodes("apart", &["n3"]), 7);
        spawn(&mut dvm, of(2, 0), on_nodes("grandchild", &["n0"]), 8);
        spawn(&mut dvm, of(1, 1), on_nodes("child", &["n3"]), 9);
        assert_eq!(answers(&dvm), [(7, Ok(2)), (8, Ok(3)), (9, Ok(4))]);
        dvm.exit_job(4);
        dvm.exit(of(1, 0), ends);
        dvm.exit_job(1);
        assert_eq!(dvm.code_of(1), ends.code());
        assert_eq!(dvm.running.keys().map(|proc| proc.job.0).collect::<Vec<_>>(), [2, 3]);
        let (notices, replies) = (dvm.notices.len(), dvm.replies.len());
        dvm.exit(of(2, 0), ExitStatus::Exited(9));
        assert!(dvm.running.is_empty(), "its own children end with it");
        assert_eq!((dvm.notices.len(), dvm.replies.len()), (notices, replies), "nobody is there who could be told");
    }
}

/// Job 1 has spawned 2, 3 apart and 6; 2 has spawned 4; 3 has spawned 5. Job 2 is over. Job 7 is another's.
fn descendants() -> Cluster {
    let mut dvm = parents();
    spawn(&mut dvm, of(1, 0), on_nodes("child", &["n3"]), 7);
    spawn_apart(&mut dvm, of(1, 0), on_nodes("apart", &["n3"]), 8);
    spawn(&mut dvm, of(2, 0), on_nodes("grandchild", &["n0"]), 9);
    spawn(&mut dvm, of(3, 0), on_nodes("grandchild apart", &["n0"]), 10);
    spawn(&mut dvm, of(1, 1), on_nodes("child", &["n2"]), 11);
    dvm.submit(2, Submission::of(on_nodes("other", &["n1"])));
    assert_eq!(answers(&dvm), [(7, Ok(2)), (8, Ok(3)), (9, Ok(4)), (10, Ok(5)), (11, Ok(6))]);
    dvm.exit_job(2);
    dvm
}

fn running(dvm: &Cluster) -> Vec<u32> {
    let mut jobs: Vec<u32> = dvm.running.keys().map(|proc| proc.job.0).collect();
    jobs.dedup();
    jobs
}

fn killed(dvm: &Cluster, id: u64) -> Vec<u32> {
    let Reply::Killed(jobs) = dvm.reply(id) else { panic!("{:?}", dvm.reply(id)) };
    jobs.iter().map(|job| job.0).collect()
}

/// Trees (spec L130).
#[test]
fn a_tree_ends_with_all_that_descend_from_it_and_nothing_else() {
    let mut dvm = descendants();
    dvm.ask(3, Request::KillTree(JobId(1)));
    assert_eq!((killed(&dvm, 3), running(&dvm)), (vec![1, 3, 4, 5, 6], vec![7]));
    assert_eq!(dvm.code_of(1), 125);
    dvm.ask(4, Request::KillTree(JobId(1)));
    assert_eq!(dvm.reply(4), &Reply::Refused("Job 1 is over.".to_owned()));
    dvm.ask(5, Request::KillTree(JobId(9)));
    assert!(matches!(dvm.reply(5), Reply::Refused(text) if text.contains("There is no job 9")));
    // Without the option, a job ends with what failures take along.
    let mut dvm = descendants();
    dvm.ask(3, Request::Kill(JobId(1)));
    assert_eq!(running(&dvm), [3, 4, 5, 7]);
}

/// Trees (spec L130).
#[test]
fn what_descends_from_a_job_that_is_over_is_ended_by_its_name() {
    let mut dvm = descendants();
    dvm.ask(3, Request::KillTree(JobId(2)));
    assert_eq!((killed(&dvm, 3), running(&dvm)), (vec![4], vec![1, 3, 5, 6, 7]));
    dvm.ask(4, Request::KillTree(JobId(3)));
    assert_eq!((killed(&dvm, 4), running(&dvm)), (vec![3, 5], vec![1, 6, 7]));
    dvm.ask(5, Request::KillTree(JobId(1)));
    assert_eq!((killed(&dvm, 5), running(&dvm)), (vec![1, 6], vec![7]));
}

/// Trees (spec L131).
#[test]
fn the_list_of_jobs_names_the_parents_of_those_that_run_and_of_those_that_are_over() {
    let mut dvm = descendants();
    dvm.ask(3, Request::Jobs);
    let Reply::Jobs(jobs) = dvm.reply(3) else { panic!("no list") };
    let mut parents: Vec<_> = jobs.iter().map(|job| (job.job.0, job.parent.map(|job| job.0))).collect();
    parents.sort_unstable();
    let expected = [(1, None), (2, Some(1)), (3, Some(1)), (4, Some(2)), (5, Some(3)), (6, Some(1)), (7, None)];
    assert_eq!(parents, expected);
}

#[test]
fn a_separate_job_that_fails_costs_its_parent_nothing() {
    let mut dvm = parents();
    spawn_apart(&mut dvm, of(1, 0), on_nodes("apart", &["n3"]), 7);
    dvm.exit(of(2, 0), ExitStatus::Exited(9));
    assert_eq!(dvm.running.len(), 2);
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
}

#[test]
fn a_separate_job_outlives_the_submitter_of_its_parent() {
    for gone in [false, true] {
        let mut dvm = parents();
        spawn_apart(&mut dvm, of(1, 0), on_nodes("apart", &["n3"]), 7);
        let client = ferrite_core::RequestId(1);
        dvm.input(
            DaemonRank::HEAD,
            if gone { Input::Head(HeadInput::ClientGone(client)) } else { Input::Head(HeadInput::Cancel(client)) },
        );
        dvm.run();
        assert_eq!(dvm.running.keys().copied().collect::<Vec<_>>(), [of(2, 0)]);
    }
}

#[test]
fn a_separate_job_and_its_parent_can_meet_and_are_forgotten_alone() {
    let mut dvm = parents();
    spawn_apart(&mut dvm, of(1, 0), on_nodes("apart", &["n3"]), 7);
    assert_eq!((registered_at(&dvm, 1), registered_at(&dvm, 2)), (vec![1, 2, 3], vec![1, 2, 3]));
    for at in [1, 2, 3] {
        connect(&mut dvm, at, everybody(), u64::from(at));
    }
    assert_eq!(replies(&dvm).iter().filter(|(_, _, result)| result.is_ok()).count(), 3);
    dvm.exit_job(1);
    let gone = |dvm: &Cluster| dvm.pmix.iter().filter(|(_, e)| matches!(e, PmixEffect::Deregister(_))).count();
    assert_eq!(gone(&dvm), 3);
    dvm.exit_job(2);
    assert_eq!(gone(&dvm), 6);
}

#[test]
fn a_dvm_for_one_job_stays_for_a_separate_one_and_ends_with_the_code_of_what_was_submitted() {
    for (parents, apart) in [(5, 0), (0, 9)] {
        let mut dvm = Cluster::with_job(3, &[], job("parent", 1));
        spawn_apart(&mut dvm, of(1, 0), on_nodes("apart", &["n2"]), 7);
        dvm.exit(of(1, 0), ExitStatus::Exited(parents));
        assert_eq!(dvm.running.len(), 1);
        let (at, stream) = (dvm.running[&of(2, 0)].0, ferrite_wire::Stream::Stdout);
        dvm.input(
            at,
            Input::Daemon(DaemonInput::Output { proc: of(2, 0), stream, data: Bytes::from_static(b"late\n") }),
        );
        dvm.run();
        assert_eq!(dvm.stdout(), "late\n");
        dvm.exit(of(2, 0), ExitStatus::Exited(apart));
        assert_eq!(dvm.exit_code(), parents);
        assert_eq!(dvm.replies.len(), 1);
        dvm.assert_gone();
    }
}

#[test]
fn a_job_that_cannot_be_placed_or_started_is_refused_and_costs_the_tree_nothing() {
    let mut dvm = parents();
    dvm.missing.insert("missing".to_owned());
    spawn(&mut dvm, of(1, 1), job("child", 1000), 1);
    spawn(&mut dvm, of(1, 1), on_nodes("child", &["elsewhere"]), 2);
    spawn(&mut dvm, of(1, 1), job("missing", 1), 3);
    assert_eq!(answers(&dvm), [(1, Err(OUT_OF_RESOURCE)), (2, Err(ALLOC_FAILED)), (3, Err(FAILED_TO_LAUNCH))]);
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0, "what a refusal means is the caller's affair");
}

#[test]
fn who_has_spawned_a_job_hears_of_its_end_once_with_its_code() {
    let ends = |dvm: &Cluster| -> Vec<(u32, ProcId, u32, u8)> {
        let end = |(at, effect): &(DaemonRank, PmixEffect)| match effect {
            PmixEffect::JobEnd { parent, job, code } => Some((at.0, *parent, job.0, *code)),
            _ => None,
        };
        dvm.pmix.iter().filter_map(end).collect()
    };
    let mut dvm = parents();
    dvm.missing.insert("missing".to_owned());
    spawn(&mut dvm, of(1, 0), on_nodes("child", &["n3"]), 7);
    spawn(&mut dvm, of(1, 1), on_nodes("child", &["n0"]), 8);
    spawn(&mut dvm, of(1, 1), on_nodes("missing", &["n0"]), 9);
    assert_eq!(ends(&dvm), [], "a refusal is the answer, and no end");
    dvm.exit(of(2, 0), ExitStatus::Exited(9));
    dvm.exit(of(3, 0), ExitStatus::Exited(0));
    assert_eq!(ends(&dvm), [(1, of(1, 0), 2, 9), (2, of(1, 1), 3, 0)]);
    spawn(&mut dvm, of(1, 0), on_nodes("child", &["n3"]), 10);
    dvm.exit_job(1);
    dvm.exit_job(5);
    assert_eq!(ends(&dvm).len(), 2, "who is over hears nothing");
}

/// Submitters and spawners hear whether the job runs (spec L22).
#[test]
fn who_submits_a_job_hears_once_whether_it_runs_or_why_not() {
    let mut dvm = Cluster::persistent(4);
    dvm.missing.insert("missing".to_owned());
    let specs = [
        on_nodes("a.out", &["n1", "n2"]),
        job("a.out", 1000),
        on_nodes("a.out", &["elsewhere"]),
        on_nodes("missing", &["n1"]),
        JobSpec::new(vec![AppContext { argv: Vec::new(), ..app("", 1) }]),
    ];
    for (id, spec) in (1..).zip(specs) {
        dvm.submit(id, Submission::of(spec));
    }
    dvm.losing(3, 0);
    dvm.submit(6, Submission::of(on_nodes("fails", &["n1", "n3"])));
    let fails = dvm.accepted[&ferrite_core::RequestId(6)];
    dvm.exit(ProcId { job: fails, rank: Rank(0) }, ExitStatus::Exited(9));
    dvm.keep_nothing_back();
    dvm.fire(3, Timer::Link(LinkTimer::Probe));
    dvm.exit_job(1);
    let started: Vec<_> = dvm.started.iter().map(|(request, result)| (request.0, *result)).collect();
    let refused = [OUT_OF_RESOURCE, ALLOC_FAILED, FAILED_TO_LAUNCH, BAD_PARAM].map(Err);
    let expected = [Ok(())].into_iter().chain(refused).chain([Ok(())]);
    assert_eq!(started, (1..).zip(expected).collect::<Vec<_>>());
    assert_eq!((dvm.code_of(1), dvm.code_of(6)), (0, 9));
}

#[test]
fn a_parent_that_dies_while_it_waits_leaves_nothing_behind() {
    let mut dvm = parents();
    // The daemon that is to start the child gets no order.
    dvm.losing(0, 3);
    spawn(&mut dvm, of(1, 1), on_nodes("child", &["n3"]), 7);
    assert_eq!(answers(&dvm), [], "it does not run yet");
    dvm.exit(of(1, 1), ExitStatus::Signaled(Signal::KILL));
    assert_eq!(answers(&dvm), [(7, Err(KILLED_BY_CMD))]);
    assert!(!is_answered(&dvm, 1), "the child may be about to start");
    dvm.keep_nothing_back();
    dvm.fire(0, ferrite_core::Timer::Link(ferrite_core::LinkTimer::Probe));
    assert!(dvm.running.is_empty());
    assert_eq!(dvm.code_of(1), 137);
}

#[test]
fn a_job_that_is_ending_spawns_nothing() {
    let mut dvm = parents();
    let call = |dvm: &mut Cluster, token| {
        let submission = Box::new(Submission::of(job("child", 1)));
        let token = PmixToken(token);
        dvm.input(
            DaemonRank(1),
            Input::Daemon(DaemonInput::Pmix(PmixCall::Spawn { proc: of(9, 0), submission, token })),
        );
        dvm.run();
    };
    call(&mut dvm, 1);
    let empty = JobSpec::new(vec![AppContext { argv: Vec::new(), ..app("", 1) }]);
    spawn(&mut dvm, of(1, 0), empty, 2);
    assert_eq!(answers(&dvm), [(1, Err(CANCELED)), (2, Err(PMIX_ERR_BAD_PARAM))]);
}

/// Parents on n1 and n2, two children on n2 and n3.
fn family() -> Cluster {
    let mut dvm = parents();
    spawn(&mut dvm, of(1, 0), on_nodes("child", &["n2", "n3"]), 7);
    dvm
}

const EVERYBODY: [(u32, [u32; 0]); 2] = [(1, []), (2, [])];

fn everybody() -> Vec<(u32, Vec<u32>)> {
    EVERYBODY.map(|(job, ranks)| (job, ranks.to_vec())).to_vec()
}

#[test]
fn two_jobs_connect_over_three_daemons_and_each_hears_once() {
    let mut dvm = family();
    for round in 0..2 {
        connect(&mut dvm, 1, everybody(), 10 + round);
        connect(&mut dvm, 3, everybody(), 30 + round);
        assert_eq!(replies(&dvm).len(), 3 * round as usize, "one is missing");
        // The caller may name them in any order.
        let mut turned = everybody();
        turned.reverse();
        connect(&mut dvm, 2, turned, 20 + round);
        let tokens: Vec<u64> = replies(&dvm).iter().map(|(_, token, _)| token % 10).collect();
        assert_eq!(tokens.iter().filter(|token| **token == round).count(), 3);
    }
    assert!(replies(&dvm).iter().all(|(_, _, result)| result.is_ok()));
    // A process of either job can be asked for what it has published.
    dvm.input(
        DaemonRank(1),
        Input::Daemon(DaemonInput::Pmix(PmixCall::Modex { proc: of(2, 1), token: PmixToken(50) })),
    );
    dvm.run();
    let fetch = dvm.pmix.iter().find(|(at, e)| at.0 == 3 && matches!(e, PmixEffect::FetchModex { .. }));
    assert!(fetch.is_some());
}

#[test]
fn a_fence_of_some_of_each_job_carries_their_data() {
    let mut dvm = family();
    let members = Members::of_jobs(vec![(JobId(2), vec![Rank(1)]), (JobId(1), vec![Rank(0)])]).expect("two");
    for (at, data) in [(1, "one"), (3, "three")] {
        let (members, token) = (members.clone(), PmixToken(u64::from(at)));
        dvm.input(
            DaemonRank(at),
            Input::Daemon(DaemonInput::Pmix(PmixCall::Fence { members, data: Bytes::from(data), token })),
        );
        dvm.run();
    }
    let all = Bytes::from_static(b"onethree");
    assert_eq!(replies(&dvm), [(1, 1, Ok(all.clone())), (3, 3, Ok(all))]);
}

#[test]
fn a_connect_with_a_lost_participant_fails_for_everybody_with_one_error() {
    let mut dvm = parents();
    let mut child = on_nodes("child", &["n2", "n3"]);
    child.options.recoverable = true;
    spawn(&mut dvm, of(1, 0), child, 7);
    connect(&mut dvm, 1, everybody(), 10);
    dvm.crash(3);
    connect(&mut dvm, 2, everybody(), 20);
    assert_eq!(replies(&dvm), [(1, 10, Err(LOST_CONNECTION)), (2, 20, Err(LOST_CONNECTION))]);
    connect(&mut dvm, 1, everybody(), 11);
    assert!(replies(&dvm).contains(&(1, 11, Err(LOST_CONNECTION))), "a later one has no chance either");
}

#[test]
fn who_waits_for_a_job_that_ends_is_told() {
    let mut dvm = family();
    connect(&mut dvm, 1, everybody(), 10);
    dvm.exit_job(2);
    assert_eq!(replies(&dvm), [(1, 10, Err(LOST_CONNECTION))]);
    connect(&mut dvm, 2, everybody(), 20);
    assert!(replies(&dvm).iter().any(|(at, token, result)| (*at, *token) == (2, 20) && result.is_err()));
}

#[test]
fn a_process_that_failed_in_one_job_is_not_waited_for_by_another() {
    let mut dvm = parents();
    let mut child = on_nodes("child", &["n3", "n3"]);
    child.options.recoverable = true;
    spawn(&mut dvm, of(1, 0), child, 7);
    connect(&mut dvm, 1, everybody(), 10);
    dvm.exit(of(2, 1), ExitStatus::Signaled(Signal::KILL));
    connect(&mut dvm, 2, everybody(), 20);
    assert_eq!(replies(&dvm), [(1, 10, Err(LOST_CONNECTION)), (2, 20, Err(LOST_CONNECTION))]);
}

#[test]
fn a_daemon_that_was_only_to_know_a_job_is_not_waited_for_when_it_dies() {
    let mut dvm = Cluster::persistent(4);
    let mut parent = on_nodes("parent", &["n1", "n2"]);
    parent.options.recoverable = true;
    dvm.submit(1, Submission::of(parent));
    // Its word that it knows the child does not arrive.
    dvm.losing(2, 0);
    spawn(&mut dvm, of(1, 0), on_nodes("child", &["n3"]), 7);
    assert_eq!(answers(&dvm), []);
    dvm.crash(2);
    assert_eq!(answers(&dvm), [(7, Ok(2))]);
}

/// The request of a client to shrink by a node and to hear when it has left.
fn shrink(node: &str) -> Request {
    let shrink = ShrinkRequest { nodes: vec![node.to_owned()], wait: true, ..ShrinkRequest::default() };
    Request::Resize(Box::new(ResizeRequest::Shrink(shrink)))
}

/// A child on n3. Daemon n2 is only told of it, and is lost before it can acknowledge that.
fn a_child_that_n2_is_to_know(dvm: &mut Cluster, child: JobSpec) {
    dvm.losing(2, 0);
    spawn(dvm, of(1, 0), child, 7);
    assert_eq!(answers(dvm), []);
}

fn n2_speaks(dvm: &mut Cluster) {
    dvm.keep_nothing_back();
    dvm.fire(2, Timer::Link(LinkTimer::Probe));
}

#[test]
fn a_child_that_ends_before_every_daemon_of_the_tree_knows_it_is_answered_all_the_same() {
    let mut dvm = parents();
    a_child_that_n2_is_to_know(&mut dvm, on_nodes("true", &["n3"]));
    dvm.exit_job(2);
    assert_eq!(answers(&dvm), [], "its name means nothing to n2 yet");
    n2_speaks(&mut dvm);
    assert_eq!(answers(&dvm), [(7, Ok(2))]);
    let child = dvm.transitions.iter().filter_map(|to| to.strip_prefix("2 ")).skip_while(|to| *to != "STARTED");
    assert_eq!(
        child.collect::<Vec<_>>(),
        ["STARTED", "LOCAL_LAUNCH_COMPLETE", "RUNNING", "TERMINATED", "NOTIFY_COMPLETED", "NOTIFIED"],
        "it walks the whole table"
    );
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
}

#[test]
fn a_child_that_fails_right_after_its_start_was_spawned_all_the_same() {
    for status in [ExitStatus::Exited(9), ExitStatus::Signaled(Signal::KILL)] {
        let mut dvm = parents();
        a_child_that_n2_is_to_know(&mut dvm, on_nodes("child", &["n3", "n3"]));
        dvm.exit(of(2, 0), status);
        assert_eq!(answers(&dvm), [(7, Ok(2))], "n2, which has no process of it, is not waited for");
        assert!(dvm.running.keys().all(|proc| proc.job == JobId(1)), "what is left of it has ended");
        n2_speaks(&mut dvm);
        assert_eq!(answers(&dvm), [(7, Ok(2))]);
        dvm.exit_job(1);
        assert_eq!(dvm.code_of(1), status.code(), "it ran, so that its failure is one of the tree");
    }
}

/// A daemon reports its launch once (spec L19).
#[test]
fn a_child_of_which_one_process_fails_and_another_cannot_be_started_is_refused() {
    let mut dvm = parents();
    dvm.missing.insert("missing".to_owned());
    let mut child = on_nodes("child", &["n3"]);
    child.apps.extend(on_nodes("missing", &["n2"]).apps);
    a_child_that_n2_is_to_know(&mut dvm, child);
    dvm.exit(of(2, 0), ExitStatus::Exited(9));
    n2_speaks(&mut dvm);
    assert_eq!(answers(&dvm), [(7, Err(FAILED_TO_LAUNCH))]);
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0, "what a refusal means is the caller's affair");
}

#[test]
fn a_child_that_has_failed_and_whose_other_daemon_is_lost_was_not_spawned() {
    let mut dvm = parents();
    dvm.exit(of(1, 1), ExitStatus::Exited(0));
    let child = on_nodes("child", &["n3", "n2"]);
    dvm.losing(0, 2);
    spawn(&mut dvm, of(1, 0), child, 7);
    // Its first process is on n2, the last node of its parent.
    dvm.exit(of(2, 1), ExitStatus::Exited(9));
    assert_eq!(answers(&dvm), []);
    dvm.crash(2);
    assert_eq!(answers(&dvm), [(7, Err(LOST_CONNECTION))]);
}

#[test]
fn a_child_that_has_failed_and_whose_other_daemon_leaves_before_its_launch_was_not_spawned() {
    let mut dvm = Cluster::build(4, ELASTIC, true);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    dvm.submit(1, Submission::of(on_nodes("parent", &["n1"])));
    dvm.losing(0, 2);
    spawn(&mut dvm, of(1, 0), on_nodes("child", &["n3", "n2"]), 7);
    dvm.exit(of(2, 0), ExitStatus::Exited(9));
    dvm.ask(2, shrink("n2"));
    assert_eq!(answers(&dvm), []);
    dvm.crash(2);
    assert_eq!(answers(&dvm), [(7, Err(LOST_CONNECTION))]);
}

#[test]
fn a_child_that_has_failed_can_still_be_ended_while_a_daemon_keeps_silent() {
    let mut dvm = parents();
    a_child_that_n2_is_to_know(&mut dvm, on_nodes("child", &["n3", "n2"]));
    dvm.exit(of(2, 0), ExitStatus::Exited(9));
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::Cancel(ferrite_core::RequestId(1))));
    dvm.run();
    assert_eq!(answers(&dvm), [(7, Err(KILLED_BY_CMD))]);
}

#[test]
fn a_spawn_does_not_wait_for_a_daemon_that_was_only_to_know_it_and_has_left() {
    let mut dvm = Cluster::build(4, ELASTIC, true);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    dvm.submit(1, Submission::of(on_nodes("parent", &["n1", "n2"])));
    dvm.exit(of(1, 1), ExitStatus::Exited(0));
    a_child_that_n2_is_to_know(&mut dvm, on_nodes("child", &["n3"]));
    dvm.ask(2, shrink("n2"));
    dvm.keep_nothing_back();
    dvm.crash(2);
    assert_eq!(answers(&dvm), [(7, Ok(2))]);
}

#[test]
fn a_spawn_travels_as_it_was_asked_for() {
    let submission = Box::new(Submission::of(job("child", 2)));
    let message = Message::Head(HeadMessage::SpawnRequest { id: 3, parent: of(1, 1), submission });
    assert_eq!(Message::decode(&message.encode()).unwrap(), message);
}

/// An application that may not use the bookmark begins as usual (spec L80).
#[test]
fn the_map_of_a_spawned_job_begins_at_the_last_node_of_its_parent() {
    let mut dvm = parents();
    let mut by_node = job("child", 3);
    by_node.map.by = Some(MapBy::Node);
    spawn(&mut dvm, of(1, 0), by_node, 1);
    assert_eq!(places(&dvm, 2), [2, 3, 0], "n2 is the last node of the parent");
    // From nodes without that one the map begins as usual.
    spawn(&mut dvm, of(1, 0), on_nodes("child", &["n0", "n1"]), 2);
    assert_eq!(places(&dvm, 3), [0, 1]);
    // Slot after slot, the head looks at no more nodes than it needs (spec L144).
    let mut by_slot = job("child", 1);
    by_slot.map.by = Some(MapBy::Slot);
    let tried = |dvm: &Cluster| dvm.nodes[&DaemonRank::HEAD].as_head().expect("the head").nodes_tried();
    let before = tried(&dvm);
    spawn(&mut dvm, of(1, 0), by_slot, 3);
    assert_eq!((places(&dvm, 4), tried(&dvm) - before), (vec![2], 1));
    // A list of hosts by rank stays as it is.
    let mut listed = on_nodes("child", &["n1", "n2"]);
    listed.map.by = Some(MapBy::Seq(Vec::new()));
    spawn(&mut dvm, of(1, 0), listed, 4);
    assert_eq!(places(&dvm, 5), [1, 2]);
}
