//! A DVM that grows (docs/spec/elastic.md): each guarantee of a grow that one can stage by hand.

mod common;

use ferrite_types::pmix_status::{
    PMIX_ERR_BAD_PARAM, PMIX_ERR_JOB_FAILED_TO_LAUNCH, PMIX_ERR_LOST_CONNECTION, PMIX_ERR_NOT_FOUND,
    PMIX_ERR_NOT_SUPPORTED, PMIX_ERR_OUT_OF_RESOURCE, PMIX_ERR_TIMEOUT,
};

use common::elastic::*;
use common::{Cluster, dvm_with, job, resize};
use ferrite_core::{HeadTimer, Input, Timer};
use ferrite_rm::{Manager, Source};
use ferrite_types::*;
use ferrite_wire::control::{Reply, Request, Submission};
use ferrite_wire::{AddedHost, GrowRequest, ResizeOutcome, ResizeRequest, ShrinkRequest, SlotChange};

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

/// Causes that fail a grow (spec E22).
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

/// A request that changes nothing opens no campaign (spec E4).
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
    let unknown = ShrinkRequest { alloc_id: Some("a9".into()), ..ShrinkRequest::default() };
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
