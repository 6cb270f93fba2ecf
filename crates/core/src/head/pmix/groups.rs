//! PMIx groups: names with members and numbers. A group is made and ended by a collective of its members, which the
//! head decides; it goes with the last job of its members.

use std::collections::{BTreeMap, BTreeSet};

use bytes::{Bytes, BytesMut};
use ferrite_types::{DaemonRank, JobId, PmixStatus, ProcId, Rank};
use ferrite_wire::{EventInfo, EventRange, EventSource, GroupBuilt, GroupPart, Members, PmixEvent};

use crate::cx::Cx;
use crate::head::Head;
use crate::pmix_status::{PMIX_ERR_BAD_PARAM, PMIX_ERR_EXISTS, PMIX_ERR_OUT_OF_RESOURCE, PMIX_GROUP_MEMBER_FAILED};

/// Number of groups that there may be at once.
const LIMIT: usize = 4_096;
/// Longest name (bytes): that of a PMIx key.
const LONGEST: usize = 511;

/// All groups of the DVM.
#[derive(Debug, Default)]
pub(super) struct Groups {
    known: BTreeMap<String, Group>,
    /// The number of the latest group.
    context: u64,
}

#[derive(Debug)]
struct Group {
    members: Members,
    /// Members that have ended.
    gone: BTreeSet<ProcId>,
    /// Jobs of its members that are over.
    over: BTreeSet<JobId>,
    /// True when the others are told of the end of a member.
    notify: bool,
}

impl Groups {
    /// Makes a group of these contributions; its result for the members (spec L63).
    pub(super) fn build(&mut self, name: &str, members: &Members, parts: Vec<Bytes>) -> Result<Bytes, PmixStatus> {
        let parts: Option<Vec<GroupPart>> = parts.iter().map(|part| GroupPart::decode(part)).collect();
        self.make(name, members, Vec::new(), parts.ok_or(PMIX_ERR_BAD_PARAM)?)
    }

    /// Makes a group. `told` are the members for the answer, if they have not known each other.
    pub(super) fn make(
        &mut self,
        name: &str,
        members: &Members,
        told: Vec<ProcId>,
        parts: Vec<GroupPart>,
    ) -> Result<Bytes, PmixStatus> {
        self.may_make(name)?;
        self.context += 1;
        let notify = parts.iter().any(|part| part.notify);
        let group = Group { members: members.clone(), gone: BTreeSet::new(), over: BTreeSet::new(), notify };
        self.known.insert(name.to_owned(), group);
        let mut data = BytesMut::new();
        parts.iter().for_each(|part| data.extend_from_slice(&part.data));
        let infos = parts.into_iter().map(|part| part.infos).filter(|infos| !infos.is_empty()).collect();
        Ok(GroupBuilt { context: self.context, members: told, data: data.freeze(), infos }.encode())
    }

    /// Checks that a group of this name may be made now.
    ///
    /// # Errors
    /// The name is wrong or taken, or there are too many groups.
    pub(super) fn may_make(&self, name: &str) -> Result<(), PmixStatus> {
        match () {
            () if name.is_empty() || name.len() > LONGEST => Err(PMIX_ERR_BAD_PARAM),
            () if self.known.contains_key(name) => Err(PMIX_ERR_EXISTS),
            () if self.known.len() >= LIMIT => Err(PMIX_ERR_OUT_OF_RESOURCE),
            () => Ok(()),
        }
    }

    /// Takes a process out of a group that it leaves; `size` is that of its job.
    fn part(&mut self, name: &str, proc: ProcId, size: usize) {
        let Some(group) = self.known.get_mut(name).filter(|group| includes(&group.members, proc)) else { return };
        let rest = group.members.jobs().map(|(job, ranks)| {
            let all = || (0..size as u32).map(Rank).collect();
            let ranks = if job == proc.job && ranks.is_empty() { all() } else { ranks.to_vec() };
            (job, ranks.into_iter().filter(|rank| ProcId { job, rank: *rank } != proc).collect::<Vec<_>>())
        });
        // No ranks would mean the whole job: a job without members goes.
        let whole =
            |job: JobId| job != proc.job && group.members.jobs().any(|(of, ranks)| of == job && ranks.is_empty());
        match Members::of_jobs(rest.filter(|(job, ranks)| !ranks.is_empty() || whole(*job)).collect()) {
            Some(members) => group.members = members,
            None => drop(self.known.remove(name)),
        }
    }

    /// Ends a group whose members have all said so, or can no longer.
    pub(super) fn end(&mut self, name: &str, members: &Members) {
        if self.known.get(name).is_some_and(|group| group.members == *members) {
            self.known.remove(name);
        }
    }

    /// Notes the end of a process. Returns the groups whose members want to hear of it.
    fn leave(&mut self, proc: ProcId) -> Vec<(String, EventRange)> {
        let mut told = Vec::new();
        for (name, group) in &mut self.known {
            if includes(&group.members, proc) && group.gone.insert(proc) && group.notify {
                let procs = group.members.jobs().map(|(job, ranks)| (job, ranks.to_vec())).collect();
                told.push((name.clone(), EventRange::Named { procs, tools: Vec::new() }));
            }
        }
        told
    }

