//! `pdvm nodes`: the nodes of the pool, and how full they are.

use ferrite_types::resources::amount_in_words;
use ferrite_wire::control::{DvmStatus, NodeStatus, ResourceStatus};

use super::dvm::Dvm;
use super::failure::Failure;
use super::json;
use super::moment::Moment;
use super::text::{NONE, Side, Table, or_none, plain};

pub(super) fn answer(dvm: &mut Dvm, json: bool) -> Result<String, Failure> {
    let (status, moment) = dvm.status()?;
    let nodes = dvm.nodes()?;
    Ok(if json { to_json(&nodes, &moment) } else { render(&nodes) + &shared(&status) })
}

fn to_json(nodes: &[NodeStatus], moment: &Moment) -> String {
    json::document("nodes", moment, json::Nodes { nodes: nodes.iter().map(json::Node::of).collect() })
}

fn render(nodes: &[NodeStatus]) -> String {
    if nodes.is_empty() {
        return "The DVM has no node.\n".to_owned();
    }
    let columns = [
        ("NODE", Side::Left),
        ("STATE", Side::Left),
        ("DAEMON", Side::Right),
        ("IN USE", Side::Right),
        ("SLOTS", Side::Right),
        ("MAX", Side::Right),
        ("CORES", Side::Right),
        ("RESOURCES", Side::Left),
    ];
    let mut table = Table::new(&columns);
    for node in nodes {
        let most = if node.max_slots == 0 { NONE.to_owned() } else { node.max_slots.to_string() };
        let numbers =
            [or_none(node.daemon), node.slots_in_use.to_string(), node.slots.to_string(), most, node.cores.to_string()];
        let names = [plain(&node.name), plain(&node.state)];
        table.row(names.into_iter().chain(numbers).chain([resources(node)]).collect());
    }
    table.render()
}

/// The shared resources as a line behind the table; empty when there are none.
pub(super) fn shared(status: &DvmStatus) -> String {
    if status.resources.is_empty() {
        String::new()
    } else {
        format!("\nAll nodes share: {}\n", in_words(&status.resources))
    }
}

/// `gpu 1 of 4 in use, mem 16 GiB`.
pub(crate) fn resources(node: &NodeStatus) -> String {
    in_words(&node.resources)
}

pub(crate) fn in_words(resources: &[ResourceStatus]) -> String {
    let one = |resource: &ResourceStatus| {
        let ResourceStatus { name, amount, in_use } = resource;
        let all = amount_in_words(name, *amount);
        match in_use {
            0 => format!("{} {all}", plain(name)),
            _ => format!("{} {} of {all} in use", plain(name), amount_in_words(name, *in_use)),
        }
    };
    let all: Vec<String> = resources.iter().map(one).collect();
    if all.is_empty() { NONE.to_owned() } else { all.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdvm::samples;

    #[test]
    fn nodes_up_starting_down_and_leaving() {
        assert_eq!(render(&[]), "The DVM has no node.\n");
        insta::assert_snapshot!(render(&samples::nodes()) + &shared(&samples::status()));
        insta::assert_snapshot!(to_json(&samples::nodes(), &samples::moment()));
    }
}
