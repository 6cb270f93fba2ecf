//! Links between daemons: authenticated, encrypted TCP connections, at most one per neighbour. Lanes are such
//! connections too, one for each pair of neighbours in the tree of a spread.
//!
//! The engine calls [`Links`]; each connection is a task of its own that reports through the inbox. A caller that
//! cannot prove that it belongs to the DVM is disconnected, with one line in the log, and disturbs no other link.

mod call;
mod handshake;
pub(crate) mod interfaces;
mod lane;
mod listener;
mod seal;

#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::Duration;

use ferrite_core::{Input, Lane, LaneInput, LinkInput};
use ferrite_types::DaemonRank;
use ferrite_wire::{Contact, Frame, Message};
use snow::StatelessTransportState;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::Instant;

pub(crate) use handshake::Identity;
use listener::Reserved;
pub(crate) use listener::{bind, hang_up_gently};
use seal::{Opener, SealError, Sealer};

use crate::Inbox;
use crate::guard::Keeper;

/// A caller whose handshake is unfinished after this time is disconnected.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(5);
/// Time that a closed link waits for the other side to close as well; until then the kernel may still hold data for it.
const LINGER: Duration = Duration::from_millis(500);

/// Number of reads within one large frame after which the machine is told that the link is alive.
const READS_TO_TELL: u32 = 16;

/// All links of this daemon.
pub(crate) struct Links {
    shared: Rc<Shared>,
    contact: Contact,
    calls: BTreeMap<DaemonRank, AbortHandle>,
    lane_calls: BTreeMap<Lane, AbortHandle>,
    listener: Listening,
}

/// The way in which other daemons can call, if they can.
enum Listening {
    /// The port is reserved: there are no other daemons yet.
    Not(Reserved),
    /// The port listens until the task is aborted.
    Now(AbortHandle),
    /// The port is closed, or could not be opened.
    Over,
}

/// State that the tasks of connections share.
struct Shared {
    me: Identity,
    inbox: Inbox,
    table: RefCell<BTreeMap<DaemonRank, Link>>,
    lanes: RefCell<BTreeMap<Lane, lane::End>>,
    /// The task of every connection that is not over.
    tasks: RefCell<Vec<JoinHandle<()>>>,
    /// Set while this process ends: connections are not closed but handed to its guard.
    heir: RefCell<Option<Rc<Keeper>>>,
}

/// The engine's end of one connection.
struct Link {
    queue: mpsc::UnboundedSender<Frame>,
    /// The rank that made the call.
    caller: DaemonRank,
    /// True when the machine must not hear of this connection any more.
    muted: Rc<Cell<bool>>,
}

