//! Clients on other nodes than the head's: their bytes go to the head and back, within a window, and nobody waits for
//! one of them.

mod common;

use bytes::Bytes;
use common::{Cluster, job};
use ferrite_core::{DaemonInput, DaemonTimer, HeadTimer, Input, RelayEffect, RelayId, RelayInput, RequestId, Timer};
use ferrite_types::*;
use ferrite_wire::control::{Request, Submission};
use ferrite_wire::{ResizeRequest, Served, ShrinkRequest, Stream};

const WINDOW: usize = 256 * 1024;

/// A DVM of three nodes that lets clients in everywhere.
fn dvm() -> Cluster {
    let served = Served { pid: 1, host: "n0".to_owned(), started_s: 1, batch: None, system: false };
    let config = ferrite_core::HeadConfig { served: Some(served), ..Cluster::config(3, &[], true) };
    let mut dvm = Cluster::of(config);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    dvm
}

fn client(daemon: u32) -> RelayId {
    RelayId { daemon: DaemonRank(daemon), number: 1 }
}

fn tell(dvm: &mut Cluster, at: u32, input: RelayInput) {
    dvm.input(DaemonRank(at), Input::Relay(input));
    dvm.run();
}

/// The effects that were wanted at a node since this was called before.
fn wanted(dvm: &mut Cluster, at: u32) -> Vec<RelayEffect> {
    dvm.relayed.extract_if(.., |(node, _)| node.0 == at).map(|(_, effect)| effect).collect()
}

/// A client on this node that the head serves; what was wanted for that is taken.
fn with_client(daemon: u32) -> Cluster {
    let mut dvm = dvm();
    wanted(&mut dvm, daemon);
    tell(&mut dvm, daemon, RelayInput::Came(client(daemon)));
    let limit = 64 * 1024;
    assert_eq!(wanted(&mut dvm, daemon), [RelayEffect::Read { client: client(daemon), limit }]);
    let served = [RelayEffect::Serve(client(daemon)), RelayEffect::Read { client: client(daemon), limit }];
    assert_eq!(wanted(&mut dvm, 0), served);
    dvm
}

#[test]
fn each_daemon_lets_clients_in_once_it_has_its_place_and_the_head_needs_no_other_door() {
    let mut dvm = dvm();
    for at in [1, 2] {
        assert!(matches!(&wanted(&mut dvm, at)[..], [RelayEffect::Listen(served)] if served.host == "n0"));
    }
    assert_eq!(wanted(&mut dvm, 0), []);
    let mut private = Cluster::persistent(2);
    assert_eq!(wanted(&mut private, 1), [], "nobody was to be served");
}

/// Bytes of a client elsewhere (spec L40).
#[test]
fn bytes_go_to_the_head_and_back_and_the_end_behind_them() {
    let mut dvm = with_client(2);
    let (one, client) = (Bytes::from_static(b"question"), client(2));
    tell(&mut dvm, 2, RelayInput::Read { client, data: one.clone() });
    assert_eq!(wanted(&mut dvm, 0), [RelayEffect::Write { client, data: one }]);
    let answer = Bytes::from_static(b"answer");
    tell(&mut dvm, 0, RelayInput::Read { client, data: answer.clone() });
    assert!(wanted(&mut dvm, 2).contains(&RelayEffect::Write { client, data: answer }));
    tell(&mut dvm, 2, RelayInput::Ended(client));
    assert_eq!(wanted(&mut dvm, 2), [RelayEffect::Close(client)]);
    assert_eq!(wanted(&mut dvm, 0).last(), Some(&RelayEffect::Close(client)));
}

#[test]
fn what_is_not_taken_at_one_end_is_not_read_at_the_other_beyond_the_window() {
    for (reads, writes) in [(2, 0), (0, 2)] {
        let mut dvm = with_client(2);
        let client = client(2);
        let mut sent = 0;
        let mut limit = 64 * 1024;
        while limit > 0 {
            tell(&mut dvm, reads, RelayInput::Read { client, data: Bytes::from(vec![0; limit]) });
            sent += limit;
            limit = wanted(&mut dvm, reads)
                .iter()
                .map(|effect| match effect {
                    RelayEffect::Read { limit, .. } => *limit,
                    _ => 0,
                })
                .sum();
        }
        assert_eq!(sent, WINDOW);
        wanted(&mut dvm, writes);
        tell(&mut dvm, writes, RelayInput::Written { client, bytes: 10 });
        assert_eq!(wanted(&mut dvm, reads), [RelayEffect::Read { client, limit: 10 }], "as much as was taken");
    }
}

