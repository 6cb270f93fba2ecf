/* A library for LD_PRELOAD: notes when a rank of an MPI program enters and leaves MPI_Init, MPI_Finalize and the
 * functions of PMIx that an MPI calls, and writes that to $INIT_TRACE_DIR/RANK when the rank exits.
 *
 * A line is `call NAME ENTRY RETURN CPU`: nanoseconds of CLOCK_MONOTONIC, and the processor time of this process
 * meanwhile, in nanoseconds too. PMIx_Fence_nb returns when its callback is called, and has no processor time, because
 * the rank does other things before that. The last two lines are the rank's beginning, as init_rank.c has seen it, and
 * its end: `began TIME CPU` and `ended TIME CPU`, the processor time since the process began to exist. Functions of
 * PMIx that PMIx itself calls are not noted.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Calls beyond these are not noted, and the file says so. */
#define MOST 8192

struct call {
    const char *name;
    unsigned long long entry, leave, cpu;
};

static struct call calls[MOST];
static atomic_size_t count;
static _Thread_local int depth;

static unsigned long long clock_of(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* A call that has just been entered; NULL if it is not to be noted. */
static struct call *enter(const char *name)
{
    size_t at = atomic_fetch_add(&count, 1);
    if (at >= MOST)
        return NULL;
    calls[at].name = name;
    calls[at].cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    calls[at].entry = clock_of(CLOCK_MONOTONIC);
    return &calls[at];
}

static void leave(struct call *call)
{
    if (!call)
        return;
    call->leave = clock_of(CLOCK_MONOTONIC);
    call->cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID) - call->cpu;
}

/* The end of a call that another thread tells. */
static void leave_later(struct call *call)
{
    if (!call)
        return;
    call->leave = clock_of(CLOCK_MONOTONIC);
    call->cpu = 0;
}

/* The function that the program would have called without this library. */
static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) {
        fprintf(stderr, "init_trace: there is no %s\n", name);
        abort();
    }
    return found;
}

