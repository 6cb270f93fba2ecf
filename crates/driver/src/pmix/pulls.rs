//! Pulls of output by the PMIx tools of this node (`PMIx_IOF_pull`). The library does not say which tool pulls, and
//! hands output to all that do; so this node has one pull of a job, however many of its tools want the output, and
//! drops what none of them wants. The output of a job that a tool of this node has spawned comes here anyway.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use bytes::Bytes;
use ferrite_core::RequestId;
use ferrite_pmix::{Audience, Info, Notice, Proc, Status, Value};
use ferrite_pmix_sys as sys;
use ferrite_types::{JobId, PmixStatus, Rank};
use ferrite_wire::Stream;
use ferrite_wire::control::Reply;

use super::control;
use super::library::Library;
use crate::control::{Receipt, Requests, Submitter};

/// The pulls of a node. Cheap to clone.
#[derive(Clone)]
pub(super) struct Pulls {
    dvm: Rc<str>,
    state: Rc<RefCell<State>>,
}

#[derive(Default)]
struct State {
    jobs: BTreeMap<String, Pull>,
    /// Jobs of tools of this node.
    own: BTreeSet<String>,
    tools: BTreeSet<Proc>,
}

/// The pull of a job.
struct Pull {
    wants: Vec<Want>,
    /// The request at the head; none for a job whose output comes anyway.
    request: Option<(Requests, RequestId)>,
}

/// The request of one call.
#[derive(PartialEq, Eq)]
struct Want {
    ranks: Vec<u32>,
    stdout: bool,
    stderr: bool,
}

impl Want {
    fn includes(&self, rank: Rank, stream: Stream) -> bool {
        let carries = match stream {
            Stream::Stdout => self.stdout,
            Stream::Stderr => self.stderr,
        };
        carries && self.ranks.iter().any(|wanted| [rank.0, Proc::WILDCARD].contains(wanted))
    }
}

impl Pulls {
    pub(super) fn new(dvm: &str) -> Pulls {
        Pulls { dvm: dvm.into(), state: Rc::default() }
    }

    /// Begins or ends a pull (spec L75). `open` opens a way to the head.
    pub(super) fn receive(
        &self,
        from: Vec<Proc>,
        (stdout, stderr): (bool, bool),
        stops: bool,
        library: &Library,
        open: &dyn Fn() -> Requests,
    ) {
        let mut ranks: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        from.into_iter().for_each(|proc| ranks.entry(proc.nspace).or_default().push(proc.rank));
        for (nspace, ranks) in ranks {
            let want = Want { ranks, stdout, stderr };
            match stops {
                true => self.end(&nspace, &want),
                false => self.begin(nspace, want, library, open),
            }
        }
    }

    fn begin(&self, nspace: String, want: Want, library: &Library, open: &dyn Fn() -> Requests) {
        let mut state = self.state.borrow_mut();
        let comes_anyway = state.own.contains(&nspace);
        if let Some(pull) = state.jobs.get_mut(&nspace) {
            pull.wants.push(want);
            return;
        }
        let Some(job) = control::job_of(&nspace, &self.dvm) else { return };
        let pull = Pull { wants: vec![want], request: None };
        state.jobs.insert(nspace.clone(), pull);
        drop(state);
        if !comes_anyway {
            let requests = open();
            let reader = Reader { nspace: nspace.clone(), pulls: self.clone(), library: library.clone() };
            let request = requests.pull(job, Rc::new(reader));
            if let Some(pull) = self.state.borrow_mut().jobs.get_mut(&nspace) {
                pull.request = Some((requests, request));
            }
        }
    }

    fn end(&self, nspace: &str, want: &Want) {
        let mut state = self.state.borrow_mut();
        let Some(pull) = state.jobs.get_mut(nspace) else { return };
        if let Some(at) = pull.wants.iter().position(|known| known == want) {
            pull.wants.swap_remove(at);
        }
        if pull.wants.is_empty() {
            let pull = state.jobs.remove(nspace);
            drop(state);
            pull.into_iter().for_each(Pull::end);
        }
    }

