//! Real processes: each test forks a process of one thread, which becomes a guard as `prterun` does.

use std::os::unix::process::CommandExt;
use std::path::Path;

use rustix::process::{
    WaitOptions, getpgid, getpid, kill_process, kill_process_group, setpgid, setsid, test_kill_process, waitpid,
};

use super::*;

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// Forks a front with its guard around `script`; returns the front's pid, which leads a group.
fn guarded(script: &str, dir: &Path) -> Pid {
    forked(script, dir, true)
}

/// Forks a guard that leads a session around `script`; returns its pid.
fn guarded_in_background(script: &str, dir: &Path) -> Pid {
    forked(script, dir, false)
}

fn forked(script: &str, dir: &Path, is_waited_for: bool) -> Pid {
    let guarded = Guarded {
        tool: "prterun".to_owned(),
        dvm: format!("guard-test-{}", dir.file_name().unwrap().to_string_lossy()),
        session_dir: dir.join("session"),
        tools: dir.join("tools"),
        silent: true,
        is_waited_for,
    };
    let mut command = shell(script);
    command.current_dir(dir).env("DVM", &guarded.dvm);
    match fork().unwrap() {
        Some(first) => first,
        None => {
            let apart = if is_waited_for { setpgid(None, None) } else { setsid().map(|_| ()) };
            if apart.is_ok() && enter(&guarded).is_ok() {
                let _ = command.exec();
            }
            exit_now(99)
        }
    }
}

/// The session that a process is in; 0 when its leader is outside of the namespace, which `getsid` of rustix
/// cannot express.
fn session_of(pid: Pid) -> i32 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap();
    let (_, after_name) = stat.rsplit_once(')').unwrap();
    // State, parent, process group, session (proc(5)).
    after_name.split_whitespace().nth(3).unwrap().parse().unwrap()
}

/// The number in a file that a script writes.
fn pid_in(dir: &Path, file: &str) -> Pid {
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        let text = std::fs::read_to_string(dir.join(file)).unwrap_or_default();
        if let Some(line) = text.strip_suffix('\n') {
            return Pid::from_raw(line.parse().unwrap()).unwrap();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("the script never wrote {file}");
}

fn exit_code(guard: Pid) -> Option<i32> {
    let (_, status) = waitpid(Some(guard), WaitOptions::empty()).unwrap().unwrap();
    status.exit_status()
}

fn is_gone_soon(pid: Pid) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        if test_kill_process(pid).is_err() || stat.is_ok_and(|s| s.contains(") Z ")) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

/// Processes and files that a head has made and that have to be gone after it.
struct Traces<'a> {
    dir: &'a Path,
    segment: String,
    /// Processes that ignore signals.
    pids: Vec<Pid>,
}

const LEAVE_TRACES: &str = "mkdir session tools; : > session/file; : > tools/file; : > /dev/shm/$DVM-segment
    (setsid sh -c 'trap \"\" TERM HUP; sh -c \"echo \\$\\$ > deep; sleep 1000\" & echo $$ > apart; wait' &)
    sleep 1000 & echo $! > near
    echo $PPID > guard; echo $$ > head; wait";

impl Traces<'_> {
    fn of(dir: &Path) -> Traces<'_> {
        let pids = ["near", "apart", "deep"].iter().map(|f| pid_in(dir, f)).collect();
        let segment = format!("/dev/shm/guard-test-{}-segment", dir.file_name().unwrap().to_string_lossy());
        assert!(Path::new(&segment).exists());
        Traces { dir, segment, pids }
    }

    fn are_gone(self) {
        assert!(self.pids.into_iter().all(is_gone_soon));
        let deadline = Instant::now() + Duration::from_secs(10);
        let paths = [self.dir.join("session"), self.dir.join("tools"), self.segment.into()];
        let left = || paths.iter().any(|path| path.exists());
        while left() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!left());
    }
}

#[test]
fn a_killed_head_leaves_no_process_no_directory_and_no_segment() {
    for start in [guarded, guarded_in_background] {
        let dir = tempfile::tempdir().unwrap();
        let first = start(LEAVE_TRACES, dir.path());
        let traces = Traces::of(dir.path());
        kill_process(pid_in(dir.path(), "head"), Signal::KILL).unwrap();
        assert_eq!(exit_code(first), Some(128 + 9));
        traces.are_gone();
    }
}

#[test]
fn a_process_group_that_is_killed_in_one_go_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let front = guarded(LEAVE_TRACES, dir.path());
    let traces = Traces::of(dir.path());
    let (guard, head) = (pid_in(dir.path(), "guard"), pid_in(dir.path(), "head"));
    // The head also gets the terminal's signals and its input.
    assert_eq!((getpgid(Some(head)), session_of(head)), (Ok(front), session_of(getpid())));
    assert_eq!(session_of(guard), guard.as_raw_nonzero().get());
    kill_process_group(front, Signal::KILL).unwrap();
    assert_eq!(exit_code(front), None);
    traces.are_gone();
    assert!(is_gone_soon(guard));
}

