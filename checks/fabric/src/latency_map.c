// SPDX-License-Identifier: BSD-3-Clause
/*
 * The latency of every pair of nodes: who is near whom. Bandwidth does not show a cable that leads to another switch
 * than it should; a hop more or less does.
 */
#include "common/messages.h"
#include "common/patterns.h"
#include "common/program.h"
#include "common/sampling.h"

#include <stdlib.h>

const char fc_program[] = "latency_map";

static const char method[] =
    "latency_map: latency of every pair of nodes, by ping-pong.\n"
    "One rank is one node: run one process per node, on two nodes or more:\n"
    "  mpirun -np 64 latency_map\n"
    "\n"
    "The rounds are those of the tournament of `rotate --pattern round-robin`: the sender there\n"
    "starts the ping-pong here, so that a pass over all rounds measures each pair twice, at two\n"
    "moments, once from either end. --shifts S measures S of the rounds, as there.\n"
    "\n"
    "A round: a barrier, then every pair exchanges untimed messages, and then `samples` times\n"
    "`repetitions` ping-pongs, all pairs at once. A sample is half of the time of one ping-pong,\n"
    "in us; a row has the median and the least of the samples. The message must come back\n"
    "unchanged, or the program ends. Nothing is collected before all rounds are over: the node\n"
    "that collects would seem to be far from all others.\n";

static const char method_line[] =
    "ping-pong of size bytes, all pairs of a round at once; latency_us is the median over samples "
    "of half of the time of a ping-pong, least_us the least; in each pass every pair is measured "
    "from both ends";

static const char columns[] = "pass round starter other latency_us least_us";

enum { tag_ping = 1, tag_pong = 2 };

/* What the command line asks for. */
struct plan {
    size_t size;
    size_t samples;
    size_t repetitions;
    size_t warmup;
    size_t passes;
    size_t shifts;
};

/* One rank. */
struct node {
    const struct fc_world *world;
    const struct plan *plan;
    struct fc_layout layout;
    struct fc_roster roster;
    int *order; /* scratch of the pattern */
    unsigned char *send;
    unsigned char *receive;
    double *samples;
    double (*found)[2]; /* by pass and round: median and least, us, if this rank started */
    size_t wrong;       /* the first wrong byte of a message that came back */
};

static void start(const struct node *node, int other)
{
    const int bytes = (int)node->plan->size;
    FC_MPI(MPI_Send(node->send, bytes, MPI_BYTE, other, tag_ping, node->world->comm));
    FC_MPI(MPI_Recv(node->receive, bytes, MPI_BYTE, other, tag_pong, node->world->comm, MPI_STATUS_IGNORE));
}

static void answer(const struct node *node, int starter)
{
    const int bytes = (int)node->plan->size;
    FC_MPI(MPI_Recv(node->receive, bytes, MPI_BYTE, starter, tag_ping, node->world->comm, MPI_STATUS_IGNORE));
    FC_MPI(MPI_Send(node->receive, bytes, MPI_BYTE, starter, tag_pong, node->world->comm));
}

/* Who starts a ping-pong has all of its time; who answers does not look at the clock. */
static void measure_pair(struct node *node, int to, int from, double found[2])
{
    const struct plan *const plan = node->plan;
    const size_t untimed = plan->warmup;
    const size_t all = untimed + plan->samples * plan->repetitions;
    for (size_t i = 0; from >= 0 && i < all; i++) {
        answer(node, from);
    }
    if (to < 0) {
        return;
    }
    fc_spoil(node->receive, plan->size, node->world->rank);
    for (size_t i = 0; i < untimed; i++) {
        start(node, to);
    }
    for (size_t sample = 0; sample < plan->samples; sample++) {
        const double begin = MPI_Wtime();
        for (size_t i = 0; i < plan->repetitions; i++) {
            start(node, to);
        }
        node->samples[sample] = (MPI_Wtime() - begin) / (2.0 * (double)plan->repetitions);
    }
    qsort(node->samples, plan->samples, sizeof *node->samples, fc_compare_doubles);
    found[0] = 1e6 * fc_median(node->samples, plan->samples);
    found[1] = 1e6 * node->samples[0];
    if (node->wrong == plan->size) {
        node->wrong = fc_first_wrong(node->receive, plan->size, node->world->rank);
    }
}

static void measure_all(struct node *node)
{
    const struct fc_layout *const layout = &node->layout;
    const int all = (int)node->plan->passes * layout->rounds;
    const double begin = MPI_Wtime();
    double last = begin;
    int done = 0;
    for (size_t pass = 0; pass < node->plan->passes; pass++) {
        for (int index = 0; index < layout->rounds; index++) {
            fc_set_round(layout, fc_round_number(layout, index), node->order, &node->roster);
            FC_MPI(MPI_Barrier(node->world->comm));
            measure_pair(node, node->roster.to[node->world->rank], node->roster.from[node->world->rank],
                         node->found[pass * (size_t)layout->rounds + (size_t)index]);
            fc_tell_progress(node->world, "round", ++done, all, begin, &last);
        }
    }
    fc_end_if_any(node->world, node->wrong != node->plan->size,
                  "wrong data: byte %zu of a message of %zu bytes from rank %d came back as another; "
                  "the MPI library or the network corrupts messages",
                  node->wrong, node->plan->size, node->world->rank);
}

