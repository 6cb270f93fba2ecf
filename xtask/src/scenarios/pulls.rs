//! Pulls of output of jobs of others by PMIx tools (`PMIx_IOF_pull`), on several nodes.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::context::{Context, Expect, finish};
use super::dvm::{start_dvm, stop_dvm};
use super::{Scenario, scenarios};
use crate::programs::pmix_program;
use crate::runner::{Outcome, Running};

/// Time limit of these tools.
const LIMIT: Duration = Duration::from_secs(60);
/// More than the kernel and the DVM keep for a tool that does not read.
const LINES: usize = 8_000_000;

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        pmix_tools_of_several_nodes_pull_the_output_of_a_job,
        a_pmix_tool_pulls_single_ranks_and_channels,
        pulls_that_cannot_be_served_are_refused,
        a_pmix_tool_that_does_not_read_is_cut_off_and_stops_nobody,
        a_pmix_tool_that_ends_its_pull_or_goes_away_is_forgotten,
    ]
}

/// A tool that pulls, and the file with what it says.
struct Puller {
    running: Running,
    says: PathBuf,
}

impl Puller {
    /// Starts a tool, and waits until its pull has begun.
    fn start(c: &Context, node: usize, number: usize, words: &[&str]) -> Result<Puller> {
        let says = c.bed().shared().join(format!("puller-{number}"));
        let mut command = c.bed().command(node, "sh")?;
        let script = format!("exec \"$@\" 2> {}", says.display());
        command.args(["-c", &script, "sh"]).arg(pmix_program("pulls")?).args(words);
        let running = Running::start(&mut command)?;
        let puller = Puller { running, says };
        c.until("the pull has begun", LIMIT, || Ok(puller.said().contains("begun")))?;
        Ok(puller)
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.says).unwrap_or_default()
    }

    fn finish(self) -> Result<(Outcome, String)> {
        let outcome = self.running.finish(LIMIT)?;
        let said = std::fs::read_to_string(&self.says)?;
        Ok((outcome, said))
    }
}

/// A job that waits for a file before it writes, and then a second more: a pull begins a moment after its call returns.
struct Job {
    running: Running,
    go: PathBuf,
    nspace: String,
}

