//! Random scenarios, drawn from a seed. Every feature of [`Scenario`] comes up sooner or later.
//!
//! A sweep calls it for each seed. A seed draws the same on every machine, until this file changes.

use ferrite_types::{AppContext, DaemonRank, DebugStop, JobId, JobSpec, MapBy, StopPoint};
use ferrite_wire::control::Request;

use crate::fault;
use crate::files::bring_along;
use crate::network::Weather;
use crate::queue::Time;
use crate::rng::Rng;
use crate::scenario::{Client, Ending, Expect, FULL, Fate, JobPlan, Scenario, job};

/// Daemons from which on a DVM counts as large.
const LARGE: u32 = 512;

impl Scenario {
    /// A scenario drawn from a seed. `daemons` and `radix` are drawn too when they are not given.
    #[must_use]
    pub fn random(seed: u64, daemons: Option<u32>, radix: Option<u32>) -> Scenario {
        // Two losses seldom meet by chance, so one scenario in ten has losses only. Its draws are separate, like all
        // later additions.
        if daemons.is_none() && radix.is_none() && Rng::new(seed ^ 0x1055_0000_0000_0002).permille(100) {
            return Scenario::losses(seed);
        }
        let mut rng = Rng::new(seed);
        // A separate generator keeps all other draws as they are.
        let mut extra = Rng::new(seed ^ 0x1a46_e000_0000_0001);
        let small = *rng.pick(&[1, 2, 3, 4, 5, 7, 8, 12, 16, 33, 70]);
        let daemons = daemons.unwrap_or_else(|| draw_large(&mut extra).unwrap_or(small));
        let radix = radix.unwrap_or_else(|| *rng.pick(&[2, 2, 3, 4, 64]));
        let mut s = Scenario::calm(seed, daemons, radix);
        s.slots = rng.between(1, 8) as u32;
        s.persistent = rng.permille(500);
        s.tree_spawn = rng.permille(600);
        s.weather = *rng.pick(&[
            Weather::CALM,
            Weather { fastest: 20, slowest: 400, hiccups: 0 },
            Weather { fastest: 5, slowest: 20_000, hiccups: 5 },
        ]);
        s.slowest_start = *rng.pick(&[1_000, 50_000, 2_000_000]);
        s.draw_jobs(&mut rng);
        match rng.between(0, 9) {
            0..=4 if !extra.permille(400) => {}
            5 | 6 => s.draw_fates(&mut rng),
            0..=4 | 7 | 8 => {
                // Most faults strike a DVM that is up.
                if extra.permille(800) {
                    s.slowest_start = s.slowest_start.min(50_000);
                }
                s.faults = fault::draw(&mut rng, daemons, radix);
                s.draw_quiet_phase(&mut rng);
            }
            _ => s.draw_ending(&mut rng),
        }
        s
    }

    /// Draws a scenario about losses: a DVM of a few nodes with a narrow tree, which is up when faults strike, with
    /// jobs on all nodes and a quiet phase. [`Scenario::random`] draws such scenarios among others.
    #[must_use]
    pub fn losses(seed: u64) -> Scenario {
        let mut rng = Rng::new(seed ^ 0x1055_0000_0000_0001);
        let (daemons, radix) = (*rng.pick(&[6, 8, 10, 12, 16]), *rng.pick(&[2, 2, 3]));
        let mut s = Scenario { persistent: true, slots: 2, ..Scenario::calm(seed, daemons, radix) };
        s.weather = *rng.pick(&[Weather::CALM, Weather { fastest: 5, slowest: 20_000, hiccups: 5 }]);
        for at in [0, 1_000_000, 2_000_000, 3_000_000] {
            let pause = rng.between(0, 1_500_000);
            let mut spec = job(
                rng.between(1, u64::from(daemons)) as u32,
                &format!("init out:20 fence pause:{pause} fence finalize"),
            );
            spec.map.by = Some(MapBy::Node);
            spec.options.continuous = rng.permille(300);
            let client = Client { patient: true, ..Client::default() };
            s.jobs.push(JobPlan { client, ..JobPlan::new(at, spec, Expect::Anything) });
        }
        const UP: Time = 500_000;
        s.faults = fault::draw(&mut rng, daemons, radix).into_iter().map(|(at, fault)| (at + UP, fault)).collect();
        s.draw_quiet_phase(&mut rng);
        bring_along(&mut s);
        s
    }

