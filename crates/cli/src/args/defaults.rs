//! What parameters say of a job that its line leaves open.

use ferrite_types::{Display, OutputOptions, RuntimeOptions};

use super::assemble::known_personality;
use super::error::UsageError;
use super::io::{DisplayAsk, OutputAsk};
use super::rtos::RuntimeAsk;
use super::{Run, placement, signals};

impl Run {
    /// Fills what the line left open from parameters without a framework: `mapby`, `rankby`, `bindto`, `output`,
    /// `display`, `rtos`, `personality`, and `ess_base_forward_signals`. Called once, with all parameters known.
    ///
    /// # Errors
    /// A default that would not be accepted on the line either.
    pub fn apply_defaults<'p>(&mut self, param: impl Fn(&str) -> Option<&'p str>) -> Result<(), UsageError> {
        let map = &mut self.spec.map;
        placement::defaults(map, param("mapby"), param("rankby"), param("bindto"))?;
        if let Some(list) = param("output").filter(|_| self.unsaid.output) {
            self.spec.output = default_output(list)?;
        }
        if let Some(list) = param("display").filter(|_| self.unsaid.display) {
            self.spec.display = default_display(list)?;
        }
        if let Some(list) = param("rtos") {
            self.spec.options = default_rtos(list, &self.unsaid.rtos)?;
        }
        if let Some(list) = param("ess_base_forward_signals").filter(|_| self.forward_signals.is_none()) {
            self.forward_signals = Some(signals::parse("parameter ess_base_forward_signals", list)?);
        }
        let name = match (&self.unsaid.personality, param("personality")) {
            (Some(said), _) => said.clone(),
            (None, Some(name)) => known_personality("parameter personality", name)?,
            (None, None) => "prte".to_owned(),
        };
        // Open MPI's users are spared the remarks, as they are elsewhere: their documents still show the old spellings.
        if !name.starts_with("ompi") {
            self.warnings.append(&mut self.unsaid.deprecations);
        }
        Ok(())
    }
}

fn default_output(list: &str) -> Result<OutputOptions, UsageError> {
    let mut ask = OutputAsk::default();
    ask.add("parameter output", list)?;
    ask.finish("parameter output")
}

fn default_display(list: &str) -> Result<Display, UsageError> {
    let mut ask = DisplayAsk::default();
    ask.add("parameter display", list)?;
    Ok(ask.finish())
}

fn default_rtos(list: &str, said: &RuntimeAsk) -> Result<RuntimeOptions, UsageError> {
    let mut ask = RuntimeAsk::default();
    ask.add("parameter rtos", list)?;
    Ok(said.clone().or(ask).finish())
}
