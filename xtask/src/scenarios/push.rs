//! Nodes that a scheduler pushes into a DVM and takes out of it: there is no requester, so no process is told.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::context::{Context, Expect};
use super::{Scenario, scenarios};
use crate::programs::pmix_program;
use crate::runner;

pub(super) fn all() -> Vec<Scenario> {
    scenarios![a_scheduler_pushes_nodes_that_are_for_everybody_and_tells_nobody]
}

fn a_scheduler_pushes_nodes_that_are_for_everybody_and_tells_nobody(c: &Context) -> Result<()> {
    let elastic = "--daemonize --host n0:2,n1:2 --prtemca prte_elastic_mode 1 --prtemca prte_dvm_events always";
    c.tool("prte", elastic)?.run()?.code(0)?;
    c.tool("pdvm", "grow --push --wait --host n2:2")?.run()?.code(0)?;
    let hosts = c.tool("prun", "-n 2 --host n1:1,n2:1 hostname")?.run()?.code(0)?;
    hosts.lines(&["n1", "n2"].map(String::from))?;
    c.tool("pdvm", "grow --push --host n3 --reserve")?.run()?.code(1)?;
    // By PMIx, from a tool that says that it is the scheduler.
    let tool = pmix_program("elastic")?;
    let steps = ["tool", "push=n3", "pull=n2", "quiet"];
    let told = runner::run(c.bed().command(0, &tool)?.args(steps), Duration::from_secs(60))?.code(0)?.stdout;
    let expected = ["push accepted prte-", "pull accepted prte-", "requester unheard 0"];
    let lines: Vec<&str> = told.lines().collect();
    let fits = lines.len() == expected.len() && lines.iter().zip(expected).all(|(line, start)| line.starts_with(start));
    ensure!(fits, "the tool says {told}");
    c.until("n3 is there and n2 is gone", Duration::from_secs(20), || {
        let nodes = c.tool("pdvm", "nodes")?.run()?.code(0)?.stdout;
        Ok(nodes.contains("n3 ") && !nodes.contains("n2 "))
    })?;
    let sessions = c.tool("pdvm", "--json session list")?.run()?.code(0)?.stdout;
    ensure!(!sessions.contains("\"a1\""), "somebody owns what was pushed: {sessions}");
    c.tool("pterm", "")?.run()?.code(0)?;
    Ok(())
}
