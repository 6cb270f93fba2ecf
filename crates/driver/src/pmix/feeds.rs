//! Standard input from PMIx tools (`PMIx_IOF_push`): pieces for a job, and the feeding of jobs whose input is nobody's.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use bytes::Bytes;
use ferrite_core::RequestId;
use ferrite_pmix::{Completer, Proc, Status};
use ferrite_pmix_sys as sys;
use ferrite_types::{PmixStatus, Rank};
use ferrite_wire::Stream;
use ferrite_wire::control::Reply;

use super::control;
use crate::control::{Receipt, Requests, Submitter};

/// Pushed pieces, and the reads of the machine that wait for one.
#[derive(Default)]
pub(super) struct Pushed {
    pieces: VecDeque<(Bytes, Completer<()>)>,
    /// The most bytes of each read.
    limits: VecDeque<usize>,
    /// The answer to all further pushes.
    over: Option<Status>,
}

impl Pushed {
    /// Adds a piece; no bytes are the end of input.
    pub(super) fn push(&mut self, data: Bytes, reply: Completer<()>) {
        match self.over {
            Some(status) => reply.complete(Err(status)),
            None => self.pieces.push_back((data, reply)),
        }
    }

    /// Notes that the machine reads.
    pub(super) fn read(&mut self, limit: usize) {
        self.limits.push_back(limit);
    }

    /// Takes a piece for the waiting read. A push is answered when all of its bytes are taken.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        let limit = self.limits.front().copied()?;
        let (mut data, reply) = self.pieces.pop_front()?;
        self.limits.pop_front();
        let piece = data.split_to(data.len().min(limit));
        if piece.is_empty() {
            reply.complete(Err(Status::IOF_COMPLETE));
        } else if data.is_empty() {
            reply.complete(Ok(()));
        } else {
            self.pieces.push_front((data, reply));
        }
        Some(piece)
    }

    /// Answers what waits, and all that is pushed later.
    pub(super) fn end(&mut self, status: Status) {
        self.over = Some(status);
        self.pieces.drain(..).for_each(|(_, reply)| reply.complete(Err(status)));
    }
}

/// The feeders of a node, by tool and namespace. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Feeds(Rc<RefCell<Feeders>>);

type Feeders = BTreeMap<(Proc, String), Rc<Feeder>>;

impl Feeds {
    /// Passes a piece on to a job that the tool has not spawned; the first one asks the head whether it may (spec
    /// L146). `ranks` are the readers that the tool names, and `open` opens a way to the head.
    pub(super) fn push(
        &self,
        tool: Proc,
        (nspace, ranks): (&str, Vec<Rank>),
        dvm: &str,
        data: Bytes,
        reply: Completer<()>,
        open: &dyn Fn() -> Requests,
    ) {
        let Some(job) = control::job_of(nspace, dvm) else {
            return reply.complete(Err(Status::NOT_FOUND));
        };
        let key = (tool, nspace.to_owned());
        let known = self.0.borrow().get(&key).cloned();
        match known {
            Some(feeder) if feeder.ranks == ranks => return feeder.push(data, reply),
            Some(_) => {
                tracing::warn!(nspace, ?ranks, "a PMIx tool feeds other ranks of this job already");
                return reply.complete(Err(Status::NOT_SUPPORTED));
            }
            None => {}
        }
        let feeder = Rc::new(Feeder {
            key: key.clone(),
            ranks: ranks.clone(),
            feeds: self.clone(),
            requests: open(),
            request: Cell::default(),
            pushed: RefCell::default(),
        });
        self.0.borrow_mut().insert(key, feeder.clone());
        feeder.push(data, reply);
        feeder.request.set(Some(feeder.requests.feed(job, ranks, feeder.clone())));
        feeder.feed();
    }

