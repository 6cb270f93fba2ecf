/* The data server and PMIx_Spawn, without MPI. Rank 1 publishes what rank 0 waits for, and the other way round; then
   each sees what it may see, and rank 0 spawns a child that asks for its parent and for what is published.
   `published child`: that one. */
#include <pmix.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t me;

static void check(const char *what, pmix_status_t got, pmix_status_t expected)
{
    if (got != expected) {
        fprintf(stderr, "%s.%u: %s: %s\n", me.nspace, me.rank, what, PMIx_Error_string(got));
        exit(99);
    }
}

static pmix_status_t publish(const char *key, const char *text, pmix_data_range_t range, pmix_persistence_t stays)
{
    pmix_info_t info[3];
    PMIX_INFO_LOAD(&info[0], key, text, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_RANGE, &range, PMIX_DATA_RANGE);
    PMIX_INFO_LOAD(&info[2], PMIX_PERSISTENCE, &stays, PMIX_PERSIST);
    return PMIx_Publish(info, 3);
}

static pmix_status_t look(const char *key, bool waits, int seconds, char *text)
{
    pmix_pdata_t data;
    pmix_info_t info[2];
    int all = 0;
    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, key);
    PMIX_INFO_LOAD(&info[0], PMIX_WAIT, &all, PMIX_INT);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    pmix_status_t status = PMIx_Lookup(&data, 1, info, waits ? 2 : 0);
    if (status == PMIX_SUCCESS && data.value.type == PMIX_STRING)
        snprintf(text, 64, "%s of %u", data.value.data.string, data.proc.rank);
    return status;
}

static void child(void)
{
    char text[64];
    pmix_value_t *parent;
    check("who is my parent", PMIx_Get(&me, PMIX_PARENT_ID, NULL, 0, &parent), PMIX_SUCCESS);
    check("what is everybody's", look("everybody", false, 0, text), PMIX_SUCCESS);
    check("what is the parents' alone", look("parents", false, 0, text), PMIX_ERR_NOT_FOUND);
    printf("child %u of parent %u of %s found %s\n", me.rank, parent->data.proc->rank,
           strrchr(parent->data.proc->nspace, '@'), "everybody's");
}

static void spawn(const char *program)
{
    pmix_app_t app;
    char nspace[PMIX_MAX_NSLEN + 1];
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup(program);
    PMIX_ARGV_APPEND(app.maxprocs, app.argv, program);
    PMIX_ARGV_APPEND(app.maxprocs, app.argv, "child");
    app.maxprocs = 2;
    check("spawn", PMIx_Spawn(NULL, 0, &app, 1, nspace), PMIX_SUCCESS);
    printf("spawned %s\n", strrchr(nspace, '@'));
    app.maxprocs = 1000;
    check("spawn too many", PMIx_Spawn(NULL, 0, &app, 1, nspace), PMIX_ERR_OUT_OF_RESOURCE);
}

int main(int argc, char **argv)
{
    char text[64];
    pmix_proc_t all;
    check("init", PMIx_Init(&me, NULL, 0), PMIX_SUCCESS);
    if (argc > 1) {
        child();
        check("finalize", PMIx_Finalize(NULL, 0), PMIX_SUCCESS);
        return 0;
    }
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    if (me.rank == 0) {
        check("look for what comes", look("first", true, 20, text), PMIX_SUCCESS);
        printf("rank 0 found %s\n", text);
        check("read once", look("first", false, 0, text), PMIX_ERR_NOT_FOUND);
        check("wait in vain", look("never", true, 1, text), PMIX_ERR_TIMEOUT);
        check("publish", publish("everybody", "x", PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION), PMIX_SUCCESS);
        check("publish", publish("parents", "y", PMIX_RANGE_NAMESPACE, PMIX_PERSIST_APP), PMIX_SUCCESS);
        check("publish again", publish("parents", "z", PMIX_RANGE_NAMESPACE, PMIX_PERSIST_APP), PMIX_ERR_DUPLICATE_KEY);
        check("publish for this node", publish("here", "z", PMIX_RANGE_PROC_LOCAL, PMIX_PERSIST_APP), PMIX_SUCCESS);
    } else {
        usleep(300000);
        check("publish", publish("first", "hello", PMIX_RANGE_SESSION, PMIX_PERSIST_FIRST_READ), PMIX_SUCCESS);
    }
    check("fence", PMIx_Fence(&all, 1, NULL, 0), PMIX_SUCCESS);
    if (me.rank == 1) {
        check("the parents' alone", look("parents", false, 0, text), PMIX_SUCCESS);
        printf("rank 1 found %s\n", text);
        check("rank 0's alone", look("here", false, 0, text), PMIX_ERR_NOT_FOUND);
    } else {
        spawn(argv[0]);
        char *keys[] = {"here", NULL};
        check("unpublish", PMIx_Unpublish(keys, NULL, 0), PMIX_SUCCESS);
        check("what is gone", look("here", false, 0, text), PMIX_ERR_NOT_FOUND);
    }
    check("finalize", PMIx_Finalize(NULL, 0), PMIX_SUCCESS);
    return 0;
}
