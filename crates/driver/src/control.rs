//! The control socket of a persistent DVM for `prun`, `pterm` and `pdvm`: a Unix socket in the session directory, and a
//! TCP port if it is configured (`remote`); one connection per client, any number of requests on each. The engine hands
//! over the machine's output for clients; their requests arrive as [`Input`]s. The machine decides everything.
//!
//! A client that does not read stops only itself: its output waits in its queue on the window of its own job, events
//! are left out and counted, and it can send no further requests while its replies pile up.

mod ahead;
mod client;
mod contact;
mod line;
mod listener;
pub(crate) mod metrics;
pub(crate) mod relay;
pub(crate) mod remote;
mod requests;
mod sealed;
pub(crate) mod service;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use ferrite_core::{Account, HeadInput, Input, RequestId, Transition};
use ferrite_types::{JobId, PictureFormat, PmixStatus, Rank, Timestamp};
use ferrite_wire::control::{DvmMessage, Event, EventKind, Reply, Request};
use ferrite_wire::{Resize, Stream, TimeWarning};

use crate::Inbox;
use crate::output::credit;
use client::Client;
use service::{Interpreter, Opened};

pub(crate) use contact::Published;
pub use line::Dial;
pub(crate) use line::{Dials, Later, Lines};
pub(crate) use listener::listen;
use requests::Answer;
pub(crate) use requests::{Receipt, Requests, Submitter};

/// Largest piece of a picture in one frame (bytes): other frames for the same reader go in between.
const PICTURE_PIECE: usize = 256 * 1024;

/// The engine's side of all connections.
pub(crate) struct Control {
    dvm: String,
    hub: Rc<Hub>,
}

/// State that all connections share.
pub(crate) struct Hub {
    inbox: Inbox,
    /// The way of questions, which pass what others have submitted.
    questions: Inbox,
    /// Number of the next request; zero is the head's own.
    next: Cell<u64>,
    /// Open requests, each with the receiver of its reply.
    open: RefCell<BTreeMap<RequestId, Asker>>,
    /// Answered requests of relayed PMIx tools, which hear how their changes of the DVM's size end.
    later: RefCell<BTreeMap<RequestId, (Rc<Client>, u32)>>,
    clients: RefCell<Vec<Rc<Client>>>,
    /// The interpreter for clients that begin with JSON lines.
    service: Option<Opened>,
}

/// The receiver of a reply.
enum Asker {
    /// A client, and its own number for the request.
    Client(Rc<Client>, u32),
    /// A part of this process.
    Here(Answer),
}

impl Control {
    /// Makes the control side; no client can connect before [`listen`].
    pub(crate) fn new(inbox: Inbox, questions: Inbox, dvm: &str, service: Option<Opened>) -> Control {
        let hub = Hub {
            inbox,
            questions,
            next: Cell::new(RequestId::OWN.0 + 1),
            open: RefCell::default(),
            later: RefCell::default(),
            clients: RefCell::default(),
            service,
        };
        Control { dvm: dvm.to_owned(), hub: Rc::new(hub) }
    }

    /// Returns a handle for requests that do not come over the control socket.
    pub(crate) fn requests(&self) -> Requests {
        Requests::Here(self.hub.clone())
    }

    pub(crate) fn accepted(&self, request: RequestId, job: JobId) {
        let nspace = job.nspace(&self.dvm);
        match self.hub.open.borrow().get(&request) {
            Some(Asker::Client(client, id)) => {
                client.send(DvmMessage::Accepted { id: *id, job, nspace }, None);
            }
            Some(Asker::Here(Answer::Submitter(submitter))) => submitter.accepted(nspace),
            Some(Asker::Here(Answer::Once(_))) | None => {}
        }
    }

    /// Tells a PMIx tool, and whoever has asked for it, whether its job runs; other clients learn it from the messages
    /// that follow.
    pub(crate) fn launched(&self, request: RequestId, result: Result<(), PmixStatus>) {
        match self.hub.open.borrow().get(&request) {
            Some(Asker::Client(client, id)) if client.hears_starts() => {
                client.send(DvmMessage::Launched { id: *id, result }, None);
            }
            Some(Asker::Here(Answer::Submitter(submitter))) => submitter.launched(result),
            Some(Asker::Client(..) | Asker::Here(Answer::Once(_))) | None => {}
        }
    }

    /// Tells a PMIx tool that the processes of its job wait for a debugger, and a person where they are.
    pub(crate) fn ready_for_debug(&self, request: RequestId, text: String) {
        match self.hub.open.borrow().get(&request) {
            Some(Asker::Client(client, id)) if client.is_tool() => {
                client.send(DvmMessage::ReadyForDebug { id: *id }, None);
            }
            Some(Asker::Client(client, id)) => client.send(DvmMessage::Notice { id: *id, text }, None),
            Some(Asker::Here(Answer::Submitter(submitter))) => submitter.ready_for_debug(),
            Some(Asker::Here(Answer::Once(_))) | None => {}
        }
    }

    /// Tells a relayed PMIx tool how the change that it has requested has ended. False for a request of another.
    pub(crate) fn resized(&self, request: RequestId, resize: &Resize) -> bool {
        let message = |id| DvmMessage::Resized { id, resize: Box::new(resize.clone()) };
        self.hub.tell_later(request, message)
    }

    /// Tells a relayed PMIx tool that the session which it has requested is about to end. False for a request of
    /// another.
    pub(crate) fn warned(&self, request: RequestId, warning: &TimeWarning) -> bool {
        self.hub.tell_later(request, |id| DvmMessage::Warned { id, warning: warning.clone() })
    }

