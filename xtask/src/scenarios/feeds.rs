//! Standard input for jobs that have none from a submitter: `pdvm feed`, and PMIx tools (`PMIx_IOF_push`).

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use rustix::process::Signal;

use super::context::{Context, Expect, finish};
use super::dvm::{start_dvm, stop_dvm};
use super::{Scenario, scenarios};
use crate::programs::pmix_program;
use crate::runner::{Outcome, Running};

/// Time limit of these tools.
const LIMIT: Duration = Duration::from_secs(60);
/// More than the kernel and `ferrite-pmixd` keep for a tool that does not read.
const LINES: usize = 40_000_000;

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        a_detached_job_is_fed_from_any_node,
        pmix_tools_feed_jobs_of_others,
        a_job_that_a_process_has_spawned_is_fed_by_a_tool,
        a_pmix_tool_that_does_not_read_its_own_job_is_cut_off,
    ]
}

/// Starts a detached job whose readers copy their input into files of the shared directory; returns its namespace.
fn detached(c: &Context, line: &str) -> Result<String> {
    let script = format!("cat > {}/$PMIX_RANK", c.bed().shared().display());
    let started = c.tool("prun", &format!("--detach {line}"))?.words(["sh", "-c", &script])?.run()?.code(0)?;
    Ok(started.stdout.trim().to_owned())
}

fn feed(c: &Context, job: &str, text: &str) -> Result<Outcome> {
    let mut feed = c.tool("pdvm", &format!("feed {job}"))?.with_stdin().start()?;
    feed.child().stdin.take().context("no stdin")?.write_all(text.as_bytes())?;
    finish(feed)
}

fn tool(c: &Context, node: usize, words: &[&str]) -> Result<Outcome> {
    Running::start(c.bed().command(node, &pmix_program("feeds")?)?.args(words))?.finish(LIMIT)
}

fn says(outcome: &Outcome, lines: &[&str]) -> Result<()> {
    let said: Vec<&str> = outcome.stderr.lines().filter(|line| !line.starts_with('[')).collect();
    ensure!(said == lines, "the tool says {said:?} instead of {lines:?}");
    Ok(())
}

fn holds(path: &Path, text: &str) -> Result<()> {
    let held = std::fs::read_to_string(path)?;
    ensure!(held == text, "{}: {} bytes instead of {}", path.display(), held.len(), text.len());
    Ok(())
}

/// 3 MB come to readers on two nodes, more than all windows hold (spec L146).
fn a_detached_job_is_fed_from_any_node(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let job = detached(c, "--stdin all --host n0,n1 --map-by node -n 2")?;
    let text = "0123456789\n".repeat(300_000);
    feed(c, &job, &text)?.code(0)?;
    c.tool("pdvm", &format!("wait {job}"))?.run()?.code(0)?;
    for rank in ["0", "1"] {
        holds(&c.bed().shared().join(rank), &text)?;
    }
    let other = detached(c, "-n 1")?;
    c.tool("pdvm", &format!("wait {other}"))?.run()?.code(0)?;
    let late = c.tool("prun", "--detach -n 1 sleep 1000")?.run()?.code(0)?;
    let refusal = feed(c, late.stdout.trim(), "")?.code(1)?;
    refusal.complains_about(&["has no standard input"])?;
    feed(c, "77", "")?.code(1)?.complains_about(&["no job 77"])?;
    stop_dvm(c)
}

/// A tool that goes away leaves the input to the next one, on any node (spec L146).
fn pmix_tools_feed_jobs_of_others(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let job = detached(c, "--stdin 1 --host n0,n1 --map-by node -n 2")?;
    says(&tool(c, 2, &[&job, "one", "two"])?.code(0)?, &["one SUCCESS", "two SUCCESS"])?;
    // It is read by rank 1.
    says(&tool(c, 0, &[&format!("{job}:0"), "astray"])?.code(0)?, &["astray -172"])?;
    says(&tool(c, 0, &[&format!("{job}:1"), "three", "end"])?.code(0)?, &["three SUCCESS", "end -173"])?;
    c.tool("pdvm", &format!("wait {job}"))?.run()?.code(0)?;
    holds(&c.bed().shared().join("1"), "one\ntwo\nthree\n")?;
    let own = c.tool("prun", "--host n1 -n 1 sleep 1000")?.start()?;
    c.wait_for(1, "sleep")?;
    let dvm = job.rsplit_once('@').context("no job number")?.0.to_owned();
    for node in [0, 2] {
        says(&tool(c, node, &[&format!("{dvm}@2"), "mine"])?.code(0)?, &["mine -172"])?;
        says(&tool(c, node, &["elsewhere@1", "lost"])?.code(0)?, &["lost NOT-FOUND"])?;
    }
    stop_dvm(c)?;
    finish(own)?.failure()?;
    Ok(())
}

/// The submitter's own input stays its own (spec L146).
fn a_job_that_a_process_has_spawned_is_fed_by_a_tool(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let mut job = c.tool("prun", "--stdin none --host n1 -n 1")?.program(&pmix_program("feeds")?)?;
    job = job.words(["spawn", "sh", "-c", "cat; echo at its end"])?.with_stdin();
    let mut job = job.start()?;
    job.child().stdin.take().context("no stdin")?.write_all(b"of the submitter\n")?;
    c.until("the child runs", LIMIT, || Ok(c.tool("pdvm", "job 2 --json")?.run()?.stdout.contains("RUNNING")))?;
    let shown = c.tool("pdvm", "job 2 --json")?.run()?.stdout;
    let nspace = shown.split('"').skip_while(|word| *word != "namespace").nth(2).context("no namespace")?.to_owned();
    says(&tool(c, 0, &[&nspace, "of the tool", "end"])?.code(0)?, &["of the tool SUCCESS", "end -173"])?;
    let lines = [&format!("spawned {nspace}"), "of the tool", "at its end"].map(|line: &str| line.to_owned());
    let mut shown: Vec<String> = finish(job)?.code(0)?.stdout.lines().map(str::to_owned).collect();
    shown.sort_by_key(|line| lines.iter().position(|known| known == line));
    ensure!(shown == lines, "the job shows {shown:?}");
    stop_dvm(c)
}

/// A stopped tool reads nothing: what is kept for it has a limit, and its job is ended.
fn a_pmix_tool_that_does_not_read_its_own_job_is_cut_off(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let script = format!("sleep 2; yes xxxxxxx | head -n {LINES}; sleep 1000");
    let mut command = c.bed().command(0, "sh")?;
    // The command that enters the node would stop with its own child.
    command.args(["-c", "\"$@\" > /dev/null & wait $!", "sh"]).arg(pmix_program("tool")?);
    let stopped = Running::start(command.args(["1", "sh", "-c", &script]))?;
    c.wait_for(1, "sleep")?;
    c.signal(0, "tool", Signal::STOP)?;
    c.wait_for(1, "head")?;
    c.until("its job is ended", LIMIT, || Ok(c.named("head").is_empty()))?;
    c.signal(0, "tool", Signal::CONT)?;
    stopped.finish(LIMIT)?.code(97)?;
    // The DVM serves others on.
    let mut command = c.bed().command(0, &pmix_program("tool")?)?;
    Running::start(command.args(["1", "echo", "on"]))?.finish(LIMIT)?.code(0)?.lines(&["on".to_owned()])?;
    stop_dvm(c)
}
