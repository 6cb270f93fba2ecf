//! Joins an input and an output with the service of a DVM (docs/service.md): a program that has no other way to the
//! DVM speaks JSON lines with it. One thread passes the input on, the caller's thread the output; each holds one piece,
//! so a slow side makes the other one wait. The lines are not interpreted, except for the two ends of the conversation.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use thiserror::Error;

use crate::connection::{Channel, ConnectionError, lost};

/// The first byte of every conversation. The bridge says it at once, because a DVM hangs up on those that say nothing;
/// the input may take its time.
const FIRST_BYTE: u8 = b'{';
/// The line that follows the input, without [`FIRST_BYTE`].
const CLOSE: &[u8] = b"\"schema\":1,\"kind\":\"close\"}\n";
/// The beginning of the last line of a DVM that has closed the conversation.
const CLOSED: &[u8] = b"{\"schema\":1,\"kind\":\"closed\",";
/// Size of a piece of input or output (bytes).
const PIECE: usize = 64 * 1024;

/// The reason why a bridge has ended before the DVM has closed the conversation.
#[derive(Debug, Error)]
pub enum BridgeError {
    /// The DVM is gone.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// The other side does not answer in JSON.
    #[error("the DVM {dvm} has no service: it does not answer in lines of JSON")]
    NoService {
        /// The DVM's name.
        dvm: String,
    },
    /// The input cannot be read.
    #[error("cannot read standard input: {0}")]
    Input(io::Error),
    /// The input does not begin with a line of JSON.
    #[error("the input begins with {:?}, and a line of JSON begins with {:?}", char::from(*.0), char::from(FIRST_BYTE))]
    NoJson(u8),
    /// The output cannot be written.
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
    /// The system has no more threads or descriptors.
    #[error("cannot begin to listen: {0}")]
    Machine(io::Error),
}

impl BridgeError {
    /// Returns advice for the user.
    #[must_use]
    pub fn next_step(&self) -> &'static str {
        match self {
            BridgeError::Connection(error) => error.next_step(),
            BridgeError::NoService { .. } => "Start a DVM with prte: only such a DVM has a service.",
            BridgeError::Input(_) => "Look at where standard input comes from.",
            BridgeError::NoJson(_) => "docs/service.md describes the requests.",
            BridgeError::Output(_) => "Look at where standard output goes: the disk may be full.",
            BridgeError::Machine(_) => "The limit of open files may be reached (ulimit -n).",
        }
    }
}

/// Passes the input to the service of the DVM, and what the DVM says to the output. At the end of the input it asks the
/// DVM to close the conversation, which ends the tasks that were submitted in it, except detached ones; it returns when
/// the DVM has answered all and closed, or when nobody reads the output any more (spec L153).
///
/// # Errors
/// When the DVM goes before, the input does not begin with a line of JSON, or one of the sides cannot be read or
/// written.
pub fn join(
    channel: Channel,
    input: impl Read + AsFd + Send + 'static,
    mut output: impl Write + AsFd,
) -> Result<(), BridgeError> {
    // The relay is kept until the end: what was written is sent when it is dropped.
    let Channel { dvm, head, stream, relay: _relay } = channel;
    let faults = begin(&stream, input).map_err(BridgeError::Machine)?;
    let mut last = LastLine::default();
    let mut piece = vec![0; PIECE];
    let cause = loop {
        if is_reader_gone(&stream, &output).map_err(|error| BridgeError::Machine(error.into()))? {
            return Ok(());
        }
        let count = match read_some(&mut &stream, &mut piece) {
            Ok(0) => break io::ErrorKind::UnexpectedEof.into(),
            Ok(count) => count,
            Err(error) => break error,
        };
        if last.is_first() && piece[0] != FIRST_BYTE {
            return Err(BridgeError::NoService { dvm });
        }
        match write_all(&mut output, &piece[..count]) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            done => done.map_err(BridgeError::Output)?,
        }
        last.note(&piece[..count]);
    };
    // The input's thread has told its fault before it has asked the DVM to close.
    match faults.try_recv() {
        Ok(fault) => Err(fault),
        Err(_) if last.is_closed() => Ok(()),
        Err(_) => Err(lost(&dvm, head.as_deref(), &cause).into()),
    }
}

