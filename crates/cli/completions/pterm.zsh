#compdef pterm

autoload -U is-at-least

_pterm() {
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
'*-h+[Show this text, or the help on a topic]::TOPIC:_default' \
'*--help=[Show this text, or the help on a topic]::TOPIC:_default' \
'--system-server-first[The system'\''s DVM (prte --system-server) if there is one, else another]' \
'--system-server-only[The system'\''s DVM (prte --system-server), or none]' \
'--do-not-connect[Connect to no DVM; the command then fails]' \
'-v[Report which DVM is ended]' \
'--verbose[Report which DVM is ended]' \
'(-v --verbose)-q[Print nothing but errors]' \
'(-v --verbose)--quiet[Print nothing but errors]' \
'-V[Show name and version]' \
'--version[Show name and version]' \
&& ret=0
}

(( $+functions[_pterm_commands] )) ||
_pterm_commands() {
    local commands; commands=()
    _describe -t commands 'pterm commands' commands "$@"
}

if [ "$funcstack[1]" = "_pterm" ]; then
    _pterm "$@"
else
    compdef _pterm pterm
fi
