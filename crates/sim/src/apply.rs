//! Carries out the effects of daemons, as the driver and the operating system would.

use bytes::Bytes;
use ferrite_core::{
    Account, DaemonInput, Effect, HeadInput, Input, PmixCall, PmixEffect, Recall, Recalled, RequestId, SpawnRequest,
    Transition,
};
use ferrite_types::pmix_status::PMIX_ALLOC_TIMEOUT_WARNING;
use ferrite_types::{DaemonRank, ExitStatus, JobId, ProcId, Signal};
use ferrite_wire::control::{EndedJobs, Reply, Request};
use ferrite_wire::{EventInfo, Frame, FrameKind, Message, StartError, StartErrorKind, Ticket};

use crate::count::Phase;
use crate::event::Event;
use crate::invariants::Observation;
use crate::mutation::Mutation;
use crate::network::LinkId;
use crate::pmix::Waiting;
use crate::process::Process;
use crate::queue::Time;
use crate::scenario::{Ending, FULL, Fate};
use crate::world::{Launch, World};

/// Length prefix of a frame on the wire (bytes).
const PREFIX: usize = 4;

impl World {
    pub(crate) fn apply(&mut self, rank: DaemonRank, effect: Effect, message: Option<&Message>) {
        match effect {
            Effect::Transmit { peer, frame } => self.transmit(rank, peer, frame, message),
            Effect::Connect { peer, contact, deadline, insist } => {
                let until = self.hosts.get(&rank).map_or(0, |h| h.world_time(deadline));
                let delay = self.network.delay();
                self.queue.after(delay, Event::Call { from: rank, peer, contact, until, insist, lane: None });
            }
            Effect::Lane(effect) => self.lane(rank, effect),
            Effect::CloseLink { peer } => {
                if let Some(id) = self.hosts.get_mut(&rank).and_then(|h| h.links.remove(&peer)) {
                    self.close_end(rank, peer, id, "connection closed by peer");
                }
            }
            Effect::LaunchDaemon { rank: child, ticket, .. } if !ticket.stays => {
                self.launch(rank, child, *ticket);
            }
            Effect::LaunchDaemon { rank: leader, ticket, .. } => self.launch_step(rank, leader, &ticket),
            Effect::AbandonLaunch { rank: child } => {
                let tasks = self.steps.tasks(child);
                for launched in tasks.iter().chain([child]) {
                    if let Some(launch) = self.launches.get_mut(&launched) {
                        launch.abandoned = true;
                    }
                }
            }
            Effect::SetTimer { timer, at } => {
                self.next_id += 1;
                let setting = self.next_id;
                if let Some(host) = self.hosts.get_mut(&rank) {
                    host.timers.insert(timer, setting);
                    let due = host.world_time(at);
                    self.queue.at(due, Event::Timer { rank, timer, setting });
                }
            }
            Effect::CancelTimer(timer) => {
                if let Some(host) = self.hosts.get_mut(&rank) {
                    host.timers.remove(&timer);
                }
            }
            Effect::Detach => self.detach(rank),
            Effect::Spawn { proc, request } => self.spawn(rank, proc, &request),
            Effect::Signal { proc, signal } => self.signal(rank, proc, signal),
            Effect::TakeStacks { job, procs, .. } => self.take_stacks(rank, job, &procs),
            Effect::ReadOutput { proc, stream, limit } => self.read_output(rank, proc, stream, limit),
            Effect::CheckOutput { proc, stream } => self.check_output(rank, proc, stream),
            Effect::WriteStdin { proc, data } => self.write_stdin(rank, proc, data.len()),
            Effect::CloseStdin { proc } => self.close_stdin(rank, proc),
            Effect::ReadStdin { request, limit } => self.read_stdin(rank, request, limit),
            Effect::ReadFile { request, entry, offset, length, .. } => {
                self.read_file(rank, request, (entry, offset, length));
            }
            Effect::ReadLocalFile { job, entry, offset, length, .. } => {
                self.read_local_file(rank, job, (entry, offset, length));
            }
            Effect::Stage { job, step } => self.stage(rank, job, &step),
            Effect::WriteFile { job, path, .. } => {
                if path.starts_with(FULL) {
                    let error = "No space left on device".to_owned();
                    self.lost_files.push(Input::Daemon(DaemonInput::FileFailed { job, path, error }));
                }
            }
            Effect::WriteOutput { account, .. } => self.write_output(rank, account),
            Effect::Pmix(effect) => self.pmix(rank, effect),
            Effect::Notice { text, .. } => self.report.notices.push(text),
            Effect::Progress(_) => {}
            // The simulator has no clients on other nodes than the head's.
            Effect::Relay(_) => {}
            Effect::ReadyForDebug { job, .. } => self.debugger_comes(rank, job),
            Effect::Accepted { .. }
            | Effect::Launched { .. }
            | Effect::Keep { .. }
            // No simulated client submits a batch.
            | Effect::Batch(_)
            | Effect::CloseFile(_)
            | Effect::Picture { .. } => {}
            Effect::Trace(Transition::Job { job, to, .. }) => {
                self.bill.job_state(self.queue.now(), job, to);
            }
            // Simulated processes log nothing.
            Effect::Log { .. }
            | Effect::Trace(Transition::Proc { .. } | Transition::Campaign { .. } | Transition::Size { .. })
            | Effect::Resized { .. }
            | Effect::TimeWarning { .. } => {}
            // The simulated driver keeps no history: no scenario asks for jobs that are over.
            Effect::Recall { request, what: Recall::Job(job) } => {
                let found = Recalled::Job(job, None);
                self.in_turn(rank, Input::Head(HeadInput::Recalled { request, found }));
            }
            Effect::Recall { request, what: Recall::From(_) } => {
                let found = Recalled::Page(EndedJobs::default());
                self.in_turn(rank, Input::Head(HeadInput::Recalled { request, found }));
            }
            Effect::OfferRelease { campaign, back, .. } => self.offer_release(rank, campaign, &back),
            Effect::AskForEnd { job } => self.ask_for_end(job),
            Effect::RequestNodes { extension, ask } => self.request_nodes(extension, *ask),
            Effect::WithdrawRequest { extension } => self.manager.withdraw(extension),
            Effect::EndAllocation { job } => self.end_allocation(rank, job),
            Effect::Ready => {
                self.ready = true;
                self.finish_when_done();
            }
            Effect::Reply { request, reply } => {
                if let Reply::Done(done) = reply {
                    self.report.replies.insert(request, done.exit_code);
                    self.report.replied.insert(request, self.queue.now());
                }
                self.settle(request);
            }
            Effect::CleanJob(job) => {
                if let Some(host) = self.hosts.get_mut(&rank) {
                    host.procs.retain(|id, p| id.job != job || p.ended.is_none());
                }
            }
            Effect::Exit { code } => {
                if let Some(host) = self.hosts.get_mut(&rank) {
                    host.exiting = Some(code);
                }
            }
        }
    }

