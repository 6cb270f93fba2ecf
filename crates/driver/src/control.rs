//! The control socket of a persistent DVM for `prun`, `pterm` and `pdvm`: a Unix socket in the session directory, and a
//! TCP port if it is configured (`remote`); one connection per client, any number of requests on each. The engine hands
//! over the machine's output for clients; their requests arrive as [`Input`]s. The machine decides everything.
//!
//! A client that does not read stops only itself: its output waits in its queue on the window of its own job, events
//! are left out and counted, and it can send no further requests while its replies pile up.

mod ahead;
mod client;
mod contact;
mod listener;
pub(crate) mod metrics;
pub(crate) mod relay;
pub(crate) mod remote;
mod sealed;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use ferrite_core::{Account, HeadInput, Input, RequestId, Transition};
use ferrite_types::{JobId, PictureFormat, PmixStatus, Timestamp};
use ferrite_wire::Stream;
use ferrite_wire::control::{DvmMessage, Event, EventKind, Reply, Request, Submission};

use crate::Inbox;
use crate::output::credit;
use client::Client;

pub(crate) use contact::Published;
pub(crate) use listener::listen;

/// Largest piece of a picture in one frame (bytes): other frames for the same reader go in between.
const PICTURE_PIECE: usize = 256 * 1024;

/// The engine's side of all connections.
pub(crate) struct Control {
    dvm: String,
    hub: Rc<Hub>,
}

/// State that all connections share.
struct Hub {
    inbox: Inbox,
    /// Number of the next request; zero is the head's own.
    next: Cell<u64>,
    /// Open requests, each with the receiver of its reply.
    open: RefCell<BTreeMap<RequestId, Asker>>,
    clients: RefCell<Vec<Rc<Client>>>,
}

/// The receiver of a reply.
enum Asker {
    /// A client, and its own number for the request.
    Client(Rc<Client>, u32),
    /// A callback for a single request.
    Once(Box<dyn FnOnce(RequestId, Reply)>),
    /// A submitter that does not use the control socket.
    Submitter(Rc<dyn Submitter>),
}

/// Messages for a submitter that is no client of the control socket. Their order is: accepted, any others, one reply;
/// in between comes once whether the job runs, unless nothing was to be started.
pub(crate) trait Submitter {
    fn accepted(&self, nspace: String);
    /// The job's processes run, or never will (a PMIx status).
    fn launched(&self, result: Result<(), PmixStatus>);
    /// Output of the job, to be settled with [`credit`] when it is written.
    fn output(&self, stream: Stream, data: Bytes, account: Option<Account>);
    fn notice(&self, text: String);
    /// The machine wants standard input; [`Requests::stdin`] answers.
    fn read_stdin(&self, limit: usize);
    fn reply(&self, reply: Reply);
}

/// Submits requests to the machine as clients do. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Requests(Rc<Hub>);

impl Requests {
    pub(crate) fn submit(&self, submission: Submission, submitter: Rc<dyn Submitter>) -> RequestId {
        let id = self.0.new_request(Asker::Submitter(submitter));
        self.0.send(Input::Head(HeadInput::Request { id, request: Request::Submit(Box::new(submission)) }));
        id
    }

    pub(crate) fn ask(&self, request: Request, answer: impl FnOnce(Reply) + 'static) {
        let _ = self.ask_numbered(request, |_, reply| answer(reply));
    }

    /// Submits a request and returns its number, under which further messages follow the reply.
    pub(crate) fn ask_numbered(&self, request: Request, answer: impl FnOnce(RequestId, Reply) + 'static) -> RequestId {
        let id = self.0.new_request(Asker::Once(Box::new(answer)));
        self.0.send(Input::Head(HeadInput::Request { id, request }));
        id
    }

    pub(crate) fn stdin(&self, request: RequestId, data: Bytes) {
        self.0.send(Input::Head(HeadInput::Stdin { request, data }));
    }

    /// Tells the machine that the submitter is gone.
    pub(crate) fn gone(&self, request: RequestId) {
        self.0.open.borrow_mut().remove(&request);
        self.0.send(Input::Head(HeadInput::ClientGone(request)));
    }

    /// Tells the machine that the PMIx tool which made these requests is gone.
    pub(crate) fn tool_gone(&self, requests: Vec<RequestId>) {
        self.0.send(Input::Head(HeadInput::ToolGone(requests)));
    }

    pub(crate) fn inbox(&self) -> Inbox {
        self.0.inbox.clone()
    }
}

impl Control {
    /// Makes the control side; no client can connect before [`listen`].
    pub(crate) fn new(inbox: Inbox, dvm: &str) -> Control {
        let hub =
            Hub { inbox, next: Cell::new(RequestId::OWN.0 + 1), open: RefCell::default(), clients: RefCell::default() };
        Control { dvm: dvm.to_owned(), hub: Rc::new(hub) }
    }

    /// Returns a handle for requests that do not come over the control socket.
    pub(crate) fn requests(&self) -> Requests {
        Requests(self.hub.clone())
    }

    pub(crate) fn accepted(&self, request: RequestId, job: JobId) {
        let nspace = job.nspace(&self.dvm);
        match self.hub.open.borrow().get(&request) {
            Some(Asker::Client(client, id)) => {
                client.send(DvmMessage::Accepted { id: *id, job, nspace }.encode_frame(), None);
            }
            Some(Asker::Submitter(submitter)) => submitter.accepted(nspace),
            Some(Asker::Once(_)) | None => {}
        }
    }

