//! `PMIx_Log`: texts of processes that the launcher shows, and channels that are not offered.

use anyhow::{Result, ensure};

use super::context::{Context, Expect};
use super::{Scenario, scenarios};
use crate::programs::pmix_program;

pub(super) fn all() -> Vec<Scenario> {
    scenarios![what_a_process_logs_appears_and_other_channels_are_refused_by_name,]
}

fn what_a_process_logs_appears_and_other_channels_are_refused_by_name(c: &Context) -> Result<()> {
    let words = [
        "stdout",
        "stderr",
        "stdout+stderr",
        "stderr+job",
        "once:stderr+stdout",
        "once:stdout+job",
        "syslog",
        "job",
        "email",
        "tag:stdout",
        "long:stdout",
    ];
    let job = c.prterun("--host n1 -n 1")?.program(&pmix_program("logs")?)?;
    let outcome = job.words(words)?.run()?.code(0)?;
    for (word, status) in words.iter().zip([
        "SUCCESS",
        "SUCCESS",
        "SUCCESS",
        "PARTIAL-SUCCESS",
        "SUCCESS",
        "SUCCESS",
        "NOT-SUPPORTED",
        "NOT-SUPPORTED",
        "NOT-SUPPORTED",
        "NOT-SUPPORTED",
        "BAD-PARAM",
    ]) {
        let line = format!("{word} {status}");
        ensure!(outcome.stdout.lines().any(|said| said == line), "no {line:?}: it says\n{}", outcome.stdout);
    }
    let logged = |text: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.strip_prefix("logged ").map(str::to_owned)).collect()
    };
    let (out, err) = (logged(&outcome.stdout), logged(&outcome.stderr));
    ensure!(out == ["stdout", "stdout+stderr", "once:stdout+job"], "on standard output: {out:?}");
    ensure!(err == ["stderr", "stdout+stderr", "stderr+job", "once:stderr+stdout"], "on standard error: {err:?}");
    ensure!(!outcome.stdout.contains("xxxx"), "a text that was refused is shown");
    Ok(())
}
