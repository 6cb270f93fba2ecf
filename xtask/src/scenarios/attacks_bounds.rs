//! Attacks by strangers, foreign text and small limits: they must not keep a submission from running, command a
//! terminal, read a key, or end a command without a message. The other user has no name on any node.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;

use super::context::{Call, Context, Expect, finish};
use super::dvm::stop_dvm;
use super::{Scenario, scenarios};
use crate::runner::Outcome;
use crate::workspace::product;

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        a_flood_of_strangers_at_the_metrics_port_keeps_no_submission_out,
        foreign_text_commands_no_terminal_and_output_stays_as_it_is,
        a_key_file_that_others_may_read_is_refused,
        a_user_who_is_not_root_cannot_look_into_what_holds_a_key,
        processes_of_a_user_who_is_not_root_are_swept_when_the_head_is_killed,
        a_dvm_of_one_node_listens_beyond_the_loopback_only_when_it_grows,
        limits_that_are_too_small_are_named,
        without_proc_the_hint_says_so,
        root_may_start_prterun_within_a_job,
    ]
}

/// A user id without files and processes.
const STRANGER: &str = "61234";

/// A shell script on n0.
fn shell<'a>(c: &'a Context, script: &str) -> Result<Call<'a>> {
    c.program_on(0, "bash", "-c")?.words([script])
}

/// Runs a shell script on n0 as a user who is not root, in an empty directory.
fn shell_as_stranger<'a>(c: &'a Context, script: &str) -> Result<Call<'a>> {
    let script = format!(
        "umask 077; d=$(mktemp -d); export TMPDIR=$d HOME=$d; cd \"$d\"; trap 'cd /; rm -rf \"$d\"' EXIT; {script}"
    );
    let words = ["--reuid", STRANGER, "--regid", STRANGER, "--clear-groups", "bash", "-c", &script];
    c.program_on(0, "setpriv", "")?.words(words)
}

fn shown(name: &str) -> String {
    product(name).display().to_string()
}

fn a_flood_of_strangers_at_the_metrics_port_keeps_no_submission_out(c: &Context) -> Result<()> {
    let start = format!("ulimit -n 1024; exec {} --daemonize --prtemca ferrite_metrics 9464", shown("prte"));
    shell(c, &start)?.run()?.code(0)?;
    // Silent connections exceed the head's limit of open files, and new ones come throughout the scenario.
    let stop = c.bed().shared().join("stop");
    let flood = format!(
        "ulimit -n 20000; n=0
        until [ -e {} ]; do exec {{fd}}<>/dev/tcp/127.0.0.1/9464 || break; n=$((n+1)); [ $n = 600 ] && echo up; done",
        stop.display()
    );
    let mut floods = Vec::new();
    for _ in 0..2 {
        floods.push(shell(c, &flood)?.start_unread()?);
    }
    for flood in &mut floods {
        let mut line = String::new();
        BufReader::new(flood.child().stdout.take().context("no stdout")?).read_line(&mut line)?;
        ensure!(line.trim() == "up", "the flood came to an end");
    }
    for round in 0..3 {
        c.tool("prun", "-n 4 --map-by :oversubscribe echo")?.words([format!("{round}")])?.run()?.code(0)?;
    }
    let ask = "exec 3<>/dev/tcp/127.0.0.1/9464; printf 'GET /metrics HTTP/1.1\\r\\n\\r\\n' >&3; head -1 <&3";
    let answer = shell(c, ask)?.run()?.code(0)?;
    ensure!(answer.stdout.contains("200 OK"), "whoever asks is not answered\n    {}", answer.tail());
    fs::write(&stop, "")?;
    for flood in floods {
        finish(flood)?;
    }
    fs::remove_file(&stop)?;
    stop_dvm(c)
}

