//! Chooses the error for a job that cannot be placed: the arithmetic of its nodes, or the missing part of a machine.

use ferrite_types::resources::Amounts;
use ferrite_types::{AppContext, BindTo, CpuSet, DeviceWanted, MapBy, ObjectKind, Topology};

use crate::app::App;
use crate::candidate::Candidate;
use crate::count::{Limit, TooMany};
use crate::device::{self, DeviceObstacle};
use crate::error::{self, Binding, MapError, NodeProcessors, NodeSlots, ResourceAmount};
use crate::mapped_node::MappedNodes;
use crate::place::{Job, program};
use crate::placement_policy::{Mapper, kind_word, map_kind, map_name, unit_kind};
use crate::shape::Obstacle;
use crate::units::{Units, usable};

impl<'a> Job<'a> {
    pub(crate) fn too_many(
        &self,
        why: TooMany,
        app: &App<'a>,
        limits: &[Limit],
        mapped_nodes: Option<&MappedNodes<'a>>,
    ) -> MapError {
        let total = |of: fn(&Limit) -> u32| limits.iter().fold(0u32, |sum, l| sum.saturating_add(of(l)));
        let policy = &app.policy;
        let program = program(app.context);
        let per = policy.map.per_resource();
        let asked = app.context.np.or_else(|| Some(per?.saturating_mul(total(|l| l.objects))));
        let share = |l: &Limit| per.map_or(u32::MAX, |per| per.saturating_mul(l.objects));
        match why {
            TooMany::Slots => {
                let mut nodes = self.node_slots(app);
                // With ppr a node takes no more than its share, whatever is free there.
                for (node, limit) in nodes.iter_mut().zip(limits).filter(|(_, limit)| share(limit) < limit.free) {
                    node.share = Some(share(limit));
                }
                let free = limits.iter().fold(0u32, |sum, l| sum.saturating_add(l.free.min(share(l))));
                MapError::NotEnoughSlots { asked, program, free, nodes }
            }
            TooMany::Room => {
                let room = limits.iter().fold(0u32, |sum, l| sum.saturating_add(l.room.min(share(l))));
                MapError::MaxSlots { asked: asked.unwrap_or_default(), program, room }
            }
            TooMany::Ppr(0) if policy.map.is_by_device() => self.too_few_devices(app, app.places[0].0),
            TooMany::Ppr(given) => MapError::PprConflict {
                asked: asked.unwrap_or_default(),
                per: policy.ppr_text().unwrap_or_default(),
                units: error::count(total(|l| l.objects), ppr_unit(policy.map, self.taken_devices(app))),
                total: given,
                program,
            },
            TooMany::Processors(there)
                if policy.map == Mapper::Device && (app.devices_are_short(there) || policy.bind == BindTo::None) =>
            {
                let taken = self.taken_devices(app);
                MapError::DevicesTaken { asked: asked.unwrap_or_default(), there, taken, program }
            }
            TooMany::Processors(_) => self.overload(app, mapped_nodes),
            TooMany::Resources(room) => {
                let mut nodes: Vec<usize> = app.places.iter().map(|(candidate, _)| *candidate).collect();
                nodes.dedup();
                self.resource_shortage(app, &nodes, room)
            }
            TooMany::Shared(room) => self.shared_shortage(app, room),
        }
    }

    pub(crate) fn overload(&self, app: &App<'a>, mapped_nodes: Option<&MappedNodes<'a>>) -> MapError {
        let policy = &app.policy;
        let BindTo::Object(kind) = policy.bind else {
            return MapError::NoProcesses { program: program(app.context) };
        };
        let describe = |&(candidate, cap): &(usize, Option<u32>)| {
            let (slots, _) = self.candidates[candidate].free_and_room(policy.cpus);
            let slots = slots.min(cap.unwrap_or(u32::MAX));
            let (processors, free, room) = mapped_nodes.map_or((0, 0, 0), |mapped_nodes| {
                let shape = mapped_nodes.shape(candidate);
                (shape.processors.0, shape.processors.1, shape.capacity.unwrap_or_else(|| shape.room()))
            });
            NodeProcessors {
                name: self.candidates[candidate].record.name.clone(),
                slots,
                processors,
                free,
                room: room.min(slots),
            }
        };
        MapError::Overload {
            asked: app.context.np,
            program: program(app.context),
            binding: Binding { kind, pes: policy.pes, limit: policy.limit, unit: kind_word(unit_kind(policy.unit)) },
            nodes: app.places.iter().map(describe).collect(),
        }
    }

