//! A DVM in a job of a real Slurm that asks Slurm for more nodes and gives nodes back. It begins on n1 to n4; the other
//! nodes are free. After each scenario nothing is allocated, however the DVM ended.

use std::time::Duration;

use anyhow::{Result, ensure};
use rustix::process::Signal;

use super::context::{Context, Expect, finish};
use super::elastic::lines_of;
use super::slurm::{GONE_LIMIT, NODES, names, prun, released_after, salloc, slurm, start_dvm};
use super::{Scenario, Skipped, scenarios};
use crate::programs::{Mpi, pmix_program, python, source};
use crate::testbed::{HIGH_PARTITION, LOGIN, LOW_PARTITION, SIDE_PARTITION};
use crate::workspace::root;

const SOON: Duration = Duration::from_secs(15);

pub(super) fn all() -> Vec<Scenario> {
    let mut all = scenarios![
        slurm_more_nodes_come_and_go_again_and_again,
        slurm_a_request_for_nodes_waits_holds_no_job_and_goes_with_its_client,
        slurm_the_end_of_the_dvm_gives_back_what_it_has_and_what_it_waits_for,
        slurm_the_guard_of_a_killed_head_gives_back_what_it_has_and_what_it_waits_for,
        slurm_nodes_of_a_job_that_somebody_has_got_for_the_dvm_come_and_go_like_others,
        slurm_nodes_come_from_the_partition_that_a_request_names,
        slurm_a_granted_job_that_somebody_ends_is_a_loss_that_the_dvm_survives,
    ];
    for mpi in [Mpi::OpenMpi5, Mpi::Mpich5] {
        let name = format!("slurm an elastic job of mpi4py over {} goes on with the nodes that it has", mpi.name());
        all.push(Scenario::new(name, move |c| elastic_job(c, mpi)));
    }
    all.into_iter().map(|scenario| released_after(scenario.on_nodes(NODES).under_slurm())).collect()
}

/// Jobs in a state: their names, sorted.
fn jobs(c: &Context, state: &str) -> Result<Vec<String>> {
    let mut names: Vec<String> =
        slurm(c, "squeue", &format!("-h --states={state} -o %j"))?.lines().map(str::to_owned).collect();
    names.sort_unstable();
    Ok(names)
}

fn pdvm(c: &Context, line: &str) -> Result<String> {
    Ok(c.tool_on(LOGIN, "pdvm", line)?.run()?.code(0)?.stdout)
}

/// Blocks this number of nodes with another job.
fn block(c: &Context, count: usize) -> Result<()> {
    c.program_on(LOGIN, "salloc", &format!("-Q --no-shell --exclusive -J blocker -N {count}"))?.run()?.code(0)?;
    Ok(())
}

fn unblock(c: &Context) -> Result<()> {
    slurm(c, "scancel", "--name=blocker")?;
    Ok(())
}

fn until_it_waits(c: &Context) -> Result<()> {
    c.until("a request waits", SOON, || Ok(pdvm(c, "status")?.contains("Slurm to grant")))?;
    c.until("a job waits", SOON, || Ok(jobs(c, "PENDING")?.len() == 1))?;
    Ok(())
}

fn slurm_more_nodes_come_and_go_again_and_again(c: &Context) -> Result<()> {
    let running = start_dvm(c, "")?;
    for round in 0..if c.is_quick() { 3 } else { 20 } {
        pdvm(c, "grow --nodes 2 --wait")?;
        ensure!(jobs(c, "RUNNING")?.len() == 2, "round {round}: {:?}", jobs(c, "RUNNING")?);
        prun(c, "-n 6 --map-by node true")?.code(0)?;
        // At once, or one after the other.
        let parts: &[&str] = if round % 2 == 0 { &["2"] } else { &["1", "1"] };
        for part in parts {
            pdvm(c, &format!("shrink --nodes {part} --wait"))?;
        }
        let left = jobs(c, "RUNNING")?;
        ensure!(left.len() == 1, "round {round}: {left:?}");
    }
    // This is the job that it began with.
    pdvm(c, "shrink --host n4 --wait")?;
    ensure!(slurm(c, "squeue", "-h -o %N")? == "n[1-3]\n");
    prun(c, "-n 3 --map-by node hostname")?.code(0)?.lines(&names(&[1, 2, 3], 1))?;
    c.tool_on(LOGIN, "pterm", "")?.run()?.code(0)?;
    finish(running)?.code(0)?;
    Ok(())
}

