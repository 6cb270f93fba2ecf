//! The parameters that this program looks at, with their defaults: one list for the getters, for
//! the check of values and for `prte_info`. The names and defaults are the field's.

use std::fmt;

use super::{parse_flag, parse_number};

/// A parameter that is known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Name, without `PRTE_MCA_`.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// What holds when nobody sets it.
    pub default: Option<&'static str>,
    /// What it is for.
    pub doc: &'static str,
}

/// Kinds of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Yes or no.
    Flag,
    /// A whole number in this range, ends included.
    Number(i64, i64),
    /// Anything.
    Text,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// One of these words (in any case), or a number of at least 1.
    CountOr(&'static [&'static str]),
}

impl Kind {
    /// True when the value is of this kind.
    #[must_use]
    pub fn accepts(&self, value: &str) -> bool {
        match self {
            Kind::Flag => parse_flag(value).is_some(),
            Kind::Number(least, most) => parse_number(value).is_some_and(|n| (*least..=*most).contains(&n)),
            Kind::Text => true,
            Kind::OneOf(words) => words.contains(&value),
            Kind::CountOr(words) => {
                words.iter().any(|w| w.eq_ignore_ascii_case(value))
                    || parse_number(value).is_some_and(|n| (1..=i64::from(u32::MAX)).contains(&n))
            }
        }
    }
}

/// What would be right, as the end of the sentence "it must be ...".
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Flag => f.write_str("true or false"),
            Kind::Number(least, i64::MAX) => write!(f, "a whole number of at least {least}"),
            Kind::Number(least, most) => write!(f, "a whole number from {least} to {most}"),
            Kind::Text => f.write_str("text"),
            Kind::OneOf(words) => write!(f, "one of {}", words.join(", ")),
            Kind::CountOr(words) => write!(f, "a number of at least 1, or one of {}", words.join(", ")),
        }
    }
}

impl Known {
    /// Looks a parameter up.
    #[must_use]
    pub fn of(name: &str) -> Option<&'static Known> {
        KNOWN.binary_search_by(|known| known.name.cmp(name)).ok().map(|at| &KNOWN[at])
    }
}

const fn known(name: &'static str, kind: Kind, default: Option<&'static str>, doc: &'static str) -> Known {
    Known { name, kind, default, doc }
}

const VERBOSITY: Kind = Kind::Number(0, 100);
const COUNT: Kind = Kind::Number(0, 1_000_000);
const MILLIS: Kind = Kind::Number(0, 86_400_000);

