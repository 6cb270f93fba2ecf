//! An unmodified MPICH program against this protocol: four processes on two pretended nodes, one key-value space
//! per node, and a barrier between them. Skipped, with a message, where MPICH is missing.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a test of the protocol with real processes")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use ferrite_pmi1::{ClientPlace, Kvs, PROCESS_MAPPING_KEY, Parser, Reply, Request, client_env, process_mapping};

const SIZE: u32 = 4;
const KVS: &str = "kvs_test_1";

enum Event {
    Request(u32, Request),
    Line(String),
    Exit(bool),
}

fn compile() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mpich-sum");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sum.c");
    let compiler = std::env::var("FERRITE_TEST_MPICC").unwrap_or_else(|_| "mpicc.mpich".into());
    let status = Command::new(compiler).arg(source).arg("-o").arg(&target).status().ok()?;
    status.success().then_some(target)
}

#[test]
fn mpich_runs_over_two_nodes() {
    let Some(program) = compile() else {
        eprintln!("SKIPPED: no mpicc.mpich: install libmpich-dev");
        return;
    };
    let mapping = process_mapping(&[vec![0..=1], vec![2..=3]]).expect("it is short");
    let mut spaces = [Kvs::new(), Kvs::new()];
    spaces.iter_mut().for_each(|kvs| kvs.insert(PROCESS_MAPPING_KEY, mapping.as_str()));
    let (events, inbox) = channel();
    let mut clients = BTreeMap::new();
    for rank in 0..SIZE {
        let (ours, theirs) = UnixStream::pair().expect("a socket pair");
        // The standard input is the one descriptor that a child gets without unsafe code.
        let place = ClientPlace { fd: 0, rank, size: SIZE, local_rank: rank % 2, local_size: 2, spawned: false };
        let mut command = Command::new(&program);
        command.envs(client_env(place)).stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        drop(command);
        let stdout = child.stdout.take().expect("it is piped");
        let mut reader = ours.try_clone().expect("a socket");
        clients.insert(rank, ours);
        let lines = events.clone();
        std::thread::spawn(move || {
            let output = BufReader::new(stdout).lines().map_while(Result::ok);
            output.for_each(|line| lines.send(Event::Line(line)).expect("the test listens"));
            let status = child.wait().expect("it was spawned");
            let _ = lines.send(Event::Exit(status.success()));
        });
        let requests = events.clone();
        std::thread::spawn(move || {
            let mut parser = Parser::new();
            let mut bytes = [0; 512];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                parser.feed(&bytes[..count]);
                while let Some(request) = parser.next_request() {
                    let _ = requests.send(Event::Request(rank, request.expect("MPICH speaks PMI-1")));
                }
            }
        });
    }
    let mut waiting = Vec::new();
    let (mut lines, mut exits) = (Vec::new(), Vec::new());
    while exits.len() < SIZE as usize {
        let event = inbox.recv_timeout(Duration::from_secs(60)).expect("the program does not hang");
        let (rank, request) = match event {
            Event::Request(rank, request) => (rank, request),
            Event::Line(line) => {
                lines.push(line);
                continue;
            }
            Event::Exit(success) => {
                exits.push(success);
                continue;
            }
        };
        let kvs = &mut spaces[rank as usize / 2];
        let reply = match request {
            Request::Init { version, .. } => Reply::Init { accepted: version == 1 },
            Request::GetMaxes => Reply::Maxes,
            Request::GetAppnum => Reply::Appnum(0),
            Request::GetMyKvsname => Reply::MyKvsname(KVS),
            Request::GetUniverseSize => Reply::UniverseSize(SIZE),
            Request::Put { kvsname, key, value } => {
                assert_eq!(kvsname, KVS);
                if kvs.put(key, value) { Reply::Put } else { Reply::PutRefused }
            }
            Request::Get { key, .. } => kvs.get(&key).map_or(Reply::NoSuchKey, Reply::Value),
            Request::BarrierIn => {
                waiting.push(rank);
                if waiting.len() < SIZE as usize {
                    continue;
                }
                let all = spaces.each_mut().map(Kvs::take_delta).concat();
                spaces.iter_mut().for_each(|kvs| kvs.merge(&all).expect("it is sound"));
                for rank in waiting.drain(..) {
                    (&clients[&rank]).write_all(Reply::BarrierOut.to_string().as_bytes()).expect("the client reads");
                }
                continue;
            }
            Request::Finalize => Reply::Finalized,
            other => panic!("unexpected {other:?}"),
        };
        (&clients[&rank]).write_all(reply.to_string().as_bytes()).expect("the client reads");
    }
    assert!(exits.iter().all(|&success| success), "{lines:?}");
    assert_eq!(lines.iter().filter(|line| line.contains("of 4: sum 6")).count(), 4, "{lines:?}");
}
