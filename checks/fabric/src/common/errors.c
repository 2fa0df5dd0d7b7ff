// SPDX-License-Identifier: BSD-3-Clause
#include "errors.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void fc_clean(char *text, bool is_name)
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

/* Prints one line, whatever the text contains: an MPI error string may have several. */
static void print_error(const char *format, va_list arguments)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    fc_clean(text, false);
    fprintf(stderr, "%s: %s\n", fc_program, text);
    fflush(stderr);
}

void fc_abort(const char *format, ...)
{
    /* A launcher that kills everything at once may not have passed the line on yet. */
    const struct timespec pause = {0, 200000000L};
    va_list arguments;
    va_start(arguments, format);
    print_error(format, arguments);
    va_end(arguments);
    nanosleep(&pause, NULL);
    MPI_Abort(MPI_COMM_WORLD, FC_EXIT_FAILURE);
    exit(FC_EXIT_FAILURE);
}

void fc_mpi_failed(int code, const char *call, const char *file, int line)
{
    char reason[MPI_MAX_ERROR_STRING + 1] = "unknown error";
    int length = 0;
    if (MPI_Error_string(code, reason, &length) != MPI_SUCCESS) {
        snprintf(reason, sizeof reason, "error code %d", code);
    }
    fc_abort("%s:%d: %.*s failed: %s", file, line, (int)strcspn(call, "("), call, reason);
}

void fc_usage_error(const struct fc_world *world, const char *format, ...)
{
    if (world->rank == 0) {
        va_list arguments;
        va_start(arguments, format);
        print_error(format, arguments);
        va_end(arguments);
    }
    MPI_Finalize();
    exit(FC_EXIT_USAGE);
}

void fc_end_if_any(const struct fc_world *world, bool failed, const char *format, ...)
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
        print_error(format, arguments);
        va_end(arguments);
    }
    MPI_Finalize();
    exit(FC_EXIT_FAILURE);
}

bool fc_flush_failed(FILE *file)
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
