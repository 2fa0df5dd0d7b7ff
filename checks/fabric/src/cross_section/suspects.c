// SPDX-License-Identifier: BSD-3-Clause
#include "suspects.h"
#include "../common/messages.h"
#include "../common/program.h"
#include "../common/sampling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

size_t fc_spread(size_t index, size_t wanted, size_t count)
{
    return (2 * index + 1) * count / (2 * wanted);
}

size_t fc_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

enum {
    level_percentile = 85, /* of a node's pairs on a side: its level */
    high_percentile = 75   /* of the levels of all nodes */
};

enum {
    offers_lowest = 32, /* of a sender's own pairs, */
    offers_both = 4,    /* of which so many in both directions */
    partners_near = 4,  /* of a suspect node: the nearest by rank, */
    partners_far = 8,   /* and some of all others */
    partners_most = partners_near + partners_far,
    offers_all = offers_lowest + 2 * partners_most
};

/* Returns the share of the expected bandwidth below which a pair is slow. */
static double threshold(const struct node *node)
{
    return 1.0 - node->plan->suspect_share;
}

/*
 * Returns the level of a node as a share of what is usual. The median of its pairs would not do: where links are shared,
 * that depends on who shares with it.
 */
static double share_of(const struct verdict *verdict, int rank, int side)
{
    return verdict->levels[rank][side] / verdict->usual_levels[side];
}

bool fc_is_slow(const struct node *node, const struct verdict *verdict, int rank, int side)
{
    return verdict->levels[rank][side] >= 0.0 && share_of(verdict, rank, side) < threshold(node);
}

double fc_own_share(const struct node *node, const struct verdict *verdict, int rank)
{
    double worst = 1.0;
    for (int side = 0; side < 2; side++) {
        const double share = share_of(verdict, rank, side);
        worst = fc_is_slow(node, verdict, rank, side) && share < worst ? share : worst;
    }
    return worst;
}

enum { kind_least = 3 /* nodes that are as slow: of another kind, as old adapters are */ };

void fc_find_single(const struct node *node, struct verdict *verdict)
{
    for (int rank = 0; rank < node->world->size; rank++) {
        for (int side = 0; side < 2; side++) {
            int alike = 0;
            const bool slow = fc_is_slow(node, verdict, rank, side);
            for (int other = 0; slow && other < node->world->size; other++) {
                const double apart = share_of(verdict, other, side) - share_of(verdict, rank, side);
                alike += fabs(apart) < node->plan->suspect_share / 2 ? 1 : 0;
            }
            verdict->single[rank][side] = slow && alike < kind_least;
        }
    }
}

/*
 * A pair of a suspect node is held to the usual level: on links that are shared the median of all pairs is half of
 * that. The others nearly so.
 */
bool fc_is_slow_again(const struct node *node, const struct verdict *verdict, const struct suspect *at)
{
    const bool slow[2] = {fc_is_slow(node, verdict, at->sender, as_sender),
                          fc_is_slow(node, verdict, at->receiver, as_receiver)};
    double reference = verdict->overall;
    for (int side = 0; side < 2; side++) {
        const double level = verdict->usual_levels[side];
        const double at_least = slow[side] ? level : threshold(node) * level;
        reference = at_least > reference ? at_least : reference;
    }
    return at->best < threshold(node) * reference;
}

bool fc_is_within_a_host(const struct verdict *verdict, int sender, int receiver)
{
    return !verdict->one_host && verdict->hosts[sender] == verdict->hosts[receiver];
}

/* Returns the bandwidth that a pair should reach, given the levels of its two nodes. */
static double expected(const struct node *node, const struct verdict *verdict, int sender, int receiver)
{
    const int ranks[2] = {sender, receiver};
    double usual = verdict->overall;
    double worst = 1.0;
    for (int side = 0; side < 2; side++) {
        const double share = share_of(verdict, ranks[side], side);
        const double nearly = threshold(node) * verdict->usual_levels[side];
        usual = nearly > usual ? nearly : usual;
        if (fc_is_slow(node, verdict, ranks[side], side) && share < worst) {
            worst = share;
        }
    }
    return usual * worst;
}

