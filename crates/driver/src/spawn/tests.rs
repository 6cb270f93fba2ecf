//! Real processes, and their state in the kernel.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;

use ferrite_types::EnvOp;
use rustix::process::{WaitId, waitid};

use super::*;

fn request(argv: &[&str]) -> SpawnRequest {
    SpawnRequest {
        argv: argv.iter().map(|s| (*s).to_owned()).collect(),
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

/// Returns standard output and exit code of a process.
fn run_to_end(request: &SpawnRequest, extra: &[(RawFd, OwnedFd)]) -> (String, i32) {
    let started = Spawner::new(None, &[]).unwrap().start(request, &[], extra, None).unwrap();
    let mut text = String::new();
    fs::File::from(started.stdout).read_to_string(&mut text).unwrap();
    let status = waitid(WaitId::Pid(started.pid), WaitIdOptions::EXITED).unwrap().unwrap();
    (text, status.exit_status().unwrap_or(-1))
}
fn error(request: &SpawnRequest) -> StartError {
    Spawner::new(None, &[]).unwrap().start(request, &[], &[], None).err().unwrap()
}

#[test]
fn a_process_has_default_signals_its_own_group_and_no_foreign_descriptors() {
    [libc::SIGHUP, libc::SIGUSR1, 40].iter().for_each(|signal| crate::guard::ignore(ferrite_types::Signal(*signal)));
    let script = "grep -E '^Sig(Blk|Ign)' /proc/self/status | cut -f2; \
                  test $$ = $(cut -d' ' -f5 /proc/$$/stat) && echo leader; exec ls /proc/self/fd";
    let (text, code) = run_to_end(&request(&["sh", "-c", script]), &[]);
    let lines: Vec<&str> = text.lines().collect();
    // Signals 32 and 33 belong to the C library and cannot be changed.
    let signals = |line: &str| u64::from_str_radix(line, 16).unwrap() & !(3 << 31);
    assert_eq!((signals(lines[0]), signals(lines[1])), (0, 0), "{text}");
    // The last descriptor is that of the directory that `ls` reads.
    assert_eq!(lines[2..], ["leader", "0", "1", "2", "3"]);
    assert_eq!(code, 0);
}

/// The state letter of a process (`T`: stopped).
fn state_of(pid: Pid) -> char {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap();
    stat.rsplit_once(") ").unwrap().1.chars().next().unwrap()
}

#[test]
fn a_process_can_stop_before_its_first_instruction_and_go_on_later() {
    let stopped = SpawnRequest { stopped: true, ..request(&["sh", "-c", "echo ran; exit 3"]) };
    let started = Spawner::new(None, &[]).unwrap().start(&stopped, &[], &[], None).unwrap();
    let group_stop = WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(started.pid), group_stop).unwrap().expect("it stops");
    assert_eq!(state_of(started.pid), 'T', "stopped by a signal, and not by a tracer that is gone");
    let tracer = fs::read_to_string(format!("/proc/{}/status", started.pid.as_raw_nonzero())).unwrap();
    assert!(tracer.contains("TracerPid:\t0"), "a debugger can attach: {tracer}");
    rustix::process::kill_process(started.pid, rustix::process::Signal::CONT).unwrap();
    let mut text = String::new();
    fs::File::from(started.stdout).read_to_string(&mut text).unwrap();
    let status = waitid(WaitId::Pid(started.pid), WaitIdOptions::EXITED).unwrap().unwrap();
    assert_eq!((text.as_str(), status.exit_status()), ("ran\n", Some(3)));
}

#[test]
fn a_program_that_is_missing_is_named_also_when_it_was_to_stop() {
    let stopped = SpawnRequest { stopped: true, ..request(&["/nowhere/x"]) };
    assert_eq!(error(&stopped).kind, StartErrorKind::Executable);
}

#[test]
fn a_program_may_have_another_name_for_itself() {
    let named = SpawnRequest { arg0: Some("me".to_owned()), ..request(&["sh", "-c", "echo $0"]) };
    assert_eq!(run_to_end(&named, &[]), ("me\n".to_owned(), 0));
}

#[test]
fn extra_descriptors_get_their_numbers_whatever_ours_are() {
    let (read, write) = std::io::pipe().unwrap();
    let mut request = request(&["sh", "-c", "echo seen >&9"]);
    request.stdin = true;
    let (_, code) = run_to_end(&request, &[(9, write.into())]);
    assert_eq!(code, 0);
    let mut text = String::new();
    fs::File::from(OwnedFd::from(read)).read_to_string(&mut text).unwrap();
    assert_eq!(text, "seen\n");
}

#[test]
fn directory_environment_and_binding_are_as_asked() {
    let dir = tempfile::tempdir().unwrap();
    let mut request = request(&["sh", "-c", "pwd; echo $PWD $A $PRTE_LAUNCHED; taskset -cp $$"]);
    request.wdir = dir.path().to_str().unwrap().to_owned();
    request.env = vec![EnvOp::Set("A".to_owned(), "b c".to_owned())];
    let first = rustix::thread::sched_getaffinity(None).unwrap();
    let cpu = (0..1024).find(|c| first.is_set(*c)).unwrap() as u32;
    request.cpus = Some([cpu].into_iter().collect());
    let (text, _) = run_to_end(&request, &[]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], request.wdir);
    assert_eq!(lines[1], format!("{} b c 1", request.wdir));
    assert!(lines[2].ends_with(&format!("affinity list: {cpu}")), "{text}");
}

