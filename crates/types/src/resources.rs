//! Resources that are counted across jobs: memory and what a site names of nodes (`fpga`, `scratch`), and what the
//! nodes of a DVM share (`licence`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Amounts of resources by their names; those of [`MEMORY`] in bytes.
pub type Amounts = BTreeMap<String, u64>;

/// The resource that each node has whose memory is known (bytes).
pub const MEMORY: &str = "mem";

/// What stands before the name of a resource that all nodes of the DVM share. No name of a resource has a colon, and
/// names of nodes stand behind an `@` only.
const OF_DVM: &str = "dvm";
/// What stands behind an amount that a job takes once, however many processes it has.
const PER_JOB: &str = "/job";

/// The most resources in one list.
const MOST: usize = 64;
/// The longest name (bytes).
const LONGEST: usize = 64;

/// Why a text is no list of resources.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResourceError {
    /// An item without a name or an amount.
    #[error("{0:?} is not NAME=AMOUNT")]
    NoAmount(String),
    /// A name with other characters than letters, digits, `_`, `-` and `.`, or a longer one than 64 bytes.
    #[error("{0:?} is no name of a resource: letters, digits, _, - and . make one, 64 at most")]
    BadName(String),
    /// An amount that is no number.
    #[error("{amount:?} is no amount of {name}: {} of at least {least}", amount_words(name))]
    BadAmount {
        /// The resource.
        name: String,
        /// The amount.
        amount: String,
        /// The least that it may be.
        least: u64,
    },
    /// Two amounts of one resource.
    #[error("{0} stands there twice")]
    Twice(String),
    /// More resources than one list may have.
    #[error("there are more than {MOST} resources")]
    TooMany,
    /// `@` without a node.
    #[error("{0:?} names no node behind the @")]
    NoNode(String),
    /// A colon behind something else than `dvm`.
    #[error("{0:?}: only dvm: may stand before a name, for what all nodes share")]
    BadScope(String),
    /// A node for what all nodes share.
    #[error("{0:?} names a node, and dvm: is for what all nodes share")]
    NodeOfDvm(String),
    /// Memory that all nodes share.
    #[error("{0:?}: memory belongs to nodes; leave out dvm:")]
    MemoryOfDvm(String),
    /// A resource of nodes and of the whole DVM.
    #[error("{0} stands there for nodes and for the whole DVM (dvm:)")]
    Both(String),
}

fn amount_words(name: &str) -> &'static str {
    match name {
        MEMORY => "it is a number of bytes, also with K, M, G or T behind it,",
        _ => "it is a whole number",
    }
}

/// What a site has, as the parameter `ferrite_resources` states it: `fpga=2,scratch=100@n1,dvm:licence=8`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteResources {
    /// What each node has.
    every: Amounts,
    /// What single nodes have instead, by the names of the nodes.
    of: BTreeMap<String, Amounts>,
    /// What all nodes of the DVM share.
    shared: Amounts,
}

impl SiteResources {
    /// Parses a list of `NAME=AMOUNT`, which each node has, `NAME=AMOUNT@NODE`, which holds for that node instead, and
    /// `dvm:NAME=AMOUNT`, which all nodes of the DVM share.
    ///
    /// # Errors
    /// An item that is none of these, an amount that is no number, an item that stands there twice, and a resource
    /// that is stated for nodes and for the DVM.
    pub fn parse(text: &str) -> Result<SiteResources, ResourceError> {
        let mut site = SiteResources::default();
        for item in items(text) {
            if let Some((scope, what)) = item.split_once(':').filter(|(scope, _)| !scope.contains('@')) {
                site.add_shared(item, scope, what)?;
                continue;
            }
            let (what, node) = match item.split_once('@') {
                None => (item, None),
                Some((_, "")) => return Err(ResourceError::NoNode(item.to_owned())),
                Some((what, node)) => (what, Some(node)),
            };
            let amounts = node.map_or(&mut site.every, |node| site.of.entry(node.to_owned()).or_default());
            add(amounts, what, 0)?;
        }
        let of_nodes = site.of.values().chain([&site.every]).flat_map(Amounts::keys);
        let both = of_nodes.into_iter().find(|name| site.shared.contains_key(*name)).cloned();
        both.map_or(Ok(site), |name| Err(ResourceError::Both(name)))
    }

    fn add_shared(&mut self, item: &str, scope: &str, what: &str) -> Result<(), ResourceError> {
        if scope != OF_DVM {
            return Err(ResourceError::BadScope(item.to_owned()));
        }
        if what.contains('@') {
            return Err(ResourceError::NodeOfDvm(item.to_owned()));
        }
        if what.split('=').next() == Some(MEMORY) {
            return Err(ResourceError::MemoryOfDvm(item.to_owned()));
        }
        add(&mut self.shared, what, 0)
    }

