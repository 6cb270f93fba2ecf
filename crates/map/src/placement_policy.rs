//! Resolves a request for placement to a placement policy: the field's defaults, conflicts, and the texts in a job map.
//! Source: the documentation and the printed maps of the reference (5.0).

use ferrite_types::{
    BindTo, CpuKind, DeviceKind, DeviceRequest, DeviceWanted, MapBy, MapRequest, ObjectKind, PlacementTexts, RankBy,
    Topology,
};

use crate::error::MapError;

/// The way in which processes are mapped. Lists of places or processors stay in the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mapper {
    Slot,
    Node,
    Object(ObjectKind),
    PerNode(u32),
    PerObject(u32, ObjectKind),
    PeList {
        ordered: bool,
    },
    Seq,
    RankFile,
    Device,
    /// `None` = by the name of a device, which no directive asks for.
    PerDevice(u32, Option<DeviceKind>),
}

impl Mapper {
    /// The number of processes for each node, object or device of `ppr`.
    pub(crate) fn per_resource(self) -> Option<u32> {
        match self {
            Mapper::PerNode(per) | Mapper::PerObject(per, _) | Mapper::PerDevice(per, _) => Some(per),
            Mapper::Slot
            | Mapper::Node
            | Mapper::Object(_)
            | Mapper::PeList { .. }
            | Mapper::Seq
            | Mapper::RankFile
            | Mapper::Device => None,
        }
    }

    /// True when processes are mapped onto devices.
    pub(crate) fn is_by_device(self) -> bool {
        matches!(self, Mapper::Device | Mapper::PerDevice(..))
    }
}

/// The placement of one app, with all defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlacementPolicy {
    pub(crate) map: Mapper,
    pub(crate) oversubscribe: bool,
    pub(crate) nolocal: bool,
    pub(crate) span: bool,
    /// The kind of object that counts as a processor.
    pub(crate) cpus: CpuKind,
    /// The kind that processes are bound to: the same, unless the user names processors of the other kind.
    pub(crate) unit: CpuKind,
    /// Processors for each process.
    pub(crate) pes: Option<u16>,
    pub(crate) rank: RankBy,
    pub(crate) bind: BindTo,
    /// True for a default binding: where it is impossible, processes stay unbound.
    pub(crate) bind_soft: bool,
    bind_modifier: &'static str,
    pub(crate) overload: bool,
    /// At most so many processes bound to one object.
    pub(crate) limit: Option<u16>,
    /// The listed processors.
    pub(crate) pe_list: Option<String>,
}

/// The input for a policy.
pub(crate) struct Asked<'a> {
    /// The app's own request, or the job's.
    pub(crate) app: &'a MapRequest,
    /// The job's request: oversubscription is the same for all apps.
    pub(crate) job: &'a MapRequest,
    /// Processes of the whole job; the defaults differ for a pair.
    pub(crate) total: u64,
}

