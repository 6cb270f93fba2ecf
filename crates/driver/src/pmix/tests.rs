//! Real processes, and the real library where it is installed.

use std::time::Duration;

use ferrite_core::SpawnRequest;
use ferrite_types::Rank;
use ferrite_wire::Stream;

use super::*;
use crate::children::Processes;
use ferrite_core::DaemonInput;

/// Path of `ferrite-pmixd`, which cargo builds with the tests of the workspace.
fn helper() -> Runner {
    let program = std::env::current_exe().unwrap().parent().unwrap().with_file_name(library::PROGRAM);
    assert!(program.exists(), "{} is missing: cargo build -p ferrite-pmixd", program.display());
    Runner { program, patience: Duration::from_secs(30), most_served: 3, env: Default::default() }
}

struct World {
    bridge: PmixBridge,
    processes: Processes,
    inputs: UnboundedReceiver<Input>,
}

fn world<F: Future<Output = ()>>(dir: &Path, story: impl FnOnce(World) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let (inbox, inputs) = unbounded_channel();
        let session_dir = SessionDir::planned(dir, "test", std::process::id());
        let processes = Processes::new(inbox.clone(), &session_dir, None, &[]).unwrap();
        let holders = processes.holders();
        let host = Host {
            dvm: "dvm",
            daemon: DaemonRank(0),
            hostname: "n0",
            session_dir: &session_dir,
            topology: &ferrite_types::Topology::uniform(1, 2, 1),
            keep_fqdn: false,
            runner: helper(),
            size_events: None,
            caller: None,
        };
        let bridge = PmixBridge::new(inbox, host, None, holders);
        let story = story(World { bridge, processes, inputs });
        tokio::time::timeout(Duration::from_secs(30), story).await.expect("the scenario ends in time");
    });
    runtime.shutdown_background();
}

fn proc(rank: u32) -> ProcId {
    ProcId { job: JobId(1), rank: Rank(rank) }
}

impl World {
    fn spawn(&mut self, rank: u32, argv: &[&str]) {
        let (env, fds) = self.bridge.child_env(proc(rank));
        let request = SpawnRequest {
            argv: argv.iter().map(|a| (*a).to_owned()).collect(),
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
            merge_stderr: true,
        };
        self.processes.spawn(proc(rank), request, env, fds);
    }
}

#[test]
fn a_process_that_asks_for_nothing_starts_no_library() {
    let dir = tempfile::tempdir().unwrap();
    world(dir.path(), |mut w| async move {
        w.bridge.apply(PmixEffect::Register(Arc::new(job::tests::registration(0, "true"))));
        w.spawn(0, &["sh", "-c", "test -n \"$PMIX_SERVER_URI41\" && test \"$PMIX_NAMESPACE\" = dvm@1"]);
        while !matches!(w.inputs.recv().await.unwrap(), Input::Daemon(DaemonInput::Exited { status, .. }) if status.is_success())
        {
        }
        assert!(w.bridge.shared.running().is_none());
        assert!(!w.bridge.shared.session_dir.path().exists());
        w.bridge.apply(PmixEffect::Deregister(JobId(1)));
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(w.inputs.try_recv().is_err());
    });
}

#[test]
fn pmi1_bytes_pass_in_both_directions_and_the_end_is_told() {
    let dir = tempfile::tempdir().unwrap();
    world(dir.path(), |mut w| async move {
        w.bridge.apply(PmixEffect::Register(Arc::new(job::tests::registration(0, "true"))));
        w.spawn(0, &["sh", "-c", "echo hello $PMI_RANK of $PMI_SIZE >&$PMI_FD; read answer <&3; test $answer = fine"]);
        let (mut told, mut success) = (Vec::new(), false);
        while !(success && told.last().is_some_and(Bytes::is_empty)) {
            match w.inputs.recv().await.unwrap() {
                Input::Daemon(DaemonInput::Pmix(PmixCall::Pmi1 { proc, data })) => {
                    if told.is_empty() {
                        w.bridge.apply(PmixEffect::Pmi1 { proc, data: Bytes::from_static(b"fine\n") });
                    }
                    told.push(data);
                }
                Input::Daemon(DaemonInput::Exited { status, .. }) => success = status.is_success(),
                _ => {}
            }
        }
        assert_eq!(told[0], "hello 0 of 3\n");
    });
}

// spec L110
#[test]
fn pmi1_bytes_wait_until_the_start_of_their_process_is_told() {
    let dir = tempfile::tempdir().unwrap();
    world(dir.path(), |mut w| async move {
        w.bridge.apply(PmixEffect::Register(Arc::new(job::tests::registration(0, "true"))));
        let says = |bridge: &mut PmixBridge, rank, text: &str| {
            let (_, mut fds) = bridge.child_env(proc(rank));
            let (_, fd) = fds.pop().unwrap();
            rustix::io::write(&fd, text.as_bytes()).unwrap();
            fd
        };
        let settle = w.processes.hold_start(proc(0));
        let _early = says(&mut w.bridge, 0, "early");
        let _other = says(&mut w.bridge, 1, "other");
        let mut told = async || match w.inputs.recv().await.unwrap() {
            Input::Daemon(DaemonInput::Pmix(PmixCall::Pmi1 { data, .. })) => data,
            other => panic!("{other:?}"),
        };
        assert_eq!(told().await, "other");
        settle();
        assert_eq!(told().await, "early");
    });
}

