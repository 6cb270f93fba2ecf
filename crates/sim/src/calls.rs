//! PMIx calls of virtual processes, except fences: spawn, connect, disconnect, publish, lookup, events. A process waits
//! for each answer and goes on, whatever the answer is.

use bytes::Bytes;
use ferrite_core::{DaemonInput, Input, PmixCall};
use ferrite_types::pmix_status::PMIX_ERR_LOST_CONNECTION;
use ferrite_types::{DaemonRank, Duration, ExitStatus, JobId, PmixStatus, ProcId, Rank};
use ferrite_wire::control::Submission;
use ferrite_wire::{
    Access, CollectiveKind, ControlOrder, DataCall, DataRange, DataRequest, EventInfo, EventRange, EventSource,
    GroupPart, GrowthOffer, Members, Persistence, PmixEvent, ProcessSet, Withdrawal, WithdrawalAnswer,
};

use crate::event::Event;
use crate::pmix::{Meeting, Waiting};
use crate::process::{Growth, Partner, Reach, Step};
use crate::scenario::job;
use crate::world::World;

/// The limit of a waiting lookup.
const PATIENCE: Duration = Duration::from_secs(2);
/// The user id of all processes.
const USER: u32 = 1000;

impl World {
    /// Makes a process's PMIx call; true when the process waits for the answer.
    pub(crate) fn call_pmix(&mut self, rank: DaemonRank, proc: ProcId, step: &Step) -> bool {
        match step {
            Step::Spawn(child) => self.spawn_child(rank, proc, *child),
            Step::Group(kind) => self.gather(rank, proc, *kind, Members::of(proc.job, Vec::new())),
            Step::Meet(kind, partner) => self.meet(rank, proc, *kind, *partner),
            Step::Publish(persistence, range, key) => {
                let is_mine = self.is_chosen(rank, proc, *key as usize);
                if is_mine {
                    self.publish(rank, proc, *persistence, *range, *key);
                }
                is_mine
            }
            Step::Unpublish(key) => {
                let keys = vec![name(*key)];
                self.call_data(rank, proc, DataRequest::Unpublish { keys, range: None });
                true
            }
            Step::Define(number) => {
                let is_mine = self.is_chosen(rank, proc, *number as usize);
                if is_mine {
                    self.define(rank, proc, *number);
                }
                is_mine
            }
            Step::Lookup(key, waits) => {
                let (wait, timeout) = if *waits { (1, Some(PATIENCE)) } else { (0, None) };
                let request = DataRequest::Lookup { keys: vec![name(*key)], range: DataRange::Dvm, wait, timeout };
                self.call_data(rank, proc, request);
                true
            }
            Step::Raise(reach, count) => {
                (0..*count).for_each(|_| self.raise(rank, proc, *reach));
                false
            }
            Step::Retire(number) => {
                let retires = self.is_chosen(rank, proc, *number as usize);
                let host = self.hosts.get_mut(&rank);
                if let Some(process) = host.and_then(|host| host.procs.get_mut(&proc)).filter(|_| retires) {
                    process.steps = [Step::Finalize].into();
                }
                false
            }
            _ => false,
        }
    }

    /// Raises an event. Each has a number of its own, which names it.
    fn raise(&mut self, rank: DaemonRank, proc: ProcId, reach: Reach) {
        self.next_id += 1;
        let first = |job: JobId| (job, vec![Rank(0)]);
        let parent = self.hosts.get(&rank).and_then(|host| host.pmix.parent(proc.job));
        let range = match reach {
            Reach::Everyone => EventRange::Everyone,
            Reach::Job => EventRange::Job(proc.job),
            Reach::First => {
                let procs = [proc.job].into_iter().chain(parent).map(first).collect();
                EventRange::Named { procs, tools: Vec::new() }
            }
        };
        let info = EventInfo::Raised(Bytes::copy_from_slice(&self.next_id.to_be_bytes()));
        let event = Box::new(PmixEvent { code: PmixStatus(-3001), source: EventSource::Proc(proc), info });
        self.upcall(rank, Input::Daemon(DaemonInput::Pmix(PmixCall::Event { event, range })));
    }

