//! The head's time for a request, in DVMs of different sizes: what it does not concern should not cost.
//!
//! `sim scale head` shows it. The times are those of the machine; everything else in a simulation is virtual.

use std::time::Duration;

use ferrite_wire::control::Request;

use crate::invariants::Referee;
use crate::queue::Time;
use crate::scenario::{Expect, Scenario, job};
use crate::trace::Keep;
use crate::world::World;

const SECOND: Time = 1_000_000;
/// The time for each kind of request; it is more than the requests need.
const SPAN: Time = 200 * SECOND;
/// The number of requests of each kind.
const REQUESTS: Time = 100;
/// Jobs that are over before the last row.
const HISTORY: Time = 10_000;

/// Measures a part of a run by a clock from outside: the simulator has none.
#[derive(Debug)]
pub(crate) struct Meter {
    clock: fn() -> Duration,
    spent: Duration,
}

impl Meter {
    pub(crate) fn time(&mut self, work: impl FnOnce()) {
        let began = (self.clock)();
        work();
        self.spent += (self.clock)().saturating_sub(began);
    }
}

/// The head's time for one request of a kind.
#[derive(Clone, Debug)]
pub struct WorkRow {
    /// Daemons, the head included.
    pub daemons: u32,
    /// The kind of request.
    pub what: &'static str,
    /// The mean of the time that the head computes for one.
    pub each: Duration,
}

/// Measures the kinds of requests in a DVM of so many daemons, by a clock that tells the time since some moment.
#[must_use]
pub fn head_work(daemons: u32, radix: u32, clock: fn() -> Duration) -> Vec<WorkRow> {
    let last = format!("n{}", daemons - 1);
    let of_span = |span: Time| (0..REQUESTS).map(move |nth| span * SPAN + nth * SECOND);
    let mut scenario = Scenario { persistent: true, ..Scenario::calm(1, daemons, radix) };
    for at in of_span(1) {
        scenario = scenario.with_job(at, job(1, "exit:0"), Expect::Code(0));
    }
    scenario.questions.extend(of_span(2).map(|at| (at, Request::Status)));
    for nth in 0..REQUESTS / 2 {
        let at = 3 * SPAN + 4 * nth * SECOND;
        scenario = scenario.with_shrink(at, &[&last]).with_grow(at + 2 * SECOND, &[&last]);
    }
    for nth in 0..HISTORY {
        scenario = scenario.with_job(5 * SPAN + nth * SPAN / (2 * HISTORY), job(1, "exit:0"), Expect::Code(0));
    }
    for at in of_span(6) {
        scenario = scenario.with_job(at, job(1, "exit:0"), Expect::Code(0));
    }
    let scenario = scenario.with_job(1_000 * SPAN, job(1, "exit:0"), Expect::Code(0));
    let mut world = World::new(scenario, Keep::Unwritten, Referee::blind());
    world.begin();
    world.play_until(SPAN - 1);
    let kinds = [
        ("a job of one process, with its end", REQUESTS),
        ("a status", REQUESTS),
        ("a shrink by one node, or a grow by it", REQUESTS),
        ("a second of nothing", SPAN / SECOND),
        ("10,000 jobs more, each", HISTORY),
        ("a job of one process after them", REQUESTS),
    ];
    let row = |(nth, (what, count)): (usize, (&'static str, Time))| {
        let each = spent_until(&mut world, (nth as Time + 2) * SPAN, count, clock);
        WorkRow { daemons, what, each }
    };
    let mut rows: Vec<WorkRow> = kinds.into_iter().enumerate().map(row).collect();
    rows.push(in_a_full_dvm(daemons, radix, clock));
    rows
}

/// Measures jobs that wait for the only slot that others leave.
fn in_a_full_dvm(daemons: u32, radix: u32, clock: fn() -> Duration) -> WorkRow {
    /// Processes of one of the other jobs.
    const MOST: u32 = 100;
    let mut scenario = Scenario { persistent: true, slots: 1, ..Scenario::calm(1, daemons, radix) };
    let mut left = daemons - 1;
    while left > 0 {
        scenario = scenario.with_job(SPAN / 2, job(left.min(MOST), "forever"), Expect::Code(0));
        left -= left.min(MOST);
    }
    for _ in 0..REQUESTS {
        scenario = scenario.with_job(SPAN, job(1, "exit:0"), Expect::Code(0));
        scenario.jobs.last_mut().into_iter().for_each(|plan| plan.client.patient = true);
    }
    let mut world = World::new(scenario, Keep::Unwritten, Referee::blind());
    world.begin();
    world.play_until(SPAN - 1);
    let each = spent_until(&mut world, 2 * SPAN, REQUESTS, clock);
    WorkRow { daemons, what: "a job of one process that waits for the only free slot", each }
}

/// The head's time for one of so many requests that come before this moment.
fn spent_until(world: &mut World, end: Time, requests: Time, clock: fn() -> Duration) -> Duration {
    world.head_meter = Some(Meter { clock, spent: Duration::ZERO });
    world.play_until(end - 1);
    let spent = world.head_meter.take().map(|meter| meter.spent).unwrap_or_default();
    spent / u32::try_from(requests).unwrap_or(u32::MAX)
}

/// The rows as a markdown table: a line for each kind, a column for each size.
#[must_use]
pub fn head_work_table(sizes: &[Vec<WorkRow>]) -> String {
    let of_sizes = |text: &dyn Fn(&Vec<WorkRow>) -> String| sizes.iter().map(text).collect::<String>();
    let heads = of_sizes(&|rows| format!(" {} daemons |", rows[0].daemons));
    let mut out = format!("| the head's time (us) for |{heads}\n|---|{}\n", "--:|".repeat(sizes.len()));
    for (nth, WorkRow { what, .. }) in sizes.first().into_iter().flatten().enumerate() {
        let times = of_sizes(&|rows| format!(" {:.1} |", rows[nth].each.as_secs_f64() * 1e6));
        out += &format!("| {what} |{times}\n");
    }
    out
}
