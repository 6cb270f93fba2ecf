//! Devices of this machine that processes can be mapped by, read from `/sys`: those on the bus, one for each card.
//! Names of links identify them; files are read only of devices that exist, so that a machine without devices costs
//! four directory reads.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ferrite_types::{CpuSet, Device, DeviceKind, DeviceVendor};

use super::list;
use crate::attribute;

/// The directories that are searched.
pub(super) struct Places {
    /// `/sys`.
    pub(super) sys: PathBuf,
    /// `/proc/driver/nvidia/gpus`: one directory for each device, named by its bus address.
    pub(super) nvidia: PathBuf,
}

impl Places {
    pub(super) fn of_this_machine() -> Places {
        Places { sys: PathBuf::from("/sys"), nvidia: PathBuf::from("/proc/driver/nvidia/gpus") }
    }

    /// Returns all devices in the order of the bus.
    pub(super) fn devices(&self, online: &CpuSet) -> Vec<Device> {
        let mut cards = BTreeMap::new();
        for (class, face) in CLASSES {
            for (name, bus) in self.on_the_bus(class) {
                self.note(&mut cards, face, bus, name);
            }
        }
        for bus in names(&self.nvidia) {
            self.note(&mut cards, Face::Gpu, bus, String::new());
        }
        let mut counts = BTreeMap::new();
        let devices = cards.into_iter().filter_map(|(key, name)| self.device(key, &name, online, &mut counts));
        devices.collect()
    }

    /// Notes one name for each card: a fabric's adapter has the fabric's name, not that of its network interface. Each
    /// disk has its own.
    fn note(&self, cards: &mut Cards, face: Face, bus: String, name: String) {
        let part = if face == Face::Disk { name.clone() } else { String::new() };
        if face == Face::Fabric {
            cards.remove(&(bus.clone(), Face::Interface, String::new()));
        }
        if face == Face::Interface && cards.contains_key(&(bus.clone(), Face::Fabric, String::new())) {
            return;
        }
        let known = cards.entry((bus, face, part)).or_insert_with(|| name.clone());
        if name < *known {
            *known = name;
        }
    }

    /// Returns the members of a class on the PCI bus, with their addresses there, which are part of the links' paths.
    fn on_the_bus(&self, class: &str) -> Vec<(String, String)> {
        let dir = self.sys.join("class").join(class);
        let place = |name: String| {
            let target = fs::read_link(dir.join(&name)).ok()?;
            let parts = target.iter().filter_map(|part| part.to_str());
            let bus = parts.rev().find(|part| is_bus_address(part))?.to_owned();
            let is_part_of_disk = class == "block" && dir.join(&name).join("partition").exists();
            (!is_part_of_disk).then_some((name, bus))
        };
        names(&dir).into_iter().filter_map(place).collect()
    }

    fn device(
        &self,
        (bus, face, _): (String, Face, String),
        name: &str,
        online: &CpuSet,
        counts: &mut BTreeMap<(DeviceKind, DeviceVendor), u32>,
    ) -> Option<Device> {
        let dir = self.sys.join("bus/pci/devices").join(&bus);
        let kind = face.kind();
        let vendor = match face {
            Face::Gpu => DeviceVendor::of_gpu(text(&dir.join("vendor"))?.trim_start_matches("0x")),
            Face::Fabric => DeviceVendor::of_fabric(name),
            Face::Interface | Face::Disk => DeviceVendor::Other,
        };
        // A server's console chip does not compute.
        if face == Face::Gpu && vendor == DeviceVendor::Other {
            return None;
        }
        let count = counts.entry((kind, vendor)).or_default();
        let index = *count;
        *count += 1;
        let uuid = match face {
            Face::Gpu => self.uuid_of_gpu(&bus, vendor),
            Face::Fabric => text(&self.sys.join("class/infiniband").join(name).join("node_guid")),
            Face::Interface => text(&self.sys.join("class/net").join(name).join("address")),
            Face::Disk => None,
        };
        let near = list(&dir.join("local_cpulist")).unwrap_or_default().intersection(online);
        let name = if face == Face::Gpu { name_of_gpu(vendor, index) } else { name.to_owned() };
        Some(Device { kind, name, vendor, index, uuid, cpus: if near.is_empty() { online.clone() } else { near } })
    }

    /// Returns the unique name that the maker's library accepts. Intel's has none.
    fn uuid_of_gpu(&self, bus: &str, vendor: DeviceVendor) -> Option<String> {
        match vendor {
            DeviceVendor::Nvidia => {
                let information = fs::read_to_string(self.nvidia.join(bus).join("information")).ok()?;
                let uuid = information.lines().find_map(|line| line.strip_prefix("GPU UUID:"))?.trim();
                // Without permission the driver shows question marks.
                (!uuid.contains('?')).then(|| uuid.to_owned())
            }
            DeviceVendor::Amd => text(&self.sys.join("bus/pci/devices").join(bus).join("unique_id")),
            _ => None,
        }
    }
}

/// Cards by bus address, so that they are in its order. Disks at one address are ordered by name.
type Cards = BTreeMap<(String, Face, String), String>;

const CLASSES: [(&str, Face); 4] =
    [("drm", Face::Gpu), ("infiniband", Face::Fabric), ("net", Face::Interface), ("block", Face::Disk)];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Face {
    Gpu,
    Fabric,
    Interface,
    Disk,
}

