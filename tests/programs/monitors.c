/* PMIx_Process_monitor and credentials, without MPI: prints one line for each word, `WORD STATUS`. `heartbeat` and
   `file` begin a monitor (the file is the program itself, checked each second), wait for its alert for ten seconds and
   print `WORD alert` when it comes; `credential` gets a credential and has it validated. */

#include <pmix.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "status.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_registered, alerted;

static void set(bool *flag)
{
    pthread_mutex_lock(&lock);
    *flag = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static bool wait_for(bool *flag)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    pthread_mutex_lock(&lock);
    while (!*flag && pthread_cond_timedwait(&changed, &lock, &until) == 0)
        ;
    bool is_set = *flag;
    *flag = false;
    pthread_mutex_unlock(&lock);
    return is_set;
}

static void alert(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                  pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)status, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    set(&alerted);
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void registered(pmix_status_t status, size_t id, void *data)
{
    (void)status, (void)id, (void)data;
    set(&is_registered);
}

static void watch(const char *word, pmix_status_t code, const char *program)
{
    pmix_info_t monitor, directives[3], *results = NULL;
    size_t nresults = 0, count = 2;
    uint32_t seconds = 1, drops = 1;
    bool yes = true, is_file = strcmp(word, "file") == 0;
    PMIx_Register_event_handler(&code, 1, NULL, 0, alert, registered, NULL);
    wait_for(&is_registered);
    if (is_file) {
        PMIX_INFO_LOAD(&monitor, PMIX_MONITOR_FILE, program, PMIX_STRING);
        PMIX_INFO_LOAD(&directives[0], PMIX_MONITOR_FILE_CHECK_TIME, &seconds, PMIX_UINT32);
        PMIX_INFO_LOAD(&directives[1], PMIX_MONITOR_FILE_DROPS, &drops, PMIX_UINT32);
        PMIX_INFO_LOAD(&directives[2], PMIX_MONITOR_FILE_MODIFY, &yes, PMIX_BOOL);
        count = 3;
    } else {
        PMIX_INFO_LOAD(&monitor, PMIX_MONITOR_HEARTBEAT, &yes, PMIX_BOOL);
        PMIX_INFO_LOAD(&directives[0], PMIX_MONITOR_HEARTBEAT_TIME, &seconds, PMIX_UINT32);
        PMIX_INFO_LOAD(&directives[1], PMIX_MONITOR_HEARTBEAT_DROPS, &drops, PMIX_UINT32);
    }
    pmix_status_t status = PMIx_Process_monitor(&monitor, code, directives, count, &results, &nresults);
    printf("%s %s\n", word, name_of(status));
    fflush(stdout);
    if (status == PMIX_SUCCESS && wait_for(&alerted))
        printf("%s alert\n", word);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    pmix_proc_t me;
    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return 99;
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
            watch(argv[n], strcmp(argv[n], "file") == 0 ? PMIX_MONITOR_FILE_ALERT : PMIX_MONITOR_HEARTBEAT_ALERT,
                  argv[0]);
    }
    return PMIx_Finalize(NULL, 0);
}
