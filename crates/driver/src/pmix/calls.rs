//! Passes clients' calls to the machine and its replies back. Each call gets exactly one reply: from the machine, or an
//! error when its job or this process ends. Only [`super::PmixBridge`] uses it.

use std::collections::BTreeMap;

use bytes::Bytes;
use ferrite_core::{AbortScope, DaemonInput, Input, PmixCall, PmixToken};
use ferrite_pmix::{Completer, Info, Proc, Published, Question, Status, Upcall};
use ferrite_types::{Duration, JobId, PmixStatus, ProcId, Rank};
use ferrite_wire::control::SessionOrder;
use ferrite_wire::{
    CollectiveKind, CollectiveResult, ControlOrder, DataCall, EventSource, Fact, Found, GroupEntry, GroupRole, Members,
    Resize, Subject,
};

use super::groups::Wish;
use super::{allocate, control, events, groups, logs, published, query, session_control, spawn};
use crate::Inbox;

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
    next: u64,
    waiting: BTreeMap<PmixToken, (JobId, Reply)>,
}

enum Reply {
    Done(Completer<()>),
    Data(Completer<Bytes>),
    Spawned(Completer<String>),
    Found(Completer<Vec<Published>>),
    Allocation(Completer<Vec<Info>>),
    Ordered(Completer<Vec<Info>>),
    Group { dvm: String, members: Vec<Proc>, reply: Completer<Vec<Info>> },
    Told { questions: Vec<Question>, about: Vec<Subject>, reply: Completer<Vec<Info>> },
}

impl Reply {
    fn give(self, result: CollectiveResult) {
        match self {
            Reply::Done(reply) => reply.complete(result.map(drop).map_err(|status| Status(status.0))),
            Reply::Data(reply) => reply.complete(result.map_err(|status| Status(status.0))),
            Reply::Ordered(reply) => reply.complete(result.map(|_| Vec::new()).map_err(|status| Status(status.0))),
            Reply::Group { dvm, members, reply } => reply.complete(groups::answer(&dvm, members, result)),
            Reply::Spawned(_) | Reply::Found(_) | Reply::Allocation(_) | Reply::Told { .. } => {
                self.fail(result.err().map_or(Status::ERROR, |status| Status(status.0)))
            }
        }
    }

