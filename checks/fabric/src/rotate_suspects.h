// SPDX-License-Identifier: BSD-3-Clause
/*
 * Which pairs of `rotate` are suspect: those far below what the medians of all pairs, of
 * their sender and of their receiver lead to expect.
 */
#ifndef ROTATE_SUSPECTS_H
#define ROTATE_SUSPECTS_H

#include "rotate_rounds.h"

/* Position in `count` of the item `index` of `wanted` evenly spread ones; wanted <= count. */
static size_t spread(size_t index, size_t wanted, size_t count)
{
    return (2 * index + 1) * count / (2 * wanted);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A pair that is measured again, or a control. */
struct suspect {
    int round;
    int sender;
    int receiver;
    double share;  /* bandwidth in the scan over what was to be expected */
    double median; /* in the phase `together`, MBps */
    int place;     /* its round there */
};

/* What all ranks know after the scan, and on rank 0 the suspects. */
struct verdict {
    double overall;  /* median bandwidth of the scan, MBps */
    double *medians; /* by rank: as sender, as receiver; negative if it was none */
    int senders;     /* suspect ones */
    int receivers;
    struct suspect *suspects; /* rank 0 */
    size_t count;
    size_t alone; /* how many of them are measured alone */
};

enum {
    offers_lowest = 16, /* of a sender's own pairs */
    offers_spread = 8,  /* of the pairs of a suspect node */
    offers_all = offers_lowest + 2 * offers_spread,
    offer_fields = 4 /* round, sender, receiver, share: as doubles, in one gather */
};

/* Far below the median of all pairs; nodes without a median are not. */
static bool is_slow(const struct node *node, const struct verdict *verdict, double MBps)
{
    return MBps >= 0.0 && MBps < (1.0 - node->plan->suspect_share) * verdict->overall;
}

static bool is_slow_sender(const struct node *node, const struct verdict *verdict, int rank)
{
    return is_slow(node, verdict, verdict->medians[2 * rank]);
}

static bool is_slow_receiver(const struct node *node, const struct verdict *verdict, int rank)
{
    return is_slow(node, verdict, verdict->medians[2 * rank + 1]);
}

/* What a pair should reach, given what is known of its two nodes. */
static double expected(const struct node *node, const struct verdict *verdict, int sender,
                       int receiver)
{
    double worst = verdict->overall;
    if (is_slow_sender(node, verdict, sender)) {
        worst = verdict->medians[2 * sender];
    }
    if (is_slow_receiver(node, verdict, receiver) && verdict->medians[2 * receiver + 1] < worst) {
        worst = verdict->medians[2 * receiver + 1];
    }
    return worst;
}

/* The median of a node as sender or receiver, negative if it never was one. */
static double line_median(const struct line *line, double *scratch)
{
    for (size_t i = 0; i < line->count; i++) {
        scratch[i] = line->at[i].MBps;
    }
    qsort(scratch, line->count, sizeof *scratch, fc_compare_doubles);
    return line->count > 0 ? fc_median(scratch, line->count) : -1.0;
}

/* Collective: the medians of all, of each node as sender and of each as receiver. */
static void share_medians(struct node *node, struct verdict *verdict, double *scratch)
{
    const struct fc_world *const world = node->world;
    const double mine[2] = {line_median(&node->row, scratch), line_median(&node->column, scratch)};
    if (world->rank == 0) {
        verdict->overall = median_of(node->ledger.medians, (size_t)node->layout.rounds, scratch);
    }
    /* Not MPI_Allgather: its N^2 messages take a simulator longer than the whole scan. */
    FC_MPI(MPI_Gather(mine, 2, MPI_DOUBLE, verdict->medians, 2, MPI_DOUBLE, 0, world->comm));
    FC_MPI(MPI_Bcast(verdict->medians, 2 * world->size, MPI_DOUBLE, 0, world->comm));
    FC_MPI(MPI_Bcast(&verdict->overall, 1, MPI_DOUBLE, 0, world->comm));
    for (int rank = 0; rank < world->size; rank++) {
        verdict->senders += is_slow_sender(node, verdict, rank) ? 1 : 0;
        verdict->receivers += is_slow_receiver(node, verdict, rank) ? 1 : 0;
    }
}

/* One pair of the node's row or column, with what it reached of what was to be expected. */
static void make_offer(const struct node *node, const struct verdict *verdict, bool sends,
                       const struct meeting *at, double offer[offer_fields])
{
    const int sender = sends ? rank_of(node) : at->partner;
    const int receiver = sends ? at->partner : rank_of(node);
    offer[0] = at->round;
    offer[1] = sender;
    offer[2] = receiver;
    offer[3] = at->MBps / expected(node, verdict, sender, receiver);
}

/* The lowest suspects of this sender, lowest first. Returns how many there are. */
static size_t offer_lowest(const struct node *node, const struct verdict *verdict,
                           double offers[][offer_fields])
{
    size_t count = 0;
    for (size_t i = 0; i < node->row.count; i++) {
        double offer[offer_fields];
        make_offer(node, verdict, true, &node->row.at[i], offer);
        if (offer[3] >= 1.0 - node->plan->suspect_share ||
            (count == offers_lowest && offer[3] >= offers[count - 1][3])) {
            continue;
        }
        size_t at = count < offers_lowest ? count++ : count - 1;
        for (; at > 0 && offers[at - 1][3] > offer[3]; at--) {
            memcpy(offers[at], offers[at - 1], sizeof offer);
        }
        memcpy(offers[at], offer, sizeof offer);
    }
    return count;
}

/* Some pairs of a suspect node, evenly spread over its rounds. Returns how many. */
static size_t offer_spread(const struct node *node, const struct verdict *verdict, bool sends,
                           double offers[][offer_fields])
{
    const struct line *const line = sends ? &node->row : &node->column;
    const size_t wanted = least(offers_spread, line->count);
    for (size_t i = 0; i < wanted; i++) {
        make_offer(node, verdict, sends, &line->at[spread(i, wanted, line->count)], offers[i]);
    }
    return wanted;
}

/* By pair; of several measurements of one the lowest first. */
static int compare_pairs(const void *left, const void *right)
{
    const struct suspect *const a = left;
    const struct suspect *const b = right;
    if (a->sender != b->sender) {
        return a->sender < b->sender ? -1 : 1;
    }
    if (a->receiver != b->receiver) {
        return a->receiver < b->receiver ? -1 : 1;
    }
    return (a->share > b->share) - (a->share < b->share);
}

static int compare_rounds(const void *left, const void *right)
{
    const struct suspect *const a = left;
    const struct suspect *const b = right;
    if (a->round != b->round) {
        return a->round < b->round ? -1 : 1;
    }
    return (a->sender > b->sender) - (a->sender < b->sender);
}

static int compare_medians(const void *left, const void *right)
{
    const double a = ((const struct suspect *)left)->median;
    const double b = ((const struct suspect *)right)->median;
    return a < b || a > b ? (a > b) - (a < b) : compare_pairs(left, right);
}

/* Rank 0: makes the list of suspects, each pair once, from the offers of all ranks. */
static void list_suspects(struct verdict *verdict, double offers[][offer_fields], size_t count)
{
    struct suspect *const list = verdict->suspects;
    size_t all = 0;
    for (size_t i = 0; i < count; i++) {
        if (offers[i][3] >= 0.0) {
            list[all++] = (struct suspect){(int)offers[i][0], (int)offers[i][1],
                                           (int)offers[i][2], offers[i][3], 0.0, -1};
        }
    }
    qsort(list, all, sizeof *list, compare_pairs);
    for (size_t i = 0; i < all; i++) {
        if (i == 0 || list[i].sender != list[verdict->count - 1].sender ||
            list[i].receiver != list[verdict->count - 1].receiver) {
            list[verdict->count++] = list[i];
        }
    }
}

/* Collective: gathers the suspects at rank 0, a bounded number from each rank. */
static void gather_suspects(const struct node *node, struct verdict *verdict)
{
    enum { fields = offers_all * offer_fields };
    const struct fc_world *const world = node->world;
    const size_t all = world->rank == 0 ? (size_t)world->size * offers_all : 0;
    double mine[offers_all][offer_fields];
    size_t count = offer_lowest(node, verdict, mine);
    if (is_slow_sender(node, verdict, world->rank)) {
        count += offer_spread(node, verdict, true, mine + count);
    }
    if (is_slow_receiver(node, verdict, world->rank)) {
        count += offer_spread(node, verdict, false, mine + count);
    }
    for (; count < offers_all; count++) {
        memcpy(mine[count], (const double[offer_fields]){0.0, 0.0, 0.0, -1.0}, sizeof mine[count]);
    }
    double(*const offers)[offer_fields] = fc_allocate_all(world, all, sizeof *offers);
    verdict->suspects = fc_allocate_all(world, all, sizeof *verdict->suspects);
    FC_MPI(MPI_Gather(mine, fields, MPI_DOUBLE, offers, fields, MPI_DOUBLE, 0, world->comm));
    if (world->rank == 0) {
        list_suspects(verdict, offers, all);
    }
    free(offers);
}

#endif
