//! `prun`, `pterm` and `prterun --dvm` against a DVM that a test plays.

// Helpers of a test fail as tests do.
#![allow(clippy::unwrap_used)]

mod fake;

use std::io::{Read, Write};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fake::{Fake, signal, stderr, stdout};
use ferrite_types::{EnvOp, HostEntry, HostRef, JobId, PictureFormat, SlotCount};
use ferrite_wire::control::{ClientMessage, Dependency, DvmMessage, JobRef, Reply, Request, SessionChoice};
use ferrite_wire::{Activation, AddedHost, GrowRequest, SlotChange, Stream};
use rustix::process::Signal;

const PRUN: &str = env!("CARGO_BIN_EXE_prun");
const PTERM: &str = env!("CARGO_BIN_EXE_pterm");
const PRTERUN: &str = env!("CARGO_BIN_EXE_prterun");

#[test]
fn a_job_is_handed_over_and_its_output_and_exit_code_come_back() {
    for binary in [PRUN, PRTERUN] {
        let mut fake = Fake::new();
        let dvm = fake.play(|client| {
            let (id, submission) = client.submission();
            client.accept(id, 3);
            client.output(id, Stream::Stdout, "out\n");
            client.output(id, Stream::Stderr, "err\n");
            client.say(&DvmMessage::Notice { id, text: "rank 0 fell over\n".to_owned() });
            client.done(id, 7);
            submission
        });
        let mut command = fake.command(binary, &["-n", "2", "--host", "n0:2", "-x", "A=1", "./a", "-n"]);
        let output = command.env("OMPI_B", "2").output().unwrap();
        assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
        assert_eq!(stdout(&output), "out\n");
        let rule = "-".repeat(74);
        assert_eq!(stderr(&output), format!("err\n{rule}\nrank 0 fell over\n{rule}\n"));
        let submission = dvm.join().unwrap();
        let app = &submission.spec.apps[0];
        assert_eq!((app.argv.join(" "), app.np), ("./a -n".to_owned(), Some(2)));
        assert_eq!(app.hosts.hosts.len(), 1);
        assert_eq!(app.submit_dir, fake.path().display().to_string());
        assert!(submission.env.contains(&EnvOp::Set("OMPI_B".to_owned(), "2".to_owned())));
        assert!(!submission.detach && !submission.wait_for_slots);
    }
}

#[test]
fn defaults_of_the_dvm_count_where_neither_the_line_nor_a_parameter_says_otherwise() {
    let run = |args: &[&str], variable: Option<&str>| {
        let mut fake = Fake::new();
        let dvm = fake.play(|client| {
            let own = [("output", "tag"), ("rtos", "recoverable,timeout=9")];
            client.defaults = own.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
            let (id, submission) = client.submission();
            client.done(id, 0);
            submission.spec
        });
        let mut command = fake.command(PRUN, args);
        command.envs(variable.map(|value| ("PRTE_MCA_output", value)));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let spec = dvm.join().unwrap();
        (spec.output.tag, spec.options.recoverable, spec.options.timeout.map(|limit| limit.as_micros() / 1_000_000))
    };
    assert_eq!(run(&["./a"], None), (true, true, Some(9)));
    assert_eq!(run(&["--output", "rank", "--timeout", "5", "./a"], None), (false, true, Some(5)));
    assert_eq!(run(&["--rtos", "recoverable=0", "./a"], Some("rank")), (false, false, Some(9)));
}

#[test]
fn a_default_of_the_dvm_that_contradicts_the_line_is_one_message_and_no_job() {
    let mut fake = Fake::new();
    let dvm = fake.play(|client| {
        client.defaults = vec![("rtos".to_owned(), "output-proctable".to_owned())];
        assert!(client.hear().is_none(), "nothing is submitted");
    });
    let output = fake.command(PRUN, &["--detach", "./a"]).output().unwrap();
    dvm.join().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("output-proctable"), "{}", stderr(&output));
}

