/* Fences with data: `modex BYTES ROUNDS`. In each round a process puts BYTES bytes, commits them, meets all others, and
   enters a fence that collects the data of all. At the end it prints for each round when it entered that fence and when
   it had the data of all, in nanoseconds of the machine's clock. */

#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void check(const char *what, pmix_status_t status)
{
    if (status != PMIX_SUCCESS) {
        fprintf(stderr, "modex: %s: %s\n", what, PMIx_Error_string(status));
        exit(99);
    }
}

/* Byte `at` of the data of process `rank`: a hash of both, so that nothing can be compressed. */
static unsigned char byte(unsigned rank, size_t at)
{
    unsigned long long x = ((unsigned long long)rank << 32 | at) * 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93ull;
    return x >> 56;
}

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
    pmix_proc_t me, all, last;
    pmix_info_t collect;
    pmix_value_t value, *found;
    bool yes = true;

    if (argc != 3)
        return 97;
    size_t size = strtoul(argv[1], NULL, 10);
    int rounds = atoi(argv[2]);
    long long *times = calloc(2 * rounds + 1, sizeof *times);
    char *data = malloc(size + 1);

    check("init", PMIx_Init(&me, NULL, 0));
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    check("size", PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &found));
    PMIX_LOAD_PROCID(&last, me.nspace, found->data.uint32 - 1);
    PMIX_VALUE_RELEASE(found);
    for (int round = 0; round < rounds; round++) {
        char key[32];
        snprintf(key, sizeof key, "round.%d", round);
        for (size_t at = 0; at < size; at++)
            data[at] = byte(me.rank, at);
        PMIX_VALUE_CONSTRUCT(&value);
        value.type = PMIX_BYTE_OBJECT;
        value.data.bo.bytes = data;
        value.data.bo.size = size;
        check("put", PMIx_Put(PMIX_GLOBAL, key, &value));
        check("commit", PMIx_Commit());
        check("meet", PMIx_Fence(&all, 1, NULL, 0));
        times[2 * round] = now();
        check("fence", PMIx_Fence(&all, 1, &collect, 1));
        times[2 * round + 1] = now();
        /* Nobody goes on, and takes processor time, before the last one has returned. */
        check("meet again", PMIx_Fence(&all, 1, NULL, 0));
        /* What has come is right. */
        check("get", PMIx_Get(&last, key, NULL, 0, &found));
        if (found->type != PMIX_BYTE_OBJECT || found->data.bo.size != size ||
            (size > 0 && (unsigned char)found->data.bo.bytes[size - 1] != byte(last.rank, size - 1))) {
            fprintf(stderr, "modex: the data of the last process are wrong\n");
            exit(98);
        }
        PMIX_VALUE_RELEASE(found);
    }
    for (int round = 0; round < rounds; round++)
        printf("%lld %lld\n", times[2 * round], times[2 * round + 1]);
    fflush(stdout);
    check("finalize", PMIx_Finalize(NULL, 0));
    return 0;
}
