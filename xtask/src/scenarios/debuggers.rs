//! Debuggers that are PMIx tools, and their daemons beside the processes of a job (docs/debugging.md).

use std::time::Duration;

use anyhow::{Result, ensure};

use super::context::{Context, Expect, finish};
use super::dvm::{start_dvm, stop_dvm};
use super::{Scenario, scenarios};
use crate::programs::pmix_program;
use crate::runner::{Outcome, Running};

/// Time limit of these tools.
const LIMIT: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_secs(20);

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        a_debugger_starts_a_job_and_puts_daemons_beside_it,
        debuggers_attach_to_a_job_of_prte_again_and_at_the_same_time,
    ]
}

fn start(c: &Context, node: usize, words: &[&str], env: &[(&str, &str)]) -> Result<Running> {
    let mut command = c.bed().command(node, &pmix_program("debugtool")?)?;
    Running::start(command.args(words).envs(env.iter().copied()))
}

fn tool(c: &Context, node: usize, words: &[&str], env: &[(&str, &str)]) -> Result<Outcome> {
    start(c, node, words, env)?.finish(LIMIT)
}

fn sorted(outcome: &Outcome) -> Vec<String> {
    let mut lines: Vec<String> = outcome.stdout.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

/// The direct flow, on one node and on two, at the head and elsewhere (spec L66, L67).
fn a_debugger_starts_a_job_and_puts_daemons_beside_it(c: &Context) -> Result<()> {
    let program = pmix_program("debugger")?;
    let program = program.to_string_lossy();
    for (hosts, node) in [("n0:2", 0), ("n0:1,n1:1", 0), ("n0:1,n1:1", 1)] {
        c.tool("prte", "--daemonize --host")?.words([hosts])?.run()?.code(0)?;
        for place in ["init", "exec"] {
            let outcome = tool(c, node, &["direct", place, &program, "child"], &[])?.code(0)?;
            ensure!(outcome.stdout.starts_with("ready\n"), "{hosts} {place}: {}", outcome.stdout);
            let of_two = [
                "child 0 went on",
                "child 1 went on",
                "daemon 0 on n0: 1 of 2 here, one target",
                "daemon 0: target ended with 0",
                "daemon 1 on n1: 1 of 2 here, one target",
                "daemon 1: target ended with 0",
                "daemons over: 0",
                "ready",
                "target 0 on n0 runs 1",
                "target 1 on n1 runs 1",
                "target over: 0",
            ];
            let of_one = [
                "child 0 went on",
                "child 1 went on",
                "daemon 0 on n0: 2 of 2 here, one target",
                "daemon 0: target ended with 0",
                "daemons over: 0",
                "ready",
                "target 0 on n0 runs 1",
                "target 1 on n0 runs 1",
                "target over: 0",
            ];
            let wanted: &[&str] = if hosts == "n0:2" { &of_one } else { &of_two };
            ensure!(sorted(&outcome) == wanted, "{hosts} {place} from n{node}: {:#?}", sorted(&outcome));
        }
        stop_dvm(c)?;
    }
    Ok(())
}

/// Output of an attached tool: two processes on two nodes, in two rounds.
fn of_two_rounds() -> Vec<&'static str> {
    let round = [
        "daemon 0 on n0: 1 of 2 here, one target",
        "daemon 1 on n1: 1 of 2 here, one target",
        "daemons over: 0",
        "target 0 on n0 runs 1",
        "target 1 on n1 runs 1",
    ];
    round.into_iter().flat_map(|line| [line, line]).collect()
}

fn debuggers_attach_to_a_job_of_prte_again_and_at_the_same_time(c: &Context) -> Result<()> {
    start_dvm(c, 1)?;
    let job = c.tool("prun", "-n 2 --map-by node --host n0,n1 sleep 1000")?.start()?;
    c.until("the job runs", SOON, || Ok(c.tool("pdvm", "job 1")?.run()?.stdout.contains("State      RUNNING")))?;
    let nspace = c.tool("pdvm", "status --json")?.run()?.code(0)?.stdout;
    let dvm = nspace.split("\"dvm\":").nth(1).and_then(|rest| rest.split('"').nth(1)).unwrap_or_default().to_owned();
    let nspace = format!("{dvm}@1");
    let many = [0, 0, 1].map(|node| start(c, node, &["attach", &nspace], &[]));
    for running in many {
        let outcome = running?.finish(LIMIT)?.code(0)?;
        ensure!(sorted(&outcome) == of_two_rounds(), "{:#?}\n{}", sorted(&outcome), outcome.stderr);
    }
    tool(c, 0, &["attach", &format!("{dvm}@77")], &[])?.code(99)?;
    ensure!(c.tool("pdvm", "job 1")?.run()?.stdout.contains("State      RUNNING"), "the job goes on");
    c.tool("pdvm", "kill 1")?.run()?.code(0)?;
    finish(job)?.failure()?;
    stop_dvm(c)
}
