//! Real servers with real clients: one process per node, the installed libpmix, a PMIx client in C, and Open MPI.
//! Skipped, with a message, where libpmix or a compiler is missing.

mod common;

use common::harness::{Outcome, Run};
use common::programs;

/// Not a test: the other processes of this one are started as this. See `common::harness`.
#[test]
#[ignore = "run by the other tests, as a process of its own"]
fn node_process() {
    if std::env::var_os(common::node::PLAN).is_some() {
        common::node::run();
    }
}

fn have_libpmix() -> bool {
    // A process that links it may be absent; only the loader can say.
    let found = ferrite_pmix_sys::Library::open();
    if let Err(error) = &found {
        eprintln!("SKIPPED: {error}");
    }
    found.is_ok()
}

fn client_scene(nodes: u32, size: u32, lazy: bool, scene: &str) -> Option<Outcome> {
    let client = programs::client().filter(|_| have_libpmix())?.to_str().expect("a plain path");
    Some(Run::new(nodes, size, lazy, &[client, scene]).go())
}

#[test]
fn a_fence_among_local_processes_makes_no_upcall() {
    for lazy in [false, true] {
        let Some(outcome) = client_scene(1, 4, lazy, "modex") else {
            return;
        };
        assert!(outcome.all_succeeded(4), "{outcome:#?}");
        assert_eq!(outcome.notes_with("fence"), 0, "{outcome:#?}");
        assert_eq!(outcome.notes_with("connected"), 4);
        assert_eq!(outcome.notes_with("finalized"), 4);
    }
}

#[test]
fn a_fence_over_two_servers_gives_everyone_the_data_of_all() {
    for lazy in [false, true] {
        let Some(outcome) = client_scene(2, 4, lazy, "modex") else {
            return;
        };
        assert!(outcome.all_succeeded(4), "{outcome:#?}");
        assert_eq!(outcome.notes_with("collect true"), 6, "three fences on two nodes: {outcome:#?}");
        assert_eq!(outcome.notes_with("collect false"), 2);
    }
}

#[test]
fn data_that_no_fence_carried_is_fetched_from_the_other_server() {
    for lazy in [false, true] {
        let Some(outcome) = client_scene(2, 4, lazy, "direct") else {
            return;
        };
        assert!(outcome.all_succeeded(4), "{outcome:#?}");
    }
}

#[test]
fn a_forgotten_answer_fails_the_fence_instead_of_hanging_it() {
    let Some(client) = programs::client().filter(|_| have_libpmix()) else {
        return;
    };
    let program = [client.to_str().expect("a plain path"), "fence-fails"];
    let outcome = Run { drop_fences: true, ..Run::new(2, 2, false, &program) }.go();
    assert!(outcome.all_succeeded(2), "{outcome:#?}");
}

#[test]
fn an_abort_arrives_with_its_status_and_reason() {
    let Some(client) = programs::client().filter(|_| have_libpmix()) else {
        return;
    };
    let program = [client.to_str().expect("a plain path"), "abort"];
    let outcome = Run { until_note: Some("aborted"), ..Run::new(1, 2, true, &program) }.go();
    assert_eq!(outcome.notes_with("abort 0 17 0 because of the test"), 1, "{outcome:#?}");
}

#[test]
fn a_process_that_dies_after_init_is_not_taken_for_finalized() {
    let Some(outcome) = client_scene(1, 2, true, "die") else { return };
    assert_eq!(outcome.exits.get(&0), Some(&3), "{outcome:#?}");
    assert_eq!(outcome.notes_with("connected"), 2, "{outcome:#?}");
    assert_eq!(outcome.notes_with("finalized"), 0, "{outcome:#?}");
}

#[test]
fn the_library_leaves_the_signals_alone() {
    let Some(outcome) = client_scene(1, 1, false, "modex") else { return };
    assert_eq!(outcome.notes_with("signals unchanged"), 1, "{outcome:#?}");
}

