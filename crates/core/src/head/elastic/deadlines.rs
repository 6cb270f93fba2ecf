//! Ends of the resource manager's jobs, by their time limit or a preemption. The head asks the manager how long they
//! last, and tells the jobs of the DVM that have a grace before their nodes go (docs/spec/elastic.md, nodes of a
//! resource manager).

use std::collections::{BTreeMap, BTreeSet};

use ferrite_rm::JobEnd;
use ferrite_types::pmix_status::FERRITE_NODES_STAY;
use ferrite_types::{DaemonRank, Duration, JobId, NodeId, RankSet, Timestamp};
use ferrite_wire::{DaemonMessage, Withdrawal};

use super::phase::Change;
use super::plan::Reason;
use crate::cx::Cx;
use crate::head::Head;
use crate::pmix_status::PMIX_ERR_JOB_CANCELED;
use crate::{Effect, HeadTimer};

/// The time for the manager to answer, beyond the grace of the jobs (milliseconds).
const AHEAD_MS: u64 = 2_000;
/// The manager is asked once more this long before the end: somebody may have moved it (milliseconds).
const LAST_LOOK_MS: u64 = 1_000;
/// The time for the manager to say whether a SIGTERM means the end (milliseconds).
const ANSWER_MS: u64 = 5_000;

/// The cause of an end by SIGTERM.
const TERMINATED: &str = "SIGTERM was received";

/// The manager's jobs that the head has asked about, by their names.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    of: BTreeMap<String, Deadline>,
    /// The time until which the manager has to answer about a SIGTERM at the head.
    answer_by: Option<Timestamp>,
}

/// The end of one job of the manager.
#[derive(Debug, Default)]
struct Deadline {
    /// Its time; `None` = there is no limit, or the manager has not told.
    ends: Option<Timestamp>,
    /// The manager is being asked.
    is_asked: bool,
    /// A signal came while it was being asked, and its answer may be older.
    is_to_ask_again: bool,
    /// The manager was asked once more shortly before the end.
    has_looked_last: bool,
    /// A signal has announced the end.
    is_announced: bool,
    /// Daemons that got SIGTERM and do not know whether it means the end.
    unsure: RankSet,
    /// The jobs of the DVM that were told; `None` = the end is not near.
    told: Option<BTreeSet<JobId>>,
}

impl Deadline {
    /// The next time at which something is to be done, with jobs that need to hear of the end this long before.
    fn next(&self, ahead: Option<Duration>) -> Option<Timestamp> {
        let ends = self.ends.filter(|_| !self.is_asked)?;
        match (&self.told, self.has_looked_last) {
            (None, _) => Some(Timestamp(ends.0.saturating_sub(ahead?.0))),
            (Some(_), false) => Some(Timestamp(ends.0.saturating_sub(LAST_LOOK_MS * 1_000))),
            (Some(_), true) => Some(ends),
        }
    }
}

impl Head {
    /// Handles a signal of the manager at the head's own process. SIGTERM ends the DVM, unless the manager says that
    /// its job is preempted and has time left (spec E67).
    pub(crate) fn on_manager_signal(&mut self, is_order: bool, cx: &mut Cx) {
        let has_graces = self.jobs.have_grace();
        match self.elastic_manager() {
            Some((_, parent)) if has_graces && !self.dvm.is_ending() => {
                let deadline = self.elastic.deadlines.of.entry(parent.clone()).or_default();
                deadline.is_announced = true;
                if is_order {
                    deadline.unsure.insert(DaemonRank::HEAD);
                    let by = cx.now + Duration::from_millis(ANSWER_MS);
                    self.elastic.deadlines.answer_by.get_or_insert(by);
                }
                self.ask_for_end(&parent, cx);
                self.watch_deadlines(cx);
            }
            _ if is_order => self.on_terminate(TERMINATED, cx),
            _ => {}
        }
        self.finish(cx);
    }

    /// Handles the word of a daemon that it got a signal of the manager (spec E66, E67).
    pub(in crate::head) fn on_signal_of_manager(&mut self, daemon: DaemonRank, is_order: bool, cx: &mut Cx) {
        let node = self.pool.node_of(daemon).map(|node| node.id);
        let job = node.and_then(|node| self.pool.host(node).rm_job.clone());
        let Some(job) = job.filter(|_| self.elastic_manager().is_some()) else {
            if is_order {
                cx.send(daemon, DaemonMessage::ManagerSays { stays: false });
            }
            return;
        };
        let deadline = self.elastic.deadlines.of.entry(job.clone()).or_default();
        deadline.is_announced = true;
        if is_order {
            deadline.unsure.insert(daemon);
        }
        self.ask_for_end(&job, cx);
    }

    /// Asks the manager when a job of it ends.
    fn ask_for_end(&mut self, job: &str, cx: &mut Cx) {
        let deadline = self.elastic.deadlines.of.entry(job.to_owned()).or_default();
        if std::mem::replace(&mut deadline.is_asked, true) {
            deadline.is_to_ask_again = true;
        } else {
            cx.effect(Effect::AskForEnd { job: job.to_owned() });
        }
    }

