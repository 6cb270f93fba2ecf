//! Virtual processes: small programs that are written as words on their command line. They have pipes of limited size
//! and react to signals.
//!
//! A process determines its next step; the world determines the time, and tells the daemon.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use ferrite_core::SpawnRequest;
use ferrite_types::{ExitStatus, ProcId, Signal};
use ferrite_wire::{DataRange, Persistence, StartError, StartErrorKind, Stream, WithdrawalAnswer};

use crate::pmix::Meeting;
use crate::queue::Time;

/// Capacity of a pipe (bytes).
pub const PIPE: usize = 65_536;

/// The steps of a program, one word each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// `pause:N`: nothing for N microseconds.
    Pause(Time),
    /// `out:N`, `err:N`: N numbered lines.
    Lines(Stream, u64),
    /// `stdin`: reads to the end of input.
    ReadStdin,
    /// `init`: `PMIx_Init`.
    Init,
    /// `fence`: all ranks of the job.
    Fence,
    /// `finalize`: `PMIx_Finalize`.
    Finalize,
    /// `abort:N`: `PMIx_Abort`.
    Abort(i32),
    /// `exit:N`.
    Exit(u8),
    /// `die:N`: ends by this signal.
    Die(Signal),
    /// `forever`: until a signal ends it.
    Forever,
    /// `spawn:N`: one rank calls `PMIx_Spawn` for the child of this number.
    Spawn(usize),
    /// `connect`, `disconnect`: with the job that was spawned last; `join`, `part`: with the parent.
    Meet(Meeting, Partner),
    /// `publish:N` and, for other lives and ranges than that of the process and the DVM, `publish-app`,
    /// `publish-session`, `publish-once`, `publish-own`: one rank publishes the key of this number.
    Publish(Persistence, DataRange, u64),
    /// `lookup:N`; `await:N`: until it is there, for a while.
    Lookup(u64, bool),
    /// `unpublish:N`
    Unpublish(u64),
    /// `group:N`, `ungroup:N`: the job makes a group, or ends it.
    Group(Meeting),
    /// `define:N`: one rank makes its job a process set.
    Define(u64),
    /// `raise:N`: N events for everybody; `raise-own:N`: for the job; `raise-to:N`: for its first rank and that of the
    /// parent.
    Raise(Reach, u64),
    /// `retire:N`: one rank ends well.
    Retire(u64),
    /// `work:N`: until the work of its spawn tree is done (see `works.rs`).
    Work(u64),
}

/// The answer of a job to an offer of more processes; its first process gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// It spawns the child of this number.
    Spawns(usize),
    /// It spawns as many processes as are offered, which run the same program.
    Takes,
    /// It refuses.
    Declines,
}

/// The other job of a meeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partner {
    /// The job that was spawned last.
    Child,
    /// The job that has spawned this one.
    Parent,
}

/// The range of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All processes of the DVM.
    Everyone,
    /// All processes of the job.
    Job,
    /// The first process of the job, and that of its parent.
    First,
}

/// A running process.
#[derive(Debug)]
pub struct Process {
    /// The remaining steps, the present one first.
    pub steps: VecDeque<Step>,
    /// True when it ignores all signals that can be ignored.
    deaf: bool,
    /// Its answer to the notice that its node is to leave: `refuses`, or `defers:SECONDS`.
    pub answer: Option<WithdrawalAnswer>,
    /// Its answer to an offer of more processes: `grows:N`, `takes` or `declines`.
    pub growth: Option<Growth>,
    /// The time after which it ends when it was told that it is to end: `leaves:N` (microseconds).
    pub leaves: Option<Time>,
    /// True when it was told, and nobody has said that it stays.
    pub is_leaving: bool,
    /// Its words.
    pub program: String,
    /// The time for which a child outlives it and holds its output open.
    pub orphan: Time,
    /// Its output pipes, by stream.
    pub pipes: [Pipe; 2],
    /// Its standard input.
    pub stdin: StdinPipe,
    /// Lines written so far, by stream.
    written: [u64; 2],
    merge_stderr: bool,
    /// True while it waits for an answer of the PMIx side.
    pub waiting: bool,
    /// Number of its job's spawns that it has passed, whichever rank made them.
    pub spawns: u32,
    /// True while it is stopped before its first step.
    pub stopped: bool,
    /// True until its daemon knows of it; it gets no signal before.
    pub unborn: bool,
    /// True after its call of init: the library knows when it is gone.
    pub has_called: bool,
    /// Its exit status, once it has ended.
    pub ended: Option<ExitStatus>,
}