/* Rank 0: the rows of one round, from what all ranks found. Returns how many. */
static size_t print_round(const struct node *node, size_t pass, int round, const double (*found)[2])
{
    size_t rows = 0;
    for (int starter = 0; starter < node->roster.nodes; starter++) {
        const int other = node->roster.to[starter];
        if (other < 0) {
            continue;
        }
        if (!(found[starter][1] > 0.0)) {
            fc_abort(
                "%zu ping-pongs of %zu bytes took no time that MPI_Wtime can measure; raise "
                "--repetitions",
                node->plan->repetitions, node->plan->size);
        }
        fc_print(node->world, "%zu %d %d %d %.6g %.6g\n", pass, round, starter, other, found[starter][0], found[starter][1]);
        rows++;
    }
    return rows;
}

/* Collective: rank 0 prints all rows. Returns how many, there. */
static size_t print_all(struct node *node)
{
    const struct fc_world *const world = node->world;
    const size_t nodes = world->rank == 0 ? (size_t)world->size : 0;
    double (*const found)[2] = fc_allocate_all(world, nodes, sizeof *found);
    size_t rows = 0;
    for (size_t pass = 0; pass < node->plan->passes; pass++) {
        for (int index = 0; index < node->layout.rounds; index++) {
            const int round = fc_round_number(&node->layout, index);
            FC_MPI(MPI_Gather(node->found[pass * (size_t)node->layout.rounds + (size_t)index], 2, MPI_DOUBLE, found, 2,
                              MPI_DOUBLE, 0, world->comm));
            if (world->rank == 0) {
                fc_set_round(&node->layout, round, node->order, &node->roster);
                rows += print_round(node, pass, round, (const double (*)[2])found);
            }
        }
    }
    fc_check_output(world);
    free(found);
    return rows;
}

static struct node make_node(const struct fc_world *world, const struct plan *plan)
{
    struct node node = {.world = world, .plan = plan, .wrong = plan->size};
    node.layout = fc_make_layout(world->size, 1, 1, FC_ROUND_ROBIN, (int)plan->shifts, 0);
    const size_t results = plan->passes * (size_t)node.layout.rounds;
    fc_require_memory(world, 2 * plan->size + 32 * ((size_t)world->size + results));
    node.roster = fc_make_roster(world, world->size);
    node.order = fc_allocate_all(world, (size_t)world->size, sizeof *node.order);
    node.send = fc_allocate_all(world, plan->size, 1);
    node.receive = fc_allocate_all(world, plan->size, 1);
    node.samples = fc_allocate_all(world, plan->samples, sizeof *node.samples);
    node.found = fc_allocate_all(world, results, sizeof *node.found);
    for (size_t i = 0; i < results; i++) {
        node.found[i][0] = node.found[i][1] = 0.0;
    }
    fc_fill(node.send, plan->size, world->rank);
    return node;
}

static void free_node(struct node *node)
{
    fc_free_roster(&node->roster);
    free(node->order);
    free(node->send);
    free(node->receive);
    free(node->samples);
    free(node->found);
}

int main(int argc, char **argv)
{
    struct plan plan = {8, 30, 4, 10, 2, 0};
    const struct fc_option options[] = {
        {"size", FC_SIZE, &plan.size, 1, 65536, "message size, bytes", NULL},
        {"samples", FC_COUNT, &plan.samples, 1, 100000, "samples of a pair in a round", NULL},
        {"repetitions", FC_COUNT, &plan.repetitions, 1, 100000, "ping-pongs of a sample", NULL},
        {"warmup", FC_COUNT, &plan.warmup, 0, 100000, "untimed ping-pongs before them", NULL},
        {"passes", FC_COUNT, &plan.passes, 1, 1000, "how often all rounds are measured", NULL},
        {"shifts", FC_COUNT, &plan.shifts, 0, 1000000,
         "rounds of a pass, spread as those of rotate; 0 or more than there are: all", NULL},
        FC_NO_MORE_OPTIONS,
    };
    const struct fc_world world = fc_start(argc, argv, method, options);
    fc_require_several(&world);
    struct node node = make_node(&world, &plan);
    const bool leads = world.rank == 0;
    fc_begin_head(&world, leads ? fc_clock_resolution() : 0.0, options);
    if (leads) {
        fc_print(&world, "# shifts: %d of %d\n", node.layout.rounds, node.layout.total);
    }
    fc_end_head(&world, method_line, columns);
    const double begin = MPI_Wtime();
    measure_all(&node);
    const double elapsed = MPI_Wtime() - begin;
    const size_t rows = print_all(&node);
    if (leads) {
        fc_print(&world, "# elapsed: %.6g s\n", elapsed);
    }
    free_node(&node);
    return fc_finish(&world, rows);
}
