//! Sessions: the nodes that a request has brought, the jobs that run there, and the end of both
//! (docs/spec/sessions.md). Session 0 is the DVM's own: all nodes that no other session withholds. All clients and
//! processes of a DVM have one user, who owns all sessions; an *owner* here is the job or tool whose end may end a
//! session.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::{DaemonRank, JobId, NodeId, NodeRecord, Timestamp};
use ferrite_wire::control::{Reply, SessionChoice, SessionDirective, SessionOrder, SessionStatus, Submission};
use ferrite_wire::{DaemonMessage, Dest, Inheritance, SessionTerms};

use super::instantiation::wish_of;
use super::owners::Owner;
use super::time_limits::SessionTime;
use crate::RequestId;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::elastic::{Joins, Reason, Requester};
use crate::pmix_status::{PMIX_ERR_BAD_PARAM, PMIX_ERR_NO_PERMISSIONS, PMIX_ERR_NOT_FOUND};

const SIGCONT: i32 = 18;
const SIGSTOP: i32 = 19;

/// All sessions but the DVM's own.
#[derive(Debug, Default)]
pub(in crate::head) struct Sessions {
    pub(super) known: BTreeMap<u32, Session>,
    last: u32,
}

/// One session.
#[derive(Debug)]
pub(in crate::head) struct Session {
    pub(in crate::head) alloc_id: String,
    /// The requester's name for it.
    pub(super) req_id: Option<String>,
    pub(in crate::head) nodes: BTreeSet<NodeId>,
    /// Lent nodes: they were there before the session and stay after it, with the session that has brought them, if
    /// any.
    pub(super) lent: BTreeSet<NodeId>,
    /// True when its nodes are withheld from jobs of other sessions.
    pub(super) reserved: bool,
    /// The session in which the request was made; this one ends with it.
    pub(super) parent: Option<u32>,
    /// The job or tool with whose end it ends.
    pub(super) owner: Option<Owner>,
    pub(super) inheritance: Inheritance,
    paused: bool,
    /// True when its nodes belong to another session, and stay with that.
    pub(in crate::head) shares: bool,
    pub(super) time: SessionTime,
    /// The job that starts as soon as the session's nodes are there.
    pub(super) first_job: Option<Box<Submission>>,
}

impl Session {
    fn new(alloc_id: String) -> Session {
        Session {
            alloc_id,
            req_id: None,
            nodes: BTreeSet::new(),
            lent: BTreeSet::new(),
            reserved: false,
            parent: None,
            owner: None,
            inheritance: Inheritance::Default,
            paused: false,
            shares: false,
            time: SessionTime::default(),
            first_job: None,
        }
    }
}

impl Session {
    /// Sets the inheritance from the terms.
    fn set_heirs(&mut self, terms: &SessionTerms) {
        self.inheritance = terms.inheritance.unwrap_or(self.inheritance);
        if terms.separate {
            self.parent = None;
        }
    }
}

impl Sessions {
    /// Opens the session of a request that is about to begin. Its nodes count when they are there (spec S1).
    pub(in crate::head) fn open(
        &mut self,
        req_id: Option<String>,
        owner: Option<Owner>,
        parent: Option<u32>,
        terms: &SessionTerms,
    ) -> u32 {
        // Schedulers choose any numbers and ids.
        let is_taken = |number: u32| self.known.contains_key(&number) || self.find(&format!("a{number}")).is_some();
        let id = (self.last + 1..).find(|number| !is_taken(*number)).expect("there are fewer sessions than numbers");
        self.last = id;
        let mut session = Session { req_id, parent, owner, ..Session::new(format!("a{id}")) };
        session.set_heirs(terms);
        self.known.insert(id, session);
        id
    }

    /// Opens a session under a number that a scheduler has chosen, perhaps with the id of its allocation. Returns
    /// that id.
    pub(super) fn open_as(&mut self, number: u32, alloc_id: Option<String>, req_id: Option<String>) -> String {
        let own = Some(format!("a{number}")).filter(|id| self.find(id).is_none());
        let alloc_id = alloc_id.or(own).unwrap_or_else(|| format!("session-{number}"));
        self.known.insert(number, Session { req_id, ..Session::new(alloc_id.clone()) });
        alloc_id
    }

    /// Opens a session on nodes of another session's allocation.
    pub(super) fn share(
        &mut self,
        number: u32,
        alloc_id: String,
        req_id: Option<String>,
        parent: Option<u32>,
        nodes: BTreeSet<NodeId>,
    ) {
        self.known.insert(number, Session { req_id, parent, nodes, shares: true, ..Session::new(alloc_id) });
    }