/// One output stream.
#[derive(Debug, Default)]
pub struct Pipe {
    buffer: BytesMut,
    /// True when no writer is left.
    pub closed: bool,
    /// The limit of the daemon's open read (bytes).
    pub reader: Option<usize>,
    /// True when the daemon was told of the end.
    pub told: bool,
}

/// Standard input as the process has it.
#[derive(Debug, Default)]
pub struct StdinPipe {
    /// Bytes that the daemon has written and the pipe has not taken.
    pub pending: usize,
    /// Bytes in the pipe.
    buffered: usize,
    /// Bytes that the process has read.
    pub read: usize,
    /// True when the writer has closed it, or when it is `/dev/null`.
    pub closed: bool,
}

impl Process {
    /// Starts a program.
    ///
    /// # Errors
    /// The system's error for a program that cannot be started.
    pub fn start(request: &SpawnRequest) -> Result<Process, StartError> {
        let refuse = |kind, detail: &str| Err(StartError { kind, detail: detail.to_owned() });
        if request.wdir_given && request.wdir.contains("missing") {
            return refuse(StartErrorKind::Directory, "No such file or directory");
        }
        let words = request.argv.iter().skip(1);
        if words.clone().any(|w| w == "missing") {
            return refuse(StartErrorKind::Executable, "No such file or directory");
        }
        Ok(Process {
            orphan: words.clone().find_map(|w| w.strip_prefix("orphan:")?.parse().ok()).unwrap_or(0),
            deaf: words.clone().any(|w| w == "deaf"),
            answer: words.clone().find_map(|w| answer(w)),
            growth: words.clone().find_map(|w| growth(w)),
            leaves: words.clone().find_map(|w| w.strip_prefix("leaves:")?.parse().ok()),
            is_leaving: false,
            program: words.clone().cloned().collect::<Vec<_>>().join(" "),
            steps: words.filter_map(|w| Step::parse(w)).collect(),
            pipes: [Pipe::default(), Pipe { closed: request.merge_stderr, ..Pipe::default() }],
            stdin: StdinPipe { closed: !request.stdin, ..StdinPipe::default() },
            written: [0, 0],
            merge_stderr: request.merge_stderr,
            waiting: false,
            spawns: 0,
            stopped: request.stopped,
            has_called: false,
            unborn: true,
            ended: None,
        })
    }

    /// Writes as many of `count` lines as the pipe takes; returns how many are left.
    pub fn write_lines(&mut self, id: ProcId, stream: Stream, count: u64) -> u64 {
        let pipe = if self.merge_stderr { 0 } else { stream as usize };
        // This is a hot path of the simulator, so only the number is written anew for each line.
        let mut line = format!("{} {} {} ", id.job, id.rank, stream.name());
        let author = line.len();
        for done in 0..count {
            line.truncate(author);
            push_number(&mut line, self.written[stream as usize]);
            line.push_str(" some text\n");
            if self.pipes[pipe].buffer.len() + line.len() > PIPE {
                return count - done;
            }
            self.pipes[pipe].buffer.extend_from_slice(line.as_bytes());
            self.written[stream as usize] += 1;
        }
        0
    }

    /// Lines written to a stream so far.
    #[must_use]
    pub fn lines(&self, stream: Stream) -> u64 {
        self.written[stream as usize]
    }

