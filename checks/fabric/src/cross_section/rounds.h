// SPDX-License-Identifier: BSD-3-Clause
/* One round of `rotate`: all pairs of a roster stream, and rank 0 prints a row for each. */
#ifndef ROUNDS_H
#define ROUNDS_H

#include "../common/memory.h"
#include "../common/patterns.h"

/* What the command line asks for. */
struct plan {
    size_t size; /* of a message, bytes */
    size_t messages;
    size_t tests;
    size_t pattern; /* enum fc_pattern */
    size_t shifts;  /* rounds to measure, 0: all */
    size_t turn;    /* of runs that measure other rounds */
    size_t rails;   /* ranks of a node that are paired with those of the same number only */
    size_t adapters; /* of a node, 0: as many as rails */
    size_t memory;   /* enum fc_memory_kind */
    size_t seed;
    bool no_warm_up;
    bool confirm;
    bool both_ways; /* measure the phases `both` and `both-alone`, too */
    double suspect_share;
    size_t confirm_repeats;
    size_t confirm_limit; /* pairs measured alone, 0: see find_budget */
    size_t confirm_pause; /* s, before the last repeat of those that are slow alone */
    const char *raw_name; /* NULL: no file of tests */
    const char *groups;   /* NULL: no phase `leaf`; `slurm`, or a file */
};

/* One pair of a node in the scan. */
struct meeting {
    int partner;
    double MBps;
};

/* What a node measured as one end of its pairs, over the rounds of the scan. */
struct line {
    size_t count;
    struct meeting *at;
};

enum { tag_warm = 1, tag_data = 2, tag_acknowledge = 3, tag_best = 4 };

/* What a rank needs to take part in a test, as sender, as receiver, or as both. */
struct transfers {
    const struct fc_world *world;
    struct fc_memory memory;
    size_t size;     /* of a message, bytes */
    size_t messages; /* that a sender sends in a test */
    struct fc_buffer send;
    struct fc_buffer receive;
    MPI_Request *requests; /* receives, sends, acknowledgement in, acknowledgement out */
    int *done;             /* as many, for MPI_Waitsome */
};

/* Owned by rank 0. */
struct ledger {
    double *times;        /* of the last round: rank by rank, `tests` values, 0 where it did not send */
    double *best;         /* of the last round, MBps by sender */
    double *medians;      /* of the rounds of the scan */
    double *scratch;      /* to sort as many values as there are nodes, rounds, repeats or tests */
    double transfers;     /* seconds, sum of the slowest pair of every test */
    double last_progress; /* MPI_Wtime */
    size_t rows;
    FILE *raw;
};

enum { flows_most = 8 };

/* What a rank does in a round of the phase `leaf`: it sends to all its partners at once, or receives from them. */
struct fc_flows {
    int count;
    int partner[flows_most];
    bool sends;
};

/* A rank at its place in its group. */
struct fc_seat {
    int place;
    int group;
    int rank;
};

/* The groups of the phase `leaf`, and the flows of its round that is measured. The same on all ranks. */
struct leaves {
    int count;             /* of groups */
    int turns;             /* of two rounds each; 0 with fewer than two groups */
    int width;             /* partners of a node */
    int seated;            /* ranks of any group */
    int *group;            /* by rank, -1: none */
    struct fc_seat *seats; /* the first of each group, the second of each, ... */
    int *halves;           /* ranks of the groups that send and of those that receive, in that order */
    int *taken;            /* by group: seats */
    struct fc_flows *flows;
};

/* One rank. */
struct node {
    const struct fc_world *world;
    const struct plan *plan;
    struct fc_layout layout;
    struct fc_roster roster; /* of the round that is measured */
    int *order;              /* permutation of the nodes for a random matching */
    struct transfers transfers;
    double *times;      /* of the tests of this rank as sender, seconds */
    struct line row;    /* as sender */
    struct line column; /* as receiver */
    struct ledger ledger;
    struct leaves leaves;
    char problem[300]; /* what went wrong on this rank, empty if nothing did */
};

/* Collective: allocates the buffers, and writes them, so that no page is touched for the first time in a test. */
struct transfers fc_make_transfers(const struct fc_world *world, const struct plan *plan);
void fc_free_transfers(struct transfers *transfers);

/* Returns MPI_PROC_NULL for -1. */
int fc_partner_or_null(int partner);

/* Returns the median of the values, which stay as they are; `scratch` holds as many. */
double fc_median_of(const double *values, size_t count, double *scratch);

/* Returns the bandwidth of messages of that size in a test. */
double fc_rate_MBps(const struct plan *plan, size_t size, double seconds);

/* Returns the bandwidth of the best test; of the tests of a pair each is `stride` values of `times` after the last. */
double fc_best_MBps(const struct plan *plan, size_t size, const double *times, size_t stride);

/* Rank 0: prints the row of a pair, with its best test, its slowest and its median one. Returns the best rate. */
double fc_print_row(struct node *node, const char *phase, int round, int sender, int receiver, size_t size,
                    const double *times, size_t stride);

/* Collective: measures the pairs of the roster at once and prints their rows. */
void fc_measure_round(struct node *node, const char *phase, int round);

/* Collective: rank 0's roster becomes that of all. */
void fc_share_roster(struct node *node);

/* Rank 0, after each round: prints nothing before 5 s, then at most one line in 5 s, on standard error. */
void fc_print_progress(struct node *node, const char *what, int done, int total, double begin);

#endif
