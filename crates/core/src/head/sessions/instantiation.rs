//! Sessions that a scheduler makes under a number of its choice (`PMIX_SESSION_INSTANTIATE`): with nodes of their
//! own, which a grow campaign brings, or on an existing allocation. A session of the second kind shares the nodes:
//! jobs run there, and its end leaves the nodes with the allocation.

use std::collections::BTreeSet;

use ferrite_types::{AllocId, CampaignId, DaemonRank, NodeId, SessionId, StdinTarget};
use ferrite_wire::control::{Reply, SessionChoice, SessionDirective, SessionOrder, Submission};
use ferrite_wire::{DaemonMessage, GrowRequest, SessionTerms};

use super::registry::Sessions;
use crate::RequestId;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::elastic::{Change, GrowPlan, Joins, Plan, Reason, Requester};
use crate::pmix_status::{
    PMIX_ERR_BAD_PARAM, PMIX_ERR_EXISTS, PMIX_ERR_INVALID_OPERATION, PMIX_ERR_NOT_FOUND, PMIX_ERR_NOT_SUPPORTED,
    PMIX_ERR_UNREACH,
};

/// The nodes on which a session is made.
enum Ground {
    /// Nodes of an existing allocation, with the session that owns them; `None` = the DVM's own.
    Shared { alloc_id: AllocId, owner: Option<SessionId>, nodes: BTreeSet<NodeId> },
    /// Nodes for this session alone.
    Own,
}

impl Sessions {
    /// The present nodes of an allocation; nodes to come may never arrive.
    fn allocation_as_ground(&self, owner: SessionId) -> Result<(AllocId, Option<SessionId>, BTreeSet<NodeId>), Reason> {
        let session = self.get(owner).filter(|session| !session.nodes.all().is_empty());
        let Some(session) = session else {
            let cause = "The nodes of the allocation have not come yet. Try again when they are there.";
            return Err(Reason::new(PMIX_ERR_INVALID_OPERATION, cause));
        };
        Ok((session.alloc_id.clone(), Some(owner), session.nodes.all().clone()))
    }
}

impl Head {
    /// Handles `pdvm session instantiate`; the reply comes when the session is there.
    pub(super) fn instantiate_for_client(
        &mut self,
        id: RequestId,
        choice: &SessionChoice,
        wish: &GrowRequest,
        cx: &mut Cx,
    ) {
        let number = match choice {
            SessionChoice::Id(number) => *number,
            SessionChoice::Default | SessionChoice::Alloc(_) | SessionChoice::Ref(_) => SessionId::ALL,
        };
        match self.instantiate(number, wish, None, Requester::OrderedBy(id), cx) {
            Ok(None) => cx.reply(id, Reply::Ordered),
            Ok(Some(campaign)) => self.proceed(campaign, cx),
            Err(Reason { cause, .. }) => cx.reply(id, Reply::Refused(cause)),
        }
    }

    /// Handles the order of a process or tool at `daemon`.
    pub(super) fn instantiate_for_daemon(
        &mut self,
        daemon: DaemonRank,
        id: u64,
        order: &SessionOrder,
        wish: &GrowRequest,
        cx: &mut Cx,
    ) {
        let (number, requester) = (order.session.unwrap_or(SessionId::ALL), Requester::OrderedAt(daemon, id));
        let result = match self.instantiate(number, wish, order.job.clone(), requester, cx) {
            Ok(Some(campaign)) => return self.proceed(campaign, cx),
            Ok(None) => Ok(()),
            Err(Reason { status, .. }) => Err(status),
        };
        cx.send(daemon, DaemonMessage::SessionReply { id, result });
    }

    /// Makes the session, at once or with a campaign for its nodes. A refused order changes nothing (spec S31).
    fn instantiate(
        &mut self,
        number: SessionId,
        wish: &GrowRequest,
        job: Option<Box<Submission>>,
        requester: Requester,
        cx: &mut Cx,
    ) -> Result<Option<CampaignId>, Reason> {
        if self.dvm.is_ending() || !self.dvm.is_ready() {
            return Err(Reason::new(PMIX_ERR_UNREACH, "The DVM is starting or ending."));
        }
        if number == SessionId::ALL {
            return Err(Reason::new(PMIX_ERR_BAD_PARAM, "A session is made by a number of its own."));
        }
        if number == SessionId::DVM || self.sessions.has(number) {
            let cause = format!("There is a session {number}; `pdvm session list` lists what there is.");
            return Err(Reason::new(PMIX_ERR_EXISTS, cause));
        }
        if let Some(queue) = &wish.queue {
            let cause = format!(
                "Whoever orders a session waits for it, which is no place for queue {queue:?}. Ask for its nodes first."
            );
            return Err(Reason::new(PMIX_ERR_NOT_SUPPORTED, cause));
        }
        match self.ground(wish)? {
            Ground::Shared { alloc_id, owner, nodes } => {
                // A name beside the allocation's id is the session's own; alone it names the allocation.
                let req_id = wish.req_id.clone().filter(|_| wish.alloc_id.is_some());
                self.sessions.share(number, alloc_id, req_id, owner, nodes);
                let terms = SessionTerms { reserve: false, separate: false, ..wish.terms.clone() };
                self.sessions.set_terms(number, &terms, requester, cx);
                job.into_iter().for_each(|job| self.start_first_job(number, *job, cx));
                Ok(None)
            }
            Ground::Own => self.instantiate_anew(number, wish, job, requester, cx),
        }
    }

