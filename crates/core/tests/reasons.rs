//! The head's reasons why jobs wait are true when it gives them.
#![allow(clippy::missing_panics_doc, reason = "tests")]

mod common;

use common::*;
use ferrite_core::{HeadTimer, Input, Timer};
use ferrite_types::*;
use ferrite_wire::control::{Reply, Request, Submission};
use ferrite_wire::{ResizeRequest, ShrinkRequest};

fn waits_for(dvm: &mut Cluster, id: u64, job: u32) -> String {
    dvm.ask(id, Request::Jobs);
    match dvm.reply(id) {
        Reply::Jobs(jobs) => jobs.iter().find(|status| status.job.0 == job).expect("it is known").waiting_for.clone(),
        other => panic!("no jobs: {other:?}"),
    }
}

#[test]
fn a_job_that_has_its_place_does_not_wait_for_it() {
    let mut dvm = Cluster::build(2, &[("ferrite_debug_prep_ms", "500")], true);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    dvm.submit(1, Submission::of(job("a.out", 2)));
    assert_eq!(waits_for(&mut dvm, 2, 1), "its launch to be prepared");
    dvm.fire(0, Timer::Head(HeadTimer::Prep(JobId(1))));
    assert_eq!(waits_for(&mut dvm, 3, 1), "2 of 2 processes to end (ranks 0, 1)");
}

#[test]
fn a_job_that_is_to_start_where_a_daemon_leaves_names_that_node() {
    let mut dvm = Cluster::build(3, &[("prte_elastic_mode", "1")], true);
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
    let _held = dvm.freeze_quietly(2);
    let mut spec = job("a.out", 3);
    spec.map.by = Some(MapBy::Node);
    dvm.submit(1, Submission::of(spec));
    assert_eq!(waits_for(&mut dvm, 2, 1), "n2 to start its processes");
    let request = ShrinkRequest { nodes: vec!["n2".to_owned()], ..ShrinkRequest::default() };
    dvm.ask(3, Request::Resize(Box::new(ResizeRequest::Shrink(request))));
    assert_eq!(waits_for(&mut dvm, 4, 1), "n2 to start its processes");
}
