//! Ids and values of all crates. Pure data: no I/O, no clock, no policy.

mod beside;
mod campaign;
mod cpuset;
mod ids;
mod job;
mod jobmap;
mod names;
mod node;
mod placement;
pub mod pmix_status;
mod preload;
mod printable;
mod rankset;
pub mod resources;
mod signal;
mod state;
mod status;
mod time;
mod topology;

pub use beside::{Beside, Each};
pub use campaign::{CampaignId, CampaignKind, CampaignStep, ExtensionId, SizeChangeStep};
pub use cpuset::{CpuListError, CpuSet};
pub use ids::{DaemonRank, JobId, LocalRank, NodeId, ProcId, Rank, SessionId};
pub use job::{
    AppContext, DebugStop, Display, EnvOp, Grace, JobSpec, OutputOptions, PictureFormat, RuntimeOptions, SizeRange,
    StdinTarget, StopPoint, TableTo,
};
pub use jobmap::{JobMap, JobNode, Placement, PlacementTexts};
pub use names::{AllocId, AllocReqId};
pub use node::{HostEntry, HostRef, HostSelection, NodeRecord, NodeShare, SlotCount};
pub use placement::{
    BindTo, CpuChoice, CpuKind, CpuPart, DeviceKind, DeviceRequest, DeviceWanted, MapBy, MapRequest, PeList, RankBy,
    RankLine, SeqLine,
};
pub use pmix_status::PmixStatus;
pub use preload::{
    BadPreloadName, MAX_PRELOAD_ENTRIES, MAX_PRELOAD_NAME, PreloadEntry, PreloadKind, check_preload_link,
    check_preload_name,
};
pub use printable::{printable, printable_line, wrapped};
pub use rankset::RankSet;
pub use signal::Signal;
pub use state::{JobFailure, JobState, ProcState};
pub use status::ExitStatus;
pub use time::{Duration, Timestamp};
pub use topology::{Device, DeviceVendor, ObjectKind, Topology, TopologyObject};
