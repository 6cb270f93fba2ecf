//! `PMIx_Log`: texts of processes that the launcher shows, and channels that are not offered.

use std::path::Path;

use anyhow::{Result, ensure};

use super::context::{Context, Expect, Skipped};
use super::{Scenario, scenarios};
use crate::programs::pmix_program;
use crate::workspace::product;

/// Words of the program, and the statuses of their calls. The first call has to begin a job's output.
const CALLS: [(&str, &str); 18] = [
    ("stdout", "SUCCESS"),
    ("stderr", "SUCCESS"),
    ("stdout+stderr", "SUCCESS"),
    ("stderr+job", "PARTIAL-SUCCESS"),
    ("once:stderr+stdout", "SUCCESS"),
    ("once:stdout+job", "SUCCESS"),
    ("job", "NOT-SUPPORTED"),
    ("email", "NOT-SUPPORTED"),
    ("store", "NOT-SUPPORTED"),
    ("global", "NOT-AVAILABLE"),
    ("inject:email", "BAD-PARAM"),
    ("subject:email", "BAD-PARAM"),
    ("server:email", "NOT-SUPPORTED"),
    ("tag:stdout", "SUCCESS"),
    ("xml:stdout", "SUCCESS"),
    ("required:stdout", "NOT-SUPPORTED"),
    ("forged:stdout", "NO-PERMISSIONS"),
    ("long:stdout", "BAD-PARAM"),
];

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        what_a_process_logs_appears_and_other_channels_are_refused_by_name,
        a_logged_date_is_that_of_the_call,
        a_system_without_a_log_is_said_and_the_next_channel_takes_the_text,
        a_text_for_the_log_of_the_dvm_comes_to_the_head_s_node,
        the_job_log_has_a_line_for_each_text_of_any_node_and_a_full_disk_is_said,
        an_email_goes_to_the_mail_program_whose_exit_code_is_the_answer,
        a_tool_logs_in_the_logs_of_the_dvm,
    ]
}

/// Channels and directives (spec L100).
fn what_a_process_logs_appears_and_other_channels_are_refused_by_name(c: &Context) -> Result<()> {
    without_a_log()?;
    let job = c.prterun("--host n1 -n 1")?.program(&pmix_program("logs")?)?;
    let outcome = job.words(CALLS.map(|(word, _)| word))?.run()?.code(0)?;
    for (word, status) in CALLS {
        let line = format!("{word} {status}");
        ensure!(outcome.stdout.lines().any(|said| said == line), "no {line:?}: it says\n{}", outcome.stdout);
    }
    let logged = |text: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.strip_prefix("logged ").map(str::to_owned)).collect()
    };
    let (out, err) = (logged(&outcome.stdout), logged(&outcome.stderr));
    ensure!(out == ["stdout", "stdout+stderr", "once:stdout+job"], "on standard output: {out:?}");
    ensure!(err == ["stderr", "stdout+stderr", "stderr+job", "once:stderr+stdout"], "on standard error: {err:?}");
    let formed = ["[1,0]<stdout>: logged tag:stdout", ">logged xml:stdout&#010;</stdout>"];
    for text in formed {
        ensure!(outcome.stdout.contains(text), "no {text:?}: it says\n{}", outcome.stdout);
    }
    ensure!(!outcome.stdout.contains("xxxx"), "a text that was refused is shown");
    Ok(())
}

/// libpmix takes the time in the process, and sends it along.
fn a_logged_date_is_that_of_the_call(c: &Context) -> Result<()> {
    let job = c.prterun("--host n1 -n 1")?.program(&pmix_program("logs")?)?;
    let outcome = job.words(["dated:stdout"])?.run()?.code(0)?;
    let line = outcome.stdout.lines().find(|line| line.ends_with("]<stdout>: logged dated:stdout"));
    ensure!(line.is_some_and(|line| line.starts_with('[') && line.contains(" 20")), "it says {:?}", outcome.stdout);
    Ok(())
}

