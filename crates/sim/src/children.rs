//! Scenarios about spawned jobs, connections between jobs, and published data. They extend an elastic scenario without
//! changing its draws, so the DVM also grows, shrinks and loses daemons.

use ferrite_types::{HostEntry, HostRef, JobSpec, MapBy};
use ferrite_wire::control::Submission;
use ferrite_wire::{AddedHost, GrowRequest, SlotChange};
use serde::{Deserialize, Serialize};

use crate::queue::Time;
use crate::rng::Rng;
use crate::scenario::{Expect, Scenario, job};

/// The longest job of a spawn tree: children that bring nodes along are spawned within this time.
const LONGEST: Time = 12_000_000;

/// A job for processes to spawn with the word `spawn:N`, where N is its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildPlan {
    /// The job request.
    pub spec: JobSpec,
    /// True for a separate job.
    pub separate: bool,
    /// Nodes that the DVM gets before the job is mapped.
    pub grow: Option<GrowRequest>,
}

impl ChildPlan {
    /// The submission of the spawning process. The job's directory is its parent's.
    #[must_use]
    pub fn submission(&self) -> Submission {
        let (separate, grow) = (self.separate, self.grow.clone().map(Box::new));
        let mut submission = Submission { separate, grow, ..Submission::of(self.spec.clone()) };
        submission.spec.apps.iter_mut().for_each(|app| app.submit_dir.clear());
        submission
    }

    fn meets_its_parent(&self) -> bool {
        self.spec.apps.iter().flat_map(|app| &app.argv).any(|word| word == "join")
    }
}

impl Scenario {
    /// A scenario about changes of size, whose jobs spawn others, connect with them and exchange data.
    #[must_use]
    pub fn families(seed: u64) -> Scenario {
        let mut s = Scenario::elastic(seed);
        let mut rng = Rng::new(seed ^ 0xfa31_11e5_0000_0001);
        let children = rng.between(2, 6) as usize;
        let with_nodes = rng.permille(250).then(|| rng.between(0, children as u64 - 1) as usize);
        // Children are drawn from the last to the first: a job spawns only jobs of higher numbers, so that spawning
        // ends.
        for number in (0..children).rev() {
            let mut child = s.draw_child(&mut rng, number, children);
            if with_nodes == Some(number) {
                let host =
                    AddedHost { host: HostEntry::named(&s.draw_name(&mut rng)), slots: SlotChange::Set(s.slots) };
                child.grow = Some(GrowRequest { hosts: vec![host], ..GrowRequest::default() });
                child.separate = false;
            }
            s.children.insert(0, child);
        }
        // Numbers are counted from the end while they are drawn.
        s.number_from_the_front();
        for i in 0..s.jobs.len() {
            if s.jobs[i].quiet {
                continue;
            }
            s.jobs[i].expect = Expect::Anything;
            if rng.permille(800) {
                let program = s.draw_parent(&mut rng);
                let spec = &mut s.jobs[i].spec;
                spec.apps.truncate(1);
                spec.apps[0].np = Some(rng.between(1, 4) as u32);
                spec.apps[0].argv = words(&program);
                spec.options.continuous = false;
            }
        }
        s.move_quiet_phase();
        s.draw_sets(seed);
        s.add_events(&mut rng);
        s
    }

    /// Gives some jobs process sets, and lets processes define more. The draws have a generator of their own, so that
    /// all others stay as they are.
    fn draw_sets(&mut self, seed: u64) {
        let mut rng = Rng::new(seed ^ 0x5e75_0000_0000_0001);
        for (number, job) in self.jobs.iter_mut().enumerate() {
            if rng.permille(500) {
                job.spec.apps[0].set = Some(format!("j{number}"));
            }
        }
        let specs = self.jobs.iter_mut().map(|job| &mut job.spec).chain(self.children.iter_mut().map(|c| &mut c.spec));
        for app in specs.flat_map(|spec| &mut spec.apps) {
            let init = app.argv.iter().position(|word| word == "init");
            if let Some(at) = init.filter(|_| rng.permille(400)) {
                app.argv.insert(at + 1, format!("define:{}", rng.between(0, 9)));
            }
        }
    }

