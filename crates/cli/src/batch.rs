//! `prun --batch`: a list of jobs over one connection. `line` parses one job, `feed` cuts the input into lines,
//! `outcome` makes the line about a finished job, and `list` is the loop. This module opens the files and checks them.

mod bar;
mod detached;
pub(crate) mod feed;
pub mod line;
mod list;
pub mod order;
mod outcome;
mod resume;
mod window;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::time::Instant;

use ferrite_client::{ClientLoop, Connection, Source};
use ferrite_wire::control::{Reply, Request};

use crate::args::BatchRun;
use crate::command::{self, REFUSED};
use crate::frame;
use crate::interrupts::heard;
use crate::machine::Surroundings;
use crate::setup::{ClientSetup, prepare_listed};
use feed::Feed;
use line::LineParser;
use list::{List, Setting};
use outcome::Epoch;
use resume::{Begun, Done};
use window::Window;

/// The most bad lines that are shown; more of them share one mistake.
const SHOWN: usize = 10;

/// Runs the list; looks for the DVM only when the file has no error.
pub(crate) fn start(
    name: &'static str,
    batch: &BatchRun,
    setup: &ClientSetup,
    around: &Surroundings,
    mut connect: impl FnMut() -> Option<Connection>,
) -> i32 {
    if setup.run.detach {
        let mut parser = LineParser::new(around.environment.clone());
        return detached::submit(name, batch, setup, around, &mut parser, connect);
    }
    let own = detached::Own::of_process(around);
    let around = &detached::without_own(around);
    let mut parser = LineParser::new(around.environment.clone());
    let (input, total) = match open(batch, setup, around, &mut parser) {
        Ok(opened) => opened,
        Err(text) => {
            frame::print(&frame::framed(
                name,
                &[&text, "Nothing was started. `prun --help batch` shows what a line can be."],
            ));
            return REFUSED;
        }
    };
    // The results of a batch that goes on are read with the name of its DVM.
    let mut connection = None;
    if own.as_ref().is_some_and(|own| own.restarted) {
        let Some(found) = connect() else { return REFUSED };
        connection = Some(found);
    }
    let begun = own.as_ref().zip(connection.as_ref()).map(|(own, c)| Begun { dvm: c.dvm(), batch: own.batch.0 });
    let (results, finished) = match open_results(batch, around, begun) {
        Ok(opened) => opened,
        Err(text) => return command::refuse(name, &text, "Give another file. Nothing was started."),
    };
    let connection = match connection {
        Some(connection) => Some(connection),
        None => connect(),
    };
    let Some(mut connection) = connection else {
        // The DVM has ended before the batch began.
        if let (Some(_), Some(mut results)) = (&own, results) {
            detached::leave_out(batch, &finished, &mut results);
        }
        return REFUSED;
    };
    let recovered = match own.as_ref().filter(|own| own.restarted).map(|own| own.recover(&mut connection)) {
        None => BTreeMap::new(),
        Some(Ok(recovered)) => recovered,
        Some(Err(error)) => return command::refuse(name, &error.to_string(), error.next_step()),
    };
    let (epoch, slots) = match connection.ask(Request::Status) {
        Ok(Reply::Status(status)) => (Epoch::of(status.now_us), status.slots),
        Ok(_) => (Epoch::of(0), 0),
        Err(error) => return command::refuse(name, &error.to_string(), error.next_step()),
    };
    let mut params = setup.params.clone();
    match crate::prun::defaults_of(name, &mut connection) {
        Ok(defaults) => defaults.iter().for_each(|(name, value)| params.set_default(name, value)),
        Err(code) => return code,
    }
    let setting = Setting { name, batch, params: &params, around };
    let window = Window::new(batch.max_running, slots, Instant::now());
    let results = (results, finished);
    match ClientLoop::new(connection, input, &heard(&setup.signals)) {
        Ok(client) => List::new(setting, parser, client, results, (epoch, window), total, (own, recovered)).run(),
        Err(error) => {
            command::refuse(name, &format!("cannot watch the jobs: {error}"), "See `ulimit -n`, and try again.")
        }
    }
}

