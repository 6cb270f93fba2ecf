//! The policy for elastic jobs (`ferrite_elastic_policy fill`): what is idle is offered to them, and what they have
//! above their smallest size is taken back when jobs wait for it (spec E62 to E64).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use ferrite_types::{Duration, JobId, NodeId, SessionId, SizeRange, Timestamp};
use ferrite_wire::{JobResize, JobResizeOutcome, SizeChange};

use super::sizes::What;
use crate::HeadTimer;
use crate::cx::Cx;
use crate::head::Head;

/// The time between two looks. Slots that are free for less are those of jobs that follow each other.
const LOOK: Duration = Duration::from_secs(1);
/// The most times that the pause of a job doubles.
const MOST_DOUBLINGS: u32 = 7;

/// The policy's memory; it asks the jobs for everything else.
#[derive(Debug, Default)]
pub(super) struct Policy {
    is_looking: bool,
    /// Trees that are left alone.
    pauses: BTreeMap<JobId, Pause>,
    /// The free slots of each session at the last look.
    idle: BTreeMap<SessionId, u32>,
}

/// The time for which a tree is left alone.
#[derive(Debug, Default)]
struct Pause {
    /// No offer before.
    content_until: Timestamp,
    /// No process is taken before.
    firm_until: Timestamp,
    /// The offers in a row that it has not taken.
    ignored: u32,
}

/// The first job of a session that waits for slots.
pub(in crate::head) struct Need {
    /// The nodes that it may use.
    pub(in crate::head) nodes: BTreeSet<NodeId>,
    /// The slots that it lacks.
    pub(in crate::head) missing: u32,
    /// The shared resources of which it lacks something.
    pub(in crate::head) short: Vec<String>,
}

impl Head {
    fn fills(&self) -> bool {
        self.params.text("ferrite_elastic_policy").is_ok_and(|policy| policy == Some("fill"))
    }

    /// Begins to look at elastic jobs, when there is one and the policy wants it.
    pub(in crate::head) fn watch_elastic(&mut self, cx: &mut Cx) {
        if self.fills() && !std::mem::replace(&mut self.elastic.policy.is_looking, true) {
            cx.set_timer(HeadTimer::Policy, cx.now + LOOK);
        }
    }

    /// Looks at the elastic jobs, once a second as long as there are any (spec E62).
    pub(in crate::head) fn on_policy_timer(&mut self, cx: &mut Cx) {
        let mut trees = self.jobs.elastic_trees();
        trees.retain(|root, _| !self.jobs.worlds_of(*root).is_empty());
        self.elastic.policy.is_looking = false;
        self.elastic.policy.pauses.retain(|root, _| trees.contains_key(root));
        if trees.is_empty() || self.dvm.is_ending() {
            self.elastic.policy.idle.clear();
            return;
        }
        self.watch_elastic(cx);
        if self.elastic.that_hold_all().next().is_some() {
            return;
        }
        // A job that could not begin all the same needs nothing: what is idle is better used meanwhile.
        let needs: Vec<Need> = self.needs().into_iter().filter(|need| self.may_be_met(need, &trees, cx.now)).collect();
        if needs.is_empty() {
            self.fill(&trees, cx);
        } else {
            self.elastic.policy.idle.clear();
            needs.iter().for_each(|need| self.take_back(need, &trees, cx));
        }
    }

    /// Offers idle slots, so that the jobs of a session become as equal as they may (spec E62).
    fn fill(&mut self, trees: &BTreeMap<JobId, SizeRange>, cx: &mut Cx) {
        let mut of_sessions: BTreeMap<SessionId, Vec<JobId>> = BTreeMap::new();
        trees.keys().for_each(|root| of_sessions.entry(self.session_of_tree(*root).0).or_default().push(*root));
        let before = std::mem::take(&mut self.elastic.policy.idle);
        for (session, roots) in of_sessions {
            let free = roots.first().map_or(0, |root| self.free_slots_for(*root));
            self.elastic.policy.idle.insert(session, free);
            let idle = free.min(before.get(&session).copied().unwrap_or(0));
            for (root, count) in self.shares(idle, &roots, trees, cx.now) {
                // A job whose processes take more than a slot each may have fewer of these.
                let count = self.most_new_members(root, count);
                if count == 0 {
                    continue;
                }
                // Sessions may share nodes: what another tree was offered is not free any more.
                let _ = self.offer(root, count, &order(root, SizeChange::More(count)), cx);
            }
        }
    }

