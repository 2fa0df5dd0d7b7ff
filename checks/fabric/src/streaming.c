// SPDX-License-Identifier: BSD-3-Clause
/*
 * Ping-pong and streaming between two ranks over message sizes, after the method of Sandia report SAND2005-5199,
 * section 4.1. The queue depth and the modes in both directions are those of Liu et al., Micro-Benchmark Level
 * Performance Comparison of High-Speed Interconnects (2003).
 */
#include "common/points.h"

#include <stdlib.h>

const char fc_program[] = "streaming";

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
    "Streaming: rank 1 posts a window of W MPI_Irecv and signals rank 0, which starts W\n"
    "MPI_Isend one after the other, waits for all of them and then for an empty\n"
    "acknowledgement that rank 1 sends after it has got all W messages. The time is that\n"
    "from the first MPI_Isend to the acknowledgement, divided by W: the overheads of the\n"
    "messages overlap, and one latency is shared by W messages. All W messages come from\n"
    "one send buffer and go to one receive buffer, as in the OSU bandwidth test, so the\n"
    "memory needed per rank is twice the largest message for any W (Sandia report\n"
    "SAND2005-5199, section 4.1).\n"
    "\n"
    "Queue depth Q: with --queue-depth Q a timed repetition still has the W messages of\n"
    "--window, but rank 0 starts only Q of them, waits for the oldest Q/2, starts Q/2\n"
    "more, and so on: between Q/2 and Q messages are outstanding. Rank 1 posts its\n"
    "receives likewise, Q ahead. W must be at least Q and a multiple of Q/2 (Liu et al.,\n"
    "Micro-Benchmark Level Performance Comparison of High-Speed Interconnects, 2003).\n"
    "\n"
    "Both directions: --directions both adds two modes. In bidirectional ping-pong each\n"
    "rank posts an MPI_Irecv, starts an MPI_Isend and waits for both; the time is that of\n"
    "one such exchange, in which one message goes each way, and is not halved. In\n"
    "bidirectional streaming each rank sends the other W messages while it receives W,\n"
    "with the same queue depth (it waits for the oldest Q/2 of both together); the time\n"
    "is divided by W, so one message goes each way in it, and the bandwidth of both\n"
    "directions is 2 * size / time. The ranks start together: rank 1 on a signal, and\n"
    "rank 0, which has the clock, half a round trip after sending it. Otherwise one rank\n"
    "would remain a latency ahead and the messages would not meet.\n"
    "\n" FC_SAMPLING_METHOD("round trips or windows");

#define ONE_WAY                                                                                                        \
    "ping_pong is half of an MPI_Send/MPI_Recv round trip; streaming is the time from the first "                      \
    "of window MPI_Isend to the acknowledgement of all, per message"
#define BOTH_WAYS                                                                                                      \
    "; bidirectional_ping_pong is an exchange of MPI_Irecv, MPI_Isend and MPI_Waitall on both "                        \
    "ranks at once; bidirectional_streaming is streaming by both ranks at once, per pair of "                          \
    "messages, one each way"

#define ONE_WAY_COLUMNS "size_B" FC_MODE_COLUMNS("ping_pong") FC_MODE_COLUMNS("streaming")

/* Values of --directions, and the lines of the header for each. */
enum directions { one_way, both_ways };

static const char *const direction_words[] = {"one", "both", NULL};

static const char *const method_lines[] = {ONE_WAY FC_SUMMARY, ONE_WAY BOTH_WAYS FC_SUMMARY};

static const char *const columns[] = {
    ONE_WAY_COLUMNS,
    ONE_WAY_COLUMNS FC_MODE_COLUMNS("bidirectional_ping_pong") FC_MODE_COLUMNS("bidirectional_streaming"),
};

struct plan {
    struct fc_sweep sweep;
    size_t window;
    size_t queue_depth; /* 0: the whole window at once */
    size_t directions;  /* enum directions */
};

