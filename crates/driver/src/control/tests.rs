//! Clients at the real socket; the machine behind it is played by the test.

use std::os::unix::fs::PermissionsExt;

use ferrite_types::{DaemonRank, JobSpec, JobState, Rank, SessionId};
use ferrite_wire::control::{
    ClientMessage, Done, DvmStatus, GREETING_LEN, Histogram, Metrics, Request, Submission, greeting,
};
use ferrite_wire::{ResizeOutcome, ResizeRequest, ShrinkRequest};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::LocalSet;

use super::service::Opened;
use super::*;
use crate::session_dir::SessionDir;
use ferrite_core::HeadInput;

struct Door {
    _base: TempDir,
    socket: std::path::PathBuf,
    control: Control,
    inputs: UnboundedReceiver<Input>,
    questions: UnboundedReceiver<Input>,
}

impl Door {
    fn new() -> Door {
        let base = tempfile::tempdir().unwrap();
        let (inbox, inputs) = tokio::sync::mpsc::unbounded_channel();
        let service = Opened::new(Rc::new(Echo), "prte-here-1", std::time::Instant::now());
        let (asked, questions) = tokio::sync::mpsc::unbounded_channel();
        let control = Control::new(inbox, asked, "prte-here-1", Some(service));
        let socket = listen(&control, &SessionDir::planned(base.path(), "prte", 1)).unwrap();
        Door { _base: base, socket, control, inputs, questions }
    }

    async fn client(&self) -> UnixStream {
        let mut stream = UnixStream::connect(&self.socket).await.unwrap();
        stream.write_all(&greeting()).await.unwrap();
        let mut theirs = [0; GREETING_LEN];
        stream.read_exact(&mut theirs).await.unwrap();
        assert_eq!(theirs, greeting());
        stream
    }

    async fn request(&mut self) -> (RequestId, Request) {
        let input = tokio::select! {
            input = self.inputs.recv() => input,
            input = self.questions.recv() => input,
        };
        match input.unwrap() {
            Input::Head(HeadInput::Request { id, request }) => (id, request),
            other => panic!("{other:?} is no request"),
        }
    }
}

async fn say(stream: &mut UnixStream, message: ClientMessage) {
    stream.write_all(&message.encode_frame()).await.unwrap();
}

async fn hear(stream: &mut UnixStream) -> DvmMessage {
    let length = stream.read_u32_le().await.unwrap();
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body).await.unwrap();
    DvmMessage::decode(&body).unwrap()
}

fn submit(id: u32) -> ClientMessage {
    ClientMessage::Open { id, request: Request::Submit(Box::new(Submission::of(JobSpec::new(Vec::new())))) }
}

fn play(scene: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, scene);
}

#[test]
fn what_concerns_a_submission_reaches_its_client_under_its_own_number() {
    play(async {
        let mut door = Door::new();
        let (mut one, mut other) = (door.client().await, door.client().await);
        say(&mut one, submit(7)).await;
        let (first, _) = door.request().await;
        say(&mut other, submit(7)).await;
        let (second, _) = door.request().await;
        assert_ne!(first, second);
        door.control.accepted(second, JobId(3));
        let account = Account { daemon: DaemonRank(1), job: JobId(3), bytes: 2, share: None };
        door.control.output(second, Rank(0), Stream::Stdout, Bytes::from_static(b"hi"), Some(account));
        door.control.reply(second, Reply::Done(Done { exit_code: 0, job: None }));
        let nspace = "prte-here-1@3".to_owned();
        assert_eq!(hear(&mut other).await, DvmMessage::Accepted { id: 7, job: JobId(3), nspace });
        let data = Bytes::from_static(b"hi");
        assert_eq!(hear(&mut other).await, DvmMessage::Output { id: 7, rank: Rank(0), stream: Stream::Stdout, data });
        let reply = Reply::Done(Done { exit_code: 0, job: None });
        assert_eq!(hear(&mut other).await, DvmMessage::Reply { id: 7, reply });
        let Some(Input::Head(HeadInput::OutputWritten(written))) = door.inputs.recv().await else {
            panic!("no credit")
        };
        assert_eq!(written, account);
        assert!(one.try_read(&mut [0]).is_err(), "the first client heard of the second one's job");
    });
}

