// SPDX-License-Identifier: BSD-3-Clause
/*
 * The oracle of the overlap programs: an MPI layer between a program and the MPI
 * library in which the operations of rank 0 complete after a known time. It
 * takes the place of the interconnect, of which the right availability is known.
 * Link it to the unmodified program.
 *
 *   PROGRESS_SHIM_DELAY      D, seconds from the start of an operation to its end
 *   PROGRESS_SHIM_LEAST      bytes of the smallest message that is delayed
 *   PROGRESS_SHIM_PROGRESS   offload: an operation starts when it is posted
 *                            none: it starts with the first call on its request, as in
 *                            a library that makes progress only inside of calls
 *   PROGRESS_SHIM_BUSY       share of D that the post keeps the processor busy
 *
 * MPI_Wtime is left alone, so that the program's clock is the real one.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 8

struct delayed {
    MPI_Request request;
    bool used;
    bool started;
    double due; /* once started: time before which the operation is not complete */
};

static struct delayed slots[SLOTS];

static const char *setting(const char *name)
{
    const char *const value = getenv(name);
    if (value == NULL) {
        fprintf(stderr, "progress_shim: %s is not set\n", name);
        PMPI_Abort(MPI_COMM_WORLD, 1);
        exit(1);
    }
    return value;
}

static double delay(void)
{
    static double seconds = 0.0;
    if (seconds == 0.0) {
        seconds = atof(setting("PROGRESS_SHIM_DELAY"));
    }
    return seconds;
}

static void spin_until(double due)
{
    while (PMPI_Wtime() < due) {
    }
}

/* Is this an operation to delay? Only rank 0 is observed. */
static bool is_delayed(int count, MPI_Datatype type)
{
    int rank = 0;
    int unit = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Type_size(type, &unit);
    return rank == 0 && (double)count * unit >= atof(setting("PROGRESS_SHIM_LEAST"));
}

/* After the post of an operation that began at `begin`. */
static void delay_request(MPI_Request request, double begin)
{
    const bool offload = strcmp(setting("PROGRESS_SHIM_PROGRESS"), "offload") == 0;
    for (int i = 0; i < SLOTS; i++) {
        if (!slots[i].used) {
            slots[i] = (struct delayed){request, true, offload, begin + delay()};
            spin_until(begin + delay() * atof(setting("PROGRESS_SHIM_BUSY")));
            return;
        }
    }
    fprintf(stderr, "progress_shim: more than %d operations at once\n", SLOTS);
    PMPI_Abort(MPI_COMM_WORLD, 1);
}

/* The slot of a request, started by this call if it was not; NULL if it has none. */
static struct delayed *touched(MPI_Request request)
{
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i].used && slots[i].request == request) {
            if (!slots[i].started) {
                slots[i].started = true;
                slots[i].due = PMPI_Wtime() + delay();
            }
            return &slots[i];
        }
    }
    return NULL;
}

static void await(MPI_Request request)
{
    struct delayed *const slot = touched(request);
    if (slot != NULL) {
        spin_until(slot->due);
        slot->used = false;
    }
}

/* A function that posts an operation, which is delayed afterwards. */
#define DELAYED(name, parameters, arguments)                                                                           \
    int MPI_##name parameters                                                                                          \
    {                                                                                                                  \
        const double begin = PMPI_Wtime();                                                                             \
        const int code = PMPI_##name arguments;                                                                        \
        if (is_delayed(count, type)) {                                                                                 \
            delay_request(*request, begin);                                                                            \
        }                                                                                                              \
        return code;                                                                                                   \
    }
DELAYED(Isend, (const void *buffer, int count, MPI_Datatype type, int partner, int tag, MPI_Comm comm, MPI_Request *request),
        (buffer, count, type, partner, tag, comm, request))
DELAYED(Irecv, (void *buffer, int count, MPI_Datatype type, int partner, int tag, MPI_Comm comm, MPI_Request *request),
        (buffer, count, type, partner, tag, comm, request))
DELAYED(Iallreduce, (const void *send, void *receive, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm,
                     MPI_Request *request),
        (send, receive, count, type, operation, comm, request))

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    struct delayed *const slot = touched(*request);
    if (slot != NULL && PMPI_Wtime() < slot->due) {
        *done = 0;
        return MPI_SUCCESS;
    }
    const int code = PMPI_Test(request, done, status);
    if (slot != NULL && *done) {
        slot->used = false;
    }
    return code;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    await(*request);
    return PMPI_Wait(request, status);
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    for (int i = 0; i < count; i++) {
        await(requests[i]);
    }
    return PMPI_Waitall(count, requests, statuses);
}
