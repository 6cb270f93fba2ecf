//! Clients that speak JSON lines instead of frames (docs/service.md). A connection whose first byte is `{` is one. Here
//! are its bytes; an [`Interpreter`], which the command line's side provides, turns lines into messages and back.

use std::fmt::Debug;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ferrite_wire::control::{ClientMessage, DvmMessage};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::Hub;
use super::client::{Client, Ended, on_message};

/// Time for a client to close a connection whose last line it has got.
const FAREWELL_LIMIT: Duration = Duration::from_secs(1);

/// The first byte of a connection that speaks JSON lines. A greeting begins with another one.
pub(super) const FIRST_BYTE: u8 = b'{';

/// Size of one read (bytes).
const READ: usize = 64 * 1024;

/// Makes interpreters, one for each client that speaks JSON lines.
pub trait Service: Debug {
    /// Makes the interpreter of a new client. The DVM of this name began at this time (since 1970).
    fn interpreter(&self, dvm: &str, began: Duration) -> Box<dyn Interpreter>;
}

/// Speaks JSON lines with one client, and messages with the DVM. Times are since 1970.
pub trait Interpreter: Debug {
    /// Takes bytes of the client.
    fn hear(&mut self, bytes: &[u8]);

    /// Reads the next line; `None` = no whole line is left.
    fn next(&mut self, now: Duration) -> Option<Said>;

    /// Takes a message of the DVM.
    fn tell(&mut self, message: DvmMessage, now: Duration) -> Said;
}

/// The messages of an interpreter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Whole lines for the client.
    pub lines: Vec<u8>,
    /// Messages for the DVM.
    pub messages: Vec<ClientMessage>,
    /// True when these lines are the last of the connection: its client has asked for its end.
    pub is_over: bool,
}

/// The service of a DVM.
#[derive(Debug)]
pub(crate) struct Opened {
    service: Rc<dyn Service>,
    dvm: String,
    began: Duration,
}

impl Opened {
    /// Opens the service of the DVM of this name, which began at this instant.
    pub(crate) fn new(service: Rc<dyn Service>, dvm: &str, began: Instant) -> Opened {
        Opened { service, dvm: dvm.to_owned(), began: now().saturating_sub(began.elapsed()) }
    }

    pub(super) fn interpreter(&self) -> Box<dyn Interpreter> {
        self.service.interpreter(&self.dvm, self.began)
    }
}

/// The time (since 1970).
pub(super) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Reads lines until the client leaves. What its interpreter has to say goes to the machine.
pub(super) async fn read_lines(
    reader: &mut (impl AsyncRead + Unpin),
    client: &Rc<Client>,
    hub: &Hub,
) -> Result<(), Ended> {
    let mut bytes = Vec::with_capacity(READ);
    loop {
        client.has_room().await;
        for message in client.take_wishes() {
            on_message(message, client, hub)?;
        }
        tokio::select! {
            read = reader.read_buf(&mut bytes) => {
                if read? == 0 {
                    return Ok(());
                }
                client.hear(&bytes);
                bytes.clear();
                while let Some(messages) = client.next_line() {
                    for message in messages {
                        on_message(message, client, hub)?;
                    }
                    client.has_room().await;
                }
            }
            () = client.wished() => {}
        }
    }
}

/// Ends a connection whose last line is written. What its client sends meanwhile is read and dropped: a connection that
/// is closed with unread bytes loses what its client has not read (spec L153).
pub(super) async fn take_leave(mut reader: impl AsyncRead + Unpin, mut writer: impl AsyncWrite + Unpin) {
    let farewell = async {
        if writer.shutdown().await.is_ok() {
            let mut rest = [0; 4096];
            while matches!(reader.read(&mut rest).await, Ok(1..)) {}
        }
    };
    let _ = tokio::time::timeout(FAREWELL_LIMIT, farewell).await;
}
