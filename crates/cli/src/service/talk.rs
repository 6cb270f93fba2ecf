//! The conversation with one client of the service: its tasks, what it has asked, what it waits for. Pure: bytes and
//! messages come in, lines and messages go out. All its requests to the DVM have numbers of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use ferrite_driver::{Interpreter, Said};
use ferrite_types::{CampaignKind, JobId, JobState, Signal};
use ferrite_wire::control::{ClientMessage, Done, DvmMessage, DvmStatus, Event, EventKind, JobDetail, Reply, Request};
use ferrite_wire::{JobResize, ResizeRequest};
use serde::Serialize;

use super::Shared;
use super::answers::{
    self, Closed, Ended, Error, Following, NeverBegan, Notice, Of, Ordered, Output, Place, Step, Waited,
};
use super::input::Input;
use super::requests::{Ask, Followed, Submit, Wait, Which, parse};
use crate::batch::feed::{Feed, TOO_LONG};
use crate::batch::line::Id;
use crate::pdvm::event_line::Line;
use crate::pdvm::moment::Moment;
use crate::pdvm::{grow, json, metrics, resize, shrink, size, status};

/// The longest line (bytes).
pub(super) const LONGEST: usize = 4 << 20;
/// The most tasks of a client that are not over.
pub(super) const MOST_TASKS: usize = 4_096;
/// The most jobs that a client waits for.
pub(super) const MOST_WAITED: usize = 2_048;
/// The most other requests of a client that have no answer.
pub(super) const MOST_ASKED: usize = 64;
/// The most bytes of notices that the end of a task repeats.
const MOST_CAUSE: usize = 4_096;
/// Number of the subscription to events; requests count from the next number.
const FOLLOW: u32 = 0;

/// The conversation with one client.
#[derive(Debug)]
pub(crate) struct Talk {
    shared: Rc<Shared>,
    /// Its number among the clients of the service.
    client: u64,
    dvm: String,
    began: Duration,
    feed: Feed,
    /// Number of the last request to the DVM, and of the last submission or wait of the client.
    last: u32,
    last_group: u64,
    asked: BTreeMap<u32, Asked>,
    /// Requests of the client that have no answer, apart from its tasks and waits.
    open: usize,
    tasks: BTreeMap<u32, Task>,
    /// The task that has become a job.
    of_job: BTreeMap<JobId, u32>,
    submissions: BTreeMap<u64, Submission>,
    waits: BTreeMap<u64, Waiting>,
    /// The jobs that are waited for, and by whom.
    waited: BTreeMap<JobId, Watched>,
    followed: Followed,
    subscribed: bool,
    stage: Stage,
}

/// The progress of the conversation.
#[derive(Debug)]
enum Stage {
    /// The client is listened to.
    Open,
    /// The client has said its last line: a `close` with this id.
    Closing(Option<Id>),
    /// The client was told its last line.
    Closed,
}

/// A request to the DVM that has no reply.
#[derive(Debug)]
enum Asked {
    /// A question of the client.
    Question(Option<Id>, Question),
    /// Has the task begun, and what does it wait for?
    Step(u32),
    /// How has this task ended?
    Ended(Box<Task>, Done),
    /// Is this job over, for which the client waits?
    Waited(JobId),
}

/// A question or an order of the client.
#[derive(Debug)]
enum Question {
    /// The status comes first, then the jobs.
    Status,
    Waiting(Box<DvmStatus>),
    Nodes,
    Jobs,
    Job,
    Metrics,
    Sessions,
    Terminate,
    Resize {
        change: CampaignKind,
        reserves: bool,
    },
    JobSize,
    Order {
        order: &'static str,
        job: JobId,
        signal: Option<Signal>,
    },
    CancelTree(JobId),
    /// Is a job that cannot be cancelled over?
    IsOver {
        job: JobId,
        tree: bool,
    },
}

