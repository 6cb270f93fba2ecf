#compdef pdvm

autoload -U is-at-least

(( $+functions[_ferrite_values] )) ||
_ferrite_values() {
    local -a values
    values=(${(f)"$(pdvm --candidates $@[-1] "$PREFIX" ${(Q)words[1,CURRENT-1]} 2>/dev/null)"})
    compadd -a values
}

_pdvm() {
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
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_pdvm_commands" \
"*::: :->pdvm" \
&& ret=0
    case $state in
    (pdvm)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:pdvm-command-$line[1]:"
        case $line[1] in
            (status)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(nodes)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(jobs)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--all[List all jobs that the DVM remembers (at least 100,000, see the parameter ferrite_history_jobs); the default is those that are not over, and the last 1,000 that are]' \
'--tree[List each job below the job that has spawned it, also when that one is over]' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(job)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
':job -- Number of the job, or its namespace as prun --detach prints it:_ferrite_values jobs' \
&& ret=0
;;
(wait)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
'*::jobs -- Number of a job, its namespace as prun --detach prints it, or the name that its author has given it (of several jobs with a name, the latest):_ferrite_values jobs' \
&& ret=0
;;
(kill)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--tree[End all jobs that descend from it as well (pdvm jobs --tree shows them), also when it is over itself. Without this option the jobs that it has spawned end with it, but neither those that were spawned as separate nor the children of jobs that are over]' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
':job -- Number of the job, or its namespace as prun --detach prints it:_ferrite_values jobs' \
&& ret=0
;;
(release)
_arguments "${_arguments_options[@]}" : \
'--ranks=[Only these processes\: 0,2,5-7]:RANKS:_default' \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
':job -- Number of the job, or its namespace as prun --detach prints it:_ferrite_values jobs' \
&& ret=0
;;
(feed)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
':job -- Number of the job, or its namespace as prun --detach prints it:_ferrite_values jobs' \
&& ret=0
;;
(signal)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
':job -- Number of the job, or its namespace as prun --detach prints it:_ferrite_values jobs' \
':signal -- Name (USR1, SIGUSR1) or number:_default' \
&& ret=0
;;
(grow)
_arguments "${_arguments_options[@]}" : \
'*-H+[Hosts to add\: n5, n6\:4 (slots), n7\:+2 (two more slots). Without a number a host keeps its slots; a new one gets one slot per core]:HOST[\:SLOTS],...:_hosts' \
'*--host=[Hosts to add\: n5, n6\:4 (slots), n7\:+2 (two more slots). Without a number a host keeps its slots; a new one gets one slot per core]:HOST[\:SLOTS],...:_hosts' \
'--hostfile=[File of hosts to add, one a line\: name \[slots=N|+N|-N\] \[max_slots=N\] \[username=U\] \[port=P\]]:FILE:_files' \
'*--activate=[Start daemons on nodes of the allocation that have none\: names, +nK (the K-th node), +all, file=FILE]:NODE|+nK|+all|file=FILE,...:_files' \
'--nodes=[Add this number of nodes of the allocation that have no daemon. In a job of Slurm, missing nodes are requested from Slurm]:N:_default' \
'(-H --host --hostfile --activate)--queue=[Request all nodes from this queue (Slurm\: partition) instead of that of the DVM'\''s job]:NAME:_default' \
'(-H --host --hostfile --activate --nodes)--rm-job=[Add the nodes of this job of Slurm, which was made for the DVM (salloc --no-shell); they are given back like others]:JOB:_default' \
'--alloc-id=[Add the nodes to this allocation; the default is a new one]:ID:_default' \
'--req-id=[A name for the request, by which prun --alloc-refid finds the allocation]:NAME:_default' \
'--time-limit=[End the session this long after its nodes have come\: its jobs are ended, and the nodes that it has brought leave. With --alloc-id the limit of that session becomes this much later. Nodes of Slurm are requested for this time]:SECONDS:_default' \
'--warn=[Warn its jobs this long before its end]:SECONDS:_default' \
'--inherit=[For a session that a process requests\: what happens when the job of the process ends. default\: the nodes stay, for everybody; none\: the session ends and its nodes leave; child, child-default\: as none and default, after the jobs that it has spawned have ended too]:HOW:(default none child child-default)' \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--reserve[Reserve the nodes\: only jobs of this session run there (prun --alloc-id, --alloc-refid or --session-id)]' \
'--separate[For a session that a process requests\: it does not end with the session of that process]' \
'(--rm-job --reserve --time-limit --warn --inherit --separate)--push[Push the nodes as a scheduler\: no requester is told, and the nodes are for everybody]' \
'--wait[Answer when the DVM has the new size, not when the change has begun. Ctrl-C ends the wait and not the change, but withdraws a request that Slurm has not granted]' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(shrink)
_arguments "${_arguments_options[@]}" : \
'*-H+[Nodes to remove]:HOST,...:_ferrite_values hosts' \
'*--host=[Nodes to remove]:HOST,...:_ferrite_values hosts' \
'--nodes=[Remove this number of nodes\: idle ones first, and of those the latest; reserved nodes stay]:N:_default' \
'--alloc-id=[Remove nodes of this allocation; alone\: all of them]:ID:_default' \
'--req-id=[A name for the request, which the answer repeats]:NAME:_default' \
'--grace=[The longest time for processes there, whatever their jobs have asked for (prun --grace); 0\: they are not told]:SECONDS:_default' \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--push[Take the nodes out as a scheduler\: no requester is told]' \
'--force[Take the nodes also from elastic jobs (prun --elastic) that would refuse, or have too few processes left]' \
'--wait[Answer when the nodes are gone, not when the change has begun. Ctrl-C ends the wait and not the change]' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(resize)
_arguments "${_arguments_options[@]}" : \
'--grace=[The time that the job has\: to take the offer, or for its processes to end, which it then cannot put off; 0\: the processes are ended at once. The default is that of the job (prun --grace) for fewer processes, and the parameter ferrite_resize_time]:SECONDS:_default' \
'(--force)*-H+[Add these hosts first, as pdvm grow, if too few slots are free for more processes. They leave again when the job does not take the offer, and when it ends]:HOST[\:SLOTS],...:_ferrite_values hosts' \
'(--force)*--host=[Add these hosts first, as pdvm grow, if too few slots are free for more processes. They leave again when the job does not take the offer, and when it ends]:HOST[\:SLOTS],...:_ferrite_values hosts' \
'(--force)--nodes=[Add so many nodes first, of the allocation or of Slurm, if too few slots are free. They leave like those of --host]:N:_default' \
'(-H --host)--queue=[Request these nodes from this queue (Slurm\: partition) instead of that of the DVM'\''s job]:NAME:_default' \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--force[End processes also if the job would refuse, or has fewer than its smallest size left]' \
'--wait[Answer when the job has the new size or keeps its own, not when it has been told. Ctrl-C ends the wait and not the change]' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
':job -- Number of a job, or its namespace as prun --detach prints it. All that it has spawned is a part of it:_ferrite_values jobs' \
':size -- So many more, fewer, or in all:_default' \
&& ret=0
;;
(session)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_pdvm__subcmd__session_commands" \
"*::: :->session" \
&& ret=0

    case $state in
    (session)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:pdvm-session-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(instantiate)