    fn fail(self, status: Status) {
        match self {
            Reply::Done(reply) => reply.complete(Err(status)),
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
    pub(super) fn new(inbox: Inbox, dvm: &str) -> Calls {
        Calls { inbox, dvm: dvm.to_owned(), next: 0, waiting: BTreeMap::new() }
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
                let members = match participants(&procs, names) {
                    Ok(members) => members,
                    Err(status) => return reply.complete(Err(status)),
                };
                // libpmix 4.2.2 stores data of the second job's processes as that of the first: an error is better
                // than wrong values. Without collected data the processes get correct values on request.
                let is_mixed = collect && !members.others.is_empty();
                let status = if is_mixed { Err(Status::NOT_SUPPORTED) } else { local_status.into_result() };
                let token = self.keep(members.job, Reply::Data(reply));
                match status {
                    Ok(()) => {
                        self.pass(PmixCall::Fence { members, data, token });
                        self.limit(token, timeout_s);
                    }
                    Err(status) => self.give_up_meeting(CollectiveKind::PmixFence, members, status, token),
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
                let wish = local_status.into_result();
                let wish = wish.and_then(|()| groups::wish(makes, &name, &procs, &info, |of| by_job(of, names)));
                match wish {
                    Ok(Wish::Construct(part)) => self.group(procs, timeout_s, reply, names, |members, token| {
                        PmixCall::GroupConstruct { name, members, part, token }
                    }),
                    Ok(Wish::Destruct) => self.group(procs, timeout_s, reply, names, |members, token| {
                        PmixCall::GroupDestruct { name, members, token }
                    }),
                    Ok(Wish::Enter(entry)) => {
                        let waiter = match &entry.role {
                            GroupRole::Leader { proc, .. } => proc.job,
                            // The library does not say which process it is.
                            GroupRole::Follower => JobId::DAEMONS,
                        };
                        let token = self.keep(waiter, Reply::Group { dvm: self.dvm.clone(), members: procs, reply });
                        let limit = timeout_s.filter(|seconds| *seconds > 0).map(limit_of);
                        let entry = Box::new(GroupEntry { limit, ..entry });
                        self.pass(PmixCall::GroupEntry { entry, token });
                    }
                    Err(status) => match participants(&procs, names) {
                        Ok(members) if !procs.is_empty() => {
                            let kind = match makes {
                                true => CollectiveKind::GroupConstruct(name),
                                false => CollectiveKind::GroupDestruct(name),
                            };
                            let reply = Reply::Group { dvm: self.dvm.clone(), members: procs, reply };
                            let token = self.keep(members.job, reply);
                            self.give_up_meeting(kind, members, status, token);
                        }
                        _ => reply.complete(Err(status)),
                    },
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
                let submission = spawn::wish_of_process(&info, &required, &apps, &self.dvm).map_err(|refused| {
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
            Upcall::Log { proc, entries, others, directives, required, reply } => match known(&proc, names) {
                Ok(known) => {
                    let source = EventSource::Proc(known);
                    self.log(logs::Call::new(&proc, source, entries, &others, &directives, &required), reply);
                }
                Err(status) => reply.complete(Err(status)),
            },
            // A monitor of a process goes another way.
            Upcall::Monitor { reply, .. } => reply.refuse(),
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

    /// Tells the machine that a process has left a group, if that is what the event says: libpmix has no other word
    /// for it.
    pub(super) fn note_left(&self, code: Status, source: &Proc, info: &[Info], names: &Names) {
        if let Some(group) = groups::left(code, source, info)
            && let Some(proc) = find(source, names)
        {
            self.pass(PmixCall::GroupLeft { proc, group });
        }
    }

    /// Passes a call of `PMIx_Log` on, or refuses it.
    pub(super) fn log(&mut self, call: logs::Call<'_>, reply: Completer<()>) {
        let (caller, others) = (call.caller, call.others);
        if !others.is_empty() {
            tracing::warn!(?caller, ?others, "channels of PMIx_Log that are not offered");
        }
        let waiter = if let EventSource::Proc(proc) = &call.source { proc.job } else { JobId::DAEMONS };
        match logs::logged(call) {
            Ok(call) => {
                let token = self.keep(waiter, Reply::Done(reply));
                self.pass(PmixCall::Log { call: Box::new(call), token });
            }
            Err(status) => {
                tracing::warn!(?caller, %status, "what a process logs is refused");
                reply.complete(Err(status));
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

    /// Ends a collective in which this node cannot take part, for all of its members (spec L141).
    fn give_up_meeting(&self, kind: CollectiveKind, members: Members, status: Status, token: PmixToken) {
        tracing::debug!(?kind, %status, "this node gives a collective up");
        self.pass(PmixCall::GiveUp { kind, members, status: PmixStatus(status.0), token });
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

    /// Passes the call of the members of a group on, or refuses it.
    fn group(
        &mut self,
        procs: Vec<Proc>,
        timeout_s: Option<u32>,
        reply: Completer<Vec<Info>>,
        names: &Names,
        call: impl FnOnce(Members, PmixToken) -> PmixCall,
    ) {
        match participants(&procs, names) {
            Ok(members) => {
                let reply = Reply::Group { dvm: self.dvm.clone(), members: procs, reply };
                let token = self.keep(members.job, reply);
                self.pass(call(members, token));
                if let Some(seconds) = timeout_s.filter(|seconds| *seconds > 0) {
                    self.pass(PmixCall::Limit { token, limit: limit_of_group(seconds) });
                }
            }
            Err(status) => reply.complete(Err(status)),
        }
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
/// after it an unexpected message (spec L154).
pub(super) fn limit_of(seconds: u32) -> Duration {
    Duration::from_millis(u64::from(seconds) * 1_000 - 100)
}

/// The time for the answer about a group (seconds): the limit less a quarter of it, and less a second at most. The
/// server of libpmix 4.2.2 crashes when its own timer for a group comes before the answer, which may be late on a busy
/// machine (spec L154).
fn limit_of_group(seconds: u32) -> Duration {
    let limit = u64::from(seconds) * 1_000;
    Duration::from_millis(limit - (limit / 4).min(1_000))
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
mod tests;
