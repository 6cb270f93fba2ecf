//! Spawns and names by PMI-1: who is answered what, and what becomes of families that MPICH has started.

mod common;

use common::{Cluster, job};
use ferrite_core::{DaemonInput, Input, PmixCall, PmixEffect, PmixToken};
use ferrite_types::*;
use ferrite_wire::control::{Reply, Submission};
use ferrite_wire::{Access, DataCall, DataRange, DataRequest, Persistence};

fn of(job: u32, rank: u32) -> ProcId {
    ProcId { job: JobId(job), rank: Rank(rank) }
}

/// Three nodes with four slots each; job 1 of client 1 has a process on each of n0 and n1.
fn world() -> Cluster {
    let mut dvm = Cluster::persistent(3);
    let mut spec = job("parent", 2);
    spec.apps[0].hosts.hosts = ["n0", "n1"].map(|name| HostRef::Host(HostEntry::named(name))).to_vec();
    dvm.submit(1, Submission::of(spec));
    dvm
}

fn say(dvm: &mut Cluster, proc: ProcId, text: &str) {
    let at = dvm.running[&proc].0;
    let data = text.to_owned().into();
    dvm.input(at, Input::Daemon(DaemonInput::Pmix(PmixCall::Pmi1 { proc, data })));
    dvm.run();
}

/// The answers to a process, line by line.
fn heard(dvm: &Cluster, proc: ProcId) -> Vec<String> {
    let said = dvm.pmix.iter().filter_map(|(_, effect)| match effect {
        PmixEffect::Pmi1 { proc: to, data } if *to == proc => Some(String::from_utf8_lossy(data).trim_end().to_owned()),
        _ => None,
    });
    said.collect()
}

fn last(dvm: &Cluster, proc: ProcId) -> String {
    heard(dvm, proc).pop().unwrap_or_default()
}

fn spawn(lines: &str) -> String {
    format!("mcmd=spawn\nnprocs=2\nexecname=child\ntotspawns=1\nspawnssofar=1\n{lines}endcmd\n")
}

const VALUE: &str = "preput_num=1\npreput_key_0=PARENT\npreput_val_0=tag#0$port\n";

/// Job 2, whose processes have called init.
fn family() -> Cluster {
    let mut dvm = world();
    say(&mut dvm, of(1, 0), &spawn(VALUE));
    for rank in 0..2 {
        say(&mut dvm, of(2, rank), "cmd=init pmi_version=1 pmi_subversion=1\n");
    }
    dvm
}

/// The contact is in the new job's key-value space (spec L41).
#[test]
fn a_spawned_job_finds_its_parents_contact() {
    let mut dvm = world();
    let info = "argcnt=1\narg1=a b\ninfo_num=2\ninfo_key_0=wdir\ninfo_val_0=/there\ninfo_key_1=host\ninfo_val_1=n2\n";
    say(&mut dvm, of(1, 1), &spawn(&[VALUE, info].concat()));
    assert_eq!(heard(&dvm, of(1, 1)), ["cmd=spawn_result rc=0"]);
    let (at, request) = &dvm.running[&of(2, 0)];
    assert_eq!(*at, DaemonRank(2));
    assert_eq!((request.argv.join(" "), request.wdir.as_str()), ("child a b".to_owned(), "/there"));
    say(&mut dvm, of(2, 1), "cmd=get_my_kvsname\n");
    let name = last(&dvm, of(2, 1)).split_once("kvsname=").unwrap().1.replace(" rc=0", "");
    say(&mut dvm, of(2, 1), &format!("cmd=get kvsname={name} key=PARENT\n"));
    assert_eq!(last(&dvm, of(2, 1)), "cmd=get_result rc=0 msg=success value=tag#0$port");
    say(&mut dvm, of(1, 0), &format!("cmd=get kvsname={} key=PARENT\n", name.replace("@2", "@1")));
    assert!(last(&dvm, of(1, 0)).contains("rc=-1"), "the parent's own space has no such entry");
}

#[test]
fn a_spawn_that_cannot_be_done_is_answered_and_explained() {
    for (lines, reason) in [
        (spawn("").replace("nprocs=2", "nprocs=99"), "slots"),
        (spawn("info_key_0=host\ninfo_val_0=n1,,n2\n"), "host"),
        (spawn("info_key_0=host\ninfo_val_0=n9\n"), "n9"),
        (spawn("info_key_0=PMIX_SESSION_ID\ninfo_val_0=7\n"), ""),
        (spawn("argcnt=1\narg1=x\ny\n"), "newlines"),
    ] {
        let mut dvm = world();
        say(&mut dvm, of(1, 0), &lines);
        assert!(last(&dvm, of(1, 0)).starts_with("cmd=spawn_result rc=1"), "{lines}");
        let told = dvm.notices.join("\n");
        assert!(told.contains(reason), "{lines}\n{told}");
        say(&mut dvm, of(1, 0), "cmd=get_maxes\n");
        assert!(last(&dvm, of(1, 0)).starts_with("cmd=maxes"), "the conversation goes on");
        assert!(dvm.running.keys().all(|proc| proc.job == JobId(1)));
    }
}