    /// What all nodes of the DVM share (spec L151).
    #[must_use]
    pub fn shared(&self) -> &Amounts {
        &self.shared
    }

    /// The amount of a resource that a node with these names has; `None` = nothing is stated of it.
    pub fn amount<'a>(&self, resource: &str, mut names: impl Iterator<Item = &'a str>) -> Option<u64> {
        let own = names.find_map(|name| self.of.get(name)?.get(resource));
        own.or_else(|| self.every.get(resource)).copied()
    }

    /// The names of all resources of nodes.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.of.values().chain([&self.every]).flatten().map(|(name, _)| &**name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// What the processes of an application take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Takes {
    /// What each process takes.
    pub each: Amounts,
    /// What they take together, however many they are, of what all nodes of the DVM share.
    pub once: Amounts,
}

/// Parses what an application takes: a list of `NAME=AMOUNT` for each process and `NAME=AMOUNT/job` for all of them
/// together, with amounts of at least 1.
///
/// # Errors
/// An item that is something else, and a name that stands there twice.
pub fn parse_takes(text: &str) -> Result<Takes, ResourceError> {
    let mut takes = Takes::default();
    for item in items(text) {
        match item.strip_suffix(PER_JOB) {
            None => add(&mut takes.each, item, 1)?,
            Some(item) => add(&mut takes.once, item, 1)?,
        }
    }
    match takes.each.keys().find(|name| takes.once.contains_key(*name)) {
        Some(name) => Err(ResourceError::Twice(name.clone())),
        None => Ok(takes),
    }
}

/// Parses a number of bytes, with K, M, G or T behind it for powers of 1,024 (`4G`, `512MB`, `1.5GiB`).
#[must_use]
pub fn parse_bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let power = match unit.to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 1,
        "M" | "MB" | "MIB" => 2,
        "G" | "GB" | "GIB" => 3,
        "T" | "TB" | "TIB" => 4,
        _ => return None,
    };
    let unit = 1024u64.pow(power);
    match number.split_once('.') {
        None => number.parse::<u64>().ok()?.checked_mul(unit),
        Some((whole, part)) if power > 0 && (1..=6).contains(&part.len()) => {
            let part = part.parse::<u64>().ok()?.checked_mul(unit)? / 10u64.pow(part.len() as u32);
            whole.parse::<u64>().ok()?.checked_mul(unit)?.checked_add(part)
        }
        Some(_) => None,
    }
}

/// An amount for people: bytes of memory with their unit, other resources as a number.
#[must_use]
pub fn amount_in_words(resource: &str, amount: u64) -> String {
    if resource != MEMORY {
        return amount.to_string();
    }
    let mut power = 0;
    while power < 4 && amount >= 1024u64.pow(power + 1) {
        power += 1;
    }
    let unit = ["B", "KiB", "MiB", "GiB", "TiB"][power as usize];
    let one = 1024u64.pow(power);
    match amount % one {
        0 => format!("{} {unit}", amount / one),
        _ => format!("{:.1} {unit}", amount as f64 / one as f64),
    }
}

/// The amounts that each process takes, for people: `fpga=1 and mem=4 GiB`.
#[must_use]
pub fn amounts_in_words(amounts: &Amounts) -> String {
    let one = |(name, amount): (&String, &u64)| named_amount(name, *amount);
    amounts.iter().map(one).collect::<Vec<_>>().join(" and ")
}

/// A resource with its amount, for people: `fpga=2`, `mem=4 GiB`.
#[must_use]
pub fn named_amount(resource: &str, amount: u64) -> String {
    format!("{resource}={}", amount_in_words(resource, amount))
}

fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

