//! One client's connection: turns its frames into inputs and queues the frames for it. The listener serves it;
//! [`super::Control`] fills its queue.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use ferrite_core::{Account, HeadInput, Input, RequestId};
use ferrite_wire::control::{
    ClientMessage, DvmMessage, Event, GREETING_LEN, MAX_CONTROL_FRAME, Reply, Request, check_greeting, greeting,
};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Notify;

use super::ahead::Ahead;
use super::service::{self, Interpreter, Said};
use super::{Asker, Hub};
use crate::output::credit;

/// A client that has sent nothing after this time is disconnected.
const GREETING_LIMIT: Duration = Duration::from_secs(10);
/// Largest number of open requests of one client.
const MOST_OPEN: usize = 16_384;
/// Largest size of replies that wait for a client (bytes); beyond it no more is read from the client.
const MOST_REPLIES: usize = 8 << 20;
/// Largest size of the queue for a client (bytes); beyond it events are left out.
const MOST_BEFORE_EVENTS: usize = 1 << 20;
/// Size of one write (bytes): small frames are joined.
const WRITE_SIZE: usize = 128 * 1024;

/// The state of one connection.
#[derive(Default)]
pub(super) struct Client {
    queue: RefCell<VecDeque<Waiting>>,
    /// Bytes in the queue, and how many of them are replies.
    queued: Cell<usize>,
    replies: Cell<usize>,
    /// True while the writer holds the frames that it took from the queue, with the accounts of their windows. This
    /// state lies here because the writer may be dropped in the middle of a write.
    writing: Cell<bool>,
    held: RefCell<Vec<Account>>,
    /// Signals that the queue has frames to write.
    filled: Notify,
    /// Signals that frames were written.
    drained: Notify,
    requests: RefCell<BTreeMap<u32, RequestId>>,
    /// Read-ahead of the submissions that read standard input.
    input: RefCell<BTreeMap<u32, Ahead>>,
    follow: Cell<Option<u32>>,
    /// True for the connection of a PMIx tool, with the requests that may own sessions.
    tool: Cell<bool>,
    /// True when the client wants to hear that its jobs run.
    starts: Cell<bool>,
    asked: RefCell<Vec<RequestId>>,
    events_lost: Cell<u64>,
    closed: Cell<bool>,
    /// The interpreter of this client's JSON lines; `None` = it speaks in frames.
    interpreter: RefCell<Option<Box<dyn Interpreter>>>,
    /// The interpreter's messages to the DVM, which follow from what the client was told.
    wishes: RefCell<VecDeque<ClientMessage>>,
    wished: Notify,
    /// True when the last line of the interpreter is in the queue.
    is_over: Cell<bool>,
    /// True for a client beyond the limit: it is told that the DVM serves no more clients.
    surplus: bool,
}

struct Waiting {
    frame: Bytes,
    account: Option<Account>,
    reply: bool,
}

