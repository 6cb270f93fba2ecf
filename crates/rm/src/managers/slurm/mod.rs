//! Slurm (`salloc`, `sbatch`, `srun`): the environment has the nodes of a job (`man sbatch`, OUTPUT ENVIRONMENT
//! VARIABLES). Slurm's commands request more nodes and give nodes back; the modules below make their lines and read
//! their output.

pub mod end;
pub mod extend;
pub mod job;
pub mod release;
#[cfg(test)]
mod tests;
pub mod words;

use super::error::{DiscoveryError, Flaw};
use super::nodes::Nodes;
use super::reader::{Reader, Variable};
use super::{ManagedAllocation, TimeLimit, counts, nodelist};
use crate::hostfile::LARGEST;
use ferrite_types::HostEntry;

/// Variables with the id of the job, the present and the former one.
pub(super) const JOB: [&str; 2] = ["SLURM_JOB_ID", "SLURM_JOBID"];
const TASKS_PER_NODE: &str = "SLURM_TASKS_PER_NODE";
const CPUS_PER_TASK: &str = "SLURM_CPUS_PER_TASK";

pub(super) fn discover(reader: &Reader<'_>) -> Result<ManagedAllocation, DiscoveryError> {
    let lists = match reader.said.entire {
        true => ["SLURM_JOB_NODELIST", "SLURM_NODELIST"],
        false => ["SLURM_NODELIST", "SLURM_JOB_NODELIST"],
    };
    let job = reader.job(&JOB)?;
    let whole = nodes(reader, reader.needed(&lists)?);
    let is_contradiction = matches!(&whole, Err(DiscoveryError::Flawed { flaw: Flaw::Mismatch { .. }, .. }));
    let (nodes, said_by) = match step(reader)? {
        Some(step) if is_contradiction => nodes(reader, step),
        _ => whole,
    }?;
    let time_limit = reader.seconds("SLURM_JOB_END_TIME", TimeLimit::EndsAt)?;
    Ok(ManagedAllocation { manager: reader.manager, job, nodes, time_limit, said_by })
}

/// Returns the nodes of the step in which this process runs, if the variables about tasks are the step's. In a step on
/// fewer nodes than its job has, 22.05 sets `SLURM_TASKS_PER_NODE` for the step and leaves the job's `SLURM_NODELIST`.
/// Otherwise the job's nodes count: a shell that `salloc` puts on the first node is a step too
/// (`use_interactive_step`), with the job's tasks.
fn step<'a>(reader: &Reader<'a>) -> Result<Option<Variable<'a>>, DiscoveryError> {
    let value = |name| reader.optional(&[name]).map(|found| found.map(|(_, value)| value));
    let (tasks, of_step) = (value(TASKS_PER_NODE)?, value("SLURM_STEP_TASKS_PER_NODE")?);
    if reader.said.entire || tasks.is_none() || tasks != of_step {
        return Ok(None);
    }
    reader.optional(&["SLURM_STEP_NODELIST"])
}

/// Returns the nodes of a list with their slots, and the variables that they come from.
fn nodes(reader: &Reader<'_>, (list, text): Variable<'_>) -> Result<(Vec<HostEntry>, String), DiscoveryError> {
    let names = nodelist::expand(text).map_err(reader.at(list))?;
    if names.is_empty() {
        return Err(reader.at(list)(Flaw::NoNodes));
    }
    let (counter, counts) = slots(reader, list, names.len())?;
    let mut nodes = Nodes::default();
    for (name, slots) in names.iter().zip(counts) {
        nodes.add(name, slots).map_err(reader.at(list))?;
    }
    Ok((nodes.finish().map_err(reader.at(list))?, format!("{list}, {counter}")))
}

/// Returns the slots of each node, and the variables that they come from: tasks times processors of a task, or all
/// processors when no variable has the tasks.
fn slots(reader: &Reader<'_>, list: &'static str, nodes: usize) -> Result<(String, Vec<u32>), DiscoveryError> {
    let sources: &[&str] = match reader.said.entire {
        true => &["SLURM_JOB_CPUS_PER_NODE"],
        false => &[TASKS_PER_NODE, "SLURM_JOB_CPUS_PER_NODE"],
    };
    let (name, text) = reader.needed(sources)?;
    let mut counts = counts::expand(text, list, nodes).map_err(reader.at(name))?;
    if name != TASKS_PER_NODE {
        return Ok((name.to_owned(), counts));
    }
    let per_task = reader.number(CPUS_PER_TASK, LARGEST, "a number of processors (1 to 65535)")?;
    for count in &mut counts {
        let product = count.saturating_mul(per_task.unwrap_or(1));
        if product > LARGEST {
            return Err(reader.at(CPUS_PER_TASK)(Flaw::TooManySlots("a node".to_owned())));
        }
        *count = product;
    }
    let factor = per_task.map(|_| format!(" times {CPUS_PER_TASK}")).unwrap_or_default();
    Ok((format!("{name}{factor}"), counts))
}

/// True for variables that tell Slurm's commands which job they are in, or set their options. Commands that request
/// another job must not get them, except the path of the configuration.
#[must_use]
pub fn misleads(variable: &str) -> bool {
    const PREFIXES: [&str; 8] =
        ["SLURM_", "SLURMD_", "SALLOC_", "SBATCH_", "SRUN_", "SQUEUE_", "SCANCEL_", "SCONTROL_"];
    variable != "SLURM_CONF" && PREFIXES.iter().any(|prefix| variable.starts_with(prefix))
}
