//! Admits callers at the front door: as a process of a job, or as a tool.

use std::ffi::CStr;
use std::rc::Rc;

use ferrite_pmix::{Claim, Info, Proc, Value};
use ferrite_pmix_sys as sys;
use ferrite_types::JobId;

use super::caller::Connection;
use super::calls::{self, Names};
use super::door::Guest;
use super::{Job, Shared};
use crate::children::Holder;

impl Shared {
    /// Admits a caller of this user after its identity is verified. The library is started for it and learns of its job
    /// first.
    pub(super) async fn admit(self: Rc<Self>, guest: Guest) {
        // The library stays for those who are on their way to it.
        let _guest = Rc::clone(&self.guests);
        let job = match self.identify(&guest).await {
            Ok(job) => job,
            Err(cause) => return tracing::warn!(claim = ?guest.greeting.claim, cause, "a PMIx client was turned away"),
        };
        if let Some(id) = job {
            self.jobs.borrow_mut().entry(id).and_modify(|job| job.has_called = true);
        }
        let Some(library) = self.library() else {
            return;
        };
        job.into_iter().for_each(|id| self.stand_in_for_all(id));
        let nspace = job.map(|id| id.nspace(&self.dvm));
        if library.ready(nspace.as_deref()).await.is_err() {
            // The end of the library is an event of its own and fails the job.
            return;
        }
        if let (Claim::Tool(Some(name)), None) = (&guest.greeting.claim, job) {
            match self.expect(name, &guest) {
                // libpmix 4.2 keeps the namespace of a tool that has left, with data that it has given away: the next
                // tool of that name would get none.
                Ok(true) => library.forget_tools(name.nspace.clone()).await,
                Ok(false) => {}
                Err(cause) => return tracing::warn!(?name, cause, "a PMIx tool was turned away"),
            }
        }
        // Small messages go back and forth: each has to leave at once.
        let _ = guest.connection.set_nodelay(true);
        if let Err(error) = library.admit(nspace.as_deref(), &guest.connection, job.is_none()).await {
            tracing::warn!(%error, "a PMIx client could not be passed on");
        }
    }

    /// Lets a tool in that comes with a name. Returns true when the library may forget its namespace.
    fn expect(&self, name: &Proc, guest: &Guest) -> Result<bool, &'static str> {
        let Some(tools) = self.tools.get() else { return Ok(false) };
        if name.nspace.strip_prefix(&*self.dvm).is_some_and(|rest| rest.starts_with('@')) {
            return Err("that is a name of a job");
        }
        let connection = Connection::of(&guest.connection, guest.caller).map_err(|_| "its connection has ended")?;
        tools.borrow_mut().expect(name, connection)
    }

    /// Returns the job of the calling process, or none for a tool.
    async fn identify(&self, guest: &Guest) -> Result<Option<JobId>, &'static str> {
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
        match self.holders.find(proc, guest.caller.inode).await {
            Holder::OfJob | Holder::Unknown => Ok(Some(proc.job)),
            Holder::Other => Err("no process of that job made the connection"),
        }
    }
}

/// Returns the name that a tool states.
pub(super) fn stated_name(info: &[Info]) -> Option<Proc> {
    let find = |key: &CStr| info.iter().find(|info| info.is(key)).map(|info| &info.value);
    let nspace = find(sys::PMIX_NSPACE).and_then(Value::as_str).filter(|nspace| !nspace.is_empty())?;
    let rank = find(sys::PMIX_RANK).and_then(Value::as_i64).and_then(|rank| rank.try_into().ok());
    Some(Proc::new(nspace, rank.unwrap_or(0)))
}

/// Returns the process of a job that calls itself a tool. It keeps its name, and may connect where other tools may not:
/// libpmix 4.2 does not read the refusal, and waits for ever.
pub(super) fn process_as_tool(info: &[Info], names: &Names) -> Option<Proc> {
    stated_name(info).filter(|proc| calls::find(proc, names).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_connect_as_a_tool_by_its_own_name_and_nobody_else() {
        let names: Names = [("d@1".to_owned(), calls::Known { job: JobId(1), size: 2 })].into();
        let says = |nspace: &str, rank: u32| {
            process_as_tool(&[Info::new(sys::PMIX_NSPACE, nspace), Info::new(sys::PMIX_RANK, rank)], &names)
        };
        assert_eq!(says("d@1", 1), Some(Proc::new("d@1", 1)));
        assert_eq!(says("d@1", 2), None);
        assert_eq!(says("mytool", 0), None);
        assert_eq!(process_as_tool(&[], &names), None);
    }
}
