/* A process that starts another job and does not look after it. `leave [OPTION...] PROGRAM ARGS`: ends at once. OPTION:
   `stay` (waits to be ended), `apart` (the job is separate), `on=HOSTS` (it is to run there), and nodes that it brings
   along: `add=HOSTS` of its app, `alladd=HOSTS` and `addfile=FILE` of the whole job. */
#include <pmix.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The release that the headers are of may be older. */
#define SPAWN_CHILD_SEP "pmix.spchildsep"

static pmix_info_t of_job[8], of_app[8];
static size_t njob, napp;

/* False for what is no option. */
static bool take(const char *word)
{
    bool yes = true;
    const char *value = strchr(word, '=');
    if (!strcmp(word, "apart"))
        PMIX_INFO_LOAD(&of_job[njob++], SPAWN_CHILD_SEP, &yes, PMIX_BOOL);
    else if (!strncmp(word, "on=", 3))
        PMIX_INFO_LOAD(&of_app[napp++], PMIX_HOST, value + 1, PMIX_STRING);
    else if (!strncmp(word, "add=", 4))
        PMIX_INFO_LOAD(&of_app[napp++], PMIX_ADD_HOST, value + 1, PMIX_STRING);
    else if (!strncmp(word, "alladd=", 7))
        PMIX_INFO_LOAD(&of_job[njob++], PMIX_ADD_HOST, value + 1, PMIX_STRING);
    else if (!strncmp(word, "addfile=", 8))
        PMIX_INFO_LOAD(&of_job[njob++], PMIX_ADD_HOSTFILE, value + 1, PMIX_STRING);
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    pmix_proc_t me;
    pmix_app_t app;
    char nspace[PMIX_MAX_NSLEN + 1];
    bool stays = false;

    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return 99;
    PMIX_APP_CONSTRUCT(&app);
    for (argv++; argc > 1 && *argv; argv++) {
        if (!strcmp(*argv, "stay"))
            stays = true;
        else if (!take(*argv))
            break;
    }
    app.argv = argv;
    app.cmd = app.argv[0];
    app.maxprocs = 1;
    app.info = napp ? of_app : NULL;
    app.ninfo = napp;
    /* libpmix 5.0.7 refuses a list without infos. */
    pmix_status_t status = PMIx_Spawn(njob ? of_job : NULL, njob, &app, 1, nspace);
    if (status != PMIX_SUCCESS) {
        fprintf(stderr, "spawn: %d (%s)\n", status, PMIx_Error_string(status));
        return 98;
    }
    while (stays)
        pause();
    PMIx_Finalize(NULL, 0);
    return 0;
}
