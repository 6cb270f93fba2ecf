//! Daemons that a resource manager starts: one command for all nodes of one of its jobs, which lives as long as they
//! do.

mod common;

use common::*;
use ferrite_core::{HeadInput, Input};
use ferrite_rm::{Manager, Source};
use ferrite_types::{DaemonRank, ExitStatus, Signal};
use ferrite_wire::control::Submission;

/// `n0` of the head, and nodes of these jobs of Slurm.
fn dvm_of(jobs: &[&str]) -> Cluster {
    let mut config = Cluster::config(jobs.len() as u32 + 1, &[("rml_base_radix", "2")], true);
    config.allocation.source = Source::Managed { manager: Manager::Slurm, job: jobs[0].to_owned() };
    for (host, job) in config.allocation.nodes.iter_mut().skip(1).zip(jobs) {
        host.rm_job = Some((*job).to_owned());
    }
    Cluster::of(config)
}

fn up(jobs: &[&str]) -> Cluster {
    let mut dvm = dvm_of(jobs);
    begin(&mut dvm);
    dvm
}

fn begin(dvm: &mut Cluster) {
    dvm.input(DaemonRank::HEAD, Input::Start);
    dvm.run();
}

fn ended(dvm: &mut Cluster, rank: u32, status: ExitStatus, message: &str) {
    let (rank, message) = (DaemonRank(rank), message.to_owned());
    dvm.input(DaemonRank::HEAD, Input::LauncherEnded { rank, status: Some(status), message });
    dvm.run();
}

/// A daemon that called the head moves to its tree parent (spec L6).
#[test]
fn the_nodes_of_one_job_are_started_by_one_command_and_find_their_places_in_the_tree() {
    let mut dvm = up(&["7", "7", "8", "7", "7"]);
    let nodes = |word: &String| word.starts_with("--nodelist=") || word.starts_with("--jobid=");
    let told: Vec<String> = dvm
        .launched
        .iter()
        .map(|argv| argv.iter().filter(|word| nodes(word)).cloned().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(told, ["--jobid=7 --nodelist=n[1-2],n[4-5]", "--jobid=8 --nodelist=n3"]);
    dvm.submit(1, Submission::of(job("a.out", 6)));
    assert_eq!(dvm.running.len(), 6);
    let links: Vec<(u32, u32)> = dvm.links().map(|(a, b)| (a.0, b.0)).collect();
    assert_eq!(links, [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)]);
}

#[test]
fn a_step_that_ends_before_all_its_daemons_have_come_fails_the_start_with_its_words() {
    for status in [ExitStatus::Exited(1), ExitStatus::Exited(0)] {
        let mut dvm = dvm_of(&["7", "7", "7"]);
        dvm.silent_nodes.insert("n2".to_owned());
        begin(&mut dvm);
        assert!(dvm.notices.is_empty());
        ended(&mut dvm, 1, status, "srun: error: n2: task 1: Exited with exit code 1");
        let notice = &dvm.notices[0];
        assert!(notice.contains("node n2") && notice.contains("task 1") && notice.contains("--jobid=7"), "{notice}");
        assert_eq!(dvm.exits.get(&DaemonRank::HEAD), Some(&1));
        dvm.assert_gone();
    }
}

#[test]
fn a_task_that_ends_before_its_daemon_has_come_fails_the_start_at_once() {
    let mut dvm = dvm_of(&["7", "7", "7"]);
    dvm.silent_nodes.insert("n2".to_owned());
    begin(&mut dvm);
    let said = |nodes: &[&str]| {
        Input::Head(HeadInput::TasksEnded {
            launcher: DaemonRank(1),
            nodes: nodes.iter().map(|node| (*node).to_owned()).collect(),
            message: "slurmstepd: error: execve(): /opt/prted: No such file or directory".to_owned(),
        })
    };
    dvm.input(DaemonRank::HEAD, said(&["n1"]));
    dvm.run();
    assert!(dvm.notices.is_empty(), "its daemon is linked, and will be missed by that");
    dvm.input(DaemonRank::HEAD, said(&["n1", "n2"]));
    dvm.run();
    assert!(dvm.notices[0].contains("The daemon on node n2 could not") && dvm.notices[0].contains("execve"));
    assert_eq!(dvm.exits.get(&DaemonRank::HEAD), Some(&1));
    dvm.assert_gone();
}

#[test]
fn a_step_is_given_up_with_the_last_of_its_daemons_but_not_under_one_that_has_come() {
    for (silent, given_up) in [(vec!["n1", "n2"], vec![1]), (vec!["n2"], vec![])] {
        let mut dvm = dvm_of(&["7", "7"]);
        dvm.silent_nodes.extend(silent.into_iter().map(str::to_owned));
        begin(&mut dvm);
        dvm.fire(0, ferrite_core::Timer::Head(ferrite_core::HeadTimer::BringUp));
        assert_eq!(dvm.abandoned.iter().map(|rank| rank.0).collect::<Vec<_>>(), given_up);
        dvm.assert_gone();
    }
}

#[test]
fn the_end_of_a_step_under_living_daemons_is_told_and_at_the_end_of_the_dvm_it_is_not() {
    let mut dvm = up(&["7", "7", "8"]);
    ended(&mut dvm, 1, ExitStatus::Signaled(Signal::KILL), "");
    assert_eq!(dvm.notices.len(), 1);
    assert!(dvm.notices[0].contains("n1, n2 was killed") && dvm.notices[0].contains("signal 9"), "{}", dvm.notices[0]);
    assert!(!dvm.notices[0].contains("n3"));
    dvm.crash_all(&[1, 2]);
    // Its daemons are gone already: that was told when they were lost.
    let told = dvm.notices.len();
    dvm.input(DaemonRank::HEAD, Input::Terminate { cause: "pterm".to_owned() });
    ended(&mut dvm, 3, ExitStatus::Exited(0), "");
    assert_eq!(dvm.notices.len(), told, "{:?}", dvm.notices);
    dvm.assert_gone();
}

#[test]
fn a_node_that_no_job_of_slurm_has_is_refused_before_anything_is_started_there() {
    let mut config = Cluster::config(3, &[("plm", "slurm")], true);
    config.allocation.nodes[1].rm_job = Some("7".to_owned());
    let mut dvm = Cluster::of(config);
    begin(&mut dvm);
    assert!(dvm.notices[0].contains("n2 is in no job of Slurm's"), "{}", dvm.notices[0]);
    dvm.assert_gone();
}
