use bytes::Bytes;
use ferrite_wire::{Dest, FrameKind, PREAMBLE_LEN, preamble};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::LocalSet;

use super::*;
use crate::secret::Secret;
use ferrite_core::{Lane, LaneInput, LinkInput};
use ferrite_wire::{SpreadId, SpreadMessage};

type Outbox = mpsc::UnboundedReceiver<Input>;

fn secret(key: u8) -> Rc<Secret> {
    Rc::new(Secret::taken_from(&mut [key; 32]).unwrap())
}

fn daemon(rank: u32, key: u8) -> (Links, Outbox) {
    let (inbox, outbox) = mpsc::unbounded_channel();
    let me = Identity { dvm: "prterun-host-1".to_owned(), rank: DaemonRank(rank), key: secret(key) };
    let mut links = Links::new(me, inbox, &[]).unwrap();
    links.open().unwrap();
    (links, outbox)
}

fn frame(payload: Bytes) -> Frame {
    Frame { dest: Dest::One(DaemonRank(0)), origin: DaemonRank(1), kind: FrameKind::Direct, payload }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(3)
}

async fn next(outbox: &mut Outbox) -> Input {
    tokio::time::timeout(Duration::from_secs(60), outbox.recv())
        .await
        .expect("something happens")
        .expect("the daemon lives")
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, test);
}

/// Two linked daemons, 0 and 1; daemon 1 called.
async fn pair() -> (Links, Outbox, Links, Outbox) {
    let (head, mut head_out) = daemon(0, 7);
    let (mut child, mut child_out) = daemon(1, 7);
    child.connect(DaemonRank(0), head.contact().clone(), soon(), true);
    assert!(matches!(next(&mut child_out).await, Input::Link(LinkInput::LinkUp { peer: DaemonRank(0) })));
    assert!(matches!(next(&mut head_out).await, Input::Link(LinkInput::LinkUp { peer: DaemonRank(1) })));
    (head, head_out, child, child_out)
}

#[test]
fn daemons_of_one_dvm_link_up_and_frames_keep_their_order_both_ways() {
    run(async {
        let (head, mut head_out, child, mut child_out) = pair().await;
        for i in 0..1000u32 {
            child.transmit(DaemonRank(0), frame(Bytes::copy_from_slice(&i.to_le_bytes())));
            head.transmit(DaemonRank(1), frame(Bytes::copy_from_slice(&i.to_le_bytes())));
        }
        for out in [&mut head_out, &mut child_out] {
            for i in 0..1000u32 {
                let Input::Link(LinkInput::Frame { frame, .. }) = next(out).await else { panic!("a frame") };
                assert_eq!(frame.payload[..], i.to_le_bytes());
            }
        }
    });
}

#[test]
fn a_frame_of_a_hundred_megabytes_comes_back_as_it_went() {
    run(async {
        let (_head, mut head_out, child, _child_out) = pair().await;
        let payload: Vec<u8> = (0..100_000_000u32).map(|i| (i ^ (i >> 13)) as u8).collect();
        let payload = Bytes::from(payload);
        let (began, mut signs) = (std::time::Instant::now(), 0);
        child.transmit(DaemonRank(0), frame(Bytes::from_static(b"before")));
        child.transmit(DaemonRank(0), frame(payload.clone()));
        child.transmit(DaemonRank(0), frame(Bytes::from_static(b"after")));
        for expected in [Bytes::from_static(b"before"), payload, Bytes::from_static(b"after")] {
            let frame = loop {
                match next(&mut head_out).await {
                    Input::Link(LinkInput::Frame { frame, .. }) => break frame,
                    // So large a frame takes so long that the link has to show that it is alive.
                    Input::Link(LinkInput::LinkActivity { peer: DaemonRank(1) }) => signs += 1,
                    other => panic!("a frame, not {other:?}"),
                }
            };
            assert!(frame.payload == expected);
        }
        assert!(signs > 0);
        eprintln!("100 MB in one frame: {:?}", began.elapsed());
    });
}

