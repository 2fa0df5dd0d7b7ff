// SPDX-License-Identifier: BSD-3-Clause
/*
 * What a message costs the processors of two ranks, by size, after the method of Culler et al., Assessing Fast Network
 * Interfaces (1996): the time that MPI_Send keeps the sender, and the time that MPI_Recv takes of a message that has
 * come already. A size whose send lasts until the receiver asks, which it does late, is not eager: `0` in its row.
 *
 *   message_cost LARGEST RATE        the largest message in bytes; what the network has at least, in bytes/s
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { samples = 13 };

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Whatever else the machine does makes a value larger. */
static double lower_quartile(double *values)
{
    qsort(values, samples, sizeof *values, by_value);
    return values[samples / 4];
}

/* Awake, so that the receive begins at once. */
static void wait_s(double seconds)
{
#ifdef SMPI_H
    usleep((useconds_t)(1e6 * seconds));
#else
    const double begin = MPI_Wtime();
    while (MPI_Wtime() - begin < seconds) continue;
#endif
}

int main(int argc, char **argv)
{
    int me;
    double sends[samples], receives[samples];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
    const long largest = atol(argv[1]);
    const double rate = atof(argv[2]);
    char *buffer = calloc((size_t)largest + 1, 1);
    if (buffer == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
    if (me == 0) printf("# size_B send_us receive_us eager\n");
    for (long size = 0; size <= largest; size = size == 0 ? 1 : 2 * size) {
        const double late = 0.002 + 2 * (double)size / rate;
        for (int i = -2; i < samples; i++) { /* the first two are not counted */
            MPI_Barrier(MPI_COMM_WORLD);
            double begin = MPI_Wtime();
            if (me == 0) {
                MPI_Send(buffer, (int)size, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
                if (i >= 0) sends[i] = MPI_Wtime() - begin;
            } else {
                wait_s(late);
                begin = MPI_Wtime();
                MPI_Recv(buffer, (int)size, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                if (i >= 0) receives[i] = MPI_Wtime() - begin;
            }
        }
        double received = me == 0 ? 0 : lower_quartile(receives);
        if (me == 1) MPI_Send(&received, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
        if (me == 0) {
            MPI_Recv(&received, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            const double sent = lower_quartile(sends);
            printf("%ld %.3f %.3f %d\n", size, 1e6 * sent, 1e6 * received, sent < late / 2);
        }
    }
    if (me == 0) printf("# complete\n");
    free(buffer);
    MPI_Finalize();
    return 0;
}
