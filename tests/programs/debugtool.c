/* A debugger that is a PMIx tool, with daemons beside the processes of its target.
 *
 *   debugtool direct KEY PROGRAM ARGS...   spawns two processes that stop (KEY: exec or init), puts a daemon on each of
 *                                          their nodes, which lets them go on, and waits for both jobs
 *   debugtool indirect KEY LAUNCHER ARGS...  the same with the job of a launcher, which it starts and directs. Other
 *                                          KEYs: node (a directive that a launcher does not take), never (it does not
 *                                          let the launcher go on), gone (it dies instead), event (it raises the events
 *                                          -3001 for all and -3002 for the session)
 *   debugtool attach NSPACE                puts a daemon beside each process of a running job, which release it, and
 *                                          waits for the daemons; twice, with a new attachment
 *   debugtool table NSPACE                 lists the processes of a job
 *   debugtool daemon                       one of the daemons
 *
 * DEBUGTOOL_URI, DEBUGTOOL_FILE, DEBUGTOOL_PID and DEBUGTOOL_NSPACE name the server; otherwise the tool looks for one.
 */
#include <pmix_tool.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int registered, ready, launcher_over;
static bool has_launcher;
/* The job that waits for a debugger. */
static pmix_nspace_t waiting;
/* Namespaces of jobs that are over, and their exit codes. */
static pmix_nspace_t ended[8];
static int codes[8], n_ended;
static pmix_proc_t me;

static void check(const char *what, pmix_status_t status)
{
    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) {
        fprintf(stderr, "debugtool: %s: %s (%d)\n", what, PMIx_Error_string(status), status);
        exit(99);
    }
}

