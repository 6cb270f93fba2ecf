//! A client that does several things at once: it gets messages, writes output, reads input, and handles signals. One
//! call, [`ClientLoop::next`], waits for the first of these.
//!
//! While output waits to be written, no more is read from the DVM: a slow reader slows the job down, and no output
//! piles up here.

use std::collections::VecDeque;
use std::io::{self, PipeReader};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes, BytesMut};
use ferrite_types::Signal;
use ferrite_wire::Stream;
use ferrite_wire::control::{ClientMessage, DvmMessage};
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::time::Timespec;

use crate::connection::{Connection, ConnectionError};
use crate::signals::Signals;
use crate::sink::Sink;
use crate::source::Source;

/// An event for the client.
#[derive(Debug)]
pub enum ClientEvent {
    /// A message of the DVM.
    Message(DvmMessage),
    /// A requested signal came.
    Signal(Signal),
    /// Requested input; empty = its end.
    Input(Bytes),
    /// Standard output (or error) takes no more bytes; reported once.
    OutputBroken(Stream, Errno),
    /// The DVM is gone; reported again with each call.
    Gone(ConnectionError),
    /// The other end of the pipe of [`ClientLoop::wake_by`] was closed; reported once.
    Woken,
    /// The time limit has passed.
    Timeout,
}

/// Interval at which a background process checks whether it is in the terminal's foreground.
const BACKGROUND_PAUSE: Duration = Duration::from_millis(300);

/// Size of one read from the DVM (bytes).
const READ_SIZE: usize = 256 * 1024;

/// A connection with its input, output and signals.
pub struct ClientLoop {
    connection: Connection,
    /// Messages that the socket has not taken yet.
    outgoing: BytesMut,
    sinks: [Sink; 2],
    input: Source,
    /// Requested reads of the input, each with its limit (bytes).
    wanted: VecDeque<usize>,
    signals: Signals,
    came: Vec<Signal>,
    broken: Vec<(Stream, Errno)>,
    closed: Option<(io::ErrorKind, String)>,
    /// A pipe whose other end another thread closes when it has something to say.
    bell: Option<PipeReader>,
    is_woken: bool,
    buffer: Vec<u8>,
}

impl ClientLoop {
    /// Takes over a connection; from now on these signals are reported and lose their default action.
    ///
    /// # Errors
    /// A signal cannot be caught, or there are no more descriptors.
    pub fn new(connection: Connection, input: Source, signals: &[Signal]) -> io::Result<ClientLoop> {
        connection.stream.set_nonblocking(true)?;
        Ok(ClientLoop {
            connection,
            outgoing: BytesMut::new(),
            sinks: [Sink::of(rustix::stdio::stdout(), 1)?, Sink::of(rustix::stdio::stderr(), 2)?],
            input,
            wanted: VecDeque::new(),
            signals: Signals::catch(signals)?,
            came: Vec::new(),
            broken: Vec::new(),
            closed: None,
            bell: None,
            is_woken: false,
            buffer: Vec::new(),
        })
    }

