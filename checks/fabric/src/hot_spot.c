// SPDX-License-Identifier: BSD-3-Clause
/*
 * A hot spot: one rank exchanges messages with more and more others at once, after the hot-spot tests of Liu et al.,
 * Micro-Benchmark Level Performance Comparison of High-Speed Cluster Interconnects (2003).
 */
#include "common/points.h"

#include <stdint.h>
#include <stdlib.h>

const char fc_program[] = "hot_spot";

static const char method[] =
    "hot_spot: time that a master needs to send to, or to collect from, n slaves at once. Rank 0\n"
    "is the master, the ranks 1 to n are the slaves. Run it on two or more ranks, one per node to\n"
    "see the interconnect:\n"
    "  mpirun -np 9 hot_spot\n"
    "\n"
    "send: the master starts one MPI_Isend to each of n slaves and waits until all of them are\n"
    "complete and the last slave, rank n, has acknowledged its message with an empty one. The\n"
    "slaves receive with MPI_Recv. The other slaves do not acknowledge, so they may lag behind:\n"
    "after at most 64 messages or 256 KiB a slave, whichever is less but at least one message,\n"
    "all slaves report to the master outside the timing, which bounds the memory for messages\n"
    "that arrived before their receive.\n"
    "\n"
    "send_receive: the master posts one MPI_Irecv for each of n slaves, each to a buffer of its\n"
    "own, then starts an empty MPI_Isend, the note, to each of them and waits until all data\n"
    "have arrived. A slave that has received the note answers with MPI_Send. The time includes\n"
    "the posting of the receives.\n"
    "\n"
    "A time is that of one whole operation on the master, with all n slaves. n is every number\n"
    "up to 8, then the powers of two, and all slaves. The message sizes are --min-size and its\n"
    "multiples by powers of 8 up to --max-size. The master needs one receive buffer a slave.\n"
    "Ranks that are not among the n slaves wait in MPI_Bcast.\n"
    "\n" FC_SAMPLING_METHOD("operations");

static const char method_line[] =
    "send is the time from the first of n MPI_Isend to the acknowledgement of rank n; send_receive "
    "is the time from posting n MPI_Irecv, with an empty note to each slave, to the arrival of all "
    "data" FC_SUMMARY;

static const char columns[] = "size_B slaves" FC_MODE_COLUMNS("send") FC_MODE_COLUMNS("send_receive");

enum { size_factor = 8, every_count_up_to = 8 };

/* Messages, and their bytes, that a slave may be behind the master. */
static const size_t longest_lag = 64;
static const size_t largest_lag = (size_t)256 << 10;

/* One rank while one point is measured. */
struct spot {
    const struct fc_world *world;
    int slaves; /* of this point: the ranks 1 .. slaves */
    size_t size;
    unsigned char *send;    /* one message */
    unsigned char *receive; /* one message; on the master one of each slave */
    MPI_Request *requests;  /* on the master: two a slave */
};

enum { tag_data = 1, tag_acknowledge = 2, tag_note = 3, tag_caught_up = 4 };

/* -------------------------------------------------------------------- send */

/* Operations between two reports of the slaves. */
static unsigned long long group_length(size_t size)
{
    const size_t fitting = largest_lag / (size == 0 ? 1 : size);
    const size_t length = fitting < longest_lag ? fitting : longest_lag;
    return length < 1 ? 1 : length;
}

static void send_to_slaves(const struct spot *spot)
{
    const MPI_Comm comm = spot->world->comm;
    const int slaves = spot->slaves;
    FC_MPI(MPI_Irecv(NULL, 0, MPI_BYTE, slaves, tag_acknowledge, comm, &spot->requests[slaves]));
    for (int slave = 1; slave <= slaves; slave++) {
        FC_MPI(MPI_Isend(spot->send, (int)spot->size, MPI_BYTE, slave, tag_data, comm, &spot->requests[slave - 1]));
    }
    FC_MPI(MPI_Waitall(slaves + 1, spot->requests, MPI_STATUSES_IGNORE));
}

/*
 * The master's side of a batch. The clock stands still while the slaves that do not acknowledge report that they have
 * caught up. Nobody is late for the next group: a slave that has reported has nothing else left to do.
 */
static double send_batch(const struct spot *spot, unsigned long long repetitions)
{
    const unsigned long long length = group_length(spot->size);
    double seconds = 0.0;
    for (unsigned long long done = 0; done < repetitions;) {
        const unsigned long long rest = repetitions - done;
        const unsigned long long group = rest < length ? rest : length;
        const double begin = MPI_Wtime();
        for (unsigned long long i = 0; i < group; i++) {
            send_to_slaves(spot);
        }
        seconds += MPI_Wtime() - begin;
        for (int slave = 1; slave < spot->slaves; slave++) {
            fc_await(spot->world, slave, tag_caught_up);
        }
        done += group;
    }
    return seconds;
}

static void receive_batch(const struct spot *spot, unsigned long long repetitions)
{
    const unsigned long long length = group_length(spot->size);
    const bool acknowledges = spot->world->rank == spot->slaves;
    for (unsigned long long i = 1; i <= repetitions; i++) {
        FC_MPI(MPI_Recv(spot->receive, (int)spot->size, MPI_BYTE, 0, tag_data, spot->world->comm, MPI_STATUS_IGNORE));
        if (acknowledges) {
            fc_signal(spot->world, 0, tag_acknowledge);
        } else if (i % length == 0 || i == repetitions) {
            fc_signal(spot->world, 0, tag_caught_up);
        }
    }
}

