/* Processes whose jobs enter a state: `states debug` tells the DVM that it waits for a debugger
   (PMIX_READY_FOR_DEBUG) and waits to be killed; `states abort` waits for all others, and the last one aborts the job
   with code 7. */

#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check(const char *what, pmix_status_t status)
{
    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) {
        fprintf(stderr, "states: %s: %s\n", what, PMIx_Error_string(status));
        exit(99);
    }
}

int main(int argc, char **argv)
{
    pmix_proc_t me, all;
    pmix_value_t *size;
    check("init", PMIx_Init(&me, NULL, 0));
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    check("size", PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &size));
    if (argc > 1 && !strcmp(argv[1], "debug"))
        check("notify", PMIx_Notify_event(PMIX_READY_FOR_DEBUG, &me, PMIX_RANGE_GLOBAL, NULL, 0, NULL, NULL));
    if (argc > 1 && !strcmp(argv[1], "abort")) {
        check("fence", PMIx_Fence(NULL, 0, NULL, 0));
        if (me.rank + 1 == size->data.uint32)
            PMIx_Abort(7, "enough", NULL, 0);
    }
    sleep(1000);
    return 0;
}
