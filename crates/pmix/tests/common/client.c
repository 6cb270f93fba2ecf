/* A PMIx client for the tests: one small scene per first argument. Exit status 0 means it went as it should. */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t me;
static uint32_t size;

static void fail(const char *what, int rc)
{
    printf("rank %u: %s failed: %d\n", me.rank, what, rc);
    fflush(stdout);
    _exit(1);
}

static void check(const char *what, int rc)
{
    if (rc != PMIX_SUCCESS) fail(what, rc);
}

static pmix_proc_t everyone(void)
{
    pmix_proc_t all = me;
    all.rank = PMIX_RANK_WILDCARD;
    return all;
}

static void put(const char *key)
{
    char text[64];
    pmix_value_t value;
    snprintf(text, sizeof text, "%s-of-%u", key, me.rank);
    value.type = PMIX_STRING;
    value.data.string = text;
    check("put", PMIx_Put(PMIX_GLOBAL, key, &value));
    check("commit", PMIx_Commit());
}

static void get_from_all(const char *key)
{
    char want[64];
    for (uint32_t rank = 0; rank < size; rank++) {
        pmix_proc_t peer = me;
        pmix_value_t *value;
        peer.rank = rank;
        check("get", PMIx_Get(&peer, key, NULL, 0, &value));
        snprintf(want, sizeof want, "%s-of-%u", key, rank);
        if (strcmp(want, value->data.string)) fail("compare", 0);
    }
}

static int fence(bool collect)
{
    pmix_proc_t all = everyone();
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    return PMIx_Fence(&all, 1, &info, 1);
}

static void show(const pmix_proc_t *who, const char *key)
{
    pmix_value_t *value;
    int rc = PMIx_Get(who, key, NULL, 0, &value);
    printf("rank %u: %u %s ", me.rank, who->rank, key);
    if (rc) printf("rc %d\n", rc);
    else if (value->type == PMIX_STRING) printf("%s\n", value->data.string);
    else if (value->type == PMIX_UINT16) printf("%u\n", value->data.uint16);
    else printf("%u\n", value->data.uint32);
}

int main(int argc, char **argv)
{
    const char *scene = argc > 1 ? argv[1] : "modex";
    pmix_value_t *value;
    check("init", PMIx_Init(&me, NULL, 0));
    pmix_proc_t all = everyone();
    check("get size", PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value));
    size = value->data.uint32;

    if (!strcmp(scene, "modex")) {
        int rounds = argc > 2 ? atoi(argv[2]) : 3;
        for (int round = 0; round < rounds; round++) {
            char key[16];
            snprintf(key, sizeof key, "key%d", round);
            put(key);
            check("fence", fence(true));
            get_from_all(key);
        }
        check("barrier", fence(false));
    } else if (!strcmp(scene, "direct")) {
        put("lazy");
        check("barrier", fence(false));
        get_from_all("lazy");
        check("barrier", fence(false));
    } else if (!strcmp(scene, "fence-fails")) {
        int rc = fence(true);
        if (rc == PMIX_SUCCESS) fail("the fence should have failed", rc);
    } else if (!strcmp(scene, "abort")) {
        if (me.rank == 0) PMIx_Abort(17, "because of the test", NULL, 0);
        else sleep(100);
    } else if (!strcmp(scene, "die")) {
        check("barrier", fence(false));
        _exit(me.rank == 0 ? 3 : 0);
    } else if (!strcmp(scene, "refused")) {
        pmix_info_t info;
        pmix_pdata_t data;
        pmix_app_t app;
        char nspace[PMIX_MAX_NSLEN + 1];
        PMIX_INFO_LOAD(&info, "published", "x", PMIX_STRING);
        if (PMIx_Publish(&info, 1) == PMIX_SUCCESS) fail("publish is refused", 0);
        PMIX_PDATA_CONSTRUCT(&data);
        PMIX_LOAD_KEY(data.key, "published");
        if (PMIx_Lookup(&data, 1, NULL, 0) == PMIX_SUCCESS) fail("lookup is refused", 0);
        if (PMIx_Unpublish(NULL, NULL, 0) == PMIX_SUCCESS) fail("unpublish is refused", 0);
        PMIX_APP_CONSTRUCT(&app);
        app.cmd = strdup("true");
        app.maxprocs = 1;
        if (PMIx_Spawn(NULL, 0, &app, 1, nspace) == PMIX_SUCCESS) fail("spawn is refused", 0);
        pmix_query_t query;
        pmix_info_t *results = NULL;
        size_t nresults = 0;
        PMIX_QUERY_CONSTRUCT(&query);
        PMIX_ARGV_APPEND(value->data.integer, query.keys, PMIX_QUERY_NAMESPACES);
        if (PMIx_Query_info(&query, 1, &results, &nresults) == PMIX_SUCCESS && nresults > 0) fail("query is refused", 0);
    } else if (!strcmp(scene, "log")) {
        pmix_info_t info;
        PMIX_INFO_LOAD(&info, PMIX_LOG_STDERR, "a text for the log", PMIX_STRING);
        check("log", PMIx_Log(&info, 1, NULL, 0));
    } else if (!strcmp(scene, "keys")) {
        const char *keys[] = {PMIX_HOSTNAME, PMIX_NODEID, PMIX_LOCAL_RANK, PMIX_NODE_RANK, PMIX_APPNUM, PMIX_GLOBAL_RANK, PMIX_APP_RANK, PMIX_LOCALITY_STRING};
        for (uint32_t rank = 0; me.rank == 0 && rank < size; rank++) {
            pmix_proc_t peer = me;
            peer.rank = rank;
            for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) show(&peer, keys[k]);
        }
        char *nodes = NULL;
        pmix_proc_t *peers = NULL;
        size_t npeers = 0;
        check("resolve nodes", PMIx_Resolve_nodes(me.nspace, &nodes));
        printf("rank %u: nodes %s\n", me.rank, nodes);
        for (char *node = strtok(nodes, ","); node; node = strtok(NULL, ",")) {
            int rc = PMIx_Resolve_peers(node, me.nspace, &peers, &npeers);
            printf("rank %u: peers on %s: %zu rc %d\n", me.rank, node, npeers, rc);
        }
        show(&all, PMIX_UNIV_SIZE);
        show(&all, PMIX_NUM_NODES);
        show(&all, PMIX_LOCAL_PEERS);
        show(&all, PMIX_LOCAL_SIZE);
    } else {
        fail("unknown scene", 0);
    }
    printf("rank %u of %u: %s done\n", me.rank, size, scene);
    return PMIx_Finalize(NULL, 0);
}