#[test]
fn a_second_request_before_the_answer_ends_the_job() {
    let mut dvm = world();
    say(&mut dvm, of(1, 1), &spawn("").repeat(2));
    assert!(dvm.notices.join("\n").contains("another one waits"), "{:?}", dvm.notices);
    dvm.exit_all();
    assert_ne!(dvm.code_of(1), 0);
}

/// PMI-1 does not tell whether they have parted (spec L41).
#[test]
fn a_failure_of_what_was_spawned_ends_the_parents() {
    let mut dvm = family();
    dvm.exit(of(2, 1), ExitStatus::Exited(7));
    dvm.exit_all();
    assert_eq!(dvm.code_of(1), 7);
    assert!(dvm.notices.join("\n").contains("Job 1, which is connected with it, ends as well"), "{:?}", dvm.notices);
}

#[test]
fn what_was_spawned_ends_well_and_the_parents_go_on() {
    let mut dvm = family();
    for rank in 0..2 {
        say(&mut dvm, of(2, rank), "cmd=finalize\n");
        dvm.exit(of(2, rank), ExitStatus::Exited(0));
    }
    assert!(dvm.running.contains_key(&of(1, 0)));
    say(&mut dvm, of(1, 0), &spawn(VALUE));
    assert!(dvm.running.contains_key(&of(3, 1)), "it may spawn again");
}

/// The parent would wait for ever for its contact (spec L41).
#[test]
fn a_spawned_program_without_mpi_is_a_failure() {
    let mut dvm = world();
    say(&mut dvm, of(1, 0), &spawn(VALUE));
    dvm.exit(of(2, 0), ExitStatus::Exited(0));
    dvm.exit_all();
    assert!(dvm.notices.join("\n").contains("MPI_Init"), "{:?}", dvm.notices);
    assert_ne!(dvm.code_of(1), 0);
}

/// Only its publisher withdraws it (spec L42).
#[test]
fn a_published_name_is_found_by_another_job_until_it_is_withdrawn() {
    let mut dvm = world();
    dvm.submit(2, Submission::of(job("other", 1)));
    let lookup = "cmd=lookup_name service=my name\n";
    say(&mut dvm, of(2, 0), lookup);
    assert!(last(&dvm, of(2, 0)).starts_with("cmd=lookup_result rc=1"));
    say(&mut dvm, of(1, 0), "cmd=publish_name service=my name port=tag#0$here\n");
    assert_eq!(last(&dvm, of(1, 0)), "cmd=publish_result rc=0");
    say(&mut dvm, of(1, 1), "cmd=publish_name service=my name port=tag#1$here\n");
    assert!(last(&dvm, of(1, 1)).starts_with("cmd=publish_result rc=1"));
    say(&mut dvm, of(2, 0), lookup);
    assert_eq!(last(&dvm, of(2, 0)), "cmd=lookup_result rc=0 port=tag#0$here");
    say(&mut dvm, of(2, 0), "cmd=unpublish_name service=my name\n");
    assert!(last(&dvm, of(2, 0)).starts_with("cmd=unpublish_result rc=1"), "it is not its own");
    for code in [0, 1] {
        say(&mut dvm, of(1, 0), "cmd=unpublish_name service=my name\n");
        assert!(last(&dvm, of(1, 0)).starts_with(&format!("cmd=unpublish_result rc={code}")));
    }
    say(&mut dvm, of(2, 0), lookup);
    assert!(last(&dvm, of(2, 0)).starts_with("cmd=lookup_result rc=1"));
}

#[test]
fn a_name_ends_with_the_job_of_its_publisher() {
    let mut dvm = world();
    dvm.submit(2, Submission::of(job("other", 1)));
    say(&mut dvm, of(1, 0), "cmd=publish_name service=s port=p\n");
    dvm.exit_job(1);
    assert!(matches!(dvm.reply(1), Reply::Done(_)));
    say(&mut dvm, of(2, 0), "cmd=lookup_name service=s\n");
    assert!(last(&dvm, of(2, 0)).starts_with("cmd=lookup_result rc=1"));
}

#[test]
fn what_a_program_of_pmix_publishes_cannot_break_a_reply() {
    let mut dvm = world();
    for (key, value) in [("pmi1:a", &b"x\ncmd=finalize_ack"[..]), ("pmi1:b", b"\xff"), ("pmi1:c", &[b'x'; 1025])] {
        let items = vec![(key.to_owned(), bytes::Bytes::from_static(Box::leak(value.into())))];
        let (range, persistence, access) = (DataRange::Dvm, Persistence::App, Access::default());
        let request = DataRequest::Publish { items, range, persistence, access };
        let call = Box::new(DataCall { proc: of(1, 1), uid: 0, gid: 0, request });
        dvm.input(DaemonRank(1), Input::Daemon(DaemonInput::Pmix(PmixCall::Data { call, token: PmixToken(1) })));
        dvm.run();
        say(&mut dvm, of(1, 0), &format!("cmd=lookup_name service={}\n", &key[5..]));
        assert_eq!(last(&dvm, of(1, 0)), "cmd=lookup_result rc=1 msg=name_not_found");
    }
}
