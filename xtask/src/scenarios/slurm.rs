//! Inside jobs of a real Slurm on ten nodes: from the login node, which has no part in an allocation, and from the
//! first node of one, where a batch script runs.
//!
//! Scenarios that do not depend on the launcher: `ssh` and `srun` must give the same results. After each scenario
//! nothing is allocated and all nodes that are up are idle, besides the checks of every scenario.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;

use super::context::{Call, Context, Expect, finish};
use super::{LEAVE_LIMIT, Scenario, scenarios};
use crate::programs::{Mpi, mpi_program};
use crate::runner::{Outcome, Running};
use crate::testbed::{LOGIN, node_name};

pub(super) const NODES: usize = 10;
/// Time limit for the end of a job in Slurm, which waits two seconds before it kills processes.
pub(super) const GONE_LIMIT: Duration = Duration::from_secs(15);
const BATCH_LIMIT: Duration = Duration::from_secs(60);

pub(super) fn all() -> Vec<Scenario> {
    let all = scenarios![
        slurm_prterun_in_salloc_runs_on_all_its_nodes_without_an_option,
        slurm_prterun_in_a_batch_script_runs_on_all_its_nodes_without_an_option,
        slurm_mpi_programs_run_from_the_login_node_and_from_a_batch_script,
        slurm_prterun_in_a_step_runs_on_the_nodes_of_the_step,
        slurm_processors_of_a_task_are_slots,
        slurm_hosts_choose_among_the_nodes_of_the_job_and_go_no_further,
        slurm_a_dvm_in_salloc_serves_jobs_until_it_is_told_to_end,
        slurm_a_failing_program_fails_the_batch_job,
        slurm_a_cancelled_batch_job_leaves_nothing_on_its_nodes,
        slurm_a_job_that_is_taken_away_from_salloc_leaves_nothing_on_its_nodes,
        slurm_a_killed_head_leaves_nothing_in_the_allocation,
        slurm_daemons_leave_in_order_when_their_step_is_told_to_end,
        slurm_a_crashed_node_of_the_allocation_is_lost_and_the_dvm_goes_on,
    ];
    all.into_iter().map(|scenario| released_after(scenario.on_nodes(NODES).under_slurm())).collect()
}

pub(super) fn released_after(scenario: Scenario) -> Scenario {
    let body = scenario.body;
    let checked = move |c: &Context| {
        body(c)?;
        nothing_allocated(c)
    };
    Scenario { body: Box::new(checked), ..scenario }
}

pub(super) fn nothing_allocated(c: &Context) -> Result<()> {
    c.until("no job in squeue", GONE_LIMIT, || Ok(slurm(c, "squeue", "-h")?.is_empty()))?;
    c.until("all nodes that are up are idle", GONE_LIMIT, || {
        let said = slurm(c, "sinfo", "-h -N -o %N:%t")?;
        let is_idle = |node| said.lines().any(|line| line == format!("{}:idle", node_name(node)));
        Ok((0..NODES).all(|node| !c.bed().is_node_up(node) || is_idle(node)))
    })?;
    Ok(())
}

/// Returns the output of one of Slurm's commands on the login node.
pub(super) fn slurm(c: &Context, program: &str, line: &str) -> Result<String> {
    Ok(c.program_on(LOGIN, program, line)?.run()?.code(0)?.stdout)
}

/// Returns a call of `salloc` on the login node; it names its nodes, so that the scenario can check them.
pub(super) fn salloc<'a>(c: &'a Context, options: &str, line: &str) -> Result<Call<'a>> {
    c.program_on(LOGIN, "salloc", &format!("-Q {options} {line}"))
}

/// Puts a script into the queue; it runs on the first of its nodes.
fn submit(c: &Context, options: &str, script: &str) -> Result<()> {
    for old in ["batch.out", "batch.err", "batch.code"] {
        let _ = fs::remove_file(c.bed().shared().join(old));
    }
    let shared = c.bed().shared();
    let shared = shared.display();
    // The exit code is written under another name first, so that a reader finds all of it.
    let text = format!(
        "#!/bin/sh\n( {script}\n)\necho $? > {shared}/batch.new\nread code < {shared}/batch.new\n\
         mv {shared}/batch.new {shared}/batch.code\nexit $code\n"
    );
    let file = c.file("batch.sh", &text)?;
    let options = format!("--parsable --output={shared}/batch.out --error={shared}/batch.err {options}");
    c.program_on(LOGIN, "sbatch", &options)?.program(&file)?.run()?.code(0)?;
    Ok(())
}