    /// Forgets a job that is over, and the groups that had members only there.
    pub(super) fn forget(&mut self, job: JobId) {
        self.known.retain(|_, group| {
            group.over.extend(group.members.include(job).then_some(job));
            group.members.jobs().any(|(of, _)| !group.over.contains(&of))
        });
    }

    /// All groups with their members; no ranks = the whole job.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &Members)> {
        self.known.iter().map(|(name, group)| (name.as_str(), &group.members))
    }
}

fn includes(members: &Members, proc: ProcId) -> bool {
    members.jobs().any(|(job, ranks)| job == proc.job && (ranks.is_empty() || ranks.contains(&proc.rank)))
}

impl Head {
    /// Takes a process out of a group that it leaves (`PMIx_Group_leave`). Its library has told the other members (spec
    /// L161).
    pub(in crate::head) fn on_group_left(&mut self, daemon: DaemonRank, proc: ProcId, name: &str) {
        if let Some(job) = self.jobs.get(proc.job)
            && job.map().daemon_of(proc.rank) == Some(daemon)
        {
            self.pmix.groups.part(name, proc, job.map().procs.len());
        }
    }

    /// Takes an ended process out of its groups. The other members hear of it if they want to (spec L64).
    pub(in crate::head) fn leave_groups(&mut self, proc: ProcId, cx: &mut Cx) {
        self.lose_entrant(proc, cx);
        for (group, range) in self.pmix.groups.leave(proc) {
            let info = EventInfo::Member { group, proc };
            self.raise(PmixEvent { code: PMIX_GROUP_MEMBER_FAILED, source: EventSource::Dvm, info }, range, cx);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(notify: bool, data: &'static [u8]) -> Bytes {
        GroupPart { notify, data: Bytes::from_static(data), infos: Bytes::from_static(data) }.encode()
    }
    fn of(job: u32, ranks: &[u32]) -> Members {
        Members::of(JobId(job), ranks.iter().copied().map(Rank).collect())
    }
    fn names(groups: &Groups) -> Vec<&str> {
        groups.all().map(|(name, _)| name).collect()
    }

    fn built(groups: &mut Groups, name: &str, members: &Members) -> Result<u64, PmixStatus> {
        let built = groups.build(name, members, vec![part(false, b"")])?;
        Ok(GroupBuilt::decode(&built).expect("a group").context)
    }

    /// spec L63
    #[test]
    fn every_group_has_a_number_of_its_own_and_a_name_that_is_free() {
        let mut groups = Groups::default();
        let (some, others) = (of(1, &[0, 1]), of(1, &[2, 3]));
        assert_eq!(built(&mut groups, "a", &some), Ok(1));
        assert_eq!(built(&mut groups, "a", &others), Err(PMIX_ERR_EXISTS));
        assert_eq!(built(&mut groups, "b", &others), Ok(2));
        assert_eq!(names(&groups), ["a", "b"]);
        groups.end("a", &others);
        assert_eq!(groups.all().next(), Some(("a", &some)), "its own members end it");
        groups.end("a", &some);
        assert_eq!(built(&mut groups, "a", &others), Ok(3));
        assert_eq!(built(&mut groups, "", &some), Err(PMIX_ERR_BAD_PARAM));
        assert_eq!(groups.build("c", &some, vec![Bytes::new()]), Err(PMIX_ERR_BAD_PARAM));
    }

    #[test]
    fn the_data_of_all_parts_come_together_and_one_that_wants_to_be_told_suffices() {
        let mut groups = Groups::default();
        let members = of(1, &[]);
        let all = groups.build("a", &members, vec![part(false, b"x"), part(true, b"yz")]).unwrap();
        let all = GroupBuilt::decode(&all).unwrap();
        assert_eq!((&all.data[..], &all.infos[..]), (&b"xyz"[..], &["x", "yz"].map(Bytes::from)[..]));
        let proc = ProcId { job: JobId(1), rank: Rank(3) };
        assert_eq!(groups.leave(proc).len(), 1);
        assert_eq!(groups.leave(proc).len(), 0, "once");
        assert_eq!(groups.leave(ProcId { job: JobId(2), rank: Rank(3) }).len(), 0);
    }

    /// spec L63
    #[test]
    fn the_table_is_bounded_and_a_group_goes_with_the_last_of_its_jobs() {
        let mut groups = Groups::default();
        let both = Members::of_jobs(vec![(JobId(1), Vec::new()), (JobId(2), Vec::new())]).unwrap();
        built(&mut groups, "both", &both).unwrap();
        for number in 1..LIMIT {
            built(&mut groups, &format!("g{number}"), &of(1, &[])).unwrap();
        }
        assert_eq!(built(&mut groups, "more", &both), Err(PMIX_ERR_OUT_OF_RESOURCE));
        groups.forget(JobId(1));
        assert_eq!(names(&groups), ["both"]);
        groups.forget(JobId(2));
        assert_eq!(names(&groups), [""; 0]);
    }
}
