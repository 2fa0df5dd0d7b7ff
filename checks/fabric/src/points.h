// SPDX-License-Identifier: BSD-3-Clause
/*
 * Rows of points: a row is one size, or one size and another quantity, measured in several
 * modes. Each mode is sampled, and the data that arrived are compared with those sent.
 */
#ifndef POINTS_H
#define POINTS_H

#include "program.h"
#include "sampling.h"

enum { FC_MOST_MODES = 4, FC_LABEL = 48 };

/* One way to use the messages of a row. */
struct fc_mode {
    const char *name; /* in the file of --raw and in errors */
    double (*repeat)(const void *data, unsigned long long repetitions); /* see fc_subject */
    double operations; /* per repetition: a sample is the time of one */
    int messages;      /* that this rank receives, side by side in its buffer, ... */
    int sender;        /* ... from this rank and those after it */
    size_t sent;       /* messages of a repetition, of all ranks together */
};

/* What all ranks measure to fill one row of the output. */
struct fc_row {
    char label[FC_LABEL]; /* its first columns */
    size_t size;          /* of a message, bytes */
    unsigned char *send;  /* one message */
    unsigned char *receive;
    const void *data; /* for the modes */
    struct fc_mode modes[FC_MOST_MODES];
    int count; /* of modes, at most FC_MOST_MODES */
};

/* What the rows of a run have in common. */
struct fc_rows {
    const struct fc_world *world;
    const struct fc_rule *rule;
    FILE *raw; /* NULL: samples are not written to a file */
    struct fc_samples samples; /* of the point that is measured */
    size_t count;              /* rows that are complete */
    unsigned long long moved;  /* rank 0: bytes of all messages that were repeated */
};

/* Collective, before the header: opens the file of --raw, gives the rule the clock's resolution. */
static inline struct fc_rows fc_begin_rows(const struct fc_world *world, struct fc_rule *rule,
                                           const char *raw_name)
{
    struct fc_rows rows = {world, rule, fc_open_raw(world, raw_name), {NULL, NULL, 0, 0}, 0, 0};
    rule->resolution = world->rank == 0 ? fc_clock_resolution() : 0.0;
    return rows;
}

/* Collective, the last call of a program: returns its exit status. */
static inline int fc_end_rows(struct fc_rows *rows)
{
    fc_close_raw(rows->world, rows->raw);
    fc_free_samples(&rows->samples);
    if (rows->world->rank == 0) {
        printf("# moved: %llu bytes\n", rows->moved);
    }
    return fc_finish(rows->world, rows->count, "rows");
}

/* Collective: samples one mode and ends the program if its data are not what was sent. */
static inline struct fc_result fc_measure_mode(struct fc_rows *rows, const struct fc_row *row,
                                               const struct fc_mode *mode)
{
    const struct fc_world *const world = rows->world;
    unsigned long long repeated = 0;
    const struct fc_subject subject = {mode->repeat, row->data, mode->operations, &repeated};
    size_t wrong = row->size;
    int sender = mode->sender;
    fc_fill(row->send, row->size, world->rank);
    for (int i = 0; i < mode->messages; i++) {
        fc_spoil(row->receive + (size_t)i * row->size, row->size, mode->sender + i);
    }
    FC_MPI(MPI_Barrier(world->comm));
    const struct fc_result result = fc_measure(world, rows->rule, &subject, &rows->samples);
    rows->moved += repeated * mode->sent * row->size;
    for (int i = 0; i < mode->messages && wrong == row->size; i++) {
        sender = mode->sender + i;
        wrong = fc_first_wrong(row->receive + (size_t)i * row->size, row->size, sender);
    }
    fc_end_if_wrong(world, wrong, row->size, sender, mode->name);
    return result;
}

/* Collective: measures all modes of a row, and prints it when it is complete. */
static inline void fc_measure_row(struct fc_rows *rows, const struct fc_row *row)
{
    const int count = row->count;
    struct fc_result results[FC_MOST_MODES];
    for (int i = 0; i < count; i++) {
        char what[2 * FC_LABEL];
        results[i] = fc_measure_mode(rows, row, &row->modes[i]);
        snprintf(what, sizeof what, "%s %s", row->label, row->modes[i].name);
        fc_write_raw(rows->raw, what, &rows->samples);
    }
    if (rows->world->rank == 0) {
        printf("%s", row->label);
        for (int i = 0; i < count; i++) {
            fc_print_result(&results[i]);
        }
        printf("\n");
    }
    fc_check_output(rows->world);
    fc_check_raw(rows->world, rows->raw);
    rows->count++;
}

#endif
