//! Ends of jobs of the resource manager, by their time limit or a preemption (docs/spec/elastic.md, nodes of a resource
//! manager). The manager is this file.

mod common;

use common::{Cluster, job, resize};
use ferrite_core::{DaemonTimer, HeadInput, HeadTimer, Input, PmixEffect, Timer};
use ferrite_rm::JobEnd;
use ferrite_types::pmix_status::{FERRITE_NODES_STAY, PMIX_ALLOC_TIMEOUT_WARNING};
use ferrite_types::*;
use ferrite_wire::control::{Request, Submission};
use ferrite_wire::{EventInfo, GrowRequest, ResizeOutcome, ResizeRequest, Withdrawal};

const TIMER: Timer = Timer::Head(HeadTimer::Deadlines);
const WORD: Timer = Timer::Daemon(DaemonTimer::Word);

/// A DVM on two nodes of Slurm job 7 and two of job 8, with two slots each.
fn dvm() -> Cluster {
    let mut dvm = Cluster::of(Cluster::config_in_slurm(2));
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    let more = GrowRequest { count: 2, wait: true, ..GrowRequest::default() };
    dvm.ask(100, Request::Resize(Box::new(ResizeRequest::Grow(more))));
    let host = |name: &str| HostEntry { slots: SlotCount::Given(2), ..HostEntry::named(name) };
    let granted =
        HeadInput::NodesGranted { extension: ExtensionId(1), job: "8".to_owned(), nodes: vec![host("n5"), host("n6")] };
    dvm.input(DaemonRank::HEAD, Input::Head(granted));
    dvm.run();
    assert_eq!(resize(&dvm, 100).outcome, ResizeOutcome::Done);
    dvm
}

/// A job over all slots whose processes want so many seconds.
fn with_grace(seconds: u64) -> Submission {
    let mut submission = Submission::of(job("a.out", 8));
    submission.spec.options.grace = Some(Grace { time: Duration::from_secs(seconds), signal: None });
    submission
}

fn says(dvm: &mut Cluster, job: &str, told: Result<JobEnd, &str>) {
    let told = Input::Head(HeadInput::JobEndTold { job: job.to_owned(), told: told.map_err(str::to_owned) });
    dvm.input(DaemonRank::HEAD, told);
    dvm.run();
}

fn left(seconds: u64) -> Result<JobEnd, &'static str> {
    Ok(JobEnd { left_s: Some(seconds), is_preempted: false, is_over: false })
}

fn preempted(seconds: u64) -> Result<JobEnd, &'static str> {
    Ok(JobEnd { left_s: Some(seconds), is_preempted: true, is_over: false })
}

fn signal(dvm: &mut Cluster, daemon: u32, is_order: bool) {
    dvm.input(DaemonRank(daemon), Input::ManagerSignal { is_order });
    dvm.run();
}

/// The notices of this code that daemons have passed on.
fn told(dvm: &Cluster, code: PmixStatus) -> Vec<(u32, Withdrawal)> {
    let heard = dvm.pmix.iter().filter_map(|(daemon, effect)| match effect {
        PmixEffect::Event { event, .. } if event.code == code => match &event.info {
            EventInfo::Withdrawal(notice) => Some((daemon.0, (**notice).clone())),
            other => panic!("{other:?}"),
        },
        _ => None,
    });
    heard.collect()
}

fn is_set(dvm: &Cluster) -> bool {
    dvm.timers.contains(&(DaemonRank::HEAD, TIMER))
}

/// Without a job that has asked for time the manager is not asked (spec E66).
#[test]
fn nobody_asks_for_an_end_that_no_job_wants_to_know() {
    let mut dvm = dvm();
    dvm.submit(1, Submission::of(job("a.out", 8)));
    assert!(dvm.asked_for_end.is_empty() && !is_set(&dvm));
}

