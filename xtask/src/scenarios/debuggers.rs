//! Debuggers that are PMIx tools, and their daemons beside the processes of a job (docs/debugging.md).

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;

use super::context::{Context, Expect, finish};
use super::dvm::{start_dvm, stop_dvm};
use super::{Scenario, scenarios};
use crate::programs::pmix_program;
use crate::runner::{Outcome, Running};
use crate::workspace::product;

/// Time limit of these tools.
const LIMIT: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_secs(20);

/// Output of a debugger whose job is on two nodes.
const OF_TWO: &[&str] = &[
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
/// The same on one node.
const OF_ONE: &[&str] = &[
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

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        a_debugger_starts_a_job_and_puts_daemons_beside_it,
        debuggers_attach_to_a_job_of_prte_again_and_at_the_same_time,
        a_debugger_starts_prterun_and_directs_its_job,
        a_prterun_that_nobody_lets_go_on_says_so_and_ends_with_its_tool,
        a_debugger_starts_prun_and_directs_its_job,
        a_prun_that_nobody_lets_go_on_ends_with_its_tool,
        events_of_a_debugger_that_directs_prun_reach_the_dvm,
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
            let wanted = if hosts == "n0:2" { OF_ONE } else { OF_TWO };
            ensure!(sorted(&outcome) == wanted, "{hosts} {place} from n{node}: {:#?}", sorted(&outcome));
        }
        stop_dvm(c)?;
    }
    Ok(())
}

/// For a launcher that a tool starts.
const AS_ROOT: [(&str, &str); 2] = [("PRTE_ALLOW_RUN_AS_ROOT", "1"), ("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1")];

/// Starts `prterun` by the tool, which directs it.
fn indirectly(c: &Context, how: &str, hosts: &str, program: &[&str]) -> Result<Running> {
    launched_by_tool(c, 0, "prterun", how, hosts, program)
}

/// Starts a launcher on a node by the tool, which directs it.
fn launched_by_tool(
    c: &Context,
    node: usize,
    launcher: &str,
    how: &str,
    hosts: &str,
    program: &[&str],
) -> Result<Running> {
    let launcher = product(launcher);
    let launcher = launcher.to_string_lossy();
    let words = [&["indirect", how, &launcher, "--host", hosts, "--map-by", "node", "-n", "2"][..], program].concat();
    start(c, node, &words, &AS_ROOT)
}

/// The indirect flow, on one node and on two (spec L147, L35).
fn a_debugger_starts_prterun_and_directs_its_job(c: &Context) -> Result<()> {
    let program = pmix_program("debugger")?;
    let program = program.to_string_lossy();
    for hosts in ["n0:2", "n0:1,n1:1"] {
        for place in ["init", "exec"] {
            let outcome = finish(indirectly(c, place, hosts, &[&program, "child"])?)?.code(0)?;
            ensure!(outcome.stdout.starts_with("called\nready\n"), "{hosts} {place}: {}", outcome.stdout);
            let own = ["called", "launcher over"];
            let of_job = if hosts == "n0:2" { OF_ONE } else { OF_TWO };
            let mut wanted: Vec<&str> = own.into_iter().chain(of_job.iter().copied()).collect();
            wanted.sort_unstable();
            ensure!(sorted(&outcome) == wanted, "{hosts} {place}: {:#?}", sorted(&outcome));
        }
    }
    // Placement is the command line's.
    let outcome = finish(indirectly(c, "node", "n0:2", &["true"])?)?.code(0)?;
    ensure!(outcome.stdout == "called\nlauncher over\n", "it says {}", outcome.stdout);
    outcome.complains_about(&["was not launched", "pmix.mapby", "command line"])?;
    // The job ends with the tool.
    let dies = indirectly(c, "exec", "n0:1,n1:1", &["tail", "-f", "/dev/null"])?;
    c.wait_for(2, "tail")?;
    c.signal(0, "debugtool", Signal::KILL)?;
    finish(dies)?.failure()?;
    c.wait_for(0, "tail")?;
    c.wait_for(0, "prterun")
}

/// Starts a launcher by a tool that does not let it go on, and waits until the launcher says so.
fn silent(c: &Context, launcher: &str) -> Result<Running> {
    let log = c.bed().shared().join(format!("log-{launcher}"));
    let (tool, launcher) = (pmix_program("debugtool")?, product(launcher));
    let script = "exec \"$0\" indirect never \"$1\" --host n0:2 -n 2 true > \"$2\" 2>&1";
    let mut command = c.bed().command(0, Path::new("sh"))?;
    let silent = Running::start(command.args(["-c", script]).args([&tool, &launcher, &log]).envs(AS_ROOT))?;
    c.until("the launcher says what it waits for", SOON, || {
        Ok(fs::read_to_string(&log).is_ok_and(|text| text.contains("waits for the tool")))
    })?;
    Ok(silent)
}

