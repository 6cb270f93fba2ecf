//! Scenarios about changes of size: requests with their times, newcomers that fail, and jobs meanwhile. They are drawn
//! from a seed; the world plays them (`resize`).

use std::collections::BTreeSet;

use ferrite_core::RequestId;
use ferrite_router::Tree;
use ferrite_types::{DaemonRank, Duration, Grace, HostEntry, HostRef, MapBy, Signal, SizeRange};
use ferrite_wire::control::Request;
use ferrite_wire::{Activation, AddedHost, GrowRequest, ResizeRequest, ShrinkRequest, SlotChange};
use serde::{Deserialize, Serialize};

use crate::draw::{draw_client, draw_program};
use crate::fault::{self, Fault};
use crate::files::bring_along;
use crate::manager::ManagerPlan;
use crate::network::Weather;
use crate::queue::Time;
use crate::rng::Rng;
use crate::scenario::{Expect, Fate, JobPlan, Scenario, job};

/// The signal that goes with a notice.
const USR1: Signal = Signal(10);

/// The part of a scenario about changes of size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elastic {
    /// `prte_elastic_mode`.
    pub mode: bool,
    /// `ferrite_debug_prep_ms`: the time between a job's map and its launch.
    pub prep_ms: u32,
    /// `ferrite_launch_timeout` (seconds); 0 = the default.
    pub launch_timeout_s: u32,
    /// Longest time that resource managers take for an offer (microseconds).
    pub slowest_release: Time,
    /// The requests for another size.
    pub resizes: Vec<ResizePlan>,
    /// The resource manager whose job has the nodes and that can grant more.
    pub manager: Option<ManagerPlan>,
    /// `ferrite_elastic_pause` (seconds) of the policy `fill`; 0 = there is no policy.
    #[serde(default)]
    pub policy_pause_s: u32,
}

/// A request for another size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResizePlan {
    /// The time of the request.
    pub at: Time,
    /// The change that is requested.
    pub request: ResizeRequest,
    /// The requester.
    pub by: Asker,
}

/// The requester of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Asker {
    /// A client, and the time at which it leaves, if it does.
    Client(Option<Time>),
    /// A process that runs at that time, by number; when none runs, there is no request.
    Process(u32),
    /// A client with the right of a scheduler, which pushes the change; it leaves at this time.
    Scheduler(Option<Time>),
}

impl Scenario {
    /// Returns the longest time that all changes of size may take after the last request, including those of jobs. Each
    /// may wait for all before it, for its own launch and for its rollback.
    #[must_use]
    pub fn settles_after(&self) -> Time {
        const WAY_BACK_S: Time = 25;
        let Elastic { launch_timeout_s, slowest_release, resizes, .. } = &self.elastic;
        let timeout = if *launch_timeout_s == 0 { 60 } else { Time::from(*launch_timeout_s) };
        let decision = self.elastic.manager.as_ref().map_or(0, ManagerPlan::patience);
        let each = (timeout + WAY_BACK_S) * 1_000_000 + slowest_release + decision;
        let of_jobs = self.jobs.iter().filter(|job| job.grow.is_some()).map(|job| job.at);
        let requests: Vec<Time> = resizes
            .iter()
            .map(|plan| plan.at)
            .chain(of_jobs)
            .chain(self.session_changes())
            .chain(self.child_grows())
            .collect();
        requests.iter().max().map_or(0, |last| last + each * requests.len() as Time)
    }

    /// Returns the request number of a plan that a client makes.
    #[must_use]
    pub fn resize_request(&self, plan: usize) -> RequestId {
        RequestId((self.jobs.len() + self.questions.len() + plan) as u64)
    }

    /// True when the scenario has requests for another size.
    #[must_use]
    pub fn resizes(&self) -> bool {
        !self.elastic.resizes.is_empty() || self.jobs.iter().any(|job| job.grow.is_some())
    }

