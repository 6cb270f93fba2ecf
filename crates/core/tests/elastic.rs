//! A DVM that changes its size (docs/spec/elastic.md): each guarantee, and each meeting of two changes that one can
//! stage by hand. The simulator stages the rest.

mod common;

use ferrite_types::pmix_status::{
    PMIX_ERR_BAD_PARAM, PMIX_ERR_JOB_FAILED_TO_LAUNCH, PMIX_ERR_LOST_CONNECTION, PMIX_ERR_NOT_FOUND,
    PMIX_ERR_NOT_SUPPORTED, PMIX_ERR_OUT_OF_RESOURCE, PMIX_ERR_TIMEOUT, PMIX_ERR_UNREACH,
};
use std::collections::BTreeMap;

use bytes::Bytes;
use common::{Cluster, dvm_with, job, resize};
use ferrite_core::{
    DaemonInput, DaemonTimer, HeadInput, HeadTimer, Input, LinkInput, LinkTimer, PmixCall, PmixEffect, PmixToken,
    RequestId, Timer,
};
use ferrite_rm::{Manager, Source};
use ferrite_types::*;
use ferrite_wire::control::{Ending, JobStatus, Reply, Request, Submission};
use ferrite_wire::{AddedHost, GrowRequest, Resize, ResizeOutcome, ResizeRequest, ShrinkRequest, SlotChange, Stream};

const ELASTIC: &[(&str, &str)] = &[("rml_base_radix", "2"), ("prte_elastic_mode", "1")];

/// Exit code of a job whose nodes have left with its processes.
const LEFT: u8 = 75;

/// An elastic DVM that is up, with a tree of radix 2.
fn dvm(nodes: u32) -> Cluster {
    dvm_with(nodes, ELASTIC)
}

fn added(name: &str) -> AddedHost {
    AddedHost { host: HostEntry::named(name), slots: SlotChange::Unstated }
}

fn grow(names: &[&str]) -> GrowRequest {
    GrowRequest { hosts: names.iter().map(|name| added(name)).collect(), wait: true, ..GrowRequest::default() }
}

fn shrink(names: &[&str]) -> ShrinkRequest {
    let nodes = names.iter().map(|name| (*name).to_owned()).collect();
    ShrinkRequest { nodes, wait: true, ..ShrinkRequest::default() }
}

fn ask_grow(dvm: &mut Cluster, id: u64, names: &[&str]) {
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Grow(grow(names)))));
}

fn ask_shrink(dvm: &mut Cluster, id: u64, names: &[&str]) {
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Shrink(shrink(names)))));
}

fn outcome(dvm: &Cluster, id: u64) -> &ResizeOutcome {
    &resize(dvm, id).outcome
}

fn failed_with(dvm: &Cluster, id: u64) -> PmixStatus {
    match outcome(dvm, id) {
        ResizeOutcome::Failed { status, .. } => *status,
        other => panic!("it has not failed: {other:?}"),
    }
}

fn refused_with(dvm: &Cluster, id: u64) -> PmixStatus {
    match outcome(dvm, id) {
        ResizeOutcome::Refused { status, .. } => *status,
        other => panic!("it was not refused: {other:?}"),
    }
}

fn unanswered(dvm: &Cluster, id: u64) -> bool {
    dvm.replies.iter().all(|(request, _)| *request != RequestId(id))
}

/// Where the daemons hang.
fn links(dvm: &Cluster) -> Vec<(u32, u32)> {
    dvm.links().map(|(a, b)| (a.0, b.0)).collect()
}

fn states(dvm: &mut Cluster, id: u64) -> String {
    dvm.ask(id, Request::Nodes);
    let Reply::Nodes(nodes) = dvm.reply(id) else { panic!("nodes") };
    nodes.iter().map(|node| format!("{} {}", node.name, node.state)).collect::<Vec<_>>().join(", ")
}

fn on(program: &str, nodes: &[&str]) -> Submission {
    let mut spec = job(program, nodes.len() as u32);
    spec.apps[0].hosts.hosts = nodes.iter().map(|name| HostRef::Host(HostEntry::named(name))).collect();
    Submission::of(spec)
}

fn state_of(dvm: &mut Cluster, id: u64, job: u32) -> (JobState, String) {
    dvm.ask(id, Request::Job(JobId(job)));
    let Reply::Job(detail) = dvm.reply(id) else { panic!("a job") };
    (detail.status.state, detail.status.waiting_for.clone())
}

// --- growing

/// Nobody is mapped onto a node that is coming or leaving (spec G2).
#[test]
fn a_node_that_was_added_is_part_of_the_dvm_when_the_requester_hears_it() {
    let mut dvm = dvm(3);
    ask_grow(&mut dvm, 1, &["m0", "m1"]);
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Done);
    assert_eq!(resize(&dvm, 1).nodes, ["m0", "m1"]);
    assert_eq!(links(&dvm), [(0, 1), (0, 2), (1, 3), (1, 4)], "they hang where the tree says");
    assert_eq!(states(&mut dvm, 2), "n0 up, n1 up, n2 up, m0 up, m1 up");
    dvm.submit(3, on("a.out", &["m0", "m1", "n1"]));
    assert_eq!(dvm.running.len(), 3);
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(3), 0);
}

/// A newcomer waits at the head for its place (spec E20).
#[test]
fn a_dvm_of_one_node_grows_and_its_daemons_survive_each_other() {
    let mut dvm = dvm(1);
    ask_grow(&mut dvm, 1, &["m0", "m1", "m2", "m3", "m4"]);
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Done);
    assert_eq!(links(&dvm), [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)]);
    dvm.crash(1);
    assert_eq!(links(&dvm), [(0, 2), (0, 3), (0, 4), (2, 5)]);
    dvm.submit(2, on("a.out", &["m2", "m4"]));
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(2), 0);
}

/// A job is held, not failed, while the DVM changes its size (spec G1, E7, E9).
#[test]
fn a_job_that_comes_during_a_grow_waits_and_says_for_what_and_is_then_placed_on_the_new_nodes() {
    let mut dvm = dvm(2);
    dvm.silent_nodes.insert("m0".to_owned());
    ask_grow(&mut dvm, 1, &["m0"]);
    dvm.submit(2, on("a.out", &["m0"]));
    let (state, waits_for) = state_of(&mut dvm, 3, 1);
    assert_eq!(state, JobState::WaitingForDaemons);
    assert!(waits_for.contains("m0") && waits_for.contains("grow 1"), "{waits_for}");
    assert!(dvm.running.is_empty() && unanswered(&dvm, 1));
    dvm.come(2);
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Done);
    assert_eq!(dvm.running.len(), 1);
}

