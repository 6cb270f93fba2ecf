//! The origin of a parameter's value.

use std::fmt;

/// The origin of a parameter's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A line of a parameter file.
    File {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
    },
    /// A variable of the environment, by its whole name.
    Environment(String),
    /// The command line: `--prtemca NAME`.
    CommandLine(String),
    /// The DVM in which a job is to run: its default for jobs.
    Dvm,
    /// An option that stands for the parameter, or the head, which tells its daemons.
    Runtime,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::File { file, line } => write!(f, "{file}, line {line}"),
            Origin::Environment(variable) => write!(f, "environment variable {variable}"),
            Origin::CommandLine(name) => write!(f, "--prtemca {name}"),
            Origin::Dvm => f.write_str("the DVM's default"),
            Origin::Runtime => f.write_str("the runtime"),
        }
    }
}
