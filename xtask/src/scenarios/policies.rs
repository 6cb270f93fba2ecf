//! Jobs that go on without a process that failed, and what the others hear of it.

use anyhow::{Result, ensure};
use rustix::process::Signal;

use super::context::{Context, Expect, Skipped, finish};
use super::{Scenario, scenarios};
use crate::programs::{Mpi, libpmix_major, mpi_program, pmix_program};
use crate::runner::Outcome;

/// Event codes of PMIx.
const REQUESTED_ABORT: i32 = -8;
const COMM_FAILURE: i32 = -49;
const TERM_WO_SYNC: i32 = -200;
const ABORTED_BY_SIG: i32 = -402;
const EXIT_NONZERO: i32 = -404;
/// PMIx status of a fence with a process that is gone.
const LOST_CONNECTION: i32 = -61;
const PARTIAL_SUCCESS: i32 = -52;

/// Two processes on each of three nodes.
const SIX: &str = "--host n0:2,n1:2,n2:2 -n 6 --map-by slot";

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        the_survivors_on_all_nodes_hear_once_of_each_way_to_fail,
        who_comes_to_the_library_after_a_failure_hears_of_it_once_too,
        the_survivors_of_a_lost_daemon_hear_of_each_of_its_processes,
        a_recoverable_job_without_events_ends_with_the_code_of_its_first_failure,
        an_abort_of_all_ends_a_continuous_job,
        a_fence_does_not_wait_for_a_process_that_failed_before_its_init,
        an_mpi_program_waits_for_a_process_that_is_started_again,
        restarts_that_are_used_up_end_the_job_and_input_goes_on_between,
    ]
}

