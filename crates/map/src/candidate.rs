//! A node on which processes of a job may be placed: its slots, and how many of them are left.

use std::collections::BTreeMap;

use ferrite_types::resources::Amounts;
use ferrite_types::{BindTo, CpuKind, DeviceRequest, NodeRecord, ObjectKind};

use crate::device::groups;
use crate::occupancy::{Occupancy, Taken};
use crate::units::usable;

/// A node on which processes of the job may be placed.
pub(crate) struct Candidate<'a> {
    pub(crate) record: &'a NodeRecord,
    /// Processes of this job so far.
    pub(crate) placed: u32,
    /// What these processes take of its resources.
    pub(crate) taken: Amounts,
}

impl<'a> Candidate<'a> {
    pub(crate) fn new(record: &'a NodeRecord) -> Candidate<'a> {
        Candidate { record, placed: 0, taken: Amounts::new() }
    }

    /// Adds processes that take this of its resources.
    pub(crate) fn take(&mut self, count: u32, takes: &Amounts) {
        self.placed += count;
        for (resource, amount) in takes {
            let taken = self.taken.entry(resource.clone()).or_default();
            *taken = taken.saturating_add(amount.saturating_mul(u64::from(count)));
        }
    }

    /// Removes all processes of this job.
    pub(crate) fn clear(&mut self) {
        self.placed = 0;
        self.taken.clear();
    }

    /// Returns the number of processes that find what each takes of its resources; `None` = any number.
    pub(crate) fn resource_room(&self, takes: &Amounts, occupancy: &Occupancy) -> Option<u32> {
        occupancy.room_beside(self.record, takes, &self.taken)
    }

    /// Returns its slots. Without a stated number, a job that counts hardware threads has one for each of them.
    pub(crate) fn slots(&self, cpus: CpuKind) -> u32 {
        slots_for(self.record, cpus)
    }

    /// Returns the number of free slots, and the number of processes that fit (`max_slots`).
    pub(crate) fn free_and_room(&self, cpus: CpuKind) -> (u32, u32) {
        let NodeRecord { max_slots, slots_inuse, .. } = *self.record;
        let max = if max_slots == 0 { u32::MAX } else { max_slots };
        let taken = slots_inuse.saturating_add(self.placed);
        let room = max.saturating_sub(taken);
        (self.slots(cpus).saturating_sub(taken).min(room), room)
    }

    /// True when it has more processes than slots.
    pub(crate) fn is_over(&self, cpus: CpuKind) -> bool {
        self.record.slots_inuse.saturating_add(self.placed) > self.slots(cpus) && self.placed > 0
    }

    /// Returns the number of usable objects of a kind.
    pub(crate) fn usable(&self, kind: ObjectKind) -> u32 {
        usable(&self.record.topology, kind).count() as u32
    }

    /// Returns the number of free devices, or of groups of them, that were asked for.
    pub(crate) fn devices(&self, request: &DeviceRequest, taken: &Taken) -> u32 {
        let groups = groups(&self.record.topology, request, BindTo::None, &taken.devices);
        groups.map_or(0, |groups| groups.len() as u32)
    }
}

/// Returns the slots of a node; see [`Candidate::slots`].
pub(crate) fn slots_for(record: &NodeRecord, cpus: CpuKind) -> u32 {
    let counted = cpus == CpuKind::HwThread && !record.slots_given;
    if counted { record.slots.max(usable(&record.topology, ObjectKind::HwThread).count() as u32) } else { record.slots }
}

/// The numbers of the candidates, by the positions of their nodes.
pub(crate) enum Numbers {
    /// So a job on one of many nodes does not pay for all of them.
    Few(BTreeMap<usize, usize>),
    /// A number for each node, counted from 1; 0 = none.
    Many(Vec<u32>),
}

impl Numbers {
    /// For a job that may use `few` of `all` nodes. Below this share the map is smaller than the list.
    pub(crate) fn new(few: usize, all: usize) -> Numbers {
        if few < all / 16 { Numbers::Few(BTreeMap::new()) } else { Numbers::Many(vec![0; all]) }
    }

    /// Returns the number at a position; a position without one gets the `next`.
    pub(crate) fn of(&mut self, at: usize, next: usize) -> usize {
        match self {
            Numbers::Few(numbers) => *numbers.entry(at).or_insert(next),
            Numbers::Many(numbers) => {
                if numbers[at] == 0 {
                    numbers[at] = next as u32 + 1;
                }
                numbers[at] as usize - 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_comes_again_keeps_its_number() {
        for (few, is_few) in [(5, true), (6, true), (7, false), (100, false)] {
            let mut numbers = Numbers::new(few, 112);
            assert_eq!(matches!(numbers, Numbers::Few(_)), is_few, "{few}");
            let mut next = 0;
            let mut number = |at: usize| {
                let number = numbers.of(at, next);
                next = next.max(number + 1);
                number
            };
            assert_eq!([111, 0, 111, 7, 0].map(&mut number), [0, 1, 0, 2, 1]);
        }
    }
}