    /// Lets processes raise events and make groups between their other steps.
    fn add_events(&mut self, rng: &mut Rng) {
        let jobs = self.jobs.iter_mut().filter(|job| !job.quiet).map(|job| &mut job.spec);
        for spec in jobs.chain(self.children.iter_mut().map(|child| &mut child.spec)) {
            let argv = &mut spec.apps[0].argv;
            let Some(init) = argv.iter().position(|word| word == "init").filter(|_| rng.permille(600)) else {
                continue;
            };
            // A member that has ended well is waited for, as in a fence.
            let end = argv.iter().position(|word| word.starts_with("retire")).unwrap_or(argv.len()) as u64;
            if rng.permille(500) {
                let (at, number) = (rng.between(init as u64 + 1, end), rng.between(0, 3));
                argv.insert(at as usize, format!("group:{number}"));
                if rng.permille(600) {
                    argv.insert(rng.between(at + 1, end + 1) as usize, format!("ungroup:{number}"));
                }
            }
            for _ in 0..rng.between(1, 3) {
                let word = *rng.pick(&["raise", "raise", "raise-own", "raise-to"]);
                let at = rng.between(init as u64 + 1, argv.len() as u64) as usize;
                argv.insert(at, format!("{word}:{}", rng.between(1, 4)));
            }
        }
    }

    /// The latest times at which children may ask for nodes; each request is a change of size.
    pub(crate) fn child_grows(&self) -> impl Iterator<Item = Time> + '_ {
        let brings = self.children.iter().filter(|child| child.grow.is_some());
        let parents = self.jobs.iter().filter(|job| !job.quiet).map(|job| job.at + LONGEST);
        brings.flat_map(move |_| parents.clone())
    }

    fn number_from_the_front(&mut self) {
        let count = self.children.len() as u64;
        let turn = |word: &mut String| {
            if let Some(from_end) = word.strip_prefix("spawn:").and_then(|number| number.parse::<u64>().ok()) {
                *word = format!("spawn:{}", count - 1 - from_end);
            }
        };
        let apps = self.children.iter_mut().flat_map(|child| &mut child.spec.apps);
        apps.flat_map(|app| &mut app.argv).for_each(turn);
    }

    fn draw_child(&self, rng: &mut Rng, number: usize, children: usize) -> ChildPlan {
        let np = *rng.pick(&[1, 1, 1, 2, 2, 3, 5]);
        let pause = rng.between(0, 300_000);
        let long = rng.between(500_000, 6_000_000);
        // Children that were drawn before, counted from the end.
        let later = (children - 1 - number) as u64;
        let program = match rng.between(0, 15) {
            0 => "exit:0".to_owned(),
            1 => "init finalize".to_owned(),
            2 => format!("out:5 pause:{long}"),
            3 => format!("init {} pause:{long} {} finalize", draw_data(rng), draw_data(rng)),
            4 => "exit:4".to_owned(),
            5 => "missing".to_owned(),
            6 => format!("init join pause:{pause} die:9"),
            7 => format!("init pause:{pause} exit:0"),
            8 => format!("init join pause:{pause} abort:5 forever"),
            9 | 10 => format!("init {} join {} pause:{long} part finalize", draw_data(rng), draw_data(rng)),
            11 => format!("init join part pause:{pause} exit:6"),
            12 => format!("init join pause:{long} finalize"),
            _ if later > 0 => {
                let spawn = self.draw_spawn(rng, later);
                let meets = rng.permille(600);
                let (join, part) = if meets { ("join", "part") } else { ("", "") };
                format!("init {join} {spawn} pause:{pause} {} {part} {}", draw_data(rng), draw_end(rng, pause))
            }
            _ => format!("init join fence {} part finalize", draw_data(rng)),
        };
        let mut spec = job(np, "");
        spec.apps[0].argv = words(&program);
        spec.map.by = rng.pick(&[None, Some(MapBy::Slot), Some(MapBy::Node)]).clone();
        spec.map.oversubscribe = rng.permille(500).then_some(true);
        if rng.permille(350) {
            let names: Vec<String> = (0..rng.between(1, 2)).map(|_| self.draw_name(rng)).collect();
            spec.apps[0].hosts.hosts = names.iter().map(|name| HostRef::Host(HostEntry::named(name))).collect();
        }
        ChildPlan { spec, separate: rng.permille(250), grow: None }
    }

    fn draw_parent(&self, rng: &mut Rng) -> String {
        let (pause, more) = (rng.between(0, 400_000), rng.between(0, 4_000_000));
        let count = self.children.len() as u64;
        let mut program = format!("init {}", draw_data(rng));
        for _ in 0..if rng.permille(400) { 2 } else { 1 } {
            let child = rng.between(0, count - 1);
            program += &format!(" pause:{pause} {} {}", self.spawn_and_meet(rng, child, child), draw_data(rng));
        }
        program += &format!(" pause:{more} {} {}", draw_data(rng), draw_end(rng, pause));
        program
    }

    /// One of the last `later` children, by its number from the end.
    fn draw_spawn(&self, rng: &mut Rng, later: u64) -> String {
        let from_end = rng.between(0, later - 1);
        self.spawn_and_meet(rng, from_end, later - 1 - from_end)
    }

    /// Writes the steps by which all ranks learn of a child, and connect with it if it takes part.
    fn spawn_and_meet(&self, rng: &mut Rng, word: u64, index: u64) -> String {
        let meets = self.children[index as usize].meets_its_parent();
        let mut text = format!("spawn:{word} fence");
        // Now and then a job waits for one that never comes.
        if rng.permille(if meets { 850 } else { 60 }) {
            text += " connect";
            if rng.permille(600) {
                text += &format!(" pause:{} disconnect", rng.between(0, 1_000_000));
            }
        }
        text
    }

    fn draw_name(&self, rng: &mut Rng) -> String {
        if self.daemons == 1 || rng.permille(250) {
            return format!("m{}", rng.between(0, 4));
        }
        format!("n{}", rng.between(0, u64::from(self.daemons) - 1))
    }
}

