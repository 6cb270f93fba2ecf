//! A real `prte` that listens for clients of other hosts, and clients that take this host for another one.

// Helpers of a test fail as tests do.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use serde_json::json;

const PRTE: &str = env!("CARGO_BIN_EXE_prte");
const PRUN: &str = env!("CARGO_BIN_EXE_prun");
const PTERM: &str = env!("CARGO_BIN_EXE_pterm");
const PDVM: &str = env!("CARGO_BIN_EXE_pdvm");

struct Dvm {
    dir: tempfile::TempDir,
    prte: Child,
}

impl Dvm {
    fn start() -> Dvm {
        let dir = tempfile::tempdir().unwrap();
        let mut command = Command::new(PRTE);
        command.args(["--listen", "127.0.0.1:0", "--host", "localhost:2", "--report-uri", "here"]);
        command.env_clear().env("TMPDIR", dir.path()).current_dir(dir.path());
        command.env("PRTE_ALLOW_RUN_AS_ROOT", "1").env("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        let mut prte = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(prte.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "DVM ready\n");
        let contact = std::fs::read_to_string(dir.path().join("here")).unwrap();
        let elsewhere = contact.lines().map(|line| match line.split_once(' ') {
            Some(("host", _)) => "host another\n".to_owned(),
            _ => format!("{line}\n"),
        });
        std::fs::write(dir.path().join("there"), elsewhere.collect::<String>()).unwrap();
        Dvm { dir, prte }
    }

    fn client(&self, binary: &str, args: &[&str]) -> Command {
        let mut command = Command::new(binary);
        command.args(["--dvm-uri", "file:there"]).args(args).env_clear();
        command.env("PATH", "/usr/bin:/bin").current_dir(self.dir.path());
        command.env("PRTE_ALLOW_RUN_AS_ROOT", "1").env("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The session directory is the only directory there.
    fn key(&self) -> PathBuf {
        let session = std::fs::read_dir(self.dir.path()).unwrap().map(|e| e.unwrap().path()).find(|p| p.is_dir());
        session.unwrap().join("key")
    }
}

impl Drop for Dvm {
    fn drop(&mut self) {
        let _ = self.prte.kill();
        let _ = self.prte.wait();
    }
}

fn fed(mut command: Command, input: &[u8]) -> Output {
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let feeder = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    // A program that is refused reads nothing.
    let _ = feeder.join().unwrap();
    output
}

/// Without the breaks of its lines.
fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_client_of_another_host_runs_jobs_and_ends_the_dvm_if_it_has_the_key() {
    let mut dvm = Dvm::start();
    let input: Vec<u8> = (0..300_000).map(|i| (i % 253) as u8).collect();
    let output = fed(dvm.client(PRUN, &["-n", "1", "cat"]), &input);
    assert!(output.status.success(), "{}", told(&output));
    assert!(output.stdout == input, "{} bytes came back", output.stdout.len());
    let output = fed(dvm.client(PRUN, &["-n", "2", "sh", "-c", "echo err >&2; exit 7"]), b"");
    assert_eq!((output.status.code(), told(&output).contains("err")), (Some(7), true), "{}", told(&output));

    let copy = dvm.dir.path().join("copy");
    std::fs::copy(dvm.key(), &copy).unwrap();
    std::fs::remove_file(dvm.key()).unwrap();
    let output = fed(dvm.client(PRUN, &["-n", "1", "true"]), b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("--dvm-key"), "{}", told(&output));
    let wrong = dvm.dir.path().join("wrong");
    std::fs::write(&wrong, "07".repeat(32)).unwrap();
    std::fs::set_permissions(&wrong, std::fs::Permissions::from_mode(0o600)).unwrap();
    let output = fed(dvm.client(PRUN, &["--dvm-key", "wrong", "-n", "1", "true"]), b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("does not have the key in wrong"), "{}", told(&output));

    let output = fed(dvm.client(PTERM, &["--dvm-key", "copy"]), b"");
    assert!(output.status.success(), "{}", told(&output));
    assert_eq!(dvm.prte.wait().unwrap().code(), Some(0));
}

/// A `pdvm service` that runs, with this side of its input and output.
struct Bridge {
    pdvm: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Bridge {
    fn start(mut command: Command) -> Bridge {
        let mut pdvm = command.spawn().expect("pdvm");
        let input = pdvm.stdin.take();
        let output = BufReader::new(pdvm.stdout.take().expect("a pipe"));
        Bridge { pdvm, input, output }
    }

    fn say(&mut self, line: &serde_json::Value) {
        writeln!(self.input.as_ref().expect("an open input"), "{line}").expect("a reader");
    }

    /// Reads up to a line of this kind.
    fn hear(&mut self, kind: &str) -> serde_json::Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).expect("a line"), 0, "no {kind} has come");
            let line: serde_json::Value = serde_json::from_str(&line).expect("a line of JSON");
            if line["kind"] == kind {
                return line;
            }
        }
    }

