//! The parameters that Ferrite uses, with their defaults: one list for the getters, for the check of values, for
//! `prte_info` and for the manual. Names and defaults are the field's; those that begin with `ferrite_` are our own.

use super::kind::Kind;

/// A parameter that Ferrite uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Name, without `PRTE_MCA_`.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: Kind,
    /// The default.
    pub default: Option<&'static str>,
    /// Its purpose, as the help shows it.
    pub doc: &'static str,
    /// Other names, most of them former ones.
    pub synonyms: &'static [&'static str],
}

impl Known {
    /// Looks a parameter up by its name; synonyms are not looked at.
    #[must_use]
    pub fn of(name: &str) -> Option<&'static Known> {
        KNOWN.binary_search_by(|known| known.name.cmp(name)).ok().map(|at| &KNOWN[at])
    }

    /// The first part of its name: the framework of the field that it belongs to, or the name itself.
    #[must_use]
    pub fn framework(&self) -> &'static str {
        self.name.split('_').next().unwrap_or(self.name)
    }

    const fn also(self, synonyms: &'static [&'static str]) -> Known {
        Known { synonyms, ..self }
    }
}

const fn known(name: &'static str, kind: Kind, default: Option<&'static str>, doc: &'static str) -> Known {
    Known { name, kind, default, doc, synonyms: &[] }
}

const VERBOSITY: Kind = Kind::Number(0, 100);
const MILLIS: Kind = Kind::Number(0, 86_400_000);

