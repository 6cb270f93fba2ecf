//! The pace of output that tools pull. The library takes output for a tool without a limit, and keeps what the tool
//! does not read. So the daemon hears that a piece was delivered, and sends more, only when the connections of all
//! tools are writable: the library does not say who pulls. A tool that takes nothing for a while is cut off: its
//! connection is shut down, and the library forgets it.
//!
//! Output of a job for the tool that has spawned it goes ahead of a tool that does not read, up to a limit.

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::net::{Shutdown, shutdown};

use crate::entrance::{self, inode};

/// The time in which a tool has to take some of what waits for it.
const PATIENCE: Duration = Duration::from_secs(5);

/// The most output for the spawners of its jobs that the library keeps unread (bytes).
const MOST_UNREAD: usize = 64 << 20;

/// The state that the thread of the pace and the others share.
struct Pace {
    state: Mutex<State>,
    /// Wakes the thread.
    wake: OwnedFd,
}

#[derive(Default)]
struct State {
    tools: Vec<Tool>,
    pieces: Vec<Piece>,
    /// Output for the spawners of its jobs since all tools were writable (bytes).
    unread: usize,
}

/// The connection of a tool. The library owns the descriptor, and may close it at any time.
struct Tool {
    descriptor: RawFd,
    /// The inode number of this end, by which the descriptor is known for the same.
    own: u64,
}

/// Tells the daemon that a piece was delivered.
type Done = Box<dyn FnOnce() + Send>;

/// A piece of output that the library has taken.
struct Piece {
    /// The readers that have not taken it: inode numbers of their connections here.
    waits: Vec<u64>,
    since: Instant,
    done: Done,
}

static PACE: OnceLock<Option<&'static Pace>> = OnceLock::new();

/// Notes the connection of a tool.
pub(crate) fn watch(connection: BorrowedFd<'_>) {
    let (Some(pace), Some(own)) = (pace(), inode(connection)) else { return };
    let mut state = pace.lock();
    state.tools.retain(Tool::is_open);
    state.tools.push(Tool { descriptor: connection.as_raw_fd(), own });
}

/// Calls `done` when all tools can take more.
pub(crate) fn after(done: Done) {
    let Some(pace) = pace() else { return done() };
    let mut state = pace.lock();
    let waits: Vec<u64> = state.tools.iter().map(|tool| tool.own).collect();
    if waits.is_empty() {
        drop(state);
        return done();
    }
    state.pieces.push(Piece { waits, since: Instant::now(), done });
    drop(state);
    pace.wake();
}

/// Calls `done` at once for so many bytes of the output of a job of a tool; when tools leave too much unread, as
/// [`after`].
pub(crate) fn ahead(bytes: usize, done: Done) {
    let Some(pace) = pace() else { return done() };
    let is_much = {
        let mut state = pace.lock();
        state.tools.retain(Tool::is_open);
        state.unread = if state.tools.iter().all(Tool::is_writable) { 0 } else { state.unread + bytes };
        state.unread > MOST_UNREAD
    };
    if is_much { after(done) } else { done() }
}

/// Returns the pace, and starts its thread at the first call. `None` when the system has no resources for it.
fn pace() -> Option<&'static Pace> {
    *PACE.get_or_init(|| {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok()?;
        let pace: &'static Pace = Box::leak(Box::new(Pace { state: Mutex::default(), wake }));
        std::thread::Builder::new().name("pace".to_owned()).spawn(|| pace.run()).ok()?;
        Some(pace)
    })
}

impl Pace {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        // A full counter has woken the thread already.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    fn run(&self) {
        loop {
            let (done, waited, limit) = self.lock().step(Instant::now());
            done.into_iter().for_each(|done| done());
            let open = waited.iter().filter_map(|descriptor| entrance::descriptor(*descriptor));
            let mut all: Vec<PollFd<'_>> = open.map(|open| PollFd::from_borrowed_fd(open, PollFlags::OUT)).collect();
            all.push(PollFd::new(&self.wake, PollFlags::IN));
            let limit = limit.map(|at| at.saturating_duration_since(Instant::now()));
            let limit = limit.and_then(|left| Timespec::try_from(left).ok());
            let _ = poll(&mut all, limit.as_ref());
            let _ = rustix::io::read(&self.wake, &mut [0_u8; 8]);
        }
    }
}

impl State {
    /// Looks who can take more, and cuts off who has taken nothing for too long. Returns what is done, the descriptors
    /// that are waited for, and when to look again at the latest.
    fn step(&mut self, now: Instant) -> (Vec<Done>, Vec<RawFd>, Option<Instant>) {
        if self.pieces.is_empty() {
            return (Vec::new(), Vec::new(), None);
        }
        self.tools.retain(Tool::is_open);
        let is_late = |tool: &Tool| self.pieces.iter().any(|piece| piece.is_late(tool.own, now));
        let busy = self.tools.iter().filter(|tool| !tool.is_writable());
        let (late, busy): (Vec<&Tool>, Vec<&Tool>) = busy.partition(|tool| is_late(tool));
        late.into_iter().for_each(Tool::cut_off);
        let busy: Vec<(RawFd, u64)> = busy.into_iter().map(|tool| (tool.descriptor, tool.own)).collect();
        for piece in &mut self.pieces {
            piece.waits.retain(|own| busy.iter().any(|(_, busy)| busy == own));
        }
        let done = self.pieces.extract_if(.., |piece| piece.waits.is_empty()).map(|piece| piece.done).collect();
        let waited = busy.iter().filter(|(_, own)| self.pieces.iter().any(|piece| piece.waits.contains(own)));
        let limit = self.pieces.iter().map(|piece| piece.since + PATIENCE).min();
        (done, waited.map(|(descriptor, _)| *descriptor).collect(), limit)
    }
}

impl Piece {
    fn is_late(&self, own: u64, now: Instant) -> bool {
        self.waits.contains(&own) && now >= self.since + PATIENCE
    }
}

impl Tool {
    fn is_open(&self) -> bool {
        entrance::descriptor(self.descriptor).and_then(inode) == Some(self.own)
    }

    fn is_writable(&self) -> bool {
        let Some(connection) = entrance::descriptor(self.descriptor) else { return true };
        let mut polled = [PollFd::from_borrowed_fd(connection, PollFlags::OUT)];
        poll(&mut polled, Some(&Timespec::default())).is_ok_and(|count| count > 0)
    }

    fn cut_off(&self) {
        eprintln!("ferrite-pmixd: a tool has taken no output for {} s, and is cut off", PATIENCE.as_secs());
        entrance::descriptor(self.descriptor).into_iter().for_each(|open| {
            // One that has closed already is gone as well.
            let _ = shutdown(open, Shutdown::Both);
        });
    }
}
