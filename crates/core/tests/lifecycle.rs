//! Bring-up, launch and end of jobs, without a process or a socket.

mod common;

use common::{Cluster, app, job, proc};
use ferrite_core::{
    AbortScope, DaemonInput, DaemonTimer, HeadConfig, HeadInput, HeadTimer, Input, PmixCall, PmixEffect, PmixToken,
    Timer,
};
use ferrite_rm::Allocation;
use ferrite_types::*;
use ferrite_wire::Stream;
use ferrite_wire::control::Submission;

const TREE: &[(&str, &str)] = &[("rml_base_radix", "2")];
const FLAT: &[(&str, &str)] = &[("rml_base_radix", "2"), ("plm_ssh_no_tree_spawn", "1")];

/// A job walks the table of states in its order (spec L3, L20).
#[test]
fn a_job_walks_the_table_of_the_seed_in_its_order() {
    let mut dvm = Cluster::with_job(4, TREE, job("true", 4));
    dvm.exit_all();
    insta::assert_snapshot!(dvm.transitions.join("\n"));
    assert_eq!(dvm.exit_code(), 0);
    dvm.assert_gone();
}

/// The starter of a daemon (spec L5, L6).
#[test]
fn daemons_come_up_as_a_tree_or_all_from_the_head_with_the_same_end() {
    for params in [TREE, FLAT, &[("plm", "local")]] {
        let mut dvm = Cluster::with_job(9, params, job("true", 9));
        assert_eq!(dvm.running.len(), 9, "{params:?} {:?}", dvm.notices);
        dvm.exit_all();
        assert_eq!(dvm.exit_code(), 0);
        dvm.assert_gone();
        assert_eq!(dvm.notices, Vec::<String>::new());
    }
}

/// Ranks follow the order of the allocation (spec L4, L17).
#[test]
fn launch_data_reaches_only_the_daemons_that_host_processes() {
    let mut spec = job("true", 2);
    spec.apps[0].hosts.hosts = vec![HostRef::Host(HostEntry::named("n2")), HostRef::Host(HostEntry::named("n6"))];
    let mut dvm = Cluster::with_job(7, TREE, spec);
    let launched: Vec<u32> = dvm.received.iter().filter(|(_, k)| k.contains(&"launch")).map(|(r, _)| r.0).collect();
    // 6 hangs below 2 in the tree of radix 2: nobody else sees it pass.
    assert_eq!(launched, [2, 6]);
    dvm.exit_all();
    dvm.assert_gone();
}

/// A daemon that cannot be started ends the bring-up (spec L10).
#[test]
fn a_node_that_cannot_be_reached_is_named_with_command_and_cause_and_nothing_is_left() {
    for params in [TREE, FLAT] {
        let mut dvm = Cluster::new(7, params);
        dvm.bad_nodes.insert("n6".to_owned(), "ssh: no route to host".to_owned());
        dvm.start(job("true", 7));
        assert_eq!(dvm.exit_code(), 1);
        assert_eq!(dvm.notices.len(), 1);
        for part in ["n6", "prted", "no route to host"] {
            assert!(dvm.notices[0].contains(part), "{}", dvm.notices[0]);
        }
        assert_eq!(dvm.exits.get(&DaemonRank::HEAD), Some(&1));
        dvm.assert_gone();
    }
}

/// All daemons that cannot be started are in one message (spec L10).
#[test]
fn all_nodes_that_cannot_be_reached_are_named_in_one_message() {
    for (silent, waits) in [(false, false), (true, true)] {
        let mut dvm = Cluster::new(7, FLAT);
        for node in ["n5", "n6"] {
            dvm.bad_nodes.insert(node.to_owned(), format!("ssh: no route to {node}"));
        }
        if silent {
            dvm.silent_nodes.insert("n3".to_owned());
        }
        dvm.start(job("true", 7));
        assert_eq!(dvm.exits.is_empty(), waits, "a daemon that may come or fail yet is awaited");
        if waits {
            dvm.fire(0, Timer::Head(HeadTimer::BringUp));
        }
        assert_eq!((dvm.exit_code(), dvm.notices.len()), (1, 1));
        for part in ["2 daemons", "no route to n5", "no route to n6"] {
            assert!(dvm.notices[0].contains(part), "{}", dvm.notices[0]);
        }
        dvm.assert_gone();
    }
}

