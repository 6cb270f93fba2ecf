//! PMIx tools on nodes other than the head's, which are served through the daemon of their node.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;

use super::context::{Context, Expect, finish};
use super::dvm::{start_dvm, stop_dvm};
use super::{Scenario, scenarios};
use crate::programs::pmix_program;
use crate::runner::{self, Outcome, Running};

/// Time limit of these tools.
const LIMIT: Duration = Duration::from_secs(60);

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        a_pmix_tool_on_another_node_is_served_by_the_daemon_there,
        a_pmix_tool_on_another_node_changes_the_size_of_the_dvm,
        a_killed_pmix_tool_on_another_node_takes_its_job_along,
        a_daemon_that_leaves_or_dies_ends_the_pmix_tools_of_its_node,
        a_process_that_calls_itself_a_tool_is_served_without_a_persistent_dvm,
        a_tool_attaches_again_with_its_name_when_its_namesake_has_left,
        a_tool_has_two_servers_and_switches_between_them,
        a_tool_attaches_to_prterun_which_has_the_exit_code_of_its_own_job,
    ]
}

/// Runs a tool of `tests/programs` on a node.
fn tool(c: &Context, node: usize, name: &str, words: &[&str]) -> Result<Outcome> {
    runner::run(c.bed().command(node, &pmix_program(name)?)?.args(words), LIMIT)
}

fn start(c: &Context, node: usize, name: &str, words: &[&str]) -> Result<Running> {
    Running::start(c.bed().command(node, &pmix_program(name)?)?.args(words))
}

fn a_process_that_calls_itself_a_tool_is_served_without_a_persistent_dvm(c: &Context) -> Result<()> {
    let job = c.prterun("--host n0:1,n1:1 --map-by node -n 2")?.program(&pmix_program("asks")?)?;
    let outcome = job.run()?.code(0)?;
    let names: Vec<&str> = outcome.stdout.lines().collect();
    let is_of_the_job = |name: &str| name.starts_with("named prterun") && name.ends_with("@1");
    ensure!(names.len() == 2 && names.iter().all(|name| is_of_the_job(name)), "it says {names:?}");
    Ok(())
}

/// A tool names the `prterun` to which it attaches in each way (spec L35).
fn a_tool_attaches_to_prterun_which_has_the_exit_code_of_its_own_job(c: &Context) -> Result<()> {
    let (file, go) = (c.bed().shared().join("rendezvous"), c.bed().shared().join("go"));
    // The directory is that of all scenarios.
    let _ = std::fs::remove_file(&go);
    let script = format!("while [ ! -e {} ]; do sleep 0.05; done; exit 3", go.display());
    let own = c.prterun("--host n0:4,n1:4 -n 1 sh -c")?.words([script])?.env("PMIX_LAUNCHER_RNDZ_FILE", &file);
    let own = own.start()?;
    c.until("prterun writes the file that it is given", LIMIT, || Ok(file.exists()))?;
    let text = std::fs::read_to_string(&file)?;
    let lines: Vec<&str> = text.lines().collect();
    let [uri, _, pid, ..] = lines[..] else { anyhow::bail!("the file says {text:?}") };
    let nspace = uri.split(".0;").next().context("no namespace")?;
    for at in
        [format!("pid={pid}"), format!("nspace={nspace}"), format!("uri={uri}"), format!("uri=file:{}", file.display())]
    {
        tool(c, 0, "tool", &[&at, "2", "sh", "-c", "echo hello"])?
            .code(0)?
            .lines(&["hello".to_owned(), "hello".to_owned()])?;
    }
    let by_pid = format!("pid={pid}");
    tool(c, 0, "tool", &[&by_pid, "1", "sh", "-c", "exit 5"])?.code(5)?;
    // Other clients do not find it.
    c.tool("prun", "-n 1 true")?.run()?.code(1)?.complains_about(&["no DVM"])?;
    let stays = start(c, 0, "tool", &[&by_pid, "1", "tail", "-f", "/dev/null"])?;
    c.wait_for(1, "tail")?;
    std::fs::write(&go, "")?;
    finish(own)?.code(3)?.complains_about(&["which a tool has started, was ended", "prte"])?;
    c.wait_for(0, "tail")?;
    finish(stays)?.failure()?;
    ensure!(!file.exists(), "{} is left", file.display());
    Ok(())
}