/* Returns the level of a node on a side, -1 without pairs; those within a host do not count. */
static double find_level(const struct node *node, const struct verdict *verdict, const struct line *line,
                         double *scratch)
{
    size_t count = 0;
    for (size_t i = 0; i < line->count; i++) {
        if (!fc_is_within_a_host(verdict, node->world->rank, line->at[i].partner)) {
            scratch[count++] = line->at[i].MBps;
        }
    }
    qsort(scratch, count, sizeof *scratch, fc_compare_doubles);
    return count > 0 ? scratch[(level_percentile * count + 99) / 100 - 1] : -1.0;
}

/*
 * Rank 0: returns the usual level of the nodes on a side, 0 if none is known: the median or, if that is more, almost
 * their upper quartile. The median alone would not do: where half of the nodes are of a slower kind, one of the others
 * that is slow would look usual. Nor would the quartile: of strong noise many nodes would look slow.
 */
static double find_usual_level(const struct node *node, const struct verdict *verdict, int side)
{
    double *const levels = node->ledger.scratch;
    size_t count = 0;
    for (int rank = 0; rank < node->world->size; rank++) {
        if (verdict->levels[rank][side] >= 0.0) {
            levels[count++] = verdict->levels[rank][side];
        }
    }
    qsort(levels, count, sizeof *levels, fc_compare_doubles);
    if (count == 0) {
        return 0.0;
    }
    const double median = fc_median(levels, count);
    const double high = (1.0 - node->plan->suspect_share / 2) * levels[(high_percentile * count + 99) / 100 - 1];
    return high > median ? high : median;
}

void fc_share_levels(struct node *node, struct verdict *verdict, double *scratch)
{
    const struct fc_world *const world = node->world;
    const double mine[2] = {find_level(node, verdict, &node->row, scratch),
                            find_level(node, verdict, &node->column, scratch)};
    double common[3] = {0.0, 0.0, 0.0};
    /* Not MPI_Allgather: its N^2 messages take a simulator longer than the whole scan. */
    FC_MPI(MPI_Gather(mine, 2, MPI_DOUBLE, verdict->levels, 2, MPI_DOUBLE, 0, world->comm));
    if (world->rank == 0) {
        common[0] = fc_median_of(node->ledger.medians, (size_t)node->layout.rounds, scratch);
        common[1] = find_usual_level(node, verdict, 0);
        common[2] = find_usual_level(node, verdict, 1);
    }
    FC_MPI(MPI_Bcast(verdict->levels, 2 * world->size, MPI_DOUBLE, 0, world->comm));
    FC_MPI(MPI_Bcast(common, 3, MPI_DOUBLE, 0, world->comm));
    verdict->overall = common[0];
    verdict->usual_levels[0] = common[1];
    verdict->usual_levels[1] = common[2];
    for (int rank = 0; rank < world->size; rank++) {
        verdict->senders += fc_is_slow(node, verdict, rank, as_sender) ? 1 : 0;
        verdict->receivers += fc_is_slow(node, verdict, rank, as_receiver) ? 1 : 0;
    }
}

void fc_share_hosts(struct node *node, struct verdict *verdict)
{
    const struct fc_world *const world = node->world;
    char host[MPI_MAX_PROCESSOR_NAME + 1];
    fc_host(host);
    fc_share_names(world, host, sizeof host, verdict->hosts);
    verdict->one_host = true;
    for (int rank = 0; rank < world->size; rank++) {
        verdict->one_host = verdict->one_host && verdict->hosts[rank] == verdict->hosts[0];
    }
}

void fc_wait_for_others(const struct node *node, struct verdict *verdict)
{
    const double begin = MPI_Wtime();
    const struct timespec pause = {(time_t)node->plan->confirm_pause, 0};
    nanosleep(&pause, NULL);
    verdict->paused += MPI_Wtime() - begin;
}

