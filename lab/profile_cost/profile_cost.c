// SPDX-License-Identifier: BSD-3-Clause
/*
 * What a call costs: the median of batches, in ns, of calls that do little themselves,
 * on one rank; and of messages of 8 bytes from one rank to another, many in flight.
 * Prints rows `NAME NS`.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { batches = 51, calls = 5000, windows = 50, window = 64 };

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#define MEASURE(name, n, each, what)                                                                                    \
    for (int i = 0; i < batches; i++) {                                                                                \
        MPI_Barrier(comm);                                                                                             \
        const double began = MPI_Wtime();                                                                              \
        for (int k = 0; k < (n); k++) {                                                                              \
            what;                                                                                                      \
        }                                                                                                              \
        ns[i] = (MPI_Wtime() - began) * 1e9 / (n) / (each);                                                            \
    }                                                                                                                  \
    qsort(ns, batches, sizeof *ns, ascending);                                                                         \
    if (rank == 0) printf("%s %.2f\n", name, ns[batches / 2]);

int main(int argc, char **argv)
{
    static double ns[batches];
    static char buffer[window][8];
    MPI_Request requests[window];
    int flag, rank, size;
    MPI_Comm comm = MPI_COMM_SELF;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MEASURE("Iprobe", calls, 1, MPI_Iprobe(0, 1, comm, &flag, MPI_STATUS_IGNORE))
    MEASURE("Send to nobody", calls, 1, MPI_Send(buffer, 8, MPI_CHAR, MPI_PROC_NULL, 0, comm))
    MEASURE("Allreduce of one rank", calls, 1, MPI_Allreduce(buffer[0], buffer[1], 1, MPI_INT, MPI_SUM, comm))
    if (size > 1) {
        comm = MPI_COMM_WORLD;
        /* rank 0 sends windows to rank 1, which answers each with nothing: time a message */
        MEASURE("message of 8 B", windows, window, {
            if (rank < 2) {
                for (int w = 0; w < window; w++) {
                    if (rank == 0) MPI_Isend(buffer[w], 8, MPI_CHAR, 1, 0, comm, &requests[w]);
                    else MPI_Irecv(buffer[w], 8, MPI_CHAR, 0, 0, comm, &requests[w]);
                }
                MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
                if (rank == 0) MPI_Recv(buffer, 0, MPI_CHAR, 1, 1, comm, MPI_STATUS_IGNORE);
                else MPI_Send(buffer, 0, MPI_CHAR, 0, 1, comm);
            }
        })
    }
    MPI_Finalize();
    return 0;
}
