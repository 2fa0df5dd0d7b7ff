// SPDX-License-Identifier: BSD-3-Clause
#include "exchanges.h"
#include "../common/messages.h"
#include "../common/program.h"
#include "../common/sampling.h"

#include <stdlib.h>
#include <string.h>

enum {
    rounds_of_rail = 2, /* a node with the next one on either hand: at one switch as a rule, so that no cable is shared */
    doubtful_most = 4,  /* nodes that are measured again, */
    partners = 2,       /* each with so many others */
    rounds_of_doubtful = 1 + partners + 2
};

/* A node that is slow in its exchanges, as rank 0 keeps it. */
struct doubtful {
    int rank;
    int partner[partners]; /* the nearest that are not slow */
    double share;          /* its rate in exchanges over its one-way rate in the scan, relative to the other nodes */
    double best;           /* alone, with any partner, MBps */
    double control;        /* of its partners with each other, MBps */
};

/* Makes two ranks send to each other. */
static void add_exchange(struct fc_roster *roster, int one, int other)
{
    fc_add_pair(roster, one, other);
    fc_add_pair(roster, other, one);
}

/* Sets a round of `both`: nodes 0 and 1, 2 and 3, ...; then 1 and 2, 3 and 4, ..., of an even number the last and 0. */
static void set_exchanges(struct node *node, int number)
{
    const struct fc_layout *const layout = &node->layout;
    const int first = number / layout->share;
    fc_clear_roster(&node->roster);
    for (int at = first; at + 1 < first + layout->nodes; at += 2) {
        const int one = at % layout->nodes * layout->rails;
        const int other = (at + 1) % layout->nodes * layout->rails;
        for (int rail = number % layout->share; rail < layout->rails; rail += layout->share) {
            add_exchange(&node->roster, one + rail, other + rail);
        }
    }
}

/* Rank 0: returns the rate of a rank's exchange that was just measured: that of its slower direction. */
static double rate_of(const struct node *node, int rank)
{
    const double there = node->ledger.best[rank];
    const double back = node->ledger.best[node->roster.to[rank]];
    return there < back ? there : back;
}

/* Rank 0: keeps the best exchange of each rank. */
static void keep_exchanges(const struct node *node, double *best)
{
    for (int rank = 0; rank < node->roster.nodes; rank++) {
        const double rate = node->roster.to[rank] >= 0 ? rate_of(node, rank) : 0.0;
        best[rank] = rate > best[rank] ? rate : best[rank];
    }
}

static int compare_shares(const void *left, const void *right)
{
    const struct doubtful *const a = left;
    const struct doubtful *const b = right;
    return a->share != b->share ? (a->share > b->share) - (a->share < b->share) : a->rank - b->rank;
}

/* Rank 0: returns whether a rank is among the slow ones. */
static bool is_among(const struct doubtful *slow, int count, int rank)
{
    bool found = false;
    for (int i = 0; i < count; i++) {
        found = found || slow[i].rank == rank;
    }
    return found;
}

/* Rank 0: sets the partners of a rank, the nearest nodes that are not slow; returns whether there are enough. */
static bool find_partners(const struct node *node, const struct verdict *verdict, const struct doubtful *slow, int count,
                          struct doubtful *at)
{
    int found = 0;
    for (int away = 1; away < node->layout.nodes; away++) {
        for (int step = -away; step <= away && found < partners; step += 2 * away) {
            const int other = at->rank + step * node->layout.rails;
            if (other >= 0 && other < node->roster.nodes && !fc_is_within_a_host(verdict, at->rank, other) &&
                !is_among(slow, count, other)) {
                at->partner[found++] = other;
            }
        }
    }
    return found == partners && !fc_is_within_a_host(verdict, at->partner[0], at->partner[1]);
}

/*
 * Rank 0: finds the nodes whose best exchange is slow, those first that are not slow one way; returns how many are
 * measured. Where links were shared in the scan a node may look slow one way that is not.
 */
