//! The loop of a list: submits jobs, passes output on, writes results. It reads a line only when another job may be
//! open, so the number of open jobs bounds its memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use bytes::Bytes;
use ferrite_client::{ClientEvent, ClientLoop};
use ferrite_rm::Params;
use ferrite_types::{JobId, Signal};
use ferrite_wire::Stream;
use ferrite_wire::control::{
    BatchCounts, ClientMessage, Done, DvmMessage, Ending, JobStatus, Reply, Request, Submission,
};

use super::bar::Bar;
use super::detached::Own;
use super::feed::{Feed, Line};
use super::line::{LineParser, id_of, is_job};
use super::order::{Order, Ready};
use super::outcome::{
    CANCELLED, Epoch, NOT_RUN, Outcome, Progress, REFUSED as REFUSED_LINE, SCHEMA, Step, UNKNOWN, line_of, now,
};
use super::resume::Done as Finished;
use super::window::Window;
use crate::args::BatchRun;
use crate::command::REFUSED;
use crate::frame;
use crate::interrupts::PATIENCE;
use crate::machine::Surroundings;
use crate::setup::prepare_listed;

/// Size of one read from the list (bytes).
const READ: usize = 64 * 1024;

/// Submissions wait while more bytes than these have not been taken by the DVM.
const ENOUGH: usize = 1 << 20;

/// The most bytes of a job's messages that its result has.
const ERROR_LIMIT: usize = 4096;

/// The most jobs that wait for others of the list; no more lines are read then.
const MOST_HELD: usize = 4096;

/// Number of the request that asks which jobs run; the numbers of jobs begin at 1.
const WHICH_RUN: u32 = 0;

/// Number of the reports of a batch; the numbers of jobs never come so far.
const REPORT: u32 = u32::MAX;

/// Number of the last report: the one before it may have no answer yet.
const LAST_REPORT: u32 = REPORT - 1;

/// Number of the question for the DVM's size.
const SIZE: u32 = LAST_REPORT - 1;

/// The most time for the last report of a batch to be taken.
const LAST_WORD: Duration = Duration::from_secs(2);

/// A submitted job that is not over.
struct Open {
    index: u64,
    line: u64,
    id: Option<String>,
    /// Kept for another attempt.
    submission: Submission,
    retries: u32,
    attempts: u32,
    job: Option<JobId>,
    error: String,
    /// Files for its output; they are opened when it is submitted.
    paths: [Option<String>; 2],
    files: [Option<File>; 2],
    /// True when this command has ended it; if it had not started, it counts as never run.
    withdrawn: bool,
    /// True when the DVM was lost while the job was open.
    is_lost: bool,
}

/// Returns the jobs of a list in the lines after this one: their lines and their names. It ends at a read error.
pub(super) fn jobs_beyond(taken: u64, mut list: impl Read) -> Vec<(u64, Option<String>)> {
    let (mut feed, mut buffer, mut jobs) = (Feed::default(), vec![0; READ], Vec::new());
    while !feed.is_over() {
        let Ok(count) = list.read(&mut buffer) else { break };
        feed.push(&buffer[..count]);
        while let Some((line, text)) = feed.next_line() {
            let text = text.unwrap_or_default();
            if line > taken && is_job(&text) {
                jobs.push((line, id_of(&text)));
            }
        }
    }
    jobs
}

/// True for a job that need not be run again. A job may go on without processes that went with their nodes.
fn is_good(done: &Done) -> bool {
    let lost_ranks = done.job.as_ref().is_some_and(|job| job.ending == Some(Ending::LostRanks));
    done.exit_code == 0 && !lost_ranks
}

/// The options of a list.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    /// Name of the command.
    pub(super) name: &'static str,
    pub(super) batch: &'a BatchRun,
    /// The command's parameters, with the DVM's defaults.
    pub(super) params: &'a Params,
    pub(super) around: &'a Surroundings,
}

