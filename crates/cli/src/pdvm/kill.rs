//! `pdvm kill`: ends a job, and with `--tree` all that descend from it.

use ferrite_types::JobId;
use ferrite_wire::control::Request;

use super::dvm::Dvm;
use super::failure::Failure;
use super::json::{self, Ordered};
use super::moment::Moment;
use super::options::KillOptions;

pub(super) fn answer(dvm: &mut Dvm, how: &KillOptions, json: bool) -> Result<String, Failure> {
    let job = dvm.number_of(&how.job)?;
    let ordered = if how.tree { dvm.kill_tree(job) } else { dvm.order(Request::Kill(job)).map(|()| vec![job]) };
    let ended = match ordered {
        Ok(ended) => ended,
        // An order to end a job that is over succeeds; an unknown job is an error.
        Err(Failure::Refused(text)) => dvm.job(job).map(|_| Vec::new()).map_err(|_| Failure::Refused(text))?,
        Err(other) => return Err(other),
    };
    if !json {
        return Ok(render(job, &ended, how.tree));
    }
    // The status is read after the order, so that an error here does not keep the order from being given.
    let (_, moment) = dvm.status()?;
    Ok(to_json(job, &ended, how.tree, &moment))
}

/// Confirms that the DVM has taken the order; the processes may end later.
fn render(job: JobId, ended: &[JobId], tree: bool) -> String {
    let what = if ended.contains(&job) { "is being ended" } else { "was over before" };
    if !tree {
        return format!("Job {job} {what}.\n");
    }
    let others: Vec<String> = ended.iter().filter(|other| **other != job).map(ToString::to_string).collect();
    match &others[..] {
        [] => format!("Job {job} {what}, and no job that descends from it runs.\n"),
        [one] => format!("Job {job} {what}; job {one}, which descends from it, is being ended.\n"),
        _ => format!("Job {job} {what}; jobs {}, which descend from it, are being ended.\n", others.join(", ")),
    }
}

fn to_json(job: JobId, ended: &[JobId], tree: bool, moment: &Moment) -> String {
    let over = !ended.contains(&job);
    let jobs = tree.then(|| ended.iter().map(|job| job.0).collect());
    json::document("ordered", moment, Ordered { order: "kill", job: job.0, signal: None, over, jobs })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdvm::samples;

    #[test]
    fn an_order_is_confirmed() {
        assert_eq!(render(JobId(3), &[JobId(3)], false), "Job 3 is being ended.\n");
        assert_eq!(render(JobId(3), &[], false), "Job 3 was over before.\n");
        insta::assert_snapshot!(to_json(JobId(3), &[JobId(3)], false, &samples::moment()));
    }

    #[test]
    fn an_order_for_a_tree_names_all_that_end() {
        let told = |ended: &[u32]| render(JobId(3), &ended.iter().map(|job| JobId(*job)).collect::<Vec<_>>(), true);
        let texts = [told(&[3]), told(&[]), told(&[3, 5]), told(&[5, 6, 8])];
        insta::assert_snapshot!(texts.concat());
        insta::assert_snapshot!(to_json(JobId(3), &[JobId(5), JobId(6)], true, &samples::moment()));
    }
}
