//! A resource manager that takes its time, refuses, grants withdrawn requests, takes only part of the nodes back, and
//! ends jobs that it has granted. It has a generator of its own, so that scenarios without it draw the same.

use std::collections::{BTreeMap, BTreeSet};

use ferrite_core::{HeadInput, Input};
use ferrite_rm::{GiveBack, NodeAsk, Share, Wish};
use ferrite_types::{DaemonRank, ExtensionId, HostEntry, SlotCount};
use ferrite_wire::{GrowRequest, ResizeRequest, ShrinkRequest};
use serde::{Deserialize, Serialize};

use crate::deadlines::End;
use crate::elastic::{Asker, ResizePlan};
use crate::event::Event;
use crate::fault::Fault;
use crate::queue::Time;
use crate::rng::Rng;
use crate::scenario::Scenario;
use crate::steps::FIRST_JOB;
use crate::world::World;

/// The number of looks after which a request for more nodes than there are is refused.
const LOOKS: u32 = 4;

/// The scenario's settings of the manager.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManagerPlan {
    /// The seed of all its draws.
    pub seed: u64,
    /// Number of further nodes that it can grant: `k0`, `k1`, ...
    pub spare: u32,
    /// Longest time between two looks at a request (microseconds).
    pub slowest: Time,
    /// Refused requests, per mille.
    pub refuses: u64,
    /// Parts of jobs that are not taken back, per mille.
    pub keeps: u64,
    /// Granted jobs that the manager ends soon, per mille.
    pub ends: u64,
    /// Granted jobs with an end that the manager tells before, per mille.
    #[serde(default)]
    pub announces: u64,
}

impl ManagerPlan {
    /// The longest wait of a request.
    pub(crate) fn patience(&self) -> Time {
        self.slowest * Time::from(LOOKS + 1) + ENDS_WITHIN
    }
}

/// The time within which the manager ends a job that it has granted.
const ENDS_WITHIN: Time = 3_000_000;

/// The state of the manager.
pub(crate) struct Manager {
    plan: Option<ManagerPlan>,
    pub(crate) rng: Rng,
    /// Ends of granted jobs that the manager knows.
    pub(crate) ends: BTreeMap<String, End>,
    free: BTreeSet<String>,
    waiting: BTreeMap<ExtensionId, (NodeAsk, u32)>,
    jobs: BTreeMap<String, BTreeSet<String>>,
    last: u32,
    /// The daemons that were started on each node.
    daemons: BTreeMap<DaemonRank, String>,
}

impl Manager {
    pub(crate) fn of(scenario: &Scenario) -> Manager {
        let plan = scenario.elastic.manager.clone();
        let seed = plan.as_ref().map_or(0, |plan| plan.seed);
        let spare = plan.as_ref().map_or(0, |plan| plan.spare);
        let first = (0..scenario.daemons).map(|i| format!("n{i}")).collect();
        Manager {
            rng: Rng::new(seed),
            ends: BTreeMap::new(),
            free: (0..spare).map(|i| format!("k{i}")).collect(),
            waiting: BTreeMap::new(),
            jobs: [(FIRST_JOB.to_owned(), first)].into(),
            last: 1,
            daemons: BTreeMap::new(),
            plan,
        }
    }

    pub(crate) fn note_daemon(&mut self, rank: DaemonRank, node: &str) {
        if self.plan.is_some() {
            self.daemons.insert(rank, node.to_owned());
        }
    }

    /// The daemons that were started on the nodes of a job.
    pub(crate) fn daemons_of(&self, job: &str) -> impl Iterator<Item = DaemonRank> {
        let nodes = self.jobs.get(job);
        let is_there = move |node: &String| nodes.is_some_and(|nodes| nodes.contains(node));
        self.daemons.iter().filter(move |(_, node)| is_there(node)).map(|(rank, _)| *rank)
    }

    /// Withdraws a request; a decision that was made before is still delivered.
    pub(crate) fn withdraw(&mut self, extension: ExtensionId) {
        self.waiting.remove(&extension);
    }