    /// Closes the pipes: no writer is left.
    pub fn close_pipes(&mut self) {
        self.pipes.iter_mut().for_each(|pipe| pipe.closed = true);
    }

    /// Returns the exit status of the process after a signal; `None` when it goes on.
    #[must_use]
    pub fn end_by(&self, signal: Signal) -> Option<ExitStatus> {
        const HARMLESS: [i32; 6] = [0, 17, 18, 19, 20, 28];
        let deadly = signal == Signal::KILL || !(self.deaf || HARMLESS.contains(&signal.0));
        deadly.then_some(ExitStatus::Signaled(signal))
    }
}

impl Pipe {
    /// Returns the data for a reader: `None` when there are none yet, empty at the end.
    pub fn read(&mut self) -> Option<Bytes> {
        let limit = self.reader?;
        if self.buffer.is_empty() && !self.closed {
            return None;
        }
        self.reader = None;
        let n = self.buffer.len().min(limit);
        Some(self.buffer.split_to(n).freeze())
    }
}

impl StdinPipe {
    /// Moves bytes along; returns how many the pipe took from the daemon.
    pub fn flow(&mut self, reading: bool, dead: bool) -> usize {
        let before = self.pending;
        if reading {
            self.read += self.buffered + self.pending;
            (self.buffered, self.pending) = (0, 0);
        } else if dead {
            self.pending = 0;
        } else {
            let moved = self.pending.min(PIPE - self.buffered);
            self.buffered += moved;
            self.pending -= moved;
        }
        before - self.pending
    }
}

/// Reads the word for an answer to the notice that nodes are to leave.
fn answer(word: &str) -> Option<WithdrawalAnswer> {
    match word.strip_prefix("defers:") {
        Some(seconds) => Some(WithdrawalAnswer::Defer(seconds.parse().ok()?)),
        None => (word == "refuses").then_some(WithdrawalAnswer::Refuse),
    }
}

/// Reads the word for an answer to an offer.
fn growth(word: &str) -> Option<Growth> {
    match word.strip_prefix("grows:") {
        Some(number) => Some(Growth::Spawns(number.parse().ok()?)),
        None => match word {
            "takes" => Some(Growth::Takes),
            "declines" => Some(Growth::Declines),
            _ => None,
        },
    }
}

/// Appends decimal digits without the cost of formatting.
fn push_number(line: &mut String, number: u64) {
    if number >= 10 {
        push_number(line, number / 10);
    }
    line.push(char::from(b'0' + (number % 10) as u8));
}

