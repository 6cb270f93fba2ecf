//! The nodes of a job map while ranks and processors are handed out.

use std::rc::Rc;

use ferrite_types::{BindTo, CpuSet, JobMap, JobNode, LocalRank, NodeRecord, Placement};

use crate::app::App;
use crate::bind::Binder;
use crate::candidate::Candidate;
use crate::device_use::DeviceUse;
use crate::occupancy::Occupancy;
use crate::placement_policy::{Mapper, PlacementPolicy};
use crate::shape::Shape;
use crate::shapes::Shapes;
use crate::units::Units;

/// The nodes of the map so far, by the index of their candidate.
pub(crate) struct MappedNodes<'a> {
    occupancy: &'a Occupancy,
    nodes: Vec<Option<MappedNode<'a>>>,
    /// The shape of each candidate for the app at hand; candidates that it does not use have none.
    shapes: Vec<Option<Rc<Shape>>>,
    /// Shapes that are known already, perhaps for the policy of the only app.
    known: Option<Shapes<'a>>,
}

/// A node of the job map.
pub(crate) struct MappedNode<'a> {
    /// Its index in the map.
    node: u32,
    shape: Rc<Shape>,
    binder: Binder,
    node_ranks: Box<dyn Iterator<Item = LocalRank> + 'a>,
    ranked: u16,
    /// Processors that earlier apps are bound to.
    used: CpuSet,
    /// The devices of processes so far.
    devices: DeviceUse,
    /// True when a default binding did not fit.
    overflowed: bool,
}

impl<'a> MappedNodes<'a> {
    /// `known` are shapes of a job with one app.
    pub(crate) fn new(occupancy: &'a Occupancy, candidates: usize, known: Option<Shapes<'a>>) -> MappedNodes<'a> {
        MappedNodes { occupancy, nodes: (0..candidates).map(|_| None).collect(), shapes: vec![None; candidates], known }
    }

    /// Makes the shapes for an app: one for each distinct machine with the same processors and devices taken.
    pub(crate) fn open(&mut self, candidates: &[Candidate<'a>], app: &App<'a>) {
        // The app may have lost its default binding since they were made.
        let known = self.known.take().filter(|known| *known.policy() == app.policy);
        let mut known = known.unwrap_or_else(|| Shapes::new(app.policy.clone(), app.lists));
        self.shapes.fill(None);
        for &(candidate, _) in &app.places {
            if self.shapes[candidate].is_some() {
                continue;
            }
            let record = candidates[candidate].record;
            let shares = app.lists.shares_devices;
            let mut taken = self.occupancy.taken(record.id, shares);
            if let Some(node) = &self.nodes[candidate] {
                taken.cpus.union_with(&node.used);
                node.devices.add_closed_to(shares, &mut taken.devices);
            }
            self.shapes[candidate] = Some(known.of(record, taken));
        }
        for (node, shape) in self.nodes.iter_mut().zip(&self.shapes) {
            let Some(node) = node else { continue };
            // This also applies to nodes without a process of this app: what did not fit there was another app's.
            node.overflowed = false;
            if let Some(shape) = shape {
                node.binder = Binder::new(shape);
                node.shape = shape.clone();
            }
        }
    }

    /// Returns the machine of a candidate, as the app at hand sees it.
    pub(crate) fn shape(&self, candidate: usize) -> &Shape {
        self.shapes[candidate].as_ref().expect("shapes were made for all nodes of the app")
    }

    /// Returns the mapped node of a candidate; a candidate that has none becomes the next node of the map.
    pub(crate) fn at(&mut self, candidate: usize, record: &NodeRecord, map: &mut JobMap) -> &mut MappedNode<'a> {
        let shape = self.shapes[candidate].clone().expect("shapes were made for all nodes of the app");
        let occupancy = self.occupancy;
        self.nodes[candidate].get_or_insert_with(|| {
            map.nodes.push(job_node(record));
            MappedNode {
                node: map.nodes.len() as u32 - 1,
                binder: Binder::new(&shape),
                shape,
                node_ranks: Box::new(occupancy.free_ranks(record.id)),
                ranked: 0,
                used: CpuSet::new(),
                devices: DeviceUse::default(),
                overflowed: false,
            }
        })
    }

    /// Returns the mapped node of a candidate that was given processes.
    pub(crate) fn taken(&mut self, candidate: usize) -> &mut MappedNode<'a> {
        self.nodes[candidate].as_mut().expect("its processes were dealt to it")
    }

    /// True when a default binding did not fit on some node.
    pub(crate) fn overflowed(&self) -> bool {
        self.nodes.iter().flatten().any(|node| node.overflowed)
    }

    /// Keeps the processors of the app at hand from the apps that follow.
    pub(crate) fn remember(&mut self, policy: &PlacementPolicy, candidates: &[Candidate<'a>]) {
        let whole = policy.pes.is_some();
        for ((node, shape), candidate) in self.nodes.iter_mut().zip(&self.shapes).zip(candidates) {
            if let (Some(node), Some(shape)) = (node, shape)
                && policy.bind != BindTo::None
            {
                let mut busy = self.occupancy.busy(candidate.record.id);
                busy.union_with(&node.used);
                let units = Units::new(&candidate.record.topology, policy.unit, &busy);
                node.used.union_with(&node.binder.used(shape, &units, whole));
            }
        }
    }
}

