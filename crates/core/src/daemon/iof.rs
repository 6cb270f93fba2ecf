//! Input and output of local processes, with a window: bytes between process and head are bounded, so that a slow
//! reader slows writers and costs no memory.

use std::collections::BTreeSet;

use bytes::{Bytes, BytesMut};
use ferrite_types::{JobId, PmixStatus, ProcId};
use ferrite_wire::{HeadMessage, StdinDest, Stream};

use super::job::LocalJob;
use super::{Daemon, after};
use crate::cx::Cx;
use crate::output::{Author, Lines};
use crate::pmix_status::PMIX_ERR_OUT_OF_RESOURCE;
use crate::{DaemonTimer, Effect, LogForm};

/// The size of one read of a stream (bytes).
const READ_LIMIT: usize = 128 * 1024;
/// The length beyond which an unfinished line is passed on (bytes).
const LINE_LIMIT: usize = 64 * 1024;
/// The wait after which an unfinished line is passed on (milliseconds): a prompt must appear.
const LINE_WAIT_MS: u64 = 100;
/// The factor by which a running writer gets more time to end its line.
const LINE_PATIENCE: u8 = 10;
/// The size of a block in the search for the end of a line (bytes).
const SEARCH_BLOCK: usize = 256;
/// The window of all daemons together (bytes), which bounds the head's memory.
const WINDOW_OF_DVM: usize = 64 << 20;
/// The largest window of one job on one daemon (bytes). Each job has its own window: a client that does not read
/// stops no other job.
const WINDOW_MAX: usize = 4 << 20;
const WINDOW_MIN: usize = 128 * 1024;

/// One output stream of a process.
#[derive(Debug, Default)]
pub(super) struct OutStream {
    pub(super) closed: bool,
    /// The beginning of an unfinished line.
    line: BytesMut,
    /// True while the daemon checks whether the rest of the line is in the pipe.
    checking: bool,
    /// The number of times that a running writer was given more time.
    spared: u8,
}

/// The output files of a job on this node.
#[derive(Debug, Default)]
pub(super) struct OutputFiles {
    lines: Lines<String>,
    known: BTreeSet<String>,
    /// True when one of them could not be written.
    failed: bool,
}

impl OutputFiles {
    /// Closes them.
    pub(super) fn close(self, cx: &mut Cx) {
        self.known.into_iter().for_each(|path| cx.effect(Effect::CloseFile(path)));
    }

    /// Ends the unfinished tagged lines of a process that has ended.
    pub(super) fn end_lines_of(&mut self, proc: ProcId, cx: &mut Cx) {
        for path in self.lines.end_lines_of(proc) {
            cx.effect(Effect::WriteFile { job: proc.job, path, data: Bytes::from_static(b"\n") });
        }
    }
}

/// The window of a job's output, and the streams that wait for room in it.
#[derive(Debug)]
pub(super) struct Window {
    size: usize,
    on_the_way: usize,
    starved: BTreeSet<(ProcId, Stream)>,
}

impl Window {
    /// The window for this number of daemons and local jobs: more of them get less each, which bounds the head's
    /// memory. No window is larger than `limit` (bytes, `iof_base_output_limit`).
    pub(super) fn shared_between(daemons: u32, jobs: usize, limit: usize) -> Window {
        let sharers = (daemons.max(1) as usize).saturating_mul(jobs.max(1));
        let size = (WINDOW_OF_DVM / sharers).clamp(WINDOW_MIN, WINDOW_MAX).min(limit);
        Window { size, on_the_way: 0, starved: BTreeSet::new() }
    }

    fn is_full(&self) -> bool {
        self.on_the_way >= self.size
    }
}

impl Daemon {
    /// Asks for the next piece of a stream, or queues the stream when the window is full.
    pub(super) fn read_more(&mut self, proc: ProcId, stream: Stream, cx: &mut Cx) {
        let leaving = self.is_leaving();
        let Some(job) = self.jobs.get_mut(&proc.job) else {
            return;
        };
        // A process that was told to end leaves little output in its pipe, so the window does not delay it.
        let is_last = (leaving || job.is_being_killed()) && job.is_reaped(proc.rank);
        if job.window.is_full() && !is_last {
            job.window.starved.insert((proc, stream));
        } else {
            cx.effect(Effect::ReadOutput { proc, stream, limit: READ_LIMIT });
        }
    }

