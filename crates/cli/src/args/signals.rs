//! `--forward-signals`: which signals that reach prterun are passed on to the processes. The driver catches the signals
//! and has the list of those that can be forwarded.

use ferrite_driver::parse_forward_signals;
use ferrite_types::Signal;

use super::error::UsageError;

/// Parses `all`, `none`, or a list of names (with or without SIG) and numbers.
pub(crate) fn parse(option: &str, list: &str) -> Result<Vec<Signal>, UsageError> {
    let mut signals = parse_forward_signals(&list.to_ascii_lowercase()).map_err(|error| {
        UsageError::value(
            option,
            error.to_string(),
            "Give `all`, `none`, or a list of names and numbers, as USR1,USR2.",
        )
    })?;
    signals.sort_unstable();
    signals.dedup();
    Ok(signals)
}

/// Parses the name or number of one signal.
pub(crate) fn one(option: &str, name: &str) -> Result<Signal, UsageError> {
    match parse_forward_signals(&name.to_ascii_lowercase()) {
        Ok(signals) if signals.len() == 1 => Ok(signals[0]),
        Ok(_) => Err(UsageError::value(option, format!("{name:?} is not one signal"), "Give one name, as USR1.")),
        Err(error) => Err(UsageError::value(option, error.to_string(), "Give one name or number, as USR1.")),
    }
}

/// Returns every signal that can be forwarded: the default.
#[must_use]
pub fn all() -> Vec<Signal> {
    parse_forward_signals("all").unwrap_or_default()
}
