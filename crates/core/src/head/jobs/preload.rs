//! The files that a job brings along, on their way from its requester to the nodes of its map (spec L70 to L73). The
//! thinking is in [`crate::preload`]; this file connects it with the job.

use ferrite_types::{DaemonRank, JobId, JobState, MAX_PRELOAD_ENTRIES, RankSet};
use ferrite_wire::{DaemonMessage, Dest, FilePiece};

use super::record::Job;
use super::spawn::Birth;
use crate::cx::Cx;
use crate::head::Head;
use crate::head::counters::{Counted, Late};
use crate::preload::{Step, Transfer};
use crate::{Effect, RequestId};

/// Bytes of one MB in messages.
const MB: u64 = 1_000_000;

/// The reader of a job's files.
enum Reader {
    /// The client that has submitted it.
    Client(RequestId),
    /// The daemon of the process that has spawned it.
    Daemon(DaemonRank),
}

impl Head {
    /// Moves the files of a job to the nodes of its map; the job goes on when all nodes have confirmed (spec L71).
    pub(super) fn preload(&mut self, id: JobId, cx: &mut Cx) {
        let job = self.jobs.at_mut(id);
        let spec = job.spec.clone();
        if let Some(text) = refusal(job) {
            return self.fail_job(id, JobState::NeverLaunched, 1, text, cx);
        }
        let nodes = job.map().daemons();
        let transfer = job.transfer.get_or_insert_with(|| Box::new(Transfer::of(&spec.preload)));
        let steps = transfer.begin(&nodes);
        self.take_steps(id, steps, cx);
    }

    /// Takes a piece that the client of a submission has read.
    pub(in crate::head) fn on_submitted_file(
        &mut self,
        request: RequestId,
        piece: Result<FilePiece, String>,
        cx: &mut Cx,
    ) {
        if let Some(id) = self.jobs.of_submission(request) {
            self.on_file(id, piece, cx);
        }
    }

    /// Takes a piece that the daemon of a spawning process has read.
    pub(in crate::head) fn on_file_read(
        &mut self,
        daemon: DaemonRank,
        id: JobId,
        piece: Result<FilePiece, String>,
        cx: &mut Cx,
    ) {
        let is_reader = |job: &Job| matches!(reader_of(job), Some(Reader::Daemon(rank)) if rank == daemon);
        if self.jobs.get(id).is_some_and(is_reader) {
            self.on_file(id, piece, cx);
        }
    }

    fn on_file(&mut self, id: JobId, piece: Result<FilePiece, String>, cx: &mut Cx) {
        let Some(transfer) = self.open_transfer(id) else { return self.counters.count(Counted::Late(Late::Preload)) };
        let cause = match piece {
            Ok(piece) => match transfer.on_piece(piece) {
                Ok(steps) => return self.take_steps(id, steps, cx),
                Err(entry) => {
                    let source = self.jobs.at(id).spec.preload.get(entry as usize).map(|entry| entry.source.as_str());
                    format!("{}: it has changed since the job was submitted", source.unwrap_or_default())
                }
            },
            Err(cause) => cause,
        };
        let text = format!("Job {id} was not launched: a file that it brings along cannot be read.\n{cause}");
        self.fail_job(id, JobState::NeverLaunched, 1, text, cx);
    }

    /// Notes that a node has written bytes of a job's files.
    pub(in crate::head) fn on_preload_credit(&mut self, daemon: DaemonRank, id: JobId, bytes: u64, cx: &mut Cx) {
        let Some(transfer) = self.open_transfer(id) else { return self.counters.count(Counted::Late(Late::Preload)) };
        let steps = transfer.on_credit(daemon, bytes);
        self.take_steps(id, steps, cx);
    }

    /// Notes that a node has all files of a job, or why it cannot have them (spec L73).
    pub(in crate::head) fn on_preloaded(
        &mut self,
        daemon: DaemonRank,
        id: JobId,
        result: Result<(), String>,
        cx: &mut Cx,
    ) {
        let node = self.node_name(daemon).to_owned();
        let Some(transfer) = self.open_transfer(id) else { return self.counters.count(Counted::Late(Late::Preload)) };
        match result {
            Ok(()) => {
                let steps = transfer.on_complete(daemon);
                self.take_steps(id, steps, cx);
            }
            Err(cause) => {
                let text = format!(
                    "Job {id} was not launched: node {node} cannot take the files that it brings along.\n{cause}"
                );
                self.fail_job(id, JobState::NeverLaunched, 1, text, cx);
            }
        }
    }

