//! A DVM inside a Slurm job: its changes of size, and the death of the process that has started its daemons.
//!
//! The head is on the login node; the nodes of the DVM are those of an allocation that `salloc` holds. A size changes
//! within the allocation, where every node's daemons are a step of their own or part of one.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use rustix::process::Signal;

use super::Scenario;
use super::context::{Context, Expect, finish};
use super::scenarios;
use super::slurm::{NODES, names, nothing_allocated, prun, released_after, salloc, slurm, start_dvm};
use crate::runner::{Outcome, Running};
use crate::testbed::{LOGIN, NodeProcess};

const GONE_LIMIT: Duration = Duration::from_secs(15);

pub(super) fn all() -> Vec<Scenario> {
    let all = scenarios![
        slurm_nodes_of_the_allocation_join_when_they_are_asked_for_and_leave_no_step,
        slurm_a_grow_during_which_a_slurmd_dies_is_undone_and_can_be_made_without_its_node,
        slurm_a_killed_srun_takes_the_daemons_of_its_step_along_and_nothing_is_left,
        slurm_an_srun_that_is_killed_whole_ends_no_daemon_and_none_outlives_the_head,
    ];
    all.into_iter().map(|scenario| released_after(scenario.on_nodes(NODES).under_slurm())).collect()
}

/// A DVM on the nodes n1 and n2 of an allocation, around `body`.
pub(super) fn in_dvm(c: &Context, nodes: &str, options: &str, body: impl FnOnce() -> Result<()>) -> Result<()> {
    let prte = format!("prte --no-ready-msg --host n1,n2 {options}");
    let running = salloc(c, &format!("--no-kill -w {nodes} --ntasks-per-node=2"), &prte)?.start()?;
    let result = prun(c, "--wait-to-connect 10 hostname")
        .and_then(|first| first.code(0)?.lines(&names(&[1, 2], 2)))
        .and_then(|_| body())
        .and_then(|()| c.tool_on(LOGIN, "pterm", "")?.run()?.code(0));
    if let Err(error) = result {
        let _ = c.tool_on(LOGIN, "pterm", "")?.start();
        let said = running.finish(GONE_LIMIT)?.stderr.trim().replace('\n', "\n      ");
        return Err(error.context(format!("the head said\n      {said}\n   ")));
    }
    finish(running)?.code(0)?;
    Ok(())
}

pub(super) fn pdvm(c: &Context, line: &str) -> Result<Outcome> {
    c.tool_on(LOGIN, "pdvm", line)?.run()
}

pub(super) fn start_pdvm(c: &Context, line: &str) -> Result<Running> {
    c.tool_on(LOGIN, "pdvm", line)?.start()
}

/// Steps that Slurm counts, without those that it makes for itself.
fn steps(c: &Context) -> Result<usize> {
    Ok(slurm(c, "squeue", "-h -s -o %i")?.lines().filter(|step| !step.ends_with(".extern")).count())
}

/// Daemons and their guards.
pub(super) fn daemons_on(c: &Context, nodes: &[usize]) -> usize {
    let all = [c.named("prted"), c.named("ferrite-guard")].concat();
    all.iter().filter(|(node, _)| nodes.contains(node)).count()
}

fn slurm_nodes_of_the_allocation_join_when_they_are_asked_for_and_leave_no_step(c: &Context) -> Result<()> {
    in_dvm(c, "n[1-4]", "", || {
        let steps_before = steps(c)?;
        pdvm(c, "grow --wait --host n3,n4")?.code(0)?;
        prun(c, "--host n3,n4 -n 2 --map-by node hostname")?.code(0)?.lines(&names(&[3, 4], 1))?;
        pdvm(c, "shrink --wait --host n3,n4")?.code(0)?;
        ensure!(daemons_on(c, &[3, 4]) == 0, "a daemon is left on a node that was given back");
        c.until("no step is left of those that left", GONE_LIMIT, || Ok(steps(c)? == steps_before))?;
        prun(c, "hostname")?.code(0)?.lines(&names(&[1, 2], 2))?;
        Ok(())
    })
}

/// Sends a signal to the node's `slurmd`, which the list of processes omits.
pub(super) fn signal_slurmd(c: &Context, node: usize, signal: &str) -> Result<()> {
    let script = format!("kill -{signal} $(cat /run/slurm/slurmd.pid)");
    c.program_on(node, "sh", "-c")?.words([script])?.run()?.code(0)?;
    Ok(())
}