    /// True when the DVM only grows and all newcomers succeed.
    #[must_use]
    pub(crate) fn only_grows_well(&self) -> bool {
        let grows = |plan: &ResizePlan| matches!(plan.request, ResizeRequest::Grow(_));
        self.elastic.resizes.iter().all(grows) && self.fates.iter().all(|(rank, _)| rank.0 < self.daemons)
    }

    /// Adds a client's request for nodes; the reply comes when they are there.
    #[must_use]
    pub fn with_grow(self, at: Time, names: &[&str]) -> Scenario {
        let hosts = names.iter().map(|name| host(name, self.slots)).collect();
        self.with_resize(at, ResizeRequest::Grow(GrowRequest { hosts, wait: true, ..GrowRequest::default() }))
    }

    /// Adds a client's request to give nodes back; the reply comes when they are gone.
    #[must_use]
    pub fn with_shrink(self, at: Time, names: &[&str]) -> Scenario {
        let nodes = names.iter().map(|name| (*name).to_owned()).collect();
        self.with_resize(at, ResizeRequest::Shrink(ShrinkRequest { nodes, wait: true, ..ShrinkRequest::default() }))
    }

    /// Adds a client's request, in a DVM in elastic mode.
    #[must_use]
    pub fn with_resize(mut self, at: Time, request: ResizeRequest) -> Scenario {
        self.elastic.mode = true;
        self.elastic.resizes.push(ResizePlan { at, request, by: Asker::Client(None) });
        self
    }

    /// Lets steps of a resource manager's jobs start the daemons.
    #[must_use]
    pub fn by_steps(mut self) -> Scenario {
        let grows = self.elastic.resizes.iter_mut().filter_map(|plan| match &mut plan.request {
            ResizeRequest::Grow(grow) => Some(grow),
            ResizeRequest::Shrink(_) | ResizeRequest::Cancel(_) | ResizeRequest::Extend(_) => None,
        });
        let with_jobs = self.jobs.iter_mut().filter_map(|plan| plan.grow.as_mut());
        for host in grows.chain(with_jobs).flat_map(|grow| &mut grow.hosts) {
            host.host.rm_job = Some(later_job(&host.host.name));
        }
        Scenario { steps: true, tree_spawn: false, ..self }
    }

    /// A scenario about changes of size, in a mostly small DVM with jobs all the time.
    #[must_use]
    pub fn elastic(seed: u64) -> Scenario {
        let mut rng = Rng::new(seed ^ 0xe1a5_71c0_0000_0001);
        let daemons = match rng.between(0, 999) {
            0..=3 => *rng.pick(&[300, 1000]),
            4..=9 => *rng.pick(&[64, 100]),
            _ => *rng.pick(&[1, 2, 3, 4, 5, 7, 8, 10, 12, 16, 20]),
        };
        let radix = *rng.pick(&[2, 2, 2, 3, 4, 64]);
        let mut s = Scenario { persistent: true, ..Scenario::calm(seed, daemons, radix) };
        s.slots = rng.between(1, 4) as u32;
        s.tree_spawn = rng.permille(600);
        s.weather = *rng.pick(&[
            Weather::CALM,
            Weather { fastest: 20, slowest: 400, hiccups: 0 },
            Weather { fastest: 5, slowest: 20_000, hiccups: 5 },
        ]);
        s.slowest_start = *rng.pick(&[1_000, 50_000, 200_000]);
        s.elastic = Elastic {
            mode: !rng.permille(100),
            prep_ms: *rng.pick(&[0, 0, 0, 20, 300, 2_000]),
            launch_timeout_s: *rng.pick(&[5, 15, 60]),
            slowest_release: *rng.pick(&[200, 200, 50_000, 3_000_000]),
            resizes: Vec::new(),
            manager: None,
            policy_pause_s: 0,
        };
        let names = Names { daemons, radix, new: rng.between(1, 10) as u32, slots: s.slots };
        s.draw_elastic_jobs(&mut rng, &names);
        s.draw_resizes(&mut rng, &names);
        if rng.permille(400) {
            s.draw_newcomers(&mut rng);
        }
        if rng.permille(500) {
            const UP: Time = 500_000;
            let faults = fault::draw(&mut rng, daemons + names.new, radix).into_iter();
            s.faults = faults.map(|(at, fault)| (at + UP, fault)).collect();
        }
        // A separate generator keeps all other draws as they are.
        let mut extra = Rng::new(seed ^ 0xe1a5_71c0_0000_0002);
        if extra.permille(60) {
            s.draw_crossing(&mut extra, &names);
        }
        let mut hangs = Rng::new(seed ^ 0xe1a5_71c0_0000_0003);
        if daemons > 1 && hangs.permille(50) {
            s.draw_hang(&mut hangs);
        }
        s.draw_elastic_quiet_phase(&mut rng);
        bring_along(&mut s);
        s
    }

