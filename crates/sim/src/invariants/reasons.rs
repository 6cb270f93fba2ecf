//! Guarantee: the reasons for waits in the status of jobs, campaigns and the DVM are true at that moment. The referee
//! judges them where a client asks for sessions, status and jobs in one sequence. An unknown reason is a violation.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{Effect, HeadInput, Input, LinkInput};
use ferrite_types::{CampaignKind, CampaignStep, DaemonRank, JobId, JobState};
use ferrite_wire::control::{CampaignStatus, DvmStatus, JobStatus, Reply, Request, SessionStatus};
use ferrite_wire::{HeadMessage, Message, Ticket, TreeMessage};

use super::changes::Changes;
use super::struck::Struck;
use super::{Invariant, Observation, require};
use crate::scenario::Scenario;

pub(super) struct Reasons {
    changes: Changes,
    struck: Struck,
    /// The latest daemon of each node.
    daemons: BTreeMap<String, DaemonRank>,
    /// The node of each daemon.
    nodes: BTreeMap<DaemonRank, String>,
    /// Daemons that have reported.
    reported: BTreeSet<DaemonRank>,
    /// Nodes whose daemons were declared lost.
    lost: BTreeSet<String>,
    /// Daemons that have reported that they have tried to start all their processes of a job.
    attempted: BTreeSet<(JobId, DaemonRank)>,
    /// Daemons that have reported that they have all files which a job brings along.
    stocked: BTreeSet<(JobId, DaemonRank)>,
    /// Ranks of a job whose end was reported to the head on a route that no fault has struck.
    ended: BTreeMap<JobId, BTreeSet<u32>>,
    sessions: Option<Vec<SessionStatus>>,
    status: Option<DvmStatus>,
    ending: bool,
}

/// Reads `4 slots (1 of 8 are free, 0 jobs are before it)`, and the same with `room for 4 processes as they are to be
/// placed`. `the slots` has no number.
fn slots_wanted(reason: &str) -> Option<(bool, Option<u32>, u32, u32)> {
    let (what, rest) = reason.split_once(" (")?;
    let (free, rest) = rest.split_once(" of ")?;
    let (_, rest) = rest.split_once(" are free, ")?;
    let before = rest.strip_suffix(" jobs are before it)")?;
    let (free, before) = (free.parse().ok()?, before.parse().ok()?);
    if what == "the slots" {
        return Some((false, None, free, before));
    }
    let room = what.strip_prefix("room for ").and_then(|what| what.strip_suffix(" processes as they are to be placed"));
    let asked = room.or_else(|| what.strip_suffix(" slots"))?.parse().ok()?;
    Some((room.is_some(), Some(asked), free, before))
}

/// Returns the names in `n1, n2 and 3 more`; `None` when there are none.
fn listed(list: &str) -> Option<Vec<&str>> {
    let named = list.split_once(" and ").map_or(list, |(named, _)| named);
    let names: Vec<&str> = named.split(", ").collect();
    names.iter().all(|name| !name.is_empty() && !name.contains(' ')).then_some(names)
}

/// Returns the numbers in `job 1, job 2`.
fn numbered(list: &str, what: &str) -> Option<Vec<u32>> {
    let named = list.split_once(" and ").map_or(list, |(named, _)| named);
    named.split(", ").map(|item| item.strip_prefix(what)?.trim().parse().ok()).collect()
}

/// Formats a campaign as the status does: `grow 1: the daemons of n4 to report`.
fn in_words(campaign: &CampaignStatus) -> String {
    format!("{} {}: {}", campaign.kind, campaign.campaign, campaign.waiting_for)
}

fn is_unlaunched(state: JobState) -> bool {
    state < JobState::SendLaunchMsg || state == JobState::WaitingForDaemons
}

fn is_over(job: &JobStatus) -> bool {
    matches!(job.state, JobState::Terminated | JobState::NotifyCompleted | JobState::Notified) || job.ended_us.is_some()
}

impl Reasons {
    pub(super) fn new(scenario: &Scenario) -> Reasons {
        Reasons {
            changes: Changes::default(),
            struck: Struck::new(scenario),
            daemons: (0..scenario.daemons).map(|rank| (format!("n{rank}"), DaemonRank(rank))).collect(),
            nodes: (0..scenario.daemons).map(|rank| (DaemonRank(rank), format!("n{rank}"))).collect(),
            reported: BTreeSet::new(),
            lost: BTreeSet::new(),
            attempted: BTreeSet::new(),
            stocked: BTreeSet::new(),
            ended: BTreeMap::new(),
            sessions: None,
            status: None,
            ending: false,
        }
    }

