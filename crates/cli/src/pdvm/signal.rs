//! `pdvm signal`: sends a signal to the processes of a job.

use ferrite_types::JobId;
use ferrite_wire::control::Request;
use rustix::process::Signal;

use super::dvm::Dvm;
use super::failure::Failure;
use super::json::{self, Ordered};
use super::moment::Moment;
use super::options::JobName;

/// Signals by name, without `SIG`. The real-time ones have numbers only.
const NAMES: &[(&str, Signal)] = &[
    ("HUP", Signal::HUP),
    ("INT", Signal::INT),
    ("QUIT", Signal::QUIT),
    ("ILL", Signal::ILL),
    ("TRAP", Signal::TRAP),
    ("ABRT", Signal::ABORT),
    ("BUS", Signal::BUS),
    ("FPE", Signal::FPE),
    ("KILL", Signal::KILL),
    ("USR1", Signal::USR1),
    ("SEGV", Signal::SEGV),
    ("USR2", Signal::USR2),
    ("PIPE", Signal::PIPE),
    ("ALRM", Signal::ALARM),
    ("TERM", Signal::TERM),
    ("CHLD", Signal::CHILD),
    ("CONT", Signal::CONT),
    ("STOP", Signal::STOP),
    ("TSTP", Signal::TSTP),
    ("TTIN", Signal::TTIN),
    ("TTOU", Signal::TTOU),
    ("URG", Signal::URG),
    ("XCPU", Signal::XCPU),
    ("XFSZ", Signal::XFSZ),
    ("VTALRM", Signal::VTALARM),
    ("PROF", Signal::PROF),
    ("WINCH", Signal::WINCH),
    ("IO", Signal::IO),
    ("PWR", Signal::POWER),
    ("SYS", Signal::SYS),
];

/// The greatest number of a signal.
const LAST: i32 = 64;

/// Parses a signal: a name with or without `SIG`, in any case, or a number.
pub(super) fn parse_signal(text: &str) -> Result<i32, String> {
    let upper = text.to_ascii_uppercase();
    let bare = upper.strip_prefix("SIG").unwrap_or(&upper);
    let named = NAMES.iter().find(|(name, _)| *name == bare).map(|(_, signal)| signal.as_raw());
    let number = || text.parse().ok().filter(|number| (1..=LAST).contains(number));
    named
        .or_else(number)
        .ok_or_else(|| "neither the name nor the number of a signal (as USR1, SIGUSR1 or 10)".to_owned())
}

pub(super) fn answer(dvm: &mut Dvm, name: &JobName, signal: i32, json: bool) -> Result<String, Failure> {
    let job = dvm.number_of(name)?;
    dvm.order(Request::Signal { job, signal: ferrite_types::Signal(signal) })?;
    if !json {
        return Ok(render(job, signal));
    }
    let (_, moment) = dvm.status()?;
    Ok(to_json(job, signal, &moment))
}

fn render(job: JobId, signal: i32) -> String {
    format!("Signal {} goes to the processes of job {job}.\n", told(signal))
}

/// Returns the signal's number, and its name if it has one.
pub(super) fn told(signal: i32) -> String {
    let name = NAMES.iter().find(|(_, named)| named.as_raw() == signal);
    name.map_or_else(|| signal.to_string(), |(name, _)| format!("{signal} (SIG{name})"))
}

fn to_json(job: JobId, signal: i32, moment: &Moment) -> String {
    json::document("ordered", moment, Ordered { order: "signal", job: job.0, signal: Some(signal) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdvm::samples;

    #[test]
    fn a_signal_has_a_name_or_a_number() {
        for text in ["USR1", "sigusr1", "SigUsr1", "10"] {
            assert_eq!(parse_signal(text), Ok(Signal::USR1.as_raw()), "{text}");
        }
        assert_eq!(parse_signal("64"), Ok(64));
        for bad in ["", "SIG", "0", "65", "-9", "NOPE", "SIG10"] {
            assert!(parse_signal(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_order_is_confirmed() {
        assert_eq!(render(JobId(3), 10), "Signal 10 (SIGUSR1) goes to the processes of job 3.\n");
        assert_eq!(render(JobId(3), 40), "Signal 40 goes to the processes of job 3.\n");
        insta::assert_snapshot!(to_json(JobId(3), 10, &samples::moment()));
    }
}
