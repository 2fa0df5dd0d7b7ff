// SPDX-License-Identifier: BSD-3-Clause
#include "program.h"
#include "messages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ----------------------------------------------------------- start and end */

struct fc_world fc_start(int argc, char **argv, const char *method, const struct fc_option *options)
{
    struct fc_world world = {MPI_COMM_WORLD, 0, 0, NULL};
    fc_answer_help(argc, argv, method, options);
    /* Asked before MPI starts, which might open a socket under the number of a closed standard output. */
    const bool closed = fcntl(STDOUT_FILENO, F_GETFD) == -1;
    FC_MPI(MPI_Init(&argc, &argv));
    FC_MPI(MPI_Comm_set_errhandler(world.comm, MPI_ERRORS_RETURN));
    FC_MPI(MPI_Comm_rank(world.comm, &world.rank));
    FC_MPI(MPI_Comm_size(world.comm, &world.size));
    fc_end_if_any(&world, closed && world.rank == 0, "standard output is closed; redirect it to a file or a terminal");
    fc_parse_options(&world, argc, argv, options);
    world.crc = fc_allocate_all(&world, 1, sizeof *world.crc);
    *world.crc = 0;
    return world;
}

int fc_finish(const struct fc_world *world, size_t rows)
{
    fc_check_output(world); /* no rank is past this before all have come here */
    if (world->rank == 0) {
        fc_print_end(world, rows);
    }
    fc_check_output(world);
    free(world->crc);
    FC_MPI(MPI_Finalize());
    return EXIT_SUCCESS;
}

void fc_check_output(const struct fc_world *world)
{
    const bool failed = world->rank == 0 && fc_flush_failed(stdout);
    fc_end_if_any(world, failed, "cannot write to standard output: %s; free space or redirect it", strerror(errno));
}

void fc_require_pair(const struct fc_world *world)
{
    if (world->size != 2) {
        fc_usage_error(world, "needs exactly 2 ranks but was started with %d; use -np 2 (srun -n 2)", world->size);
    }
}

void fc_require_several(const struct fc_world *world)
{
    if (world->size < 2) {
        fc_usage_error(world, "needs 2 or more ranks but was started with %d; use -np 2 (srun -n 2)", world->size);
    }
}

/* ------------------------------------------------------------------ header */

