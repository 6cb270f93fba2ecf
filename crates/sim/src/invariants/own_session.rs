//! Guarantee: nodes that are reserved for a session run its jobs alone, and leave at its time limit
//! (docs/spec/sessions.md). It covers sessions that clients have requested: the referee cannot see the outcome of other
//! requests.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, HeadInput, Input, RequestId, Transition};
use ferrite_types::{AllocId, CampaignId, CampaignStep, DaemonRank, JobId, JobState, RankSet, SessionId};
use ferrite_wire::control::{Reply, Request, SessionChoice, SessionDirective};
use ferrite_wire::{DaemonMessage, GrowRequest, Message, Resize, ResizeOutcome, ResizeRequest, Ticket, TreeMessage};

use super::changes::Changes;
use super::{Invariant, Observation, require};
use crate::elastic::{Asker, ResizePlan};
use crate::queue::Time;
use crate::scenario::Scenario;

/// The time by which nodes may leave late: changes that are open at the limit come first, each within its own time
/// limit.
const LATE: Time = 120_000_000;

pub(super) struct OwnSession {
    first: RequestId,
    grows: Vec<Option<GrowRequest>>,
    /// Seconds of more time, for each request that asks for nothing else.
    extends: Vec<Option<u32>>,
    /// Nodes that requests release by name; lent ones among them go back.
    releases: Vec<Option<Vec<String>>>,
    choices: Vec<SessionChoice>,
    jobs: BTreeMap<JobId, SessionChoice>,
    /// The number of reservations when each job was mapped; a later reservation leaves the job where it is.
    mapped: BTreeMap<JobId, usize>,
    /// Reservations so far.
    reservations: usize,
    /// The node of each daemon.
    names: BTreeMap<DaemonRank, String>,
    /// Reserved nodes.
    reserved: BTreeMap<String, Reserved>,
    /// The time limits of sessions.
    ends: BTreeMap<SessionId, Time>,
    /// The names of sessions.
    called: BTreeMap<SessionId, Vec<SessionChoice>>,
    /// Sessions that share the nodes of an allocation; their jobs may use what its jobs may use.
    shares: BTreeMap<SessionId, SessionChoice>,
    /// Allocations for which somebody may have got more time unseen.
    moved: BTreeSet<AllocId>,
    /// Nodes that a session has brought and that have not left; they leave with it.
    brought: BTreeMap<String, SessionId>,
    changes: Changes,
    /// The campaign that has just ended well.
    done: Option<CampaignId>,
    /// Orders that have no answer yet.
    orders: BTreeMap<RequestId, (SessionChoice, SessionDirective)>,
}

/// A reservation of a node.
struct Reserved {
    /// The number of reservations before it.
    nth: usize,
    session: SessionId,
    /// The names of the session.
    names: Vec<SessionChoice>,
}

impl OwnSession {
    pub(super) fn new(scenario: &Scenario) -> OwnSession {
        let extends = scenario.elastic.resizes.iter().map(more_seconds);
        let grows = scenario.elastic.resizes.iter().map(|plan| match &plan.request {
            ResizeRequest::Grow(grow) => Some(grow.clone()),
            _ => None,
        });
        let releases = scenario.elastic.resizes.iter().map(|plan| match &plan.request {
            ResizeRequest::Shrink(shrink) if shrink.alloc_id.is_some() && shrink.count == 0 => {
                Some(shrink.nodes.clone())
            }
            _ => None,
        });
        let unseen = scenario.elastic.resizes.iter().filter_map(|plan| more_time_unseen(plan, scenario.elastic.mode));
        OwnSession {
            first: scenario.resize_request(0),
            grows: grows.collect(),
            extends: extends.collect(),
            releases: releases.collect(),
            choices: scenario.jobs.iter().map(|job| job.session.clone()).collect(),
            jobs: BTreeMap::new(),
            mapped: BTreeMap::new(),
            reservations: 0,
            names: BTreeMap::new(),
            reserved: BTreeMap::new(),
            ends: BTreeMap::new(),
            called: BTreeMap::new(),
            shares: BTreeMap::new(),
            moved: unseen.collect(),
            brought: BTreeMap::new(),
            changes: Changes::default(),
            done: None,
            orders: BTreeMap::new(),
        }
    }