    /// Reports when the other end of this pipe is closed.
    pub fn wake_by(&mut self, bell: PipeReader) {
        self.bell = Some(bell);
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

    /// Returns the number of bytes that the DVM has not taken yet; a client that sends much checks it and waits.
    #[must_use]
    pub fn unsent(&self) -> usize {
        self.outgoing.len()
    }

    /// Writes to our standard output or error; never waits.
    pub fn write(&mut self, to: Stream, bytes: &[u8]) {
        let done = self.sinks[at(to)].put(bytes);
        self.note(to, done);
    }

    /// Requests input; it comes as one [`ClientEvent::Input`], after those requested before; none comes after the end.
    pub fn read_input(&mut self, limit: usize) {
        self.wanted.push_back(limit);
    }

    /// True while requested input has not come.
    #[must_use]
    pub fn is_reading(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Waits for the next event, at most for the limit.
    pub fn next(&mut self, limit: Option<Duration>) -> ClientEvent {
        let deadline = limit.map(|limit| Instant::now() + limit);
        loop {
            if let Some(event) = self.at_hand() {
                return event;
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return ClientEvent::Timeout;
            }
            self.wait(left);
        }
    }

    /// Writes the remaining output until a signal cancels it. True = all is written.
    pub fn finish(&mut self) -> bool {
        while self.is_writing() && self.came.is_empty() {
            self.wait(None);
        }
        !self.is_writing() && self.broken.is_empty()
    }

    /// Sends the queued bytes, at most for the limit; for a client's last messages.
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

    /// Returns an event that needs no waiting.
    fn at_hand(&mut self) -> Option<ClientEvent> {
        if !self.came.is_empty() {
            return Some(ClientEvent::Signal(self.came.remove(0)));
        }
        if let Some((stream, error)) = self.broken.pop() {
            return Some(ClientEvent::OutputBroken(stream, error));
        }
        if let Some(input) = self.take_input() {
            return Some(ClientEvent::Input(input));
        }
        if std::mem::take(&mut self.is_woken) {
            return Some(ClientEvent::Woken);
        }
        if self.is_writing() {
            return None;
        }
        match self.connection.frames.next_message() {
            Ok(Some(message)) => Some(ClientEvent::Message(message)),
            Ok(None) => self.closed.as_ref().map(|(kind, cause)| {
                let cause = io::Error::new(*kind, cause.clone());
                ClientEvent::Gone(self.connection.lost(&cause))
            }),
            Err(cause) => {
                let dvm = self.connection.dvm.clone();
                Some(ClientEvent::Gone(ConnectionError::Nonsense { dvm, cause }))
            }
        }
    }

    fn take_input(&mut self) -> Option<Bytes> {
        // An input that cannot be read has ended, for a job as for a shell's tools.
        let data = self.input.read(*self.wanted.front()?).unwrap_or(Some(Bytes::new()))?;
        self.wanted.pop_front();
        if data.is_empty() {
            // The end is reported once: it also ends all reads that were requested ahead.
            self.wanted.clear();
        }
        Some(data)
    }

    /// Polls once, and performs the possible reads and writes.
    fn wait(&mut self, limit: Option<Duration>) {
        let background = self.is_reading() && self.input.is_background();
        let limit = if background { Some(limit.map_or(BACKGROUND_PAUSE, |l| l.min(BACKGROUND_PAUSE))) } else { limit };
        let limit = limit.map(|l| Timespec { tv_sec: l.as_secs() as i64, tv_nsec: i64::from(l.subsec_nanos()) });
        let mut socket = PollFlags::empty();
        socket.set(PollFlags::IN, !self.is_writing());
        socket.set(PollFlags::OUT, !self.outgoing.is_empty());
        let mut fds = vec![PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN)];
        // Even without requested events poll would report a lost connection, again and again.
        if self.closed.is_none() && !socket.is_empty() {
            fds.push(PollFd::from_borrowed_fd(self.connection.stream.as_fd(), socket));
        }
        let full = self.sinks.iter().filter(|sink| sink.is_full());
        fds.extend(full.map(|sink| PollFd::from_borrowed_fd(sink.fd(), PollFlags::OUT)));
        if let Some(input) = self.input.fd().filter(|_| self.is_reading() && !background) {
            fds.push(PollFd::from_borrowed_fd(input, PollFlags::IN));
        }
        let bell = self.bell.as_ref().map(|bell| {
            fds.push(PollFd::from_borrowed_fd(bell.as_fd(), PollFlags::empty()));
            fds.len() - 1
        });
        // An interrupted poll counts as a successful one: everything is tried below.
        let is_over = poll(&mut fds, limit.as_ref()).is_ok();
        if bell.is_some_and(|at| is_over && fds[at].revents().intersects(PollFlags::HUP | PollFlags::ERR)) {
            (self.bell, self.is_woken) = (None, true);
        }
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
                // The DVM's last messages may still be read; that read reports the loss.
                Err(_) => self.outgoing.clear(),
            }
        }
    }

    fn receive_some(&mut self) {
        if self.closed.is_some() {
            return;
        }
        self.buffer.clear();
        // Memory that nothing is read into is never touched.
        self.buffer.reserve(READ_SIZE);
        match rustix::io::read(&self.connection.stream, spare_capacity(&mut self.buffer)) {
            Ok(0) => self.closed = Some((io::ErrorKind::UnexpectedEof, String::new())),
            Ok(_) => self.connection.frames.feed(&self.buffer),
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
