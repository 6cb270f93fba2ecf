//! Data that processes read of their job, their node and themselves.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};

use super::context::{Context, Expect};
use super::{Scenario, scenarios};
use crate::programs::{libpmix_major, pmix_program};

pub(super) fn all() -> Vec<Scenario> {
    scenarios![
        a_process_reads_all_that_is_to_be_known_of_its_job,
        a_binding_is_told_in_the_form_that_libpmix_reads,
        processes_that_are_many_on_a_node_are_told_its_topology,
        the_data_of_a_spawned_job_and_of_its_parent_can_be_read,
        each_that_asks_for_a_job_that_is_not_there_is_answered,
    ]
}

/// PMIx status of data that are not there.
const NOT_FOUND: i32 = -46;

/// Processes whose key is asked for: the caller, a neighbour, a process of another node, the whole job.
const LEVELS: [&str; 4] = ["self", "near", "far", "job"];

/// Keys that are told of each process.
const OF_PROCS: &str = "self near far";
const OF_THE_JOB: &str = "job";

/// Each key with the levels at which it is told, and the reason why it is not told at the others.
const TABLE: &[(&str, &str, &str)] = &[
    ("pmix.cpuset", OF_PROCS, "each process has its own"),
    ("pmix.locstr", "self near", "localities of two machines cannot be compared"),
    ("pmix.pkgrank", "self near", "the packages of other nodes are not known here"),
    ("pmix.appnum", OF_PROCS, "the job may have several apps"),
    ("pmix.grank", OF_PROCS, "each process has its own"),
    ("pmix.apprank", OF_PROCS, "each process has its own"),
    ("pmix.lrank", OF_PROCS, "each process has its own"),
    ("pmix.nrank", OF_PROCS, "each process has its own"),
    ("pmix.reinc", OF_PROCS, "each process has its own"),
    ("pmix.hname", OF_PROCS, "the job may have several nodes"),
    ("pmix.nodeid", "self near", "libpmix 4.2 looks only among the nodes that it is asked for by name"),
    ("pmix.pdir", "self near", "the directory is on another node"),
    ("pmix.fqdn", "self near far job", ""),
    ("pmix.tmpdir", "self near far job", ""),
    ("pmix.univ.size", "self near far job", ""),
    ("pmix.local.size", "far job", "libpmix 4.2 answers it for a node or the job"),
    ("pmix.node.size", "far job", "libpmix 4.2 answers it for a node or the job"),
    ("pmix.lpeers", "far job", "libpmix 4.2 answers it for a node or the job"),
    ("pmix.lldr", "far job", "libpmix 4.2 answers it for a node or the job"),
    ("pmix.nsdir", OF_THE_JOB, "it is asked of the job"),
    ("pmix.jobid", OF_THE_JOB, "it is asked of the job"),
    ("pmix.offset", OF_THE_JOB, "it is asked of the job"),
    ("pmix.aldr", OF_THE_JOB, "it is asked of the job"),
    ("pmix.nlist", OF_THE_JOB, "it is asked of the job"),
    ("pmix.lprocs", OF_THE_JOB, "it is asked of the job"),
    ("pmix.job.size", OF_THE_JOB, "it is asked of the job"),
    ("pmix.job.napps", OF_THE_JOB, "it is asked of the job"),
    ("pmix.app.size", OF_THE_JOB, "it is asked of the job"),
    ("pmix.max.size", OF_THE_JOB, "it is asked of the job"),
    ("pmix.num.nodes", OF_THE_JOB, "it is asked of the job"),
    ("pmix.pmem", OF_THE_JOB, "it is of the node, and asked of the job"),
    ("pmix.mapby", OF_THE_JOB, "it is asked of the job"),
    ("pmix.rankby", OF_THE_JOB, "it is asked of the job"),
    ("pmix.bindto", OF_THE_JOB, "it is asked of the job"),
    ("pmix.wdir", OF_THE_JOB, "libpmix 4.2 answers it for the app of the job"),
    ("pmix.app.argv", OF_THE_JOB, "libpmix 4.2 answers it for the app of the job"),
    ("pmix.session.id", "", "libpmix 4.2 answers it with PMIX_SESSION_INFO only"),
    ("pmix.nmap", "", "libpmix 4.2 takes it apart"),
    ("pmix.pmap", "", "libpmix 4.2 takes it apart"),
    ("pmix.nspace", "", "libpmix 4.2 answers it without a process only"),
    ("pmix.rank", "", "libpmix 4.2 answers it without a process only"),
    ("pmix.procid", "", "libpmix 4.2 answers it without a process only"),
    ("pmix.bitmap", "", "libpmix has it as text, pmix.cpuset"),
    ("pmix.spawned", "", "nobody has spawned this job"),
    ("pmix.parent", "", "nobody has spawned this job"),
    ("pmix.ndosub", "", "the job has a processor for each process, and the key is told only when true"),
    ("pmix.alias", "", "the nodes have no other names"),
    ("pmix.cred", "", "libpmix makes credentials itself"),
    ("pmix.tdir.rmclean", "", "the directories are removed, and no program has to know"),
    ("pmix.clid", "", "a DVM has no name of its machine"),
    ("pmix.ppid", "", "processes are registered before they start"),
    ("pmix.alist", "", "the nodes of the DVM change while the job runs"),
    ("pmix.num.anodes", "", "the nodes of the DVM change while the job runs"),
    ("pmix.num.slots", "", "pmix.univ.size tells it"),
    ("pmix.lcpus", "", "its colons are in each cpuset too"),
    ("pmix.exit.code", "", "the processes run"),
    ("pmix.dmn.mem", "", "it changes, and is no data of a job"),
    ("pmix.cl.mem.avg", "", "it changes, and is no data of a job"),
    ("pmix.anlmap", "", "PMI-1 has its own mapping"),
    ("pmix.pset.nms", "", "there are no process sets"),
    ("pmix.dev.dist", "", "PMIx_Compute_distances tells it"),
    ("pmix.euid", "", "the kernel tells it"),
    ("pmix.egid", "", "the kernel tells it"),
];

