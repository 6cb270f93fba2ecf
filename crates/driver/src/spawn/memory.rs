//! The memory policy of a bound process (`ferrite_mem_policy`). Only [`super::Spawner`] uses it, and makes the system
//! call.

use std::ffi::{c_int, c_ulong};

use ferrite_types::{CpuSet, ObjectKind, Topology};

/// `set_mempolicy(2)`: prefers several domains; since Linux 5.15.
pub(super) const PREFERRED_MANY: c_int = 5;

/// The values of `ferrite_mem_policy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    /// Memory comes from the process's domains as long as they have some.
    Local,
    /// Memory comes from the process's domains only.
    Bind,
}

/// The policy, and the memory domains of the machine.
#[derive(Debug)]
pub(crate) struct MemoryPolicy {
    policy: Policy,
    domains: Vec<(u32, CpuSet)>,
}

impl MemoryPolicy {
    /// Reads the parameter; `None` = the system decides, as for any program.
    pub(crate) fn of(value: Option<&str>, topology: &Topology) -> Option<MemoryPolicy> {
        let policy = match value?.trim().to_ascii_lowercase().as_str() {
            "local" => Policy::Local,
            "bind" => Policy::Bind,
            _ => return None,
        };
        let domains = topology.of_kind(ObjectKind::Numa).iter().map(|d| (d.os_index, d.cpus.clone())).collect();
        Some(MemoryPolicy { policy, domains })
    }

    /// Returns the request for a process that is bound to these processors; `None` when they are in no domain.
    pub(super) fn request(&self, cpus: &CpuSet) -> Option<MemoryRequest> {
        let mut mask: Vec<c_ulong> = Vec::new();
        let mut count = 0;
        for (domain, _) in self.domains.iter().filter(|(_, own)| own.intersects(cpus)) {
            let word = *domain as usize / c_ulong::BITS as usize;
            mask.resize(mask.len().max(word + 1), 0);
            mask[word] |= 1 << (domain % c_ulong::BITS);
            count += 1;
        }
        let mode = match self.policy {
            Policy::Bind => libc::MPOL_BIND,
            // One domain can be preferred on any kernel.
            Policy::Local if count == 1 => libc::MPOL_PREFERRED,
            Policy::Local => PREFERRED_MANY,
        };
        (count > 0).then_some(MemoryRequest { mode, mask })
    }
}

/// The memory policy that the child sets in the kernel.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MemoryRequest {
    pub(super) mode: c_int,
    pub(super) mask: Vec<c_ulong>,
}

impl MemoryRequest {
    /// Returns the number of bits of the mask plus one: the kernel subtracts one.
    pub(super) fn bits(&self) -> c_ulong {
        (self.mask.len() * c_ulong::BITS as usize + 1) as c_ulong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_gets_memory_of_the_domains_that_it_is_bound_in() {
        let machine = Topology::uniform(3, 2, 1);
        let asked = |value, cpus: &[u32]| {
            let policy = MemoryPolicy::of(Some(value), &machine)?;
            policy.request(&cpus.iter().copied().collect()).map(|r| (r.mode, r.mask))
        };
        assert_eq!(asked("local", &[2, 3]), Some((libc::MPOL_PREFERRED, vec![0b10])));
        assert_eq!(asked("local", &[0, 5]), Some((PREFERRED_MANY, vec![0b101])));
        assert_eq!(asked("Bind", &[0, 2]), Some((libc::MPOL_BIND, vec![0b11])));
        assert_eq!(asked("local", &[99]), None);
        assert_eq!(asked("none", &[0]), None);
        assert!(MemoryPolicy::of(None, &machine).is_none());
    }

    #[test]
    fn a_domain_of_a_high_number_has_its_word() {
        let mut machine = Topology::uniform(1, 1, 1);
        machine.objects.iter_mut().filter(|(kind, _)| *kind == ObjectKind::Numa).for_each(|(_, l)| l[0].os_index = 64);
        let policy = MemoryPolicy::of(Some("local"), &machine).unwrap();
        let request = policy.request(&[0].into_iter().collect()).unwrap();
        assert_eq!((request.bits(), request.mask), (129, vec![0, 1]));
    }
}
