/* PMIx_Log, without MPI: each rank logs to the channels of its command line, in one call a word, and prints
   `WORD STATUS`. A word is a list of channels with `+` between: stdout, stderr, syslog, global, job, email, store;
   before it, with `:`, stands a directive: once, tag, xml, dated (PMIX_LOG_TIMESTAMP_OUTPUT with
   PMIX_LOG_GENERATE_TIMESTAMP), required (an unknown key that is required), forged (PMIX_LOG_SOURCE of another rank);
   `long:` is a text of 100,000 characters. E-mail goes to two addressees, with the text as its message; its words are
   bent by `inject:` (an end of a line in an address), `subject:` (one in the subject) and `server:` (a mail server). If
   the first word is `tool`, the program is a tool of PMIx. */

#include <pmix_tool.h>
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
    if (strcmp(channel, "global") == 0) return PMIX_LOG_GLOBAL_SYSLOG;
    if (strcmp(channel, "store") == 0) return PMIX_LOG_GLOBAL_DATASTORE;
    if (strcmp(channel, "job") == 0) return PMIX_LOG_JOB_RECORD;
    return PMIX_LOG_EMAIL;
}

/* Fills in an e-mail for a word; the library copies it. */
static void write_mail(const char *word, const char *text, pmix_info_t *data)
{
    bool injects = strcmp(word, "inject") == 0, bends = strcmp(word, "subject") == 0;
    uint16_t port = 25;
    size_t count = strcmp(word, "server") == 0 ? 5 : 4;
    pmix_data_array_t array;
    PMIX_DATA_ARRAY_CONSTRUCT(&array, count, PMIX_INFO);
    pmix_info_t *mail = array.array;
    PMIX_INFO_LOAD(&mail[0], PMIX_LOG_EMAIL_ADDR, injects ? "a@site\nBcc: x@y" : "a@site,b@site", PMIX_STRING);
    PMIX_INFO_LOAD(&mail[1], PMIX_LOG_EMAIL_SENDER_ADDR, "job@site", PMIX_STRING);
    PMIX_INFO_LOAD(&mail[2], PMIX_LOG_EMAIL_SUBJECT, bends ? "done\nBcc: x@y" : "done", PMIX_STRING);
    PMIX_INFO_LOAD(&mail[3], PMIX_LOG_EMAIL_MSG, text, PMIX_STRING);
    if (count > 4) PMIX_INFO_LOAD(&mail[4], PMIX_LOG_EMAIL_SRVR_PORT, &port, PMIX_UINT16);
    PMIX_INFO_LOAD(data, PMIX_LOG_EMAIL, &array, PMIX_DATA_ARRAY);
    PMIX_DATA_ARRAY_DESTRUCT(&array);
}

/* Fills in the directives for a word; returns their number. */
static size_t direct(const char *word, pmix_info_t *directives)
{
    bool yes = true;
    if (strcmp(word, "forged") == 0) {
        pmix_proc_t other;
        PMIX_LOAD_PROCID(&other, me.nspace, me.rank + 1);
        PMIX_INFO_LOAD(&directives[0], PMIX_LOG_SOURCE, &other, PMIX_PROC);
        return 1;
    }
    const char *key = strcmp(word, "once") == 0  ? PMIX_LOG_ONCE
                      : strcmp(word, "tag") == 0 ? PMIX_LOG_TAG_OUTPUT
                      : strcmp(word, "xml") == 0 ? PMIX_LOG_XML_OUTPUT
                      : strcmp(word, "dated") == 0 ? PMIX_LOG_TIMESTAMP_OUTPUT
                                                   : "strange";
    PMIX_INFO_LOAD(&directives[0], key, &yes, PMIX_BOOL);
    if (strcmp(word, "required") == 0) PMIX_INFO_REQUIRED(&directives[0]);
    if (strcmp(word, "dated") != 0) return 1;
    PMIX_INFO_LOAD(&directives[1], PMIX_LOG_GENERATE_TIMESTAMP, &yes, PMIX_BOOL);
    return 2;
}

int main(int argc, char **argv)
{
    bool is_tool = argc > 1 && strcmp(argv[1], "tool") == 0;
    if ((is_tool ? PMIx_tool_init(&me, NULL, 0) : PMIx_Init(&me, NULL, 0)) != PMIX_SUCCESS) return 99;
    for (int n = 1 + is_tool; n < argc; n++) {
        pmix_info_t data[8], directives[2];
        size_t count = 0, ndirectives = 0;
        char word[200];
        snprintf(word, sizeof word, "%s", argv[n]);
        char *channels = strchr(word, ':');
        char *text = calloc(1, 100001);
        snprintf(text, 100001, "logged %s", argv[n]);
        if (channels) {
            *channels++ = 0;
            if (strcmp(word, "long") == 0) memset(text, 'x', 100000);
            else if (strcmp(channels, "email") != 0) ndirectives = direct(word, directives);
        } else channels = word;
        for (char *channel = strtok(channels, "+"); channel && count < 8; channel = strtok(NULL, "+")) {
            const char *key = key_of(channel);
            if (strcmp(key, PMIX_LOG_EMAIL) == 0) write_mail(word, text, &data[count]);
            else PMIX_INFO_LOAD(&data[count], key, text, PMIX_STRING);
            count++;
        }
        printf("%s %s\n", argv[n], name_of(PMIx_Log(data, count, ndirectives ? directives : NULL, ndirectives)));
        fflush(stdout);
    }
    return is_tool ? PMIx_tool_finalize() : PMIx_Finalize(NULL, 0);
}
