// SPDX-License-Identifier: BSD-3-Clause
/*
 * Checked MPI calls, and errors that end all ranks with one line.
 *
 * There is no mutable static data here and there must be none in the programs: a simulator may run the ranks as threads
 * of one process.
 */
#ifndef ERRORS_H
#define ERRORS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity, posix_memalign, getopt_long under -std=c11 */
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mpi.h>

enum {
    FC_EXIT_FAILURE = 1, /* a check or a resource failed while running */
    FC_EXIT_USAGE = 2    /* the command line or the number of ranks is wrong */
};

/* Lets the compiler check the arguments of functions that take a format. */
#define FC_PRINTF(format_at, first_at) __attribute__((format(printf, format_at, first_at)))

/* Name of the program in error lines and in the first line of its output. Each program defines it. */
extern const char fc_program[];

/* All ranks of the run, and which of them this is. */
struct fc_world {
    MPI_Comm comm;
    int rank;
    int size;
    uint32_t *crc; /* of what this rank has printed on standard output */
};

/*
 * Replaces what could break a line of the output: blanks other than a space by one, other control and non-ASCII bytes
 * by `?`. In a name, which has to be one field of a row, blanks become `?` too.
 */
void fc_clean(char *text, bool is_name);

/* Ends all ranks for a failure that only this rank knows of while the others may be waiting for it. */
FC_PRINTF(1, 2) _Noreturn void fc_abort(const char *format, ...);

/* Ends all ranks for an MPI call that failed. */
_Noreturn void fc_mpi_failed(int code, const char *call, const char *file, int line);

/* Every MPI call of the programs goes through this. */
#define FC_MPI(call)                                                                                                   \
    do {                                                                                                               \
        const int fc_code = (call);                                                                                    \
        if (fc_code != MPI_SUCCESS) {                                                                                  \
            fc_mpi_failed(fc_code, #call, __FILE__, __LINE__);                                                         \
        }                                                                                                              \
    } while (0)

/*
 * Collective: ends the program for an error that every rank knows of (a wrong command line or number of ranks). Rank 0
 * prints one line.
 */
FC_PRINTF(2, 3) _Noreturn void fc_usage_error(const struct fc_world *world, const char *format, ...);

/*
 * Collective: ends the program on every rank if it failed on any of them. Only the lowest failed rank prints. It also
 * serves as the barrier before a point: no rank leaves it before all have entered.
 */
FC_PRINTF(3, 4) void fc_end_if_any(const struct fc_world *world, bool failed, const char *format, ...);

/* Returns whether something written could not be stored; errno then has the cause. */
bool fc_flush_failed(FILE *file);

#endif
