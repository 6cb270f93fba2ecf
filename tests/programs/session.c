/* Orders for sessions, given from inside: `session [tool] STEP...`. With `tool` it is no process of a job. Against
   libpmix 5.0 or later: the release that the headers are of may be older, so that what it lacks is declared here, from
   the PMIx standard.
   STEP: `new=LIST` (a session of these nodes; told with its number), `spawn=PROGRAM` (one process of `PROGRAM 1000`
   there), `pause`, `resume`, `separate`, `terminate`, `instantiate`, `complete`, `nothing`, `two` (of them at once),
   `signal=N`, `extend=N` (seconds): one order each, told with its answer, for that session; `of=N` and `of=all` choose
   another. `on=ALLOCATION` makes the session of the chosen number on that allocation, `with=LIST` on these nodes, and
   `run=LIST` on these nodes with a first job of two processes.
   `later` answers by callback from then on. `wait=SECONDS` waits. */

#include <pmix.h>
#include <pmix_tool.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

pmix_status_t PMIx_Session_control(uint32_t session, const pmix_info_t directives[], size_t ndirs,
                                   pmix_info_cbfunc_t answered, void *data);

static uint32_t session;
static char alloc_id[64];
static bool later;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int answers;
static pmix_status_t answer;

static void check(const char *what, pmix_status_t status)
{
    if (status != PMIX_SUCCESS) {
        fprintf(stderr, "session: %s: %s (%d)\n", what, PMIx_Error_string(status), status);
        exit(99);
    }
}

static void answered(pmix_status_t status, pmix_info_t *info, size_t ninfo, void *data, pmix_release_cbfunc_t release,
                     void *release_data)
{
    (void)info, (void)ninfo, (void)data;
    if (release)
        release(release_data);
    pthread_mutex_lock(&lock);
    answer = status;
    answers++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static pmix_status_t give(const char *step, const pmix_info_t *info, size_t ninfo)
{
    pmix_status_t status;
    if (later) {
        pthread_mutex_lock(&lock);
        answers = 0;
        pthread_mutex_unlock(&lock);
        check(step, PMIx_Session_control(session, info, ninfo, answered, NULL));
        pthread_mutex_lock(&lock);
        while (!answers)
            pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        usleep(200000); /* A second answer would be here now. */
        pthread_mutex_lock(&lock);
        status = answer;
        if (answers > 1)
            printf("%s is answered %d times\n", step, answers);
        pthread_mutex_unlock(&lock);
    } else {
        status = PMIx_Session_control(session, info, ninfo, NULL, NULL);
    }
    return status;
}

static void order(const char *step, const pmix_info_t *info, size_t ninfo)
{
    pmix_status_t status = give(step, info, ninfo);
    /* The nodes of an allocation come after the answer to its request. */
    for (int tries = 0; status == PMIX_ERR_INVALID_OPERATION && tries < 100; tries++) {
        usleep(100000);
        status = give(step, info, ninfo);
    }
    if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED)
        printf("%s done\n", step);
    else
        printf("%s refused %d\n", step, status);
}

static void flagged(const char *step, const char *key)
{
    pmix_info_t info;
    bool yes = true;
    PMIX_INFO_LOAD(&info, key, &yes, PMIX_BOOL);
    order(step, &info, 1);
}

static void make(const char *list)
{
    pmix_info_t info, *results = NULL;
    size_t nresults = 0;
    PMIX_INFO_LOAD(&info, PMIX_ALLOC_NODE_LIST, list, PMIX_STRING);
    check("new", PMIx_Allocation_request(PMIX_ALLOC_NEW, &info, 1, &results, &nresults));
    for (size_t i = 0; i < nresults; i++) {
        if (PMIX_CHECK_KEY(&results[i], PMIX_SESSION_ID))
            session = results[i].value.data.uint32;
        if (PMIX_CHECK_KEY(&results[i], PMIX_ALLOC_ID))
            snprintf(alloc_id, sizeof alloc_id, "%s", results[i].value.data.string);
    }
    printf("new session %u\n", session);
}

static void spawn(char *program)
{
    char *words[] = {program, "1000", NULL};
    pmix_nspace_t children;
    pmix_info_t how;
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = program;
    app.argv = words;
    app.maxprocs = 1;
    PMIX_INFO_LOAD(&how, PMIX_ALLOC_ID, alloc_id, PMIX_STRING);
    check("spawn", PMIx_Spawn(&how, 1, &app, 1, children));
    printf("spawned\n");
}