fn draw_data(rng: &mut Rng) -> String {
    let key = rng.between(0, 5);
    match rng.between(0, 11) {
        0 | 1 => format!("publish:{key}"),
        2 => format!("publish-app:{key}"),
        3 => format!("publish-session:{key}"),
        4 => format!("publish-once:{key}"),
        5 => format!("publish-own:{key}"),
        6 | 7 => format!("lookup:{key}"),
        8 => format!("await:{key}"),
        9 => format!("unpublish:{key}"),
        _ => String::new(),
    }
}

fn draw_end(rng: &mut Rng, pause: Time) -> String {
    match rng.between(0, 9) {
        0 => "exit:3".to_owned(),
        1 => format!("pause:{pause} die:11"),
        2 => "abort:7 forever".to_owned(),
        3 => format!("fence finalize pause:{pause}"),
        // One rank has ended and the others go on; no collective may wait for it.
        4 | 5 => {
            let key = rng.between(0, 5);
            format!("publish:{key} fence retire:{key} pause:{} lookup:{key} finalize", 2_500_000 + pause)
        }
        _ => "finalize".to_owned(),
    }
}

fn words(program: &str) -> Vec<String> {
    ["vp"].into_iter().chain(program.split_whitespace()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::story;

    #[test]
    fn every_kind_of_child_is_drawn_and_each_spawns_later_ones_only() {
        let all: Vec<Scenario> = (0..300).map(Scenario::families).collect();
        let numbers = |spec: &JobSpec| -> Vec<usize> {
            let words = spec.apps.iter().flat_map(|app| &app.argv);
            words.filter_map(|word| word.strip_prefix("spawn:")?.parse().ok()).collect()
        };
        for s in &all {
            for (i, child) in s.children.iter().enumerate() {
                assert!(numbers(&child.spec).iter().all(|n| *n > i && *n < s.children.len()), "{s:?}");
            }
            assert!(s.jobs.iter().flat_map(|job| numbers(&job.spec)).all(|n| n < s.children.len()));
            assert_eq!(story::read(&story::write(s)).as_ref(), Ok(s));
        }
        let children = || all.iter().flat_map(|s| &s.children);
        assert!(children().any(|child| child.separate) && children().any(|child| child.grow.is_some()));
        assert!(
            children().any(|child| !numbers(&child.spec).is_empty()) && children().any(ChildPlan::meets_its_parent)
        );
    }
}