/// Why a connection ended, for the log.
#[derive(Debug, thiserror::Error)]
pub(super) enum Ended {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Greeting(#[from] ferrite_wire::control::GreetingError),
    #[error("it did not greet in time")]
    Silent,
    #[error("a frame of {0} bytes is too large")]
    TooLarge(usize),
    #[error("a frame cannot be understood: {0}")]
    Garbled(#[from] ferrite_wire::CodecError),
    #[error("it used the number {0} for two requests at a time")]
    NumberInUse(u32),
}

/// Serves a client until it goes.
pub(super) async fn serve(
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
    hub: Rc<Hub>,
    surplus: bool,
) {
    attend(Rc::new(Client::new(surplus)), reader, writer, hub, std::future::pending()).await;
}

/// Serves this client until it leaves or something else ends the connection.
pub(super) async fn attend(
    client: Rc<Client>,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
    hub: Rc<Hub>,
    until: impl Future<Output = ()>,
) {
    hub.clients.borrow_mut().push(client.clone());
    let ended = tokio::select! {
        ended = converse(reader, writer, &client, &hub) => ended,
        () = until => None,
    };
    if let Some(cause) = ended {
        tracing::debug!(%cause, "a client is gone");
    }
    hub.forget(&client);
}

/// Returns why the connection ended; `None` when the client just left.
async fn converse(
    reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
    client: &Rc<Client>,
    hub: &Hub,
) -> Option<Ended> {
    let mut reader = BufReader::with_capacity(64 * 1024, reader);
    let speaks_json = match first_byte(&mut reader).await {
        Ok(first) => first == Some(service::FIRST_BYTE),
        Err(cause) => return Some(cause),
    };
    if speaks_json && let Some(interpreter) = hub.interpreter() {
        client.interpreter.replace(Some(interpreter));
        let said = tokio::select! {
            ended = service::read_lines(&mut reader, client, hub) => return ended.err(),
            said = write_to(&mut writer, client, hub) => said,
        };
        if let Err(error) = said {
            return Some(error.into());
        }
        service::take_leave(reader, writer).await;
        return None;
    }
    // A client of another version learns this version from the greeting, before its own is judged.
    if let Err(error) = writer.write_all(&greeting()).await {
        return Some(error.into());
    }
    tokio::select! {
        ended = read_from(reader, client, hub) => ended.err(),
        ended = write_to(&mut writer, client, hub) => ended.err().map(Ended::Io),
    }
}

/// Waits for the first byte of a client, which stays in the reader; `None` = the client has left.
async fn first_byte(reader: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<u8>, Ended> {
    let heard = tokio::time::timeout(GREETING_LIMIT, reader.fill_buf()).await;
    Ok(heard.map_err(|_| Ended::Silent)??.first().copied())
}

async fn read_from(mut reader: impl AsyncBufRead + Unpin, client: &Rc<Client>, hub: &Hub) -> Result<(), Ended> {
    let mut theirs = [0; GREETING_LEN];
    let greeted = tokio::time::timeout(GREETING_LIMIT, reader.read_exact(&mut theirs)).await;
    greeted.map_err(|_| Ended::Silent)??;
    check_greeting(&theirs)?;
    loop {
        client.has_room().await;
        let length = match reader.read_u32_le().await {
            Ok(length) => length as usize,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if length > MAX_CONTROL_FRAME {
            return Err(Ended::TooLarge(length));
        }
        // The buffer grows with the bytes that arrive: the announced length may be wrong.
        let mut body = Vec::with_capacity(length.min(64 * 1024));
        if (&mut reader).take(length as u64).read_to_end(&mut body).await? < length {
            return Ok(());
        }
        on_message(ClientMessage::decode(&body)?, client, hub)?;
    }
}

pub(super) fn on_message(message: ClientMessage, client: &Rc<Client>, hub: &Hub) -> Result<(), Ended> {
    // A message about a request whose reply was just sent crossed that reply on its way.
    let known = |id: u32| client.requests.borrow().get(&id).copied();
    match message {
        ClientMessage::Open { id, request } => return open(id, request, client, hub),
        ClientMessage::Stdin { id, data } => {
            if let (Some(request), Some(data)) = (known(id), client.input_came(id, data)) {
                hub.send(Input::Head(HeadInput::Stdin { request, data }));
            }
        }
        ClientMessage::File { id, piece } => {
            if let Some(request) = known(id) {
                hub.send(Input::Head(HeadInput::FileRead { request, piece }));
            }
        }
        ClientMessage::Cancel { id } => {
            if let Some(request) = known(id) {
                hub.send(Input::Head(HeadInput::Cancel(request)));
            }
        }
        ClientMessage::Signal { id, signal } => {
            if let Some(request) = known(id) {
                hub.send(Input::Head(HeadInput::SignalSubmitted { request, signal }));
            }
        }
        ClientMessage::Follow { id } => client.follow.set(Some(id)),
        ClientMessage::Tool => client.tool.set(true),
        ClientMessage::Starts => client.starts.set(true),
    }
    Ok(())
}

/// Opens a request of a client. A question of one that waits for nothing passes what others have submitted (spec L129).
fn open(id: u32, request: Request, client: &Rc<Client>, hub: &Hub) -> Result<(), Ended> {
    if client.requests.borrow().contains_key(&id) {
        return Err(Ended::NumberInUse(id));
    }
    let refusal = if client.surplus {
        Some(
            "The DVM has as many clients as its limit of open files allows. Try again when some have ended, or raise \
            the limit (ulimit -n) before prte is started.",
        )
    } else if client.requests.borrow().len() >= MOST_OPEN {
        Some("This client has more open requests than a DVM takes. Wait for some of the replies first.")
    } else {
        None
    };
    if let Some(text) = refusal {
        let reply = Reply::Refused(text.to_owned());
        client.send_reply(DvmMessage::Reply { id, reply });
        return Ok(());
    }
    let waits = !client.requests.borrow().is_empty();
    let number = hub.new_request(Asker::Client(client.clone(), id));
    client.requests.borrow_mut().insert(id, number);
    if client.is_tool() && matches!(request, Request::Submit(_) | Request::Resize(_)) {
        client.asked.borrow_mut().push(number);
    }
    hub.ask(number, request, waits);
    Ok(())
}

/// Writes the queue until the connection breaks, or the last line is written.
async fn write_to(writer: &mut (impl AsyncWrite + Unpin), client: &Client, hub: &Hub) -> io::Result<()> {
    let mut together = Vec::new();
    loop {
        let batch = client.take();
        if batch.is_empty() {
            if client.is_over.get() {
                return Ok(());
            }
            client.filled.notified().await;
            continue;
        }
        let result = match &batch[..] {
            [only] => writer.write_all(only).await,
            many => {
                together.clear();
                many.iter().for_each(|frame| together.extend_from_slice(frame));
                writer.write_all(&together).await
            }
        };
        result?;
        // A sealed stream may still hold some bytes, and the task that waits for `flushed` ends the process.
        writer.flush().await?;
        client.written().for_each(|account| credit(&hub.inbox, Some(account)));
    }
}

impl Client {
    /// Makes a client that has sent nothing yet; a surplus client is told so.
    pub(super) fn new(surplus: bool) -> Client {
        Client { surplus, ..Client::default() }
    }

    /// Queues a message for the client; its bytes count on this account until they are written.
    pub(super) fn send(&self, message: DvmMessage, account: Option<Account>) {
        let frame = self.render(message);
        if !frame.is_empty() || account.is_some() {
            self.enqueue(Waiting { frame, account, reply: false });
        }
    }

    /// Queues a message that counts as a reply: while many of them wait, the client is not listened to.
    pub(super) fn send_reply(&self, message: DvmMessage) {
        let frame = self.render(message);
        self.enqueue_reply(frame);
    }

    fn enqueue_reply(&self, frame: Bytes) {
        if !frame.is_empty() {
            self.replies.set(self.replies.get() + frame.len());
            self.enqueue(Waiting { frame, account: None, reply: true });
        }
    }

    /// Waits while too many replies wait for the client.
    pub(super) async fn has_room(&self) {
        while self.replies.get() > MOST_REPLIES {
            self.drained.notified().await;
        }
    }

    /// The bytes of a message in the language of this client; none when it need not be told.
    fn render(&self, message: DvmMessage) -> Bytes {
        let mut interpreter = self.interpreter.borrow_mut();
        let Some(interpreter) = interpreter.as_mut() else { return message.encode_frame() };
        let Said { lines, messages, is_over } = interpreter.tell(message, service::now());
        self.is_over.set(self.is_over.get() || is_over);
        if !messages.is_empty() {
            self.wishes.borrow_mut().extend(messages);
            self.wished.notify_one();
        }
        lines.into()
    }

    /// Takes what the interpreter has to say to the DVM.
    pub(super) fn take_wishes(&self) -> VecDeque<ClientMessage> {
        self.wishes.take()
    }

    /// Waits until the interpreter has something to say.
    pub(super) async fn wished(&self) {
        self.wished.notified().await;
    }

    /// Passes bytes of the client to its interpreter.
    pub(super) fn hear(&self, bytes: &[u8]) {
        if let Some(interpreter) = self.interpreter.borrow_mut().as_mut() {
            interpreter.hear(bytes);
        }
    }

    /// Has the interpreter read the next line. Returns what it has to say to the DVM; `None` = no whole line is left.
    pub(super) fn next_line(&self) -> Option<Vec<ClientMessage>> {
        let Said { lines, messages, is_over } = self.interpreter.borrow_mut().as_mut()?.next(service::now())?;
        self.is_over.set(self.is_over.get() || is_over);
        self.enqueue_reply(lines.into());
        Some(messages)
    }

    /// Returns the request number under which the client follows events.
    pub(super) fn follows(&self) -> Option<u32> {
        self.follow.get()
    }

    /// True when the client hears that its jobs run.
    pub(super) fn hears_starts(&self) -> bool {
        self.tool.get() || self.starts.get()
    }

    /// True for the connection of a PMIx tool.
    pub(super) fn is_tool(&self) -> bool {
        self.tool.get()
    }

    /// Takes the requests of a PMIx tool that may own sessions.
    pub(super) fn take_asked(&self) -> Vec<RequestId> {
        self.asked.take()
    }

    /// Queues an event, unless too much waits already. The number of omitted events precedes the next event that is
    /// sent. An interpreter hears of all events, because replies of its own depend on them.
    pub(super) fn send_event(&self, id: u32, event: &Event) {
        let is_full = self.queued.get() > MOST_BEFORE_EVENTS;
        if is_full && self.interpreter.borrow().is_none() {
            self.events_lost.set(self.events_lost.get() + 1);
            return;
        }
        let frame = self.render(DvmMessage::Event { id, event: event.clone() });
        if frame.is_empty() {
            return;
        }
        if is_full {
            self.events_lost.set(self.events_lost.get() + 1);
            return;
        }
        let count = self.events_lost.take();
        if count > 0 {
            self.send(DvmMessage::EventsLost { id, count }, None);
        }
        self.enqueue(Waiting { frame, account: None, reply: false });
    }

    /// Notes that the machine wants a piece of input of at most `limit` bytes; returns the piece if it is present.
    pub(super) fn want_input(&self, id: u32, limit: u32) -> Option<Bytes> {
        let (piece, more) = self.input.borrow_mut().entry(id).or_default().want();
        for _ in 0..more {
            self.send(DvmMessage::ReadStdin { id, limit }, None);
        }
        piece
    }

    fn input_came(&self, id: u32, data: Bytes) -> Option<Bytes> {
        self.input.borrow_mut().get_mut(&id)?.come(data)
    }

    /// Notes that the request has its reply.
    pub(super) fn close_request(&self, id: u32) {
        self.input.borrow_mut().remove(&id);
        self.requests.borrow_mut().remove(&id);
    }

    /// Stops writing; returns the accounts of the frames that waited.
    pub(super) fn close(&self) -> Vec<Account> {
        self.closed.set(true);
        self.drained.notify_waiters();
        let queued = std::mem::take(&mut *self.queue.borrow_mut());
        self.held.take().into_iter().chain(queued.into_iter().filter_map(|waiting| waiting.account)).collect()
    }

    /// Returns the accounts of the frames that the writer took.
    fn written(&self) -> impl Iterator<Item = Account> {
        self.writing.set(false);
        self.drained.notify_waiters();
        self.held.take().into_iter()
    }

    /// Waits until the queue is empty or the connection is gone.
    pub(super) async fn flushed(&self) {
        while !self.closed.get() && (self.writing.get() || !self.queue.borrow().is_empty()) {
            self.drained.notified().await;
        }
    }

    fn enqueue(&self, waiting: Waiting) {
        self.queued.set(self.queued.get() + waiting.frame.len());
        self.queue.borrow_mut().push_back(waiting);
        self.filled.notify_one();
    }

    /// Takes the next frames to write, joined in one piece.
    fn take(&self) -> Vec<Bytes> {
        let mut queue = self.queue.borrow_mut();
        let (mut count, mut bytes) = (0, 0);
        while let Some(next) = queue.get(count) {
            if count > 0 && bytes + next.frame.len() > WRITE_SIZE {
                break;
            }
            bytes += next.frame.len();
            count += 1;
        }
        let mut frames = Vec::with_capacity(count);
        for waiting in queue.drain(..count) {
            if waiting.reply {
                self.replies.set(self.replies.get() - waiting.frame.len());
            }
            self.held.borrow_mut().extend(waiting.account);
            frames.push(waiting.frame);
        }
        self.queued.set(self.queued.get() - bytes);
        self.writing.set(count > 0);
        frames
    }
}