/// Jobs are told before the time limit, as early as they have asked for (spec E66).
#[test]
fn jobs_hear_of_a_time_limit_as_early_as_they_have_asked_for() {
    let mut dvm = dvm();
    dvm.submit(1, with_grace(30));
    assert_eq!(dvm.asked_for_end, ["7", "8"]);
    says(&mut dvm, "7", left(3_600));
    says(&mut dvm, "8", Ok(JobEnd::default()));
    assert!(is_set(&dvm) && told(&dvm, PMIX_ALLOC_TIMEOUT_WARNING).is_empty());
    dvm.pass(Duration::from_secs(3_566));
    dvm.fire(0, TIMER);
    assert_eq!(dvm.asked_for_end, ["7", "8", "7"], "somebody may have moved the end");
    says(&mut dvm, "7", left(31));
    let notices = told(&dvm, PMIX_ALLOC_TIMEOUT_WARNING);
    let Withdrawal { ranks, nodes, seconds, .. } = &notices[0].1;
    assert_eq!((notices.len(), ranks.len(), *seconds), (4, 4, 30), "all processes hear of those on the nodes of job 7");
    assert_eq!(nodes.as_slice(), ["n0".to_owned(), "n1".to_owned()]);
    assert_eq!(dvm.notices, ["Nodes n0, n1 leave the DVM: ranks 0, 1, 4, 5 of job 1 have 30 seconds to end."]);
    // A second look just before the end, and then the end of the DVM.
    dvm.pass(Duration::from_secs(28));
    dvm.fire(0, TIMER);
    says(&mut dvm, "7", left(1));
    assert_eq!(told(&dvm, PMIX_ALLOC_TIMEOUT_WARNING).len(), 4, "they know");
    dvm.fire(0, TIMER);
    assert_eq!(dvm.exits.get(&DaemonRank::HEAD), Some(&1), "it ends in order before Slurm ends it");
}

/// When the end has moved away the jobs hear that the nodes stay (spec E66).
#[test]
fn an_end_that_moves_away_is_told_as_well() {
    let mut dvm = dvm();
    dvm.submit(1, with_grace(30));
    says(&mut dvm, "8", left(20));
    says(&mut dvm, "7", left(20));
    // The drain of job 8's nodes, and the notice about those of job 7.
    assert_eq!(told(&dvm, PMIX_ALLOC_TIMEOUT_WARNING).len(), 8);
    dvm.pass(Duration::from_secs(17));
    dvm.fire(0, TIMER);
    says(&mut dvm, "7", left(600));
    says(&mut dvm, "8", left(600));
    assert_eq!(told(&dvm, FERRITE_NODES_STAY).len(), 8);
    assert_eq!(dvm.exits.get(&DaemonRank::HEAD), None);
    assert_eq!(dvm.running.len(), 8, "and nobody was ended");
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
}

/// A signal of the manager announces the end, and the nodes of a granted job drain until then (spec E66, E68).
#[test]
fn the_nodes_of_a_granted_job_drain_until_its_end_and_go_back() {
    let mut dvm = dvm();
    dvm.submit(1, with_grace(5));
    says(&mut dvm, "7", Ok(JobEnd::default()));
    says(&mut dvm, "8", left(600));
    signal(&mut dvm, 2, false);
    signal(&mut dvm, 3, false);
    assert_eq!(dvm.asked_for_end, ["7", "8", "8"]);
    says(&mut dvm, "8", left(600));
    assert_eq!(dvm.asked_for_end, ["7", "8", "8", "8"], "the answer may be older than the second signal");
    assert!(told(&dvm, PMIX_ALLOC_TIMEOUT_WARNING).is_empty());
    says(&mut dvm, "8", left(61));
    let notices = told(&dvm, PMIX_ALLOC_TIMEOUT_WARNING);
    assert_eq!((notices.len(), notices[0].1.seconds), (4, 60), "the real time, not what the job has asked for");
    assert_eq!(dvm.running.len(), 8);
    dvm.pass(Duration::from_secs(59));
    dvm.fire(0, Timer::Head(HeadTimer::Campaign(CampaignId(2))));
    for daemon in [2, 3] {
        dvm.fire(daemon, Timer::Daemon(DaemonTimer::Grace));
    }
    assert_eq!(dvm.code_of(1), 75, "it has not ended in its time");
    assert!(dvm.given_back.iter().any(|back| back.job == "8"), "{:?}", dvm.given_back);
}

