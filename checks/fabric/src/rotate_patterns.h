// SPDX-License-Identifier: BSD-3-Clause
/*
 * The patterns of `rotate`: which rounds there are, and who streams to whom in each.
 * The tournament is that of `latency_map` too.
 *
 * In the headers of these two functions are not inline: the compiler tells of
 * those that nobody calls any more.
 */
#ifndef ROTATE_PATTERNS_H
#define ROTATE_PATTERNS_H

#include "messages.h"

enum pattern { pattern_rotate, pattern_shift, pattern_bisection, pattern_round_robin };

static const char *const pattern_names[] = {"rotate", "shift", "bisection", "round-robin", NULL};

/* Which rounds there are. The same on all ranks. */
struct layout {
    enum pattern pattern;
    int nodes;
    int active;  /* nodes that take part: all, or all but the last */
    int pairs;   /* in a round */
    int turns;   /* rounds after which every two nodes have met that ever do, in some direction */
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

/* In a tournament of an even number of nodes one has no seat, and meets whoever is left over. */
static int rank_of_seat(const struct layout *layout, int seat)
{
    return layout->nodes % 2 == 0 && seat >= layout->nodes / 2 ? seat + 1 : seat;
}

enum { many = 16 }; /* nodes of a tournament in which some directions are turned */

static void add_match(struct roster *roster, int one, int other, bool one_sends)
{
    add_pair(roster, one_sends ? one : other, one_sends ? other : one);
}

/*
 * A round of the tournament by the circle method: of M seats, M odd, those two
 * meet whose sum modulo M is the number of the turn. They are as far from the
 * seat in the middle on one side as on the other. By that distance, odd or even,
 * the upper or the lower one sends: two turns later, when the middle is one
 * further, a node that sent receives. Among many, an odd seat and an even one
 * above it do it the other way: without that half of the ways between nodes that
 * are cabled to four switches by turns would not be looked at.
 * tests/parsers/test_rotate_patterns.py has what these rules leave out, and others.
 * The second M rounds are the first the other way.
 */
static void set_match_day(const struct layout *layout, int round, struct roster *roster)
{
    const int seats = layout->turns;
    const bool back = round >= seats;
    const int turn = back ? round - seats : round;
    const int middle = turn % 2 == 0 ? turn / 2 : turn / 2 + seats / 2 + 1; /* (turn + M) / 2 */
    for (int away = 1; away <= seats / 2; away++) {
        const int upper = wrapped(middle, away, seats);
        const int lower = wrapped(middle, seats - away, seats);
        const int first = upper < lower ? upper : lower;
        const bool turned = layout->nodes >= many && first % 2 == 1 && (upper ^ lower) % 2 == 1;
        add_match(roster, rank_of_seat(layout, upper), rank_of_seat(layout, lower),
                  ((away % 2 == 1) != back) != turned);
    }
    if (layout->nodes % 2 == 0) {
        add_match(roster, layout->nodes / 2, rank_of_seat(layout, middle),
                  (middle % 2 == 1) != back);
    }
}

/* Fills in one round of the pattern; `order` is scratch. */
static void set_round(const struct layout *layout, int round, int *order, struct roster *roster)
{
    const int pairs = layout->pairs;
    clear_roster(roster);
    if (layout->pattern == pattern_round_robin) {
        set_match_day(layout, round, roster);
        return;
    }
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

/* Of `wanted` numbers, evenly spread from 0 to count - 1, the one at `index`. */
static int spread_from_end_to_end(int index, int wanted, int count)
{
    const size_t gaps = wanted > 1 ? (size_t)wanted - 1 : 1;
    return (int)((size_t)index * ((size_t)count - 1) / gaps);
}

/*
 * The number in the full pattern of the measured round `index`: from the first
 * to the last, and no two nodes meet twice before all have met once.
 */
static int round_number(const struct layout *layout, int index)
{
    const int turns = layout->turns;
    if (layout->rounds <= turns) {
        return spread_from_end_to_end(index, layout->rounds, turns);
    }
    return index < turns ? index
                         : turns + spread_from_end_to_end(index - turns, layout->rounds - turns,
                                                          layout->total - turns);
}

/* `shifts` is the number of rounds that are asked for, 0 for all; `seed` that of the matchings. */
static struct layout make_layout(int nodes, enum pattern pattern, int shifts, size_t seed)
{
    struct layout layout = {pattern, nodes, nodes, nodes, nodes - 1, nodes - 1, 0, seed};
    if (pattern == pattern_round_robin) {
        layout.pairs = nodes / 2;
        layout.turns = nodes - 1 + nodes % 2;
        layout.total = 2 * layout.turns;
    } else if (pattern != pattern_shift) {
        layout.active = nodes / 2 * 2;
        layout.pairs = nodes / 2;
        layout.turns = nodes / 2;
        if (pattern == pattern_bisection && shifts > 0) {
            layout.turns = shifts;
        }
        layout.total = layout.turns;
    }
    layout.rounds = shifts > 0 && shifts < layout.total ? shifts : layout.total;
    return layout;
}

#endif
