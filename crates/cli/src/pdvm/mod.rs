//! `pdvm`: shows what a DVM does and waits for, gives orders to its jobs and sessions, and changes its size. Each verb
//! has a file, with a pure function that makes its text and one that makes its JSON. `options` parses the command line,
//! `candidates` serves the completion scripts of shells, `dvm` sends requests, `moment` converts times, `text` lays
//! out, and `json` has the schema (docs/pdvm-json.md).

mod batch;
mod candidates;
mod dvm;
pub(crate) mod event_line;
mod events;
pub(crate) mod failure;
mod feed;
pub(crate) mod grow;
mod job;
mod jobs;
pub(crate) mod json;
mod kill;
pub(crate) mod metrics;
pub(crate) mod moment;
mod nodes;
pub(crate) mod options;
mod release;
pub(crate) mod resize;
#[cfg(test)]
pub(crate) mod samples;
mod service;
mod session;
pub(crate) mod shrink;
pub(crate) mod signal;
pub(crate) mod size;
pub(crate) mod status;
mod text;
mod top;
mod trace;
pub(crate) mod tree;
mod wait;
pub mod web;

use std::ffi::OsString;
use std::io::{self, Write};

use dvm::Dvm;
use failure::Failure;
pub use options::{PdvmOptions, definitions};
use options::{PdvmParsed, Verb};

use crate::command::as_text;
use crate::frame;

pub(crate) use text::cut;

const NAME: &str = "pdvm";

/// Runs the command with these arguments (without its name); returns its exit code.
pub fn main(args: impl Iterator<Item = OsString>) -> i32 {
    let args = match as_text(args) {
        Ok(args) => args,
        Err(error) => return told(&Failure::Usage(error), false),
    };
    if args.first().is_some_and(|first| first == candidates::OPTION) {
        candidates::print(&args[1..]);
        return 0;
    }
    let (done, json) = match options::parse(&args) {
        Ok(PdvmParsed::Print(text)) => (put(&text).map(|()| 0), false),
        Ok(PdvmParsed::Run(options)) => {
            let json = options.json;
            (run(options), json)
        }
        Err(error) => (Err(Failure::Usage(error)), args.iter().any(|arg| arg == "--json")),
    };
    match done {
        Ok(code) => code,
        Err(failure) => told(&failure, json),
    }
}

/// Says on standard error why a verb has failed: as a line of JSON if JSON was asked for. Returns the exit code.
fn told(failure: &Failure, json: bool) -> i32 {
    let text = match failure {
        failure if json => {
            frame::print_json(&json::error(failure));
            return failure.exit_code();
        }
        Failure::Usage(error) => frame::refusal(NAME, error),
        failure => frame::framed(NAME, &[&failure.to_string(), &failure.next_step()]),
    };
    frame::print(&text);
    failure.exit_code()
}

/// Carries out a verb; returns the exit code.
fn run(options: PdvmOptions) -> Result<i32, Failure> {
    let PdvmOptions { verb, which, json } = options;
    // The line is checked first, so that a missing DVM does not hide an error in it.
    let find = || Dvm::find(which.clone());
    let done = match verb {
        Verb::Batch(of) => return batch::answer(find()?, &of.verb, json),
        Verb::Wait(of) => return wait::answer(find()?, &of.jobs, json),
        Verb::Status => put(&status::answer(&mut find()?, json)?),
        Verb::Nodes => put(&nodes::answer(&mut find()?, json)?),
        Verb::Jobs(how) => put(&jobs::answer(&mut find()?, &how, json)?),
        Verb::Job(of) => put(&job::answer(&mut find()?, &of.job, json)?),
        Verb::Feed(of) => put(&feed::answer(find()?, &of.job, json)?),
        Verb::Kill(of) => put(&kill::answer(&mut find()?, &of, json)?),
        Verb::Release(of) => put(&release::answer(&mut find()?, &of, json)?),
        Verb::Signal(of) => put(&signal::answer(&mut find()?, &of.job, of.signal, json)?),
        Verb::Grow(how) => {
            let pushed = how.push;
            let request = grow::request(how)?;
            put(&resize::answer(find()?, request, pushed, json)?)
        }
        Verb::Shrink(how) => {
            let pushed = how.push;
            let request = shrink::request(how)?;
            put(&resize::answer(find()?, request, pushed, json)?)
        }
        Verb::Resize(how) => {
            let nodes = grow::for_offer(&how.host, how.nodes, how.queue.clone())?;
            put(&size::answer(find()?, &how, nodes, json)?)
        }
        Verb::Session(of) => match session::order(of.verb)? {
            None => put(&session::list(&mut find()?, json)?),
            Some(order) => put(&session::carry_out(&mut find()?, &order, json)?),
        },
        Verb::Events(how) if how.follow => events::follow(find()?, json),
        Verb::Events(_) => put(&events::so_far(&mut find()?, json)?),
        Verb::Top(how) => {
            top::check(json)?;
            top::watch(find()?, how.interval)
        }
        Verb::Web(how) => web::serve(find()?, how.port, json),
        Verb::Service => service::pass(which),
        Verb::Trace(how) => trace::answer(find()?, &how, json),
        Verb::Metrics => put(&metrics::answer(&mut find()?, json)?),
    };
    done.map(|()| 0)
}

/// Prints a text. A reader that is gone (`pdvm jobs | head -1`) is no failure; a full disk is.
fn put(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(cause) if cause.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Output(cause)),
        _ => Ok(()),
    }
}
