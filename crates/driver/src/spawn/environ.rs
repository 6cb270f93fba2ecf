//! The environment of a new process: the inherited one, and the changes in their order. Only [`super::Spawner`] uses
//! it.

use std::env;
use std::os::unix::ffi::OsStringExt;

use ferrite_rm::launcher::srun;
use ferrite_types::EnvOp;

/// An environment as `NAME=value` entries, as the system call needs them.
#[derive(Clone, Debug, Default)]
pub(super) struct Environ {
    entries: Vec<Vec<u8>>,
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

impl Environ {
    /// Returns this process's environment without the variables of an outer launcher.
    pub(super) fn inherited() -> Environ {
        let entry = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            let mut entry = name.into_vec();
            entry.push(b'=');
            entry.extend_from_slice(&value.into_vec());
            entry
        };
        let in_step = env::var_os(OUTER_STEP).is_some();
        let is_of_step = |name: &std::ffi::OsStr| in_step && name.to_str().is_some_and(srun::is_of_step);
        let entries = env::vars_os().filter(|(name, _)| !is_of_step(name)).map(entry).filter(|e| is_inherited(e));
        Environ { entries: entries.collect() }
    }

    /// Returns the value of a variable.
    pub(super) fn value(&self, name: &str) -> Option<&[u8]> {
        self.position(name).map(|at| &self.entries[at][name.len() + 1..])
    }

    pub(super) fn set(&mut self, name: &str, value: &str) {
        let entry = format!("{name}={value}").into_bytes();
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

    /// Returns the entries, each without its terminating NUL.
    pub(super) fn into_entries(self) -> Vec<Vec<u8>> {
        self.entries
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
                let value = joined(&self.entries[at][name.len() + 1..]);
                self.entries[at].truncate(name.len() + 1);
                self.entries[at].extend_from_slice(&value);
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

    fn environ(entries: &[&str]) -> Environ {
        Environ { entries: entries.iter().map(|e| e.as_bytes().to_vec()).collect() }
    }
    fn text(environ: Environ) -> Vec<String> {
        let text = |e: Vec<u8>| String::from_utf8(e).unwrap();
        environ.into_entries().into_iter().map(text).collect()
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
    fn a_star_unsets_every_name_with_the_prefix() {
        let mut env = environ(&["AA=1", "AB=2", "B=3"]);
        env.apply(&EnvOp::Unset("A*".to_owned()));
        assert_eq!(text(env), ["B=3"]);
    }
}
