/* Two jobs that meet by a name. `meet server`: publishes its port under it and accepts; `meet client`: looks it up and
   connects. The server's processes send the clients' their ranks. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void await(char *port)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    while (MPI_Lookup_name("ferrite-meet", MPI_INFO_NULL, port) != MPI_SUCCESS)
        usleep(20000);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int rank, size, count, sum = 0, all = 0;
    int serves = argc > 1 && !strcmp(argv[1], "server");
    MPI_Comm others;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (serves) {
        if (rank == 0) {
            MPI_Open_port(MPI_INFO_NULL, port);
            MPI_Publish_name("ferrite-meet", MPI_INFO_NULL, port);
        }
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others);
    } else {
        if (rank == 0)
            await(port);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others);
    }
    /* MPICH 5.0 over libfabric may lose a message that comes before the other side has returned from its call: all four
       processes are connected then, and the message is never received. */
    usleep(200000);
    MPI_Comm_remote_size(others, &count);
    for (int i = 0; i < count && serves; i++)
        MPI_Send(&rank, 1, MPI_INT, i, 1, others);
    for (int i = 0, from; i < count && !serves; i++) {
        MPI_Recv(&from, 1, MPI_INT, i, 1, others, MPI_STATUS_IGNORE);
        sum += from;
    }
    MPI_Comm_disconnect(&others);
    MPI_Reduce(&sum, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && serves) {
        MPI_Unpublish_name("ferrite-meet", MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
    if (rank == 0)
        printf("%s of %d met %d, sum %d\n", serves ? "server" : "client", size, count, all);
    MPI_Finalize();
    return 0;
}
