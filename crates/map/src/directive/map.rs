//! `--map-by`: a policy, its qualifiers, and which of them go together.

use ferrite_types::{CpuKind, CpuSet, DeviceKind, DeviceRequest, DeviceWanted, MapBy, ObjectKind, PeList};

use super::MapDirective;
use super::error::{DirectiveError, Problem};
use super::words::{Entry, Found, Given, Words};

/// Mapping policies, as words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mapper {
    Slot,
    Node,
    Object(ObjectKind),
    Seq,
    Ppr,
    RankFile,
    PeList,
    Device,
}

const MAPPERS: &[Entry<Mapper>] = &[
    ("slot", Mapper::Slot),
    ("hwthread", Mapper::Object(ObjectKind::HwThread)),
    ("core", Mapper::Object(ObjectKind::Core)),
    ("l1cache", Mapper::Object(ObjectKind::L1Cache)),
    ("l2cache", Mapper::Object(ObjectKind::L2Cache)),
    ("l3cache", Mapper::Object(ObjectKind::L3Cache)),
    ("numa", Mapper::Object(ObjectKind::Numa)),
    ("package", Mapper::Object(ObjectKind::Package)),
    ("node", Mapper::Node),
    ("seq", Mapper::Seq),
    ("ppr", Mapper::Ppr),
    ("rankfile", Mapper::RankFile),
    ("pe-list=0,3,5-6", Mapper::PeList),
    ("device=gpu", Mapper::Device),
];

#[derive(Clone, Copy)]
enum Qualifier {
    Pes,
    Span,
    Oversubscribe(bool),
    NoLocal,
    Cpus(CpuKind),
    Inherit(bool),
    File,
    Ordered,
    Interleave,
    Shared,
    PerProcess,
    Display,
}

const QUALIFIERS: &[Entry<Qualifier>] = &[
    ("PE=n", Qualifier::Pes),
    ("SPAN", Qualifier::Span),
    ("OVERSUBSCRIBE", Qualifier::Oversubscribe(true)),
    ("NOOVERSUBSCRIBE", Qualifier::Oversubscribe(false)),
    ("NOLOCAL", Qualifier::NoLocal),
    ("HWTCPUS", Qualifier::Cpus(CpuKind::HwThread)),
    ("CORECPUS", Qualifier::Cpus(CpuKind::Core)),
    ("INHERIT", Qualifier::Inherit(true)),
    ("NOINHERIT", Qualifier::Inherit(false)),
    ("FILE=path", Qualifier::File),
    ("ORDERED", Qualifier::Ordered),
    ("INTERLEAVE[=level]", Qualifier::Interleave),
    ("SHARED[=bool]", Qualifier::Shared),
    ("NDEV=n", Qualifier::PerProcess),
    ("DISPLAY", Qualifier::Display),
];

const PPR_OBJECTS: &[Entry<Option<ObjectKind>>] = &[
    ("node", None),
    ("package", Some(ObjectKind::Package)),
    ("numa", Some(ObjectKind::Numa)),
    ("l3cache", Some(ObjectKind::L3Cache)),
    ("l2cache", Some(ObjectKind::L2Cache)),
    ("l1cache", Some(ObjectKind::L1Cache)),
    ("core", Some(ObjectKind::Core)),
    ("hwthread", Some(ObjectKind::HwThread)),
];

const LEVELS: &[Entry<ObjectKind>] = &[
    ("package", ObjectKind::Package),
    ("numa", ObjectKind::Numa),
    ("l3cache", ObjectKind::L3Cache),
    ("l2cache", ObjectKind::L2Cache),
    ("l1cache", ObjectKind::L1Cache),
];

/// The directives that were read so far.
#[derive(Default)]
struct Said {
    whole: MapDirective,
    ordered: bool,
    interleave: Option<ObjectKind>,
    shared: Option<bool>,
    per_process: Option<u16>,
}

pub(super) fn parse(text: &str) -> Result<MapDirective, DirectiveError> {
    let this = Given { option: "--map-by", text };
    let mut words = Words::of(text);
    let mut said = Said::default();
    let first = words.next().unwrap_or_default();
    if !first.is_empty() || text.is_empty() {
        let found = this.policy(first, MAPPERS, QUALIFIERS)?;
        said.whole.by = Some(this.policy_of(&found, &mut words)?);
    }
    for word in words {
        let found = this.find("qualifier", word, QUALIFIERS)?;
        this.qualifier(&found, &mut said)?;
    }
    this.check(&said)?;
    Ok(said.finish())
}