/// A task of the client that is not over.
#[derive(Debug)]
struct Task {
    id: Option<Id>,
    name: Option<String>,
    submission: u64,
    place: usize,
    job: Option<JobId>,
    input: Input,
    /// True when it outlives the connection.
    detached: bool,
    cause: String,
    /// True when the client was told that it has started.
    started: bool,
}

/// A submission whose tasks have not all been accepted or refused.
#[derive(Debug)]
struct Submission {
    id: Option<Id>,
    places: Vec<Place>,
    missing: usize,
}

/// A `wait` that has no answer.
#[derive(Debug)]
struct Waiting {
    id: Option<Id>,
    missing: usize,
    ended: Vec<Ended>,
    unknown: Vec<u32>,
}

/// A job that is waited for.
#[derive(Debug, Default)]
struct Watched {
    by: BTreeSet<u64>,
    /// True while the DVM is being asked about it, and true when it has gone on meanwhile.
    asked: bool,
    stale: bool,
}

impl Interpreter for Talk {
    fn hear(&mut self, bytes: &[u8]) {
        if matches!(self.stage, Stage::Open) {
            self.feed.push(bytes);
        }
    }

    fn next(&mut self, now: Duration) -> Option<Said> {
        if !matches!(self.stage, Stage::Open) {
            return None;
        }
        let (_, line) = self.feed.next_line()?;
        let mut out = self.out(now);
        match line {
            Ok(line) if line.trim().is_empty() => {}
            Ok(line) => {
                let (id, ask) = parse(&line);
                match ask {
                    Ok(ask) => self.take(id, ask, &mut out),
                    Err(why) => out.error(id.as_ref(), "usage", &why),
                }
            }
            Err(TOO_LONG) => out.error(None, "usage", &format!("{TOO_LONG}: {} MiB", LONGEST >> 20)),
            Err(why) => out.error(None, "usage", why),
        }
        self.try_close(&mut out);
        Some(out.said)
    }

    fn tell(&mut self, message: DvmMessage, now: Duration) -> Said {
        let mut out = self.out(now);
        if !matches!(self.stage, Stage::Closed) {
            self.on_message(message, &mut out);
            self.try_close(&mut out);
        }
        out.said
    }
}

/// A line, and the time at which it is said.
struct Out {
    said: Said,
    moment: Moment,
}

impl Out {
    fn line(&mut self, kind: &'static str, id: Option<&Id>, body: impl Serialize) {
        answers::line(&mut self.said.lines, kind, id, body);
    }

    fn error(&mut self, id: Option<&Id>, reason: &'static str, error: &str) {
        self.line("error", id, Error { reason, error });
    }

    /// An answer that `pdvm` gives as well.
    fn answer(&mut self, kind: &'static str, id: Option<&Id>, body: impl Serialize) {
        answers::line(&mut self.said.lines, kind, id, json::About::of(&self.moment, body));
    }

    fn about(&mut self, kind: &'static str, task: &Task, body: impl Serialize) {
        self.line(kind, task.id.as_ref(), Of { task: task.name.as_deref(), body });
    }

    fn send(&mut self, message: ClientMessage) {
        self.said.messages.push(message);
    }
}

impl Talk {
    pub(crate) fn new(shared: Rc<Shared>, dvm: &str, began: Duration) -> Talk {
        Talk {
            client: shared.number_client(),
            shared,
            dvm: dvm.to_owned(),
            began,
            feed: Feed::with_longest(LONGEST),
            last: FOLLOW,
            last_group: 0,
            asked: BTreeMap::new(),
            open: 0,
            tasks: BTreeMap::new(),
            of_job: BTreeMap::new(),
            submissions: BTreeMap::new(),
            waits: BTreeMap::new(),
            waited: BTreeMap::new(),
            followed: Followed::None,
            subscribed: false,
            stage: Stage::Open,
        }
    }