_arguments "${_arguments_options[@]}" : \
'--alloc-id=[An existing allocation whose nodes it shares; with --host\: the id of the new allocation]:ID:_default' \
'*-H+[Nodes of the allocation, or nodes to add for this session]:HOST[\:SLOTS],...:_ferrite_values hosts' \
'*--host=[Nodes of the allocation, or nodes to add for this session]:HOST[\:SLOTS],...:_ferrite_values hosts' \
'--req-id=[A name for it, by which prun --alloc-refid finds it; without --alloc-id and --host\: the name of an existing allocation]:NAME:_default' \
'--time-limit=[End it after this time]:SECONDS:_default' \
'--warn=[Warn its jobs this long before its end]:SECONDS:_default' \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--reserve[Reserve the added nodes\: only jobs of this session run there]' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
':session -- Number of the new session:_default' \
&& ret=0
;;
(pause)
_arguments "${_arguments_options[@]}" : \
'--session-id=[The session with this number]:N:_ferrite_values sessions' \
'--alloc-id=[The session of the allocation with this id, which pdvm grow prints]:ID:_default' \
'--alloc-refid=[The session whose request has this name (pdvm grow --req-id)]:NAME:_default' \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(resume)
_arguments "${_arguments_options[@]}" : \
'--session-id=[The session with this number]:N:_ferrite_values sessions' \
'--alloc-id=[The session of the allocation with this id, which pdvm grow prints]:ID:_default' \
'--alloc-refid=[The session whose request has this name (pdvm grow --req-id)]:NAME:_default' \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(signal)
_arguments "${_arguments_options[@]}" : \
'--session-id=[The session with this number]:N:_ferrite_values sessions' \
'--alloc-id=[The session of the allocation with this id, which pdvm grow prints]:ID:_default' \
'--alloc-refid=[The session whose request has this name (pdvm grow --req-id)]:NAME:_default' \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
':signal -- Name (USR1, SIGUSR1) or number:_default' \
&& ret=0
;;
(extend)
_arguments "${_arguments_options[@]}" : \
'--session-id=[The session with this number]:N:_ferrite_values sessions' \
'--alloc-id=[The session of the allocation with this id, which pdvm grow prints]:ID:_default' \
'--alloc-refid=[The session whose request has this name (pdvm grow --req-id)]:NAME:_default' \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
':seconds -- The additional time:_default' \
&& ret=0
;;
(separate)
_arguments "${_arguments_options[@]}" : \
'--session-id=[The session with this number]:N:_ferrite_values sessions' \
'--alloc-id=[The session of the allocation with this id, which pdvm grow prints]:ID:_default' \
'--alloc-refid=[The session whose request has this name (pdvm grow --req-id)]:NAME:_default' \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(terminate)
_arguments "${_arguments_options[@]}" : \
'--session-id=[The session with this number]:N:_ferrite_values sessions' \
'--alloc-id=[The session of the allocation with this id, which pdvm grow prints]:ID:_default' \
'--alloc-refid=[The session whose request has this name (pdvm grow --req-id)]:NAME:_default' \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
        esac
    ;;
