//! Nodes that go back to Slurm, as command lines (`man scancel`, `man scontrol`).

use super::job::SlurmJob;

/// How some nodes of a job go back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// `None` = nothing can go.
    pub command: Option<Vec<String>>,
    /// Nodes that cannot go, and stay granted.
    pub kept: Vec<String>,
    /// Why, if any cannot.
    pub why: Option<String>,
}

/// Ends a job.
#[must_use]
pub fn end(job: &str) -> Vec<String> {
    vec!["scancel".to_owned(), job.to_owned()]
}

/// Ends all jobs of a name, whatever has become of them. Nobody else's: `uid` is who asks.
#[must_use]
pub fn end_all(name: &str, uid: u32) -> Vec<String> {
    vec!["scancel".to_owned(), format!("--user={uid}"), format!("--name={name}")]
}

/// Gives some nodes of a job back. What runs on a node that goes is ended by Slurm, so the one with the job's own
/// script never goes.
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
        // A job without a node would be none.
        kept.push(going.remove(0));
        why = Some(format!("Slurm job {job} has no other"));
    }
    // The job may have nodes that were never the DVM's, which lives in a step of it perhaps.
    let left: Vec<String> = known.nodes.iter().filter(|name| !going.contains(name)).cloned().collect();
    // What it lacks already need not be given back.
    let command = (!going.is_empty()).then(|| {
        let list = format!("NodeList={}", left.join(","));
        ["scontrol", "update", &format!("JobId={job}"), &list].map(str::to_owned).into()
    });
    Release { command, kept, why }
}