impl<'a> Given<'a> {
    fn policy_of(&self, found: &Found<'a, Mapper>, words: &mut Words<'a>) -> Result<MapBy, DirectiveError> {
        let value = found.value.unwrap_or_default();
        Ok(match found.means {
            Mapper::Slot => MapBy::Slot,
            Mapper::Node => MapBy::Node,
            Mapper::Object(kind) => MapBy::Object(kind),
            Mapper::Seq => MapBy::Seq(Vec::new()),
            Mapper::RankFile => MapBy::RankFile(Vec::new()),
            Mapper::Ppr => self.ppr(words.next(), words.next())?,
            Mapper::PeList => {
                let cpus: CpuSet = value.parse().map_err(|e| self.error(Problem::PeList(e)))?;
                MapBy::PeList(PeList { cpus, ordered: false })
            }
            Mapper::Device => MapBy::Device(DeviceRequest {
                wanted: self.device(value)?,
                interleave: None,
                shared: false,
                per_process: 1,
            }),
        })
    }

    fn ppr(&self, number: Option<&str>, object: Option<&'a str>) -> Result<MapBy, DirectiveError> {
        let malformed = || {
            let mut valid: Vec<&str> = PPR_OBJECTS.iter().map(|(object, _)| *object).collect();
            valid.push("device=kind");
            self.error(Problem::Ppr { valid: valid.join(":") })
        };
        let digits = number.filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
        let per = digits.and_then(|n| n.parse().ok()).filter(|n| *n > 0).ok_or_else(malformed)?;
        let object = object.filter(|o| !o.is_empty()).ok_or_else(malformed)?;
        let device = object.split_once('=').filter(|(word, _)| word.eq_ignore_ascii_case("device"));
        if let Some((_, kind)) = device {
            let wanted = self.device(kind)?;
            if matches!(wanted, DeviceWanted::Named(_)) {
                return Err(self.error(Problem::PprDevice(kind.to_owned())));
            }
            let device = DeviceRequest { wanted, interleave: None, shared: true, per_process: 1 };
            return Ok(MapBy::PerDevice(per, device));
        }
        Ok(match self.find("object", object, PPR_OBJECTS)?.means {
            Some(kind) => MapBy::PerObject(per, kind),
            None => MapBy::PerNode(per),
        })
    }

    fn device(&self, value: &str) -> Result<DeviceWanted, DirectiveError> {
        Ok(match value.to_ascii_lowercase().as_str() {
            "gpu" => DeviceWanted::Kind(DeviceKind::Gpu),
            "network" | "nic" | "fabric" | "openfabrics" => DeviceWanted::Kind(DeviceKind::Network),
            "block" => DeviceWanted::Kind(DeviceKind::Block),
            _ if value.contains(',') => return Err(self.error(Problem::DeviceName(value.to_owned()))),
            _ => DeviceWanted::Named(value.to_owned()),
        })
    }

    fn qualifier(&self, found: &Found<'a, Qualifier>, said: &mut Said) -> Result<(), DirectiveError> {
        let whole = &mut said.whole;
        match found.means {
            Qualifier::Pes => self.say(&mut whole.pes, self.number(found)?, found.name),
            Qualifier::Span => {
                whole.span = true;
                Ok(())
            }
            Qualifier::Oversubscribe(yes) => {
                self.choose(&mut whole.oversubscribe, yes, ["OVERSUBSCRIBE", "NOOVERSUBSCRIBE"])
            }
            Qualifier::Display => {
                whole.display = true;
                Ok(())
            }
            Qualifier::NoLocal => {
                whole.nolocal = true;
                Ok(())
            }
            Qualifier::Cpus(kind) => self.choose(&mut whole.cpus, kind, ["HWTCPUS", "CORECPUS"]),
            Qualifier::Inherit(yes) => self.choose(&mut whole.inherit, yes, ["INHERIT", "NOINHERIT"]),
            Qualifier::File => self.say(&mut whole.file, found.value.unwrap_or_default().to_owned(), found.name),
            Qualifier::Ordered => {
                said.ordered = true;
                Ok(())
            }
            Qualifier::Interleave => {
                let level = found.value.map(|level| self.find("level", level, LEVELS)).transpose()?;
                self.say(&mut said.interleave, level.map_or(ObjectKind::Package, |level| level.means), found.name)
            }
            Qualifier::Shared => self.say(&mut said.shared, self.boolean(found)?, found.name),
            Qualifier::PerProcess => self.say(&mut said.per_process, self.number(found)?, found.name),
        }
    }

