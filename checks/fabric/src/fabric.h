// SPDX-License-Identifier: BSD-3-Clause
/*
 * What all programs of fabric-checks share: checked MPI calls, errors that end
 * every rank, options, memory, the clock, statistics and the sampling loop.
 *
 * A program defines FC_PROGRAM (its name) and includes this file before any
 * other header. There is no mutable static data here and there must be none in
 * the programs: a simulator may run the ranks as threads of one process.
 */
#ifndef FABRIC_H
#define FABRIC_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity, CPU_ALLOC, posix_memalign under -std=c11 */
#endif

#ifndef FC_PROGRAM
#error "define FC_PROGRAM, the name of the program, before including fabric.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

#define FC_FORMAT "1" /* number of the output format, raised when columns change meaning */

#define FC_EXIT_FAILURE 1 /* a check or a resource failed while running */
#define FC_EXIT_USAGE 2   /* the command line or the number of ranks is wrong */

#define FC_LINE_MAX 1024 /* longest error line */

#if defined(__GNUC__)
#define FC_PRINTF(text_at, first_at) __attribute__((format(printf, text_at, first_at)))
#else
#define FC_PRINTF(text_at, first_at)
#endif

struct fc_world {
    MPI_Comm comm;
    int rank;
    int size;
};

/* ------------------------------------------------------------------ errors */

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

/* ----------------------------------------------------------------- options */

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

static inline bool fc_parse_digits(const char **text, size_t *value)
{
    const char *at = *text;
    size_t sum = 0;
    if (*at < '0' || *at > '9') {
        return false;
    }
    for (; *at >= '0' && *at <= '9'; at++) {
        const size_t digit = (size_t)(*at - '0');
        if (sum > (SIZE_MAX - digit) / 10) {
            return false;
        }
        sum = sum * 10 + digit;
    }
    *text = at;
    *value = sum;
    return true;
}

static inline bool fc_parse_count(const char *text, size_t *value)
{
    return fc_parse_digits(&text, value) && *text == '\0';
}

static inline bool fc_parse_size(const char *text, size_t *value)
{
    size_t number = 0;
    if (!fc_parse_digits(&text, &number)) {
        return false;
    }
    unsigned shift = 0;
    switch (*text) {
    case 'K': case 'k': shift = 10; break;
    case 'M': case 'm': shift = 20; break;
    case 'G': case 'g': shift = 30; break;
    default: break;
    }
    if (shift != 0) {
        text++;
    }
    if (*text != '\0' || number > SIZE_MAX >> shift) {
        return false;
    }
    *value = number << shift;
    return true;
}

/* Plain decimals only: strtod alone would let "nan", "inf", " 1" and "0x1" in. */
static inline bool fc_parse_real(const char *text, double *value)
{
    char *end = NULL;
    if (*text == '\0' || text[strspn(text, "0123456789.eE+-")] != '\0') {
        return false;
    }
    errno = 0;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && errno == 0 && isfinite(*value);
}

static inline bool fc_parse_choice(const char *text, const char *const *choices, size_t *value)
{
    for (size_t i = 0; choices[i] != NULL; i++) {
        if (strcmp(choices[i], text) == 0) {
            *value = i;
            return true;
        }
    }
    return false;
}

/* Stores one value; false if it is not of the kind or not in the range. */
static inline bool fc_set_option(const struct fc_option *option, const char *text)
{
    size_t whole = 0;
    double real = 0.0;
    switch (option->kind) {
    case FC_FLAG:
        *(bool *)option->target = true;
        return true;
    case FC_CHOICE:
        return fc_parse_choice(text, option->choices, option->target);
    case FC_TEXT:
        if (*text == '\0') {
            return false;
        }
        *(const char **)option->target = text;
        return true;
    case FC_REAL:
        if (!fc_parse_real(text, &real) || !(real >= option->low && real <= option->high)) {
            return false;
        }
        *(double *)option->target = real;
        return true;
    case FC_SIZE:
    case FC_COUNT:
    default:
        if (!(option->kind == FC_SIZE ? fc_parse_size(text, &whole)
                                      : fc_parse_count(text, &whole)) ||
            !((double)whole >= option->low && (double)whole <= option->high)) {
            return false;
        }
        *(size_t *)option->target = whole;
        return true;
    }
}

/* The words of a choice as `a, b, c`; cut if they do not fit. */
static inline void fc_list_choices(const char *const *choices, char *text, size_t capacity)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; choices[i] != NULL && used < capacity; i++) {
        const int more =
            snprintf(text + used, capacity - used, "%s%s", i == 0 ? "" : ", ", choices[i]);
        used += more < 0 ? capacity : (size_t)more;
    }
}

static inline _Noreturn void fc_bad_value(const struct fc_world *world,
                                          const struct fc_option *option, const char *text)
{
    if (option->kind == FC_TEXT) {
        fc_usage_error(world, "option --%s needs a value that is not empty; see --help",
                       option->name);
    }
    if (option->kind == FC_CHOICE) {
        char words[200];
        fc_list_choices(option->choices, words, sizeof words);
        fc_usage_error(world, "option --%s: bad value '%.80s'; give one of %s", option->name, text,
                       words);
    }
    const char *const kind = option->kind == FC_SIZE    ? "bytes (a suffix K, M or G is allowed)"
                             : option->kind == FC_COUNT ? "(a whole number)"
                                                        : "(a decimal number)";
    fc_usage_error(world, "option --%s: bad value '%.80s'; give %.10g to %.10g %s", option->name,
                   text, option->low, option->high, kind);
}

static inline const struct fc_option *fc_find_option(const struct fc_option *options, size_t count,
                                                     const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(options[i].name) == length && memcmp(options[i].name, name, length) == 0) {
            return &options[i];
        }
    }
    return NULL;
}

/*
 * Reads `--name value` and `--name=value` into the targets of the table. All
 * ranks have the same command line, so all of them find the same error.
 */
static inline void fc_parse_options(const struct fc_world *world, int argc, char **argv,
                                    const struct fc_option *options, size_t count)
{
    for (int i = 1; i < argc; i++) {
        const char *const argument = argv[i];
        if (strncmp(argument, "--", 2) != 0) {
            fc_usage_error(world, "unexpected argument '%.80s'; see --help", argument);
        }
        const char *const name = argument + 2;
        const size_t length = strcspn(name, "=");
        const struct fc_option *const option = fc_find_option(options, count, name, length);
        if (option == NULL) {
            fc_usage_error(world, "unknown option '%.80s'; see --help", argument);
        }
        const char *value = name[length] == '=' ? name + length + 1 : NULL;
        if (option->kind == FC_FLAG) {
            if (value != NULL) {
                fc_usage_error(world, "option --%s takes no value", option->name);
            }
            value = "";
        } else if (value == NULL) {
            if (++i >= argc) {
                fc_usage_error(world, "option --%s needs a value; see --help", option->name);
            }
            value = argv[i];
        }
        if (!fc_set_option(option, value)) {
            fc_bad_value(world, option, value);
        }
    }
}

