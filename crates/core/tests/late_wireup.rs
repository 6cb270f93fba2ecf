//! A wireup that somebody holds up: only a daemon of the grow itself may fail it.
#![allow(clippy::missing_panics_doc, reason = "tests")]

mod common;

use common::*;
use ferrite_core::{HeadTimer, Input, LinkTimer, Timer};
use ferrite_types::*;
use ferrite_wire::control::{Reply, Request, Submission};
use ferrite_wire::{AddedHost, GrowRequest, Resize, ResizeOutcome, ResizeRequest, SlotChange};

/// A DVM without heartbeats: nobody is lost for his silence.
fn dvm(nodes: u32) -> Cluster {
    let params = [("prte_elastic_mode", "1"), ("rml_base_radix", "2"), ("ferrite_heartbeat_ms", "0")];
    let mut dvm = Cluster::build(nodes, &params, true);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    dvm
}

fn ask_grow(dvm: &mut Cluster, id: u64, names: &[&str]) {
    let host = |name: &&str| AddedHost { host: HostEntry::named(name), slots: SlotChange::Set(2) };
    let hosts = names.iter().map(host).collect();
    let request = GrowRequest { hosts, wait: true, ..GrowRequest::default() };
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Grow(request))));
}

fn resize(dvm: &Cluster, id: u64) -> Option<&Resize> {
    let of_it = dvm.replies.iter().find(|(request, _)| request.0 == id);
    of_it.map(|(_, reply)| match reply {
        Reply::Resize(resize) => &**resize,
        other => panic!("no answer to a request for another size: {other:?}"),
    })
}

/// The first campaign's time is up, and then that of so many looks at who is silent.
fn wait(dvm: &mut Cluster, looks: u32) {
    let time = (DaemonRank::HEAD, Timer::Head(HeadTimer::Campaign(CampaignId(1))));
    for _ in 0..=looks {
        if dvm.timers.contains(&time) {
            dvm.fire(0, time.1);
            ask(dvm);
        }
    }
}

/// The head asks those that have been silent how far they are.
fn ask(dvm: &mut Cluster) {
    if dvm.timers.contains(&(DaemonRank::HEAD, Timer::Link(LinkTimer::Probe))) {
        dvm.fire(0, Timer::Link(LinkTimer::Probe));
    }
}

fn waits_for(dvm: &mut Cluster, id: u64) -> String {
    dvm.ask(id, Request::Status);
    match dvm.reply(id) {
        Reply::Status(status) => status.waiting_for.clone(),
        other => panic!("no status: {other:?}"),
    }
}

/// A bystander delays (spec E42).
#[test]
fn a_daemon_that_hangs_beside_a_grow_delays_it_and_does_not_fail_it() {
    // 2 is above nobody who comes; 1 is above 3, which comes.
    for (nodes, hangs) in [(4, 2), (3, 1)] {
        let mut dvm = dvm(nodes);
        let held = dvm.freeze_quietly(hangs);
        ask_grow(&mut dvm, 1, &["m0"]);
        dvm.submit(2, Submission::of(job("a.out", 1)));
        wait(&mut dvm, 10);
        assert_eq!(resize(&dvm, 1), None, "neither true nor undone");
        assert!(dvm.running.is_empty(), "the fence is up until everybody knows of m0");
        let name = format!("n{hangs}");
        assert!(waits_for(&mut dvm, 3).contains(&format!("those of {name} ")), "{}", waits_for(&mut dvm, 4));
        let told = dvm.notices.iter().filter(|text| text.contains(&name) && text.contains("do not answer")).count();
        assert_eq!(told, 1, "{:?}", dvm.notices);
        dvm.thaw(held);
        dvm.cut(0, hangs);
        assert_eq!(resize(&dvm, 1).map(|resize| &resize.outcome), Some(&ResizeOutcome::Done));
        assert_eq!(dvm.running.len(), 1);
    }
}

#[test]
fn a_grow_goes_on_without_a_daemon_that_hung_beside_it_and_is_killed() {
    let mut dvm = dvm(4);
    let held = dvm.freeze_quietly(1);
    ask_grow(&mut dvm, 1, &["m0"]);
    wait(&mut dvm, 10);
    dvm.kill(held);
    assert_eq!(resize(&dvm, 1).map(|resize| &resize.outcome), Some(&ResizeOutcome::Done));
}

/// A target fails (spec E42).
#[test]
fn a_daemon_of_a_grow_that_hangs_after_its_report_fails_it() {
    let mut dvm = dvm(4);
    dvm.silent_nodes.insert("m1".to_owned());
    ask_grow(&mut dvm, 1, &["m0", "m1"]);
    let _held = dvm.freeze_quietly(4);
    dvm.come(5);
    wait(&mut dvm, 4);
    let why = dvm.transitions.iter().any(|step| step.contains("grow 1") && step.contains("ROLLING"));
    assert!(why, "{:?}", dvm.transitions);
}

#[test]
fn a_daemon_of_a_grow_below_one_that_hangs_is_not_judged_until_that_one_answers() {
    let mut dvm = dvm(3);
    dvm.silent_nodes.insert("m1".to_owned());
    ask_grow(&mut dvm, 1, &["m0", "m1"]);
    // 3 comes with the grow, and hangs on 1.
    let (above, below) = (dvm.freeze_quietly(1), dvm.freeze_quietly(3));
    dvm.come(4);
    wait(&mut dvm, 10);
    assert_eq!(resize(&dvm, 1), None);
    assert!(!dvm.transitions.iter().any(|step| step.contains("ROLLING")), "{:?}", dvm.transitions);
    drop((above, below));
}
