//! Texts that processes and tools log (`PMIx_Log`).

mod common;

use bytes::Bytes;
use common::Cluster;
use common::elastic::on;
use ferrite_core::{
    DaemonInput, DaemonTimer, HeadInput, Input, LinkInput, LogCall, LogForm, LogId, LogStep, PmixCall, PmixEffect,
    PmixToken, Timer,
};
use ferrite_types::pmix_status::{
    PMIX_ERR_LOST_CONNECTION, PMIX_ERR_NOT_AVAILABLE, PMIX_ERR_NOT_FOUND as NOT_FOUND, PMIX_ERR_NOT_SUPPORTED,
    PMIX_ERR_OUT_OF_RESOURCE as OUT_OF_RESOURCE, PMIX_ERR_PARTIAL_SUCCESS, PMIX_ERR_TIMEOUT,
};
use ferrite_types::*;
use ferrite_wire::control::Submission;
use ferrite_wire::{Dest, EventSource, Frame, FrameKind, HeadMessage, LogEntry, LogRecord, Message, Stream, ToolName};

fn of(job: u32, rank: u32) -> ProcId {
    ProcId { job: JobId(job), rank: Rank(rank) }
}

fn source() -> EventSource {
    EventSource::Proc(of(1, 0))
}

fn tool() -> EventSource {
    EventSource::Tool(ToolName { nspace: "tool".to_owned(), rank: Some(0) })
}

fn call(source: EventSource, steps: impl IntoIterator<Item = LogStep>) -> LogCall {
    LogCall {
        source,
        time_s: 5,
        form: LogForm::default(),
        once: false,
        refused: None,
        steps: steps.into_iter().collect(),
    }
}

fn show(text: impl Into<Bytes>) -> LogStep {
    LogStep::Show(Stream::Stdout, text.into())
}

fn entry(text: &str) -> LogEntry {
    LogEntry::JobLog(text.to_owned())
}

/// A job with one process at daemon 1.
fn cluster() -> Cluster {
    let mut dvm = Cluster::persistent(3);
    dvm.submit(1, on("a", &["n1"]));
    dvm
}

fn log(dvm: &mut Cluster, call: LogCall, token: u64) {
    let call = PmixCall::Log { call: Box::new(call), token: PmixToken(token) };
    dvm.input(DaemonRank(1), Input::Daemon(DaemonInput::Pmix(call)));
    dvm.run();
}

/// The one answer to a call, if it has come.
fn answer(dvm: &Cluster, of: u64) -> Option<Result<(), PmixStatus>> {
    let replies = dvm.pmix.iter().filter_map(|(_, effect)| match effect {
        PmixEffect::Reply { token, result } if token.0 == of => Some(result.clone().map(drop)),
        _ => None,
    });
    let all: Vec<_> = replies.collect();
    assert!(all.len() < 2, "call {of} has {} answers", all.len());
    all.first().copied()
}

/// Lets the log answer that was asked last.
fn log_says(dvm: &mut Cluster, result: Result<(), PmixStatus>) {
    let (at, id, _) = dvm.logs.last().cloned().expect("a log was asked");
    let input = match id {
        LogId::Daemon(id) => Input::Daemon(DaemonInput::Logged { id, result }),
        LogId::Head(daemon, id) => Input::Head(HeadInput::Logged { daemon, id, result }),
    };
    dvm.input(at, input);
    dvm.run();
}

#[test]
fn what_a_process_logs_is_output_of_it_and_a_full_window_refuses_it() {
    let mut dvm = cluster();
    dvm.flowing = false;
    let one = |dvm: &mut Cluster, proc: ProcId, size: usize, number: u64| {
        log(dvm, call(EventSource::Proc(proc), [show(format!("{}\n", "x".repeat(size)))]), number);
        answer(dvm, number).expect("it is answered")
    };
    assert_eq!(one(&mut dvm, of(1, 0), 3, 1), Ok(()));
    assert_eq!(dvm.stdout_of(1), "xxx\n");
    assert_eq!(one(&mut dvm, of(1, 7), 3, 2), Err(NOT_FOUND));
    assert_eq!(one(&mut dvm, of(1, 0), 64 << 20, 3), Ok(()));
    assert_eq!(one(&mut dvm, of(1, 0), 3, 4), Err(OUT_OF_RESOURCE), "nobody has read yet");
}

/// A text for the DVM (spec L134).
#[test]
fn a_text_for_the_dvm_goes_to_the_head_and_its_answer_to_the_caller() {
    for says in [Ok(()), Err(PMIX_ERR_NOT_AVAILABLE)] {
        let mut dvm = cluster();
        log(&mut dvm, call(source(), [LogStep::AtHead(entry("a"))]), 1);
        let record = LogRecord { source: source(), time_s: 5, entry: entry("a") };
        assert_eq!(dvm.logs, [(DaemonRank::HEAD, LogId::Head(DaemonRank(1), 1), record)]);
        assert_eq!(answer(&dvm, 1), None, "the log has not answered yet");
        log_says(&mut dvm, says);
        assert_eq!(answer(&dvm, 1), Some(says));
        log_says(&mut dvm, Ok(()));
        assert_eq!(answer(&dvm, 1), Some(says), "a second answer is none");
    }
}

