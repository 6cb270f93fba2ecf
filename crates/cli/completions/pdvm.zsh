#compdef pdvm

autoload -U is-at-least

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
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
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
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(nodes)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(jobs)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(job)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
'-h[Print help]' \
'--help[Print help]' \
':job -- Number of the job, or its namespace as prun --detach prints it:_default' \
&& ret=0
;;
(kill)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
'-h[Print help]' \
'--help[Print help]' \
':job -- Number of the job, or its namespace as prun --detach prints it:_default' \
&& ret=0
;;
(signal)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
'-h[Print help]' \
'--help[Print help]' \
':job -- Number of the job, or its namespace as prun --detach prints it:_default' \
':signal -- Name (USR1, SIGUSR1) or number:_default' \
&& ret=0
;;
(grow)
_arguments "${_arguments_options[@]}" : \
'*-H+[Hosts to add\: n5, n6\:4 (slots), n7\:+2 (more slots than it has); without a number\: those that it has, or one per core]:HOST[:SLOTS],...:_default' \
'*--host=[Hosts to add\: n5, n6\:4 (slots), n7\:+2 (more slots than it has); without a number\: those that it has, or one per core]:HOST[:SLOTS],...:_default' \
'--hostfile=[The same from a file with one host a line\: name \[slots=N|+N|-N\] \[max_slots=N\] \[username=U\] \[port=P\]]:FILE:_default' \
'*--activate=[Nodes of the allocation that are to have a daemon\: names, +nK (the K-th node), +all, file=FILE]:NODE|+nK|+all|file=FILE,...:_default' \
'--nodes=[So many nodes of the allocation that have no daemon yet; what it lacks, Slurm is asked for, if the DVM runs in a job of it]:N:_default' \
'(-H --host --hostfile --activate)--queue=[All of them are asked for in this queue (of Slurm\: partition) instead of that of the DVM'\''s job]:NAME:_default' \
'(-H --host --hostfile --activate --nodes)--rm-job=[The nodes of a job of Slurm that somebody has got for this DVM (salloc --no-shell); they are given back like others]:JOB:_default' \
'--alloc-id=[The allocation that gets them; without it\: a new one]:ID:_default' \
'--req-id=[A name for the request, by which prun --alloc-refid finds the allocation]:NAME:_default' \
'--time-limit=[The session ends so long after its nodes have come\: its jobs end, the nodes that it has brought leave. With --alloc-id, the limit of that is so much longer. Nodes of Slurm are asked for so long]:SECONDS:_default' \
'--warn=[Its jobs are told so long before that]:SECONDS:_default' \
'--inherit=[Of a session that a process asked for. When its job ends\: default = the nodes stay, for everybody; none = session and nodes go; child, child-default = none and default, when all that the job has spawned has ended too]:HOW:(default none child child-default)' \
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'--reserve[Withhold the nodes from jobs of other sessions\: only prun --alloc-id (or --alloc-refid, --session-id) gets there]' \
'--separate[Of a session that a process asked for\: it does not end with the session which that process runs in]' \
'(--rm-job --reserve --time-limit --warn --inherit --separate)--push[As a scheduler\: nobody has asked for these nodes, nobody is told of them, and they are for everybody]' \
'--wait[Answer when the DVM has the new size, not when the change has begun. Ctrl-C ends the wait, and not the change; nodes that Slurm has not granted by then are not asked for any more]' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(shrink)
_arguments "${_arguments_options[@]}" : \
'*-H+[Nodes that leave]:HOST,...:_default' \
'*--host=[Nodes that leave]:HOST,...:_default' \
'--nodes=[So many nodes leave\: idle ones first, and of those the latest; none that is reserved]:N:_default' \
'--alloc-id=[The allocation that gives them back; alone\: all of its nodes]:ID:_default' \
'--req-id=[A name for the request, which the answer repeats]:NAME:_default' \
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'--push[As a scheduler\: nobody has asked for it, and nobody is told]' \
'--wait[Answer when the nodes are gone, not when the change has begun. Ctrl-C ends the wait, and not the change]' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(session)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
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
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(instantiate)
_arguments "${_arguments_options[@]}" : \
'--alloc-id=[An allocation that is there, whose nodes it shares; with --host for other nodes\: the id that theirs gets]:ID:_default' \
'*-H+[Nodes of the allocation, or others, which come for this session]:HOST[:SLOTS],...:_default' \
'*--host=[Nodes of the allocation, or others, which come for this session]:HOST[:SLOTS],...:_default' \
'--req-id=[A name for it, by which prun --alloc-refid finds it; without --alloc-id and --host\: the name of the allocation]:NAME:_default' \
'--time-limit=[It ends after so long]:SECONDS:_default' \
'--warn=[Its jobs are told so long before that]:SECONDS:_default' \
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'--reserve[Withhold the nodes that come from jobs of other sessions]' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
'-h[Print help]' \
'--help[Print help]' \
':session -- Its number:_default' \
&& ret=0
;;
(pause)
_arguments "${_arguments_options[@]}" : \
'--session-id=[The session with this number]:N:_default' \
'--alloc-id=[The session of the allocation with this id, which pdvm grow prints]:ID:_default' \
'--alloc-refid=[The session that was asked for under this name (pdvm grow --req-id)]:NAME:_default' \
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(resume)
_arguments "${_arguments_options[@]}" : \
'--session-id=[The session with this number]:N:_default' \
'--alloc-id=[The session of the allocation with this id, which pdvm grow prints]:ID:_default' \
'--alloc-refid=[The session that was asked for under this name (pdvm grow --req-id)]:NAME:_default' \
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(signal)
_arguments "${_arguments_options[@]}" : \
'--session-id=[The session with this number]:N:_default' \
'--alloc-id=[The session of the allocation with this id, which pdvm grow prints]:ID:_default' \
'--alloc-refid=[The session that was asked for under this name (pdvm grow --req-id)]:NAME:_default' \
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
'-h[Print help]' \
'--help[Print help]' \
':signal -- Name (USR1, SIGUSR1) or number:_default' \
&& ret=0
;;
(extend)
_arguments "${_arguments_options[@]}" : \
'--session-id=[The session with this number]:N:_default' \
'--alloc-id=[The session of the allocation with this id, which pdvm grow prints]:ID:_default' \
'--alloc-refid=[The session that was asked for under this name (pdvm grow --req-id)]:NAME:_default' \
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
'-h[Print help]' \
'--help[Print help]' \
':seconds -- How much longer:_default' \
&& ret=0
;;
(separate)
_arguments "${_arguments_options[@]}" : \
'--session-id=[The session with this number]:N:_default' \
'--alloc-id=[The session of the allocation with this id, which pdvm grow prints]:ID:_default' \
'--alloc-refid=[The session that was asked for under this name (pdvm grow --req-id)]:NAME:_default' \
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(terminate)
_arguments "${_arguments_options[@]}" : \
'--session-id=[The session with this number]:N:_default' \
'--alloc-id=[The session of the allocation with this id, which pdvm grow prints]:ID:_default' \
'--alloc-refid=[The session that was asked for under this name (pdvm grow --req-id)]:NAME:_default' \
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
        esac
    ;;
