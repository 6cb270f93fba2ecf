//! A connection to a DVM, over its control socket or from another host, for one request at a time. Every call waits for
//! the DVM; a client that has to do other work meanwhile makes a [`crate::ClientLoop`] of it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ferrite_wire::DvmContact;
use ferrite_wire::control::{
    ClientMessage, DvmMessage, GREETING_LEN, GreetingError, Reply, Request, check_greeting, greeting,
};
use rustix::fs::{Mode, OFlags};
use rustix::net::sockopt::{self, Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::{Uid, geteuid};
use thiserror::Error;

use crate::frames::{FrameError, Frames};
use crate::remote::{self, Key, Relay};

/// The reason why a DVM cannot be reached, or was lost.
#[derive(Debug, Error)]
pub enum ConnectionError {
    /// No process listens on the socket.
    #[error("the control socket {path} cannot be reached: {cause}")]
    Unreachable {
        /// The socket's path.
        path: PathBuf,
        /// The error of the system.
        cause: io::Error,
    },
    /// Another user listens on the socket.
    #[error("behind the control socket {path} of the DVM {dvm} listens another user")]
    Stranger {
        /// The DVM's name.
        dvm: String,
        /// The socket's path.
        path: PathBuf,
    },
    /// The head is on another host, and cannot be reached there.
    #[error("the DVM {dvm} cannot be reached at {address}: {cause}")]
    FarAway {
        /// The DVM's name.
        dvm: String,
        /// The head's address.
        address: String,
        /// The error of the system.
        cause: io::Error,
    },
    /// The head was reached, and has another key.
    #[error("the DVM at {address} is not {dvm}, or does not have the key in {path}")]
    KeyRefused {
        /// The name of the selected DVM.
        dvm: String,
        /// The head's address.
        address: String,
        /// The key file.
        path: PathBuf,
    },
    /// A process accepts the connection but sends nothing.
    #[error("the DVM {dvm} does not answer")]
    Silent {
        /// The DVM's name.
        dvm: String,
    },
    /// The other side has another version, or is no DVM at all.
    #[error("the DVM {dvm} cannot be talked to: {cause}")]
    Greeting {
        /// The DVM's name.
        dvm: String,
        /// The error in its greeting.
        cause: GreetingError,
    },
    /// The DVM closed or lost the connection.
    #[error("the connection to the DVM {dvm} was lost{cause}")]
    Lost {
        /// The DVM's name.
        dvm: String,
        /// The cause, as `: broken pipe`; empty = the DVM closed the connection.
        cause: String,
    },
    /// The daemon on this node, which relayed the connection, is gone.
    #[error("the daemon on this node, which connects its clients with the DVM {dvm} on {head}, is gone{cause}")]
    DaemonGone {
        /// The name of the DVM.
        dvm: String,
        /// The head's host.
        head: String,
        /// The cause, as above.
        cause: String,
    },
    /// The DVM sent a message that cannot be decoded.
    #[error("the DVM {dvm} cannot be understood: {cause}")]
    Nonsense {
        /// The DVM's name.
        dvm: String,
        /// The decoding error.
        cause: FrameError,
    },
}

impl ConnectionError {
    /// Returns advice for the user.
    #[must_use]
    pub fn next_step(&self) -> &'static str {
        match self {
            ConnectionError::Unreachable { .. } => {
                "If its process is gone, remove its session directory and start it anew."
            }
            ConnectionError::Stranger { .. } => {
                "Nothing was said to him. If the DVM that you mean is gone, start it anew, with TMPDIR set to a directory of yours."
            }
            ConnectionError::FarAway { .. } => {
                "See whether it is still running there, and whether this host can reach that port (a firewall may not let it)."
            }
            ConnectionError::KeyRefused { .. } => {
                "Address and key are new each time prte is started: take the file of its --report-uri, and name the key file of that DVM with --dvm-key."
            }
            ConnectionError::Silent { .. } => {
                "It may be stopped or very busy: look at its process, and try again. End it with SIGTERM if nothing helps."
            }
            ConnectionError::Greeting { .. } => "",
            ConnectionError::Lost { .. } => {
                "It was ended, or its process died: what it printed may say why. Start a new one with prte."
            }
            ConnectionError::DaemonGone { .. } => {
                "This node has left the DVM, or its daemon has died, or the DVM was ended: `pdvm nodes` on another of its nodes tells."
            }
            ConnectionError::Nonsense { .. } => "This is a fault of the software: please report it.",
        }
    }
}