impl PlacementPolicy {
    /// `nodes` are all that the app may use.
    pub(crate) fn resolve<'a>(
        asked: &Asked<'_>,
        nodes: impl Iterator<Item = &'a Topology> + Clone,
    ) -> Result<PlacementPolicy, MapError> {
        let everywhere = |kind| nodes.clone().all(|t| !t.of_kind(kind).is_empty());
        let app = asked.app;
        let oversubscribe = asked.job.oversubscribe == Some(true);
        let map = mapper(app, everywhere);
        let cpus = cpu_kind(app, map, everywhere);
        let rank = app.rank_by.unwrap_or_else(|| default_rank(map, app.span));
        if matches!(rank, RankBy::Fill | RankBy::Span) && map_kind(map).is_none() && !map.is_by_device() {
            return Err(MapError::RankNeedsObjects { rank: rank_word(rank), map: map_name(map) });
        }
        if app.span && !matches!(map, Mapper::Object(_) | Mapper::Device | Mapper::Slot | Mapper::Node) {
            return Err(MapError::SpanNeedsObjects { map: map_name(map) });
        }
        let unit = unit_kind(cpus);
        let bind = app.bind_to.unwrap_or_else(|| BindTo::Object(default_bind(map, cpus, app, asked.total, everywhere)));
        let exact = app.pes.is_some() || matches!(map, Mapper::PeList { .. });
        let taken = match bind {
            _ if !exact => cpus,
            BindTo::Object(ObjectKind::Core | ObjectKind::HwThread) if app.pes.is_none() => cpus,
            BindTo::Object(ObjectKind::Core) => CpuKind::Core,
            BindTo::Object(ObjectKind::HwThread) => CpuKind::HwThread,
            _ => return Err(MapError::BindNotUnit { map: map_name(map), pes: app.pes, bind: bind_name(bind), unit }),
        };
        if let (BindTo::Object(bind), Some(map)) = (bind, map_kind(map))
            && is_above(bind, map, nodes.clone())
        {
            return Err(MapError::BindAboveMap { bind, map });
        }
        Ok(PlacementPolicy {
            map,
            oversubscribe,
            nolocal: app.nolocal,
            span: app.span,
            cpus,
            unit: taken,
            pes: app.pes,
            rank,
            bind,
            // A number or a list of processors is as explicit as --bind-to.
            bind_soft: app.bind_if_supported || (app.bind_to.is_none() && !exact),
            bind_modifier: bind_modifier(app),
            // With oversubscription a list of processors may also be shared.
            overload: app.overload == Some(true)
                || (oversubscribe && app.bind_to.is_none() && matches!(map, Mapper::PeList { .. })),
            limit: app.bind_limit,
            pe_list: match &app.by {
                Some(MapBy::PeList(list)) => Some(list.cpus.to_string()),
                _ => None,
            },
        })
    }

    /// Removes a default binding: there are more processes than slots or processors.
    pub(crate) fn unbind(&mut self) {
        self.bind = BindTo::None;
        self.bind_modifier = "";
    }

    /// True when each process gets free processors of its own.
    pub(crate) fn is_exclusive(&self) -> bool {
        matches!(self.bind, BindTo::Object(ObjectKind::Core | ObjectKind::HwThread))
    }

    /// True when a node takes no more processes than it has processors for: processes are mapped onto objects that each
    /// takes, or the binding was requested.
    pub(crate) fn counts_processors(&self) -> bool {
        let of_objects = matches!(self.map, Mapper::Object(_) | Mapper::PeList { .. } | Mapper::Device);
        self.bind != BindTo::None && !self.overload && (of_objects || !self.bind_soft || self.pes.is_some())
    }

    /// Returns the policy's texts for the job map.
    pub(crate) fn texts(&self) -> PlacementTexts {
        PlacementTexts {
            mapper: self.mapper_text().to_owned(),
            map_by: self.map_text(),
            rank_by: self.rank_text(),
            bind_to: self.bind_text(),
            ppr: self.ppr_text(),
            cpu_set: self.pe_list.clone(),
            cpus_per_rank: self.pes,
            hwthreads: self.cpus == CpuKind::HwThread,
            exclusive: self.is_exclusive(),
            ..PlacementTexts::default()
        }
    }

    fn mapper_text(&self) -> &'static str {
        match self.map {
            Mapper::PerNode(_) | Mapper::PerObject(..) | Mapper::PerDevice(..) => "ppr",
            Mapper::Seq => "seq",
            Mapper::RankFile => "rank_file",
            Mapper::Slot | Mapper::Node | Mapper::Object(_) | Mapper::PeList { .. } | Mapper::Device => "round_robin",
        }
    }

    /// `BYCORE:NOOVERSUBSCRIBE`.
    fn map_text(&self) -> String {
        let local = if self.nolocal { ":NO_USE_LOCAL" } else { "" };
        let oversubscribe = if self.oversubscribe { ":OVERSUBSCRIBE" } else { ":NOOVERSUBSCRIBE" };
        let span = if self.span { ":SPAN" } else { "" };
        let ordered = if self.map == (Mapper::PeList { ordered: true }) { ":ORDERED" } else { "" };
        format!("{}{local}{oversubscribe}{span}{ordered}", map_word(self.map))
    }

    fn rank_text(&self) -> String {
        match self.map {
            Mapper::Seq | Mapper::RankFile => "BYUSER".to_owned(),
            _ => rank_word(self.rank).to_uppercase(),
        }
    }

    /// `CORE:IF-SUPPORTED`.
    fn bind_text(&self) -> String {
        match self.bind {
            BindTo::None => "NONE".to_owned(),
            BindTo::Object(kind) => {
                format!("{}{}", kind_word(kind).to_uppercase(), self.bind_modifier)
            }
        }
    }

    /// `2:package`, when a number for each object or node was asked for.
    pub(crate) fn ppr_text(&self) -> Option<String> {
        match self.map {
            Mapper::PerNode(n) => Some(format!("{n}:node")),
            Mapper::PerObject(n, kind) => Some(format!("{n}:{}", kind_word(kind))),
            Mapper::PerDevice(n, kind) => Some(format!("{n}:{}", device_word(kind))),
            _ => None,
        }
    }
}

