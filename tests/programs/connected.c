/* Processes of two jobs in one collective, without MPI: two parents and two children connect, read what each of the
   others has put, meet in a fence, read what has been put since, and disconnect. A fence that collects data of both is
   refused. */
#include <pmix.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pmix_proc_t me;

static void check(const char *what, pmix_status_t status)
{
    if (status != PMIX_SUCCESS) {
        fprintf(stderr, "%s.%u: %s: %s\n", me.nspace, me.rank, what, PMIx_Error_string(status));
        exit(99);
    }
}

static void put(const char *key, int number)
{
    pmix_value_t value;
    PMIX_VALUE_LOAD(&value, &number, PMIX_INT);
    check("put", PMIx_Put(PMIX_GLOBAL, key, &value));
    check("commit", PMIx_Commit());
}

static int sum(const char *key, const pmix_proc_t jobs[2])
{
    int all = 0;
    for (int job = 0; job < 2; job++)
        for (unsigned rank = 0; rank < 2; rank++) {
            pmix_proc_t proc = jobs[job];
            pmix_value_t *value;
            proc.rank = rank;
            check("get", PMIx_Get(&proc, key, NULL, 0, &value));
            all += value->data.integer;
        }
    return all;
}

/* Rank 0 starts the children and publishes the name of their job. */
static void find_children(const char *program, char *nspace)
{
    pmix_pdata_t data;
    pmix_info_t info;
    if (me.rank == 0) {
        pmix_app_t app;
        PMIX_APP_CONSTRUCT(&app);
        app.cmd = strdup(program);
        PMIX_ARGV_APPEND(app.maxprocs, app.argv, program);
        app.maxprocs = 2;
        check("spawn", PMIx_Spawn(NULL, 0, &app, 1, nspace));
        PMIX_INFO_LOAD(&info, "children", nspace, PMIX_STRING);
        check("publish", PMIx_Publish(&info, 1));
    } else {
        int all = 0;
        PMIX_PDATA_CONSTRUCT(&data);
        PMIX_LOAD_KEY(data.key, "children");
        PMIX_INFO_LOAD(&info, PMIX_WAIT, &all, PMIX_INT);
        check("lookup", PMIx_Lookup(&data, 1, &info, 1));
        strncpy(nspace, data.value.data.string, PMIX_MAX_NSLEN);
    }
}

int main(int argc, char **argv)
{
    pmix_proc_t jobs[2];
    pmix_value_t *parent;
    pmix_info_t collect;
    bool yes = true;
    char nspace[PMIX_MAX_NSLEN + 1] = "";

    (void)argc;
    check("init", PMIx_Init(&me, NULL, 0));
    bool is_child = PMIx_Get(&me, PMIX_PARENT_ID, NULL, 0, &parent) == PMIX_SUCCESS;
    if (!is_child)
        find_children(argv[0], nspace);
    PMIX_LOAD_PROCID(&jobs[0], is_child ? parent->data.proc->nspace : me.nspace, PMIX_RANK_WILDCARD);
    PMIX_LOAD_PROCID(&jobs[1], is_child ? me.nspace : nspace, PMIX_RANK_WILDCARD);
    put("first", (is_child ? 100 : 1) * (1 + (int)me.rank));
    check("connect", PMIx_Connect(jobs, 2, NULL, 0));
    int first = sum("first", jobs);
    put("second", (is_child ? 1000 : 10) * (1 + (int)me.rank));
    check("fence", PMIx_Fence(jobs, 2, NULL, 0));
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    if (PMIx_Fence(jobs, 2, &collect, 1) != PMIX_ERR_NOT_SUPPORTED)
        check("a fence that collects", PMIX_ERROR);
    int second = sum("second", jobs);
    check("disconnect", PMIx_Disconnect(jobs, 2, NULL, 0));
    printf("%s %u sees %d and %d\n", is_child ? "child" : "parent", me.rank, first, second);
    check("finalize", PMIx_Finalize(NULL, 0));
    return 0;
}
