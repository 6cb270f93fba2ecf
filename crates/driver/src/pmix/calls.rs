//! Passes clients' calls to the machine and its replies back. Each call gets exactly one reply: from the machine, or an
//! error when its job or this process ends. Only [`super::PmixBridge`] uses it.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use ferrite_core::{AbortScope, DaemonInput, Input, PmixCall, PmixToken};
use ferrite_pmix::{Completer, Info, Proc, Published, Question, Status, Upcall};
use ferrite_types::{Duration, JobId, PmixStatus, ProcId, Rank};
use ferrite_wire::control::SessionOrder;
use ferrite_wire::{CollectiveResult, ControlOrder, DataCall, Fact, Found, Members, Resize, Subject};

use super::logs::{self, Logged};
use super::{allocate, control, events, groups, published, query, session_control, spawn, syslog};
use crate::{Inbox, local_time};

/// The jobs whose processes may call, by namespace.
pub(super) type Names = BTreeMap<String, Known>;

/// A job whose processes may call.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub(super) job: JobId,
    pub(super) size: u32,
}

/// Calls that wait for the machine's reply.
pub(super) struct Calls {
    inbox: Inbox,
    dvm: String,
    is_head: bool,
    next: u64,
    waiting: BTreeMap<PmixToken, (JobId, Reply)>,
}

enum Reply {
    Done(Completer<()>),
    /// Something that was asked for is not offered, and the rest is done.
    Partly(Completer<()>),
    Data(Completer<Vec<u8>>),
    Spawned(Completer<String>),
    Found(Completer<Vec<Published>>),
    Allocation(Completer<Vec<Info>>),
    Ordered(Completer<Vec<Info>>),
    Group {
        members: Vec<Proc>,
        reply: Completer<Vec<Info>>,
    },
    Told {
        questions: Vec<Question>,
        about: Vec<Subject>,
        reply: Completer<Vec<Info>>,
    },
}

impl Reply {
    fn give(self, result: CollectiveResult) {
        match self {
            Reply::Done(reply) => reply.complete(result.map(drop).map_err(|status| Status(status.0))),
            Reply::Partly(reply) => {
                reply.complete(Err(result.map_or_else(|status| Status(status.0), |_| Status::PARTIAL_SUCCESS)));
            }
            Reply::Data(reply) => reply.complete(result.map(Vec::from).map_err(|status| Status(status.0))),
            Reply::Ordered(reply) => reply.complete(result.map(|_| Vec::new()).map_err(|status| Status(status.0))),
            Reply::Group { members, reply } => reply.complete(groups::answer(members, result)),
            Reply::Spawned(_) | Reply::Found(_) | Reply::Allocation(_) | Reply::Told { .. } => {
                self.fail(result.err().map_or(Status::ERROR, |status| Status(status.0)))
            }
        }
    }

    fn fail(self, status: Status) {
        match self {
            Reply::Done(reply) | Reply::Partly(reply) => reply.complete(Err(status)),
            Reply::Data(reply) => reply.complete(Err(status)),
            Reply::Spawned(reply) => reply.complete(Err(status)),
            Reply::Found(reply) => reply.complete(Err(status)),
            Reply::Allocation(reply)
            | Reply::Ordered(reply)
            | Reply::Group { reply, .. }
            | Reply::Told { reply, .. } => reply.complete(Err(status)),
        }
    }
}

impl Calls {
    pub(super) fn new(inbox: Inbox, dvm: &str, is_head: bool) -> Calls {
        Calls { inbox, dvm: dvm.to_owned(), is_head, next: 0, waiting: BTreeMap::new() }
    }

