//! Attacks on the PMIx port: by another user of the node, by a process of another job, by messages that are cut or
//! wrong, and by a library that dies or hangs. SECURITY.md says what may happen then.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;

use super::context::{Context, Expect, finish};
use super::dvm::{start_dvm, stop_dvm};
use super::{Scenario, scenarios};
use crate::programs::{Mpi, mpi_program, plain_program, pmix_library};
use crate::runner::{self, Outcome};

/// A user id without an account.
const STRANGER: &str = "12001";
/// Time limit of a call; a caller that is let in by mistake waits for an answer.
const CALL_LIMIT: Duration = Duration::from_secs(60);

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        another_user_is_turned_away_at_every_port_and_the_owner_at_all_but_one,
        nobody_speaks_for_a_process_of_another_job,
        first_messages_that_are_cut_start_no_library_and_end_no_daemon,
        garbage_behind_a_valid_message_costs_the_job_and_no_daemon,
        a_killed_pmix_server_ends_the_jobs_that_called_it_and_the_next_job_runs,
        a_libpmix_that_aborts_ends_its_job_with_one_message,
        a_libpmix_that_hangs_ends_its_job_with_one_message,
    ]
}

/// A call at a port of n0, by this user.
fn knock(c: &Context, user: &str, words: &[&str]) -> Result<Outcome> {
    let mut call = c.bed().command(0, "setpriv")?;
    call.args(["--reuid", user, "--regid", user, "--clear-groups"]).arg(plain_program("knock")?).args(words);
    runner::run(&mut call, CALL_LIMIT)
}

fn is_answered(outcome: &Outcome) -> Result<bool> {
    match outcome.stdout.trim() {
        "answered" => Ok(true),
        "turned away" => Ok(false),
        _ => anyhow::bail!("knock failed: {}", outcome.tail()),
    }
}

/// The TCP ports of n0 at which somebody other than its ssh server listens.
fn ports(c: &Context) -> Result<Vec<String>> {
    let processes = c.bed().processes(0);
    let any = processes.first().context("nothing runs on n0")?;
    let mut ports = Vec::new();
    for line in fs::read_to_string(format!("/proc/{}/net/tcp", any.pid))?.lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some(local), Some(&"0A")) = (words.get(1), words.get(3)) else { continue };
        let port = u16::from_str_radix(local.rsplit_once(':').context("no port")?.1, 16)?;
        if port != 22 {
            ports.push(port.to_string());
        }
    }
    Ok(ports)
}

/// The namespace of the first job of the DVM.
fn first_nspace(c: &Context) -> Result<String> {
    let listed = c.tool("pdvm", "jobs --json")?.run()?.code(0)?;
    let at = listed.stdout.find("\"dvm\"").context("the list names no DVM")?;
    Ok(format!("{}@1", listed.stdout[at..].split('"').nth(3).context("the DVM has no name")?))
}

/// `prun` with these words, in the background; it runs `count` processes called sleep when this returns.
fn sleepers(c: &Context, count: usize, words: &[&str]) -> Result<runner::Running> {
    let running = c.tool("prun", "-n 1")?.words(words)?.start()?;
    c.wait_for(count, "sleep")?;
    Ok(running)
}

fn another_user_is_turned_away_at_every_port_and_the_owner_at_all_but_one(c: &Context) -> Result<()> {
    start_dvm(c, 4)?;
    // The library runs, and a process that never calls it.
    let job = sleepers(c, 1, &["--host", "n0", "sleep", "600"])?;
    c.tool("prun", "--host n0 -n 2")?.program(&mpi_program("hello", Mpi::OpenMpi4)?)?.run()?.code(0)?;
    let nspace = first_nspace(c)?;
    let mut served = 0;
    for port in ports(c)? {
        for words in [vec!["tool", "0"], vec!["tool", STRANGER], vec!["client", "0", &nspace, "0"]] {
            let words: Vec<&str> = [port.as_str()].into_iter().chain(words).collect();
            ensure!(!is_answered(&knock(c, STRANGER, &words)?)?, "another user was answered: {words:?}");
        }
        served += usize::from(is_answered(&knock(c, "0", &[&port, "tool", "0"])?)?);
    }
    ensure!(served == 1, "tools of the DVM's own user are served at {served} ports instead of 1");
    stop_dvm(c)?;
    drop(finish(job)?);
    Ok(())
}

fn nobody_speaks_for_a_process_of_another_job(c: &Context) -> Result<()> {
    start_dvm(c, 4)?;
    let knock = plain_program("knock")?.display().to_string();
    let victim = sleepers(c, 1, &["--host", "n0", "sleep", "600"])?;
    let script = format!("exec {knock} 0 client $(id -u) ${{PMIX_NAMESPACE%@*}}@$1 0");
    let by = |number: &str| -> Result<bool> {
        is_answered(&c.tool("prun", "--host n0 -n 1 sh -c")?.words([&script, "sh", number])?.run()?)
    };
    ensure!(!by("1")?, "a process was taken for one of another job");
    // The same process calls in its own name: it is of the third job of this DVM.
    ensure!(by("3")?, "a process was not taken for itself");
    // The user of this process has no account either.
    let nspace = first_nspace(c)?;
    for port in ports(c)? {
        let words = [port.as_str(), "client", "0", &nspace, "0"];
        ensure!(!is_answered(&self::knock(c, "0", &words)?)?, "a process outside of the job was taken for one of it");
    }
    stop_dvm(c)?;
    drop(finish(victim)?);
    Ok(())
}

