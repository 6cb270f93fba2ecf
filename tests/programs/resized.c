/* An elastic job whose size changes (docs/spec/elastic.md, E54 to E59). Each process prints what it hears, and ends
   when it is told that it is to end. Rank 0 of the first world answers offers: with `take=N` it spawns N processes at
   most, with `refuse` it refuses, and otherwise it does nothing. With `stay` nobody ends, and with `keep` rank 0
   refuses that processes end. Into the file RESIZED_TIMES it writes when it has heard each event, in seconds of
   CLOCK_MONOTONIC. */

#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "flags.h"
#include "status.h"

#ifndef PMIX_ALLOC_TIMEOUT_WARNING
#define PMIX_ALLOC_TIMEOUT_WARNING (-194)
#endif
#ifndef PMIX_NUM_SLOTS
#define PMIX_NUM_SLOTS "pmix.num.slots"
#endif

/* Events and keys of Ferrite. */
#define FERRITE_NODES_STAY (PMIX_EXTERNAL_ERR_BASE - 1)
#define FERRITE_GROWTH_OFFERED (PMIX_EXTERNAL_ERR_BASE - 2)
#define FERRITE_GROWTH_REFUSE "ferrite.growth.refuse"
#define FERRITE_WITHDRAWAL_REFUSE "ferrite.withdrawal.refuse"

static bool is_registered, is_event, is_answered;
static pmix_status_t answered;
static pmix_proc_t me;
static const char *world = "0", *how = "";

/* The events that have come and were not handled. */
static struct event {
    pmix_status_t code;
    unsigned slots;
    bool mine;
} events[64];
static int count;

static void check(const char *what, pmix_status_t status)
{
    if (status != PMIX_SUCCESS) {
        fprintf(stderr, "resized: %s: %s (%d)\n", what, PMIx_Error_string(status), status);
        exit(4);
    }
}

static void say(const char *what)
{
    printf("%s.%u: %s\n", world, me.rank, what);
    fflush(stdout);
}

static void note_time(void)
{
    struct timespec now;
    const char *path = me.rank == 0 ? getenv("RESIZED_TIMES") : NULL;
    clock_gettime(CLOCK_MONOTONIC, &now);
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    fprintf(file, "heard %ld.%09ld\n", (long)now.tv_sec, now.tv_nsec);
    fclose(file);
}

static void notice(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                   pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)source, (void)results, (void)nresults;
    note_time();
    struct event event = {.code = status};
    const char *nodes = "-", *request = "-";
    unsigned seconds = 0, affected = 0;
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_ALLOC_NODE_LIST))
            nodes = info[i].value.data.string;
        if (PMIX_CHECK_KEY(&info[i], PMIX_ALLOC_REQ_ID))
            request = info[i].value.data.string;
        if (PMIX_CHECK_KEY(&info[i], PMIX_TIME_REMAINING))
            seconds = info[i].value.data.uint32;
        if (PMIX_CHECK_KEY(&info[i], PMIX_NUM_SLOTS))
            event.slots = info[i].value.data.uint32;
        if (!PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROCS))
            continue;
        pmix_data_array_t *array = info[i].value.data.darray;
        pmix_proc_t *procs = array->array;
        affected = array->size;
        for (size_t j = 0; j < array->size; j++)
            event.mine |= procs[j].rank == me.rank && !strcmp(procs[j].nspace, me.nspace);
    }
    char line[256];
    if (status == FERRITE_GROWTH_OFFERED)
        snprintf(line, sizeof line, "%u more on %s for %u s, %.6s", event.slots, nodes, seconds, request);
    else if (status == FERRITE_NODES_STAY)
        snprintf(line, sizeof line, "%u of %s stay", affected, nodes);
    else
        snprintf(line, sizeof line, "%u of %s end in %u s%s", affected, nodes, seconds, event.mine ? ", me too" : "");
    say(line);
    pthread_mutex_lock(&lock);
    events[count++ % 64] = event;
    pthread_mutex_unlock(&lock);
    set(&is_event);
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void registered(pmix_status_t status, size_t id, void *data)
{
    (void)id, (void)data;
    check("event handler", status);
    set(&is_registered);
}

static void answer_came(pmix_status_t status, pmix_info_t *info, size_t ninfo, void *data,
                        pmix_release_cbfunc_t release, void *of_release)
{
    (void)info, (void)ninfo, (void)data;
    answered = status;
    set(&is_answered);
    if (release)
        release(of_release);
}

static void refuse(const char *key)
{
    pmix_info_t info;
    bool yes = true;
    char line[64];
    PMIX_INFO_LOAD(&info, key, &yes, PMIX_BOOL);
    is_answered = false;
    answered = PMIx_Job_control_nb(NULL, 0, &info, 1, answer_came, NULL);
    if (answered == PMIX_SUCCESS)
        wait_until(&is_answered);
    snprintf(line, sizeof line, "refuse %s", name_of(answered));
    say(line);
}

static void grow(const char *program, unsigned offered)
{
    unsigned most = (unsigned)atoi(how + 5);
    char *args[] = {(char *)program, "1", NULL}, child[PMIX_MAX_NSLEN + 1], line[64], log[4096];
    char *env[] = {log, NULL};
    snprintf(log, sizeof log, "RESIZED_LOG=%s", getenv("RESIZED_LOG") ? getenv("RESIZED_LOG") : "/dev/null");
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = (char *)program;
    app.argv = args;
    app.env = env;
    app.maxprocs = (int)(offered < most ? offered : most);
    pmix_status_t status = PMIx_Spawn(NULL, 0, &app, 1, child);
    snprintf(line, sizeof line, "spawn %d %s", app.maxprocs, name_of(status));
    say(line);
}

int main(int argc, char **argv)
{
    pmix_status_t codes[] = {PMIX_ALLOC_TIMEOUT_WARNING, FERRITE_NODES_STAY, FERRITE_GROWTH_OFFERED};
    /* All worlds write into one file. */
    if (getenv("RESIZED_LOG") && !freopen(getenv("RESIZED_LOG"), "a", stdout))
        return 5;
    world = argc > 1 ? argv[1] : "0";
    how = argc > 2 ? argv[2] : "";
    bool is_first, answers_offers, stays = !strcmp(how, "stay") || !strcmp(how, "keep");
    check("init", PMIx_Init(&me, NULL, 0));
    is_first = !strcmp(world, "0") && me.rank == 0;
    answers_offers = is_first && (!strncmp(how, "take=", 5) || !strcmp(how, "refuse"));
    PMIx_Register_event_handler(codes, 3, NULL, 0, notice, registered, NULL);
    wait_until(&is_registered);
    say("up");
    for (int next = 0, ends = 0; !ends;) {
        wait_until(&is_event);
        pthread_mutex_lock(&lock);
        struct event event = events[next % 64];
        next++;
        is_event = next < count;
        pthread_mutex_unlock(&lock);
        if (event.code == FERRITE_GROWTH_OFFERED && answers_offers) {
            if (!strcmp(how, "refuse"))
                refuse(FERRITE_GROWTH_REFUSE);
            else
                grow(argv[0], event.slots);
        }
        if (event.code == PMIX_ALLOC_TIMEOUT_WARNING && is_first && !strcmp(how, "keep"))
            refuse(FERRITE_WITHDRAWAL_REFUSE);
        ends = event.code == PMIX_ALLOC_TIMEOUT_WARNING && event.mine && !stays;
    }
    check("finalize", PMIx_Finalize(NULL, 0));
    return 0;
}
