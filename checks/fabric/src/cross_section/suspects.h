// SPDX-License-Identifier: BSD-3-Clause
/*
 * Which pairs of `rotate` are measured again. The rule is written once more in Python,
 * lab/rotate/suspects.py, and each is held against the other.
 */
#ifndef SUSPECTS_H
#define SUSPECTS_H

#include "rounds.h"

enum { no_round = -1 };

/* A pair that is measured again, or a control. */
struct suspect {
    int order; /* of the offers of its rank: how soon it is measured */
    int sender;
    int receiver;
    int round;   /* in a pass of the phase `together`, or no_round */
    double sum;  /* of its bandwidths in that pass, MBps */
    double best; /* bandwidth in any pass, MBps; of one that is measured alone the best alone */
};

/* What all ranks know after the scan, and on rank 0 the suspects. */
struct verdict {
    double overall;         /* median bandwidth of the scan, MBps */
    double usual_levels[2]; /* of senders and of receivers, MBps; or 0 */
    double (*levels)[2];    /* by rank, as sender and as receiver, MBps; -1 without pairs */
    bool (*single)[2];      /* rank 0, by rank: whether it is slow, and hardly another node as slow */
    int *hosts;             /* by rank: the lowest rank on its host */
    bool one_host;          /* of all ranks */
    int senders;            /* suspect ones */
    int receivers;
    struct suspect *suspects; /* rank 0 */
    size_t count;
    size_t again;  /* how many of them are measured again, */
    size_t slow;   /* stay slow, */
    size_t alone;  /* and are measured alone */
    double paused; /* before last repeats, s */
};

/* In measurements of a round or of a pair, each of which is repeated. */
struct budget {
    size_t together;  /* rounds */
    size_t alone;     /* pairs */
    size_t of_others; /* further pairs, none of whose nodes is suspect */
    size_t controls;  /* pairs that there is room for in addition */
    size_t all;       /* the sum of these */
};

enum { as_sender, as_receiver }; /* sides of a pair */

/* Collective: finds which ranks are on one host. */
void fc_share_hosts(struct node *node, struct verdict *verdict);

/* Collective, after fc_share_hosts: shares the level of each node as sender and as receiver, and that of all. */
void fc_share_levels(struct node *node, struct verdict *verdict, double *scratch);

/* Collective: gathers the suspects at rank 0, a bounded number from each rank. */
void fc_gather_suspects(const struct node *node, struct verdict *verdict);

/* Returns how much may be measured, so that all is done in N/2 + 80 log2 N rounds, whatever is slow. */
struct budget fc_find_budget(size_t nodes, size_t limit);

/* Returns whether a node is slow on a side. */
bool fc_is_slow(const struct node *node, const struct verdict *verdict, int rank, int side);

/* Returns what a node that is slow has as a share of what is usual, on its slower side; 1 of another. */
double fc_own_share(const struct node *node, const struct verdict *verdict, int rank);

/* Rank 0: finds the nodes that are slow, and no kind of slower nodes. */
void fc_find_single(const struct node *node, struct verdict *verdict);

/* Returns whether a suspect is still slow. */
bool fc_is_slow_again(const struct node *node, const struct verdict *verdict, const struct suspect *at);

/* Returns whether there is no network between two ranks; false if that is so for all pairs. */
bool fc_is_within_a_host(const struct verdict *verdict, int sender, int receiver);

/*
 * Waits before the last repeat if a node or pair is about to be blamed (rank 0 only): the traffic of other jobs may last as
 * long as measuring the few pairs alone takes; a fault stays.
 */
void fc_wait_for_others(const struct node *node, struct verdict *verdict);

/* For qsort of suspects: by pair, and by the bandwidth that they reached. */
int fc_compare_pairs(const void *left, const void *right);
int fc_compare_bests(const void *left, const void *right);

/* Returns the position in `count` of the item `index` of `wanted` evenly spread ones; wanted <= count. */
size_t fc_spread(size_t index, size_t wanted, size_t count);
size_t fc_least(size_t a, size_t b);

#endif