    /// True for the one rank that makes a call for its whole job; the number determines the rank.
    fn is_chosen(&self, rank: DaemonRank, proc: ProcId, number: usize) -> bool {
        let size = self.hosts.get(&rank).and_then(|host| host.pmix.size(proc.job));
        size.is_some_and(|size| number % size == proc.rank.0 as usize)
    }

    fn spawn_child(&mut self, rank: DaemonRank, proc: ProcId, number: usize) -> bool {
        let Some(plan) = self.scenario.children.get(number) else { return false };
        let submission = Box::new(plan.submission());
        let chosen = self.is_chosen(rank, proc, number);
        if let Some(process) = self.hosts.get_mut(&rank).and_then(|host| host.procs.get_mut(&proc)) {
            process.spawns += 1;
        }
        if !chosen {
            return false;
        }
        let token = self.ask(rank, Waiting::Call(proc));
        self.waits(rank, proc);
        self.upcall(rank, Input::Daemon(DaemonInput::Pmix(PmixCall::Spawn { proc, submission, token })));
        true
    }

    /// Hands the parent the answer to its spawn. The other processes of its job learn it by themselves, as in MPI
    /// programs.
    pub(crate) fn spawned(&mut self, rank: DaemonRank, parent: ProcId, result: Result<JobId, PmixStatus>) {
        if let (Some(number), Ok(child)) = (self.spawns_of(rank, parent), result) {
            self.children.insert((parent.job, number), child);
        }
    }

    fn spawns_of(&self, rank: DaemonRank, proc: ProcId) -> Option<u32> {
        Some(self.hosts.get(&rank)?.procs.get(&proc)?.spawns)
    }

    fn meet(&mut self, rank: DaemonRank, proc: ProcId, kind: Meeting, partner: Partner) -> bool {
        let other = match partner {
            Partner::Child => {
                self.spawns_of(rank, proc).and_then(|number| self.children.get(&(proc.job, number)).copied())
            }
            Partner::Parent => self.hosts.get(&rank).and_then(|host| host.pmix.parent(proc.job)),
        };
        // This node no longer knows a job that is over, so the call fails at once.
        let knows = |other: &JobId| self.hosts.get(&rank).is_some_and(|host| host.pmix.knows(*other));
        let both = other.filter(knows).map(|other| vec![(proc.job, Vec::new()), (other, Vec::new())]);
        let Some(members) = both.and_then(Members::of_jobs) else { return false };
        self.gather(rank, proc, kind, members)
    }

    /// Lets a process enter a collective with these members, for which it waits.
    pub(crate) fn gather(&mut self, rank: DaemonRank, proc: ProcId, kind: Meeting, members: Members) -> bool {
        self.waits(rank, proc);
        let gathered = self.hosts.get_mut(&rank).and_then(|host| host.pmix.enter(kind, members.clone(), proc));
        if let Some(all) = gathered {
            self.all_met(rank, kind, members, all);
        }
        true
    }

    /// Starts a collective that all local participants have entered.
    fn all_met(&mut self, rank: DaemonRank, kind: Meeting, members: Members, all: Vec<ProcId>) {
        let waiting = match kind {
            Meeting::Fence => {
                let daemons = self.hosts.get(&rank).and_then(|host| host.pmix.daemons(members.job));
                Waiting::Fence(all, daemons.unwrap_or(0))
            }
            _ => Waiting::Meeting(all),
        };
        let token = self.ask(rank, waiting);
        let call = match kind {
            Meeting::Fence => PmixCall::Fence { members, data: Bytes::from(vec![b'f'; self.fence_bytes]), token },
            Meeting::Connect => PmixCall::Connect { members, token },
            Meeting::Disconnect => PmixCall::Disconnect { members, token },
            Meeting::Group(number) => {
                let part = GroupPart { notify: number % 2 == 0, data: Bytes::from_static(b"g"), infos: Bytes::new() };
                PmixCall::GroupConstruct { name: group(members.job, number), members, part, token }
            }
            Meeting::Ungroup(number) => PmixCall::GroupDestruct { name: group(members.job, number), members, token },
        };
        self.upcall(rank, Input::Daemon(DaemonInput::Pmix(call)));
    }