    /// Passes a call on, or refuses it.
    pub(super) fn receive(&mut self, upcall: Upcall, names: &Names) {
        match upcall {
            Upcall::ClientConnected { proc, reply } => {
                self.note(find(&proc, names), reply, PmixCall::ClientConnected);
            }
            Upcall::ClientFinalized { proc, reply } => {
                self.note(find(&proc, names), reply, PmixCall::ClientFinalized);
            }
            Upcall::Abort { proc, status, message, targets, reply } => {
                tracing::debug!(?targets, "a process asks for an abort");
                let Some(caller) = find(&proc, names) else {
                    return reply.complete(Err(Status::NOT_FOUND));
                };
                let targets = match aborted(caller, &targets, names) {
                    Ok(targets) => targets,
                    Err(status) => return reply.complete(Err(status)),
                };
                let token = self.keep(caller.job, Reply::Done(reply));
                let (proc, code) = (caller, status);
                self.pass(match targets {
                    Targets::Usual(scope) => PmixCall::Abort { proc, code, message, scope, token },
                    Targets::Others(targets) => PmixCall::AbortOthers { proc, code, message, targets, token },
                });
            }
            Upcall::Fence { procs, data, collect, timeout_s, local_status, reply } => {
                let members = local_status.into_result().and_then(|()| participants(&procs, names));
                match members {
                    // libpmix 4.2.2 stores data of the second job's processes as that of the first: an error is better
                    // than wrong values. Without collected data the processes get correct values on request.
                    Ok(members) if collect && !members.others.is_empty() => reply.refuse(),
                    Ok(members) => {
                        let token = self.keep(members.job, Reply::Data(reply));
                        self.pass(PmixCall::Fence { members, data: Bytes::from(data), token });
                        self.limit(token, timeout_s);
                    }
                    Err(status) => reply.complete(Err(status)),
                }
            }
            Upcall::DirectModex { proc, required_key, timeout_s, reply } => {
                // The library got the DVM's data of a process with its job: the process itself cannot add to it.
                let is_ours = required_key.is_some_and(|key| is_said_by_the_dvm(&key));
                let Some(proc) = find(&proc, names).filter(|_| !is_ours) else {
                    return reply.complete(Err(Status::NOT_FOUND));
                };
                let token = self.keep(proc.job, Reply::Data(reply));
                self.pass(PmixCall::Modex { proc, token });
                self.limit(token, timeout_s);
            }
            Upcall::Connect { procs, timeout_s, reply } => {
                self.meet(&procs, timeout_s, reply, names, |members, token| PmixCall::Connect { members, token });
            }
            Upcall::Disconnect { procs, timeout_s, reply } => {
                self.meet(&procs, timeout_s, reply, names, |members, token| PmixCall::Disconnect { members, token });
            }
            Upcall::Group { makes, name, procs, info, timeout_s, local_status, reply } => {
                let part = local_status.into_result().and_then(|()| groups::part(makes, &info));
                match part.and_then(|part| Ok((part, participants(&procs, names)?))) {
                    Ok((part, members)) => {
                        let token = self.keep(members.job, Reply::Group { members: procs, reply });
                        self.pass(match part {
                            Some(part) => PmixCall::GroupConstruct { name, members, part, token },
                            None => PmixCall::GroupDestruct { name, members, token },
                        });
                        self.limit(token, timeout_s);
                    }
                    Err(status) => reply.complete(Err(status)),
                }
            }
            Upcall::Publish { proc, info, reply } => {
                let call = known(&proc, names).and_then(|proc| published::publish(proc, &info));
                self.ask(call, Reply::Done(reply));
            }
            Upcall::Unpublish { proc, keys, info, reply } => {
                let call = known(&proc, names).and_then(|proc| published::unpublish(proc, keys, &info));
                self.ask(call, Reply::Done(reply));
            }
            Upcall::Lookup { proc, keys, info, reply } => {
                let call = known(&proc, names).and_then(|proc| published::lookup(proc, keys, &info));
                self.ask(call, Reply::Found(reply));
            }
            Upcall::Spawn { proc, info, required, apps, reply } => {
                tracing::debug!(?proc, ?info, ?apps, "a process spawns a job");
                let submission = spawn::wish(&info, &required, &apps, "", &self.dvm).map_err(|refused| {
                    tracing::warn!(cause = %refused, "what a process wants to spawn is refused");
                    refused.status()
                });
                match known(&proc, names).and_then(|proc| Ok((proc, submission?))) {
                    Ok((proc, submission)) => {
                        let token = self.keep(proc.job, Reply::Spawned(reply));
                        self.pass(PmixCall::Spawn { proc, submission: Box::new(submission), token });
                    }
                    Err(status) => reply.complete(Err(status)),
                }
            }
            Upcall::Allocate { proc, directive, info, required, reply } => {
                let Some(proc) = find(&proc, names) else {
                    return reply.complete(Err(Status::NOT_FOUND));
                };
                match allocate::request(directive, &info, &required) {
                    Ok(request) => {
                        let token = self.keep(proc.job, Reply::Allocation(reply));
                        self.pass(PmixCall::Resize { proc, request, token });
                    }
                    Err(refusal) => reply.complete(Err(refusal.told(&proc))),
                }
            }
            Upcall::SessionControl { proc, session, directives, required, reply } => match known(&proc, names) {
                Ok(caller) => {
                    self.order(caller.job, &proc, session_control::order(session, &directives, &required), reply)
                }
                Err(status) => reply.complete(Err(status)),
            },
            Upcall::Log { proc: caller, entries, others, directives, required, reply } => {
                let call = logs::Call {
                    caller: &caller,
                    entries,
                    others: &others,
                    directives: &directives,
                    required: &required,
                    is_head: self.is_head,
                    now_s: local_time::now_s(),
                    zone_s: local_time::zone_s(),
                };
                let mut system = |message: &syslog::Message| syslog::send(Path::new(syslog::SOCKET), message);
                match known(&caller, names).and_then(|proc| Ok((proc, logs::logged(call, &mut system)?))) {
                    Ok((proc, Logged { texts, form, is_partial })) => {
                        if !others.is_empty() {
                            tracing::warn!(%proc, ?others, "channels of PMIx_Log that are not offered");
                        }
                        let answer = if is_partial { Reply::Partly(reply) } else { Reply::Done(reply) };
                        let token = self.keep(proc.job, answer);
                        self.pass(PmixCall::Log { proc, texts, form, token });
                    }
                    Err(status) => {
                        tracing::warn!(?caller, ?others, %status, "what a process logs is refused");
                        reply.complete(Err(status));
                    }
                }
            }
            Upcall::PushStdin { reply, .. } => reply.refuse(),
            // Only a tool pulls, and where there is none its library has nobody to hand output to.
            Upcall::PullOutput { .. } => {}
            Upcall::ToolConnected { reply, .. } => reply.refuse(),
            // libpmix 4.2 names itself as the one that asks.
            Upcall::Query { questions, reply, .. } => {
                let about = query::subjects(&questions, &self.dvm);
                let token = self.keep(JobId::DAEMONS, Reply::Told { questions, about: about.clone(), reply });
                self.pass(PmixCall::Query { about, token });
            }
            Upcall::JobControl { proc, targets, directives, required, reply } => match known(&proc, names) {
                Ok(by) => {
                    let order = control::order(Some(by.job), &targets, &directives, &required, &self.dvm);
                    self.control(Some(by), order, reply);
                }
                Err(status) => reply.complete(Err(status)),
            },
            Upcall::Event { code: Status::READY_FOR_DEBUG, source, .. } => {
                // libpmix 4.2 counts its processes, and names all of them at once.
                let all = [ferrite_pmix_sys::PMIX_RANK_LOCAL_PEERS, Proc::WILDCARD].contains(&source.rank);
                if let Some(known) = names.get(&source.nspace).filter(|_| all) {
                    self.pass(PmixCall::AllReadyForDebug(known.job));
                } else if let Some(proc) = find(&source, names) {
                    self.pass(PmixCall::ReadyForDebug(proc));
                }
            }
            Upcall::Event { code: Status::DEBUGGER_RELEASE, info, .. } => {
                for (nspace, ranks) in events::release_of(&info) {
                    if let Some(known) = names.get(&nspace) {
                        self.pass(PmixCall::Release { job: known.job, ranks });
                    }
                }
            }
            // The end of the process gives the same information as its lost connection. All other events go another
            // way.
            Upcall::Event { .. } | Upcall::Lost { .. } => {}
            Upcall::Refused { proc, service } => {
                tracing::debug!(?proc, service, "a service that is not offered");
            }
        }
    }