    fn transmit(&mut self, rank: DaemonRank, peer: DaemonRank, frame: Frame, message: Option<&Message>) {
        let Some(id) = self.hosts.get(&rank).and_then(|h| h.links.get(&peer).copied()) else {
            return;
        };
        let kind = match (&frame.kind, message) {
            (FrameKind::XcastAck { .. }, _) => "xcast-ack",
            (FrameKind::Probe(_), _) => "probe",
            (FrameKind::Ack { .. }, _) => "ack",
            (FrameKind::Renewed, _) => "renewed",
            (FrameKind::Heartbeat, _) => "heartbeat",
            (FrameKind::Direct | FrameKind::Message { .. } | FrameKind::Xcast { .. }, message) => {
                message.map_or("damaged", Message::kind)
            }
        };
        self.post([rank, peer], id, frame, kind);
    }

    /// Sends a frame over a link or a lane, and notes its cost.
    pub(crate) fn post(&mut self, [rank, peer]: [DaemonRank; 2], id: LinkId, frame: Frame, kind: &'static str) {
        let header = Frame { payload: Bytes::new(), ..frame.clone() }.encode().len();
        let bytes = (PREFIX + header + frame.payload.len()) as u64;
        self.bill.frame(self.queue.now(), rank, peer, kind, bytes);
        if let Some(at) = self.network.send(self.queue.now(), id, rank) {
            self.queue.at(at, Event::Arrive { from: rank, to: peer, id, frame });
        }
    }

    /// Starts a launcher process for a daemon, with the fate that the scenario gives it.
    pub(crate) fn launch(&mut self, by: DaemonRank, rank: DaemonRank, ticket: Ticket) {
        self.manager.note_daemon(rank, &ticket.node);
        let slowest = self.scenario.slowest_start;
        let delay = self.rng.between(slowest / 10, slowest);
        let fate = self.fate(rank);
        self.prepare(by, rank, ticket);
        let crash = Some(ExitStatus::Signaled(Signal(11)));
        match fate {
            None | Some(Fate::Dies(_)) => self.queue.after(delay, Event::DaemonStarts(rank)),
            Some(Fate::Late(more)) => self.queue.after(delay + more, Event::DaemonStarts(rank)),
            Some(Fate::NoLauncher) => self.launcher_ends(rank, None, "ssh: No such file or directory".to_owned(), 100),
            Some(Fate::Fails(code, text)) => {
                self.launcher_ends(rank, Some(ExitStatus::Exited(code)), text, delay);
            }
            Some(Fate::DiesEarly) => self.launcher_ends(rank, crash, String::new(), delay),
            Some(Fate::Silent) => {}
        }
    }

