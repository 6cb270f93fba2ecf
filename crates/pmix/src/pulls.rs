//! Reads what a tool wants of the output of jobs (`PMIx_IOF_pull`). Pure.
//!
//! A call that can be refused is refused here, at once: an answer that comes later makes libpmix 4.2.2 wait
//! for a lock of its own, and a late refusal use freed memory. The
//! library does not say who pulls, and hands the output to those who do.

use std::ffi::CStr;

use ferrite_pmix_sys as sys;

use crate::{Info, Proc, Status, Value};

/// Directives that would promise something about output that is not read in time. Nothing is kept: a reader that is
/// late holds the job back for a while, and is cut off then.
const NOT_OFFERED: [&CStr; 5] = [
    sys::PMIX_IOF_CACHE_SIZE,
    sys::PMIX_IOF_DROP_OLDEST,
    sys::PMIX_IOF_DROP_NEWEST,
    sys::PMIX_IOF_BUFFERING_SIZE,
    sys::PMIX_IOF_BUFFERING_TIME,
];

/// Directives that the library of the tool obeys itself, when it shows the output.
const OF_THE_TOOL: [&CStr; 14] = [
    sys::PMIX_IOF_STOP,
    sys::PMIX_IOF_TAG_OUTPUT,
    sys::PMIX_IOF_TAG_DETAILED_OUTPUT,
    sys::PMIX_IOF_TAG_FULLNAME_OUTPUT,
    sys::PMIX_IOF_RANK_OUTPUT,
    sys::PMIX_IOF_TIMESTAMP_OUTPUT,
    sys::PMIX_IOF_MERGE_STDERR_STDOUT,
    sys::PMIX_IOF_XML_OUTPUT,
    sys::PMIX_IOF_OUTPUT_TO_FILE,
    sys::PMIX_IOF_FILE_PATTERN,
    sys::PMIX_IOF_OUTPUT_TO_DIRECTORY,
    sys::PMIX_IOF_FILE_ONLY,
    sys::PMIX_IOF_LOCAL_OUTPUT,
    sys::PMIX_IOF_OUTPUT_RAW,
];

/// The request of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) stdout: bool,
    pub(crate) stderr: bool,
    /// True at the end of an earlier pull.
    pub(crate) stops: bool,
}

/// Reads a pull of output of jobs of this DVM, or its end.
///
/// # Errors
/// The status of the refusal, and what is refused.
pub(crate) fn decide(
    dvm: &str,
    from: &[Proc],
    directives: &[Info],
    required: &[String],
    channels: u32,
) -> Result<Wanted, (Status, &'static str)> {
    let says = |key: &CStr| directives.iter().any(|info| info.is(key) && info.value != Value::Bool(false));
    let carries = |channel: u32| channels & channel != 0;
    let (stdout, stderr) = (carries(sys::PMIX_FWD_STDOUT_CHANNEL), carries(sys::PMIX_FWD_STDERR_CHANNEL));
    let wanted = Wanted { stdout, stderr, stops: says(sys::PMIX_IOF_STOP) };
    if wanted.stops {
        return Ok(wanted);
    }
    let is_job = |proc: &Proc| {
        let number = proc.nspace.strip_prefix(dvm).and_then(|rest| rest.strip_prefix('@'));
        number.and_then(|number| number.parse::<u32>().ok()).is_some_and(|number| number != 0)
    };
    let is_known = |key: &String| OF_THE_TOOL.iter().any(|known| known.to_bytes() == key.as_bytes());
    if from.is_empty() || !from.iter().all(is_job) {
        return Err((Status::NOT_FOUND, "pulling output of what is no job of this DVM"));
    }
    if !stdout && !stderr {
        return Err((Status::NOT_SUPPORTED, "pulling what is neither standard output nor standard error"));
    }
    if NOT_OFFERED.iter().any(|key| says(key)) {
        return Err((Status::NOT_SUPPORTED, "keeping output for a tool that reads late"));
    }
    if !required.iter().all(is_known) {
        return Err((Status::NOT_SUPPORTED, "pulling output with an attribute that is required and not known"));
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pull(nspace: &str, directives: &[Info], channels: u32) -> Result<Wanted, Status> {
        let from = [Proc::new(nspace, Proc::WILDCARD)];
        decide("d", &from, directives, &[], channels).map_err(|(status, _)| status)
    }

    #[test]
    fn a_pull_names_jobs_of_this_dvm_and_a_channel_that_carries_output() {
        let both = Wanted { stdout: true, stderr: true, stops: false };
        let all = sys::PMIX_FWD_ALL_CHANNELS;
        assert_eq!(pull("d@2", &[], all), Ok(both));
        assert_eq!(pull("d@2", &[], sys::PMIX_FWD_STDERR_CHANNEL), Ok(Wanted { stdout: false, ..both }));
        for (nspace, channels, status) in [
            ("d@0", all, Status::NOT_FOUND),
            ("d", all, Status::NOT_FOUND),
            ("e@1", all, Status::NOT_FOUND),
            ("d@2", sys::PMIX_FWD_STDIN_CHANNEL, Status::NOT_SUPPORTED),
            ("d@2", sys::PMIX_FWD_STDDIAG_CHANNEL, Status::NOT_SUPPORTED),
        ] {
            assert_eq!(pull(nspace, &[], channels), Err(status), "{nspace}");
        }
        assert_eq!(decide("d", &[], &[], &[], all).map_err(|(status, _)| status), Err(Status::NOT_FOUND));
    }

    #[test]
    fn nothing_is_kept_for_late_readers_and_what_is_required_has_to_be_known() {
        let all = sys::PMIX_FWD_ALL_CHANNELS;
        for key in NOT_OFFERED {
            assert_eq!(pull("d@2", &[Info::new(key, 7u32)], all), Err(Status::NOT_SUPPORTED));
        }
        let from = [Proc::new("d@2", 0)];
        let required = |key: &str| decide("d", &from, &[], &[key.to_owned()], all).map_err(|(status, _)| status);
        assert!(required("pmix.iof.tag").is_ok());
        assert_eq!(required("pmix.iof.strange"), Err(Status::NOT_SUPPORTED));
    }

    #[test]
    fn an_end_is_always_possible() {
        let end = decide("d", &[], &[Info::new(sys::PMIX_IOF_STOP, true)], &[], 0);
        assert!(end.is_ok_and(|wanted| wanted.stops));
    }
}
