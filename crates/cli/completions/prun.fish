complete -c prun -s n -l np -d 'Number of processes of this program; the default is one per slot, or what the mapping gives' -r
complete -c prun -s N -d 'Processes on every node (the same as --map-by ppr:N:node)' -r
complete -c prun -l wdir -d 'Working directory of the processes' -r -f -a "(__fish_complete_directories)"
complete -c prun -l preload-files -d 'Files, directories and archives (.tar, .tar.gz, .tgz) that are copied to each node before the launch, separated by commas; each process finds them in a directory of its own, in which it starts' -r -F
complete -c prun -l path -d 'Directories in which to look for the program, separated by `:`, instead of PATH' -r -f -a "(__fish_complete_directories)"
complete -c prun -l app -d 'File with one program a line, each with its options in front, in the place of programs on the line' -r -F
complete -c prun -l exec-agent -d 'Command that starts each process, in the place of the parameter odls_base_exec_agent; the path of the program and its arguments are put behind it' -r -f -a "(__fish_complete_command)"
complete -c prun -l app-prefix -d 'Directory where the program and its MPI library are installed on every node: DIR/bin comes first in its PATH, DIR/lib in its LD_LIBRARY_PATH, and OPAL_PREFIX is DIR' -r -f -a "(__fish_complete_directories)"
complete -c prun -l app-pmix-prefix -d 'Directory where the PMIx library of the program is installed on every node: DIR/lib comes first in its LD_LIBRARY_PATH, and PMIX_PREFIX is DIR. Also: environment PMIX_APP_PREFIX' -r -f -a "(__fish_complete_directories)"
complete -c prun -l pset -d 'Name of a process set, unique in the DVM, that the processes of this program make up; it ends with the job' -r
complete -c prun -s H -l host -d 'Hosts to use: n0, n0:4 (slots), n0:* (all slots), +n2 (third node of the allocation), +e (idle nodes)' -r -f -a "(pdvm --candidates hosts (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c prun -l hostfile -d 'File with one host a line: name [slots=N] [max_slots=N] [username=U] [port=P]' -r -F
complete -c prun -l map-by -d 'How processes are spread: slot, node, core, package, ppr:N:node, rankfile:FILE=F ..., and qualifiers such as :PE=2' -r -f -a "slot\t''
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
complete -c prun -l rank-by -d 'How ranks are given to the placed processes: slot, node, fill, span' -r -f -a "slot\t''
node\t''
fill\t''
span\t''"
complete -c prun -l bind-to -d 'Objects to bind to: none, core, hwthread, numa, package ..., and qualifiers such as :overload-allowed' -r -f -a "none\t''
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
complete -c prun -l mem -d 'Memory that each process takes of its node, as 4G; a node gets no more processes than it has memory for. A process that uses more is ended, where the node can limit it: the daemon needs a control group (cgroup v2) that is given to its user. A job is told once where it cannot' -r
complete -c prun -l resource -d 'Amounts that each process takes of its node, or of what all nodes share, besides a slot, as fpga=1; all of them take licence=1/job together. The parameter ferrite_resources states what there is' -r
complete -c prun -l add-host -d 'Hosts to add to the DVM before the job is placed: n5, n6:4 (slots), n7:+2 (two more slots)' -r -f -a "(__fish_print_hostnames)"
complete -c prun -l add-hostfile -d 'File of hosts to add, one a line; slots=+N and slots=-N change the slots of a host' -r -F
complete -c prun -l activate -d 'Start daemons on nodes of the allocation that have none: names, +nK (the K-th node), +all, file=FILE' -r -F
complete -c prun -s x -d 'Forward VAR with its present value, set it to a value, or forward all names that begin with PREFIX' -r
complete -c prun -l set-env -d 'Set a variable' -r
complete -c prun -l unset-env -d 'Remove a variable; with a trailing `*`, all names with this prefix' -r
complete -c prun -l append-env -d 'Append VALUE to the present value; the character in brackets separates them, as in \'PATH[:]\'' -r
complete -c prun -l prepend-env -d 'Prepend VALUE to the present value' -r
complete -c prun -l mca -d 'Open MPI parameter of this program (it sees OMPI_MCA_KEY=VALUE)' -r
complete -c prun -l gmca -d 'Open MPI parameter of all programs of the job' -r
complete -c prun -l pmixmca -d 'Parameter of the PMIx library of all programs (they see PMIX_MCA_KEY=VALUE)' -r
complete -c prun -l tune -d 'Files with a parameter a line: KEY = VALUE, or -x NAME=VALUE, --mca KEY VALUE, --prtemca KEY VALUE' -r -F
complete -c prun -l stdin -d 'Readers of standard input: a rank (0 without this option), `all`, or `none`' -r
complete -c prun -l output -d 'Tags, files and order of output: tag, timestamp, rank, merge-stderr-to-stdout, xml, dir=D, file=F, :pattern, :copy, :raw ...' -r -f -a "tag\t''
timestamp\t''
xml\t''
rank\t''
merge\t''
raw\t''
file=\t''
dir=\t''"
complete -c prun -l display -d 'Show before the launch: map, map-devel, allocation, bind, topo, cpus; with :parseable as XML; map:svg=FILE as a picture' -r -f -a "map\t''
map-devel\t''
allocation\t''
bind\t''
topo\t''
cpus\t''
map:parseable\t''
svg=\t''
html=\t''"
complete -c prun -l timeout -d 'End the job after this time: seconds, or [[dd:]hh:]mm:ss. Also: environment MPIEXEC_TIMEOUT' -r
complete -c prun -l spawn-timeout -d 'Give up when the processes are not all started after this time' -r
complete -c prun -l stop-in-app -d 'Tell the processes to wait at a place of the program\'s own, perhaps that of this name, until a debugger or `pdvm release` lets them go on' -r
complete -c prun -l max-restarts -d 'Start a failed process again on its node, up to N times each (--runtime-options max-restarts=N)' -r
complete -c prun -l grace -d 'Tell the processes before their nodes leave the DVM, and let them run for this time from then on. The nodes leave as soon as these processes have ended' -r
complete -c prun -l grace-signal -d 'With --grace: a signal for the processes on nodes that are to leave, as USR1. Programs with PMIx get the event PMIX_ALLOC_TIMEOUT_WARNING in any case' -r
complete -c prun -l elastic -d 'The job may have MIN to MAX processes, with all that it spawns. No shrink leaves it fewer than MIN, and its processes may refuse that their nodes leave, or ask for time, unless the shrink is forced (pdvm shrink --force). They are told 30 s before; --grace gives another time' -r
complete -c prun -l runtime-options -d 'Options of the job: error-nonzero-status=B, donotlaunch, donotspawn, recoverable, continuous, notifyerrors, fwd-environment, output-proctable, timeout=T ...' -r -f -a "donotlaunch\t''
donotspawn\t''
output-proctable\t''
recoverable\t''
continuous\t''
error-nonzero-status\t''
show-progress\t''
notifyerrors\t''
report-state-on-timeout\t''
fwd-environment\t''"
complete -c prun -l forward-signals -d 'Signals to pass on to the processes: `all` (default), `none`, or names and numbers' -r
complete -c prun -l priority -d 'Wait for slots, before jobs of a lower priority: -1000 to 1000, 0 for jobs without this option. With --batch: for the lines that do not say it themselves' -r
complete -c prun -l after -d 'Begin after these jobs have ended with code 0: numbers, namespaces or names of tasks, separated by commas. When one ends otherwise, the job is never run and ends with code 1. It waits for slots' -r
complete -c prun -l after-any -d 'Begin after these jobs have ended, with any code' -r
complete -c prun -l alloc-id -d 'The allocation with this id, which pdvm grow prints' -r
complete -c prun -l alloc-refid -d 'The allocation whose request has this name (pdvm grow --req-id)' -r
complete -c prun -l session-id -d 'The session with this number' -r -f -a "(pdvm --candidates sessions (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c prun -l batch -d 'Run one job for each line of a file, or of standard input' -r -F
complete -c prun -l results -d 'Write results to this file, and output of jobs to standard output and standard error. Without this option results go to standard output, and all output of jobs to standard error' -r -F
complete -c prun -l resume -d 'Leave out jobs that have ended well according to this file of results, and append results to it. A file that is not there yet is made' -r -F
complete -c prun -l retries -d 'Run a failed job again, up to this number of times' -r
complete -c prun -l max-running -d 'Limit the number of jobs that are open at a time (default: the slots of the DVM and 256)' -r
complete -c prun -l dvm -d 'Run in a running DVM: search, pid:N, pid:file:PATH, uri:URI, file:PATH, ns:NAME, system, system-first. Also: environment PRTEPROXY_USE_DVM' -r
complete -c prun -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c prun -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c prun -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c prun -l namespace -d 'The DVM with this name or namespace' -r
complete -c prun -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c prun -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c prun -l prtemca -d 'Set a parameter of the runtime' -r -f -a "(pdvm --candidates parameters (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c prun -l report-pid -d 'Write the process id: `-` standard output, `+` standard error, or a file (which is kept)' -r -F
complete -c prun -l personality -d 'Rules for the command line: prte, or ompi and ompi5, which accept deprecated options without a warning' -r -f -a "prte\t''
ompi\t''"
complete -c prun -s h -l help -d 'Show this text, or the help on a topic' -r
complete -c prun -l set-cwd-to-session-dir -d 'Start each process in a directory of its own, which is removed with the job'
complete -c prun -s s -l preload-binary -d 'Copy the program to each node before the launch, and start the copy; each process then starts in a directory of its own'
complete -c prun -l no-app-prefix -d 'The program gets no directory of PMIx, neither that of the DVM (--pmix-prefix) nor PMIX_APP_PREFIX. Also: environment PMIX_APP_NO_PREFIX'
complete -c prun -l report-state-on-timeout -d 'Show the state of every process when a time limit passes'
complete -c prun -l get-stack-traces -d 'With --timeout: show the stacks of all processes when it passes, before they are ended. Each node uses gdb, eu-stack, gstack or pstack, whichever it has. Parameter prte_timeout_for_stack_trace limits the wait'
complete -c prun -l stop-on-exec -d 'Stop every process before its program\'s first instruction, until a debugger or `pdvm release` lets it go on'
complete -c prun -l stop-in-init -d 'Stop every process in PMIx_Init (MPI_Init), until a debugger or `pdvm release` lets it go on'
complete -c prun -l enable-recovery -d 'The failure of a process does not end the job (the same as --runtime-options recoverable)'
complete -c prun -l continuous -d 'Like --enable-recovery, and the other processes get a PMIx event for each failure (--runtime-options continuous)'
complete -c prun -l allow-run-as-root -d 'Allow root to run programs (also: PRTE_ALLOW_RUN_AS_ROOT=1 with PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1)'
complete -c prun -l detach -d 'Print the namespace of the job and end; the job goes on. Its output is dropped unless it goes to files (--output dir=D). It has no standard input, unless --stdin names readers: `pdvm feed` feeds them. With --batch: print the batch and end; the DVM runs the list'
complete -c prun -l wait-for-slots -d 'Wait for slots when they are taken; without this option the job is refused'
complete -c prun -l keep-going -d 'Go on after a failed job; without this option no more jobs are submitted'
complete -c prun -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c prun -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c prun -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c prun -s v -l verbose -d 'Report what is done: the DVM that is used, and each step of jobs (parameter state_base_verbose 1)'
complete -c prun -s q -l quiet -d 'Print no warnings and no lines about progress; errors are printed all the same'
complete -c prun -s V -l version -d 'Show name and version'