/*
 * The messages of a window are started and waited for in parts: half a queue, or without a queue the window. `ahead`
 * parts are under way at once, and that many slots of requests exist: those of a part's receives first, then those of
 * its sends.
 */
struct side {
    struct fc_side of;
    int part;  /* messages of a part in one direction */
    int parts; /* of a window */
    int ahead;
    MPI_Request *requests; /* 2 * part * ahead of them */
};

enum { tag_ping_pong = 1, tag_data = 2, tag_ready = 3, tag_acknowledge = 4, tag_start = 5 };

/* ----------------------------------------------------------- common start */

/* Collective: half of the shortest of a few empty round trips; used on rank 0 only. */
static double half_round_trip(const struct side *side)
{
    enum { trips = 3 };
    double shortest = 0.0;
    for (int trip = 0; trip < trips; trip++) {
        if (side->of.world->rank == 0) {
            const double begin = MPI_Wtime();
            fc_signal(side->of.world, side->of.partner, tag_start);
            fc_await(side->of.world, side->of.partner, tag_start);
            const double seconds = MPI_Wtime() - begin;
            shortest = trip == 0 || seconds < shortest ? seconds : shortest;
        } else {
            fc_await(side->of.world, side->of.partner, tag_start);
            fc_signal(side->of.world, side->of.partner, tag_start);
        }
    }
    return 0.5 * shortest;
}

/*
 * Lets both ranks go on at the same time. After a mere signal or a barrier one rank can be a latency ahead, and
 * exchanges keep that distance: each rank would send while the other waits, which is ping-pong again.
 */
static void start_together(const struct side *side, double half_trip)
{
    if (side->of.world->rank != 0) {
        fc_await(side->of.world, side->of.partner, tag_start);
        return;
    }
    const double begin = MPI_Wtime();
    fc_signal(side->of.world, side->of.partner, tag_start);
    while (MPI_Wtime() - begin < half_trip) {
    }
}

/* --------------------------------------------------------------- ping-pong */

/*
 * Rank 0 sends and waits for the answer, rank 1 answers every message: one message at a time is on its way. Separate
 * buffers for the two directions keep a rank from sending data that it has just received out of its cache.
 */
static double ping_pong(const void *data, unsigned long long repetitions)
{
    const struct side *const side = data;
    const MPI_Comm comm = side->of.world->comm;
    const int bytes = (int)side->of.size;
    const int partner = side->of.partner;
    const double begin = MPI_Wtime();
    if (side->of.world->rank == 0) {
        for (unsigned long long i = 0; i < repetitions; i++) {
            FC_MPI(MPI_Send(side->of.send, bytes, MPI_BYTE, partner, tag_ping_pong, comm));
            FC_MPI(MPI_Recv(side->of.receive, bytes, MPI_BYTE, partner, tag_ping_pong, comm, MPI_STATUS_IGNORE));
        }
    } else {
        for (unsigned long long i = 0; i < repetitions; i++) {
            FC_MPI(MPI_Recv(side->of.receive, bytes, MPI_BYTE, partner, tag_ping_pong, comm, MPI_STATUS_IGNORE));
            FC_MPI(MPI_Send(side->of.send, bytes, MPI_BYTE, partner, tag_ping_pong, comm));
        }
    }
    return MPI_Wtime() - begin;
}

/*
 * Both ranks send and both receive in every exchange. Rank 0 has the last message of rank 1 when its time ends; rank 1,
 * which started with it, has its own then.
 */
