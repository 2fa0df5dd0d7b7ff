// SPDX-License-Identifier: BSD-3-Clause
#include "patterns.h"
#include "messages.h"

#include <stdint.h>
#include <stdlib.h>

const char *const fc_pattern_names[] = {"rotate", "shift", "bisection", "round-robin", NULL};

struct fc_roster fc_make_roster(const struct fc_world *world, int nodes)
{
    struct fc_roster roster = {nodes, NULL, NULL};
    roster.to = fc_allocate_all(world, (size_t)nodes, sizeof *roster.to);
    roster.from = fc_allocate_all(world, (size_t)nodes, sizeof *roster.from);
    return roster;
}

void fc_free_roster(struct fc_roster *roster)
{
    free(roster->to);
    free(roster->from);
}

void fc_clear_roster(struct fc_roster *roster)
{
    for (int rank = 0; rank < roster->nodes; rank++) {
        roster->to[rank] = -1;
        roster->from[rank] = -1;
    }
}

void fc_add_pair(struct fc_roster *roster, int sender, int receiver)
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
 * Fisher-Yates shuffle from seed and round alone, so that all ranks find the same. The seed is mixed before the round
 * is added: neighbouring seeds must not have rounds in common.
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
static int rank_of_seat(const struct fc_layout *layout, int seat)
{
    return layout->nodes % 2 == 0 && seat >= layout->nodes / 2 ? seat + 1 : seat;
}

enum { many = 16 }; /* nodes of a tournament in which some directions are turned */

/* Adds the pairs of two nodes, on those rails whose turn it is. */
static void add_nodes(const struct fc_layout *layout, struct fc_roster *roster, int turn, int sender, int receiver)
{
    for (int rail = turn; rail < layout->rails; rail += layout->share) {
        fc_add_pair(roster, sender * layout->rails + rail, receiver * layout->rails + rail);
    }
}

static void add_match(const struct fc_layout *layout, struct fc_roster *roster, int turn, int one, int other,
                      bool one_sends)
{
    add_nodes(layout, roster, turn, one_sends ? one : other, one_sends ? other : one);
}

/*
 * A round of the tournament by the circle method: of M seats, M odd, those two meet whose sum modulo M is the number of
 * the turn. They are as far from the seat in the middle on one side as on the other. By that distance, odd or even, the
 * upper or the lower one sends: two turns later, when the middle is one further, a node that sent receives. Among many,
 * an odd seat and an even one above it do it the other way: without that half of the ways between nodes that are cabled
 * to four switches by turns would not be looked at. tests/parsers/test_rotate_patterns.py has what these rules leave
 * out, and others. The second M rounds are the first the other way.
 */
static void set_match_day(const struct fc_layout *layout, int round, int turn_of_rails, struct fc_roster *roster)
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
        add_match(layout, roster, turn_of_rails, rank_of_seat(layout, upper), rank_of_seat(layout, lower),
                  ((away % 2 == 1) != back) != turned);
    }
    if (layout->nodes % 2 == 0) {
        add_match(layout, roster, turn_of_rails, layout->nodes / 2, rank_of_seat(layout, middle),
                  (middle % 2 == 1) != back);
    }
}

void fc_set_round(const struct fc_layout *layout, int number, int *order, struct fc_roster *roster)
{
    const int pairs = layout->pairs;
    const int round = number / layout->share;
    const int turn = number % layout->share;
    fc_clear_roster(roster);
    if (layout->pattern == FC_ROUND_ROBIN) {
        set_match_day(layout, round, turn, roster);
        return;
    }
    if (layout->pattern == FC_BISECTION) {
        shuffle(order, layout->active, layout->seed, round);
    }
    for (int i = 0; i < pairs; i++) {
        switch (layout->pattern) {
        case FC_SHIFT: add_nodes(layout, roster, turn, i, wrapped(i, round + 1, layout->nodes)); break;
        case FC_BISECTION: add_nodes(layout, roster, turn, order[2 * i], order[2 * i + 1]); break;
        case FC_ROTATE:
        default: add_nodes(layout, roster, turn, i, pairs + wrapped(i, round, pairs)); break;
        }
    }
}

/* Of `wanted` numbers, evenly spread from 0 to count - 1, the widest distance between two that follow each other. */
static int widest_gap(int wanted, int count)
{
    return wanted > 1 ? (count - 1 + wanted - 2) / (wanted - 1) : count;
}

/* The one at `index`, moved by the number of the turn: after as many turns as the widest gap all numbers were there. */
static int spread_from_end_to_end(const struct fc_layout *layout, int index, int wanted, int count)
{
    const size_t gaps = wanted > 1 ? (size_t)wanted - 1 : 1;
    const int moved = layout->turn % widest_gap(wanted, count);
    return wrapped((int)((size_t)index * ((size_t)count - 1) / gaps), moved, count);
}

int fc_round_number(const struct fc_layout *layout, int index)
{
    const int share = layout->share;
    const int turns = layout->turns;
    const int rounds = layout->rounds / share;
    const int at = index / share;
    int round = at;
    if (rounds <= turns) {
        const bool back = layout->pattern == FC_ROUND_ROBIN && layout->turn / widest_gap(rounds, turns) % 2 == 1;
        round = spread_from_end_to_end(layout, at, rounds, turns) + (back ? turns : 0);
    } else if (at >= turns) {
        round = turns + spread_from_end_to_end(layout, at - turns, rounds - turns, layout->total / share - turns);
    }
    return round * share + index % share;
}

struct fc_layout fc_make_layout(int nodes, int rails, int share, enum fc_pattern pattern, int shifts, size_t seed)
{
    struct fc_layout layout = {pattern, nodes, rails, share, nodes, nodes, nodes - 1, nodes - 1, 0, 0, seed};
    if (pattern == FC_ROUND_ROBIN) {
        layout.pairs = nodes / 2;
        layout.turns = nodes - 1 + nodes % 2;
        layout.total = 2 * layout.turns;
    } else if (pattern != FC_SHIFT) {
        layout.active = nodes / 2 * 2;
        layout.pairs = nodes / 2;
        layout.turns = nodes / 2;
        if (pattern == FC_BISECTION && shifts > 0) {
            layout.turns = shifts;
        }
        layout.total = layout.turns;
    }
    layout.rounds = share * (shifts > 0 && shifts < layout.total ? shifts : layout.total);
    layout.total *= share;
    return layout;
}