/// At the head and elsewhere. The name of a tool that is connected is refused at once (spec L101).
fn a_tool_attaches_again_with_its_name_when_its_namesake_has_left(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let shown = c.tool("pdvm", "status --json")?.run()?.code(0)?.stdout;
    let dvm = shown.split('"').skip_while(|word| *word != "dvm").nth(2).context("no name")?;
    let at = format!("nspace={dvm}@0");
    for node in [0, 1] {
        for _ in 0..4 {
            tool(c, node, "again", &["bob", &at])?.code(0)?.lines(&["bob SUCCESS".to_owned()])?;
        }
        let said = tool(c, node, "again", &["bob", &at, "beside"])?.code(0)?.stdout;
        ensure!(said == "bob UNREACHABLE at init\nbob SUCCESS\n", "it says {said}");
        tool(c, node, "again", &["bob", &at])?.code(0)?.lines(&["bob SUCCESS".to_owned()])?;
    }
    stop_dvm(c)
}

/// Two servers on one node: two DVMs, and a DVM beside a `prterun`. (The other way round, with a `prterun` that is
/// named by its file first, a tool with libpmix 4.2.2 does not reach its second server.)
fn a_tool_has_two_servers_and_switches_between_them(c: &Context) -> Result<()> {
    let pid_of = |name: &str| c.bed().shared().join(name);
    let start = |name: &str| -> Result<String> {
        let prte = c.tool("prte", "--daemonize --host n0:4,n1:4 --report-pid")?;
        prte.words([pid_of(name)])?.run()?.code(0)?;
        Ok(format!("pid={}", std::fs::read_to_string(pid_of(name))?.trim()))
    };
    let (first, second) = (start("first")?, start("second")?);
    let file = c.bed().shared().join("rendezvous");
    let job = c.prterun("--host n0:4 -n 1 tail -f /dev/null")?.env("PMIX_LAUNCHER_RNDZ_FILE", &file).start()?;
    c.until("prterun writes the file that it is given", LIMIT, || Ok(file.exists()))?;
    let third = format!("uri=file:{}", file.display());
    let expected = [
        "init SUCCESS",
        "servers SUCCESS",
        "1 known",
        "job of the first",
        "attach SUCCESS",
        "servers SUCCESS",
        "2 known",
        "switch SUCCESS",
        "job of the second",
        "switch SUCCESS",
        "job of the first",
        "leave SUCCESS",
        "job of the first",
        "finalize SUCCESS",
    ];
    for (one, other) in [(&first, &second), (&second, &third)] {
        let said = tool(c, 0, "servers", &[one, other])?.code(0)?.stdout;
        ensure!(said.lines().eq(expected), "{one} and {other}: it says {said}");
    }
    c.signal(0, "tail", Signal::TERM)?;
    finish(job)?.failure()?;
    for pid in [first, second] {
        c.tool("pterm", "--pid")?.words([pid.trim_start_matches("pid=")])?.run()?.code(0)?;
    }
    Ok(())
}

fn a_pmix_tool_on_another_node_is_served_by_the_daemon_there(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let run = |script: &str| tool(c, 1, "tool", &["8", "sh", "-c", script]);
    let all: Vec<String> = (0..8).map(|rank| format!("n{}", rank / 2)).collect();
    run("hostname")?.code(0)?.lines(&all)?;
    run("echo out; echo err >&2; [ $PMIX_RANK != 7 ] || exit 5")?.code(5)?.complains_about(&["err"])?;
    tool(c, 1, "tool", &["1000", "hostname"])?.code(99)?.complains_about(&["tool: spawn", "(-29)"])?;
    tool(c, 1, "tool", &["8", "no-such-program"])?.code(99)?.complains_about(&["tool: spawn", "(-181)"])?;
    // Much more than a window.
    let loud = tool(c, 2, "tool", &["1", "sh", "-c", "yes xxxxxxx | head -n 1000000"])?.code(0)?;
    ensure!(loud.stdout.len() == 8_000_000, "{} bytes of output came", loud.stdout.len());
    let names: Vec<String> = [0, 1, 2].into_iter().map(|node| asks(c, node)).collect::<Result<_>>()?;
    let mut own: Vec<&str> = names.iter().filter_map(|said| said.lines().next()).collect();
    own.sort_unstable();
    own.dedup();
    ensure!(own.len() == 3, "two tools have one name: {names:?}");
    stop_dvm(c)
}

