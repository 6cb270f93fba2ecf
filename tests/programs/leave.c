/* A process that starts another job and does not look after it. `leave PROGRAM ARGS`: ends at once. `leave stay PROGRAM ARGS`:
   waits to be ended. */
#include <pmix.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    pmix_proc_t me;
    pmix_app_t app;
    char nspace[PMIX_MAX_NSLEN + 1];
    int stays = argc > 1 && !strcmp(argv[1], "stay");

    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return 99;
    PMIX_APP_CONSTRUCT(&app);
    app.argv = argv + 1 + stays;
    app.cmd = app.argv[0];
    app.maxprocs = 1;
    pmix_status_t status = PMIx_Spawn(NULL, 0, &app, 1, nspace);
    if (status != PMIX_SUCCESS) {
        fprintf(stderr, "spawn: %s\n", PMIx_Error_string(status));
        return 98;
    }
    while (stays)
        pause();
    PMIx_Finalize(NULL, 0);
    return 0;
}
