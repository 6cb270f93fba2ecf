/* See ferrite_elastic.h. PMIx calls `on_event` in a thread of its own; what it keeps is behind the lock, and no call of
   PMIx is made under the lock, because that thread may wait for it. */

#include "ferrite_elastic.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Events and directives of Ferrite (docs/spec/elastic.md, E52 to E59). */
#define FERRITE_NODES_STAY (PMIX_EXTERNAL_ERR_BASE - 1)
#define FERRITE_GROWTH_OFFERED (PMIX_EXTERNAL_ERR_BASE - 2)
#define FERRITE_GROWTH_REFUSE "ferrite.growth.refuse"
#define FERRITE_WITHDRAWAL_REFUSE "ferrite.withdrawal.refuse"
#define FERRITE_WITHDRAWAL_DEFER "ferrite.withdrawal.defer"
/* Older headers have no names for these. */
#ifndef PMIX_ALLOC_TIMEOUT_WARNING
#define PMIX_ALLOC_TIMEOUT_WARNING (-194)
#endif
#ifndef PMIX_NUM_SLOTS
#define PMIX_NUM_SLOTS "pmix.num.slots"
#endif

/* Begin and end, one at a time. Never taken under `lock`. */
static pthread_mutex_t beginning = PTHREAD_MUTEX_INITIALIZER;
static pmix_status_t handler;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static bool has_begun;
static pmix_proc_t me;

/* An offer, or what a retirement says beside its processes. */
struct heard {
    int count;
    struct timespec until;
    char request[64], nodes[4096];
};
static struct heard offer, retirement;
static pmix_proc_t *leavers;
static int leaver_count;
/* The last offer that was settled. Its event may come to this process later than the change itself. */
static char settled[sizeof offer.request];

static struct timespec after(long seconds, long milliseconds)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_sec += seconds + milliseconds / 1000;
    time.tv_nsec += milliseconds % 1000 * 1000000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_nsec -= 1000000000;
        time.tv_sec++;
    }
    return time;
}

/* The seconds from now on, rounded down; 0 when it is over. */
static int seconds_to(const struct timespec *time)
{
    struct timespec now = after(0, 0);
    long seconds = time->tv_sec - now.tv_sec - (time->tv_nsec < now.tv_nsec);
    return seconds > 0 ? (int)seconds : 0;
}

static bool is_among(const pmix_proc_t *proc, const pmix_proc_t *procs, int count)
{
    for (int i = 0; i < count; i++)
        if (procs[i].rank == proc->rank && !strcmp(procs[i].nspace, proc->nspace))
            return true;
    return false;
}

/* The caller has the lock. */
static void forget_leavers(const pmix_proc_t *procs, int count)
{
    int kept = 0;
    for (int i = 0; i < leaver_count; i++)
        if (!is_among(&leavers[i], procs, count))
            leavers[kept++] = leavers[i];
    leaver_count = kept;
}