/* ------------------------------------------------------------ what looks slow */

/* A suspect pair as a rank offers it to rank 0. */
struct offer {
    int order; /* see struct suspect; -1: none */
    int sender;
    int receiver;
};

/* Sets an offer, unless the pair is within a host; returns how many were set. */
static size_t offer(const struct verdict *verdict, size_t order, int sender, int receiver, struct offer *into)
{
    if (fc_is_within_a_host(verdict, sender, receiver)) {
        return 0;
    }
    *into = (struct offer){(int)order, sender, receiver};
    return 1;
}

/* Offers the lowest suspects of this sender, lowest first, after those of nodes. Returns how many there are. */
static size_t offer_lowest(const struct node *node, const struct verdict *verdict, struct offer *offers)
{
    const int sender = node->world->rank;
    double share[offers_lowest];
    size_t count = 0;
    for (size_t i = 0; i < node->row.count; i++) {
        const struct meeting *const met = &node->row.at[i];
        const double reached = met->MBps / expected(node, verdict, sender, met->partner);
        if (reached >= threshold(node) || fc_is_within_a_host(verdict, sender, met->partner) ||
            (count == offers_lowest && reached >= share[count - 1])) {
            continue;
        }
        size_t at = count < offers_lowest ? count++ : count - 1;
        for (; at > 0 && share[at - 1] > reached; at--) {
            share[at] = share[at - 1];
            offers[at] = offers[at - 1];
        }
        share[at] = reached;
        offers[at] = (struct offer){0, sender, met->partner};
    }
    for (size_t i = 0; i < count; i++) {
        offers[i].order = (int)(partners_most + i);
    }
    return count;
}

/*
 * Sets the partners of a suspect node: the nearest by rank, which as a rule are at the same switch, and some of the
 * rest, at distances that differ: with static routing every 16th may be behind the same cable. Returns how many.
 */
static size_t find_partners(int rank, int ranks, int partners[partners_most])
{
    const int window = ranks < partners_near + 1 ? ranks : partners_near + 1;
    const int middle = rank - partners_near / 2;
    const int first = middle < 0 ? 0 : middle > ranks - window ? ranks - window : middle;
    const int rest = ranks - window;
    const int far = rest < partners_far ? rest : partners_far;
    size_t count = 0;
    for (int near = first; near < first + window; near++) {
        if (near != rank) {
            partners[count++] = near;
        }
    }
    for (int i = 0; i < far; i++) {
        const int at = (int)((long long)i * rest / far) + i * (i + 1) / 2 % (rest / far);
        partners[count++] = at < first ? at : at + window;
    }
    return count;
}

/* Offers the pairs of a suspect node with its partners on its rail, in the direction in which it is slow. */
static size_t offer_partners(const struct node *node, const struct verdict *verdict, bool sends, struct offer *offers)
{
    int partners[partners_most];
    const int rank = node->world->rank;
    const int rails = node->layout.rails;
    const size_t all = find_partners(rank / rails, node->layout.nodes, partners);
    size_t count = 0;
    for (size_t i = 0; i < all; i++) {
        const int partner = partners[i] * rails + rank % rails;
        count += offer(verdict, i, sends ? rank : partner, sends ? partner : rank, &offers[count]);
    }
    return count;
}

static int compare(int a, int b)
{
    return (a > b) - (a < b);
}

int fc_compare_pairs(const void *left, const void *right)
{
    const struct suspect *const a = left;
    const struct suspect *const b = right;
    return a->sender != b->sender ? compare(a->sender, b->sender) : compare(a->receiver, b->receiver);
}

/* Of a pair that is named several times the one that was named first comes first. */
static int compare_names(const void *left, const void *right)
{
    const int by_pair = fc_compare_pairs(left, right);
    return by_pair != 0 ? by_pair
                        : compare(((const struct suspect *)left)->order, ((const struct suspect *)right)->order);
}