fn slurm_a_request_for_nodes_waits_holds_no_job_and_goes_with_its_client(c: &Context) -> Result<()> {
    let running = start_dvm(c, "")?;
    block(c, 6)?;
    let waiting = c.tool_on(LOGIN, "pdvm", "grow --nodes 3 --wait")?.start()?;
    until_it_waits(c)?;
    prun(c, "-n 4 --map-by node hostname")?.code(0)?.lines(&names(&[1, 2, 3, 4], 1))?;
    c.named("pdvm").iter().try_for_each(|(_, process)| process.signal(Signal::INT))?;
    finish(waiting)?.code(130)?;
    c.until("no job waits", SOON, || Ok(jobs(c, "PENDING")?.is_empty()))?;
    // And once more, to be granted.
    let waiting = c.tool_on(LOGIN, "pdvm", "grow --nodes 3 --wait")?.start()?;
    until_it_waits(c)?;
    unblock(c)?;
    finish(waiting)?.code(0)?;
    prun(c, "-n 7 --map-by node true")?.code(0)?;
    c.tool_on(LOGIN, "pterm", "")?.run()?.code(0)?;
    finish(running)?.code(0)?;
    Ok(())
}

fn slurm_the_end_of_the_dvm_gives_back_what_it_has_and_what_it_waits_for(c: &Context) -> Result<()> {
    let running = start_dvm(c, "")?;
    pdvm(c, "grow --nodes 4 --wait")?;
    block(c, 2)?;
    pdvm(c, "grow --nodes 1")?;
    until_it_waits(c)?;
    c.tool_on(LOGIN, "pterm", "")?.run()?.code(0)?;
    finish(running)?.code(0)?;
    // By the time that it is over, and not some time later.
    let left = jobs(c, "RUNNING,PENDING")?;
    ensure!(left == ["blocker"], "{left:?}");
    unblock(c)
}

fn slurm_the_guard_of_a_killed_head_gives_back_what_it_has_and_what_it_waits_for(c: &Context) -> Result<()> {
    let running = start_dvm(c, "")?;
    pdvm(c, "grow --nodes 2 --wait")?;
    block(c, 4)?;
    pdvm(c, "grow --nodes 1")?;
    until_it_waits(c)?;
    c.worker(LOGIN, "prte")?.signal(Signal::KILL)?;
    finish(running)?;
    c.wait_for(0, "prted")?;
    let left = jobs(c, "RUNNING,PENDING")?;
    ensure!(left == ["blocker"], "{left:?}");
    unblock(c)
}

/// By the command and by a process. The last node is the only one of that partition.
fn slurm_nodes_come_from_the_partition_that_a_request_names(c: &Context) -> Result<()> {
    let job = "-N4 -w n[1-4] --ntasks-per-node=2";
    let prte = "prte --no-ready-msg --prtemca prte_elastic_mode 1 --prtemca prte_dvm_events always";
    let running = salloc(c, job, prte)?.start()?;
    prun(c, "--wait-to-connect 10 hostname")?.code(0)?;
    let last = names(&[NODES - 1], 1).remove(0);
    let granted = || slurm(c, "squeue", &format!("-h -p {SIDE_PARTITION} -t R -o %N"));
    pdvm(c, &format!("grow --nodes 1 --queue {SIDE_PARTITION} --wait"))?;
    ensure!(granted()?.trim() == last, "Slurm has granted {:?}", granted()?);
    prun(c, &format!("--host {last} -n 1 hostname"))?.code(0)?.lines(std::slice::from_ref(&last))?;
    pdvm(c, &format!("shrink --host {last} --wait"))?;
    ensure!(granted()?.is_empty(), "Slurm has not got back {:?}", granted()?);
    let unknown = c.tool_on(LOGIN, "pdvm", "grow --nodes 1 --queue nowhere --wait")?.run()?.failure()?;
    unknown.complains_about(&["nvalid partition"])?;
    // A process hears the same.
    let process = |queue: &str| -> Result<String> {
        let steps = [format!("queue={queue}"), "event".to_owned(), "quiet".to_owned()];
        let job = c.tool_on(LOGIN, "prun", "-n 1 --host n1")?.program(&pmix_program("elastic")?)?.words(steps)?;
        Ok(job.run()?.code(0)?.stdout)
    };
    let said = process(SIDE_PARTITION)?;
    ensure!(said.contains("accepted") && said.contains("ready"), "it says {said}");
    ensure!(granted()?.trim() == last, "Slurm has granted {:?}", granted()?);
    let said = process("nowhere")?;
    ensure!(said.contains("failed") && said.contains("explained"), "it says {said}");
    c.tool_on(LOGIN, "pterm", "")?.run()?.code(0)?;
    finish(running)?.code(0)?;
    Ok(())
}

