//! A client that does everything at once: hears the DVM, writes output, reads input, and listens to signals. One call,
//! [`Session::next`], waits for whatever comes first.
//!
//! While output waits to be written, nothing is read from the DVM: a slow reader of ours slows the job down, and
//! nothing piles up here.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes, BytesMut};
use ferrite_wire::Stream;
use ferrite_wire::control::{ClientMessage, DvmMessage};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::time::Timespec;

use crate::connection::{Connection, ConnectionError};
use crate::signals::Signals;
use crate::sink::Sink;
use crate::source::Source;

/// What can come.
#[derive(Debug)]
pub enum Happening {
    /// The DVM says something.
    Message(DvmMessage),
    /// A signal that was asked for.
    Signal(i32),
    /// The input that was asked for; empty = its end.
    Input(Bytes),
    /// Our standard output (or error) takes nothing any more; told once.
    OutputBroken(Stream, Errno),
    /// There is no DVM any more; told again with each call.
    Gone(ConnectionError),
    /// The time is over.
    Timeout,
}

/// How often a background process looks whether the terminal is its own by now.
const BACKGROUND_PAUSE: Duration = Duration::from_millis(300);

/// Most that is read from the DVM at once (bytes).
const READ_SIZE: usize = 256 * 1024;

/// A connection, and everything around it.
pub struct Session {
    connection: Connection,
    /// Messages that the socket did not take yet.
    outgoing: BytesMut,
    sinks: [Sink; 2],
    input: Source,
    /// Reads of the input that were asked for: at most so much each.
    wanted: VecDeque<usize>,
    signals: Signals,
    came: Vec<i32>,
    broken: Vec<(Stream, Errno)>,
    closed: Option<(io::ErrorKind, String)>,
    buffer: Vec<u8>,
}

impl Session {
    /// Around this connection; from now on these signals are told instead of doing what they do.
    ///
    /// # Errors
    /// A signal cannot be caught, or there are no more descriptors.
    pub fn new(connection: Connection, input: Source, signals: &[i32]) -> io::Result<Session> {
        connection.stream.set_nonblocking(true)?;
        Ok(Session {
            connection,
            outgoing: BytesMut::new(),
            sinks: [Sink::of(rustix::stdio::stdout(), 1)?, Sink::of(rustix::stdio::stderr(), 2)?],
            input,
            wanted: VecDeque::new(),
            signals: Signals::catch(signals)?,
            came: Vec::new(),
            broken: Vec::new(),
            closed: None,
            buffer: vec![0; READ_SIZE],
        })
    }

    /// The name of the DVM.
    #[must_use]
    pub fn dvm(&self) -> &str {
        self.connection.dvm()
    }

    /// Sends a message; never waits. Bytes that the DVM does not take yet are kept.
    pub fn send(&mut self, message: &ClientMessage) {
        if self.closed.is_none() {
            self.outgoing.extend_from_slice(&message.encode_frame());
            self.send_some();
        }
    }

    /// Bytes that the DVM has not taken yet; who sends much looks at it and waits.
    #[must_use]
    pub fn unsent(&self) -> usize {
        self.outgoing.len()
    }

    /// Writes to our standard output or error; never waits.
    pub fn write(&mut self, to: Stream, bytes: &[u8]) {
        let done = self.sinks[at(to)].put(bytes);
        self.note(to, done);
    }

    /// Asks for input; it comes as one [`Happening::Input`], after those that were asked for before; none
    /// comes after the end.
    pub fn read_input(&mut self, limit: usize) {
        self.wanted.push_back(limit);
    }

    /// True while input was asked for and has not come.
    #[must_use]
    pub fn is_reading(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Waits for what comes first, at most so long.
    pub fn next(&mut self, limit: Option<Duration>) -> Happening {
        let deadline = limit.map(|limit| Instant::now() + limit);
        loop {
            if let Some(happening) = self.at_hand() {
                return happening;
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Happening::Timeout;
            }
            self.wait(left);
        }
    }

    /// Writes what is left of the output, until a signal says that it is not wanted any more. True = all is written.
    pub fn finish(&mut self) -> bool {
        while self.is_writing() && self.came.is_empty() {
            self.wait(None);
        }
        !self.is_writing() && self.broken.is_empty()
    }

    /// Lets the DVM have what was sent, for at most so long; for the last words of a client.
    pub fn send_all(&mut self, limit: Duration) {
        let deadline = Instant::now() + limit;
        while !self.outgoing.is_empty() && self.closed.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            self.wait(Some(left));
        }
    }