    /// Makes a session with nodes of its own; a grow brings those that are not there (spec S33).
    fn instantiate_anew(
        &mut self,
        number: SessionId,
        wish: &GrowRequest,
        job: Option<Box<Submission>>,
        requester: Requester,
        cx: &mut Cx,
    ) -> Result<Option<CampaignId>, Reason> {
        let plain = GrowRequest { alloc_id: None, rm_job: None, ..wish.clone() };
        let GrowPlan { req_id, members, nodes, slots, more, .. } = self.plan_grow(&plain)?;
        if more > 0 {
            // The requester waits for the session's reply, so the order cannot wait for a resource manager.
            return Err(self.too_few(wish, &nodes));
        }
        let alloc_id = self.sessions.open_as(number, wish.alloc_id.clone(), req_id.clone(), job);
        let joins = Joins { nodes: members, terms: wish.terms.clone(), shared_by: None };
        if nodes.is_empty() {
            self.pool.change_slots(&slots);
            self.join_session(&alloc_id, &joins, &BTreeSet::new(), requester, cx);
            return Ok(None);
        }
        let change = Change::Grow { joins, slots };
        let plan = Plan { change, alloc_id, req_id, is_requested: true, nodes };
        Ok(Some(self.open_campaign(plan, requester, cx)))
    }

    /// Starts the first job of a session whose nodes are there. The job has no submitter, and ends with the session.
    pub(super) fn start_first_job(&mut self, number: SessionId, job: Submission, cx: &mut Cx) {
        let mut submission = Submission { detach: true, session: SessionChoice::Id(number), ..job };
        submission.spec.stdin = Some(StdinTarget::None);
        for app in submission.spec.apps.iter_mut().filter(|app| app.submit_dir.is_empty()) {
            app.submit_dir.clone_from(&self.config.cwd);
        }
        self.dispatch_in_session(number, submission, cx);
    }

    /// The nodes for a session: an existing allocation, or nodes of its own (spec S32).
    fn ground(&self, wish: &GrowRequest) -> Result<Ground, Reason> {
        let names_nodes = !wish.hosts.is_empty() || !wish.activate.is_empty() || wish.leaves_a_choice();
        let (alloc_id, owner, all) = match (&wish.alloc_id, &wish.req_id) {
            (Some(id), _) if id == self.sessions.dvm_alloc_id() => (id.clone(), None, self.first_nodes()),
            (Some(id), _) => match self.sessions.find(id) {
                Some(owner) => self.sessions.allocation_as_ground(owner)?,
                None if names_nodes => return Ok(Ground::Own),
                None => return Err(Reason::new(PMIX_ERR_NOT_FOUND, format!("There is no allocation {id}."))),
            },
            (None, _) if names_nodes => return Ok(Ground::Own),
            (None, Some(name)) => {
                self.sessions.allocation_as_ground(self.sessions.allocation_named(&(**name).into())?)?
            }
            (None, None) => {
                let cause = "The order names neither an allocation nor nodes on which the session is to be.";
                return Err(Reason::new(PMIX_ERR_BAD_PARAM, cause));
            }
        };
        if !wish.activate.is_empty() || wish.leaves_a_choice() {
            let cause = "On an allocation that is there, a session has all of its nodes or those that are named.";
            return Err(Reason::new(PMIX_ERR_BAD_PARAM, cause));
        }
        let nodes = if wish.hosts.is_empty() { all } else { self.some_of(&alloc_id, &all, wish)? };
        Ok(Ground::Shared { alloc_id, owner, nodes })
    }

    fn some_of(
        &self,
        alloc_id: &AllocId,
        all: &BTreeSet<NodeId>,
        wish: &GrowRequest,
    ) -> Result<BTreeSet<NodeId>, Reason> {
        let node = |host: &ferrite_wire::AddedHost| {
            let name = &host.host.name;
            self.pool.find(name).filter(|node| all.contains(node)).ok_or_else(|| {
                let cause = format!("Node {name} does not belong to allocation {alloc_id}.");
                Reason::new(PMIX_ERR_BAD_PARAM, cause)
            })
        };
        wish.hosts.iter().map(node).collect()
    }
}

/// The nodes and terms of an order, if it makes a session.
pub(super) fn wish_of(directive: &SessionDirective) -> Option<&GrowRequest> {
    match directive {
        SessionDirective::Instantiate(wish) => Some(wish),
        SessionDirective::Pause
        | SessionDirective::Resume
        | SessionDirective::Signal(_)
        | SessionDirective::Terminate
        | SessionDirective::Extend { .. }
        | SessionDirective::Separate => None,
    }
}
