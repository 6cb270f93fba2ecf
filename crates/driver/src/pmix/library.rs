//! The process that runs libpmix for this daemon (`ferrite-pmixd`): started, given orders and callers, watched, and
//! ended. Only [`super::PmixBridge`] and its parts use it. Orders are carried out one after another, which is what
//! "registered before its clients are let in" rests on.
//!
//! The library may crash or hang, because every program of the node speaks with it. So the process is pinged behind
//! each batch of orders, and every few seconds while programs are connected; if it does not answer in time, it is
//! ended.

mod process;
mod watch;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use ferrite_core::Account;
use ferrite_pmix::protocol::{AnswerSender, Order, frame_order};
use ferrite_pmix::{Audience, Info, JobInfo, Notice, OutputChannel, Proc, ServerConfig, Status, Upcall, Value};
use ferrite_pmix_sys as sys;
use ferrite_wire::Stream;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::spawn_local;
use tokio::time::Instant;

use crate::Inbox;
use crate::output::credit;
#[cfg(test)]
pub(super) use process::PROGRAM;
pub(crate) use process::Runner;
use process::begin;
use watch::Watch;

/// To describe one process of a job takes the library less than this.
const PATIENCE_A_PROCESS: Duration = Duration::from_millis(2);
/// Orders that are written together.
const BATCH: usize = 64;

/// What the process has to say.
pub(super) enum Event {
    /// A client wants something.
    Upcall(Upcall),
    /// The library does not take this job. In words.
    Refused(String, String),
    /// The process is gone. In words.
    Ended(String),
}

/// What is called with the data of a process.
type Fetched = Box<dyn FnOnce(Result<Vec<u8>, Status>)>;

/// A handle of the process.
#[derive(Clone)]
pub(super) struct Library(Rc<Shared>);

struct Shared {
    orders: UnboundedSender<Order>,
    /// Over which connections are passed.
    entrance: AsyncFd<OwnedFd>,
    pid: Pid,
    state: RefCell<State>,
    /// Something that [`Library::ready`] waits for has happened.
    changed: Notify,
    /// The watchdog has another time to wait for.
    wound: Notify,
    next: Cell<u64>,
    patience: Duration,
}

#[derive(Default)]
struct State {
    /// Why it is gone.
    ended: Option<String>,
    /// Jobs that the library knows, or does not take.
    registered: BTreeMap<String, Result<(), String>>,
    /// Jobs of which processes are connected.
    callers: BTreeSet<String>,
    fetches: BTreeMap<u64, Fetched>,
    deliveries: BTreeMap<u64, Box<dyn FnOnce()>>,
    /// The ping that is not answered, and when it is too late.
    ping: Option<(u64, Instant)>,
    /// Beyond the usual, for what was ordered since the last ping.
    allowance: Duration,
    heard: Option<Instant>,
}

/// The process cannot serve.
#[derive(Debug)]
pub(super) struct Unusable;

impl Library {
    /// Starts the process, and there the library. What happens comes as `events`, `Ended` as the last of them.
    ///
    /// # Errors
    /// When the process cannot be started, in words.
    pub(super) fn start(
        runner: &Runner,
        config: ServerConfig,
        events: UnboundedSender<Event>,
    ) -> Result<Library, String> {
        let program = &runner.program;
        let begun = begin(program);
        let begun = begun.map_err(|error| format!("{} cannot be started: {error}; it belongs beside prte and prted, or name it by --prtemca ferrite_pmixd", program.display()))?;
        let (orders, todo) = unbounded_channel();
        let shared = Rc::new(Shared {
            orders: orders.clone(),
            entrance: begun.entrance,
            pid: Pid::from_child(&begun.child),
            state: RefCell::default(),
            changed: Notify::new(),
            wound: Notify::new(),
            next: Cell::new(0),
            patience: runner.patience,
        });
        let (reading, writing) = begun.daemon.into_split();
        shared.order(Order::Start(config));
        spawn_local(write(Rc::clone(&shared), todo, writing));
        let answers = AnswerSender::new(move |order| drop(orders.send(order)));
        let watch = Watch { shared: Rc::clone(&shared), answers, events, program: program.display().to_string() };
        spawn_local(watch.run(reading, begun.child, begun.ended));
        Ok(Library(shared))
    }

    pub(super) fn register(&self, info: JobInfo) {
        let more = PATIENCE_A_PROCESS * info.size;
        self.0.state.borrow_mut().allowance += more;
        self.order(Order::Register(Box::new(info)));
    }

    pub(super) fn deregister(&self, nspace: String) {
        let mut state = self.0.state.borrow_mut();
        state.registered.remove(&nspace);
        state.callers.remove(&nspace);
        drop(state);
        self.order(Order::Deregister(nspace));
    }

    /// Returns when the library runs and knows this job, or just runs.
    ///
    /// # Errors
    /// When it never will.
    pub(super) async fn ready(&self, nspace: Option<&str>) -> Result<(), Unusable> {
        loop {
            let changed = self.0.changed.notified();
            if let Some(done) = self.outcome(nspace) {
                return done;
            }
            changed.await;
        }
    }

