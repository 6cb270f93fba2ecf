//! The needs of new members of an elastic job, which its oldest world will spawn.

use ferrite_rm::params::Params;
use ferrite_types::resources::{Amounts, amounts_in_words};
use ferrite_types::{AppContext, CpuKind, JobId, JobSpec, MapBy};

use super::placement_defaults::{self, Kinship};
use super::record::Job;
use super::registry::Jobs;

impl Jobs {
    /// The oldest world of a tree that is not over.
    fn oldest_world(&self, root: JobId) -> Option<&Job> {
        self.get(*self.worlds_of(root).first()?)
    }

    /// The resources that each process of a tree takes besides its slot: those of its oldest world.
    pub(in crate::head) fn takes_of_tree(&self, root: JobId) -> Amounts {
        let first = self.oldest_world(root).and_then(|world| world.spec.apps.first());
        first.map(|app| app.takes.clone()).unwrap_or_default()
    }

    /// The specification by which a try places new members: as the oldest world will spawn them, and never more than
    /// there are slots (spec E72, E74). `None` = the tree is over.
    pub(in crate::head) fn spec_of_new_members(&self, root: JobId, count: u32, params: &Params) -> Option<JobSpec> {
        let world = self.oldest_world(root)?;
        let first = world.spec.apps.first()?;
        let (argv, takes) = (first.argv.clone(), first.takes.clone());
        let app = AppContext { argv, takes, np: Some(count), ..AppContext::default() };
        let mut spec = JobSpec::new(vec![app]);
        placement_defaults::from_parent(&mut spec, world.spec.map_of(first), Kinship::Member, params);
        placement_defaults::from_params(&mut spec, params);
        spec.map.oversubscribe = Some(false);
        Some(spec)
    }

    /// Says in words what each new member takes besides a slot.
    pub(in crate::head) fn wants_of_new_members(&self, root: JobId, params: &Params) -> String {
        let Some(spec) = self.spec_of_new_members(root, 1, params) else { return String::new() };
        let takes = Some(amounts_in_words(&spec.apps[0].takes)).filter(|words| !words.is_empty());
        let kind = if spec.map.cpus == Some(CpuKind::HwThread) { "hardware threads" } else { "cores" };
        let pes = spec.map.pes.map(|pes| format!("{pes} {kind}"));
        let devices = matches!(spec.map.by, Some(MapBy::Device(_))).then(|| "its devices".to_owned());
        [takes, pes, devices].into_iter().flatten().collect::<Vec<_>>().join(" and ")
    }
}
