//! Attacks by another user of the same machine with files, and the remains after whole process groups are killed.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::context::{Call, Context, Expect};
use super::dvm::{start_dvm, stop_dvm};
use super::{Scenario, scenarios};
use crate::runner::Outcome;
use crate::workspace::product;

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        a_process_group_that_is_killed_whole_leaves_nothing_on_any_node,
        names_that_another_user_takes_first_keep_no_dvm_from_starting,
        files_that_another_user_has_put_in_the_way_are_neither_written_to_nor_waited_for,
        a_dvm_is_found_in_the_users_own_directory_and_by_no_other_user,
    ]
}

/// Two users of n0 without names.
const ALICE: u32 = 12_001;
const MALLORY: u32 = 12_002;

/// A command of a user on n0.
fn by<'a>(c: &'a Context, user: u32, program: &str) -> Result<Call<'a>> {
    let call = c.program_on(0, "setpriv", &format!("--reuid={user} --regid={user} --clear-groups {program}"))?;
    Ok(call.env("HOME", "/tmp"))
}

fn shell(c: &Context, user: u32, script: &str) -> Result<String> {
    Ok(by(c, user, "sh -ec")?.words([script])?.run()?.code(0)?.stdout)
}

/// One of our commands, of a user on n0.
fn tool<'a>(c: &'a Context, user: u32, name: &str, line: &str) -> Result<Call<'a>> {
    by(c, user, "")?.words([product(name)])?.words(line.split_whitespace())
}

fn a_dvm_runs_a_job_and_ends(c: &Context, user: u32, options: &str) -> Result<()> {
    tool(c, user, "prte", &format!("--daemonize --host n0 {options}"))?.run()?.code(0)?;
    tool(c, user, "prun", "-n 1 hostname")?.run()?.code(0)?.lines(&["n0".to_owned()])?;
    tool(c, user, "pterm", "")?.run()?.code(0)?;
    Ok(())
}

fn a_process_group_that_is_killed_whole_leaves_nothing_on_any_node(c: &Context) -> Result<()> {
    let script = "setsid sleep 1001 >/dev/null 2>&1 & sleep 1002 & wait";
    let outcome = c
        .program_on(0, "timeout", "-s KILL 3")?
        .words([product("prterun")])?
        .words(["--host", "n0:2,n1:2", "-n", "4", "sh", "-c", script])?
        .run()?;
    ensure!(!outcome.is_success(), "it ended by itself");
    let left = c.bed().residue(Duration::from_secs(10));
    ensure!(left.is_empty(), "left behind:\n    {}", left.join("\n    "));
    Ok(())
}

fn names_that_another_user_takes_first_keep_no_dvm_from_starting(c: &Context) -> Result<()> {
    // The pids that are to come are no secret.
    let all = "for name in prte prted prtrn; do mkdir $(seq -f /tmp/$name.%.0f 1 4000); done";
    shell(c, MALLORY, all)?;
    a_dvm_runs_a_job_and_ends(c, ALICE, "")?;
    // Daemons of all nodes, and a program that needs the directory of its job.
    start_dvm(c, 1)?;
    stop_dvm(c)?;
    shell(c, MALLORY, "rmdir /tmp/prte.* /tmp/prted.* /tmp/prtrn.*")?;
    Ok(())
}

fn files_that_another_user_has_put_in_the_way_are_neither_written_to_nor_waited_for(c: &Context) -> Result<()> {
    shell(c, ALICE, "mkdir /tmp/alice; echo precious > /tmp/alice/file")?;
    let refused = |option: &str, path: &str| -> Result<Outcome> {
        tool(c, ALICE, "prte", &format!("--daemonize --host n0 {option}"))?
            .run()?
            .failure()?
            .complains_about(&[path, &format!("of user {MALLORY} is there already")])
    };
    for obstacle in ["ln -s /tmp/alice/file", "mkfifo -m 666", "install -m 666 /dev/null"] {
        shell(c, MALLORY, &format!("{obstacle} /tmp/pmix.sys.n0; {obstacle} /tmp/dvm.uri"))?;
        refused("--system-server", "/tmp/pmix.sys.n0")?;
        refused("--report-uri /tmp/dvm.uri", "/tmp/dvm.uri")?;
        refused("--report-pid /tmp/dvm.uri", "/tmp/dvm.uri")?;
        // Root may always start the system's server.
        c.tool("prte", "--daemonize --host n0 --system-server")?.run()?.code(0)?;
        c.tool("prun", "--system-server-only -n 1 true")?.run()?.code(0)?;
        stop_dvm(c)?;
        shell(c, MALLORY, "test ! -e /tmp/pmix.sys.n0; rm /tmp/dvm.uri")?;
    }
    let text = shell(c, ALICE, "cat /tmp/alice/file; rm -r /tmp/alice")?;
    ensure!(text == "precious\n", "a file of the user holds {text:?}");
    Ok(())
}

fn a_dvm_is_found_in_the_users_own_directory_and_by_no_other_user(c: &Context) -> Result<()> {
    let own = format!("/run/user/{ALICE}");
    let make = format!("mkdir /run/user; install -d -m 700 -o {ALICE} -g {ALICE} {own}");
    c.program_on(0, "sh", "-ec")?.words([&make])?.run()?.code(0)?;
    tool(c, ALICE, "prte", "--daemonize --host n0 --report-uri /tmp/alice.uri")?.run()?.code(0)?;
    let found = shell(c, ALICE, &format!("ls {own}/prte.*/contact /tmp/prte.*/pmix.n0.tool"))?;
    ensure!(found.lines().count() == 2, "{found}");
    // A TMPDIR of a batch job, say, in which there is no DVM.
    tool(c, ALICE, "prun", "-n 1 hostname")?.env("TMPDIR", "/var/tmp").run()?.code(0)?.lines(&["n0".to_owned()])?;
    tool(c, MALLORY, "prun", "-n 1 true")?.run()?.code(1)?.complains_about(&["no DVM of yours"])?;
    let named = tool(c, MALLORY, "prun", "--dvm-uri file:/tmp/alice.uri -n 1 true")?.run()?.code(1)?;
    named.complains_about(&["/tmp/alice.uri", &format!("belongs to user {ALICE}")])?;
    // The head has a directory in each of the two places, and its guard removes both.
    let head = c.guard_and_worker(0, "prte").context("the head of the DVM")?[1].clone();
    head.signal(rustix::process::Signal::KILL)?;
    c.wait_for(0, "ferrite-guard")?;
    shell(c, ALICE, &format!("rm /tmp/alice.uri; rmdir {own} 2>/dev/null || test -z \"$(ls {own})\""))?;
    c.program_on(0, "rm", "-r /run/user")?.run()?.code(0)?;
    Ok(())
}
