// SPDX-License-Identifier: BSD-3-Clause
/* The command line: a table of options, which is parsed, checked, printed and explained by --help. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "output.h"

#define FC_FORMAT "1" /* number of the output format, raised when columns change meaning */

enum fc_kind {
    FC_SIZE,   /* size_t, bytes: digits and an optional K, M or G (powers of 1024) */
    FC_COUNT,  /* size_t, a whole number */
    FC_REAL,   /* double */
    FC_FLAG,   /* bool: given or not, takes no value */
    FC_CHOICE, /* size_t, the position of a word in `choices` */
    FC_TEXT    /* const char *, not part of the `# options:` line */
};

struct fc_option {
    const char *name; /* without the leading dashes */
    enum fc_kind kind;
    void *target; /* holds the default before parsing */
    double low;   /* least and greatest value allowed */
    double high;
    const char *help;           /* one line, with the unit */
    const char *const *choices; /* of FC_CHOICE: the words, NULL after the last; else NULL */
};

/* The last row of a table of options. */
#define FC_NO_MORE_OPTIONS {.name = NULL}

/* Collective: stores the values of a command line, which is the same on all ranks; an error ends the program. */
void fc_parse_options(const struct fc_world *world, int argc, char **argv, const struct fc_option *options);

/* Prints the line that repeats the options, so that a result file explains itself. */
void fc_print_options(const struct fc_world *world, const struct fc_option *options);

/* Answers --help and --version and exits. Needs no MPI, because MPI_Init may need a launcher to succeed. */
void fc_answer_help(int argc, char **argv, const char *method, const struct fc_option *options);

#endif