/// The bring-up has a deadline (spec L11).
#[test]
fn a_daemon_that_never_reports_is_named_when_the_time_is_up() {
    let mut dvm = Cluster::new(3, TREE);
    dvm.silent_nodes.insert("n2".to_owned());
    dvm.start(job("true", 3));
    assert!(dvm.replies.is_empty() && dvm.running.is_empty());
    dvm.fire(0, Timer::Head(HeadTimer::BringUp));
    assert_eq!(dvm.exit_code(), 1);
    assert!(dvm.notices[0].contains("n2") && !dvm.notices[0].contains("n1"), "{}", dvm.notices[0]);
    dvm.assert_gone();
}

#[test]
fn the_environment_of_the_dvm_comes_before_that_of_the_job() {
    let set = |value: &str| EnvOp::Set("A".to_owned(), value.to_owned());
    let mut dvm = Cluster::of(HeadConfig { env: vec![set("dvm")], ..Cluster::config(2, TREE, false) });
    let mut spec = job("true", 2);
    spec.apps[0].env = vec![set("program")];
    dvm.start(spec);
    let (_, request) = &dvm.running[&proc(1)];
    let own: Vec<&EnvOp> = request.env.iter().filter(|op| [set("dvm"), set("program")].contains(op)).collect();
    assert_eq!(own, [&set("dvm"), &set("program")]);
}

/// The lines that `state_base_show_launch_progress` asks for, and those that a terminal gets.
#[test]
fn a_long_bring_up_names_the_nodes_that_it_waits_for() {
    let show = ("state_base_show_launch_progress", "1");
    let progress = Timer::Head(HeadTimer::Progress);
    let mut dvm = Cluster::new(4, &[TREE[0], show]);
    dvm.silent_nodes.insert("n2".to_owned());
    dvm.start(job("true", 4));
    assert_eq!(dvm.progress, ["1 of 4 daemons up; waiting for n1, n2, n3"]);
    dvm.fire(0, progress);
    dvm.fire(0, progress);
    assert_eq!(dvm.progress[1..], ["3 of 4 daemons up; waiting for n2"], "what has not changed is not repeated");
    dvm.fire(0, Timer::Head(HeadTimer::BringUp));
    assert!(!dvm.timers.contains(&(DaemonRank::HEAD, progress)));
    assert_eq!(dvm.progress.len(), 2);

    let dvm = Cluster::with_job(3, &[TREE[0], show], job("true", 3));
    assert_eq!(dvm.progress, ["1 of 3 daemons up; waiting for n1, n2", "all 3 daemons up"]);
    let dvm = Cluster::with_job(3, TREE, job("true", 3));
    assert!(dvm.progress.is_empty());

    for (said, lines) in [(None, 1), (Some((show.0, "0")), 0)] {
        let mut params = TREE.to_vec();
        params.extend(said);
        let mut dvm = Cluster::of(HeadConfig { on_terminal: true, ..Cluster::config(3, &params, false) });
        dvm.silent_nodes.insert("n1".to_owned());
        dvm.start(job("true", 3));
        assert!(dvm.progress.is_empty(), "the first two seconds are silent");
        if said.is_none() {
            dvm.fire(0, progress);
        }
        assert_eq!(dvm.progress.len(), lines);
    }
}

/// Ordinary ends travel together, a failure at once (spec L25, L26).
#[test]
fn the_first_failing_process_decides_the_exit_code_and_ends_the_others() {
    let mut dvm = Cluster::with_job(3, TREE, job("a.out", 3));
    dvm.exit_proc(1, ExitStatus::Exited(7));
    assert_eq!(dvm.exit_code(), 7);
    assert!(dvm.notices[0].contains("rank 1") && dvm.notices[0].contains("code 7"));
    assert_eq!(dvm.notices.len(), 1, "the killed ones are not failures of their own");
    dvm.assert_gone();
}

/// Meanings of the end of a process (spec L28).
#[test]
fn a_signal_gives_128_plus_its_number() {
    let mut dvm = Cluster::with_job(2, TREE, job("a.out", 2));
    dvm.exit_proc(0, ExitStatus::Signaled(Signal::KILL));
    assert_eq!(dvm.exit_code(), 137);
    dvm.assert_gone();
}

