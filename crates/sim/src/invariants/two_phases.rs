//! Guarantee: a request for another size is answered in two phases: at once when it begins, and by one event at its
//! end; a client that waits gets the end as its answer. There is no second phase for refusals, for requests without
//! change, for pushes (spec E41), and for a requester that is gone. Both phases repeat the allocation, the nodes
//! and the requester's own name (spec G8, E49).

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{DaemonInput, Effect, HeadInput, Input, PmixCall, PmixEffect, PmixToken, RequestId};
use ferrite_types::{AllocReqId, DaemonRank, ProcId};
use ferrite_wire::control::{Reply, Request};
use ferrite_wire::{Resize, ResizeOutcome, ResizeRequest};

use super::{Invariant, Observation, require};
use crate::scenario::Scenario;

pub(super) struct TwoPhases {
    elastic: bool,
    quiet: bool,
    ready: bool,
    /// True when something went wrong during bring-up: such a DVM may end with a message.
    early: bool,
    clients: BTreeMap<RequestId, Asked>,
    calls: BTreeMap<(DaemonRank, PmixToken), (ProcId, Asked)>,
    procs: BTreeSet<ProcId>,
}

/// A request, and what its requester has heard.
struct Asked {
    wait: bool,
    req_id: Option<AllocReqId>,
    /// The answer of the first phase, when a second must follow.
    begun: Option<Resize>,
    answered: bool,
    over: bool,
    /// A push has a first phase only.
    pushed: bool,
}

impl Asked {
    fn of(request: &ResizeRequest) -> Asked {
        let (wait, req_id) = match request {
            ResizeRequest::Grow(grow) => (grow.wait, grow.req_id.clone()),
            ResizeRequest::Shrink(shrink) => (shrink.wait, shrink.req_id.clone()),
            ResizeRequest::Cancel(cancel) => (false, cancel.req_id.clone()),
            ResizeRequest::Extend(extend) => (false, extend.req_id.clone()),
        };
        Asked { wait, req_id, begun: None, answered: false, over: false, pushed: false }
    }

    fn answer(&mut self, resize: &Resize) -> Result<(), String> {
        require(!self.answered, || format!("a second answer: {resize:?}"))?;
        require(resize.req_id == self.req_id, || format!("{:?} comes back as {:?}", self.req_id, resize.req_id))?;
        self.answered = true;
        let wait = self.wait;
        match &resize.outcome {
            ResizeOutcome::Refused { .. } | ResizeOutcome::Unchanged => self.over = true,
            ResizeOutcome::Begun | ResizeOutcome::Requested { .. } => {
                self.begun = Some(resize.clone());
                require(!wait, || "who waits hears that it has begun".to_owned())?;
            }
            ResizeOutcome::Done | ResizeOutcome::Failed { .. } => {
                self.over = true;
                require(wait, || "who does not wait hears the end at once".to_owned())?;
            }
        }
        Ok(())
    }

    fn event(&mut self, resize: &Resize) -> Result<(), String> {
        require(!self.pushed, || format!("the end of a push is told: {resize:?}"))?;
        let Some(begun) = self.begun.as_ref().filter(|_| !self.over) else {
            return Err(format!("an event for a request that is over or has not begun: {resize:?}"));
        };
        require(is_about(begun, resize), || format!("the event is about another request: {begun:?}, {resize:?}"))?;
        self.over = true;
        let end = matches!(resize.outcome, ResizeOutcome::Done | ResizeOutcome::Failed { .. });
        require(end, || format!("the event says no end: {resize:?}"))
    }

    fn is_owed(&self) -> bool {
        self.begun.is_some() && !self.over && !self.pushed
    }
}

/// True when an event is about the request that was answered so: allocation, name and nodes are the same. Nodes that a
/// resource manager is to grant have no names at first.
fn is_about(begun: &Resize, resize: &Resize) -> bool {
    let are_known = begun.outcome == ResizeOutcome::Begun;
    let is_same = (&begun.alloc_id, &begun.req_id) == (&resize.alloc_id, &resize.req_id);
    is_same && (!are_known || begun.nodes == resize.nodes)
}

