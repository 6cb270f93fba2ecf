//! Requests for another size that wait: which may be taken back, and that they let jobs have their turn.

mod common;

use common::{Cluster, job};
use ferrite_core::{Input, RequestId};
use ferrite_types::*;
use ferrite_wire::control::{Reply, Request, Submission};
use ferrite_wire::{
    AddedHost, CancelRequest, GrowRequest, Resize, ResizeOutcome, ResizeRequest, ShrinkRequest, SlotChange,
};

fn dvm(nodes: u32) -> Cluster {
    with(nodes, &[("prte_elastic_mode", "1")])
}

fn with(nodes: u32, params: &[(&str, &str)]) -> Cluster {
    let mut dvm = Cluster::build(nodes, params, true);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    dvm
}

/// A grow whose requester waits for its end.
fn grow(dvm: &mut Cluster, id: u64, name: &str) {
    let host = AddedHost { host: HostEntry::named(name), slots: SlotChange::Unstated };
    let req_id = Some(format!("r{id}"));
    let request = GrowRequest { hosts: vec![host], wait: true, req_id, ..GrowRequest::default() };
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Grow(request))));
}

fn shrink(dvm: &mut Cluster, id: u64, name: &str) {
    let (nodes, req_id) = (vec![name.to_owned()], Some(format!("r{id}")));
    let request = ShrinkRequest { nodes, wait: true, req_id, ..ShrinkRequest::default() };
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Shrink(request))));
}

fn cancel(dvm: &mut Cluster, id: u64, alloc_id: Option<&str>, req_id: Option<&str>) -> ResizeOutcome {
    let request = CancelRequest { alloc_id: alloc_id.map(str::to_owned), req_id: req_id.map(str::to_owned) };
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Cancel(request))));
    resize(dvm, id).outcome.clone()
}

fn resize(dvm: &Cluster, id: u64) -> &Resize {
    match dvm.reply(id) {
        Reply::Resize(resize) => resize,
        other => panic!("no answer to a change of size: {other:?}"),
    }
}

fn is_answered(dvm: &Cluster, id: u64) -> bool {
    dvm.replies.iter().any(|(request, _)| *request == RequestId(id))
}

fn status(outcome: &ResizeOutcome) -> i32 {
    match outcome {
        ResizeOutcome::Refused { status, .. } | ResizeOutcome::Failed { status, .. } => *status,
        ResizeOutcome::Unchanged | ResizeOutcome::Begun | ResizeOutcome::Done => 0,
    }
}

const NOT_FOUND: i32 = -46;
const CANCELED: i32 = -180;
const HAS_BEGUN: i32 = -158;

// --- taking back

#[test]
fn a_request_that_waits_behind_another_is_taken_back_and_its_requester_hears_it_once() {
    let mut dvm = dvm(2);
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

#[test]
fn what_has_begun_is_not_taken_back_and_what_is_not_there_is_not_found() {
    let mut dvm = dvm(2);
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
    let mut dvm = dvm(2);
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
