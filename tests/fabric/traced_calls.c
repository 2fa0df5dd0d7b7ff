// SPDX-License-Identifier: BSD-3-Clause
/*
 * Four ranks make every call that a trace has, and say in told.RANK the actions that are due, in their order.
 * An argument names a call that ends a trace, which is made instead.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ranks = 4, room = 4096 };
static FILE *out;
static int me;
static char from[room], into[room];
static double numbers[room / 8], sums[room / 8];

static void due(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(out, "%d ", me);
    vfprintf(out, format, arguments);
    fprintf(out, "\n");
    va_end(arguments);
}

static void messages(MPI_Comm world)
{
    const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    MPI_Request two[2], three[3];
    MPI_Status statuses[3];
    int index, flag = 0, done, indices[3];
    if (me % 2 == 0) {
        MPI_Send(from, 100, MPI_CHAR, right, 5, world), due("send %d 5 100", right);
        MPI_Rsend(from, 10, MPI_INT, right, 5, world), due("send %d 5 40", right);
        MPI_Send(from, 1, MPI_CHAR, MPI_PROC_NULL, 5, world);
    } else {
        MPI_Recv(into, 200, MPI_CHAR, left, MPI_ANY_TAG, world, MPI_STATUS_IGNORE), due("recv %d 5 200", left);
        MPI_Recv(into, 20, MPI_INT, MPI_ANY_SOURCE, 5, world, &statuses[0]), due("recv %d 5 80", left);
        MPI_Recv(into, 20, MPI_INT, MPI_PROC_NULL, 5, world, MPI_STATUS_IGNORE);
    }
    MPI_Sendrecv(from, 8, MPI_CHAR, right, 3, into, 16, MPI_CHAR, left, 3, world, MPI_STATUS_IGNORE);
    due("isend %d 3 8", right), due("irecv %d 3 16", left);
    due("wait %d %d 3", me, right), due("wait %d %d 3", left, me);
    MPI_Sendrecv_replace(into, 8, MPI_CHAR, left, 3, MPI_PROC_NULL, 3, world, MPI_STATUS_IGNORE);
    due("isend %d 3 8", left), due("wait %d %d 3", me, left);
    MPI_Recv(into, 8, MPI_CHAR, right, 3, world, MPI_STATUS_IGNORE), due("recv %d 3 8", right);

    MPI_Irecv(into, 64, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &two[0]), due("irecv %d 9 64", left);
    MPI_Isend(from, 64, MPI_CHAR, right, 9, world, &two[1]), due("isend %d 9 64", right);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE), due("waitall");
    MPI_Irecv(into, 64, MPI_CHAR, left, 8, world, &two[0]), due("irecv %d 8 64", left);
    MPI_Isend(from, 64, MPI_CHAR, right, 8, world, &two[1]), due("isend %d 8 64", right);
    MPI_Wait(&two[1], MPI_STATUS_IGNORE), due("wait %d %d 8", me, right);
    while (!flag) MPI_Test(&two[0], &flag, MPI_STATUS_IGNORE);
    due("wait %d %d 8", left, me);

    /* One after the other, so that what is found done is known. */
    MPI_Irecv(into, 64, MPI_CHAR, left, 8, world, &two[0]), due("irecv %d 8 64", left);
    two[1] = MPI_REQUEST_NULL;
    MPI_Irsend(from, 32, MPI_CHAR, right, 8, world, &three[0]), due("isend %d 8 32", right);
    MPI_Wait(&three[0], &statuses[0]), due("wait %d %d 8", me, right);
    MPI_Waitany(2, two, &index, MPI_STATUS_IGNORE), due("wait %d %d 8", left, me);
    MPI_Waitany(2, two, &index, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; i++) {
        MPI_Irecv(into, 64, MPI_CHAR, left, 8, world, &three[0]), due("irecv %d 8 64", left);
        MPI_Send(from, 32, MPI_CHAR, right, 8, world), due("send %d 8 32", right);
        flag = 0;
        if (i == 0) MPI_Waitsome(1, three, &done, indices, MPI_STATUSES_IGNORE);
        while (i == 1 && !flag) MPI_Testany(1, three, &index, &flag, MPI_STATUS_IGNORE);
        for (done = 0; i == 2 && done == 0;) MPI_Testsome(1, three, &done, indices, statuses);
        due("wait %d %d 8", left, me);
    }
    MPI_Irecv(into, 64, MPI_CHAR, left, 8, world, &two[0]), due("irecv %d 8 64", left);
    MPI_Isend(from, 64, MPI_CHAR, right, 8, world, &two[1]), due("isend %d 8 64", right);
    for (flag = 0; !flag;) MPI_Testall(2, two, &flag, MPI_STATUSES_IGNORE);
    due("waitall");

    MPI_Send_init(from, 48, MPI_CHAR, right, 7, world, &two[0]);
    MPI_Recv_init(into, 48, MPI_CHAR, MPI_ANY_SOURCE, 7, world, &two[1]);
    MPI_Rsend_init(from, 48, MPI_CHAR, right, 6, world, &three[0]);
    MPI_Request_free(&three[0]);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&two[1]), due("irecv %d 7 48", left);
        MPI_Start(&two[0]), due("isend %d 7 48", right);
        MPI_Waitall(2, two, statuses), due("waitall");
    }
    MPI_Startall(2, two), due("isend %d 7 48", right), due("irecv %d 7 48", left);
    MPI_Waitall(2, two, statuses), due("waitall");
    MPI_Request_free(&two[0]), MPI_Request_free(&two[1]);
}

