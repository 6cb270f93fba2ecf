//! Counts frames and bytes by phase of a run, for checks such as "a one-process job costs the same on a thousand
//! nodes".

use std::collections::BTreeMap;
use std::fmt;

use ferrite_types::{DaemonRank, JobId, JobState};

use crate::queue::Time;

/// A phase of a run; phases follow in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Until every daemon has acknowledged the wireup.
    #[default]
    BringUp,
    /// Until all processes of the job run.
    Launch,
    /// Until the client has its answer.
    End,
    /// Until every daemon is gone.
    Shutdown,
}

impl Phase {
    /// All phases.
    pub const ALL: [Phase; 4] = [Phase::BringUp, Phase::Launch, Phase::End, Phase::Shutdown];

    /// The name of the phase in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Phase::BringUp => "bring-up",
            Phase::Launch => "launch",
            Phase::End => "end",
            Phase::Shutdown => "shutdown",
        }
    }
}

/// The cost of one phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Frames over links, each hop counted.
    pub frames: u64,
    /// Bytes over links with length prefixes, each hop counted, before encryption.
    pub bytes: u64,
    /// Frames that the head sent.
    pub head_sent: u64,
    /// Frames that the head received.
    pub head_received: u64,
    /// Bytes that the head sent or received.
    pub head_bytes: u64,
    /// The most frames that any other daemon sent or received, and its bytes; zero unless somebody counts them.
    pub most: (u64, u64),
    /// The end of the phase (virtual time).
    pub until: Time,
    /// Frames by kind of message.
    pub kinds: BTreeMap<&'static str, u64>,
}

/// The costs of a run by phase.
#[derive(Clone, Debug, Default)]
pub struct Bill {
    phase: Phase,
    phases: BTreeMap<Phase, Cost>,
    /// Frames and bytes of each daemon in the present phase, while somebody counts them.
    pub(crate) each: Option<BTreeMap<DaemonRank, (u64, u64)>>,
    pub(crate) tally: Option<Tally>,
}

/// A separate count of a part of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// True to leave heartbeats out.
    pub(crate) silent: bool,
    pub(crate) kinds: BTreeMap<&'static str, u64>,
    pub(crate) bytes: u64,
    /// Frames and bytes that each daemon sent or received.
    pub(crate) each: BTreeMap<DaemonRank, (u64, u64)>,
    /// The time of the last frame.
    pub(crate) last: Time,
}

/// The cost of an incident, from its beginning to the last frame about it, without heartbeats.
#[derive(Clone, Debug)]
pub struct Spent {
    /// Frames of all daemons.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Frames and bytes that the head sent or received.
    pub head: (u64, u64),
    /// The most that any other daemon sent or received.
    pub most: (u64, u64),
    /// The time from the beginning to the last frame (virtual time).
    pub time: Time,
}

impl Spent {
    /// The column heads of the cost in a table, and the line below them.
    pub(crate) const HEADS: [&str; 2] = [
        "frames | bytes | head frames | head bytes | others at most frames | bytes | virtual time |",
        "--:|--:|--:|--:|--:|--:|--:|",
    ];
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spent { frames, bytes, head, most, time } = self;
        let ms = *time as f64 / 1000.0;
        write!(f, "{frames} | {bytes} | {} | {} | {} | {} | {ms:.3} ms |", head.0, head.1, most.0, most.1)
    }
}

impl Tally {
    /// A count without heartbeats.
    pub(crate) fn silent() -> Tally {
        Tally { silent: true, ..Tally::default() }
    }

    /// The cost since `began`.
    pub(crate) fn spent(mut self, began: Time) -> Spent {
        let head = self.each.remove(&DaemonRank::HEAD).unwrap_or_default();
        Spent {
            frames: self.kinds.values().sum(),
            bytes: self.bytes,
            head,
            most: self.each.values().copied().max().unwrap_or_default(),
            time: self.last.saturating_sub(began),
        }
    }

    fn frame(&mut self, now: Time, ends: [DaemonRank; 2], kind: &'static str, bytes: u64) {
        if self.silent && kind == "heartbeat" {
            return;
        }
        *self.kinds.entry(kind).or_default() += 1;
        self.bytes += bytes;
        self.last = now;
        add(&mut self.each, ends, bytes);
    }
}

/// Adds a frame to the counts of both ends.
fn add(each: &mut BTreeMap<DaemonRank, (u64, u64)>, ends: [DaemonRank; 2], bytes: u64) {
    for end in ends {
        let (frames, sum) = each.entry(end).or_default();
        *frames += 1;
        *sum += bytes;
    }
}

impl Bill {
    /// Counts a frame that was sent.
    pub fn frame(&mut self, now: Time, from: DaemonRank, to: DaemonRank, kind: &'static str, bytes: u64) {
        let cost = self.phases.entry(self.phase).or_default();
        cost.frames += 1;
        cost.bytes += bytes;
        cost.head_sent += u64::from(from == DaemonRank::HEAD);
        cost.head_received += u64::from(to == DaemonRank::HEAD);
        if from == DaemonRank::HEAD || to == DaemonRank::HEAD {
            cost.head_bytes += bytes;
        }
        *cost.kinds.entry(kind).or_default() += 1;
        if let Some(each) = &mut self.each {
            add(each, [from, to], bytes);
        }
        if let Some(tally) = &mut self.tally {
            tally.frame(now, [from, to], kind, bytes);
        }
    }

    /// Notes a job's change of state, which may begin a phase.
    pub fn job_state(&mut self, now: Time, job: JobId, to: JobState) {
        match (job, to) {
            (JobId::DAEMONS, JobState::VmReady) => self.enter(now, Phase::Launch),
            (JobId(1), JobState::Running) => self.enter(now, Phase::End),
            _ => {}
        }
    }

    /// Begins a phase; never an earlier one than the present.
    pub fn enter(&mut self, now: Time, phase: Phase) {
        if phase > self.phase {
            self.close(now);
            self.phase = phase;
        }
    }

    /// Closes the count of the present phase.
    pub fn close(&mut self, now: Time) {
        let cost = self.phases.entry(self.phase).or_default();
        cost.until = now;
        if let Some(each) = &mut self.each {
            each.remove(&DaemonRank::HEAD);
            cost.most = std::mem::take(each).into_values().max().unwrap_or_default();
        }
    }

    /// The cost of a phase.
    #[must_use]
    pub fn of(&self, phase: Phase) -> Cost {
        self.phases.get(&phase).cloned().unwrap_or_default()
    }
}
