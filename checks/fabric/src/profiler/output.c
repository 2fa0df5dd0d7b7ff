// SPDX-License-Identifier: BSD-3-Clause
/*
 * The begin of a profile, and the file in which it ends.
 */
#include "profile.h"
#include "trace.h"

#ifndef SMPI_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "1"

enum { piece = 1 << 20 }; /* bytes of a text that are sent at once */

void begin_profile(void)
{
    int provided = MPI_THREAD_SINGLE;
    const char *file = getenv("FABRIC_PROFILE");
    if (p.is_on || file == NULL || *file == '\0' || PMPI_Comm_dup(MPI_COMM_WORLD, &p.own) != MPI_SUCCESS) {
        return;
    }
    PMPI_Comm_rank(p.own, &p.rank);
    PMPI_Comm_size(p.own, &p.ranks);
    PMPI_Query_thread(&provided);
    p.is_threaded = provided == MPI_THREAD_MULTIPLE;
    p.partners = calloc((size_t)p.ranks + 1, sizeof *p.partners);
    p.file = file;
    p.began_ns = now_ns(CLOCK_MONOTONIC);
    p.began_cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    trace_begins();
    p.is_on = true;
}

/* Replaces what would break a field of a row. */
static void clean(char *text)
{
    for (unsigned char *byte = (unsigned char *)text; *byte != '\0'; byte++) {
        if (*byte <= ' ' || *byte >= 0x7f) {
            *byte = '?';
        }
    }
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* Writes the rows of this rank: one for itself, for each entry of the table, and for each of those that it sent to. */
static void write_rows(FILE *out)
{
    const int64_t lasted_ns = now_ns(CLOCK_MONOTONIC) - p.began_ns;
    const int64_t cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID) - p.began_cpu_ns;
    char host[MPI_MAX_PROCESSOR_NAME + 1] = "";
    int length = 0;
    int64_t mpi_ns = 0;
    int rows = p.used;
    PMPI_Get_processor_name(host, &length);
    clean(host);
    for (int i = 0; i < slots; i++) {
        mpi_ns += p.table[i].ns;
    }
    for (int to = 0; p.partners != NULL && to <= p.ranks; to++) {
        rows += p.partners[to].messages > 0;
    }
    fprintf(out, "rank %d %s %.9f %.9f %.9f %lld %d\n", p.rank, host[0] == '\0' ? "?" : host, seconds(lasted_ns),
            seconds(cpu_ns), seconds(mpi_ns), (long long)p.not_kept, rows);
    for (int i = 0; i < slots; i++) {
        const struct entry *e = &p.table[i];
        if (e->key != 0) {
            fprintf(out, "call %s %u %s %u %lld %lld %.9f %.9f\n", call_names[(e->key >> 40) - 1],
                    (unsigned)(uint32_t)e->key, (e->key >> 39) & 1 ? "inter" : "intra",
                    (unsigned)((e->key >> 32) & 0x7f), (long long)e->count, (long long)e->bytes, seconds(e->ns),
                    seconds(e->longest_ns));
        }
    }
    for (int to = 0; p.partners != NULL && to <= p.ranks; to++) {
        if (p.partners[to].messages > 0) {
            fprintf(out, "to %d %lld %lld\n", to < p.ranks ? to : -1, (long long)p.partners[to].messages,
                    (long long)p.partners[to].bytes);
        }
    }
}

/* Rank 0 asks one rank after the other, so that it never holds more than one piece of a text. */
static void hand_over(const char *text, long long length)
{
    PMPI_Recv(NULL, 0, MPI_CHAR, 0, 0, p.own, MPI_STATUS_IGNORE);
    PMPI_Send(&length, 1, MPI_LONG_LONG, 0, 0, p.own);
    for (long long at = 0; at < length; at += piece) {
        PMPI_Send(text + at, (int)(length - at < piece ? length - at : piece), MPI_CHAR, 0, 0, p.own);
    }
}

static void take_over(FILE *out, int from)
{
    static char room[piece];
    long long length = 0;
    PMPI_Send(NULL, 0, MPI_CHAR, from, 0, p.own);
    PMPI_Recv(&length, 1, MPI_LONG_LONG, from, 0, p.own, MPI_STATUS_IGNORE);
    for (long long at = 0; at < length; at += piece) {
        const int part = (int)(length - at < piece ? length - at : piece);
        PMPI_Recv(room, part, MPI_CHAR, from, 0, p.own, MPI_STATUS_IGNORE);
        if (out != NULL) {
            fwrite(room, 1, (size_t)part, out);
        }
    }
}

static void write_file(const char *text, size_t length)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int version_length = 0;
    FILE *out = fopen(p.file, "w");
    if (out == NULL) {
        fprintf(stderr, "profile: %s: %s; no profile is written\n", p.file, strerror(errno));
    } else {
        PMPI_Get_library_version(version, &version_length);
        version[strcspn(version, "\r\n")] = '\0';
        fprintf(out, "# fabric-checks profile " FORMAT "\n# mpi: %s\n# ranks: %d\n", version, p.ranks);
        fwrite(text, 1, length, out);
    }
    for (int from = 1; from < p.ranks; from++) {
        take_over(out, from);
    }
    if (out != NULL) {
        fprintf(out, "# complete: %d ranks\n", p.ranks);
        const bool failed = ferror(out) != 0;
        if (fclose(out) != 0 || failed) {
            fprintf(stderr, "profile: %s: %s; the profile is incomplete\n", p.file, strerror(errno));
        }
    }
}

void end_profile(void)
{
    char *text = NULL;
    size_t length = 0;
    p.is_on = false;
    FILE *out = open_memstream(&text, &length);
    if (out != NULL) {
        write_rows(out);
        fclose(out);
    }
    if (p.rank == 0) {
        write_file(text, length);
    } else {
        hand_over(text, (long long)length);
    }
    free(text);
    PMPI_Comm_free(&p.own);
}

#endif
