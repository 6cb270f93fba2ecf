/* Events that processes and tools raise. `raise WHAT ARGS...` prints what it has heard, and exits with 0 when that came
   once each and in the order of its source.

   ranges        rank 0 raises one event of each range
   order N       every rank raises N events for everybody, and hears those of all others in their order
   pace N MS     as `order` of rank 0 alone, with a pause after each event; says "begun" after the first
   late N        rank 0 raises N events before the others register for them; with `late N early` the others do not
                 meet it, because they are started later
   flood N       rank 0 raises N events at once: some are refused, and those of the others come all the same
   family NODE WHEN   a job spawns itself on NODE; parent and child raise events for each other, the parent at once
                 (`early`), or when the child has registered (`late`)
   child WHEN    the job that `family` spawns
   for-tool      rank 0 raises two events for everybody and hears one of a tool
   listen N      a tool that hears N events and raises one for the source of the first */

#include <pmix_tool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flags.h"

#define FIRST -3001
#define CODES 16
#define MAX_RANKS 64

static bool is_registered, is_quiet;
static int heard, of_tool, refused, answered, wrong;
static int last[MAX_RANKS];
static pmix_proc_t me, first_source;

static void check(const char *what, pmix_status_t status)
{
    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) {
        fprintf(stderr, "raise: %s: %s (%d)\n", what, PMIx_Error_string(status), status);
        exit(99);
    }
}

