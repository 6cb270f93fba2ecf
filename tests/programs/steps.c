/* An elastic job that says how long each step of a change of its size takes (`cargo xtask bench resize`).

       steps FILE MB

   The processes have a vector of MB megabytes, and ask each millisecond whether the size is to change. In each change
   two processes come, or the two latest ones leave. All times are seconds of CLOCK_MONOTONIC, which the nodes of a
   testbed share. Lines of FILE:

       up                                   the job runs
       copy SECONDS                         a copy of as many bytes as a grow from two to four processes moves
       grow HEARD BEGUN SPAWNED MERGED DEALT
       shrink HEARD BEGUN DEALT             from a process that stays
       left TIME                            from each that leaves
       wrong                                data is not where it should be */

#include <mpi.h>
#include <pmix.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef PMIX_ALLOC_TIMEOUT_WARNING
#define PMIX_ALLOC_TIMEOUT_WARNING (-194)
#endif
/* An event of Ferrite. */
#define FERRITE_GROWTH_OFFERED (PMIX_EXTERNAL_ERR_BASE - 2)
/* The processes that come or leave in a change. */
#define PART 2

static MPI_Comm comm;
static int rank, size, points, n;
static double *x;
static pmix_proc_t me;
static const char *file;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum { NOTHING, GROW, SHRINK } wanted;
static double heard;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* A line comes whole: it is one write. */
static void say(const char *line)
{
    FILE *out = fopen(file, "a");
    if (!out || fprintf(out, "%s\n", line) < 0 || fclose(out) != 0) {
        fprintf(stderr, "steps: %s cannot be written\n", file);
        _exit(5);
    }
}

