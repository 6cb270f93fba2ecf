//! Daemons and links that are lost while the DVM goes on.

mod common;

use common::{Cluster, job};
use ferrite_core::{DaemonInput, HeadTimer, Input, LinkInput, LinkTimer, PmixEffect, PmixToken, Timer};
use ferrite_types::pmix_status::PMIX_ERR_LOST_CONNECTION;
use ferrite_types::*;
use ferrite_wire::control::{Reply, Request, Submission};
use ferrite_wire::{DaemonMessage, Dest, Frame, FrameKind, Message};

const TREE: &[(&str, &str)] = &[("rml_base_radix", "2")];

/// A DVM that is up, with a tree of radix 2.
//            0
//        1       2
//      3   4   5   6
//     7 8  9
fn ten() -> Cluster {
    let mut dvm = Cluster::build(10, TREE, true);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    dvm
}

fn on_nodes(program: &str, nodes: &[&str]) -> JobSpec {
    let mut spec = job(program, nodes.len() as u32);
    spec.apps[0].hosts.hosts = nodes.iter().map(|name| HostRef::Host(HostEntry::named(name))).collect();
    spec
}

/// The parents of the daemons after all that has happened.
fn links(dvm: &Cluster) -> Vec<(u32, u32)> {
    dvm.links().map(|(a, b)| (a.0, b.0)).collect()
}

#[test]
fn the_children_of_a_dead_daemon_hang_on_its_parent_and_jobs_elsewhere_go_on() {
    let mut dvm = ten();
    dvm.submit(1, Submission::of(on_nodes("there", &["n9", "n6"])));
    dvm.crash(1);
    assert_eq!(links(&dvm), [(0, 2), (0, 3), (0, 4), (2, 5), (2, 6), (3, 7), (3, 8), (4, 9)]);
    assert_eq!(dvm.running.len(), 2, "it had no process there");
    assert!(dvm.notices.iter().any(|n| n.contains("n1")), "{:?}", dvm.notices);
    dvm.ask(9, Request::Nodes);
    let Reply::Nodes(nodes) = dvm.reply(9) else { panic!("nodes") };
    assert_eq!(nodes.iter().filter(|node| node.state == "lost").map(|node| &node.name).collect::<Vec<_>>(), ["n1"]);
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
    dvm.submit(2, Submission::of(on_nodes("next", &["n3", "n4", "n7"])));
    dvm.exit_job(2);
    assert_eq!(dvm.code_of(2), 0);
}

#[test]
fn a_job_that_had_a_process_on_the_dead_daemons_node_ends_with_a_message_that_names_it() {
    let mut dvm = ten();
    dvm.submit(1, Submission::of(on_nodes("a.out", &["n4", "n8"])));
    dvm.crash(4);
    assert_eq!(dvm.code_of(1), 1);
    assert!(dvm.notices.iter().any(|n| n.contains("n4") && n.contains("Job 1")), "{:?}", dvm.notices);
    assert!(dvm.running.is_empty(), "the other one was ended");
    // The node is not offered any more.
    dvm.submit(2, Submission::of(on_nodes("a.out", &["n4"])));
    assert!(matches!(dvm.reply(2), Reply::Done(done) if done.exit_code != 0));
}

#[test]
fn a_recoverable_job_goes_on_without_the_processes_of_a_dead_daemon() {
    let mut spec = on_nodes("a.out", &["n4", "n9", "n8"]);
    spec.options.recoverable = true;
    let mut dvm = ten();
    dvm.submit(1, Submission::of(spec));
    dvm.crash(4);
    assert_eq!(dvm.running.len(), 2, "also on the node below the dead daemon");
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 1, "the first failure is its result");
}

#[test]
fn what_a_daemon_ends_because_it_ends_itself_is_lost_with_it() {
    for lone in [false, true] {
        let mut dvm = ten();
        let nodes = if lone { &["n4"][..] } else { &["n4", "n8"] };
        dvm.submit(1, Submission::of(on_nodes("a.out", nodes)));
        dvm.input(DaemonRank(4), Input::Terminate { cause: "signal 15".to_owned() });
        dvm.run();
        assert_eq!((dvm.code_of(1), dvm.running.len()), (1, 0));
        let of_job: Vec<&String> = dvm.notices.iter().filter(|notice| notice.contains("Job 1")).collect();
        assert!(of_job.len() == 1 && of_job[0].contains("daemon on node n4 was lost"), "{:?}", dvm.notices);
        assert!(dvm.transitions.contains(&"1 COMM_FAILED".to_owned()), "{:?}", dvm.transitions);
    }
}

