//! The sink of a job's output: standard output or error. Other processes may share it, so its mode is never changed; a
//! slow reader must not delay signals, so nothing here waits.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use rustix::time::Timespec;

/// Number of bytes that a writable pipe takes without waiting (PIPE_BUF).
const SURE: usize = 4096;

/// A sink and its pending output.
pub(crate) struct Sink {
    fd: OwnedFd,
    /// True for a pipe or terminal that cannot be opened anew with a mode of our own: each write is small and preceded
    /// by a poll.
    ask_first: bool,
    pending: Vec<u8>,
    /// Number of written bytes of `pending`.
    written: usize,
    broken: bool,
}

impl Sink {
    /// The descriptor `number` of this process, which is `shared`.
    pub(crate) fn of(shared: BorrowedFd<'_>, number: u8) -> std::io::Result<Sink> {
        let waits = match FileType::from_raw_mode(fstat(shared)?.st_mode) {
            FileType::Fifo | FileType::Socket => true,
            _ => rustix::termios::isatty(shared),
        };
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let own = waits.then(|| open(format!("/proc/self/fd/{number}"), flags, Mode::empty()));
        let (fd, ask_first) = match own {
            Some(Ok(fd)) => (fd, false),
            other => (rustix::io::fcntl_dupfd_cloexec(shared, 3)?, other.is_some()),
        };
        Ok(Sink { fd, ask_first, pending: Vec::new(), written: 0, broken: false })
    }

    /// The descriptor to poll for writing while [`Sink::is_full`].
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// True while something waits to be written.
    pub(crate) fn is_full(&self) -> bool {
        self.written < self.pending.len()
    }

    /// Takes bytes, and writes what can be written at once. After an error everything is dropped.
    ///
    /// # Errors
    /// The first time that nothing can be written any more.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        if self.broken {
            return Ok(());
        }
        self.pending.extend_from_slice(bytes);
        self.flush()
    }

    /// Writes what can be written now.
    ///
    /// # Errors
    /// The first time that nothing can be written any more.
    pub(crate) fn flush(&mut self) -> Result<(), Errno> {
        while self.is_full() {
            match self.write_some() {
                Ok(count) => self.written += count,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => {
                    self.broken = true;
                    self.clear();
                    return Err(error);
                }
            }
        }
        self.clear();
        Ok(())
    }

    fn clear(&mut self) {
        self.pending.clear();
        self.written = 0;
    }

    fn write_some(&self) -> Result<usize, Errno> {
        let rest = &self.pending[self.written..];
        if !self.ask_first {
            return rustix::io::write(&self.fd, rest);
        }
        let mut fds = [PollFd::new(&self.fd, PollFlags::OUT)];
        match poll(&mut fds, Some(&Timespec::default()))? {
            0 => Err(Errno::AGAIN),
            _ => rustix::io::write(&self.fd, &rest[..rest.len().min(SURE)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_full_pipe_keeps_what_is_left_and_waits_for_nobody() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut sink = Sink::of(writer.as_fd(), 200).unwrap();
        assert!(sink.ask_first, "there is no descriptor 200 to open again");
        let sent = vec![b'x'; 200_000];
        sink.put(&sent).unwrap();
        assert!(sink.is_full());
        let mut got = 0;
        let mut buffer = vec![0; 65_536];
        while sink.is_full() {
            got += reader.read(&mut buffer).unwrap();
            sink.flush().unwrap();
        }
        drop((sink, writer));
        assert_eq!(got + reader.read_to_end(&mut Vec::new()).unwrap(), sent.len());
    }

    #[test]
    fn a_reader_that_went_away_is_told_once() {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut sink = Sink::of(writer.as_fd(), 200).unwrap();
        drop(reader);
        assert_eq!(sink.put(b"a"), Err(Errno::PIPE));
        assert_eq!(sink.put(b"b"), Ok(()));
        assert!(!sink.is_full());
    }
}
