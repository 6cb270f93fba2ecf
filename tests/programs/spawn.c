/* Processes that start others and talk to them: all of MPI_COMM_WORLD together spawn children, each parent sends each
   child a number and gets it back doubled. `spawn N [HOW]`: N children; with `errors` a refusal is told and no failure,
   and with another HOW they bring that host along and run there. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void child(MPI_Comm parents)
{
    int rank, size, count, number;
    char host[MPI_MAX_PROCESSOR_NAME];

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_remote_size(parents, &count);
    MPI_Get_processor_name(host, &(int){0});
    for (int parent = 0; parent < count; parent++) {
        MPI_Recv(&number, 1, MPI_INT, parent, 1, parents, MPI_STATUS_IGNORE);
        number *= 2;
        MPI_Send(&number, 1, MPI_INT, parent, 2, parents);
    }
    printf("child %d of %d answered %d parents on %s\n", rank, size, count, host);
    fflush(stdout);
    MPI_Comm_disconnect(&parents);
}

static int parent(const char *program, int wanted, int tolerant, char *host)
{
    int rank, size, count, number, wrong = 0;
    MPI_Comm children;
    MPI_Info info = MPI_INFO_NULL;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (tolerant)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (host) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "add-host", host);
        MPI_Info_set(info, "host", host);
    }
    if (MPI_Comm_spawn(program, MPI_ARGV_NULL, wanted, info, 0, MPI_COMM_WORLD, &children,
                       MPI_ERRCODES_IGNORE) != MPI_SUCCESS) {
        printf("parent %d of %d was refused\n", rank, size);
        return 0;
    }
    MPI_Comm_remote_size(children, &count);
    for (int i = 0; i < count; i++) {
        number = 100 * rank + i;
        MPI_Send(&number, 1, MPI_INT, i, 1, children);
    }
    for (int i = 0; i < count; i++) {
        MPI_Recv(&number, 1, MPI_INT, i, 2, children, MPI_STATUS_IGNORE);
        wrong += number != 2 * (100 * rank + i);
    }
    printf("parent %d of %d spoke with %d children: %d wrong\n", rank, size, count, wrong);
    fflush(stdout);
    MPI_Comm_disconnect(&children);
    return wrong;
}

int main(int argc, char **argv)
{
    MPI_Comm parents;
    int wrong = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parents);
    if (parents != MPI_COMM_NULL)
        child(parents);
    else
    {
        int tolerant = argc > 2 && !strcmp(argv[2], "errors");
        wrong = parent(argv[0], argc > 1 ? atoi(argv[1]) : 2, tolerant, argc > 2 && !tolerant ? argv[2] : NULL);
    }
    MPI_Finalize();
    return wrong != 0;
}