impl MappedNode<'_> {
    /// Returns the object of each of `count` processes.
    pub(crate) fn deal(&self, map: Mapper, count: u32) -> Vec<u32> {
        let order = &self.shape.deal;
        match map {
            Mapper::Object(_) | Mapper::Device if !order.is_empty() => {
                (0..count).map(|k| order[k as usize % order.len()]).collect()
            }
            Mapper::PerObject(per, _) | Mapper::PerDevice(per, _) => (0..count).map(|k| k / per).collect(),
            _ => vec![0; count as usize],
        }
    }

    /// Places the next process here; `None` when the binding that was asked for has no room for it.
    pub(crate) fn place_next(&mut self, app: &App<'_>, number: u16, object: u32) -> Option<Placement> {
        let policy = &app.policy;
        let cpus = match policy.bind {
            BindTo::Object(_) if !self.overflowed => {
                match self.binder.bind(&self.shape, object, policy.overload, policy.limit) {
                    // Processors that earlier apps have taken are not for this one, unless the object has no others.
                    Ok(cpus) => {
                        Some(cpus.difference(&self.used)).filter(|left| !left.is_empty()).or(Some(cpus.clone()))
                    }
                    Err(_) if policy.bind_soft => {
                        self.overflowed = true;
                        None
                    }
                    Err(_) => return None,
                }
            }
            _ => None,
        };
        let devices = self.shape.devices.get(object as usize).cloned().unwrap_or_default();
        self.devices.add(&devices, app.lists.shares_devices);
        Some(self.placement(number, cpus, devices))
    }

    /// Places the next process here, bound to these processors whatever the policy.
    pub(crate) fn place_bound(&mut self, app: u16, cpus: CpuSet) -> Placement {
        self.placement(app, Some(cpus), Vec::new())
    }

    /// Returns the processors that earlier processes of lists and apps are bound to.
    pub(crate) fn used(&mut self) -> &mut CpuSet {
        &mut self.used
    }

    fn placement(&mut self, app: u16, cpus: Option<CpuSet>, devices: Vec<u16>) -> Placement {
        let local_rank = LocalRank(self.ranked);
        self.ranked = self.ranked.saturating_add(1);
        let node_rank = self.node_ranks.next().unwrap_or(local_rank);
        Placement { node: self.node, app, local_rank, node_rank, cpus, devices }
    }
}

fn job_node(record: &NodeRecord) -> JobNode {
    JobNode {
        id: record.id,
        daemon: record.daemon.expect("nodes without a daemon were passed over"),
        name: record.name.clone(),
    }
}
