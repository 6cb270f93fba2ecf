//! Times placement: nodes of 100 cores in two packages, a process for each core (`cargo xtask bench map` runs it).
//!
//! Prints a line of a table for each case: nodes, processes, policy, median, p10 and p90 in milliseconds, and
//! nanoseconds for each process.
// A measurement needs a clock; it is no part of the crate.
#![allow(clippy::unwrap_used, clippy::disallowed_types)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use common::{job, nodes, placed};
use ferrite_types::{JobSpec, NodeRecord, Topology};

const CORES: u32 = 100;
const SIZES: [u32; 3] = [1_000, 10_000, 20_000];
const POLICIES: [(&str, &str, &str); 9] = [
    ("core", "", ""),
    ("core", "span", ""),
    ("core:SPAN", "", ""),
    ("package", "", "core"),
    ("package:PE=2", "", ""),
    ("slot", "", ""),
    ("node", "", "none"),
    ("ppr:10:numa", "", ""),
    ("hwthread", "", ""),
];

fn main() {
    let runs: usize = std::env::args().nth(1).map_or(5, |n| n.parse().unwrap());
    for count in [1, 1_000, 10_000] {
        let pool = pool(count);
        show(count, ("core", "", ""), &job(&[Some(1)], "", "", ""), &pool, runs * 20 + 1);
    }
    for policy in POLICIES {
        for count in SIZES {
            show(count, policy, &job(&[None], policy.0, policy.1, policy.2), &pool(count), runs);
        }
    }
}

fn pool(count: u32) -> Vec<NodeRecord> {
    nodes(count, CORES, Topology::uniform(2, CORES / 2, 2))
}

fn show(count: u32, (map, rank, bind): (&str, &str, &str), spec: &JobSpec, pool: &[NodeRecord], runs: usize) {
    let mut processes = 0;
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            processes = placed(spec, pool).unwrap().procs.len();
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |part: f64| times[((times.len() - 1) as f64 * part).round() as usize];
    let said = [(" rank ", rank), (" bind ", bind)].into_iter().filter(|(_, word)| !word.is_empty());
    let words: String = said.map(|(name, word)| format!("{name}{word}")).collect();
    let each = at(0.5) * 1e6 / processes as f64;
    println!("| {map}{words} | {count} | {processes} | {:.2} ({:.2} - {:.2}) | {each:.0} |", at(0.5), at(0.1), at(0.9));
}
