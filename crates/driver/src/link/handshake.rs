//! The handshake that turns a fresh TCP connection between two daemons into a link: preambles, then Noise with the
//! DVM's key.
//!
//! Caller and answerer both begin with their preamble. The caller adds the first Noise message at once, the answerer
//! replies with the second, and the caller confirms with an empty message. Only the confirmation makes the link: before
//! it the answerer might be talking to a recording, and a caller that tries several addresses of one daemon at once
//! confirms only one of them.

use std::io;
use std::rc::Rc;

use ferrite_types::DaemonRank;
use ferrite_wire::{Hello, PREAMBLE_LEN, PreambleError, SpreadId, check_preamble, preamble};
use snow::{Builder, HandshakeState, StatelessTransportState};
use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::secret::Secret;

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";

/// Length of the largest handshake message: a DVM's name and a rank, with room (bytes).
const MAX_HELLO: usize = 4096;

/// Length of the authentication tag of a Noise message (bytes).
pub(super) const TAG: usize = 16;

/// A daemon's rank and DVM, and the key that all daemons of the DVM share.
pub(crate) struct Identity {
    pub(crate) dvm: String,
    pub(crate) rank: DaemonRank,
    pub(crate) key: Rc<Secret>,
}

/// The reason why a connection did not become a link.
#[derive(Debug, Error)]
pub(crate) enum HandshakeError {
    /// The other side speaks another protocol or another version.
    #[error(transparent)]
    Preamble(#[from] PreambleError),
    /// The other side has another key. The authenticated data includes the DVM's name, so the name may differ instead.
    #[error("the other side does not have this DVM's key")]
    Key,
    /// The other side hung up on the first message, as a daemon of another DVM does.
    #[error("the other side hung up during the handshake: it may belong to another DVM")]
    HungUp,
    /// The other side has the key but another rank than the called one.
    #[error("daemon {theirs} answered instead of daemon {called}")]
    OtherRank {
        /// The called rank.
        called: DaemonRank,
        /// The rank that answered.
        theirs: DaemonRank,
    },
    /// The other side has the key but sent an invalid greeting.
    #[error("the other side sent a damaged greeting")]
    Greeting,
    /// The connection failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Runs the caller's half. The link is made later: see [`confirm`].
pub(super) async fn call(
    stream: &mut TcpStream,
    me: &Identity,
    called: DaemonRank,
    lane: Option<SpreadId>,
) -> Result<StatelessTransportState, HandshakeError> {
    let mut noise = start(me, true)?;
    let mut first = preamble().to_vec();
    first.extend_from_slice(&greeting(&mut noise, me, lane)?);
    stream.write_all(&first).await?;
    read_preamble(stream).await?;
    let theirs = read_greeting(stream, &mut noise).await?;
    if theirs.rank != called {
        return Err(HandshakeError::OtherRank { called, theirs: theirs.rank });
    }
    into_transport(noise)
}

/// Sends the caller's confirmation, which makes the link. This uses up nonce 0 of the caller.
pub(super) async fn confirm(stream: &mut TcpStream, noise: &StatelessTransportState) -> Result<(), HandshakeError> {
    let mut message = [0; TAG];
    noise.write_message(0, &[], &mut message).map_err(|_| HandshakeError::Key)?;
    Ok(stream.write_all(&message).await?)
}

/// Runs the answerer's half; returns the caller after its confirmation, and the spread whose lane it wants.
pub(super) async fn answer(
    stream: &mut TcpStream,
    me: &Identity,
) -> Result<(DaemonRank, Option<SpreadId>, StatelessTransportState), HandshakeError> {
    stream.write_all(&preamble()).await?;
    read_preamble(stream).await?;
    let mut noise = start(me, false)?;
    let theirs = read_greeting(stream, &mut noise).await?;
    let reply = greeting(&mut noise, me, theirs.lane)?;
    stream.write_all(&reply).await?;
    let noise = into_transport(noise)?;
    let mut confirmation = [0; TAG];
    read_exact(stream, &mut confirmation).await?;
    noise.read_message(0, &confirmation, &mut [0; TAG]).map_err(|_| HandshakeError::Key)?;
    Ok((theirs.rank, theirs.lane, noise))
}

fn start(me: &Identity, calling: bool) -> Result<HandshakeState, HandshakeError> {
    let mut prologue = preamble().to_vec();
    prologue.extend_from_slice(me.dvm.as_bytes());
    let pattern = PATTERN.parse().expect("the pattern is one that snow knows");
    let builder = Builder::new(pattern).psk(0, &me.key).and_then(|b| b.prologue(&prologue)).expect("each is set once");
    let built = if calling { builder.build_initiator() } else { builder.build_responder() };
    // Only the system's source of randomness can fail here.
    built.map_err(|e| io::Error::other(e).into())
}

fn greeting(noise: &mut HandshakeState, me: &Identity, lane: Option<SpreadId>) -> Result<Vec<u8>, HandshakeError> {
    let hello = Hello { dvm: me.dvm.clone(), rank: me.rank, lane };
    let mut message = vec![0; MAX_HELLO];
    let length = noise.write_message(&hello.encode(), &mut message[2..]).map_err(io::Error::other)?;
    message[..2].copy_from_slice(&(length as u16).to_le_bytes());
    message.truncate(2 + length);
    Ok(message)
}

async fn read_greeting(stream: &mut TcpStream, noise: &mut HandshakeState) -> Result<Hello, HandshakeError> {
    let mut length = [0; 2];
    read_exact(stream, &mut length).await?;
    let length = usize::from(u16::from_le_bytes(length));
    if length > MAX_HELLO {
        return Err(HandshakeError::Key);
    }
    let mut message = vec![0; length];
    read_exact(stream, &mut message).await?;
    let mut payload = [0; MAX_HELLO];
    let n = noise.read_message(&message, &mut payload).map_err(|_| HandshakeError::Key)?;
    Hello::decode(&payload[..n]).ok_or(HandshakeError::Greeting)
}

async fn read_preamble(stream: &mut TcpStream) -> Result<(), HandshakeError> {
    let mut theirs = [0; PREAMBLE_LEN];
    read_exact(stream, &mut theirs).await?;
    Ok(check_preamble(&theirs)?)
}

async fn read_exact(stream: &mut TcpStream, bytes: &mut [u8]) -> Result<(), HandshakeError> {
    match stream.read_exact(bytes).await {
        Ok(_) => Ok(()),
        Err(e) if matches!(e.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => {
            Err(HandshakeError::HungUp)
        }
        Err(e) => Err(e.into()),
    }
}

fn into_transport(noise: HandshakeState) -> Result<StatelessTransportState, HandshakeError> {
    noise.into_stateless_transport_mode().map_err(|_| HandshakeError::Key)
}
