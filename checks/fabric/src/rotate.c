// SPDX-License-Identifier: BSD-3-Clause
/*
 * Cross-section bandwidth: many pairs of nodes stream at once, over rounds that change partners. After T. Naegle's
 * `rotate` (cross-sectional bandwidth testing on Feynman and Rogue, June 2004), with the patterns of two relatives:
 * LLNL's mpiGraph (`shift`) and netgauge's effective bisection bandwidth (`bisection`).
 */
#include "common/messages.h"
#include "common/program.h"
#include "common/sampling.h"
#include "cross_section/confirm.h"
#include "cross_section/leaves.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

const char fc_program[] = "rotate";

static const char method[] =
    "rotate: bandwidth of pairs of nodes that stream at once, over rounds of changing partners.\n"
    "One rank is one node: run one process per node, on two nodes or more:\n"
    "  mpirun -np 64 rotate\n"
    "or one process per GPU: see --rails.\n"
    "\n"
    "Patterns for N nodes:\n"
    "  rotate     H = N/2 pairs; in round k = 0 .. H-1 node i streams to node H + (i + k) mod H\n"
    "             (Naegle's cross-section test)\n"
    "  shift      in round k = 0 .. N-2 every node streams to the (k+1)-th after it and receives\n"
    "             from the (k+1)-th before it at the same time (as LLNL's mpiGraph)\n"
    "  bisection  N/2 rounds, or --shifts, of random matchings that --seed determines (as\n"
    "             netgauge's effective bisection bandwidth)\n"
    "  round-robin  a tournament by the circle method: M seats, M = N for an odd N and N - 1 for an\n"
    "             even one, where rank N/2 has no seat and the ranks above it have the seat before.\n"
    "             In round k = 0 .. M-1 seats whose sum is k modulo M meet. They are equally far\n"
    "             from the one in the middle: from the upper to the lower by an odd number of\n"
    "             seats, from the lower to the upper by an even one (of 16 nodes and more the other\n"
    "             way if the seat that comes first is odd and the other one even). The one in the\n"
    "             middle meets rank N/2, which sends if that seat is odd; with an odd N it has a\n"
    "             bye. Rounds M .. 2M-1 are the same the other way: then all ordered pairs were\n"
    "             measured.\n"
    "             With --shifts N/2, rounded up, every node sends and receives, in turns, and all\n"
    "             groups of four nodes and more that follow each other by rank reach each other\n"
    "             in both directions.\n"
    "With an odd N the last node is left out of rotate and bisection. --shifts S measures S rounds,\n"
    "evenly spread from the first to the last; of round-robin up to M of the first M, and beyond that\n"
    "all of these and some of the rest. The last lines list what was not measured.\n"
    "\n"
    "A test of a round: receivers post all receives, a barrier, then every sender starts its\n"
    "messages one after the other from one buffer. A receiver that has them all sends an empty\n"
    "acknowledgement at once, and the sender's clock stops when it is there. The bandwidth is\n"
    "that of the best test: messages * size / time, in 10^6 bytes/s; then slowest; median last.\n"
    "An untimed message opens the connection before a round, unless --no-warm-up is given, as in a\n"
    "simulator; after it one byte per page is compared.\n"
    "\n"
    "--confirm measures again what looks slow: one low value among N^2/4 proves nothing. Suspect\n"
    "is a node that as sender or as receiver has a level, the 85th percentile of its pairs, below\n"
    "(1 - suspect-share) times the usual level (the median of the nodes' levels or, if that is more,\n"
    "(1 - suspect-share / 2) times their 75th percentile); it is measured with the four nearest by\n"
    "rank and eight others. Suspect is a pair that is as far below what is usual (the median of all\n"
    "pairs or, if that is more, (1 - suspect-share) times the usual level), after what its own nodes\n"
    "lack. Pairs within a host are left out, unless there is only one host.\n"
    "  together   suspects, packed into rounds, with the pairs of the next ranks; those that are\n"
    "             slow once more, in other rounds, and so on: with fewer pairs fewer share a link\n"
    "  alone      each pair that stays slow, by itself: those of one suspect node, then of two, the\n"
    "             slowest first, nodes unlike others before all; of the rest, half are pairs that differ\n"
    "             from those next to them, and half are evenly spread\n"
    "  control    pairs drawn from all that did not stay slow, each alone; more of them if a pair is\n"
    "             slow alone\n"
    "All are measured once before any is repeated. If a pair was slow alone in every repeat so far, the\n"
    "last one waits for confirm-pause: other traffic ends, a fault stays. In these phases rounds count\n"
    "measurements; by default there are N/2 + 80 log2 N at most.\n"
    "\n"
    "A rank needs memory for two messages and for some numbers per node. The last lines give the\n"
    "time of all transfers (the slowest pair of each test) and the time that passed without pause.\n";

