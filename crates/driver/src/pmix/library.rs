//! The process that runs libpmix for this daemon (`ferrite-pmixd`): starts it, gives it orders and callers, watches and
//! ends it. Only [`super::PmixBridge`] and its parts use it. The process carries out orders one after another; so a job
//! is registered before its clients are admitted.
//!
//! The library may crash or hang, because every program of the node communicates with it. So the process is pinged
//! after each batch of orders, and every few seconds while programs are connected; without an answer in time it is
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

use bytes::Bytes;
use ferrite_pmix::protocol::{AnswerSender, Order, append_order};
use ferrite_pmix::{
    Audience, CalledBy, Info, JobInfo, Notice, OutputChannel, Proc, ServerConfig, Status, Upcall, Value,
};
use ferrite_pmix_sys as sys;
use ferrite_types::pmix_status::{PMIX_EVENT_JOB_START, PMIX_LAUNCH_COMPLETE};
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

use crate::control::Receipt;
#[cfg(test)]
pub(super) use process::PROGRAM;
pub(crate) use process::Runner;
use process::begin;
use watch::Watch;

/// Time that the library needs at most to take the description of one process of a job.
const PATIENCE_A_PROCESS: Duration = Duration::from_millis(2);
/// Time that is as good as none.
const NO_LIMIT: Duration = Duration::from_secs(365 * 24 * 3600);
/// Pings, one after the other, after which an event is in its socket: the first may be older than the order, and the
/// library's thread takes the event, its message and its writable socket in three of its rounds.
const ROUNDS_TO_SETTLE: usize = 5;
/// Number of orders that are written together.
const BATCH: usize = 64;

/// Reports of the process.
pub(super) enum Event {
    /// A client calls.
    Upcall(Upcall),
    /// The answer to the order with that number: true when the library has read all that ended processes have sent.
    HeardOut(u64, bool),
    /// The answer to the order with that number: true when the library has no connection.
    Idle(u64, bool),
    /// The tool that has started this launcher lets it go on.
    Called(CalledBy),
    /// The library refuses this job: its namespace, and the reason in words.
    Refused(String, String),
    /// The process is gone: the reason in words.
    Ended(String),
}

/// Called once with the data of a process.
type Fetched = Box<dyn FnOnce(Result<Bytes, Status>)>;

/// A handle of the process.
#[derive(Clone)]
pub(super) struct Library(Rc<Shared>);

struct Shared {
    orders: UnboundedSender<Order>,
    /// Socket over which connections are passed.
    entrance: AsyncFd<OwnedFd>,
    pid: Pid,
    state: RefCell<State>,
    /// Signals that a condition of [`Library::ready`] or [`Library::settle`] has changed.
    changed: Notify,
    /// Signals that the watchdog has a new deadline.
    wound: Notify,
    next: Cell<u64>,
    patience: Duration,
    /// The jobs, connections and events that the library got: it keeps something of each.
    served: Cell<u32>,
    /// The number of them after which another process takes this one's place; `None` = never.
    most_served: Option<u32>,
}

#[derive(Default)]
struct State {
    /// Why the process is gone, once it is.
    ended: Option<String>,
    /// Jobs that the library knows, or the reason why it refuses them.
    registered: BTreeMap<String, Result<(), String>>,
    /// Jobs with connected processes.
    callers: BTreeSet<String>,
    fetches: BTreeMap<u64, Fetched>,
    deliveries: BTreeMap<u64, Receipt>,
    /// The unanswered ping, and its deadline.
    ping: Option<(u64, Instant)>,
    /// Time beyond the usual, for the orders since the last ping.
    allowance: Duration,
    heard: Option<Instant>,
}

/// The question whether the library has no connection.
#[derive(Clone, Copy)]
pub(super) struct Question {
    number: u64,
    /// The number of its services by then.
    served: u32,
}

/// Says that the process cannot serve.
#[derive(Debug)]
pub(super) struct Unusable;