    /// Returns the error for a list that wants more processes on a node than the node has slots.
    pub(crate) fn shortage(&self, app: &App<'a>, candidate: usize, asked: u32, free: u32) -> MapError {
        let name = &self.candidates[candidate].record.name;
        let nodes = self.node_slots(app).into_iter().filter(|node| node.name == *name).take(1).collect();
        MapError::NotEnoughSlots { asked: Some(asked), program: program(app.context), free, nodes }
    }

    /// Returns the number of a node's devices that the app asks for, and of those that it may not have, as other jobs
    /// use them.
    fn devices_of(&self, app: &App<'a>, candidate: usize) -> (u32, u32) {
        let record = self.candidates[candidate].record;
        let taken = self.occupancy.taken(record.id, app.lists.shares_devices).devices;
        app.lists.device.map_or((0, 0), |request| device::counts(&record.topology, request, &taken))
    }

    fn taken_devices(&self, app: &App<'a>) -> u32 {
        app.places.iter().map(|(candidate, _)| self.devices_of(app, *candidate).1).sum()
    }

    fn too_few_devices(&self, app: &App<'a>, candidate: usize) -> MapError {
        let (there, taken) = self.devices_of(app, candidate);
        let needed = app.lists.device.map_or(1, |device| device.per_process.max(1));
        let node = self.candidates[candidate].record.name.clone();
        MapError::TooFewDevices { needed, what: device_name(app), node, there, taken }
    }

    /// Returns the error for processes that take more than is left of what all nodes share.
    pub(crate) fn shared_shortage(&self, app: &App<'a>, room: u32) -> MapError {
        let AppContext { takes, takes_once, .. } = app.context;
        let each: Amounts = self.of_dvm(takes, true);
        let amount = |resource: &String| ResourceAmount {
            resource: resource.clone(),
            there: self.occupancy.shared_amount(resource),
            own: self.shared.get(resource).copied().unwrap_or_default(),
        };
        MapError::NotEnoughShared {
            asked: app.context.np,
            program: program(app.context),
            amounts: each.keys().chain(takes_once.keys()).map(amount).collect(),
            each,
            once: takes_once.clone(),
            room,
        }
    }

    /// Returns those of these amounts that all nodes share, or the others.
    fn of_dvm(&self, takes: &Amounts, shared: bool) -> Amounts {
        let chosen = takes.iter().filter(|(resource, _)| self.occupancy.is_shared(resource) == shared);
        chosen.map(|(resource, amount)| (resource.clone(), *amount)).collect()
    }

    /// Returns the error for processes that take more than these nodes have.
    pub(crate) fn resource_shortage(&self, app: &App<'a>, nodes: &[usize], room: u32) -> MapError {
        let takes = self.of_dvm(&app.context.takes, false);
        let describe = |candidate: &usize| {
            let Candidate { record, taken, .. } = &self.candidates[*candidate];
            let amount = |resource: &String| ResourceAmount {
                resource: resource.clone(),
                there: self.occupancy.amount(record, resource),
                own: taken.get(resource).copied().unwrap_or_default(),
            };
            (record.name.clone(), takes.keys().map(amount).collect())
        };
        MapError::NotEnoughResources {
            asked: app.context.np,
            program: program(app.context),
            nodes: nodes.iter().map(describe).collect(),
            takes,
            room,
        }
    }

    fn node_slots(&self, app: &App<'a>) -> Vec<NodeSlots> {
        let describe = |&(candidate, cap): &(usize, Option<u32>)| {
            let Candidate { record, placed, .. } = &self.candidates[candidate];
            NodeSlots {
                name: record.name.clone(),
                slots: self.candidates[candidate].slots(app.policy.cpus),
                given: record.slots_given,
                inuse: record.slots_inuse,
                earlier: *placed,
                cap,
                share: None,
            }
        };
        app.places.iter().map(describe).collect()
    }

