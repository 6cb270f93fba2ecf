//! Launchers of managers that count processes: a daemon is a task of the manager, and the command that has started it
//! lives as long as the daemon. They follow the manuals and were never run with a real manager
//! (`docs/resource-managers.md`).

use ferrite_types::HostEntry;

use super::{DaemonCommand, LaunchCommand, LaunchError, Manners};
use crate::name;

/// A command that starts one task on a named host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskLauncher {
    /// LSF (`man blaunch`): the task gets our standard input unless `-n` is given.
    Blaunch,
    /// Grid Engine (`man qrsh`): in the same job; the task gets our standard input unless `-nostdin` is given.
    Qrsh,
    /// PALS (`man aprun`): an application of one process, which gets our standard input as the first of its processes.
    Aprun,
}

impl TaskLauncher {
    fn words(self, host: &str) -> Vec<String> {
        let words: &[&str] = match self {
            TaskLauncher::Blaunch => &["blaunch", host],
            TaskLauncher::Qrsh => &["qrsh", "-inherit", "-V", host],
            TaskLauncher::Aprun => &["aprun", "-n", "1", "-N", "1", "--cc", "none", "-e", "PALS_PMI=none", "-L", host],
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    pub(super) fn command(self, host: &HostEntry, daemon: &DaemonCommand) -> Result<LaunchCommand, LaunchError> {
        let name = name::check_host(&host.name);
        let name = name.map_err(|source| LaunchError::Name { host: host.name.clone(), source })?;
        let mut argv = self.words(name);
        argv.extend(daemon.program.iter().chain(&daemon.args).cloned());
        Ok(LaunchCommand { argv, manners: Manners::Task })
    }
}

/// Makes the command of Flux (`man flux-exec`), which names hosts by the ranks of their brokers; all daemons get
/// standard input.
pub(super) fn flux_exec(brokers: &[u32], daemon: &DaemonCommand) -> LaunchCommand {
    let ranks: Vec<String> = brokers.iter().map(u32::to_string).collect();
    let mut argv = vec!["flux".to_owned(), "exec".to_owned(), format!("--rank={}", ranks.join(","))];
    argv.extend(daemon.program.iter().chain(&daemon.args).cloned());
    LaunchCommand { argv, manners: Manners::Task }
}
