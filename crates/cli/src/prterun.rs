//! `prterun`: parse, set up, run, and the exit code. Everything that it prints itself passes here.

use std::ffi::OsString;
use std::io::Write;

use ferrite_driver::{HeadRun, run_head};
use ferrite_wire::control::Submission;

use crate::args::{self, Parsed, ReportTo, Run, UsageError};
use crate::frame;
use crate::machine::{self, Surroundings};
use crate::setup::{self, Prepared};

const NAME: &str = "prterun";

/// Exit code of every refusal, as in the field.
const REFUSED: i32 = 1;

/// Runs the command with these arguments (without its name); returns its exit code.
pub fn main(args: impl Iterator<Item = OsString>) -> i32 {
    let environment = machine::environment();
    let parsed = as_text(args).and_then(|args| args::parse(&args, &environment));
    match parsed {
        Ok(Parsed::Print(text)) => print(&text),
        Ok(Parsed::Run(run)) => match Surroundings::of_process(environment) {
            Ok(around) => start(*run, &around),
            Err(error) => {
                frame::print(&frame::framed(
                    NAME,
                    &[
                        &format!("cannot find out where we are: {error}"),
                        "Change to a directory that exists, and start the command by its path.",
                    ],
                ));
                REFUSED
            }
        },
        Err(error) => {
            frame::print(&frame::refusal(NAME, &error));
            REFUSED
        }
    }
}

/// Arguments travel to other nodes as text.
pub(crate) fn as_text(args: impl Iterator<Item = OsString>) -> Result<Vec<String>, UsageError> {
    let text = |(index, arg): (usize, OsString)| {
        arg.into_string()
            .map_err(|arg| UsageError::NotText { index: index + 1, shown: arg.to_string_lossy().into_owned() })
    };
    args.enumerate().map(text).collect()
}

/// A reader that went away (`prterun --help | head`) is no failure.
pub(crate) fn print(text: &str) -> i32 {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    0
}

fn start(run: Run, around: &Surroundings) -> i32 {
    let report = run.report_pid.clone();
    let prepared = match setup::prepare(run, around) {
        Ok(prepared) => prepared,
        Err(error) => {
            frame::print(&frame::framed(NAME, &[&error.to_string(), &error.next_step()]));
            return REFUSED;
        }
    };
    frame::print_warnings(NAME, &prepared.warnings);
    if let Some(to) = &report
        && let Err(error) = report_pid(to)
    {
        frame::print(&frame::framed(
            NAME,
            &[
                &format!("--report-pid: cannot write our process id: {error}"),
                "Give `-`, `+`, or a file in a directory that can be written to.",
            ],
        ));
        return REFUSED;
    }
    hand_over(prepared)
}

fn report_pid(to: &ReportTo) -> std::io::Result<()> {
    let line = format!("{}\n", std::process::id());
    match to {
        ReportTo::Stdout => std::io::stdout().write_all(line.as_bytes()),
        ReportTo::Stderr => std::io::stderr().write_all(line.as_bytes()),
        ReportTo::File(path) => std::fs::write(path, line),
    }
}

/// The process becomes the driver's; there is nothing to do after it.
fn hand_over(prepared: Prepared) -> i32 {
    run_head(HeadRun {
        tool: NAME.to_owned(),
        params: prepared.params,
        allocation: prepared.allocation,
        prted: prepared.prted,
        cwd: prepared.cwd,
        submit: Some(Submission { env: prepared.forwarded_env, ..Submission::of(prepared.spec) }),
        serve: None,
        forward_signals: prepared.signals,
    })
}
