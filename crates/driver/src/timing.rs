//! Times of the phases of a start (`--prtemca ferrite_timing 1`), between the states of the daemons' job and of the
//! first job.

use std::fmt::Write as _;

use ferrite_core::Transition;
use ferrite_types::{Duration, JobId, JobState, Timestamp};

/// A phase ends when its job enters its state.
const PHASES: &[(&str, JobId, JobState)] = &[
    ("start daemons", JobId::DAEMONS, JobState::DaemonsReported),
    ("wire up", JobId::DAEMONS, JobState::VmReady),
    ("map", JobId(1), JobState::MapComplete),
    ("launch", JobId(1), JobState::Running),
    ("run", JobId(1), JobState::Terminated),
];

/// The end times of the phases.
pub(crate) struct Timing {
    started: Timestamp,
    ends: Vec<(&'static str, Timestamp)>,
}

impl Timing {
    /// Starts with the machine; the time before it is the start of the process.
    pub(crate) fn new(now: Timestamp) -> Timing {
        Timing { started: now, ends: Vec::new() }
    }

    /// Notes a transition that ends a phase.
    pub(crate) fn note(&mut self, now: Timestamp, step: &Transition) {
        let Transition::Job { job, to, .. } = step else {
            return;
        };
        let found = PHASES.iter().find(|(_, j, s)| j == job && s == to);
        if let Some((name, ..)) = found
            && self.ends.iter().all(|(earlier, _)| earlier != name)
        {
            self.ends.push((name, now));
        }
    }

    /// Returns one line per phase, and the sum.
    pub(crate) fn report(&self, now: Timestamp) -> String {
        let mut text = String::from("Where the time went:\n");
        let mut line = |name: &str, time: Duration| {
            let _ = writeln!(text, "  {name:<14} {:>12}", time.to_string());
        };
        line("start-up", self.started - Timestamp(0));
        let mut last = self.started;
        for (name, at) in &self.ends {
            line(name, *at - last);
            last = *at;
        }
        line("teardown", now - last);
        line("in all", now - Timestamp(0));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_follow_each_other_and_add_up() {
        let mut timing = Timing::new(Timestamp(1_000));
        let step = |job, to| Transition::Job { job, from: None, to };
        timing.note(Timestamp(3_000), &step(JobId::DAEMONS, JobState::DaemonsReported));
        timing.note(Timestamp(4_500), &step(JobId(1), JobState::Running));
        let report = timing.report(Timestamp(5_000));
        let times: Vec<&str> = report.lines().map(|l| l.trim()).collect();
        assert_eq!(times[1], "start-up           1.000 ms");
        assert_eq!(times[3], "launch             1.500 ms");
        assert_eq!(times[5], "in all             5.000 ms");
    }
}