#[test]
fn guard_and_daemon_share_no_process_group() {
    let dir = tempfile::tempdir().unwrap();
    let guard = guarded_in_background(LEAVE_TRACES, dir.path());
    let traces = Traces::of(dir.path());
    let head = pid_in(dir.path(), "head");
    assert_eq!((getpgid(Some(guard)), getpgid(Some(head))), (Ok(guard), Ok(head)));
    kill_process_group(head, Signal::KILL).unwrap();
    assert_eq!(exit_code(guard), Some(128 + 9));
    traces.are_gone();
}

#[test]
fn the_front_looks_after_the_head_of_a_killed_guard() {
    let dir = tempfile::tempdir().unwrap();
    let script = format!("trap 'echo 1 > told; exit 5' TERM; {LEAVE_TRACES}");
    let front = guarded(&script, dir.path());
    let traces = Traces::of(dir.path());
    kill_process(pid_in(dir.path(), "guard"), Signal::KILL).unwrap();
    assert_eq!(exit_code(front), Some(5));
    pid_in(dir.path(), "told");
    traces.are_gone();
}

#[test]
fn the_front_cleans_up_when_guard_and_head_are_killed() {
    let dir = tempfile::tempdir().unwrap();
    // The end of its guard alone must not end it.
    let front = guarded(&format!("trap '' TERM; {LEAVE_TRACES}"), dir.path());
    let traces = Traces::of(dir.path());
    for victim in ["guard", "head"] {
        kill_process(pid_in(dir.path(), victim), Signal::KILL).unwrap();
    }
    assert_eq!(exit_code(front), Some(128 + 9));
    traces.are_gone();
}

#[test]
fn what_a_resource_manager_granted_to_a_killed_head_goes_back() {
    // `PATH` is one for the whole process, and nothing of it may be changed after a fork.
    let dir = tempfile::tempdir().unwrap();
    let scancel = dir.path().join("scancel");
    std::fs::write(&scancel, "#!/bin/sh\necho \"$*\" > \"$PLACE/ended\"\n").unwrap();
    std::fs::set_permissions(&scancel, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "guard::tests::a_head_is_killed_that_has_asked_for_nodes", "--ignored"]);
    command.env("PATH", format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap()));
    assert!(command.env("PLACE", dir.path()).stdout(Stdio::null()).status().unwrap().success());
    let uid = rustix::process::getuid().as_raw();
    let ended = std::fs::read_to_string(dir.path().join("ended")).unwrap();
    assert_eq!(ended, format!("--user={uid} --name=dvm.of.7\n"));
}

#[test]
#[ignore = "run by the test above, with a script in PATH"]
fn a_head_is_killed_that_has_asked_for_nodes() {
    let dir = tempfile::tempdir().unwrap();
    let script = "mkdir session; printf dvm.of.7 > session/manager-jobs; kill -9 $$";
    assert_eq!(exit_code(guarded(script, dir.path())), Some(128 + 9));
    assert!(!dir.path().join("session").exists());
}

#[test]
fn a_killed_front_or_guard_makes_the_head_terminate() {
    for start in [guarded, guarded_in_background] {
        let dir = tempfile::tempdir().unwrap();
        let script = "trap 'echo 1 > told; exit 0' TERM; echo $$ > head; while :; do sleep 0.01; done";
        let first = start(script, dir.path());
        let head = pid_in(dir.path(), "head");
        kill_process(first, Signal::KILL).unwrap();
        assert_eq!(exit_code(first), None);
        assert!(is_gone_soon(head));
        pid_in(dir.path(), "told");
    }
}

#[test]
fn signals_reach_the_head_and_its_exit_code_comes_back() {
    for start in [guarded, guarded_in_background] {
        let dir = tempfile::tempdir().unwrap();
        let script = "trap 'exit 7' USR1; echo $$ > head; while :; do sleep 0.01; done";
        let first = start(script, dir.path());
        pid_in(dir.path(), "head");
        kill_process(first, Signal::USR1).unwrap();
        assert_eq!(exit_code(first), Some(7));
    }
}

#[test]
fn a_task_of_a_manager_passes_signals_on_and_ends_after_its_daemon() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = shell("trap 'echo 1 > told; exit 7' TERM; echo $$ > daemon; while :; do sleep 0.01; done");
    command.current_dir(dir.path());
    let Some(task) = fork().unwrap() else {
        if crate::detach::start(true).is_ok() {
            let _ = command.exec();
        }
        exit_now(99)
    };
    assert_ne!(pid_in(dir.path(), "daemon"), task);
    kill_process(task, Signal::TERM).unwrap();
    assert_eq!(exit_code(task), Some(7));
    pid_in(dir.path(), "told");
}

/// Not a test of time: prints what the guard adds to a start.
#[test]
fn an_orderly_end_passes_through() {
    let dir = tempfile::tempdir().unwrap();
    let mut times = Vec::new();
    for _ in 0..20 {
        let began = Instant::now();
        let guard = guarded("exit 3", dir.path());
        assert_eq!(exit_code(guard), Some(3));
        let with_guard = began.elapsed();
        let began = Instant::now();
        assert_eq!(shell("exit 3").status().unwrap().code(), Some(3));
        times.push(with_guard.saturating_sub(began.elapsed()));
    }
    times.sort();
    eprintln!("a guard costs {:?} (median of 20)", times[10]);
}
