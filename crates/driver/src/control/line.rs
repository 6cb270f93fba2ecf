//! The line of a PMIx tool on a daemon's node to the head: a relayed connection whose client is this process. What the
//! tool asks for are requests of that connection, and its end is the end of the tool.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use bytes::Bytes;
use ferrite_client::read_piece;
use ferrite_core::{Input, RelayId, RelayInput, RequestId};
use ferrite_types::{DaemonRank, PreloadEntry};
use ferrite_wire::control::{
    ClientMessage, DvmMessage, GREETING_LEN, MAX_CONTROL_FRAME, Reply, Request, check_greeting, greeting,
};
use ferrite_wire::{Resize, TimeWarning};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::spawn_local;

use super::relay::{BUFFER, Came, Waiting};
use super::requests::{Answer, Receipt};
use crate::Inbox;

/// Output that the tool has not taken (bytes); beyond it no more is read from the line.
const MOST_UNTAKEN: usize = 256 * 1024;
/// Largest number of open requests of one tool.
const MOST_OPEN: usize = 16_384;

/// An event that follows a reply, with the number of its request.
pub(crate) enum Later {
    /// The requested change of the DVM's size is over.
    Resized(RequestId, Box<Resize>),
    /// The time of the requested session is nearly over.
    Warned(RequestId, TimeWarning),
}

/// Opens lines, each for one tool.
pub(crate) struct Lines {
    pub(super) inbox: Inbox,
    pub(super) daemon: DaemonRank,
    /// Clients that the machine has not accepted yet.
    pub(super) door: Waiting,
    /// Number of the last client of this node.
    pub(super) number: Rc<Cell<u64>>,
    /// Number of the last request on any line.
    pub(super) requests: Rc<Cell<u32>>,
}

/// The state of one line.
pub(crate) struct Line {
    /// Frames for the head; `None` once the line is over.
    frames: RefCell<Option<UnboundedSender<Bytes>>>,
    open: RefCell<BTreeMap<RequestId, Answer>>,
    /// The files of open submissions, which are read here.
    files: RefCell<BTreeMap<u32, Vec<PreloadEntry>>>,
    requests: Rc<Cell<u32>>,
    later: UnboundedSender<Later>,
    /// Bytes of output that the tool has not taken.
    untaken: Rc<Cell<usize>>,
    taken: Rc<Notify>,
}

impl Lines {
    /// Opens a line to the head. What follows its replies comes to `later`.
    pub(crate) fn open(&self, later: UnboundedSender<Later>) -> Rc<Line> {
        let (own, relayed) = tokio::io::duplex(BUFFER);
        self.number.set(self.number.get() + 1);
        let client = RelayId { daemon: self.daemon, number: self.number.get() };
        self.door.borrow_mut().insert(client, Came::Tool(relayed));
        // The machine is gone only while this process is ending.
        let _ = self.inbox.send(Input::Relay(RelayInput::Came(client)));
        let (line, queue) = Line::new(self.requests.clone(), later);
        let (mut reader, writer) = tokio::io::split(own);
        spawn_local(write(writer, queue, true));
        let listener = line.clone();
        spawn_local(async move {
            let greeted = greet(&mut reader).await;
            listen(reader, listener, greeted).await;
        });
        line
    }
}

/// Connects to a DVM from outside; the greetings are exchanged. An error in words.
pub type Dial = Box<dyn Fn() -> Result<UnixStream, String> + Send>;

/// Opens lines of a process that belongs to no DVM, over connections of its own.
pub(crate) struct Dials {
    dial: Dial,
    requests: Rc<Cell<u32>>,
}

impl Dials {
    pub(crate) fn new(dial: Dial) -> Dials {
        Dials { dial, requests: Rc::default() }
    }

    /// Opens a line to the head. One that cannot be opened is over, and refuses all requests.
    pub(crate) fn open(&self, later: UnboundedSender<Later>) -> Rc<Line> {
        let (line, queue) = Line::new(self.requests.clone(), later);
        let connected = (self.dial)().and_then(|stream| {
            let prepared = stream.set_nonblocking(true).and_then(|()| tokio::net::UnixStream::from_std(stream));
            prepared.map_err(|error| error.to_string())
        });
        match connected {
            Ok(stream) => {
                let (reader, writer) = tokio::io::split(stream);
                spawn_local(write(writer, queue, false));
                spawn_local(listen(reader, line.clone(), Ok(())));
            }
            Err(cause) => {
                crate::notice::print(&format!("The DVM cannot be reached for the tool that directs this job: {cause}"));
                line.hang_up();
            }
        }
        line
    }
}

impl Line {
    /// A line, and what it says: that it is a tool's.
    fn new(requests: Rc<Cell<u32>>, later: UnboundedSender<Later>) -> (Rc<Line>, UnboundedReceiver<Bytes>) {
        let (frames, queue) = unbounded_channel();
        let _ = frames.send(ClientMessage::Tool.encode_frame());
        let line = Line {
            frames: RefCell::new(Some(frames)),
            open: RefCell::default(),
            files: RefCell::default(),
            requests,
            later,
            untaken: Rc::default(),
            taken: Rc::default(),
        };
        (Rc::new(line), queue)
    }

    /// Opens a request. When the line is over, or the tool has too many open, it is refused at once.
    pub(super) fn open(&self, request: Request, answer: Answer) -> RequestId {
        self.requests.set(self.requests.get() + 1);
        let id = self.requests.get();
        let number = RequestId(id.into());
        if let Request::Submit(submission) = &request
            && !submission.spec.preload.is_empty()
        {
            self.files.borrow_mut().insert(id, submission.spec.preload.clone());
        }
        let is_full = self.open.borrow().len() >= MOST_OPEN;
        if is_full || !self.say(&ClientMessage::Open { id, request }) {
            let why = if is_full { "This tool has too many open requests." } else { LOST };
            // The caller has to know the number by the time of the answer.
            spawn_local(async move { answer.give(number, Reply::Refused(why.to_owned())) });
        } else {
            self.open.borrow_mut().insert(number, answer);
        }
        number
    }

