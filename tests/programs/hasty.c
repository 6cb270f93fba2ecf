/* A process that does not wait for a library that is busy. It stops the process of its daemon that runs libpmix, and
   calls finalize, which gives up after two seconds. When this process has ended, a child of it lets the other go on. */
#include <pmix.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static pid_t of_library(void)
{
    char command[64];
    int pid = 0;

    snprintf(command, sizeof command, "pgrep -P %d ferrite-pmixd", getppid());
    FILE *said = popen(command, "r");
    if (!said || fscanf(said, "%d", &pid) != 1)
        pid = 0;
    if (said)
        pclose(said);
    return pid;
}

int main(void)
{
    pmix_proc_t me;
    int ends[2];
    char byte;

    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return 99;
    pid_t library = of_library();
    if (!library || pipe(ends))
        return 98;
    if (fork() == 0) {
        /* The job does not wait for this child, which is outside its process group. */
        setsid();
        for (int fd = 0; fd < 1024; fd++)
            if (fd != ends[0])
                close(fd);
        /* Nobody writes: the read returns when the parent is gone. */
        (void)!read(ends[0], &byte, 1);
        usleep(300000); /* its daemon has reaped it by then */
        kill(library, SIGCONT);
        _exit(0);
    }
    kill(library, SIGSTOP);
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 97;
}
