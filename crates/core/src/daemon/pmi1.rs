//! PMI-1 for MPICH and its relatives, over the collectives that PMIx uses: put data travel with the next barrier, as
//! one delta per daemon. Spawns and names are in `pmi1/asked.rs`.

mod asked;
mod wish;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use bytes::Bytes;
use ferrite_pmi1::{Kvs, Parser, Reply, Request, process_mapping};
use ferrite_types::{JobId, JobMap, ProcId, Rank};
use ferrite_wire::{CollectiveResult, LaunchOrder};

use super::Daemon;
use crate::cx::Cx;
use crate::{Effect, PmixEffect};

/// PMI-1 state of a job on this node; empty until a process uses PMI-1.
#[derive(Debug, Default)]
pub(super) struct Pmi1Job {
    kvs: Option<Kvs>,
    parsers: BTreeMap<Rank, Parser>,
    /// Local processes that wait at the barrier.
    pub(super) at_barrier: BTreeSet<Rank>,
    /// Local processes that wait for an answer of the head.
    asking: BTreeSet<Rank>,
    /// Names that local processes have published.
    names: BTreeSet<(Rank, String)>,
}

impl Pmi1Job {
    /// Forgets what a failed process has left unsaid: its successor begins anew.
    pub(super) fn renew(&mut self, rank: Rank) {
        self.parsers.remove(&rank);
        self.at_barrier.remove(&rank);
        self.asking.remove(&rank);
    }
}

/// A request that waits for the head's answer.
#[derive(Debug)]
pub(super) enum Pmi1Question {
    Spawn,
    Publish(String),
    Unpublish,
    Lookup,
}

/// Facts about its job that a process asks for.
#[derive(Clone, Copy)]
enum Question {
    Appnum,
    KvsName,
    UniverseSize,
}

impl Daemon {
    /// Handles bytes on a process's PMI-1 socket; empty data mean that it closed the socket.
    pub(super) fn on_pmi1(&mut self, proc: ProcId, data: &Bytes, cx: &mut Cx) {
        let Some(job) = self.jobs.get_mut(&proc.job) else { return };
        job.pmi1.parsers.entry(proc.rank).or_default().feed(data);
        // One request at a time, because each may change the job's state.
        while let Some(next) = self.next_request(proc) {
            match next {
                Ok(_) if self.is_asking(proc) => {
                    let message = "it sends a PMI-1 request while another one waits for its answer".to_owned();
                    return self.abort_from(proc, 1, message, cx);
                }
                Ok(request) => self.on_request(proc, request, cx),
                Err(error) => {
                    let message = format!("it does not speak PMI-1 on its PMI socket: {error}");
                    return self.abort_from(proc, 1, message, cx);
                }
            }
        }
    }

    fn next_request(&mut self, proc: ProcId) -> Option<Result<Request, ferrite_pmi1::ParseError>> {
        self.jobs.get_mut(&proc.job)?.pmi1.parsers.get_mut(&proc.rank)?.next_request()
    }

    fn on_request(&mut self, proc: ProcId, request: Request, cx: &mut Cx) {
        match request {
            Request::Init { version, .. } => {
                self.on_client_connected(proc, cx);
                answer(proc, Reply::Init { accepted: version == 1 }, cx);
            }
            Request::Finalize => {
                self.on_client_finalized(proc, cx);
                answer(proc, Reply::Finalized, cx);
            }
            Request::Abort { exit_code, message } => self.abort_from(proc, exit_code, message, cx),
            Request::BarrierIn => self.on_barrier_in(proc, cx),
            Request::GetMaxes => answer(proc, Reply::Maxes, cx),
            Request::Spawn(spawn) => self.on_pmi1_spawn(proc, spawn, cx),
            Request::PublishName { service, port } => self.on_publish_name(proc, service, port, cx),
            Request::UnpublishName { service } => self.on_unpublish_name(proc, service, cx),
            Request::LookupName { service } => self.on_lookup_name(proc, service, cx),
            Request::GetAppnum => self.on_question(proc, Question::Appnum, cx),
            Request::GetMyKvsname => self.on_question(proc, Question::KvsName, cx),
            Request::GetUniverseSize => self.on_question(proc, Question::UniverseSize, cx),
            Request::Put { kvsname, key, value } => self.on_put(proc, &kvsname, key, value, cx),
            Request::Get { kvsname, key } => self.on_get(proc, &kvsname, &key, cx),
        }
    }