fn need_open_mpi() -> Result<()> {
    Mpi::OpenMpi4.obstacle().map_or(Ok(()), |why| Err(Skipped(why).into()))
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

/// Checks that the survivors, two on each node, have said that. libpmix 5.0 tells the failure of a fence to the first
/// caller of each node only, and the others of success.
fn have_heard(outcome: Outcome, survivors: u32, failures: &[(u32, i32, i32)]) -> Result<Outcome> {
    let told = heard(survivors, failures);
    if libpmix_major() != Some(5) {
        return outcome.lines(&told);
    }
    let failed = format!(" fence {LOST_CONNECTION}");
    for node in 0..survivors.div_ceil(2) {
        let ranks = (2 * node..survivors).take(2);
        let is_told =
            ranks.into_iter().any(|rank| outcome.stdout.lines().any(|line| line == format!("{rank}{failed}")));
        ensure!(is_told, "nobody on n{node} hears that the fence has failed\n    {}", outcome.tail());
    }
    Outcome { stdout: outcome.stdout.replace(" fence 0", &failed), ..outcome }.lines(&told)
}

fn the_survivors_on_all_nodes_hear_once_of_each_way_to_fail(c: &Context) -> Result<()> {
    let events = pmix_program("events")?;
    let ways = [
        // The code, and the missing finalize.
        ("exit", &[EXIT_NONZERO, TERM_WO_SYNC][..], 3, 3),
        ("signal", &[ABORTED_BY_SIG], 137, 137),
        ("sync", &[TERM_WO_SYNC], 0, 1),
        ("abort", &[REQUESTED_ABORT], 5, 5),
    ];
    for (way, codes, code, of_job) in ways {
        let count = codes.len().to_string();
        let job = c.prterun(SIX)?.words(["--rtos", "recoverable,notifyerrors"])?.program(&events)?;
        let failures: Vec<_> = codes.iter().map(|event| (5, *event, code)).collect();
        let outcome = have_heard(job.words([way, &count])?.run()?.code(of_job)?, 5, &failures)?;
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
    let outcome = have_heard(finish(running)?.code(1)?, 4, &[(4, COMM_FAILURE, -1), (5, COMM_FAILURE, -1)])?;
    outcome.complains_about(&["n2", "left alone (continuous)"])?;
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
    need_open_mpi()?;
    let abort = mpi_program("abort", Mpi::OpenMpi4)?;
    c.prterun(SIX)?.words(["--continuous"])?.program(&abort)?.run()?.code(5)?.complains_about(&["called abort"])?;
    Ok(())
}

/// The library counts on a process that it has never heard of; the others are in their fence already, or come later
/// (spec L83).
fn a_fence_does_not_wait_for_a_process_that_failed_before_its_init(c: &Context) -> Result<()> {
    /// The ranks of each node of which one has to hear of the failure.
    const FIRST_CALLERS: &[&[u32]] = &[&[0, 1], &[2, 3], &[4]];
    let leave = pmix_program("absent")?;
    for pause in ["0", "1"] {
        let script = format!("[ $PMIX_RANK != 5 ] || {{ sleep {pause}; exit 3; }}; exec {}", leave.display());
        let job = c.prterun(SIX)?.words(["--rtos", "recoverable", "sh", "-c", &script])?;
        let outcome = job.run()?.code(3)?;
        let fails = |rank: u32| {
            let found = outcome.stdout.lines().find_map(|line| line.strip_prefix(&format!("{rank} fence ")));
            // Its neighbour may hear PMIX_ERR_PARTIAL_SUCCESS, of the library alone.
            let errors = [LOST_CONNECTION, PARTIAL_SUCCESS].map(|status| status.to_string());
            found.is_some_and(|status| errors.iter().any(|error| error == status))
        };
        // libpmix 5.0 tells it to the first caller of each node only, and the others of success.
        let groups: &[&[u32]] =
            if libpmix_major() == Some(5) { FIRST_CALLERS } else { &[&[0], &[1], &[2], &[3], &[4]] };
        let is_told = groups.iter().all(|ranks| ranks.iter().any(|rank| fails(*rank)));
        ensure!(is_told, "a fence has not failed:\n{}", outcome.stdout);
    }
    Ok(())
}

/// The others of an MPI job wait in their MPI_Init for a process that fails before its own and is started again. One
/// that fails after it ends the job (spec L81, L82).
fn an_mpi_program_waits_for_a_process_that_is_started_again(c: &Context) -> Result<()> {
    need_open_mpi()?;
    let ring = mpi_program("ring", Mpi::OpenMpi4)?;
    let script = format!("[ $PMIX_RANK != 5 ] || [ -n \"$PMIX_REINCARNATION\" ] || exit 3; exec {}", ring.display());
    let job = c.prterun(SIX)?.words(["--max-restarts", "1", "sh", "-c", &script])?;
    let outcome = job.run()?.code(0)?.lines(&["ring of 6: 18 hops".to_owned()])?;
    outcome.complains_about(&["rank 5", "n2", "started again on its node (1 of at most 1 times"])?;

    let events = pmix_program("events")?;
    let outcome = c.prterun(SIX)?.words(["--max-restarts", "1"])?.program(&events)?.words(["exit"])?.run()?.code(3)?;
    outcome.complains_about(&["rank 5", "not started again", "called init"])?;
    Ok(())
}

/// A process gets its job's input again, and ends the job when it has failed too often (spec L81, L82).
fn restarts_that_are_used_up_end_the_job_and_input_goes_on_between(c: &Context) -> Result<()> {
    let script = "echo start ${PMIX_REINCARNATION:-0}; [ ${PMIX_REINCARNATION:-0} = 2 ] || exit 7; cat";
    let started = ["start 0", "start 1", "start 2"].map(str::to_owned);
    let job = c.prterun("--host n1:1 -n 1")?.words(["--rtos", "max-restarts=2", "sh", "-c", script])?;
    job.run()?.code(0)?.lines(&started)?;
    let job = c.prterun("--host n1:1 -n 1")?.words(["--rtos", "max-restarts=1", "sh", "-c", script])?;
    job.run()?.code(7)?.lines(&started[..2])?;
    Ok(())
}
