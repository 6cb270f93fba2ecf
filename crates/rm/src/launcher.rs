//! Makes the argv of launchers: for each node, or for all nodes of a manager's job at once. The driver runs the command
//! and writes the ticket to its standard input. No argv contains a key or another secret.

pub mod srun;
mod ssh;
mod tasks;

use std::collections::BTreeMap;

use ferrite_types::HostEntry;
use thiserror::Error;

pub use ssh::{SshOptions, shell_quote};
pub use tasks::TaskLauncher;

use crate::allocation::{Allocation, Source};
use crate::managers::Manager;
use crate::name::BadName;
use crate::params::{ParamError, Params};

/// The way in which daemons are started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// Over a remote shell.
    Ssh(SshOptions),
    /// As a process on this machine, whatever the node's name is.
    Local,
    /// As tasks of a step in each of Slurm's jobs, with further arguments for `srun` (`plm_slurm_args`).
    Srun(Vec<String>),
    /// As a task of another manager, by one command for each node.
    Task(TaskLauncher),
    /// By one command of Flux for all nodes. Its brokers run on these hosts; a host's index is the rank of its broker.
    Flux(Vec<String>),
}

/// A command that starts one daemon, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchCommand {
    /// Its words, the first looked up in `PATH`.
    pub argv: Vec<String>,
    /// The treatment of its process by the driver.
    pub manners: Manners,
}

/// The treatment of a launcher's process by the driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manners {
    /// An agent ends when the daemon has detached; `plm_ssh_num_concurrent` limits how many run at a time.
    #[default]
    Agent,
    /// The manager counts processes: the daemon does not detach, and the command lives as long as the daemon.
    Task,
    /// A task of a Slurm step: like `Task`, but the command gets no misleading variables of Slurm, and reports the end
    /// of each task.
    Step,
}

impl Manners {
    /// True when the command lives as long as its daemons, and ends them on SIGTERM.
    #[must_use]
    pub fn stays(self) -> bool {
        self != Manners::Agent
    }
}

/// Nodes whose daemons one command starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Their positions among the nodes of the request.
    pub members: Vec<usize>,
    /// The command, or the reason why there is none.
    pub command: Result<LaunchCommand, LaunchError>,
}

/// The command to run on the node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DaemonCommand {
    /// The daemon's program, with words in front when the launch agent has some.
    pub program: Vec<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Directories put in front of the remote `PATH`.
    pub path: Vec<String>,
    /// Directories put in front of the remote `LD_LIBRARY_PATH`.
    pub library_path: Vec<String>,
}

/// Why no command can be made for a node.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LaunchError {
    /// A name that may not be in an argv.
    #[error("cannot start a daemon on {host:?}: {source}")]
    Name {
        /// The node.
        host: String,
        /// The flaw of the name.
        source: BadName,
    },
    /// An empty agent list.
    #[error("no program for the remote shell is left to start a daemon on {host}; set plm_ssh_agent")]
    NoAgent {
        /// The node.
        host: String,
    },
    /// A name that is no job of the manager.
    #[error("{job:?} is no job of Slurm's")]
    RmJob {
        /// The text as given.
        job: String,
    },
    /// A node that is in none of Slurm's jobs.
    #[error(
        "{host} is in no job of Slurm's, so srun cannot start a daemon there; run in salloc or sbatch, or use --prtemca plm ssh"
    )]
    NotInJob {
        /// The node.
        host: String,
    },
    /// A node that Flux does not know.
    #[error(
        "{host} is not among the hosts of the Flux instance (`flux getattr hostlist`), so flux exec cannot start a daemon there; use --prtemca plm ssh"
    )]
    NoBroker {
        /// The node.
        host: String,
    },
    /// A port for an agent other than ssh.
    #[error("{host} has port={port}, but the remote shell {agent} takes no port; put it into plm_ssh_args")]
    Port {
        /// The node.
        host: String,
        /// Its port.
        port: u16,
        /// The agent.
        agent: String,
    },
}