/// Every parameter that is known here, sorted by name.
pub const KNOWN: &[Known] = &[
    known("bindto", Kind::Text, None, "default of --bind-to"),
    known("display", Kind::Text, None, "default of --display"),
    known("errmgr_base_verbose", VERBOSITY, Some("0"), "how much is told of failures and what is done about them"),
    known(
        "ess_base_forward_signals",
        Kind::Text,
        Some("all"),
        "signals passed on to processes: none, all, or a list of names and numbers",
    ),
    known("ess_base_verbose", VERBOSITY, Some("0"), "how much is told of the start of daemons"),
    known(
        "ferrite_debug_prep_ms",
        Kind::Number(0, 3_600_000),
        Some("0"),
        "milliseconds between the mapping and the launch of a job, for those who try out what happens in between",
    ),
    known(
        "ferrite_heartbeat_ms",
        Kind::Number(0, 1_000_000_000),
        Some("5000"),
        "milliseconds after which a daemon gives a sign of life over a silent link; three times as long without one, and the \
         link is lost; 0 = no signs of life",
    ),
    known(
        "ferrite_launch_timeout",
        Kind::Number(0, 1_000_000),
        Some("60"),
        "seconds that a daemon has to report after its launcher was started; 0 = the default",
    ),
    known(
        "ferrite_mem_policy",
        Kind::OneOf(&["none", "local", "bind"]),
        Some("none"),
        "memory of a bound process: none = as the system has it, from where the process runs; local = from the NUMA domains of its \
         processors as long as there is some; bind = from these and no other",
    ),
    known(
        "ferrite_metrics",
        Kind::Text,
        None,
        "prte answers there with what it has counted, as Prometheus reads it: the path of a Unix socket, or a port of this host",
    ),
    known(
        "ferrite_pmix_patience_ms",
        MILLIS,
        Some("30000"),
        "milliseconds that libpmix has for an order, and 2 more for each process of a job that it is told of; one that takes longer hangs, \
         and its process is ended",
    ),
    known(
        "ferrite_pmixd",
        Kind::Text,
        None,
        "the program that runs libpmix for a daemon; otherwise ferrite-pmixd beside prte and prted",
    ),
    known(
        "ferrite_release_command",
        Kind::Text,
        None,
        "command that is given the names of nodes, one a line on standard input, that have left the DVM",
    ),
    known("ferrite_timing", Kind::Flag, Some("false"), "say at the end where the time went"),
    known("filem_base_verbose", VERBOSITY, Some("0"), "how much is told of the staging of files"),
    known("grpcomm_base_verbose", VERBOSITY, Some("0"), "how much is told of collectives"),
    known("hwloc_base_use_hwthreads_as_cpus", Kind::Flag, Some("false"), "hardware threads count as processors"),
    known(
        "hwloc_default_cpu_list",
        Kind::Text,
        None,
        "processors that may be used, by their logical numbers, as 0-3,8",
    ),
    known(
        "hwloc_use_topo_file",
        Kind::Text,
        None,
        "the topology that every node is taken to have: a file that lstopo wrote (FILE.xml)",
    ),
    known(
        "iof_base_output_limit",
        Kind::Number(1, i64::MAX),
        Some("2147483647"),
        "bytes of output that may wait for one stream before its writer is slowed down",
    ),
    known("iof_base_verbose", VERBOSITY, Some("0"), "how much is told of the forwarding of input and output"),
    known("mapby", Kind::Text, None, "default of --map-by"),
    known("odls_base_exec_agent", Kind::Text, None, "program that starts each process"),
    known("odls_base_scatter_cpusets", Kind::Flag, Some("true"), "spread the processors of a node over its processes"),
    known(
        "odls_base_signal_direct_children_only",
        Kind::Flag,
        Some("false"),
        "signals go to the processes themselves and not to what they started",
    ),
    known("odls_base_verbose", VERBOSITY, Some("0"), "how much is told of the start and end of processes"),
    known("oob_base_verbose", VERBOSITY, Some("0"), "how much is told of links between daemons"),
    known("output", Kind::Text, None, "default of --output"),
    known("personality", Kind::Text, None, "default of --personality"),
    known(
        "plm",
        Kind::OneOf(&["ssh", "rsh", "local", "slurm", "lsf", "gridengine", "pals", "flux"]),
        Some("ssh"),
        "launcher of daemons: a remote shell, processes on this machine, or that of a resource manager (the default in its jobs)",
    ),
    known("plm_base_verbose", VERBOSITY, Some("0"), "how much is told of the launch of daemons"),
    known("plm_slurm_args", Kind::Text, None, "more arguments of srun"),
    known(
        "plm_ssh_agent",
        Kind::Text,
        Some("ssh : rsh"),
        "remote shells, the first that exists is used; each may have arguments",
    ),
    known("plm_ssh_args", Kind::Text, None, "more arguments of the remote shell"),
    known(
        "plm_ssh_assume_same_shell",
        Kind::Flag,
        Some("true"),
        "accepted; the launch does not depend on the remote login shell",
    ),
    known("plm_ssh_chdir", Kind::Text, None, "directory in which daemons start"),
    known("plm_ssh_no_tree_spawn", Kind::Flag, Some("false"), "the head starts every daemon itself"),
    known("plm_ssh_num_concurrent", Kind::Number(1, 100_000), Some("128"), "remote shells that run at the same time"),
    known(
        "plm_ssh_pass_environ_mca_params",
        Kind::Flag,
        Some("true"),
        "parameters of the environment are passed on to daemons",
    ),
    known("plm_ssh_pass_libpath", Kind::Text, None, "directories put in front of the LD_LIBRARY_PATH of daemons"),
    known("prte_allocation_required", Kind::Flag, Some("false"), "refuse to run without an allocation"),
    known("prte_allowed_exit_without_sync", Kind::Flag, Some("false"), "a process may leave without PMIx_Finalize"),
    known(
        "prte_connect_max_time",
        Kind::Number(0, 1_000_000),
        Some("0"),
        "seconds that a daemon tries to reach its parent; 0 = no limit of its own",
    ),
    known("prte_default_dash_host", Kind::Text, None, "default of --host"),
    known("prte_default_hostfile", Kind::Text, None, "hostfile used when none is given; none = no such file"),
    known("prte_do_not_resolve", Kind::Flag, Some("true"), "names of hosts are not looked up"),
    known(
        "prte_dvm_events",
        Kind::OneOf(&["auto", "always", "never"]),
        Some("auto"),
        "events PMIX_DVM_IS_READY and PMIX_ERR_DVM_MOD for who asked for another size: auto = when libpmix knows them",
    ),
    known(
        "prte_elastic_mode",
        Kind::Flag,
        Some("false"),
        "the DVM may grow and shrink under the rules of the launch fence",
    ),
    known("prte_fwd_environment", Kind::Flag, Some("false"), "forward the submitter's whole environment"),
    known("prte_if_exclude", Kind::Text, None, "network interfaces that are not used"),
    known("prte_if_include", Kind::Text, None, "network interfaces that are used, and no other"),
    known("prte_keep_fqdn_hostnames", Kind::Flag, Some("false"), "n0.a.org is not n0"),
    known("prte_launch_agent", Kind::Text, Some("prted"), "command that starts a daemon on its node"),
    known("prte_max_vm_size", Kind::Number(-1, i64::MAX), Some("-1"), "largest number of daemons; -1 = no limit"),
    known("prte_num_worker_threads", COUNT, Some("8"), "accepted; this program needs no worker threads"),
    known(
        "prte_report_child_jobs_separately",
        Kind::Flag,
        Some("false"),
        "the exit code ignores jobs that the job started",
    ),
    known(
        "prte_set_default_slots",
        Kind::CountOr(&["cores", "packages", "numas", "hwthreads"]),
        Some("cores"),
        "slots of a node that has none stated: cores, packages, numas, hwthreads, or a number",
    ),
    known(
        "prte_set_default_slots_override",
        Kind::Flag,
        Some("false"),
        "prte_set_default_slots holds for nodes with stated slots too",
    ),
    known("prte_set_max_sys_limits", Kind::Text, None, "limits of processes, as core:0,files:4096"),
    known("prte_strip_prefix", Kind::Text, None, "prefixes removed from names of hosts"),
    known(
        "prte_timeout_for_stack_trace",
        Kind::Number(-1, 1_000_000),
        Some("30"),
        "seconds to wait for stack traces; 0 or less = for ever",
    ),
    known("prte_tmpdir_base", Kind::Text, None, "directory of the session directories"),
    known("prte_tmpdir_local_base", Kind::Text, None, "prte_tmpdir_base of the head's node only"),
    known("prte_tmpdir_remote_base", Kind::Text, None, "prte_tmpdir_base of all other nodes"),
    known("rankby", Kind::Text, None, "default of --rank-by"),
    known(
        "ras",
        Kind::Text,
        None,
        "resource managers that are looked for, as slurm,pbs; ^slurm = all but these; hosts = none",
    ),
    known("ras_base_verbose", VERBOSITY, Some("0"), "how much is told of the allocation"),
    known(
        "ras_simulator_max_slots",
        Kind::Text,
        None,
        "largest number of slots of the nodes of each group that is made up",
    ),
    known(
        "ras_simulator_num_nodes",
        Kind::Text,
        None,
        "nodes that are made up for --rtos donotlaunch: how many, one number for each group of equal ones",
    ),
    known(
        "ras_simulator_slots",
        Kind::Text,
        None,
        "slots of the nodes of each group that is made up; unset = their cores",
    ),
    known(
        "ras_slurm_use_entire_allocation",
        Kind::Flag,
        Some("false"),
        "in a job of Slurm all processors of its nodes are slots, not only those of its tasks",
    ),
    known("relm_base_cache_max_count", COUNT, Some("30"), "accepted; broadcasts are kept until everyone has them"),
    known("relm_base_cache_ms", MILLIS, Some("500"), "accepted; broadcasts are kept until everyone has them"),
    known("rmaps_base_verbose", VERBOSITY, Some("0"), "how much is told of placement"),
    known("rmaps_default_inherit", Kind::Flag, Some("false"), "jobs started by a job inherit its placement"),
    known("rml_base_radix", Kind::Number(2, 1_000_000), Some("64"), "children of a daemon in the routing tree"),
    known("rml_base_verbose", VERBOSITY, Some("0"), "how much is told of messages"),
    known("rtos", Kind::Text, None, "default of --runtime-options"),
    known("state_base_continuous", Kind::Flag, Some("false"), "default of --runtime-options continuous"),
    known(
        "state_base_error_non_zero_exit",
        Kind::Flag,
        Some("true"),
        "default of --runtime-options error-nonzero-status",
    ),
    known(
        "state_base_notify_errors",
        Kind::Flag,
        Some("false"),
        "default of --runtime-options notifyerrors, for jobs that go on after a failure",
    ),
    known("state_base_recoverable", Kind::Flag, Some("false"), "default of --runtime-options recoverable"),
    known("state_base_show_launch_progress", Kind::Flag, Some("false"), "show how many daemons have reported"),
    known(
        "state_base_verbose",
        VERBOSITY,
        Some("0"),
        "5 = the table of states at start, then each transition as one line",
    ),
];
