//! A guard for the library's listening socket. The library reads a new connection's first message on its one thread and
//! blocks until it is there: a connection that sends nothing would stop every process of the node for ever.

use std::mem::size_of;
use std::os::fd::RawFd;
use std::os::raw::{c_int, c_void};

/// A connection that sends nothing at all is not even shown to the library for this long, in seconds.
static SILENCE_S: c_int = 3600;
/// How long one that stops in the middle may hold up the others (4.2; 5.0 asks again and again, and hence is to be reached
/// through a gate, see `FirstMessage`). Clients send their first message at once.
static PATIENCE: libc::timeval = libc::timeval { tv_sec: 0, tv_usec: 300_000 };

/// Guards the socket of this process that listens on 127.0.0.1:`port`; on Linux every accepted connection inherits the
/// timeout. False when there is no such socket.
pub(crate) fn limit_handshakes(port: u16) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return false };
    let fds = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
    let guard = |fd| {
        set(fd, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &PATIENCE)
            && set(fd, libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, &SILENCE_S)
    };
    fds.filter(|&fd| listens_on(fd, port)).any(guard)
}

fn set<T>(fd: RawFd, level: c_int, option: c_int, value: &'static T) -> bool {
    // SAFETY: the kernel reads as many bytes as the value has, and checks whether the option takes them.
    let status = unsafe {
        libc::setsockopt(fd, level, option, std::ptr::from_ref(value).cast::<c_void>(), size_of::<T>() as u32)
    };
    status == 0
}

fn listens_on(fd: RawFd, port: u16) -> bool {
    let mut accepts: c_int = 0;
    let mut len = size_of::<c_int>() as u32;
    // SAFETY: the option gives an int, and its size is given; a descriptor that is no socket is an error.
    let status =
        unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_ACCEPTCONN, (&raw mut accepts).cast(), &mut len) };
    status == 0 && accepts != 0 && local_port(fd) == Some(port)
}

fn local_port(fd: RawFd) -> Option<u16> {
    // SAFETY: zero is a valid address of no family.
    let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    let mut len = size_of::<libc::sockaddr_in>() as u32;
    // SAFETY: the kernel writes at most the length given; a longer address is cut.
    let status = unsafe { libc::getsockname(fd, (&raw mut address).cast(), &mut len) };
    let is_ipv4 = status == 0 && c_int::from(address.sin_family) == libc::AF_INET;
    is_ipv4.then(|| u16::from_be(address.sin_port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn an_accepted_connection_inherits_the_timeout() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        assert!(limit_handshakes(port));
        let mut slow = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        slow.write_all(b"x").expect("it is connected");
        let (mut accepted, _) = listener.accept().expect("someone connected");
        accepted.read_exact(&mut [0]).expect("one byte was sent");
        let error = accepted.read(&mut [0]).expect_err("no more is sent");
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }

    #[test]
    fn a_connection_that_sends_nothing_is_not_shown() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        assert!(limit_handshakes(port));
        let _silent = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        listener.set_nonblocking(true).expect("a socket");
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(listener.accept().expect_err("nobody came").kind(), ErrorKind::WouldBlock);
    }

    #[test]
    fn a_port_of_nobody_is_reported() {
        assert!(!limit_handshakes(0));
    }
}
