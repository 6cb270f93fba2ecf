//! The content of a picture before it is drawn: groups of equal nodes, and for each processor the ranks bound there.

use std::collections::BTreeMap;
use std::rc::Rc;

use ferrite_types::{CpuSet, JobMap, Placement, PlacementTexts, Rank, Topology};

use super::Subject;
use super::names::{hosts, ranges};
use super::tree::Tree;
use crate::display::{self, Node};

/// More nodes than this are drawn by kinds.
const MOST_NODES: usize = 64;
/// The most processors that are drawn one by one, so that an image has at most a few megabytes.
const MOST_UNITS: usize = 8192;
/// The most parts of a list of names or ranks.
pub(super) const SPELT: usize = 12;

/// The content of a picture.
pub(super) struct Scene<'a> {
    pub(super) subject: Subject<'a>,
    /// One for each app.
    pub(super) apps: Vec<App>,
    /// The groups that are drawn.
    pub(super) groups: Vec<Group<'a>>,
    /// The groups that did not fit.
    pub(super) rest: Option<Rest>,
}

/// An app of the job.
pub(super) struct App {
    pub(super) program: String,
    pub(super) ranks: usize,
    pub(super) policy: PlacementTexts,
}

/// Nodes that are equal and have equally bound processes.
pub(super) struct Group<'a> {
    /// The first of them, which is drawn.
    pub(super) node: Node<'a>,
    pub(super) names: Vec<&'a str>,
    /// All ranks on all of them, ascending.
    pub(super) ranks: Vec<u32>,
    pub(super) tree: Rc<Tree>,
    /// The processes that are bound to each unit of the first node.
    pub(super) crowds: Vec<Crowd>,
    /// Ranks of the first node that are not bound.
    pub(super) unbound: Crowd,
    /// Ranks of the first node that are bound to processors that its topology does not have.
    pub(super) elsewhere: Crowd,
    /// Devices of the first node with the processes that got them; empty when no process got any.
    pub(super) devices: Vec<(&'a str, Crowd)>,
}

/// Ranks, ascending.
pub(super) type Crowd = Vec<Rank>;

/// Nodes that are not drawn.
pub(super) struct Rest {
    pub(super) nodes: usize,
    pub(super) names: String,
    pub(super) ranks: String,
}

