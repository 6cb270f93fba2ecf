//! Calls of clients on their way to the machine, and its replies on their way back. Each call gets exactly one reply: from
//! the machine, or with an error when its job or this process goes. Only [`super::PmixBridge`] uses it.

use std::collections::BTreeMap;

use bytes::Bytes;
use ferrite_core::{AbortScope, Input, PmixCall, PmixToken};
use ferrite_pmix::{Completer, Proc, Status, Upcall};
use ferrite_types::{JobId, ProcId, Rank};
use ferrite_wire::CollectiveResult;

use crate::Inbox;

/// The jobs that may call, by namespace.
pub(super) type Names = BTreeMap<String, Known>;

/// A job that may call.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub(super) job: JobId,
    pub(super) size: u32,
}

/// Calls that wait for the machine.
pub(super) struct Calls {
    inbox: Inbox,
    next: u64,
    waiting: BTreeMap<PmixToken, (JobId, Reply)>,
}

enum Reply {
    Done(Completer<()>),
    Data(Completer<Vec<u8>>),
}

impl Reply {
    fn give(self, result: CollectiveResult) {
        match self {
            Reply::Done(reply) => reply.complete(result.map(drop).map_err(Status)),
            Reply::Data(reply) => reply.complete(result.map(Vec::from).map_err(Status)),
        }
    }
}

