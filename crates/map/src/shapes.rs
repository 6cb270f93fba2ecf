//! The shapes of machines for one placement policy: each is made once for all equal machines with the same processors
//! and devices taken.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use ferrite_types::{NodeRecord, Topology};

use crate::occupancy::Taken;
use crate::placement_policy::PlacementPolicy;
use crate::shape::{Lists, Shape};

/// The shapes for one policy.
pub(crate) struct Shapes<'a> {
    policy: PlacementPolicy,
    lists: Lists<'a>,
    known: BTreeMap<(*const Topology, Taken), Rc<Shape>>,
}

impl<'a> Shapes<'a> {
    /// No shape is known yet. `lists` are those of the request that the policy came from.
    pub(crate) fn new(policy: PlacementPolicy, lists: Lists<'a>) -> Shapes<'a> {
        Shapes { policy, lists, known: BTreeMap::new() }
    }

    /// The policy that they are for.
    pub(crate) fn policy(&self) -> &PlacementPolicy {
        &self.policy
    }

    /// Returns the shape of a node's machine, of which this is taken.
    pub(crate) fn of(&mut self, node: &NodeRecord, taken: Taken) -> Rc<Shape> {
        let Shapes { policy, lists, known } = self;
        let make = |(_, taken): &(_, Taken)| Rc::new(Shape::new(&node.topology, policy, *lists, taken));
        known.entry((Arc::as_ptr(&node.topology), taken)).or_insert_with_key(make).clone()
    }
}
