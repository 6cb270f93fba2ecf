//! A DVM that stays up: many jobs, many clients, and the sudden death of every part.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;

use super::context::{Context, Expect, Skipped, finish};
use super::{Scenario, scenarios};
use crate::programs::{Mpi, mpi_program, pmix_program};
use crate::runner::Outcome;

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        options_of_prte_are_defaults_of_its_jobs_on_every_node,
        a_dvm_runs_job_after_job_and_ends_when_it_is_told_to,
        a_dvm_runs_mpi_jobs,
        jobs_that_come_before_the_dvm_is_ready_are_kept,
        a_job_without_room_is_refused_unless_it_wants_to_wait,
        a_batch_runs_every_task_once_and_tells_of_each,
        sixty_four_clients_are_served_at_once,
        a_killed_client_takes_its_job_along_and_no_other,
        a_detached_job_outlives_its_client,
        a_killed_daemon_ends_its_jobs_and_the_dvm_goes_on,
        a_killed_head_takes_everything_along,
        what_a_head_leaves_that_was_killed_whole_is_removed_by_the_next,
        the_end_of_the_dvm_ends_its_jobs_and_their_clients,
        a_tool_of_pmix_runs_a_job,
        a_client_on_another_node_needs_the_key,
        the_references_own_prun_and_pterm_are_served,
    ]
}

/// A DVM over all four nodes, in the background.
pub(super) fn start_dvm(c: &Context, slots: usize) -> Result<()> {
    let hostfile = c.hostfile(slots)?;
    c.tool("prte", "--daemonize --hostfile")?.words([hostfile])?.run()?.code(0)?.lines(&["DVM ready".to_owned()])?;
    Ok(())
}

fn prun(c: &Context, line: &str) -> Result<Outcome> {
    c.tool("prun", line)?.run()
}

pub(super) fn stop_dvm(c: &Context) -> Result<()> {
    let outcome = c.tool("pterm", "")?.run()?.code(0)?;
    ensure!(outcome.stderr.contains("TERMINATING DVM...DONE"), "pterm says {}", outcome.stderr);
    Ok(())
}

/// A number of `pdvm status --json`.
pub(super) fn status(c: &Context, name: &str) -> Result<i64> {
    let outcome = c.tool("pdvm", "status --json")?.run()?.code(0)?;
    let at = outcome.stdout.find(&format!("\"{name}\":")).with_context(|| format!("no {name}: {}", outcome.stdout))?;
    let rest = outcome.stdout[at..].split_once(':').map_or("", |(_, rest)| rest);
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().with_context(|| format!("{name} is no number: {rest}"))
}

fn a_dvm_runs_job_after_job_and_ends_when_it_is_told_to(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let everywhere: Vec<String> = (0..8).map(|rank| format!("n{}", rank / 2)).collect();
    prun(c, "-n 8 --map-by slot hostname")?.code(0)?.lines(&everywhere)?;
    prun(c, "-n 4 --map-by node hostname")?.code(0)?.lines(&["n0", "n1", "n2", "n3"].map(String::from))?;
    prun(c, "--host n2 -n 1 hostname")?.code(0)?.lines(&["n2".to_owned()])?;
    c.tool("prun", "-n 2 sh -c")?.words(["[ $PMIX_RANK != 1 ] || exit 7"])?.run()?.code(7)?;
    prun(c, "-n 1 /no/such/program")?.failure()?.complains_about(&["/no/such/program"])?;
    let mut running = c.tool("prun", "-n 1 --host n3 cat")?.with_stdin().start()?;
    let mut input = running.child().stdin.take().context("no stdin")?;
    std::io::Write::write_all(&mut input, b"to n3 and back\n")?;
    drop(input);
    finish(running)?.code(0)?.lines(&["to n3 and back".to_owned()])?;
    ensure!(status(c, "jobs_ended")? == 6, "six jobs have ended");
    ensure!(status(c, "slots_in_use")? == 0, "nothing runs");
    stop_dvm(c)
}

fn a_dvm_runs_mpi_jobs(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let ring = mpi_program("ring", Mpi::OpenMpi4)?;
    for _ in 0..3 {
        c.tool("prun", "-n 8")?.program(&ring)?.run()?.code(0)?;
    }
    stop_dvm(c)
}

fn jobs_that_come_before_the_dvm_is_ready_are_kept(c: &Context) -> Result<()> {
    let hostfile = c.hostfile(1)?;
    let dvm = c.tool("prte", "--no-ready-msg --hostfile")?.words([hostfile])?.start()?;
    prun(c, "--wait-to-connect 10 -n 4 hostname")?.code(0)?.lines(&["n0", "n1", "n2", "n3"].map(String::from))?;
    stop_dvm(c)?;
    finish(dvm)?.code(0)?.lines(&[])?;
    Ok(())
}

