//! The command of a remote shell: ssh, or another agent with the same arguments.

use ferrite_types::HostEntry;

use super::{DaemonCommand, LaunchError};
use crate::name;

/// Options of the remote shell (`plm_ssh_*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshOptions {
    /// Candidates, each an argv prefix. The driver keeps the first one whose program exists.
    pub agents: Vec<Vec<String>>,
    /// More arguments for it.
    pub args: Vec<String>,
    /// Agents that run at the same time.
    pub num_concurrent: u32,
    /// True when the head starts all daemons; false for tree spawn.
    pub no_tree_spawn: bool,
    /// Directory in which the daemon starts.
    pub chdir: Option<String>,
}

/// Makes the command for one host. It has no `--` before the host: names that begin with `-` are refused, and other
/// agents (scripts of sites) expect `agent args host command`.
pub(super) fn command(
    options: &SshOptions,
    host: &HostEntry,
    daemon: &DaemonCommand,
) -> Result<Vec<String>, LaunchError> {
    let bad_name = |source| LaunchError::Name { host: host.name.clone(), source };
    name::check_host(&host.name).map_err(bad_name)?;
    let agent = options.agents.first().and_then(|a| Some((a, a.first()?)));
    let (agent, program) = agent.ok_or_else(|| LaunchError::NoAgent { host: host.name.clone() })?;
    let kind = program.rsplit('/').next().unwrap_or(program);
    let mut argv = agent.clone();
    if kind == "ssh" {
        // Without X11 forwarding the connection saves a round trip.
        argv.push("-x".to_owned());
    }
    argv.extend(options.args.iter().cloned());
    match host.port {
        Some(port) if kind == "ssh" => argv.extend(["-p".to_owned(), port.to_string()]),
        Some(port) => {
            return Err(LaunchError::Port { host: host.name.clone(), port, agent: program.clone() });
        }
        None => {}
    }
    match &host.user {
        Some(user) => {
            name::check_user(user).map_err(bad_name)?;
            if matches!(kind, "rsh" | "remsh") {
                argv.extend([host.name.clone(), "-l".to_owned(), user.clone()]);
            } else {
                argv.push(format!("{user}@{}", host.name));
            }
        }
        None => argv.push(host.name.clone()),
    }
    argv.push(remote_line(options.chdir.as_deref(), daemon));
    Ok(argv)
}

/// Makes the line for the user's login shell on the node. All shells read words in single quotes alike; what needs a
/// POSIX shell is passed to `/bin/sh`.
fn remote_line(chdir: Option<&str>, command: &DaemonCommand) -> String {
    let daemon = command.program.iter().chain(&command.args).map(|w| shell_quote(w)).collect::<Vec<_>>().join(" ");
    let mut script = String::new();
    for (variable, dirs) in [("PATH", &command.path), ("LD_LIBRARY_PATH", &command.library_path)] {
        if !dirs.is_empty() {
            let dirs = shell_quote(&dirs.join(":"));
            script.push_str(&format!("{variable}={dirs}${{{variable}:+:${variable}}}; export {variable}; "));
        }
    }
    if let Some(dir) = chdir {
        script.push_str(&format!("cd {} || exit 1; ", shell_quote(dir)));
    }
    if script.is_empty() {
        return daemon;
    }
    format!("exec /bin/sh -c {}", shell_quote(&format!("{script}exec {daemon}")))
}

/// Quotes a text as one word for a shell; plain words stay as they are.
#[must_use]
pub fn shell_quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/' | ':' | ',' | '+' | '@' | '%');
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        /// A minimal reader of POSIX quoting undoes the quotes.
        #[test]
        fn a_quoted_word_reads_back_as_itself(text in "\\PC{0,30}") {
            let mut read = String::new();
            let quoted = shell_quote(&text);
            let mut chars = quoted.chars();
            let mut inside = false;
            while let Some(c) = chars.next() {
                match (inside, c) {
                    (_, '\'') => inside = !inside,
                    (false, '\\') => read.extend(chars.next()),
                    (_, other) => read.push(other),
                }
            }
            proptest::prop_assert_eq!(read, text);
        }
    }
}
