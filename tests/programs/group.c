/* PMIx groups. `group WHAT ARGS...`; each rank prints what it gets.

   numbers       all ranks make three groups, one after the other and two at once, and end them
   parts         the even ranks and the odd ranks make a group each, at the same time
   data          the members of a group read what the others have put, and what they have told the group; libpmix 4
                 is not asked for the latter
   bootstrap     ranks 0 and 1 begin a group without knowing each other, and name the others as further members
   timeout       the highest rank does not come; the others give it two seconds
   dies          the highest rank dies instead of coming
   notified      the highest rank dies after the group is made; the others hear of it
   invite        rank 0 invites the others, who accept, except the highest, which declines; the library of rank 0
                 keeps their answers to itself
   together      rank 0 invites ranks 2 and 3, who accept; the three meet in a fence of the group's name and end it
   leaves        the highest rank leaves the group; the others hear of it, and ask for its members
   twice         all ranks make a group of a name that is taken */

#include <pmix.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int done_count, is_registered, failed_member = -1, invited, complete;
static pmix_proc_t me, leader;
static unsigned size;

static void check(const char *what, pmix_status_t status)
{
    if (status != PMIX_SUCCESS) {
        fprintf(stderr, "group: %u %s: %s (%d)\n", me.rank, what, PMIx_Error_string(status), status);
        exit(99);
    }
}

static void bump(int *count)
{
    pthread_mutex_lock(&lock);
    ++*count;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void await(const int *count, int number)
{
    pthread_mutex_lock(&lock);
    while (*count < number)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void event(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[], size_t ninfo,
                  pmix_info_t results[], size_t nresults, pmix_event_notification_cbfunc_fn_t done, void *data)
{
    (void)id, (void)results, (void)nresults;
    if (status == PMIX_GROUP_MEMBER_FAILED) {
        for (size_t i = 0; i < ninfo; i++)
            /* Those who have heard of the first end as well. */
            if (failed_member < 0 && PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC))
                failed_member = info[i].value.data.proc->rank;
        bump(&done_count);
    }
    if (status == PMIX_GROUP_LEFT)
        bump(&done_count);
    if (status == PMIX_GROUP_INVITED) {
        leader = *source;
        bump(&invited);
    }
    if (status == PMIX_GROUP_CONSTRUCT_COMPLETE)
        bump(&complete);
    if (done)
        done(PMIX_SUCCESS, NULL, 0, NULL, NULL, data);
}

static void registered(pmix_status_t status, size_t id, void *data)
{
    (void)id, (void)data;
    check("register", status);
    bump(&is_registered);
}

static void listen_for(pmix_status_t *codes, size_t count)
{
    PMIx_Register_event_handler(codes, count, NULL, 0, event, registered, NULL);
    await(&is_registered, 1);
}

static void meet(void)
{
    pmix_proc_t all;
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    check("fence", PMIx_Fence(&all, 1, NULL, 0));
}

/* Members: every `step`-th rank from `first` on. */
static size_t members(pmix_proc_t *procs, unsigned first, unsigned step)
{
    size_t n = 0;
    for (unsigned rank = first; rank < size; rank += step, n++)
        PMIX_LOAD_PROCID(&procs[n], me.nspace, rank);
    return n;
}

static pmix_status_t make(const char *name, unsigned first, unsigned step, pmix_info_t *more, size_t nmore, size_t *number)
{
    pmix_proc_t procs[64];
    pmix_info_t info[4], *results = NULL;
    size_t nprocs = members(procs, first, step), nresults = 0, ninfo = 0;
    bool yes = true;
    PMIX_INFO_LOAD(&info[ninfo], PMIX_GROUP_ASSIGN_CONTEXT_ID, &yes, PMIX_BOOL);
    ninfo++;
    for (size_t i = 0; i < nmore; i++)
        PMIX_INFO_XFER(&info[ninfo++], &more[i]);
    pmix_status_t status = PMIx_Group_construct(name, procs, nprocs, info, ninfo, &results, &nresults);
    *number = 0;
    for (size_t i = 0; i < nresults; i++)
        if (PMIX_CHECK_KEY(&results[i], PMIX_GROUP_CONTEXT_ID))
            *number = results[i].value.data.size;
    return status;
}

static void made(pmix_status_t status, pmix_info_t *info, size_t ninfo, void *data, pmix_release_cbfunc_t release,
                 void *release_data)
{
    check("made", status);
    for (size_t i = 0; i < ninfo; i++)
        if (PMIX_CHECK_KEY(&info[i], PMIX_GROUP_CONTEXT_ID))
            *(size_t *)data = info[i].value.data.size;
    if (release)
        release(release_data);
    bump(&done_count);
}

static void numbers(void)
{
    size_t first, two[2] = {0, 0};
    check("construct", make("a", 0, 1, NULL, 0, &first));
    pmix_proc_t procs[64];
    size_t nprocs = members(procs, 0, 1);
    bool yes = true;
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_GROUP_ASSIGN_CONTEXT_ID, &yes, PMIX_BOOL);
    /* The ranks begin the two in different orders. */
    for (unsigned i = 0; i < 2; i++) {
        unsigned which = (i + me.rank) % 2;
        check("construct_nb", PMIx_Group_construct_nb(which ? "c" : "b", procs, nprocs, &info, 1, made, &two[which]));
    }
    await(&done_count, 2);
    printf("%u has groups %zu and %zu\n", me.rank, first, two[0] + two[1]);
    check("destruct", PMIx_Group_destruct("b", NULL, 0));
    check("destruct", PMIx_Group_destruct("c", NULL, 0));
    check("destruct", PMIx_Group_destruct("a", NULL, 0));
    check("construct", make("a", 0, 1, NULL, 0, &first));
    printf("%u has group %zu\n", me.rank, first);
    check("destruct", PMIx_Group_destruct("a", NULL, 0));
}

