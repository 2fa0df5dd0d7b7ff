// SPDX-License-Identifier: BSD-3-Clause
/*
 * Overhead and host availability of non-blocking collective operations, by the
 * post-work-wait method that Sandia report SAND2005-5199, section 5, uses for
 * MPI_Isend, and the overlap as the OSU micro-benchmarks compute it.
 */
#define FC_PROGRAM "collective_overlap"
#include "post_work_wait.h"
#include "sizes.h"

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
    "\n"
    FC_OVERLAP_METHOD
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

struct plan {
    size_t operation; /* position in operation_words */
    size_t min_size;
    size_t max_size;
    struct fc_search_plan search;
    struct fc_rule rule;
    const char *raw_name; /* NULL: no file of samples */
};

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
    FC_MPI(MPI_Iallreduce(side->send, side->receive, (int)(side->size / sizeof(double)),
                          MPI_DOUBLE, MPI_SUM, side->world->comm, request));
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
    FC_MPI(MPI_Ialltoall(side->send, bytes, MPI_BYTE, side->receive, bytes, MPI_BYTE,
                         side->world->comm, request));
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

#define COLUMNS(name) " " FC_OVERLAP_COLUMNS(name) " " name "_osu_overlap_percent"

static const struct operation operations[operation_count] = {
    {"iallreduce", COLUMNS("iallreduce"), post_iallreduce, prepare_iallreduce, iallreduce_arrived,
     false},
    {"ialltoall", COLUMNS("ialltoall"), post_ialltoall, prepare_ialltoall, ialltoall_arrived, true},
    {"ibcast", COLUMNS("ibcast"), post_ibcast, prepare_ibcast, ibcast_arrived, false},
};

static const char *const operation_words[] = {"iallreduce", "ialltoall", "ibcast", "all", NULL};

static bool is_wanted(const struct plan *plan, size_t operation)
{
    return plan->operation == operation || plan->operation == operation_count;
}

/* What fc_transfer passes on to repeat_operation. */
struct observed {
    const struct operation *operation;
    const struct side *side;
};

/* On every rank: the sum over repetitions of the time of the rank that took longest. */
static double repeat_operation(const void *data, const struct fc_work *work,
                               unsigned long long repetitions)
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

/* ------------------------------------------------------------------ points */

struct point {
    struct fc_overlap overlap;
    double osu_overlap; /* percent */
};

/* Rank 0 only. The work is as long as the nominal time, as OSU chooses it. */
static double find_osu_overlap(struct fc_search *search)
{
    const unsigned long long iterations = fc_iterations(search, search->nominal);
    const struct fc_times times = fc_time_final(search, iterations);
    const double excess = times.of[FC_EXCESS].median;
    return excess > 0.0 ? fc_availability(excess, times.of[FC_NOMINAL].median) : 100.0;
}

/* Searches for one size and one operation and checks afterwards that its result is right. */
static struct point measure_point(struct fc_search *search, const struct side *side,
                                  const struct operation *operation)
{
    const struct fc_world *const world = side->world;
    const struct observed observed = {operation, side};
    struct point point = {{0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, NULL}, 0.0};
    search->transfer = (struct fc_transfer){operation->name, repeat_operation, &observed};
    operation->prepare(side);
    FC_MPI(MPI_Barrier(world->comm));
    if (world->rank == 0) {
        point.overlap = fc_find_overlap(search);
        point.osu_overlap = find_osu_overlap(search);
        fc_end_steps(search);
    } else {
        fc_follow_steps(search);
    }
    fc_end_if_any(world, !operation->arrived(side),
                  "wrong result of %s with %zu bytes on rank %d; "
                  "the MPI library or the network corrupts messages",
                  operation->name, side->size, world->rank);
    return point;
}