static double repeat_send(const void *data, unsigned long long repetitions)
{
    const struct spot *const spot = data;
    if (spot->world->rank == 0) {
        return send_batch(spot, repetitions);
    }
    if (spot->world->rank <= spot->slaves) {
        receive_batch(spot, repetitions);
    }
    return 0.0;
}

/* ------------------------------------------------------------ send_receive */

static void collect_from_slaves(const struct spot *spot)
{
    const MPI_Comm comm = spot->world->comm;
    const int slaves = spot->slaves;
    for (int slave = 1; slave <= slaves; slave++) {
        FC_MPI(MPI_Irecv(spot->receive + (size_t)(slave - 1) * spot->size, (int)spot->size, MPI_BYTE, slave, tag_data,
                         comm, &spot->requests[slave - 1]));
    }
    for (int slave = 1; slave <= slaves; slave++) {
        FC_MPI(MPI_Isend(NULL, 0, MPI_BYTE, slave, tag_note, comm, &spot->requests[slaves + slave - 1]));
    }
    FC_MPI(MPI_Waitall(2 * slaves, spot->requests, MPI_STATUSES_IGNORE));
}

static double repeat_send_receive(const void *data, unsigned long long repetitions)
{
    const struct spot *const spot = data;
    if (spot->world->rank > spot->slaves) {
        return 0.0;
    }
    const double begin = MPI_Wtime();
    for (unsigned long long i = 0; i < repetitions; i++) {
        if (spot->world->rank == 0) {
            collect_from_slaves(spot);
        } else {
            fc_await(spot->world, 0, tag_note);
            FC_MPI(MPI_Send(spot->send, (int)spot->size, MPI_BYTE, 0, tag_data, spot->world->comm));
        }
    }
    return MPI_Wtime() - begin;
}

/* ------------------------------------------------------------------ points */

/* 1, 2, ... 8, 16, 32, ..., all; call it until the last one was all. */
static int next_slaves(int slaves, int all)
{
    int next = slaves + 1;
    if (slaves >= every_count_up_to) {
        next = slaves > all / 2 ? all : 2 * slaves;
    }
    return next < all ? next : all;
}

static void measure_slaves(struct fc_rows *rows, const struct spot *spot)
{
    const int rank = spot->world->rank;
    const size_t slaves = (size_t)spot->slaves;
    const int from_master = rank >= 1 && rank <= spot->slaves ? 1 : 0; /* messages */
    const int from_slaves = rank == 0 ? spot->slaves : 0;
    const struct fc_mode modes[] = {{"send", repeat_send, 1.0, from_master, 0, slaves},
                                    {"send_receive", repeat_send_receive, 1.0, from_slaves, 1, slaves}};
    struct fc_row row = {"", spot->size, spot->send, spot->receive, spot, modes, 2};
    snprintf(row.label, sizeof row.label, "%zu %d", spot->size, spot->slaves);
    fc_measure_row(rows, &row);
}

static void measure_all(struct fc_rows *rows, struct spot *spot, const struct fc_sweep *sweep)
{
    const int all = spot->world->size - 1;
    for (spot->size = sweep->min_size; spot->size <= sweep->max_size; spot->size *= size_factor) {
        for (spot->slaves = 0; spot->slaves < all;) {
            spot->slaves = next_slaves(spot->slaves, all);
            measure_slaves(rows, spot);
        }
    }
}

/* ------------------------------------------------------------------- setup */

static struct spot make_spot(const struct fc_world *world, size_t max_size)
{
    const size_t slaves = (size_t)world->size - 1;
    const size_t senders = world->rank == 0 ? slaves : 1; /* that this rank receives from */
    const bool countable = senders < SIZE_MAX / max_size - 1;
    fc_require_memory(world, countable ? (senders + 1) * max_size : SIZE_MAX);
    struct spot spot = {world, 0, 0, NULL, NULL, NULL};
    spot.send = fc_allocate_all(world, max_size, 1);
    spot.receive = fc_allocate_all(world, senders, max_size);
    spot.requests = fc_allocate_all(world, 2 * slaves, sizeof *spot.requests);
    return spot;
}

static void print_slaves(const struct fc_world *world)
{
    const int all = world->size - 1;
    fc_print(world, "# slaves:");
    for (int slaves = 0; slaves < all;) {
        slaves = next_slaves(slaves, all);
        fc_print(world, " %d", slaves);
    }
    fc_print(world, "\n");
}

int main(int argc, char **argv)
{
    struct fc_sweep sweep = {8, (size_t)64 << 10, FC_RULE_DEFAULTS, NULL};
    const struct fc_option options[] = {
        FC_SIZE_OPTIONS(sweep, 1, "; each size is 8 times the one before"),
        FC_SAMPLING_OPTIONS(sweep, "size slaves mode sample_us"),
        FC_NO_MORE_OPTIONS,
    };
    const struct fc_world world = fc_start(argc, argv, method, options);
    fc_require_several(&world);
    fc_require_order(&world, &sweep);
    struct spot spot = make_spot(&world, sweep.max_size);
    struct fc_rows rows = fc_begin_rows(&world, &sweep, options);
    if (world.rank == 0) {
        print_slaves(&world);
    }
    fc_end_head(&world, method_line, columns);
    measure_all(&rows, &spot, &sweep);
    free(spot.send);
    free(spot.receive);
    free(spot.requests);
    return fc_end_rows(&rows);
}
