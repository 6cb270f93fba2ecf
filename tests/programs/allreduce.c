/* Sums over all ranks, short and long, and checks every element. Proves that everybody reaches everybody. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LONG = 1 << 16 };

int main(int argc, char **argv)
{
    int rank, size, wrong = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long *mine = malloc(LONG * sizeof *mine), *sum = malloc(LONG * sizeof *sum);
    if (!mine || !sum)
        MPI_Abort(MPI_COMM_WORLD, 3);
    for (int length = 1; length <= LONG; length *= 256) {
        for (int i = 0; i < length; i++)
            mine[i] = (long)(rank + 1) * (i + 1);
        MPI_Allreduce(mine, sum, length, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < length; i++)
            wrong += sum[i] != (long)size * (size + 1) / 2 * (i + 1);
    }
    if (rank == 0)
        printf("allreduce over %d: %d wrong\n", size, wrong);
    free(mine);
    free(sum);
    MPI_Finalize();
    return wrong != 0;
}
