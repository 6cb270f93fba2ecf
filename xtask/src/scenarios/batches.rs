//! Batches that belong to the DVM: their clients, their processes and the DVM itself are killed, and each task has
//! exactly one record of its end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;

use super::context::{Context, Expect, finish};
use super::dvm::{start_dvm, stop_dvm};
use super::{Scenario, scenarios};

/// A loaded machine runs a hundred tasks a second.
const LIMIT: Duration = Duration::from_secs(120);

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        a_client_that_is_killed_finds_each_task_of_its_batch_once,
        a_batch_whose_process_is_killed_goes_on,
        the_end_of_a_dvm_leaves_a_record_for_each_task_of_a_batch,
    ]
}

/// The endings of the tasks, by their indexes, in the order of the records.
fn endings(records: &str) -> Result<BTreeMap<usize, Vec<String>>> {
    let mut endings: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for record in records.lines().filter(|line| line.contains("\"record\":\"ended\"")) {
        let field = |name: &str| {
            let at = record.find(&format!("\"{name}\":")).with_context(|| format!("no {name}: {record}"))?;
            let value = &record[at + name.len() + 3..];
            Ok::<_, anyhow::Error>(value[..value.find([',', '}']).unwrap_or(value.len())].trim_matches('"').to_owned())
        };
        endings.entry(field("index")?.parse()?).or_default().push(field("ending")?);
    }
    Ok(endings)
}

/// Checks that each task has one record of its end; returns how many have each ending.
fn once(records: &str, tasks: usize) -> Result<BTreeMap<String, usize>> {
    let endings = endings(records)?;
    ensure!(endings.len() == tasks, "{} tasks of {tasks} have a record", endings.len());
    let mut counts = BTreeMap::new();
    for (index, of) in endings {
        ensure!(of.len() == 1, "task {index} has the records {of:?}");
        *counts.entry(of[0].clone()).or_default() += 1;
    }
    Ok(counts)
}

/// Submits a list, and returns when the client has left.
fn submit(c: &Context, list: &Path, options: &[&str], batch: &str) -> Result<()> {
    let call = c.tool("prun", "--detach --keep-going --batch")?.words([list])?.words(options)?;
    call.run()?.code(0)?.lines(&[batch.to_owned()])?;
    Ok(())
}

fn results(c: &Context, node: usize, batch: &str) -> Result<String> {
    Ok(c.tool_on(node, "pdvm", "batch results")?.words([batch])?.run()?.code(0)?.stdout)
}

/// Waits until so many tasks of the only batch have a record.
fn wait_for_records(c: &Context, count: usize) -> Result<()> {
    let enough = || {
        let list = c.tool("pdvm", "batch list --json")?.run()?.code(0)?.stdout;
        let ended = list.lines().find_map(|line| line.trim().strip_prefix("\"ended\": ")?.strip_suffix(','));
        let ended: usize = ended.with_context(|| format!("no tasks: {list}"))?.parse()?;
        Ok(ended >= count)
    };
    c.until("records of a batch", LIMIT, enough).map(drop)
}

/// A client that comes back (spec L118).
fn a_client_that_is_killed_finds_each_task_of_its_batch_once(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let count = if c.is_quick() { 500 } else { 10_000 };
    let done = c.bed().shared().join("done");
    std::fs::create_dir_all(&done)?;
    let lines: Vec<String> = (0..count).map(|i| format!("mkdir {}/{i}\n", done.display())).collect();
    let list = c.file("list", &lines.concat())?;
    submit(c, &list, &[], "b1")?;
    let client = c.tool("pdvm", "batch attach b1")?.start()?;
    wait_for_records(c, count / 3)?;
    c.signal(0, "pdvm", Signal::KILL)?;
    finish(client)?.failure()?;
    // It comes back on another node, and reads all records from the first one on.
    let back = c.tool_on(2, "pdvm", "batch attach b1")?.run()?.code(0)?;
    // A task that runs twice finds its directory and fails.
    let counts = once(&back.stdout, count)?;
    ensure!(counts == BTreeMap::from([("done".to_owned(), count)]), "{counts:?}");
    ensure!(std::fs::read_dir(&done)?.count() == count, "not every task has run");
    ensure!(results(c, 1, "b1")? == back.stdout, "the results differ");
    // Codes of old jobs are known, also of those that are in memory no more.
    c.tool("pdvm", "wait b1:1")?.words([format!("b1:{count}")])?.run()?.code(0)?;
    let known = c.tool("pdvm", "jobs --all")?.run()?.code(0)?.stdout.lines().count();
    ensure!(known == count + 1, "{known} lines for {count} jobs");
    std::fs::remove_dir_all(&done)?;
    stop_dvm(c)
}

