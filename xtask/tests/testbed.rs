//! The testbed as its users see it. Where nodes cannot be made (exit code 77) each test says so and passes.

// Clippy knows test functions but not the helpers beside them.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const NOT_PERMITTED: i32 = 77;

fn xtask(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("testbed").args(words).stdin(Stdio::null());
    command
}

/// `None` where nodes cannot be made.
fn run(words: &[&str]) -> Option<Output> {
    let output = xtask(words).output().unwrap();
    if output.status.code() == Some(NOT_PERMITTED) {
        eprintln!("skipped: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some(output)
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A name that no other test process uses.
fn name(what: &str) -> String {
    format!("test-{what}-{}", std::process::id())
}

/// Processes of the machine whose command line holds `text`.
fn processes_with(text: &str) -> Vec<String> {
    let lines = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        let words = std::fs::read(entry.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&words).replace('\0', " "))
    });
    lines.filter(|line| line.contains(text)).collect()
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "not within 20 s: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Takes the bed down even if the test fails.
struct Down(String);

impl Drop for Down {
    fn drop(&mut self) {
        let _ = xtask(&["--name", &self.0, "down"]).output();
    }
}

fn up(what: &str, nodes: &str) -> Option<Down> {
    let bed = Down(name(what));
    let output = run(&["--name", &bed.0, "up", nodes])?;
    stdout(&output);
    Some(bed)
}

fn exec(bed: &Down, node: &str, words: &[&str]) -> Output {
    let mut all = vec!["--name", &bed.0, "exec", node, "--"];
    all.extend(words);
    run(&all).unwrap()
}

#[test]
fn nodes_reach_each_other_by_name_and_ssh_without_a_question() {
    let Some(bed) = up("ssh", "3") else { return };
    let script = "for n in n0 n1 n2; do ssh $n hostname; done";
    assert_eq!(stdout(&exec(&bed, "n1", &["sh", "-c", script])), "n0\nn1\nn2\n");
}

#[test]
fn a_node_has_processes_files_and_a_network_of_its_own() {
    let Some(bed) = up("own", "2") else { return };
    stdout(&exec(&bed, "n0", &["sh", "-c", "echo x > /tmp/f; echo x > /dev/shm/f; echo x > /run/f"]));
    assert!(!exec(&bed, "n1", &["sh", "-c", "cat /tmp/f || cat /dev/shm/f || cat /run/f"]).status.success());
    let first = stdout(&exec(&bed, "n1", &["cat", "/proc/1/cmdline"]));
    assert!(first.contains("_node"), "{first}");
    let devices = stdout(&exec(&bed, "n1", &["cat", "/proc/net/dev"]));
    assert!(devices.contains("eth0") && devices.lines().count() == 4, "{devices}");
}

#[test]
fn the_checkout_is_at_the_same_path_and_the_exit_code_comes_back() {
    let here = env!("CARGO_MANIFEST_DIR");
    let Some(output) = run(&["run", "2", "--", "ssh", "n1", &format!("ls {here}/Cargo.toml; exit 7")]) else {
        return;
    };
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), format!("{here}/Cargo.toml"));
}

#[test]
fn a_killed_run_leaves_no_process_and_no_directory() {
    let name = name("killed");
    let mut child = xtask(&["--name", &name, "run", "3", "--", "sh", "-c", "ssh n1 echo going; exec sleep 1000"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
    if line.is_empty() && child.wait().unwrap().code() == Some(NOT_PERMITTED) {
        return;
    }
    assert_eq!(line, "going\n");
    assert!(processes_with(&format!("-{name} ")).len() >= 4, "the head and three nodes");
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("all processes of the bed are gone", || processes_with(&format!("-{name} ")).is_empty());
    let parent = format!("/tmp/ferrite-testbed-{}", rustix::process::geteuid().as_raw());
    // The last bed of all takes the parent along.
    let left = || std::fs::read_dir(&parent).into_iter().flatten().flatten().collect::<Vec<_>>();
    wait_until("the directory is gone", || !left().iter().any(|e| e.path().to_string_lossy().contains(&name)));
}

#[test]
fn a_crashed_node_is_gone_and_comes_back_empty() {
    let Some(bed) = up("crash", "2") else { return };
    stdout(&exec(&bed, "n1", &["touch", "/tmp/mark"]));
    stdout(&xtask(&["--name", &bed.0, "crash", "n1"]).output().unwrap());
    assert!(!exec(&bed, "n1", &["true"]).status.success());
    assert!(!exec(&bed, "n0", &["ssh", "-oConnectTimeout=1", "n1", "true"]).status.success());
    stdout(&xtask(&["--name", &bed.0, "start", "n1"]).output().unwrap());
    assert_eq!(stdout(&exec(&bed, "n0", &["ssh", "n1", "ls /tmp | grep -c mark || true"])), "0\n");
}

#[test]
fn a_cut_link_stops_the_traffic_until_it_is_mended() {
    let Some(bed) = up("link", "2") else { return };
    stdout(&xtask(&["--name", &bed.0, "link", "n1", "down"]).output().unwrap());
    assert!(!exec(&bed, "n0", &["ssh", "-oConnectTimeout=1", "n1", "true"]).status.success());
    stdout(&xtask(&["--name", &bed.0, "link", "n1", "up"]).output().unwrap());
    wait_until("the link works", || exec(&bed, "n0", &["ssh", "-oConnectTimeout=1", "n1", "true"]).status.success());
}

#[test]
fn a_second_bed_of_the_same_name_is_refused_and_the_first_lives_on() {
    let Some(bed) = up("twice", "1") else { return };
    let second = run(&["--name", &bed.0, "up", "1"]).unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&second.stderr).contains("up already"));
    stdout(&exec(&bed, "n0", &["true"]));
}
