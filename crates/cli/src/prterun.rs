//! `prterun`: runs one job in a private DVM: parses, sets up, runs, returns the exit code. With `--dvm` the job goes to
//! a DVM that is running, as with `prun`.

use std::ffi::OsString;

use ferrite_driver::{HeadRun, Serve, run_head};
use ferrite_wire::control::Submission;

use crate::args::{Parsed, Run, Tool};
use crate::called::Called;
use crate::command::{self, REFUSED, as_text, print};
use crate::machine::{self, Surroundings};
use crate::pictures::{self, Pictures};
use crate::setup::{self, Prepared};
use crate::{frame, prun};

const NAME: &str = "prterun";

/// Runs the command with these arguments (without its name); returns its exit code.
pub fn main(args: impl Iterator<Item = OsString>) -> i32 {
    let environment = machine::environment();
    match as_text(args).and_then(|args| command::parse(Tool::Prterun, &args, &environment)) {
        Ok(Parsed::Print(text)) => print(&text),
        Ok(Parsed::Run(run)) => command::with_surroundings(NAME, environment, |around| match run.connect {
            Some(_) => prun::start(NAME, *run, around),
            None => start(*run, around),
        }),
        Err(error) => {
            frame::print(&frame::refusal(NAME, &error));
            REFUSED
        }
    }
}

fn start(run: Run, around: &Surroundings) -> i32 {
    let called = match Called::of(&around.environment) {
        Ok(called) => called,
        Err((what, next)) => return command::refuse(NAME, &what, next),
    };
    let report = run.report_pid.clone();
    let quiet = run.quiet;
    let prepared = match setup::prepare(run, around) {
        Ok(prepared) => prepared,
        Err(error) => return command::refuse(NAME, &error.to_string(), &error.next_step()),
    };
    if !quiet {
        frame::print_warnings(NAME, &prepared.warnings);
    }
    // The origin comes before `--display allocation`, whose lines are exactly those of the field.
    prepared.origin.iter().for_each(|origin| frame::print(&format!("{NAME}: {origin}\n")));
    let pictures = match Pictures::new(prepared.pictures.clone()) {
        Ok(pictures) => pictures,
        Err(complaint) => return command::refuse(NAME, &complaint, pictures::NEXT),
    };
    if !command::report_pid(NAME, report.as_ref()) {
        return REFUSED;
    }
    hand_over(prepared, pictures, called)
}

/// Hands the process over to the driver; returns the exit code.
fn hand_over(prepared: Prepared, pictures: Pictures, called: Called) -> i32 {
    // A job that waits for a debugger has to be reached by `pdvm release`; any by PMIx tools.
    let tools_only = prepared.spec.stop.is_none();
    let Called { file: rendezvous, caller, keepalive } = called;
    let serve = Serve { tools_only, rendezvous, caller, keepalive, ..Serve::default() };
    run_head(HeadRun {
        tool: NAME.to_owned(),
        params: prepared.params,
        allocation: prepared.allocation,
        topology: prepared.topology,
        env: Vec::new(),
        prted: prepared.prted,
        cwd: prepared.cwd,
        submit: Some(Submission {
            env: prepared.forwarded_env,
            personality: prepared.personality,
            launcher: machine::launcher(NAME),
            ..Submission::of(prepared.spec)
        }),
        serve: Some(serve),
        pictures: Some(Box::new(pictures)),
        forward_signals: prepared.signals,
    })
}
