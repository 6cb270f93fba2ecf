//! Commands of a resource manager. They run without a shell and without the environment variables of the surrounding
//! job, and die with this process.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use ferrite_rm::managers::slurm::end::TIME_FORMAT;
use ferrite_rm::managers::slurm::misleads;
use ferrite_rm::managers::slurm::words::complaint;
use tokio::process::{Child, Command};

use crate::guard;

/// A command that takes longer hangs: the manager's daemon does not answer.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs a command and returns its standard output.
///
/// # Errors
/// The command's error message, or why it could not be started.
pub(crate) async fn run(words: &[String], dir: &Path) -> Result<String, String> {
    let program = words.first().map_or("", String::as_str);
    tracing::debug!(command = words.join(" "), "a command of the resource manager");
    let child = spawn(words, dir)?;
    let output = match tokio::time::timeout(LIMIT, child.wait_with_output()).await {
        Ok(output) => output.map_err(|error| format!("{program}: {error}"))?,
        Err(_) => return Err(format!("{program} took longer than {} s", LIMIT.as_secs())),
    };
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    match complaint(&String::from_utf8_lossy(&output.stderr)) {
        words if words.is_empty() => Err(format!("{program} failed ({})", output.status)),
        words => Err(format!("{program}: {words}")),
    }
}

/// Starts a command with its output streams in pipes.
///
/// # Errors
/// Why it could not be started.
pub(crate) fn spawn(words: &[String], dir: &Path) -> Result<Child, String> {
    let (program, arguments) = words.split_first().ok_or("no command")?;
    let mut command = Command::new(program);
    // Some commands leave files in their directory (`scontrol update` for shells).
    command.args(arguments).current_dir(dir).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    clean(command.as_std_mut());
    command.env(TIME_FORMAT.0, TIME_FORMAT.1);
    guard::tie(command.as_std_mut());
    command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("{program} was not found"),
        _ => format!("{program} could not be started: {error}"),
    })
}

/// Removes the variables of the surrounding job from the command's environment.
pub(crate) fn clean(command: &mut std::process::Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(misleads) {
            command.env_remove(name);
        }
    }
}