fn asks(c: &Context, node: usize) -> Result<String> {
    Ok(tool(c, node, "asks", &[])?.code(0)?.stdout)
}

fn a_pmix_tool_on_another_node_changes_the_size_of_the_dvm(c: &Context) -> Result<()> {
    let prte = c.tool("prte", "--daemonize --host n0:4,n1:4 --prtemca prte_elastic_mode 1")?;
    prte.words(["--prtemca", "prte_dvm_events", "always"])?.run()?.code(0)?;
    let elastic = |steps: &[&str]| -> Result<Vec<String>> {
        Ok(tool(c, 1, "elastic", steps)?.code(0)?.stdout.lines().map(str::to_owned).collect())
    };
    let lines =
        elastic(&["tool", "unknown", "new=n2,n3", "event", "release=n2", "event", "release", "event", "quiet"])?;
    let expected = [
        "unknown refused -46",
        "new accepted a1 mine",
        "ready a1 mine",
        "release accepted a1 -",
        "ready a1 -",
        "release accepted a1 -",
        "ready a1 -",
        "requester unheard 0",
    ];
    ensure!(lines == expected, "it says {lines:?}");
    let lines = elastic(&["tool", "timed=n2", "event", "event", "quiet"])?;
    let expected = ["timed accepted a2 mine", "ready a2 mine", "warned a2 mine 3", "requester unheard 0"];
    ensure!(lines == expected, "it says {lines:?}");
    c.wait_for(1, "prted")?;
    // One that does not wait for the end: when it is gone, its nodes are everybody's.
    let lines = elastic(&["tool", "new=n3"])?;
    ensure!(lines == ["new accepted a3 mine"], "it says {lines:?}");
    let hostname = || c.tool("prun", "--host n3 -n 1 hostname")?.run();
    c.until("n3 is everybody's", Duration::from_secs(20), || Ok(hostname()?.is_success()))?;
    stop_dvm(c)
}

fn a_killed_pmix_tool_on_another_node_takes_its_job_along(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let victim = start(c, 1, "tool", &["4", "sleep", "1000"])?;
    c.wait_for(4, "sleep")?;
    c.signal(1, "tool", Signal::KILL)?;
    c.wait_for(0, "sleep")?;
    finish(victim)?.failure()?;
    tool(c, 1, "tool", &["4", "true"])?.code(0)?;
    stop_dvm(c)
}

fn a_daemon_that_leaves_or_dies_ends_the_pmix_tools_of_its_node(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    // Their jobs run on n0.
    let leaves = start(c, 1, "tool", &["1", "sleep", "1000"])?;
    let dies = start(c, 3, "tool", &["1", "sleep", "1000"])?;
    let asks = start(c, 3, "asks", &["stay"])?;
    c.wait_for(2, "sleep")?;
    c.tool("pdvm", "shrink --wait --host n1")?.run()?.code(0)?;
    c.wait_for(1, "sleep")?;
    finish(leaves)?.code(97)?;
    c.worker(3, "prted")?.signal(Signal::KILL)?;
    c.wait_for(0, "sleep")?;
    finish(dies)?.code(97)?;
    let said = finish(asks)?.code(3)?.stdout;
    ensure!(said.lines().last().context("nothing is said")? == "lost", "it says {said}");
    for node in [1, 3] {
        let unserved = tool(c, node, "asks", &[])?.code(2)?.stdout;
        ensure!(unserved.starts_with("unserved"), "it says {unserved}");
    }
    tool(c, 2, "tool", &["2", "true"])?.code(0)?;
    stop_dvm(c)
}
