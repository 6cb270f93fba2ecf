use bytes::Bytes;
use ferrite_types::PreloadKind;

use super::super::{PIECE, Receiving};
use super::*;

fn file(name: &str, size: u64) -> PreloadEntry {
    let kind = PreloadKind::File { size, executable: false };
    PreloadEntry { name: name.to_owned(), source: format!("/s/{name}"), kind }
}

fn nodes(ranks: &[u32]) -> RankSet {
    ranks.iter().copied().map(DaemonRank).collect()
}

fn content(entry: u32, offset: u64, length: u32) -> FilePiece {
    let bytes: Vec<u8> = (0..u64::from(length)).map(|at| (u64::from(entry) + offset + at) as u8).collect();
    FilePiece::new(entry, offset, Bytes::from(bytes))
}

/// Lets the reader answer at once, and the nodes write at once, except those in `stuck`.
fn run(transfer: &mut Transfer, steps: Vec<Step>, receiving: &mut BTreeMap<u32, Receiving>, stuck: &[u32]) -> bool {
    let mut todo: VecDeque<Step> = steps.into();
    let mut complete = false;
    while let Some(step) = todo.pop_front() {
        match step {
            Step::Tell(_) => {}
            Step::Read { entry, offset, length } => {
                todo.extend(transfer.on_piece(content(entry, offset, length)).unwrap());
            }
            Step::Send(to, piece) => {
                for rank in to.iter() {
                    let node = receiving.get_mut(&rank.0).unwrap();
                    assert_eq!(node.on_piece(&piece), Some(Ok(())));
                    if stuck.contains(&rank.0) {
                        continue;
                    }
                    todo.extend(transfer.on_credit(rank, piece.data.len() as u64));
                    if node.is_at_end() {
                        todo.extend(transfer.on_complete(rank));
                    }
                }
            }
            Step::Complete => {
                assert!(!complete, "a round ends once");
                complete = true;
            }
        }
    }
    complete
}

fn three_files() -> Vec<PreloadEntry> {
    let directory = PreloadEntry { name: "d".to_owned(), source: String::new(), kind: PreloadKind::Directory };
    vec![file("a", 3 * PIECE + 7), directory, file("empty", 0), file("d/b", 2 * WINDOW)]
}

fn receivers(entries: &[PreloadEntry], ranks: &[u32]) -> BTreeMap<u32, Receiving> {
    ranks.iter().map(|rank| (*rank, Receiving::of(entries).unwrap())).collect()
}

#[test]
fn every_node_gets_every_byte_in_order_and_the_round_ends_once() {
    let entries = three_files();
    let mut transfer = Transfer::of(&entries);
    let mut receiving = receivers(&entries, &[0, 3]);
    let steps = transfer.begin(&nodes(&[0, 3]));
    assert_eq!(steps[0], Step::Tell(nodes(&[0, 3])));
    assert!(run(&mut transfer, steps, &mut receiving, &[]));
    assert!(!transfer.is_open());
    // The same nodes again need nothing.
    assert_eq!(transfer.begin(&nodes(&[0, 3])), [Step::Complete]);
}

#[test]
fn the_slowest_node_limits_what_is_on_its_way() {
    let entries = vec![file("a", 10 * WINDOW)];
    let mut transfer = Transfer::of(&entries);
    let mut receiving = receivers(&entries, &[1, 2]);
    let steps = transfer.begin(&nodes(&[1, 2]));
    assert!(!run(&mut transfer, steps, &mut receiving, &[2]));
    let round = transfer.round.as_ref().unwrap();
    assert_eq!((round.sent, round.requested), (WINDOW, WINDOW));
    assert_eq!(transfer.slowest(), Some((DaemonRank(2), 0, 10 * WINDOW)));
    // Its room lets all go on by the same amount.
    let steps = transfer.on_credit(DaemonRank(2), PIECE);
    assert!(matches!(steps[..], [Step::Read { length, .. }] if u64::from(length) == PIECE));
}

