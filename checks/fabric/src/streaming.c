// SPDX-License-Identifier: BSD-3-Clause
/*
 * Ping-pong and streaming between two ranks over message sizes, after the
 * method of Sandia report SAND2005-5199, section 4.1.
 */
#define FC_PROGRAM "streaming"
#include "fabric.h"

static const char method[] =
    "streaming: time per message between two MPI ranks, in ping-pong and in streaming,\n"
    "for messages of 0 bytes, of all powers of two and of the sizes half-way between. Run it on\n"
    "exactly two ranks, one per node to see the interconnect:\n"
    "  mpirun -np 2 streaming\n"
    "\n"
    "Ping-pong: rank 0 sends with MPI_Send from one buffer and receives the answer with\n"
    "MPI_Recv in another; rank 1 receives and then answers. The buffers are page-aligned\n"
    "and reused. The time is half the round trip, as in IMB PingPong.\n"
    "\n"
    "Streaming: rank 1 posts a window of W MPI_Irecv and tells rank 0, which starts W\n"
    "MPI_Isend one after the other, waits for all of them and then for an empty\n"
    "acknowledgement that rank 1 sends after it has got all W messages. The time is that\n"
    "from the first MPI_Isend to the acknowledgement, divided by W: the overheads of the\n"
    "messages overlap, and one latency is shared by W messages. All W messages come from\n"
    "one send buffer and go to one receive buffer, as in the OSU bandwidth test, so the\n"
    "memory needed per rank is twice the largest message for any W (Sandia report\n"
    "SAND2005-5199, section 4.1).\n"
    "\n"
    "Sampling: a sample is the mean of a batch of round trips or windows that lasts at\n"
    "least 0.2 ms and 100 steps of the clock (MPI_Wtime). A row has the median of the\n"
    "samples and its 95 % confidence interval from order statistics, the number of\n"
    "samples and why sampling stopped: `ci`, the interval is narrow enough, or `cap`, the\n"
    "time was up. After each point the data received are compared with those sent.\n"
    "Times are in microseconds.\n";

static const char method_line[] =
    "ping_pong is half of an MPI_Send/MPI_Recv round trip; streaming is the time from the first of "
    "window MPI_Isend to the acknowledgement of all, per message; median over samples and its 95 % "
    "confidence interval from order statistics";

static const char columns[] =
    "size_B ping_pong_us ping_pong_ci_low_us ping_pong_ci_high_us ping_pong_samples ping_pong_stop "
    "streaming_us streaming_ci_low_us streaming_ci_high_us streaming_samples streaming_stop";

struct plan {
    size_t min_size;
    size_t max_size;
    size_t window;
    struct fc_rule rule;
    const char *raw_name; /* NULL: no file of samples */
};

/* One side of the pair while one size is measured. */
struct side {
    const struct fc_world *world;
    int partner;
    int window;
    size_t size;
    unsigned char *send;
    unsigned char *receive;
    MPI_Request *requests; /* `window` of them */
};

enum { tag_ping_pong = 1, tag_data = 2, tag_ready = 3, tag_acknowledge = 4 };

/* --------------------------------------------------------------- ping-pong */

/*
 * Rank 0 sends and waits for the answer, rank 1 answers every message: one
 * message at a time is on its way. Separate buffers for the two directions keep
 * a rank from sending what it has just received out of its cache.
 */
static double ping_pong(const void *data, unsigned long long repetitions)
{
    const struct side *const side = data;
    const MPI_Comm comm = side->world->comm;
    const int bytes = (int)side->size;
    const int partner = side->partner;
    const double begin = MPI_Wtime();
    if (side->world->rank == 0) {
        for (unsigned long long i = 0; i < repetitions; i++) {
            FC_MPI(MPI_Send(side->send, bytes, MPI_BYTE, partner, tag_ping_pong, comm));
            FC_MPI(MPI_Recv(side->receive, bytes, MPI_BYTE, partner, tag_ping_pong, comm,
                            MPI_STATUS_IGNORE));
        }
    } else {
        for (unsigned long long i = 0; i < repetitions; i++) {
            FC_MPI(MPI_Recv(side->receive, bytes, MPI_BYTE, partner, tag_ping_pong, comm,
                            MPI_STATUS_IGNORE));
            FC_MPI(MPI_Send(side->send, bytes, MPI_BYTE, partner, tag_ping_pong, comm));
        }
    }
    return MPI_Wtime() - begin;
}

