//! Waiting for a whole message at a socket without taking anything out of it.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::raw::{c_int, c_void};

/// Makes the kernel call the socket readable only when it holds this many bytes, or its end. Every socket starts with
/// 1.
///
/// # Errors
/// When it is no socket.
pub fn wake_at(socket: BorrowedFd<'_>, bytes: usize) -> io::Result<()> {
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    let value = (&raw const bytes).cast::<c_void>();
    // SAFETY: the option takes an int, whose size is given, and the kernel reads no more than that.
    let status = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, value, size_of::<c_int>() as u32)
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
