/* What the DVM tells processes of a job about themselves, without MPI: each reserved key that describes a process, a
   node, an app, a job or a session, asked of oneself, a neighbour, a process elsewhere and the job.
   Rank 0 prints `LEVEL KEY VALUE` (or the status) for each. All ranks compare their PMIX_CPUSET, as libpmix reads it,
   with the binding that the kernel shows.
   `jobdata other PROGRAM`: the only rank spawns `PROGRAM child` and asks for data of the child's job, and the child for
   data of its parent's.
   `jobdata topology`: each rank says whether it was told the topology of its node, or the status.
   `jobdata nobody`: all ranks ask at once for the size of a job that is not there, and each prints the status. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pmix.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "status.h"

static pmix_proc_t me;

static void check(const char *what, pmix_status_t got)
{
    if (got != PMIX_SUCCESS) {
        fprintf(stderr, "%s.%u: %s: %s\n", me.nspace, me.rank, what, PMIx_Error_string(got));
        exit(99);
    }
}

static const char *const KEYS[] = {
    PMIX_CPUSET, PMIX_CPUSET_BITMAP, PMIX_CREDENTIAL, PMIX_SPAWNED, PMIX_NODE_OVERSUBSCRIBED, PMIX_TMPDIR, PMIX_NSDIR,
    PMIX_PROCDIR, PMIX_TDIR_RMCLEAN, PMIX_CLUSTER_ID, PMIX_PROCID, PMIX_NSPACE, PMIX_JOBID, PMIX_APPNUM, PMIX_RANK,
    PMIX_GLOBAL_RANK, PMIX_APP_RANK, PMIX_NPROC_OFFSET, PMIX_LOCAL_RANK, PMIX_NODE_RANK, PMIX_PACKAGE_RANK,
    PMIX_LOCALLDR, PMIX_APPLDR, PMIX_PROC_PID, PMIX_SESSION_ID, PMIX_NODE_LIST, PMIX_ALLOCATED_NODELIST, PMIX_HOSTNAME,
    PMIX_HOSTNAME_ALIASES, PMIX_HOSTNAME_KEEP_FQDN, PMIX_NODEID, PMIX_LOCAL_PEERS, PMIX_LOCAL_PROCS,
    PMIX_LOCAL_CPUSETS, PMIX_PARENT_ID, PMIX_EXIT_CODE, PMIX_UNIV_SIZE, PMIX_JOB_SIZE, PMIX_JOB_NUM_APPS,
    PMIX_APP_SIZE, PMIX_LOCAL_SIZE, PMIX_NODE_SIZE, PMIX_MAX_PROCS, PMIX_NUM_SLOTS, PMIX_NUM_NODES,
    PMIX_NUM_ALLOCATED_NODES, PMIX_AVAIL_PHYS_MEMORY, PMIX_DAEMON_MEMORY, PMIX_CLIENT_AVG_MEMORY,
    PMIX_LOCALITY_STRING, PMIX_NODE_MAP, PMIX_PROC_MAP, PMIX_ANL_MAP, PMIX_MAPBY, PMIX_RANKBY, PMIX_BINDTO,
    PMIX_REINCARNATION, PMIX_WDIR, PMIX_APP_ARGV, PMIX_PSET_NAMES, PMIX_DEVICE_DISTANCES, PMIX_USERID, PMIX_GRPID,
};

static void show(const char *level, const pmix_proc_t *who, const char *key)
{
    pmix_value_t *value = NULL;
    int seconds = 10;
    pmix_info_t limit;
    PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &seconds, PMIX_INT);
    pmix_status_t status = PMIx_Get(who, key, &limit, 1, &value);
    printf("%s %s ", level, key);
    if (status != PMIX_SUCCESS) printf("%s\n", name_of(status));
    else if (value->type == PMIX_STRING) printf("%s\n", value->data.string);
    else if (value->type == PMIX_UINT16) printf("%u\n", value->data.uint16);
    else if (value->type == PMIX_UINT32) printf("%u\n", value->data.uint32);
    else if (value->type == PMIX_UINT64) printf("%lu\n", (unsigned long)value->data.uint64);
    else if (value->type == PMIX_PROC_RANK) printf("%u\n", value->data.rank);
    else if (value->type == PMIX_BOOL) printf("%s\n", value->data.flag ? "true" : "false");
    else if (value->type == PMIX_PROC) printf("%s.%u\n", value->data.proc->nspace, value->data.proc->rank);
    else printf("(%s)\n", PMIx_Data_type_string(value->type));
}

/* What libpmix reads from our PMIX_CPUSET is what the kernel binds us to. */
static void compare_binding(void)
{
    pmix_value_t *value;
    pmix_cpuset_t parsed;
    cpu_set_t real;
    /* Of the hwloc behind libpmix, so that no header of it is needed. */
    int (*has)(const void *, unsigned) = dlsym(RTLD_DEFAULT, "hwloc_bitmap_isset");
    if (PMIx_Get(&me, PMIX_CPUSET, NULL, 0, &value) != PMIX_SUCCESS) {
        printf("%u unbound\n", me.rank);
        return;
    }
    PMIX_CPUSET_CONSTRUCT(&parsed);
    check("parse cpuset", PMIx_Parse_cpuset_string(value->data.string, &parsed));
    sched_getaffinity(0, sizeof real, &real);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (!has(parsed.bitmap, cpu) != !CPU_ISSET(cpu, &real)) {
            fprintf(stderr, "rank %u: %s is not the kernel's binding\n", me.rank, value->data.string);
            exit(98);
        }
    printf("%u bound as told\n", me.rank);
}

