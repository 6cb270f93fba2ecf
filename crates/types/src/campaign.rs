//! Campaigns: changes of the DVM's size (docs/spec/elastic.md).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Number of a campaign, counted from 1 over the DVM's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CampaignId(pub u32);

impl fmt::Display for CampaignId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Number of an extension, a request for nodes that the resource manager has yet to grant, counted from 1 over the
/// DVM's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ExtensionId(pub u32);

impl fmt::Display for ExtensionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The direction of a change of size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CampaignKind {
    /// Daemons are added.
    Grow,
    /// Daemons leave.
    Shrink,
}

impl fmt::Display for CampaignKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CampaignKind::Grow => "grow",
            CampaignKind::Shrink => "shrink",
        })
    }
}

/// The steps of a change of an elastic job's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SizeChangeStep {
    /// More processes: nodes come first.
    NodesFirst,
    /// More processes: the job was told that it may spawn them.
    Offered,
    /// Fewer processes: the job was told which of them are to end.
    Told,
    /// The job has taken the offer, wholly or partly, or the processes have ended.
    Done,
    /// The job has its former size.
    Failed,
}

impl SizeChangeStep {
    /// Its name, in the spelling of job states.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            SizeChangeStep::NodesFirst => "NODES_FIRST",
            SizeChangeStep::Offered => "OFFERED",
            SizeChangeStep::Told => "TOLD",
            SizeChangeStep::Done => "DONE",
            SizeChangeStep::Failed => "FAILED",
        }
    }
}

/// The steps of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CampaignStep {
    /// A scheduler has pushed it, without a requester. Its next step follows at once.
    Pushed,
    /// It is open: from here on jobs wait for it.
    Open,
    /// It waits for the launch of jobs that others have held for long. No job waits for it yet.
    Queued,
    /// Another campaign changes the same nodes and has to end first.
    Behind,
    /// Grow: the daemons are being started.
    Launching,
    /// Grow: all daemons have reported; the wireup is on its way.
    WiringUp,
    /// Shrink: processes were told and have time to end. No job waits for it yet.
    Draining,
    /// Shrink: the order to leave is out.
    Leaving,
    /// Grow: it has failed, and its daemons are ordered out.
    RollingBack,
    /// Shrink: the resource managers are offered their nodes back.
    Releasing,
    /// It has succeeded.
    Done,
    /// It has failed, and the DVM has its former size.
    Failed,
}

impl CampaignStep {
    /// Its name, in the spelling of job states.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CampaignStep::Pushed => "PUSHED",
            CampaignStep::Open => "OPEN",
            CampaignStep::Queued => "QUEUED",
            CampaignStep::Behind => "BEHIND",
            CampaignStep::Launching => "LAUNCHING",
            CampaignStep::WiringUp => "WIRING_UP",
            CampaignStep::Draining => "DRAINING",
            CampaignStep::Leaving => "LEAVING",
            CampaignStep::RollingBack => "ROLLING_BACK",
            CampaignStep::Releasing => "RELEASING",
            CampaignStep::Done => "DONE",
            CampaignStep::Failed => "FAILED",
        }
    }
}

impl fmt::Display for CampaignStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
