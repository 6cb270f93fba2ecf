//! The result of a finished job, as one line of JSON; and the progress of the list.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ferrite_types::JobId;
use ferrite_wire::control::JobStatus;
use serde::Serialize;

/// Version of the form of results; it is raised when a field changes its meaning or is removed.
pub(crate) const SCHEMA: u32 = 1;

/// One result.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome<'a> {
    pub(crate) schema: u32,
    /// `ended`; other records have other fields.
    pub(crate) record: &'static str,
    /// Number of the job, counted from 0 in the order of lines.
    pub(crate) index: u64,
    /// Number of the line, counted from 1.
    pub(crate) line: u64,
    pub(crate) id: Option<&'a str>,
    pub(crate) job: Option<u32>,
    pub(crate) exit_code: Option<u8>,
    /// As `pdvm` says it, or one of the constants of this file.
    pub(crate) ending: &'static str,
    pub(crate) attempts: u32,
    pub(crate) queued: Option<f64>,
    pub(crate) started: Option<f64>,
    pub(crate) ended: Option<f64>,
    pub(crate) node: Option<String>,
    pub(crate) error: Option<&'a str>,
}

/// The record of a job that is over. Each job has one.
pub(crate) const ENDED: &str = "ended";

/// The first record of a detached batch.
#[derive(Debug, Serialize)]
pub(crate) struct Begun<'a> {
    pub(crate) schema: u32,
    pub(crate) record: &'static str,
    pub(crate) dvm: &'a str,
    pub(crate) batch: u32,
}

/// A step of a job of a detached batch.
#[derive(Debug, Serialize)]
pub(crate) struct Step<'a> {
    pub(crate) schema: u32,
    /// `submitted` or `started`.
    pub(crate) record: &'static str,
    pub(crate) index: u64,
    pub(crate) line: u64,
    pub(crate) id: Option<&'a str>,
    pub(crate) job: u32,
    pub(crate) attempt: u32,
    /// Seconds since 1970.
    pub(crate) at: f64,
}

/// Formats a record as a line.
pub(crate) fn line_of(record: &impl Serialize) -> String {
    serde_json::to_string(record).expect("numbers and texts can be written as JSON") + "\n"
}

/// The time (seconds since 1970, to the millisecond).
pub(crate) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| (d.as_secs_f64() * 1e3).round() / 1e3)
}

/// The ending of a job that was never started: the list was stopped before.
pub(crate) const NOT_RUN: &str = "not_run";
/// The ending of a job that this command has ended.
pub(crate) const CANCELLED: &str = "cancelled";
/// The ending of a job that could not be submitted.
pub(crate) const REFUSED: &str = "refused";
/// The ending of a job whose DVM was lost.
pub(crate) const UNKNOWN: &str = "unknown";

impl<'a> Outcome<'a> {
    /// A job that has not run.
    pub(crate) fn without_run(index: u64, line: u64, id: Option<&'a str>, ending: &'static str) -> Outcome<'a> {
        Outcome {
            schema: SCHEMA,
            record: ENDED,
            index,
            line,
            id,
            job: None,
            exit_code: None,
            ending,
            attempts: 0,
            queued: None,
            started: None,
            ended: None,
            node: None,
            error: None,
        }
    }
}

impl Outcome<'_> {
    /// Formats the result as a line.
    pub(crate) fn line(&self) -> String {
        line_of(self)
    }
}

/// The start of a DVM by this machine's clock (seconds since 1970).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epoch(f64);

impl Epoch {
    /// Computes the start from the age of the DVM (microseconds).
    pub(crate) fn of(age_us: u64) -> Epoch {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64());
        Epoch(now - age_us as f64 / 1e6)
    }

    /// Returns a time of the DVM as seconds since 1970, to the millisecond.
    pub(crate) fn at(self, us: u64) -> f64 {
        ((self.0 + us as f64 / 1e6) * 1e3).round() / 1e3
    }

    /// Fills in what the DVM knows of a job.
    pub(crate) fn fill(self, outcome: &mut Outcome<'_>, status: &JobStatus) {
        let JobStatus { job: JobId(job), submitted_us, running_us, ended_us, first_node, .. } = status;
        outcome.job = Some(*job);
        outcome.queued = Some(self.at(*submitted_us));
        outcome.started = running_us.map(|us| self.at(us));
        outcome.ended = ended_us.map(|us| self.at(us));
        outcome.node = Some(first_node.clone()).filter(|node| !node.is_empty());
    }
}