    /// Reads waiting streams once more: streams of processes that end now are read to their end.
    pub(super) fn read_last(&mut self, cx: &mut Cx) {
        let starved = |job: &mut LocalJob| std::mem::take(&mut job.window.starved);
        let all: Vec<(ProcId, Stream)> = self.jobs.values_mut().flat_map(starved).collect();
        for (proc, stream) in all {
            self.read_more(proc, stream, cx);
        }
    }

    pub(super) fn on_output(&mut self, proc: ProcId, stream: Stream, data: Bytes, cx: &mut Cx) {
        let raw = self.jobs.get(&proc.job).is_some_and(|job| job.order.spec.output.raw);
        let Some(local) = self.proc_mut(proc) else {
            return;
        };
        let out = local.stream_mut(stream);
        (out.checking, out.spared) = (false, 0);
        let waited = !out.line.is_empty();
        let ready = if raw { data } else { whole_lines(&mut out.line, data) };
        let waits = !out.line.is_empty();
        match (waited, waits) {
            (_, true) => cx.set_timer(DaemonTimer::PartialLine(proc, stream), after(cx.now, LINE_WAIT_MS)),
            (true, false) => cx.cancel_timer(DaemonTimer::PartialLine(proc, stream)),
            (false, false) => {}
        }
        self.forward(proc, stream, ready, cx);
        self.read_more(proc, stream, cx);
    }

    pub(super) fn on_output_closed(&mut self, proc: ProcId, stream: Stream, cx: &mut Cx) {
        self.flush_line(proc, stream, cx);
        if let Some(local) = self.proc_mut(proc) {
            local.stream_mut(stream).closed = true;
            if local.output_is_through() && local.exit.is_none() && !local.state.has_ended() {
                super::proc::set_state(local, proc, ferrite_types::ProcState::IofComplete, cx);
            }
        }
        self.try_complete(proc, cx);
    }

    pub(super) fn on_partial_line(&mut self, proc: ProcId, stream: Stream, cx: &mut Cx) {
        if self.jobs.get(&proc.job).is_some_and(|job| job.window.starved.contains(&(proc, stream))) {
            // The rest of the line may be in the pipe: without a read the daemon cannot tell that the writer pauses.
            return cx.set_timer(DaemonTimer::PartialLine(proc, stream), after(cx.now, LINE_WAIT_MS));
        }
        // On a busy node this daemon itself may have paused, and the rest may already be in the pipe.
        if let Some(local) = self.proc_mut(proc) {
            local.stream_mut(stream).checking = true;
            cx.effect(Effect::CheckOutput { proc, stream });
        }
    }

    /// Passes an unfinished line on when its writer pauses, because it may be a prompt. A running writer gets more
    /// time.
    pub(super) fn on_output_idle(&mut self, proc: ProcId, stream: Stream, writer_runs: bool, cx: &mut Cx) {
        let Some(local) = self.proc_mut(proc) else {
            return;
        };
        let out = local.stream_mut(stream);
        if !std::mem::take(&mut out.checking) {
            return;
        }
        if writer_runs && out.spared < LINE_PATIENCE {
            out.spared += 1;
            return cx.set_timer(DaemonTimer::PartialLine(proc, stream), after(cx.now, LINE_WAIT_MS));
        }
        out.spared = 0;
        if let Some(line) = self.take_line(proc, stream) {
            self.forward(proc, stream, line, cx);
        }
    }

    /// Shows a text that a process logs (spec L100): it follows the process's own output, within the same window. A
    /// process whose window is full is refused, because a call cannot wait for it. The form of a text is added to what
    /// the job's options show, and shows nothing twice.
    pub(super) fn show_logged(
        &mut self,
        proc: ProcId,
        stream: Stream,
        form: LogForm,
        text: Bytes,
        cx: &mut Cx,
    ) -> Result<(), PmixStatus> {
        if self.jobs.get(&proc.job).is_some_and(|job| job.window.is_full()) {
            return Err(PMIX_ERR_OUT_OF_RESOURCE);
        }
        let text = self.author(proc, stream, cx).logged(form, text);
        self.forward(proc, stream, text, cx);
        Ok(())
    }