    /// Sends the one reply and forgets the request.
    pub(crate) fn reply(&self, request: RequestId, reply: Reply) {
        let asker = self.hub.open.borrow_mut().remove(&request);
        match asker {
            Some(Asker::Client(client, id)) => {
                if client.is_tool() && matches!(reply, Reply::Resize(_)) {
                    self.hub.later.borrow_mut().insert(request, (client.clone(), id));
                }
                client.close_request(id);
                client.send_reply(DvmMessage::Reply { id, reply });
            }
            Some(Asker::Here(answer)) => answer.give(request, reply),
            None => {}
        }
    }

    pub(crate) fn notice(&self, request: RequestId, text: String) {
        match self.hub.open.borrow().get(&request) {
            Some(Asker::Client(client, id)) => client.send(DvmMessage::Notice { id: *id, text }, None),
            Some(Asker::Here(Answer::Submitter(submitter))) => submitter.notice(text),
            Some(Asker::Here(Answer::Once(_))) | None => {}
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
            client.send(DvmMessage::Picture { id, format, data, last }, None);
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
            Some(Asker::Here(Answer::Submitter(submitter))) => submitter.read_stdin(limit),
            Some(Asker::Here(Answer::Once(_))) | None => {}
        }
    }

    /// Asks a client for a piece of a file. False when the file is on this node: a PMIx tool of this node is the
    /// submitter.
    pub(crate) fn read_file(&self, request: RequestId, entry: u32, offset: u64, length: u32) -> bool {
        match self.hub.open.borrow().get(&request) {
            Some(Asker::Client(client, id)) => {
                client.send(DvmMessage::ReadFile { id: *id, entry, offset, length }, None);
                true
            }
            Some(Asker::Here(_)) => false,
            // Its client is gone, which ends the job.
            None => true,
        }
    }

    /// Sends output to a submitter; when the submitter is gone, its window opens again at once.
    pub(crate) fn output(&self, request: RequestId, rank: Rank, stream: Stream, data: Bytes, account: Option<Account>) {
        match self.hub.open.borrow().get(&request) {
            Some(Asker::Client(client, id)) => {
                client.send(DvmMessage::Output { id: *id, rank, stream, data }, account);
            }
            Some(Asker::Here(Answer::Submitter(submitter))) => {
                let inbox = self.hub.inbox.clone();
                submitter.output(rank, stream, data, Receipt::then(move || credit(&inbox, account)));
            }
            Some(Asker::Here(Answer::Once(_))) | None => credit(&self.hub.inbox, account),
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
    /// Makes what speaks JSON lines with a new client; `None` = this DVM has no service.
    fn interpreter(&self) -> Option<Box<dyn Interpreter>> {
        self.service.as_ref().map(Opened::interpreter)
    }

    fn new_request(&self, asker: Asker) -> RequestId {
        let request = RequestId(self.next.replace(self.next.get() + 1));
        self.open.borrow_mut().insert(request, asker);
        request
    }

    fn send(&self, input: Input) {
        // The machine is gone only when this process is ending.
        let _ = self.inbox.send(input);
    }

    /// Hands a request to the machine. A question of a client that waits for nothing else passes what others have
    /// submitted (spec L129); those of a client with open requests stay behind these.
    fn ask(&self, id: RequestId, request: Request, waits: bool) {
        let way = if !waits && request.is_question() { &self.questions } else { &self.inbox };
        let _ = way.send(Input::Head(HeadInput::Request { id, request }));
    }

    fn tell_later(&self, request: RequestId, message: impl FnOnce(u32) -> DvmMessage) -> bool {
        let later = self.later.borrow();
        let Some((client, id)) = later.get(&request) else { return false };
        client.send(message(*id), None);
        true
    }

    /// Ends everything that this client had open. With the connection of a PMIx tool the tool is gone.
    fn forget(&self, client: &Rc<Client>) {
        self.clients.borrow_mut().retain(|other| !Rc::ptr_eq(other, client));
        for account in client.close() {
            credit(&self.inbox, Some(account));
        }
        let is_theirs = |asker: &Asker| matches!(asker, Asker::Client(owner, _) if Rc::ptr_eq(owner, client));
        let theirs: Vec<_> = self.open.borrow_mut().extract_if(.., |_, asker| is_theirs(asker)).collect();
        let asked = client.take_asked();
        if !asked.is_empty() {
            self.send(Input::Head(HeadInput::ToolGone(asked)));
        }
        let is_theirs = |(owner, _): &(Rc<Client>, u32)| Rc::ptr_eq(owner, client);
        let later: Vec<_> = self.later.borrow_mut().extract_if(.., |_, owner| is_theirs(owner)).collect();
        let later = later.into_iter().map(|(request, _)| request);
        for request in theirs.into_iter().map(|(request, _)| request).chain(later) {
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
        Transition::Size { root, is_offer, procs, step } => {
            EventKind::Size { job: *root, is_offer: *is_offer, procs: *procs, step: *step }
        }
        Transition::Proc { proc, to, .. } => EventKind::Proc { job: proc.job, rank: proc.rank, state: *to },
    }
}

/// The advice when something in the session directory cannot be made.
pub(crate) const OTHER_DIRECTORY: &str = "Name another place with TMPDIR or --prtemca prte_tmpdir_base <directory>.";

/// Adds to an error which file could not be made and which alternative the user has.
pub(crate) fn explain(what: &str, path: &std::path::Path, next: &'static str) -> impl FnOnce(io::Error) -> io::Error {
    let text = format!("{what} {}", path.display());
    move |error| io::Error::new(error.kind(), format!("{text} cannot be made: {error}.\n{next}"))
}
