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
    dvm.order(Request::Kill(job))?;
    if !json {
        return Ok(render(job));
    }
    // The status is read after the order, so that an error here does not keep the order from being given.
    let (_, moment) = dvm.status()?;
    Ok(to_json(job, &moment))
}

/// Confirms that the DVM has taken the order; the processes may end later.
fn render(job: JobId) -> String {
    format!("Job {job} is being ended.\n")
}

fn to_json(job: JobId, moment: &Moment) -> String {
    json::document("ordered", moment, Ordered { order: "kill", job: job.0, signal: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdvm::samples;

    #[test]
    fn an_order_is_confirmed() {
        assert_eq!(render(JobId(3)), "Job 3 is being ended.\n");
        insta::assert_snapshot!(to_json(JobId(3), &samples::moment()));
    }
}
