//! The list of usable processors (`hwloc_default_cpu_list`): logical numbers such as `0-3,8`, of cores, or of hardware
//! threads if these count as processors. It is applied to a topology once, when the topology becomes known.

use ferrite_types::{CpuSet, ObjectKind, Topology};
use thiserror::Error;

/// A list that does not fit the machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CpuListError {
    /// A text that is no list.
    #[error("{0:?} is no list of processors; write it as 0-3,8")]
    Form(String),
    /// A number that the machine does not have.
    #[error("this machine has no {what} {number}; its {what}s are numbered from 0 to {last}")]
    Missing {
        /// `core` or `hardware thread`.
        what: &'static str,
        /// The number.
        number: u32,
        /// The largest number of the machine.
        last: u32,
    },
    /// None of the listed processors may be used by this program.
    #[error("none of the processors {0} may be used: this program was restricted to others (taskset, or a cgroup)")]
    Nothing(String),
}

/// Makes processors outside of the list unusable. An empty list changes nothing.
///
/// # Errors
/// The first entry that does not fit.
pub fn restrict(topology: &mut Topology, list: &str, threads: bool) -> Result<(), CpuListError> {
    if list.trim().is_empty() {
        return Ok(());
    }
    let cores = !threads && !topology.of_kind(ObjectKind::Core).is_empty();
    let (kind, what) = if cores { (ObjectKind::Core, "core") } else { (ObjectKind::HwThread, "hardware thread") };
    let objects = topology.of_kind(kind);
    let mut wanted = CpuSet::new();
    for entry in list.split(',').map(str::trim) {
        let (first, last) = entry.split_once('-').unwrap_or((entry, entry));
        let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else {
            return Err(CpuListError::Form(entry.to_owned()));
        };
        if last < first {
            return Err(CpuListError::Form(entry.to_owned()));
        }
        let Some(named) = objects.get(first as usize..=last as usize) else {
            let number = last.max(objects.len() as u32);
            return Err(CpuListError::Missing { what, number, last: (objects.len() as u32).saturating_sub(1) });
        };
        named.iter().for_each(|object| wanted.union_with(&object.cpus));
    }
    let allowed = topology.allowed.intersection(&wanted);
    if allowed.is_empty() {
        return Err(CpuListError::Nothing(list.to_owned()));
    }
    topology.allowed = allowed;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(list: &str, threads: bool) -> Result<String, String> {
        let mut machine = Topology::uniform(1, 4, 2);
        machine.allowed = (0..6).collect();
        restrict(&mut machine, list, threads).map(|()| machine.allowed.to_string()).map_err(|e| e.to_string())
    }

    #[test]
    fn a_list_counts_cores_or_threads_and_only_takes_away() {
        assert_eq!(allowed("1-2", false).as_deref(), Ok("2-5"));
        assert_eq!(allowed("0, 2-3", false).as_deref(), Ok("0-1,4-5"));
        assert_eq!(allowed("1-2", true).as_deref(), Ok("1-2"));
        assert_eq!(allowed(" ", false).as_deref(), Ok("0-5"));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let refused = |list| allowed(list, false).unwrap_err();
        assert_eq!(refused("2-4"), "this machine has no core 4; its cores are numbered from 0 to 3");
        assert_eq!(refused("3-2"), "\"3-2\" is no list of processors; write it as 0-3,8");
        assert_eq!(refused("x"), "\"x\" is no list of processors; write it as 0-3,8");
        assert!(refused("3").starts_with("none of the processors 3 may be used"));
        assert!(refused("0-4294967295").starts_with("this machine has no core 4294967295"));
    }
}
