//! A batch that belongs to the DVM: `prun --batch LIST --detach` hands the list over, and a `prun` that the head has
//! started runs it (spec L118 to L120).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};

use ferrite_client::{Connection, ConnectionError};
use ferrite_driver::{BATCH_VARIABLE, RESTARTED_VARIABLE};
use ferrite_types::JobId;
use ferrite_wire::control::{
    BatchCounts, BatchId, BatchOrder, BatchStart, Ending, JobStatus, MOST_OF_BATCH, Reply, Request,
};

use super::line::LineParser;
use super::list::jobs_beyond;
use super::outcome::{Begun, NOT_RUN, Outcome, SCHEMA};
use super::resume::Done;
use super::{check, command};
use crate::args::BatchRun;
use crate::command::{REFUSED, print};
use crate::frame;
use crate::machine::Surroundings;
use crate::setup::ClientSetup;

/// The batch of the DVM that this process runs.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) batch: BatchId,
    /// True when another process has begun with it, and was killed.
    pub(super) restarted: bool,
    reported: BatchCounts,
    /// True while a report has no answer.
    is_open: bool,
}

/// The surroundings of the jobs: what one of them starts is no batch of the DVM.
pub(super) fn without_own(around: &Surroundings) -> Surroundings {
    let mut around = around.clone();
    [BATCH_VARIABLE, RESTARTED_VARIABLE].iter().for_each(|name| drop(around.environment.remove(*name)));
    around
}

impl Own {
    /// Reads the variables of this process.
    pub(super) fn of_process(around: &Surroundings) -> Option<Own> {
        let batch = around.environment.get(BATCH_VARIABLE)?.parse().ok()?;
        let restarted = around.environment.contains_key(RESTARTED_VARIABLE);
        Some(Own { batch: BatchId(batch), restarted, reported: BatchCounts::default(), is_open: false })
    }

    /// The first record.
    pub(super) fn begun<'a>(&self, dvm: &'a str) -> Begun<'a> {
        Begun { schema: SCHEMA, record: "batch", dvm, batch: self.batch.0 }
    }

    /// The name of a task of this batch in the DVM: `b3:fit`, or `b3:17` by its line.
    pub(super) fn task(&self, line: u64, id: Option<&str>) -> String {
        id.map_or_else(|| format!("{}:{line}", self.batch), |id| format!("{}:{id}", self.batch))
    }

    /// The report that is due; one at a time.
    pub(super) fn report(&mut self, counts: BatchCounts) -> Option<BatchOrder> {
        if self.is_open || counts == self.reported {
            return None;
        }
        (self.is_open, self.reported) = (true, counts);
        Some(BatchOrder::Report { batch: self.batch, counts })
    }

    /// Notes that the last report was heard.
    pub(super) fn heard(&mut self) {
        self.is_open = false;
    }

    /// Finds what has become of the jobs that a killed process has submitted: those that are over, by the names of
    /// their tasks. The DVM has ended those that ran when that process was killed; they are run again (spec L119).
    pub(super) fn recover(&self, connection: &mut Connection) -> Result<BTreeMap<String, JobStatus>, ConnectionError> {
        let prefix = format!("{}:", self.batch);
        let mut jobs: BTreeMap<JobId, JobStatus> = BTreeMap::new();
        if let Reply::Jobs(living) = connection.ask(Request::Jobs)? {
            for job in living.into_iter().filter(|job| job.task.starts_with(&prefix)) {
                let is_over = job.ending.is_some();
                let id = job.job;
                if is_over {
                    jobs.insert(id, job);
                } else if let Reply::Job(detail) = connection.ask(Request::Wait(id))? {
                    jobs.insert(id, detail.status);
                }
            }
        }
        let mut from = Some(0);
        while let Some(first) = from {
            let Reply::Ended(page) = connection.ask(Request::Ended { from: first })? else { break };
            let own = page.jobs.into_iter().filter(|job| job.task.starts_with(&prefix));
            jobs.extend(own.map(|job| (job.job, job)));
            from = page.next.filter(|next| *next > first);
        }
        // Of several attempts the latest counts.
        let ended = jobs.into_values().filter(|job| !matches!(job.ending, None | Some(Ending::Killed)));
        Ok(ended.map(|job| (job.task.clone(), job)).collect())
    }
}