static void collectives(MPI_Comm world)
{
    const int counts[ranks] = {1, 2, 3, 4}, displs[ranks] = {0, 10, 20, 30};
    MPI_Barrier(world), due("barrier");
    MPI_Bcast(numbers, 3, MPI_DOUBLE, 2, world), due("bcast 3 2 0");
    MPI_Reduce(numbers, sums, 5, MPI_FLOAT, MPI_SUM, 1, world), due("reduce 5 0 1 1");
    MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_DOUBLE, MPI_SUM, world), due("allreduce 4 0 0");
    MPI_Scan(numbers, sums, 4, MPI_SHORT, MPI_SUM, world), due("scan 4 0 3");
    MPI_Exscan(numbers, sums, 4, MPI_CHAR, MPI_SUM, world), due("exscan 4 0 6");
    MPI_Gather(from, 3, MPI_INT, into, 12, MPI_CHAR, 1, world);
    due(me == 1 ? "gather 3 12 1 1 6" : "gather 3 3 1 1 1");
    MPI_Scatter(from, 2, MPI_INT, me == 3 ? MPI_IN_PLACE : into, 8, MPI_CHAR, 3, world);
    due(me == 3 ? "scatter 2 2 3 1 1" : "scatter 8 8 3 6 6");
    MPI_Allgather(from, 3, MPI_INT, into, 12, MPI_CHAR, world), due("allgather 3 12 1 6");
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, into, 3, MPI_INT, world), due("alltoall 3 3 1 1");
    MPI_Gatherv(from, counts[me], MPI_INT, into, counts, displs, MPI_INT, 0, world);
    if (me == 0) due("gatherv 1 1 2 3 4 0 1 1");
    else due("gatherv %d 0 0 0 0 0 1 1", counts[me]);
    MPI_Scatterv(from, counts, displs, MPI_INT, into, counts[me], MPI_INT, 0, world);
    if (me == 0) due("scatterv 1 2 3 4 1 0 1 1");
    else due("scatterv 0 0 0 0 %d 0 1 1", counts[me]);
    MPI_Allgatherv(from, counts[me], MPI_INT, into, counts, displs, MPI_INT, world);
    due("allgatherv %d 1 2 3 4 1 1", counts[me]);
    const int same[ranks] = {2, 2, 2, 2};
    MPI_Alltoallv(from, same, displs, MPI_DOUBLE, into, same, displs, MPI_DOUBLE, world);
    due("alltoallv 8 2 2 2 2 8 2 2 2 2 0 0");
    MPI_Reduce_scatter(numbers, sums, counts, MPI_INT, MPI_SUM, world), due("reducescatter 1 2 3 4 0 1");
    MPI_Reduce_scatter_block(numbers, sums, 2, MPI_INT, MPI_SUM, world), due("reducescatter 2 2 2 2 0 1");
    /* A type without a number of its size counts by bytes. */
    MPI_Datatype three;
    MPI_Type_contiguous(3, MPI_CHAR, &three), MPI_Type_commit(&three);
    MPI_Bcast(from, 7, three, 0, world), due("bcast 21 0 6");
    MPI_Type_free(&three);
}

