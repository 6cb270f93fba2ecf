/* PMIx_Log, without MPI: each rank logs to the channels of its command line, in one call a word, and prints
   `WORD STATUS`. A word is a list of channels with `+` between: stdout, stderr, syslog, job, email; `once:` before it
   is PMIX_LOG_ONCE, `tag:` PMIX_LOG_TAG_OUTPUT, and `long:` a text of 100,000 characters. */

#include <pmix.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "status.h"

static pmix_proc_t me;

static const char *key_of(const char *channel)
{
    if (strcmp(channel, "stdout") == 0) return PMIX_LOG_STDOUT;
    if (strcmp(channel, "stderr") == 0) return PMIX_LOG_STDERR;
    if (strcmp(channel, "syslog") == 0) return PMIX_LOG_SYSLOG;
    if (strcmp(channel, "job") == 0) return PMIX_LOG_JOB_RECORD;
    return PMIX_LOG_EMAIL;
}

int main(int argc, char **argv)
{
    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) return 99;
    for (int n = 1; n < argc; n++) {
        pmix_info_t data[8], directives[1];
        size_t count = 0, ndirectives = 0;
        bool yes = true;
        char word[200];
        snprintf(word, sizeof word, "%s", argv[n]);
        char *channels = strchr(word, ':');
        char *text = calloc(1, 100001);
        snprintf(text, 100001, "logged %s", argv[n]);
        if (channels) {
            *channels++ = 0;
            if (strcmp(word, "long") == 0) memset(text, 'x', 100000);
            else {
                PMIX_INFO_LOAD(&directives[0], strcmp(word, "once") == 0 ? PMIX_LOG_ONCE : PMIX_LOG_TAG_OUTPUT, &yes,
                               PMIX_BOOL);
                ndirectives = 1;
            }
        } else channels = word;
        for (char *channel = strtok(channels, "+"); channel && count < 8; channel = strtok(NULL, "+")) {
            PMIX_INFO_LOAD(&data[count], key_of(channel), text, PMIX_STRING);
            count++;
        }
        printf("%s %s\n", argv[n], name_of(PMIx_Log(data, count, ndirectives ? directives : NULL, ndirectives)));
        fflush(stdout);
    }
    return PMIx_Finalize(NULL, 0);
}
