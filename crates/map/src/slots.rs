//! Slots of a node for which none are stated (`prte_set_default_slots`).

use std::str::FromStr;

use ferrite_types::{ObjectKind, Topology};
use thiserror::Error;

/// The objects that count as slots when no number is stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DefaultSlots {
    /// One per core that may be used.
    #[default]
    Cores,
    /// One per object of another kind.
    Objects(ObjectKind),
    /// This number on every node.
    Fixed(u32),
}

/// A value that `prte_set_default_slots` does not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "parameter prte_set_default_slots has the value {0:?}, but it must be cores, packages, numas, hwthreads or a number of slots"
)]
pub struct DefaultSlotsError(String);

impl FromStr for DefaultSlots {
    type Err = DefaultSlotsError;
    fn from_str(text: &str) -> Result<Self, DefaultSlotsError> {
        Ok(match text.trim().to_ascii_lowercase().as_str() {
            "cores" | "core" => DefaultSlots::Cores,
            "packages" | "package" | "sockets" | "socket" => DefaultSlots::Objects(ObjectKind::Package),
            "numas" | "numa" => DefaultSlots::Objects(ObjectKind::Numa),
            "hwthreads" | "hwthread" => DefaultSlots::Objects(ObjectKind::HwThread),
            number => DefaultSlots::Fixed(number.parse().map_err(|_| DefaultSlotsError(text.to_owned()))?),
        })
    }
}

impl DefaultSlots {
    /// Returns the slots of a node of this topology, at least one, also when the topology is unknown.
    #[must_use]
    pub fn count(self, topology: &Topology) -> u32 {
        let usable = |kind| {
            let objects = topology.of_kind(kind).iter();
            objects.filter(|o| o.cpus.intersects(&topology.allowed)).count()
        };
        let counted = match self {
            DefaultSlots::Cores if topology.of_kind(ObjectKind::Core).is_empty() => topology.allowed.len(),
            DefaultSlots::Cores => topology.usable_cores(),
            DefaultSlots::Objects(kind) => usable(kind),
            DefaultSlots::Fixed(n) => return n,
        };
        u32::try_from(counted.max(1)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_counted_from_what_may_be_used() {
        let mut node = Topology::uniform(2, 4, 2);
        assert_eq!(DefaultSlots::Cores.count(&node), 8);
        assert_eq!("hwthreads".parse::<DefaultSlots>().unwrap().count(&node), 16);
        assert_eq!("Packages".parse::<DefaultSlots>().unwrap().count(&node), 2);
        assert_eq!("3".parse::<DefaultSlots>().unwrap().count(&node), 3);
        node.allowed = [0, 1, 2].into_iter().collect();
        assert_eq!(DefaultSlots::Cores.count(&node), 2);
        assert_eq!(DefaultSlots::Cores.count(&Topology::default()), 1);
        assert!("x".parse::<DefaultSlots>().is_err());
    }
}
