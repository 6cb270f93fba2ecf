//! `--help [topic]` and `--version`.

mod placement;

use clap::Command;

use super::deprecated::{DEPRECATED, Today};
use super::error::UsageError;
use super::tool::Tool;

/// The commit of a packaged build (`cargo xtask dist`). Other builds have none: it would make each commit build anew.
pub(crate) const COMMIT: Option<&str> = option_env!("FERRITE_COMMIT");

/// Returns the version as `prterun (Ferrite) 0.1.0`, in a packaged build with the commit behind it.
#[must_use]
pub fn version(command: &str) -> String {
    let commit = COMMIT.map(|commit| format!(" ({commit})")).unwrap_or_default();
    format!("{command} (Ferrite) {}{commit}\n", env!("CARGO_PKG_VERSION"))
}

/// Returns the whole help, or the help on one topic or option.
pub(crate) fn text(tool: Tool, command: &mut Command, topic: Option<&str>) -> Result<String, UsageError> {
    let Some(topic) = topic else { return Ok(command.render_help().to_string()) };
    let bare = topic.trim_start_matches('-').to_ascii_lowercase();
    if bare == "deprecated" && tool.has_jobs() {
        return Ok(deprecated());
    }
    let topics = topics(tool);
    if let Some((_, text)) = topics.iter().find(|(names, _)| names.contains(&bare.as_str())) {
        return Ok((*text).to_owned());
    }
    let last = tool.has_jobs().then_some("deprecated");
    option(command, &bare).ok_or_else(|| UsageError::UnknownTopic {
        topic: topic.to_owned(),
        topics: topics.iter().map(|(names, _)| names[0]).chain(last).collect::<Vec<_>>().join(", "),
    })
}

fn option(command: &Command, name: &str) -> Option<String> {
    let is = |a: &&clap::Arg| {
        let short = a.get_short().is_some_and(|s| name.len() == 1 && name.starts_with(s.to_ascii_lowercase()));
        a.get_long() == Some(name) || short || a.get_all_aliases().is_some_and(|all| all.contains(&name))
    };
    let arg = command.get_arguments().find(is)?;
    let values = arg.get_value_names().unwrap_or_default().join(" ");
    let names = [arg.get_short().map(|s| format!("-{s}")), arg.get_long().map(|l| format!("--{l}"))];
    let names: Vec<_> = names.into_iter().flatten().collect();
    Some(format!("{} {values}\n    {}\n", names.join(", "), arg.get_help()?))
}

fn deprecated() -> String {
    let dashes = |name: &str| if name.len() == 1 { format!("-{name}") } else { format!("--{name}") };
    let mut text = "Options of older releases, and what replaces them. They still work, with a warning.\n\n".to_owned();
    for old in DEPRECATED {
        let names: Vec<_> = old.names.iter().map(|n| dashes(n)).collect();
        let today = match old.today {
            Today::Flag(option, value) => format!("{option} {value}"),
            Today::Value(option, form) => format!("{option} {}", form.replace("{}", "VALUE")),
            Today::Nothing => "(no effect)".to_owned(),
        };
        text.push_str(&format!("  {:36} {today}\n", names.join(", ")));
    }
    text
}

/// Names of a topic, and its text.
type Topic = (&'static [&'static str], &'static str);

/// Returns the help topics of a command with their texts, for man pages.
#[must_use]
pub fn help_topics(tool: Tool) -> Vec<(&'static str, &'static str)> {
    topics(tool).into_iter().map(|(names, text)| (names[0], text)).collect()
}

fn topics(tool: Tool) -> Vec<Topic> {
    let batch: Topic = (&["batch"], BATCH);
    let dvm: Topic = (&["dvm"], DVM);
    match tool {
        Tool::Prterun => TOPICS.iter().copied().chain([dvm]).collect(),
        Tool::Prun => TOPICS.iter().copied().chain([batch, dvm]).collect(),
        Tool::Prte => {
            let ours = TOPICS.iter().copied().filter(|(names, _)| matches!(names[0], "hosts" | "parameters"));
            ours.chain([dvm]).collect()
        }
        Tool::Pterm => vec![dvm],
    }
}

