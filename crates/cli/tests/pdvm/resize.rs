//! `pdvm grow` and `pdvm shrink`: what the DVM is asked, and how each end of it is told.

use ferrite_types::pmix_status::{PMIX_ERR_BAD_PARAM, PMIX_ERR_JOB_FAILED_TO_LAUNCH};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ferrite_types::{HostEntry, JobId};
use ferrite_wire::control::{Reply, Request};
use ferrite_wire::{
    AddedHost, GrowRequest, Inheritance, JobResize, ResizeOutcome, ResizeRequest, SessionTerms, ShrinkRequest,
    SizeChange, SlotChange,
};
use rustix::process::{Pid, Signal, kill_process};

use crate::fake::{self, Fake, pdvm};
use crate::{is_framed, run, told};

/// A DVM to whose requests for another size this happens.
fn ending_in(outcome: ResizeOutcome) -> Fake {
    Fake::answering(move |request| {
        Some(match request {
            Request::Resize(_) => fake::resized(outcome.clone()),
            request => fake::usual(request),
        })
    })
}

const GROW: &[&str] = &["grow", "--host", "n5,n6"];
const SHRINK: &[&str] = &["shrink", "--host", "n5,n6"];

#[test]
fn requests_reach_the_dvm_as_they_were_meant() {
    let fake = Fake::new();
    let file = fake.dir().join("more");
    std::fs::write(&file, "n7 slots=+2\n").unwrap();
    let grow = ["grow", "-H", "n5:4", "--hostfile", "more", "--alloc-id", "a1", "--req-id", "r", "--wait"];
    let terms = ["--reserve", "--time-limit", "60", "--warn", "10", "--inherit", "child-default", "--separate"];
    let (code, out, err) = told(&run(pdvm(&fake).args(grow).args(terms).current_dir(fake.dir())));
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "Grown: allocation a1, nodes n5, n6\n", ""));
    run(pdvm(&fake).args([
        "shrink",
        "--grace",
        "30",
        "--host",
        "n5",
        "--host",
        "n6",
        "--nodes",
        "3",
        "--alloc-id",
        "a1",
        "--req-id",
        "r",
        "--force",
    ]));
    let host = |name, slots| AddedHost { host: HostEntry::named(name), slots };
    let grow = GrowRequest {
        hosts: vec![host("n5", SlotChange::Set(4)), host("n7", SlotChange::Adjust(2))],
        alloc_id: Some("a1".into()),
        req_id: Some("r".into()),
        terms: SessionTerms {
            reserve: true,
            inheritance: Some(Inheritance::ChildDefault),
            separate: true,
            time_limit_s: Some(60),
            warn_s: Some(10),
        },
        wait: true,
        ..GrowRequest::default()
    };
    let shrink = ShrinkRequest {
        nodes: vec!["n5".to_owned(), "n6".to_owned()],
        count: 3,
        alloc_id: Some("a1".into()),
        req_id: Some("r".into()),
        grace_s: Some(30),
        force: true,
        wait: false,
    };
    let resize = |request| Request::Resize(Box::new(request));
    assert_eq!(fake.asked(), [resize(ResizeRequest::Grow(grow)), resize(ResizeRequest::Shrink(shrink))]);
}

#[test]
fn what_is_so_already_is_no_failure() {
    let fake = ending_in(ResizeOutcome::Unchanged);
    for args in [GROW, SHRINK] {
        let (code, out, err) = told(&run(pdvm(&fake).args(args)));
        assert_eq!((code, err.as_str()), (Some(0), ""));
        assert!(out.starts_with("Unchanged: "), "{out}");
        let (_, out, _) = told(&run(pdvm(&fake).args(args).arg("--json")));
        let json: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!((&json["outcome"], &json["allocation"]), (&"unchanged".into(), &serde_json::Value::Null));
    }
}

