//! Forwarding of input and output: windows, tags, the slowest reader.

mod common;

use bytes::Bytes;
use common::{Cluster, job, proc};
use ferrite_core::{DaemonInput, DaemonTimer, HeadInput, Input, RequestId, Timer};
use ferrite_types::*;
use ferrite_wire::Stream;

#[test]
fn output_of_any_node_comes_out_at_the_head_with_its_tag() {
    let mut spec = job("a.out", 3);
    spec.output.tag = true;
    let mut dvm = Cluster::with_job(3, &[], spec);
    dvm.output(2, "hello\nworld\n");
    dvm.output(0, "hi\n");
    assert_eq!(dvm.stdout(), "[1,2]<stdout>: hello\n[1,2]<stdout>: world\n[1,0]<stdout>: hi\n");
}

#[test]
fn files_are_named_after_namespace_and_padded_rank_or_by_a_pattern() {
    let file = |change: fn(&mut OutputOptions)| {
        let mut spec = job("a.out", 12);
        change(&mut spec.output);
        let mut dvm = Cluster::with_job(3, &[], spec);
        dvm.output(3, "x\n");
        let nspace = JobId(1).nspace("prterun-n0-1");
        let files: Vec<_> = dvm.files.keys().map(|path| path.replace(&nspace, "NSPACE")).collect();
        files.join(" ")
    };
    assert_eq!(file(|o| o.file = Some("/o/f".into())), "/o/f.NSPACE.03.out");
    assert_eq!(file(|o| o.dir = Some("/o".into())), "/o/NSPACE/rank.03/stdout");
    let by_pattern = file(|o| (o.file, o.pattern) = (Some("/o/%h.%r".into()), true));
    assert!(by_pattern.starts_with("/o/n") && by_pattern.ends_with(".3.out"), "{by_pattern}");
}

/// Output for files stays on its node, unless the submitter wants to see it too (spec L51).
#[test]
fn a_file_has_the_tagged_output_and_the_submitter_a_copy_if_it_asks() {
    for copy in [false, true] {
        let mut spec = job("a.out", 3);
        (spec.output.file, spec.output.tag, spec.output.copy) = (Some("/o/f".into()), true, copy);
        let mut dvm = Cluster::with_job(3, &[], spec);
        dvm.output(2, "hello\n");
        dvm.output(2, "half");
        dvm.fire(dvm.running[&proc(2)].0.0, Timer::Daemon(DaemonTimer::PartialLine(proc(2), Stream::Stdout)));
        dvm.exit_job(1);
        let text = "[1,2]<stdout>: hello\n[1,2]<stdout>: half\n";
        let (_, file) = dvm.files.first_key_value().expect("there is a file");
        assert_eq!(String::from_utf8_lossy(file), text);
        assert_eq!(dvm.stdout(), if copy { text } else { "" });
        assert_eq!(dvm.closed_files.len(), 1);
    }
}

/// A file that cannot be written is told once for a job; the job goes on, and is no success (spec L51).
#[test]
fn a_submitter_hears_of_the_first_file_that_cannot_be_written() {
    let mut spec = job("a.out", 3);
    spec.output.file = Some("/o/f".into());
    let mut dvm = Cluster::with_job(3, &[], spec);
    for rank in [1, 2, 2] {
        let (path, error) = (format!("/o/{rank}"), "No space left on device".to_owned());
        let at = dvm.running[&proc(rank)].0;
        dvm.input(at, Input::Daemon(DaemonInput::FileFailed { job: JobId(1), path, error }));
        dvm.run();
    }
    assert_eq!(dvm.notices.len(), 1, "{:?}", dvm.notices);
    assert!(dvm.notices[0].contains("/o/1 cannot be written on node"), "{:?}", dvm.notices);
    dvm.exit_job(1);
    assert_eq!(dvm.exits[&DaemonRank::HEAD], 74);
}

#[test]
fn output_as_xml_names_its_stream_and_its_writer() {
    let mut spec = job("a.out", 2);
    (spec.output.xml, spec.output.tag) = (true, true);
    let mut dvm = Cluster::with_job(2, &[], spec);
    dvm.output(1, "a < b\n");
    let nspace = JobId(1).nspace("prterun-n0-1");
    assert_eq!(dvm.stdout(), format!("<stdout nspace=\"{nspace}\" rank=\"1\">a &lt; b&#010;</stdout>\n"));
}

#[test]
fn a_slow_reader_stops_reading_from_processes() {
    let mut dvm = Cluster::with_job(2, &[], job("a.out", 2));
    dvm.flowing = false;
    let at = dvm.running[&proc(1)].0;
    let chunk = Bytes::from(vec![b'\n'; 128 * 1024]);
    for _ in 0..1000 {
        dvm.input(
            at,
            Input::Daemon(DaemonInput::Output { proc: proc(1), stream: Stream::Stdout, data: chunk.clone() }),
        );
    }
    dvm.run();
    // More than the window was pushed in by force; what matters is that nothing more was asked for ...
    let mut fx = ferrite_core::Effects::new();
    let node = dvm.nodes.get_mut(&at).unwrap();
    node.handle(
        Timestamp(2),
        Input::Daemon(DaemonInput::Output { proc: proc(1), stream: Stream::Stdout, data: chunk }),
        &mut fx,
    );
    let asks =
        |fx: &ferrite_core::Effects| fx.as_slice().iter().any(|e| matches!(e, ferrite_core::Effect::ReadOutput { .. }));
    assert!(!asks(&fx));
    // ... and that credit starts it again.
    let withheld = std::mem::take(&mut dvm.withheld);
    dvm.flowing = true;
    for (at, input) in withheld {
        dvm.input(at, input);
    }
    dvm.run();
    let mut fx = ferrite_core::Effects::new();
    let node = dvm.nodes.get_mut(&at).unwrap();
    node.handle(
        Timestamp(2),
        Input::Daemon(DaemonInput::Output { proc: proc(1), stream: Stream::Stdout, data: "x\n".into() }),
        &mut fx,
    );
    assert!(asks(&fx));
}

