//! `cargo xtask bench fill`: a stream of jobs through a DVM of ten nodes, with and without the policy that fills
//! elastic jobs. `sim workload` plays the same for a week.
//!
//! All daemons run on this machine (`plm local`). A job is `tests/programs/works.c`, which sleeps instead of computing,
//! so that the machine is not the limit.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use super::elastic::{command, timed};
use super::{machine, report};
use crate::args::Args;
use crate::programs::pmix_program;
use crate::runner::{build_product, wait};
use crate::setup::{self, Need};

const NODES: u32 = 10;
const SLOTS: u32 = 4;
const DEFAULT_MINUTES: u64 = 5;
/// The sizes of jobs, each as likely as the others, and their shortest and longest times (seconds).
const SIZES: [u32; 6] = [1, 2, 4, 8, 8, 16];
const TIMES: [f64; 2] = [4.0, 40.0];
/// The work of all jobs, of what the DVM can do.
const LOAD: f64 = 0.9;
/// A job that is not over so long after the last submission hangs.
const LIMIT: Duration = Duration::from_secs(300);
/// Interval of looks at the jobs that run; the times are as exact.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// `cargo xtask bench fill [--minutes N] [--write] [--no-build]`
pub(super) fn main(mut args: Args) -> Result<()> {
    let minutes: u64 = args.parsed("--minutes")?.unwrap_or(DEFAULT_MINUTES);
    let (write, no_build) = (args.flag("--write"), args.flag("--no-build"));
    args.finish()?;
    setup::ensure_installed(Need::Mpis)?;
    if !no_build {
        build_product()?;
    }
    let jobs = drawn(minutes);
    let mut text = format!(
        "{} Ten nodes with {SLOTS} slots each, whose daemons run on this machine. Jobs of 1 to 16 processes and {} to {} s \
         come for {minutes} minutes; their work is {:.0} % of what the DVM can do. An elastic job may have a quarter to four \
         times of its first size. *Utilisation* is the work of all jobs, by their first sizes, of what the slots could do until \
         the last end.\n\n\
         | elastic jobs | policy | jobs | failed | mean completion | median | 95 % | utilisation | last end |\n\
         |--:|---|--:|--:|--:|--:|--:|--:|--:|\n",
        machine::hardware_and_load(),
        TIMES[0],
        TIMES[1],
        100.0 * LOAD,
    );
    print!("{text}");
    for (elastic, policy) in [(0, "none"), (50, "fill"), (100, "fill")] {
        let row = Stream::play(&jobs, elastic, policy)?.row(&jobs, elastic, policy);
        print!("{row}");
        text += &row;
    }
    if write { report::write("fill", &text) } else { Ok(()) }
}

/// What became of the jobs.
#[derive(Default)]
struct Stream {
    /// From the submission to the end (seconds).
    times: Vec<f64>,
    failed: usize,
    /// The end of the last job (seconds).
    end: f64,
}

/// A job of the stream.
struct Job {
    /// The time of its submission (seconds).
    at: f64,
    np: u32,
    seconds: f64,
    /// Decides whether it is elastic.
    draw: u64,
}

/// The jobs; they are the same in every run.
fn drawn(minutes: u64) -> Vec<Job> {
    let mut state = 0x5eed_u64;
    let mut draw = || {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let unit = |number: u64| ((number >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    let mean_size = f64::from(SIZES.iter().sum::<u32>()) / SIZES.len() as f64;
    let between = mean_size * (TIMES[0] + TIMES[1]) / 2.0 / (f64::from(NODES * SLOTS) * LOAD);
    let (mut jobs, mut at) = (Vec::new(), 0.0);
    while at < (60 * minutes) as f64 {
        let np = SIZES[(draw() % SIZES.len() as u64) as usize];
        let seconds = TIMES[0] + (TIMES[1] - TIMES[0]) * unit(draw());
        jobs.push(Job { at, np, seconds, draw: draw() % 100 });
        at -= between * unit(draw()).ln();
    }
    jobs
}

impl Stream {
    /// Plays the jobs; so many percent of them are elastic.
    fn play(jobs: &[Job], elastic: u64, policy: &str) -> Result<Stream> {
        let place = tempfile::tempdir()?;
        let tool = |name: &str, words: &[&str]| -> Command {
            let mut command = command(name, words);
            command.env("TMPDIR", place.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command
        };
        let hosts = (0..NODES).map(|node| format!("n{node}:{SLOTS}")).collect::<Vec<_>>().join(",");
        let parameters = ["--prtemca", "plm", "local", "--prtemca", "ferrite_elastic_policy", policy];
        let mut prte = tool("prte", &["--daemonize", "--host", &hosts]);
        ensure!(timed(prte.args(parameters))?.is_some(), "prte does not start");
        let program = pmix_program("works")?.display().to_string();
        let began = Instant::now();
        let now = || began.elapsed().as_secs_f64();
        let last = jobs.last().map_or(0.0, |job| job.at);
        let mut running: Vec<(f64, Child)> = Vec::new();
        let (mut done, mut coming) = (Stream::default(), jobs.iter().peekable());
        while coming.peek().is_some() || !running.is_empty() {
            if let Some(job) = coming.next_if(|job| job.at <= now()) {
                let mut prun = tool("prun", &["--wait-for-slots", "-n", &job.np.to_string()]);
                if job.draw < elastic {
                    let range = format!("{}:{}", job.np.div_ceil(4), (4 * job.np).min(NODES * SLOTS));
                    prun.args(["--elastic", &range, "--grace", "10"]);
                }
                running.push((now(), prun.args([&program, &job.seconds.to_string()]).spawn()?));
                continue;
            }
            let mut left = Vec::new();
            for (since, mut child) in running {
                match child.try_wait()? {
                    None => left.push((since, child)),
                    Some(status) => {
                        done.end = now();
                        done.times.push(done.end - since);
                        done.failed += usize::from(!status.success());
                    }
                }
            }
            running = left;
            if now() > last + LIMIT.as_secs_f64() {
                let hang = running.len();
                running.iter_mut().try_for_each(|(_, child)| child.kill().and(child.wait()).map(drop))?;
                timed(&mut tool("pterm", &[]))?;
                bail!("{hang} jobs hang");
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        let ended = wait(&mut tool("pterm", &[]).spawn()?, LIMIT)?;
        ensure!(ended.is_some_and(|status| status.success()), "pterm fails");
        Ok(done)
    }

    /// A row of the table.
    fn row(mut self, jobs: &[Job], elastic: u64, policy: &str) -> String {
        self.times.sort_unstable_by(f64::total_cmp);
        let at = |part: f64| self.times[((self.times.len() as f64 * part) as usize).min(self.times.len() - 1)];
        let work: f64 = jobs.iter().map(|job| f64::from(job.np) * job.seconds).sum();
        format!(
            "| {elastic} % | {policy} | {} | {} | {:.1} s | {:.1} s | {:.1} s | {:.0} % | {:.0} s |\n",
            jobs.len(),
            self.failed,
            self.times.iter().sum::<f64>() / self.times.len() as f64,
            at(0.5),
            at(0.95),
            100.0 * work / (self.end * f64::from(NODES * SLOTS)),
            self.end,
        )
    }
}
