//! Options of the field that this version does not have. Each is refused by name, with advice what to do instead; none
//! is accepted and ignored.

use super::tool::Tool;

/// Names (without dashes) and advice.
type Refusal = (&'static [&'static str], &'static str);

const FOR_PRTE: &str = "It belongs to a DVM that outlives its jobs: give it to prte, and run the program with prun.";
const WHICH_DVM: &str = "prterun has a DVM of its own; use --dvm to run in one that is running, or prun.";
const OF_THE_DVM: &str = "It shapes a DVM that is started: give it to prte. prun runs in one that is running.";
const GROW_LATER: &str =
    "Name all hosts with --host or --hostfile; a DVM that is running gets more by pdvm grow, or prun --add-host.";
const NO_DEBUGGER: &str = "Use --stop-in-init: it shows where the processes wait, and a debugger attaches to them.";

/// Options that every command with jobs refuses.
const OF_JOBS: &[Refusal] = &[
    (&["tv"], NO_DEBUGGER),
    (
        &["xterm"],
        "No daemon has a display on which it could open windows. Give each rank a file of its own: --output file=F writes F.<namespace>.<rank>.out and .err.",
    ),
    (
        &["memory-alloc-kinds", "gpu-support"],
        "libpmix 4 and 5 have no key for it, by which processes could be told. Set it by the MPI library's own parameters (--mca KEY VALUE).",
    ),
    (&["uniform-nodes"], "Remove it: each daemon reports its topology, and equal ones are kept once."),
    (&["debug-daemons-file"], "Use --debug-daemons with --leave-session-attached, and redirect standard error."),
    (&["no-aggregate-help"], "Remove it: the head writes each message once, and it names every node that it concerns."),
    (
        &["ompi-server"],
        "Remove it: jobs of one DVM meet by MPI_Publish_name. Start it with prte, and the jobs with prun.",
    ),
    (&["index-argv-by-rank"], "Use the rank in the program's own output: OMPI_COMM_WORLD_RANK has it."),
    (&["soft"], "Give the number of processes with -n; a job gets all of them or is refused."),
    (&["arch"], "Name the hosts of that architecture with --host or --hostfile."),
    (&["file"], "Use --app FILE, with a program and its options on each line."),
    (&["bootstrap", "tree-spawn"], "This is an option of prted."),
    (&["singleton"], "Start the program itself with prterun or prun."),
];

const OF_PRTERUN: &[Refusal] = &[
    (&["daemonize", "set-sid"], "Start it with `setsid prterun ... &` instead."),
    (&["system-server", "keepalive", "report-uri", "listen"], FOR_PRTE),
    (&["dvm-uri", "dvm-key", "pid", "namespace", "system-server-first", "system-server-only"], WHICH_DVM),
    (&["do-not-connect", "wait-to-connect", "num-connect-retries"], WHICH_DVM),
    (
        &["batch", "detach", "wait-for-slots", "priority", "after", "after-any"],
        "It needs a DVM that outlives its jobs: start one with prte, and use prun.",
    ),
];

const OF_PRUN: &[Refusal] = &[
    (&["launch-agent", "leave-session-attached", "debug-daemons", "default-hostfile", "system-server"], OF_THE_DVM),
    (&["daemonize", "set-sid", "keepalive", "listen", "no-ready-msg", "max-vm-size"], OF_THE_DVM),
    (&["prefix", "noprefix", "pmix-prefix"], OF_THE_DVM),
    (&["report-uri"], "Use --report-pid to find the process: prun is no server that one could connect to."),
];

const OF_PRTE: &[Refusal] =
    &[(&["np", "n", "alloc-id", "alloc-refid", "session-id"], "It belongs to a job: give it to prun.")];

const OF_A_DVM: &[Refusal] = &[
    (&["add-host", "add-hostfile", "activate"], GROW_LATER),
    (&["tune", "am"], "Put the parameters into ~/.prte/mca-params.conf, or give them with --prtemca KEY VALUE."),
    (&["uniform-nodes"], "Remove it: each daemon reports its topology, and equal ones are kept once."),
    (&["debug-daemons-file"], "Use --debug-daemons with --leave-session-attached, and redirect standard error."),
    (&["no-aggregate-help"], "Remove it: the head writes each message once, and it names every node that it concerns."),
    (&["singleton"], "Start the program itself with prterun or prun."),
    (&["bootstrap"], "This is an option of prted."),
];

/// Returns the tables of a command: options of other commands, and options that this version does not have.
fn tables(tool: Tool) -> [&'static [Refusal]; 2] {
    match tool {
        Tool::Prterun => [OF_PRTERUN, OF_JOBS],
        Tool::Prun => [OF_PRUN, OF_JOBS],
        Tool::Prte => [OF_PRTE, OF_A_DVM],
        Tool::Pterm => [&[], &[]],
    }
}

/// Returns the advice for an option (without dashes) that this version does not have.
pub(crate) fn advice(tool: Tool, name: &str) -> Option<&'static str> {
    find(tables(tool)[1], name)
}

/// Returns the advice for an option (without dashes) of another command.
pub(crate) fn elsewhere(tool: Tool, name: &str) -> Option<&'static str> {
    find(tables(tool)[0], name)
}

fn find(table: &'static [Refusal], name: &str) -> Option<&'static str> {
    table.iter().find(|(names, _)| names.contains(&name)).map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::deprecated::DEPRECATED;

    #[test]
    fn a_name_is_honoured_or_deprecated_or_refused_and_never_two_of_them() {
        for tool in Tool::ALL {
            let mut seen = std::collections::BTreeSet::new();
            for arg in tool.command().get_arguments() {
                seen.extend(arg.get_long_and_visible_aliases().unwrap_or_default().iter().map(ToString::to_string));
                seen.extend(arg.get_all_aliases().unwrap_or_default().iter().map(ToString::to_string));
                seen.extend(arg.get_short().map(String::from));
            }
            let refused = tables(tool).into_iter().flatten().flat_map(|(names, _)| names.iter());
            let old = DEPRECATED.iter().filter(|_| tool.has_jobs()).flat_map(|d| d.names).copied();
            let ompi = crate::args::ompi::names().filter(|_| tool.has_jobs());
            for name in old.chain(ompi).chain(refused.copied()) {
                assert!(seen.insert(name.to_owned()), "{name} has two meanings for {}", tool.name());
            }
        }
    }
}