#[test]
fn a_large_picture_travels_in_pieces_of_which_the_last_says_so() {
    play(async {
        let mut door = Door::new();
        let mut client = door.client().await;
        say(&mut client, submit(7)).await;
        let (request, _) = door.request().await;
        for size in [0, PICTURE_PIECE, 2 * PICTURE_PIECE + 5] {
            let picture: Vec<u8> = (0..size).map(|i| i as u8).collect();
            door.control.picture(request, PictureFormat::Html, picture.clone().into());
            let (mut whole, mut complete) = (Vec::new(), false);
            while !complete {
                let DvmMessage::Picture { id: 7, format: PictureFormat::Html, data, last } = hear(&mut client).await
                else {
                    panic!("no piece of it")
                };
                assert!(data.len() <= PICTURE_PIECE);
                whole.extend_from_slice(&data);
                complete = last;
            }
            assert_eq!(whole, picture);
        }
    });
}

#[test]
fn a_client_that_goes_leaves_its_requests_and_its_windows_behind() {
    play(async {
        let mut door = Door::new();
        let mut client = door.client().await;
        say(&mut client, submit(1)).await;
        let (request, _) = door.request().await;
        let account = Account { daemon: DaemonRank(1), job: JobId(3), bytes: 32 << 20, share: None };
        // More than a socket holds, so that most of it waits.
        door.control.output(request, Rank(0), Stream::Stdout, vec![b'x'; 32 << 20].into(), Some(account));
        tokio::task::yield_now().await;
        door.control.output(
            request,
            Rank(0),
            Stream::Stdout,
            Bytes::from_static(b"x"),
            Some(Account { bytes: 1, ..account }),
        );
        drop(client);
        let (mut credited, mut gone) = (0, 0);
        while gone == 0 {
            match door.inputs.recv().await.unwrap() {
                Input::Head(HeadInput::OutputWritten(account)) => credited += account.bytes,
                Input::Head(HeadInput::ClientGone(id)) => {
                    assert_eq!(id, request);
                    gone += 1;
                }
                other => panic!("unexpected {other:?}"),
            }
        }
        assert_eq!(credited, (32 << 20) + 1);
        // Later messages are for nobody, and hold nobody up.
        door.control.output(
            request,
            Rank(0),
            Stream::Stdout,
            Bytes::from_static(b"y"),
            Some(Account { bytes: 5, ..account }),
        );
        let Some(Input::Head(HeadInput::OutputWritten(late))) = door.inputs.recv().await else { panic!("no credit") };
        assert_eq!(late.bytes, 5);
    });
}

#[test]
fn strangers_garbage_and_a_number_used_twice_end_one_connection_only() {
    play(async {
        let mut door = Door::new();
        let mut bystander = door.client().await;
        let mut stranger = UnixStream::connect(&door.socket).await.unwrap();
        stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let mut all = Vec::new();
        stranger.read_to_end(&mut all).await.ok();
        assert_eq!(all, greeting(), "a stranger is told what this is, and no more");
        for garbage in [&[0xff, 0xff, 0xff, 0xff][..], &[3, 0, 0, 0, 0xee, 0xee, 0xee]] {
            let mut client = door.client().await;
            client.write_all(garbage).await.unwrap();
            assert!(client.read_u8().await.is_err());
        }
        let mut twice = door.client().await;
        say(&mut twice, submit(1)).await;
        let (request, _) = door.request().await;
        say(&mut twice, submit(1)).await;
        assert!(twice.read_u8().await.is_err());
        assert!(matches!(door.inputs.recv().await, Some(Input::Head(HeadInput::ClientGone(id))) if id == request));
        say(&mut bystander, ClientMessage::Open { id: 2, request: Request::Status }).await;
        assert!(matches!(door.request().await, (_, Request::Status)));
    });
}

