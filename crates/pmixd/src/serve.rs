//! The main loop: carries out the daemon's orders one after another, and passes the library's reports on. This order
//! guarantees that a job is registered before its clients are admitted.

use std::fs::DirBuilder;
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::topology::Topology;
use crate::{caller, entrance, pace};
use ferrite_pmix::protocol::{Frames, Order, Report, frame_report};
use ferrite_pmix::{Error, JobInfo, Replies, Server, ServerConfig, Status};

/// Serves until the daemon is gone; returns the exit code.
pub(crate) fn run(daemon: UnixStream) -> i32 {
    let Ok(reading) = daemon.try_clone() else {
        return 1;
    };
    let mut orders = Orders { daemon: reading, frames: Frames::default() };
    let out = Arc::new(Out { daemon: Mutex::new(daemon), replies: Replies::default() });
    let Some(Order::Start(config)) = orders.next() else {
        return 1;
    };
    let mut topology = Topology::of_this_machine();
    if config.share_topology {
        topology.seek();
    }
    match start(&config, &out) {
        Ok(server) => {
            if config.caller.is_some() {
                match server.called_by() {
                    Some(tool) => out.say(&Report::Called(tool)),
                    None => out.say(&Report::Failed("libpmix does not tell which tool it has called".to_owned())),
                }
            }
            out.say(&Report::Started);
            while let Some(order) = orders.next() {
                carry_out(order, &server, &mut topology, &out);
            }
        }
        Err(text) => {
            out.say(&Report::Failed(text));
            // This waits until the daemon has read the report.
            while orders.next().is_some() {}
        }
    }
    leave()
}

/// Ends the process without the library's exit handlers: no client is left that needs them.
pub(crate) fn leave() -> ! {
    // SAFETY: `_exit` has no preconditions; nothing of ours is buffered.
    unsafe { libc::_exit(0) }
}

struct Orders {
    daemon: UnixStream,
    frames: Frames,
}

impl Orders {
    /// Returns the next order; `None` when the daemon is gone, or speaks another protocol.
    fn next(&mut self) -> Option<Order> {
        loop {
            match self.frames.order() {
                Ok(Some(order)) => return Some(order),
                Ok(None) => {}
                Err(error) => {
                    eprintln!("ferrite-pmixd: the daemon sends {error}");
                    return None;
                }
            }
            let mut chunk = [0; 64 * 1024];
            match self.daemon.read(&mut chunk) {
                Ok(0) => return None,
                Ok(count) => self.frames.buffer().extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
    }
}

/// The socket to the daemon, for every thread.
struct Out {
    daemon: Mutex<UnixStream>,
    replies: Replies,
}

impl Out {
    fn say(&self, report: &Report) {
        let Some(frame) = frame_report(report, &self.replies) else {
            // The waiting client was answered with an error.
            return eprintln!("ferrite-pmixd: a message to the daemon is too long");
        };
        let mut daemon = self.daemon.lock().unwrap_or_else(PoisonError::into_inner);
        if daemon.write_all(&frame).is_err() {
            leave();
        }
    }
}

fn start(config: &ServerConfig, out: &Arc<Out>) -> Result<Server, String> {
    let upcalls = Arc::clone(out);
    if config.caller.is_some() {
        let out = Arc::clone(out);
        caller::expect(move || {
            out.say(&Report::Failed("the tool is gone, and has not let the launcher go on".to_owned()));
        });
    }
    let started = Server::start(config, move |upcall| {
        caller::hear(&upcall);
        upcalls.say(&Report::Upcall(upcall));
    });
    started.map_err(|error| match (&config.caller, error) {
        (Some(address), Error::Call { status: Status::UNREACHABLE, .. }) => format!("no tool answers at {address}"),
        (_, error) => error.to_string(),
    })
}

fn carry_out(order: Order, server: &Server, topology: &mut Topology, out: &Arc<Out>) {
    let out = Arc::clone(out);
    match order {
        // The server runs already; a second start is an error of the daemon and changes nothing.
        Order::Start(_) => {}
        Order::Register(mut job) => {
            job.topology = topology.of(&job);
            let done = make_directories(&job).map_err(|error| format!("its directories cannot be made: {error}"));
            let done = done.and_then(|()| server.register_job(&job).map_err(|error| error.to_string()));
            out.say(&Report::Registered(job.nspace, done));
        }
        Order::Deregister(nspace) => server.deregister_job(&nspace),
        Order::Forget(number, nspace) => {
            server.forget_tools(&nspace, move || out.say(&Report::Fetched(number, Ok(Default::default()))));
        }
        Order::DefineSet(name, members) => {
            if let Err(error) = server.define_set(&name, &members) {
                eprintln!("ferrite-pmixd: a process set is not defined: {error}");
            }
        }
        Order::DeleteSet(name) => {
            if let Err(error) = server.delete_set(&name) {
                eprintln!("ferrite-pmixd: a process set is not deleted: {error}");
            }
        }
        Order::Fetch(number, proc) => {
            server.dmodex_get(&proc, move |data| out.say(&Report::Fetched(number, data)));
        }
        Order::Deliver(number, from, channel, data, is_pulled) => {
            let bytes = data.len();
            let report = move || {
                let said = Box::new(move || out.say(&Report::Delivered(number)));
                if is_pulled { pace::after(said) } else { pace::ahead(bytes, said) }
            };
            // The daemon gets its report in both cases.
            if let Err(error) = server.deliver_output(&from, channel, data, report) {
                eprintln!("ferrite-pmixd: a tool does not get output: {error}");
            }
        }
        // An event that the library does not know is not sent.
        Order::Notify(_, since) if server.version().major < since => {}
        Order::Notify(notice, _) => {
            if let Err(error) = server.notify(&notice) {
                eprintln!("ferrite-pmixd: an event is not sent: {error}");
            }
        }
        Order::Answer(number, answer) => out.replies.answer(number, &answer),
        Order::HearOut(number) => {
            server.hear_out(entrance::is_all_read, move |all| out.say(&Report::HeardOut(number, all)));
        }
        Order::AskIdle(number) => {
            server.hear_out(entrance::is_empty, move |idle| out.say(&Report::Idle(number, idle)));
        }
        Order::Ping(number) => server.ping(move || out.say(&Report::Alive(number))),
    }
}

/// Makes the directories that the library and its clients expect.
fn make_directories(job: &JobInfo) -> io::Result<()> {
    let make = |dir: &Path| DirBuilder::new().mode(0o700).recursive(true).create(dir);
    make(&job.nsdir)?;
    job.local.iter().try_for_each(|local| make(&local.proc_dir))
}
