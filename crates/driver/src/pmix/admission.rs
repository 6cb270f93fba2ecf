//! Admits callers at the front door: as a process of a job, or as a tool.

use std::rc::Rc;

use ferrite_pmix::Claim;
use ferrite_types::JobId;

use super::door::Guest;
use super::{Job, Shared, calls};
use crate::children::Holder;

impl Shared {
    /// Admits a caller of this user after its identity is verified. The library is started for it and learns of its job
    /// first.
    pub(super) async fn admit(self: Rc<Self>, guest: Guest) {
        let job = match self.identify(&guest) {
            Ok(job) => job,
            Err(cause) => return tracing::warn!(claim = ?guest.greeting.claim, cause, "a PMIx client was turned away"),
        };
        if let Some(id) = job {
            self.jobs.borrow_mut().entry(id).and_modify(|job| job.has_called = true);
        }
        let Some(library) = self.library() else {
            return;
        };
        let nspace = job.map(|id| id.nspace(&self.dvm));
        if library.ready(nspace.as_deref()).await.is_err() {
            // The end of the library is an event of its own and fails the job.
            return;
        }
        // Small messages go back and forth: each has to leave at once.
        let _ = guest.connection.set_nodelay(true);
        if let Err(error) = library.admit(nspace.as_deref(), &guest.connection).await {
            tracing::warn!(%error, "a PMIx client could not be passed on");
        }
    }

    /// Returns the job of the calling process, or none for a tool.
    fn identify(&self, guest: &Guest) -> Result<Option<JobId>, &'static str> {
        if guest.greeting.uid != guest.caller.uid {
            return Err("it states another user than it is");
        }
        let named = match &guest.greeting.claim {
            Claim::Client(proc) => Some(calls::find(proc, &self.names.borrow()).ok_or("there is no such process")?),
            Claim::Tool(None) => None,
            Claim::Tool(Some(name)) if name.nspace == self.server().nspace => return Err("that is a daemon's name"),
            Claim::Tool(Some(name)) => calls::find(name, &self.names.borrow()),
        };
        let Some(proc) = named else { return Ok(None) };
        let is_here = |job: &Job| {
            let map = &job.registration.order.map;
            let node = map.procs.get(proc.rank.0 as usize).and_then(|place| map.nodes.get(place.node as usize));
            node.is_some_and(|node| node.daemon == self.daemon)
        };
        if !self.jobs.borrow().get(&proc.job).is_some_and(is_here) {
            return Err("that process is on another node");
        }
        match self.holders.of_job(proc, guest.caller.inode) {
            Holder::OfJob | Holder::Unknown => Ok(Some(proc.job)),
            Holder::Other => Err("no process of that job made the connection"),
        }
    }
}