    /// Ends a collective that misses a local participant.
    fn gives_up(&mut self, rank: DaemonRank, kind: Meeting, members: Members, all: Vec<ProcId>) {
        let token = self.ask(rank, Waiting::Meeting(all));
        let kind = match kind {
            Meeting::Fence => CollectiveKind::PmixFence,
            Meeting::Connect => CollectiveKind::PmixConnect,
            Meeting::Disconnect => CollectiveKind::PmixDisconnect,
            Meeting::Group(number) => CollectiveKind::GroupConstruct(group(members.job, number)),
            Meeting::Ungroup(number) => CollectiveKind::GroupDestruct(group(members.job, number)),
        };
        let call = PmixCall::GiveUp { kind, members, status: PMIX_ERR_LOST_CONNECTION, token };
        self.upcall(rank, Input::Daemon(DaemonInput::Pmix(call)));
    }

    /// Removes an ended process from all open collectives.
    pub(crate) fn leaves_meetings(&mut self, rank: DaemonRank, proc: ProcId) {
        let complete = self.hosts.get_mut(&rank).map(|host| host.pmix.proc_ended(proc)).unwrap_or_default();
        for (kind, members, all) in complete {
            // Libraries of version 5 and later fail an attempt that has lost a local member; older ones go on without.
            match proc.rank.0 % 2 {
                0 => self.all_met(rank, kind, members, all),
                _ => self.gives_up(rank, kind, members, all),
            }
        }
    }

    fn publish(&mut self, rank: DaemonRank, proc: ProcId, persistence: Persistence, range: DataRange, key: u64) {
        // Each value is unique and thus names its publication.
        self.next_id += 1;
        let items = vec![(name(key), Bytes::copy_from_slice(&self.next_id.to_be_bytes()))];
        let access = Access::default();
        self.call_data(rank, proc, DataRequest::Publish { items, range, persistence, access });
    }

    /// Makes the whole job a set, whose name no other job gives.
    fn define(&mut self, rank: DaemonRank, proc: ProcId, number: u64) {
        let set = ProcessSet { name: format!("d{number}-{}", proc.job), members: vec![(proc.job, Vec::new())] };
        let order = Box::new(ControlOrder::DefineSet(set));
        let token = self.ask(rank, Waiting::Call(proc));
        self.waits(rank, proc);
        let call = PmixCall::Control { by: Some(proc), order, token };
        self.upcall(rank, Input::Daemon(DaemonInput::Pmix(call)));
    }

    /// Lets processes answer the notice that their nodes are to leave, as their programs say.
    pub(crate) fn answer_withdrawal(&mut self, rank: DaemonRank, told: &[ProcId]) {
        let Some(host) = self.hosts.get(&rank) else { return };
        let answers = told.iter().filter_map(|proc| Some((*proc, host.procs.get(proc)?.answer?)));
        let answers: Vec<(ProcId, WithdrawalAnswer)> = answers.collect();
        for (proc, answer) in answers {
            let (order, token) = (Box::new(ControlOrder::AnswerWithdrawal(answer)), self.ask(rank, Waiting::Resize));
            let call = PmixCall::Control { by: Some(proc), order, token };
            self.upcall(rank, Input::Daemon(DaemonInput::Pmix(call)));
        }
    }

