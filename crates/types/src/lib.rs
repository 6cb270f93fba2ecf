//! Ids and values that every other crate speaks in. Pure data: no I/O, no clock, no policy.

mod campaign;
mod cpuset;
mod ids;
mod job;
mod jobmap;
mod node;
mod rankset;
mod state;
mod status;
mod time;
mod topology;

pub use campaign::{CampaignId, CampaignKind, CampaignStep};
pub use cpuset::CpuSet;
pub use ids::{DaemonRank, JobId, LocalRank, NodeId, ProcId, Rank};
pub use job::{
    AppContext, BindTo, Display, EnvOp, JobSpec, MapBy, MapRequest, OutputOptions, RankBy, RuntimeOptions, StdinTarget,
};
pub use jobmap::{JobMap, JobNode, Placement};
pub use node::{HostEntry, HostRef, HostSelection, NodeRecord, NodeShare, SlotCount};
pub use rankset::RankSet;
pub use state::{JobState, ProcState, launch_table};
pub use status::ExitStatus;
pub use time::{Duration, Timestamp};
pub use topology::{ObjectKind, Topology, TopologyObject};
