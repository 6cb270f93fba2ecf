//! PMIx groups: made and ended by all of their members, or by none.

mod common;

use bytes::Bytes;
use common::{Cluster, job, proc};
use ferrite_core::{DaemonInput, DaemonTimer, HeadTimer, Input, PmixCall, PmixEffect, PmixToken, Timer};
use ferrite_types::pmix_status::{
    PMIX_ERR_BAD_PARAM, PMIX_ERR_EXISTS, PMIX_ERR_LOST_CONNECTION, PMIX_ERR_NOT_SUPPORTED, PMIX_ERR_TIMEOUT,
};
use ferrite_types::*;
use ferrite_wire::{CollectiveKind, EventInfo, GroupBuilt, GroupEntry, GroupPart, GroupRole, Members};

/// One process on each of that many nodes; the job goes on after failures.
fn cluster(count: u32) -> Cluster {
    let options = RuntimeOptions { continuous: true, ..RuntimeOptions::default() };
    Cluster::with_job(count, &[("rml_base_radix", "2")], JobSpec { options, ..job("a.out", count) })
}

fn make(dvm: &mut Cluster, at: u32, name: &str, ranks: &[u32], token: u64) {
    let members = Members::of(JobId(1), ranks.iter().copied().map(Rank).collect());
    let data = Bytes::copy_from_slice(&[at as u8]);
    let part = GroupPart { notify: true, infos: data.clone(), data };
    let (name, token) = (name.to_owned(), PmixToken(token));
    let call = PmixCall::GroupConstruct { name, members, part, token };
    dvm.input(DaemonRank(at), Input::Daemon(DaemonInput::Pmix(call)));
}

/// An answer at a daemon: the number of the group and the bytes of its data, or the status.
type Answer = (u32, Result<(u64, usize), PmixStatus>);

/// The answers to this token, at each daemon.
fn answers(dvm: &Cluster, token: u64) -> Vec<Answer> {
    let answer = |(at, effect): &(DaemonRank, PmixEffect)| match effect {
        PmixEffect::Reply { token: of, result } if of.0 == token => {
            let built = |bytes: &Bytes| GroupBuilt::decode(bytes).map(|built| (built.context, built.data.len()));
            Some((at.0, result.as_ref().map(|bytes| built(bytes).expect("a group")).map_err(|status| *status)))
        }
        _ => None,
    };
    let mut all: Vec<_> = dvm.pmix.iter().filter_map(answer).collect();
    all.sort_unstable();
    all
}

/// Two groups of the same members are told apart by their names (spec L63).
#[test]
fn the_members_of_a_group_get_one_number_and_the_data_of_all() {
    let mut dvm = cluster(4);
    for (at, order) in [(0, ["a", "b"]), (1, ["b", "a"]), (3, ["a", "b"])] {
        order.iter().for_each(|name| make(&mut dvm, at, name, &[0, 1, 3], if *name == "a" { 1 } else { 2 }));
    }
    dvm.run();
    let (first, second) = (answers(&dvm, 1), answers(&dvm, 2));
    let number = |all: &[Answer]| all[0].1.expect("it is made").0;
    for (all, number) in [(&first, number(&first)), (&second, number(&second))] {
        assert_eq!(*all, [0, 1, 3].map(|at| (at, Ok((number, 3)))));
    }
    assert_ne!(number(&first), number(&second));
}

/// The limit of one member ends the attempt for all, and for those that come later (spec L63).
#[test]
fn a_group_that_misses_a_member_is_made_for_nobody() {
    let mut dvm = cluster(3);
    make(&mut dvm, 0, "a", &[], 1);
    make(&mut dvm, 1, "a", &[], 1);
    let limit = PmixCall::Limit { token: PmixToken(1), limit: Duration::from_secs(1) };
    dvm.input(DaemonRank(1), Input::Daemon(DaemonInput::Pmix(limit)));
    dvm.run();
    dvm.fire(1, Timer::Daemon(DaemonTimer::CallLimit(PmixToken(1))));
    dvm.run();
    make(&mut dvm, 2, "a", &[], 1);
    dvm.run();
    assert_eq!(answers(&dvm, 1), [0, 1, 2].map(|at| (at, Err(PMIX_ERR_TIMEOUT))));

    make(&mut dvm, 0, "b", &[], 2);
    dvm.run();
    dvm.exit_proc(2, ExitStatus::Signaled(Signal::KILL));
    make(&mut dvm, 1, "b", &[], 2);
    dvm.run();
    assert_eq!(answers(&dvm, 2), [0, 1].map(|at| (at, Err(PMIX_ERR_LOST_CONNECTION))));
}

