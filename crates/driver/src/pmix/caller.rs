//! The identity of a caller at the front door. libpmix believes a caller's own claim, so the kernel is asked for the
//! user of the socket at the other end and for the process that holds it. Only [`super::door`] uses it.

use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};
use tokio::net::TcpStream;

/// The socket at the other end of a connection of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Caller {
    /// The user that made the socket.
    pub(super) uid: u32,
    /// The inode number of the socket.
    pub(super) inode: u32,
}

/// A connection of a caller that was passed on to the library.
pub(super) struct Connection {
    peer: SocketAddr,
    own: SocketAddr,
    inode: u32,
}

impl Connection {
    /// Returns the connection of this caller.
    ///
    /// # Errors
    /// When it has ended.
    pub(super) fn of(connection: &TcpStream, caller: Caller) -> io::Result<Connection> {
        let (peer, own) = (connection.peer_addr()?, connection.local_addr()?);
        Ok(Connection { peer, own, inode: caller.inode })
    }

    /// True while the caller has its end open. True as well when the kernel refuses to answer (spec L101).
    pub(super) fn stands(&self) -> bool {
        match of(self.peer, self.own) {
            Ok(caller) => caller.inode == self.inode,
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }
}

/// The kernel's number for an established TCP connection.
const ESTABLISHED: u8 = 1;

/// Asks the kernel for the caller. `peer` is the caller's end of the connection, `own` is ours.
///
/// # Errors
/// When the kernel does not know the connection (it has ended, or comes from another machine), or refuses to answer.
pub(super) fn of(peer: SocketAddr, own: SocketAddr) -> io::Result<Caller> {
    let (SocketAddr::V4(peer), SocketAddr::V4(own)) = (peer, own) else {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "the connection is not by IPv4"));
    };
    match by_netlink(peer, own) {
        Ok(found) => found.ok_or_else(unknown),
        // This is a kernel without that service, or a container that forbids it.
        Err(error) => {
            tracing::debug!(%error, "the kernel's table of connections is read as text");
            in_table(&fs::read_to_string("/proc/net/tcp")?, peer, own).ok_or_else(unknown)
        }
    }
}

fn unknown() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "the kernel knows of no such connection")
}

/// Asks for one socket over `sock_diag(7)`, by the addresses that the caller sees.
fn by_netlink(peer: SocketAddrV4, own: SocketAddrV4) -> io::Result<Option<Caller>> {
    let socket: OwnedFd =
        socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG))?;
    send(&socket, &request(peer, own), SendFlags::empty())?;
    let mut answer = [MaybeUninit::uninit(); 1024];
    // The kernel answers while it takes the request.
    let ((answer, _), _) = recv(&socket, &mut answer, RecvFlags::DONTWAIT)?;
    read_answer(answer, peer, own)
}

/// Size of a netlink header (bytes).
const HEADER: usize = 16;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;

fn request(peer: SocketAddrV4, own: SocketAddrV4) -> Vec<u8> {
    let mut body = vec![AddressFamily::INET.as_raw() as u8, libc::IPPROTO_TCP as u8, 0, 0];
    // Any state.
    body.extend(u32::MAX.to_ne_bytes());
    body.extend(identity(peer, own));
    // Any interface, any cookie.
    body.extend(0u32.to_ne_bytes());
    body.extend([0xff; 8]);
    let mut message = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
    message.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    message.extend(NLM_F_REQUEST.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    message
}

/// Encodes ports and addresses as the kernel stores them: those of the socket itself, then those of the other end.
fn identity(peer: SocketAddrV4, own: SocketAddrV4) -> [u8; 36] {
    let mut bytes = [0; 36];
    bytes[0..2].copy_from_slice(&peer.port().to_be_bytes());
    bytes[2..4].copy_from_slice(&own.port().to_be_bytes());
    bytes[4..8].copy_from_slice(&peer.ip().octets());
    bytes[20..24].copy_from_slice(&own.ip().octets());
    bytes
}

/// Finds the caller in the kernel's answer. `None` when no connection is established.
fn read_answer(answer: &[u8], peer: SocketAddrV4, own: SocketAddrV4) -> io::Result<Option<Caller>> {
    let number = |at: usize| Some(u32::from_ne_bytes(answer.get(at..at + 4)?.try_into().ok()?));
    let kind = answer.get(4..6).and_then(|kind| kind.try_into().ok()).map(u16::from_ne_bytes);
    match kind {
        Some(SOCK_DIAG_BY_FAMILY) => {}
        Some(NLMSG_ERROR) => {
            let error = io::Error::from_raw_os_error(number(HEADER).map_or(0, |error| (error as i32).wrapping_neg()));
            return if error.kind() == io::ErrorKind::NotFound { Ok(None) } else { Err(error) };
        }
        _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "an answer of another kind")),
    }
    let stands = answer.get(HEADER + 1) == Some(&ESTABLISHED);
    let is_it = answer.get(HEADER + 4..HEADER + 40) == Some(&identity(peer, own)[..]);
    let (Some(uid), Some(inode)) = (number(HEADER + 64), number(HEADER + 68)) else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "an answer that is too short"));
    };
    // A socket without an inode number has no owner any more, and its user of 0 means nothing.
    Ok((stands && is_it && inode != 0).then_some(Caller { uid, inode }))
}

