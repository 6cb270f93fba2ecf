/* A tool of PMIx with a name of its own: `again NAME AT [beside]` attaches to a server, runs a job and finalizes
   itself, and prints `NAME STATUS`. With `beside` it starts itself once more with the same name while it is connected.
   AT names the server: `pid=N`, `nspace=NAME` or `uri=URI`. */

#include <pmix_tool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server.h"
#include "status.h"

static const char *name;

static void told(const char *step, pmix_status_t status)
{
    if (status == PMIX_SUCCESS)
        return;
    printf("%s %s at %s\n", name, name_of(status), step);
    exit(3);
}

int main(int argc, char **argv)
{
    pmix_proc_t me;
    pmix_info_t info[3];
    uint32_t rank = 0;
    if (argc < 3)
        return 98;
    name = argv[1];
    names_server(argv[2], &info[0]);
    PMIX_INFO_LOAD(&info[1], PMIX_TOOL_NSPACE, name, PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_TOOL_RANK, &rank, PMIX_PROC_RANK);
    told("init", PMIx_tool_init(&me, info, 3));
    if (strcmp(me.nspace, name) != 0)
        printf("its name is %s\n", me.nspace);
    if (argc > 3) {
        char line[4096];
        snprintf(line, sizeof line, "%s %s %s", argv[0], argv[1], argv[2]);
        if (system(line) < 0)
            return 97;
    }
    char *words[] = {"true", NULL};
    pmix_app_t app;
    pmix_nspace_t job;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = "true";
    app.argv = words;
    app.maxprocs = 1;
    told("spawn", PMIx_Spawn(NULL, 0, &app, 1, job));
    told("finalize", PMIx_tool_finalize());
    printf("%s SUCCESS\n", name);
    return 0;
}
