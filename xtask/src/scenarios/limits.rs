//! Calls of PMIx that end at a limit, end others, or are refused.

use anyhow::{Result, ensure};

use super::context::{Context, Expect};
use super::{Scenario, scenarios};
use crate::programs::pmix_program;

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        a_call_of_pmix_with_a_limit_ends_at_it_everywhere,
        a_process_aborts_what_it_has_spawned_and_what_is_not_offered_does_not_hang,
    ]
}

/// See spec L154.
fn a_call_of_pmix_with_a_limit_ends_at_it_everywhere(c: &Context) -> Result<()> {
    let expected = ["fence -24", "late fence -24", "get -24", "connect -24", "lookup -24", "spawn 0", "limits is done"];
    let job = c.prterun("--host n1:2,n2 -n 2 --map-by node")?.program(&pmix_program("limits")?)?;
    let said = job.run()?.code(0)?.lines(&expected.map(str::to_owned))?;
    // The library calls an answer after its own limit an unexpected message.
    ensure!(said.stderr.is_empty(), "it complains: {}", said.stderr);
    Ok(())
}

/// Every type of value that is a number or a text comes back from the data server.
fn a_process_aborts_what_it_has_spawned_and_what_is_not_offered_does_not_hang(c: &Context) -> Result<()> {
    let expected = [
        "publish 0",
        "lookup 0",
        "found 2 NAME=value 5.7 9",
        "lookup of what is partly there -52",
        "spawn 0",
        "abort 0",
    ];
    let job = c.prterun("--host n0:2,n1:2 -n 2 --map-by node")?.program(&pmix_program("aborts")?)?;
    let said = job.run()?.code(3)?.complains_about(&["called abort with code 3 for job 2"])?;
    // Clients of libpmix 4.2.2 drop the status of a refused group; others return it.
    let (group, rest): (Vec<&str>, Vec<&str>) = said.stdout.lines().partition(|line| line.starts_with("group "));
    ensure!(group == ["group 0"] || group == ["group -47"], "it says {group:?}");
    ensure!(rest == expected, "it says {rest:?}");
    c.wait_for(0, "aborts")
}