    /// Draws a job that waits for a slow grow while a later grow fails first, which is rare by chance.
    fn draw_crossing(&mut self, rng: &mut Rng, names: &Names) {
        let at = rng.between(300_000, 400_000) + Time::from(self.daemons) * self.slowest_start;
        let bad = if rng.permille(500) { Fate::NoLauncher } else { Fate::DiesEarly };
        let fates = [Fate::Late(rng.between(1_000_000, 3_000_000)), bad];
        self.fates = (self.daemons..).map(DaemonRank).zip(fates).collect();
        self.elastic.resizes.retain(|plan| plan.at > at + 5_000_000);
        for (name, later) in [("m-slow", 0), ("m-bad", rng.between(100, 300_000))] {
            let hosts = vec![host(name, names.slots)];
            let request = ResizeRequest::Grow(GrowRequest { hosts, wait: rng.permille(500), ..GrowRequest::default() });
            self.elastic.resizes.push(ResizePlan { at: at + later, request, by: Asker::Client(None) });
        }
        let mut plan = JobPlan::new(at + 50, job(1, "exit:0"), Expect::Anything);
        plan.client.patient = true;
        self.jobs.push(plan);
    }

    /// Draws a pause of a present daemon during a grow, longer than a grow may take or long enough to be noticed.
    fn draw_hang(&mut self, rng: &mut Rng) {
        let grows = |plan: &&ResizePlan| matches!(plan.request, ResizeRequest::Grow(_));
        let grows: Vec<Time> = self.elastic.resizes.iter().filter(grows).map(|plan| plan.at).collect();
        let Some(at) = grows.first().copied() else { return };
        let victim = DaemonRank(rng.between(1, u64::from(self.daemons) - 1) as u32);
        self.elastic.launch_timeout_s = 5;
        let from = at + rng.between(0, 2 * self.slowest_start);
        self.faults.push((from, Fault::Pause(victim, rng.between(4_000_000, 25_000_000))));
        self.faults.sort_by_key(|(at, _)| *at);
    }

    /// A scenario about changes of size in which jobs have asked for time before their nodes leave.
    #[must_use]
    pub fn graces(seed: u64) -> Scenario {
        let mut rng = Rng::new(seed ^ 0xe1a5_71c0_0000_0005);
        let mut s = Scenario::elastic(seed);
        // The referee excuses much when faults strike.
        if rng.permille(700) {
            s.faults.clear();
        }
        for plan in &mut s.jobs {
            let signal = rng.permille(300).then_some(USR1);
            let time = Duration::from_secs(rng.between(1, 4));
            plan.spec.options.grace = rng.permille(700).then_some(Grace { time, signal });
        }
        for plan in &mut s.elastic.resizes {
            if let ResizeRequest::Shrink(shrink) = &mut plan.request {
                shrink.grace_s = rng.permille(150).then(|| rng.between(1, 2) as u32);
            }
        }
        if rng.permille(600) && s.daemons > 1 {
            s.draw_withdrawal(&mut rng);
        }
        s.draw_ranges(&mut rng);
        s
    }