/// Says the first byte, and starts the thread that passes the input on. The thread ends with the process, because a
/// read of the input may wait for ever.
fn begin(stream: &UnixStream, input: impl Read + AsFd + Send + 'static) -> io::Result<Receiver<BridgeError>> {
    // Connecting has a time limit; a DVM that is busy may take what it is told when it can.
    stream.set_write_timeout(None)?;
    let to_dvm = stream.try_clone()?;
    let (told, faults) = channel();
    thread::Builder::new().name("input".to_owned()).spawn(move || {
        // The thread that reads sees how the connection has ended.
        let _ = pass_on(input, &to_dvm, &told);
    })?;
    Ok(faults)
}

/// Passes the input to the DVM, and asks the DVM to close behind it.
fn pass_on(mut input: impl Read + AsFd, mut to_dvm: &UnixStream, told: &Sender<BridgeError>) -> io::Result<()> {
    to_dvm.write_all(&[FIRST_BYTE])?;
    let mut piece = vec![0; PIECE];
    let (mut has_begun, mut last) = (false, b'\n');
    loop {
        let count = match read_some(&mut input, &mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) => {
                let _ = told.send(BridgeError::Input(error));
                break;
            }
        };
        let mut rest = &piece[..count];
        if !has_begun {
            // The first byte has been said.
            match rest.trim_ascii_start().split_first() {
                None => continue,
                Some((&FIRST_BYTE, behind)) => (rest, has_begun) = (behind, true),
                Some((other, _)) => {
                    let _ = told.send(BridgeError::NoJson(*other));
                    break;
                }
            }
            last = FIRST_BYTE;
        }
        to_dvm.write_all(rest)?;
        last = rest.last().copied().unwrap_or(last);
    }
    let end: &[u8] = match (has_begun, last) {
        (false, _) => b"",
        (true, b'\n') => b"{",
        (true, _) => b"\n{",
    };
    to_dvm.write_all(&[end, CLOSE].concat())
}

/// Waits until the DVM has said something or is gone. True when nobody reads the output any more.
fn is_reader_gone(stream: &UnixStream, output: &impl AsFd) -> Result<bool, Errno> {
    loop {
        // No event is asked of the output: its loss is always told.
        let mut fds = [PollFd::new(stream, PollFlags::IN), PollFd::new(output, PollFlags::empty())];
        match poll(&mut fds, None) {
            Err(Errno::INTR) => {}
            done => return done.map(|_| fds[1].revents().intersects(PollFlags::ERR | PollFlags::HUP)),
        }
    }
}

/// Reads once. Another process may have changed the mode of the file, so that the read does not wait.
fn read_some(from: &mut (impl Read + AsFd), into: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait_for(from.as_fd(), PollFlags::IN)?,
            done => return done,
        }
    }
}

/// Writes all bytes, in the same manner.
fn write_all(to: &mut (impl Write + AsFd), mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match to.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait_for(to.as_fd(), PollFlags::OUT)?,
            Err(error) => return Err(error),
        }
    }
    to.flush()
}

fn wait_for(fd: BorrowedFd<'_>, event: PollFlags) -> io::Result<()> {
    match poll(&mut [PollFd::from_borrowed_fd(fd, event)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The beginning of the last line that the DVM has said.
#[derive(Debug, Default)]
struct LastLine {
    beginning: Vec<u8>,
    is_whole: bool,
}

impl LastLine {
    /// True while the DVM has said nothing.
    fn is_first(&self) -> bool {
        self.beginning.is_empty()
    }

    fn note(&mut self, bytes: &[u8]) {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if std::mem::take(&mut self.is_whole) {
                self.beginning.clear();
            }
            let room = CLOSED.len() - self.beginning.len();
            self.beginning.extend_from_slice(&line[..line.len().min(room)]);
            self.is_whole = line.ends_with(b"\n");
        }
    }

    /// True when the DVM has closed the conversation.
    fn is_closed(&self) -> bool {
        self.is_whole && self.beginning == CLOSED
    }
}

#[cfg(test)]
mod tests;
