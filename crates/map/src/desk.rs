//! The nodes that host processes, while ranks and processors are handed out.

use std::collections::BTreeMap;
use std::rc::Rc;

use ferrite_types::{BindTo, CpuSet, JobMap, JobNode, LocalRank, NodeRecord, Placement, Topology};

use crate::app::App;
use crate::bind::Binder;
use crate::occupancy::Occupancy;
use crate::policy::{Mapper, Policy};
use crate::seat::Seat;
use crate::shape::Shape;
use crate::units::Units;

/// One desk for each seat that is used.
pub(crate) struct Desks<'a> {
    occupancy: &'a Occupancy,
    desks: Vec<Option<Desk<'a>>>,
    /// The shape of each seat for the app at hand; seats that it does not use have none.
    shapes: Vec<Option<Rc<Shape>>>,
}

/// A node that hosts processes.
pub(crate) struct Desk<'a> {
    /// Its index in the map.
    node: u32,
    shape: Rc<Shape>,
    binder: Binder,
    node_ranks: Box<dyn Iterator<Item = LocalRank> + 'a>,
    ranked: u16,
    /// Processors that earlier apps are bound to.
    used: CpuSet,
    /// True when a default binding did not fit.
    overflowed: bool,
}

impl<'a> Desks<'a> {
    pub(crate) fn new(occupancy: &'a Occupancy, seats: usize) -> Desks<'a> {
        Desks { occupancy, desks: (0..seats).map(|_| None).collect(), shapes: vec![None; seats] }
    }

    /// Makes the shapes for an app: one for each distinct machine with the same processors taken.
    pub(crate) fn open(&mut self, seats: &[Seat<'a>], app: &App<'a>) {
        let mut known: BTreeMap<(*const Topology, CpuSet), Rc<Shape>> = BTreeMap::new();
        self.shapes.fill(None);
        for &(seat, _) in &app.places {
            if self.shapes[seat].is_some() {
                continue;
            }
            let record = seats[seat].record;
            let mut busy = self.occupancy.busy(record.id);
            if let Some(desk) = &self.desks[seat] {
                busy.union_with(&desk.used);
            }
            let shape = known
                .entry((std::sync::Arc::as_ptr(&record.topology), busy))
                .or_insert_with_key(|(_, busy)| Rc::new(Shape::new(&record.topology, &app.policy, app.lists, busy)));
            self.shapes[seat] = Some(shape.clone());
        }
        for (desk, shape) in self.desks.iter_mut().zip(&self.shapes) {
            let Some(desk) = desk else { continue };
            // Also where this app has no process: what did not fit there was another's.
            desk.overflowed = false;
            if let Some(shape) = shape {
                desk.binder = Binder::new(shape);
                desk.shape = shape.clone();
            }
        }
    }

    /// The machine of a seat, as the app at hand sees it.
    pub(crate) fn shape(&self, seat: usize) -> &Shape {
        self.shapes[seat].as_ref().expect("shapes were made for all nodes of the app")
    }

    /// The desk of a seat, which is one of the map's nodes from now on.
    pub(crate) fn at(&mut self, seat: usize, record: &NodeRecord, map: &mut JobMap) -> &mut Desk<'a> {
        let shape = self.shapes[seat].clone().expect("shapes were made for all nodes of the app");
        let occupancy = self.occupancy;
        self.desks[seat].get_or_insert_with(|| {
            map.nodes.push(job_node(record));
            Desk {
                node: map.nodes.len() as u32 - 1,
                binder: Binder::new(&shape),
                shape,
                node_ranks: Box::new(occupancy.free_ranks(record.id)),
                ranked: 0,
                used: CpuSet::new(),
                overflowed: false,
            }
        })
    }

    /// A desk that is used already.
    pub(crate) fn taken(&mut self, seat: usize) -> &mut Desk<'a> {
        self.desks[seat].as_mut().expect("its processes were dealt to it")
    }

    /// True when a default binding did not fit on some node.
    pub(crate) fn overflowed(&self) -> bool {
        self.desks.iter().flatten().any(|desk| desk.overflowed)
    }

    /// Keeps the processors of the app at hand from the apps that follow.
    pub(crate) fn remember(&mut self, policy: &Policy, seats: &[Seat<'a>]) {
        let whole = policy.pes.is_some();
        for ((desk, shape), seat) in self.desks.iter_mut().zip(&self.shapes).zip(seats) {
            if let (Some(desk), Some(shape)) = (desk, shape)
                && policy.bind != BindTo::None
            {
                let mut busy = self.occupancy.busy(seat.record.id);
                busy.union_with(&desk.used);
                let units = Units::new(&seat.record.topology, policy.unit, &busy);
                desk.used.union_with(&desk.binder.used(shape, &units, whole));
            }
        }
    }
}

impl Desk<'_> {
    /// The object of each of `count` processes.
    pub(crate) fn deal(&self, map: Mapper, count: u32) -> Vec<u32> {
        let order = &self.shape.deal;
        match map {
            Mapper::Object(_) | Mapper::Device if !order.is_empty() => {
                (0..count).map(|k| order[k as usize % order.len()]).collect()
            }
            Mapper::PerObject(per, _) => (0..count).map(|k| k / per).collect(),
            _ => vec![0; count as usize],
        }
    }

    /// The next process here; `None` when the binding that was asked for has no room for it.
    pub(crate) fn seat_one(&mut self, policy: &Policy, app: u16, object: u32) -> Option<Placement> {
        let cpus = match policy.bind {
            BindTo::Object(_) if !self.overflowed => {
                match self.binder.bind(&self.shape, object, policy.overload, policy.limit) {
                    Ok(cpus) => Some(cpus.clone()),
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
        Some(self.seat(app, cpus, devices))
    }

    /// A process that is bound to these, whatever the policy.
    pub(crate) fn seat_there(&mut self, app: u16, cpus: CpuSet) -> Placement {
        self.seat(app, Some(cpus), Vec::new())
    }

    /// Returns the processors that earlier processes of lists and apps are bound to.
    pub(crate) fn used(&mut self) -> &mut CpuSet {
        &mut self.used
    }

    fn seat(&mut self, app: u16, cpus: Option<CpuSet>, devices: Vec<u16>) -> Placement {
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
