//! A DVM whose head is on another host: the TCP connection, the proof that both sides have the key, and two threads
//! that relay between the sealed stream and one end of a socket pair. The rest of the client uses only the other end.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use ferrite_wire::control::{GREETING_LEN, check_greeting, greeting};
use ferrite_wire::remote::{HELLO_LEN, KEY_LEN, MAX_PLAIN, REMOTE_PATTERN, TAG_LEN, parse_key, prologue};
use rustix::fs::OFlags;
use rustix::net::sockopt;
use rustix::process::{DumpableBehavior, geteuid, set_dumpable_behavior};
use snow::resolvers::DefaultResolver;
use snow::{Builder, HandshakeState, StatelessTransportState};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::connection::{ConnectionError, lost};

/// Time to reach a head and to get its greeting.
const LIMIT: Duration = Duration::from_secs(10);

/// Time for a client's last messages to be sent when it ends.
const LAST_WORDS_LIMIT: Duration = Duration::from_secs(1);

/// Permissions of a file for others than its owner.
const OTHERS: u32 = 0o077;

/// Size limit of a key file (bytes): 64 digits and a line break, with room.
const LONGEST_KEY_FILE: u64 = 256;

/// The key of a DVM, and the path of its file.
pub(crate) struct Key {
    path: PathBuf,
    bytes: Zeroizing<[u8; KEY_LEN]>,
}

impl Key {
    /// Reads a key file.
    ///
    /// # Errors
    /// When it cannot be read, others can read it, or its content is no key.
    pub(crate) fn read(path: &Path) -> Result<Key, KeyError> {
        // The checks and the read use the same open file.
        let mut file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(KeyError::NoKey);
        }
        let (owner, mode) = (about.uid(), about.mode() & 0o777);
        if owner != geteuid().as_raw() && owner != 0 {
            return Err(KeyError::Foreign { owner });
        }
        if mode & OTHERS != 0 {
            return Err(KeyError::Shared { mode });
        }
        let mut text = Zeroizing::new(String::with_capacity(LONGEST_KEY_FILE as usize));
        Read::by_ref(&mut file).take(LONGEST_KEY_FILE).read_to_string(&mut text)?;
        let bytes = parse_key(&text).ok_or(KeyError::NoKey)?;
        // Other programs of this user could read the key in memory; and it must not end up in a core file.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        Ok(Key { path: path.to_owned(), bytes: Zeroizing::new(bytes) })
    }
}

/// The reason why a key file is not used.
#[derive(Debug, Error)]
pub enum KeyError {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It is no regular file, or contains no key.
    #[error("cannot be used: it holds no key")]
    NoKey,
    /// Others than its owner may read or change it.
    #[error("is not used: others may read or change it (its mode is {mode:04o})")]
    Shared {
        /// Its permissions.
        mode: u32,
    },
    /// It belongs to another user, who knows the key.
    #[error("is not used: it belongs to another user (uid {owner})")]
    Foreign {
        /// Its owner's user id.
        owner: u32,
    },
}

impl KeyError {
    /// Returns advice for the user.
    #[must_use]
    pub fn next_step(&self) -> &'static str {
        match self {
            KeyError::Io(_) | KeyError::NoKey => {
                "Copy the key file from there, readable for you only, and name the copy with --dvm-key, or run this command there."
            }
            KeyError::Shared { .. } => {
                "Whoever has the key commands the DVM. If nobody else has read it, close the file to others (chmod 600); else end that DVM, \
                 whose key is new each time it is started."
            }
            KeyError::Foreign { .. } => "Name a copy of your own with --dvm-key, readable for you only.",
        }
    }
}

/// The threads of a connection. Dropped after its stream, it waits until the written bytes are sent.
#[derive(Debug)]
pub(crate) struct Relay {
    stream: UnixStream,
    /// Disconnected when all bytes are sent.
    sent: Receiver<()>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        // This fails when the DVM has closed first; then there is no receiver.
        let _ = self.stream.shutdown(Shutdown::Write);
        let _ = self.sent.recv_timeout(LAST_WORDS_LIMIT);
    }
}

/// Connects to the head at `address`; returns the stream that stands for it.
pub(crate) fn call(dvm: &str, address: &str, key: &Key) -> Result<(UnixStream, Relay), ConnectionError> {
    let unreachable = |cause| ConnectionError::FarAway { dvm: dvm.to_owned(), address: address.to_owned(), cause };
    let mut stream = reach(address).map_err(unreachable)?;
    tune(&stream).map_err(unreachable)?;
    let noise = shake_hands(&mut stream, dvm, address, key)?;
    stream.set_read_timeout(None).and_then(|()| stream.set_write_timeout(None)).map_err(unreachable)?;
    relay(stream, noise).map_err(unreachable)
}

/// Connects to the first of its addresses that answers.
fn reach(address: &str) -> io::Result<TcpStream> {
    let deadline = Instant::now() + LIMIT;
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in address.to_socket_addrs()? {
        // A limit of zero is refused; this one expires as soon.
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    // This detects a vanished host within a minute, also for a client that sends nothing.
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(30))?;
    sockopt::set_tcp_keepintvl(stream, Duration::from_secs(10))?;
    sockopt::set_tcp_keepcnt(stream, 3)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))
}

