/* An elastic job whose processes share one amount of work; they sleep instead of computing. It takes every offer, and
   lets processes end when they are told. Twice as many processes are 2 to the power of 0.9 times as fast.

       works SECONDS          so long with the processes of the first world
       works -                a newcomer

   Rank 0 of the first world keeps the books. It is the last one that a DVM lets end. */

#include <math.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "flags.h"

#ifndef PMIX_ALLOC_TIMEOUT_WARNING
#define PMIX_ALLOC_TIMEOUT_WARNING (-194)
#endif
#ifndef PMIX_NUM_SLOTS
#define PMIX_NUM_SLOTS "pmix.num.slots"
#endif

/* An event of Ferrite (docs/spec/elastic.md, E54), and one of this program: the work is done. */
#define FERRITE_GROWTH_OFFERED (PMIX_EXTERNAL_ERR_BASE - 2)
#define WORK_IS_DONE (PMIX_EXTERNAL_ERR_BASE - 500)
#define SCALING 0.9
#define MOST_WORLDS 256

static pmix_proc_t me;
static bool is_registered, is_notified;

/* Behind the lock of flags.h. */
static bool ends;
static int offered, left;

/* The namespaces of the job's worlds. */
static char worlds[MOST_WORLDS][PMIX_MAX_NSLEN + 1];
static int world_count;

static void check(const char *what, pmix_status_t status)
{
    if (status != PMIX_SUCCESS) {
        fprintf(stderr, "works: %s: %s (%d)\n", what, PMIx_Error_string(status), status);
        exit(4);
    }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void notice(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                   pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)source, (void)results, (void)nresults;
    pthread_mutex_lock(&lock);
    ends |= status == WORK_IS_DONE;
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_NUM_SLOTS))
            offered = (int)info[i].value.data.uint32;
        if (status != PMIX_ALLOC_TIMEOUT_WARNING || !PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROCS))
            continue;
        const pmix_data_array_t *array = info[i].value.data.darray;
        const pmix_proc_t *procs = array->array;
        left += (int)array->size;
        for (size_t j = 0; j < array->size; j++)
            ends |= procs[j].rank == me.rank && !strcmp(procs[j].nspace, me.nspace);
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void registered(pmix_status_t status, size_t id, void *data)
{
    (void)id, (void)data;
    check("event handler", status);
    set(&is_registered);
}

static void notified(pmix_status_t status, void *data)
{
    (void)data;
    check("notify", status);
    set(&is_notified);
}

/* Spawns as many processes as are offered; how many have come. */
static int grow(const char *program, int count)
{
    char *args[] = {(char *)program, "-", NULL};
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = (char *)program;
    app.argv = args;
    app.maxprocs = count;
    if (world_count == MOST_WORLDS || PMIx_Spawn(NULL, 0, &app, 1, worlds[world_count]) != PMIX_SUCCESS)
        return 0;
    world_count++;
    return count;
}

/* All other processes end. */
static void tell_all(void)
{
    pmix_proc_t targets[MOST_WORLDS];
    pmix_data_array_t array = {.type = PMIX_PROC, .size = (size_t)world_count, .array = targets};
    pmix_info_t info;
    for (int i = 0; i < world_count; i++)
        PMIX_LOAD_PROCID(&targets[i], worlds[i], PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info, PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
    check("notify", PMIx_Notify_event(WORK_IS_DONE, &me, PMIX_RANGE_CUSTOM, &info, 1, notified, NULL));
    wait_until(&is_notified);
}

/* Keeps the books until all is done. */
static void work(const char *program, double seconds)
{
    pmix_value_t *value;
    pmix_proc_t job = me;
    job.rank = PMIX_RANK_WILDCARD;
    check("job size", PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value));
    double first = value->data.uint32, rest = first * seconds, since = now();
    int size = (int)first;
    strcpy(worlds[world_count++], me.nspace);
    while (rest > 0) {
        double rate = first * pow(size / first, SCALING), end = now() + rest / rate;
        struct timespec until = {.tv_sec = (time_t)end, .tv_nsec = (long)(1e9 * (end - floor(end)))};
        pthread_mutex_lock(&lock);
        while (!offered && !left && now() < end)
            pthread_cond_timedwait(&changed, &lock, &until);
        int more = offered, fewer = left;
        offered = left = 0;
        pthread_mutex_unlock(&lock);
        rest -= rate * (now() - since);
        since = now();
        size -= fewer;
        if (more && rest > 0)
            size += grow(program, more);
    }
    tell_all();
}

int main(int argc, char **argv)
{
    pmix_status_t codes[] = {PMIX_ALLOC_TIMEOUT_WARNING, FERRITE_GROWTH_OFFERED, WORK_IS_DONE};
    check("init", PMIx_Init(&me, NULL, 0));
    bool is_first = argc > 1 && strcmp(argv[1], "-") && me.rank == 0;
    PMIx_Register_event_handler(codes, 3, NULL, 0, notice, registered, NULL);
    wait_until(&is_registered);
    if (is_first)
        work(argv[0], atof(argv[1]));
    else
        wait_until(&ends);
    check("finalize", PMIx_Finalize(NULL, 0));
    return 0;
}