esac
;;
(batch)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_pdvm__subcmd__batch_commands" \
"*::: :->batch" \
&& ret=0

    case $state in
    (batch)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:pdvm-batch-command-$line[1]:"
        case $line[1] in
            (list)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(attach)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
':batch -- The batch, as prun --batch LIST --detach prints it:_default' \
&& ret=0
;;
(cancel)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
':batch -- The batch, as prun --batch LIST --detach prints it:_default' \
&& ret=0
;;
(results)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
':batch -- The batch, as prun --batch LIST --detach prints it:_default' \
&& ret=0
;;
        esac
    ;;
esac
;;
(events)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'-f[Print events as they happen, until the DVM ends or you press Ctrl-C; the default is the steps of all jobs so far]' \
'--follow[Print events as they happen, until the DVM ends or you press Ctrl-C; the default is the steps of all jobs so far]' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(top)
_arguments "${_arguments_options[@]}" : \
'--interval=[Time between two refreshes]:SECONDS:_default' \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(web)
_arguments "${_arguments_options[@]}" : \
'--port=[Port of 127.0.0.1; 0 = a free one]:PORT:_default' \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(service)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(trace)
_arguments "${_arguments_options[@]}" : \
'(--chrome)--batch=[Show the tasks of this batch over time instead of a job; needs --html]:BATCH:_default' \
'(--json --chrome)--html=[Write a page for a browser to this file, which is all that it needs; \`-\` = standard output]:FILE|-:_files' \
'(--json)--chrome=[Write a trace for Perfetto or chrome\://tracing to this file; \`-\` = standard output]:FILE|-:_files' \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
'::job -- Number of the job, or its namespace as prun --detach prints it:_ferrite_values jobs' \
&& ret=0
;;
(metrics)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (from prte --report-uri), or the one whose URI is in a file]:URI|file\:PATH:_files' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_files' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file\:PATH:_files' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for this time; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM again this many times, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
        esac
    ;;
esac
}

