//! Decides whether a tool may pull the output of a job (`PMIx_IOF_pull`): it may where a tool of this server has
//! spawned the job, for then the output comes here. Pure.
//!
//! The decision is made at once: a refusal that comes later makes libpmix 4.2 use freed memory. The library does not
//! say who pulls, and hands the output to those who do.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;

use ferrite_pmix_sys as sys;

use crate::{Info, Proc, Status, Value};

/// Directives that would promise something about output that is not read in time. Nothing is kept: a reader that is
/// late holds its job back.
const NOT_OFFERED: [&CStr; 5] = [
    sys::PMIX_IOF_CACHE_SIZE,
    sys::PMIX_IOF_DROP_OLDEST,
    sys::PMIX_IOF_DROP_NEWEST,
    sys::PMIX_IOF_BUFFERING_SIZE,
    sys::PMIX_IOF_BUFFERING_TIME,
];

/// The connected tools, each with the namespaces of its jobs.
#[derive(Debug, Default)]
pub(crate) struct Pulls(BTreeMap<Proc, BTreeSet<String>>);

impl Pulls {
    pub(crate) fn meet(&mut self, tool: Proc) {
        self.0.insert(tool, BTreeSet::new());
    }

    pub(crate) fn part_with(&mut self, tool: &Proc) {
        self.0.remove(tool);
    }

    /// Notes a job, if its spawner is a tool.
    pub(crate) fn note(&mut self, spawner: &Proc, nspace: &str) {
        if let Some(jobs) = self.0.get_mut(spawner) {
            jobs.insert(nspace.to_owned());
        }
    }

    /// Decides about a pull, or about its end.
    ///
    /// # Errors
    /// The status of the refusal.
    pub(crate) fn decide(&self, from: &[Proc], directives: &[Info]) -> Result<(), Status> {
        let says = |key: &CStr| directives.iter().any(|info| info.is(key) && info.value != Value::Bool(false));
        if says(sys::PMIX_IOF_STOP) {
            return Ok(());
        }
        let comes_here = |proc: &Proc| self.0.values().any(|jobs| jobs.contains(&proc.nspace));
        match from.iter().all(comes_here) && !from.is_empty() && !NOT_OFFERED.iter().any(|key| says(key)) {
            true => Ok(()),
            false => Err(Status::NOT_SUPPORTED),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_output_of_jobs_of_tools_may_be_pulled_and_nothing_is_kept_for_late_readers() {
        let (tool, process) = (Proc::new("t", 0), Proc::new("d@1", 0));
        let mut pulls = Pulls::default();
        pulls.meet(tool.clone());
        pulls.note(&tool, "d@2");
        pulls.note(&process, "d@3");
        let from = |nspace: &str| [Proc::new(nspace, Proc::WILDCARD)];
        assert_eq!(pulls.decide(&from("d@2"), &[]), Ok(()));
        assert_eq!(pulls.decide(&from("d@3"), &[]), Err(Status::NOT_SUPPORTED), "its output goes elsewhere");
        assert_eq!(pulls.decide(&[], &[]), Err(Status::NOT_SUPPORTED));
        let [one] = from("d@2");
        let [other] = from("d@9");
        assert_eq!(pulls.decide(&[one, other], &[]), Err(Status::NOT_SUPPORTED));
        for key in NOT_OFFERED {
            assert_eq!(pulls.decide(&from("d@2"), &[Info::new(key, 7u32)]), Err(Status::NOT_SUPPORTED));
        }
        assert_eq!(pulls.decide(&[], &[Info::new(sys::PMIX_IOF_STOP, true)]), Ok(()), "an end is always possible");
        pulls.part_with(&tool);
        assert_eq!(pulls.decide(&from("d@2"), &[]), Err(Status::NOT_SUPPORTED));
    }
}
