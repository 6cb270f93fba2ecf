//! One app of a job while the job is placed.

use std::sync::Arc;

use ferrite_types::{AppContext, JobSpec, MapRequest, PlacementTexts, Topology};

use crate::candidate::Candidate;
use crate::error::MapError;
use crate::place::{lists, policy_of};
use crate::placement_policy::{Mapper, PlacementPolicy};
use crate::shape::Lists;

/// An app while its job is placed.
pub(crate) struct App<'a> {
    pub(crate) context: &'a AppContext,
    pub(crate) request: &'a MapRequest,
    pub(crate) policy: PlacementPolicy,
    /// Indices of its candidates, with the cap on slots; with a rankfile or sequence, the candidate of each line.
    pub(crate) places: Vec<(usize, Option<u32>)>,
    pub(crate) lists: Lists<'a>,
}

impl<'a> App<'a> {
    pub(crate) fn new(
        spec: &'a JobSpec,
        context: &'a AppContext,
        places: Vec<(usize, Option<u32>)>,
        total: u64,
        candidates: &[Candidate<'a>],
    ) -> Result<App<'a>, MapError> {
        let request = context.map.as_ref().unwrap_or(&spec.map);
        let mut machines: Vec<&Arc<Topology>> =
            places.iter().map(|(candidate, _)| &candidates[*candidate].record.topology).collect();
        machines.dedup_by(|a, b| Arc::ptr_eq(a, b));
        let policy = policy_of(request, &spec.map, total, machines.iter().map(|t| &***t))?;
        Ok(App { context, request, policy, places, lists: lists(request) })
    }

    /// Returns the description of its placement for the map.
    pub(crate) fn texts(&self) -> PlacementTexts {
        PlacementTexts {
            shares_devices: self.lists.shares_devices,
            takes: self.context.takes.clone(),
            ..self.policy.texts()
        }
    }

    /// True when a rankfile or sequence places the app.
    pub(crate) fn is_listed(&self) -> bool {
        matches!(self.policy.map, Mapper::Seq | Mapper::RankFile)
    }

    /// True when there are fewer devices than processes; otherwise processors are missing.
    pub(crate) fn devices_are_short(&self, there: u32) -> bool {
        !self.lists.shares_devices && self.context.np.is_some_and(|np| np > there)
    }
}
