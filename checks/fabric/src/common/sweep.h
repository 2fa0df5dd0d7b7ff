// SPDX-License-Identifier: BSD-3-Clause
/* What programs that measure one message size after the other share of their command line. */
#ifndef SWEEP_H
#define SWEEP_H

#include "program.h"
#include "sampling.h"

#include <limits.h>

struct fc_sweep {
    size_t min_size; /* of a message, bytes */
    size_t max_size;
    struct fc_rule rule;
    const char *raw_name; /* NULL: samples are not written to a file */
};

/* clang-format off */
/* The rows of an option table that come before, and those that come after a program's own. */
#define FC_SIZE_OPTIONS(sweep, least, max_help)                                                                        \
    {"min-size", FC_SIZE, &(sweep).min_size, least, INT_MAX, "smallest message, bytes", NULL},                         \
    {"max-size", FC_SIZE, &(sweep).max_size, least, INT_MAX, "largest message, bytes" max_help, NULL}
#define FC_SAMPLING_OPTIONS(sweep, columns) FC_RULE_OPTIONS((sweep).rule), FC_RAW_OPTION((sweep).raw_name, columns)
/* clang-format on */

/*
 * Returns the size after one of 0, 1, 2, 3, 4, 6, 8, 12, ...: the powers of two and the sizes half-way between them,
 * because N1/2 is interpolated and a factor of two is too coarse for that. The caller stops at the largest size, which
 * is below 2^31.
 */
size_t fc_next_half_octave(size_t size);

/* Returns the size after one of 0, 1, 2, 4, 8, ... */
size_t fc_next_power_of_two(size_t size);

/* Returns the first size of a sequence that begins with 0 and is not below min_size. */
size_t fc_first_size(const struct fc_sweep *sweep, size_t (*next)(size_t));

/* Collective: end the program if the sizes end before they begin, or if a sequence has none among them. */
void fc_require_order(const struct fc_world *world, const struct fc_sweep *sweep);
void fc_require_sizes(const struct fc_world *world, const struct fc_sweep *sweep, size_t (*next)(size_t));

#endif
