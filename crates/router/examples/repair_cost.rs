//! The cost of a repair of the tree for one daemon: one case in one process, so that callgrind can count it.
//!
//! `repair_cost RADIX SIZE DEAD branch|scattered head|ancestor|leaf batched|single|adopting|nothing time|count RUNS`
//!
//! A daemon learns of the deaths at once (`batched`) or one after another (`single`), and asks after each repair for
//! its parent, its children and the next hops to 16 daemons; or it is told what each of the repairs changed and asks
//! for the hops alone (`adopting`). `nothing` prepares the same and repairs nothing: what it costs is to be subtracted.
//! Called by `cargo xtask bench repair`. Prints the number of dead (fewer than wished when the branch is smaller), then
//! nanoseconds, one line a run, or the number of places visited; nothing at all when the ancestor is the head.

// A program that measures has a clock.
#![allow(clippy::disallowed_types, clippy::disallowed_methods)]

use std::hint::black_box;
use std::time::Instant;

use ferrite_router::Tree;
use ferrite_types::{DaemonRank, RankSet};

const DESTINATIONS: usize = 16;
const USAGE: &str =
    "RADIX SIZE DEAD branch|scattered head|ancestor|leaf batched|single|adopting|nothing time|count RUNS";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [radix, size, dead, pattern, viewpoint, way, what, runs] = &words[..] else { panic!("usage: {USAGE}") };
    let number = |word: &String| word.parse::<u32>().expect(USAGE);
    let shape = Shape { radix: number(radix), size: number(size) };
    let Some(case) = Case::new(shape, number(dead) as usize, pattern == "branch", viewpoint) else { return };
    let repairs: &[RankSet] = match way.as_str() {
        "batched" => &case.batched,
        "single" | "adopting" => &case.single,
        _ => &[],
    };
    println!("{}", case.single.len());
    match what.as_str() {
        "count" => println!("{}", case.visits(repairs)),
        _ => (0..number(runs)).for_each(|_| println!("{}", case.time(repairs, way == "adopting"))),
    }
}

/// The arithmetic of the tree, kept apart from the product's.
#[derive(Clone, Copy)]
struct Shape {
    radix: u32,
    size: u32,
}

impl Shape {
    fn above(self, rank: u32) -> Option<u32> {
        Some(rank.checked_sub(1)? / self.radix)
    }

    fn below(self, rank: u32) -> std::ops::Range<u32> {
        let first = rank.saturating_mul(self.radix).saturating_add(1);
        first.min(self.size)..first.saturating_add(self.radix).min(self.size)
    }

    /// The sub-tree at `top` breadth first, at most `most` of it.
    fn branch(self, top: u32, most: usize) -> Vec<u32> {
        let mut branch = vec![top];
        let mut at = 0;
        while at < branch.len() && branch.len() < most {
            branch.extend(self.below(branch[at]));
            at += 1;
        }
        branch.truncate(most);
        branch
    }

    /// Goes down the first children as long as so many hang there.
    fn top_of_branch(self, most: usize) -> u32 {
        let deeper = |top: &u32| Some(top * self.radix + 1).filter(|top| *top < self.size);
        std::iter::successors(Some(1), deeper)
            .take_while(|top| self.branch(*top, most).len() == most)
            .last()
            .unwrap_or(1)
    }
}

struct Case {
    shape: Shape,
    me: DaemonRank,
    batched: Vec<RankSet>,
    single: Vec<RankSet>,
    destinations: Vec<DaemonRank>,
}

