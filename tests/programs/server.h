/* The server to which a tool attaches, in a word of a command line: `pid=N`, `nspace=NAME` or `uri=URI`. */
#include <pmix_tool.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The attribute for a word that names a server; false for any other word. */
static bool names_server(const char *word, pmix_info_t *info)
{
    const char *value = strchr(word, '=');
    if (!value)
        return false;
    pid_t pid = atoi(value + 1);
    if (!strncmp(word, "pid=", 4))
        PMIX_INFO_LOAD(info, PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
    else if (!strncmp(word, "nspace=", 7))
        PMIX_INFO_LOAD(info, PMIX_SERVER_NSPACE, value + 1, PMIX_STRING);
    else
        PMIX_INFO_LOAD(info, PMIX_SERVER_URI, value + 1, PMIX_STRING);
    return true;
}
