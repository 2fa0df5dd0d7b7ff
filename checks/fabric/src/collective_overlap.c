// SPDX-License-Identifier: BSD-3-Clause
/*
 * Overhead and host availability of non-blocking collective operations, by the post-work-wait method that Sandia report
 * SAND2005-5199, section 5, uses for MPI_Isend, and the overlap as the OSU micro-benchmarks compute it.
 */
#include "common/messages.h"
#include "common/overlap.h"

#include <stdlib.h>
#include <string.h>

const char fc_program[] = "collective_overlap";

static const char method[] =
    "collective_overlap: how much of the hosts is left for work during MPI_Iallreduce (the sum\n"
    "of doubles), MPI_Ialltoall and MPI_Ibcast (from rank 0), for all powers of two from 8\n"
    "bytes. A size is the bytes a rank contributes, for MPI_Ialltoall to each rank: that needs\n"
    "2 x size x ranks bytes on each rank. Run it on two or more ranks:\n"
    "  mpirun -np 4 collective_overlap --operation iallreduce\n"
    "\n"
    "All ranks post the operation, do the same work and wait. Each takes its own time from\n"
    "before the post to after the wait, and the longest of all ranks counts (IMB takes the\n"
    "longest too, OSU the mean): a rank that is done early, as the root of a broadcast, does\n"
    "not make the operation fast. The ranks start together after an MPI_Allreduce that is not\n"
    "timed and that collects these times; the skew with which they leave it is part of the\n"
    "time. The time of the work alone is also the longest of all ranks.\n"
    "\n" FC_OVERLAP_METHOD
    "\n"
    "OSU overlap: with work as long as the nominal time, 100 (1 - (time with work - time of\n"
    "the work alone) / nominal) percent, kept within 0 and 100. It is the definition of the\n"
    "OSU micro-benchmarks, here with medians of the longest rank.\n"
    "\n"
    "Each time is a median as in the program `streaming`. After each search the results of the\n"
    "operation are verified. Times are in microseconds.\n";

static const char method_line[] =
    "post, work, wait on all ranks, the longest rank counts; nominal is the time without work; "
    "overhead is the time of the operation less that of the work alone, for the work that just "
    "lengthens the operation; availability is 100 (1 - overhead / nominal), not below 0; "
    "osu_overlap is for work as long as nominal";

/* The buffers of one rank while one size is measured; `ranks` blocks of `size` bytes. */
struct side {
    const struct fc_world *world;
    size_t size;
    unsigned char *send;
    unsigned char *receive;
};

struct operation {
    const char *name;
    const char *columns;
    void (*post)(const struct side *side, MPI_Request *request);
    void (*prepare)(const struct side *side);
    bool (*arrived)(const struct side *side); /* on this rank */
    bool one_block_to_each;                   /* the buffers hold a block for each rank */
};

enum { least_size = sizeof(double), root = 0 };

/* -------------------------------------------------------------- iallreduce */

/* Small whole numbers: their sum is exact in whatever order it is taken. */
static double addend(size_t at, int rank)
{
    return (double)(at % 1000 + (size_t)rank % 1000);
}

static double expected_sum(const struct fc_world *world, size_t at)
{
    double sum = 0.0;
    for (int rank = 0; rank < world->size; rank++) {
        sum += addend(at, rank);
    }
    return sum;
}

static void prepare_iallreduce(const struct side *side)
{
    double *const send = (double *)(void *)side->send;
    double *const receive = (double *)(void *)side->receive;
    for (size_t i = 0; i < side->size / sizeof(double); i++) {
        send[i] = addend(i, side->world->rank);
        receive[i] = -1.0;
    }
}

static bool iallreduce_arrived(const struct side *side)
{
    const double *const receive = (const double *)(const void *)side->receive;
    const double first = expected_sum(side->world, 0);
    for (size_t i = 0; i < side->size / sizeof(double); i++) {
        if (receive[i] != first + (double)(i % 1000) * side->world->size) {
            return false;
        }
    }
    return true;
}

static void post_iallreduce(const struct side *side, MPI_Request *request)
{
    FC_MPI(MPI_Iallreduce(side->send, side->receive, (int)(side->size / sizeof(double)), MPI_DOUBLE, MPI_SUM,
                          side->world->comm, request));
}

/* --------------------------------------------------------------- ialltoall */

static void prepare_ialltoall(const struct side *side)
{
    for (int rank = 0; rank < side->world->size; rank++) {
        const size_t at = (size_t)rank * side->size;
        fc_fill(side->send + at, side->size, side->world->rank + rank);
        fc_spoil(side->receive + at, side->size, side->world->rank + rank);
    }
}

static bool ialltoall_arrived(const struct side *side)
{
    for (int rank = 0; rank < side->world->size; rank++) {
        const unsigned char *const block = side->receive + (size_t)rank * side->size;
        if (fc_first_wrong(block, side->size, side->world->rank + rank) != side->size) {
            return false;
        }
    }
    return true;
}

static void post_ialltoall(const struct side *side, MPI_Request *request)
{
    const int bytes = (int)side->size;
    FC_MPI(MPI_Ialltoall(side->send, bytes, MPI_BYTE, side->receive, bytes, MPI_BYTE, side->world->comm, request));
}