#[test]
fn who_follows_and_does_not_read_loses_events_and_is_told_how_many() {
    play(async {
        let door = Door::new();
        let mut client = door.client().await;
        say(&mut client, ClientMessage::Follow { id: 9 }).await;
        while door.control.hub.clients.borrow().iter().all(|c| c.follows().is_none()) {
            tokio::task::yield_now().await;
        }
        let step = Transition::Job { job: JobId(1), from: None, to: JobState::Init };
        const STEPS: u64 = 400_000;
        for at in 0..STEPS {
            door.control.event(Timestamp(at), &step);
        }
        let mut heard = 0;
        let mut lost = 0;
        while heard + lost < STEPS - 1 {
            match hear(&mut client).await {
                DvmMessage::Event { id: 9, .. } => heard += 1,
                DvmMessage::EventsLost { id: 9, count } => lost += count,
                other => panic!("unexpected {other:?}"),
            }
            if heard % 1000 == 0 && lost == 0 {
                // One more, once there is room, says what was left out.
                door.control.event(Timestamp(STEPS), &step);
            }
        }
        assert!(lost > 0 && heard > 0, "heard {heard}, lost {lost}");
    });
}

#[test]
fn the_contact_file_is_private_and_reports_go_with_the_dvm() {
    let base = tempfile::tempdir().unwrap();
    let contact = ferrite_wire::DvmContact {
        dvm: "prte-here-1".to_owned(),
        endpoints: Vec::new(),
        pid: 1,
        host: "here".to_owned(),
        started_s: 1,
        head: None,
        batch: None,
        system: false,
        socket: "/nowhere".to_owned(),
        control: 1,
        remote: None,
        key: None,
    };
    let report = crate::Report::File(base.path().join("uri"));
    let mut published = Published::default();
    published.contact(&contact, base.path(), Some(&report)).unwrap();
    let file = base.path().join("contact");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(ferrite_wire::DvmContact::parse(&std::fs::read_to_string(file).unwrap()), Ok(contact));
    assert!(base.path().join("uri").exists());
    drop(published);
    assert!(!base.path().join("uri").exists());
}

#[test]
fn a_prometheus_that_asks_is_answered_and_others_are_told_how_to() {
    play(async {
        let mut door = Door::new();
        let path = door.socket.with_file_name("metrics");
        metrics::listen(&door.control, path.to_str().unwrap()).unwrap();
        let mut caller = UnixStream::connect(&path).await.unwrap();
        caller.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n").await.unwrap();
        let (id, request) = door.request().await;
        assert_eq!(request, Request::Metrics);
        door.control.reply(id, Reply::Metrics(Box::new(counted())));
        let mut text = String::new();
        caller.read_to_string(&mut text).await.unwrap();
        for line in [
            "HTTP/1.1 200 OK\r\n",
            "\nferrite_jobs_started_total 5\n",
            "\nferrite_slots_in_use 3\n",
            "\nferrite_launch_seconds_bucket{le=\"0.002\"} 4\n",
            "\nferrite_launch_seconds_bucket{le=\"+Inf\"} 5\nferrite_launch_seconds_sum 0.0095\n",
        ] {
            assert!(text.contains(line), "no {line:?} in {text}");
        }
        let mut other = UnixStream::connect(&path).await.unwrap();
        other.write_all(b"POST / HTTP/1.1\r\n\r\n").await.unwrap();
        let mut text = String::new();
        other.read_to_string(&mut text).await.unwrap();
        assert!(text.starts_with("HTTP/1.1 405 "), "{text}");
    });
}

#[test]
fn connections_that_ask_nothing_are_bounded_and_keep_no_prometheus_out() {
    play(async {
        let mut door = Door::new();
        let path = door.socket.with_file_name("metrics");
        metrics::listen(&door.control, path.to_str().unwrap()).unwrap();
        let mut silent = Vec::new();
        for _ in 0..metrics::ASKERS.most + 1 {
            silent.push(UnixStream::connect(&path).await.unwrap());
        }
        assert_eq!(silent[0].read(&mut [0; 1]).await.unwrap(), 0, "the oldest is hung up on");
        let mut caller = UnixStream::connect(&path).await.unwrap();
        caller.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").await.unwrap();
        let (id, _) = door.request().await;
        door.control.reply(id, Reply::Metrics(Box::new(counted())));
        let mut text = String::new();
        caller.read_to_string(&mut text).await.unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
    });
}