    /// Tells the submitter whether its job runs; clients of the socket learn it from the messages that follow.
    pub(crate) fn launched(&self, request: RequestId, result: Result<(), PmixStatus>) {
        if let Some(Asker::Submitter(submitter)) = self.hub.open.borrow().get(&request) {
            submitter.launched(result);
        }
    }

    /// Sends the one reply and forgets the request.
    pub(crate) fn reply(&self, request: RequestId, reply: Reply) {
        let asker = self.hub.open.borrow_mut().remove(&request);
        match asker {
            Some(Asker::Client(client, id)) => {
                client.close_request(id);
                client.send_reply(DvmMessage::Reply { id, reply }.encode_frame());
            }
            Some(Asker::Once(answer)) => answer(request, reply),
            Some(Asker::Submitter(submitter)) => submitter.reply(reply),
            None => {}
        }
    }

    pub(crate) fn notice(&self, request: RequestId, text: String) {
        match self.hub.open.borrow().get(&request) {
            Some(Asker::Client(client, id)) => client.send(DvmMessage::Notice { id: *id, text }.encode_frame(), None),
            Some(Asker::Submitter(submitter)) => submitter.notice(text),
            Some(Asker::Once(_)) | None => {}
        }
    }

    /// Sends a picture in pieces, so that no frame is too large for its reader. PMIx tools get no pictures.
    pub(crate) fn picture(&self, request: RequestId, format: PictureFormat, text: Bytes) {
        let open = self.hub.open.borrow();
        let Some(Asker::Client(client, id)) = open.get(&request) else { return };
        let (id, mut rest) = (*id, text);
        loop {
            let data = rest.split_to(rest.len().min(PICTURE_PIECE));
            let last = rest.is_empty();
            client.send(DvmMessage::Picture { id, format, data, last }.encode_frame(), None);
            if last {
                return;
            }
        }
    }

    pub(crate) fn read_stdin(&self, request: RequestId, limit: usize) {
        match self.hub.open.borrow().get(&request) {
            Some(Asker::Client(client, id)) => {
                if let Some(data) = client.want_input(*id, u32::try_from(limit).unwrap_or(u32::MAX)) {
                    self.hub.send(Input::Head(HeadInput::Stdin { request, data }));
                }
            }
            Some(Asker::Submitter(submitter)) => submitter.read_stdin(limit),
            Some(Asker::Once(_)) | None => {}
        }
    }

    /// Sends output to a submitter; when the submitter is gone, its window opens again at once.
    pub(crate) fn output(&self, request: RequestId, stream: Stream, data: Bytes, account: Option<Account>) {
        match self.hub.open.borrow().get(&request) {
            Some(Asker::Client(client, id)) => {
                let frame = DvmMessage::Output { id: *id, stream, data }.encode_frame();
                client.send(frame, account);
            }
            Some(Asker::Submitter(submitter)) => submitter.output(stream, data, account),
            Some(Asker::Once(_)) | None => credit(&self.hub.inbox, account),
        }
    }

    /// Sends a transition to the clients that follow events.
    pub(crate) fn event(&self, now: Timestamp, step: &Transition) {
        for client in self.hub.clients.borrow().iter() {
            if let Some(id) = client.follows() {
                client.send_event(id, &Event { at_us: now.0, what: kind_of(step) });
            }
        }
    }

    /// Waits until clients have taken their queues, at most for the limit: a client may have stopped.
    pub(crate) async fn flush(&self, limit: Duration) {
        let clients = self.hub.clients.borrow().clone();
        let all = async {
            for client in &clients {
                client.flushed().await;
            }
        };
        let _ = tokio::time::timeout(limit, all).await;
    }
}

impl Hub {
    fn new_request(&self, asker: Asker) -> RequestId {
        let request = RequestId(self.next.replace(self.next.get() + 1));
        self.open.borrow_mut().insert(request, asker);
        request
    }

    fn send(&self, input: Input) {
        // The machine is gone only when this process is ending.
        let _ = self.inbox.send(input);
    }

    /// Ends everything that this client had open.
    fn forget(&self, client: &Rc<Client>) {
        self.clients.borrow_mut().retain(|other| !Rc::ptr_eq(other, client));
        for account in client.close() {
            credit(&self.inbox, Some(account));
        }
        let is_theirs = |asker: &Asker| matches!(asker, Asker::Client(owner, _) if Rc::ptr_eq(owner, client));
        let theirs: Vec<_> = self.open.borrow_mut().extract_if(.., |_, asker| is_theirs(asker)).collect();
        for (request, _) in theirs {
            self.send(Input::Head(HeadInput::ClientGone(request)));
        }
    }
}

fn kind_of(step: &Transition) -> EventKind {
    match step {
        Transition::Job { job, to, .. } => EventKind::Job { job: *job, state: *to },
        Transition::Campaign { campaign, kind, step } => {
            EventKind::Campaign { campaign: *campaign, kind: *kind, step: *step }
        }
        Transition::Proc { proc, to, .. } => EventKind::Proc { job: proc.job, rank: proc.rank, state: *to },
    }
}

/// What to do when something in the session directory cannot be made.
pub(crate) const OTHER_DIRECTORY: &str = "Name another place with TMPDIR or --prtemca prte_tmpdir_base <directory>.";

/// Adds to an error which file could not be made and which alternative the user has.
pub(crate) fn explain(what: &str, path: &std::path::Path, next: &'static str) -> impl FnOnce(io::Error) -> io::Error {
    let text = format!("{what} {}", path.display());
    move |error| io::Error::new(error.kind(), format!("{text} cannot be made: {error}.\n{next}"))
}