/* A function of PMIx: its parameters, and their names. */
#define PMIX(NAME, PARAMETERS, NAMES)                \
    int NAME PARAMETERS                              \
    {                                                \
        static int(*real) PARAMETERS;                \
        if (!real)                                   \
            real = next(#NAME);                      \
        if (depth)                                   \
            return real NAMES;                       \
        struct call *call = enter(#NAME);            \
        depth++;                                     \
        int status = real NAMES;                     \
        depth--;                                     \
        leave(call);                                 \
        return status;                               \
    }

/* A function of MPI. */
#define MPI(NAME, PARAMETERS, NAMES)                 \
    int NAME PARAMETERS                              \
    {                                                \
        int(*real) PARAMETERS = next(#NAME);         \
        struct call *call = enter(#NAME);            \
        int status = real NAMES;                     \
        leave(call);                                 \
        return status;                               \
    }

MPI(MPI_Init, (int *argc, char ***argv), (argc, argv))
MPI(MPI_Init_thread, (int *argc, char ***argv, int required, int *provided), (argc, argv, required, provided))
MPI(MPI_Finalize, (void), ())

PMIX(PMIx_Init, (void *proc, void *info, size_t ninfo), (proc, info, ninfo))
PMIX(PMIx_Finalize, (const void *info, size_t ninfo), (info, ninfo))
PMIX(PMIx_Put, (int scope, const char *key, void *value), (scope, key, value))
PMIX(PMIx_Store_internal, (const void *proc, const char *key, void *value), (proc, key, value))
PMIX(PMIx_Commit, (void), ())
PMIX(PMIx_Get, (const void *proc, const char *key, const void *info, size_t ninfo, void *value),
     (proc, key, info, ninfo, value))
PMIX(PMIx_Get_nb, (const void *proc, const char *key, const void *info, size_t ninfo, void *done, void *data),
     (proc, key, info, ninfo, done, data))
PMIX(PMIx_Fence, (const void *procs, size_t nprocs, const void *info, size_t ninfo), (procs, nprocs, info, ninfo))
PMIX(PMIx_Publish, (const void *info, size_t ninfo), (info, ninfo))
PMIX(PMIx_Unpublish, (char **keys, const void *info, size_t ninfo), (keys, info, ninfo))
PMIX(PMIx_Lookup, (void *data, size_t ndata, const void *info, size_t ninfo), (data, ndata, info, ninfo))
PMIX(PMIx_Connect, (const void *procs, size_t nprocs, const void *info, size_t ninfo), (procs, nprocs, info, ninfo))
PMIX(PMIx_Resolve_peers, (const char *node, const char *nspace, void *procs, size_t *nprocs),
     (node, nspace, procs, nprocs))
PMIX(PMIx_Group_construct,
     (const char *group, const void *procs, size_t nprocs, const void *info, size_t ninfo, void *results,
      size_t *nresults),
     (group, procs, nprocs, info, ninfo, results, nresults))
PMIX(PMIx_Group_destruct, (const char *group, const void *info, size_t ninfo), (group, info, ninfo))
PMIX(PMIx_Register_event_handler,
     (void *codes, size_t ncodes, void *info, size_t ninfo, void *handler, void *done, void *data),
     (codes, ncodes, info, ninfo, handler, done, data))
PMIX(PMIx_Query_info_nb, (void *queries, size_t nqueries, void *done, void *data), (queries, nqueries, done, data))
PMIX(PMIx_Job_control_nb,
     (const void *targets, size_t ntargets, const void *info, size_t ninfo, void *done, void *data),
     (targets, ntargets, info, ninfo, done, data))
PMIX(PMIx_Load_topology, (void *topology), (topology))
PMIX(PMIx_Get_cpuset, (void *cpuset, int reference), (cpuset, reference))
PMIX(PMIx_Compute_distances,
     (void *topology, void *cpuset, void *info, size_t ninfo, void *distances, size_t *ndistances),
     (topology, cpuset, info, ninfo, distances, ndistances))

/* A fence whose end a callback tells. */
struct fence {
    void (*done)(int status, void *data);
    void *data;
    struct call *call;
};

static void fence_done(int status, void *data)
{
    struct fence fence = *(struct fence *)data;
    free(data);
    leave_later(fence.call);
    fence.done(status, fence.data);
}

int PMIx_Fence_nb(const void *procs, size_t nprocs, const void *info, size_t ninfo, void (*done)(int, void *),
                  void *data)
{
    int (*real)(const void *, size_t, const void *, size_t, void (*)(int, void *), void *) = next("PMIx_Fence_nb");
    struct fence *fence = depth || !done ? NULL : malloc(sizeof *fence);
    if (!fence)
        return real(procs, nprocs, info, ninfo, done, data);
    struct call *call = enter("PMIx_Fence_nb");
    *fence = (struct fence){done, data, call};
    depth++;
    int status = real(procs, nprocs, info, ninfo, fence_done, fence);
    depth--;
    if (status) {
        /* There will be no callback. */
        leave_later(call);
        free(fence);
    }
    return status;
}

__attribute__((destructor)) static void write_trace(void)
{
    const char *directory = getenv("INIT_TRACE_DIR"), *rank = getenv("PMIX_RANK"), *began = getenv("INIT_TRACE_BEGAN");
    char path[4096];
    if (!directory || !began)
        return;
    /* Without a launcher there is one rank. */
    snprintf(path, sizeof path, "%s/%s", directory, rank ? rank : "0");
    FILE *file = fopen(path, "w");
    if (!file)
        return;
    size_t noted = atomic_load(&count);
    for (size_t i = 0; i < noted && i < MOST; i++)
        fprintf(file, "call %s %llu %llu %llu\n", calls[i].name, calls[i].entry, calls[i].leave, calls[i].cpu);
    if (noted > MOST)
        fprintf(file, "lost %zu\n", noted - MOST);
    fprintf(file, "began %s\nended %llu %llu\n", began, clock_of(CLOCK_MONOTONIC),
            clock_of(CLOCK_PROCESS_CPUTIME_ID));
    fclose(file);
}
