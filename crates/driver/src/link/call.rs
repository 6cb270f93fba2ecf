//! Calling a daemon: all addresses of its contact, staggered, until one of them answers with the DVM's key.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use ferrite_types::DaemonRank;
use ferrite_wire::Contact;
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

/// How the attempts at one address ended.
struct Failure {
    address: SocketAddr,
    cause: String,
    refused: bool,
}

/// Why a daemon could not be called.
#[derive(Debug)]
pub(super) struct Failed {
    /// In words.
    pub(super) cause: String,
    /// All of its addresses answered that nobody listens there. One is not enough: an address of a bridge that every
    /// machine has may be our own.
    pub(super) refused: bool,
}

/// A confirmed connection to `peer`, or why there is none. Who insists tries again until the deadline; else an address
/// that refuses is done with. A call that is not wanted any more when it is answered is given up.
pub(super) async fn call(
    me: &Identity,
    peer: DaemonRank,
    contact: &Contact,
    deadline: Instant,
    insist: bool,
    still_wanted: impl Fn() -> bool,
) -> Result<(TcpStream, StatelessTransportState), Failed> {
    let mut failures = Vec::new();
    let mut attempts = JoinSet::new();
    let refusal = Rc::new(Notify::new());
    // The last one is called before half of the time is over.
    let left = deadline.saturating_duration_since(Instant::now());
    let stagger = STAGGER.min(left / (2 * contact.0.len().max(1) as u32));
    for (index, address) in contact.0.iter().enumerate() {
        let me = Identity { dvm: me.dvm.clone(), rank: me.rank, key: Rc::clone(&me.key) };
        let (address, delay, refusal) = (*address, stagger * index as u32, Rc::clone(&refusal));
        attempts.spawn_local(async move {
            // Where one address is refused, the head start of the others is over.
            let _ = tokio::time::timeout(delay, refusal.notified()).await;
            let attempt = try_address(&me, peer, address, deadline, insist).await;
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
        // From here on the other attempts are not wanted: they were never confirmed and end without a trace.
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

/// Tries one address again and again, while trying again can help.
async fn try_address(
    me: &Identity,
    peer: DaemonRank,
    address: SocketAddr,
    deadline: Instant,
    insist: bool,
) -> Result<(TcpStream, StatelessTransportState), Failure> {
    let mut pause = FIRST_RETRY;
    let mut last: Option<HandshakeError> = None;
    loop {
        let attempt = timeout_at(deadline, try_once(me, peer, address)).await;
        match attempt {
            Ok(Ok(answered)) => return Ok(answered),
            // Whoever listens there is not the one that we want: it will not become so. Who does not insist knows that
            // it was the right one a moment ago; it hangs up when it ends, and then its machine refuses.
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
        // An attempt that fails at once, because no way leads there, is not cut off by the deadline.
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

/// The machine is there and says that nobody listens at that port.
fn is_refusal(error: &HandshakeError) -> bool {
    matches!(error, HandshakeError::Io(cause) if cause.kind() == io::ErrorKind::ConnectionRefused)
}

async fn try_once(
    me: &Identity,
    peer: DaemonRank,
    address: SocketAddr,
) -> Result<(TcpStream, StatelessTransportState), HandshakeError> {
    let mut stream = TcpStream::connect(address).await?;
    tune(&stream);
    let handshake = handshake::call(&mut stream, me, peer);
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
