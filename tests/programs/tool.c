/* A tool of PMIx: runs `tool [AT] NP PROGRAM ARGS...` in the DVM that it finds, shows its output, and exits with its
   exit code; with 97 when it loses its server. AT names the server: `pid=N`, `nspace=NAME` or `uri=URI`. */

#include <pmix_tool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flags.h"
#include "server.h"

static bool is_registered, is_over;
static int exit_code = 1;

static void job_end(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                    pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)status, (void)source, (void)results, (void)nresults;
    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_JOB_TERM_STATUS))
            exit_code = info[i].value.data.status;
    set(&is_over);
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void happened(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    if (status == PMIX_ERR_LOST_CONNECTION || status == PMIX_ERR_UNREACH)
        _exit(97);
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void registered(pmix_status_t status, size_t id, void *data)
{
    (void)status, (void)id, (void)data;
    set(&is_registered);
}

static void check(const char *what, pmix_status_t status)
{
    if (status != PMIX_SUCCESS) {
        fprintf(stderr, "tool: %s: %s (%d)\n", what, PMIx_Error_string(status), status);
        exit(99);
    }
}

int main(int argc, char **argv)
{
    pmix_proc_t me;
    pmix_info_t server;
    bool is_named = argc > 1 && names_server(argv[1], &server);
    argc -= is_named;
    argv += is_named;
    if (argc < 3)
        return 98;
    check("init", PMIx_tool_init(&me, is_named ? &server : NULL, is_named));
    pmix_status_t code = PMIX_EVENT_JOB_END;
    PMIx_Register_event_handler(&code, 1, NULL, 0, job_end, registered, NULL);
    wait_until(&is_registered);
    PMIx_Register_event_handler(NULL, 0, NULL, 0, happened, NULL, NULL);

    bool yes = true;
    pmix_info_t info[2];
    PMIX_INFO_LOAD(&info[0], PMIX_FWD_STDOUT, &yes, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_FWD_STDERR, &yes, PMIX_BOOL);
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = argv[2];
    app.argv = argv + 2;
    app.maxprocs = atoi(argv[1]);
    pmix_nspace_t job;
    check("spawn", PMIx_Spawn(info, 2, &app, 1, job));
    wait_until(&is_over);
    check("finalize", PMIx_tool_finalize());
    return exit_code;
}
