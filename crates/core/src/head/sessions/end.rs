//! Ends of sessions: by order, at the time limit, with the owner, with the parent session, or when nothing of them is
//! left. `registry.rs` has the sessions themselves.

use std::collections::BTreeSet;

use ferrite_types::{CampaignKind, DaemonRank, JobState, NodeId, SessionId};

use super::session::Session;
use crate::HeadTimer;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::dvm::INTERRUPTED;
use crate::head::elastic::{Change, Plan, Requester};

impl Head {
    /// Ends a session, its jobs and the sessions that depend on it. The nodes that it has brought leave the DVM, and
    /// nodes on their way do not come (spec S22).
    pub(super) fn end_session(&mut self, id: SessionId, why: &str, cx: &mut Cx) {
        let (mut shrinks, mut allocations) = (Vec::new(), Vec::new());
        for id in self.sessions.family_of(id).into_iter().rev() {
            for job in self.jobs.in_session(id) {
                self.fail_job(job, JobState::KilledByCmd, INTERRUPTED, format!("{why}\nJob {job} was ended."), cx);
            }
            cx.cancel_timer(HeadTimer::Session(id));
            self.withdraw_of_session(id, why, cx);
            let Some(session) = self.sessions.known.remove(&id).filter(|session| !session.shares()) else { continue };
            allocations.push(session.alloc_id.clone());
            let leaves = |node: &NodeId| session.nodes.is_brought(*node) && self.may_leave(*node);
            let nodes: Vec<NodeId> = session.nodes.all().iter().copied().filter(leaves).collect();
            if !nodes.is_empty() {
                let plan = Plan {
                    change: Change::shrink(BTreeSet::new(), None, true),
                    alloc_id: session.alloc_id,
                    req_id: session.req_id,
                    is_requested: false,
                    nodes,
                };
                shrinks.push(self.open_campaign(plan, Requester::Nobody, cx));
            }
        }
        // The fence stays up, so that no job is mapped in between.
        allocations.iter().for_each(|alloc_id| self.recall(alloc_id, why, cx));
        shrinks.iter().for_each(|campaign| self.proceed(*campaign, cx));
        if shrinks.is_empty() {
            self.serve_queue(cx);
        }
    }

    /// True for a node whose daemon was lost, and that neither comes again nor leaves.
    fn is_lost(&self, node: NodeId) -> bool {
        self.pool.record(node).daemon.is_none() && self.elastic.change_of(node).is_none()
    }

    /// Drops lost nodes from a session; they are not given back.
    pub(in crate::head) fn forget_lost_nodes(&mut self, id: SessionId) {
        let session = self.sessions.expect(id);
        let lost: Vec<NodeId> = session.nodes.all().iter().copied().filter(|node| self.is_lost(*node)).collect();
        self.sessions.expect_mut(id).nodes.remove(|node| lost.contains(node));
    }

    /// True for a node that is up, is not the head's and is not leaving.
    fn may_leave(&self, node: NodeId) -> bool {
        let leaving = self.elastic.change_of(node) == Some(CampaignKind::Shrink);
        !leaving && self.pool.record(node).daemon.is_some_and(|rank| rank != DaemonRank::HEAD)
    }

    /// Removes sessions without jobs, nodes, and nodes to come. Lost nodes do not count (spec S24).
    pub(in crate::head) fn sweep_sessions(&mut self, cx: &mut Cx) {
        let empty = |(id, session): &(&SessionId, &Session)| {
            let is_empty = session.nodes.all().iter().all(|node| self.is_lost(*node));
            is_empty && !self.elastic.concerns(&session.alloc_id) && self.jobs.in_session(**id).is_empty()
        };
        let ended: Vec<SessionId> = self.sessions.known.iter().filter(empty).map(|(id, _)| *id).collect();
        for id in ended {
            // Sessions that were made in it end with it.
            if self.sessions.has(id) {
                self.end_session(id, &format!("Session {id} is over."), cx);
            }
        }
    }
}
