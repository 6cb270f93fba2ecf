//! From what was asked for to what is done: the field's defaults, conflicts, and the words that a
//! job map shows. Source: reference inventory 1.5, "Defaults"; output-formats.

use ferrite_types::{AppPolicy, BindTo, MapBy, MapRequest, ObjectKind, RankBy, Topology};

use crate::error::MapError;

/// The mappers that are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mapper {
    Slot,
    Node,
    Object(ObjectKind),
    PerNode(u32),
    PerObject(u32, ObjectKind),
}

/// Placement with every question answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) map: Mapper,
    pub(crate) oversubscribe: bool,
    pub(crate) nolocal: bool,
    pub(crate) rank: RankBy,
    pub(crate) bind: BindTo,
    /// Nobody asked for the binding: where it cannot be done, processes stay unbound.
    pub(crate) bind_soft: bool,
    bind_modifier: &'static str,
    pub(crate) overload: bool,
}

impl Policy {
    /// `total` is the number of processes of the whole job; `nodes` are all that it may use.
    pub(crate) fn resolve<'a>(
        asked: &MapRequest,
        total: u64,
        nodes: impl Iterator<Item = &'a Topology> + Clone,
    ) -> Result<Policy, MapError> {
        let everywhere = |kind| nodes.clone().all(|t| !t.of_kind(kind).is_empty());
        let map = match &asked.by {
            None => default_map(total, everywhere),
            Some(MapBy::Slot) => Mapper::Slot,
            Some(MapBy::Node) => Mapper::Node,
            Some(MapBy::Object(kind)) => Mapper::Object(*kind),
            Some(MapBy::PerNode(n)) => Mapper::PerNode(*n),
            Some(MapBy::PerObject(n, kind)) => Mapper::PerObject(*n, *kind),
            Some(MapBy::Seq(_) | MapBy::RankFile(_) | MapBy::PeList(_) | MapBy::Device(_)) => {
                return Err(MapError::NoMapper);
            }
        };
        let rank = asked.rank_by.unwrap_or(match map {
            Mapper::Node => RankBy::Node,
            Mapper::Object(_) => RankBy::Fill,
            Mapper::Slot | Mapper::PerNode(_) | Mapper::PerObject(..) => RankBy::Slot,
        });
        if matches!(rank, RankBy::Fill | RankBy::Span) && map_kind(map).is_none() {
            let map = map_word(map).trim_start_matches("BY").to_lowercase();
            return Err(MapError::RankNeedsObjects { rank: rank_word(rank), map });
        }
        let bind = asked.bind_to.unwrap_or(BindTo::Object(default_bind(map, everywhere)));
        if let (BindTo::Object(bind), Some(map)) = (bind, map_kind(map))
            && bind < map
        {
            return Err(MapError::BindAboveMap { bind, map });
        }
        let bind_modifier = match (asked.bind_to, asked.overload == Some(true)) {
            (Some(BindTo::None), _) => "",
            (_, true) => ":OVERLOAD-ALLOWED",
            (None, false) => ":IF-SUPPORTED",
            (Some(_), false) if asked.bind_if_supported => ":IF-SUPPORTED",
            (Some(_), false) => "",
        };
        Ok(Policy {
            map,
            oversubscribe: asked.oversubscribe.unwrap_or(false),
            nolocal: asked.nolocal,
            rank,
            bind,
            bind_soft: asked.bind_to.is_none() || asked.bind_if_supported,
            bind_modifier,
            overload: asked.overload == Some(true),
        })
    }

    /// More processes than slots somewhere: a binding that nobody asked for would make it worse.
    pub(crate) fn on_oversubscribed(&mut self, asked: &MapRequest) {
        if asked.bind_to.is_none() {
            self.bind = BindTo::None;
            self.bind_modifier = "";
        }
    }

    /// What the job map says of it.
    pub(crate) fn texts(&self) -> AppPolicy {
        let hwthreads =
            map_kind(self.map) == Some(ObjectKind::HwThread) || self.bind == BindTo::Object(ObjectKind::HwThread);
        AppPolicy {
            mapper: if self.ppr_text().is_some() { "ppr" } else { "round_robin" }.to_owned(),
            map_by: self.map_text(),
            rank_by: self.rank_text(),
            bind_to: self.bind_text(),
            ppr: self.ppr_text(),
            cpu_set: None,
            cpus_per_rank: None,
            hwthreads,
            exclusive: matches!(self.bind, BindTo::Object(ObjectKind::Core | ObjectKind::HwThread)),
        }
    }

    /// `BYCORE:NOOVERSUBSCRIBE`.
    pub(crate) fn map_text(&self) -> String {
        let oversubscribe = if self.oversubscribe { ":OVERSUBSCRIBE" } else { ":NOOVERSUBSCRIBE" };
        let nolocal = if self.nolocal { ":NOLOCAL" } else { "" };
        format!("{}{oversubscribe}{nolocal}", map_word(self.map))
    }
    pub(crate) fn rank_text(&self) -> String {
        rank_word(self.rank).to_uppercase()
    }
    /// `CORE:IF-SUPPORTED`.
    pub(crate) fn bind_text(&self) -> String {
        match self.bind {
            BindTo::None => "NONE".to_owned(),
            BindTo::Object(kind) => {
                format!("{}{}", kind_word(kind).to_uppercase(), self.bind_modifier)
            }
        }
    }
    pub(crate) fn ppr_text(&self) -> Option<String> {
        match self.map {
            Mapper::PerNode(n) => Some(format!("{n}:node")),
            Mapper::PerObject(n, kind) => Some(format!("{n}:{}", kind_word(kind))),
            Mapper::Slot | Mapper::Node | Mapper::Object(_) => None,
        }
    }
}