/// See spec L71.
#[test]
fn a_node_that_is_gone_holds_up_no_other() {
    let entries = vec![file("a", 2 * WINDOW)];
    let mut transfer = Transfer::of(&entries);
    let mut receiving = receivers(&entries, &[1, 2]);
    let steps = transfer.begin(&nodes(&[1, 2]));
    assert!(!run(&mut transfer, steps, &mut receiving, &[2]));
    let steps = transfer.forget(DaemonRank(2));
    assert!(run(&mut transfer, steps, &mut receiving, &[]));
    // The job is mapped again: only the new node gets the files.
    receiving.extend(receivers(&entries, &[5]));
    let steps = transfer.begin(&nodes(&[1, 5]));
    assert_eq!(steps[0], Step::Tell(nodes(&[5])));
    assert!(run(&mut transfer, steps, &mut receiving, &[]));
    assert_eq!(transfer.told(), &nodes(&[1, 2, 5]));
}

#[test]
fn the_last_node_that_is_gone_ends_the_round() {
    let mut transfer = Transfer::of(&[file("a", 100)]);
    transfer.begin(&nodes(&[1]));
    assert_eq!(transfer.forget(DaemonRank(1)), [Step::Complete]);
    assert_eq!(transfer.forget(DaemonRank(1)), []);
}

#[test]
fn a_piece_that_is_not_what_was_asked_for_is_refused() {
    let mut transfer = Transfer::of(&[file("a", 100)]);
    transfer.begin(&nodes(&[1]));
    let spoilt = FilePiece { sum: 1, ..content(0, 0, 100) };
    assert_eq!(transfer.on_piece(spoilt), Err(0));
    let mut transfer = Transfer::of(&[file("a", 100)]);
    transfer.begin(&nodes(&[1]));
    assert_eq!(transfer.on_piece(content(0, 50, 50)), Ok(Vec::new()), "nobody asked for it");
    assert_eq!(transfer.on_piece(content(0, 0, 99)), Err(0), "the file is shorter now");
    transfer.stop();
    assert_eq!(transfer.on_piece(content(0, 0, 100)), Ok(Vec::new()));
}

#[test]
fn files_without_content_need_no_reader() {
    let entries = vec![file("empty", 0)];
    let mut transfer = Transfer::of(&entries);
    assert_eq!(transfer.begin(&nodes(&[1])), [Step::Tell(nodes(&[1]))]);
    assert!(Receiving::of(&entries).unwrap().is_at_end());
    assert_eq!(transfer.on_complete(DaemonRank(1)), [Step::Complete]);
}

#[test]
fn a_node_refuses_what_is_missing_spoilt_or_too_much() {
    let entries = vec![file("a", 2 * PIECE)];
    let first = content(0, 0, PIECE as u32);
    let cause = |pieces: &[&FilePiece]| {
        let mut node = Receiving::of(&entries).unwrap();
        pieces.iter().find_map(|piece| node.on_piece(piece).unwrap().err()).unwrap_or_default()
    };
    let second = content(0, PIECE, PIECE as u32);
    assert_eq!(cause(&[&first, &second]), "");
    assert!(cause(&[&second]).contains("a: a piece is missing"));
    assert!(cause(&[&first, &first]).contains("a piece is missing"));
    assert!(cause(&[&FilePiece { sum: 0, ..first.clone() }]).contains("checksum"));
    assert!(cause(&[&content(0, 0, 5)]).contains("size"));
    let mut node = Receiving::of(&entries).unwrap();
    assert!(node.report() && !node.report(), "the head hears once");
    assert_eq!(node.on_piece(&first), None);
    let outside = PreloadEntry { name: "../a".to_owned(), ..file("a", 1) };
    assert!(Receiving::of(&[outside]).unwrap_err().contains("upwards"));
}
