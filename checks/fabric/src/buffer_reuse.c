// SPDX-License-Identifier: BSD-3-Clause
/*
 * What it costs to communicate from memory that was not used for it before, after the buffer reuse test of Liu et al.,
 * Micro-Benchmark Level Performance Comparison of High-Speed Cluster Interconnects (2003).
 */
#include "common/points.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char fc_program[] = "buffer_reuse";

static const char method[] =
    "buffer_reuse: time per message between two MPI ranks when a share of the messages uses the\n"
    "same buffer again and the rest use new ones. Networks that have to register memory, or to\n"
    "load its address translation, are slower with new buffers. Run it on exactly two ranks, one\n"
    "per node to see the interconnect:\n"
    "  mpirun -np 2 buffer_reuse\n"
    "\n"
    "Of N iterations (--iterations), R use one buffer and N - R use a new buffer each,\n"
    "for R/N of 0, 25, 50, 75 and 100 %. The R are spread evenly among the N. New buffers are\n"
    "pages of a mapping (mmap) made for these N iterations and given back (munmap) after them:\n"
    "one byte a page has been written, so they exist, but they never took part in communication.\n"
    "They are colder in the caches of the processor too. All buffers begin on a page.\n"
    "\n"
    "latency: N ping-pongs one after the other, MPI_Send and MPI_Recv, where iteration i uses its\n"
    "own send and its own receive buffer on both sides. The time is that of the N round trips\n"
    "divided by 2 N.\n"
    "\n"
    "stream: rank 1 posts N MPI_Irecv and signals rank 0, which starts N MPI_Isend, waits for them\n"
    "and then for an empty acknowledgement that rank 1 sends after it has got all N messages.\n"
    "The time is that from the first MPI_Isend to the acknowledgement, divided by N.\n"
    "\n"
    "Only these N iterations are timed. Mapping, writing, checking and unmapping are not, but they\n"
    "count towards --max-seconds-per-point: points of large new buffers end with few samples, but\n"
    "not before 8. The message sizes are --min-size and its multiples by powers of 4 up to\n"
    "--max-size. A rank needs 2 (N + 1) buffers of the largest message.\n"
    "\n"
    "One byte a page of the data received in each new buffer is compared with that sent, and all\n"
    "of it in the reused one.\n"
    "\n" FC_SAMPLING_METHOD("such N iterations");

static const char method_line[] =
    "latency is half of an MPI_Send/MPI_Recv round trip, stream the time per message of iterations "
    "MPI_Isend until the acknowledgement of all, where reuse_percent of the iterations use one "
    "buffer and the others freshly mapped ones" FC_SUMMARY;

static const char columns[] = "size_B reuse_percent" FC_MODE_COLUMNS("latency") FC_MODE_COLUMNS("stream");

enum { size_factor = 4, percent_step = 25 };

struct plan {
    struct fc_sweep sweep;
    size_t iterations;
};

/* One direction of one rank: the buffer of each iteration. */
struct buffers {
    unsigned char *old;   /* the one used again */
    unsigned char **at;   /* of iteration i: `old` or a part of `fresh` */
    unsigned char *fresh; /* mapped for N iterations, NULL if none is new */
    size_t mapped;        /* its length, bytes */
};

/* One side of the pair while one point is measured. */
struct side {
    const struct fc_world *world;
    int partner;
    size_t page; /* bytes */
    size_t size;
    size_t iterations; /* N */
    size_t reusing;    /* R */
    struct buffers *send;
    struct buffers *receive;
    MPI_Request *requests; /* N of them */
};

enum { tag_ping_pong = 1, tag_data = 2, tag_ready = 3, tag_acknowledge = 4 };

/* ------------------------------------------------------------- new buffers */

/* Of a new buffer the first byte of each page and the last one are written and checked: returns the next of them. */
static size_t next_touched(const struct side *side, size_t at)
{
    const size_t last = side->size - 1;
    return at == last || at + side->page < last ? at + side->page : last;
}

/* Writes values as fc_fill does, or such that differ from all that can arrive. */
static void touch(const struct side *side, unsigned char *buffer, int sender, bool spoil)
{
    for (size_t at = 0; at < side->size; at = next_touched(side, at)) {
        const unsigned char value = fc_pattern(at, side->size, sender);
        buffer[at] = spoil ? (unsigned char)~value : value;
    }
}

static void check_touched(const struct side *side, const unsigned char *buffer)
{
    for (size_t at = 0; at < side->size; at = next_touched(side, at)) {
        if (buffer[at] != fc_pattern(at, side->size, side->partner)) {
            fc_abort(
                "wrong data: byte %zu of a message of %zu bytes from rank %d to rank %d in a new buffer; the MPI "
                "library keeps registrations of unmapped memory, or the network corrupts messages",
                at, side->size, side->partner, side->world->rank);
        }
    }
}

