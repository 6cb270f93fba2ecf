//! Relayed clients. A daemon has a control socket like the head's and passes its bytes to the head. The head serves
//! each relayed client over a connection without a socket, as if the client were local. Both ends move bytes when the
//! machine says so, and do not parse them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{self, Cursor};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use ferrite_core::{Input, RelayEffect, RelayId, RelayInput};
use ferrite_types::DaemonRank;
use ferrite_wire::control::{CONTROL_VERSION, GREETING_LEN};
use ferrite_wire::{DvmContact, Served};
use rustix::process::{Resource, getrlimit};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Notify, mpsc};
use tokio::task::{AbortHandle, JoinHandle, spawn_local};

use super::client::{Client, attend};
use super::line::Lines;
use super::listener::{SHARE_OF_FILES, bind, is_own, is_surplus};
use super::{Control, Hub, Published};
use crate::session_dir::SessionDir;
use crate::{Inbox, accepting};

/// Size of the buffer between the relay and a service or a line in this process (bytes).
pub(super) const BUFFER: usize = 64 * 1024;
/// A client that has sent nothing after this time is disconnected; the head never hears of it.
const FIRST_WORD_LIMIT: Duration = Duration::from_secs(10);
/// Bytes that wait for a client when its connection ends are written within this time.
const LAST_WRITE_LIMIT: Duration = Duration::from_secs(10);

/// The ends of relayed connections in this process.
pub(crate) struct Relays {
    inbox: Inbox,
    /// At the head: the control service that serves relayed clients.
    hub: Option<Rc<Hub>>,
    ends: BTreeMap<RelayId, End>,
    /// At a daemon: clients of its node that the machine has not accepted yet.
    door: Waiting,
    /// At a daemon: the number of the last client of its node.
    number: Rc<Cell<u64>>,
}

/// Clients of a daemon's node that the machine has not accepted yet.
pub(super) type Waiting = Rc<RefCell<BTreeMap<RelayId, Came>>>;

/// A waiting client.
pub(super) enum Came {
    /// A client of the control socket, with the first bytes that it has sent.
    Client { first: Vec<u8>, stream: UnixStream, place: Place },
    /// The line of a PMIx tool.
    Tool(DuplexStream),
}

/// Counts clients: each connected client holds one reference.
pub(super) type Place = Rc<()>;

/// One end of a relayed connection: one task reads, another writes.
struct End {
    wanted: mpsc::UnboundedSender<usize>,
    writes: mpsc::UnboundedSender<Bytes>,
    reader: AbortHandle,
    writer: JoinHandle<()>,
    /// At the head: tells the service to end.
    finish: Option<Rc<Notify>>,
    /// At a daemon: the client's reference in the count.
    _place: Option<Place>,
}

/// The daemon whose control socket clients use.
pub(crate) struct SocketOwner<'a> {
    pub(crate) dvm: &'a str,
    pub(crate) daemon: DaemonRank,
    pub(crate) hostname: &'a str,
    pub(crate) session_dir: &'a SessionDir,
}

impl Relays {
    /// Starts without clients; `control` is that of a head that serves clients.
    pub(crate) fn new(inbox: Inbox, control: Option<&Control>) -> Relays {
        let hub = control.map(|control| control.hub.clone());
        Relays { inbox, hub, ends: BTreeMap::new(), door: Rc::default(), number: Rc::default() }
    }

    /// Makes the lines of PMIx tools on the node of this daemon.
    pub(crate) fn lines(&self, daemon: DaemonRank) -> Lines {
        let (door, number) = (self.door.clone(), self.number.clone());
        Lines { inbox: self.inbox.clone(), daemon, door, number, requests: Rc::default() }
    }

    /// Opens the control socket of this node and writes the contact file for its clients.
    ///
    /// # Errors
    /// When the socket or the contact file cannot be made.
    pub(crate) fn listen(&self, served: Served, owner: &SocketOwner, published: &mut Published) -> io::Result<()> {
        let (listener, path) = bind(owner.session_dir)?;
        let lines = self.lines(owner.daemon);
        spawn_local(accept(listener, lines));
        let contact = DvmContact {
            dvm: owner.dvm.to_owned(),
            endpoints: Vec::new(),
            pid: served.pid,
            host: owner.hostname.to_owned(),
            head: Some(served.host),
            started_s: served.started_s,
            batch: served.batch,
            system: served.system,
            socket: path.to_string_lossy().into_owned(),
            control: CONTROL_VERSION,
            remote: None,
            key: None,
        };
        published.contact(&contact, owner.session_dir.dir()?, None)
    }

    /// Carries out the machine's effect for one client.
    pub(crate) fn apply(&mut self, effect: RelayEffect) {
        match effect {
            // The engine handles this one: it knows the daemon.
            RelayEffect::Listen(_) => {}
            RelayEffect::Serve(client) => self.serve(client),
            RelayEffect::Read { client, limit } => {
                self.let_in(client);
                if let Some(end) = self.ends.get(&client) {
                    let _ = end.wanted.send(limit);
                }
            }
            RelayEffect::Write { client, data } => {
                if let Some(end) = self.ends.get(&client) {
                    let _ = end.writes.send(data);
                }
            }
            RelayEffect::Finish(client) => {
                if let Some(finish) = self.ends.get(&client).and_then(|end| end.finish.as_ref()) {
                    finish.notify_one();
                }
            }
            RelayEffect::Close(client) => {
                self.door.borrow_mut().remove(&client);
                if let Some(end) = self.ends.remove(&client) {
                    end.close();
                }
            }
        }
    }