    /// Divides idle slots: each goes to the smallest of these trees that may have more (spec E62).
    fn shares(
        &self,
        idle: u32,
        roots: &[JobId],
        trees: &BTreeMap<JobId, SizeRange>,
        now: Timestamp,
    ) -> BTreeMap<JobId, u32> {
        let is_open = |root: &&JobId| {
            let pause = self.elastic.policy.pauses.get(root);
            let is_quiet = !self.elastic.sizes.open.contains_key(root) && !self.jobs.is_spawning(**root);
            is_quiet
                && pause.is_none_or(|pause| pause.content_until <= now)
                && self.jobs.members_and_worlds(**root).0 > 0
        };
        let sized = roots.iter().filter(is_open).map(|root| Reverse((self.size_of_tree(*root), *root)));
        let mut smallest: BinaryHeap<Reverse<(u32, JobId)>> = sized.collect();
        let mut shares = BTreeMap::new();
        let mut rest = idle;
        while let Some(Reverse((size, root))) = smallest.pop().filter(|_| rest > 0) {
            if size < trees[&root].max {
                rest -= 1;
                *shares.entry(root).or_default() += 1;
                smallest.push(Reverse((size + 1, root)));
            }
        }
        shares
    }

    /// The trees that may give up processes on these nodes, and with them what the job lacks (spec E63). Each has the
    /// number of those above its smallest size.
    fn givers(&self, need: &Need, trees: &BTreeMap<JobId, SizeRange>, now: Timestamp) -> Vec<(JobId, u32)> {
        let spare = |(root, range): (&JobId, &SizeRange)| {
            let is_firm = self.elastic.policy.pauses.get(root).is_some_and(|pause| pause.firm_until > now);
            // The latest processes end, wherever they are: all have to be where the job may run.
            let is_there = self.jobs.launched_of_tree(*root).iter().all(|(_, node)| need.nodes.contains(node));
            // A slot alone does not help a job that waits for something else.
            let takes = self.jobs.takes_of_tree(*root);
            let has_it = need.short.iter().all(|resource| takes.contains_key(resource));
            let spare = || self.staying_of_tree(*root).saturating_sub(range.min.max(1));
            (!is_firm && is_there && has_it).then(|| (*root, spare()))
        };
        trees.iter().filter_map(spare).collect()
    }

    /// True when the job can begin with what elastic jobs may give up.
    fn may_be_met(&self, need: &Need, trees: &BTreeMap<JobId, SizeRange>, now: Timestamp) -> bool {
        let spare: u32 = self.givers(need, trees, now).iter().map(|(_, spare)| spare).sum();
        spare + self.coming_to(&need.nodes) >= need.missing
    }

    /// Lets processes end for a job that waits: of the trees that are farthest above their smallest size first
    /// (spec E63).
    fn take_back(&mut self, need: &Need, trees: &BTreeMap<JobId, SizeRange>, cx: &mut Cx) {
        let mut missing = need.missing.saturating_sub(self.coming_to(&need.nodes));
        let is_quiet = |root: &JobId| !self.elastic.sizes.open.contains_key(root) && !self.jobs.is_spawning(*root);
        let mut givers = self.givers(need, trees, cx.now);
        givers.retain(|(root, spare)| *spare > 0 && is_quiet(root));
        givers.sort_unstable_by_key(|(root, spare)| Reverse((*spare, *root)));
        for (root, spare) in givers {
            let count = spare.min(missing);
            if count == 0 {
                return;
            }
            missing -= count;
            self.retire(root, count, &order(root, SizeChange::Fewer(count)), cx);
        }
    }

    /// The slots of these nodes that are to be free soon: of processes that are to end, and of offers (spec E63).
    fn coming_to(&self, nodes: &BTreeSet<NodeId>) -> u32 {
        let of = |what: &What| match what {
            What::Coming(_) => 0,
            What::Offer(offer) => offer.kept_on(nodes),
            What::Retirement(retirement) => {
                let ends = retirement.procs.iter().filter(|proc| self.jobs.has_living(**proc));
                ends.filter(|proc| self.jobs.place_of(**proc).is_some_and(|node| nodes.contains(&node))).count() as u32
            }
        };
        self.elastic.sizes.open.values().map(|pending| of(&pending.what)).sum()
    }

    /// Notes the end of a change: the tree is left alone for a while, and the longer the more offers it has ignored
    /// (spec E64).
    pub(super) fn pause_policy(&mut self, root: JobId, is_offer: bool, outcome: &JobResizeOutcome, cx: &Cx) {
        if !self.fills() {
            return;
        }
        let usual = self.params.number("ferrite_elastic_pause").unwrap_or(30);
        let pause = self.elastic.policy.pauses.entry(root).or_default();
        let has_failed = matches!(outcome, JobResizeOutcome::Failed(_));
        pause.ignored = if is_offer && has_failed { pause.ignored + 1 } else { 0 };
        let doublings = pause.ignored.saturating_sub(1).min(MOST_DOUBLINGS);
        pause.content_until = cx.now + Duration::from_secs(u64::from(usual) << doublings);
        if !is_offer && has_failed {
            pause.firm_until = cx.now + Duration::from_secs(usual.into());
        }
    }
}

fn order(root: JobId, size: SizeChange) -> JobResize {
    JobResize { job: root, size, time_s: None, force: false, wait: false, nodes: None }
}