#[test]
fn a_script_without_an_interpreter_line_is_run_by_the_shell() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("script");
    fs::write(&script, "echo \"$0\" \"$1\"").unwrap();
    fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let path = script.to_str().unwrap();
    let (text, _) = run_to_end(&request(&[path, "arg"]), &[]);
    assert_eq!(text, format!("{path} arg\n"));
}

#[test]
fn a_missing_interpreter_and_a_long_argument_say_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("script");
    fs::write(&script, "#!/nonexistent/interpreter\n").unwrap();
    fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let missing = error(&request(&[script.to_str().unwrap()]));
    assert_eq!(missing.kind, StartErrorKind::Executable);
    assert!(missing.detail.ends_with("its interpreter does not exist"));
    let long = error(&request(&["true", &"x".repeat(1 << 20)]));
    assert_eq!(long.kind, StartErrorKind::System);
    assert!(long.detail.contains("rgument list too long"), "{}", long.detail);
}

#[test]
fn a_binding_that_the_machine_lacks_is_a_system_error() {
    let mut request = request(&["true"]);
    request.cpus = Some([1023].into_iter().collect());
    let error = error(&request);
    assert_eq!(error.kind, StartErrorKind::System);
    assert!(error.detail.starts_with("binding to hardware threads 1023"));
}

#[test]
fn memory_comes_from_where_the_policy_says() {
    let machine = crate::topology::discover().unwrap();
    let first = machine.of_kind(ferrite_types::ObjectKind::Numa)[0].os_index;
    let mut request = request(&["cat", "/proc/self/numa_maps"]);
    request.cpus = Some(machine.allowed.clone());
    let maps_under = |value| {
        let memory = MemoryPolicy::of(Some(value), &machine);
        let started = Spawner::new(memory, &[]).unwrap().start(&request, &[], &[], None).unwrap();
        let mut text = String::new();
        fs::File::from(started.stdout).read_to_string(&mut text).unwrap();
        waitid(WaitId::Pid(started.pid), WaitIdOptions::EXITED).unwrap();
        text
    };
    if maps_under("none").is_empty() {
        return println!("this kernel has no NUMA");
    }
    assert!(maps_under("none").contains(" default "));
    assert!(maps_under("local").contains("prefer"), "{}", maps_under("local"));
    assert!(maps_under("bind").contains(&format!("bind:{first}")), "{}", maps_under("bind"));
}

