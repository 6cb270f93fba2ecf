//! Nodes that a grow brings when its requester names a number of slots, or a queue of the resource manager
//! (`PMIX_ALLOC_NUM_CPUS`, `PMIX_ALLOC_QUEUE`).

mod common;

use common::Cluster;
use ferrite_core::Input;
use ferrite_rm::{Manager, Source, Wish};
use ferrite_types::pmix_status::{
    PMIX_ERR_BAD_PARAM as BAD_PARAM, PMIX_ERR_NOT_SUPPORTED as NOT_SUPPORTED,
    PMIX_ERR_OUT_OF_RESOURCE as OUT_OF_RESOURCE,
};
use ferrite_types::*;
use ferrite_wire::control::{Reply, Request};
use ferrite_wire::{GrowRequest, ResizeOutcome, ResizeRequest};

/// A DVM on the first of six nodes; the second has eight slots, of the others nobody has said how many.
fn dvm(source: Option<Source>) -> Cluster {
    let mut config = Cluster::config(6, &[("prte_elastic_mode", "1")], true);
    config.allocation.needed = vec![0];
    match source {
        None => config.allocation.nodes[1].slots = SlotCount::Given(8),
        Some(source) => {
            config.allocation.source = source;
            config.allocation.nodes.iter_mut().for_each(|host| host.slots = SlotCount::Given(2));
        }
    }
    let mut dvm = Cluster::of(config);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    dvm
}

fn of_slurm() -> Cluster {
    dvm(Some(Source::Managed { manager: Manager::Slurm, job: "7".to_owned() }))
}

fn slots(slots: u32) -> GrowRequest {
    GrowRequest { slots, wait: true, ..GrowRequest::default() }
}

fn of_queue(wish: GrowRequest) -> GrowRequest {
    GrowRequest { queue: Some("fast".to_owned()), ..wish }
}

fn ask(dvm: &mut Cluster, id: u64, request: GrowRequest) {
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Grow(request))));
}

fn outcome(dvm: &mut Cluster, id: u64, request: GrowRequest) -> ResizeOutcome {
    ask(dvm, id, request);
    match dvm.reply(id) {
        Reply::Resize(resize) => resize.outcome.clone(),
        other => panic!("{other:?}"),
    }
}

fn refused(dvm: &mut Cluster, id: u64, request: GrowRequest) -> (PmixStatus, String) {
    match outcome(dvm, id, request) {
        ResizeOutcome::Refused { status, cause } => (status, cause),
        other => panic!("{other:?}"),
    }
}

fn up(dvm: &Cluster) -> Vec<u32> {
    dvm.nodes.keys().map(|rank| rank.0).collect()
}

#[test]
fn as_many_nodes_come_as_have_so_many_slots() {
    let grown = |wanted| {
        let mut dvm = dvm(None);
        assert_eq!(outcome(&mut dvm, 1, slots(wanted)), ResizeOutcome::Done);
        up(&dvm).len() - 1
    };
    assert_eq!((grown(1), grown(8)), (1, 1), "the first of them has eight");
    assert_eq!((grown(9), grown(12), grown(13)), (2, 2, 3), "the others are taken to be like the head's, with four");
}

#[test]
fn more_slots_than_there_are_bring_nothing() {
    let mut dvm = dvm(None);
    let (status, cause) = refused(&mut dvm, 1, slots(25));
    assert_eq!(status, OUT_OF_RESOURCE);
    assert!(cause.contains("25") && cause.contains("24"), "{cause}");
    assert_eq!(up(&dvm), [0]);
}

#[test]
fn slots_come_alone() {
    let mut dvm = dvm(None);
    assert_eq!(refused(&mut dvm, 1, GrowRequest { count: 1, ..slots(4) }).0, BAD_PARAM);
    let activate = vec![ferrite_wire::Activation::All];
    assert_eq!(refused(&mut dvm, 2, GrowRequest { activate: activate.clone(), ..slots(4) }).0, BAD_PARAM);
    assert_eq!(refused(&mut of_slurm(), 3, of_queue(GrowRequest { activate, ..GrowRequest::default() })).0, BAD_PARAM);
}

#[test]
fn a_manager_is_asked_for_the_nodes_that_the_pool_lacks() {
    let mut dvm = of_slurm();
    // Five nodes with two slots each are there.
    ask(&mut dvm, 1, slots(15));
    let [(_, ask)] = dvm.asked_for.as_slice() else { panic!("{:?}", dvm.asked_for) };
    assert_eq!((&ask.wish, &ask.queue), (&Wish::Nodes(3), &None));
}

#[test]
fn nodes_of_a_queue_come_from_the_manager_and_not_from_the_pool() {
    let mut dvm = of_slurm();
    ask(&mut dvm, 1, of_queue(GrowRequest { count: 1, wait: true, ..GrowRequest::default() }));
    ask(&mut dvm, 2, of_queue(slots(3)));
    let asked: Vec<_> = dvm.asked_for.iter().map(|(_, ask)| (ask.wish.clone(), ask.queue.as_deref())).collect();
    assert_eq!(asked, [(Wish::Nodes(1), Some("fast")), (Wish::Nodes(2), Some("fast"))]);
    assert_eq!(up(&dvm), [0]);
}

#[test]
fn a_queue_without_a_manager_is_refused_by_name() {
    let mut dvm = dvm(None);
    let (status, cause) = refused(&mut dvm, 1, of_queue(GrowRequest { count: 1, ..GrowRequest::default() }));
    assert_eq!(status, NOT_SUPPORTED);
    assert!(cause.contains("fast"), "{cause}");
    assert_eq!(up(&dvm), [0]);
}
