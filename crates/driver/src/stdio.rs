//! The pipes of local processes, and the head's own standard input. [`crate::children`] owns a [`Reader`] per output
//! stream and a [`Writer`] per standard input. Nothing is read without being asked for: that is the back-pressure.

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

/// Reads up to this size go through a shared buffer and are copied out, so that a line does not pin a large buffer.
const SMALL_READ: usize = 64 * 1024;
/// No single read takes more, whatever the limit.
const LARGEST_READ: usize = 1024 * 1024;
/// Size of a pipe whose writer fills it.
const GROWN_PIPE: usize = 1024 * 1024;
/// A pipe is grown after so many reads in a row that found it full.
const FULL_READS_TO_GROW: u8 = 4;
/// Beyond 64 MB of pipes (`/proc/sys/fs/pipe-user-pages-soft`) new pipes of the user get a single page: stay far below.
const MOST_GROWN_PIPES: usize = 16;
/// What Linux gives a pipe at first.
const PLAIN_PIPE: usize = 64 * 1024;

/// What one read brought.
pub(crate) enum Chunk {
    Data(Bytes),
    Closed,
}

/// Our end of an output pipe.
pub(crate) struct Reader {
    fd: AsyncFd<OwnedFd>,
    full_reads: Cell<u8>,
    bulk: Cell<bool>,
    grown: Cell<bool>,
}

thread_local! {
    static SMALL: RefCell<Box<[u8]>> = RefCell::new(vec![0; SMALL_READ].into_boxed_slice());
    static GROWN: Cell<usize> = const { Cell::new(0) };
}

impl Reader {
    pub(crate) fn new(fd: OwnedFd) -> io::Result<Reader> {
        Ok(Reader { fd: nonblocking(fd)?, full_reads: Cell::new(0), bulk: Cell::new(false), grown: Cell::new(false) })
    }

    /// Reads what is there now; `None` = nothing yet.
    pub(crate) fn try_read(&self, limit: usize) -> Option<Chunk> {
        match self.read_once(limit) {
            Ok(chunk) => Some(chunk),
            Err(Errno::AGAIN | Errno::INTR) => None,
            // A pipe that cannot be read is over, whatever the reason.
            Err(_) => Some(Chunk::Closed),
        }
    }

    /// True when the pipe is empty and somebody can still write to it.
    pub(crate) fn is_idle(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut fds = [PollFd::new(self.fd.get_ref(), PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready == 0)
    }

    /// Waits until there is something and reads once.
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
                let room = limit.min(SMALL_READ);
                let count = rustix::io::read(self.fd.get_ref(), &mut buffer[..room])?;
                Ok::<_, Errno>(Bytes::copy_from_slice(&buffer[..count]))
            })?
        };
        self.observe(data.len());
        Ok(if data.is_empty() { Chunk::Closed } else { Chunk::Data(data) })
    }

    /// Learns from the size of a read what kind of writer is at the other end.
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

/// What a [`Writer`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// So many bytes were taken, or dropped because nobody reads.
    Taken(u64),
    /// Nobody reads any more. Once; what was queued counts as taken before it.
    Broken(Errno),
}

/// Our end of a pipe that is written to. Bytes are taken in order; when nobody reads any more the rest is dropped, and
/// counts as taken, so that whoever feeds it goes on.
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
    /// True while a task waits for room.
    waiting: bool,
}

/// One round of writing.
#[derive(Default)]
struct Round {
    taken: u64,
    broken: Option<Errno>,
}

impl Writer {
    /// For a descriptor that is nonblocking; `tell` hears how it goes.
    pub(crate) fn new(fd: AsyncFd<OwnedFd>, tell: impl Fn(Progress) + 'static) -> Writer {
        Writer {
            state: Rc::new(RefCell::new(WriterState {
                fd: Some(Rc::new(fd)),
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

    /// Closes after what was written.
    pub(crate) fn close(&self) {
        self.state.borrow_mut().closing = true;
        self.pump();
    }

    /// Closes now; what was not written counts as taken.
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
                // The runtime is going down.
                Err(_) => self.abandon(),
            }
        }
        self.state.borrow_mut().waiting = false;
    }

    /// The descriptor, when there is something for it.
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
    /// Writes what goes without waiting.
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

/// Our end alone becomes nonblocking: the process's is another open file.
pub(crate) fn nonblocking(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    rustix::io::ioctl_fionbio(&fd, true)?;
    watched(fd)
}

/// A descriptor whose readiness can be waited for.
#[expect(
    deprecated,
    reason = "the successor is unsafe because of types whose descriptor changes; an `OwnedFd` keeps its own"
)]
pub(crate) fn watched(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(fd)
}
