//! Options about the daemons of a DVM that say the same as a parameter: the command that starts a DVM sets the
//! parameter, by which its daemons learn it.

use super::UsageError;
use super::assemble::not_empty;

/// The options as written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spoken {
    pub(crate) prefix: Option<String>,
    pub(crate) noprefix: bool,
    pub(crate) pmix_prefix: Option<String>,
    pub(crate) max_vm_size: Option<String>,
    pub(crate) exec_agent: Option<String>,
}

impl Spoken {
    /// Returns the parameters that these options set.
    ///
    /// # Errors
    /// A value that cannot be understood, or options that contradict each other.
    pub(crate) fn into_params(self) -> Result<Vec<(&'static str, String)>, UsageError> {
        if self.prefix.is_some() && self.noprefix {
            return Err(UsageError::Conflict {
                what: "--prefix and --noprefix are both given".to_owned(),
                next: "Keep --prefix DIR for daemons below a directory, or --noprefix for those of each node's PATH."
                    .to_owned(),
            });
        }
        let prefix = self.prefix.map(|dir| directory("--prefix", dir)).transpose()?;
        let pmix = self.pmix_prefix.map(|dir| directory("--pmix-prefix", dir)).transpose()?;
        let most = self.max_vm_size.map(|n| number("--max-vm-size", &n)).transpose()?;
        let agent = self.exec_agent.map(|agent| not_empty("--exec-agent", agent)).transpose()?;
        let said = [
            ("ferrite_prefix", prefix),
            ("prte_launch_agent", self.noprefix.then(|| "prted".to_owned())),
            ("ferrite_pmix_prefix", pmix),
            ("prte_max_vm_size", most.map(|n| n.to_string())),
            ("odls_base_exec_agent", agent),
        ];
        Ok(said.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
    }
}

fn number(option: &str, text: &str) -> Result<u32, UsageError> {
    let read = text.parse().ok().filter(|n| *n > 0);
    read.ok_or_else(|| {
        UsageError::value(option, format!("{text:?} is no number of nodes"), "Give the number of nodes, 1 or more.")
    })
}

/// Reads a directory of every node, which needs its full path.
pub(crate) fn directory(option: &str, text: String) -> Result<String, UsageError> {
    match text.starts_with('/') {
        true => Ok(text.trim_end_matches('/').to_owned()),
        false => Err(UsageError::value(
            option,
            format!("{text:?} is no full path"),
            "Give a directory that begins with `/`: it is looked for on every node.",
        )),
    }
}

/// The options about the amount of reports of a command that starts a DVM.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Loudness {
    /// `--verbose`.
    pub(crate) verbose: bool,
    /// `--quiet`.
    pub(crate) quiet: bool,
    /// `show-progress`; `None` = not said.
    pub(crate) progress: Option<bool>,
}

impl Loudness {
    /// Refuses options that contradict each other.
    pub(crate) fn check(self) -> Result<(), UsageError> {
        let other = match (self.quiet, self.verbose, self.progress) {
            (true, true, _) => "--verbose",
            (true, _, Some(true)) => "show-progress",
            _ => return Ok(()),
        };
        Err(UsageError::Conflict {
            what: format!("--quiet and {other} are both given"),
            next: "Keep one of them.".to_owned(),
        })
    }

    /// Returns the parameters that say the same. They come before those of the line, which win.
    pub(crate) fn params(self) -> Vec<(String, String)> {
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let progress = self.progress.or(self.quiet.then_some(false));
        let shown = progress.map(|yes| set("state_base_show_launch_progress", if yes { "1" } else { "0" }));
        self.verbose.then(|| set("state_base_verbose", "1")).into_iter().chain(shown).collect()
    }
}
