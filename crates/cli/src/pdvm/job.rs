//! `pdvm job`: everything about one job.

use ferrite_rm::launcher::shell_quote;
use ferrite_wire::control::{AppRecord, JobDetail, JobRecord, JobStatus, ProcStatus};

use super::dvm::Dvm;
use super::failure::Failure;
use super::jobs::{ago, ran_for_us};
use super::json;
use super::moment::Moment;
use super::options::JobName;
use super::text::{NONE, Side, Table, count, duration, or_none, plain};

pub(super) fn answer(dvm: &mut Dvm, name: &JobName, json: bool) -> Result<String, Failure> {
    let id = dvm.number_of(name)?;
    let (_, moment) = dvm.status()?;
    let detail = dvm.job(id)?;
    Ok(if json { to_json(&detail, &moment) } else { render(&detail, &moment) })
}

fn to_json(detail: &JobDetail, moment: &Moment) -> String {
    json::document("job", moment, json::Detail::of(detail, moment))
}

/// Returns all about a job as text.
pub(super) fn render(detail: &JobDetail, moment: &Moment) -> String {
    let job = &detail.status;
    let mut text = format!("Job {} ({})\n", job.job, plain(&detail.nspace));
    let mut say = |name: &str, value: String| text.push_str(&format!("  {name:<10} {value}\n"));
    say("Name", plain(&job.name));
    say("State", job.state.to_string());
    if !job.waiting_for.is_empty() {
        say("Waits for", plain(&job.waiting_for));
    }
    if job.priority != 0 {
        say("Priority", job.priority.to_string());
    }
    say("Processes", extent(job));
    if !detail.record.session_dir.is_empty() {
        say("Files", format!("{} on the head's node, while its processes use PMIx", plain(&detail.record.session_dir)));
    }
    let record = &detail.record;
    for app in &record.apps {
        let of = if app.procs == 0 { String::new() } else { format!("   ({})", processes_in_words(app.procs)) };
        say("Command", format!("{}{of}", command(app)));
        let wdir = app.wdir.as_deref().map_or_else(|| "one of its own for each process".to_owned(), plain);
        say("Directory", wdir);
    }
    say("Session", format!("{}, with {} to use", record.session, count(record.slots.into(), "slot", "slots")));
    say("Started by", started_by(record));
    say("Bookmark", or_none(Some(plain(&record.bookmark)).filter(|node| !node.is_empty())));
    say("Counts", counts(record));
    if let Some((range, size)) = record.elastic {
        say("Elastic", format!("{} to {} processes with all that it spawns, {size} now", range.min, range.max));
    }
    if !record.sets.is_empty() {
        say("Sets", sets(record));
    }
    if let Some(ending) = job.ending {
        say("Ending", ending.name().to_owned());
    }
    say("Exit code", or_none(job.exit_code));
    say("Submitted", format!("{}, {}", moment.local(job.submitted_us), ago(job.submitted_us, moment)));
    say("Running", or_none(job.running_us.map(|at| running(job, at, moment))));
    say("Ended", or_none(job.ended_us.map(|at| format!("{}, {}", moment.local(at), ago(at, moment)))));
    if !detail.lost_ranks.is_empty() {
        let ranks: Vec<String> = detail.lost_ranks.iter().map(ToString::to_string).collect();
        say("Lost ranks", format!("{} (their nodes have left or were lost)", ranks.join(" ")));
    }
    for (index, line) in detail.cause.lines().enumerate() {
        say(if index == 0 { "Cause" } else { "" }, plain(line));
    }
    text + &states(detail) + &places(&detail.places) + &processes(&detail.procs)
}

/// Returns a command line, and how much of it is missing.
fn command(app: &AppRecord) -> String {
    let words: Vec<String> = app.argv.iter().map(|argument| plain(&shell_quote(argument))).collect();
    let more = match app.left_out {
        0 => String::new(),
        more => format!(" … and {}", count(more.into(), "more argument", "more arguments")),
    };
    words.join(" ") + &more
}

fn processes_in_words(processes: u32) -> String {
    count(processes.into(), "process", "processes")
}

