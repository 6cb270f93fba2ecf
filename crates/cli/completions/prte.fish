complete -c prte -s H -l host -d 'Hosts of the DVM: n0, n0:4 (slots), n0:* (all slots)' -r -f -a "(__fish_print_hostnames)"
complete -c prte -l hostfile -d 'File with one host a line: name [slots=N] [max_slots=N] [username=U] [port=P]' -r -F
complete -c prte -l default-hostfile -d 'Hostfile that is used when nothing else names hosts; `none` = no such file' -r -F
complete -c prte -l keepalive -d 'End when the last writer of this pipe (a file descriptor) is gone' -r
complete -c prte -l report-uri -d 'Write how to find the DVM: `-` standard output, `+` standard error, or a file (removed at the end)' -r -F
complete -c prte -l report-pid -d 'Write the process id: `-` standard output, `+` standard error, or a file (removed at the end)' -r -F
complete -c prte -l listen -d 'Accept clients of other hosts at a port (0 = any). They need the file of --report-uri and the key file that it names. See --help dvm' -r
complete -c prte -l forward-signals -d 'Signals to pass on to the processes of all jobs: `all` (default), `none`, or names and numbers' -r
complete -c prte -s x -d 'Forward VAR to the processes of all jobs with its present value, set it to a value, or forward all names that begin with PREFIX; the options of a job win' -r
complete -c prte -l pmixmca -d 'Parameter of the PMIx library of the processes of all jobs (they see PMIX_MCA_KEY=VALUE)' -r
complete -c prte -l prtemca -d 'Set a parameter of the runtime' -r
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
