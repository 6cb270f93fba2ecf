//! The data server: a table of values that processes publish for others. A lookup that waits is parked until another
//! process publishes its key, its limit is over, or its job is. The values are opaque.

use std::collections::BTreeMap;

use ferrite_types::{DaemonRank, JobId, PmixStatus, ProcId};
use ferrite_wire::{Access, DaemonMessage, DataCall, DataRange, DataRequest, Found, Persistence};

use super::Pmix;
use crate::HeadTimer;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::counters::{Counted, Late};
use crate::pmix_status::{
    PMIX_ERR_DUPLICATE_KEY, PMIX_ERR_NO_PERMISSIONS, PMIX_ERR_NOT_FOUND, PMIX_ERR_OUT_OF_RESOURCE, PMIX_ERR_TIMEOUT,
};

/// The limit of all values and keys together (bytes); the table is for contacts, not for storage.
const LIMIT: usize = 64 << 20;

/// All published items, and the lookups that wait.
#[derive(Debug, Default)]
pub(super) struct Store {
    /// Items in the order of publication.
    items: Vec<Item>,
    bytes: usize,
    parked: BTreeMap<u64, Parked>,
    next: u64,
}

/// A process as permissions and ranges see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Caller {
    proc: ProcId,
    daemon: DaemonRank,
    uid: u32,
    gid: u32,
}

#[derive(Debug)]
struct Item {
    owner: Caller,
    found: Found,
    range: DataRange,
    persistence: Persistence,
    access: Access,
}

#[derive(Debug)]
struct Parked {
    reader: Caller,
    /// The number of its question at its daemon.
    id: u64,
    keys: Vec<String>,
    range: DataRange,
    wait: u32,
}

impl Head {
    pub(in crate::head) fn on_data(&mut self, daemon: DaemonRank, id: u64, call: DataCall, cx: &mut Cx) {
        let DataCall { proc, uid, gid, request } = call;
        if !self.jobs.get(proc.job).is_some_and(|job| job.has_living(proc.rank)) {
            return self.counters.count(Counted::Late(Late::Data));
        }
        let caller = Caller { proc, daemon, uid, gid };
        let result = match request {
            DataRequest::Publish { items, range, persistence, access } => {
                let wanted = self.pmix.published.wanted(&items);
                let done = self.pmix.published.publish(caller, items, range, persistence, &access);
                cx.send(daemon, DaemonMessage::DataReply { id, result: done.map(|()| Vec::new()) });
                return self.serve_parked(wanted, cx);
            }
            DataRequest::Unpublish { keys, range } => {
                self.pmix.published.unpublish(caller, &keys, range);
                Ok(Vec::new())
            }
            DataRequest::Lookup { keys, range, wait, timeout } => {
                let parked = Parked { reader: caller, id, keys, range, wait };
                match self.pmix.published.read(&parked) {
                    Some(result) => result,
                    None => {
                        self.pmix.published.next += 1;
                        let number = self.pmix.published.next;
                        self.pmix.published.parked.insert(number, parked);
                        if let Some(timeout) = timeout {
                            cx.set_timer(HeadTimer::Lookup(number), cx.now + timeout);
                        }
                        return;
                    }
                }
            }
        };
        self.answer_lookup(caller, id, result, cx);
    }

    /// Serves lookups that wait for newly published keys, first come, first served.
    fn serve_parked(&mut self, numbers: Vec<u64>, cx: &mut Cx) {
        for number in numbers {
            let store = &mut self.pmix.published;
            let Some(parked) = store.parked.remove(&number) else { continue };
            match store.read(&parked) {
                Some(result) => {
                    cx.cancel_timer(HeadTimer::Lookup(number));
                    self.answer_lookup(parked.reader, parked.id, result, cx);
                }
                None => drop(store.parked.insert(number, parked)),
            }
        }
    }

    fn answer_lookup(&mut self, reader: Caller, id: u64, result: Result<Vec<Found>, PmixStatus>, cx: &mut Cx) {
        // Sent before the answer: a process that knows another job's processes may join them in a collective next.
        for found in result.iter().flatten().filter(|found| found.proc.job != reader.proc.job) {
            self.acquaint(found.proc.job, reader.proc.job, cx);
        }
        cx.send(reader.daemon, DaemonMessage::DataReply { id, result });
    }
}

impl Pmix {
    /// Answers a lookup that has waited for its limit.
    pub(in crate::head) fn on_lookup_timeout(&mut self, number: u64, cx: &mut Cx) {
        if let Some(parked) = self.published.parked.remove(&number) {
            cx.send(parked.reader.daemon, DaemonMessage::DataReply { id: parked.id, result: Err(PMIX_ERR_TIMEOUT) });
        }
    }

    /// Handles the end of a process: drops its lookups, and the items that live as long as it.
    pub(in crate::head) fn purge_proc(&mut self, proc: ProcId, cx: &mut Cx) {
        self.purge(|owner| owner == proc, |item| item.persistence == Persistence::Proc, cx);
    }

    /// Handles a process that was taken from its job or failed: drops its items, except those that outlive the job as
    /// well.
    pub(in crate::head) fn purge_failed(&mut self, proc: ProcId, cx: &mut Cx) {
        self.purge(|owner| owner == proc, |item| item.persistence != Persistence::Session, cx);
    }