/* R of N, evenly spread. */
static bool is_reused(const struct side *side, size_t iteration)
{
    const size_t before = iteration * side->reusing / side->iterations;
    return (iteration + 1) * side->reusing / side->iterations > before;
}

static size_t slot_length(const struct side *side)
{
    return (side->size + side->page - 1) / side->page * side->page;
}

static unsigned char *map_pages(size_t bytes)
{
    void *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        fc_abort(
            "cannot map %zu bytes for new buffers: %s; use smaller messages or fewer "
            "--iterations",
            bytes, strerror(errno));
    }
    return memory;
}

/* Maps the new buffers of N iterations and writes to their pages. */
static void map_new(const struct side *side, struct buffers *buffers, int sender, bool spoil)
{
    const size_t slot = slot_length(side);
    size_t used = 0;
    buffers->mapped = (side->iterations - side->reusing) * slot;
    buffers->fresh = buffers->mapped == 0 ? NULL : map_pages(buffers->mapped);
    for (size_t i = 0; i < side->iterations; i++) {
        if (buffers->fresh == NULL || is_reused(side, i)) {
            buffers->at[i] = buffers->old;
            continue;
        }
        buffers->at[i] = buffers->fresh + used;
        used += slot;
        touch(side, buffers->at[i], sender, spoil);
    }
}

static void unmap_new(struct buffers *buffers)
{
    if (buffers->fresh != NULL && munmap(buffers->fresh, buffers->mapped) != 0) {
        fc_abort("cannot give back %zu bytes: %s", buffers->mapped, strerror(errno));
    }
    buffers->fresh = NULL;
}

static void map_send(const struct side *side)
{
    map_new(side, side->send, side->world->rank, false);
}

static void map_receive(const struct side *side)
{
    map_new(side, side->receive, side->partner, true);
}

static void check_received(const struct side *side)
{
    for (size_t i = 0; i < side->iterations; i++) {
        if (side->receive->at[i] != side->receive->old) {
            check_touched(side, side->receive->at[i]);
        }
    }
}

/* ----------------------------------------------------------------- latency */

static void send_one(const struct side *side, size_t iteration)
{
    FC_MPI(MPI_Send(side->send->at[iteration], (int)side->size, MPI_BYTE, side->partner, tag_ping_pong,
                    side->world->comm));
}

static void receive_one(const struct side *side, size_t iteration)
{
    FC_MPI(MPI_Recv(side->receive->at[iteration], (int)side->size, MPI_BYTE, side->partner, tag_ping_pong,
                    side->world->comm, MPI_STATUS_IGNORE));
}

/* N round trips; rank 0 begins when rank 1 has its buffers. */
static double round_trips(const struct side *side)
{
    if (side->world->rank == 0) {
        fc_await(side->world, side->partner, tag_ready);
        const double begin = MPI_Wtime();
        for (size_t i = 0; i < side->iterations; i++) {
            send_one(side, i);
            receive_one(side, i);
        }
        return MPI_Wtime() - begin;
    }
    fc_signal(side->world, side->partner, tag_ready);
    for (size_t i = 0; i < side->iterations; i++) {
        receive_one(side, i);
        send_one(side, i);
    }
    return 0.0;
}

static double latency(const void *data, unsigned long long repetitions)
{
    const struct side *const side = data;
    double seconds = 0.0;
    for (unsigned long long i = 0; i < repetitions; i++) {
        map_send(side);
        map_receive(side);
        seconds += round_trips(side);
        check_received(side);
        unmap_new(side->send);
        unmap_new(side->receive);
    }
    return seconds;
}

/* ------------------------------------------------------------------ stream */

static double send_all(const struct side *side)
{
    fc_await(side->world, side->partner, tag_ready);
    const double begin = MPI_Wtime();
    for (size_t i = 0; i < side->iterations; i++) {
        FC_MPI(MPI_Isend(side->send->at[i], (int)side->size, MPI_BYTE, side->partner, tag_data, side->world->comm,
                         &side->requests[i]));
    }
    FC_MPI(MPI_Waitall((int)side->iterations, side->requests, MPI_STATUSES_IGNORE));
    fc_await(side->world, side->partner, tag_acknowledge);
    return MPI_Wtime() - begin;
}

