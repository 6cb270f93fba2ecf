//! Choice of nodes for a grow that names none: a number of nodes, or as many nodes as give a number of slots. A
//! resource manager may grant the nodes that the pool lacks.

use ferrite_types::{NodeId, SessionId, SlotCount};
use ferrite_wire::GrowRequest;

use super::grow::Wanted;
use super::plan::Reason;
use crate::head::Head;
use crate::pmix_status::{PMIX_ERR_BAD_PARAM, PMIX_ERR_NOT_SUPPORTED, PMIX_ERR_OUT_OF_RESOURCE};

impl Head {
    /// Chosen nodes of the pool, and the number of further nodes that a manager has to grant (spec S9).
    pub(super) fn of_our_choice(
        &self,
        request: &GrowRequest,
        wanted: &[Wanted<'_>],
        session: Option<SessionId>,
    ) -> Result<(Vec<NodeId>, u32), Reason> {
        request.queue.as_ref().map_or(Ok(()), |queue| self.check_has_queues(queue))?;
        let slots_and_more = request.slots > 0 && (request.count > 0 || !wanted.is_empty());
        if slots_and_more || (request.queue.is_some() && !wanted.is_empty()) {
            let cause = "Name nodes, or a number of them, or a number of slots; a queue goes with a number.";
            return Err(Reason::new(PMIX_ERR_BAD_PARAM, cause));
        }
        // A queue gives its own nodes.
        let spare = self.idle_nodes(wanted, session).filter(|_| request.queue.is_none());
        let (spare, more) = match request.slots {
            0 => {
                let spare: Vec<NodeId> = spare.take(request.count as usize).collect();
                let more = request.count - spare.len() as u32;
                (spare, more)
            }
            slots => self.with_slots(spare, slots),
        };
        if more > 0 && self.elastic_manager().is_none() {
            return Err(self.too_few(request, &spare));
        }
        Ok((spare, more))
    }

    /// The refusal of a request that needs more nodes than the pool has.
    pub(in crate::head) fn too_few(&self, request: &GrowRequest, spare: &[NodeId]) -> Reason {
        let cause = match (request.slots, request.count) {
            (0, 1) => "1 more node is asked for, and the allocation has none without a daemon.".to_owned(),
            (0, count) => {
                let has = spare.len();
                format!("{count} more nodes are asked for, and the allocation has {has} without a daemon.")
            }
            (slots, _) => {
                let has: u32 = spare.iter().map(|node| self.slots_to_come(*node)).sum();
                format!(
                    "{slots} more slots are asked for, and the nodes of the allocation without a daemon have {has}."
                )
            }
        };
        Reason::new(PMIX_ERR_OUT_OF_RESOURCE, format!("{cause} Name others with --host."))
    }

    fn check_has_queues(&self, queue: &str) -> Result<(), Reason> {
        if self.elastic_manager().is_some() {
            return Ok(());
        }
        let cause =
            format!("Queue {queue:?} is asked for, and no resource manager with queues gives this DVM its nodes.");
        Err(Reason::new(PMIX_ERR_NOT_SUPPORTED, cause))
    }

    /// The first of these nodes that together have the slots, and the number of further nodes needed.
    fn with_slots(&self, spare: impl Iterator<Item = NodeId>, slots: u32) -> (Vec<NodeId>, u32) {
        let (mut left, mut chosen) = (slots, Vec::new());
        for node in spare {
            if left == 0 {
                break;
            }
            left = left.saturating_sub(self.slots_to_come(node));
            chosen.push(node);
        }
        (chosen, left.div_ceil(self.usual_slots()))
    }

    /// Expected slots of a node without a daemon: stated or earlier slots; a node never seen counts like the others.
    fn slots_to_come(&self, node: NodeId) -> u32 {
        let record = self.pool.record(node);
        let before = if record.slots_given { record.slots } else { self.pool.usual_slots(&record.topology) };
        match (record.slots_given, record.topology.usable_cores()) {
            (false, 0) => self.usual_slots(),
            _ => before.max(1),
        }
    }

    /// The slots of each initial node if all have as many, else those of a machine like the head's.
    fn usual_slots(&self) -> u32 {
        self.slots_of_all().unwrap_or_else(|| self.pool.usual_slots(&self.local.topology)).max(1)
    }

    /// The slots of each initial node, if all have as many.
    pub(super) fn slots_of_all(&self) -> Option<u32> {
        let given = |host: &ferrite_types::HostEntry| match host.slots {
            SlotCount::Given(slots) => Some(slots),
            SlotCount::FromCores => None,
        };
        let mut all = self.config.allocation.nodes.iter().map(given);
        let first = all.next().flatten()?;
        all.all(|slots| slots == Some(first)).then_some(first)
    }

    /// Nodes of the pool that this session may use, that have no daemon and that no host of the request names.
    fn idle_nodes<'a>(
        &'a self,
        wanted: &'a [Wanted<'_>],
        session: Option<SessionId>,
    ) -> impl Iterator<Item = NodeId> + 'a {
        let named = |id: NodeId| wanted.iter().any(|wanted| wanted.at.node() == Some(id));
        let for_others = move |id: NodeId| self.withheld_for(id).any(|other| Some(other) != session);
        let is_free = move |id: &NodeId| {
            let promised = self.elastic.campaigns.of_node(*id).is_some() || self.elastic.extensions.awaits(*id);
            !named(*id) && !promised && !for_others(*id)
        };
        self.pool.without_daemon().filter(is_free)
    }
}