/// Chooses the mapping: the requested one; else by the object to bind to; else by core.
fn mapper(app: &MapRequest, everywhere: impl Fn(ObjectKind) -> bool) -> Mapper {
    match &app.by {
        Some(MapBy::Slot) => Mapper::Slot,
        Some(MapBy::Node) => Mapper::Node,
        Some(MapBy::Object(kind)) => Mapper::Object(*kind),
        Some(MapBy::PerNode(n)) => Mapper::PerNode(*n),
        Some(MapBy::PerObject(n, kind)) => Mapper::PerObject(*n, *kind),
        Some(MapBy::PeList(list)) => Mapper::PeList { ordered: list.ordered },
        Some(MapBy::Seq(_)) => Mapper::Seq,
        Some(MapBy::RankFile(_)) => Mapper::RankFile,
        Some(MapBy::Device(_)) => Mapper::Device,
        Some(MapBy::PerDevice(n, DeviceRequest { wanted: DeviceWanted::Kind(kind), .. })) => {
            Mapper::PerDevice(*n, Some(*kind))
        }
        Some(MapBy::PerDevice(n, _)) => Mapper::PerDevice(*n, None),
        None => match app.bind_to {
            // A process with several processors does not fit into a core.
            _ if app.pes.is_some_and(|n| n > 1) => Mapper::Slot,
            Some(BindTo::None) => Mapper::Slot,
            Some(BindTo::Object(kind)) if everywhere(kind) => Mapper::Object(kind),
            Some(BindTo::Object(_)) => Mapper::Slot,
            None if everywhere(ObjectKind::Core) => Mapper::Object(ObjectKind::Core),
            None if everywhere(ObjectKind::HwThread) => Mapper::Object(ObjectKind::HwThread),
            None => Mapper::Slot,
        },
    }
}

fn cpu_kind(app: &MapRequest, map: Mapper, everywhere: impl Fn(ObjectKind) -> bool) -> CpuKind {
    let threads = map_kind(map) == Some(ObjectKind::HwThread);
    let only_threads = !everywhere(ObjectKind::Core) && everywhere(ObjectKind::HwThread);
    match app.cpus {
        _ if threads || only_threads => CpuKind::HwThread,
        asked => asked.unwrap_or(CpuKind::Core),
    }
}

fn default_rank(map: Mapper, span: bool) -> RankBy {
    match map {
        Mapper::Node => RankBy::Node,
        Mapper::Slot => RankBy::Slot,
        _ if span => RankBy::Span,
        Mapper::Object(_) => RankBy::Fill,
        _ => RankBy::Slot,
    }
}

/// Returns the default binding: the object that processes are mapped onto. Of a job that is mapped onto whole nodes,
/// one or two processes are bound to processors, and more processes to NUMA domains.
fn default_bind(
    map: Mapper,
    cpus: CpuKind,
    app: &MapRequest,
    total: u64,
    everywhere: impl Fn(ObjectKind) -> bool,
) -> ObjectKind {
    let unit = unit_kind(cpus);
    match map {
        _ if app.pes.is_some() => unit,
        Mapper::PeList { .. } | Mapper::Object(ObjectKind::Core) => unit,
        Mapper::Object(kind) | Mapper::PerObject(_, kind) => kind,
        _ if total <= 2 => unit,
        _ => {
            let shared = [ObjectKind::Numa, ObjectKind::Package];
            shared.into_iter().find(|kind| everywhere(*kind)).unwrap_or(unit)
        }
    }
}

