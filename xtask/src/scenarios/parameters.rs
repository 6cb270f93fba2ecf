//! Parameters that sites set, seen in what real processes and daemons do.

use anyhow::{Result, ensure};

use super::context::{Context, Expect};
use super::{Scenario, scenarios};

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        limits_and_an_agent_reach_the_processes_of_every_node,
        daemons_of_other_nodes_get_the_library_path_and_only_the_parameters_that_are_passed_on,
        daemons_reach_each_other_over_the_networks_that_are_included,
        verbose_parameters_tell_of_nodes_launchers_and_processes,
        a_parameter_without_effect_costs_one_warning,
        each_kind_of_node_has_its_own_base_of_session_directories,
        the_times_of_a_run_are_said_at_its_end,
    ]
}

fn limits_and_an_agent_reach_the_processes_of_every_node(c: &Context) -> Result<()> {
    let script = ["sh", "-c", "echo $(ulimit -n) $(ulimit -c) $WRAPPED"];
    let words = ["--prtemca", "prte_set_max_sys_limits", "openfiles:321,core:0"];
    let agent = ["--prtemca", "odls_base_exec_agent", "env WRAPPED=yes"];
    let job = c.everywhere(1, "-n 4")?.words(words)?.words(agent)?.words(script)?;
    job.run()?.code(0)?.lines(&vec!["321 0 yes".to_owned(); 4])?;
    let more = ["--prtemca", "prte_set_max_sys_limits", "openfiles:999999999999"];
    let refused = c.everywhere(1, "-n 4")?.words(more)?.words(["true"])?.run()?.failure()?;
    refused.complains_about(&["setting the limit openfiles:999999999999", "prte_set_max_sys_limits"])?;
    Ok(())
}

fn daemons_of_other_nodes_get_the_library_path_and_only_the_parameters_that_are_passed_on(c: &Context) -> Result<()> {
    let words = ["--prtemca", "plm_ssh_pass_libpath", "/opt/one:/opt/two"];
    let job = c.prterun("--host n1 -n 1")?.words(words)?.words(["printenv", "LD_LIBRARY_PATH"])?;
    let outcome = job.run()?.code(0)?;
    ensure!(outcome.stdout.starts_with("/opt/one:/opt/two"), "{}", outcome.tail());
    // A parameter that the head does not pass on holds on its own node only.
    let agent = |passed: &str| -> Result<usize> {
        let job = c.prterun("--host n0,n1,n2 -n 3 --map-by node")?;
        let job = job.env("PRTE_MCA_odls_base_exec_agent", "env WRAPPED=yes");
        let job = job.env("PRTE_MCA_plm_ssh_pass_environ_mca_params", passed);
        let outcome = job.words(["sh", "-c", "echo wrapped=$WRAPPED"])?.run()?.code(0)?;
        Ok(outcome.stdout.lines().filter(|line| *line == "wrapped=yes").count())
    };
    let (all, own) = (agent("1")?, agent("0")?);
    ensure!((all, own) == (3, 1), "the agent was used on {all} nodes and on {own}");
    Ok(())
}

fn daemons_reach_each_other_over_the_networks_that_are_included(c: &Context) -> Result<()> {
    let hosts = "--host n0,n1,n2,n3 -n 4 --map-by node";
    // Each node has one network besides loopback.
    c.prterun(hosts)?.words(["--prtemca", "prte_if_exclude", "lo", "true"])?.run()?.code(0)?;
    c.prterun(hosts)?.words(["--prtemca", "prte_if_exclude", "127.0.0.0/8,::1/128", "true"])?.run()?.code(0)?;
    let refused = c.prterun(hosts)?.words(["--prtemca", "prte_if_include", "ib7", "true"])?.run()?.failure()?;
    refused.complains_about(&["prte_if_include", "ib7", "127.0.0.1"])?;
    Ok(())
}

fn verbose_parameters_tell_of_nodes_launchers_and_processes(c: &Context) -> Result<()> {
    let of = |name: &str, level: &str| {
        let words = ["--leave-session-attached", "--prtemca", name, level, "true"];
        c.prterun("--host n0,n1 -n 2 --map-by node")?.words(words)?.run()?.code(0)
    };
    of("ras_base_verbose", "1")?.complains_about(&["ras: 2 nodes"])?;
    of("ras_base_verbose", "5")?.complains_about(&["ras: node 1: n1"])?;
    of("plm_base_verbose", "1")?.complains_about(&["plm: daemon 1 is started by"])?;
    of("plm_base_verbose", "5")?.complains_about(&["prted"])?;
    of("odls_base_verbose", "1")?.complains_about(&["odls: process", "runs as pid"])?;
    of("odls_base_verbose", "5")?.complains_about(&["changes of the environment"])?;
    Ok(())
}

fn a_parameter_without_effect_costs_one_warning(c: &Context) -> Result<()> {
    let job = || Ok::<_, anyhow::Error>(c.prterun("--host n0,n1 -n 2")?.env("PRTE_MCA_prte_hetero_nodes", "1"));
    let outcome = job()?.words(["true"])?.run()?.code(0)?;
    ensure!(outcome.stderr.lines().count() == 1, "{}", outcome.tail());
    outcome.complains_about(&["PRTE_MCA_prte_hetero_nodes", "is not used"])?;
    let quiet = job()?.env("PRTE_MCA_ferrite_param_warnings", "0").words(["true"])?.run()?.code(0)?;
    ensure!(quiet.stderr.is_empty(), "{}", quiet.tail());
    let refused = c.prterun("--prtemca rml_base_raddix 4 true")?.run()?.code(1)?;
    refused.complains_about(&["mean rml_base_radix?"])?;
    Ok(())
}

fn each_kind_of_node_has_its_own_base_of_session_directories(c: &Context) -> Result<()> {
    let tool = |name: &str, line: &str| {
        // The parameter of the head's node wins there; on other nodes the general one holds without their own.
        let call = c.tool(name, line)?.env("PRTE_MCA_prte_local_tmpdir_base", "/run");
        Ok::<_, anyhow::Error>(call.env("PRTE_MCA_prte_tmpdir_base", "/dev/shm"))
    };
    tool("prte", "--daemonize --host n0,n1")?.run()?.code(0)?;
    let script = "ls -d /run/pr* /dev/shm/pr* 2>/dev/null | cut -d/ -f2 | sort -u";
    let job = tool("prun", "-n 2 --map-by node --output tag")?.words(["sh", "-c", script])?;
    let outcome = job.run()?.code(0)?;
    tool("pterm", "")?.run()?.code(0)?;
    outcome.lines(&["[1,0]<stdout>: run".to_owned(), "[1,1]<stdout>: dev".to_owned()])?;
    // Only a daemon can tell that its node has no such directory.
    let job = c.prterun("--host n1 -n 1")?.env("PRTE_MCA_prte_remote_tmpdir_base", "/no/such/place");
    let refused = job.words(["true"])?.run()?.failure()?;
    let named =
        "parameter prte_remote_tmpdir_base (environment variable PRTE_MCA_prte_remote_tmpdir_base): /no/such/place";
    refused.complains_about(&["n1", named])?;
    Ok(())
}

fn the_times_of_a_run_are_said_at_its_end(c: &Context) -> Result<()> {
    let job = c.prterun("--host n0,n1 -n 2 --prtemca ferrite_timing 1 true")?;
    job.run()?.code(0)?.complains_about(&["Where the time went:", "start daemons", "in all"])?;
    Ok(())
}
