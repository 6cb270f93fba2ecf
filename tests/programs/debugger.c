/* Spawns a program that stops in PMIx_Init (or, with `exec`, before its first instruction), waits until all of its
 * processes wait for a debugger, releases them, and waits for the end of the job. */
#include <pmix.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int registered, ready, over;

static void set(int *flag) {
    pthread_mutex_lock(&lock);
    *flag = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void wait_for(int *flag) {
    pthread_mutex_lock(&lock);
    while (!*flag) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void happened(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data) {
    (void)id, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    set(status == PMIX_READY_FOR_DEBUG ? &ready : &over);
    if (done) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void is_registered(pmix_status_t status, size_t id, void *data) {
    (void)status, (void)id, (void)data;
    set(&registered);
}

int main(int argc, char **argv) {
    pmix_proc_t me, all;
    if (argc > 1 && !strcmp(argv[1], "child")) {
        if (PMIx_Init(&me, NULL, 0)) return 2;
        printf("child %u went on\n", me.rank);
        fflush(stdout);
        PMIx_Finalize(NULL, 0);
        return 0;
    }
    if (PMIx_Init(&me, NULL, 0)) return 1;
    pmix_status_t codes[] = {PMIX_READY_FOR_DEBUG, PMIX_EVENT_JOB_END};
    PMIx_Register_event_handler(codes, 2, NULL, 0, happened, is_registered, NULL);
    wait_for(&registered);
    pmix_app_t app;
    memset(&app, 0, sizeof app);
    char *words[] = {argv[0], "child", NULL};
    app.cmd = argv[0];
    app.argv = words;
    app.maxprocs = 2;
    pmix_info_t stop;
    pmix_rank_t every = PMIX_RANK_WILDCARD;
    const char *key = argc > 1 && !strcmp(argv[1], "exec") ? PMIX_DEBUG_STOP_ON_EXEC : PMIX_DEBUG_STOP_IN_INIT;
    PMIX_INFO_LOAD(&stop, key, &every, PMIX_PROC_RANK);
    pmix_nspace_t nspace;
    pmix_status_t rc = PMIx_Spawn(&stop, 1, &app, 1, nspace);
    if (rc) return fprintf(stderr, "spawn: %s\n", PMIx_Error_string(rc)), 3;
    wait_for(&ready);
    printf("ready\n");
    fflush(stdout);
    PMIX_LOAD_PROCID(&all, nspace, PMIX_RANK_WILDCARD);
    pmix_info_t range;
    PMIX_INFO_LOAD(&range, PMIX_EVENT_CUSTOM_RANGE, &all, PMIX_PROC);
    rc = PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &me, PMIX_RANGE_CUSTOM, &range, 1, NULL, NULL);
    printf("released: %d\n", rc == PMIX_SUCCESS || rc == PMIX_OPERATION_SUCCEEDED);
    fflush(stdout);
    wait_for(&over);
    printf("over\n");
    PMIx_Finalize(NULL, 0);
    return 0;
}