const TOPICS: &[Topic] = &[
    (&["mapping", "map-by", "mapby", "placement"], placement::MAPPING),
    (&["ranking", "rank-by", "rankby"], placement::RANKING),
    (&["binding", "bind-to", "bindto"], placement::BINDING),
    (&["rankfiles", "rankfile", "seq", "sequence"], placement::FILES),
    (&["hosts", "host", "hostfile"], HOSTS),
    (&["growing", "grow", "elastic"], GROWING),
    (&["output"], OUTPUT),
    (&["display"], DISPLAY),
    (&["runtime-options", "rtos"], RTOS),
    (&["environment", "env"], ENVIRONMENT),
    (&["apps", "mpmd"], APPS),
    (&["parameters", "mca", "prtemca"], PARAMETERS),
    (&["exit-codes", "exit"], EXIT_CODES),
];

const HOSTS: &str = "\
Where a job may run comes from, in this order: the resource manager whose job this is (--hostfile and
--host filter its nodes; --prtemca ras hosts looks for none), --hostfile (filtered by --host), --host
alone, the hosts of a rankfile or sequence (see mapping), the default hostfile, this machine.

  --host n0,n1:4,n2:*       n0: one slot, or all of it when a hostfile names it; n1: four; n2: all
  --host +n2                the third node of the allocation (they count from 0)
  --host 2                  the same in a resource manager's job, where no node has the name 2
  --host +e:2               two nodes on which nothing runs
  --hostfile FILE           one host a line, `#` begins a comment:
                              n0 slots=4 max_slots=8
                              user@n1 port=2222
                              ^n7                     (not this one)

Without a number, a host has as many slots as it has cores. The default hostfile is
etc/prte-default-hostfile of the installation, or --default-hostfile, or the parameter
prte_default_hostfile; `none` disables it.
";

const GROWING: &str = "\
A job may bring nodes along. The DVM gets them before the job is placed, keeps them when it is over
(pdvm shrink takes them away), and other jobs may use them.

  --add-host n5,n6:4,n7:+2    n5: what it has, or one slot per core; n6: four slots;
                              n7: two more than it has
  --add-hostfile FILE         one host a line: n5, n6 slots=4, n7 slots=+2
  --activate n2,+n3,+all      daemons on nodes of the allocation that have none; file=FILE for a
                              hostfile, of which the names count

All of them must come: when one does not, the DVM keeps the nodes that it had and the job is not
launched. Nodes that are there already are no failure. --host says where the job may run: with it,
name the added hosts there as well. In a line with several programs they are for all of them.

prterun starts a DVM for its job: hosts that are added belong to it from the start, and there is
nothing to activate.

A DVM grows and shrinks by pdvm grow and pdvm shrink as well. With --prtemca prte_elastic_mode 1
(to prte) jobs wait while it does; without it, only for the nodes that they bring themselves.
";

const OUTPUT: &str = "\
--output takes a list; it holds for the whole job.

  tag                     [job,rank]<stream>: in front of every line
  tag-fullname            the same with the full name of the job
  tag-detailed            the same with host and process id
  rank                    the rank in front of every line
  timestamp               date and time in front of every line
  merge-stderr-to-stdout  standard error goes where standard output goes
  xml                     each line as <stdout nspace=N rank=R>text&#010;</stdout>, values quoted
  dir=D, directory=D      files D/<namespace>/rank.<rank>/stdout and stderr, on each process's own node
  file=F, filename=F      files F.<namespace>.<rank>.out and .err, in the same way; directories that do
                          not exist are made
  pattern                 (as file=F:pattern) files F.out and F.err, where F has %r or %R, and may have
                          %n namespace, %r rank, %R rank with leading zeros, %h node, %% percent sign
  copy, nocopy            with dir or file: to the terminal as well, or not (default)
  raw                     pass output on as it comes, not line by line

Each takes =0 or =1 as well. Qualifiers may be written behind a colon: dir=D:copy,raw
Ranks in names of files have leading zeros, as many as the size of the job has digits. The files of a
process are written on its node; a relative name begins in the directory in which the command is run.
";