static double bidirectional_ping_pong(const void *data, unsigned long long repetitions)
{
    const struct side *const side = data;
    const MPI_Comm comm = side->of.world->comm;
    const int bytes = (int)side->of.size;
    MPI_Request requests[2];
    start_together(side, half_round_trip(side));
    const double begin = MPI_Wtime();
    for (unsigned long long i = 0; i < repetitions; i++) {
        FC_MPI(MPI_Irecv(side->of.receive, bytes, MPI_BYTE, side->of.partner, tag_ping_pong, comm, &requests[0]));
        FC_MPI(MPI_Isend(side->of.send, bytes, MPI_BYTE, side->of.partner, tag_ping_pong, comm, &requests[1]));
        FC_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
    return MPI_Wtime() - begin;
}

/* --------------------------------------------------------------- streaming */

static MPI_Request *slot_requests(const struct side *side, int slot)
{
    return side->requests + (size_t)slot * 2 * (size_t)side->part;
}

static void post_part(const struct side *side, int slot)
{
    MPI_Request *const requests = slot_requests(side, slot);
    for (int i = 0; i < side->part; i++) {
        FC_MPI(MPI_Irecv(side->of.receive, (int)side->of.size, MPI_BYTE, side->of.partner, tag_data,
                         side->of.world->comm, &requests[i]));
    }
}

static void send_part(const struct side *side, int slot)
{
    MPI_Request *const requests = slot_requests(side, slot) + side->part;
    for (int i = 0; i < side->part; i++) {
        FC_MPI(MPI_Isend(side->of.send, (int)side->of.size, MPI_BYTE, side->of.partner, tag_data, side->of.world->comm,
                         &requests[i]));
    }
}

/* The first receives of a window, before the partner may send. */
static void post_ahead(const struct side *side)
{
    for (int slot = 0; slot < side->ahead; slot++) {
        post_part(side, slot);
    }
}

/*
 * Moves a window: starts the first sends, then always waits for the oldest part and replaces it. The first receives are
 * posted already.
 */
static void move_window(const struct side *side, bool sends, bool receives)
{
    const int count = (sends ? side->part : 0) + (receives ? side->part : 0);
    for (int slot = 0; sends && slot < side->ahead; slot++) {
        send_part(side, slot);
    }
    for (int i = 0; i < side->parts; i++) {
        const int slot = i % side->ahead;
        MPI_Request *const oldest = slot_requests(side, slot) + (receives ? 0 : side->part);
        FC_MPI(MPI_Waitall(count, oldest, MPI_STATUSES_IGNORE));
        if (i + side->ahead < side->parts && receives) {
            post_part(side, slot);
        }
        if (i + side->ahead < side->parts && sends) {
            send_part(side, slot);
        }
    }
}

/*
 * The windows of a batch are timed one by one and added up. Before each of them rank 0 waits, outside the timing, until
 * rank 1 has posted its receives: no message comes unexpected and has to be copied a second time.
 */
static double streaming(const void *data, unsigned long long repetitions)
{
    const struct side *const side = data;
    double seconds = 0.0;
    for (unsigned long long i = 0; i < repetitions; i++) {
        if (side->of.world->rank == 0) {
            fc_await(side->of.world, side->of.partner, tag_ready);
            const double begin = MPI_Wtime();
            move_window(side, true, false);
            fc_await(side->of.world, side->of.partner, tag_acknowledge);
            seconds += MPI_Wtime() - begin;
        } else {
            post_ahead(side);
            fc_signal(side->of.world, side->of.partner, tag_ready);
            move_window(side, false, true);
            fc_signal(side->of.world, side->of.partner, tag_acknowledge);
        }
    }
    return seconds;
}

/* The same with a window each way: rank 0 stops its clock when both have all messages. */
static double bidirectional_streaming(const void *data, unsigned long long repetitions)
{
    const struct side *const side = data;
    const double half_trip = half_round_trip(side);
    double seconds = 0.0;
    for (unsigned long long i = 0; i < repetitions; i++) {
        post_ahead(side);
        if (side->of.world->rank == 0) {
            fc_await(side->of.world, side->of.partner, tag_ready);
        } else {
            fc_signal(side->of.world, side->of.partner, tag_ready);
        }
        start_together(side, half_trip);
        const double begin = MPI_Wtime();
        move_window(side, true, true);
        if (side->of.world->rank == 0) {
            fc_await(side->of.world, side->of.partner, tag_acknowledge);
            seconds += MPI_Wtime() - begin;
        } else {
            fc_signal(side->of.world, side->of.partner, tag_acknowledge);
        }
    }
    return seconds;
}

/* ------------------------------------------------------------------ points */

static void measure_all(struct fc_rows *rows, struct side *side, const struct plan *plan)
{
    const double window = (double)plan->window;
    const int partner = side->of.partner;
    const int streamed = side->of.world->rank == 1 ? 1 : 0; /* from rank 0, one buffer */
    const struct fc_mode modes[] = {
        {"ping_pong", ping_pong, 2.0, 1, partner, 2},
        {"streaming", streaming, window, streamed, partner, plan->window},
        {"bidirectional_ping_pong", bidirectional_ping_pong, 1.0, 1, partner, 2},
        {"bidirectional_streaming", bidirectional_streaming, window, 1, partner, 2 * plan->window}};
    fc_measure_sizes(rows, &plan->sweep, fc_next_half_octave, &side->of, side, modes,
                     plan->directions == both_ways ? 4 : 2);
}

/* ------------------------------------------------------------------- setup */

static void check_queue(const struct fc_world *world, const struct plan *plan)
{
    const size_t depth = plan->queue_depth;
    if (depth == 0) {
        return;
    }
    if (depth % 2 != 0) {
        fc_usage_error(world, "--queue-depth %zu is odd; give an even number, or 0 for none", depth);
    }
    if (depth > plan->window) {
        fc_usage_error(world, "--queue-depth %zu is above --window %zu; raise --window or lower it", depth,
                       plan->window);
    }
    if (plan->window % (depth / 2) != 0) {
        fc_usage_error(world, "--window %zu is not a multiple of half of --queue-depth %zu; give --window %zu",
                       plan->window, depth, plan->window / (depth / 2) * (depth / 2));
    }
}

static struct side make_side(const struct fc_world *world, const struct plan *plan)
{
    const size_t depth = plan->queue_depth;
    const size_t part = depth > 0 ? depth / 2 : plan->window;
    const int ahead = depth > 0 ? 2 : 1;
    struct side side = {fc_make_side(world, plan->sweep.max_size), (int)part, (int)(plan->window / part), ahead, NULL};
    side.requests = fc_allocate_all(world, 2 * part * (size_t)ahead, sizeof *side.requests);
    return side;
}

int main(int argc, char **argv)
{
    struct plan plan = {{0, (size_t)4 << 20, FC_RULE_DEFAULTS, NULL}, 64, 0, one_way};
    const struct fc_option options[] = {
        FC_SIZE_OPTIONS(plan.sweep, 0, ""),
        {"window", FC_COUNT, &plan.window, 1, 65536,
         "messages of a repetition of streaming, in each direction; without a queue all of\n"
         "        them are in flight",
         NULL},
        {"queue-depth", FC_COUNT, &plan.queue_depth, 0, 65536,
         "most messages in flight in streaming, in each direction, an even number; 0: the window", NULL},
        {"directions", FC_CHOICE, &plan.directions, 0, 0, "measure both directions at once too", direction_words},
        FC_SAMPLING_OPTIONS(plan.sweep, "size mode sample_us"),
        FC_NO_MORE_OPTIONS,
    };
    const struct fc_world world = fc_start(argc, argv, method, options);
    fc_require_pair(&world);
    fc_require_sizes(&world, &plan.sweep, fc_next_half_octave);
    check_queue(&world, &plan);
    struct side side = make_side(&world, &plan);
    struct fc_rows rows = fc_begin_rows(&world, &plan.sweep, options);
    fc_end_head(&world, method_lines[plan.directions], columns[plan.directions]);
    measure_all(&rows, &side, &plan);
    fc_free_side(&side.of);
    free(side.requests);
    return fc_end_rows(&rows);
}
