//! The pipes of local processes, and the head's own standard input. [`crate::children`] owns a [`Reader`] per output
//! stream and a [`Writer`] per standard input. A read needs a request: that is the back-pressure.

mod own;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use bytes::{Buf, Bytes};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::task::spawn_local;

pub(crate) use own::OwnStdin;

/// Reads up to this size (bytes) go through a shared buffer and are copied out, so that a line does not pin a large
/// buffer.
const SMALL_READ: usize = 64 * 1024;
/// Largest single read (bytes), whatever the limit.
const LARGEST_READ: usize = 1024 * 1024;
/// Size of a pipe whose writer fills it (bytes).
const GROWN_PIPE: usize = 1024 * 1024;
/// Number of consecutive reads that find the pipe full before it is grown.
const FULL_READS_TO_GROW: u8 = 4;
/// Largest number of grown pipes: beyond 64 MB of pipes (`/proc/sys/fs/pipe-user-pages-soft`) new pipes of the user get
/// a single page.
const MOST_GROWN_PIPES: usize = 16;
/// Size of a new pipe on Linux (bytes).
const PLAIN_PIPE: usize = 64 * 1024;

/// The result of one read.
pub(crate) enum Chunk {
    Data(Bytes),
    Closed,
}

/// Our end of an output pipe.
pub(crate) struct Reader {
    fd: Rc<AsyncFd<OwnedFd>>,
    full_reads: Cell<u8>,
    bulk: Cell<bool>,
    grown: Cell<bool>,
}

thread_local! {
    static SMALL: RefCell<Vec<u8>> = RefCell::new(Vec::with_capacity(SMALL_READ));
    static GROWN: Cell<usize> = const { Cell::new(0) };
}

impl Reader {
    pub(crate) fn new(fd: OwnedFd) -> io::Result<Reader> {
        Ok(Reader::of(Rc::new(nonblocking(fd)?)))
    }

    /// Reads a nonblocking descriptor that may be written to as well.
    pub(crate) fn of(fd: Rc<AsyncFd<OwnedFd>>) -> Reader {
        Reader { fd, full_reads: Cell::new(0), bulk: Cell::new(false), grown: Cell::new(false) }
    }

    /// Reads the present bytes; `None` = nothing yet.
    pub(crate) fn try_read(&self, limit: usize) -> Option<Chunk> {
        match self.read_once(limit) {
            Ok(chunk) => Some(chunk),
            Err(Errno::AGAIN | Errno::INTR) => None,
            // A pipe that cannot be read is closed, whatever the reason.
            Err(_) => Some(Chunk::Closed),
        }
    }

    /// True when the pipe is empty and still has a writer.
    pub(crate) fn is_idle(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut fds = [PollFd::new(self.fd.get_ref(), PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready == 0)
    }

    /// Waits for bytes and reads once.
    pub(crate) async fn read(&self, limit: usize) -> Chunk {
        loop {
            let Ok(mut ready) = self.fd.readable().await else {
                return Chunk::Closed;
            };
            match self.try_read(limit) {
                Some(chunk) => return chunk,
                None => ready.clear_ready(),
            }
        }
    }

    fn read_once(&self, limit: usize) -> Result<Chunk, Errno> {
        let limit = limit.clamp(1, LARGEST_READ);
        let data = if self.bulk.get() && limit > SMALL_READ {
            read_bulk(self.fd.get_ref(), limit)?
        } else {
            SMALL.with_borrow_mut(|buffer| {
                buffer.clear();
                // Memory that nothing is read into is never touched.
                let room = &mut buffer.spare_capacity_mut()[..limit.min(SMALL_READ)];
                let (data, _) = rustix::io::read(self.fd.get_ref(), room)?;
                Ok::<_, Errno>(Bytes::copy_from_slice(data))
            })?
        };
        self.observe(data.len());
        Ok(if data.is_empty() { Chunk::Closed } else { Chunk::Data(data) })
    }

    /// Learns from the size of a read whether the writer fills the pipe.
    fn observe(&self, count: usize) {
        self.bulk.set(count >= SMALL_READ);
        if count < PLAIN_PIPE {
            self.full_reads.set(0);
        } else if !self.grown.get() {
            self.full_reads.set(self.full_reads.get() + 1);
            if self.full_reads.get() >= FULL_READS_TO_GROW {
                self.grow();
            }
        }
    }

    fn grow(&self) {
        self.full_reads.set(0);
        if GROWN.get() < MOST_GROWN_PIPES && rustix::pipe::fcntl_setpipe_size(self.fd.get_ref(), GROWN_PIPE).is_ok() {
            self.grown.set(true);
            GROWN.set(GROWN.get() + 1);
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.grown.get() {
            GROWN.set(GROWN.get() - 1);
        }
    }
}

fn read_bulk(fd: &OwnedFd, limit: usize) -> Result<Bytes, Errno> {
    let mut buffer = Vec::with_capacity(limit);
    let count = rustix::io::read(fd, rustix::buffer::spare_capacity(&mut buffer))?;
    debug_assert!(count <= limit, "the vector has the capacity that was asked for");
    // A little data must not hold a large buffer while it waits in a queue.
    Ok(if count < limit / 4 { Bytes::copy_from_slice(&buffer) } else { Bytes::from(buffer) })
}

/// Reports of a [`Writer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Number of bytes that were written, or dropped for lack of a reader.
    Taken(u64),
    /// The reader is gone. This comes once; queued bytes count as taken before it.
    Broken(Errno),
}

/// Our end of a pipe that is written to. Bytes are written in order; without a reader the rest is dropped and counts as
/// taken, so that the feeder continues.
#[derive(Clone)]
pub(crate) struct Writer {
    state: Rc<RefCell<WriterState>>,
    tell: Rc<dyn Fn(Progress)>,
}

struct WriterState {
    /// `None` once closed or broken.
    fd: Option<Rc<AsyncFd<OwnedFd>>>,
    queue: VecDeque<Bytes>,
    closing: bool,
    /// True while a task waits for room in the pipe.
    waiting: bool,
}

/// The outcome of one round of writing.
#[derive(Default)]
struct Round {
    taken: u64,
    broken: Option<Errno>,
}

impl Writer {
    /// Writes to a nonblocking descriptor; `tell` gets the reports.
    pub(crate) fn new(fd: Rc<AsyncFd<OwnedFd>>, tell: impl Fn(Progress) + 'static) -> Writer {
        Writer {
            state: Rc::new(RefCell::new(WriterState {
                fd: Some(fd),
                queue: VecDeque::new(),
                closing: false,
                waiting: false,
            })),
            tell: Rc::new(tell),
        }
    }