    /// What [`Library::ready`] waits for, once it is known.
    fn outcome(&self, nspace: Option<&str>) -> Option<Result<(), Unusable>> {
        let state = self.0.state.borrow();
        if state.ended.is_some() {
            return Some(Err(Unusable));
        }
        match nspace {
            Some(nspace) => state.registered.get(nspace).map(|done| done.clone().map_err(|_| Unusable)),
            None => state.heard.map(|_| Ok(())),
        }
    }

    /// Passes a connection of a process of that job on, or of a tool; the library serves it from here on.
    ///
    /// # Errors
    /// When the process does not take it.
    pub(super) async fn admit(&self, nspace: Option<&str>, connection: impl AsFd) -> io::Result<()> {
        let pass = |entrance: &OwnedFd| {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut rights = SendAncillaryBuffer::new(&mut space);
            let connections = [connection.as_fd()];
            rights.push(SendAncillaryMessage::ScmRights(&connections));
            Ok(sendmsg(entrance, &[IoSlice::new(&[0])], &mut rights, SendFlags::NOSIGNAL)?)
        };
        self.0.entrance.async_io(Interest::WRITABLE, pass).await?;
        self.0.state.borrow_mut().callers.extend(nspace.map(str::to_owned));
        self.0.ping();
        Ok(())
    }

    /// Gets what a local process has published; `done` is called once.
    pub(super) fn fetch(&self, proc: Proc, done: impl FnOnce(Result<Vec<u8>, Status>) + 'static) {
        if self.0.is_over() {
            return done(Err(Status::NOT_RUNNING));
        }
        let number = self.0.number();
        self.0.state.borrow_mut().fetches.insert(number, Box::new(done));
        self.order(Order::Fetch(number, proc));
    }

    /// Hands output to the tool that runs this job. The account is settled when the library has taken it.
    pub(super) fn deliver(&self, from: Proc, stream: Stream, data: Vec<u8>, account: Option<Account>, inbox: Inbox) {
        let channel = match stream {
            Stream::Stdout => OutputChannel::Stdout,
            Stream::Stderr => OutputChannel::Stderr,
        };
        if self.0.is_over() {
            return credit(&inbox, account);
        }
        let number = self.0.number();
        self.0.state.borrow_mut().deliveries.insert(number, Box::new(move || credit(&inbox, account)));
        self.order(Order::Deliver(number, from, channel, data));
    }

    /// Tells a tool, or a process, that a job which it has spawned is over.
    pub(super) fn job_end(&self, server: Proc, tool: Proc, job: Proc, exit_code: i32) {
        let info = vec![
            Info::new(sys::PMIX_EVENT_AFFECTED_PROC, Value::Proc(job)),
            Info::new(sys::PMIX_JOB_TERM_STATUS, Value::Status(Status(exit_code))),
            Info::new(sys::PMIX_EXIT_CODE, Value::Int(exit_code)),
        ];
        let to = Audience::Procs(vec![tool]);
        self.notify(Notice { code: Status::EVENT_JOB_END, source: server, to, info });
    }

    /// Sends an event. Nobody says whether it was heard.
    pub(super) fn notify(&self, notice: Notice) {
        self.notify_since(0, notice);
    }

    /// Sends an event if the library's major release is this one or a later one.
    pub(super) fn notify_since(&self, major: u32, notice: Notice) {
        self.order(Order::Notify(Box::new(notice), major));
    }

    /// Ends the process; nobody is told.
    pub(super) fn end(&self) {
        self.0.end();
    }

    fn order(&self, order: Order) {
        self.0.order(order);
    }
}

impl Shared {
    fn order(&self, order: Order) {
        // Of a process that is gone nothing is expected any more.
        let _ = self.orders.send(order);
    }

    fn number(&self) -> u64 {
        self.next.set(self.next.get() + 1);
        self.next.get()
    }

    fn is_over(&self) -> bool {
        self.state.borrow().ended.is_some()
    }

    /// Asks for a sign of life, unless one is awaited.
    fn ping(&self) {
        let mut state = self.state.borrow_mut();
        if state.ping.is_none() {
            let number = self.number();
            let patience = self.patience + std::mem::take(&mut state.allowance);
            state.ping = Some((number, Instant::now() + patience));
            self.order(Order::Ping(number));
            self.wound.notify_one();
        }
    }

    /// Only while it is not reaped: afterwards the number may be somebody else's.
    fn end(&self) {
        if !self.is_over() {
            let _ = kill_process_group(self.pid, Signal::KILL);
        }
    }
}

/// Writes orders as they come, each batch with a ping behind it.
async fn write(shared: Rc<Shared>, mut todo: UnboundedReceiver<Order>, mut socket: OwnedWriteHalf) {
    let mut batch = Vec::with_capacity(BATCH);
    while todo.recv_many(&mut batch, BATCH).await > 0 {
        let asks = batch.iter().any(|order| !matches!(order, Order::Ping(_)));
        let bytes: Vec<u8> = batch.drain(..).filter_map(|order| frame_order(&order)).flatten().collect();
        if socket.write_all(&bytes).await.is_err() {
            // It is gone, and whoever reads from it hears that too.
            return;
        }
        if asks {
            shared.ping();
        }
    }
}
