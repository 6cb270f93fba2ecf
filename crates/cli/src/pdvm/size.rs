//! `pdvm resize`: asks for more or fewer processes of an elastic job, and prints the one answer.

use ferrite_client::Source;
use ferrite_types::JobId;
use ferrite_wire::control::{Reply, Request};
use ferrite_wire::{GrowRequest, JobResize, JobResizeOutcome, JobResized, SizeChange};

use super::dvm::{Dvm, WaitingDvm};
use super::failure::Failure;
use super::json::{self, JobSize};
use super::moment::Moment;
use super::options::ResizeOptions;

/// Reads the word for a change: `+2`, `-2` or `=4`.
///
/// # Errors
/// It is none of these.
pub(crate) fn parse_size(word: &str) -> Result<SizeChange, String> {
    let number = |digits: &str| {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let too_much = || format!("{digits} is no number of processes");
        if is_number { digits.parse().map_err(|_| too_much()) } else { Err(too_much()) }
    };
    match word.split_at_checked(1) {
        Some(("+", digits)) => number(digits).map(SizeChange::More),
        Some(("-", digits)) => number(digits).map(SizeChange::Fewer),
        Some(("=", digits)) => number(digits).map(SizeChange::To),
        _ => Err("it is +N for more, -N for fewer, or =N for so many processes".to_owned()),
    }
}

pub(super) fn answer(
    dvm: Dvm,
    how: &ResizeOptions,
    nodes: Option<Box<GrowRequest>>,
    json: bool,
) -> Result<String, Failure> {
    let job = dvm.number_of(&how.job)?;
    let ResizeOptions { size, grace, force, wait, .. } = *how;
    let mut dvm = WaitingDvm::of(dvm, Source::empty())?;
    let ask = JobResize { job, size, time_s: grace, force, wait, nodes };
    let resized = match dvm.ask(Request::ResizeJob(ask))? {
        Reply::JobResized(resized) => resized,
        _ => return Err(dvm.astray()),
    };
    let text = render(&resized)?;
    if !json {
        return Ok(text);
    }
    match dvm.ask(Request::Status)? {
        Reply::Status(status) => Ok(json::document("job_resized", &Moment::now(&status), body(&resized)?)),
        _ => Err(dvm.astray()),
    }
}

/// Formats the answer as one line.
///
/// # Errors
/// The request was refused, or has failed.
fn render(resized: &JobResized) -> Result<String, Failure> {
    let JobResized { job, size, is_offer, procs, outcome } = resized;
    let (count, has) = (processes(*procs), processes(*size));
    Ok(match (outcome, is_offer) {
        (JobResizeOutcome::Refused(cause), _) => return Err(Failure::NotResized(cause.clone())),
        (JobResizeOutcome::Failed(cause), _) => return Err(Failure::JobKeepsSize(cause.clone())),
        (JobResizeOutcome::Unchanged, _) => format!("Unchanged: job {job} has {has}\n"),
        (JobResizeOutcome::NodesFirst, _) => {
            format!("Growing: {count} more are offered to job {job} when its nodes have come\n")
        }
        (JobResizeOutcome::Begun(time), true) => {
            format!("Offered: {count} more to job {job}, which has {} to take them\n", seconds(*time))
        }
        (JobResizeOutcome::Begun(time), false) => {
            let verb = if *procs == 1 { "has" } else { "have" };
            format!("Told: {count} of job {job} {verb} {} to end\n", seconds(*time))
        }
        (JobResizeOutcome::Done, true) => format!("Grown: job {job} has spawned {count}, and has {has}\n"),
        (JobResizeOutcome::Done, false) => {
            let verb = if *procs == 1 { "has" } else { "have" };
            format!("Shrunk: {count} of job {job} {verb} ended, and it has {has}\n")
        }
    })
}

/// The answer as the fields of `job_resized`.
///
/// # Errors
/// The request was refused, or has failed.
pub(crate) fn body(resized: &JobResized) -> Result<JobSize, Failure> {
    let JobResized { job: JobId(job), size, is_offer, procs, ref outcome } = *resized;
    let outcome = match outcome {
        JobResizeOutcome::Unchanged => "unchanged",
        JobResizeOutcome::Begun(_) => "begun",
        JobResizeOutcome::NodesFirst => "requested",
        JobResizeOutcome::Done => "done",
        JobResizeOutcome::Refused(cause) => return Err(Failure::NotResized(cause.clone())),
        JobResizeOutcome::Failed(cause) => return Err(Failure::JobKeepsSize(cause.clone())),
    };
    let change = if is_offer { "more" } else { "fewer" };
    Ok(JobSize { job, change, outcome, processes: procs, size })
}

fn processes(count: u32) -> String {
    if count == 1 { "1 process".to_owned() } else { format!("{count} processes") }
}

fn seconds(time: u32) -> String {
    if time == 1 { "1 second".to_owned() } else { format!("{time} seconds") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdvm::samples;

    #[test]
    fn a_size_is_a_sign_and_a_number() {
        assert_eq!(parse_size("+2"), Ok(SizeChange::More(2)));
        assert_eq!(parse_size("-0"), Ok(SizeChange::Fewer(0)));
        assert_eq!(parse_size("=4"), Ok(SizeChange::To(4)));
        for word in ["", "2", "+", "=-2", "+2.5", "++2", "=4294967296"] {
            assert!(parse_size(word).is_err(), "{word}");
        }
    }

    /// (spec E54, E55, E57, E58)
    #[test]
    fn each_end_that_is_not_a_failure_is_a_line() {
        let resized = |is_offer, procs, outcome| JobResized { job: JobId(3), size: 6, is_offer, procs, outcome };
        let line = |is_offer, procs, outcome| render(&resized(is_offer, procs, outcome)).unwrap();
        let lines = [
            line(false, 0, JobResizeOutcome::Unchanged),
            line(true, 2, JobResizeOutcome::Begun(30)),
            line(true, 2, JobResizeOutcome::NodesFirst),
            line(true, 2, JobResizeOutcome::Done),
            line(false, 1, JobResizeOutcome::Begun(1)),
            line(false, 2, JobResizeOutcome::Done),
        ];
        insta::assert_snapshot!(lines.concat());
        let grown = body(&resized(true, 2, JobResizeOutcome::Done)).unwrap();
        insta::assert_snapshot!(json::document("job_resized", &samples::moment(), grown));
        for outcome in [JobResizeOutcome::Refused("no".to_owned()), JobResizeOutcome::Failed("no".to_owned())] {
            assert_eq!(render(&resized(true, 2, outcome)).unwrap_err().exit_code(), 1);
        }
    }
}
