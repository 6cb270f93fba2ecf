//! A job or request that waits and could go on does so, without anybody's help.
#![allow(clippy::missing_panics_doc, reason = "tests")]

mod common;

use common::*;
use ferrite_core::Input;
use ferrite_types::*;
use ferrite_wire::control::{Reply, Request, SessionChoice, SessionDirective, Submission};
use ferrite_wire::{AddedHost, GrowRequest, ResizeRequest, SessionTerms, SlotChange};

fn patient(np: u32, session: SessionChoice) -> Submission {
    Submission { wait_for_slots: true, session, ..Submission::of(job("a.out", np)) }
}

#[test]
fn a_job_behind_one_whose_session_pauses_has_its_turn_at_once() {
    let mut dvm = Cluster::build(2, &[("prte_elastic_mode", "1"), ("ferrite_backfill", "0")], true);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    let host = AddedHost { host: HostEntry::named("m0"), slots: SlotChange::Set(2) };
    let request = GrowRequest { hosts: vec![host], wait: true, ..GrowRequest::default() };
    dvm.ask(1, Request::Resize(Box::new(ResizeRequest::Grow(request))));
    let session = SessionChoice::Alloc("a1".into());
    dvm.submit(2, patient(1, session.clone()));
    dvm.submit(3, patient(2, session.clone()));
    dvm.submit(4, patient(1, SessionChoice::Default));
    assert_eq!(dvm.running.len(), 1, "the second waits for slots, and the third may use the same nodes");
    dvm.ask(5, Request::Session { session, directive: SessionDirective::Pause });
    assert_eq!(*dvm.reply(5), Reply::Ordered);
    assert!(dvm.running.keys().any(|proc| proc.job == JobId(3)), "{:?}", dvm.running.keys());
}

/// Nodes that are reserved are no longer among those for which two jobs wait.
#[test]
fn a_job_behind_one_whose_nodes_are_reserved_for_another_has_its_turn_at_once() {
    let mut dvm = Cluster::build(2, &[("prte_elastic_mode", "1"), ("ferrite_backfill", "0")], true);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    let grow = |reserve: bool| {
        let host = AddedHost { host: HostEntry::named("m0"), slots: SlotChange::Set(2) };
        let terms = SessionTerms { reserve, ..SessionTerms::default() };
        let request = GrowRequest { hosts: vec![host], terms, wait: true, ..GrowRequest::default() };
        Request::Resize(Box::new(ResizeRequest::Grow(request)))
    };
    dvm.ask(1, grow(false));
    let session = SessionChoice::Alloc("a1".into());
    dvm.submit(2, patient(1, session.clone()));
    dvm.submit(3, patient(2, session));
    dvm.submit(4, patient(1, SessionChoice::Default));
    assert_eq!(dvm.running.len(), 1, "the second waits for slots, and the third may use the same nodes");
    dvm.ask(5, grow(true));
    assert!(dvm.running.keys().any(|proc| proc.job == JobId(3)), "{:?}", dvm.running.keys());
}
