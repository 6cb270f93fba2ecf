//! Guarantee: launch data go only to daemons that host processes of the job, or of another whose processes may meet
//! them, and each rank is started once, where it is mapped.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::Effect;
use ferrite_types::{DaemonRank, JobId, JobMap, ProcId, RankSet};
use ferrite_wire::{DaemonMessage, Dest, Message};

use super::kin::Kin;
use super::{Invariant, Observation, require};

#[derive(Default)]
pub(super) struct LaunchData {
    /// The map of each job and its daemons.
    maps: BTreeMap<JobId, (JobMap, RankSet)>,
    spawned: BTreeSet<ProcId>,
    kin: Kin,
    /// Jobs that the present input has sent to daemons without their processes.
    strangers: Vec<(JobId, DaemonRank)>,
}

impl LaunchData {
    fn sent(&mut self, dest: &Dest, job: JobId, map: &JobMap) -> Result<(), String> {
        let (_, hosts) = self.maps.entry(job).or_insert_with(|| (map.clone(), map.daemons()));
        let strangers: Vec<DaemonRank> = match dest {
            Dest::One(rank) => vec![*rank],
            Dest::Many(ranks) => ranks.iter().collect(),
            Dest::All => return Err(format!("launch data of job {job} goes to everybody")),
        };
        self.strangers.extend(strangers.into_iter().filter(|rank| !hosts.contains(*rank)).map(|rank| (job, rank)));
        Ok(())
    }

    /// Judges such daemons: each must host a job that may meet the sent one, perhaps sent by the same input.
    fn look(&mut self) -> Result<(), String> {
        let hosts = |(_, hosts): &(JobMap, RankSet), rank| hosts.contains(rank);
        let kin = |job, rank| self.maps.iter().any(|(kin, map)| hosts(map, rank) && self.kin.may_meet(job, *kin));
        let stranger = self.strangers.iter().find(|(job, rank)| !kin(*job, *rank));
        require(stranger.is_none(), || {
            let words = |(job, rank)| format!("launch data of job {job} goes to daemon {rank}, which hosts none of it");
            stranger.copied().map_or(String::new(), words)
        })?;
        self.strangers.clear();
        Ok(())
    }
}

impl Invariant for LaunchData {
    fn name(&self) -> &'static str {
        "launch data goes only to hosting daemons"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        self.kin.see(what);
        let (rank, effect, message) = match what {
            Observation::Effect { rank, effect, message, .. } => (rank, effect, message),
            Observation::Input { .. } => return self.look(),
            _ => return Ok(()),
        };
        match (effect, message) {
            (Effect::Transmit { frame, .. }, Some(Message::Daemon(DaemonMessage::Launch(order)))) => {
                self.sent(&frame.dest, order.job, &order.map)
            }
            (Effect::Spawn { proc, request }, _) => {
                // The number of restarts is judged elsewhere (`restarts`).
                let is_first = self.spawned.insert(*proc);
                require(is_first || request.restarts > 0, || format!("{proc} is started a second time"))?;
                // A job on the head's node alone was never sent.
                let host = self.maps.get(&proc.job).and_then(|(map, _)| map.daemon_of(proc.rank));
                require(host.is_none_or(|h| h == *rank), || {
                    format!("{proc} is started by daemon {rank}, but mapped to {host:?}")
                })
            }
            _ => Ok(()),
        }
    }
}