/// Not a test of time: prints what a link carries, for `docs/benchmarks.md`.
#[test]
fn a_gigabyte_in_many_frames_arrives_complete() {
    run(async {
        let (_head, mut head_out, child, _child_out) = pair().await;
        let total = 1usize << 30;
        let chunk = Bytes::from(vec![42u8; 64 * 1024]);
        let began = std::time::Instant::now();
        let (mut sent, mut received) = (0, 0);
        while received < total {
            while sent < total && sent - received < (4 << 20) {
                child.transmit(DaemonRank(0), frame(chunk.clone()));
                sent += chunk.len();
            }
            let Input::Link(LinkInput::Frame { frame, .. }) = next(&mut head_out).await else { panic!("a frame") };
            received += frame.payload.len();
        }
        let seconds = began.elapsed().as_secs_f64();
        eprintln!("{total} bytes in frames of 64 KB: {:.0} MB/s", total as f64 / 1e6 / seconds);
    });
}

#[test]
fn a_daemon_with_another_key_is_refused_and_told() {
    run(async {
        let (head, mut head_out) = daemon(0, 7);
        let (mut child, mut child_out) = daemon(1, 8);
        child.connect(DaemonRank(0), head.contact().clone(), soon(), true);
        let Input::Link(LinkInput::ConnectFailed { cause, .. }) = next(&mut child_out).await else {
            panic!("a refusal")
        };
        assert!(cause.contains("it may belong to another DVM"), "{cause}");
        assert!(head_out.try_recv().is_err());
    });
}

#[test]
fn another_version_is_named_to_the_caller() {
    run(async {
        let (_head, mut head_out) = daemon(0, 7);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let contact = Contact(vec![listener.local_addr().unwrap()]);
        tokio::task::spawn_local(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut other = preamble();
            other[8] ^= 1;
            other[16..21].copy_from_slice(b"9.8.7");
            stream.write_all(&other).await.unwrap();
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
        });
        let (mut child, mut child_out) = daemon(1, 7);
        child.connect(DaemonRank(0), contact, soon(), true);
        let Input::Link(LinkInput::ConnectFailed { cause, .. }) = next(&mut child_out).await else {
            panic!("a refusal")
        };
        assert!(cause.contains("version 9.8.7"), "{cause}");
        assert!(head_out.try_recv().is_err());
    });
}

#[test]
fn a_caller_of_another_version_still_gets_our_preamble() {
    run(async {
        let (head, mut head_out) = daemon(0, 7);
        let mut stream = TcpStream::connect(head.contact().0[0]).await.unwrap();
        let mut other = preamble();
        other[8] ^= 1;
        stream.write_all(&other).await.unwrap();
        stream.write_all(&[0; 300]).await.unwrap();
        let mut theirs = Vec::new();
        stream.read_to_end(&mut theirs).await.unwrap();
        assert_eq!(theirs, preamble());
        assert!(head_out.try_recv().is_err());
    });
}

