//! Devices of a topology file. One entry per card: a graphics processor is known to several libraries by several names
//! (`nvml0`, `cuda0`, `card1`), and an adapter both as a fabric and as a network interface (`mlx5_0`, `ib0`).

use std::collections::BTreeMap;

use ferrite_types::{CpuSet, Device, DeviceKind, DeviceVendor};
use roxmltree::Node;

use super::{TopologyFileError, cpus_of};

/// Returns all devices in the order of the bus; devices without a bus address come last, in the order of the file.
pub(super) fn devices<'a, 'input: 'a>(
    objects: impl Iterator<Item = Node<'a, 'input>>,
    all: &CpuSet,
) -> Result<Vec<Device>, TopologyFileError> {
    let mut cards: Vec<Card<'a, 'input>> = Vec::new();
    let mut known: BTreeMap<(usize, DeviceKind), usize> = BTreeMap::new();
    for object in objects.filter(|object| object.attribute("type") == Some("OSDev")) {
        let (Some(face), Some(name)) = (Face::of(object), object.attribute("name")) else { continue };
        if is_part_of_device(object) {
            continue;
        }
        let pci = object.ancestors().find(|a| a.attribute("type") == Some("PCIDev"));
        let key = (pci.unwrap_or(object).range().start, face.kind());
        // Several disks behind one controller are several disks.
        let at = known.get(&key).copied().filter(|_| face.kind() != DeviceKind::Block);
        match at {
            Some(at) => cards[at].faces.push((face, name, object)),
            None => {
                known.insert(key, cards.len());
                cards.push(Card { kind: face.kind(), pci, faces: vec![(face, name, object)] });
            }
        }
    }
    cards.sort_by(|a, b| a.place().cmp(&b.place()));
    let mut counts = BTreeMap::new();
    let mut found = Vec::new();
    for card in cards {
        if let Some(device) = card.device(all, &mut counts)? {
            found.push(device);
        }
    }
    Ok(found)
}

/// A tile of a graphics processor (`ze0.1` in `ze0`) is no device of its own.
fn is_part_of_device(object: Node<'_, '_>) -> bool {
    object.parent().is_some_and(|parent| parent.attribute("type") == Some("OSDev"))
}

/// A device as one part of the system shows it. The best names come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Face {
    Block,
    Interface,
    Fabric,
    /// `card0`, `renderD128`: the kernel's name, also of cards that only draw.
    Drawing,
    OpenCl,
    /// `nvml0`: knows the unique name.
    Management,
    /// `cuda0`, `rsmi0`, `ze0`: what applications count.
    Computing,
}

impl Face {
    fn of(object: Node<'_, '_>) -> Option<Face> {
        let name = object.attribute("name")?;
        let computes = ["cuda", "rsmi", "ze"].iter().any(|p| starts_numbered(name, p));
        match object.attribute("osdev_type")? {
            "0" => Some(Face::Block),
            "1" | "5" if computes => Some(Face::Computing),
            "1" if starts_numbered(name, "nvml") => Some(Face::Management),
            "1" => Some(Face::Drawing),
            "5" if name.starts_with("opencl") => Some(Face::OpenCl),
            "2" => Some(Face::Interface),
            "3" => Some(Face::Fabric),
            _ => None,
        }
    }

    fn kind(self) -> DeviceKind {
        match self {
            Face::Block => DeviceKind::Block,
            Face::Interface | Face::Fabric => DeviceKind::Network,
            Face::Drawing | Face::OpenCl | Face::Management | Face::Computing => DeviceKind::Gpu,
        }
    }
}

fn starts_numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

struct Card<'a, 'input> {
    kind: DeviceKind,
    pci: Option<Node<'a, 'input>>,
    faces: Vec<(Face, &'a str, Node<'a, 'input>)>,
}

impl<'a, 'input> Card<'a, 'input> {
    /// Returns the key of the order: `0000:3b:00.0` sorts as the bus does, because its parts have leading zeros.
    fn place(&self) -> (bool, Option<&'a str>) {
        let bus = self.pci.and_then(|pci| pci.attribute("pci_busid"));
        (bus.is_none(), bus)
    }

    /// `None` = a card that only draws.
    fn device(
        &self,
        all: &CpuSet,
        counts: &mut BTreeMap<(DeviceKind, DeviceVendor), u32>,
    ) -> Result<Option<Device>, TopologyFileError> {
        let Some((face, name, object)) = self.faces.iter().max_by_key(|(face, ..)| *face) else { return Ok(None) };
        let vendor = self.vendor(name);
        if *face == Face::Drawing && vendor == DeviceVendor::Other {
            return Ok(None);
        }
        let count = counts.entry((self.kind, vendor)).or_default();
        let index = self.maker_index(*face, name).unwrap_or(*count);
        *count += 1;
        Ok(Some(Device {
            kind: self.kind,
            name: (*name).to_owned(),
            vendor,
            index,
            uuid: self.uuid().map(str::to_owned),
            cpus: locality(*object, all)?,
        }))
    }

    fn vendor(&self, name: &str) -> DeviceVendor {
        let named = |prefix: &str| self.faces.iter().any(|(_, name, _)| starts_numbered(name, prefix));
        match self.kind {
            DeviceKind::Gpu if named("cuda") || named("nvml") => DeviceVendor::Nvidia,
            DeviceKind::Gpu if named("rsmi") => DeviceVendor::Amd,
            DeviceKind::Gpu if named("ze") => DeviceVendor::Intel,
            DeviceKind::Gpu => DeviceVendor::of_gpu(self.pci_vendor().unwrap_or_default()),
            DeviceKind::Network if self.faces.iter().any(|(face, ..)| *face == Face::Fabric) => {
                DeviceVendor::of_fabric(name)
            }
            DeviceKind::Network | DeviceKind::Block => DeviceVendor::Other,
        }
    }

    /// Returns the vendor in `0302 [10de:20b0] [10de:1463] a1`.
    fn pci_vendor(&self) -> Option<&'a str> {
        let text = self.pci?.attribute("pci_type")?;
        text.split_once('[')?.1.split_once(':').map(|(vendor, _)| vendor)
    }

    fn info(&self, name: &str) -> Option<&'a str> {
        let infos = self.faces.iter().flat_map(|(_, _, object)| object.children());
        let mut named = infos.filter(|info| info.has_tag_name("info") && info.attribute("name") == Some(name));
        named.find_map(|info| info.attribute("value"))
    }

    fn uuid(&self) -> Option<&'a str> {
        ["NVIDIAUUID", "AMDUUID", "LevelZeroUUID", "NodeGUID", "Address"].iter().find_map(|name| self.info(name))
    }

    /// Returns the number by which the maker's library names it.
    fn maker_index(&self, face: Face, name: &str) -> Option<u32> {
        if let Some(index) = self.info("LevelZeroDriverDeviceIndex") {
            return index.parse().ok();
        }
        let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
        if face == Face::Computing { digits.parse().ok() } else { None }
    }
}

/// Returns the processors of the nearest object above it that has some.
fn locality(object: Node<'_, '_>, all: &CpuSet) -> Result<CpuSet, TopologyFileError> {
    for above in object.ancestors().skip(1) {
        if let Some(cpus) = cpus_of(above, "cpuset")? {
            let cpus = cpus.intersection(all);
            if !cpus.is_empty() {
                return Ok(cpus);
            }
        }
    }
    Ok(all.clone())
}
