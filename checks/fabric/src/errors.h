// SPDX-License-Identifier: BSD-3-Clause
/*
 * Checked MPI calls, and errors that end every rank with one line. All other headers
 * include this one.
 *
 * A program defines FC_PROGRAM (its name) and includes its headers before those
 * of the system. There is no mutable static data in them and there must be none
 * in the programs: a simulator may run the ranks as threads of one process.
 */
#ifndef ERRORS_H
#define ERRORS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity, CPU_ALLOC, posix_memalign under -std=c11 */
#endif

#ifndef FC_PROGRAM
#error "define FC_PROGRAM, the name of the program, before including any header"
#endif

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mpi.h>

#define FC_EXIT_FAILURE 1 /* a check or a resource failed while running */
#define FC_EXIT_USAGE 2   /* the command line or the number of ranks is wrong */

#define FC_LINE_MAX 1024 /* longest error line */

#if defined(__GNUC__)
#define FC_PRINTF(text_at, first_at) __attribute__((format(printf, text_at, first_at)))
#else
#define FC_PRINTF(text_at, first_at)
#endif

/* All ranks of the run, and which of them this is. */
struct fc_world {
    MPI_Comm comm;
    int rank;
    int size;
};

/*
 * Replaces what could break a line of the output: blanks that are not a space
 * by one, other control and non-ASCII bytes by `?`. In a name, which is to be
 * one field of a row, blanks become `?` too.
 */
static inline void fc_clean(char *text, bool is_name)
{
    for (unsigned char *byte = (unsigned char *)text; *byte != '\0'; byte++) {
        const bool blank = *byte == ' ' || (*byte >= '\t' && *byte <= '\r');
        if (blank) {
            *byte = is_name ? '?' : ' ';
        } else if (*byte < 0x20 || *byte >= 0x7f) {
            *byte = '?';
        }
    }
}

/* One line, whatever the text contains: an MPI error string may have several. */
static inline void fc_error_line(const char *format, va_list arguments)
{
    char text[FC_LINE_MAX];
    vsnprintf(text, sizeof text, format, arguments);
    fc_clean(text, false);
    fprintf(stderr, "%s: %s\n", FC_PROGRAM, text);
    fflush(stderr);
}

/* For a failure only this rank knows of while the others may be waiting for it. */
FC_PRINTF(1, 2) static inline _Noreturn void fc_abort(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fc_error_line(format, arguments);
    va_end(arguments);
    /*
     * A launcher that kills everything at once may not have passed the line on yet.
     * The pause has a name because nanosleep may be a macro, which a comma would split.
     */
    const struct timespec pause = {0, 200000000L};
    nanosleep(&pause, NULL);
    MPI_Abort(MPI_COMM_WORLD, FC_EXIT_FAILURE);
    exit(FC_EXIT_FAILURE);
}

static inline void fc_check(int code, const char *call, const char *file, int line)
{
    if (code == MPI_SUCCESS) {
        return;
    }
    char reason[MPI_MAX_ERROR_STRING + 1] = "unknown error";
    int length = 0;
    if (MPI_Error_string(code, reason, &length) != MPI_SUCCESS) {
        snprintf(reason, sizeof reason, "error code %d", code);
    }
    fc_abort("%s:%d: %.*s failed: %s", file, line, (int)strcspn(call, "("), call, reason);
}

/* Every MPI call of the programs goes through this. */
#define FC_MPI(call) fc_check((call), #call, __FILE__, __LINE__)

/*
 * Collective: the same error is known to every rank (a wrong command line, a
 * wrong number of ranks). Rank 0 prints one line and all ranks exit non-zero.
 */
FC_PRINTF(2, 3)
static inline _Noreturn void fc_usage_error(const struct fc_world *world, const char *format, ...)
{
    if (world->rank == 0) {
        va_list arguments;
        va_start(arguments, format);
        fc_error_line(format, arguments);
        va_end(arguments);
    }
    MPI_Finalize();
    exit(FC_EXIT_USAGE);
}

/*
 * Collective: ends the program on every rank if it failed on any of them. Only
 * the lowest of the failed ranks prints. It serves as the barrier before a
 * point too: no rank leaves it before all have entered.
 */
FC_PRINTF(3, 4)
static inline void fc_end_if_any(const struct fc_world *world, bool failed, const char *format, ...)
{
    const int mine = failed ? world->rank : world->size;
    int lowest = world->size;
    FC_MPI(MPI_Allreduce(&mine, &lowest, 1, MPI_INT, MPI_MIN, world->comm));
    if (lowest == world->size) {
        return;
    }
    if (lowest == world->rank) {
        va_list arguments;
        va_start(arguments, format);
        fc_error_line(format, arguments);
        va_end(arguments);
    }
    MPI_Finalize();
    exit(FC_EXIT_FAILURE);
}

/* True if something written could not be stored; errno then tells the cause. */
static inline bool fc_flush_failed(FILE *file)
{
    if (file == NULL) {
        return false;
    }
    errno = 0;
    if (fflush(file) == 0 && ferror(file) == 0) {
        return false;
    }
    errno = errno == 0 ? EIO : errno; /* an earlier write has failed */
    return true;
}

#endif
