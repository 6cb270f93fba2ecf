//! `pdvm jobs`: a table of all jobs that the DVM remembers.

use ferrite_wire::control::JobStatus;

use super::dvm::Dvm;
use super::failure::Failure;
use super::json;
use super::moment::Moment;
use super::options::JobsOptions;
use super::text::{NONE, Side, Table, cut, cut_front, duration, or_none, plain};
use super::tree;

/// The most characters of a command line and of a directory; `pdvm job` and JSON have more.
pub(super) const COMMAND_WIDTH: usize = 40;
const DIRECTORY_WIDTH: usize = 24;

pub(super) fn answer(dvm: &mut Dvm, how: &JobsOptions, json: bool) -> Result<String, Failure> {
    let (_, moment) = dvm.status()?;
    let jobs = if how.all { dvm.all_jobs()? } else { dvm.jobs()? };
    if how.tree {
        let jobs = tree::with_parents(jobs, |parent| Ok(dvm.find_job(parent)?.map(|detail| detail.status)))?;
        return Ok(if json { tree::to_json(&jobs, &moment) } else { tree::render(&jobs, &moment) });
    }
    Ok(if json { to_json(&jobs, &moment) } else { render(&jobs, &moment) })
}

fn to_json(jobs: &[JobStatus], moment: &Moment) -> String {
    json::document("jobs", moment, json::Jobs::of(jobs, moment))
}

/// The text for an empty list.
pub(super) const NO_JOBS: &str = "There is no job: none was submitted, or all are forgotten.\n";

fn render(jobs: &[JobStatus], moment: &Moment) -> String {
    if jobs.is_empty() {
        return NO_JOBS.to_owned();
    }
    // Most DVMs need no column for it.
    let has_priorities = jobs.iter().any(|job| job.priority != 0);
    let mut columns = vec![
        ("JOB", Side::Right),
        ("STATE", Side::Left),
        ("PROCS", Side::Right),
        ("NODES", Side::Right),
        ("FIRST NODE", Side::Left),
        ("EXIT", Side::Right),
        ("SUBMITTED", Side::Right),
        ("RAN FOR", Side::Right),
        ("ENDED", Side::Right),
        ("COMMAND", Side::Left),
        ("DIRECTORY", Side::Left),
        ("WAITS FOR", Side::Left),
    ];
    if has_priorities {
        columns.insert(2, ("PRIO", Side::Right));
    }
    let mut table = Table::new(&columns);
    for job in jobs {
        let mut row = row(job, moment);
        if has_priorities {
            row.insert(2, job.priority.to_string());
        }
        table.row(row);
    }
    table.render()
}

fn row(job: &JobStatus, moment: &Moment) -> Vec<String> {
    vec![
        job.job.to_string(),
        state(job),
        job.procs.to_string(),
        job.nodes.to_string(),
        first_node(job),
        or_none(job.exit_code),
        moment.short(job.submitted_us),
        or_none(ran_for_us(job, moment).map(duration)),
        or_none(job.ended_us.map(|at| ago(at, moment))),
        cut(&job.command, COMMAND_WIDTH),
        job.wdir.as_deref().map_or_else(|| NONE.to_owned(), |wdir| cut_front(wdir, DIRECTORY_WIDTH)),
        plain(&job.waiting_for),
    ]
}

/// Returns the name of a job's first node.
pub(super) fn first_node(job: &JobStatus) -> String {
    if job.first_node.is_empty() { NONE.to_owned() } else { plain(&job.first_node) }
}

/// Formats the end of a job, or its state while it goes on.
pub(super) fn state(job: &JobStatus) -> String {
    job.ending.map_or_else(|| job.state.to_string(), |ending| ending.name().to_owned())
}

/// Formats the age of a time of the DVM, such as `2.0 s ago`.
pub(super) fn ago(at_us: u64, moment: &Moment) -> String {
    format!("{} ago", duration(moment.since_us(at_us)))
}

/// Returns the time from the start of a job's last process to its end, or to now (microseconds); `None` when its
/// processes never all ran.
pub(super) fn ran_for_us(job: &JobStatus, moment: &Moment) -> Option<u64> {
    job.running_us.map(|began| job.ended_us.unwrap_or(moment.dvm_us).saturating_sub(began))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdvm::samples;

    #[test]
    fn jobs_that_run_wait_and_are_over() {
        insta::assert_snapshot!(render(&samples::jobs(), &samples::moment()));
        insta::assert_snapshot!(to_json(&samples::jobs(), &samples::moment()));
    }

    #[test]
    fn priorities_have_a_column_when_there_are_any() {
        let mut jobs = samples::jobs();
        assert!(!render(&jobs, &samples::moment()).contains("PRIO"));
        jobs[0].priority = -7;
        let text = render(&jobs, &samples::moment());
        let cells: Vec<&str> = text.lines().map(|line| line.split_whitespace().nth(2).unwrap_or_default()).collect();
        assert_eq!(cells[..3], ["PRIO", "-7", "0"], "{text}");
    }

    #[test]
    fn without_jobs_the_list_says_so() {
        assert_eq!(render(&[], &samples::moment()), NO_JOBS);
    }
}
