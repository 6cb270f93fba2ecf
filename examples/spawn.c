/* A program that starts two more processes while it runs, and talks to them.
 *
 *     mpicc -o spawn spawn.c
 *     prterun --host localhost:3 -n 1 ./spawn
 *
 * The parent asks each child a question and prints the answer.
 */
#include <mpi.h>
#include <stdio.h>

static void be_a_child(MPI_Comm parents)
{
    int rank, question;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Recv(&question, 1, MPI_INT, 0, 0, parents, MPI_STATUS_IGNORE);
    int answer = question * question;
    MPI_Send(&answer, 1, MPI_INT, 0, 0, parents);
    printf("child %d: I was asked for the square of %d\n", rank, question);
    MPI_Comm_disconnect(&parents);
}

static void be_the_parent(const char *program)
{
    MPI_Comm children;

    MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
    for (int child = 0; child < 2; child++) {
        int question = child + 7, answer;
        MPI_Send(&question, 1, MPI_INT, child, 0, children);
        MPI_Recv(&answer, 1, MPI_INT, child, 0, children, MPI_STATUS_IGNORE);
        printf("parent: the square of %d is %d, says child %d\n", question, answer, child);
    }
    MPI_Comm_disconnect(&children);
}

int main(int argc, char **argv)
{
    MPI_Comm parents;

    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parents);
    if (parents == MPI_COMM_NULL)
        be_the_parent(argv[0]);
    else
        be_a_child(parents);
    MPI_Finalize();
    return 0;
}