    fn flush_line(&mut self, proc: ProcId, stream: Stream, cx: &mut Cx) {
        if let Some(line) = self.take_line(proc, stream) {
            cx.cancel_timer(DaemonTimer::PartialLine(proc, stream));
            self.forward(proc, stream, line, cx);
        }
    }

    fn take_line(&mut self, proc: ProcId, stream: Stream) -> Option<Bytes> {
        let line = &mut self.proc_mut(proc)?.stream_mut(stream).line;
        (!line.is_empty()).then(|| line.split().freeze())
    }

    fn forward(&mut self, proc: ProcId, stream: Stream, data: Bytes, cx: &mut Cx) {
        if data.is_empty() {
            return;
        }
        let is_in_file = self.write_file(proc, stream, data.clone(), cx);
        let job = self.job_mut(proc.job);
        if is_in_file && !job.order.spec.output.copy {
            return;
        }
        job.window.on_the_way += data.len();
        cx.send_head(HeadMessage::Output { proc, stream, data });
    }

    fn author(&self, proc: ProcId, stream: Stream, cx: &Cx) -> Author<'_> {
        let now_s = self.local.local_time_at_zero_s + (cx.now.0 / 1_000_000) as i64;
        let job = self.jobs.get(&proc.job).expect("output comes from known jobs");
        let (spec, map) = (&job.order.spec, &job.order.map);
        let pid = job.procs.get(&proc.rank).and_then(|local| local.pid).unwrap_or(0);
        Author { dvm: &self.dvm, spec, map, proc, pid, stream, now_s }
    }

    /// Writes output of a process to its file (spec L51). Returns false when the job has no files.
    pub(super) fn write_file(&mut self, proc: ProcId, stream: Stream, data: Bytes, cx: &mut Cx) -> bool {
        let author = self.author(proc, stream, cx);
        let Some(path) = author.file() else { return false };
        let marks = author.marks();
        let job = self.job_mut(proc.job);
        let data = job.files.lines.write(&path, &marks, data);
        job.files.known.insert(path.clone());
        cx.effect(Effect::WriteFile { job: proc.job, path, data });
        true
    }

    /// Reports the first file of a job that cannot be written (spec L51). The job goes on.
    pub(super) fn on_file_failed(&mut self, id: JobId, path: &str, error: &str, cx: &mut Cx) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        if !std::mem::replace(&mut job.files.failed, true) {
            let text = format!(
                "The output file {path} cannot be written on node {}: {error}.\n\
                 Output for it is dropped; the job goes on, and does not end with code 0.",
                self.local.hostname,
            );
            cx.send_head(HeadMessage::OutputLost { job: id, text });
        }
    }

    pub(super) fn on_output_credit(&mut self, id: JobId, bytes: u64, cx: &mut Cx) {
        let Some(window) = self.jobs.get_mut(&id).map(|job| &mut job.window) else {
            return;
        };
        window.on_the_way = window.on_the_way.saturating_sub(bytes as usize);
        if window.is_full() {
            return;
        }
        for (proc, stream) in std::mem::take(&mut window.starved) {
            self.read_more(proc, stream, cx);
        }
    }

    /// Hands standard input to local processes; empty data mean its end.
    pub(super) fn on_stdin(&mut self, id: JobId, dest: StdinDest, data: Bytes, cx: &mut Cx) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let mut readers = 0;
        job.stdin_ended |= data.is_empty();
        for (rank, local) in &mut job.procs {
            let addressed = dest == StdinDest::All || dest == StdinDest::Rank(*rank);
            let Some(pending) = local.stdin_pending.as_mut().filter(|_| addressed) else {
                continue;
            };
            let proc = ProcId { job: id, rank: *rank };
            if data.is_empty() {
                cx.effect(Effect::CloseStdin { proc });
            } else {
                *pending += data.len() as u64;
                readers += 1;
                cx.effect(Effect::WriteStdin { proc, data: data.clone() });
            }
        }
        job.stdin_uncredited += data.len() as u64;
        if readers == 0 && !data.is_empty() {
            self.credit_stdin(id, cx);
        }
    }

    pub(super) fn on_stdin_taken(&mut self, proc: ProcId, bytes: u64, cx: &mut Cx) {
        if let Some(pending) = self.proc_mut(proc).and_then(|p| p.stdin_pending.as_mut()) {
            *pending = pending.saturating_sub(bytes);
        }
        self.credit_stdin(proc.job, cx);
    }

    /// Handles closed standard input: a process that is gone holds up no other reader.
    pub(super) fn on_stdin_closed(&mut self, proc: ProcId, cx: &mut Cx) {
        if self.proc_mut(proc).is_some_and(|local| local.stdin_pending.take().is_some()) {
            self.credit_stdin(proc.job, cx);
        }
    }

    /// Gives credit for the bytes that the slowest local reader has taken.
    fn credit_stdin(&mut self, id: JobId, cx: &mut Cx) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let behind = job.procs.values().filter_map(|p| p.stdin_pending).max().unwrap_or(0);
        let bytes = job.stdin_uncredited.saturating_sub(behind);
        if bytes > 0 {
            job.stdin_uncredited -= bytes;
            cx.send_head(HeadMessage::StdinCredit { job: id, bytes });
        }
    }
}

