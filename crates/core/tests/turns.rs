//! Requests for another size that wait: which may be taken back, and that they let jobs have their turn.

mod common;

use common::{Cluster, dvm_with, elastic_dvm, job, resize};
use ferrite_core::RequestId;
use ferrite_types::pmix_status::{
    PMIX_ERR_INVALID_OPERATION as HAS_BEGUN, PMIX_ERR_JOB_CANCELED as CANCELED, PMIX_ERR_NOT_FOUND as NOT_FOUND,
};
use ferrite_types::*;
use ferrite_wire::control::{Reply, Request, Submission};
use ferrite_wire::{AddedHost, CancelRequest, GrowRequest, ResizeOutcome, ResizeRequest, ShrinkRequest, SlotChange};

/// A grow whose requester waits for its end.
fn grow(dvm: &mut Cluster, id: u64, name: &str) {
    let host = AddedHost { host: HostEntry::named(name), slots: SlotChange::Unstated };
    let req_id = Some(format!("r{id}").into());
    let request = GrowRequest { hosts: vec![host], wait: true, req_id, ..GrowRequest::default() };
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Grow(request))));
}

fn shrink(dvm: &mut Cluster, id: u64, name: &str) {
    let (nodes, req_id) = (vec![name.to_owned()], Some(format!("r{id}").into()));
    let request = ShrinkRequest { nodes, wait: true, req_id, ..ShrinkRequest::default() };
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Shrink(request))));
}

fn cancel(dvm: &mut Cluster, id: u64, alloc_id: Option<&str>, req_id: Option<&str>) -> ResizeOutcome {
    let request = CancelRequest { alloc_id: alloc_id.map(Into::into), req_id: req_id.map(Into::into) };
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Cancel(request))));
    resize(dvm, id).outcome.clone()
}

fn is_answered(dvm: &Cluster, id: u64) -> bool {
    dvm.replies.iter().any(|(request, _)| *request == RequestId(id))
}

fn status(outcome: &ResizeOutcome) -> PmixStatus {
    match outcome {
        ResizeOutcome::Refused { status, .. } | ResizeOutcome::Failed { status, .. } => *status,
        ResizeOutcome::Unchanged | ResizeOutcome::Begun | ResizeOutcome::Requested { .. } | ResizeOutcome::Done => {
            panic!("it is no failure: {outcome:?}")
        }
    }
}

// --- taking back

/// A request that has not begun can be taken back (spec E38).
#[test]
fn a_request_that_waits_behind_another_is_taken_back_and_its_requester_hears_it_once() {
    let mut dvm = elastic_dvm(2);
    dvm.silent_nodes.insert("m0".to_owned());
    grow(&mut dvm, 1, "m0");
    shrink(&mut dvm, 2, "m0");
    dvm.submit(3, Submission::of(job("waits", 1)));
    assert!(!is_answered(&dvm, 2));
    assert_eq!(cancel(&mut dvm, 4, None, Some("r2")), ResizeOutcome::Unchanged);
    assert_eq!(
        (resize(&dvm, 4).nodes.as_slice(), resize(&dvm, 4).req_id.as_deref()),
        (&["m0".to_owned()][..], Some("r2"))
    );
    assert_eq!(status(&resize(&dvm, 2).outcome), CANCELED);
    assert!(dvm.transitions.contains(&"shrink 2 FAILED".to_owned()), "{:?}", dvm.transitions);
    assert!(!is_answered(&dvm, 3), "nobody ends because of it");
    dvm.come(2);
    assert_eq!(resize(&dvm, 1).outcome, ResizeOutcome::Done, "what had begun goes on");
    assert_eq!(dvm.running.len(), 1);
}

/// A request that has not begun can be taken back (spec E38).
#[test]
fn what_has_begun_is_not_taken_back_and_what_is_not_there_is_not_found() {
    let mut dvm = elastic_dvm(2);
    dvm.silent_nodes.insert("m0".to_owned());
    grow(&mut dvm, 1, "m0");
    assert_eq!(status(&cancel(&mut dvm, 2, None, Some("r1"))), HAS_BEGUN);
    assert_eq!(status(&cancel(&mut dvm, 3, Some("a1"), None)), HAS_BEGUN);
    assert_eq!(status(&cancel(&mut dvm, 4, None, Some("r9"))), NOT_FOUND);
    assert_eq!(status(&cancel(&mut dvm, 5, Some("a1"), Some("r9"))), NOT_FOUND);
    dvm.come(2);
    assert_eq!(resize(&dvm, 1).outcome, ResizeOutcome::Done);
    assert_eq!(status(&cancel(&mut dvm, 6, None, Some("r1"))), NOT_FOUND, "it is over");
}

