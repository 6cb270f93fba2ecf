//! A line whose other end is played by the test.

use std::cell::RefCell;

use ferrite_types::pmix_status::PMIX_ERR_OUT_OF_RESOURCE;
use ferrite_types::{JobSpec, PmixStatus, Rank, SessionId};
use ferrite_wire::Stream;
use ferrite_wire::control::Submission;
use tokio::io::DuplexStream;
use tokio::task::LocalSet;

use super::super::requests::{Requests, Submitter};
use super::*;

/// The messages to a submitter, in words.
#[derive(Default)]
struct Told(RefCell<Vec<String>>, RefCell<Vec<Receipt>>);

impl Told {
    fn note(&self, text: String) {
        self.0.borrow_mut().push(text);
    }
}

impl Submitter for Told {
    fn accepted(&self, nspace: String) {
        self.note(nspace);
    }
    fn launched(&self, result: Result<(), PmixStatus>) {
        self.note(format!("{result:?}"));
    }
    fn ready_for_debug(&self) {
        self.note("ready for debug".to_owned());
    }
    fn output(&self, _: Rank, _: Stream, data: Bytes, receipt: Receipt) {
        self.note(format!("{} bytes", data.len()));
        self.1.borrow_mut().push(receipt);
    }
    fn notice(&self, text: String) {
        self.note(text);
    }
    fn read_stdin(&self, limit: usize) {
        self.note(format!("reads {limit}"));
    }
    fn reply(&self, reply: Reply) {
        self.note(format!("{reply:?}"));
    }
}

struct Ends {
    tool: Requests,
    head: DuplexStream,
    later: UnboundedReceiver<Later>,
}

/// Opens a line; the head has greeted and knows that it is a tool's.
async fn ends() -> Ends {
    let (inbox, mut inputs) = unbounded_channel();
    let door = Waiting::default();
    let number = Rc::new(Cell::new(4));
    let lines = Lines { inbox, daemon: DaemonRank(3), door: door.clone(), number, requests: Rc::default() };
    let (later, heard) = unbounded_channel();
    let tool = Requests::Relayed(lines.open(later));
    let client = RelayId { daemon: DaemonRank(3), number: 5 };
    assert!(matches!(inputs.try_recv().unwrap(), Input::Relay(RelayInput::Came(came)) if came == client));
    let Some(Came::Tool(mut head)) = door.borrow_mut().remove(&client) else { panic!("nobody waits") };
    let mut greeted = [0; GREETING_LEN];
    head.read_exact(&mut greeted).await.unwrap();
    assert_eq!(greeted, greeting());
    head.write_all(&greeting()).await.unwrap();
    assert_eq!(asked(&mut head).await, ClientMessage::Tool);
    Ends { tool, head, later: heard }
}

async fn asked(head: &mut DuplexStream) -> ClientMessage {
    let mut body = vec![0; head.read_u32_le().await.unwrap() as usize];
    head.read_exact(&mut body).await.unwrap();
    ClientMessage::decode(&body).unwrap()
}

async fn says(head: &mut DuplexStream, message: DvmMessage) {
    head.write_all(&message.encode_frame()).await.unwrap();
}

async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
}

fn play(scene: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let scene = async { tokio::time::timeout(std::time::Duration::from_secs(30), scene).await.expect("it ends") };
    LocalSet::new().block_on(&runtime, scene);
}

fn submission() -> Submission {
    Submission::of(JobSpec::new(Vec::new()))
}

#[test]
fn a_submission_over_a_line_hears_what_one_at_the_head_hears() {
    play(async {
        let Ends { tool, mut head, .. } = ends().await;
        let told = Rc::new(Told::default());
        let request = tool.submit(submission(), told.clone());
        assert!(matches!(asked(&mut head).await, ClientMessage::Open { id: 1, request: Request::Submit(_) }));
        let job = ferrite_types::JobId(7);
        says(&mut head, DvmMessage::Accepted { id: 1, job, nspace: "dvm@7".to_owned() }).await;
        says(&mut head, DvmMessage::Launched { id: 1, result: Err(PMIX_ERR_OUT_OF_RESOURCE) }).await;
        says(&mut head, DvmMessage::ReadStdin { id: 1, limit: 10 }).await;
        until(|| told.0.borrow().len() == 3).await;
        tool.stdin(request, Bytes::from_static(b"abc"));
        assert_eq!(asked(&mut head).await, ClientMessage::Stdin { id: 1, data: Bytes::from_static(b"abc") });
        says(&mut head, DvmMessage::Reply { id: 1, reply: Reply::Ordered }).await;
        // Its number means nothing any more.
        says(&mut head, DvmMessage::Notice { id: 1, text: "late".to_owned() }).await;
        tool.ask(Request::Jobs, |_| {});
        assert!(matches!(asked(&mut head).await, ClientMessage::Open { id: 2, request: Request::Jobs }));
        until(|| told.0.borrow().len() == 4).await;
        let refused = format!("Err({PMIX_ERR_OUT_OF_RESOURCE:?})");
        assert_eq!(*told.0.borrow(), ["dvm@7", refused.as_str(), "reads 10", "Ordered"]);
    });
}

