//! Options of the field that this version does not have. They are refused by name, with what to do instead:
//! an option that is accepted and ignored would be a lie.

/// Names (without dashes) and advice.
type Refusal = (&'static [&'static str], &'static str);

const NO_DVM: &str = "This version runs one job with a private runtime: remove the option.";
const NO_RESIZE: &str = "Name all hosts at the start, with --host or --hostfile.";
const NO_STAGING: &str = "Put the files on a file system that all nodes share, or copy them before the run.";
const NO_DEBUGGER: &str = "Attach a debugger to the running processes instead (--display map shows where they are).";
const NO_SESSIONS: &str = "Remove it: the job runs in the allocation that --host, --hostfile or this machine defines.";

const UNBUILT: &[Refusal] = &[
    (&["dvm", "system-server", "system-server-first", "system-server-only", "keepalive", "singleton"], NO_DVM),
    (&["daemonize", "set-sid"], "Start it with `setsid prterun ... &` instead."),
    (&["add-host", "add-hostfile", "activate"], NO_RESIZE),
    (&["preload-binary", "s", "preload-files"], NO_STAGING),
    (&["stop-on-exec", "stop-in-init", "stop-in-app", "get-stack-traces", "xterm", "tv"], NO_DEBUGGER),
    (&["alloc-id", "alloc-refid", "session-id"], NO_SESSIONS),
    (&["app"], "Write the programs on the command line, separated by `:`."),
    (&["tune", "am"], "Put the parameters into ~/.prte/mca-params.conf, or give them with --prtemca KEY VALUE."),
    (
        &["prefix", "pmix-prefix", "app-prefix", "app-pmix-prefix", "noprefix", "no-app-prefix"],
        "Use --launch-agent DIR/bin/prted for the daemons and --prepend-env 'LD_LIBRARY_PATH[:]' DIR/lib for the program.",
    ),
    (&["set-cwd-to-session-dir"], "Use --wdir with a directory that exists on every node."),
    (&["pset"], "Remove it: process sets come with a later version."),
    (&["exec-agent"], "Put the agent in front of the program: prterun -n 4 AGENT ./program"),
    (&["memory-alloc-kinds", "gpu-support"], "Set it by the MPI library's own parameters (--mca KEY VALUE)."),
    (&["continuous", "max-restarts"], "Use --runtime-options recoverable to keep the other processes running."),
    (&["report-uri"], "Use --report-pid to find the process; there is no server to connect to."),
    (&["max-vm-size"], "Limit the hosts with --host or --hostfile."),
    (&["uniform-nodes"], "Remove it: equal topologies are noticed by themselves."),
    (&["debug-daemons-file"], "Use --debug-daemons with --leave-session-attached, and redirect standard error."),
    (&["no-aggregate-help"], "Remove it: messages are not aggregated."),
    (
        &["verbose", "v", "quiet", "q"],
        "Use --prtemca state_base_verbose 5 to see what happens, or redirect standard error.",
    ),
    (&["bootstrap", "tree-spawn"], "This is an option of prted."),
];

/// The advice for an option of this name (without dashes).
pub(crate) fn advice(name: &str) -> Option<&'static str> {
    UNBUILT.iter().find(|(names, _)| names.contains(&name)).map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::deprecated::DEPRECATED;
    use crate::args::options::command;

    #[test]
    fn a_name_is_honoured_or_deprecated_or_refused_and_never_two_of_them() {
        let mut seen = std::collections::BTreeSet::new();
        for arg in command().get_arguments() {
            seen.extend(arg.get_long_and_visible_aliases().unwrap_or_default().iter().map(ToString::to_string));
            seen.extend(arg.get_all_aliases().unwrap_or_default().iter().map(ToString::to_string));
            seen.extend(arg.get_short().map(String::from));
        }
        let refused = UNBUILT.iter().flat_map(|(names, _)| names.iter());
        for name in DEPRECATED.iter().flat_map(|d| d.names).chain(refused) {
            assert!(seen.insert((*name).to_owned()), "{name} has two meanings");
        }
    }
}
