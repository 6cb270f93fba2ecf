//! Process sets: names for processes, unique in the DVM. A job brings sets along (`--pset`, `PMIX_PSET_NAME`), and
//! processes and tools define more while it runs. A set ends with the first of its jobs that is over (spec L43, L44).

use std::collections::BTreeMap;

use ferrite_types::{JobId, JobSpec, PmixStatus, RankSet};
use ferrite_wire::{DaemonMessage, Dest, LaunchOrder, ProcessSet, bad_set_name};

use crate::cx::Cx;
use crate::head::Head;
use crate::pmix_status::{PMIX_ERR_BAD_PARAM, PMIX_ERR_EXISTS, PMIX_ERR_NOT_FOUND, PMIX_ERR_OUT_OF_RESOURCE};

/// The most process sets of a DVM.
const MOST_SETS: usize = 4096;
/// The most members of all sets that are defined while jobs run.
const MOST_MEMBERS: usize = 1 << 20;

/// The process sets by name.
#[derive(Debug, Default)]
pub(super) struct Sets(BTreeMap<String, Known>);

/// The head's record of a process set.
#[derive(Debug)]
enum Known {
    /// A job that is not launched yet brings it along.
    Reserved(JobId),
    /// It exists, and these daemons have been told.
    Defined { set: ProcessSet, comes_with_job: bool, known_at: RankSet },
}

impl Known {
    fn concerns(&self, job: JobId) -> bool {
        match self {
            Known::Reserved(of) => *of == job,
            Known::Defined { set, .. } => set.includes(job),
        }
    }
}

/// The refusal of a set: the status for a process, and the cause for people.
pub(in crate::head) struct SetRefusal {
    pub(in crate::head) status: PmixStatus,
    pub(in crate::head) cause: String,
}

impl SetRefusal {
    fn new(status: PmixStatus, cause: String) -> SetRefusal {
        SetRefusal { status, cause }
    }
}

impl Sets {
    /// Returns the reason why no set can get this name (spec L43).
    fn check(&self, name: &str) -> Result<(), SetRefusal> {
        if let Some(why) = bad_set_name(name) {
            return Err(SetRefusal::new(PMIX_ERR_BAD_PARAM, format!("The process set {name:?} is refused: {why}.")));
        }
        if let Some(known) = self.0.get(name) {
            let whose = match known {
                Known::Reserved(job) => format!("job {job}, which waits, brings it along"),
                Known::Defined { set, .. } => {
                    let jobs: Vec<String> = set.members.iter().map(|(job, _)| job.to_string()).collect();
                    format!("it is of job {}", jobs.join(", "))
                }
            };
            let next = "Give the set another name, or wait for the end of that job.";
            let cause = format!("There is a process set {name:?} already: {whose}.\n{next}");
            return Err(SetRefusal::new(PMIX_ERR_EXISTS, cause));
        }
        if self.0.len() >= MOST_SETS {
            let cause = format!("The DVM has {MOST_SETS} process sets already, which is the most.");
            return Err(SetRefusal::new(PMIX_ERR_OUT_OF_RESOURCE, cause));
        }
        Ok(())
    }

    fn defined(&self) -> impl Iterator<Item = &ProcessSet> {
        self.0.values().filter_map(|known| match known {
            Known::Reserved(_) => None,
            Known::Defined { set, .. } => Some(set),
        })
    }

    /// The number of members of sets that were defined while jobs ran.
    fn members_defined(&self) -> usize {
        let of = |known: &Known| match known {
            Known::Defined { set, comes_with_job: false, .. } => set.size(),
            Known::Reserved(_) | Known::Defined { .. } => 0,
        };
        self.0.values().map(of).sum()
    }
}

impl Head {
    /// Checks the names of the sets that a job would bring along.
    pub(in crate::head) fn check_sets(&self, spec: &JobSpec) -> Result<(), SetRefusal> {
        let names: Vec<&String> = spec.apps.iter().filter_map(|app| app.set.as_ref()).collect();
        for (at, name) in names.iter().enumerate() {
            self.pmix.sets.check(name)?;
            if names[..at].contains(name) {
                let cause = format!("Two programs of the job have the process set {name:?}: give each its own name.");
                return Err(SetRefusal::new(PMIX_ERR_EXISTS, cause));
            }
        }
        if self.pmix.sets.0.len() + names.len() > MOST_SETS {
            let cause = format!("The DVM would have more than {MOST_SETS} process sets, which is the most.");
            return Err(SetRefusal::new(PMIX_ERR_OUT_OF_RESOURCE, cause));
        }
        Ok(())
    }

    /// Keeps the names for a job that was checked and is added now.
    pub(in crate::head) fn reserve_sets(&mut self, job: JobId, spec: &JobSpec) {
        let names = spec.apps.iter().filter_map(|app| app.set.clone());
        self.pmix.sets.0.extend(names.map(|name| (name, Known::Reserved(job))));
    }

