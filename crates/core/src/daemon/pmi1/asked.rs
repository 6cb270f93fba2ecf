//! Requests by PMI-1 that the head answers: to start a job, and names of ports. A process has one such request at a
//! time. Names are items of the data server under keys of their own, which no program of PMIx meets by chance.

use bytes::Bytes;
use ferrite_pmi1::{BadSpawn, MAX_VALUE, Reply, Spawn};
use ferrite_types::{PmixStatus, ProcId};
use ferrite_wire::{Access, DataCall, DataRange, DataRequest, Found, HeadMessage, Persistence};

use super::super::Daemon;
use super::super::questions::Asker;
use super::{Pmi1Question, answer, wish};
use crate::cx::Cx;

/// The beginning of the keys of names in the data server.
const PREFIX: &str = "pmi1:";

impl Daemon {
    pub(super) fn is_asking(&self, proc: ProcId) -> bool {
        self.jobs.get(&proc.job).is_some_and(|job| job.pmi1.asking.contains(&proc.rank))
    }

    /// Asks the head to start a job, by the path of `PMIx_Spawn` (spec L41).
    pub(super) fn on_pmi1_spawn(&mut self, proc: ProcId, spawn: Result<Spawn, BadSpawn>, cx: &mut Cx) {
        match spawn.map_err(|bad| bad.to_string()).and_then(wish::submission) {
            Ok(submission) => {
                let asker = self.asks(proc, Pmi1Question::Spawn);
                self.on_spawn(proc, Box::new(submission), asker, cx);
            }
            Err(reason) => {
                cx.send_head(HeadMessage::BadSpawn { parent: proc, reason });
                answer(proc, Reply::SpawnRefused, cx);
            }
        }
    }

    /// Publishes a port (spec L42).
    pub(super) fn on_publish_name(&mut self, proc: ProcId, service: String, port: String, cx: &mut Cx) {
        let request = DataRequest::Publish {
            items: vec![(key_of(&service), Bytes::from(port))],
            range: DataRange::Dvm,
            persistence: Persistence::App,
            access: Access::default(),
        };
        self.ask_data(proc, request, Pmi1Question::Publish(service), cx);
    }

    /// Withdraws a name. Whether the process has published it is known here.
    pub(super) fn on_unpublish_name(&mut self, proc: ProcId, service: String, cx: &mut Cx) {
        let job = self.job_mut(proc.job);
        if !job.pmi1.names.remove(&(proc.rank, service.clone())) {
            return answer(proc, Reply::Unpublished(false), cx);
        }
        let request = DataRequest::Unpublish { keys: vec![key_of(&service)], range: None };
        self.ask_data(proc, request, Pmi1Question::Unpublish, cx);
    }

    /// Looks a name up; like MPICH's own name server it does not wait for the name.
    pub(super) fn on_lookup_name(&mut self, proc: ProcId, service: String, cx: &mut Cx) {
        let keys = vec![key_of(&service)];
        let request = DataRequest::Lookup { keys, range: DataRange::Dvm, wait: 0, timeout: None };
        self.ask_data(proc, request, Pmi1Question::Lookup, cx);
    }

    fn ask_data(&mut self, proc: ProcId, request: DataRequest, question: Pmi1Question, cx: &mut Cx) {
        let asker = self.asks(proc, question);
        // All processes of a DVM have its user; only users of PMI-1 meet under these keys.
        let call = DataCall { proc, uid: 0, gid: 0, request };
        self.on_data(Box::new(call), asker, cx);
    }

    fn asks(&mut self, proc: ProcId, question: Pmi1Question) -> Asker {
        if let Some(job) = self.jobs.get_mut(&proc.job) {
            job.pmi1.asking.insert(proc.rank);
        }
        Asker::Pmi1(proc, question)
    }

    /// Passes the head's answer on.
    pub(in super::super) fn on_pmi1_answer(
        &mut self,
        proc: ProcId,
        question: Pmi1Question,
        result: Result<Vec<Found>, PmixStatus>,
        cx: &mut Cx,
    ) {
        let Some(job) = self.jobs.get_mut(&proc.job) else { return };
        job.pmi1.asking.remove(&proc.rank);
        let reply = match question {
            Pmi1Question::Spawn if result.is_ok() => Reply::Spawned,
            Pmi1Question::Spawn => Reply::SpawnRefused,
            Pmi1Question::Publish(service) => {
                if result.is_ok() {
                    job.pmi1.names.insert((proc.rank, service));
                }
                Reply::Published(result.is_ok())
            }
            Pmi1Question::Unpublish => Reply::Unpublished(result.is_ok()),
            Pmi1Question::Lookup => {
                port_of(result.as_deref().unwrap_or_default()).map_or(Reply::NoSuchName, Reply::Port)
            }
        };
        answer(proc, reply, cx);
    }
}

fn key_of(service: &str) -> String {
    format!("{PREFIX}{service}")
}

/// The found port. A program of PMIx may have published anything under the key: what is no port is not there.
fn port_of(found: &[Found]) -> Option<&str> {
    let port = std::str::from_utf8(&found.first()?.value).ok()?;
    (port.len() <= MAX_VALUE && !port.contains(['\n', '\r'])).then_some(port)
}