#[test]
fn no_more_is_read_than_the_tool_takes() {
    play(async {
        let Ends { tool, mut head, .. } = ends().await;
        let told = Rc::new(Told::default());
        tool.submit(submission(), told.clone());
        asked(&mut head).await;
        let piece =
            || DvmMessage::Output { id: 1, rank: Rank(0), stream: Stream::Stdout, data: Bytes::from(vec![0; 100_000]) };
        for _ in 0..3 {
            says(&mut head, piece()).await;
        }
        // The line holds these back, and the writer waits.
        let flood = spawn_local(async move {
            for _ in 0..3 {
                says(&mut head, piece()).await;
            }
            head
        });
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        assert_eq!(told.0.borrow().len(), 3);
        told.1.borrow_mut().clear();
        let _head = flood.await.unwrap();
        until(|| told.0.borrow().len() == 6).await;
    });
}

#[test]
fn what_follows_a_reply_comes_under_the_number_of_its_request() {
    play(async {
        let Ends { tool: _tool, mut head, mut later } = ends().await;
        let warning = TimeWarning {
            alloc_id: "a1".into(),
            req_id: None,
            session: SessionId(2),
            nodes: vec!["n1".to_owned()],
            seconds_left: 3,
        };
        says(&mut head, DvmMessage::Warned { id: 9, warning: warning.clone() }).await;
        match later.recv().await.unwrap() {
            Later::Warned(RequestId(9), heard) => assert_eq!(heard, warning),
            Later::Warned(..) | Later::Resized(..) => panic!("something else"),
        }
    });
}

#[test]
fn the_end_of_a_line_refuses_what_is_open_and_what_comes_after() {
    play(async {
        let Ends { tool, mut head, .. } = ends().await;
        let told = Rc::new(Told::default());
        tool.submit(submission(), told.clone());
        asked(&mut head).await;
        drop(head);
        until(|| told.0.borrow().len() == 1).await;
        tool.submit(submission(), told.clone());
        until(|| told.0.borrow().len() == 2).await;
        assert!(told.0.borrow().iter().all(|text| text.starts_with("Refused")), "{:?}", told.0.borrow());
    });
}

#[test]
fn a_tool_that_goes_ends_its_line_and_is_told_nothing() {
    play(async {
        let Ends { tool, mut head, .. } = ends().await;
        let told = Rc::new(Told::default());
        tool.submit(submission(), told.clone());
        asked(&mut head).await;
        tool.tool_gone(Vec::new());
        assert_eq!(head.read(&mut [0; 1]).await.unwrap(), 0);
        says(&mut head, DvmMessage::Reply { id: 1, reply: Reply::Ordered }).await;
        drop(head);
        tokio::task::yield_now().await;
        assert!(told.0.borrow().is_empty(), "{:?}", told.0.borrow());
    });
}

/// A client that a tool directs has lines of its own (spec L139).
#[test]
fn a_line_over_an_own_connection_says_that_it_is_a_tools_and_one_without_dvm_refuses() {
    play(async {
        let (own, theirs) = UnixStream::pair().unwrap();
        let given = RefCell::new(Some(own));
        let dials = Dials::new(Box::new(move || given.take().ok_or_else(|| "nobody is there".to_owned())));
        let tool = Requests::Relayed(dials.open(unbounded_channel().0));
        theirs.set_nonblocking(true).unwrap();
        let mut head = tokio::net::UnixStream::from_std(theirs).unwrap();
        let told = Rc::new(Told::default());
        tool.submit(submission(), told.clone());
        let mut body = vec![0; head.read_u32_le().await.unwrap() as usize];
        head.read_exact(&mut body).await.unwrap();
        assert_eq!(ClientMessage::decode(&body).unwrap(), ClientMessage::Tool);
        drop(head);
        until(|| told.0.borrow().len() == 1).await;
        let nobody = Requests::Relayed(dials.open(unbounded_channel().0));
        nobody.submit(submission(), told.clone());
        until(|| told.0.borrow().len() == 2).await;
        assert!(told.0.borrow().iter().all(|text| text.contains("Refused")), "{:?}", told.0.borrow());
    });
}
