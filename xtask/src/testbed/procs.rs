//! The processes of a PID namespace: those of a node, seen from outside or inside.
//!
//! Reads `/proc` only; no tool has to exist on the node.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use rustix::process::Signal;

use super::slurm;
use super::state::Identity;

/// A process on a node.
#[derive(Debug, Clone)]
pub(crate) struct NodeProcess {
    /// Its pid as the observer sees it.
    pub(crate) pid: i32,
    /// Its pid on the node.
    pub(crate) node_pid: i32,
    pub(crate) parent: i32,
    /// The name of its executable, cut to 15 bytes by the kernel.
    pub(crate) name: String,
    pub(crate) command: String,
    pub(crate) is_zombie: bool,
}

impl NodeProcess {
    fn read(pid: i32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let field = |name: &str| status.lines().find_map(|l| l.strip_prefix(name)).map(str::trim);
        let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let command = String::from_utf8_lossy(&words).replace('\0', " ").trim_end().to_owned();
        Some(Self {
            pid,
            node_pid: field("NSpid:")?.split_whitespace().last()?.parse().ok()?,
            parent: field("PPid:")?.parse().ok()?,
            name: field("Name:")?.to_owned(),
            command,
            is_zombie: field("State:")?.starts_with('Z'),
        })
    }

    /// Sends a signal; no error if the process is gone.
    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        let Some(pid) = rustix::process::Pid::from_raw(self.pid) else {
            return Ok(());
        };
        match rustix::process::kill_process(pid, signal) {
            Err(error) if error != rustix::io::Errno::SRCH => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// True for processes that every node runs: its first process and the servers that wait for connections (ssh; a
    /// benchmark's agent; Slurm, but not the `slurmstepd` of a job).
    pub(super) fn is_furniture(&self) -> bool {
        self.node_pid == 1
            || self.command.ends_with(" _agentd")
            || slurm::DAEMONS.contains(&self.name.as_str())
            || (self.name == "sshd" && self.command.contains("[listener]"))
    }

    /// Resident memory in bytes.
    pub(crate) fn resident_bytes(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        let text = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
        Some(text.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
    }
}

impl std::fmt::Display for NodeProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let zombie = if self.is_zombie { " (zombie)" } else { "" };
        write!(f, "process {} [{}]{zombie} {}", self.node_pid, self.name, self.command)
    }
}

/// All processes of the PID namespace whose first process is `init`, in order of pid.
pub(super) fn of_namespace(init: Identity) -> Vec<NodeProcess> {
    let Some(namespace) = namespace_of(init.pid) else {
        return Vec::new();
    };
    all_pids().filter(|&pid| namespace_of(pid).as_ref() == Some(&namespace)).filter_map(NodeProcess::read).collect()
}

/// The name of the process that looks after a head or daemon.
pub(crate) const GUARD: &str = "ferrite-guard";

/// A guard on one node, and its child called `name` that does the work.
///
/// There may be more of that name: what the user has started and sees, and what the worker is about to start.
pub(crate) fn guard_and_worker(all: &[NodeProcess], name: &str) -> Option<[NodeProcess; 2]> {
    let guard = |worker: &NodeProcess| all.iter().find(|p| p.name == GUARD && p.pid == worker.parent);
    all.iter().filter(|p| p.name == name).find_map(|worker| Some([guard(worker)?.clone(), worker.clone()]))
}

/// The children of a process.
pub(super) fn children(pid: i32) -> Vec<i32> {
    all_pids().filter_map(NodeProcess::read).filter(|p| p.parent == pid).map(|p| p.pid).collect()
}

fn namespace_of(pid: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/pid")).ok()
}

fn all_pids() -> impl Iterator<Item = i32> {
    let mut pids: Vec<i32> = fs::read_dir("/proc")
        .map(|dir| dir.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect())
        .unwrap_or_default();
    pids.sort_unstable();
    pids.into_iter()
}

/// Kills everything on this node except the processes that every node runs, the caller and the caller's ancestors.
///
/// Ends the remains of a hung run, for a benchmark that runs *on* a node. Returns their number.
pub(crate) fn sweep_own_namespace() -> Result<usize> {
    let all: Vec<NodeProcess> = all_pids().filter_map(NodeProcess::read).collect();
    let mut spared = vec![std::process::id() as i32];
    while let Some(process) = all.iter().find(|p| Some(&p.pid) == spared.last()) {
        spared.push(process.parent);
    }
    let mut killed = 0;
    for process in all.iter().filter(|p| !p.is_furniture() && !p.is_zombie && !spared.contains(&p.pid)) {
        process.signal(Signal::KILL)?;
        killed += 1;
    }
    Ok(killed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32, name: &str) -> NodeProcess {
        let (name, command) = (name.to_owned(), String::new());
        NodeProcess { pid, node_pid: pid, parent, name, command, is_zombie: false }
    }

    /// Without this check a scenario that kills a daemon could kill a process that the daemon is starting.
    #[test]
    fn a_process_that_is_being_started_is_no_daemon() {
        let all = [
            process(1, 0, "init"),
            process(90, 1, "sshd"),
            process(95, 90, "prterun"),
            process(96, 95, GUARD),
            process(97, 96, "prterun"),
            process(100, 90, GUARD),
            process(101, 100, "prted"),
            process(102, 101, "hostname"),
            process(103, 101, "prted"),
        ];
        let found = |name| guard_and_worker(&all, name).map(|found| found.map(|process| process.pid));
        assert_eq!(found("prted"), Some([100, 101]));
        assert_eq!(found("prterun"), Some([96, 97]));
        assert_eq!(found("prte"), None);
    }
}