    pub(super) fn stdin(&self, request: RequestId, data: Bytes) {
        self.say(&ClientMessage::Stdin { id: number_of(request), data });
    }

    /// Ends the line: the tool is gone, and nobody waits for its replies.
    pub(super) fn hang_up(&self) {
        self.frames.take();
        drop(self.open.take());
    }

    /// Reads a piece of a file of a submission: small enough to be read at once.
    fn read_file(&self, id: u32, entry: u32, offset: u64, length: u32) {
        let path = self.files.borrow().get(&id).and_then(|files| Some(files.get(entry as usize)?.source.clone()));
        if let Some(path) = path {
            self.say(&ClientMessage::File { id, piece: read_piece(entry, &path, offset, length) });
        }
    }

    /// Sends a message to the head. False when the line is over.
    fn say(&self, message: &ClientMessage) -> bool {
        self.frames.borrow().as_ref().is_some_and(|frames| frames.send(message.encode_frame()).is_ok())
    }

    fn take(&self, message: DvmMessage) {
        let submitter = |id: u32| match self.open.borrow().get(&RequestId(id.into())) {
            Some(Answer::Submitter(submitter)) => Some(submitter.clone()),
            Some(Answer::Once(_)) | None => None,
        };
        match message {
            DvmMessage::Accepted { id, nspace, .. } => {
                submitter(id).into_iter().for_each(|s| s.accepted(nspace.clone()))
            }
            DvmMessage::Launched { id, result } => submitter(id).into_iter().for_each(|s| s.launched(result)),
            DvmMessage::ReadyForDebug { id } => submitter(id).into_iter().for_each(|s| s.ready_for_debug()),
            DvmMessage::Notice { id, text } => submitter(id).into_iter().for_each(|s| s.notice(text.clone())),
            DvmMessage::ReadStdin { id, limit } => {
                submitter(id).into_iter().for_each(|s| s.read_stdin(limit as usize));
            }
            DvmMessage::ReadFile { id, entry, offset, length } => self.read_file(id, entry, offset, length),
            DvmMessage::Output { id, rank, stream, data } => {
                if let Some(submitter) = submitter(id) {
                    let (untaken, taken, size) = (self.untaken.clone(), self.taken.clone(), data.len());
                    untaken.set(untaken.get() + size);
                    let receipt = Receipt::then(move || {
                        untaken.set(untaken.get() - size);
                        taken.notify_one();
                    });
                    submitter.output(rank, stream, data, receipt);
                }
            }
            DvmMessage::Reply { id, reply } => {
                let number = RequestId(id.into());
                self.files.borrow_mut().remove(&id);
                let answer = self.open.borrow_mut().remove(&number);
                answer.into_iter().for_each(|answer| answer.give(number, reply.clone()));
            }
            DvmMessage::Resized { id, resize } => {
                let _ = self.later.send(Later::Resized(RequestId(id.into()), resize));
            }
            DvmMessage::Warned { id, warning } => {
                let _ = self.later.send(Later::Warned(RequestId(id.into()), warning));
            }
            // PMIx tools get no pictures and follow no events.
            DvmMessage::Picture { .. } | DvmMessage::Event { .. } | DvmMessage::EventsLost { .. } => {}
        }
    }
}

/// The answer to requests of a tool that the head never answers.
const LOST: &str = "The daemon of this node serves no more tools.";

fn number_of(request: RequestId) -> u32 {
    u32::try_from(request.0).unwrap_or(u32::MAX)
}

/// Writes frames until the line is over; a greeting first, if that has not been said.
async fn write(mut to: WriteHalf<impl AsyncWrite>, mut queue: UnboundedReceiver<Bytes>, greets: bool) {
    if greets && to.write_all(&greeting()).await.is_err() {
        return;
    }
    while let Some(frame) = queue.recv().await {
        if to.write_all(&frame).await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}

/// Reads what the head says until the line is over; then the open requests fail.
async fn listen(mut from: ReadHalf<impl AsyncRead>, line: Rc<Line>, greeted: io::Result<()>) {
    let heard = match greeted {
        Ok(()) => hear(&mut from, &line).await,
        Err(error) => Err(error),
    };
    if let Err(error) = heard {
        tracing::debug!(%error, "the line of a PMIx tool is over");
    }
    line.frames.take();
    let open = line.open.take();
    open.into_iter().for_each(|(number, answer)| answer.give(number, Reply::Refused(LOST.to_owned())));
}

async fn greet(from: &mut ReadHalf<impl AsyncRead>) -> io::Result<()> {
    let mut theirs = [0; GREETING_LEN];
    from.read_exact(&mut theirs).await?;
    check_greeting(&theirs).map_err(io::Error::other)
}

async fn hear(from: &mut ReadHalf<impl AsyncRead>, line: &Line) -> io::Result<()> {
    loop {
        while line.untaken.get() > MOST_UNTAKEN {
            line.taken.notified().await;
        }
        let length = from.read_u32_le().await? as usize;
        if length > MAX_CONTROL_FRAME {
            return Err(io::Error::other(format!("a frame of {length} bytes")));
        }
        let mut body = vec![0; length];
        from.read_exact(&mut body).await?;
        line.take(DvmMessage::decode(&body).map_err(io::Error::other)?);
    }
}

#[cfg(test)]
mod tests;
