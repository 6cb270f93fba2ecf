//! The simulated world: thousands of daemons in one process, with a virtual clock, network, launcher and processes. It
//! runs the real state machines of `core`, and a referee checks them.
//!
//! * [`Scenario`]: the content of a run, drawn from a seed or written by hand. A persistent one has a phase of faults
//!   and then a quiet phase, in which the rest of the DVM has to run the next job.
//! * [`fault`]: faults of daemons and the network, and the list that real nodes play as well.
//! * [`run`]: plays a scenario; [`check`] plays it twice and compares.
//! * [`invariants`]: the guarantees, one file each.
//! * [`fn@minimize`], [`story`], [`fn@replay`]: a scenario that breaks a guarantee becomes a small one, a text, and a
//!   run that stops at the event in question and shows the state of its daemons.
//!
//! The tests of this crate and its binary `sim` (`cargo xtask sim`) use it. The library reads no clock, file or
//! environment, and starts no thread: a run depends on its seed alone.

mod apply;
mod calls;
mod children;
mod collectives;
mod count;
mod deadlines;
mod describe;
mod draw;
mod elastic;
mod event;
pub mod fault;
mod fences;
mod files;
mod fills;
mod handshakes;
mod head_work;
mod host;
mod idle;
pub mod invariants;
mod job_sizes;
mod lanes;
mod links;
mod local;
mod manager;
mod messages;
mod minimize;
mod mutation;
mod network;
mod orders;
mod pmix;
pub mod process;
mod queue;
mod queues;
mod replay;
mod resize;
mod rng;
mod scale;
mod scenario;
mod sessions;
mod sizes;
mod spreads;
mod steps;
pub mod story;
mod trace;
mod workload;
mod works;
mod world;

pub use children::ChildPlan;
pub use collectives::{Collective, Way, collective, collectives_table};
pub use count::{Bill, Cost, Phase, Spent};
pub use elastic::{Asker, Elastic, ResizePlan};
pub use fault::Fault;
pub use fences::{FenceRow, fence, fence_table};
pub use head_work::{WorkRow, head_work, head_work_table};
pub use idle::{IdleRow, RepairRow, idle, idle_table, repair, repair_table};
pub use invariants::{Referee, Violation};
pub use manager::ManagerPlan;
pub use minimize::{Minimized, minimize};
pub use mutation::Mutation;
pub use network::Weather;
pub use replay::{Replay, replay};
pub use rng::Rng;
pub use scale::{OneJobRow, ScaleRow, one_job, one_job_table, scale, scale_table};
pub use scenario::{Ending, Expect, FULL, Fate, JobPlan, Scenario, job};
pub use sizes::{SizeRow, sizes, sizes_table};
pub use trace::Keep;
pub use workload::{Workload, WorkloadRow, workload, workload_table};
pub use world::{Gone, Report, run};

/// The guarantee that [`check`] adds to those of the referee.
const EQUAL_RUNS: &str = "equal seeds give equal runs";

/// True when a scenario breaks this guarantee. The scenario is played once if that is enough.
#[must_use]
pub fn breaks(scenario: &Scenario, invariant: &str) -> bool {
    let report = match invariant {
        EQUAL_RUNS => check(scenario),
        _ => run(scenario, Keep::Nothing, Referee::strict(scenario)),
    };
    report.violation.is_some_and(|v| v.invariant == invariant)
}

/// Plays a scenario twice and checks all guarantees. A difference between the two runs is a violation too.
#[must_use]
pub fn check(scenario: &Scenario) -> Report {
    let mut first = run(scenario, Keep::Last(40, Default::default()), Referee::strict(scenario));
    if first.violation.is_some() {
        return first;
    }
    // The referee changes nothing, so its verdict on the first run holds for an equal second run.
    let second = run(scenario, Keep::Nothing, Referee::blind());
    if first.fingerprint != second.fingerprint {
        first.violation = Some(Violation {
            invariant: EQUAL_RUNS,
            at: first.end,
            text: format!("{:?} and {:?}", first.fingerprint, second.fingerprint),
        });
    }
    first
}