/// True when one kind of object is larger than the other. A package may contain NUMA domains or the reverse, so the
/// machines decide; of equal ones the package counts as larger.
fn is_above<'a>(bind: ObjectKind, map: ObjectKind, mut nodes: impl Iterator<Item = &'a Topology>) -> bool {
    let either = |kind| matches!(kind, ObjectKind::Package | ObjectKind::Numa);
    if !either(bind) || !either(map) {
        return bind < map;
    }
    let size = |topology: &Topology, kind| topology.of_kind(kind).first().map_or(0, |o| o.cpus.len());
    nodes.any(|topology| (size(topology, bind), map) > (size(topology, map), bind))
}

fn bind_modifier(app: &MapRequest) -> &'static str {
    match (app.bind_to, app.overload == Some(true)) {
        (Some(BindTo::None), _) => "",
        (_, true) => ":OVERLOAD-ALLOWED",
        (None, false) => ":IF-SUPPORTED",
        (Some(_), false) if app.bind_if_supported => ":IF-SUPPORTED",
        (Some(_), false) => "",
    }
}

/// Returns the kind of object that is one processor.
pub(crate) fn unit_kind(cpus: CpuKind) -> ObjectKind {
    match cpus {
        CpuKind::Core => ObjectKind::Core,
        CpuKind::HwThread => ObjectKind::HwThread,
    }
}

/// Returns the kind of object that processes are mapped onto, if it is smaller than a node.
pub(crate) fn map_kind(map: Mapper) -> Option<ObjectKind> {
    match map {
        Mapper::Object(kind) | Mapper::PerObject(_, kind) => Some(kind),
        _ => None,
    }
}

/// Returns the mapping as the user writes it.
pub(crate) fn map_name(map: Mapper) -> String {
    match map {
        Mapper::PerNode(n) => format!("ppr:{n}:node"),
        Mapper::PerObject(n, kind) => format!("ppr:{n}:{}", kind_word(kind)),
        Mapper::PerDevice(n, kind) => format!("ppr:{n}:{}", device_word(kind)),
        Mapper::PeList { .. } => "pe-list".to_owned(),
        Mapper::Seq => "seq".to_owned(),
        Mapper::RankFile => "rankfile".to_owned(),
        _ => map_word(map).trim_start_matches("BY").to_lowercase(),
    }
}

fn bind_name(bind: BindTo) -> &'static str {
    match bind {
        BindTo::None => "none",
        BindTo::Object(kind) => kind_word(kind),
    }
}

fn map_word(map: Mapper) -> &'static str {
    match map {
        Mapper::Slot => "BYSLOT",
        Mapper::Node | Mapper::PerNode(_) => "BYNODE",
        Mapper::Object(kind) | Mapper::PerObject(_, kind) => match kind {
            ObjectKind::Package => "BYPACKAGE",
            ObjectKind::Numa => "BYNUMA",
            ObjectKind::L3Cache => "BYL3CACHE",
            ObjectKind::L2Cache => "BYL2CACHE",
            ObjectKind::L1Cache => "BYL1CACHE",
            ObjectKind::Core => "BYCORE",
            ObjectKind::HwThread => "BYHWTHREAD",
        },
        Mapper::PeList { .. } => "PE-LIST",
        Mapper::Seq => "SEQUENTIAL",
        Mapper::RankFile => "BYUSER",
        Mapper::Device | Mapper::PerDevice(..) => "BYDEVICE",
    }
}

fn rank_word(rank: RankBy) -> &'static str {
    match rank {
        RankBy::Slot => "slot",
        RankBy::Node => "node",
        RankBy::Fill => "fill",
        RankBy::Span => "span",
    }
}

/// Returns the user's word for the devices that `ppr` counts.
fn device_word(kind: Option<DeviceKind>) -> &'static str {
    match kind {
        Some(DeviceKind::Gpu) => "device=gpu",
        Some(DeviceKind::Network) => "device=network",
        Some(DeviceKind::Block) => "device=block",
        None => "device",
    }
}

/// Returns the user's word for a kind of object.
pub(crate) fn kind_word(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Package => "package",
        ObjectKind::Numa => "numa",
        ObjectKind::L3Cache => "l3cache",
        ObjectKind::L2Cache => "l2cache",
        ObjectKind::L1Cache => "l1cache",
        ObjectKind::Core => "core",
        ObjectKind::HwThread => "hwthread",
    }
}