/// A grow that fails is undone (spec G5, E13).
#[test]
fn a_grow_that_fails_is_undone_and_takes_along_only_the_jobs_that_waited_for_it() {
    let mut dvm = dvm(3);
    dvm.bad_nodes.insert("m1".to_owned(), "no route to host".to_owned());
    dvm.silent_nodes.insert("m0".to_owned());
    ask_grow(&mut dvm, 1, &["m0"]);
    dvm.submit(2, Submission::of(job("a.out", 1)));
    // This one comes after the job: it may delay it, and does not decide about it.
    ask_grow(&mut dvm, 3, &["m1", "m2"]);
    assert_eq!(failed_with(&dvm, 3), PMIX_ERR_JOB_FAILED_TO_LAUNCH, "it could not be launched");
    assert_eq!(states(&mut dvm, 4), "n0 up, n1 up, n2 up, m0 starting");
    assert_eq!(state_of(&mut dvm, 5, 1).0, JobState::WaitingForDaemons);
    dvm.fire(0, Timer::Head(HeadTimer::Campaign(CampaignId(1))));
    assert_eq!(failed_with(&dvm, 1), PMIX_ERR_TIMEOUT, "it took too long");
    assert_eq!(dvm.code_of(2), 1);
    assert!(dvm.transitions.contains(&"1 NEVER_LAUNCHED".to_owned()));
    assert!(dvm.notices.iter().any(|text| text.contains("m0") && text.contains("Job 1")), "{:?}", dvm.notices);
    assert_eq!(links(&dvm), [(0, 1), (0, 2)], "those that had come are gone");
    assert_eq!(states(&mut dvm, 6), "n0 up, n1 up, n2 up");
}

/// Daemons without a place are dismissed (spec E23).
#[test]
fn a_daemon_that_comes_after_its_campaign_was_undone_is_sent_away_and_its_node_can_be_grown_again() {
    let mut dvm = dvm(2);
    dvm.silent_nodes.insert("m0".to_owned());
    ask_grow(&mut dvm, 1, &["m0"]);
    dvm.fire(0, Timer::Head(HeadTimer::Campaign(CampaignId(1))));
    assert_eq!(failed_with(&dvm, 1), PMIX_ERR_TIMEOUT);
    dvm.come(2);
    assert_eq!(dvm.exits.get(&DaemonRank(2)), Some(&0));
    dvm.silent_nodes.clear();
    ask_grow(&mut dvm, 2, &["m0"]);
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
    assert_eq!(links(&dvm), [(0, 1), (1, 3)], "with a rank that nobody has had");
}

/// Campaigns about the same node follow one another (spec E5).
#[test]
fn a_slow_grow_does_not_delay_another_and_takes_its_place_later() {
    let mut dvm = dvm(3);
    dvm.silent_nodes.insert("slow".to_owned());
    ask_grow(&mut dvm, 1, &["slow"]);
    ask_grow(&mut dvm, 2, &["m0", "m1", "m2", "m3", "m4"]);
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
    // 3 is kept for the slow one, and nobody is given a place below it.
    assert_eq!(links(&dvm), [(0, 1), (0, 2), (1, 4), (2, 5), (2, 6), (4, 9), (4, 10)]);
    assert!(unanswered(&dvm, 1));
    dvm.come(3);
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Done);
    assert!(links(&dvm).contains(&(1, 3)));
    dvm.submit(3, on("a.out", &["slow", "m4"]));
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(3), 0);
}

#[test]
fn a_job_that_waits_for_slots_waits_for_an_open_grow_before_a_loss_refuses_it() {
    for (params, grows) in [(ELASTIC, true), (ELASTIC, false), (&ELASTIC[..1], true), (&ELASTIC[..1], false)] {
        let mut dvm = dvm_with(3, params);
        dvm.submit(1, on("a.out", &["n0"]));
        let patient = Submission { wait_for_slots: true, ..Submission::of(job("all", 12)) };
        dvm.submit(2, patient);
        dvm.silent_nodes.insert("slow".to_owned());
        ask_grow(&mut dvm, 3, &["slow"]);
        dvm.crash(2);
        assert!(unanswered(&dvm, 2), "{:?}", dvm.replies);
        if grows {
            dvm.come(3);
            dvm.exit_job(1);
            dvm.exit_job(2);
        } else {
            dvm.fire(0, Timer::Head(HeadTimer::Campaign(CampaignId(1))));
        }
        assert_eq!(dvm.code_of(2), u8::from(!grows));
    }
}

#[test]
fn a_job_that_waits_for_nodes_that_came_while_nobody_waited_is_refused_when_they_are_lost() {
    for params in [ELASTIC, &ELASTIC[..1]] {
        let mut dvm = dvm_with(3, params);
        let patient = |np| Submission { wait_for_slots: true, ..Submission::of(job("a.out", np)) };
        dvm.submit(1, on("a.out", &["n0"]));
        dvm.submit(2, patient(12));
        dvm.exit_job(1);
        dvm.exit_job(2);
        ask_grow(&mut dvm, 3, &["m0"]);
        dvm.submit(4, on("a.out", &["n0"]));
        dvm.submit(5, patient(16));
        dvm.crash(3);
        assert_eq!(dvm.code_of(5), 1);
    }
}

/// A newcomer's place is kept and moves nobody (spec E19).
#[test]
fn a_grow_that_finds_every_place_below_a_slow_newcomer_waits_for_that_one_and_no_longer() {
    let mut dvm = dvm(1);
    dvm.silent_nodes.extend(["m0", "m1"].map(str::to_owned));
    // With a radix of 2 these two are above everybody who may ever come.
    ask_grow(&mut dvm, 1, &["m0", "m1"]);
    ask_grow(&mut dvm, 2, &["m2"]);
    ask_grow(&mut dvm, 3, &["m3"]);
    assert!([1, 2, 3].iter().all(|id| unanswered(&dvm, *id)));
    dvm.silent_nodes.clear();
    dvm.fire(0, Timer::Head(HeadTimer::Campaign(CampaignId(1))));
    assert_eq!(failed_with(&dvm, 1), PMIX_ERR_TIMEOUT);
    assert!([2, 3].iter().all(|id| *outcome(&dvm, *id) == ResizeOutcome::Done), "{:?}", dvm.replies);
    assert_eq!(states(&mut dvm, 4), "n0 up, m2 up, m3 up");
}

/// What makes a grow fail (spec E22).
#[test]
fn a_target_that_is_lost_before_the_end_takes_its_campaign_back_and_nothing_else() {
    let mut dvm = dvm(3);
    dvm.silent_nodes.insert("m1".to_owned());
    ask_grow(&mut dvm, 1, &["m0", "m1"]);
    assert_eq!(links(&dvm), [(0, 1), (0, 2), (0, 3)], "it waits for its place");
    dvm.crash(3);
    assert_eq!(failed_with(&dvm, 1), PMIX_ERR_LOST_CONNECTION);
    assert_eq!(links(&dvm), [(0, 1), (0, 2)]);
    assert!(dvm.abandoned.contains(&DaemonRank(4)), "nobody goes on starting the other one");
    dvm.come(4);
    assert_eq!(dvm.exits.get(&DaemonRank(4)), Some(&0));
}