static void receive_all(const struct side *side)
{
    for (size_t i = 0; i < side->iterations; i++) {
        FC_MPI(MPI_Irecv(side->receive->at[i], (int)side->size, MPI_BYTE, side->partner, tag_data, side->world->comm,
                         &side->requests[i]));
    }
    fc_signal(side->world, side->partner, tag_ready);
    FC_MPI(MPI_Waitall((int)side->iterations, side->requests, MPI_STATUSES_IGNORE));
    fc_signal(side->world, side->partner, tag_acknowledge);
}

static double stream(const void *data, unsigned long long repetitions)
{
    const struct side *const side = data;
    double seconds = 0.0;
    for (unsigned long long i = 0; i < repetitions; i++) {
        if (side->world->rank == 0) {
            map_send(side);
            seconds += send_all(side);
            unmap_new(side->send);
        } else {
            map_receive(side);
            receive_all(side);
            check_received(side);
            unmap_new(side->receive);
        }
    }
    return seconds;
}

/* ------------------------------------------------------------------ points */

/* New buffers are checked while they exist, the one used again at the end. */
static void measure_share(struct fc_rows *rows, struct side *side, size_t percent)
{
    const double messages = (double)side->iterations;
    side->reusing = side->iterations * percent / 100;
    const int reused = side->reusing > 0 ? 1 : 0; /* messages left in the buffer used again */
    const int streamed = side->world->rank == 1 ? reused : 0;
    const struct fc_mode modes[] = {{"latency", latency, 2.0 * messages, reused, side->partner, 2 * side->iterations},
                                    {"stream", stream, messages, streamed, side->partner, side->iterations}};
    struct fc_row row = {"", side->size, side->send->old, side->receive->old, side, modes, 2};
    snprintf(row.label, sizeof row.label, "%zu %zu", side->size, percent);
    fc_measure_row(rows, &row);
}

static void measure_all(struct fc_rows *rows, struct side *side, const struct fc_sweep *sweep)
{
    for (side->size = sweep->min_size; side->size <= sweep->max_size; side->size *= size_factor) {
        for (size_t percent = 0; percent <= 100; percent += percent_step) {
            measure_share(rows, side, percent);
        }
    }
}

/* ------------------------------------------------------------------- setup */

static void check_plan(const struct fc_world *world, const struct plan *plan)
{
    fc_require_pair(world);
    fc_require_order(world, &plan->sweep);
    if (plan->iterations % (100 / percent_step) != 0) {
        fc_usage_error(world, "--iterations %zu cannot be divided into quarters; give a multiple of 4",
                       plan->iterations);
    }
}

/* The whole need is known before the first point, although new buffers are mapped later. */
static void require_memory(const struct fc_world *world, const struct plan *plan, size_t page)
{
    const size_t slot = (plan->sweep.max_size + page - 1) / page * page;
    const size_t slots = 2 * (plan->iterations + 1);
    fc_require_memory(world, slot > SIZE_MAX / slots ? SIZE_MAX : slots * slot);
}

static struct buffers make_buffers(const struct fc_world *world, const struct plan *plan)
{
    struct buffers buffers = {NULL, NULL, NULL, 0};
    buffers.old = fc_allocate_all(world, plan->sweep.max_size, 1);
    buffers.at = fc_allocate_all(world, plan->iterations, sizeof *buffers.at);
    return buffers;
}

static void free_buffers(struct buffers *buffers)
{
    free(buffers->old);
    free(buffers->at);
}

int main(int argc, char **argv)
{
    struct plan plan = {{(size_t)1 << 10, (size_t)4 << 20, FC_RULE_DEFAULTS, NULL}, 16};
    plan.sweep.rule.max_seconds = 0.2; /* a fifth of it has to hold some mappings, all points a check */
    const struct fc_option options[] = {
        FC_SIZE_OPTIONS(plan.sweep, 1, "; each size is 4 times the one before"),
        {"iterations", FC_COUNT, &plan.iterations, 4, 65536, "N, a multiple of 4", NULL},
        FC_SAMPLING_OPTIONS(plan.sweep, "size percent mode sample_us"),
        FC_NO_MORE_OPTIONS,
    };
    const struct fc_world world = fc_start(argc, argv, method, options);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    check_plan(&world, &plan);
    require_memory(&world, &plan, page);
    struct buffers send = make_buffers(&world, &plan);
    struct buffers receive = make_buffers(&world, &plan);
    struct side side = {&world, 1 - world.rank, page, 0, plan.iterations, 0, &send, &receive, NULL};
    side.requests = fc_allocate_all(&world, plan.iterations, sizeof *side.requests);
    struct fc_rows rows = fc_begin_rows(&world, &plan.sweep, options);
    fc_end_head(&world, method_line, columns);
    measure_all(&rows, &side, &plan.sweep);
    free_buffers(&send);
    free_buffers(&receive);
    free(side.requests);
    return fc_end_rows(&rows);
}
