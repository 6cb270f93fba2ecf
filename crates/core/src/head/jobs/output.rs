//! Output of processes at the head, on its way to submitters. (Each daemon writes the files of its own processes.)

use bytes::Bytes;
use ferrite_types::resources::MEMORY;
use ferrite_types::{DaemonRank, JobId, ProcId};
use ferrite_wire::{DaemonMessage, Stream};

use super::record::Job;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::counters::{Counted, Late};
use crate::output::{Author, Lines};
use crate::{Account, Effect, RequestId, Sink};

/// The state of the sinks.
#[derive(Debug, Default)]
pub(super) struct Mux {
    lines: Lines<Sink>,
    unlimited: Unlimited,
}

/// That memory is not limited on a node.
#[derive(Debug, Default)]
enum Unlimited {
    /// No node has said so.
    #[default]
    Unknown,
    /// This is to be told to the next submitter whose job takes memory.
    Untold(String),
    Told,
}

impl Mux {
    /// Forgets a job that is over.
    pub(super) fn forget(&mut self, job: JobId) {
        self.lines.forget(job);
    }
}

impl Head {
    pub(in crate::head) fn on_output(
        &mut self,
        daemon: DaemonRank,
        proc: ProcId,
        stream: Stream,
        data: Bytes,
        cx: &mut Cx,
    ) {
        self.counters.count(Counted::Output(data.len()));
        let Some(job) = self.jobs.get(proc.job) else {
            return self.counters.count(Counted::Late(Late::Output));
        };
        let account = Account { daemon, job: proc.job, bytes: data.len() as u64, share: None };
        let submitter = job.request;
        let (shares, pulls) = self.jobs.pulls.share(account, submitter, cx);
        for account in pulls {
            let to = account.share.expect("a pull has a share").reader;
            let sink = Sink { to, stream };
            cx.effect(Effect::WriteOutput { sink, from: proc.rank, data: data.clone(), account: Some(account) });
        }
        match (submitter, shares) {
            (Some(request), account) => self.write_to_submitter(request, proc, stream, data, account, cx),
            (None, Account { share: Some(_), .. }) => {}
            (None, account) => self.on_output_written(account, cx),
        }
    }

    /// Writes output as the submitter wants it: tagged, with dates, merged.
    fn write_to_submitter(
        &mut self,
        request: RequestId,
        proc: ProcId,
        stream: Stream,
        data: Bytes,
        account: Account,
        cx: &mut Cx,
    ) {
        let job = self.jobs.at(proc.job);
        let author = Author {
            dvm: &self.config.dvm,
            spec: &job.spec,
            map: job.map(),
            proc,
            pid: job.proc(proc.rank).and_then(|p| p.pid).unwrap_or(0),
            stream,
            now_s: self.local.local_time_at_zero_s + (cx.now.0 / 1_000_000) as i64,
        };
        let sink = Sink { to: request, stream: author.shown_stream() };
        let marks = author.marks();
        let data = self.jobs.output.lines.write(&sink, &marks, data);
        cx.effect(Effect::WriteOutput { sink, from: proc.rank, data, account: Some(account) });
    }

    /// Gives credit back for output that was written or dropped: its writer may write more. Output that several read
    /// is written when all of them have it.
    pub(in crate::head) fn on_output_written(&mut self, account: Account, cx: &mut Cx) {
        if !self.jobs.pulls.has_all(&account, cx.now) {
            return;
        }
        let Account { daemon, job, bytes, share: _ } = account;
        if self.jobs.get(job).is_some() {
            cx.send(daemon, DaemonMessage::OutputCredit { job, bytes });
        }
    }

    /// Tells a submitter of the first output file of its job that cannot be written. The job goes on, and is no success
    /// (spec L51).
    pub(in crate::head) fn on_output_lost(&mut self, id: JobId, text: String, cx: &mut Cx) {
        let Some(job) = self.jobs.get_mut(id) else {
            return self.counters.count(Counted::Late(Late::Output));
        };
        if job.lost_output.is_some() {
            return;
        }
        job.lost_output = Some(text.clone());
        if let Some(request) = job.request {
            cx.notice_to(request, text);
        }
    }

    /// Notes that a node cannot limit the memory of a job. Nobody is told twice: thousands of nodes are like each other
    /// (spec L163).
    pub(in crate::head) fn on_memory_not_limited(&mut self, id: JobId, text: String, cx: &mut Cx) {
        if matches!(self.jobs.output.unlimited, Unlimited::Unknown) {
            self.jobs.output.unlimited = Unlimited::Untold(text);
            self.tell_unlimited(id, cx);
        }
    }

    /// Tells the submitter of a job that takes memory, if it still hears of the job, what nobody was told yet.
    pub(super) fn tell_unlimited(&mut self, id: JobId, cx: &mut Cx) {
        let Unlimited::Untold(text) = &self.jobs.output.unlimited else { return };
        let takes_memory = |job: &&Job| job.spec.apps.iter().any(|app| app.takes.contains_key(MEMORY));
        if let Some(request) = self.jobs.get(id).filter(takes_memory).and_then(|job| job.request) {
            cx.notice_to(request, text.clone());
            self.jobs.output.unlimited = Unlimited::Told;
        }
    }

    /// Closes the unfinished tagged line of a process that has ended.
    pub(super) fn close_lines(&mut self, proc: ProcId, cx: &mut Cx) {
        for sink in self.jobs.output.lines.end_lines_of(proc) {
            let data = Bytes::from_static(b"\n");
            cx.effect(Effect::WriteOutput { sink, from: proc.rank, data, account: None });
        }
    }
}
