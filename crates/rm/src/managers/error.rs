//! The reasons why the nodes of a manager's job are unknown.

use thiserror::Error;

use super::Manager;
use super::nodelist::MOST_NODES;
use crate::hostfile::LARGEST;
use crate::name::BadName;

/// The reason why the nodes of a manager's job are unknown.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DiscoveryError {
    /// A variable that the manager always sets is missing.
    #[error("this is inside a job of {manager}, but {variable} is not set, so the nodes of the job are not known")]
    Missing {
        /// The manager of the job.
        manager: Manager,
        /// The variable, or several with `or`.
        variable: String,
    },
    /// A text that cannot be understood, or contradicts another.
    #[error("the nodes of this job of {manager} are not known: {place}: {flaw}")]
    Flawed {
        /// The manager of the job.
        manager: Manager,
        /// The variable, or the file with its line.
        place: String,
        /// The error there.
        flaw: Flaw,
    },
    /// The manager tells its nodes to its own commands only.
    #[error("this is inside a job of {manager}, and `flux resource R`, which tells its nodes, was not found or failed")]
    Unsaid {
        /// The manager of the job.
        manager: Manager,
    },
}

/// The error at one place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Flaw {
    /// Not the name of a host.
    #[error(transparent)]
    Name(#[from] BadName),
    /// A text where a number belongs.
    #[error("{text:?} is not {wanted}")]
    NotANumber {
        /// The text there.
        text: String,
        /// The expected text.
        wanted: &'static str,
    },
    /// A list with a bracket too many or too few.
    #[error("the brackets in {0:?} are too many or do not match")]
    Bracket(String),
    /// `4-x`, `9-1`.
    #[error("{0:?} is not a range of numbers, as 01-16")]
    Range(String),
    /// Too many nodes.
    #[error("these are more than {MOST_NODES} nodes")]
    TooManyNodes,
    /// Too many slots on a node.
    #[error("the slots of {0} add up to more than {LARGEST}")]
    TooManySlots(String),
    /// A list that is too long.
    #[error("{0} bytes are too long for it")]
    TooLong(usize),
    /// A control character.
    #[error("the character {0:?} does not belong there")]
    Control(char),
    /// Another number of counts than of nodes.
    #[error("it has counts for {counts} nodes, but {list} names {nodes}")]
    Mismatch {
        /// Counts.
        counts: u64,
        /// The list of nodes.
        list: &'static str,
        /// Nodes.
        nodes: usize,
    },
    /// A host without its slots.
    #[error("{0:?} has no number of slots after it")]
    NoCount(String),
    /// A list without nodes.
    #[error("it names no node")]
    NoNodes,
    /// A text that is not Flux's description of resources.
    #[error("it says nothing of resources that can be read: {0}")]
    NotResources(String),
    /// Different numbers of hosts and ranks.
    #[error("it names {0} hosts, and the ranks are not those from 0 on, each once")]
    Ranks(usize),
    /// The file was not read.
    #[error("the file was not read")]
    NotRead,
}

impl Flaw {
    pub(super) fn number(text: &str, wanted: &'static str) -> Flaw {
        Flaw::NotANumber { text: shown(text), wanted }
    }
}

impl DiscoveryError {
    /// Returns the manager of the job.
    #[must_use]
    pub fn manager(&self) -> Manager {
        match self {
            DiscoveryError::Missing { manager, .. }
            | DiscoveryError::Flawed { manager, .. }
            | DiscoveryError::Unsaid { manager } => *manager,
        }
    }

    /// Returns advice for the user.
    #[must_use]
    pub fn next_step(&self) -> String {
        match self {
            DiscoveryError::Unsaid { .. } => {
                "Give them: `flux hostlist --expand --delimiter='\\n' local > FILE` writes them \
                to a file, and --hostfile FILE takes them from it. Nothing was started."
                    .to_owned()
            }
            _ => format!(
                "Run this in a shell or script that {} started, or name the nodes yourself: --prtemca ras hosts --hostfile \
                 FILE. Nothing was started.",
                self.manager()
            ),
        }
    }
}

/// Returns the beginning of a foreign text, for a message.
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