impl Library {
    /// Starts the process, and the library in it. Its reports come as `events`; the last one is `Ended`.
    ///
    /// # Errors
    /// The reason, in words, why the process cannot be started.
    pub(super) fn start(
        runner: &Runner,
        config: ServerConfig,
        events: UnboundedSender<Event>,
    ) -> Result<Library, String> {
        let program = &runner.program;
        let begun = begin(runner, config.caller.as_deref());
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
            served: Cell::new(0),
            // The tool that has started this launcher lets one library go on.
            most_served: config.caller.is_none().then_some(runner.most_served),
        });
        let (reading, writing) = begun.daemon.into_split();
        if config.caller.is_some() {
            // The library's start ends when the tool wants it to.
            shared.state.borrow_mut().allowance = NO_LIMIT;
        }
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
        self.0.has_served();
        self.order(Order::Register(Box::new(info)));
    }

    pub(super) fn deregister(&self, nspace: String) {
        let mut state = self.0.state.borrow_mut();
        state.registered.remove(&nspace);
        state.callers.remove(&nspace);
        drop(state);
        self.order(Order::Deregister(nspace));
    }

    /// Lets the library forget a namespace of tools that have left. Returns when it has, or is gone.
    pub(super) async fn forget_tools(&self, nspace: String) {
        if self.0.is_over() {
            return;
        }
        let (tell, told) = tokio::sync::oneshot::channel();
        let number = self.0.number();
        self.0.state.borrow_mut().fetches.insert(
            number,
            Box::new(|_| {
                let _ = tell.send(());
            }),
        );
        self.order(Order::Forget(number, nspace));
        let _ = told.await;
    }

    /// Asks whether the library has read what processes have sent that have ended. [`Event::HeardOut`] follows with the
    /// number, or [`Event::Ended`].
    pub(super) fn hear_out(&self) -> u64 {
        let number = self.0.number();
        self.order(Order::HearOut(number));
        number
    }

    /// Asks a library that has served its time whether it has no connection (spec L155). [`Event::Idle`] follows with
    /// the number.
    pub(super) fn ask_idle(&self) -> Option<Question> {
        let served = self.0.served.get();
        if self.0.most_served.is_none_or(|most| served < most) {
            return None;
        }
        let number = self.0.number();
        self.order(Order::AskIdle(number));
        Some(Question { number, served })
    }

    /// True when this answer is that to the question, and nobody has come since.
    pub(super) fn is_idle(&self, question: &Question, number: u64, idle: bool) -> bool {
        idle && number == question.number && self.0.served.get() == question.served
    }

    pub(super) fn define_set(&self, name: String, members: Vec<Proc>) {
        self.order(Order::DefineSet(name, members));
    }

    pub(super) fn delete_set(&self, name: String) {
        self.order(Order::DeleteSet(name));
    }

    /// Waits until the library runs and knows this job, or, without a job, until it runs.
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

    /// Returns the result for [`Library::ready`], once it is known.
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

    /// Waits until the library has written to its sockets what it was ordered to send.
    pub(super) async fn settle(&self) {
        for _ in 0..ROUNDS_TO_SETTLE {
            self.0.ping();
            loop {
                let changed = self.0.changed.notified();
                let is_answered = |state: &State| state.ended.is_some() || state.ping.is_none();
                if is_answered(&self.0.state.borrow()) {
                    break;
                }
                changed.await;
            }
        }
    }

    /// Passes on a connection of a process of that job, or of a tool; the library serves it from here on.
    ///
    /// # Errors
    /// When the process does not accept it.
    pub(super) async fn admit(&self, nspace: Option<&str>, connection: impl AsFd, is_tool: bool) -> io::Result<()> {
        let kind = [u8::from(is_tool)];
        let pass = |entrance: &OwnedFd| {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut rights = SendAncillaryBuffer::new(&mut space);
            let connections = [connection.as_fd()];
            rights.push(SendAncillaryMessage::ScmRights(&connections));
            Ok(sendmsg(entrance, &[IoSlice::new(&kind)], &mut rights, SendFlags::NOSIGNAL)?)
        };
        self.0.entrance.async_io(Interest::WRITABLE, pass).await?;
        self.0.has_served();
        self.0.state.borrow_mut().callers.extend(nspace.map(str::to_owned));
        self.0.ping();
        Ok(())
    }

    /// Gets the published data of a local process; `done` is called once.
    pub(super) fn fetch(&self, proc: Proc, done: impl FnOnce(Result<Bytes, Status>) + 'static) {
        if self.0.is_over() {
            return done(Err(Status::NOT_RUNNING));
        }
        let number = self.0.number();
        self.0.state.borrow_mut().fetches.insert(number, Box::new(done));
        self.order(Order::Fetch(number, proc));
    }

    /// Passes output to the tools that read it. The receipt goes when the library has it, and for pulled output when
    /// the tools can take more.
    pub(super) fn deliver(&self, from: Proc, stream: Stream, data: Bytes, is_pulled: bool, receipt: Receipt) {
        let channel = match stream {
            Stream::Stdout => OutputChannel::Stdout,
            Stream::Stderr => OutputChannel::Stderr,
        };
        if self.0.is_over() {
            return;
        }
        let number = self.0.number();
        self.0.state.borrow_mut().deliveries.insert(number, receipt);
        self.order(Order::Deliver(number, from, channel, data, is_pulled));
    }

    /// Tells a tool that a job runs which it has asked about; as its end, this comes from the job.
    pub(super) fn job_start(&self, tool: &Proc, job: &Proc) {
        for code in [PMIX_EVENT_JOB_START, PMIX_LAUNCH_COMPLETE] {
            let info = vec![
                Info::new(sys::PMIX_EVENT_NON_DEFAULT, true),
                Info::new(sys::PMIX_EVENT_AFFECTED_PROC, Value::Proc(job.clone())),
            ];
            let to = Audience::Procs(vec![tool.clone()]);
            self.notify(Notice { code: Status(code.0), source: job.clone(), to, info });
        }
    }

    /// Tells a tool or a process that a job which it has spawned is over. The source is the job: the debuggers of PRRTE
    /// take its end from nobody else. Handlers for everything do not get it: with libpmix 7 that of Open MPI would end
    /// the parent (spec L62).
    pub(super) fn job_end(&self, tool: Proc, job: Proc, exit_code: i32) {
        let info = vec![
            Info::new(sys::PMIX_EVENT_NON_DEFAULT, true),
            Info::new(sys::PMIX_EVENT_AFFECTED_PROC, Value::Proc(job.clone())),
            Info::new(sys::PMIX_JOB_TERM_STATUS, Value::Status(Status(exit_code))),
            Info::new(sys::PMIX_EXIT_CODE, Value::Int(exit_code)),
        ];
        let to = Audience::Procs(vec![tool]);
        self.notify(Notice { code: Status::EVENT_JOB_END, source: job, to, info });
    }

    /// Sends an event; nothing confirms its arrival.
    pub(super) fn notify(&self, notice: Notice) {
        self.notify_since(0, notice);
    }

    /// Sends an event if the library's major release is at least `major`.
    pub(super) fn notify_since(&self, major: u32, notice: Notice) {
        self.0.has_served();
        self.order(Order::Notify(Box::new(notice), major));
    }

    /// Ends the process without a report.
    pub(super) fn end(&self) {
        self.0.end();
    }

    fn order(&self, order: Order) {
        self.0.order(order);
    }
}

