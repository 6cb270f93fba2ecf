#compdef prte

autoload -U is-at-least

(( $+functions[_ferrite_values] )) ||
_ferrite_values() {
    local -a values
    values=(${(f)"$(pdvm --candidates $@[-1] "$PREFIX" ${(Q)words[1,CURRENT-1]} 2>/dev/null)"})
    compadd -a values
}

_prte() {
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
'*-H+[Hosts of the DVM\: n0, n0\:4 (slots), n0\:* (all slots)]:HOST[\:SLOTS],...:_ferrite_values hosts' \
'*--host=[Hosts of the DVM\: n0, n0\:4 (slots), n0\:* (all slots)]:HOST[\:SLOTS],...:_ferrite_values hosts' \
'--hostfile=[File with one host a line\: name \[slots=N\] \[max_slots=N\] \[username=U\] \[port=P\]]:FILE:_files' \
'--default-hostfile=[Hostfile that is used when nothing else names hosts; \`none\` = no such file]:FILE:_files' \
'--keepalive=[End when the last writer of this pipe (a file descriptor) is gone]:FD:_default' \
'--report-uri=[Write how to find the DVM\: \`-\` standard output, \`+\` standard error, or a file (removed at the end)]:-|+|FILE:_files' \
'--report-pid=[Write the process id\: \`-\` standard output, \`+\` standard error, or a file (removed at the end)]:-|+|FILE:_files' \
'--listen=[Accept clients of other hosts at a port (0 = any). They need the file of --report-uri and the key file that it names. See --help dvm]:[ADDRESS\:]PORT:_default' \
'--forward-signals=[Signals to pass on to the processes of all jobs\: \`all\` (default), \`none\`, or names and numbers]:SIGNAL,...:_default' \
'*-x+[Forward VAR to the processes of all jobs with its present value, set it to a value, or forward all names that begin with PREFIX; the options of a job win]:VAR|VAR=VALUE|PREFIX*:_default' \
'*--pmixmca=[Parameter of the PMIx library of the processes of all jobs (they see PMIX_MCA_KEY=VALUE)]:KEY:_default:KEY:_default' \
'--map-by=[Mapping of the processes of jobs (prun --help mapping); a job'\''s own --map-by wins]:POLICY[\:QUALIFIER]...:(slot node core hwthread l1cache l2cache l3cache numa package seq ppr\:1\:node slot\:PE=2 slot\:OVERSUBSCRIBE slot\:NOOVERSUBSCRIBE slot\:NOLOCAL core\:SPAN core\:HWTCPUS)' \
'--rank-by=[Order of their ranks (prun --help ranking); a job'\''s own --rank-by wins]:POLICY:(slot node fill span)' \
'--bind-to=[Binding of the processes (prun --help binding); a job'\''s own --bind-to wins]:TARGET[\:QUALIFIER]...:(none core hwthread l1cache l2cache l3cache numa package core\:overload-allowed core\:if-supported core\:REPORT)' \
'*--output=[Tags, files and order of the output of jobs that say nothing of it (prun --help output)]:DIRECTIVE,...:(tag timestamp xml rank merge raw file= dir=)' \
'*--display=[Displays of jobs that ask for none (prun --help display)]:DIRECTIVE,...:(map map-devel allocation bind topo cpus map\:parseable svg= html=)' \
'*--runtime-options=[Options of jobs (prun --help runtime-options); each that a job gives wins. show-progress is for prte itself]:OPTION[=VALUE],...:(donotlaunch donotspawn output-proctable recoverable continuous error-nonzero-status show-progress notifyerrors report-state-on-timeout fwd-environment)' \
'--timeout=[Time limit of each job that has none of its own\: seconds, or \[\[dd\:\]hh\:\]mm\:ss]:TIME:_default' \
'*--prtemca=[Set a parameter of the runtime]:KEY:_ferrite_values parameters:KEY:_ferrite_values parameters' \
'--launch-agent=[Command that starts a daemon on a node; the default is the prted next to this program]:COMMAND:_cmdstring' \
'--prefix=[Directory where Ferrite is installed on the other nodes\: DIR/bin/prted is the daemon. DIR/lib comes first in the LD_LIBRARY_PATH of processes]:DIR:_files -/' \
'--pmix-prefix=[Directory where PMIx is installed on every node\: DIR/lib comes first in the LD_LIBRARY_PATH of daemons and processes, and PMIX_PREFIX is DIR]:DIR:_files -/' \
'--max-vm-size=[Start daemons on no more than this number of nodes]:N:_default' \
'--exec-agent=[Command that starts each process of all jobs; the path of the program and its arguments are put behind it]:COMMAND:_cmdstring' \
'--personality=[Accepted for scripts\: prte or ompi]:NAME:(prte ompi)' \
'*-h+[Show this text, or the help on a topic]::TOPIC:_default' \
'*--help=[Show this text, or the help on a topic]::TOPIC:_default' \
'--daemonize[Go into the background when the DVM is ready]' \
'--no-ready-msg[Do not print \`DVM ready\`]' \
'--set-sid[Run in a session of its own]' \
'--system-server[Make this the system'\''s DVM, which --system-server-first and --system-server-only select]' \
'--allow-run-as-root[Allow root to run programs (also\: PRTE_ALLOW_RUN_AS_ROOT=1 with PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1)]' \
'--noprefix[Start prted from the PATH of each node, in the place of the one that is beside this program there]' \
'--leave-session-attached[Keep the daemons attached to the command that started them, with their error output shown here]' \
'--debug-daemons[Show what the daemons do]' \
'-v[Report each step of jobs and changes of size (parameter state_base_verbose 1)]' \
'--verbose[Report each step of jobs and changes of size (parameter state_base_verbose 1)]' \
'-q[Print no warnings and no lines about progress; errors are printed all the same]' \
'--quiet[Print no warnings and no lines about progress; errors are printed all the same]' \
'--show-progress[Show how many daemons have started, and which nodes are awaited]' \
'-V[Show name and version]' \
'--version[Show name and version]' \
&& ret=0
}

(( $+functions[_prte_commands] )) ||
_prte_commands() {
    local commands; commands=()
    _describe -t commands 'prte commands' commands "$@"
}

if [ "$funcstack[1]" = "_prte" ]; then
    _prte "$@"
else
    compdef _prte prte
fi