/// No tool, one that is silent, one that dies (spec L147).
fn a_prterun_that_nobody_lets_go_on_says_so_and_ends_with_its_tool(c: &Context) -> Result<()> {
    for (address, why) in [("tool.0;tcp4://127.0.0.1:1", "no tool answers"), ("here", "no tool answers")] {
        let called = c.prterun("--host n0 -n 1 true")?.env("PMIX_LAUNCHER_RNDZ_URI", address).run()?;
        called.code(1)?.complains_about(&["was not launched", address, why, "PMIX_LAUNCHER_RNDZ_URI"])?;
    }
    for command in ["prun --detach -n 1 true", "prun --batch -", "prte --daemonize"] {
        let (name, words) = command.split_once(' ').unwrap_or((command, ""));
        let refused = c.tool(name, words)?.env("PMIX_LAUNCHER_RNDZ_URI", "tool.0;tcp4://127.0.0.1:1").run()?;
        refused.code(1)?.complains_about(&["PMIX_LAUNCHER_RNDZ_URI", "prterun"])?;
    }
    let bad = c.prterun("--host n0 -n 1 true")?.env("PMIX_KEEPALIVE_PIPE", "0").run()?;
    bad.code(1)?.complains_about(&["PMIX_KEEPALIVE_PIPE", "is no pipe"])?;
    finish(indirectly(c, "gone", "n0:2", &["true"])?)?.failure()?;
    c.wait_for(0, "prterun")?;
    let silent = silent(c, "prterun")?;
    c.signal(0, "debugtool", Signal::KILL)?;
    finish(silent)?.failure()?;
    c.wait_for(0, "prterun")
}

/// The indirect flow with a DVM that runs already, from the node of the head and from another one (spec L139).
fn a_debugger_starts_prun_and_directs_its_job(c: &Context) -> Result<()> {
    let program = pmix_program("debugger")?;
    let program = program.to_string_lossy();
    start_dvm(c, 2)?;
    for (hosts, node) in [("n0:2", 0), ("n0:1,n1:1", 0), ("n0:1,n1:1", 1)] {
        for place in ["init", "exec"] {
            let run = launched_by_tool(c, node, "prun", place, hosts, &[&program, "child"])?;
            let outcome = finish(run)?.code(0)?;
            ensure!(outcome.stdout.starts_with("called\nready\n"), "{hosts} {place}: {}", outcome.stdout);
            let own = ["called", "launcher over"];
            let of_job = if hosts == "n0:2" { OF_ONE } else { OF_TWO };
            let mut wanted: Vec<&str> = own.into_iter().chain(of_job.iter().copied()).collect();
            wanted.sort_unstable();
            let said = sorted(&outcome);
            ensure!(said == wanted, "{hosts} {place} from n{node}: {said:#?}\n{}", outcome.stderr);
        }
    }
    let outcome = finish(launched_by_tool(c, 0, "prun", "node", "n0:2", &["true"])?)?.code(0)?;
    ensure!(outcome.stdout == "called\nlauncher over\n", "it says {}", outcome.stdout);
    outcome.complains_about(&["was not launched", "pmix.mapby", "command line"])?;
    // The job ends with the tool, and the DVM goes on.
    for node in [0, 1] {
        let dies = launched_by_tool(c, node, "prun", "exec", "n0:1,n1:1", &["tail", "-f", "/dev/null"])?;
        c.wait_for(2, "tail")?;
        c.signal(node, "debugtool", Signal::KILL)?;
        finish(dies)?.failure()?;
        c.wait_for(0, "tail")?;
        c.wait_for(0, "prun")?;
    }
    c.tool("prun", "-n 1 true")?.run()?.code(0)?;
    stop_dvm(c)
}

/// No tool, one that dies, one that is silent, no DVM (spec L139).
fn a_prun_that_nobody_lets_go_on_ends_with_its_tool(c: &Context) -> Result<()> {
    start_dvm(c, 1)?;
    for address in ["tool.0;tcp4://127.0.0.1:1", "here"] {
        let called = c.tool("prun", "-n 1 true")?.env("PMIX_LAUNCHER_RNDZ_URI", address).run()?;
        called.code(1)?.complains_about(&["was not launched", address, "no tool answers", "PMIX_LAUNCHER_RNDZ_URI"])?;
    }
    finish(launched_by_tool(c, 0, "prun", "gone", "n0:2", &["true"])?)?.failure()?;
    c.wait_for(0, "prun")?;
    let silent = silent(c, "prun")?;
    c.signal(0, "prun", Signal::TERM)?;
    finish(silent)?.code(0)?;
    c.wait_for(0, "prun")?;
    c.tool("pdvm", "status")?.run()?.code(0)?;
    stop_dvm(c)
}

/// (spec L143)
fn events_of_a_debugger_that_directs_prun_reach_the_dvm(c: &Context) -> Result<()> {
    let (raise, program) = (pmix_program("raise")?, pmix_program("debugger")?);
    start_dvm(c, 1)?;
    for node in [0, 1] {
        let mut listener = Running::start_unread(c.bed().command(0, &raise)?.args(["listen", "2"]))?;
        let mut said = BufReader::new(listener.child().stdout.take().context("no output")?);
        let mut line = String::new();
        said.read_line(&mut line)?;
        ensure!(line == "listening\n", "the listener says {line:?}");
        let run = launched_by_tool(c, node, "prun", "event", "n0:2", &[&program.to_string_lossy(), "child"])?;
        finish(run)?.code(0)?;
        let mut rest = String::new();
        said.read_to_string(&mut rest)?;
        for number in [0, 1] {
            ensure!(rest.contains(&format!("0 heard {number} of 0")), "from n{node} it hears {rest:?}");
        }
        finish(listener)?.code(0)?;
    }
    stop_dvm(c)
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