/* --------------------------------------------------------------- streaming */

static void signal_partner(const struct side *side, int tag)
{
    FC_MPI(MPI_Send(NULL, 0, MPI_BYTE, side->partner, tag, side->world->comm));
}

static void await_partner(const struct side *side, int tag)
{
    FC_MPI(MPI_Recv(NULL, 0, MPI_BYTE, side->partner, tag, side->world->comm, MPI_STATUS_IGNORE));
}

/* Starts all messages of a window, lets them finish and waits until they are there. */
static double send_window(const struct side *side)
{
    const MPI_Comm comm = side->world->comm;
    const int bytes = (int)side->size;
    const double begin = MPI_Wtime();
    for (int slot = 0; slot < side->window; slot++) {
        FC_MPI(MPI_Isend(side->send, bytes, MPI_BYTE, side->partner, tag_data, comm,
                         &side->requests[slot]));
    }
    FC_MPI(MPI_Waitall(side->window, side->requests, MPI_STATUSES_IGNORE));
    await_partner(side, tag_acknowledge);
    return MPI_Wtime() - begin;
}

static void post_window(const struct side *side)
{
    const int bytes = (int)side->size;
    for (int slot = 0; slot < side->window; slot++) {
        FC_MPI(MPI_Irecv(side->receive, bytes, MPI_BYTE, side->partner, tag_data,
                         side->world->comm, &side->requests[slot]));
    }
}

/*
 * The windows of a batch are timed one by one and added up. Before each of them
 * rank 0 waits, outside the timing, until rank 1 has posted all its receives:
 * no message comes unexpected and has to be copied a second time.
 */
static double streaming(const void *data, unsigned long long repetitions)
{
    const struct side *const side = data;
    double seconds = 0.0;
    for (unsigned long long i = 0; i < repetitions; i++) {
        if (side->world->rank == 0) {
            await_partner(side, tag_ready);
            seconds += send_window(side);
        } else {
            post_window(side);
            signal_partner(side, tag_ready);
            FC_MPI(MPI_Waitall(side->window, side->requests, MPI_STATUSES_IGNORE));
            signal_partner(side, tag_acknowledge);
        }
    }
    return seconds;
}

/* ------------------------------------------------------------------ points */

struct mode {
    const char *name;
    double (*repeat)(const void *data, unsigned long long repetitions);
    double operations; /* messages in sequence, per repetition */
    bool both_receive;
};

/* Measures one size in one mode and checks afterwards that the data arrived. */
static struct fc_result measure_point(const struct side *side, const struct mode *mode,
                                      const struct fc_rule *rule, struct fc_samples *samples)
{
    const struct fc_world *const world = side->world;
    const struct fc_subject subject = {mode->repeat, side, mode->operations};
    const bool receives = mode->both_receive || world->rank == 1;
    fc_fill(side->send, side->size, world->rank);
    fc_spoil(side->receive, side->size, side->partner);
    FC_MPI(MPI_Barrier(world->comm));
    const struct fc_result result = fc_measure(world, rule, &subject, samples);
    const size_t wrong =
        receives ? fc_first_wrong(side->receive, side->size, side->partner) : side->size;
    fc_end_if_any(world, wrong != side->size,
                  "wrong data: byte %zu of a message of %zu bytes from rank %d to rank %d (%s); "
                  "the MPI library or the network corrupts messages",
                  wrong, side->size, side->partner, world->rank, mode->name);
    return result;
}

