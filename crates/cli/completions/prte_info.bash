_prte_info() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="prte_info"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        prte_info)
            opts="-a -t -c -h -V --all --param --params --types --path --config --arch --hostname --show-version --parsable --json --pretty-print --prtemca --personality --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --param)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --path)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --show-version)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --prtemca)
                    COMPREPLY=($(compgen -W "$(pdvm --candidates parameters "${cur}" "${COMP_WORDS[@]:0:COMP_CWORD}" 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                --personality)
                    COMPREPLY=($(compgen -W "prte ompi" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _prte_info -o nosort -o bashdefault -o default prte_info
else
    complete -F _prte_info -o bashdefault -o default prte_info
fi
