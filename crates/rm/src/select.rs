//! Selects the nodes of the pool that an app context may use: its hostfile and then its `--host` are filters. The head
//! calls this when it maps a job. Caps on slots apply to that job only.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::{DaemonRank, HostEntry, HostRef, HostSelection, NodeRecord, NodeShare, SlotCount};
use thiserror::Error;

use crate::name::{NameIndex, is_loopback, numbered};

/// The nodes of a job's allocation, and how they are named.
#[derive(Clone, Copy, Debug)]
pub struct Nodes<'a> {
    /// The nodes in the order of the allocation, and no others, because `+nK` counts in it.
    pub records: &'a [NodeRecord],
    /// The positions of these nodes by all their names.
    pub names: &'a NameIndex,
    /// In a resource manager's allocation a number that is no node's name counts nodes from 0, as `+nK` does.
    pub by_number: bool,
}

/// The reason why an app context has no nodes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SelectError {
    /// A name that is not in the pool, or not in the app's hostfile.
    #[error("{} not among the nodes that this application may use: {known}", hosts_are(host))]
    UnknownHost {
        /// The hosts, separated by commas.
        host: String,
        /// The known names.
        known: String,
    },
    /// A node that has no daemon.
    #[error(
        "host {host} has no daemon for this job (it has left, was lost or is reserved for others), so nothing can be started there; \
         `pdvm nodes` shows which nodes are up"
    )]
    NoDaemon {
        /// The host.
        host: String,
    },
    /// `+nK` beyond the end.
    #[error("+n{index} names a node beyond the end of the allocation, which has {count} (+n0 to +n{})", count.saturating_sub(1))]
    RelativeBeyondEnd {
        /// K.
        index: u32,
        /// Nodes in the allocation.
        count: usize,
    },
    /// `+e:N` with fewer empty nodes.
    #[error("+e:{asked} asks for {asked} empty nodes, but on all but {found} of the {count} nodes something runs")]
    TooFewEmpty {
        /// N.
        asked: u32,
        /// Empty nodes.
        found: usize,
        /// Nodes in the allocation.
        count: usize,
    },
    /// Hostfile and `--host` have no node in common, or all is excluded.
    #[error("no node of the allocation is left by {by}; the allocation has: {known}")]
    NothingLeft {
        /// `--host` or `the hostfile`.
        by: &'static str,
        /// The known names.
        known: String,
    },
}

/// Resolves a selection against the nodes of the allocation, in the order in which the user named them. Without a
/// selection: every node that has a daemon. Nodes that a list of hosts does not name cost nothing (spec L158).
///
/// # Errors
/// The first requested host or node that is not there.
pub fn select(nodes: Nodes<'_>, selection: &HostSelection) -> Result<Vec<NodeShare>, SelectError> {
    if selection.is_empty() {
        let ready = nodes.records.iter().filter(|node| node.daemon.is_some());
        return Ok(ready.map(|node| NodeShare { node: node.id, cap: None }).collect());
    }
    let chosen = nodes.chosen(selection)?;
    Ok(chosen.in_order().map(|c| NodeShare { node: nodes.records[c.at].id, cap: c.cap }).collect())
}

/// Returns the node of each line of a rankfile or sequence, among those that the selection allows.
///
/// # Errors
/// The first line whose host is not there.
pub fn select_places<'h>(
    nodes: Nodes<'_>,
    selection: &HostSelection,
    hosts: impl IntoIterator<Item = &'h HostRef>,
) -> Result<Vec<NodeShare>, SelectError> {
    let chosen = nodes.chosen(selection)?;
    let place = |host: &HostRef| {
        let kept = nodes.filter(&chosen, std::slice::from_ref(host), true)?;
        let nothing = || SelectError::NothingLeft { by: "a line", known: nodes.known() };
        let first = kept.first().ok_or_else(nothing)?;
        Ok(NodeShare { node: nodes.records[first.at].id, cap: None })
    };
    hosts.into_iter().map(place).collect()
}

/// A node by its position, and how many of its slots may be used.
#[derive(Clone, Copy)]
struct Choice {
    at: usize,
    cap: Option<u32>,
}

impl Choice {
    fn whole(at: usize) -> Choice {
        Choice { at, cap: None }
    }
}

/// The nodes from which a list of hosts may choose.
enum Left {
    /// The whole allocation, which has so many nodes.
    All(usize),
    /// The nodes that an earlier list has left, in its order and by their positions.
    Some(Vec<Choice>, BTreeMap<usize, Choice>),
}