#[test]
fn standard_input_reaches_its_rank_and_its_end_closes_it() {
    let mut dvm = Cluster::with_job(3, &[], job("cat", 3));
    assert_eq!(dvm.stdin_reads, 1, "one read at a time");
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::Stdin { request: RequestId::OWN, data: "abc".into() }));
    dvm.run();
    assert_eq!(dvm.stdin_reads, 2);
    dvm.input(DaemonRank::HEAD, Input::Head(HeadInput::Stdin { request: RequestId::OWN, data: Bytes::new() }));
    dvm.run();
    assert_eq!(dvm.stdin_given.get(&proc(0)).map(Vec::as_slice), Some(&b"abc"[..]));
    assert_eq!(dvm.stdin_closed.iter().copied().collect::<Vec<_>>(), [proc(0)]);
    assert_eq!(dvm.stdin_reads, 2, "nothing is read after the end");
}

/// (spec L93)
#[test]
fn a_job_whose_reader_of_standard_input_does_not_exist_is_refused() {
    let mut spec = job("cat", 2);
    spec.stdin = Some(StdinTarget::Rank(Rank(2)));
    let dvm = Cluster::with_job(2, &[], spec);
    assert_eq!(dvm.exit_code(), 1);
    assert!(dvm.notices.iter().any(|text| text.contains("(--stdin 2), but the job has 2 ranks")), "{:?}", dvm.notices);
    assert_eq!(dvm.stdin_reads, 0);
}

#[test]
fn the_slowest_of_all_readers_sets_the_pace() {
    let mut spec = job("cat", 4);
    spec.stdin = Some(StdinTarget::All);
    let mut dvm = Cluster::with_job(2, &[], spec);
    dvm.flowing = false;
    while dvm.stdin_reads < 100 {
        let before = dvm.stdin_reads;
        dvm.input(
            DaemonRank::HEAD,
            Input::Head(HeadInput::Stdin { request: RequestId::OWN, data: Bytes::from(vec![0; 128 * 1024]) }),
        );
        dvm.run();
        if dvm.stdin_reads == before {
            break;
        }
    }
    assert!(dvm.stdin_reads < 20, "the window closed after {} reads", dvm.stdin_reads);
    let before = dvm.stdin_reads;
    let (withheld, slowest): (Vec<_>, Vec<_>) = std::mem::take(&mut dvm.withheld).into_iter().partition(
        |(_, input)| !matches!(input, Input::Daemon(DaemonInput::StdinTaken { proc: p, .. }) if *p == proc(3)),
    );
    for (at, input) in withheld {
        dvm.input(at, input);
    }
    dvm.run();
    assert_eq!(dvm.stdin_reads, before, "rank 3 has taken nothing yet");
    for (at, input) in slowest {
        dvm.input(at, input);
    }
    dvm.run();
    assert_eq!(dvm.stdin_reads, before + 1);
}

#[test]
fn a_reader_that_is_gone_holds_nobody_up() {
    let mut spec = job("cat", 2);
    spec.stdin = Some(StdinTarget::All);
    let mut dvm = Cluster::with_job(2, &[], spec);
    dvm.flowing = false;
    for _ in 0..16 {
        dvm.input(
            DaemonRank::HEAD,
            Input::Head(HeadInput::Stdin { request: RequestId::OWN, data: Bytes::from(vec![0; 128 * 1024]) }),
        );
        dvm.run();
    }
    let before = dvm.stdin_reads;
    let own: Vec<_> = std::mem::take(&mut dvm.withheld);
    for (at, input) in own {
        if matches!(&input, Input::Daemon(DaemonInput::StdinTaken { proc: p, .. }) if *p == proc(0)) {
            dvm.input(at, input);
        }
    }
    dvm.run();
    dvm.exit_proc(1, ExitStatus::Exited(0));
    assert_eq!(dvm.stdin_reads, before + 1);
}

#[test]
fn an_unfinished_line_is_passed_on_when_its_writer_pauses_and_not_when_only_the_daemon_did() {
    let mut dvm = Cluster::with_job(1, &[], job("a.out", 1));
    let partial = Timer::Daemon(DaemonTimer::PartialLine(proc(0), Stream::Stdout));
    dvm.output(0, "password: ");
    dvm.fire(0, partial);
    assert_eq!(dvm.stdout(), "password: ");
    dvm.pipes_are_full = true;
    dvm.output(0, "half ");
    dvm.fire(0, partial);
    assert_eq!(dvm.stdout(), "password: ", "its rest is in the pipe");
    dvm.output(0, "a line\n");
    assert_eq!(dvm.stdout(), "password: half a line\n");
    (dvm.pipes_are_full, dvm.writers_run) = (false, true);
    dvm.output(0, "50 % ");
    (0..10).for_each(|_| dvm.fire(0, partial));
    assert!(dvm.stdout().ends_with("a line\n"), "it may be waiting for a processor");
    dvm.fire(0, partial);
    assert!(dvm.stdout().ends_with("50 % "), "but not for ever");
}
