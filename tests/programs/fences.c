/* Fence after fence: `fences FILE` goes on until FILE exists, then tells how many there were and how long the slowest
   took. The first process alone looks for FILE; that a fence is the last it tells the others by FILE.ROUND, made before
   that fence. FILE.going exists from the first fence on. */

#include <fcntl.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void check(const char *what, pmix_status_t status)
{
    if (status != PMIX_SUCCESS) {
        fprintf(stderr, "fences: %s: %s\n", what, PMIx_Error_string(status));
        exit(99);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void make(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    if (fd < 0) {
        perror(path);
        exit(98);
    }
    close(fd);
}

int main(int argc, char **argv)
{
    pmix_proc_t me, all;
    char last[4096], going[4096];
    double slowest = 0;
    long round = 0;

    if (argc != 2)
        return 97;
    check("init", PMIx_Init(&me, NULL, 0));
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    snprintf(going, sizeof going, "%s.going", argv[1]);
    for (;; round++) {
        snprintf(last, sizeof last, "%s.%ld", argv[1], round);
        if (me.rank == 0 && access(argv[1], F_OK) == 0)
            make(last);
        double start = now();
        check("fence", PMIx_Fence(&all, 1, NULL, 0));
        double took = now() - start;
        slowest = took > slowest ? took : slowest;
        if (me.rank == 0 && round == 0)
            make(going);
        if (access(last, F_OK) == 0)
            break;
        usleep(2000);
    }
    if (me.rank == 0)
        printf("%ld fences, the slowest took %.0f ms\n", round + 1, slowest);
    check("finalize", PMIx_Finalize(NULL, 0));
    return 0;
}
