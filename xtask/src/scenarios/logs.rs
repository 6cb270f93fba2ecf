//! `PMIx_Log`: texts of processes that the launcher shows, and channels that are not offered.

use std::path::Path;

use anyhow::{Result, ensure};

use super::context::{Context, Expect, Skipped};
use super::{Scenario, scenarios};
use crate::programs::pmix_program;

/// Words of the program, and the statuses of their calls. The first call has to begin a job's output.
const CALLS: [(&str, &str); 15] = [
    ("stdout", "SUCCESS"),
    ("stderr", "SUCCESS"),
    ("stdout+stderr", "SUCCESS"),
    ("stderr+job", "PARTIAL-SUCCESS"),
    ("once:stderr+stdout", "SUCCESS"),
    ("once:stdout+job", "SUCCESS"),
    ("job", "NOT-SUPPORTED"),
    ("email", "NOT-SUPPORTED"),
    ("store", "NOT-SUPPORTED"),
    ("global", "NOT-SUPPORTED"),
    ("tag:stdout", "SUCCESS"),
    ("xml:stdout", "SUCCESS"),
    ("required:stdout", "NOT-SUPPORTED"),
    ("forged:stdout", "NO-PERMISSIONS"),
    ("long:stdout", "BAD-PARAM"),
];

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        what_a_process_logs_appears_and_other_channels_are_refused_by_name,
        a_logged_date_is_that_of_the_call,
        a_system_without_a_log_is_said_and_the_next_channel_takes_the_text,
    ]
}

/// Channels and directives (spec L100).
fn what_a_process_logs_appears_and_other_channels_are_refused_by_name(c: &Context) -> Result<()> {
    let job = c.prterun("--host n1 -n 1")?.program(&pmix_program("logs")?)?;
    let outcome = job.words(CALLS.map(|(word, _)| word))?.run()?.code(0)?;
    for (word, status) in CALLS {
        let line = format!("{word} {status}");
        ensure!(outcome.stdout.lines().any(|said| said == line), "no {line:?}: it says\n{}", outcome.stdout);
    }
    let logged = |text: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.strip_prefix("logged ").map(str::to_owned)).collect()
    };
    let (out, err) = (logged(&outcome.stdout), logged(&outcome.stderr));
    ensure!(out == ["stdout", "stdout+stderr", "once:stdout+job"], "on standard output: {out:?}");
    ensure!(err == ["stderr", "stdout+stderr", "stderr+job", "once:stderr+stdout"], "on standard error: {err:?}");
    let formed = ["[1,0]<stdout>: logged tag:stdout", ">logged xml:stdout&#010;</stdout>"];
    for text in formed {
        ensure!(outcome.stdout.contains(text), "no {text:?}: it says\n{}", outcome.stdout);
    }
    ensure!(!outcome.stdout.contains("xxxx"), "a text that was refused is shown");
    Ok(())
}

/// libpmix takes the time in the process, and sends it along.
fn a_logged_date_is_that_of_the_call(c: &Context) -> Result<()> {
    let job = c.prterun("--host n1 -n 1")?.program(&pmix_program("logs")?)?;
    let outcome = job.words(["dated:stdout"])?.run()?.code(0)?;
    let line = outcome.stdout.lines().find(|line| line.ends_with("]<stdout>: logged dated:stdout"));
    ensure!(line.is_some_and(|line| line.starts_with('[') && line.contains(" 20")), "it says {:?}", outcome.stdout);
    Ok(())
}

/// Nodes of the bed have no log of the system, except where the machine has one.
fn a_system_without_a_log_is_said_and_the_next_channel_takes_the_text(c: &Context) -> Result<()> {
    if Path::new("/dev/log").exists() {
        anyhow::bail!(Skipped("this machine has a log of the system, into which no test writes".to_owned()));
    }
    let job = c.prterun("--host n1 -n 1")?.program(&pmix_program("logs")?)?;
    let outcome = job.words(["syslog", "syslog+stdout", "once:syslog+stdout"])?.run()?.code(0)?;
    for line in ["syslog NOT-AVAILABLE", "syslog+stdout PARTIAL-SUCCESS", "once:syslog+stdout SUCCESS"] {
        ensure!(outcome.stdout.lines().any(|said| said == line), "no {line:?}: it says\n{}", outcome.stdout);
    }
    ensure!(outcome.stdout.matches("logged ").count() == 2, "it says\n{}", outcome.stdout);
    Ok(())
}
