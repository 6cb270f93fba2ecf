//! Resource managers that are not installed: the scenarios imitate their variables, files and commands by their
//! manuals. The commands are scripts that reach a node by ssh. The scenarios show that the right command is called and
//! that a job runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Result, ensure};

use super::context::{Call, Context, Expect};
use super::{Scenario, scenarios};

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        lsf_gives_its_hosts_and_blaunch_starts_the_daemons,
        grid_engine_gives_its_hosts_and_qrsh_starts_the_daemons,
        pals_gives_its_hosts_and_aprun_starts_the_daemons,
        pbs_gives_its_hosts_and_ssh_starts_the_daemons,
        flux_gives_its_hosts_and_flux_exec_starts_the_daemons,
        a_managers_command_that_fails_is_named_with_what_it_said,
    ]
}

/// Makes a command of a manager on n0 that records its call and then runs `body`.
fn stand_in(c: &Context, name: &str, body: &str) -> Result<()> {
    let shared = c.bed().shared();
    fs::create_dir_all(shared.join("bin"))?;
    let log = shared.join("called");
    fs::write(&log, "")?;
    let path = shared.join("bin").join(name);
    fs::write(&path, format!("#!/bin/sh\necho {name} \"$@\" >> {}\n{body}\n", log.display()))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// `prterun` as in a job of that manager.
fn in_job<'a>(c: &'a Context, variables: &[(&str, &str)], line: &str) -> Result<Call<'a>> {
    let bin = c.bed().shared().join("bin");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH")?);
    let call = c.prterun(line)?.env("PATH", path);
    Ok(variables.iter().fold(call, |call, (name, value)| call.env(name, value)))
}

/// Returns the calls of the stand-in, without the daemon's program.
fn calls(c: &Context) -> Result<Vec<String>> {
    let text = fs::read_to_string(c.bed().shared().join("called"))?;
    let mut calls: Vec<String> =
        text.lines().map(|line| line.rsplit_once(' ').map_or(line, |(words, _)| words).to_owned()).collect();
    calls.sort_unstable();
    Ok(calls)
}

/// A job with two processes on each of n0, n1 and n2.
fn six(c: &Context, variables: &[(&str, &str)], called: &[&str]) -> Result<()> {
    let expected: Vec<String> = ["n0", "n0", "n1", "n1", "n2", "n2"].map(str::to_owned).to_vec();
    in_job(c, variables, "hostname")?.run()?.code(0)?.lines(&expected)?;
    let calls = calls(c)?;
    ensure!(calls == called, "called was {calls:?}");
    Ok(())
}

fn lsf_gives_its_hosts_and_blaunch_starts_the_daemons(c: &Context) -> Result<()> {
    stand_in(c, "blaunch", "host=$1; shift; exec ssh $host \"$@\"")?;
    let job = [("LSB_JOBID", "17"), ("LSB_MCPU_HOSTS", "n0 2 n1 2 n2 2")];
    six(c, &job, &["blaunch n1", "blaunch n2"])
}

fn grid_engine_gives_its_hosts_and_qrsh_starts_the_daemons(c: &Context) -> Result<()> {
    stand_in(c, "qrsh", "[ \"$1 $2\" = '-inherit -V' ] || exit 2; host=$3; shift 3; exec ssh $host \"$@\"")?;
    let file = c.file("pe", "n0 2 all.q@n0 UNDEFINED\nn1 2 all.q@n1 UNDEFINED\nn2 2 all.q@n2 UNDEFINED\n")?;
    let job = [("JOB_ID", "17"), ("PE_HOSTFILE", file.to_str().unwrap_or_default())];
    six(c, &job, &["qrsh -inherit -V n1", "qrsh -inherit -V n2"])
}

fn pbs_nodes(c: &Context) -> Result<String> {
    let file = c.file("nodes", "n0\nn0\nn1\nn1\nn2\nn2\n")?;
    Ok(file.to_str().unwrap_or_default().to_owned())
}

fn pals_gives_its_hosts_and_aprun_starts_the_daemons(c: &Context) -> Result<()> {
    stand_in(c, "aprun", "while [ \"$1\" != -L ]; do shift; done; host=$2; shift 2; exec ssh $host \"$@\"")?;
    let nodes = pbs_nodes(c)?;
    let job = [("PBS_JOBID", "17.head"), ("PBS_NODEFILE", nodes.as_str()), ("PALS_APID", "5")];
    let call = "aprun -n 1 -N 1 --cc none -e PALS_PMI=none -L";
    six(c, &job, &[&format!("{call} n1"), &format!("{call} n2")])
}

fn pbs_gives_its_hosts_and_ssh_starts_the_daemons(c: &Context) -> Result<()> {
    stand_in(c, "ssh", "exec /usr/bin/ssh \"$@\"")?;
    let nodes = pbs_nodes(c)?;
    let job = [("PBS_JOBID", "17.head"), ("PBS_NODEFILE", nodes.as_str())];
    six(c, &job, &["ssh -x n1", "ssh -x n2"])?;
    // The other scenarios get the real ssh.
    Ok(fs::remove_file(c.bed().shared().join("bin/ssh"))?)
}

fn flux_gives_its_hosts_and_flux_exec_starts_the_daemons(c: &Context) -> Result<()> {
    let resources = r#"{"version":1,"execution":{"R_lite":[{"rank":"0-2","children":{"core":"0-1"}}],
        "starttime":0,"expiration":0,"nodelist":["n[0-2]"]}}"#;
    let file = c.file("R", resources)?;
    // All get the same standard input.
    let body = format!(
        "case \"$1 $2\" in\n'resource R') cat {};;\n'exec --rank=1,2') input=$(mktemp); cat > $input; shift 2\n\
         ssh n1 \"$@\" < $input & ssh n2 \"$@\" < $input & wait; rm $input;;\n*) exit 2;;\nesac",
        file.display()
    );
    stand_in(c, "flux", &body)?;
    six(c, &[("FLUX_URI", "local:///run/flux/local")], &["flux exec --rank=1,2", "flux resource"])
}

fn a_managers_command_that_fails_is_named_with_what_it_said(c: &Context) -> Result<()> {
    stand_in(c, "blaunch", "echo 'blaunch: permission of the job is denied' >&2; exit 255")?;
    let job = [("LSB_JOBID", "17"), ("LSB_MCPU_HOSTS", "n0 2 n1 2")];
    let refused = in_job(c, &job, "hostname")?.run()?.code(1)?;
    refused.complains_about(&["node n1", "blaunch n1", "permission of the job", "--prtemca plm ssh"])?;
    Ok(())
}
