//! Launch data goes only to daemons that host processes of the job, and each rank is started once, there.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::Effect;
use ferrite_types::{DaemonRank, JobId, JobMap, ProcId, RankSet};
use ferrite_wire::{DaemonMessage, Dest, Message};

use super::{Invariant, Observation, require};

#[derive(Default)]
pub(super) struct LaunchData {
    /// By job: its map and the daemons in it.
    maps: BTreeMap<JobId, (JobMap, RankSet)>,
    spawned: BTreeSet<ProcId>,
}

impl LaunchData {
    fn sent(&mut self, dest: &Dest, job: JobId, map: &JobMap) -> Result<(), String> {
        let strangers: Vec<DaemonRank> = match dest {
            Dest::One(rank) => vec![*rank],
            Dest::Many(ranks) => ranks.iter().collect(),
            Dest::All => return Err(format!("launch data of job {job} goes to everybody")),
        };
        let (_, hosts) = self.maps.entry(job).or_insert_with(|| (map.clone(), map.daemons()));
        match strangers.into_iter().find(|r| !hosts.contains(*r)) {
            Some(stranger) => {
                Err(format!("launch data of job {job} goes to daemon {stranger}, which hosts none of it"))
            }
            None => Ok(()),
        }
    }
}

impl Invariant for LaunchData {
    fn name(&self) -> &'static str {
        "launch data goes only to hosting daemons"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        let Observation::Effect { rank, effect, message, .. } = what else { return Ok(()) };
        match (effect, message) {
            (Effect::Transmit { frame, .. }, Some(Message::Daemon(DaemonMessage::Launch(order)))) => {
                self.sent(&frame.dest, order.job, &order.map)
            }
            (Effect::Spawn { proc, .. }, _) => {
                require(self.spawned.insert(*proc), || format!("{proc} is started a second time"))?;
                // A job that runs on the head's node alone was never sent.
                let host = self.maps.get(&proc.job).and_then(|(map, _)| map.daemon_of(proc.rank));
                require(host.is_none_or(|h| h == *rank), || {
                    format!("{proc} is started by daemon {rank}, but mapped to {host:?}")
                })
            }
            _ => Ok(()),
        }
    }
}