    fn let_in(&mut self, client: RelayId) {
        let end = match self.door.borrow_mut().remove(&client) {
            None => return,
            Some(Came::Client { first, stream, place }) => {
                let (reader, writer) = stream.into_split();
                let reader = Cursor::new(first).chain(reader);
                End { _place: Some(place), ..End::of(client, reader, writer, &self.inbox) }
            }
            Some(Came::Tool(line)) => {
                let (reader, writer) = tokio::io::split(line);
                End::of(client, reader, writer, &self.inbox)
            }
        };
        self.ends.insert(client, end);
    }

    fn serve(&mut self, id: RelayId) {
        let Some(hub) = self.hub.clone() else { return };
        let (service, passed_on) = tokio::io::duplex(BUFFER);
        let client = Rc::new(Client::new(is_surplus(&hub)));
        let finish = Rc::new(Notify::new());
        let is_told = {
            let (client, finish) = (client.clone(), finish.clone());
            async move {
                finish.notified().await;
                client.flushed().await;
            }
        };
        let (reader, writer) = tokio::io::split(service);
        spawn_local(attend(client, reader, writer, hub, is_told));
        let (reader, writer) = tokio::io::split(passed_on);
        let end = End::of(id, reader, writer, &self.inbox);
        self.ends.insert(id, End { finish: Some(finish), ..end });
    }
}

impl End {
    fn of(
        client: RelayId,
        reader: impl AsyncRead + Unpin + 'static,
        writer: impl AsyncWrite + Unpin + 'static,
        inbox: &Inbox,
    ) -> End {
        let (wanted, reads) = mpsc::unbounded_channel();
        let (writes, queue) = mpsc::unbounded_channel();
        let reader = spawn_local(read(client, reader, reads, inbox.clone())).abort_handle();
        let writer = spawn_local(write(client, writer, queue, inbox.clone()));
        End { wanted, writes, reader, writer, finish: None, _place: None }
    }

    /// Stops reading; bytes that wait are written within a time limit.
    fn close(self) {
        let End { mut writer, reader, .. } = self;
        reader.abort();
        spawn_local(async move {
            if tokio::time::timeout(LAST_WRITE_LIMIT, &mut writer).await.is_err() {
                writer.abort();
            }
        });
    }
}

async fn accept(listener: UnixListener, lines: Lines) {
    let Lines { inbox, daemon, door, number, .. } = lines;
    let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / SHARE_OF_FILES;
    let places = Place::default();
    loop {
        let (stream, _) = accepting::next("clients", async || listener.accept().await).await;
        if !is_own(&stream) {
            continue;
        }
        if Rc::strong_count(&places) as u64 > most {
            tracing::warn!(most, "there are as many clients as the limit of open files allows");
            continue;
        }
        number.set(number.get() + 1);
        let (client, place) = (RelayId { daemon, number: number.get() }, places.clone());
        let (door, inbox) = (door.clone(), inbox.clone());
        spawn_local(async move {
            if let Some(came) = hear(stream, place).await {
                door.borrow_mut().insert(client, came);
                let _ = inbox.send(Input::Relay(RelayInput::Came(client)));
            }
        });
    }
}

/// Waits for the first bytes: a caller that only checks for a listener sends none, and the head need not hear of it.
async fn hear(mut stream: UnixStream, place: Place) -> Option<Came> {
    let mut first = Vec::with_capacity(GREETING_LEN);
    let heard = tokio::time::timeout(FIRST_WORD_LIMIT, stream.read_buf(&mut first)).await;
    matches!(heard, Ok(Ok(1..))).then_some(Came::Client { first, stream, place })
}

/// Reads once for each request of the machine, until the end.
async fn read(
    client: RelayId,
    mut from: impl AsyncRead + Unpin,
    mut wanted: mpsc::UnboundedReceiver<usize>,
    inbox: Inbox,
) {
    while let Some(limit) = wanted.recv().await {
        let mut data = Vec::with_capacity(limit);
        match (&mut from).take(limit as u64).read_buf(&mut data).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {
                let _ = inbox.send(Input::Relay(RelayInput::Read { client, data: data.into() }));
            }
        }
    }
    let _ = inbox.send(Input::Relay(RelayInput::Ended(client)));
}

/// Writes the queue until nothing more can come.
async fn write(
    client: RelayId,
    mut to: impl AsyncWrite + Unpin,
    mut queue: mpsc::UnboundedReceiver<Bytes>,
    inbox: Inbox,
) {
    while let Some(data) = queue.recv().await {
        if to.write_all(&data).await.is_err() {
            let _ = inbox.send(Input::Relay(RelayInput::Ended(client)));
            return;
        }
        let _ = inbox.send(Input::Relay(RelayInput::Written { client, bytes: data.len() }));
    }
    let _ = to.shutdown().await;
}