static const char method_line[] =
    "after a barrier all pairs of a round stream messages MPI_Isend of size bytes at once; MBps is "
    "messages * size / (time to the acknowledgement of all), best of tests, and slowest_MBps that "
    "of the slowest, median_MBps of the median one; phase scan is the pattern, leaf the ways of "
    "groups to others; in both and both-alone two nodes send to each other at once; the other phases, and "
    "both-alone, measure suspects again";

static const char columns[] = "round sender receiver MBps slowest_MBps phase median_MBps";

/* ----------------------------------------------------------------- the scan */

static void note(struct line *line, int partner, double MBps)
{
    line->at[line->count++] = (struct meeting){partner, MBps};
}

/*
 * Every rank keeps its own row of the matrix, as sender, and its own column, as receiver, whose values it gets from its
 * senders if they are of use; nobody keeps the whole.
 */
static void keep_round(struct node *node)
{
    const int to = node->roster.to[node->world->rank];
    const int from = node->roster.from[node->world->rank];
    double mine = to >= 0 ? fc_best_MBps(node->plan, node->plan->size, node->times, 1) : 0.0;
    double theirs = 0.0;
    if (node->plan->confirm) {
        FC_MPI(MPI_Sendrecv(&mine, 1, MPI_DOUBLE, fc_partner_or_null(to), tag_best, &theirs, 1, MPI_DOUBLE,
                            fc_partner_or_null(from), tag_best, node->world->comm, MPI_STATUS_IGNORE));
    }
    if (to >= 0) {
        note(&node->row, to, mine);
    }
    if (from >= 0) {
        note(&node->column, from, theirs);
    }
}

/* Rank 0: the median of the round that was just measured. */
static double round_median(struct node *node)
{
    struct ledger *const ledger = &node->ledger;
    size_t count = 0;
    for (int sender = 0; sender < node->roster.nodes; sender++) {
        if (node->roster.to[sender] >= 0) {
            ledger->best[count++] = ledger->best[sender];
        }
    }
    return fc_median_of(ledger->best, count, ledger->scratch);
}

/*
 * The scan, a row of the matrix of pairs after the other along its diagonals:
 *
 *   for each measured round of the pattern
 *       everybody works out who streams to whom
 *       an untimed message opens each pair's connection
 *       `tests` times: receives are posted, a barrier, all pairs stream at once
 *       the senders' times go to rank 0, which prints a row for each pair
 *       a byte per page of what arrived is compared
 *       sender and receiver keep their value of the pair, and rank 0 the median of
 *       the round
 */
static void scan(struct node *node)
{
    const struct fc_layout *const layout = &node->layout;
    const double begin = MPI_Wtime();
    for (int index = 0; index < layout->rounds; index++) {
        const int round = fc_round_number(layout, index);
        fc_set_round(layout, round, node->order, &node->roster);
        fc_measure_round(node, "scan", round);
        keep_round(node);
        if (node->world->rank == 0) {
            node->ledger.medians[index] = round_median(node);
        }
        fc_print_progress(node, "round", index + 1, layout->rounds, begin);
    }
}

/* ------------------------------------------------------------ head and foot */

/* Collective, prints on rank 0. */
static void print_head(const struct node *node, const struct fc_option *options)
{
    const struct fc_layout *const layout = &node->layout;
    const struct fc_world *const world = node->world;
    const bool leads = world->rank == 0;
    const int last = world->size - 1;
    char host[MPI_MAX_PROCESSOR_NAME + 1]; /* of the last node, which may be left out */
    fc_begin_head(node->world, leads ? fc_clock_resolution() : 0.0, options);
    fc_host(host);
    FC_MPI(MPI_Bcast(host, (int)sizeof host, MPI_CHAR, last, node->world->comm));
    fc_print_memory(&node->transfers.memory);
    if (leads) {
        fc_print(world, "# nodes: %d\n# left out: ", layout->nodes);
        if (layout->active == layout->nodes) {
            fc_print(world, "none\n");
        } else if (layout->rails == 1) {
            fc_print(world, "rank %d host %s\n", last, host);
        } else {
            fc_print(world, "ranks %d-%d host %s\n", last - layout->rails + 1, last, host);
        }
        fc_print_leaves(world, &node->leaves);
        fc_print(world, "# pattern: %s\n# shifts: %d of %d%s\n", fc_pattern_names[layout->pattern], layout->rounds,
               layout->total, layout->rounds < layout->total ? ", evenly spread" : "");
    }
    fc_end_head(node->world, method_line, columns);
}

