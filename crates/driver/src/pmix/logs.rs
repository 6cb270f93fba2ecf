//! Translates `PMIx_Log`: the channels that are offered, and the way in which a text is to appear. Pure.

use std::ffi::CStr;

use bytes::Bytes;
use ferrite_pmix::{Info, LogChannel, LogEntry, Status, Value};
use ferrite_pmix_sys as sys;
use ferrite_wire::Stream;

/// The longest text (bytes).
const LONGEST: usize = 64 * 1024;

/// Ways of output that are refused: `--output` of the job decides about tags and dates.
const NOT_OFFERED: [&CStr; 3] = [sys::PMIX_LOG_TAG_OUTPUT, sys::PMIX_LOG_TIMESTAMP_OUTPUT, sys::PMIX_LOG_XML_OUTPUT];

/// A call in our terms.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Logged {
    /// The texts, each a whole line at least.
    pub(super) texts: Vec<(Stream, Bytes)>,
    /// True when other channels were named, which are not offered.
    pub(super) is_partial: bool,
}

/// Translates a call. With `PMIX_LOG_ONCE` the first channel that is offered suffices.
///
/// # Errors
/// A way of output that is not offered, or a text that is too long.
pub(super) fn logged(entries: Vec<LogEntry>, others: &[String], directives: &[Info]) -> Result<Logged, Status> {
    let says = |key: &CStr| directives.iter().any(|info| info.is(key) && info.value != Value::Bool(false));
    if NOT_OFFERED.iter().any(|key| says(key)) {
        return Err(Status::NOT_SUPPORTED);
    }
    if entries.iter().any(|entry| entry.text.len() > LONGEST) {
        return Err(Status::BAD_PARAM);
    }
    let once = says(sys::PMIX_LOG_ONCE);
    let count = if once { 1 } else { entries.len() };
    let text = |entry: LogEntry| {
        let stream = match entry.channel {
            LogChannel::Stdout => Stream::Stdout,
            LogChannel::Stderr => Stream::Stderr,
        };
        let end = if entry.text.ends_with('\n') { "" } else { "\n" };
        (stream, Bytes::from(entry.text + end))
    };
    let texts = entries.into_iter().take(count).map(text).collect();
    Ok(Logged { texts, is_partial: !once && !others.is_empty() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(channel: LogChannel, text: &str) -> LogEntry {
        LogEntry { channel, text: text.to_owned() }
    }

    #[test]
    fn texts_are_whole_lines_and_once_means_the_first_channel() {
        let both = || vec![entry(LogChannel::Stderr, "a"), entry(LogChannel::Stdout, "b\n")];
        let lines = [(Stream::Stderr, Bytes::from("a\n")), (Stream::Stdout, Bytes::from("b\n"))];
        let all = Logged { texts: lines.to_vec(), is_partial: false };
        assert_eq!(logged(both(), &[], &[]), Ok(all));
        let others = ["pmix.log.jrec".to_owned()];
        assert!(logged(both(), &others, &[]).is_ok_and(|logged| logged.is_partial));
        let once = [Info::new(sys::PMIX_LOG_ONCE, true)];
        assert_eq!(logged(both(), &others, &once), Ok(Logged { texts: lines[..1].to_vec(), is_partial: false }));
    }

    #[test]
    fn another_way_of_output_and_a_long_text_are_refused() {
        let one = || vec![entry(LogChannel::Stdout, "a")];
        for key in NOT_OFFERED {
            assert_eq!(logged(one(), &[], &[Info::new(key, true)]), Err(Status::NOT_SUPPORTED));
            assert!(logged(one(), &[], &[Info::new(key, false)]).is_ok());
        }
        let long = "x".repeat(LONGEST + 1);
        assert_eq!(logged(vec![entry(LogChannel::Stdout, &long)], &[], &[]), Err(Status::BAD_PARAM));
    }
}
