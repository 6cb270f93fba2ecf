//! Placement as requested: `--map-by`, `--rank-by`, `--bind-to` with their qualifiers.

use serde::{Deserialize, Serialize};

use crate::{CpuSet, HostRef, ObjectKind, Rank};

/// The requested placement; `None` means the field's default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapRequest {
    /// `--map-by`.
    pub by: Option<MapBy>,
    /// `:PE=n`: processors for each process, at least 1.
    pub pes: Option<u16>,
    /// `:SPAN`: all nodes count as one large node.
    pub span: bool,
    /// `:OVERSUBSCRIBE` / `:NOOVERSUBSCRIBE`; of the whole job.
    pub oversubscribe: Option<bool>,
    /// `:NOLOCAL`: not on the head's node.
    pub nolocal: bool,
    /// `:HWTCPUS` / `:CORECPUS`: the unit that counts as a processor.
    pub cpus: Option<CpuKind>,
    /// `:INHERIT` / `:NOINHERIT`: jobs that this one spawns are placed as it was; of the whole job.
    pub inherit: Option<bool>,
    /// `--rank-by`.
    pub rank_by: Option<RankBy>,
    /// `--bind-to`.
    pub bind_to: Option<BindTo>,
    /// `--bind-to ...:overload-allowed` / `:no-overload`: more processes on an object than it has processors.
    pub overload: Option<bool>,
    /// `--bind-to ...:if-supported`: a process that cannot be bound stays unbound.
    pub bind_if_supported: bool,
    /// `--bind-to ...:limit=n`: at most so many processes bound to one object.
    pub bind_limit: Option<u16>,
}

impl MapRequest {
    /// True when a file has a line for each process, with its host (`seq`, `rankfile`).
    #[must_use]
    pub fn lists_hosts(&self) -> bool {
        matches!(self.by, Some(MapBy::Seq(_) | MapBy::RankFile(_)))
    }
}

/// The unit that counts as one processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CpuKind {
    /// A core.
    Core,
    /// A hardware thread.
    HwThread,
}

/// Mapping policies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MapBy {
    /// Fill the slots of a node, then the next node.
    Slot,
    /// One process per node in turn.
    Node,
    /// Round robin over objects of a kind within a node, node after node.
    Object(ObjectKind),
    /// `ppr:N:node`: N processes on every node.
    PerNode(u32),
    /// `ppr:N:<object>`: N processes on every object of a kind.
    PerObject(u32, ObjectKind),
    /// `seq`: one process on the host of each line of a file; without lines, on each of the app's hosts as often as
    /// the user names it.
    Seq(Vec<SeqLine>),
    /// `rankfile`: each rank on the host of its line.
    RankFile(Vec<RankLine>),
    /// `pe-list=...`: on the listed processors of every node.
    PeList(PeList),
    /// `device=...`: close to a device, which the process gets.
    Device(DeviceRequest),
    /// `ppr:N:device=KIND`: N processes close to every device of a kind, which they share.
    PerDevice(u32, DeviceRequest),
}

/// One line of a file for `seq`: `host [cpus]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeqLine {
    /// The host of the process; never an exclusion or a choice among empty nodes.
    pub host: HostRef,
    /// The binding of the process; `None` = by the binding policy.
    pub cpus: Option<CpuChoice>,
}

/// One line of a rankfile: `rank N=host slot=cpus`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankLine {
    /// The rank, counted over all apps; in the file of one app, over its processes.
    pub rank: Rank,
    /// The host of the rank; never an exclusion or a choice among empty nodes.
    pub host: HostRef,
    /// The binding of the rank; `None` = by the binding policy.
    pub cpus: Option<CpuChoice>,
}

/// Processors of a node by their logical numbers: `10-12`, `1:0-2` (cores 0 to 2 of package 1), `0:*`, `0:1;1:0-2`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuChoice {
    /// The parts, which are combined; never empty.
    pub parts: Vec<CpuPart>,
}

/// One part of a [`CpuChoice`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuPart {
    /// The package, by its logical number, within which processors are counted; `None` = counted over the node.
    pub package: Option<u32>,
    /// The processors; `None` = all of them (`*`).
    pub cpus: Option<CpuSet>,
}

/// `pe-list=0,3,5-6[:ORDERED]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeList {
    /// Logical numbers of processors; never empty.
    pub cpus: CpuSet,
    /// True for one process on each of them, in their order; otherwise each process may use all of them.
    pub ordered: bool,
}

/// `device=...[:INTERLEAVE[=object]][:SHARED][:NDEV=n]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRequest {
    /// The kind or name of the devices.
    pub wanted: DeviceWanted,
    /// The kind of object whose devices are taken in turn; `None` = in the order of the bus.
    pub interleave: Option<ObjectKind>,
    /// Several processes may get the same device.
    pub shared: bool,
    /// Devices for each process, at least 1.
    pub per_process: u16,
}

/// The devices by which a job is mapped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeviceWanted {
    /// All of a kind.
    Kind(DeviceKind),
    /// The device of this name or UUID.
    Named(String),
}

/// Kinds of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DeviceKind {
    /// A graphics processor that computes.
    Gpu,
    /// A network interface.
    Network,
    /// A disk.
    Block,
}

/// Ranking policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RankBy {
    /// In the order of mapping, node by node.
    Slot,
    /// Round robin over nodes.
    Node,
    /// Fill an object of the mapping before the next.
    Fill,
    /// Round robin over objects across nodes.
    Span,
}

/// Binding policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BindTo {
    /// Not bound.
    None,
    /// To an object of this kind.
    Object(ObjectKind),
}
