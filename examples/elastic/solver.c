/* An elastic solver: heat in a rod. Its result does not depend on how many processes there are, and when.
 *
 *     prun --elastic 2:8 --grace 30 -n 2 $PWD/solver [STEPS [RESULT [STOP]]]
 *     pdvm resize JOB +2          # in another terminal
 *     pdvm resize JOB -2
 *
 * RESULT is a file for the last temperatures. When the file STOP is there, the solver ends before its last step.
 * README.md says how to compile it. Where nothing changes the size of the job, it is an ordinary MPI program.
 */
#include <mpi.h>
#include <pmix.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Events and a directive of Ferrite (docs/spec/elastic.md, E53, E54 and E56). */
#define FERRITE_NODES_STAY (PMIX_EXTERNAL_ERR_BASE - 1)
#define FERRITE_GROWTH_OFFERED (PMIX_EXTERNAL_ERR_BASE - 2)
#define FERRITE_GROWTH_REFUSE "ferrite.growth.refuse"
/* Older headers have no names for these. */
#ifndef PMIX_ALLOC_TIMEOUT_WARNING
#define PMIX_ALLOC_TIMEOUT_WARNING (-194)
#endif
#ifndef PMIX_NUM_SLOTS
#define PMIX_NUM_SLOTS "pmix.num.slots"
#endif

#define POINTS 4000

/* All processes of the job, in an order that changes keep. */
static MPI_Comm comm;
static int rank, size;
/* This process has the points x[1] to x[n]; x[0] and x[n + 1] are copies of its neighbours' points. */
static double *x;
static int n;
/* What all processes know alike: newcomers hear it from rank 0. */
static struct {
    long steps;
    /* The last offer that was answered. The next rank 0 has heard of it too, and must not answer it again. */
    char answered[64];
} state;

static pmix_proc_t me;
static bool has_pmix, has_changed;

/* What the DVM wants, behind the lock: PMIx calls `on_event` in a thread of its own. Every process hears it, because
   each may become rank 0. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_new;
static pmix_proc_t *leavers;
static int leaver_count, offered;
static time_t offered_until;
static char request[sizeof state.answered];

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "solver: %s: %s\n", what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

/* Makes room for `count` things or more, as `realloc` does. */
static void *sized(void *old, int count, size_t bytes)
{
    void *memory = realloc(old, ((size_t)count + 1) * bytes);
    if (!memory)
        fail("memory", "there is not enough");
    return memory;
}

static time_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
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

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)source, (void)results, (void)nresults;
    pthread_mutex_lock(&lock);
    is_new = true;
    for (size_t i = 0; i < ninfo; i++) {
        const pmix_value_t *value = &info[i].value;
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROCS) && value->type == PMIX_DATA_ARRAY) {
            pmix_data_array_t *procs = value->data.darray;
            int count = (int)procs->size;
            forget_leavers(procs->array, count);
            if (status == PMIX_ALLOC_TIMEOUT_WARNING) {
                leavers = sized(leavers, leaver_count + count, sizeof *leavers);
                memcpy(leavers + leaver_count, procs->array, (size_t)count * sizeof *leavers);
                leaver_count += count;
            }
        }
        if (status != FERRITE_GROWTH_OFFERED)
            continue;
        if (PMIX_CHECK_KEY(&info[i], PMIX_NUM_SLOTS) && value->type == PMIX_UINT32)
            offered = (int)value->data.uint32;
        if (PMIX_CHECK_KEY(&info[i], PMIX_TIME_REMAINING) && value->type == PMIX_UINT32)
            offered_until = seconds_now() + value->data.uint32;
        if (PMIX_CHECK_KEY(&info[i], PMIX_ALLOC_REQ_ID) && value->type == PMIX_STRING)
            snprintf(request, sizeof request, "%s", value->data.string);
    }
    pthread_mutex_unlock(&lock);
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void listen_to_dvm(void)
{
    pmix_status_t codes[] = {PMIX_ALLOC_TIMEOUT_WARNING, FERRITE_NODES_STAY, FERRITE_GROWTH_OFFERED}, status;
    /* Without a server of PMIx the size stays what it is. */
    if (!getenv("PMIX_NAMESPACE"))
        return;
    if ((status = PMIx_Init(&me, NULL, 0)) != PMIX_SUCCESS)
        fail("PMIx_Init", PMIx_Error_string(status));
    has_pmix = true;
    /* Without a callback the call waits, and returns the number of the handler or an error. */
    if ((status = PMIx_Register_event_handler(codes, 3, NULL, 0, on_event, NULL, NULL)) < 0)
        fail("PMIx_Register_event_handler", PMIx_Error_string(status));
}