static void happened(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)source, (void)results, (void)nresults;
    pthread_mutex_lock(&lock);
    if (status == PMIX_READY_FOR_DEBUG) {
        for (size_t i = 0; i < ninfo; i++)
            if (PMIX_CHECK_KEY(&info[i], PMIX_NSPACE))
                PMIX_LOAD_NSPACE(waiting, info[i].value.data.string);
        ready = 1;
    } else if (status == PMIX_EVENT_JOB_END && n_ended < 8) {
        for (size_t i = 0; i < ninfo; i++) {
            if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC))
                PMIX_LOAD_NSPACE(ended[n_ended], info[i].value.data.proc->nspace);
            if (PMIX_CHECK_KEY(&info[i], PMIX_JOB_TERM_STATUS))
                codes[n_ended] = info[i].value.data.status;
        }
        n_ended++;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void lost(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                 pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    if (status == PMIX_ERR_LOST_CONNECTION || status == PMIX_ERR_UNREACH) {
        if (!has_launcher)
            _exit(97);
        pthread_mutex_lock(&lock);
        launcher_over = 1;
        // Nothing comes any more from it.
        ready = 1;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void is_registered(pmix_status_t status, size_t id, void *data)
{
    (void)status, (void)id, (void)data;
    pthread_mutex_lock(&lock);
    registered++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void wait_for(int *number, int value)
{
    pthread_mutex_lock(&lock);
    while (*number < value)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* Waits for the end of a job; returns its exit code. */
static int wait_for_end(const char *nspace)
{
    int code = -1;
    pthread_mutex_lock(&lock);
    for (bool found = false; !found;) {
        for (int i = 0; i < n_ended; i++)
            if (!strcmp(ended[i], nspace))
                found = true, code = codes[i];
        if (!found)
            pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    return code;
}

static void listen_to_jobs(void)
{
    pmix_status_t wanted[] = {PMIX_READY_FOR_DEBUG, PMIX_EVENT_JOB_END};
    int before = registered;
    PMIx_Register_event_handler(wanted, 2, NULL, 0, happened, is_registered, NULL);
    wait_for(&registered, before + 1);
}

static void listen_to_losses(void)
{
    int before = registered;
    PMIx_Register_event_handler(NULL, 0, NULL, 0, lost, is_registered, NULL);
    wait_for(&registered, before + 1);
}

static void connect_to_server(void)
{
    pmix_info_t info;
    const char *uri = getenv("DEBUGTOOL_URI"), *file = getenv("DEBUGTOOL_FILE"), *pid = getenv("DEBUGTOOL_PID"),
               *nspace = getenv("DEBUGTOOL_NSPACE");
    size_t n = 1;
    if (uri) {
        PMIX_INFO_LOAD(&info, PMIX_SERVER_URI, uri, PMIX_STRING);
    } else if (file) {
        PMIX_INFO_LOAD(&info, PMIX_TOOL_ATTACHMENT_FILE, file, PMIX_STRING);
    } else if (pid) {
        pid_t number = atoi(pid);
        PMIX_INFO_LOAD(&info, PMIX_SERVER_PIDINFO, &number, PMIX_PID);
    } else if (nspace) {
        PMIX_INFO_LOAD(&info, PMIX_SERVER_NSPACE, nspace, PMIX_STRING);
    } else {
        n = 0;
    }
    check("init", PMIx_tool_init(&me, n ? &info : NULL, n));
}

/* Lets these processes go on. */
static void release(pmix_proc_info_t *procs, size_t n)
{
    pmix_data_array_t all;
    PMIX_DATA_ARRAY_CONSTRUCT(&all, n, PMIX_PROC);
    for (size_t i = 0; i < n; i++)
        ((pmix_proc_t *)all.array)[i] = procs[i].proc;
    pmix_info_t range;
    PMIX_INFO_LOAD(&range, PMIX_EVENT_CUSTOM_RANGE, &all, PMIX_DATA_ARRAY);
    check("release", PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &me, PMIX_RANGE_CUSTOM, &range, 1, NULL, NULL));
}

/* Asks for a table of processes; returns their number. Prints them, and lets them go on, if that is wanted. */
static size_t table(const char *key, const char *nspace, const char *label, bool releases)
{
    pmix_query_t query;
    PMIX_QUERY_CONSTRUCT(&query);
    char *keys[] = {(char *)key, NULL};
    query.keys = keys;
    PMIX_INFO_CREATE(query.qualifiers, 1);
    query.nqual = 1;
    PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_NSPACE, nspace, PMIX_STRING);
    pmix_info_t *answer = NULL;
    size_t n = 0;
    check(key, PMIx_Query_info(&query, 1, &answer, &n));
    if (n != 1 || answer[0].value.type != PMIX_DATA_ARRAY)
        return 0;
    pmix_data_array_t *all = answer[0].value.data.darray;
    pmix_proc_info_t *procs = all->array;
    for (size_t i = 0; i < all->size && label; i++)
        printf("%s%u on %s runs %d\n", label, procs[i].proc.rank, procs[i].hostname,
               procs[i].pid > 0 && procs[i].executable_name != NULL);
    if (releases)
        release(procs, all->size);
    return all->size;
}

/* Beside the target: finds it, looks at its processes, lets them go on, and ends with it. */
static int run_daemon(bool waits)
{
    check("daemon: init", PMIx_tool_init(&me, NULL, 0));
    listen_to_jobs();
    pmix_proc_t own;
    pmix_value_t *value = NULL;
    PMIX_LOAD_PROCID(&own, me.nspace, PMIX_RANK_WILDCARD);
    check("daemon: target", PMIx_Get(&own, PMIX_DEBUG_TARGET, NULL, 0, &value));
    pmix_proc_t target = *value->data.proc;
    check("daemon: older key", PMIx_Get(&own, PMIX_DEBUG_JOB, NULL, 0, &value));
    bool same = !strcmp(value->data.string, target.nspace);
    size_t here = table(PMIX_QUERY_LOCAL_PROC_TABLE, target.nspace, NULL, false);
    size_t all = table(PMIX_QUERY_PROC_TABLE, target.nspace, NULL, false);
    char host[256];
    gethostname(host, sizeof host);
    printf("daemon %u on %s: %zu of %zu here, %s target\n", me.rank, host, here, all, same ? "one" : "another");
    fflush(stdout);
    // Those of this node: the target of another daemon cannot end before that daemon has looked at it.
    table(PMIX_QUERY_LOCAL_PROC_TABLE, target.nspace, NULL, true);
    if (waits) {
        int code = wait_for_end(target.nspace);
        printf("daemon %u: target ended with %d\n", me.rank, code);
        fflush(stdout);
    }
    PMIx_tool_finalize();
    return 0;
}

static void spawn_daemons(char *program, const char *nspace, const char *number, bool waits, pmix_nspace_t daemons)
{
    pmix_info_t info[5];
    pmix_proc_t target;
    uint16_t one = 1;
    bool yes = true;
    PMIX_LOAD_PROCID(&target, nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info[0], PMIX_DEBUGGER_DAEMONS, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_DEBUG_TARGET, &target, PMIX_PROC);
    PMIX_INFO_LOAD(&info[2], number, &one, PMIX_UINT16);
    PMIX_INFO_LOAD(&info[3], PMIX_FWD_STDOUT, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[4], PMIX_FWD_STDERR, &yes, PMIX_BOOL);
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    char *words[] = {program, waits ? "daemon" : "passing-daemon", NULL};
    app.cmd = program;
    app.argv = words;
    app.maxprocs = 1;
    check("spawn of daemons", PMIx_Spawn(info, 5, &app, 1, daemons));
}

static int direct(char **argv)
{
    connect_to_server();
    listen_to_jobs();
    listen_to_losses();
    bool yes = true;
    pmix_info_t info[4];
    PMIX_INFO_LOAD(&info[0], strcmp(argv[2], "exec") ? PMIX_DEBUG_STOP_IN_INIT : PMIX_DEBUG_STOP_ON_EXEC, &yes,
                   PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_FWD_STDOUT, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[2], PMIX_FWD_STDERR, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[3], PMIX_MAPBY, "node", PMIX_STRING);
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = argv[3];
    app.argv = argv + 3;
    app.maxprocs = 2;
    pmix_nspace_t target, daemons;
    check("spawn", PMIx_Spawn(info, 4, &app, 1, target));
    wait_for(&ready, 1);
    printf("ready\n");
    fflush(stdout);
    table(PMIX_QUERY_PROC_TABLE, target, "target ", false);
    fflush(stdout);
    spawn_daemons(argv[0], target, PMIX_DEBUG_DAEMONS_PER_NODE, true, daemons);
    printf("target over: %d\n", wait_for_end(target));
    printf("daemons over: %d\n", wait_for_end(daemons));
    fflush(stdout);
    PMIx_tool_finalize();
    return 0;
}

/* Starts the launcher, and waits until it has called. */
static void start_launcher(char **argv, const char *directive, pmix_proc_t *launcher)
{
    bool yes = true;
    int seconds = 30;
    pmix_info_t info[3], directives[3], wait[2];
    PMIX_INFO_LOAD(&info[0], PMIX_TOOL_DO_NOT_CONNECT, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_LAUNCHER, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[2], PMIX_IOF_LOCAL_OUTPUT, &yes, PMIX_BOOL);
    check("init", PMIx_tool_init(&me, info, 3));
    pmix_value_t *own;
    check("own address", PMIx_Get(&me, PMIX_MYSERVER_URI, NULL, 0, &own));
    listen_to_losses();
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    // The library changes what it has been given.
    pmix_status_t status;
    app.cmd = strdup(argv[0]);
    app.maxprocs = 1;
    for (char **word = argv; *word; word++)
        PMIX_ARGV_APPEND(status, app.argv, *word);
    PMIX_SETENV(status, PMIX_LAUNCHER_RNDZ_URI, own->data.string, &app.env);
    check("environment of the launcher", status);
    if (!strcmp(directive, PMIX_MAPBY))
        PMIX_INFO_LOAD(&directives[0], directive, "node", PMIX_STRING);
    else
        PMIX_INFO_LOAD(&directives[0], directive, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&directives[1], PMIX_FWD_STDOUT, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&directives[2], PMIX_FWD_STDERR, &yes, PMIX_BOOL);
    pmix_data_array_t all = {.type = PMIX_INFO, .size = 3, .array = directives};
    PMIX_INFO_LOAD(&info[0], PMIX_LAUNCH_DIRECTIVES, &all, PMIX_DATA_ARRAY);
    pmix_nspace_t nspace;
    check("start of the launcher", PMIx_Spawn(info, 1, &app, 1, nspace));
    PMIX_LOAD_PROCID(launcher, nspace, 0);
    PMIX_INFO_LOAD(&wait[0], PMIX_WAIT_FOR_CONNECTION, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&wait[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    check("call of the launcher", PMIx_tool_set_server(launcher, wait, 2));
}

static int indirect(char **argv)
{
    const char *how = argv[2];
    pmix_proc_t launcher;
    has_launcher = true;
    start_launcher(argv + 3,
                   !strcmp(how, "exec")   ? PMIX_DEBUG_STOP_ON_EXEC
                   : !strcmp(how, "node") ? PMIX_MAPBY
                                          : PMIX_DEBUG_STOP_IN_INIT,
                   &launcher);
    // The launcher is its server now, and tells of the job.
    listen_to_jobs();
    printf("called\n");
    fflush(stdout);
    if (!strcmp(how, "gone"))
        raise(SIGKILL);
    if (!strcmp(how, "event")) {
        check("event for all", PMIx_Notify_event(-3001, &me, PMIX_RANGE_GLOBAL, NULL, 0, NULL, NULL));
        check("event for the session", PMIx_Notify_event(-3002, &me, PMIX_RANGE_SESSION, NULL, 0, NULL, NULL));
    }
    if (strcmp(how, "never")) {
        pmix_info_t range;
        PMIX_INFO_LOAD(&range, PMIX_EVENT_CUSTOM_RANGE, &launcher, PMIX_PROC);
        check("release", PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &me, PMIX_RANGE_CUSTOM, &range, 1, NULL, NULL));
        wait_for(&ready, 1);
    }
    if (*waiting) {
        pmix_nspace_t daemons;
        printf("ready\n");
        table(PMIX_QUERY_PROC_TABLE, waiting, "target ", false);
        fflush(stdout);
        spawn_daemons(argv[0], waiting, PMIX_DEBUG_DAEMONS_PER_NODE, true, daemons);
        printf("target over: %d\n", wait_for_end(waiting));
        printf("daemons over: %d\n", wait_for_end(daemons));
        fflush(stdout);
    }
    wait_for(&launcher_over, 1);
    printf("launcher over\n");
    fflush(stdout);
    PMIx_tool_finalize();
    return 0;
}

static int attach(char **argv)
{
    for (int round = 0; round < 2; round++) {
        pmix_nspace_t daemons;
        connect_to_server();
        listen_to_jobs();
        listen_to_losses();
        table(PMIX_QUERY_PROC_TABLE, argv[2], "target ", false);
        fflush(stdout);
        spawn_daemons(argv[0], argv[2], PMIX_DEBUG_DAEMONS_PER_PROC, false, daemons);
        printf("daemons over: %d\n", wait_for_end(daemons));
        fflush(stdout);
        PMIx_tool_finalize();
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "daemon"))
        return run_daemon(true);
    if (argc > 1 && !strcmp(argv[1], "passing-daemon"))
        return run_daemon(false);
    if (argc > 3 && !strcmp(argv[1], "direct"))
        return direct(argv);
    if (argc > 3 && !strcmp(argv[1], "indirect"))
        return indirect(argv);
    if (argc > 2 && !strcmp(argv[1], "attach"))
        return attach(argv);
    if (argc > 2 && !strcmp(argv[1], "table")) {
        connect_to_server();
        table(PMIX_QUERY_PROC_TABLE, argv[2], "target ", false);
        PMIx_tool_finalize();
        return 0;
    }
    return 98;
}
