//! Requests for another size as the scenario plans them, and the resource managers' answers about departed nodes.
//!
//! The world calls it at its beginning and for each plan. The head decides about the requests.

use ferrite_core::{DaemonInput, HeadInput, Input, PmixCall, RequestId};
use ferrite_rm::GiveBack;
use ferrite_types::{CampaignId, DaemonRank, ProcId};
use ferrite_wire::control::Request;

use crate::elastic::Asker;
use crate::event::Event;
use crate::pmix::Waiting;
use crate::world::World;

impl World {
    pub(crate) fn plan_resizes(&mut self) {
        for (i, plan) in self.scenario.elastic.resizes.clone().into_iter().enumerate() {
            match plan.by {
                Asker::Process(_) => self.queue.at(plan.at, Event::ProcAsks(i)),
                Asker::Client(leaves) | Asker::Scheduler(leaves) => {
                    let id = self.scenario.resize_request(i);
                    let request = Box::new(plan.request);
                    let pushes = matches!(plan.by, Asker::Scheduler(_));
                    self.request(plan.at, id, if pushes { Request::Push(request) } else { Request::Resize(request) });
                    if let Some(at) = leaves {
                        self.queue.at(at, Event::ClientLeaves(id));
                    }
                }
            }
        }
    }

    /// True for requests for another size: their client may leave after the answer, while it waits for an event.
    pub(crate) fn is_resize(&self, id: RequestId) -> bool {
        id >= self.scenario.resize_request(0)
    }

    /// Lets a running process call `PMIx_Allocation_request`.
    pub(crate) fn proc_asks(&mut self, plan: usize) {
        let plan = &self.scenario.elastic.resizes[plan];
        let Asker::Process(number) = plan.by else { return };
        let request = plan.request.clone();
        let running: Vec<(DaemonRank, ProcId)> =
            self.hosts.iter().flat_map(|(rank, host)| host.running_procs(*rank)).collect();
        let Some((rank, proc)) = running.get(number as usize % running.len().max(1)).copied() else { return };
        let token = self.ask(rank, Waiting::Resize);
        self.upcall(rank, Input::Daemon(DaemonInput::Pmix(PmixCall::Resize { proc, request, token })));
    }

    pub(crate) fn offer_release(&mut self, head: DaemonRank, campaign: CampaignId, back: &[GiveBack]) {
        let slowest = self.scenario.elastic.slowest_release.max(200);
        let delay = self.rng.between(1, slowest);
        let kept: Vec<String> = back.iter().flat_map(|back| self.manager.take_back(back)).collect();
        let error = (!kept.is_empty()).then(|| "it was changed once already".to_owned());
        self.queue.after(delay, Event::Input(head, Input::Head(HeadInput::ReleaseOffered { campaign, kept, error })));
    }
}