    pub(crate) fn prepare(&mut self, by: DaemonRank, rank: DaemonRank, ticket: Ticket) {
        self.launches.insert(rank, Launch { by, ticket: Some(ticket), abandoned: false });
    }

    pub(crate) fn fate(&self, rank: DaemonRank) -> Option<Fate> {
        self.scenario.fates.iter().find(|(r, _)| *r == rank).map(|(_, fate)| fate.clone())
    }

    fn detach(&mut self, rank: DaemonRank) {
        let first = self.hosts.get_mut(&rank).is_some_and(|h| !std::mem::replace(&mut h.detached, true));
        if first && !self.steps.holds(rank) {
            let delay = self.small_delay();
            self.launcher_ends(rank, Some(ExitStatus::Exited(0)), String::new(), delay);
        }
    }

    fn spawn(&mut self, rank: DaemonRank, proc: ProcId, request: &SpawnRequest) {
        let refusals = self.scenario.spawn_refusals;
        let refused = refusals > 0 && self.rng.permille(refusals);
        let started = if refused {
            let detail = "Resource temporarily unavailable".to_owned();
            Err(StartError { kind: StartErrorKind::System, detail })
        } else {
            Process::start(request)
        };
        let delay = self.small_delay();
        match started {
            Err(error) => {
                self.queue.after(delay, Event::Input(rank, Input::Daemon(DaemonInput::SpawnFailed { proc, error })))
            }
            Ok(mut process) => {
                self.next_id += 1;
                let pid = self.next_id as u32;
                // The process does nothing before its daemon knows of it.
                process.waiting = true;
                if let Some(host) = self.hosts.get_mut(&rank) {
                    host.procs.insert(proc, process);
                }
                self.observe(&Observation::ProcBorn { rank, proc });
                // The process lives before its daemon hears of it, so that the daemon's next acts reach it.
                self.queue.after(delay, Event::Wake(rank, proc));
                self.queue.after(delay, Event::Input(rank, Input::Daemon(DaemonInput::Spawned { proc, pid })));
            }
        }
    }

    /// A debugger comes, looks, and lets the processes of a job go on.
    fn debugger_comes(&mut self, rank: DaemonRank, job: JobId) {
        let delay = self.rng.between(1_000, 2_000_000);
        let id = RequestId(u64::MAX - u64::from(job.0));
        let request = Request::Release { job, ranks: None };
        self.queue.after(delay, Event::Input(rank, Input::Head(HeadInput::Request { id, request })));
    }

    /// Answers for a debugger, which takes some time for each process.
    fn take_stacks(&mut self, rank: DaemonRank, job: JobId, procs: &[ProcId]) {
        let mut delay = 0;
        for proc in procs {
            delay += self.rng.between(50_000, 500_000);
            let text = Bytes::from_static(b"#0 main");
            self.queue.after(delay, Event::Input(rank, Input::Daemon(DaemonInput::StackTaken { proc: *proc, text })));
        }
        let done = DaemonInput::StacksTaken { job, obstacle: None };
        self.queue.after(delay, Event::Input(rank, Input::Daemon(done)));
    }

    fn read_stdin(&mut self, rank: DaemonRank, request: RequestId, limit: usize) {
        let n = self.stdin_left.min(limit);
        self.stdin_left -= n;
        let delay = self.small_delay();
        self.queue.after(
            delay,
            Event::Input(rank, Input::Head(HeadInput::Stdin { request, data: Bytes::from(vec![b'i'; n]) })),
        );
    }

    fn write_output(&mut self, rank: DaemonRank, account: Option<Account>) {
        let Some(account) = account else { return };
        let due = self.queue.now() + self.small_delay();
        let Some(host) = self.hosts.get_mut(&rank) else { return };
        host.sink_last = host.sink_last.max(due);
        let at = host.sink_last;
        self.queue.at(at, Event::Input(rank, Input::Head(HeadInput::OutputWritten(account))));
    }