/// A process is over when it was reaped and its output is through (spec L24).
#[test]
fn what_ended_before_its_daemon_was_told_to_end_keeps_its_own_end() {
    let mut dvm = ten();
    let (first, second) = (common::proc(0), common::proc(1));
    dvm.submit(1, Submission::of(on_nodes("a.out", &["n4", "n4"])));
    dvm.exit(first, ExitStatus::Exited(0));
    // The other one has ended badly; something that it started holds its output.
    dvm.running.remove(&second);
    dvm.input(DaemonRank(4), Input::Daemon(DaemonInput::Exited { proc: second, status: ExitStatus::Exited(7) }));
    dvm.input(DaemonRank(4), Input::Terminate { cause: "signal 15".to_owned() });
    for stream in [ferrite_wire::Stream::Stdout, ferrite_wire::Stream::Stderr] {
        dvm.input(DaemonRank(4), Input::Daemon(DaemonInput::OutputClosed { proc: second, stream }));
    }
    dvm.run();
    assert_eq!(dvm.code_of(1), 7);
}

fn patient(spec: JobSpec) -> Submission {
    Submission { wait_for_slots: true, ..Submission::of(spec) }
}

#[test]
fn a_job_that_waits_and_does_not_fit_after_a_loss_is_refused_and_holds_nobody_up() {
    let params = [TREE, &[("ferrite_backfill", "0")]].concat();
    let mut dvm = Cluster::build(10, &params, true);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    dvm.submit(1, Submission::of(on_nodes("a.out", &["n0"])));
    dvm.submit(2, patient(job("all", 40)));
    dvm.submit(3, patient(job("less", 36)));
    dvm.submit(4, patient(on_nodes("there", &["n5"])));
    dvm.submit(5, patient(job("all", 40)));
    dvm.submit(6, patient(job("one", 1)));
    assert_eq!(dvm.running.len(), 1);
    dvm.crash(5);
    for id in [2, 4, 5] {
        assert_eq!(dvm.code_of(id), 1);
    }
    assert!(dvm.notices.iter().any(|notice| notice.contains("slots") && notice.contains("40")), "{:?}", dvm.notices);
    assert_eq!(dvm.running.len(), 1, "who fits in the end keeps its turn");
    dvm.exit_job(1);
    dvm.exit_job(3);
    dvm.exit_job(6);
    assert_eq!([1, 3, 6].map(|id| dvm.code_of(id)), [0, 0, 0]);
}

#[test]
fn a_whole_branch_that_dies_at_once_is_repaired_around() {
    let mut dvm = ten();
    dvm.crash_all(&[1, 3, 7]);
    dvm.fire(0, Timer::Head(HeadTimer::Deaths));
    assert_eq!(links(&dvm), [(0, 2), (0, 4), (0, 8), (2, 5), (2, 6), (4, 9)]);
    dvm.submit(1, Submission::of(on_nodes("next", &["n8", "n9"])));
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
}

#[test]
fn a_cut_link_between_two_living_daemons_is_made_again_and_costs_nobody_anything() {
    let mut dvm = ten();
    dvm.submit(1, Submission::of(on_nodes("a.out", &["n3", "n7", "n9"])));
    let notices = dvm.notices.len();
    dvm.cut(1, 3);
    assert_eq!(links(&dvm).len(), 9);
    assert_eq!(dvm.notices.len(), notices);
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
}

/// The end of a process goes up as far as daemon 3, and no further.
fn with_a_lost_end() -> Cluster {
    let mut dvm = ten();
    dvm.submit(1, Submission::of(on_nodes("a.out", &["n7"])));
    dvm.losing(3, 1);
    dvm.exit_job(1);
    dvm.keep_nothing_back();
    assert!(dvm.replies.iter().all(|(id, _)| id.0 != 1), "it was lost");
    dvm
}

#[test]
fn what_was_on_its_way_over_a_cut_link_arrives_as_soon_as_there_is_another() {
    let mut dvm = with_a_lost_end();
    dvm.cut(1, 3);
    assert_eq!(dvm.code_of(1), 0);
}

#[test]
fn what_was_lost_without_a_trace_is_asked_for_and_arrives_once() {
    let mut dvm = with_a_lost_end();
    dvm.fire(7, Timer::Link(LinkTimer::Probe));
    assert_eq!(dvm.code_of(1), 0);
}

