/* Rank 1 (rank 0 if alone) aborts with code 5 while the others wait for ever: all must be ended. */
#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == (size > 1))
        MPI_Abort(MPI_COMM_WORLD, 5);
    for (;;)
        pause();
}
