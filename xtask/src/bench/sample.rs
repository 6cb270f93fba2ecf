//! Repeated runs of commands side by side: times, spread, and what went wrong.
//!
//! Runs on a node of the bed, so that a hung run can be swept away with all that it started.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::runner::wait;
use crate::testbed::sweep_own_namespace;

/// A run that takes longer hangs.
const HANG_LIMIT: Duration = Duration::from_secs(10);
/// The number of hangs after which a contender is left out.
const ENOUGH_HANGS: usize = 3;

/// One thing to measure.
pub(super) struct Contender {
    pub(super) name: String,
    /// Commands that are started at once; the time ends with the last one.
    pub(super) commands: Vec<Vec<String>>,
    pub(super) env: Vec<(&'static str, String)>,
}

impl Contender {
    pub(super) fn new(name: &str, line: &str) -> Self {
        Self {
            name: name.into(),
            commands: vec![line.split_whitespace().map(str::to_owned).collect()],
            env: Vec::new(),
        }
    }

    /// Several commands side by side.
    pub(super) fn parallel(name: &str, lines: impl IntoIterator<Item = String>) -> Self {
        let commands = lines.into_iter().map(|l| l.split_whitespace().map(str::to_owned).collect()).collect();
        Self { name: name.into(), commands, env: Vec::new() }
    }

    pub(super) fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.env.push((name, value.into()));
        self
    }

    fn start(&self) -> Result<Vec<Child>> {
        let start = |words: &Vec<String>| {
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]).envs(self.env.iter().map(|(n, v)| (n, v)));
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
        };
        Ok(self.commands.iter().map(start).collect::<Result<_, _>>()?)
    }
}

/// The times of one contender.
#[derive(Default)]
pub(super) struct Times {
    /// Milliseconds of the good runs.
    times: Vec<f64>,
    hangs: usize,
    failures: usize,
}

impl Times {
    pub(super) fn add(&mut self, end: End) {
        match end {
            End::Good(time) => self.times.push(time.as_secs_f64() * 1e3),
            End::Failed => self.failures += 1,
            End::Hung => self.hangs += 1,
        }
    }

    pub(super) fn good(&mut self, time: Duration) {
        self.add(End::Good(time));
    }

    pub(super) fn bad(&mut self) {
        self.add(End::Failed);
    }

    pub(super) fn hung(&mut self) {
        self.add(End::Hung);
    }

    /// True after so many hangs that another run is a waste of time.
    pub(super) fn is_left_out(&self) -> bool {
        self.hangs >= ENOUGH_HANGS
    }

    pub(super) fn good_runs(&self) -> usize {
        self.times.len()
    }

    pub(super) fn bad_runs(&self) -> usize {
        self.failures + self.hangs
    }

    pub(super) fn worst(&mut self) -> String {
        show(self.percentile(1.0))
    }

    /// Median, 99th percentile, worst, good runs, bad ones: cells of a table.
    pub(super) fn tail(&mut self) -> String {
        let (median, late, worst) = (self.median(), self.percentile(0.99), self.percentile(1.0));
        format!("{} | {} | {} | {} | {}", show(median), show(late), show(worst), self.good_runs(), self.bad_runs())
    }

    /// `median (p10 - p90)`.
    pub(super) fn short(&mut self) -> String {
        let (median, low, high) = (self.median(), self.percentile(0.1), self.percentile(0.9));
        format!("{} ({} - {})", show(median), show(low), show(high))
    }

    /// Median, spread, 99th percentile, worst, good runs, bad ones: cells of a table.
    pub(super) fn long(&mut self) -> String {
        let (median, low, high) = (self.median(), self.percentile(0.1), self.percentile(0.9));
        let (late, worst) = (self.percentile(0.99), self.percentile(1.0));
        let bad = self.bad_runs();
        let good = self.times.len();
        format!("{} | {} - {} | {} | {} | {good} | {bad}", show(median), show(low), show(high), show(late), show(worst))
    }

    pub(super) fn median(&mut self) -> Option<f64> {
        self.percentile(0.5)
    }

    fn percentile(&mut self, part: f64) -> Option<f64> {
        self.times.sort_by(f64::total_cmp);
        let last = self.times.len().checked_sub(1)?;
        self.times.get((part * last as f64).round() as usize).copied()
    }

    /// Median, spread, good runs, hangs, failures: cells of a table.
    pub(super) fn cells(&mut self) -> String {
        let (median, low, high) = (self.median(), self.percentile(0.1), self.percentile(0.9));
        format!(
            "{} | {} - {} | {} | {} | {}",
            show(median),
            show(low),
            show(high),
            self.times.len(),
            self.hangs,
            self.failures
        )
    }
}

fn show(milliseconds: Option<f64>) -> String {
    milliseconds.map_or("-".to_owned(), |v| if v < 100.0 { format!("{v:.1}") } else { format!("{v:.0}") })
}

/// The end of a run.
pub(super) enum End {
    Good(Duration),
    Failed,
    Hung,
}

/// Runs every contender `runs` times, in turns, so that a change of the machine's load affects all of them.
pub(super) fn compare(contenders: &[Contender], runs: usize, others: &[String]) -> Result<Vec<Times>> {
    let mut results: Vec<Times> = contenders.iter().map(|_| Times::default()).collect();
    for contender in contenders {
        // The first run fills the caches and is not counted.
        once(contender, others)?;
    }
    for _ in 0..runs {
        for (contender, result) in contenders.iter().zip(&mut results) {
            if !result.is_left_out() {
                result.add(once(contender, others)?);
            }
        }
    }
    Ok(results)
}

/// Runs a contender. After a bad end, nothing of it is left on this node and on `others`.
pub(super) fn once(contender: &Contender, others: &[String]) -> Result<End> {
    let start = Instant::now();
    let Ok(children) = contender.start() else { return Ok(End::Failed) };
    let mut end = None;
    for mut child in children {
        let left = HANG_LIMIT.saturating_sub(start.elapsed());
        end = match (wait(&mut child, left)?, end) {
            (None, _) | (_, Some(End::Hung)) => Some(End::Hung),
            (Some(status), None) if status.success() => None,
            (Some(_), _) => Some(End::Failed),
        };
    }
    let end = end.unwrap_or(End::Good(start.elapsed()));
    if !matches!(end, End::Good(_)) {
        clean(others)?;
    }
    Ok(end)
}

/// Ends all processes of a bad run, which could slow the next one down.
pub(super) fn clean(others: &[String]) -> Result<()> {
    sweep_own_namespace()?;
    let own = std::env::current_exe()?;
    for host in others {
        let _ = Command::new("ssh").arg(host).arg(&own).arg("_sweep").stdin(Stdio::null()).status();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_that_of_the_good_runs_alone() {
        let mut result = Times::default();
        (1..=11).for_each(|ms| result.add(End::Good(Duration::from_millis(ms))));
        result.add(End::Hung);
        result.add(End::Failed);
        assert_eq!(result.cells(), "6.0 | 2.0 - 10.0 | 11 | 1 | 1");
        assert_eq!(Times::default().cells(), "- | - - - | 0 | 0 | 0");
    }
}
