//! The binaries themselves: where text goes, and the exit code of each kind of end. Nothing is launched.

use std::process::{Command, Output, Stdio};

fn run(binary: &str, args: &[&str]) -> Output {
    let mut command = Command::new(binary);
    command.args(args).stdin(Stdio::null()).env_clear();
    command.output().expect("the binary was built with this test")
}

fn prterun(args: &[&str]) -> Output {
    run(env!("CARGO_BIN_EXE_prterun"), args)
}

#[test]
fn a_refusal_is_framed_on_standard_error_with_exit_code_one() {
    for args in [&["--no-such-option", "true"][..], &[], &["-n", "0", "true"], &["--hostfile", "/no/such/file", "true"]]
    {
        let output = prterun(args);
        let told = String::from_utf8(output.stderr).unwrap();
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
        assert_eq!(lines.first(), Some(&"-".repeat(74).as_str()), "{told}");
        assert_eq!(lines.last(), Some(&"-".repeat(74).as_str()), "{told}");
    }
}

#[test]
fn help_and_version_go_to_standard_output_with_exit_code_zero() {
    for args in [&["--help"][..], &["-h", "mapping"], &["-V"], &["-n", "2", "--version", "x"]] {
        for binary in [env!("CARGO_BIN_EXE_prterun"), env!("CARGO_BIN_EXE_prted")] {
            if binary.ends_with("prted") && args.len() > 1 {
                continue;
            }
            let output = run(binary, args);
            assert_eq!(output.status.code(), Some(0), "{args:?}");
            assert!(!output.stdout.is_empty() && output.stderr.is_empty(), "{args:?}");
        }
    }
}

#[test]
fn an_argument_that_is_no_text_is_refused_and_shown() {
    use std::os::unix::ffi::OsStrExt;
    let odd = std::ffi::OsStr::from_bytes(b"a\xffb");
    let output = Command::new(env!("CARGO_BIN_EXE_prterun")).arg("-n").arg("1").arg(odd).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("argument 3 is not valid UTF-8"));
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = Command::new(env!("CARGO_BIN_EXE_prterun")).arg("--help").stdout(writer).status().unwrap();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_daemon_without_a_ticket_ends_with_a_message() {
    let output = run(env!("CARGO_BIN_EXE_prted"), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("prted: "));
}