/* One row, printed when it is complete: all operations asked for, of one size. */
static void measure_size(struct fc_search *search, struct side *side, size_t size,
                         const struct plan *plan)
{
    struct point point[operation_count];
    side->size = size;
    search->size = size;
    for (size_t i = 0; i < operation_count; i++) {
        if (is_wanted(plan, i)) {
            point[i] = measure_point(search, side, &operations[i]);
        }
    }
    if (side->world->rank == 0) {
        printf("%zu", size);
        for (size_t i = 0; i < operation_count; i++) {
            if (is_wanted(plan, i)) {
                fc_print_overlap(&point[i].overlap);
                printf(" %.6g", point[i].osu_overlap);
            }
        }
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
        measure_size(search, side, size, plan);
        rows++;
    }
    return rows;
}

/* ------------------------------------------------------------------- setup */

static void allocate(struct side *side, const struct plan *plan)
{
    size_t blocks = 1;
    for (size_t i = 0; i < operation_count; i++) {
        if (is_wanted(plan, i) && operations[i].one_block_to_each) {
            blocks = (size_t)side->world->size;
        }
    }
    fc_require_memory(side->world, 2 * blocks * plan->max_size);
    side->send = fc_allocate_all(side->world, blocks, plan->max_size);
    side->receive = fc_allocate_all(side->world, blocks, plan->max_size);
}

static void print_head(const struct fc_search *search, const struct plan *plan,
                       const struct fc_option *options, size_t count)
{
    char columns[FC_LINE_MAX] = "size_B";
    for (size_t i = 0; i < operation_count; i++) {
        const size_t used = strlen(columns);
        if (is_wanted(plan, i)) {
            snprintf(columns + used, sizeof columns - used, "%s", operations[i].columns);
        }
    }
    fc_begin_head(search->world, search->rule->resolution, options, count);
    if (search->world->rank == 0) {
        fc_print_work(search);
    }
    fc_end_head(search->world, method_line, columns);
}

static size_t run(const struct fc_world *world, const struct plan *plan,
                  const struct fc_option *options, size_t count)
{
    struct side side = {world, 0, NULL, NULL};
    const struct observed nothing = {&operations[0], &side}; /* only its work is timed */
    struct fc_search search =
        fc_make_search(world, &plan->rule, &plan->search,
                       (struct fc_transfer){"none", repeat_operation, &nothing});
    allocate(&side, plan);
    FILE *const raw = fc_open_raw(world, plan->raw_name);
    search.iteration = fc_time_iteration(&search);
    search.raw = raw;
    print_head(&search, plan, options, count);
    const size_t rows = measure_all(&search, &side, plan);
    fc_close_raw(world, raw);
    fc_free_search(&search);
    free(side.send);
    free(side.receive);
    return rows;
}

int main(int argc, char **argv)
{
    struct plan plan = {operation_count,       least_size, (size_t)1 << 20, FC_SEARCH_DEFAULTS,
                        FC_SEARCH_RULE_DEFAULTS, NULL};
    const struct fc_option options[] = {
        {"operation", FC_CHOICE, &plan.operation, 0, 0, "what to measure", operation_words},
        {"min-size", FC_SIZE, &plan.min_size, least_size, INT_MAX, "smallest size, bytes", NULL},
        {"max-size", FC_SIZE, &plan.max_size, least_size, INT_MAX, "largest size, bytes", NULL},
        FC_SEARCH_OPTIONS(plan.search),
        FC_RULE_OPTIONS(plan.rule),
        {"raw", FC_TEXT, &plan.raw_name, 0, 0,
         "write every sample to this file, as lines `size operation part iterations\n"
         "        sample_us`; part is `transfer` or `work`", NULL},
    };
    const size_t count = sizeof options / sizeof options[0];
    const struct fc_world world = fc_start(argc, argv, method, options, count);
    fc_require_several(&world);
    fc_require_sizes(&world, plan.min_size, plan.max_size, fc_next_power_of_two);
    plan.rule.resolution = world.rank == 0 ? fc_clock_resolution() : 0.0;
    return fc_finish(&world, run(&world, &plan, options, count), "rows");
}
