//! Real processes.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ferrite_types::Rank;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;
use ferrite_core::DaemonInput;

/// Scenarios share a process, and thus its orphans: each has jobs of its own.
static JOBS: AtomicU32 = AtomicU32::new(1);

thread_local! {
    static JOB: Cell<u32> = const { Cell::new(0) };
}

struct World {
    processes: Processes,
    inputs: UnboundedReceiver<Input>,
    /// The last end that went by.
    ended: Option<ExitStatus>,
}

/// Runs a scenario as the driver does: one thread, local tasks.
fn world<F: Future<Output = ()>>(scenario: impl FnOnce(World) -> F) {
    world_with(&[], scenario);
}

/// With these parameters.
fn world_with<F: Future<Output = ()>>(parameters: &[(&str, &str)], scenario: impl FnOnce(World) -> F) {
    world_in(Path::new("/nonexistent"), parameters, scenario);
}

/// With the session directory below this one.
fn world_in<F: Future<Output = ()>>(base: &Path, parameters: &[(&str, &str)], scenario: impl FnOnce(World) -> F) {
    let parameters: Vec<_> = parameters.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    JOB.set(JOBS.fetch_add(2, Ordering::Relaxed));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let (inbox, inputs) = unbounded_channel();
        let session_dir = SessionDir::planned(base, "test", 1);
        let processes = Processes::new(inbox, &session_dir, None, &parameters).unwrap();
        let story = scenario(World { processes, inputs, ended: None });
        tokio::time::timeout(Duration::from_secs(20), story).await.expect("the scenario ends in time");
    });
}

fn job() -> JobId {
    JobId(JOB.get())
}

fn proc(rank: u32) -> ProcId {
    ProcId { job: job(), rank: Rank(rank) }
}

fn request(script: &str) -> SpawnRequest {
    SpawnRequest {
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        arg0: None,
        path: None,
        wdir: "/".to_owned(),
        wdir_given: true,
        env: Vec::new(),
        agent: None,
        session_cwd: false,
        preloaded: false,
        traceable: false,
        stopped: false,
        restarts: 0,
        cpus: None,
        devices: Vec::new(),
        stdin: false,
        merge_stderr: false,
    }
}

impl World {
    fn spawn(&mut self, rank: u32, request: SpawnRequest) {
        self.processes.spawn(proc(rank), request, Vec::new(), Vec::new());
    }
    async fn next(&mut self) -> Input {
        let input = self.inputs.recv().await.unwrap();
        if let Input::Daemon(DaemonInput::Exited { status, .. }) = &input {
            self.ended = Some(*status);
        }
        input
    }
    /// Reads standard output up to its end; other inputs are kept in order.
    async fn output_of(&mut self, rank: u32) -> (String, Vec<Input>) {
        let (mut text, mut others) = (Vec::new(), Vec::new());
        self.processes.read_output(proc(rank), Stream::Stdout, 4096);
        loop {
            match self.next().await {
                Input::Daemon(DaemonInput::Output { data, .. }) => {
                    text.extend_from_slice(&data);
                    self.processes.read_output(proc(rank), Stream::Stdout, 4096);
                }
                Input::Daemon(DaemonInput::OutputClosed { .. }) => return (String::from_utf8(text).unwrap(), others),
                other => others.push(other),
            }
        }
    }
    async fn line_of(&mut self, rank: u32) -> String {
        let mut text = Vec::new();
        while !text.ends_with(b"\n") {
            self.processes.read_output(proc(rank), Stream::Stdout, 1);
            match self.next().await {
                Input::Daemon(DaemonInput::Output { data, .. }) => text.extend_from_slice(&data),
                Input::Daemon(DaemonInput::OutputClosed { .. }) => panic!("the stream ended"),
                _ => {}
            }
        }
        String::from_utf8(text).unwrap().trim().to_owned()
    }
    async fn exit(&mut self) -> ExitStatus {
        while self.ended.is_none() {
            self.next().await;
        }
        self.ended.unwrap()
    }
}