    /// Checks that the qualifiers fit the policy.
    fn check(&self, said: &Said) -> Result<(), DirectiveError> {
        let by = said.whole.by.as_ref();
        let policy = by.map_or("a directive without a policy", policy_word);
        let misfit = |word, next| Err(self.error(Problem::Misfit { word, policy, next }));
        let of_device = [
            ("INTERLEAVE", said.interleave.is_some()),
            ("SHARED", said.shared.is_some()),
            ("NDEV", said.per_process.is_some()),
        ];
        if let Some(MapBy::PerDevice(..)) = by
            && let Some((word, _)) = of_device[1..].iter().find(|(_, given)| *given)
        {
            return misfit(*word, "leave it out: the number in ppr says how many processes share a device");
        }
        if !matches!(by, Some(MapBy::Device(_) | MapBy::PerDevice(..)))
            && let Some((word, _)) = of_device.into_iter().find(|(_, given)| *given)
        {
            return misfit(word, "leave it out, or map by a device, as device=gpu");
        }
        if said.ordered && !matches!(by, Some(MapBy::PeList(_))) {
            return misfit("ORDERED", "leave it out, or map by a list of processors, as pe-list=0,3,5-6:ORDERED");
        }
        if said.whole.file.is_some() && !matches!(by, Some(MapBy::Seq(_) | MapBy::RankFile(_))) {
            return misfit("FILE", "leave it out, or say what the file is, as seq:FILE=path or rankfile:FILE=path");
        }
        if matches!(by, Some(MapBy::RankFile(_))) && said.whole.file.is_none() {
            return Err(self.error(Problem::NoRankfile));
        }
        if said.whole.pes.is_some() && !by.is_none_or(has_pes) {
            return misfit("PE", "leave it out: the processors of each process are in the list or file");
        }
        if said.whole.span && !by.is_none_or(may_have_span) {
            return misfit("SPAN", "leave it out, or map by an object of the nodes, as package:SPAN");
        }
        Ok(())
    }
}

/// A policy under which `PE=n` means something.
pub(super) fn has_pes(by: &MapBy) -> bool {
    !matches!(by, MapBy::PeList(_) | MapBy::RankFile(_))
}

/// A policy that `SPAN` changes.
pub(super) fn has_span(by: &MapBy) -> bool {
    matches!(by, MapBy::Object(_) | MapBy::Device(_))
}

/// A policy behind which `SPAN` may be written. Scripts of the field have it behind `slot` and `node` as well; the
/// reference shows it in the map there, and places as without it.
fn may_have_span(by: &MapBy) -> bool {
    has_span(by) || matches!(by, MapBy::Slot | MapBy::Node)
}

fn policy_word(by: &MapBy) -> &'static str {
    match by {
        MapBy::Slot => "slot",
        MapBy::Node => "node",
        MapBy::Object(_) => "an object",
        MapBy::PerNode(_) | MapBy::PerObject(..) | MapBy::PerDevice(..) => "ppr",
        MapBy::Seq(_) => "seq",
        MapBy::RankFile(_) => "rankfile",
        MapBy::PeList(_) => "pe-list",
        MapBy::Device(_) => "device",
    }
}

impl Said {
    fn finish(mut self) -> MapDirective {
        match &mut self.whole.by {
            Some(MapBy::PeList(list)) => list.ordered = self.ordered,
            Some(MapBy::Device(device)) => {
                device.interleave = self.interleave;
                device.shared = self.shared == Some(true);
                device.per_process = self.per_process.unwrap_or(1);
            }
            Some(MapBy::PerDevice(_, device)) => device.interleave = self.interleave,
            _ => {}
        }
        self.whole
    }
}
