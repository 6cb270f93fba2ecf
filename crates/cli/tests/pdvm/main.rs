//! `pdvm` itself against a DVM that is no more than a thread: what goes where, and the exit code of each kind of end.

// Helpers of a test fail as tests do.
#![allow(clippy::unwrap_used)]

mod candidates;
mod fake;
mod resize;
mod session;
mod top;

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};

use fake::{Fake, pdvm};
use ferrite_types::{JobId, JobState};
use ferrite_wire::control::{DvmMessage, Event, EventKind, Reply, Request};

fn run(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().unwrap()
}

fn told(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

const VERBS: &[(&[&str], &str, &str)] = &[
    (&["status"], "status", "DVM "),
    (&["nodes"], "nodes", "NODE "),
    (&["jobs"], "jobs", "JOB "),
    (&["jobs", "--all"], "jobs", "JOB "),
    (&["jobs", "--tree"], "jobs", "JOB "),
    (&["job", "1"], "job", "Job 1 "),
    (&["batch", "list"], "batches", "BATCH "),
    (&["batch", "cancel", "b1"], "batch_ordered", "Batch b1 "),
    (&["wait", "2"], "waited", "Job 2 "),
    (&["kill", "1"], "ordered", "Job 1 is being ended.\n"),
    (&["kill", "1", "--tree"], "ordered", "Job 1 is being ended; job 3, which descends from it, is being ended.\n"),
    (&["signal", "1", "USR1"], "ordered", "Signal 10 (SIGUSR1) goes to the processes of job 1.\n"),
    (&["grow", "--host", "n5,n6"], "resized", "Growing: allocation a1, nodes n5, n6\n"),
    (&["shrink", "--nodes", "2", "--wait"], "resized", "Shrunk: allocation a1, nodes n5, n6\n"),
    (&["session", "list"], "sessions", "SESSION "),
    (&["session", "pause", "--session-id", "1"], "session_ordered", "Paused: session 1."),
    (&["session", "terminate", "--alloc-id", "a1"], "session_ordered", "Ending: the session of allocation a1,"),
    (&["trace", "1"], "trace", "Job 1 "),
    (&["metrics"], "metrics", "DVM "),
];

#[test]
fn every_verb_answers_in_text_and_in_json() {
    let fake = Fake::new();
    for (args, kind, begin) in VERBS {
        let (code, out, err) = told(&run(pdvm(&fake).args(*args)));
        assert_eq!((code, err.as_str()), (Some(0), ""), "{args:?}");
        assert!(out.starts_with(begin), "{args:?}: {out}");
        let (code, out, err) = told(&run(pdvm(&fake).args(*args).arg("--json")));
        assert_eq!((code, err.as_str()), (Some(0), ""), "{args:?}");
        let json: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!((&json["schema"], &json["kind"], &json["dvm"]), (&1.into(), &(*kind).into(), &"fake".into()));
    }
}

#[test]
fn orders_reach_the_dvm_by_number_and_by_namespace() {
    let fake = Fake::new();
    run(pdvm(&fake).args(["kill", "7"]));
    run(pdvm(&fake).args(["signal", &format!("{}@8", fake.name()), "15"]));
    run(pdvm(&fake).args(["kill", "9", "--tree"]));
    let signal = Request::Signal { job: JobId(8), signal: ferrite_types::Signal::TERM };
    let wanted = [Request::Kill(JobId(7)), signal, Request::KillTree(JobId(9))];
    assert_eq!(fake.asked(), wanted);
    let (code, _, err) = told(&run(pdvm(&fake).args(["kill", "another@7"])));
    assert_eq!(code, Some(1));
    assert!(err.contains("another@7 belongs to another DVM"), "{err}");
    assert_eq!(fake.asked(), wanted);
}

fn is_framed(err: &str) {
    let rule = "-".repeat(74);
    let lines: Vec<&str> = err.lines().collect();
    assert_eq!((lines.first(), lines.last()), (Some(&rule.as_str()), Some(&rule.as_str())), "{err}");
    assert_eq!(lines.iter().filter(|line| **line == rule).count(), 2, "{err}");
    assert!(lines[1].starts_with("pdvm: "), "{err}");
}

#[test]
fn what_cannot_be_done_is_one_framed_message_and_exit_code_one() {
    let refusing = Fake::answering(|_| Some(Reply::Refused("There is no job 9.".to_owned())));
    let astray = Fake::answering(|_| Some(Reply::Ordered));
    let hanging_up = Fake::answering(|_| None);
    let cases = [
        (&refusing, vec!["job", "9"], "There is no job 9."),
        (&refusing, vec!["kill", "9"], "There is no job 9."),
        (&astray, vec!["nodes"], "another question"),
        (&hanging_up, vec!["jobs"], "was lost"),
        (&hanging_up, vec!["top"], "needs a terminal"),
        (&hanging_up, vec!["status", "--pid", "1"], "another option names another DVM"),
        (&hanging_up, vec!["sing"], "sing"),
    ];
    for (fake, args, text) in cases {
        let (code, out, err) = told(&run(pdvm(fake).args(&args)));
        assert_eq!((code, out.as_str()), (Some(1), ""), "{args:?}");
        is_framed(&err);
        let words: Vec<&str> = err.split_whitespace().collect();
        assert!(words.join(" ").contains(text), "{args:?}: {err}");
    }
}

#[test]
fn an_error_is_json_when_json_was_asked_for() {
    let refusing = Fake::answering(|_| Some(Reply::Refused("There is no job 9.".to_owned())));
    let hanging_up = Fake::answering(|_| None);
    let failing = Fake::answering(|request| match request {
        Request::Resize(_) => {
            let cause = "no daemon came".to_owned();
            let outcome = ferrite_wire::ResizeOutcome::Failed { cause, status: ferrite_types::PmixStatus(-1) };
            Some(fake::resized(outcome))
        }
        request => Some(fake::usual(request)),
    });
    let cases = [
        (&refusing, &["job", "9", "--json"][..], "refused", "There is no job 9."),
        (&refusing, &["--json", "kill", "9"], "refused", "There is no job 9."),
        (&hanging_up, &["jobs", "--json"], "connection", "was lost"),
        (&hanging_up, &["top", "--json"], "usage", "top has no JSON"),
        (&hanging_up, &["sing", "--json"], "usage", "sing"),
        (&hanging_up, &["--json", "status", "--pid", "1"], "usage", "another option names another DVM"),
        (&failing, &["grow", "--host", "n5", "--json"], "failed", "no daemon came"),
    ];
    for (fake, args, reason, text) in cases {
        let (code, out, err) = told(&run(pdvm(fake).args(args)));
        assert_eq!((code, out.as_str(), err.lines().count()), (Some(1), "", 1), "{args:?}: {err}");
        let json: serde_json::Value = serde_json::from_str(&err).unwrap();
        assert_eq!((&json["schema"], &json["kind"], &json["exit_code"]), (&1.into(), &"error".into(), &1.into()));
        assert_eq!(json["reason"], reason, "{args:?}: {err}");
        assert!(json["error"].as_str().unwrap().contains(text), "{args:?}: {err}");
    }
    let fake = Fake::new();
    let (_, _, err) = told(&run(pdvm(&fake).args(["status", "--json", "--namespace", "x"])));
    assert!(serde_json::from_str::<serde_json::Value>(&err).is_ok(), "{err}");
}

#[test]
fn an_empty_list_says_so() {
    let fake = Fake::answering(|request| match request {
        Request::Jobs => Some(Reply::Jobs(Vec::new())),
        Request::Nodes => Some(Reply::Nodes(Vec::new())),
        Request::Sessions => Some(Reply::Sessions(Vec::new())),
        request => Some(fake::usual(request)),
    });
    for (args, text) in [
        (&["jobs"][..], "There is no job"),
        (&["events"], "There is no job"),
        (&["nodes"], "The DVM has no node"),
        (&["session", "list"], "There is no session"),
    ] {
        let (code, out, _) = told(&run(pdvm(&fake).args(args)));
        assert_eq!((code, out.lines().count()), (Some(0), 1), "{args:?}");
        assert!(out.starts_with(text), "{args:?}: {out}");
    }
}

/// All names of fields in a value.
fn fields(value: &serde_json::Value, found: &mut std::collections::BTreeSet<String>) {
    match value {
        serde_json::Value::Object(object) => {
            found.extend(object.keys().cloned());
            object.values().for_each(|value| fields(value, found));
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| fields(item, found)),
        _ => {}
    }
}

/// The texts between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn the_page_about_json_names_each_field_and_no_other() {
    let page = include_str!("../../../../docs/pdvm-json.md");
    let section = |title: &str| {
        let from = page.find(&format!("\n## {title}\n")).unwrap_or_else(|| panic!("no section {title}"));
        page[from + 1..].split("\n## ").next().unwrap()
    };
    let common = section("What every answer begins with");
    let fake = Fake::new();
    for (args, kind, _) in VERBS {
        let (_, out, _) = told(&run(pdvm(&fake).args(*args).arg("--json")));
        let mut found = std::collections::BTreeSet::new();
        fields(&serde_json::from_str(&out).unwrap(), &mut found);
        let own = section(&format!("`{kind}`"));
        // One job, and those that were waited for, have the fields of the list of jobs as well.
        let others = if ["job", "waited"].contains(kind) { section("`jobs`") } else { "" };
        for field in &found {
            assert!([own, others, common].iter().any(|text| quoted(text).any(|word| word == field)), "{kind}: {field}");
        }
        let rows = own.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
        for field in rows.flat_map(quoted) {
            assert!(found.contains(field), "{kind}: no {field}");
        }
    }
}

