//! The only entrance to the library: connections that the daemon has admitted, handed over as descriptors.
//!
//! libpmix makes a TCP socket on 127.0.0.1 and listens there, where every user of the machine could connect past the
//! daemon. So its call of `listen` comes here: its socket is replaced by ours to the daemon, and no port is ever open.
//! When ours is readable, its call of `accept` comes here too, and gets a connection that the daemon has passed. The
//! linker finds these functions before those of the C library, because this program exports them (`build.rs`).

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::os::raw::c_int;
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionread};
use rustix::net::sockopt::set_tcp_quickack;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use crate::{caller, pace};

/// The socket over which connections come.
static ENTRANCE: OnceLock<OwnedFd> = OnceLock::new();

/// The connections that the library got and has not closed: descriptor and inode number of each.
static CONNECTIONS: Mutex<Vec<(RawFd, u64)>> = Mutex::new(Vec::new());

/// Makes the library's listener, on any port, accept the connections of this socket from now on.
pub(crate) fn open(connections: OwnedFd) {
    // Called once, before the library is opened.
    let _ = ENTRANCE.set(connections);
}

/// Replaces the C library's function for libpmix: instead of listening, the socket becomes another descriptor of the
/// entrance.
///
/// # Safety
/// As the function that it replaces: none.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn listen(socket: c_int, _backlog: c_int) -> c_int {
    let Some(entrance) = ENTRANCE.get() else {
        return fail(Errno::OPNOTSUPP);
    };
    // SAFETY: both are descriptors of this process; the caller owns `socket` and goes on using it as its listener.
    match unsafe { libc::dup3(entrance.as_raw_fd(), socket, libc::O_CLOEXEC) } {
        -1 => -1,
        _ => 0,
    }
}

/// Replaces the C library's function for libpmix: returns the next connection that the daemon has passed.
///
/// # Safety
/// As the function that it replaces: `len` is null, or says how many bytes there are at `address`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn accept(
    socket: c_int,
    address: *mut libc::sockaddr,
    len: *mut libc::socklen_t,
) -> c_int {
    // SAFETY: the caller has the socket open during the call.
    let connection = match receive(unsafe { BorrowedFd::borrow_raw(socket) }) {
        Ok((connection, is_tool)) => {
            if is_tool {
                pace::watch(connection.as_fd());
            }
            note(&connection);
            connection.into_raw_fd()
        }
        Err(error) => return fail(error),
    };
    if !address.is_null() && !len.is_null() {
        // SAFETY: the caller's promise; who has gone already leaves the address as it was.
        unsafe { libc::getpeername(connection, address, len) };
    }
    connection
}

/// Replaces the C library's function for libpmix, to notice when it calls a tool.
///
/// # Safety
/// As the function that it replaces: there are `len` bytes at `address`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn connect(socket: c_int, address: *const libc::sockaddr, len: libc::socklen_t) -> c_int {
    // SAFETY: the caller's promise.
    let (done, family) = unsafe {
        let family = (!address.is_null()).then(|| libc::c_int::from((*address).sa_family));
        (libc::syscall(libc::SYS_connect, socket, address, len), family)
    };
    match done {
        0 if matches!(family, Some(libc::AF_INET | libc::AF_INET6)) => caller::watch(socket),
        _ => {}
    }
    // The system call's result is 0 or -1, and the error number is set.
    if done == 0 { 0 } else { -1 }
}

/// Replaces the C library's function for libpmix, which writes its messages by it: what comes after an answer is
/// acknowledged as soon as it is read.
///
/// The kernel expects that a program which has answered answers again, and has the acknowledgement wait 40 ms for that.
/// The client's kernel holds a small message back until the one before it is acknowledged (Nagle's algorithm), and
/// `PMIx_Finalize` sends one after a message that has no answer.
///
/// # Safety
/// As the function that it replaces: there are `count` parts at `parts`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn writev(file: c_int, parts: *const libc::iovec, count: c_int) -> isize {
    // SAFETY: the caller's promise.
    let written = unsafe { libc::syscall(libc::SYS_writev, file, parts, count) };
    if written > 0 {
        // A file that is no connection refuses the option, and that does not matter.
        let _ = descriptor(file).map(|file| set_tcp_quickack(file, true));
    }
    written as isize
}

/// Notes a connection, and forgets those that the library has closed.
fn note(connection: &OwnedFd) {
    let Some(inode) = inode(connection.as_fd()) else { return };
    let mut all = CONNECTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|(number, own)| descriptor(*number).and_then(self::inode) == Some(*own));
    all.push((connection.as_raw_fd(), inode));
}

