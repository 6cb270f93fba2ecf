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

complete -c pdvm -n "__fish_pdvm_needs_command" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_needs_command" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_needs_command" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_needs_command" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_needs_command" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_needs_command" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_needs_command" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_needs_command" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_needs_command" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_needs_command" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_needs_command" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_needs_command" -s V -l version -d 'Print version'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "status" -d 'How the DVM is, and what it and its jobs wait for'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "nodes" -d 'Its nodes, and how full they are'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "jobs" -d 'Its jobs, in the order of their submission'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "job" -d 'One job: its states, its processes, why it failed'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "kill" -d 'End a job'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "signal" -d 'Send a signal to the processes of a job'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "grow" -d 'Give it more nodes'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "shrink" -d 'Take nodes from it; processes there are ended'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "session" -d 'Its sessions: nodes that were asked for together, and the jobs that run there'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "events" -d 'The steps of its jobs and of its changes of size, one a line'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "top" -d 'Watch it: jobs and nodes, refreshed until you press q'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "trace" -d 'How long a job was in each state'
complete -c pdvm -n "__fish_pdvm_needs_command" -f -a "metrics" -d 'What it has counted since it began'
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand status" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand nodes" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand jobs" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand job" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand kill" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand signal" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -s H -l host -d 'Hosts to add: n5, n6:4 (slots), n7:+2 (more slots than it has); without a number: those that it has, or one per core' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l hostfile -d 'The same from a file with one host a line: name [slots=N|+N|-N] [max_slots=N] [username=U] [port=P]' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l activate -d 'Nodes of the allocation that are to have a daemon: names, +nK (the K-th node), +all, file=FILE' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l nodes -d 'So many nodes of the allocation that have no daemon yet; what it lacks, Slurm is asked for, if the DVM runs in a job of it' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l queue -d 'All of them are asked for in this queue (of Slurm: partition) instead of that of the DVM\'s job' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l rm-job -d 'The nodes of a job of Slurm that somebody has got for this DVM (salloc --no-shell); they are given back like others' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l alloc-id -d 'The allocation that gets them; without it: a new one' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l req-id -d 'A name for the request, by which prun --alloc-refid finds the allocation' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l time-limit -d 'The session ends so long after its nodes have come: its jobs end, the nodes that it has brought leave. With --alloc-id, the limit of that is so much longer. Nodes of Slurm are asked for so long' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l warn -d 'Its jobs are told so long before that' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l inherit -d 'Of a session that a process asked for. When its job ends: default = the nodes stay, for everybody; none = session and nodes go; child, child-default = none and default, when all that the job has spawned has ended too' -r -f -a "default\t''
none\t''
child\t''
child-default\t''"
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l reserve -d 'Withhold the nodes from jobs of other sessions: only prun --alloc-id (or --alloc-refid, --session-id) gets there'
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l separate -d 'Of a session that a process asked for: it does not end with the session which that process runs in'
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l push -d 'As a scheduler: nobody has asked for these nodes, nobody is told of them, and they are for everybody'
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l wait -d 'Answer when the DVM has the new size, not when the change has begun. Ctrl-C ends the wait, and not the change; nodes that Slurm has not granted by then are not asked for any more'
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand grow" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -s H -l host -d 'Nodes that leave' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l nodes -d 'So many nodes leave: idle ones first, and of those the latest; none that is reserved' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l alloc-id -d 'The allocation that gives them back; alone: all of its nodes' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l req-id -d 'A name for the request, which the answer repeats' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l push -d 'As a scheduler: nobody has asked for it, and nobody is told'
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l wait -d 'Answer when the nodes are gone, not when the change has begun. Ctrl-C ends the wait, and not the change'
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand shrink" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -f -a "list" -d 'All but session 0, the DVM\'s own'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -f -a "instantiate" -d 'Make one, with a number of your choice: on nodes of an allocation that is there, or on others, which come'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -f -a "pause" -d 'Stop its processes, and start none'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -f -a "resume" -d 'Let its processes go on, and start those of jobs that came meanwhile'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -f -a "signal" -d 'Send a signal to its processes'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -f -a "extend" -d 'Let it last longer than its time limit says'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -f -a "separate" -d 'Let it outlive the session and the job that it hangs on'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and not __fish_seen_subcommand_from list instantiate pause resume signal extend separate terminate" -f -a "terminate" -d 'End its jobs and the sessions that hang on it; the nodes that it has brought leave the DVM'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l alloc-id -d 'An allocation that is there, whose nodes it shares; with --host for other nodes: the id that theirs gets' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -s H -l host -d 'Nodes of the allocation, or others, which come for this session' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l req-id -d 'A name for it, by which prun --alloc-refid finds it; without --alloc-id and --host: the name of the allocation' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l time-limit -d 'It ends after so long' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l warn -d 'Its jobs are told so long before that' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l reserve -d 'Withhold the nodes that come from jobs of other sessions'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from instantiate" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l session-id -d 'The session with this number' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l alloc-id -d 'The session of the allocation with this id, which pdvm grow prints' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l alloc-refid -d 'The session that was asked for under this name (pdvm grow --req-id)' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from pause" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l session-id -d 'The session with this number' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l alloc-id -d 'The session of the allocation with this id, which pdvm grow prints' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l alloc-refid -d 'The session that was asked for under this name (pdvm grow --req-id)' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from resume" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l session-id -d 'The session with this number' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l alloc-id -d 'The session of the allocation with this id, which pdvm grow prints' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l alloc-refid -d 'The session that was asked for under this name (pdvm grow --req-id)' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from signal" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l session-id -d 'The session with this number' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l alloc-id -d 'The session of the allocation with this id, which pdvm grow prints' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l alloc-refid -d 'The session that was asked for under this name (pdvm grow --req-id)' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from extend" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l session-id -d 'The session with this number' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l alloc-id -d 'The session of the allocation with this id, which pdvm grow prints' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l alloc-refid -d 'The session that was asked for under this name (pdvm grow --req-id)' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from separate" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l session-id -d 'The session with this number' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l alloc-id -d 'The session of the allocation with this id, which pdvm grow prints' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l alloc-refid -d 'The session that was asked for under this name (pdvm grow --req-id)' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand session; and __fish_seen_subcommand_from terminate" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -s f -l follow -d 'Show what happens from now on, until the DVM ends or you press Ctrl-C; without it: the steps of all jobs so far'
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand events" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l interval -d 'Time between two looks' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand top" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l chrome -d 'Write a trace for Perfetto or chrome://tracing to this file; `-` = standard output' -r -F
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand trace" -s h -l help -d 'Print help'
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -l dvm-uri -d 'The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -l namespace -d 'The DVM with this name or namespace' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -l wait-to-connect -d 'Look for the DVM for so long; with --num-connect-retries: the time between two attempts' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -l num-connect-retries -d 'Look for the DVM so often again, every second or as --wait-to-connect says' -r
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -l json -d 'Answer in JSON (schema: docs/pdvm-json.md)'
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -l do-not-connect -d 'Connect to no DVM; there is nothing that could be done then, so the command fails'
complete -c pdvm -n "__fish_pdvm_using_subcommand metrics" -s h -l help -d 'Print help'
