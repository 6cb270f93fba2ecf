//! Messages for the system's log of this node: datagrams in the form that syslog(3) writes (RFC 3164). Our own, because
//! syslog(3) has one connection for the whole process, waits for a full log, and has no error.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use ferrite_core::date_of;
use ferrite_types::PmixStatus;
use ferrite_types::pmix_status::{PMIX_ERR_NOT_AVAILABLE, PMIX_ERR_OUT_OF_RESOURCE};

use super::in_one_line;

/// The socket of the system's log.
pub(super) const SOCKET: &str = "/dev/log";
/// The facility of users' programs, in the place that it has in a priority.
const USER: u8 = 1 << 3;

/// A message for the system's log.
pub(super) struct Message<'a> {
    /// From 0 (emergency) to 7 (debug).
    pub(super) priority: u8,
    /// Local time, in seconds since 1970.
    pub(super) time_s: i64,
    /// The name of the process that logs.
    pub(super) source: &'a str,
    pub(super) text: &'a str,
}

impl Message<'_> {
    /// The datagram: one line, whatever the text is, so that no text looks like the message of another program.
    fn text(&self) -> String {
        // The month, the day and the time, from between the day of the week and the year.
        let date = date_of(self.time_s);
        let date = date.get(4..19).unwrap_or_default();
        let (pid, source, text) = (std::process::id(), self.source, in_one_line(self.text));
        format!("<{}>{date} ferrite[{pid}]: {source} {text}", USER | self.priority)
    }
}

/// Hands a message to the log at `socket`. Waits for nothing.
///
/// # Errors
/// `PMIX_ERR_NOT_AVAILABLE` where no log listens, `PMIX_ERR_OUT_OF_RESOURCE` for a log that has fallen behind or a text
/// that is too long for it.
pub(super) fn send(socket: &Path, message: &Message) -> Result<(), PmixStatus> {
    let sent = UnixDatagram::unbound().and_then(|from| {
        from.set_nonblocking(true)?;
        from.send_to(message.text().as_bytes(), socket)
    });
    sent.map(drop).map_err(|error| {
        tracing::warn!(%error, socket = %socket.display(), "the system's log does not take what a process logs");
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::PermissionDenied => {
                PMIX_ERR_NOT_AVAILABLE
            }
            _ => PMIX_ERR_OUT_OF_RESOURCE,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<'a>(source: &'a str, text: &'a str) -> Message<'a> {
        Message { priority: 3, time_s: 1_795_217_091, source, text }
    }

    #[test]
    fn a_message_is_one_line_that_names_the_process() {
        let (dir, source) = (tempfile::tempdir().expect("a directory"), "[d@1,2]");
        let socket = dir.path().join("log");
        assert_eq!(send(&socket, &message(source, "a")), Err(PMIX_ERR_NOT_AVAILABLE), "nobody listens");
        let log = UnixDatagram::bind(&socket).expect("a socket");
        send(&socket, &message(source, "a\n<0>Nov 20 sshd: b\n")).expect("it is taken");
        let mut taken = [0; 200];
        let length = log.recv(&mut taken).expect("a message");
        let pid = std::process::id();
        let expected = format!("<11>Nov 20 23:24:51 ferrite[{pid}]: [d@1,2] a#012<0>Nov 20 sshd: b");
        assert_eq!(String::from_utf8_lossy(&taken[..length]), expected);
    }

    #[test]
    fn a_log_that_has_fallen_behind_stops_nobody() {
        let (dir, source) = (tempfile::tempdir().expect("a directory"), "[d@1,2]");
        let socket = dir.path().join("log");
        let _log = UnixDatagram::bind(&socket).expect("a socket");
        let text = "x".repeat(60_000);
        let results: Vec<_> = (0..1_000).map(|_| send(&socket, &message(source, &text))).collect();
        assert_eq!(results.first(), Some(&Ok(())));
        assert_eq!(results.last(), Some(&Err(PMIX_ERR_OUT_OF_RESOURCE)));
    }
}
