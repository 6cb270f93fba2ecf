//! Direct modex: what a remote process has published, fetched from its daemon when it is asked for.

use std::collections::BTreeMap;

use ferrite_types::{DaemonRank, JobId, ProcId};
use ferrite_wire::{CollectiveResult, Message};

use super::Daemon;
use super::collective::{PMIX_ERR_LOST_CONNECTION, PMIX_ERR_NOT_FOUND};
use crate::cx::Cx;
use crate::{Effect, PmixEffect, PmixToken};

/// Requests in both directions.
#[derive(Debug, Default)]
pub(super) struct Modexes {
    next: u64,
    /// Ours, at another daemon.
    asked: BTreeMap<u64, (JobId, PmixToken)>,
    /// Others', at our PMIx library: who asked, under which number.
    fetching: BTreeMap<u64, (JobId, DaemonRank, u64)>,
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
        let id = self.modexes.number();
        self.modexes.asked.insert(id, (proc.job, token));
        cx.send(host, Message::ModexRequest { id, proc });
    }

    pub(super) fn on_modex_request(&mut self, asker: DaemonRank, id: u64, proc: ProcId, cx: &mut Cx) {
        if self.proc(proc).is_none() {
            cx.send(asker, Message::ModexReply { id, result: Err(PMIX_ERR_NOT_FOUND) });
            return;
        }
        let fetch = self.modexes.number();
        self.modexes.fetching.insert(fetch, (proc.job, asker, id));
        cx.effect(Effect::Pmix(PmixEffect::FetchModex { fetch, proc }));
    }

    pub(super) fn on_modex_fetched(&mut self, fetch: u64, result: CollectiveResult, cx: &mut Cx) {
        if let Some((_, asker, id)) = self.modexes.fetching.remove(&fetch) {
            cx.send(asker, Message::ModexReply { id, result });
        }
    }

    pub(super) fn on_modex_reply(&mut self, id: u64, result: CollectiveResult, cx: &mut Cx) {
        if let Some((_, token)) = self.modexes.asked.remove(&id) {
            cx.effect(Effect::Pmix(PmixEffect::Reply { token, result }));
        }
    }

    /// A job is gone: nobody waits for its data any more.
    pub(super) fn drop_modexes(&mut self, job: JobId, cx: &mut Cx) {
        self.modexes.fetching.retain(|_, (of, _, _)| *of != job);
        let over: Vec<u64> = self.modexes.asked.iter().filter(|(_, (of, _))| *of == job).map(|(id, _)| *id).collect();
        for (_, token) in over.iter().filter_map(|id| self.modexes.asked.remove(id)) {
            cx.effect(Effect::Pmix(PmixEffect::Reply { token, result: Err(PMIX_ERR_LOST_CONNECTION) }));
        }
    }
}