impl<'a> Scene<'a> {
    /// Makes the content of a picture, with what fits.
    pub(super) fn of(subject: &Subject<'a>) -> Scene<'a> {
        let mut trees = Trees::default();
        let nodes = display::by_node(subject.map, subject.nodes);
        let units: usize = nodes.iter().map(|node| trees.of(node.topology()).1.units).sum();
        let fold = nodes.len() > MOST_NODES || units > MOST_UNITS;
        let mut scene = Scene::grouped(subject, nodes, &mut trees, fold);
        scene.cut();
        scene
    }

    /// Makes a group for each node, or for each kind of nodes when there are more than `most`.
    pub(super) fn folded(subject: &Subject<'a>, most: usize) -> Scene<'a> {
        let nodes = display::by_node(subject.map, subject.nodes);
        let fold = nodes.len() > most;
        let mut scene = Scene::grouped(subject, nodes, &mut Trees::default(), fold);
        scene.keep(most);
        scene
    }

    fn grouped(subject: &Subject<'a>, nodes: Vec<Node<'a>>, trees: &mut Trees<'a>, fold: bool) -> Scene<'a> {
        let map = subject.map;
        let mut found: BTreeMap<Key<'a>, usize> = BTreeMap::new();
        let mut groups: Vec<Group<'a>> = Vec::new();
        for node in nodes {
            let (topology, tree) = trees.of(node.topology());
            if fold {
                let key = (topology, node.slots(), node.max_slots(), pattern(map, &node));
                let at = *found.entry(key).or_insert(groups.len());
                if let Some(group) = groups.get_mut(at) {
                    group.names.push(node.name);
                    group.ranks.extend(node.ranks.iter().map(|rank| rank.0));
                    continue;
                }
            }
            groups.push(Group::of(map, node, tree));
        }
        groups.iter_mut().for_each(|group| group.ranks.sort_unstable());
        Scene { subject: *subject, apps: apps(subject), groups, rest: None }
    }

    /// Leaves out groups that do not fit; never the first one.
    fn cut(&mut self) {
        let mut units = 0;
        let fits = |group: &&Group<'_>| {
            units += group.tree.units;
            units <= MOST_UNITS
        };
        let fit = self.groups.iter().take(MOST_NODES).take_while(fits).count();
        self.keep(fit);
    }

    fn keep(&mut self, most: usize) {
        let rest = self.groups.split_off(most.max(1).min(self.groups.len()));
        if rest.is_empty() {
            return;
        }
        let names: Vec<&str> = rest.iter().flat_map(|group| group.names.iter().copied()).collect();
        let mut ranks: Vec<u32> = rest.iter().flat_map(|group| group.ranks.iter().copied()).collect();
        ranks.sort_unstable();
        self.rest = Some(Rest { nodes: names.len(), names: hosts(&names, SPELT), ranks: ranges(&ranks, SPELT) });
    }
}

/// The differences between the drawings of two nodes, except names and rank numbers.
type Key<'a> = (usize, u32, u32, Vec<(u16, Option<&'a CpuSet>, &'a [u16])>);

fn pattern<'a>(map: &'a JobMap, node: &Node<'_>) -> Vec<(u16, Option<&'a CpuSet>, &'a [u16])> {
    let each = node.ranks.iter().map(|rank| &map.procs[rank.0 as usize]);
    each.map(|Placement { app, cpus, devices, .. }| (*app, cpus.as_ref(), devices.as_slice())).collect()
}

fn apps(subject: &Subject<'_>) -> Vec<App> {
    let count = subject.map.procs.iter().map(|placement| usize::from(placement.app) + 1).max().unwrap_or(0);
    let mut apps: Vec<App> = (0..count.max(subject.programs.len()))
        .map(|app| App {
            program: subject.programs.get(app).cloned().unwrap_or_default(),
            ranks: 0,
            policy: subject.map.policy(app as u16).cloned().unwrap_or_default(),
        })
        .collect();
    subject.map.procs.iter().for_each(|placement| apps[usize::from(placement.app)].ranks += 1);
    apps
}

impl<'a> Group<'a> {
    fn of(map: &'a JobMap, node: Node<'a>, tree: Rc<Tree>) -> Group<'a> {
        let devices = if node.ranks.iter().any(|rank| !map.procs[rank.0 as usize].devices.is_empty()) {
            node.topology().devices.iter().map(|device| (device.name.as_str(), Crowd::new())).collect()
        } else {
            Vec::new()
        };
        let mut group = Group {
            names: vec![node.name],
            ranks: node.ranks.iter().map(|rank| rank.0).collect(),
            crowds: vec![Crowd::new(); tree.units],
            unbound: Crowd::new(),
            elsewhere: Crowd::new(),
            devices,
            tree,
            node,
        };
        group.place_ranks(map);
        group
    }

    /// Puts each rank to its processors and devices.
    fn place_ranks(&mut self, map: &JobMap) {
        let unit_of = unit_of(&self.tree);
        for rank in &self.node.ranks {
            let placement = &map.procs[rank.0 as usize];
            for at in &placement.devices {
                if let Some((_, crowd)) = self.devices.get_mut(usize::from(*at)) {
                    crowd.push(*rank);
                }
            }
            let Some(cpus) = &placement.cpus else {
                self.unbound.push(*rank);
                continue;
            };
            let mut is_drawn = false;
            for unit in cpus.iter().filter_map(|cpu| unit_of.get(&cpu)) {
                is_drawn = true;
                let crowd = &mut self.crowds[*unit];
                if crowd.last() != Some(rank) {
                    crowd.push(*rank);
                }
            }
            if !is_drawn {
                self.elsewhere.push(*rank);
            }
        }
    }
}

/// Returns the unit of each processor.
fn unit_of(tree: &Tree) -> BTreeMap<u32, usize> {
    let units = tree.cores().into_iter().flat_map(|core| &core.units);
    units.flat_map(|unit| unit.cpus.iter().map(|cpu| (cpu, unit.at))).collect()
}

/// One tree for each kind of nodes.
#[derive(Default)]
struct Trees<'a>(Vec<(&'a Topology, Rc<Tree>)>);

impl<'a> Trees<'a> {
    /// Returns the number of the kind, and its tree.
    fn of(&mut self, topology: &'a Topology) -> (usize, Rc<Tree>) {
        // The latest kind is compared first: nodes of a kind follow each other, and mostly share their topology.
        let same = |known: &Topology| std::ptr::eq(known, topology) || known == topology;
        let at = self.0.iter().rposition(|(known, _)| same(known)).unwrap_or_else(|| {
            self.0.push((topology, Rc::new(Tree::of(topology))));
            self.0.len() - 1
        });
        (at, self.0[at].1.clone())
    }
}
