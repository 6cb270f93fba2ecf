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
        memory: None,
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

// spec L156
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

/// Helpers of a program tidy up after its end (spec L156).
#[test]
fn what_a_process_has_left_may_tidy_up_and_does_not_stay() {
    let dir = tempfile::tempdir().unwrap();
    let script = format!(
        "cd {}; sh -c \"trap 'touch tidied; exit' TERM; touch one; while :; do sleep 0.01; done\" >/dev/null 2>&1 & \
         first=$!; sh -c \"trap '' TERM; touch two; exec sleep 1000\" >/dev/null 2>&1 & echo $first $!; \
         while ! test -e one -a -e two; do sleep 0.01; done",
        dir.path().display()
    );
    world(|mut w| async move {
        w.spawn(0, request(&script));
        let pids = w.line_of(0).await;
        let (tidies, stays) = pids.split_once(' ').unwrap();
        assert!(w.exit().await.is_success());
        w.processes.clean_job(job());
        until_dead(tidies).await;
        assert!(dir.path().join("tidied").exists());
        assert!(is_alive(stays), "it has more time");
        until_dead(stays).await;
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
            let writer = Writer::new(Rc::new(pipe), move |p| {
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

/// Starts that are under way: rank 0 runs, so that others are started by threads, and the loop hears of them only when
/// the scenario waits.
fn beside<F: Future<Output = ()>>(scenario: impl FnOnce(World) -> F) {
    world(|mut w| {
        w.spawn(0, request("exec sleep 1000"));
        assert_eq!(w.processes.running(), 1, "the first is started in the loop");
        scenario(w)
    });
}

// spec L110
#[test]
fn a_burst_is_started_by_threads_and_each_start_is_told_before_its_end() {
    beside(|mut w| async move {
        for rank in 1..64 {
            w.spawn(rank, request("exit 3"));
        }
        assert_eq!(w.processes.running(), 1);
        assert!((1..=8).contains(&w.processes.starter.threads));
        let (mut started, mut ended) = (HashSet::new(), HashSet::new());
        while ended.len() < 63 {
            match w.next().await {
                Input::Daemon(DaemonInput::Spawned { proc, .. }) => assert!(started.insert(proc)),
                Input::Daemon(DaemonInput::Exited { proc, status }) => {
                    assert!(started.contains(&proc) && ended.insert(proc));
                    assert_eq!(status, ExitStatus::Exited(3));
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((started.len(), w.processes.running()), (64, 1));
    });
}

#[test]
fn a_process_that_runs_alone_needs_no_thread() {
    world(|mut w| async move {
        for rank in 0..3 {
            w.spawn(rank, request("true"));
            assert_eq!(w.processes.running(), 1);
            w.ended = None;
            w.exit().await;
        }
        assert_eq!(w.processes.starter.threads, 0);
    });
}

// spec L110
#[test]
fn a_thread_that_starts_processes_lives_as_long_as_they_do() {
    beside(|mut w| async move {
        w.spawn(1, request("echo $$; exec sleep 1000"));
        let pid = w.line_of(1).await;
        for rank in 2..20 {
            w.spawn(rank, request("true"));
        }
        while w.processes.running() > 2 || !w.processes.started.starts.is_empty() {
            w.next().await;
        }
        assert!(is_alive(&pid));
        // The system ends a process when the thread ends: the one above has not.
        drop(w);
        until_dead(&pid).await;
    });
}

// spec L111
#[test]
fn standard_input_waits_for_a_start_that_is_under_way() {
    beside(|mut w| async move {
        w.spawn(1, SpawnRequest { stdin: true, ..request("cat") });
        w.processes.write_stdin(proc(1), Bytes::from_static(b"one "));
        w.processes.write_stdin(proc(1), Bytes::from_static(b"two"));
        w.processes.close_stdin(proc(1));
        assert_eq!(w.output_of(1).await.0, "one two");
    });
}

// spec L111
#[test]
fn signals_wait_for_a_start_that_is_under_way_and_keep_their_order() {
    const STOP: types::Signal = types::Signal(libc::SIGSTOP);
    beside(|mut w| async move {
        // Each of the two takes the effect of the one before.
        w.spawn(1, request("echo on"));
        w.processes.signal(proc(1), STOP);
        w.processes.signal(proc(1), types::Signal::CONT);
        assert_eq!(w.output_of(1).await.0, "on\n");
        w.spawn(2, request("echo $$; exec sleep 1000"));
        w.processes.signal(proc(2), types::Signal::CONT);
        w.processes.signal(proc(2), STOP);
        while !w.processes.started.starts.is_empty() {
            w.next().await;
        }
        until_stopped(&w, 2).await;
    });
}

async fn until_stopped(w: &World, rank: u32) {
    let pid = w.processes.started.table.borrow()[&proc(rank)].pid.as_raw_nonzero();
    while !std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") T ") {
        tokio::task::yield_now().await;
    }
}

// spec L111
#[test]
fn a_process_of_a_job_that_is_cleaned_during_the_start_does_not_stay() {
    beside(|mut w| async move {
        let gone = ProcId { job: JobId(job().0 + 1), rank: Rank(0) };
        w.processes.spawn(gone, request("exec sleep 1000"), Vec::new(), Vec::new());
        w.processes.clean_job(gone.job);
        assert_eq!(w.exit().await, ExitStatus::Signaled(types::Signal::KILL));
        assert!(w.processes.started.table.borrow().keys().eq([&proc(0)]));
        assert_eq!(w.processes.running(), 1);
    });
}

#[test]
fn a_start_that_fails_beside_the_loop_says_the_same() {
    beside(|mut w| async move {
        let failing = || SpawnRequest { argv: vec!["./none".to_owned()], ..request("") };
        w.spawn(1, failing());
        w.processes.write_stdin(proc(1), Bytes::from_static(b"late"));
        w.next().await;
        let Input::Daemon(DaemonInput::SpawnFailed { proc: failed, error }) = w.next().await else {
            panic!("no failure")
        };
        assert_eq!(failed, proc(1));
        assert!(matches!(w.next().await, Input::Daemon(DaemonInput::StdinTaken { bytes: 4, .. })));
        let order = Order { proc: proc(2), request: failing(), env: Vec::new(), fds: Vec::new(), group: None };
        let here = w.processes.starter.start_here(order).started.err().unwrap();
        assert_eq!((here.kind, here.detail), (error.kind, error.detail));
    });
}

#[test]
fn a_process_that_is_to_stop_is_started_in_the_loop() {
    beside(|mut w| async move {
        w.spawn(1, SpawnRequest { stopped: true, ..request("echo ran") });
        assert_eq!(w.processes.running(), 2);
        until_stopped(&w, 1).await;
        w.processes.signal(proc(1), types::Signal::CONT);
        assert_eq!(w.output_of(1).await.0, "ran\n");
    });
}

// spec L110
#[test]
fn the_holder_of_a_socket_is_found_while_its_start_is_under_way() {
    beside(|mut w| async move {
        let socket = || {
            let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
            let inode = rustix::fs::fstat(&theirs).unwrap().st_ino as u32;
            (ours, vec![(3, OwnedFd::from(theirs))], inode)
        };
        let (_ours, fds, inode) = socket();
        w.processes.spawn(proc(1), request("exec sleep 1000"), Vec::new(), fds);
        let holders = w.processes.holders();
        assert_eq!(holders.find(proc(1), inode).await, Holder::OfJob);
        // Another process of the job says so, as a descendant may.
        let (_ours, fds, inode) = socket();
        w.processes.spawn(proc(2), request("exec sleep 1000"), Vec::new(), fds);
        assert_eq!(holders.find(proc(0), inode).await, Holder::OfJob);
        assert_eq!(holders.find(proc(0), 1).await, Holder::Other);
    });
}