fn first_messages_that_are_cut_start_no_library_and_end_no_daemon(c: &Context) -> Result<()> {
    start_dvm(c, 4)?;
    let knock = plain_program("knock")?.display().to_string();
    let words = [&knock, "0", "cut", "prte@1"];
    let outcome = c.tool("prun", "--host n0 -n 1")?.words(words)?.run()?.code(0)?;
    ensure!(outcome.stdout.trim() == "0 answered", "{}", outcome.stdout);
    ensure!(c.named("ferrite-pmixd").is_empty(), "libpmix was started for garbage");
    c.tool("prun", "-n 4")?.program(&mpi_program("hello", Mpi::OpenMpi4)?)?.run()?.code(0)?;
    stop_dvm(c)
}

fn garbage_behind_a_valid_message_costs_the_job_and_no_daemon(c: &Context) -> Result<()> {
    let hostfile = c.hostfile(4)?;
    let prte = c.tool("prte", "--daemonize --prtemca ferrite_pmix_patience_ms 1500 --hostfile")?;
    prte.words([hostfile])?.run()?.code(0)?;
    let other = sleepers(c, 1, &["--host", "n1", "sleep", "600"])?;
    let knock = plain_program("knock")?.display().to_string();
    let script = format!("exec {knock} 0 garbage $PMIX_NAMESPACE $PMIX_RANK 20");
    for _ in 0..3 {
        // The library may survive, die or hang; the job fails in any case.
        c.tool("prun", "--host n1 -n 2 sh -c")?.words([&script])?.run()?.failure()?.complains_about(&["n1"])?;
        // The library may still hang from the attack; a job that calls it then ends with it.
        let program = mpi_program("hello", Mpi::OpenMpi4)?;
        c.until("a job runs again", Duration::from_secs(20), || {
            Ok(c.tool("prun", "--host n1 -n 2")?.program(&program)?.run()?.is_success())
        })?;
    }
    ensure!(c.named("sleep").len() == 1, "a job that never called libpmix was disturbed");
    stop_dvm(c)?;
    drop(finish(other)?);
    Ok(())
}

fn a_killed_pmix_server_ends_the_jobs_that_called_it_and_the_next_job_runs(c: &Context) -> Result<()> {
    start_dvm(c, 4)?;
    let program = mpi_program("hello", Mpi::OpenMpi4)?;
    let silent = sleepers(c, 1, &["--host", "n1", "sleep", "600"])?;
    let script = format!("{} && exec sleep 601", program.display());
    let caller = c.tool("prun", "--host n1 -n 2 sh -c")?.words([&script])?.start()?;
    c.wait_for(3, "sleep")?;
    let server = c.named("ferrite-pmixd").into_iter().find(|(node, _)| *node == 1).context("no libpmix on n1")?.1;
    server.signal(Signal::KILL)?;
    finish(caller)?.failure()?.complains_about(&["n1", "libpmix", "signal 9"])?;
    ensure!(c.named("sleep").len() == 1, "a job that never called libpmix was disturbed");
    c.tool("prun", "--host n1 -n 2")?.program(&program)?.run()?.code(0)?;
    stop_dvm(c)?;
    drop(finish(silent)?);
    Ok(())
}

fn a_libpmix_that_aborts_ends_its_job_with_one_message(c: &Context) -> Result<()> {
    with_bad_library(c, "abort", &["signal 6"])
}

fn a_libpmix_that_hangs_ends_its_job_with_one_message(c: &Context) -> Result<()> {
    with_bad_library(c, "hang", &["has not answered for 1.5 s"])
}

/// A DVM whose libpmix does that while the file says so. A job that calls it fails, one that does not goes on, and when
/// the library is well again the next job runs.
fn with_bad_library(c: &Context, what: &str, complaints: &[&str]) -> Result<()> {
    let order = c.file("badlib", what)?;
    let library = pmix_library("badlib")?;
    let hostfile = c.hostfile(4)?;
    let prte = c.tool("prte", "--daemonize --prtemca ferrite_pmix_patience_ms 1500 --hostfile")?.words([hostfile])?;
    prte.env("FERRITE_LIBPMIX", library).env("FERRITE_BADLIB", &order).run()?.code(0)?;
    let silent = sleepers(c, 1, &["--host", "n1", "sleep", "600"])?;
    let mpi = |program: &Path| c.tool("prun", "--host n1 -n 2")?.program(program)?.run();
    let program = mpi_program("hello", Mpi::OpenMpi4)?;
    mpi(&program)?.failure()?.complains_about(&["n1", "libpmix"])?.complains_about(complaints)?;
    ensure!(c.named("sleep").len() == 1, "a job that never called libpmix was disturbed");
    fs::remove_file(order)?;
    mpi(&program)?.code(0)?;
    stop_dvm(c)?;
    drop(finish(silent)?);
    Ok(())
}