#[test]
fn a_fence_with_a_participant_on_a_dead_daemon_fails_everywhere_with_one_error() {
    let mut spec = on_nodes("mpi", &["n3", "n4", "n6"]);
    spec.options.recoverable = true;
    let mut dvm = ten();
    dvm.submit(1, Submission::of(spec));
    dvm.fence(3, 33, b"three");
    dvm.crash(4);
    dvm.fence(6, 66, b"six");
    let answers: Vec<_> = dvm
        .pmix
        .iter()
        .filter_map(|(_, effect)| match effect {
            PmixEffect::Reply { token, result } => Some((*token, result.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(
        answers,
        [(PmixToken(33), Err(PMIX_ERR_LOST_CONNECTION)), (PmixToken(66), Err(PMIX_ERR_LOST_CONNECTION))]
    );
}

#[test]
fn a_fence_whose_relay_is_lost_completes() {
    let mut dvm = ten();
    dvm.submit(1, Submission::of(on_nodes("mpi", &["n7", "n6"])));
    dvm.fence(7, 77, b"seven");
    dvm.crash_all(&[1, 3]);
    dvm.fire(0, Timer::Head(HeadTimer::Deaths));
    dvm.fence(6, 66, b"six");
    let good = dvm
        .pmix
        .iter()
        .filter(|(_, effect)| matches!(effect, PmixEffect::Reply { result: Ok(all), .. } if all.len() == 8));
    assert_eq!(good.count(), 2);
}

#[test]
fn a_frozen_daemon_that_comes_back_after_its_death_is_told_to_leave_and_does() {
    let mut dvm = ten();
    dvm.submit(1, Submission::of(on_nodes("a.out", &["n3"])));
    let frozen = dvm.freeze(3);
    assert_eq!(dvm.code_of(1), 1);
    assert_eq!(links(&dvm), [(0, 1), (0, 2), (1, 4), (1, 7), (1, 8), (2, 5), (2, 6), (4, 9)]);
    dvm.thaw(frozen);
    assert!(dvm.exits.contains_key(&DaemonRank(3)));
    assert!(dvm.running.is_empty());
}

/// The first message of a daemon that is linked again is there before anybody can have closed the link.
#[test]
fn nobody_obeys_a_daemon_that_was_declared_dead() {
    let mut dvm = ten();
    dvm.submit(1, Submission::of(on_nodes("a.out", &["n4"])));
    dvm.crash(1);
    let (dead, below) = (DaemonRank(1), DaemonRank(4));
    dvm.input(below, Input::Link(LinkInput::LinkUp { peer: dead }));
    let payload = Message::Daemon(DaemonMessage::Exit).encode();
    let frame = Frame { dest: Dest::One(below), origin: dead, kind: FrameKind::Direct, payload };
    dvm.input(below, Input::Link(LinkInput::Frame { from: dead, frame }));
    dvm.run();
    assert_eq!(dvm.running.len(), 1, "the process below the dead goes on");
    assert!(!dvm.exits.contains_key(&below));
    dvm.exit_job(1);
    assert_eq!(dvm.code_of(1), 0);
}

/// Without the head nobody stays (spec L38).
#[test]
fn the_end_of_the_head_ends_every_daemon_and_process() {
    let mut dvm = ten();
    dvm.submit(1, Submission::of(on_nodes("a.out", &["n1", "n5", "n9"])));
    dvm.crash(0);
    dvm.assert_gone();
}

/// Daemons leave bottom-up (spec L37).
#[test]
fn a_dvm_that_has_lost_daemons_ends_in_order() {
    let mut dvm = ten();
    dvm.crash_all(&[2, 5]);
    dvm.fire(0, Timer::Head(HeadTimer::Deaths));
    dvm.ask(1, Request::Terminate);
    dvm.assert_gone();
    assert_eq!(dvm.exits.get(&DaemonRank::HEAD), Some(&0));
}

#[test]
fn the_metrics_count_losses_and_repairs() {
    let mut dvm = ten();
    dvm.crash_all(&[1, 9]);
    dvm.fire(0, Timer::Head(HeadTimer::Deaths));
    dvm.ask(1, Request::Metrics);
    let Reply::Metrics(metrics) = dvm.reply(1) else { panic!("metrics") };
    assert_eq!((metrics.daemons_lost, metrics.repairs), (2, 2));
}
