//! The phases of a job before its end: without places, with places, launched. What a phase does not have cannot be
//! read in it.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use ferrite_types::resources::Amounts;
use ferrite_types::{CampaignId, JobMap, ProcState, Rank, RankSet};

use super::debug::Released;
use super::stdin::Pump;
use crate::head::elastic::Hold;

static NO_PLACES: LazyLock<Arc<JobMap>> = LazyLock::new(Arc::default);

/// The progress of a job. Its failure may come in each phase and does not change it.
#[derive(Debug)]
pub(super) enum Phase {
    /// It has no places: it is on its way to the map, in the queue, or held before its map.
    Unmapped(Wait),
    /// Its processes have places and slots. It is on its way to the launch, or held before it.
    Mapped(Wait, Arc<JobMap>),
    /// The launch order was sent.
    Launched(Launch),
}

/// The waits of a job before its launch.
#[derive(Debug, Default)]
pub(super) struct Wait {
    /// Its hold, while it is parked.
    pub(super) held: Option<Hold>,
    /// True after it was parked for the first time.
    pub(super) was_parked: bool,
    /// True when it is to be launched before the DVM begins to grow again.
    pub(super) is_due: bool,
    /// Campaigns that hold it in the queue since its slots became free.
    pub(super) kept_by: BTreeSet<CampaignId>,
}

/// The processes of a launched job, and what its daemons have not reported yet.
#[derive(Debug)]
pub(super) struct Launch {
    map: Arc<JobMap>,
    procs: Vec<ProcRecord>,
    ended: usize,
    /// Daemons that have not reported their part of the launch.
    pub(super) launching: RankSet,
    /// Daemons with processes that have not called init.
    pub(super) registering: RankSet,
    /// Daemons with processes that do not wait for a debugger yet.
    pub(super) debugging: RankSet,
    pub(super) released: Released,
    /// Daemons that were sent the launch order: its hosts, and others whose processes may meet its own.
    pub(super) known_at: RankSet,
    /// Number of processes that the DVM has launched before this job.
    pub(super) rank_offset: u32,
    pub(super) stdin: Pump,
}

/// The head's record of one process.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcRecord {
    pub(super) state: ProcState,
    pub(super) pid: Option<u32>,
}

impl ProcRecord {
    /// A process that has a place and was not started.
    pub(super) const NEW: ProcRecord = ProcRecord { state: ProcState::Init, pid: None };
}

impl Phase {
    /// The places of the processes; empty before the map.
    pub(super) fn map(&self) -> &Arc<JobMap> {
        match self {
            Phase::Unmapped(_) => &NO_PLACES,
            Phase::Mapped(_, map) | Phase::Launched(Launch { map, .. }) => map,
        }
    }

    pub(super) fn wait(&self) -> Option<&Wait> {
        match self {
            Phase::Unmapped(wait) | Phase::Mapped(wait, _) => Some(wait),
            Phase::Launched(_) => None,
        }
    }

    pub(super) fn wait_mut(&mut self) -> Option<&mut Wait> {
        match self {
            Phase::Unmapped(wait) | Phase::Mapped(wait, _) => Some(wait),
            Phase::Launched(_) => None,
        }
    }

    fn take_wait(&mut self) -> Wait {
        self.wait_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Takes over a map.
    pub(super) fn set_map(&mut self, map: JobMap) {
        debug_assert!(matches!(self, Phase::Unmapped(_)), "a job that has places is not mapped");
        *self = Phase::Mapped(self.take_wait(), Arc::new(map));
    }

    /// Drops a map before anything was launched.
    pub(super) fn clear_map(&mut self) {
        debug_assert!(matches!(self, Phase::Mapped(..)), "only places before a launch are given up");
        *self = Phase::Unmapped(self.take_wait());
    }

    /// Begins the launch by the daemons `known_at`; each of them reports. The processes of `debugging` may come to
    /// wait for a debugger.
    pub(super) fn launch(&mut self, known_at: RankSet, ended: usize, rank_offset: u32, debugging: RankSet) {
        debug_assert!(matches!(self, Phase::Mapped(..)), "a job is launched once, and with places");
        let map = self.map().clone();
        let hosts = map.daemons();
        let mut launching = hosts.clone();
        launching.insert_all(&known_at);
        *self = Phase::Launched(Launch {
            procs: vec![ProcRecord::NEW; map.procs.len()],
            map,
            ended,
            launching,
            registering: hosts,
            debugging,
            released: Released::default(),
            known_at,
            rank_offset,
            stdin: Pump::default(),
        });
    }
}

impl Launch {
    pub(super) fn map(&self) -> &Arc<JobMap> {
        &self.map
    }

    /// The shared resources that the job takes as a whole.
    pub(super) fn takes_mut(&mut self) -> &mut Amounts {
        &mut Arc::make_mut(&mut self.map).takes
    }

    pub(super) fn procs(&self) -> &[ProcRecord] {
        &self.procs
    }

    /// The number of processes that have ended.
    pub(super) fn ended(&self) -> usize {
        self.ended
    }

    /// Records the start of a process.
    pub(super) fn on_started(&mut self, rank: Rank, pid: u32) {
        if let Some(proc) = self.procs.get_mut(rank.0 as usize) {
            proc.pid = Some(pid);
            if proc.state == ProcState::Init {
                proc.state = ProcState::Running;
            }
        }
    }

    /// Records the end of a process. `None` when it has ended before, or there is no such process.
    pub(super) fn on_ended(&mut self, rank: Rank, state: ProcState) -> Option<ProcRecord> {
        let proc = self.procs.get_mut(rank.0 as usize).filter(|proc| !proc.state.has_ended())?;
        proc.state = state;
        self.ended += 1;
        Some(*proc)
    }

    /// Records that a process which has ended is to be started again.
    pub(super) fn on_restart(&mut self, rank: Rank) {
        if let Some(proc) = self.procs.get_mut(rank.0 as usize).filter(|proc| proc.state.has_ended()) {
            *proc = ProcRecord::NEW;
            self.ended -= 1;
        }
    }

    /// True when every daemon with processes of the job has tried to start them.
    pub(super) fn is_attempted(&self) -> bool {
        let hosts = self.map.daemons();
        self.launching.iter().all(|daemon| !hosts.contains(daemon))
    }

    /// True when every daemon has reported its part of the launch and the init calls of its processes.
    pub(super) fn is_registered(&self) -> bool {
        self.registering.is_empty() && self.launching.is_empty()
    }
}
