// SPDX-License-Identifier: BSD-3-Clause
#include "transfers.h"
#include "../common/messages.h"

#include <stdlib.h>

/* The buffers are written once here, so that no page is touched for the first time in a test. */
struct transfers fc_make_transfers(const struct fc_world *world, size_t size, size_t messages)
{
    const size_t slots = 2 * messages + 2;
    struct transfers transfers = {world, size, messages, NULL, NULL, NULL, NULL};
    transfers.send = fc_allocate_all(world, size, 1);
    transfers.receive = fc_allocate_all(world, size, 1);
    transfers.requests = fc_allocate_all(world, slots, sizeof *transfers.requests);
    transfers.done = fc_allocate_all(world, slots, sizeof *transfers.done);
    fc_fill(transfers.send, size, world->rank);
    fc_spoil(transfers.receive, size, world->rank);
    return transfers;
}

void fc_free_transfers(struct transfers *transfers)
{
    free(transfers->send);
    free(transfers->receive);
    free(transfers->requests);
    free(transfers->done);
}

/* ------------------------------------------------------- one test of a round */

int fc_partner_or_null(int partner)
{
    return partner < 0 ? MPI_PROC_NULL : partner;
}

void fc_warm_up(const struct transfers *transfers, int to, int from)
{
    const int bytes = (int)(transfers->size < 65536 ? transfers->size : 65536);
    FC_MPI(MPI_Sendrecv(transfers->send, bytes, MPI_BYTE, fc_partner_or_null(to), tag_warm, transfers->receive, bytes,
                        MPI_BYTE, fc_partner_or_null(from), tag_warm, transfers->world->comm, MPI_STATUS_IGNORE));
}

/* Of this rank's pairs: it sends to `to` and receives from `from`, -1 if it does not. */
static void post_receives(const struct transfers *transfers, int to, int from)
{
    const int messages = (int)transfers->messages;
    const MPI_Comm comm = transfers->world->comm;
    for (int i = 0; i < 2 * messages + 2; i++) {
        transfers->requests[i] = MPI_REQUEST_NULL;
    }
    for (int i = 0; from >= 0 && i < messages; i++) {
        FC_MPI(MPI_Irecv(transfers->receive, (int)transfers->size, MPI_BYTE, from, tag_data, comm,
                         &transfers->requests[i]));
    }
    if (to >= 0) {
        FC_MPI(MPI_Irecv(NULL, 0, MPI_BYTE, to, tag_acknowledge, comm, &transfers->requests[2 * messages]));
    }
}

static void start_sends(const struct transfers *transfers, int to)
{
    const int messages = (int)transfers->messages;
    for (int i = messages; to >= 0 && i < 2 * messages; i++) {
        FC_MPI(MPI_Isend(transfers->send, (int)transfers->size, MPI_BYTE, to, tag_data, transfers->world->comm,
                         &transfers->requests[i]));
    }
}

/*
 * Completes whatever comes first, because in `shift` a rank is sender and receiver at once and neither may wait for the
 * other: the acknowledgement leaves with the last message received, the clock is read with the acknowledgement
 * received. Returns the time of the latter.
 */
static double complete_all(const struct transfers *transfers, int from)
{
    const int messages = (int)transfers->messages;
    int missing = messages;
    double end = 0.0;
    for (;;) {
        int count = 0;
        FC_MPI(MPI_Waitsome(2 * messages + 2, transfers->requests, &count, transfers->done, MPI_STATUSES_IGNORE));
        if (count == MPI_UNDEFINED) {
            return end;
        }
        for (int i = 0; i < count; i++) {
            if (transfers->done[i] < messages && --missing == 0) {
                FC_MPI(MPI_Isend(NULL, 0, MPI_BYTE, from, tag_acknowledge, transfers->world->comm,
                                 &transfers->requests[2 * messages + 1]));
            } else if (transfers->done[i] == 2 * messages) {
                end = MPI_Wtime();
            }
        }
    }
}

double fc_stream(const struct transfers *transfers, int to, int from)
{
    post_receives(transfers, to, from);
    FC_MPI(MPI_Barrier(transfers->world->comm));
    const double begin = MPI_Wtime();
    start_sends(transfers, to);
    const double end = complete_all(transfers, from);
    return to >= 0 ? end - begin : 0.0;
}

/* -------------------------------------------------------------------- data */

enum { check_step = 4096 }; /* one byte per page is looked at, and the last */

static size_t next_place(size_t at, size_t size)
{
    return at + check_step < size || at + 1 >= size ? at + check_step : size - 1;
}

void fc_spoil_places(const struct transfers *transfers, int from)
{
    const size_t size = transfers->size;
    for (size_t at = 0; from >= 0 && at < size; at = next_place(at, size)) {
        transfers->receive[at] = (unsigned char)~fc_pattern(at, size, from);
    }
}

/* Comparing all bytes would take as long as the transfers themselves. */
size_t fc_first_wrong_place(const struct transfers *transfers, int from)
{
    const size_t size = transfers->size;
    for (size_t at = 0; from >= 0 && at < size; at = next_place(at, size)) {
        if (transfers->receive[at] != fc_pattern(at, size, from)) {
            return at;
        }
    }
    return size;
}