/* The same. Without memory a process is not named, and the DVM ends it when its time is over. */
static void add_leavers(const pmix_proc_t *procs, int count)
{
    forget_leavers(procs, count);
    pmix_proc_t *more = realloc(leavers, (size_t)(leaver_count + count) * sizeof *more);
    if (!more)
        return;
    leavers = more;
    memcpy(leavers + leaver_count, procs, (size_t)count * sizeof *procs);
    leaver_count += count;
}

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)source, (void)results, (void)nresults;
    struct heard heard = {.count = 0};
    const pmix_proc_t *procs = NULL;
    int proc_count = 0;
    for (size_t i = 0; i < ninfo; i++) {
        const pmix_value_t *value = &info[i].value;
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROCS) && value->type == PMIX_DATA_ARRAY) {
            procs = value->data.darray->array;
            proc_count = (int)value->data.darray->size;
        } else if (PMIX_CHECK_KEY(&info[i], PMIX_NUM_SLOTS) && value->type == PMIX_UINT32)
            heard.count = (int)value->data.uint32;
        else if (PMIX_CHECK_KEY(&info[i], PMIX_TIME_REMAINING) && value->type == PMIX_UINT32)
            heard.until = after(value->data.uint32, 0);
        else if (PMIX_CHECK_KEY(&info[i], PMIX_ALLOC_REQ_ID) && value->type == PMIX_STRING)
            snprintf(heard.request, sizeof heard.request, "%s", value->data.string);
        else if (PMIX_CHECK_KEY(&info[i], PMIX_ALLOC_NODE_LIST) && value->type == PMIX_STRING)
            snprintf(heard.nodes, sizeof heard.nodes, "%s", value->data.string);
    }
    pthread_mutex_lock(&lock);
    if (status == FERRITE_GROWTH_OFFERED) {
        if (strcmp(heard.request, settled))
            offer = heard;
    } else if (status == FERRITE_NODES_STAY) {
        forget_leavers(procs, proc_count);
    } else if (proc_count > 0) {
        /* One request has an event for each world that it concerns: their processes are one retirement. */
        add_leavers(procs, proc_count);
        retirement = heard;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void make_condition(void)
{
    /* The time of day may jump. */
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void set_begun(bool value)
{
    pthread_mutex_lock(&lock);
    has_begun = value;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static bool is_begun(void)
{
    pthread_mutex_lock(&lock);
    bool value = has_begun;
    pthread_mutex_unlock(&lock);
    return value;
}

int ferrite_elastic_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pmix_status_t codes[] = {PMIX_ALLOC_TIMEOUT_WARNING, FERRITE_NODES_STAY, FERRITE_GROWTH_OFFERED};
    pthread_once(&once, make_condition);
    if (!getenv("PMIX_NAMESPACE"))
        return FERRITE_ELASTIC_NO_DVM;
    int status = PMIX_SUCCESS;
    pthread_mutex_lock(&beginning);
    if (!is_begun() && (status = PMIx_Init(&me, NULL, 0)) == PMIX_SUCCESS) {
        /* Without a callback the call waits, and returns the number of the handler or an error. */
        handler = PMIx_Register_event_handler(codes, 3, NULL, 0, on_event, NULL, NULL);
        if (handler < 0) {
            status = handler;
            PMIx_Finalize(NULL, 0);
        } else {
            set_begun(true);
        }
    }
    pthread_mutex_unlock(&beginning);
    return status;
}

const pmix_proc_t *ferrite_elastic_me(void)
{
    return &me;
}

/* What is wanted now. The caller has the lock. */
static int wanted(struct ferrite_elastic_change *change)
{
    const struct heard *heard = NULL;
    memset(change, 0, sizeof *change);
    if (!has_begun)
        return PMIX_SUCCESS;
    if (leaver_count > 0) {
        change->procs = malloc((size_t)leaver_count * sizeof *leavers);
        if (!change->procs)
            return PMIX_ERR_NOMEM;
        memcpy(change->procs, leavers, (size_t)leaver_count * sizeof *leavers);
        change->kind = FERRITE_ELASTIC_RETIRE;
        change->count = leaver_count;
        change->ends_me = is_among(&me, leavers, leaver_count);
        heard = &retirement;
    } else if (offer.count > 0 && seconds_to(&offer.until) > 0) {
        change->kind = FERRITE_ELASTIC_OFFER;
        change->count = offer.count;
        heard = &offer;
    }
    if (heard) {
        change->seconds = seconds_to(&heard->until);
        memcpy(change->request, heard->request, sizeof change->request);
        memcpy(change->nodes, heard->nodes, sizeof change->nodes);
    }
    return PMIX_SUCCESS;
}

int ferrite_elastic_poll(struct ferrite_elastic_change *change, int milliseconds)
{
    struct timespec end = after(0, milliseconds > 0 ? milliseconds : 0);
    int status, error = 0;
    pthread_mutex_lock(&lock);
    while ((status = wanted(change)) == PMIX_SUCCESS && change->kind == FERRITE_ELASTIC_NOTHING && has_begun
           && milliseconds != 0 && error != ETIMEDOUT)
        error = milliseconds < 0 ? pthread_cond_wait(&changed, &lock) : pthread_cond_timedwait(&changed, &lock, &end);
    pthread_mutex_unlock(&lock);
    return status;
}

void ferrite_elastic_release(struct ferrite_elastic_change *change)
{
    free(change->procs);
    change->procs = NULL;
}

void ferrite_elastic_settle(const struct ferrite_elastic_change *change)
{
    pthread_mutex_lock(&lock);
    if (change->kind == FERRITE_ELASTIC_RETIRE) {
        forget_leavers(change->procs, change->count);
    } else if (change->kind == FERRITE_ELASTIC_OFFER) {
        memcpy(settled, change->request, sizeof settled);
        if (!strcmp(offer.request, settled))
            offer.count = 0;
    }
    pthread_mutex_unlock(&lock);
}

static int answer(const char *directive, const void *value, pmix_data_type_t type)
{
    pmix_info_t info, *results = NULL;
    size_t count = 0;
    if (!is_begun())
        return FERRITE_ELASTIC_NO_DVM;
    PMIX_INFO_LOAD(&info, directive, value, type);
    int status = PMIx_Job_control(NULL, 0, &info, 1, &results, &count);
    if (results)
        PMIX_INFO_FREE(results, count);
    return status;
}

int ferrite_elastic_refuse(const struct ferrite_elastic_change *change)
{
    bool yes = true;
    bool is_offer = change->kind == FERRITE_ELASTIC_OFFER;
    int status = answer(is_offer ? FERRITE_GROWTH_REFUSE : FERRITE_WITHDRAWAL_REFUSE, &yes, PMIX_BOOL);
    /* That processes stay is an event as well, which may come later than this answer. */
    if (status == PMIX_SUCCESS)
        ferrite_elastic_settle(change);
    return status;
}

int ferrite_elastic_defer(unsigned seconds)
{
    uint32_t value = seconds;
    int status = answer(FERRITE_WITHDRAWAL_DEFER, &value, PMIX_UINT32);
    if (status == PMIX_SUCCESS) {
        pthread_mutex_lock(&lock);
        retirement.until = after(seconds, 0);
        pthread_mutex_unlock(&lock);
    }
    return status;
}

int ferrite_elastic_where(const struct ferrite_elastic_change *change, pmix_info_t *info)
{
    if (change->kind != FERRITE_ELASTIC_OFFER || !change->nodes[0])
        return PMIX_ERR_BAD_PARAM;
    PMIX_INFO_LOAD(info, PMIX_HOST, change->nodes, PMIX_STRING);
    return PMIX_SUCCESS;
}

int ferrite_elastic_meet(const pmix_proc_t *procs, size_t count)
{
    return is_begun() ? PMIx_Fence(procs, count, NULL, 0) : FERRITE_ELASTIC_NO_DVM;
}

void ferrite_elastic_leave(void)
{
    fflush(NULL);
    /* As often as it was begun: MPI uses PMIx, too. The DVM sees an orderly end. */
    while (PMIx_Initialized() && PMIx_Finalize(NULL, 0) == PMIX_SUCCESS)
        ;
    _exit(0);
}

int ferrite_elastic_finalize(void)
{
    int status = FERRITE_ELASTIC_NO_DVM;
    pthread_mutex_lock(&beginning);
    if (is_begun()) {
        set_begun(false);
        PMIx_Deregister_event_handler((size_t)handler, NULL, NULL);
        status = PMIx_Finalize(NULL, 0);
    }
    pthread_mutex_unlock(&beginning);
    return status;
}