const DISPLAY: &str = "\
--display takes a list; it holds for the whole job.

  map             the node of each process, and its binding
  map-devel       the same with everything that is known of each process
  allocation      the nodes, and their slots
  bind            what each process was bound to, told by its daemon
  topo[=n1;n2]    the topology of these nodes, or of all nodes of the job
  cpus[=n1;n2]    the processors of these nodes that may be used
  parseable       (as map:parseable) map, allocation and cpus as XML, together one document
  physical        (as bind:physical) processors by the numbers of the operating system
  svg=FILE        the map as a picture; svg=FILE alone leaves the text out, map:svg=FILE has both
  html=FILE       the map as a page that shows more about what is pointed at, likewise

Each that is a yes or no takes =0 or =1 as well. Files go to the directory in which the command is
run; their names have no comma and no colon.
";

const RTOS: &str = "\
--runtime-options (--rtos) takes a list; it holds for the whole job.

  error-nonzero-status[=B]     a non-zero exit is a failure (default: true)
  donotlaunch[=B]              map and show only
  donotspawn[=B]               start the daemons, map and show, and start no process
  output-proctable[=-|+|FILE]  the table of processes (rank, node, pid, program) to standard output, standard
                               error or a file, when all have started
  recoverable[=B]              the failure of a process leaves the others alone
  continuous[=B]               the same, with notifyerrors: the job runs until it is ended or
                               nothing is left of it
  max-restarts=N               a failed process is started again on its node, up to N times each;
                               0: never
  autorestart[=B]              max-restarts=3, unless max-restarts says another number
  notifyerrors[=B]             the others get a PMIx event for each failure (with recoverable or
                               max-restarts), and PMIX_ERR_PROC_RESTART for each restart
  fwd-environment[=B]          forward the whole environment
  timeout=TIME                 as --timeout
  spawn-timeout=TIME           as --spawn-timeout
  report-state-on-timeout[=B]  as the option of that name
  get-stack-traces[=B]         as the option of that name
  stop-on-exec[=B], stop-in-init[=B], stop-in-app[=NAME]
                               as the options of these names; one of them
  report-child-jobs-separately[=B]  the exit code is that of this job alone, not of jobs that it spawns
  show-progress[=B]            (prterun) lines about the start of daemons on standard error
  exec-agent=COMMAND           as --exec-agent, for all programs that have none of their own
  default-exec-agent           the one of the parameter odls_base_exec_agent, whatever rtos says

B: 1, true, yes, 0, false, no; without =B it is true. TIME: seconds, or [[dd:]hh:]mm:ss.

A failure is an abnormal end: by a signal, with a non-zero exit code, without finalize after init,
or with the daemon or the node. Without recoverable or continuous the first one ends the job; with
them its message is shown and its exit code is that of the job when all processes are gone. What
ends the job in any case: abort (PMIx_Abort or MPI_Abort of the job), a process that cannot be
started, a time limit, an interrupt, pdvm kill. A fence or PMI barrier with a failed process ends
with an error. Events: PMIX_ERR_EXIT_NONZERO_TERM, PMIX_ERR_PROC_ABORTED_BY_SIG,
PMIX_ERR_PROC_TERM_WO_SYNC, PMIX_ERR_PROC_REQUESTED_ABORT (of itself alone), and
PMIX_ERR_COMM_FAILURE for the processes of a lost daemon; each names its process in
PMIX_EVENT_AFFECTED_PROC and, where it is known, the exit code in PMIX_EXIT_CODE. A process that
exits with a code and without finalize has the first and the third.

With max-restarts a failed process is started again before any of this counts, if it has not called
init (MPI_Init, PMIx_Init): the libraries cannot come back. It finds the number of its restarts in
the variables PMIX_REINCARNATION and OMPI_MCA_orte_num_restarts. What it has read of standard input
is not read again. Not started again are processes of a lost daemon either, those that cannot be
started, and those of a job that was aborted or ended by an order.

Parameters give the defaults: state_base_error_non_zero_exit, state_base_recoverable,
state_base_autorestart, state_base_max_restarts, state_base_continuous, state_base_notify_errors
(of those jobs that go on after a failure).
";

