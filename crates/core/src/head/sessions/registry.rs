//! Sessions: the nodes that a request has brought, the jobs that run there, and the end of both
//! (docs/spec/sessions.md). Session 0 is the DVM's own: all nodes that no other session withholds. All clients and
//! processes of a DVM have one user, who owns all sessions; an *owner* here is the job or tool whose end may end a
//! session.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::{AllocId, AllocReqId, NodeId, NodeRecord, SessionId, Timestamp};
use ferrite_wire::SessionTerms;
use ferrite_wire::control::{SessionChoice, SessionStatus, Submission};

use super::owners::Owner;
use super::session::Session;
use crate::RequestId;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::elastic::{Joins, Reason, Requester};
use crate::pmix_status::{PMIX_ERR_BAD_PARAM, PMIX_ERR_NOT_FOUND};

/// The state of this wing: all sessions but the DVM's own.
#[derive(Debug)]
pub(in crate::head) struct Sessions {
    /// The name of the DVM, which is the id of session 0's allocation.
    dvm: AllocId,
    pub(super) known: BTreeMap<SessionId, Session>,
    last: u32,
}

impl Sessions {
    /// The sessions of a new DVM: none but its own.
    pub(in crate::head) fn of_dvm(name: &str) -> Sessions {
        Sessions { dvm: name.into(), known: BTreeMap::new(), last: 0 }
    }

    /// The id of session 0's allocation.
    pub(in crate::head) fn dvm_alloc_id(&self) -> &AllocId {
        &self.dvm
    }

    /// Opens the session of a request that is about to begin. Its nodes count when they are there (spec S1).
    pub(in crate::head) fn open(
        &mut self,
        req_id: Option<AllocReqId>,
        owner: Option<Owner>,
        parent: Option<SessionId>,
        terms: &SessionTerms,
    ) -> SessionId {
        // Schedulers choose any numbers and ids.
        let is_taken = |number: SessionId| self.known.contains_key(&number) || self.find(&numbered(number)).is_some();
        let id = (self.last + 1..)
            .map(SessionId)
            .find(|number| !is_taken(*number))
            .expect("there are fewer sessions than numbers");
        self.last = id.0;
        let mut session = Session::coming(numbered(id), req_id, None);
        (session.parent, session.owner) = (parent, owner);
        session.set_heirs(terms);
        self.known.insert(id, session);
        id
    }

    /// Opens a session under a number that a scheduler has chosen, perhaps with the id of its allocation. Returns
    /// that id.
    pub(super) fn open_as(
        &mut self,
        number: SessionId,
        alloc_id: Option<AllocId>,
        req_id: Option<AllocReqId>,
        first_job: Option<Box<Submission>>,
    ) -> AllocId {
        let own = Some(numbered(number)).filter(|id| self.find(id).is_none());
        let alloc_id = alloc_id.or(own).unwrap_or_else(|| format!("session-{number}").into());
        self.known.insert(number, Session::coming(alloc_id.clone(), req_id, first_job));
        alloc_id
    }

    /// Opens a session on nodes of another session's allocation.
    pub(super) fn share(
        &mut self,
        number: SessionId,
        alloc_id: AllocId,
        req_id: Option<AllocReqId>,
        parent: Option<SessionId>,
        nodes: BTreeSet<NodeId>,
    ) {
        let mut session = Session::sharing(nodes, alloc_id, req_id);
        session.parent = parent;
        self.known.insert(number, session);
    }

    /// Sessions that own their nodes.
    fn owners(&self) -> impl Iterator<Item = (&SessionId, &Session)> {
        self.known.iter().filter(|(_, session)| !session.shares())
    }

    pub(super) fn get(&self, id: SessionId) -> Option<&Session> {
        self.known.get(&id)
    }

    /// A session that its caller knows to be there.
    pub(super) fn expect(&self, id: SessionId) -> &Session {
        self.get(id).unwrap_or_else(|| panic!("there is no session {id}"))
    }

    /// A session that its caller knows to be there.
    pub(super) fn expect_mut(&mut self, id: SessionId) -> &mut Session {
        self.get_mut(id).unwrap_or_else(|| panic!("there is no session {id}"))
    }

    pub(super) fn get_mut(&mut self, id: SessionId) -> Option<&mut Session> {
        self.known.get_mut(&id)
    }

    pub(super) fn has(&self, id: SessionId) -> bool {
        self.known.contains_key(&id)
    }

