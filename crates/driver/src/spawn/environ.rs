//! The environment of a new process: the inherited one, and the changes in their order. Only [`super::Spawner`] uses
//! it.

use std::borrow::Cow;
use std::env;
use std::ffi::CStr;
use std::os::unix::ffi::OsStringExt;

use ferrite_rm::launcher::srun;
use ferrite_types::EnvOp;

/// An environment as `NAME=value` entries with a terminating NUL, as the system call needs them.
#[derive(Debug, Default)]
pub(super) struct Environ<'a> {
    entries: Vec<Cow<'a, [u8]>>,
}

/// Variables by which an outer launcher identifies *its* processes. A process that inherited them would join the outer
/// job.
const OUTER_IDENTITY: &[&str] = &[
    "MPI_LOCALNRANKS",
    "MPI_LOCALRANKID",
    "OMPI_APP_CTX_NUM_PROCS",
    "OMPI_COMM_WORLD_",
    "OMPI_FIRST_RANKS",
    "OMPI_MCA_ess_base_",
    "OMPI_MCA_orte_ess_",
    "OMPI_MCA_orte_hnp_uri",
    "OMPI_MCA_orte_local_daemon_uri",
    "OMPI_NUM_APP_CTX",
    "OMPI_UNIVERSE_SIZE",
    "PMIX_",
    "PMI_",
    "PRTE_",
    // A batch script has these outside of a step.
    "SLURM_GTIDS",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_PROCID",
    "SLURM_TASK_PID",
];

/// This variable marks a surrounding step: this daemon is a task of it, or the user has started Ferrite in one.
const OUTER_STEP: &str = "SLURM_STEP_ID";

/// Prefixes of the user's parameters, which stay.
const PARAMETERS: &[&str] = &["PMIX_MCA_", "PRTE_MCA_"];

/// Parameters that the outer launcher sets itself.
const OUTER_PARAMETERS: &[&str] = &["PRTE_MCA_personality=", "PRTE_MCA_schizo_proxy="];

fn is_inherited(entry: &[u8]) -> bool {
    let starts = |list: &[&str]| list.iter().any(|p| entry.starts_with(p.as_bytes()));
    !starts(OUTER_IDENTITY) || (starts(PARAMETERS) && !starts(OUTER_PARAMETERS))
}

fn entry(name: &[u8], value: &[u8]) -> Vec<u8> {
    [name, b"=", value, b"\0"].concat()
}

