/* Asks the DVM everything that a program may ask by PMIx_Query_info, without MPI.

   queries           a process of a job: rank 0 asks each key with no qualifier, for its job, and for its last rank, and
                     prints `LEVEL KEY ANSWER`; then two keys in one query, of which one has no answer
   queries tool JOB  the same as a tool, about another job */

#include <pmix_tool.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "status.h"

static pmix_proc_t me;

static void check(const char *what, pmix_status_t got)
{
    if (got != PMIX_SUCCESS) {
        fprintf(stderr, "queries: %s: %s (%d)\n", what, PMIx_Error_string(got), got);
        exit(99);
    }
}

static const char *const KEYS[] = {
    PMIX_QUERY_SUPPORTED_KEYS, PMIX_QUERY_NAMESPACES, PMIX_QUERY_NAMESPACE_INFO, PMIX_QUERY_JOB_STATUS,
    PMIX_QUERY_QUEUE_LIST, PMIX_QUERY_QUEUE_STATUS, PMIX_QUERY_PROC_TABLE, PMIX_QUERY_LOCAL_PROC_TABLE,
    PMIX_QUERY_AUTHORIZATIONS, PMIX_QUERY_SPAWN_SUPPORT, PMIX_QUERY_DEBUG_SUPPORT, PMIX_QUERY_MEMORY_USAGE,
    PMIX_QUERY_ALLOC_STATUS, PMIX_TIME_REMAINING, PMIX_QUERY_NUM_PSETS, PMIX_QUERY_PSET_NAMES,
    PMIX_QUERY_PSET_MEMBERSHIP, PMIX_QUERY_NUM_GROUPS, PMIX_QUERY_GROUP_NAMES, PMIX_QUERY_GROUP_MEMBERSHIP,
    "pmix.qry.aslots", PMIX_NUM_SLOTS, PMIX_NUM_ALLOCATED_NODES, PMIX_ALLOCATED_NODELIST, PMIX_UNIV_SIZE,
    PMIX_JOB_SIZE, PMIX_JOB_NUM_APPS, PMIX_NUM_NODES, PMIX_JOBID, PMIX_SESSION_ID, PMIX_PARENT_ID, PMIX_HOSTNAME,
    PMIX_APPNUM, PMIX_PROC_STATE_STATUS, PMIX_PROC_PID, PMIX_SERVER_URI,
};

static void show(const pmix_value_t *value)
{
    const pmix_data_array_t *array = value->type == PMIX_DATA_ARRAY ? value->data.darray : NULL;
    if (value->type == PMIX_STRING) printf("%s", value->data.string);
    else if (value->type == PMIX_SIZE) printf("%zu", value->data.size);
    else if (value->type == PMIX_UINT32) printf("%u", value->data.uint32);
    else if (value->type == PMIX_STATUS) printf("%s", name_of(value->data.status));
    else if (value->type == PMIX_PROC_STATE) printf("state %u", value->data.state);
    else if (value->type == PMIX_FLOAT) printf("%s", value->data.fval > 0 ? "some" : "none");
    else if (value->type == PMIX_PID) printf("%s", value->data.pid > 0 ? "a pid" : "no pid");
    else if (array && array->type == PMIX_PROC_INFO) {
        const pmix_proc_info_t *all = array->array;
        for (size_t n = 0; n < array->size; n++)
            printf("[%u %s %s %s %d]", all[n].proc.rank, all[n].hostname, strrchr(all[n].executable_name, '/'),
                   all[n].pid > 0 ? "pid" : "none", all[n].state);
    } else if (array && array->type == PMIX_PROC) {
        const pmix_proc_t *all = array->array;
        for (size_t n = 0; n < array->size; n++) printf("[%u]", all[n].rank);
    } else if (array && array->type == PMIX_INFO) {
        const pmix_info_t *all = array->array;
        for (size_t n = 0; n < array->size; n++) {
            printf("{%s ", all[n].key);
            show(&all[n].value);
            printf("}");
        }
    } else printf("(%s)", PMIx_Data_type_string(value->type));
}

/* Refreshes the cache, so that the DVM answers and not what the library knows. */
static void ask(const char *level, const char *key, const char *other, const char *nspace, const pmix_rank_t *rank)
{
    pmix_query_t query;
    pmix_info_t *results = NULL;
    size_t count = 0, n = 0;
    bool yes = true;
    PMIX_QUERY_CONSTRUCT(&query);
    PMIX_ARGV_APPEND(n, query.keys, key);
    if (other) PMIX_ARGV_APPEND(n, query.keys, other);
    PMIX_QUERY_QUALIFIERS_CREATE(&query, 5);
    n = 0;
    PMIX_INFO_LOAD(&query.qualifiers[n], PMIX_QUERY_REFRESH_CACHE, &yes, PMIX_BOOL);
    n++;
    if (nspace) {
        PMIX_INFO_LOAD(&query.qualifiers[n], PMIX_NSPACE, nspace, PMIX_STRING);
        n++;
        PMIX_INFO_LOAD(&query.qualifiers[n], PMIX_PSET_NAME, "sea", PMIX_STRING);
        n++;
        PMIX_INFO_LOAD(&query.qualifiers[n], PMIX_GROUP_ID, "crew", PMIX_STRING);
        n++;
    }
    if (rank) {
        PMIX_INFO_LOAD(&query.qualifiers[n], PMIX_RANK, rank, PMIX_PROC_RANK);
        n++;
    }
    query.nqual = n;
    pmix_status_t status = PMIx_Query_info(&query, 1, &results, &count);
    printf("%s %s ", level, key);
    if (status != PMIX_SUCCESS) printf("%s", name_of(status));
    for (n = 0; n < count; n++) show(&results[n].value);
    printf("\n");
}

int main(int argc, char **argv)
{
    bool is_tool = argc > 2 && strcmp(argv[1], "tool") == 0;
    check("init", is_tool ? PMIx_tool_init(&me, NULL, 0) : PMIx_Init(&me, NULL, 0));
    const char *nspace = is_tool ? argv[2] : me.nspace;
    pmix_rank_t last = 2;
    pmix_proc_t all;
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    /* After it the DVM knows that all processes have called init. */
    if (!is_tool) {
        pmix_info_t info, *results;
        size_t nresults;
        bool yes = true;
        PMIX_INFO_LOAD(&info, PMIX_GROUP_ASSIGN_CONTEXT_ID, &yes, PMIX_BOOL);
        check("group", PMIx_Group_construct("crew", &all, 1, &info, 1, &results, &nresults));
        check("first fence", PMIx_Fence(&all, 1, NULL, 0));
    }
    for (size_t k = 0; k < sizeof KEYS / sizeof *KEYS && (is_tool || me.rank == 0); k++) {
        ask("bare", KEYS[k], NULL, NULL, NULL);
        ask("job", KEYS[k], NULL, nspace, NULL);
        ask("proc", KEYS[k], NULL, nspace, &last);
    }
    if (is_tool || me.rank == 0) ask("both", PMIX_QUERY_NUM_PSETS, PMIX_QUERY_QUEUE_LIST, NULL, NULL);
    fflush(stdout);
    if (is_tool) return PMIx_tool_finalize();
    check("fence", PMIx_Fence(&all, 1, NULL, 0));
    return PMIx_Finalize(NULL, 0);
}
