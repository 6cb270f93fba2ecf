//! `pdvm kill`: the end of a job.

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
    // Asked after the order: what is done is done, whatever becomes of the DVM meanwhile.
    let (_, moment) = dvm.status()?;
    Ok(to_json(job, &moment))
}

/// The DVM has only taken the order: its processes may need a moment, or a second signal.
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
