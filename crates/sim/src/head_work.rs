//! The head's time for a request, in DVMs of different sizes: what it does not concern should not cost.
//!
//! `sim scale head` shows it. The times are those of the machine; everything else in a simulation is virtual.
//! `cargo xtask bench head` has callgrind count the instructions below each function of [`counted`].

use std::time::Duration;

use ferrite_types::{HostEntry, HostRef};
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

/// A function for each kind of request, in which the head works on it: callgrind tells them apart by their names.
mod counted {
    /// One of them.
    pub(super) type Kind = fn(&mut dyn FnMut());

    macro_rules! kinds {
        ($($name:ident)*) => {$(
            #[inline(never)]
            pub(super) fn $name(work: &mut dyn FnMut()) {
                // Functions that are equal would become one.
                std::hint::black_box(stringify!($name));
                work();
            }
        )*};
    }

    kinds!(job status change second history job_after_history job_on_a_named_node job_in_a_full_dvm);
}

/// Measures a part of a run by a clock from outside: the simulator has none.
#[derive(Debug)]
pub(crate) struct Meter {
    clock: fn() -> Duration,
    kind: counted::Kind,
    spent: Duration,
}

impl Meter {
    pub(crate) fn time(&mut self, work: impl FnOnce()) {
        let began = (self.clock)();
        let mut work = Some(work);
        (self.kind)(&mut || work.take().into_iter().for_each(|work| work()));
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
    /// The number of those that were measured.
    pub requests: u32,
    /// The mean of the time that the head computes for one.
    pub each: Duration,
}

impl WorkRow {
    fn of(daemons: u32, what: &'static str, requests: Time, spent: Duration) -> WorkRow {
        let requests = u32::try_from(requests).unwrap_or(u32::MAX);
        WorkRow { daemons, what, requests, each: spent / requests }
    }
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
    let mut named = job(1, "exit:0");
    named.apps[0].hosts.hosts = vec![HostRef::Host(HostEntry::named(&last))];
    for at in of_span(7) {
        scenario = scenario.with_job(at, named.clone(), Expect::Code(0));
    }
    let scenario = scenario.with_job(1_000 * SPAN, job(1, "exit:0"), Expect::Code(0));
    let mut world = World::new(scenario, Keep::Unwritten, Referee::blind());
    world.begin();
    world.play_until(SPAN - 1);
    let kinds: [(counted::Kind, &'static str, Time); 7] = [
        (counted::job, "a job of one process, with its end", REQUESTS),
        (counted::status, "a status", REQUESTS),
        (counted::change, "a shrink by one node, or a grow by it", REQUESTS),
        (counted::second, "a second of nothing", SPAN / SECOND),
        (counted::history, "10,000 jobs more, each", HISTORY),
        (counted::job_after_history, "a job of one process after them", REQUESTS),
        (counted::job_on_a_named_node, "a job of one process on a node that it names", REQUESTS),
    ];
    let mut rows = Vec::new();
    for (nth, (kind, what, count)) in kinds.into_iter().enumerate() {
        let spent = spent_until(&mut world, (nth as Time + 2) * SPAN, kind, clock);
        rows.push(WorkRow::of(daemons, what, count, spent));
    }
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
    let spent = spent_until(&mut world, 2 * SPAN, counted::job_in_a_full_dvm, clock);
    WorkRow::of(daemons, "a job of one process that waits for the only free slot", REQUESTS, spent)
}

/// The head's time for the requests that come before this moment.
fn spent_until(world: &mut World, end: Time, kind: counted::Kind, clock: fn() -> Duration) -> Duration {
    world.head_meter = Some(Meter { clock, kind, spent: Duration::ZERO });
    world.play_until(end - 1);
    world.head_meter.take().map(|meter| meter.spent).unwrap_or_default()
}

/// The rows as a markdown table: a line for each kind, a column for each size.
#[must_use]
pub fn head_work_table(sizes: &[Vec<WorkRow>]) -> String {
    let of_sizes = |text: &dyn Fn(&Vec<WorkRow>) -> String| sizes.iter().map(text).collect::<String>();
    let heads = of_sizes(&|rows| format!(" {} daemons |", rows[0].daemons));
    let mut out = format!("| the head's time (us) for | requests |{heads}\n|---|--:|{}\n", "--:|".repeat(sizes.len()));
    for (nth, WorkRow { what, requests, .. }) in sizes.first().into_iter().flatten().enumerate() {
        let times = of_sizes(&|rows| format!(" {:.1} |", rows[nth].each.as_secs_f64() * 1e6));
        out += &format!("| {what} | {requests} |{times}\n");
    }
    out
}
