//! Parses `--runtime-options` (`--rtos`) and the single options that mean the same.

use ferrite_types::{AppContext, DebugStop, Duration, Grace, RuntimeOptions, Signal, SizeRange, StopPoint};

use super::ask::{Asked, Word};
use super::error::UsageError;
use super::words::{self, TIME_FORM};

/// The options that were read so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct RuntimeAsk {
    pub(crate) error_nonzero_status: Asked<bool>,
    pub(crate) do_not_launch: Asked<bool>,
    pub(crate) do_not_spawn: Asked<bool>,
    pub(crate) recoverable: Asked<bool>,
    pub(crate) continuous: Asked<bool>,
    pub(crate) notify_errors: Asked<bool>,
    pub(crate) max_restarts: Asked<u32>,
    /// The time of processes whose nodes are to leave, and the signal that goes with the notice.
    pub(crate) grace: Asked<Duration>,
    pub(crate) grace_signal: Asked<Signal>,
    /// The sizes that the job may have.
    pub(crate) elastic: Asked<SizeRange>,
    pub(crate) auto_restart: Asked<bool>,
    pub(crate) fwd_environment: Asked<bool>,
    pub(crate) timeout: Asked<Option<Duration>>,
    pub(crate) spawn_timeout: Asked<Option<Duration>>,
    pub(crate) report_state: Asked<bool>,
    pub(crate) stack_traces: Asked<bool>,
    /// The place where processes wait for a debugger.
    pub(crate) stop: Asked<Option<DebugStop>>,
    pub(crate) children_separately: Asked<bool>,
    /// Lines about the start of daemons, for the command that starts them.
    pub(crate) show_progress: Asked<bool>,
    /// The place of the table of processes, as written: `-`, `+` or a file.
    pub(crate) processes: Asked<String>,
    /// Words of the command that starts each process; `None` = that of the parameter.
    pub(crate) exec_agent: Asked<Option<Vec<String>>>,
}

/// The time of an elastic job's processes when `--grace` gives no other.
const ELASTIC_GRACE: Duration = Duration::from_secs(30);
/// The limit of `autorestart` when no `max-restarts` gives another.
const AUTO_RESTARTS: u32 = 3;