    /// Passes an order for sessions on, or refuses it. The end of job `waiter` ends the waiting for the reply.
    pub(super) fn order(
        &mut self,
        waiter: JobId,
        asker: &Proc,
        order: Result<SessionOrder, session_control::Refusal>,
        reply: Completer<Vec<Info>>,
    ) {
        match order {
            Ok(order) => {
                let token = self.keep(waiter, Reply::Ordered(reply));
                self.pass(PmixCall::Session { order, token });
            }
            Err(refusal) => reply.complete(Err(refusal.told(asker))),
        }
    }

    /// Passes an order for processes on, or refuses it. `None` = a tool gives it.
    pub(super) fn control(
        &mut self,
        by: Option<ProcId>,
        order: Result<ControlOrder, control::Refusal>,
        reply: Completer<Vec<Info>>,
    ) {
        match order {
            Ok(order) => {
                let token = self.keep(by.map_or(JobId::DAEMONS, |by| by.job), Reply::Ordered(reply));
                self.pass(PmixCall::Control { by, order: Box::new(order), token });
            }
            Err(refusal) => {
                tracing::warn!(cause = %refusal, "an order for processes is refused");
                reply.complete(Err(refusal.status));
            }
        }
    }

    /// Delivers the head's answers to a query.
    pub(super) fn reply_query(&mut self, token: PmixToken, place: &query::Place<'_>, facts: &[Fact]) {
        match self.waiting.remove(&token) {
            Some((_, Reply::Told { questions, about, reply })) => {
                reply.complete(query::answers(place, &questions, &about, facts));
            }
            Some((_, reply)) => reply.fail(Status::ERROR),
            None => {}
        }
    }

    /// Delivers the machine's reply. An unknown token has its reply already.
    pub(super) fn reply(&mut self, token: PmixToken, result: CollectiveResult) {
        if let Some((_, reply)) = self.waiting.remove(&token) {
            reply.give(result);
        }
    }

