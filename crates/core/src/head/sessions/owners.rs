//! Owners of sessions: the job whose process asked for a session, or a tool. The inheritance says what becomes of a
//! session when its owner ends; `end.rs` ends it.

use std::collections::BTreeSet;

use ferrite_types::{JobId, JobSpec, NodeId, SessionId};
use ferrite_wire::Inheritance;
use ferrite_wire::control::{SessionChoice, Submission};

use super::registry::Sessions;
use super::session::Session;
use crate::RequestId;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::dvm::Pool;
use crate::head::elastic::{Reason, Requester};
use crate::head::jobs::Job;

/// The owner of a session; the session ends with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::head) enum Owner {
    /// The job whose process asked for it.
    Job(JobId),
    /// The client or tool of this request. A client may go after its reply; the head hears when a tool is gone.
    Client(RequestId),
    /// The jobs that a departed tool has left behind, with all that they have spawned.
    LeftBehind(BTreeSet<JobId>),
}

impl Owner {
    pub(in crate::head) fn of(requester: Requester) -> Option<Owner> {
        match requester {
            Requester::Proc(proc, _) => Some(Owner::Job(proc.job)),
            Requester::Offer(root) => Some(Owner::Job(root)),
            Requester::Waiting(request) | Requester::Answered(request) => Some(Owner::Client(request)),
            Requester::Nobody | Requester::Pushed(_) | Requester::OrderedBy(_) | Requester::OrderedAt(..) => None,
        }
    }

    pub(in crate::head) fn job(&self) -> Option<JobId> {
        match self {
            Owner::Job(job) => Some(*job),
            Owner::Client(_) | Owner::LeftBehind(_) => None,
        }
    }
}

impl Sessions {
    /// The session that a job has asked for, if it has all hosts that the new job names and no other session does.
    /// The names of the hosts then admit the job (spec S5).
    fn own_session_of(&self, owner: JobId, otherwise: SessionId, spec: &JobSpec, pool: &Pool) -> Option<SessionId> {
        let hosts = spec.apps.iter().flat_map(|app| app.hosts.hosts.iter().chain(&app.hosts.hostfile));
        let named: Vec<NodeId> = hosts.map(|host| pool.named(host)).collect::<Option<_>>()?;
        let is_out = |node: &NodeId| !self.may_use(otherwise, *node);
        if !named.iter().any(is_out) {
            return None;
        }
        let has_all = |session: &Session| named.iter().all(|node| session.nodes.has(*node));
        let mut own = self.known.iter().filter(|(_, session)| session.owner == Some(Owner::Job(owner)));
        own.find(|(_, session)| has_all(session)).map(|(id, _)| *id)
    }
}

impl Head {
    /// The session in which a submission runs: the one that it names, else one that its parent has asked for and
    /// whose hosts it names, else its parent's (spec S3, S5).
    pub(in crate::head) fn session_for(
        &self,
        submission: &Submission,
        parent: Option<JobId>,
    ) -> Result<SessionId, Reason> {
        if let Some(beside) = &submission.spec.beside {
            return self.session_beside(beside);
        }
        let of_parent = parent.and_then(|id| self.jobs.get(id)).map(Job::session);
        let named = self.sessions.session_of(&submission.session, of_parent)?;
        let owner = parent.filter(|_| submission.session == SessionChoice::Default);
        let own = owner.and_then(|owner| self.sessions.own_session_of(owner, named, &submission.spec, &self.pool));
        Ok(own.unwrap_or(named))
    }

    /// Handles the end of a job: sessions of its processes end according to their inheritance (spec S25).
    pub(in crate::head) fn inherit_sessions(&mut self, job: JobId, cx: &mut Cx) {
        self.withdraw_of_job(job, cx);
        let over = |session: &Session| match (session.owner.as_ref()?, session.inheritance) {
            (Owner::Client(_), _) => None,
            (Owner::Job(owner), Inheritance::None) => (*owner == job).then_some(true),
            (Owner::Job(owner), Inheritance::Default) => (*owner == job).then_some(false),
            (Owner::Job(owner), Inheritance::Child) => (!self.jobs.has_family(*owner)).then_some(true),
            (Owner::Job(owner), Inheritance::ChildDefault) => (!self.jobs.has_family(*owner)).then_some(false),
            (Owner::LeftBehind(jobs), inheritance) => {
                let gives_back = matches!(inheritance, Inheritance::None | Inheritance::Child);
                jobs.iter().all(|job| !self.jobs.has_family(*job)).then_some(gives_back)
            }
        };
        let ended: Vec<(SessionId, bool)> =
            self.sessions.known.iter().filter_map(|(id, session)| Some((*id, over(session)?))).collect();
        let why = format!("job {}, which had asked for it", job);
        ended.into_iter().for_each(|(id, gives_back)| self.inherit(id, gives_back, &why, cx));
    }

    /// Handles the end of a tool that made these requests; its jobs are about to end (spec S26).
    pub(in crate::head) fn on_tool_gone(&mut self, requests: &[RequestId], cx: &mut Cx) {
        let submitted = requests.iter().filter_map(|request| self.jobs.of_submission(*request));
        let left: BTreeSet<JobId> = submitted.filter(|job| self.jobs.has_family(*job)).collect();
        let is_its =
            |session: &Session| matches!(&session.owner, Some(Owner::Client(request)) if requests.contains(request));
        let owned = self.sessions.known.iter().filter(|(_, session)| is_its(session));
        let owned: Vec<(SessionId, Inheritance)> = owned.map(|(id, session)| (*id, session.inheritance)).collect();
        for (id, inheritance) in owned {
            match inheritance {
                Inheritance::Child | Inheritance::ChildDefault if !left.is_empty() => {
                    if let Some(session) = self.sessions.get_mut(id) {
                        session.owner = Some(Owner::LeftBehind(left.clone()));
                    }
                }
                Inheritance::None | Inheritance::Child => self.inherit(id, true, "the tool that had asked for it", cx),
                Inheritance::Default | Inheritance::ChildDefault => self.inherit(id, false, "", cx),
            }
        }
        self.serve_queue(cx);
    }

    /// Handles the end of a session's owner: the session ends, or its nodes stay for everybody and its jobs go on.
    fn inherit(&mut self, id: SessionId, gives_back: bool, with: &str, cx: &mut Cx) {
        if gives_back {
            return self.end_session(id, &format!("Session {id} has ended with {with}."), cx);
        }
        // It may have ended with another one of the same owner.
        let Some(session) = self.sessions.get_mut(id) else { return };
        session.nodes.set_reserved(false);
        session.owner = None;
        self.elastic.unreserve(&session.alloc_id);
    }
}