    pub(crate) fn write(&self, data: Bytes) {
        if data.is_empty() {
            return;
        }
        self.state.borrow_mut().queue.push_back(data);
        self.pump();
    }

    /// Closes after the queued bytes are written.
    pub(crate) fn close(&self) {
        self.state.borrow_mut().closing = true;
        self.pump();
    }

    /// Closes now; unwritten bytes count as taken.
    pub(crate) fn abandon(&self) {
        let taken = self.state.borrow_mut().break_off();
        self.report(Round { taken, broken: None });
    }

    fn pump(&self) {
        if self.state.borrow().waiting {
            return;
        }
        let round = self.state.borrow_mut().advance();
        self.report(round);
        if !self.state.borrow().queue.is_empty() {
            self.state.borrow_mut().waiting = true;
            spawn_local(self.clone().wait_for_room());
        }
    }

    async fn wait_for_room(self) {
        while let Some(fd) = self.writable_fd() {
            let ready = fd.writable().await;
            let round = self.state.borrow_mut().advance();
            self.report(round);
            match ready {
                Ok(mut ready) => ready.clear_ready(),
                // The runtime is shutting down.
                Err(_) => self.abandon(),
            }
        }
        self.state.borrow_mut().waiting = false;
    }

    /// Returns the descriptor while there are bytes for it.
    fn writable_fd(&self) -> Option<Rc<AsyncFd<OwnedFd>>> {
        let state = self.state.borrow();
        state.fd.clone().filter(|_| !state.queue.is_empty())
    }

    fn report(&self, round: Round) {
        if round.taken > 0 {
            (self.tell)(Progress::Taken(round.taken));
        }
        if let Some(error) = round.broken {
            (self.tell)(Progress::Broken(error));
        }
    }
}

impl WriterState {
    /// Writes without waiting.
    fn advance(&mut self) -> Round {
        let mut round = Round::default();
        while let (Some(fd), Some(front)) = (&self.fd, self.queue.front_mut()) {
            match rustix::io::write(fd.get_ref(), front) {
                Ok(count) => {
                    round.taken += count as u64;
                    front.advance(count);
                    if front.is_empty() {
                        self.queue.pop_front();
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return round,
                Err(error) => {
                    round.broken = Some(error);
                    self.fd = None;
                }
            }
        }
        if self.fd.is_none() || self.closing {
            round.taken += self.break_off();
        }
        round
    }

    fn break_off(&mut self) -> u64 {
        self.fd = None;
        self.queue.drain(..).map(|d| d.len() as u64).sum()
    }
}

/// Makes our end alone nonblocking: the process's end is another open file.
pub(crate) fn nonblocking(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    rustix::io::ioctl_fionbio(&fd, true)?;
    watched(fd)
}

/// Wraps a descriptor so that tasks can wait for its readiness.
#[expect(
    deprecated,
    reason = "the successor is unsafe because of types whose descriptor changes; an `OwnedFd` keeps its own"
)]
pub(crate) fn watched(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(fd)
}
