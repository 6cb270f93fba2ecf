//! Reads the reports of the process that runs libpmix, and ends it when the library hangs. Only [`super::Library`] uses
//! it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::rc::Rc;
use std::time::Duration;

use ferrite_pmix::Status;
use ferrite_pmix::protocol::{AnswerSender, Frames, OTHER_BUILD, Report};
use rustix::process::{Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::OwnedReadHalf;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use super::{Event, Shared};

/// Time of silence after which the library is pinged while programs are connected.
const QUIET: Duration = Duration::from_secs(5);

/// Reads the reports of the process until it is gone.
pub(super) struct Watch {
    pub(super) shared: Rc<Shared>,
    pub(super) answers: AnswerSender,
    pub(super) events: UnboundedSender<Event>,
    /// The program's name, for messages.
    pub(super) program: String,
}

impl Watch {
    pub(super) async fn run(self, mut socket: OwnedReadHalf, mut child: Child, ended: AsyncFd<OwnedFd>) {
        let said = self.listen(&mut socket).await;
        let _ = kill_process_group(self.shared.pid, Signal::KILL);
        let _ = ended.readable().await;
        let status = child.wait();
        let text = said.unwrap_or_else(|| self.cause(status));
        let (fetches, deliveries) = {
            let mut state = self.shared.state.borrow_mut();
            state.ended = Some(text.clone());
            state.ping = None;
            (std::mem::take(&mut state.fetches), std::mem::take(&mut state.deliveries))
        };
        self.shared.changed.notify_waiters();
        fetches.into_values().for_each(|done| done(Err(Status::NOT_RUNNING)));
        drop(deliveries);
        let _ = self.events.send(Event::Ended(text));
    }

    /// Listens until the process is gone, is not needed any more, or breaks the protocol or hangs; returns the reason,
    /// if known.
    async fn listen(&self, socket: &mut OwnedReadHalf) -> Option<String> {
        let mut frames = Frames::default();
        loop {
            tokio::select! {
                // After a pause of this whole process both branches are ready: the answer in the socket comes before
                // the passed deadline.
                biased;
                read = socket.read_buf(frames.buffer()) => match read {
                    Ok(1..) => {}
                    Ok(0) | Err(_) => return None,
                },
                () = until(self.next_look()) => if let Some(text) = self.look() {
                    return Some(text);
                },
                () = self.shared.wound.notified() => {}
            }
            loop {
                match frames.report(&self.answers) {
                    Ok(Some(Report::Failed(text))) => return Some(text),
                    Ok(Some(report)) => self.take(report),
                    Ok(None) => break,
                    Err(error) => return Some(format!("{} sends {error}", self.program)),
                }
            }
        }
    }

    fn take(&self, report: Report) {
        let mut state = self.shared.state.borrow_mut();
        state.heard = Some(Instant::now());
        match report {
            Report::Called(called) => drop(self.events.send(Event::Called(called))),
            Report::Started | Report::Failed(_) => self.shared.changed.notify_waiters(),
            Report::Registered(nspace, done) => {
                if let Err(text) = &done {
                    let _ = self.events.send(Event::Refused(nspace.clone(), text.clone()));
                }
                state.registered.insert(nspace, done);
                self.shared.changed.notify_waiters();
            }
            Report::Fetched(number, data) => {
                let done = state.fetches.remove(&number);
                drop(state);
                done.into_iter().for_each(|done| done(data.clone()));
            }
            Report::Delivered(number) => {
                let receipt = state.deliveries.remove(&number);
                drop(state);
                drop(receipt);
            }
            Report::Alive(number) => {
                state.ping.take_if(|(awaited, _)| *awaited == number);
                self.shared.changed.notify_waiters();
            }
            Report::HeardOut(number, all) => drop(self.events.send(Event::HeardOut(number, all))),
            Report::Idle(number, idle) => drop(self.events.send(Event::Idle(number, idle))),
            Report::Upcall(upcall) => drop(self.events.send(Event::Upcall(upcall))),
        }
    }

    /// Returns when to check again if no report comes before.
    fn next_look(&self) -> Option<Instant> {
        let state = self.shared.state.borrow();
        match state.ping {
            Some((_, deadline)) => Some(deadline),
            None if state.callers.is_empty() => None,
            None => state.heard.map(|heard| heard + QUIET),
        }
    }

    /// Checks the deadline: sends a ping, or returns the reason to end a process whose answer is late.
    fn look(&self) -> Option<String> {
        let awaited = self.shared.state.borrow().ping;
        match awaited {
            Some((_, deadline)) if deadline <= Instant::now() => {
                Some(format!("libpmix has not answered for {} s and was ended", self.shared.patience.as_secs_f32()))
            }
            Some(_) => None,
            None => {
                self.shared.ping();
                None
            }
        }
    }

    fn cause(&self, status: io::Result<std::process::ExitStatus>) -> String {
        let program = &self.program;
        match status.map(|status| (status.code(), status.signal())) {
            Ok((Some(OTHER_BUILD), _)) => {
                format!("{program} is of another build than this daemon; install them together")
            }
            Ok((Some(code), _)) => format!("libpmix ended its process with exit code {code}"),
            Ok((None, Some(signal))) => format!("libpmix crashed its process (signal {signal})"),
            Ok((None, None)) | Err(_) => "the process of libpmix is gone".to_owned(),
        }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
