/* Changes of the DVM's size, asked for from inside: `elastic [tool|deaf] STEP...`. The first process of the job
   takes the steps, the others wait for its end and tell what they have heard, which should be nothing. With `tool`
   it is no process of a job; with `deaf` it has no handler for the events, only one for everything, as MPI libraries
   have.
   STEP: `new=LIST`, `count=N` and `extend=LIST`, `mine=LIST` (extends the allocation by the requester's own name for
   it), `cpus=N` (slots), `queue=NAME` (one node of that queue), `lend=LIST` (a release of nodes that are only lent),
   `directive=N` (of that number), `release` (the allocation), `release=LIST`, `unknown` (releases what does not
   exist), `must` (insists on what nobody offers): one request each, told with its answer. `timed=LIST` is a new
   allocation for six seconds, with a warning three before the end; `cancel=NAME` takes the request of that name
   back. `push=LIST` and `pull=LIST` bring and take nodes as a scheduler. `time=SECONDS` wants more time for the
   allocation, `owntime=SECONDS` for the session that the job runs in. `event` waits for the end of a request and
   tells of it; `quiet` tells how many events nobody has waited for. */

#include <pmix.h>
#include <pmix_tool.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DVM_IS_READY (-195)
#define ERR_DVM_MOD (-196)
#define ALLOC_TIMEOUT_WARNING (-194)
#define ALLOC_WARN_TIMEOUT "pmix.alloc.wtmo"
#define ALLOC_REQ_CANCEL 5

static struct event {
    pmix_status_t code, cause;
    char alloc[64], request[64];
    bool is_explained;
    uint32_t left;
} heard[16];
static int came, taken;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_registered;
static char alloc_id[64];

static void copy(char *to, const pmix_info_t *info)
{
    if (info->value.type == PMIX_STRING && info->value.data.string)
        snprintf(to, 64, "%s", info->value.data.string);
}

static void resized(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                    pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)source, (void)results, (void)nresults;
    pthread_mutex_lock(&lock);
    struct event *event = &heard[came++ % 16];
    *event = (struct event){.code = status, .alloc = "-", .request = "-"};
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_ALLOC_ID))
            copy(event->alloc, &info[i]);
        if (PMIX_CHECK_KEY(&info[i], PMIX_ALLOC_REQ_ID))
            copy(event->request, &info[i]);
        if (PMIX_CHECK_KEY(&info[i], PMIX_JOB_TERM_STATUS) && info[i].value.type == PMIX_STATUS)
            event->cause = info[i].value.data.status;
        if (PMIX_CHECK_KEY(&info[i], PMIX_TIME_REMAINING) && info[i].value.type == PMIX_UINT32)
            event->left = info[i].value.data.uint32;
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_TEXT_MESSAGE))
            event->is_explained = true;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

/* MPI libraries take what they hear here for the end of the world. */
static void anything(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    if (status == DVM_IS_READY || status == ERR_DVM_MOD || status == ALLOC_TIMEOUT_WARNING)
        printf("the handler of everything heard %d\n", status);
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
        fprintf(stderr, "elastic: %s: %s\n", what, PMIx_Error_string(status));
        exit(99);
    }
}

static void ask(const char *step, pmix_alloc_directive_t directive, pmix_info_t *info, size_t ninfo)
{
    pmix_info_t *results = NULL;
    size_t nresults = 0;
    char request[64] = "-";
    pmix_status_t status = PMIx_Allocation_request(directive, info, ninfo, &results, &nresults);
    if (status != PMIX_SUCCESS) {
        printf("%s refused %d\n", step, status);
        return;
    }
    for (size_t i = 0; i < nresults; i++) {
        if (PMIX_CHECK_KEY(&results[i], PMIX_ALLOC_ID))
            copy(alloc_id, &results[i]);
        if (PMIX_CHECK_KEY(&results[i], PMIX_ALLOC_REQ_ID))
            copy(request, &results[i]);
    }
    printf("%s accepted %s %s\n", step, alloc_id, request);
}

static void wait_for_event(void)
{
    pthread_mutex_lock(&lock);
    while (taken == came)
        pthread_cond_wait(&changed, &lock);
    struct event event = heard[taken++ % 16];
    pthread_mutex_unlock(&lock);
    if (event.code == DVM_IS_READY)
        printf("ready %s %s\n", event.alloc, event.request);
    else if (event.code == ALLOC_TIMEOUT_WARNING)
        printf("warned %s %s %u\n", event.alloc, event.request, event.left);
    else
        printf("failed %d %s %s %s\n", event.cause, event.alloc, event.request,
               event.is_explained ? "explained" : "without a word");
}

static void quiet(const char *who)
{
    sleep(1); /* An event that nobody should hear would be here now. */
    pthread_mutex_lock(&lock);
    printf("%s unheard %d\n", who, came - taken);
    pthread_mutex_unlock(&lock);
}

