//! The listener for clients on other hosts: a TCP port, and a key file that authenticates its holder. After the
//! handshake a client is served as at the control socket. [`ferrite_wire::remote`] defines the protocol.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use ferrite_wire::control::{GREETING_LEN, GreetingError, check_greeting, greeting};
use ferrite_wire::remote::{HELLO_LEN, REMOTE_PATTERN, TAG_LEN, join_address, key_text, prologue};
use rustix::net::sockopt;
use snow::{Builder, HandshakeState, StatelessTransportState};
use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn_local;
use zeroize::Zeroizing;

use super::client::serve;
use super::listener::is_surplus;
use super::sealed::{SealedReader, SealedWriter, open};
use super::{Control, Hub, OTHER_DIRECTORY, explain};
use crate::accepting::{self, Bounds, Strangers};
use crate::files;
use crate::head::Listen;
use crate::link;
use crate::secret::Secret;
use crate::session_dir::SessionDir;

/// Name of the key file in the session directory.
const KEY_FILE: &str = "key";
/// A caller that has not proved within this time that it has the key is disconnected.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);
/// Bounds on connections that have not proved yet that they have the key.
const STRANGERS: Bounds = Bounds { most: 64, share_of_files: 16, limit: HANDSHAKE_LIMIT };

/// The data that remote clients need.
pub(crate) struct Remote {
    /// Address to connect to: `host:port`.
    pub(crate) address: String,
    /// Path of the key file.
    pub(crate) key_file: PathBuf,
}

/// The data that every handshake needs.
struct Door {
    dvm: String,
    key: Secret,
    hub: Rc<Hub>,
}

/// The reason why a connection did not become a client.
#[derive(Debug, Error)]
enum Turned {
    #[error(transparent)]
    Greeting(#[from] GreetingError),
    #[error("it does not have this DVM's key, or means another DVM")]
    Key,
    #[error("it hung up during the handshake")]
    HungUp,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Opens the port and writes the key file. Within a `LocalSet`.
///
/// # Errors
/// When either cannot be made; the message names which.
pub(crate) fn listen(
    control: &Control,
    session_dir: &SessionDir,
    place: &Listen,
    hostname: &str,
) -> io::Result<Remote> {
    let (listener, port) = bind(place)?;
    let key = Secret::random()?;
    let key_file = session_dir.dir()?.join(KEY_FILE);
    files::replace(&key_file, &Zeroizing::new(key_text(&key))).map_err(explain(
        "the key file",
        &key_file,
        OTHER_DIRECTORY,
    ))?;
    let door = Door { dvm: control.dvm.clone(), key, hub: control.hub.clone() };
    spawn_local(accept(listener, Rc::new(door)));
    Ok(Remote { address: join_address(public_name(place, hostname), port), key_file })
}

fn bind(place: &Listen) -> io::Result<(TcpListener, u16)> {
    let Listen { address, port } = place;
    let shown = join_address(address.as_deref().unwrap_or("*"), *port);
    let bound = match address {
        None => link::bind(*port),
        Some(address) => std::net::TcpListener::bind((address.as_str(), *port)).and_then(|listener| {
            listener.set_nonblocking(true)?;
            let port = listener.local_addr()?.port();
            Ok((TcpListener::from_std(listener)?, port))
        }),
    };
    bound.map_err(|error| io::Error::new(error.kind(), format!("--listen {shown}: {error}")))
}

/// Returns the name by which others reach this host: the address, unless it is a wildcard.
fn public_name<'a>(place: &'a Listen, hostname: &'a str) -> &'a str {
    let is_any = |address: &&str| address.parse::<IpAddr>().is_ok_and(|ip| ip.is_unspecified());
    place.address.as_deref().filter(|address| !is_any(address)).unwrap_or(hostname)
}

async fn accept(listener: TcpListener, door: Rc<Door>) {
    let mut strangers = Strangers::new("clients of other hosts", STRANGERS);
    loop {
        let (stream, from) = accepting::next("clients of other hosts", async || listener.accept().await).await;
        strangers.greet(from, greet(stream, from, Rc::clone(&door)));
    }
}

async fn greet(mut stream: TcpStream, from: SocketAddr, door: Rc<Door>) {
    tune(&stream);
    match answer(&mut stream, &door).await {
        Ok(noise) => {
            let noise = Rc::new(noise);
            let (input, out) = stream.into_split();
            // The client used number 0 for its confirmation.
            let (reader, writer) = (SealedReader::new(noise.clone(), 1, input), SealedWriter::new(noise, 0, out));
            let hub = door.hub.clone();
            let surplus = is_surplus(&hub);
            // The service runs in a task of its own: this task counts as a stranger.
            spawn_local(serve(reader, writer, hub, surplus));
        }
        Err(cause) => {
            tracing::warn!(%from, %cause, "a client of another host was turned away");
            link::hang_up_gently(stream).await;
        }
    }
}

/// The answerer's half of the handshake.
async fn answer(stream: &mut TcpStream, door: &Door) -> Result<StatelessTransportState, Turned> {
    // The greeting goes first, so that a client of another version learns this version from it.
    stream.write_all(&greeting()).await?;
    let mut theirs = [0; GREETING_LEN];
    read_exact(stream, &mut theirs).await?;
    check_greeting(&theirs)?;
    let mut noise = start(door)?;
    let mut hello = [0; HELLO_LEN];
    read_exact(stream, &mut hello).await?;
    noise.read_message(&hello, &mut []).map_err(|_| Turned::Key)?;
    noise.write_message(&[], &mut hello).map_err(io::Error::other)?;
    stream.write_all(&hello).await?;
    let noise = noise.into_stateless_transport_mode().map_err(|_| Turned::Key)?;
    // A recording could have sent everything up to here.
    let mut confirmation = [0; 2 + TAG_LEN];
    read_exact(stream, &mut confirmation).await?;
    if confirmation[..2] != (TAG_LEN as u16).to_le_bytes() {
        return Err(Turned::Key);
    }
    open(&noise, 0, &confirmation[2..], &mut Vec::new()).map_err(|_| Turned::Key)?;
    Ok(noise)
}

fn start(door: &Door) -> Result<HandshakeState, Turned> {
    let prologue = prologue(&door.dvm);
    let pattern = REMOTE_PATTERN.parse().expect("the pattern is one that snow knows");
    let builder = Builder::new(pattern).psk(0, &door.key).and_then(|b| b.prologue(&prologue));
    // Only the system's source of randomness can fail here.
    Ok(builder.expect("each is set once").build_responder().map_err(io::Error::other)?)
}

async fn read_exact(stream: &mut TcpStream, bytes: &mut [u8]) -> Result<(), Turned> {
    match stream.read_exact(bytes).await {
        Ok(_) => Ok(()),
        Err(e) if matches!(e.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => {
            Err(Turned::HungUp)
        }
        Err(e) => Err(e.into()),
    }
}

/// Sends packets without delay, and detects a vanished host within a minute. Unlike links, a client may take any time
/// to read: a stopped `prun` is not a dead one.
fn tune(stream: &TcpStream) {
    // None of these can fail on a TCP socket; without them a client is served more slowly.
    let _ = sockopt::set_tcp_nodelay(stream, true);
    let _ = sockopt::set_socket_keepalive(stream, true);
    let _ = sockopt::set_tcp_keepidle(stream, Duration::from_secs(30));
    let _ = sockopt::set_tcp_keepintvl(stream, Duration::from_secs(10));
    let _ = sockopt::set_tcp_keepcnt(stream, 3);
}

#[cfg(test)]
mod tests;