/// A nonzero code may be declared harmless (spec L29).
#[test]
fn a_nonzero_code_is_no_failure_when_it_was_declared_harmless() {
    let mut spec = job("a.out", 2);
    spec.options.error_nonzero_status = false;
    let mut dvm = Cluster::with_job(2, TREE, spec);
    dvm.exit_proc(0, ExitStatus::Exited(3));
    assert_eq!(dvm.running.len(), 1);
    dvm.exit_all();
    assert_eq!(dvm.exit_code(), 0);
}

/// Meanings of the end of a process (spec L28).
#[test]
fn leaving_without_finalize_after_init_is_a_failure() {
    let mut dvm = Cluster::with_job(1, TREE, job("a.out", 1));
    dvm.input(DaemonRank::HEAD, Input::Daemon(DaemonInput::Pmix(PmixCall::ClientConnected(proc(0)))));
    dvm.run();
    dvm.exit_proc(0, ExitStatus::Exited(0));
    assert_eq!(dvm.exit_code(), 1);
    assert!(dvm.notices[0].contains("finalize"));
}

/// A process waits two seconds for a library that is slow, and ends: its finalize is heard of afterwards (spec L133).
#[test]
fn a_finalize_counts_that_is_heard_of_after_the_end() {
    let say = |dvm: &mut Cluster, call: PmixCall| {
        dvm.input(DaemonRank::HEAD, Input::Daemon(DaemonInput::Pmix(call)));
        dvm.run();
    };
    for heard in [true, false] {
        let mut dvm = Cluster::with_job(1, TREE, job("a.out", 1));
        dvm.is_library_slow = true;
        say(&mut dvm, PmixCall::ClientConnected(proc(0)));
        dvm.exit_proc(0, ExitStatus::Exited(0));
        let asked: Vec<_> = dvm.pmix.iter().filter(|(_, e)| matches!(e, PmixEffect::HearOut(_))).collect();
        assert_eq!(asked.len(), 1, "the library is asked once: {:?}", dvm.pmix);
        assert!(dvm.notices.is_empty(), "nothing is judged yet: {:?}", dvm.notices);
        if heard {
            say(&mut dvm, PmixCall::ClientFinalized(proc(0)));
        }
        say(&mut dvm, PmixCall::HeardOut(proc(0)));
        assert_eq!(dvm.exit_code(), if heard { 0 } else { 1 });
    }
}

#[test]
fn a_parameter_lets_processes_leave_without_finalize() {
    let mut dvm = Cluster::with_job(1, &[("prte_allowed_exit_without_sync", "1")], job("a.out", 1));
    dvm.input(DaemonRank::HEAD, Input::Daemon(DaemonInput::Pmix(PmixCall::ClientConnected(proc(0)))));
    dvm.run();
    dvm.exit_proc(0, ExitStatus::Exited(0));
    assert_eq!(dvm.exit_code(), 0);
}

/// A process that cannot be started ends its job (spec L23).
#[test]
fn a_program_that_is_missing_is_named_with_its_node() {
    let mut dvm = Cluster::new(2, TREE);
    dvm.missing.insert("nosuch".to_owned());
    let mut spec = JobSpec::new(vec![app("true", 1), app("nosuch", 1)]);
    spec.map.by = Some(MapBy::Node);
    dvm.start(spec);
    assert_eq!(dvm.exit_code(), 1);
    assert!(dvm.notices[0].contains("nosuch") && dvm.notices[0].contains(" n"), "{:?}", dvm.notices);
    dvm.assert_gone();
}

/// A job without room is refused (spec L14).
#[test]
fn more_processes_than_slots_starts_nothing_and_says_the_numbers() {
    let mut spec = job("true", 9);
    spec.map.oversubscribe = Some(false);
    let dvm = Cluster::with_job(2, TREE, spec);
    assert_eq!(dvm.exit_code(), 1);
    assert!(dvm.notices[0].contains('9') && dvm.notices[0].contains('8'), "{:?}", dvm.notices);
    dvm.assert_gone();
}

