//! The error in a directive: its place, its cause, and a correct form.

use ferrite_types::CpuListError;
use thiserror::Error;

/// A directive that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{option} {text:?}: {problem}")]
pub struct DirectiveError {
    /// `--map-by`.
    pub option: &'static str,
    /// The given text.
    pub text: String,
    /// The error in it.
    pub problem: Problem,
}

/// The error in a directive.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// A word that does not exist.
    #[error("{word:?} is no {kind}; please check for a typo.\nValid {kind}s: {valid}")]
    Unknown {
        /// `directive`, `qualifier`, or what a word's value should be.
        kind: &'static str,
        /// The word.
        word: String,
        /// The list.
        valid: String,
    },
    /// A shortened word that is not unique.
    #[error("{word:?} may mean {matches}; write more of it")]
    Ambiguous {
        /// The word.
        word: String,
        /// `node or numa`.
        matches: String,
    },
    /// `span` where `:span` is meant.
    #[error("{word} is a qualifier; write it behind a colon, as {option} :{form}")]
    QualifierFirst {
        /// Its name.
        word: &'static str,
        /// `--map-by`.
        option: &'static str,
        /// Its form, as a user writes it.
        form: &'static str,
    },
    /// `PE`, or `PE=`.
    #[error("{word} needs a value; write it as {form}")]
    NoValue {
        /// Its name.
        word: &'static str,
        /// Its form, as a user writes it.
        form: &'static str,
    },
    /// `SPAN=false`.
    #[error("{word} takes no value; remove ={value}, and the word itself if it is not meant")]
    NeedlessValue {
        /// Its name.
        word: &'static str,
        /// The text behind `=`.
        value: String,
    },
    /// `PE=0`.
    #[error("{word}={value} is no number from 1 to 65535; write it as {word}=2")]
    Number {
        /// Its name.
        word: &'static str,
        /// The text behind `=`.
        value: String,
    },
    /// `SHARED=perhaps`.
    #[error("{word}={value} is neither true nor false; write {word}, or {word}=0 when it is not meant")]
    Boolean {
        /// Its name.
        word: &'static str,
        /// The text behind `=`.
        value: String,
    },
    /// `pe-list=x`.
    #[error("{0}; write processors as pe-list=0,3,5-6, and qualifiers behind a colon")]
    PeList(CpuListError),
    /// `device=gpu,ndev=2`.
    #[error(
        "no device is called {0:?}, because names of devices have no comma; write qualifiers behind a colon, as device=gpu:NDEV=2"
    )]
    DeviceName(String),
    /// `ppr:x`.
    #[error("ppr needs a number and an object, as ppr:2:node.\nValid objects: {valid}")]
    Ppr {
        /// The list.
        valid: String,
    },
    /// `ppr:2:device=cuda0`.
    #[error(
        "ppr counts the devices of a kind, and {0:?} is none; write it as ppr:2:device=gpu.\nValid kinds: gpu:network:nic:fabric:openfabrics:block"
    )]
    PprDevice(String),
    /// `OVERSUBSCRIBE:NOOVERSUBSCRIBE`.
    #[error("{first} and {second} contradict each other; leave out one of them")]
    Contradiction {
        /// One.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// `PE=2:PE=3`.
    #[error("{word} is given twice, with different values; keep one of them")]
    Twice {
        /// Its name.
        word: &'static str,
    },
    /// A qualifier that its policy cannot have.
    #[error("{word} does not go with {policy}; {next}")]
    Misfit {
        /// Its name.
        word: &'static str,
        /// `pe-list`.
        policy: &'static str,
        /// The next step.
        next: &'static str,
    },
    /// `rankfile` alone.
    #[error("rankfile needs a file, as rankfile:FILE=my_ranks; each of its lines is: rank 0=node1 slot=0-3")]
    NoRankfile,
    /// `core` of one option and `node` of another that means the same.
    #[error(
        "two policies, {first} and {second}; keep one of them (-N and some deprecated options are {option} as well)"
    )]
    TwoPolicies {
        /// One.
        first: String,
        /// The other.
        second: String,
        /// `--map-by`.
        option: &'static str,
    },
}