    /// Delivers the machine's answer to a process's request for another size.
    pub(super) fn reply_resize(&mut self, token: PmixToken, resize: &Resize) {
        match self.waiting.remove(&token) {
            Some((_, Reply::Allocation(reply))) => reply.complete(allocate::answer(resize)),
            Some((_, reply)) => reply.fail(Status::ERROR),
            None => {}
        }
    }

    /// Delivers the machine's reply to a spawn.
    pub(super) fn reply_spawn(&mut self, token: PmixToken, result: Result<String, PmixStatus>) {
        match self.waiting.remove(&token) {
            Some((_, Reply::Spawned(reply))) => reply.complete(result.map_err(|status| Status(status.0))),
            Some((_, reply)) => reply.fail(Status::ERROR),
            None => {}
        }
    }

    /// Delivers the machine's reply to a publication or a lookup.
    pub(super) fn reply_data(
        &mut self,
        token: PmixToken,
        result: Result<Vec<Found>, PmixStatus>,
        nspace: impl Fn(ProcId) -> String,
    ) {
        match (self.waiting.remove(&token), result) {
            (None, _) => {}
            (Some((_, Reply::Found(reply))), Ok(found)) => reply.complete(Ok(published::found(found, nspace))),
            (Some((_, reply)), Ok(_)) => reply.give(Ok(Bytes::new())),
            (Some((_, reply)), Err(status)) => reply.fail(Status(status.0)),
        }
    }

    fn meet(
        &mut self,
        procs: &[Proc],
        timeout_s: Option<u32>,
        reply: Completer<()>,
        names: &Names,
        call: impl FnOnce(Members, PmixToken) -> PmixCall,
    ) {
        match participants(procs, names) {
            Ok(members) => {
                let token = self.keep(members.job, Reply::Done(reply));
                self.pass(call(members, token));
                self.limit(token, timeout_s);
            }
            Err(status) => reply.complete(Err(status)),
        }
    }

    fn ask(&mut self, call: Result<DataCall, Status>, reply: Reply) {
        match call {
            Ok(call) => {
                let token = self.keep(call.proc.job, reply);
                self.pass(PmixCall::Data { call: Box::new(call), token });
            }
            Err(status) => reply.fail(status),
        }
    }

    /// Fails the waiting calls of a job, or of all jobs.
    pub(super) fn fail(&mut self, job: Option<JobId>, status: Status) {
        let gone = |of: JobId| job.is_none_or(|job| job == of);
        for (_, (_, reply)) in self.waiting.extract_if(.., |_, (of, _)| gone(*of)) {
            reply.give(Err(PmixStatus(status.0)));
        }
    }

    /// Reports that the library cannot serve a job, in the name of one of its processes.
    pub(super) fn give_up(&mut self, proc: ProcId, message: String) {
        self.next += 1;
        let token = PmixToken(self.next);
        self.pass(PmixCall::Abort { proc, code: 1, message, scope: AbortScope::Job, token });
    }

    fn note(&mut self, proc: Option<ProcId>, reply: Completer<()>, call: impl FnOnce(ProcId) -> PmixCall) {
        match proc {
            Some(proc) => {
                // This comes before the reply: the machine has to know it by the time the process goes on.
                self.pass(call(proc));
                reply.complete(Ok(()));
            }
            None => reply.complete(Err(Status::NOT_FOUND)),
        }
    }

    fn keep(&mut self, job: JobId, reply: Reply) -> PmixToken {
        self.next += 1;
        let token = PmixToken(self.next);
        self.waiting.insert(token, (job, reply));
        token
    }

    /// Gives the call that was just passed on its limit (seconds), if it has one.
    fn limit(&self, token: PmixToken, timeout_s: Option<u32>) {
        if let Some(seconds) = timeout_s.filter(|seconds| *seconds > 0) {
            self.pass(PmixCall::Limit { token, limit: limit_of(seconds) });
        }
    }

    fn pass(&self, call: PmixCall) {
        // The machine is gone only while this process is ending.
        let _ = self.inbox.send(Input::Daemon(DaemonInput::Pmix(call)));
    }
}

/// The time for an answer (seconds): a little less than the limit of the caller, whose own library calls an answer
/// after it an unexpected message.
pub(super) fn limit_of(seconds: u32) -> Duration {
    Duration::from_millis(u64::from(seconds) * 1_000 - 100)
}

/// The processes that an abort ends.
#[derive(Debug, PartialEq, Eq)]
enum Targets {
    /// The caller, or its job.
    Usual(AbortScope),
    /// Others, by job; no ranks = the whole job.
    Others(Vec<(JobId, Vec<Rank>)>),
}

