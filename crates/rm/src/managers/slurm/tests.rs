//! Slurm's commands and their answers, as recorded from 22.05 and 23.02.

use proptest::prelude::*;

use super::extend::{self, Salloc};
use super::job::{SlurmJob, TimeLeft, question};
use super::release::{self, release};
use super::*;
use crate::extension::{NodeAsk, Wish, job_name};
use crate::managers::Manager;

/// `salloc -N2 --time=30` on a small cluster.
const SMALL: &str = "RUNNING\nn[0-1]\n29:58\nmain\n(null)\n(null)\n(null)\n(null)\nOK\n2\n2\nN/A\nhead\n";
/// A batch job of a site that says everything.
const LARGE: &str = "RUNNING\nr[1-2]n[01-02]\n1-02:03:04\ngpu\nphysics\nhigh\nmaint_7\nskylake|rome&ib\nNO\n4\n256\ngres:gpu:2\nr1n01\n";

fn parsed(text: &str) -> SlurmJob {
    SlurmJob::parse(text).unwrap()
}

fn ask() -> NodeAsk {
    NodeAsk {
        manager: Manager::Slurm,
        parent: "7".to_owned(),
        name: job_name("prte-head-12", "7"),
        wish: Wish::Nodes(2),
        queue: None,
        slots: None,
        time_limit_s: None,
        has: vec!["n0".to_owned(), "n1".to_owned()],
    }
}

fn line(command: &[String]) -> String {
    command.join(" ")
}

