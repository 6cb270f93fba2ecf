//! The devices of a node that processes use: for themselves, or together with others.

use std::collections::{BTreeMap, BTreeSet};

/// The devices of a node that are in use, by their positions in the machine's list of devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeviceUse {
    devices: BTreeMap<u16, Users>,
}

/// The number of processes that use a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Users {
    /// Those of jobs that have it for themselves.
    alone: u32,
    /// Those of jobs that share it with everybody (`:SHARED`).
    sharing: u32,
}

impl Users {
    fn of(&mut self, shares: bool) -> &mut u32 {
        if shares { &mut self.sharing } else { &mut self.alone }
    }
}

impl DeviceUse {
    /// Adds a process with these devices.
    pub(crate) fn add(&mut self, devices: &[u16], shares: bool) {
        for device in devices {
            *self.devices.entry(*device).or_default().of(shares) += 1;
        }
    }

    /// Removes a process that was added.
    pub(crate) fn remove(&mut self, devices: &[u16], shares: bool) {
        for device in devices {
            let Some(users) = self.devices.get_mut(device) else { continue };
            let count = users.of(shares);
            debug_assert!(*count > 0, "a device was released more often than it was claimed");
            *count = count.saturating_sub(1);
            if *users == Users::default() {
                self.devices.remove(device);
            }
        }
    }

    /// Adds the devices that another job may not have: those in use, or, when it shares, those that somebody has alone.
    pub(crate) fn add_closed_to(&self, shares: bool, closed: &mut BTreeSet<u16>) {
        let is_closed = |users: &Users| users.alone > 0 || !shares;
        closed.extend(self.devices.iter().filter(|(_, users)| is_closed(users)).map(|(device, _)| *device));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_shares_keeps_out_who_does_not_and_who_is_alone_keeps_out_all() {
        let closed = |used: &DeviceUse, shares| {
            let mut closed = BTreeSet::new();
            used.add_closed_to(shares, &mut closed);
            closed.into_iter().collect::<Vec<u16>>()
        };
        let mut used = DeviceUse::default();
        used.add(&[0, 1], false);
        used.add(&[2], true);
        used.add(&[2], true);
        assert_eq!((closed(&used, false), closed(&used, true)), (vec![0, 1, 2], vec![0, 1]));
        used.remove(&[2], true);
        used.remove(&[0, 1], false);
        assert_eq!((closed(&used, false), closed(&used, true)), (vec![2], vec![]));
        used.remove(&[2], true);
        assert_eq!(used, DeviceUse::default());
    }
}