    fn draw_jobs(&mut self, rng: &mut Rng) {
        let patient = self.persistent && rng.permille(400);
        let count = match (self.persistent, patient) {
            (true, true) => rng.between(1, 12),
            (true, false) => rng.between(0, 5),
            (false, _) => 1,
        };
        // A large DVM shows the effects of size; it gets few jobs with few processes each.
        let large = self.daemons >= LARGE;
        let count = if large { count.min(2) } else { count };
        let capacity = if large { 64 } else { self.daemons * self.slots };
        for _ in 0..count {
            let at = if self.persistent { rng.between(0, 5_000_000) } else { 0 };
            // Impatient jobs of a persistent DVM run side by side; they are so small that slots suffice.
            let most = if self.persistent && !patient { (capacity / 6).max(1) } else { capacity };
            let np = rng.between(1, u64::from(most)) as u32;
            let (program, expect) = draw_program(rng, np);
            // Jobs that do not fit together may be refused.
            let crowded = self.persistent && !patient && capacity < 6;
            let expect = if crowded { Expect::Anything } else { expect };
            let mut spec = job(np, &program);
            let expect = if np > 1 && rng.permille(250) { split_one_off(rng, &mut spec, expect) } else { expect };
            spec.map.by = rng.pick(&[None, Some(MapBy::Slot), Some(MapBy::Node)]).clone();
            spec.output.raw = rng.permille(200);
            draw_policy(self.seed ^ self.jobs.len() as u64, &mut spec);
            let expect = draw_absentee(self.seed ^ self.jobs.len() as u64, &mut spec, expect);
            let client = if self.persistent { draw_client(rng, at, patient) } else { Client::default() };
            let expect = if client.cancels.is_some() { Expect::Anything } else { expect };
            draw_stop(self.seed ^ self.jobs.len() as u64, &client, &mut spec);
            self.jobs.push(JobPlan { client, ..JobPlan::new(at, spec, expect) });
        }
        if self.persistent {
            self.draw_questions(rng);
        }
        if rng.permille(300) {
            self.stdin_bytes = rng.between(0, 300_000) as usize;
        }
    }

    /// Draws the quiet phase. Its first job often wants every slot that must be left when each fault has cost one
    /// daemon; the others are small.
    fn draw_quiet_phase(&mut self, rng: &mut Rng) {
        let from = self.quiet_from();
        let left = self.daemons.saturating_sub(self.faults.len() as u32).max(1) * self.slots;
        let count = if self.persistent { rng.between(1, 3) } else { 0 };
        for i in 0..count {
            let all = i == 0 && self.daemons < LARGE && rng.permille(600);
            let np = if all { left } else { rng.between(1, u64::from(left.min(16))) as u32 };
            let mut spec = job(np, if rng.permille(500) { "exit:0" } else { "init fence finalize" });
            spec.map.by = rng.pick(&[None, Some(MapBy::Node)]).clone();
            self.add_quiet_job(from + rng.between(0, 1_000_000), spec, Expect::Code(0));
        }
    }

    fn draw_questions(&mut self, rng: &mut Rng) {
        let kills = rng.permille(150);
        for _ in 0..rng.between(0, 6) {
            let job = JobId(rng.between(0, 1 + self.jobs.len() as u64) as u32);
            let question = match rng.between(0, 5) {
                0 => Request::Status,
                1 => Request::Nodes,
                2 => Request::Jobs,
                3 if kills => Request::Kill(job),
                _ => Request::Job(job),
            };
            self.questions.push((rng.between(0, 5_000_000), question));
        }
    }

    fn draw_fates(&mut self, rng: &mut Rng) {
        for _ in 0..rng.between(1, 3) {
            let fate = match rng.between(0, 5) {
                0 => Fate::NoLauncher,
                1 => Fate::Fails(255, "ssh: connect to host n1 port 22: Connection refused".to_owned()),
                2 => Fate::Fails(127, "bash: line 1: prted: command not found".to_owned()),
                3 => Fate::Silent,
                4 => Fate::DiesEarly,
                _ => Fate::Late(rng.between(1, 5_000_000)),
            };
            if self.daemons > 1 {
                let rank = DaemonRank(rng.between(1, u64::from(self.daemons) - 1) as u32);
                self.fates.push((rank, fate));
            }
        }
        if rng.permille(200) {
            self.spawn_refusals = 100;
        }
    }

    fn draw_ending(&mut self, rng: &mut Rng) {
        let at = rng.between(0, 3_000_000);
        self.ending = if rng.permille(500) {
            Ending::Terminate(at)
        } else {
            let times = rng.between(1, 3) as u32;
            Ending::Interrupts(at, times, rng.between(1, 1_000_000))
        };
    }
}

/// Splits one process off into an app of its own with another program, so that sometimes one process alone fails.
fn split_one_off(rng: &mut Rng, spec: &mut JobSpec, expect: Expect) -> Expect {
    let (program, odd) = draw_program(rng, 1);
    let mut other = job(1, &program).apps;
    // All programs of a job must call the same fences; otherwise they wait for each other for ever.
    let meets = |app: &AppContext| app.argv.iter().any(|w| w == "init");
    if meets(&spec.apps[0]) || meets(&other[0]) {
        return expect;
    }
    spec.apps[0].np = spec.apps[0].np.map(|n| n - 1);
    spec.apps.append(&mut other);
    match (expect, odd) {
        (Expect::Code(0), odd) => odd,
        (expect, Expect::Code(0)) => expect,
        // The first failure decides.
        _ => Expect::Failure,
    }
}