    fn on_question(&mut self, proc: ProcId, question: Question, cx: &mut Cx) {
        let job = self.jobs.get(&proc.job).expect("requests come from known jobs");
        let app = job.order.map.procs.get(proc.rank.0 as usize).map_or(0, |p| u32::from(p.app));
        let name = proc.job.nspace(&self.dvm);
        let reply = match question {
            Question::Appnum => Reply::Appnum(app),
            Question::UniverseSize => Reply::UniverseSize(job.order.univ_size),
            Question::KvsName => Reply::MyKvsname(&name),
        };
        answer(proc, reply, cx);
    }

    fn on_put(&mut self, proc: ProcId, kvsname: &str, key: String, value: String, cx: &mut Cx) {
        let known = kvsname == proc.job.nspace(&self.dvm);
        let stored = known && self.kvs(proc.job).is_some_and(|kvs| kvs.put(key, value));
        answer(proc, if stored { Reply::Put } else { Reply::PutRefused }, cx);
    }

    fn on_get(&mut self, proc: ProcId, kvsname: &str, key: &str, cx: &mut Cx) {
        let known = kvsname == proc.job.nspace(&self.dvm);
        let value = self.kvs(proc.job).and_then(|kvs| kvs.get(key)).filter(|_| known);
        answer(proc, value.map_or(Reply::NoSuchKey, Reply::Value), cx);
    }

    fn kvs(&mut self, job: JobId) -> Option<&mut Kvs> {
        let job = self.jobs.get_mut(&job)?;
        Some(job.pmi1.kvs.get_or_insert_with(|| fresh_kvs(&job.order)))
    }

    fn on_barrier_in(&mut self, proc: ProcId, cx: &mut Cx) {
        let job = self.job_mut(proc.job);
        job.pmi1.at_barrier.insert(proc.rank);
        if !job.failed_ranks.is_empty() {
            return self.leave_barrier(proc.job, false, cx);
        }
        if !job.is_at_barrier() {
            return;
        }
        let delta = self.kvs(proc.job).map(Kvs::take_delta).unwrap_or_default();
        self.on_barrier(proc.job, Bytes::from(delta), cx);
    }

    pub(super) fn on_barrier_done(&mut self, id: JobId, result: &CollectiveResult, cx: &mut Cx) {
        let merged = match (result, self.kvs(id)) {
            (Ok(deltas), Some(kvs)) => kvs.merge(deltas).is_ok(),
            _ => false,
        };
        self.leave_barrier(id, merged, cx);
    }

    /// Fails a barrier that local processes have yet to enter, after a process has failed.
    pub(super) fn fail_unentered_barrier(&mut self, id: JobId, cx: &mut Cx) {
        if self.jobs.get(&id).is_some_and(|job| !job.is_at_barrier()) {
            self.leave_barrier(id, false, cx);
        }
    }

    fn leave_barrier(&mut self, id: JobId, merged: bool, cx: &mut Cx) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        for rank in std::mem::take(&mut job.pmi1.at_barrier) {
            let reply = if merged { Reply::BarrierOut } else { Reply::BarrierFailed };
            answer(ProcId { job: id, rank }, reply, cx);
        }
    }
}

fn answer(proc: ProcId, reply: Reply, cx: &mut Cx) {
    cx.effect(Effect::Pmix(PmixEffect::Pmi1 { proc, data: Bytes::from(reply.to_string()) }));
}

/// The job's key-value space, with the entries that every daemon knows by itself.
fn fresh_kvs(order: &LaunchOrder) -> Kvs {
    let mut kvs = Kvs::new();
    for (key, value) in order.spec.pmi1.iter().flatten() {
        kvs.insert(key.clone(), value.clone());
    }
    if let Some(mapping) = process_mapping(&ranks_by_node(&order.map)) {
        kvs.insert("PMI_process_mapping", mapping);
    }
    kvs
}

fn ranks_by_node(map: &JobMap) -> Vec<Vec<RangeInclusive<u32>>> {
    let mut nodes: Vec<Vec<RangeInclusive<u32>>> = vec![Vec::new(); map.nodes.len()];
    for (rank, placement) in map.ranks() {
        let ranges = &mut nodes[placement.node as usize];
        match ranges.last_mut() {
            Some(last) if last.end() + 1 == rank.0 => *last = *last.start()..=rank.0,
            _ => ranges.push(rank.0..=rank.0),
        }
    }
    nodes
}