impl Launcher {
    /// Returns the launcher that the parameters name, otherwise that of the manager whose nodes they are.
    ///
    /// # Errors
    /// A parameter with a bad value.
    pub fn from_params(params: &Params, allocation: Option<&Allocation>) -> Result<Launcher, ParamError> {
        let manager = allocation.and_then(|allocation| match &allocation.source {
            Source::Managed { manager, .. } => Some(*manager),
            _ => None,
        });
        match params.text("plm")?.filter(|_| params.is_set("plm")).or(manager.and_then(usual)) {
            Some("local") => return Ok(Launcher::Local),
            Some("slurm") => return Ok(Launcher::Srun(words(params.text("plm_slurm_args")?.unwrap_or_default()))),
            Some("lsf") => return Ok(Launcher::Task(TaskLauncher::Blaunch)),
            Some("gridengine") => return Ok(Launcher::Task(TaskLauncher::Qrsh)),
            Some("pals") => return Ok(Launcher::Task(TaskLauncher::Aprun)),
            Some("flux") => {
                let nodes = allocation.map(|allocation| allocation.nodes.as_slice()).unwrap_or_default();
                return Ok(Launcher::Flux(nodes.iter().map(|node| node.name.clone()).collect()));
            }
            _ => {}
        }
        let agents = params.text("plm_ssh_agent")?.unwrap_or_default();
        Ok(Launcher::Ssh(SshOptions {
            agents: agents.split(':').map(words).filter(|a| !a.is_empty()).collect(),
            args: words(params.text("plm_ssh_args")?.unwrap_or_default()),
            num_concurrent: params.number("plm_ssh_num_concurrent")?,
            no_tree_spawn: params.flag("plm_ssh_no_tree_spawn")?,
            chdir: params.text("plm_ssh_chdir")?.map(str::to_owned),
        }))
    }

    /// Returns advice for a daemon that could not be started, as the beginning of a sentence.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Launcher::Ssh(_) => "Check that the node is up and that you can log in to it without a password",
            Launcher::Local => "Check that prted can be run here",
            Launcher::Task(_) | Launcher::Flux(_) => {
                "Check that the resource manager's command works by hand, or have daemons started by ssh (--prtemca plm ssh)"
            }
            Launcher::Srun(_) => {
                "Check with `squeue --steps` and `scontrol show job` that the job still runs and has these nodes, or have daemons \
                 started by ssh (--prtemca plm ssh)"
            }
        }
    }
}

/// Returns the name of a manager's own launcher in the parameter `plm`. PBS has none that takes standard input.
fn usual(manager: Manager) -> Option<&'static str> {
    match manager {
        Manager::Slurm => Some("slurm"),
        Manager::Lsf => Some("lsf"),
        Manager::GridEngine => Some("gridengine"),
        Manager::Pals => Some("pals"),
        Manager::Flux => Some("flux"),
        Manager::Pbs => None,
    }
}

