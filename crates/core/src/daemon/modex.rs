//! Direct modex: the data of a remote process, fetched from its daemon on demand.

use std::collections::BTreeMap;

use ferrite_types::{DaemonRank, JobId, PmixStatus, ProcId, RankSet};
use ferrite_wire::{CollectiveResult, DaemonMessage};

use super::{Daemon, after};
use crate::cx::Cx;
use crate::pmix_status::{PMIX_ERR_LOST_CONNECTION, PMIX_ERR_NOT_FOUND};
use crate::{DaemonTimer, Effect, PmixEffect, PmixToken};

/// The time for the last data of an ended process to reach the library (milliseconds). The library answers at once
/// with data that it has; for data that never come it would wait for ever.
const LAST_DATA_MS: u64 = 500;

/// Open requests in both directions.
#[derive(Debug, Default)]
pub(super) struct Modexes {
    next: u64,
    /// Own requests at other daemons.
    asked: BTreeMap<u64, Asked>,
    /// Requests of other daemons at the own PMIx library.
    fetching: BTreeMap<u64, Fetching>,
}

/// An own request to another daemon.
#[derive(Debug)]
struct Asked {
    job: JobId,
    host: DaemonRank,
    token: PmixToken,
}

/// A request of another daemon.
#[derive(Debug)]
struct Fetching {
    proc: ProcId,
    asker: DaemonRank,
    /// The number of the request there.
    id: u64,
}

impl Modexes {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

impl Daemon {
    pub(super) fn on_modex(&mut self, proc: ProcId, token: PmixToken, cx: &mut Cx) {
        let host = self.jobs.get(&proc.job).and_then(|job| job.order.map.daemon_of(proc.rank));
        let Some(host) = host else {
            cx.effect(Effect::Pmix(PmixEffect::Reply { token, result: Err(PMIX_ERR_NOT_FOUND) }));
            return;
        };
        if cx.tree.holes().contains(host) {
            cx.effect(Effect::Pmix(PmixEffect::Reply { token, result: Err(PMIX_ERR_LOST_CONNECTION) }));
            return;
        }
        let id = self.modexes.number();
        self.modexes.asked.insert(id, Asked { job: proc.job, host, token });
        cx.send(host, DaemonMessage::ModexRequest { id, proc });
    }

    pub(super) fn on_modex_request(&mut self, asker: DaemonRank, id: u64, proc: ProcId, cx: &mut Cx) {
        let Some(is_over) = self.proc(proc).map(|local| local.state.has_ended()) else {
            cx.send(asker, DaemonMessage::ModexReply { id, result: Err(PMIX_ERR_NOT_FOUND) });
            return;
        };
        let fetch = self.modexes.number();
        self.modexes.fetching.insert(fetch, Fetching { proc, asker, id });
        cx.effect(Effect::Pmix(PmixEffect::FetchModex { fetch, proc }));
        if is_over {
            cx.set_timer(DaemonTimer::LastData(fetch), after(cx.now, LAST_DATA_MS));
        }
    }

    pub(super) fn on_modex_fetched(&mut self, fetch: u64, result: CollectiveResult, cx: &mut Cx) {
        if let Some(Fetching { asker, id, .. }) = self.modexes.fetching.remove(&fetch) {
            cx.send(asker, DaemonMessage::ModexReply { id, result });
        }
    }

    /// Sets a limit for requests about an ended process: data that it has not put by now never come.
    pub(super) fn expect_last_data(&mut self, proc: ProcId, cx: &mut Cx) {
        let in_vain = self.modexes.fetching.iter().filter(|(_, fetching)| fetching.proc == proc);
        for (fetch, _) in in_vain {
            cx.set_timer(DaemonTimer::LastData(*fetch), after(cx.now, LAST_DATA_MS));
        }
    }

    pub(super) fn on_last_data(&mut self, fetch: u64, cx: &mut Cx) {
        self.on_modex_fetched(fetch, Err(PMIX_ERR_LOST_CONNECTION), cx);
    }

    pub(super) fn on_modex_reply(&mut self, id: u64, result: CollectiveResult, cx: &mut Cx) {
        if let Some(Asked { token, .. }) = self.modexes.asked.remove(&id) {
            self.answer_call(token, result, cx);
        }
    }

    /// True while this upcall waits for data.
    pub(super) fn awaits_modex(&self, token: PmixToken) -> bool {
        self.modexes.asked.values().any(|asked| asked.token == token)
    }

    /// Fails an own request; what comes for it later is dropped.
    pub(super) fn fail_modex(&mut self, token: PmixToken, status: PmixStatus, cx: &mut Cx) {
        let id = self.modexes.asked.iter().find(|(_, asked)| asked.token == token).map(|(id, _)| *id);
        id.into_iter().for_each(|id| self.on_modex_reply(id, Err(status), cx));
    }

    /// Drops the requests of a job that is gone.
    pub(super) fn drop_modexes(&mut self, job: JobId, cx: &mut Cx) {
        self.modexes.fetching.retain(|_, fetching| fetching.proc.job != job);
        self.give_up_modexes(|asked| asked.job == job, cx);
    }

    /// Fails requests to dead daemons and drops requests of theirs.
    pub(super) fn lose_modex_peers(&mut self, dead: &RankSet, cx: &mut Cx) {
        self.modexes.fetching.retain(|_, fetching| !dead.contains(fetching.asker));
        self.give_up_modexes(|asked| dead.contains(asked.host), cx);
    }

    fn give_up_modexes(&mut self, which: impl Fn(&Asked) -> bool, cx: &mut Cx) {
        let over: Vec<u64> = self.modexes.asked.iter().filter(|(_, asked)| which(asked)).map(|(id, _)| *id).collect();
        for id in over {
            self.on_modex_reply(id, Err(PMIX_ERR_LOST_CONNECTION), cx);
        }
    }
}
