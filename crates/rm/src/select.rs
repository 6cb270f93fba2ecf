//! Selects the nodes of the pool that an app context may use: its hostfile and then its `--host` are filters. The head
//! calls this when it maps a job. Caps on slots apply to that job only.

use ferrite_types::{DaemonRank, HostEntry, HostRef, HostSelection, NodeRecord, NodeShare, SlotCount};
use thiserror::Error;

use crate::name::{NameIndex, is_loopback, numbered};

/// Rules for the names of hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Naming {
    /// The whole name counts (`prte_keep_fqdn_hostnames`).
    pub keep_fqdn: bool,
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

/// Resolves a selection against the nodes of the allocation, in the order in which the user named
/// them. Without a selection: every node that has a daemon.
///
/// `nodes` are the nodes of the job's allocation in its order, and no others, because `+nK` counts in it.
///
/// # Errors
/// The first requested host or node that is not there.
pub fn select(nodes: &[NodeRecord], selection: &HostSelection, naming: Naming) -> Result<Vec<NodeShare>, SelectError> {
    // The usual case needs no index of names, so that a one-process job in a large DVM is cheap.
    if selection.is_empty() {
        let ready = nodes.iter().filter(|node| node.daemon.is_some());
        return Ok(ready.map(|node| NodeShare { node: node.id, cap: None }).collect());
    }
    let chosen = Pool::new(nodes, naming).chosen(selection)?;
    Ok(chosen.iter().map(|c| NodeShare { node: nodes[c.at].id, cap: c.cap }).collect())
}