/* Returns with how many others a node was the sender; `met` has an entry for each node. */
static int count_partners(const struct line *row, bool *met, int nodes)
{
    int count = 0;
    memset(met, 0, (size_t)nodes * sizeof *met);
    for (size_t i = 0; i < row->count; i++) {
        count += met[row->at[i].partner] ? 0 : 1;
        met[row->at[i].partner] = true;
    }
    return count;
}

/* Rank 0: the line of the ranks that never sent, or never received, from pairs of both counts. */
static void print_never(const struct fc_world *world, const char *what, const int (*counts)[2], int side, int nodes)
{
    const char *before = "ranks ";
    fc_print(world, "# never %s: ", what);
    for (int rank = 0; rank < nodes; rank++) {
        int last = rank;
        if (counts[rank][side] > 0) {
            continue;
        }
        while (last + 1 < nodes && counts[last + 1][side] == 0) {
            last++;
        }
        fc_print(world, last > rank ? "%s%d-%d" : "%s%d", before, rank, last);
        before = ",";
        rank = last;
    }
    fc_print(world, "%s\n", before[0] == ',' ? "" : "none");
}

/* Collective, prints on rank 0: how much of all there is was measured, and who had no part in it. */
static void print_measured(const struct node *node)
{
    const struct fc_world *const world = node->world;
    const int nodes = world->size;
    bool *const met = fc_allocate_all(world, (size_t)nodes, sizeof *met);
    int (*const counts)[2] = fc_allocate_all(world, world->rank == 0 ? (size_t)nodes : 0, sizeof *counts);
    const int mine[2] = {count_partners(&node->row, met, nodes), (int)node->column.count};
    FC_MPI(MPI_Gather(mine, 2, MPI_INT, counts, 2, MPI_INT, 0, world->comm));
    if (world->rank == 0) {
        long long pairs = 0;
        for (int rank = 0; rank < nodes; rank++) {
            pairs += counts[rank][0];
        }
        fc_print(world, "# ordered pairs: %lld of %lld\n", pairs, (long long)nodes * (node->layout.nodes - 1));
        print_never(world, "sender", (const int (*)[2])counts, 0, nodes);
        print_never(world, "receiver", (const int (*)[2])counts, 1, nodes);
    }
    free(met);
    free(counts);
}

/* Rank 0: the lines between the last row and the last line. */
static void print_foot(const struct node *node, const struct verdict *verdict, double elapsed)
{
    const struct fc_world *const world = node->world;
    const double transfers = node->ledger.transfers;
    fc_print(world, "# suspects: ");
    if (!node->plan->confirm) {
        fc_print(world, "not measured again\n");
    } else if (verdict->count == 0) {
        fc_print(world, "none\n");
    } else {
        fc_print(world, "%zu pairs of %lld, %d senders, %d receivers; %zu measured again, %zu alone\n", verdict->count,
               (long long)world->size * (node->layout.nodes - 1), verdict->senders, verdict->receivers,
               verdict->again, verdict->alone);
    }
    fc_print(world, "# transfers: %.6g s\n# elapsed: %.6g s\n# elapsed over transfers: %.3f\n", transfers, elapsed,
           elapsed / transfers);
}

/* -------------------------------------------------------------------- setup */

/* Collective: rank 0's ledger; the other ranks get empty arrays. */
static struct ledger make_ledger(const struct fc_world *world, const struct plan *plan, const struct fc_layout *layout)
{
    const bool leads = world->rank == 0;
    const size_t nodes = leads ? (size_t)world->size : 0;
    const size_t rounds = leads ? (size_t)layout->rounds : 0;
    struct ledger ledger = {NULL, NULL, NULL, NULL, 0.0, 0.0, 0, NULL};
    ledger.times = fc_allocate_all(world, nodes, plan->tests * sizeof *ledger.times);
    ledger.best = fc_allocate_all(world, nodes, sizeof *ledger.best);
    ledger.medians = fc_allocate_all(world, rounds, sizeof *ledger.medians);
    const size_t most = nodes + rounds + plan->confirm_repeats + plan->tests;
    ledger.scratch = fc_allocate_all(world, most, sizeof *ledger.scratch);
    for (size_t rank = 0; rank < nodes; rank++) {
        ledger.best[rank] = 0.0;
    }
    return ledger;
}