    fn grown(&mut self, at: Time, request: RequestId, resize: &Resize) {
        let number = request.0.checked_sub(self.first.0).map(|number| number as usize);
        if let (ResizeOutcome::Unchanged, Some(Some(seconds))) =
            (&resize.outcome, number.and_then(|number| self.extends.get(number)))
        {
            if let Some(until) = resize.session.and_then(|session| self.ends.get_mut(&session)) {
                *until += Time::from(*seconds) * 1_000_000;
            }
            return;
        }
        let Some(plan) = number.and_then(|number| self.grows.get(number).cloned()) else { return };
        let Some(grow) = plan else {
            // Nodes that were lent to the allocation return to their former owner.
            if let (ResizeOutcome::Unchanged | ResizeOutcome::Done, Some(named)) =
                (&resize.outcome, number.and_then(|number| self.releases.get(number)?.as_ref()))
            {
                let Some(released) = resize.alloc_id.clone().map(SessionChoice::Alloc) else { return };
                let goes = |node: &String| named.is_empty() || named.contains(node);
                self.reserved.retain(|node, reserved| !(reserved.names.contains(&released) && goes(node)));
            }
            return;
        };
        let (ResizeOutcome::Done | ResizeOutcome::Unchanged, Some(session)) = (&resize.outcome, resize.session) else {
            return;
        };
        let mut names = vec![SessionChoice::Id(session)];
        names.extend(resize.alloc_id.clone().map(SessionChoice::Alloc));
        names.extend(resize.req_id.clone().map(SessionChoice::Ref));
        // A session with a limit gets more time.
        let from = self.ends.get(&session).copied().unwrap_or(at);
        let until = grow.terms.time_limit_s.map(|limit| from + Time::from(limit) * 1_000_000);
        // The limit applies to all nodes of the session.
        self.ends.extend(until.map(|until| (session, until)));
        let nth = self.reservations;
        self.reservations += 1;
        // A node that was lost before the answer belongs to no session any more. The head's own node, n0, stays.
        let is_there = |node: &&String| **node == "n0" || self.names.values().any(|name| name == *node);
        let reserved: Vec<String> =
            resize.nodes.iter().filter(is_there).filter(|_| grow.terms.reserve).cloned().collect();
        for node in reserved {
            self.reserved.insert(node, Reserved { nth, session, names: names.clone() });
        }
        self.called.insert(session, names);
        if resize.outcome == ResizeOutcome::Done {
            let came = self.done.and_then(|id| self.changes.get(id)).map(|change| change.targets.clone());
            let came = came.unwrap_or_default();
            let came: Vec<String> = came.iter().filter_map(|rank| self.names.get(&rank).cloned()).collect();
            self.brought.extend(came.into_iter().map(|node| (node, session)));
        }
    }

    /// An order was carried out.
    fn ordered(&mut self, id: RequestId) {
        let Some((named, directive)) = self.orders.remove(&id) else { return };
        match directive {
            SessionDirective::Terminate => self.reserved.retain(|_, reserved| !reserved.names.contains(&named)),
            SessionDirective::Extend { seconds } => {
                let meant = self.called.iter().filter(|(_, names)| names.contains(&named)).map(|(session, _)| session);
                for session in meant {
                    if let Some(until) = self.ends.get_mut(session) {
                        *until += Time::from(seconds) * 1_000_000;
                    }
                }
            }
            SessionDirective::Instantiate(wish) => {
                if let (SessionChoice::Id(number), Some(alloc_id)) = (named, wish.alloc_id) {
                    self.shares.insert(number, SessionChoice::Alloc(alloc_id));
                }
            }
            SessionDirective::Pause
            | SessionDirective::Resume
            | SessionDirective::Signal(_)
            | SessionDirective::Separate => {}
        }
    }

    /// At the order to end, sessions whose time is over must be gone.
    fn look_at_the_end(&self, at: Time) -> Result<(), String> {
        let has_moved = |session: &SessionId| {
            let names = self.called.get(session).into_iter().flatten();
            names.into_iter().any(|name| matches!(name, SessionChoice::Alloc(id) if self.moved.contains(id)))
        };
        let is_missed = |(_, session): &(&String, &SessionId)| {
            self.ends.get(*session).is_some_and(|until| until + LATE < at) && !has_moved(session)
        };
        let missed = self.brought.iter().find(is_missed);
        require(missed.is_none(), || {
            let until = missed.map(|(_, session)| self.ends[session]);
            format!("the time of {missed:?} was up at {until:?}, and it has not left")
        })
    }

    fn leaves(&mut self, node: &String) {
        self.reserved.remove(node);
        self.brought.remove(node);
    }

    fn launched(&mut self, ticket: &Ticket) {
        self.names.insert(ticket.rank, ticket.node.clone());
        self.names.extend(ticket.group.iter().cloned());
    }

    /// Forgets the sessions of lost nodes: a session ends when its last node is lost, and the referee does not count
    /// the others.
    fn lost(&mut self, ranks: RankSet) {
        let names: BTreeSet<String> = ranks.iter().filter_map(|rank| self.names.remove(&rank)).collect();
        self.reserved.retain(|node, _| !names.contains(node));
        self.brought.retain(|node, _| !names.contains(node));
    }