/// A grow is true when everybody has acknowledged it (spec E21, E24).
#[test]
fn a_target_that_is_lost_while_everybody_is_being_told_is_no_node_of_the_dvm_elastic_or_not() {
    for params in [ELASTIC, &[("rml_base_radix", "2")][..]] {
        let mut dvm = dvm_with(4, params);
        let held = dvm.freeze_quietly(2);
        ask_grow(&mut dvm, 1, &["m0"]);
        assert!(unanswered(&dvm, 1), "2 has not acknowledged the wireup");
        dvm.crash(4);
        dvm.kill(held);
        assert_eq!(failed_with(&dvm, 1), PMIX_ERR_LOST_CONNECTION);
        assert_eq!(states(&mut dvm, 2), "n0 up, n1 up, n2 lost, n3 up");
    }
}

/// A failure concerns its own campaign (spec G4).
#[test]
fn a_daemon_that_has_nothing_to_do_with_a_grow_may_be_lost_during_it() {
    let mut dvm = dvm(4);
    dvm.silent_nodes.insert("m0".to_owned());
    ask_grow(&mut dvm, 1, &["m0", "m1"]);
    dvm.submit(2, Submission::of(job("a.out", 1)));
    dvm.crash(1);
    assert!(unanswered(&dvm, 1) && unanswered(&dvm, 2), "neither undone nor admitted");
    dvm.come(4);
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Done);
    assert_eq!(dvm.running.len(), 1);
    // The arithmetic parent of 4 is 1, which is dead.
    assert_eq!(links(&dvm), [(0, 2), (0, 3), (0, 4), (2, 5)]);
}

/// What is so already opens no campaign (spec E4).
#[test]
fn nothing_to_do_is_said_at_once_and_opens_no_campaign() {
    let mut dvm = dvm(2);
    ask_grow(&mut dvm, 1, &["n1"]);
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Unchanged);
    ask_grow(&mut dvm, 2, &["m0"]);
    ask_shrink(&mut dvm, 3, &["m0"]);
    ask_shrink(&mut dvm, 4, &["n1"]);
    ask_shrink(&mut dvm, 5, &["n1"]);
    assert_eq!(*outcome(&dvm, 5), ResizeOutcome::Unchanged);
    assert!(!dvm.transitions.iter().any(|step| step.starts_with("shrink 4")), "{:?}", dvm.transitions);
}

#[test]
fn the_nodes_of_a_resource_manager_are_not_added_to() {
    let mut config = Cluster::config(2, ELASTIC, true);
    config.allocation.source = Source::Managed { manager: Manager::Slurm, job: "7".to_owned() };
    config.allocation.nodes[1].rm_job = Some("7".to_owned());
    let mut dvm = Cluster::of(config);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    ask_grow(&mut dvm, 1, &["n5"]);
    assert_eq!(refused_with(&dvm, 1), PMIX_ERR_NOT_SUPPORTED);
    let host = AddedHost { slots: SlotChange::Set(9), ..added("n1") };
    let request = GrowRequest { hosts: vec![host], wait: true, ..GrowRequest::default() };
    dvm.ask(2, Request::Resize(Box::new(ResizeRequest::Grow(request))));
    assert_eq!(refused_with(&dvm, 2), PMIX_ERR_NOT_SUPPORTED);
}

/// A request is planned before anything is done (spec E3, E27).
#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let mut dvm = dvm(2);
    ask_shrink(&mut dvm, 1, &["n1", "nobody"]);
    assert_eq!(refused_with(&dvm, 1), PMIX_ERR_NOT_FOUND);
    ask_shrink(&mut dvm, 2, &["n1", "n0"]);
    assert_eq!(refused_with(&dvm, 2), PMIX_ERR_BAD_PARAM, "the head's own node stays");
    ask_grow(&mut dvm, 3, &[]);
    assert_eq!(refused_with(&dvm, 3), PMIX_ERR_BAD_PARAM);
    let more = GrowRequest { hosts: vec![added("m0")], count: 2, ..GrowRequest::default() };
    dvm.ask(4, Request::Resize(Box::new(ResizeRequest::Grow(more))));
    assert_eq!(refused_with(&dvm, 4), PMIX_ERR_OUT_OF_RESOURCE, "there are no spare nodes");
    let unknown = ShrinkRequest { alloc_id: Some("a9".to_owned()), ..ShrinkRequest::default() };
    dvm.ask(5, Request::Resize(Box::new(ResizeRequest::Shrink(unknown))));
    assert_eq!(refused_with(&dvm, 5), PMIX_ERR_NOT_FOUND);
    assert!(dvm.transitions.iter().all(|step| !step.contains("OPEN")));
    assert_eq!(states(&mut dvm, 6), "n0 up, n1 up");
}

/// Slots change with the grow (spec E25).
#[test]
fn slots_are_set_and_adjusted() {
    let mut dvm = dvm(2);
    let slots = |name: &str, slots| AddedHost { slots, ..added(name) };
    let hosts = vec![slots("m0", SlotChange::Set(3)), slots("n1", SlotChange::Adjust(2))];
    let request = GrowRequest { hosts, wait: true, ..GrowRequest::default() };
    dvm.ask(1, Request::Resize(Box::new(ResizeRequest::Grow(request))));
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Done);
    dvm.ask(2, Request::Nodes);
    let Reply::Nodes(nodes) = dvm.reply(2) else { panic!("nodes") };
    assert_eq!(nodes.iter().map(|node| node.slots).collect::<Vec<_>>(), [4, 6, 3]);
    let request = GrowRequest { hosts: vec![slots("n1", SlotChange::Adjust(-6))], ..GrowRequest::default() };
    dvm.ask(3, Request::Resize(Box::new(ResizeRequest::Grow(request))));
    assert_eq!(refused_with(&dvm, 3), PMIX_ERR_BAD_PARAM);
}

/// A job that brings nodes along waits for them (spec E14).
#[test]
fn a_job_that_brings_its_nodes_along_runs_on_them_or_not_at_all() {
    for params in [ELASTIC, &[("rml_base_radix", "2")][..]] {
        let mut dvm = dvm_with(2, params);
        dvm.bad_nodes.insert("m1".to_owned(), "no route to host".to_owned());
        dvm.submit(1, Submission { grow: Some(Box::new(grow(&["m0"]))), ..on("a.out", &["m0", "n1"]) });
        assert_eq!(dvm.running.len(), 2);
        dvm.exit_job(1);
        assert_eq!(dvm.code_of(1), 0);
        dvm.submit(2, Submission { grow: Some(Box::new(grow(&["m1"]))), ..on("a.out", &["m1"]) });
        assert_eq!(dvm.code_of(2), 1);
        assert!(dvm.notices.iter().any(|text| text.contains("m1")), "{:?}", dvm.notices);
        dvm.submit(3, Submission { grow: Some(Box::new(grow(&[]))), ..on("a.out", &["n1"]) });
        assert!(matches!(dvm.reply(3), Reply::Refused(_)));
    }
}

// --- shrinking

