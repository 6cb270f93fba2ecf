//! Ends of jobs of a real Slurm, by their time limit or for a job of higher priority: processes hear of them before,
//! with the time that Slurm leaves them (docs/spec/elastic.md, E66 to E68).

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::context::{Context, Expect, finish};
use super::elastic::lines_of;
use super::slurm::{GONE_LIMIT, NODES, prun, released_after, salloc, slurm};
use super::{Scenario, scenarios};
use crate::programs::pmix_program;
use crate::runner::Running;
use crate::testbed::{HIGH_PARTITION, LOGIN, LOW_PARTITION, PREEMPTION_S};

/// The longest wait for a notice: Slurm sends the signal of a user up to a minute before its time.
const NOTICE_LIMIT: Duration = Duration::from_secs(60);

pub(super) fn all() -> Vec<Scenario> {
    let all = scenarios![
        slurm_processes_hear_of_the_time_limit_of_their_nodes,
        slurm_the_signal_that_a_user_has_asked_for_is_a_notice,
        slurm_a_preempted_job_gives_its_nodes_back_when_its_processes_have_ended,
        slurm_a_dvm_in_a_preempted_job_leaves_its_time_to_the_processes,
    ];
    all.into_iter().map(|scenario| released_after(scenario.on_nodes(NODES).under_slurm())).collect()
}

/// A DVM in a job with these options, on two nodes.
fn start(c: &Context, options: &str) -> Result<Running> {
    let job = format!("-N2 -w n[1-2] --ntasks-per-node=2 {options}");
    let running = salloc(c, &job, "prte --no-ready-msg --prtemca prte_elastic_mode 1")?.start()?;
    prun(c, "--wait-to-connect 10 true")?.code(0)?;
    Ok(running)
}

fn pdvm(c: &Context, line: &str) -> Result<String> {
    Ok(c.tool_on(LOGIN, "pdvm", line)?.run()?.code(0)?.stdout)
}

/// Starts processes that end when they hear the notice, whatever signals Slurm sends them as well.
fn listeners(c: &Context, options: &str, heard: &Path) -> Result<Running> {
    let script = format!("trap '' TERM USR1; exec \"$0\" >> {}", heard.display());
    let job = c.tool_on(LOGIN, "prun", &format!("-n 2 --map-by node {options} sh -c"))?;
    job.words([script])?.program(&pmix_program("withdrawn")?)?.start()
}

/// The seconds that the processes were promised.
fn promised(c: &Context, heard: &Path) -> Result<Vec<u32>> {
    let read = || fs::read_to_string(heard).unwrap_or_default();
    c.until("both have heard it", NOTICE_LIMIT, || Ok(read().lines().count() == 4))?;
    let lines: Vec<String> = read().lines().map(str::to_owned).collect();
    let told: Vec<u32> =
        lines.iter().filter_map(|line| line.split_once(" leaves in ")?.1.split_once(" s")?.0.parse().ok()).collect();
    ensure!(told.len() == 2 && told[0].abs_diff(told[1]) <= 1, "they have heard {lines:?}");
    Ok(told)
}

/// Jobs are told before the time limit, as early as they have asked for (spec E66).
fn slurm_processes_hear_of_the_time_limit_of_their_nodes(c: &Context) -> Result<()> {
    let running = start(c, "-t 1")?;
    let heard = c.file("heard", "")?;
    let job = listeners(c, "--grace 50", &heard)?;
    let seconds = promised(c, &heard)?[0];
    ensure!((45..=51).contains(&seconds), "{seconds} seconds are promised");
    finish(job)?.code(0)?.complains_about(&["n1, n2 leave the DVM", "of job 2"])?;
    // What comes later hears it at once.
    let heard = c.file("heard-later", "")?;
    let job = listeners(c, "--grace 1", &heard)?;
    ensure!(promised(c, &heard)?[0] <= seconds, "the time goes on");
    finish(job)?.code(0)?;
    c.tool_on(LOGIN, "pterm", "")?.run()?.code(0)?;
    finish(running)?.code(0)?;
    Ok(())
}

/// A signal of Slurm announces the end (spec E66).
fn slurm_the_signal_that_a_user_has_asked_for_is_a_notice(c: &Context) -> Result<()> {
    let running = start(c, "-t 1 --signal=URG@40")?;
    let heard = c.file("heard", "")?;
    let job = listeners(c, "--grace 1", &heard)?;
    let seconds = promised(c, &heard)?[0];
    ensure!((25..=58).contains(&seconds), "{seconds} seconds are promised");
    finish(job)?.code(0)?;
    c.tool_on(LOGIN, "pterm", "")?.run()?.code(0)?;
    finish(running)?.code(0)?;
    Ok(())
}

/// Asks for nodes for a job that goes before others, and leaves it waiting.
fn preempt(c: &Context, nodes: &str) -> Result<Running> {
    let options = format!("-p {HIGH_PARTITION} --exclusive -J high -w {nodes}");
    salloc(c, &options, "sleep 0.1")?.start()
}

/// The nodes of a preempted job drain until its end (spec E67, E68).
fn slurm_a_preempted_job_gives_its_nodes_back_when_its_processes_have_ended(c: &Context) -> Result<()> {
    let running = start(c, "")?;
    pdvm(c, &format!("grow --nodes 2 --queue {LOW_PARTITION} --wait"))?;
    let granted = slurm(c, "squeue", &format!("-h -p {LOW_PARTITION} -o %N"))?.trim().to_owned();
    let heard = c.file("heard", "")?;
    let hosts = slurm(c, "scontrol", &format!("show hostnames {granted}"))?.trim().replace('\n', ",");
    let job = listeners(c, &format!("--host {hosts} --grace 2"), &heard)?;
    lines_of(c, &heard, 2)?;
    let high = preempt(c, &granted)?;
    let seconds = promised(c, &heard)?[0];
    ensure!((PREEMPTION_S - 5..PREEMPTION_S).contains(&seconds), "{seconds} seconds are promised");
    finish(job)?.code(0)?.complains_about(&["leave the DVM"])?;
    finish(high)?.code(0)?;
    c.until("its nodes have left", GONE_LIMIT, || Ok(pdvm(c, "nodes")?.lines().count() == 1 + 2))?;
    prun(c, "-n 2 --map-by node true")?.code(0)?;
    c.tool_on(LOGIN, "pterm", "")?.run()?.code(0)?;
    finish(running)?.code(0)?;
    Ok(())
}

/// The nodes of the first job end with the DVM; its processes have the time before (spec E67).
fn slurm_a_dvm_in_a_preempted_job_leaves_its_time_to_the_processes(c: &Context) -> Result<()> {
    let running = start(c, &format!("-p {LOW_PARTITION} --exclusive"))?;
    let heard = c.file("heard", "")?;
    let job = listeners(c, "--grace 2", &heard)?;
    lines_of(c, &heard, 2)?;
    let high = preempt(c, "n[1-2]")?;
    let seconds = promised(c, &heard)?[0];
    ensure!((PREEMPTION_S - 5..PREEMPTION_S).contains(&seconds), "{seconds} seconds are promised");
    finish(job).context("the job that has heard it")?.code(0)?;
    let end = finish(running)?;
    ensure!(end.stderr.contains("ends, and the DVM with it"), "it ends without a word: {}", end.stderr);
    finish(high)?.code(0)?;
    Ok(())
}
