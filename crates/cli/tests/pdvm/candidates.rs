//! Values that completion scripts ask for: of a DVM that answers, of none, and in a real shell.

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use super::fake::{Fake, usual};
use super::{run, told};
use ferrite_wire::control::Request;

/// Makes the call of a shell's script, with the current word and those before it.
fn asked(dir: &Path, kind: &str, current: &str, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pdvm"));
    command.env_clear().env("TMPDIR", dir).args(["--candidates", kind, current]).args(words);
    run(&mut command)
}

/// Asks until the answer is the right one: on a busy machine a DVM may answer later than a user would wait.
fn comes(wanted: &[&str], ask: impl Fn() -> Vec<String>) {
    let mut said = Vec::new();
    for _ in 0..50 {
        said = ask();
        if said == wanted {
            return;
        }
        assert!(said.is_empty(), "{said:?} instead of {wanted:?}");
    }
    panic!("{said:?} instead of {wanted:?}");
}

#[test]
fn hosts_jobs_and_sessions_are_those_of_the_selected_dvm() {
    let fake = Fake::new();
    let come = |wanted: &[&str], kind, current, words: &[&str]| {
        comes(wanted, || {
            let selected = [words, &["--namespace", fake.name()]].concat();
            let (code, out, err) = told(&asked(fake.dir(), kind, current, &selected));
            assert_eq!((code, err.as_str()), (Some(0), ""));
            out.lines().map(str::to_owned).collect()
        });
    };
    come(&["n0"], "hosts", "", &["prun", "--host"]);
    come(&["x:2,n0"], "hosts", "x:2,", &["prun", "--host"]);
    come(&["1", "2"], "jobs", "", &["pdvm", "job"]);
    // A job that is over cannot be ended.
    come(&["1"], "jobs", "", &["pdvm", "kill"]);
    come(&["1"], "sessions", "", &["prun", "--session-id"]);
}

#[test]
fn there_is_silence_where_there_is_no_dvm_and_where_it_does_not_answer() {
    let empty = tempfile::tempdir().unwrap();
    let silent = Fake::answering(|request| {
        std::thread::sleep(Duration::from_secs(60));
        Some(usual(request))
    });
    let hangs_up = Fake::answering(|_: &Request| None);
    for (dir, name) in [(empty.path(), "none"), (silent.dir(), silent.name()), (hangs_up.dir(), hangs_up.name())] {
        for kind in ["hosts", "jobs", "sessions", "nonsense"] {
            let began = Instant::now();
            let (code, out, err) = told(&asked(dir, kind, "", &["prun", "--namespace", name]));
            assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "", ""), "{kind} of {name}");
            // The limit is 40 ms; a busy machine starts the process late.
            assert!(began.elapsed() < Duration::from_secs(5), "{kind} of {name}");
        }
    }
}

/// Completes a line in bash with the script of its command.
fn completed(dir: &Path, words: &[&str]) -> Vec<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("completions/{}.bash", words[0]));
    let call = "source \"$0\"; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
        _$1 \"$1\" \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let ours = Path::new(env!("CARGO_BIN_EXE_pdvm")).parent().unwrap();
    let path = format!("{}:/usr/bin:/bin", ours.display());
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", call]).arg(script).args(words).env_clear().env("PATH", path).env("TMPDIR", dir);
    let (code, out, err) = told(&run(&mut bash));
    assert_eq!((code, err.as_str()), (Some(0), ""), "{words:?}");
    out.lines().filter(|line| !line.is_empty() && !line.starts_with('-')).map(str::to_owned).collect()
}

#[test]
fn bash_offers_them_where_an_option_or_a_verb_takes_them() {
    let fake = Fake::new();
    let offered = |wanted: &[&str], words: &[&str]| {
        let (command, rest) = words.split_first().unwrap();
        comes(wanted, || completed(fake.dir(), &[&[*command, "--namespace", fake.name()], rest].concat()));
    };
    offered(&["n0"], &["prun", "--host", ""]);
    offered(&["x,n0"], &["prun", "-H", "x,"]);
    offered(&["1"], &["prun", "--session-id", ""]);
    offered(&["rml_base_radix"], &["prun", "--prtemca", "rml_base_rad"]);
    comes(&["1", "2"], || completed(fake.dir(), &["pdvm", "job", ""]));
    comes(&["1"], || completed(fake.dir(), &["pdvm", "kill", ""]));
    let empty = tempfile::tempdir().unwrap();
    assert!(completed(empty.path(), &["prun", "--namespace", "none", "--host", ""]).is_empty());
}