static void take(char *step)
{
    pmix_info_t info[3];
    bool yes = true;
    char *value = strchr(step, '=');
    int number;
    if (value)
        *value++ = 0;
    number = value ? atoi(value) : 0;
    uint32_t seconds = number;
    if (!strcmp(step, "new"))
        make(value);
    if (!strcmp(step, "spawn"))
        spawn(value);
    if (!strcmp(step, "of"))
        session = strcmp(value, "all") ? (uint32_t)number : UINT32_MAX;
    if (!strcmp(step, "later"))
        later = true;
    if (!strcmp(step, "wait"))
        sleep(number);
    if (!strcmp(step, "pause"))
        flagged(step, "pmix.ssn.pause");
    if (!strcmp(step, "resume"))
        flagged(step, "pmix.ssn.resume");
    if (!strcmp(step, "separate"))
        flagged(step, "pmix.ssn.sep");
    if (!strcmp(step, "terminate"))
        flagged(step, "pmix.ssn.terminate");
    if (!strcmp(step, "instantiate"))
        flagged(step, "pmix.ssn.inst");
    if (!strcmp(step, "complete"))
        flagged(step, "pmix.ssn.complete");
    if (!strcmp(step, "on")) {
        PMIX_INFO_LOAD(&info[0], "pmix.ssn.inst", &yes, PMIX_BOOL);
        PMIX_INFO_LOAD(&info[1], PMIX_ALLOC_ID, value, PMIX_STRING);
        order(step, info, 2);
    }
    if (!strcmp(step, "with")) {
        pmix_data_array_t nodes;
        PMIX_DATA_ARRAY_CONSTRUCT(&nodes, 1, PMIX_INFO);
        PMIX_INFO_LOAD((pmix_info_t *)nodes.array, PMIX_ALLOC_NODE_LIST, value, PMIX_STRING);
        PMIX_INFO_LOAD(&info[0], "pmix.ssn.inst", &yes, PMIX_BOOL);
        PMIX_INFO_LOAD(&info[1], "pmix.ssn.res", &nodes, PMIX_DATA_ARRAY);
        order(step, info, 2);
    }
    if (!strcmp(step, "run")) {
        pmix_data_array_t apps;
        PMIX_DATA_ARRAY_CONSTRUCT(&apps, 1, PMIX_APP);
        pmix_app_t *app = (pmix_app_t *)apps.array;
        app->cmd = strdup("sleep");
        app->argv = (char **)calloc(3, sizeof(char *));
        app->argv[0] = strdup("sleep");
        app->argv[1] = strdup("1000");
        app->maxprocs = 2;
        PMIX_INFO_LOAD(&info[0], "pmix.ssn.inst", &yes, PMIX_BOOL);
        PMIX_INFO_LOAD(&info[1], PMIX_ALLOC_NODE_LIST, value, PMIX_STRING);
        PMIX_INFO_LOAD(&info[2], "pmix.ssn.app", &apps, PMIX_DATA_ARRAY);
        order(step, info, 3);
    }
    if (!strcmp(step, "nothing"))
        flagged(step, "pmix.ssnctrl.id");
    if (!strcmp(step, "signal")) {
        PMIX_INFO_LOAD(&info[0], "pmix.ssn.sig", &number, PMIX_INT);
        order(step, info, 1);
    }
    if (!strcmp(step, "extend")) {
        PMIX_INFO_LOAD(&info[0], "pmix.ssn.xtend", &yes, PMIX_BOOL);
        PMIX_INFO_LOAD(&info[1], PMIX_ALLOC_TIME, &seconds, PMIX_UINT32);
        order(step, info, 2);
    }
    if (!strcmp(step, "two")) {
        PMIX_INFO_LOAD(&info[0], "pmix.ssn.pause", &yes, PMIX_BOOL);
        PMIX_INFO_LOAD(&info[1], "pmix.ssn.resume", &yes, PMIX_BOOL);
        order(step, info, 2);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    pmix_proc_t me;
    bool is_tool = argc > 1 && !strcmp(argv[1], "tool");
    check("init", is_tool ? PMIx_tool_init(&me, NULL, 0) : PMIx_Init(&me, NULL, 0));
    for (int i = is_tool ? 2 : 1; i < argc; i++)
        take(argv[i]);
    check("finalize", is_tool ? PMIx_tool_finalize() : PMIx_Finalize(NULL, 0));
    return 0;
}
