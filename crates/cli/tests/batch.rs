//! `prun --batch` against a DVM that a test plays.

// Helpers of a test fail as tests do.
#![allow(clippy::unwrap_used)]

mod fake;

use std::process::Stdio;

use fake::{Client, Fake, detail, signal, stderr, stdout, waiting};
use ferrite_types::{JobId, JobState, StdinTarget};
use ferrite_wire::Stream;
use ferrite_wire::control::{
    BatchCounts, BatchId, BatchOrder, BatchStatus, ClientMessage, DvmMessage, EndedJobs, Ending, JobStatus, Reply,
    Request,
};
use rustix::process::Signal;

const PRUN: &str = env!("CARGO_BIN_EXE_prun");

/// Fields of each result that do not depend on the clock.
fn results(text: &str) -> Vec<(u64, u64, String, Option<u64>, u64, String)> {
    let one = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["schema"], 1);
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let number = |name: &str| value[name].as_u64();
        (
            number("index").unwrap(),
            number("line").unwrap(),
            text("id"),
            number("exit_code"),
            number("attempts").unwrap(),
            text("error"),
        )
    };
    text.lines().map(one).collect()
}

/// How the jobs have ended, in the order of the results.
fn endings(text: &str) -> Vec<String> {
    let ending =
        |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["ending"].as_str().map(str::to_owned);
    text.lines().filter_map(ending).collect()
}

fn result(
    index: u64,
    line: u64,
    id: &str,
    code: Option<u64>,
    attempts: u64,
    error: &str,
) -> (u64, u64, String, Option<u64>, u64, String) {
    (index, line, id.to_owned(), code, attempts, error.to_owned())
}

/// Ends every job that is submitted, with the exit code that its program's name says; returns how many there were.
fn serve(client: &mut Client) -> u32 {
    client.tell_status();
    let mut jobs = 0;
    while let Some(message) = client.hear() {
        match message {
            ClientMessage::Open { id, request: Request::Submit(submission) } => {
                jobs += 1;
                client.accept(id, jobs);
                let code = submission.spec.apps[0].argv[0].parse().unwrap();
                client.over(id, jobs, code);
            }
            ClientMessage::Open { id, request: Request::Jobs } => client.reply(id, Reply::Jobs(Vec::new())),
            other => panic!("{other:?}"),
        }
    }
    jobs
}

#[test]
fn jobs_of_a_list_wait_for_slots_and_read_nothing_and_results_are_lines() {
    let mut fake = Fake::new();
    let dvm = fake.play(|client| {
        client.tell_status();
        let (first, words) = client.submission();
        let (second, object) = client.submission();
        for submission in [&words, &object] {
            assert!(submission.wait_for_slots && !submission.detach);
            assert_eq!(submission.spec.stdin, Some(StdinTarget::None));
        }
        assert_eq!((words.spec.apps[0].np, object.spec.apps[0].np), (Some(1), Some(2)));
        client.accept(second, 2);
        client.output(second, Stream::Stdout, "to a file\n");
        client.over(second, 2, 0);
        client.accept(first, 1);
        client.output(first, Stream::Stdout, "out\n");
        client.over(first, 1, 0);
    });
    std::fs::write(
        fake.path().join("jobs"),
        "# two\n./a b\n\n{\"id\": \"x\", \"argv\": [\"c\"], \"np\": 2, \"stdout\": \"x.out\"}\n",
    )
    .unwrap();
    let output = fake.command(PRUN, &["--batch", "jobs"]).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), "out\n"));
    assert_eq!(results(&stdout(&output)), [result(1, 4, "x", Some(0), 1, ""), result(0, 2, "", Some(0), 1, "")]);
    assert_eq!(std::fs::read_to_string(fake.path().join("x.out")).unwrap(), "to a file\n");
    dvm.join().unwrap();
}

