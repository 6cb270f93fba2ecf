//! What a session was promised holds: nodes that are reserved for it are for its jobs alone, and with its time limit they leave
//! (docs/spec/sessions.md). Of sessions that clients have asked for: only those say to the referee what came of their requests.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, HeadInput, Input, RequestId, Transition};
use ferrite_types::{DaemonRank, JobId, JobState, RankSet};
use ferrite_wire::control::{Reply, Request, SessionChoice, SessionDirective};
use ferrite_wire::{DaemonMessage, GrowRequest, Message, Resize, ResizeOutcome, ResizeRequest, Ticket, TreeMessage};

use super::{Invariant, Observation, require};
use crate::queue::Time;
use crate::scenario::Scenario;

/// Changes that are open when the time is up come first, and may take as long as they do; each has its own time limit.
const LATE: Time = 120_000_000;

pub(super) struct OwnSession {
    first: RequestId,
    grows: Vec<Option<GrowRequest>>,
    /// Nodes that releases name, of which those that were lent go back.
    releases: Vec<Option<Vec<String>>>,
    /// Nodes that jobs bring along: when another grow has them as well, it may be the job's that has brought them.
    brought_by_jobs: BTreeSet<String>,
    choices: Vec<SessionChoice>,
    jobs: BTreeMap<JobId, SessionChoice>,
    /// How many reservations there had been when a job was mapped: a later one leaves it where it is.
    mapped: BTreeMap<JobId, usize>,
    /// Reservations so far.
    reservations: usize,
    /// Which daemon is on which node.
    names: BTreeMap<DaemonRank, String>,
    /// Nodes that are withheld.
    reserved: BTreeMap<String, Reserved>,
    /// When sessions end by themselves.
    ends: BTreeMap<u32, Time>,
    /// Nodes that have to leave, and by when at the latest.
    due: BTreeMap<String, Time>,
    /// Whether limits can be foretold: nobody moves them, and no node is lost or is in two sessions.
    limits: bool,
}

/// For whom.
struct Reserved {
    /// How many there were before it.
    nth: usize,
    session: u32,
    /// The names of the session.
    names: Vec<SessionChoice>,
}

impl OwnSession {
    pub(super) fn new(scenario: &Scenario) -> OwnSession {
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
        let moves = |question: &Request| {
            let Request::Session { directive, .. } = question else { return false };
            matches!(directive, SessionDirective::Extend { .. } | SessionDirective::Instantiate(_))
        };
        let grows: Vec<Option<GrowRequest>> = grows.collect();
        let by_name = grows.iter().flatten().all(|grow| grow.activate.is_empty() && grow.count == 0);
        let still = scenario.faults.is_empty() && scenario.fates.is_empty() && by_name;
        OwnSession {
            first: scenario.resize_request(0),
            grows,
            releases: releases.collect(),
            brought_by_jobs: hosts_of_jobs(scenario),
            choices: scenario.jobs.iter().map(|job| job.session.clone()).collect(),
            jobs: BTreeMap::new(),
            mapped: BTreeMap::new(),
            reservations: 0,
            names: BTreeMap::new(),
            reserved: BTreeMap::new(),
            ends: BTreeMap::new(),
            due: BTreeMap::new(),
            limits: still && !scenario.questions.iter().any(|(_, question)| moves(question)),
        }
    }

    fn grown(&mut self, at: Time, request: RequestId, resize: &Resize) {
        let number = request.0.checked_sub(self.first.0).map(|number| number as usize);
        let Some(plan) = number.and_then(|number| self.grows.get(number).cloned()) else { return };
        let Some(grow) = plan else {
            // What was lent to the allocation is what it was before, whatever else leaves.
            if let (ResizeOutcome::Unchanged | ResizeOutcome::Done, Some(named)) =
                (&resize.outcome, number.and_then(|number| self.releases.get(number)?.as_ref()))
            {
                let released = SessionChoice::Alloc(resize.alloc_id.clone());
                let goes = |node: &String| named.is_empty() || named.contains(node);
                self.reserved.retain(|node, reserved| !(reserved.names.contains(&released) && goes(node)));
            }
            return;
        };
        let (ResizeOutcome::Done | ResizeOutcome::Unchanged, Some(session)) = (&resize.outcome, resize.session) else {
            return;
        };
        let mut names = vec![SessionChoice::Id(session), SessionChoice::Alloc(resize.alloc_id.clone())];
        names.extend(resize.req_id.clone().map(SessionChoice::Ref));
        // One that has a limit gets more.
        let from = self.ends.get(&session).copied().unwrap_or(at);
        let until = grow.terms.time_limit_s.map(|limit| from + Time::from(limit) * 1_000_000);
        // The limit is that of all that the session has.
        self.ends.extend(until.map(|until| (session, until)));
        let nth = self.reservations;
        self.reservations += 1;
        for node in &resize.nodes {
            if grow.terms.reserve {
                self.reserved.insert(node.clone(), Reserved { nth, session, names: names.clone() });
            }
            if let Some(until) = until.filter(|_| self.limits && self.is_named_once(node)) {
                self.due.insert(node.clone(), until + LATE);
            }
        }
    }

    fn launched(&mut self, ticket: &Ticket) {
        self.names.insert(ticket.rank, ticket.node.clone());
        self.names.extend(ticket.group.iter().cloned());
    }

    /// A session ends with the last of its nodes that is lost; whether others of it are left is not followed.
    fn lost(&mut self, ranks: RankSet) {
        let names: BTreeSet<&String> = ranks.iter().filter_map(|rank| self.names.get(&rank)).collect();
        self.reserved.retain(|node, _| !names.contains(node));
    }

    /// True when the node is for jobs of another session. One that was lost, or was there before the session, is nowhere offered
    /// when the time of that is up.
    fn is_withheld(&self, node: &str, at: Time, job: JobId, choice: &SessionChoice) -> bool {
        let mapped = self.mapped.get(&job).copied().unwrap_or(self.reservations);
        self.reserved.get(node).is_some_and(|Reserved { nth, session, names }| {
            let is_over = self.ends.get(session).is_some_and(|until| *until <= at);
            *nth < mapped && !is_over && !names.contains(choice)
        })
    }

    fn is_named_once(&self, node: &str) -> bool {
        let named = self.grows.iter().flatten().flat_map(|grow| &grow.hosts);
        named.filter(|added| added.host.name == node).count() == 1 && !self.brought_by_jobs.contains(node)
    }
}

fn hosts_of_jobs(scenario: &Scenario) -> BTreeSet<String> {
    let hosts = scenario.jobs.iter().filter_map(|job| job.grow.as_ref()).flat_map(|grow| &grow.hosts);
    hosts.map(|added| added.host.name.clone()).collect()
}

impl Invariant for OwnSession {
    fn name(&self) -> &'static str {
        "a session has what it was promised, and no longer"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Input { rank: DaemonRank::HEAD, at, input: Input::Terminate { .. }, .. } => {
                let missed = self.due.iter().find(|(_, due)| *due < at);
                require(missed.is_none(), || format!("the time of {missed:?} was up, and it has not left"))
            }
            Observation::Input {
                rank: DaemonRank::HEAD,
                input:
                    Input::Head(HeadInput::Request {
                        request: Request::Session { session, directive: SessionDirective::Terminate },
                        ..
                    }),
                ..
            } => {
                self.reserved.retain(|_, reserved| !reserved.names.contains(session));
                Ok(())
            }
            // A head that is alone tells nobody of a death.
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
                    Effect::OfferRelease { nodes, .. } => nodes.iter().for_each(|node| {
                        self.reserved.remove(node);
                        self.due.remove(node);
                    }),
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