    /// Takes nodes back; returns those that it does not take.
    pub(crate) fn take_back(&mut self, back: &GiveBack) -> Vec<String> {
        let Some(nodes) = self.jobs.get_mut(&back.job) else { return Vec::new() };
        match &back.share {
            Share::Whole => {
                self.free.extend(std::mem::take(nodes));
                self.jobs.remove(&back.job);
                Vec::new()
            }
            Share::Part { leave, .. } => {
                let keeps = self.plan.as_ref().map_or(0, |plan| plan.keeps);
                if self.rng.permille(keeps) {
                    return leave.clone();
                }
                self.free.extend(leave.iter().filter(|name| nodes.remove(*name)).cloned());
                Vec::new()
            }
        }
    }
}

impl World {
    pub(crate) fn request_nodes(&mut self, extension: ExtensionId, ask: NodeAsk) {
        self.manager.waiting.insert(extension, (ask, 0));
        self.look_later(extension);
    }

    fn look_later(&mut self, extension: ExtensionId) {
        let slowest = self.manager.plan.as_ref().map_or(1, |plan| plan.slowest);
        let delay = self.manager.rng.between(1, slowest.max(1));
        self.queue.after(delay, Event::ManagerDecides(extension));
    }

    pub(crate) fn manager_decides(&mut self, extension: ExtensionId) {
        let Manager { plan: Some(plan), rng, free, waiting, jobs, last, .. } = &mut self.manager else { return };
        let Some((ask, looks)) = waiting.remove(&extension) else { return };
        let count = match ask.wish {
            Wish::Nodes(count) => count as usize,
            Wish::Job(_) => unreachable!("no scenario has nodes of other jobs"),
        };
        let refused = rng.permille(plan.refuses) || looks == LOOKS;
        if !refused && free.len() < count {
            waiting.insert(extension, (ask, looks + 1));
            self.tell_head(Input::Head(HeadInput::NodesAwaited { extension, says: "all are in use".to_owned() }));
            return self.look_later(extension);
        }
        if refused {
            return self.tell_head(Input::Head(HeadInput::NodesRefused { extension, cause: "not for you".to_owned() }));
        }
        *last += 1;
        let job = last.to_string();
        let names: BTreeSet<String> = free.iter().take(count).cloned().collect();
        free.retain(|name| !names.contains(name));
        let slots = ask.slots.map_or(SlotCount::FromCores, SlotCount::Given);
        let nodes = names.iter().map(|name| HostEntry { slots, ..HostEntry::named(name) }).collect();
        jobs.insert(job.clone(), names);
        if rng.permille(plan.ends) {
            let soon = rng.between(1, ENDS_WITHIN);
            self.queue.after(soon, Event::ManagerEnds(job.clone()));
        }
        let announces = plan.announces;
        self.tell_head(Input::Head(HeadInput::NodesGranted { extension, job: job.clone(), nodes }));
        self.draw_end(&job, announces);
    }

    pub(crate) fn tell_head(&mut self, input: Input) {
        // The delay is long enough for a withdrawal to cross the decision now and then.
        let delay = self.manager.rng.between(1, 100_000);
        self.queue.after(delay, Event::Input(DaemonRank::HEAD, input));
    }

    pub(crate) fn end_allocation(&mut self, head: DaemonRank, job: String) {
        let nodes = self.manager.jobs.remove(&job).unwrap_or_default();
        self.manager.free.extend(nodes);
        let delay = self.manager.rng.between(1, 1_000);
        self.queue.after(delay, Event::Input(head, Input::Head(HeadInput::AllocationEnded { job, error: None })));
    }

