// SPDX-License-Identifier: BSD-3-Clause
/*
 * The trace: what SimGrid's SMPI replays, an action a line, of each rank in a file of its own,
 * FABRIC_TRACE/rank-N.trace. It is written if FABRIC_TRACE names a folder.
 *
 *   0 compute 125000              flops: a nanosecond of the thread's processor time is one
 *   0 isend 1 7 4096              to rank 1 of MPI_COMM_WORLD, tag, bytes
 *   0 wait 0 1 7                  for the message from 0 to 1 with that tag
 *   0 allreduce 3 0 0             elements, computation, type
 *
 * A replay has one communicator, so collectives of fewer ranks than the world have no action; nor have non-blocking
 * collectives, windows, and messages that are sent synchronously or by a buffer. A call without one ends the
 * trace: its last line gives the reason, and nobody takes what is there for the whole. Receives from any source, and of
 * any tag, are written with what came.
 */
#ifndef TRACE_H
#define TRACE_H

#include "profile.h"

#ifndef SMPI_H

/* Returns whether there is a trace to which calls are added. */
bool is_traced(void);

void trace_begins(void);
void trace_is_whole(void);

/* At the begin and at the end of a call: the computation between them is the next action. */
void trace_enters(void);
void trace_leaves(void);

/* Ends the trace at a call that has no action. */
void cannot(const struct at *at);

/* Numbers a communicator that the program has made. */
void made_comm(MPI_Comm comm);

/* Messages: `size` in bytes, `room` those of the buffer of a receive. */
void traced_send(MPI_Comm comm, int dest, int tag, int64_t size);
void traced_recv(MPI_Comm comm, int source, int64_t size, const MPI_Status *status);
void traced_sendrecv(MPI_Comm comm, int dest, int tag, int64_t size, int source, int64_t room,
                     const MPI_Status *status);
void traced_request(MPI_Comm comm, MPI_Request request, bool is_persistent, bool is_send, int partner, int tag,
                    int64_t size);
void traced_start(MPI_Request handle, enum call call);
void traced_free(MPI_Request handle);

/* Keeps the requests that a call is about to complete; returns a status where the program does not want one. */
MPI_Status *take(int count, const MPI_Request *requests);
void completed_all(int count, const MPI_Status *statuses);
void completed_some(int count, const int *indices, const MPI_Status *statuses);

/* What a collective hands over or takes in: one count, or one for each rank. */
struct amount {
    MPI_Datatype type;
    int times;          /* counts: 1, or that of the ranks */
    const void *counts; /* NULL: all are `count` */
    size_t width;       /* of a number of the array; 0 where its order does not matter */
    int64_t count;
};
#define ONE(count, type) ((struct amount){type, 1, NULL, 0, count})
#define EACH(count, type) ((struct amount){type, p.ranks, NULL, 0, count})
#define MANY(counts, type) ((struct amount){type, p.ranks, counts, sizeof *(counts), 0})
#define MANY_IF(has, counts, type, other)                                                                              \
    ((struct amount){(has) ? type : other, p.ranks, (has) ? (counts) : NULL, sizeof *(counts), 0})

/* Collectives; a root of -1 is none. */
void traced_barrier(const struct at *at, MPI_Comm comm);
void traced_elements(const struct at *at, const char *name, MPI_Comm comm, struct amount of, bool reduces, int root);
void traced_blocks(const struct at *at, const char *name, MPI_Comm comm, struct amount out, struct amount in, int root);

#endif
#endif
