//! Files that a job brings along (docs/spec/launch.md, L70 to L73).

mod common;

use bytes::Bytes;
use common::{Cluster, job};
use ferrite_core::{DaemonInput, Effect, HeadInput, Input, StageEffect};
use ferrite_types::*;
use ferrite_wire::FilePiece;

const SIZE: u64 = 300 * 1024;

fn with_file(np: u32) -> JobSpec {
    let kind = PreloadKind::File { size: SIZE, executable: false };
    let entry = PreloadEntry { name: "a.txt".to_owned(), source: "/home/u/a.txt".to_owned(), kind };
    JobSpec { preload: vec![entry], ..job("a.out", np) }
}

/// Answers the questions of the head for pieces, as a reader of a file full of `a`.
fn read(dvm: &mut Cluster) {
    while !dvm.file_reads.is_empty() {
        let (at, effect) = dvm.file_reads.remove(0);
        let Effect::ReadFile { request, entry, offset, length, path } = effect else { panic!("{effect:?}") };
        assert_eq!(path, "/home/u/a.txt");
        let piece = Ok(FilePiece::new(entry, offset, Bytes::from(vec![b'a'; length as usize])));
        dvm.input(at, Input::Head(HeadInput::FileRead { request, piece }));
        dvm.run();
    }
}

/// Writes what came, at all nodes but one.
fn write(dvm: &mut Cluster, but: Option<u32>) {
    let mut kept = Vec::new();
    for (at, job, step) in std::mem::take(&mut dvm.staged) {
        if but == Some(at.0) {
            kept.push((at, job, step));
            continue;
        }
        match step {
            StageEffect::Begin(_) => {}
            StageEffect::Write { data, .. } => {
                dvm.input(at, Input::Daemon(DaemonInput::Staged { job, bytes: data.len() as u64 }));
            }
            StageEffect::Finish => dvm.input(at, Input::Daemon(DaemonInput::StageEnded { job, result: Ok(()) })),
        }
        dvm.run();
    }
    dvm.staged = kept;
}

/// No process starts before all nodes have confirmed (spec L71).
#[test]
fn processes_start_when_every_node_has_confirmed() {
    let mut dvm = Cluster::with_job(3, &[], with_file(3));
    read(&mut dvm);
    write(&mut dvm, Some(2));
    assert!(dvm.running.is_empty(), "node 2 has not confirmed");
    write(&mut dvm, None);
    assert_eq!(dvm.running.len(), 3);
    assert!(dvm.running.values().all(|(_, request)| request.preloaded));
    dvm.exit_job(1);
    assert_eq!(dvm.exits[&DaemonRank::HEAD], 0);
}

/// Each node gets each byte once, however many processes it has (spec L70).
#[test]
fn a_file_goes_to_each_node_once() {
    let mut dvm = Cluster::with_job(2, &[], with_file(2));
    read(&mut dvm);
    let bytes = |rank: u32| -> usize {
        let of_node = dvm.staged.iter().filter(|(at, ..)| at.0 == rank);
        of_node.map(|(.., step)| if let StageEffect::Write { data, .. } = step { data.len() } else { 0 }).sum()
    };
    assert_eq!([bytes(0), bytes(1)], [SIZE as usize; 2]);
}

/// The message names node, file and cause; nothing was started (spec L73).
#[test]
fn a_node_that_cannot_write_ends_the_job() {
    let mut dvm = Cluster::with_job(2, &[], with_file(2));
    read(&mut dvm);
    let result = Err((0, "No space left on device".to_owned()));
    dvm.input(DaemonRank(1), Input::Daemon(DaemonInput::StageEnded { job: JobId(1), result }));
    dvm.run();
    write(&mut dvm, Some(1));
    assert!(dvm.running.is_empty());
    let text = dvm.notices.join("\n");
    assert!(text.contains("node n1") && text.contains("a.txt: No space left on device"), "{text}");
    assert_eq!(dvm.exits[&DaemonRank::HEAD], 1);
}

/// A file that has changed or vanished meanwhile ends the job (spec L73).
#[test]
fn a_file_that_cannot_be_read_any_more_ends_the_job() {
    let mut dvm = Cluster::with_job(2, &[], with_file(2));
    let (at, Effect::ReadFile { request, .. }) = dvm.file_reads.remove(0) else { panic!("nothing is read") };
    let piece = Err("/home/u/a.txt: No such file or directory".to_owned());
    dvm.input(at, Input::Head(HeadInput::FileRead { request, piece }));
    dvm.run();
    assert!(dvm.notices.join("\n").contains("/home/u/a.txt: No such file"), "{:?}", dvm.notices);
    assert_eq!(dvm.exits[&DaemonRank::HEAD], 1);
}

/// A name that leads out of the job's files is refused by the head, whoever has sent it (spec L72).
#[test]
fn a_name_that_leads_outside_is_refused() {
    let mut spec = with_file(2);
    spec.preload[0].name = "../a.txt".to_owned();
    let dvm = Cluster::with_job(2, &[], spec);
    assert!(dvm.file_reads.is_empty() && dvm.staged.is_empty());
    assert!(dvm.notices.join("\n").contains("upwards"), "{:?}", dvm.notices);
}
