//! The errors of a command line: the cause, the place, and the next step. Pure text; `frame` prints it.

use thiserror::Error;

/// A command line that cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UsageError {
    /// An option that does not exist.
    #[error("unknown option {option}")]
    UnknownOption {
        /// The option as written.
        option: String,
        /// An option that looks like it.
        suggestion: Option<String>,
        /// True when the command runs programs, which have options as well.
        runs_programs: bool,
    },
    /// An option of another command.
    #[error("{option} is no option of {command}")]
    Foreigner {
        /// The option as written.
        option: String,
        /// The command.
        command: &'static str,
        /// The advice: an option or command that does what is wanted.
        instead: &'static str,
    },
    /// An option of the field that this version does not have.
    #[error("{option} is not available in this version")]
    Unbuilt {
        /// The option as written.
        option: String,
        /// The advice: an option or command that does what is wanted.
        instead: &'static str,
    },
    /// An option without its value: the line ends, or another option follows.
    #[error("{option} needs {} ({form})", if *.values == 1 { "a value" } else { "two values" })]
    MissingValue {
        /// The option as written.
        option: String,
        /// Number of values that it takes.
        values: usize,
        /// Its correct spelling.
        form: String,
    },
    /// An option that is given twice and has one value.
    #[error("{option} is given more than once{place}")]
    Repeated {
        /// Its name.
        option: String,
        /// In which application, when there are several.
        place: Place,
    },
    /// The line names no program to run.
    #[error("no program to run{place}{taken}")]
    MissingExecutable {
        /// In which application, when there are several.
        place: Place,
        /// The value that may have been meant as the program.
        taken: Taken,
    },
    /// A value that cannot be understood.
    #[error("{option}: {why}")]
    BadValue {
        /// The option.
        option: String,
        /// The reason, which names the value.
        why: String,
        /// A correct value.
        next: String,
    },
    /// Two options or values that contradict each other.
    #[error("{what}")]
    Conflict {
        /// The two, and why they contradict each other.
        what: String,
        /// The next step.
        next: String,
    },
    /// A refusal of another crate; its text says what to do as well.
    #[error("{text}")]
    Foreign {
        /// Its text.
        text: String,
        /// Further advice; empty when the text is enough.
        next: &'static str,
    },
    /// An argument that is no text.
    #[error("argument {index} is not valid UTF-8: {shown}")]
    NotText {
        /// The position of the argument, counted from 1.
        index: usize,
        /// The printable part of the argument.
        shown: String,
    },
    /// `--help` with an unknown topic.
    #[error("there is no help topic {topic:?}")]
    UnknownTopic {
        /// The option as written.
        topic: String,
        /// The existing topics.
        topics: String,
    },
}

/// The application of an MPMD line, printed as ` in application 2`; prints nothing when there is only one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place(pub Option<usize>);

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(app) => write!(f, " in application {app} (they are separated by `:`)"),
            None => Ok(()),
        }
    }
}

/// The last option of a line without a program, and its value; prints nothing when there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken(pub Option<(String, String)>);

impl std::fmt::Display for Taken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Some((option, value)) => write!(f, ": {value:?} is the value of {option}"),
            None => Ok(()),
        }
    }
}

impl UsageError {
    /// A value that cannot be understood.
    pub(crate) fn value(option: &str, why: impl Into<String>, next: impl Into<String>) -> UsageError {
        UsageError::BadValue { option: option.to_owned(), why: why.into(), next: next.into() }
    }

    /// Wraps the error of another crate.
    pub(crate) fn foreign(error: &dyn std::error::Error, next: &'static str) -> UsageError {
        UsageError::Foreign { text: error.to_string(), next }
    }

    /// Returns advice for the user; empty when the message contains it.
    #[must_use]
    pub fn next_step(&self) -> String {
        match self {
            UsageError::UnknownOption { suggestion, runs_programs, .. } => {
                let like = suggestion.as_ref().map_or_else(String::new, |like| format!("Did you mean {like}? "));
                let theirs = if *runs_programs { "; those of the program go after its name" } else { "" };
                format!("{like}`prterun --help` lists all options{theirs}.")
            }
            UsageError::Foreigner { instead, .. } => (*instead).to_owned(),
            UsageError::Unbuilt { instead, .. } => (*instead).to_owned(),
            UsageError::MissingValue { .. } => {
                "Give it, or remove the option. A value that begins with -- is written as --option=value.".to_owned()
            }
            UsageError::Repeated { .. } => "Keep one of them.".to_owned(),
            UsageError::MissingExecutable { .. } => {
                "Name the program after the options, for example: prterun -n 4 ./my_program".to_owned()
            }
            UsageError::BadValue { next, .. } | UsageError::Conflict { next, .. } => next.clone(),
            UsageError::Foreign { next, .. } => (*next).to_owned(),
            UsageError::NotText { .. } => "Rename the file, or pass its name by another way.".to_owned(),
            UsageError::UnknownTopic { topics, .. } => format!("Topics: {topics}; or the name of an option."),
        }
    }
}
