//! A DVM that is no more than a contact file, a socket, and a thread that knows its answers.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use ferrite_types::{JobId, JobState, ProcState, Rank, SessionId};
use ferrite_wire::control::{
    BatchCounts, BatchId, BatchOrder, BatchPiece, BatchStatus, CONTROL_VERSION, ClientMessage, DvmMessage, DvmStatus,
    EndedJobs, Ending, GREETING_LEN, Histogram, JobDetail, JobStatus, Metrics, NodeStatus, ProcStatus, Reply, Request,
    SessionStatus, greeting,
};
use ferrite_wire::{DvmContact, JobResizeOutcome, JobResized, Resize, ResizeOutcome, ResizeRequest};

type Answer = dyn Fn(&Request) -> Option<Reply> + Send + Sync;

/// See the module. Its thread ends with the test.
pub(crate) struct Fake {
    dir: tempfile::TempDir,
    name: String,
    orders: Arc<Mutex<Vec<Request>>>,
}

/// The behaviour of the DVM.
struct Script {
    /// `None` = it hangs up.
    answer: Box<Answer>,
    /// The events for those who follow.
    events: Vec<DvmMessage>,
    /// It ends after them.
    ends: bool,
}

impl Fake {
    /// With the usual answers.
    pub(crate) fn new() -> Fake {
        Fake::answering(|request| Some(usual(request)))
    }

    /// With these answers; it hangs up instead of giving none.
    pub(crate) fn answering(answer: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static) -> Fake {
        let script = Script { answer: Box::new(answer), events: vec![event()], ends: false };
        Fake::start(script)
    }

    /// With these events for everybody who follows; then it ends, or not.
    pub(crate) fn following(events: Vec<DvmMessage>, ends: bool) -> Fake {
        Fake::start(Script { answer: Box::new(|request| Some(usual(request))), events, ends })
    }

    fn start(script: Script) -> Fake {
        // Others run DVMs on this machine, so that ours must be told from them.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("prte-fake-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let dir = tempfile::tempdir().unwrap();
        let session = dir.path().join("prte.1");
        std::fs::create_dir(&session).unwrap();
        let listener = UnixListener::bind(session.join("control")).unwrap();
        let contact = DvmContact {
            dvm: name.clone(),
            endpoints: Vec::new(),
            pid: 1,
            host: rustix::system::uname().nodename().to_str().unwrap().to_owned(),
            started_s: 1,
            head: None,
            batch: None,
            system: false,
            socket: session.join("control").display().to_string(),
            control: CONTROL_VERSION,
            remote: None,
            key: None,
        };
        std::fs::write(session.join("contact"), contact.to_text()).unwrap();
        let orders = Arc::new(Mutex::new(Vec::new()));
        let (script, noted) = (Arc::new(script), orders.clone());
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (script, noted) = (script.clone(), noted.clone());
                std::thread::spawn(move || converse(client.unwrap(), &script, &noted));
            }
        });
        Fake { dir, name, orders }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The orders that it was given.
    pub(crate) fn asked(&self) -> Vec<Request> {
        self.orders.lock().unwrap().clone()
    }
}

/// `pdvm` for this DVM.
pub(crate) fn pdvm(fake: &Fake) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pdvm"));
    command.env_clear().env("TMPDIR", fake.dir()).args(["--namespace", fake.name()]);
    command
}