/// A node whose library has given an attempt up ends it for all, also for those without a limit (spec L141).
#[test]
fn an_attempt_that_one_node_gives_up_ends_for_all_and_for_who_comes_later() {
    let mut dvm = cluster(3);
    let gives_up = |dvm: &mut Cluster, name: &str, token| {
        let (kind, members) = (CollectiveKind::GroupConstruct(name.to_owned()), Members::of(JobId(1), Vec::new()));
        let call = PmixCall::GiveUp { kind, members, status: PMIX_ERR_NOT_SUPPORTED, token: PmixToken(token) };
        dvm.input(DaemonRank(1), Input::Daemon(DaemonInput::Pmix(call)));
    };
    make(&mut dvm, 0, "a", &[], 1);
    gives_up(&mut dvm, "a", 1);
    dvm.run();
    make(&mut dvm, 2, "a", &[], 1);
    dvm.run();
    assert_eq!(answers(&dvm, 1), [0, 1, 2].map(|at| (at, Err(PMIX_ERR_NOT_SUPPORTED))));

    // A member that enters later hears why, and the next attempt is another one.
    gives_up(&mut dvm, "b", 2);
    dvm.run();
    make(&mut dvm, 0, "b", &[], 2);
    make(&mut dvm, 2, "b", &[], 2);
    (0..3).for_each(|at| make(&mut dvm, at, "b", &[], 3));
    dvm.run();
    assert_eq!(answers(&dvm, 2), [0, 1, 2].map(|at| (at, Err(PMIX_ERR_NOT_SUPPORTED))));
    assert!(answers(&dvm, 3).iter().all(|(_, result)| result.is_ok()) && answers(&dvm, 3).len() == 3);
}

/// They have asked for it when they made the group (spec L64).
#[test]
fn the_members_hear_of_the_end_of_one() {
    let mut dvm = cluster(3);
    (0..3).for_each(|at| make(&mut dvm, at, "a", &[], 1));
    dvm.run();
    dvm.exit_proc(2, ExitStatus::Signaled(Signal::KILL));
    dvm.run();
    let told = dvm.pmix.iter().filter_map(|(at, effect)| match effect {
        PmixEffect::Event { event, to, .. } if !to.is_empty() => {
            assert_eq!(event.info, EventInfo::Member { group: "a".to_owned(), proc: proc(2) });
            Some(at.0)
        }
        _ => None,
    });
    let mut told: Vec<u32> = told.collect();
    told.sort_unstable();
    assert_eq!(told, [0, 1]);
}