#[test]
fn a_picture_comes_in_pieces_and_is_written_when_it_is_whole() {
    for binary in [PRUN, PRTERUN] {
        let mut fake = Fake::new();
        let dvm = fake.play(|client| {
            let (id, submission) = client.submission();
            let piece = |data: &'static [u8], last| DvmMessage::Picture {
                id,
                format: PictureFormat::Svg,
                data: data.into(),
                last,
            };
            client.say(&piece(b"<svg", false));
            client.say(&piece(b"/>", true));
            client.done(id, 0);
            submission.spec.display.pictures
        });
        let output = fake.command(binary, &["--display", "map:svg=map.svg", "./a"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(dvm.join().unwrap(), [PictureFormat::Svg]);
        assert_eq!(std::fs::read_to_string(fake.path().join("map.svg")).unwrap(), "<svg/>");
    }
}

#[test]
fn a_picture_that_cannot_be_kept_is_said_and_ends_in_a_failure() {
    let mut fake = Fake::new();
    let path = fake.path().join("sub");
    std::fs::create_dir(&path).unwrap();
    let dvm = fake.play(move |client| {
        let (id, _) = client.submission();
        std::fs::remove_dir(&path).unwrap();
        let data = b"<svg/>".as_slice().into();
        client.say(&DvmMessage::Picture { id, format: PictureFormat::Svg, data, last: true });
        client.done(id, 0);
    });
    let output = fake.command(PRUN, &["--display", "map:svg=sub/map.svg", "./a"]).output().unwrap();
    dvm.join().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--display: cannot write the picture"), "{}", stderr(&output));
    let output = fake.command(PRUN, &["--detach", "--display", "svg=map.svg", "./a"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("with --detach nobody is left"), "{}", stderr(&output));
}

#[test]
fn nodes_that_a_job_brings_along_and_its_allocation_go_with_it() {
    for binary in [PRUN, PRTERUN] {
        let mut fake = Fake::new();
        std::fs::write(fake.path().join("more"), "n6 slots=+2\n").unwrap();
        std::fs::write(fake.path().join("idle"), "n1 slots=9\n").unwrap();
        let dvm = fake.play(|client| {
            let (id, submission) = client.submission();
            client.done(id, 0);
            submission
        });
        let more = ["--add-host", "n5:4", "--add-hostfile", "more", "--activate", "+n2,file=idle"];
        let line = [&more[..], &["--alloc-id", "a1", "./a"]].concat();
        let output = fake.command(binary, &line).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let submission = dvm.join().unwrap();
        assert_eq!(submission.session, SessionChoice::Alloc("a1".into()));
        let host = |name, slots| AddedHost { host: HostEntry::named(name), slots };
        let nodes = [HostRef::Relative(2, SlotCount::FromCores), HostRef::Host(HostEntry::named("n1"))];
        let grow = GrowRequest {
            hosts: vec![host("n5", SlotChange::Set(4)), host("n6", SlotChange::Adjust(2))],
            activate: nodes.map(|node| Activation::Nodes(vec![node])).to_vec(),
            ..GrowRequest::default()
        };
        assert_eq!(submission.grow, Some(Box::new(grow)));
        assert!(submission.spec.apps[0].hosts.hosts.is_empty());
    }
}

#[test]
fn standard_input_is_read_when_the_dvm_asks_for_it_and_not_before() {
    let mut fake = Fake::new();
    let dvm = fake.play(|client| {
        let (id, _) = client.submission();
        let mut got = Vec::new();
        loop {
            client.say(&DvmMessage::ReadStdin { id, limit: 4 });
            match client.hear() {
                Some(ClientMessage::Stdin { data, .. }) if data.is_empty() => break,
                Some(ClientMessage::Stdin { data, .. }) => {
                    assert!(data.len() <= 4);
                    got.extend_from_slice(&data);
                }
                other => panic!("{other:?}"),
            }
        }
        client.done(id, 0);
        got
    });
    let mut child = fake.command(PRUN, &["cat"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"hello, world").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(dvm.join().unwrap(), b"hello, world");
}

#[test]
fn a_detached_job_leaves_its_namespace_behind() {
    let mut fake = Fake::new();
    let dvm = fake.play(|client| {
        let (id, submission) = client.submission();
        client.accept(id, 3);
        client.reply(id, Reply::Detached(JobId(3)));
        submission
    });
    let output = fake.command(PRUN, &["--detach", "--wait-for-slots", "./a"]).output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "prte-host-77@3\n"));
    let submission = dvm.join().unwrap();
    assert!(submission.detach && submission.wait_for_slots);
}

/// A higher priority comes first among jobs that wait (spec L122).
#[test]
fn a_job_with_a_priority_waits_for_slots() {
    let mut fake = Fake::new();
    let dvm = fake.play(|client| {
        let (id, submission) = client.submission();
        client.over(id, 1, 0);
        submission
    });
    let output = fake.command(PRUN, &["--priority", "-40", "./a"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let submission = dvm.join().unwrap();
    assert_eq!((submission.wait_for_slots, submission.priority), (true, -40));
}

/// Jobs by number, namespace and name (spec L152).
#[test]
fn a_job_that_depends_on_others_names_them_and_waits_for_slots() {
    let mut fake = Fake::new();
    let dvm = fake.play(|client| {
        let (id, submission) = client.submission();
        client.over(id, 1, 0);
        submission
    });
    let output = fake.command(PRUN, &["--after", "7,prte-host-77@8", "--after-any", "fit", "./a"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let submission = dvm.join().unwrap();
    let dependency = |job, well| Dependency { job, well };
    let name = |name: &str| JobRef::Name(name.to_owned());
    let all = [(JobRef::Number(JobId(7)), true), (name("prte-host-77@8"), true), (name("fit"), false)];
    assert_eq!(
        (submission.wait_for_slots, submission.after),
        (true, all.map(|(job, well)| dependency(job, well)).into())
    );
}

#[test]
fn a_refusal_of_the_dvm_is_told_and_fails() {
    let mut fake = Fake::new();
    fake.play(|client| {
        let (id, _) = client.submission();
        client.reply(id, Reply::Refused("There are not enough slots.".to_owned()));
    });
    let output = fake.command(PRUN, &["./a"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("prun: There are not enough slots."));
}

#[test]
fn the_first_interrupt_cancels_the_second_explains_and_the_third_leaves() {
    let mut fake = Fake::new();
    let (step, steps) = std::sync::mpsc::channel();
    let dvm = fake.play(move |client| {
        let (id, _) = client.submission();
        client.output(id, Stream::Stdout, "ready\n");
        assert_eq!(
            client.hear(),
            Some(ClientMessage::Signal { id, signal: ferrite_types::Signal(Signal::USR1.as_raw()) })
        );
        step.send(()).unwrap();
        assert_eq!(client.hear(), Some(ClientMessage::Cancel { id }));
        step.send(()).unwrap();
        assert_eq!(client.hear(), None);
    });
    let mut child = fake.command(PRUN, &["./a"]).spawn().unwrap();
    let mut ready = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    signal(&child, Signal::USR1);
    steps.recv().unwrap();
    signal(&child, Signal::INT);
    steps.recv().unwrap();
    let mut told = child.stderr.take().unwrap();
    let (end, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        told.read_to_string(&mut text).unwrap();
        end.send(text)
    });
    // The same signal again within a moment counts once.
    let told = loop {
        match ended.recv_timeout(Duration::from_millis(50)) {
            Ok(text) => break text,
            Err(_) => signal(&child, Signal::INT),
        }
    };
    assert!(told.contains("Interrupt once more to leave at once"), "{told}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    dvm.join().unwrap();
}

#[test]
fn a_dvm_that_goes_away_is_told_and_fails() {
    let mut fake = Fake::new();
    fake.play(|client| {
        let (id, _) = client.submission();
        client.output(id, Stream::Stdout, "half\n");
    });
    let output = fake.command(PRUN, &["./a"]).output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), "half\n"));
    assert!(stderr(&output).contains("the connection to the DVM prte-host-77 was lost"), "{}", stderr(&output));
}

#[test]
fn a_reader_that_went_away_cancels_the_job_without_a_word() {
    let mut fake = Fake::new();
    let dvm = fake.play(|client| {
        let (id, _) = client.submission();
        client.output(id, Stream::Stdout, "more\n");
        assert_eq!(client.hear(), Some(ClientMessage::Cancel { id }));
        client.say(&DvmMessage::Notice { id, text: "The run was interrupted.".to_owned() });
        client.done(id, 1);
    });
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = fake.command(PRUN, &["./a"]).stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(1), ""));
    dvm.join().unwrap();
}

#[test]
fn a_slow_reader_slows_the_dvm_down() {
    const PIECE: usize = 1 << 20;
    const PIECES: usize = 24;
    let mut fake = Fake::new();
    let said = Arc::new(AtomicUsize::new(0));
    let counter = said.clone();
    let dvm = fake.play(move |client| {
        let (id, _) = client.submission();
        for _ in 0..PIECES {
            client.output(id, Stream::Stdout, &"x".repeat(PIECE));
            counter.fetch_add(1, Ordering::SeqCst);
        }
        client.done(id, 0);
    });
    let mut child = fake.command(PRUN, &["./a"]).spawn().unwrap();
    let mut first = [0];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    // A pipe, a socket and one message hold the bytes in flight; the rest waits for us, however long we take.
    assert!(dvm_waits(&said));
    let mut rest = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut rest).unwrap();
    assert_eq!(rest.len() + 1, PIECE * PIECES);
    assert!(child.wait().unwrap().success());
    dvm.join().unwrap();
}