/// A lost daemon fails the jobs that had processes there (spec L32).
#[test]
fn a_lost_daemon_ends_the_job_that_had_processes_there_and_names_the_node() {
    let mut dvm = Cluster::with_job(4, TREE, job("a.out", 4));
    dvm.crash(3);
    assert_eq!(dvm.exit_code(), 1);
    assert!(dvm.notices[0].contains("n3"), "{:?}", dvm.notices);
    dvm.assert_gone();
}

/// Without the head nobody stays (spec L38).
#[test]
fn losing_the_head_ends_every_daemon_and_process() {
    let mut dvm = Cluster::with_job(7, TREE, job("a.out", 7));
    dvm.crash(0);
    dvm.assert_gone();
}

/// Effects of Ctrl-C (spec L36).
#[test]
fn ctrl_c_ends_the_job_and_twice_more_does_not_wait() {
    let mut dvm = Cluster::with_job(2, TREE, job("a.out", 2));
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::Interrupt));
    dvm.run();
    assert_eq!(dvm.exit_code(), 1);
    dvm.assert_gone();

    let mut dvm = Cluster::with_job(2, TREE, job("a.out", 2));
    for _ in 0..3 {
        dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::Interrupt));
    }
    dvm.run();
    assert_eq!(dvm.exits.get(&DaemonRank::HEAD), Some(&1));
}

/// A time limit ends the job with exit code 124 (spec L31).
#[test]
fn a_time_limit_ends_the_job() {
    let mut spec = job("a.out", 2);
    spec.options.timeout = Some(Duration::from_secs(5));
    let mut dvm = Cluster::with_job(2, TREE, spec);
    dvm.fire(0, Timer::Head(HeadTimer::JobTimeout(JobId(1))));
    assert_eq!(dvm.exit_code(), 124);
    assert!(dvm.notices[0].contains("Timeout: 5 seconds"));
    dvm.assert_gone();
}

/// An abort ends the job with its code (spec L30).
#[test]
fn an_abort_ends_the_job_with_its_code() {
    let mut dvm = Cluster::with_job(4, TREE, job("a.out", 4));
    dvm.abort(3, 42, AbortScope::Job);
    assert_eq!(dvm.exit_code(), 42);
    assert!(dvm.notices[0].contains("enough"));
    assert!(dvm.pmix.iter().any(|(_, e)| matches!(e, PmixEffect::Reply { token: PmixToken(9), result: Ok(_) })));
}

#[test]
fn a_fence_gathers_every_daemons_data_once_and_gives_it_to_all() {
    let mut dvm = Cluster::with_job(4, TREE, job("a.out", 4));
    for (at, data) in [(3, b"3"), (1, b"1"), (0, b"0")] {
        dvm.fence(at, 100 + u64::from(at), data);
        assert!(!dvm.pmix.iter().any(|(_, e)| matches!(e, PmixEffect::Reply { .. })), "one is still missing");
    }
    dvm.fence(2, 102, b"2");
    let mut replies: Vec<(u64, Vec<u8>)> = Vec::new();
    for (_, effect) in &dvm.pmix {
        if let PmixEffect::Reply { token, result: Ok(data) } = effect {
            let mut data = data.to_vec();
            data.sort_unstable();
            replies.push((token.0, data));
        }
    }
    replies.sort();
    assert_eq!(replies, (100..104).map(|t| (t, b"0123".to_vec())).collect::<Vec<_>>());
}

#[test]
fn a_fence_whose_job_runs_nowhere_near_the_head_completes_too() {
    let mut spec = job("a.out", 2);
    spec.apps[0].hosts.hosts = vec![HostRef::Host(HostEntry::named("n3")), HostRef::Host(HostEntry::named("n4"))];
    let mut dvm = Cluster::with_job(5, TREE, spec);
    dvm.fence(3, 1, b"a");
    dvm.fence(4, 2, b"b");
    let replies = dvm.pmix.iter().filter(|(_, e)| matches!(e, PmixEffect::Reply { result: Ok(_), .. })).count();
    assert_eq!(replies, 2);
}