    fn is_paused(&self, job: JobId) -> bool {
        self.sessions.iter().flatten().any(|session| session.paused && session.jobs.contains(&job))
    }

    fn campaigns(&self) -> &[CampaignStatus] {
        self.status.as_ref().map_or(&[], |status| &status.campaigns)
    }

    /// True when there are items and each is the text of an open campaign.
    fn are_campaigns(&self, items: &str, which: impl Fn(&CampaignStatus) -> bool) -> bool {
        items
            .split("; ")
            .all(|item| self.campaigns().iter().any(|campaign| which(campaign) && in_words(campaign) == item))
    }

    fn job_holds(&self, job: &JobStatus) -> bool {
        let reason = job.waiting_for.as_str();
        if reason.is_empty() || is_over(job) {
            return reason.is_empty() && is_over(job);
        }
        if reason == "its session to be resumed" {
            return self.is_paused(job.job);
        }
        if let Some(list) = within(reason, "the DVM's new size (") {
            return self.are_campaigns(list, |_| true);
        }
        if let Some(list) = within(reason, "nodes to leave (") {
            let leaves = |c: &CampaignStatus| {
                c.kind == CampaignKind::Shrink && !matches!(c.step, CampaignStep::Queued | CampaignStep::Draining)
            };
            return self.are_campaigns(list, leaves);
        }
        if let Some((is_room, asked, free, before)) = slots_wanted(reason) {
            let too_few = asked.is_none_or(|asked| asked > free);
            return !self.is_paused(job.job) && (before > 0 || is_room != too_few || asked.is_none());
        }
        let of_daemons = |what: &str| reason.strip_suffix(what).and_then(listed);
        if let Some(nodes) = of_daemons(" to start its processes").or_else(|| of_daemons(" to know of it")) {
            return nodes.iter().all(|node| self.is_awaited(job.job, node));
        }
        if let Some(files) = reason.strip_prefix("files on node ") {
            return job.state == JobState::SystemPrep && self.are_missing(job.job, files).unwrap_or(false);
        }
        match reason {
            "its placement" => job.procs == 0,
            "its launch to be prepared" => job.procs > 0 && job.state == JobState::SystemPrep,
            _ => self.runs_on(job).unwrap_or(false),
        }
    }

    /// True for a node whose daemon has yet to report the start of the job. Its report is certain only when no fault
    /// has struck its route.
    fn is_awaited(&self, job: JobId, node: &str) -> bool {
        self.daemons.get(node).is_some_and(|rank| !self.attempted.contains(&(job, *rank)))
    }

    /// Checks `n1: 3 of 11 MB`.
    fn are_missing(&self, job: JobId, files: &str) -> Option<bool> {
        let (node, amount) = files.split_once(": ")?;
        let (there, all) = amount.strip_suffix(" MB")?.split_once(" of ")?;
        let (there, all): (u64, u64) = (there.parse().ok()?, all.parse().ok()?);
        Some(there <= all && !self.stocked.contains(&(job, *self.daemons.get(node)?)))
    }

    /// Checks `2 of 3 processes to end (ranks 0, 2)`.
    fn runs_on(&self, job: &JobStatus) -> Option<bool> {
        let (living, rest) = job.waiting_for.split_once(" of ")?;
        let (all, rest) = rest.split_once(" processes to ")?;
        let (how, rest) = rest.split_once(" (ranks ")?;
        let ranks = numbered(rest.strip_suffix(')')?, "")?;
        let (living, all): (u32, u32) = (living.parse().ok()?, all.parse().ok()?);
        let over = self.ended.get(&job.job);
        let lives = |rank: &u32| *rank < all && over.is_none_or(|over| !over.contains(rank));
        Some(
            matches!(how, "end" | "be killed")
                && 0 < living
                && living <= all
                && all == job.procs
                && ranks.iter().all(lives),
        )
    }

