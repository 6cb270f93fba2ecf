complete -c prte_info -l param -d 'Show the parameters of a type (plm), or of a type and a name (plm ssh, or plm:ssh); or one parameter by its name; `all` is all of them' -r
complete -c prte_info -l path -d 'Show a path: prefix, bindir, libdir, incdir, mandir, pkglibdir, sysconfdir, or all' -r
complete -c prte_info -l show-version -d 'Show a version, or a part of it: prte, or prte:full, prte:major, prte:minor, prte:release' -r
complete -c prte_info -l prtemca -d 'Set a parameter, to see what becomes of it' -r -f -a "(pdvm --candidates parameters (commandline -ct) (commandline -opc) 2>/dev/null)"
complete -c prte_info -l personality -d 'Show what holds under a personality: prte or ompi' -r -f -a "prte\t''
ompi\t''"
complete -c prte_info -s a -l all -d 'Show everything: versions, paths, build, all parameters, and those of the field that are not used'
complete -c prte_info -l params -d 'Show all parameters'
complete -c prte_info -s t -l types -d 'Show the types of parameters'
complete -c prte_info -s c -l config -d 'Show how it was built'
complete -c prte_info -l arch -d 'Show the architecture that it was built for'
complete -c prte_info -l hostname -d 'Show the name of this host'
complete -c prte_info -l parsable -d 'Write lines of fields with colons between them'
complete -c prte_info -l json -d 'Write JSON'
complete -c prte_info -l pretty-print -d 'Write text for people (the default)'
complete -c prte_info -s h -l help -d 'This text'
complete -c prte_info -s V -l version -d 'Name and version'
