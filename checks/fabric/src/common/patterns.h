// SPDX-License-Identifier: BSD-3-Clause
/*
 * The patterns of `rotate`: which rounds there are, and who streams to whom in each. Its tournament is that of
 * `latency_map` too.
 */
#ifndef PATTERNS_H
#define PATTERNS_H

#include "errors.h"

enum fc_pattern { FC_ROTATE, FC_SHIFT, FC_BISECTION, FC_ROUND_ROBIN };

/* By pattern, NULL after the last. */
extern const char *const fc_pattern_names[];

/* Which rounds there are. The same on all ranks. */
struct fc_layout {
    enum fc_pattern pattern;
    int nodes;
    int rails;  /* ranks of a node, in order; each is paired with those of its number */
    int share;  /* ranks of a node that share an adapter, in order: they take turns, a round each */
    int active; /* nodes that take part: all, or all but the last */
    int pairs;  /* of a rail in a round */
    int turns;  /* rounds of a rail after which every two nodes have met that ever do, in some direction */
    int total;  /* rounds of the whole pattern */
    int rounds; /* measured ones */
    int turn;   /* of several runs that measure other rounds until all were; 0: from the first to the last */
    size_t seed;
};

/* Who streams to whom in one round: partner by rank, -1 for none. */
struct fc_roster {
    int nodes;
    int *to;
    int *from;
};

/* Collective: allocates a roster, which is not set. */
struct fc_roster fc_make_roster(const struct fc_world *world, int nodes);
void fc_free_roster(struct fc_roster *roster);
void fc_clear_roster(struct fc_roster *roster);
void fc_add_pair(struct fc_roster *roster, int sender, int receiver);

/* Returns which rounds there are. `shifts` of them are asked for, 0 for all; `seed` is that of the matchings. */
struct fc_layout fc_make_layout(int nodes, int rails, int share, enum fc_pattern pattern, int shifts, size_t seed);

/*
 * Returns the number in the full pattern of the measured round `index`: evenly spread, and no two nodes meet twice
 * before all have met once.
 */
int fc_round_number(const struct fc_layout *layout, int index);

/* Sets the pairs of one round of the pattern; `order` is scratch, a number a node. */
void fc_set_round(const struct fc_layout *layout, int round, int *order, struct fc_roster *roster);

#endif