static int find_doubtful(struct node *node, const struct verdict *verdict, const double *best, struct doubtful *slow)
{
    const double usual = fc_median_of(best, (size_t)node->roster.nodes, node->ledger.scratch);
    int count = 0;
    int kept = 0;
    for (int rank = 0; rank < node->roster.nodes; rank++) {
        const double share = best[rank] / usual;
        if (best[rank] > 0.0 && share < 1.0 - node->plan->suspect_share) {
            slow[count++] = (struct doubtful){.rank = rank, .share = share / fc_own_share(node, verdict, rank)};
        }
    }
    qsort(slow, (size_t)count, sizeof *slow, compare_shares);
    while (kept < count && kept < doubtful_most && find_partners(node, verdict, slow, count, &slow[kept])) {
        kept++;
    }
    return kept;
}

/* Collective: measures rank 0's roster alone. */
static void measure_roster(struct node *node, int number)
{
    fc_share_roster(node);
    fc_measure_round(node, "both-alone", number);
}

/* Collective: measures an exchange alone, by rank 0's ranks; returns its rate on rank 0. */
static double measure_exchange(struct node *node, int number, int one, int other)
{
    if (node->world->rank == 0) {
        fc_clear_roster(&node->roster);
        add_exchange(&node->roster, one, other);
    }
    measure_roster(node, number);
    return node->world->rank == 0 ? rate_of(node, one) : 0.0;
}

/* Collective: measures a pair alone one way, by rank 0's ranks. */
static void measure_one_way(struct node *node, int number, int sender, int receiver)
{
    if (node->world->rank == 0) {
        fc_clear_roster(&node->roster);
        fc_add_pair(&node->roster, sender, receiver);
    }
    measure_roster(node, number);
}

/*
 * Collective: measures the partners of a node with each other, then it with each of them, and with the first one way and
 * then the other: it may have become slow since the scan.
 */
static void measure_doubtful(struct node *node, struct doubtful *at, int number)
{
    const double control = measure_exchange(node, number, at->partner[0], at->partner[1]);
    at->control = control > at->control ? control : at->control;
    for (int i = 0; i < partners; i++) {
        const double rate = measure_exchange(node, number + 1 + i, at->rank, at->partner[i]);
        at->best = rate > at->best ? rate : at->best;
    }
    measure_one_way(node, number + 1 + partners, at->rank, at->partner[0]);
    measure_one_way(node, number + 2 + partners, at->partner[0], at->rank);
}

/* Rank 0: drops the nodes that were fast once; returns how many are left. */
static int keep_slow(const struct node *node, struct doubtful *slow, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (slow[i].best < (1.0 - node->plan->suspect_share) * slow[i].control) {
            slow[kept++] = slow[i];
        }
    }
    return kept;
}

void fc_measure_exchanges(struct node *node, struct verdict *verdict)
{
    const struct fc_world *const world = node->world;
    const bool leads = world->rank == 0;
    const int rounds = rounds_of_rail * node->layout.share;
    const int repeats = (int)node->plan->confirm_repeats;
    const size_t ranks = (size_t)world->size;
    double *const best = fc_allocate_all(world, ranks, sizeof *best);
    struct doubtful *const slow = fc_allocate_all(world, ranks + doubtful_most, sizeof *slow);
    const double begin = MPI_Wtime();
    int number = 0;
    memset(slow, 0, (ranks + doubtful_most) * sizeof *slow);
    for (size_t rank = 0; rank < ranks; rank++) {
        best[rank] = 0.0;
    }
    for (int round = 0; round < rounds; round++) {
        set_exchanges(node, round);
        fc_measure_round(node, "both", round);
        if (leads) {
            keep_exchanges(node, best);
        }
        fc_print_progress(node, "both, round", round + 1, rounds, begin);
    }
    int count = leads ? find_doubtful(node, verdict, best, slow) : 0;
    for (int repeat = 0; repeat < repeats; repeat++) {
        FC_MPI(MPI_Bcast(&count, 1, MPI_INT, 0, world->comm));
        if (leads && count > 0 && repeat > 0 && repeat == repeats - 1) {
            fc_wait_for_others(node, verdict);
        }
        for (int i = 0; i < count; i++, number += rounds_of_doubtful) {
            measure_doubtful(node, &slow[i], number);
        }
        if (leads) {
            count = keep_slow(node, slow, count);
        }
    }
    free(best);
    free(slow);
}
