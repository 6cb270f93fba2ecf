/* What regenerate.sh feeds to bindgen. */
#include <pmix.h>
#include <pmix_server.h>