/// Kills of the process that runs the list (spec L119).
fn a_batch_whose_process_is_killed_goes_on(c: &Context) -> Result<()> {
    start_dvm(c, 2)?;
    let count = if c.is_quick() { 300 } else { 2_000 };
    // The last task, and so the batch, goes on as long as the gate is there: a process that waits at a pipe could be
    // one of those that are killed.
    let gate = c.file("gate", "")?;
    let last = format!("sh -c 'while test -e {}; do sleep 0.1; done'\n", gate.display());
    let list = c.file("list", &("true\n".repeat(count - 1) + &last))?;
    submit(c, &list, &[], "b1")?;
    for part in 1..=2 {
        wait_for_records(c, count * part / 4)?;
        c.wait_for(1, "prun")?;
        c.signal(0, "prun", Signal::KILL)?;
    }
    wait_for_records(c, count - 1)?;
    std::fs::remove_file(&gate)?;
    let records = c.tool("pdvm", "batch attach b1")?.run()?.code(0)?.stdout;
    once(&records, count)?;
    let jobs = c.tool("pdvm", "jobs --all --json")?.run()?.code(0)?.stdout;
    let mut done: BTreeMap<&str, usize> = BTreeMap::new();
    let mut task = "";
    for line in jobs.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("\"task_name\": ") {
            task = name;
        } else if line == "\"ending\": \"done\"," {
            *done.entry(task).or_default() += 1;
        }
    }
    ensure!(done.len() == count, "{} tasks of {count} have ended well", done.len());
    let twice: Vec<_> = done.iter().filter(|(_, times)| **times > 1).collect();
    ensure!(twice.is_empty(), "tasks that ended well were run again: {twice:?}");
    let list = c.tool("pdvm", "batch list --json")?.run()?.code(0)?.stdout;
    ensure!(list.contains("\"restarts\": 2"), "{list}");
    stop_dvm(c)
}

fn the_end_of_a_dvm_leaves_a_record_for_each_task_of_a_batch(c: &Context) -> Result<()> {
    let list = c.file("list", &"sleep 1000\n".repeat(40))?;
    for is_killed in [false, true] {
        start_dvm(c, 2)?;
        let results: PathBuf = c.bed().shared().join("results");
        let path = results.display().to_string();
        submit(c, &list, &["--results", &path], "b1")?;
        c.wait_for(8, "sleep")?;
        if is_killed {
            c.worker(0, "prte")?.signal(Signal::KILL)?;
        } else {
            stop_dvm(c)?;
        }
        // The process of the batch writes its last records when the head is gone.
        let all = || Ok(endings(&std::fs::read_to_string(&results)?)?.len() == 40);
        c.until("each task has a record", Duration::from_secs(20), all)?;
        c.wait_for(0, "prun")?;
        let counts = once(&std::fs::read_to_string(&results)?, 40)?;
        c.note(format!("{counts:?}"));
        ensure!(!counts.contains_key("done") && counts.values().sum::<usize>() == 40, "{counts:?}");
        std::fs::remove_file(&results)?;
        c.wait_for(0, "sleep")?;
    }
    Ok(())
}
