//! The policy for elastic jobs (`ferrite_elastic_policy fill`): idle slots are offered, and what jobs have above their
//! smallest size is taken back for jobs that wait (docs/spec/elastic.md, the policy for elastic jobs).

mod common;

use std::collections::BTreeSet;

use common::elastic::*;
use common::{Cluster, job, proc};
use ferrite_core::{DaemonInput, HeadTimer, Input, PmixCall, PmixEffect, PmixToken, Timer};
use ferrite_types::pmix_status::{FERRITE_GROWTH_OFFERED, PMIX_ALLOC_TIMEOUT_WARNING};
use ferrite_types::resources::parse_takes;
use ferrite_types::*;
use ferrite_wire::control::{Request, Submission};
use ferrite_wire::{ControlOrder, EventInfo, JobResize, SizeChange, WithdrawalAnswer};

const LOOK: Timer = Timer::Head(HeadTimer::Policy);

/// A DVM of so many nodes with four slots each that fills its elastic jobs.
fn filling(nodes: u32) -> Cluster {
    common::dvm_with(nodes, FILLING)
}

const FILLING: &[(&str, &str)] = &[("ferrite_elastic_policy", "fill"), ("ferrite_elastic_pause", "10")];

/// The same, with licences that all nodes share.
fn filling_with(nodes: u32, licences: &str) -> Cluster {
    common::dvm_with(nodes, &[FILLING, &[("ferrite_resources", licences)]].concat())
}

fn with_licences(mut submission: Submission) -> Submission {
    submission.spec.apps[0].takes = parse_takes("licence=1").expect("amounts").each;
    submission
}

/// A job of this range on these nodes, whose processes have ten seconds.
fn elastic(min: u32, max: u32, nodes: &[&str]) -> Submission {
    let mut submission = on("a.out", nodes);
    submission.spec.options.elastic = Some(SizeRange { min, max });
    submission.spec.options.grace = Some(Grace { time: Duration::from_secs(10), signal: None });
    submission
}

fn patient(nodes: &[&str]) -> Submission {
    Submission { wait_for_slots: true, ..on("b.out", nodes) }
}

/// Lets two seconds pass, after which the policy looks.
fn look(dvm: &mut Cluster) {
    dvm.fire(0, LOOK);
}

/// What processes have heard in events of this code, once for each change.
fn heard<T>(dvm: &Cluster, code: PmixStatus, read: impl Fn(&EventInfo) -> Option<(AllocReqId, T)>) -> Vec<T> {
    let mut seen = BTreeSet::new();
    let info = |(_, effect): &(DaemonRank, PmixEffect)| match effect {
        PmixEffect::Event { event, .. } if event.code == code => read(&event.info),
        _ => None,
    };
    dvm.pmix.iter().filter_map(info).filter(|(id, _)| seen.insert(id.clone())).map(|(_, what)| what).collect()
}

/// The sizes of the offers so far, with the roots of the jobs.
fn offers(dvm: &Cluster) -> Vec<(u32, u32)> {
    heard(dvm, FERRITE_GROWTH_OFFERED, |info| match info {
        EventInfo::Growth(offer) => Some((offer.req_id.clone(), (offer.root.0, offer.procs))),
        _ => None,
    })
}

/// The processes that were told that they are to end.
fn told(dvm: &Cluster) -> Vec<(u32, Vec<u32>)> {
    heard(dvm, PMIX_ALLOC_TIMEOUT_WARNING, |info| match info {
        EventInfo::Withdrawal(notice) => {
            Some((notice.req_id.clone()?, (notice.job.0, notice.ranks.iter().map(|rank| rank.0).collect())))
        }
        _ => None,
    })
}