/// A PMIx client without a compiler: init, modex within the node, finalize.
const CLIENT: &str = r#"
import ctypes, sys
try:
    pmix = ctypes.CDLL("libpmix.so.2")
except OSError:
    print("skip"); sys.exit(0)
me = ctypes.create_string_buffer(260)
status = pmix.PMIx_Init(me, None, ctypes.c_size_t(0))
print("init", status, flush=True)
if status == 0:
    print("fence", pmix.PMIx_Fence(None, ctypes.c_size_t(0), None, ctypes.c_size_t(0)), flush=True)
    print("finalize", pmix.PMIx_Finalize(None, ctypes.c_size_t(0)), flush=True)
"#;

#[test]
fn a_client_of_libpmix_comes_in_by_the_front_door() {
    let dir = tempfile::tempdir().unwrap();
    world(dir.path(), |mut w| async move {
        w.bridge.apply(PmixEffect::Register(Arc::new(job::tests::registration(0, "python3"))));
        for rank in [0, 1] {
            w.spawn(rank, &["python3", "-c", CLIENT]);
            w.processes.read_output(proc(rank), Stream::Stdout, 4096);
        }
        // The output is sorted by rank: each print is several writes, and the writes of two ranks interleave.
        let mut said = [String::new(), String::new()];
        let (mut connected, mut finalized, mut open, mut fences) = (0, 0, 2, 0);
        while open > 0 {
            match w.inputs.recv().await.unwrap() {
                Input::Daemon(DaemonInput::Output { proc, data, .. }) => {
                    said[proc.rank.0 as usize].push_str(&String::from_utf8_lossy(&data));
                    w.processes.read_output(proc, Stream::Stdout, 4096);
                }
                Input::Daemon(DaemonInput::OutputClosed { .. }) => open -= 1,
                Input::Daemon(DaemonInput::Pmix(PmixCall::ClientConnected(_))) => connected += 1,
                Input::Daemon(DaemonInput::Pmix(PmixCall::ClientFinalized(_))) => finalized += 1,
                Input::Daemon(DaemonInput::Pmix(PmixCall::Fence { members, data, token })) => {
                    assert!(members.ranks.is_empty(), "everyone takes part");
                    fences += 1;
                    w.bridge.apply(PmixEffect::Reply { token, result: Ok(data) });
                }
                _ => {}
            }
        }
        let text = said.concat();
        if text.contains("skip") {
            return;
        }
        assert_eq!(text.matches("init 0").count(), 2, "{text}");
        assert_eq!(text.matches("fence 0").count(), 2, "{text}");
        assert_eq!(text.matches("finalize 0").count(), 2, "{text}");
        assert_eq!((connected, finalized, fences), (2, 2, 1));
        // An unpublished key stays open until its job ends.
        w.bridge.apply(PmixEffect::FetchModex { fetch: 7, proc: proc(1) });
        w.bridge.apply(PmixEffect::FetchModex { fetch: 8, proc: ProcId { job: JobId(9), rank: Rank(0) } });
        w.bridge.apply(PmixEffect::Deregister(JobId(1)));
        let mut answered = Vec::new();
        while answered.len() < 2 {
            if let Input::Daemon(DaemonInput::Pmix(PmixCall::ModexFetched { fetch, .. })) =
                w.inputs.recv().await.unwrap()
            {
                answered.push(fetch);
            }
        }
        answered.sort_unstable();
        assert_eq!(answered, [7, 8]);
        w.bridge.shutdown();
    });
}

/// A library that has served many ends when it serves nobody, and the next caller gets a new one (spec L155).
#[test]
fn a_library_that_has_served_its_time_ends_unseen() {
    let dir = tempfile::tempdir().unwrap();
    world(dir.path(), |mut w| async move {
        for _ in 0..2 {
            w.bridge.apply(PmixEffect::Register(Arc::new(job::tests::registration(0, "python3"))));
            for rank in [0, 1] {
                w.spawn(rank, &["python3", "-c", CLIENT]);
            }
            let mut heard_out = 0;
            while heard_out < 2 {
                match w.inputs.recv().await.unwrap() {
                    Input::Daemon(DaemonInput::Exited { proc, .. }) => w.bridge.apply(PmixEffect::HearOut(proc)),
                    Input::Daemon(DaemonInput::Pmix(PmixCall::HeardOut(_))) => heard_out += 1,
                    Input::Daemon(DaemonInput::Pmix(PmixCall::Fence { data, token, .. })) => {
                        w.bridge.apply(PmixEffect::Reply { token, result: Ok(data) });
                    }
                    _ => {}
                }
            }
            if ferrite_pmix_sys::Library::open().is_err() {
                return;
            }
            let library = w.bridge.shared.running().expect("it has served");
            w.bridge.apply(PmixEffect::Deregister(JobId(1)));
            assert!(library.ready(Some("dvm@never")).await.is_err(), "it ends");
            assert!(w.bridge.shared.running().is_none());
            while let Ok(input) = w.inputs.try_recv() {
                assert!(!matches!(input, Input::Daemon(DaemonInput::Pmix(PmixCall::Abort { .. }))), "{input:?}");
            }
        }
    });
}
