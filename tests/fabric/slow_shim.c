// SPDX-License-Identifier: BSD-3-Clause
/*
 * Makes a named sender, receiver or pair slower than the others by a known
 * factor, whatever machine the test runs on. Linked into a program, it takes the
 * place of MPI_Isend: every message that is not empty first waits for a base
 * time, far longer than its transfer takes, and the slow ones for a multiple.
 *
 *   FC_SHIM_BASE_US   the base time, microseconds; nothing waits without it
 *   FC_SHIM_FACTOR    how many times as long the slow ones wait, default 1
 *   FC_SHIM_SENDER    rank of the slow sender; alone: all its messages are slow
 *   FC_SHIM_RECEIVER  rank of the slow receiver; alone: all messages to it are slow;
 *                     with FC_SHIM_SENDER only those of this pair
 *   FC_SHIM_BOTH      rank whose messages are slow while it has to receive others, too
 *   FC_SHIM_HOSTS     if set, every rank is on a host of its own: rank0, rank1, ...
 *   FC_SHIM_CORRUPT   rank that inverts the last byte of its send buffer before each message
 *
 * It sleeps instead of spinning, and so does every wait of a program in it: with
 * more ranks than cores those that work have the cores, and waiting costs nothing.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* nanosleep under -std=c11 */
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mpi.h>

/* How long a wait sleeps before it looks again: short against any base time. */
#define LOOK_AGAIN_US 100.0

static double setting(const char *name, double without)
{
    const char *const text = getenv(name);
    return text == NULL ? without : strtod(text, NULL);
}

/* Whether this rank has to receive messages that are not empty, until a wait has ended all. */
static int receives;

static int is_slow(int sender, int receiver)
{
    if (receives && (int)setting("FC_SHIM_BOTH", -1.0) == sender) {
        return 1;
    }
    const int slow_sender = (int)setting("FC_SHIM_SENDER", -1.0);
    const int slow_receiver = (int)setting("FC_SHIM_RECEIVER", -1.0);
    if (slow_sender < 0 && slow_receiver < 0) {
        return 0;
    }
    return (slow_sender < 0 || slow_sender == sender) &&
           (slow_receiver < 0 || slow_receiver == receiver);
}

static void wait_us(double us)
{
    struct timespec left = {(time_t)(us / 1e6), 0};
    left.tv_nsec = (long)((us - 1e6 * (double)left.tv_sec) * 1e3);
    while (us > 0.0 && nanosleep(&left, &left) != 0) {
    }
}

int MPI_Get_processor_name(char *name, int *length)
{
    int rank = 0;
    if (getenv("FC_SHIM_HOSTS") == NULL) {
        return PMPI_Get_processor_name(name, length);
    }
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    *length = snprintf(name, MPI_MAX_PROCESSOR_NAME, "rank%d", rank);
    return MPI_SUCCESS;
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int receiver, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    int rank = 0;
    int bytes = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Type_size(type, &bytes);
    if (count * bytes > 0) {
        const double factor = is_slow(rank, receiver) ? setting("FC_SHIM_FACTOR", 1.0) : 1.0;
        wait_us(factor * setting("FC_SHIM_BASE_US", 0.0));
        if (rank == (int)setting("FC_SHIM_CORRUPT", -1.0)) {
            /* The buffer of the program is not const, only the promise to leave it alone. */
            unsigned char *data = NULL;
            memcpy(&data, &buffer, sizeof data);
            data[count * bytes - 1] = (unsigned char)~data[count * bytes - 1];
        }
    }
    return PMPI_Isend(buffer, count, type, receiver, tag, comm, request);
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int sender, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    receives = receives || count > 0;
    return PMPI_Irecv(buffer, count, type, sender, tag, comm, request);
}

static int sleep_until_complete(MPI_Request *request, MPI_Status *status)
{
    int complete = 0;
    int error = PMPI_Test(request, &complete, status);
    while (error == MPI_SUCCESS && !complete) {
        wait_us(LOOK_AGAIN_US);
        error = PMPI_Test(request, &complete, status);
    }
    return error;
}

/* What a blocking call returns whose non-blocking one has been started. */
static int rest(int error, MPI_Request *request)
{
    return error == MPI_SUCCESS ? sleep_until_complete(request, MPI_STATUS_IGNORE) : error;
}

int MPI_Waitsome(int count, MPI_Request requests[], int *complete, int indices[],
                 MPI_Status statuses[])
{
    int error = PMPI_Testsome(count, requests, complete, indices, statuses);
    while (error == MPI_SUCCESS && *complete == 0) {
        wait_us(LOOK_AGAIN_US);
        error = PMPI_Testsome(count, requests, complete, indices, statuses);
    }
    receives = receives && *complete != MPI_UNDEFINED;
    return error;
}

int MPI_Sendrecv(const void *out, int out_count, MPI_Datatype out_type, int receiver, int out_tag,
                 void *in, int in_count, MPI_Datatype in_type, int sender, int in_tag,
                 MPI_Comm comm, MPI_Status *status)
{
    MPI_Request requests[2];
    int error = PMPI_Irecv(in, in_count, in_type, sender, in_tag, comm, &requests[0]);
    if (error == MPI_SUCCESS) {
        error = rest(PMPI_Isend(out, out_count, out_type, receiver, out_tag, comm, &requests[1]),
                     &requests[1]);
    }
    return error == MPI_SUCCESS ? sleep_until_complete(&requests[0], status) : error;
}

int MPI_Barrier(MPI_Comm comm)
{
    MPI_Request request;
    return rest(PMPI_Ibarrier(comm, &request), &request);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    MPI_Request request;
    return rest(PMPI_Ibcast(buffer, count, type, root, comm, &request), &request);
}

int MPI_Gather(const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
               MPI_Datatype in_type, int root, MPI_Comm comm)
{
    MPI_Request request;
    return rest(PMPI_Igather(out, out_count, out_type, in, in_count, in_type, root, comm, &request),
                &request);
}

int MPI_Allreduce(const void *out, void *in, int count, MPI_Datatype type, MPI_Op operation,
                  MPI_Comm comm)
{
    MPI_Request request;
    return rest(PMPI_Iallreduce(out, in, count, type, operation, comm, &request), &request);
}