    fn is_writing(&self) -> bool {
        self.sinks.iter().any(Sink::is_full)
    }

    /// What needs no waiting.
    fn at_hand(&mut self) -> Option<Happening> {
        if !self.came.is_empty() {
            return Some(Happening::Signal(self.came.remove(0)));
        }
        if let Some((stream, error)) = self.broken.pop() {
            return Some(Happening::OutputBroken(stream, error));
        }
        if let Some(input) = self.take_input() {
            return Some(Happening::Input(input));
        }
        if self.is_writing() {
            return None;
        }
        match self.connection.frames.next_message() {
            Ok(Some(message)) => Some(Happening::Message(message)),
            Ok(None) => self.closed.as_ref().map(|(kind, cause)| {
                let cause = io::Error::new(*kind, cause.clone());
                Happening::Gone(self.connection.lost(&cause))
            }),
            Err(cause) => {
                let dvm = self.connection.dvm.clone();
                Some(Happening::Gone(ConnectionError::Nonsense { dvm, cause }))
            }
        }
    }

    fn take_input(&mut self) -> Option<Bytes> {
        // An input that cannot be read has ended, for a job as for a shell's tools.
        let data = self.input.read(*self.wanted.front()?).unwrap_or(Some(Bytes::new()))?;
        self.wanted.pop_front();
        if data.is_empty() {
            // The end is told once: whoever asked ahead knows then that nothing follows.
            self.wanted.clear();
        }
        Some(data)
    }

    /// One poll, and what it makes possible.
    fn wait(&mut self, limit: Option<Duration>) {
        let background = self.is_reading() && self.input.is_background();
        let limit = if background { Some(limit.map_or(BACKGROUND_PAUSE, |l| l.min(BACKGROUND_PAUSE))) } else { limit };
        let limit = limit.map(|l| Timespec { tv_sec: l.as_secs() as i64, tv_nsec: i64::from(l.subsec_nanos()) });
        let mut socket = PollFlags::empty();
        socket.set(PollFlags::IN, !self.is_writing());
        socket.set(PollFlags::OUT, !self.outgoing.is_empty());
        let mut fds = vec![PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN)];
        // Without a wish even a poll would report a lost connection, again and again.
        if self.closed.is_none() && !socket.is_empty() {
            fds.push(PollFd::from_borrowed_fd(self.connection.stream.as_fd(), socket));
        }
        let full = self.sinks.iter().filter(|sink| sink.is_full());
        fds.extend(full.map(|sink| PollFd::from_borrowed_fd(sink.fd(), PollFlags::OUT)));
        if let Some(input) = self.input.fd().filter(|_| self.is_reading() && !background) {
            fds.push(PollFd::from_borrowed_fd(input, PollFlags::IN));
        }
        // An interrupted poll is as good as one that found something: everything is tried below.
        let _ = poll(&mut fds, limit.as_ref());
        self.came.extend(self.signals.take());
        self.send_some();
        for stream in [Stream::Stdout, Stream::Stderr] {
            let done = self.sinks[at(stream)].flush();
            self.note(stream, done);
        }
        if !self.is_writing() {
            self.receive_some();
        }
    }

    fn note(&mut self, stream: Stream, done: Result<(), Errno>) {
        self.broken.extend(done.err().map(|error| (stream, error)));
    }

    fn send_some(&mut self) {
        while !self.outgoing.is_empty() && self.closed.is_none() {
            match rustix::net::send(&self.connection.stream, &self.outgoing, SendFlags::NOSIGNAL) {
                Ok(count) => self.outgoing.advance(count),
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                // What it said before it went may still be read; that it is gone is seen there.
                Err(_) => self.outgoing.clear(),
            }
        }
    }

    fn receive_some(&mut self) {
        if self.closed.is_some() {
            return;
        }
        match rustix::io::read(&self.connection.stream, &mut self.buffer[..]) {
            Ok(0) => self.closed = Some((io::ErrorKind::UnexpectedEof, String::new())),
            Ok(count) => self.connection.frames.feed(&self.buffer[..count]),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => {
                let error = io::Error::from(error);
                self.closed = Some((error.kind(), error.to_string()));
            }
        }
    }
}

fn at(stream: Stream) -> usize {
    match stream {
        Stream::Stdout => 0,
        Stream::Stderr => 1,
    }
}