/// One order names all that leave (spec E28, E29).
#[test]
fn a_branch_leaves_as_one_and_is_gone_when_the_requester_hears_it() {
    let mut dvm = dvm(10);
    dvm.received.clear();
    ask_shrink(&mut dvm, 1, &["n1", "n3", "n7", "n8"]);
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Done);
    assert_eq!(links(&dvm), [(0, 2), (0, 4), (2, 5), (2, 6), (4, 9)]);
    for rank in [1, 3, 7, 8] {
        assert_eq!(dvm.exits.get(&DaemonRank(rank)), Some(&0));
    }
    assert_eq!(dvm.offered, ["n1", "n3", "n7", "n8"]);
    let kinds = &dvm.received[&DaemonRank::HEAD];
    assert!(kinds.iter().all(|kind| *kind == "ack" || *kind == "renewed"), "no report of losses: {kinds:?}");
    assert!(dvm.notices.is_empty(), "{:?}", dvm.notices);
    assert_eq!(states(&mut dvm, 2), "n0 up, n1 down, n2 up, n3 down, n4 up, n5 up, n6 up, n7 down, n8 down, n9 up");
    dvm.submit(3, on("a.out", &["n4", "n9", "n6"]));
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(3), 0);
}

/// A node that has left can come again at once (spec E26).
#[test]
fn everything_but_the_head_may_leave_and_come_again() {
    let mut dvm = dvm(10);
    let all = ["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"];
    for round in 0..3 {
        ask_shrink(&mut dvm, 2 * round + 1, &all);
        assert_eq!(*outcome(&dvm, 2 * round + 1), ResizeOutcome::Done);
        assert_eq!(links(&dvm), []);
        ask_grow(&mut dvm, 2 * round + 2, &all);
        assert_eq!(*outcome(&dvm, 2 * round + 2), ResizeOutcome::Done, "round {round}");
        assert_eq!(links(&dvm).len(), 9);
    }
    dvm.submit(100, on("a.out", &all));
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(100), 0);
}

fn lost_ranks(dvm: &mut Cluster, id: u64, job: u32) -> Vec<u32> {
    dvm.ask(id, Request::Job(JobId(job)));
    let Reply::Job(detail) = dvm.reply(id) else { panic!("a job") };
    detail.lost_ranks.iter().map(|rank| rank.0).collect()
}

/// A job that loses processes to a shrink (spec E34).
#[test]
fn a_job_that_loses_ranks_to_a_shrink_is_ended_with_a_code_and_a_cause_of_its_own() {
    for crashes in [false, true] {
        let mut dvm = dvm(4);
        dvm.submit(1, on("a.out", &["n1", "n3", "n1", "n3"]));
        ask_shrink(&mut dvm, 2, &["n3"]);
        assert_eq!(dvm.running.len(), 4, "they may be about to end");
        if crashes {
            dvm.crash(3)
        } else {
            dvm.fire(3, Timer::Daemon(DaemonTimer::Grace))
        }
        assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
        assert!(dvm.running.is_empty(), "what is left of it would wait for them");
        assert_eq!(dvm.code_of(1), LEFT);
        assert_eq!(
            dvm.notices,
            ["Node n3 leaves the DVM: ranks 1, 3 of job 1, which still ran there, were ended.\n\
                 The job was ended because of it."]
        );
        assert_eq!(lost_ranks(&mut dvm, 3, 1), [1, 3]);
    }
}

/// A job that loses processes to a shrink (spec E34).
#[test]
fn a_job_that_survives_failures_goes_on_without_the_ranks_that_a_shrink_has_taken() {
    let mut dvm = dvm(4);
    let mut survives = on("a.out", &["n1", "n3"]);
    survives.spec.options.recoverable = true;
    dvm.submit(1, survives);
    ask_shrink(&mut dvm, 2, &["n3"]);
    dvm.fire(3, Timer::Daemon(DaemonTimer::Grace));
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
    assert_eq!(dvm.running.len(), 1);
    assert_eq!(
        dvm.notices,
        [
            "Node n3 leaves the DVM: rank 1 of job 1, which still ran there, was ended, and the job goes on with what is left of it."
        ]
    );
    assert_eq!(lost_ranks(&mut dvm, 3, 1), [1]);
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0, "it has not failed because of it");
    assert_eq!(lost_ranks(&mut dvm, 4, 1), [1], "and that is kept");
}

#[test]
fn a_job_whose_nodes_all_leave_is_ended_and_told() {
    for survives in [false, true] {
        let mut dvm = dvm(4);
        let mut submission = on("a.out", &["n3"]);
        submission.spec.options.recoverable = survives;
        dvm.submit(1, submission);
        ask_shrink(&mut dvm, 2, &["n3"]);
        dvm.fire(3, Timer::Daemon(DaemonTimer::Grace));
        assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
        assert_eq!(dvm.code_of(1), LEFT);
        assert!(dvm.notices.iter().any(|text| text.contains("n3")), "{:?}", dvm.notices);
    }
}

/// A leaving node lets its processes end (spec E30).
#[test]
fn what_ranks_had_written_before_their_node_left_arrives_however_slow_the_reader_is() {
    let mut dvm = dvm(4);
    (dvm.flowing, dvm.pipes_stay_open) = (false, true);
    dvm.submit(1, on("a.out", &["n1", "n3"]));
    for rank in [0, 1] {
        dvm.output(rank, &"0123456789abcde\n".repeat(1 << 19));
    }
    dvm.reads.clear();
    ask_shrink(&mut dvm, 2, &["n3"]);
    dvm.fire(3, Timer::Daemon(DaemonTimer::Grace));
    dvm.fire(3, Timer::Daemon(DaemonTimer::KillStep(JobId(1))));
    let rest = |rank| (common::proc(rank), Stream::Stdout);
    assert_eq!(dvm.reads, [rest(1)], "nobody reads, and it is read all the same");
    let end = |dvm: &mut Cluster, at: u32, rank: u32, text: &'static str| {
        let proc = common::proc(rank);
        let data = Bytes::from_static(text.as_bytes());
        dvm.input(DaemonRank(at), Input::Daemon(DaemonInput::Output { proc, stream: Stream::Stdout, data }));
        for stream in [Stream::Stdout, Stream::Stderr] {
            dvm.input(DaemonRank(at), Input::Daemon(DaemonInput::OutputClosed { proc, stream }));
        }
        dvm.run();
    };
    end(&mut dvm, 3, 1, "the last of it\n");
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
    assert_eq!(dvm.reads, [rest(1), rest(1), rest(0)], "nor is anything lost of those who end for it");
    end(&mut dvm, 1, 0, "and of it\n");
    assert_eq!(dvm.code_of(1), LEFT);
    assert!(dvm.stdout_of(1).ends_with("the last of it\nand of it\n"));
}

#[test]
fn a_rank_that_ends_well_while_its_node_leaves_is_not_lost() {
    let mut dvm = dvm(4);
    dvm.submit(1, on("a.out", &["n1", "n3"]));
    ask_shrink(&mut dvm, 2, &["n3"]);
    dvm.exit_proc(1, ExitStatus::Exited(0));
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
    dvm.exit_job(1);
    assert_eq!((dvm.code_of(1), lost_ranks(&mut dvm, 3, 1)), (0, Vec::new()));
}

