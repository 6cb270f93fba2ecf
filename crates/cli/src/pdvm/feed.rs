//! `pdvm feed`: gives its own standard input to a job that has none from its submitter.

use ferrite_client::Source;
use ferrite_types::JobId;
use ferrite_wire::control::{Reply, Request};

use super::dvm::{Dvm, WaitingDvm};
use super::failure::Failure;
use super::json::{self, Ordered};
use super::moment::Moment;
use super::options::JobName;

/// Feeds the job until the end of the input (spec L146).
pub(super) fn answer(mut dvm: Dvm, name: &JobName, json: bool) -> Result<String, Failure> {
    let job = dvm.number_of(name)?;
    let (_, moment) = dvm.status()?;
    let mut dvm = WaitingDvm::of(dvm, Source::stdin())?;
    match dvm.ask(Request::Feed { job, ranks: Vec::new() })? {
        Reply::Ordered if json => Ok(to_json(job, &moment)),
        Reply::Ordered => Ok(String::new()),
        _ => Err(dvm.astray()),
    }
}

fn to_json(job: JobId, moment: &Moment) -> String {
    json::document("ordered", moment, Ordered { order: "feed", job: job.0, signal: None, over: false, jobs: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdvm::samples;

    #[test]
    fn an_end_of_input_is_confirmed() {
        insta::assert_snapshot!(to_json(JobId(3), &samples::moment()));
    }
}