/// A stream to a DVM on which neither side has said anything yet.
#[derive(Debug)]
pub struct Channel {
    pub(crate) dvm: String,
    /// The head's host, when a daemon relays the connection.
    pub(crate) head: Option<String>,
    pub(crate) stream: UnixStream,
    /// The threads behind the stream when the head is on another host; they outlive it.
    pub(crate) relay: Option<Relay>,
}

/// A connection whose greetings were exchanged.
#[derive(Debug)]
pub struct Connection {
    pub(crate) dvm: String,
    /// The head's host, when a daemon relays the connection.
    pub(crate) head: Option<String>,
    pub(crate) stream: UnixStream,
    pub(crate) frames: Frames,
    next_id: u32,
    /// The threads behind the stream when the head is on another host; they outlive it.
    _relay: Option<Relay>,
}

/// The number of a connection's first request.
const FIRST_REQUEST: u32 = 1;

/// Time for a DVM to send its greeting; a slower one is faulty.
const GREETING_LIMIT: Duration = Duration::from_secs(10);

impl Channel {
    /// Connects to the DVM of this contact, which belongs to this user or to `owner`.
    ///
    /// # Errors
    /// When no DVM listens, or it belongs to another user.
    pub(crate) fn open(contact: &DvmContact, owner: Uid) -> Result<Channel, ConnectionError> {
        let path = PathBuf::from(&contact.socket);
        let unreachable = |cause| ConnectionError::Unreachable { path: path.clone(), cause };
        let stream = reach(&path, SocketFlags::empty()).map_err(unreachable)?;
        // The selected DVM may be gone, and another process may have its place.
        if ![geteuid(), owner].iter().any(|user| is_of(&stream, *user)) {
            return Err(ConnectionError::Stranger { dvm: contact.dvm.clone(), path });
        }
        Ok(Channel { dvm: contact.dvm.clone(), head: contact.head.clone(), stream, relay: None })
    }

    /// Uses a nonblocking connection to the DVM of this contact, which belongs to this user.
    ///
    /// # Errors
    /// When the DVM has gone meanwhile.
    pub(crate) fn over(contact: &DvmContact, stream: UnixStream) -> Result<Channel, ConnectionError> {
        let head = contact.head.clone();
        stream.set_nonblocking(false).map_err(|cause| lost(&contact.dvm, head.as_deref(), &cause))?;
        Ok(Channel { dvm: contact.dvm.clone(), head, stream, relay: None })
    }

    /// Connects to the DVM of this contact, whose head is on another host.
    ///
    /// # Errors
    /// When no DVM answers, or none with this key.
    pub(crate) fn open_far(contact: &DvmContact, address: &str, key: &Key) -> Result<Channel, ConnectionError> {
        let (stream, relay) = remote::call(&contact.dvm, address, key)?;
        Ok(Channel { dvm: contact.dvm.clone(), head: None, stream, relay: Some(relay) })
    }

    /// Exchanges greetings: from now on both sides speak in frames.
    ///
    /// # Errors
    /// When the DVM does not answer, or cannot be understood.
    pub fn greet(self) -> Result<Connection, ConnectionError> {
        self.greet_with(&[])
    }

    /// Exchanges greetings and makes the first request, with one message to the DVM and not two.
    ///
    /// # Errors
    /// When the DVM does not answer, or cannot be understood.
    pub fn greet_and_ask(self, request: Request) -> Result<(Connection, Reply), ConnectionError> {
        let id = FIRST_REQUEST;
        let mut connection = self.greet_with(&ClientMessage::Open { id, request }.encode_frame())?;
        connection.next_id = id + 1;
        let reply = connection.reply_to(id)?;
        Ok((connection, reply))
    }