/// True when the DVM has stopped saying more long before its end.
fn dvm_waits(said: &AtomicUsize) -> bool {
    let mut last = usize::MAX;
    loop {
        let now = said.load(Ordering::SeqCst);
        if now == last {
            return now < 12;
        }
        last = now;
        std::thread::park_timeout(Duration::from_millis(200));
    }
}

#[test]
fn pterm_waits_for_the_end_and_says_so() {
    let mut fake = Fake::new();
    let dvm = fake.play(|client| match client.hear() {
        Some(ClientMessage::Open { id, request: Request::Terminate }) => client.reply(id, Reply::Ordered),
        other => panic!("{other:?}"),
    });
    let output = fake.command(PTERM, &["--pid", "77"]).output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), "TERMINATING DVM...DONE\n"));
    dvm.join().unwrap();
}

#[test]
fn a_line_of_pterm_that_is_wrong_leaves_the_dvm_alone() {
    let fake = Fake::new();
    for args in [&["--nonsense"][..], &["--pid", "x"], &["--pid", "78"], &["now"], &["--dvm-uri", "file:/no/file"]] {
        let output = fake.command(PTERM, args).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(stderr(&output).contains("pterm: "), "{args:?}: {}", stderr(&output));
        assert!(!stderr(&output).contains("TERMINATING"), "{args:?}");
    }
}

#[test]
fn without_a_dvm_both_say_where_they_looked_and_what_to_do() {
    let nowhere = tempfile::tempdir().unwrap();
    let fake = Fake::new();
    for (binary, args) in [(PRUN, &["--pid", "1", "./a"][..]), (PTERM, &["--pid", "1"])] {
        let output = fake.command(binary, args).env("TMPDIR", nowhere.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("is the one of --pid 1"), "{}", stderr(&output));
        assert!(stderr(&output).contains("prte --daemonize"), "{}", stderr(&output));
    }
}
