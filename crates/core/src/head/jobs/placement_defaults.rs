//! Defaults of placement for a job: those of the job that has spawned it, then those of the DVM's parameters. They
//! are filled in once per job, before any placement.

use ferrite_map::directive::{parse_bind_to, parse_map_by, parse_rank_by};
use ferrite_rm::params::Params;
use ferrite_types::{CpuKind, JobSpec, MapBy, MapRequest};

/// The relation of a spawned job to its parent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kinship {
    /// It is a job of its own.
    Child,
    /// Both are worlds of one elastic job.
    Member,
}

/// Fills in the parent's placement for a spawned job. The parent's permission to use more processes than slots is
/// inherited unless somebody says `NOINHERIT`; the rest where somebody says `INHERIT`, and by a member of an elastic
/// job, unless somebody says `NOINHERIT` (spec E72).
pub(super) fn from_parent(spec: &mut JobSpec, parent: &MapRequest, kinship: Kinship, params: &Params) {
    let said = spec.map.inherit.or(parent.inherit);
    if said != Some(false) {
        let own = spec.apps.iter_mut().filter_map(|app| app.map.as_mut());
        own.chain([&mut spec.map]).for_each(|own| own.oversubscribe = own.oversubscribe.or(parent.oversubscribe));
    }
    let is_member = kinship == Kinship::Member;
    if said.unwrap_or_else(|| is_member || params.flag("rmaps_default_inherit").unwrap_or(false)) {
        inherit(&mut spec.map, parent, kinship);
    }
}

fn inherit(own: &mut MapRequest, parent: &MapRequest, kinship: Kinship) {
    own.inherit = own.inherit.or(parent.inherit);
    own.nolocal |= parent.nolocal;
    own.cpus = own.cpus.or(parent.cpus);
    if own.by.is_none() {
        own.by = match &parent.by {
            // A number of processes for each node or object, or a list of places, would contradict the spawned job's.
            None
            | Some(
                MapBy::PerNode(_) | MapBy::PerObject(..) | MapBy::PerDevice(..) | MapBy::Seq(_) | MapBy::RankFile(_),
            ) => None,
            // Each process of an elastic job has devices as its first ones have; which nodes it gets is the DVM's
            // choice, which an offer has named (spec E55).
            Some(MapBy::Device(_)) if kinship == Kinship::Child => None,
            Some(MapBy::Node) if kinship == Kinship::Member => None,
            Some(by @ (MapBy::Slot | MapBy::Node | MapBy::Object(_) | MapBy::PeList(_) | MapBy::Device(_))) => {
                Some(by.clone())
            }
        };
        own.rank_by = own.rank_by.or(parent.rank_by);
        own.pes = own.pes.or(parent.pes).filter(|_| !matches!(own.by, Some(MapBy::PeList(_))));
        own.span |= parent.span && kinship == Kinship::Child;
    }
    if own.bind_to.is_none() {
        own.bind_to = parent.bind_to;
        own.overload = own.overload.or(parent.overload);
        own.bind_if_supported |= parent.bind_if_supported;
        own.bind_limit = own.bind_limit.or(parent.bind_limit);
    }
}

/// Fills in the DVM's defaults (`mapby`, `rankby`, `bindto`, `hwloc_base_use_hwthreads_as_cpus`) where nothing is
/// said. The DVM refuses bad values at its start.
pub(super) fn from_params(spec: &mut JobSpec, params: &Params) {
    let text = |name| params.text(name).ok().flatten();
    // The submitter has filled in the lines of a file.
    let map = text("mapby").and_then(|text| parse_map_by(text).ok()).filter(|map| map.file.is_none());
    let rank = text("rankby").and_then(|text| parse_rank_by(text).ok());
    let bind = text("bindto").and_then(|text| parse_bind_to(text).ok());
    let hwthreads = params.flag("hwloc_base_use_hwthreads_as_cpus").unwrap_or(false);
    for request in spec.apps.iter_mut().filter_map(|app| app.map.as_mut()).chain([&mut spec.map]) {
        map.iter().for_each(|map| map.fill(request));
        request.rank_by = request.rank_by.or(rank);
        bind.iter().for_each(|bind| bind.fill(request));
        request.cpus = request.cpus.or(hwthreads.then_some(CpuKind::HwThread));
    }
}

#[cfg(test)]
mod tests {
    use ferrite_types::{AppContext, BindTo, DeviceKind, DeviceRequest, DeviceWanted, ObjectKind, RankBy};

    use super::*;

    fn child(map: MapRequest) -> JobSpec {
        JobSpec { map, ..JobSpec::new(vec![AppContext::default()]) }
    }

    fn parent(inherit: Option<bool>) -> MapRequest {
        MapRequest {
            by: Some(MapBy::Object(ObjectKind::Package)),
            pes: Some(2),
            span: true,
            oversubscribe: Some(true),
            bind_to: Some(BindTo::Object(ObjectKind::Numa)),
            bind_limit: Some(2),
            rank_by: Some(RankBy::Span),
            inherit,
            ..MapRequest::default()
        }
    }