impl Left {
    fn of(chosen: Vec<Choice>) -> Left {
        let by_position = chosen.iter().map(|choice| (choice.at, *choice)).collect();
        Left::Some(chosen, by_position)
    }

    fn get(&self, at: usize) -> Option<Choice> {
        match self {
            Left::All(count) => (at < *count).then(|| Choice::whole(at)),
            Left::Some(_, by_position) => by_position.get(&at).copied(),
        }
    }

    /// In the user's order.
    fn in_order(&self) -> impl Iterator<Item = Choice> + '_ {
        let (count, listed) = match self {
            Left::All(count) => (*count, &[][..]),
            Left::Some(listed, _) => (0, &listed[..]),
        };
        (0..count).map(Choice::whole).chain(listed.iter().copied())
    }

    /// In the order of the allocation.
    fn by_position(&self) -> Box<dyn Iterator<Item = Choice> + '_> {
        match self {
            Left::All(count) => Box::new((0..*count).map(Choice::whole)),
            Left::Some(_, by_position) => Box::new(by_position.values().copied()),
        }
    }
}

/// The hosts that items `^name` of a list take out again.
struct TakenBack<'r> {
    positions: BTreeSet<usize>,
    unknown: Vec<&'r str>,
}

impl<'r> TakenBack<'r> {
    fn of(refs: &'r [HostRef], nodes: Nodes<'_>) -> TakenBack<'r> {
        let mut taken = TakenBack { positions: BTreeSet::new(), unknown: Vec::new() };
        for item in refs {
            if let HostRef::Exclude(name) = item {
                match nodes.position(name) {
                    Some(at) => drop(taken.positions.insert(at)),
                    None => taken.unknown.push(name),
                }
            }
        }
        taken
    }

    /// True for a host with this name at this position.
    fn has(&self, at: Option<usize>, name: &str) -> bool {
        match at {
            Some(at) => self.positions.contains(&at),
            None => self.unknown.iter().any(|unknown| unknown.eq_ignore_ascii_case(name)),
        }
    }
}

impl Nodes<'_> {
    /// Returns the nodes that hostfile and `--host` allow.
    fn chosen(self, selection: &HostSelection) -> Result<Left, SelectError> {
        let mut left = Left::All(self.records.len());
        for (by, refs) in [("the hostfile", &selection.hostfile), ("--host", &selection.hosts)] {
            if !refs.is_empty() {
                // Hosts of the hostfile that --host leaves out need no daemon.
                let is_last = by == "--host" || selection.hosts.is_empty();
                let chosen = self.filter(&left, refs, is_last)?;
                if chosen.is_empty() {
                    return Err(SelectError::NothingLeft { by, known: self.known() });
                }
                left = Left::of(chosen);
            }
        }
        Ok(left)
    }

    fn known(self) -> String {
        some_of(self.records.iter().map(|n| n.name.as_str()))
    }

    fn position(self, name: &str) -> Option<usize> {
        // Loopback names mean the head's node, as on its own command line.
        let is_head = |node: &NodeRecord| node.daemon == Some(DaemonRank::HEAD);
        let head = || is_loopback(name).then(|| self.records.iter().position(is_head)).flatten();
        let number = || numbered(name, self.records.len()).filter(|_| self.by_number);
        self.names.find(name).or_else(head).or_else(number)
    }

    fn filter(self, from: &Left, refs: &[HostRef], is_last: bool) -> Result<Vec<Choice>, SelectError> {
        let taken_back = TakenBack::of(refs, self);
        self.refuse_unknown(refs, from, &taken_back)?;
        let mut picked = Picked::default();
        for item in refs {
            match item {
                HostRef::Host(entry) => {
                    let at = self.position(&entry.name);
                    if !taken_back.has(at, &entry.name) {
                        picked.add(self.host(entry, at, from, is_last)?, entry.slots);
                    }
                }
                HostRef::Relative(index, slots) => {
                    let at = *index as usize;
                    let beyond = SelectError::RelativeBeyondEnd { index: *index, count: self.records.len() };
                    let record = self.records.get(at).ok_or(beyond)?;
                    picked.add(from.get(at).ok_or_else(|| self.unknown(&record.name, from))?, *slots);
                }
                HostRef::Empty(limit) => self.empty(*limit, from, &mut picked)?,
                HostRef::Exclude(_) => {}
            }
        }
        if refs.iter().all(|item| matches!(item, HostRef::Exclude(_))) {
            from.in_order().for_each(|choice| picked.add(choice, SlotCount::FromCores));
        }
        picked.kept.retain(|choice| !taken_back.positions.contains(&choice.at));
        Ok(picked.kept)
    }

    /// Refuses all hosts that are not there in one message.
    fn refuse_unknown(self, refs: &[HostRef], left: &Left, taken_back: &TakenBack<'_>) -> Result<(), SelectError> {
        let (mut seen, mut unknown) = (BTreeSet::new(), Vec::new());
        for item in refs {
            if let HostRef::Host(HostEntry { name, .. }) = item {
                let at = self.position(name);
                let is_there = at.is_some_and(|at| left.get(at).is_some());
                if !is_there && !taken_back.has(at, name) && seen.insert(name) {
                    unknown.push(name.as_str());
                }
            }
        }
        match unknown.is_empty() {
            true => Ok(()),
            false => Err(self.unknown(&some_of(unknown.into_iter()), left)),
        }
    }

    fn host(self, entry: &HostEntry, at: Option<usize>, left: &Left, is_last: bool) -> Result<Choice, SelectError> {
        let choice = at.and_then(|at| left.get(at)).ok_or_else(|| self.unknown(&entry.name, left))?;
        if is_last && self.records[choice.at].daemon.is_none() {
            return Err(SelectError::NoDaemon { host: entry.name.clone() });
        }
        Ok(choice)
    }

    fn empty(self, limit: Option<u32>, left: &Left, picked: &mut Picked) -> Result<(), SelectError> {
        let is_empty = |c: &Choice| self.records[c.at].slots_inuse == 0 && self.records[c.at].daemon.is_some();
        let is_new = |c: &Choice| !picked.place.contains_key(&c.at);
        let empty: Vec<Choice> = left.by_position().filter(is_empty).filter(is_new).collect();
        let take = limit.map_or(empty.len(), |n| n as usize);
        if take > empty.len() {
            return Err(SelectError::TooFewEmpty {
                asked: limit.unwrap_or_default(),
                found: empty.len(),
                count: self.records.len(),
            });
        }
        empty[..take].iter().for_each(|choice| picked.add(*choice, SlotCount::FromCores));
        Ok(())
    }

    fn unknown(self, host: &str, left: &Left) -> SelectError {
        let left = left.by_position().map(|choice| self.records[choice.at].name.as_str());
        SelectError::UnknownHost { host: host.to_owned(), known: some_of(left) }
    }
}

