//! Nodes of the DVM that the manager grants a second time. It shares them between jobs, or it has ended the job that
//! they came with, and the head has yet to hear that their daemons are gone. The head cannot tell which: what runs
//! there goes on, and when its daemon has gone the node is given up, so that no daemon is started on a node of others.

use ferrite_types::{HostEntry, NodeId};

use crate::cx::Cx;
use crate::head::Head;

impl Head {
    /// A grant that is not taken in has some nodes of the DVM (spec E40).
    pub(super) fn doubt(&mut self, hosts: &[HostEntry], cx: &mut Cx) {
        let ours = hosts.iter().filter_map(|host| self.pool.find(&host.name));
        let ours: Vec<NodeId> = ours.filter(|node| self.elastic.extensions.grants(*node)).collect();
        self.elastic.extensions.doubtful.extend(ours);
        self.settle_grants(cx);
    }

    /// Gives up the doubtful ones among nodes whose daemons have gone.
    pub(super) fn give_up_doubtful(&mut self, gone: &[NodeId]) {
        let doubtful = |node: &NodeId| self.elastic.extensions.doubtful.contains(node);
        let nodes: Vec<NodeId> = gone.iter().copied().filter(doubtful).collect();
        nodes.iter().for_each(|node| self.elastic.extensions.forget(*node));
        self.sessions.remove(&nodes);
        self.pool.put_outside(nodes);
    }
}