fn a_job_without_room_is_refused_unless_it_wants_to_wait(c: &Context) -> Result<()> {
    start_dvm(c, 1)?;
    let first = c.tool("prun", "-n 4 sleep 1")?.start()?;
    c.wait_for(4, "sleep")?;
    prun(c, "-n 1 true")?.failure()?.complains_about(&["slots"])?;
    let waiting = c.tool("prun", "--wait-for-slots -n 4 hostname")?.start()?;
    finish(waiting)?.code(0)?;
    finish(first)?.code(0)?;
    stop_dvm(c)
}

fn a_batch_runs_every_task_once_and_tells_of_each(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let count = if c.is_quick() { 100 } else { 1_000 };
    let done = c.bed().shared().join("done");
    std::fs::create_dir_all(&done)?;
    let lines: Vec<String> = (0..count).map(|i| format!("-n 1 mkdir {}/{i}\n", done.display())).collect();
    let batch = c.file("batch", &lines.concat())?;
    // A task that runs twice finds its directory and fails.
    let outcome = c.tool("prun", "--batch")?.words([batch])?.run()?.code(0)?;
    let results: BTreeSet<&str> = outcome.stdout.lines().collect();
    ensure!(results.len() == count, "{} results of {count}", results.len());
    ensure!(std::fs::read_dir(&done)?.count() == count, "not every task has run");
    std::fs::remove_dir_all(&done)?;
    stop_dvm(c)
}

fn sixty_four_clients_are_served_at_once(c: &Context) -> Result<()> {
    start_dvm(c, 32)?;
    let rounds = if c.is_quick() { 1 } else { 5 };
    for round in 0..rounds {
        let start = |i: usize| c.tool("prun", "-n 1 echo")?.words([format!("{round}/{i}")])?.start();
        let clients = (0..64).map(start).collect::<Result<Vec<_>>>()?;
        for (i, client) in clients.into_iter().enumerate() {
            finish(client)?.code(0)?.lines(&[format!("{round}/{i}")])?;
        }
    }
    ensure!(status(c, "jobs_ended")? == 64 * rounds, "a job is lost, or ran twice");
    stop_dvm(c)
}

fn a_killed_client_takes_its_job_along_and_no_other(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let victim = c.tool("prun", "-n 4 sleep 1000")?.start()?;
    c.wait_for(4, "sleep")?;
    let clients = c.named("prun");
    let mut other = c.tool("prun", "-n 1 sh -c")?.words(["read line; echo $line"])?.with_stdin().start()?;
    clients.iter().try_for_each(|(_, client)| client.signal(Signal::KILL))?;
    c.wait_for(0, "sleep")?;
    std::io::Write::write_all(&mut other.child().stdin.take().context("no stdin")?, b"alive\n")?;
    finish(other)?.code(0)?.lines(&["alive".to_owned()])?;
    finish(victim)?.failure()?;
    ensure!(status(c, "slots_in_use")? == 0, "its slots are still taken");
    stop_dvm(c)
}

fn a_detached_job_outlives_its_client(c: &Context) -> Result<()> {
    start_dvm(c, 1)?;
    prun(c, "--detach -n 4 sleep 1000")?.code(0)?;
    c.wait_for(4, "sleep")?;
    c.tool("pdvm", "kill 1")?.run()?.code(0)?;
    c.wait_for(0, "sleep")?;
    stop_dvm(c)
}

fn a_killed_daemon_ends_its_jobs_and_the_dvm_goes_on(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let job = c.tool("prun", "--host n3 -n 2 sleep 1000")?.start()?;
    c.wait_for(2, "sleep")?;
    c.signal(3, "prted", Signal::KILL)?;
    finish(job)?.failure()?.complains_about(&["n3"])?;
    let nodes = c.tool("pdvm", "nodes")?.run()?.code(0)?;
    let line = nodes.stdout.lines().find(|line| line.contains("n3")).context("n3 is not listed")?.to_owned();
    ensure!(line.contains("lost"), "n3 is gone, but: {line}");
    prun(c, "-n 3 --map-by node hostname")?.code(0)?.lines(&["n0", "n1", "n2"].map(String::from))?;
    stop_dvm(c)
}

