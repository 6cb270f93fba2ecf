//! The cost of parsing: `cargo run --release -p ferrite-cli --example parse_cost`. Prints microseconds per line; no
//! test, because times are not.

use std::time::Instant;

use ferrite_cli::args::{self, Environment};

fn main() {
    let lines = [
        "--version",
        "./a",
        "-n 4 --host n0:4,n1 --map-by core -x A=1 --output tag --timeout 60 ./a",
        "-n 1 ./a : -n 2 --host n1 ./b : -n 3 ./c",
    ];
    let environment = Environment::new();
    for line in lines {
        let line_args: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let first = Instant::now();
        let _ = std::hint::black_box(args::parse(&line_args, &environment));
        let first = first.elapsed();
        let mut times: Vec<_> = (0..500)
            .map(|_| {
                let start = Instant::now();
                let _ = std::hint::black_box(args::parse(&line_args, &environment));
                start.elapsed()
            })
            .collect();
        times.sort();
        println!("first {:>6.1} us, median {:>6.1} us: prterun {line}", us(first), us(times[250]));
    }
}

fn us(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
