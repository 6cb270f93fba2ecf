//! `pdvm status`: shows the DVM on one screen, and what it and its jobs wait for.

use ferrite_types::JobState;
use ferrite_wire::control::{CampaignStatus, DvmStatus, JobStatus};

use super::dvm::Dvm;
use super::failure::Failure;
use super::json::{self, Waiting};
use super::moment::Moment;
use super::nodes::in_words;
use super::text::{Side, Table, count, cut, duration, or_none, plain};

/// The most jobs that are shown; the others are counted.
const SHOWN: usize = 20;

/// The most characters of a name.
pub(super) const NAME_WIDTH: usize = 32;

pub(super) fn answer(dvm: &mut Dvm, json: bool) -> Result<String, Failure> {
    let (status, moment) = dvm.status()?;
    let jobs = dvm.jobs()?;
    Ok(if json { to_json(&status, &jobs, &moment) } else { render(&status, &jobs) })
}

/// Returns the jobs that are not over: first those that wait for the DVM, then those whose processes run.
fn waiting(jobs: &[JobStatus]) -> Vec<&JobStatus> {
    let mut waiting: Vec<&JobStatus> = jobs.iter().filter(|job| !job.waiting_for.is_empty()).collect();
    waiting.sort_by_key(|job| job.running_us.is_some());
    waiting
}

fn to_json(status: &DvmStatus, jobs: &[JobStatus], moment: &Moment) -> String {
    json::document("status", moment, body(status, jobs))
}

/// Returns the status for JSON.
pub(crate) fn body(status: &DvmStatus, jobs: &[JobStatus]) -> json::Status {
    json::Status::of(status, waiting(jobs).into_iter().map(Waiting::of).collect())
}

fn render(status: &DvmStatus, jobs: &[JobStatus]) -> String {
    let mut text = headline(status) + "\n";
    let failed = match status.jobs_failed {
        0 => String::new(),
        failed => format!(" ({failed} of them failed)"),
    };
    let lines = [
        ("Waits for", waits_for(status)),
        ("Nodes", format!("{}, {} with a daemon", status.nodes, status.daemons)),
        ("Slots", format!("{} of {} in use", status.slots_in_use, status.slots)),
        ("Processes", format!("{} running", status.procs_running)),
        (
            "Jobs",
            format!(
                "{} running, {} queued{}, {} ended{failed}",
                status.jobs_running,
                status.jobs_queued,
                held(status),
                status.jobs_ended
            ),
        ),
    ];
    let shared = (!status.resources.is_empty()).then(|| ("Shared", in_words(&status.resources)));
    let lines = lines.into_iter().chain(shared);
    lines.for_each(|(name, value)| text.push_str(&format!("  {name:<10} {value}\n")));
    text + &campaigns_table(status) + &waiting_table(&waiting(jobs))
}

/// Formats the jobs that wait for a change of the DVM's size; empty when no job does.
pub(super) fn held(status: &DvmStatus) -> String {
    if status.jobs_held == 0 { String::new() } else { format!(", {} held", status.jobs_held) }
}

/// Formats the first line, such as `DVM prte-n0-1 (Ferrite 0.1.0), up for 2.0 s, VM_READY`.
pub(super) fn headline(status: &DvmStatus) -> String {
    let state = or_none(status.state.map(JobState::name));
    format!("DVM {} (Ferrite {}), up for {}, {state}", plain(&status.dvm), status.version, duration(status.now_us))
}

/// Returns in words what the DVM waits for, also when it waits for nothing.
pub(super) fn waits_for(status: &DvmStatus) -> String {
    if status.waiting_for.is_empty() { "nothing".to_owned() } else { plain(&status.waiting_for) }
}

fn campaigns_table(status: &DvmStatus) -> String {
    if status.campaigns.is_empty() {
        return String::new();
    }
    let columns = [
        ("CAMPAIGN", Side::Left),
        ("STEP", Side::Left),
        ("FOR", Side::Right),
        ("ALLOCATION", Side::Left),
        ("NODES", Side::Left),
        ("WAITS FOR", Side::Left),
    ];
    let mut table = Table::new(&columns);
    for campaign in &status.campaigns {
        let CampaignStatus { campaign, kind, step, pushed, alloc_id, nodes, waiting_for, began_us } = campaign;
        table.row(vec![
            format!("{kind} {campaign}"),
            format!("{step}{}", if *pushed { ", pushed by the scheduler" } else { "" }),
            duration(status.now_us.saturating_sub(*began_us)),
            plain(alloc_id),
            cut(&nodes.join(", "), NAME_WIDTH),
            plain(waiting_for),
        ]);
    }
    format!("\n{}", table.render())
}

fn waiting_table(jobs: &[&JobStatus]) -> String {
    if jobs.is_empty() {
        return String::new();
    }
    let columns = [("JOB", Side::Right), ("STATE", Side::Left), ("NAME", Side::Left), ("WAITS FOR", Side::Left)];
    let mut table = Table::new(&columns);
    for job in jobs.iter().take(SHOWN) {
        let name = cut(&job.name, NAME_WIDTH);
        table.row(vec![job.job.to_string(), job.state.to_string(), name, plain(&job.waiting_for)]);
    }
    let more = match jobs.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("and {}: see `pdvm jobs`\n", count(more as u64, "more job", "more jobs")),
    };
    format!("\n{}{more}", table.render())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdvm::samples;

    #[test]
    fn a_busy_dvm() {
        insta::assert_snapshot!(render(&samples::status(), &samples::jobs()));
        insta::assert_snapshot!(to_json(&samples::status(), &samples::jobs(), &samples::moment()));
    }

    #[test]
    fn a_dvm_that_waits_for_its_daemons_says_so() {
        let waiting_for = "the daemons of n3 to report".to_owned();
        let status =
            DvmStatus { waiting_for, state: Some(JobState::DaemonsLaunched), jobs_failed: 0, ..samples::status() };
        insta::assert_snapshot!(render(&status, &[]));
    }

    #[test]
    fn a_dvm_that_changes_its_size_shows_each_campaign_and_who_waits_for_it() {
        insta::assert_snapshot!(render(&samples::changing(), &[samples::held()]));
        insta::assert_snapshot!(to_json(&samples::changing(), &[samples::held()], &samples::moment()));
    }

    #[test]
    fn a_long_queue_is_counted() {
        let jobs = vec![samples::queued().status; SHOWN + 2];
        let text = render(&samples::status(), &jobs);
        assert!(text.ends_with("\nand 2 more jobs: see `pdvm jobs`\n"), "{text}");
    }
}