fn hosts_are(hosts: &str) -> String {
    if hosts.contains(',') { format!("hosts {hosts} are") } else { format!("host {hosts} is") }
}

/// Lists the first few names, because a list of ten thousand cannot be read.
fn some_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = names.take(9).collect();
    if names.len() == 9 {
        names[8] = "...";
    }
    names.join(", ")
}

/// The picked nodes in the user's order; the slots of a node with several names add up.
#[derive(Default)]
struct Picked {
    kept: Vec<Choice>,
    /// The places in `kept` of nodes by their positions.
    place: BTreeMap<usize, usize>,
}

impl Picked {
    fn add(&mut self, choice: Choice, slots: SlotCount) {
        let asked = match slots {
            SlotCount::FromCores => None,
            SlotCount::Given(n) => Some(n),
        };
        match self.place.get(&choice.at).copied() {
            Some(place) => {
                let kept = &mut self.kept[place];
                kept.cap = kept.cap.zip(asked).map(|(a, b)| a.saturating_add(b));
            }
            None => {
                let cap = choice.cap.into_iter().chain(asked).min();
                self.place.insert(choice.at, self.kept.len());
                self.kept.push(Choice { at: choice.at, cap });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ferrite_types::{NodeId, Topology};
    use proptest::prelude::*;

    use super::*;
    use crate::{hostfile, hostlist};

    fn node(index: u32, inuse: u32) -> NodeRecord {
        NodeRecord {
            id: NodeId(index + 10),
            name: format!("n{index}"),
            aliases: vec![format!("10.0.0.{index}")],
            daemon: (index < 4).then_some(DaemonRank(index)),
            slots: 4,
            slots_given: true,
            max_slots: 0,
            slots_inuse: inuse,
            topology: Arc::new(Topology::default()),
        }
    }

    fn chosen(file: &str, hosts: &str) -> String {
        chosen_by(false, file, hosts)
    }

    /// n0 to n3 with daemons, n4 without; something runs on n1.
    fn chosen_by(by_number: bool, file: &str, hosts: &str) -> String {
        let records: Vec<_> = (0..5).map(|i| node(i, u32::from(i == 1))).collect();
        let nodes = Nodes { records: &records, names: &NameIndex::of(&records, false), by_number };
        let selection = HostSelection {
            hostfile: hostfile::parse("f", file).unwrap().refs(),
            hosts: if hosts.is_empty() { vec![] } else { hostlist::parse(hosts).unwrap().refs() },
        };
        match select(nodes, &selection) {
            Ok(shares) => shares
                .iter()
                .map(|s| match s.cap {
                    None => format!("n{}", s.node.0 - 10),
                    Some(cap) => format!("n{}:{cap}", s.node.0 - 10),
                })
                .collect::<Vec<_>>()
                .join(" "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn without_a_selection_every_node_with_a_daemon_is_used() {
        assert_eq!(chosen("", ""), "n0 n1 n2 n3");
    }

    #[test]
    fn the_users_order_is_kept_and_counts_are_caps() {
        assert_eq!(chosen("", "n3,n1:2"), "n3 n1:2");
        assert_eq!(chosen("n0 slots=3\nn2 slots=2", "n2:4,n0"), "n2:2 n0:3");
        assert_eq!(chosen("n4\nn1", "+n1"), "n1", "a host of the file that is not used needs no daemon");
    }

    #[test]
    fn a_node_that_is_named_in_two_ways_adds_up() {
        assert_eq!(chosen("", "n1:1,10.0.0.1:2"), "n1:3");
        assert_eq!(chosen("", "localhost"), "n0");
    }

    #[test]
    fn relative_empty_and_excluded_nodes_are_resolved_in_the_allocation() {
        assert_eq!(chosen("", "+n2,+n0:1"), "n2 n0:1");
        assert_eq!(chosen("", "+e"), "n0 n2 n3");
        assert_eq!(chosen("", "n2,+e:2"), "n2 n0 n3");
        assert_eq!(chosen("^n0\n^n4", ""), "n1 n2 n3");
        assert_eq!(chosen("n0\nn1\nn9\n^n1\n^n9", ""), "n0");
    }

    #[test]
    fn a_number_names_a_node_of_a_managers_allocation() {
        assert_eq!(chosen_by(true, "", "3,1:2"), "n3 n1:2");
        assert_eq!(chosen_by(true, "n0\nn1\nn2\n^1", "^0"), "n2");
        assert!(chosen_by(true, "", "5").starts_with("host 5 is not among the nodes"));
        assert!(chosen("", "3").starts_with("host 3 is not among the nodes"));
    }

    fn item() -> impl Strategy<Value = String> {
        let hosts = ["n0", "n1", "n2", "n3", "n4", "n9", "10.0.0.2", "localhost", "+n1", "+n3", "^n1", "^n2", "^n9"];
        (prop::sample::select(hosts.to_vec()), prop::sample::select(vec!["", ":1", ":2"]))
            .prop_map(|(host, slots)| if host.starts_with('^') { host.to_owned() } else { format!("{host}{slots}") })
    }

    proptest! {
        /// Nodes that a list does not name change nothing (spec L158).
        #[test]
        fn other_nodes_change_nothing(
            file in prop::collection::vec(item(), 0..4),
            hosts in prop::collection::vec(item(), 1..4),
        ) {
            let refs = |items: &[String]| match items.is_empty() {
                true => Vec::new(),
                false => hostlist::parse(&items.join(",")).unwrap().refs(),
            };
            let selection = HostSelection { hostfile: refs(&file), hosts: refs(&hosts) };
            let names_some = |items: &[String]| items.iter().any(|item| !item.starts_with('^'));
            prop_assume!(names_some(&file) || names_some(&hosts));
            let found = [5, 9].map(|count| {
                let records: Vec<_> = (0..count).filter(|at| count == 9 || *at < 5).map(|i| {
                    // n9 is never there.
                    let other = if i < 5 { i } else { i + 100 };
                    NodeRecord { id: NodeId(i), ..node(other, 0) }
                }).collect();
                let nodes = Nodes { records: &records, names: &NameIndex::of(&records, false), by_number: false };
                select(nodes, &selection).ok()
            });
            prop_assert_eq!(&found[0], &found[1]);
        }
    }

    #[test]
    fn each_refusal_names_what_is_not_there() {
        let all = [
            chosen("", "n7"),
            chosen("", "n7,n1,n8"),
            chosen("n0\nn1", "n2"),
            chosen("", "n4"),
            chosen("", "+n5"),
            chosen("", "+e:4"),
            chosen("n0\n^n0", ""),
        ];
        insta::assert_snapshot!(all.join("\n"));
    }
}
