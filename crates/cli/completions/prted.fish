complete -c prted -l debug-daemons -d 'Show what this daemon does'
complete -c prted -l leave-session-attached -d 'Stay attached to the command that started it'
complete -c prted -s h -l help -d 'Show this text'
complete -c prted -s V -l version -d 'Show name and version'
