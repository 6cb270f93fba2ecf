//! The phases of a campaign, and its two kinds: each holds what belongs to it alone.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::{CampaignId, CampaignKind, CampaignStep, Duration, NodeId, RankSet, Timestamp};
use ferrite_wire::SlotChange;

use super::drain::Drain;
use super::late_wireup::Late;
use super::plan::{Joins, Reason};

/// The change that a campaign makes.
#[derive(Debug)]
pub(in crate::head) enum Change {
    /// Daemons come.
    Grow {
        /// Nodes and terms that its session gets when the grow is committed.
        joins: Joins,
        /// Slots that nodes get when the grow is committed.
        slots: Vec<(NodeId, SlotChange)>,
    },
    /// Daemons leave.
    Shrink {
        /// Nodes that were lent to the allocation and go back to their lenders.
        returns: BTreeSet<NodeId>,
        /// The longest time that processes there may have; `None` = what their jobs have asked for.
        longest: Option<Duration>,
        /// The time at which the resource manager takes the nodes, whatever their jobs have asked for; `None` = it does
        /// not.
        until: Option<Timestamp>,
        /// True when no job can refuse or put it off: it was forced, or its session is over.
        is_final: bool,
        /// Nodes that have left before the others, or leave now, as parts.
        parted: Vec<NodeId>,
        /// The shrink of which this one is a part.
        part_of: Option<CampaignId>,
    },
}

impl Change {
    pub(in crate::head) fn shrink(returns: BTreeSet<NodeId>, longest: Option<Duration>, is_final: bool) -> Change {
        Change::Shrink { returns, longest, until: None, is_final, parted: Vec::new(), part_of: None }
    }

    /// The departure of nodes that the resource manager takes at this time.
    pub(super) fn taken_at(until: Timestamp) -> Change {
        Change::Shrink {
            returns: BTreeSet::new(),
            longest: None,
            until: Some(until),
            is_final: true,
            parted: Vec::new(),
            part_of: None,
        }
    }

    pub(super) fn kind(&self) -> CampaignKind {
        match self {
            Change::Grow { .. } => CampaignKind::Grow,
            Change::Shrink { .. } => CampaignKind::Shrink,
        }
    }
}

/// The progress of a campaign.
#[derive(Debug)]
pub(super) enum Phase {
    /// It may begin at once.
    Open,
    /// Due jobs are launched before it begins.
    Queued,
    /// Campaigns about the same nodes end before it begins.
    Behind,
    /// Grow: its daemons are started and report.
    Launching {
        /// Daemons that have not reported.
        missing: RankSet,
    },
    /// Grow: every daemon acknowledges the wireup.
    WiringUp {
        /// Findings about a wireup that takes too long.
        late: Late,
    },
    /// Grow: it has failed, and what it has started leaves.
    RollingBack {
        /// Newcomers that have been told to leave and have not hung up.
        alive: RankSet,
        /// The reason for its failure.
        cause: Reason,
    },
    /// Shrink: processes there have time to end.
    Draining(Drain),
    /// Shrink: its daemons leave.
    Leaving,
    /// Shrink: resource managers take the nodes back.
    Releasing {
        /// Nodes that are offered back as a part of a job of the manager, with that job.
        offered: BTreeMap<NodeId, String>,
    },
}

impl Phase {
    /// The step as status and events name it.
    pub(super) fn step(&self) -> CampaignStep {
        match self {
            Phase::Open => CampaignStep::Open,
            Phase::Queued => CampaignStep::Queued,
            Phase::Behind => CampaignStep::Behind,
            Phase::Launching { .. } => CampaignStep::Launching,
            Phase::WiringUp { .. } => CampaignStep::WiringUp,
            Phase::RollingBack { .. } => CampaignStep::RollingBack,
            Phase::Draining(_) => CampaignStep::Draining,
            Phase::Leaving => CampaignStep::Leaving,
            Phase::Releasing { .. } => CampaignStep::Releasing,
        }
    }
}