#[test]
fn without_a_dvm_every_verb_says_so() {
    let fake = Fake::new();
    for (args, _, _) in VERBS.iter().chain([&(&["events"][..], "", ""), &(&["events", "-f"][..], "", "")]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pdvm"));
        let (code, out, err) = told(&run(command.args(*args).args(["--namespace", "no-such-dvm"])));
        assert_eq!((code, out.as_str()), (Some(1), ""), "{args:?}");
        is_framed(&err);
    }
    assert_eq!(fake.asked(), []);
}

#[test]
fn a_reader_that_went_away_is_no_failure_but_a_full_disk_is() {
    let fake = Fake::new();
    for args in [&["jobs"][..], &["events"], &["events", "--follow"], &["trace", "1", "--chrome", "-"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = pdvm(&fake).args(args).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let (code, _, err) = told(&output.wait_with_output().unwrap());
        assert_eq!((code, err.as_str()), (Some(0), ""), "{args:?}");
    }
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = pdvm(&fake).arg("jobs").stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let (code, _, err) = told(&output.wait_with_output().unwrap());
    assert_eq!(code, Some(1));
    is_framed(&err);
}

#[test]
fn a_trace_goes_to_a_file() {
    let fake = Fake::new();
    let file = fake.dir().join("trace.json");
    let (code, out, err) = told(&run(pdvm(&fake).args(["trace", "1", "--chrome"]).arg(&file)));
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "", ""));
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert!(json["traceEvents"].as_array().unwrap().iter().any(|event| event["ph"] == "X"), "{json}");
    let (code, _, err) = told(&run(pdvm(&fake).args(["trace", "1", "--chrome", "/no/such/directory/x"])));
    assert_eq!(code, Some(1));
    is_framed(&err);
}