    fn campaign_holds(&self, campaign: &CampaignStatus) -> bool {
        let reason = campaign.waiting_for.as_str();
        let is_known = self.changes.get(campaign.campaign).is_some_and(|change| change.step == campaign.step);
        let open = |id: &u32| self.campaigns().iter().any(|c| c.campaign.0 == *id && c.campaign != campaign.campaign);
        let daemons = |what: &str| {
            let nodes = listed(reason.strip_prefix("the daemons of ")?.strip_suffix(what)?)?;
            nodes.iter().all(|node| campaign.nodes.iter().any(|own| own == node)).then_some(nodes)
        };
        let is_behind = |reason: &str| {
            let list = reason.strip_suffix(" to end").and_then(|list| numbered(list, "campaign "));
            list.is_some_and(|ids| ids.iter().all(open))
        };
        let is_absent = |node: &&str| self.daemons.get(*node).is_none_or(|rank| !self.reported.contains(rank));
        is_known
            && match campaign.step {
                CampaignStep::Behind => is_behind(reason),
                // The jobs themselves are checked with the status of jobs.
                CampaignStep::Queued => turns_of(campaign).is_some() || is_behind(reason),
                // The last nodes leave after a part that leaves now.
                CampaignStep::Draining if is_behind(reason) => true,
                CampaignStep::Draining => reason.starts_with("the processes of ") && reason.contains(" to end before "),
                CampaignStep::Launching => daemons(" to report").is_some_and(|nodes| nodes.iter().all(is_absent)),
                CampaignStep::WiringUp => reason.starts_with("all daemons to be wired up"),
                CampaignStep::Leaving => daemons(" to leave").is_some(),
                CampaignStep::RollingBack => reason == "what it started to leave",
                CampaignStep::Releasing => reason == "the resource managers to take the nodes back",
                CampaignStep::Pushed | CampaignStep::Open | CampaignStep::Done | CampaignStep::Failed => false,
            }
    }

    fn dvm_holds(&self, status: &DvmStatus) -> bool {
        let reason = status.waiting_for.as_str();
        if self.ending || status.state != Some(JobState::VmReady) {
            return !reason.is_empty();
        }
        if let Some(list) = reason.strip_prefix("all daemons to go on without those of ") {
            let is_struck =
                |name: &&str| self.nodes.iter().any(|(rank, node)| node == name && self.struck.contains(*rank));
            let is_lost = |name: &&str| self.lost.contains(*name) || is_struck(name);
            return listed(list).is_some_and(|nodes| nodes.iter().all(is_lost));
        }
        // Extensions come after the campaigns.
        let items: Vec<&str> =
            reason.split("; ").filter(|item| !item.is_empty() && !item.starts_with("grow of ")).collect();
        let words: Vec<String> = status.campaigns.iter().map(in_words).collect();
        reason.contains("grow of ") || items == words
    }

    /// Returns a queued campaign that names a job that does not wait.
    fn turns_hold(&self, jobs: &[JobStatus]) -> Option<&CampaignStatus> {
        let waits = |id: &u32| jobs.iter().any(|job| job.job.0 == *id && !is_over(job) && is_unlaunched(job.state));
        // One that waits for a drain names campaigns, which are checked with the status of the DVM.
        let is_false = |campaign: &&CampaignStatus| {
            let is_behind = campaign.waiting_for.starts_with("campaign ");
            !is_behind && turns_of(campaign).is_none_or(|ids| !ids.iter().all(waits))
        };
        self.campaigns().iter().filter(|campaign| campaign.step == CampaignStep::Queued).find(is_false)
    }

    fn judge(&self, reply: &Reply) -> Result<(), String> {
        match reply {
            Reply::Status(status) => {
                let false_one = status.campaigns.iter().find(|campaign| !self.campaign_holds(campaign));
                require(false_one.is_none(), || format!("what a campaign waits for is not so: {false_one:?}"))?;
                require(self.dvm_holds(status), || {
                    format!("what the DVM waits for is not so: {:?}, of {:?}", status.waiting_for, status.campaigns)
                })
            }
            Reply::Jobs(jobs) if self.sessions.is_some() && self.status.is_some() => {
                let turns = self.turns_hold(jobs);
                require(turns.is_none(), || format!("{turns:?} waits for jobs that do not wait"))?;
                let false_one = jobs.iter().find(|job| !self.job_holds(job));
                require(false_one.is_none(), || {
                    let job = false_one.map(|job| (job.job, job.state, &job.waiting_for));
                    format!("what {job:?} waits for is not so: {:?}", self.campaigns())
                })
            }
            _ => Ok(()),
        }
    }