fn counted() -> Metrics {
    let status = DvmStatus {
        dvm: "prte-here-1".to_owned(),
        version: "1".to_owned(),
        now_us: 0,
        state: None,
        waiting_for: String::new(),
        nodes: 2,
        daemons: 2,
        slots: 8,
        slots_in_use: 3,
        jobs_running: 1,
        jobs_queued: 0,
        jobs_held: 0,
        campaigns: Vec::new(),
        jobs_ended: 4,
        jobs_failed: 1,
        procs_running: 3,
        resources: Vec::new(),
    };
    Metrics {
        status,
        jobs_submitted: 5,
        jobs_started: 5,
        procs_started: 9,
        launch: Histogram { buckets: vec![(1_000, 2), (2_000, 2)], above: 1, sum_us: 9_500 },
        output_bytes: 6,
        stdin_bytes: 7,
        xcasts: 1,
        daemons_lost: 2,
        repairs: 1,
        rejoins: 3,
        late_messages: vec![("output".to_owned(), 2)],
        grows: 4,
        grows_failed: 1,
        shrinks: 3,
    }
}

fn resize(outcome: ResizeOutcome) -> Resize {
    Resize { alloc_id: Some("a1".into()), req_id: None, session: Some(SessionId(1)), nodes: Vec::new(), outcome }
}

