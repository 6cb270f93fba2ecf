//! The thread that owns libpmix's server. Its start and its registrations block, for milliseconds; the main loop must not.
//! Only [`super::PmixBridge`] uses it. Orders are carried out one after another, which is what "registered before its clients
//! are let in" rests on.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use ferrite_pmix::{JobInfo, Proc, Server, ServerConfig, Status, Upcall};
use ferrite_types::JobId;
use tokio::sync::{mpsc::UnboundedSender, oneshot};

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
    Port(oneshot::Sender<Option<u16>>),
    Abandon,
}

/// A handle of the thread. It ends when this is dropped.
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
            Order::Port(reply) => drop(reply),
            Order::Register(..) | Order::Deregister(_) => {}
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