/// Nodes of the bed have no log of the system, except where the machine has one.
fn a_system_without_a_log_is_said_and_the_next_channel_takes_the_text(c: &Context) -> Result<()> {
    without_a_log()?;
    let job = c.prterun("--host n1 -n 1")?.program(&pmix_program("logs")?)?;
    let outcome = job.words(["syslog", "syslog+stdout", "once:syslog+stdout"])?.run()?.code(0)?;
    for line in ["syslog NOT-AVAILABLE", "syslog+stdout PARTIAL-SUCCESS", "once:syslog+stdout SUCCESS"] {
        ensure!(outcome.stdout.lines().any(|said| said == line), "no {line:?}: it says\n{}", outcome.stdout);
    }
    ensure!(outcome.stdout.matches("logged ").count() == 2, "it says\n{}", outcome.stdout);
    Ok(())
}

fn without_a_log() -> Result<()> {
    if Path::new("/dev/log").exists() {
        anyhow::bail!(Skipped("this machine has a log of the system, into which no test writes".to_owned()));
    }
    Ok(())
}

/// Runs a command with a log of the system that only it and its children see, and writes the messages to a file.
const LOG_OF_A_NODE: &str = r#"
set -e
mkdir /tmp/dev
mount -n --rbind /dev /tmp/dev
mount -n -t tmpfs none /dev
for name in null zero full random urandom tty ptmx pts shm fd; do ln -s /tmp/dev/$name /dev/$name; done
code=0
python3 -c '
import socket, subprocess, sys
log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
log.bind("/dev/log")
code = subprocess.run(sys.argv[2:]).returncode
log.setblocking(False)
with open(sys.argv[1], "w") as kept:
    try:
        while True:
            kept.write(log.recv(100000).decode() + "\n")
    except BlockingIOError:
        pass
sys.exit(code)
' "$@" || code=$?
umount -n -l /tmp/dev
rmdir /tmp/dev
exit $code
"#;

/// The log of the DVM (spec L134). Only the node of the head has one here.
fn a_text_for_the_log_of_the_dvm_comes_to_the_head_s_node(c: &Context) -> Result<()> {
    without_a_log()?;
    let kept = c.bed().shared().join("messages");
    let call = c.program_on(0, "unshare", "-m bash -c")?.words([LOG_OF_A_NODE, "bash"])?.words([&kept])?;
    let call = call.words([product("prterun")])?.words("--host n0:1,n1:1 --map-by node -n 2".split(' '))?;
    let call = call.program(&pmix_program("logs")?)?.words(["syslog", "global", "once:syslog+global"])?;
    let outcome = call.run()?.code(0)?;
    let count = |line: &str| outcome.stdout.lines().filter(|said| *said == line).count();
    for (line, times) in
        [("syslog SUCCESS", 1), ("syslog NOT-AVAILABLE", 1), ("global SUCCESS", 2), ("once:syslog+global SUCCESS", 2)]
    {
        ensure!(count(line) == times, "{line:?} is not there {times} times: it says\n{}", outcome.stdout);
    }
    let text = std::fs::read_to_string(&kept)?;
    let mut messages: Vec<_> = text.lines().filter_map(|line| line.split_once("@1,").map(|(_, text)| text)).collect();
    messages.sort_unstable();
    let expected = [
        "0] logged global",
        "0] logged once:syslog+global",
        "0] logged syslog",
        "1] logged global",
        "1] logged once:syslog+global",
    ];
    ensure!(messages == expected, "the log has\n{text}");
    Ok(())
}