/// Finds the caller in the text of `/proc/net/tcp`.
fn in_table(table: &str, peer: SocketAddrV4, own: SocketAddrV4) -> Option<Caller> {
    let place = |address: SocketAddrV4| {
        let ip = u32::from_ne_bytes(Ipv4Addr::octets(address.ip()));
        format!("{ip:08X}:{:04X}", address.port())
    };
    let (peer, own) = (place(peer), place(own));
    table.lines().find_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_it = words.get(1) == Some(&peer.as_str()) && words.get(2) == Some(&own.as_str());
        let stands = words.get(3) == Some(&"01");
        let caller = Caller { uid: words.get(7)?.parse().ok()?, inode: words.get(9)?.parse().ok()? };
        (is_it && stands && caller.inode != 0).then_some(caller)
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::fs::MetadataExt;

    use super::*;

    fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let caller = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (caller, listener.accept().unwrap().0)
    }

    fn addresses(called: &TcpStream) -> (SocketAddrV4, SocketAddrV4) {
        match (called.peer_addr().unwrap(), called.local_addr().unwrap()) {
            (SocketAddr::V4(peer), SocketAddr::V4(own)) => (peer, own),
            other => panic!("{other:?}"),
        }
    }

    /// The end of a connection (spec L101).
    #[test]
    fn a_connection_stands_until_its_caller_closes_it() {
        let (caller, called) = connection();
        let (peer, own) = (called.peer_addr().unwrap(), called.local_addr().unwrap());
        let connection = Connection { peer, own, inode: inode(&caller) };
        assert!(connection.stands());
        assert!(!Connection { inode: connection.inode + 1, ..connection }.stands(), "that is another caller");
        drop(caller);
        assert!(!Connection { peer, own, inode: 1 }.stands());
    }

    /// Returns the inode number of a socket of this process.
    fn inode(stream: &TcpStream) -> u32 {
        use std::os::fd::AsRawFd;
        fs::metadata(format!("/proc/self/fd/{}", stream.as_raw_fd())).unwrap().ino() as u32
    }

    #[test]
    fn the_kernel_tells_whose_a_connection_is_in_both_ways() {
        let (caller, called) = connection();
        let (peer, own) = addresses(&called);
        let expected = Caller { uid: rustix::process::getuid().as_raw(), inode: inode(&caller) };
        assert_eq!(by_netlink(peer, own).unwrap(), Some(expected));
        assert_eq!(in_table(&fs::read_to_string("/proc/net/tcp").unwrap(), peer, own), Some(expected));
        assert_eq!(of(peer.into(), own.into()).unwrap(), expected);
    }

    #[test]
    fn a_connection_that_was_closed_is_nobodys() {
        let (caller, called) = connection();
        let (peer, own) = addresses(&called);
        drop(caller);
        assert_eq!(by_netlink(peer, own).unwrap(), None);
        assert_eq!(in_table(&fs::read_to_string("/proc/net/tcp").unwrap(), peer, own), None);
        assert!(of(peer.into(), own.into()).is_err());
    }

    #[test]
    fn one_that_never_was_is_nobodys() {
        let [peer, own] = [40001, 40002].map(|port| SocketAddrV4::new(Ipv4Addr::LOCALHOST, port));
        assert_eq!(by_netlink(peer, own).unwrap(), None);
    }

    #[test]
    fn answers_that_are_cut_are_errors_and_never_a_caller() {
        let (_caller, called) = connection();
        let (peer, own) = addresses(&called);
        for len in 0..HEADER + 72 {
            let mut answer = vec![0; len];
            if len >= 6 {
                answer[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
            }
            assert!(!matches!(read_answer(&answer, peer, own), Ok(Some(_))), "{len}");
        }
    }
}