static void data(void)
{
    size_t number;
    pmix_value_t value, *got;
    int mine = 100 + me.rank, of_group = 200 + me.rank;
    value.type = PMIX_INT;
    value.data.integer = mine;
    check("put", PMIx_Put(PMIX_GLOBAL, "own", &value));
    check("commit", PMIx_Commit());
    pmix_info_t one, info;
    PMIX_INFO_LOAD(&one, "of.group", &of_group, PMIX_INT);
    pmix_data_array_t array = {.type = PMIX_INFO, .size = 1, .array = &one};
    PMIX_INFO_LOAD(&info, PMIX_GROUP_INFO, &array, PMIX_DATA_ARRAY);
    check("construct", make("d", 0, 1, &info, 1, &number));
    pmix_proc_t other;
    PMIX_LOAD_PROCID(&other, me.nspace, (me.rank + 1) % size);
    check("get own", PMIx_Get(&other, "own", NULL, 0, &got));
    printf("%u reads %d of %u\n", me.rank, got->data.integer, other.rank);
#if PMIX_VERSION_MAJOR >= 5
    pmix_info_t of[2];
    int seconds = 10;
    PMIX_INFO_LOAD(&of[0], PMIX_GROUP_CONTEXT_ID, &number, PMIX_SIZE);
    PMIX_INFO_SET_QUALIFIER(&of[0]);
    PMIX_INFO_LOAD(&of[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    check("get of the group", PMIx_Get(&other, "of.group", of, 2, &got));
    printf("%u is told %d by %u\n", me.rank, got->data.integer, other.rank);
#endif
    check("destruct", PMIx_Group_destruct("d", NULL, 0));
}

static void bootstrap(void)
{
#ifdef PMIX_GROUP_BOOTSTRAP
    pmix_proc_t more[64];
    size_t leaders = 2, nmore = members(more, 2, 1), ninfo = 0;
    bool leads = me.rank < leaders;
    int seconds = 10;
    pmix_data_array_t array = {.type = PMIX_PROC, .size = nmore, .array = more};
    pmix_info_t info[3], *results = NULL;
    size_t nresults = 0;
    PMIX_INFO_LOAD(&info[ninfo], PMIX_TIMEOUT, &seconds, PMIX_INT);
    ninfo++;
    if (leads) {
        PMIX_INFO_LOAD(&info[ninfo], PMIX_GROUP_BOOTSTRAP, &leaders, PMIX_SIZE);
        ninfo++;
    }
    if (me.rank == 0) {
        PMIX_INFO_LOAD(&info[ninfo], PMIX_GROUP_ADD_MEMBERS, &array, PMIX_DATA_ARRAY);
        ninfo++;
    }
    pmix_status_t status = PMIx_Group_construct("b", leads ? &me : NULL, leads, info, ninfo, &results, &nresults);
    size_t members = 0;
    for (size_t i = 0; i < nresults; i++)
        if (PMIX_CHECK_KEY(&results[i], PMIX_GROUP_MEMBERSHIP))
            members = results[i].value.data.darray->size;
    printf("%u construct %d with %zu members\n", me.rank, status, members);
#endif
}

/* The highest rank declines: libpmix 7 gives the group up, and others make it of the rest. */
static void answered(pmix_status_t status, pmix_info_t *info, size_t ninfo, void *data, pmix_release_cbfunc_t release,
                     void *release_data)
{
    (void)status, (void)info, (void)ninfo, (void)data;
    if (release)
        release(release_data);
}

static void invite(void)
{
    pmix_proc_t others[64];
    pmix_status_t code = PMIX_GROUP_INVITED;
    listen_for(&code, 1);
    meet();
    if (me.rank == 0) {
        /* libpmix 7 refuses an invitation without the leader, and one without a callback. */
        size_t nprocs = members(others, 0, 1);
        check("invite", PMIx_Group_invite_nb("i", others, nprocs, NULL, 0, answered, NULL));
    } else {
        await(&invited, 1);
        pmix_group_opt_t answer = me.rank == size - 1 ? PMIX_GROUP_DECLINE : PMIX_GROUP_ACCEPT;
        check("join", PMIx_Group_join_nb("i", &leader, answer, NULL, 0, NULL, NULL));
        printf("%u was invited by %u\n", me.rank, leader.rank);
    }
    fflush(stdout);
    meet();
}

static void left(pmix_status_t status, void *data)
{
    (void)data;
    check("leave", status);
    bump(&invited);
}

static void leaves(void)
{
    size_t number, members = 0;
    pmix_status_t code = PMIX_GROUP_LEFT;
    listen_for(&code, 1);
    check("construct", make("l", 0, 1, NULL, 0, &number));
    meet();
    if (me.rank == size - 1) {
        check("leave", PMIx_Group_leave_nb("l", NULL, 0, left, NULL));
        await(&invited, 1);
    } else {
        await(&done_count, 1);
        pmix_query_t query;
        pmix_info_t *results = NULL;
        size_t nresults = 0;
        PMIX_QUERY_CONSTRUCT(&query);
        PMIX_ARGV_APPEND(code, query.keys, PMIX_QUERY_GROUP_MEMBERSHIP);
        PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
        PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_GROUP_ID, "l", PMIX_STRING);
        check("query", PMIx_Query_info(&query, 1, &results, &nresults));
        if (nresults && results[0].value.type == PMIX_DATA_ARRAY)
            members = results[0].value.data.darray->size;
        printf("%u is one of %zu members\n", me.rank, members);
    }
    fflush(stdout);
    meet();
}

static void together(void)
{
    pmix_proc_t procs[3], group;
    pmix_status_t codes[] = {PMIX_GROUP_INVITED, PMIX_GROUP_CONSTRUCT_COMPLETE};
    for (unsigned i = 0; i < 3; i++)
        PMIX_LOAD_PROCID(&procs[i], me.nspace, i ? i + 1 : 0);
    PMIX_LOAD_PROCID(&group, "t", PMIX_RANK_WILDCARD);
    listen_for(codes, 2);
    meet();
    if (me.rank == 0) {
        pmix_info_t *results = NULL;
        size_t nresults = 0;
        check("invite", PMIx_Group_invite("t", procs, 3, NULL, 0, &results, &nresults));
    } else if (me.rank > 1) {
        await(&invited, 1);
        check("join", PMIx_Group_join_nb("t", &leader, PMIX_GROUP_ACCEPT, NULL, 0, NULL, NULL));
        await(&complete, 1);
    }
    if (me.rank != 1) {
        check("fence of the group", PMIx_Fence(&group, 1, NULL, 0));
        printf("%u has met the others\n", me.rank);
        check("destruct", PMIx_Group_destruct("t", NULL, 0));
    }
    fflush(stdout);
    meet();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    check("init", PMIx_Init(&me, NULL, 0));
    pmix_proc_t all;
    pmix_value_t *value;
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    check("size", PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value));
    size = value->data.uint32;
    bool is_last = me.rank == size - 1;
    size_t number;
    if (!strcmp(what, "numbers"))
        numbers();
    else if (!strcmp(what, "parts")) {
        check("construct", make(me.rank % 2 ? "odd" : "even", me.rank % 2, 2, NULL, 0, &number));
        printf("%u has %s\n", me.rank, number == 1 || number == 2 ? "one of two" : "none");
        check("destruct", PMIx_Group_destruct(me.rank % 2 ? "odd" : "even", NULL, 0));
    } else if (!strcmp(what, "data"))
        data();
    else if (!strcmp(what, "timeout")) {
        int seconds = 2;
        pmix_info_t info;
        PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &seconds, PMIX_INT);
        if (!is_last)
            printf("%u construct %d\n", me.rank, make("t", 0, 1, &info, 1, &number));
        fflush(stdout);
        meet();
    } else if (!strcmp(what, "bootstrap")) {
        bootstrap();
        fflush(stdout);
        meet();
    } else if (!strcmp(what, "dies")) {
        meet();
        if (is_last)
            raise(SIGKILL);
        printf("%u construct %d\n", me.rank, make("x", 0, 1, NULL, 0, &number));
    } else if (!strcmp(what, "notified")) {
        bool yes = true;
        pmix_status_t code = PMIX_GROUP_MEMBER_FAILED;
        pmix_info_t info;
        PMIX_INFO_LOAD(&info, PMIX_GROUP_NOTIFY_TERMINATION, &yes, PMIX_BOOL);
        listen_for(&code, 1);
        check("construct", make("n", 0, 1, &info, 1, &number));
        if (is_last)
            raise(SIGKILL);
        await(&done_count, 1);
        printf("%u hears of %d\n", me.rank, failed_member);
    } else if (!strcmp(what, "together"))
        together();
    else if (!strcmp(what, "invite"))
        invite();
    else if (!strcmp(what, "leaves"))
        leaves();
    else if (!strcmp(what, "twice")) {
        check("construct", make("w", 0, 1, NULL, 0, &number));
        printf("%u construct %d\n", me.rank, make("w", 0, 1, NULL, 0, &number));
        check("destruct", PMIx_Group_destruct("w", NULL, 0));
    }
    fflush(stdout);
    check("finalize", PMIx_Finalize(NULL, 0));
    return 0;
}
