//! A node on which processes of a job may be placed: its slots, and how many of them are left.

use ferrite_types::{BindTo, CpuKind, DeviceRequest, NodeRecord, ObjectKind};

use crate::device::groups;
use crate::units::usable;

/// A node on which processes of the job may be placed.
pub(crate) struct Candidate<'a> {
    pub(crate) record: &'a NodeRecord,
    /// Processes of this job so far.
    pub(crate) placed: u32,
}

impl<'a> Candidate<'a> {
    pub(crate) fn new(record: &'a NodeRecord) -> Candidate<'a> {
        Candidate { record, placed: 0 }
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

    /// Returns the number of devices, or of groups of them, that were asked for.
    pub(crate) fn devices(&self, request: &DeviceRequest) -> u32 {
        groups(&self.record.topology, request, BindTo::None).map_or(0, |groups| groups.len() as u32)
    }
}

/// Returns the slots of a node; see [`Candidate::slots`].
pub(crate) fn slots_for(record: &NodeRecord, cpus: CpuKind) -> u32 {
    let counted = cpus == CpuKind::HwThread && !record.slots_given;
    if counted { record.slots.max(usable(&record.topology, ObjectKind::HwThread).count() as u32) } else { record.slots }
}
