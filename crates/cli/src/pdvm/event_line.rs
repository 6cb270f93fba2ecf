//! The lines of `pdvm events --json`, which the service writes as well (`follow` with `all`).

use ferrite_wire::control::{Event, EventKind};
use serde::Serialize;

use super::json::{SCHEMA, change, seconds};

/// One line.
#[derive(Serialize)]
pub(crate) struct Line {
    schema: u32,
    #[serde(flatten)]
    what: What,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum What {
    JobState { at_s: f64, job: u32, state: &'static str },
    Campaign { at_s: f64, campaign: u32, change: &'static str, step: &'static str },
    JobSize { at_s: f64, job: u32, change: &'static str, processes: u32, step: &'static str },
    ProcessState { at_s: f64, job: u32, rank: u32, state: &'static str },
    EventsLost { count: u64 },
    DvmEnded { dvm: String },
}

impl Line {
    /// Makes the line of a step.
    pub(crate) fn of(event: &Event) -> Line {
        let at_s = seconds(event.at_us);
        let what = match event.what {
            EventKind::Campaign { campaign, kind, step } => {
                What::Campaign { at_s, campaign: campaign.0, change: change(kind), step: step.name() }
            }
            EventKind::Size { job, is_offer, procs, step } => {
                let change = if is_offer { "more" } else { "fewer" };
                What::JobSize { at_s, job: job.0, change, processes: procs, step: step.name() }
            }
            EventKind::Job { job, state } => What::JobState { at_s, job: job.0, state: state.name() },
            EventKind::Proc { job, rank, state } => {
                What::ProcessState { at_s, job: job.0, rank: rank.0, state: state.name() }
            }
        };
        Line { schema: SCHEMA, what }
    }

    /// Makes the line for the end of the DVM.
    pub(crate) fn ended(dvm: &str) -> Line {
        Line { schema: SCHEMA, what: What::DvmEnded { dvm: dvm.to_owned() } }
    }

    /// Makes the line for steps that were left out.
    pub(crate) fn lost(count: u64) -> Line {
        Line { schema: SCHEMA, what: What::EventsLost { count } }
    }
}
