//! The referee's record of changes of size: the open campaigns, their steps and their daemons.
//!
//! Guarantees about changes of size use it. It relies on the head's messages, never on its state.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ferrite_core::{Effect, HeadInput, Input, RequestId, Transition};
use ferrite_types::{AllocReqId, CampaignId, CampaignKind, CampaignStep, DaemonRank, JobId, RankSet, SessionId};
use ferrite_wire::control::{Reply, Request, SessionChoice, SessionDirective, SessionStatus};
use ferrite_wire::{FrameKind, Message, TreeMessage};

use super::Observation;

/// The campaigns, daemons and pauses that the referee has seen.
#[derive(Default)]
pub(super) struct Changes {
    all: BTreeMap<CampaignId, Change>,
    /// The campaign that is launching daemons now.
    launching: Option<CampaignId>,
    /// Campaigns whose order to leave comes next, in this order.
    ordering: VecDeque<CampaignId>,
    /// Campaigns whose order had no addressee.
    unsent: VecDeque<CampaignId>,
    /// Orders to leave, each with its campaign.
    pub(super) orders: BTreeMap<u64, Option<CampaignId>>,
    /// Daemons that were told to leave by such an order.
    pub(super) leaving: RankSet,
    /// Daemons that are there.
    pub(super) alive: BTreeSet<DaemonRank>,
    /// Open requests by what they ask: sessions of jobs, and orders to pause or resume.
    asked: BTreeMap<RequestId, Asked>,
    /// The sessions of jobs, as their submitters name them; by number once the head has told it.
    jobs: BTreeMap<JobId, SessionChoice>,
    /// Paused sessions; a refused order changes nothing.
    paused: BTreeSet<SessionId>,
    /// Names of paused sessions whose numbers the head has not told yet.
    paused_by_name: BTreeSet<AllocReqId>,
    /// The session that the present input resumes.
    resumed: Option<SessionChoice>,
}

/// A request whose answer matters.
enum Asked {
    Job(SessionChoice),
    Pause(SessionChoice),
    Resume(SessionChoice),
}

/// The session by number where its allocation's id implies the number.
pub(super) fn plain(choice: &SessionChoice) -> SessionChoice {
    match choice {
        SessionChoice::Alloc(id) => match id.strip_prefix('a').and_then(|number| number.parse().ok()) {
            Some(number) => SessionChoice::Id(SessionId(number)),
            None => choice.clone(),
        },
        SessionChoice::Default | SessionChoice::Id(_) | SessionChoice::Ref(_) => choice.clone(),
    }
}

/// One campaign.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) kind: CampaignKind,
    pub(super) step: CampaignStep,
    /// Daemons that come or go.
    pub(super) targets: RankSet,
}

impl Change {
    fn is_open(&self) -> bool {
        !matches!(self.step, CampaignStep::Done | CampaignStep::Failed)
    }
}

impl Changes {
    /// Takes note of an observation, before the guarantees judge it.
    pub(super) fn see(&mut self, what: &Observation<'_>) {
        match what {
            Observation::Born { rank } => {
                self.alive.insert(*rank);
            }
            Observation::Gone { rank, .. } => {
                self.alive.remove(rank);
            }
            Observation::Input { rank: DaemonRank::HEAD, input, .. } => {
                self.see_order(input);
                self.launching = None;
                self.unsent.append(&mut self.ordering);
            }
            Observation::Effect { rank: DaemonRank::HEAD, effect, message, .. } => self.see_head(effect, *message),
            _ => {}
        }
    }

    fn see_order(&mut self, input: &Input) {
        match self.resumed.take() {
            Some(SessionChoice::Id(number)) => drop(self.paused.remove(&number)),
            Some(SessionChoice::Ref(name)) => drop(self.paused_by_name.remove(&name)),
            Some(SessionChoice::Default | SessionChoice::Alloc(_)) | None => {}
        }
        let Input::Head(HeadInput::Request { id, request }) = input else { return };
        let asked = match request {
            Request::Submit(submission) => Asked::Job(plain(&submission.session)),
            Request::Session { session, directive: SessionDirective::Pause } => Asked::Pause(plain(session)),
            Request::Session { session, directive: SessionDirective::Resume } => Asked::Resume(plain(session)),
            _ => return,
        };
        self.asked.insert(*id, asked);
    }

    /// Notes the answer to a request.
    fn see_answer(&mut self, request: RequestId, job: Option<JobId>, is_ordered: bool) {
        match (self.asked.remove(&request), job) {
            (Some(Asked::Job(session)), Some(job)) => {
                self.jobs.insert(job, session);
            }
            (Some(Asked::Pause(SessionChoice::Id(number))), _) if is_ordered => drop(self.paused.insert(number)),
            (Some(Asked::Pause(SessionChoice::Ref(name))), _) if is_ordered => drop(self.paused_by_name.insert(name)),
            (Some(Asked::Resume(session)), _) if is_ordered => self.resumed = Some(session),
            _ => {}
        }
    }