    /// True when tools of this node pull the output of a job.
    pub(super) fn has(&self, nspace: &str) -> bool {
        self.state.borrow().jobs.contains_key(nspace)
    }

    /// Notes a job that a tool of this node has spawned.
    pub(super) fn comes_anyway(&self, nspace: &str) {
        self.state.borrow_mut().own.insert(nspace.to_owned());
    }

    pub(super) fn meet(&self, tool: &Proc) {
        self.state.borrow_mut().tools.insert(tool.clone());
    }

    /// Forgets a tool. When it was the last, nobody reads.
    pub(super) fn part_with(&self, tool: &Proc) {
        let mut state = self.state.borrow_mut();
        state.tools.remove(tool);
        if state.tools.is_empty() {
            let pulls = std::mem::take(&mut state.jobs);
            drop(state);
            pulls.into_values().for_each(Pull::end);
        }
    }

    /// Ends the pull of a job that is over, and tells the tools of this node, except for who has spawned it.
    pub(super) fn is_over(&self, nspace: &str, library: &Library, spawner: Option<&Proc>) {
        if self.forget(nspace) {
            self.tell(nspace, Status::EVENT_JOB_END, library, spawner);
        }
    }

    /// Forgets the pull of a job that is over; true if there was one.
    fn forget(&self, nspace: &str) -> bool {
        let mut state = self.state.borrow_mut();
        state.own.remove(nspace);
        let pull = state.jobs.remove(nspace);
        drop(state);
        let was_pulled = pull.is_some();
        pull.into_iter().for_each(Pull::hang_up);
        was_pulled
    }

    /// Tells the tools of this node what has become of a pull.
    fn tell(&self, nspace: &str, code: Status, library: &Library, except: Option<&Proc>) {
        let server = Proc::new(JobId::DAEMONS.nspace(&self.dvm), 0);
        let job = Proc::new(nspace, Proc::WILDCARD);
        for tool in self.state.borrow().tools.iter().filter(|tool| Some(*tool) != except) {
            let info = vec![
                Info::new(sys::PMIX_EVENT_NON_DEFAULT, true),
                Info::new(sys::PMIX_EVENT_AFFECTED_PROC, Value::Proc(job.clone())),
            ];
            let source = if code == Status::EVENT_JOB_END { &job } else { &server };
            library.notify(Notice { code, source: source.clone(), to: Audience::Procs(vec![tool.clone()]), info });
        }
    }

    fn wants(&self, nspace: &str, rank: Rank, stream: Stream) -> bool {
        let state = self.state.borrow();
        state.jobs.get(nspace).is_some_and(|pull| pull.wants.iter().any(|want| want.includes(rank, stream)))
    }
}

impl Pull {
    /// Ends the pull at the head.
    fn end(self) {
        self.request.into_iter().for_each(|(requests, request)| requests.gone(request));
    }

    /// Ends the way to the head after its answer.
    fn hang_up(self) {
        self.request.into_iter().for_each(|(requests, _)| requests.tool_gone(Vec::new()));
    }
}

/// The reader of a job's output for the tools of this node.
struct Reader {
    nspace: String,
    pulls: Pulls,
    library: Library,
}

impl Submitter for Reader {
    fn accepted(&self, _nspace: String) {}

    fn launched(&self, _result: Result<(), PmixStatus>) {}

    fn ready_for_debug(&self) {}

    fn output(&self, rank: Rank, stream: Stream, data: Bytes, receipt: Receipt) {
        if self.pulls.wants(&self.nspace, rank, stream) {
            self.library.deliver(Proc::new(self.nspace.clone(), rank.0), stream, data, true, receipt);
        }
    }

    fn notice(&self, _text: String) {}

    fn read_stdin(&self, _limit: usize) {}

    fn reply(&self, reply: Reply) {
        let code = match reply {
            Reply::Refused(text) => {
                tracing::warn!(text, "a PMIx tool gets no output");
                Status(sys::PMIX_ERR_IOF_FAILURE)
            }
            _ => Status::EVENT_JOB_END,
        };
        self.pulls.forget(&self.nspace);
        self.pulls.tell(&self.nspace, code, &self.library, None);
    }
}