fn shake_hands(
    stream: &mut TcpStream,
    dvm: &str,
    address: &str,
    key: &Key,
) -> Result<StatelessTransportState, ConnectionError> {
    let failed = |cause: &io::Error| match cause.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ConnectionError::Silent { dvm: dvm.to_owned() },
        _ => lost(dvm, None, cause),
    };
    let refused =
        || ConnectionError::KeyRefused { dvm: dvm.to_owned(), address: address.to_owned(), path: key.path.clone() };
    let (mut noise, first) = begin(dvm, &key.bytes).map_err(|e| failed(&e))?;
    stream.write_all(&[&greeting()[..], &first].concat()).map_err(|e| failed(&e))?;
    let mut theirs = [0; GREETING_LEN];
    stream.read_exact(&mut theirs).map_err(|e| failed(&e))?;
    check_greeting(&theirs).map_err(|cause| ConnectionError::Greeting { dvm: dvm.to_owned(), cause })?;
    let mut hello = [0; HELLO_LEN];
    match stream.read_exact(&mut hello) {
        // The head has understood everything up to here: its hang-up can only mean a different key, or name, which is
        // bound to the key.
        Err(e) if matches!(e.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => {
            return Err(refused());
        }
        other => other.map_err(|e| failed(&e))?,
    }
    noise.read_message(&hello, &mut []).map_err(|_| refused())?;
    let noise = noise.into_stateless_transport_mode().map_err(|_| refused())?;
    let mut confirmation = Vec::new();
    seal(&noise, 0, &[], &mut confirmation).and_then(|()| stream.write_all(&confirmation)).map_err(|e| failed(&e))?;
    Ok(noise)
}

/// Makes our side of the handshake, and its first message.
fn begin(dvm: &str, key: &[u8; KEY_LEN]) -> io::Result<(HandshakeState, [u8; HELLO_LEN])> {
    let prologue = prologue(dvm);
    let pattern = REMOTE_PATTERN.parse().expect("the pattern is one that snow knows");
    let builder = Builder::with_resolver(pattern, Box::new(DefaultResolver));
    let builder = builder.psk(0, key).and_then(|b| b.prologue(&prologue)).expect("each is set once");
    // Only the system's source of randomness can fail here.
    let mut noise = builder.build_initiator().map_err(io::Error::other)?;
    let mut first = [0; HELLO_LEN];
    noise.write_message(&[], &mut first).map_err(io::Error::other)?;
    Ok((noise, first))
}

fn relay(stream: TcpStream, noise: StatelessTransportState) -> io::Result<(UnixStream, Relay)> {
    let (ours, theirs) = UnixStream::pair()?;
    let (to_head, from_here) = (stream.try_clone()?, theirs.try_clone()?);
    let noise = Arc::new(noise);
    let for_sealing = Arc::clone(&noise);
    let (sending, sent) = channel();
    thread::Builder::new().name("seal".to_owned()).spawn(move || {
        // The reading thread sees how it ended.
        let _ = seal_all(&from_here, &to_head, &for_sealing);
        // The client's next write fails; bytes that have come for it can still be read.
        let _ = from_here.shutdown(Shutdown::Read);
        let _ = to_head.shutdown(Shutdown::Write);
        drop::<std::sync::mpsc::Sender<()>>(sending);
    })?;
    thread::Builder::new().name("open".to_owned()).spawn(move || {
        // In every case the client is told that the DVM is gone.
        let _ = open_all(&stream, &theirs, &noise);
        let _ = theirs.shutdown(Shutdown::Both);
        let _ = stream.shutdown(Shutdown::Both);
    })?;
    Ok((ours.try_clone()?, Relay { stream: ours, sent }))
}

/// Seals and sends until the client ends. Nonce 0 was used for the confirmation.
fn seal_all(mut from: &UnixStream, mut to: &TcpStream, noise: &StatelessTransportState) -> io::Result<()> {
    let mut plain = vec![0; MAX_PLAIN];
    let mut sealed = Vec::new();
    for nonce in 1.. {
        let count = read_some(&mut from, &mut plain)?;
        if count == 0 {
            break;
        }
        sealed.clear();
        seal(noise, nonce, &plain[..count], &mut sealed)?;
        to.write_all(&sealed)?;
    }
    Ok(())
}

/// Decrypts and passes on until the DVM ends.
fn open_all(from: &TcpStream, mut to: &UnixStream, noise: &StatelessTransportState) -> io::Result<()> {
    let mut from = BufReader::with_capacity(64 * 1024, from);
    let (mut sealed, mut plain) = (Vec::new(), Vec::new());
    for nonce in 0.. {
        let mut length = [0; 2];
        from.read_exact(&mut length)?;
        sealed.resize(usize::from(u16::from_le_bytes(length)), 0);
        from.read_exact(&mut sealed)?;
        open(noise, nonce, &sealed, &mut plain)?;
        to.write_all(&plain)?;
    }
    Ok(())
}

fn read_some(from: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Appends a sealed record with these bytes.
fn seal(noise: &StatelessTransportState, nonce: u64, plain: &[u8], to: &mut Vec<u8>) -> io::Result<()> {
    let (start, length) = (to.len(), plain.len() + TAG_LEN);
    to.extend_from_slice(&u16::try_from(length).map_err(io::Error::other)?.to_le_bytes());
    to.resize(start + 2 + length, 0);
    noise.write_message(nonce, plain, &mut to[start + 2..]).map_err(io::Error::other)?;
    Ok(())
}

/// Decrypts a record, given without its length.
fn open(noise: &StatelessTransportState, nonce: u64, record: &[u8], plain: &mut Vec<u8>) -> io::Result<()> {
    plain.resize(record.len(), 0);
    let damaged = |_| io::Error::new(io::ErrorKind::InvalidData, "a record does not authenticate");
    let count = noise.read_message(nonce, record, plain).map_err(damaged)?;
    plain.truncate(count);
    Ok(())
}

#[cfg(test)]
mod tests;