    /// Notes the head's list of all sessions but its own.
    fn see_sessions(&mut self, sessions: &[SessionStatus]) {
        self.paused = sessions.iter().filter(|session| session.paused).map(|session| session.session).collect();
        self.paused_by_name.clear();
        for session in sessions {
            self.jobs.extend(session.jobs.iter().map(|job| (*job, SessionChoice::Id(session.session))));
        }
    }

    fn see_head(&mut self, effect: &Effect, message: Option<&Message>) {
        match effect {
            Effect::Accepted { request, job } => self.see_answer(*request, Some(*job), false),
            Effect::Reply { request, reply: Reply::Detached(job) } => self.see_answer(*request, Some(*job), false),
            Effect::Reply { reply: Reply::Sessions(sessions), .. } => self.see_sessions(sessions),
            Effect::Reply { request, reply } => self.see_answer(*request, None, matches!(reply, Reply::Ordered)),
            Effect::Trace(Transition::Campaign { campaign, kind, step }) => {
                let new = Change { kind: *kind, step: CampaignStep::Open, targets: RankSet::new() };
                let change = self.all.entry(*campaign).or_insert(new);
                let before = std::mem::replace(&mut change.step, *step);
                let undone = (before, *step) == (CampaignStep::WiringUp, CampaignStep::RollingBack);
                if undone || *step == CampaignStep::Leaving {
                    self.ordering.push_back(*campaign);
                }
                self.launching = (*step == CampaignStep::Launching).then_some(*campaign);
            }
            Effect::LaunchDaemon { ticket, .. } => {
                if let Some(change) = self.launching.and_then(|id| self.all.get_mut(&id)) {
                    change.targets.extend(ticket.ranks());
                }
            }
            Effect::Transmit { frame, .. } => {
                if let (FrameKind::Xcast { seq, .. }, Some(Message::Tree(TreeMessage::Shrink { targets }))) =
                    (&frame.kind, message)
                    && !self.orders.contains_key(seq)
                {
                    let campaign = self.ordering.pop_front().or_else(|| self.unsent.pop_front());
                    self.orders.insert(*seq, campaign);
                    self.leaving.insert_all(targets);
                    if let Some(change) = campaign.and_then(|id| self.all.get_mut(&id)) {
                        change.targets = targets.clone();
                    }
                }
            }
            _ => {}
        }
    }

    /// True while a job may wait because its session is paused.
    pub(super) fn may_pause(&self, job: JobId) -> bool {
        match self.jobs.get(&job) {
            Some(SessionChoice::Default) => false,
            Some(SessionChoice::Id(number)) => self.paused.contains(number) || !self.paused_by_name.is_empty(),
            // The session's number is not known yet; a spawned job is in its parent's.
            Some(SessionChoice::Alloc(_) | SessionChoice::Ref(_)) | None => {
                !self.paused.is_empty() || !self.paused_by_name.is_empty()
            }
        }
    }

    pub(super) fn get(&self, id: CampaignId) -> Option<&Change> {
        self.all.get(&id)
    }

    pub(super) fn open(&self) -> impl Iterator<Item = (CampaignId, &Change)> + Clone {
        self.all.iter().filter(|(_, change)| change.is_open()).map(|(id, change)| (*id, change))
    }

    /// True while jobs are held; a queued campaign holds only the job that it is for, and one that drains holds none.
    pub(super) fn any(&self) -> bool {
        self.holding().next().is_some()
    }

    /// Campaigns that hold jobs.
    pub(super) fn holding(&self) -> impl Iterator<Item = (CampaignId, &Change)> {
        self.open().filter(|(_, change)| !matches!(change.step, CampaignStep::Queued | CampaignStep::Draining))
    }

    /// Shrinks whose processes have time to end.
    pub(super) fn draining(&self) -> impl Iterator<Item = (CampaignId, &Change)> {
        self.open().filter(|(_, change)| change.step == CampaignStep::Draining)
    }

    /// True while any campaign is open, queued ones included.
    pub(super) fn any_or_queued(&self) -> bool {
        self.open().next().is_some()
    }

    pub(super) fn shrinking(&self) -> bool {
        self.holding().any(|(_, change)| change.kind == CampaignKind::Shrink)
    }

    /// True for a daemon of a grow that has not succeeded yet.
    pub(super) fn is_newcomer(&self, rank: DaemonRank) -> bool {
        let brings = |change: &&Change| change.kind == CampaignKind::Grow && change.targets.contains(rank);
        self.all.values().filter(brings).any(|change| change.step != CampaignStep::Done)
    }
}
