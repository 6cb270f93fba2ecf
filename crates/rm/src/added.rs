//! Nodes that a DVM gains or loses, as a command line lists them: added hosts with their slots; nodes that get a daemon
//! (`--activate`); names of leaving nodes. This module does not know which nodes exist.

use ferrite_types::{HostEntry, HostRef, SlotCount};
use thiserror::Error;

use crate::hostfile::parse_relative;
use crate::hostlist::{self, HostItem, HostListError, ItemSlots};
use crate::name::{self, BadName};

/// A host that is added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// Name, login, port and limit.
    pub host: HostEntry,
    /// Its slots; `+2` changes the existing number.
    pub slots: ItemSlots,
}

/// A part of `--activate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activated {
    /// `+all`.
    All,
    /// A name, or `+nK`.
    Node(HostRef),
    /// `file=PATH`.
    File(String),
}

/// An error in such a list. The caller names the option.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AddedError {
    /// The text is no list of hosts.
    #[error(transparent)]
    List(#[from] HostListError),
    /// `^n1`, `+e` or `+n1` in a list of hosts to add or remove.
    #[error("{0} names no host; only hosts by name can be added or leave")]
    NotByName(String),
    /// A host without slots: `n5:0`.
    #[error("{0} would be added without slots, so that nothing could run there; write {0}:4, or the name alone")]
    WithoutSlots(String),
    /// A number of slots of a leaving node: `n5:4`.
    #[error("{0} leaves as a whole: write its name alone, and once")]
    Whole(String),
    /// A bad name in `--activate`.
    #[error("{item:?}: {source}; write names, +nK for the K-th node, +all, or file=PATH")]
    Activated {
        /// The item.
        item: String,
        /// The flaw of the name.
        source: BadName,
    },
    /// `+e` or `+x` in `--activate`.
    #[error("{0:?} does not say which node; write names, +nK for the K-th node, +all, or file=PATH")]
    NotActivated(String),
    /// A number of slots in `--activate`: `n1:4`.
    #[error("{0:?}: slots are not said here, because the nodes of the allocation have theirs; write the name alone")]
    SlotsOfActivated(String),
}

/// Parses a list of hosts to add, as `n5,n6:4,n7:+2`.
///
/// # Errors
/// The first item that is wrong.
pub fn parse_list(list: &str) -> Result<Vec<Added>, AddedError> {
    let to_added = |item| match item {
        HostItem::Host { name, slots: ItemSlots::Given(0), .. } => Err(AddedError::WithoutSlots(name)),
        HostItem::Host { user, name, slots } => {
            Ok(Added { host: HostEntry { user, ..HostEntry::named(&name) }, slots })
        }
        other @ (HostItem::Relative(..) | HostItem::Empty(_) | HostItem::Exclude(_)) => {
            Err(AddedError::NotByName(other.to_string()))
        }
    };
    hostlist::parse(list)?.items.into_iter().map(to_added).collect()
}

/// Returns a host that several lists or files add.
#[must_use]
pub fn named_twice(hosts: &[Added]) -> Option<&Added> {
    let named = |at: &usize| hosts[..*at].iter().any(|one| one.host.name.eq_ignore_ascii_case(&hosts[*at].host.name));
    (0..hosts.len()).find(named).map(|at| &hosts[at])
}

/// Parses a list of nodes that leave, as `n5,n6`.
///
/// # Errors
/// The first item that is wrong.
pub fn parse_leaving(list: &str) -> Result<Vec<String>, AddedError> {
    let name = |item| match item {
        HostItem::Host { name, slots: ItemSlots::Unstated, user: None } => Ok(name),
        HostItem::Host { name, .. } => Err(AddedError::Whole(name)),
        other @ (HostItem::Relative(..) | HostItem::Empty(_) | HostItem::Exclude(_)) => {
            Err(AddedError::NotByName(other.to_string()))
        }
    };
    hostlist::parse(list)?.items.into_iter().map(name).collect()
}

/// Parses the value of `--activate`.
///
/// # Errors
/// The first item that is wrong.
pub fn parse_activate(spec: &str) -> Result<Vec<Activated>, AddedError> {
    spec.split(',').map(str::trim).map(parse_activated).collect()
}

fn parse_activated(item: &str) -> Result<Activated, AddedError> {
    if item.eq_ignore_ascii_case("+all") {
        return Ok(Activated::All);
    }
    if let Some(path) = item.strip_prefix("file=").filter(|path| !path.is_empty()) {
        return Ok(Activated::File(path.to_owned()));
    }
    let has_slots = !name::is_ipv6(item) && item.rfind(':') > item.rfind(']');
    match parse_relative(item.split(':').next().unwrap_or_default(), SlotCount::FromCores) {
        Some(Ok(HostRef::Relative(..))) | None if has_slots => Err(AddedError::SlotsOfActivated(item.to_owned())),
        Some(Ok(node @ HostRef::Relative(..))) => Ok(Activated::Node(node)),
        Some(_) => Err(AddedError::NotActivated(item.to_owned())),
        None => {
            let checked = name::check_host(item);
            let name = checked.map_err(|source| AddedError::Activated { item: item.to_owned(), source })?;
            Ok(Activated::Node(HostRef::Host(HostEntry::named(name))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_hosts_have_a_number_of_slots_or_a_change_of_it_or_all() {
        let slots = |list: &str| parse_list(list).unwrap().into_iter().map(|a| a.slots).collect::<Vec<_>>();
        let all =
            [ItemSlots::Unstated, ItemSlots::Given(4), ItemSlots::Adjust(2), ItemSlots::Adjust(-1), ItemSlots::All];
        assert_eq!(slots("n5,n6:4,me@n7:+2,n8:-1,n9:*"), all);
        assert_eq!(parse_list("me@n7").unwrap()[0].host.user.as_deref(), Some("me"));
    }

    #[test]
    fn what_names_no_host_cannot_be_added_or_leave() {
        let told = |list: &str| {
            let added = parse_list(list).map_or_else(|e| e.to_string(), |added| format!("{} hosts", added.len()));
            let leaving = parse_leaving(list).map_or_else(|e| e.to_string(), |names| names.join(" "));
            format!("{list:?}\n  {added}\n  {leaving}")
        };
        let lists =
            ["n5,n6", "n5,n5", "^n5", "+e", "+e:2", "+n1", "n5:0", "n5:2", "n5:+2", "me@n5", "n5,,n6", "", "n;5"];
        insta::assert_snapshot!(lists.map(told).join("\n"));
    }

    #[test]
    fn nodes_are_activated_by_name_by_position_from_a_file_or_all() {
        let told = |spec: &str| match parse_activate(spec) {
            Ok(parts) => format!("{spec:?}\n  {parts:?}"),
            Err(error) => format!("{spec:?}\n  {error}"),
        };
        let good = ["+all", "+ALL,n1", "+n2", "file=some/where", "[fe80::1],fe80::2"];
        let bad = ["", "n1,", "n1:4", "+n2:1", "[fe80::1]:2", "+e", "+e:2", "+x", "^n1", "file=", "me@n1", "-n1"];
        let all: Vec<String> = good.iter().chain(&bad).map(|spec| told(spec)).collect();
        insta::assert_snapshot!(all.join("\n"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(text in "\\PC{0,60}", spec in "([a-c0-9,:*+^@\\[\\]%-]|\\+all|file=|\\+e|\\+n|::1){0,30}") {
            for text in [&text, &spec] {
                let _ = (parse_list(text), parse_leaving(text), parse_activate(text));
            }
        }
    }
}
