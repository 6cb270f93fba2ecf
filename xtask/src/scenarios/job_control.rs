//! `PMIx_Job_control` of processes and tools: signals, pause and end of jobs and of single ranks.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::context::{Context, Expect, finish};
use super::dvm::{start_dvm, stop_dvm};
use super::{Scenario, scenarios};
use crate::programs::{libpmix_major, pmix_program};
use crate::runner::{self, Outcome};

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        a_process_signals_and_ends_ranks_of_its_job,
        what_job_control_does_not_offer_is_refused_by_name,
        a_tool_pauses_resumes_and_ends_a_job,
        files_that_a_process_registers_are_removed_after_it_unless_they_are_of_another_user,
    ]
}

fn says(outcome: &Outcome, lines: &[&str]) -> Result<()> {
    for line in lines {
        ensure!(outcome.stdout.lines().any(|said| said == *line), "no {line:?}: it says\n{}", outcome.stdout);
    }
    Ok(())
}

fn a_process_signals_and_ends_ranks_of_its_job(c: &Context) -> Result<()> {
    let program = pmix_program("jobcontrol")?;
    let run = |options: &str, orders: &[&str]| {
        let job = c.prterun(&format!("--host n0:1,n1:1,n2:1 --map-by node -n 3 {options}"))?;
        job.program(&program)?.words(orders)?.run()
    };
    // A job that goes on after failures loses the one rank.
    let orders = ["pause:1", "resume:1", "kill:1", "kill:7", "signal=10:2", "end"];
    let lost = run("--rtos recoverable", &orders)?.code(137)?;
    says(
        &lost,
        &[
            "pause:1 SUCCESS",
            "resume:1 SUCCESS",
            "kill:1 SUCCESS",
            "kill:7 NOT-FOUND",
            "signal=10:2 SUCCESS",
            "signalled",
        ],
    )?;
    // Any other job ends with it.
    run("", &["kill:2"])?.code(137)?.complains_about(&["rank 2"])?;
    run("", &["terminate:1"])?.code(143)?.complains_about(&["rank 1"])?;
    // And the whole job by request.
    run("", &["kill"])?.code(1)?.complains_about(&["PMIx_Job_control"])?;
    Ok(())
}

fn what_job_control_does_not_offer_is_refused_by_name(c: &Context) -> Result<()> {
    let program = pmix_program("jobcontrol")?;
    let orders = ["restart", "checkpoint", "preemptible", "both", "signal=99", "kill:job=nobody@1", "signal=10", "end"];
    let job = c.prterun("--host n0:1,n1:1 --map-by node -n 2")?.program(&program)?.words(orders)?;
    let outcome = job.run()?.code(0)?;
    says(
        &outcome,
        &[
            "restart NOT-SUPPORTED",
            "checkpoint NOT-SUPPORTED",
            "preemptible NOT-SUPPORTED",
            "both NOT-SUPPORTED",
            "signal=99 BAD-PARAM",
            "kill:job=nobody@1 NOT-FOUND",
            "signal=10 SUCCESS",
        ],
    )
}

/// Another user than the one who runs the job.
const OTHER_USER: u32 = 12_345;

fn files_that_a_process_registers_are_removed_after_it_unless_they_are_of_another_user(c: &Context) -> Result<()> {
    let directory = c.bed().shared().join("cleanup");
    std::fs::create_dir(&directory)?;
    // libpmix removes them soon after the end of the process. The end of a DVM for one job may come first.
    start_dvm(c, 2)?;
    let job = c.tool("prun", "--host n1:1 -n 1")?.program(&pmix_program("cleanup")?)?;
    let outcome = job.words([&directory])?.words([OTHER_USER.to_string()])?.run()?.code(0)?;
    // libpmix 5.0 and later remove whatever the user of the DVM may remove; here that is root.
    let foreign = if libpmix_major() >= Some(5) { None } else { Some("foreign") };
    // libpmix 7 knows PMIX_CLEANUP_EMPTY, and the last of several wishes for a directory counts.
    let kept = (libpmix_major() >= Some(7)).then_some("flat/keep");
    let flat = ["flat"].into_iter().chain(kept).chain(["flat/sub", "flat/sub/file"]);
    let expected: Vec<&str> = flat.chain(foreign).chain(["top"]).collect();
    let all_gone = || tree_below(&directory).map(|left| left == expected);
    c.until(&format!("{expected:?} are left; it said\n{}", outcome.stdout), Duration::from_secs(10), all_gone)?;
    stop_dvm(c)
}

/// The files and directories below a directory, in order.
fn tree_below(directory: &Path) -> Result<Vec<String>> {
    let mut left = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(&at)? {
            let path = entry?.path();
            left.push(path.strip_prefix(directory)?.display().to_string());
            if path.is_dir() {
                open.push(path);
            }
        }
    }
    left.sort_unstable();
    Ok(left)
}

fn a_tool_pauses_resumes_and_ends_a_job(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let job = c.tool("prun", "--host n1:1,n2:1 --map-by node -n 2 sleep 1000")?.start()?;
    c.wait_for(2, "sleep")?;
    let shown = c.tool("pdvm", "job 1 --json")?.run()?.code(0)?.stdout;
    let nspace = shown.split('"').skip_while(|word| *word != "namespace").nth(2).context("no namespace")?.to_owned();
    let tool = pmix_program("jobcontrol")?;
    let orders = ["pause", "resume", "signal=18", "kill"].map(|order| format!("{order}:job={nspace}"));
    let words = ["tool".to_owned()].into_iter().chain(orders.clone());
    let told = runner::run(c.bed().command(1, &tool)?.args(words), Duration::from_secs(60))?.code(0)?;
    says(&told, &orders.each_ref().map(|order| format!("{order} SUCCESS")).each_ref().map(String::as_str))?;
    finish(job)?.code(1)?.complains_about(&["PMIx_Job_control"])?;
    c.wait_for(0, "sleep")?;
    let again = runner::run(c.bed().command(1, &tool)?.args(["tool", &orders[3]]), Duration::from_secs(60))?.code(0)?;
    ensure!(again.stdout.contains("NOT-FOUND"), "it says {}", again.stdout);
    stop_dvm(c)
}