    fn params(all: &[(&str, &str)]) -> Params {
        let mut params = Params::default();
        all.iter().for_each(|(name, value)| params.set(name, value));
        params
    }

    fn of(own: MapRequest, parent: &MapRequest, set: &[(&str, &str)]) -> MapRequest {
        let mut spec = child(own);
        from_parent(&mut spec, parent, Kinship::Child, &params(set));
        spec.map
    }

    fn of_member(own: MapRequest, parent: &MapRequest) -> MapRequest {
        let mut spec = child(own);
        from_parent(&mut spec, parent, Kinship::Member, &params(&[]));
        spec.map
    }

    #[test]
    fn placement_is_inherited_where_somebody_says_so() {
        let nothing = MapRequest::default();
        let only_slots = MapRequest { oversubscribe: Some(true), ..nothing.clone() };
        let usual = [("rmaps_default_inherit", "1")];
        assert_eq!(of(nothing.clone(), &parent(None), &[]), only_slots);
        assert_eq!(of(nothing.clone(), &parent(None), &usual), parent(None));
        assert_eq!(of(nothing.clone(), &parent(Some(true)), &[]), parent(Some(true)));
        assert_eq!(of(nothing.clone(), &parent(Some(false)), &usual), nothing);
        let own = MapRequest { inherit: Some(false), ..nothing };
        assert_eq!(of(own.clone(), &parent(Some(true)), &[]), own);
    }

    // spec E72
    #[test]
    fn a_member_of_an_elastic_job_is_placed_as_its_parent() {
        let nothing = MapRequest::default();
        let near = |parent| MapRequest { span: false, ..parent };
        assert_eq!(of_member(nothing.clone(), &parent(None)), near(parent(None)));
        let spread = MapRequest { by: Some(MapBy::Node), ..parent(None) };
        assert_eq!(of_member(nothing.clone(), &spread), MapRequest { by: None, ..near(parent(None)) });
        assert_eq!(of_member(nothing.clone(), &parent(Some(false))), nothing);
        let own = MapRequest { bind_to: Some(BindTo::None), ..nothing.clone() };
        let mixed = MapRequest { bind_to: Some(BindTo::None), overload: None, bind_limit: None, ..near(parent(None)) };
        assert_eq!(of_member(own, &parent(None)), mixed);
        let device = DeviceRequest {
            wanted: DeviceWanted::Kind(DeviceKind::Gpu),
            interleave: None,
            shared: false,
            per_process: 1,
        };
        let with_device = MapRequest { by: Some(MapBy::Device(device)), ..nothing.clone() };
        assert_eq!(of_member(nothing.clone(), &with_device), with_device);
        assert_eq!(of(nothing.clone(), &MapRequest { inherit: Some(true), ..with_device }, &[]).by, None);
        let counted = MapRequest { by: Some(MapBy::PerNode(2)), ..nothing.clone() };
        assert_eq!(of_member(nothing.clone(), &counted), nothing);
    }

    #[test]
    fn what_a_job_says_itself_stays() {
        let own = MapRequest { by: Some(MapBy::Slot), bind_to: Some(BindTo::None), ..MapRequest::default() };
        let has = of(own.clone(), &parent(Some(true)), &[]);
        assert_eq!(has, MapRequest { oversubscribe: Some(true), inherit: Some(true), ..own });
        let counted = MapRequest { by: Some(MapBy::PerNode(2)), ..parent(Some(true)) };
        assert_eq!(of(MapRequest::default(), &counted, &[]).by, None);
    }

    #[test]
    fn an_app_with_its_own_placement_is_oversubscribed_as_the_job_is() {
        let mut spec = child(MapRequest::default());
        spec.apps[0].map = Some(MapRequest { by: Some(MapBy::Node), ..MapRequest::default() });
        from_parent(&mut spec, &parent(Some(true)), Kinship::Child, &params(&[]));
        let own = spec.apps[0].map.clone().unwrap();
        assert_eq!((own.by, own.oversubscribe, own.pes), (Some(MapBy::Node), Some(true), None));
    }

    #[test]
    fn parameters_of_the_dvm_fill_what_is_open() {
        let set = params(&[("mapby", "core:hwtcpus"), ("rankby", "slot"), ("bindto", "none"), ("rmaps_x", "1")]);
        let mut spec = child(MapRequest { by: Some(MapBy::Node), ..MapRequest::default() });
        from_params(&mut spec, &set);
        let wanted = MapRequest {
            by: Some(MapBy::Node),
            cpus: Some(CpuKind::HwThread),
            rank_by: Some(RankBy::Slot),
            bind_to: Some(BindTo::None),
            ..MapRequest::default()
        };
        assert_eq!(spec.map, wanted);
        // Values that the submitter filled in from the same parameters stay as they are.
        from_params(&mut spec, &set);
        assert_eq!(spec.map, wanted);
        let mut spec = child(MapRequest::default());
        from_params(&mut spec, &params(&[("mapby", "rankfile:file=r"), ("hwloc_base_use_hwthreads_as_cpus", "1")]));
        assert_eq!(spec.map, MapRequest { cpus: Some(CpuKind::HwThread), ..MapRequest::default() });
    }
}