/* Collective: ends the program unless each `rails` ranks that follow each other are on one host. */
static void require_rails(const struct fc_world *world, const struct plan *plan)
{
    const int rails = (int)plan->rails;
    int *const hosts = fc_allocate_all(world, (size_t)world->size, sizeof *hosts);
    char host[MPI_MAX_PROCESSOR_NAME + 1];
    if (world->size % rails != 0 || world->size < 2 * rails) {
        fc_usage_error(world, "--rails %d: %d ranks are not %d on each of two nodes or more; start as many on each",
                       rails, world->size, rails);
    }
    if (plan->adapters > 0 && rails % (int)plan->adapters != 0) {
        fc_usage_error(world, "--adapters %zu cannot be shared evenly by --rails %d", plan->adapters, rails);
    }
    if (rails > 1 && plan->groups != NULL) {
        fc_usage_error(world, "--groups cannot be used with --rails: each rail may be at a switch of its own");
    }
    fc_host(host);
    fc_share_names(world, host, sizeof host, hosts);
    for (int rank = 0; rank < world->size; rank++) {
        if (hosts[rank] != hosts[rank - rank % rails]) {
            fc_usage_error(world, "--rails %d: ranks %d and %d are on different hosts; number the ranks host by host",
                           rails, rank - rank % rails, rank);
        }
    }
    free(hosts);
}

static struct node make_node(const struct fc_world *world, const struct plan *plan)
{
    const size_t slots = 2 * plan->messages + 2;
    struct node node = {.world = world, .plan = plan};
    const size_t share = plan->adapters > 0 ? plan->rails / plan->adapters : 1;
    node.layout = fc_make_layout(world->size / (int)plan->rails, (int)plan->rails, (int)share,
                                 (enum fc_pattern)plan->pattern, (int)plan->shifts, plan->seed);
    node.layout.turn = (int)plan->turn;
    const size_t rounds = (size_t)node.layout.rounds;
    fc_require_memory(world, 2 * plan->size + 128 * ((size_t)world->size + rounds + slots));
    node.roster = fc_make_roster(world, world->size);
    node.leaves = fc_find_leaves(world, plan);
    node.order = fc_allocate_all(world, (size_t)world->size, sizeof *node.order);
    node.transfers = fc_make_transfers(world, plan);
    node.times = fc_allocate_all(world, plan->tests, sizeof *node.times);
    node.row.at = fc_allocate_all(world, rounds, sizeof *node.row.at);
    node.column.at = fc_allocate_all(world, rounds, sizeof *node.column.at);
    node.ledger = make_ledger(world, plan, &node.layout);
    return node;
}

static void free_node(struct node *node)
{
    fc_free_leaves(&node->leaves);
    fc_free_roster(&node->roster);
    free(node->order);
    fc_free_transfers(&node->transfers);
    free(node->times);
    free(node->row.at);
    free(node->column.at);
    free(node->ledger.times);
    free(node->ledger.best);
    free(node->ledger.medians);
    free(node->ledger.scratch);
}

static void measure_all(struct node *node)
{
    struct verdict verdict;
    memset(&verdict, 0, sizeof verdict);
    const double begin = MPI_Wtime();
    node->ledger.last_progress = begin;
    scan(node);
    fc_measure_leaves(node);
    if (node->plan->confirm) {
        fc_examine(node, &verdict);
    }
    const double elapsed = MPI_Wtime() - begin - verdict.paused;
    print_measured(node);
    if (node->world->rank == 0) {
        print_foot(node, &verdict, elapsed);
    }
}

