// SPDX-License-Identifier: BSD-3-Clause
/*
 * A program from its start to its last line: MPI, the header of the output, the file of --raw.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "messages.h"
#include "options.h"

#include <fcntl.h>
#include <unistd.h>

/* ----------------------------------------------------------- start and end */

/*
 * Collective, the first call of a program: answers --help and --version without
 * MPI, starts MPI and stores the options. A closed standard output is noticed
 * before, because MPI might open a socket under its number, and the results
 * would go there.
 */
static inline struct fc_world fc_start(int argc, char **argv, const char *method,
                                       const struct fc_option *options, size_t count)
{
    struct fc_world world = {MPI_COMM_WORLD, 0, 0};
    fc_answer_help(argc, argv, method, options, count);
    const bool closed = fcntl(STDOUT_FILENO, F_GETFD) == -1;
    FC_MPI(MPI_Init(&argc, &argv));
    FC_MPI(MPI_Comm_set_errhandler(world.comm, MPI_ERRORS_RETURN));
    FC_MPI(MPI_Comm_rank(world.comm, &world.rank));
    FC_MPI(MPI_Comm_size(world.comm, &world.size));
    fc_end_if_any(&world, closed && world.rank == 0,
                  "standard output is closed; redirect it to a file or a terminal");
    fc_parse_options(&world, argc, argv, options, count);
    return world;
}

/* Collective: ends all ranks when rank 0 could not write its results. */
static inline void fc_check_output(const struct fc_world *world)
{
    const bool failed = world->rank == 0 && fc_flush_failed(stdout);
    fc_end_if_any(world, failed,
                  "cannot write to standard output: %s; free space or redirect it",
                  strerror(errno));
}

/*
 * Collective, the last call of a program: the line that tells a complete file
 * from a truncated one is printed only after all ranks have come here.
 */
static inline int fc_finish(const struct fc_world *world, size_t count, const char *what)
{
    fc_check_output(world);
    if (world->rank == 0) {
        printf("# complete: %zu %s\n", count, what);
    }
    fc_check_output(world);
    FC_MPI(MPI_Finalize());
    return EXIT_SUCCESS;
}

/* Collective: ends the program unless it has exactly two ranks, */
static inline void fc_require_pair(const struct fc_world *world)
{
    if (world->size != 2) {
        fc_usage_error(world,
                       "needs exactly 2 ranks but was started with %d; use -np 2 (srun -n 2)",
                       world->size);
    }
}

/* or at least two. */
static inline void fc_require_several(const struct fc_world *world)
{
    if (world->size < 2) {
        fc_usage_error(world,
                       "needs 2 or more ranks but was started with %d; use -np 2 (srun -n 2)",
                       world->size);
    }
}

/* ------------------------------------------------------------------ header */

