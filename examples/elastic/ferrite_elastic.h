/* What a malleability layer needs of Ferrite, by calls of PMIx alone: which changes of the job's size are wanted, and
   the answers to them. The layer itself spawns, merges, splits and moves data, with the MPI that it likes.

       cc -shared -fPIC -o libferrite_elastic.so ferrite_elastic.c $(pkg-config --cflags --libs pmix) -pthread

   The libpmix must be the one that MPI has loaded, because a process must not have two (README.md of this directory's
   parent). The job is started by `prun --elastic MIN:MAX`; `pdvm resize` and `pdvm shrink` change it. MIN and MAX are
   kept by the DVM.

   All functions may be called from several threads. Each returns a status: 0 when all is well, otherwise a status of
   PMIx, which is negative, and which `PMIx_Error_string` names. Without a DVM, or after the end, `poll` finds nothing
   and the answers are FERRITE_ELASTIC_NO_DVM. */

#ifndef FERRITE_ELASTIC_H
#define FERRITE_ELASTIC_H

#include <pmix.h>

#ifdef __cplusplus
extern "C" {
#endif

/* There is no PMIx server: the size of this job never changes. No error of PMIx is positive. */
#define FERRITE_ELASTIC_NO_DVM 1

enum ferrite_elastic_kind {
    FERRITE_ELASTIC_NOTHING = 0,
    /* Slots are kept for more processes. */
    FERRITE_ELASTIC_OFFER,
    /* Processes are to end: because the job is to be smaller, or because their nodes leave. */
    FERRITE_ELASTIC_RETIRE,
};

/* One change that is wanted. It is plain data: a layer may send it to other processes as bytes, except `procs`. */
struct ferrite_elastic_change {
    enum ferrite_elastic_kind kind;
    /* The processes that are offered, or that are to end. */
    int count;
    /* The seconds that are left for it. When they are over, an offer ends, and processes that are to end are killed. */
    int seconds;
    /* 1 when the calling process is to end, otherwise 0. */
    int ends_me;
    /* The name of the request; two offers never have the same one. */
    char request[64];
    /* The nodes of these slots or processes, as in `n1,n2`; a list that does not fit is cut off. A request about
       several worlds is told once for each: then these are the nodes of the last one. */
    char nodes[4096];
    /* Those who are to end, otherwise NULL. `ferrite_elastic_release` frees it. */
    pmix_proc_t *procs;
};

/* Begins: from now on events are heard. Every process calls it, after MPI_Init, because each may have to answer one
   day. A second call changes nothing. */
int ferrite_elastic_init(void);

/* The name of the calling process, to compare with `procs`. */
const pmix_proc_t *ferrite_elastic_me(void);

/* Looks whether a change is wanted, and waits for one: not at all with 0, for ever with a negative number, otherwise so
   many milliseconds. It is the same change in each call, until it is refused or settled, or is over, or more processes
   are to end. A retirement comes before an offer. One process decides for the job, and tells the others: a change that
   is refused at once is not seen by all. */
int ferrite_elastic_poll(struct ferrite_elastic_change *change, int milliseconds);

/* Frees what a change holds. */
void ferrite_elastic_release(struct ferrite_elastic_change *change);

/* Says that a change has been made: its offer is taken, or its processes go. Each process says so that stays; otherwise
   it would find the change again, if it is asked one day. */
void ferrite_elastic_settle(const struct ferrite_elastic_change *change);

/* Refuses a change for the whole job. Who has asked for it hears that, and the job stays as it is.
   PMIX_ERR_INVALID_OPERATION: it is forced and cannot be refused. */
int ferrite_elastic_refuse(const struct ferrite_elastic_change *change);

/* Asks for more time: those who are to end have `seconds` from now on. PMIX_ERR_INVALID_OPERATION: there is no more. */
int ferrite_elastic_defer(unsigned seconds);

/* Where newcomers belong. The DVM puts what the job spawns into the slots of its offer by itself: neither `PMIx_Spawn`
   nor `MPI_Comm_spawn` needs a word. A layer that names nodes all the same gives this to `PMIx_Spawn` (in the app's
   info), or `change->nodes` to `MPI_Comm_spawn` as the key `host`. */
int ferrite_elastic_where(const struct ferrite_elastic_change *change, pmix_info_t *info);

/* Waits until all these processes have called it. Call it in all processes of a shrink, when their calls of MPI with
   those who leave are over, and before any of them leaves. A barrier of MPI is not enough: Open MPI 5 fails it in a
   process that is still in it when another has gone. */
int ferrite_elastic_meet(const pmix_proc_t *procs, size_t count);

/* Ends the calling process in order, with code 0. It does not return. MPI_Finalize would wait for those of
   MPI_COMM_WORLD who stay. After a change all processes end so, also those who stay until the job is over. */
void ferrite_elastic_leave(void);

/* Ends the connection in a process whose job has not changed, before MPI_Finalize. No event is heard any more, and a
   `poll` that waits returns. */
int ferrite_elastic_finalize(void);

#ifdef __cplusplus
}
#endif

#endif