/// A line has a priority of its own, or that of the list (spec L122).
#[test]
fn lines_have_priorities_and_the_client_is_the_same_for_all() {
    let mut fake = Fake::new();
    let dvm = fake.play(|client| {
        client.tell_status();
        let all: Vec<_> = (0..3).map(|_| client.submission()).collect();
        (1..).zip(&all).for_each(|(job, (id, _))| client.over(*id, job, 0));
        all.into_iter().map(|(_, submission)| (submission.priority, submission.launcher)).collect::<Vec<_>>()
    });
    let lines = "./a\n--priority 1000 ./a\n{\"argv\": [\"a\"], \"priority\": -3}\n";
    std::fs::write(fake.path().join("jobs"), lines).unwrap();
    let output = fake.command(PRUN, &["--batch", "jobs", "--priority", "5"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let heard = dvm.join().unwrap();
    assert_eq!(heard.iter().map(|(priority, _)| *priority).collect::<Vec<_>>(), [5, 1_000, -3]);
    assert!(!heard[0].1.is_empty() && heard.iter().all(|(_, client)| *client == heard[0].1), "{heard:?}");
}

#[test]
fn with_a_file_for_results_output_goes_where_it_belongs() {
    let mut fake = Fake::new();
    fake.play(|client| {
        client.tell_status();
        let (id, _) = client.submission();
        client.output(id, Stream::Stdout, "out\n");
        client.output(id, Stream::Stderr, "err\n");
        client.over(id, 1, 0);
    });
    std::fs::write(fake.path().join("jobs"), "a").unwrap();
    let output = fake.command(PRUN, &["--batch", "jobs", "--results", "r"]).output().unwrap();
    assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), ("out\n", "err\n"));
    let written = std::fs::read_to_string(fake.path().join("r")).unwrap();
    assert_eq!(results(&written), [result(0, 1, "", Some(0), 1, "")]);
}

#[test]
fn a_file_with_bad_lines_is_refused_before_anything_is_looked_for() {
    let fake = Fake::new();
    std::fs::write(
        fake.path().join("jobs"),
        "a\nb > c\n{\"argv\": []}\n-n x d\n--hostfile /no/file e\n--stdin all f\n",
    )
    .unwrap();
    let output = fake.command(PRUN, &["--batch", "jobs", "--pid", "1"]).output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    insta::assert_snapshot!(stderr(&output));
}

#[test]
fn a_bad_line_of_a_stream_is_a_failed_result() {
    let mut fake = Fake::new();
    let dvm = fake.play(serve);
    let mut child = fake.command(PRUN, &["--batch", "-", "--keep-going"]).stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"0\n'\n0").unwrap();
    let output = child.wait_with_output().unwrap();
    let mut got = results(&stdout(&output));
    got.sort();
    let bad = result(1, 2, "", None, 0, "line 2: the quote ' is not closed");
    assert_eq!(got, [result(0, 1, "", Some(0), 1, ""), bad, result(2, 3, "", Some(0), 1, "")]);
    assert_eq!((output.status.code(), dvm.join().unwrap()), (Some(1), 2));
}