/// Returns the processes that a process wants to end: the named ones, or its whole job.
fn aborted(caller: ProcId, targets: &[Proc], names: &Names) -> Result<Targets, Status> {
    if targets.is_empty() {
        return Ok(Targets::Usual(AbortScope::Job));
    }
    if let [only] = targets
        && find(only, names) == Some(caller)
    {
        return Ok(Targets::Usual(AbortScope::Caller));
    }
    let jobs = by_job(targets, names)?;
    match &jobs[..] {
        [(job, ranks)] if *job == caller.job && ranks.is_empty() => Ok(Targets::Usual(AbortScope::Job)),
        _ => Ok(Targets::Others(jobs)),
    }
}

/// Returns the process that this upcall connects.
pub(super) fn newcomer(upcall: &Upcall, names: &Names) -> Option<ProcId> {
    match upcall {
        Upcall::ClientConnected { proc, .. } => find(proc, names),
        _ => None,
    }
}

/// True for a reserved key that belongs to the DVM; processes of Open MPI 4 put one all the same.
fn is_said_by_the_dvm(key: &str) -> bool {
    key.starts_with("pmix.") && key != "pmix.arch"
}

pub(super) fn find(proc: &Proc, names: &Names) -> Option<ProcId> {
    let known = names.get(&proc.nspace)?;
    (proc.rank < known.size).then_some(ProcId { job: known.job, rank: Rank(proc.rank) })
}

fn known(proc: &Proc, names: &Names) -> Result<ProcId, Status> {
    find(proc, names).ok_or(Status::NOT_FOUND)
}

/// Converts the participants for the machine.
fn participants(procs: &[Proc], names: &Names) -> Result<Members, Status> {
    Members::of_jobs(by_job(procs, names)?).ok_or(Status::BAD_PARAM)
}

/// Returns for each job its ranks, sorted, and an empty list for the whole job.
fn by_job(procs: &[Proc], names: &Names) -> Result<Vec<(JobId, Vec<Rank>)>, Status> {
    let mut jobs: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for proc in procs {
        jobs.entry(&proc.nspace).or_default().push(proc.rank);
    }
    let jobs = jobs.into_iter().map(|(nspace, ranks)| {
        let known = names.get(nspace).ok_or(Status::NOT_FOUND)?;
        Ok((known.job, ranks_of(ranks, known.size)?))
    });
    jobs.collect()
}

fn ranks_of(mut ranks: Vec<u32>, size: u32) -> Result<Vec<Rank>, Status> {
    ranks.sort_unstable();
    ranks.dedup();
    match ranks.last() {
        // The wildcard sorts behind every rank.
        Some(&Proc::WILDCARD) => Ok(Vec::new()),
        Some(&last) if last >= size => Err(Status::BAD_PARAM),
        _ if ranks.len() == size as usize => Ok(Vec::new()),
        _ => Ok(ranks.into_iter().map(Rank).collect()),
    }
}

#[cfg(test)]
mod tests {
    use ferrite_types::SessionId;

    use ferrite_types::pmix_status::{PMIX_ERR_NOT_FOUND, PMIX_ERR_OUT_OF_RESOURCE, PMIX_ERR_TIMEOUT};
    use std::sync::mpsc::{Receiver, channel};

    use ferrite_pmix::Info;
    use ferrite_wire::DataRequest;
    use ferrite_wire::control::SessionDirective;
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;