    fn out(&self, now: Duration) -> Out {
        let age = now.saturating_sub(self.began);
        let dvm_us = u64::try_from(age.as_micros()).unwrap_or(u64::MAX);
        Out { said: Said::default(), moment: Moment { dvm: self.dvm.clone(), dvm_us, asked: now, zone_s: 0 } }
    }

    // Requests of the client.

    /// Handles a request of the client: it gets one answer, now or later (spec L90).
    fn take(&mut self, id: Option<Id>, ask: Ask, out: &mut Out) {
        let question = match ask {
            Ask::Submit(asked) => return self.submit(id, asked, out),
            Ask::Wait(asked) => return self.wait(id, asked, out),
            Ask::Follow(asked) => return self.follow(id, asked.of, out),
            Ask::Cancel { which, tree } => return self.cancel(id, which, tree, out),
            Ask::Feed(which, data, end) => return self.feed(id, &which, data, end, out),
            Ask::Close => return self.close(id, out),
            Ask::Status => Ok((Request::Status, Question::Status)),
            Ask::Nodes => Ok((Request::Nodes, Question::Nodes)),
            Ask::Jobs => Ok((Request::Jobs, Question::Jobs)),
            Ask::Metrics => Ok((Request::Metrics, Question::Metrics)),
            Ask::Sessions => Ok((Request::Sessions, Question::Sessions)),
            Ask::Terminate => Ok((Request::Terminate, Question::Terminate)),
            Ask::Job(which) => self.find(&which).map(|job| (Request::Job(job), Question::Job)),
            Ask::Signal(which, signal) => self.find(&which).map(|job| {
                let order = Question::Order { order: "signal", job, signal: Some(signal) };
                (Request::Signal { job, signal }, order)
            }),
            Ask::Grow(grow) => grow
                .into_options()
                .and_then(|options| grow::request(options).map_err(|failure| told(&failure)))
                .map(|request| resizing(request, CampaignKind::Grow)),
            Ask::Shrink(shrink) => shrink
                .into_options()
                .and_then(|options| shrink::request(options).map_err(|failure| told(&failure)))
                .map(|request| resizing(request, CampaignKind::Shrink)),
            Ask::Resize(which, resize) => {
                self.find(&which).map(|job| (Request::ResizeJob(JobResize { job, ..resize }), Question::JobSize))
            }
        };
        match question {
            Ok((request, question)) => self.ask(id, request, question, out),
            Err(why) => out.error(id.as_ref(), "usage", &why),
        }
    }

    fn ask(&mut self, id: Option<Id>, request: Request, question: Question, out: &mut Out) {
        if self.open >= MOST_ASKED {
            let why = format!("{MOST_ASKED} requests of this client have no answer yet: wait for some of them");
            return out.error(id.as_ref(), "refused", &why);
        }
        self.open += 1;
        self.request(request, Asked::Question(id, question), out);
    }

    fn request(&mut self, request: Request, asked: Asked, out: &mut Out) {
        let number = self.number();
        self.asked.insert(number, asked);
        out.send(ClientMessage::Open { id: number, request });
    }

    /// Returns a number that no open request has.
    fn number(&mut self) -> u32 {
        loop {
            self.last = self.last.wrapping_add(1);
            if self.last != FOLLOW && !self.asked.contains_key(&self.last) && !self.tasks.contains_key(&self.last) {
                return self.last;
            }
        }
    }

    fn group(&mut self) -> u64 {
        self.last_group += 1;
        self.last_group
    }

    fn find(&self, which: &Which) -> Result<JobId, String> {
        match which {
            Which::Job(job) => Ok(*job),
            Which::Task(name) => {
                self.shared.names.borrow().find(name).ok_or_else(|| format!("no task {name:?} has become a job"))
            }
        }
    }