static void *room(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory) {
        fprintf(stderr, "steps: there is not enough memory\n");
        _exit(5);
    }
    return memory;
}

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data)
{
    double time = now();
    (void)id, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    pthread_mutex_lock(&lock);
    wanted = status == FERRITE_GROWTH_OFFERED ? GROW : SHRINK;
    heard = time;
    pthread_mutex_unlock(&lock);
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static int begin_of(int piece, int pieces)
{
    return (int)((long)points * (piece < pieces ? piece : pieces) / pieces);
}

static int overlap(int a, int a_end, int b, int b_end, int *at)
{
    int begin = a > b ? a : b, end = a_end < b_end ? a_end : b_end;
    *at = end > begin ? begin - a : 0;
    return end > begin ? end - begin : 0;
}

/* Deals the vector out anew: the first `from` processes of `all` have it, and the first `to` get it. */
static void redistribute(MPI_Comm all, int from, int to)
{
    int count, here;
    MPI_Comm_size(all, &count);
    MPI_Comm_rank(all, &here);
    int *sends = room(4 * (size_t)count * sizeof *sends), *at = sends + count, *gets = at + count, *into = gets + count;
    int had = begin_of(here, from), had_end = begin_of(here + 1, from);
    int new = begin_of(here, to), new_end = begin_of(here + 1, to);
    for (int i = 0; i < count; i++) {
        sends[i] = overlap(had, had_end, begin_of(i, to), begin_of(i + 1, to), &at[i]);
        gets[i] = overlap(new, new_end, begin_of(i, from), begin_of(i + 1, from), &into[i]);
    }
    n = new_end - new;
    double *dealt = room((size_t)n * sizeof *dealt);
    MPI_Alltoallv(x, sends, at, MPI_DOUBLE, dealt, gets, into, MPI_DOUBLE, all);
    free(x), free(sends);
    x = dealt;
    if (n > 0 && (x[0] != new || x[n - 1] != new_end - 1))
        say("wrong");
}

static void become(MPI_Comm next)
{
    MPI_Comm_free(&comm);
    comm = next;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
}

/* Returns when the communicator of all is made. */
static double join(MPI_Comm between, bool is_newcomer)
{
    MPI_Comm all;
    MPI_Intercomm_merge(between, is_newcomer, &all);
    MPI_Comm_disconnect(&between);
    double merged = now();
    int count;
    MPI_Comm_size(all, &count);
    redistribute(all, count - PART, count);
    MPI_Barrier(all);
    become(all);
    return merged;
}

static void grow(char **argv)
{
    MPI_Comm newcomers;
    char line[160];
    double begun = now();
    MPI_Comm_spawn(argv[0], argv + 1, PART, MPI_INFO_NULL, 0, comm, &newcomers, MPI_ERRCODES_IGNORE);
    double spawned = now(), merged = join(newcomers, false);
    snprintf(line, sizeof line, "grow %.7f %.7f %.7f %.7f %.7f", heard, begun, spawned, merged, now());
    if (rank == 0)
        say(line);
}

static void shrink(void)
{
    char line[160];
    int all = size, leaves = rank >= size - PART;
    double begun = now();
    redistribute(comm, size, size - PART);
    pmix_proc_t *procs = room((size_t)all * sizeof *procs);
    MPI_Allgather(&me, sizeof me, MPI_BYTE, procs, sizeof me, MPI_BYTE, comm);
    double dealt = now();
    MPI_Comm rest;
    MPI_Comm_split(comm, leaves, rank, &rest);
    become(rest);
    /* Nobody leaves while another is still in a call of MPI with it. */
    PMIx_Fence(procs, (size_t)all, NULL, 0);
    free(procs);
    if (leaves) {
        while (PMIx_Initialized() && PMIx_Finalize(NULL, 0) == PMIX_SUCCESS)
            ;
        snprintf(line, sizeof line, "left %.7f", now());
        say(line);
        _exit(0);
    }
    snprintf(line, sizeof line, "shrink %.7f %.7f %.7f", heard, begun, dealt);
    if (rank == 0)
        say(line);
}

/* Fresh memory on both sides, as in a change. */
static void copy(void)
{
    char line[64];
    size_t bytes = (size_t)points * sizeof(double) * 3 / 4;
    char *one = room(bytes);
    memset(one, 1, bytes);
    double begun = now();
    char *other = room(bytes);
    memcpy(other, one, bytes);
    double seconds = now() - begun;
    /* The compiler must not leave out what nobody reads. */
    snprintf(line, sizeof line, "copy %.7f", other[bytes / 2] == 1 ? seconds : -1);
    free(one), free(other);
    say(line);
}

static void begin(void)
{
    MPI_Comm parents;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_get_parent(&parents);
    if (parents != MPI_COMM_NULL) {
        join(parents, true);
        return;
    }
    int first = begin_of(rank, size);
    n = begin_of(rank + 1, size) - first;
    x = room((size_t)n * sizeof *x);
    for (int i = 0; i < n; i++)
        x[i] = first + i;
    if (rank == 0) {
        for (int i = 0; i < 20; i++)
            copy();
        say("up");
    }
}

int main(int argc, char **argv)
{
    pmix_status_t codes[] = {PMIX_ALLOC_TIMEOUT_WARNING, FERRITE_GROWTH_OFFERED};
    struct timespec work = {.tv_nsec = 1000000};
    if (argc < 3)
        return 2;
    file = argv[1];
    points = atoi(argv[2]) * (1 << 20) / (int)sizeof *x;
    setenv("OMPI_MCA_mpi_ft_enable", "true", 0);
    MPI_Init(&argc, &argv);
    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS
        || PMIx_Register_event_handler(codes, 2, NULL, 0, on_event, NULL, NULL) < 0)
        return 4;
    begin();
    for (;;) {
        int word = NOTHING;
        nanosleep(&work, NULL);
        if (rank == 0) {
            pthread_mutex_lock(&lock);
            word = wanted;
            wanted = NOTHING;
            pthread_mutex_unlock(&lock);
        }
        MPI_Bcast(&word, 1, MPI_INT, 0, comm);
        if (word == GROW)
            grow(argv);
        if (word == SHRINK)
            shrink();
    }
}