/// Calls for a group whose members do not know each other. `None` = a follower calls.
fn enter(dvm: &mut Cluster, at: u32, leads: Option<(u64, &[u32])>, leaves_out: bool, token: u64) {
    let role = leads.map_or(GroupRole::Follower, |(leaders, more)| {
        let more: Vec<Rank> = more.iter().copied().map(Rank).collect();
        let more = if more.is_empty() { Vec::new() } else { vec![(JobId(1), more)] };
        GroupRole::Leader { proc: proc(at), leaders, more }
    });
    let data = Bytes::copy_from_slice(&[at as u8]);
    let part = GroupPart { notify: false, infos: data.clone(), data };
    let (group, limit) = ("a".to_owned(), Some(Duration::from_secs(5)));
    let entry = Box::new(GroupEntry { group, role, leaves_out, limit, part });
    let call = PmixCall::GroupEntry { entry, token: PmixToken(token) };
    dvm.input(DaemonRank(at), Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
}

fn members(dvm: &Cluster, token: u64) -> Vec<u32> {
    let built = dvm.pmix.iter().find_map(|(_, effect)| match effect {
        PmixEffect::Reply { token: of, result: Ok(bytes) } if of.0 == token => GroupBuilt::decode(bytes),
        _ => None,
    });
    built.expect("a group").members.iter().map(|proc| proc.rank.0).collect()
}

/// spec L160
#[test]
fn members_that_do_not_know_each_other_make_a_group_when_all_have_come() {
    let mut dvm = cluster(5);
    enter(&mut dvm, 3, None, false, 1);
    enter(&mut dvm, 0, Some((2, &[3, 1])), false, 1);
    assert_eq!(answers(&dvm, 1), []);
    enter(&mut dvm, 1, Some((2, &[])), false, 1);
    let all: Vec<u32> = answers(&dvm, 1).iter().map(|(at, _)| *at).collect();
    assert_eq!((all, members(&dvm, 1)), (vec![0, 1, 3], vec![0, 1, 3]));
    assert!(answers(&dvm, 1).iter().all(|(_, result)| *result == Ok((1, 3))));
    enter(&mut dvm, 4, Some((2, &[])), false, 2);
    assert_eq!(answers(&dvm, 2), [(4, Err(PMIX_ERR_EXISTS))], "one leader more than there are to be");
}

/// spec L160
#[test]
fn leaders_that_do_not_agree_or_do_not_come_make_a_group_for_nobody() {
    let mut dvm = cluster(4);
    enter(&mut dvm, 0, Some((3, &[2])), false, 1);
    enter(&mut dvm, 0, Some((3, &[])), false, 2);
    assert_eq!(answers(&dvm, 2), [(0, Err(PMIX_ERR_EXISTS))], "it has called already");
    enter(&mut dvm, 1, Some((2, &[])), false, 1);
    enter(&mut dvm, 2, None, false, 1);
    enter(&mut dvm, 3, Some((3, &[])), false, 1);
    let bad = Err(PMIX_ERR_BAD_PARAM);
    assert_eq!(answers(&dvm, 1), [0, 1, 2, 3].map(|at| (at, bad)), "who comes late hears the same");

    enter(&mut dvm, 0, Some((2, &[2])), false, 3);
    dvm.fire(0, Timer::Head(HeadTimer::Assembly(2)));
    dvm.run();
    enter(&mut dvm, 1, Some((2, &[])), false, 3);
    enter(&mut dvm, 2, None, false, 3);
    assert_eq!(answers(&dvm, 3), [0, 1, 2].map(|at| (at, Err(PMIX_ERR_TIMEOUT))));
    enter(&mut dvm, 0, Some((1, &[])), false, 4);
    assert_eq!(members(&dvm, 4), [0], "the name is free again");
}

/// spec L160
#[test]
fn a_process_that_ends_before_it_comes_fails_the_group_or_is_left_out() {
    for leaves_out in [false, true] {
        let mut dvm = cluster(4);
        enter(&mut dvm, 0, Some((1, &[2, 3])), leaves_out, 1);
        enter(&mut dvm, 3, None, false, 1);
        dvm.exit_proc(2, ExitStatus::Signaled(Signal::KILL));
        dvm.run();
        match leaves_out {
            true => assert_eq!(members(&dvm, 1), [0, 3]),
            false => assert_eq!(answers(&dvm, 1), [0, 3].map(|at| (at, Err(PMIX_ERR_LOST_CONNECTION)))),
        }
        enter(&mut dvm, 1, Some((2, &[])), leaves_out, 2);
        dvm.exit_proc(1, ExitStatus::Signaled(Signal::KILL));
        dvm.run();
        assert!(!dvm.timers.iter().any(|(_, timer)| matches!(timer, Timer::Head(HeadTimer::Assembly(_)))));
    }
}

/// A member that has left is not one of those that end the group (spec L161).
#[test]
fn a_process_that_leaves_a_group_is_no_longer_a_member() {
    let mut dvm = cluster(3);
    (0..3).for_each(|at| make(&mut dvm, at, "a", &[], 1));
    dvm.run();
    let left = PmixCall::GroupLeft { proc: proc(2), group: "a".to_owned() };
    dvm.input(DaemonRank(2), Input::Daemon(DaemonInput::Pmix(left)));
    dvm.run();
    dvm.exit_proc(2, ExitStatus::Signaled(Signal::KILL));
    dvm.run();
    let told = |(_, effect): &(DaemonRank, PmixEffect)| {
        matches!(effect, PmixEffect::Event { event, to, .. }
            if !to.is_empty() && matches!(event.info, EventInfo::Member { .. }))
    };
    assert!(!dvm.pmix.iter().any(told), "it has left before its end");
}