    /// Submits tasks, as far as the client may have more of them (spec L92).
    fn submit(&mut self, id: Option<Id>, asked: Submit, out: &mut Out) {
        let submission = self.group();
        let (mut places, mut missing) = (Vec::with_capacity(asked.tasks.len()), 0);
        for (place, described) in asked.tasks.into_iter().enumerate() {
            let (name, detached) = (described.task.clone(), described.detach);
            let input = Input::of(&described);
            let error = if self.tasks.len() >= MOST_TASKS {
                Err(format!("{MOST_TASKS} tasks of this client are not over: wait for some of them"))
            } else {
                self.shared.submission(described, self.client)
            };
            let error = match error {
                Err(error) => Some(error),
                Ok(request) => {
                    let number = self.number();
                    let (id, name, cause) = (id.clone(), name.clone(), String::new());
                    let (job, started) = (None, false);
                    self.tasks
                        .insert(number, Task { id, name, submission, place, job, input, detached, cause, started });
                    out.send(ClientMessage::Open { id: number, request: Request::Submit(Box::new(request)) });
                    missing += 1;
                    None
                }
            };
            places.push(Place { task: name, error, ..Place::default() });
        }
        self.submissions.insert(submission, Submission { id, places, missing });
        self.answer_submission(submission, out);
    }

    fn follow(&mut self, id: Option<Id>, of: Followed, out: &mut Out) {
        self.followed = of;
        if of != Followed::None {
            self.subscribe(out);
        }
        let of = match of {
            Followed::None => "none",
            Followed::Own => "own",
            Followed::All => "all",
        };
        out.line("following", id.as_ref(), Following { of });
    }

    /// Lets the DVM tell its steps, from now on.
    fn subscribe(&mut self, out: &mut Out) {
        if !std::mem::replace(&mut self.subscribed, true) {
            out.send(ClientMessage::Follow { id: FOLLOW });
        }
    }

    /// Waits for jobs of any client (spec L91).
    fn wait(&mut self, id: Option<Id>, asked: Wait, out: &mut Out) {
        let mut jobs: BTreeSet<JobId> = asked.jobs.into_iter().map(JobId).collect();
        for name in asked.tasks {
            match self.find(&Which::Task(name)) {
                Ok(job) => jobs.insert(job),
                Err(why) => return out.error(id.as_ref(), "refused", &why),
            };
        }
        let new = jobs.iter().filter(|job| !self.waited.contains_key(job)).count();
        if self.waited.len() + new > MOST_WAITED || self.waits.len() >= MOST_WAITED {
            let why = format!("a client waits for at most {MOST_WAITED} jobs: wait for some of them first");
            return out.error(id.as_ref(), "refused", &why);
        }
        self.subscribe(out);
        let wait = self.group();
        self.waits.insert(wait, Waiting { id, missing: jobs.len(), ended: Vec::new(), unknown: Vec::new() });
        for job in jobs {
            self.waited.entry(job).or_default().by.insert(wait);
            self.look_at(job, out);
        }
        self.answer_wait(wait, out);
    }

    /// Ends a job, with `tree` all that descend from it too (spec L130).
    fn cancel(&mut self, id: Option<Id>, which: Which, tree: bool, out: &mut Out) {
        // A task that has not become a job is known by its name alone.
        if let Which::Task(name) = &which {
            let own = self.tasks.iter().rev().find(|(_, task)| task.name.as_ref() == Some(name));
            if let Some((number, task)) = own.filter(|(_, task)| !tree || task.job.is_none()) {
                let (job, jobs) = (task.job.map(|job| job.0), tree.then(Vec::new));
                out.send(ClientMessage::Cancel { id: *number });
                let ordered = Ordered { order: "cancel", job, signal: None, over: false, jobs };
                return out.line("ordered", id.as_ref(), ordered);
            }
        }
        match self.find(&which) {
            Ok(job) if tree => self.ask(id, Request::KillTree(job), Question::CancelTree(job), out),
            Ok(job) => {
                let order = Question::Order { order: "cancel", job, signal: None };
                self.ask(id, Request::Kill(job), order, out);
            }
            Err(why) => out.error(id.as_ref(), "refused", &why),
        }
    }

