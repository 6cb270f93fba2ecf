//! Grid Engine: a parallel environment's file with `host slots queue processors` in each line (`man sge_pe`,
//! `PE_HOSTFILE`). A host with slots in several queues has several lines.

use super::ManagedAllocation;
use super::error::{DiscoveryError, Flaw, shown};
use super::nodes::{Nodes, slots};
use super::reader::Reader;

pub(super) const FILE: &str = "PE_HOSTFILE";

pub(super) fn discover(reader: &Reader<'_>) -> Result<ManagedAllocation, DiscoveryError> {
    let job = reader.job(&["JOB_ID"])?;
    let (place, text) = reader.file(&[FILE])?;
    let mut nodes = Nodes::default();
    reader.lines(&place, text, |line| {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default();
        let count = words.next().ok_or_else(|| Flaw::NoCount(shown(name)))?;
        nodes.add(name, slots(count)?)
    })?;
    let nodes = nodes.finish().map_err(reader.at(place.clone()))?;
    Ok(ManagedAllocation { manager: reader.manager, job, nodes, time_limit: None, said_by: place })
}
