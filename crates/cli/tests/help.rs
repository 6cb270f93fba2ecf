//! The texts that a user asks for.

// Helpers of a test fail as tests do.
#![allow(clippy::unwrap_used)]

use ferrite_cli::args::prte::{self, PrteParsed};
use ferrite_cli::args::pterm::{self, PtermParsed};
use ferrite_cli::args::{Environment, Parsed, Tool, parse, parse_for};
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
        "ranking",
        "binding",
        "rankfiles",
        "hosts",
        "growing",
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

/// The output of a command, or its refusal.
fn told(tool: Tool, line: &str) -> String {
    let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let parsed = match tool {
        Tool::Prterun | Tool::Prun => parse_for(tool, &args, &Environment::new()).map(|parsed| match parsed {
            Parsed::Print(text) => text,
            Parsed::Run(run) => {
                format!("{:#?}\n", (run.connect, run.detach, run.wait_for_slots, run.priority, run.batch))
            }
        }),
        Tool::Prte => prte::parse(&args, &Environment::new()).map(|parsed| match parsed {
            PrteParsed::Print(text) => text,
            PrteParsed::Run(run) => format!("{run:#?}\n"),
        }),
        Tool::Pterm => pterm::parse(&args, &Default::default()).map(|parsed| match parsed {
            PtermParsed::Print(text) => text,
            PtermParsed::End { connect, .. } => format!("{connect:#?}\n"),
        }),
    };
    let text = parsed.unwrap_or_else(|error| refusal(tool.name(), &error));
    format!("$ {} {line}\n{text}", tool.name())
}

fn all(tool: Tool, lines: &[&str]) -> String {
    lines.iter().map(|line| told(tool, line)).collect::<Vec<_>>().join("\n")
}

#[test]
fn prun() {
    insta::assert_snapshot!(all(Tool::Prun, &["--help", "--help batch", "--help dvm", "--version"]));
}

#[test]
fn lines_of_prun() {
    insta::assert_snapshot!(all(
        Tool::Prun,
        &[
            "./a",
            "--pid file:p --wait-to-connect 5 --num-connect-retries 3 --detach ./a",
            "--dvm system-first --wait-for-slots ./a",
            "--priority -5 ./a",
            "--batch jobs --keep-going --retries 2 --max-running 8 --results r --priority 7",
            "",
            "--launch-agent x ./a",
            "--daemonize ./a",
            "--pid x ./a",
            "--pid 1 --namespace n ./a",
            "--dvm nearest ./a",
            "--dvm-uri nonsense ./a",
            "--wait-to-connect soon ./a",
            "--retries 2 ./a",
            "--priority 1001 ./a",
            "--priority high ./a",
            "--priority 1 ./a : --priority 2 ./b",
            "--batch jobs -n 2",
            "--batch jobs ./a",
            "--batch jobs --detach",
            "--batch jobs --max-running 0",
            "--batch",
            "--hots n0 ./a",
        ]
    ));
}

#[test]
fn nodes_and_the_allocation_of_a_job() {
    let told = |tool, line: &str| {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let text = match parse_for(tool, &args, &Environment::new()) {
            Ok(Parsed::Run(run)) => format!("{:?}\n{:?}\n", run.grow, run.session),
            Ok(Parsed::Print(text)) => text,
            Err(error) => refusal(tool.name(), &error),
        };
        format!("$ {} {line}\n{text}", tool.name())
    };
    let of_prun = [
        "--add-host n5,n6:4 --add-hostfile more --activate +n2,file=f ./a",
        "--add-host n5 ./a : --add-host n5,n7:+2 --add-hostfile f ./b",
        "--alloc-id a1 ./a",
        "--alloc-refid weekend ./a : --alloc-refid weekend ./b",
        "--session-id 3 ./a",
        "--add-host n5,^n6 ./a",
        "--add-host +e:2 ./a",
        "--add-host n5:x ./a",
        "--add-host n5:0 ./a",
        "--activate n2:4 ./a",
        "--activate +e ./a",
        "--add-hostfile= ./a",
        "--alloc-id a1 --session-id 3 ./a",
        "--session-id +3 ./a",
        "--session-id a1 ./a",
        "--alloc-id= ./a",
        "--batch jobs --add-host n5",
        "--batch jobs --alloc-id a1",
    ];
    let of_prterun = [
        "--add-host n5 ./a",
        "--activate n2 ./a",
        "--alloc-id a1 ./a",
        "--session-id 3 ./a",
        "--dvm search --add-host n5 --activate n2 --alloc-id a1 ./a",
    ];
    let lines = of_prun.map(|l| (Tool::Prun, l)).into_iter().chain(of_prterun.map(|l| (Tool::Prterun, l)));
    insta::assert_snapshot!(lines.map(|(tool, line)| told(tool, line)).collect::<Vec<_>>().join("\n"));
}

#[test]
fn prte() {
    insta::assert_snapshot!(all(
        Tool::Prte,
        &[
            "--help",
            "--host n0:2,n1 --daemonize --report-uri u --keepalive 5 --prtemca a b",
            "-n 4 ./a",
            "./a",
            "--keepalive x",
            "--listen 4000",
            "--listen [::1]:0",
            "--listen n0",
            "--listen 70000",
            "--report-pid 5",
            "--timeout soon",
            "--max-vm-size 3",
            "--add-host n5",
            "--alloc-id a1",
            "--nonsense",
        ]
    ));
}

#[test]
fn pterm() {
    insta::assert_snapshot!(all(
        Tool::Pterm,
        &[
            "--help",
            "",
            "--system-server-only",
            "--dvm-uri file:u",
            "--dvm-uri file:u --dvm-key k",
            "now",
            "--pid x",
            "--nonsense",
            "-n 4"
        ]
    ));
}

#[test]
fn prterun_as_a_proxy() {
    insta::assert_snapshot!(all(
        Tool::Prterun,
        &[
            "--dvm pid:12 ./a",
            "--dvm uri:d@0.0 ./a",
            "--dvm what ./a",
            "--dvm search --launch-agent x ./a",
            "--batch x"
        ]
    ));
}
