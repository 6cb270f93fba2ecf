//! Mapping by device: which devices a process gets, and the processors next to them. Source: the documentation of the
//! reference (`--map-by device=`).

use std::collections::BTreeSet;

use ferrite_types::{
    BindTo, CpuSet, Device, DeviceKind, DeviceRequest, DeviceVendor, DeviceWanted, ObjectKind, Topology,
};

use crate::placement_policy::kind_word;
use crate::units::usable;

/// The devices of one process, and the processors next to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Positions in the machine's list of devices.
    pub(crate) devices: Vec<u16>,
    /// The processors of the smallest object that has all these devices.
    pub(crate) locality: CpuSet,
    /// The processors next to at least one of them.
    pub(crate) near: CpuSet,
}

/// Why a machine cannot be mapped by these devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeviceObstacle {
    /// There are fewer free devices than one process needs.
    TooFew,
    /// A graphics processor without a name that its maker's libraries accept.
    Nameless(String),
    /// The object to bind to is larger than the locality of the device.
    BindTooLarge { device: String, bind: ObjectKind, within: &'static str },
}

/// Returns the devices of each process, in the order in which processes get them, without those that are taken (spec
/// L148).
pub(crate) fn groups(
    topology: &Topology,
    request: &DeviceRequest,
    bind: BindTo,
    taken: &BTreeSet<u16>,
) -> Result<Vec<Group>, DeviceObstacle> {
    let mut order: Vec<u16> =
        (0..topology.devices.len() as u16).filter(|d| wanted(&topology.devices[*d as usize], request)).collect();
    if let Some(nameless) = order.iter().map(|d| &topology.devices[*d as usize]).find(|d| is_nameless(d)) {
        return Err(DeviceObstacle::Nameless(nameless.name.clone()));
    }
    order.retain(|device| !taken.contains(device));
    if let Some(level) = request.interleave {
        order = interleaved(topology, &order, level);
    }
    let each = usize::from(request.per_process.max(1));
    if order.len() < each {
        return Err(DeviceObstacle::TooFew);
    }
    order.chunks_exact(each).map(|devices| group(topology, devices, bind)).collect()
}

/// Returns the number of the wanted devices, and of those among them that are taken.
pub(crate) fn counts(topology: &Topology, request: &DeviceRequest, taken: &BTreeSet<u16>) -> (u32, u32) {
    let all = (0..).zip(&topology.devices).filter(|(_, device)| wanted(device, request));
    all.fold((0, 0), |(there, used), (at, _)| (there + 1, used + u32::from(taken.contains(&at))))
}

fn wanted(device: &Device, request: &DeviceRequest) -> bool {
    // A device that may not be used has no usable processors next to it.
    match &request.wanted {
        DeviceWanted::Kind(kind) => device.kind == *kind,
        DeviceWanted::Named(name) => {
            device.name == *name || device.uuid.as_ref().is_some_and(|uuid| uuid.eq_ignore_ascii_case(name))
        }
    }
}

/// True for a device whose process could not be told which one it has; it would use those of others.
fn is_nameless(device: &Device) -> bool {
    let by_number = device.vendor == DeviceVendor::Intel;
    device.kind == DeviceKind::Gpu && !by_number && (device.uuid.is_none() || device.vendor == DeviceVendor::Other)
}

fn group(topology: &Topology, devices: &[u16], bind: BindTo) -> Result<Group, DeviceObstacle> {
    let mut near = CpuSet::new();
    for device in devices {
        let cpus = topology.devices[*device as usize].cpus.intersection(&topology.allowed);
        near.union_with(if cpus.is_empty() { &topology.allowed } else { &cpus });
    }
    let (within, locality) = ancestor(topology, &near);
    if let BindTo::Object(kind) = bind {
        let fits = |cpus: &CpuSet| cpus.intersects(&near) && cpus.intersection(&locality) == *cpus;
        let found = usable(topology, kind).any(|o| fits(&o.cpus.intersection(&topology.allowed)));
        if !found {
            let device = topology.devices[devices[0] as usize].name.clone();
            return Err(DeviceObstacle::BindTooLarge { device, bind: kind, within });
        }
    }
    Ok(Group { devices: devices.to_vec(), locality, near })
}

/// Returns the smallest object that holds all these processors.
fn ancestor(topology: &Topology, cpus: &CpuSet) -> (&'static str, CpuSet) {
    let allowed = |o: &ferrite_types::TopologyObject| o.cpus.intersection(&topology.allowed);
    let holding = topology.objects.iter().flat_map(|(kind, list)| list.iter().map(move |o| (*kind, allowed(o))));
    let holding = holding.filter(|(_, object)| object.intersection(cpus) == *cpus);
    let smallest = holding.min_by_key(|(kind, object)| (object.len(), *kind));
    smallest.map_or(("node", topology.allowed.clone()), |(kind, object)| (kind_word(kind), object))
}

