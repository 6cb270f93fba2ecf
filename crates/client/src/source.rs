//! The source of input: standard input, or a file. Other processes may share it: its mode is never changed, every read
//! needs a request, and a background process does not read from the terminal.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bytes::Bytes;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::termios::{isatty, tcgetpgrp};
use rustix::time::Timespec;

/// An input that is read on request.
#[derive(Debug)]
pub struct Source {
    /// `None` = nothing to read from, or its end was reached.
    fd: Option<OwnedFd>,
    terminal: bool,
    /// Used for every read.
    buffer: Vec<u8>,
}

impl Source {
    /// Standard input.
    #[must_use]
    pub fn stdin() -> Source {
        let shared = rustix::stdio::stdin();
        if fstat(shared).is_err() {
            return Source::of(None, false);
        }
        let terminal = isatty(shared);
        let waits = terminal || fstat(shared).is_ok_and(|s| FileType::from_raw_mode(s.st_mode) == FileType::Fifo);
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        // Another process that shares it could read first after a poll; an open file of our own does not block then.
        let own = waits.then(|| open("/proc/self/fd/0", flags, Mode::empty()).ok()).flatten();
        Source::of(own.or_else(|| rustix::io::fcntl_dupfd_cloexec(shared, 3).ok()), terminal)
    }

    /// A file that nobody else reads.
    #[must_use]
    pub fn file(file: File) -> Source {
        Source::of(Some(file.into()), false)
    }

    /// Nothing.
    #[must_use]
    pub fn empty() -> Source {
        Source::of(None, false)
    }

    fn of(fd: Option<OwnedFd>, terminal: bool) -> Source {
        Source { fd, terminal, buffer: Vec::new() }
    }

    /// The descriptor to poll for reading; `None` = its end can be read at once.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().map(AsFd::as_fd)
    }

    /// True while this process is in the background of its terminal: reading would stop it.
    pub(crate) fn is_background(&self) -> bool {
        let terminal = self.fd.as_ref().filter(|_| self.terminal);
        terminal.is_some_and(|fd| tcgetpgrp(fd).is_ok_and(|foreground| foreground != getpgrp()))
    }

    /// Reads once; `None` = nothing there yet, empty = the end.
    ///
    /// # Errors
    /// It cannot be read. No input follows then.
    pub(crate) fn read(&mut self, limit: usize) -> io::Result<Option<Bytes>> {
        let Some(fd) = &self.fd else { return Ok(Some(Bytes::new())) };
        let mut polled = [PollFd::new(fd, PollFlags::IN)];
        if self.is_background() || poll(&mut polled, Some(&Timespec::default()))? == 0 {
            return Ok(None);
        }
        self.buffer.clear();
        // Memory that nothing is read into is never touched; most jobs read little or nothing.
        self.buffer.reserve(limit.max(1));
        match rustix::io::read(fd, &mut self.buffer.spare_capacity_mut()[..limit.max(1)]) {
            Ok(([], _)) => self.fd = None,
            Ok((data, _)) => return Ok(Some(Bytes::copy_from_slice(data))),
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            // This is how a terminal refuses a background reader that cannot be stopped.
            Err(Errno::IO) if self.terminal => return Ok(None),
            Err(error) => {
                self.fd = None;
                return Err(error.into());
            }
        }
        Ok(Some(Bytes::new()))
    }
}
