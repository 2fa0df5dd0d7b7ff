// SPDX-License-Identifier: BSD-3-Clause
/*
 * Overhead and host availability of MPI_Isend and MPI_Irecv over message sizes,
 * by the post-work-wait method of Sandia report SAND2005-5199, section 5, and of
 * the Sandia MPI Micro-Benchmarks (mpi_overhead).
 */
#define FC_PROGRAM "overlap"
#include "post_work_wait.h"
#include "sizes.h"

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
    "Irecv: rank 1 is ready to send. Timed: MPI_Irecv, an empty message that tells rank 1 to\n"
    "send, the work, and the wait for the data.\n"
    "\n"
    FC_OVERLAP_METHOD
    "\n"
    "Each time is a median as in the program `streaming`. After each search the data received\n"
    "are compared with those sent. Times are in microseconds. Source: Sandia report\n"
    "SAND2005-5199, section 5.\n";

static const char method_line[] =
    "post, work, wait; nominal is the time without work; overhead is the time of the transfer less "
    "that of the work alone, for the work that just lengthens the transfer; availability is "
    "100 (1 - overhead / nominal), not below 0";

static const char columns[] = "size_B " FC_OVERLAP_COLUMNS("isend") " " FC_OVERLAP_COLUMNS("irecv");

struct plan {
    size_t min_size;
    size_t max_size;
    struct fc_search_plan search;
    struct fc_rule rule;
    const char *raw_name; /* NULL: no file of samples */
};

/* One side of the pair while one size is measured. */
struct side {
    const struct fc_world *world;
    int partner;
    size_t size;
    unsigned char *buffer;
};

enum { tag_data = 1, tag_ready = 2, tag_go = 3, tag_acknowledge = 4 };

/*
 * Rank 1 waits for a message meanwhile as it does in a transfer: on processors
 * that share a core, what it does there slows down the work of rank 0.
 */
static double time_work_alone(const struct side *side, const struct fc_work *work)
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

static double observe_isend(const struct side *side, const struct fc_work *work)
{
    enum { send = 0, acknowledgement = 1, count = 2 };
    const MPI_Comm comm = side->world->comm;
    MPI_Request requests[count];
    FC_MPI(MPI_Irecv(NULL, 0, MPI_BYTE, side->partner, tag_acknowledge, comm,
                     &requests[acknowledgement]));
    fc_await(side->world, side->partner, tag_ready);
    const double begin = MPI_Wtime();
    FC_MPI(MPI_Isend(side->buffer, (int)side->size, MPI_BYTE, side->partner, tag_data, comm,
                     &requests[send]));
    fc_do_work(work, requests, count);
    FC_MPI(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    return MPI_Wtime() - begin;
}

static void serve_isend(const struct side *side)
{
    MPI_Request request;
    FC_MPI(MPI_Irecv(side->buffer, (int)side->size, MPI_BYTE, side->partner, tag_data,
                     side->world->comm, &request));
    fc_signal(side->world, side->partner, tag_ready);
    FC_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    fc_signal(side->world, side->partner, tag_acknowledge);
}

static double repeat_isend(const void *data, const struct fc_work *work,
                           unsigned long long repetitions)
{
    const struct side *const side = data;
    double seconds = 0.0;
    for (unsigned long long i = 0; i < repetitions; i++) {
        if (work->alone) {
            seconds += time_work_alone(side, work);
        } else if (side->world->rank == 0) {
            seconds += observe_isend(side, work);
        } else {
            serve_isend(side);
        }
    }
    return seconds;
}

/* ------------------------------------------------------------------- irecv */

static double observe_irecv(const struct side *side, const struct fc_work *work)
{
    MPI_Request request;
    fc_await(side->world, side->partner, tag_ready);
    const double begin = MPI_Wtime();
    FC_MPI(MPI_Irecv(side->buffer, (int)side->size, MPI_BYTE, side->partner, tag_data,
                     side->world->comm, &request));
    fc_signal(side->world, side->partner, tag_go);
    fc_do_work(work, &request, 1);
    FC_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    return MPI_Wtime() - begin;
}

static void serve_irecv(const struct side *side)
{
    fc_signal(side->world, side->partner, tag_ready);
    fc_await(side->world, side->partner, tag_go);
    FC_MPI(MPI_Send(side->buffer, (int)side->size, MPI_BYTE, side->partner, tag_data,
                    side->world->comm));
}

static double repeat_irecv(const void *data, const struct fc_work *work,
                           unsigned long long repetitions)
{
    const struct side *const side = data;
    double seconds = 0.0;
    for (unsigned long long i = 0; i < repetitions; i++) {
        if (work->alone) {
            seconds += time_work_alone(side, work);
        } else if (side->world->rank == 0) {
            seconds += observe_irecv(side, work);
        } else {
            serve_irecv(side);
        }
    }
    return seconds;
}

/* ------------------------------------------------------------------ points */

/* Searches for one size and one transfer and checks afterwards that the data arrived. */
static struct fc_overlap measure_point(struct fc_search *search, const struct side *side,
                                       int receiver)
{
    const struct fc_world *const world = side->world;
    struct fc_overlap overlap = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, NULL};
    const bool receives = world->rank == receiver;
    if (receives) {
        fc_spoil(side->buffer, side->size, side->partner);
    } else {
        fc_fill(side->buffer, side->size, world->rank);
    }
    FC_MPI(MPI_Barrier(world->comm));
    if (world->rank == 0) {
        overlap = fc_find_overlap(search);
        fc_end_steps(search);
    } else {
        fc_follow_steps(search);
    }
    const size_t wrong =
        receives ? fc_first_wrong(side->buffer, side->size, side->partner) : side->size;
    fc_end_if_wrong(world, wrong, side->size, side->partner, search->transfer.name);
    return overlap;
}

