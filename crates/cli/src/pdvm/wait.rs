//! `pdvm wait`: waits for the ends of jobs; the exit code is theirs.

use ferrite_client::Source;
use ferrite_types::JobId;
use ferrite_wire::control::{JobDetail, Reply, Request};

use super::dvm::{Dvm, WaitingDvm};
use super::failure::Failure;
use super::moment::Moment;
use super::options::WaitedJob;
use super::text::plain;
use super::{json, put};
use crate::service::answers::{Ended, Waited};

/// Waits for all of the jobs; returns the exit code (spec L116).
pub(super) fn answer(mut dvm: Dvm, of: &[WaitedJob], json: bool) -> Result<i32, Failure> {
    // Names are looked up first: an unknown one is told at once.
    let jobs = of.iter().map(|job| number_of(&mut dvm, job)).collect::<Result<Vec<JobId>, Failure>>()?;
    let (_, moment) = dvm.status()?;
    let mut dvm = WaitingDvm::of(dvm, Source::empty())?;
    let mut ended = Vec::with_capacity(jobs.len());
    for job in jobs {
        let detail = match dvm.ask(Request::Wait(job))? {
            Reply::Job(detail) => *detail,
            _ => return Err(dvm.astray()),
        };
        if !json {
            put(&render(&detail))?;
        }
        ended.push(detail);
    }
    if json {
        put(&to_json(&ended, &moment))?;
    }
    Ok(exit_code(&ended))
}

fn number_of(dvm: &mut Dvm, job: &WaitedJob) -> Result<JobId, Failure> {
    let job = match job {
        WaitedJob::Number(name) => dvm.number_of(name)?,
        WaitedJob::Task(task) => return dvm.named(task),
    };
    dvm.job(job).map(|_| job)
}

/// The code of the first job that has not ended with 0.
fn exit_code(ended: &[JobDetail]) -> i32 {
    ended.iter().filter_map(|job| job.status.exit_code).find(|code| *code != 0).map_or(0, i32::from)
}

fn render(detail: &JobDetail) -> String {
    let job = &detail.status;
    let task = if job.task.is_empty() { String::new() } else { format!(" ({})", plain(&job.task)) };
    let ending = job.ending.map_or("over", |ending| ending.name());
    format!("Job {}{task} {ending}, exit code {}\n", job.job, job.exit_code.unwrap_or(0))
}

fn to_json(ended: &[JobDetail], moment: &Moment) -> String {
    let jobs: Vec<Ended> = ended.iter().map(|job| Ended::of(job, moment)).collect();
    json::document("waited", moment, Waited { jobs: &jobs, unknown: &[] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdvm::samples;

    /// The exit code of several jobs (spec L116).
    #[test]
    fn the_code_is_that_of_the_first_job_that_has_not_ended_well() {
        let job = |id: u32, code: u8, task: &str| {
            let mut detail = samples::failed();
            detail.status.job = JobId(id);
            detail.status.exit_code = Some(code);
            detail.status.task = task.to_owned();
            detail
        };
        assert_eq!(exit_code(&[job(1, 0, ""), job(2, 0, "")]), 0);
        assert_eq!(exit_code(&[job(1, 0, ""), job(2, 7, ""), job(3, 130, "")]), 7);
        assert_eq!(render(&job(2, 7, "fit\n")), "Job 2 (fit\\n) failed, exit code 7\n");
        insta::assert_snapshot!(to_json(&[job(2, 7, "fit")], &samples::moment()));
    }
}