impl Calls {
    pub(super) fn new(inbox: Inbox) -> Calls {
        Calls { inbox, next: 0, waiting: BTreeMap::new() }
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
                let scope = if targets == [proc.clone()] { AbortScope::Caller } else { AbortScope::Job };
                let Some(proc) = find(&proc, names) else {
                    return reply.complete(Err(Status::NOT_FOUND));
                };
                let token = self.keep(proc.job, Reply::Done(reply));
                self.pass(PmixCall::Abort { proc, code: status, message, scope, token });
            }
            Upcall::Fence { procs, data, local_status, reply, .. } => {
                let participants = participants(&procs, names);
                match (local_status.into_result(), participants) {
                    (Ok(()), Some((job, ranks))) => {
                        let token = self.keep(job, Reply::Data(reply));
                        self.pass(PmixCall::Fence { job, ranks, data: Bytes::from(data), token });
                    }
                    (Err(status), _) => reply.complete(Err(status)),
                    (_, None) => reply.complete(Err(Status::NOT_SUPPORTED)),
                }
            }
            Upcall::DirectModex { proc, reply, .. } => {
                let Some(proc) = find(&proc, names) else {
                    return reply.complete(Err(Status::NOT_FOUND));
                };
                let token = self.keep(proc.job, Reply::Data(reply));
                self.pass(PmixCall::Modex { proc, token });
            }
            Upcall::Connect { reply, .. } | Upcall::Disconnect { reply, .. } => reply.refuse(),
            Upcall::Log { reply, .. } | Upcall::PushStdin { reply, .. } => reply.refuse(),
            Upcall::ToolConnected { reply, .. } => reply.refuse(),
            Upcall::Spawn { reply, .. } => reply.refuse(),
            Upcall::Query { reply, .. } => reply.refuse(),
            Upcall::JobControl { reply, .. } => reply.refuse(),
            Upcall::Event { code, source, .. } => {
                tracing::debug!(?code, ?source, "an event for other nodes is not passed on");
            }
            // The end of the process says the same.
            Upcall::Lost { .. } => {}
            Upcall::Refused { proc, service } => {
                tracing::debug!(?proc, service, "a service that is not offered");
            }
        }
    }

    /// The machine's reply. A token that is not known has its reply already.
    pub(super) fn reply(&mut self, token: PmixToken, result: CollectiveResult) {
        if let Some((_, reply)) = self.waiting.remove(&token) {
            reply.give(result);
        }
    }

    /// Ends the waiting of a job's calls, or of all.
    pub(super) fn fail(&mut self, job: Option<JobId>, status: Status) {
        let gone = |of: JobId| job.is_none_or(|job| job == of);
        for (_, (_, reply)) in self.waiting.extract_if(.., |_, (of, _)| gone(*of)) {
            reply.give(Err(status.0));
        }
    }

    /// The library cannot serve a job: says so in the name of one of its processes.
    pub(super) fn give_up(&mut self, proc: ProcId, message: String) {
        self.next += 1;
        let token = PmixToken(self.next);
        self.pass(PmixCall::Abort { proc, code: 1, message, scope: AbortScope::Job, token });
    }

    fn note(&mut self, proc: Option<ProcId>, reply: Completer<()>, call: impl FnOnce(ProcId) -> PmixCall) {
        match proc {
            Some(proc) => {
                // Before the reply: the machine must know it by the time the process goes on.
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

    fn pass(&self, call: PmixCall) {
        // The machine is gone only when this process is ending.
        let _ = self.inbox.send(Input::Pmix(call));
    }
}

/// The process that this upcall connects.
pub(super) fn newcomer(upcall: &Upcall, names: &Names) -> Option<ProcId> {
    match upcall {
        Upcall::ClientConnected { proc, .. } => find(proc, names),
        _ => None,
    }
}

fn find(proc: &Proc, names: &Names) -> Option<ProcId> {
    let known = names.get(&proc.nspace)?;
    (proc.rank < known.size).then_some(ProcId { job: known.job, rank: Rank(proc.rank) })
}

/// The job of a fence and its ranks as the machine wants them: sorted, and empty for the whole job. `None` when it spans jobs.
fn participants(procs: &[Proc], names: &Names) -> Option<(JobId, Vec<Rank>)> {
    let nspace = &procs.first()?.nspace;
    let known = names.get(nspace)?;
    if procs.iter().any(|p| p.nspace != *nspace) {
        return None;
    }
    if procs.iter().any(|p| p.rank == Proc::WILDCARD) {
        return Some((known.job, Vec::new()));
    }
    let mut ranks: Vec<Rank> = procs.iter().map(|p| Rank(p.rank)).collect();
    ranks.sort_unstable();
    ranks.dedup();
    if ranks.last()?.0 >= known.size {
        return None;
    }
    if ranks.len() == known.size as usize {
        ranks.clear();
    }
    Some((known.job, ranks))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;

    fn world() -> (Calls, UnboundedReceiver<Input>, Names) {
        let (inbox, inputs) = unbounded_channel();
        let known = Known { job: JobId(1), size: 4 };
        (Calls::new(inbox), inputs, [("d@1".to_owned(), known)].into())
    }
    fn completer<T: Send + 'static>() -> (Completer<T>, Receiver<Result<T, Status>>) {
        let (tx, rx) = channel();
        let finish = move |r| drop(tx.send(r));
        (Completer::new(finish), rx)
    }
    fn fence(procs: &[(&str, u32)]) -> (Upcall, Receiver<Result<Vec<u8>, Status>>) {
        let (reply, answer) = completer();
        let upcall = Upcall::Fence {
            procs: procs.iter().map(|(n, r)| Proc::new(*n, *r)).collect(),
            data: vec![1],
            collect: true,
            timeout_s: None,
            local_status: Status::SUCCESS,
            reply,
        };
        (upcall, answer)
    }
    fn ranks_of(input: Input) -> (Vec<u32>, PmixToken) {
        match input {
            Input::Pmix(PmixCall::Fence { ranks, token, .. }) => (ranks.iter().map(|r| r.0).collect(), token),
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
    fn a_fence_is_answered_once() {
        let (mut calls, mut inputs, names) = world();
        let (upcall, answer) = fence(&[("d@1", Proc::WILDCARD)]);
        calls.receive(upcall, &names);
        let (_, token) = ranks_of(inputs.try_recv().unwrap());
        calls.reply(token, Ok(Bytes::from_static(b"all")));
        calls.reply(token, Err(-1));
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
        assert_eq!(answer.try_recv(), Ok(Err(Status::NOT_SUPPORTED)));
        assert!(inputs.try_recv().is_err());
    }
}
