//! Real processes: each test forks a process of one thread, which becomes a guard as `prterun` does.

use std::os::unix::process::CommandExt;
use std::path::Path;

use rustix::process::{WaitOptions, kill_process, test_kill_process, waitpid};

use super::*;

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// Forks a guard around `script`; returns the guard's pid.
fn guarded(script: &str, dir: &Path) -> Pid {
    let ward = Ward {
        tool: "prterun".to_owned(),
        dvm: format!("guard-test-{}", dir.file_name().unwrap().to_string_lossy()),
        session: dir.join("session"),
        silent: true,
    };
    let mut command = shell(script);
    command.current_dir(dir).env("DVM", &ward.dvm);
    match fork().unwrap() {
        Some(guard) => guard,
        None => {
            if enter(&ward).is_ok() {
                let _ = command.exec();
            }
            exit_now(99)
        }
    }
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

#[test]
fn a_killed_head_leaves_no_process_no_directory_and_no_segment() {
    let dir = tempfile::tempdir().unwrap();
    let script = "mkdir session; : > session/file; : > /dev/shm/$DVM-segment
        (setsid sh -c 'trap \"\" TERM HUP; sh -c \"echo \\$\\$ > deep; sleep 1000\" & echo $$ > apart; wait' &)
        sleep 1000 & echo $! > near
        echo $$ > head; wait";
    let guard = guarded(script, dir.path());
    let pids: Vec<Pid> = ["near", "apart", "deep"].iter().map(|f| pid_in(dir.path(), f)).collect();
    let name = format!("/dev/shm/guard-test-{}-segment", dir.path().file_name().unwrap().to_string_lossy());
    assert!(Path::new(&name).exists());
    kill_process(pid_in(dir.path(), "head"), Signal::KILL).unwrap();
    assert_eq!(exit_code(guard), Some(128 + 9));
    assert!(pids.into_iter().all(is_gone_soon));
    assert!(!dir.path().join("session").exists());
    assert!(!Path::new(&name).exists());
}

#[test]
fn what_a_resource_manager_granted_to_a_killed_head_goes_back() {
    // What is in PATH is one for the whole process, and nothing of it may be changed after a fork.
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
fn a_killed_guard_makes_the_head_terminate() {
    let dir = tempfile::tempdir().unwrap();
    let script = "trap 'echo 1 > told; exit 0' TERM; echo $$ > head; while :; do sleep 0.01; done";
    let guard = guarded(script, dir.path());
    let head = pid_in(dir.path(), "head");
    kill_process(guard, Signal::KILL).unwrap();
    assert_eq!(exit_code(guard), None);
    assert!(is_gone_soon(head));
    pid_in(dir.path(), "told");
}

#[test]
fn signals_reach_the_head_and_its_exit_code_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let script = "trap 'exit 7' USR1; echo $$ > head; while :; do sleep 0.01; done";
    let guard = guarded(script, dir.path());
    pid_in(dir.path(), "head");
    kill_process(guard, Signal::USR1).unwrap();
    assert_eq!(exit_code(guard), Some(7));
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