/// The head believes a daemon what its own processes say (spec L134).
#[test]
fn a_daemon_logs_nothing_in_the_name_of_the_process_of_another() {
    let mut dvm = cluster();
    let tell = |dvm: &mut Cluster, source: EventSource| {
        let record = Box::new(LogRecord { source, time_s: 0, entry: entry("a") });
        let payload = Message::from(HeadMessage::Log { id: 9, record }).encode();
        let from = DaemonRank(2);
        let frame = Frame { dest: Dest::One(DaemonRank::HEAD), origin: from, kind: FrameKind::Direct, payload };
        dvm.input(DaemonRank::HEAD, Input::Link(LinkInput::Frame { from, frame }));
        dvm.run();
        let replies = dvm.received.get(&from).into_iter().flatten().filter(|kind| **kind == "log-reply").count();
        (dvm.logs.len(), replies)
    };
    assert_eq!(tell(&mut dvm, source()), (0, 1), "it is refused at once");
    assert_eq!(tell(&mut dvm, EventSource::Dvm), (0, 2));
    assert_eq!(tell(&mut dvm, tool()), (1, 2), "tools are known to their daemon alone");
}

#[test]
fn channels_take_their_texts_in_order_and_one_that_refuses_makes_a_partial_success() {
    let mut dvm = cluster();
    let steps = || [LogStep::Here(entry("a")), LogStep::AtHead(entry("b")), show("c\n")];
    log(&mut dvm, call(source(), steps()), 1);
    assert_eq!(dvm.logs.last().map(|(at, id, _)| (*at, *id)), Some((DaemonRank(1), LogId::Daemon(1))));
    log_says(&mut dvm, Err(PMIX_ERR_NOT_AVAILABLE));
    assert_eq!(dvm.logs.last().map(|(at, _, record)| (*at, &record.entry)), Some((DaemonRank::HEAD, &entry("b"))));
    assert_eq!((dvm.stdout_of(1), answer(&dvm, 1)), (String::new(), None));
    log_says(&mut dvm, Ok(()));
    assert_eq!((dvm.stdout_of(1).as_str(), answer(&dvm, 1)), ("c\n", Some(Err(PMIX_ERR_PARTIAL_SUCCESS))));
    let refused = Some(PMIX_ERR_NOT_SUPPORTED);
    log(&mut dvm, LogCall { refused, ..call(source(), [show("d\n")]) }, 2);
    assert_eq!(answer(&dvm, 2), Some(Err(PMIX_ERR_PARTIAL_SUCCESS)));
}

#[test]
fn once_means_the_first_channel_that_takes_the_text() {
    let mut dvm = cluster();
    let once = |steps: [LogStep; 3]| LogCall { once: true, ..call(source(), steps) };
    let steps = || [LogStep::Here(entry("a")), LogStep::AtHead(entry("b")), show("c\n")];
    log(&mut dvm, once(steps()), 1);
    log_says(&mut dvm, Ok(()));
    assert_eq!((dvm.logs.len(), answer(&dvm, 1)), (1, Some(Ok(()))));
    log(&mut dvm, once(steps()), 2);
    log_says(&mut dvm, Err(PMIX_ERR_NOT_AVAILABLE));
    log_says(&mut dvm, Err(PMIX_ERR_NOT_SUPPORTED));
    assert_eq!((dvm.stdout_of(1).as_str(), answer(&dvm, 2)), ("c\n", Some(Ok(()))));
    let nobody = [LogStep::Here(entry("a")), LogStep::AtHead(entry("b"))];
    log(&mut dvm, LogCall { once: true, ..call(source(), nobody) }, 3);
    log_says(&mut dvm, Err(PMIX_ERR_NOT_AVAILABLE));
    log_says(&mut dvm, Err(PMIX_ERR_NOT_SUPPORTED));
    assert_eq!(answer(&dvm, 3), Some(Err(PMIX_ERR_NOT_SUPPORTED)), "the last refusal");
}