#[test]
fn what_was_taken_back_can_be_asked_for_again() {
    let mut dvm = elastic_dvm(2);
    dvm.silent_nodes.insert("m0".to_owned());
    grow(&mut dvm, 1, "m0");
    shrink(&mut dvm, 2, "m0");
    grow(&mut dvm, 3, "m0");
    assert_eq!(cancel(&mut dvm, 4, Some("a2"), None), ResizeOutcome::Unchanged, "by what was to come of it");
    assert_eq!(status(&resize(&dvm, 3).outcome), CANCELED);
    dvm.silent_nodes.clear();
    dvm.come(2);
    assert_eq!(resize(&dvm, 2).outcome, ResizeOutcome::Done);
    grow(&mut dvm, 5, "m0");
    assert_eq!(resize(&dvm, 5).outcome, ResizeOutcome::Done);
}

// --- having a turn

fn is_parked(dvm: &mut Cluster, id: u64, job: u32) -> bool {
    dvm.ask(id, Request::Job(JobId(job)));
    let Reply::Job(detail) = dvm.reply(id) else { panic!("a job") };
    detail.status.state == JobState::WaitingForDaemons
}

fn steps(dvm: &mut Cluster, id: u64) -> Vec<String> {
    dvm.ask(id, Request::Status);
    let Reply::Status(status) = dvm.reply(id) else { panic!("a status") };
    status.campaigns.iter().map(|campaign| format!("{} {}", campaign.campaign, campaign.step)).collect()
}

/// Requests that overlap, each made before the one before has ended, for ever (spec E15).
#[test]
fn a_job_is_held_by_the_changes_that_were_there_and_not_by_an_endless_sequence_of_later_ones() {
    let mut dvm = elastic_dvm(2);
    dvm.silent_nodes.extend((0..20).map(|i| format!("m{i}")));
    grow(&mut dvm, 1, "m0");
    dvm.submit(2, Submission::of(job("a.out", 2)));
    // A slow grow that was there does not keep others from being true.
    grow(&mut dvm, 3, "m1");
    dvm.come(3);
    assert_eq!(resize(&dvm, 3).outcome, ResizeOutcome::Done);
    let mut rounds = 0u64;
    while dvm.running.is_empty() {
        assert!(rounds < 3, "the job waits for one change after another");
        let next = rounds + 2;
        grow(&mut dvm, 10 + next, &format!("m{next}"));
        let mut late: Vec<u32> = dvm.late.keys().map(|rank| rank.0).collect();
        late.sort_unstable();
        dvm.come(late[0]);
        rounds += 1;
    }
    assert_eq!(dvm.running.len(), 2);
    // The campaign that let it have its turn is next.
    while let Some(rank) = dvm.late.keys().next().map(|rank| rank.0) {
        dvm.come(rank);
    }
    assert!((12..12 + rounds).all(|id| resize(&dvm, id).outcome == ResizeOutcome::Done));
}

/// A queued grow holds nobody (spec E16).
#[test]
fn a_grow_that_lets_a_job_have_its_turn_says_so_holds_nobody_and_can_be_taken_back() {
    let mut dvm = dvm_with(2, &[("prte_elastic_mode", "1"), ("ferrite_debug_prep_ms", "5")]);
    dvm.silent_nodes.extend((0..4).map(|i| format!("m{i}")));
    grow(&mut dvm, 1, "m0");
    dvm.submit(2, Submission::of(job("a.out", 1)));
    grow(&mut dvm, 3, "m1");
    dvm.come(2);
    assert!(is_parked(&mut dvm, 4, 1), "the second holds it, and no third will");
    grow(&mut dvm, 5, "m2");
    grow(&mut dvm, 6, "m3");
    assert_eq!(steps(&mut dvm, 7), ["2 LAUNCHING", "3 QUEUED", "4 QUEUED"]);
    assert_eq!(cancel(&mut dvm, 8, None, Some("r5")), ResizeOutcome::Unchanged);
    assert_eq!(status(&resize(&dvm, 5).outcome), CANCELED);
    dvm.come(3);
    assert_eq!(steps(&mut dvm, 9), ["4 QUEUED"], "the job is about to be launched");
    dvm.submit(10, Submission::of(job("a.out", 1)));
    assert!(!is_parked(&mut dvm, 11, 2), "one that has not begun holds nobody");
    dvm.fire(0, ferrite_core::Timer::Head(ferrite_core::HeadTimer::Prep(JobId(1))));
    assert_eq!(dvm.running.len(), 1);
    assert_eq!(steps(&mut dvm, 12), ["4 LAUNCHING"]);
    dvm.come(4);
    assert_eq!(resize(&dvm, 6).outcome, ResizeOutcome::Done);
}