impl Case {
    /// `None` when the viewpoint is another one's as well.
    fn new(shape: Shape, count: usize, is_branch: bool, viewpoint: &str) -> Option<Case> {
        let mut chance = Chance(u64::from(shape.size) + count as u64);
        let top = shape.top_of_branch(count);
        // In the scattered pattern the ancestor is rank 1: above half of the daemons, or a 64th.
        let ancestor = if is_branch { shape.above(top).filter(|rank| *rank > 0) } else { Some(1) };
        let dead = if is_branch { shape.branch(top, count) } else { scattered(shape, count, &mut chance) };
        let all: RankSet = dead.iter().copied().map(DaemonRank).collect();
        let lives = |rank: &u32| !all.contains(DaemonRank(*rank));
        let is_untouched = |leaf: &u32| {
            lives(leaf) && shape.below(*leaf).is_empty() && shape.above(*leaf).is_some_and(|parent| lives(&parent))
        };
        let me = match viewpoint {
            "head" => 0,
            "ancestor" => ancestor?,
            _ => (0..shape.size).rev().find(is_untouched).expect("some leaf keeps its parent"),
        };
        let living: Vec<u32> = (0..shape.size).filter(|rank| lives(rank) && *rank != me).collect();
        let destination = |_| DaemonRank(living[chance.below(living.len() as u32) as usize]);
        Some(Case {
            shape,
            me: DaemonRank(me),
            destinations: (0..DESTINATIONS).map(destination).collect(),
            single: dead.iter().map(|rank| [DaemonRank(*rank)].into_iter().collect()).collect(),
            batched: vec![all],
        })
    }

    /// Nanoseconds of one run.
    fn time(&self, repairs: &[RankSet], is_adopting: bool) -> u128 {
        let mut tree = Tree::new(self.shape.radix, self.shape.size);
        let start = Instant::now();
        for dead in repairs {
            if is_adopting {
                black_box(tree.repair_adopting(black_box(dead), self.me));
            } else {
                tree.repair(black_box(dead));
                black_box(tree.parent(self.me));
                black_box(tree.children(self.me));
            }
            for dest in &self.destinations {
                black_box(tree.next_hop(self.me, *dest));
            }
        }
        start.elapsed().as_nanos()
    }

    /// Places of the tree that the same questions lead to, by their definition and not by the product's code: each rank
    /// taken out, each place above until the answer is known (what is above has the lower rank), each place below that
    /// lives or that is passed through.
    fn visits(&self, repairs: &[RankSet]) -> usize {
        let mut dead = vec![false; self.shape.size as usize];
        let mut visits = 0;
        for repair in repairs {
            for rank in repair.iter() {
                dead[rank.0 as usize] = true;
                visits += 1;
            }
            visits += self.visits_up(self.me.0, |rank| !dead[rank as usize]);
            visits += self.visits_down(&dead);
            visits +=
                self.destinations.iter().map(|dest| self.visits_up(dest.0, |rank| rank <= self.me.0)).sum::<usize>();
        }
        visits
    }

    fn visits_up(&self, rank: u32, is_answer: impl Fn(u32) -> bool) -> usize {
        let above: Vec<u32> = std::iter::successors(self.shape.above(rank), |rank| self.shape.above(*rank)).collect();
        above.iter().position(|rank| is_answer(*rank)).map_or(above.len(), |at| at + 1)
    }

    fn visits_down(&self, dead: &[bool]) -> usize {
        let mut places: Vec<u32> = self.shape.below(self.me.0).collect();
        let mut at = 0;
        while at < places.len() {
            if dead[places[at] as usize] {
                places.extend(self.shape.below(places[at]));
            }
            at += 1;
        }
        places.len()
    }
}

/// In the order drawn; the head and rank 1 live.
fn scattered(shape: Shape, count: usize, chance: &mut Chance) -> Vec<u32> {
    let mut ranks: Vec<u32> = (2..shape.size).collect();
    let draw = |_| {
        let at = chance.below(ranks.len() as u32) as usize;
        ranks.swap_remove(at)
    };
    (0..count).map(draw).collect()
}

/// Numbers that look random and are the same every time: a Weyl sequence, its bits mixed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 31)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        ((((mixed ^ (mixed >> 32)) >> 32) * u64::from(end)) >> 32) as u32
    }
}
