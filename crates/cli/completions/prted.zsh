#compdef prted

autoload -U is-at-least

_prted() {
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
'--debug-daemons[Show what this daemon does]' \
'--leave-session-attached[Stay attached to the command that started it]' \
'-h[Show this text]' \
'--help[Show this text]' \
'-V[Show name and version]' \
'--version[Show name and version]' \
&& ret=0
}

(( $+functions[_prted_commands] )) ||
_prted_commands() {
    local commands; commands=()
    _describe -t commands 'prted commands' commands "$@"
}

if [ "$funcstack[1]" = "_prted" ]; then
    _prted "$@"
else
    compdef _prted prted
fi
