//! Starts node processes, routes between them, and collects what happened.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::node::{MARK, PLAN, Plan};

/// Generous: a test that needs it has found a hang.
const DEADLINE: Duration = Duration::from_secs(60);

/// The traces that a run left behind.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) output: Vec<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) exits: BTreeMap<u32, i32>,
}

impl Outcome {
    pub(crate) fn notes_with(&self, text: &str) -> usize {
        self.notes.iter().filter(|note| note.contains(text)).count()
    }

    pub(crate) fn all_succeeded(&self, size: u32) -> bool {
        self.exits.len() == size as usize && self.exits.values().all(|&code| code == 0)
    }
}

/// A run to be: `nodes` servers with `size` ranks of `program` in blocks.
pub(crate) struct Run<'a> {
    pub(crate) nodes: u32,
    pub(crate) size: u32,
    pub(crate) lazy: bool,
    pub(crate) drop_fences: bool,
    /// The size of the job, as the library is told.
    pub(crate) pretended_size: Option<u32>,
    pub(crate) program: &'a [&'a str],
    /// Stop as soon as a note contains this, and kill what is left.
    pub(crate) until_note: Option<&'a str>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(nodes: u32, size: u32, lazy: bool, program: &'a [&'a str]) -> Self {
        Self { nodes, size, lazy, drop_fences: false, pretended_size: None, program, until_note: None }
    }

    pub(crate) fn go(&self) -> Outcome {
        let dir = tempfile::tempdir().expect("a directory");
        let (sender, lines) = channel();
        let mut router = Router { peers: Vec::new(), plan: None, fences: BTreeMap::new(), outcome: Outcome::default() };
        for node in 0..self.nodes {
            let plan = self.plan(node, dir.path());
            let mut child = node_process(&plan);
            let stdout = child.stdout.take().expect("it is piped");
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    let Some(line) = line.strip_prefix(MARK) else {
                        continue;
                    };
                    let _ = sender.send((node, line.to_owned()));
                }
            });
            let stdin = child.stdin.take().expect("it is piped");
            router.peers.push(Peer { child, stdin });
            router.plan = Some(plan);
        }
        router.route(&lines, self);
        router.outcome
    }

    fn plan(&self, node: u32, dir: &Path) -> Plan {
        let dir = dir.join(node.to_string());
        std::fs::create_dir(&dir).expect("a fresh directory");
        Plan {
            node,
            nodes: self.nodes,
            size: self.size,
            lazy: self.lazy,
            drop_fences: self.drop_fences,
            told_size: self.pretended_size.unwrap_or(self.size),
            dir,
            program: self.program.iter().map(|word| (*word).to_owned()).collect(),
        }
    }
}

/// This very test binary, running its one ignored test.
fn node_process(plan: &Plan) -> Child {
    let binary = std::env::current_exe().expect("a test binary has a path");
    let mut command = Command::new(binary);
    command.args(["--exact", "node_process", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(PLAN, plan.encode()).envs(ferrite_pmix::PROCESS_ENV).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().expect("a test binary can be run")
}

struct Peer {
    child: Child,
    stdin: ChildStdin,
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Router {
    peers: Vec<Peer>,
    plan: Option<Plan>,
    fences: BTreeMap<String, (usize, String)>,
    outcome: Outcome,
}

impl Router {
    fn route(&mut self, lines: &Receiver<(u32, String)>, run: &Run) {
        let deadline = Instant::now() + DEADLINE;
        let mut ended = 0;
        let mut quitting = false;
        while ended < self.peers.len() {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok((node, line)) = lines.recv_timeout(left) else {
                panic!("no end in {DEADLINE:?}: {:#?}", self.outcome);
            };
            let (verb, rest) = line.split_once(' ').unwrap_or((&line, ""));
            match verb {
                "OUT" => self.outcome.output.push(rest.to_owned()),
                "NOTE" => self.outcome.notes.push(rest.to_owned()),
                "EXIT" => self.on_exit(rest),
                "END" => ended += 1,
                _ => self.on_request(node, verb, rest),
            }
            let enough = run.until_note.is_some_and(|text| verb == "NOTE" && rest.contains(text));
            if enough {
                return;
            }
            if !quitting && self.outcome.exits.len() == run.size as usize {
                quitting = true;
                (0..self.peers.len()).for_each(|node| self.tell(node, "QUIT"));
            }
        }
    }

    fn on_exit(&mut self, rest: &str) {
        let (rank, code) = rest.split_once(' ').expect("rank and code");
        self.outcome.exits.insert(rank.parse().expect("a rank"), code.parse().expect("a code"));
    }

    fn on_request(&mut self, node: u32, verb: &str, rest: &str) {
        let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
        match verb {
            "FENCE" => {
                let nodes = self.peers.len();
                let (count, data) = self.fences.entry(first.to_owned()).or_default();
                *count += 1;
                data.push_str(second);
                if *count == nodes {
                    let line = format!("FENCED {first} {data}");
                    self.fences.remove(first);
                    (0..nodes).for_each(|node| self.tell(node, &line));
                }
            }
            "GET" => {
                let rank: u32 = second.parse().expect("a rank");
                let plan = self.plan.as_ref().expect("there are nodes");
                let host = (0..plan.nodes).find(|&n| plan.ranks_of(n).contains(&rank)).expect("a rank of the job");
                assert_ne!(host, node, "a node asks others only for what is not its own");
                self.tell(host as usize, &format!("WANT {first} {rank}"));
            }
            "DATA" => {
                let asker: usize = first.split('.').next().and_then(|n| n.parse().ok()).expect("node.id");
                self.tell(asker, &format!("GOT {first} {second}"));
            }
            _ => panic!("unknown line {verb} {rest}"),
        }
    }

    fn tell(&mut self, node: usize, line: &str) {
        writeln!(self.peers[node].stdin, "{line}").expect("the node listens");
    }
}