fn add(amounts: &mut Amounts, item: &str, least: u64) -> Result<(), ResourceError> {
    let (name, amount) = item.split_once('=').ok_or_else(|| ResourceError::NoAmount(item.to_owned()))?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if name.is_empty() || name.len() > LONGEST || !name.chars().all(is_part) {
        return Err(ResourceError::BadName(name.to_owned()));
    }
    let number = if name == MEMORY { parse_bytes(amount) } else { amount.parse().ok() };
    let bad = || ResourceError::BadAmount { name: name.to_owned(), amount: amount.to_owned(), least };
    let number = number.filter(|number| *number >= least).ok_or_else(bad)?;
    if amounts.insert(name.to_owned(), number).is_some() {
        return Err(ResourceError::Twice(name.to_owned()));
    }
    if amounts.len() > MOST { Err(ResourceError::TooMany) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_memory_have_units_and_others_are_numbers() {
        let amounts = parse_takes("fpga=2, mem=1.5G").unwrap().each;
        assert_eq!(amounts, Amounts::from([("fpga".to_owned(), 2), (MEMORY.to_owned(), 1_610_612_736)]));
        let bytes = ["512", "4k", "1MiB", "2TB", "0.5K"].map(parse_bytes);
        assert_eq!(bytes, [Some(512), Some(4096), Some(1 << 20), Some(2 << 40), Some(512)]);
        let bad = ["", "-1", "4X", "1.5", "1.G", "1.1234567G", "99999999999T", "G"].map(parse_bytes);
        assert_eq!(bad, [None; 8]);
        let words = [(MEMORY, 512), (MEMORY, 4 << 30), (MEMORY, 1_610_612_736), ("fpga", 4096)];
        let words = words.map(|(name, amount)| amount_in_words(name, amount));
        assert_eq!(words, ["512 B", "4 GiB", "1.5 GiB", "4096"]);
    }

    #[test]
    fn what_is_no_list_of_resources_is_refused_by_name() {
        let refused = |text: &str| parse_takes(text).unwrap_err().to_string();
        assert_eq!(
            ["fpga", "=1", "a b=1", "fpga=x", "fpga=0", "mem=4X", "fpga=1,fpga=2", "licence=1,licence=2/job"]
                .map(refused),
            [
                "\"fpga\" is not NAME=AMOUNT",
                "\"\" is no name of a resource: letters, digits, _, - and . make one, 64 at most",
                "\"a b\" is no name of a resource: letters, digits, _, - and . make one, 64 at most",
                "\"x\" is no amount of fpga: it is a whole number of at least 1",
                "\"0\" is no amount of fpga: it is a whole number of at least 1",
                "\"4X\" is no amount of mem: it is a number of bytes, also with K, M, G or T behind it, of at least 1",
                "fpga stands there twice",
                "licence stands there twice",
            ]
        );
        let many: Vec<String> = (0..=MOST).map(|n| format!("r{n}=1")).collect();
        assert_eq!(parse_takes(&many.join(",")), Err(ResourceError::TooMany));
        assert_eq!(SiteResources::parse("fpga=1@"), Err(ResourceError::NoNode("fpga=1@".to_owned())));
    }

    #[test]
    fn a_node_has_what_is_said_of_it_before_what_is_said_of_all() {
        let site = SiteResources::parse("fpga=2,fpga=0@n1,scratch=100@n2").unwrap();
        let of = |resource: &str, node: &'static str| site.amount(resource, ["other", node].into_iter());
        assert_eq!([of("fpga", "n0"), of("fpga", "n1"), of("fpga", "n2")], [Some(2), Some(0), Some(2)]);
        assert_eq!([of("scratch", "n0"), of("scratch", "n2"), of("gpu", "n0")], [None, Some(100), None]);
        assert_eq!(site.names(), ["fpga", "scratch"]);
        assert_eq!(SiteResources::parse("fpga=1@n0,fpga=2@n0"), Err(ResourceError::Twice("fpga".to_owned())));
    }

    #[test]
    fn what_all_nodes_share_is_never_taken_for_a_node() {
        let site = SiteResources::parse("fpga=2,dvm:licence=8,scratch=1@dvm").unwrap();
        assert_eq!(site.shared(), &Amounts::from([("licence".to_owned(), 8)]));
        assert_eq!(site.names(), ["fpga", "scratch"]);
        assert_eq!(site.amount("licence", ["dvm"].into_iter()), None);
        assert_eq!(site.amount("scratch", ["dvm"].into_iter()), Some(1));
        let refused = |text: &str| SiteResources::parse(text).unwrap_err().to_string();
        assert_eq!(
            [
                "all:licence=8",
                "dvm:licence=8@n1",
                "dvm:mem=4G",
                "licence=1@n0,dvm:licence=8",
                "dvm:a=1,dvm:a=2",
                "dvm:a"
            ]
            .map(refused),
            [
                "\"all:licence=8\": only dvm: may stand before a name, for what all nodes share",
                "\"dvm:licence=8@n1\" names a node, and dvm: is for what all nodes share",
                "\"dvm:mem=4G\": memory belongs to nodes; leave out dvm:",
                "licence stands there for nodes and for the whole DVM (dvm:)",
                "a stands there twice",
                "\"a\" is not NAME=AMOUNT",
            ]
        );
    }

    #[test]
    fn an_application_takes_for_each_process_and_once() {
        let takes = parse_takes("fpga=1,licence=2/job").unwrap();
        assert_eq!(
            (amounts_in_words(&takes.each), amounts_in_words(&takes.once)),
            ("fpga=1".to_owned(), "licence=2".to_owned())
        );
    }
}
