// SPDX-License-Identifier: BSD-3-Clause
/*
 * Overhead and host availability of MPI_Isend and MPI_Irecv over message sizes, by the post-work-wait method of Sandia
 * report SAND2005-5199, section 5, and of the Sandia MPI Micro-Benchmarks (mpi_overhead).
 */
#include "common/overlap.h"
#include "common/messages.h"

#include <stdlib.h>

const char fc_program[] = "overlap";

static const char method[] =
    "overlap: how much of the host is left for work while a message moves, for MPI_Isend and\n"
    "for MPI_Irecv, for messages of 0 bytes and of all powers of two. Run it on exactly two\n"
    "ranks, one per node to see the interconnect; rank 0 is the one that is observed, rank 1\n"
    "does nothing but serve it:\n"
    "  mpirun -np 2 overlap\n"
    "\n"
    "Isend: rank 1 has posted its receive, and rank 0 one for an empty acknowledgement. Timed:\n"
    "MPI_Isend, the work, and the wait for both the send and the acknowledgement, which rank 1\n"
    "sends when it has the message. So a small message, whose MPI_Isend completes before\n"
    "anything has moved, is a whole transfer too.\n"
    "\n"
    "Irecv: rank 1 is ready to send. Timed: MPI_Irecv, an empty message on which rank 1\n"
    "sends, the work, and the wait for the data.\n"
    "\n" FC_OVERLAP_METHOD
    "\n"
    "Each time is a median as in the program `streaming`. After each search the data received\n"
    "are compared with those sent. Times are in microseconds. Source: Sandia report\n"
    "SAND2005-5199, section 5.\n";

static const char method_line[] =
    "post, work, wait; nominal is the time without work; overhead is the time of the transfer less "
    "that of the work alone, for the work that just lengthens the transfer; availability is "
    "100 (1 - overhead / nominal), not below 0";

static const char columns[] = "size_B" FC_OVERLAP_COLUMNS("isend") FC_OVERLAP_COLUMNS("irecv");

/* One of the two transfers on one side of the pair. */
struct side {
    const struct fc_side *of;
    double (*observe)(const struct fc_side *side, const struct fc_work *work); /* on rank 0 */
    void (*serve)(const struct fc_side *side);                                 /* on rank 1 */
    const char *name;
    int receiver; /* of the data */
};

enum { tag_data = 1, tag_ready = 2, tag_go = 3, tag_acknowledge = 4 };

/*
 * Rank 1 waits for a message meanwhile as it does in a transfer: on processors that share a core, what it does there
 * slows down the work of rank 0.
 */
static double time_work_alone(const struct fc_side *side, const struct fc_work *work)
{
    if (side->world->rank != 0) {
        fc_signal(side->world, side->partner, tag_ready);
        fc_await(side->world, side->partner, tag_go);
        return 0.0;
    }
    fc_await(side->world, side->partner, tag_ready);
    const double begin = MPI_Wtime();
    fc_do_work(work, NULL, 0);
    const double seconds = MPI_Wtime() - begin;
    fc_signal(side->world, side->partner, tag_go);
    return seconds;
}

/* ------------------------------------------------------------------- isend */

static double observe_isend(const struct fc_side *side, const struct fc_work *work)
{
    enum { send = 0, acknowledgement = 1, count = 2 };
    const MPI_Comm comm = side->world->comm;
    MPI_Request requests[count];
    FC_MPI(MPI_Irecv(NULL, 0, MPI_BYTE, side->partner, tag_acknowledge, comm, &requests[acknowledgement]));
    fc_await(side->world, side->partner, tag_ready);
    const double begin = MPI_Wtime();
    FC_MPI(MPI_Isend(side->send, (int)side->size, MPI_BYTE, side->partner, tag_data, comm, &requests[send]));
    fc_do_work(work, requests, count);
    FC_MPI(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    return MPI_Wtime() - begin;
}

static void serve_isend(const struct fc_side *side)
{
    MPI_Request request;
    FC_MPI(MPI_Irecv(side->receive, (int)side->size, MPI_BYTE, side->partner, tag_data, side->world->comm, &request));
    fc_signal(side->world, side->partner, tag_ready);
    FC_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    fc_signal(side->world, side->partner, tag_acknowledge);
}

/* ------------------------------------------------------------------- irecv */

static double observe_irecv(const struct fc_side *side, const struct fc_work *work)
{
    MPI_Request request;
    fc_await(side->world, side->partner, tag_ready);
    const double begin = MPI_Wtime();
    FC_MPI(MPI_Irecv(side->receive, (int)side->size, MPI_BYTE, side->partner, tag_data, side->world->comm, &request));
    fc_signal(side->world, side->partner, tag_go);
    fc_do_work(work, &request, 1);
    FC_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    return MPI_Wtime() - begin;
}

static void serve_irecv(const struct fc_side *side)
{
    fc_signal(side->world, side->partner, tag_ready);
    fc_await(side->world, side->partner, tag_go);
    FC_MPI(MPI_Send(side->send, (int)side->size, MPI_BYTE, side->partner, tag_data, side->world->comm));
}

/* --------------------------------------------------------------- transfers */

static double repeat(const void *data, const struct fc_work *work, unsigned long long repetitions)
{
    const struct side *const side = data;
    double seconds = 0.0;
    for (unsigned long long i = 0; i < repetitions; i++) {
        if (work->alone) {
            seconds += time_work_alone(side->of, work);
        } else if (side->of->world->rank == 0) {
            seconds += side->observe(side->of, work);
        } else {
            side->serve(side->of);
        }
    }
    return seconds;
}

static void prepare(const void *data)
{
    const struct side *const side = data;
    if (side->of->world->rank == side->receiver) {
        fc_spoil(side->of->receive, side->of->size, side->of->partner);
    } else {
        fc_fill(side->of->send, side->of->size, side->of->world->rank);
    }
}

static void verify(const void *data)
{
    const struct side *const side = data;
    const size_t size = side->of->size;
    const bool receives = side->of->world->rank == side->receiver;
    const size_t wrong = receives ? fc_first_wrong(side->of->receive, size, side->of->partner) : size;
    fc_end_if_wrong(side->of->world, wrong, size, side->of->partner, side->name);
}

int main(int argc, char **argv)
{
    struct fc_overlap_plan plan = FC_OVERLAP_DEFAULTS(0, (size_t)4 << 20);
    const struct fc_option options[] = {
        FC_OVERLAP_OPTIONS(plan, 0, "transfer"),
        FC_NO_MORE_OPTIONS,
    };
    const struct fc_world world = fc_start(argc, argv, method, options);
    fc_require_pair(&world);
    fc_require_sizes(&world, &plan.sweep, fc_next_power_of_two);
    struct fc_side side = fc_make_side(&world, plan.sweep.max_size);
    const struct side isend = {&side, observe_isend, serve_isend, "isend", 1};
    const struct side irecv = {&side, observe_irecv, serve_irecv, "irecv", 0};
    const struct fc_transfer transfers[] = {{"isend", &isend, repeat, prepare, verify},
                                            {"irecv", &irecv, repeat, prepare, verify}};
    struct fc_search search = fc_begin_search(&world, &plan, transfers[0], options);
    fc_end_head(&world, method_line, columns);
    const size_t rows = fc_measure_overlap(&search, &plan.sweep, transfers, 2, &side.size);
    fc_free_side(&side);
    return fc_end_search(&search, rows);
}
