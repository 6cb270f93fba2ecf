/* The first process spawns a job that waits for ever, aborts it, and goes on. The refusal of a group comes back, and so
   do values of several types that it publishes; a status says that some are missing. */

#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static void tell(const char *what, pmix_status_t status)
{
    printf("%s %d\n", what, status);
    fflush(stdout);
}

static void abort_child(const char *program, pmix_nspace_t job)
{
    pmix_app_t app;
    pmix_status_t status;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup(program);
    PMIX_ARGV_APPEND(status, app.argv, program);
    PMIX_ARGV_APPEND(status, app.argv, "child");
    app.maxprocs = 2;
    (void)status;
    tell("spawn", PMIx_Spawn(NULL, 0, &app, 1, job));
    pmix_proc_t all;
    PMIX_PROC_LOAD(&all, job, PMIX_RANK_WILDCARD);
    tell("abort", PMIx_Abort(3, "enough", &all, 1));
}

static void publish(void)
{
    pmix_info_t info[4];
    pmix_scope_t scope = PMIX_REMOTE;
    pmix_envar_t envar = {"NAME", "value", ':'};
    struct timeval time = {5, 7};
    uint32_t number = 9;
    PMIX_INFO_LOAD(&info[0], "scope", &scope, PMIX_SCOPE);
    PMIX_INFO_LOAD(&info[1], "envar", &envar, PMIX_ENVAR);
    PMIX_INFO_LOAD(&info[2], "time", &time, PMIX_TIMEVAL);
    PMIX_INFO_LOAD(&info[3], "number", &number, PMIX_UINT32);
    tell("publish", PMIx_Publish(info, 4));
    pmix_pdata_t data[5];
    const char *keys[] = {"scope", "envar", "time", "number", "missing"};
    for (int i = 0; i < 5; i++) {
        PMIX_PDATA_CONSTRUCT(&data[i]);
        PMIX_LOAD_KEY(data[i].key, keys[i]);
    }
    tell("lookup", PMIx_Lookup(data, 4, NULL, 0));
    printf("found %d %s=%s %ld.%ld %u\n", data[0].value.data.scope, data[1].value.data.envar.envar,
           data[1].value.data.envar.value, (long)data[2].value.data.tv.tv_sec, (long)data[2].value.data.tv.tv_usec,
           data[3].value.data.uint32);
    tell("lookup of what is partly there", PMIx_Lookup(data, 5, NULL, 0));
}

int main(int argc, char **argv)
{
    pmix_proc_t me, all;
    pmix_nspace_t job;
    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return 99;
    if (argc > 1)
        for (;;)
            pause();
    PMIX_PROC_LOAD(&all, me.nspace, PMIX_RANK_WILDCARD);
    pmix_info_t *results = NULL;
    size_t count = 0;
    pmix_status_t status = PMIx_Group_construct("some", &all, 1, NULL, 0, &results, &count);
    if (me.rank == 0) {
        tell("group", status);
        publish();
        abort_child(argv[0], job);
    }
    PMIx_Fence(&all, 1, NULL, 0);
    PMIx_Finalize(NULL, 0);
    return 0;
}