#[test]
fn a_failure_ends_the_list_and_takes_back_what_waits_but_not_what_runs() {
    let mut fake = Fake::new();
    let dvm = fake.play(|client| {
        client.tell_status();
        let ids: Vec<u32> = (0..3).map(|_| client.submission().0).collect();
        client.accept(ids[0], 1);
        client.accept(ids[1], 2);
        client.accept(ids[2], 3);
        client.over(ids[0], 1, 9);
        let Some(ClientMessage::Open { id, request: Request::Jobs }) = client.hear() else { panic!("no question") };
        let runs = ferrite_wire::control::JobStatus { procs: 1, state: JobState::Running, ..waiting(2) };
        client.reply(id, Reply::Jobs(vec![runs, waiting(3)]));
        assert_eq!(client.hear(), Some(ClientMessage::Cancel { id: ids[2] }));
        client.reply(ids[2], Reply::Done(ferrite_wire::control::Done { exit_code: 1, job: Some(waiting(3)) }));
        client.over(ids[1], 2, 0);
        assert_eq!(client.hear(), None);
    });
    std::fs::write(fake.path().join("jobs"), "a\nb\nc\nd\ne\n").unwrap();
    let output = fake.command(PRUN, &["--batch", "jobs", "--max-running", "3"]).output().unwrap();
    let (failed, ran) = (result(0, 1, "", Some(9), 1, ""), result(1, 2, "", Some(0), 1, ""));
    let [third, fourth, fifth] = [2, 3, 4].map(|index| result(index, index + 1, "", None, 0, ""));
    assert_eq!(results(&stdout(&output)), [failed, third, ran, fourth, fifth], "each job has a result");
    assert_eq!(endings(&stdout(&output)), ["failed", "not_run", "done", "not_run", "not_run"]);
    assert!(stderr(&output).contains("--keep-going runs all jobs"), "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(1));
    dvm.join().unwrap();
}

#[test]
fn what_fails_is_run_again_as_often_as_asked_and_the_rest_goes_on() {
    let mut fake = Fake::new();
    let dvm = fake.play(serve);
    std::fs::write(fake.path().join("jobs"), "3\n0\n{\"argv\": [\"4\"], \"retries\": 0}\n").unwrap();
    let args = ["--batch", "jobs", "--keep-going", "--retries", "2", "--max-running", "1"];
    let output = fake.command(PRUN, &args).output().unwrap();
    let expected =
        [result(0, 1, "", Some(3), 3, ""), result(1, 2, "", Some(0), 1, ""), result(2, 3, "", Some(4), 1, "")];
    assert_eq!(results(&stdout(&output)), expected);
    assert_eq!((output.status.code(), dvm.join().unwrap()), (Some(1), 5));
}

#[test]
fn an_interrupt_cancels_what_is_open_and_the_rest_is_told_to_have_never_run() {
    let mut fake = Fake::new();
    let (step, steps) = std::sync::mpsc::channel();
    let dvm = fake.play(move |client| {
        client.tell_status();
        let ids: Vec<u32> = (0..2).map(|_| client.submission().0).collect();
        client.accept(ids[0], 1);
        step.send(()).unwrap();
        // The last first: what waits does not begin when something ends.
        for id in ids.iter().rev() {
            assert_eq!(client.hear(), Some(ClientMessage::Cancel { id: *id }));
        }
        client.over(ids[0], 1, 1);
        client.done(ids[1], 1);
    });
    std::fs::write(fake.path().join("jobs"), "a\nb\nc\n").unwrap();
    let child = fake.command(PRUN, &["--batch", "jobs", "--max-running", "2"]).spawn().unwrap();
    steps.recv().unwrap();
    signal(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    let never = [1, 2].map(|index| result(index, index + 1, "", None, 0, ""));
    assert_eq!(results(&stdout(&output)), [&[result(0, 1, "", Some(1), 1, "")][..], &never].concat());
    assert_eq!(endings(&stdout(&output))[1..], ["not_run", "not_run"]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(1), ""));
    dvm.join().unwrap();
}

/// Resumes a list with these results; returns the exit code, the number of jobs that ran, and the results then.
fn resume(jobs: &str, before: &str) -> (Option<i32>, u32, String) {
    let mut fake = Fake::new();
    std::fs::write(fake.path().join("jobs"), jobs).unwrap();
    std::fs::write(fake.path().join("results"), before).unwrap();
    let dvm = fake.play(serve);
    let arguments = ["--batch", "jobs", "--resume", "results", "--max-running", "1"];
    let output = fake.command(PRUN, &arguments).output().unwrap();
    let ran = dvm.join().unwrap();
    (output.status.code(), ran, std::fs::read_to_string(fake.path().join("results")).unwrap())
}

#[test]
fn a_list_that_is_resumed_runs_what_has_not_ended_well_and_appends_its_results() {
    let rest = "{\"id\": \"a\", \"argv\": [\"0\"]}\n{\"id\": 7, \"argv\": [\"0\"]}\n";
    let (code, ran, first) = resume(&format!("0\n3\n{rest}"), "");
    assert_eq!((code, ran), (Some(1), 2));
    assert_eq!(endings(&first), ["done", "failed", "not_run", "not_run"]);
    assert_eq!(results(&first)[3], result(3, 4, "7", None, 0, ""));
    // The last result was cut off when its writer was killed.
    let (code, ran, second) = resume(&format!("0\n0\n{rest}"), &first[..first.len() - 9]);
    assert_eq!((code, ran), (Some(0), 3));
    assert_eq!(endings(&second), ["done", "failed", "not_run", "done", "done", "done"]);
    let (code, ran, third) = resume(&format!("0\n0\n{rest}"), &second);
    assert_eq!((code, ran, third), (Some(0), 0, second), "nothing is left");
}

#[test]
fn a_list_is_not_resumed_with_a_file_that_has_no_results() {
    let fake = Fake::new();
    std::fs::write(fake.path().join("jobs"), "true\n").unwrap();
    std::fs::write(fake.path().join("notes"), "no results\n").unwrap();
    let output = fake.command(PRUN, &["--batch", "jobs", "--resume", "notes"]).output().unwrap();
    assert!(stderr(&output).contains("line 1 is no result"), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(fake.path().join("notes")).unwrap(), "no results\n");
}

#[test]
fn a_dvm_that_goes_away_fails_what_was_open() {
    let mut fake = Fake::new();
    fake.play(|client| {
        client.tell_status();
        client.submission();
    });
    std::fs::write(fake.path().join("jobs"), "a\n").unwrap();
    let output = fake.command(PRUN, &["--batch", "jobs"]).output().unwrap();
    let lost = "the connection to the DVM prte-host-77 was lost";
    assert_eq!(results(&stdout(&output)), [result(0, 1, "", None, 1, lost)]);
    assert!(stderr(&output).contains(lost) && output.status.code() == Some(1));
}

#[test]
fn a_long_list_is_run_with_few_open_at_a_time() {
    let mut fake = Fake::new();
    let dvm = fake.play(|client| {
        client.tell_status();
        let mut open = std::collections::VecDeque::new();
        let mut most = 0;
        for job in 1..=2_000 {
            open.push_back((client.submission().0, job));
            most = most.max(open.len());
            if open.len() == 16 || job > 1_984 {
                let (id, job) = open.pop_front().unwrap();
                client.over(id, job, 0);
            }
        }
        for (id, job) in open {
            client.over(id, job, 0);
        }
        most
    });
    std::fs::write(fake.path().join("jobs"), "a\n".repeat(2_000)).unwrap();
    let output = fake.command(PRUN, &["--batch", "jobs", "--max-running", "16"]).output().unwrap();
    assert_eq!((output.status.code(), results(&stdout(&output)).len()), (Some(0), 2_000));
    assert_eq!(dvm.join().unwrap(), 16);
}

/// The endings of the final records, by the lines of their tasks.
fn ended(records: &str) -> Vec<(u64, String)> {
    let values = records.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let mut ended: Vec<_> = values
        .filter(|value| value["record"] == "ended")
        .map(|value| (value["line"].as_u64().unwrap(), value["ending"].as_str().unwrap().to_owned()))
        .collect();
    ended.sort();
    ended
}

/// `prun` as the process of a batch that another process has begun, with these results.
fn goes_on(fake: &Fake, before: &str) -> std::process::Command {
    std::fs::write(fake.path().join("jobs"), "0\n0\n0\n0\n{\"id\": \"x\", \"argv\": [\"0\"]}\n").unwrap();
    std::fs::write(fake.path().join("results"), before).unwrap();
    let mut command = fake.command(PRUN, &["--batch", "jobs", "--resume", "results", "--keep-going"]);
    command.env("FERRITE_BATCH", "3").env("FERRITE_BATCH_RESTARTED", "1");
    command
}

/// A task that has ended is not run again, whether its record was written or not (spec L119).
#[test]
fn a_batch_that_goes_on_asks_for_jobs_that_have_no_record() {
    let mut fake = Fake::new();
    let dvm = fake.play(|client| {
        let job = |number: u32, task: &str, ending: Option<Ending>| JobStatus {
            task: task.to_owned(),
            exit_code: ending.map(|ending| u8::from(ending != Ending::Done)),
            ending,
            procs: 1,
            ..waiting(number)
        };
        let (mut submitted, mut counts) = (Vec::new(), BatchCounts::default());
        while let Some(message) = client.hear() {
            let (id, request) = match message {
                ClientMessage::Open { id, request } => (id, request),
                ClientMessage::Starts => continue,
                other => panic!("{other:?}"),
            };
            match request {
                Request::Jobs => {
                    let jobs = vec![job(1, "b3:1", Some(Ending::Failed)), job(5, "b3:x", None), job(6, "b4:4", None)];
                    client.reply(id, Reply::Jobs(jobs));
                }
                Request::Wait(JobId(5)) => {
                    client.reply(id, Reply::Job(Box::new(detail(job(5, "b3:x", Some(Ending::Killed))))))
                }
                Request::Ended { from } => {
                    let jobs = match from {
                        0 => vec![job(2, "b3:2", Some(Ending::Done))],
                        _ => vec![job(3, "b3:3", Some(Ending::Killed)), job(4, "b4:4", Some(Ending::Done))],
                    };
                    client.reply(id, Reply::Ended(EndedJobs { jobs, next: (from == 0).then_some(7) }));
                }
                Request::Submit(submission) => {
                    submitted.push(submission.task);
                    client.accept(id, 10 + submitted.len() as u32);
                    client.say(&DvmMessage::Launched { id, result: Ok(()) });
                    client.over(id, 10 + submitted.len() as u32, 0);
                }
                Request::Batch(BatchOrder::Report { counts: new, .. }) => {
                    counts = new;
                    // It does not wait for the answer to its last report.
                    let answer = DvmMessage::Reply { id, reply: Reply::Ordered };
                    let _ = std::io::Write::write_all(&mut client.stream, &answer.encode_frame());
                }
                Request::Status => client.answer_status(id),
                other => panic!("{other:?}"),
            }
        }
        (submitted, counts)
    });
    // The first task has its record; that of the second is cut off.
    let before = "{\"record\":\"batch\",\"dvm\":\"prte-host-77\",\"batch\":3}\n\
                  {\"record\":\"ended\",\"line\":1,\"id\":null,\"exit_code\":1,\"ending\":\"failed\"}\n{\"record\":\"ended\",\"li";
    let output = goes_on(&fake, before).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(1), ""));
    let (submitted, counts) = dvm.join().unwrap();
    assert_eq!(submitted, ["b3:3", "b3:4", "b3:x"]);
    let results = std::fs::read_to_string(fake.path().join("results")).unwrap();
    let done = |line| (line, "done".to_owned());
    assert_eq!(ended(&results), [(1, "failed".to_owned()), done(2), done(3), done(4), done(5)]);
    assert_eq!((counts.ended, counts.failed, counts.open, counts.bytes), (5, 1, 0, results.len() as u64));
    assert_eq!(results.matches("\"record\":\"started\"").count(), 3);
}

