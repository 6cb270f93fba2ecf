//! The port at which daemons are called.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use rustix::net::sockopt::{set_ipv6_v6only, set_socket_reuseaddr};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind as bind_socket, socket_with};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use super::handshake::{HandshakeError, answer};
use super::{HANDSHAKE_LIMIT, Shared, tune};
use crate::accepting;

/// Connections that have not authenticated yet; beyond it the oldest is hung up on, so that whoever holds connections
/// open and says nothing cannot keep daemons out.
const MAX_STRANGERS: usize = 512;
const BACKLOG: i32 = 4096;

/// Listens on all interfaces, IPv6 and IPv4 on one port where the machine has both; 0 = any port that is free.
pub(crate) fn bind(port: u16) -> io::Result<(TcpListener, u16)> {
    let listener = bind_to(AddressFamily::INET6, port).or_else(|_| bind_to(AddressFamily::INET, port))?;
    let port = listener.local_addr()?.port();
    Ok((TcpListener::from_std(listener)?, port))
}

fn bind_to(family: AddressFamily, port: u16) -> io::Result<std::net::TcpListener> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    if port != 0 {
        // Connections of the one before are remembered for a minute, and would keep its port from us.
        set_socket_reuseaddr(&socket, true)?;
    }
    let any = if family == AddressFamily::INET6 {
        set_ipv6_v6only(&socket, false)?;
        SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))
    } else {
        SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))
    };
    bind_socket(&socket, &any)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

/// Answers calls for ever.
pub(super) async fn accept(listener: TcpListener, shared: Rc<Shared>) {
    let mut strangers: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        let (stream, from) = accepting::next("daemons", async || listener.accept().await).await;
        strangers.retain(|task| !task.is_finished());
        if strangers.len() >= MAX_STRANGERS
            && let Some(oldest) = strangers.pop_front()
        {
            oldest.abort();
        }
        let task = tokio::task::spawn_local(greet(stream, from, Rc::clone(&shared)));
        strangers.push_back(task.abort_handle());
    }
}

async fn greet(mut stream: TcpStream, from: SocketAddr, shared: Rc<Shared>) {
    tune(&stream);
    match tokio::time::timeout(HANDSHAKE_LIMIT, answer(&mut stream, &shared.me)).await {
        Ok(Ok((peer, noise))) => {
            if !shared.establish(stream, peer, noise, peer) {
                tracing::debug!(%peer, "its call crossed ours");
            }
        }
        Ok(Err(error)) => {
            tracing::warn!(%from, %error, "a connection was refused");
            if matches!(error, HandshakeError::Preamble(_)) {
                hang_up_gently(stream).await;
            }
        }
        Err(_) => tracing::warn!(%from, "a connection said nothing and was closed"),
    }
}

/// Closing with unread data would reset the connection, and our preamble, by which the other side sees what is wrong, be lost.
pub(crate) async fn hang_up_gently(mut stream: TcpStream) {
    let drain = async {
        let _ = stream.shutdown().await;
        let mut rest = [0; 4096];
        for _ in 0..64 {
            if !matches!(stream.read(&mut rest).await, Ok(n) if n > 0) {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), drain).await;
}