/* One row, printed when it is complete: both transfers of one size. */
static void measure_size(struct fc_search *search, struct side *side, size_t size)
{
    side->size = size;
    search->size = size;
    search->transfer = (struct fc_transfer){"isend", repeat_isend, side};
    const struct fc_overlap isend = measure_point(search, side, 1);
    search->transfer = (struct fc_transfer){"irecv", repeat_irecv, side};
    const struct fc_overlap irecv = measure_point(search, side, 0);
    if (side->world->rank == 0) {
        printf("%zu", size);
        fc_print_overlap(&isend);
        fc_print_overlap(&irecv);
        printf("\n");
    }
    fc_check_output(side->world);
    fc_check_raw(side->world, search->raw);
}

static size_t measure_all(struct fc_search *search, struct side *side, const struct plan *plan)
{
    size_t rows = 0;
    const size_t first = fc_first_size(plan->min_size, fc_next_power_of_two);
    for (size_t size = first; size <= plan->max_size; size = fc_next_power_of_two(size)) {
        measure_size(search, side, size);
        rows++;
    }
    return rows;
}

/* ------------------------------------------------------------------- setup */

static void print_head(const struct fc_search *search, const struct fc_option *options,
                       size_t count)
{
    fc_begin_head(search->world, search->rule->resolution, options, count);
    if (search->world->rank == 0) {
        fc_print_work(search);
    }
    fc_end_head(search->world, method_line, columns);
}

static size_t run(const struct fc_world *world, const struct plan *plan,
                  const struct fc_option *options, size_t count)
{
    struct side side = {world, 1 - world->rank, 0, NULL};
    struct fc_search search =
        fc_make_search(world, &plan->rule, &plan->search,
                       (struct fc_transfer){"none", repeat_isend, &side});
    fc_require_memory(world, plan->max_size);
    side.buffer = fc_allocate_all(world, plan->max_size, 1);
    FILE *const raw = fc_open_raw(world, plan->raw_name);
    search.iteration = fc_time_iteration(&search);
    search.raw = raw;
    print_head(&search, options, count);
    const size_t rows = measure_all(&search, &side, plan);
    fc_close_raw(world, raw);
    fc_free_search(&search);
    free(side.buffer);
    return rows;
}

int main(int argc, char **argv)
{
    struct plan plan = {0, (size_t)4 << 20, FC_SEARCH_DEFAULTS, FC_SEARCH_RULE_DEFAULTS, NULL};
    const struct fc_option options[] = {
        {"min-size", FC_SIZE, &plan.min_size, 0, INT_MAX, "smallest message, bytes", NULL},
        {"max-size", FC_SIZE, &plan.max_size, 0, INT_MAX, "largest message, bytes", NULL},
        FC_SEARCH_OPTIONS(plan.search),
        FC_RULE_OPTIONS(plan.rule),
        {"raw", FC_TEXT, &plan.raw_name, 0, 0,
         "write every sample to this file, as lines `size transfer part iterations sample_us`;\n"
         "        part is `transfer` or `work`", NULL},
    };
    const size_t count = sizeof options / sizeof options[0];
    const struct fc_world world = fc_start(argc, argv, method, options, count);
    fc_require_pair(&world);
    fc_require_sizes(&world, plan.min_size, plan.max_size, fc_next_power_of_two);
    plan.rule.resolution = world.rank == 0 ? fc_clock_resolution() : 0.0;
    return fc_finish(&world, run(&world, &plan, options, count), "rows");
}