static void print_compiler(const struct fc_world *world)
{
    /* The compilers that pretend to be clang or gcc have to be asked first. */
#if defined(__INTEL_LLVM_COMPILER)
    fc_print(world, "# compiler: icx %d\n", __INTEL_LLVM_COMPILER);
#elif defined(__INTEL_COMPILER)
    fc_print(world, "# compiler: icc %d\n", __INTEL_COMPILER);
#elif defined(__NVCOMPILER)
    fc_print(world, "# compiler: nvc %d.%d.%d\n", __NVCOMPILER_MAJOR__, __NVCOMPILER_MINOR__, __NVCOMPILER_PATCHLEVEL__);
#elif defined(__clang__)
    fc_print(world, "# compiler: clang %d.%d.%d\n", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
    fc_print(world, "# compiler: gcc %d.%d.%d\n", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
    fc_print(world, "# compiler: other\n");
#endif
}

void fc_print_header(const struct fc_world *world)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int length = 0;
    FC_MPI(MPI_Get_library_version(version, &length));
    version[strcspn(version, "\r\n")] = '\0';
    fc_clean(version, false);
    for (size_t last = strlen(version); last > 0 && version[last - 1] == ' '; last--) {
        version[last - 1] = '\0';
    }
    fc_print(world, "# fabric-checks %s %s\n# mpi: ", fc_program, FC_FORMAT);
    fc_print_text(world, version);
    fc_print(world, "\n");
    print_compiler(world);
}

void fc_host(char name[MPI_MAX_PROCESSOR_NAME + 1])
{
    int length = 0;
    memset(name, 0, MPI_MAX_PROCESSOR_NAME + 1);
    FC_MPI(MPI_Get_processor_name(name, &length));
    fc_clean(name, true);
    if (name[0] == '\0') {
        name[0] = '-';
    }
}

void fc_share_names(const struct fc_world *world, const char *name, int width, int *first)
{
    const int named = world->rank == 0 ? world->size : 0;
    char *const names = fc_allocate_all(world, (size_t)named, (size_t)width);
    FC_MPI(MPI_Gather(name, width, MPI_CHAR, names, width, MPI_CHAR, 0, world->comm));
    for (int rank = 0; rank < named; rank++) {
        const char *const mine = names + (size_t)rank * (size_t)width;
        int same = 0;
        while (strcmp(names + (size_t)same * (size_t)width, mine) != 0) {
            same++;
        }
        first[rank] = mine[0] == '\0' ? -1 : same;
    }
    free(names);
    FC_MPI(MPI_Bcast(first, world->size, MPI_INT, 0, world->comm));
}

/* Collective: rank 0 prints a line `# rank R: host H` for each rank. */
static void print_hosts(const struct fc_world *world)
{
    enum { width = MPI_MAX_PROCESSOR_NAME + 1 };
    char mine[width];
    char *const all = fc_allocate_all(world, world->rank == 0 ? (size_t)world->size : 0, width);
    fc_host(mine);
    FC_MPI(MPI_Gather(mine, width, MPI_CHAR, all, width, MPI_CHAR, 0, world->comm));
    for (int rank = 0; world->rank == 0 && rank < world->size; rank++) {
        fc_print(world, "# rank %d: host %s\n", rank, all + (size_t)rank * width);
    }
    free(all);
}

void fc_print_settings(const struct fc_world *world, const char *key, const char *const *names, const char *if_none)
{
    bool any = false;
    fc_print(world, "# %s:", key);
    for (; *names != NULL; names++) {
        const char *const value = getenv(*names);
        if (value != NULL) {
            char text[64];
            snprintf(text, sizeof text, "%s", value);
            fc_clean(text, true);
            fc_print(world, " %s=%s", *names, text);
            any = true;
        }
    }
    fc_print(world, "%s\n", any ? "" : if_none);
}

/*
 * Prints which setting asks the MPI library for a thread of its own that makes messages progress while the application
 * computes: the setting, not its effect, which no library reports.
 */
static void print_progress_thread(const struct fc_world *world)
{
    static const char *const names[] = {"MPIR_CVAR_ASYNC_PROGRESS",      "MPICH_ASYNC_PROGRESS",
                                        "I_MPI_ASYNC_PROGRESS",          "MV2_ASYNC_PROGRESS",
                                        "OMPI_MCA_opal_progress_thread", NULL};
    fc_print_settings(world, "progress thread", names, " no setting asks for one");
}

void fc_begin_head(const struct fc_world *world, double resolution, const struct fc_option *options)
{
    if (world->rank == 0) {
        fc_print_header(world);
        fc_print(world, "# clock resolution: %.3g s (MPI_Wtick %.3g s)\n", resolution, MPI_Wtick());
        print_progress_thread(world);
        fc_print(world, "# ranks: %d\n", world->size);
    }
    print_hosts(world);
    if (world->rank == 0) {
        fc_print_options(world, options);
    }
}

void fc_end_head(const struct fc_world *world, const char *method, const char *columns)
{
    if (world->rank == 0) {
        fc_print(world, "# method: %s\n# columns: %s\n", method, columns);
    }
    fc_check_output(world);
}

void fc_tell_progress(const struct fc_world *world, const char *what, int done, int total, double begin, double *last)
{
    const double now = MPI_Wtime();
    if (world->rank != 0 || done >= total || now - *last < 5.0) {
        return;
    }
    *last = now;
    fprintf(stderr, "%s: %s %d of %d, about %.0f s left\n", fc_program, what, done, total,
            (now - begin) / done * (total - done));
    fflush(stderr);
}

/* ------------------------------------------------------------- raw samples */

FILE *fc_open_raw(const struct fc_world *world, const char *name)
{
    const bool wanted = name != NULL && world->rank == 0;
    FILE *const raw = wanted ? fopen(name, "w") : NULL;
    fc_end_if_any(world, wanted && raw == NULL, "cannot create the file of --raw, %.200s: %s", name == NULL ? "" : name,
                  strerror(errno));
    return raw;
}

void fc_check_raw(const struct fc_world *world, FILE *raw)
{
    const bool failed = fc_flush_failed(raw);
    fc_end_if_any(world, failed, "cannot write to the file of --raw: %s; free space", strerror(errno));
}

void fc_close_raw(const struct fc_world *world, FILE *raw)
{
    fc_check_raw(world, raw);
    const bool failed = raw != NULL && fclose(raw) != 0;
    fc_end_if_any(world, failed, "cannot close the file of --raw: %s", strerror(errno));
}