/// The process sets with processes of the job.
fn sets(record: &JobRecord) -> String {
    let set =
        |(name, size): &(String, u32)| format!("{} ({})", plain(name), count((*size).into(), "process", "processes"));
    record.sets.iter().map(set).collect::<Vec<_>>().join(", ")
}

fn started_by(record: &JobRecord) -> String {
    let tool = if record.launcher.is_empty() { NONE.to_owned() } else { plain(&record.launcher) };
    let process = record.parent.map(|proc| format!("rank {} of job {}, ", proc.rank, proc.job)).unwrap_or_default();
    format!("{process}{tool} (personality {})", plain(&record.personality))
}

fn counts(record: &JobRecord) -> String {
    format!(
        "{} launched, {} registered, {} ready for debug, {} terminated; {} of {} reported",
        record.launched,
        record.registered,
        record.ready_for_debug,
        record.terminated,
        record.daemons_reported,
        count(record.daemons.into(), "daemon", "daemons"),
    )
}

fn extent(job: &JobStatus) -> String {
    match job.nodes {
        0 => NONE.to_owned(),
        nodes => {
            let nodes = count(u64::from(nodes), "node", "nodes");
            format!("{} on {nodes}, the first is {}", job.procs, plain(&job.first_node))
        }
    }
}

fn running(job: &JobStatus, at_us: u64, moment: &Moment) -> String {
    let launch = duration(at_us.saturating_sub(job.submitted_us));
    let ran = or_none(ran_for_us(job, moment).map(duration));
    format!("{}, {}, {launch} after its submission, for {ran}", moment.local(at_us), ago(at_us, moment))
}

fn states(detail: &JobDetail) -> String {
    let mut table = Table::new(&[("STATE", Side::Left), ("AFTER", Side::Right)]);
    for (state, at_us) in &detail.states {
        table.row(vec![state.to_string(), duration(at_us.saturating_sub(detail.status.submitted_us))]);
    }
    format!("\n{}", table.render())
}

/// The legend of the lines that show the places of processes.
pub(super) const KEY: &str = "[package] of cores: a rank, {several ranks}, . free, - not available";

fn places(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines: String = lines.iter().map(|line| format!("{}\n", plain(line))).collect();
    format!("\nPLACES   {KEY}\n{lines}")
}

fn processes(processes: &[ProcStatus]) -> String {
    if processes.is_empty() {
        return String::new();
    }
    let columns = [
        ("RANK", Side::Right),
        ("NODE", Side::Left),
        ("PID", Side::Right),
        ("STATE", Side::Left),
        ("BOUND TO", Side::Left),
    ];
    let mut table = Table::new(&columns);
    for process in processes {
        let node = plain(&process.node);
        let pid = or_none(process.pid);
        table.row(vec![process.rank.to_string(), node, pid, process.state.to_string(), bound(process)]);
    }
    format!("\n{}", table.render())
}

fn bound(process: &ProcStatus) -> String {
    let bound = if process.bound_to.is_empty() { NONE } else { &process.bound_to };
    let devices = process.devices.iter().map(|name| plain(name));
    [plain(bound)].into_iter().chain(devices).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdvm::samples;

    #[test]
    fn a_job_that_runs() {
        insta::assert_snapshot!(render(&samples::detail(), &samples::moment()));
        insta::assert_snapshot!(to_json(&samples::detail(), &samples::moment()));
    }

    #[test]
    fn a_job_that_failed_says_why() {
        insta::assert_snapshot!(render(&samples::failed(), &samples::moment()));
        insta::assert_snapshot!(to_json(&samples::failed(), &samples::moment()));
    }

    #[test]
    fn a_job_that_waits_has_no_processes_yet() {
        insta::assert_snapshot!(render(&samples::queued(), &samples::moment()));
        let held = JobDetail { status: samples::held(), ..samples::queued() };
        assert!(
            render(&held, &samples::moment()).contains("WAITING_FOR_DAEMONS\n  Waits for  the DVM's new size (grow 3")
        );
    }
}
