//! Calls of PMIx that have a limit of their own.

use anyhow::Result;

use super::context::{Context, Expect};
use super::{Scenario, scenarios};
use crate::programs::pmix_program;

pub(super) fn all() -> Vec<Scenario> {
    scenarios![a_call_of_pmix_with_a_limit_ends_at_it_everywhere]
}

fn a_call_of_pmix_with_a_limit_ends_at_it_everywhere(c: &Context) -> Result<()> {
    let expected = ["fence -24", "late fence -24", "get -24", "connect -24", "lookup -24", "spawn 0", "limits is done"];
    let job = c.prterun("--host n1:2,n2 -n 2 --map-by node")?.program(&pmix_program("limits")?)?;
    job.run()?.code(0)?.lines(&expected.map(str::to_owned))?;
    Ok(())
}