    /// Sees to it that jobs with a grace hear in time when a job of the manager ends. Without such jobs the manager is
    /// not asked (spec E66).
    pub(in crate::head) fn watch_deadlines(&mut self, cx: &mut Cx) {
        let Some((_, parent)) = self.elastic_manager().filter(|_| !self.dvm.is_ending()) else { return };
        let known: BTreeSet<String> = self.elastic.grants.jobs().chain([parent]).collect();
        self.elastic.deadlines.of.retain(|job, _| known.contains(job));
        let mut next = self.elastic.deadlines.answer_by;
        for job in &known {
            let ahead = self.ahead_of(job);
            if ahead.is_some() && !self.elastic.deadlines.of.contains_key(job) {
                self.ask_for_end(job, cx);
            }
            self.tell_latecomers(job, cx);
            let at = self.elastic.deadlines.of.get(job).and_then(|deadline| deadline.next(ahead));
            next = next.into_iter().chain(at).min();
        }
        match next {
            Some(at) => cx.set_timer(HeadTimer::Deadlines, at.max(cx.now)),
            None => cx.cancel_timer(HeadTimer::Deadlines),
        }
    }

    /// Handles the timer: a job of the manager is to be asked for, or ends (spec E66, E67).
    pub(in crate::head) fn on_deadlines_timer(&mut self, cx: &mut Cx) {
        if self.elastic.deadlines.answer_by.is_some_and(|by| by <= cx.now) {
            return self.on_terminate(TERMINATED, cx);
        }
        let Some((manager, parent)) = self.elastic_manager() else { return };
        let jobs: Vec<String> = self.elastic.deadlines.of.keys().cloned().collect();
        for job in jobs {
            let ahead = self.ahead_of(&job);
            let Some(deadline) = self.elastic.deadlines.of.get_mut(&job) else { continue };
            if deadline.next(ahead).is_none_or(|at| at > cx.now) {
                continue;
            }
            if deadline.told.is_none() || !deadline.has_looked_last {
                deadline.has_looked_last = deadline.told.is_some();
                self.ask_for_end(&job, cx);
                continue;
            }
            // The drain of a granted job has the same time.
            deadline.ends = None;
            if job == parent {
                return self.end_with_job(&format!("{manager} job {job}"), cx);
            }
        }
        self.watch_deadlines(cx);
    }

    /// Handles what the manager says of the end of a job of it (spec E66, E67).
    pub(in crate::head) fn on_job_end_told(&mut self, job: &str, told: Result<JobEnd, String>, cx: &mut Cx) {
        let Some((manager, parent)) = self.elastic_manager() else { return };
        let Some(deadline) = self.elastic.deadlines.of.get_mut(job) else { return };
        deadline.is_asked = false;
        if std::mem::take(&mut deadline.is_to_ask_again) {
            return self.ask_for_end(job, cx);
        }
        let unsure = std::mem::take(&mut deadline.unsure);
        let is_announced = std::mem::take(&mut deadline.is_announced);
        let (end, error) = match told {
            Ok(end) => (end, None),
            Err(cause) => (JobEnd::default(), Some(cause)),
        };
        let (before, is_told) = (deadline.ends, deadline.told.is_some());
        // After the last look a job that was told of its end keeps it when the manager does not answer.
        // A job that is over has no end to come: its daemons are being killed.
        let left = end.left_s.filter(|_| !end.is_over);
        let ends = left.map(|left| cx.now + Duration::from_secs(left));
        if error.is_none() || deadline.told.is_none() {
            deadline.ends = ends;
        }
        let stays = end.is_preempted && !end.is_over && end.left_s.is_some_and(|left| left > 0);
        for daemon in unsure.iter().filter(|daemon| *daemon != DaemonRank::HEAD) {
            cx.send(daemon, DaemonMessage::ManagerSays { stays });
        }
        if unsure.contains(DaemonRank::HEAD) {
            self.elastic.deadlines.answer_by = None;
            if !stays {
                return self.on_terminate(TERMINATED, cx);
            }
        }
        if let Some(cause) = error {
            if !is_told {
                cx.notice(format!(
                    "{manager} does not say when its job {job} ends, so nobody is told before it does: {cause}."
                ));
            }
        } else if end.is_over && job == parent {
            return self.end_with_job(&format!("{manager} job {job}"), cx);
        } else if let Some(ends) = ends {
            let is_near = self.ahead_of(job).is_some_and(|ahead| ends <= cx.now + ahead);
            let has_stayed = is_told && before.is_some_and(|before| ends.0 <= before.0 + AHEAD_MS * 1_000);
            match is_announced || is_near || has_stayed {
                true => self.end_nears(job, job == parent, ends, cx),
                false => self.end_moves_away(job, job == parent, cx),
            }
        } else if is_told && !end.is_over {
            // There is no limit any more.
            self.end_moves_away(job, job == parent, cx);
        }
        self.watch_deadlines(cx);
    }

