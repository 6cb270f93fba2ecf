//! Jobs that wait for slots: which of them begins first.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};

use super::context::{Context, Expect, finish};
use super::dvm::{status, stop_dvm};
use super::{Scenario, scenarios};
use crate::runner::Running;

const LIMIT: Duration = Duration::from_secs(30);

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        jobs_begin_by_priority_and_clients_take_turns,
        a_small_job_passes_a_large_one_for_a_limited_time,
        jobs_wait_for_the_devices_and_resources_of_others,
    ]
}

/// The files of a scenario: the jobs that have begun, and the one whose appearance lets the first job end.
struct Files {
    begun: PathBuf,
    go: PathBuf,
}

impl Files {
    fn new(c: &Context) -> Result<Files> {
        let (begun, go) = (c.file("begun", "")?, c.bed().shared().join("go-on"));
        // The directory is that of all scenarios.
        let _ = std::fs::remove_file(&go);
        Ok(Files { begun, go })
    }

    /// A job of one process that holds what it has until `go` appears.
    fn block(&self, c: &Context, options: &str) -> Result<Running> {
        let before = status(c, "processes_running")?;
        let script = format!("env; while [ ! -e {} ]; do sleep 0.05; done", self.go.display());
        let running = c.tool("prun", options)?.words(["-n", "1", "sh", "-c", &script])?.start()?;
        c.until("the job that blocks", LIMIT, || Ok(status(c, "processes_running")? == before + 1))?;
        Ok(running)
    }

    /// A job that notes its name; rank 0 alone does.
    fn note(&self, c: &Context, options: &str, name: &str) -> Result<Running> {
        c.tool("prun", options)?.words(["sh", "-c", &note(&self.begun, name)])?.start()
    }

    fn names(&self) -> Result<Vec<String>> {
        Ok(std::fs::read_to_string(&self.begun)?.lines().map(str::to_owned).collect())
    }
}

fn note(file: &Path, name: &str) -> String {
    format!("[ $PMIX_RANK = 0 ] && echo {name} >> {}; true", file.display())
}

fn wait_until_queued(c: &Context, count: i64) -> Result<()> {
    c.until("jobs in the queue", LIMIT, || Ok(status(c, "jobs_queued")? == count)).map(drop)
}

/// By priority, then in turns of clients (spec L122, L123).
fn jobs_begin_by_priority_and_clients_take_turns(c: &Context) -> Result<()> {
    c.tool("prte", "--daemonize --host n0:1")?.run()?.code(0)?;
    let files = Files::new(c)?;
    let blocking = files.block(c, "")?;
    let line = |name: &str| format!("sh -c '{}'\n", note(&files.begun, name));
    let list = c.file("list", &["a1", "a2", "a3"].map(line).concat())?;
    let urgent = format!("{{\"cmd\": \"{}\", \"priority\": 1}}\n{}", note(&files.begun, "u"), line("l"));
    let urgent = c.file("urgent", &urgent)?;
    let many = c.tool("prun", "--batch")?.words([list])?.start()?;
    wait_until_queued(c, 3)?;
    let mut clients = vec![files.note(c, "--wait-for-slots -n 1", "b")?];
    wait_until_queued(c, 4)?;
    clients.push(files.note(c, "--priority -1000 -n 1", "last")?);
    wait_until_queued(c, 5)?;
    clients.push(files.note(c, "--priority 1000 -n 1", "first")?);
    wait_until_queued(c, 6)?;
    clients.push(c.tool("prun", "--priority -7 --batch")?.words([urgent])?.start()?);
    wait_until_queued(c, 8)?;
    let jobs = c.tool("pdvm", "jobs")?.run()?.code(0)?.stdout;
    ensure!(jobs.contains("PRIO") && jobs.contains("-1000"), "pdvm jobs shows no priorities: {jobs}");
    std::fs::write(&files.go, "")?;
    for client in clients.into_iter().chain([many, blocking]) {
        finish(client)?.code(0)?;
    }
    let (begun, due) = (files.names()?, ["first", "u", "a1", "b", "a2", "a3", "l", "last"]);
    ensure!(begun == due, "they began in the order {begun:?}");
    stop_dvm(c)
}

