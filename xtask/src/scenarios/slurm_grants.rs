//! Failures of nodes that Slurm grants to a DVM in one of its jobs.
//!
//! The head is on the login node. What Slurm has granted is counted where Slurm counts it: in `squeue` and `sinfo`.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::context::{Context, Expect, finish};
use super::slurm::{NODES, names, prun, released_after, slurm};
use super::slurm_changes::{daemons_on, in_dvm, pdvm, signal_slurmd, start_pdvm};
use super::{Scenario, scenarios};
use crate::testbed::LOGIN;

const GONE_LIMIT: Duration = Duration::from_secs(15);

pub(super) fn all() -> Vec<Scenario> {
    let all = scenarios![
        slurm_has_the_nodes_of_a_grow_back_that_its_slurmd_did_not_survive,
        slurm_has_granted_a_node_that_crashes_and_the_dvm_goes_on,
    ];
    all.into_iter().map(|scenario| released_after(scenario.on_nodes(NODES).under_slurm())).collect()
}

/// The nodes that the DVM has and that are up.
fn up(c: &Context) -> Result<BTreeSet<String>> {
    let listed = pdvm(c, "nodes")?.code(0)?.stdout;
    let up = listed.lines().filter(|line| line.split_whitespace().nth(1) == Some("up"));
    Ok(up.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect())
}

fn jobs(c: &Context) -> Result<usize> {
    Ok(slurm(c, "squeue", "-h -t R,PD,CF -o %i")?.lines().count())
}

/// Two nodes of Slurm's choice; their names.
fn grow_by_two(c: &Context) -> Result<Vec<String>> {
    let before = up(c)?;
    pdvm(c, "grow --nodes 2 --wait")?.code(0)?;
    let new: Vec<String> = up(c)?.difference(&before).cloned().collect();
    ensure!(new.len() == 2, "the DVM has these more: {new:?}");
    Ok(new)
}

/// Keeps all nodes from the DVM but n1 to n4, so that the next two are known: n3 and n4.
fn leave_two(c: &Context) -> Result<()> {
    c.program_on(LOGIN, "salloc", "-Q --no-shell -J others -N6 -w n[0,5-9] --exclusive")?.run()?.code(0)?;
    Ok(())
}

fn free_the_others(c: &Context) -> Result<()> {
    slurm(c, "scancel", "--name=others").map(|_| ())
}

fn slurm_has_the_nodes_of_a_grow_back_that_its_slurmd_did_not_survive(c: &Context) -> Result<()> {
    leave_two(c)?;
    in_dvm(c, "n[1-2]", "--prtemca ferrite_launch_timeout 5", || {
        signal_slurmd(c, 3, "STOP")?;
        let growing = start_pdvm(c, "grow --nodes 2 --wait")?;
        c.until("Slurm has granted them", GONE_LIMIT, || Ok(jobs(c)? == 3))?;
        signal_slurmd(c, 3, "KILL")?;
        finish(growing)?.failure()?.complains_about(&["n3"])?;
        c.bed().crash(3)?;
        slurm(c, "scontrol", "update nodename=n3 state=down reason=crashed")?;
        c.until("Slurm has them back", GONE_LIMIT, || Ok(jobs(c)? == 2 && daemons_on(c, &[3, 4]) == 0))?;
        pdvm(c, "grow --nodes 1 --wait")?.code(0)?;
        prun(c, "hostname")?.code(0)?;
        ensure!(up(c)? == names(&[1, 2, 4], 1).into_iter().collect(), "up are {:?}", up(c)?);
        Ok(())
    })?;
    free_the_others(c)
}

fn slurm_has_granted_a_node_that_crashes_and_the_dvm_goes_on(c: &Context) -> Result<()> {
    leave_two(c)?;
    in_dvm(c, "n[1-2]", "", || {
        grow_by_two(c)?;
        let job = c.tool_on(LOGIN, "prun", "--host n3 -n 1 sleep 1000")?.start()?;
        c.wait_for(1, "sleep")?;
        c.bed().crash(3)?;
        finish(job)?.failure()?.complains_about(&["n3"])?;
        slurm(c, "scontrol", "update nodename=n3 state=down reason=crashed")?;
        prun(c, "--map-by node -n 3 hostname")?.code(0)?.lines(&names(&[1, 2, 4], 1))?;
        Ok(())
    })?;
    free_the_others(c)
}