    fn hears(&mut self, input: &Input, message: Option<&Message>) {
        self.ending |= matches!(input, Input::Terminate { .. } | Input::Head(HeadInput::Interrupt));
        let asks = matches!(
            input,
            Input::Head(HeadInput::Request { request: Request::Sessions | Request::Status | Request::Jobs, .. })
        );
        if !asks {
            (self.sessions, self.status) = (None, None);
        }
        let Input::Link(LinkInput::Frame { frame, .. }) = input else { return };
        let is_sure = !self.struck.on_the_way(frame.origin);
        match message {
            Some(Message::Head(HeadMessage::Report(report))) => drop(self.reported.insert(report.rank)),
            Some(Message::Head(HeadMessage::LocalLaunchComplete { job, .. })) if is_sure => {
                self.attempted.insert((*job, frame.origin));
            }
            Some(Message::Head(HeadMessage::Preloaded { job, result: Ok(()) })) if is_sure => {
                self.stocked.insert((*job, frame.origin));
            }
            Some(Message::Head(HeadMessage::ProcsEnded { job, ends })) if is_sure => {
                self.ended.entry(*job).or_default().extend(ends.iter().map(|end| end.rank.0));
            }
            _ => {}
        }
    }

    fn launched(&mut self, ticket: &Ticket) {
        let all = ticket.group.iter().cloned().chain([(ticket.rank, ticket.node.clone())]);
        for (rank, node) in all {
            self.daemons.insert(node.clone(), rank);
            self.nodes.insert(rank, node);
        }
    }
}

fn within<'a>(reason: &'a str, before: &str) -> Option<&'a str> {
    reason.strip_prefix(before)?.strip_suffix(')')
}

/// Returns the jobs whose turn a queued campaign awaits.
fn turns_of(campaign: &CampaignStatus) -> Option<Vec<u32>> {
    numbered(campaign.waiting_for.strip_suffix(" to be launched, which others have held before")?, "job ")
}

impl Invariant for Reasons {
    fn name(&self) -> &'static str {
        "the reason for a wait is one that holds"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        self.changes.see(what);
        self.struck.see(what);
        match what {
            Observation::Input { rank: DaemonRank::HEAD, input, message, .. } => self.hears(input, *message),
            // There may be no daemon left that the head tells of it.
            Observation::Gone { rank, .. } => self.lost.extend(self.nodes.get(rank).cloned()),
            Observation::Effect { effect: Effect::LaunchDaemon { ticket, .. }, .. } => self.launched(ticket),
            Observation::Effect { rank: DaemonRank::HEAD, effect, message, .. } => {
                if let Some(Message::Tree(TreeMessage::Died { ranks })) = message {
                    self.lost.extend(ranks.iter().filter_map(|rank| self.nodes.get(&rank).cloned()));
                }
                let Effect::Reply { reply, .. } = effect else { return Ok(()) };
                match reply {
                    Reply::Sessions(sessions) => self.sessions = Some(sessions.clone()),
                    Reply::Status(status) => self.status = Some((**status).clone()),
                    _ => {}
                }
                return self.judge(reply);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_that_are_wanted_are_read() {
        let rest = "(1 of 8 are free, 2 jobs are before it)";
        assert_eq!(slots_wanted(&format!("4 slots {rest}")), Some((false, Some(4), 1, 2)));
        assert_eq!(slots_wanted(&format!("the slots {rest}")), Some((false, None, 1, 2)));
        let room = format!("room for 4 processes as they are to be placed {rest}");
        assert_eq!(slots_wanted(&room), Some((true, Some(4), 1, 2)));
        assert_eq!(slots_wanted("its placement"), None);
    }

    #[test]
    fn lists_are_read_and_empty_ones_are_none() {
        assert_eq!(listed("n1, n2 and 12 more"), Some(vec!["n1", "n2"]));
        assert_eq!(listed(""), None);
        assert_eq!(listed("of the head"), None);
        assert_eq!(numbered("job 1, job 12", "job "), Some(vec![1, 12]));
        assert_eq!(numbered("", "job "), None);
    }
}