    /// Moves no more files to daemons that are gone or leave, and ends the jobs whose files they read (spec L71).
    pub(in crate::head) fn move_no_files_to(&mut self, daemons: &RankSet, cx: &mut Cx) {
        for id in self.jobs.ids() {
            if self.open_transfer(id).is_none() {
                continue;
            }
            if let Some(Reader::Daemon(rank)) = reader_of(self.jobs.at(id))
                && daemons.contains(rank)
            {
                let node = self.node_name(rank);
                let text = format!(
                    "Job {id} was not launched: node {node}, where the files are read that it brings along, is gone."
                );
                self.fail_job(id, JobState::NeverLaunched, 1, text, cx);
                continue;
            }
            for rank in daemons.iter() {
                let steps = self.open_transfer(id).map_or_else(Vec::new, |transfer| transfer.forget(rank));
                self.take_steps(id, steps, cx);
            }
        }
    }

    /// The transfer of a job while files are on their way.
    fn open_transfer(&mut self, id: JobId) -> Option<&mut Transfer> {
        self.jobs.get_mut(id)?.transfer.as_deref_mut().filter(|transfer| transfer.is_open())
    }

    /// See spec L70.
    fn take_steps(&mut self, id: JobId, steps: Vec<Step>, cx: &mut Cx) {
        for step in steps {
            match step {
                Step::Tell(nodes) => {
                    let entries = self.jobs.at(id).spec.preload.clone();
                    cx.multicast(Dest::Many(nodes), DaemonMessage::Preload { job: id, entries });
                }
                Step::Read { entry, offset, length } => self.read_file(id, entry, offset, length, cx),
                Step::Send(nodes, piece) => {
                    cx.multicast(Dest::Many(nodes), DaemonMessage::PreloadPiece { job: id, piece });
                }
                Step::Complete => self.on_prepared(id, cx),
            }
        }
    }

    fn read_file(&self, id: JobId, entry: u32, offset: u64, length: u32, cx: &mut Cx) {
        let job = self.jobs.at(id);
        let path = job.spec.preload[entry as usize].source.clone();
        match reader_of(job) {
            Some(Reader::Client(request)) => cx.effect(Effect::ReadFile { request, entry, path, offset, length }),
            Some(Reader::Daemon(daemon)) => {
                cx.send(daemon, DaemonMessage::ReadFile { job: id, entry, path, offset, length });
            }
            None => {}
        }
    }

    /// The node whose files a job waits for, in words.
    pub(super) fn awaited_files(&self, job: &Job) -> Option<String> {
        let (node, written, total) = job.transfer.as_ref()?.slowest()?;
        let (node, written, total) = (self.node_name(node), written / MB, total.div_ceil(MB));
        Some(format!("files on node {node}: {written} of {total} MB"))
    }
}

fn reader_of(job: &Job) -> Option<Reader> {
    match job.birth {
        Birth::Submitted { .. } => job.request.map(Reader::Client),
        Birth::Awaited { asker: (daemon, _), .. } => Some(Reader::Daemon(daemon)),
        Birth::Spawned { .. } | Birth::Refused { .. } => None,
    }
}

/// Why a job cannot bring its files along.
fn refusal(job: &Job) -> Option<String> {
    let id = job.id;
    let entries = &job.spec.preload;
    if reader_of(job).is_none() {
        let why = "it brings files along, and nobody is left who reads them";
        return Some(format!("Job {id} was not launched: {why}.\nSubmit it without --detach."));
    }
    if entries.len() > MAX_PRELOAD_ENTRIES {
        let count = entries.len();
        return Some(format!(
            "Job {id} was not launched: it brings {count} files along, and {MAX_PRELOAD_ENTRIES} is the most.\n\
             Put them into an archive (.tar)."
        ));
    }
    let bad = entries.iter().find_map(|entry| entry.check().err().map(|why| (entry, why)))?;
    Some(format!("Job {id} was not launched: {:?} cannot be the name of a preloaded file: {}.", bad.0.name, bad.1))
}
