// SPDX-License-Identifier: BSD-3-Clause
/*
 * The patterns of `rotate`: which rounds there are, and who streams to whom in each.
 *
 * In the headers of this one program functions are not inline: the compiler
 * tells of those that nobody calls any more.
 */
#ifndef ROTATE_PATTERNS_H
#define ROTATE_PATTERNS_H

#include "messages.h"

enum pattern { pattern_rotate, pattern_shift, pattern_bisection };

static const char *const pattern_names[] = {"rotate", "shift", "bisection", NULL};

/* Which rounds there are. The same on all ranks. */
struct layout {
    enum pattern pattern;
    int nodes;
    int active;  /* nodes that take part: all, or all but the last */
    int pairs;   /* in a round */
    int total;   /* rounds of the whole pattern */
    int rounds;  /* measured ones */
    size_t seed;
};

/* Who streams to whom in one round: partner by rank, -1 for none. */
struct roster {
    int nodes;
    int *to;
    int *from;
};

/* Collective; what is in it is not set. */
static struct roster make_roster(const struct fc_world *world, int nodes)
{
    struct roster roster = {nodes, NULL, NULL};
    roster.to = fc_allocate_all(world, (size_t)nodes, sizeof *roster.to);
    roster.from = fc_allocate_all(world, (size_t)nodes, sizeof *roster.from);
    return roster;
}

static void free_roster(struct roster *roster)
{
    free(roster->to);
    free(roster->from);
}

static void clear_roster(struct roster *roster)
{
    for (int rank = 0; rank < roster->nodes; rank++) {
        roster->to[rank] = -1;
        roster->from[rank] = -1;
    }
}

static void add_pair(struct roster *roster, int sender, int receiver)
{
    roster->to[sender] = receiver;
    roster->from[receiver] = sender;
}

/* Only in `shift` may a node send and receive in the same round. */
static bool is_free(const struct roster *roster, enum pattern pattern, int sender, int receiver)
{
    if (roster->to[sender] >= 0 || roster->from[receiver] >= 0) {
        return false;
    }
    return pattern == pattern_shift || (roster->from[sender] < 0 && roster->to[receiver] < 0);
}

/* Steele, Lea, Flood, Fast splittable pseudorandom number generators (OOPSLA 2014). */
static uint64_t split_mix(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/*
 * Fisher-Yates shuffle from seed and round alone, so that all ranks find the
 * same. The seed is mixed before the round is added: neighbouring seeds must not
 * have rounds in common.
 */
static void shuffle(int *order, int count, size_t seed, int round)
{
    uint64_t state = (uint64_t)seed;
    state = split_mix(&state) + (uint64_t)round;
    for (int i = 0; i < count; i++) {
        order[i] = i;
    }
    for (int i = count - 1; i > 0; i--) {
        const int j = (int)(((split_mix(&state) >> 32) * (uint64_t)(i + 1)) >> 32);
        const int kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

/* at + shift modulo count; the sum may be beyond an int. */
static int wrapped(int at, int shift, int count)
{
    return (int)(((long long)at + shift) % count);
}

/* Fills in one round of the pattern; `order` is scratch. */
static void set_round(const struct layout *layout, int round, int *order, struct roster *roster)
{
    const int pairs = layout->pairs;
    clear_roster(roster);
    if (layout->pattern == pattern_bisection) {
        shuffle(order, layout->active, layout->seed, round);
    }
    for (int i = 0; i < pairs; i++) {
        switch (layout->pattern) {
        case pattern_shift: add_pair(roster, i, wrapped(i, round + 1, layout->nodes)); break;
        case pattern_bisection: add_pair(roster, order[2 * i], order[2 * i + 1]); break;
        case pattern_rotate:
        default: add_pair(roster, i, pairs + wrapped(i, round, pairs)); break;
        }
    }
}

/* The number in the full pattern of the measured round `index`: from the first to the last. */
static int round_number(const struct layout *layout, int index)
{
    if (layout->rounds == layout->total) {
        return index;
    }
    const size_t gaps = layout->rounds > 1 ? (size_t)layout->rounds - 1 : 1;
    return (int)((size_t)index * ((size_t)layout->total - 1) / gaps);
}

/* `shifts` is the number of rounds that are asked for, 0 for all; `seed` that of the matchings. */
static struct layout make_layout(int nodes, enum pattern pattern, int shifts, size_t seed)
{
    struct layout layout = {pattern, nodes, nodes, nodes, nodes - 1, 0, seed};
    if (layout.pattern != pattern_shift) {
        layout.active = nodes / 2 * 2;
        layout.pairs = nodes / 2;
        layout.total = nodes / 2;
    }
    if (layout.pattern == pattern_bisection && shifts > 0) {
        layout.total = shifts;
    }
    layout.rounds = shifts > 0 && shifts < layout.total ? shifts : layout.total;
    return layout;
}

#endif
