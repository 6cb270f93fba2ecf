//! Who reads the output of a job beside its submitter: the pulls of PMIx tools (`PMIx_IOF_pull`), one for each node
//! with such tools. The slowest reader sets the pace, so that all of them get everything, but a pull that takes nothing
//! for a while is cut off: it stops nobody.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_types::{Duration, JobId, Timestamp};
use ferrite_wire::control::Reply;

use crate::cx::Cx;
use crate::head::Head;
use crate::{Account, Effect, HeadTimer, RequestId, Share};

/// The time after which a pull that has taken nothing of what waits for it is cut off.
const PATIENCE: Duration = Duration::from_secs(10);
/// The largest number of pulls of one job.
const MOST: usize = 4_096;

/// The pulls, and the pieces of output that have not reached all of their readers.
#[derive(Debug, Default)]
pub(super) struct Pulls {
    of: BTreeMap<JobId, BTreeMap<RequestId, Pull>>,
    /// The job of each pull.
    jobs: BTreeMap<RequestId, JobId>,
    pieces: BTreeMap<u64, Piece>,
    /// The number of the last piece.
    last: u64,
}

#[derive(Debug)]
struct Pull {
    /// The pieces that it has not taken.
    untaken: usize,
    /// The last time at which it took a piece, or when the first that waits came.
    moved: Timestamp,
}

/// A piece of output on its way to several readers.
#[derive(Debug)]
struct Piece {
    account: Account,
    readers: BTreeSet<RequestId>,
}

impl Pulls {
    /// Gives a piece of output to all that pull it. Returns the account of the submitter's share, or of the whole piece
    /// when nobody pulls it, and those of the pulls.
    pub(super) fn share(
        &mut self,
        account: Account,
        submitter: Option<RequestId>,
        cx: &mut Cx,
    ) -> (Account, Vec<Account>) {
        let Some(pulls) = self.of.get_mut(&account.job) else { return (account, Vec::new()) };
        self.last += 1;
        let piece = self.last;
        if pulls.values().all(|pull| pull.untaken == 0) {
            cx.set_timer(HeadTimer::Pulls(account.job), cx.now + PATIENCE);
        }
        for pull in pulls.values_mut() {
            if pull.untaken == 0 {
                pull.moved = cx.now;
            }
            pull.untaken += 1;
        }
        let of = |reader| Account { share: Some(Share { piece, reader }), ..account };
        let shares = pulls.keys().map(|pull| of(*pull)).collect();
        let readers = pulls.keys().copied().chain(submitter).collect();
        self.pieces.insert(piece, Piece { account, readers });
        // Without a submitter nobody is to write with the first of them.
        (of(submitter.unwrap_or(RequestId::OWN)), shares)
    }

    /// Notes that a reader has its share. True when all have the piece; its last reader may have been cut off.
    pub(super) fn has_all(&mut self, account: &Account, now: Timestamp) -> bool {
        let Some(Share { piece, reader }) = account.share else { return true };
        let Some(waits) = self.pieces.get_mut(&piece) else { return false };
        if !waits.readers.remove(&reader) {
            return false;
        }
        let is_all = waits.readers.is_empty();
        if is_all {
            self.pieces.remove(&piece);
        }
        if let Some(pull) = self.of.get_mut(&account.job).and_then(|pulls| pulls.get_mut(&reader)) {
            pull.untaken = pull.untaken.saturating_sub(1);
            pull.moved = now;
        }
        is_all
    }

    fn add(&mut self, request: RequestId, job: JobId, now: Timestamp) -> bool {
        let pulls = self.of.entry(job).or_default();
        let has_room = pulls.len() < MOST;
        if has_room {
            pulls.insert(request, Pull { untaken: 0, moved: now });
            self.jobs.insert(request, job);
        }
        has_room
    }

    /// Removes a pull; returns the pieces for which only it was waited.
    fn remove(&mut self, request: RequestId) -> Option<Vec<Account>> {
        let job = self.jobs.remove(&request)?;
        if let Some(pulls) = self.of.get_mut(&job) {
            pulls.remove(&request);
            if pulls.is_empty() {
                self.of.remove(&job);
            }
        }
        let mut free = Vec::new();
        self.pieces.retain(|_, piece| {
            let is_free = piece.readers.remove(&request) && piece.readers.is_empty();
            free.extend(is_free.then_some(piece.account));
            !is_free
        });
        Some(free)
    }

    /// Forgets a job; returns its pulls.
    fn forget(&mut self, job: JobId) -> Vec<RequestId> {
        let pulls: Vec<RequestId> = self.of.remove(&job).into_iter().flat_map(BTreeMap::into_keys).collect();
        self.jobs.retain(|_, of| *of != job);
        self.pieces.retain(|_, piece| piece.account.job != job);
        pulls
    }

    /// Those that have taken nothing for too long, and when to look next.
    fn stalled(&self, job: JobId, now: Timestamp) -> (Vec<RequestId>, Option<Timestamp>) {
        let waiting = self.of.get(&job).into_iter().flatten().filter(|(_, pull)| pull.untaken > 0);
        let (stalled, others): (Vec<_>, Vec<_>) = waiting.partition(|(_, pull)| pull.moved + PATIENCE <= now);
        let next = others.into_iter().map(|(_, pull)| pull.moved + PATIENCE).min();
        (stalled.into_iter().map(|(request, _)| *request).collect(), next)
    }
}

impl Head {
    /// Begins a pull of a job's output (spec L75).
    pub(in crate::head) fn on_pull(&mut self, request: RequestId, id: JobId, cx: &mut Cx) {
        if self.jobs.get(id).is_none() {
            let refusal = self.no_such_job(id);
            return cx.reply(request, refusal);
        }
        if !self.jobs.pulls.add(request, id, cx.now) {
            let text = format!("The output of job {id} is pulled {MOST} times already: end one of these pulls.");
            return cx.reply(request, Reply::Refused(text));
        }
        cx.effect(Effect::Launched { request, result: Ok(()) });
    }

    /// Forgets a pull whose client is gone.
    pub(in crate::head) fn forget_pull(&mut self, request: RequestId, cx: &mut Cx) {
        let free = self.jobs.pulls.remove(request);
        free.into_iter().flatten().for_each(|account| self.on_output_written(account, cx));
    }

    /// Ends the pulls of a job that is over.
    pub(super) fn end_pulls(&mut self, id: JobId, cx: &mut Cx) {
        cx.cancel_timer(HeadTimer::Pulls(id));
        self.jobs.pulls.forget(id).into_iter().for_each(|request| cx.reply(request, Reply::Ordered));
    }

    /// Cuts off who has taken nothing for too long (spec L75).
    pub(in crate::head) fn on_pulls_timer(&mut self, id: JobId, cx: &mut Cx) {
        let (stalled, next) = self.jobs.pulls.stalled(id, cx.now);
        if let Some(next) = next {
            cx.set_timer(HeadTimer::Pulls(id), next);
        }
        for request in stalled {
            self.forget_pull(request, cx);
            let text = format!("Nobody has read the output of job {id} here for 10 s: it comes no more.");
            cx.reply(request, Reply::Refused(text));
        }
    }
}
