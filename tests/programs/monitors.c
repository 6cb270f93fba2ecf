/* PMIx_Process_monitor and credentials, without MPI. Rank 0 asks for one monitor a word and prints `WORD STATUS`; every
   rank prints `WORD alert at RANK of AFFECTED` when the alert comes within ten seconds, or `WORD silence at RANK`.
   `heartbeat` and `file` begin a monitor (the file is the program itself, checked each second), `code` gives the alert
   a code of its own, `forged` that of the end of a job, and `relative` names a file without a directory. `cancelled`
   ends its monitor at once. `grows` monitors a file to which rank 0 writes for four seconds; it prints `grows early`
   when the alert comes before that. `credential` gets a credential and has it validated. */

#include <fcntl.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "flags.h"
#include "status.h"

#define OWN_CODE (PMIX_EXTERNAL_ERR_BASE - 7)

static pmix_proc_t me;
static bool is_registered, is_alerted;
static unsigned affected = 99;

static bool wait_for_alert(int seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    pthread_mutex_lock(&lock);
    while (!is_alerted && pthread_cond_timedwait(&changed, &lock, &until) == 0)
        ;
    bool is_set = is_alerted;
    is_alerted = false;
    pthread_mutex_unlock(&lock);
    return is_set;
}

static void alert(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                  pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)status, (void)source, (void)results, (void)nresults;
    for (size_t n = 0; n < ninfo; n++)
        if (PMIX_CHECK_KEY(&info[n], PMIX_EVENT_AFFECTED_PROC))
            affected = info[n].value.data.proc->rank;
    set(&is_alerted);
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void registered(pmix_status_t status, size_t id, void *data)
{
    (void)status, (void)id, (void)data;
    set(&is_registered);
}

static pmix_status_t begin(const char *word, const char *path)
{
    pmix_info_t monitor, directives[4], *results = NULL;
    size_t nresults = 0, count = 4;
    uint32_t seconds = 1, drops = 2;
    bool yes = true;
    pmix_status_t code = strcmp(word, "code") == 0     ? OWN_CODE
                         : strcmp(word, "forged") == 0 ? PMIX_EVENT_JOB_END
                                                       : PMIX_MONITOR_FILE_ALERT;
    if (strcmp(word, "heartbeat") == 0) {
        code = PMIX_MONITOR_HEARTBEAT_ALERT;
        PMIX_INFO_LOAD(&monitor, PMIX_MONITOR_HEARTBEAT, &yes, PMIX_BOOL);
        PMIX_INFO_LOAD(&directives[0], PMIX_MONITOR_HEARTBEAT_TIME, &seconds, PMIX_UINT32);
        PMIX_INFO_LOAD(&directives[1], PMIX_MONITOR_HEARTBEAT_DROPS, &drops, PMIX_UINT32);
        count = 2;
    } else {
        PMIX_INFO_LOAD(&monitor, PMIX_MONITOR_FILE, path, PMIX_STRING);
        PMIX_INFO_LOAD(&directives[0], PMIX_MONITOR_FILE_CHECK_TIME, &seconds, PMIX_UINT32);
        PMIX_INFO_LOAD(&directives[1], PMIX_MONITOR_FILE_DROPS, &drops, PMIX_UINT32);
        PMIX_INFO_LOAD(&directives[2], strcmp(word, "grows") == 0 ? PMIX_MONITOR_FILE_SIZE : PMIX_MONITOR_FILE_MODIFY,
                       &yes, PMIX_BOOL);
        PMIX_INFO_LOAD(&directives[3], PMIX_MONITOR_ID, word, PMIX_STRING);
    }
    return PMIx_Process_monitor(&monitor, code, directives, count, &results, &nresults);
}

static void cancel(const char *word)
{
    pmix_info_t monitor, *results = NULL;
    size_t nresults = 0;
    PMIX_INFO_LOAD(&monitor, PMIX_MONITOR_CANCEL, word, PMIX_STRING);
    for (int n = 0; n < 2; n++) {
        pmix_status_t status = PMIx_Process_monitor(&monitor, PMIX_SUCCESS, NULL, 0, &results, &nresults);
        printf("cancel %s\n", name_of(status));
    }
}

/* Lets a file grow for four seconds. */
static void grow(const char *path)
{
    for (int n = 0; n < 20; n++) {
        int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (file < 0 || write(file, "x", 1) != 1)
            exit(98);
        close(file);
        usleep(200000);
    }
    pthread_mutex_lock(&lock);
    if (is_alerted)
        puts("grows early");
    pthread_mutex_unlock(&lock);
}

static void watch(const char *word, const char *program)
{
    char path[100];
    pmix_proc_t all;
    snprintf(path, sizeof path, "/tmp/monitored.%d", (int)getpid());
    bool grows = strcmp(word, "grows") == 0;
    bool is_awaited = grows || strcmp(word, "file") == 0 || strcmp(word, "code") == 0;
    if (me.rank == 0) {
        printf("%s %s\n", word, name_of(begin(word, grows ? path : strcmp(word, "relative") ? program : "file")));
        if (strcmp(word, "cancelled") == 0)
            cancel(word);
        if (grows)
            grow(path);
        fflush(stdout);
    }
    if (is_awaited || strcmp(word, "cancelled") == 0) {
        if (wait_for_alert(is_awaited ? 10 : 4))
            printf("%s alert at %u of %u\n", word, me.rank, affected);
        else
            printf("%s silence at %u\n", word, me.rank);
        fflush(stdout);
    }
    if (grows && me.rank == 0)
        unlink(path);
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    PMIx_Fence(&all, 1, NULL, 0);
}

int main(int argc, char **argv)
{
    pmix_status_t codes[] = {PMIX_MONITOR_FILE_ALERT, PMIX_MONITOR_HEARTBEAT_ALERT, OWN_CODE};
    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return 99;
    PMIx_Register_event_handler(codes, 3, NULL, 0, alert, registered, NULL);
    wait_until(&is_registered);
    for (int n = 1; n < argc; n++) {
        if (strcmp(argv[n], "credential") == 0) {
            pmix_byte_object_t credential = {NULL, 0};
            pmix_info_t *results = NULL;
            size_t nresults = 0;
            pmix_status_t status = PMIx_Get_credential(NULL, 0, &credential);
            printf("credential %s\n", name_of(status));
            if (status == PMIX_SUCCESS)
                printf("validate %s\n", name_of(PMIx_Validate_credential(&credential, NULL, 0, &results, &nresults)));
            fflush(stdout);
        } else
            watch(argv[n], argv[0]);
    }
    return PMIx_Finalize(NULL, 0);
}