const ENVIRONMENT: &str = "\
Processes get the environment of the daemon on their node, and from here: OMPI_*, PMIX_MCA_*,
MPICH_*, MPIR_*, and what these options say, in their order:

  -x VAR, -x VAR=VALUE, -x 'PREFIX*'    forward or set
  --set-env NAME=VALUE
  --unset-env NAME, --unset-env 'PREFIX*'
  --append-env 'PATH[:]' /opt/bin       put behind, with `:` between
  --prepend-env 'PATH[:]' /opt/bin      put in front
  --mca KEY VALUE                       OMPI_MCA_KEY=VALUE for this program
  --gmca KEY VALUE                      the same for all programs
  --pmixmca KEY VALUE                   PMIX_MCA_KEY=VALUE for all programs
  --runtime-options fwd-environment     everything

Places where something is installed on every node come before these options:

  --pmix-prefix P       (of the DVM) LD_LIBRARY_PATH begins with P/lib, PMIX_PREFIX is P
  --app-pmix-prefix P   the same for this program alone; --no-app-prefix takes PMIX_PREFIX away
  --app-prefix A        PATH begins with A/bin, LD_LIBRARY_PATH with A/lib, OPAL_PREFIX is A

Variables that say who a process is (PMIX_RANK and the like) are never forwarded.
";

const APPS: &str = "\
Several programs make one job when they are separated by `:`

  prterun -n 1 ./master : -n 8 --host n1,n2 ./worker

Ranks are counted across them in their order. -n, --host, --hostfile, --wdir, --path and the
environment belong to one program. Placement at the first program alone holds for all; otherwise each
program has its own (see mapping). Everything else may stand anywhere and holds for the job; two places that contradict each other are refused.

--app FILE reads the programs from a file, one a line with its options in front; # begins a comment:

  -n 1 ./master
  -n 8 --host n1,n2 ./worker 'an argument'
";

const PARAMETERS: &str = "\
Parameters of the runtime are set, later ones winning, in

  <prefix>/etc/prte-mca-params.conf     KEY = VALUE, one a line
  ~/.prte/mca-params.conf
  the environment                       PRTE_MCA_KEY=VALUE
  the command line                      --prtemca KEY VALUE, --tune FILE,...

mapby, rankby, bindto, output, display, rtos and personality are defaults of the options of those names.
A file of --tune has KEY = VALUE, -x NAME=VALUE, --mca, --gmca, --pmixmca or --prtemca a line; a KEY that the
runtime does not know is an Open MPI parameter of all programs.
Under --personality ompi, OMPI_MCA_KEY and Open MPI's files say the same for parameters of the runtime.

prte_info --all lists all parameters with their values, and says which of the field's are not used.
An empty value is as good as none. A parameter that is not used or not known costs one warning; an
unknown one on the command line is an error. --prtemca ferrite_param_warnings 0 ends the warnings.
";

const EXIT_CODES: &str = "\
0 when every process ended well; else the exit code of the first that did not, or 128 and the
number of the signal that ended it. 1 when the job could not be started, prterun was interrupted, the
job lost a daemon, or the command line is wrong. 124 when a time limit was reached. 125 when the job
of a DVM was cancelled (Ctrl-C at prun, pdvm kill). 75 when nodes left the DVM with processes of the
job, which may be tried again. 74 when all went well but a file of --output. The same with
--runtime-options recoverable or continuous, after the last process has gone.
";

const DVM: &str = "\
A DVM is started once, by prte, and runs any number of jobs. prun and pterm find it by what it leaves
in its session directory: prte.<pid>.* under TMPDIR, or else, where it is not set or none is there, under
XDG_RUNTIME_DIR, /run/user/<uid> or /tmp. With several of them at one place it is

  the one that is named          --pid N, --namespace NAME, --dvm-uri URI, or a file with one of them:
                                 --pid file:PATH, --dvm-uri file:PATH (prte --report-pid, --report-uri)
  the system's                   --system-server-first, --system-server-only
  the one of this batch job      SLURM_JOB_ID, PBS_JOBID, LSB_JOBID ... is the same
  the only one

