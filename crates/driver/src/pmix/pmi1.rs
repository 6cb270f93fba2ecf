//! The PMI-1 sockets of local processes: moves bytes, which the machine interprets. Only [`super::PmixBridge`] uses it.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use bytes::Bytes;
use ferrite_core::{DaemonInput, Input, PmixCall};
use ferrite_types::{JobId, ProcId};
use tokio::task::{JoinHandle, spawn_local};

use crate::Inbox;
use crate::children::Holders;
use crate::stdio::{Chunk, Reader, Writer, nonblocking};

/// Size of one read (bytes): a request is a line of text.
const READ_LIMIT: usize = 8 * 1024;

/// Our ends of the sockets.
pub(super) struct Pmi1 {
    inbox: Inbox,
    holders: Holders,
    sockets: BTreeMap<ProcId, Socket>,
}

struct Socket {
    writer: Writer,
    reading: JoinHandle<()>,
}

impl Pmi1 {
    pub(super) fn new(inbox: Inbox, holders: Holders) -> Pmi1 {
        Pmi1 { inbox, holders, sockets: BTreeMap::new() }
    }

    /// Makes the socket of a process and returns the process's end.
    pub(super) fn open(&mut self, proc: ProcId) -> io::Result<OwnedFd> {
        let (ours, theirs) = UnixStream::pair()?;
        let ours = Rc::new(nonblocking(ours.into())?);
        let writer = Writer::new(Rc::clone(&ours), |_| {});
        let reading = spawn_local(listen(Reader::of(ours), proc, self.holders.clone(), self.inbox.clone()));
        self.sockets.insert(proc, Socket { writer, reading });
        Ok(theirs.into())
    }

    pub(super) fn write(&self, proc: ProcId, data: Bytes) {
        if let Some(socket) = self.sockets.get(&proc) {
            socket.writer.write(data);
        }
    }

    pub(super) fn close(&mut self, job: JobId) {
        self.sockets.retain(|proc, socket| {
            if proc.job == job {
                socket.reading.abort();
            }
            proc.job != job
        });
    }
}

/// Passes on what a process says, once its start is told (spec L110).
async fn listen(reader: Reader, proc: ProcId, holders: Holders, inbox: Inbox) {
    let reader = Rc::new(reader);
    let mut spoken = false;
    loop {
        let data = match reader.read(READ_LIMIT).await {
            Chunk::Data(data) => data,
            Chunk::Closed => Bytes::new(),
        };
        let closed = data.is_empty();
        // Most processes never send anything: their end needs no report.
        if spoken || !closed {
            // A new process may speak before the machine has heard of its start.
            holders.heard_of(proc).await;
            let _ = inbox.send(Input::Daemon(DaemonInput::Pmix(PmixCall::Pmi1 { proc, data })));
        }
        spoken = true;
        if closed {
            return;
        }
    }
}
