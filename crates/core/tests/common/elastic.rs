//! An elastic DVM in one test, and requests that change its size.

use super::{Cluster, dvm_with, job, resize};
use ferrite_core::RequestId;
use ferrite_types::*;
use ferrite_wire::control::{Reply, Request, Submission};
use ferrite_wire::{AddedHost, GrowRequest, ResizeOutcome, ResizeRequest, ShrinkRequest, SlotChange};

pub const ELASTIC: &[(&str, &str)] = &[("rml_base_radix", "2"), ("prte_elastic_mode", "1")];

/// Exit code of a job whose nodes have left with its processes.
pub const LEFT: u8 = 75;

/// An elastic DVM that is up, with a tree of radix 2.
pub fn dvm(nodes: u32) -> Cluster {
    dvm_with(nodes, ELASTIC)
}

pub fn added(name: &str) -> AddedHost {
    AddedHost { host: HostEntry::named(name), slots: SlotChange::Unstated }
}

pub fn grow(names: &[&str]) -> GrowRequest {
    GrowRequest { hosts: names.iter().map(|name| added(name)).collect(), wait: true, ..GrowRequest::default() }
}

pub fn shrink(names: &[&str]) -> ShrinkRequest {
    let nodes = names.iter().map(|name| (*name).to_owned()).collect();
    ShrinkRequest { nodes, wait: true, ..ShrinkRequest::default() }
}

pub fn ask_grow(dvm: &mut Cluster, id: u64, names: &[&str]) {
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Grow(grow(names)))));
}

pub fn ask_shrink(dvm: &mut Cluster, id: u64, names: &[&str]) {
    dvm.ask(id, Request::Resize(Box::new(ResizeRequest::Shrink(shrink(names)))));
}

pub fn outcome(dvm: &Cluster, id: u64) -> &ResizeOutcome {
    &resize(dvm, id).outcome
}

pub fn failed_with(dvm: &Cluster, id: u64) -> PmixStatus {
    match outcome(dvm, id) {
        ResizeOutcome::Failed { status, .. } => *status,
        other => panic!("it has not failed: {other:?}"),
    }
}

pub fn refused_with(dvm: &Cluster, id: u64) -> PmixStatus {
    match outcome(dvm, id) {
        ResizeOutcome::Refused { status, .. } => *status,
        other => panic!("it was not refused: {other:?}"),
    }
}

pub fn unanswered(dvm: &Cluster, id: u64) -> bool {
    dvm.replies.iter().all(|(request, _)| *request != RequestId(id))
}

/// The tree parent of each daemon.
pub fn links(dvm: &Cluster) -> Vec<(u32, u32)> {
    dvm.links().map(|(a, b)| (a.0, b.0)).collect()
}

pub fn states(dvm: &mut Cluster, id: u64) -> String {
    dvm.ask(id, Request::Nodes);
    let Reply::Nodes(nodes) = dvm.reply(id) else { panic!("nodes") };
    nodes.iter().map(|node| format!("{} {}", node.name, node.state)).collect::<Vec<_>>().join(", ")
}

pub fn on(program: &str, nodes: &[&str]) -> Submission {
    let mut spec = job(program, nodes.len() as u32);
    spec.apps[0].hosts.hosts = nodes.iter().map(|name| HostRef::Host(HostEntry::named(name))).collect();
    Submission::of(spec)
}

pub fn state_of(dvm: &mut Cluster, id: u64, job: u32) -> (JobState, String) {
    dvm.ask(id, Request::Job(JobId(job)));
    let Reply::Job(detail) = dvm.reply(id) else { panic!("a job") };
    (detail.status.state, detail.status.waiting_for.clone())
}