    /// Draws a job on many nodes, some of which are to leave while it runs: by chance few shrinks meet a process.
    fn draw_withdrawal(&mut self, rng: &mut Rng) {
        let at = rng.between(100_000, 2_000_000);
        let np = rng.between(2, u64::from((self.daemons * self.slots).min(8))) as u32;
        let mut spec = job(np, &format!("pause:{}", rng.between(4_000_000, 9_000_000)));
        spec.map.by = Some(MapBy::Node);
        spec.options.grace = Some(Grace { time: Duration::from_secs(rng.between(1, 4)), signal: None });
        let mut plan = JobPlan::new(at, spec, Expect::Anything);
        plan.client.patient = true;
        self.jobs.push(plan);
        let nodes = (0..rng.between(1, 3)).map(|_| format!("n{}", rng.between(1, u64::from(self.daemons) - 1)));
        let nodes: Vec<String> = nodes.collect::<BTreeSet<_>>().into_iter().collect();
        let request = ResizeRequest::Shrink(ShrinkRequest { nodes, wait: true, ..ShrinkRequest::default() });
        let at = at + rng.between(500_000, 3_000_000);
        self.elastic.resizes.push(ResizePlan { at, request, by: Asker::Client(None) });
    }

    /// Makes some jobs elastic: they refuse that nodes leave, put it off, or only keep a smallest size.
    fn draw_ranges(&mut self, rng: &mut Rng) {
        for plan in &mut self.elastic.resizes {
            if let ResizeRequest::Shrink(shrink) = &mut plan.request {
                shrink.force = rng.permille(100);
            }
        }
        let limits = self.elastic.resizes.iter().any(|plan| match &plan.request {
            ResizeRequest::Shrink(shrink) => shrink.force || shrink.grace_s.is_some(),
            _ => false,
        });
        for plan in self.jobs.iter_mut().filter(|plan| plan.spec.options.grace.is_some()) {
            if rng.permille(250) {
                continue;
            }
            // No job of a scenario is larger.
            let max = 1_000_000;
            let size: u32 = plan.spec.apps.iter().filter_map(|app| app.np).sum();
            let min = if rng.permille(300) { size.clamp(1, 2) } else { 1 };
            plan.spec.options.elastic = Some(SizeRange { min, max });
            let answer = match rng.between(0, 4) {
                0 | 1 => Some("refuses".to_owned()),
                // The referee does not know which of several shrinks gives a job more time.
                2 if !limits => Some(format!("defers:{}", rng.between(1, 6))),
                _ => None,
            };
            for app in &mut plan.spec.apps {
                app.argv.extend(answer.clone());
            }
        }
    }

    /// A scenario about changes of size in which a scheduler pushes some.
    #[must_use]
    pub fn pushed(seed: u64) -> Scenario {
        let mut rng = Rng::new(seed ^ 0xe1a5_71c0_0000_0004);
        let mut s = if rng.permille(300) { Scenario::managed(seed) } else { Scenario::elastic(seed) };
        for plan in &mut s.elastic.resizes {
            if let Asker::Client(leaves) = plan.by
                && rng.permille(600)
            {
                plan.by = Asker::Scheduler(leaves);
            }
        }
        let last = s.elastic.resizes.iter().map(|plan| plan.at).max().unwrap_or(0);
        s.questions.push((last + rng.between(1_000, 5_000_000), Request::Sessions));
        s
    }