#[test]
fn direct_modex_asks_the_daemon_that_hosts_the_process() {
    let mut dvm = Cluster::with_job(4, TREE, job("a.out", 4));
    let wanted = dvm.running[&proc(3)].0;
    dvm.input(DaemonRank(1), Input::Daemon(DaemonInput::Pmix(PmixCall::Modex { proc: proc(3), token: PmixToken(5) })));
    dvm.run();
    let (at, fetch) = dvm
        .pmix
        .iter()
        .find_map(|(at, e)| if let PmixEffect::FetchModex { fetch, .. } = e { Some((*at, *fetch)) } else { None })
        .unwrap();
    assert_eq!(at, wanted);
    dvm.input(at, Input::Daemon(DaemonInput::Pmix(PmixCall::ModexFetched { fetch, result: Ok("blob".into()) })));
    dvm.run();
    assert!(dvm.pmix.iter().any(
        |(at, e)| matches!(e, PmixEffect::Reply { token: PmixToken(5), result: Ok(d) } if at.0 == 1 && d == "blob")
    ));
}

/// REGISTERED means that all processes have called init (spec L21).
#[test]
fn what_mpich_processes_put_is_known_everywhere_after_the_barrier() {
    let mut dvm = Cluster::with_job(2, TREE, job("a.out", 2));
    let say = |dvm: &mut Cluster, rank: u32, text: &'static str| {
        let at = dvm.running[&proc(rank)].0;
        dvm.input(at, Input::Daemon(DaemonInput::Pmix(PmixCall::Pmi1 { proc: proc(rank), data: text.into() })));
        dvm.run();
    };
    for rank in 0..2 {
        say(&mut dvm, rank, "cmd=init pmi_version=1 pmi_subversion=1\n");
    }
    say(&mut dvm, 0, "cmd=put kvsname=prterun-n0-1@1 key=a value=1\ncmd=barrier_in\n");
    say(&mut dvm, 1, "cmd=barrier_in\n");
    say(&mut dvm, 1, "cmd=get kvsname=prterun-n0-1@1 key=a\n");
    let said: Vec<String> = dvm
        .pmix
        .iter()
        .filter_map(|(_, e)| match e {
            PmixEffect::Pmi1 { proc: p, data } if *p == proc(1) => Some(String::from_utf8_lossy(data).into_owned()),
            _ => None,
        })
        .collect();
    assert!(said.iter().any(|line| line.starts_with("cmd=barrier_out rc=0")), "{said:?}");
    assert!(said.last().is_some_and(|line| line.contains("value=1")), "{said:?}");
    assert!(dvm.transitions.contains(&"1 REGISTERED".to_owned()));
}

/// A job's processes know their node by variable, and by the registration at the library.
fn told(dvm: &Cluster, of: JobId) -> Vec<(DaemonRank, bool)> {
    let registered = |at: DaemonRank| {
        let mut all = dvm.pmix.iter().filter(|(daemon, _)| *daemon == at).filter_map(|(_, effect)| match effect {
            PmixEffect::Register(registration) if registration.order.job == of => Some(registration.oversubscribed),
            _ => None,
        });
        all.next().expect("the job is registered where it runs")
    };
    let processes = dvm.running.iter().filter(|(proc, _)| proc.job == of);
    let told = processes.map(|(_, (at, request))| {
        let has =
            |value: &str| request.env.contains(&EnvOp::Set("OMPI_MCA_mpi_oversubscribe".to_owned(), value.to_owned()));
        assert!(has("0") != has("1"));
        assert_eq!(has("1"), registered(*at));
        (*at, has("1"))
    });
    let mut told: Vec<_> = told.collect();
    told.sort_unstable();
    told.dedup();
    told
}

#[test]
fn processes_are_told_when_they_are_more_than_the_cores_of_their_node() {
    let mut spec = job("a.out", 9);
    spec.map.oversubscribe = Some(true);
    let mut dvm = Cluster::with_job(2, TREE, spec);
    assert_eq!(told(&dvm, JobId(1)), [(DaemonRank(0), true), (DaemonRank(1), false)]);
    dvm.exit_all();
    dvm.assert_gone();
}

#[test]
fn slots_beyond_the_cores_do_not_hide_that_cores_are_shared() {
    let mut dvm = Cluster::with_job(2, &[("prte_set_default_slots", "8")], job("a.out", 10));
    assert_eq!(told(&dvm, JobId(1)), [(DaemonRank(0), true), (DaemonRank(1), true)]);
    dvm.exit_all();
    dvm.assert_gone();
}