enum word { NOTHING, GROW, SHRINK, STOP };

/* What rank 0 says. */
static int decide(const char *stop)
{
    int word = NOTHING;
    pthread_mutex_lock(&lock);
    /* A request that concerns several worlds has an event for each. They come together, and are to be one change. */
    if (is_new)
        is_new = false;
    else if (leaver_count > 0)
        word = SHRINK;
    else if (offered > 0 && seconds_now() < offered_until && strcmp(request, state.answered))
        word = GROW;
    else if (stop && access(stop, F_OK) == 0)
        word = STOP;
    pthread_mutex_unlock(&lock);
    return word;
}

/* Returns the same word in all processes. Rank 0's word travels from one step to the next, so that nobody waits; after
   the last step it gives none. */
static int poll_word(const char *stop, bool is_last)
{
    static MPI_Request on_its_way = MPI_REQUEST_NULL;
    static int word = NOTHING;
    MPI_Wait(&on_its_way, MPI_STATUS_IGNORE);
    int heard = word;
    word = NOTHING;
    if (heard == NOTHING && !is_last) {
        if (rank == 0)
            word = decide(stop);
        MPI_Ibcast(&word, 1, MPI_INT, 0, comm, &on_its_way);
    }
    return heard;
}

/* The place of a piece of the rod, when there are so many. */
static int begin_of(int piece, int pieces)
{
    return (int)((long)POINTS * piece / pieces);
}

/* Where the points of `a` that are also in `b` begin in `a`, and how many they are. */
static void overlap(const int a[2], const int b[2], int *at, int *count)
{
    int begin = a[0] > b[0] ? a[0] : b[0], end = a[1] < b[1] ? a[1] : b[1];
    *count = end > begin ? end - begin : 0;
    *at = *count ? begin - a[0] : 0;
}

/* Deals the rod out anew among those of `all` who stay. A newcomer has had nothing. */
static void redistribute(MPI_Comm all, bool stays)
{
    int here, count, staying = 0;
    MPI_Comm_rank(all, &here);
    MPI_Comm_size(all, &count);
    /* The points [begin, end) that each process had, and that it gets. */
    struct { int had[2], gets[2]; } *of = sized(NULL, count, sizeof *of);
    int mine[2] = {n, stays}, *each = sized(NULL, 2 * count, sizeof *each), *v = sized(NULL, 4 * count, sizeof *v);
    int *sends = v, *from = v + count, *receives = v + 2 * count, *to = v + 3 * count;
    MPI_Allgather(mine, 2, MPI_INT, each, 2, MPI_INT, all);
    for (int i = 0; i < count; i++)
        staying += each[2 * i + 1];
    for (int i = 0, point = 0, piece = 0; i < count; i++) {
        of[i].had[0] = point;
        of[i].had[1] = point += each[2 * i];
        of[i].gets[0] = begin_of(piece, staying);
        of[i].gets[1] = begin_of(piece += each[2 * i + 1], staying);
    }
    for (int i = 0; i < count; i++) {
        overlap(of[here].had, of[i].gets, &from[i], &sends[i]);
        overlap(of[here].gets, of[i].had, &to[i], &receives[i]);
    }
    n = of[here].gets[1] - of[here].gets[0];
    double *dealt = sized(NULL, n + 2, sizeof *dealt);
    MPI_Alltoallv(x + 1, sends, from, MPI_DOUBLE, dealt + 1, receives, to, MPI_DOUBLE, all);
    free(x), free(of), free(each), free(v);
    x = dealt;
}