fn salloc(ask: &NodeAsk, parent: &str) -> String {
    match extend::salloc(ask, 2, &parsed(parent)) {
        Ok(Salloc { command, slots, minutes }) => format!("{}\n  {slots:?} {minutes:?}", line(&command)),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_job_is_asked_for_and_its_answer_is_read() {
    insta::assert_snapshot!(line(&question("7")).replace('\n', "|"), @"squeue --noheader --states=all --jobs=7 --format=%T|%N|%L|%P|%a|%q|%v|%f|%h|%D|%C|%b|%B");
    insta::assert_debug_snapshot!([parsed(SMALL), parsed(LARGE)]);
    let pending = parsed("PENDING\n\nUNLIMITED\nmain\n(null)\nnormal\n(null)\n(null)\nNO\n9\n9\nN/A\nN/A\n");
    assert_eq!((pending.nodes.len(), pending.left), (0, TimeLeft::Unlimited));
}

#[test]
fn an_extension_has_the_shape_of_its_first_job_and_ends_before_it() {
    let with = |slots, time_limit_s| NodeAsk { slots, time_limit_s, ..ask() };
    insta::assert_snapshot!(
        [
            salloc(&ask(), SMALL),
            salloc(&ask(), LARGE),
            // More slots than processors, which is what the user made of them.
            salloc(&with(Some(80), Some(61)), LARGE),
            salloc(&with(Some(1), Some(7_200)), SMALL),
            salloc(&ask(), &SMALL.replace("29:58", "UNLIMITED")),
            salloc(&ask(), &SMALL.replace("29:58", "INVALID")),
            salloc(&ask(), &SMALL.replace("29:58", "0:59")),
            salloc(&ask(), &SMALL.replace("RUNNING", "COMPLETING")),
        ]
        .join("\n")
    );
}

#[test]
fn a_queue_that_is_named_comes_before_that_of_the_first_job() {
    let asked = NodeAsk { queue: Some("fast".to_owned()), ..ask() };
    let command = salloc(&asked, LARGE);
    assert_eq!(command.matches("--partition=").count(), 1, "{command}");
    assert!(command.contains("--partition=fast "), "{command}");
}

#[test]
fn one_that_has_waited_is_made_to_end_with_its_first_job() {
    let granted = extend::salloc(&ask(), 2, &parsed(SMALL)).unwrap();
    let trimmed = |left: &str| extend::trimmed("9", &granted, &parsed(&SMALL.replace("29:58", left)));
    assert_eq!(trimmed("29:40"), None, "it lasts for the 29 minutes that were left");
    assert_eq!(trimmed("10:59").map(|c| line(&c)).as_deref(), Some("scontrol update JobId=9 TimeLimit=10"));
    assert_eq!(trimmed("0:10").map(|c| line(&c)).as_deref(), Some("scontrol update JobId=9 TimeLimit=1"));
    assert_eq!(trimmed("UNLIMITED"), None);
}

#[test]
fn granted_nodes_are_hosts_with_the_job_that_grants_them() {
    let hosts = parsed(LARGE).hosts("9", 64).unwrap();
    let names: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["r1n01", "r1n02", "r2n01", "r2n02"]);
    assert!(hosts.iter().all(|host| host.rm_job.as_deref() == Some("9")));
    let odd = SlurmJob { nodes: vec!["-oProxyCommand=x".to_owned()], ..parsed(SMALL) };
    assert!(odd.hosts("9", 1).is_err());
    assert!(SlurmJob { nodes: Vec::new(), ..parsed(SMALL) }.hosts("9", 1).is_err());
}

#[test]
fn nodes_go_back_with_their_job_or_out_of_it_and_the_jobs_own_never_goes() {
    let names = |list: &str| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let part = |leave: &str, known: &str| {
        let release::Release { command, kept, why } = release("7", &names(leave), &parsed(known));
        let command = command.map_or("nothing".to_owned(), |command| line(&command));
        format!("{command}; keeps {kept:?} {}", why.unwrap_or_default())
    };
    insta::assert_snapshot!(
        [
            line(&release::end("9")),
            part("n1", SMALL),
            part("n0 n1", SMALL),
            part("r1n01 r1n02", LARGE),
            part("r1n01", LARGE),
            part("r2n02 r1n02 r2n01", LARGE),
            // Gone by other hands.
            part("n5", SMALL),
            part("n1", &SMALL.replace("RUNNING", "CANCELLED")),
            line(&release::end_all("prte-head-12.of.7", 1000)),
        ]
        .join("\n")
    );
}

#[test]
fn what_squeue_cannot_have_answered_is_refused() {
    let refused = |text: &str| SlurmJob::parse(text).unwrap_err().to_string();
    let with = |from: &str, to: &str| refused(&SMALL.replacen(from, to, 1));
    insta::assert_snapshot!(
        [
            refused(""),
            refused("RUNNING\nn0\n"),
            with("n[0-1]", "n[0-1"),
            with("n[0-1]", "n[0-99999999]"),
            with("29:58", "soon"),
            with("29:58", "1:2:3:4"),
            with("29:58", "99999999999999999-00:00:00"),
            with("main", "ma\u{7}in"),
            with("main", "two words"),
            with("\n2\n", "\ntwo\n"),
            with("\n2\n", "\n9999999999\n"),
        ]
        .join("\n")
    );
}

#[test]
fn only_what_misleads_is_taken_out_of_the_environment() {
    for name in [
        "SLURM_JOB_ID",
        "SLURM_NODELIST",
        "SALLOC_PARTITION",
        "SBATCH_X",
        "SRUN_DEBUG",
        "SQUEUE_FORMAT",
        "SCANCEL_USER",
    ] {
        assert!(misleads(name), "{name}");
    }
    for name in ["SLURM_CONF", "PATH", "HOME", "SLURMY", "MY_SLURM_JOB_ID"] {
        assert!(!misleads(name), "{name}");
    }
}

proptest! {
    #[test]
    fn no_answer_makes_the_parser_panic_and_no_value_becomes_an_option_of_its_own(text in "\\PC{0,40}", at in 0usize..13) {
        let mut lines: Vec<&str> = SMALL.trim_end().split('\n').collect();
        lines[at] = &text;
        if let Ok(job) = SlurmJob::parse(&lines.join("\n"))
            && let Ok(salloc) = extend::salloc(&ask(), 2, &job)
        {
            prop_assert!(salloc.command[1..].iter().all(|word| word.starts_with("--")));
            prop_assert!(!salloc.command.iter().any(|word| word.contains(char::is_whitespace)));
        }
    }
}