/// The head consists of two processes, the guard and the worker.
fn a_killed_head_takes_everything_along(c: &Context) -> Result<()> {
    for which in [0, 1] {
        start_dvm(c, 2)?;
        let job = c.tool("prun", "-n 8 sleep 1000")?.start()?;
        c.wait_for(8, "sleep")?;
        c.guard_and_worker(0, "prte")?[which].signal(Signal::KILL)?;
        finish(job)?.failure()?;
        nothing_left(c)?;
        prun(c, "-n 1 true")?.code(1)?.complains_about(&["DVM"])?;
    }
    Ok(())
}

fn what_a_head_leaves_that_was_killed_whole_is_removed_by_the_next(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let job = c.tool("prun", "-n 8 sleep 1000")?.start()?;
    c.wait_for(8, "sleep")?;
    let both = c.guard_and_worker(0, "prte")?;
    both.iter().try_for_each(|process| process.signal(Signal::KILL))?;
    finish(job)?.failure()?.complains_about(&["DVM"])?;
    c.wait_for(0, "prted")?;
    c.wait_for(0, "sleep")?;
    prun(c, "-n 1 true")?.code(1)?.complains_about(&["DVM"])?;
    start_dvm(c, 2)?;
    stop_dvm(c)?;
    nothing_left(c)
}

fn nothing_left(c: &Context) -> Result<()> {
    let left = c.bed().residue(Duration::from_secs(10));
    ensure!(left.is_empty(), "left behind:\n    {}", left.join("\n    "));
    Ok(())
}

fn the_end_of_the_dvm_ends_its_jobs_and_their_clients(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let job = c.tool("prun", "-n 8 sleep 1000")?.start()?;
    c.wait_for(8, "sleep")?;
    let start = Instant::now();
    stop_dvm(c)?;
    ensure!(start.elapsed() < Duration::from_secs(5), "it took {:?}", start.elapsed());
    finish(job)?.failure()?;
    Ok(())
}

fn a_tool_of_pmix_runs_a_job(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let tool = pmix_program("tool")?;
    let spawn = |words: &[&str]| -> Result<Outcome> {
        let mut command = c.bed().command(0, &tool)?;
        crate::runner::run(command.args(words), Duration::from_secs(60))
    };
    let run = |script: &str| spawn(&["4", "sh", "-c", script]);
    run("echo out; echo err >&2; [ $PMIX_RANK != 3 ] || exit 5")?.code(5)?.complains_about(&["err"])?;
    run("hostname")?.code(0)?.lines(&["n0", "n0", "n1", "n1"].map(String::from))?;
    // It hears what a process hears: no room, no program; and of one that fails at once that it was started.
    spawn(&["1000", "hostname"])?.code(99)?.complains_about(&["tool: spawn", "(-29)"])?;
    spawn(&["4", "no-such-program"])?.code(99)?.complains_about(&["tool: spawn", "(-181)"])?;
    spawn(&["4", "false"])?.code(1)?;
    stop_dvm(c)
}

/// The place of the reference: a Debian 13 with `openmpi-bin`, made by
/// `debootstrap --variant=minbase --include=openmpi-bin trixie DIR`.
const PEER_ROOT: &str = "FERRITE_PEER_ROOT";

fn the_references_own_prun_and_pterm_are_served(c: &Context) -> Result<()> {
    let Some(root) = std::env::var_os(PEER_ROOT) else {
        return Err(Skipped(format!("{PEER_ROOT} does not name a Debian 13 with its prun")).into());
    };
    let reference = |words: &[&str]| -> Result<Outcome> {
        let mut command = c.bed().command(0, "unshare")?;
        let script = "for d in proc sys dev tmp; do mount -n --rbind /$d \"$ROOT/$d\" || exit 99; done; exec chroot \"$ROOT\" \"$@\"";
        command.args(["-m", "sh", "-c", script, "sh"]).args(words).env("ROOT", &root);
        command.envs(crate::soak::AS_ROOT);
        crate::runner::run(&mut command, Duration::from_secs(60))
    };
    start_dvm(c, 2)?;
    let hosts: Vec<String> = (0..8).map(|rank| format!("n{}", rank / 2)).collect();
    reference(&["prun", "-n", "8", "hostname"])?.code(0)?.lines(&hosts)?;
    reference(&["prun", "-n", "2", "sh", "-c", "echo oh >&2; exit 3"])?.code(3)?.complains_about(&["oh"])?;
    reference(&["prun", "-x", "COLOUR=blue", "-n", "1", "sh", "-c", "echo $COLOUR"])?
        .code(0)?
        .lines(&["blue".to_owned()])?;
    reference(&["pterm.openmpi"])?.code(0)?;
    Ok(())
}