/// True when the library has read all that has come from processes that are gone.
pub(crate) fn is_all_read() -> bool {
    let all = CONNECTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    let open = all.iter().filter_map(|(number, own)| descriptor(*number).filter(|open| inode(*open) == Some(*own)));
    open.into_iter().all(|open| !is_left(open) || ioctl_fionread(open).is_ok_and(|bytes| bytes == 0))
}

/// True when the library has closed all connections that it got (spec L155).
pub(crate) fn is_empty() -> bool {
    let all = CONNECTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().all(|(number, own)| descriptor(*number).and_then(inode) != Some(*own))
}

/// True when the process at the other end is gone.
fn is_left(connection: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(connection, PollFlags::RDHUP)];
    poll(&mut polled, Some(&Timespec::default())).is_ok_and(|count| count > 0)
}

/// Tells a descriptor from a later one of the same number.
pub(crate) fn inode(descriptor: BorrowedFd<'_>) -> Option<u64> {
    rustix::fs::fstat(descriptor).ok().map(|stat| stat.st_ino)
}

/// Receives a connection; true for that of a tool. Any error but "not now" would make the library stop listening for
/// good.
fn receive(entrance: BorrowedFd<'_>) -> Result<(OwnedFd, bool), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut kind = [0];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let received = recvmsg(entrance, &mut [IoSliceMut::new(&mut kind)], &mut control, flags);
    if received.is_ok_and(|message| message.bytes == 0) {
        // The daemon is gone, so this process ends.
        crate::serve::leave();
    }
    let descriptors = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    let connection = descriptors.flatten().next().ok_or(Errno::AGAIN)?;
    Ok((connection, kind != [0]))
}

/// Looks at a descriptor of the library, which may close it at any time: then another may have its number, so the
/// caller compares the inode number, and does nothing that would harm another.
pub(crate) fn descriptor(number: RawFd) -> Option<BorrowedFd<'static>> {
    // SAFETY: only `-1` is no descriptor; a closed one makes the calls fail.
    (number >= 0).then(|| unsafe { BorrowedFd::borrow_raw(number) })
}

fn fail(error: Errno) -> c_int {
    // SAFETY: the place of this thread's error number is always there.
    unsafe { *libc::__errno_location() = error.raw_os_error() };
    -1
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};

    use rustix::net::sockopt::tcp_quickack;
    use rustix::net::{AddressFamily, SocketType, getsockname, socket};

    use super::*;

    /// Both ends of a connection, by system calls: this program replaces the functions.
    fn connection() -> (TcpStream, TcpStream) {
        let new = || socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        let (listener, client) = (new(), new());
        rustix::net::bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a port");
        rustix::net::listen(&listener, 1).expect("a listener");
        rustix::net::connect(&client, &getsockname(&listener).expect("its address")).expect("a connection");
        (client.into(), rustix::net::accept(&listener).expect("its other end").into())
    }

    #[test]
    fn what_comes_after_an_answer_is_acknowledged_when_it_is_read() {
        let (mut client, mut server) = connection();
        for _ in 0..10 {
            client.write_all(b"?").expect("a question");
            server.read_exact(&mut [0]).expect("the same");
            let parts = libc::iovec { iov_base: b"!".as_ptr().cast_mut().cast(), iov_len: 1 };
            // SAFETY: there is one part, which the call only reads.
            assert_eq!(unsafe { writev(server.as_raw_fd(), &raw const parts, 1) }, 1);
            client.read_exact(&mut [0]).expect("an answer");
        }
        assert!(tcp_quickack(&server).expect("an option"), "after answers the kernel would wait for another one");
    }

    #[test]
    fn other_files_are_written_as_by_the_system() {
        let (mut end, file) = std::io::pipe().expect("a pipe");
        let parts = libc::iovec { iov_base: b"text".as_ptr().cast_mut().cast(), iov_len: 4 };
        // SAFETY: there is one part, which the call only reads.
        assert_eq!(unsafe { writev(file.as_raw_fd(), &raw const parts, 1) }, 4);
        drop(file);
        let mut text = String::new();
        end.read_to_string(&mut text).expect("the text");
        assert_eq!(text, "text");
        // SAFETY: as above; the file is not open.
        assert_eq!(unsafe { writev(-1, &raw const parts, 1) }, -1);
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EBADF));
    }
}
