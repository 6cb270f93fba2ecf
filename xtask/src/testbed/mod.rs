//! Virtual nodes on one machine, reached from each other by a real ssh.
//!
//! A bed is one process tree inside an outer PID namespace (the *head*, which holds the bridge) with a further set
//! of namespaces (PID, network, host name, mounts, IPC) for each node `n0`, `n1`, ... Killing the head's first
//! process removes every process, mount and network device of the bed; nothing else of the machine is changed.
//!
//! * [`bed`]: what the other commands use: bring a bed up, run commands on its nodes, cut links, crash nodes.
//! * [`head`], [`node`]: the first process of the outer namespace and of a node (hidden commands of xtask).
//! * [`slurm`]: a real Slurm on the nodes, for those who ask for it, with a login node beside them.
//! * [`links`]: faults of the network.
//! * [`state`]: the directory by which `exec` and `down` find a bed that `up` left running.
//! * [`residue`]: what a job left behind on the nodes.
//! * [`cli`]: `cargo xtask testbed ...`.

mod bed;
pub(crate) mod cli;
mod head;
mod keys;
mod links;
mod node;
mod procs;
mod residue;
mod slurm;
mod state;

pub(crate) use bed::{Bed, Kind, NotPermitted, permitted};
pub(crate) use head::main as head_main;
pub(crate) use node::main as node_main;
pub(crate) use procs::{NodeProcess, guard_and_worker, sweep_own_namespace};
pub(crate) use slurm::{
    CPUS as SLURM_CPUS, HIGH_PARTITION, LOW_PARTITION, PREEMPTION_S, SIDE_PARTITION, missing as missing_of_slurm,
};

/// Exit code of xtask where the right to make nodes is missing: tests tell it from a failure by this.
pub(crate) const EXIT_NOT_PERMITTED: u8 = 77;

/// The first three bytes of the nodes' addresses. They exist only inside the bed's own network namespaces.
const NETWORK: &str = "10.77.0";

/// The address of node `index`.
fn address(index: usize) -> String {
    format!("{NETWORK}.{}", index + 1)
}

/// The name of node `index`.
pub(crate) fn node_name(index: usize) -> String {
    if index == LOGIN { "login".into() } else { format!("n{index}") }
}

/// The most nodes: the last byte of an address has room for no more.
const MAX_NODES: usize = 250;

/// The index of the login node, which a bed with Slurm has beside the nodes that it counts.
pub(crate) const LOGIN: usize = MAX_NODES;