impl Step {
    fn parse(word: &str) -> Option<Step> {
        let (name, number) = word.split_once(':').unwrap_or((word, "0"));
        let number: u64 = number.parse().ok()?;
        Some(match name {
            "pause" => Step::Pause(number),
            "work" => Step::Work(number),
            "out" => Step::Lines(Stream::Stdout, number),
            "err" => Step::Lines(Stream::Stderr, number),
            "stdin" => Step::ReadStdin,
            "init" => Step::Init,
            "fence" => Step::Fence,
            "finalize" => Step::Finalize,
            "abort" => Step::Abort(number as i32),
            "exit" => Step::Exit(number as u8),
            "die" => Step::Die(Signal(number as i32)),
            "forever" => Step::Forever,
            "spawn" => Step::Spawn(number as usize),
            "connect" => Step::Meet(Meeting::Connect, Partner::Child),
            "disconnect" => Step::Meet(Meeting::Disconnect, Partner::Child),
            "join" => Step::Meet(Meeting::Connect, Partner::Parent),
            "part" => Step::Meet(Meeting::Disconnect, Partner::Parent),
            "publish" => Step::Publish(Persistence::Proc, DataRange::Dvm, number),
            "publish-app" => Step::Publish(Persistence::App, DataRange::Dvm, number),
            "publish-session" => Step::Publish(Persistence::Session, DataRange::Dvm, number),
            "publish-once" => Step::Publish(Persistence::FirstRead, DataRange::Dvm, number),
            "publish-own" => Step::Publish(Persistence::Proc, DataRange::Namespace, number),
            "lookup" => Step::Lookup(number, false),
            "await" => Step::Lookup(number, true),
            "unpublish" => Step::Unpublish(number),
            "group" => Step::Group(Meeting::Group(number)),
            "ungroup" => Step::Group(Meeting::Ungroup(number)),
            "define" => Step::Define(number),
            "raise" => Step::Raise(Reach::Everyone, number),
            "raise-own" => Step::Raise(Reach::Job, number),
            "raise-to" => Step::Raise(Reach::First, number),
            "retire" => Step::Retire(number),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrite_types::{JobId, Rank};

    const ID: ProcId = ProcId { job: JobId(1), rank: Rank(0) };

    fn start(program: &str) -> Result<Process, StartError> {
        let argv = ["vp"].into_iter().chain(program.split(' ')).map(str::to_owned).collect();
        Process::start(&SpawnRequest {
            arg0: None,
            argv,
            path: None,
            wdir: "/".into(),
            wdir_given: false,
            env: vec![],
            agent: None,
            session_cwd: false,
            preloaded: false,
            traceable: false,
            stopped: false,
            restarts: 0,
            cpus: None,
            memory: None,
            devices: Vec::new(),
            stdin: false,
            merge_stderr: false,
        })
    }

    #[test]
    fn a_program_is_read_from_its_words() {
        let process = start("out:2 pause:7 exit:3").unwrap();
        let steps = [Step::Lines(Stream::Stdout, 2), Step::Pause(7), Step::Exit(3)];
        assert_eq!(process.steps, steps);
        assert_eq!(start("missing").unwrap_err().kind, StartErrorKind::Executable);
    }

    #[test]
    fn a_full_pipe_stops_the_writer_until_somebody_reads() {
        let mut process = start("").unwrap();
        let left = process.write_lines(ID, Stream::Stdout, 10_000);
        assert!(left > 0);
        process.pipes[0].reader = Some(PIPE);
        assert!(process.pipes[0].read().unwrap().ends_with(b"\n"));
        assert!(process.write_lines(ID, Stream::Stdout, left) < left);
        assert_eq!(process.pipes[1].read(), None);
    }

    #[test]
    fn the_end_of_a_stream_is_an_empty_read_after_all_data() {
        let mut pipe = Pipe { closed: true, reader: Some(2), ..Pipe::default() };
        pipe.buffer.extend_from_slice(b"abc");
        assert_eq!(pipe.read().as_deref(), Some(&b"ab"[..]));
        assert_eq!(pipe.read(), None, "nobody reads");
        pipe.reader = Some(9);
        assert_eq!(pipe.read().as_deref(), Some(&b"c"[..]));
        pipe.reader = Some(9);
        assert_eq!(pipe.read().as_deref(), Some(&b""[..]));
    }

    #[test]
    fn a_deaf_process_ends_by_sigkill_only() {
        assert_eq!(start("deaf").unwrap().end_by(Signal::TERM), None);
        assert_eq!(start("deaf").unwrap().end_by(Signal::KILL), Some(ExitStatus::Signaled(Signal::KILL)));
        assert_eq!(start("x").unwrap().end_by(Signal::TERM), Some(ExitStatus::Signaled(Signal::TERM)));
        assert_eq!(start("x").unwrap().end_by(Signal::CONT), None);
    }

    #[test]
    fn standard_input_is_taken_as_far_as_the_pipe_goes() {
        let mut stdin = StdinPipe { pending: PIPE + 10, ..StdinPipe::default() };
        assert_eq!(stdin.flow(false, false), PIPE);
        assert_eq!(stdin.flow(true, false), 10);
        assert_eq!(stdin.read, PIPE + 10);
        stdin.pending = 5;
        assert_eq!(stdin.flow(false, true), 5, "the dead take everything");
    }
}