    /// Ends what a tool feeds: it is gone.
    pub(super) fn part_with(&self, tool: &Proc) {
        let gone: Vec<Rc<Feeder>> = {
            let mut feeders = self.0.borrow_mut();
            feeders.extract_if(.., |(of, _), _| of == tool).map(|(_, feeder)| feeder).collect()
        };
        for feeder in gone {
            feeder.pushed.borrow_mut().end(Status::IOF_COMPLETE);
            feeder.request.get().into_iter().for_each(|request| feeder.requests.gone(request));
        }
    }
}

/// A tool that feeds a job.
struct Feeder {
    key: (Proc, String),
    /// The readers that the tool has named; none = whoever reads.
    ranks: Vec<Rank>,
    feeds: Feeds,
    requests: Requests,
    request: Cell<Option<RequestId>>,
    pushed: RefCell<Pushed>,
}

impl Feeder {
    fn push(&self, data: Bytes, reply: Completer<()>) {
        self.pushed.borrow_mut().push(data, reply);
        self.feed();
    }

    fn feed(&self) {
        let Some(request) = self.request.get() else { return };
        let piece = self.pushed.borrow_mut().next();
        piece.into_iter().for_each(|piece| self.requests.stdin(request, piece));
    }
}

impl Submitter for Feeder {
    fn accepted(&self, _nspace: String) {}

    fn launched(&self, _result: Result<(), PmixStatus>) {}

    fn ready_for_debug(&self) {}

    fn output(&self, _rank: Rank, _stream: Stream, _data: Bytes, _receipt: Receipt) {}

    fn notice(&self, _text: String) {}

    fn read_stdin(&self, limit: usize) {
        self.pushed.borrow_mut().read(limit);
        self.feed();
    }

    fn reply(&self, reply: Reply) {
        let status = match reply {
            Reply::Refused(text) => {
                tracing::warn!(text, tool = ?self.key.0, "standard input of a PMIx tool is refused");
                Status(sys::PMIX_ERR_IOF_FAILURE)
            }
            _ => Status::IOF_COMPLETE,
        };
        self.pushed.borrow_mut().end(status);
        // A later push asks the head again.
        self.feeds.0.borrow_mut().remove(&self.key);
        // The way was for this request alone; that of the head itself has nothing to end.
        self.requests.tool_gone(Vec::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes a piece; returns where its answer comes.
    fn push(pushed: &mut Pushed, data: &str) -> std::sync::mpsc::Receiver<Result<(), Status>> {
        let (answer, answered) = std::sync::mpsc::channel();
        let reply = Completer::new(move |result| answer.send(result).expect("the test listens"));
        pushed.push(data.as_bytes().to_vec().into(), reply);
        answered
    }

    #[test]
    fn a_push_is_answered_when_all_of_its_bytes_are_taken() {
        let mut pushed = Pushed::default();
        let answered = push(&mut pushed, "abcde");
        assert_eq!(pushed.next(), None, "nobody reads");
        pushed.read(3);
        assert_eq!(pushed.next().as_deref(), Some(&b"abc"[..]));
        assert!(answered.try_recv().is_err());
        assert_eq!(pushed.next(), None, "one piece for each read");
        pushed.read(3);
        assert_eq!(pushed.next().as_deref(), Some(&b"de"[..]));
        assert_eq!(answered.try_recv(), Ok(Ok(())));
    }

    #[test]
    fn no_bytes_are_the_end_and_after_it_each_push_has_the_same_answer() {
        let mut pushed = Pushed::default();
        pushed.read(3);
        let (end, late) = (push(&mut pushed, ""), push(&mut pushed, "x"));
        assert_eq!(pushed.next().as_deref(), Some(&b""[..]));
        assert_eq!(end.try_recv(), Ok(Err(Status::IOF_COMPLETE)));
        pushed.end(Status::NOT_FOUND);
        assert_eq!(late.try_recv(), Ok(Err(Status::NOT_FOUND)));
        assert_eq!(push(&mut pushed, "y").try_recv(), Ok(Err(Status::NOT_FOUND)));
    }
}
