/* chatty ID LINES [SECONDS]: writes numbered lines in pieces that no line ends with, as unkindly as stdio may.
   Uses no MPI. Each line is "<ID> <number> <as many letters as the number says modulo 1000> end". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put(const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = write(1, bytes, length);
        if (n < 0)
            exit(9);
        bytes += n;
        length -= (size_t)n;
    }
}

int main(int argc, char **argv)
{
    const char *id = argc > 1 ? argv[1] : "0";
    long lines = argc > 2 ? atol(argv[2]) : 1000;
    char line[1200];

    if (strcmp(id, "-") == 0) /* the rank, as whichever PMI tells it */
        id = getenv("PMIX_RANK") ? getenv("PMIX_RANK") : getenv("PMI_RANK") ? getenv("PMI_RANK") : "?";
    for (long i = 0; i < lines; i++) {
        int n = snprintf(line, sizeof line, "%s %ld ", id, i);
        memset(line + n, 'a' + (int)(i % 26), (size_t)(i % 1000));
        n += (int)(i % 1000);
        n += snprintf(line + n, sizeof line - (size_t)n, " end\n");
        int cut = (int)(i * 7 % n);
        put(line, (size_t)cut);
        put(line + cut, (size_t)(n - cut));
    }
    if (argc > 3)
        sleep((unsigned)atoi(argv[3]));
    return 0;
}
