/* A tool of PMIx: attaches to the DVM that it finds and tells its own namespace. With `asks stay` it then waits
   until it loses its server. */

#include <pmix_tool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "status.h"

static void happened(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    if (status == PMIX_ERR_LOST_CONNECTION || status == PMIX_ERR_UNREACH) {
        printf("lost\n");
        fflush(stdout);
        _exit(3);
    }
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

int main(int argc, char **argv)
{
    pmix_proc_t me;
    pmix_status_t status = PMIx_tool_init(&me, NULL, 0);
    if (status != PMIX_SUCCESS) {
        printf("unserved %s\n", name_of(status));
        return 2;
    }
    printf("named %s\n", me.nspace);
    PMIx_Register_event_handler(NULL, 0, NULL, 0, happened, NULL, NULL);
    fflush(stdout);
    while (argc > 1 && strcmp(argv[1], "stay") == 0)
        pause();
    return PMIx_tool_finalize() == PMIX_SUCCESS ? 0 : 4;
}