    pub(super) fn ids(&self) -> Vec<SessionId> {
        self.known.keys().copied().collect()
    }

    /// The id of a session's allocation; `None` for session 0 and for a session that is over.
    pub(in crate::head) fn alloc_id(&self, id: SessionId) -> Option<&AllocId> {
        self.get(id).map(|session| &session.alloc_id)
    }

    /// The nodes of a session; `None` for session 0 and for a session that is over.
    pub(in crate::head) fn nodes(&self, id: SessionId) -> Option<&BTreeSet<NodeId>> {
        self.get(id).map(|session| session.nodes.all())
    }

    /// True for a session on the nodes of another session's allocation, or of the DVM.
    pub(in crate::head) fn is_shared(&self, id: SessionId) -> bool {
        self.get(id).is_some_and(Session::shares)
    }

    /// Forgets a client that is gone.
    pub(in crate::head) fn forget_requester(&mut self, request: RequestId) {
        self.known.values_mut().for_each(|session| session.time.forget_requester(request));
    }

    /// Sessions that end with this one.
    fn children_of(&self, id: SessionId) -> Vec<SessionId> {
        self.known.iter().filter(|(_, session)| session.parent == Some(id)).map(|(child, _)| *child).collect()
    }

    /// The session with this allocation id.
    pub(super) fn find(&self, alloc_id: &AllocId) -> Option<SessionId> {
        self.owners().find(|(_, session)| session.alloc_id == *alloc_id).map(|(id, _)| *id)
    }

    /// Sessions with this name of their requesters.
    pub(super) fn called(&self, req_id: &AllocReqId) -> Vec<SessionId> {
        let called = self.owners().filter(|(_, session)| session.req_id.as_ref() == Some(req_id));
        called.map(|(id, _)| *id).collect()
    }

    /// The session whose allocation brought a node, else the one that it was lent to.
    pub(super) fn of_node(&self, node: NodeId) -> Option<&Session> {
        let has = || self.owners().map(|(_, session)| session).filter(|session| session.nodes.has(node));
        has().find(|session| !session.nodes.is_lent(node)).or_else(|| has().next())
    }

    /// The session for which a node is withheld; a session that it is lent to goes before the lender.
    fn holder(&self, node: NodeId) -> Option<SessionId> {
        let holds = || self.owners().filter(|(_, session)| session.nodes.withholds(node));
        let lent = holds().find(|(_, session)| session.nodes.is_lent(node));
        lent.or_else(|| holds().next()).map(|(id, _)| *id)
    }

    /// Removes nodes that are gone, or have come anew, from all sessions (spec S17).
    pub(in crate::head) fn remove(&mut self, nodes: &[NodeId]) {
        for session in self.known.values_mut() {
            session.nodes.remove(|node| nodes.contains(node));
        }
    }

    /// Ends the loan of nodes to an allocation.
    pub(in crate::head) fn return_lent(&mut self, alloc_id: &AllocId, nodes: &BTreeSet<NodeId>) {
        for session in self.known.values_mut().filter(|session| session.alloc_id == *alloc_id) {
            session.nodes.remove(|node| nodes.contains(node));
        }
    }

    /// The session that a submission names, else its parent's, else the DVM's own. An unknown or ambiguous session is
    /// an error (spec S3, S4).
    pub(in crate::head) fn session_of(
        &self,
        choice: &SessionChoice,
        parent: Option<SessionId>,
    ) -> Result<SessionId, Reason> {
        let known = &self.known;
        let found = match choice {
            SessionChoice::Default => Some(parent.filter(|id| known.contains_key(id)).unwrap_or(SessionId::DVM)),
            SessionChoice::Id(SessionId::DVM) => Some(SessionId::DVM),
            SessionChoice::Id(id) => known.contains_key(id).then_some(*id),
            SessionChoice::Alloc(alloc_id) if *alloc_id == self.dvm => Some(SessionId::DVM),
            SessionChoice::Alloc(alloc_id) => self.find(alloc_id),
            SessionChoice::Ref(name) => {
                let mut called = known.iter().filter(|(_, session)| session.req_id.as_ref() == Some(name));
                let first = called.next();
                if called.next().is_some() {
                    let cause =
                        format!("There are several sessions called {name}. Name one by its number or its allocation.");
                    return Err(Reason::new(PMIX_ERR_BAD_PARAM, cause));
                }
                first.map(|(id, _)| *id)
            }
        };
        found.ok_or_else(no_such_session)
    }