impl<'a> Environ<'a> {
    /// Returns this process's environment without the variables of an outer launcher.
    pub(super) fn inherited() -> Environ<'static> {
        let entry =
            |(name, value): (std::ffi::OsString, std::ffi::OsString)| entry(&name.into_vec(), &value.into_vec());
        let in_step = env::var_os(OUTER_STEP).is_some();
        let is_of_step = |name: &std::ffi::OsStr| in_step && name.to_str().is_some_and(srun::is_of_step);
        let entries = env::vars_os().filter(|(name, _)| !is_of_step(name)).map(entry).filter(|e| is_inherited(e));
        Environ { entries: entries.map(Cow::Owned).collect() }
    }

    /// Returns an environment that begins as this one. It shares the entries that are not changed.
    pub(super) fn derived(&self) -> Environ<'_> {
        Environ { entries: self.entries.iter().map(|entry| Cow::Borrowed(&**entry)).collect() }
    }

    /// Returns the value of a variable.
    pub(super) fn value(&self, name: &str) -> Option<&[u8]> {
        self.position(name).map(|at| self.value_at(at, name))
    }

    pub(super) fn set(&mut self, name: &str, value: &str) {
        let entry = Cow::Owned(entry(name.as_bytes(), value.as_bytes()));
        match self.position(name) {
            Some(at) => self.entries[at] = entry,
            None => self.entries.push(entry),
        }
    }

    pub(super) fn apply(&mut self, op: &EnvOp) {
        match op {
            EnvOp::Set(name, value) => self.set(name, value),
            EnvOp::Unset(name) => self.unset(name),
            EnvOp::Append(name, separator, value) => {
                self.join(name, |old| [old, separator.to_string().as_bytes(), value.as_bytes()].concat(), value)
            }
            EnvOp::Prepend(name, separator, value) => {
                self.join(name, |old| [value.as_bytes(), separator.to_string().as_bytes(), old].concat(), value)
            }
        }
    }

    /// Returns the entries, each with its terminating NUL.
    ///
    /// # Errors
    /// An entry, without the last NUL, that has another one.
    pub(super) fn into_entries(self) -> Result<Vec<Cow<'a, [u8]>>, Vec<u8>> {
        let broken = self.entries.iter().find(|entry| CStr::from_bytes_with_nul(entry).is_err());
        match broken {
            Some(entry) => Err(entry[..entry.len() - 1].to_vec()),
            None => Ok(self.entries),
        }
    }

    fn value_at(&self, at: usize, name: &str) -> &[u8] {
        let entry = &self.entries[at];
        &entry[name.len() + 1..entry.len() - 1]
    }

    fn unset(&mut self, name: &str) {
        match name.strip_suffix('*') {
            Some(prefix) => self.entries.retain(|e| !e.starts_with(prefix.as_bytes())),
            None => {
                if let Some(at) = self.position(name) {
                    self.entries.remove(at);
                }
            }
        }
    }

    /// Joins with an existing value; without one it sets the new value, without a stray separator.
    fn join(&mut self, name: &str, joined: impl FnOnce(&[u8]) -> Vec<u8>, alone: &str) {
        match self.position(name) {
            Some(at) => {
                let value = joined(self.value_at(at, name));
                self.entries[at] = Cow::Owned(entry(name.as_bytes(), &value));
            }
            None => self.set(name, alone),
        }
    }

    fn position(&self, name: &str) -> Option<usize> {
        let name = name.as_bytes();
        self.entries.iter().position(|e| e.get(name.len()) == Some(&b'=') && e.starts_with(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environ(entries: &[&str]) -> Environ<'static> {
        Environ { entries: entries.iter().map(|e| Cow::Owned(format!("{e}\0").into_bytes())).collect() }
    }
    fn text(environ: Environ<'_>) -> Vec<String> {
        let text = |e: &[u8]| std::str::from_utf8(e.strip_suffix(b"\0").unwrap()).unwrap().to_owned();
        environ.into_entries().unwrap().iter().map(|e| text(e)).collect()
    }

    #[test]
    fn identities_of_an_outer_launch_are_dropped_and_parameters_kept() {
        let kept = |e: &str| is_inherited(e.as_bytes());
        assert!(!kept("PMIX_NAMESPACE=a"));
        assert!(!kept("PMIX_SERVER_URI41=a"));
        assert!(!kept("PMI_FD=3"));
        assert!(!kept("PRTE_LAUNCHED=1"));
        assert!(!kept("PRTE_MCA_personality=ompi"));
        assert!(!kept("OMPI_COMM_WORLD_RANK=0"));
        assert!(kept("PMIX_MCA_gds=shmem2"));
        assert!(kept("HWLOC_COMPONENTS=-opencl"));
        assert!(kept("PRTE_MCA_rmaps_default_mapping_policy=core"));
        assert!(kept("OMPI_MCA_btl=self"));
        assert!(kept("PATH=/bin"));
    }

    #[test]
    fn changes_are_applied_in_the_order_given() {
        let mut env = environ(&["A=1", "AB=2", "P=/bin"]);
        let s = str::to_owned;
        for op in [
            EnvOp::Set(s("A"), s("x")),
            EnvOp::Append(s("A"), ':', s("y")),
            EnvOp::Prepend(s("P"), ':', s("/opt")),
            EnvOp::Append(s("NEW"), ':', s("n")),
            EnvOp::Set(s("GONE"), s("1")),
            EnvOp::Unset(s("GONE")),
        ] {
            env.apply(&op);
        }
        assert_eq!(text(env), ["A=x:y", "AB=2", "P=/opt:/bin", "NEW=n"]);
    }

    #[test]
    fn what_begins_as_another_leaves_that_as_it_is() {
        let first = environ(&["A=1", "B=2"]);
        let mut second = first.derived();
        second.set("A", "3");
        second.apply(&EnvOp::Append("B".to_owned(), ':', "4".to_owned()));
        assert_eq!((second.value("A"), second.value("B")), (Some(&b"3"[..]), Some(&b"2:4"[..])));
        assert_eq!((text(second), text(first)), (vec!["A=3".into(), "B=2:4".into()], vec!["A=1".into(), "B=2".into()]));
    }

    #[test]
    fn a_nul_in_an_entry_is_found() {
        let mut env = environ(&["A=1"]);
        env.set("B", "x\0y");
        assert_eq!(env.into_entries().unwrap_err(), b"B=x\0y");
    }

    #[test]
    fn a_star_unsets_every_name_with_the_prefix() {
        let mut env = environ(&["AA=1", "AB=2", "B=3"]);
        env.apply(&EnvOp::Unset("A*".to_owned()));
        assert_eq!(text(env), ["B=3"]);
    }
}