    fn pmix(&mut self, rank: DaemonRank, effect: PmixEffect) {
        match effect {
            PmixEffect::Register(registration) => {
                self.note_root(registration.order.job, registration.order.parent.map(|parent| parent.job));
                if let Some(host) = self.hosts.get_mut(&rank) {
                    host.pmix.register(&registration);
                }
            }
            PmixEffect::Deregister(job) => {
                let waited = self.hosts.get_mut(&rank).map(|host| host.pmix.deregister(job)).unwrap_or_default();
                self.go_on(rank, &waited);
            }
            PmixEffect::Absent(proc) => self.leaves_meetings(rank, proc),
            PmixEffect::HearOut(proc) => {
                let heard = Input::Daemon(DaemonInput::Pmix(PmixCall::HeardOut(proc)));
                match self.scenario.mutation {
                    Some(Mutation::HeardTooSoon) => self.queue.after(0, Event::Input(rank, heard)),
                    _ => drop(self.upcall(rank, heard)),
                }
            }
            PmixEffect::Reply { token, result } => {
                let waiting = self.hosts.get_mut(&rank).and_then(|h| h.pmix.answer(token));
                let (procs, whole) = match waiting {
                    Some(Waiting::Fence(procs, daemons)) => (procs, daemons * self.fence_bytes),
                    Some(Waiting::Abort(proc)) => (vec![proc], 0),
                    Some(Waiting::Call(proc)) => return self.go_on(rank, &[proc]),
                    Some(Waiting::Meeting(procs)) => return self.go_on(rank, &procs),
                    Some(Waiting::Resize) => return,
                    None => return,
                };
                let gathered = result.as_ref().map(Bytes::len);
                self.observe(&Observation::PmixAnswered { rank, whole, gathered });
                self.answered(rank, &procs, result.is_ok());
            }
            PmixEffect::FetchModex { fetch, .. } => {
                let input = Input::Daemon(DaemonInput::Pmix(PmixCall::ModexFetched {
                    fetch,
                    result: Ok(Bytes::from_static(b"modex")),
                }));
                self.upcall(rank, input);
            }
            PmixEffect::ReplyResize { token, .. } => {
                self.hosts.get_mut(&rank).and_then(|h| h.pmix.answer(token));
            }
            PmixEffect::SpawnReply { token, result } => {
                let waiting = self.hosts.get_mut(&rank).and_then(|h| h.pmix.answer(token));
                if let Some(Waiting::Call(proc)) = waiting {
                    self.spawned(rank, proc, result);
                    self.go_on(rank, &[proc]);
                }
            }
            PmixEffect::DataReply { token, .. } => {
                let waiting = self.hosts.get_mut(&rank).and_then(|h| h.pmix.answer(token));
                if let Some(Waiting::Call(proc)) = waiting {
                    self.go_on(rank, &[proc]);
                }
            }
            PmixEffect::Event { event, to, .. } => match &event.info {
                EventInfo::Withdrawal(notice) if event.code == PMIX_ALLOC_TIMEOUT_WARNING => {
                    self.answer_withdrawal(rank, &to);
                    self.prepare_to_leave(rank, notice);
                }
                EventInfo::Withdrawal(notice) => self.stay(rank, notice),
                EventInfo::Growth(offer) => self.answer_offer(rank, &to, offer),
                _ => {}
            },
            PmixEffect::Notify { .. }
            | PmixEffect::Release(_)
            | PmixEffect::ResizeEvent { .. }
            | PmixEffect::TimeWarning { .. }
            | PmixEffect::JobReady { .. }
            | PmixEffect::JobEnd { .. }
            | PmixEffect::Pmi1 { .. }
            | PmixEffect::QueryReply { .. }
            | PmixEffect::DefineSet(_)
            | PmixEffect::DeleteSet(_) => {}
        }
    }

    /// Notes that a submission has its reply, or that its client is gone.
    pub(crate) fn settle(&mut self, request: RequestId) {
        let submissions = self.scenario.jobs.len();
        if (request.0 as usize) < submissions && self.settled.insert(request) && self.settled.len() == submissions {
            self.bill.enter(self.queue.now(), Phase::Shutdown);
            self.finish_when_done();
        }
    }

    /// Ends a persistent DVM after the reply to every job.
    fn finish_when_done(&mut self) {
        let done = self.ready && self.settled.len() == self.scenario.jobs.len();
        if done && self.scenario.persistent && self.scenario.ending == Ending::Natural {
            self.queue.after(1000, Event::Finish);
        }
    }

    /// Draws the time that the operating system takes for a small operation.
    pub(crate) fn small_delay(&mut self) -> Time {
        self.rng.between(1, 200)
    }
}
