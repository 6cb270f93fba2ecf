//! What requests say of allocations, found among the sessions and what is on its way to them. It changes nothing.

use std::collections::BTreeSet;

use ferrite_types::NodeId;

use super::Head;
use super::campaigns::Trouble;
use crate::pmix_status::PMIX_ERR_NOT_FOUND;

impl Head {
    /// The session of the allocation that somebody means: by its id, or by the name that its requester gave it, if that fits
    /// no other.
    pub(super) fn allocation_named(&self, name: &str) -> Result<u32, Trouble> {
        if let Some(id) = self.sessions.find(name) {
            return Ok(id);
        }
        match self.sessions.called(name)[..] {
            [id] => Ok(id),
            [] => Err(Trouble::new(PMIX_ERR_NOT_FOUND, format!("There is no allocation {name}."))),
            [..] => {
                let cause = format!("There are several allocations called {name}. Name one of them by its id.");
                Err(Trouble::new(PMIX_ERR_NOT_FOUND, cause))
            }
        }
    }

    /// The id of a session's allocation and its nodes. What is still on its way belongs to it, so that a request may be taken
    /// back before it is true.
    pub(super) fn allocation_of(&self, session: u32) -> (String, BTreeSet<NodeId>) {
        let Some(session) = self.sessions.get(session) else { return (String::new(), BTreeSet::new()) };
        let coming = self.campaigns.coming().filter(|campaign| campaign.alloc_id == session.alloc_id);
        let nodes = coming.flat_map(|campaign| &campaign.nodes).chain(&session.nodes);
        (session.alloc_id.clone(), nodes.copied().collect())
    }

    /// The allocation that nodes belong to, or will, for an answer: the first one's, or the DVM's own.
    pub(super) fn alloc_id_of(&self, nodes: &[NodeId]) -> String {
        let there = nodes.first().and_then(|node| self.sessions.of_node(*node)).map(|session| &session.alloc_id);
        let coming = self.campaigns.coming().find(|campaign| nodes.first().is_some_and(|n| campaign.nodes.contains(n)));
        there.or(coming.map(|campaign| &campaign.alloc_id)).unwrap_or(&self.config.dvm).clone()
    }
}