    /// Exchanges greetings, and sends these bytes after ours.
    fn greet_with(self, more: &[u8]) -> Result<Connection, ConnectionError> {
        let Channel { dvm, head, mut stream, relay: _relay } = self;
        let mut theirs = [0; GREETING_LEN];
        let exchanged = stream
            .set_read_timeout(Some(GREETING_LIMIT))
            .and_then(|()| stream.write_all(&[&greeting(), more].concat()))
            .and_then(|()| stream.read_exact(&mut theirs))
            .and_then(|()| stream.set_read_timeout(None))
            .and_then(|()| stream.set_write_timeout(None));
        match exchanged {
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Err(ConnectionError::Silent { dvm });
            }
            Err(cause) => return Err(lost(&dvm, head.as_deref(), &cause)),
            Ok(()) => {}
        }
        match check_greeting(&theirs) {
            Ok(()) => Ok(Connection { dvm, head, stream, frames: Frames::default(), next_id: FIRST_REQUEST, _relay }),
            Err(cause) => Err(ConnectionError::Greeting { dvm, cause }),
        }
    }
}

impl Connection {
    /// Returns the name of the DVM.
    #[must_use]
    pub fn dvm(&self) -> &str {
        &self.dvm
    }

    /// Gives the stream away, right after the greetings: nothing was asked yet, so nothing of it was read.
    #[must_use]
    pub fn into_stream(self) -> UnixStream {
        self.stream
    }

    /// Sends a request, and waits for the reply.
    ///
    /// # Errors
    /// When the DVM goes away, or cannot be understood.
    pub fn ask(&mut self, request: Request) -> Result<Reply, ConnectionError> {
        let id = self.next_id;
        self.next_id += 1;
        let frame = ClientMessage::Open { id, request }.encode_frame();
        self.stream.write_all(&frame).map_err(|e| self.lost(&e))?;
        self.reply_to(id)
    }

    fn reply_to(&mut self, id: u32) -> Result<Reply, ConnectionError> {
        loop {
            match self.receive()? {
                DvmMessage::Reply { id: of, reply } if of == id => return Ok(reply),
                // Other messages belong to requests that this client has not made.
                _ => {}
            }
        }
    }

    /// Waits until the DVM closes the connection, which it does when it is gone.
    pub fn wait_for_the_end(&mut self) {
        while self.receive().is_ok() {}
    }

    fn receive(&mut self) -> Result<DvmMessage, ConnectionError> {
        let mut buffer = [0; 16 * 1024];
        loop {
            let next = self.frames.next_message();
            if let Some(message) = next.map_err(|cause| ConnectionError::Nonsense { dvm: self.dvm.clone(), cause })? {
                return Ok(message);
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(self.lost(&io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => self.frames.feed(&buffer[..count]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.lost(&e)),
            }
        }
    }

    pub(crate) fn lost(&self, cause: &io::Error) -> ConnectionError {
        lost(&self.dvm, self.head.as_deref(), cause)
    }
}

/// Returns the error for a lost connection, to the head itself or to a relaying daemon.
pub(crate) fn lost(dvm: &str, head: Option<&str>, cause: &io::Error) -> ConnectionError {
    let cause = match cause.kind() {
        io::ErrorKind::UnexpectedEof => String::new(),
        _ => format!(": {cause}"),
    };
    let dvm = dvm.to_owned();
    match head {
        None => ConnectionError::Lost { dvm, cause },
        Some(head) => ConnectionError::DaemonGone { dvm, head: head.to_owned(), cause },
    }
}

/// Connects to a socket by its path, of any length.
pub(crate) fn reach(path: &Path, flags: SocketFlags) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags | SocketFlags::CLOEXEC, None)?;
    // A DVM that hangs leaves its queue of clients full; connecting would wait for ever.
    set_socket_timeout(&socket, Timeout::Send, Some(GREETING_LIMIT))?;
    match SocketAddrUnix::new(path) {
        Ok(address) => connect(&socket, &address)?,
        Err(_) => connect_through_directory(path, &socket)?,
    }
    Ok(UnixStream::from(socket))
}

/// True when this user listens there, as the kernel reports.
pub(crate) fn is_of(stream: &UnixStream, user: Uid) -> bool {
    sockopt::socket_peercred(stream).is_ok_and(|them| them.uid == user)
}

/// Connects through the opened directory, named by its descriptor: an address holds 107 bytes, and session directories
/// may be deep.
fn connect_through_directory(path: &Path, socket: &rustix::fd::OwnedFd) -> io::Result<()> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
    let (parent, name) = path.parent().zip(path.file_name()).ok_or_else(invalid)?;
    let directory =
        File::from(rustix::fs::open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?);
    let short = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd())).join(name);
    connect(socket, &SocketAddrUnix::new(&short)?)?;
    Ok(())
}
