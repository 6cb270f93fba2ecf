/* A tool of PMIx with two servers: `servers AT AT`. It attaches to both, switches between them and leaves the
   second, and after each step runs a job at its server. For each step it prints `STEP STATUS`, and for each
   job which of the servers has run it. AT names a server: `pid=N`, `nspace=NAME` or `uri=URI`. */

#include <pmix_tool.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server.h"
#include "status.h"

static pmix_proc_t me, servers[2];

static void told(const char *step, pmix_status_t status)
{
    printf("%s %s\n", step, name_of(status));
    fflush(stdout);
    if (status != PMIX_SUCCESS)
        exit(3);
}

/* The part of a namespace that is the name of its DVM. */
static bool is_of(const char *job, const pmix_proc_t *server)
{
    size_t length = strcspn(server->nspace, "@");
    return strncmp(job, server->nspace, length) == 0 && job[length] == '@';
}

static void run(void)
{
    char *argv[] = {"true", NULL};
    pmix_app_t app;
    pmix_nspace_t job;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = "true";
    app.argv = argv;
    app.maxprocs = 1;
    pmix_status_t status = PMIx_Spawn(NULL, 0, &app, 1, job);
    if (status != PMIX_SUCCESS)
        told("spawn", status);
    printf("job of the %s\n", is_of(job, &servers[0]) ? "first" : is_of(job, &servers[1]) ? "second" : job);
    fflush(stdout);
}

static void attach(const char *word, pmix_proc_t *server)
{
    pmix_info_t info;
    names_server(word, &info);
    told("attach", PMIx_tool_attach_to_server(&me, server, &info, 1));
}

int main(int argc, char **argv)
{
    pmix_info_t info;
    pmix_proc_t *known = NULL;
    size_t count = 0;
    if (argc < 3)
        return 98;
    names_server(argv[1], &info);
    told("init", PMIx_tool_init(&me, &info, 1));
    told("servers", PMIx_tool_get_servers(&known, &count));
    printf("%zu known\n", count);
    if (count > 0)
        servers[0] = known[0];
    run();
    attach(argv[2], &servers[1]);
    told("servers", PMIx_tool_get_servers(&known, &count));
    printf("%zu known\n", count);
    told("switch", PMIx_tool_set_server(&servers[1], NULL, 0));
    run();
    told("switch", PMIx_tool_set_server(&servers[0], NULL, 0));
    run();
    told("leave", PMIx_tool_disconnect(&servers[1]));
    run();
    told("finalize", PMIx_tool_finalize());
    return 0;
}
