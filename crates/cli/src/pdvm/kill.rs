//! `pdvm kill`: ends a job.

use ferrite_types::JobId;
use ferrite_wire::control::Request;

use super::dvm::Dvm;
use super::failure::Failure;
use super::json::{self, Ordered};
use super::moment::Moment;
use super::options::JobName;

pub(super) fn answer(dvm: &mut Dvm, name: &JobName, json: bool) -> Result<String, Failure> {
    let job = dvm.number_of(name)?;
    let over = match dvm.order(Request::Kill(job)) {
        Ok(()) => false,
        // An order to end a job that is over succeeds; an unknown job is an error.
        Err(Failure::Refused(text)) => dvm.job(job).map(|_| true).map_err(|_| Failure::Refused(text))?,
        Err(other) => return Err(other),
    };
    if !json {
        return Ok(render(job, over));
    }
    // The status is read after the order, so that an error here does not keep the order from being given.
    let (_, moment) = dvm.status()?;
    Ok(to_json(job, over, &moment))
}

/// Confirms that the DVM has taken the order; the processes may end later.
fn render(job: JobId, over: bool) -> String {
    let what = if over { "was over before" } else { "is being ended" };
    format!("Job {job} {what}.\n")
}

fn to_json(job: JobId, over: bool, moment: &Moment) -> String {
    json::document("ordered", moment, Ordered { order: "kill", job: job.0, signal: None, over })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdvm::samples;

    #[test]
    fn an_order_is_confirmed() {
        assert_eq!(render(JobId(3), false), "Job 3 is being ended.\n");
        assert_eq!(render(JobId(3), true), "Job 3 was over before.\n");
        insta::assert_snapshot!(to_json(JobId(3), false, &samples::moment()));
    }
}