#[test]
fn a_refusal_and_a_failure_are_one_framed_message_with_cause_and_what_next() {
    let cause = || "Node n0 is the head's own: it leaves with the DVM (pterm).".to_owned();
    let ends = [
        (ResizeOutcome::Refused { status: PMIX_ERR_BAD_PARAM, cause: cause() }, "Nothing was changed."),
        (
            ResizeOutcome::Failed { status: PMIX_ERR_JOB_FAILED_TO_LAUNCH, cause: cause() },
            "has the nodes that it had before",
        ),
    ];
    for (outcome, next) in ends {
        let fake = ending_in(outcome);
        for args in [GROW, SHRINK, &["grow", "--nodes", "1", "--wait", "--json"]] {
            let (code, out, err) = told(&run(pdvm(&fake).args(args)));
            assert_eq!((code, out.as_str()), (Some(1), ""), "{args:?}");
            if !args.contains(&"--json") {
                is_framed(&err);
            }
            let words = err.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(&cause()) && words.contains(next), "{err}");
        }
    }
}

#[test]
fn a_line_without_nodes_is_refused_before_a_dvm_is_asked() {
    let fake = Fake::new();
    let lines: [&[&str]; 6] = [
        &["grow"],
        &["grow", "--host", "^n5"],
        &["grow", "--hostfile", "/no/such"],
        &["grow", "--nodes", "1", "--time-limit", "5", "--warn", "6"],
        &["shrink"],
        &["shrink", "-H", "+e"],
    ];
    for args in lines {
        let (code, out, err) = told(&run(pdvm(&fake).args(args)));
        assert_eq!((code, out.as_str()), (Some(1), ""), "{args:?}");
        is_framed(&err);
    }
    assert_eq!(fake.asked(), []);
}

#[test]
fn whoever_stops_to_wait_is_told_that_it_goes_on() {
    let fake = Fake::answering(|request| match request {
        // For ever, as far as this test is concerned.
        Request::Resize(_) => {
            sleep(Duration::from_secs(3600));
            None::<Reply>
        }
        request => Some(fake::usual(request)),
    });
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let before = fake.asked().len();
        let mut command = pdvm(&fake);
        command.args(["grow", "--nodes", "1", "--wait"]).stdin(Stdio::null());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let began = Instant::now();
        while fake.asked().len() == before {
            assert!(began.elapsed() < Duration::from_secs(30));
            sleep(Duration::from_millis(5));
        }
        kill_process(Pid::from_child(&child), signal).unwrap();
        let (exit, out, err) = told(&child.wait_with_output().unwrap());
        assert_eq!((exit, out.as_str()), (Some(code), ""));
        is_framed(&err);
        assert!(err.contains("what has begun goes on"), "{err}");
    }
}

/// (spec E54, E57)
#[test]
fn requests_for_processes_of_a_job_reach_the_dvm_as_they_were_meant() {
    let fake = Fake::new();
    let (code, out, err) = told(&run(pdvm(&fake).args(["resize", "7", "+2", "--grace", "5", "--wait"])));
    let says = "Grown: job 7 has spawned 2 processes, and has 4 processes\n";
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), says, ""));
    run(pdvm(&fake).args(["resize", "--force", "7", "-2"]));
    run(pdvm(&fake).args(["resize", "7", "=4", "--json"]));
    run(pdvm(&fake).args(["resize", "7", "=4", "--nodes", "2", "--queue", "low"]));
    let ask =
        JobResize { job: JobId(7), size: SizeChange::To(4), time_s: None, force: false, wait: false, nodes: None };
    let more = JobResize { size: SizeChange::More(2), time_s: Some(5), wait: true, ..ask.clone() };
    let fewer = JobResize { size: SizeChange::Fewer(2), force: true, ..ask.clone() };
    let nodes = GrowRequest { count: 2, queue: Some("low".to_owned()), ..GrowRequest::default() };
    let with_nodes = JobResize { nodes: Some(Box::new(nodes)), ..ask.clone() };
    assert_eq!(fake.asked(), [more, fewer, ask, with_nodes].map(Request::ResizeJob));
    let (code, _, err) = told(&run(pdvm(&fake).args(["resize", "7", "2"])));
    assert!(code == Some(1) && err.contains("+N for more"), "{err}");
}
