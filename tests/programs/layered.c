/* A small malleability layer over examples/elastic/ferrite_elastic.h, without MPI and without data. Rank 0 of the first
   world answers: it refuses an offer of one process, and that one process ends; it takes a larger offer, and asks for
   more time when three are to end. It writes what it hears and does into a file; others write that they have begun, and
   that they end.

       layered FILE [WORLD NAMESPACE-OF-THE-FIRST-WORLD] */

#include <ferrite_elastic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *file, *world;
static pmix_proc_t root;

static void say(const char *what, int status, int count)
{
    FILE *out = fopen(file, "a");
    if (!out)
        exit(5);
    fprintf(out, "%s.%u: %s %d, status %d\n", world, ferrite_elastic_me()->rank, what, count, status);
    fclose(out);
}

static void take(const struct ferrite_elastic_change *offer, char *program)
{
    char *words[] = {program, (char *)file, "1", root.nspace, NULL}, children[PMIX_MAX_NSLEN + 1];
    pmix_info_t where;
    pmix_app_t app;
    int status = ferrite_elastic_where(offer, &where);
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = program;
    app.argv = words;
    app.maxprocs = offer->count;
    app.info = &where;
    app.ninfo = 1;
    if (status == PMIX_SUCCESS)
        status = PMIx_Spawn(NULL, 0, &app, 1, children);
    say("took", status, offer->count);
}

/* The root and those who end wait for each other: nobody ends before the root has answered. */
static void meet(const struct ferrite_elastic_change *change)
{
    pmix_proc_t procs[8];
    int count = change->count, has_root = 0;
    memcpy(procs, change->procs, (size_t)count * sizeof *procs);
    for (int i = 0; i < count; i++)
        has_root |= PMIX_CHECK_PROCID(&procs[i], &root);
    if (!has_root)
        procs[count++] = root;
    int status = ferrite_elastic_meet(procs, (size_t)count);
    if (status != PMIX_SUCCESS)
        say("met", status, count);
}

static void answer(const struct ferrite_elastic_change *change, char *program)
{
    /* No time, node or request: that is an error, too. */
    int status = change->seconds > 0 && change->nodes[0] && change->request[0] ? 0 : -1;
    say(change->kind == FERRITE_ELASTIC_OFFER ? "offer of" : "end of", status, change->count);
    if (change->count == 1)
        say("refused", ferrite_elastic_refuse(change), change->count);
    else if (change->kind == FERRITE_ELASTIC_OFFER)
        take(change, program);
    else if (change->count == 3) {
        say("deferred", ferrite_elastic_defer(600), change->count);
        meet(change);
    }
}

int main(int argc, char **argv)
{
    struct ferrite_elastic_change change;
    if (argc < 2)
        return 2;
    file = argv[1];
    world = argc > 2 ? argv[2] : "0";
    if (ferrite_elastic_init() != PMIX_SUCCESS)
        return 4;
    PMIX_LOAD_PROCID(&root, argc > 3 ? argv[3] : ferrite_elastic_me()->nspace, 0);
    int status = ferrite_elastic_poll(&change, 0);
    say("up", status, change.kind);
    while (ferrite_elastic_poll(&change, -1) == PMIX_SUCCESS) {
        if (PMIX_CHECK_PROCID(ferrite_elastic_me(), &root))
            answer(&change, argv[0]);
        /* That of one process is refused. */
        if (change.ends_me && change.count > 1) {
            meet(&change);
            say("end with", 0, change.count);
            ferrite_elastic_leave();
        }
        ferrite_elastic_settle(&change);
        ferrite_elastic_release(&change);
    }
    return 4;
}