fn slurm_a_grow_during_which_a_slurmd_dies_is_undone_and_can_be_made_without_its_node(c: &Context) -> Result<()> {
    in_dvm(c, "n[1-4]", "--prtemca ferrite_launch_timeout 5", || {
        // The daemon of Slurm is stopped first, so that the grow is under way when the node dies.
        signal_slurmd(c, 3, "STOP")?;
        let growing = start_pdvm(c, "grow --wait --host n3,n4")?;
        c.until("the grow is under way", GONE_LIMIT, || Ok(pdvm(c, "status")?.stdout.contains("grow")))?;
        signal_slurmd(c, 3, "KILL")?;
        let start = Instant::now();
        finish(growing)?.failure()?.complains_about(&["n3"])?;
        c.note(format!("undone after {:.1?}", start.elapsed()));
        // The node is of no use without it, and the controller need not find out by itself.
        c.bed().crash(3)?;
        slurm(c, "scontrol", "update nodename=n3 state=down reason=crashed")?;
        c.until("no daemon is left of the grow", GONE_LIMIT, || Ok(daemons_on(c, &[3, 4]) == 0))?;
        prun(c, "hostname")?.code(0)?.lines(&names(&[1, 2], 2))?;
        pdvm(c, "grow --wait --host n4")?.code(0)?;
        prun(c, "hostname")?.code(0)?.lines(&names(&[1, 2, 4], 2))?;
        c.note(format!("jobs after {:.1?}", start.elapsed()));
        Ok(())
    })
}

/// The two processes of the `srun` that holds the daemons: the one that was started, and its child, which ends the step
/// when that dies.
fn sruns(c: &Context) -> Result<[NodeProcess; 2]> {
    let mut found: Vec<NodeProcess> = c.named("srun").into_iter().map(|(_, process)| process).collect();
    found.sort_by_key(|process| process.pid);
    let count = found.len();
    found.try_into().map_err(|_| anyhow!("{count} processes are called srun"))
}

fn slurm_a_killed_srun_takes_the_daemons_of_its_step_along_and_nothing_is_left(c: &Context) -> Result<()> {
    let running = start_dvm(c, "")?;
    let job = c.tool_on(LOGIN, "prun", "sleep 1000")?.start()?;
    c.wait_for(8, "sleep")?;
    sruns(c)?[0].signal(Signal::KILL)?;
    finish(job)?.failure()?;
    c.wait_for(0, "prted")?;
    prun(c, "-n 1 hostname")?.failure()?;
    c.tool_on(LOGIN, "pterm", "")?.run()?.code(0)?;
    finish(running)?.complains_about(&["n1", "was killed"])?;
    // Slurm has killed daemons and guards at once: their session directories stay until the user's next daemon comes.
    let next = start_dvm(c, "")?;
    prun(c, "hostname")?.code(0)?;
    c.tool_on(LOGIN, "pterm", "")?.run()?.code(0)?;
    finish(next)?.code(0)?;
    Ok(())
}

/// No process is left that would tell Slurm to end the step. So the daemons go on, and leave by themselves when they
/// are no longer needed.
fn slurm_an_srun_that_is_killed_whole_ends_no_daemon_and_none_outlives_the_head(c: &Context) -> Result<()> {
    for kill_head in [false, true] {
        let running = start_dvm(c, "")?;
        let job = c.tool_on(LOGIN, "prun", "--host n4 -n 1 sh -c")?;
        let mut job = job.words(["read line; echo $line"])?.with_stdin().start()?;
        c.wait_for(1, "sh")?;
        sruns(c)?.iter().rev().try_for_each(|process| process.signal(Signal::KILL))?;
        c.wait_for(0, "srun")?;
        let mut input = job.child().stdin.take().context("no stdin")?;
        // The outcome of a job that is gone already tells why.
        let _ = std::io::Write::write_all(&mut input, b"still here\n");
        drop(input);
        finish(job)?.code(0)?.lines(&["still here".to_owned()])?;
        prun(c, "hostname")?.code(0)?.lines(&names(&[1, 2, 3, 4], 2))?;
        if kill_head {
            c.worker(LOGIN, "prte")?.signal(Signal::KILL)?;
        } else {
            c.tool_on(LOGIN, "pterm", "")?.run()?.code(0)?;
        }
        finish(running)?;
        c.wait_for(0, "prted")?;
        nothing_allocated(c)?;
    }
    Ok(())
}
