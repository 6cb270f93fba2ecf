//! Costs at 1 to 10,000 daemons, in frames and bytes.

use std::fmt::Write;

use crate::count::{Cost, Phase};
use crate::invariants::Referee;
use crate::scenario::{Expect, Scenario, job};
use crate::trace::Keep;
use crate::world::run;

/// One line of the table.
#[derive(Clone, Debug)]
pub struct ScaleRow {
    /// Daemons, the head included.
    pub daemons: u32,
    /// Processes of the job.
    pub procs: u32,
    /// Cost of each phase, in order.
    pub phases: Vec<(Phase, Cost)>,
    /// The failure of the run, in words; `None` = all went well.
    pub failure: Option<String>,
}

/// One DVM with one job of `procs` processes, counted.
#[must_use]
pub fn scale(daemons: u32, radix: u32, procs: u32) -> ScaleRow {
    let mut scenario = Scenario::calm(1, daemons, radix);
    scenario.slots = 1;
    let mut spec = job(procs, "exit:0");
    spec.map.by = Some(ferrite_types::MapBy::Node);
    let scenario = scenario.with_job(0, spec, Expect::Code(0));
    let report = run(&scenario, Keep::Nothing, Referee::blind());
    let ended_well = report.head_exit == Some(0) && report.left.is_empty();
    let failure = (!ended_well)
        .then(|| format!("exit {:?}, {} daemons left, {:?}", report.head_exit, report.left.len(), report.notices));
    ScaleRow { daemons, procs, phases: Phase::ALL.map(|p| (p, report.bill.of(p))).to_vec(), failure }
}

/// The rows as a markdown table.
#[must_use]
pub fn scale_table(rows: &[ScaleRow]) -> String {
    let mut out = String::from(
        "| daemons | processes | phase | frames | bytes | head sent | head received | head bytes | virtual time |\n\
         |--:|--:|---|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in rows {
        let mut since = 0;
        for (phase, cost) in &row.phases {
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {:.3} ms |",
                row.daemons,
                row.procs,
                phase.name(),
                cost.frames,
                cost.bytes,
                cost.head_sent,
                cost.head_received,
                cost.head_bytes,
                cost.until.saturating_sub(since) as f64 / 1000.0,
            );
            since = since.max(cost.until);
        }
        if let Some(failure) = &row.failure {
            let _ = writeln!(out, "| {} | {} | **failed** | {failure} | | | | | |", row.daemons, row.procs);
        }
    }
    out
}