/// Ends when the client goes: also the one that only looked whether somebody is there.
fn converse(mut client: UnixStream, script: &Script, orders: &Mutex<Vec<Request>>) -> Option<()> {
    client.write_all(&greeting()).ok()?;
    client.read_exact(&mut [0; GREETING_LEN]).ok()?;
    loop {
        let mut length = [0; 4];
        client.read_exact(&mut length).ok()?;
        let mut body = vec![0; u32::from_le_bytes(length) as usize];
        client.read_exact(&mut body).ok()?;
        match ClientMessage::decode(&body).unwrap() {
            ClientMessage::Open { id, request } => {
                let is_order = matches!(
                    request,
                    Request::Kill(_)
                        | Request::KillTree(_)
                        | Request::Signal { .. }
                        | Request::Resize(_)
                        | Request::ResizeJob(_)
                        | Request::Session { .. }
                );
                if is_order {
                    orders.lock().unwrap().push(request.clone());
                }
                let reply = (script.answer)(&request)?;
                client.write_all(&DvmMessage::Reply { id, reply }.encode_frame()).ok()?;
            }
            ClientMessage::Follow { .. } => {
                for event in &script.events {
                    client.write_all(&event.encode_frame()).ok()?;
                }
                if script.ends {
                    return None;
                }
            }
            other => panic!("pdvm never says {other:?}"),
        }
    }
}

fn event() -> DvmMessage {
    let what = ferrite_wire::control::EventKind::Job { job: JobId(1), state: JobState::Init };
    DvmMessage::Event { id: 1, event: ferrite_wire::control::Event { at_us: 1, what } }
}

/// The answers of a DVM with one job that runs and one that is over.
pub(crate) fn usual(request: &Request) -> Reply {
    match request {
        Request::Status => Reply::Status(Box::new(status())),
        Request::Nodes => Reply::Nodes(vec![node()]),
        Request::Jobs => Reply::Jobs(vec![job(2, Some(9_000_000)), job(1, None)]),
        Request::Ended { .. } => Reply::Ended(EndedJobs { jobs: vec![job(2, Some(9_000_000))], next: None }),
        Request::Job(id) | Request::Wait(id) => Reply::Job(Box::new(detail(id.0))),
        Request::Metrics => Reply::Metrics(Box::new(metrics())),
        Request::Sessions => Reply::Sessions(vec![session()]),
        Request::Kill(_)
        | Request::Feed { .. }
        | Request::Signal { .. }
        | Request::Session { .. }
        | Request::Release { .. } => Reply::Ordered,
        Request::KillTree(job) => Reply::Killed(vec![*job, JobId(job.0 + 2)]),
        Request::Resize(request) | Request::Push(request) => {
            let (ResizeRequest::Grow(ferrite_wire::GrowRequest { wait, .. })
            | ResizeRequest::Shrink(ferrite_wire::ShrinkRequest { wait, .. })) = **request
            else {
                panic!("pdvm does not ask for that");
            };
            resized(if wait { ResizeOutcome::Done } else { ResizeOutcome::Begun })
        }
        Request::ResizeJob(ask) => {
            let outcome = if ask.wait { JobResizeOutcome::Done } else { JobResizeOutcome::Begun(30) };
            Reply::JobResized(JobResized { job: ask.job, size: 4, is_offer: true, procs: 2, outcome })
        }
        Request::Batch(BatchOrder::List) => Reply::Batches(vec![batch()]),
        Request::Batch(BatchOrder::Cancel(_)) => Reply::Ordered,
        Request::Batch(BatchOrder::Results { offset: 0, .. }) => {
            let record = r#"{"schema":1,"record":"ended","index":0,"line":1,"id":"<first>","job":1,"exit_code":3,"ending":"failed","queued":1795302111.1,"started":1795302111.2,"ended":1795302111.5,"node":"n1"}"#;
            Reply::Results(BatchPiece { data: format!("{record}\n").into_bytes().into(), over: Some(1) })
        }
        Request::Batch(_)
        | Request::Facts(_)
        | Request::Raise { .. }
        | Request::Submit(_)
        | Request::Pull(_)
        | Request::Defaults
        | Request::Terminate => Reply::Refused("pdvm never asks this".to_owned()),
    }
}

fn batch() -> BatchStatus {
    BatchStatus {
        batch: BatchId(1),
        name: "list".to_owned(),
        counts: BatchCounts { tasks: 3, ended: 1, failed: 0, open: 2, bytes: 9 },
        results: "/results".to_owned(),
        began_us: 1_000_000,
        ended_us: None,
        exit_code: None,
        restarts: 0,
    }
}

