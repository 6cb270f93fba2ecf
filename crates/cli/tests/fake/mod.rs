//! A DVM that is no more than a contact file, a socket, and a script in the test: the commands are tested without a
//! launch.

#![allow(dead_code, clippy::unwrap_used, reason = "each test uses a part of it, and fails by panicking")]

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::JoinHandle;

use ferrite_types::Rank;
use ferrite_types::{JobId, JobState};
use ferrite_wire::control::{
    CONTROL_VERSION, ClientMessage, Done, DvmMessage, DvmStatus, Ending, GREETING_LEN, JobDetail, JobRecord, JobStatus,
    Reply, Request, Submission, greeting,
};
use ferrite_wire::{DvmContact, Stream};

/// A directory with a DVM in it.
pub(crate) struct Fake {
    pub(crate) dir: tempfile::TempDir,
    listener: Option<UnixListener>,
}

impl Fake {
    pub(crate) fn new() -> Fake {
        let dir = tempfile::tempdir().unwrap();
        let session = dir.path().join("prte.77");
        std::fs::create_dir(&session).unwrap();
        let socket = session.join("control");
        let contact = DvmContact {
            dvm: "prte-host-77".to_owned(),
            endpoints: Vec::new(),
            pid: 77,
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            started_s: 1,
            head: None,
            batch: None,
            system: false,
            socket: socket.display().to_string(),
            control: CONTROL_VERSION,
            remote: None,
            key: None,
        };
        std::fs::write(session.join("contact"), contact.to_text()).unwrap();
        Fake { listener: Some(UnixListener::bind(socket).unwrap()), dir }
    }

    /// A command that finds this DVM; there may be others on the machine that runs the test.
    pub(crate) fn command(&self, binary: &str, args: &[&str]) -> Command {
        let mut command = Command::new(binary);
        let named = args.iter().any(|arg| ["--pid", "--dvm-uri"].contains(arg));
        command.args(match (named, binary.ends_with("prterun")) {
            (true, _) => &[][..],
            (false, true) => &["--dvm", "ns:prte-host-77"],
            (false, false) => &["--namespace", "prte-host-77"],
        });
        command.args(args).env_clear().env("TMPDIR", self.dir.path()).current_dir(self.dir.path());
        command.env("PRTE_ALLOW_RUN_AS_ROOT", "1").env("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Plays the DVM for the first client that says anything.
    pub(crate) fn play<T: Send + 'static>(
        &mut self,
        script: impl FnOnce(&mut Client) -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let listener = self.listener.take().unwrap();
        std::thread::spawn(move || {
            loop {
                let (mut stream, _) = listener.accept().unwrap();
                let mut theirs = [0; GREETING_LEN];
                // A client that only looks whether somebody listens says nothing.
                if stream.read_exact(&mut theirs).is_ok() {
                    assert_eq!(theirs, greeting());
                    stream.write_all(&greeting()).unwrap();
                    return script(&mut Client { stream, defaults: Vec::new() });
                }
            }
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// The other side.
pub(crate) struct Client {
    pub(crate) stream: UnixStream,
    /// Its defaults for jobs.
    pub(crate) defaults: Vec<(String, String)>,
}

impl Client {
    /// The next message; `None` when the client is gone.
    pub(crate) fn hear(&mut self) -> Option<ClientMessage> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).ok()?;
        let mut body = vec![0; u32::from_le_bytes(length) as usize];
        self.stream.read_exact(&mut body).ok()?;
        let message = ClientMessage::decode(&body).unwrap();
        if let ClientMessage::Open { id, request: Request::Defaults } = message {
            self.reply(id, Reply::Defaults(self.defaults.clone()));
            return self.hear();
        }
        Some(message)
    }

    pub(crate) fn say(&mut self, message: &DvmMessage) {
        self.stream.write_all(&message.encode_frame()).unwrap();
    }

    /// The next submission, with its number.
    pub(crate) fn submission(&mut self) -> (u32, Submission) {
        match self.hear() {
            Some(ClientMessage::Open { id, request: Request::Submit(submission) }) => (id, *submission),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn accept(&mut self, id: u32, job: u32) {
        self.say(&DvmMessage::Accepted { id, job: JobId(job), nspace: format!("prte-host-77@{job}") });
    }

    pub(crate) fn output(&mut self, id: u32, stream: Stream, text: &str) {
        self.say(&DvmMessage::Output { id, rank: Rank(0), stream, data: text.to_owned().into() });
    }

    pub(crate) fn reply(&mut self, id: u32, reply: Reply) {
        self.say(&DvmMessage::Reply { id, reply });
    }

    pub(crate) fn done(&mut self, id: u32, exit_code: u8) {
        self.reply(id, Reply::Done(Done { exit_code, job: None }));
    }

    /// The end of a job that ran.
    pub(crate) fn over(&mut self, id: u32, job: u32, exit_code: u8) {
        let ending = Some(if exit_code == 0 { Ending::Done } else { Ending::Failed });
        let job = JobStatus { exit_code: Some(exit_code), ending, procs: 1, ..waiting(job) };
        self.reply(id, Reply::Done(Done { exit_code, job: Some(job) }));
    }

    /// The first question of a list.
    pub(crate) fn tell_status(&mut self) {
        match self.hear() {
            Some(ClientMessage::Open { id, request: Request::Status }) => self.answer_status(id),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn answer_status(&mut self, id: u32) {
        let status = DvmStatus {
            dvm: "prte-host-77".to_owned(),
            version: "0".to_owned(),
            now_us: 0,
            state: None,
            waiting_for: String::new(),
            nodes: 1,
            daemons: 1,
            slots: 1,
            slots_in_use: 0,
            jobs_running: 0,
            jobs_queued: 0,
            jobs_held: 0,
            campaigns: Vec::new(),
            jobs_ended: 0,
            jobs_failed: 0,
            procs_running: 0,
            resources: Vec::new(),
        };
        self.reply(id, Reply::Status(Box::new(status)));
    }
}

/// All about a job.
pub(crate) fn detail(status: JobStatus) -> JobDetail {
    JobDetail {
        status,
        nspace: String::new(),
        states: Vec::new(),
        procs: Vec::new(),
        places: Vec::new(),
        cause: String::new(),
        lost_ranks: Vec::new(),
        record: JobRecord::default(),
    }
}

/// A job that has not begun.
pub(crate) fn waiting(job: u32) -> JobStatus {
    JobStatus {
        job: JobId(job),
        parent: None,
        name: "a".to_owned(),
        task: String::new(),
        priority: 0,
        command: "./solver -n 'a b'".to_owned(),
        wdir: Some("/home/u/run".to_owned()),
        procs: 0,
        nodes: 0,
        first_node: String::new(),
        state: JobState::Map,
        exit_code: None,
        ending: None,
        waiting_for: "slots".to_owned(),
        submitted_us: 1,
        running_us: None,
        ended_us: None,
        tree: None,
    }
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).unwrap();
}