/// Returns the data that may go on: up to the end of the last line, or everything when the line grows too long.
fn whole_lines(line: &mut BytesMut, mut data: Bytes) -> Bytes {
    let end = end_of_last_line(&data);
    match end {
        Some(end) => {
            let rest = data.split_off(end);
            let ready = prepend(line, data);
            line.extend_from_slice(&rest);
            ready
        }
        None if line.len() + data.len() > LINE_LIMIT => prepend(line, data),
        None => {
            line.extend_from_slice(&data);
            Bytes::new()
        }
    }
}

/// Searches block by block: the test whether a block has a line end checks many bytes at once, the search for its
/// position only one. A plain backward search cost 40% of the daemon's time for output without lines.
fn end_of_last_line(data: &[u8]) -> Option<usize> {
    let is_end = |b: &u8| *b == b'\n';
    let mut left = data.len();
    for block in data.rchunks(SEARCH_BLOCK) {
        left -= block.len();
        if block.contains(&b'\n') {
            return block.iter().rposition(is_end).map(|at| left + at + 1);
        }
    }
    None
}

fn prepend(line: &mut BytesMut, data: Bytes) -> Bytes {
    if line.is_empty() {
        return data;
    }
    line.extend_from_slice(&data);
    line.split().freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_last_line_is_found_wherever_it_is() {
        for length in [0, 1, SEARCH_BLOCK, 2 * SEARCH_BLOCK + 1] {
            let mut data = vec![b'x'; length];
            assert_eq!(end_of_last_line(&data), None);
            for at in 0..length {
                data[at] = b'\n';
                assert_eq!(end_of_last_line(&data), Some(at + 1), "all before it are ends of lines, too");
            }
        }
    }

    #[test]
    fn a_line_is_passed_on_whole_even_when_it_comes_in_pieces() {
        let mut line = BytesMut::new();
        assert_eq!(whole_lines(&mut line, Bytes::from_static(b"he")), "");
        assert_eq!(whole_lines(&mut line, Bytes::from_static(b"llo\nwor")), "hello\n");
        assert_eq!(whole_lines(&mut line, Bytes::from_static(b"ld\n")), "world\n");
        assert!(line.is_empty());
    }

    #[test]
    fn a_line_without_end_does_not_grow_without_limit() {
        let mut line = BytesMut::new();
        assert_eq!(whole_lines(&mut line, Bytes::from(vec![b'x'; LINE_LIMIT])), "");
        assert_eq!(whole_lines(&mut line, Bytes::from_static(b"y")).len(), LINE_LIMIT + 1);
    }
}
