//! Sessions that take orders from programs: `PMIx_Session_control`. libpmix 4.2 lacks it, and 5.0 answers by itself
//! that it is not supported: without a later one there is nothing to show.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};

use super::context::{Call, Context, Expect, Skipped, finish};
use super::dvm::stop_dvm;
use super::{Scenario, scenarios};
use crate::programs::{libpmix_major, libpmix_release, pmix_program};
use crate::runner;

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        processes_pause_resume_signal_and_end_a_session_by_pmix,
        programs_make_sessions_on_allocations_and_on_nodes_of_their_own,
        sessions_are_made_on_allocations_and_on_nodes_of_their_own,
        a_tool_of_pmix_ends_sessions_that_it_has_made,
        a_tool_of_pmix_makes_a_session_together_with_its_first_job,
        orders_for_sessions_that_make_no_sense_are_refused_with_a_status,
    ]
}

/// Returns the test program, if the library has the functions that it calls.
fn program() -> Result<PathBuf> {
    let release = libpmix_release().unwrap_or_default();
    ensure!(
        libpmix_major() >= Some(6),
        Skipped(format!("PMIx_Session_control works since libpmix 6.0; installed is {release:?}"))
    );
    pmix_program("session")
}

/// An elastic DVM on n0 and n1 around `body`, which is given the program.
fn in_dvm(c: &Context, body: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let program = program()?;
    c.tool("prte", "--daemonize --host n0:4,n1:4 --prtemca prte_elastic_mode 1")?.run()?.code(0)?;
    body(&program)?;
    stop_dvm(c)
}

fn job<'a>(c: &'a Context, program: &Path, node: &str, steps: &str) -> Result<Call<'a>> {
    c.tool("prun", "-n 1 --host")?.words([node])?.program(program)?.words(steps.split_whitespace())
}

/// Returns the output of a job of one process at `node`.
fn says(c: &Context, program: &Path, node: &str, steps: &str, expected: &[&str]) -> Result<()> {
    is(job(c, program, node, steps)?.run()?, expected)
}

fn is(outcome: runner::Outcome, expected: &[&str]) -> Result<()> {
    let outcome = outcome.code(0)?;
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    ensure!(lines == expected, "it says {lines:?} instead of {expected:?}\n    {}", outcome.tail());
    Ok(())
}

/// Waits until the one process called `sleep` is stopped, or is not.
fn stopped(c: &Context, expected: bool) -> Result<()> {
    let what = if expected { "its process is stopped" } else { "its process goes on" };
    c.until(what, Duration::from_secs(10), || Ok(c.named("sleep").iter().all(|(_, p)| is_stopped(p.pid) == expected)))?;
    c.wait_for(1, "sleep")
}

fn is_stopped(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'))
}

fn processes_pause_resume_signal_and_end_a_session_by_pmix(c: &Context) -> Result<()> {
    in_dvm(c, |program| {
        // Its owner stays for what it has spawned, and others may give orders as well: all are of one user.
        let owner = job(c, program, "n1", "new=n2 spawn=sleep pause wait=2 resume")?.start()?;
        c.wait_for(1, "sleep")?;
        stopped(c, true)?;
        stopped(c, false)?;
        says(c, program, "n0", "of=1 later pause", &["pause done"])?;
        stopped(c, true)?;
        says(c, program, "n1", "of=1 later resume separate", &["resume done", "separate done"])?;
        stopped(c, false)?;
        says(c, program, "n1", "of=1 signal=19", &["signal done"])?;
        stopped(c, true)?;
        says(c, program, "n1", "of=all signal=18", &["signal done"])?;
        stopped(c, false)?;
        says(c, program, "n1", "of=1 terminate pause", &["terminate done", "pause refused -46"])?;
        let owner = finish(owner)?.failure()?;
        let lines: Vec<&str> = owner.stdout.lines().collect();
        ensure!(lines == ["new session 1", "spawned", "pause done", "resume done"], "it says {lines:?}");
        c.wait_for(0, "sleep")
    })
}

