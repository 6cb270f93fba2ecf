//! Jobs that go on without a process that failed, and what the others hear of it.

use anyhow::Result;
use rustix::process::Signal;

use super::context::{Context, Expect, finish};
use super::{Scenario, scenarios};
use crate::programs::{Mpi, mpi_program, pmix_program};

/// Event codes of PMIx.
const REQUESTED_ABORT: i32 = -8;
const COMM_FAILURE: i32 = -49;
const TERM_WO_SYNC: i32 = -200;
const ABORTED_BY_SIG: i32 = -402;
const EXIT_NONZERO: i32 = -404;
/// PMIx status of a fence with a process that is gone.
const LOST_CONNECTION: i32 = -61;

/// Two processes on each of three nodes.
const SIX: &str = "--host n0:2,n1:2,n2:2 -n 6 --map-by slot";

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        the_survivors_on_all_nodes_hear_once_of_each_way_to_fail,
        who_comes_to_the_library_after_a_failure_hears_of_it_once_too,
        the_survivors_of_a_lost_daemon_hear_of_each_of_its_processes,
        a_recoverable_job_without_events_ends_with_the_code_of_its_first_failure,
        an_abort_of_all_ends_a_continuous_job,
    ]
}

/// Returns the expected output of tests/programs/events.c on ranks 0 to `survivors`: one line for each of these
/// failures (rank, event, code), and one at the end.
fn heard(survivors: u32, failures: &[(u32, i32, i32)]) -> Vec<String> {
    let of_one = |me: u32| {
        let events =
            failures.iter().map(move |(rank, event, code)| format!("{me} heard {event} of {rank} code {code} from @0"));
        events.chain([format!("{me} fence {LOST_CONNECTION}")])
    };
    (0..survivors).flat_map(of_one).collect()
}

fn the_survivors_on_all_nodes_hear_once_of_each_way_to_fail(c: &Context) -> Result<()> {
    let events = pmix_program("events")?;
    let ways = [
        ("exit", EXIT_NONZERO, 3, 3),
        ("signal", ABORTED_BY_SIG, 137, 137),
        ("sync", TERM_WO_SYNC, 0, 1),
        ("abort", REQUESTED_ABORT, 5, 5),
    ];
    for (way, event, code, of_job) in ways {
        let job = c.prterun(SIX)?.words(["--rtos", "recoverable,notifyerrors"])?.program(&events)?.words([way])?;
        let outcome = job.run()?.code(of_job)?.lines(&heard(5, &[(5, event, code)]))?;
        outcome.complains_about(&["rank 5", "n2", "left alone (recoverable)"])?;
    }
    Ok(())
}

fn who_comes_to_the_library_after_a_failure_hears_of_it_once_too(c: &Context) -> Result<()> {
    let events = pmix_program("events")?;
    let script = format!("[ $PMIX_RANK != 5 ] || exit 3; sleep 1; exec {} late", events.display());
    let expected: Vec<String> = (0..5).map(|me| format!("{me} heard {EXIT_NONZERO} of 5 code 3 from @0")).collect();
    c.prterun(SIX)?.words(["--continuous", "sh", "-c", &script])?.run()?.code(3)?.lines(&expected)?;
    Ok(())
}

fn the_survivors_of_a_lost_daemon_hear_of_each_of_its_processes(c: &Context) -> Result<()> {
    let events = pmix_program("events")?;
    let job = c.prterun(SIX)?.words(["--continuous"])?.program(&events)?.words(["none", "2"])?;
    let running = job.start()?;
    c.wait_for(6, "events")?;
    // All of them are past their fence then: the loss is not what their start fails of.
    std::thread::sleep(std::time::Duration::from_secs(2));
    // Not its guard, which cleans up.
    c.worker(2, "prted")?.signal(Signal::KILL)?;
    let expected = heard(4, &[(4, COMM_FAILURE, -1), (5, COMM_FAILURE, -1)]);
    finish(running)?.code(1)?.lines(&expected)?.complains_about(&["n2", "left alone (continuous)"])?;
    Ok(())
}

fn a_recoverable_job_without_events_ends_with_the_code_of_its_first_failure(c: &Context) -> Result<()> {
    let script = "case $PMIX_RANK in 4) exit 9;; 1) sleep 1; kill -9 $$;; esac; sleep 2; echo $PMIX_RANK lives";
    let outcome = c.prterun(SIX)?.words(["--rtos", "recoverable", "sh", "-c", script])?.run()?.code(9)?;
    let alive: Vec<String> = [0, 2, 3, 5].map(|rank| format!("{rank} lives")).into();
    outcome.lines(&alive)?.complains_about(&["rank 4", "code 9"])?;
    Ok(())
}

fn an_abort_of_all_ends_a_continuous_job(c: &Context) -> Result<()> {
    let abort = mpi_program("abort", Mpi::OpenMpi4)?;
    c.prterun(SIX)?.words(["--continuous"])?.program(&abort)?.run()?.code(5)?.complains_about(&["called abort"])?;
    Ok(())
}