fn foreign_text_commands_no_terminal_and_output_stays_as_it_is(c: &Context) -> Result<()> {
    const COMMAND: &str = "a\x1b[2J\x07b";
    let is_clean = |outcome: Outcome| -> Result<()> {
        let outcome = outcome.failure()?.complains_about(&["a\\x1b[2J\\x07b"])?;
        ensure!(!outcome.stderr.contains(['\x1b', '\x07']), "a message commands the terminal\n    {}", outcome.tail());
        Ok(())
    };
    is_clean(c.prterun("--host n1 -n 1")?.words([COMMAND])?.run()?)?;
    is_clean(c.prterun("--host n1 -n 1 --wdir")?.words([COMMAND, "true"])?.run()?)?;
    let agent = c.file("agent", &format!("#!/bin/sh\necho '{COMMAND}' >&2\nexit 1\n"))?;
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755))?;
    is_clean(c.prterun("--host n1 -n 1 --prtemca plm_ssh_agent")?.words([&agent])?.words(["true"])?.run()?)?;
    let outcome = c.prterun("--host n1 -n 1 printf")?.words(["\\033[31mred\\007\\n"])?.run()?.code(0)?;
    ensure!(outcome.stdout == "\x1b[31mred\x07\n", "the output is not what was written: {:?}", outcome.stdout);
    Ok(())
}

fn a_key_file_that_others_may_read_is_refused(c: &Context) -> Result<()> {
    let uri = c.bed().shared().join("uri");
    c.tool("prte", "--daemonize --listen 0 --report-uri")?.words([&uri])?.run()?.code(0)?;
    let contact = fs::read_to_string(&uri)?;
    let line = contact.lines().find_map(|line| line.strip_prefix("key ")).context("the contact names no key")?;
    let key = c.file("key", &shell(c, &format!("cat {line}"))?.run()?.code(0)?.stdout)?;
    let submit = || -> Result<Outcome> {
        let dvm = format!("file:{}", uri.display());
        c.tool_on(1, "prun", "--dvm-uri")?
            .words([dvm.as_str(), "--dvm-key"])?
            .words([&key])?
            .words(["-n", "1", "hostname"])?
            .run()
    };
    for mode in [0o640, 0o604] {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode))?;
        submit()?.code(1)?.complains_about(&[&format!("{mode:04o}"), "chmod 600"])?;
    }
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600))?;
    submit()?.code(0)?.lines(&["n0".to_owned()])?;
    stop_dvm(c)
}

/// The DVM and the observer are the same user: what the kernel shows of a process depends on nothing else.
fn a_user_who_is_not_root_cannot_look_into_what_holds_a_key(c: &Context) -> Result<()> {
    let script = format!(
        "{} -n 1 sh -c 'cat /proc/$PPID/maps /proc/$PPID/environ /proc/$PPID/mem >/dev/null; head -1 /proc/$$/maps >/dev/null && echo own'",
        shown("prterun")
    );
    let outcome = shell_as_stranger(c, &script)?.run()?.code(0)?;
    let denied = outcome.stderr.matches("Permission denied").count();
    ensure!(denied == 3, "{denied} of 3 files of the head are closed\n    {}", outcome.tail());
    outcome.lines(&["own".to_owned()])?;
    Ok(())
}

/// Guard, bindings and `--display` work for a user who may not read all of `/proc`.
fn processes_of_a_user_who_is_not_root_are_swept_when_the_head_is_killed(c: &Context) -> Result<()> {
    let bound =
        format!("{} --display bind --bind-to core -n 1 grep -c Cpus_allowed_list /proc/self/status", shown("prterun"));
    let outcome = shell_as_stranger(c, &bound)?.run()?.code(0)?;
    ensure!(outcome.stderr.contains("bound") || outcome.stdout.contains("bound"), "no binding\n    {}", outcome.tail());
    let script = format!(
        "{} -n 2 --map-by :oversubscribe sh -c 'dd if=/dev/zero of=/dev/shm/vader_segment.$PMIX_RANK bs=1 count=1 status=none; \
         setsid sleep 1000 & exec sleep 1000'; ls -A \"$d\"",
        shown("prterun")
    );
    let job = shell_as_stranger(c, &script)?.start()?;
    c.wait_for(4, "sleep")?;
    c.worker(0, "prterun")?.signal(Signal::KILL)?;
    let outcome = finish(job)?.complains_about(&["was killed by signal 9"])?;
    ensure!(outcome.stdout.is_empty(), "left in its directory: {}", outcome.stdout);
    c.wait_for(0, "sleep")?;
    shell(c, "rm -f /dev/shm/vader_segment.0 /dev/shm/vader_segment.1")?.run()?.code(0)?;
    Ok(())
}