impl Face {
    fn kind(self) -> DeviceKind {
        match self {
            Face::Gpu => DeviceKind::Gpu,
            Face::Fabric | Face::Interface => DeviceKind::Network,
            Face::Disk => DeviceKind::Block,
        }
    }
}

/// Numbers devices as the makers' tools do: in the order of the bus.
fn name_of_gpu(vendor: DeviceVendor, index: u32) -> String {
    let prefix = match vendor {
        DeviceVendor::Nvidia => "cuda",
        DeviceVendor::Amd => "rsmi",
        _ => "ze",
    };
    format!("{prefix}{index}")
}

/// True for an address such as `0000:3b:00.0`.
fn is_bus_address(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '.']).collect();
    let hex = |part: &str, digits: usize| part.len() == digits && part.bytes().all(|b| b.is_ascii_hexdigit());
    match parts.as_slice() {
        [domain, bus, device, function] => {
            domain.len() >= 4
                && hex(domain, domain.len())
                && hex(bus, 2)
                && hex(device, 2)
                && hex(function, 1)
                && text.contains('.')
        }
        _ => false,
    }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn text(file: &Path) -> Option<String> {
    attribute::read(file).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new() -> Machine {
            Machine(tempfile::tempdir().unwrap())
        }

        fn write(&self, name: &str, text: &str) {
            let file = self.0.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, format!("{text}\n")).unwrap();
        }

        /// Makes a card on the bus with its names in the system.
        fn card(&self, bus: &str, vendor: &str, cpus: &str, faces: &[(&str, &str)]) {
            self.write(&format!("sys/bus/pci/devices/{bus}/vendor"), vendor);
            self.write(&format!("sys/bus/pci/devices/{bus}/local_cpulist"), cpus);
            faces.iter().for_each(|(class, name)| self.face(class, name, &format!("pci0000:00/{bus}/{class}/{name}")));
        }

        fn face(&self, class: &str, name: &str, at: &str) {
            let device = self.0.path().join("sys/devices").join(at);
            fs::create_dir_all(&device).unwrap();
            let dir = self.0.path().join("sys/class").join(class);
            fs::create_dir_all(&dir).unwrap();
            symlink(Path::new("../../devices").join(at), dir.join(name)).unwrap();
        }

        fn devices(&self) -> Vec<String> {
            let places = Places { sys: self.0.path().join("sys"), nvidia: self.0.path().join("nvidia") };
            let shown = |d: Device| {
                let uuid = d.uuid.as_deref().unwrap_or("-").to_owned();
                format!("{:?} {} {:?} {} {{{}}} {uuid}", d.kind, d.name, d.vendor, d.index, d.cpus)
            };
            places.devices(&(0..8).collect()).into_iter().map(shown).collect()
        }
    }

    #[test]
    fn a_machine_without_devices_has_none() {
        let machine = Machine::new();
        machine.face("net", "lo", "virtual/net/lo");
        machine.face("block", "loop0", "virtual/block/loop0");
        assert_eq!(machine.devices(), [""; 0]);
    }

    #[test]
    fn cards_are_told_once_each_in_the_order_of_the_bus_with_what_is_near() {
        let machine = Machine::new();
        machine.card("0000:86:00.0", "0x1002", "4-7", &[("drm", "card1"), ("drm", "renderD129")]);
        machine.write("sys/bus/pci/devices/0000:86:00.0/unique_id", "18f68a8b3cd1fd5c");
        machine.card("0000:03:00.0", "0x1a03", "0-3", &[("drm", "card0")]);
        machine.card("0000:18:00.0", "0x15b3", "0-3", &[("net", "ib0"), ("infiniband", "mlx5_0")]);
        machine.write("sys/class/infiniband/mlx5_0/node_guid", "0c42:a103:0012:3456");
        machine.card("0000:3b:00.0", "0x10de", "0-3,16", &[]);
        machine.write("nvidia/0000:3b:00.0/information", "Model: 	 X\nGPU UUID: 	 GPU-1234\nBus Type: PCIe");
        machine.card("0000:5e:00.0", "0x10de", "", &[("drm", "card2")]);
        machine.write("nvidia/0000:5e:00.0/information", "GPU UUID: 	 GPU-????????");
        machine.card("0000:b0:00.0", "0x144d", "4-7", &[("block", "sda"), ("block", "sdb")]);
        machine.face("block", "sda1", "pci0000:00/0000:b0:00.0/block/sda/sda1");
        machine.write("sys/class/block/sda1/partition", "1");
        assert_eq!(
            machine.devices(),
            [
                "Network mlx5_0 OpenFabrics 0 {0-3} 0c42:a103:0012:3456",
                "Gpu cuda0 Nvidia 0 {0-3} GPU-1234",
                "Gpu cuda1 Nvidia 1 {0-7} -",
                "Gpu rsmi0 Amd 0 {4-7} 18f68a8b3cd1fd5c",
                "Block sda Other 0 {4-7} -",
                "Block sdb Other 1 {4-7} -",
            ]
        );
    }

    #[test]
    fn places_on_the_bus_are_known_by_their_form() {
        for good in ["0000:3b:00.0", "10000:01:00.1"] {
            assert!(is_bus_address(good), "{good}");
        }
        for bad in ["pci0000:00", "0:0:0:0", "0000:3b:00", "virtio1", "0000.3b:00.0.1"] {
            assert!(!is_bus_address(bad), "{bad}");
        }
    }
}
