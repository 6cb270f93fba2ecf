#compdef prun

autoload -U is-at-least

(( $+functions[_ferrite_values] )) ||
_ferrite_values() {
    local -a values
    values=(${(f)"$(pdvm --candidates $@[-1] "$PREFIX" ${(Q)words[1,CURRENT-1]} 2>/dev/null)"})
    compadd -a values
}

_prun() {
    typeset -A opt_args
    typeset -a _arguments_options
    local ret=1

    if is-at-least 5.2; then
        _arguments_options=(-s -S -C)
    else
        _arguments_options=(-s -C)
    fi

    local context curcontext="$curcontext" state line
    _arguments "${_arguments_options[@]}" : \
'-n+[Number of processes of this program; the default is one per slot, or what the mapping gives]:N:_default' \
'--np=[Number of processes of this program; the default is one per slot, or what the mapping gives]:N:_default' \
'-N+[Processes on every node (the same as --map-by ppr\:N\:node)]:N:_default' \
'--wdir=[Working directory of the processes]:DIR:_files -/' \
'*--preload-files=[Files, directories and archives (.tar, .tar.gz, .tgz) that are copied to each node before the launch, separated by commas; each process finds them in a directory of its own, in which it starts]:FILES:_files' \
'--path=[Directories in which to look for the program, separated by \`\:\`, instead of PATH]:DIRS:_files -/' \
'--app=[File with one program a line, each with its options in front, in the place of programs on the line]:FILE:_files' \
'--exec-agent=[Command that starts each process, in the place of the parameter odls_base_exec_agent; the path of the program and its arguments are put behind it]:COMMAND:_cmdstring' \
'--app-prefix=[Directory where the program and its MPI library are installed on every node\: DIR/bin comes first in its PATH, DIR/lib in its LD_LIBRARY_PATH, and OPAL_PREFIX is DIR]:DIR:_files -/' \
'--app-pmix-prefix=[Directory where the PMIx library of the program is installed on every node\: DIR/lib comes first in its LD_LIBRARY_PATH, and PMIX_PREFIX is DIR. Also\: environment PMIX_APP_PREFIX]:DIR:_files -/' \
'--pset=[Name of a process set, unique in the DVM, that the processes of this program make up; it ends with the job]:NAME:_default' \
'*-H+[Hosts to use\: n0, n0\:4 (slots), n0\:* (all slots), +n2 (third node of the allocation), +e (idle nodes)]:HOST[\:SLOTS],...:_ferrite_values hosts' \
'*--host=[Hosts to use\: n0, n0\:4 (slots), n0\:* (all slots), +n2 (third node of the allocation), +e (idle nodes)]:HOST[\:SLOTS],...:_ferrite_values hosts' \
'--hostfile=[File with one host a line\: name \[slots=N\] \[max_slots=N\] \[username=U\] \[port=P\]]:FILE:_files' \
'*--map-by=[How processes are spread\: slot, node, core, package, ppr\:N\:node, rankfile\:FILE=F ..., and qualifiers such as \:PE=2]:POLICY[\:QUALIFIER]...:(slot node core hwthread l1cache l2cache l3cache numa package seq ppr\:1\:node slot\:PE=2 slot\:OVERSUBSCRIBE slot\:NOOVERSUBSCRIBE slot\:NOLOCAL core\:SPAN core\:HWTCPUS)' \
'*--rank-by=[How ranks are given to the placed processes\: slot, node, fill, span]:POLICY:(slot node fill span)' \
'*--bind-to=[Objects to bind to\: none, core, hwthread, numa, package ..., and qualifiers such as \:overload-allowed]:OBJECT[\:QUALIFIER]...:(none core hwthread l1cache l2cache l3cache numa package core\:overload-allowed core\:if-supported core\:REPORT)' \
'--mem=[Memory that each process takes of its node, as 4G; a node gets no more processes than it has memory for. A process that uses more is ended, where the node can limit it\: the daemon needs a control group (cgroup v2) that is given to its user. A job is told once where it cannot]:SIZE:_default' \
'*--resource=[Amounts that each process takes of its node, or of what all nodes share, besides a slot, as fpga=1; all of them take licence=1/job together. The parameter ferrite_resources states what there is]:NAME=AMOUNT[/job],...:_default' \
'*--add-host=[Hosts to add to the DVM before the job is placed\: n5, n6\:4 (slots), n7\:+2 (two more slots)]:HOST[\:SLOTS],...:_hosts' \
'--add-hostfile=[File of hosts to add, one a line; slots=+N and slots=-N change the slots of a host]:FILE:_files' \
'*--activate=[Start daemons on nodes of the allocation that have none\: names, +nK (the K-th node), +all, file=FILE]:NODE|+nK|+all|file=FILE,...:_files' \
'*-x+[Forward VAR with its present value, set it to a value, or forward all names that begin with PREFIX]:VAR|VAR=VALUE|PREFIX*:_default' \
'*--set-env=[Set a variable]:NAME=VALUE:_default' \
'*--unset-env=[Remove a variable; with a trailing \`*\`, all names with this prefix]:NAME:_default' \
'*--append-env=[Append VALUE to the present value; the character in brackets separates them, as in '\''PATH\[\:\]'\'']:NAME[c]:_default:NAME[c]:_default' \
'*--prepend-env=[Prepend VALUE to the present value]:NAME[c]:_default:NAME[c]:_default' \
'*--mca=[Open MPI parameter of this program (it sees OMPI_MCA_KEY=VALUE)]:KEY:_default:KEY:_default' \
'*--gmca=[Open MPI parameter of all programs of the job]:KEY:_default:KEY:_default' \
'*--pmixmca=[Parameter of the PMIx library of all programs (they see PMIX_MCA_KEY=VALUE)]:KEY:_default:KEY:_default' \
'*--tune=[Files with a parameter a line\: KEY = VALUE, or -x NAME=VALUE, --mca KEY VALUE, --prtemca KEY VALUE]:FILE,...:_files' \
'--stdin=[Readers of standard input\: a rank (0 without this option), \`all\`, or \`none\`]:RANK|all|none:_default' \
'*--output=[Tags, files and order of output\: tag, timestamp, rank, merge-stderr-to-stdout, xml, dir=D, file=F, \:pattern, \:copy, \:raw ...]:DIRECTIVE,...:(tag timestamp xml rank merge raw file= dir=)' \
'*--display=[Show before the launch\: map, map-devel, allocation, bind, topo, cpus; with \:parseable as XML; map\:svg=FILE as a picture]:DIRECTIVE,...:(map map-devel allocation bind topo cpus map\:parseable svg= html=)' \
'--timeout=[End the job after this time\: seconds, or \[\[dd\:\]hh\:\]mm\:ss. Also\: environment MPIEXEC_TIMEOUT]:TIME:_default' \
'--spawn-timeout=[Give up when the processes are not all started after this time]:TIME:_default' \
'--stop-in-app=[Tell the processes to wait at a place of the program'\''s own, perhaps that of this name, until a debugger or \`pdvm release\` lets them go on]::BREAKPOINT:_default' \
'--max-restarts=[Start a failed process again on its node, up to N times each (--runtime-options max-restarts=N)]:N:_default' \
'--grace=[Tell the processes before their nodes leave the DVM, and let them run for this time from then on. The nodes leave as soon as these processes have ended]:TIME:_default' \
'--grace-signal=[With --grace\: a signal for the processes on nodes that are to leave, as USR1. Programs with PMIx get the event PMIX_ALLOC_TIMEOUT_WARNING in any case]:SIGNAL:_default' \
'--elastic=[The job may have MIN to MAX processes, with all that it spawns. No shrink leaves it fewer than MIN, and its processes may refuse that their nodes leave, or ask for time, unless the shrink is forced (pdvm shrink --force). They are told 30 s before; --grace gives another time]:MIN\:MAX:_default' \
'*--runtime-options=[Options of the job\: error-nonzero-status=B, donotlaunch, donotspawn, recoverable, continuous, notifyerrors, fwd-environment, output-proctable, timeout=T ...]:OPTION[=VALUE],...:(donotlaunch donotspawn output-proctable recoverable continuous error-nonzero-status show-progress notifyerrors report-state-on-timeout fwd-environment)' \
'--forward-signals=[Signals to pass on to the processes\: \`all\` (default), \`none\`, or names and numbers]:SIGNAL,...:_default' \
'--priority=[Wait for slots, before jobs of a lower priority\: -1000 to 1000, 0 for jobs without this option. With --batch\: for the lines that do not say it themselves]:N:_default' \
'*--after=[Begin after these jobs have ended with code 0\: numbers, namespaces or names of tasks, separated by commas. When one ends otherwise, the job is never run and ends with code 1. It waits for slots]:JOBS:_default' \
'*--after-any=[Begin after these jobs have ended, with any code]:JOBS:_default' \
'--alloc-id=[The allocation with this id, which pdvm grow prints]:ID:_default' \
'--alloc-refid=[The allocation whose request has this name (pdvm grow --req-id)]:NAME:_default' \
'--session-id=[The session with this number]:N:_ferrite_values sessions' \
'--batch=[Run one job for each line of a file, or of standard input]:FILE|-:_files' \
'--results=[Write results to this file, and output of jobs to standard output and standard error. Without this option results go to standard output, and all output of jobs to standard error]:FILE:_files' \
'--resume=[Leave out jobs that have ended well according to this file of results, and append results to it. A file that is not there yet is made]:FILE:_files' \
'--retries=[Run a failed job again, up to this number of times]:N:_default' \
'--max-running=[Limit the number of jobs that are open at a time (default\: the slots of the DVM and 256)]:N:_default' \
'--dvm=[Run in a running DVM\: search, pid\:N, pid\:file\:PATH, uri\:URI, file\:PATH, ns\:NAME, system, system-first. Also\: environment PRTEPROXY_USE_DVM]:WHICH:_default' \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'*--prtemca=[Set a parameter of the runtime]:KEY:_ferrite_values parameters:KEY:_ferrite_values parameters' \
'--report-pid=[Write the process id\: \`-\` standard output, \`+\` standard error, or a file (which is kept)]:-|+|FILE:_files' \
'--personality=[Rules for the command line\: prte, or ompi and ompi5, which accept deprecated options without a warning]:NAME:(prte ompi)' \
'*-h+[Show this text, or the help on a topic]::TOPIC:_default' \
'*--help=[Show this text, or the help on a topic]::TOPIC:_default' \
'--set-cwd-to-session-dir[Start each process in a directory of its own, which is removed with the job]' \
'-s[Copy the program to each node before the launch, and start the copy; each process then starts in a directory of its own]' \
'--preload-binary[Copy the program to each node before the launch, and start the copy; each process then starts in a directory of its own]' \
'--no-app-prefix[The program gets no directory of PMIx, neither that of the DVM (--pmix-prefix) nor PMIX_APP_PREFIX. Also\: environment PMIX_APP_NO_PREFIX]' \
'--report-state-on-timeout[Show the state of every process when a time limit passes]' \
'--get-stack-traces[With --timeout\: show the stacks of all processes when it passes, before they are ended. Each node uses gdb, eu-stack, gstack or pstack, whichever it has. Parameter prte_timeout_for_stack_trace limits the wait]' \
'--stop-on-exec[Stop every process before its program'\''s first instruction, until a debugger or \`pdvm release\` lets it go on]' \
'--stop-in-init[Stop every process in PMIx_Init (MPI_Init), until a debugger or \`pdvm release\` lets it go on]' \
'--enable-recovery[The failure of a process does not end the job (the same as --runtime-options recoverable)]' \
'--continuous[Like --enable-recovery, and the other processes get a PMIx event for each failure (--runtime-options continuous)]' \
'--allow-run-as-root[Allow root to run programs (also\: PRTE_ALLOW_RUN_AS_ROOT=1 with PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1)]' \
'--detach[Print the namespace of the job and end; the job goes on. Its output is dropped unless it goes to files (--output dir=D). It has no standard input, unless --stdin names readers\: \`pdvm feed\` feeds them. With --batch\: print the batch and end; the DVM runs the list]' \
'--wait-for-slots[Wait for slots when they are taken; without this option the job is refused]' \
'--keep-going[Go on after a failed job; without this option no more jobs are submitted]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-v[Report what is done\: the DVM that is used, and each step of jobs (parameter state_base_verbose 1)]' \
'--verbose[Report what is done\: the DVM that is used, and each step of jobs (parameter state_base_verbose 1)]' \
'-q[Print no warnings and no lines about progress; errors are printed all the same]' \
'--quiet[Print no warnings and no lines about progress; errors are printed all the same]' \
'-V[Show name and version]' \
'--version[Show name and version]' \
&& ret=0
}

(( $+functions[_prun_commands] )) ||
_prun_commands() {
    local commands; commands=()
    _describe -t commands 'prun commands' commands "$@"
}

if [ "$funcstack[1]" = "_prun" ]; then
    _prun "$@"
else
    compdef _prun prun
fi