/// Reorders the devices: one of each object of the level in turn.
fn interleaved(topology: &Topology, order: &[u16], level: ObjectKind) -> Vec<u16> {
    let objects = topology.of_kind(level);
    let place = |device: &u16| objects.iter().position(|o| o.cpus.intersects(&topology.devices[*device as usize].cpus));
    let mut queues: Vec<(Option<usize>, Vec<u16>)> = Vec::new();
    for device in order {
        let at = place(device);
        match queues.iter_mut().find(|(object, _)| *object == at) {
            Some((_, queue)) => queue.push(*device),
            None => queues.push((at, vec![*device])),
        }
    }
    let longest = queues.iter().map(|(_, queue)| queue.len()).max().unwrap_or(0);
    (0..longest).flat_map(|round| queues.iter().filter_map(move |(_, queue)| queue.get(round).copied())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two packages of two NUMA domains of four cores; a GPU at domains 0, 1, 2 and 2.
    fn machine() -> Topology {
        let mut machine = Topology::uniform(2, 8, 1);
        let domains = &mut machine.objects[1].1;
        let domain =
            |i: u32| ferrite_types::TopologyObject { os_index: i, cpus: (i * 4..i * 4 + 4).collect(), bytes: 0 };
        *domains = (0..4).map(domain).collect();
        let gpu = |(index, domain): (u32, u32)| Device {
            kind: DeviceKind::Gpu,
            name: format!("cuda{index}"),
            vendor: DeviceVendor::Nvidia,
            index,
            uuid: Some(format!("GPU-{index}")),
            cpus: (domain * 4..domain * 4 + 4).collect(),
        };
        machine.devices = [(0, 0), (1, 1), (2, 2), (3, 2)].into_iter().map(gpu).collect();
        machine
    }

    fn request(per_process: u16, interleave: Option<ObjectKind>) -> DeviceRequest {
        DeviceRequest { wanted: DeviceWanted::Kind(DeviceKind::Gpu), interleave, shared: false, per_process }
    }

    fn devices(request: &DeviceRequest) -> Vec<Vec<u16>> {
        let groups = groups(&machine(), request, BindTo::Object(ObjectKind::Core), &BTreeSet::new()).unwrap();
        groups.into_iter().map(|group| group.devices).collect()
    }

    #[test]
    fn devices_go_in_the_order_of_the_bus_unless_they_are_interleaved() {
        assert_eq!(devices(&request(1, None)), [[0], [1], [2], [3]]);
        assert_eq!(devices(&request(1, Some(ObjectKind::Package))), [[0], [2], [1], [3]]);
        assert_eq!(devices(&request(2, Some(ObjectKind::Package))), [[0, 2], [1, 3]]);
        assert_eq!(devices(&request(3, None)), [[0, 1, 2]]);
    }

    #[test]
    fn several_devices_are_local_to_what_holds_them_all() {
        let pairs = groups(&machine(), &request(2, None), BindTo::Object(ObjectKind::Numa), &BTreeSet::new()).unwrap();
        let shown: Vec<String> = pairs.iter().map(|g| format!("{}/{}", g.near, g.locality)).collect();
        assert_eq!(shown, ["0-7/0-7", "8-11/8-11"]);
    }

    #[test]
    fn nothing_larger_than_the_place_of_the_device_is_bound_to() {
        let one = groups(&machine(), &request(1, None), BindTo::Object(ObjectKind::Package), &BTreeSet::new());
        let device = "cuda0".to_owned();
        assert_eq!(one, Err(DeviceObstacle::BindTooLarge { device, bind: ObjectKind::Package, within: "numa" }));
        assert!(groups(&machine(), &request(4, None), BindTo::Object(ObjectKind::Package), &BTreeSet::new()).is_ok());
    }

    #[test]
    fn a_graphics_processor_without_a_name_for_its_library_is_refused() {
        let mut machine = machine();
        machine.devices[1].uuid = None;
        let refused = groups(&machine, &request(1, None), BindTo::None, &BTreeSet::new());
        assert_eq!(refused, Err(DeviceObstacle::Nameless("cuda1".to_owned())));
        let named = DeviceRequest { wanted: DeviceWanted::Named("gpu-2".to_owned()), ..request(1, None) };
        assert_eq!(groups(&machine, &named, BindTo::None, &BTreeSet::new()).unwrap()[0].devices, [2]);
    }
}