/// Shrinks do not wait for jobs (spec E17).
#[test]
fn nodes_leave_at_once_whoever_waits_and_a_job_that_has_lost_its_place_twice_has_its_turn() {
    let mut dvm = dvm_with(4, &[("prte_elastic_mode", "1"), ("ferrite_debug_prep_ms", "5")]);
    dvm.silent_nodes.extend(["m0".to_owned(), "m1".to_owned(), "m2".to_owned()]);
    dvm.submit(1, Submission::of(job("a.out", 4)));
    grow(&mut dvm, 2, "m0");
    // Its place is gone before it is launched; it has to be mapped again, and waits for the grow.
    shrink(&mut dvm, 3, "n3");
    dvm.fire(0, ferrite_core::Timer::Head(ferrite_core::HeadTimer::Prep(JobId(1))));
    assert_eq!(resize(&dvm, 3).outcome, ResizeOutcome::Done);
    assert!(is_parked(&mut dvm, 4, 1));
    grow(&mut dvm, 5, "m1");
    dvm.come(4);
    grow(&mut dvm, 6, "m2");
    assert!(steps(&mut dvm, 7).contains(&"4 QUEUED".to_owned()));
    shrink(&mut dvm, 8, "n2");
    assert_eq!(resize(&dvm, 8).outcome, ResizeOutcome::Done, "there is an end to nodes that leave");
    dvm.come(5);
    dvm.fire(0, ferrite_core::Timer::Head(ferrite_core::HeadTimer::Prep(JobId(1))));
    assert_eq!(dvm.running.len(), 4);
    dvm.come(6);
    assert_eq!(resize(&dvm, 6).outcome, ResizeOutcome::Done);
}

/// Shrinks do not wait for jobs (spec E17).
#[test]
fn what_is_about_the_nodes_of_a_queued_grow_is_queued_behind_it() {
    let mut dvm = elastic_dvm(2);
    dvm.silent_nodes.extend((0..3).map(|i| format!("m{i}")));
    grow(&mut dvm, 1, "m0");
    dvm.submit(2, Submission::of(job("a.out", 1)));
    grow(&mut dvm, 3, "m1");
    dvm.come(2);
    grow(&mut dvm, 4, "m2");
    shrink(&mut dvm, 5, "m2");
    assert_eq!(steps(&mut dvm, 6), ["2 LAUNCHING", "3 QUEUED", "4 QUEUED"]);
    dvm.come(3);
    assert_eq!(dvm.running.len(), 1);
    assert_eq!(steps(&mut dvm, 7), ["3 LAUNCHING", "4 BEHIND"]);
    dvm.come(4);
    assert_eq!((&resize(&dvm, 4).outcome, &resize(&dvm, 5).outcome), (&ResizeOutcome::Done, &ResizeOutcome::Done));
}

#[test]
fn of_two_requests_of_one_name_that_are_taken_back_neither_begins() {
    let mut dvm = elastic_dvm(2);
    dvm.silent_nodes.insert("m0".to_owned());
    let named = |nodes: &[&str]| {
        let nodes = nodes.iter().map(|name| (*name).to_owned()).collect();
        let request = ShrinkRequest { nodes, wait: true, req_id: Some("same".into()), ..ShrinkRequest::default() };
        Request::Resize(Box::new(ResizeRequest::Shrink(request)))
    };
    grow(&mut dvm, 1, "m0");
    // Each waits for those before it that are about the same nodes.
    shrink(&mut dvm, 2, "m0");
    dvm.ask(3, named(&["m0"]));
    dvm.ask(4, named(&["m0", "n1"]));
    dvm.ask(5, named(&["n1"]));
    assert_eq!(cancel(&mut dvm, 6, None, Some("same")), ResizeOutcome::Unchanged);
    let taken_back: Vec<PmixStatus> = (3..6).map(|id| status(&resize(&dvm, id).outcome)).collect();
    assert_eq!(taken_back, [CANCELED; 3]);
    assert!(!dvm.transitions.iter().any(|step| step.contains("LEAVING")), "{:?}", dvm.transitions);
    dvm.come(2);
    assert_eq!((&resize(&dvm, 1).outcome, &resize(&dvm, 2).outcome), (&ResizeOutcome::Done, &ResizeOutcome::Done));
}