    /// Notes the sets of a job whose launch order goes to these daemons: each of them derives the sets from the order.
    pub(in crate::head) fn launch_sets(&mut self, order: &LaunchOrder, to: &RankSet) {
        for set in order.sets() {
            let known = Known::Defined { set: set.clone(), comes_with_job: true, known_at: to.clone() };
            self.pmix.sets.0.insert(set.name, known);
        }
    }

    /// Tells daemons that learn of a running job the sets with its processes that its launch order does not bring (spec
    /// L44).
    pub(in crate::head) fn introduce_sets(&mut self, job: JobId, to: &RankSet, cx: &mut Cx) {
        for known in self.pmix.sets.0.values_mut() {
            let Known::Defined { set, comes_with_job, known_at } = known else { continue };
            if !set.includes(job) {
                continue;
            }
            let strangers: RankSet = to.iter().filter(|rank| !known_at.contains(*rank)).collect();
            known_at.insert_all(&strangers);
            if !*comes_with_job && !strangers.is_empty() {
                cx.multicast(Dest::Many(strangers), DaemonMessage::DefineSet(Box::new(set.clone())));
            }
        }
    }

    /// Defines a set while its jobs run (spec L43). A member with no ranks stands for its whole job.
    pub(super) fn define_set(&mut self, set: ProcessSet, cx: &mut Cx) -> Result<(), SetRefusal> {
        self.pmix.sets.check(&set.name)?;
        self.define_checked(set, cx)
    }

    /// Defines a set whose name is free.
    pub(in crate::head) fn define_checked(&mut self, mut set: ProcessSet, cx: &mut Cx) -> Result<(), SetRefusal> {
        if set.members.is_empty() {
            let cause = format!("The process set {:?} would have no members.", set.name);
            return Err(SetRefusal::new(PMIX_ERR_BAD_PARAM, cause));
        }
        let mut known_at = RankSet::default();
        for (id, ranks) in &mut set.members {
            let Some(job) = self.jobs.get(*id).filter(|job| job.is_launched()) else {
                return Err(SetRefusal::new(PMIX_ERR_NOT_FOUND, format!("Job {id} has no processes.")));
            };
            let size = job.map().procs.len();
            if ranks.is_empty() {
                ranks.extend(job.map().ranks().map(|(rank, _)| rank));
            }
            ranks.sort_unstable();
            ranks.dedup();
            if ranks.last().is_some_and(|last| last.0 as usize >= size) {
                return Err(SetRefusal::new(PMIX_ERR_NOT_FOUND, format!("Job {id} has {size} processes only.")));
            }
            known_at.insert_all(&job.known_at());
        }
        if self.pmix.sets.members_defined() + set.size() > MOST_MEMBERS {
            let cause = format!("The process sets of the DVM would have more than {MOST_MEMBERS} members.");
            return Err(SetRefusal::new(PMIX_ERR_OUT_OF_RESOURCE, cause));
        }
        let known_at: RankSet = known_at.iter().filter(|rank| self.pool.node_of(*rank).is_some()).collect();
        cx.multicast(Dest::Many(known_at.clone()), DaemonMessage::DefineSet(Box::new(set.clone())));
        self.pmix.sets.0.insert(set.name.clone(), Known::Defined { set, comes_with_job: false, known_at });
        Ok(())
    }

    /// Ends the sets of a job that is over. This comes before the daemons forget the job (spec L44).
    pub(in crate::head) fn end_sets(&mut self, job: JobId, cx: &mut Cx) {
        let over = self.pmix.sets.0.extract_if(.., |_, known| known.concerns(job));
        for (name, known) in over.collect::<Vec<_>>() {
            self.tell_of_end_of(name, known, cx);
        }
    }

    /// Ends a set, if there is one of this name.
    pub(in crate::head) fn delete_set(&mut self, name: &str, cx: &mut Cx) {
        if let Some((name, known)) = self.pmix.sets.0.remove_entry(name) {
            self.tell_of_end_of(name, known, cx);
        }
    }

    fn tell_of_end_of(&self, name: String, known: Known, cx: &mut Cx) {
        let Known::Defined { known_at, .. } = known else { return };
        let reachable = self.pool.reachable(&known_at);
        if !reachable.is_empty() {
            cx.multicast(Dest::Many(reachable), DaemonMessage::DeleteSet(name));
        }
    }

    /// True when there is a set of this name.
    pub(in crate::head) fn has_set(&self, name: &str) -> bool {
        self.pmix.sets.0.contains_key(name)
    }

    /// The sets that exist.
    pub(super) fn process_sets(&self) -> Vec<ProcessSet> {
        self.pmix.sets.defined().cloned().collect()
    }

    /// The sets with processes of a job, each with its number of members.
    pub(in crate::head) fn sets_of(&self, job: JobId) -> Vec<(String, u32)> {
        let with = self.pmix.sets.defined().filter(|set| set.includes(job));
        with.map(|set| (set.name.clone(), set.size() as u32)).collect()
    }
}
