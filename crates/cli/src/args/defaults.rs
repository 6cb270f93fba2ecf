//! Defaults from parameters for the options that a job's line leaves open.

use ferrite_rm::Params;
use ferrite_types::{Display, OutputOptions, PictureFormat, RuntimeOptions, TableTo};

use super::assemble::known_personality;
use super::display::{DisplayAsk, Picture};
use super::error::UsageError;
use super::io::OutputAsk;
use super::placement::Defaults;
use super::rtos::RuntimeAsk;
use super::{Run, signals};

impl Run {
    /// Returns the personality that the line asks for.
    #[must_use]
    pub fn said_personality(&self) -> Option<&str> {
        self.unsaid.personality.as_deref()
    }

    /// Fills in what the line leaves open, from these parameters: `mapby`, `rankby`, `bindto`, `output`, `display`,
    /// `rtos`, `personality`, those about inheritance and hardware threads, `ess_base_forward_signals`, and the failure
    /// policies of `state_base`. Called once, when all parameters are known.
    ///
    /// # Errors
    /// A default that the line would not accept either, or options that contradict each other.
    pub fn apply_defaults(&mut self, params: &Params) -> Result<(), UsageError> {
        let param = |name: &str| params.text(name).ok().flatten();
        let placement = Defaults::of(params)?;
        placement.fill(&mut self.spec.map, &mut self.map_files.job);
        for (app, file) in self.spec.apps.iter_mut().zip(&mut self.map_files.apps) {
            if let Some(own) = &mut app.map {
                placement.fill(own, file);
            }
        }
        if let Some(list) = param("output").filter(|_| self.unsaid.output) {
            self.spec.output = default_output(&params.label("output"), list)?;
        }
        if let Some(list) = param("display").filter(|_| self.unsaid.display) {
            let (report, map) = (self.spec.display.bind, self.spec.display.map);
            let bind_of = std::mem::take(&mut self.spec.display.bind_of);
            (self.spec.display, self.pictures) = default_display(&params.label("display"), list)?;
            self.spec.display.bind |= report;
            self.spec.display.map |= map;
            self.spec.display.bind_of = bind_of;
        }
        let asked = runtime_ask(&self.unsaid.rtos, params)?;
        asked.give_agent(&mut self.spec.apps);
        self.show_progress = asked.show_progress.0;
        self.spec.stop = asked.stop.0.clone().flatten();
        let processes = asked.processes.0.clone();
        self.spec.options = options(asked, params)?;
        // A map is all that such a job has to show.
        self.spec.display.map |= self.spec.options.do_not_launch && self.spec.display == Display::default();
        self.show_processes(processes)?;
        if let Some(list) = param("ess_base_forward_signals").filter(|_| self.forward_signals.is_none()) {
            self.forward_signals = Some(signals::parse(&params.label("ess_base_forward_signals"), list)?);
        }
        let name = match &self.unsaid.personality {
            Some(said) => said.clone(),
            None => default_personality(params)?,
        };
        // The documents of Open MPI still show the old spellings, so its users get no remarks about them.
        if !name.starts_with("ompi") {
            self.warnings.append(&mut self.unsaid.deprecations);
        }
        self.personality = name;
        Ok(())
    }
}

impl Run {
    /// Sets the place of the table of processes; one that nobody would see is refused.
    fn show_processes(&mut self, to: Option<String>) -> Result<(), UsageError> {
        let Some(to) = to else { return Ok(()) };
        let refused = |why: &str, next: &str| {
            Err(UsageError::Conflict {
                what: format!("--runtime-options output-proctable: {why}"),
                next: next.to_owned(),
            })
        };
        if self.spec.options.ends_with_map() {
            return refused(
                "the table lists processes, and with donotlaunch or donotspawn none starts",
                "Remove one of them; --display map shows where the processes would run.",
            );
        }
        if self.detach {
            return refused(
                "with --detach nobody is left to get the table",
                "Remove one of them; `pdvm job` shows the processes of a job.",
            );
        }
        self.spec.display.processes = Some(match to.as_str() {
            "-" => TableTo::Stdout,
            "+" => TableTo::Stderr,
            file => {
                self.pictures.push((PictureFormat::Processes, file.into()));
                TableTo::File
            }
        });
        Ok(())
    }
}

/// Returns the parameter `personality`, else the one that Open MPI's `mpirun` sets, else the native one.
fn default_personality(params: &Params) -> Result<String, UsageError> {
    let named = ["personality", "schizo_proxy"].into_iter().find(|name| params.is_set(name));
    let Some(name) = named else { return Ok("prte".to_owned()) };
    known_personality(&params.label(name), params.text(name).ok().flatten().unwrap_or_default())
}

fn default_output(label: &str, list: &str) -> Result<OutputOptions, UsageError> {
    let mut ask = OutputAsk::default();
    ask.add(label, list)?;
    ask.finish(label)
}

fn default_display(label: &str, list: &str) -> Result<(Display, Vec<Picture>), UsageError> {
    let mut ask = DisplayAsk::default();
    ask.add(label, list)?;
    Ok(ask.finish())
}

/// Parameters that are the default of one runtime option each.
const POLICIES: [(&str, &str); 6] = [
    ("state_base_error_non_zero_exit", "error-nonzero-status"),
    ("state_base_recoverable", "recoverable"),
    ("state_base_continuous", "continuous"),
    ("state_base_notify_errors", "notifyerrors"),
    ("state_base_autorestart", "autorestart"),
    ("state_base_max_restarts", "max-restarts"),
];

/// Merges runtime options: the line comes first, then `rtos`.
fn runtime_ask(said: &RuntimeAsk, params: &Params) -> Result<RuntimeAsk, UsageError> {
    let mut list = RuntimeAsk::default();
    if let Some(text) = params.text("rtos").ok().flatten() {
        list.add(&params.label("rtos"), text)?;
    }
    Ok(said.clone().or(list))
}

/// Returns the options of the job: those that were asked for, then the parameters of single options.
fn options(asked: RuntimeAsk, params: &Params) -> Result<RuntimeOptions, UsageError> {
    // Defaults of the table are left out: a limit of 0 restarts would win over `autorestart`.
    let param = |name: &str| params.text(name).ok().flatten().filter(|_| params.is_set(name));
    let mut single = RuntimeAsk::default();
    for (name, word) in POLICIES {
        if let Some(value) = param(name) {
            single.add(&params.label(name), &format!("{word}={value}"))?;
        }
    }
    let asked_to_stop = matches!(asked.stop.0, Some(Some(_)));
    let wants_events = asked.notify_errors.0 == Some(true);
    let options = asked.or(single).finish();
    // The parameter applies to jobs that can have events; it must not make every other job an error.
    if options.max_restarts > 0 && asked_to_stop {
        return Err(UsageError::Conflict {
            what: "processes are to be started again after a failure, and to stop for a debugger at their start"
                .to_owned(),
            next: "Keep one of the two: leave out max-restarts and autorestart, or the stop.".to_owned(),
        });
    }
    match wants_events && !options.tolerates_failures() && options.max_restarts == 0 {
        false => Ok(options),
        true => Err(UsageError::Conflict {
            what: "--runtime-options notifyerrors: nobody would be left to be told, because the first failure ends the job"
                .to_owned(),
            next: "Add recoverable or max-restarts=N, as in --runtime-options recoverable,notifyerrors; or use continuous, which implies it.".to_owned(),
        }),
    }
}
