//! Which hardware threads a process gets: the first thing to bind to, inside of the object that it
//! was mapped onto, that still has a free core.

use ferrite_types::CpuSet;

use crate::shape::Shape;

/// What the job has bound on one node so far.
#[derive(Clone, Debug)]
pub(crate) struct Binder {
    /// Processes on each target.
    load: Vec<u32>,
    /// For each object, where in its list of targets to look next.
    cursor: Vec<usize>,
}

/// No target of the object has a free core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl Binder {
    pub(crate) fn new(shape: &Shape) -> Binder {
        Binder { load: vec![0; shape.targets.len()], cursor: vec![0; shape.inside.len()] }
    }

    /// Binds one more process that was mapped onto `object`. With `overload`, the least loaded
    /// target is shared when none is free.
    pub(crate) fn bind<'s>(&mut self, shape: &'s Shape, object: u32, overload: bool) -> Result<&'s CpuSet, Full> {
        let object = object as usize;
        let inside = shape.inside.get(object).ok_or(Full)?;
        let cursor = &mut self.cursor[object];
        let full = |load: &[u32], target: u32| load[target as usize] >= shape.targets[target as usize].capacity;
        while inside.get(*cursor).is_some_and(|target| full(&self.load, *target)) {
            *cursor += 1;
        }
        let free = inside.get(*cursor).copied();
        let shared = || inside.iter().copied().min_by_key(|target| self.load[*target as usize]);
        let target = free.or_else(|| shared().filter(|_| overload)).ok_or(Full)?;
        self.load[target as usize] += 1;
        Ok(&shape.targets[target as usize].cpus)
    }
}

#[cfg(test)]
mod tests {
    use ferrite_types::{BindTo, ObjectKind, Topology};

    use super::*;

    #[test]
    fn free_cores_first_then_nothing_unless_overload_is_allowed() {
        let shape = Shape::new(&Topology::uniform(1, 2, 1), None, BindTo::Object(ObjectKind::Core), &CpuSet::new());
        let mut binder = Binder::new(&shape);
        let mut next = |overload| binder.bind(&shape, 0, overload).map(ToString::to_string);
        assert_eq!(next(false), Ok("0".into()));
        assert_eq!(next(false), Ok("1".into()));
        assert_eq!(next(false), Err(Full));
        assert_eq!(next(true), Ok("0".into()));
        assert_eq!(next(true), Ok("1".into()));
    }
}