#[test]
fn a_page_of_a_job_or_of_a_batch_goes_to_a_file() {
    let fake = Fake::new();
    let file = fake.dir().join("page.html");
    for (words, holds) in [(&["1"][..], "<h1>Job 1 of "), (&["--batch", "b1"], "&lt;first&gt;")] {
        let (code, out, err) = told(&run(pdvm(&fake).arg("trace").args(words).arg("--html").arg(&file)));
        assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "", ""));
        let page = std::fs::read_to_string(&file).unwrap();
        assert!(page.contains(holds) && page.ends_with("</html>\n"), "{page}");
    }
    let (code, _, err) = told(&run(pdvm(&fake).args(["trace", "--batch", "b77", "--html", "-"])));
    assert_eq!(code, Some(1));
    assert!(err.contains("There is no batch b77"), "{err}");
}

#[test]
fn steps_of_the_past_are_told_in_order_and_a_forgotten_job_is_left_out() {
    let fake = Fake::answering(|request| match request {
        Request::Job(JobId(2)) => Some(Reply::Refused("There is no job 2.".to_owned())),
        request => Some(fake::usual(request)),
    });
    let (code, out, _) = told(&run(pdvm(&fake).args(["events", "--json"])));
    assert_eq!(code, Some(0));
    let lines: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["schema"] == 1 && line["kind"] == "job_state" && line["job"] == 1));
    assert!(lines.is_sorted_by_key(|line| line["at_s"].as_f64().unwrap().to_bits()), "{out}");
}

fn events() -> Vec<DvmMessage> {
    let event = |id, at_us, state| DvmMessage::Event {
        id,
        event: Event { at_us, what: EventKind::Job { job: JobId(1), state } },
    };
    vec![
        event(1, 1_000_000, JobState::Init),
        DvmMessage::EventsLost { id: 1, count: 3 },
        event(1, 2_000_000, JobState::Running),
    ]
}

#[test]
fn events_are_followed_until_the_dvm_ends() {
    let fake = Fake::following(events(), true);
    let (code, out, err) = told(&run(pdvm(&fake).args(["events", "--follow"])));
    assert_eq!((code, out.lines().count()), (Some(0), 3), "{out}");
    assert!(out.contains("3 events were lost here"), "{out}");
    assert_eq!(err, format!("pdvm: the DVM {} has ended\n", fake.name()));
    let (_, out, _) = told(&run(pdvm(&fake).args(["events", "-f", "--json"])));
    assert!(out.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["schema"] == 1));
    assert!(out.ends_with(&format!("\"kind\":\"dvm_ended\",\"dvm\":{:?}}}\n", fake.name())), "{out}");
}

#[test]
fn a_user_who_has_seen_enough_ends_the_stream_without_a_failure() {
    let fake = Fake::following(events(), false);
    let mut child = pdvm(&fake).args(["events", "--follow"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    out.read_to_string(&mut first).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