/// Each task has its record (spec L118).
#[test]
fn the_batch_of_a_dvm_that_is_lost_has_a_record_for_each_task() {
    let mut fake = Fake::new();
    let dvm = fake.play(|client| {
        client.tell_status();
        let (id, _) = loop {
            match client.hear() {
                Some(ClientMessage::Open { id, request: Request::Submit(submission) }) => break (id, submission),
                Some(_) => {}
                None => panic!("it has left"),
            }
        };
        client.accept(id, 1);
    });
    std::fs::write(fake.path().join("jobs"), "0\n0\n0\n# none\n0\n").unwrap();
    let mut command = fake.command(PRUN, &["--batch", "jobs", "--results", "results", "--max-running", "1"]);
    let output = command.env("FERRITE_BATCH", "3").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    dvm.join().unwrap();
    let results = std::fs::read_to_string(fake.path().join("results")).unwrap();
    let not_run = |line| (line, "not_run".to_owned());
    assert_eq!(ended(&results), [(1, "unknown".to_owned()), not_run(2), not_run(3), not_run(5)]);
}

/// The list goes whole, with the surroundings of its submitter (spec L118).
#[test]
fn a_detached_list_is_handed_over_and_a_bad_one_is_refused() {
    let mut fake = Fake::new();
    let dvm = fake.play(|client| match client.hear() {
        Some(ClientMessage::Open { id, request: Request::Batch(BatchOrder::Start(start)) }) => {
            let counts = BatchCounts::default();
            let (name, results) = (start.name.clone(), "r".to_owned());
            let (began_us, ended_us, exit_code, restarts) = (0, None, None, 0);
            let status =
                BatchStatus { batch: BatchId(7), name, counts, results, began_us, ended_us, exit_code, restarts };
            client.reply(id, Reply::Batches(vec![status]));
            *start
        }
        other => panic!("{other:?}"),
    });
    std::fs::write(fake.path().join("jobs"), "0\n'\n").unwrap();
    let line = ["--batch", "jobs", "--detach", "--results", "r", "--keep-going", "--max-running", "3"];
    let output = fake.command(PRUN, &line).output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    assert!(stderr(&output).contains("jobs:2: the quote"), "{}", stderr(&output));
    std::fs::write(fake.path().join("jobs"), "0\n").unwrap();
    let output = fake.command(PRUN, &line).env("MINE", "1").output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).as_str(), stderr(&output).as_str()), (Some(0), "b7\n", ""));
    let start = dvm.join().unwrap();
    assert_eq!((&start.list[..], start.results.as_deref()), (&b"0\n"[..], Some("r")));
    assert!(
        start.options.contains(&"--keep-going".to_owned()) && start.options.contains(&"--max-running=3".to_owned())
    );
    assert!(start.env.contains(&("MINE".to_owned(), "1".to_owned())));
    assert_eq!(start.cwd, fake.path().canonicalize().unwrap().display().to_string());
}