static int compare_orders(const void *left, const void *right)
{
    const int by_order = compare(((const struct suspect *)left)->order, ((const struct suspect *)right)->order);
    return by_order != 0 ? by_order : fc_compare_pairs(left, right);
}

int fc_compare_bests(const void *left, const void *right)
{
    const double a = ((const struct suspect *)left)->best;
    const double b = ((const struct suspect *)right)->best;
    return a < b || a > b ? (a > b) - (a < b) : fc_compare_pairs(left, right);
}

/*
 * Rank 0: makes the list of suspects from the offers of all ranks: pairs of suspect nodes and the lowest of each sender
 * in both directions, each direction once, in the order in which they are to be measured.
 */
static void list_suspects(struct verdict *verdict, const struct offer *offers, size_t count)
{
    struct suspect *const list = verdict->suspects;
    size_t all = 0;
    for (size_t i = 0; i < count; i++) {
        const struct offer *const at = &offers[i];
        if (at->order >= 0) {
            list[all++] = (struct suspect){at->order, at->sender, at->receiver, no_round, 0.0, 0.0};
        }
        if (at->order >= 0 && at->order < partners_most + offers_both) {
            list[all++] = (struct suspect){at->order, at->receiver, at->sender, no_round, 0.0, 0.0};
        }
    }
    qsort(list, all, sizeof *list, compare_names);
    for (size_t i = 0; i < all; i++) {
        if (i == 0 || fc_compare_pairs(&list[i], &list[verdict->count - 1]) != 0) {
            list[verdict->count++] = list[i];
        }
    }
    qsort(list, verdict->count, sizeof *list, compare_orders);
}

/* Collective: gathers the suspects at rank 0, a bounded number from each rank. */
void fc_gather_suspects(const struct node *node, struct verdict *verdict)
{
    enum { ints = offers_all * sizeof(struct offer) / sizeof(int) };
    const struct fc_world *const world = node->world;
    const size_t all = world->rank == 0 ? (size_t)world->size * offers_all : 0;
    struct offer mine[offers_all];
    size_t count = offer_lowest(node, verdict, mine);
    if (fc_is_slow(node, verdict, world->rank, as_sender)) {
        count += offer_partners(node, verdict, true, mine + count);
    }
    if (fc_is_slow(node, verdict, world->rank, as_receiver)) {
        count += offer_partners(node, verdict, false, mine + count);
    }
    for (; count < offers_all; count++) {
        mine[count] = (struct offer){-1, -1, -1};
    }
    struct offer *const offers = fc_allocate_all(world, all, sizeof *offers);
    verdict->suspects = fc_allocate_all(world, 2 * all, sizeof *verdict->suspects);
    FC_MPI(MPI_Gather(mine, ints, MPI_INT, offers, ints, MPI_INT, 0, world->comm));
    if (world->rank == 0) {
        list_suspects(verdict, offers, all);
    }
    free(offers);
}

/* ------------------------------------------------- how much is measured again */

enum {
    repeats_planned = 4, /* those of --confirm-repeats as it stands */
    controls_kept = 8,   /* that `together` leaves room for */
};

static size_t log2_below(size_t value)
{
    size_t bits = 0;
    while (value > 1) {
        value /= 2;
        bits++;
    }
    return bits;
}

/* So that all is done in N/2 + 80 log2 N rounds, whatever is slow. */
struct budget fc_find_budget(size_t nodes, size_t limit)
{
    const size_t bits = log2_below(nodes);
    struct budget budget;
    budget.all = (nodes / 2 + 80 * bits) / repeats_planned;
    budget.alone = limit > 0 ? limit : 8 * bits + nodes / 16;
    budget.of_others = limit > 0 ? 0 : 4 * bits;
    const size_t rest = budget.all - (12 * bits + nodes / 16);
    budget.controls = fc_least(controls_kept, rest / 3);
    budget.together = rest - budget.controls;
    return budget;
}
