//! Scenarios about the size of an elastic job: requests for more and fewer processes (`pdvm resize`), and a job that
//! takes offers, refuses them, or does not answer. The DVM keeps its size.

use ferrite_types::{Duration, Grace, HostEntry, JobId, MapBy, SizeRange};
use ferrite_wire::control::Request;
use ferrite_wire::{AddedHost, GrowRequest, JobResize, SizeChange, SlotChange};

use crate::children::ChildPlan;
use crate::fault::{self, Fault};
use crate::network::Weather;
use crate::queue::Time;
use crate::rng::Rng;
use crate::scenario::{Client, Expect, JobPlan, Scenario, UNIT, job};
use crate::world::CORES;

const SECOND: Time = 1_000_000;
/// The time for which the elastic job lives.
const LIFE: Time = 120 * SECOND;

impl Scenario {
    /// Draws a scenario about the size of an elastic job.
    #[must_use]
    pub fn sizes(seed: u64) -> Scenario {
        let mut rng = Rng::new(seed ^ 0x512e_0000_0000_0001);
        let mut s = Scenario { persistent: true, ..Scenario::calm(seed, *rng.pick(&[1, 2, 3, 5]), 2) };
        s.slots = rng.between(1, 4) as u32;
        s.weather = *rng.pick(&[Weather::CALM, Weather { fastest: 5, slowest: 20_000, hiccups: 5 }]);
        let is_struck = s.daemons > 1 && rng.permille(200);
        s.draw_elastic_one(&mut rng, is_struck);
        let all = u64::from(s.daemons * s.slots);
        for _ in 0..rng.between(0, 14) {
            let at = rng.between(2 * SECOND, 40 * SECOND);
            let np = if rng.permille(600) { 1 } else { rng.between(1, all) as u32 };
            let spec = job(np, &format!("pause:{}", rng.between(0, 6 * SECOND)));
            let client = Client { patient: rng.permille(700), ..Client::default() };
            s.jobs.push(JobPlan { client, ..JobPlan::new(at, spec, Expect::Anything) });
        }
        // Hosts that the DVM does not have. The draws are apart, so that scenarios without them stay as they were.
        let mut of_hosts = Rng::new(seed ^ 0x512e_0000_0000_0002);
        let brings = of_hosts.permille(300);
        for _ in 0..rng.between(1, 7) {
            let count = rng.between(0, all) as u32;
            let size = match rng.between(0, 4) {
                0 | 1 => SizeChange::More(count),
                2 | 3 => SizeChange::Fewer(rng.between(0, 3) as u32),
                _ => SizeChange::To(count),
            };
            let time_s = rng.permille(500).then(|| rng.between(0, 5) as u32);
            let nodes = (brings && of_hosts.permille(600)).then(|| {
                let host = HostEntry::named(&format!("x{}", of_hosts.between(0, 3)));
                let hosts = vec![AddedHost { host, slots: SlotChange::Set(s.slots) }];
                Box::new(GrowRequest { hosts, ..GrowRequest::default() })
            });
            let ask = JobResize { job: JobId(1), size, time_s, force: rng.permille(150), wait: true, nodes };
            s.questions.push((rng.between(3 * SECOND, 60 * SECOND), Request::ResizeJob(ask)));
        }
        if is_struck {
            // Two that stand still or are cut off at once are a matter of other scenarios.
            let mut silent = false;
            let is_silent = |fault: &Fault| matches!(fault, Fault::Pause(..) | Fault::Isolate(..));
            let faults = fault::draw(&mut rng, s.daemons, 2).into_iter();
            let faults = faults.filter(|(_, fault)| !is_silent(fault) || !std::mem::replace(&mut silent, true));
            s.faults = faults.map(|(at, fault)| (at + 5 * SECOND, fault)).collect();
        }
        s.draw_generation();
        s.draw_taken_units();
        s.draw_wide_processes();
        s
    }

    /// Has the elastic job and others take a unit each of a resource, which is what is scarce. What is drawn before
    /// stays as it was.
    fn draw_taken_units(&mut self) {
        let mut rng = Rng::new(self.seed ^ 0x512e_0000_0000_0003);
        let units = rng.between(1, self.slots.into());
        let np = self.jobs[0].spec.apps[0].np.unwrap_or_default();
        if rng.permille(500) || u64::from(np) > u64::from(self.daemons) * units {
            return;
        }
        self.units = Some(units);
        // Nodes may share them. A node that is cut off has its processes for a while after the head has given it up.
        let mut rng_of_dvm = Rng::new(self.seed ^ 0x512e_0000_0000_0004);
        if self.faults.is_empty() && rng_of_dvm.permille(500) {
            self.shared_units = true;
            self.units = Some(rng_of_dvm.between(np.into(), (self.daemons * self.slots).into()));
        }
        for (at, plan) in self.jobs.iter_mut().enumerate() {
            if at == 0 || rng.permille(500) {
                plan.spec.apps[0].takes.insert(UNIT.to_owned(), 1);
            }
        }
    }