/// Writes a record for each job of a batch that can never begin.
pub(super) fn leave_out(batch: &BatchRun, finished: &Done, results: &mut File) {
    let Ok(list) = File::open(&batch.file) else { return };
    for ((line, id), index) in jobs_beyond(0, list).into_iter().zip(0..) {
        let id = id.as_deref();
        if !finished.has(line, id)
            && results.write_all(Outcome::without_run(index, line, id, NOT_RUN).line().as_bytes()).is_err()
        {
            return;
        }
    }
}

/// Hands a list over to the DVM, prints the batch that it has become, and returns the exit code (spec L118).
pub(super) fn submit(
    name: &'static str,
    batch: &BatchRun,
    setup: &ClientSetup,
    around: &Surroundings,
    parser: &mut LineParser,
    connect: impl FnOnce() -> Option<Connection>,
) -> i32 {
    let start = match start_of(batch, setup, around, parser) {
        Ok(start) => start,
        Err(text) => {
            let next = "Nothing was started. `prun --help batch` shows what a line can be.";
            frame::print(&frame::framed(name, &[&text, next]));
            return REFUSED;
        }
    };
    let Some(mut connection) = connect() else { return REFUSED };
    match connection.ask(Request::Batch(BatchOrder::Start(Box::new(start)))) {
        Ok(Reply::Batches(batches)) if batches.len() == 1 => print(&format!("{}\n", batches[0].batch)),
        Ok(Reply::Refused(text)) => {
            frame::print(&frame::framed(name, &[&text, "Nothing was started."]));
            REFUSED
        }
        Ok(other) => command::refuse(name, &format!("the DVM gave an answer that does not fit: {other:?}"), ""),
        Err(error) => command::refuse(name, &error.to_string(), error.next_step()),
    }
}

fn start_of(
    batch: &BatchRun,
    setup: &ClientSetup,
    around: &Surroundings,
    parser: &mut LineParser,
) -> Result<BatchStart, String> {
    let list = read(batch, around)?;
    check(&batch.file, list.as_slice(), setup, around, parser)?;
    let mut options = Vec::new();
    options.extend(batch.resume.iter().map(|_| "--resume".to_owned()));
    // This process was allowed to.
    options.extend(around.root.then(|| "--allow-run-as-root".to_owned()));
    options.extend(batch.keep_going.then(|| "--keep-going".to_owned()));
    options.push(format!("--retries={}", batch.retries));
    options.extend(batch.max_running.map(|most| format!("--max-running={most}")));
    options.push(format!("--priority={}", batch.priority));
    for (parameter, value) in &setup.run.params {
        options.extend(["--prtemca".to_owned(), parameter.clone(), value.clone()]);
    }
    Ok(BatchStart {
        name: batch.file.clone(),
        list: list.into(),
        options,
        results: batch.results.clone().or_else(|| batch.resume.clone()),
        env: around.environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        cwd: around.cwd.to_string_lossy().into_owned(),
    })
}

/// Reads the whole list: its file may be gone before it is run.
fn read(batch: &BatchRun, around: &Surroundings) -> Result<Vec<u8>, String> {
    let mut list = Vec::new();
    let most = MOST_OF_BATCH as u64 + 1;
    let read = match batch.file.as_str() {
        "-" => std::io::stdin().lock().take(most).read_to_end(&mut list),
        file => File::open(around.cwd.join(file)).and_then(|file| file.take(most).read_to_end(&mut list)),
    };
    read.map_err(|error| format!("cannot read the list of jobs {}: {error}", batch.file))?;
    let env: usize = around.environment.iter().map(|(name, value)| name.len() + value.len() + 16).sum();
    if list.len() + env > MOST_OF_BATCH {
        let most = MOST_OF_BATCH >> 20;
        return Err(format!("the list of jobs {} is longer than {most} MiB: cut it in two", batch.file));
    }
    Ok(list)
}