/// The job log (spec L135).
fn the_job_log_has_a_line_for_each_text_of_any_node_and_a_full_disk_is_said(c: &Context) -> Result<()> {
    let file = c.bed().shared().join("job-log");
    let program = pmix_program("logs")?;
    for _ in 0..2 {
        let job = c.prterun("--host n0:1,n1:1 --map-by node -n 2 --prtemca ferrite_job_log")?.words([&file])?;
        let outcome = job.program(&program)?.words(["job", "once:store+job"])?.run()?.code(0)?;
        for line in ["job SUCCESS", "once:store+job SUCCESS"] {
            let count = outcome.stdout.lines().filter(|said| *said == line).count();
            ensure!(count == 2, "{line:?} is there {count} times: it says\n{}", outcome.stdout);
        }
    }
    let text = std::fs::read_to_string(&file)?;
    let mut lines: Vec<_> = text.lines().filter_map(|line| line.split_once("@1,").map(|(_, text)| text)).collect();
    lines.sort_unstable();
    let expected = ["0] logged job", "0] logged once:store+job", "1] logged job", "1] logged once:store+job"];
    ensure!(lines == expected.map(|line| [line; 2]).concat(), "the log has\n{text}");
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&file)?);
    ensure!(mode & 0o777 == 0o600, "its mode is {mode:o}");

    let script = "mkdir /tmp/small && mount -n -t tmpfs -o size=4k none /tmp/small && head -c 4096 /dev/zero > \
                  /tmp/small/log; \"$@\"; code=$?; umount -n /tmp/small; rmdir /tmp/small; exit $code";
    let job = c.program_on(0, "bash", "-c")?.words([script, "bash"])?.words([product("prterun")])?;
    let job = job.words("--host n1 -n 1 --prtemca ferrite_job_log /tmp/small/log".split(' '))?.program(&program)?;
    let outcome = job.words(["job", "once:job+stdout"])?.run()?.code(0)?;
    for line in ["job OUT-OF-RESOURCE", "once:job+stdout SUCCESS", "logged once:job+stdout"] {
        ensure!(outcome.stdout.lines().any(|said| said == line), "no {line:?}: it says\n{}", outcome.stdout);
    }
    Ok(())
}

/// E-mail (spec L136).
fn an_email_goes_to_the_mail_program_whose_exit_code_is_the_answer(c: &Context) -> Result<()> {
    let sent = c.bed().shared().join("sent");
    let script =
        format!("#!/bin/sh\necho \"$(hostname) $*\" > {0}\ncat >> {0}\nexit $(cat {0}.code)\n", sent.display());
    let program = c.file("sendmail", &script)?;
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    for (code, status) in [("0", "email SUCCESS"), ("75", "email -1")] {
        c.file("sent.code", code)?;
        let job = c.prterun("--host n1 -n 1 --prtemca ferrite_sendmail")?.words([&program])?;
        let outcome = job.program(&pmix_program("logs")?)?.words(["email"])?.run()?.code(0)?;
        ensure!(outcome.stdout.lines().any(|said| said == status), "no {status:?}: it says\n{}", outcome.stdout);
        let text = std::fs::read_to_string(&sent)?;
        let begin = "n0 -t -i\nTo: a@site, b@site\nFrom: job@site\nSubject: done\n";
        ensure!(text.starts_with(begin) && text.contains("\n\nlogged email\n"), "it was given\n{text}");
    }
    Ok(())
}

/// Tools (spec L134), on the node of the head and on another.
fn a_tool_logs_in_the_logs_of_the_dvm(c: &Context) -> Result<()> {
    let file = c.bed().shared().join("log-of-tools");
    let prte = c.tool("prte", "--no-ready-msg --host n0:1,n1:1 --prtemca ferrite_job_log")?.words([&file])?.start()?;
    c.tool("prun", "--wait-to-connect 10 -n 1 true")?.run()?.code(0)?;
    let program = pmix_program("logs")?;
    for node in [0, 1] {
        let call = c.program_on(node, &program.to_string_lossy(), "tool job stdout")?;
        let outcome = call.run()?.code(0)?;
        for line in ["job SUCCESS", "stdout NOT-SUPPORTED"] {
            ensure!(outcome.stdout.lines().any(|said| said == line), "no {line:?}: it says\n{}", outcome.stdout);
        }
    }
    let text = std::fs::read_to_string(&file)?;
    ensure!(text.lines().filter(|line| line.ends_with(",0] logged job")).count() == 2, "the log has\n{text}");
    super::dvm::stop_dvm(c)?;
    super::context::finish(prte)?.code(0)?;
    Ok(())
}
