//! Selects a DVM: the connection options of `prun` and `pterm`, and the words of `--dvm`. Pure parsing; `find` decides
//! whether there is such a DVM.

use std::path::PathBuf;
use std::time::Duration;

use ferrite_wire::dvm_contact::parse_uri;
use thiserror::Error;

/// The DVM that the user selects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selector {
    /// The DVM of this batch job, else the only one.
    #[default]
    Any,
    /// The DVM with this rendezvous URI, or name.
    Uri(String),
    /// The DVM whose URI, or contact, is in this file.
    UriFile(PathBuf),
    /// The DVM with this process id.
    Pid(u32),
    /// The DVM whose process id is in this file.
    PidFile(PathBuf),
    /// The DVM with this name or namespace: `<dvm>`, `<dvm>@0`.
    Namespace(String),
    /// The system's server, else as `Any`.
    SystemFirst,
    /// The system's server.
    SystemOnly,
}

/// The patience with a DVM that is not there yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patience {
    /// `--wait-to-connect`: the time between two attempts; without `retries`, the time after which to give up.
    pub wait: Option<Duration>,
    /// `--num-connect-retries`: how often to try again.
    pub retries: Option<u32>,
}

/// A text that names no DVM.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SelectorError {
    /// `--dvm` with an unknown word.
    #[error("{0:?} does not say which DVM")]
    Word(String),
    /// Not a process id.
    #[error("{0:?} is not a process id")]
    Pid(String),
    /// Not a rendezvous URI.
    #[error("{0:?} is not the address of a DVM")]
    Uri(String),
    /// Nothing after the colon.
    #[error("{0:?} names nothing")]
    Empty(String),
}

impl SelectorError {
    /// Returns advice for the user.
    #[must_use]
    pub fn next_step(&self) -> &'static str {
        match self {
            SelectorError::Word(_) | SelectorError::Empty(_) => {
                "Give one of: search, pid:N, pid:file:PATH, uri:URI, file:PATH, ns:NAME, system, system-first."
            }
            SelectorError::Pid(_) => {
                "Give the process id of the prte command, or file:PATH with the file of its --report-pid."
            }
            SelectorError::Uri(_) => {
                "Give what `prte --report-uri -` printed, as prte-host-123@0.0, or file:PATH with the file of its --report-uri."
            }
        }
    }
}

impl Selector {
    /// The value of `--pid`: a number, or `file:PATH`.
    ///
    /// # Errors
    /// Neither of them.
    pub fn pid(text: &str) -> Result<Selector, SelectorError> {
        match text.strip_prefix("file:") {
            Some("") => Err(SelectorError::Pid(text.to_owned())),
            Some(path) => Ok(Selector::PidFile(path.into())),
            None => parse_pid(text).map(Selector::Pid).ok_or_else(|| SelectorError::Pid(text.to_owned())),
        }
    }

    /// The value of `--dvm-uri`: a URI, or `file:PATH`.
    ///
    /// # Errors
    /// Neither of them.
    pub fn uri(text: &str) -> Result<Selector, SelectorError> {
        match text.strip_prefix("file:") {
            Some("") => Err(SelectorError::Uri(text.to_owned())),
            Some(path) => Ok(Selector::UriFile(path.into())),
            None if parse_uri(text).is_some() => Ok(Selector::Uri(text.to_owned())),
            None => Err(SelectorError::Uri(text.to_owned())),
        }
    }

    /// The value of `--dvm` (and of `PRTEPROXY_USE_DVM`).
    ///
    /// # Errors
    /// A word that it does not have, or a wrong value behind it.
    pub fn dvm(text: &str) -> Result<Selector, SelectorError> {
        let (word, value) = text.split_once(':').map_or((text, None), |(word, value)| (word, Some(value)));
        let named = |value: Option<&str>| {
            value.filter(|v| !v.is_empty()).map(str::to_owned).ok_or_else(|| SelectorError::Empty(text.to_owned()))
        };
        match (word.to_ascii_lowercase().as_str(), value) {
            ("search", None) => Ok(Selector::Any),
            ("system", None) => Ok(Selector::SystemOnly),
            ("system-first", None) => Ok(Selector::SystemFirst),
            ("pid", value) => Selector::pid(&named(value)?),
            ("file", value) => Ok(Selector::UriFile(named(value)?.into())),
            ("uri", value) => Selector::uri(&named(value)?),
            ("ns", value) => named(value).map(Selector::Namespace),
            _ => Err(SelectorError::Word(text.to_owned())),
        }
    }
}

/// A process id, as a file or a user has it.
pub(crate) fn parse_pid(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|pid| (1..=i32::MAX as u32).contains(pid))
}

/// The name of a DVM without what makes it a namespace or a process of it.
pub(crate) fn bare_name(name: &str) -> &str {
    let name = name.split(';').next().unwrap_or(name).trim();
    name.strip_suffix("@0.0").or_else(|| name.strip_suffix("@0")).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_field_says_which_dvm() {
        let words = [
            ("search", Selector::Any),
            ("system", Selector::SystemOnly),
            ("System-First", Selector::SystemFirst),
            ("pid:12", Selector::Pid(12)),
            ("pid:file:/a:b", Selector::PidFile("/a:b".into())),
            ("file:x", Selector::UriFile("x".into())),
            ("uri:d@0.0;tcp4://h:1", Selector::Uri("d@0.0;tcp4://h:1".to_owned())),
            ("uri:file:x", Selector::UriFile("x".into())),
            ("ns:d@0", Selector::Namespace("d@0".to_owned())),
        ];
        for (text, selector) in words {
            assert_eq!(Selector::dvm(text), Ok(selector), "{text}");
        }
    }

    #[test]
    fn nothing_else_does() {
        for bad in
            ["", "find", "pid", "pid:", "pid:0", "pid:-1", "pid:99999999999", "uri:x", "ns:", "system:1", "file:"]
        {
            assert!(Selector::dvm(bad).is_err(), "{bad}");
        }
        assert_eq!(Selector::pid("12x"), Err(SelectorError::Pid("12x".to_owned())));
    }

    #[test]
    fn a_namespace_and_a_process_have_the_same_dvm() {
        assert_eq!(["d", "d@0", "d@0.0;tcp4://h:1", "d@1"].map(bare_name), ["d", "d", "d", "d@1"]);
    }
}
