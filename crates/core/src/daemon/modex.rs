//! Direct modex: what a remote process has published, fetched from its daemon when it is asked for.

use std::collections::BTreeMap;

use ferrite_types::{DaemonRank, JobId, ProcId, RankSet};
use ferrite_wire::{CollectiveResult, Message};

use super::Daemon;
use crate::cx::Cx;
use crate::pmix_status::{PMIX_ERR_LOST_CONNECTION, PMIX_ERR_NOT_FOUND};
use crate::{Effect, PmixEffect, PmixToken};

/// Requests in both directions.
#[derive(Debug, Default)]
pub(super) struct Modexes {
    next: u64,
    /// Ours, at another daemon.
    asked: BTreeMap<u64, Asked>,
    /// Others', at our PMIx library: who asked, under which number.
    fetching: BTreeMap<u64, (JobId, DaemonRank, u64)>,
}

/// A request to another daemon.
#[derive(Debug)]
struct Asked {
    job: JobId,
    host: DaemonRank,
    token: PmixToken,
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
        if let Some(Asked { token, .. }) = self.modexes.asked.remove(&id) {
            cx.effect(Effect::Pmix(PmixEffect::Reply { token, result }));
        }
    }

    /// A job is gone: nobody waits for its data any more.
    pub(super) fn drop_modexes(&mut self, job: JobId, cx: &mut Cx) {
        self.modexes.fetching.retain(|_, (of, _, _)| *of != job);
        self.give_up_modexes(|asked| asked.job == job, cx);
    }

    /// These daemons are dead: nobody answers for them, and their questions are void.
    pub(super) fn lose_modex_peers(&mut self, dead: &RankSet, cx: &mut Cx) {
        self.modexes.fetching.retain(|_, (_, asker, _)| !dead.contains(*asker));
        self.give_up_modexes(|asked| dead.contains(asked.host), cx);
    }

    fn give_up_modexes(&mut self, which: impl Fn(&Asked) -> bool, cx: &mut Cx) {
        let over: Vec<u64> = self.modexes.asked.iter().filter(|(_, asked)| which(asked)).map(|(id, _)| *id).collect();
        for Asked { token, .. } in over.iter().filter_map(|id| self.modexes.asked.remove(id)) {
            cx.effect(Effect::Pmix(PmixEffect::Reply { token, result: Err(PMIX_ERR_LOST_CONNECTION) }));
        }
    }
}
