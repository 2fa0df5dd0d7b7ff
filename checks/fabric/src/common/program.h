// SPDX-License-Identifier: BSD-3-Clause
/* A program from its start to its last line: MPI, the header of the output, the file of --raw. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "options.h"

/* Collective, the first call of a program: answers --help and --version, starts MPI and stores the options. */
struct fc_world fc_start(int argc, char **argv, const char *method, const struct fc_option *options);

/* Collective, the last call of a program: prints the line that only a complete output has; returns its exit status. */
int fc_finish(const struct fc_world *world, size_t rows);

/* Collective: ends all ranks when rank 0 could not write its results. */
void fc_check_output(const struct fc_world *world);

/* Collective: end the program unless it has exactly two ranks, or at least two. */
void fc_require_pair(const struct fc_world *world);
void fc_require_several(const struct fc_world *world);

/* ------------------------------------------------------------------ header */

/* Rank 0 only: prints program, MPI library and compiler. */
void fc_print_header(const struct fc_world *world);

/* Sets the name of this host, fit to be one field of a row. */
void fc_host(char name[MPI_MAX_PROCESSOR_NAME + 1]);

/*
 * Collective: sets for each rank the lowest rank whose name is the same, such as that of its host; -1 if it is empty.
 * `width` is that of the buffer of a name.
 */
void fc_share_names(const struct fc_world *world, const char *name, int width, int *first);

/* Rank 0 only: prints a header line with those of the environment variables that are set; NULL ends their names. */
void fc_print_settings(const struct fc_world *world, const char *key, const char *const *names, const char *if_none);

/*
 * Collective, prints on rank 0: the header down to the options. A program may print lines of its own, `# key: value`,
 * between this and fc_end_head. `resolution` is that of rank 0's clock, seconds.
 */
void fc_begin_head(const struct fc_world *world, double resolution, const struct fc_option *options);

/* Collective, prints on rank 0: the end of the header, with the names of the columns. */
void fc_end_head(const struct fc_world *world, const char *method, const char *columns);

/*
 * Rank 0, after each of `total` steps since `begin`: prints nothing before 5 s, then at most one line in 5 s, on standard
 * error. `last` is the time of the last line, or `begin`.
 */
void fc_tell_progress(const struct fc_world *world, const char *what, int done, int total, double begin, double *last);

/* ------------------------------------------------------------- raw samples */

/* The option --raw; `columns` are those of a line. */
#define FC_RAW_OPTION(target, columns)                                                                                 \
    {"raw", FC_TEXT, &(target), 0, 0, "write every sample to this file, as lines `" columns "`", NULL}

/*
 * The file of --raw, which rank 0 writes; NULL without one. All three are collective: a file that cannot be written
 * ends every rank, at once and not after the last point.
 */
FILE *fc_open_raw(const struct fc_world *world, const char *name);
void fc_check_raw(const struct fc_world *world, FILE *raw);
void fc_close_raw(const struct fc_world *world, FILE *raw);

#endif
