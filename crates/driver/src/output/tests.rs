//! The real standard output of a process of our own: this test binary again, told which scene to play.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ferrite_types::{DaemonRank, JobId};
use tokio::sync::mpsc::UnboundedReceiver;

use super::*;
use ferrite_core::HeadInput;

const SCENE: &str = "FERRITE_OUTPUT_SCENE";
const PIECE: usize = 1000;
const PIECES: usize = 1000;

fn play(scene: &str, stdout: Stdio) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "output::tests::scenes", "--ignored", "--nocapture", "--quiet"])
        .env(SCENE, scene)
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Returns the scene's standard error.
fn said(child: Child) -> String {
    String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap()
}

#[test]
fn a_slow_reader_gets_everything_and_credit_comes_only_then() {
    let mut child = play("write", Stdio::piped());
    let mut reader = child.stdout.take().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let mut text = Vec::new();
    reader.read_to_end(&mut text).unwrap();
    assert_eq!(text.iter().filter(|b| **b == b'x').count(), PIECE * PIECES);
    let said = said(child);
    assert!(said.contains("credited 1000 of 1000, told to end 0 times"), "{said}");
    // A pipe holds 64 KiB at first, so most output had to wait for the reader.
    let early: usize = said.split("early ").nth(1).unwrap().split_whitespace().next().unwrap().parse().unwrap();
    assert!(early <= 66, "{said}");
}

#[test]
fn a_reader_that_goes_away_ends_the_job_once_and_blocks_nothing() {
    let mut child = play("write", Stdio::piped());
    let mut reader = child.stdout.take().unwrap();
    reader.read_exact(&mut [0; 5000]).unwrap();
    drop(reader);
    let said = said(child);
    assert!(said.contains("credited 1000 of 1000, told to end 1 times"), "{said}");
}

#[test]
fn a_file_takes_everything() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let child = play("write", file.reopen().unwrap().into());
    let said = said(child);
    assert!(said.contains("credited 1000 of 1000"), "{said}");
    let text = std::fs::read(file.path()).unwrap();
    assert_eq!(text.iter().filter(|b| **b == b'x').count(), PIECE * PIECES);
}

#[test]
fn a_socket_takes_everything() {
    let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let child = play("write", Stdio::from(std::os::fd::OwnedFd::from(theirs)));
    let mut text = Vec::new();
    ours.read_to_end(&mut text).unwrap();
    assert_eq!(text.iter().filter(|b| **b == b'x').count(), PIECE * PIECES);
    let said = said(child);
    assert!(said.contains("credited 1000 of 1000, told to end 0 times"), "{said}");
}

#[test]
fn a_shared_standard_output_stays_blocking() {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut child = play("write", writer.try_clone().unwrap().into());
    let drain = std::thread::spawn(move || {
        let mut reader = reader;
        std::io::copy(&mut reader, &mut std::io::sink()).unwrap()
    });
    child.wait().unwrap();
    let flags = rustix::fs::fcntl_getfl(&writer).unwrap();
    assert!(!flags.contains(OFlags::NONBLOCK));
    drop(writer);
    drain.join().unwrap();
}

/// Not a test: what the copies of this binary do.
#[test]
#[ignore = "played by the tests above"]
fn scenes() {
    if std::env::var(SCENE).as_deref() != Ok("write") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let (inbox, mut inputs) = unbounded_channel();
        let mut sinks = OutputSinks::new(inbox);
        for _ in 0..PIECES {
            let account = Account { daemon: DaemonRank(0), job: JobId(1), bytes: PIECE as u64, share: None };
            sinks.write(Stream::Stdout, Bytes::from(vec![b'x'; PIECE]), Some(account));
        }
        let (early, mut ends) = count(&mut inputs);
        sinks.flush().await;
        let (late, more) = count(&mut inputs);
        ends += more;
        let line = format!("credited {} of {PIECES}, told to end {ends} times, early {early} .\n", early + late);
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    });
}

fn count(inputs: &mut UnboundedReceiver<Input>) -> (usize, usize) {
    let (mut credits, mut ends) = (0, 0);
    while let Ok(input) = inputs.try_recv() {
        match input {
            Input::Head(HeadInput::OutputWritten(_)) => credits += 1,
            Input::Terminate { .. } => ends += 1,
            other => panic!("unexpected {other:?}"),
        }
    }
    (credits, ends)
}
