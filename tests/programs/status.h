/* The names of statuses, the same with every release of libpmix, whose own texts differ ("NOT-FOUND" in 4.2,
   "PMIX_ERR_NOT_FOUND" in 5.0). A status without a name is a number. */
#include <pmix_common.h>
#include <stdio.h>

static const char *name_of(pmix_status_t status)
{
    static char number[16];
    switch (status) {
    case PMIX_SUCCESS: return "SUCCESS";
    case PMIX_OPERATION_SUCCEEDED: return "OPERATION-SUCCEEDED";
    case PMIX_ERR_PARTIAL_SUCCESS: return "PARTIAL-SUCCESS";
    case PMIX_ERR_NOT_FOUND: return "NOT-FOUND";
    case PMIX_ERR_NOT_SUPPORTED: return "NOT-SUPPORTED";
    case PMIX_ERR_BAD_PARAM: return "BAD-PARAM";
    case PMIX_ERR_NOT_AVAILABLE: return "NOT-AVAILABLE";
    case PMIX_ERR_NO_PERMISSIONS: return "NO-PERMISSIONS";
    case PMIX_ERR_EXISTS: return "EXISTS";
    case PMIX_ERR_OUT_OF_RESOURCE: return "OUT-OF-RESOURCE";
    case PMIX_ERR_TIMEOUT: return "TIMEOUT";
    case PMIX_ERR_UNREACH: return "UNREACHABLE";
    case PMIX_ERR_LOST_CONNECTION: return "LOST-CONNECTION";
    }
    snprintf(number, sizeof number, "%d", status);
    return number;
}