static void become(MPI_Comm next)
{
    MPI_Comm_free(&comm);
    comm = next;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    has_changed = true;
}

/* Old processes and newcomers, which `between` connects, become one. */
static void join(MPI_Comm between, bool is_newcomer)
{
    MPI_Comm all;
    MPI_Intercomm_merge(between, is_newcomer, &all);
    MPI_Comm_disconnect(&between);
    MPI_Bcast(&state, sizeof state, MPI_BYTE, 0, all);
    redistribute(all, true);
    become(all);
}

static void grow(char **argv)
{
    MPI_Comm newcomers;
    pthread_mutex_lock(&lock);
    int count = offered;
    offered = 0;
    memcpy(state.answered, request, sizeof request);
    pthread_mutex_unlock(&lock);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int error = MPI_Comm_spawn(argv[0], argv + 1, count, MPI_INFO_NULL, 0, comm, &newcomers, MPI_ERRCODES_IGNORE);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    if (error == MPI_SUCCESS) {
        /* It has inherited the one of `comm`. */
        MPI_Comm_set_errhandler(newcomers, MPI_ERRORS_ARE_FATAL);
        join(newcomers, false);
        return;
    }
    MPI_Bcast(&state, sizeof state, MPI_BYTE, 0, comm);
    if (rank == 0) {
        bool yes = true;
        pmix_info_t refusal, *results = NULL;
        size_t nresults = 0;
        /* The DVM says why. */
        fprintf(stderr, "solver: %d more processes were offered, and could not be started\n", count);
        /* Who has made the offer hears of it now, not at the end of its time. It may be over: then this is no error. */
        PMIX_INFO_LOAD(&refusal, FERRITE_GROWTH_REFUSE, &yes, PMIX_BOOL);
        PMIx_Job_control(NULL, 0, &refusal, 1, &results, &nresults);
    }
}

/* The names of all processes of `comm`. */
static pmix_proc_t *names(void)
{
    pmix_proc_t *procs = sized(NULL, size, sizeof *procs);
    MPI_Allgather(&me, sizeof me, MPI_BYTE, procs, sizeof me, MPI_BYTE, comm);
    return procs;
}

/* Waits until these processes have left all calls of MPI about each other: when one goes away, Open MPI 5 fails every
   call that it takes part in. A barrier of MPI is such a call; one of PMIx is none. */
static void wait_for(pmix_proc_t *procs, int count)
{
    pmix_status_t status = PMIx_Fence(procs, (size_t)count, NULL, 0);
    if (status != PMIX_SUCCESS)
        fail("PMIx_Fence", PMIx_Error_string(status));
    free(procs);
}

/* The end of a process after a change. MPI_Finalize would wait for those of MPI_COMM_WORLD who have left, or who stay.
   PMIx ends as often as it was begun, because MPI uses it too: so the DVM sees an orderly end. */
static void leave(void)
{
    while (PMIx_Initialized() && PMIx_Finalize(NULL, 0) == PMIX_SUCCESS)
        ;
    fflush(stdout);
    _exit(0);
}