--dvm says the same in one word, for prterun as well: search, pid:N, pid:file:PATH, uri:URI, file:PATH,
ns:NAME, system, system-first. --wait-to-connect 10 looks for it for ten seconds. The environment variable
PRTEPROXY_USE_DVM has the same words for prterun, prun, pterm and pdvm; options of the line win.

prun, pterm and pdvm find a DVM on each node that it has a daemon on, by the same words; what they say goes to the
head through that daemon, which leaves prted.<pid>.* in one of these places. DVMs whose heads are on the node come first.
When the daemon goes, so do its clients and their jobs; pterm there waits for the end of the daemon on its own node.

Clients of other hosts need a DVM that listens for them, what it wrote, and its key file:

  here     prte --daemonize --listen 0 --report-uri FILE     (0: any port)
  there    prun --dvm-uri file:FILE --dvm-key KEYFILE ./a    (pterm and pdvm likewise)

FILE names the key file in its line `key`; both are on a file system that all see, or copied. Whoever can read the
key file can run jobs as you. What is said is encrypted and authenticated.
";

const BATCH: &str = "\
prun --batch FILE runs one job for each line; with `-` lines are read from standard input as they come.
Empty lines and those that begin with `#` are skipped. A line is either words, as for a shell, without its
expansions: options of prun, the program, its arguments

  -n 4 --host n1 --output file=run1 ./solve 'case 1'

or a JSON object with one of argv and cmd, and any of the others:

  {\"id\": \"a\", \"argv\": [\"./solve\", \"case 1\"], \"np\": 4, \"host\": \"n1\", \"env\": {\"A\": \"1\"},
   \"cwd\": \"/data\", \"stdout\": \"a.out\", \"stderr\": \"a.err\", \"retries\": 2,
   \"timeout\": 60, \"priority\": 5, \"options\": [\"--map-by\", \"node\"],    options: any others of prun
   \"after\": [\"x\"], \"after_any\": [\"y\"]}    ids of earlier lines that have to end well, or to end, before it begins
  {\"cmd\": \"./solve < in | sort\", \"output\": \"b.log\"}    cmd is for /bin/sh; output is both in one file

A job without -n (or -N, --map-by ppr) is one process. Jobs wait for slots, read no standard input, and at most
--max-running of them are open at a time; a priority counts among those that are. A file with a bad line is refused
before anything is started.

Results are JSON Lines, one object for each job when it is over:

  {\"schema\":1,\"record\":\"ended\",\"index\":0,\"line\":1,\"id\":\"a\",\"job\":7,\"exit_code\":0,\"ending\":\"done\",\"attempts\":1,
   \"queued\":T,\"started\":T,\"ended\":T,\"node\":\"n1\",\"error\":null}

ending: done, failed, killed, refused or \"lost ranks\", as pdvm jobs says; cancelled (by Ctrl-C), not_run (the list
was stopped before it began, or a job on which it depends has not ended well), or unknown (the DVM was lost). Every job of a file has a result.
T: seconds since 1970; the times, job and node are those of the last attempt, null when there is none.
With --results FILE they go there, and the output of the jobs goes to standard output and error. Without it they go
to standard output, and all output of the jobs goes to standard error. --output file=F or dir=D in a line gives a
job files of its own.

prun --batch FILE --resume RESULTS runs what has not ended well yet, by id or else by line, and appends to RESULTS.

After the first failure no more jobs are submitted, those that run are waited for; --keep-going goes on.
The exit code is 0 when all jobs ended well, else 1.

prun --batch FILE --detach hands the list over to the DVM, prints the batch (b1), and ends. A process on the head's
node, in the same directory and with the same environment, runs the list; the DVM starts it again when it is killed.
pdvm batch list shows how far it is; attach prints the records as they come, results those so far; cancel ends it.
The records are in the file of --results on that node, or in the DVM's session directory, which goes with the DVM.
Before the result of a job come {\"record\":\"submitted\",\"index\",\"line\",\"id\",\"job\",\"attempt\",\"at\"} and \"started\";
the first record is {\"record\":\"batch\",\"dvm\",\"batch\"}. The output of jobs without files of their own is dropped.
pdvm wait b1:a waits for the job with id a, b1:17 for that of line 17 if it has no id. The end of the DVM cancels it.
";
