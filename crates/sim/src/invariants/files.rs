//! Guarantee: no process starts before its node has all files of the job; the content that is written is the content
//! that was read; a transfer begins and ends once on each node; a job that is over leaves no files on a node that
//! stays (spec L70 to L73).

use std::collections::BTreeMap;

use ferrite_core::{DaemonInput, Effect, Input, StageEffect};
use ferrite_types::{DaemonRank, JobId, PreloadEntry};
use ferrite_wire::{DaemonMessage, Message};

use super::struck::Struck;
use super::{Invariant, Observation, require};
use crate::files::content;
use crate::queue::Time;
use crate::scenario::Scenario;
use crate::world::Gone;

/// Time for the order to forget a job to reach every node that stays (microseconds).
const FORGOTTEN: Time = 25_000_000;

pub(super) struct Files {
    /// The jobs with files, by the nodes that were told of them.
    there: BTreeMap<(DaemonRank, JobId), Node>,
    /// Jobs for which the head has told anybody of files.
    jobs: BTreeMap<JobId, Option<Time>>,
    /// A daemon that a fault cuts off may be unable to hear that a job is over.
    struck: Struck,
}

#[derive(Default)]
struct Node {
    entries: Vec<PreloadEntry>,
    /// Bytes that were written of each file.
    written: BTreeMap<u32, u64>,
    finished: bool,
    has_all: bool,
}

impl Files {
    pub(super) fn new(scenario: &Scenario) -> Files {
        Files { there: BTreeMap::new(), jobs: BTreeMap::new(), struck: Struck::new(scenario) }
    }

    fn staged(&mut self, rank: DaemonRank, job: JobId, step: &StageEffect) -> Result<(), String> {
        let key = (rank, job);
        if let StageEffect::Begin(entries) = step {
            self.jobs.entry(job).or_default();
            let node = Node { entries: entries.clone(), ..Node::default() };
            let again = self.there.insert(key, node).is_some();
            return require(!again, || format!("job {job} brings its files to daemon {rank} twice"));
        }
        let Some(node) = self.there.get_mut(&key) else {
            return Err(format!("daemon {rank} writes files of job {job}, of which it was not told"));
        };
        require(!node.finished, || format!("daemon {rank} goes on writing files of job {job}"))?;
        match step {
            StageEffect::Begin(_) => Ok(()),
            StageEffect::Write { entry, data } => {
                let written = node.written.entry(*entry).or_default();
                let is_right = *data == content(*entry, *written, data.len());
                require(is_right, || format!("file {entry} of job {job} is not on daemon {rank} what it was"))?;
                *written += data.len() as u64;
                Ok(())
            }
            StageEffect::Finish => {
                node.finished = true;
                let missing = (0u32..)
                    .zip(&node.entries)
                    .find(|(at, entry)| node.written.get(at).copied().unwrap_or(0) != entry.size());
                require(missing.is_none(), || format!("daemon {rank} misses bytes of {missing:?} of job {job}"))
            }
        }
    }
}

impl Invariant for Files {
    fn name(&self) -> &'static str {
        "files are there before processes start, and gone after the job"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        self.struck.see(what);
        match what {
            Observation::Input {
                rank, input: Input::Daemon(DaemonInput::StageEnded { job, result: Ok(()) }), ..
            } => {
                if let Some(node) = self.there.get_mut(&(*rank, *job)) {
                    node.has_all = true;
                }
                Ok(())
            }
            Observation::Effect { rank, effect, message, at } => match (effect, message) {
                (Effect::Stage { job, step }, _) => self.staged(*rank, *job, step),
                (Effect::Spawn { proc, .. }, _) if self.jobs.contains_key(&proc.job) => {
                    let has_all = self.there.get(&(*rank, proc.job)).is_some_and(|node| node.has_all);
                    require(has_all, || format!("process {proc} starts on daemon {rank} before its files are there"))
                }
                (Effect::CleanJob(job), _) => {
                    self.there.remove(&(*rank, *job));
                    Ok(())
                }
                (Effect::Transmit { .. }, Some(Message::Daemon(DaemonMessage::Forget(job)))) => {
                    if let Some(over) = self.jobs.get_mut(job).filter(|_| *rank == DaemonRank::HEAD) {
                        over.get_or_insert(*at);
                    }
                    Ok(())
                }
                _ => Ok(()),
            },
            Observation::Gone { rank, at, how, .. } => {
                let left = self.there.keys().filter(|(node, _)| node == rank).map(|(_, job)| *job);
                let over =
                    |job: &JobId| self.jobs.get(job).copied().flatten().is_some_and(|over| over + FORGOTTEN < *at);
                let left = left.filter(over).collect::<Vec<_>>();
                self.there.retain(|(node, _), _| node != rank);
                let may_hear = matches!(how, Gone::Exit(0)) && !self.struck.on_the_way(*rank);
                let is_kept = may_hear && !left.is_empty();
                require(!is_kept, || format!("daemon {rank} has kept the files of jobs that are over: {left:?}"))
            }
            _ => Ok(()),
        }
    }
}