/// `after` and `after_any` (spec L121).
#[test]
fn tasks_wait_for_those_that_they_name_and_never_run_after_a_failure() {
    let mut fake = Fake::new();
    let dvm = fake.play(serve);
    let list = [
        r#"{"id": "good", "argv": ["0"]}"#,
        r#"{"id": "bad", "argv": ["3"]}"#,
        r#"{"id": "both", "argv": ["0"], "after": ["good", "bad"]}"#,
        r#"{"id": 9, "argv": ["0"], "after": ["good"], "after_any": ["bad"], "stdout": "nine"}"#,
        r#"{"argv": ["0"], "after": ["both"]}"#,
        r#"{"argv": ["0"], "after": [9]}"#,
    ];
    std::fs::write(fake.path().join("jobs"), list.join("\n")).unwrap();
    let output = fake.command(PRUN, &["--batch", "jobs", "--keep-going"]).output().unwrap();
    let (mut got, text) = (results(&stdout(&output)), stdout(&output));
    assert_eq!(got.iter().map(|result| result.1).collect::<Vec<_>>()[..2], [1, 2], "{text}");
    got.sort();
    let never = |index, id, name| {
        result(index, index + 1, id, None, 0, &format!("{name:?}, for which it waits, has not ended well"))
    };
    let expected = [
        result(0, 1, "good", Some(0), 1, ""),
        result(1, 2, "bad", Some(3), 1, ""),
        never(2, "both", "bad"),
        result(3, 4, "9", Some(0), 1, ""),
        never(4, "", "both"),
        result(5, 6, "", Some(0), 1, ""),
    ];
    assert_eq!(got, expected);
    assert_eq!((output.status.code(), dvm.join().unwrap()), (Some(1), 4));
}

#[test]
fn a_list_whose_tasks_wait_for_what_is_not_before_them_is_refused() {
    let fake = Fake::new();
    let list = "{\"id\": \"a\", \"argv\": [\"0\"], \"after\": [\"b\"]}\n{\"id\": \"b\", \"argv\": [\"0\"]}\n";
    std::fs::write(fake.path().join("jobs"), list).unwrap();
    let output = fake.command(PRUN, &["--batch", "jobs", "--pid", "1"]).output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    assert!(stderr(&output).contains("jobs:1: after: no earlier line has the id \"b\""), "{}", stderr(&output));
}