#[derive(Clone, Copy)]
enum Opt {
    ErrorNonzero,
    DoNotLaunch,
    DoNotSpawn,
    Recoverable,
    Continuous,
    NotifyErrors,
    FwdEnvironment,
    AutoRestart,
    MaxRestarts,
    Timeout,
    SpawnTimeout,
    ReportState,
    StackTraces,
    Stop(StopPoint),
    ShowProgress,
    Processes,
    ChildrenSeparately,
    ExecAgent,
    DefaultExecAgent,
    Unbuilt(&'static str),
}

const OPTIONS: &[(&str, Opt)] = &[
    ("error-nonzero-status", Opt::ErrorNonzero),
    ("donotlaunch", Opt::DoNotLaunch),
    ("recoverable", Opt::Recoverable),
    ("continuous", Opt::Continuous),
    ("notifyerrors", Opt::NotifyErrors),
    ("fwd-environment", Opt::FwdEnvironment),
    ("timeout", Opt::Timeout),
    ("spawn-timeout", Opt::SpawnTimeout),
    ("report-state-on-timeout", Opt::ReportState),
    ("donotspawn", Opt::DoNotSpawn),
    ("show-progress", Opt::ShowProgress),
    ("autorestart", Opt::AutoRestart),
    ("max-restarts", Opt::MaxRestarts),
    ("exec-agent", Opt::ExecAgent),
    ("default-exec-agent", Opt::DefaultExecAgent),
    ("output-proctable", Opt::Processes),
    ("stop-on-exec", Opt::Stop(StopPoint::Exec)),
    ("stop-in-init", Opt::Stop(StopPoint::Init)),
    ("stop-in-app", Opt::Stop(StopPoint::App)),
    ("get-stack-traces", Opt::StackTraces),
    ("report-child-jobs-separately", Opt::ChildrenSeparately),
    (
        "aggregate-help-messages",
        Opt::Unbuilt("Remove it: the head writes each message once, and it names every node that it concerns."),
    ),
];

impl RuntimeAsk {
    /// Adds the list of one option.
    pub(crate) fn add(&mut self, option: &str, list: &str) -> Result<(), UsageError> {
        for text in list.split(',') {
            let (word, what) = Word::parse(option, text, OPTIONS, |o| !matches!(o, Opt::Unbuilt(_)))?;
            let flag = match what {
                Opt::ErrorNonzero => &mut self.error_nonzero_status,
                Opt::DoNotLaunch => &mut self.do_not_launch,
                Opt::DoNotSpawn => &mut self.do_not_spawn,
                Opt::Recoverable => &mut self.recoverable,
                Opt::Continuous => &mut self.continuous,
                Opt::NotifyErrors => &mut self.notify_errors,
                Opt::FwdEnvironment => &mut self.fwd_environment,
                Opt::ReportState => &mut self.report_state,
                Opt::Stop(StopPoint::App) if word.value.is_some_and(|name| words::boolean(name).is_none()) => {
                    self.stop_at(option, word.name, StopPoint::App, word.value)?;
                    continue;
                }
                Opt::Stop(at) => {
                    if word.boolean()? {
                        self.stop_at(option, word.name, at, None)?;
                    }
                    continue;
                }
                Opt::StackTraces => &mut self.stack_traces,
                Opt::ChildrenSeparately => &mut self.children_separately,
                Opt::ShowProgress => &mut self.show_progress,
                Opt::MaxRestarts => {
                    self.max_restarts.say(option, word.name, restarts(option, &word.text("N")?)?)?;
                    continue;
                }
                Opt::AutoRestart => {
                    self.auto_restart.say(option, word.name, word.boolean()?)?;
                    continue;
                }
                Opt::Timeout => {
                    self.timeout.say(option, word.name, time(option, &word.text("TIME")?)?)?;
                    continue;
                }
                Opt::SpawnTimeout => {
                    self.spawn_timeout.say(option, word.name, time(option, &word.text("TIME")?)?)?;
                    continue;
                }
                Opt::Processes => {
                    let to = word.value.map_or_else(|| Ok("-".to_owned()), |_| word.text("FILE"))?;
                    self.processes.say(option, word.name, to)?;
                    continue;
                }
                Opt::ExecAgent => {
                    let agent = word.text("COMMAND")?.split_whitespace().map(str::to_owned).collect();
                    self.exec_agent.say(option, "exec-agent (or default-exec-agent)", Some(agent))?;
                    continue;
                }
                Opt::DefaultExecAgent => {
                    if word.boolean()? {
                        self.exec_agent.say(option, "exec-agent (or default-exec-agent)", None)?;
                    }
                    continue;
                }
                Opt::Unbuilt(instead) => return Err(word.unbuilt(instead)),
            };
            flag.say(option, word.name, word.boolean()?)?;
        }
        Ok(())
    }

    /// Sets the place where processes wait for a debugger; there is one for a job.
    pub(crate) fn stop_at(
        &mut self,
        option: &str,
        name: &str,
        at: StopPoint,
        breakpoint: Option<&str>,
    ) -> Result<(), UsageError> {
        let breakpoint = breakpoint.filter(|name| !name.is_empty()).map(str::to_owned);
        let stop = DebugStop { breakpoint, ..DebugStop::of_all(at) };
        if self.stop.0.as_ref().is_some_and(|said| said.as_ref() != Some(&stop)) {
            return Err(UsageError::Conflict {
                what: format!("{option}: {name}, and another place where the processes stop, are both given"),
                next: "Keep one of stop-on-exec, stop-in-init and stop-in-app.".to_owned(),
            });
        }
        self.stop.say(option, name, Some(stop))
    }

    /// Fills absent values from `defaults`.
    pub(crate) fn or(self, defaults: RuntimeAsk) -> RuntimeAsk {
        RuntimeAsk {
            error_nonzero_status: self.error_nonzero_status.or(defaults.error_nonzero_status),
            do_not_launch: self.do_not_launch.or(defaults.do_not_launch),
            do_not_spawn: self.do_not_spawn.or(defaults.do_not_spawn),
            processes: self.processes.or(defaults.processes),
            recoverable: self.recoverable.or(defaults.recoverable),
            continuous: self.continuous.or(defaults.continuous),
            notify_errors: self.notify_errors.or(defaults.notify_errors),
            max_restarts: self.max_restarts.or(defaults.max_restarts),
            grace: self.grace.or(defaults.grace),
            grace_signal: self.grace_signal.or(defaults.grace_signal),
            elastic: self.elastic.or(defaults.elastic),
            auto_restart: self.auto_restart.or(defaults.auto_restart),
            fwd_environment: self.fwd_environment.or(defaults.fwd_environment),
            timeout: self.timeout.or(defaults.timeout),
            spawn_timeout: self.spawn_timeout.or(defaults.spawn_timeout),
            report_state: self.report_state.or(defaults.report_state),
            stop: self.stop.or(defaults.stop),
            stack_traces: self.stack_traces.or(defaults.stack_traces),
            children_separately: self.children_separately.or(defaults.children_separately),
            show_progress: self.show_progress.or(defaults.show_progress),
            exec_agent: self.exec_agent.or(defaults.exec_agent),
        }
    }

