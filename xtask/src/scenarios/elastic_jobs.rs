//! Elastic jobs (`--elastic MIN:MAX`): the smallest size that a shrink leaves them, and what they answer when nodes are
//! to leave.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::context::{Context, Expect, finish};
use super::elastic::{expect_up, in_dvm, lines_of};
use super::{Scenario, scenarios};
use crate::programs::pmix_program;
use crate::runner::Running;

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        an_elastic_job_keeps_its_smallest_size_until_it_is_forced,
        an_elastic_job_refuses_that_its_node_leaves_and_puts_it_off,
    ]
}

/// (spec E51)
fn an_elastic_job_keeps_its_smallest_size_until_it_is_forced(c: &Context) -> Result<()> {
    in_dvm(c, 4, &[], || {
        c.tool("prun", "-n 1 --elastic 2:8 true")?.run()?.code(1)?.complains_about(&["1 process", "2 to 8"])?;
        let job = c.tool("prun", "-n 2 --map-by node --host n2,n3 --elastic 2:8 sleep 1000")?.start()?;
        c.wait_for(2, "sleep")?;
        let refusal = c.tool("pdvm", "shrink --host n3 --wait")?.run()?.code(1)?;
        refusal.complains_about(&["keeps at least 2", "--elastic 2:8", "--force"])?;
        let shown = c.tool("pdvm", "job 3")?.run()?.code(0)?;
        ensure!(shown.stdout.contains("2 to 8 processes with all that it spawns, 2 now"), "{}", shown.stdout);
        expect_up(c, [0, 1, 2, 3])?;
        c.tool("pdvm", "shrink --host n3 --force --grace 0 --wait")?.run()?.code(0)?;
        expect_up(c, [0, 1, 2])?;
        finish(job)?.code(75)?;
        Ok(())
    })
}

/// (spec E52, E53)
fn an_elastic_job_refuses_that_its_node_leaves_and_puts_it_off(c: &Context) -> Result<()> {
    let start = |heard: &std::path::Path, grace: u32, answer: &str| -> Result<Running> {
        let script = format!("exec \"$0\" {answer} >> {}", heard.display());
        let line = format!("-n 2 --map-by node --host n2,n3 --elastic 1:8 --grace {grace} sh -c");
        let job = c.tool("prun", &line)?.words([script])?.program(&pmix_program("withdrawn")?)?.start()?;
        lines_of(c, heard, 2)?;
        Ok(job)
    };
    in_dvm(c, 4, &[], || {
        let heard = c.file("heard", "")?;
        let job = start(&heard, 600, "refuse")?;
        let refusal = c.tool("pdvm", "shrink --host n3 --wait")?.run()?.code(1)?;
        refusal.complains_about(&["Rank 0 of job 2 refuses that n3 leaves"])?;
        expect_up(c, [0, 1, 2, 3])?;
        lines_of(c, &heard, 7)?;
        c.tool("pdvm", "shrink --host n3 --force --wait")?.run()?.code(0)?;
        let expected = [
            "rank 0: n3 leaves in 600 s",
            "rank 0: n3 leaves in 600 s",
            "rank 0: n3 stays",
            "rank 0: refuse -158",
            "rank 0: refuse SUCCESS",
            "rank 0: up",
            "rank 1: n3 leaves in 600 s, with me",
            "rank 1: n3 leaves in 600 s, with me",
            "rank 1: n3 stays",
            "rank 1: up",
        ];
        let lines = lines_of(c, &heard, expected.len())?;
        ensure!(lines == expected, "{lines:?}");
        finish(job)?.code(0)?.complains_about(&["Node n3 stays in the DVM."])?;
        Ok(())
    })?;
    in_dvm(c, 4, &[], || {
        let heard = c.file("heard", "")?;
        let job = start(&heard, 1, "defer=600")?;
        let shrink = c.tool("pdvm", "shrink --host n3 --wait")?.start()?;
        let lines = lines_of(c, &heard, 5)?;
        ensure!(lines.contains(&"rank 0: defer=600 SUCCESS".to_owned()), "{lines:?}");
        std::thread::sleep(Duration::from_secs(3));
        expect_up(c, [0, 1, 2, 3])?;
        let status = c.tool("pdvm", "status")?.run()?.code(0)?.stdout;
        ensure!(status.contains("the processes of job 2 to end before n3 leaves"), "{status}");
        c.tool("pdvm", "kill 2")?.run()?.code(0)?;
        finish(shrink)?.code(0)?;
        finish(job)?.failure()?;
        expect_up(c, [0, 1, 2])
    })
}