static inline void fc_print_value(const struct fc_option *option)
{
    switch (option->kind) {
    case FC_TEXT: {
        const char *const text = *(const char *const *)option->target;
        printf("%s", text == NULL ? "none" : text);
        break;
    }
    case FC_REAL: printf("%.10g", *(const double *)option->target); break;
    case FC_FLAG: printf("%s", *(const bool *)option->target ? "yes" : "no"); break;
    case FC_CHOICE: printf("%s", option->choices[*(const size_t *)option->target]); break;
    case FC_SIZE:
    case FC_COUNT:
    default: printf("%zu", *(const size_t *)option->target); break;
    }
}

/* The line that repeats the options, so that a result file explains itself. */
static inline void fc_print_options(const struct fc_option *options, size_t count)
{
    printf("# options:");
    for (size_t i = 0; i < count; i++) {
        if (options[i].kind != FC_TEXT) {
            printf(" %s ", options[i].name);
            fc_print_value(&options[i]);
        }
    }
    printf("\n");
}

static inline void fc_print_help(const char *method, const struct fc_option *options, size_t count)
{
    static const char *const placeholder[] = {
        [FC_SIZE] = " SIZE", [FC_COUNT] = " N", [FC_REAL] = " X",
        [FC_FLAG] = "", [FC_CHOICE] = " WORD", [FC_TEXT] = " FILE"};
    printf("%s\nOptions:\n", method);
    for (size_t i = 0; i < count; i++) {
        printf("  --%s%s\n        %s", options[i].name, placeholder[options[i].kind],
               options[i].help);
        if (options[i].kind == FC_CHOICE) {
            char words[200];
            fc_list_choices(options[i].choices, words, sizeof words);
            printf(": %s", words);
        }
        printf("; default ");
        fc_print_value(&options[i]);
        printf("\n");
    }
    printf("  --help\n        print this text and exit\n"
           "  --version\n        print name and version and exit\n");
    if (count > 0) {
        printf("A SIZE is in bytes; K, M and G stand for 1024, 1024^2 and 1024^3 bytes.\n");
    }
}

/*
 * The rank the launcher gave to this process, as far as the environment tells:
 * help is printed without MPI_Init, which may need a launcher to succeed.
 */
static inline bool fc_launched_as_first(void)
{
    static const char *const names[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK",
                                        "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *const value = getenv(names[i]);
        if (value != NULL) {
            return strcmp(value, "0") == 0;
        }
    }
    return true;
}

static inline _Noreturn void fc_exit_after_text(void)
{
    if (fc_flush_failed(stdout)) {
        fprintf(stderr, "%s: cannot write to standard output: %s\n", FC_PROGRAM, strerror(errno));
        exit(FC_EXIT_FAILURE);
    }
    exit(EXIT_SUCCESS);
}

/* Call before fc_start: answers --help and --version without MPI and exits. */
static inline void fc_answer_help(int argc, char **argv, const char *method,
                                  const struct fc_option *options, size_t count)
{
    for (int i = 1; i < argc; i++) {
        const bool help = strcmp(argv[i], "--help") == 0;
        if (!help && strcmp(argv[i], "--version") != 0) {
            continue;
        }
        if (fc_launched_as_first()) {
            if (help) {
                fc_print_help(method, options, count);
            } else {
                printf("fabric-checks %s %s\n", FC_PROGRAM, FC_FORMAT);
            }
        }
        fc_exit_after_text();
    }
}

/* ----------------------------------------------------------- start and end */

/*
 * Starts MPI. A closed standard output is noticed before, because MPI might
 * open a socket under its number, and the results would go there.
 */