    /// Takes standard input for a task of this client, one piece at a time (spec L150).
    fn feed(&mut self, id: Option<Id>, which: &Which, data: Bytes, end: bool, out: &mut Out) {
        let own = self.tasks.iter_mut().rev().find(|(_, task)| match which {
            Which::Job(job) => task.job == Some(*job),
            Which::Task(name) => task.name.as_ref() == Some(name),
        });
        let why = match own {
            None => "no task of this client that is not over has this number or name",
            Some((_, task)) if !task.input.is_open => {
                "the task takes no more input: it was submitted without feed, or has had its end"
            }
            Some((_, task)) if task.input.feed.is_some() => {
                "the last piece of input of the task has no answer yet: wait for it"
            }
            Some((number, task)) => {
                let number = *number;
                task.input.is_open = !end;
                // What was submitted with the task comes first.
                task.input.rest = [std::mem::take(&mut task.input.rest), data].concat().into();
                task.input.feed = Some(id);
                if let Some(limit) = task.input.wanted.take() {
                    self.give(number, limit, out);
                }
                return;
            }
        };
        out.error(id.as_ref(), "refused", why);
    }

    /// Ends the tasks of the client, except detached ones, and listens to it no more (spec L153).
    fn close(&mut self, id: Option<Id>, out: &mut Out) {
        for (number, _) in self.tasks.iter().filter(|(_, task)| !task.detached) {
            out.send(ClientMessage::Cancel { id: *number });
        }
        self.stage = Stage::Closing(id);
    }

    /// Says the last line when all is answered that was asked before it (spec L153).
    fn try_close(&mut self, out: &mut Out) {
        let is_answered = self.tasks.is_empty() && self.asked.is_empty() && self.waits.is_empty();
        if let Stage::Closing(id) = &mut self.stage
            && is_answered
        {
            out.line("closed", id.take().as_ref(), Closed {});
            out.said.is_over = true;
            self.stage = Stage::Closed;
        }
    }

    // Messages of the DVM.

    /// Gives a piece of a task's input to the DVM, and answers whoever has fed the last of it (spec L150).
    fn give(&mut self, number: u32, limit: u32, out: &mut Out) {
        let Some(task) = self.tasks.get_mut(&number) else { return };
        let Some(data) = task.input.read(limit) else { return };
        out.send(ClientMessage::Stdin { id: number, data });
        if task.input.rest.is_empty()
            && let Some(id) = task.input.feed.take()
        {
            let job = task.job.map(|job| job.0);
            out.line("ordered", id.as_ref(), Ordered { order: "feed", job, signal: None, over: false, jobs: None });
        }
    }

    fn on_message(&mut self, message: DvmMessage, out: &mut Out) {
        match message {
            DvmMessage::Accepted { id, job, nspace } => self.on_accepted(id, job, nspace, out),
            DvmMessage::Output { id, stream, data, .. } => {
                if let Some(task) = self.tasks.get(&id) {
                    out.about("output", task, Output::of(task.job.map(|job| job.0), stream, &data));
                }
            }
            DvmMessage::Notice { id, text } => self.on_notice(id, &text, out),
            DvmMessage::ReadStdin { id, limit } => self.give(id, limit, out),
            DvmMessage::Reply { id, reply } => self.on_reply(id, reply, out),
            DvmMessage::Event { event, .. } => self.on_event(&event, out),
            DvmMessage::EventsLost { count, .. } => out.said.lines.extend(json::line(&Line::lost(count)).bytes()),
            // Tasks bring no files and ask for no pictures, and only PMIx tools get the others.
            DvmMessage::ReadFile { .. }
            | DvmMessage::Picture { .. }
            | DvmMessage::Launched { .. }
            | DvmMessage::ReadyForDebug { .. }
            | DvmMessage::Resized { .. }
            | DvmMessage::Warned { .. } => {}
        }
    }