/* Messages of one tag by several communicators at once are told apart; what the tags are is the library's own. */
static void communicators(void)
{
    MPI_Comm twin, half, none;
    MPI_Request two[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &half);
    MPI_Comm_split(MPI_COMM_WORLD, me == 0 ? 0 : MPI_UNDEFINED, 0, &none);
    const int partner = me ^ 2;
    int there;
    MPI_Comm_rank(half, &there);
    there = 1 - there;
    MPI_Irecv(into, 8, MPI_CHAR, there, 1, half, &two[0]), due("irecv %d half 8", partner);
    MPI_Irecv(into + 16, 16, MPI_CHAR, partner, 1, twin, &two[1]), due("irecv %d twin 16", partner);
    MPI_Send(from, 16, MPI_CHAR, partner, 1, twin), due("send %d twin 16", partner);
    MPI_Send(from, 8, MPI_CHAR, there, 1, half), due("send %d half 8", partner);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE), due("waitall");
    MPI_Allreduce(numbers, sums, 1, MPI_DOUBLE, MPI_SUM, twin), due("allreduce 1 0 0");
    MPI_Allreduce(numbers, sums, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    MPI_Comm_free(&twin), MPI_Comm_free(&half);
    if (none != MPI_COMM_NULL) MPI_Comm_free(&none);
}

static void *barrier(void *nothing)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return nothing;
}

/* What ends a trace. */
static void stop(const char *what)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm half;
    if (strcmp(what, "Iallreduce") == 0) {
        MPI_Iallreduce(numbers, sums, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (strcmp(what, "half") == 0) {
        MPI_Comm_split(MPI_COMM_WORLD, me % 2, 0, &half);
        MPI_Allreduce(numbers, sums, 1, MPI_DOUBLE, MPI_SUM, half);
        MPI_Comm_free(&half);
    } else if (strcmp(what, "Ssend") == 0) {
        if (me == 0) MPI_Ssend(from, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        if (me == 1) MPI_Recv(into, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(what, "thread") == 0) {
        pthread_t other;
        pthread_create(&other, NULL, barrier, NULL);
        pthread_join(other, NULL);
    } else if (strcmp(what, "Cancel") == 0) {
        MPI_Irecv(into, 1, MPI_CHAR, me, 1, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (strcmp(what, "many") == 0) {
        for (int i = 0; i < 100; i++) MPI_Barrier(MPI_COMM_WORLD);
    } else if (strcmp(what, "unfinished") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        _Exit(0);
    }
}

int main(int argc, char **argv)
{
    char name[32];
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    snprintf(name, sizeof name, "told.%d", me);
    out = fopen(name, "w");
    due("init");
    if (argc > 1) {
        stop(argv[1]);
    } else {
        messages(MPI_COMM_WORLD);
        collectives(MPI_COMM_WORLD);
        communicators();
        MPI_Pcontrol(0);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Pcontrol(1);
    }
    due("finalize");
    fclose(out);
    MPI_Finalize();
    return 0;
}
