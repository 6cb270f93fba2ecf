//! Measures what a server costs with the installed libpmix: `cargo run --release -p ferrite-pmix --example measure`.
//! Each start is a process of its own. Figures in README.md come from here.

use std::time::{Duration, Instant};

use ferrite_pmix::{AppInfo, JobInfo, LocalProc, NodeInfo, PROCESS_ENV, Server, ServerConfig};

const RUNS: usize = 11;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("one") {
        println!("{}", one().map(|micros| micros.to_string()).join(" "));
        return;
    }
    let me = std::env::current_exe().expect("a program has a path");
    let run = || {
        let output = std::process::Command::new(&me).arg("one").envs(PROCESS_ENV).output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.split_whitespace().map(|word| word.parse::<u128>().expect("a number")).collect::<Vec<_>>()
    };
    let runs: Vec<_> = (0..RUNS).map(|_| run()).collect();
    let names = [
        "open and start",
        "1 local of 1",
        "16 local of 16",
        "128 local of 128",
        "1 local of 256",
        "128 local of 64000",
        "end, abandoned",
    ];
    println!("{:20} {:>8} {:>8} {:>8}   ms, {RUNS} runs", "", "min", "median", "max");
    for (column, name) in names.iter().enumerate() {
        let mut values: Vec<_> = runs.iter().map(|run| run[column] as f64 / 1000.0).collect();
        values.sort_by(f64::total_cmp);
        println!("{name:20} {:8.2} {:8.2} {:8.2}", values[0], values[RUNS / 2], values[RUNS - 1]);
    }
    let mut memory: Vec<_> = runs.iter().map(|run| (run[7], run[8], run[9])).collect();
    memory.sort_unstable();
    println!("RSS before, after the start, at the end (kB): {:?}", memory[RUNS / 2]);
}

fn one() -> [u128; 10] {
    let before = resident_kb();
    let dir = tempfile::tempdir().expect("a directory");
    let config = ServerConfig {
        tmpdir: dir.path().into(),
        system_tmpdir: dir.path().into(),
        dvm: "measure".into(),
        nspace: "measure@0".into(),
        rank: 0,
        hostname: "n0".into(),
        tool_support: false,
        share_topology: false,
        caller: None,
    };
    let begin = Instant::now();
    let server = Server::start(&config, |_| ()).expect("libpmix is installed");
    let started = begin.elapsed();
    let after = resident_kb();
    let register = |number: u32, local: u32, nodes: u32| {
        let job = job(number, local, nodes);
        let begin = Instant::now();
        server.register_job(&job).expect("it is a sound job");
        begin.elapsed()
    };
    let registered =
        [register(1, 1, 1), register(2, 16, 1), register(3, 128, 1), register(4, 1, 256), register(5, 128, 500)];
    let end = resident_kb();
    let begin = Instant::now();
    server.abandon();
    let micros = |time: Duration| time.as_micros();
    let [one, sixteen, many, small, huge] = registered.map(micros);
    [micros(started), one, sixteen, many, small, huge, micros(begin.elapsed()), before, after, end]
}

/// `nodes` nodes with `local` processes each, of which this is the first.
fn job(number: u32, local: u32, nodes: u32) -> JobInfo {
    let node =
        |n: u32| NodeInfo { hostname: format!("n{n}"), node_id: n, ranks: vec![n * local..=(n + 1) * local - 1] };
    let proc = |rank: u32| LocalProc {
        rank,
        app_rank: rank,
        local_rank: rank as u16,
        node_rank: rank as u16,
        ..LocalProc::default()
    };
    let size = local * nodes;
    JobInfo {
        nspace: format!("measure@{number}"),
        size,
        universe_size: size,
        max_procs: size,
        nodes: (0..nodes).map(node).collect(),
        local_node: Some(0),
        apps: vec![AppInfo { size, ..AppInfo::default() }],
        local: (0..local).map(proc).collect(),
        ..JobInfo::default()
    }
}

fn resident_kb() -> u128 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}