/// A leaving node lets its processes end (spec E30).
#[test]
fn a_short_job_on_a_leaving_node_ends_well() {
    let mut dvm = dvm(4);
    dvm.submit(1, on("hostname", &["n3"]));
    ask_shrink(&mut dvm, 2, &["n3"]);
    assert!(unanswered(&dvm, 2));
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
}

/// A shrink is done when its daemons are gone (spec G6).
#[test]
fn a_leaving_daemon_that_crashes_has_left() {
    let mut dvm = dvm(10);
    let frozen = dvm.freeze_quietly(3);
    ask_shrink(&mut dvm, 1, &["n1", "n3", "n9"]);
    assert!(unanswered(&dvm, 1), "one of them is still there");
    dvm.kill(frozen);
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Done);
    assert_eq!(links(&dvm), [(0, 2), (0, 4), (0, 7), (0, 8), (2, 5), (2, 6)]);
    assert!(dvm.notices.is_empty(), "nobody was lost: {:?}", dvm.notices);
}

/// A leaving daemon that hangs is given up (spec E32).
#[test]
fn a_leaving_daemon_that_hangs_is_given_up_in_the_end() {
    let mut dvm = dvm(4);
    let _frozen = dvm.freeze_quietly(3);
    ask_shrink(&mut dvm, 1, &["n3"]);
    assert!(unanswered(&dvm, 1));
    for _ in 0..12 {
        if dvm.timers.contains(&(DaemonRank(1), Timer::Link(LinkTimer::Leavers))) {
            dvm.fire(1, Timer::Link(LinkTimer::Leavers));
        }
    }
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Done);
}

/// A shrink is done when its daemons are gone (spec G6).
#[test]
fn the_last_link_of_a_daemon_that_counts_as_gone_may_break_and_fails_nothing() {
    let mut dvm = dvm(4);
    let _hanging = [1, 3].map(|rank| dvm.freeze_quietly(rank));
    ask_shrink(&mut dvm, 1, &["n1", "n3"]);
    dvm.submit(2, on("a.out", &["n2"]));
    // It has found its way past its parent, which is lost with all that hung there. The nodes are being offered.
    let refused = |peer| Input::Link(LinkInput::ConnectFailed { peer, cause: "refused".to_owned(), refused: true });
    let lost = |peer| Input::Link(LinkInput::LinkLost { peer, cause: "closed".to_owned() });
    let (one, three) = (DaemonRank(1), DaemonRank(3));
    for input in [Input::Link(LinkInput::LinkUp { peer: three }), lost(one), refused(one), lost(three)] {
        dvm.input(DaemonRank::HEAD, input);
    }
    dvm.run();
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Done);
    assert_eq!(dvm.running.len(), 1, "who waited for it goes on");
}

/// Who leaves is not lost (spec E33).
#[test]
fn a_daemon_whose_loss_was_reported_before_the_order_to_leave_is_not_declared_lost_after_it() {
    let mut dvm = dvm(4);
    dvm.crash(3);
    dvm.crash(2);
    ask_shrink(&mut dvm, 1, &["n2"]);
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Done);
    let notices = dvm.notices.len();
    dvm.fire(0, Timer::Head(HeadTimer::Deaths));
    assert_eq!(dvm.notices.len(), notices, "{:?}", dvm.notices);
    assert_eq!(dvm.received[&DaemonRank(1)].iter().filter(|kind| **kind == "died").count(), 1, "of the first");
    assert_eq!(states(&mut dvm, 2), "n0 up, n1 up, n2 down, n3 lost");
}

/// The order is acknowledged when the leaving neighbours are gone (spec E31).
#[test]
fn a_child_whose_link_breaks_before_it_has_acknowledged_its_order_to_leave_is_called_and_hears_it() {
    let mut dvm = dvm(4);
    dvm.losing(0, 2);
    ask_shrink(&mut dvm, 1, &["n2"]);
    dvm.keep_nothing_back();
    assert!(unanswered(&dvm, 1) && dvm.exits.is_empty());
    // The other end has not seen it: that daemon is well.
    dvm.input(DaemonRank::HEAD, Input::Link(LinkInput::LinkLost { peer: DaemonRank(2), cause: "closed".to_owned() }));
    dvm.run();
    assert_eq!(dvm.exits.get(&DaemonRank(2)), Some(&0), "it has left when the requester hears it");
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Done);
}

#[test]
fn a_daemon_that_was_adopted_in_a_shrink_is_called_when_its_link_breaks() {
    let mut dvm = dvm(10);
    ask_shrink(&mut dvm, 1, &["n1", "n3"]);
    assert!(links(&dvm).contains(&(0, 7)));
    dvm.cut(0, 7);
    assert!(links(&dvm).contains(&(0, 7)), "the new parent knows where it listens");
    assert!(dvm.notices.is_empty(), "{:?}", dvm.notices);
}

#[test]
fn a_survivor_that_is_lost_in_mid_shrink_costs_itself() {
    let mut dvm = dvm(10);
    let held = dvm.freeze_quietly(7);
    ask_shrink(&mut dvm, 1, &["n7", "n8"]);
    assert!(unanswered(&dvm, 1));
    dvm.crash(3);
    dvm.kill(held);
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Done);
    assert_eq!(links(&dvm), [(0, 1), (0, 2), (1, 4), (2, 5), (2, 6), (4, 9)]);
}

// --- both at once

/// Nothing is launched on a daemon that leaves (spec G3, E10).
#[test]
fn a_held_job_whose_nodes_leave_is_mapped_again_and_one_whose_nodes_stay_is_not() {
    let params = [ELASTIC, &[("ferrite_debug_prep_ms", "50")]].concat();
    let mut dvm = dvm_with(4, &params);
    let mut two = job("moves", 2);
    two.apps[0].hosts.hosts = Vec::new();
    dvm.submit(1, Submission::of(two));
    dvm.submit(2, on("stays", &["n2"]));
    let frozen = dvm.freeze_quietly(3);
    ask_shrink(&mut dvm, 3, &["n1", "n3"]);
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(2))));
    assert_eq!(state_of(&mut dvm, 4, 1).0, JobState::WaitingForDaemons);
    assert_eq!(state_of(&mut dvm, 5, 2).0, JobState::WaitingForDaemons);
    assert!(dvm.running.is_empty());
    dvm.kill(frozen);
    assert_eq!(*outcome(&dvm, 3), ResizeOutcome::Done);
    assert_eq!(dvm.running.len(), 1, "the one that stays is launched as mapped");
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
    let places: Vec<u32> = dvm.running.values().map(|(at, _)| at.0).collect();
    assert!(places.iter().all(|at| [0, 2].contains(at)), "{places:?}");
    assert_eq!(dvm.running.len(), 3);
}

