/* A tool that feeds jobs (PMIx_IOF_push), without MPI: `feeds NSPACE[:RANK] PIECE...` gives each piece, and a line's
   end, to the job, or to that rank of it, and says on standard error what became of it: `PIECE STATUS`. The piece `end`
   is the end of input. `feeds spawn PROGRAM ARGS...` is a process that spawns one, whose rank 0 has a standard input of
   its own. */

#include <pmix_tool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flags.h"
#include "status.h"

static bool is_pushed;
static pmix_status_t pushed;

static void push_ended(pmix_status_t status, void *data)
{
    (void)data;
    pushed = status;
    set(&is_pushed);
}

static int parent(char **child)
{
    pmix_proc_t me;
    pmix_nspace_t started;
    pmix_app_t app;
    pmix_info_t how;
    pmix_rank_t reader = 0;
    pmix_status_t status;
    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return 99;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup(child[0]);
    for (char **word = child; *word; word++)
        PMIX_ARGV_APPEND(status, app.argv, *word);
    app.maxprocs = 1;
    PMIX_INFO_LOAD(&how, PMIX_STDIN_TGT, &reader, PMIX_PROC_RANK);
    status = PMIx_Spawn(&how, 1, &app, 1, started);
    printf("spawned %s\n", status == PMIX_SUCCESS ? started : name_of(status));
    fflush(stdout);
    PMIx_Finalize(NULL, 0);
    return status != PMIX_SUCCESS;
}

int main(int argc, char **argv)
{
    pmix_proc_t me, to;
    if (argc > 2 && !strcmp(argv[1], "spawn"))
        return parent(argv + 2);
    if (argc < 2 || PMIx_tool_init(&me, NULL, 0) != PMIX_SUCCESS)
        return 99;
    char *rank = strchr(argv[1], ':');
    if (rank)
        *rank++ = '\0';
    PMIX_LOAD_PROCID(&to, argv[1], rank ? (pmix_rank_t)atoi(rank) : PMIX_RANK_WILDCARD);
    for (char **piece = argv + 2; *piece; piece++) {
        char line[256];
        bool is_end = !strcmp(*piece, "end");
        pmix_byte_object_t bytes = {.bytes = line, .size = 0};
        if (!is_end)
            bytes.size = (size_t)snprintf(line, sizeof line, "%s\n", *piece);
        /* Without a function the call of libpmix 4.2.2 waits for ever for a lock of its own. */
        is_pushed = false;
        /* The function may be called before the call returns. */
        pmix_status_t begun = PMIx_IOF_push(&to, 1, &bytes, NULL, 0, push_ended, NULL);
        if (begun == PMIX_SUCCESS)
            wait_until(&is_pushed);
        fprintf(stderr, "%s %s\n", *piece, name_of(begun == PMIX_SUCCESS ? pushed : begun));
    }
    PMIx_tool_finalize();
    return 0;
}