    pub(crate) fn missing_object(&self, app: &App<'a>, candidate: usize) -> MapError {
        let record = self.candidates[candidate].record;
        let kind = map_kind(app.policy.map).unwrap_or(ObjectKind::Core);
        MapError::MissingObject { node: record.name.clone(), kind, has: kinds_of(&record.topology) }
    }
}

fn ppr_unit(map: Mapper, taken: u32) -> &'static str {
    if map.is_by_device() && taken > 0 {
        "free device"
    } else if map.is_by_device() {
        "device"
    } else {
        map_kind(map).map_or("node", kind_word)
    }
}

/// Returns the error of the first node when no node can take a process of the app.
pub(crate) fn obstacle_to_all(job: &Job<'_>, app: &App<'_>, mapped_nodes: &MappedNodes<'_>) -> Option<MapError> {
    let well = |&(candidate, _): &(usize, Option<u32>)| mapped_nodes.shape(candidate).obstacle.is_none();
    if app.places.iter().any(well) {
        return None;
    }
    let (candidate, _) = app.places[0];
    let record = job.candidates[candidate].record;
    let node = record.name.clone();
    Some(match mapped_nodes.shape(candidate).obstacle.clone()? {
        Obstacle::ProcessTooLarge(most) => MapError::ProcessTooLarge {
            asked: app.policy.pes.unwrap_or(1),
            map: map_name(app.policy.map),
            node,
            most,
            larger: smallest_with(&record.topology, app),
        },
        Obstacle::NoSuchProcessor(number) => MapError::NoSuchProcessor {
            unit: kind_word(unit_kind(app.policy.unit)),
            number,
            node,
            there: usable_numbers(&record.topology, unit_kind(app.policy.unit)),
        },
        Obstacle::ListSpansPackages => {
            MapError::ListSpansPackages { list: app.policy.pe_list.clone().unwrap_or_default(), node }
        }
        Obstacle::NothingToBindTo(kind) => MapError::MissingBindObject { node, kind },
        Obstacle::Device(DeviceObstacle::TooFew) => job.too_few_devices(app, candidate),
        Obstacle::Device(DeviceObstacle::Nameless(device)) => MapError::NamelessDevice { device, node },
        Obstacle::Device(DeviceObstacle::BindTooLarge { device, bind, within }) => {
            MapError::BindBeyondDevice { device, bind, within, node }
        }
    })
}

fn device_name(app: &App<'_>) -> String {
    match &app.request.by {
        Some(MapBy::Device(device) | MapBy::PerDevice(_, device)) => match &device.wanted {
            DeviceWanted::Kind(kind) => format!("devices of class {}", format!("{kind:?}").to_lowercase()),
            DeviceWanted::Named(name) => format!("devices called {name}"),
        },
        _ => "devices".to_owned(),
    }
}

/// Returns the smallest kind of object that has enough processors for a process.
fn smallest_with(topology: &Topology, app: &App<'_>) -> Option<ObjectKind> {
    let pes = usize::from(app.policy.pes?);
    let units = Units::new(topology, app.policy.unit, &CpuSet::new());
    let enough = |kind: &ObjectKind| usable(topology, *kind).any(|o| units.inside(&o.cpus, false).len() >= pes);
    let kinds = [ObjectKind::L2Cache, ObjectKind::L3Cache, ObjectKind::Numa, ObjectKind::Package];
    kinds.into_iter().find(enough).filter(|_| app.policy.bind != BindTo::None)
}

fn usable_numbers(topology: &Topology, kind: ObjectKind) -> CpuSet {
    let all = topology.of_kind(kind).iter().enumerate();
    all.filter(|(_, o)| o.cpus.intersects(&topology.allowed)).map(|(number, _)| number as u32).collect()
}

/// Returns the kinds of objects of a machine, for a message.
pub(crate) fn kinds_of(topology: &Topology) -> String {
    let kinds: Vec<&str> = topology.objects.iter().filter(|(_, l)| !l.is_empty()).map(|(k, _)| kind_word(*k)).collect();
    if kinds.is_empty() { "nothing known".to_owned() } else { kinds.join(", ") }
}
