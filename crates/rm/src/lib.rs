//! Allocations and launchers as text: hostfile, `--host` and the words of resource managers to nodes, nodes to the argv
//! that starts daemons, `name = value` to parameters. Called by `cli` and `driver` (which read files and the
//! environment) and by `core` (which selects nodes for a job). Nothing runs here and nothing is read.

pub mod added;
pub mod allocation;
pub mod extension;
pub mod hostfile;
pub mod hostlist;
pub mod launcher;
pub mod managers;
pub mod name;
pub mod node_list;
pub mod params;
pub mod places;
mod select;
pub mod simulated;

pub use added::{Activated, Added, AddedError};
pub use allocation::{Allocation, AllocationError, AppHosts, Source, Sources, allocate};
pub use extension::{GiveBack, NodeAsk, Share, Wish};
pub use hostfile::{Hostfile, HostfileError};
pub use hostlist::{HostList, HostListError};
pub use launcher::{DaemonCommand, LaunchCommand, LaunchError, Launcher, Manners, SshOptions};
pub use managers::{DiscoveryError, ManagedAllocation, Manager};
pub use name::ThisMachine;
pub use params::{ParamError, Params};
pub use places::PlacesError;
pub use select::{SelectError, select, select_places};
pub use simulated::simulated;
