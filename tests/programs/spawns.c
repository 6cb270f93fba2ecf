/* Spawns of two applications, with arguments and directories: `spawns ROUNDS` starts one and two children in each
   round, meets them, and lets them go; `spawns 1 PROGRAM` starts PROGRAM instead and tells that it was refused. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int child(MPI_Comm parents, int argc, char **argv)
{
    char dir[4096] = "";
    int rank, good;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!getcwd(dir, sizeof dir))
        dir[0] = 0;
    if (rank == 0)
        good = argc == 4 && !strcmp(argv[2], "a b") && !strcmp(argv[3], "c=d ") && !strcmp(dir, "/dev");
    else
        good = argc == 2 && !strcmp(argv[1], "child") && strcmp(dir, "/dev");
    MPI_Gather(&good, 1, MPI_INT, NULL, 0, MPI_INT, 0, parents);
    MPI_Comm_disconnect(&parents);
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Comm children;
    MPI_Info infos[2];
    char *first[] = {"child", "a b", "c=d ", NULL}, *second[] = {"child", NULL}, **words[] = {first, second};
    int rank, met = 0, counts[] = {1, 2};

    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&children);
    if (children != MPI_COMM_NULL) {
        child(children, argc, argv);
        MPI_Finalize();
        return 0;
    }
    char *program = argc > 2 ? argv[2] : argv[0], *programs[] = {program, program};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Info_create(&infos[0]);
    MPI_Info_set(infos[0], "wdir", "/dev");
    infos[1] = MPI_INFO_NULL;
    for (int round = 0; round < atoi(argv[1]); round++) {
        int errors[3] = {-1, -1, -1}, good[3] = {0, 0, 0};
        if (MPI_Comm_spawn_multiple(2, programs, words, counts, infos, 0, MPI_COMM_WORLD, &children, errors) !=
            MPI_SUCCESS) {
            printf("parent %d was refused\n", rank);
            break;
        }
        MPI_Gather(NULL, 0, MPI_INT, good, 1, MPI_INT, rank ? MPI_PROC_NULL : MPI_ROOT, children);
        for (int i = 0; i < 3; i++)
            met += (rank || good[i]) && errors[i] == MPI_SUCCESS;
        MPI_Comm_disconnect(&children);
    }
    printf("parent %d met %d\n", rank, met);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
