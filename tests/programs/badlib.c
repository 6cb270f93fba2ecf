/* A libpmix that fails: built as a library that is linked with the real one, it takes the place of one function. What
 * it does then is what the file named by FERRITE_BADLIB says: abort, hang, or nothing when it is not there. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pmix_server.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

pmix_status_t PMIx_server_register_nspace(const char nspace[], int nlocalprocs, pmix_info_t info[], size_t ninfo,
                                          pmix_op_cbfunc_t done, void *data)
{
    const char *path = getenv("FERRITE_BADLIB");
    FILE *file = path ? fopen(path, "r") : NULL;
    int order = file ? getc(file) : EOF;
    if (file)
        fclose(file);
    if (order == 'a')
        abort();
    while (order == 'h')
        pause();
    pmix_status_t (*real)(const char[], int, pmix_info_t[], size_t, pmix_op_cbfunc_t, void *) =
        dlsym(RTLD_NEXT, "PMIx_server_register_nspace");
    return real ? real(nspace, nlocalprocs, info, ninfo, done, data) : PMIX_ERROR;
}
