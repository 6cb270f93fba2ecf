//! Limits that callers give to collectives and to requests for another process's data.

mod common;

use bytes::Bytes;
use common::{Cluster, job, proc};
use ferrite_core::{DaemonInput, DaemonTimer, Input, PmixCall, PmixEffect, PmixToken, Timer};
use ferrite_types::pmix_status::PMIX_ERR_TIMEOUT as TIMEOUT;
use ferrite_types::*;
use ferrite_wire::Members;

/// Four nodes with one process each.
fn dvm() -> Cluster {
    let mut spec = job("a.out", 4);
    spec.map.by = Some(MapBy::Node);
    Cluster::with_job(4, &[], spec)
}

fn limit(dvm: &mut Cluster, at: u32, token: u64) {
    let call = PmixCall::Limit { token: PmixToken(token), limit: Duration::from_secs(2) };
    dvm.input(DaemonRank(at), Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
}

fn strikes(dvm: &mut Cluster, at: u32, token: u64) {
    dvm.fire(at, Timer::Daemon(DaemonTimer::CallLimit(PmixToken(token))));
}

fn limits(dvm: &Cluster) -> usize {
    dvm.timers.iter().filter(|(_, timer)| matches!(timer, Timer::Daemon(DaemonTimer::CallLimit(_)))).count()
}

/// Daemon, token and result of each answered call.
fn replies(dvm: &Cluster) -> Vec<(u32, u64, Result<Bytes, PmixStatus>)> {
    let reply = |(at, effect): &(DaemonRank, PmixEffect)| match effect {
        PmixEffect::Reply { token, result } => Some((at.0, token.0, result.clone())),
        _ => None,
    };
    let mut all: Vec<_> = dvm.pmix.iter().filter_map(reply).collect();
    all.sort_unstable();
    all
}

/// The head ends it (spec L154).
#[test]
fn a_limit_of_one_ends_a_fence_everywhere_and_who_enters_later_hears_the_same() {
    let mut dvm = dvm();
    for at in [1, 2, 3] {
        dvm.fence(at, at.into(), b"x");
    }
    limit(&mut dvm, 2, 2);
    assert!(replies(&dvm).is_empty());
    strikes(&mut dvm, 2, 2);
    let expected: Vec<_> = [1, 2, 3].map(|at| (at, u64::from(at), Err(TIMEOUT))).into();
    assert_eq!(replies(&dvm), expected);
    dvm.fence(0, 7, b"x");
    assert_eq!(replies(&dvm)[0], (0, 7, Err(TIMEOUT)));
    // The next one is another fence, and has its own time.
    dvm.pmix.clear();
    for at in 0..4 {
        dvm.fence(at, 10 + u64::from(at), b"y");
    }
    assert!(replies(&dvm).iter().all(|(_, _, result)| *result == Ok("yyyy".into())), "{:?}", replies(&dvm));
    assert_eq!((replies(&dvm).len(), limits(&dvm)), (4, 0));
}

#[test]
fn a_fence_that_is_complete_in_time_has_no_limit_any_more() {
    let mut dvm = dvm();
    for at in 0..3 {
        dvm.fence(at, at.into(), b"x");
        limit(&mut dvm, at, at.into());
    }
    assert_eq!(limits(&dvm), 3);
    dvm.fence(3, 3, b"x");
    limit(&mut dvm, 3, 3);
    assert_eq!((replies(&dvm).len(), limits(&dvm)), (4, 0));
    assert!(replies(&dvm).iter().all(|(_, _, result)| result.is_ok()));
}

#[test]
fn connects_and_disconnects_have_limits_too() {
    for connects in [true, false] {
        let mut dvm = dvm();
        for at in [0, 1] {
            let (members, token) = (Members::of(JobId(1), Vec::new()), PmixToken(at.into()));
            let call = match connects {
                true => PmixCall::Connect { members, token },
                false => PmixCall::Disconnect { members, token },
            };
            dvm.input(DaemonRank(at), Input::Daemon(DaemonInput::Pmix(call)));
            dvm.run();
        }
        limit(&mut dvm, 1, 1);
        strikes(&mut dvm, 1, 1);
        assert_eq!(replies(&dvm), [(0, 0, Err(TIMEOUT)), (1, 1, Err(TIMEOUT))]);
    }
}

#[test]
fn data_that_do_not_come_in_time_are_not_waited_for() {
    let mut dvm = dvm();
    let call = PmixCall::Modex { proc: proc(3), token: PmixToken(5) };
    dvm.input(DaemonRank(1), Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
    limit(&mut dvm, 1, 5);
    strikes(&mut dvm, 1, 5);
    assert_eq!(replies(&dvm), [(1, 5, Err(TIMEOUT))]);
    let fetch = dvm.pmix.iter().find_map(|(at, effect)| match effect {
        PmixEffect::FetchModex { fetch, .. } => Some((*at, *fetch)),
        _ => None,
    });
    let (at, fetch) = fetch.expect("the data were asked for");
    dvm.input(at, Input::Daemon(DaemonInput::Pmix(PmixCall::ModexFetched { fetch, result: Ok("late".into()) })));
    dvm.run();
    assert_eq!(replies(&dvm).len(), 1, "late data answer nothing");
}
