//! Options of `prte` that are defaults of the jobs of its DVM. Each becomes a parameter: the head fills in those of
//! placement, and clients ask for the others when they submit a job.

use super::display::DisplayAsk;
use super::error::UsageError;
use super::io::OutputAsk;
use super::placement::Said;
use super::rtos::{RuntimeAsk, time};

/// The options as written.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobDefaults {
    pub(crate) map_by: Option<String>,
    pub(crate) rank_by: Option<String>,
    pub(crate) bind_to: Option<String>,
    pub(crate) output: Vec<String>,
    pub(crate) display: Vec<String>,
    pub(crate) runtime_options: Vec<String>,
    pub(crate) timeout: Option<String>,
}

/// Names and values of parameters.
type Parameters = Vec<(&'static str, String)>;

impl JobDefaults {
    /// Returns the parameters that these options set, and the wish for lines about the start of the DVM.
    ///
    /// # Errors
    /// A value that a job could not have either.
    pub(crate) fn into_params(mut self) -> Result<(Parameters, Option<bool>), UsageError> {
        Said::of(self.map_by.as_slice(), self.rank_by.as_slice(), self.bind_to.as_slice(), None)?;
        let mut output = OutputAsk::default();
        self.output.iter().try_for_each(|list| output.add("--output", list))?;
        output.finish("--output")?;
        let mut display = DisplayAsk::default();
        self.display.iter().try_for_each(|list| display.add("--display", list))?;
        let mut asked = RuntimeAsk::default();
        self.runtime_options.iter().try_for_each(|list| asked.add("--runtime-options", list))?;
        if let Some(limit) = self.timeout.take() {
            asked.timeout.say("--timeout", "the limit", time("--timeout", &limit)?)?;
            self.runtime_options.push(format!("timeout={limit}"));
        }
        let joined = |lists: Vec<String>| Some(lists.join(",")).filter(|list| !list.is_empty());
        let said = [
            ("mapby", self.map_by),
            ("rankby", self.rank_by),
            ("bindto", self.bind_to),
            ("output", joined(self.output)),
            ("display", joined(self.display)),
            ("rtos", joined(self.runtime_options)),
        ];
        let params = said.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        Ok((params, asked.show_progress.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(all: &[&str]) -> Vec<String> {
        all.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_option_becomes_the_parameter_of_its_name() {
        let asked = JobDefaults {
            map_by: Some("node".to_owned()),
            output: texts(&["tag", "timestamp"]),
            runtime_options: texts(&["recoverable,show-progress"]),
            timeout: Some("1:00".to_owned()),
            ..JobDefaults::default()
        };
        let (params, progress) = asked.into_params().unwrap();
        let named: Vec<(&str, &str)> = params.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let rtos = "recoverable,show-progress,timeout=1:00";
        assert_eq!(named, [("mapby", "node"), ("output", "tag,timestamp"), ("rtos", rtos)]);
        assert_eq!(progress, Some(true));
        assert_eq!(JobDefaults::default().into_params().unwrap(), (Vec::new(), None));
    }

    #[test]
    fn what_no_job_could_have_is_refused_by_the_name_of_the_option() {
        let none = JobDefaults::default;
        let bad = [
            ("--map-by", JobDefaults { map_by: Some("slto".to_owned()), ..none() }),
            ("--bind-to", JobDefaults { bind_to: Some("cores".to_owned()), ..none() }),
            ("--output", JobDefaults { output: texts(&["dir=a", "file=b"]), ..none() }),
            ("--display", JobDefaults { display: texts(&["maps"]), ..none() }),
            ("--runtime-options", JobDefaults { runtime_options: texts(&["recoverible"]), ..none() }),
            ("--timeout", JobDefaults { timeout: Some("soon".to_owned()), ..none() }),
        ];
        for (option, asked) in bad {
            let refused = asked.into_params().unwrap_err().to_string();
            assert!(refused.contains(option), "{option}: {refused}");
        }
    }
}