    /// Ends a granted job: kills the daemons on its nodes, which are free again.
    pub(crate) fn manager_ends(&mut self, job: &str) {
        let Some(nodes) = self.manager.jobs.remove(job) else { return };
        let there = |(rank, node): (&DaemonRank, &String)| nodes.contains(node).then_some(*rank);
        let struck: Vec<DaemonRank> = self.manager.daemons.iter().filter_map(there).collect();
        self.manager.free.extend(nodes);
        for rank in struck {
            if self.hosts.contains_key(&rank) {
                self.on_fault(Fault::Crash(rank));
            } else if let Some(launch) = self.launches.get_mut(&rank) {
                // The daemon has not started, and will not.
                launch.ticket = None;
            }
        }
    }
}

impl Scenario {
    /// A scenario about a DVM in a job of a resource manager that is asked for nodes and gets some back.
    #[must_use]
    pub fn managed(seed: u64) -> Scenario {
        let mut s = Scenario::elastic(seed);
        let mut rng = Rng::new(seed ^ 0x51a9_3a4a_0000_0001);
        let spare = rng.between(1, 8) as u32;
        s.elastic.manager = Some(ManagerPlan {
            seed: rng.between(0, u64::MAX - 1),
            spare,
            slowest: *rng.pick(&[1_000, 200_000, 5_000_000]),
            refuses: *rng.pick(&[0, 0, 100, 500]),
            keeps: *rng.pick(&[0, 300, 1_000]),
            ends: *rng.pick(&[0, 0, 200]),
            announces: 0,
        });
        // The head refuses nodes by name that the manager has not granted; one such request in five is enough.
        s.elastic.resizes.retain(|plan| !names_hosts(&plan.request) || rng.permille(200));
        let mut at = rng.between(100_000, 2_000_000);
        for i in 0..rng.between(2, 8) {
            let pause = *rng.pick(&[0, 2_000, 30_000, 1_000_000, 6_000_000]);
            at += rng.between(0, pause);
            let (wait, req_id) = (rng.permille(500), rng.permille(300).then(|| format!("k{i}").into()));
            let request = if rng.permille(550) {
                let alloc_id = rng.permille(250).then(|| format!("a{}", rng.between(1, 4)).into());
                let count = rng.between(1, u64::from(spare) + 1) as u32;
                ResizeRequest::Grow(GrowRequest { count, alloc_id, req_id, wait, ..GrowRequest::default() })
            } else {
                ResizeRequest::Shrink(ShrinkRequest { req_id, wait, ..given_back(&mut rng, &s, spare) })
            };
            let by = match rng.between(0, 9) {
                0..=2 => Asker::Process(rng.between(0, 100) as u32),
                3 | 4 => Asker::Client(Some(at + rng.between(1, 3_000_000))),
                _ => Asker::Client(None),
            };
            s.elastic.resizes.push(ResizePlan { at, request, by });
        }
        s.move_quiet_phase();
        if rng.permille(500) { s.by_steps() } else { s }
    }

    /// Moves the quiet phase behind the changed requests.
    pub(crate) fn move_quiet_phase(&mut self) {
        let first = self.jobs.iter().filter(|job| job.quiet).map(|job| job.at).min().unwrap_or(0);
        let from = self.quiet_from();
        self.jobs.iter_mut().filter(|job| job.quiet).for_each(|job| job.at = job.at - first + from);
    }
}

fn names_hosts(request: &ResizeRequest) -> bool {
    matches!(request, ResizeRequest::Grow(grow) if !grow.hosts.is_empty())
}

fn given_back(rng: &mut Rng, s: &Scenario, spare: u32) -> ShrinkRequest {
    let mut shrink = ShrinkRequest::default();
    let any = |rng: &mut Rng| match s.daemons {
        1 => format!("k{}", rng.between(0, u64::from(spare) - 1)),
        _ if rng.permille(700) => format!("k{}", rng.between(0, u64::from(spare) - 1)),
        daemons => format!("n{}", rng.between(1, u64::from(daemons) - 1)),
    };
    match rng.between(0, 4) {
        0 => shrink.count = rng.between(1, 3) as u32,
        1 => shrink.alloc_id = Some(format!("a{}", rng.between(1, 5)).into()),
        _ => shrink.nodes = (0..rng.between(1, 3)).map(|_| any(rng)).collect(),
    }
    shrink
}
