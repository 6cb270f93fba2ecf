//! The process as its daemon sees it: how it starts, what it answers, where it listens (nowhere), and when it ends.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use ferrite_pmix::ServerConfig;
use ferrite_pmix::protocol::{AnswerSender, BUILD, Frames, OTHER_BUILD, Order, Report, append_order};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ferrite-pmixd");
/// A test that needs so long has found a hang.
const LIMIT: Duration = Duration::from_secs(30);

/// A started process and our end of its socket.
struct Server {
    child: Child,
    socket: UnixStream,
    frames: Frames,
    _connections: UnixStream,
}

impl Server {
    fn start(environment: &[(&str, &str)]) -> Server {
        let (socket, theirs) = UnixStream::pair().expect("a pair of sockets");
        let (connections, inside) = UnixStream::pair().expect("a pair of sockets");
        socket.set_read_timeout(Some(LIMIT)).expect("a socket");
        let mut command = Command::new(PROGRAM);
        command.arg(BUILD).stdin(OwnedFd::from(theirs)).stdout(OwnedFd::from(inside)).stderr(Stdio::null());
        let child = command.envs(environment.iter().copied()).spawn().expect("it starts");
        Server { child, socket, frames: Frames::default(), _connections: connections }
    }

    fn order(&mut self, order: &Order) {
        let mut bytes = Vec::new();
        assert!(append_order(&mut bytes, order), "it is short");
        self.socket.write_all(&bytes).expect("it reads");
    }

    /// The next report.
    fn report(&mut self) -> Report {
        let send = AnswerSender::new(|_| ());
        loop {
            if let Some(report) = self.frames.report(&send).expect("it speaks our language") {
                return report;
            }
            let mut chunk = [0; 4096];
            let count = self.socket.read(&mut chunk).expect("it says something in time");
            assert!(count > 0, "it is gone");
            self.frames.buffer().extend_from_slice(&chunk[..count]);
        }
    }

    /// Starts the library. False, with a message, where there is none.
    fn start_library(&mut self, dir: &TempDir) -> bool {
        self.order(&Order::Start(config(dir)));
        match self.report() {
            Report::Started => true,
            Report::Failed(text) => {
                eprintln!("SKIPPED: {text}");
                false
            }
            other => panic!("{other:?}"),
        }
    }

    /// Goes as a daemon goes, and returns how the process ends.
    fn leave(mut self) -> ExitStatus {
        drop(self.socket);
        self.child.wait().expect("it is our child")
    }
}

fn config(dir: &TempDir) -> ServerConfig {
    ServerConfig {
        tmpdir: dir.path().into(),
        system_tmpdir: dir.path().into(),
        dvm: "test".into(),
        nspace: "test@0".into(),
        rank: 0,
        hostname: "n0".into(),
        tool_support: false,
        share_topology: false,
        caller: None,
    }
}

fn run(words: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(PROGRAM).args(words).stdin(Stdio::null()).output().expect("it starts");
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn who_starts_it_by_hand_is_told_what_it_is() {
    let (code, text) = run(&[]);
    assert_eq!(code, Some(1));
    assert!(text.contains("libpmix"), "{text}");
    assert_eq!(run(&["--version"]), (Some(0), format!("ferrite-pmixd {}\n", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn a_daemon_of_another_build_is_refused() {
    assert_eq!(run(&["0.0.0/0"]).0, Some(OTHER_BUILD));
}

/// It sees the devices that the library's own process leaves out, by which MPI libraries choose networks.
#[test]
fn the_topology_is_printed_for_the_process_that_waits() {
    let own = std::process::id().to_string();
    let (code, text) = run(&["--topology", &own]);
    if code != Some(0) && text.contains("libhwloc") {
        return eprintln!("SKIPPED: {text}");
    }
    assert_eq!(code, Some(0), "{text}");
    for part in ["<topology version=\"2.0\">", "type=\"PU\"", "</topology>"] {
        assert!(text.contains(part), "no {part}: {text}");
    }
    for other in ["1", "", "x"] {
        assert_eq!(run(&["--topology", other]).0, Some(1), "{other:?} does not wait for it");
    }
}

#[test]
fn a_library_that_is_not_there_is_told_in_words() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut server = Server::start(&[("FERRITE_LIBPMIX", "/nonexistent/libpmix.so.2")]);
    server.order(&Order::Start(config(&dir)));
    let report = server.report();
    assert!(matches!(&report, Report::Failed(text) if text.contains("/nonexistent/libpmix.so.2")), "{report:?}");
    assert!(server.leave().success());
}

#[test]
fn it_answers_for_the_library_and_ends_with_its_daemon() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut server = Server::start(&[]);
    if server.start_library(&dir) {
        server.order(&Order::Ping(7));
        let report = server.report();
        assert!(matches!(report, Report::Alive(7)), "{report:?}");
    }
    assert!(server.leave().success());
}

#[test]
fn no_port_is_open_where_the_library_would_listen() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut server = Server::start(&[]);
    if !server.start_library(&dir) {
        return;
    }
    // It is not dumpable, so that only root sees what it has open.
    let Ok(entries) = fs::read_dir(format!("/proc/{}/fd", server.child.id())) else {
        return eprintln!("SKIPPED: only root sees what the process has open");
    };
    let sockets: Vec<String> = entries
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok()?.to_str()?.strip_prefix("socket:[").map(str::to_owned))
        .map(|inode| inode.trim_end_matches(']').to_owned())
        .collect();
    assert!(sockets.len() >= 3, "the daemon's socket, the entrance, and the library's listener: {sockets:?}");
    for table in ["tcp", "tcp6"] {
        let table = fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
        let of_it =
            |line: &&str| line.split_whitespace().nth(9).is_some_and(|inode| sockets.iter().any(|s| s == inode));
        let open: Vec<&str> = table.lines().filter(of_it).collect();
        assert!(open.is_empty(), "{open:?}");
    }
}