/// Every parameter that is known here, sorted by name.
pub const KNOWN: &[Known] = &[
    known("bindto", Kind::Text, None, "default of --bind-to").also(&[
        "bind_to",
        "hwloc_base_binding_policy",
        "hwloc_default_binding_policy",
    ]),
    known("display", Kind::Text, None, "default of --display"),
    known(
        "ess_base_forward_signals",
        Kind::Text,
        Some("all"),
        "signals passed on to processes: none, all, or a list of names and numbers",
    )
    .also(&["ess_hnp_forward_signals"]),
    known(
        "ferrite_backfill",
        Kind::Number(0, 1_000_000_000),
        Some("30"),
        "seconds for which later jobs may begin in slots that the first job of the queue cannot use, counted from the first of \
         them; after that the first job has its turn before the others; 0 = no job passes another",
    ),
    known(
        "ferrite_debug_prep_ms",
        Kind::Number(0, 3_600_000),
        Some("0"),
        "milliseconds between the mapping and the launch of a job, for those who try out what happens in between",
    ),
    known(
        "ferrite_elastic_pause",
        Kind::Number(1, 86_400),
        Some("30"),
        "seconds for which the policy offers an elastic job nothing after a change of its size or an offer that it has not \
         taken, and takes nothing from it after a refusal; each further offer that the job does not take doubles them",
    ),
    known(
        "ferrite_elastic_policy",
        Kind::OneOf(&["none", "fill"]),
        Some("none"),
        "what the DVM does by itself with elastic jobs; fill: it offers them idle slots up to their largest size, and lets \
         processes above their smallest size end when jobs wait for slots",
    ),
    known("ferrite_head_params", Kind::Text, None, "names of parameters, with commas between them, that daemons are not told"),
    known(
        "ferrite_heartbeat_ms",
        Kind::Number(0, 1_000_000_000),
        Some("5000"),
        "milliseconds after which a daemon gives a sign of life over a silent link; three times as long without one, and the \
         link is lost; 0 = no signs of life",
    ),
    known(
        "ferrite_history_jobs",
        Kind::Number(0, 10_000_000),
        Some("100000"),
        "jobs that are over and that prte remembers at least, in files of its session directory; 0 = the last 1,000, in memory only",
    ),
    known(
        "ferrite_job_log",
        Kind::Text,
        None,
        "file on the head's node to which what processes log in the job record is appended; without it they are refused",
    ),
    known(
        "ferrite_launch_timeout",
        Kind::Number(0, 1_000_000),
        Some("60"),
        "seconds that a daemon has to report after its launcher was started; 0 = the default",
    ),
    known(
        "ferrite_libpmix",
        Kind::Text,
        None,
        "the file of libpmix that every daemon loads; otherwise that of the mpirun of Open MPI that runs prterun, or the one that is installed",
    ),
    known(
        "ferrite_log",
        Kind::Text,
        None,
        "what the head and its daemons write into their logs: error, warn, info, debug, trace, or PART=LEVEL,...",
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
    known("ferrite_origins", Kind::Text, None, "where values come from, for the messages of daemons; the head sets it, a line for each parameter"),
    known(
        "ferrite_param_warnings",
        Kind::Flag,
        Some("true"),
        "warn of parameters that are set, and are not used or not known",
    ),
    known(
        "ferrite_pmix_patience_ms",
        MILLIS,
        Some("30000"),
        "milliseconds that libpmix has for an order, and 2 more for each process of a job that it is told of; one that takes longer hangs, \
         and its process is ended",
    ),
    known(
        "ferrite_pmix_prefix",
        Kind::Text,
        None,
        "as --pmix-prefix: the directory where PMIx is installed on every node",
    ),
    known(
        "ferrite_pmixd",
        Kind::Text,
        None,
        "the program that runs libpmix for a daemon; otherwise ferrite-pmixd beside prte and prted",
    ),
    known("ferrite_prefix", Kind::Text, None, "as --prefix: the directory where Ferrite is installed on every other node"),
    known(
        "ferrite_release_command",
        Kind::Text,
        None,
        "command that is given the names of nodes, one a line on standard input, that have left the DVM",
    ),
    known(
        "ferrite_resize_time",
        Kind::Number(1, 86_400),
        Some("30"),
        "seconds that an elastic job has to take an offer of pdvm resize, or for its processes to end when the job has no --grace",
    ),
    known(
        "ferrite_resources",
        Kind::Resources,
        None,
        "what nodes have besides slots, for --resource and --mem: fpga=2 on each node, fpga=4@n1 on that one instead, dvm:licence=8 for what all nodes share, mem=16G in the place of the memory that the machine has",
    ),
    known(
        "ferrite_second_tree_bytes",
        Kind::Number(0, 1_000_000_000),
        Some("4194304"),
        "the data of a fence go down a second, narrow tree, in pieces, when a daemon would have to send its children so many \
         bytes in all by the routing tree; 0 = never",
    ),
    known(
        "ferrite_sendmail",
        Kind::Text,
        None,
        "the site's mail program on the head's node, run as PATH -t -i for what processes log by e-mail; without it they are refused",
    ),
    known("ferrite_timing", Kind::Flag, Some("false"), "say at the end where the time went"),
    known("hwloc_base_use_hwthreads_as_cpus", Kind::Flag, Some("false"), "hardware threads count as processors"),
    known(
        "hwloc_default_cpu_list",
        Kind::Text,
        None,
        "processors that may be used, by their logical numbers, as 0-3,8",
    )
    .also(&["hwloc_base_cpu_list", "hwloc_base_cpu_set"]),
    known(
        "hwloc_use_topo_file",
        Kind::Text,
        None,
        "the topology that every node is taken to have: a file that lstopo wrote (FILE.xml)",
    ),
    known("iof_base_output_limit", Kind::Number(1, i64::MAX), Some("2147483647"), "bytes of output of a job that may be on their way from a daemon to the head; beyond it its writers wait (never more than 4 MiB)").also(&["iof_output_limit"]),
    known("mapby", Kind::Text, None, "default of --map-by").also(&[
        "map_by",
        "rmaps_base_mapping_policy",
        "rmaps_default_mapping_policy",
    ]),
    known("odls_base_exec_agent", Kind::Text, None, "command that starts each process: the path of the program and its arguments are put behind it"),
    known("odls_base_signal_direct_children_only", Kind::Flag, Some("false"), "signals go to the processes of a job and not to what these have started; only what is left at the end of a job is killed with all that it has started"),
    known("odls_base_verbose", VERBOSITY, Some("0"), "each daemon tells on its standard error (--leave-session-attached shows it) of each process: 1: its start; 5: its program, directory, binding and environment too"),
    known("output", Kind::Text, None, "default of --output"),
    known("personality", Kind::Text, None, "default of --personality"),
    known(
        "plm",
        Kind::OneOf(&["ssh", "rsh", "local", "slurm", "lsf", "gridengine", "pals", "flux"]),
        Some("ssh"),
        "launcher of daemons: a remote shell, processes on this machine, or that of a resource manager (the default in its jobs)",
    ),
    known("plm_base_verbose", VERBOSITY, Some("0"), "the head tells of each launcher: 1: its start and end; 5: its whole command too"),
    known("plm_slurm_args", Kind::Text, None, "more arguments of srun"),
    known(
        "plm_ssh_agent",
        Kind::Text,
        Some("ssh : rsh"),
        "remote shells, the first that exists is used; each may have arguments",
    )
    .also(&["plm_rsh_agent", "pls_ssh_agent", "prte_ssh_agent"]),
    known("plm_ssh_args", Kind::Text, None, "more arguments of the remote shell").also(&["plm_rsh_args"]),
    known("plm_ssh_chdir", Kind::Text, None, "directory in which daemons start").also(&["plm_rsh_chdir"]),
    known("plm_ssh_no_tree_spawn", Kind::Flag, Some("false"), "the head starts every daemon itself")
        .also(&["plm_rsh_no_tree_spawn"]),
    known("plm_ssh_num_concurrent", Kind::Number(1, 100_000), Some("128"), "remote shells that run at the same time")
        .also(&["plm_rsh_num_concurrent"]),
    known("plm_ssh_pass_environ_mca_params", Kind::Flag, Some("true"), "daemons are told the parameters that come from the environment; false: only the head uses these").also(&["plm_rsh_pass_environ_mca_params"]),
    known("plm_ssh_pass_libpath", Kind::Text, None, "directories, with colons between them, put in front of the LD_LIBRARY_PATH of daemons and so of processes").also(&["plm_rsh_pass_libpath"]),
    known("prte_allocation_required", Kind::Flag, Some("false"), "refuse to run without an allocation"),
    known("prte_allowed_exit_without_sync", Kind::Flag, Some("false"), "a process may leave without PMIx_Finalize"),
    known("prte_connect_max_time", Kind::Number(0, 1_000_000), Some("0"), "seconds that a daemon without a link to the daemons above it looks for one before it leaves; 0: 30"),
    known("prte_debug_daemons", Kind::Flag, Some("false"), "as --debug-daemons"),
    known("prte_default_dash_host", Kind::Text, None, "default of --host"),
    known("prte_default_hostfile", Kind::Text, None, "hostfile used when none is given; none = no such file"),
    known("prte_do_not_resolve", Kind::Flag, Some("true"), "false: the names of hosts are looked up, and one that has an address of this host means this host"),
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
    known("prte_if_exclude", Kind::Networks, None, "interfaces and networks over which daemons do not reach each other").also(&["oob_tcp_exclude", "oob_tcp_if_exclude"]),
    known("prte_if_include", Kind::Networks, None, "interfaces and networks, as eth0,10.1.0.0/16, over which daemons reach each other; no others are used").also(&["oob_tcp_if_include", "oob_tcp_include"]),
    known("prte_keep_fqdn_hostnames", Kind::Flag, Some("false"), "n0.a.org is not n0"),
    known("prte_launch_agent", Kind::Text, Some("prted"), "command that starts a daemon on its node"),
    known("prte_leave_session_attached", Kind::Flag, Some("false"), "as --leave-session-attached"),
    known("prte_local_tmpdir_base", Kind::Directory, None, "prte_tmpdir_base of the head's node; prun, pterm and pdvm look there for the DVM").also(&["prte_tmpdir_local_base"]),
    known("prte_max_vm_size", Kind::Number(-1, i64::MAX), Some("-1"), "largest number of nodes of the allocation on which daemons are started; -1 or 0: no limit"),
    known("prte_remote_tmpdir_base", Kind::Directory, None, "prte_tmpdir_base of the other nodes").also(&["prte_tmpdir_remote_base"]),
    known("prte_report_child_jobs_separately", Kind::Flag, Some("false"), "the exit code is that of the submitted job alone, whatever happens to the jobs that it has spawned"),
    known(
        "prte_set_default_slots",
        Kind::CountOr(&["cores", "sockets", "packages", "numas", "hwthreads"]),
        Some("cores"),
        "slots of a node that has none stated: cores, sockets (or packages), numas, hwthreads, or a number",
    ),
    known("prte_set_default_slots_override", Kind::Flag, Some("false"), "prte_set_default_slots holds for nodes with stated slots too"),
    known("prte_set_max_sys_limits", Kind::Limits, None, "limits of the processes of jobs, as core:0,openfiles:4096,stack:unlimited (bytes, or a number); a word without a value: the most that the daemon may have; max: that for core, filesize, openfiles and maxchildren"),
    known("prte_strip_prefix", Kind::Prefixes, None, "prefixes, with commas between them: a name as nid0012 means this host also without one of them and the zeros behind it, as 12"),
    known("prte_timeout_for_stack_trace", Kind::Number(1, 86_400), Some("30"), "seconds that --get-stack-traces may take before a job whose time is over is ended"),
    known("prte_tmpdir_base", Kind::Directory, None, "directory of the session directories"),
    known("rankby", Kind::Text, None, "default of --rank-by").also(&[
        "rank_by",
        "rmaps_base_ranking_policy",
        "rmaps_default_ranking_policy",
    ]),
    known(
        "ras",
        Kind::Text,
        None,
        "resource managers that are looked for, as slurm,pbs; ^slurm = all but these; hosts = none",
    ),
    known("ras_base_verbose", VERBOSITY, Some("0"), "tells of the nodes that were found: 1: where they come from; 5: each of them"),
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
    known("rmaps_base_verbose", VERBOSITY, Some("0"), "shows maps of jobs: 1: as --display map; 5: as --display map-devel"),
    known("rmaps_default_inherit", Kind::Flag, Some("false"), "jobs started by a job inherit its placement"),
    known("rml_base_radix", Kind::Number(1, 1_000_000), Some("64"), "children of a daemon in the routing tree; 1 counts as 2")
        .also(&["routed_radix"]),
    known("rtos", Kind::Text, None, "default of --runtime-options").also(&["runtime_options"]),
    known("schizo_proxy", Kind::Text, None, "default of parameter personality; the mpirun of Open MPI sets it"),
    known("state_base_autorestart", Kind::Flag, None, "default of --runtime-options autorestart"),
    known("state_base_continuous", Kind::Flag, Some("false"), "default of --runtime-options continuous"),
    known(
        "state_base_error_non_zero_exit",
        Kind::Flag,
        Some("true"),
        "default of --runtime-options error-nonzero-status",
    ),
    known(
        "state_base_max_restarts",
        Kind::Number(0, u32::MAX as i64),
        Some("0"),
        "default of --runtime-options max-restarts",
    ),
    known(
        "state_base_notify_errors",
        Kind::Flag,
        Some("false"),
        "default of --runtime-options notifyerrors, for jobs that go on after a failure",
    ),
    known("state_base_recoverable", Kind::Flag, Some("false"), "default of --runtime-options recoverable"),
    known(
        "state_base_show_launch_progress",
        Kind::Flag,
        None,
        "lines about the start of daemons, and the nodes that are awaited; without it a terminal gets them after two \
         seconds, and with 0 nobody",
    ),
    known(
        "state_base_verbose",
        VERBOSITY,
        Some("0"),
        "1: each step of jobs and campaigns as one line; 5: the table of states at start, then also each step of processes",
    ),
];