int main(int argc, char **argv)
{
    struct plan plan = {.size = (size_t)8 << 20, .messages = 10, .tests = 3, .pattern = FC_ROTATE, .rails = 1,
                        .memory = FC_HOST_MEMORY, .seed = 1, .suspect_share = 0.06, .confirm_repeats = 4,
                        .confirm_pause = 3};
    const struct fc_option options[] = {
        {"size", FC_SIZE, &plan.size, 1, INT_MAX, "message size, bytes", NULL},
        {"messages", FC_COUNT, &plan.messages, 1, 65536, "messages in a row in a test", NULL},
        {"tests", FC_COUNT, &plan.tests, 1, 10000, "tests of a round, the best counts", NULL},
        {"pattern", FC_CHOICE, &plan.pattern, 0, 0, "who streams to whom", fc_pattern_names},
        {"shifts", FC_COUNT, &plan.shifts, 0, 1000000,
         "rounds to measure, evenly spread over those of the pattern; 0 or more than\n"
         "        there are: all; for bisection the number of matchings, 0: half the nodes",
         NULL},
        {"turn", FC_COUNT, &plan.turn, 0, 1000000,
         "of several runs with --shifts, such as nights, the number T of this one: its rounds are\n"
         "        moved by T, modulo the widest distance D of two that follow each other; of\n"
         "        round-robin every second D runs measure the other direction, so that 2 D runs that\n"
         "        follow each other measure all ordered pairs",
         NULL},
        {"seed", FC_COUNT, &plan.seed, 0, UINT32_MAX, "seed of the matchings of bisection", NULL},
        {"rails", FC_COUNT, &plan.rails, 1, 65536,
         "ranks of a node, which follow each other, as in `mpirun -np 64 --map-by ppr:8:node\n"
         "        rotate --memory cuda --rails 8`: pairs are those of the nodes, on all rails at once,\n"
         "        the ranks of one number; what is said of nodes above holds for ranks",
         NULL},
        {"adapters", FC_COUNT, &plan.adapters, 0, 65536,
         "adapters of a node, if fewer than --rails: ranks of one adapter, which follow each other,\n"
         "        take turns, a round each; 0: one for each rail",
         NULL},
        {"memory", FC_CHOICE, &plan.memory, 0, 0,
         "where the buffers are; the MPI library has to accept those on GPUs, and a rank takes the\n"
         "        GPU of its number among the ranks of its host, modulo the GPUs that it sees",
         fc_memory_names},
        {"no-warm-up", FC_FLAG, &plan.no_warm_up, 0, 0, "no untimed message before a round: for simulators", NULL},
        {"confirm", FC_FLAG, &plan.confirm, 0, 0, "measure suspects again", NULL},
        {"suspect-share", FC_REAL, &plan.suspect_share, 1e-6, 0.99,
         "a pair is suspect when it is by this share below what is expected", NULL},
        {"confirm-repeats", FC_COUNT, &plan.confirm_repeats, 1, 1000,
         "measurements of each suspect, each the best of the tests", NULL},
        {"confirm-limit", FC_COUNT, &plan.confirm_limit, 0, 1000000, "most pairs to measure alone; 0: 12 log2 N + N/16",
         NULL},
        {"confirm-pause", FC_COUNT, &plan.confirm_pause, 0, 3600,
         "seconds before the last repeat alone, if a pair was slow in all others", NULL},
        {"both-ways", FC_FLAG, &plan.both_ways, 0, 0,
         "with --confirm: have nodes send and receive at once, too. In the two rounds of the phase\n"
         "        both every node exchanges messages with the next one on one hand, then on the other,\n"
         "        each in both directions at the same time; a row is a direction. The\n"
         "        nodes whose best exchange is by suspect-share below the median of these, four at most\n"
         "        and first those that were not slow one way, are measured again in the phase both-alone:\n"
         "        the two nearest nodes that are not slow with each other, it with each of them, and\n"
         "        one way to the first and from it, each alone, confirm-repeats times as long as it\n"
         "        stays slow",
         NULL},
        {"groups", FC_TEXT, &plan.groups, 0, 0,
         "lines `HOST GROUP`, such as the switch of each host, or the word slurm: by Slurm's\n"
         "        topology. After the scan the phase leaf measures the ways of groups to others: all\n"
         "        nodes of half of the groups stream to those of the other half, each to 8 at once if\n"
         "        there are as many, in messages that are as much smaller, and then these to them. N/4\n"
         "        rounds of changing halves, 6 at least and 16 at most. A row is a flow with its own\n"
         "        time; data are not compared",
         NULL},
        FC_RAW_OPTION(plan.raw_name, "phase round test sender receiver time_us"),
        FC_NO_MORE_OPTIONS,
    };
    const struct fc_world world = fc_start(argc, argv, method, options);
    fc_require_several(&world);
    require_rails(&world, &plan);
    if (plan.both_ways && !plan.confirm) {
        fc_usage_error(&world, "--both-ways measures with --confirm only; give both");
    }
    struct node node = make_node(&world, &plan);
    node.ledger.raw = fc_open_raw(&world, plan.raw_name);
    print_head(&node, options);
    measure_all(&node);
    fc_close_raw(&world, node.ledger.raw);
    const size_t rows = node.ledger.rows;
    free_node(&node);
    return fc_finish(&world, rows);
}
