/* init_run PROGRAM WORDS...: runs a launcher, and writes the line `command START END GONE CPU` to
 * $INIT_TRACE_DIR/command: when it was started, when it ended, and when the last rank (init_rank.c) was gone, in
 * nanoseconds of CLOCK_MONOTONIC (0: some rank is still there); then the processor time of all processes on this node
 * that it has started, ranks included, in nanoseconds.
 *
 * It is a subreaper and waits for everything below it: no process escapes the sum. It returns the launcher's code.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static unsigned long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static int failed(const char *what)
{
    perror(what);
    return 125;
}

int main(int argc, char **argv)
{
    char path[4096];
    const char *directory = getenv("INIT_TRACE_DIR");
    if (argc < 2 || !directory) {
        fputs("usage: INIT_TRACE_DIR=DIR init_run PROGRAM WORDS...\n", stderr);
        return 2;
    }
    snprintf(path, sizeof path, "%s/ranks", directory);
    if (mkfifo(path, 0600))
        return failed(path);
    int ranks = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (ranks < 0)
        return failed(path);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1))
        return failed("PR_SET_CHILD_SUBREAPER");
    unsigned long long start = now(), gone = 0, end;
    pid_t launcher = fork();
    if (launcher < 0)
        return failed("fork");
    if (launcher == 0) {
        execv(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }
    int pidfd = syscall(SYS_pidfd_open, launcher, 0);
    if (pidfd < 0)
        return failed("pidfd_open");
    /* The pipe of the ranks hangs up when the last one of them is gone. */
    struct pollfd fds[2] = {{.fd = pidfd, .events = POLLIN}, {.fd = ranks}};
    for (;;) {
        if (poll(fds, 2, -1) < 0)
            return failed("poll");
        end = now();
        if (fds[1].revents) {
            gone = end;
            fds[1].fd = -1;
        }
        if (fds[0].revents)
            break;
    }
    int status, other;
    if (waitpid(launcher, &status, 0) < 0)
        return failed("waitpid");
    while (wait(&other) > 0) {
    }
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    snprintf(path, sizeof path, "%s/command", directory);
    FILE *file = fopen(path, "w");
    if (!file)
        return failed(path);
    unsigned long long seconds = used.ru_utime.tv_sec + used.ru_stime.tv_sec;
    unsigned long long cpu = seconds * 1000000000 + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000ULL;
    fprintf(file, "command %llu %llu %llu %llu\n", start, end, gone, cpu);
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
