//! Guarantee (spec L60): an event that a process raises comes at most once to each daemon, in the order of its source
//! and in its name, and reaches no process outside its range. A daemon that hosts a process of the range, and stays,
//! hears it in time: of a source on an undisturbed route always, of any other as soon as one daemon has heard it.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{DaemonInput, Effect, Input, PmixCall, PmixEffect};
use ferrite_types::{DaemonRank, JobId, ProcId, RankSet};
use ferrite_wire::{EventInfo, EventRange, EventSource, Message, PmixEvent, TreeMessage};

use super::struck::Struck;
use super::{Invariant, Observation, require};
use crate::queue::Time;
use crate::scenario::Scenario;

/// The longest time for an event to arrive on a route that no fault has struck.
const SOON: Time = 2_000_000;

pub(super) struct Events {
    struck: Struck,
    now: Time,
    /// Raised events, by the number in them.
    raised: BTreeMap<u64, Raised>,
    /// Events that each daemon has heard.
    heard: BTreeSet<(DaemonRank, u64)>,
    /// The latest event of each source at each daemon.
    latest: BTreeMap<(DaemonRank, EventSource), u64>,
    /// Living processes, with their daemons, and the time of their birth.
    alive: BTreeMap<ProcId, (DaemonRank, Time)>,
    /// Jobs that each daemon knows.
    known: BTreeSet<(DaemonRank, JobId)>,
    /// Daemons that are gone or were told to leave.
    leaving: RankSet,
}

/// An event.
struct Raised {
    source: EventSource,
    range: EventRange,
    origin: DaemonRank,
    at: Time,
    /// True once a daemon has heard it, so that the head has addressed it.
    is_addressed: bool,
}

impl Events {
    pub(super) fn new(scenario: &Scenario) -> Events {
        Events {
            struck: Struck::new(scenario),
            now: 0,
            raised: BTreeMap::new(),
            heard: BTreeSet::new(),
            latest: BTreeMap::new(),
            alive: BTreeMap::new(),
            known: BTreeSet::new(),
            leaving: RankSet::new(),
        }
    }

    fn hear(&mut self, rank: DaemonRank, event: &PmixEvent, to: &[ProcId]) -> Result<(), String> {
        let Some(number) = number(event) else { return Ok(()) };
        let raised = self.raised.get_mut(&number).ok_or_else(|| format!("event {number} was never raised"))?;
        raised.is_addressed = true;
        require(raised.source == event.source, || format!("daemon {rank} hears event {number} in another name"))?;
        require(raised.origin != rank, || format!("event {number} comes back to its own daemon {rank}"))?;
        require(to.iter().all(|proc| raised.range.includes(*proc)), || {
            format!("event {number} reaches processes outside its range at daemon {rank}: {to:?}")
        })?;
        require(self.heard.insert((rank, number)), || format!("daemon {rank} hears event {number} twice"))?;
        let before = self.latest.insert((rank, event.source.clone()), number);
        require(before.is_none_or(|before| before < number), || {
            format!("daemon {rank} hears event {number} after a later one of its source")
        })
    }

    /// Judges at the end of a process whether its daemon has heard the events of its life.
    fn end(&mut self, proc: ProcId) -> Result<(), String> {
        let Some((rank, born)) = self.alive.remove(&proc) else { return Ok(()) };
        if self.leaving.contains(rank) || self.struck.on_the_way(rank) {
            return Ok(());
        }
        let missed = self.raised.iter().find(|(number, raised)| {
            let in_time = born + SOON < raised.at && raised.at + SOON < self.now;
            let left =
                raised.is_addressed || !(self.struck.on_the_way(raised.origin) || self.leaving.contains(raised.origin));
            let is_owed = raised.origin != rank && raised.range.includes(proc);
            in_time && left && is_owed && !self.heard.contains(&(rank, **number))
        });
        match missed {
            Some((number, _)) => Err(format!("daemon {rank}, with process {proc}, has not heard event {number}")),
            None => Ok(()),
        }
    }
}

/// The number that the simulator has put into an event.
fn number(event: &PmixEvent) -> Option<u64> {
    match &event.info {
        EventInfo::Raised(bytes) => Some(u64::from_be_bytes(bytes.as_ref().try_into().ok()?)),
        EventInfo::Job { .. }
        | EventInfo::Proc { .. }
        | EventInfo::Member { .. }
        | EventInfo::Withdrawal(_)
        | EventInfo::Growth(_) => None,
    }
}

impl Invariant for Events {
    fn name(&self) -> &'static str {
        "an event reaches each daemon of its range once, in the order of its source"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        self.struck.see(what);
        match what {
            Observation::Input { rank, at, input, .. } => {
                self.now = *at;
                if let Input::Daemon(DaemonInput::Pmix(PmixCall::Event { event, range })) = input
                    && let Some(number) = number(event)
                    && let EventSource::Proc(proc) = &event.source
                    && self.known.contains(&(*rank, proc.job))
                {
                    let (source, range, origin) = (event.source.clone(), range.clone(), *rank);
                    self.raised.insert(number, Raised { source, range, origin, at: *at, is_addressed: false });
                }
                Ok(())
            }
            Observation::Effect { effect: Effect::Pmix(PmixEffect::Event { event, to, .. }), rank, .. } => {
                self.hear(*rank, event, to)
            }
            Observation::Effect { effect: Effect::Pmix(PmixEffect::Register(job)), rank, .. } => {
                self.known.insert((*rank, job.order.job));
                Ok(())
            }
            Observation::Effect { effect: Effect::Pmix(PmixEffect::Deregister(job)), rank, .. } => {
                self.known.remove(&(*rank, *job));
                Ok(())
            }
            Observation::Effect { message: Some(Message::Tree(TreeMessage::Shrink { targets })), .. } => {
                self.leaving.insert_all(targets);
                Ok(())
            }
            Observation::Gone { rank, .. } => {
                self.leaving.insert(*rank);
                Ok(())
            }
            Observation::ProcBorn { rank, proc } => {
                self.alive.insert(*proc, (*rank, self.now));
                Ok(())
            }
            Observation::ProcEnded { proc, .. } => self.end(*proc),
            _ => Ok(()),
        }
    }
}