/// Slots that the first job cannot use are not idle, and are not lost for it either (spec L124).
fn a_small_job_passes_a_large_one_for_a_limited_time(c: &Context) -> Result<()> {
    c.tool("prte", "--daemonize --host n0:2 --prtemca ferrite_backfill 2")?.run()?.code(0)?;
    let files = Files::new(c)?;
    let blocking = files.block(c, "")?;
    let large = files.note(c, "--wait-for-slots -n 2", "large")?;
    wait_until_queued(c, 1)?;
    finish(files.note(c, "--wait-for-slots -n 1", "passes")?)?.code(0)?;
    std::thread::sleep(Duration::from_millis(2_100));
    let small = files.note(c, "--wait-for-slots -n 1", "waits")?;
    wait_until_queued(c, 2)?;
    ensure!(files.names()? == ["passes"], "{:?} have begun", files.names()?);
    std::fs::write(&files.go, "")?;
    for client in [blocking, large, small] {
        finish(client)?.code(0)?;
    }
    let begun = files.names()?;
    ensure!(begun == ["passes", "large", "waits"], "they began in the order {begun:?}");
    stop_dvm(c)
}

/// Devices and resources have one owner at a time, who is told which device he has (spec L148, L149, L151).
fn jobs_wait_for_the_devices_and_resources_of_others(c: &Context) -> Result<()> {
    // The devices are those of a file: graphics processors of three makers.
    let machine = c.file("devices.xml", include_str!("../../../crates/map/tests/topologies/devices.xml"))?;
    let dvm = c.tool("prte", "--daemonize --host n0:8 --prtemca ferrite_resources fpga=2,mem=4G,dvm:licence=1")?;
    dvm.words(["--prtemca", "hwloc_use_topo_file"])?.words([&machine])?.run()?.code(0)?;
    let files = Files::new(c)?;
    let by_device = "--map-by device=gpu --bind-to none";
    let mut holding = vec![files.block(c, by_device)?, files.block(c, by_device)?, files.block(c, by_device)?];
    holding.push(files.block(c, "--bind-to none --resource fpga=2 --mem 1.5G")?);
    let nodes = c.tool("pdvm", "nodes")?.run()?.code(0)?;
    for part in ["gpu 3 of 3 in use", "fpga 2 of 2 in use", "mem 1.5 GiB of 4 GiB in use", "All nodes share: licence 1"]
    {
        ensure!(nodes.stdout.contains(part), "'{part}' is not shown\n    {}", nodes.tail());
    }
    let refused = |options: &str, parts: &[&str]| -> Result<()> {
        c.tool("prun", options)?.words(["true"])?.run()?.failure()?.complains_about(parts).map(drop)
    };
    refused(&format!("{by_device} -n 1"), &["n0 has 3, of which 3 are in use", "--wait-for-slots"])?;
    refused("-n 1 --resource fpga=1", &["fpga=2, 2 in use by running jobs", "--wait-for-slots"])?;
    refused("-n 1 --mem 3G", &["mem=4 GiB, 1.5 GiB in use by running jobs"])?;
    refused("-n 1 --wait-for-slots --resource fpga=3", &["Ask for less for each process"])?;
    refused("-n 1 --wait-for-slots --resource laser=1", &["laser is not stated", "ferrite_resources"])?;
    refused("-n 2 --wait-for-slots --resource licence=1", &["the DVM: licence=1", "-n 1"])?;
    refused("-n 1 --mem lots", &["--mem", "lots"])?;
    // Who takes none of it does not wait.
    c.tool("prun", "-n 2 --bind-to none --mem 1G --resource licence=1/job true")?.run()?.code(0)?;
    let gpus = files.note(c, &format!("--wait-for-slots {by_device} -n 2"), "gpu")?;
    wait_until_queued(c, 1)?;
    let waiting = [gpus, files.note(c, "--wait-for-slots --bind-to none --resource fpga=1 -n 2", "fpga")?];
    wait_until_queued(c, 2)?;
    let jobs = c.tool("pdvm", "status")?.run()?.code(0)?;
    ensure!(jobs.stdout.contains("with their devices each"), "the reason is not shown\n    {}", jobs.tail());
    std::fs::write(&files.go, "")?;
    // Each knows its own device, by the variable of its maker.
    let told = ["CUDA_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES=", "ZE_AFFINITY_MASK="];
    for (at, client) in holding.into_iter().enumerate() {
        let outcome = finish(client)?.code(0)?;
        let given: Vec<_> =
            told.iter().filter(|name| outcome.stdout.lines().any(|line| line.starts_with(*name))).collect();
        let own: Vec<_> = told.get(at).into_iter().collect();
        ensure!(given == own, "{own:?} was to be told, not {given:?}\n    {}", outcome.tail());
    }
    for client in waiting {
        finish(client)?.code(0)?;
    }
    let mut begun = files.names()?;
    begun.sort();
    ensure!(begun == ["fpga", "gpu"], "{begun:?} have begun");
    stop_dvm(c)
}
