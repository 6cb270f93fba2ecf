/* Orders for processes by PMIx_Job_control, without MPI. Rank 0 gives the orders of its command line, in turn, and
   prints `ORDER STATUS` for each; then every rank waits for a signal, or ends when the last word is `end`.

   kill, terminate, pause, resume, signal=N, restart, preemptible, checkpoint, both
   Behind a colon are the ranks (`kill:1,2`), or `job=NSPACE`; without it, the caller's job.

   jobcontrol tool ORDER...  the same as a tool, which does not wait */

#include <pmix_tool.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "status.h"

static pmix_proc_t me;

static void check(const char *what, pmix_status_t got)
{
    if (got != PMIX_SUCCESS) {
        fprintf(stderr, "jobcontrol: %s: %s (%d)\n", what, PMIx_Error_string(got), got);
        exit(99);
    }
}

static void order(char *word)
{
    pmix_proc_t procs[16];
    pmix_info_t directives[2], *results = NULL;
    size_t count = 0, nresults = 0, ndirectives = 1;
    bool yes = true;
    printf("%s ", word);
    char *targets = strchr(word, ':');
    if (targets) *targets++ = 0;
    if (targets && strncmp(targets, "job=", 4) == 0) {
        PMIX_LOAD_PROCID(&procs[0], targets + 4, PMIX_RANK_WILDCARD);
        count = 1;
    } else
        for (char *rank = targets ? strtok(targets, ",") : NULL; rank && count < 16; rank = strtok(NULL, ",")) {
            PMIX_LOAD_PROCID(&procs[count], me.nspace, (pmix_rank_t)atoi(rank));
            count++;
        }
    const char *keys[][2] = {{"kill", PMIX_JOB_CTRL_KILL},       {"terminate", PMIX_JOB_CTRL_TERMINATE},
                             {"pause", PMIX_JOB_CTRL_PAUSE},     {"resume", PMIX_JOB_CTRL_RESUME},
                             {"preemptible", PMIX_JOB_CTRL_PREEMPTIBLE}, {"both", PMIX_JOB_CTRL_PAUSE}};
    for (size_t n = 0; n < sizeof keys / sizeof *keys; n++)
        if (strcmp(word, keys[n][0]) == 0) PMIX_INFO_LOAD(&directives[0], keys[n][1], &yes, PMIX_BOOL);
    if (strcmp(word, "both") == 0) {
        PMIX_INFO_LOAD(&directives[1], PMIX_JOB_CTRL_RESUME, &yes, PMIX_BOOL);
        ndirectives = 2;
    }
    if (strcmp(word, "restart") == 0) PMIX_INFO_LOAD(&directives[0], PMIX_JOB_CTRL_RESTART, "x", PMIX_STRING);
    if (strcmp(word, "checkpoint") == 0) PMIX_INFO_LOAD(&directives[0], PMIX_JOB_CTRL_CHECKPOINT, "x", PMIX_STRING);
    if (strncmp(word, "signal=", 7) == 0) {
        int number = atoi(word + 7);
        PMIX_INFO_LOAD(&directives[0], PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT);
    }
    pmix_status_t status = PMIx_Job_control(count ? procs : NULL, count, directives, ndirectives, &results, &nresults);
    printf("%s\n", name_of(status));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    bool is_tool = argc > 1 && strcmp(argv[1], "tool") == 0;
    pmix_proc_t all;
    /* Blocked, so that a signal that comes before the wait is not lost. */
    sigset_t usr1;
    int number;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, NULL);
    check("init", is_tool ? PMIx_tool_init(&me, NULL, 0) : PMIx_Init(&me, NULL, 0));
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    if (!is_tool) check("fence", PMIx_Fence(&all, 1, NULL, 0));
    for (int n = is_tool ? 2 : 1; n < argc && (is_tool || me.rank == 0); n++)
        if (strcmp(argv[n], "end") != 0) order(argv[n]);
    if (is_tool) return PMIx_tool_finalize();
    if (strcmp(argv[argc - 1], "end") == 0 && me.rank == 0) return PMIx_Finalize(NULL, 0);
    /* A rank that is left alone by the orders ends when it gets SIGUSR1. */
    sigwait(&usr1, &number);
    puts("signalled");
    fflush(stdout);
    return PMIx_Finalize(NULL, 0);
}
