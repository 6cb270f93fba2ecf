//! The port at which other daemons call.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use ferrite_core::Lane;
use rustix::net::sockopt::{set_ipv6_v6only, set_socket_reuseaddr};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind as bind_socket, socket_with};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::handshake::{HandshakeError, answer};
use super::{HANDSHAKE_LIMIT, Shared, tune};
use crate::accepting::{self, Bounds, Strangers};

/// Bounds on connections that have not authenticated yet.
const STRANGERS: Bounds = Bounds { most: 512, share_of_files: 4, limit: HANDSHAKE_LIMIT };
const BACKLOG: i32 = 4096;

/// A reserved port on all interfaces that does not listen yet: the kernel refuses callers.
pub(super) struct Reserved(OwnedFd);

impl Reserved {
    /// Reserves IPv6 and IPv4 on one port where the machine has both; 0 = any free port.
    pub(super) fn bind(port: u16) -> io::Result<(Reserved, u16)> {
        let socket = bind_to(AddressFamily::INET6, port).or_else(|_| bind_to(AddressFamily::INET, port))?;
        let port = SocketAddr::try_from(rustix::net::getsockname(&socket)?)?.port();
        Ok((Reserved(socket), port))
    }

    /// Listens for callers from now on. Call this within a runtime.
    pub(super) fn open(self) -> io::Result<TcpListener> {
        rustix::net::listen(&self.0, BACKLOG)?;
        TcpListener::from_std(self.0.into())
    }
}

/// Listens on all interfaces; 0 = any free port.
pub(crate) fn bind(port: u16) -> io::Result<(TcpListener, u16)> {
    let (reserved, port) = Reserved::bind(port)?;
    Ok((reserved.open()?, port))
}

fn bind_to(family: AddressFamily, port: u16) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    if port != 0 {
        // The kernel remembers connections of an earlier listener for a minute, which would block its port.
        set_socket_reuseaddr(&socket, true)?;
    }
    let any = if family == AddressFamily::INET6 {
        set_ipv6_v6only(&socket, false)?;
        SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))
    } else {
        SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))
    };
    bind_socket(&socket, &any)?;
    Ok(socket)
}

/// Answers calls for ever.
pub(super) async fn accept(listener: TcpListener, shared: Rc<Shared>) {
    let mut strangers = Strangers::new("daemons", STRANGERS);
    loop {
        let (stream, from) = accepting::next("daemons", async || listener.accept().await).await;
        strangers.greet(from, greet(stream, from, Rc::clone(&shared)));
    }
}

async fn greet(mut stream: TcpStream, from: SocketAddr, shared: Rc<Shared>) {
    tune(&stream);
    match answer(&mut stream, &shared.me).await {
        Ok((peer, Some(spread), noise)) => {
            shared.establish_lane(Lane { peer, spread }, stream, noise, false);
        }
        Ok((peer, None, noise)) => {
            if !shared.establish(stream, peer, noise, peer) {
                tracing::debug!(%peer, "its call crossed ours");
            }
        }
        Err(error) => {
            tracing::warn!(%from, %error, "a connection was refused");
            if matches!(error, HandshakeError::Preamble(_)) {
                hang_up_gently(stream).await;
            }
        }
    }
}

/// Shuts a connection down before closing it. Closing with unread data would reset the connection and lose our
/// preamble, which tells the other side the reason.
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
