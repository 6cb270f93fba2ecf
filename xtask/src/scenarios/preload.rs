//! Files that a job brings along: on every node they are there before the first process starts, and gone after the job.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::context::{Context, Expect, finish};
use super::dvm::stop_dvm;
use super::{Scenario, scenarios};

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        a_program_and_its_files_are_moved_to_every_node,
        a_client_on_another_node_brings_its_own_files,
        files_that_cannot_be_moved_are_refused_before_anything_starts,
        an_archive_that_leads_out_of_the_job_fails_it_with_node_and_file,
        a_job_that_is_interrupted_in_its_transfer_leaves_nothing,
    ]
}

/// A directory with a script, a text, a directory and an archive.
fn files(c: &Context) -> Result<PathBuf> {
    let text = c.file("a.txt", "text\n")?;
    let dir = text.parent().context("it is in a directory")?.to_owned();
    let script = "#!/bin/sh\ncat a.txt d/e/b d/l packed/c\n[ -L d/l ] && echo link\nls | sort | tr '\\n' ' '\necho\n\
                  readlink -f a.txt >&2\n";
    c.file("show.sh", script)?;
    fs::set_permissions(dir.join("show.sh"), Permissions::from_mode(0o755))?;
    // An earlier scenario may have left its own.
    if dir.join("d").exists() {
        fs::remove_dir_all(dir.join("d"))?;
    }
    fs::create_dir_all(dir.join("d/e"))?;
    fs::create_dir_all(dir.join("packed"))?;
    fs::write(dir.join("d/e/b"), "below\n")?;
    fs::write(dir.join("packed/c"), "packed\n")?;
    symlink("e/b", dir.join("d/l"))?;
    tar(&dir, &["czf", "p.tar.gz", "packed"])?;
    Ok(dir)
}

fn tar(dir: &std::path::Path, words: &[&str]) -> Result<()> {
    let status = Command::new("tar").current_dir(dir).args(words).status()?;
    ensure!(status.success(), "tar {words:?} failed");
    Ok(())
}

/// The line of each process of `show.sh`.
const SHOWN: &str = "text\nbelow\nbelow\npacked\nlink\na.txt d packed show.sh \n";

/// See spec L70.
fn a_program_and_its_files_are_moved_to_every_node(c: &Context) -> Result<()> {
    let dir = files(c)?;
    let list = ["a.txt", "d", "p.tar.gz"].map(|name| dir.join(name).display().to_string()).join(",");
    let outcome = c
        .prterun("--host n0:2,n1:2 --output tag -n 4 --preload-binary --preload-files")?
        .words([&list])?
        .program(&dir.join("show.sh"))?
        .run()?
        .code(0)?;
    for rank in 0..4 {
        let own = format!("[1,{rank}]<stdout>: ");
        let said: String =
            outcome.stdout.lines().filter_map(|line| line.strip_prefix(&own)).map(|l| format!("{l}\n")).collect();
        ensure!(said == SHOWN, "rank {rank} says {said:?}");
    }
    // Both processes of a node have the same file: it was moved once.
    let places: std::collections::BTreeSet<&str> =
        outcome.stderr.lines().filter_map(|line| line.split_once("<stderr>: ")).map(|(_, path)| path).collect();
    ensure!(places.len() == 2, "the file is at {places:?}");
    ensure!(!places.iter().any(|path| std::path::Path::new(path).exists()), "{places:?} are still there");
    Ok(())
}

/// See spec L70.
fn a_client_on_another_node_brings_its_own_files(c: &Context) -> Result<()> {
    let dir = files(c)?;
    let text = dir.join("a.txt").display().to_string();
    c.tool("prte", "--daemonize --host n0:2,n1:2")?.run()?.code(0)?;
    for node in [0, 1] {
        let call = c.tool_on(node, "prun", "-n 4 --preload-files")?.words([&text, "cat", "a.txt"])?;
        let outcome = call.run()?.code(0)?;
        ensure!(outcome.stdout == "text\n".repeat(4), "from node {node}: {:?}", outcome.stdout);
    }
    stop_dvm(c)
}

/// See spec L73.
fn files_that_cannot_be_moved_are_refused_before_anything_starts(c: &Context) -> Result<()> {
    let dir = files(c)?;
    fs::write(dir.join("x.zip"), "")?;
    symlink("/etc", dir.join("d/out"))?;
    for (name, why) in [("none", "No such file"), ("x.zip", "not unpacked"), ("d", "absolute")] {
        let file = dir.join(name).display().to_string();
        let outcome = c.prterun("-n 1 --host n1 --preload-files")?.words([&file, "true"])?.run()?;
        ensure!(!outcome.is_success(), "{name} was taken");
        ensure!(outcome.stderr.contains(why) && outcome.stderr.contains("Nothing was started"), "{}", outcome.stderr);
    }
    Ok(())
}

/// See spec L72.
fn an_archive_that_leads_out_of_the_job_fails_it_with_node_and_file(c: &Context) -> Result<()> {
    let dir = files(c)?;
    tar(&dir, &["cPf", "bad.tar", "--transform", "s,^,../,", "a.txt"])?;
    let bad = dir.join("bad.tar").display().to_string();
    let outcome = c.prterun("-n 1 --host n1 --preload-files")?.words([&bad, "true"])?.run()?;
    ensure!(!outcome.is_success(), "it was unpacked");
    for word in ["node n1", "bad.tar", "../a.txt in the archive", "upwards"] {
        ensure!(outcome.stderr.contains(word), "no {word:?} in {}", outcome.stderr);
    }
    Ok(())
}

/// See spec L73.
fn a_job_that_is_interrupted_in_its_transfer_leaves_nothing(c: &Context) -> Result<()> {
    let dir = files(c)?;
    let big = dir.join("big");
    fs::File::create(&big)?.set_len(2 << 30)?;
    c.tool("prte", "--daemonize --host n0:2,n1:2")?.run()?.code(0)?;
    let big = big.display().to_string();
    let run = c.tool("prun", "-n 2 --host n1 --preload-files")?.words([&big, "sleep", "100"])?.start()?;
    c.until("the job waits for files", Duration::from_secs(10), || {
        let job = c.tool("pdvm", "job 1")?.run()?;
        Ok(job.stdout.contains("files on node n1: ") && job.stdout.contains(" of 2148 MB"))
    })?;
    c.tool("pdvm", "kill 1")?.run()?.code(0)?;
    let outcome = finish(run)?;
    ensure!(!outcome.is_success(), "the job has ended well");
    ensure!(c.named("sleep").is_empty(), "a process was started");
    let mark = "files/big";
    c.until("the file is gone", Duration::from_secs(10), || {
        let found =
            Command::new("find").args(["/tmp", "-path", &format!("*{mark}"), "-not", "-path", "*/bed/*"]).output()?;
        Ok(found.stdout.is_empty())
    })?;
    stop_dvm(c)
}