/* ------------------------------------------------------------------ ibcast */

static void prepare_ibcast(const struct side *side)
{
    if (side->world->rank == root) {
        fc_fill(side->receive, side->size, root);
    } else {
        fc_spoil(side->receive, side->size, root);
    }
}

static bool ibcast_arrived(const struct side *side)
{
    return fc_first_wrong(side->receive, side->size, root) == side->size;
}

static void post_ibcast(const struct side *side, MPI_Request *request)
{
    FC_MPI(MPI_Ibcast(side->receive, (int)side->size, MPI_BYTE, root, side->world->comm, request));
}

/* -------------------------------------------------------------- operations */

enum { operation_count = 3 };

#define COLUMNS(name) FC_OVERLAP_COLUMNS(name) " " name "_osu_overlap_percent"

static const struct operation operations[operation_count] = {
    {"iallreduce", COLUMNS("iallreduce"), post_iallreduce, prepare_iallreduce, iallreduce_arrived, false},
    {"ialltoall", COLUMNS("ialltoall"), post_ialltoall, prepare_ialltoall, ialltoall_arrived, true},
    {"ibcast", COLUMNS("ibcast"), post_ibcast, prepare_ibcast, ibcast_arrived, false},
};

static const char *const operation_words[] = {"iallreduce", "ialltoall", "ibcast", "all", NULL};

/* One operation as a transfer. */
struct observed {
    const struct operation *operation;
    const struct side *side;
};

/* On every rank: returns the sum over repetitions of the time of the rank that took longest. */
static double repeat(const void *data, const struct fc_work *work, unsigned long long repetitions)
{
    const struct observed *const observed = data;
    double seconds = 0.0;
    for (unsigned long long i = 0; i < repetitions; i++) {
        MPI_Request request = MPI_REQUEST_NULL;
        double longest = 0.0;
        const double begin = MPI_Wtime();
        if (!work->alone) {
            observed->operation->post(observed->side, &request);
        }
        fc_do_work(work, &request, 1);
        if (!work->alone) {
            FC_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        const double mine = MPI_Wtime() - begin;
        FC_MPI(MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, observed->side->world->comm));
        seconds += longest;
    }
    return seconds;
}

static void prepare(const void *data)
{
    const struct observed *const observed = data;
    observed->operation->prepare(observed->side);
}

static void verify(const void *data)
{
    const struct observed *const observed = data;
    const struct side *const side = observed->side;
    fc_end_if_any(side->world, !observed->operation->arrived(side),
                  "wrong result of %s with %zu bytes on rank %d; the MPI library or the network corrupts messages",
                  observed->operation->name, side->size, side->world->rank);
}

/* ------------------------------------------------------------------- setup */

/* Sets the operations that are asked for; returns how many there are. */
static int choose(size_t wanted, const struct side *side, struct observed observed[operation_count])
{
    int count = 0;
    for (size_t i = 0; i < operation_count; i++) {
        if (wanted == i || wanted == operation_count) {
            observed[count++] = (struct observed){&operations[i], side};
        }
    }
    return count;
}

static void allocate(struct side *side, size_t max_size, const struct observed *observed, int count)
{
    size_t blocks = 1;
    for (int i = 0; i < count; i++) {
        blocks = observed[i].operation->one_block_to_each ? (size_t)side->world->size : blocks;
    }
    fc_require_memory(side->world, 2 * blocks * max_size);
    side->send = fc_allocate_all(side->world, blocks, max_size);
    side->receive = fc_allocate_all(side->world, blocks, max_size);
}

int main(int argc, char **argv)
{
    size_t operation = operation_count; /* position in operation_words */
    struct fc_overlap_plan plan = FC_OVERLAP_DEFAULTS(least_size, (size_t)1 << 20);
    const struct fc_option options[] = {
        {"operation", FC_CHOICE, &operation, 0, 0, "what to measure", operation_words},
        FC_OVERLAP_OPTIONS(plan, least_size, "operation"),
        FC_NO_MORE_OPTIONS,
    };
    const struct fc_world world = fc_start(argc, argv, method, options);
    fc_require_several(&world);
    fc_require_sizes(&world, &plan.sweep, fc_next_power_of_two);
    struct side side = {&world, 0, NULL, NULL};
    struct observed observed[operation_count];
    struct fc_transfer transfers[operation_count] = {{.name = NULL}};
    char columns[1024] = "size_B";
    const int count = choose(operation, &side, observed);
    for (int i = 0; i < count; i++) {
        transfers[i] = (struct fc_transfer){observed[i].operation->name, &observed[i], repeat, prepare, verify};
        strncat(columns, observed[i].operation->columns, sizeof columns - strlen(columns) - 1);
    }
    allocate(&side, plan.sweep.max_size, observed, count);
    struct fc_search search = fc_begin_search(&world, &plan, transfers[0], options);
    search.gives_osu_overlap = true;
    fc_end_head(&world, method_line, columns);
    const size_t rows = fc_measure_overlap(&search, &plan.sweep, transfers, count, &side.size);
    free(side.send);
    free(side.receive);
    return fc_end_search(&search, rows);
}