static inline struct fc_world fc_start(int *argc, char ***argv)
{
    const bool closed = fcntl(STDOUT_FILENO, F_GETFD) == -1;
    struct fc_world world = {MPI_COMM_WORLD, 0, 0};
    FC_MPI(MPI_Init(argc, argv));
    FC_MPI(MPI_Comm_set_errhandler(world.comm, MPI_ERRORS_RETURN));
    FC_MPI(MPI_Comm_rank(world.comm, &world.rank));
    FC_MPI(MPI_Comm_size(world.comm, &world.size));
    fc_end_if_any(&world, closed && world.rank == 0,
                  "standard output is closed; redirect it to a file or a terminal");
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

static inline void *fc_allocate(size_t count, size_t unit);

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

/* ------------------------------------------------------------------ memory */

/*
 * Page-aligned memory of count * unit bytes, not touched: fc_fill and fc_spoil
 * touch the bytes of a point before it is timed, as other benchmarks do. Touching
 * all of it here would lay its pages out better than a real program finds them.
 * NULL if it overflows or cannot be had.
 */
static inline void *fc_allocate(size_t count, size_t unit)
{
    const long page = sysconf(_SC_PAGESIZE);
    const size_t alignment = page > 0 ? (size_t)page : 4096;
    void *memory = NULL;
    if (unit != 0 && count > (SIZE_MAX - alignment) / unit) {
        return NULL;
    }
    const size_t bytes = count * unit == 0 ? 1 : count * unit;
    const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    if (posix_memalign(&memory, alignment, rounded) != 0) {
        return NULL;
    }
    return memory;
}

/* Bytes the host can still give, SIZE_MAX if it does not say. */
static inline size_t fc_memory_available(void)
{
    FILE *const file = fopen("/proc/meminfo", "r");
    char line[256];
    size_t available = SIZE_MAX;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        unsigned long long kib = 0;
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1 && kib <= SIZE_MAX / 1024) {
            available = (size_t)kib * 1024;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return available;
}

/*
 * Collective, before the buffers are allocated: with overcommitment the kernel
 * grants any amount and kills a rank later, when the pages are touched.
 */
static inline void fc_require_memory(const struct fc_world *world, size_t bytes)
{
    MPI_Comm host = MPI_COMM_NULL;
    const double mine = (double)bytes; /* a sum of doubles does not wrap around */
    double needed = 0.0;
    FC_MPI(MPI_Comm_split_type(world->comm, MPI_COMM_TYPE_SHARED, world->rank, MPI_INFO_NULL,
                               &host));
    FC_MPI(MPI_Allreduce(&mine, &needed, 1, MPI_DOUBLE, MPI_SUM, host));
    FC_MPI(MPI_Comm_free(&host));
    const double available = (double)fc_memory_available();
    fc_end_if_any(world, needed > available,
                  "the ranks of a host need %.0f MiB but it has %.0f MiB available; "
                  "use smaller messages or fewer ranks per host",
                  needed / 1048576.0, available / 1048576.0);
}

/* Collective: fc_allocate that ends all ranks when one of them has no memory. */
static inline void *fc_allocate_all(const struct fc_world *world, size_t count, size_t unit)
{
    void *const memory = fc_allocate(count, unit);
    fc_end_if_any(world, memory == NULL,
                  "cannot allocate %zu x %zu bytes; use smaller messages or raise the memory limit",
                  count, unit);
    return memory;
}

/*
 * Test data. A byte depends on its position, on the size of the message and on
 * its sender, so that shifted, stale and misdirected data are all noticed.
 */
static inline unsigned char fc_pattern(size_t at, size_t size, int sender)
{
    const size_t mixed = at ^ (at >> 8) ^ (at >> 16);
    return (unsigned char)(mixed + size * 7 + size / 251 + (size_t)sender * 101 + 1);
}

static inline void fc_fill(unsigned char *buffer, size_t size, int sender)
{
    for (size_t i = 0; i < size; i++) {
        buffer[i] = fc_pattern(i, size, sender);
    }
}

/* Makes every byte of a receive buffer differ from what is going to arrive. */
static inline void fc_spoil(unsigned char *buffer, size_t size, int sender)
{
    for (size_t i = 0; i < size; i++) {
        buffer[i] = (unsigned char)~fc_pattern(i, size, sender);
    }
}

/* Position of the first wrong byte, `size` if all are right. */
static inline size_t fc_first_wrong(const unsigned char *buffer, size_t size, int sender)
{
    for (size_t i = 0; i < size; i++) {
        if (buffer[i] != fc_pattern(i, size, sender)) {
            return i;
        }
    }
    return size;
}

/* ------------------------------------------------------------------- clock */

/*
 * The smallest step of MPI_Wtime that can be seen. The number of calls is
 * bounded because a simulated clock may stand still between messages; then
 * MPI_Wtick has to be believed.
 */
static inline double fc_clock_resolution(void)
{
    enum { calls = 200000, steps = 100 };
    double smallest = 0.0;
    double before = MPI_Wtime();
    for (int call = 0, step = 0; call < calls && step < steps; call++) {
        const double now = MPI_Wtime();
        if (now > before) {
            smallest = smallest > 0.0 && smallest < now - before ? smallest : now - before;
            step++;
        }
        before = now;
    }
    return smallest > 0.0 ? smallest : MPI_Wtick();
}

/* Rank 0 only. */
static inline void fc_print_clock(double resolution)
{
    printf("# clock resolution: %.3g s (MPI_Wtick %.3g s)\n", resolution, MPI_Wtick());
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
    bool any = false;
    printf("# progress thread:");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *const value = getenv(names[i]);
        if (value != NULL) {
            char text[64];
            snprintf(text, sizeof text, "%s", value);
            fc_clean(text, true);
            printf(" %s=%s", names[i], text);
            any = true;
        }
    }
    printf("%s\n", any ? "" : " no setting asks for one");
}

/*
 * Collective, prints on rank 0: the whole header, down to the names of the
 * columns. `resolution` is that of rank 0's clock.
 */
