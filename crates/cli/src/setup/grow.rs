//! Makes a grow request of the line and the files that it names.

use std::path::Path;

use ferrite_rm::added::named_twice;
use ferrite_rm::hostfile::{parse_activated, parse_added};
use ferrite_rm::hostlist::ItemSlots;
use ferrite_rm::{Activated, Added};
use ferrite_wire::{Activation, AddedHost, GrowRequest, SlotChange};

use super::SetupError;
use super::files::read;
use super::hosts::no_hosts;
use crate::args::{GrowAsk, UsageError};

/// Returns the request of a line; `None` = the line asks for no nodes. The caller adds allocation and terms.
///
/// # Errors
/// A file that cannot be read or understood, or a host that is added twice.
pub fn grow_request(ask: &GrowAsk, cwd: &Path) -> Result<Option<GrowRequest>, SetupError> {
    if ask.is_empty() {
        return Ok(None);
    }
    let hosts =
        added_hosts(ask, cwd)?.into_iter().map(|Added { host, slots }| AddedHost { host, slots: change(slots) });
    let activate = ask.activate.iter().map(|part| activation(part, cwd)).collect::<Result<_, _>>()?;
    Ok(Some(GrowRequest { hosts: hosts.collect(), activate, ..GrowRequest::default() }))
}

/// Returns all hosts that the line and its files add.
pub(super) fn added_hosts(ask: &GrowAsk, cwd: &Path) -> Result<Vec<Added>, SetupError> {
    let mut hosts = ask.hosts.clone();
    for file in &ask.hostfiles {
        let added = parse_added(file, &read("hostfile", &cwd.join(file))?)?;
        if added.is_empty() {
            return Err(no_hosts(file));
        }
        hosts.extend(added);
    }
    match named_twice(&hosts) {
        None => Ok(hosts),
        Some(twice) => Err(SetupError::Usage(UsageError::Conflict {
            what: format!("host {} is to be added twice, with different words", twice.host.name),
            next: "Name it once, in a list or in a file.".to_owned(),
        })),
    }
}

fn change(slots: ItemSlots) -> SlotChange {
    match slots {
        ItemSlots::Unstated | ItemSlots::All => SlotChange::Unstated,
        ItemSlots::Given(n) => SlotChange::Set(n),
        ItemSlots::Adjust(by) => SlotChange::Adjust(by),
    }
}

fn activation(part: &Activated, cwd: &Path) -> Result<Activation, SetupError> {
    Ok(match part {
        Activated::All => Activation::All,
        Activated::Node(node) => Activation::Nodes(vec![node.clone()]),
        Activated::File(file) => Activation::Nodes(parse_activated(file, &read("list of nodes", &cwd.join(file))?)?),
    })
}
