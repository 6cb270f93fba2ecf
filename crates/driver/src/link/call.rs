//! Calls a daemon: all addresses of its contact, staggered, until one of them answers with the DVM's key.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use ferrite_types::DaemonRank;
use ferrite_wire::{Contact, SpreadId};
use snow::StatelessTransportState;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::handshake::{self, HandshakeError, Identity};
use super::{HANDSHAKE_LIMIT, tune};

/// Head start of an address over the next one of the same contact.
const STAGGER: Duration = Duration::from_millis(40);
const FIRST_RETRY: Duration = Duration::from_millis(10);
const LAST_RETRY: Duration = Duration::from_millis(500);

/// The outcome of the attempts at one address.
struct Failure {
    address: SocketAddr,
    cause: String,
    refused: bool,
}

/// The reason why a daemon could not be called.
#[derive(Debug)]
pub(super) struct Failed {
    /// The reason in words.
    pub(super) cause: String,
    /// True when all of its addresses refused the connection. One is not enough: the address of a bridge that every
    /// machine has may be our own.
    pub(super) refused: bool,
}

/// Returns a confirmed connection to `peer`, for a link or for the lane of a spread, or the reason why there is none.
/// With `insist` it tries every address again until the deadline; otherwise it gives up an address that refuses. A
/// connection that is no longer wanted when it is answered is dropped.
pub(super) async fn call(
    me: &Identity,
    (peer, lane): (DaemonRank, Option<SpreadId>),
    contact: &Contact,
    deadline: Instant,
    insist: bool,
    still_wanted: impl Fn() -> bool,
) -> Result<(TcpStream, StatelessTransportState), Failed> {
    let mut failures = Vec::new();
    let mut attempts = JoinSet::new();
    let refusal = Rc::new(Notify::new());
    // The last address is called before half of the time is over.
    let left = deadline.saturating_duration_since(Instant::now());
    let stagger = STAGGER.min(left / (2 * contact.0.len().max(1) as u32));
    for (index, address) in contact.0.iter().enumerate() {
        let me = Identity { dvm: me.dvm.clone(), rank: me.rank, key: Rc::clone(&me.key) };
        let (address, delay, refusal) = (*address, stagger * index as u32, Rc::clone(&refusal));
        attempts.spawn_local(async move {
            // A refusal at one address ends the head start over the others.
            let _ = tokio::time::timeout(delay, refusal.notified()).await;
            let attempt = try_address(&me, (peer, lane), address, deadline, insist).await;
            if attempt.as_ref().is_err_and(|failure| failure.refused) {
                refusal.notify_waiters();
            }
            attempt
        });
    }
    while let Some(attempt) = attempts.join_next().await {
        let (mut stream, noise) = match attempt {
            Ok(Ok(answered)) => answered,
            Ok(Err(failure)) => {
                failures.push(failure);
                continue;
            }
            Err(_) => continue,
        };
        // From here on the other attempts are not needed: they were never confirmed and end without a trace.
        let address = stream.peer_addr();
        if !still_wanted() {
            break;
        }
        match handshake::confirm(&mut stream, &noise).await {
            Ok(()) => return Ok((stream, noise)),
            Err(error) => {
                let failure = |address| Failure { address, cause: error.to_string(), refused: false };
                failures.extend(address.ok().map(failure));
            }
        }
    }
    let refused = !failures.is_empty() && failures.iter().all(|failure| failure.refused);
    Err(Failed { cause: describe(peer, &failures), refused })
}

/// Tries one address again and again, as long as another try can succeed.
async fn try_address(
    me: &Identity,
    called: (DaemonRank, Option<SpreadId>),
    address: SocketAddr,
    deadline: Instant,
    insist: bool,
) -> Result<(TcpStream, StatelessTransportState), Failure> {
    let mut pause = FIRST_RETRY;
    let mut last: Option<HandshakeError> = None;
    loop {
        let attempt = timeout_at(deadline, try_once(me, called, address)).await;
        match attempt {
            Ok(Ok(answered)) => return Ok(answered),
            // The listener there belongs to another DVM, and this will not change. Without `insist` the address was
            // right a moment ago: a daemon hangs up when it ends, and then its machine refuses.
            Ok(Err(HandshakeError::HungUp)) if !insist => last = Some(HandshakeError::HungUp),
            Ok(Err(error)) if !matches!(error, HandshakeError::Io(_)) => {
                let cause = error.to_string();
                return Err(Failure { address, cause, refused: false });
            }
            Ok(Err(error)) if !insist && is_refusal(&error) => {
                return Err(Failure { address, cause: error.to_string(), refused: true });
            }
            Ok(Err(error)) => last = Some(error),
            Err(_) => return Err(out_of_time(address, last)),
        }
        // An attempt without a route fails at once, and the deadline does not cut it off.
        if timeout_at(deadline, tokio::time::sleep(pause)).await.is_err() {
            return Err(out_of_time(address, last));
        }
        pause = (pause * 2).min(LAST_RETRY);
    }
}

fn out_of_time(address: SocketAddr, last: Option<HandshakeError>) -> Failure {
    let cause = last.map_or_else(|| "no answer".to_owned(), |error| error.to_string());
    Failure { address, cause, refused: false }
}

/// True when the machine answers that nobody listens at that port.
fn is_refusal(error: &HandshakeError) -> bool {
    matches!(error, HandshakeError::Io(cause) if cause.kind() == io::ErrorKind::ConnectionRefused)
}

async fn try_once(
    me: &Identity,
    (peer, lane): (DaemonRank, Option<SpreadId>),
    address: SocketAddr,
) -> Result<(TcpStream, StatelessTransportState), HandshakeError> {
    let mut stream = TcpStream::connect(address).await?;
    tune(&stream);
    let handshake = handshake::call(&mut stream, me, peer, lane);
    let noise = tokio::time::timeout(HANDSHAKE_LIMIT, handshake)
        .await
        .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "no answer to the handshake"))??;
    Ok((stream, noise))
}

fn describe(peer: DaemonRank, failures: &[Failure]) -> String {
    if failures.is_empty() {
        return format!("daemon {peer} has no address to be called at");
    }
    let each: Vec<String> = failures.iter().map(|f| format!("{}: {}", f.address, f.cause)).collect();
    format!(
        "daemon {peer} cannot be connected to ({}). Check that a firewall lets TCP connections through between the \
         nodes, and that the same build is installed on each",
        each.join("; ")
    )
}
