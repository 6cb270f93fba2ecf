complete -c prte -s H -l host -d 'Hosts of the DVM: n0, n0:4 (slots), n0:* (all slots)' -r -f -a "(pdvm --candidates hosts (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c prte -l hostfile -d 'File with one host a line: name [slots=N] [max_slots=N] [username=U] [port=P]' -r -F
complete -c prte -l default-hostfile -d 'Hostfile that is used when nothing else names hosts; `none` = no such file' -r -F
complete -c prte -l keepalive -d 'End when the last writer of this pipe (a file descriptor) is gone' -r
complete -c prte -l report-uri -d 'Write how to find the DVM: `-` standard output, `+` standard error, or a file (removed at the end)' -r -F
complete -c prte -l report-pid -d 'Write the process id: `-` standard output, `+` standard error, or a file (removed at the end)' -r -F
complete -c prte -l listen -d 'Accept clients of other hosts at a port (0 = any). They need the file of --report-uri and the key file that it names. See --help dvm' -r
complete -c prte -l forward-signals -d 'Signals to pass on to the processes of all jobs: `all` (default), `none`, or names and numbers' -r
complete -c prte -s x -d 'Forward VAR to the processes of all jobs with its present value, set it to a value, or forward all names that begin with PREFIX; the options of a job win' -r
complete -c prte -l pmixmca -d 'Parameter of the PMIx library of the processes of all jobs (they see PMIX_MCA_KEY=VALUE)' -r
complete -c prte -l map-by -d 'Mapping of the processes of jobs (prun --help mapping); a job\'s own --map-by wins' -r -f -a "slot\t''
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
complete -c prte -l rank-by -d 'Order of their ranks (prun --help ranking); a job\'s own --rank-by wins' -r -f -a "slot\t''
node\t''
fill\t''
span\t''"
complete -c prte -l bind-to -d 'Binding of the processes (prun --help binding); a job\'s own --bind-to wins' -r -f -a "none\t''
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
complete -c prte -l output -d 'Tags, files and order of the output of jobs that say nothing of it (prun --help output)' -r -f -a "tag\t''
timestamp\t''
xml\t''
rank\t''
merge\t''
raw\t''
file=\t''
dir=\t''"
complete -c prte -l display -d 'Displays of jobs that ask for none (prun --help display)' -r -f -a "map\t''
map-devel\t''
allocation\t''
bind\t''
topo\t''
cpus\t''
map:parseable\t''
svg=\t''
html=\t''"
complete -c prte -l runtime-options -d 'Options of jobs (prun --help runtime-options); each that a job gives wins. show-progress is for prte itself' -r -f -a "donotlaunch\t''
donotspawn\t''
output-proctable\t''
recoverable\t''
continuous\t''
error-nonzero-status\t''
show-progress\t''
notifyerrors\t''
report-state-on-timeout\t''
fwd-environment\t''"
complete -c prte -l timeout -d 'Time limit of each job that has none of its own: seconds, or [[dd:]hh:]mm:ss' -r
complete -c prte -l prtemca -d 'Set a parameter of the runtime' -r -f -a "(pdvm --candidates parameters (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c prte -l launch-agent -d 'Command that starts a daemon on a node; the default is the prted next to this program' -r -f -a "(__fish_complete_command)"
complete -c prte -l prefix -d 'Directory where Ferrite is installed on the other nodes: DIR/bin/prted is the daemon. DIR/lib comes first in the LD_LIBRARY_PATH of processes' -r -f -a "(__fish_complete_directories)"
complete -c prte -l pmix-prefix -d 'Directory where PMIx is installed on every node: DIR/lib comes first in the LD_LIBRARY_PATH of daemons and processes, and PMIX_PREFIX is DIR' -r -f -a "(__fish_complete_directories)"
complete -c prte -l max-vm-size -d 'Start daemons on no more than this number of nodes' -r
complete -c prte -l exec-agent -d 'Command that starts each process of all jobs; the path of the program and its arguments are put behind it' -r -f -a "(__fish_complete_command)"
complete -c prte -l personality -d 'Accepted for scripts: prte or ompi' -r -f -a "prte\t''
ompi\t''"
complete -c prte -s h -l help -d 'Show this text, or the help on a topic' -r
complete -c prte -l daemonize -d 'Go into the background when the DVM is ready'
complete -c prte -l no-ready-msg -d 'Do not print `DVM ready`'
complete -c prte -l set-sid -d 'Run in a session of its own'
complete -c prte -l system-server -d 'Make this the system\'s DVM, which --system-server-first and --system-server-only select'
complete -c prte -l allow-run-as-root -d 'Allow root to run programs (also: PRTE_ALLOW_RUN_AS_ROOT=1 with PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1)'
complete -c prte -l noprefix -d 'Start prted from the PATH of each node, in the place of the one that is beside this program there'
complete -c prte -l leave-session-attached -d 'Keep the daemons attached to the command that started them, with their error output shown here'
complete -c prte -l debug-daemons -d 'Show what the daemons do'
complete -c prte -s v -l verbose -d 'Report each step of jobs and changes of size (parameter state_base_verbose 1)'
complete -c prte -s q -l quiet -d 'Print no warnings and no lines about progress; errors are printed all the same'
complete -c prte -l show-progress -d 'Show how many daemons have started, and which nodes are awaited'
complete -c prte -s V -l version -d 'Show name and version'