/// Submits a script and waits for its end; returns its output and its exit code.
fn batch(c: &Context, options: &str, script: &str) -> Result<(i32, String, String)> {
    submit(c, options, script)?;
    let read = |name: &str| fs::read_to_string(c.bed().shared().join(name)).unwrap_or_default();
    c.until("the batch script ends", BATCH_LIMIT, || Ok(!read("batch.code").is_empty()))
        .with_context(|| format!("it has said\n{}{}", read("batch.out"), read("batch.err")))?;
    Ok((read("batch.code").trim().parse()?, read("batch.out"), read("batch.err")))
}

/// Runs a script that has to succeed.
pub(super) fn good_batch(c: &Context, options: &str, script: &str) -> Result<String> {
    let (code, stdout, stderr) = batch(c, options, script)?;
    ensure!(code == 0, "the batch script ended with {code}:\n{stdout}{stderr}");
    Ok(stdout)
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// `each` lines from each of some nodes.
pub(super) fn names(nodes: &[usize], each: usize) -> Vec<String> {
    nodes.iter().flat_map(|node| vec![node_name(*node); each]).collect()
}

fn slurm_prterun_in_salloc_runs_on_all_its_nodes_without_an_option(c: &Context) -> Result<()> {
    let here = salloc(c, "-N3 -w n[1-3] --ntasks-per-node=2", "prterun hostname")?.run()?.code(0)?;
    here.lines(&names(&[1, 2, 3], 2))?;
    // Counts that differ, and a list with holes.
    let uneven = salloc(c, "-N3 -w n[4,6,8] -n 5 --distribution=block", "prterun hostname")?.run()?.code(0)?;
    let counts = [4, 6, 8].map(|node| uneven.stdout.lines().filter(|line| *line == node_name(node)).count());
    ensure!(counts.iter().sum::<usize>() == 5 && counts.iter().all(|count| *count > 0), "{counts:?}");
    let whole = salloc(c, "-N2 -w n[0,9] --exclusive", "prterun hostname")?.run()?.code(0)?;
    whole.lines(&names(&[0, 9], crate::testbed::SLURM_CPUS))?;
    Ok(())
}

fn slurm_prterun_in_a_batch_script_runs_on_all_its_nodes_without_an_option(c: &Context) -> Result<()> {
    let script = "echo on $(hostname)\nprterun hostname";
    let said = good_batch(c, "-N4 -w n[2-5] --ntasks-per-node=2", script)?;
    let (first, rest) = said.split_once('\n').context("it says nothing")?;
    ensure!(first == "on n2", "the script runs {first}");
    ensure!(sorted(rest) == names(&[2, 3, 4, 5], 2), "{said}");
    Ok(())
}

fn slurm_mpi_programs_run_from_the_login_node_and_from_a_batch_script(c: &Context) -> Result<()> {
    let (hello, ring) = (mpi_program("hello", Mpi::OpenMpi4)?, mpi_program("ring", Mpi::OpenMpi4)?);
    let expected: Vec<String> = (0..8).map(|r| format!("hello from rank {r} of 8 on n{}", 1 + r / 2)).collect();
    let job = "-N4 -w n[1-4] --ntasks-per-node=2";
    salloc(c, job, "prterun")?.program(&hello)?.run()?.code(0)?.lines(&expected)?;
    salloc(c, job, "prterun")?.program(&ring)?.run()?.code(0)?.lines(&["ring of 8: 24 hops".to_owned()])?;
    let script = format!("prterun {}\nprterun {}", hello.display(), ring.display());
    let said = good_batch(c, job, &script)?;
    ensure!(sorted(&said)[..8] == expected && said.ends_with("ring of 8: 24 hops\n"), "{said}");
    Ok(())
}

fn slurm_prterun_in_a_step_runs_on_the_nodes_of_the_step(c: &Context) -> Result<()> {
    let first = ["[ $SLURM_PROCID != 0 ] || prterun hostname"];
    let step = salloc(c, "-N4 -w n[1-4] --ntasks-per-node=2", "srun -N2 -n2 -r1 sh -c")?.words(first)?;
    step.run()?.code(0)?.lines(&names(&[2, 3], 1))?;
    let all = c.program_on(LOGIN, "srun", "-Q -N3 -n3 -w n[5-7] sh -c")?.words(first)?;
    all.run()?.code(0)?.lines(&names(&[5, 6, 7], 1))?;
    Ok(())
}

fn slurm_processors_of_a_task_are_slots(c: &Context) -> Result<()> {
    let job = "-N2 -w n[1-2] --ntasks-per-node=2 --cpus-per-task=2";
    salloc(c, job, "prterun hostname")?.run()?.code(0)?.lines(&names(&[1, 2], 4))?;
    salloc(c, job, "prterun -n 9 hostname")?.run()?.failure()?.complains_about(&["slots"])?;
    let said = good_batch(c, job, "prterun hostname")?;
    ensure!(sorted(&said) == names(&[1, 2], 4), "{said}");
    Ok(())
}

fn slurm_hosts_choose_among_the_nodes_of_the_job_and_go_no_further(c: &Context) -> Result<()> {
    let job = "-N4 -w n[1-4] --ntasks-per-node=2";
    salloc(c, job, "prterun --host n2,n4 --map-by node -n 2 hostname")?.run()?.code(0)?.lines(&names(&[2, 4], 1))?;
    // Numbers and `+nK` count the nodes of the job from 0.
    for hosts in ["1,3", "+n1,+n3", "n2,3"] {
        let line = format!("prterun --host {hosts} --map-by node -n 2 hostname");
        salloc(c, job, &line)?.run()?.code(0)?.lines(&names(&[2, 4], 1))?;
    }
    let taken_back = c.file("taken-back", "n1\nn2\nn3\n^n3\n")?;
    let line = format!("prterun --hostfile {} --host ^0 --map-by node -n 2 hostname", taken_back.display());
    salloc(c, job, &line)?.run()?.code(0)?.lines(&names(&[2], 2))?;
    salloc(c, job, "prterun --host 4 -n 1 hostname")?.run()?.failure()?.complains_about(&["host 4"])?.lines(&[])?;
    let beyond = salloc(c, job, "prterun --host n2,n7 -n 2 hostname")?.run()?.failure()?;
    beyond.complains_about(&["n7"])?.lines(&[])?;
    let shown =
        salloc(c, job, "sh -c")?.words(["echo job $SLURM_JOB_ID; exec prterun --display allocation -n 1 true"])?;
    let shown = shown.run()?.code(0)?;
    let id = shown.stdout.lines().find_map(|line| line.strip_prefix("job ")).context("no job")?.to_owned();
    let said = format!("{}{}", shown.stdout, shown.stderr);
    for part in [format!("Slurm job {id} "), "n1: ".to_owned(), "n4: ".to_owned()] {
        ensure!(said.contains(&part), "the allocation lacks '{part}'\n    {}", shown.tail());
    }
    Ok(())
}

fn slurm_a_dvm_in_salloc_serves_jobs_until_it_is_told_to_end(c: &Context) -> Result<()> {
    let script = "prte --daemonize && prun hostname && prun -n 2 --map-by node --host n3,n4 hostname \
                  && prun -n 2 --map-by node --host 2,3 hostname && pterm";
    let job = "-N4 -w n[1-4] --ntasks-per-node=2";
    let outcome = salloc(c, job, "sh -c")?.words([script])?.run()?.code(0)?;
    let mut expected = vec!["DVM ready".to_owned()];
    expected.extend(names(&[1, 2, 3, 4], 2));
    expected.extend(names(&[3, 4, 3, 4], 1));
    outcome.lines(&expected)?;
    // The same where it is itself on one of the nodes.
    let said = good_batch(c, job, script)?;
    expected.sort_unstable();
    ensure!(sorted(&said) == expected, "{said}");
    Ok(())
}

fn slurm_a_failing_program_fails_the_batch_job(c: &Context) -> Result<()> {
    let (code, stdout, stderr) = batch(c, "-N3 -w n[1-3] -n 3", "prterun sh -c '[ $PMIX_RANK != 2 ] || exit 7'")?;
    ensure!(code == 7, "it ended with {code}:\n{stdout}{stderr}");
    Ok(())
}

fn slurm_a_cancelled_batch_job_leaves_nothing_on_its_nodes(c: &Context) -> Result<()> {
    submit(c, "-N4 -w n[1-4] --ntasks-per-node=2", "exec prterun sleep 1000")?;
    c.wait_for(8, "sleep")?;
    slurm(c, "scancel", "--name=batch.sh")?;
    c.wait_for(0, "sleep")?;
    c.wait_for(0, "prted")
}

fn slurm_a_job_that_is_taken_away_from_salloc_leaves_nothing_on_its_nodes(c: &Context) -> Result<()> {
    // salloc ends its command only if it is told to.
    let running =
        salloc(c, "--kill-command -J taken -N4 -w n[1-4] --ntasks-per-node=2", "prterun sleep 1000")?.start()?;
    c.wait_for(8, "sleep")?;
    slurm(c, "scancel", "--name=taken")?;
    finish(running)?.failure()?;
    c.wait_for(0, "sleep")
}

/// A DVM on the nodes n1 to n4, its head on the login node; a job has run on all of them.
pub(super) fn start_dvm(c: &Context, options: &str) -> Result<Running> {
    let job = format!("{options} -N4 -w n[1-4] --ntasks-per-node=2");
    let running = salloc(c, &job, "prte --no-ready-msg")?.start()?;
    prun(c, "--wait-to-connect 10 hostname")?.code(0)?.lines(&names(&[1, 2, 3, 4], 2))?;
    Ok(running)
}

pub(super) fn prun(c: &Context, line: &str) -> Result<Outcome> {
    c.tool_on(LOGIN, "prun", line)?.run()
}

/// The head consists of two processes, guard and worker, behind the front.
fn slurm_a_killed_head_leaves_nothing_in_the_allocation(c: &Context) -> Result<()> {
    for which in [0, 1] {
        let running = start_dvm(c, "")?;
        let job = c.tool_on(LOGIN, "prun", "sleep 1000")?.start()?;
        c.wait_for(8, "sleep")?;
        c.guard_and_worker(LOGIN, "prte")?[which].signal(Signal::KILL)?;
        finish(job)?.failure()?;
        // salloc ends well when its command was killed.
        finish(running)?;
        c.wait_for(0, "sleep")?;
        c.wait_for(0, "prted")?;
        nothing_allocated(c)?;
    }
    Ok(())
}

/// Slurm tells every process of a step. When the task ends, Slurm kills what is left, so the task is the last to end.
fn slurm_daemons_leave_in_order_when_their_step_is_told_to_end(c: &Context) -> Result<()> {
    let running = start_dvm(c, "-J told")?;
    let job = c.tool_on(LOGIN, "prun", "sleep 1000")?.start()?;
    c.wait_for(8, "sleep")?;
    slurm(c, "scancel", "--signal=TERM --name=told")?;
    finish(job)?.failure()?;
    let left = c.bed().residue_on(&[1, 2, 3, 4], LEAVE_LIMIT);
    ensure!(left.is_empty(), "left behind:\n    {}", left.join("\n    "));
    c.tool_on(LOGIN, "pterm", "")?.run()?.code(0)?;
    finish(running)?;
    nothing_allocated(c)
}

fn slurm_a_crashed_node_of_the_allocation_is_lost_and_the_dvm_goes_on(c: &Context) -> Result<()> {
    // Slurm would end the job with its first lost node, if it was not told to keep it.
    let running = start_dvm(c, "--no-kill")?;
    let job = c.tool_on(LOGIN, "prun", "--host n3 -n 2 sleep 1000")?.start()?;
    c.wait_for(2, "sleep")?;
    c.bed().crash(3)?;
    finish(job)?.failure()?.complains_about(&["n3"])?;
    prun(c, "-n 3 --map-by node hostname")?.code(0)?.lines(&names(&[1, 2, 4], 1))?;
    // The scenario marks the node as down; Slurm itself would take ten seconds.
    slurm(c, "scontrol", "update nodename=n3 state=down reason=crashed")?;
    prun(c, "-n 3 --map-by node hostname")?.code(0)?.lines(&names(&[1, 2, 4], 1))?;
    c.tool_on(LOGIN, "pterm", "")?.run()?.code(0)?;
    finish(running)?.code(0)?;
    Ok(())
}