#[test]
fn devices_are_told_in_the_words_of_their_makers_over_what_is_set() {
    use ferrite_types::{Device, DeviceKind, DeviceVendor};
    let mut request = request(&["sh", "-c", "echo $CUDA_VISIBLE_DEVICES"]);
    request.env = vec![EnvOp::Set("CUDA_VISIBLE_DEVICES".to_owned(), "0".to_owned())];
    let device = Device {
        kind: DeviceKind::Gpu,
        name: "cuda0".to_owned(),
        vendor: DeviceVendor::Nvidia,
        index: 0,
        uuid: Some("GPU-1".to_owned()),
        cpus: CpuSet::new(),
    };
    request.devices = vec![device.clone()];
    assert_eq!(run_to_end(&request, &[]).0, "GPU-1\n");
    request.devices = vec![Device { uuid: None, ..device }];
    let refused = error(&request);
    assert!(refused.detail.starts_with("device cuda0 has no unique name"), "{}", refused.detail);
}

#[test]
fn a_failed_start_leaves_no_child() {
    let dir = tempfile::tempdir().unwrap();
    let garbage = dir.path().join("garbage");
    fs::write(&garbage, b"#!/nonexistent\n").unwrap();
    fs::set_permissions(&garbage, PermissionsExt::from_mode(0o755)).unwrap();
    let mut spawner = Spawner::new(None, &[]).unwrap();
    let request = request(&[garbage.to_str().unwrap()]);
    assert!(spawner.start(&request, &[], &[], None).is_err());
    let tid = rustix::thread::gettid().as_raw_nonzero();
    let children = fs::read_to_string(format!("/proc/self/task/{tid}/children")).unwrap();
    assert_eq!(children, "");
}

/// Run by hand: `cargo test --release -p ferrite-driver --lib -- --ignored --nocapture floor`.
#[test]
#[ignore = "a measurement: cargo test --release -p ferrite-driver --lib -- --ignored --nocapture floor"]
fn cost_beside_the_floor() {
    use std::process::{Command, Stdio};
    use std::time::Instant;
    let mut spawner = Spawner::new(None, &[]).unwrap();
    let request = request(&["/bin/true"]);
    let median = |what: &str, runs: usize, once: &mut dyn FnMut()| {
        let mut times: Vec<_> = (0..runs)
            .map(|_| {
                let start = Instant::now();
                once();
                start.elapsed().as_micros()
            })
            .collect();
        times.sort_unstable();
        println!("{what}: {} us (p90 {})", times[runs / 2], times[runs * 9 / 10]);
    };
    let mut null = Command::new("/bin/true");
    null.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    for _ in 0..2 {
        median("floor, one", 500, &mut || {
            null.spawn().unwrap().wait().unwrap();
        });
        median("ours, one", 500, &mut || {
            let started = spawner.start(&request, &[], &[], None).unwrap();
            waitid(WaitId::Pid(started.pid), WaitIdOptions::EXITED).unwrap();
        });
        median("floor, 64", 20, &mut || {
            let all: Vec<_> = (0..64).map(|_| null.spawn().unwrap()).collect();
            all.into_iter().for_each(|mut c| assert!(c.wait().unwrap().success()));
        });
        median("ours, 64", 20, &mut || {
            let all: Vec<_> = (0..64).map(|_| spawner.start(&request, &[], &[], None).unwrap()).collect();
            for started in all {
                waitid(WaitId::Pid(started.pid), WaitIdOptions::EXITED).unwrap();
            }
        });
    }
}

fn with(parameters: &[(&str, &str)], script: &str) -> Result<String, StartError> {
    let parameters: Vec<_> = parameters.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let request = request(&["/bin/sh", "-c", script]);
    let started = Spawner::new(None, &parameters).unwrap().start(&request, &[], &[], None)?;
    let mut text = String::new();
    fs::File::from(started.stdout).read_to_string(&mut text).unwrap();
    waitid(WaitId::Pid(started.pid), WaitIdOptions::EXITED).unwrap();
    Ok(text.trim().to_owned())
}

