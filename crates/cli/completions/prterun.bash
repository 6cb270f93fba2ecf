_prterun() {
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
                cmd="prterun"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        prterun)
            opts="-n -N -H -x -v -q -h -V --np --wdir --set-cwd-to-session-dir --path --app --exec-agent --app-prefix --app-pmix-prefix --no-app-prefix --pset --host --hostfile --map-by --rank-by --bind-to --add-host --add-hostfile --activate --set-env --unset-env --append-env --prepend-env --mca --gmca --pmixmca --tune --stdin --output --display --timeout --spawn-timeout --report-state-on-timeout --get-stack-traces --enable-recovery --continuous --runtime-options --forward-signals --allow-run-as-root --prtemca --report-pid --verbose --quiet --personality --default-hostfile --launch-agent --prefix --noprefix --pmix-prefix --max-vm-size --leave-session-attached --debug-daemons --no-ready-msg --dvm --alloc-id --alloc-refid --session-id --help --version"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --np)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -n)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -N)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --wdir)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --path)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --app)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --exec-agent)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --app-prefix)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --app-pmix-prefix)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --pset)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --host)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -H)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --hostfile)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --map-by)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --rank-by)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --bind-to)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --add-host)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --add-hostfile)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --activate)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -x)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --set-env)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --unset-env)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --append-env)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --prepend-env)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --mca)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --gmca)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --pmixmca)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --tune)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --stdin)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --output)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --display)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --spawn-timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --runtime-options)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --forward-signals)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --prtemca)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --report-pid)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --personality)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --default-hostfile)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --launch-agent)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --prefix)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --pmix-prefix)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --max-vm-size)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --dvm)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --alloc-id)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --alloc-refid)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --session-id)
                    COMPREPLY=($(compgen -f "${cur}"))
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
    complete -F _prterun -o nosort -o bashdefault -o default prterun
else
    complete -F _prterun -o bashdefault -o default prterun
fi
