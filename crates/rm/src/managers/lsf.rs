//! LSF: a variable with hosts and their slots, or a variable (for short lists) or a file with a name for each slot. The
//! first of these that exists counts. A launch node at the head of the list is a node like others.

use super::error::{DiscoveryError, Flaw, shown};
use super::nodes::{Nodes, slots};
use super::reader::Reader;
use super::{ManagedAllocation, Wanted};

const PAIRS: &str = "LSB_MCPU_HOSTS";
const NAMES: &str = "LSB_HOSTS";
/// Variables that name a file with a line for each slot or task; the host's name comes first in a line.
const FILES: [&str; 2] = ["LSB_DJOB_HOSTFILE", "LSB_AFFINITY_HOSTFILE"];

pub(super) fn file(reader: &Reader<'_>) -> Result<Option<Wanted>, DiscoveryError> {
    match reader.optional(&[PAIRS, NAMES])? {
        Some(_) => Ok(None),
        None => reader.wanted(&FILES),
    }
}

pub(super) fn discover(reader: &Reader<'_>) -> Result<ManagedAllocation, DiscoveryError> {
    let job = reader.job(&["LSB_JOBID"])?;
    let (place, nodes) = nodes(reader)?;
    let nodes = nodes.finish().map_err(reader.at(place.clone()))?;
    Ok(ManagedAllocation { manager: reader.manager, job, nodes, time_limit: None, said_by: place })
}

fn nodes(reader: &Reader<'_>) -> Result<(String, Nodes), DiscoveryError> {
    let mut nodes = Nodes::default();
    if let Some((name, text)) = reader.optional(&[PAIRS, NAMES])? {
        let added = if name == PAIRS { add_pairs(&mut nodes, text) } else { add_names(&mut nodes, text) };
        added.map_err(reader.at(name))?;
        return Ok((name.to_owned(), nodes));
    }
    let known = [PAIRS, NAMES, FILES[0], FILES[1]];
    // The error names all variables that could have been set.
    reader.needed(&known)?;
    let (place, text) = reader.file(&FILES)?;
    reader.lines(&place, text, |line| nodes.add(line.split_whitespace().next().unwrap_or_default(), 1))?;
    Ok((place, nodes))
}

/// Parses `h1 4 h2 2`.
fn add_pairs(nodes: &mut Nodes, text: &str) -> Result<(), Flaw> {
    let mut words = text.split_whitespace();
    while let Some(name) = words.next() {
        let count = words.next().ok_or_else(|| Flaw::NoCount(shown(name)))?;
        nodes.add(name, slots(count)?)?;
    }
    Ok(())
}

/// Parses `h1 h1 h2`.
fn add_names(nodes: &mut Nodes, text: &str) -> Result<(), Flaw> {
    text.split_whitespace().try_for_each(|name| nodes.add(name, 1))
}