#[test]
fn what_follows_a_reply_is_for_tools_and_ends_with_them() {
    play(async {
        let mut door = Door::new();
        let shrink = ResizeRequest::Shrink(ShrinkRequest::default());
        let asks = |id| ClientMessage::Open { id, request: Request::Resize(Box::new(shrink.clone())) };
        let (mut tool, mut client) = (door.client().await, door.client().await);
        say(&mut tool, ClientMessage::Tool).await;
        say(&mut tool, asks(5)).await;
        let (of_tool, _) = door.request().await;
        say(&mut tool, submit(6)).await;
        let (job, _) = door.request().await;
        say(&mut client, asks(5)).await;
        let (of_client, _) = door.request().await;
        door.control.launched(job, Ok(()));
        assert_eq!(hear(&mut tool).await, DvmMessage::Launched { id: 6, result: Ok(()) });
        for request in [of_tool, of_client] {
            door.control.reply(request, Reply::Resize(Box::new(resize(ResizeOutcome::Begun))));
        }
        assert!(matches!(hear(&mut tool).await, DvmMessage::Reply { id: 5, .. }));
        let done = resize(ResizeOutcome::Done);
        assert!(!door.control.resized(of_client, &done), "a client hears it by its reply, or not at all");
        assert!(door.control.resized(of_tool, &done));
        assert_eq!(hear(&mut tool).await, DvmMessage::Resized { id: 5, resize: Box::new(done.clone()) });
        drop((tool, client));
        let mut gone = Vec::new();
        while gone.len() < 2 {
            match door.inputs.recv().await.unwrap() {
                Input::Head(HeadInput::ToolGone(requests)) => assert_eq!(requests, [of_tool, job]),
                Input::Head(HeadInput::ClientGone(request)) => gone.push(request),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(gone, [job, of_tool], "the job that runs, and the change that may go on");
        assert!(!door.control.resized(of_tool, &done));
    });
}

/// A service that asks for the nodes when it hears a line, and says what it is told.
#[derive(Debug)]
pub(super) struct Echo;

/// The line that closes a conversation with it, and its answer.
pub(super) const CLOSE: &[u8] = b"{\"schema\":1,\"kind\":\"close\"}\n";
pub(super) const CLOSED: &[u8] = b"{\"schema\":1,\"kind\":\"closed\",\"id\":null}\n";

#[derive(Debug, Default)]
struct EchoTalk(Vec<u8>);

impl service::Service for Echo {
    fn interpreter(&self, _dvm: &str, _began: Duration) -> Box<dyn Interpreter> {
        Box::<EchoTalk>::default()
    }
}

impl Interpreter for EchoTalk {
    fn hear(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn next(&mut self, _now: Duration) -> Option<service::Said> {
        let end = self.0.iter().position(|byte| *byte == b'\n')?;
        let lines: Vec<u8> = self.0.drain(..=end).collect();
        if lines == CLOSE {
            return Some(service::Said { lines: CLOSED.to_vec(), is_over: true, ..service::Said::default() });
        }
        let messages = vec![ClientMessage::Open { id: 1, request: Request::Nodes }, ClientMessage::Follow { id: 0 }];
        Some(service::Said { lines, messages, is_over: false })
    }

    fn tell(&mut self, message: DvmMessage, _now: Duration) -> service::Said {
        match message {
            // This question reaches the machine although the machine is being served.
            DvmMessage::Reply { id: 1, .. } => {
                let messages = vec![ClientMessage::Open { id: 2, request: Request::Jobs }];
                service::Said { lines: b"{reply}\n".to_vec(), messages, is_over: false }
            }
            DvmMessage::Event { .. } => service::Said::default(),
            other => service::Said { lines: format!("{other:?}\n").into_bytes(), ..service::Said::default() },
        }
    }
}

/// The bytes of a client of the service (spec L90).
#[test]
fn a_client_that_begins_with_a_brace_speaks_lines() {
    play(async {
        let mut door = Door::new();
        let mut client = UnixStream::connect(&door.socket).await.unwrap();
        client.write_all(b"{a").await.unwrap();
        tokio::task::yield_now().await;
        client.write_all(b"}\n").await.unwrap();
        let (asked, request) = door.request().await;
        assert_eq!(request, Request::Nodes);
        let mut line = [0; 4];
        client.read_exact(&mut line).await.unwrap();
        assert_eq!(&line, b"{a}\n", "no greeting, and the line as it was sent");
        door.control.reply(asked, Reply::Nodes(Vec::new()));
        let mut line = [0; 8];
        client.read_exact(&mut line).await.unwrap();
        assert_eq!(&line, b"{reply}\n");
        let (_, request) = door.request().await;
        assert_eq!(request, Request::Jobs, "an answer made it ask more");
        // Events of which it says nothing are no lines.
        let step = Transition::Job { job: JobId(1), from: None, to: JobState::Init };
        (0..100).for_each(|_| door.control.event(Timestamp(1), &step));
        drop(client);
        assert!(matches!(door.inputs.recv().await, Some(Input::Head(HeadInput::ClientGone(_)))), "its request is over");
    });
}

/// The last line of a client of the service arrives, whatever the client has sent behind its own (spec L153).
#[test]
fn a_client_that_closes_gets_its_last_line_and_then_the_end() {
    play(async {
        let mut door = Door::new();
        let mut client = UnixStream::connect(&door.socket).await.unwrap();
        client.write_all(&[b"{a}\n", CLOSE].concat()).await.unwrap();
        client.write_all(&vec![b'x'; 3 << 20]).await.unwrap();
        let mut all = Vec::new();
        client.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, [b"{a}\n", CLOSED].concat());
        let (asked, _) = door.request().await;
        drop(client);
        let gone = door.inputs.recv().await;
        assert!(matches!(gone, Some(Input::Head(HeadInput::ClientGone(id))) if id == asked), "{gone:?}");
    });
}

/// Questions pass the submissions of others and no request of their own client (spec L129).
#[test]
fn a_question_has_a_way_of_its_own_unless_its_client_waits_for_something() {
    play(async {
        let mut door = Door::new();
        let (mut bulk, mut asker) = (door.client().await, door.client().await);
        say(&mut bulk, submit(1)).await;
        say(&mut bulk, ClientMessage::Open { id: 2, request: Request::Jobs }).await;
        say(&mut asker, ClientMessage::Open { id: 1, request: Request::Jobs }).await;
        let Some(Input::Head(HeadInput::Request { id, request: Request::Jobs })) = door.questions.recv().await else {
            panic!("the question")
        };
        door.control.reply(id, Reply::Jobs(Vec::new()));
        assert_eq!(hear(&mut asker).await, DvmMessage::Reply { id: 1, reply: Reply::Jobs(Vec::new()) });
        // Its request has its reply: the next question is alone again, and an order is none.
        say(&mut asker, ClientMessage::Open { id: 2, request: Request::Kill(JobId(1)) }).await;
        say(&mut asker, ClientMessage::Open { id: 3, request: Request::Status }).await;
        let mut found = Vec::new();
        while found.len() < 4 {
            let Some(Input::Head(HeadInput::Request { request, .. })) = door.inputs.recv().await else {
                panic!("a request")
            };
            found.push(request);
        }
        let at = |wanted: Request| found.iter().position(|request| *request == wanted).unwrap();
        assert!(at(Request::Kill(JobId(1))) < at(Request::Status) && at(Request::Jobs) > 0, "{found:?}");
        assert!(door.questions.try_recv().is_err());
    });
}