fn is_alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|s| !s.contains(") Z "))
}
async fn until_dead(pid: &str) {
    while is_alive(pid) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn a_process_is_spawned_then_exits_once_with_its_code() {
    world(|mut w| async move {
        w.spawn(0, request("exit 7"));
        assert!(matches!(w.next().await, Input::Daemon(DaemonInput::Spawned { .. })));
        assert_eq!(w.processes.running(), 1);
        let Input::Daemon(DaemonInput::Exited { status, .. }) = w.next().await else {
            panic!("something else came");
        };
        assert_eq!(status, ExitStatus::Exited(7));
        assert_eq!(w.processes.running(), 0);
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(w.inputs.try_recv().is_err());
    });
}

#[test]
fn a_process_can_have_a_directory_of_its_own_that_goes_with_its_job() {
    let base = tempfile::tempdir().unwrap();
    world_in(base.path(), &[], |mut w| async move {
        let own = |script: &str| SpawnRequest { session_cwd: true, ..request(script) };
        w.spawn(0, own("pwd; echo $PWD; touch left"));
        w.spawn(1, own("pwd"));
        let (first, _) = w.output_of(0).await;
        let (second, _) = w.output_of(1).await;
        let (dir, variable) = first.trim().split_once('\n').unwrap();
        assert_eq!(dir, variable);
        assert_ne!(dir, second.trim());
        assert!(std::path::Path::new(dir).join("left").exists());
        w.processes.clean_job(job());
        assert!(!std::path::Path::new(dir).exists());
    });
}

#[test]
fn death_by_a_signal_is_told_from_an_exit() {
    world(|mut w| async move {
        w.spawn(0, request("kill -SEGV $$"));
        assert_eq!(w.exit().await, ExitStatus::Signaled(types::Signal(11)));
    });
}

#[test]
fn a_start_that_fails_is_one_answer_and_its_streams_are_closed() {
    world(|mut w| async move {
        let mut request = request("");
        request.argv = vec!["./none".to_owned()];
        w.spawn(0, request);
        let Input::Daemon(DaemonInput::SpawnFailed { error, .. }) = w.next().await else {
            panic!("something else came");
        };
        assert_eq!(error.kind, StartErrorKind::Executable);
        assert_eq!(w.processes.running(), 0);
        assert_eq!(w.output_of(0).await.0, "");
    });
}

#[test]
fn output_comes_whole_before_its_end() {
    world(|mut w| async move {
        w.spawn(0, request("for i in 1 2 3; do echo $i; done; echo no >&2"));
        assert_eq!(w.output_of(0).await.0, "1\n2\n3\n");
    });
}

#[test]
fn standard_input_arrives_in_order_and_ends() {
    world(|mut w| async move {
        let mut request = request("cat");
        request.stdin = true;
        w.spawn(0, request);
        w.processes.write_stdin(proc(0), Bytes::from_static(b"one "));
        w.processes.write_stdin(proc(0), Bytes::from_static(b"two"));
        w.processes.close_stdin(proc(0));
        let (text, others) = w.output_of(0).await;
        assert_eq!(text, "one two");
        let taken = |i: &Input| match i {
            Input::Daemon(DaemonInput::StdinTaken { bytes, .. }) => *bytes,
            _ => 0,
        };
        assert_eq!(others.iter().map(taken).sum::<u64>(), 7);
    });
}

#[test]
fn input_that_a_process_does_not_read_counts_as_taken_when_it_ends() {
    world(|mut w| async move {
        let mut request = request("read line; exit 0");
        request.stdin = true;
        w.spawn(0, request);
        let much = Bytes::from(vec![b'\n'; 300_000]);
        w.processes.write_stdin(proc(0), much.clone());
        w.processes.write_stdin(proc(0), much);
        let (mut taken, mut exited) = (0, false);
        while taken < 600_000 || !exited {
            match w.next().await {
                Input::Daemon(DaemonInput::StdinTaken { bytes, .. }) => taken += bytes,
                Input::Daemon(DaemonInput::Exited { .. }) => exited = true,
                _ => {}
            }
        }
        w.processes.write_stdin(proc(0), Bytes::from_static(b"late"));
        assert!(matches!(w.next().await, Input::Daemon(DaemonInput::StdinTaken { bytes: 4, .. })));
    });
}

#[test]
fn a_signal_reaches_grandchildren_in_other_groups() {
    world(|mut w| async move {
        // `setsid` takes the grandchild out of the process group.
        w.spawn(0, request("setsid sh -c 'echo $$; sleep 1000' & wait"));
        let grandchild = w.line_of(0).await;
        assert!(is_alive(&grandchild));
        w.processes.signal(proc(0), types::Signal::TERM);
        until_dead(&grandchild).await;
        assert_eq!(w.exit().await, ExitStatus::Signaled(types::Signal::TERM));
    });
}

#[test]
fn a_signal_reaches_what_was_left_behind_by_a_reaped_process() {
    world(|mut w| async move {
        // One stays in the group, one goes away as a daemon does. Both hold standard output open.
        w.spawn(0, request("sleep 1000 & echo $!; setsid sleep 1000 & echo $!; exit 3"));
        let (first, second) = (w.line_of(0).await, w.line_of(0).await);
        assert_eq!(w.exit().await, ExitStatus::Exited(3));
        assert!(is_alive(&first) && is_alive(&second));
        w.processes.signal(proc(0), types::Signal::KILL);
        until_dead(&first).await;
        until_dead(&second).await;
        assert_eq!(w.output_of(0).await.0, "");
    });
}

#[test]
fn cleaning_a_job_ends_its_orphans_and_no_others() {
    world(|mut w| async move {
        w.spawn(0, request("setsid sleep 1000 >/dev/null 2>&1 & echo $!"));
        let mine = w.line_of(0).await;
        let mut other = request("setsid sleep 1000 >/dev/null 2>&1 & echo $!");
        other.argv[2] = other.argv[2].replace("1000", "1001");
        let theirs = ProcId { job: JobId(job().0 + 1), rank: Rank(0) };
        w.processes.spawn(theirs, other, Vec::new(), Vec::new());
        w.processes.read_output(theirs, Stream::Stdout, 100);
        let kept = loop {
            if let Input::Daemon(DaemonInput::Output { data, .. }) = w.next().await {
                break String::from_utf8(data.to_vec()).unwrap().trim().to_owned();
            }
        };
        w.processes.clean_job(job());
        until_dead(&mine).await;
        assert!(is_alive(&kept));
        w.processes.clean_job(theirs.job);
        until_dead(&kept).await;
        // Dead is not enough: nothing is left in the table of processes.
        while Path::new(&format!("/proc/{kept}")).exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
}

#[test]
fn cleaning_a_job_ends_what_has_left_the_group_of_a_living_process() {
    world(|mut w| async move {
        w.spawn(0, request("env -i setsid sleep 1000 >/dev/null 2>&1 & echo $!; wait"));
        let away = w.line_of(0).await;
        let pid = rustix::process::Pid::from_raw(away.parse().unwrap()).unwrap();
        while rustix::process::getpgid(Some(pid)).unwrap() != pid {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        w.processes.clean_job(job());
        until_dead(&away).await;
    });
}

#[test]
fn a_child_of_somebody_else_is_not_reaped() {
    world(|mut w| async move {
        let mut other = std::process::Command::new("true").spawn().unwrap();
        w.spawn(0, request("true"));
        w.exit().await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(other.wait().unwrap().success());
    });
}

#[test]
fn a_gigabyte_through_cat_is_the_same_and_bounded() {
    const TOTAL: u64 = 1 << 30;
    const WINDOW: u64 = 1 << 20;
    const PIECE: usize = 64 * 1024;
    // Not periodic in any power of two, so that a lost or repeated piece shows.
    let pattern: Bytes = (0..1_000_003u32).map(|i| (i % 251) as u8).collect();
    let at = |offset: u64, len: usize| {
        let start = (offset % (pattern.len() - PIECE) as u64) as usize;
        pattern.slice(start..start + len)
    };
    world(|mut w| async move {
        let mut request = request("exec cat");
        request.stdin = true;
        w.spawn(0, request);
        w.processes.read_output(proc(0), Stream::Stdout, PIECE);
        let (mut sent, mut taken, mut got) = (0u64, 0u64, 0u64);
        let mut pending = Bytes::new();
        while got < TOTAL {
            while sent < TOTAL && sent - taken < WINDOW {
                w.processes.write_stdin(proc(0), at(sent, PIECE));
                sent += PIECE as u64;
            }
            match w.next().await {
                Input::Daemon(DaemonInput::StdinTaken { bytes, .. }) => taken += bytes,
                Input::Daemon(DaemonInput::Output { data, .. }) => {
                    let mut data = &data[..];
                    while !data.is_empty() {
                        if pending.is_empty() {
                            pending = at(got, PIECE);
                        }
                        let n = data.len().min(pending.len());
                        assert!(data[..n] == pending[..n], "differs near {got}");
                        got += n as u64;
                        pending = pending.slice(n..);
                        data = &data[n..];
                    }
                    w.processes.read_output(proc(0), Stream::Stdout, PIECE);
                }
                Input::Daemon(DaemonInput::Spawned { .. }) => {}
                other => panic!("unexpected {other:?}"),
            }
        }
        w.processes.close_stdin(proc(0));
        assert_eq!(w.exit().await, ExitStatus::Exited(0));
    });
}

/// Run by hand, with `--release -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement: cargo test --release -p ferrite-driver --lib -- --ignored --nocapture plain_pipes"]
fn throughput_beside_plain_pipes() {
    const TOTAL: u64 = 1 << 30;
    let source = format!("head -c {TOTAL} /dev/zero");
    let plain = |line: &str| {
        let start = std::time::Instant::now();
        let status = std::process::Command::new("sh").args(["-c", line]).status();
        assert!(status.unwrap().success());
        println!("{line}: {:.0} MB/s", TOTAL as f64 / start.elapsed().as_secs_f64() / 1e6);
    };
    for limit in [32, 64, 128, 256, 1024] {
        plain(&format!("{source} | cat >/dev/null"));
        plain(&format!("{source} | cat | cat >/dev/null"));
        let source = source.clone();
        world(|mut w| async move {
            let start = std::time::Instant::now();
            let mut sink = std::process::Command::new("sh")
                .args(["-c", "cat >/dev/null"])
                .stdin(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            let pipe = nonblocking(sink.stdin.take().unwrap().into()).unwrap();
            let (tell, mut told) = unbounded_channel();
            let writer = Writer::new(pipe, move |p| {
                let _ = tell.send(p);
            });
            w.spawn(0, request(&source));
            let (mut open, mut taken) = (0u64, 0u64);
            w.processes.read_output(proc(0), Stream::Stdout, limit << 10);
            let mut reading = true;
            while taken < TOTAL {
                tokio::select! {
                    input = w.inputs.recv() => if let Some(Input::Daemon(DaemonInput::Output { data, .. })) = input {
                        open += data.len() as u64;
                        writer.write(data);
                        reading = false;
                    },
                    progress = told.recv() => if let Some(Progress::Taken(n)) = progress {
                        open -= n;
                        taken += n;
                    },
                }
                if !reading && open < 1 << 20 {
                    w.processes.read_output(proc(0), Stream::Stdout, limit << 10);
                    reading = true;
                }
            }
            writer.close();
            drop(writer);
            sink.wait().unwrap();
            let rate = TOTAL as f64 / start.elapsed().as_secs_f64() / 1e6;
            println!("ours, limit {limit} KiB: {rate:.0} MB/s");
        });
    }
}

#[test]
fn a_signal_can_be_for_the_process_alone_and_the_end_is_for_all() {
    const USR1: i32 = 10;
    let script = "trap 'exit 5' USR1; sleep 100 & echo $!; wait";
    world_with(&[("odls_base_signal_direct_children_only", "1")], |mut w| async move {
        w.spawn(0, request(script));
        let sleeper = w.line_of(0).await;
        w.processes.signal(proc(0), types::Signal(USR1));
        assert_eq!(w.exit().await, ExitStatus::Exited(5));
        assert!(is_alive(&sleeper));
        w.processes.signal(proc(0), types::Signal::KILL);
        while is_alive(&sleeper) {
            tokio::task::yield_now().await;
        }
    });
}
