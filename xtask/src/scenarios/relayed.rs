//! Clients on nodes other than the head's, which are served through the daemon of their node.

use std::io::Write as _;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;

use super::context::{Context, Expect, finish};
use super::dvm::start_dvm;
use super::{Scenario, scenarios};
use crate::runner::Outcome;
use crate::workspace::product;

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        a_client_on_another_node_is_served_by_the_daemon_there,
        a_dvm_that_is_ready_serves_clients_on_every_node,
        a_killed_client_on_another_node_takes_its_job_along,
        a_client_on_another_node_that_reads_nothing_disturbs_nobody,
        a_daemon_that_leaves_or_dies_ends_the_clients_of_its_node,
        a_dvm_ended_from_another_node_tells_clients_everywhere,
    ]
}

/// Runs a command on node 2, which is not the head's.
fn on_n2(c: &Context, tool: &str, line: &str) -> Result<Outcome> {
    c.tool_on(2, tool, line)?.run()
}

fn stop_from_n2(c: &Context) -> Result<()> {
    let outcome = on_n2(c, "pterm", "")?.code(0)?;
    ensure!(outcome.stderr.contains("TERMINATING DVM...DONE"), "pterm says {}", outcome.stderr);
    Ok(())
}

fn a_client_on_another_node_is_served_by_the_daemon_there(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let all: Vec<String> = (0..8).map(|rank| format!("n{}", rank / 2)).collect();
    on_n2(c, "prun", "-n 8 --map-by slot hostname")?.code(0)?.lines(&all)?;
    c.tool_on(2, "prun", "-n 2 sh -c")?.words(["[ $PMIX_RANK != 1 ] || exit 7"])?.run()?.code(7)?;
    let mut echo = c.tool_on(2, "prun", "-n 1 --host n3 cat")?.with_stdin().start()?;
    echo.child().stdin.take().context("no stdin")?.write_all(b"to n0, n3 and back\n")?;
    finish(echo)?.code(0)?.lines(&["to n0, n3 and back".to_owned()])?;
    let program = ["trap 'echo told; exit 5' USR1; echo up >&2; while :; do sleep 0.1; done"];
    let signalled = c.tool_on(2, "prun", "-n 1 --host n1 sh -c")?.words(program)?.start()?;
    c.wait_for(1, "sleep")?;
    c.signal(2, "prun", Signal::USR1)?;
    finish(signalled)?.code(5)?;
    let status = on_n2(c, "pdvm", "status")?.code(0)?;
    ensure!(status.stdout.contains("4 with a daemon"), "pdvm status says {}", status.stdout);
    on_n2(c, "pdvm", "shrink --wait --host n1")?.code(0)?;
    on_n2(c, "pdvm", "grow --wait --host n1")?.code(0)?;
    c.tool_on(1, "prun", "-n 1 --host n3 hostname")?.run()?.code(0)?.lines(&["n3".to_owned()])?;
    stop_from_n2(c)
}

/// `bind` takes half a second on all nodes, so that their control sockets come late (spec L40).
fn a_dvm_that_is_ready_serves_clients_on_every_node(c: &Context) -> Result<()> {
    let prted = product("prted");
    let agent = format!("strace -f -qq -o /dev/null -e inject=bind:delay_enter=500000 {}", prted.display());
    let (hostfile, options) = (c.hostfile(2)?, ["--prtemca", "prte_launch_agent", &agent]);
    c.tool("prte", "--daemonize --hostfile")?.words([hostfile])?.words(options)?.run()?.code(0)?;
    on_n2(c, "prun", "-n 1 hostname")?.code(0)?;
    stop_from_n2(c)
}

fn a_killed_client_on_another_node_takes_its_job_along(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let victim = c.tool_on(2, "prun", "-n 4 sleep 1000")?.start()?;
    c.wait_for(4, "sleep")?;
    c.signal(2, "prun", Signal::KILL)?;
    c.wait_for(0, "sleep")?;
    finish(victim)?.failure()?;
    on_n2(c, "prun", "-n 1 hostname")?.code(0)?;
    stop_from_n2(c)
}

fn a_client_on_another_node_that_reads_nothing_disturbs_nobody(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let loud = c.tool_on(2, "prun", "-n 1 --host n3 yes")?.start_unread()?;
    c.wait_for(1, "yes")?;
    // The output fills a pipe without a reader, and the client takes no more from the DVM.
    on_n2(c, "prun", "-n 4 true")?.code(0)?;
    let daemon = c.worker(2, "prted")?;
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid))?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kib: u64 = resident.trim().trim_end_matches(" kB").trim().parse()?;
    ensure!(kib < 64 * 1024, "the daemon that passes the output on has {kib} KiB");
    stop_from_n2(c)?;
    c.signal(2, "prun", Signal::KILL)?;
    finish(loud)?.failure()?;
    Ok(())
}

fn a_daemon_that_leaves_or_dies_ends_the_clients_of_its_node(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let leaves = c.tool_on(1, "prun", "-n 1 --host n0 sleep 1000")?.start()?;
    let dies = c.tool_on(3, "prun", "-n 1 --host n0 sleep 1000")?.start()?;
    c.wait_for(2, "sleep")?;
    on_n2(c, "pdvm", "shrink --wait --host n1")?.code(0)?;
    c.wait_for(1, "sleep")?;
    finish(leaves)?.failure()?.complains_about(&["the daemon on this node", "is gone"])?;
    c.worker(3, "prted")?.signal(Signal::KILL)?;
    c.wait_for(0, "sleep")?;
    finish(dies)?.failure()?.complains_about(&["the daemon on this node", "is gone"])?;
    on_n2(c, "prun", "-n 1 hostname")?.code(0)?;
    stop_from_n2(c)
}

fn a_dvm_ended_from_another_node_tells_clients_everywhere(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let elsewhere = c.tool_on(1, "prun", "-n 2 --map-by node sleep 1000")?.start()?;
    c.wait_for(2, "sleep")?;
    stop_from_n2(c)?;
    finish(elsewhere)?.failure()?.complains_about(&["was ended by request (pterm)"]).map(drop)
}