static void take(char *step)
{
    char *list = strchr(step, '=');
    pmix_info_t info[3];
    if (list)
        *list++ = 0;
    if (!strcmp(step, "event"))
        wait_for_event();
    if (!strcmp(step, "quiet"))
        quiet("requester");
    if (!strcmp(step, "new")) {
        PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_NODE_LIST, list, PMIX_STRING);
        PMIX_INFO_LOAD(&info[1], PMIX_ALLOC_REQ_ID, "mine", PMIX_STRING);
        ask(step, PMIX_ALLOC_NEW, info, 2);
    }
    if (!strcmp(step, "push") || !strcmp(step, "pull")) {
        bool yes = true;
        PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_NODE_LIST, list, PMIX_STRING);
        PMIX_INFO_LOAD(&info[1], PMIX_SERVER_SCHEDULER, &yes, PMIX_BOOL);
        ask(step, step[2] == 's' ? PMIX_ALLOC_NEW : PMIX_ALLOC_RELEASE, info, 2);
    }
    if (!strcmp(step, "timed")) {
        uint32_t limit = 6, warn = 3;
        pmix_info_t timed[4];
        PMIX_INFO_LOAD(&timed[0], PMIX_ALLOC_NODE_LIST, list, PMIX_STRING);
        PMIX_INFO_LOAD(&timed[1], PMIX_ALLOC_REQ_ID, "mine", PMIX_STRING);
        PMIX_INFO_LOAD(&timed[2], PMIX_ALLOC_TIME, &limit, PMIX_UINT32);
        PMIX_INFO_LOAD(&timed[3], ALLOC_WARN_TIMEOUT, &warn, PMIX_UINT32);
        ask(step, PMIX_ALLOC_NEW, timed, 4);
    }
    if (!strcmp(step, "time") || !strcmp(step, "owntime")) {
        uint32_t seconds = strtoul(list, NULL, 10);
        PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_TIME, &seconds, PMIX_UINT32);
        PMIX_INFO_LOAD(&info[1], PMIX_ALLOC_ID, alloc_id, PMIX_STRING);
        PMIX_INFO_LOAD(&info[2], PMIX_ALLOC_REQ_ID, "more", PMIX_STRING);
        ask(step, PMIX_ALLOC_EXTEND, info, *step == 't' ? 3 : 1);
    }
    if (!strcmp(step, "cancel")) {
        PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_REQ_ID, list, PMIX_STRING);
        ask(step, ALLOC_REQ_CANCEL, info, 1);
    }
    if (!strcmp(step, "count")) {
        uint64_t count = strtoul(list, NULL, 10);
        PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_NUM_NODES, &count, PMIX_UINT64);
        ask(step, PMIX_ALLOC_NEW, info, 1);
    }
    if (!strcmp(step, "extend")) {
        PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_NODE_LIST, list, PMIX_STRING);
        PMIX_INFO_LOAD(&info[1], PMIX_ALLOC_ID, alloc_id, PMIX_STRING);
        PMIX_INFO_LOAD(&info[2], PMIX_ALLOC_REQ_ID, "more", PMIX_STRING);
        ask(step, PMIX_ALLOC_EXTEND, info, 3);
    }
    if (!strcmp(step, "mine")) {
        PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_NODE_LIST, list, PMIX_STRING);
        PMIX_INFO_LOAD(&info[1], PMIX_ALLOC_REQ_ID, "mine", PMIX_STRING);
        ask(step, PMIX_ALLOC_EXTEND, info, 2);
    }
    if (!strcmp(step, "release")) {
        if (list)
            PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_NODE_LIST, list, PMIX_STRING);
        else
            PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_ID, alloc_id, PMIX_STRING);
        ask(step, PMIX_ALLOC_RELEASE, info, 1);
    }
    if (!strcmp(step, "unknown")) {
        PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_ID, "nothing-like-it", PMIX_STRING);
        ask(step, PMIX_ALLOC_RELEASE, info, 1);
    }
    if (!strcmp(step, "cpus")) {
        uint64_t cpus = strtoul(list, NULL, 10);
        PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_NUM_CPUS, &cpus, PMIX_UINT64);
        ask(step, PMIX_ALLOC_NEW, info, 1);
    }
    if (!strcmp(step, "queue")) {
        uint64_t one = 1;
        PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_NUM_NODES, &one, PMIX_UINT64);
        PMIX_INFO_LOAD(&info[1], PMIX_ALLOC_QUEUE, list, PMIX_STRING);
        ask(step, PMIX_ALLOC_NEW, info, 2);
    }
    if (!strcmp(step, "lend")) {
        bool yes = true;
        PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_NODE_LIST, list, PMIX_STRING);
        PMIX_INFO_LOAD(&info[1], "pmix.alloc.lend", &yes, PMIX_BOOL);
        ask(step, PMIX_ALLOC_RELEASE, info, 2);
    }
    if (!strcmp(step, "directive")) {
        PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_NODE_LIST, "n1", PMIX_STRING);
        ask(step, (pmix_alloc_directive_t)strtoul(list, NULL, 10), info, 1);
    }
    if (!strcmp(step, "must")) {
        PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_NODE_LIST, "n2", PMIX_STRING);
        PMIX_INFO_LOAD(&info[1], PMIX_ALLOC_QUEUE, "fast", PMIX_STRING);
        PMIX_INFO_REQUIRED(&info[1]);
        ask(step, PMIX_ALLOC_NEW, info, 2);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    pmix_proc_t me, all;
    bool is_tool = argc > 1 && !strcmp(argv[1], "tool");
    bool is_deaf = argc > 1 && !strcmp(argv[1], "deaf");
    check("init", is_tool ? PMIx_tool_init(&me, NULL, 0) : PMIx_Init(&me, NULL, 0));
    pmix_status_t codes[] = {DVM_IS_READY, ERR_DVM_MOD, ALLOC_TIMEOUT_WARNING};
    if (is_deaf)
        PMIx_Register_event_handler(NULL, 0, NULL, 0, anything, registered, NULL);
    else
        PMIx_Register_event_handler(codes, 3, NULL, 0, resized, registered, NULL);
    pthread_mutex_lock(&lock);
    while (!is_registered)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);

    if (is_tool || me.rank == 0)
        for (int i = is_tool || is_deaf ? 2 : 1; i < argc; i++)
            take(argv[i]);
    if (is_tool) {
        check("finalize", PMIx_tool_finalize());
        return 0;
    }
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    check("fence", PMIx_Fence(&all, 1, NULL, 0));
    if (me.rank != 0)
        quiet("bystander");
    check("finalize", PMIx_Finalize(NULL, 0));
    return 0;
}
