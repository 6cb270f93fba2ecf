/* A program that makes its DVM larger while it runs, uses the new nodes, and gives them back.
 *
 *     cc -o nodes nodes.c $(pkg-config --cflags --libs pmix) -pthread
 *     prte --daemonize --host n0 --prtemca prte_elastic_mode 1 --prtemca prte_dvm_events always
 *     prun -n 1 ./nodes n1,n2
 *     pterm
 *
 * A change of size is answered twice. The call returns as soon as the request is accepted; that the nodes are really
 * there, or why they are not, an event says. No released PMIx has names for these two events yet, so they are sent only
 * when prte_dvm_events says so, and have numbers here.
 */
#include <errno.h>
#include <pmix.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DVM_IS_READY (-195)
#define ERR_DVM_MOD (-196)
#define PATIENCE_S 120

static pmix_proc_t me;
static char allocation[256];

/* What the handlers, which run in a thread of PMIx, tell the main thread. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_registered, has_ended;
static pmix_status_t outcome;
static char cause[512];

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void check(const char *what, pmix_status_t status)
{
    if (status == PMIX_SUCCESS)
        return;
    fprintf(stderr, "nodes: %s: %s (%d)\n", what, PMIx_Error_string(status), status);
    exit(1);
}

static void on_resized(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                       pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)source, (void)results, (void)nresults;
    pthread_mutex_lock(&lock);
    outcome = status == DVM_IS_READY ? PMIX_SUCCESS : PMIX_ERROR;
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_JOB_TERM_STATUS))
            outcome = info[i].value.data.status;
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_TEXT_MESSAGE))
            snprintf(cause, sizeof cause, "%s", info[i].value.data.string);
    }
    has_ended = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void on_registered(pmix_status_t status, size_t id, void *data)
{
    (void)id, (void)data;
    check("handler", status);
    pthread_mutex_lock(&lock);
    is_registered = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void wait_until(bool *flag)
{
    struct timespec end;
    int error = 0;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&lock);
    while (!*flag && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&changed, &lock, &end);
    *flag = false;
    pthread_mutex_unlock(&lock);
    if (error == ETIMEDOUT) {
        fprintf(stderr, "nodes: no event: does the DVM run with prte_elastic_mode 1 and prte_dvm_events always?\n");
        exit(1);
    }
}

/* Asks for another size, and waits until the DVM has it. */
static void resize(const char *what, pmix_alloc_directive_t directive, pmix_info_t *info, size_t ninfo)
{
    pmix_info_t *results = NULL;
    size_t nresults = 0;
    double start = now();

    check(what, PMIx_Allocation_request(directive, info, ninfo, &results, &nresults));
    for (size_t i = 0; i < nresults; i++)
        if (PMIX_CHECK_KEY(&results[i], PMIX_ALLOC_ID))
            snprintf(allocation, sizeof allocation, "%s", results[i].value.data.string);
    double accepted = now();
    wait_until(&has_ended);
    if (outcome != PMIX_SUCCESS) {
        fprintf(stderr, "nodes: %s failed (%d): %s\n", what, outcome, cause);
        exit(1);
    }
    printf("%-8s accepted after %5.1f ms, true after %7.1f ms (allocation %s)\n", what, (accepted - start) * 1e3,
           (now() - start) * 1e3, allocation);
}

/* Both meet when they connect and when they disconnect; in between the children work. */
static void meet(const pmix_proc_t *parent, const char *children, bool is_first)
{
    pmix_proc_t all[2];

    all[0] = *parent;
    PMIX_LOAD_PROCID(&all[1], children, PMIX_RANK_WILDCARD);
    check("meeting", is_first ? PMIx_Connect(all, 2, NULL, 0) : PMIx_Disconnect(all, 2, NULL, 0));
}

static void work_on(char *nodes, char *program)
{
    char *words[] = {program, NULL};
    double start = now();
    pmix_nspace_t children;
    pmix_info_t how[2];
    pmix_app_t app;

    PMIX_APP_CONSTRUCT(&app);
    app.cmd = program;
    app.argv = words;
    app.maxprocs = 1;
    for (const char *c = nodes; *c; c++)
        app.maxprocs += *c == ',';
    PMIX_INFO_CREATE(app.info, 1);
    app.ninfo = 1;
    PMIX_INFO_LOAD(&app.info[0], PMIX_HOST, nodes, PMIX_STRING);
    PMIX_INFO_LOAD(&how[0], PMIX_MAPBY, "node", PMIX_STRING);
    /* Nodes of an allocation are withheld from jobs that do not name it. */
    PMIX_INFO_LOAD(&how[1], PMIX_ALLOC_ID, allocation, PMIX_STRING);
    check("spawn", PMIx_Spawn(how, 2, &app, 1, children));
    meet(&me, children, true);
    meet(&me, children, false);
    printf("%-8s %d processes ran for %7.1f ms\n", "spawn", app.maxprocs, (now() - start) * 1e3);
    fflush(stdout);
}

static void be_the_parent(char *nodes, char *program)
{
    pmix_status_t codes[] = {DVM_IS_READY, ERR_DVM_MOD};
    pmix_info_t info[2];

    PMIx_Register_event_handler(codes, 2, NULL, 0, on_resized, on_registered, NULL);
    wait_until(&is_registered);

    PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_NODE_LIST, nodes, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_ALLOC_REQ_ID, "example", PMIX_STRING);
    resize("grow", PMIX_ALLOC_NEW, info, 2);
    work_on(nodes, program);
    PMIX_INFO_LOAD(&info[0], PMIX_ALLOC_ID, allocation, PMIX_STRING);
    resize("shrink", PMIX_ALLOC_RELEASE, info, 1);
}

static void be_a_child(const pmix_proc_t *parent)
{
    char host[256];

    meet(parent, me.nspace, true);
    gethostname(host, sizeof host);
    printf("child %u works on %s\n", me.rank, host);
    fflush(stdout);
    meet(parent, me.nspace, false);
}

int main(int argc, char **argv)
{
    pmix_value_t *parent;

    check("init", PMIx_Init(&me, NULL, 0));
    if (argc > 1)
        be_the_parent(argv[1], argv[0]);
    else if (PMIx_Get(&me, PMIX_PARENT_ID, NULL, 0, &parent) == PMIX_SUCCESS)
        be_a_child(parent->data.proc);
    else
        fprintf(stderr, "usage: prun -n 1 ./nodes NODE,NODE\n");
    check("finalize", PMIx_Finalize(NULL, 0));
    return 0;
}