/// Returns the node of each line of a rankfile or sequence, among those that the selection allows.
///
/// # Errors
/// The first line whose host is not there.
pub fn select_places<'h>(
    nodes: &[NodeRecord],
    selection: &HostSelection,
    hosts: impl IntoIterator<Item = &'h HostRef>,
    naming: Naming,
) -> Result<Vec<NodeShare>, SelectError> {
    let pool = Pool::new(nodes, naming);
    let chosen = pool.chosen(selection)?;
    let place = |host: &HostRef| {
        let kept = pool.filter(&chosen, std::slice::from_ref(host), true)?;
        let nothing = || SelectError::NothingLeft { by: "a line", known: pool.names() };
        let first = kept.first().ok_or_else(nothing)?;
        Ok(NodeShare { node: nodes[first.at].id, cap: None })
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

struct Pool<'a> {
    nodes: &'a [NodeRecord],
    index: NameIndex,
    /// Position of the head's node, which loopback names mean, as on its own command line.
    head: Option<usize>,
    by_number: bool,
}

impl<'a> Pool<'a> {
    fn new(nodes: &'a [NodeRecord], naming: Naming) -> Pool<'a> {
        let mut index = NameIndex::new(naming.keep_fqdn);
        for (at, node) in nodes.iter().enumerate() {
            index.add(&node.name, at);
            node.aliases.iter().for_each(|alias| index.add(alias, at));
        }
        let head = nodes.iter().position(|n| n.daemon == Some(DaemonRank::HEAD));
        Pool { nodes, index, head, by_number: naming.by_number }
    }

    /// Returns the nodes that hostfile and `--host` allow.
    fn chosen(&self, selection: &HostSelection) -> Result<Vec<Choice>, SelectError> {
        let mut chosen: Vec<Choice> = (0..self.nodes.len()).map(Choice::whole).collect();
        for (by, refs) in [("the hostfile", &selection.hostfile), ("--host", &selection.hosts)] {
            if !refs.is_empty() {
                // Hosts of the hostfile that --host leaves out need no daemon.
                let is_last = by == "--host" || selection.hosts.is_empty();
                chosen = self.filter(&chosen, refs, is_last)?;
                if chosen.is_empty() {
                    return Err(SelectError::NothingLeft { by, known: self.names() });
                }
            }
        }
        Ok(chosen)
    }

    fn names(&self) -> String {
        some_of(self.nodes.iter().map(|n| n.name.as_str()))
    }

    fn position(&self, name: &str) -> Option<usize> {
        let head = || self.head.filter(|_| is_loopback(name));
        let number = || numbered(name, self.nodes.len()).filter(|_| self.by_number);
        self.index.find(name).or_else(head).or_else(number)
    }

    fn filter(&self, from: &[Choice], refs: &[HostRef], is_last: bool) -> Result<Vec<Choice>, SelectError> {
        let mut picked = Picked { kept: Vec::new(), place: vec![None; self.nodes.len()] };
        let mut left = vec![None; self.nodes.len()];
        for choice in from {
            left[choice.at] = Some(*choice);
        }
        self.refuse_unknown(refs, &left)?;
        for item in refs {
            match item {
                HostRef::Host(entry) if self.is_taken_back(&entry.name, refs) => {}
                HostRef::Host(entry) => {
                    picked.add(self.host(entry, &left, is_last)?, entry.slots);
                }
                HostRef::Relative(index, slots) => {
                    let at = *index as usize;
                    let count = self.nodes.len();
                    let beyond = SelectError::RelativeBeyondEnd { index: *index, count };
                    let choice =
                        left.get(at).ok_or(beyond)?.ok_or_else(|| self.unknown(&self.nodes[at].name, &left))?;
                    picked.add(choice, *slots);
                }
                HostRef::Empty(limit) => self.empty(*limit, &left, &mut picked)?,
                HostRef::Exclude(_) => {}
            }
        }
        if refs.iter().all(|item| matches!(item, HostRef::Exclude(_))) {
            from.iter().for_each(|choice| picked.add(*choice, SlotCount::FromCores));
        }
        for item in refs {
            if let HostRef::Exclude(name) = item
                && let Some(at) = self.position(name)
            {
                left[at] = None;
            }
        }
        picked.kept.retain(|choice| left[choice.at].is_some());
        Ok(picked.kept)
    }

    /// True when an item `^name` takes this host out again.
    fn is_taken_back(&self, host: &str, refs: &[HostRef]) -> bool {
        let excluded = |name: &str| match self.position(name) {
            Some(at) => self.position(host) == Some(at),
            None => name.eq_ignore_ascii_case(host),
        };
        refs.iter().any(|item| matches!(item, HostRef::Exclude(name) if excluded(name)))
    }

    /// Refuses all hosts that are not there in one message.
    fn refuse_unknown(&self, refs: &[HostRef], left: &[Option<Choice>]) -> Result<(), SelectError> {
        let is_there = |name: &str| self.position(name).is_some_and(|at| left[at].is_some());
        let mut unknown: Vec<&str> = Vec::new();
        for item in refs {
            if let HostRef::Host(HostEntry { name, .. }) = item
                && !is_there(name)
                && !unknown.contains(&name.as_str())
                && !self.is_taken_back(name, refs)
            {
                unknown.push(name);
            }
        }
        match unknown.is_empty() {
            true => Ok(()),
            false => Err(self.unknown(&some_of(unknown.into_iter()), left)),
        }
    }

    fn host(&self, entry: &HostEntry, left: &[Option<Choice>], is_last: bool) -> Result<Choice, SelectError> {
        let at = self.position(&entry.name);
        let choice = at.and_then(|at| left[at]).ok_or_else(|| self.unknown(&entry.name, left))?;
        if is_last && self.nodes[choice.at].daemon.is_none() {
            return Err(SelectError::NoDaemon { host: entry.name.clone() });
        }
        Ok(choice)
    }

    fn empty(&self, limit: Option<u32>, left: &[Option<Choice>], picked: &mut Picked) -> Result<(), SelectError> {
        let empty: Vec<Choice> = left
            .iter()
            .flatten()
            .filter(|c| self.nodes[c.at].slots_inuse == 0 && self.nodes[c.at].daemon.is_some())
            .filter(|c| picked.place[c.at].is_none())
            .copied()
            .collect();
        let take = limit.map_or(empty.len(), |n| n as usize);
        if take > empty.len() {
            return Err(SelectError::TooFewEmpty {
                asked: limit.unwrap_or_default(),
                found: empty.len(),
                count: self.nodes.len(),
            });
        }
        empty[..take].iter().for_each(|choice| picked.add(*choice, SlotCount::FromCores));
        Ok(())
    }

    fn unknown(&self, host: &str, left: &[Option<Choice>]) -> SelectError {
        let left = left.iter().flatten().map(|choice| self.nodes[choice.at].name.as_str());
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
struct Picked {
    kept: Vec<Choice>,
    place: Vec<Option<usize>>,
}

impl Picked {
    fn add(&mut self, choice: Choice, slots: SlotCount) {
        let asked = match slots {
            SlotCount::FromCores => None,
            SlotCount::Given(n) => Some(n),
        };
        match self.place[choice.at] {
            Some(place) => {
                let kept = &mut self.kept[place];
                kept.cap = kept.cap.zip(asked).map(|(a, b)| a.saturating_add(b));
            }
            None => {
                let cap = choice.cap.into_iter().chain(asked).min();
                self.place[choice.at] = Some(self.kept.len());
                self.kept.push(Choice { at: choice.at, cap });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ferrite_types::{NodeId, Topology};

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
        chosen_by(Naming::default(), file, hosts)
    }

    /// n0 to n3 with daemons, n4 without; something runs on n1.
    fn chosen_by(naming: Naming, file: &str, hosts: &str) -> String {
        let nodes: Vec<_> = (0..5).map(|i| node(i, u32::from(i == 1))).collect();
        let selection = HostSelection {
            hostfile: hostfile::parse("f", file).unwrap().refs(),
            hosts: if hosts.is_empty() { vec![] } else { hostlist::parse(hosts).unwrap().refs() },
        };
        match select(&nodes, &selection, naming) {
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
        let managed = Naming { by_number: true, ..Naming::default() };
        assert_eq!(chosen_by(managed, "", "3,1:2"), "n3 n1:2");
        assert_eq!(chosen_by(managed, "n0\nn1\nn2\n^1", "^0"), "n2");
        assert!(chosen_by(managed, "", "5").starts_with("host 5 is not among the nodes"));
        assert!(chosen("", "3").starts_with("host 3 is not among the nodes"));
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
