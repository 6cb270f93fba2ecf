//! Options that select a DVM (`--dvm`, the connection options), and options about lists of jobs (`--batch`).

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use ferrite_client::{Patience, Selector, SelectorError};
use ferrite_types::JobId;
use ferrite_wire::control::{Dependency, JobRef};

use super::ask::Asked;
use super::env::Environment;
use super::error::UsageError;
use super::options::{BatchOptions, ConnectionOptions, DvmChoice};
use super::tool::Tool;

/// The search of a client for its DVM: the DVM that it wants, and its patience.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connect {
    /// The selected DVM.
    pub selector: Selector,
    /// `--dvm-key`: for a DVM on another host.
    pub key: Option<PathBuf>,
    /// Time and number of attempts to find it.
    pub patience: Patience,
    /// `--do-not-connect`: the client fails without looking for a DVM.
    pub never: bool,
}

/// A list of jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchRun {
    /// The file; `-` = standard input.
    pub file: String,
    /// File for the results; `None` = standard output.
    pub results: Option<String>,
    /// File with the results of an earlier run: what has ended well there is left out, and results are appended.
    pub resume: Option<String>,
    /// True when the list goes on after a failed job.
    pub keep_going: bool,
    /// Number of further runs of a failed job.
    pub retries: u32,
    /// The most jobs that are open at a time; `None` = as many as the DVM has slots, and some that wait.
    pub max_running: Option<usize>,
    /// The priority of lines that do not say it.
    pub priority: i16,
}

/// The values of `--priority`.
const PRIORITIES: RangeInclusive<i16> = -1_000..=1_000;

/// The variable that names the DVM of every command, below the options of its line.
pub(crate) const VARIABLE: &str = "PRTEPROXY_USE_DVM";

/// The options about the DVM that were read so far.
#[derive(Default)]
pub(crate) struct ConnectAsk {
    selector: Asked<Selector>,
    key: Asked<PathBuf>,
    wait: Asked<Duration>,
    retries: Asked<u32>,
    never: bool,
}

impl ConnectAsk {
    pub(crate) fn add(&mut self, dvm: DvmChoice, options: ConnectionOptions) -> Result<(), UsageError> {
        let ConnectionOptions {
            dvm_uri,
            dvm_key,
            pid,
            namespace,
            system_server_first,
            system_server_only,
            do_not_connect,
            wait_to_connect,
            num_connect_retries,
        } = options;
        let selectors = [
            ("--dvm", dvm.dvm.map(|text| Selector::dvm(&text))),
            ("--dvm-uri", dvm_uri.map(|text| Selector::uri(&text))),
            ("--pid", pid.map(|text| Selector::pid(&text))),
            ("--namespace", namespace.map(|name| Ok(Selector::Namespace(name)))),
            ("--system-server-first", system_server_first.then_some(Ok(Selector::SystemFirst))),
            ("--system-server-only", system_server_only.then_some(Ok(Selector::SystemOnly))),
        ];
        for (option, selector) in selectors {
            if let Some(selector) = selector {
                self.say(option, selector.map_err(|e| wrong(option, &e))?)?;
            }
        }
        if let Some(path) = dvm_key {
            self.key.say("--dvm-key", "the key file", PathBuf::from(path))?;
        }
        if let Some(text) = wait_to_connect {
            let seconds = number("--wait-to-connect", &text, "Give a number of seconds.")?;
            self.wait.say("--wait-to-connect", "the time", Duration::from_secs(u64::from(seconds)))?;
        }
        if let Some(text) = num_connect_retries {
            let retries = number("--num-connect-retries", &text, "Give a number.")?;
            self.retries.say("--num-connect-retries", "the number", retries)?;
        }
        self.never |= do_not_connect;
        Ok(())
    }

    fn say(&mut self, option: &str, selector: Selector) -> Result<(), UsageError> {
        match &self.selector.0 {
            Some(said) if *said != selector => Err(UsageError::Conflict {
                what: format!("{option}: another option names another DVM"),
                next: "A job runs in one DVM: keep one of --dvm, --dvm-uri, --pid, --namespace, --system-server-first and \
                    --system-server-only."
                    .to_owned(),
            }),
            _ => {
                self.selector = Asked(Some(selector));
                Ok(())
            }
        }
    }