esac
;;
(events)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'-f[Show what happens from now on, until the DVM ends or you press Ctrl-C; without it\: the steps of all jobs so far]' \
'--follow[Show what happens from now on, until the DVM ends or you press Ctrl-C; without it\: the steps of all jobs so far]' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(top)
_arguments "${_arguments_options[@]}" : \
'--interval=[Time between two looks]:SECONDS:_default' \
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(trace)
_arguments "${_arguments_options[@]}" : \
'(--json)--chrome=[Write a trace for Perfetto or chrome\://tracing to this file; \`-\` = standard output]:FILE|-:_files' \
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
'-h[Print help]' \
'--help[Print help]' \
':job -- Number of the job, or its namespace as prun --detach prints it:_default' \
&& ret=0
;;
(metrics)
_arguments "${_arguments_options[@]}" : \
'--dvm-uri=[The DVM with this URI (what prte --report-uri wrote), or the one whose URI is in a file]:URI|file:PATH:_default' \
'--dvm-key=[Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names]:FILE:_default' \
'--pid=[The DVM with this process id, or the one whose process id is in a file]:N|file:PATH:_default' \
'--namespace=[The DVM with this name or namespace]:NAME:_default' \
'--wait-to-connect=[Look for the DVM for so long; with --num-connect-retries\: the time between two attempts]:SECONDS:_default' \
'--num-connect-retries=[Look for the DVM so often again, every second or as --wait-to-connect says]:N:_default' \
'--json[Answer in JSON (schema\: docs/pdvm-json.md)]' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; there is nothing that could be done then, so the command fails]' \
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
'status:How the DVM is, and what it and its jobs wait for' \
'nodes:Its nodes, and how full they are' \
'jobs:Its jobs, in the order of their submission' \
'job:One job\: its states, its processes, why it failed' \
'kill:End a job' \
'signal:Send a signal to the processes of a job' \
'grow:Give it more nodes' \
'shrink:Take nodes from it; processes there are ended' \
'session:Its sessions\: nodes that were asked for together, and the jobs that run there' \
'events:The steps of its jobs and of its changes of size, one a line' \
'top:Watch it\: jobs and nodes, refreshed until you press q' \
'trace:How long a job was in each state' \
'metrics:What it has counted since it began' \
    )
    _describe -t commands 'pdvm commands' commands "$@"
}
(( $+functions[_pdvm__subcmd__events_commands] )) ||
_pdvm__subcmd__events_commands() {
    local commands; commands=()
    _describe -t commands 'pdvm events commands' commands "$@"
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
(( $+functions[_pdvm__subcmd__session_commands] )) ||
_pdvm__subcmd__session_commands() {
    local commands; commands=(
'list:All but session 0, the DVM'\''s own' \
'instantiate:Make one, with a number of your choice\: on nodes of an allocation that is there, or on others, which come' \
'pause:Stop its processes, and start none' \
'resume:Let its processes go on, and start those of jobs that came meanwhile' \
'signal:Send a signal to its processes' \
'extend:Let it last longer than its time limit says' \
'separate:Let it outlive the session and the job that it hangs on' \
'terminate:End its jobs and the sessions that hang on it; the nodes that it has brought leave the DVM' \
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

if [ "$funcstack[1]" = "_pdvm" ]; then
    _pdvm "$@"
else
    compdef _pdvm pdvm
fi