    fn draw_elastic_jobs(&mut self, rng: &mut Rng, names: &Names) {
        let most = (self.daemons * self.slots / 3).clamp(1, 40);
        for _ in 0..rng.between(2, 10) {
            let at = rng.between(0, 10_000_000);
            let np = rng.between(1, u64::from(most)) as u32;
            let long = rng.between(0, 8_000_000);
            let (program, mut expect) = match rng.between(0, 4) {
                0 => (format!("init out:5 pause:{long} fence finalize"), Expect::Code(0)),
                1 => (format!("pause:{long}"), Expect::Code(0)),
                2 => (format!("deaf pause:{long}"), Expect::Code(0)),
                _ => draw_program(rng, np),
            };
            let mut spec = job(np, &program);
            spec.map.by = rng.pick(&[None, Some(MapBy::Slot), Some(MapBy::Node), Some(MapBy::Node)]).clone();
            spec.options.continuous = rng.permille(150);
            spec.options.notify_errors = rng.permille(300);
            let patient = rng.permille(700);
            if !patient {
                expect = Expect::Anything;
            }
            let mut grow = None;
            if rng.permille(150) {
                grow = Some(GrowRequest { hosts: names.hosts(rng, 2), wait: true, ..GrowRequest::default() });
                expect = Expect::Anything;
            }
            if rng.permille(250) {
                let wanted: Vec<String> = (0..rng.between(1, 3)).map(|_| names.any(rng)).collect();
                spec.apps[0].hosts.hosts = wanted.iter().map(|name| HostRef::Host(HostEntry::named(name))).collect();
                expect = Expect::Anything;
            }
            let client = draw_client(rng, at, patient);
            let expect = if client.cancels.is_some() { Expect::Anything } else { expect };
            self.jobs.push(JobPlan { client, grow, ..JobPlan::new(at, spec, expect) });
        }
    }

    fn draw_resizes(&mut self, rng: &mut Rng, names: &Names) {
        let mut at = rng.between(100_000, 2_000_000);
        for i in 0..rng.between(1, 8) {
            let pause = *rng.pick(&[0, 2_000, 30_000, 1_000_000, 6_000_000]);
            at += rng.between(0, pause);
            let (wait, req_id) = (rng.permille(500), rng.permille(500).then(|| format!("r{i}").into()));
            let request = if rng.permille(500) {
                ResizeRequest::Grow(GrowRequest { wait, req_id, ..names.grow(rng) })
            } else {
                ResizeRequest::Shrink(ShrinkRequest { wait, req_id, ..names.shrink(rng) })
            };
            let by = match rng.between(0, 9) {
                0..=2 => Asker::Process(rng.between(0, 100) as u32),
                3 => Asker::Client(Some(at + rng.between(1, 3_000_000))),
                _ => Asker::Client(None),
            };
            self.elastic.resizes.push(ResizePlan { at, request, by });
        }
    }

    /// Draws the fates of newcomers, some of which fail.
    fn draw_newcomers(&mut self, rng: &mut Rng) {
        let patience = Time::from(self.elastic.launch_timeout_s) * 1_000_000;
        for _ in 0..rng.between(1, 3) {
            let rank = DaemonRank(self.daemons + rng.between(0, 9) as u32);
            let fate = match rng.between(0, 9) {
                0 => Fate::NoLauncher,
                1 => Fate::Fails(255, "ssh: connect to host m1 port 22: Connection refused".to_owned()),
                2 => Fate::Silent,
                3 => Fate::DiesEarly,
                4 => Fate::Late(rng.between(1, patience / 2)),
                // The newcomer starts about when the head gives it up, or long after.
                5 => Fate::Late(patience.saturating_sub(rng.between(0, 200_000))),
                6 => Fate::Late(patience + rng.between(0, 20_000_000)),
                _ => Fate::Dies(draw_moment(rng)),
            };
            self.fates.push((rank, fate));
        }
    }

    fn draw_elastic_quiet_phase(&mut self, rng: &mut Rng) {
        let from = self.quiet_from();
        // The first job wants every slot that is left; the second one fits in any case.
        let mut all = job(1, "init fence finalize");
        (all.apps[0].np, all.map.by) = (None, Some(MapBy::Node));
        self.add_quiet_job(from, all, Expect::Code(0));
        let np = rng.between(1, u64::from(self.slots)) as u32;
        self.add_quiet_job(from + rng.between(0, 1_000_000), job(np, "exit:0"), Expect::Code(0));
    }
}