    /// The session of a named allocation: by its id, or by its requester's name for it if that name is unique.
    pub(in crate::head) fn allocation_named(&self, name: &AllocId) -> Result<SessionId, Reason> {
        if let Some(id) = self.find(name) {
            return Ok(id);
        }
        match self.called(&(**name).into())[..] {
            [id] => Ok(id),
            [] => Err(Reason::new(PMIX_ERR_NOT_FOUND, format!("There is no allocation {name}."))),
            [..] => {
                let cause = format!("There are several allocations called {name}. Name one of them by its id.");
                Err(Reason::new(PMIX_ERR_NOT_FOUND, cause))
            }
        }
    }

    /// A session and the sessions that depend on it, each after the one that it depends on (spec S23).
    pub(super) fn family_of(&self, id: SessionId) -> Vec<SessionId> {
        let mut family = vec![id];
        let mut next = 0;
        while let Some(parent) = family.get(next).copied() {
            let is_new = |(id, child): &(&SessionId, &Session)| child.parent == Some(parent) && !family.contains(id);
            let children: Vec<SessionId> = self.known.iter().filter(is_new).map(|(id, _)| *id).collect();
            family.extend(children);
            next += 1;
        }
        family
    }

    /// Sets the requester's terms of a session, beyond nodes.
    pub(super) fn set_terms(&mut self, id: SessionId, terms: &SessionTerms, requester: Requester, cx: &mut Cx) {
        let session = self.expect_mut(id);
        if terms.reserve {
            session.nodes.set_reserved(true);
        }
        session.set_heirs(terms);
        self.set_time(id, terms, requester, cx);
    }

    /// True when the job of this process has asked for the session.
    pub(super) fn is_owned_by(&self, id: SessionId, requester: Requester) -> bool {
        let owner = self.get(id).and_then(|session| session.owner.as_ref()?.job());
        matches!(requester, Requester::Proc(proc, _) if owner == Some(proc.job))
    }

    /// True while the session is paused, so that its jobs are not launched.
    pub(in crate::head) fn is_paused(&self, id: SessionId) -> bool {
        self.known.get(&id).is_some_and(|session| session.paused)
    }

    /// Pauses or resumes a session. False when it is so already.
    pub(super) fn set_paused(&mut self, id: SessionId, pause: bool) -> bool {
        let session = self.known.get_mut(&id).filter(|session| session.paused != pause);
        session.map(|session| session.paused = pause).is_some()
    }

    /// Separates a session from its parent and its owner: it ends with neither.
    pub(super) fn separate(&mut self, id: SessionId) {
        let session = self.expect_mut(id);
        (session.parent, session.owner) = (None, None);
    }

    /// True when jobs of this session may use the node (spec S7).
    pub(super) fn may_use(&self, session: SessionId, node: NodeId) -> bool {
        let holder = self.holder(node);
        match self.known.get(&session) {
            None => holder.is_none(),
            // A session that shares an allocation may use its nodes too.
            Some(own) => {
                let holds = |id: SessionId| id == session || (own.shares() && self.find(&own.alloc_id) == Some(id));
                own.nodes.has(node) && holder.is_none_or(holds)
            }
        }
    }
}

impl Head {
    /// The pool for jobs of a session, in which forbidden nodes have no daemon: those of others, and those that
    /// are to leave. `None` when they may use every node (spec S7, E43).
    pub(in crate::head) fn pool_of(&self, session: SessionId) -> Option<Vec<NodeRecord>> {
        if self.may_use_all(session) {
            return None;
        }
        let mut pool = self.pool.records().to_vec();
        self.jobs.note_nodes(pool.len());
        pool.iter_mut().filter(|node| !self.may_use_now(session, node.id)).for_each(|node| node.daemon = None);
        Some(pool)
    }

    /// True when jobs of this session may use every node.
    pub(in crate::head) fn may_use_all(&self, session: SessionId) -> bool {
        let is_open = session == SessionId::DVM && self.sessions.known.values().all(|other| !other.nodes.is_reserved());
        is_open && !self.elastic.is_any_draining()
    }

    /// True for a node that jobs of this session may use and that is not to leave.
    fn may_use_now(&self, session: SessionId, node: NodeId) -> bool {
        self.sessions.may_use(session, node) && !self.elastic.is_draining(node)
    }