/// The nodes share a directory; what is in the session directory on n0, the other nodes do not see.
fn a_client_on_another_node_needs_the_key(c: &Context) -> Result<()> {
    let (hostfile, uri) = (c.hostfile(2)?, c.bed().shared().join("uri"));
    let prte = c.tool("prte", "--daemonize --listen 0 --hostfile")?.words([hostfile])?.words(["--report-uri"])?;
    prte.words([&uri])?.run()?.code(0)?;
    let contact = std::fs::read_to_string(&uri)?;
    let line = contact.lines().find_map(|line| line.strip_prefix("key ")).context("the contact names no key")?;
    let copied = crate::runner::run(c.bed().command(0, "cat")?.arg(line), Duration::from_secs(10))?.code(0)?;
    let key = c.private_file("key", &copied.stdout)?;
    let from_n1 = |key: &std::path::Path, tool: &str, line: &str| {
        let dvm = format!("file:{}", uri.display());
        let named = c.tool_on(1, tool, "--dvm-uri")?.words([dvm.as_str(), "--dvm-key"])?.words([key])?;
        named.words(line.split_whitespace())
    };
    from_n1(&key, "prun", "-n 4 --map-by node hostname")?
        .run()?
        .code(0)?
        .lines(&["n0", "n1", "n2", "n3"].map(String::from))?;
    let mut echo = from_n1(&key, "prun", "-n 1 --host n2 sh -c")?.words(["cat; exit 9"])?.with_stdin().start()?;
    std::io::Write::write_all(&mut echo.child().stdin.take().context("no stdin")?, b"to n0, n2 and back\n")?;
    finish(echo)?.code(9)?.lines(&["to n0, n2 and back".to_owned()])?;
    let wrong = c.private_file("wrong", &"07".repeat(32))?;
    from_n1(&wrong, "prun", "-n 1 true")?.run()?.code(1)?.complains_about(&["--dvm-key"])?;
    let victim = from_n1(&key, "prun", "-n 4 sleep 1000")?.start()?;
    c.wait_for(4, "sleep")?;
    c.signal(1, "prun", Signal::KILL)?;
    c.wait_for(0, "sleep")?;
    finish(victim)?.failure()?;
    from_n1(&key, "pterm", "")?.run()?.code(0)?;
    Ok(())
}

fn options_of_prte_are_defaults_of_its_jobs_on_every_node(c: &Context) -> Result<()> {
    let bad = [
        ("--rtos recoverible", "--runtime-options"),
        ("--output dir=a,file=b", "--output"),
        ("--map-by slto", "--map-by"),
        ("--timeout soon", "--timeout"),
    ];
    for (option, named) in bad {
        c.tool("prte", &format!("--daemonize {option}"))?.run()?.failure()?.complains_about(&[named])?;
    }
    let defaults = "--map-by node --output tag --display allocation --rtos recoverable --timeout 60";
    c.tool("prte", &format!("--daemonize --host n0:2,n1:2 {defaults}"))?.run()?.code(0)?;
    let here = c.tool("prun", "-n 2 hostname")?.run()?.code(0)?;
    let there = c.tool_on(1, "prun", "-n 2 hostname")?.run()?.code(0)?;
    for (job, outcome) in [(1, here), (2, there)] {
        for part in ["ALLOCATED NODES".to_owned(), format!("[{job},0]<stdout>: n0"), format!("[{job},1]<stdout>: n1")] {
            ensure!(outcome.stdout.contains(&part), "it lacks '{part}'\n    {}", outcome.tail());
        }
    }
    // The options of a job win, each for itself.
    let own = c.tool("prun", "-n 2 --map-by slot --output rank --display map hostname")?.run()?.code(0)?;
    ensure!(own.stdout.contains("JOB MAP") && !own.stdout.contains("ALLOCATED"), "another display\n    {}", own.tail());
    ensure!(own.stdout.contains("\n[1]<stdout>: n0\n"), "another output\n    {}", own.tail());
    // Recoverable is the default: the second process goes on after the failure of the first.
    let script = "[ $PMIX_RANK = 1 ] && sleep 1 && echo survived || exit 3";
    let failed = c.tool("prun", "-n 2 sh -c")?.words([script])?.run()?.failure()?;
    ensure!(failed.stdout.contains("survived"), "no survivor\n    {}", failed.tail());
    let list = c.file("jobs", "hostname\n")?;
    let batch = c.tool("prun", "--batch")?.program(&list)?.run()?.code(0)?;
    ensure!(batch.stderr.contains("<stdout>: n0"), "no tag\n    {}", batch.tail());
    stop_dvm(c)
}