static inline void fc_print_compiler(void)
{
    /* The compilers that pretend to be clang or gcc have to be asked first. */
#if defined(__INTEL_LLVM_COMPILER)
    printf("# compiler: icx %d\n", __INTEL_LLVM_COMPILER);
#elif defined(__INTEL_COMPILER)
    printf("# compiler: icc %d\n", __INTEL_COMPILER);
#elif defined(__NVCOMPILER)
    printf("# compiler: nvc %d.%d.%d\n", __NVCOMPILER_MAJOR__, __NVCOMPILER_MINOR__,
           __NVCOMPILER_PATCHLEVEL__);
#elif defined(__clang__)
    printf("# compiler: clang %d.%d.%d\n", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
    printf("# compiler: gcc %d.%d.%d\n", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
    printf("# compiler: other\n");
#endif
}

/* Rank 0 only: program, MPI library and compiler. */
static inline void fc_print_header(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int length = 0;
    FC_MPI(MPI_Get_library_version(version, &length));
    version[strcspn(version, "\r\n")] = '\0';
    fc_clean(version, false);
    printf("# fabric-checks %s %s\n# mpi: %s\n", FC_PROGRAM, FC_FORMAT, version);
    fc_print_compiler();
}

/* The name of this host, fit to be one field of a row. */
static inline void fc_host(char name[MPI_MAX_PROCESSOR_NAME + 1])
{
    int length = 0;
    memset(name, 0, MPI_MAX_PROCESSOR_NAME + 1);
    FC_MPI(MPI_Get_processor_name(name, &length));
    fc_clean(name, true);
    if (name[0] == '\0') {
        name[0] = '-';
    }
}

/* Collective: one `# rank R: host H` line per rank, printed by rank 0. */
static inline void fc_print_hosts(const struct fc_world *world)
{
    enum { width = MPI_MAX_PROCESSOR_NAME + 1 };
    char mine[width];
    char *all = NULL;
    fc_host(mine);
    if (world->rank == 0) {
        all = fc_allocate((size_t)world->size, width);
        if (all == NULL) {
            fc_abort("not enough memory for the names of %d hosts", world->size);
        }
    }
    FC_MPI(MPI_Gather(mine, width, MPI_CHAR, all, width, MPI_CHAR, 0, world->comm));
    for (int rank = 0; all != NULL && rank < world->size; rank++) {
        printf("# rank %d: host %s\n", rank, all + (size_t)rank * width);
    }
    free(all);
}

/* Rank 0 only: a header line with those of the named environment variables that are set. */
static inline void fc_print_settings(const char *key, const char *const *names, size_t count,
                                     const char *if_none)
{
    bool any = false;
    printf("# %s:", key);
    for (size_t i = 0; i < count; i++) {
        const char *const value = getenv(names[i]);
        if (value != NULL) {
            char text[64];
            snprintf(text, sizeof text, "%s", value);
            fc_clean(text, true);
            printf(" %s=%s", names[i], text);
            any = true;
        }
    }
    printf("%s\n", any ? "" : if_none);
}

/*
 * Which setting asks the MPI library for a thread of its own that makes
 * messages progress while the application computes. What is set, not what the
 * library makes of it, which it does not tell.
 */
static inline void fc_print_progress_thread(void)
{
    static const char *const names[] = {"MPIR_CVAR_ASYNC_PROGRESS", "MPICH_ASYNC_PROGRESS",
                                        "I_MPI_ASYNC_PROGRESS", "MV2_ASYNC_PROGRESS",
                                        "OMPI_MCA_opal_progress_thread"};
    fc_print_settings("progress thread", names, sizeof names / sizeof names[0],
                      " no setting asks for one");
}

/*
 * Collective, prints on rank 0: the header down to the options. A program may
 * print lines of its own, `# key: value`, between this and fc_end_head.
 * `resolution` is that of rank 0's clock, seconds.
 */
static inline void fc_begin_head(const struct fc_world *world, double resolution,
                                 const struct fc_option *options, size_t count)
{
    if (world->rank == 0) {
        fc_print_header();
        printf("# clock resolution: %.3g s (MPI_Wtick %.3g s)\n", resolution, MPI_Wtick());
        fc_print_progress_thread();
        printf("# ranks: %d\n", world->size);
    }
    fc_print_hosts(world);
    if (world->rank == 0) {
        fc_print_options(options, count);
    }
}

/* Collective, prints on rank 0: the end of the header, with the names of the columns. */
static inline void fc_end_head(const struct fc_world *world, const char *method,
                               const char *columns)
{
    if (world->rank == 0) {
        printf("# method: %s\n# columns: %s\n", method, columns);
    }
    fc_check_output(world);
}

/* ------------------------------------------------------------- raw samples */

/*
 * The file of `--raw`, which rank 0 writes. All three are collective: a file
 * that cannot be written ends every rank, at once and not after the last point.
 */
static inline FILE *fc_open_raw(const struct fc_world *world, const char *name)
{
    const bool wanted = name != NULL && world->rank == 0;
    FILE *const raw = wanted ? fopen(name, "w") : NULL;
    fc_end_if_any(world, wanted && raw == NULL, "cannot create the file of --raw, %.200s: %s",
                  name == NULL ? "" : name, strerror(errno));
    return raw;
}

static inline void fc_check_raw(const struct fc_world *world, FILE *raw)
{
    const bool failed = fc_flush_failed(raw);
    fc_end_if_any(world, failed, "cannot write to the file of --raw: %s; free space",
                  strerror(errno));
}

static inline void fc_close_raw(const struct fc_world *world, FILE *raw)
{
    fc_check_raw(world, raw);
    const bool failed = raw != NULL && fclose(raw) != 0;
    fc_end_if_any(world, failed, "cannot close the file of --raw: %s", strerror(errno));
}

#endif
