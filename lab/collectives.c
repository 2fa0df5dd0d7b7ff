/* SPDX-License-Identifier: BSD-3-Clause
 * Seconds of some collectives on a twin: on simulated time a single call tells what many do. The slowest rank counts.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most = 65536, most_of_exchange = 1048576 };

/* As IMB's Exchange: to both neighbours of a ring, and from them. */
static void exchange(char *to, const char *from, int bytes)
{
    int rank, ranks;
    MPI_Request requests[4];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int side = 0; side < 2; side++) {
        const int neighbour = (rank + (side == 0 ? 1 : ranks - 1)) % ranks;
        MPI_Isend(from, bytes, MPI_CHAR, neighbour, 0, MPI_COMM_WORLD, &requests[side]);
        MPI_Irecv(to + side * bytes, bytes, MPI_CHAR, neighbour, 0, MPI_COMM_WORLD,
                  &requests[2 + side]);
    }
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void call(const char *name, char *to, const char *from, int bytes)
{
    if (strcmp(name, "exchange") == 0) {
        exchange(to, from, bytes);
    } else if (strcmp(name, "alltoall") == 0) {
        MPI_Alltoall(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, MPI_COMM_WORLD);
    } else if (strcmp(name, "bcast") == 0) {
        MPI_Bcast(to, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    } else {
        MPI_Allreduce(from, to, bytes, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"alltoall", "bcast", "allreduce", "exchange"};
    static const int sizes[] = {8, 1024, 4096, 16384, 32768, most, 262144, most_of_exchange};
    int rank, ranks, rows = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char *const to = calloc((size_t)ranks, most_of_exchange / 4);
    char *const from = calloc((size_t)ranks, most_of_exchange / 4);
    if (to == NULL || from == NULL || ranks < 8) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
            double mine, slowest;
            if (sizes[j] > most && strcmp(names[i], "exchange") != 0) {
                continue;
            }
            MPI_Barrier(MPI_COMM_WORLD);
            mine = -MPI_Wtime();
            call(names[i], to, from, sizes[j]);
            mine += MPI_Wtime();
            MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
            if (rank == 0) {
                printf("%s %d %.4f\n", names[i], sizes[j], 1e6 * slowest);
                rows++;
            }
        }
    }
    if (rank == 0) {
        printf("# complete: %d rows\n", rows);
    }
    free(to);
    free(from);
    MPI_Finalize();
    return 0;
}
