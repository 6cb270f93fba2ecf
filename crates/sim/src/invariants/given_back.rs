//! Guarantee: all grants of a resource manager go back exactly once, by the end of the DVM at the latest. A partial
//! release names the remaining nodes correctly; no daemon starts on a node without a grant; a withdrawn request has
//! no outcome.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, HeadInput, Input, RequestId};
use ferrite_rm::{GiveBack, Share};
use ferrite_types::{CampaignId, DaemonRank, ExtensionId};

use super::{Invariant, Observation, require};
use crate::scenario::Scenario;
use crate::steps::FIRST_JOB;
use crate::world::Gone;

pub(super) struct GivenBack {
    /// Granted nodes by job, the first job's included.
    granted: BTreeMap<String, BTreeSet<String>>,
    /// Nodes that other jobs had when one was granted by the present input.
    taken: Vec<(String, String)>,
    /// Offered parts of jobs, until the answer.
    offered: BTreeMap<CampaignId, Vec<(String, BTreeSet<String>)>>,
    /// Requests that are neither decided nor withdrawn.
    open: BTreeSet<ExtensionId>,
    /// The client's request in the present input; the next field has the outcomes.
    asking: Option<RequestId>,
    asked: BTreeMap<RequestId, ExtensionId>,
    /// The request that was withdrawn.
    unwanted: Option<ExtensionId>,
}

impl GivenBack {
    pub(super) fn new(scenario: &Scenario) -> GivenBack {
        let first = (0..scenario.daemons).map(|i| format!("n{i}")).collect();
        GivenBack {
            granted: [(FIRST_JOB.to_owned(), first)].into(),
            taken: Vec::new(),
            offered: BTreeMap::new(),
            open: BTreeSet::new(),
            asking: None,
            asked: BTreeMap::new(),
            unwanted: None,
        }
    }

    /// Notes an input of the head; earlier ones are done.
    fn hears(&mut self, input: &Input) -> Result<(), String> {
        let kept = self.unwanted.take().filter(|extension| self.open.contains(extension));
        require(kept.is_none(), || format!("the client of request {kept:?} is gone, and it is not withdrawn"))?;
        self.taken.clear();
        self.asking = match input {
            Input::Head(HeadInput::Request { id, .. }) => Some(*id),
            _ => None,
        };
        match input {
            Input::Head(HeadInput::NodesGranted { extension, job, nodes }) => {
                self.open.remove(extension);
                let names: BTreeSet<String> = nodes.iter().map(|host| host.name.clone()).collect();
                // The manager has taken the nodes back already, although its answer is still on its way.
                for (other, granted) in &mut self.granted {
                    self.taken
                        .extend(granted.extract_if(.., |name| names.contains(name)).map(|name| (other.clone(), name)));
                }
                self.granted.insert(job.clone(), names);
            }
            Input::Head(HeadInput::NodesRefused { extension, .. }) => {
                self.open.remove(extension);
            }
            Input::Head(HeadInput::ReleaseOffered { campaign, kept, .. }) => self.answered(*campaign, kept),
            Input::Head(HeadInput::ClientGone(id)) => self.unwanted = self.asked.get(id).copied(),
            _ => {}
        }
        Ok(())
    }

    fn ends(&mut self, job: &str) -> Result<(), String> {
        require(job != FIRST_JOB, || "the job that the DVM began with is ended".to_owned())?;
        let known = self.granted.remove(job).is_some();
        // A grant that the head gives back at once leaves the nodes where they were: it has not heard yet of their end.
        for (other, name) in self.taken.drain(..) {
            if let Some(granted) = self.granted.get_mut(&other) {
                granted.insert(name);
            }
        }
        require(known, || format!("job {job} is given back, which is not granted any more or never was"))
    }

    fn offers(&mut self, campaign: CampaignId, back: &[GiveBack]) -> Result<(), String> {
        for GiveBack { job, share, .. } in back {
            let Share::Part { leave, stay } = share else {
                self.ends(job)?;
                continue;
            };
            let Some(nodes) = self.granted.get(job) else {
                return Err(format!("a part of job {job} is given back, which is not granted"));
            };
            let gone: BTreeSet<&String> =
                self.offered.values().flatten().filter(|(of, _)| of == job).flat_map(|(_, nodes)| nodes).collect();
            let there: BTreeSet<&String> = nodes.iter().filter(|name| !gone.contains(name)).collect();
            let named: BTreeSet<&String> = leave.iter().chain(stay).collect();
            require(named == there && named.len() == leave.len() + stay.len(), || {
                format!("job {job} has {there:?}: {leave:?} are to leave, {stay:?} to stay")
            })?;
            let offer = (job.clone(), leave.iter().cloned().collect());
            self.offered.entry(campaign).or_default().push(offer);
        }
        Ok(())
    }

    fn answered(&mut self, campaign: CampaignId, kept: &[String]) {
        for (job, nodes) in self.offered.remove(&campaign).unwrap_or_default() {
            if let Some(granted) = self.granted.get_mut(&job) {
                granted.retain(|name| !nodes.contains(name) || kept.contains(name));
            }
        }
    }

    fn starts_on(&self, node: &str) -> Result<(), String> {
        let granted = self.granted.values().any(|nodes| nodes.contains(node));
        require(granted, || format!("a daemon is started on {node}, which is not granted"))
    }
}

impl Invariant for GivenBack {
    fn name(&self) -> &'static str {
        "what was granted is given back once"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        match what {
            Observation::Input { rank: DaemonRank::HEAD, input, .. } => return self.hears(input),
            Observation::Effect { effect, .. } => match effect {
                Effect::RequestNodes { extension, .. } => {
                    self.open.insert(*extension);
                    self.asked.extend(self.asking.map(|request| (request, *extension)));
                }
                Effect::WithdrawRequest { extension } => {
                    let open = self.open.remove(extension);
                    return require(open, || format!("request {extension} is withdrawn, and was not open"));
                }
                Effect::EndAllocation { job } => return self.ends(job),
                Effect::OfferRelease { campaign, back, .. } => return self.offers(*campaign, back),
                Effect::LaunchDaemon { ticket, .. } => {
                    let nodes = [&ticket.node].into_iter().chain(ticket.group.iter().map(|(_, node)| node));
                    return nodes.filter(|node| !node.is_empty()).try_for_each(|node| self.starts_on(node));
                }
                _ => {}
            },
            Observation::Gone { rank: DaemonRank::HEAD, how: Gone::Exit(_), .. } => {
                let left = self.granted.keys().find(|job| *job != FIRST_JOB);
                require(left.is_none(), || format!("the DVM is over, and job {left:?} is still granted"))?;
                let open = self.open.first();
                return require(open.is_none(), || format!("the DVM is over, and request {open:?} is still open"));
            }
            _ => {}
        }
        Ok(())
    }
}