    fn on_accepted(&mut self, number: u32, job: JobId, nspace: String, out: &mut Out) {
        let Some(task) = self.tasks.get_mut(&number) else { return };
        task.job = Some(job);
        let (name, submission, place) = (task.name.clone(), task.submission, task.place);
        self.of_job.insert(job, number);
        self.admit(name.as_deref(), job, nspace, (submission, place), out);
        if self.followed != Followed::None {
            self.request(Request::Job(job), Asked::Step(number), out);
        }
    }

    /// Notes that a task has become a job.
    fn admit(&mut self, name: Option<&str>, job: JobId, nspace: String, at: (u64, usize), out: &mut Out) {
        if let Some(name) = name {
            self.shared.names.borrow_mut().give(name, job);
        }
        self.settle(at.0, at.1, |place| {
            place.job = Some(job.0);
            place.namespace = Some(nspace);
        });
        self.answer_submission(at.0, out);
    }

    /// Notes what has become of one task of a submission.
    fn settle(&mut self, submission: u64, place: usize, note: impl FnOnce(&mut Place)) {
        if let Some(submission) = self.submissions.get_mut(&submission) {
            if let Some(place) = submission.places.get_mut(place) {
                note(place);
            }
            submission.missing = submission.missing.saturating_sub(1);
        }
    }

    fn answer_submission(&mut self, submission: u64, out: &mut Out) {
        if self.submissions.get(&submission).is_some_and(|submission| submission.missing == 0)
            && let Some(Submission { id, places, .. }) = self.submissions.remove(&submission)
        {
            out.line("submitted", id.as_ref(), answers::Submitted { jobs: &places });
        }
    }

    fn on_notice(&mut self, number: u32, text: &str, out: &mut Out) {
        let Some(task) = self.tasks.get_mut(&number) else { return };
        if task.cause.len() < MOST_CAUSE {
            task.cause.push_str(if task.cause.is_empty() { "" } else { "\n" });
            task.cause.push_str(text.trim_end());
        }
        let job = task.job.map(|job| job.0);
        out.about("notice", task, Notice { job, text });
    }

    fn on_reply(&mut self, number: u32, reply: Reply, out: &mut Out) {
        if let Some(task) = self.tasks.remove(&number) {
            return self.on_end(task, reply, out);
        }
        match self.asked.remove(&number) {
            Some(Asked::Question(id, question)) => {
                self.open -= 1;
                self.on_answer(id, question, reply, out);
            }
            Some(Asked::Step(task)) => self.on_step(task, reply, out),
            Some(Asked::Ended(task, done)) => self.on_explained(&task, done, reply, out),
            Some(Asked::Waited(job)) => self.on_looked(job, reply, out),
            None => {}
        }
    }

    /// Handles the reply to a submission, which is the end of its job (spec L90).
    fn on_end(&mut self, mut task: Task, reply: Reply, out: &mut Out) {
        if let Some(job) = task.job {
            self.of_job.remove(&job);
        }
        if let Some(id) = task.input.feed.take() {
            out.error(id.as_ref(), "refused", "the task is over, and has not taken all of its input");
        }
        let done = match reply {
            Reply::Done(done) => done,
            // No other message has told the number of such a job.
            Reply::Detached(job) => {
                let nspace = job.nspace(&self.dvm);
                return self.admit(task.name.as_deref(), job, nspace, (task.submission, task.place), out);
            }
            Reply::Refused(text) => {
                task.cause = text;
                Done { exit_code: 1, job: None }
            }
            other => {
                task.cause = format!("the DVM gave an answer that does not fit: {other:?}");
                Done { exit_code: 1, job: None }
            }
        };
        match (task.job, &done.job) {
            (None, _) => {
                let error = Some(task.cause.clone()).filter(|cause| !cause.is_empty());
                let error = error.unwrap_or_else(|| "it was cancelled before it became a job".to_owned());
                self.settle(task.submission, task.place, |place| place.error = Some(error));
                self.answer_submission(task.submission, out);
            }
            (Some(_), Some(status)) if done.exit_code == 0 => {
                let job = json::Job::of(status, &out.moment);
                out.about("ended", &task, Ended::well(job));
            }
            // A status line does not say why a job has failed.
            (Some(job), _) => self.request(Request::Job(job), Asked::Ended(Box::new(task), done), out),
        }
    }

