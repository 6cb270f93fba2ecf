/* Calls of PMIx with a limit: the first of two processes waits for what never comes, and tells the status of each call.
   The second one enters the fence too late, and tells what it hears. The first one then spawns itself, by a name that
   is not in PATH: the child runs longer than the limit of the call, and tells what it is called. */

#include <pmix.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void tell(const char *what, pmix_status_t status)
{
    printf("%s %d\n", what, status);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        sleep(3);
        printf("%s is done\n", argv[0]);
        return 0;
    }
    pmix_proc_t me, all, other;
    pmix_info_t limit[2];
    pmix_status_t status;
    int seconds = 2;
    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return 99;
    PMIX_PROC_LOAD(&all, me.nspace, PMIX_RANK_WILDCARD);
    PMIX_PROC_LOAD(&other, me.nspace, 1 - me.rank);
    PMIX_INFO_LOAD(&limit[0], PMIX_TIMEOUT, &seconds, PMIX_INT);
    bool yes = true;
    PMIX_INFO_LOAD(&limit[1], PMIX_WAIT, &yes, PMIX_BOOL);
    if (me.rank == 1) {
        sleep(4);
        tell("late fence", PMIx_Fence(&all, 1, limit, 1));
    } else {
        tell("fence", PMIx_Fence(&all, 1, limit, 1));
        pmix_value_t *value = NULL;
        tell("get", PMIx_Get(&other, "never", limit, 1, &value));
        tell("connect", PMIx_Connect(&all, 1, limit, 1));
        pmix_pdata_t data;
        PMIX_PDATA_CONSTRUCT(&data);
        snprintf(data.key, sizeof(data.key), "nobody");
        tell("lookup", PMIx_Lookup(&data, 1, limit, 2));
        pmix_app_t app;
        PMIX_APP_CONSTRUCT(&app);
        char path[4096] = "";
        if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
            return 98;
        app.cmd = strdup(path);
        PMIX_ARGV_APPEND(status, app.argv, "limits");
        PMIX_ARGV_APPEND(status, app.argv, "child");
        app.maxprocs = 1;
        pmix_nspace_t job;
        (void)status;
        tell("spawn", PMIx_Spawn(limit, 1, &app, 1, job));
    }
    PMIx_Finalize(NULL, 0);
    return 0;
}