/// Hosts that are gone do not count in the second map (spec E11).
#[test]
fn a_held_job_that_names_a_node_that_leaves_is_mapped_again_to_the_others_that_it_names() {
    let params = [ELASTIC, &[("ferrite_debug_prep_ms", "50")]].concat();
    for by_file in [false, true] {
        let mut dvm = dvm_with(4, &params);
        let mut moves = on("moves", &["n3", "n1"]);
        if by_file {
            moves.spec.apps[0].hosts.hostfile = std::mem::take(&mut moves.spec.apps[0].hosts.hosts);
            moves.spec.apps[0].hosts.hostfile.push(HostRef::Relative(3, SlotCount::FromCores));
        }
        moves.spec.map.by = Some(MapBy::Node);
        dvm.submit(1, moves);
        dvm.submit(2, on("cannot", &["n3"]));
        ask_shrink(&mut dvm, 3, &["n3"]);
        [1, 2].iter().for_each(|job| dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(*job)))));
        dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
        let places: Vec<u32> = dvm.running.values().map(|(at, _)| at.0).collect();
        assert_eq!(places, [1, 1], "by file: {by_file}");
        assert_eq!(dvm.code_of(2), 1, "it names no other");
        dvm.exit_job(1);
        assert_eq!(dvm.code_of(1), 0);
    }
}

/// A failed grow ends whoever waited for it (spec E13).
#[test]
fn a_job_that_was_mapped_before_a_grow_began_is_not_aborted_with_it_when_it_has_to_be_mapped_again() {
    let params = [ELASTIC, &[("ferrite_debug_prep_ms", "50")]].concat();
    let mut dvm = dvm_with(4, &params);
    dvm.submit(1, Submission::of(job("moves", 5)));
    let frozen = dvm.freeze_quietly(3);
    ask_shrink(&mut dvm, 2, &["n2", "n3"]);
    dvm.silent_nodes.insert("m0".to_owned());
    ask_grow(&mut dvm, 3, &["m0"]);
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
    dvm.submit(4, on("waits", &["n1"]));
    dvm.kill(frozen);
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
    assert_eq!(state_of(&mut dvm, 5, 1).0, JobState::WaitingForDaemons, "not to be in the way of the grow");
    dvm.fire(0, Timer::Head(HeadTimer::Campaign(CampaignId(2))));
    assert_eq!((failed_with(&dvm, 3), dvm.code_of(4)), (PMIX_ERR_TIMEOUT, 1), "that one has waited for it");
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
}

/// A job that is mapped again comes first (spec E12).
#[test]
fn a_job_that_has_to_be_mapped_again_waits_for_slots_when_it_must() {
    let params = [ELASTIC, &[("ferrite_debug_prep_ms", "50")]].concat();
    let mut dvm = dvm_with(2, &params);
    dvm.submit(1, on("fills", &["n0"; 4]));
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
    dvm.submit(2, Submission::of(job("moves", 1)));
    ask_shrink(&mut dvm, 3, &["n1"]);
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(2))));
    assert!(unanswered(&dvm, 2), "it has not failed");
    dvm.exit_job(1);
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(2))));
    dvm.exit_job(2);
    assert_eq!(dvm.code_of(2), 0);
}

/// A map that still holds is launched as it is (spec E10).
#[test]
fn a_held_job_whose_node_is_lost_is_mapped_again_too() {
    let params = [ELASTIC, &[("ferrite_debug_prep_ms", "50")]].concat();
    let mut dvm = dvm_with(4, &params);
    dvm.submit(1, Submission::of(job("moves", 5)));
    let frozen = dvm.freeze_quietly(3);
    ask_shrink(&mut dvm, 2, &["n3"]);
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
    assert_eq!(state_of(&mut dvm, 3, 1).0, JobState::WaitingForDaemons);
    dvm.crash(1);
    assert!(unanswered(&dvm, 1), "it has nothing to do with the shrink, and does not end whom that holds");
    dvm.kill(frozen);
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
}

/// A mapped job waits for shrinks only (spec E8).
#[test]
fn a_grow_does_not_hold_a_mapped_job_after_the_shrink_has_ended() {
    let params = [ELASTIC, &[("ferrite_debug_prep_ms", "50")]].concat();
    let mut dvm = dvm_with(4, &params);
    dvm.submit(1, on("stays", &["n2"]));
    dvm.silent_nodes.insert("m0".to_owned());
    let frozen = dvm.freeze_quietly(3);
    ask_shrink(&mut dvm, 2, &["n3"]);
    ask_grow(&mut dvm, 3, &["m0"]);
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
    assert!(dvm.running.is_empty());
    dvm.submit(4, on("waits", &["n2"]));
    dvm.kill(frozen);
    assert_eq!(dvm.running.len(), 1, "launched although the grow is open");
    assert_eq!(state_of(&mut dvm, 5, 2).0, JobState::WaitingForDaemons);
    dvm.fire(0, Timer::Head(HeadTimer::Campaign(CampaignId(2))));
    assert_eq!(failed_with(&dvm, 3), PMIX_ERR_TIMEOUT);
    assert_eq!(dvm.code_of(4), 1, "it waited for the grow");
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
}

/// Campaigns about the same node follow one another (spec E5).
#[test]
fn a_release_of_a_node_that_is_still_coming_waits_and_a_grow_of_one_that_is_leaving_too() {
    let mut dvm = dvm(3);
    dvm.silent_nodes.insert("m0".to_owned());
    ask_grow(&mut dvm, 1, &["m0"]);
    ask_shrink(&mut dvm, 2, &["m0"]);
    ask_grow(&mut dvm, 3, &["m0"]);
    assert!([1, 2, 3].iter().all(|id| unanswered(&dvm, *id)));
    dvm.silent_nodes.clear();
    dvm.come(3);
    assert!([1, 2, 3].iter().all(|id| *outcome(&dvm, *id) == ResizeOutcome::Done), "{:?}", dvm.replies);
    assert_eq!(resize(&dvm, 2).alloc_id, resize(&dvm, 1).alloc_id, "it takes from what was coming");
    assert_eq!(states(&mut dvm, 4), "n0 up, n1 up, n2 up, m0 up");
    assert_eq!(links(&dvm), [(0, 1), (0, 2), (1, 4)]);
}

#[test]
fn a_release_of_a_node_that_is_leaving_is_true_when_it_has_left() {
    let mut dvm = dvm(4);
    let frozen = dvm.freeze_quietly(3);
    ask_shrink(&mut dvm, 1, &["n3"]);
    ask_shrink(&mut dvm, 2, &["n3"]);
    assert!(unanswered(&dvm, 1) && unanswered(&dvm, 2));
    dvm.kill(frozen);
    assert!([1, 2].iter().all(|id| *outcome(&dvm, *id) == ResizeOutcome::Done), "{:?}", dvm.replies);
    assert_eq!(dvm.offered, ["n3"], "once");
    ask_shrink(&mut dvm, 3, &["n3"]);
    assert_eq!(*outcome(&dvm, 3), ResizeOutcome::Unchanged);
}

