//! The ends of jobs: exit codes, signals, time limits, and the sudden death of every part.

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;

use super::context::{Context, Expect, Skipped, finish};
use super::{Scenario, scenarios};
use crate::programs::{Mpi, mpi_program, pmix_program};
use crate::workspace::which;

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        the_exit_code_of_a_process_is_the_exit_code_of_prterun,
        death_by_a_signal_is_128_plus_its_number,
        the_first_failing_process_ends_all_others,
        a_time_limit_ends_the_job_and_says_so,
        a_job_whose_time_is_over_shows_its_stacks,
        ctrl_c_ends_the_job_on_every_node,
        ctrl_c_ends_even_processes_that_ignore_signals,
        a_terminated_prterun_takes_everything_along,
        a_killed_prterun_takes_everything_along,
        a_killed_daemon_ends_the_job_and_is_named,
        a_crashed_node_ends_the_job_and_is_named,
        user_signals_are_forwarded_to_every_process,
        grandchildren_do_not_outlive_the_job,
        a_killed_mpi_process_ends_the_job,
        a_process_ends_well_that_has_not_waited_for_a_busy_library,
    ]
}

fn the_exit_code_of_a_process_is_the_exit_code_of_prterun(c: &Context) -> Result<()> {
    c.everywhere(1, "-n 4 sh -c")?.words(["[ $PMIX_RANK != 2 ] || exit 7"])?.run()?.code(7)?;
    c.prterun("-n 1 sh -c")?.words(["exit 3"])?.run()?.code(3)?;
    Ok(())
}

fn death_by_a_signal_is_128_plus_its_number(c: &Context) -> Result<()> {
    let job = c.everywhere(1, "-n 4 sh -c")?.words(["[ $PMIX_RANK != 3 ] || kill -9 $$"])?;
    job.run()?.code(137)?.complains_about(&["n3"])?;
    Ok(())
}

fn the_first_failing_process_ends_all_others(c: &Context) -> Result<()> {
    let job = c.everywhere(2, "-n 8 sh -c")?.words(["[ $PMIX_RANK != 5 ] || exit 9; exec sleep 1000"])?;
    let outcome = job.run()?.code(9)?;
    ensure!(outcome.elapsed < Duration::from_secs(10), "it took {:?}", outcome.elapsed);
    Ok(())
}

fn a_time_limit_ends_the_job_and_says_so(c: &Context) -> Result<()> {
    let outcome = c.everywhere(1, "-n 4 --timeout 1 sleep 1000")?.run()?.failure()?;
    ensure!(outcome.elapsed < Duration::from_secs(10), "it took {:?}", outcome.elapsed);
    outcome.complains_about(&["time limit"])?;
    Ok(())
}

/// The stacks of processes (spec L50).
fn a_job_whose_time_is_over_shows_its_stacks(c: &Context) -> Result<()> {
    if which("gdb").is_none() {
        anyhow::bail!(Skipped("gdb is not installed".to_owned()));
    }
    for hosts in ["n0:2", "n0,n1"] {
        let job = c.prterun("-n 2 --map-by node --timeout 1 --get-stack-traces --host")?.words([hosts])?;
        let outcome = job.words(["sleep", "1000"])?.run()?.code(124)?;
        let told = &outcome.stderr;
        let last = if hosts == "n0,n1" { "Stack of rank 1 of job 1 on node n1 (pid" } else { "Stack of rank 1" };
        for wanted in ["Stack of rank 0 of job 1 on node n0 (pid", last, "#0 ", "nanosleep", "Timeout: 1 seconds"] {
            ensure!(told.contains(wanted), "{hosts}: no '{wanted}' in:\n{told}");
        }
    }
    Ok(())
}

fn ctrl_c_ends_the_job_on_every_node(c: &Context) -> Result<()> {
    let running = c.everywhere(2, "-n 8 sleep 1000")?.start()?;
    c.wait_for(8, "sleep")?;
    c.signal(0, "prterun", Signal::INT)?;
    finish(running)?.failure()?;
    Ok(())
}

/// How processes are killed (spec L27).
fn ctrl_c_ends_even_processes_that_ignore_signals(c: &Context) -> Result<()> {
    let running =
        c.everywhere(1, "-n 4 sh -c")?.words(["trap '' INT TERM; sleep 1000 & while :; do wait; done"])?.start()?;
    c.wait_for(4, "sleep")?;
    for _ in 0..3 {
        // Further interrupts; prterun may have ended already.
        let _ = c.signal(0, "prterun", Signal::INT);
        std::thread::sleep(Duration::from_millis(200));
    }
    finish(running)?.failure()?;
    Ok(())
}