    /// True when the node is reserved for another session. A lost node, or one that was in the DVM before the session,
    /// is not released when the session's time is up.
    fn is_withheld(&self, node: &str, at: Time, job: JobId, choice: &SessionChoice) -> bool {
        let mapped = self.mapped.get(&job).copied().unwrap_or(self.reservations);
        self.reserved.get(node).is_some_and(|Reserved { nth, session, names }| {
            let is_over = self.ends.get(session).is_some_and(|until| *until <= at);
            let is_ending = self
                .orders
                .values()
                .any(|(named, directive)| *directive == SessionDirective::Terminate && names.contains(named));
            let shares = match choice {
                SessionChoice::Id(number) => self.shares.get(number).is_some_and(|alloc| names.contains(alloc)),
                SessionChoice::Default | SessionChoice::Alloc(_) | SessionChoice::Ref(_) => false,
            };
            *nth < mapped && !is_over && !is_ending && !shares && !names.contains(choice)
        })
    }
}

/// Returns the seconds of a request that asks for more time and nothing else.
pub(super) fn more_seconds(plan: &ResizePlan) -> Option<u32> {
    match &plan.request {
        ResizeRequest::Extend(extend) => Some(extend.seconds),
        ResizeRequest::Grow(_) | ResizeRequest::Shrink(_) | ResizeRequest::Cancel(_) => None,
    }
}

/// Returns the allocation that may get more time by a request whose end the referee cannot see: of a process, of a
/// client that leaves, or of one that does not wait (it hears the end of its grow in elastic mode only).
pub(super) fn more_time_unseen(plan: &ResizePlan, elastic_mode: bool) -> Option<AllocId> {
    let (named, is_told) = match &plan.request {
        ResizeRequest::Grow(grow) if grow.terms.time_limit_s.is_some() => {
            (grow.alloc_id.clone(), elastic_mode || grow.wait)
        }
        ResizeRequest::Extend(extend) => (extend.alloc_id.clone(), true),
        ResizeRequest::Grow(_) | ResizeRequest::Shrink(_) | ResizeRequest::Cancel(_) => (None, true),
    };
    named.filter(|_| plan.by != Asker::Client(None) || !is_told)
}

impl Invariant for OwnSession {
    fn name(&self) -> &'static str {
        "a session has what it was promised, and no longer"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        self.changes.see(what);
        match what {
            Observation::Input { rank: DaemonRank::HEAD, at, input: Input::Terminate { .. }, .. } => {
                self.look_at_the_end(*at)
            }
            Observation::Input {
                rank: DaemonRank::HEAD,
                input: Input::Head(HeadInput::Request { id, request: Request::Session { session, directive } }),
                ..
            } => {
                self.orders.insert(*id, (session.clone(), directive.clone()));
                Ok(())
            }
            // A head without other daemons sends no word of a death.
            Observation::Gone { rank, .. } => {
                self.lost([*rank].into_iter().collect());
                Ok(())
            }
            Observation::Effect { effect: Effect::LaunchDaemon { ticket, .. }, .. } => {
                self.launched(ticket);
                Ok(())
            }
            Observation::Effect { rank: DaemonRank::HEAD, at, effect, message } => {
                match effect {
                    Effect::Accepted { request, job } | Effect::Reply { request, reply: Reply::Detached(job) } => {
                        if let Some(choice) = self.choices.get(request.0 as usize) {
                            self.jobs.insert(*job, choice.clone());
                        }
                    }
                    Effect::Reply { request, reply: Reply::Resize(resize) } => self.grown(*at, *request, resize),
                    Effect::Trace(Transition::Job { job, to: JobState::MapComplete, .. }) => {
                        self.mapped.insert(*job, self.reservations);
                    }
                    Effect::Resized { request, resize } => self.grown(*at, *request, resize),
                    Effect::Reply { request, reply: Reply::Ordered } => self.ordered(*request),
                    Effect::Reply { request, .. } => drop(self.orders.remove(request)),
                    Effect::Trace(Transition::Campaign { campaign, step: CampaignStep::Done, .. }) => {
                        self.done = Some(*campaign);
                    }
                    Effect::OfferRelease { nodes, .. } => nodes.iter().for_each(|node| self.leaves(node)),
                    _ => {}
                }
                if let Some(Message::Tree(TreeMessage::Died { ranks })) = message {
                    self.lost(ranks.clone());
                }
                let Some(Message::Daemon(DaemonMessage::Launch(order))) = message else { return Ok(()) };
                let Some(choice) = self.jobs.get(&order.job) else { return Ok(()) };
                let mut nodes = order.map.nodes.iter();
                let withheld = nodes.find(|node| self.is_withheld(&node.name, *at, order.job, choice));
                require(withheld.is_none(), || {
                    format!("job {} of {choice:?} runs on {withheld:?}, which is reserved", order.job)
                })
            }
            _ => Ok(()),
        }
    }
}
