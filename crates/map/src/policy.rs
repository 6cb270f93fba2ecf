//! From what was asked for to what is done: the field's defaults, conflicts, and the words that a
//! job map shows. Source: reference inventory 1.5, "Defaults"; output-formats.

use ferrite_types::{BindTo, MapBy, MapRequest, ObjectKind, RankBy, Topology};

use crate::error::MapError;

/// Placement with every question answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) map: MapBy,
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
        let map = asked.by.unwrap_or_else(|| default_map(total, everywhere));
        let rank = asked.rank_by.unwrap_or(match map {
            MapBy::Node => RankBy::Node,
            MapBy::Object(_) => RankBy::Fill,
            MapBy::Slot | MapBy::PerNode(_) | MapBy::PerObject(..) => RankBy::Slot,
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
        let bind_modifier = match (asked.bind_to, asked.overload_allowed) {
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
            overload: asked.overload_allowed,
        })
    }

    /// More processes than slots somewhere: a binding that nobody asked for would make it worse.
    pub(crate) fn on_oversubscribed(&mut self, asked: &MapRequest) {
        if asked.bind_to.is_none() {
            self.bind = BindTo::None;
            self.bind_modifier = "";
        }
    }

    /// `BYCORE:NOOVERSUBSCRIBE`.
    pub(crate) fn map_text(&self) -> String {
        let oversubscribe = if self.oversubscribe { OVERSUBSCRIBE } else { ":NOOVERSUBSCRIBE" };
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
            MapBy::PerNode(n) => Some(format!("{n}:node")),
            MapBy::PerObject(n, kind) => Some(format!("{n}:{}", kind_word(kind))),
            MapBy::Slot | MapBy::Node | MapBy::Object(_) => None,
        }
    }
}

/// The modifier in a job map's policy that says that slots are no limit.
pub(crate) const OVERSUBSCRIBE: &str = ":OVERSUBSCRIBE";

/// Two processes share a cache if they can; more are spread over the packages.
fn default_map(total: u64, everywhere: impl Fn(ObjectKind) -> bool) -> MapBy {
    use ObjectKind::{Core, HwThread, Numa, Package};
    let wanted = if total <= 2 { [Core, HwThread].as_slice() } else { [Package, Numa, Core].as_slice() };
    match wanted.iter().find(|kind| everywhere(**kind)) {
        Some(kind) => MapBy::Object(*kind),
        None => MapBy::Slot,
    }
}

fn default_bind(map: MapBy, everywhere: impl Fn(ObjectKind) -> bool) -> ObjectKind {
    let threads = map_kind(map) == Some(ObjectKind::HwThread);
    let only_threads = !everywhere(ObjectKind::Core) && everywhere(ObjectKind::HwThread);
    if threads || only_threads { ObjectKind::HwThread } else { ObjectKind::Core }
}

/// The kind of object that processes are mapped onto, if it is smaller than a node.
pub(crate) fn map_kind(map: MapBy) -> Option<ObjectKind> {
    match map {
        MapBy::Object(kind) | MapBy::PerObject(_, kind) => Some(kind),
        MapBy::Slot | MapBy::Node | MapBy::PerNode(_) => None,
    }
}

fn map_word(map: MapBy) -> &'static str {
    match map {
        MapBy::Slot => "BYSLOT",
        MapBy::Node => "BYNODE",
        MapBy::Object(ObjectKind::Package) => "BYPACKAGE",
        MapBy::Object(ObjectKind::Numa) => "BYNUMA",
        MapBy::Object(ObjectKind::L3Cache) => "BYL3CACHE",
        MapBy::Object(ObjectKind::L2Cache) => "BYL2CACHE",
        MapBy::Object(ObjectKind::L1Cache) => "BYL1CACHE",
        MapBy::Object(ObjectKind::Core) => "BYCORE",
        MapBy::Object(ObjectKind::HwThread) => "BYHWTHREAD",
        MapBy::PerNode(_) | MapBy::PerObject(..) => "PPR",
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
