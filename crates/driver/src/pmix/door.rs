//! The front door: the port that processes are told to find libpmix at. The first that knocks is the reason to start the
//! library; each connection is then relayed byte for byte. Only [`super::PmixBridge`] uses it.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, TcpListener as StdListener};
use std::time::Duration;

use ferrite_pmix::FirstMessage;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet, spawn_local};

use crate::accepting;

/// A client introduces itself at once; who is slower than this is none.
const PATIENCE: Duration = Duration::from_secs(5);

/// An open door. Closes, with every relay, when dropped.
pub(super) struct Door {
    port: u16,
    accepting: JoinHandle<()>,
}

impl Door {
    /// Listens on 127.0.0.1. `inside` is asked for the library's port at each knock; `None` turns the caller away.
    pub(super) fn open<F>(inside: impl Fn() -> F + 'static) -> io::Result<Door>
    where
        F: Future<Output = Option<u16>> + 'static,
    {
        let listener = StdListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let listener = TcpListener::from_std(listener)?;
        let accepting = spawn_local(accept(listener, inside));
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

async fn accept<F>(listener: TcpListener, inside: impl Fn() -> F)
where
    F: Future<Output = Option<u16>> + 'static,
{
    let mut relays = JoinSet::new();
    loop {
        tokio::select! {
            (client, _) = accepting::next("PMIx", async || listener.accept().await) => {
                relays.spawn_local(relay(client, inside()));
            }
            Some(_) = relays.join_next() => {}
        }
    }
}

/// Lets a caller in when it has introduced itself: the library would wait for the rest of an introduction, and serve nobody else
/// meanwhile.
async fn relay(mut client: TcpStream, port: impl Future<Output = Option<u16>>) {
    let greeting = tokio::time::timeout(PATIENCE, first_message(&mut client)).await;
    let Ok(Some(greeting)) = greeting else {
        return tracing::debug!("a caller at the front door was no PMIx client");
    };
    let Some(port) = port.await else {
        return;
    };
    // Small messages go back and forth: each must leave at once.
    let _ = client.set_nodelay(true);
    let relayed = async {
        let mut library = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        library.set_nodelay(true)?;
        library.write_all(&greeting).await?;
        copy_bidirectional(&mut client, &mut library).await
    };
    if let Err(error) = relayed.await {
        tracing::debug!(%error, "a PMIx connection broke");
    }
}

/// Everything that came with a complete first message; `None` when it is none.
async fn first_message(client: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        if client.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        match FirstMessage::judge(&bytes) {
            FirstMessage::Incomplete => {}
            FirstMessage::Complete => return Some(bytes),
            FirstMessage::Garbage => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    fn local<F: Future<Output = ()>>(story: F) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, story);
    }

    /// Marks, a length of four, padding, and four bytes.
    fn greeting() -> Vec<u8> {
        [&[0xff; 8][..], &4u32.to_ne_bytes(), &[0; 4], b"me.0"].concat()
    }

    /// A door to a library of our own, and how often it was asked for.
    fn door(port: u16) -> (Door, Rc<Cell<u32>>) {
        let knocks = Rc::new(Cell::new(0));
        let counted = knocks.clone();
        let inside = move || {
            let counted = counted.clone();
            async move {
                counted.set(counted.get() + 1);
                Some(port)
            }
        };
        (Door::open(inside).unwrap(), knocks)
    }

    #[test]
    fn bytes_go_both_ways_and_the_end_is_passed_on() {
        local(async {
            let library = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let (door, knocks) = door(library.local_addr().unwrap().port());
            let mut client = TcpStream::connect(("127.0.0.1", door.port())).await.unwrap();
            client.write_all(&greeting()).await.unwrap();
            client.write_all(b"ping").await.unwrap();
            client.shutdown().await.unwrap();
            let (mut inside, _) = library.accept().await.unwrap();
            let mut bytes = Vec::new();
            inside.read_to_end(&mut bytes).await.unwrap();
            assert_eq!(bytes, [&greeting()[..], b"ping"].concat());
            inside.write_all(b"pong").await.unwrap();
            drop(inside);
            let mut text = String::new();
            client.read_to_string(&mut text).await.unwrap();
            assert_eq!((text.as_str(), knocks.get()), ("pong", 1));
        });
    }

    #[test]
    fn garbage_does_not_even_start_the_library() {
        local(async {
            let (door, knocks) = door(1);
            for garbage in [&b"GET / HTTP/1.0\r\n\r\n"[..], &[0xff; 4096], &greeting()[..10]] {
                let mut client = TcpStream::connect(("127.0.0.1", door.port())).await.unwrap();
                client.write_all(garbage).await.unwrap();
                client.shutdown().await.unwrap();
                assert_eq!(client.read(&mut [0; 1]).await.unwrap_or(0), 0);
            }
            assert_eq!(knocks.get(), 0);
        });
    }

    #[test]
    fn without_a_library_callers_are_turned_away() {
        local(async {
            let door = Door::open(|| async { None }).unwrap();
            let mut client = TcpStream::connect(("127.0.0.1", door.port())).await.unwrap();
            client.write_all(&greeting()).await.unwrap();
            assert_eq!(client.read(&mut [0; 1]).await.unwrap_or(0), 0);
        });
    }
}