    /// Handles the end of a job: drops its items, except those that were published for longer.
    pub(super) fn purge_job(&mut self, job: JobId, cx: &mut Cx) {
        self.purge(|owner| owner.job == job, |item| item.persistence != Persistence::Session, cx);
    }

    fn purge(&mut self, whose: impl Fn(ProcId) -> bool, goes: impl Fn(&Item) -> bool, cx: &mut Cx) {
        let store = &mut self.published;
        store.retain(|item| !(whose(item.owner.proc) && goes(item)));
        for (number, _) in store.parked.extract_if(.., |_, parked| whose(parked.reader.proc)) {
            cx.cancel_timer(HeadTimer::Lookup(number));
        }
    }
}

impl Store {
    /// The parked lookups that wait for one of these keys.
    fn wanted(&self, items: &[(String, bytes::Bytes)]) -> Vec<u64> {
        let waits = |parked: &Parked| items.iter().any(|(key, _)| parked.keys.contains(key));
        self.parked.iter().filter(|(_, parked)| waits(parked)).map(|(number, _)| *number).collect()
    }

    fn publish(
        &mut self,
        owner: Caller,
        items: Vec<(String, bytes::Bytes)>,
        range: DataRange,
        persistence: Persistence,
        access: &Access,
    ) -> Result<(), PmixStatus> {
        let clashes = |key: &String| self.items.iter().any(|item| item.found.key == *key && item.clashes(owner, range));
        if items.iter().any(|(key, _)| clashes(key)) {
            return Err(PMIX_ERR_DUPLICATE_KEY);
        }
        let bytes: usize = items.iter().map(|(key, value)| key.len() + value.len()).sum();
        if self.bytes + bytes > LIMIT {
            return Err(PMIX_ERR_OUT_OF_RESOURCE);
        }
        self.bytes += bytes;
        self.items.extend(items.into_iter().map(|(key, value)| {
            let found = Found { proc: owner.proc, key, value };
            Item { owner, found, range, persistence, access: access.clone() }
        }));
        Ok(())
    }

    /// Removes the caller's own items; read permission does not suffice.
    fn unpublish(&mut self, caller: Caller, keys: &[String], range: Option<DataRange>) {
        self.retain(|item| {
            let named = keys.is_empty() || keys.contains(&item.found.key);
            let own = item.owner.proc == caller.proc && item.owner.uid == caller.uid;
            !(own && named && range.is_none_or(|range| range == item.range))
        });
    }

    /// The result of a lookup; `None` when it has to wait. Reading removes items for a single reader.
    fn read(&mut self, wish: &Parked) -> Option<Result<Vec<Found>, PmixStatus>> {
        let mut taken = Vec::new();
        let mut forbidden = false;
        for key in &wish.keys {
            let visible = |item: &Item| item.found.key == *key && item.is_visible(wish.reader, wish.range);
            let readable = |item: &Item| visible(item) && item.may_read(wish.reader);
            match self.items.iter().position(readable) {
                Some(at) => taken.push(at),
                None => forbidden |= self.items.iter().any(visible),
            }
        }
        if forbidden {
            return Some(Err(PMIX_ERR_NO_PERMISSIONS));
        }
        if taken.len() < wish.wait as usize {
            return None;
        }
        if taken.is_empty() {
            return Some(Err(PMIX_ERR_NOT_FOUND));
        }
        let found = taken.iter().map(|at| self.items[*at].found.clone()).collect();
        let mut at = 0;
        self.retain(|item| {
            at += 1;
            !(item.persistence == Persistence::FirstRead && taken.contains(&(at - 1)))
        });
        Some(Ok(found))
    }

    fn retain(&mut self, mut keep: impl FnMut(&Item) -> bool) {
        let bytes = &mut self.bytes;
        self.items.retain(|item| {
            let kept = keep(item);
            if !kept {
                *bytes -= item.found.key.len() + item.found.value.len();
            }
            kept
        });
    }
}

impl Item {
    /// True when one of two items would hide the other from a process that both reach by the same range.
    fn clashes(&self, owner: Caller, range: DataRange) -> bool {
        self.range == range && reaches(range, self.owner, owner)
    }

    /// True when the reader is within the publisher's range and the publisher within the reader's.
    fn is_visible(&self, reader: Caller, range: DataRange) -> bool {
        reaches(self.range, self.owner, reader) && reaches(range, reader, self.owner)
    }

    fn may_read(&self, reader: Caller) -> bool {
        match (&self.access.uids, &self.access.gids) {
            (None, None) => (reader.uid, reader.gid) == (self.owner.uid, self.owner.gid),
            (uids, gids) => {
                uids.as_ref().is_none_or(|uids| uids.contains(&reader.uid))
                    && gids.as_ref().is_none_or(|gids| gids.contains(&reader.gid))
            }
        }
    }
}

fn reaches(range: DataRange, from: Caller, to: Caller) -> bool {
    match range {
        DataRange::Dvm => true,
        DataRange::Rm => false,
        DataRange::Namespace => from.proc.job == to.proc.job,
        DataRange::Local => from.daemon == to.daemon,
        DataRange::ProcLocal => from.proc == to.proc,
    }
}