static void event(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                  pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)results, (void)nresults;
    int number = -1, affected = -1;
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], "test.number"))
            number = info[i].value.data.integer;
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC))
            affected = info[i].value.data.proc->rank;
    }
    pthread_mutex_lock(&lock);
    if (heard++ == 0)
        first_source = *source;
    of_tool += status == FIRST - 3;
    /* The library of a process has its own order for what the process itself has raised. */
    if (number >= 0 && source->rank < MAX_RANKS && source->rank != me.rank) {
        wrong += number != last[source->rank] + 1;
        last[source->rank] = number;
    }
    if (!is_quiet) {
        const char *job = strrchr(source->nspace, '@');
        printf("%u heard %d of %u%s affected %d\n", me.rank, FIRST - status, source->rank, job ? job : "", affected);
        fflush(stdout);
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void registered(pmix_status_t status, size_t id, void *data)
{
    (void)id, (void)data;
    check("register", status);
    set(&is_registered);
}

static void taken(pmix_status_t status, void *data)
{
    (void)data;
    pthread_mutex_lock(&lock);
    answered++;
    refused += status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void listen_for_all(void)
{
    pmix_status_t codes[CODES];
    for (int i = 0; i < CODES; i++)
        codes[i] = FIRST - i;
    PMIx_Register_event_handler(codes, CODES, NULL, 0, event, registered, NULL);
    wait_until(&is_registered);
}

static void await(const int *count, int number)
{
    pthread_mutex_lock(&lock);
    while (*count < number)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* Raises event FIRST - `which`; a number below zero is not sent along. */
static void raise_event(int which, pmix_data_range_t range, pmix_proc_t *to, size_t nto, pmix_proc_t *affected,
                        int number)
{
    pmix_info_t info[5];
    size_t n = 0;
    bool yes = true;
    PMIX_INFO_LOAD(&info[n], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    n++;
    if (number >= 0) {
        PMIX_INFO_LOAD(&info[n], "test.number", &number, PMIX_INT);
        n++;
    }
    if (to) {
        pmix_data_array_t array = {.type = PMIX_PROC, .size = nto, .array = to};
        PMIX_INFO_LOAD(&info[n], PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
        n++;
    }
    if (affected) {
        PMIX_INFO_LOAD(&info[n], PMIX_EVENT_AFFECTED_PROC, affected, PMIX_PROC);
        n++;
    }
    /* libpmix 4.2.2 answers a cached event of this range never. */
    if (range == PMIX_RANGE_RM) {
        PMIX_INFO_LOAD(&info[n], PMIX_EVENT_DO_NOT_CACHE, &yes, PMIX_BOOL);
        n++;
    }
    int before = answered;
    check("notify", PMIx_Notify_event(FIRST - which, &me, range, info, n, taken, NULL));
    await(&answered, before + 1);
}

static void meet(void)
{
    pmix_proc_t all;
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    check("fence", PMIx_Fence(&all, 1, NULL, 0));
}

static int size_of_job(void)
{
    pmix_proc_t all;
    pmix_value_t *size;
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    check("size", PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &size));
    return size->data.uint32;
}

static void ranges(int size)
{
    pmix_proc_t some[3];
    PMIX_LOAD_PROCID(&some[0], me.nspace, 1);
    PMIX_LOAD_PROCID(&some[1], me.nspace, size - 1);
    PMIX_LOAD_PROCID(&some[2], me.nspace, PMIX_RANK_WILDCARD);
    meet();
    if (me.rank == 0) {
        raise_event(0, PMIX_RANGE_SESSION, NULL, 0, NULL, -1);
        raise_event(1, PMIX_RANGE_GLOBAL, NULL, 0, NULL, -1);
        raise_event(2, PMIX_RANGE_NAMESPACE, NULL, 0, NULL, -1);
        raise_event(3, PMIX_RANGE_CUSTOM, some, 2, NULL, -1);
        raise_event(4, PMIX_RANGE_LOCAL, NULL, 0, NULL, -1);
        raise_event(5, PMIX_RANGE_RM, NULL, 0, NULL, -1);
        raise_event(6, PMIX_RANGE_PROC_LOCAL, NULL, 0, NULL, -1);
        raise_event(7, PMIX_RANGE_CUSTOM, &some[2], 1, &some[0], -1);
        raise_event(8, PMIX_RANGE_SESSION, NULL, 0, NULL, -1);
    }
    /* The last event is for everybody. */
    while (me.rank != 0) {
        pthread_mutex_lock(&lock);
        int now = heard;
        pthread_mutex_unlock(&lock);
        if (now >= 5 + (me.rank == 1 || me.rank == (unsigned)size - 1))
            break;
        usleep(1000);
    }
    meet();
    usleep(300000); /* An event that comes twice, or to the wrong process, would be heard now. */
}

static void order(int size, int count)
{
    is_quiet = true;
    meet();
    for (int i = 0; i < count; i++)
        raise_event(0, PMIX_RANGE_NAMESPACE, NULL, 0, NULL, i);
    /* Its own events as well: the library tells the source itself. */
    await(&heard, size * count);
    meet();
    printf("%u heard %d, %d wrong\n", me.rank, heard, wrong);
}

static void pace(int count, int ms)
{
    is_quiet = true;
    meet();
    for (int i = 0; me.rank == 0 && i < count; i++) {
        raise_event(0, PMIX_RANGE_SESSION, NULL, 0, NULL, i);
        if (i == 0) {
            printf("begun\n");
            fflush(stdout);
        }
        usleep(ms * 1000);
    }
    await(&heard, count);
    usleep(300000);
    printf("%u heard %d, %d wrong\n", me.rank, heard, wrong);
}

static void flood(int size, int count)
{
    is_quiet = true;
    meet();
    if (me.rank == 0) {
        pmix_info_t info;
        bool yes = true;
        PMIX_INFO_LOAD(&info, PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
        for (int i = 0; i < count; i++)
            check("notify", PMIx_Notify_event(FIRST - 1, &me, PMIX_RANGE_SESSION, &info, 1, taken, NULL));
        await(&answered, count);
        printf("0 was refused %s\n", refused > 0 && refused < count ? "some" : refused ? "all" : "none");
        fflush(stdout);
    } else {
        for (int i = 0; i < 10; i++)
            raise_event(0, PMIX_RANGE_CUSTOM, &me, 1, NULL, -1);
        printf("%u was refused %d of 10\n", me.rank, refused);
        fflush(stdout);
    }
    meet();
    (void)size;
}

static void spawn(char *program, char *node, char *when)
{
    char *argv[] = {program, "child", when, NULL};
    pmix_app_t app;
    pmix_nspace_t child;
    pmix_proc_t all;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = program;
    app.argv = argv;
    app.maxprocs = 2;
    PMIX_INFO_CREATE(app.info, 1);
    app.ninfo = 1;
    PMIX_INFO_LOAD(&app.info[0], PMIX_HOST, node, PMIX_STRING);
    check("spawn", PMIx_Spawn(NULL, 0, &app, 1, child));
    PMIX_LOAD_PROCID(&all, child, PMIX_RANK_WILDCARD);
    if (!strcmp(when, "late"))
        await(&heard, 2);
    raise_event(0, PMIX_RANGE_CUSTOM, &all, 1, NULL, -1);
    raise_event(1, PMIX_RANGE_GLOBAL, NULL, 0, NULL, -1);
}

static void child(bool is_late)
{
    pmix_proc_t parent;
    pmix_value_t *value;
    check("parent", PMIx_Get(&me, PMIX_PARENT_ID, NULL, 0, &value));
    parent = *value->data.proc;
    if (is_late)
        raise_event(4, PMIX_RANGE_CUSTOM, &parent, 1, NULL, -1);
    await(&heard, 2);
    raise_event(2, PMIX_RANGE_CUSTOM, &parent, 1, &me, -1);
}

static void listen_as_tool(int count)
{
    check("init", PMIx_tool_init(&me, NULL, 0));
    listen_for_all();
    printf("listening\n");
    fflush(stdout);
    await(&heard, count);
    raise_event(3, PMIX_RANGE_CUSTOM, &first_source, 1, NULL, -1);
    usleep(300000);
    check("finalize", PMIx_tool_finalize());
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int number = argc > 2 ? atoi(argv[2]) : 0;
    for (int i = 0; i < MAX_RANKS; i++)
        last[i] = -1;
    if (!strcmp(what, "listen")) {
        listen_as_tool(number);
        return wrong != 0;
    }
    check("init", PMIx_Init(&me, NULL, 0));
    int size = size_of_job();
    bool is_late = !strcmp(what, "late");
    /* Without numbers: libpmix 4.2.2 gives the newest first to who registers later. */
    if (is_late && me.rank == 0)
        for (int i = 0; i < number; i++)
            raise_event(0, PMIX_RANGE_NAMESPACE, NULL, 0, NULL, -1);
    /* All events are on their way before this is over. */
    if (is_late && argc == 3)
        meet();
    /* The library would tell a source of its own events twice. */
    bool is_source = is_late && me.rank == 0;
    if (!is_source)
        listen_for_all();
    if (!strcmp(what, "ranges"))
        ranges(size);
    else if (!strcmp(what, "order"))
        order(size, number);
    else if (!strcmp(what, "pace"))
        pace(number, atoi(argv[3]));
    else if (!strcmp(what, "flood"))
        flood(size, number);
    else if (!strcmp(what, "family")) {
        if (me.rank == 0)
            spawn(argv[0], argv[2], argv[3]);
        /* Its own for everybody, and those of two children. */
        await(&heard, me.rank != 0 ? 1 : strcmp(argv[3], "late") ? 3 : 5);
        usleep(300000);
    } else if (!strcmp(what, "for-tool")) {
        if (me.rank == 0) {
            raise_event(0, PMIX_RANGE_SESSION, NULL, 0, NULL, -1);
            raise_event(1, PMIX_RANGE_GLOBAL, NULL, 0, NULL, -1);
            await(&of_tool, 1);
        }
        meet();
    } else if (!strcmp(what, "child"))
        child(argc > 2 && !strcmp(argv[2], "late"));
    else if (is_late && !is_source) {
        await(&heard, number);
        usleep(300000);
    }
    check("finalize", PMIx_Finalize(NULL, 0));
    return wrong != 0;
}
