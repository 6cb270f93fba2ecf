/* Processes that hear that nodes of their job are to leave. Each prints what the notice says, and ends. With `refuse`
   rank 0 answers that the nodes have to stay, and all end after the second notice; with `defer=SECONDS` it asks for so
   much time, and nobody ends. */

#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flags.h"
#include "status.h"

#ifndef PMIX_ALLOC_TIMEOUT_WARNING
#define PMIX_ALLOC_TIMEOUT_WARNING (-194)
#endif

/* Events and keys of Ferrite (docs/spec/elastic.md, E52 and E53). */
#define FERRITE_NODES_STAY (PMIX_EXTERNAL_ERR_BASE - 1)
#define FERRITE_WITHDRAWAL_REFUSE "ferrite.withdrawal.refuse"
#define FERRITE_WITHDRAWAL_DEFER "ferrite.withdrawal.defer"

static bool is_registered, is_told, is_answered, they_stay;
static pmix_status_t answered;
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
    (void)id, (void)source, (void)results, (void)nresults;
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
    if (status == FERRITE_NODES_STAY)
        printf("rank %u: %s stays\n", me.rank, nodes);
    else
        printf("rank %u: %s leaves in %u s%s\n", me.rank, nodes, seconds, mine ? ", with me" : "");
    fflush(stdout);
    set(status == FERRITE_NODES_STAY ? &they_stay : &is_told);
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void registered(pmix_status_t status, size_t id, void *data)
{
    (void)id, (void)data;
    check("register", status);
    set(&is_registered);
}

static void answer_came(pmix_status_t status, pmix_info_t *info, size_t ninfo, void *data,
                        pmix_release_cbfunc_t release, void *of_release)
{
    (void)info, (void)ninfo, (void)data;
    answered = status;
    set(&is_answered);
    if (release)
        release(of_release);
}

/* Answers for the whole job, and prints what becomes of it. */
static void answer(const char *what)
{
    pmix_info_t info;
    bool yes = true;
    uint32_t seconds = strncmp(what, "defer=", 6) ? 0 : (uint32_t)atoi(what + 6);
    if (seconds)
        PMIX_INFO_LOAD(&info, FERRITE_WITHDRAWAL_DEFER, &seconds, PMIX_UINT32);
    else
        PMIX_INFO_LOAD(&info, FERRITE_WITHDRAWAL_REFUSE, &yes, PMIX_BOOL);
    is_answered = false;
    answered = PMIx_Job_control_nb(NULL, 0, &info, 1, answer_came, NULL);
    if (answered == PMIX_SUCCESS)
        wait_until(&is_answered);
    printf("rank %u: %s %s\n", me.rank, what, name_of(answered));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    pmix_status_t codes[] = {PMIX_ALLOC_TIMEOUT_WARNING, FERRITE_NODES_STAY};
    check("init", PMIx_Init(&me, NULL, 0));
    PMIx_Register_event_handler(codes, 2, NULL, 0, notice, registered, NULL);
    wait_until(&is_registered);
    printf("rank %u: up\n", me.rank);
    fflush(stdout);
    wait_until(&is_told);
    if (argc > 1) {
        is_told = false;
        if (me.rank == 0)
            answer(argv[1]);
        while (strcmp(argv[1], "refuse"))
            pause();
        wait_until(&they_stay);
        wait_until(&is_told);
        if (me.rank == 0)
            answer(argv[1]);
        /* With the end of the last process on the node nothing would be left to refuse. */
        check("fence", PMIx_Fence(NULL, 0, NULL, 0));
    }
    check("finalize", PMIx_Finalize(NULL, 0));
    return 0;
}