/// A time during a newcomer's way into the DVM, or soon after.
fn draw_moment(rng: &mut Rng) -> Time {
    let most = *rng.pick(&[1_000, 20_000, 500_000]);
    rng.between(0, most)
}

fn host(name: &str, slots: u32) -> AddedHost {
    AddedHost { host: HostEntry::named(name), slots: SlotChange::Set(slots) }
}

/// The manager's job of an added node, so that one request has nodes of two jobs.
fn later_job(name: &str) -> String {
    let odd = name.bytes().last().is_some_and(|digit| digit % 2 == 1);
    if odd { "2".to_owned() } else { "3".to_owned() }
}

/// The names of nodes, in the DVM and outside.
struct Names {
    daemons: u32,
    radix: u32,
    /// Nodes that the DVM does not begin with.
    new: u32,
    slots: u32,
}

impl Names {
    fn any(&self, rng: &mut Rng) -> String {
        if self.daemons == 1 || rng.permille(450) { self.newcomer(rng) } else { self.first(rng) }
    }

    fn newcomer(&self, rng: &mut Rng) -> String {
        format!("m{}", rng.between(0, u64::from(self.new) - 1))
    }

    /// An initial node other than the head's.
    fn first(&self, rng: &mut Rng) -> String {
        format!("n{}", rng.between(1, u64::from(self.daemons) - 1))
    }

    /// Names to add: mostly nodes outside the initial DVM, each once.
    fn hosts(&self, rng: &mut Rng, most: u64) -> Vec<AddedHost> {
        let mut names: Vec<String> = Vec::new();
        for _ in 0..rng.between(1, most) {
            let name = if rng.permille(700) { self.newcomer(rng) } else { self.any(rng) };
            // Now and then a name is repeated: the head must refuse it.
            if !names.contains(&name) || rng.permille(30) {
                names.push(name);
            }
        }
        names.iter().map(|name| host(name, self.slots)).collect()
    }

    fn grow(&self, rng: &mut Rng) -> GrowRequest {
        let mut grow = GrowRequest { hosts: self.hosts(rng, 8), ..GrowRequest::default() };
        match rng.between(0, 19) {
            0 => (grow.hosts, grow.count) = (Vec::new(), rng.between(1, 2) as u32),
            1 => grow.activate = vec![Activation::All],
            2 | 3 => grow.alloc_id = Some(format!("a{}", rng.between(1, 3)).into()),
            _ => {}
        }
        grow
    }

    fn shrink(&self, rng: &mut Rng) -> ShrinkRequest {
        let mut shrink = ShrinkRequest::default();
        let alloc_id = Some(format!("a{}", rng.between(1, 4)).into());
        match rng.between(0, 11) {
            0 => shrink.count = rng.between(1, 3) as u32,
            1 => shrink.alloc_id = alloc_id,
            2 => (shrink.alloc_id, shrink.count) = (alloc_id, rng.between(1, 2) as u32),
            3 | 4 if self.daemons > 1 => shrink.nodes = self.branch(rng),
            5 if self.daemons > 1 => shrink.nodes = (1..self.daemons).map(|i| format!("n{i}")).collect(),
            6 if self.daemons > 1 => shrink.nodes = vec![self.first(rng); 2],
            7 => shrink.nodes = vec![self.newcomer(rng)],
            8 if rng.permille(300) => shrink.nodes = vec!["n0".to_owned(), self.any(rng)],
            _ if self.daemons > 1 => shrink.nodes = (0..rng.between(1, 5)).map(|_| self.first(rng)).collect(),
            _ => shrink.nodes = (0..rng.between(1, 3)).map(|_| self.newcomer(rng)).collect(),
        }
        shrink
    }

    /// A node of the first tree with all nodes below it.
    fn branch(&self, rng: &mut Rng) -> Vec<String> {
        let top = DaemonRank(rng.between(1, u64::from(self.daemons) - 1) as u32);
        let tree = Tree::new(self.radix, self.daemons);
        tree.subtree(top).iter().map(|rank| format!("n{rank}")).collect()
    }
}
