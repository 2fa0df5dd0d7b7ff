// SPDX-License-Identifier: BSD-3-Clause
/*
 * Rows of points: a row is one size, or one size and another quantity, measured in several modes. Each mode is sampled,
 * and the data that arrived are compared with those sent.
 */
#ifndef POINTS_H
#define POINTS_H

#include "messages.h"
#include "sweep.h"

enum { FC_MOST_MODES = 4, FC_LABEL = 48 };

/* The names of a mode's columns behind those of a row's label. */
#define FC_MODE_COLUMNS(mode) " " mode "_us " mode "_ci_low_us " mode "_ci_high_us " mode "_samples " mode "_stop"

/* The end of a line `# method:`. */
#define FC_SUMMARY "; median over samples and its 95 % confidence interval from order statistics"

/* One way to use the messages of a row. */
struct fc_mode {
    const char *name;                                                   /* in the file of --raw and in errors */
    double (*repeat)(const void *data, unsigned long long repetitions); /* see fc_subject */
    double operations;                                                  /* per repetition: a sample is one's time */
    int messages; /* that this rank receives, next to each other in its buffer, ... */
    int sender;   /* ... from this rank and those after it */
    size_t sent;  /* messages of a repetition, of all ranks together */
};

/* What all ranks measure to fill one row of the output. */
struct fc_row {
    char label[FC_LABEL]; /* its first columns */
    size_t size;          /* of a message, bytes */
    unsigned char *send;  /* one message */
    unsigned char *receive;
    const void *data; /* for the modes */
    const struct fc_mode *modes;
    int count; /* of modes, at most FC_MOST_MODES */
};

/* What the rows of a run have in common. */
struct fc_rows {
    const struct fc_world *world;
    struct fc_rule rule;
    FILE *raw;                 /* NULL: samples are not written to a file */
    struct fc_samples samples; /* of the point that is measured */
    size_t count;              /* rows that are complete */
    unsigned long long moved;  /* rank 0: bytes of all messages that were repeated */
};

/* Collective: opens the file of --raw, measures the clock's resolution, and prints the head down to the options. */
struct fc_rows fc_begin_rows(const struct fc_world *world, const struct fc_sweep *sweep,
                             const struct fc_option *options);

/* Collective: measures all modes of a row, and prints it when it is complete. */
void fc_measure_row(struct fc_rows *rows, const struct fc_row *row);

/*
 * Collective: measures a row for each size of a sequence, which is stored in the side before. `data` is for the modes.
 */
void fc_measure_sizes(struct fc_rows *rows, const struct fc_sweep *sweep, size_t (*next)(size_t), struct fc_side *side,
                      const void *data, const struct fc_mode *modes, int count);

/* Collective, the last call of a program: returns its exit status. */
int fc_end_rows(struct fc_rows *rows);

#endif
