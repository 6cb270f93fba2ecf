/* A program that survives the failure of a rank by ULFM: rank 1 fails, the others shrink the communicator and tell how
   many they are. `ulfm HOW`: `signal` (KILL), `exit` (code 3), `sync` (exit 0 without finalize). */
#include <mpi.h>
#include <mpi-ext.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size = -1, length;
    char text[MPI_MAX_ERROR_STRING];
    const char *how = argc > 1 ? argv[1] : "signal";
    MPI_Comm survivors;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        if (!strcmp(how, "signal"))
            raise(SIGKILL);
        _exit(!strcmp(how, "exit") ? 3 : 0);
    }
    MPI_Error_string(MPI_Barrier(MPI_COMM_WORLD), text, &length);
    if (MPIX_Comm_shrink(MPI_COMM_WORLD, &survivors) == MPI_SUCCESS)
        MPI_Comm_size(survivors, &size);
    printf("rank %d: %.*s, %d are left\n", rank, (int)strcspn(text, ":"), text, size);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