/// As [`TABLE`], for the keys that libpmix 5.0 and later answer at other levels: they fill in the caller's own node,
/// app or session where a question names none.
const SINCE_5: &[(&str, &str, &str)] = &[
    ("pmix.hname", "self near far job", "libpmix tells the caller's own for the job"),
    ("pmix.nodeid", "self near far job", "libpmix tells the caller's own for the job"),
    ("pmix.local.size", "self near far job", ""),
    ("pmix.node.size", "self near far job", ""),
    ("pmix.lpeers", "self near far job", ""),
    ("pmix.lldr", "self near far job", ""),
    ("pmix.aldr", "self near far job", ""),
    ("pmix.lprocs", "self near job", "those of another node are not known here"),
    ("pmix.app.size", "self near far job", ""),
    ("pmix.pmem", "self near job", "that of another node is not known here"),
    ("pmix.wdir", "self near far job", ""),
    ("pmix.app.argv", "self near far job", ""),
    ("pmix.session.id", "self near far job", "libpmix has a number of its own for a session that it does not know"),
];

/// Values that are the same wherever the scenario runs.
const VALUES: &[(&str, &str)] = &[
    ("far pmix.hname", "n1"),
    ("far pmix.grank", "2"),
    ("far pmix.nrank", "0"),
    ("near pmix.lrank", "1"),
    ("self pmix.reinc", "0"),
    ("job pmix.offset", "0"),
    ("job pmix.job.size", "3"),
    ("job pmix.nlist", "n0,n1"),
    ("job pmix.lpeers", "0,1"),
    ("far pmix.lpeers", "2"),
    ("job pmix.fqdn", "false"),
];