/// A list that runs.
pub(super) struct List<'a> {
    setting: Setting<'a>,
    parser: LineParser,
    client: ClientLoop,
    bar: Bar,
    results: Option<File>,
    epoch: Epoch,
    window: Window,
    progress: Progress,
    feed: Feed,
    open: BTreeMap<u32, Open>,
    next_id: u32,
    next_index: u64,
    /// True when no more jobs are submitted.
    stopped: bool,
    interrupts: u32,
    /// Number of submitted jobs that were withdrawn before they began.
    withdrawn: u64,
    /// The jobs that an earlier run has finished.
    finished: Finished,
    /// True for a list that is read to its end when it was stopped: a file, and no pipe.
    is_file: bool,
    /// The batch of the DVM that this list is; `None` = the list of this command alone.
    own: Option<Own>,
    /// Jobs of the list that a killed process has submitted and that are over, by the names of their tasks.
    recovered: BTreeMap<String, JobStatus>,
    /// Number of the line that was taken last.
    taken: u64,
    /// Jobs that wait for others of the list.
    order: Order<Open>,
}

impl<'a> List<'a> {
    pub(super) fn new(
        setting: Setting<'a>,
        parser: LineParser,
        client: ClientLoop,
        (results, finished): (Option<File>, Finished),
        (epoch, window): (Epoch, Window),
        total: Option<u64>,
        (own, recovered): (Option<Own>, BTreeMap<String, JobStatus>),
    ) -> List<'a> {
        List {
            setting,
            parser,
            client,
            bar: Bar::new(),
            results,
            epoch,
            window,
            progress: Progress::new(total),
            feed: Feed::default(),
            open: BTreeMap::new(),
            next_id: WHICH_RUN + 1,
            next_index: 0,
            stopped: false,
            interrupts: 0,
            withdrawn: 0,
            finished,
            is_file: total.is_some(),
            own,
            recovered,
            taken: 0,
            order: Order::new(),
        }
    }

    /// Runs the list to its end; returns the exit code.
    pub(super) fn run(mut self) -> i32 {
        if let Some(own) = &self.own {
            let begun = line_of(&own.begun(self.client.dvm()));
            self.client.send(&ClientMessage::Starts);
            self.write_line(&begun);
        }
        loop {
            self.submit_more();
            self.report(REPORT);
            if !self.is_done_reading() && self.window.wants_size(self.open.len(), Instant::now()) {
                self.client.send(&ClientMessage::Open { id: SIZE, request: Request::Status });
            }
            if self.stopped {
                self.give_up_held();
            }
            if self.open.is_empty() && self.order.len() == 0 {
                if self.feed.is_over() || (self.stopped && !self.is_file) {
                    return self.finish();
                }
                if self.stopped {
                    self.leave_out();
                }
            }
            if self.bar.is_due() {
                self.bar.draw(&mut self.client, &self.progress.line(self.open.len()));
            }
            let look = self.window.next_look(self.open.len(), Instant::now()).filter(|_| !self.is_done_reading());
            let event = self.bar.next(&mut self.client, look);
            if let Some(code) = self.on(event) {
                return code;
            }
        }
    }

    /// True when no more jobs are to be submitted.
    fn is_done_reading(&self) -> bool {
        self.stopped || (self.feed.is_over() && self.order.len() == 0)
    }

    /// Tells the DVM how far the batch is, when it has heard the last report.
    fn report(&mut self, id: u32) {
        let counts = BatchCounts {
            tasks: self.progress.total.unwrap_or(self.progress.ended + self.open.len() as u64),
            ended: self.progress.ended,
            failed: self.progress.failed,
            open: self.open.len() as u64,
            bytes: self.results.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |file| file.len()),
        };
        if let Some(order) = self.own.as_mut().and_then(|own| own.report(counts)) {
            self.client.send(&ClientMessage::Open { id, request: Request::Batch(order) });
        }
    }

    fn submit_more(&mut self) {
        while !self.stopped && self.client.unsent() < ENOUGH && self.window.has_room(self.open.len()) {
            if let Some(ready) = self.order.next() {
                self.begin_after(ready);
                continue;
            }
            // The first of them waits for jobs that are open.
            if self.order.len() >= MOST_HELD {
                return;
            }
            match self.feed.next_line() {
                Some((number, line)) => self.take(number, line),
                None if self.feed.is_over() => return,
                None if self.client.is_reading() => return,
                None => return self.client.read_input(READ),
            }
        }
    }

    /// Writes a result for each line that is left when the list was stopped.
    fn leave_out(&mut self) {
        loop {
            match self.feed.next_line() {
                Some((line, text)) => {
                    self.taken = line;
                    let text = text.unwrap_or_default();
                    let id = id_of(&text);
                    if is_job(&text) && !self.is_finished(line, id.as_deref()) {
                        let index = self.take_index();
                        self.write_result(&Outcome::without_run(index, line, id.as_deref(), NOT_RUN));
                        self.progress.ended += 1;
                        self.progress.failed += 1;
                    }
                }
                None if self.feed.is_over() || self.client.is_reading() => return,
                None => return self.client.read_input(READ),
            }
        }
    }

    /// Writes a result for each line of a file that was not taken, when no more events come.
    fn leave_out_all(&mut self) {
        let path = self.is_file.then(|| self.setting.around.cwd.join(&self.setting.batch.file));
        let Some(file) = path.and_then(|path| File::open(path).ok()) else { return };
        for (line, id) in jobs_beyond(self.taken, file) {
            if !self.is_finished(line, id.as_deref()) {
                let index = self.take_index();
                self.write_result(&Outcome::without_run(index, line, id.as_deref(), NOT_RUN));
            }
        }
    }

    /// True for a job that an earlier run has finished; it counts as one that has ended well.
    fn is_finished(&mut self, line: u64, id: Option<&str>) -> bool {
        let is_finished = self.finished.has(line, id);
        if is_finished {
            self.take_index();
            self.progress.ended += 1;
            self.progress.failed += u64::from(self.finished.has_failed(line, id));
        }
        is_finished
    }

    /// Submits the job of a line, or reports why the line has none.
    fn take(&mut self, line: u64, text: Line) {
        self.taken = line;
        let id = text.as_ref().ok().and_then(|text| id_of(text));
        let parsed = text.map_err(str::to_owned).and_then(|text| self.parser.parse(&text).map_err(|e| e.to_string()));
        let described = match parsed {
            Ok(None) => return,
            Ok(Some(described)) => described,
            Err(why) => return self.refuse(line, id.as_deref(), &why),
        };
        if let Err(why) = self.order.add(id.as_deref(), &described.after) {
            return self.refuse(line, id.as_deref(), &why);
        }
        if self.is_finished(line, id.as_deref()) {
            let well = !self.finished.has_failed(line, id.as_deref());
            return self.order.over(id.as_deref(), well);
        }
        let priority = described.run.priority;
        match prepare_listed(described.run, self.setting.params, self.setting.around) {
            Err(why) => {
                self.refuse(line, id.as_deref(), &why.to_string());
                self.order.over(id.as_deref(), false);
            }
            Ok(mut submission) => {
                submission.priority = priority.unwrap_or(self.setting.batch.priority);
                if let Some(own) = &self.own {
                    submission.task = own.task(line, id.as_deref());
                }
                let over = self.recovered.remove(&submission.task);
                let retries = described.retries.unwrap_or(self.setting.batch.retries);
                let index = self.take_index();
                let open = Open {
                    index,
                    line,
                    id,
                    submission,
                    retries,
                    attempts: 0,
                    job: None,
                    error: String::new(),
                    paths: [described.stdout, described.stderr],
                    files: [None, None],
                    withdrawn: false,
                    is_lost: false,
                };
                match over {
                    // It is over, and the process that had to write its record was killed.
                    Some(status) => {
                        let done = Done { exit_code: status.exit_code.unwrap_or(1), job: Some(status) };
                        self.end(&Open { attempts: 1, ..open }, &done);
                    }
                    None => self.order.hold(described.after, open),
                }
            }
        }
    }

    /// Submits a job that waits for no other of the list any more, or leaves it out (spec L121).
    fn begin_after(&mut self, ready: Ready<Open>) {
        match ready {
            Ready::Run(mut open) => match self.files(open.paths[0].as_deref(), open.paths[1].as_deref()) {
                Ok(files) => {
                    open.files = files;
                    self.submit(open);
                }
                Err(why) => self.never(&open, REFUSED_LINE, Some(&format!("line {}: {why}", open.line))),
            },
            Ready::Never(open, name) => {
                self.never(&open, NOT_RUN, Some(&format!("{name:?}, for which it waits, has not ended well")));
            }
        }
    }

    /// Writes the result of a job that is never submitted.
    fn never(&mut self, open: &Open, ending: &'static str, why: Option<&str>) {
        let outcome = Outcome::without_run(open.index, open.line, open.id.as_deref(), ending);
        self.write_result(&Outcome { error: why, ..outcome });
        self.count(false);
        self.order.over(open.id.as_deref(), false);
    }

    /// Writes the results of jobs that wait for others, when the list was stopped.
    fn give_up_held(&mut self) {
        for open in self.order.give_up() {
            self.never(&open, NOT_RUN, None);
        }
    }

    fn take_index(&mut self) -> u64 {
        self.next_index += 1;
        self.next_index - 1
    }

    /// Opens the files of a job's output.
    fn files(&self, stdout: Option<&str>, stderr: Option<&str>) -> Result<[Option<File>; 2], String> {
        let create = |path: &str| {
            File::create(self.setting.around.cwd.join(path))
                .map_err(|e| format!("cannot write the output file {path}: {e}"))
        };
        let out = stdout.map(create).transpose()?;
        let err = match (&out, stderr) {
            // Both streams share one open file: with two positions they would write over each other.
            (Some(out), Some(path)) if stdout == Some(path) => {
                Some(out.try_clone().map_err(|e| format!("cannot write the output file {path}: {e}"))?)
            }
            (_, path) => path.map(create).transpose()?,
        };
        Ok([out, err])
    }

    fn submit(&mut self, mut job: Open) {
        job.attempts += 1;
        job.error.clear();
        job.job = None;
        let id = self.next_id;
        self.next_id += 1;
        let request = Request::Submit(Box::new(job.submission.clone()));
        self.open.insert(id, job);
        self.client.send(&ClientMessage::Open { id, request });
    }

    /// Writes the result of a line that is never submitted.
    fn refuse(&mut self, line: u64, id: Option<&str>, why: &str) {
        let index = self.take_index();
        let text = format!("line {line}: {why}");
        self.write_result(&Outcome { error: Some(&text), ..Outcome::without_run(index, line, id, REFUSED_LINE) });
        self.count(false);
    }

    fn on(&mut self, event: ClientEvent) -> Option<i32> {
        match event {
            ClientEvent::Message(message) => self.on_message(message),
            ClientEvent::Input(data) => self.feed.push(&data),
            ClientEvent::Signal(signal @ (Signal::INT | Signal::TERM | Signal::HUP)) => {
                return self.on_interrupt(signal);
            }
            ClientEvent::Signal(signal) => {
                for id in self.open.keys() {
                    self.client.send(&ClientMessage::Signal { id: *id, signal });
                }
            }
            ClientEvent::OutputBroken(Stream::Stdout, _) => {
                self.bar.hide();
                self.interrupts += 1;
                self.cancel_all();
            }
            ClientEvent::OutputBroken(Stream::Stderr, _) => self.bar.hide(),
            ClientEvent::Woken | ClientEvent::Timeout => {}
            ClientEvent::Gone(error) => return Some(self.gone(&error.to_string(), error.next_step())),
        }
        None
    }

    fn on_message(&mut self, message: DvmMessage) {
        match message {
            DvmMessage::Accepted { id, job, .. } => {
                self.open.get_mut(&id).into_iter().for_each(|open| open.job = Some(job));
                self.write_step("submitted", id);
            }
            DvmMessage::Launched { id, result: Ok(()) } => self.write_step("started", id),
            DvmMessage::Output { id, stream, data, .. } => self.on_output(id, stream, &data),
            DvmMessage::Notice { id, text } => {
                for open in self.open.get_mut(&id).into_iter().filter(|open| open.error.len() < ERROR_LIMIT) {
                    open.error.push_str(if open.error.is_empty() { "" } else { "\n" });
                    open.error.push_str(text.trim_end());
                }
            }
            // Jobs of a list have no standard input; a program that reads it sees its end.
            DvmMessage::ReadStdin { id, .. } => self.client.send(&ClientMessage::Stdin { id, data: Bytes::new() }),
            DvmMessage::Reply { id: WHICH_RUN, reply: Reply::Jobs(jobs) } => self.withdraw(&jobs),
            DvmMessage::Reply { id: SIZE, reply: Reply::Status(status) } => self.window.has_size(status.slots),
            DvmMessage::Reply { id: REPORT, .. } => self.own.iter_mut().for_each(Own::heard),
            DvmMessage::Reply { id, reply } => self.on_reply(id, reply),
            // Lines that ask for pictures are refused, because each job would replace the file of the one before.
            DvmMessage::Picture { .. } | DvmMessage::Event { .. } | DvmMessage::EventsLost { .. } => {}
            // Lines that bring files along are refused.
            DvmMessage::ReadFile { .. } => {}
            // Only PMIx tools get these.
            DvmMessage::Launched { .. }
            | DvmMessage::ReadyForDebug { .. }
            | DvmMessage::Resized { .. }
            | DvmMessage::Warned { .. } => {}
        }
    }

    fn on_output(&mut self, id: u32, stream: Stream, data: &[u8]) {
        let Some(open) = self.open.get_mut(&id) else { return };
        if let Some(file) = &mut open.files[usize::from(stream == Stream::Stderr)] {
            if let Err(error) = file.write_all(data) {
                open.error = format!("its output cannot be written: {error}");
                self.client.send(&ClientMessage::Cancel { id });
            }
            return;
        }
        // As for a detached job: nobody reads it.
        if self.own.is_some() {
            return;
        }
        // Without a file of their own, results are on standard output; the output of jobs goes to standard error then.
        let to = if self.results.is_some() { stream } else { Stream::Stderr };
        self.write(to, data);
    }

    fn on_reply(&mut self, id: u32, reply: Reply) {
        let Some(mut open) = self.open.remove(&id) else { return };
        let done = match reply {
            Reply::Done(done) => done,
            Reply::Refused(text) => {
                open.error = text;
                Done { exit_code: 1, job: None }
            }
            other => {
                open.error = format!("the DVM gave an answer that does not fit: {other:?}");
                Done { exit_code: 1, job: None }
            }
        };
        let began = done.job.as_ref().is_some_and(|job| job.procs > 0);
        if open.withdrawn && !began {
            self.withdrawn += 1;
            let outcome = Outcome::without_run(open.index, open.line, open.id.as_deref(), NOT_RUN);
            self.write_result(&Outcome { job: open.job.map(|JobId(job)| job), ..outcome });
            self.progress.ended += 1;
            self.progress.failed += 1;
            self.order.over(open.id.as_deref(), false);
        } else if !is_good(&done) && open.retries > 0 && !self.stopped {
            open.retries -= 1;
            self.submit(open);
        } else {
            self.end(&open, &done);
        }
    }

    fn end(&mut self, open: &Open, done: &Done) {
        let never_ran = done.job.is_none();
        let ending = match done.job.as_ref().and_then(|status| status.ending) {
            Some(Ending::Killed) if open.withdrawn => CANCELLED,
            Some(ending) => ending.name(),
            None if open.withdrawn => CANCELLED,
            None if never_ran && open.is_lost => UNKNOWN,
            None => REFUSED_LINE,
        };
        let mut outcome = Outcome {
            job: open.job.map(|JobId(job)| job),
            exit_code: Some(done.exit_code).filter(|_| !never_ran),
            attempts: open.attempts,
            error: Some(open.error.as_str()).filter(|text| done.exit_code != 0 && !text.is_empty()),
            ..Outcome::without_run(open.index, open.line, open.id.as_deref(), ending)
        };
        done.job.iter().for_each(|status| self.epoch.fill(&mut outcome, status));
        self.write_result(&outcome);
        self.count(is_good(done));
        self.order.over(open.id.as_deref(), is_good(done));
    }

    fn count(&mut self, well: bool) {
        self.progress.ended += 1;
        self.progress.failed += u64::from(!well);
        if !well && !self.setting.batch.keep_going && !self.stopped {
            self.stopped = true;
            // Some open jobs wait for slots; only the DVM knows which.
            if !self.open.is_empty() {
                self.client.send(&ClientMessage::Open { id: WHICH_RUN, request: Request::Jobs });
            }
        }
    }

    /// Withdraws jobs that have not begun, after a failure.
    fn withdraw(&mut self, jobs: &[JobStatus]) {
        let waits = |job: JobId| jobs.iter().any(|status| status.job == job && status.procs == 0);
        for (id, open) in self.open.iter_mut().rev() {
            if open.job.is_none_or(waits) {
                open.withdrawn = true;
                self.client.send(&ClientMessage::Cancel { id: *id });
            }
        }
    }

    /// Cancels all open jobs. The last one comes first: those that wait are gone when the others end, and none of them
    /// begins in between.
    fn cancel_all(&mut self) {
        self.stopped = true;
        for (id, open) in self.open.iter_mut().rev() {
            open.withdrawn = true;
            self.client.send(&ClientMessage::Cancel { id: *id });
        }
    }

    /// Handles an interrupt: the first ends all jobs in order, the second prints an explanation, the third ends the
    /// command at once.
    fn on_interrupt(&mut self, signal: Signal) -> Option<i32> {
        self.interrupts += 1;
        match self.interrupts {
            1 => self.cancel_all(),
            2 if signal == Signal::INT => self.write(Stream::Stderr, frame::notice(PATIENCE).as_bytes()),
            _ => {
                self.client.send_all(Duration::from_millis(100));
                return Some(REFUSED);
            }
        }
        None
    }

    /// Handles the loss of the DVM: writes the results of all open jobs.
    fn gone(&mut self, why: &str, next: &str) -> i32 {
        for (_, mut open) in std::mem::take(&mut self.open) {
            open.error = why.to_owned();
            open.is_lost = true;
            self.end(&open, &Done { exit_code: 1, job: None });
        }
        self.give_up_held();
        self.leave_out_all();
        self.write(Stream::Stderr, frame::framed(self.setting.name, &[why, next]).as_bytes());
        self.client.finish();
        REFUSED
    }

    fn finish(&mut self) -> i32 {
        if let Some(own) = &mut self.own {
            own.heard();
            self.report(LAST_REPORT);
            self.client.send_all(LAST_WORD);
        }
        self.bar.leave(&mut self.client, &self.progress.line(0));
        if self.stopped && self.interrupts == 0 && (self.withdrawn > 0 || !self.feed.is_over()) {
            let text = "a job failed, and what had not started was left out";
            self.write(
                Stream::Stderr,
                format!("{}: {text}; --keep-going runs all jobs\n", self.setting.name).as_bytes(),
            );
        }
        self.client.finish();
        i32::from(self.progress.failed > 0 || self.stopped)
    }

    /// Writes a record about a step of a job, in a detached batch.
    fn write_step(&mut self, record: &'static str, id: u32) {
        let Some(open) = self.open.get(&id).filter(|_| self.own.is_some()) else { return };
        let Open { index, line, attempts: attempt, .. } = *open;
        if let Some(JobId(job)) = open.job {
            let id = open.id.as_deref();
            let step = line_of(&Step { schema: SCHEMA, record, index, line, id, job, attempt, at: now() });
            self.write_line(&step);
        }
    }

    fn write_result(&mut self, outcome: &Outcome<'_>) {
        self.write_line(&outcome.line());
    }

    fn write_line(&mut self, line: &str) {
        let Some(file) = &mut self.results else { return self.write(Stream::Stdout, line.as_bytes()) };
        if let Err(error) = file.write_all(line.as_bytes()) {
            self.results = None;
            let text = format!("--results cannot be written: {error}. Results go to standard output from here on.");
            self.write(Stream::Stderr, frame::framed(self.setting.name, &[&text]).as_bytes());
            self.write(Stream::Stdout, line.as_bytes());
        }
    }

    fn write(&mut self, to: Stream, bytes: &[u8]) {
        self.bar.write(&mut self.client, to, bytes);
    }
}
