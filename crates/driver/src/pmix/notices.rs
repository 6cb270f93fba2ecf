//! Events for the processes and tools of this node: failures, changes of size, warnings, and what others raise.

use std::rc::Rc;

use ferrite_core::{DaemonInput, Input, PmixCall, RequestId};
use ferrite_pmix::{Audience, Info, Notice, Proc, Status};
use ferrite_types::{JobId, ProcId, Rank};
use ferrite_wire::{EventInfo, EventRange, EventSource, PmixEvent, ProcFailure, Resize, TimeWarning};
use tokio::sync::mpsc::UnboundedReceiver;

use super::{Shared, allocate, calls, events, tool_source};
use crate::control::Later;

impl Shared {
    pub(super) fn notify(&self, id: JobId, failed: &[ProcFailure]) {
        let mut jobs = self.jobs.borrow_mut();
        let Some(job) = jobs.get_mut(&id) else {
            return;
        };
        job.failures.extend_from_slice(failed);
        job.connected.retain(|rank| failed.iter().all(|failure| failure.rank != *rank));
        self.announce(id, failed, &job.connected.iter().copied().collect::<Vec<_>>());
    }

    /// Sends a newly connected process the failures that came before it.
    pub(super) fn welcome(&self, proc: ProcId) {
        if let Some(job) = self.jobs.borrow_mut().get_mut(&proc.job) {
            job.connected.insert(proc.rank);
            self.announce(proc.job, &job.failures, &[proc.rank]);
            let early = job.early.take(proc.rank);
            early.into_iter().for_each(|notice| self.deliver(notice, self.name(proc)));
        }
    }

    /// Tells processes and tools of this node of an event. Each gets a copy of its own: an event for several would
    /// reach those twice that register for it again. But the library takes the members of a group that is made by
    /// invitation from the addressees of its announcement.
    pub(super) fn tell(&self, event: &PmixEvent, to: &[ProcId], range: &EventRange) {
        let Some(notice) = events::notice(&self.dvm, self.server(), event) else { return };
        if let Some(members) = events::members(&self.dvm, event, range) {
            let is_here =
                !to.is_empty() || self.tools.get().is_some_and(|tools| !tools.borrow().named(range).is_empty());
            return if is_here {
                self.send(Notice { to: Audience::Procs(members), ..notice })
            };
        }
        let bytes = size_of::<Notice>() + if let EventInfo::Raised(info) = &event.info { info.len() } else { 0 };
        for (id, job) in self.jobs.borrow_mut().iter_mut() {
            let ranks = to.iter().filter(|proc| proc.job == *id).map(|proc| proc.rank);
            let (now, later): (Vec<Rank>, Vec<Rank>) = ranks.partition(|rank| job.connected.contains(rank));
            now.into_iter().for_each(|rank| self.deliver(notice.clone(), self.name(ProcId { job: *id, rank })));
            if job.early.keep(&notice, bytes, later.into_iter().collect()) > 0 {
                tracing::warn!(job = %id, "too many events for processes without init: the oldest are lost");
            }
        }
        let tools = self.tools.get().map(|tools| tools.borrow().named(range)).unwrap_or_default();
        tools.into_iter().for_each(|tool| self.deliver(notice.clone(), tool));
    }

    fn deliver(&self, notice: Notice, to: Proc) {
        if let Some(library) = self.running() {
            library.notify(Notice { to: Audience::Procs(vec![to]), ..notice });
        }
    }

    /// Passes an event of a local process or tool on.
    pub(super) fn raise(&self, code: Status, source: &Proc, range: u8, info: &[Info]) {
        let proc = calls::find(source, &self.names.borrow()).map(EventSource::Proc);
        // Before it lets its launcher go on, the tool that has started it is the only one there.
        let is_caller = self.called.borrow().is_some();
        let is_tool = is_caller || self.tools.get().is_some_and(|tools| tools.borrow().knows(source));
        let Some(from) = proc.or_else(|| is_tool.then(|| tool_source(source))) else {
            return tracing::warn!(?code, ?source, "an event of a stranger is not passed on");
        };
        match events::raised(&self.dvm, from, code, range, info) {
            Ok(Some((event, range))) => {
                // The machine is gone only while this process is ending.
                let _ = self.inbox.send(Input::Daemon(DaemonInput::Pmix(PmixCall::Event { event, range })));
            }
            Ok(None) => tracing::info!(?code, ?source, "an event for the resource manager"),
            Err(cause) => tracing::warn!(?code, ?source, ?cause, "an event is not passed on"),
        }
    }

    fn announce(&self, id: JobId, failed: &[ProcFailure], to: &[Rank]) {
        let Some(library) = self.running().filter(|_| !to.is_empty()) else {
            return;
        };
        let server = self.server();
        let nspace = id.nspace(&self.dvm);
        let notices = failed.iter().flat_map(|failed| events::failure(server.clone(), &nspace, failed, to));
        notices.for_each(|notice| library.notify(notice));
    }

    pub(super) fn resized(&self, request: RequestId, resize: &Resize) {
        let tool = self.tools.get().and_then(|tools| tools.borrow_mut().take_requester(request));
        if let Some(tool) = tool {
            self.announce_size(tool, resize);
        }
    }

    pub(super) fn warned(&self, request: RequestId, warning: &TimeWarning) {
        let tool = self.tools.get().and_then(|tools| tools.borrow().to_be_warned(request));
        if let Some(tool) = tool {
            self.warn(tool, warning);
        }
    }

    /// Passes on what follows the head's replies to tools of this daemon's node.
    pub(super) async fn follow(self: Rc<Self>, mut follows: UnboundedReceiver<Later>) {
        while let Some(later) = follows.recv().await {
            match later {
                Later::Resized(request, resize) => self.resized(request, &resize),
                Later::Warned(request, warning) => self.warned(request, &warning),
            }
        }
    }

    pub(super) fn announce_size(&self, to: Proc, resize: &Resize) {
        if let Some(notice) = allocate::event(self.server(), to, resize) {
            self.tell_requester(notice);
        }
    }

    pub(super) fn warn(&self, to: Proc, warning: &TimeWarning) {
        self.tell_requester(allocate::warning(self.server(), to, warning));
    }

    /// Sends an event to its requester only.
    fn tell_requester(&self, notice: Notice) {
        if let (Some(since), Some(library)) = (self.size_events.since(), self.running()) {
            library.notify_since(since, notice);
        }
    }

    /// Sends an event to processes or tools of this node.
    pub(super) fn send(&self, notice: Notice) {
        if let Some(library) = self.running() {
            library.notify(notice);
        }
    }
}