    /// Gives each process of the elastic job several cores of its node, which are then scarcer than its slots. What is
    /// drawn before stays as it was.
    fn draw_wide_processes(&mut self) {
        let mut rng = Rng::new(self.seed ^ 0x512e_0000_0000_0006);
        let pes = rng.between(2, 4) as u16;
        let (daemons, room) = (self.daemons, self.slots.min(CORES / u32::from(pes)));
        let spec = &mut self.jobs[0].spec;
        if spec.apps[0].np.unwrap_or_default() <= daemons * room && rng.permille(300) {
            spec.map.pes = Some(pes);
        }
    }

    /// Has the elastic job take an early offer with processes that call finalize some time before they end, and jobs
    /// come that may have to wait for that. What is drawn before stays as it was.
    fn draw_generation(&mut self) {
        let mut rng = Rng::new(self.seed ^ 0x512e_0000_0000_0005);
        let spec = &mut self.jobs[0].spec;
        let np = spec.apps[0].np.unwrap_or_default();
        let rest = self.daemons * self.slots - np;
        if rest == 0 || rng.permille(750) {
            return;
        }
        let count = rng.between(1, rest.into()) as u32;
        let (works, lingers) = (rng.between(0, 10 * SECOND), rng.between(0, 50 * SECOND));
        let program = format!("init pause:{works} finalize pause:{lingers}");
        self.children[0].spec = job(count, &program);
        spec.apps[0].argv.retain(|word| word != "declines" && !word.starts_with("grows"));
        spec.apps[0].argv.push("grows:0".to_owned());
        if let Some(range) = &mut spec.options.elastic {
            range.max = range.max.max(np + count);
        }
        let size = SizeChange::More(count);
        let ask = JobResize { job: JobId(1), size, time_s: None, force: false, wait: true, nodes: None };
        self.questions.insert(0, (2 * SECOND, Request::ResizeJob(ask)));
        for _ in 0..rng.between(1, 3) {
            let client = Client { patient: true, ..Client::default() };
            let spec = job(rng.between(1, rest.into()) as u32, &format!("pause:{}", rng.between(0, SECOND)));
            let at = rng.between(3 * SECOND, 40 * SECOND);
            self.jobs.push(JobPlan { client, ..JobPlan::new(at, spec, Expect::Anything) });
        }
    }

    /// Draws the elastic job, which is the first one of the DVM, and what it spawns.
    fn draw_elastic_one(&mut self, rng: &mut Rng, is_struck: bool) {
        let all = self.daemons * self.slots;
        let np = rng.between(1, u64::from(all.div_ceil(2))) as u32;
        let range = SizeRange { min: rng.between(1, np.into()) as u32, max: np + rng.between(0, all.into()) as u32 };
        let mut words = vec![format!("pause:{LIFE}")];
        let children = rng.between(1, 3);
        match rng.between(0, 7) {
            0 => words.push("declines".to_owned()),
            1 | 2 => {}
            _ => words.push(format!("grows:{}", rng.between(0, children - 1))),
        }
        match rng.between(0, 5) {
            0 => words.push("refuses".to_owned()),
            1 => words.push(format!("defers:{}", rng.between(1, 5))),
            2 => words.push("deaf".to_owned()),
            _ => {}
        }
        for _ in 0..children {
            let program = if rng.permille(100) { "missing".to_owned() } else { format!("pause:{LIFE}") };
            let spec = job(rng.between(1, 4) as u32, &program);
            self.children.push(ChildPlan { spec, separate: false, grow: None });
        }
        let mut spec = job(np, &words.join(" "));
        spec.map.by = rng.pick(&[None, Some(MapBy::Node)]).clone();
        spec.options.elastic = Some(range);
        let time = Duration::from_secs(rng.between(1, 4));
        spec.options.grace = rng.permille(700).then_some(Grace { time, signal: None });
        let expect = if is_struck { Expect::Anything } else { Expect::Code(0) };
        self.jobs.push(JobPlan::new(SECOND, spec, expect));
    }
}
