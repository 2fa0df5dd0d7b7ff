// SPDX-License-Identifier: BSD-3-Clause
/*
 * Whether messages of a node leave one after another or share its link, by size: how long a message takes alone, before
 * another one to the same node, and before one of the same size to a third node. If it is twice as long, they share.
 *
 *   turns LARGEST        the largest message in bytes; three ranks, each on a node of its own
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { smallest = 8192, samples = 13, message_tag = 1, other_tag = 2, answer_tag = 3 };

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* From the send to the answer to it, in us; meaningful on rank 0. A second message goes to `other`, if that is above 0. */
static double sample_us(int me, char *buffer, int size, int other)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD); /* of the first one the ranks may still send */
    const double begin = MPI_Wtime();
    double took = 0;
    if (me == 0) {
        MPI_Isend(buffer, size, MPI_CHAR, 1, message_tag, MPI_COMM_WORLD, &requests[0]);
        if (other > 0) MPI_Isend(buffer, size, MPI_CHAR, other, other_tag, MPI_COMM_WORLD, &requests[1]);
        MPI_Recv(NULL, 0, MPI_CHAR, 1, answer_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        took = MPI_Wtime() - begin;
    } else {
        if (me == 1) MPI_Irecv(buffer, size, MPI_CHAR, 0, message_tag, MPI_COMM_WORLD, &requests[0]);
        if (me == other) MPI_Irecv(buffer + size, size, MPI_CHAR, 0, other_tag, MPI_COMM_WORLD, &requests[1]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        if (me == 1) MPI_Send(NULL, 0, MPI_CHAR, 0, answer_tag, MPI_COMM_WORLD);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    return 1e6 * took;
}

int main(int argc, char **argv)
{
    int me, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 2 || ranks != 3) MPI_Abort(MPI_COMM_WORLD, 2);
    const int largest = atoi(argv[1]);
    char *buffer = calloc(2 * (size_t)largest, 1);
    if (buffer == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
    if (me == 0) printf("# size_B alone_us same_us another_us\n");
    for (int size = smallest; size <= largest; size *= 2) {
        if (me == 0) printf("%d", size);
        for (int other = 0; other < 3; other++) { /* nobody, the same, another */
            double took[samples];
            for (int i = -1; i < samples; i++) { /* the first is not counted */
                const double one = sample_us(me, buffer, size, other);
                if (i >= 0) took[i] = one;
            }
            qsort(took, samples, sizeof *took, by_value); /* what else the machine does makes a value larger */
            if (me == 0) printf(" %.3f", took[samples / 4]);
        }
        if (me == 0) printf("\n");
    }
    if (me == 0) printf("# complete\n");
    free(buffer);
    MPI_Finalize();
    return 0;
}
