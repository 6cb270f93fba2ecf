/* A tool that pulls output (PMIx_IOF_pull), without MPI: `pulls NSPACE` asks for the output of that job, which another
   has submitted, then spawns one of its own, pulls its output as well, and prints `WHAT STATUS` for each. */

#include <pmix_tool.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "status.h"

static void got(size_t id, pmix_iof_channel_t channel, pmix_proc_t *source, pmix_byte_object_t *bytes,
                pmix_info_t info[], size_t ninfo)
{
    (void)id, (void)channel, (void)source, (void)bytes, (void)info, (void)ninfo;
}

/* Without a function for its registration the call waits, and answers with the handler's number. */
static void pull(const char *what, const char *nspace, pmix_info_t *info, size_t ninfo)
{
    pmix_proc_t from;
    PMIX_LOAD_PROCID(&from, nspace, PMIX_RANK_WILDCARD);
    pmix_status_t status = PMIx_IOF_pull(&from, 1, info, ninfo, PMIX_FWD_STDOUT_CHANNEL, got, NULL, NULL);
    printf("%s %s\n", what, status >= 0 ? "SUCCESS" : name_of(status));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    pmix_proc_t me;
    pmix_app_t app;
    pmix_nspace_t child;
    pmix_info_t cache;
    uint32_t bytes = 4096;
    if (argc < 2 || PMIx_tool_init(&me, NULL, 0) != PMIX_SUCCESS)
        return 99;
    pull("other", argv[1], NULL, 0);
    PMIX_APP_CONSTRUCT(&app);
    pmix_status_t status;
    PMIX_ARGV_APPEND(status, app.argv, "sleep");
    app.cmd = strdup("sleep");
    PMIX_ARGV_APPEND(status, app.argv, "1000");
    app.maxprocs = 1;
    if (PMIx_Spawn(NULL, 0, &app, 1, child) != PMIX_SUCCESS)
        return 98;
    PMIX_INFO_LOAD(&cache, PMIX_IOF_CACHE_SIZE, &bytes, PMIX_UINT32);
    pull("kept", child, &cache, 1);
    pull("own", child, NULL, 0);
    return PMIx_tool_finalize() == PMIX_SUCCESS ? 0 : 4;
}
