//! Jobs have their turn while requests for another size follow each other without a pause.

use std::fs::File;
use std::io::Write;
use std::time::Duration;

use anyhow::{Result, ensure};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::context::{Context, Expect, finish};
use super::dvm::stop_dvm;
use super::{Scenario, scenarios};
use crate::runner::Running;
use crate::workspace::product;

const LIMIT: Duration = Duration::from_secs(10);

pub(super) fn all() -> Vec<Scenario> {
    scenarios![a_job_that_changes_of_size_have_held_runs_before_the_dvm_grows_again]
        .into_iter()
        .map(|s| s.on_nodes(5))
        .collect()
}

fn a_job_that_changes_of_size_have_held_runs_before_the_dvm_grows_again(c: &Context) -> Result<()> {
    // Each node comes when the scenario allows it, so that changes overlap on any machine.
    let script = "#!/bin/sh\nif [ -p DIR/$(hostname) ]; then read -r _ <DIR/$(hostname); fi\nexec PRTED \"$@\"\n";
    let slow = c.file("slow-prted", "")?;
    let gates = slow.parent().expect("a file has a directory").join("gates");
    std::fs::create_dir(&gates)?;
    let words = script.replace("DIR", &gates.to_string_lossy()).replace("PRTED", &product("prted").to_string_lossy());
    std::fs::write(&slow, words)?;
    std::fs::set_permissions(&slow, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let gate = |node: &str| -> Result<File> {
        mknodat(CWD, gates.join(node), FileType::Fifo, Mode::RWXU, 0)?;
        // The pipe is open for reading and writing, so that writing does not wait for the node.
        Ok(File::options().read(true).write(true).open(gates.join(node))?)
    };
    let (mut n2, mut n3, mut n4) = (gate("n2")?, gate("n3")?, gate("n4")?);
    let prte =
        c.tool("prte", "--daemonize --host n0:4,n1:4 --prtemca prte_elastic_mode 1 --prtemca prte_launch_agent")?;
    prte.words([slow])?.run()?.code(0)?;
    let grow = |node: &str| -> Result<Running> { c.tool("pdvm", "grow --wait --host")?.words([node])?.start() };
    let status = || -> Result<String> { Ok(c.tool("pdvm", "status")?.run()?.code(0)?.stdout) };
    let says = |what: &str| c.until(what, LIMIT, || Ok(status()?.contains(what)));
    let first = grow("n2")?;
    says("grow 1")?;
    let job = c.tool("prun", "-n 1 hostname")?.start()?;
    says("WAITING_FOR_DAEMONS")?;
    let second = grow("n3")?;
    says("grow 2")?;
    n2.write_all(b"come\n")?;
    finish(first)?.code(0)?;
    // The second holds the job; a third has to let it pass.
    let third = grow("n4")?;
    says("QUEUED")?;
    n3.write_all(b"come\n")?;
    finish(second)?.code(0)?;
    finish(job)?.code(0)?.lines(&["n0".to_owned()])?;
    let text = status()?;
    ensure!(text.contains("grow 3") && !text.contains("QUEUED"), "the third comes after the job: {text}");
    n4.write_all(b"come\n")?;
    finish(third)?.code(0)?;
    stop_dvm(c)
}