impl TwoPhases {
    pub(super) fn new(scenario: &Scenario) -> TwoPhases {
        TwoPhases {
            elastic: scenario.elastic.mode,
            quiet: scenario.must_survive() && scenario.has_quiet_phase(),
            ready: false,
            early: false,
            clients: BTreeMap::new(),
            calls: BTreeMap::new(),
            procs: BTreeSet::new(),
        }
    }

    /// Checks that all requesters have heard the end when the quiet phase begins.
    fn look(&self) -> Result<(), String> {
        let client = self.clients.iter().find(|(_, asked)| asked.is_owed()).map(|(id, _)| *id);
        require(client.is_none(), || format!("{client:?} never heard how it ended"))?;
        let proc = self.calls.values().find(|(proc, asked)| asked.is_owed() && self.procs.contains(proc));
        require(proc.is_none(), || format!("process {:?} never heard how it ended", proc.map(|(proc, _)| proc)))
    }

    fn pmix(&mut self, rank: DaemonRank, effect: &PmixEffect) -> Result<(), String> {
        match effect {
            PmixEffect::ReplyResize { token, resize } => match self.calls.get_mut(&(rank, *token)) {
                // A request of a process never waits, whatever it says.
                Some((_, asked)) => {
                    asked.wait = false;
                    asked.answer(resize)
                }
                None => Err(format!("daemon {rank} answers {token:?}, which nobody asked")),
            },
            PmixEffect::ResizeEvent { proc, resize } => {
                let mine = self.calls.values_mut().filter(|(who, asked)| who == proc && asked.is_owed());
                let about = |asked: &Asked| asked.begun.as_ref().is_some_and(|begun| is_about(begun, resize));
                match mine.map(|(_, asked)| asked).find(|asked| about(asked)) {
                    Some(asked) => asked.event(resize),
                    None => Err(format!("{proc} gets an event that it is not owed: {resize:?}")),
                }
            }
            _ => Ok(()),
        }
    }
}

impl Invariant for TwoPhases {
    fn name(&self) -> &'static str {
        "a request for another size is answered in two phases"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Input { rank, input, .. } => match input {
                Input::Head(HeadInput::Request { id, request: Request::Resize(request) }) => {
                    self.clients.insert(*id, Asked::of(request));
                }
                Input::Head(HeadInput::Request { id, request: Request::Push(request) }) => {
                    self.clients.insert(*id, Asked { pushed: true, ..Asked::of(request) });
                }
                Input::Head(HeadInput::ClientGone(id)) => {
                    self.clients.remove(id);
                }
                Input::Daemon(DaemonInput::Pmix(PmixCall::Resize { proc, request, token })) => {
                    self.calls.insert((*rank, *token), (*proc, Asked::of(request)));
                }
                Input::Terminate { .. } if self.quiet && self.elastic && (self.ready || !self.early) => {
                    return self.look();
                }
                _ => {}
            },
            Observation::Effect { effect: Effect::Ready, .. } => self.ready = true,
            Observation::Fault { .. } if !self.ready => self.early = true,
            Observation::Effect { effect: Effect::Reply { request, reply: Reply::Resize(resize) }, .. } => {
                return self.clients.get_mut(request).map_or(Ok(()), |asked| asked.answer(resize));
            }
            Observation::Effect { effect: Effect::Resized { request, resize }, .. } => {
                return match self.clients.get_mut(request) {
                    Some(asked) => asked.event(resize),
                    None => Err(format!("an event for {request:?}, whose client is gone or never was")),
                };
            }
            Observation::Effect { rank, effect: Effect::Pmix(effect), .. } => return self.pmix(*rank, effect),
            Observation::ProcBorn { proc, .. } => {
                self.procs.insert(*proc);
            }
            Observation::ProcEnded { proc, .. } => {
                self.procs.remove(proc);
            }
            Observation::Gone { rank, .. } => self.calls.retain(|(at, _), _| at != rank),
            _ => {}
        }
        Ok(())
    }
}