/// Bounds (spec L134).
#[test]
fn a_call_ends_when_its_log_says_nothing_or_its_job_is_over() {
    let mut dvm = cluster();
    log(&mut dvm, call(source(), [LogStep::AtHead(entry("a")), show("b\n")]), 1);
    dvm.fire(1, Timer::Daemon(DaemonTimer::Log(1)));
    dvm.run();
    assert_eq!(answer(&dvm, 1), Some(Err(PMIX_ERR_TIMEOUT)));
    log_says(&mut dvm, Ok(()));
    assert_eq!((dvm.stdout_of(1), answer(&dvm, 1)), (String::new(), Some(Err(PMIX_ERR_TIMEOUT))), "it comes too late");
    log(&mut dvm, call(source(), [LogStep::AtHead(entry("a"))]), 2);
    log(&mut dvm, call(tool(), [LogStep::AtHead(entry("a"))]), 3);
    dvm.exit(of(1, 0), ExitStatus::Exited(0));
    dvm.run();
    assert_eq!((answer(&dvm, 2), answer(&dvm, 3)), (Some(Err(PMIX_ERR_LOST_CONNECTION)), None));
    log_says(&mut dvm, Ok(()));
    assert_eq!(answer(&dvm, 3), Some(Ok(())), "a tool is in no job");
}

#[test]
fn a_log_that_answers_a_daemon_which_is_gone_disturbs_nobody() {
    let mut dvm = Cluster::persistent(3);
    dvm.submit(1, on("a", &["n1"]));
    dvm.submit(2, on("a", &["n2"]));
    log(&mut dvm, call(source(), [LogStep::AtHead(entry("a"))]), 1);
    dvm.crash(1);
    dvm.run();
    log_says(&mut dvm, Ok(()));
    assert_eq!(answer(&dvm, 1), None);
    dvm.exit_job(2);
    assert_eq!(dvm.code_of(2), 0, "the DVM goes on");
}

/// Bounds (spec L134).
#[test]
fn a_process_has_few_calls_that_wait_and_leaves_room_for_others() {
    let mut dvm = cluster();
    let mut token = 0;
    let mut one = |dvm: &mut Cluster, source: EventSource, size: usize| {
        token += 1;
        log(dvm, call(source, [LogStep::AtHead(entry(&"x".repeat(size)))]), token);
        answer(dvm, token)
    };
    assert!((0..64).all(|_| one(&mut dvm, source(), 1).is_none()));
    assert_eq!(one(&mut dvm, source(), 1), Some(Err(OUT_OF_RESOURCE)));
    assert_eq!(one(&mut dvm, tool(), 4 << 20), None);
    assert_eq!(one(&mut dvm, tool(), 1), Some(Err(OUT_OF_RESOURCE)), "its texts are too long together");
    log_says(&mut dvm, Ok(()));
    assert_eq!(one(&mut dvm, tool(), 1), None);
}

#[test]
fn a_tool_has_no_output_and_logs_elsewhere() {
    let mut dvm = cluster();
    log(&mut dvm, call(tool(), [show("a\n")]), 1);
    assert_eq!(answer(&dvm, 1), Some(Err(PMIX_ERR_NOT_SUPPORTED)));
    log(&mut dvm, call(tool(), [show("a\n"), LogStep::AtHead(entry("b"))]), 2);
    log_says(&mut dvm, Ok(()));
    assert_eq!(answer(&dvm, 2), Some(Err(PMIX_ERR_PARTIAL_SUCCESS)));
    assert_eq!(dvm.stdout_of(1), "");
}

/// Forms of a logged text (spec L100).
#[test]
fn a_logged_text_has_the_form_that_it_asks_for_and_shows_nothing_twice() {
    let shown = |output: OutputOptions, form: LogForm| {
        let mut dvm = Cluster::persistent(2);
        dvm.submit(1, Submission::of(JobSpec { output, ..on("a", &["n1"]).spec }));
        log(&mut dvm, LogCall { form, ..call(source(), [show("a<\nb\n")]) }, 1);
        dvm.stdout_of(1)
    };
    let plain = OutputOptions::default;
    let tagged = || OutputOptions { tag: true, ..plain() };
    let (tag, dated) = (LogForm { tag: true, ..LogForm::default() }, LogForm { time_s: Some(0), ..LogForm::default() });
    let date = "Thu Jan  1 00:00:00 1970";
    let lines = |prefix: &str| format!("{prefix}a<\n{prefix}b\n");
    assert_eq!(shown(plain(), LogForm::default()), "a<\nb\n");
    assert_eq!(shown(plain(), tag), lines("[1,0]<stdout>: "));
    assert_eq!(shown(tagged(), tag), lines("[1,0]<stdout>: "));
    assert_eq!(shown(plain(), dated), lines(&format!("[{date}]<stdout>: ")));
    assert_eq!(shown(plain(), LogForm { tag: true, ..dated }), lines(&format!("[{date}][1,0]<stdout>: ")));
    let element = shown(plain(), LogForm { xml: true, ..dated });
    assert!(element.starts_with("<stdout nspace=") && element.contains(&format!("timestamp=\"{date}\">a&lt;&#010;<")));
    assert_eq!(
        shown(OutputOptions { xml: true, ..plain() }, LogForm { xml: true, ..tag }).matches("<stdout").count(),
        2
    );
}