fn call(dvm: &mut Cluster, by: ProcId, call: PmixCall) {
    let at = dvm.running[&by].0;
    dvm.input(at, Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
}

fn spawn(dvm: &mut Cluster, by: ProcId, count: u32) {
    let submission = Box::new(Submission::of(job("world", count)));
    call(dvm, by, PmixCall::Spawn { proc: by, submission, token: PmixToken(5_000 + u64::from(count)) });
}

fn of(job: u32, rank: u32) -> ProcId {
    ProcId { job: JobId(job), rank: Rank(rank) }
}

/// Slots that are free for a second are offered, as far as the job may grow (spec E62).
#[test]
fn idle_slots_are_offered_to_a_job_up_to_its_largest_size() {
    let mut dvm = filling(2);
    dvm.submit(1, elastic(1, 5, &["n0", "n0"]));
    look(&mut dvm);
    assert_eq!(offers(&dvm), [], "they may be about to be used");
    look(&mut dvm);
    assert_eq!(offers(&dvm), [(1, 3)]);
    spawn(&mut dvm, proc(0), 3);
    look(&mut dvm);
    dvm.pass(Duration::from_secs(100));
    look(&mut dvm);
    assert_eq!(offers(&dvm).len(), 1, "it has its largest size");
}

/// Of several jobs the smallest one gets the next slot (spec E62).
#[test]
fn jobs_become_as_equal_as_they_may() {
    let mut dvm = filling(3);
    dvm.submit(1, elastic(1, 12, &["n0", "n0", "n0"]));
    dvm.submit(2, elastic(1, 12, &["n1"]));
    dvm.submit(3, elastic(1, 2, &["n2"]));
    look(&mut dvm);
    look(&mut dvm);
    // Seven are free: one makes the third job as large as it may be, and the others become five and five.
    let mut all = offers(&dvm);
    all.sort_unstable();
    assert_eq!(all, [(1, 2), (2, 4), (3, 1)]);
}

/// Nobody is offered slots while a job waits for some (spec E62, E63).
#[test]
fn processes_above_the_smallest_size_end_for_a_job_that_waits() {
    let mut dvm = filling(2);
    dvm.submit(1, elastic(2, 8, &["n0", "n0", "n0", "n1", "n1", "n1", "n1"]));
    dvm.submit(2, Submission { wait_for_slots: true, ..Submission::of(job("b.out", 3)) });
    look(&mut dvm);
    look(&mut dvm);
    assert_eq!((offers(&dvm), told(&dvm)), (vec![], vec![(1, vec![5, 6])]), "one slot is free already");
    dvm.exit_proc(5, ExitStatus::Exited(0));
    assert_eq!(dvm.running.keys().filter(|proc| proc.job == JobId(2)).count(), 0);
    dvm.exit_proc(6, ExitStatus::Exited(0));
    assert_eq!(dvm.running.keys().filter(|proc| proc.job == JobId(2)).count(), 3);
    look(&mut dvm);
    assert_eq!(told(&dvm).len(), 1);
}

/// Slots may be free where the job cannot use them: then one more process ends at a time (spec E63).
#[test]
fn a_job_that_wants_certain_nodes_gets_them_one_slot_after_the_other() {
    let mut dvm = filling(2);
    dvm.submit(1, elastic(2, 8, &["n0", "n0", "n0", "n1", "n1", "n1", "n1"]));
    dvm.submit(2, patient(&["n1", "n1", "n1"]));
    for ranks in [vec![5, 6], vec![4], vec![3]] {
        look(&mut dvm);
        assert_eq!(told(&dvm).last(), Some(&(1, ranks.clone())));
        let count = told(&dvm).len();
        look(&mut dvm);
        assert_eq!(told(&dvm).len(), count, "it waits for these");
        ranks.into_iter().for_each(|rank| dvm.exit_proc(rank, ExitStatus::Exited(0)));
    }
    assert_eq!(dvm.running.keys().filter(|proc| proc.job == JobId(2)).count(), 3);
}

/// What is to be free soon is not asked for twice, and a job keeps its smallest size (spec E63).
#[test]
fn no_more_is_taken_than_a_job_needs_and_others_may_give() {
    let mut dvm = filling(2);
    dvm.submit(1, elastic(2, 8, &["n0", "n0", "n0", "n0"]));
    dvm.submit(2, elastic(3, 8, &["n1", "n1", "n1", "n1"]));
    dvm.submit(3, Submission { wait_for_slots: true, ..Submission::of(job("b.out", 3)) });
    look(&mut dvm);
    assert_eq!(told(&dvm), [(1, vec![2, 3]), (2, vec![3])]);
    look(&mut dvm);
    assert_eq!(told(&dvm).len(), 2, "nobody has more than the smallest size");
}

/// A job that could not begin all the same keeps nobody from growing (spec E62).
#[test]
fn what_a_job_waits_for_in_vain_is_offered_to_others() {
    let mut dvm = filling(2);
    dvm.submit(1, elastic(2, 8, &["n0", "n0"]));
    dvm.submit(2, on("b.out", &["n0"]));
    dvm.submit(3, Submission { wait_for_slots: true, ..Submission::of(job("b.out", 6)) });
    look(&mut dvm);
    look(&mut dvm);
    assert_eq!((offers(&dvm), told(&dvm)), (vec![(1, 5)], vec![]));
    spawn(&mut dvm, proc(0), 5);
    dvm.exit_job(2);
    look(&mut dvm);
    assert_eq!(told(&dvm), [(4, vec![0, 1, 2, 3, 4])], "now it can begin");
}

/// Processes end for a job only if they have what it waits for: a slot is no licence (spec E63).
#[test]
fn nobody_gives_up_slots_for_a_job_that_waits_for_something_else() {
    let mut dvm = filling_with(2, "dvm:licence=2");
    dvm.submit(1, elastic(1, 8, &["n0", "n0", "n0", "n0", "n1", "n1", "n1"]));
    dvm.submit(2, with_licences(on("b.out", &["n1"])));
    dvm.submit(3, with_licences(Submission { wait_for_slots: true, ..Submission::of(job("c.out", 2)) }));
    look(&mut dvm);
    look(&mut dvm);
    assert_eq!(told(&dvm), [], "no process has a licence");
    dvm.exit_job(2);
    look(&mut dvm);
    assert_eq!(told(&dvm), [(1, vec![6])], "now one slot is missing");
}

/// The same processes end when they have licences (spec E63).
#[test]
fn processes_end_for_the_licences_that_they_have() {
    let mut dvm = filling_with(2, "dvm:licence=3");
    dvm.submit(1, with_licences(elastic(1, 8, &["n0", "n0", "n0"])));
    dvm.submit(2, with_licences(Submission { wait_for_slots: true, ..Submission::of(job("c.out", 1)) }));
    look(&mut dvm);
    assert_eq!(told(&dvm), [(1, vec![2])]);
}

/// After ten seconds, and after twice as many when it has refused again (spec E64).
#[test]
fn a_job_that_has_refused_or_not_answered_is_left_alone_for_a_while() {
    let mut dvm = filling(2);
    dvm.submit(1, elastic(1, 8, &["n0", "n0"]));
    let say = |dvm: &mut Cluster, order: ControlOrder| {
        let token = PmixToken(9_000 + dvm.pmix.len() as u64);
        call(dvm, proc(0), PmixCall::Control { by: Some(proc(0)), order: Box::new(order), token });
    };
    look(&mut dvm);
    look(&mut dvm);
    for (seconds, count) in [(10, 1), (20, 2), (40, 3)] {
        assert_eq!(offers(&dvm).len(), count);
        say(&mut dvm, ControlOrder::RefuseGrowth);
        (1..seconds / 2).for_each(|_| look(&mut dvm));
        assert_eq!(offers(&dvm).len(), count, "{seconds} s are not over");
        look(&mut dvm);
    }
    assert_eq!(offers(&dvm).len(), 4);
    spawn(&mut dvm, proc(0), 5);
    dvm.submit(4, patient(&["n0", "n0", "n0"]));
    look(&mut dvm);
    assert_eq!(told(&dvm), [(2, vec![3, 4])], "a growth does not protect from a job that waits");
    say(&mut dvm, ControlOrder::AnswerWithdrawal(WithdrawalAnswer::Refuse));
    (1..5).for_each(|_| look(&mut dvm));
    assert_eq!(told(&dvm).len(), 1);
    look(&mut dvm);
    assert_eq!(told(&dvm).len(), 2);
}

/// Without the policy nothing happens by itself, and no timer runs (spec E62).
#[test]
fn without_the_policy_jobs_keep_their_sizes() {
    let mut dvm = dvm(2);
    dvm.submit(1, elastic(1, 8, &["n0", "n0"]));
    assert!(!dvm.timers.contains(&(DaemonRank::HEAD, LOOK)));
    dvm.ask(
        2,
        Request::ResizeJob(JobResize {
            job: JobId(1),
            size: SizeChange::More(1),
            time_s: None,
            force: false,
            wait: false,
            nodes: None,
        }),
    );
    spawn(&mut dvm, proc(0), 1);
    assert!(dvm.running.contains_key(&of(2, 0)));
    assert!(!dvm.timers.contains(&(DaemonRank::HEAD, LOOK)));
}
