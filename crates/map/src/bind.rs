//! Chooses the hardware threads of a process: the first target inside of the object that it was mapped onto which has a
//! free processor.

use ferrite_types::CpuSet;

use crate::shape::Shape;
use crate::units::Units;

/// The processors that one policy has bound on one node so far.
#[derive(Clone, Debug)]
pub(crate) struct Binder {
    /// Processes on each target.
    load: Vec<u32>,
    /// For each object, where in its list of targets to look next.
    cursor: Vec<usize>,
}

/// No target of the object has a free processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl Binder {
    pub(crate) fn new(shape: &Shape) -> Binder {
        Binder { load: vec![0; shape.targets.len()], cursor: vec![0; shape.inside.len()] }
    }

    /// Binds one more process that was mapped onto `object`. With `overload` it shares the least loaded target when
    /// none is free; `limit` applies in any case.
    pub(crate) fn bind<'s>(
        &mut self,
        shape: &'s Shape,
        object: u32,
        overload: bool,
        limit: Option<u16>,
    ) -> Result<&'s CpuSet, Full> {
        let object = object as usize;
        let inside = shape.inside.get(object).ok_or(Full)?;
        let cursor = &mut self.cursor[object];
        let full = |load: &[u32], target: u32| load[target as usize] >= shape.targets[target as usize].capacity;
        while inside.get(*cursor).is_some_and(|target| full(&self.load, *target)) {
            *cursor += 1;
        }
        let free = inside.get(*cursor).copied();
        let at_limit = |target: &u32| limit.is_some_and(|limit| self.load[*target as usize] >= u32::from(limit));
        let shared = || inside.iter().copied().filter(|t| !at_limit(t)).min_by_key(|t| self.load[*t as usize]);
        let target = free.or_else(|| if overload { shared() } else { None }).ok_or(Full)?;
        self.load[target as usize] += 1;
        Ok(&shape.targets[target as usize].cpus)
    }

    /// Returns the used processors: one of its target for each process, or the whole target when it is a group of its
    /// own (`whole`).
    pub(crate) fn used(&self, shape: &Shape, units: &Units, whole: bool) -> CpuSet {
        let mut used = CpuSet::new();
        for (target, load) in shape.targets.iter().zip(&self.load).filter(|(_, load)| **load > 0) {
            if whole {
                used.union_with(&target.cpus);
            } else {
                let free = units.inside(&target.cpus, true);
                used.union_with(&units.cpus_of(&free[..free.len().min(*load as usize)]));
            }
        }
        used
    }
}
