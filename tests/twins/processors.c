// SPDX-License-Identifier: BSD-3-Clause
/*
 * What is left to wait of a long message after the work of its sender, on a twin: two nodes of two ranks each. Rank 0
 * sends to rank 2, works longer than that takes, and waits. Prints what the message takes, and the wait, in us.
 *
 *   processors alone           rank 1, beside the sender, works as well
 *   processors begun           the sender is in a call for half of the message before it works; rank 1 works
 *   processors accompanied     rank 1 waits in a call
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { size = 131072 };

static char buffer[size];

static void work(double seconds)
{
    const double begin = MPI_Wtime();
    while (MPI_Wtime() - begin < seconds) {
    }
}

/* Ranks 1 and 3 keep each other in a call for so long. */
static void within_a_call(int rank, double seconds)
{
    if (rank == 3) {
        work(seconds);
        MPI_Send(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    } else {
        MPI_Recv(NULL, 0, MPI_BYTE, 3, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Rank 3 ends a call of rank 0 after so long. */
static double send(int rank, const char *how, double whole)
{
    double left = 0.0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Request request;
        MPI_Isend(buffer, size, MPI_BYTE, 2, 0, MPI_COMM_WORLD, &request);
        if (strcmp(how, "begun") == 0) {
            MPI_Recv(NULL, 0, MPI_BYTE, 3, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        work(whole > 0.0 ? 2.0 * whole : 0.0);
        const double begin = MPI_Wtime();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        left = MPI_Wtime() - begin;
    } else if (rank == 2) {
        MPI_Recv(buffer, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(how, "accompanied") == 0) {
        within_a_call(rank, 3.0 * whole);
    } else if (rank == 1) {
        work(3.0 * whole);
    } else if (strcmp(how, "begun") == 0) {
        work(0.5 * whole);
        MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return left;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double whole = send(rank, "nominal", 0.0);
    MPI_Bcast(&whole, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    const double left = send(rank, argv[argc - 1], whole);
    if (rank == 0) {
        printf("%.3f %.3f\n# complete: 1 row\n", 1e6 * whole, 1e6 * left);
    }
    MPI_Finalize();
    return 0;
}
