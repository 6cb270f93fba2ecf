complete -c prterun -s n -l np -d 'Number of processes of this program; the default is one per slot, or what the mapping gives' -r
complete -c prterun -s N -d 'Processes on every node (the same as --map-by ppr:N:node)' -r
complete -c prterun -l wdir -d 'Working directory of the processes' -r -f -a "(__fish_complete_directories)"
complete -c prterun -l preload-files -d 'Files, directories and archives (.tar, .tar.gz, .tgz) that are copied to each node before the launch, separated by commas; each process finds them in a directory of its own, in which it starts' -r -F
complete -c prterun -l path -d 'Directories in which to look for the program, separated by `:`, instead of PATH' -r -f -a "(__fish_complete_directories)"
complete -c prterun -l app -d 'File with one program a line, each with its options in front, in the place of programs on the line' -r -F
complete -c prterun -l exec-agent -d 'Command that starts each process, in the place of the parameter odls_base_exec_agent; the path of the program and its arguments are put behind it' -r -f -a "(__fish_complete_command)"
complete -c prterun -l app-prefix -d 'Directory where the program and its MPI library are installed on every node: DIR/bin comes first in its PATH, DIR/lib in its LD_LIBRARY_PATH, and OPAL_PREFIX is DIR' -r -f -a "(__fish_complete_directories)"
complete -c prterun -l app-pmix-prefix -d 'Directory where the PMIx library of the program is installed on every node: DIR/lib comes first in its LD_LIBRARY_PATH, and PMIX_PREFIX is DIR. Also: environment PMIX_APP_PREFIX' -r -f -a "(__fish_complete_directories)"
complete -c prterun -l pset -d 'Name of a process set, unique in the DVM, that the processes of this program make up; it ends with the job' -r
complete -c prterun -s H -l host -d 'Hosts to use: n0, n0:4 (slots), n0:* (all slots), +n2 (third node of the allocation), +e (idle nodes)' -r -f -a "(pdvm --candidates hosts (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c prterun -l hostfile -d 'File with one host a line: name [slots=N] [max_slots=N] [username=U] [port=P]' -r -F
complete -c prterun -l map-by -d 'How processes are spread: slot, node, core, package, ppr:N:node, rankfile:FILE=F ..., and qualifiers such as :PE=2' -r -f -a "slot\t''
node\t''
core\t''
hwthread\t''
l1cache\t''
l2cache\t''
l3cache\t''
numa\t''
package\t''
seq\t''
ppr:1:node\t''
slot:PE=2\t''
slot:OVERSUBSCRIBE\t''
slot:NOOVERSUBSCRIBE\t''
slot:NOLOCAL\t''
core:SPAN\t''
core:HWTCPUS\t''"
complete -c prterun -l rank-by -d 'How ranks are given to the placed processes: slot, node, fill, span' -r -f -a "slot\t''
node\t''
fill\t''
span\t''"
complete -c prterun -l bind-to -d 'Objects to bind to: none, core, hwthread, numa, package ..., and qualifiers such as :overload-allowed' -r -f -a "none\t''
core\t''
hwthread\t''
l1cache\t''
l2cache\t''
l3cache\t''
numa\t''
package\t''
core:overload-allowed\t''
core:if-supported\t''
core:REPORT\t''"
complete -c prterun -l mem -d 'Memory that each process takes of its node, as 4G; a node gets no more processes than it has memory for. A process that uses more is ended, where the node can limit it: the daemon needs a control group (cgroup v2) that is given to its user. A job is told once where it cannot' -r
complete -c prterun -l resource -d 'Amounts that each process takes of its node, or of what all nodes share, besides a slot, as fpga=1; all of them take licence=1/job together. The parameter ferrite_resources states what there is' -r
complete -c prterun -l add-host -d 'Hosts to add to the DVM before the job is placed: n5, n6:4 (slots), n7:+2 (two more slots)' -r -f -a "(__fish_print_hostnames)"
complete -c prterun -l add-hostfile -d 'File of hosts to add, one a line; slots=+N and slots=-N change the slots of a host' -r -F
complete -c prterun -l activate -d 'Start daemons on nodes of the allocation that have none: names, +nK (the K-th node), +all, file=FILE' -r -F
complete -c prterun -s x -d 'Forward VAR with its present value, set it to a value, or forward all names that begin with PREFIX' -r
complete -c prterun -l set-env -d 'Set a variable' -r
complete -c prterun -l unset-env -d 'Remove a variable; with a trailing `*`, all names with this prefix' -r
complete -c prterun -l append-env -d 'Append VALUE to the present value; the character in brackets separates them, as in \'PATH[:]\'' -r
complete -c prterun -l prepend-env -d 'Prepend VALUE to the present value' -r
complete -c prterun -l mca -d 'Open MPI parameter of this program (it sees OMPI_MCA_KEY=VALUE)' -r
complete -c prterun -l gmca -d 'Open MPI parameter of all programs of the job' -r
complete -c prterun -l pmixmca -d 'Parameter of the PMIx library of all programs (they see PMIX_MCA_KEY=VALUE)' -r
complete -c prterun -l tune -d 'Files with a parameter a line: KEY = VALUE, or -x NAME=VALUE, --mca KEY VALUE, --prtemca KEY VALUE' -r -F
complete -c prterun -l stdin -d 'Readers of standard input: a rank (0 without this option), `all`, or `none`' -r
complete -c prterun -l output -d 'Tags, files and order of output: tag, timestamp, rank, merge-stderr-to-stdout, xml, dir=D, file=F, :pattern, :copy, :raw ...' -r -f -a "tag\t''
timestamp\t''
xml\t''
rank\t''
merge\t''
raw\t''
file=\t''
dir=\t''"
complete -c prterun -l display -d 'Show before the launch: map, map-devel, allocation, bind, topo, cpus; with :parseable as XML; map:svg=FILE as a picture' -r -f -a "map\t''
map-devel\t''
allocation\t''
bind\t''
topo\t''
cpus\t''
map:parseable\t''
svg=\t''
html=\t''"
complete -c prterun -l timeout -d 'End the job after this time: seconds, or [[dd:]hh:]mm:ss. Also: environment MPIEXEC_TIMEOUT' -r
complete -c prterun -l spawn-timeout -d 'Give up when the processes are not all started after this time' -r
complete -c prterun -l stop-in-app -d 'Tell the processes to wait at a place of the program\'s own, perhaps that of this name, until a debugger or `pdvm release` lets them go on' -r
complete -c prterun -l max-restarts -d 'Start a failed process again on its node, up to N times each (--runtime-options max-restarts=N)' -r
complete -c prterun -l grace -d 'Tell the processes before their nodes leave the DVM, and let them run for this time from then on. The nodes leave as soon as these processes have ended' -r
complete -c prterun -l grace-signal -d 'With --grace: a signal for the processes on nodes that are to leave, as USR1. Programs with PMIx get the event PMIX_ALLOC_TIMEOUT_WARNING in any case' -r
complete -c prterun -l elastic -d 'The job may have MIN to MAX processes, with all that it spawns. No shrink leaves it fewer than MIN, and its processes may refuse that their nodes leave, or ask for time, unless the shrink is forced (pdvm shrink --force). They are told 30 s before; --grace gives another time' -r
complete -c prterun -l runtime-options -d 'Options of the job: error-nonzero-status=B, donotlaunch, donotspawn, recoverable, continuous, notifyerrors, fwd-environment, output-proctable, timeout=T ...' -r -f -a "donotlaunch\t''
donotspawn\t''
output-proctable\t''
recoverable\t''
continuous\t''
error-nonzero-status\t''
show-progress\t''
notifyerrors\t''
report-state-on-timeout\t''
fwd-environment\t''"
complete -c prterun -l forward-signals -d 'Signals to pass on to the processes: `all` (default), `none`, or names and numbers' -r
complete -c prterun -l prtemca -d 'Set a parameter of the runtime' -r -f -a "(pdvm --candidates parameters (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c prterun -l report-pid -d 'Write the process id: `-` standard output, `+` standard error, or a file (which is kept)' -r -F
complete -c prterun -l personality -d 'Rules for the command line: prte, or ompi and ompi5, which accept deprecated options without a warning' -r -f -a "prte\t''
ompi\t''"
complete -c prterun -l default-hostfile -d 'Hostfile that is used when nothing else names hosts; `none` = no such file' -r -F
complete -c prterun -l launch-agent -d 'Command that starts a daemon on a node; the default is the prted next to this program' -r -f -a "(__fish_complete_command)"
complete -c prterun -l prefix -d 'Directory where Ferrite is installed on the other nodes: DIR/bin/prted is the daemon. DIR/lib comes first in the LD_LIBRARY_PATH of processes' -r -f -a "(__fish_complete_directories)"
complete -c prterun -l pmix-prefix -d 'Directory where PMIx is installed on every node: DIR/lib comes first in the LD_LIBRARY_PATH of daemons and processes, and PMIX_PREFIX is DIR' -r -f -a "(__fish_complete_directories)"
complete -c prterun -l max-vm-size -d 'Start daemons on no more than this number of nodes' -r
complete -c prterun -l dvm -d 'Run in a running DVM: search, pid:N, pid:file:PATH, uri:URI, file:PATH, ns:NAME, system, system-first. Also: environment PRTEPROXY_USE_DVM' -r
complete -c prterun -l alloc-id -d 'The allocation with this id, which pdvm grow prints' -r
complete -c prterun -l alloc-refid -d 'The allocation whose request has this name (pdvm grow --req-id)' -r
complete -c prterun -l session-id -d 'The session with this number' -r -f -a "(pdvm --candidates sessions (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c prterun -s h -l help -d 'Show this text, or the help on a topic' -r
complete -c prterun -l set-cwd-to-session-dir -d 'Start each process in a directory of its own, which is removed with the job'
complete -c prterun -s s -l preload-binary -d 'Copy the program to each node before the launch, and start the copy; each process then starts in a directory of its own'
complete -c prterun -l no-app-prefix -d 'The program gets no directory of PMIx, neither that of the DVM (--pmix-prefix) nor PMIX_APP_PREFIX. Also: environment PMIX_APP_NO_PREFIX'
complete -c prterun -l report-state-on-timeout -d 'Show the state of every process when a time limit passes'
complete -c prterun -l get-stack-traces -d 'With --timeout: show the stacks of all processes when it passes, before they are ended. Each node uses gdb, eu-stack, gstack or pstack, whichever it has. Parameter prte_timeout_for_stack_trace limits the wait'
complete -c prterun -l stop-on-exec -d 'Stop every process before its program\'s first instruction, until a debugger or `pdvm release` lets it go on'
complete -c prterun -l stop-in-init -d 'Stop every process in PMIx_Init (MPI_Init), until a debugger or `pdvm release` lets it go on'
complete -c prterun -l enable-recovery -d 'The failure of a process does not end the job (the same as --runtime-options recoverable)'
complete -c prterun -l continuous -d 'Like --enable-recovery, and the other processes get a PMIx event for each failure (--runtime-options continuous)'
complete -c prterun -l allow-run-as-root -d 'Allow root to run programs (also: PRTE_ALLOW_RUN_AS_ROOT=1 with PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1)'
complete -c prterun -s v -l verbose -d 'Report what is done: the DVM that is used, and each step of jobs (parameter state_base_verbose 1)'
complete -c prterun -s q -l quiet -d 'Print no warnings and no lines about progress; errors are printed all the same'
complete -c prterun -l noprefix -d 'Start prted from the PATH of each node, in the place of the one that is beside this program there'
complete -c prterun -l leave-session-attached -d 'Keep the daemons attached to the command that started them, with their error output shown here'
complete -c prterun -l debug-daemons -d 'Show what the daemons do'
complete -c prterun -l no-ready-msg -d 'Accepted for scripts: prterun never announces that it is ready'
complete -c prterun -s V -l version -d 'Show name and version'
