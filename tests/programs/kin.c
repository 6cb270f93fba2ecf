/* Parents and children by MPI that do not all end well. `kin fail`: one of two children ends with code 7 while
   everybody is connected, and the parents wait for it; `kin part`: it does so when all have disconnected, and the
   parents tell that they go on. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Comm other;
    int rank, parts = argc > 1 && !strcmp(argv[1], "part"), number = 0;
    char *words[] = {argc > 1 ? argv[1] : "fail", NULL};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&other);
    if (other != MPI_COMM_NULL) {
        if (parts)
            MPI_Comm_disconnect(&other);
        if (rank == 1)
            _exit(7);
        for (;;)
            pause();
    }
    MPI_Comm_spawn(argv[0], words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
    if (parts) {
        MPI_Comm_disconnect(&other);
        sleep(2); /* The end of a child would have ended this one by now. */
        printf("parent %d goes on\n", rank);
        fflush(stdout);
    } else {
        MPI_Recv(&number, 1, MPI_INT, 0, 1, other, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
