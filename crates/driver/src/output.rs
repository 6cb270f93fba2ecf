//! Sinks for the output that this process writes itself: its standard output and error. (Output for a client goes
//! through [`crate::control`], and files of jobs are [`crate::output_files`].) The engine calls [`OutputSinks`]; credit
//! comes back as [`HeadInput::OutputWritten`] only after the bytes have left this process, which slows writers down to
//! the reader's pace.
//!
//! Standard output is shared with the caller of this process: its open file is never made nonblocking. A pipe or
//! terminal is opened anew, with a mode of our own; a helper thread writes to files that cannot be opened anew.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

use bytes::Bytes;
use ferrite_core::{Account, HeadInput, Input};
use ferrite_wire::Stream;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use rustix::termios::isatty;
use tokio::sync::Notify;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::spawn_local;

use crate::Inbox;
use crate::stdio::{Progress, Writer, watched};

/// The sinks of this process.
pub(crate) struct OutputSinks {
    inbox: Inbox,
    stdout: Option<Standard>,
    stderr: Option<Standard>,
}

impl OutputSinks {
    /// Makes the sinks; each is opened by its first write.
    pub(crate) fn new(inbox: Inbox) -> Self {
        OutputSinks { inbox, stdout: None, stderr: None }
    }

    /// Writes all of it to a standard stream, in order after earlier writes.
    pub(crate) fn write(&mut self, stream: Stream, data: Bytes, account: Option<Account>) {
        let inbox = &self.inbox;
        let (standard, number) = match stream {
            Stream::Stdout => (&mut self.stdout, 1),
            Stream::Stderr => (&mut self.stderr, 2),
        };
        standard.get_or_insert_with(|| Standard::open(number, inbox)).write(data, account);
    }

    /// Waits until all output has left this process, without limit while a reader pauses.
    pub(crate) async fn flush(&mut self) {
        for standard in [&self.stdout, &self.stderr].into_iter().flatten() {
            standard.flush().await;
        }
    }
}

/// Opens the account's window again by its bytes.
pub(crate) fn credit(inbox: &Inbox, account: Option<Account>) {
    if let Some(account) = account {
        // The machine is gone only while this process is ending.
        let _ = inbox.send(Input::Head(HeadInput::OutputWritten(account)));
    }
}

/// Standard output or standard error.
struct Standard {
    number: i32,
    way: Way,
    ledger: Rc<Ledger>,
}

/// The way by which bytes leave this process.
enum Way {
    /// Files and devices, which take everything at once.
    Direct,
    /// Pipes and terminals, through an open file of our own.
    Own(Writer),
    /// Sockets, and what belongs to another user.
    Thread(std::sync::mpsc::Sender<Bytes>),
    /// The stream has no reader.
    Nowhere,
}

impl Standard {
    fn open(number: i32, inbox: &Inbox) -> Standard {
        let ledger = Rc::new(Ledger { inbox: inbox.clone(), number, open: RefCell::default(), settled: Notify::new() });
        Standard { number, way: Way::find(number, &ledger), ledger }
    }

    fn write(&mut self, data: Bytes, account: Option<Account>) {
        self.ledger.enter(data.len() as u64, account);
        let length = data.len() as u64;
        match &self.way {
            Way::Own(writer) => writer.write(data),
            Way::Thread(queue) if queue.send(data.clone()).is_ok() => {}
            Way::Direct => {
                let result = write_all(self.number, &data);
                self.ledger.note(Progress::Taken(length));
                if let Err(error) = result {
                    self.way = Way::Nowhere;
                    self.ledger.note(Progress::Broken(error));
                }
            }
            Way::Thread(_) | Way::Nowhere => self.ledger.note(Progress::Taken(length)),
        }
    }

    async fn flush(&self) {
        while !self.ledger.open.borrow().is_empty() {
            self.ledger.settled.notified().await;
        }
    }
}

impl Way {
    fn find(number: i32, ledger: &Rc<Ledger>) -> Way {
        let fd = standard(number);
        let kind = fstat(fd).map(|s| FileType::from_raw_mode(s.st_mode));
        let waits = match kind {
            Ok(FileType::Fifo | FileType::Socket) => true,
            Ok(FileType::CharacterDevice) => isatty(fd),
            Ok(_) => false,
            Err(_) => return Way::Nowhere,
        };
        if !waits {
            return Way::Direct;
        }
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let own = open(format!("/proc/self/fd/{number}"), flags, Mode::empty());
        match own.map_err(Into::into).and_then(watched) {
            Ok(own) => {
                let ledger = ledger.clone();
                Way::Own(Writer::new(Rc::new(own), move |progress| ledger.note(progress)))
            }
            Err(_) => Way::thread(number, ledger.clone()),
        }
    }

    fn thread(number: i32, ledger: Rc<Ledger>) -> Way {
        let (queue, work) = std::sync::mpsc::channel::<Bytes>();
        let (done, mut progress) = unbounded_channel();
        let started = std::thread::Builder::new().name(format!("output {number}")).spawn(move || {
            let mut broken = None;
            for data in work {
                if broken.is_none() {
                    broken = write_all(number, &data).err();
                    let _ = broken.map(|e| done.send(Progress::Broken(e)));
                }
                let _ = done.send(Progress::Taken(data.len() as u64));
            }
        });
        if started.is_err() {
            return Way::Direct;
        }
        spawn_local(async move {
            while let Some(step) = progress.recv().await {
                ledger.note(step);
            }
        });
        Way::Thread(queue)
    }
}

fn standard(number: i32) -> BorrowedFd<'static> {
    match number {
        1 => rustix::stdio::stdout(),
        _ => rustix::stdio::stderr(),
    }
}

fn write_all(number: i32, mut data: &[u8]) -> Result<(), Errno> {
    while !data.is_empty() {
        match rustix::io::write(standard(number), data) {
            Ok(count) => data = &data[count..],
            Err(Errno::INTR) => {}
            // Another process has made the shared open file nonblocking.
            Err(Errno::AGAIN) => {
                let fd = standard(number);
                let mut room = [PollFd::new(&fd, PollFlags::OUT)];
                let _ = poll(&mut room, None);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Bytes that were written and have not left yet, with their accounts.
struct Ledger {
    inbox: Inbox,
    number: i32,
    open: RefCell<VecDeque<(u64, Option<Account>)>>,
    settled: Notify,
}

impl Ledger {
    fn enter(&self, bytes: u64, account: Option<Account>) {
        self.open.borrow_mut().push_back((bytes, account));
    }

    fn note(&self, progress: Progress) {
        match progress {
            Progress::Taken(bytes) => self.settle(bytes),
            Progress::Broken(error) => self.report(error),
        }
    }

    fn settle(&self, mut bytes: u64) {
        let mut open = self.open.borrow_mut();
        while let Some((left, account)) = open.front_mut() {
            let part = bytes.min(*left);
            *left -= part;
            bytes -= part;
            if *left > 0 {
                break;
            }
            credit(&self.inbox, *account);
            open.pop_front();
        }
        if open.is_empty() {
            self.settled.notify_waiters();
        }
    }

    /// Reports a lost stream. Without its output a job is of no use to the user who closed it (`prterun ... | head`),
    /// so the job ends silently, as the shell's tools do. A lost standard error ends nothing.
    fn report(&self, error: Errno) {
        if self.number == 1 {
            let cause = match error {
                Errno::PIPE => "nobody reads its standard output any more".to_owned(),
                error => format!("its standard output cannot be written: {}", io::Error::from(error)),
            };
            let _ = self.inbox.send(Input::Terminate { cause });
        }
    }
}

#[cfg(test)]
mod tests;