fn a_terminated_prterun_takes_everything_along(c: &Context) -> Result<()> {
    let running = c.everywhere(2, "-n 8 sleep 1000")?.start()?;
    c.wait_for(8, "sleep")?;
    c.signal(0, "prterun", Signal::TERM)?;
    finish(running)?.failure()?;
    Ok(())
}

fn a_killed_prterun_takes_everything_along(c: &Context) -> Result<()> {
    for radix in ["64", "2"] {
        let running = c.everywhere(2, "-n 8 --prtemca rml_base_radix")?.words([radix, "sleep", "1000"])?.start()?;
        c.wait_for(8, "sleep")?;
        c.signal(0, "prterun", Signal::KILL)?;
        let left = c.bed().residue(Duration::from_secs(10));
        ensure!(left.is_empty(), "radix {radix}: left behind:\n    {}", left.join("\n    "));
        finish(running)?.code(137)?;
    }
    Ok(())
}

fn a_killed_daemon_ends_the_job_and_is_named(c: &Context) -> Result<()> {
    let running = c.everywhere(2, "-n 8 --prtemca rml_base_radix 2 sleep 1000")?.start()?;
    c.wait_for(8, "sleep")?;
    let start = Instant::now();
    c.signal(1, "prted", Signal::KILL)?;
    finish(running)?.failure()?.complains_about(&["n1"])?;
    ensure!(start.elapsed() < Duration::from_secs(15), "noticed only after {:?}", start.elapsed());
    Ok(())
}

fn a_crashed_node_ends_the_job_and_is_named(c: &Context) -> Result<()> {
    // Its kernel answers no more, not even with a reset; only silence shows the loss.
    let running = c.everywhere(1, "-n 4 sleep 1000")?.start()?;
    c.wait_for(4, "sleep")?;
    c.bed().link(3, false)?;
    c.bed().crash(3)?;
    let outcome = finish(running)?.failure()?.complains_about(&["n3"]);
    outcome.map(|_| ())
}

fn user_signals_are_forwarded_to_every_process(c: &Context) -> Result<()> {
    let script = "trap 'echo got it; exit 0' USR1; echo ready; while :; do sleep 0.05; done";
    let mut running = c.everywhere(1, "-n 4 sh -c")?.words([script])?.start_unread()?;
    let output = running.child().stdout.take().context("no stdout")?;
    let mut lines = BufReader::new(output).lines();
    for _ in 0..4 {
        let line = lines.next().context("the output ended")??;
        ensure!(line == "ready", "'{line}' instead of 'ready'");
    }
    c.signal(0, "prterun", Signal::USR1)?;
    let answers = lines.collect::<Result<Vec<_>, _>>()?;
    finish(running)?.code(0)?;
    ensure!(answers == vec!["got it"; 4], "the ranks said {answers:?}");
    Ok(())
}

fn grandchildren_do_not_outlive_the_job(c: &Context) -> Result<()> {
    // Their output is elsewhere: a descendant that holds its process's output keeps the job alive, as in the field.
    let script = "setsid sleep 1001 >/dev/null 2>&1 & (sleep 1002 >/dev/null 2>&1 &) ; sleep 0.2";
    c.everywhere(1, "-n 4 sh -c")?.words([script])?.run()?;
    Ok(())
}

fn a_killed_mpi_process_ends_the_job(c: &Context) -> Result<()> {
    // Rank 1 never calls MPI_Init: the others wait for it in theirs and must be ended when it dies.
    let ring = mpi_program("ring", Mpi::OpenMpi4)?;
    let script = format!("[ $PMIX_RANK != 1 ] || {{ sleep 1; kill -9 $$; }}; exec {}", ring.display());
    c.everywhere(1, "-n 4 sh -c")?.words([script])?.run()?.code(137)?;
    Ok(())
}

/// A client of libpmix gives its finalize up after two seconds, and ends with code 0 (spec L133).
fn a_process_ends_well_that_has_not_waited_for_a_busy_library(c: &Context) -> Result<()> {
    let job = c.prterun("-n 1")?.program(&pmix_program("hasty")?)?.run()?.code(0)?;
    ensure!(job.stderr.is_empty(), "{}", job.stderr);
    Ok(())
}