fn a_dvm_of_one_node_listens_beyond_the_loopback_only_when_it_grows(c: &Context) -> Result<()> {
    let beyond = || -> Result<usize> {
        let open = shell(c, "ss -Hltn | awk '{print $4}' | grep -v '^127\\.\\|^\\[::1\\]\\|:22$' | wc -l")?;
        Ok(open.run()?.code(0)?.stdout.trim().parse()?)
    };
    c.tool("prte", "--daemonize")?.run()?.code(0)?;
    c.tool("prun", "-n 1 true")?.run()?.code(0)?;
    let alone = beyond()?;
    ensure!(alone == 0, "{alone} ports are open to others, and there is nobody to call");
    c.tool("pdvm", "grow --wait --host n1:1")?.run()?.code(0)?;
    ensure!(beyond()? == 1, "the new daemon cannot have called");
    c.tool("prun", "--host n1 -n 1 hostname")?.run()?.code(0)?.lines(&["n1".to_owned()])?;
    stop_dvm(c)
}

fn limits_that_are_too_small_are_named(c: &Context) -> Result<()> {
    for (name, words) in
        [("prterun", "-n 1 true"), ("prte", ""), ("prted", "</dev/null"), ("prun", "true"), ("pdvm", "status")]
    {
        for (limit, option) in [("ulimit -n 8", "ulimit -n"), ("ulimit -s 64", "ulimit -s")] {
            let outcome = shell(c, &format!("{limit}; exec {} {words}", shown(name)))?.run()?.code(1)?;
            let outcome = outcome.complains_about(&[name, option, "needed"])?;
            ensure!(!outcome.stderr.contains("panicked"), "{name} panics\n    {}", outcome.tail());
        }
    }
    // On another node, the launcher's message says it.
    let agent = c.file("agent", "#!/bin/bash\nshift\nulimit -s 64\nexec bash -c \"$*\"\n")?;
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755))?;
    let job = c.prterun("--host n1 -n 1 --prtemca plm_ssh_agent")?.words([&agent])?.words(["true"])?;
    job.run()?.failure()?.complains_about(&["n1", "ulimit -s"])?;
    Ok(())
}

fn without_proc_the_hint_says_so(c: &Context) -> Result<()> {
    for (name, words) in [("prterun", "-n 1 true"), ("prun", "true"), ("prted", "</dev/null")] {
        let script = format!("mount -n -t tmpfs none /proc && exec {} {words}", shown(name));
        let outcome = c.program_on(0, "unshare", "-m bash -c")?.words([script])?.run()?.code(1)?;
        outcome.complains_about(&["/proc", "mount -t proc"])?;
    }
    Ok(())
}

fn root_may_start_prterun_within_a_job(c: &Context) -> Result<()> {
    let prterun = product("prterun");
    let nested = |outer: &Path| format!("{} -n 1 hostname", outer.display());
    let mut command = c.bed().command(0, &prterun)?;
    for (name, _) in crate::soak::AS_ROOT {
        command.env_remove(name);
    }
    command.args(["--allow-run-as-root", "--host", "n0:1,n1:1", "-n", "2", "sh", "-c", &nested(&prterun)]);
    let outcome = crate::runner::run(&mut command, Duration::from_secs(60))?;
    outcome.code(0)?.lines(&["n0".to_owned(), "n1".to_owned()])?;
    Ok(())
}
