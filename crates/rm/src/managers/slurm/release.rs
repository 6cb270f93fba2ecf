//! Makes the command lines that give nodes back to Slurm (`man scancel`, `man scontrol`).

use super::job::SlurmJob;

/// The command that gives nodes of a job back, and the nodes that it cannot give back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// The command; `None` = no node can be given back.
    pub command: Option<Vec<String>>,
    /// Nodes that cannot be given back and stay granted.
    pub kept: Vec<String>,
    /// The reason, if there are such nodes.
    pub why: Option<String>,
}

/// Returns the command that ends a job.
#[must_use]
pub fn end(job: &str) -> Vec<String> {
    vec!["scancel".to_owned(), job.to_owned()]
}

/// Returns the command that ends all jobs of a name and of the user `uid`, in any state.
#[must_use]
pub fn end_all(name: &str, uid: u32) -> Vec<String> {
    vec!["scancel".to_owned(), format!("--user={uid}"), format!("--name={name}")]
}

/// Returns the command that gives some nodes of a job back. Slurm ends what runs on them, so the node with the job's
/// own script is kept.
#[must_use]
pub fn release(job: &str, leave: &[String], known: &SlurmJob) -> Release {
    if known.is_over() {
        return Release { command: None, kept: Vec::new(), why: None };
    }
    let is_there = |name: &&String| known.nodes.contains(name);
    let runs_the_script = |name: &String| known.executes_on.as_ref() == Some(name);
    let (mut kept, mut going): (Vec<String>, Vec<String>) =
        leave.iter().filter(is_there).cloned().partition(runs_the_script);
    let mut why = (!kept.is_empty()).then(|| format!("on it runs the script of Slurm job {job}"));
    if going.len() == known.nodes.len() && !going.is_empty() {
        // A job must keep one node.
        kept.push(going.remove(0));
        why = Some(format!("Slurm job {job} has no other"));
    }
    // The job may have nodes that the DVM never had: the DVM may run in a step of the job.
    let left: Vec<String> = known.nodes.iter().filter(|name| !going.contains(name)).cloned().collect();
    // Nodes that the job no longer has need not be given back.
    let command = (!going.is_empty()).then(|| {
        let list = format!("NodeList={}", left.join(","));
        ["scontrol", "update", &format!("JobId={job}"), &list].map(str::to_owned).into()
    });
    Release { command, kept, why }
}
