//! Bad input gets one message that says what is wrong, where, and what to do; nothing is started or left behind.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::context::{Context, Expect, finish};
use super::{Scenario, scenarios};

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        an_unknown_option_is_named,
        a_malformed_hostfile_is_named_with_its_line,
        an_unreadable_hostfile_is_named,
        a_malformed_host_list_is_named,
        too_many_processes_are_refused,
        a_missing_executable_is_named_with_its_node,
        a_missing_directory_is_named,
        a_name_that_does_not_resolve_is_named,
        a_node_that_does_not_answer_is_named_and_the_others_are_cleaned_up,
        a_launch_agent_that_fails_is_named,
        root_is_refused_unless_allowed,
        garbage_at_every_port_disturbs_no_job,
    ]
}

fn an_unknown_option_is_named(c: &Context) -> Result<()> {
    c.prterun("--no-such-option -n 1 true")?.run()?.failure()?.complains_about(&["--no-such-option"])?;
    Ok(())
}

fn a_malformed_hostfile_is_named_with_its_line(c: &Context) -> Result<()> {
    let file = c.file("bad-hosts", "n0 slots=2\nn1 slots=many\n")?;
    let path = file.to_string_lossy().into_owned();
    c.prterun("--hostfile")?
        .words([&path, "-n", "2", "true"])?
        .run()?
        .failure()?
        .complains_about(&[&path, "2", "many"])?;
    Ok(())
}

fn an_unreadable_hostfile_is_named(c: &Context) -> Result<()> {
    c.prterun("--hostfile /nowhere/hosts -n 1 true")?.run()?.failure()?.complains_about(&["/nowhere/hosts"])?;
    let directory = c.prterun("--hostfile /etc -n 1 true")?.run()?;
    directory.failure()?.complains_about(&["/etc"])?;
    Ok(())
}

fn a_malformed_host_list_is_named(c: &Context) -> Result<()> {
    c.prterun("--host n1:many -n 1 true")?.run()?.failure()?.complains_about(&["many"])?;
    Ok(())
}

fn too_many_processes_are_refused(c: &Context) -> Result<()> {
    c.everywhere(1, "-n 5 echo started")?.run()?.failure()?.lines(&[])?.complains_about(&["5"])?;
    c.everywhere(1, "-n 5 --map-by :oversubscribe true")?.run()?.code(0)?;
    Ok(())
}

fn a_missing_executable_is_named_with_its_node(c: &Context) -> Result<()> {
    let job = c.prterun("--host n2 -n 1 /no/such/program")?;
    job.run()?.failure()?.complains_about(&["/no/such/program", "n2"])?;
    Ok(())
}

fn a_missing_directory_is_named(c: &Context) -> Result<()> {
    c.prterun("--host n2 --wdir /no/such/place -n 1 true")?.run()?.failure()?.complains_about(&["/no/such/place"])?;
    Ok(())
}

fn a_name_that_does_not_resolve_is_named(c: &Context) -> Result<()> {
    c.prterun("--host n0,nosuchnode,n1 -n 3 echo started")?
        .run()?
        .failure()?
        .lines(&[])?
        .complains_about(&["nosuchnode"])?;
    Ok(())
}

fn a_node_that_does_not_answer_is_named_and_the_others_are_cleaned_up(c: &Context) -> Result<()> {
    c.bed().link(2, false)?;
    // Nothing says that n2 is gone while n0 still has its address: then the launch timeout does.
    let options = "--prtemca rml_base_radix 2 --prtemca ferrite_launch_timeout 10";
    let outcome = c.everywhere(1, &format!("-n 4 {options} echo started"))?.run();
    c.bed().link(2, true)?;
    outcome?.failure()?.lines(&[])?.complains_about(&["n2", "ssh"])?;
    Ok(())
}

fn a_launch_agent_that_fails_is_named(c: &Context) -> Result<()> {
    let job = c.everywhere(1, "-n 4 --prtemca plm_ssh_agent /no/such/agent echo started")?;
    job.run()?.failure()?.lines(&[])?.complains_about(&["/no/such/agent"])?;
    c.everywhere(1, "-n 4 --prtemca plm_ssh_agent /bin/false echo started")?.run()?.failure()?.lines(&[])?;
    Ok(())
}

fn root_is_refused_unless_allowed(c: &Context) -> Result<()> {
    let mut plain = c.bed().command(0, crate::workspace::product("prterun"))?;
    // The environment of the tests may allow root.
    for (name, _) in crate::soak::AS_ROOT {
        plain.env_remove(name);
    }
    let refused = crate::runner::run(plain.args(["-n", "1", "echo", "started"]), Duration::from_secs(20))?;
    refused.code(1)?.lines(&[])?.complains_about(&["--allow-run-as-root"])?;
    Ok(())
}

fn garbage_at_every_port_disturbs_no_job(c: &Context) -> Result<()> {
    let running = c.everywhere(2, "-n 8 sleep 6")?.start()?;
    c.wait_for(8, "sleep")?;
    let mut script = String::new();
    for node in 0..4 {
        for port in listening_ports(c, node)? {
            // Short and long garbage, and a connection that stays silent.
            let place = format!("/dev/tcp/n{node}/{port}");
            script +=
                &format!("(head -c 5 /dev/zero; sleep 0.1) > {place} &\nhead -c 300000 /dev/urandom > {place} &\n");
            script += &format!("timeout 1 sleep 9 3<> {place} &\n");
        }
    }
    let mut bash = c.bed().command(1, "bash")?;
    crate::runner::run(bash.args(["-c", &(script + "wait")]), Duration::from_secs(20))?;
    ensure!(c.named("sleep").len() == 8, "the job was disturbed while it ran");
    finish(running)?.code(0)?;
    Ok(())
}

/// The TCP ports of a node at which somebody other than its ssh server listens, beyond the loop-back.
fn listening_ports(c: &Context, node: usize) -> Result<Vec<u16>> {
    let processes = c.bed().processes(node);
    let any = processes.first().with_context(|| format!("nothing runs on n{node}"))?;
    let mut ports = Vec::new();
    for table in ["tcp", "tcp6"] {
        for line in fs::read_to_string(format!("/proc/{}/net/{table}", any.pid))?.lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (Some(local), Some(&"0A")) = (words.get(1), words.get(3)) else { continue };
            let (address, port) = local.rsplit_once(':').context("no port")?;
            let port = u16::from_str_radix(port, 16)?;
            let is_loopback = address.ends_with("0100007F");
            if port != 22 && !is_loopback && !ports.contains(&port) {
                ports.push(port);
            }
        }
    }
    ensure!(node != 0 || !ports.is_empty(), "prterun listens nowhere");
    Ok(ports)
}
