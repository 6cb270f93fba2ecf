complete -c pterm -l dvm-uri -d 'The DVM with this URI (from prte --report-uri), or the one whose URI is in a file' -r -F
complete -c pterm -l dvm-key -d 'Key file of a DVM on another host (prte --listen), instead of the one that the file of --dvm-uri names' -r -F
complete -c pterm -l pid -d 'The DVM with this process id, or the one whose process id is in a file' -r -F
complete -c pterm -l namespace -d 'The DVM with this name or namespace' -r
complete -c pterm -l wait-to-connect -d 'Look for the DVM for this time; with --num-connect-retries: the time between two attempts' -r
complete -c pterm -l num-connect-retries -d 'Look for the DVM again this many times, every second or as --wait-to-connect says' -r
complete -c pterm -s h -l help -d 'Show this text, or the help on a topic' -r
complete -c pterm -l system-server-first -d 'The system\'s DVM (prte --system-server) if there is one, else another'
complete -c pterm -l system-server-only -d 'The system\'s DVM (prte --system-server), or none'
complete -c pterm -l do-not-connect -d 'Connect to no DVM; the command then fails'
complete -c pterm -s v -l verbose -d 'Report which DVM is ended'
complete -c pterm -s q -l quiet -d 'Print nothing but errors'
complete -c pterm -s V -l version -d 'Show name and version'