/// A node that has left can come again at once (spec E26).
#[test]
fn what_is_said_of_a_node_that_is_not_there_any_more_or_never_came_counts_the_next_time() {
    let mut dvm = dvm(2);
    dvm.silent_nodes.insert("m0".to_owned());
    let login = |user: &str| AddedHost {
        host: HostEntry { user: Some(user.to_owned()), ..HostEntry::named("m0") },
        ..added("m0")
    };
    let as_user = |user: &str| GrowRequest { hosts: vec![login(user)], ..grow(&[]) };
    dvm.ask(1, Request::Resize(Box::new(ResizeRequest::Grow(as_user("wrong")))));
    dvm.fire(0, Timer::Head(HeadTimer::Campaign(CampaignId(1))));
    assert_eq!(failed_with(&dvm, 1), PMIX_ERR_TIMEOUT);
    dvm.silent_nodes.clear();
    for (id, request, expected) in [(2, as_user("right"), "right@m0"), (4, grow(&["m0"]), "m0")] {
        dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Grow(request))));
        assert_eq!(*outcome(&dvm, id), ResizeOutcome::Done);
        let command = dvm.launched.last().expect("it was started");
        assert!(command.iter().any(|word| word == expected), "{command:?}");
        ask_shrink(&mut dvm, id + 1, &["m0"]);
    }
}

#[test]
fn a_node_that_was_lost_and_grown_again_belongs_to_the_new_allocation_alone() {
    let mut dvm = dvm(2);
    ask_grow(&mut dvm, 1, &["m0"]);
    dvm.crash(2);
    let release = |id: &str| {
        let request = ShrinkRequest { alloc_id: Some(id.to_owned()), wait: true, ..ShrinkRequest::default() };
        Request::Resize(Box::new(ResizeRequest::Shrink(request)))
    };
    ask_grow(&mut dvm, 2, &["m0"]);
    dvm.ask(3, release("a1"));
    assert_eq!(refused_with(&dvm, 3), PMIX_ERR_NOT_FOUND, "it has nothing any more");
    assert_eq!(states(&mut dvm, 4), "n0 up, n1 up, m0 up");
    dvm.crash(3);
    dvm.fire(0, Timer::Head(HeadTimer::Deaths));
    assert_eq!(states(&mut dvm, 7), "n0 up, n1 up, m0 lost");
    dvm.ask(5, release("a2"));
    assert_eq!(refused_with(&dvm, 5), PMIX_ERR_NOT_FOUND, "it is over with the last of its nodes");
}

#[test]
fn a_release_that_waited_for_a_grow_that_failed_is_true_all_the_same() {
    let mut dvm = dvm(3);
    dvm.silent_nodes.insert("m0".to_owned());
    ask_grow(&mut dvm, 1, &["m0"]);
    ask_shrink(&mut dvm, 2, &["m0"]);
    dvm.fire(0, Timer::Head(HeadTimer::Campaign(CampaignId(1))));
    assert_eq!(failed_with(&dvm, 1), PMIX_ERR_TIMEOUT);
    assert_eq!(*outcome(&dvm, 2), ResizeOutcome::Done);
}

/// Every change of size is a campaign (spec E2, S15).
#[test]
fn a_whole_allocation_is_given_back_by_its_id_through_a_campaign_like_any_other() {
    let mut dvm = dvm(2);
    ask_grow(&mut dvm, 1, &["m0", "m1"]);
    let id = resize(&dvm, 1).alloc_id.clone();
    let part = ShrinkRequest { alloc_id: Some(id.clone()), count: 1, wait: true, ..ShrinkRequest::default() };
    dvm.ask(2, Request::Resize(Box::new(ResizeRequest::Shrink(part))));
    assert_eq!(resize(&dvm, 2).nodes, ["m1"], "the latest first");
    let all = ShrinkRequest { alloc_id: Some(id.clone()), wait: true, ..ShrinkRequest::default() };
    dvm.ask(3, Request::Resize(Box::new(ResizeRequest::Shrink(all.clone()))));
    assert_eq!((&resize(&dvm, 3).nodes[..], outcome(&dvm, 3)), (&["m0".to_owned()][..], &ResizeOutcome::Done));
    assert!(dvm.transitions.contains(&"shrink 3 LEAVING".to_owned()), "{:?}", dvm.transitions);
    dvm.ask(4, Request::Resize(Box::new(ResizeRequest::Shrink(all))));
    assert_eq!(refused_with(&dvm, 4), PMIX_ERR_NOT_FOUND, "it is gone with its last node");
    assert_eq!(dvm.offered, ["m1", "m0"]);
}

#[test]
fn an_allocation_is_found_by_the_name_that_its_requester_gave_it_unless_that_fits_several() {
    let mut dvm = dvm(2);
    let mine = |host: &str| GrowRequest { req_id: Some("mine".to_owned()), ..grow(&[host]) };
    dvm.ask(1, Request::Resize(Box::new(ResizeRequest::Grow(mine("m0")))));
    let extension = GrowRequest { alloc_id: Some("mine".to_owned()), ..grow(&["m1"]) };
    dvm.ask(2, Request::Resize(Box::new(ResizeRequest::Grow(extension))));
    assert_eq!((outcome(&dvm, 2), &resize(&dvm, 2).alloc_id), (&ResizeOutcome::Done, &resize(&dvm, 1).alloc_id));
    dvm.ask(3, Request::Resize(Box::new(ResizeRequest::Grow(mine("m2")))));
    let all = |name: &str| ShrinkRequest { alloc_id: Some(name.to_owned()), wait: true, ..ShrinkRequest::default() };
    dvm.ask(4, Request::Resize(Box::new(ResizeRequest::Shrink(all("mine")))));
    assert_eq!(refused_with(&dvm, 4), PMIX_ERR_NOT_FOUND, "two are called so");
    let second = resize(&dvm, 3).alloc_id.clone();
    dvm.ask(5, Request::Resize(Box::new(ResizeRequest::Shrink(all(&second)))));
    dvm.ask(6, Request::Resize(Box::new(ResizeRequest::Shrink(all("mine")))));
    assert_eq!((&resize(&dvm, 6).nodes[..], outcome(&dvm, 6)), (&["m0".into(), "m1".into()][..], &ResizeOutcome::Done));
}

#[test]
fn an_allocation_may_be_given_back_by_its_id_before_it_is_there() {
    let mut dvm = dvm(2);
    dvm.silent_nodes.insert("m0".to_owned());
    dvm.ask(1, Request::Resize(Box::new(ResizeRequest::Grow(GrowRequest { wait: false, ..grow(&["m0"]) }))));
    let id = Some(resize(&dvm, 1).alloc_id.clone());
    let all = ShrinkRequest { alloc_id: id.clone(), wait: true, ..ShrinkRequest::default() };
    dvm.ask(2, Request::Resize(Box::new(ResizeRequest::Shrink(all.clone()))));
    assert!(unanswered(&dvm, 2));
    dvm.come(2);
    assert_eq!((&resize(&dvm, 2).alloc_id, outcome(&dvm, 2)), (id.as_ref().unwrap(), &ResizeOutcome::Done));
    assert_eq!(states(&mut dvm, 3), "n0 up, n1 up");
    dvm.ask(4, Request::Resize(Box::new(ResizeRequest::Shrink(all))));
    assert_eq!(refused_with(&dvm, 4), PMIX_ERR_NOT_FOUND);
}

