// SPDX-License-Identifier: BSD-3-Clause
/*
 * A halo exchange on a grid of two by two, or a loop of allreduces, with computation between them: on a machine of so
 * much processor time, which is kept, because a busy one does not end it to the point; in a simulation of as many flops
 * as that was. Rank 0 says when it is at its end.
 *
 *   replayed halo|allreduce STEPS SECONDS KEPT
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most = 1 << 17 };
static char out[4][most], in[4][most];
static double numbers[most / 8], sums[most / 8];

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void compute(double seconds, FILE *kept)
{
#ifdef SMPI_H
    (void)cpu_s;
    if (fscanf(kept, "%lf", &seconds) != 1) MPI_Abort(MPI_COMM_WORLD, 3);
    smpi_execute_flops(seconds * 1e9);
#else
    const double begin = cpu_s();
    double now = begin;
    while (now - begin < seconds) now = cpu_s();
    fprintf(kept, "%.9f\n", now - begin);
#endif
}

int main(int argc, char **argv)
{
    int me, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 5) MPI_Abort(MPI_COMM_WORLD, 2);
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", argv[4], me);
#ifdef SMPI_H
    FILE *kept = fopen(name, "r");
#else
    FILE *kept = fopen(name, "w");
#endif
    if (kept == NULL) MPI_Abort(MPI_COMM_WORLD, 4);
    /* The later ranks have more to do, so that the first wait. */
    const double seconds = atof(argv[3]) * (1 + 0.2 * me);
    for (int step = 0; step < atoi(argv[2]); step++) {
        compute(seconds, kept);
        if (strcmp(argv[1], "halo") == 0) {
            const int sizes[2] = {1000, most}; /* below and above where protocols change */
            MPI_Request all[8];
            for (int i = 0; i < 4; i++) {
                const int partner = me ^ (1 + i % 2);
                MPI_Irecv(in[i], sizes[i / 2], MPI_CHAR, partner, i, MPI_COMM_WORLD, &all[i]);
                MPI_Isend(out[i], sizes[i / 2], MPI_CHAR, partner, i, MPI_COMM_WORLD, &all[4 + i]);
            }
            MPI_Waitall(8, all, MPI_STATUSES_IGNORE);
        } else {
            MPI_Allreduce(numbers, sums, step % 2 ? 1 : most / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) printf("%.9f\n# complete: 1 row\n", MPI_Wtime());
    fclose(kept);
    MPI_Finalize();
    return 0;
}
