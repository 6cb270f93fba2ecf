/* init_rank LIBRARY PROGRAM WORDS...: notes when a rank begins, before the loader of a program does anything, and
 * becomes the program with LIBRARY (init_trace.c) in it. The program holds $INIT_TRACE_DIR/ranks open, so that
 * init_run.c sees the end of the last one.
 *
 * It is linked statically: nothing is loaded for it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static unsigned long long clock_of(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

int main(int argc, char **argv)
{
    unsigned long long time = clock_of(CLOCK_MONOTONIC), cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    const char *directory = getenv("INIT_TRACE_DIR");
    char text[4096];
    if (argc < 3 || !directory) {
        fputs("usage: INIT_TRACE_DIR=DIR init_rank LIBRARY PROGRAM WORDS...\n", stderr);
        return 2;
    }
    snprintf(text, sizeof text, "%s/ranks", directory);
    if (open(text, O_WRONLY | O_NONBLOCK) < 0) {
        perror(text);
        return 1;
    }
    snprintf(text, sizeof text, "%llu %llu", time, cpu);
    setenv("INIT_TRACE_BEGAN", text, 1);
    setenv("LD_PRELOAD", argv[1], 1);
    execv(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
