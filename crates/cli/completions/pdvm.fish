# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_pdvm_global_optspecs
    string join \n json dvm-uri= dvm-key= pid= namespace= system-server-first system-server-only do-not-connect wait-to-connect= num-connect-retries= h/help V/version
end

function __fish_pdvm_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_pdvm_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_pdvm_using_subcommand
    set -l cmd (__fish_pdvm_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c pdvm -n "__fish_pdvm_needs_command" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_needs_command" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_needs_command" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_needs_command" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_needs_command" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_needs_command" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_needs_command" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_needs_command" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_needs_command" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_needs_command" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_needs_command" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_needs_command" -s V -l version -d 'Print version'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "status" -d 'Show the state of the DVM, and what it and its jobs wait for'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "nodes" -d 'List its nodes and their used slots'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "jobs" -d 'List its jobs in the order of their submission, or as trees of what has spawned what'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "job" -d 'Show one job: its states, its processes, why it failed'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "wait" -d 'Wait for the ends of jobs'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "kill" -d 'End a job, or all that descends from it too'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "release" -d 'Let processes of a job go on that wait for a debugger (prun --stop-in-init)'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "feed" -d 'Give standard input to a job that has none from its submitter (prun --detach --stdin RANK|all)'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "signal" -d 'Send a signal to the processes of a job'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "grow" -d 'Add nodes to it'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "shrink" -d 'Remove nodes from it; their processes are ended'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "resize" -d 'Change the number of processes of an elastic job (prun --elastic MIN:MAX)'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "session" -d 'List its sessions (nodes that were requested together, and their jobs), or give one an order'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "batch" -d 'List its batches (prun --batch LIST --detach), follow one, end one, or print its results'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "events" -d 'Print the steps of its jobs and of its changes of size, one a line'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "top" -d 'Show jobs and nodes, refreshed until you press q'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "web" -d 'Show its jobs and nodes as a page for a browser on this machine, until you press Ctrl-C'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "service" -d 'Join standard input and output with its service of JSON lines (docs/service.md), for other programs'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "trace" -d 'Show how long a job was in each state'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "metrics" -d 'Show its counters since its start'
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l all -d 'List all jobs that the DVM remembers (at least 100,000, see the parameter ferrite_history_jobs); the default is those that are not over, and the last 1,000 that are'
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l tree -d 'List each job below the job that has spawned it, also when that one is over'
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand wait" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand wait" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand wait" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand wait" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand wait" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand wait" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand wait" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand wait" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand wait" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand wait" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand wait" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -l tree -d 'End all jobs that descend from it as well (pdvm jobs --tree shows them), also when it is over itself. Without this option the jobs that it has spawned end with it, but neither those that were spawned as separate nor the children of jobs that are over'
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand release" -l ranks -d 'Only these processes: 0,2,5-7' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand release" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand release" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand release" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand release" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand release" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand release" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand release" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand release" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand release" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand release" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand release" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand feed" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand feed" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand feed" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand feed" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand feed" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand feed" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand feed" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand feed" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand feed" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand feed" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand feed" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -s H -l host -d 'Hosts to add: n5, n6:4 (slots), n7:+2 (two more slots). Without a number a host keeps its slots; a new one gets one slot per core' -r -f -a "(__fish_print_hostnames)"
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l hostfile -d 'File of hosts to add, one a line: name [slots=N|+N|-N] [max_slots=N] [username=U] [port=P]' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l activate -d 'Start daemons on nodes of the allocation that have none: names, +nK (the K-th node), +all, file=FILE' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l nodes -d 'Add this number of nodes of the allocation that have no daemon. In a job of Slurm, missing nodes are requested from Slurm' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l queue -d 'Request all nodes from this queue (Slurm: partition) instead of that of the DVM\'s job' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l rm-job -d 'Add the nodes of this job of Slurm, which was made for the DVM (salloc --no-shell); they are given back like others' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l alloc-id -d 'Add the nodes to this allocation; the default is a new one' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l req-id -d 'A name for the request, by which prun --alloc-refid finds the allocation' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l time-limit -d 'End the session this long after its nodes have come: its jobs are ended, and the nodes that it has brought leave. With --alloc-id the limit of that session becomes this much later. Nodes of Slurm are requested for this time' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l warn -d 'Warn its jobs this long before its end' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l inherit -d 'For a session that a process requests: what happens when the job of the process ends. default: the nodes stay, for everybody; none: the session ends and its nodes leave; child, child-default: as none and default, after the jobs that it has spawned have ended too' -r -f -a "default\t''
none\t''
child\t''
child-default\t''"
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l reserve -d 'Reserve the nodes: only jobs of this session run there (prun --alloc-id, --alloc-refid or --session-id)'
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l separate -d 'For a session that a process requests: it does not end with the session of that process'
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l push -d 'Push the nodes as a scheduler: no requester is told, and the nodes are for everybody'
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l wait -d 'Answer when the DVM has the new size, not when the change has begun. Ctrl-C ends the wait and not the change, but withdraws a request that Slurm has not granted'
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -s H -l host -d 'Nodes to remove' -r -f -a "(pdvm --candidates hosts (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l nodes -d 'Remove this number of nodes: idle ones first, and of those the latest; reserved nodes stay' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l alloc-id -d 'Remove nodes of this allocation; alone: all of them' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l req-id -d 'A name for the request, which the answer repeats' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l grace -d 'The longest time for processes there, whatever their jobs have asked for (prun --grace); 0: they are not told' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l push -d 'Take the nodes out as a scheduler: no requester is told'
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l force -d 'Take the nodes also from elastic jobs (prun --elastic) that would refuse, or have too few processes left'
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l wait -d 'Answer when the nodes are gone, not when the change has begun. Ctrl-C ends the wait and not the change'
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand resize" -l grace -d 'The time that the job has: to take the offer, or for its processes to end, which it then cannot put off; 0: the processes are ended at once. The default is that of the job (prun --grace) for fewer processes, and the parameter ferrite_resize_time' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand resize" -s H -l host -d 'Add these hosts first, as pdvm grow, if too few slots are free for more processes. They leave again when the job does not take the offer, and when it ends' -r -f -a "(pdvm --candidates hosts (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c pdvm -n "__fish_pdvm_using_subcommand resize" -l nodes -d 'Add so many nodes first, of the allocation or of Slurm, if too few slots are free. They leave like those of --host' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand resize" -l queue -d 'Request these nodes from this queue (Slurm: partition) instead of that of the DVM\'s job' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand resize" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand resize" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand resize" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand resize" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand resize" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand resize" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand resize" -l force -d 'End processes also if the job would refuse, or has fewer than its smallest size left'
complete -c pdvm -n "__fish_pdvm_using_subcommand resize" -l wait -d 'Answer when the job has the new size or keeps its own, not when it has been told. Ctrl-C ends the wait and not the change'
complete -c pdvm -n "__fish_pdvm_using_subcommand resize" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand resize" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand resize" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand resize" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand resize" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -f -a "list" -d 'List all sessions but session 0, the DVM\'s own'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -f -a "instantiate" -d 'Make a session with a given number, on nodes of an existing allocation or on added ones'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -f -a "pause" -d 'Stop its processes, and hold its jobs'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -f -a "resume" -d 'Continue its processes, and start held jobs'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -f -a "signal" -d 'Send a signal to its processes'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -f -a "extend" -d 'Lengthen its time limit'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -f -a "separate" -d 'Detach it from its parent and its owner, so that it outlives them'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -f -a "terminate" -d 'End it with its jobs and its child sessions; the nodes that it has brought leave the DVM'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l alloc-id -d 'An existing allocation whose nodes it shares; with --host: the id of the new allocation' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -s H -l host -d 'Nodes of the allocation, or nodes to add for this session' -r -f -a "(pdvm --candidates hosts (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l req-id -d 'A name for it, by which prun --alloc-refid finds it; without --alloc-id and --host: the name of an existing allocation' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l time-limit -d 'End it after this time' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l warn -d 'Warn its jobs this long before its end' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l reserve -d 'Reserve the added nodes: only jobs of this session run there'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l session-id -d 'The session with this number' -r -f -a "(pdvm --candidates sessions (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l alloc-id -d 'The session of the allocation with this id, which pdvm grow prints' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l alloc-refid -d 'The session whose request has this name (pdvm grow --req-id)' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l session-id -d 'The session with this number' -r -f -a "(pdvm --candidates sessions (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l alloc-id -d 'The session of the allocation with this id, which pdvm grow prints' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l alloc-refid -d 'The session whose request has this name (pdvm grow --req-id)' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l session-id -d 'The session with this number' -r -f -a "(pdvm --candidates sessions (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l alloc-id -d 'The session of the allocation with this id, which pdvm grow prints' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l alloc-refid -d 'The session whose request has this name (pdvm grow --req-id)' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l session-id -d 'The session with this number' -r -f -a "(pdvm --candidates sessions (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l alloc-id -d 'The session of the allocation with this id, which pdvm grow prints' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l alloc-refid -d 'The session whose request has this name (pdvm grow --req-id)' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l session-id -d 'The session with this number' -r -f -a "(pdvm --candidates sessions (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l alloc-id -d 'The session of the allocation with this id, which pdvm grow prints' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l alloc-refid -d 'The session whose request has this name (pdvm grow --req-id)' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l session-id -d 'The session with this number' -r -f -a "(pdvm --candidates sessions (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l alloc-id -d 'The session of the allocation with this id, which pdvm grow prints' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l alloc-refid -d 'The session whose request has this name (pdvm grow --req-id)' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and not __fish_seen_subcommand_from list attach cancel results" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and not __fish_seen_subcommand_from list attach cancel results" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and not __fish_seen_subcommand_from list attach cancel results" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and not __fish_seen_subcommand_from list attach cancel results" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and not __fish_seen_subcommand_from list attach cancel results" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and not __fish_seen_subcommand_from list attach cancel results" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and not __fish_seen_subcommand_from list attach cancel results" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and not __fish_seen_subcommand_from list attach cancel results" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and not __fish_seen_subcommand_from list attach cancel results" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and not __fish_seen_subcommand_from list attach cancel results" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and not __fish_seen_subcommand_from list attach cancel results" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and not __fish_seen_subcommand_from list attach cancel results" -f -a "list" -d 'List all batches, and how far they are'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and not __fish_seen_subcommand_from list attach cancel results" -f -a "attach" -d 'Print the records of a batch as they come, from the first one, until it is over; the exit code is its own. Ctrl-C ends the command and not the batch'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and not __fish_seen_subcommand_from list attach cancel results" -f -a "cancel" -d 'End a batch: its jobs are cancelled, and each task gets its record'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and not __fish_seen_subcommand_from list attach cancel results" -f -a "results" -d 'Print the records so far'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from list" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from list" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from list" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from list" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from list" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from list" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from list" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from list" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from list" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from list" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from attach" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from attach" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from attach" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from attach" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from attach" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from attach" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from attach" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from attach" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from attach" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from attach" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from attach" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from cancel" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from cancel" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from cancel" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from cancel" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from cancel" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from cancel" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from cancel" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from cancel" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from cancel" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from cancel" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from cancel" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from results" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from results" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from results" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from results" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from results" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from results" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from results" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from results" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from results" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from results" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand batch; and __fish_seen_subcommand_from results" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -s f -l follow -d 'Print events as they happen, until the DVM ends or you press Ctrl-C; the default is the steps of all jobs so far'
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l interval -d 'Time between two refreshes' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand web" -l port -d 'Port of 127.0.0.1; 0 = a free one' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand web" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand web" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand web" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand web" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand web" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand web" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand web" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand web" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand web" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand web" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand web" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand service" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand service" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand service" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand service" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand service" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand service" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand service" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand service" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand service" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand service" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand service" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l batch -d 'Show the tasks of this batch over time instead of a job; needs --html' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l html -d 'Write a page for a browser to this file, which is all that it needs; `-` = standard output' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l chrome -d 'Write a trace for Perfetto or chrome://tracing to this file; `-` = standard output' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -f -a "(pdvm --candidates jobs (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c pdvm -n "__fish_pdvm_using_subcommand wait" -f -a "(pdvm --candidates jobs (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -f -a "(pdvm --candidates jobs (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c pdvm -n "__fish_pdvm_using_subcommand release" -f -a "(pdvm --candidates jobs (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c pdvm -n "__fish_pdvm_using_subcommand feed" -f -a "(pdvm --candidates jobs (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -f -a "(pdvm --candidates jobs (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c pdvm -n "__fish_pdvm_using_subcommand resize" -f -a "(pdvm --candidates jobs (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -f -a "(pdvm --candidates jobs (commandline -ct) (commandline -opc) 2>/dev/null)"