#[test]
fn garbage_strangers_and_silence_disturb_no_link() {
    run(async {
        let (head, mut head_out, child, _child_out) = pair().await;
        let address = head.contact().0[0];
        let mut open = Vec::new();
        for i in 0..40usize {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let mut bytes = vec![0xa5u8; i * 37];
            if i % 2 == 0 && bytes.len() > PREAMBLE_LEN {
                bytes[..PREAMBLE_LEN].copy_from_slice(&preamble());
            }
            stream.write_all(&bytes).await.unwrap();
            open.push(stream);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        child.transmit(DaemonRank(0), frame(Bytes::from_static(b"still here")));
        let Input::Link(LinkInput::Frame { frame, .. }) = next(&mut head_out).await else { panic!("a frame") };
        assert_eq!(&frame.payload[..], b"still here");
        assert!(head_out.try_recv().is_err());
    });
}

#[test]
fn a_recorded_call_makes_no_link() {
    run(async {
        let (head, mut head_out) = daemon(0, 7);
        // A proxy between caller and head: it records the caller's first bytes and replays them later.
        let middle = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let contact = Contact(vec![middle.local_addr().unwrap()]);
        let (mut child, _child_out) = daemon(1, 7);
        child.connect(DaemonRank(0), contact, soon(), true);
        let (mut stream, _) = middle.accept().await.unwrap();
        let mut recording = vec![0; 1000];
        let n = stream.read(&mut recording).await.unwrap();
        assert!(n > PREAMBLE_LEN);
        let mut replay = TcpStream::connect(head.contact().0[0]).await.unwrap();
        replay.write_all(&recording[..n]).await.unwrap();
        replay.write_all(&[0; TAG_GUESS]).await.unwrap();
        let mut answer = Vec::new();
        let _ = replay.read_to_end(&mut answer).await;
        assert!(answer.len() > PREAMBLE_LEN);
        assert!(head_out.try_recv().is_err());
    });
}

const TAG_GUESS: usize = handshake::TAG;

#[test]
fn a_port_that_opens_late_is_still_reached() {
    run(async {
        let reserve = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = reserve.local_addr().unwrap();
        drop(reserve);
        let (mut child, mut child_out) = daemon(1, 7);
        child.connect(DaemonRank(0), Contact(vec![address]), soon(), true);
        tokio::time::sleep(Duration::from_millis(100)).await;
        let (inbox, _out) = mpsc::unbounded_channel();
        let shared = Rc::new(Shared {
            me: Identity { dvm: "prterun-host-1".to_owned(), rank: DaemonRank(0), key: secret(7) },
            inbox,
            table: RefCell::default(),
            lanes: RefCell::default(),
            tasks: RefCell::default(),
            heir: RefCell::default(),
        });
        let late = tokio::net::TcpListener::bind(address).await.unwrap();
        tokio::task::spawn_local(listener::accept(late, shared));
        assert!(matches!(next(&mut child_out).await, Input::Link(LinkInput::LinkUp { .. })));
    });
}

#[test]
fn nobody_there_is_an_error_that_names_the_address() {
    run(async {
        let reserve = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = reserve.local_addr().unwrap();
        drop(reserve);
        let (mut child, mut child_out) = daemon(1, 7);
        let deadline = Instant::now() + Duration::from_millis(200);
        child.connect(DaemonRank(0), Contact(vec![address]), deadline, true);
        let Input::Link(LinkInput::ConnectFailed { cause, .. }) = next(&mut child_out).await else {
            panic!("a failure")
        };
        assert!(cause.contains(&address.to_string()) && cause.contains("refused"), "{cause}");
    });
}

#[test]
fn who_does_not_insist_takes_a_refusal_for_an_answer() {
    run(async {
        let reserve = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = reserve.local_addr().unwrap();
        drop(reserve);
        let (mut child, mut child_out) = daemon(1, 7);
        // The deadline is far away: the answer comes before it, or this test hangs.
        let deadline = Instant::now() + Duration::from_secs(3_600);
        child.connect(DaemonRank(0), Contact(vec![address]), deadline, false);
        assert!(matches!(next(&mut child_out).await, Input::Link(LinkInput::ConnectFailed { refused: true, .. })));
        // A listener that says nothing is not gone.
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let there = silent.local_addr().unwrap();
        let deadline = Instant::now() + Duration::from_millis(200);
        child.connect(DaemonRank(0), Contact(vec![address, there]), deadline, false);
        assert!(matches!(next(&mut child_out).await, Input::Link(LinkInput::ConnectFailed { refused: false, .. })));
    });
}

#[test]
fn a_call_that_no_way_leads_to_ends_at_its_deadline() {
    run(async {
        // No connection leads to a multicast group: the kernel says so at once, every time.
        let nowhere: SocketAddr = "224.0.0.1:4000".parse().unwrap();
        let (mut child, mut child_out) = daemon(1, 7);
        for insist in [false, true] {
            let start = Instant::now();
            let deadline = start + Duration::from_millis(200);
            child.connect(DaemonRank(0), Contact(vec![nowhere]), deadline, insist);
            let Input::Link(LinkInput::ConnectFailed { cause, refused, .. }) = next(&mut child_out).await else {
                panic!("a failure")
            };
            assert!(cause.contains(&nowhere.to_string()) && cause.contains("unreachable") && !refused, "{cause}");
            assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        }
    });
}

#[test]
fn an_address_that_no_way_leads_to_does_not_keep_the_others_from_being_called() {
    run(async {
        let (head, _head_out) = daemon(0, 7);
        let (child, _child_out) = daemon(1, 7);
        let nowhere = (0..100).map(|port| SocketAddr::from(([224, 0, 0, 1], 4000 + port)));
        let there = head.contact().0.iter().copied().find(|address| address.ip().is_loopback()).unwrap();
        let contact = Contact(nowhere.chain([there]).collect());
        // The usual head start of so many others takes longer.
        let deadline = Instant::now() + Duration::from_secs(3);
        let answered = call::call(&child.shared.me, (DaemonRank(0), None), &contact, deadline, false, || true).await;
        assert_eq!(answered.map(|(stream, _)| stream.peer_addr().unwrap()).map_err(|failed| failed.cause), Ok(there));
    });
}

#[test]
fn of_two_calls_that_cross_the_one_of_the_higher_rank_stays() {
    run(async {
        let (head, mut head_out, child, mut child_out) = pair().await;
        // As if it had been on its way already when the child's call came.
        let crossing =
            call::call(&head.shared.me, (DaemonRank(1), None), child.contact(), soon(), false, || true).await;
        let (mut stream, _) = crossing.unwrap();
        assert_eq!(stream.read(&mut [0]).await.unwrap(), 0, "the child hangs up on it");
        child.transmit(DaemonRank(0), frame(Bytes::from_static(b"up")));
        head.transmit(DaemonRank(1), frame(Bytes::from_static(b"down")));
        for (out, expected) in [(&mut head_out, "up"), (&mut child_out, "down")] {
            let Input::Link(LinkInput::Frame { frame, .. }) = next(out).await else {
                panic!("the link is the old one")
            };
            assert_eq!(frame.payload, expected);
        }
    });
}

#[test]
fn the_loopback_of_another_machine_is_not_called() {
    let contact = |addresses: &[&str]| Contact(addresses.iter().map(|a| a.parse().unwrap()).collect());
    let own = contact(&["10.0.0.1:4000", "127.0.0.1:4000"]);
    let of_another = callable(contact(&["10.0.0.2:5000", "127.0.0.1:5000"]), &own);
    assert_eq!(of_another, contact(&["10.0.0.2:5000"]));
    for here in [&["10.0.0.1:5000", "127.0.0.1:5000"][..], &["127.0.0.1:5000"]] {
        assert_eq!(callable(contact(here), &own), contact(here));
    }
}

#[test]
fn closing_flushes_and_only_the_other_side_hears_of_it() {
    run(async {
        let (_head, mut head_out, mut child, mut child_out) = pair().await;
        for _ in 0..100 {
            child.transmit(DaemonRank(0), frame(Bytes::from(vec![1; 10_000])));
        }
        child.flush(Duration::from_secs(5), &Rc::new(Keeper::none())).await;
        for _ in 0..100 {
            assert!(matches!(next(&mut head_out).await, Input::Link(LinkInput::Frame { .. })));
        }
        assert!(matches!(next(&mut head_out).await, Input::Link(LinkInput::LinkLost { peer: DaemonRank(1), .. })));
        assert!(child_out.try_recv().is_err());
    });
}

#[test]
fn nobody_can_call_before_the_port_is_open_and_the_address_stays() {
    run(async {
        let (inbox, mut head_out) = mpsc::unbounded_channel();
        let me = Identity { dvm: "prterun-host-1".to_owned(), rank: DaemonRank(0), key: secret(7) };
        let mut head = Links::new(me, inbox, &[]).unwrap();
        let contact = head.contact().clone();
        for address in &contact.0 {
            let refused = tokio::net::TcpStream::connect(address).await.map(|_| ()).map_err(|error| error.kind());
            assert_eq!(refused, Err(io::ErrorKind::ConnectionRefused), "{address}");
        }
        head.open().unwrap();
        head.open().unwrap();
        let (mut child, mut child_out) = daemon(1, 7);
        child.connect(DaemonRank(0), contact, soon(), true);
        assert!(matches!(next(&mut child_out).await, Input::Link(LinkInput::LinkUp { peer: DaemonRank(0) })));
        assert!(matches!(next(&mut head_out).await, Input::Link(LinkInput::LinkUp { peer: DaemonRank(1) })));
    });
}

/// The next event of a lane.
async fn heard(outbox: &mut Outbox) -> LaneInput {
    match next(outbox).await {
        Input::Lane(input) => input,
        other => panic!("an event of a lane, not {other:?}"),
    }
}

#[test]
fn a_lane_carries_messages_both_ways_beside_the_link_and_ends_where_it_is_closed() {
    run(async {
        let (mut head, mut head_out, child, mut child_out) = pair().await;
        let (down, up) =
            (Lane { peer: DaemonRank(1), spread: SpreadId(4) }, Lane { peer: DaemonRank(0), spread: SpreadId(4) });
        head.open_lane(down, child.contact().clone(), soon());
        assert!(matches!(heard(&mut head_out).await, LaneInput::Up(lane) if lane == down));
        let piece = SpreadMessage::Piece(Bytes::from(vec![7; 300_000]));
        head.say(down, piece.clone());
        // The called side learns of the lane with the first message.
        assert!(
            matches!(heard(&mut child_out).await, LaneInput::Heard { lane, message } if lane == up && message == piece)
        );
        child.say(up, SpreadMessage::Ask(SpreadId(4)));
        assert!(matches!(heard(&mut head_out).await, LaneInput::Heard { message: SpreadMessage::Ask(_), .. }));
        // The link works as before, in both directions.
        child.transmit(DaemonRank(0), frame(Bytes::from_static(b"a")));
        assert!(matches!(next(&mut head_out).await, Input::Link(LinkInput::Frame { .. })));
        head.close_lane(down);
        assert!(matches!(heard(&mut child_out).await, LaneInput::Lost { lane, .. } if lane == up));
        head.transmit(DaemonRank(1), frame(Bytes::from_static(b"b")));
        assert!(matches!(next(&mut child_out).await, Input::Link(LinkInput::Frame { .. })));
    });
}

#[test]
fn a_lane_that_nobody_answers_is_lost_and_so_is_one_that_carries_something_else() {
    run(async {
        let (mut head, mut head_out, child, mut child_out) = pair().await;
        let nobody = Lane { peer: DaemonRank(2), spread: SpreadId(1) };
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        head.open_lane(nobody, Contact(vec![closed]), soon());
        let LaneInput::Lost { lane, cause } = heard(&mut head_out).await else { panic!("there is no lane") };
        assert_eq!(lane, nobody);
        assert!(cause.contains("refused"), "{cause}");

        let lane = Lane { peer: DaemonRank(1), spread: SpreadId(1) };
        head.open_lane(lane, child.contact().clone(), soon());
        assert!(matches!(heard(&mut head_out).await, LaneInput::Up(_)));
        let end = head.shared.lanes.borrow_mut().remove(&lane).unwrap();
        end.send(frame(Message::Daemon(ferrite_wire::DaemonMessage::Exit).encode()));
        let LaneInput::Lost { cause, .. } = heard(&mut child_out).await else { panic!("no such message") };
        assert_eq!(cause, "it has sent exit over a lane");
    });
}