    /// Returns the DVM to look for; `None` = `prterun` makes a private one.
    pub(crate) fn finish(self, tool: Tool, environment: &Environment) -> Result<Option<Connect>, UsageError> {
        let mut selector = self.selector.0;
        if selector.is_none() {
            match environment.get(VARIABLE).filter(|text| !text.is_empty()) {
                None if tool == Tool::Prterun => return Ok(None),
                None => {}
                Some(text) => {
                    let named = Selector::dvm(text);
                    selector = Some(named.map_err(|e| wrong("PRTEPROXY_USE_DVM (environment)", &e))?);
                }
            }
        }
        let patience = Patience { wait: self.wait.0, retries: self.retries.0 };
        Ok(Some(Connect { selector: selector.unwrap_or_default(), key: self.key.0, patience, never: self.never }))
    }
}

/// Reads the connection options of a command that has no jobs.
pub(crate) fn of(options: ConnectionOptions, environment: &Environment) -> Result<Connect, UsageError> {
    let mut ask = ConnectAsk::default();
    ask.add(DvmChoice::default(), options)?;
    Ok(ask.finish(Tool::Pterm, environment)?.unwrap_or_default())
}

/// Returns the list of jobs, if the line has one.
pub(crate) fn batch(options: BatchOptions) -> Result<Option<BatchRun>, UsageError> {
    let BatchOptions { batch, results, resume, keep_going, retries, max_running } = options;
    let Some(file) = batch else {
        let stray = [
            ("--results", results.is_some()),
            ("--resume", resume.is_some()),
            ("--keep-going", keep_going),
            ("--retries", retries.is_some()),
            ("--max-running", max_running.is_some()),
        ];
        return match stray.iter().find(|(_, said)| *said) {
            None => Ok(None),
            Some((option, _)) => Err(UsageError::Conflict {
                what: format!("{option} is given without --batch"),
                next: "It belongs to a list of jobs: prun --batch FILE.".to_owned(),
            }),
        };
    };
    if file.is_empty() {
        return Err(UsageError::value("--batch", "the value is empty", "Give a file with one job a line, or `-`."));
    }
    if results.is_some() && resume.is_some() {
        return Err(UsageError::Conflict {
            what: "--results and --resume both name the file of the results".to_owned(),
            next: "Give --resume alone: it appends to the file that it reads.".to_owned(),
        });
    }
    let count = |option, text: Option<String>| text.map(|t| number(option, &t, "Give a number.")).transpose();
    let max_running = count("--max-running", max_running)?.map(|n| n as usize);
    if max_running == Some(0) {
        return Err(UsageError::value("--max-running", "with 0 nothing ever runs", "Give 1 or more."));
    }
    let retries = count("--retries", retries)?.unwrap_or(0);
    Ok(Some(BatchRun { file, results, resume, keep_going, retries, max_running, priority: 0 }))
}

/// Parses a priority among jobs that wait for slots.
pub(crate) fn priority(text: &str) -> Result<i16, UsageError> {
    text.parse().ok().filter(|n| PRIORITIES.contains(n)).ok_or_else(|| {
        let (least, most) = (PRIORITIES.start(), PRIORITIES.end());
        let why = format!("{text:?} is no whole number from {least} to {most}");
        UsageError::value("--priority", why, "Give such a number, or remove the option: it is 0 then.")
    })
}

/// Parses a list of jobs after which another one begins.
pub(crate) fn dependencies(option: &str, list: &str, well: bool) -> Result<Vec<Dependency>, UsageError> {
    let job = |text: &str| match text.parse() {
        _ if text.is_empty() => Err(UsageError::value(
            option,
            format!("{list:?} names an empty job"),
            "Give numbers of jobs, as pdvm jobs shows them, or names of tasks, separated by commas.",
        )),
        Ok(number) => Ok(JobRef::Number(JobId(number))),
        Err(_) => Ok(JobRef::Name(text.to_owned())),
    };
    list.split(',').map(|text| Ok(Dependency { job: job(text.trim())?, well })).collect()
}

fn wrong(option: &str, error: &SelectorError) -> UsageError {
    UsageError::value(option, error.to_string(), error.next_step())
}

fn number(option: &str, text: &str, next: &str) -> Result<u32, UsageError> {
    text.parse().map_err(|_| UsageError::value(option, format!("{text:?} is not a number"), next))
}