    /// The nodes with a daemon that jobs of a session may use. Of a session with nodes of its own only those are looked
    /// at (spec L159).
    pub(in crate::head) fn usable_by(&self, session: SessionId) -> impl Iterator<Item = &NodeRecord> {
        let own = self.sessions.nodes(session);
        let (own, all) = (own.into_iter().flatten(), own.is_none().then(|| self.pool.records()).into_iter().flatten());
        let nodes = own.map(|node| self.pool.record(*node)).chain(all);
        nodes.filter(move |node| node.daemon.is_some() && self.may_use_now(session, node.id))
    }

    /// Adds the nodes of a fulfilled request to its session on the requested terms. New nodes have left any former
    /// session (spec S10).
    pub(in crate::head) fn join_session(
        &mut self,
        alloc_id: &AllocId,
        joins: &Joins,
        came: &BTreeSet<NodeId>,
        requester: Requester,
        cx: &mut Cx,
    ) {
        self.sessions.remove(&came.iter().copied().collect::<Vec<_>>());
        // The session may have ended while its nodes were on their way; a push has none.
        let Some(id) = self.sessions.find(alloc_id) else { return };
        if joins.terms != SessionTerms::default() {
            self.sessions.set_terms(id, &joins.terms, requester, cx);
        }
        // Another request may have reserved the node meanwhile.
        let is_withheld = |node: &NodeId| self.sessions.holder(*node).is_some_and(|other| other != id);
        let has = self.sessions.expect(id);
        let is_new = |node: &NodeId| !has.nodes.has(*node) && !is_withheld(node);
        let new: Vec<NodeId> = joins.nodes.iter().copied().filter(is_new).collect();
        let session = self.sessions.expect_mut(id);
        session.nodes.add(new, came);
        let first_job = session.arrive();
        if let Some(session) = joins.shared_by.and_then(|id| self.sessions.known.get_mut(&id)) {
            session.nodes.add(came.iter().copied(), came);
        }
        first_job.into_iter().for_each(|job| self.start_first_job(id, *job, cx));
    }

    /// The sessions for which a node is reserved, now or after it has come. A node that leaves is free for the next
    /// request (spec S8).
    pub(in crate::head) fn withheld_for(&self, node: NodeId) -> impl Iterator<Item = SessionId> + '_ {
        let will_hold = move |session: &Session| {
            let mut coming = self.elastic.coming_with(&session.alloc_id, node);
            coming.any(|joins| session.nodes.is_reserved() || joins.terms.reserve)
        };
        let leaves = self.elastic.is_to_leave(node);
        let holds = move |session: &Session| !leaves && session.nodes.withholds(node);
        self.sessions.owners().filter(move |(_, session)| holds(session) || will_hold(session)).map(|(id, _)| *id)
    }

    /// The nodes with which the DVM began.
    pub(super) fn first_nodes(&self) -> BTreeSet<NodeId> {
        self.pool.inside().map(|node| node.id).filter(|id| self.sessions.of_node(*id).is_none()).collect()
    }

    /// The status of each session (spec S34).
    pub(in crate::head) fn session_statuses(&self, now: Timestamp) -> Vec<SessionStatus> {
        let nodes = |ids: &BTreeSet<NodeId>| self.pool.names(&ids.iter().copied().collect::<Vec<_>>());
        let all = self.sessions.known.iter().map(|(id, session)| SessionStatus {
            session: *id,
            alloc_id: session.alloc_id.clone(),
            req_id: session.req_id.clone(),
            nodes: nodes(session.nodes.all()),
            slots: session.nodes.all().iter().map(|node| self.pool.record(*node).slots).sum(),
            slots_in_use: session.nodes.all().iter().map(|node| self.pool.record(*node).slots_inuse).sum(),
            children: self.sessions.children_of(*id),
            jobs: self.jobs.in_session(*id),
            reserved: session.nodes.is_reserved(),
            paused: session.paused,
            parent: session.parent,
            owner: session.owner.as_ref().and_then(Owner::job),
            seconds_left: session.time.seconds_left(now),
            warns_s: session.time.warns_s(),
            warned: session.time.is_warned(),
        });
        all.collect()
    }
}

/// The id of the allocation of a session with a number of the DVM's choice.
fn numbered(session: SessionId) -> AllocId {
    format!("a{session}").into()
}

pub(super) fn no_such_session() -> Reason {
    Reason::new(PMIX_ERR_NOT_FOUND, "There is no such session; `pdvm session list` lists those that there are.")
}
