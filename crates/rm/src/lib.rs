//! Allocations, launchers and parameters as text. It makes nodes of hostfiles, `--host` and the variables of resource
//! managers, command lines for launchers, and parameters of `name = value`. `cli` and `driver` call it with the files
//! and environment that they have read; `core` calls it to select the nodes of a job. It runs nothing and reads no
//! file.

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
pub use extension::{GiveBack, JobEnd, NodeAsk, Share, Wish};
pub use hostfile::{Hostfile, HostfileError};
pub use hostlist::{HostList, HostListError};
pub use launcher::{DaemonCommand, LaunchCommand, LaunchError, Launcher, Manners, SshOptions};
pub use managers::{DiscoveryError, ManagedAllocation, Manager};
pub use name::ThisMachine;
pub use params::{ParamError, Params};
pub use places::PlacesError;
pub use select::{Nodes, SelectError, select, select_places};
pub use simulated::simulated;