static inline void fc_print_head(const struct fc_world *world, double resolution,
                                 const struct fc_option *options, size_t count,
                                 const char *method, const char *columns)
{
    if (world->rank == 0) {
        fc_print_header();
        fc_print_clock(resolution);
        fc_print_progress_thread();
        printf("# ranks: %d\n", world->size);
    }
    fc_print_hosts(world);
    if (world->rank == 0) {
        fc_print_options(options, count);
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

/* ------------------------------------------------------------------- sizes */

/*
 * 0, 1, 2, 3, 4, 6, 8, 12, ...: the powers of two and the sizes half-way between
 * them, because N1/2 is interpolated and a factor of two is too coarse for that.
 * The caller stops at the largest size, which is below 2^31.
 */
static inline size_t fc_next_half_octave(size_t size)
{
    const bool power_of_two = (size & (size - 1)) == 0;
    if (size < 2) {
        return size + 1;
    }
    return power_of_two ? size / 2 * 3 : size / 3 * 4;
}

/* 0, 1, 2, 4, 8, ... */
static inline size_t fc_next_power_of_two(size_t size)
{
    return size == 0 ? 1 : 2 * size;
}

/* -------------------------------------------------------------- statistics */

/* Samples in the order they were taken, and a copy to sort; owned by rank 0. */
struct fc_samples {
    double *value;
    double *sorted;
    size_t count;
    size_t capacity;
};

struct fc_result {
    double median; /* seconds, as are the ends of its 95 % confidence interval */
    double low;
    double high;
    size_t samples;
    const char *stop; /* `ci`: the interval got narrow enough; `cap`: the time was up */
};

static inline int fc_compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

static inline double fc_median(const double *sorted, size_t count)
{
    const size_t half = count / 2;
    return count % 2 == 1 ? sorted[half] : 0.5 * (sorted[half - 1] + sorted[half]);
}

/*
 * Ranks (from 1) of the order statistics that enclose the median with 95 %
 * confidence whatever the distribution is: the number of samples below the
 * median is binomial with p = 1/2, here in its normal approximation (Le Boudec,
 * Performance Evaluation, 2010; Hoefler and Belli, SC15). Below 8 samples they
 * would leave the sample; they are then its ends, and cover less than 95 %
 * below 6.
 */
static inline void fc_interval_ranks(size_t count, size_t *low, size_t *high)
{
    const double n = (double)count;
    size_t below = count / 2; /* largest b with n - 2 b >= 1.96 sqrt(n), squared: needs no libm */
    while (below > 0 && (n - 2.0 * (double)below) * (n - 2.0 * (double)below) < 1.96 * 1.96 * n) {
        below--;
    }
    *low = below < 1 ? 1 : below;
    *high = below < 1 ? count : count + 1 - below;
}

/* Median and interval of all samples so far; there is at least one. */
static inline struct fc_result fc_summarise(const struct fc_samples *samples)
{
    const size_t count = samples->count;
    size_t low = 0;
    size_t high = 0;
    memcpy(samples->sorted, samples->value, count * sizeof *samples->sorted);
    qsort(samples->sorted, count, sizeof *samples->sorted, fc_compare_doubles);
    fc_interval_ranks(count, &low, &high);
    return (struct fc_result){fc_median(samples->sorted, count), samples->sorted[low - 1],
                              samples->sorted[high - 1], count, NULL};
}

static inline void fc_add_sample(struct fc_samples *samples, double value)
{
    if (samples->count == samples->capacity) {
        const size_t capacity = samples->capacity == 0 ? 1024 : 2 * samples->capacity;
        if (capacity > SIZE_MAX / sizeof(double)) {
            fc_abort("too many samples; lower --max-seconds-per-point");
        }
        double *const values = realloc(samples->value, capacity * sizeof(double));
        samples->value = values != NULL ? values : samples->value;
        double *const sorted = realloc(samples->sorted, capacity * sizeof(double));
        samples->sorted = sorted != NULL ? sorted : samples->sorted;
        if (values == NULL || sorted == NULL) {
            fc_abort("no memory for %zu samples; lower --max-seconds-per-point", capacity);
        }
        samples->capacity = capacity;
    }
    samples->value[samples->count++] = value;
}

static inline void fc_free_samples(struct fc_samples *samples)
{
    free(samples->value);
    free(samples->sorted);
    *samples = (struct fc_samples){NULL, NULL, 0, 0};
}

/* ---------------------------------------------------------------- sampling */

/* When to stop sampling. The same on all ranks, only rank 0 applies it. */
struct fc_rule {
    double ci_share;     /* both ends of the interval are within this share of the median */
    double max_seconds;  /* cap on the time spent with one point */
    size_t min_samples;  /* fewest samples before the interval is trusted */
    size_t warmup;       /* repetitions before the first sample */
    double resolution;   /* of the clock, seconds */
};

#define FC_RULE_DEFAULTS {0.05, 0.25, 30, 10, 0.0}

/* The rows of an option table that set a rule. */
#define FC_RULE_OPTIONS(rule)                                                                    \
    {"ci-share", FC_REAL, &(rule).ci_share, 1e-6, 1.0,                                           \
     "stop when both ends of the 95 % confidence interval of the median are within\n"            \
     "        this share of the median", NULL},                                                  \
    {"max-seconds-per-point", FC_REAL, &(rule).max_seconds, 1e-6, 86400.0,                       \
     "seconds after which a point ends without that (but not before 8 samples);\n"               \
     "        no point ends before a fifth of it, to see slow disturbances too", NULL},          \
    {"min-samples", FC_COUNT, &(rule).min_samples, FC_FEWEST_SAMPLES, 1e6,                       \
     "samples before the interval is trusted", NULL},                                            \
    {"warmup", FC_COUNT, &(rule).warmup, 0, 1e6,                                                 \
     "repetitions before the first sample of a point, at most a quarter of the cap", NULL}

enum { FC_FEWEST_SAMPLES = 8 }; /* below it the order statistics give no 95 % interval */

static const double fc_least_share = 0.2; /* of the cap: a converged point lasts so long */
static const double fc_least_batch = 200e-6; /* seconds: a sample is at least so long ... */
static const double fc_least_ticks = 100.0;  /* ... and so many steps of the clock */
static const unsigned long long fc_longest_batch = 1ULL << 20;

/*
 * What is measured. The function is called on all ranks with the same number of
 * repetitions; on rank 0 it returns the seconds they took. Rank 0 enters it
 * after all other ranks are about to.
 */
struct fc_subject {
    double (*repeat)(const void *data, unsigned long long repetitions);
    const void *data; /* for the function; it may hold pointers to buffers to write */
    double operations; /* per repetition: a sample is the time of one operation */
};

/*
 * Rank 0 announces the next batch (0: none) and waits until the others have
 * answered. Both lie outside the timed section, and because an answer is sent
 * by a rank that has nothing else left to do, nobody is late for the batch.
 */
static inline unsigned long long fc_announce(const struct fc_world *world,
                                             unsigned long long repetitions)
{
    int ready = 1;
    int all_ready = 0;
    FC_MPI(MPI_Bcast(&repetitions, 1, MPI_UNSIGNED_LONG_LONG, 0, world->comm));
    FC_MPI(MPI_Reduce(&ready, &all_ready, 1, MPI_INT, MPI_MIN, 0, world->comm));
    return repetitions;
}

static inline double fc_batch(const struct fc_world *world, const struct fc_subject *subject,
                              unsigned long long repetitions)
{
    fc_announce(world, repetitions);
    return subject->repeat(subject->data, repetitions);
}

static inline void fc_warm_up(const struct fc_world *world, const struct fc_rule *rule,
                              const struct fc_subject *subject)
{
    const double begin = MPI_Wtime();
    for (size_t i = 0; i < rule->warmup && MPI_Wtime() - begin < rule->max_seconds / 4; i++) {
        fc_batch(world, subject, 1);
    }
}

/* Shortest of a few batches: one that was interrupted must not pass for a long one. */
static inline double fc_shortest_batch(const struct fc_world *world,
                                       const struct fc_subject *subject,
                                       unsigned long long repetitions, double wanted)
{
    double shortest = fc_batch(world, subject, repetitions);
    for (int i = 0; i < 2 && shortest >= wanted && shortest < 10.0 * wanted; i++) {
        const double next = fc_batch(world, subject, repetitions);
        shortest = next < shortest ? next : shortest;
    }
    return shortest;
}

/*
 * The number of repetitions whose time the clock can tell. It is raised by what
 * is missing, but at most tenfold, since a short time says little about it.
 */
static inline unsigned long long fc_calibrate(const struct fc_world *world,
                                              const struct fc_rule *rule,
                                              const struct fc_subject *subject)
{
    const double by_clock = fc_least_ticks * rule->resolution;
    const double wanted = by_clock > fc_least_batch ? by_clock : fc_least_batch;
    unsigned long long repetitions = 1;
    for (;;) {
        const double seconds = fc_shortest_batch(world, subject, repetitions, wanted);
        if (seconds >= wanted) {
            return repetitions;
        }
        if (repetitions >= fc_longest_batch) {
            if (seconds > 0.0) {
                return repetitions;
            }
            fc_abort("%llu repetitions took no time that MPI_Wtime can tell; "
                     "the clock of this MPI does not advance", repetitions);
        }
        const double missing = seconds > 0.0 ? 1.2 * wanted / seconds : 10.0;
        const double factor = missing > 10.0 ? 10.0 : missing;
        const double next = (double)repetitions * (factor < 1.5 ? 1.5 : factor) + 1.0;
        repetitions = next < (double)fc_longest_batch ? (unsigned long long)next : fc_longest_batch;
    }
}

static inline bool fc_is_narrow(const struct fc_result *result, double share)
{
    return result->low >= result->median * (1.0 - share) &&
           result->high <= result->median * (1.0 + share);
}

/*
 * Applies the rule to the samples so far. Returns true when the point is done.
 * The interval is looked at again only after a tenth more samples: sorting them
 * after every sample would take longer than taking them.
 */
static inline bool fc_is_done(const struct fc_rule *rule, const struct fc_samples *samples,
                              double seconds, size_t *next_look, struct fc_result *result)
{
    const size_t count = samples->count;
    const bool over = seconds >= rule->max_seconds && count >= FC_FEWEST_SAMPLES;
    const bool enough =
        count >= rule->min_samples && seconds >= fc_least_share * rule->max_seconds;
    if (!over && !(enough && count >= *next_look)) {
        return false;
    }
    *next_look = count + count / 10 + 1;
    *result = fc_summarise(samples);
    const bool narrow = count >= rule->min_samples && fc_is_narrow(result, rule->ci_share);
    result->stop = narrow ? "ci" : "cap";
    return narrow || over;
}

/* Ranks other than 0: do the batches rank 0 announces. */
static inline void fc_follow(const struct fc_world *world, const struct fc_subject *subject)
{
    for (;;) {
        const unsigned long long repetitions = fc_announce(world, 0);
        if (repetitions == 0) {
            return;
        }
        subject->repeat(subject->data, repetitions);
    }
}

/*
 * Collective: measures one point. Warm up, find a batch the clock can resolve,
 * then take batches as samples until the confidence interval of their median is
 * narrow or the time is up. Rank 0 decides alone, between two batches, and gets
 * the result; the samples of the point remain in `samples`.
 */
static inline struct fc_result fc_measure(const struct fc_world *world, const struct fc_rule *rule,
                                          const struct fc_subject *subject,
                                          struct fc_samples *samples)
{
    struct fc_result result = {0.0, 0.0, 0.0, 0, "cap"};
    samples->count = 0;
    if (world->rank != 0) {
        fc_follow(world, subject);
        return result;
    }
    fc_warm_up(world, rule, subject);
    const unsigned long long repetitions = fc_calibrate(world, rule, subject);
    const double operations = subject->operations * (double)repetitions;
    const double begin = MPI_Wtime();
    size_t next_look = 0;
    do {
        fc_add_sample(samples, fc_batch(world, subject, repetitions) / operations);
    } while (!fc_is_done(rule, samples, MPI_Wtime() - begin, &next_look, &result));
    fc_announce(world, 0);
    if (!(result.median > 0.0)) {
        fc_abort("the median of %zu samples is not above zero; the clock of this MPI is too coarse",
                 result.samples);
    }
    return result;
}

/* One line a sample, `WHAT sample_us`; nothing without a file. */
static inline void fc_write_raw(FILE *raw, const char *what, const struct fc_samples *samples)
{
    for (size_t i = 0; raw != NULL && i < samples->count; i++) {
        fprintf(raw, "%s %.6g\n", what, 1e6 * samples->value[i]);
    }
}

/* Rank 0 only: the columns of one result, in microseconds. */
static inline void fc_print_result(const struct fc_result *result)
{
    printf(" %.6g %.6g %.6g %zu %s", 1e6 * result->median, 1e6 * result->low, 1e6 * result->high,
           result->samples, result->stop);
}

/* -------------------------------------------------------- post, work, wait */

/*
 * Overlap of a transfer with work, after section 5 of SAND2005-5199: a transfer
 * is posted, work is done, and then the end of the transfer is waited for. The
 * work that the transfer leaves room for is searched for.
 *
 * The work is a number of iterations and not a time: work that messaging slows
 * down takes longer, and that is overhead too.
 */
struct fc_work {
    unsigned long long iterations;
    unsigned long long test_every; /* iterations from one MPI_Test to the next; 0: none */
    bool alone;                    /* the work is timed by itself: nothing is posted */
};

/*
 * Work that is compiled into each of its callers might differ in speed from
 * the one that is timed alone.
 */
#if defined(__GNUC__)
#define FC_ONE_COPY __attribute__((noinline, unused))
#else
#define FC_ONE_COPY inline
#endif

/* Tests the first request that is not complete; false if all are. */
static inline bool fc_test_first(MPI_Request *requests, int count)
{
    for (int i = 0; i < count; i++) {
        if (requests[i] != MPI_REQUEST_NULL) {
            int done = 0;
            FC_MPI(MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE));
            return true;
        }
    }
    return false;
}

/* The clock is read in each iteration so that work takes time in a simulator too. */
static FC_ONE_COPY void fc_do_work(const struct fc_work *work, MPI_Request *requests, int count)
{
    double sum = 0.0;
    unsigned long long until_test = work->alone ? 0 : work->test_every;
    for (unsigned long long i = 0; i < work->iterations; i++) {
        sum = 0.5 * sum + MPI_Wtime();
        if (until_test != 0 && --until_test == 0) {
            until_test = fc_test_first(requests, count) ? work->test_every : 0;
        }
    }
    volatile double kept = sum; /* the arithmetic must not be left out */
    (void)kept;
}

/*
 * Called on all ranks with the same work and the same number of repetitions of
 * post, work and wait; on rank 0 it returns the seconds they took.
 */
struct fc_transfer {
    const char *name; /* prefix of its columns */
    double (*repeat)(const void *data, const struct fc_work *work,
                     unsigned long long repetitions);
    const void *data;
};

struct fc_search_plan {
    double knee_share;    /* a transfer longer than nominal by more than this share is lengthened */
    size_t max_steps;     /* most works that are tried */
    bool poll;            /* call MPI_Test in the work ... */
    double poll_interval; /* ... every so many microseconds */
};

#define FC_SEARCH_DEFAULTS {0.05, 40, false, 10.0}

/* A search has about 9 steps: they are shorter than the points of other programs. */
#define FC_SEARCH_RULE_DEFAULTS {0.05, 0.05, 10, 3, 0.0}

/* The rows of an option table that set a plan. */
#define FC_SEARCH_OPTIONS(plan)                                                                  \
    {"knee-share", FC_REAL, &(plan).knee_share, 0.001, 1.0,                                      \
     "the work ends to fit when the transfer takes longer than nominal by more than\n"           \
     "        this share", NULL},                                                                \
    {"max-steps", FC_COUNT, &(plan).max_steps, 3, 1000,                                          \
     "most works tried in a search, which then stops with `cap`", NULL},                         \
    {"poll", FC_FLAG, &(plan).poll, 0, 0, "call MPI_Test in the work", NULL},                    \
    {"poll-interval", FC_REAL, &(plan).poll_interval, 0.01, 1e6,                                 \
     "microseconds of work from one MPI_Test to the next, with --poll", NULL}

/* What is sampled: the transfer without work and with it, the work, and what is beyond it. */
enum fc_series { FC_NOMINAL, FC_TRANSFER, FC_WORK, FC_EXCESS, FC_SERIES };

/* Of one size and one transfer; the same on all ranks but for what only rank 0 knows. */
struct fc_search {
    const struct fc_world *world;
    const struct fc_rule *rule;
    const struct fc_search_plan *plan;
    struct fc_transfer transfer;
    size_t size;
    FILE *raw;        /* NULL: samples are not written to a file */
    double iteration; /* rank 0: seconds that one iteration of the work takes */
    double nominal;   /* rank 0: seconds of a transfer without work, measured last */
    size_t steps;     /* rank 0: works tried so far */
    struct fc_samples samples[FC_SERIES];
};

static inline struct fc_search fc_make_search(const struct fc_world *world,
                                              const struct fc_rule *rule,
                                              const struct fc_search_plan *plan,
                                              struct fc_transfer transfer)
{
    struct fc_search search = {world, rule, plan, transfer, 0, NULL, 0.0, 0.0, 0,
                               {{NULL, NULL, 0, 0}}};
    return search;
}

static inline void fc_free_search(struct fc_search *search)
{
    for (int series = 0; series < FC_SERIES; series++) {
        fc_free_samples(&search->samples[series]);
    }
}

struct fc_overlap {
    double nominal;  /* seconds, as are the next four */
    double overhead; /* time of the transfer with work, less the time of the work alone */
    double low;      /* ends of its 95 % confidence interval */
    double high;
    double work;         /* the work alone */
    double availability; /* percent */
    size_t steps;
    const char *stop; /* `knee`, `none` or `cap`, see --help */
};

#define FC_OVERLAP_COLUMNS(name)                                                                 \
    name "_nominal_us " name "_overhead_us " name "_overhead_ci_low_us "                         \
    name "_overhead_ci_high_us " name "_availability_percent " name "_work_us "                  \
    name "_steps " name "_stop"

#define FC_OVERLAP_METHOD                                                                        \
    "Work: iterations of a loop that reads the clock (MPI_Wtime) and adds. It is a number of\n"  \
    "iterations, not a time, so work that messaging slows down counts as overhead. It uses no\n" \
    "memory: a shortage of memory bandwidth is not seen. With --poll the work calls MPI_Test;\n" \
    "without it, only hardware or a progress thread can move messages meanwhile.\n"              \
    "\n"                                                                                         \
    "Search: nominal is the time without work. The work at which the transfer begins to be\n"    \
    "lengthened, which is to take longer than nominal by more than --knee-share, lies between\n" \
    "none and one so long that it cannot fit. This bracket is bisected until it is narrower\n"   \
    "than 1 % of nominal or one iteration. In each step the transfer without work, the transfer\n"\
    "with work and the work alone are sampled in turns, so that a drift of the machine is in\n"  \
    "all of them, until the 95 % confidence intervals of nominal and of the overhead are within\n"\
    "--ci-share of nominal or --max-seconds-per-point are over. The upper end of the bracket is\n"\
    "then measured again, for up to five times as long, and gives the figures. If the transfer\n"\
    "is not lengthened by at least half of --knee-share there, or not beyond its confidence\n"   \
    "interval, or hardly grows when a quarter of nominal is added to the work, a disturbance\n"  \
    "had misled the search, which goes on above.\n"                                              \
    "Stop reasons:\n"                                                                            \
    "  knee  the bracket is closed\n"                                                            \
    "  none  the smallest work lengthens the transfer: no overlap, overhead = nominal\n"         \
    "  cap   --max-steps was reached, or a disturbed search was to go on when it had lasted\n"   \
    "        40 x --max-seconds-per-point; the figures are those of the bracket's upper end,\n"  \
    "        where too much work does no harm, and are good if their interval is narrow\n"       \
    "\n"                                                                                         \
    "Overhead (effective latency): the time of the transfer with that work, less the time of\n"  \
    "the work alone; the median of the differences of neighbouring samples. This is the\n"       \
    "report's nominal time less work time without the knee share, which would bias it. A\n"      \
    "value below one step of the clock is given as one step.\n"                                  \
    "Host availability: 100 (1 - overhead / nominal) percent, 0 if the overhead exceeds it.\n"

/*
 * What rank 0 has all ranks do next: measure a point, or a single batch of it.
 * As an array, for MPI_Bcast.
 */
enum { FC_STEP_KIND, FC_STEP_ALONE, FC_STEP_ITERATIONS, FC_STEP_TEST_EVERY, FC_STEP_WORDS };
enum { FC_STEP_END, FC_STEP_POINT, FC_STEP_BATCH };

struct fc_timing {
    const struct fc_transfer *transfer;
    struct fc_work work;
};

static inline double fc_repeat_timing(const void *data, unsigned long long repetitions)
{
    const struct fc_timing *const timing = data;
    return timing->transfer->repeat(timing->transfer->data, &timing->work, repetitions);
}

static inline struct fc_timing fc_make_timing(const struct fc_search *search,
                                              const unsigned long long step[FC_STEP_WORDS])
{
    return (struct fc_timing){
        &search->transfer,
        {step[FC_STEP_ITERATIONS], step[FC_STEP_TEST_EVERY], step[FC_STEP_ALONE] != 0}};
}

static inline void fc_share_step(const struct fc_search *search,
                                 unsigned long long step[FC_STEP_WORDS])
{
    FC_MPI(MPI_Bcast(step, FC_STEP_WORDS, MPI_UNSIGNED_LONG_LONG, 0, search->world->comm));
}

/* Ranks other than 0: do the steps that rank 0 asks for. */
static inline void fc_follow_steps(struct fc_search *search)
{
    for (;;) {
        unsigned long long step[FC_STEP_WORDS];
        fc_share_step(search, step);
        const struct fc_timing timing = fc_make_timing(search, step);
        const struct fc_subject subject = {fc_repeat_timing, &timing, 1.0};
        if (step[FC_STEP_KIND] == FC_STEP_END) {
            return;
        }
        if (step[FC_STEP_KIND] == FC_STEP_POINT) {
            fc_follow(search->world, &subject);
        } else {
            fc_repeat_timing(&timing, fc_announce(search->world, 0));
        }
    }
}

/* Rank 0 only: lets the others go on. */
static inline void fc_end_steps(const struct fc_search *search)
{
    unsigned long long step[FC_STEP_WORDS] = {FC_STEP_END, 0, 0, 0};
    fc_share_step(search, step);
}

/* The iterations of work that take so long, at least one. */
static inline unsigned long long fc_iterations(const struct fc_search *search, double seconds)
{
    const double iterations = seconds / search->iteration;
    return iterations > 1.0 ? (unsigned long long)iterations : 1;
}

/* Rank 0 only. */
static inline struct fc_timing fc_lead(const struct fc_search *search, unsigned long long kind,
                                       bool alone, unsigned long long iterations)
{
    const bool poll = search->plan->poll && !alone;
    const unsigned long long every =
        poll ? fc_iterations(search, 1e-6 * search->plan->poll_interval) : 0;
    unsigned long long step[FC_STEP_WORDS] = {kind, alone, iterations, every};
    fc_share_step(search, step);
    return fc_make_timing(search, step);
}

static inline void fc_write_series(const struct fc_search *search, enum fc_series series,
                                   const char *part, unsigned long long iterations)
{
    char what[80];
    snprintf(what, sizeof what, "%zu %s %s %llu", search->size, search->transfer.name, part,
             iterations);
    fc_write_raw(search->raw, what, &search->samples[series]);
}

/* Rank 0 only: seconds of a transfer with so much work, or of the work alone. */
static inline double fc_time_point(struct fc_search *search, bool alone,
                                   unsigned long long iterations)
{
    const struct fc_timing timing = fc_lead(search, FC_STEP_POINT, alone, iterations);
    const struct fc_subject subject = {fc_repeat_timing, &timing, 1.0};
    const struct fc_result result =
        fc_measure(search->world, search->rule, &subject, &search->samples[FC_TRANSFER]);
    fc_write_series(search, FC_TRANSFER, alone ? "work" : "transfer", iterations);
    return result.median;
}

/* Collective: seconds of one iteration of the work, on rank 0. */
static inline double fc_time_iteration(struct fc_search *search)
{
    enum { iterations = 1000 };
    if (search->world->rank != 0) {
        fc_follow_steps(search);
        return 0.0;
    }
    const double seconds = fc_time_point(search, true, iterations);
    fc_end_steps(search);
    return seconds / iterations;
}

static inline double fc_at_least(double value, double least)
{
    return value > least ? value : least;
}

/* What the figures of a search come from: medians of series. */
struct fc_times {
    struct fc_result of[FC_SERIES];
};

/* The repetitions of a transfer that make a sample; fc_calibrate's rule, from a known time. */
static inline unsigned long long fc_sample_repetitions(const struct fc_search *search)
{
    const double by_clock = fc_least_ticks * search->rule->resolution;
    const double wanted = fc_at_least(by_clock, fc_least_batch);
    return (unsigned long long)(wanted / search->nominal) + 1;
}

/* Seconds of one repetition. */
static inline double fc_time_batch(const struct fc_search *search, bool alone,
                                   unsigned long long iterations, unsigned long long repetitions)
{
    const struct fc_timing timing = fc_lead(search, FC_STEP_BATCH, alone, iterations);
    const struct fc_subject subject = {fc_repeat_timing, &timing, 1.0};
    return fc_batch(search->world, &subject, repetitions) / (double)repetitions;
}

/* One sample of each series; in a row, so that a drift of the machine is in all of them. */
static inline void fc_add_round(struct fc_search *search, unsigned long long iterations)
{
    const unsigned long long repetitions = fc_sample_repetitions(search);
    const double nominal = fc_time_batch(search, false, 0, repetitions);
    const double transfer = fc_time_batch(search, false, iterations, repetitions);
    const double work = fc_time_batch(search, true, iterations, repetitions);
    fc_add_sample(&search->samples[FC_NOMINAL], nominal);
    fc_add_sample(&search->samples[FC_TRANSFER], transfer);
    fc_add_sample(&search->samples[FC_WORK], work);
    fc_add_sample(&search->samples[FC_EXCESS], transfer - work);
}

/* The uncertainty of the overhead matters as a share of nominal: so it is in the availability. */
static inline bool fc_is_settled(const struct fc_search *search, const struct fc_times *times)
{
    const struct fc_result *const nominal = &times->of[FC_NOMINAL];
    const struct fc_result *const excess = &times->of[FC_EXCESS];
    const double margin = search->rule->ci_share * nominal->median;
    return fc_is_narrow(nominal, search->rule->ci_share) &&
           excess->low >= excess->median - margin && excess->high <= excess->median + margin;
}

/*
 * Rank 0 only: nominal, transfer and work side by side, until their intervals
 * are narrow or so many seconds are over. The nominal time is kept.
 */
static inline struct fc_times fc_time_rounds(struct fc_search *search,
                                             unsigned long long iterations, double cap)
{
    const double begin = MPI_Wtime();
    struct fc_times times;
    for (int series = 0; series < FC_SERIES; series++) {
        search->samples[series].count = 0;
    }
    for (size_t next_look = search->rule->min_samples;;) {
        fc_add_round(search, iterations);
        const size_t count = search->samples[FC_EXCESS].count;
        const double seconds = MPI_Wtime() - begin;
        const bool over = seconds >= cap && count >= FC_FEWEST_SAMPLES;
        if (!over && (count < next_look || seconds < fc_least_share * cap)) {
            continue;
        }
        next_look = count + count / 10 + 1;
        for (int series = 0; series < FC_SERIES; series++) {
            times.of[series] = fc_summarise(&search->samples[series]);
        }
        if (over || fc_is_settled(search, &times)) {
            break;
        }
    }
    fc_write_series(search, FC_NOMINAL, "transfer", 0);
    fc_write_series(search, FC_TRANSFER, "transfer", iterations);
    fc_write_series(search, FC_WORK, "work", iterations);
    search->nominal = times.of[FC_NOMINAL].median;
    if (!(search->nominal > 0.0)) {
        fc_abort("a transfer took no time that MPI_Wtime can tell; the clock of this MPI is too "
                 "coarse");
    }
    return times;
}

static inline struct fc_times fc_time_step(struct fc_search *search, unsigned long long iterations)
{
    search->steps++;
    return fc_time_rounds(search, iterations, search->rule->max_seconds);
}

/* For the figures that are printed, which deserve more time. */
static inline struct fc_times fc_time_final(struct fc_search *search,
                                            unsigned long long iterations)
{
    enum { longer = 5 };
    search->steps++;
    return fc_time_rounds(search, iterations, longer * search->rule->max_seconds);
}

static inline double fc_availability(double overhead, double nominal)
{
    return overhead < nominal ? 100.0 * (1.0 - overhead / nominal) : 0.0;
}

/* Rank 0 only. */
static inline struct fc_overlap fc_evaluate(const struct fc_search *search,
                                            const struct fc_times *times, const char *stop)
{
    const struct fc_result *const nominal = &times->of[FC_NOMINAL];
    const double step = search->rule->resolution;
    const double least = step < nominal->median ? step : nominal->median;
    const bool none = strcmp(stop, "none") == 0;
    const struct fc_result *const excess = none ? nominal : &times->of[FC_EXCESS];
    const double overhead = fc_at_least(excess->median, least);
    return (struct fc_overlap){nominal->median,
                               overhead,
                               fc_at_least(excess->low, least),
                               fc_at_least(excess->high, least),
                               times->of[FC_WORK].median,
                               fc_availability(overhead, nominal->median),
                               search->steps,
                               stop};
}

static inline bool fc_is_longer(const struct fc_times *times, double share)
{
    return times->of[FC_TRANSFER].median > times->of[FC_NOMINAL].median * (1.0 + share);
}

/*
 * Whether the work that a search ended with does lengthen the transfer. Work
 * that is too long does no harm: the overhead is what the transfer takes beyond
 * it. Work that is too short would count idle time as overhead, so in doubt
 * the answer is no.
 */
static inline bool fc_is_confirmed(const struct fc_search *search, const struct fc_times *times)
{
    const double nominal = times->of[FC_NOMINAL].median;
    const bool by_work = times->of[FC_WORK].median > nominal; /* the transfer cannot be shorter */
    return fc_is_longer(times, 0.5 * search->plan->knee_share) &&
           (times->of[FC_TRANSFER].low > nominal || by_work);
}

/*
 * Whether the transfer with this work is longer only by a disturbance: beyond
 * a knee the time grows as fast as the work; if with more work it hardly grows,
 * the work still fits. Takes a step, unless the work is longer than nominal.
 */
static inline bool fc_is_bump(struct fc_search *search, const struct fc_times *times,
                              unsigned long long iterations)
{
    const double nominal = times->of[FC_NOMINAL].median;
    if (times->of[FC_WORK].median > nominal) {
        return false;
    }
    const struct fc_times beyond =
        fc_time_step(search, iterations + fc_iterations(search, 0.25 * nominal));
    const double fallen = times->of[FC_EXCESS].median - beyond.of[FC_EXCESS].median;
    return fallen > 0.75 * (beyond.of[FC_WORK].median - times->of[FC_WORK].median);
}

/* Work that fits into the transfer, and work that does not. */
struct fc_bracket {
    unsigned long long low;
    unsigned long long high;
};

/* From a work that fits to one that cannot: it alone takes longer than a lengthened transfer. */
static inline struct fc_bracket fc_open_bracket(const struct fc_search *search,
                                                unsigned long long low)
{
    const double longest = search->nominal * (1.0 + 2.0 * search->plan->knee_share);
    return (struct fc_bracket){low, low + fc_iterations(search, longest) + 1};
}

/* 1 % of nominal: a bracket is closed when it is not wider, and less work is none. */
static inline unsigned long long fc_bracket_width(const struct fc_search *search)
{
    return fc_iterations(search, 0.01 * search->nominal);
}

/*
 * Rank 0 only. False if the steps are used up, but for the last ones, before
 * the bracket is closed. The bisection begins in the middle of nominal,
 * not at a small work, since there a transfer of a few microseconds may take
 * longer for reasons of its own, without being full.
 */
static inline bool fc_close_bracket(struct fc_search *search, struct fc_bracket *bracket)
{
    enum { last_steps = 2 }; /* the figures, and whether they are those of a bump */
    while (bracket->high - bracket->low > fc_bracket_width(search)) {
        if (search->steps + last_steps >= search->plan->max_steps) {
            return false;
        }
        const unsigned long long middle = bracket->low + (bracket->high - bracket->low) / 2;
        const struct fc_times times = fc_time_step(search, middle);
        if (fc_is_longer(&times, search->plan->knee_share)) {
            bracket->high = middle;
        } else {
            bracket->low = middle;
        }
    }
    return true;
}

/* Rank 0 only, while the others are in fc_follow_steps. */
static inline struct fc_overlap fc_find_overlap(struct fc_search *search)
{
    enum { patience = 40 }; /* times the cap of a step: after that nothing is tried again */
    const double begin = MPI_Wtime();
    search->steps = 0;
    search->nominal = fc_time_point(search, false, 0);
    struct fc_bracket bracket = fc_open_bracket(search, 0);
    for (;;) {
        const bool closed = fc_close_bracket(search, &bracket);
        const struct fc_times times = fc_time_final(search, bracket.high);
        if (closed && fc_is_confirmed(search, &times) &&
            !fc_is_bump(search, &times, bracket.high)) {
            const bool none = bracket.high <= fc_bracket_width(search);
            return fc_evaluate(search, &times, none ? "none" : "knee");
        }
        const bool late = MPI_Wtime() - begin > patience * search->rule->max_seconds;
        if (!closed || late || search->steps >= search->plan->max_steps) {
            return fc_evaluate(search, &times, "cap");
        }
        bracket = fc_open_bracket(search, bracket.high);
    }
}

/*
 * The method with two more lines of the header, which tell the work: pass it on
 * to fc_print_head. `text` is of FC_LINE_MAX bytes.
 */
static inline void fc_describe_work(const struct fc_search *search, const char *method, char *text)
{
    char poll[80] = "no";
    if (search->plan->poll && search->world->rank == 0) {
        snprintf(poll, sizeof poll, "MPI_Test every %.6g us, which are %llu iterations of work",
                 search->plan->poll_interval,
                 fc_iterations(search, 1e-6 * search->plan->poll_interval));
    }
    snprintf(text, FC_LINE_MAX, "%s\n# work: one iteration takes %.4g ns\n# poll: %s", method,
             1e9 * search->iteration, poll);
}

/* Rank 0 only: the columns of FC_OVERLAP_COLUMNS. */
static inline void fc_print_overlap(const struct fc_overlap *overlap)
{
    printf(" %.6g %.6g %.6g %.6g %.6g %.6g %zu %s", 1e6 * overlap->nominal,
           1e6 * overlap->overhead, 1e6 * overlap->low, 1e6 * overlap->high,
           overlap->availability, 1e6 * overlap->work, overlap->steps, overlap->stop);
}

#endif
