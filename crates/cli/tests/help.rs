//! The texts that a user asks for.

// Helpers of a test fail as tests do.
#![allow(clippy::unwrap_used)]

use ferrite_cli::args::{Environment, Parsed, parse};
use ferrite_cli::daemon_args::{self, DaemonParsed};
use ferrite_cli::frame::{framed, refusal};
use ferrite_cli::prted::BY_HAND;

fn printed(args: &[&str]) -> String {
    let args: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
    match parse(&args, &Environment::new()) {
        Ok(Parsed::Print(text)) => text,
        other => panic!("{args:?}: {other:?}"),
    }
}

#[test]
fn help_lists_every_option() {
    insta::assert_snapshot!(printed(&["--help"]));
}

#[test]
fn topics() {
    let all = [
        "mapping",
        "hosts",
        "output",
        "display",
        "rtos",
        "environment",
        "apps",
        "parameters",
        "exit-codes",
        "deprecated",
    ];
    let texts: Vec<_> = all.iter().map(|topic| format!("=== {topic}\n{}", printed(&["--help", topic]))).collect();
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn an_option_is_a_topic() {
    insta::assert_snapshot!(
        [
            printed(&["--help", "timeout"]),
            printed(&["-h", "--", "x"]).lines().next().unwrap().to_owned(),
            printed(&["--help=np"])
        ]
        .join("\n")
    );
}

#[test]
fn version() {
    assert_eq!(printed(&["-n", "2", "--version"]), format!("prterun (Ferrite) {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_daemon() {
    let told = |line: &str| {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let text = match daemon_args::parse(&args) {
            Ok(DaemonParsed::Print(text)) => text,
            Ok(DaemonParsed::Serve(options)) => format!("attached: {}\n", options.stays_attached()),
            Err(error) => refusal("prted", &error),
        };
        format!("$ prted {line}\n{text}")
    };
    let lines = [
        "--help",
        "--version",
        "",
        "--debug-daemons",
        "--leave-session-attached",
        "--bootstrap",
        "--prtemca a b",
        "file",
    ];
    let mut all: Vec<_> = lines.iter().map(|l| told(l)).collect();
    all.push(framed("prted", BY_HAND));
    insta::assert_snapshot!(all.join("\n"));
}