    /// Sessions that own their nodes.
    fn owners(&self) -> impl Iterator<Item = (&u32, &Session)> {
        self.known.iter().filter(|(_, session)| !session.shares)
    }

    pub(in crate::head) fn get(&self, id: u32) -> Option<&Session> {
        self.known.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut Session> {
        self.known.get_mut(&id)
    }

    /// Forgets a client that is gone.
    pub(in crate::head) fn forget_requester(&mut self, request: RequestId) {
        self.known.values_mut().for_each(|session| session.time.forget_requester(request));
    }

    /// Sessions that end with this one.
    fn children_of(&self, id: u32) -> Vec<u32> {
        self.known.iter().filter(|(_, session)| session.parent == Some(id)).map(|(child, _)| *child).collect()
    }

    /// The session with this allocation id.
    pub(in crate::head) fn find(&self, alloc_id: &str) -> Option<u32> {
        self.owners().find(|(_, session)| session.alloc_id == alloc_id).map(|(id, _)| *id)
    }

    /// Sessions with this name of their requesters.
    pub(super) fn called(&self, req_id: &str) -> Vec<u32> {
        let called = self.owners().filter(|(_, session)| session.req_id.as_deref() == Some(req_id));
        called.map(|(id, _)| *id).collect()
    }

    /// The session whose allocation brought a node, else the one that it was lent to.
    pub(super) fn of_node(&self, node: NodeId) -> Option<&Session> {
        let has = || self.owners().map(|(_, session)| session).filter(|session| session.nodes.contains(&node));
        has().find(|session| !session.lent.contains(&node)).or_else(|| has().next())
    }

    /// The session for which a node is withheld; a session that it is lent to goes before the lender.
    fn holder(&self, node: NodeId) -> Option<u32> {
        let holds = || self.owners().filter(|(_, session)| session.reserved && session.nodes.contains(&node));
        let lent = holds().find(|(_, session)| session.lent.contains(&node));
        lent.or_else(|| holds().next()).map(|(id, _)| *id)
    }

    /// Removes nodes that are gone, or have come anew, from all sessions (spec S17).
    pub(in crate::head) fn remove(&mut self, nodes: &[NodeId]) {
        for session in self.known.values_mut() {
            session.nodes.retain(|node| !nodes.contains(node));
            session.lent.retain(|node| !nodes.contains(node));
        }
    }

    /// Ends the loan of nodes to an allocation.
    pub(in crate::head) fn return_lent(&mut self, alloc_id: &str, nodes: &BTreeSet<NodeId>) {
        for session in self.known.values_mut().filter(|session| session.alloc_id == alloc_id) {
            session.nodes.retain(|node| !nodes.contains(node));
            session.lent.retain(|node| !nodes.contains(node));
        }
    }

    /// True when jobs of this session may use the node (spec S7).
    pub(super) fn may_use(&self, session: u32, node: NodeId) -> bool {
        let holder = self.holder(node);
        match self.known.get(&session) {
            None => holder.is_none(),
            // A session that shares an allocation may use its nodes too.
            Some(own) => {
                let holds = |id: u32| id == session || (own.shares && self.find(&own.alloc_id) == Some(id));
                own.nodes.contains(&node) && holder.is_none_or(holds)
            }
        }
    }
}

impl Head {
    /// The session that a submission names, else its parent's, else the DVM's own. An unknown or ambiguous session is
    /// an error (spec S3, S4).
    pub(in crate::head) fn session_of(&self, choice: &SessionChoice, parent: Option<u32>) -> Result<u32, Reason> {
        let known = &self.sessions.known;
        let found = match choice {
            SessionChoice::Default => Some(parent.filter(|id| known.contains_key(id)).unwrap_or(0)),
            SessionChoice::Id(0) => Some(0),
            SessionChoice::Id(id) => known.contains_key(id).then_some(*id),
            SessionChoice::Alloc(alloc_id) if *alloc_id == self.config.dvm => Some(0),
            SessionChoice::Alloc(alloc_id) => self.sessions.find(alloc_id),
            SessionChoice::Ref(name) => {
                let mut called = known.iter().filter(|(_, session)| session.req_id.as_deref() == Some(name));
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

    /// The pool for jobs of a session, in which forbidden nodes have no daemon. `None` when they may use every node
    /// (spec S7).
    pub(in crate::head) fn pool_of(&self, session: u32) -> Option<Vec<NodeRecord>> {
        if session == 0 && self.sessions.known.values().all(|other| !other.reserved) {
            return None;
        }
        let mut pool = self.pool.records().to_vec();
        pool.iter_mut().filter(|node| !self.sessions.may_use(session, node.id)).for_each(|node| node.daemon = None);
        Some(pool)
    }

    /// Adds the nodes of a fulfilled request to its session on the requested terms. New nodes have left any former
    /// session (spec S10).
    pub(in crate::head) fn join_session(
        &mut self,
        alloc_id: &str,
        joins: &Joins,
        came: &BTreeSet<NodeId>,
        requester: Requester,
        cx: &mut Cx,
    ) {
        self.sessions.remove(&came.iter().copied().collect::<Vec<_>>());
        let Some(id) = self.sessions.find(alloc_id) else { return };
        if joins.terms != SessionTerms::default() {
            self.set_terms(id, &joins.terms, requester, cx);
        }
        // Another request may have reserved the node meanwhile.
        let is_withheld = |node: &NodeId| self.sessions.holder(*node).is_some_and(|other| other != id);
        let has = &self.sessions.known[&id];
        let is_new = |node: &NodeId| !has.nodes.contains(node) && !is_withheld(node);
        let new: Vec<NodeId> = joins.nodes.iter().copied().filter(is_new).collect();
        if let Some(session) = self.sessions.known.get_mut(&id) {
            session.lent.extend(new.iter().filter(|node| !came.contains(node)));
            session.nodes.extend(new);
        }
        if let Some(session) = joins.shared_by.and_then(|id| self.sessions.known.get_mut(&id)) {
            session.nodes.extend(came);
        }
        self.start_first_job(id, cx);
    }

    /// The sessions for which a node is reserved, now or after it has come. A node that leaves is free for the next
    /// request (spec S8).
    pub(in crate::head) fn withheld_for(&self, node: NodeId) -> impl Iterator<Item = u32> + '_ {
        let will_hold = move |session: &Session| {
            let mut coming = self.elastic.coming_with(&session.alloc_id, node);
            coming.any(|joins| session.reserved || joins.terms.reserve)
        };
        let leaves = self.elastic.is_to_leave(node);
        let holds = move |session: &Session| !leaves && session.reserved && session.nodes.contains(&node);
        self.sessions.owners().filter(move |(_, session)| holds(session) || will_hold(session)).map(|(id, _)| *id)
    }

    /// Sets the requester's terms of a session, beyond nodes.
    pub(super) fn set_terms(&mut self, id: u32, terms: &SessionTerms, requester: Requester, cx: &mut Cx) {
        let Some(session) = self.sessions.known.get_mut(&id) else { return };
        session.reserved |= terms.reserve;
        session.set_heirs(terms);
        self.set_session_time(id, terms, requester, cx);
    }

    /// True when the job of this process has asked for the session.
    pub(in crate::head) fn is_owned_by(&self, id: u32, requester: Requester) -> bool {
        let owner = self.sessions.get(id).and_then(|session| session.owner.as_ref()?.job());
        matches!(requester, Requester::Proc(proc, _) if owner == Some(proc.job))
    }

    pub(super) fn jobs_in(&self, id: u32) -> Vec<JobId> {
        self.jobs.values().filter(|job| job.session == id).map(|job| job.id).collect()
    }

    /// Handles an order of `pdvm session`.
    pub(in crate::head) fn on_session_request(
        &mut self,
        choice: &SessionChoice,
        directive: &SessionDirective,
        cx: &mut Cx,
    ) -> Reply {
        match self.control_session(choice, directive, cx) {
            Ok(()) => Reply::Ordered,
            Err(Reason { cause, .. }) => Reply::Refused(cause),
        }
    }

    /// Handles `PMIx_Session_control` of a process or a tool at `daemon` (spec S30).
    pub(in crate::head) fn on_session_order(&mut self, daemon: DaemonRank, id: u64, order: &SessionOrder, cx: &mut Cx) {
        if let Some(wish) = wish_of(&order.directive) {
            return self.instantiate_for_daemon(daemon, id, order, wish, cx);
        }
        let result = match order.session {
            Some(session) => self.control_session(&SessionChoice::Id(session), &order.directive, cx),
            None => self.control_all_sessions(&order.directive, cx),
        };
        let result = result.map_err(|Reason { status, .. }| status);
        cx.send(daemon, DaemonMessage::SessionReply { id, result });
    }

    /// Applies an order to each session; the first refusal is the answer (spec S28).
    fn control_all_sessions(&mut self, directive: &SessionDirective, cx: &mut Cx) -> Result<(), Reason> {
        let ids: Vec<u32> = self.sessions.known.keys().copied().collect();
        let mut answer = if ids.is_empty() { Err(no_such_session()) } else { Ok(()) };
        for id in ids {
            // A child session may have ended with its parent just before.
            if self.sessions.known.contains_key(&id) {
                let result = self.control_session(&SessionChoice::Id(id), directive, cx);
                answer = answer.and(result);
            }
        }
        answer
    }

    /// Applies an order to one session; session 0 takes none (spec S28).
    fn control_session(
        &mut self,
        choice: &SessionChoice,
        directive: &SessionDirective,
        cx: &mut Cx,
    ) -> Result<(), Reason> {
        let id = self.session_of(choice, None)?;
        if id == 0 {
            let cause = "Session 0 is the DVM's own: it ends with the DVM (pterm).";
            return Err(Reason::new(PMIX_ERR_NO_PERMISSIONS, cause));
        }
        match directive {
            SessionDirective::Instantiate(_) => unreachable!("it is about a session that is not there yet"),
            SessionDirective::Pause | SessionDirective::Resume => {
                let pause = *directive == SessionDirective::Pause;
                self.pause_session(id, pause, cx);
            }
            SessionDirective::Signal(signal) => {
                self.jobs_in(id).iter().for_each(|job| self.send_signal(*job, *signal, cx))
            }
            SessionDirective::Terminate => {
                self.end_session(id, &format!("Session {id} was ended by request."), cx);
            }
            SessionDirective::Extend { seconds } => self.extend_session(id, *seconds, cx)?,
            SessionDirective::Separate => {
                if let Some(session) = self.sessions.known.get_mut(&id) {
                    (session.parent, session.owner) = (None, None);
                }
            }
        }
        Ok(())
    }

    /// Stops the processes of a session and holds its jobs, or resumes both (spec S27).
    fn pause_session(&mut self, id: u32, pause: bool, cx: &mut Cx) {
        let Some(session) = self.sessions.known.get_mut(&id).filter(|session| session.paused != pause) else { return };
        session.paused = pause;
        for job in self.jobs_in(id) {
            if let Some(job) = self.jobs.get(&job).filter(|job| job.launched) {
                let hosts = Dest::Many(self.pool.reachable(&job.map.daemons()));
                let signal = if pause { SIGSTOP } else { SIGCONT };
                cx.multicast(hosts, DaemonMessage::Signal { job: job.id, signal });
            }
        }
        if pause {
            // Queued jobs do not wait for the jobs of a paused session.
            self.serve_queue(cx);
        } else {
            self.admit_held(cx);
        }
    }

    /// The nodes with which the DVM began.
    pub(in crate::head) fn first_nodes(&self) -> BTreeSet<NodeId> {
        self.pool.inside().map(|node| node.id).filter(|id| self.sessions.of_node(*id).is_none()).collect()
    }

    /// True while the session is paused, so that its jobs are not launched.
    pub(in crate::head) fn is_paused(&self, id: u32) -> bool {
        self.sessions.known.get(&id).is_some_and(|session| session.paused)
    }

    /// The status of each session (spec S34).
    pub(in crate::head) fn session_statuses(&self, now: Timestamp) -> Vec<SessionStatus> {
        let nodes = |ids: &BTreeSet<NodeId>| self.pool.names(&ids.iter().copied().collect::<Vec<_>>());
        let all = self.sessions.known.iter().map(|(id, session)| SessionStatus {
            session: *id,
            alloc_id: session.alloc_id.clone(),
            req_id: session.req_id.clone(),
            nodes: nodes(&session.nodes),
            slots: session.nodes.iter().map(|node| self.pool.record(*node).slots).sum(),
            slots_in_use: session.nodes.iter().map(|node| self.pool.record(*node).slots_inuse).sum(),
            children: self.sessions.children_of(*id),
            jobs: self.jobs_in(*id),
            reserved: session.reserved,
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

fn no_such_session() -> Reason {
    Reason::new(PMIX_ERR_NOT_FOUND, "There is no such session; `pdvm session list` lists those that there are.")
}