impl Links {
    /// Reserves a free port on all interfaces for [`Links::open`].
    pub(crate) fn new(me: Identity, inbox: Inbox, parameters: &[(String, String)]) -> io::Result<Links> {
        let (reserved, port) = Reserved::bind(0)?;
        let found = interfaces::addresses().unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot list this machine's addresses");
            vec![("lo".to_owned(), std::net::Ipv4Addr::LOCALHOST.into())]
        });
        let addresses = interfaces::chosen(found, parameters)?;
        let contact = Contact(addresses.into_iter().map(|ip| SocketAddr::new(ip, port)).collect());
        let shared = Rc::new(Shared {
            me,
            inbox,
            table: RefCell::default(),
            lanes: RefCell::default(),
            tasks: RefCell::default(),
            heir: RefCell::default(),
        });
        let (calls, lane_calls) = (BTreeMap::new(), BTreeMap::new());
        Ok(Links { shared, contact, calls, lane_calls, listener: Listening::Not(reserved) })
    }

    /// Listens for other daemons; only the first call has an effect. A head calls it when it starts the first of them,
    /// so that no port of a DVM of one node can be reached. Call this within a `LocalSet`.
    ///
    /// # Errors
    /// When the kernel has no memory for it.
    pub(crate) fn open(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.listener, Listening::Over) {
            Listening::Not(reserved) => {
                let accepting = listener::accept(reserved.open()?, Rc::clone(&self.shared));
                self.listener = Listening::Now(tokio::task::spawn_local(accepting).abort_handle());
            }
            other @ (Listening::Now(_) | Listening::Over) => self.listener = other,
        }
        Ok(())
    }

    /// Returns the addresses at which this daemon listens once it is open.
    pub(crate) fn contact(&self) -> &Contact {
        &self.contact
    }

    /// Sends a frame, in order after earlier ones. A frame for a link that is gone is dropped: the machine has been
    /// told, or will be.
    pub(crate) fn transmit(&self, peer: DaemonRank, frame: Frame) {
        match self.shared.table.borrow().get(&peer) {
            Some(link) => {
                let _ = link.queue.send(frame);
            }
            None => tracing::debug!(%peer, "no link for a frame"),
        }
    }

    /// Calls a daemon until the deadline; without `insist`, only until its machine refuses. `LinkUp` or `ConnectFailed`
    /// follows.
    pub(crate) fn connect(&mut self, peer: DaemonRank, contact: Contact, deadline: Instant, insist: bool) {
        let contact = callable(contact, &self.contact);
        let shared = Rc::clone(&self.shared);
        let task = tokio::task::spawn_local(async move {
            let still_wanted = || !shared.table.borrow().contains_key(&peer);
            match call::call(&shared.me, (peer, None), &contact, deadline, insist, still_wanted).await {
                Ok((stream, noise)) => {
                    shared.establish(stream, peer, noise, shared.me.rank);
                }
                // The peer has called in the meantime: there is a link, and the machine knows it.
                Err(_) if shared.table.borrow().contains_key(&peer) => {}
                Err(call::Failed { cause, refused }) => {
                    shared.report(Input::Link(LinkInput::ConnectFailed { peer, cause, refused }))
                }
            }
        });
        if let Some(earlier) = self.calls.insert(peer, task.abort_handle()) {
            earlier.abort();
        }
    }

    /// Sends the queued frames and closes the link; the machine hears nothing more of it.
    pub(crate) fn close(&mut self, peer: DaemonRank) {
        if let Some(call) = self.calls.remove(&peer) {
            call.abort();
        }
        if let Some(link) = self.shared.table.borrow_mut().remove(&peer) {
            link.muted.set(true);
        }
    }

    /// Waits until sent frames are on their way, at most for the limit. The other sides see their links close when this
    /// process and its guard are gone: then no process of this daemon is left.
    pub(crate) async fn flush(&mut self, limit: Duration, heir: &Rc<Keeper>) {
        self.shared.heir.replace(Some(Rc::clone(heir)));
        if let Listening::Now(accepting) = std::mem::replace(&mut self.listener, Listening::Over) {
            accepting.abort();
        }
        for call in self.calls.values().chain(self.lane_calls.values()) {
            call.abort();
        }
        for link in self.shared.table.take().into_values() {
            link.muted.set(true);
        }
        for end in self.shared.lanes.take().into_values() {
            end.mute();
        }
        let tasks = self.shared.tasks.take();
        let all = async {
            for task in tasks {
                let _ = task.await;
            }
        };
        if tokio::time::timeout(limit, all).await.is_err() {
            tracing::warn!("a neighbour did not take everything in time");
        }
    }
}

/// Returns the addresses of a daemon that are valid from here: its loopback address only when it may run on this
/// machine.
fn callable(contact: Contact, own: &Contact) -> Contact {
    let Contact(mut addresses) = contact;
    let public = |address: &&SocketAddr| !address.ip().is_loopback();
    let is_here = |address: &SocketAddr| own.0.iter().any(|ours| ours.ip() == address.ip());
    let elsewhere = addresses.iter().any(|a| public(&a)) && !addresses.iter().filter(public).any(is_here);
    if elsewhere {
        addresses.retain(|address| !address.ip().is_loopback());
    }
    Contact(addresses)
}

impl Shared {
    /// Makes an authenticated connection the link to `peer`; false when the existing link stays.
    fn establish(
        self: &Rc<Self>,
        stream: TcpStream,
        peer: DaemonRank,
        noise: StatelessTransportState,
        caller: DaemonRank,
    ) -> bool {
        // This is not in the condition: the borrow would last through the block, which puts the old link back.
        let old = self.table.borrow_mut().remove(&peer);
        if let Some(old) = old {
            // Two daemons that call each other at once must drop the same one of the two connections: the higher
            // rank's call stays, as daemons call towards the root. A second call by the same side replaces the first.
            if old.caller != caller && old.caller > caller {
                self.table.borrow_mut().insert(peer, old);
                return false;
            }
            // The machine takes the new link for the end of the old one.
            old.muted.set(true);
        }
        let (queue, frames) = mpsc::unbounded_channel();
        let muted = Rc::new(Cell::new(false));
        let connection = Connection { shared: Rc::clone(self), line: Line::Link(peer), muted: Rc::clone(&muted) };
        let calling = caller == self.me.rank;
        self.serve(connection.run(stream, noise, calling, frames));
        self.table.borrow_mut().insert(peer, Link { queue, caller, muted });
        self.report(Input::Link(LinkInput::LinkUp { peer }));
        true
    }

    /// Lets the task of a connection run.
    fn serve(&self, connection: impl Future<Output = ()> + 'static) {
        let mut tasks = self.tasks.borrow_mut();
        tasks.retain(|task| !task.is_finished());
        tasks.push(tokio::task::spawn_local(connection));
    }

