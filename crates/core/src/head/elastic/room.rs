//! Room for more processes of an elastic job: a try places them as the job's spawn will be placed. So an offer
//! keeps slots with the processors, devices and resources that each of them takes (spec E54).

use ferrite_types::{JobId, JobMap, NodeId, NodeRecord};

use crate::head::Head;

impl Head {
    /// Places so many more processes of a job, on these nodes first (spec E74). Returns their map, or why they have no
    /// place.
    pub(super) fn place_new_members(&self, root: JobId, count: u32, first: &[NodeId]) -> Result<JobMap, String> {
        self.place_on_those_that_stay(root, count, first, &self.nodes_for(root))
    }

    /// The most processes of a job, up to `most`, that have a place at once.
    pub(super) fn most_new_members(&self, root: JobId, most: u32) -> u32 {
        let nodes = self.nodes_for(root);
        let (mut fit, mut misfit) = (0, most.min(free_slots(&nodes)) + 1);
        while misfit - fit > 1 {
            let count = fit + (misfit - fit) / 2;
            match self.place_on_those_that_stay(root, count, &[], &nodes) {
                Ok(_) => fit = count,
                Err(_) => misfit = count,
            }
        }
        fit
    }

    /// The free slots of the session in which a job spawns.
    pub(super) fn free_slots_for(&self, root: JobId) -> u32 {
        free_slots(&self.nodes_for(root))
    }

    fn place_on_those_that_stay(
        &self,
        root: JobId,
        count: u32,
        first: &[NodeId],
        nodes: &[NodeRecord],
    ) -> Result<JobMap, String> {
        let spec = self.jobs.spec_of_new_members(root, count, &self.params);
        let spec = spec.ok_or_else(|| format!("Job {root} is over."))?;
        self.try_placement(&spec, first, nodes)
    }

    /// The nodes of the session in which a job spawns. Those that are to leave have no daemon here.
    fn nodes_for(&self, root: JobId) -> Vec<NodeRecord> {
        let pool = self.pool_of(self.jobs.session_of_tree(root));
        let mut nodes = pool.unwrap_or_else(|| self.pool.records().to_vec());
        nodes.iter_mut().filter(|node| self.elastic.is_to_leave(node.id)).for_each(|node| node.daemon = None);
        nodes
    }
}

fn free_slots(nodes: &[NodeRecord]) -> u32 {
    let there = nodes.iter().filter(|node| node.daemon.is_some());
    there.map(|node| node.slots.saturating_sub(node.slots_inuse)).sum()
}