    fn world() -> (Calls, UnboundedReceiver<Input>, Names) {
        let (inbox, inputs) = unbounded_channel();
        let known = Known { job: JobId(1), size: 4 };
        (Calls::new(inbox, "d", true), inputs, [("d@1".to_owned(), known)].into())
    }
    fn completer<T: Send + 'static>() -> (Completer<T>, Receiver<Result<T, Status>>) {
        let (tx, rx) = channel();
        let finish = move |r| drop(tx.send(r));
        (Completer::new(finish), rx)
    }
    fn fence(procs: &[(&str, u32)]) -> (Upcall, Receiver<Result<Vec<u8>, Status>>) {
        fence_that(false, procs)
    }
    fn fence_that(collect: bool, procs: &[(&str, u32)]) -> (Upcall, Receiver<Result<Vec<u8>, Status>>) {
        let (reply, answer) = completer();
        let upcall = Upcall::Fence {
            procs: procs.iter().map(|(n, r)| Proc::new(*n, *r)).collect(),
            data: vec![1],
            collect,
            timeout_s: None,
            local_status: Status::SUCCESS,
            reply,
        };
        (upcall, answer)
    }
    fn ranks_of(input: Input) -> (Vec<u32>, PmixToken) {
        match input {
            Input::Daemon(DaemonInput::Pmix(PmixCall::Fence { members, token, .. })) => {
                (members.ranks.iter().map(|r| r.0).collect(), token)
            }
            other => panic!("unexpected {other:?}"),
        }
    }

    #[test]
    fn a_fence_is_named_by_its_sorted_participants_and_the_whole_job_by_none() {
        let (mut calls, mut inputs, names) = world();
        for (procs, ranks) in [
            (vec![("d@1", 2), ("d@1", 0)], vec![0, 2]),
            (vec![("d@1", Proc::WILDCARD)], vec![]),
            (vec![("d@1", 3), ("d@1", 2), ("d@1", 1), ("d@1", 0)], vec![]),
        ] {
            calls.receive(fence(&procs).0, &names);
            assert_eq!(ranks_of(inputs.try_recv().unwrap()).0, ranks);
        }
    }

    #[test]
    fn an_abort_ends_the_job_the_caller_or_whom_it_names() {
        let (_, _, mut names) = world();
        names.insert("d@2".to_owned(), Known { job: JobId(2), size: 3 });
        let caller = ProcId { job: JobId(1), rank: Rank(1) };
        let named = |procs: &[(&str, u32)]| {
            let targets: Vec<Proc> = procs.iter().map(|(nspace, rank)| Proc::new(*nspace, *rank)).collect();
            aborted(caller, &targets, &names)
        };
        let others = |all: &[(u32, &[u32])]| {
            let ranks = |ranks: &[u32]| ranks.iter().copied().map(Rank).collect();
            Ok(Targets::Others(all.iter().map(|(job, all)| (JobId(*job), ranks(all))).collect()))
        };
        for own in [&[][..], &[("d@1", Proc::WILDCARD)], &[("d@1", 0), ("d@1", 1), ("d@1", 2), ("d@1", 3)]] {
            assert_eq!(named(own), Ok(Targets::Usual(AbortScope::Job)));
        }
        assert_eq!(named(&[("d@1", 1)]), Ok(Targets::Usual(AbortScope::Caller)));
        assert_eq!(named(&[("d@1", 3), ("d@1", 1)]), others(&[(1, &[1, 3])]));
        assert_eq!(named(&[("d@2", Proc::WILDCARD)]), others(&[(2, &[])]));
        assert_eq!(named(&[("d@2", 1), ("d@1", Proc::WILDCARD)]), others(&[(1, &[]), (2, &[1])]));
        assert_eq!(named(&[("d@7", 0)]), Err(Status::NOT_FOUND));
    }

    #[test]
    fn a_fence_of_two_jobs_names_both_in_their_order() {
        let (mut calls, mut inputs, mut names) = world();
        names.insert("d@10".to_owned(), Known { job: JobId(10), size: 2 });
        names.insert("d@2".to_owned(), Known { job: JobId(2), size: 2 });
        let procs = [("d@2", 1), ("d@10", 1), ("d@1", Proc::WILDCARD), ("d@10", 0)];
        calls.receive(fence(&procs).0, &names);
        let Input::Daemon(DaemonInput::Pmix(PmixCall::Fence { members, .. })) = inputs.try_recv().unwrap() else {
            panic!("a fence")
        };
        let all: Vec<_> = members.jobs().map(|(job, ranks)| (job.0, ranks.len())).collect();
        assert_eq!(all, [(1, 0), (2, 1), (10, 0)]);
        let (upcall, answer) = fence_that(true, &procs);
        calls.receive(upcall, &names);
        assert_eq!(answer.try_recv(), Ok(Err(Status::NOT_SUPPORTED)), "the library would mix their data up");
    }

    #[test]
    fn a_fence_is_answered_once() {
        let (mut calls, mut inputs, names) = world();
        let (upcall, answer) = fence(&[("d@1", Proc::WILDCARD)]);
        calls.receive(upcall, &names);
        let (_, token) = ranks_of(inputs.try_recv().unwrap());
        calls.reply(token, Ok(Bytes::from_static(b"all")));
        calls.reply(token, Err(PMIX_ERR_TIMEOUT));
        calls.fail(None, Status::ERROR);
        assert_eq!(answer.iter().collect::<Vec<_>>(), [Ok(b"all".to_vec())]);
    }

    #[test]
    fn what_waits_when_a_job_goes_gets_an_error() {
        let (mut calls, mut inputs, names) = world();
        let (upcall, answer) = fence(&[("d@1", 0), ("d@1", 1)]);
        calls.receive(upcall, &names);
        assert!(inputs.try_recv().is_ok());
        calls.fail(Some(JobId(2)), Status::NOT_FOUND);
        assert!(answer.try_recv().is_err());
        calls.fail(Some(JobId(1)), Status::NOT_FOUND);
        assert_eq!(answer.try_recv(), Ok(Err(Status::NOT_FOUND)));
    }

    #[test]
    fn a_spawn_is_answered_with_the_new_namespace_or_a_status() {
        let (mut calls, mut inputs, names) = world();
        for result in [Ok("d@2".to_owned()), Err(PMIX_ERR_OUT_OF_RESOURCE)] {
            let (reply, answer) = completer();
            let app = ferrite_pmix::App {
                argv: vec!["a.out".to_owned()],
                arg0: None,
                env: Vec::new(),
                cwd: None,
                maxprocs: 2,
                info: Vec::new(),
                required: Vec::new(),
            };
            let proc = Proc::new("d@1", 3);
            calls.receive(
                Upcall::Spawn { proc, info: Vec::new(), required: Vec::new(), apps: vec![app], reply },
                &names,
            );
            let Input::Daemon(DaemonInput::Pmix(PmixCall::Spawn { proc, submission, token })) =
                inputs.try_recv().unwrap()
            else {
                panic!("a spawn")
            };
            assert_eq!(proc, ProcId { job: JobId(1), rank: Rank(3) });
            assert_eq!(submission.spec.apps[0].submit_dir, "", "that of its parent");
            calls.reply_spawn(token, result.clone());
            assert_eq!(answer.try_recv(), Ok(result.map_err(|status| Status(status.0))));
        }
    }

    #[test]
    fn what_a_process_looks_up_comes_with_its_publishers_name() {
        let (mut calls, mut inputs, names) = world();
        let (reply, published) = completer();
        let info = vec![Info::new(c"k", 7u32)];
        calls.receive(Upcall::Publish { proc: Proc::new("d@1", 0), info, reply }, &names);
        let Input::Daemon(DaemonInput::Pmix(PmixCall::Data { call, token })) = inputs.try_recv().unwrap() else {
            panic!("a publication")
        };
        let DataRequest::Publish { items, .. } = call.request else { panic!("a publication") };
        calls.reply_data(token, Ok(Vec::new()), |_| String::new());
        assert_eq!(published.try_recv(), Ok(Ok(())));
        let (reply, answer) = completer();
        let keys = vec!["k".to_owned()];
        calls.receive(Upcall::Lookup { proc: Proc::new("d@1", 1), keys, info: Vec::new(), reply }, &names);
        let Input::Daemon(DaemonInput::Pmix(PmixCall::Data { token, .. })) = inputs.try_recv().unwrap() else {
            panic!("a lookup")
        };
        let found = items.into_iter().map(|(key, value)| Found { proc: call.proc, key, value }).collect();
        calls.reply_data(token, Ok(found), |proc| proc.job.nspace("d"));
        let expected = Published { proc: Proc::new("d@1", 0), key: "k".to_owned(), value: 7u32.into() };
        assert_eq!(answer.try_recv(), Ok(Ok(vec![expected])));
    }

    #[test]
    fn a_reserved_key_that_the_library_does_not_have_is_not_waited_for() {
        let (mut calls, mut inputs, names) = world();
        let mut ask = |key: Option<&str>| {
            let (reply, answer) = completer();
            let (proc, required_key) = (Proc::new("d@1", 3), key.map(str::to_owned));
            calls.receive(Upcall::DirectModex { proc, required_key, timeout_s: None, reply }, &names);
            answer.try_recv()
        };
        for key in ["pmix.cpuset", "pmix.locstr", "pmix.rank"] {
            assert_eq!(ask(Some(key)), Ok(Err(Status::NOT_FOUND)), "{key}");
        }
        assert!(inputs.try_recv().is_err(), "nobody is asked");
        for key in [None, Some("btl.tcp"), Some("pmix.arch")] {
            assert!(ask(key).is_err(), "the process may put it yet");
            assert!(matches!(inputs.try_recv(), Ok(Input::Daemon(DaemonInput::Pmix(PmixCall::Modex { .. })))));
        }
    }

    #[test]
    fn strangers_are_refused() {
        let (mut calls, mut inputs, names) = world();
        let (reply, answer) = completer();
        calls.receive(Upcall::ClientConnected { proc: Proc::new("e@1", 0), reply }, &names);
        assert_eq!(answer.try_recv(), Ok(Err(Status::NOT_FOUND)));
        let (reply, answer) = completer();
        calls.receive(Upcall::ClientConnected { proc: Proc::new("d@1", 4), reply }, &names);
        assert_eq!(answer.try_recv(), Ok(Err(Status::NOT_FOUND)));
        let (upcall, answer) = fence(&[("d@1", 0), ("e@1", 0)]);
        calls.receive(upcall, &names);
        assert_eq!(answer.try_recv(), Ok(Err(Status::NOT_FOUND)));
        assert!(inputs.try_recv().is_err());
    }

    fn allocation(nspace: &str, directive: u32) -> (Upcall, Receiver<Result<Vec<Info>, Status>>) {
        let (reply, answer) = completer();
        let info = vec![Info::new(ferrite_pmix_sys::PMIX_ALLOC_NUM_NODES, 2u64)];
        let (proc, directive) = (Proc::new(nspace, 3), directive as u8);
        (Upcall::Allocate { proc, directive, info, required: Vec::new(), reply }, answer)
    }

    #[test]
    fn a_request_for_another_size_is_passed_on_and_answered_once() {
        let (mut calls, mut inputs, names) = world();
        let (upcall, answer) = allocation("d@1", ferrite_pmix_sys::PMIX_ALLOC_NEW);
        calls.receive(upcall, &names);
        let Input::Daemon(DaemonInput::Pmix(PmixCall::Resize { proc, token, .. })) = inputs.try_recv().unwrap() else {
            panic!("a resize")
        };
        assert_eq!(proc, ProcId { job: JobId(1), rank: Rank(3) });
        let outcome = ferrite_wire::ResizeOutcome::Begun;
        let resize = Resize { alloc_id: Some("a1".into()), req_id: None, session: None, nodes: Vec::new(), outcome };
        calls.reply_resize(token, &resize);
        calls.reply_resize(token, &resize);
        calls.fail(None, Status::ERROR);
        assert_eq!(answer.iter().collect::<Vec<_>>(), [Ok(vec![Info::new(ferrite_pmix_sys::PMIX_ALLOC_ID, "a1")])]);
    }

    #[test]
    fn a_request_for_another_size_that_is_not_offered_or_not_ours_does_not_reach_the_machine() {
        let (mut calls, mut inputs, names) = world();
        let (upcall, answer) = allocation("d@1", ferrite_pmix_sys::PMIX_ALLOC_EXTERNAL);
        calls.receive(upcall, &names);
        assert_eq!(answer.try_recv(), Ok(Err(Status::NOT_SUPPORTED)));
        let (upcall, answer) = allocation("e@1", ferrite_pmix_sys::PMIX_ALLOC_NEW);
        calls.receive(upcall, &names);
        assert_eq!(answer.try_recv(), Ok(Err(Status::NOT_FOUND)));
        assert!(inputs.try_recv().is_err());
        let (upcall, answer) = allocation("d@1", ferrite_pmix_sys::PMIX_ALLOC_NEW);
        calls.receive(upcall, &names);
        calls.fail(Some(JobId(1)), Status::NOT_FOUND);
        assert_eq!(answer.try_recv(), Ok(Err(Status::NOT_FOUND)), "its job is gone");
    }

    fn session_order(nspace: &str, directives: &[&std::ffi::CStr]) -> (Upcall, Receiver<Result<Vec<Info>, Status>>) {
        let (reply, answer) = completer();
        let directives = directives.iter().map(|key| Info::new(key, true)).collect();
        let proc = Proc::new(nspace, 3);
        (Upcall::SessionControl { proc, session: 2, directives, required: Vec::new(), reply }, answer)
    }

    #[test]
    fn an_order_for_a_session_is_passed_on_and_answered_once() {
        let (mut calls, mut inputs, names) = world();
        for result in [Ok(Bytes::new()), Err(PMIX_ERR_NOT_FOUND)] {
            let (upcall, answer) = session_order("d@1", &[ferrite_pmix_sys::PMIX_SESSION_PAUSE]);
            calls.receive(upcall, &names);
            let Input::Daemon(DaemonInput::Pmix(PmixCall::Session { order, token })) = inputs.try_recv().unwrap()
            else {
                panic!("an order")
            };
            assert_eq!(
                order,
                SessionOrder { session: Some(SessionId(2)), directive: SessionDirective::Pause, job: None }
            );
            calls.reply(token, result.clone());
            calls.reply(token, result.clone());
            calls.fail(None, Status::ERROR);
            let expected = result.map(|_| Vec::new()).map_err(|status| Status(status.0));
            assert_eq!(answer.iter().collect::<Vec<_>>(), [expected]);
        }
    }

    #[test]
    fn an_order_for_a_session_that_is_refused_or_not_ours_does_not_reach_the_machine() {
        let (mut calls, mut inputs, names) = world();
        for (nspace, keys, status) in [
            ("d@1", &[ferrite_pmix_sys::PMIX_SESSION_COMPLETE][..], Status::NOT_SUPPORTED),
            ("d@1", &[], Status::BAD_PARAM),
            ("e@1", &[ferrite_pmix_sys::PMIX_SESSION_PAUSE], Status::NOT_FOUND),
        ] {
            let (upcall, answer) = session_order(nspace, keys);
            calls.receive(upcall, &names);
            assert_eq!(answer.try_recv(), Ok(Err(status)));
        }
        assert!(inputs.try_recv().is_err());
        let (upcall, answer) = session_order("d@1", &[ferrite_pmix_sys::PMIX_SESSION_TERMINATE]);
        calls.receive(upcall, &names);
        calls.fail(Some(JobId(1)), Status::NOT_FOUND);
        assert_eq!(answer.try_recv(), Ok(Err(Status::NOT_FOUND)), "its job has ended with the session");
    }
}
