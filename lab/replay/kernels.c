// SPDX-License-Identifier: BSD-3-Clause
/*
 * Three kernels, each a number of steps of computation, the same on every rank, and an exchange:
 *
 *   halo       a ring: to both neighbours 2000 bytes and 96 KiB, and then a sum of one number over all ranks
 *   keys       an Alltoall of counts and an Alltoallv of as many keys, as a bucket sort has them
 *   transpose  an Alltoall of the blocks of a matrix, 512 KiB of it on each rank
 *   nothing    no exchange, and no computation
 *
 *   kernels KERNEL STEPS
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_ranks = 64, halo = 96 * 1024, keys = 1 << 16, matrix = 1 << 19 };
static char out[4][halo], in[4][halo], from[2 * keys * sizeof(int)], into[2 * keys * sizeof(int)];
static volatile double kept;

/* Some milliseconds. */
static void compute(void)
{
    double x = kept + 0.5; /* of 1 a compiler would know the end */
    for (int i = 0; i < 1000000; i++) x = x * 0.999999 + 1e-6;
    kept = x;
}

static void exchange_halo(int me, int ranks)
{
    const int sizes[2] = {2000, halo}, partners[2] = {(me + 1) % ranks, (me + ranks - 1) % ranks};
    double mine = kept, all;
    MPI_Request requests[8];
    for (int i = 0; i < 4; i++) { /* what goes to the one side comes from the other */
        MPI_Irecv(in[i], sizes[i / 2], MPI_CHAR, partners[1 - i % 2], i, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(out[i], sizes[i / 2], MPI_CHAR, partners[i % 2], i, MPI_COMM_WORLD, &requests[4 + i]);
    }
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void exchange_keys(int me, int ranks, int step)
{
    int counts[most_ranks] = {0}, from_at[most_ranks], to_at[most_ranks], come[most_ranks];
    for (int i = 0, at = 0; i < ranks; i++) { /* unequal, and another way in each step */
        counts[i] = keys / ranks * (2 + (me + i + step) % 3) / 4;
        from_at[i] = at;
        at += counts[i];
    }
    MPI_Alltoall(counts, 1, MPI_INT, come, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0, at = 0; i < ranks; at += come[i++]) to_at[i] = at;
    MPI_Alltoallv(from, counts, from_at, MPI_INT, into, come, to_at, MPI_INT, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int me, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3 || ranks > most_ranks) MPI_Abort(MPI_COMM_WORLD, 2);
    const char *kernel = argv[1];
    const int steps = strcmp(kernel, "nothing") == 0 ? 0 : atoi(argv[2]);
    for (int step = 0; step < steps; step++) {
        compute();
        if (strcmp(kernel, "halo") == 0) {
            exchange_halo(me, ranks);
        } else if (strcmp(kernel, "keys") == 0) {
            exchange_keys(me, ranks, step);
        } else if (strcmp(kernel, "transpose") == 0) {
            MPI_Alltoall(from, matrix / ranks, MPI_CHAR, into, matrix / ranks, MPI_CHAR, MPI_COMM_WORLD);
        } else {
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
    MPI_Finalize();
    return 0;
}
