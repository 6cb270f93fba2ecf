//! Campaigns: one change of the DVM's size each (docs/spec/elastic.md).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Number of a campaign; they count from 1 for as long as the DVM lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CampaignId(pub u32);

impl fmt::Display for CampaignId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Number of a request for nodes that the resource manager has yet to grant; they count from 1 for as long as the DVM
/// lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ExtensionId(pub u32);

impl fmt::Display for ExtensionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which way the size changes.
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

/// How far a campaign has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CampaignStep {
    /// A scheduler has pushed it, and nobody has asked for it. Its next step follows at once.
    Pushed,
    /// It is open: from here on jobs wait for it.
    Open,
    /// It lets jobs be launched first that others have held long enough. Nobody waits for it yet.
    Queued,
    /// Another campaign changes the same nodes and has to end first.
    Behind,
    /// Grow: the daemons are being started.
    Launching,
    /// Grow: all daemons have reported; everybody is being told.
    WiringUp,
    /// Shrink: the order to leave is out.
    Leaving,
    /// Grow: it has failed; what it started is being ordered out.
    RollingBack,
    /// Shrink: the resource managers are offered their nodes back.
    Releasing,
    /// It has ended well.
    Done,
    /// It has failed, and the DVM is as it was before it.
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