/* Another job, asked for from outside. */
static uint32_t ask_other(const char *which, const char *nspace)
{
    pmix_proc_t other;
    pmix_value_t *size;
    PMIX_LOAD_PROCID(&other, nspace, PMIX_RANK_WILDCARD);
    check("size of another job", PMIx_Get(&other, PMIX_JOB_SIZE, NULL, 0, &size));
    printf("%s has %u processes\n", which, size->data.uint32);
    return size->data.uint32;
}

/* The last process of another job, and one that it does not have. */
static void ask_last(const char *nspace, uint32_t size)
{
    pmix_proc_t other;
    pmix_value_t *host;
    PMIX_LOAD_PROCID(&other, nspace, size - 1);
    check("host of another job", PMIx_Get(&other, PMIX_HOSTNAME, NULL, 0, &host));
    printf("the last of the child is on %s\n", host->data.string);
    other.rank = size;
    if (PMIx_Get(&other, PMIX_HOSTNAME, NULL, 0, &host) == PMIX_SUCCESS) exit(97);
}

/* Nobody leaves before both jobs have asked. */
static void meet(const char *nspace)
{
    pmix_proc_t both[2];
    PMIX_LOAD_PROCID(&both[0], me.nspace, PMIX_RANK_WILDCARD);
    PMIX_LOAD_PROCID(&both[1], nspace, PMIX_RANK_WILDCARD);
    check("connect", PMIx_Connect(both, 2, NULL, 0));
}

static void spawn(const char *program)
{
    pmix_app_t app;
    char nspace[PMIX_MAX_NSLEN + 1];
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup(program);
    PMIX_ARGV_APPEND(app.maxprocs, app.argv, program);
    PMIX_ARGV_APPEND(app.maxprocs, app.argv, "child");
    app.maxprocs = 2;
    check("spawn", PMIx_Spawn(NULL, 0, &app, 1, nspace));
    ask_last(nspace, ask_other("the child", nspace));
    meet(nspace);
}

/* The key's name is that of all releases; the macro of new ones is not in pmix.h. */
static void ask_topology(void)
{
    pmix_proc_t job;
    pmix_value_t *xml = NULL;
    PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
    pmix_status_t status = PMIx_Get(&job, "pmix.hwlocxml2", NULL, 0, &xml);
    if (status != PMIX_SUCCESS) printf("%u: %s\n", me.rank, name_of(status));
    else printf("%u: %s\n", me.rank, strstr(xml->data.string, "type=\"PU\"") ? "told" : "told something else");
}

int main(int argc, char **argv)
{
    pmix_value_t *parent;
    check("init", PMIx_Init(&me, NULL, 0));
    pmix_proc_t who = me;
    if (argc > 2) {
        spawn(argv[2]);
    } else if (argc > 1 && !strcmp(argv[1], "nobody")) {
        pmix_value_t *value = NULL;
        PMIX_LOAD_PROCID(&who, "nobody@1", PMIX_RANK_WILDCARD);
        pmix_status_t status = PMIx_Get(&who, PMIX_UNIV_SIZE, NULL, 0, &value);
        printf("%u hears %d\n", me.rank, status);
        PMIX_LOAD_PROCID(&who, me.nspace, PMIX_RANK_WILDCARD);
    } else if (argc > 1 && !strcmp(argv[1], "topology")) {
        ask_topology();
    } else if (argc > 1) {
        check("parent", PMIx_Get(&me, PMIX_PARENT_ID, NULL, 0, &parent));
        ask_other("the parent", parent->data.proc->nspace);
        meet(parent->data.proc->nspace);
    } else {
        const char *levels[] = {"self", "near", "far"};
        for (uint32_t rank = 0; me.rank == 0 && rank < 3; rank++)
            for (size_t k = 0; k < sizeof KEYS / sizeof *KEYS; k++) {
                who.rank = rank;
                show(levels[rank], &who, KEYS[k]);
            }
        who.rank = PMIX_RANK_WILDCARD;
        for (size_t k = 0; me.rank == 0 && k < sizeof KEYS / sizeof *KEYS; k++) show("job", &who, KEYS[k]);
        compare_binding();
    }
    fflush(stdout);
    who.rank = PMIX_RANK_WILDCARD;
    check("fence", PMIx_Fence(&who, 1, NULL, 0));
    return PMIx_Finalize(NULL, 0);
}
