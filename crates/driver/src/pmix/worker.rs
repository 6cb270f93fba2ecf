//! The thread that owns libpmix's server. Its start and its registrations block, for milliseconds; the main loop must not.
//! Only [`super::PmixBridge`] uses it. Orders are carried out one after another, which is what "registered before its clients
//! are let in" rests on.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use ferrite_core::Account;
use ferrite_pmix::{Audience, Info, JobInfo, Notice, OutputChannel, Proc, Server, ServerConfig, Status, Upcall, Value};
use ferrite_pmix_sys as sys;
use ferrite_types::JobId;
use ferrite_wire::Stream;
use tokio::sync::{mpsc::UnboundedSender, oneshot};

use crate::Inbox;
use crate::output::credit;

/// What the thread has to say.
pub(super) enum Event {
    /// A client wants something.
    Upcall(Upcall),
    /// The library knows the job: its processes may connect without the front door.
    Registered(JobId),
    /// There is no server, or it does not take a job. In words.
    Failed(String),
}

type Fetched = Box<dyn FnOnce(Result<Vec<u8>, Status>) + Send>;

enum Order {
    Register(JobId, Box<JobInfo>),
    Deregister(String),
    Fetch(Proc, Fetched),
    Deliver(Proc, OutputChannel, Vec<u8>, Box<dyn FnOnce() + Send>),
    /// From this major release of the library on.
    Notify(Box<Notice>, u32),
    Port(oneshot::Sender<Option<u16>>),
    Abandon,
}

/// A handle of the thread, which ends when there is no handle left.
#[derive(Clone)]
pub(super) struct Worker {
    orders: Sender<Order>,
}

impl Worker {
    /// Starts the thread, and there the library.
    pub(super) fn start(config: ServerConfig, events: UnboundedSender<Event>) -> io::Result<Worker> {
        let (orders, todo) = channel();
        thread::Builder::new().name("pmix".to_owned()).spawn(move || {
            let upcalls = events.clone();
            let receiver = move |upcall| {
                // When nobody listens any more, the upcall answers itself with an error.
                let _ = upcalls.send(Event::Upcall(upcall));
            };
            match Server::start(&config, receiver) {
                Ok(server) => serve(server, &todo, &events),
                Err(error) => {
                    let _ = events.send(Event::Failed(error.to_string()));
                    refuse(&todo);
                }
            }
        })?;
        Ok(Worker { orders })
    }

    pub(super) fn register(&self, job: JobId, info: JobInfo) {
        self.order(Order::Register(job, Box::new(info)));
    }
    pub(super) fn deregister(&self, nspace: String) {
        self.order(Order::Deregister(nspace));
    }
    /// Gets what a local process has published; `done` is called once, on any thread.
    pub(super) fn fetch(&self, proc: Proc, done: impl FnOnce(Result<Vec<u8>, Status>) + Send + 'static) {
        self.order(Order::Fetch(proc, Box::new(done)));
    }
    /// Hands output to the tool that runs this job. The account is settled when the library has taken it.
    pub(super) fn deliver(&self, from: Proc, stream: Stream, data: Vec<u8>, account: Option<Account>, inbox: Inbox) {
        let channel = match stream {
            Stream::Stdout => OutputChannel::Stdout,
            Stream::Stderr => OutputChannel::Stderr,
        };
        self.order(Order::Deliver(from, channel, data, Box::new(move || credit(&inbox, account))));
    }
    /// Tells a tool that its job is over.
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
    /// The library's port, once everything that was ordered before is done. `None` when there is no server.
    pub(super) async fn port(&self) -> Option<u16> {
        let (reply, port) = oneshot::channel();
        self.order(Order::Port(reply));
        port.await.ok().flatten()
    }
    /// This process is about to exit: the library is left as it is.
    pub(super) fn abandon(&self) {
        self.order(Order::Abandon);
    }

    fn order(&self, order: Order) {
        // The thread is gone only after `abandon`; what comes then needs no answer.
        let _ = self.orders.send(order);
    }
}

fn serve(server: Server, todo: &Receiver<Order>, events: &UnboundedSender<Event>) {
    for order in todo {
        match order {
            Order::Register(job, info) => {
                let done = make_directories(&info).map_err(|e| e.to_string());
                let done = done.and_then(|()| server.register_job(&info).map_err(|e| e.to_string()));
                let _ = events.send(match done {
                    Ok(()) => Event::Registered(job),
                    Err(text) => Event::Failed(text),
                });
            }
            Order::Deregister(nspace) => server.deregister_job(&nspace),
            Order::Fetch(proc, done) => server.dmodex_get(&proc, done),
            Order::Deliver(from, channel, data, done) => {
                if let Err(error) = server.deliver_output(&from, channel, data, done) {
                    tracing::debug!(%error, "a tool does not get output");
                }
            }
            Order::Notify(notice, since) if server.version().major < since => {
                tracing::debug!(code = ?notice.code, since, "an event that libpmix does not know is not sent");
            }
            Order::Notify(notice, _) => {
                if let Err(error) = server.notify(&notice) {
                    tracing::debug!(%error, "an event is not sent");
                }
            }
            Order::Port(reply) => {
                let _ = reply.send(server.port());
            }
            Order::Abandon => return server.abandon(),
        }
    }
    server.abandon();
}

fn refuse(todo: &Receiver<Order>) {
    for order in todo {
        match order {
            Order::Fetch(_, done) => done(Err(Status::NOT_RUNNING)),
            Order::Deliver(.., done) => done(),
            Order::Port(reply) => drop(reply),
            Order::Register(..) | Order::Deregister(_) | Order::Notify(..) => {}
            Order::Abandon => return,
        }
    }
}

/// The library and its clients expect the directories that they are told of.
fn make_directories(info: &JobInfo) -> io::Result<()> {
    let make = |dir: &Path| DirBuilder::new().mode(0o700).recursive(true).create(dir);
    make(&info.nsdir)?;
    info.local.iter().try_for_each(|local| make(&local.proc_dir))
}