// --- the second phase

/// The first answer precedes the second (spec E36).
#[test]
fn the_answer_comes_before_the_end_also_when_the_end_comes_at_once() {
    // Nothing was launched yet, so that nobody has noticed.
    let mut dvm = dvm_with(1, &[("prte_elastic_mode", "1"), ("plm", "pigeons")]);
    dvm.submit(1, on("a.out", &["n0"]));
    let request = ResizeRequest::Grow(GrowRequest { wait: false, ..grow(&["m0"]) });
    dvm.input(
        DaemonRank::HEAD,
        Input::Daemon(DaemonInput::Pmix(PmixCall::Resize { proc: common::proc(0), request, token: PmixToken(5) })),
    );
    dvm.run();
    let heard: Vec<&ResizeOutcome> = dvm
        .pmix
        .iter()
        .filter_map(|(_, effect)| match effect {
            PmixEffect::ReplyResize { resize, .. } | PmixEffect::ResizeEvent { resize, .. } => Some(&resize.outcome),
            _ => None,
        })
        .collect();
    assert!(
        matches!(heard[..], [ResizeOutcome::Begun, ResizeOutcome::Failed { status: PMIX_ERR_BAD_PARAM, .. }]),
        "{heard:?}"
    );
}

/// A request is answered twice (spec G8).
#[test]
fn a_process_is_answered_at_once_and_hears_of_the_end_once() {
    let mut dvm = dvm(3);
    dvm.submit(1, on("a.out", &["n2"]));
    dvm.silent_nodes.insert("m0".to_owned());
    let request = GrowRequest { req_id: Some("mine".to_owned()), wait: false, ..grow(&["m0"]) };
    let call = PmixCall::Resize { proc: common::proc(0), request: ResizeRequest::Grow(request), token: PmixToken(5) };
    dvm.input(DaemonRank(2), Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
    let answers = |dvm: &Cluster| -> Vec<(bool, Resize)> {
        let mine = dvm.pmix.iter().filter_map(|(at, effect)| match effect {
            PmixEffect::ReplyResize { token: PmixToken(5), resize } => Some((false, *at, resize)),
            PmixEffect::ResizeEvent { proc, resize } if *proc == common::proc(0) => Some((true, *at, resize)),
            _ => None,
        });
        mine.inspect(|(_, at, _)| assert_eq!(*at, DaemonRank(2))).map(|(event, _, r)| (event, (**r).clone())).collect()
    };
    let first = answers(&dvm);
    assert_eq!(first.len(), 1);
    assert_eq!((first[0].0, &first[0].1.outcome), (false, &ResizeOutcome::Begun));
    dvm.come(3);
    let all = answers(&dvm);
    assert_eq!(all.len(), 2);
    assert_eq!((all[1].0, &all[1].1.outcome), (true, &ResizeOutcome::Done));
    assert_eq!((all[1].1.req_id.as_deref(), &all[1].1.alloc_id), (Some("mine"), &all[0].1.alloc_id));
}

/// A requester that vanishes changes nothing (spec E37).
#[test]
fn a_requester_that_vanishes_changes_nothing_for_its_campaign() {
    let mut dvm = dvm(2);
    dvm.silent_nodes.insert("m0".to_owned());
    ask_grow(&mut dvm, 1, &["m0"]);
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::ClientGone(RequestId(1))));
    dvm.run();
    dvm.come(2);
    assert!(unanswered(&dvm, 1));
    assert_eq!(states(&mut dvm, 2), "n0 up, n1 up, m0 up");
}

/// Elastic mode is a parameter (spec E1).
#[test]
fn without_elastic_mode_nothing_waits_and_no_event_is_sent() {
    let mut dvm = dvm_with(3, &[("rml_base_radix", "2")]);
    dvm.silent_nodes.insert("m0".to_owned());
    let request = GrowRequest { wait: false, ..grow(&["m0"]) };
    dvm.ask(1, Request::Resize(Box::new(ResizeRequest::Grow(request))));
    assert_eq!(*outcome(&dvm, 1), ResizeOutcome::Begun);
    dvm.submit(2, on("a.out", &["n2"]));
    assert_eq!(dvm.running.len(), 1);
    dvm.come(3);
    assert!(dvm.resized.is_empty());
    assert_eq!(states(&mut dvm, 3), "n0 up, n1 up, n2 up, m0 up");
}

/// The end of the DVM ends its campaigns (spec E6).
#[test]
fn the_end_of_the_dvm_leaves_nobody_waiting() {
    let mut dvm = dvm(4);
    dvm.silent_nodes.insert("m0".to_owned());
    ask_grow(&mut dvm, 1, &["m0", "m1"]);
    dvm.submit(2, Submission::of(job("a.out", 1)));
    dvm.ask(3, Request::Terminate);
    assert_eq!(failed_with(&dvm, 1), PMIX_ERR_UNREACH);
    assert_eq!(dvm.code_of(2), 1);
    dvm.assert_gone();
}

#[test]
fn a_job_says_how_it_has_ended() {
    let mut dvm = dvm(4);
    dvm.missing.insert("missing".to_owned());
    let programs: [(&str, &[&str]); 7] = [
        ("done", &["n1"]),
        ("fails", &["n1"]),
        ("missing", &["n1"]),
        ("killed", &["n1"]),
        ("refused", &["elsewhere"]),
        ("left", &["n2"]),
        ("lost", &["n3"]),
    ];
    for (id, (program, nodes)) in (1..).zip(programs) {
        dvm.submit(id, on(program, nodes));
    }
    let first = |job| ProcId { job: JobId(job), rank: Rank(0) };
    dvm.exit(first(1), ExitStatus::Exited(0));
    dvm.exit(first(2), ExitStatus::Exited(3));
    dvm.ask(20, Request::Kill(JobId(4)));
    ask_shrink(&mut dvm, 21, &["n2"]);
    dvm.fire(2, Timer::Daemon(DaemonTimer::Grace));
    dvm.crash(3);
    dvm.submit(22, on("runs", &["n1"]));
    dvm.ask(23, Request::Jobs);
    let Reply::Jobs(jobs) = dvm.reply(23) else { panic!("jobs") };
    let named = |job: &JobStatus| (job.name.clone(), job.ending.map_or("", Ending::name));
    let endings: BTreeMap<String, &str> = jobs.iter().map(named).collect();
    let expected = [
        ("done", "done"),
        ("fails", "failed"),
        ("killed", "killed"),
        ("left", "lost ranks"),
        ("lost", "lost ranks"),
        ("missing", "failed"),
        ("refused", "refused"),
        ("runs", ""),
    ];
    assert_eq!(endings, expected.map(|(name, ending)| (name.to_owned(), ending)).into());
}
