//! Nodes in the order in which they are first named; a repeated name adds to its slots.

use std::collections::BTreeMap;

use ferrite_types::{HostEntry, SlotCount};

use super::error::Flaw;
use super::nodelist::MOST_NODES;
use crate::hostfile::LARGEST;
use crate::name::check_host;

#[derive(Default)]
pub(super) struct Nodes {
    counted: Vec<(String, u32)>,
    places: BTreeMap<String, usize>,
    /// True when a name was repeated.
    pub(super) repeated: bool,
}

impl Nodes {
    pub(super) fn add(&mut self, name: &str, slots: u32) -> Result<(), Flaw> {
        let name = check_host(name)?;
        if let Some(at) = self.places.get(name) {
            self.repeated = true;
            let sum = &mut self.counted[*at].1;
            *sum = sum.saturating_add(slots);
            return if *sum > LARGEST { Err(Flaw::TooManySlots(name.to_owned())) } else { Ok(()) };
        }
        if slots > LARGEST {
            return Err(Flaw::TooManySlots(name.to_owned()));
        }
        if self.counted.len() == MOST_NODES {
            return Err(Flaw::TooManyNodes);
        }
        self.places.insert(name.to_owned(), self.counted.len());
        self.counted.push((name.to_owned(), slots));
        Ok(())
    }

    /// Gives every node this number of slots.
    pub(super) fn set_all(&mut self, slots: u32) {
        self.counted.iter_mut().for_each(|(_, has)| *has = slots);
    }

    pub(super) fn finish(self) -> Result<Vec<HostEntry>, Flaw> {
        let entry =
            |(name, slots): (String, u32)| HostEntry { slots: SlotCount::Given(slots), ..HostEntry::named(&name) };
        match self.counted.is_empty() {
            true => Err(Flaw::NoNodes),
            false => Ok(self.counted.into_iter().map(entry).collect()),
        }
    }
}

/// Parses a number of slots.
pub(super) fn slots(text: &str) -> Result<u32, Flaw> {
    let number = text.parse().ok().filter(|number| (1..=LARGEST).contains(number));
    number.ok_or_else(|| Flaw::number(text, "a number of slots (1 to 65535)"))
}
