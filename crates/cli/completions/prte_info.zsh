#compdef prte_info

autoload -U is-at-least

(( $+functions[_ferrite_values] )) ||
_ferrite_values() {
    local -a values
    values=(${(f)"$(pdvm --candidates $@[-1] "$PREFIX" ${(Q)words[1,CURRENT-1]} 2>/dev/null)"})
    compadd -a values
}

_prte_info() {
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
'*--param=[Show the parameters of a type (plm), or of a type and a name (plm ssh, or plm\:ssh); or one parameter by its name; \`all\` is all of them]:TYPE:_default' \
'--path=[Show a path\: prefix, bindir, libdir, incdir, mandir, pkglibdir, sysconfdir, or all]:WHICH:_default' \
'--show-version=[Show a version, or a part of it\: prte, or prte\:full, prte\:major, prte\:minor, prte\:release]:WHAT[\:PART]:_default' \
'*--prtemca=[Set a parameter, to see what becomes of it]:KEY:_ferrite_values parameters:KEY:_ferrite_values parameters' \
'--personality=[Show what holds under a personality\: prte or ompi]:NAME:(prte ompi)' \
'-a[Show everything\: versions, paths, build, all parameters, and those of the field that are not used]' \
'--all[Show everything\: versions, paths, build, all parameters, and those of the field that are not used]' \
'--params[Show all parameters]' \
'-t[Show the types of parameters]' \
'--types[Show the types of parameters]' \
'-c[Show how it was built]' \
'--config[Show how it was built]' \
'--arch[Show the architecture that it was built for]' \
'--hostname[Show the name of this host]' \
'(--json --pretty-print)--parsable[Write lines of fields with colons between them]' \
'(--pretty-print)--json[Write JSON]' \
'--pretty-print[Write text for people (the default)]' \
'-h[This text]' \
'--help[This text]' \
'-V[Name and version]' \
'--version[Name and version]' \
&& ret=0
}

(( $+functions[_prte_info_commands] )) ||
_prte_info_commands() {
    local commands; commands=()
    _describe -t commands 'prte_info commands' commands "$@"
}

if [ "$funcstack[1]" = "_prte_info" ]; then
    _prte_info "$@"
else
    compdef _prte_info prte_info
fi