impl Shared {
    fn order(&self, order: Order) {
        // A process that is gone answers nothing.
        let _ = self.orders.send(order);
    }

    fn number(&self) -> u64 {
        self.next.set(self.next.get() + 1);
        self.next.get()
    }

    fn has_served(&self) {
        self.served.set(self.served.get().saturating_add(1));
    }

    fn is_over(&self) -> bool {
        self.state.borrow().ended.is_some()
    }

    /// Sends a ping, unless one is unanswered.
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

    /// Kills the process only until it is reaped: afterwards the number may belong to another process.
    fn end(&self) {
        if !self.is_over() {
            let _ = kill_process_group(self.pid, Signal::KILL);
        }
    }
}

/// Writes orders as they come, each batch followed by a ping.
async fn write(shared: Rc<Shared>, mut todo: UnboundedReceiver<Order>, mut socket: OwnedWriteHalf) {
    let mut batch = Vec::with_capacity(BATCH);
    while todo.recv_many(&mut batch, BATCH).await > 0 {
        let asks = batch.iter().any(|order| !matches!(order, Order::Ping(_)));
        let mut bytes = Vec::new();
        for order in batch.drain(..) {
            if !append_order(&mut bytes, &order) {
                tracing::error!("an order for libpmix is longer than its protocol allows, and is lost");
            }
        }
        if socket.write_all(&bytes).await.is_err() {
            // The process is gone, and the reader of its reports learns that too.
            return;
        }
        if asks {
            shared.ping();
        }
    }
}
