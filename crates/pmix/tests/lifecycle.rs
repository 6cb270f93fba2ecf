//! The life of one server in this process: what is refused, what fails when it ends. One test, because libpmix has one
//! server per process. Skipped, with a message, where libpmix is missing.

use std::sync::mpsc::channel;
use std::time::Duration;

use ferrite_pmix::{Error, JobInfo, LocalProc, NodeInfo, Proc, Server, ServerConfig, Status};

#[test]
fn one_server_lives_and_ends_without_leaving_anyone_waiting() {
    if let Err(error) = ferrite_pmix_sys::Library::open() {
        eprintln!("SKIPPED: {error}");
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let config = ServerConfig {
        tmpdir: dir.path().into(),
        system_tmpdir: dir.path().into(),
        dvm: "life".into(),
        nspace: "life@0".into(),
        rank: 0,
        hostname: "n0".into(),
        tool_support: true,
        share_topology: false,
        caller: None,
    };
    let long = ServerConfig { nspace: "x".repeat(300), ..config.clone() };
    assert!(matches!(Server::start(&long, |_| ()), Err(Error::BadName { .. })));

    let server = Server::start(&config, |_| ()).expect("it starts");
    let port = server.port().expect("it listens");
    assert!(matches!(Server::start(&config, |_| ()), Err(Error::AlreadyRunning)));
    let rendezvous = std::fs::read_dir(dir.path()).expect("it is there").count();
    assert!(rendezvous > 0, "tools find the server by a file");

    let job = JobInfo {
        nspace: "life@1".into(),
        size: 2,
        nodes: vec![NodeInfo { hostname: "n0".into(), node_id: 0, ranks: vec![0..=1] }],
        local_node: Some(0),
        local: vec![LocalProc::default(), LocalProc { rank: 1, local_rank: 1, node_rank: 1, ..LocalProc::default() }],
        ..JobInfo::default()
    };
    server.register_job(&job).expect("it is a sound job");
    let env = server.client_env("life@1", 1).expect("it is registered");
    assert!(env.contains(&("PMIX_RANK".into(), "1".into())));
    assert!(env.contains(&("PMIX_SERVER_URI41".into(), format!("life@0.0;tcp4://127.0.0.1:{port}"))));

    // Data that never comes: the requests end with the job, and with the server.
    let (sender, answers) = channel();
    for rank in [0, 1] {
        let sender = sender.clone();
        server.dmodex_get(&Proc::new("life@1", rank), move |answer| sender.send(answer).expect("the test listens"));
    }
    assert!(answers.recv_timeout(Duration::from_millis(50)).is_err(), "nobody has published anything");
    server.deregister_job("life@1");
    for _ in 0..2 {
        let answer = answers.recv_timeout(Duration::from_secs(5)).expect("nobody waits for ever");
        assert!(answer.is_err(), "{answer:?}");
    }
    server.deregister_job("never-seen@9");
    let last = sender.clone();
    server.dmodex_get(&Proc::new("later@2", 0), move |answer| last.send(answer).expect("the test listens"));
    server.stop();
    let answer = answers.recv_timeout(Duration::from_secs(5)).expect("nobody waits for ever");
    assert_eq!(answer, Err(Status::NOT_RUNNING));
    assert!(answers.try_recv().is_err(), "every request is answered once");
}
