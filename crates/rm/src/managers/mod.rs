//! Finds the nodes that a resource manager has granted, with their slots, from the variables of its job and the file
//! that one of them names. The command line reads that file and calls this. Nothing here talks to a manager, and
//! nothing is guessed: a missing or contradictory text is an error.

mod counts;
mod error;
mod flux;
mod gridengine;
mod lsf;
pub(crate) mod nodelist;
mod nodes;
mod pals;
mod pbs;
mod reader;
mod selection;
pub mod slurm;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use ferrite_types::HostEntry;

pub use error::{DiscoveryError, Flaw};
pub use selection::Selection;

use reader::Reader;

/// An environment.
pub type Variables = BTreeMap<String, String>;

/// The supported resource managers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Manager {
    /// The Parallel Application Launch Service of HPE Cray, inside a job of PBS.
    Pals,
    /// Flux.
    Flux,
    /// PBS Pro, `OpenPBS`, Torque.
    Pbs,
    /// Grid Engine and its descendants.
    GridEngine,
    /// LSF.
    Lsf,
    /// Slurm.
    Slurm,
}

/// A file that the caller must read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The variable that names it.
    pub variable: &'static str,
    /// Its path; it may be relative to the current directory.
    pub path: String,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileText {
    /// The file as it was requested.
    pub wanted: Wanted,
    /// Its content.
    pub text: String,
}

/// All texts of a manager.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// The environment.
    pub variables: &'a Variables,
    /// The file of [`Manager::file`], if there is one.
    pub file: Option<&'a FileText>,
    /// Output of the command of [`Manager::command`], if there was one and it succeeded.
    pub output: Option<&'a str>,
    /// `ras_slurm_use_entire_allocation`: all processors of the nodes count, not only those of the tasks.
    pub entire: bool,
}

/// The end of a manager's job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLimit {
    /// At this time, in seconds since 1970.
    EndsAt(u64),
    /// This many seconds after its start, which the manager does not tell.
    Lasts(u64),
}

/// The nodes of a job of a manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagedAllocation {
    /// The manager of the job.
    pub manager: Manager,
    /// The job, in the manager's words.
    pub job: String,
    /// The nodes in the manager's order, each with its slots.
    pub nodes: Vec<HostEntry>,
    /// `None` = the manager does not tell.
    pub time_limit: Option<TimeLimit>,
    /// Its sources: variables, and files by name.
    pub said_by: String,
}

impl Manager {
    /// All managers, in the order in which they are looked for; the first one found counts. PALS and Flux run inside a
    /// job of another manager, and know which part of it is meant. The others are in the order of the field's
    /// priorities.
    pub const ALL: [Manager; 6] =
        [Manager::Pals, Manager::Flux, Manager::Pbs, Manager::GridEngine, Manager::Lsf, Manager::Slurm];

    /// Returns the manager whose job has this environment.
    #[must_use]
    pub fn of(variables: &Variables, selection: &Selection) -> Option<Manager> {
        Manager::ALL.into_iter().find(|manager| selection.admits(*manager) && manager.is_seen(variables))
    }

    /// True for a manager that a DVM can ask for nodes and give nodes back to.
    #[must_use]
    pub fn is_elastic(self) -> bool {
        match self {
            Manager::Slurm => true,
            Manager::Pals | Manager::Flux | Manager::Pbs | Manager::GridEngine | Manager::Lsf => false,
        }
    }

    /// Returns its word in the parameter `ras`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Manager::Pals => "pals",
            Manager::Flux => "flux",
            Manager::Pbs => "pbs",
            Manager::GridEngine => "gridengine",
            Manager::Lsf => "lsf",
            Manager::Slurm => "slurm",
        }
    }

    fn is_seen(self, variables: &Variables) -> bool {
        let set = |name: &&str| variables.get(*name).is_some_and(|value| !value.is_empty());
        match self {
            Manager::Pals => pals::SIGNS.iter().any(set),
            Manager::Flux => flux::SIGNS.iter().any(set),
            Manager::Pbs => set(&"PBS_JOBID"),
            // `JOB_ID` alone is no proof: other programs use the name too.
            Manager::GridEngine => set(&"JOB_ID") && set(&"PE_HOSTFILE"),
            Manager::Lsf => set(&"LSB_JOBID"),
            Manager::Slurm => slurm::JOB.iter().any(set),
        }
    }

    /// Returns the file that must be read before [`Manager::discover`].
    ///
    /// # Errors
    /// A variable whose value is no path.
    pub fn file(self, variables: &Variables) -> Result<Option<Wanted>, DiscoveryError> {
        let reader = Reader { manager: self, said: Said { variables, file: None, output: None, entire: false } };
        match self {
            Manager::Pals | Manager::Pbs => reader.wanted(&[pbs::FILE]),
            Manager::GridEngine => reader.wanted(&[gridengine::FILE]),
            Manager::Lsf => lsf::file(&reader),
            Manager::Flux | Manager::Slurm => Ok(None),
        }
    }

    /// Returns the command whose output must be read before [`Manager::discover`].
    #[must_use]
    pub fn command(self) -> Option<&'static [&'static str]> {
        (self == Manager::Flux).then_some(&flux::COMMAND)
    }

    /// Returns the granted nodes.
    ///
    /// # Errors
    /// A text that is missing, wrong or contradictory, and its place.
    pub fn discover(self, said: Said<'_>) -> Result<ManagedAllocation, DiscoveryError> {
        let reader = Reader { manager: self, said };
        match self {
            Manager::Pals => pals::discover(&reader),
            Manager::Flux => flux::discover(&reader),
            Manager::Pbs => pbs::discover(&reader, &pbs::JOB),
            Manager::GridEngine => gridengine::discover(&reader),
            Manager::Lsf => lsf::discover(&reader),
            Manager::Slurm => slurm::discover(&reader),
        }
    }
}

impl fmt::Display for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Manager::Pals => "PALS",
            Manager::Flux => "Flux",
            Manager::Pbs => "PBS",
            Manager::GridEngine => "Grid Engine",
            Manager::Lsf => "LSF",
            Manager::Slurm => "Slurm",
        })
    }
}