impl Job {
    fn start(c: &Context, line: &str, script: &str) -> Result<Job> {
        let go = c.bed().shared().join("go");
        let _ = std::fs::remove_file(&go);
        let script = format!("while [ ! -e {} ]; do sleep 0.05; done; sleep 1; {script}", go.display());
        let running = c.tool("prun", line)?.words(["sh", "-c", &script])?.start()?;
        let mut nspace = None;
        for _ in 0..400 {
            let shown = c.tool("pdvm", "job 1 --json")?.run()?.stdout;
            if shown.contains("RUNNING") {
                nspace = shown.split('"').skip_while(|word| *word != "namespace").nth(2).map(str::to_owned);
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(Job { running, go, nspace: nspace.context("the job does not run")? })
    }

    fn go(&self) -> Result<()> {
        Ok(std::fs::write(&self.go, "")?)
    }
}

/// Two tools of one node share what the node pulls; 8 MB come to each (spec L75).
fn pmix_tools_of_several_nodes_pull_the_output_of_a_job(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let job = Job::start(c, "--host n0,n1 --map-by node -n 2", "yes xxxxxxx | head -n 500000; echo end >&2")?;
    let words = [job.nspace.as_str(), "all", "both"];
    let pullers = [0, 1, 1, 2].into_iter().enumerate();
    let pullers: Vec<Puller> =
        pullers.map(|(number, node)| Puller::start(c, node, number, &words)).collect::<Result<_>>()?;
    job.go()?;
    let own = finish(job.running)?.code(0)?;
    ensure!(own.stdout.len() == 8_000_000, "the submitter gets {} bytes", own.stdout.len());
    for puller in pullers {
        let (outcome, said) = puller.finish()?;
        let outcome = outcome.code(0)?;
        ensure!(outcome.stdout.len() == 8_000_000, "a tool gets {} bytes", outcome.stdout.len());
        ensure!(outcome.stdout.lines().all(|line| line == "xxxxxxx"), "lines are torn");
        ensure!(said == "begun\nend\nend\n", "it says {said:?}");
    }
    stop_dvm(c)
}

fn a_pmix_tool_pulls_single_ranks_and_channels(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let job = Job::start(c, "--host n0,n1 --map-by node -n 2", "echo out $PMIX_RANK; echo err $PMIX_RANK >&2")?;
    let cases = [("1", "out", "out 1\n", ""), ("0", "err", "", "err 0\n"), ("1", "both", "out 1\n", "err 1\n")];
    let mut pullers = Vec::new();
    for (number, (rank, channels, out, err)) in cases.into_iter().enumerate() {
        let words = [job.nspace.as_str(), rank, channels];
        pullers.push((Puller::start(c, number % 2 * 2, number, &words)?, out, err));
    }
    job.go()?;
    finish(job.running)?.code(0)?;
    for (puller, out, err) in pullers {
        let (outcome, said) = puller.finish()?;
        let outcome = outcome.code(0)?;
        ensure!(outcome.stdout == out && said == format!("begun\n{err}"), "{:?} and {said:?}", outcome.stdout);
    }
    stop_dvm(c)
}

fn pulls_that_cannot_be_served_are_refused(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let job = Job::start(c, "--host n0 -n 1", "true")?;
    let dvm = job.nspace.rsplit_once('@').context("no job number")?.0.to_owned();
    for node in [0, 1] {
        let run =
            |words: &[&str]| Running::start(c.bed().command(node, &pmix_program("pulls")?)?.args(words))?.finish(LIMIT);
        let refused = |words: &[&str], status: &str| run(words)?.code(3)?.complains_about(&["refused", status]);
        refused(&[&job.nspace, "all", "both", "kept"], "NOT-SUPPORTED")?;
        refused(&[&job.nspace, "all", "both", "strange"], "NOT-SUPPORTED")?;
        refused(&[&job.nspace, "all", "diag"], "NOT-SUPPORTED")?;
        refused(&["elsewhere@1", "all", "out"], "NOT-FOUND")?;
        run(&[&format!("{dvm}@77"), "all", "out"])?.code(4)?.complains_about(&["begun", "failed"])?;
    }
    job.go()?;
    finish(job.running)?.code(0)?;
    stop_dvm(c)
}

/// One at the head and one elsewhere (spec L75).
fn a_pmix_tool_that_does_not_read_is_cut_off_and_stops_nobody(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let job = Job::start(c, "--host n0 -n 1", &format!("yes xxxxxxx | head -n {LINES}"))?;
    let words = [job.nspace.as_str(), "all", "both", "deaf"];
    let deaf: Vec<Puller> =
        [0, 2].into_iter().map(|node| Puller::start(c, node, node, &words)).collect::<Result<_>>()?;
    let reads = Puller::start(c, 1, 1, &words[..3])?;
    job.go()?;
    let own = finish(job.running)?.code(0).context("the submitter")?;
    ensure!(own.stdout.len() == LINES * 8, "the submitter gets {} bytes", own.stdout.len());
    let (outcome, _) = reads.finish()?;
    let got = outcome.code(0).context("the tool that reads")?.stdout.len();
    ensure!(got == LINES * 8, "the tool that reads gets {got} bytes");
    for puller in deaf {
        let (outcome, said) = puller.finish()?;
        let got = outcome.code(97).with_context(|| format!("a tool that does not read: {said:?}"))?.stdout.len();
        ensure!(got < LINES * 8 && said.ends_with("lost\n"), "it says {said:?}");
    }
    stop_dvm(c)
}

fn a_pmix_tool_that_ends_its_pull_or_goes_away_is_forgotten(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    // libpmix 4.2.2 of a tool locks itself when output is on its way while it ends a pull.
    let script = format!("echo first; sleep 3; yes xxxxxxx | head -n {LINES}");
    let job = Job::start(c, "--host n0 -n 1", &script)?;
    let all = "first\n".len() + LINES * 8;
    let ends = ["once", "gone", "once", "gone"].into_iter().enumerate();
    let ends: Vec<Puller> = ends
        .map(|(number, word)| Puller::start(c, number / 2 * 2, number, &[&job.nspace, "all", "both", word]))
        .collect::<Result<_>>()?;
    let stays = Puller::start(c, 1, 4, &[&job.nspace, "all", "both"])?;
    job.go()?;
    ensure!(finish(job.running)?.code(0)?.stdout.len() == all, "the submitter lacks some");
    ensure!(stays.finish()?.0.code(0)?.stdout.len() == all, "the tool that stays lacks some");
    for (number, puller) in ends.into_iter().enumerate() {
        let (outcome, said) = puller.finish()?;
        outcome.code(0)?;
        // The server of libpmix 4.2.2 answers with a field that it never sets: mostly SUCCESS, else a number without a
        // name. A refusal would have its name.
        let ended = said.strip_prefix("begun\nended ").map(str::trim_end);
        let ended = ended.is_some_and(|status| status == "SUCCESS" || status.parse::<i32>().is_ok());
        ensure!(if number % 2 == 0 { ended } else { said == "begun\n" }, "{number} says {said:?}");
    }
    stop_dvm(c)
}