/* One row, printed when it is complete: both modes of one size. */
static void measure_size(struct side *side, size_t size, const struct plan *plan,
                         struct fc_samples *samples, FILE *raw)
{
    enum { modes = 2 };
    const struct mode mode[modes] = {
        {"ping_pong", ping_pong, 2.0, true},
        {"streaming", streaming, (double)side->window, false},
    };
    struct fc_result result[modes];
    side->size = size;
    for (int i = 0; i < modes; i++) {
        result[i] = measure_point(side, &mode[i], &plan->rule, samples);
        char what[64];
        snprintf(what, sizeof what, "%zu %s", size, mode[i].name);
        fc_write_raw(raw, what, samples);
    }
    if (side->world->rank == 0) {
        printf("%zu", size);
        for (int i = 0; i < modes; i++) {
            fc_print_result(&result[i]);
        }
        printf("\n");
    }
    fc_check_output(side->world);
    fc_check_raw(side->world, raw);
}

/* ------------------------------------------------------------------- sizes */

static size_t first_size(const struct plan *plan)
{
    size_t size = 0;
    while (size < plan->min_size) {
        size = fc_next_half_octave(size);
    }
    return size;
}

static size_t measure_all(struct side *side, const struct plan *plan, FILE *raw)
{
    struct fc_samples samples = {NULL, NULL, 0, 0};
    size_t rows = 0;
    for (size_t size = first_size(plan); size <= plan->max_size; size = fc_next_half_octave(size)) {
        measure_size(side, size, plan, &samples, raw);
        rows++;
    }
    fc_free_samples(&samples);
    return rows;
}

/* ------------------------------------------------------------------- setup */

static void check_plan(const struct fc_world *world, const struct plan *plan)
{
    if (world->size != 2) {
        fc_usage_error(world,
                       "needs exactly 2 ranks but was started with %d; use -np 2 (srun -n 2)",
                       world->size);
    }
    if (plan->min_size > plan->max_size) {
        fc_usage_error(world, "--min-size %zu is above --max-size %zu; exchange them",
                       plan->min_size, plan->max_size);
    }
    if (first_size(plan) > plan->max_size) {
        fc_usage_error(world, "no size from --min-size %zu to --max-size %zu; widen them",
                       plan->min_size, plan->max_size);
    }
}

static struct side make_side(const struct fc_world *world, const struct plan *plan)
{
    fc_require_memory(world, 2 * plan->max_size);
    struct side side = {world, 1 - world->rank, (int)plan->window, 0, NULL, NULL, NULL};
    side.send = fc_allocate_all(world, plan->max_size, 1);
    side.receive = fc_allocate_all(world, plan->max_size, 1);
    side.requests = fc_allocate_all(world, plan->window, sizeof *side.requests);
    return side;
}

static void free_side(struct side *side)
{
    free(side->send);
    free(side->receive);
    free(side->requests);
}

int main(int argc, char **argv)
{
    struct plan plan = {0, (size_t)4 << 20, 64, FC_RULE_DEFAULTS, NULL};
    const struct fc_option options[] = {
        {"min-size", FC_SIZE, &plan.min_size, 0, INT_MAX, "smallest message, bytes", NULL},
        {"max-size", FC_SIZE, &plan.max_size, 0, INT_MAX, "largest message, bytes", NULL},
        {"window", FC_COUNT, &plan.window, 1, 65536, "messages in flight in streaming", NULL},
        FC_RULE_OPTIONS(plan.rule),
        {"raw", FC_TEXT, &plan.raw_name, 0, 0,
         "write every sample to this file, as lines `size mode sample_us`", NULL},
    };
    const size_t count = sizeof options / sizeof options[0];
    fc_answer_help(argc, argv, method, options, count);
    const struct fc_world world = fc_start(&argc, &argv);
    fc_parse_options(&world, argc, argv, options, count);
    check_plan(&world, &plan);
    struct side side = make_side(&world, &plan);
    FILE *const raw = fc_open_raw(&world, plan.raw_name);
    plan.rule.resolution = world.rank == 0 ? fc_clock_resolution() : 0.0;
    fc_print_head(&world, plan.rule.resolution, options, count, method_line, columns);
    const size_t rows = measure_all(&side, &plan, raw);
    fc_close_raw(&world, raw);
    free_side(&side);
    return fc_finish(&world, rows, "rows");
}