/// Returns the daemon's program: `prte_launch_agent` when it is set, otherwise `bin/prted` below `ferrite_prefix`,
/// otherwise `prted`.
///
/// # Errors
/// None at present.
pub fn daemon_program(params: &Params, prted: &str) -> Result<Vec<String>, ParamError> {
    Ok(match params.text("prte_launch_agent")? {
        Some(agent) if params.is_set("prte_launch_agent") => words(agent),
        _ => vec![params.text("ferrite_prefix")?.map_or_else(|| prted.to_owned(), |dir| format!("{dir}/bin/prted"))],
    })
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Returns the commands that start daemons on these nodes: one for each, or one for several if the launcher can.
#[must_use]
pub fn batches(launcher: &Launcher, hosts: &[&HostEntry], daemon: &DaemonCommand) -> Vec<Batch> {
    match launcher {
        Launcher::Srun(args) => srun_batches(args, hosts, daemon),
        Launcher::Flux(brokers) => flux_batches(brokers, hosts, daemon),
        Launcher::Ssh(_) | Launcher::Local | Launcher::Task(_) => {
            let batch =
                |(at, host): (usize, &&HostEntry)| Batch { members: vec![at], command: single(launcher, host, daemon) };
            hosts.iter().enumerate().map(batch).collect()
        }
    }
}

fn single(launcher: &Launcher, host: &HostEntry, daemon: &DaemonCommand) -> Result<LaunchCommand, LaunchError> {
    let argv = match launcher {
        Launcher::Ssh(options) => ssh::command(options, host, daemon)?,
        Launcher::Task(task) => return task.command(host, daemon),
        _ => daemon.program.iter().chain(&daemon.args).cloned().collect(),
    };
    Ok(LaunchCommand { argv, manners: Manners::Agent })
}

/// Makes a step in each job.
fn srun_batches(args: &[String], hosts: &[&HostEntry], daemon: &DaemonCommand) -> Vec<Batch> {
    let mut jobs: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
    for (at, host) in hosts.iter().enumerate() {
        jobs.entry(host.rm_job.as_deref()).or_default().push(at);
    }
    let batch = |(job, members): (Option<&str>, Vec<usize>)| {
        let names: Vec<&str> = members.iter().map(|at| hosts[*at].name.as_str()).collect();
        let command = match job {
            Some(job) => srun::command(args, job, &names, daemon),
            None => Err(LaunchError::NotInJob { host: names[0].to_owned() }),
        };
        Batch { members, command }
    };
    jobs.into_iter().map(batch).collect()
}

fn flux_batches(brokers: &[String], hosts: &[&HostEntry], daemon: &DaemonCommand) -> Vec<Batch> {
    let (mut members, mut ranks, mut batches) = (Vec::new(), Vec::new(), Vec::new());
    for (at, host) in hosts.iter().enumerate() {
        match brokers.iter().position(|name| *name == host.name) {
            Some(rank) => {
                members.push(at);
                ranks.push(rank as u32);
            }
            None => {
                let command = Err(LaunchError::NoBroker { host: host.name.clone() });
                batches.push(Batch { members: vec![at], command });
            }
        }
    }
    if !members.is_empty() {
        batches.push(Batch { members, command: Ok(tasks::flux_exec(&ranks, daemon)) });
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(pairs: &[(&str, &str)]) -> Params {
        let mut params = Params::default();
        pairs.iter().for_each(|(name, value)| params.set(name, value));
        params
    }

    fn command() -> DaemonCommand {
        DaemonCommand {
            program: vec!["/opt/my house/prted".into()],
            args: vec!["--name".into(), "it's $HOME; rm -rf *".into()],
            ..DaemonCommand::default()
        }
    }

    fn argv(pairs: &[(&str, &str)], host: &HostEntry, command: &DaemonCommand) -> String {
        let launcher = Launcher::from_params(&params(pairs), None).unwrap();
        match batches(&launcher, &[host], command).remove(0).command {
            Ok(command) => command.argv.iter().map(|w| format!("<{w}>")).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_commands_of_every_launcher() {
        let plain = HostEntry::named("n1");
        let full = HostEntry { user: Some("me".into()), port: Some(2222), ..plain.clone() };
        let user = HostEntry { port: None, ..full.clone() };
        let paths = DaemonCommand {
            path: vec!["/opt/f/bin".into()],
            library_path: vec!["/opt/my libs".into(), "/opt/l2".into()],
            ..command()
        };
        let shown = [
            argv(&[], &plain, &command()),
            argv(&[], &full, &command()),
            argv(&[("plm_ssh_args", "-o ConnectTimeout=5")], &plain, &paths),
            argv(&[("plm_ssh_chdir", "/tmp/a b")], &plain, &command()),
            argv(&[("plm_ssh_agent", "/usr/bin/rsh -n : ssh")], &user, &command()),
            argv(&[("plm_ssh_agent", "/site/reach")], &plain, &command()),
            argv(&[("plm_ssh_agent", "/site/reach")], &full, &command()),
            argv(&[("plm_ssh_agent", ":")], &plain, &command()),
            argv(&[("plm", "local")], &plain, &command()),
            argv(&[], &HostEntry::named("-oProxyCommand=id"), &command()),
        ];
        insta::assert_snapshot!(shown.join("\n"));
    }

    #[test]
    fn in_a_job_of_slurms_its_own_launcher_is_used_unless_another_is_asked_for() {
        let of = |pairs: &[(&str, &str)], manager| {
            let source = Source::Managed { manager, job: "7".to_owned() };
            let nodes = vec![HostEntry::named("n0"), HostEntry::named("n1")];
            Launcher::from_params(&params(pairs), Some(&Allocation { source, ..Allocation::of(nodes, None) })).unwrap()
        };
        let is_ssh = |launcher: Launcher| matches!(launcher, Launcher::Ssh(_));
        assert_eq!(of(&[], Manager::Slurm), Launcher::Srun(Vec::new()));
        assert_eq!(of(&[], Manager::Lsf), Launcher::Task(TaskLauncher::Blaunch));
        assert_eq!(of(&[], Manager::GridEngine), Launcher::Task(TaskLauncher::Qrsh));
        assert_eq!(of(&[], Manager::Pals), Launcher::Task(TaskLauncher::Aprun));
        assert_eq!(of(&[], Manager::Flux), Launcher::Flux(vec!["n0".to_owned(), "n1".to_owned()]));
        assert!(is_ssh(of(&[], Manager::Pbs)));
        assert!(is_ssh(of(&[("plm", "ssh")], Manager::Slurm)));
        assert_eq!(of(&[("plm_slurm_args", "-v  -Q")], Manager::Slurm), Launcher::Srun(words("-v -Q")));
        let alone = argv(&[("plm", "slurm")], &HostEntry::named("n1"), &command());
        assert!(alone.contains("n1 is in no job of Slurm's"), "{alone}");
    }

    #[test]
    fn nodes_are_shared_out_among_commands() {
        let mut hosts: Vec<HostEntry> = ["n1", "n2", "n3", "n5"].map(HostEntry::named).to_vec();
        for (host, job) in hosts.iter_mut().zip(["7", "8", "7"]) {
            host.rm_job = Some(job.to_owned());
        }
        let hosts: Vec<&HostEntry> = hosts.iter().collect();
        let brokers = ["n0", "n1", "n2", "n3"].map(str::to_owned).to_vec();
        let daemon = DaemonCommand { program: vec!["/opt/prted".to_owned()], ..DaemonCommand::default() };
        let launchers = [
            Launcher::Srun(Vec::new()),
            Launcher::Flux(brokers),
            Launcher::Task(TaskLauncher::Blaunch),
            Launcher::Task(TaskLauncher::Qrsh),
            Launcher::Task(TaskLauncher::Aprun),
            Launcher::Local,
        ];
        let told = |batch: Batch| match batch.command {
            Ok(command) => format!("{:?} {:?} {}", batch.members, command.manners, command.argv.join(" ")),
            Err(error) => format!("{:?} {error}", batch.members),
        };
        let all: Vec<String> =
            launchers.iter().flat_map(|launcher| batches(launcher, &hosts, &daemon)).map(told).collect();
        insta::assert_snapshot!(all.join("\n"));
        let hostile = HostEntry::named("-oProxyCommand=id");
        for launcher in &launchers[1..5] {
            assert!(batches(launcher, &[&hostile], &daemon)[0].command.is_err());
        }
    }

    #[test]
    fn the_default_agents_are_ssh_then_rsh() {
        let Launcher::Ssh(options) = Launcher::from_params(&params(&[]), None).unwrap() else {
            panic!("ssh is the default");
        };
        assert_eq!(options.agents, [["ssh"], ["rsh"]]);
        assert_eq!((options.num_concurrent, options.no_tree_spawn), (128, false));
    }

    #[test]
    fn the_launch_agent_replaces_the_daemons_program() {
        assert_eq!(daemon_program(&params(&[]), "/x y/prted").unwrap(), ["/x y/prted"]);
        let agent = params(&[("prte_launch_agent", "valgrind prted")]);
        assert_eq!(daemon_program(&agent, "/x/prted").unwrap(), ["valgrind", "prted"]);
    }

    #[test]
    fn a_prefix_names_the_daemons_program() {
        let prefix = params(&[("ferrite_prefix", "/opt/my ferrite")]);
        assert_eq!(daemon_program(&prefix, "/x/prted").unwrap(), ["/opt/my ferrite/bin/prted"]);
    }
}
