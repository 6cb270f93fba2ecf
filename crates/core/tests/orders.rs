//! Orders of processes and tools for processes (`PMIx_Job_control`).

mod common;

use common::Cluster;
use common::elastic::on;
use ferrite_core::{DaemonInput, Input, PmixCall, PmixEffect, PmixToken};
use ferrite_types::pmix_status::PMIX_ERR_NOT_FOUND as NOT_FOUND;
use ferrite_types::*;
use ferrite_wire::ControlOrder;

fn of(job: u32, rank: u32) -> ProcId {
    ProcId { job: JobId(job), rank: Rank(rank) }
}

/// Gives an order at a daemon; `None` = a tool does. Returns the answer.
fn give(dvm: &mut Cluster, at: u32, by: Option<ProcId>, order: ControlOrder) -> Result<(), PmixStatus> {
    let token = PmixToken(dvm.pmix.len() as u64);
    let call = PmixCall::Control { by, order: Box::new(order), token };
    dvm.input(DaemonRank(at), Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
    let reply = dvm.pmix.iter().find_map(|(_, effect)| match effect {
        PmixEffect::Reply { token: of, result } if *of == token => Some(result.clone()),
        _ => None,
    });
    reply.expect("it is answered").map(drop)
}

fn signal(job: u32, ranks: &[u32], signal: Signal) -> ControlOrder {
    let ranks = ranks.iter().copied().map(Rank).collect();
    ControlOrder::Signal { targets: vec![(JobId(job), ranks)], signal }
}

/// spec L45
#[test]
fn an_order_is_for_the_ranks_that_it_names_or_for_whole_jobs() {
    let mut dvm = Cluster::persistent(4);
    dvm.submit(1, on("a", &["n1", "n2"]));
    dvm.submit(2, on("a", &["n3"]));
    let by = Some(of(1, 0));
    assert_eq!(give(&mut dvm, 1, by, signal(1, &[1], Signal::STOP)), Ok(()));
    assert_eq!(give(&mut dvm, 1, by, signal(2, &[], Signal::CONT)), Ok(()));
    assert_eq!(give(&mut dvm, 2, None, signal(1, &[0], Signal(10))), Ok(()));
    let expected = [(of(1, 1), Signal::STOP), (of(2, 0), Signal::CONT), (of(1, 0), Signal(10))];
    assert_eq!(dvm.signals, expected);
    assert_eq!(give(&mut dvm, 1, by, signal(1, &[2], Signal::STOP)), Err(NOT_FOUND));
    assert_eq!(give(&mut dvm, 1, by, signal(9, &[], Signal::STOP)), Err(NOT_FOUND));
    assert_eq!(dvm.signals.len(), expected.len(), "an order that is refused changes nothing");
}

/// spec L45
#[test]
fn a_job_is_ended_by_request_and_its_submitter_reads_of_whom() {
    let mut dvm = Cluster::persistent(3);
    dvm.submit(1, on("a", &["n1"]));
    dvm.submit(2, on("a", &["n2"]));
    assert_eq!(give(&mut dvm, 2, Some(of(2, 0)), ControlOrder::End(vec![JobId(1), JobId(7)])), Err(NOT_FOUND));
    assert_eq!(dvm.signals, []);
    assert_eq!(give(&mut dvm, 2, Some(of(2, 0)), ControlOrder::End(vec![JobId(1)])), Ok(()));
    assert!(dvm.notices.iter().any(|text| text.contains("Job 1 was ended by request of rank 0 of job 2")));
    assert_eq!(dvm.code_of(1), 1);
}