fn programs_make_sessions_on_allocations_and_on_nodes_of_their_own(c: &Context) -> Result<()> {
    in_dvm(c, |program| {
        let steps = "new=n2 of=7 on=a1 on=a1 pause resume terminate of=8 on=no-such of=9 later with=n3";
        let expected = [
            "new session 1",
            "on done",
            "on refused -11",
            "pause done",
            "resume done",
            "terminate done",
            "on refused -46",
            "with done",
        ];
        says(c, program, "n1", steps, &expected)?;
        c.wait_for(3, "prted")?;
        c.tool("prun", "-n 1 --session-id 9 hostname")?.run()?.code(0)?.lines(&["n3".to_owned()])?;
        says(c, program, "n1", "of=9 terminate", &["terminate done"])?;
        c.wait_for(2, "prted")
    })
}

/// The same by `pdvm`, with any library.
fn sessions_are_made_on_allocations_and_on_nodes_of_their_own(c: &Context) -> Result<()> {
    c.tool("prte", "--daemonize --host n0:4,n1:4 --prtemca prte_elastic_mode 1")?.run()?.code(0)?;
    let order = |line: &str| c.tool("pdvm", &format!("session {line}"))?.run();
    c.tool("pdvm", "grow --wait --host n2,n3")?.run()?.code(0)?;
    order("instantiate 7 --alloc-id a1 --host n3")?.code(0)?;
    let hostname = |number: u32| c.tool("prun", &format!("-n 1 --session-id {number} hostname"))?.run();
    hostname(7)?.code(0)?.lines(&["n3".to_owned()])?;
    let outcome = order("instantiate 7 --alloc-id a1")?.failure()?;
    ensure!(outcome.stderr.contains("There is a session 7"), "it says {}", outcome.stderr);
    order("instantiate 8 --alloc-id a9")?.failure()?.complains_about(&["no allocation a9"])?;
    let job = c.tool("prun", "-n 1 --session-id 7 sleep 1000")?.start()?;
    c.wait_for(1, "sleep")?;
    order("terminate --session-id 7")?.code(0)?;
    finish(job)?.failure()?;
    c.wait_for(0, "sleep")?;
    c.wait_for(3, "prted")?;
    // With nodes of its own: it is there when pdvm says so, and they go with it.
    c.tool("pdvm", "shrink --wait --alloc-id a1")?.run()?.code(0)?;
    order("instantiate 9 --alloc-id batch.7 --host n2 --reserve --time-limit 3")?.code(0)?;
    c.tool("prun", "-n 1 --alloc-id batch.7 hostname")?.run()?.code(0)?.lines(&["n2".to_owned()])?;
    c.wait_for(1, "prted")?;
    stop_dvm(c)
}

fn a_tool_of_pmix_ends_sessions_that_it_has_made(c: &Context) -> Result<()> {
    in_dvm(c, |program| {
        let steps =
            ["tool", "new=n2", "pause", "resume", "terminate", "terminate", "new=n3", "of=all", "later", "terminate"];
        let outcome = runner::run(c.bed().command(0, program)?.args(steps), Duration::from_secs(60))?;
        let expected = [
            "new session 1",
            "pause done",
            "resume done",
            "terminate done",
            "terminate refused -46",
            "new session 2",
            "terminate done",
        ];
        is(outcome, &expected)
    })
}

/// The job has no submitter, and ends with its session.
fn a_tool_of_pmix_makes_a_session_together_with_its_first_job(c: &Context) -> Result<()> {
    in_dvm(c, |program| {
        let run = |steps: &[&str]| runner::run(c.bed().command(0, program)?.args(steps), Duration::from_secs(60));
        is(run(&["tool", "of=7", "run=n2:2"])?, &["run done"])?;
        c.until("the job runs on n2", Duration::from_secs(10), || {
            Ok(c.named("sleep").iter().filter(|(node, _)| *node == 2).count() == 2)
        })?;
        is(run(&["tool", "of=7", "terminate"])?, &["terminate done"])?;
        c.wait_for(0, "sleep")
    })
}

fn orders_for_sessions_that_make_no_sense_are_refused_with_a_status(c: &Context) -> Result<()> {
    in_dvm(c, |program| {
        let steps = "new=n2 two nothing extend=5 instantiate complete signal=99 of=0 terminate of=7 pause";
        let expected = [
            "new session 1",
            "two refused -27",
            "nothing refused -27",
            "extend refused -27",
            "instantiate refused -11",
            "complete refused -47",
            "signal refused -27",
            "terminate refused -23",
            "pause refused -46",
        ];
        says(c, program, "n1", steps, &expected)?;
        says(c, program, "n0", &format!("later {steps}").replace("new=n2 ", "of=1 "), &expected[1..])
    })
}