    fn on_explained(&mut self, task: &Task, done: Done, reply: Reply, out: &mut Out) {
        let cause = task.cause.clone();
        match (reply, done.job) {
            (Reply::Job(detail), _) => {
                let ended = Ended::of(&detail, &out.moment);
                out.about("ended", task, ended);
            }
            (_, Some(status)) => {
                let job = json::Job::of(&status, &out.moment);
                out.about("ended", task, Ended::unexplained(job, cause));
            }
            (_, None) => {
                let job = task.job.map(|job| job.0);
                out.about("ended", task, NeverBegan { job, exit_code: done.exit_code, cause: &cause });
            }
        }
    }

    fn on_event(&mut self, event: &Event, out: &mut Out) {
        if self.followed == Followed::All {
            out.said.lines.extend(json::line(&Line::of(event)).bytes());
        }
        let EventKind::Job { job, state } = event.what else { return };
        if self.waited.contains_key(&job) && (state >= JobState::Unterminated || state.is_error()) {
            self.look_at(job, out);
        }
        let is_step = matches!(state, JobState::Running | JobState::WaitingForDaemons);
        if let Some(task) = self.of_job.get(&job).filter(|_| is_step && self.followed != Followed::None) {
            self.request(Request::Job(job), Asked::Step(*task), out);
        }
    }

    fn on_step(&mut self, number: u32, reply: Reply, out: &mut Out) {
        // A task that is over by now has said its last word.
        let (Some(task), Reply::Job(detail)) = (self.tasks.get_mut(&number), reply) else { return };
        let starts = detail.status.running_us.is_some();
        if std::mem::replace(&mut task.started, starts) {
            return;
        }
        let kind = if starts { "started" } else { "waiting" };
        let step = Step::of(&detail, &out.moment);
        out.about(kind, task, step);
    }

    // Waits.

    /// Asks the DVM whether a job is over that is waited for.
    fn look_at(&mut self, job: JobId, out: &mut Out) {
        let Some(watched) = self.waited.get_mut(&job) else { return };
        if watched.asked {
            watched.stale = true;
        } else {
            watched.asked = true;
            self.request(Request::Job(job), Asked::Waited(job), out);
        }
    }

    fn on_looked(&mut self, job: JobId, reply: Reply, out: &mut Out) {
        let Some(watched) = self.waited.get_mut(&job) else { return };
        watched.asked = false;
        let ended = match reply {
            Reply::Job(detail) if is_over(&detail) => Some(detail),
            Reply::Job(_) => {
                if std::mem::take(&mut watched.stale) {
                    self.look_at(job, out);
                }
                return;
            }
            _ => None,
        };
        let Some(watched) = self.waited.remove(&job) else { return };
        for wait in watched.by {
            if let Some(waiting) = self.waits.get_mut(&wait) {
                waiting.missing = waiting.missing.saturating_sub(1);
                match &ended {
                    Some(detail) => waiting.ended.push(Ended::of(detail, &out.moment)),
                    None => waiting.unknown.push(job.0),
                }
            }
            self.answer_wait(wait, out);
        }
    }

    fn answer_wait(&mut self, wait: u64, out: &mut Out) {
        if self.waits.get(&wait).is_some_and(|waiting| waiting.missing == 0)
            && let Some(Waiting { id, ended, unknown, .. }) = self.waits.remove(&wait)
        {
            out.line("waited", id.as_ref(), Waited { jobs: &ended, unknown: &unknown });
        }
    }

    // Answers.

