/* Process sets, without MPI. Every rank does the steps of its command line and prints `RANK WORDS` for each:

   get            the sets of which it is a member (PMIX_PSET_NAMES)
   names          the sets of the DVM, and their number
   members=SET    the members of a set
   define=SET:R,R rank 0 makes ranks of its job a set; without ranks, the whole job
   await=SET      waits for the event that the set is defined
   gone=SET       waits for the event that the set is over
   spawn=SET      rank 0 spawns two processes `psets get names` that make up a set, and prints the status
   fence          all ranks of the job

   The namespace is printed as the number behind its `@`. */

#include <pmix.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "status.h"

#define MOST 64
#define DEFINE_PSET "pmix.jctrl.defpset"

static pmix_proc_t me;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_registered;
/* Events so far: `+NAME COUNT` or `-NAME`. */
static char *seen[MOST];
static size_t seen_count;

static void check(const char *what, pmix_status_t got)
{
    if (got != PMIX_SUCCESS) {
        fprintf(stderr, "%s.%u: %s: %s (%d)\n", me.nspace, me.rank, what, PMIx_Error_string(got), got);
        exit(99);
    }
}

static void happened(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)source, (void)results, (void)nresults;
    const char *name = "?";
    size_t members = 0;
    for (size_t n = 0; n < ninfo; n++) {
        if (PMIX_CHECK_KEY(&info[n], PMIX_PSET_NAME)) name = info[n].value.data.string;
        if (PMIX_CHECK_KEY(&info[n], PMIX_PSET_MEMBERS)) members = info[n].value.data.darray->size;
    }
    pthread_mutex_lock(&lock);
    if (seen_count < MOST) {
        char text[600];
        if (status == PMIX_PROCESS_SET_DEFINE) snprintf(text, sizeof text, "+%s %zu", name, members);
        else snprintf(text, sizeof text, "-%s", name);
        seen[seen_count++] = strdup(text);
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (done) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void registered(pmix_status_t status, size_t id, void *data)
{
    (void)status, (void)id, (void)data;
    pthread_mutex_lock(&lock);
    is_registered = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void await_event(char sign, const char *name)
{
    char text[600];
    snprintf(text, sizeof text, "%c%s", sign, name);
    size_t length = strlen(text);
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 60;
    pthread_mutex_lock(&lock);
    for (;;) {
        for (size_t n = 0; n < seen_count; n++)
            if (strncmp(seen[n], text, length) == 0 && (seen[n][length] == ' ' || seen[n][length] == 0)) {
                printf("%u event %s\n", me.rank, seen[n]);
                pthread_mutex_unlock(&lock);
                return;
            }
        if (pthread_cond_timedwait(&changed, &lock, &limit) != 0) {
            fprintf(stderr, "%u: no event %s\n", me.rank, text);
            exit(98);
        }
    }
}

static const char *number_of(const char *nspace)
{
    const char *at = strrchr(nspace, '@');
    return at ? at + 1 : nspace;
}

static void get(void)
{
    pmix_value_t *value;
    pmix_status_t status = PMIx_Get(&me, PMIX_PSET_NAMES, NULL, 0, &value);
    /* Of no set: 4.2 says that it is not found, 5.0 gives an empty list. */
    bool is_none = status == PMIX_ERR_NOT_FOUND || (status == PMIX_SUCCESS && value->data.darray->size == 0);
    printf("%u get", me.rank);
    if (is_none) printf(" none");
    else if (status != PMIX_SUCCESS) printf(" %s", name_of(status));
    else
        for (size_t n = 0; n < value->data.darray->size; n++) printf(" %s", ((char **)value->data.darray->array)[n]);
    printf("\n");
}

/* One query with up to two keys; the qualifier may be null. */
static void ask(const char *title, const char *key, const char *other, const char *set)
{
    pmix_query_t query;
    pmix_info_t *results = NULL;
    size_t count = 0;
    PMIX_QUERY_CONSTRUCT(&query);
    PMIX_ARGV_APPEND(query.nqual, query.keys, key);
    if (other) PMIX_ARGV_APPEND(query.nqual, query.keys, other);
    query.nqual = 0;
    if (set) {
        PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
        PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_PSET_NAME, set, PMIX_STRING);
    }
    pmix_status_t status = PMIx_Query_info(&query, 1, &results, &count);
    printf("%u %s", me.rank, title);
    if (status != PMIX_SUCCESS) printf(" %s", name_of(status));
    for (size_t n = 0; n < count; n++) {
        pmix_value_t *value = &results[n].value;
        if (value->type == PMIX_STRING) printf(" %s", value->data.string);
        else if (value->type == PMIX_SIZE) printf(" %zu", value->data.size);
        else if (value->type == PMIX_DATA_ARRAY && value->data.darray->type == PMIX_PROC) {
            pmix_proc_t *procs = value->data.darray->array;
            for (size_t m = 0; m < value->data.darray->size; m++)
                printf(" %s.%u", number_of(procs[m].nspace), procs[m].rank);
        } else printf(" (%s)", PMIx_Data_type_string(value->type));
    }
    printf("\n");
}

static void define(const char *set, char *ranks)
{
    pmix_proc_t procs[MOST];
    size_t count = 0;
    pmix_info_t directive, *results = NULL;
    size_t nresults = 0;
    for (char *rank = ranks ? strtok(ranks, ",") : NULL; rank && count < MOST; rank = strtok(NULL, ",")) {
        PMIX_LOAD_PROCID(&procs[count], me.nspace, (pmix_rank_t)atoi(rank));
        count++;
    }
    PMIX_INFO_LOAD(&directive, DEFINE_PSET, set, PMIX_STRING);
    pmix_status_t status = PMIx_Job_control(count ? procs : NULL, count, &directive, 1, &results, &nresults);
    printf("%u define %s\n", me.rank, name_of(status));
}

static void spawn(const char *program, const char *set)
{
    pmix_app_t app;
    char nspace[PMIX_MAX_NSLEN + 1] = "";
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup(program);
    PMIX_ARGV_APPEND(app.maxprocs, app.argv, program);
    PMIX_ARGV_APPEND(app.maxprocs, app.argv, "get");
    PMIX_ARGV_APPEND(app.maxprocs, app.argv, "names");
    app.maxprocs = 2;
    PMIX_INFO_CREATE(app.info, 1);
    app.ninfo = 1;
    PMIX_INFO_LOAD(&app.info[0], PMIX_PSET_NAME, set, PMIX_STRING);
    pmix_status_t status = PMIx_Spawn(NULL, 0, &app, 1, nspace);
    printf("%u spawn %s\n", me.rank, name_of(status));
}

int main(int argc, char **argv)
{
    pmix_status_t codes[] = {PMIX_PROCESS_SET_DEFINE, PMIX_PROCESS_SET_DELETE};
    pmix_proc_t all;
    check("init", PMIx_Init(&me, NULL, 0));
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    PMIx_Register_event_handler(codes, 2, NULL, 0, happened, registered, NULL);
    pthread_mutex_lock(&lock);
    while (!is_registered) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    check("first fence", PMIx_Fence(&all, 1, NULL, 0));
    for (int n = 1; n < argc; n++) {
        char *value = strchr(argv[n], '=');
        if (value) *value++ = 0;
        if (strcmp(argv[n], "get") == 0) get();
        else if (strcmp(argv[n], "names") == 0) ask("names", PMIX_QUERY_PSET_NAMES, PMIX_QUERY_NUM_PSETS, NULL);
        else if (strcmp(argv[n], "members") == 0) ask("members", PMIX_QUERY_PSET_MEMBERSHIP, NULL, value);
        else if (strcmp(argv[n], "await") == 0) await_event('+', value);
        else if (strcmp(argv[n], "gone") == 0) await_event('-', value);
        else if (strcmp(argv[n], "fence") == 0) check("fence", PMIx_Fence(&all, 1, NULL, 0));
        else if (me.rank == 0 && strcmp(argv[n], "spawn") == 0) spawn(argv[0], value);
        else if (me.rank == 0 && strcmp(argv[n], "define") == 0) {
            char *ranks = strchr(value, ':');
            if (ranks) *ranks++ = 0;
            define(value, ranks);
        }
        fflush(stdout);
    }
    check("last fence", PMIx_Fence(&all, 1, NULL, 0));
    return PMIx_Finalize(NULL, 0);
}
