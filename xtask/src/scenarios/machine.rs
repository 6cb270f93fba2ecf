//! Processes as the kernel shows them: their affinity and their memory policy; and maps of machines from files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::context::{Call, Context, Expect, Skipped};
use super::dvm::stop_dvm;
use super::{Scenario, scenarios};
use crate::workspace::product;

/// A shell command that prints rank and processors of its process.
const WHERE: &str = "echo $PMIX_RANK $(sed -n 's/Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)";

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        processes_are_bound_as_the_map_says_on_every_node,
        memory_comes_from_the_domains_of_the_processors_when_that_is_asked_for,
        a_command_under_taskset_stays_inside_of_it,
        a_command_in_a_cgroup_stays_inside_of_it,
        processors_are_taken_away_by_a_parameter,
        a_map_of_nodes_that_do_not_exist_starts_nothing,
        maps_count_what_is_left_on_each_node_and_the_lines_of_files,
        a_job_that_is_not_spawned_shows_the_map_of_the_nodes_and_no_process_starts,
        the_table_of_processes_goes_to_the_terminal_or_a_file,
    ]
}

/// Processors by rank.
fn places(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.split_once(' ')).collect()
}

/// The processors of this machine that the scenarios may use; a scenario needs two.
fn processors() -> Result<Vec<u32>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let list =
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).context("no Cpus_allowed_list")?;
    let mut all = Vec::new();
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        all.extend(first.parse::<u32>()?..=last.parse()?);
    }
    if all.len() < 2 {
        return Err(Skipped("it needs two processors".to_owned()).into());
    }
    Ok(all)
}

fn processes_are_bound_as_the_map_says_on_every_node(c: &Context) -> Result<()> {
    processors()?;
    let bound = c.prterun("--host n0:2,n1:2 -n 4 --map-by core --bind-to core sh -c")?.words([WHERE])?;
    let bound = bound.run()?.code(0)?;
    let at = places(&bound.stdout);
    ensure!(at.len() == 4 && at["0"] == at["2"] && at["1"] == at["3"], "{}", bound.tail());
    ensure!(at["0"] != at["1"], "two processes on one core\n    {}", bound.tail());
    let free = c.prterun("--host n0:2 -n 2 --bind-to none sh -c")?.words([WHERE])?.run()?.code(0)?;
    let at = places(&free.stdout);
    ensure!(at["0"] == at["1"] && at["0"].contains(['-', ',']), "bound without binding\n    {}", free.tail());
    Ok(())
}

fn memory_comes_from_the_domains_of_the_processors_when_that_is_asked_for(c: &Context) -> Result<()> {
    if !Path::new("/proc/self/numa_maps").exists() {
        return Err(Skipped("this kernel knows no NUMA domains".to_owned()).into());
    }
    for (value, policy) in [("none", "default"), ("local", "prefer"), ("bind", "bind:")] {
        let line =
            format!("--host n1 -n 1 --map-by core --prtemca ferrite_mem_policy {value} head -1 /proc/self/numa_maps");
        let outcome = c.prterun(&line)?.run()?.code(0)?;
        let word = outcome.stdout.split_whitespace().nth(1).unwrap_or_default();
        ensure!(word.starts_with(policy), "{value} became '{word}'\n    {}", outcome.tail());
    }
    Ok(())
}