    /// Gives the command that starts each process to the programs that have none of their own.
    pub(crate) fn give_agent(&self, apps: &mut [AppContext]) {
        if let Some(Some(agent)) = &self.exec_agent.0 {
            for app in apps {
                app.exec_agent.get_or_insert_with(|| agent.clone());
            }
        }
    }

    /// Returns the options of the job.
    pub(crate) fn finish(self) -> RuntimeOptions {
        let usual = RuntimeOptions::default();
        RuntimeOptions {
            error_nonzero_status: self.error_nonzero_status.0.unwrap_or(usual.error_nonzero_status),
            do_not_launch: self.do_not_launch.0.unwrap_or(usual.do_not_launch),
            do_not_spawn: self.do_not_spawn.0.unwrap_or(usual.do_not_spawn),
            recoverable: self.recoverable.0.unwrap_or(usual.recoverable),
            continuous: self.continuous.0.unwrap_or(usual.continuous),
            notify_errors: self.notify_errors.0.unwrap_or(usual.notify_errors),
            max_restarts: match self.auto_restart.0 {
                Some(false) => 0,
                Some(true) => self.max_restarts.0.unwrap_or(AUTO_RESTARTS),
                None => self.max_restarts.0.unwrap_or(usual.max_restarts),
            },
            fwd_environment: self.fwd_environment.0.unwrap_or(usual.fwd_environment),
            grace: self
                .grace
                .0
                .or(self.elastic.0.map(|_| ELASTIC_GRACE))
                .map(|time| Grace { time, signal: self.grace_signal.0 }),
            elastic: self.elastic.0,
            timeout: self.timeout.0.unwrap_or(usual.timeout),
            spawn_timeout: self.spawn_timeout.0.unwrap_or(usual.spawn_timeout),
            children_separately: self.children_separately.0.unwrap_or(usual.children_separately),
            stack_traces: self.stack_traces.0.unwrap_or(usual.stack_traces),
            report_state_on_timeout: self.report_state.0.unwrap_or(usual.report_state_on_timeout),
        }
    }
}

impl<T> Asked<T> {
    fn or(self, other: Asked<T>) -> Asked<T> {
        Asked(self.0.or(other.0))
    }
}

/// Parses a time limit; `None` = no limit.
pub(crate) fn time(option: &str, text: &str) -> Result<Option<Duration>, UsageError> {
    words::time(text).map_err(|why| UsageError::value(option, format!("{text:?} {why}"), TIME_FORM))
}

/// Parses the time that processes have before their nodes leave.
pub(crate) fn grace_time(option: &str, text: &str) -> Result<Duration, UsageError> {
    const NEXT: &str =
        "Write seconds, as 30, or [[days:]hours:]minutes:seconds, as 1:30; without the option nobody is told.";
    let parsed = words::time(text).and_then(|time| time.ok_or("is no time to end in"));
    parsed.map_err(|why| UsageError::value(option, format!("{text:?} {why}"), NEXT))
}

/// Parses the sizes that a job may have.
pub(crate) fn size_range(option: &str, text: &str) -> Result<SizeRange, UsageError> {
    const NEXT: &str = "Write the smallest and the largest number of processes, as in --elastic 2:8.";
    let parse = || {
        let (min, max) = text.split_once(':')?;
        Some(SizeRange { min: min.parse().ok()?, max: max.parse().ok()? }).filter(|range| range.min > 0)
    };
    let range = parse().ok_or_else(|| UsageError::value(option, format!("{text:?} is no range of sizes"), NEXT))?;
    if range.min > range.max {
        return Err(UsageError::value(option, format!("{text:?} ends before it begins"), NEXT));
    }
    Ok(range)
}

/// Parses the number of times that a failed process is started again.
pub(crate) fn restarts(option: &str, text: &str) -> Result<u32, UsageError> {
    text.parse().map_err(|_| {
        let next = "Give a whole number, as in --max-restarts 3.";
        UsageError::value(option, format!("{text:?} is not a number of restarts"), next)
    })
}
