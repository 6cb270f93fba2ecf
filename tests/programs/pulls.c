/* A tool that pulls output (PMIx_IOF_pull), without MPI: `pulls NSPACE RANK CHANNELS [WORD]` shows the output of these
   processes of a job that another has submitted, until the job is over. RANK is a number or `all`, CHANNELS is `out`,
   `err`, `diag` or `both`. It says `begun` on standard error, and `refused STATUS` (code 3), `failed` (code 4) or
   `lost` (code 97). WORD is `kept` (ask for a cache), `strange` (require an unknown attribute), `once` (end the pull
   after the first piece, and say `ended STATUS`; libpmix 4.2.2 never sets this status), `gone` (end without a word
   after the first piece) or `deaf` (read nothing for 15 s after the first piece). */

#include <pmix_tool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flags.h"
#include "status.h"

static bool is_registered, has_come, is_over, is_deaf, has_ended;
static const char *nspace;
static int code;
static pmix_status_t ended;

static void got(size_t id, pmix_iof_channel_t channel, pmix_proc_t *source, pmix_byte_object_t *bytes,
                pmix_info_t info[], size_t ninfo)
{
    (void)id, (void)source, (void)info, (void)ninfo;
    if (!bytes || bytes->size == 0)
        return;
    if (is_deaf)
        sleep(15);
    is_deaf = false;
    fwrite(bytes->bytes, 1, bytes->size, channel & PMIX_FWD_STDERR_CHANNEL ? stderr : stdout);
    set(&has_come);
}

static void happened(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                     pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)source, (void)results, (void)nresults;
    bool is_ours = false;
    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC))
            is_ours = !strcmp(info[i].value.data.proc->nspace, nspace);
    if (status == PMIX_ERR_LOST_CONNECTION || status == PMIX_ERR_UNREACH) {
        fprintf(stderr, "lost\n");
        fflush(stdout);
        _exit(97);
    }
    if (is_ours && (status == PMIX_EVENT_JOB_END || status == PMIX_ERR_IOF_FAILURE)) {
        code = status == PMIX_EVENT_JOB_END ? 0 : 4;
        if (code)
            fprintf(stderr, "failed\n");
        set(&is_over);
    }
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void registered(pmix_status_t status, size_t id, void *data)
{
    (void)status, (void)id, (void)data;
    set(&is_registered);
}

static void pull_ended(pmix_status_t status, void *data)
{
    (void)data;
    ended = status;
    set(&has_ended);
}

int main(int argc, char **argv)
{
    pmix_proc_t me, from;
    if (argc < 4 || PMIx_tool_init(&me, NULL, 0) != PMIX_SUCCESS)
        return 99;
    nspace = argv[1];
    const char *word = argc > 4 ? argv[4] : "";
    is_deaf = !strcmp(word, "deaf");
    pmix_status_t codes[] = {PMIX_EVENT_JOB_END, PMIX_ERR_IOF_FAILURE, PMIX_ERR_LOST_CONNECTION, PMIX_ERR_UNREACH};
    PMIx_Register_event_handler(codes, 4, NULL, 0, happened, registered, NULL);
    wait_until(&is_registered);

    pmix_info_t info;
    uint32_t bytes = 4096;
    bool yes = true, has_info = true;
    if (!strcmp(word, "kept")) {
        PMIX_INFO_LOAD(&info, PMIX_IOF_CACHE_SIZE, &bytes, PMIX_UINT32);
    } else if (!strcmp(word, "strange")) {
        PMIX_INFO_LOAD(&info, "pmix.iof.strange", &yes, PMIX_BOOL);
        PMIX_INFO_REQUIRED(&info);
    } else {
        has_info = false;
    }
    pmix_iof_channel_t channels = !strcmp(argv[3], "out")    ? PMIX_FWD_STDOUT_CHANNEL
                                  : !strcmp(argv[3], "err")  ? PMIX_FWD_STDERR_CHANNEL
                                  : !strcmp(argv[3], "diag") ? PMIX_FWD_STDDIAG_CHANNEL
                                                             : PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL;
    PMIX_LOAD_PROCID(&from, nspace, strcmp(argv[2], "all") ? (pmix_rank_t)atoi(argv[2]) : PMIX_RANK_WILDCARD);
    /* Without a function for its registration the call waits, and answers with the handler's number. */
    pmix_status_t status = PMIx_IOF_pull(&from, 1, has_info ? &info : NULL, has_info, channels, got, NULL, NULL);
    if (status < 0) {
        fprintf(stderr, "refused %s\n", name_of(status));
        return 3;
    }
    fprintf(stderr, "begun\n");
    if (!strcmp(word, "once") || !strcmp(word, "gone")) {
        wait_until(&has_come);
        if (!strcmp(word, "gone"))
            _exit(0);
        /* Without a function the call of libpmix 4.2.2 may wait for ever for a lock of its own. */
        ended = PMIx_IOF_deregister((size_t)status, NULL, 0, pull_ended, NULL);
        if (ended == PMIX_SUCCESS)
            wait_until(&has_ended);
        fprintf(stderr, "ended %s\n", name_of(ended));
        /* PMIx_tool_finalize of libpmix 4.2.2 may wait for ever for output that has come after the end. */
        _exit(0);
    } else {
        wait_until(&is_over);
        fflush(stdout);
    }
    PMIx_tool_finalize();
    return code;
}
