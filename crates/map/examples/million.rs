//! Times the placement of 1,000,000 processes on 10,000 nodes by core:
//! `cargo run --release -p ferrite-map --example million`.
// A measurement needs a clock; it is no part of the crate.
#![allow(clippy::unwrap_used, clippy::disallowed_types)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use common::{job, nodes, placed};
use ferrite_types::Topology;

fn main() {
    for count in [1, 1_000, 10_000] {
        let pool = nodes(count, 100, Topology::uniform(2, 50, 2));
        let spec = job(&[Some(1)], "", "", "");
        let mut times = [(); 101].map(|()| {
            let start = Instant::now();
            placed(&spec, &pool).unwrap();
            start.elapsed()
        });
        times.sort_unstable();
        println!("{count:>6} nodes        1 process {:?} (median of 101)", times[50]);
    }
    for count in [1_000, 10_000, 20_000] {
        let pool = nodes(count, 100, Topology::uniform(2, 50, 2));
        for (map_by, rank_by) in [("core", ""), ("core", "span"), ("slot", ""), ("node", ""), ("package", "")] {
            let spec = job(&[None], map_by, rank_by, "");
            let start = Instant::now();
            let map = placed(&spec, &pool).unwrap();
            println!(
                "{count:>6} nodes {:>8} processes by {map_by:<8} rank {:<5} {:?}",
                map.procs.len(),
                map.policies[0].rank_by,
                start.elapsed()
            );
        }
    }
}
