//! Elastic jobs (`--elastic MIN:MAX`): the smallest size that a shrink leaves them, and their answers to the notice
//! that nodes are to leave (docs/spec/elastic.md).

use ferrite_types::pmix_status::FERRITE_NODES_STAY;
use ferrite_types::{CampaignId, DaemonRank, Duration, JobId, NodeId, NodeRecord, PmixStatus, ProcId};
use ferrite_wire::WithdrawalAnswer;

use super::phase::{Change, Phase};
use super::plan::Reason;
use super::requester::Requester;
use super::sizes::processes;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::lists::listed;
use crate::pmix_status::{
    PMIX_ERR_BAD_PARAM, PMIX_ERR_INVALID_OPERATION, PMIX_ERR_NOT_FOUND, PMIX_ERR_NOT_SUPPORTED, PMIX_ERR_RESOURCE_BUSY,
};

/// The longest time by which a job may put a shrink off at once.
pub(super) const LONGEST_DEFERRAL_S: u32 = 24 * 3_600;

impl Head {
    /// Refuses a shrink that would leave an elastic job with fewer processes than its smallest size (spec E51). A job
    /// may ask for that itself, and a scheduler knows what it does.
    pub(super) fn check_ranges(&self, nodes: &[NodeId], requester: Requester) -> Result<(), Reason> {
        if requester.is_scheduler() || !self.jobs.has_elastic() {
            return Ok(());
        }
        let leaving = self.daemons_of(nodes);
        let own = if let Requester::Proc(proc, _) = requester { self.jobs.root_of(proc.job) } else { None };
        let short = self.jobs.elastic_trees().into_iter().filter(|(root, _)| own != Some(*root));
        for (root, range) in short {
            let places = self.jobs.places_of_tree(root);
            let retired = self.jobs.launched_of_tree(root).into_iter().filter(|(proc, _)| self.elastic.retires(*proc));
            let retired: Vec<DaemonRank> = retired.filter_map(|(_, node)| self.pool.record(node).daemon).collect();
            let stays = |daemon: DaemonRank| {
                let is_to_leave = |node: &NodeRecord| self.elastic.campaigns.leaves_with(node.id).is_some();
                !leaving.contains(daemon) && !self.pool.node_of(daemon).is_some_and(is_to_leave)
            };
            let count = |of: &[DaemonRank]| of.iter().filter(|daemon| stays(**daemon)).count();
            let left = count(&places).saturating_sub(count(&retired));
            let takes = places.iter().any(|daemon| leaving.contains(*daemon));
            if takes && left < range.min as usize {
                let cause = format!(
                    "Job {root} keeps at least {} (--elastic {range}), and {left} would be left. Force it with \
                     `pdvm shrink --force`.",
                    processes(range.min)
                );
                return Err(Reason::new(PMIX_ERR_RESOURCE_BUSY, cause));
            }
        }
        Ok(())
    }

    /// Handles the answer of a process to the notice that nodes with processes of its job are to leave (spec E52, E53).
    pub(in crate::head) fn on_withdrawal_answer(
        &mut self,
        by: Option<ProcId>,
        answer: WithdrawalAnswer,
        cx: &mut Cx,
    ) -> Result<(), PmixStatus> {
        let by = by.ok_or(PMIX_ERR_NOT_SUPPORTED)?;
        let root = self.jobs.root_of(by.job).ok_or(PMIX_ERR_NOT_FOUND)?;
        if !self.jobs.elastic_trees().iter().any(|(elastic, _)| *elastic == root) {
            return Err(PMIX_ERR_NOT_SUPPORTED);
        }
        let concerned = |job: &JobId| self.jobs.root_of(*job) == Some(root);
        let draining = self.elastic.campaigns.draining();
        let about = draining.filter_map(|(id, campaign)| {
            let Phase::Draining(drain) = &campaign.phase else { return None };
            let jobs: Vec<JobId> = drain.jobs().filter(concerned).collect();
            (!jobs.is_empty()).then_some((id, jobs))
        });
        let about: Vec<(CampaignId, Vec<JobId>)> = about.collect();
        let of_procs = self.on_retirement_answer(root, by, answer, cx);
        if about.is_empty() || of_procs.is_ok() {
            return of_procs;
        }
        let is_final = |id: &CampaignId| match self.elastic.campaigns.expect(*id).change {
            Change::Shrink { is_final, longest, .. } => {
                is_final || (longest.is_some() && matches!(answer, WithdrawalAnswer::Defer(_)))
            }
            Change::Grow { .. } => true,
        };
        let open: Vec<(CampaignId, Vec<JobId>)> = about.into_iter().filter(|(id, _)| !is_final(id)).collect();
        if open.is_empty() {
            return Err(PMIX_ERR_INVALID_OPERATION);
        }
        match answer {
            WithdrawalAnswer::Refuse => open.iter().for_each(|(id, _)| self.refuse_departure(*id, by)),
            WithdrawalAnswer::Defer(seconds) if seconds > LONGEST_DEFERRAL_S => return Err(PMIX_ERR_BAD_PARAM),
            WithdrawalAnswer::Defer(seconds) => {
                let time = Duration::from_secs(seconds.into());
                open.into_iter().for_each(|(id, jobs)| self.defer_departure(id, &jobs, time, cx));
            }
        }
        self.end_drains(cx);
        Ok(())
    }

    /// Notes that a shrink is refused. It ends when the part that leaves now has left.
    fn refuse_departure(&mut self, id: CampaignId, by: ProcId) {
        let names = self.pool.names(&self.elastic.campaigns.expect(id).nodes);
        let verb = if names.len() == 1 { "leaves" } else { "leave" };
        let cause = format!(
            "Rank {} of job {} refuses that {} {verb}. Force it with `pdvm shrink --force`.",
            by.rank,
            by.job,
            listed(names.iter().map(String::as_str))
        );
        if let Some(drain) = self.elastic.campaigns.drain_mut(id) {
            drain.refuse(Reason::new(PMIX_ERR_RESOURCE_BUSY, cause));
        }
    }

    /// Ends a shrink that was refused: all who were told hear that the nodes stay (spec E53).
    pub(super) fn stay(&mut self, id: CampaignId, why: Reason, cx: &mut Cx) {
        let campaign = self.elastic.campaigns.expect(id);
        let Phase::Draining(drain) = &campaign.phase else { return };
        let told = |id: &JobId| self.jobs.has_grace(*id);
        let (jobs, nodes): (Vec<JobId>, _) = (drain.jobs().filter(told).collect(), self.pool.names(&campaign.nodes));
        let (alloc_id, req_id) = (campaign.alloc_id.clone(), campaign.req_id.clone());
        let daemons = self.daemons_of(&campaign.nodes);
        for job in jobs {
            self.announce_stay(job, &nodes, &daemons, (&alloc_id, req_id.as_ref()), FERRITE_NODES_STAY, cx);
        }
        self.close_campaign(id, Some(why), cx);
        self.serve_queue(cx);
    }
}
