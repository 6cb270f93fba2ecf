//! The service of a DVM: JSON lines over the control socket (docs/service.md). The driver hands the bytes of such a
//! client to a `talk::Talk`, which turns its lines into messages of the control protocol, and messages into lines.
//! `requests` are the lines that it reads, `answers` those that it writes; the rest of the vocabulary is `pdvm`'s.
//! Nothing here reads files, clocks or sockets: the head serves its DVM with the same thread.

pub(crate) mod answers;
mod input;
mod names;
mod requests;
mod talk;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use ferrite_driver::{Interpreter, Service};
use ferrite_rm::Params;
use ferrite_types::{JobId, Rank, StdinTarget};
use ferrite_wire::control::{Dependency, JobRef, Submission};

use crate::args::{Environment, Run};
use crate::batch::line::{Fields, Id, LineParser};
use crate::machine::{self, Surroundings};
use crate::setup::{SetupError, prepare_listed};
use names::Names;
use requests::Task;
use talk::Talk;

/// The parameters of a DVM that are defaults of its jobs, and that whoever submits them has to apply. (Those of
/// placement are filled in when a job is mapped.)
const DEFAULTS: [&str; 3] = ["display", "output", "rtos"];

/// The longest name of a task (bytes).
const LONGEST_NAME: usize = 1_024;

/// The service of one DVM.
#[derive(Debug)]
pub struct JsonService {
    shared: Rc<Shared>,
}

/// Data that all clients of the service share.
pub(crate) struct Shared {
    around: Surroundings,
    params: Params,
    parser: RefCell<LineParser>,
    pub(crate) names: RefCell<Names>,
    /// The number of clients so far.
    clients: Cell<u64>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl JsonService {
    /// Makes the service of a DVM with these parameters. Jobs without a directory run in the head's.
    #[must_use]
    pub fn new(params: &[(String, String)], around: &Surroundings) -> JsonService {
        let mut own = Params::default();
        for (name, value) in params.iter().filter(|(name, _)| DEFAULTS.contains(&name.as_str())) {
            own.set_default(name, value);
        }
        // The head adds its own forwarded environment to every job.
        let around = Surroundings { environment: Environment::new(), ..around.clone() };
        let parser = RefCell::new(LineParser::new(Environment::new()));
        JsonService {
            shared: Rc::new(Shared { around, params: own, parser, names: RefCell::default(), clients: Cell::new(0) }),
        }
    }

    /// Makes the service of a DVM that has no parameters, for tests and fuzzing.
    #[must_use]
    pub fn plain() -> JsonService {
        let nowhere = Surroundings {
            environment: Environment::new(),
            cwd: PathBuf::from("/"),
            exe: PathBuf::from("/prte"),
            root: false,
            hostname: "here".to_owned(),
        };
        JsonService::new(&[], &nowhere)
    }
}

impl Service for JsonService {
    fn interpreter(&self, dvm: &str, began: Duration) -> Box<dyn Interpreter> {
        Box::new(Talk::new(self.shared.clone(), dvm, began))
    }
}

impl Shared {
    /// A number for a new client.
    pub(crate) fn number_client(&self) -> u64 {
        self.clients.set(self.clients.get() + 1);
        self.clients.get()
    }

    /// Makes the submission of a task of this client. Clients take turns (spec L123), so each has a name of its own.
    ///
    /// # Errors
    /// Why it is none.
    pub(crate) fn submission(&self, task: Task, client: u64) -> Result<Submission, String> {
        let Task {
            task,
            argv,
            cmd,
            np,
            host,
            env,
            cwd,
            timeout,
            priority,
            after,
            after_any,
            options,
            stdin,
            feed,
            detach,
        } = task;
        let reads = feed || stdin.is_some();
        if detach && reads {
            return Err(
                "a task that outlives its connection reads no stdin: remove detach, or stdin and feed".to_owned()
            );
        }
        let task = task.unwrap_or_default();
        if task.len() > LONGEST_NAME {
            return Err(format!("task: a name has at most {LONGEST_NAME} bytes; give a shorter one"));
        }
        let fields = Fields { argv, cmd, np, host, env, cwd, timeout, priority, options };
        let mut run = self.parser.borrow_mut().run_of(fields).map_err(|error| error.to_string())?;
        if let Some(option) = option_with_file(&run) {
            return Err(format!("{option}: the service reads no files; give the hosts themselves with --host"));
        }
        let readers = run.spec.stdin.take().filter(|readers| *readers != StdinTarget::None);
        if readers.is_some() && !reads {
            return Err("--stdin: there is nothing to read; give stdin or feed".to_owned());
        }
        let told = |error: SetupError| [error.to_string(), error.next_step()].join(" ").trim_end().to_owned();
        let mut submission = prepare_listed(run, &self.params, &self.around).map_err(told)?;
        submission.after.extend(dependencies(after, true)?);
        submission.after.extend(dependencies(after_any, false)?);
        submission.detach = detach;
        submission.task = task;
        submission.launcher = format!("{}.{client}", machine::launcher("service"));
        if reads {
            submission.spec.stdin = Some(readers.unwrap_or(StdinTarget::Rank(Rank(0))));
        }
        Ok(submission)
    }
}

/// Returns the jobs after which a task begins (spec L152).
fn dependencies(jobs: Vec<Id>, well: bool) -> Result<Vec<Dependency>, String> {
    let job = |id: Id| match id {
        Id::Text(name) => Ok(JobRef::Name(name)),
        Id::Number(number) => u32::try_from(number)
            .map(|number| JobRef::Number(JobId(number)))
            .map_err(|_| format!("after: {number} is no number of a job")),
    };
    jobs.into_iter().map(|id| Ok(Dependency { job: job(id)?, well })).collect()
}

/// Returns the option of a job that names a file which its submitter has to read; `None` = there is none (spec L92).
fn option_with_file(run: &Run) -> Option<&'static str> {
    let placing = run.map_files.job.iter().chain(run.map_files.apps.iter().flatten()).next().is_some();
    let activated = run.grow.activate.iter().any(|part| matches!(part, ferrite_rm::Activated::File(_)));
    [
        ("--hostfile", run.hosts.iter().any(|place| place.hostfile.is_some())),
        ("--default-hostfile", run.default_hostfile.is_some()),
        ("--map-by with a file", placing),
        ("--add-hostfile", !run.grow.hostfiles.is_empty()),
        ("--activate with a file", activated),
    ]
    .into_iter()
    .find_map(|(option, said)| said.then_some(option))
}

#[cfg(test)]
mod tests;