/// Opens the file for results. A list that is resumed goes on in the file that has them, and leaves out what has ended
/// well.
fn open_results(
    batch: &BatchRun,
    around: &Surroundings,
    begun: Option<Begun<'_>>,
) -> Result<(Option<File>, Done), String> {
    let Some(path) = &batch.resume else {
        let created = batch.results.as_ref().map(|path| File::create(around.cwd.join(path))).transpose();
        let results = created.map_err(|error| format!("--results: cannot write the file: {error}"))?;
        return Ok((results, Done::default()));
    };
    let cannot = |error: std::io::Error| format!("--resume: cannot read and write the file {path}: {error}");
    let mut options = File::options();
    let mut file = options.read(true).append(true).create(true).open(around.cwd.join(path)).map_err(cannot)?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(cannot)?;
    let done = Done::of(&text, begun).map_err(|why| format!("--resume {path}: {why}"))?;
    if !text.is_empty() && !text.ends_with('\n') {
        // A cut-off result becomes a line of its own, and does not swallow the next one.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64).map_err(cannot)?;
    }
    Ok((Some(file), done))
}

/// Opens the input, and returns the number of its jobs. A file that can be read twice is checked before anything
/// starts.
fn open(
    batch: &BatchRun,
    setup: &ClientSetup,
    around: &Surroundings,
    parser: &mut LineParser,
) -> Result<(Source, Option<u64>), String> {
    if batch.file == "-" {
        return Ok((Source::stdin(), None));
    }
    let path = around.cwd.join(&batch.file);
    let cannot = |e: std::io::Error| format!("cannot read the list of jobs {}: {e}", batch.file);
    let file = File::open(&path).map_err(cannot)?;
    if !file.metadata().map_err(cannot)?.is_file() {
        return Ok((Source::file(file), None));
    }
    let total = check(&batch.file, file, setup, around, parser)?;
    Ok((Source::file(File::open(&path).map_err(cannot)?), Some(total)))
}

/// Counts the jobs of a file; the error names its bad lines.
fn check(
    name: &str,
    mut file: impl Read,
    setup: &ClientSetup,
    around: &Surroundings,
    parser: &mut LineParser,
) -> Result<u64, String> {
    let mut feed = Feed::default();
    let mut buffer = vec![0; 64 * 1024];
    let (mut jobs, mut bad, mut shown) = (0, 0, String::new());
    let mut names = order::Names::default();
    while !feed.is_over() {
        let count = file.read(&mut buffer).map_err(|e| format!("cannot read the list of jobs {name}: {e}"))?;
        feed.push(&buffer[..count]);
        while let Some((number, line)) = feed.next_line() {
            match line.map_err(str::to_owned).and_then(|line| is_job(&line, setup, around, (parser, &mut names))) {
                Ok(job) => jobs += u64::from(job),
                Err(why) => {
                    bad += 1;
                    if bad <= SHOWN {
                        shown.push_str(&format!("\n  {name}:{number}: {why}"));
                    }
                }
            }
        }
    }
    match bad {
        0 => Ok(jobs),
        1 => Err(format!("the list has a line that is no job:{shown}")),
        _ if bad > SHOWN => Err(format!("the list has {bad} lines that are no jobs, the first of them:{shown}")),
        _ => Err(format!("the list has {bad} lines that are no jobs:{shown}")),
    }
}

fn is_job(
    line: &str,
    setup: &ClientSetup,
    around: &Surroundings,
    (parser, names): (&mut LineParser, &mut order::Names),
) -> Result<bool, String> {
    let Some(job) = parser.parse(line).map_err(|e| e.to_string())? else { return Ok(false) };
    names.add(job.id.as_deref(), &job.after)?;
    prepare_listed(job.run, &setup.params, around).map(|_| true).map_err(|e| e.to_string())
}
