/* SPDX-License-Identifier: BSD-3-Clause
 * Seconds of some collectives on a twin: on simulated time a single call tells what many do. The slowest rank counts.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void call(const char *name, char *to, const char *from, int bytes)
{
    if (strcmp(name, "alltoall") == 0) {
        MPI_Alltoall(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, MPI_COMM_WORLD);
    } else if (strcmp(name, "bcast") == 0) {
        MPI_Bcast(to, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    } else {
        MPI_Allreduce(from, to, bytes, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"alltoall", "bcast", "allreduce"};
    static const int sizes[] = {8, 1024, 16384};
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char *const to = calloc((size_t)ranks, 16384), *const from = calloc((size_t)ranks, 16384);
    if (to == NULL || from == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            double mine, slowest;
            MPI_Barrier(MPI_COMM_WORLD);
            mine = -MPI_Wtime();
            call(names[i], to, from, sizes[j]);
            mine += MPI_Wtime();
            MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
            if (rank == 0) {
                printf("%s %d %.4f\n", names[i], sizes[j], 1e6 * slowest);
            }
        }
    }
    if (rank == 0) {
        printf("# complete: 9 rows\n");
    }
    free(to);
    free(from);
    MPI_Finalize();
    return 0;
}