#[test]
fn a_client_of_a_daemon_that_is_lost_is_gone_for_the_head_too() {
    let mut dvm = with_client(2);
    dvm.crash(2);
    dvm.fire(0, Timer::Head(HeadTimer::Deaths));
    assert_eq!(wanted(&mut dvm, 0), [RelayEffect::Close(client(2))]);
}

/// A daemon waits for its clients' last words (spec L40).
#[test]
fn a_daemon_leaves_a_shrinking_dvm_when_its_clients_were_told_all_and_the_rest_serve_on() {
    let mut dvm = with_client(2);
    let shrink = ShrinkRequest { nodes: vec!["n2".to_owned()], wait: true, ..ShrinkRequest::default() };
    dvm.ask(1, Request::Resize(Box::new(ResizeRequest::Shrink(shrink))));
    assert_eq!(wanted(&mut dvm, 0), [RelayEffect::Finish(client(2))]);
    assert!(!dvm.exits.contains_key(&DaemonRank(2)), "its client has not heard the last");
    tell(&mut dvm, 0, RelayInput::Ended(client(2)));
    assert_eq!(dvm.exits.get(&DaemonRank(2)), Some(&0));
    dvm.reply(1);
    tell(&mut dvm, 1, RelayInput::Came(client(1)));
    assert!(wanted(&mut dvm, 0).contains(&RelayEffect::Serve(client(1))));
}

#[test]
fn the_end_of_the_dvm_is_told_to_clients_elsewhere_when_the_last_job_is_over() {
    let mut dvm = with_client(2);
    dvm.submit(7, Submission::of(job("a", 3)));
    // Something holds the output of its processes open.
    dvm.pipes_stay_open = true;
    let procs: Vec<_> = dvm.running.iter().map(|(proc, (at, _))| (*at, *proc)).collect();
    dvm.ask(8, Request::Terminate);
    assert_eq!(wanted(&mut dvm, 0), [], "the job is not over yet");
    for (at, proc) in procs {
        for stream in [Stream::Stdout, Stream::Stderr] {
            dvm.input(at, Input::Daemon(DaemonInput::OutputClosed { proc, stream }));
        }
    }
    dvm.run();
    dvm.reply(7);
    assert_eq!(wanted(&mut dvm, 0), [RelayEffect::Finish(client(2))]);
    wanted(&mut dvm, 2);
    tell(&mut dvm, 0, RelayInput::Ended(client(2)));
    assert_eq!(wanted(&mut dvm, 2), [], "its connection ends with the daemon");
    dvm.assert_gone();
}

#[test]
fn a_client_that_reads_nothing_does_not_hold_the_daemon_that_leaves() {
    let mut dvm = with_client(2);
    let client = client(2);
    tell(&mut dvm, 0, RelayInput::Read { client, data: Bytes::from_static(b"unread") });
    dvm.ask(1, Request::Terminate);
    assert!(!dvm.exits.contains_key(&DaemonRank(2)));
    dvm.fire(2, Timer::Daemon(DaemonTimer::LastWords));
    assert!(dvm.exits.contains_key(&DaemonRank(2)));
}

#[test]
fn who_comes_to_a_daemon_that_leaves_is_turned_away() {
    let mut dvm = with_client(2);
    dvm.ask(1, Request::Terminate);
    let late = RelayId { number: 2, ..client(2) };
    wanted(&mut dvm, 2);
    tell(&mut dvm, 2, RelayInput::Came(late));
    assert_eq!(wanted(&mut dvm, 2), [RelayEffect::Close(late)]);
}

#[test]
fn words_about_a_client_that_nobody_knows_change_nothing() {
    let mut dvm = dvm();
    for at in [0, 1] {
        wanted(&mut dvm, at);
        tell(&mut dvm, at, RelayInput::Read { client: client(1), data: Bytes::from_static(b"x") });
        tell(&mut dvm, at, RelayInput::Written { client: client(1), bytes: 1 });
        tell(&mut dvm, at, RelayInput::Ended(client(1)));
        assert_eq!(wanted(&mut dvm, at), []);
    }
    assert!(!dvm.replies.iter().any(|(id, _)| *id == RequestId(1)));
}
