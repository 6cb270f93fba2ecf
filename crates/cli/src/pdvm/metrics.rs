//! `pdvm metrics`: prints the DVM's counters. Prometheus can read the same numbers (parameter `ferrite_metrics`).

use ferrite_wire::control::{Histogram, Metrics};

use super::dvm::Dvm;
use super::failure::Failure;
use super::json::{self, Bucket, Launch, seconds};
use super::moment::Moment;
use super::nodes::shared;
use super::status::headline;
use super::text::{Side, Table, bar, duration};

/// Characters of the longest bar.
const BAR_WIDTH: usize = 30;

pub(super) fn answer(dvm: &mut Dvm, json: bool) -> Result<String, Failure> {
    let metrics = dvm.metrics()?;
    let moment = Moment::now(&metrics.status);
    Ok(if json { to_json(&metrics, &moment) } else { render(&metrics) })
}

fn to_json(metrics: &Metrics, moment: &Moment) -> String {
    json::document("metrics", moment, body(metrics))
}

/// Returns the counters for JSON.
pub(crate) fn body(metrics: &Metrics) -> json::Metrics {
    let status = &metrics.status;
    json::Metrics {
        jobs_submitted: metrics.jobs_submitted,
        jobs_started: metrics.jobs_started,
        jobs_ended: status.jobs_ended,
        jobs_failed: status.jobs_failed,
        processes_started: metrics.procs_started,
        processes_running: status.procs_running,
        output_bytes: metrics.output_bytes,
        stdin_bytes: metrics.stdin_bytes,
        broadcasts: metrics.xcasts,
        daemons_lost: metrics.daemons_lost,
        repairs: metrics.repairs,
        rejoins: metrics.rejoins,
        late_messages: metrics.late_messages.iter().cloned().collect(),
        grows: metrics.grows,
        grows_failed: metrics.grows_failed,
        shrinks: metrics.shrinks,
        campaigns_open: status.campaigns.len() as u64,
        jobs_held: status.jobs_held,
        resources: status.resources.iter().map(json::Resource::of).collect(),
        launch: launch(&metrics.launch),
    }
}

fn launch(histogram: &Histogram) -> Launch {
    let limited =
        histogram.buckets.iter().map(|(limit, count)| Bucket { up_to_s: Some(seconds(*limit)), count: *count });
    let above = Bucket { up_to_s: None, count: histogram.above };
    Launch { count: counted(histogram), sum_s: seconds(histogram.sum_us), buckets: limited.chain([above]).collect() }
}

fn counted(histogram: &Histogram) -> u64 {
    histogram.buckets.iter().map(|(_, count)| count).sum::<u64>() + histogram.above
}

fn render(metrics: &Metrics) -> String {
    let status = &metrics.status;
    let counters = [
        ("Jobs submitted", metrics.jobs_submitted),
        ("Jobs started", metrics.jobs_started),
        ("Jobs ended", status.jobs_ended),
        ("Jobs failed", status.jobs_failed),
        ("Processes started", metrics.procs_started),
        ("Processes running", u64::from(status.procs_running)),
        ("Output (bytes)", metrics.output_bytes),
        ("Input (bytes)", metrics.stdin_bytes),
        ("Broadcasts", metrics.xcasts),
        ("Daemons lost", metrics.daemons_lost),
        ("Tree repairs", metrics.repairs),
        ("Daemons rejoined", metrics.rejoins),
        ("Late messages", metrics.late_messages.iter().map(|(_, count)| count).sum()),
        ("Grown", metrics.grows),
        ("Failed to grow", metrics.grows_failed),
        ("Shrunk", metrics.shrinks),
        ("Changing its size", status.campaigns.len() as u64),
        ("Jobs held by that", u64::from(status.jobs_held)),
    ];
    let width = counters.iter().map(|(_, value)| value.to_string().len()).fold(0, usize::max);
    let lines = counters.iter().map(|(name, value)| format!("  {name:<18} {value:>width$}\n"));
    let counters: String = lines.collect();
    format!("{}\n{counters}{}{}", headline(status), launches(&metrics.launch), shared(status))
}

/// Formats the launches by their time, without the empty buckets at both ends.
fn launches(histogram: &Histogram) -> String {
    let count = counted(histogram);
    if count == 0 {
        return String::new();
    }
    let limited = histogram.buckets.iter().map(|(limit, count)| (format!("up to {}", duration(*limit)), *count));
    let last = histogram.buckets.last().map_or_else(String::new, |(limit, _)| format!("above {}", duration(*limit)));
    let rows: Vec<(String, u64)> = limited.chain([(last, histogram.above)]).collect();
    let taken = |(_, count): &(String, u64)| *count > 0;
    let first = rows.iter().position(taken).unwrap_or(0);
    let end = rows.iter().rposition(taken).map_or(rows.len(), |last| last + 1);
    let most = rows.iter().map(|(_, count)| *count).fold(0, u64::max);
    let mut table = Table::new(&[("LAUNCH TOOK", Side::Left), ("JOBS", Side::Right), ("", Side::Left)]);
    for (name, count) in &rows[first..end] {
        let bar = if *count == 0 { String::new() } else { bar(0, *count, most, BAR_WIDTH) };
        table.row(vec![name.clone(), count.to_string(), bar]);
    }
    let mean = duration(histogram.sum_us / count);
    format!("\nFrom submission to the start of the last process: {mean} on average\n{}", table.render())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdvm::samples;

    #[test]
    fn counters_and_launch_times() {
        insta::assert_snapshot!(render(&samples::metrics()));
        insta::assert_snapshot!(to_json(&samples::metrics(), &samples::moment()));
    }

    #[test]
    fn before_the_first_launch_there_is_no_average() {
        let metrics = Metrics { launch: Histogram::default(), ..samples::metrics() };
        assert!(!render(&metrics).contains("average"));
    }
}