/// `prterun` on n0, as an argument of another command.
fn under(c: &Context, words: &[&str], line: &str) -> Result<std::process::Command> {
    let mut command = c.bed().command(0, words[0])?;
    command.args(&words[1..]).arg(product("prterun")).args(line.split_whitespace()).arg(WHERE);
    command.env("PRTE_ALLOW_RUN_AS_ROOT", "1").env("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    Ok(command)
}

/// One process runs on that processor alone, and there are no slots for a second.
fn stays_on(c: &Context, words: &[&str], cpu: u32) -> Result<()> {
    let limit = std::time::Duration::from_secs(60);
    let run = |line| crate::runner::Running::start(&mut under(c, words, line)?)?.finish(limit);
    for line in ["-n 1 sh -c", "-n 1 --bind-to none sh -c"] {
        run(line)?.code(0)?.lines(&[format!("0 {cpu}")])?;
    }
    run("-n 2 sh -c")?.failure()?.complains_about(&["slots"])?;
    Ok(())
}

fn a_command_under_taskset_stays_inside_of_it(c: &Context) -> Result<()> {
    let last = *processors()?.last().context("processors")?;
    stays_on(c, &["taskset", "-c", &last.to_string()], last)?;
    // The same of a daemon on another node.
    let agent = format!("taskset -c {last} {}", product("prted").display());
    let call = c.prterun("--host n1:1 -n 1 --launch-agent")?.words([&agent])?.words(["sh", "-c", WHERE])?;
    call.run()?.code(0)?.lines(&[format!("0 {last}")])?;
    Ok(())
}

/// A cpuset of the kernel; dropping the value removes it.
struct Group(PathBuf);

impl Group {
    fn of(cpu: u32) -> Result<Group> {
        let name = format!("ferrite-scenario-{}", std::process::id());
        let old = Path::new("/sys/fs/cgroup/cpuset");
        let group = Group(if old.exists() { old.join(name) } else { Path::new("/sys/fs/cgroup").join(name) });
        let made = fs::create_dir(&group.0)
            .and_then(|()| fs::write(group.0.join("cpuset.mems"), "0"))
            .and_then(|()| fs::write(group.0.join("cpuset.cpus"), cpu.to_string()));
        made.map_err(|e| Skipped(format!("no cgroup of processors can be made here: {e}")))?;
        Ok(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process that ended a moment ago may still count.
        for _ in 0..50 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

fn a_command_in_a_cgroup_stays_inside_of_it(c: &Context) -> Result<()> {
    let last = *processors()?.last().context("processors")?;
    let group = Group::of(last)?;
    let script = format!("echo 0 > {}/cgroup.procs && exec \"$0\" \"$@\"", group.0.display());
    stays_on(c, &["sh", "-c", &script], last)
}

fn processors_are_taken_away_by_a_parameter(c: &Context) -> Result<()> {
    processors()?;
    let outcome = c.prterun("--host n0:1,n1:1 -n 2 --prtemca hwloc_default_cpu_list 1 sh -c")?.words([WHERE])?;
    let outcome = outcome.run()?.code(0)?;
    let at = places(&outcome.stdout);
    let all = c.prterun("--host n0:2 -n 2 --map-by core sh -c")?.words([WHERE])?.run()?.code(0)?;
    let second = places(&all.stdout)["1"];
    ensure!(at["0"] == second && at["1"] == second, "not on the second core ({second})\n    {}", outcome.tail());
    let none = c.prterun("--host n0:1,n1:1 -n 2 --prtemca hwloc_default_cpu_list 9999 true")?.run()?.code(1)?;
    none.complains_about(&["hwloc_default_cpu_list", "9999"])?;
    Ok(())
}

fn maps_count_what_is_left_on_each_node_and_the_lines_of_files(c: &Context) -> Result<()> {
    let on = |call: Call<'_>, nodes: &[&str]| -> Result<()> {
        call.run()?.code(0)?.lines(&nodes.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        Ok(())
    };
    let line = "--host n0:3,n1:4 -n 2 --map-by slot hostname : -n 3 --map-by ppr:2:node hostname";
    on(c.prterun(line)?, &["n0", "n0", "n0", "n1", "n1"])?;
    let line = "--host n0:3,n1:4 -n 2 --map-by slot true : --map-by ppr:2:node true";
    c.prterun(line)?.run()?.failure()?.complains_about(&["not enough slots", "n1: 4 slots", "at most 2 by ppr"])?;
    let hosts = c.file("seq", "n1\nn0\nn1\n")?;
    let by = format!("--host n0:4,n1:4 --map-by seq:FILE={}", hosts.display());
    on(c.prterun(&format!("{by} hostname"))?, &["n0", "n1", "n1"])?;
    on(c.prterun(&format!("{by} -n 1 true : hostname"))?, &["n0", "n1"])?;
    let ranks = c.file("ranks", "rank 0=n1\nrank 1=n0\n")?;
    let by = format!("--host n0:4,n1:4 --map-by rankfile:FILE={}", ranks.display());
    on(c.prterun(&format!("{by} hostname"))?, &["n0", "n1"])?;
    // The devices are those of a file: two graphics processors on each node.
    let file = c.file("devices.xml", include_str!("../../../crates/map/tests/topologies/devices.xml"))?;
    let call = c.prterun("--prtemca ras_simulator_num_nodes 2 --prtemca hwloc_use_topo_file")?.words([&file])?;
    let call = call.words("--rtos donotlaunch --display map --map-by ppr:1:device=gpu true".split(' '))?;
    let outcome = call.run()?.code(0)?;
    for part in ["PPR: 1:device=gpu", "Mapping policy: BYDEVICE", "Process rank: 1"] {
        ensure!(outcome.stdout.contains(part), "the map lacks '{part}'\n    {}", outcome.tail());
    }
    Ok(())
}

fn a_job_that_is_not_spawned_shows_the_map_of_the_nodes_and_no_process_starts(c: &Context) -> Result<()> {
    let mark = c.bed().shared().join("spawned");
    let call = c.prterun("--host n0:2,n1:2 --rtos donotspawn --display map -n 4 touch")?.program(&mark)?;
    let outcome = call.run()?.code(0)?;
    ensure!(outcome.stdout.contains("Data for node: n1"), "no map\n    {}", outcome.tail());
    // The daemons have said what their machines are like.
    ensure!(!outcome.stdout.contains("architecture"), "the map is that of this machine\n    {}", outcome.tail());
    ensure!(!mark.exists(), "a process was started");
    // A node that cannot be reached shows, as the daemons are started.
    c.prterun("--host n0,nowhere --rtos donotspawn -n 1 true")?.run()?.failure()?.complains_about(&["nowhere"])?;
    Ok(())
}

/// The lines of a table of processes, without its titles.
fn listed(text: &str) -> Result<Vec<(String, String, u32, String)>> {
    let mut lines = text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    ensure!(lines.next().context("no table")? == ["rank", "node", "pid", "program"], "other titles:\n{text}");
    lines
        .map(|line| match &line[..] {
            [rank, node, pid, program] => Ok((rank.clone(), node.clone(), pid.parse()?, program.clone())),
            _ => anyhow::bail!("no line of a table: {line:?}"),
        })
        .collect()
}

fn the_table_of_processes_goes_to_the_terminal_or_a_file(c: &Context) -> Result<()> {
    let file = c.bed().shared().join("procs");
    let job = "-n 4 --map-by node sh -c";
    let check = |text: &str, said: &str| -> Result<()> {
        let table = listed(text)?;
        let nodes: Vec<_> = table.iter().map(|(rank, node, _, _)| format!("{rank} {node}")).collect();
        ensure!(nodes == ["0 n0", "1 n1", "2 n0", "3 n1"], "other nodes:\n{text}");
        ensure!(table.iter().all(|(_, _, _, program)| program == "sh"), "other programs:\n{text}");
        // Each process tells its own number.
        let mut own: Vec<_> = said.lines().map(str::to_owned).collect();
        let mut listed: Vec<_> = table.iter().map(|(rank, _, pid, _)| format!("{rank} {pid}")).collect();
        own.sort();
        listed.sort();
        ensure!(own == listed, "{own:?} and {listed:?} differ");
        Ok(())
    };
    let own = ["echo $PMIX_RANK $$"];
    let line = format!("--host n0:2,n1:2 --rtos output-proctable=+ {job}");
    let outcome = c.prterun(&line)?.words(own)?.run()?.code(0)?;
    check(&outcome.stderr, &outcome.stdout)?;
    c.tool("prte", "--daemonize --host n0:2,n1:2")?.run()?.code(0)?;
    let line = format!("--output-proctable {} {job}", file.display());
    let outcome = c.tool("prun", &line)?.words(own)?.run()?.code(0)?;
    check(&fs::read_to_string(&file)?, &outcome.stdout)?;
    let line = format!("--rtos output-proctable=/no/such/place {job}");
    let refused = c.tool("prun", &line)?.words(own)?.run()?.failure()?;
    refused.complains_about(&["output-proctable", "/no/such/place"])?.lines(&[])?;
    let refused = c.tool("prun", "--detach --rtos output-proctable true")?.run()?.failure()?;
    refused.complains_about(&["--detach", "pdvm job"])?;
    stop_dvm(c)
}

fn a_map_of_nodes_that_do_not_exist_starts_nothing(c: &Context) -> Result<()> {
    let file = c.file("machine.xml", include_str!("../../../crates/map/tests/topologies/two-packages.xml"))?;
    let made_up = "--prtemca ras_simulator_num_nodes 2 --prtemca hwloc_use_topo_file";
    let call = c.prterun(made_up)?.words([&file])?.words("--rtos donotlaunch --display map -n 9 false".split(' '))?;
    let outcome = call.run()?.code(0)?;
    for part in ["Data for node: nodeA0\tNum slots: 8", "Data for node: nodeA1\tNum slots: 8", "package[1][core:L7]"] {
        ensure!(outcome.stdout.contains(part), "the map lacks '{part}'\n    {}", outcome.tail());
    }
    let call = c.prterun(made_up)?.words([&file])?.words("-n 9 true".split(' '))?;
    call.run()?.code(1)?.complains_about(&["do not exist", "donotlaunch"])?;
    // These names are unknown: a login to them would fail.
    let alone = c.prterun("--host elsewhere:2 --rtos donotlaunch -n 2 true")?.run()?.code(0)?;
    ensure!(alone.stdout.contains("Data for node: elsewhere"), "the map is not shown\n    {}", alone.tail());
    Ok(())
}