fn slurm_a_granted_job_that_somebody_ends_is_a_loss_that_the_dvm_survives(c: &Context) -> Result<()> {
    let running = start_dvm(c, "")?;
    pdvm(c, "grow --nodes 2 --wait")?;
    let granted = jobs(c, "RUNNING")?.into_iter().find(|name| name.contains(".of."));
    slurm(c, "scancel", &format!("--name={}", granted.unwrap_or_default()))?;
    c.until("its nodes are gone", GONE_LIMIT, || Ok(pdvm(c, "nodes")?.lines().count() == 1 + 4))?;
    prun(c, "-n 4 --map-by node hostname")?.code(0)?.lines(&names(&[1, 2, 3, 4], 1))?;
    c.tool_on(LOGIN, "pterm", "")?.run()?.code(0)?;
    finish(running)?.code(0)?;
    Ok(())
}

fn slurm_nodes_of_a_job_that_somebody_has_got_for_the_dvm_come_and_go_like_others(c: &Context) -> Result<()> {
    let running = start_dvm(c, "")?;
    c.program_on(LOGIN, "salloc", "-Q --no-shell -J pushed -N2 -w n[5-6]")?.run()?.code(0)?;
    let job = slurm(c, "squeue", "-h --name=pushed -o %i")?.trim().to_owned();
    pdvm(c, &format!("grow --rm-job {job} --wait"))?;
    prun(c, "--host n5,n6 -n 2 --map-by node hostname")?.code(0)?.lines(&names(&[5, 6], 1))?;
    let again = c.tool_on(LOGIN, "pdvm", &format!("grow --rm-job {job}"))?.run()?.failure()?;
    again.complains_about(&[&format!("job {job}"), "already"])?;
    let unknown = c.tool_on(LOGIN, "pdvm", "grow --rm-job 4711 --wait")?.run()?.failure()?;
    unknown.complains_about(&["job 4711"])?;
    pdvm(c, "shrink --host n5,n6 --wait")?;
    ensure!(jobs(c, "RUNNING")?.len() == 1, "{:?}", jobs(c, "RUNNING")?);
    c.tool_on(LOGIN, "pterm", "")?.run()?.code(0)?;
    finish(running)?.code(0)?;
    Ok(())
}

/// Nodes that Slurm has granted come and leave under a job that changes its size with its data (spec E43, E45, E57).
fn elastic_job(c: &Context, mpi: Mpi) -> Result<()> {
    let python = python(mpi).ok_or_else(|| Skipped("mpi4py is not installed".into()))?;
    let running = start_dvm(c, "")?;
    let up = c.file("up", "")?;
    let stop = up.with_file_name("stop");
    let path = format!("PYTHONPATH={}", root().join("python").display());
    let line = format!("--elastic 2:8 --grace 60 -x {path} -n 3 --map-by node");
    let job = c.tool_on(LOGIN, "prun", &line)?.words([&python, &source("malleable.py"), &up, &stop])?.start()?;
    lines_of(c, &up, 1)?;
    // The node of its first process goes back to Slurm.
    pdvm(c, "shrink --host n1 --wait")?;
    ensure!(slurm(c, "squeue", "-h -o %N")? == "n[2-4]\n");
    pdvm(c, "grow --nodes 2 --wait")?;
    pdvm(c, "resize 2 =4 --wait")?;
    pdvm(c, "shrink --host n2,n3 --wait")?;
    pdvm(c, "resize 2 =4 --wait")?;
    pdvm(c, "resize 2 =2 --wait")?;
    // Nodes of low priority come, and go to another job of Slurm.
    pdvm(c, &format!("grow --nodes 2 --queue {LOW_PARTITION} --wait"))?;
    pdvm(c, "resize 2 =4 --wait")?;
    let low = slurm(c, "squeue", &format!("-h -p {LOW_PARTITION} -o %N"))?;
    let high = format!("-p {HIGH_PARTITION} --exclusive -w {} true", low.trim());
    c.program_on(LOGIN, "salloc", &format!("-Q {high}"))?.run()?.code(0)?;
    ensure!(slurm(c, "squeue", &format!("-h -p {LOW_PARTITION}"))?.is_empty(), "the nodes are not given back");
    std::fs::write(&stop, "")?;
    let end = finish(job)?.code(0)?;
    std::fs::remove_file(&stop)?;
    ensure!(end.stdout.trim_end() == "right", "{}", end.stdout);
    c.tool_on(LOGIN, "pterm", "")?.run()?.code(0)?;
    finish(running)?.code(0)?;
    Ok(())
}
