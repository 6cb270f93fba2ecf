//! Flux: `flux resource R` prints the resources of an instance as JSON (Flux RFC 20): the ranks of its brokers with
//! their cores, and the hosts in the order of the ranks. Its commands find the instance by `FLUX_URI`. This was never
//! run with a real Flux.

use serde::Deserialize;

use super::error::{DiscoveryError, Flaw, shown};
use super::nodes::Nodes;
use super::reader::Reader;
use super::{ManagedAllocation, Manager, TimeLimit, nodelist};

pub(super) const SIGNS: [&str; 2] = ["FLUX_URI", "FLUX_JOB_ID"];
pub(super) const COMMAND: [&str; 3] = ["flux", "resource", "R"];

#[derive(Deserialize)]
struct Resources {
    execution: Execution,
}

#[derive(Deserialize)]
struct Execution {
    #[serde(rename = "R_lite")]
    ranks: Vec<Ranks>,
    nodelist: Vec<String>,
    /// Time of the end (seconds since 1970); 0 = no limit.
    #[serde(default)]
    expiration: f64,
}

#[derive(Deserialize)]
struct Ranks {
    rank: String,
    children: Children,
}

#[derive(Deserialize)]
struct Children {
    core: String,
}

pub(super) fn discover(reader: &Reader<'_>) -> Result<ManagedAllocation, DiscoveryError> {
    let place = COMMAND.join(" ");
    let text = reader.said.output.ok_or(DiscoveryError::Unsaid { manager: Manager::Flux })?;
    let resources: Resources = serde_json::from_str(text).map_err(|error| {
        let text = shown(&error.to_string());
        reader.at(place.clone())(Flaw::NotResources(text))
    })?;
    let nodes = nodes(&resources.execution).map_err(reader.at(place.clone()))?;
    let job = match reader.optional(&["FLUX_JOB_ID"])? {
        Some(_) => reader.job(&["FLUX_JOB_ID"])?,
        None => "of this instance".to_owned(),
    };
    let ends = resources.execution.expiration;
    let time_limit = (ends > 0.0).then_some(TimeLimit::EndsAt(ends as u64));
    Ok(ManagedAllocation { manager: reader.manager, job, nodes, time_limit, said_by: place })
}

fn nodes(execution: &Execution) -> Result<Vec<ferrite_types::HostEntry>, Flaw> {
    let names = nodelist::expand(&execution.nodelist.join(","))?;
    let mut slots = vec![0; names.len()];
    let mut ranks = 0;
    for group in &execution.ranks {
        let cores = ids(&group.children.core)?.len() as u32;
        for rank in ids(&group.rank)? {
            // `flux exec` names hosts by rank, so no rank may be missing.
            let slot = slots.get_mut(rank).filter(|slot| **slot == 0).ok_or(Flaw::Ranks(names.len()))?;
            *slot = cores;
            ranks += 1;
        }
    }
    if ranks != names.len() {
        return Err(Flaw::Ranks(names.len()));
    }
    let mut nodes = Nodes::default();
    for (name, slots) in names.iter().zip(slots) {
        nodes.add(name, slots)?;
    }
    if nodes.repeated { Err(Flaw::Ranks(names.len())) } else { nodes.finish() }
}

/// Parses `0-3,7`.
fn ids(text: &str) -> Result<Vec<usize>, Flaw> {
    let wanted = "a list of numbers, as 0-3,7";
    let numbers = nodelist::expand(&format!("[{text}]"))?;
    let number = |digits: &String| digits.parse().map_err(|_| Flaw::number(text, wanted));
    numbers.iter().map(number).collect()
}
