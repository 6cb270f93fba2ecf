//! Slurm's `srun`: one step of the job with a task on each node, and each task is a daemon. All of them read the same
//! standard input.

use super::{DaemonCommand, LaunchCommand, LaunchError, Manners};
use crate::managers::nodelist;
use crate::name;

/// The variable with Slurm's name of a task's node.
pub const NODE_NAME: &str = "SLURMD_NODENAME";

/// True for a variable that a step sets for its own tasks only: `man srun`, OUTPUT ENVIRONMENT VARIABLES, without those
/// of the whole job. A daemon that was started as a task removes them, so that the processes of its jobs are not taken
/// for tasks.
#[must_use]
pub fn is_of_step(variable: &str) -> bool {
    const PREFIXES: [&str; 4] = ["SLURM_STEP", "SLURM_SRUN_COMM_", "SLURM_CPU_BIND", "SLURM_MEM_BIND"];
    const NAMES: [&str; 15] = [
        "SLURM_DISTRIBUTION",
        "SLURM_GTIDS",
        // The step sets this variable, in spite of its name.
        "SLURM_JOB_NAME",
        "SLURM_LAUNCH_NODE_IPADDR",
        "SLURM_LOCALID",
        "SLURM_MPI_TYPE",
        "SLURM_NNODES",
        "SLURM_NODEID",
        "SLURM_NODELIST",
        "SLURM_NPROCS",
        "SLURM_NTASKS",
        "SLURM_NTASKS_PER_NODE",
        "SLURM_PROCID",
        "SLURM_TASKS_PER_NODE",
        "SLURM_TASK_PID",
    ];
    NAMES.contains(&variable) || PREFIXES.iter().any(|prefix| variable.starts_with(prefix))
}

/// Returns the nodes on which tasks have failed, by a line of `srun` such as `srun: error: n[1-2]: tasks 1-2: Exited
/// with exit code 2`. `None` for any other line.
#[must_use]
pub fn ended_on(line: &str) -> Option<Vec<String>> {
    let (list, _) = line.strip_prefix("srun: error: ")?.split_once(": task")?;
    nodelist::expand(list).ok().filter(|names| !names.is_empty())
}

/// True for lines that report no failure: without binding, `srun` warns about `--cpu-bind=none`.
#[must_use]
pub fn is_noise(line: &str) -> bool {
    line.trim_end() == "srun: cluster configuration lacks support for cpu binding"
}

/// Returns the command that starts a daemon on each of these nodes of a job.
///
/// # Errors
/// A name of a job or node that is none.
pub fn command(
    args: &[String],
    job: &str,
    hosts: &[&str],
    daemon: &DaemonCommand,
) -> Result<LaunchCommand, LaunchError> {
    if job.is_empty() || !job.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'+')) {
        return Err(LaunchError::RmJob { job: job.to_owned() });
    }
    for host in hosts {
        name::check_host(host).map_err(|source| LaunchError::Name { host: (*host).to_owned(), source })?;
    }
    let count = hosts.len();
    let mut argv: Vec<String> = vec![
        "srun".to_owned(),
        format!("--jobid={job}"),
        // Other steps of the job, such as the user's `srun`, may use all of its processors.
        "--overlap".to_owned(),
        format!("--nodes={count}"),
        format!("--ntasks={count}"),
        "--ntasks-per-node=1".to_owned(),
        format!("--nodelist={}", nodelist::fold(hosts)),
        "--mem=0".to_owned(),
        "--mpi=none".to_owned(),
        "--cpu-bind=none".to_owned(),
        "--input=all".to_owned(),
        "--chdir=/".to_owned(),
        // A lost node or a leaving daemon does not end the other tasks.
        "--no-kill".to_owned(),
        "--kill-on-bad-exit=0".to_owned(),
        "--wait=0".to_owned(),
    ];
    argv.extend(args.iter().cloned());
    argv.extend(daemon.program.iter().chain(&daemon.args).cloned());
    Ok(LaunchCommand { argv, manners: Manners::Step })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(args: &[&str], job: &str, hosts: &[&str]) -> String {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let daemon = DaemonCommand { program: vec!["/opt/f/bin/prted".to_owned()], ..DaemonCommand::default() };
        match command(&args, job, hosts, &daemon) {
            Ok(command) => command.argv.join(" "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn one_step_starts_all_daemons_of_a_job() {
        insta::assert_snapshot!(
            [
                told(&[], "17", &["n1", "n2", "n3", "n7"]),
                told(&["--reservation=now", "-v"], "17_4", &["n1"]),
                told(&[], "17; rm -rf /", &["n1"]),
                told(&[], "", &["n1"]),
                told(&[], "17", &["n1", "$(id)"]),
                told(&[], "17", &["--uid=0"]),
            ]
            .join("\n")
        );
    }

    #[test]
    fn the_end_of_tasks_is_read_from_what_srun_says_of_them() {
        let nodes = |line| ended_on(line).map(|names| names.join(" "));
        assert_eq!(nodes("srun: error: n2: task 1: Exited with exit code 3").as_deref(), Some("n2"));
        assert_eq!(nodes("srun: error: n[0-1,7]: tasks 0-2: Killed").as_deref(), Some("n0 n1 n7"));
        for line in
            ["srun: error: Unable to create step for job 1: x", "srun: error: n[: task 1: Killed", "n2: task 1: x", ""]
        {
            assert_eq!(nodes(line), None, "{line}");
        }
    }

    #[test]
    fn what_is_of_the_step_is_told_from_what_is_of_the_job() {
        for name in ["SLURM_PROCID", "SLURM_STEP_ID", "SLURM_STEPID", "SLURM_NTASKS", "SLURM_CPU_BIND_LIST"] {
            assert!(is_of_step(name), "{name}");
        }
        for name in ["SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NODELIST", "SLURM_CONF", "SLURM_CPUS_ON_NODE", "PATH"] {
            assert!(!is_of_step(name), "{name}");
        }
    }
}
