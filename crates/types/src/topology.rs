//! The topology of a node, reduced to the needs of placement.

use serde::{Deserialize, Serialize};

use crate::{CpuSet, DeviceKind};

/// Kinds of objects that processes can be mapped by or bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ObjectKind {
    /// A processor package (socket).
    Package,
    /// A NUMA domain.
    Numa,
    /// Third-level cache.
    L3Cache,
    /// Second-level cache.
    L2Cache,
    /// First-level (data) cache.
    L1Cache,
    /// A core.
    Core,
    /// A hardware thread.
    HwThread,
}

/// One object; its logical index is its position among the objects of its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopologyObject {
    /// The operating system's number of it.
    pub os_index: u32,
    /// The hardware threads of which it consists.
    pub cpus: CpuSet,
    /// Size of a cache, or memory of a NUMA domain, in bytes; 0 = none or unknown.
    pub bytes: u64,
}

/// A device that processes can be mapped by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// The kind of device.
    pub kind: DeviceKind,
    /// The system's name for it: `cuda0`, `rsmi1`, `mlx5_0`, `eth0`, `nvme0n1`.
    pub name: String,
    /// Its maker, whose own variables tell an application of the device.
    pub vendor: DeviceVendor,
    /// Its number among the devices of its kind and maker, as the maker's libraries count.
    pub index: u32,
    /// Its unique name, where it has one.
    pub uuid: Option<String>,
    /// The hardware threads next to it.
    pub cpus: CpuSet,
}

/// Makers of devices that have variables of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DeviceVendor {
    /// `CUDA_VISIBLE_DEVICES`.
    Nvidia,
    /// `ROCR_VISIBLE_DEVICES`.
    Amd,
    /// `ZE_AFFINITY_MASK`.
    Intel,
    /// Infiniband and the like: `UCX_NET_DEVICES`, `NCCL_IB_HCA`.
    OpenFabrics,
    /// Omni-Path: `PSM3_NIC`.
    Psm,
    /// Any other maker, without variables.
    Other,
}

impl DeviceVendor {
    /// The maker of a graphics processor, by its number on the bus (`10de`).
    #[must_use]
    pub fn of_gpu(pci_vendor: &str) -> DeviceVendor {
        match pci_vendor {
            "10de" => DeviceVendor::Nvidia,
            "1002" => DeviceVendor::Amd,
            "8086" => DeviceVendor::Intel,
            _ => DeviceVendor::Other,
        }
    }

    /// The maker of a fabric's adapter, by the name that its driver gives it.
    #[must_use]
    pub fn of_fabric(name: &str) -> DeviceVendor {
        match name {
            _ if name.starts_with("mlx") => DeviceVendor::OpenFabrics,
            _ if name.starts_with("hfi1") => DeviceVendor::Psm,
            _ => DeviceVendor::Other,
        }
    }
}

/// The machine as hwloc sees it, without the objects that placement does not use.
/// Equal nodes have equal topologies, so a DVM keeps one copy for all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// Objects by kind, each list in logical order.
    pub objects: Vec<(ObjectKind, Vec<TopologyObject>)>,
    /// Hardware threads that this process may use (cgroup, affinity of the daemon).
    pub allowed: CpuSet,
    /// Devices, in the order of the bus.
    pub devices: Vec<Device>,
}

impl Topology {
    /// The objects of a kind in logical order; empty when the machine has none.
    #[must_use]
    pub fn of_kind(&self, kind: ObjectKind) -> &[TopologyObject] {
        self.objects.iter().find(|(k, _)| *k == kind).map_or(&[], |(_, list)| list)
    }

    /// The memory of all NUMA domains (bytes); 0 = unknown.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.of_kind(ObjectKind::Numa).iter().fold(0, |sum, domain| sum.saturating_add(domain.bytes))
    }

    /// Number of cores with at least one allowed hardware thread.
    #[must_use]
    pub fn usable_cores(&self) -> usize {
        self.of_kind(ObjectKind::Core).iter().filter(|c| c.cpus.intersects(&self.allowed)).count()
    }

    /// A machine of equal packages, for tests and simulations:
    /// `packages` x `cores` x `threads`, units numbered core by core.
    #[must_use]
    pub fn uniform(packages: u32, cores: u32, threads: u32) -> Topology {
        let units = |first: u32, n: u32| (first..first + n).collect::<CpuSet>();
        let list = |count: u32, width: u32| {
            (0..count)
                .map(|i| TopologyObject { os_index: i, cpus: units(i * width, width), bytes: 0 })
                .collect::<Vec<_>>()
        };
        let total = packages * cores;
        Topology {
            objects: vec![
                (ObjectKind::Package, list(packages, cores * threads)),
                (ObjectKind::Numa, list(packages, cores * threads)),
                (ObjectKind::Core, list(total, threads)),
                (ObjectKind::HwThread, list(total * threads, 1)),
            ],
            allowed: units(0, total * threads),
            devices: Vec::new(),
        }
    }
}
