//! Guarantee: a failure affects only its own campaign, and the jobs that wait for that one (spec G4).

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{DaemonInput, Effect, HeadInput, HeadTimer, Input, PmixCall, Timer, Transition};
use ferrite_types::{CampaignId, CampaignKind, CampaignStep, DaemonRank, ExitStatus, HostEntry, JobId, JobState};
use ferrite_wire::control::{Request, SessionDirective};
use ferrite_wire::{HeadMessage, Message, ResizeRequest};

use super::changes::Changes;
use super::struck::Struck;
use super::{Invariant, Observation, require};
use crate::scenario::Scenario;

pub(super) struct OwnFailuresOnly {
    changes: Changes,
    struck: Struck,
    elastic: bool,
    /// Daemons whose launchers failed, or that are gone.
    failed: BTreeSet<DaemonRank>,
    /// Newcomers that have reported.
    reported: BTreeSet<DaemonRank>,
    /// Grows whose daemons have all reported: their deadline no longer fails them.
    wiring: BTreeSet<CampaignId>,
    /// The campaign whose deadline is over now.
    overdue: Option<CampaignId>,
    /// Parked jobs, each with the campaigns that held it when it was parked before its map.
    waits: BTreeMap<JobId, BTreeSet<CampaignId>>,
    /// The same campaigns with the queued ones, one of which may be the job's own.
    may_wait: BTreeMap<JobId, BTreeSet<CampaignId>>,
    /// Jobs that were mapped: later campaigns do not concern them, even when they are mapped again.
    mapped: BTreeSet<JobId>,
    /// True when the present input cancels a request: a grow that has not begun is then no failure.
    cancelling: bool,
    /// True when the present input ends sessions, whose grows are cancelled.
    ends_sessions: bool,
    /// Grows that were cancelled this way.
    recalled: BTreeSet<CampaignId>,
    /// The manager's job of each granted node.
    granted: BTreeMap<String, String>,
    /// Grows that were open when the manager granted a node to a second job: one of the two jobs has ended, and a grow
    /// that waits with its nodes fails.
    contested: BTreeSet<CampaignId>,
    /// Grows that have failed.
    undone: BTreeSet<CampaignId>,
    ending: bool,
}

impl OwnFailuresOnly {
    pub(super) fn new(scenario: &Scenario) -> OwnFailuresOnly {
        OwnFailuresOnly {
            changes: Changes::default(),
            struck: Struck::new(scenario),
            elastic: scenario.elastic.mode,
            failed: BTreeSet::new(),
            reported: BTreeSet::new(),
            wiring: BTreeSet::new(),
            overdue: None,
            waits: BTreeMap::new(),
            may_wait: BTreeMap::new(),
            mapped: BTreeSet::new(),
            cancelling: false,
            ends_sessions: false,
            recalled: BTreeSet::new(),
            granted: BTreeMap::new(),
            contested: BTreeSet::new(),
            undone: BTreeSet::new(),
            ending: false,
        }
    }

    /// Notes nodes that come with a job of the manager, and grows that this puts in doubt.
    fn grants(&mut self, job: &str, nodes: &[HostEntry]) {
        let mut is_second = false;
        for node in nodes {
            is_second |= self.granted.insert(node.name.clone(), job.to_owned()).is_some();
        }
        if is_second {
            self.contested.extend(self.changes.open().map(|(id, _)| id));
        }
    }

    /// Judges a rollback: one of the campaign's own daemons must have failed.
    fn fails(&self, id: CampaignId) -> Result<(), String> {
        let Some(change) = self.changes.get(id) else { return Ok(()) };
        let late = self.overdue == Some(id) && !self.wiring.contains(&id);
        let to_blame = |rank: DaemonRank| {
            let absent = late && !self.reported.contains(&rank);
            absent || self.failed.contains(&rank) || self.struck.contains(rank)
        };
        let excused = change.targets.iter().any(to_blame) || self.contested.contains(&id);
        require(excused || self.ending, || format!("grow {id} fails, and nothing is wrong with its own daemons"))
    }

    fn ends_unlaunched(&mut self, job: JobId) -> Result<(), String> {
        self.waits.remove(&job);
        let waited = self.may_wait.remove(&job).unwrap_or_default();
        let own = waited.iter().any(|id| self.undone.contains(id) || self.recalled.contains(id));
        require(own || self.ending, || {
            format!("job {job} waited for {waited:?} and was never launched; {:?} failed", self.undone)
        })
    }

    /// Judges that no job still waits for a failed grow.
    fn still_waits(&self) -> Result<(), String> {
        let stuck = self.waits.iter().find(|(_, waits)| waits.iter().any(|id| self.undone.contains(id)));
        require(!self.elastic || stuck.is_none(), || format!("job {stuck:?} waits on, and one of these has failed"))
    }
}

