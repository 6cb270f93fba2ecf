/* Failures as events: `events FAULT` runs until the fault of its highest rank, which all others tell of and survive.
   FAULT: `exit` (code 3), `signal` (KILL), `sync` (exit 0 without finalize), `abort` (of itself alone, code 5), or
   `none`: it waits to be ended from outside. `events FAULT N` waits for N events. `events late` was
   started after the fault: it waits to hear of it, and meets nobody. */

#include <pmix.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_registered;
static int heard;
static pmix_proc_t me;

static void failure(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                    pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)results, (void)nresults;
    const pmix_proc_t *who = NULL;
    int code = -1;
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC))
            who = info[i].value.data.proc;
        if (PMIX_CHECK_KEY(&info[i], PMIX_EXIT_CODE))
            code = info[i].value.data.integer;
    }
    pthread_mutex_lock(&lock);
    printf("%u heard %d of %d code %d from %s\n", me.rank, status, who ? (int)who->rank : -1, code,
           strrchr(source->nspace, '@'));
    fflush(stdout);
    heard++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void registered(pmix_status_t status, size_t id, void *data)
{
    (void)status, (void)id, (void)data;
    pthread_mutex_lock(&lock);
    is_registered = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void check(const char *what, pmix_status_t status)
{
    if (status != PMIX_SUCCESS) {
        fprintf(stderr, "events: %s: %s\n", what, PMIx_Error_string(status));
        exit(99);
    }
}

static void fail(const char *fault)
{
    pmix_proc_t alone = me;
    if (!strcmp(fault, "exit"))
        _exit(3);
    if (!strcmp(fault, "signal"))
        raise(SIGKILL);
    if (!strcmp(fault, "sync"))
        _exit(0);
    if (!strcmp(fault, "abort"))
        PMIx_Abort(5, "no more", &alone, 1);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    int failures = argc > 2 ? atoi(argv[2]) : 1;
    bool is_late = argc > 1 && !strcmp(argv[1], "late");
    check("init", PMIx_Init(&me, NULL, 0));
    pmix_status_t codes[] = {PMIX_ERR_EXIT_NONZERO_TERM, PMIX_ERR_PROC_ABORTED_BY_SIG, PMIX_ERR_PROC_TERM_WO_SYNC,
                             PMIX_ERR_PROC_REQUESTED_ABORT, PMIX_ERR_COMM_FAILURE};
    PMIx_Register_event_handler(codes, sizeof codes / sizeof *codes, NULL, 0, failure, registered, NULL);
    pthread_mutex_lock(&lock);
    while (!is_registered)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);

    pmix_proc_t all;
    pmix_value_t *size;
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    if (!is_late)
        check("fence", PMIx_Fence(&all, 1, NULL, 0));
    check("size", PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &size));
    if (!is_late && me.rank == size->data.uint32 - 1)
        fail(argc > 1 ? argv[1] : "exit");

    pthread_mutex_lock(&lock);
    while (heard < failures)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    /* Who meets a process that is gone does not wait for ever. */
    if (!is_late)
        printf("%u fence %d\n", me.rank, PMIx_Fence(&all, 1, NULL, 0));
    fflush(stdout);
    sleep(1); /* An event that comes twice would be heard now. */
    check("finalize", PMIx_Finalize(NULL, 0));
    return 0;
}