(( $+functions[_pdvm_commands] )) ||
_pdvm_commands() {
    local commands; commands=(
'status:Show the state of the DVM, and what it and its jobs wait for' \
'nodes:List its nodes and their used slots' \
'jobs:List its jobs in the order of their submission, or as trees of what has spawned what' \
'job:Show one job\: its states, its processes, why it failed' \
'wait:Wait for the ends of jobs' \
'kill:End a job, or all that descends from it too' \
'release:Let processes of a job go on that wait for a debugger (prun --stop-in-init)' \
'feed:Give standard input to a job that has none from its submitter (prun --detach --stdin RANK|all)' \
'signal:Send a signal to the processes of a job' \
'grow:Add nodes to it' \
'shrink:Remove nodes from it; their processes are ended' \
'resize:Change the number of processes of an elastic job (prun --elastic MIN\:MAX)' \
'session:List its sessions (nodes that were requested together, and their jobs), or give one an order' \
'batch:List its batches (prun --batch LIST --detach), follow one, end one, or print its results' \
'events:Print the steps of its jobs and of its changes of size, one a line' \
'top:Show jobs and nodes, refreshed until you press q' \
'web:Show its jobs and nodes as a page for a browser on this machine, until you press Ctrl-C' \
'service:Join standard input and output with its service of JSON lines (docs/service.md), for other programs' \
'trace:Show how long a job was in each state' \
'metrics:Show its counters since its start' \
    )
    _describe -t commands 'pdvm commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__batch_commands] )) ||
_pdvm__subcmd__batch_commands() {
    local commands; commands=(
'list:List all batches, and how far they are' \
'attach:Print the records of a batch as they come, from the first one, until it is over; the exit code is its own. Ctrl-C ends the command and not the batch' \
'cancel:End a batch\: its jobs are cancelled, and each task gets its record' \
'results:Print the records so far' \
    )
    _describe -t commands 'pdvm batch commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__batch__subcmd__attach_commands] )) ||
_pdvm__subcmd__batch__subcmd__attach_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm batch attach commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__batch__subcmd__cancel_commands] )) ||
_pdvm__subcmd__batch__subcmd__cancel_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm batch cancel commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__batch__subcmd__list_commands] )) ||
_pdvm__subcmd__batch__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm batch list commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__batch__subcmd__results_commands] )) ||
_pdvm__subcmd__batch__subcmd__results_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm batch results commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__events_commands] )) ||
_pdvm__subcmd__events_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm events commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__feed_commands] )) ||
_pdvm__subcmd__feed_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm feed commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__grow_commands] )) ||
_pdvm__subcmd__grow_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm grow commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__job_commands] )) ||
_pdvm__subcmd__job_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm job commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__jobs_commands] )) ||
_pdvm__subcmd__jobs_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm jobs commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__kill_commands] )) ||
_pdvm__subcmd__kill_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm kill commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__metrics_commands] )) ||
_pdvm__subcmd__metrics_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm metrics commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__nodes_commands] )) ||
_pdvm__subcmd__nodes_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm nodes commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__release_commands] )) ||
_pdvm__subcmd__release_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm release commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__resize_commands] )) ||
_pdvm__subcmd__resize_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm resize commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__service_commands] )) ||
_pdvm__subcmd__service_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm service commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__session_commands] )) ||
_pdvm__subcmd__session_commands() {
    local commands; commands=(
'list:List all sessions but session 0, the DVM'\''s own' \
'instantiate:Make a session with a given number, on nodes of an existing allocation or on added ones' \
'pause:Stop its processes, and hold its jobs' \
'resume:Continue its processes, and start held jobs' \
'signal:Send a signal to its processes' \
'extend:Lengthen its time limit' \
'separate:Detach it from its parent and its owner, so that it outlives them' \
'terminate:End it with its jobs and its child sessions; the nodes that it has brought leave the DVM' \
    )
    _describe -t commands 'pdvm session commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__session__subcmd__extend_commands] )) ||
_pdvm__subcmd__session__subcmd__extend_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm session extend commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__session__subcmd__instantiate_commands] )) ||
_pdvm__subcmd__session__subcmd__instantiate_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm session instantiate commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__session__subcmd__list_commands] )) ||
_pdvm__subcmd__session__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm session list commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__session__subcmd__pause_commands] )) ||
_pdvm__subcmd__session__subcmd__pause_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm session pause commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__session__subcmd__resume_commands] )) ||
_pdvm__subcmd__session__subcmd__resume_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm session resume commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__session__subcmd__separate_commands] )) ||
_pdvm__subcmd__session__subcmd__separate_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm session separate commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__session__subcmd__signal_commands] )) ||
_pdvm__subcmd__session__subcmd__signal_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm session signal commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__session__subcmd__terminate_commands] )) ||
_pdvm__subcmd__session__subcmd__terminate_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm session terminate commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__shrink_commands] )) ||
_pdvm__subcmd__shrink_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm shrink commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__signal_commands] )) ||
_pdvm__subcmd__signal_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm signal commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__status_commands] )) ||
_pdvm__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm status commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__top_commands] )) ||
_pdvm__subcmd__top_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm top commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__trace_commands] )) ||
_pdvm__subcmd__trace_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm trace commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__wait_commands] )) ||
_pdvm__subcmd__wait_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm wait commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__web_commands] )) ||
_pdvm__subcmd__web_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm web commands' commands "$@"
}

if [ "$funcstack[1]" = "_pdvm" ]; then
    _pdvm "$@"
else
    compdef _pdvm pdvm
fi