    /// Handles the reply to a question or an order (spec L91).
    fn on_answer(&mut self, id: Option<Id>, question: Question, reply: Reply, out: &mut Out) {
        let id = id.as_ref();
        match (question, reply) {
            (Question::Status, Reply::Status(status)) => {
                self.ask(id.cloned(), Request::Jobs, Question::Waiting(status), out);
            }
            (Question::Waiting(status), Reply::Jobs(jobs)) => out.answer("status", id, status::body(&status, &jobs)),
            (Question::Nodes, Reply::Nodes(nodes)) => {
                out.answer("nodes", id, json::Nodes { nodes: nodes.iter().map(json::Node::of).collect() });
            }
            (Question::Jobs, Reply::Jobs(mut jobs)) => {
                jobs.sort_by_key(|job| job.job);
                let jobs = json::Jobs::of(&jobs, &out.moment);
                out.answer("jobs", id, jobs);
            }
            (Question::Job, Reply::Job(detail)) => {
                let detail = json::Detail::of(&detail, &out.moment);
                out.answer("job", id, detail);
            }
            (Question::Metrics, Reply::Metrics(counted)) => out.answer("metrics", id, metrics::body(&counted)),
            (Question::Sessions, Reply::Sessions(sessions)) => {
                let sessions = sessions.iter().map(json::Session::of).collect();
                out.answer("sessions", id, json::Sessions { sessions });
            }
            (Question::Terminate, Reply::Ordered) => {
                out.line(
                    "ordered",
                    id,
                    Ordered { order: "terminate", job: None, signal: None, over: false, jobs: None },
                );
            }
            (Question::Resize { change, reserves }, Reply::Resize(answer)) => {
                match resize::body(change, &answer, reserves) {
                    Ok(body) => out.answer("resized", id, body),
                    Err(failure) => out.error(id, failure.reason(), &told(&failure)),
                }
            }
            (Question::JobSize, Reply::JobResized(answer)) => match size::body(&answer) {
                Ok(body) => out.answer("job_resized", id, body),
                Err(failure) => out.error(id, failure.reason(), &told(&failure)),
            },
            (Question::Order { order, job, signal }, Reply::Ordered) => {
                let (job, signal) = (Some(job.0), signal.map(|signal| signal.0));
                out.line("ordered", id, Ordered { order, job, signal, over: false, jobs: None });
            }
            (Question::CancelTree(job), Reply::Killed(ended)) => {
                let over = !ended.contains(&job);
                let jobs = Some(ended.into_iter().map(|job| job.0).collect());
                out.line("ordered", id, Ordered { order: "cancel", job: Some(job.0), signal: None, over, jobs });
            }
            // A task that is over need not be cancelled any more.
            (Question::Order { job, signal: None, .. }, Reply::Refused(_)) => {
                self.ask(id.cloned(), Request::Job(job), Question::IsOver { job, tree: false }, out);
            }
            (Question::CancelTree(job), Reply::Refused(_)) => {
                self.ask(id.cloned(), Request::Job(job), Question::IsOver { job, tree: true }, out);
            }
            (Question::IsOver { job, tree }, Reply::Job(_)) => {
                let (job, jobs) = (Some(job.0), tree.then(Vec::new));
                out.line("ordered", id, Ordered { order: "cancel", job, signal: None, over: true, jobs });
            }
            (_, Reply::Refused(text)) => out.error(id, "refused", &text),
            (_, other) => {
                out.error(id, "fault", &format!("the DVM gave an answer that does not fit: {other:?}"));
            }
        }
    }
}

fn is_over(detail: &JobDetail) -> bool {
    detail.status.ending.is_some()
}

fn resizing(request: ResizeRequest, change: CampaignKind) -> (Request, Question) {
    let reserves = matches!(&request, ResizeRequest::Grow(grow) if grow.terms.reserve);
    (Request::Resize(Box::new(request)), Question::Resize { change, reserves })
}

/// Returns the text of a failure with its advice.
fn told(failure: &crate::pdvm::failure::Failure) -> String {
    [failure.to_string(), failure.next_step().clone()].join(" ").trim_end().to_owned()
}
