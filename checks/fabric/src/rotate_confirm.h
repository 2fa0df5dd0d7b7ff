// SPDX-License-Identifier: BSD-3-Clause
/*
 * What looked slow in `rotate` is measured again, together with its neighbours and alone, and
 * so are inconspicuous pairs, as controls.
 */
#ifndef ROTATE_CONFIRM_H
#define ROTATE_CONFIRM_H

#include "rotate_suspects.h"

/* -------------------------------------------------------------- controls */

enum { controls_wanted = 8 };

static bool is_suspect_node(const struct node *node, const struct verdict *verdict, int rank)
{
    return is_slow_sender(node, verdict, rank) || is_slow_receiver(node, verdict, rank);
}

/* True for a pair that is in the list; a list by pair, of pairs that occur once. */
static bool is_listed(const struct verdict *verdict, int sender, int receiver)
{
    size_t low = 0;
    size_t high = verdict->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct suspect *const at = &verdict->suspects[middle];
        if (at->sender == sender && at->receiver == receiver) {
            return true;
        }
        if (at->sender < sender || (at->sender == sender && at->receiver < receiver)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

/*
 * Rank 0: goes over all measured pairs that nothing is said against and stores
 * every one whose turn it is by `total`; returns how many there are. There is no
 * room to store them all, so they are counted first, with a total of 0.
 */
static size_t visit_controls(struct node *node, const struct verdict *verdict, size_t total,
                             struct suspect *controls)
{
    const size_t wanted = least(controls_wanted, total);
    size_t seen = 0;
    size_t stored = 0;
    for (int index = 0; index < node->layout.rounds; index++) {
        const int round = round_number(&node->layout, index);
        set_round(&node->layout, round, node->order, &node->roster);
        for (int sender = 0; sender < node->roster.nodes; sender++) {
            const int receiver = node->roster.to[sender];
            if (receiver < 0 || is_suspect_node(node, verdict, sender) ||
                is_suspect_node(node, verdict, receiver) ||
                is_listed(verdict, sender, receiver)) {
                continue;
            }
            if (stored < wanted && seen == spread(stored, wanted, total)) {
                controls[stored++] = (struct suspect){round, sender, receiver, 1.0, 0.0, -1};
            }
            seen++;
        }
    }
    return seen;
}

/* ------------------------------------------------------ measuring them again */

/*
 * Rank 0: gives every suspect a round of the phase `together`, the first in which
 * both its nodes are free. Returns the number of rounds.
 */
static int pack_suspects(struct node *node, struct verdict *verdict)
{
    size_t placed = 0;
    int rounds = 0;
    while (placed < verdict->count) {
        clear_roster(&node->roster);
        for (size_t i = 0; i < verdict->count; i++) {
            struct suspect *const at = &verdict->suspects[i];
            if (at->place < 0 &&
                is_free(&node->roster, node->layout.pattern, at->sender, at->receiver)) {
                add_pair(&node->roster, at->sender, at->receiver);
                at->place = rounds;
                placed++;
            }
        }
        rounds++;
    }
    return rounds;
}

/* Adds the pair of the next sender of a round, upwards or downwards, if it is free. */
static void add_neighbour(struct node *node, const struct roster *round, int sender, int step)
{
    int next = sender + step;
    while (next >= 0 && next < round->nodes && round->to[next] < 0) {
        next += step;
    }
    if (next >= 0 && next < round->nodes &&
        is_free(&node->roster, node->layout.pattern, next, round->to[next])) {
        add_pair(&node->roster, next, round->to[next]);
    }
}

/* Rank 0: the suspects of one round of `together`, and what streamed beside them in the scan. */
static void set_together(struct node *node, const struct verdict *verdict, int place,
                         struct roster *round)
{
    int filled = -1;
    clear_roster(&node->roster);
    for (size_t i = 0; i < verdict->count; i++) {
        const struct suspect *const at = &verdict->suspects[i];
        if (at->place == place) {
            add_pair(&node->roster, at->sender, at->receiver);
        }
    }
    for (size_t i = 0; i < verdict->count; i++) {
        const struct suspect *const at = &verdict->suspects[i];
        if (at->place != place) {
            continue;
        }
        if (at->round != filled) {
            set_round(&node->layout, at->round, node->order, round);
            filled = at->round;
        }
        add_neighbour(node, round, at->sender, -1);
        add_neighbour(node, round, at->sender, 1);
    }
}

/* Collective: rank 0's roster becomes that of all. */
static void share_roster(struct node *node)
{
    struct roster *const roster = &node->roster;
    FC_MPI(MPI_Bcast(roster->to, roster->nodes, MPI_INT, 0, node->world->comm));
    if (node->world->rank == 0) {
        return;
    }
    for (int rank = 0; rank < roster->nodes; rank++) {
        roster->from[rank] = -1;
    }
    for (int rank = 0; rank < roster->nodes; rank++) {
        if (roster->to[rank] >= 0) {
            roster->from[roster->to[rank]] = rank;
        }
    }
}

/* Rank 0: keeps the medians of the suspects of a round over its repeats. */
static void judge(struct node *node, struct verdict *verdict, int place, const double *values)
{
    const size_t repeats = node->plan->confirm_repeats;
    for (size_t i = 0; i < verdict->count; i++) {
        struct suspect *const at = &verdict->suspects[i];
        if (at->place == place) {
            at->median =
                median_of(values + (size_t)at->sender * repeats, repeats, node->ledger.scratch);
        }
    }
}

/* Collective: the repeats of the roster's pairs; rank 0 gets all values, by sender. */
static void repeat_round(struct node *node, const char *phase, int number, double *values)
{
    const int repeats = (int)node->plan->confirm_repeats;
    share_roster(node);
    for (int repeat = 0; repeat < repeats; repeat++) {
        measure_round(node, phase, number * repeats + repeat);
        for (int rank = 0; values != NULL && rank < node->roster.nodes; rank++) {
            values[(size_t)rank * (size_t)repeats + (size_t)repeat] = node->ledger.best[rank];
        }
    }
}

/* Collective. */
static void measure_together(struct node *node, struct verdict *verdict, struct roster *round)
{
    const bool leads = node->world->rank == 0;
    const double begin = MPI_Wtime();
    const size_t nodes = leads ? (size_t)node->roster.nodes : 0;
    double *const values =
        fc_allocate_all(node->world, nodes, node->plan->confirm_repeats * sizeof *values);
    int rounds = leads ? pack_suspects(node, verdict) : 0;
    FC_MPI(MPI_Bcast(&rounds, 1, MPI_INT, 0, node->world->comm));
    for (int place = 0; place < rounds; place++) {
        if (leads) {
            set_together(node, verdict, place, round);
        }
        repeat_round(node, "together", place, leads ? values : NULL);
        if (leads) {
            judge(node, verdict, place, values);
        }
        tell_progress(node, "together, round", place + 1, rounds, begin);
    }
    free(values);
}

/* Collective: measures the pairs one after the other; the list is rank 0's. */
static void measure_alone(struct node *node, const char *phase, const struct suspect *pairs,
                          size_t count)
{
    char what[32];
    const double begin = MPI_Wtime();
    int rounds = (int)count;
    snprintf(what, sizeof what, "%s, pair", phase);
    FC_MPI(MPI_Bcast(&rounds, 1, MPI_INT, 0, node->world->comm));
    for (int i = 0; i < rounds; i++) {
        if (node->world->rank == 0) {
            clear_roster(&node->roster);
            add_pair(&node->roster, pairs[i].sender, pairs[i].receiver);
        }
        repeat_round(node, phase, i, NULL);
        tell_progress(node, what, i + 1, rounds, begin);
    }
}

/* Rank 0: puts the suspects that stayed slow first, the slowest before; returns how many. */
static size_t keep_slow(const struct node *node, struct verdict *verdict)
{
    const size_t limit = node->plan->confirm_limit > 0 ? node->plan->confirm_limit
                                                       : (size_t)node->layout.pairs;
    size_t slow = 0;
    qsort(verdict->suspects, verdict->count, sizeof *verdict->suspects, compare_medians);
    while (slow < verdict->count && is_slow(node, verdict, verdict->suspects[slow].median)) {
        slow++;
    }
    return least(slow, limit);
}

/*
 * Measures what looked slow again. None of it needs more memory than O(N): a
 * node knows its own row and column of the matrix, and rank 0 gets at most
 * `offers_all` pairs of each.
 *
 *   share the median of all pairs, of each sender and of each receiver
 *   gather the pairs far below what these lead to expect, and some pairs of each
 *   node whose own median is low
 *   choose controls among the rest
 *   pack the suspects into rounds, add their neighbours of the scan, measure
 *   if any are still slow: measure each of them alone, after the controls each alone
 */
static void confirm(struct node *node, struct verdict *verdict, struct roster *round)
{
    const bool leads = node->world->rank == 0;
    struct suspect controls[controls_wanted] = {{0, 0, 0, 0.0, 0.0, -1}};
    size_t eligible = 0;
    gather_suspects(node, verdict);
    int any = verdict->count > 0;
    FC_MPI(MPI_Bcast(&any, 1, MPI_INT, 0, node->world->comm));
    if (!any) {
        return;
    }
    if (leads) {
        eligible = visit_controls(node, verdict, 0, controls);
        visit_controls(node, verdict, eligible, controls);
        qsort(verdict->suspects, verdict->count, sizeof *verdict->suspects, compare_rounds);
    }
    measure_together(node, verdict, round);
    if (leads) {
        verdict->alone = keep_slow(node, verdict);
    }
    const size_t used = verdict->alone > 0 ? least(eligible, controls_wanted) : 0;
    measure_alone(node, "control", controls, used);
    measure_alone(node, "alone", verdict->suspects, verdict->alone);
}

/* Collective: shares the medians, then measures the suspects again; frees what only that needs. */
static void examine(struct node *node, struct verdict *verdict)
{
    const struct fc_world *const world = node->world;
    const size_t values = (size_t)node->layout.rounds;
    struct roster round = make_roster(world, world->size);
    double *const scratch = fc_allocate_all(world, values, sizeof *scratch);
    verdict->medians = fc_allocate_all(world, 2 * (size_t)world->size, sizeof *verdict->medians);
    share_medians(node, verdict, scratch);
    confirm(node, verdict, &round);
    free_roster(&round);
    free(scratch);
    free(verdict->medians);
    free(verdict->suspects);
}

#endif
