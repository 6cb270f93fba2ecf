_prte() {
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
                cmd="prte"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        prte)
            opts="-H -x -v -q -h -V --host --hostfile --default-hostfile --daemonize --no-ready-msg --set-sid --keepalive --system-server --report-uri --report-pid --listen --forward-signals --allow-run-as-root --pmixmca --map-by --rank-by --bind-to --output --display --runtime-options --timeout --prtemca --launch-agent --prefix --noprefix --pmix-prefix --max-vm-size --exec-agent --leave-session-attached --debug-daemons --verbose --quiet --show-progress --personality --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --host)
                    COMPREPLY=($(compgen -W "$(pdvm --candidates hosts "${cur}" "${COMP_WORDS[@]:0:COMP_CWORD}" 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                -H)
                    COMPREPLY=($(compgen -W "$(pdvm --candidates hosts "${cur}" "${COMP_WORDS[@]:0:COMP_CWORD}" 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                --hostfile)
                    local oldifs
                    if [ -n "${IFS+x}" ]; then
                        oldifs="$IFS"
                    fi
                    IFS=$'\n'
                    COMPREPLY=($(compgen -f "${cur}"))
                    if [ -n "${oldifs+x}" ]; then
                        IFS="$oldifs"
                    fi
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o filenames
                    fi
                    return 0
                    ;;
                --default-hostfile)
                    local oldifs
                    if [ -n "${IFS+x}" ]; then
                        oldifs="$IFS"
                    fi
                    IFS=$'\n'
                    COMPREPLY=($(compgen -f "${cur}"))
                    if [ -n "${oldifs+x}" ]; then
                        IFS="$oldifs"
                    fi
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o filenames
                    fi
                    return 0
                    ;;
                --keepalive)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --report-uri)
                    local oldifs
                    if [ -n "${IFS+x}" ]; then
                        oldifs="$IFS"
                    fi
                    IFS=$'\n'
                    COMPREPLY=($(compgen -f "${cur}"))
                    if [ -n "${oldifs+x}" ]; then
                        IFS="$oldifs"
                    fi
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o filenames
                    fi
                    return 0
                    ;;
                --report-pid)
                    local oldifs
                    if [ -n "${IFS+x}" ]; then
                        oldifs="$IFS"
                    fi
                    IFS=$'\n'
                    COMPREPLY=($(compgen -f "${cur}"))
                    if [ -n "${oldifs+x}" ]; then
                        IFS="$oldifs"
                    fi
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o filenames
                    fi
                    return 0
                    ;;
                --listen)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --forward-signals)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -x)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --pmixmca)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --map-by)
                    COMPREPLY=($(compgen -W "slot node core hwthread l1cache l2cache l3cache numa package seq ppr:1:node slot:PE=2 slot:OVERSUBSCRIBE slot:NOOVERSUBSCRIBE slot:NOLOCAL core:SPAN core:HWTCPUS" -- "${cur}"))
                    return 0
                    ;;
                --rank-by)
                    COMPREPLY=($(compgen -W "slot node fill span" -- "${cur}"))
                    return 0
                    ;;
                --bind-to)
                    COMPREPLY=($(compgen -W "none core hwthread l1cache l2cache l3cache numa package core:overload-allowed core:if-supported core:REPORT" -- "${cur}"))
                    return 0
                    ;;
                --output)
                    COMPREPLY=($(compgen -W "tag timestamp xml rank merge raw file= dir=" -- "${cur}"))
                    return 0
                    ;;
                --display)
                    COMPREPLY=($(compgen -W "map map-devel allocation bind topo cpus map:parseable svg= html=" -- "${cur}"))
                    return 0
                    ;;
                --runtime-options)
                    COMPREPLY=($(compgen -W "donotlaunch donotspawn output-proctable recoverable continuous error-nonzero-status show-progress notifyerrors report-state-on-timeout fwd-environment" -- "${cur}"))
                    return 0
                    ;;
                --timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --prtemca)
                    COMPREPLY=($(compgen -W "$(pdvm --candidates parameters "${cur}" "${COMP_WORDS[@]:0:COMP_CWORD}" 2>/dev/null)" -- "${cur}"))
                    return 0
                    ;;
                --launch-agent)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --prefix)
                    COMPREPLY=()
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o plusdirs
                    fi
                    return 0
                    ;;
                --pmix-prefix)
                    COMPREPLY=()
                    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
                        compopt -o plusdirs
                    fi
                    return 0
                    ;;
                --max-vm-size)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --exec-agent)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --personality)
                    COMPREPLY=($(compgen -W "prte ompi" -- "${cur}"))
                    return 0
                    ;;
                --help)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -h)
                    COMPREPLY=($(compgen -f "${cur}"))
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
    complete -F _prte -o nosort -o bashdefault -o default prte
else
    complete -F _prte -o bashdefault -o default prte
fi