#[test]
fn processes_get_the_limits_that_the_parameter_asks_for() {
    let limits = ("prte_set_max_sys_limits", "openfiles:77,core:0");
    assert_eq!(with(&[limits], "ulimit -n; ulimit -c").unwrap(), "77\n0");
    let most = with(&[("prte_set_max_sys_limits", "openfiles")], "ulimit -Sn; ulimit -Hn").unwrap();
    let (soft, hard) = most.split_once('\n').unwrap();
    assert_eq!(soft, hard);
    // More descriptors than the kernel allows anybody.
    let refused = with(&[("prte_set_max_sys_limits", "openfiles:999999999999")], "true").unwrap_err();
    let wanted = "setting the limit openfiles:999999999999 of parameter prte_set_max_sys_limits";
    assert!(refused.detail.starts_with(wanted), "{}", refused.detail);
}

#[test]
fn the_exec_agent_of_a_program_replaces_that_of_the_parameter() {
    let parameters = [("odls_base_exec_agent".to_owned(), "env WRAPPED=parameter".to_owned())];
    let wrapped_by = |agent: Option<&str>| {
        let agent = agent.map(|text| text.split_whitespace().map(str::to_owned).collect());
        let request = SpawnRequest { agent, ..request(&["sh", "-c", "echo $WRAPPED"]) };
        let started = Spawner::new(None, &parameters).unwrap().start(&request, &[], &[], None).unwrap();
        let mut text = String::new();
        fs::File::from(started.stdout).read_to_string(&mut text).unwrap();
        waitid(WaitId::Pid(started.pid), WaitIdOptions::EXITED).unwrap();
        text.trim().to_owned()
    };
    assert_eq!(wrapped_by(None), "parameter");
    assert_eq!(wrapped_by(Some("env WRAPPED=program")), "program");
    assert_eq!(wrapped_by(Some("")), "");
}

#[test]
fn processes_find_what_is_installed_below_a_prefix() {
    let prefixes = [("ferrite_prefix", "/opt/f"), ("ferrite_pmix_prefix", "/opt/p")];
    let told = with(&prefixes, "echo ${LD_LIBRARY_PATH%%/f/lib*} $PMIX_PREFIX").unwrap();
    assert_eq!(told, "/opt/p/lib:/opt /opt/p");
}

/// (spec L94)
#[test]
fn an_exec_agent_starts_the_program_that_was_found() {
    let agent = ("odls_base_exec_agent", "env -u NOTHING WRAPPED=yes");
    assert_eq!(with(&[agent], "echo $WRAPPED $0").unwrap(), "yes /bin/sh");
    let refused = with(&[("odls_base_exec_agent", "no-such-agent")], "true").unwrap_err();
    let wanted = "parameter odls_base_exec_agent: no-such-agent: not found in ";
    assert!(refused.detail.starts_with(wanted), "{}", refused.detail);
}

#[test]
fn a_binary_for_another_machine_is_refused_with_both_names_and_no_shell_reads_it() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("foreign");
    let refused = |order: u8, machine: [u8; 2]| {
        let mut binary = b"\x7fELF\x02\x01\x01".to_vec();
        binary[5] = order;
        binary.resize(18, 0);
        binary.extend(machine);
        // A shell would run this line.
        binary.extend(b"\necho read by a shell\n");
        fs::write(&program, binary).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        error(&request(&[program.to_str().unwrap()]))
    };
    let mips = refused(2, [0, 8]);
    assert_eq!(mips.kind, StartErrorKind::Executable);
    assert!(mips.detail.contains("the binary is for machine 8 (of elf.h)"), "{}", mips.detail);
    let other = if std::env::consts::ARCH == "s390x" { "aarch64" } else { "s390x" };
    let number = if other == "s390x" { 22 } else { 183 };
    let detail = refused(1, [number, 0]).detail;
    assert!(detail.contains(other) && detail.contains(std::env::consts::ARCH), "{detail}");
}
