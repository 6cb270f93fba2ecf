/* Processes that hear that nodes of their job are to leave. Each prints what the notice says, and ends. */

#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flags.h"

#ifndef PMIX_ALLOC_TIMEOUT_WARNING
#define PMIX_ALLOC_TIMEOUT_WARNING (-194)
#endif

static bool is_registered, is_told;
static pmix_proc_t me;

static void check(const char *what, pmix_status_t status)
{
    if (status != PMIX_SUCCESS) {
        fprintf(stderr, "withdrawn: %s: %s (%d)\n", what, PMIx_Error_string(status), status);
        exit(99);
    }
}

static void notice(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                   pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)status, (void)source, (void)results, (void)nresults;
    const char *nodes = "-";
    unsigned seconds = 0;
    bool mine = false;
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_ALLOC_NODE_LIST))
            nodes = info[i].value.data.string;
        if (PMIX_CHECK_KEY(&info[i], PMIX_TIME_REMAINING))
            seconds = info[i].value.data.uint32;
        if (!PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROCS))
            continue;
        const pmix_data_array_t *array = info[i].value.data.darray;
        const pmix_proc_t *procs = array->array;
        for (size_t j = 0; j < array->size; j++)
            mine |= procs[j].rank == me.rank && !strcmp(procs[j].nspace, me.nspace);
    }
    printf("rank %u: %s leaves in %u s%s\n", me.rank, nodes, seconds, mine ? ", with me" : "");
    fflush(stdout);
    set(&is_told);
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void registered(pmix_status_t status, size_t id, void *data)
{
    (void)id, (void)data;
    check("register", status);
    set(&is_registered);
}

int main(void)
{
    pmix_status_t code = PMIX_ALLOC_TIMEOUT_WARNING;
    check("init", PMIx_Init(&me, NULL, 0));
    PMIx_Register_event_handler(&code, 1, NULL, 0, notice, registered, NULL);
    wait_until(&is_registered);
    printf("rank %u: up\n", me.rank);
    fflush(stdout);
    wait_until(&is_told);
    check("finalize", PMIx_Finalize(NULL, 0));
    return 0;
}