#[test]
fn slots_are_counted_by_what_a_parameter_names_also_in_place_of_those_that_are_stated() {
    // Nodes with one package, four cores and one stated slot or none.
    let fits = |params: &[(&str, &str)], slots: SlotCount, np| {
        let mut config = Cluster::config(1, params, false);
        config.allocation = Allocation::of(vec![HostEntry { slots, ..HostEntry::named("n0") }], Some(0));
        let mut dvm = Cluster::of(config);
        dvm.start(job("a.out", np));
        let runs = !dvm.running.is_empty();
        dvm.exit_all();
        runs
    };
    let most = |params: &[(&str, &str)], slots: SlotCount| (1..9).take_while(|np| fits(params, slots, *np)).count();
    let by = |rule| [("prte_set_default_slots", rule), ("prte_set_default_slots_override", "0")];
    let instead = |rule| [("prte_set_default_slots", rule), ("prte_set_default_slots_override", "1")];
    let counts = ["cores", "hwthreads", "sockets", "numas", "7"].map(|rule| most(&by(rule), SlotCount::FromCores));
    assert_eq!(counts, [4, 4, 1, 1, 7]);
    assert_eq!(most(&by("7"), SlotCount::Given(2)), 2);
    assert_eq!(most(&instead("7"), SlotCount::Given(2)), 7);
}

#[test]
fn two_hosts_that_are_named_for_two_processes_get_one_each() {
    let mut dvm = Cluster::persistent(4);
    let mut places = |names: &[&str], np, by: Option<MapBy>| {
        let mut spec = job("a.out", np);
        spec.map.by = by;
        spec.apps[0].hosts.hosts = names.iter().map(|name| HostRef::Host(HostEntry::named(name))).collect();
        let id = 1 + dvm.replies.len() as u64;
        dvm.submit(id, Submission::of(spec));
        let places: Vec<u32> = dvm.running.values().map(|(at, _)| at.0).collect();
        dvm.exit_all();
        assert_eq!(dvm.code_of(id), 0);
        places
    };
    let by_slot = Some(MapBy::Slot);
    assert_eq!(places(&["n1", "n2"], 2, by_slot.clone()), [1, 2]);
    assert_eq!(places(&["n1", "n2", "n1"], 3, by_slot.clone()), [1, 1, 2]);
    assert_eq!(places(&["n1", "n2"], 2, Some(MapBy::Object(ObjectKind::Core))), [1, 2]);
    assert_eq!(places(&["n1", "n2"], 3, by_slot.clone()), [1, 1, 1], "more than are named: they are whole nodes");
    assert_eq!(places(&["n1"], 3, by_slot), [1, 1, 1]);
    assert_eq!(places(&["n1", "n2"], 2, Some(MapBy::PerNode(2))), [1, 1], "it says by itself how many");
}

/// The descendants of a failed process hold its pipes: they are asked to end, and have a moment for that (spec L156).
#[test]
fn what_a_failed_process_has_started_may_tidy_up() {
    let mut dvm = Cluster::with_job(2, TREE, job("a.out", 2));
    let (at, _) = dvm.running.remove(&proc(1)).expect("it runs");
    dvm.input(at, Input::Daemon(DaemonInput::Exited { proc: proc(1), status: ExitStatus::Exited(3) }));
    dvm.run();
    assert_eq!(dvm.signals, [(proc(1), Signal::TERM)]);
    dvm.fire(at.0, Timer::Daemon(DaemonTimer::Descendants(proc(1))));
    assert_eq!(dvm.signals, [(proc(1), Signal::TERM), (proc(1), Signal::KILL)]);
    for stream in [Stream::Stdout, Stream::Stderr] {
        dvm.input(at, Input::Daemon(DaemonInput::OutputClosed { proc: proc(1), stream }));
    }
    dvm.run();
    assert_eq!(dvm.exit_code(), 3);
    // A process that was ordered to end gets SIGTERM once, and SIGKILL in its turn.
    let mut dvm = Cluster::with_job(2, TREE, job("a.out", 2));
    dvm.pipes_stay_open = true;
    dvm.exit_proc(0, ExitStatus::Exited(1));
    let of_other: Vec<Signal> =
        dvm.signals.iter().filter(|(of, _)| *of == proc(1)).map(|(_, signal)| *signal).collect();
    assert_eq!(of_other, [Signal::CONT, Signal::TERM]);
}