impl Invariant for OwnFailuresOnly {
    fn name(&self) -> &'static str {
        "a failure affects its own campaign only"
    }

    fn observe(&mut self, what: &Observation<'_>) -> Result<(), String> {
        self.changes.see(what);
        self.struck.see(what);
        match what {
            Observation::Gone { rank, .. } => {
                self.failed.insert(*rank);
            }
            Observation::Input { rank: DaemonRank::HEAD, input, message, .. } => {
                self.overdue = None;
                self.cancelling = takes_back(input, *message);
                self.ends_sessions = ends_sessions(input, *message);
                if let Some(Message::Head(HeadMessage::Report(report))) = message {
                    self.reported.insert(report.rank);
                }
                match input {
                    Input::LauncherEnded { rank, status, .. } if !status.is_some_and(ExitStatus::is_success) => {
                        self.failed.insert(*rank);
                    }
                    Input::Timer(Timer::Head(HeadTimer::Campaign(id))) => self.overdue = Some(*id),
                    Input::Head(HeadInput::NodesGranted { job, nodes, .. }) => self.grants(job, nodes),
                    Input::Terminate { .. } | Input::Head(HeadInput::Interrupt) => self.ending = true,
                    _ => {}
                }
                return self.still_waits();
            }
            Observation::Effect { effect: Effect::EndAllocation { job }, .. } => {
                self.granted.retain(|_, of| of != job);
            }
            Observation::Effect { effect: Effect::OfferRelease { nodes, .. }, .. } => {
                self.granted.retain(|name, _| !nodes.contains(name));
            }
            // Child sessions end with the last node of their parent.
            Observation::Effect {
                effect: Effect::Trace(Transition::Campaign { kind: CampaignKind::Shrink, step: CampaignStep::Done, .. }),
                ..
            } => self.ends_sessions = true,
            Observation::Effect { effect: Effect::Trace(Transition::Campaign { campaign, kind, step }), .. }
                if *kind == CampaignKind::Grow =>
            {
                match step {
                    CampaignStep::RollingBack if self.ends_sessions => {
                        self.recalled.insert(*campaign);
                    }
                    CampaignStep::RollingBack => return self.fails(*campaign),
                    CampaignStep::WiringUp => {
                        self.wiring.insert(*campaign);
                    }
                    CampaignStep::Failed if self.ends_sessions => {
                        self.recalled.insert(*campaign);
                    }
                    CampaignStep::Failed if !self.cancelling && !self.recalled.contains(campaign) => {
                        self.undone.insert(*campaign);
                    }
                    _ => {}
                }
            }
            Observation::Effect { effect: Effect::Trace(Transition::Job { job, from, to }), .. } => match (from, to) {
                (_, JobState::MapComplete) => {
                    self.mapped.insert(*job);
                }
                (Some(JobState::VmReady), JobState::WaitingForDaemons) if self.mapped.contains(job) => {}
                (Some(JobState::VmReady), JobState::WaitingForDaemons) => {
                    self.waits.insert(*job, self.changes.holding().map(|(id, _)| id).collect());
                    self.may_wait.insert(*job, self.changes.open().map(|(id, _)| id).collect());
                }
                (Some(JobState::WaitingForDaemons), JobState::NeverLaunched) => return self.ends_unlaunched(*job),
                // The sessions that the job has asked for may end with it.
                (_, JobState::Terminated | JobState::NotifyCompleted | JobState::Notified) => self.ends_sessions = true,
                (Some(JobState::WaitingForDaemons), _) => {
                    self.waits.remove(job);
                }
                _ => {}
            },
            _ => {}
        }
        Ok(())
    }
}

fn ends_sessions(input: &Input, message: Option<&Message>) -> bool {
    let directive = match (input, message) {
        (Input::Timer(Timer::Head(HeadTimer::Session(_))), _) => return true,
        (Input::Head(HeadInput::Request { request: Request::Session { directive, .. }, .. }), _) => directive,
        (_, Some(Message::Head(HeadMessage::SessionRequest { order, .. }))) => &order.directive,
        (Input::Daemon(DaemonInput::Pmix(PmixCall::Session { order, .. })), _) => &order.directive,
        _ => return false,
    };
    matches!(directive, SessionDirective::Terminate)
}

fn takes_back(input: &Input, message: Option<&Message>) -> bool {
    let request = match (input, message) {
        (Input::Head(HeadInput::Request { request: Request::Resize(request), .. }), _)
        | (_, Some(Message::Head(HeadMessage::ResizeRequest { request, .. }))) => &**request,
        (Input::Daemon(DaemonInput::Pmix(PmixCall::Resize { request, .. })), _) => request,
        _ => return false,
    };
    matches!(request, ResizeRequest::Cancel(_))
}
