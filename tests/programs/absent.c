/* A process that meets all of its job in a fence, and tells how that ended. */

#include <pmix.h>
#include <stdio.h>

int main(void)
{
    pmix_proc_t me, all;
    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return 99;
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    printf("%u fence %d\n", me.rank, PMIx_Fence(&all, 1, NULL, 0));
    fflush(stdout);
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 99;
}