    fn report(&self, input: Input) {
        // This fails only when the engine is gone; then no report is needed.
        let _ = self.inbox.send(input);
    }
}

/// The use of a connection.
#[derive(Clone, Copy)]
enum Line {
    /// A link to this daemon.
    Link(DaemonRank),
    /// This lane.
    Lane(Lane),
}

/// One connection's task.
struct Connection {
    shared: Rc<Shared>,
    line: Line,
    muted: Rc<Cell<bool>>,
}

impl Connection {
    async fn run(
        self,
        stream: TcpStream,
        noise: StatelessTransportState,
        calling: bool,
        frames: mpsc::UnboundedReceiver<Frame>,
    ) {
        let (input, output) = stream.into_split();
        let noise = Rc::new(noise);
        // The caller's first message was its confirmation.
        let opener = Opener::new(Rc::clone(&noise), u64::from(!calling), input);
        let sealer = Sealer::new(noise, u64::from(calling), output);
        let reading = self.read(opener);
        tokio::pin!(reading);
        let cause = tokio::select! {
            cause = &mut reading => cause,
            written = write(sealer, frames) => match written {
                Ok(output) if self.leave_open(&output) => {
                    output.forget();
                    return;
                }
                // This side has closed the link. Unread data would make the kernel discard the last sent bytes.
                Ok(output) => {
                    drop(output);
                    let _ = tokio::time::timeout(LINGER, reading).await;
                    return;
                }
                Err(error) => error.to_string(),
            },
        };
        if !self.muted.get() {
            self.shared.report(match self.line {
                Line::Link(peer) => {
                    self.shared.table.borrow_mut().remove(&peer);
                    Input::Link(LinkInput::LinkLost { peer, cause })
                }
                Line::Lane(lane) => {
                    self.shared.lanes.borrow_mut().remove(&lane);
                    Input::Lane(LaneInput::Lost { lane, cause })
                }
            });
        }
    }

    /// Hands a link to the guard; true on success.
    fn leave_open(&self, output: &OwnedWriteHalf) -> bool {
        let heir = self.shared.heir.borrow();
        matches!(self.line, Line::Link(_)) && heir.as_ref().is_some_and(|heir| heir.hold(output.as_ref().as_fd()))
    }

    /// Passes frames on until the connection ends; returns the reason.
    async fn read(&self, mut opener: Opener<OwnedReadHalf>) -> String {
        let mut frames = Vec::new();
        let mut without_frame = 0;
        loop {
            let more = opener.receive(&mut frames).await;
            without_frame = if frames.is_empty() { without_frame + 1 } else { 0 };
            if let Line::Link(peer) = self.line
                && without_frame == READS_TO_TELL
                && !self.muted.get()
            {
                without_frame = 0;
                self.shared.report(Input::Link(LinkInput::LinkActivity { peer }));
            }
            for frame in frames.drain(..).filter(|_| !self.muted.get()) {
                let input = match self.line {
                    Line::Link(from) => Input::Link(LinkInput::Frame { from, frame }),
                    Line::Lane(lane) => match Message::decode(&frame.payload) {
                        Ok(Message::Spread(message)) => Input::Lane(LaneInput::Heard { lane, message }),
                        Ok(other) => return format!("it has sent {} over a lane", other.kind()),
                        Err(error) => return error.to_string(),
                    },
                };
                self.shared.report(input);
            }
            match more {
                Ok(true) => {}
                Ok(false) => return "it closed the connection".to_owned(),
                Err(error) => return error.to_string(),
            }
        }
    }
}

/// Sends the queue, with few writes, until it is closed. Returns the writing half: dropping it tells the other side
/// that nothing more will come.
async fn write(
    mut sealer: Sealer<OwnedWriteHalf>,
    mut frames: mpsc::UnboundedReceiver<Frame>,
) -> Result<OwnedWriteHalf, SealError> {
    while let Some(frame) = frames.recv().await {
        sealer.send(frame).await?;
        while let Ok(frame) = frames.try_recv() {
            sealer.send(frame).await?;
        }
        sealer.flush().await?;
    }
    Ok(sealer.into_inner())
}

/// Sends packets without delay, and detects a vanished machine within 15 seconds.
fn tune(stream: &TcpStream) {
    use rustix::net::sockopt;
    // None of these can fail on a TCP socket; without them a link works more slowly.
    let _ = sockopt::set_tcp_nodelay(stream, true);
    let _ = sockopt::set_socket_keepalive(stream, true);
    let _ = sockopt::set_tcp_keepidle(stream, Duration::from_secs(5));
    let _ = sockopt::set_tcp_keepintvl(stream, Duration::from_secs(3));
    let _ = sockopt::set_tcp_keepcnt(stream, 3);
    let _ = sockopt::set_tcp_user_timeout(stream, 15_000);
}
