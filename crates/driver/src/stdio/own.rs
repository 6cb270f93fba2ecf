//! The head's own standard input. It may be shared with the caller's other processes: its open file is never made
//! nonblocking, every read needs a request, and a background process does not read from the terminal.

use std::cell::{Cell, OnceCell};
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use ferrite_core::{HeadInput, Input, RequestId};
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::stdio::stdin;
use rustix::termios::{isatty, tcgetpgrp};
use tokio::io::unix::AsyncFd;
use tokio::task::spawn_local;

use crate::Inbox;

/// Interval at which a background process checks whether it is in the terminal's foreground.
const BACKGROUND_PAUSE: Duration = Duration::from_millis(300);

/// The head's own standard input. The first request opens it.
pub(crate) struct OwnStdin {
    inbox: Inbox,
    source: Rc<OnceCell<Source>>,
    asked: Rc<Cell<bool>>,
}

enum Source {
    /// Files and devices that answer at once.
    Direct,
    /// Pipes, terminals and sockets.
    Waited { fd: AsyncFd<OwnedFd>, terminal: bool },
    /// There is no input.
    Closed,
}

impl OwnStdin {
    pub(crate) fn new(inbox: Inbox) -> Self {
        OwnStdin { inbox, source: Rc::new(OnceCell::new()), asked: Rc::new(Cell::new(false)) }
    }

    /// Reads once; answered by one [`HeadInput::Stdin`].
    pub(crate) fn read(&mut self, limit: usize) {
        if self.asked.replace(true) {
            return;
        }
        let (inbox, source, asked) = (self.inbox.clone(), self.source.clone(), self.asked.clone());
        spawn_local(async move {
            let data = source.get_or_init(Source::find).read(limit).await;
            asked.set(false);
            // The machine is gone only while this process is ending.
            let _ = inbox.send(Input::Head(HeadInput::Stdin { request: RequestId::OWN, data }));
        });
    }
}

impl Source {
    fn find() -> Source {
        let kind = match fstat(stdin()) {
            Ok(stat) => FileType::from_raw_mode(stat.st_mode),
            Err(_) => return Source::Closed,
        };
        let terminal = isatty(stdin());
        match kind {
            FileType::Fifo | FileType::Socket => {}
            FileType::CharacterDevice if terminal => {}
            _ => return Source::Direct,
        }
        match own_description().and_then(super::watched) {
            Ok(fd) => Source::Waited { fd, terminal },
            Err(_) => Source::Direct,
        }
    }

    async fn read(&self, limit: usize) -> Bytes {
        // Memory that nothing is read into is never touched.
        let mut buffer = Vec::with_capacity(limit.max(1));
        match self {
            Source::Direct => read_retrying(&mut buffer),
            Source::Waited { fd, terminal } => wait_and_read(fd, *terminal, &mut buffer).await,
            Source::Closed => {}
        }
        Bytes::from(buffer)
    }
}

/// Opens standard input anew, so that its nonblocking mode affects no other process. A socket, or another user's pipe,
/// cannot be opened again: then the shared one is used, and each read is preceded by a check of readiness.
fn own_description() -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    match open("/proc/self/fd/0", flags, Mode::empty()) {
        Ok(fd) => Ok(fd),
        Err(_) => Ok(rustix::io::fcntl_dupfd_cloexec(stdin(), 3)?),
    }
}

/// Adds what one read brings; nothing at the end of the input.
async fn wait_and_read(fd: &AsyncFd<OwnedFd>, terminal: bool, buffer: &mut Vec<u8>) {
    loop {
        while terminal && is_background(fd.get_ref()) {
            tokio::time::sleep(BACKGROUND_PAUSE).await;
        }
        let Ok(mut ready) = fd.readable().await else {
            return;
        };
        if terminal && is_background(fd.get_ref()) {
            continue;
        }
        if !is_ready(fd.get_ref()) {
            ready.clear_ready();
            continue;
        }
        match rustix::io::read(fd.get_ref(), spare_capacity(buffer)) {
            Ok(_) => return,
            Err(Errno::AGAIN | Errno::INTR) => ready.clear_ready(),
            // This is how a terminal refuses a background reader that cannot be stopped.
            Err(Errno::IO) if terminal => tokio::time::sleep(BACKGROUND_PAUSE).await,
            Err(_) => return,
        }
    }
}

fn is_background(terminal: &OwnedFd) -> bool {
    tcgetpgrp(terminal).is_ok_and(|foreground| foreground != getpgrp())
}

/// True when the descriptor is readable now: another process that shares the open file may have read since the event.
fn is_ready(fd: &OwnedFd) -> bool {
    let now = rustix::time::Timespec::default();
    poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&now)).is_ok_and(|n| n > 0)
}

/// Adds what one read brings; nothing at the end of the input, which an input that cannot be read has reached.
fn read_retrying(buffer: &mut Vec<u8>) {
    while let Err(Errno::INTR) = rustix::io::read(stdin(), spare_capacity(buffer)) {}
}