/// SIGTERM of a preempted job leaves its time to the processes; any other is obeyed at once (spec E67).
#[test]
fn a_daemon_that_is_told_to_end_asks_whether_its_job_is_preempted() {
    let mut dvm = dvm();
    dvm.submit(1, with_grace(30));
    says(&mut dvm, "8", Ok(JobEnd::default()));
    signal(&mut dvm, 2, true);
    assert!(dvm.timers.contains(&(DaemonRank(2), WORD)), "it does not wait for ever");
    says(&mut dvm, "8", preempted(20));
    assert!(!dvm.timers.contains(&(DaemonRank(2), WORD)));
    assert_eq!(told(&dvm, PMIX_ALLOC_TIMEOUT_WARNING)[0].1.seconds, 19);
    assert_eq!(dvm.running.len(), 8, "nobody is ended");
    // Slurm ends it.
    signal(&mut dvm, 2, true);
    says(&mut dvm, "8", Ok(JobEnd { left_s: Some(0), is_preempted: true, is_over: true }));
    assert!(dvm.exits.contains_key(&DaemonRank(2)), "{:?}", dvm.exits);
}

/// SIGTERM of a preempted job leaves its time to the processes; any other is obeyed at once (spec E67).
#[test]
fn a_daemon_whose_step_is_told_to_end_leaves_at_once() {
    for answer in [left(600), Err("squeue hangs")] {
        let mut dvm = dvm();
        dvm.submit(1, with_grace(30));
        says(&mut dvm, "8", left(700));
        signal(&mut dvm, 2, true);
        says(&mut dvm, "8", answer);
        assert!(dvm.exits.contains_key(&DaemonRank(2)), "{:?}", dvm.exits);
    }
}

/// SIGTERM of a preempted job leaves its time to the processes; any other is obeyed at once (spec E67).
#[test]
fn the_head_asks_as_well_and_does_not_wait_for_ever() {
    let mut dvm = dvm();
    dvm.submit(1, with_grace(30));
    says(&mut dvm, "7", Ok(JobEnd::default()));
    says(&mut dvm, "8", Ok(JobEnd::default()));
    signal(&mut dvm, 0, true);
    says(&mut dvm, "7", preempted(20));
    assert_eq!(dvm.exits.get(&DaemonRank::HEAD), None);
    assert_eq!(told(&dvm, PMIX_ALLOC_TIMEOUT_WARNING).len(), 4);
    signal(&mut dvm, 0, true);
    dvm.pass(Duration::from_secs(3));
    dvm.fire(0, TIMER);
    assert_eq!(dvm.exits.get(&DaemonRank::HEAD), Some(&1), "the manager has not answered");
}

/// The DVM ends with the manager's job, also when no process has waited for it (spec E67).
#[test]
fn the_dvm_ends_with_its_job_although_nobody_has_waited_for_it() {
    for is_over in [false, true] {
        let mut dvm = dvm();
        dvm.submit(1, with_grace(30));
        says(&mut dvm, "7", preempted(20));
        dvm.exit_job(1);
        assert_eq!(dvm.code_of(1), 0);
        dvm.pass(Duration::from_secs(17));
        dvm.fire(0, TIMER);
        says(&mut dvm, "7", Ok(JobEnd { is_over, ..preempted(1).unwrap() }));
        if !is_over {
            assert_eq!(dvm.exits.get(&DaemonRank::HEAD), None);
            dvm.fire(0, TIMER);
        }
        assert_eq!(dvm.exits.get(&DaemonRank::HEAD), Some(&1));
    }
}

/// A job of the manager that is over is not asked for again and again while its daemons are killed (spec E66).
#[test]
fn a_granted_job_that_is_over_is_asked_for_once() {
    let mut dvm = dvm();
    dvm.submit(1, with_grace(30));
    says(&mut dvm, "7", Ok(JobEnd::default()));
    says(&mut dvm, "8", Ok(JobEnd { left_s: Some(0), is_preempted: false, is_over: true }));
    assert_eq!(dvm.asked_for_end, ["7", "8"]);
    assert!(!is_set(&dvm));
}