/// Two processes share a cache if they can; more are spread over the packages.
fn default_map(total: u64, everywhere: impl Fn(ObjectKind) -> bool) -> Mapper {
    use ObjectKind::{Core, HwThread, Numa, Package};
    let wanted = if total <= 2 { [Core, HwThread].as_slice() } else { [Package, Numa, Core].as_slice() };
    match wanted.iter().find(|kind| everywhere(**kind)) {
        Some(kind) => Mapper::Object(*kind),
        None => Mapper::Slot,
    }
}

fn default_bind(map: Mapper, everywhere: impl Fn(ObjectKind) -> bool) -> ObjectKind {
    let threads = map_kind(map) == Some(ObjectKind::HwThread);
    let only_threads = !everywhere(ObjectKind::Core) && everywhere(ObjectKind::HwThread);
    if threads || only_threads { ObjectKind::HwThread } else { ObjectKind::Core }
}

/// The kind of object that processes are mapped onto, if it is smaller than a node.
pub(crate) fn map_kind(map: Mapper) -> Option<ObjectKind> {
    match map {
        Mapper::Object(kind) | Mapper::PerObject(_, kind) => Some(kind),
        Mapper::Slot | Mapper::Node | Mapper::PerNode(_) => None,
    }
}

fn map_word(map: Mapper) -> &'static str {
    match map {
        Mapper::Slot => "BYSLOT",
        Mapper::Node => "BYNODE",
        Mapper::Object(ObjectKind::Package) => "BYPACKAGE",
        Mapper::Object(ObjectKind::Numa) => "BYNUMA",
        Mapper::Object(ObjectKind::L3Cache) => "BYL3CACHE",
        Mapper::Object(ObjectKind::L2Cache) => "BYL2CACHE",
        Mapper::Object(ObjectKind::L1Cache) => "BYL1CACHE",
        Mapper::Object(ObjectKind::Core) => "BYCORE",
        Mapper::Object(ObjectKind::HwThread) => "BYHWTHREAD",
        Mapper::PerNode(_) | Mapper::PerObject(..) => "PPR",
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

/// The user's word for a kind of object.
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