    /// Lets the first process of a job answer an offer of more processes, as its program says: the first worker of the
    /// spawn tree, or the first process of each world. It goes on meanwhile.
    pub(crate) fn answer_offer(&mut self, rank: DaemonRank, told: &[ProcId], offer: &GrowthOffer) {
        let first = match self.first_worker(offer.root) {
            Some(first) => told.iter().copied().find(|proc| *proc == first),
            None => told.iter().copied().find(|proc| proc.rank == Rank(0)),
        };
        let Some(host) = self.hosts.get(&rank) else { return };
        let Some((proc, growth)) = first.and_then(|proc| Some((proc, host.procs.get(&proc)?.growth?))) else { return };
        let program = self.process(rank, proc).map(|process| process.program.clone()).unwrap_or_default();
        let token = self.ask(rank, Waiting::Resize);
        let call = match growth {
            Growth::Takes => {
                let submission = Box::new(Submission::of(job(offer.procs, &in_later_worlds(&program))));
                PmixCall::Spawn { proc, submission, token }
            }
            Growth::Declines => {
                PmixCall::Control { by: Some(proc), order: Box::new(ControlOrder::RefuseGrowth), token }
            }
            Growth::Spawns(number) => {
                let Some(plan) = self.scenario.children.get(number) else { return };
                PmixCall::Spawn { proc, submission: Box::new(plan.submission()), token }
            }
        };
        self.upcall(rank, Input::Daemon(DaemonInput::Pmix(call)));
    }

    /// Lets the processes of a daemon that are to end do so after a while, as their programs say.
    pub(crate) fn prepare_to_leave(&mut self, rank: DaemonRank, notice: &Withdrawal) {
        for proc in notice.ranks.iter().map(|rank| ProcId { job: notice.job, rank: *rank }) {
            let Some(process) = self.process(rank, proc) else { continue };
            process.is_leaving = process.leaves.is_some();
            if let Some(time) = process.leaves {
                self.queue.after(time, Event::Leaves(rank, proc));
            }
        }
    }

    /// Processes that were to end stay after all.
    pub(crate) fn stay(&mut self, rank: DaemonRank, notice: &Withdrawal) {
        for proc in notice.ranks.iter().map(|rank| ProcId { job: notice.job, rank: *rank }) {
            if let Some(process) = self.process(rank, proc) {
                process.is_leaving = false;
            }
        }
    }

    /// A process ends that was told to, unless it stays after all.
    pub(crate) fn leave(&mut self, rank: DaemonRank, proc: ProcId) {
        if self.process(rank, proc).is_some_and(|process| process.is_leaving) {
            self.end_process(rank, proc, ExitStatus::Exited(0));
        }
    }

    fn call_data(&mut self, rank: DaemonRank, proc: ProcId, request: DataRequest) {
        let token = self.ask(rank, Waiting::Call(proc));
        self.waits(rank, proc);
        let call = Box::new(DataCall { proc, uid: USER, gid: USER, request });
        self.upcall(rank, Input::Daemon(DaemonInput::Pmix(PmixCall::Data { call, token })));
    }

    fn waits(&mut self, rank: DaemonRank, proc: ProcId) {
        if let Some(process) = self.hosts.get_mut(&rank).and_then(|host| host.procs.get_mut(&proc)) {
            process.waiting = true;
        }
    }

    /// Lets waiting processes go on.
    pub(crate) fn go_on(&mut self, rank: DaemonRank, procs: &[ProcId]) {
        for proc in procs {
            let delay = self.small_delay();
            self.queue.after(delay, Event::Wake(rank, *proc));
        }
    }
}

/// The program of processes that come later: they bring no work.
fn in_later_worlds(program: &str) -> String {
    let words = program.split(' ').map(|word| if word.starts_with("work:") { "work:0" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// Two jobs may want the same name.
fn group(job: JobId, number: u64) -> String {
    format!("g{}", (u64::from(job.0) + number) % 5)
}

fn name(key: u64) -> String {
    format!("k{key}")
}