static void shrink(void)
{
    int count = 0, leaves, leaving, all = size;
    pmix_proc_t *named = NULL;
    MPI_Comm rest;
    if (rank == 0) {
        pthread_mutex_lock(&lock);
        count = leaver_count;
        named = sized(NULL, count, sizeof *named);
        memcpy(named, leavers, (size_t)count * sizeof *named);
        pthread_mutex_unlock(&lock);
    }
    MPI_Bcast(&count, 1, MPI_INT, 0, comm);
    named = sized(named, count, sizeof *named);
    MPI_Bcast(named, count * (int)sizeof *named, MPI_BYTE, 0, comm);
    pthread_mutex_lock(&lock);
    forget_leavers(named, count);
    pthread_mutex_unlock(&lock);
    leaves = is_among(&me, named, count);
    free(named);
    MPI_Allreduce(&leaves, &leaving, 1, MPI_INT, MPI_SUM, comm);
    /* They may have left before, when another process was rank 0. */
    if (leaving == 0)
        return;
    if (leaving < size)
        redistribute(comm, !leaves);
    else if (rank == 0)
        fprintf(stderr, "solver: all processes are to end after step %ld, and there is no result\n", state.steps);
    pmix_proc_t *procs = names();
    MPI_Comm_split(comm, leaves, rank, &rest);
    become(rest);
    wait_for(procs, all);
    if (leaves)
        leave();
}

/* Each point becomes the mean of itself and its neighbours. An end of the rod is its own neighbour. */
static void step(void)
{
    int before = rank > 0 ? rank - 1 : MPI_PROC_NULL, after = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    x[0] = x[1];
    x[n + 1] = x[n];
    MPI_Sendrecv(&x[n], 1, MPI_DOUBLE, after, 0, &x[0], 1, MPI_DOUBLE, before, 0, comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&x[1], 1, MPI_DOUBLE, before, 0, &x[n + 1], 1, MPI_DOUBLE, after, 0, comm, MPI_STATUS_IGNORE);
    double left = x[0];
    for (int i = 1; i <= n; i++) {
        double mean = (left + x[i] + x[i + 1]) / 3;
        left = x[i];
        x[i] = mean;
    }
    state.steps++;
}

static void begin(void)
{
    MPI_Comm parents;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_get_parent(&parents);
    if (parents != MPI_COMM_NULL) {
        x = sized(NULL, 2, sizeof *x);
        join(parents, true);
        return;
    }
    int first = begin_of(rank, size);
    n = begin_of(rank + 1, size) - first;
    x = sized(NULL, n + 2, sizeof *x);
    for (int i = 1; i <= n; i++)
        x[i] = (first + i - 1) * 7919 % 1000 / 10.0;
}

static void write_result(const char *path)
{
    int *counts = sized(NULL, size, sizeof *counts), *begins = sized(NULL, size, sizeof *begins);
    double *whole = sized(NULL, POINTS, sizeof *whole);
    for (int i = 0; i < size; i++) {
        begins[i] = begin_of(i, size);
        counts[i] = begin_of(i + 1, size) - begins[i];
    }
    MPI_Gatherv(x + 1, n, MPI_DOUBLE, whole, counts, begins, MPI_DOUBLE, 0, comm);
    if (rank == 0 && path) {
        FILE *file = fopen(path, "wb");
        if (!file || fwrite(whole, sizeof *whole, POINTS, file) != POINTS || fclose(file))
            fail(path, "cannot be written");
    }
    free(counts), free(begins), free(whole);
}

int main(int argc, char **argv)
{
    /* Without it Open MPI 5 ends a process when one that it has talked to goes away. MPI_Init reads it. */
    setenv("OMPI_MCA_mpi_ft_enable", "true", 0);
    MPI_Init(&argc, &argv);
    listen_to_dvm();
    begin();
    long steps = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    int word = NOTHING, before = 0;
    while (state.steps < steps && word != STOP) {
        if (rank == 0 && size != before) {
            printf("step %ld: %d processes\n", state.steps, size);
            fflush(stdout);
        }
        before = size;
        step();
        word = poll_word(argc > 3 ? argv[3] : NULL, state.steps == steps);
        if (word == GROW)
            grow(argv);
        if (word == SHRINK)
            shrink();
    }
    write_result(argc > 2 ? argv[2] : NULL);
    if (rank == 0)
        printf("done: %ld steps\n", state.steps);
    if (has_changed) {
        wait_for(names(), size);
        leave();
    }
    if (has_pmix)
        PMIx_Finalize(NULL, 0);
    MPI_Finalize();
    return 0;
}
