//! Slurm (`salloc`, `sbatch`, `srun`): everything is in the environment (`man sbatch`, OUTPUT ENVIRONMENT VARIABLES).

use super::error::{DiscoveryError, Flaw};
use super::nodes::Nodes;
use super::reader::Reader;
use super::{ManagedAllocation, TimeLimit, counts, nodelist};
use crate::hostfile::LARGEST;

/// The id of the job, by its name of today and of yesterday.
pub(super) const JOB: [&str; 2] = ["SLURM_JOB_ID", "SLURM_JOBID"];
const CPUS_PER_TASK: &str = "SLURM_CPUS_PER_TASK";

pub(super) fn discover(reader: &Reader<'_>) -> Result<ManagedAllocation, DiscoveryError> {
    // Inside a step, the list without JOB in its name and the tasks are the step's; the processors are the job's.
    let lists = match reader.said.entire {
        true => ["SLURM_JOB_NODELIST", "SLURM_NODELIST"],
        false => ["SLURM_NODELIST", "SLURM_JOB_NODELIST"],
    };
    let job = reader.job(&JOB)?;
    let (list, text) = reader.needed(&lists)?;
    let names = nodelist::expand(text).map_err(reader.at(list))?;
    if names.is_empty() {
        return Err(reader.at(list)(Flaw::NoNodes));
    }
    let (counter, counts) = slots(reader, list, names.len())?;
    let mut nodes = Nodes::default();
    for (name, slots) in names.iter().zip(counts) {
        nodes.add(name, slots).map_err(reader.at(list))?;
    }
    Ok(ManagedAllocation {
        manager: reader.manager,
        job,
        nodes: nodes.finish().map_err(reader.at(list))?,
        time_limit: reader.seconds("SLURM_JOB_END_TIME", TimeLimit::EndsAt)?,
        said_by: format!("{list}, {counter}"),
    })
}

/// The slots of each node, and what says so: tasks times processors of a task; the processors where there is no word of tasks.
fn slots(reader: &Reader<'_>, list: &'static str, nodes: usize) -> Result<(String, Vec<u32>), DiscoveryError> {
    let sources: &[&str] = match reader.said.entire {
        true => &["SLURM_JOB_CPUS_PER_NODE"],
        false => &["SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"],
    };
    let (name, text) = reader.needed(sources)?;
    let mut counts = counts::expand(text, list, nodes).map_err(reader.at(name))?;
    if name != "SLURM_TASKS_PER_NODE" {
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
