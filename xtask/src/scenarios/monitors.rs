//! `PMIx_Process_monitor`: files that stall, and monitors that are refused; credentials.

use anyhow::{Result, ensure};

use super::context::{Context, Expect, Skipped};
use super::{Scenario, scenarios};
use crate::programs::{libpmix_major, pmix_program};

pub(super) fn all() -> Vec<Scenario> {
    scenarios![what_cannot_be_monitored_is_refused, a_file_that_a_process_does_not_change_any_more_is_told]
}

/// Runs the program with two ranks on two nodes. Its output has exactly the expected lines.
fn says(c: &Context, words: &[&str], expected: &[&str]) -> Result<()> {
    let job = c.prterun("--host n0:1,n1:1 --map-by node -n 2")?.program(&pmix_program("monitors")?)?;
    let outcome = job.words(words)?.run()?.code(0)?;
    let mut said: Vec<&str> = outcome.stdout.lines().collect();
    let mut expected = expected.to_vec();
    said.sort_unstable();
    expected.sort_unstable();
    ensure!(said == expected, "it says\n{}", outcome.stdout);
    Ok(())
}

/// Nothing is accepted of which nothing comes (spec L102).
fn what_cannot_be_monitored_is_refused(c: &Context) -> Result<()> {
    // libpmix 7 asks nobody: without its own sensors it refuses each monitor.
    let cause = if libpmix_major() >= Some(7) { "NOT-SUPPORTED" } else { "BAD-PARAM" };
    let (forged, relative) = (format!("forged {cause}"), format!("relative {cause}"));
    let expected =
        ["heartbeat NOT-SUPPORTED", &forged, &relative, "credential NOT-SUPPORTED", "credential NOT-SUPPORTED"];
    says(c, &["heartbeat", "forged", "relative", "credential"], &expected)
}

/// Alerts (spec L137).
fn a_file_that_a_process_does_not_change_any_more_is_told(c: &Context) -> Result<()> {
    let refuses = "libpmix 7 refuses each monitor without its own sensors, and does not ask the daemon";
    ensure!(libpmix_major() < Some(7), Skipped(refuses.into()));
    let expected = [
        "file SUCCESS",
        "file alert at 0 of 0",
        "file alert at 1 of 0",
        "code SUCCESS",
        "code alert at 0 of 0",
        "code alert at 1 of 0",
        "cancelled SUCCESS",
        "cancel SUCCESS",
        "cancel NOT-FOUND",
        "cancelled silence at 0",
        "cancelled silence at 1",
        "grows SUCCESS",
        "grows alert at 0 of 0",
        "grows alert at 1 of 0",
    ];
    says(c, &["file", "code", "cancelled", "grows"], &expected)
}
