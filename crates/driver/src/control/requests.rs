//! Requests of a part of this process, which are made as clients make theirs: at the head to the machine, at a daemon
//! over a line to the head.

use std::rc::Rc;

use bytes::Bytes;
use ferrite_core::{HeadInput, Input, RequestId};
use ferrite_types::{JobId, PmixStatus, Rank};
use ferrite_wire::Stream;
use ferrite_wire::control::{Reply, Request, Submission};

use super::line::Line;
use super::{Asker, Hub};

/// Submits requests as clients do. Cheap to clone.
#[derive(Clone)]
pub(crate) enum Requests {
    /// At the head.
    Here(Rc<Hub>),
    /// At a daemon, for one PMIx tool of its node.
    Relayed(Rc<Line>),
}

/// The receiver of an answer in this process.
pub(super) enum Answer {
    /// A callback for a single request.
    Once(Box<dyn FnOnce(RequestId, Reply)>),
    /// A submitter that does not use the control socket.
    Submitter(Rc<dyn Submitter>),
}

impl Answer {
    /// Gives the one reply.
    pub(super) fn give(self, request: RequestId, reply: Reply) {
        match self {
            Answer::Once(answer) => answer(request, reply),
            Answer::Submitter(submitter) => submitter.reply(reply),
        }
    }
}

/// Messages for a submitter that is no client of the control socket. Their order is: accepted, any others, one reply;
/// in between comes once whether the job runs, unless nothing was to be started.
pub(crate) trait Submitter {
    fn accepted(&self, nspace: String);
    /// The job's processes run, or never will (a PMIx status).
    fn launched(&self, result: Result<(), PmixStatus>);
    /// The job's processes wait for a debugger.
    fn ready_for_debug(&self);
    /// Output of the job. The receipt goes when it is written.
    fn output(&self, rank: Rank, stream: Stream, data: Bytes, receipt: Receipt);
    fn notice(&self, text: String);
    /// The machine wants standard input; [`Requests::stdin`] answers.
    fn read_stdin(&self, limit: usize);
    fn reply(&self, reply: Reply);
}

/// Says, when it is dropped, that its output was taken, so that more can come.
pub(crate) struct Receipt(Option<Box<dyn FnOnce()>>);

impl Receipt {
    pub(crate) fn then(taken: impl FnOnce() + 'static) -> Receipt {
        Receipt(Some(Box::new(taken)))
    }

    /// For output that nobody waits for.
    pub(crate) fn none() -> Receipt {
        Receipt(None)
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        if let Some(taken) = self.0.take() {
            taken();
        }
    }
}

impl Requests {
    pub(crate) fn submit(&self, submission: Submission, submitter: Rc<dyn Submitter>) -> RequestId {
        self.open(Request::Submit(Box::new(submission)), Answer::Submitter(submitter))
    }

    /// Pulls the output of a job, beside its submitter.
    pub(crate) fn pull(&self, job: JobId, reader: Rc<dyn Submitter>) -> RequestId {
        self.open(Request::Pull(job), Answer::Submitter(reader))
    }

    /// Feeds a job whose standard input is nobody's; the feeder is asked for each piece.
    pub(crate) fn feed(&self, job: JobId, ranks: Vec<Rank>, feeder: Rc<dyn Submitter>) -> RequestId {
        self.open(Request::Feed { job, ranks }, Answer::Submitter(feeder))
    }

    pub(crate) fn ask(&self, request: Request, answer: impl FnOnce(Reply) + 'static) {
        let _ = self.ask_numbered(request, |_, reply| answer(reply));
    }

    /// Submits a request and returns its number, under which further messages follow the reply.
    pub(crate) fn ask_numbered(&self, request: Request, answer: impl FnOnce(RequestId, Reply) + 'static) -> RequestId {
        self.open(request, Answer::Once(Box::new(answer)))
    }

    fn open(&self, request: Request, answer: Answer) -> RequestId {
        match self {
            Requests::Here(hub) => {
                let id = hub.new_request(Asker::Here(answer));
                hub.send(Input::Head(HeadInput::Request { id, request }));
                id
            }
            Requests::Relayed(line) => line.open(request, answer),
        }
    }

    pub(crate) fn stdin(&self, request: RequestId, data: Bytes) {
        match self {
            Requests::Here(hub) => hub.send(Input::Head(HeadInput::Stdin { request, data })),
            Requests::Relayed(line) => line.stdin(request, data),
        }
    }

    /// Tells the machine that the submitter is gone.
    pub(crate) fn gone(&self, request: RequestId) {
        match self {
            Requests::Here(hub) => {
                hub.open.borrow_mut().remove(&request);
                hub.send(Input::Head(HeadInput::ClientGone(request)));
            }
            Requests::Relayed(line) => line.hang_up(),
        }
    }

    /// Tells the machine that the PMIx tool which made these requests is gone.
    pub(crate) fn tool_gone(&self, requests: Vec<RequestId>) {
        match self {
            Requests::Here(hub) => {
                if !requests.is_empty() {
                    hub.send(Input::Head(HeadInput::ToolGone(requests)));
                }
            }
            // All that was opened on the line was the tool's.
            Requests::Relayed(line) => line.hang_up(),
        }
    }
}