/// The progress of the list.
#[derive(Debug)]
pub(crate) struct Progress {
    began: Instant,
    /// Number of jobs, when it is known.
    pub(crate) total: Option<u64>,
    pub(crate) ended: u64,
    pub(crate) failed: u64,
}

/// Width of the bar (columns).
const BAR: usize = 30;

impl Progress {
    pub(crate) fn new(total: Option<u64>) -> Progress {
        Progress { began: Instant::now(), total, ended: 0, failed: 0 }
    }

    /// Formats the progress as a line without its end.
    pub(crate) fn line(&self, open: usize) -> String {
        self.line_after(open, self.began.elapsed())
    }

    fn line_after(&self, open: usize, elapsed: Duration) -> String {
        let rate = self.ended as f64 / elapsed.as_secs_f64().max(0.001);
        let counted = match self.total.filter(|total| *total > 0) {
            Some(total) => {
                let full = (self.ended.min(total) as usize * BAR) / total as usize;
                format!("[{}{}] {}/{total}", "#".repeat(full), ".".repeat(BAR - full), self.ended)
            }
            None => format!("{} done", self.ended),
        };
        let text = format!("{counted}, {} failed, {open} open, {}", self.failed, pace(rate));
        match self.total.filter(|total| *total > self.ended && self.ended > 0) {
            Some(total) => format!("{text}, {} left", left((total - self.ended) as f64 / rate)),
            None => text,
        }
    }
}

/// Formats jobs per second; slow lists are counted by the minute or the hour.
fn pace(rate: f64) -> String {
    match rate {
        r if r >= 10.0 => format!("{r:.0}/s"),
        r if r >= 1.0 => format!("{r:.1}/s"),
        r if r * 60.0 >= 1.0 => format!("{:.1}/min", r * 60.0),
        r => format!("{:.1}/h", r * 3_600.0),
    }
}

/// Formats the remaining time.
fn left(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{}:{:02} min", seconds / 60, seconds % 60),
        _ => format!("{}:{:02} h", seconds / 3_600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_says_how_fast_the_list_is_and_how_long_it_will_take() {
        let line = |ended, total, seconds| {
            let progress = Progress { ended, ..Progress::new(total) };
            progress.line_after(2, Duration::from_secs(seconds))
        };
        assert!(line(5, Some(10), 1).ends_with("5/10, 0 failed, 2 open, 5.0/s, 1 s left"));
        assert!(line(100, Some(10_000), 4).ends_with(", 25/s, 6:36 min left"));
        assert!(line(1, Some(100), 100).ends_with(", 36.0/h, 2:45 h left"));
        assert!(line(0, Some(100), 100).ends_with(", 0.0/h"), "nothing is known yet");
        assert!(line(10, Some(10), 100).ends_with(", 6.0/min"));
        assert!(line(30, None, 10).ends_with("30 done, 0 failed, 2 open, 3.0/s"));
    }

    #[test]
    fn a_result_is_one_line_with_every_field() {
        let outcome = Outcome {
            started: Some(Epoch(1_790_000_000.0).at(1_234_567)),
            error: Some("no"),
            ..Outcome::without_run(0, 2, Some("a\nb"), NOT_RUN)
        };
        assert_eq!(
            outcome.line(),
            "{\"schema\":1,\"record\":\"ended\",\"index\":0,\"line\":2,\"id\":\"a\\nb\",\"job\":null,\"exit_code\":null,\"ending\":\"not_run\",\"attempts\":0,\
             \"queued\":null,\"started\":1790000001.235,\"ended\":null,\"node\":null,\"error\":\"no\"}\n"
        );
    }

    #[test]
    fn the_bar_is_full_at_the_end() {
        let mut progress = Progress::new(Some(3));
        assert!(progress.line(1).starts_with("[..............................] 0/3, 0 failed, 1 open, "));
        progress.ended = 3;
        assert!(progress.line(0).starts_with("[##############################] 3/3"));
        assert!(Progress::new(None).line(0).starts_with("0 done, "));
    }
}