/// The size of a large DVM, for one scenario in two hundred; in small ones faults meet more often.
fn draw_large(rng: &mut Rng) -> Option<u32> {
    rng.permille(5).then(|| {
        // Large sizes are rare: the cost grows with the square of the size.
        match rng.between(0, 31) {
            0 => 4096,
            1 | 2 => 2048,
            3..=8 => *rng.pick(&[1000, 1024]),
            _ => *rng.pick(&[LARGE, 600, 777]),
        }
    })
}

/// Draws whether the processes of a job stop before their first step until a debugger comes.
fn draw_stop(seed: u64, client: &Client, spec: &mut JobSpec) {
    let mut rng = Rng::new(seed ^ 0xdeb6_0000_0000_0001);
    // The debugger comes when the client is told that the processes wait.
    if rng.permille(80) && !client.detached {
        spec.stop = Some(DebugStop::of_all(StopPoint::Exec));
    }
}

/// Draws the failure policy, and the place of output. Under each policy the first failure decides the exit code.
/// The draw has its own seed, so that all other draws stay as they are.
fn draw_policy(seed: u64, spec: &mut JobSpec) {
    let mut rng = Rng::new(!seed);
    spec.options.recoverable = rng.permille(250);
    spec.options.continuous = rng.permille(120);
    spec.options.notify_errors = rng.permille(500);
    spec.output.file = rng.permille(300).then(|| "/out/file".to_owned());
    if rng.permille(350) {
        spec.options.max_restarts = rng.between(1, 3) as u32;
    }
    if spec.output.file.is_some() && rng.permille(500) {
        spec.output.file = Some(format!("{FULL}file"));
    }
}

/// Draws whether one process of a job fails before its init, while the others go on and fence.
fn draw_absentee(seed: u64, spec: &mut JobSpec, expect: Expect) -> Expect {
    let mut rng = Rng::new(seed ^ 0xab5e_0000_0000_0001);
    let [app] = spec.apps.as_mut_slice() else { return expect };
    let fences = app.argv.iter().any(|word| word == "fence");
    let Some(np) = app.np.filter(|np| *np > 1 && fences && rng.permille(400)) else { return expect };
    spec.options.recoverable = true;
    app.np = Some(np - 1);
    let pause = rng.between(0, 200_000);
    spec.apps.append(&mut job(1, &format!("pause:{pause} exit:3")).apps);
    match expect {
        Expect::Code(0) => Expect::Code(3),
        other => other,
    }
}

pub(crate) fn draw_client(rng: &mut Rng, at: Time, patient: bool) -> Client {
    let mut later = |chance| rng.permille(chance).then(|| at + rng.between(0, 1_000_000));
    let (cancels, leaves) = (later(80), later(80));
    Client { patient, detached: rng.permille(80), cancels, leaves, ..Client::default() }
}

/// Draws the program of `np` processes. Only few processes write much output: one writer fills a window, and the output
/// of all takes time.
pub(crate) fn draw_program(rng: &mut Rng, np: u32) -> (String, Expect) {
    let pause = rng.between(0, 200_000);
    let lines = rng.between(0, 50);
    match rng.between(0, 11) {
        0 => ("exit:0".to_owned(), Expect::Code(0)),
        1 => (format!("out:{lines} pause:{pause} err:{lines}"), Expect::Code(0)),
        2 => (format!("out:{}", lines * 800 / u64::from(np.max(8))), Expect::Code(0)),
        3 => (format!("pause:{pause} exit:3"), Expect::Code(3)),
        4 => (format!("pause:{pause} die:11"), Expect::Code(128 + 11)),
        5 => ("missing".to_owned(), Expect::Failure),
        6 | 7 => (format!("init out:{lines} fence pause:{pause} fence finalize"), Expect::Code(0)),
        8 => (format!("deaf init pause:{pause} abort:7 forever"), Expect::Code(7)),
        // A child of the process holds its output open for a while, or until it is killed.
        9 => (format!("orphan:{pause} out:{lines}"), Expect::Code(0)),
        10 => (format!("orphan:100000000 pause:{pause} exit:4"), Expect::Code(4)),
        _ => ("stdin".to_owned(), Expect::Code(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_scenario_and_most_kinds_appear() {
        let text = |seed| format!("{:?}", Scenario::random(seed, None, None));
        assert_eq!(text(5), text(5));
        let all: Vec<Scenario> = (0..300).map(|s| Scenario::random(s, None, None)).collect();
        assert!(all.iter().any(|s| !s.fates.is_empty()) && all.iter().any(|s| !s.faults.is_empty()));
        assert!(all.iter().any(|s| s.ending != Ending::Natural) && all.iter().any(Scenario::is_kind));
        assert!(all.iter().any(|s| s.persistent && s.jobs.len() > 2));
        let clients = || all.iter().flat_map(|s| &s.jobs).map(|job| job.client);
        assert!(clients().any(|c| c.leaves.is_some()) && clients().any(|c| c.cancels.is_some()));
        let is_short = |s: &Scenario| s.jobs.iter().any(|j| j.spec.output.file.as_deref() == Some("/full/file"));
        assert!(all.iter().any(|s| is_short(s) && s.is_kind() && s.persistent));
        assert!(clients().any(|c| c.patient) && clients().any(|c| c.detached));
    }
}
