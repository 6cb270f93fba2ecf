//! The front door: the port at which processes find libpmix. Every user of the machine can connect to it, and the
//! library believes a caller's own claim. So the kernel is asked for the connection's owner before any of its bytes is
//! read, its first message is peeked at and stays in the socket, and only then the connection is passed on as a whole.
//! Only [`super::PmixBridge`] uses it.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, TcpListener as StdListener};
use std::os::fd::AsFd;
use std::time::Duration;

use ferrite_pmix::{FirstMessage, Greeting, wake_at};
use tokio::io::Interest;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet, spawn_local};

use super::caller::{self, Caller};
use crate::accepting::{self, Bounds, Strangers};

/// Bounds on callers that have not introduced themselves yet; a client does so at once.
const STRANGERS: Bounds = Bounds { most: 512, share_of_files: 4, limit: Duration::from_secs(5) };
/// Larger than any first message (bytes).
const ROOM: usize = 20 * 1024;

/// A caller of this user that has introduced itself.
pub(super) struct Guest {
    pub(super) connection: TcpStream,
    pub(super) greeting: Greeting,
    pub(super) caller: Caller,
}

/// An open door. Dropping it closes the port and disconnects waiting callers.
pub(super) struct Door {
    port: u16,
    accepting: JoinHandle<()>,
}

impl Door {
    /// Listens on 127.0.0.1. `admit` gets each guest, and decides.
    pub(super) fn open<F>(admit: impl Fn(Guest) -> F + 'static) -> io::Result<Door>
    where
        F: Future<Output = ()> + 'static,
    {
        let listener = StdListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let listener = TcpListener::from_std(listener)?;
        let accepting = spawn_local(accept(listener, admit));
        Ok(Door { port, accepting })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept<F>(listener: TcpListener, admit: impl Fn(Guest) -> F)
where
    F: Future<Output = ()> + 'static,
{
    let mut strangers = Strangers::new("PMIx", STRANGERS);
    let mut guests = JoinSet::new();
    let (known, mut welcome) = tokio::sync::mpsc::unbounded_channel();
    loop {
        tokio::select! {
            (connection, from) = accepting::next("PMIx", async || listener.accept().await) => {
                let Some(caller) = of_this_user(&connection) else { continue };
                let known = known.clone();
                strangers.greet(from, async move {
                    if let Some(greeting) = introduction(&connection).await {
                        // A closed door drops the connection too.
                        let _ = known.send(Guest { connection, greeting, caller });
                    }
                });
            }
            Some(guest) = welcome.recv() => drop(guests.spawn_local(admit(guest))),
            Some(_) = guests.join_next() => {}
        }
    }
}

/// Returns the caller if it belongs to the user of this process.
fn of_this_user(connection: &TcpStream) -> Option<Caller> {
    let ends = connection.peer_addr().and_then(|peer| Ok((peer, connection.local_addr()?)));
    match ends.and_then(|(peer, own)| caller::of(peer, own)) {
        Ok(caller) if caller.uid == rustix::process::getuid().as_raw() => Some(caller),
        Ok(caller) => {
            tracing::warn!(uid = caller.uid, "another user called at the PMIx port and was turned away");
            None
        }
        Err(error) => {
            tracing::debug!(%error, "a caller at the PMIx port was turned away");
            None
        }
    }
}

/// Waits for a whole first message, which stays in the socket. `None` when the bytes are none.
async fn introduction(connection: &TcpStream) -> Option<Greeting> {
    let mut room = vec![0; ROOM];
    let mut needed = 1;
    loop {
        wake_at(connection.as_fd(), needed).ok()?;
        let ready = connection.ready(Interest::READABLE).await.ok()?;
        let peeked = connection.try_io(Interest::READABLE, || {
            let (_, seen) = rustix::net::recv(connection, &mut room[..], rustix::net::RecvFlags::PEEK)?;
            // This error clears the readiness, so that the loop waits for more bytes.
            if seen < needed && !ready.is_read_closed() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(seen) }
        });
        let seen = match peeked {
            Ok(seen) => seen,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(_) => return None,
        };
        match FirstMessage::judge(&room[..seen]) {
            FirstMessage::Incomplete(more) if seen < more && !ready.is_read_closed() => needed = more,
            FirstMessage::Complete(greeting) => {
                wake_at(connection.as_fd(), 1).ok()?;
                return Some(greeting);
            }
            FirstMessage::Incomplete(_) => {
                tracing::debug!("a caller at the PMIx port left before it had introduced itself");
                return None;
            }
            FirstMessage::Garbage(what) => {
                tracing::warn!(what, "a caller at the PMIx port did not introduce itself as a PMIx client does");
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;

    fn local<F: Future<Output = ()>>(story: F) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let story = async { tokio::time::timeout(Duration::from_secs(30), story).await.expect("it ends in time") };
        tokio::task::LocalSet::new().block_on(&runtime, story);
    }

    /// A first message as libpmix 5.0.11 sends it.
    fn message() -> Vec<u8> {
        let body = b"native\0\0\0\0\x08\0\0\0\0\0\0\0\0\0dvm@1\0\0\0\0\x025.0.11rc1\0v41\0\x01hash\0";
        [&[0xff; 8][..], &(body.len() as u64).to_ne_bytes(), body].concat()
    }

    fn door() -> (Door, UnboundedReceiver<Guest>) {
        let (guests, came) = unbounded_channel();
        let admit = move |guest| {
            let _ = guests.send(guest);
            async {}
        };
        (Door::open(admit).unwrap(), came)
    }

    #[test]
    fn a_guest_is_passed_on_with_all_that_it_has_said() {
        local(async {
            let (door, mut came) = door();
            let mut client = TcpStream::connect(("127.0.0.1", door.port())).await.unwrap();
            for part in message().chunks(7) {
                client.write_all(part).await.unwrap();
                tokio::task::yield_now().await;
            }
            let mut guest = came.recv().await.unwrap();
            assert_eq!(guest.caller.uid, rustix::process::getuid().as_raw());
            let mut said = vec![0; message().len()];
            guest.connection.read_exact(&mut said).await.unwrap();
            assert_eq!(said, message());
            // One more byte wakes the next reader.
            client.write_all(b"x").await.unwrap();
            assert_eq!(guest.connection.read_u8().await.unwrap(), b'x');
        });
    }

    #[test]
    fn whoever_does_not_introduce_itself_is_no_guest() {
        local(async {
            let (door, mut came) = door();
            for garbage in [&b"GET / HTTP/1.0\r\n\r\n"[..], &[0xff; 4096], &message()[..10], &message()[..40], b""] {
                let mut client = TcpStream::connect(("127.0.0.1", door.port())).await.unwrap();
                client.write_all(garbage).await.unwrap();
                client.shutdown().await.unwrap();
                assert_eq!(client.read(&mut [0; 1]).await.unwrap_or(0), 0);
            }
            assert!(came.try_recv().is_err());
        });
    }

    #[test]
    fn a_silent_caller_keeps_nobody_out() {
        local(async {
            let (door, mut came) = door();
            let mut silent = TcpStream::connect(("127.0.0.1", door.port())).await.unwrap();
            silent.write_all(&message()[..20]).await.unwrap();
            let mut client = TcpStream::connect(("127.0.0.1", door.port())).await.unwrap();
            client.write_all(&message()).await.unwrap();
            assert!(came.recv().await.is_some());
        });
    }
}