/// The outcome of a request for another size.
pub(crate) fn resized(outcome: ResizeOutcome) -> Reply {
    let nodes = vec!["n5".to_owned(), "n6".to_owned()];
    Reply::Resize(Box::new(Resize {
        alloc_id: Some("a1".into()),
        req_id: None,
        session: Some(SessionId(1)),
        nodes,
        outcome,
    }))
}

fn status() -> DvmStatus {
    DvmStatus {
        dvm: "fake".to_owned(),
        version: "0".to_owned(),
        now_us: 10_000_000,
        state: Some(JobState::VmReady),
        waiting_for: String::new(),
        nodes: 1,
        daemons: 1,
        slots: 4,
        slots_in_use: 2,
        jobs_running: 1,
        jobs_queued: 0,
        jobs_held: 0,
        campaigns: Vec::new(),
        jobs_ended: 1,
        jobs_failed: 0,
        procs_running: 2,
        resources: Vec::new(),
    }
}

fn node() -> NodeStatus {
    NodeStatus {
        name: "n0".to_owned(),
        daemon: None,
        state: "up".to_owned(),
        slots: 4,
        slots_in_use: 2,
        max_slots: 0,
        cores: 4,
        resources: Vec::new(),
        jobs: Vec::new(),
    }
}

fn session() -> SessionStatus {
    SessionStatus {
        slots: 0,
        slots_in_use: 0,
        children: Vec::new(),
        session: SessionId(1),
        alloc_id: "a1".into(),
        req_id: None,
        nodes: vec!["n5".to_owned(), "n6".to_owned()],
        jobs: vec![JobId(1)],
        reserved: true,
        paused: false,
        parent: None,
        owner: None,
        seconds_left: None,
        warns_s: None,
        warned: false,
    }
}

fn job(id: u32, ended_us: Option<u64>) -> JobStatus {
    JobStatus {
        job: JobId(id),
        parent: None,
        name: "./solver".to_owned(),
        task: String::new(),
        priority: 0,
        command: "./solver -n 'a b'".to_owned(),
        wdir: Some("/home/u/run".to_owned()),
        procs: 2,
        nodes: 1,
        first_node: "n0".to_owned(),
        state: if ended_us.is_some() { JobState::Notified } else { JobState::Running },
        exit_code: ended_us.map(|_| 0),
        ending: ended_us.map(|_| Ending::Done),
        waiting_for: if ended_us.is_some() { String::new() } else { "2 of 2 processes to end".to_owned() },
        submitted_us: 8_000_000,
        running_us: Some(8_100_000),
        ended_us,
        tree: None,
    }
}

fn detail(id: u32) -> JobDetail {
    JobDetail {
        record: Default::default(),
        status: job(id, None),
        nspace: format!("fake@{id}"),
        states: vec![(JobState::Init, 8_000_000), (JobState::Running, 8_100_000)],
        procs: vec![ProcStatus {
            rank: Rank(0),
            app: 0,
            node: "n0".to_owned(),
            bound_to: "package[0][core:L0]".to_owned(),
            devices: Vec::new(),
            pid: Some(5),
            state: ProcState::Running,
        }],
        places: vec!["n0  [0 .]".to_owned()],
        cause: String::new(),
        lost_ranks: Vec::new(),
    }
}

fn metrics() -> Metrics {
    Metrics {
        status: status(),
        jobs_submitted: 2,
        jobs_started: 2,
        procs_started: 4,
        launch: Histogram { buckets: vec![(100_000, 2)], above: 0, sum_us: 200_000 },
        output_bytes: 0,
        stdin_bytes: 0,
        xcasts: 2,
        daemons_lost: 1,
        repairs: 1,
        rejoins: 2,
        late_messages: Vec::new(),
        grows: 4,
        grows_failed: 1,
        shrinks: 3,
    }
}