    /// Ends the DVM, because the first job ends, whose nodes it is on.
    fn end_with_job(&mut self, job: &str, cx: &mut Cx) {
        cx.notice(format!("{job} ends, and the DVM with it."));
        self.on_terminate(&format!("{job} ends"), cx);
    }

    /// The nodes of the manager's job that have a daemon, with these daemons.
    fn nodes_of_manager_job(&self, job: &str) -> (Vec<NodeId>, RankSet) {
        let of_job = |node: &NodeId| self.pool.host(*node).rm_job.as_deref() == Some(job);
        let up = self.pool.records().iter().filter_map(|node| Some((node.id, node.daemon?)));
        up.filter(|(node, _)| of_job(node)).unzip()
    }

    /// The time before the end of the manager's job at which the jobs on its nodes have to hear of it; `None` = no job
    /// there has a grace.
    fn ahead_of(&self, job: &str) -> Option<Duration> {
        let (_, daemons) = self.nodes_of_manager_job(job);
        let longest = self.jobs.with_grace_on(&daemons).into_iter().map(|(_, grace)| grace).max()?;
        Some(Duration(longest.0 + AHEAD_MS * 1_000))
    }

    /// The end of the manager's job is near: the nodes of a granted one drain, and the jobs on those of the first one
    /// are told (spec E66, E68).
    fn end_nears(&mut self, job: &str, is_first: bool, ends: Timestamp, cx: &mut Cx) {
        let Some(deadline) = self.elastic.deadlines.of.get_mut(job) else { return };
        if deadline.told.is_some() {
            return;
        }
        deadline.told = Some(BTreeSet::new());
        deadline.has_looked_last = false;
        if is_first {
            return self.tell_latecomers(job, cx);
        }
        let (nodes, _) = self.nodes_of_manager_job(job);
        let nodes: Vec<NodeId> =
            nodes.into_iter().filter(|node| self.elastic.campaigns.of_node(*node).is_none()).collect();
        self.send_away_unasked(Change::taken_at(ends), nodes, cx);
    }

    /// Tells the jobs with a grace on the first job's nodes that these end with it; each hears of it once.
    fn tell_latecomers(&mut self, job: &str, cx: &mut Cx) {
        let is_first = self.elastic_manager().is_some_and(|(_, parent)| parent == job);
        let Some(Deadline { ends: Some(ends), told: Some(told), .. }) = self.elastic.deadlines.of.get(job) else {
            return;
        };
        let (ends, told) = (*ends, told.clone());
        if !is_first {
            return;
        }
        let (nodes, daemons) = self.nodes_of_manager_job(job);
        let there: Vec<JobId> = self.jobs.with_grace_on(&daemons).into_iter().map(|(id, _)| id).collect();
        for id in there.into_iter().filter(|id| !told.contains(id)) {
            let seconds = seconds_until(ends, cx.now);
            let alloc_id = self.sessions.dvm_alloc_id().clone();
            let nodes = self.pool.names(&nodes);
            let notice =
                Withdrawal { job: id, ranks: Vec::new(), nodes, of_procs: false, seconds, alloc_id, req_id: None };
            self.announce_withdrawal(notice, &daemons, cx);
            if let Some(told) = self.elastic.deadlines.of.get_mut(job).and_then(|deadline| deadline.told.as_mut()) {
                told.insert(id);
            }
        }
    }

    /// The end of the manager's job is not near any more: those who were told hear that the nodes stay.
    fn end_moves_away(&mut self, job: &str, is_first: bool, cx: &mut Cx) {
        let Some(told) = self.elastic.deadlines.of.get_mut(job).and_then(|deadline| deadline.told.take()) else {
            return;
        };
        let (nodes, daemons) = self.nodes_of_manager_job(job);
        if is_first {
            let (names, alloc_id) = (self.pool.names(&nodes), self.sessions.dvm_alloc_id().clone());
            for id in told.into_iter().filter(|id| self.jobs.get(*id).is_some()).collect::<Vec<_>>() {
                self.announce_stay(id, &names, &daemons, (&alloc_id, None), FERRITE_NODES_STAY, cx);
            }
            return;
        }
        let drains = self.elastic.campaigns.draining().filter(|(_, campaign)| {
            let is_by_end = matches!(campaign.change, Change::Shrink { until: Some(_), .. });
            is_by_end && campaign.nodes.iter().any(|node| nodes.contains(node))
        });
        let drains: Vec<_> = drains.map(|(id, _)| id).collect();
        for id in drains {
            if let Some(drain) = self.elastic.campaigns.drain_mut(id) {
                drain.refuse(Reason::new(PMIX_ERR_JOB_CANCELED, format!("Job {job} of the manager goes on.")));
            }
        }
    }
}

/// The whole seconds that processes are promised before an end at this time: they hear of it a little later.
pub(super) fn seconds_until(ends: Timestamp, now: Timestamp) -> u32 {
    let left = ends.0.saturating_sub(now.0) / 1_000_000;
    u32::try_from(left.saturating_sub(1)).unwrap_or(u32::MAX)
}
