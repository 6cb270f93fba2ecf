//! `pdvm signal`: sends a signal to the processes of a job.

use ferrite_types::{JobId, Signal};
use ferrite_wire::control::Request;
use rustix::process::Signal as Named;

use super::dvm::Dvm;
use super::failure::Failure;
use super::json::{self, Ordered};
use super::moment::Moment;
use super::options::JobName;

/// Signals by name, without `SIG`. The real-time ones have numbers only.
const NAMES: &[(&str, Named)] = &[
    ("HUP", Named::HUP),
    ("INT", Named::INT),
    ("QUIT", Named::QUIT),
    ("ILL", Named::ILL),
    ("TRAP", Named::TRAP),
    ("ABRT", Named::ABORT),
    ("BUS", Named::BUS),
    ("FPE", Named::FPE),
    ("KILL", Named::KILL),
    ("USR1", Named::USR1),
    ("SEGV", Named::SEGV),
    ("USR2", Named::USR2),
    ("PIPE", Named::PIPE),
    ("ALRM", Named::ALARM),
    ("TERM", Named::TERM),
    ("CHLD", Named::CHILD),
    ("CONT", Named::CONT),
    ("STOP", Named::STOP),
    ("TSTP", Named::TSTP),
    ("TTIN", Named::TTIN),
    ("TTOU", Named::TTOU),
    ("URG", Named::URG),
    ("XCPU", Named::XCPU),
    ("XFSZ", Named::XFSZ),
    ("VTALRM", Named::VTALARM),
    ("PROF", Named::PROF),
    ("WINCH", Named::WINCH),
    ("IO", Named::IO),
    ("PWR", Named::POWER),
    ("SYS", Named::SYS),
];

/// Parses a signal: a name with or without `SIG`, in any case, or a number.
pub(crate) fn parse_signal(text: &str) -> Result<Signal, String> {
    let upper = text.to_ascii_uppercase();
    let bare = upper.strip_prefix("SIG").unwrap_or(&upper);
    let named = NAMES.iter().find(|(name, _)| *name == bare).map(|(_, signal)| Signal(signal.as_raw()));
    let number = || text.parse().ok().and_then(Signal::from_number);
    named
        .or_else(number)
        .ok_or_else(|| "neither the name nor the number of a signal (as USR1, SIGUSR1 or 10)".to_owned())
}

pub(super) fn answer(dvm: &mut Dvm, name: &JobName, signal: Signal, json: bool) -> Result<String, Failure> {
    let job = dvm.number_of(name)?;
    dvm.order(Request::Signal { job, signal })?;
    if !json {
        return Ok(render(job, signal));
    }
    let (_, moment) = dvm.status()?;
    Ok(to_json(job, signal, &moment))
}

fn render(job: JobId, signal: Signal) -> String {
    format!("Signal {} goes to the processes of job {job}.\n", told(signal))
}

/// Returns the signal's number, and its name if it has one.
pub(super) fn told(signal: Signal) -> String {
    let name = NAMES.iter().find(|(_, named)| named.as_raw() == signal.0);
    name.map_or_else(|| signal.to_string(), |(name, _)| format!("{signal} (SIG{name})"))
}

fn to_json(job: JobId, signal: Signal, moment: &Moment) -> String {
    json::document(
        "ordered",
        moment,
        Ordered { order: "signal", job: job.0, signal: Some(signal), over: false, jobs: None },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdvm::samples;

    #[test]
    fn a_signal_has_a_name_or_a_number() {
        for text in ["USR1", "sigusr1", "SigUsr1", "10"] {
            assert_eq!(parse_signal(text), Ok(Signal(Named::USR1.as_raw())), "{text}");
        }
        assert_eq!(parse_signal("64"), Ok(Signal(64)));
        for bad in ["", "SIG", "0", "65", "-9", "NOPE", "SIG10"] {
            assert!(parse_signal(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_order_is_confirmed() {
        assert_eq!(render(JobId(3), Signal(10)), "Signal 10 (SIGUSR1) goes to the processes of job 3.\n");
        assert_eq!(render(JobId(3), Signal(40)), "Signal 40 goes to the processes of job 3.\n");
        insta::assert_snapshot!(to_json(JobId(3), Signal(10), &samples::moment()));
    }
}
