//! PBS Pro, `OpenPBS`, Torque: a file with a line for each slot. Where a site has a line for each node instead,
//! Torque's `PBS_NUM_PPN` says how many slots that is.

use super::error::DiscoveryError;
use super::nodes::Nodes;
use super::reader::Reader;
use super::{ManagedAllocation, TimeLimit};
use crate::hostfile::LARGEST;

pub(super) const JOB: [&str; 1] = ["PBS_JOBID"];
pub(super) const FILE: &str = "PBS_NODEFILE";
const PER_NODE: &str = "PBS_NUM_PPN";

pub(super) fn discover(reader: &Reader<'_>, job: &[&'static str]) -> Result<ManagedAllocation, DiscoveryError> {
    let job = reader.job(job)?;
    let (place, text) = reader.file(&[FILE])?;
    let mut nodes = Nodes::default();
    reader.lines(&place, text, |line| nodes.add(line, 1))?;
    let per_node = reader.number(PER_NODE, LARGEST, "a number of slots (1 to 65535)")?.filter(|_| !nodes.repeated);
    let mut said_by = place.clone();
    if let Some(slots) = per_node {
        nodes.set_all(slots);
        said_by = format!("{place}, {PER_NODE}");
    }
    Ok(ManagedAllocation {
        manager: reader.manager,
        job,
        nodes: nodes.finish().map_err(reader.at(place))?,
        time_limit: reader.seconds("PBS_WALLTIME", TimeLimit::Lasts)?,
        said_by,
    })
}