#[test]
fn garbage_at_the_port_disturbs_nobody() {
    let Some(client) = programs::client().filter(|_| have_libpmix()) else { return };
    let script =
        "exec 3<>/dev/tcp/127.0.0.1/${PMIX_SERVER_URI41##*:}; head -c 5000 /dev/urandom >&3; exec 3>&-; exec $0 modex";
    let program = ["bash", "-c", script, client.to_str().expect("a plain path")];
    for lazy in [false, true] {
        let outcome = Run::new(2, 4, lazy, &program).go();
        assert!(outcome.all_succeeded(4), "{outcome:#?}");
    }
}

#[test]
fn a_silent_connection_at_the_front_door_holds_up_nobody() {
    let Some(client) = programs::client().filter(|_| have_libpmix()) else { return };
    let script = "exec 3<>/dev/tcp/127.0.0.1/${PMIX_SERVER_URI41##*:}; sleep 0.2; $0 modex";
    let program = ["bash", "-c", script, client.to_str().expect("a plain path")];
    let outcome = Run::new(2, 4, true, &program).go();
    assert!(outcome.all_succeeded(4), "{outcome:#?}");
}

#[test]
fn what_is_not_offered_is_refused_and_hangs_nobody() {
    for lazy in [false, true] {
        let Some(outcome) = client_scene(1, 1, lazy, "refused") else {
            return;
        };
        assert!(outcome.all_succeeded(1), "{outcome:#?}");
        for service in ["publish", "lookup", "unpublish", "spawn"] {
            assert_eq!(outcome.notes_with(&format!("refused {service}")), 1, "{outcome:#?}");
        }
    }
}

#[test]
fn text_for_the_log_arrives() {
    let Some(outcome) = client_scene(1, 1, true, "log") else {
        return;
    };
    assert!(outcome.all_succeeded(1), "{outcome:#?}");
    assert_eq!(outcome.notes_with("log Stderr a text for the log"), 1, "{outcome:#?}");
}

#[test]
fn processes_elsewhere_are_known_by_place_and_host() {
    let Some(outcome) = client_scene(2, 4, false, "keys") else { return };
    assert!(outcome.all_succeeded(4), "{outcome:#?}");
    let lines = [
        "rank 0: 3 pmix.hname fake1",
        "rank 0: 3 pmix.lrank 1",
        "rank 0: 3 pmix.grank 3",
        "rank 0: peers on fake1: 2 rc 0",
        "rank 2: 4294967294 pmix.lpeers 2,3",
        "rank 2: 4294967294 pmix.local.size 2",
        "rank 2: nodes fake0,fake1",
    ];
    for line in lines {
        assert!(outcome.output.iter().any(|o| o == line), "{line}: {outcome:#?}");
    }
}

#[test]
fn of_a_huge_job_the_hosts_are_known_from_the_maps() {
    let Some(client) = programs::client().filter(|_| have_libpmix()) else { return };
    let program = [client.to_str().expect("a plain path"), "keys"];
    let outcome = Run { pretended_size: Some(5000), ..Run::new(2, 4, true, &program) }.go();
    for line in [
        "rank 0: 3 pmix.hname fake1",
        "rank 0: 4999 pmix.hname far",
        "rank 0: peers on fake1: 2 rc 0",
        "rank 0: peers on far: 4996 rc 0",
    ] {
        assert!(outcome.output.iter().any(|o| o == line), "{line}: {outcome:#?}");
    }
}

#[test]
fn open_mpi_4_runs_on_one_server_and_on_two() {
    let Some(program) = programs::open_mpi().filter(|_| have_libpmix()) else {
        return;
    };
    for (nodes, lazy) in [(1, false), (1, true), (2, false), (2, true)] {
        let outcome = Run::new(nodes, 4, lazy, &[program.to_str().expect("a plain path")]).go();
        assert!(outcome.all_succeeded(4), "{outcome:#?}");
        let right = outcome.output.iter().filter(|line| line.contains("of 4: sum 6 ring")).count();
        assert_eq!(right, 4, "{outcome:#?}");
    }
}

#[test]
fn of_many_fences_no_answer_is_lost() {
    let Some(client) = programs::client().filter(|_| have_libpmix()) else { return };
    let program = [client.to_str().expect("a plain path"), "modex", "150"];
    let outcome = Run::new(2, 4, true, &program).go();
    assert!(outcome.all_succeeded(4), "{:#?}", outcome.output);
    assert_eq!(outcome.notes_with("collect true"), 300);
}
