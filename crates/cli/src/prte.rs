//! `prte`: starts a DVM that outlives its jobs. It parses, sets up, prints its own messages, and hands over to the
//! driver.

use std::ffi::OsString;
use std::path::PathBuf;
use std::rc::Rc;

use ferrite_driver::{HeadRun, Keepalive, Report, Serve, run_head};
use ferrite_wire::dvm_contact::batch_job;

use crate::args::ReportTo;
use crate::args::prte::{PrteParsed, PrteRun, parse};
use crate::called::Called;
use crate::command::{self, REFUSED, as_text, print};
use crate::frame;
use crate::machine::{self, Surroundings};
use crate::service::JsonService;
use crate::setup::{self, DvmSetup};

const NAME: &str = "prte";

/// Runs the command with these arguments (without its name); returns its exit code.
pub fn main(args: impl Iterator<Item = OsString>) -> i32 {
    let environment = machine::environment();
    match as_text(args).and_then(|args| parse(&args, &environment)) {
        Ok(PrteParsed::Print(text)) => print(&text),
        Ok(PrteParsed::Run(run)) => command::with_surroundings(NAME, environment, |around| start(*run, around)),
        Err(error) => {
            frame::print(&frame::refusal(NAME, &error));
            REFUSED
        }
    }
}

fn start(run: PrteRun, around: &Surroundings) -> i32 {
    if let Err((what, next)) = Called::refuse(NAME, &around.environment) {
        return command::refuse(NAME, &what, next);
    }
    match setup::prepare_dvm(&run, around) {
        Ok(setup) => {
            if !run.quiet {
                frame::print_warnings(NAME, &run.warnings);
                frame::print_warnings(NAME, &setup.warnings);
            }
            hand_over(run, setup, around)
        }
        Err(error) => command::refuse(NAME, &error.to_string(), &error.next_step()),
    }
}

/// Hands the process over to the driver; returns the exit code.
fn hand_over(run: PrteRun, setup: DvmSetup, around: &Surroundings) -> i32 {
    let report = |to: Option<ReportTo>| {
        to.map(|to| match to {
            ReportTo::Stdout => Report::Stdout,
            ReportTo::Stderr => Report::Stderr,
            // A DVM in the background may have another directory when it removes the file.
            ReportTo::File(path) => Report::File(around.cwd.join(PathBuf::from(path))),
        })
    };
    let service = JsonService::new(&setup.params, around);
    run_head(HeadRun {
        tool: NAME.to_owned(),
        params: setup.params,
        allocation: setup.allocation,
        topology: setup.topology,
        env: run.env,
        prted: setup.prted,
        cwd: setup.cwd,
        submit: None,
        pictures: None,
        serve: Some(Serve {
            ready_message: run.ready_message,
            daemonize: run.daemonize,
            report_uri: report(run.report_uri),
            report_pid: report(run.report_pid),
            keepalive: run.keepalive.map(|descriptor| Keepalive { descriptor, named_by: "--keepalive" }),
            listen: run.listen,
            set_sid: run.set_sid,
            system_server: run.system_server,
            service: Some(Rc::new(service)),
            batch: batch_job(|name| around.environment.get(name).cloned()),
            ..Serve::default()
        }),
        forward_signals: setup.signals,
    })
}