    /// Reads the rest of its output; returns it with the exit code and what it has said on standard error.
    fn end(mut self) -> (String, Option<i32>, String) {
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("a text");
        drop(self.input);
        let output = self.pdvm.wait_with_output().expect("its end");
        (rest, output.status.code(), told(&output))
    }
}

const CLOSED: &str = "{\"schema\":1,\"kind\":\"closed\",\"id\":null}\n";

/// Tasks of a bridge from another host, and its ends (spec L153).
#[test]
fn pdvm_joins_its_input_and_output_with_the_service_of_a_dvm_elsewhere() {
    let mut dvm = Dvm::start();
    let mut bridge = Bridge::start(dvm.client(PDVM, &["service"]));
    bridge.say(&json!({"schema": 1, "kind": "submit", "tasks": [{"argv": ["echo", "hello"]}]}));
    bridge.hear("submitted");
    assert_eq!(bridge.hear("output")["data"], "hello\n");
    assert_eq!(bridge.hear("ended")["exit_code"], 0);
    // The end of the input ends what is not detached, and the answers come before the last line.
    let tasks = json!([{"task": "own", "argv": ["sleep", "1000"]}, {"task": "on", "argv": ["true"], "detach": true}]);
    bridge.say(&json!({"schema": 1, "kind": "submit", "tasks": tasks}));
    bridge.say(&json!({"schema": 1, "kind": "status"}));
    drop(bridge.input.take());
    assert_eq!(bridge.hear("ended")["ending"], "killed");
    let (rest, code, err) = bridge.end();
    assert!(rest.ends_with(CLOSED), "{rest}");
    assert_eq!((code, err.as_str()), (Some(0), ""));

    let mut second = Bridge::start(dvm.client(PDVM, &["service"]));
    second.say(&json!({"schema": 1, "kind": "wait", "tasks": ["on"]}));
    assert_eq!(second.hear("waited")["jobs"][0]["exit_code"], 0, "the detached task has ended by itself");
    // The reader goes, and the input stays open.
    let Bridge { mut pdvm, input, output } = second;
    drop(output);
    assert_eq!(pdvm.wait().unwrap().code(), Some(0));
    drop(input);

    let output = fed(dvm.client(PDVM, &["service"]), b"status\n");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), CLOSED.as_bytes()));
    assert!(told(&output).contains("begins with 's'"), "{}", told(&output));

    // The last bridge has to be connected when the DVM ends: its answer shows that.
    let mut last = Bridge::start(dvm.client(PDVM, &["service", "--json"]));
    last.say(&json!({"schema": 1, "kind": "status"}));
    last.hear("status");
    let mut other = Bridge::start(dvm.client(PDVM, &["service"]));
    other.say(&json!({"schema": 1, "kind": "terminate"}));
    other.hear("ordered");
    for (bridge, text) in [(last, "\"reason\":\"connection\""), (other, "was lost")] {
        let (rest, code, err) = bridge.end();
        assert_eq!((rest.as_str(), code), ("", Some(1)), "{err}");
        assert!(err.contains(text), "{err}");
    }
    dvm.prte.wait().unwrap();
    let output = fed(dvm.client(PDVM, &["service"]), b"");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{}", told(&output));
    assert!(told(&output).contains("pdvm: "), "{}", told(&output));
}