fn a_process_reads_all_that_is_to_be_known_of_its_job(c: &Context) -> Result<()> {
    let args = "--host n0:2,n1:1 -n 3 --map-by core --bind-to core";
    let outcome = c.prterun(args)?.program(&pmix_program("jobdata")?)?.run()?.code(0)?;
    let answers: BTreeMap<String, &str> = outcome.stdout.lines().filter_map(answer).collect();
    ensure!(answers.len() == TABLE.len() * LEVELS.len(), "other keys than in the table:\n{}", outcome.stdout);
    let mut wrong = Vec::new();
    let others = if libpmix_major() >= Some(5) { SINCE_5 } else { &[] };
    for line in TABLE {
        let (key, told, reason) = others.iter().find(|other| other.0 == line.0).unwrap_or(line);
        for level in LEVELS {
            let got = answers.get(&format!("{level} {key}")).with_context(|| format!("{key} was not asked"))?;
            let expected = told.split(' ').any(|at| at == level);
            if (*got != "NOT-FOUND") != expected {
                wrong.push(format!("{level} {key}: {got}, told at {told:?} ({reason})"));
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n    "));
    for (asked, value) in VALUES {
        ensure!(answers[*asked] == *value, "{asked}: {} instead of {value}", answers[*asked]);
    }
    Ok(())
}

/// Reads a line `LEVEL KEY VALUE`.
fn answer(line: &str) -> Option<(String, &str)> {
    let (level, rest) = line.split_once(' ')?;
    let (key, value) = rest.split_once(' ')?;
    LEVELS.contains(&level).then(|| (format!("{level} {key}"), value))
}

fn a_binding_is_told_in_the_form_that_libpmix_reads(c: &Context) -> Result<()> {
    let program = pmix_program("jobdata")?;
    for (bind, told) in [
        ("--map-by core --bind-to core", "bound as told"),
        ("--map-by numa --bind-to numa", "bound as told"),
        ("--bind-to none", "unbound"),
    ] {
        let outcome = c.prterun(&format!("--host n0:2,n1:2 -n 4 {bind}"))?.program(&program)?.run()?.code(0)?;
        let right = outcome.stdout.lines().filter(|line| line.ends_with(told)).count();
        ensure!(right == 4, "{bind}:\n{}", outcome.stdout);
    }
    Ok(())
}

/// They need not look themselves then, as libpmix 5 and Open MPI do (spec L164).
fn processes_that_are_many_on_a_node_are_told_its_topology(c: &Context) -> Result<()> {
    let program = pmix_program("jobdata")?;
    for (args, told) in [
        ("--host n0:4,n1:1 -n 5", "told told told told NOT-FOUND"),
        ("--host n0:3 -n 3", "NOT-FOUND NOT-FOUND NOT-FOUND"),
        ("--host n0:4 -n 4 -x HWLOC_COMPONENTS=-pci", "NOT-FOUND NOT-FOUND NOT-FOUND NOT-FOUND"),
    ] {
        let run = c.prterun(&format!("{args} --map-by slot"))?.program(&program)?.words(["topology"])?;
        let outcome = run.run()?.code(0)?;
        let expected: Vec<String> = (0..).zip(told.split(' ')).map(|(rank, told)| format!("{rank}: {told}")).collect();
        outcome.lines(&expected)?;
    }
    Ok(())
}

fn the_data_of_a_spawned_job_and_of_its_parent_can_be_read(c: &Context) -> Result<()> {
    let program = pmix_program("jobdata")?;
    for (hosts, last) in [("n0:4", "n0"), ("n0:1,n1:2", "n1")] {
        let run = c.prterun(&format!("--host {hosts} -n 1"))?.program(&program)?.words(["other"])?;
        let outcome = run.words([&program])?.run()?.code(0)?;
        let child = format!("the last of the child is on {last}");
        for told in ["the child has 2 processes", child.as_str(), "the parent has 1 processes"] {
            ensure!(outcome.stdout.contains(told), "{hosts}: no {told:?}:\n{}", outcome.stdout);
        }
    }
    Ok(())
}

/// libpmix 7 asks the host once, and would let the others wait for the registration of that job.
fn each_that_asks_for_a_job_that_is_not_there_is_answered(c: &Context) -> Result<()> {
    let program = pmix_program("jobdata")?;
    for hosts in ["n0:8", "n0:4,n1:4"] {
        let told: Vec<String> = (0..8).map(|rank| format!("{rank} hears {NOT_FOUND}")).collect();
        let run = c.prterun(&format!("--host {hosts} -n 8"))?.program(&program)?.words(["nobody"])?;
        run.run()?.code(0)?.lines(&told)?;
    }
    Ok(())
}
