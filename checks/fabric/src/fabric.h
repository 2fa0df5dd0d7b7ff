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
#include <time.h>
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
 * `resolution` is that of rank 0's clock.
 */
static inline void fc_begin_head(const struct fc_world *world, double resolution,
                                 const struct fc_option *options, size_t count)
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

/* The first size of a sequence that begins with 0 and is not below `least`. */
static inline size_t fc_first_size(size_t least, size_t (*next)(size_t))
{
    size_t size = 0;
    while (size < least) {
        size = next(size);
    }
    return size;
}

/* Collective: ends the program unless a sequence has a size from `least` to `largest`. */
static inline void fc_require_sizes(const struct fc_world *world, size_t least, size_t largest,
                                    size_t (*next)(size_t))
{
    if (least > largest) {
        fc_usage_error(world, "--min-size %zu is above --max-size %zu; exchange them", least,
                       largest);
    }
    if (fc_first_size(least, next) > largest) {
        fc_usage_error(world, "no size from --min-size %zu to --max-size %zu; widen them", least,
                       largest);
    }
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

#define FC_LEAST_BATCH 200e-6 /* seconds: shorter samples are at the mercy of interrupts */

/* When to stop sampling. The same on all ranks, only rank 0 applies it. */
struct fc_rule {
    double ci_share;     /* both ends of the interval are within this share of the median */
    double max_seconds;  /* cap on the time spent with one point */
    size_t min_samples;  /* fewest samples before the interval is trusted */
    size_t warmup;       /* repetitions before the first sample */
    double min_batch;    /* seconds: a sample is at least so long, whatever the clock can tell */
    double resolution;   /* of the clock, seconds */
};

#define FC_RULE_DEFAULTS {0.05, 0.25, 30, 10, FC_LEAST_BATCH, 0.0}

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
     "repetitions before the first sample of a point, at most a quarter of the cap", NULL},     \
    {"min-batch", FC_REAL, &(rule).min_batch, 0.0, 1.0,                                          \
     "seconds that a sample takes at least; 0 where nothing disturbs, as in a simulator", NULL}

enum { FC_FEWEST_SAMPLES = 8 }; /* below it the order statistics give no 95 % interval */

static const double fc_least_share = 0.2; /* of the cap: a converged point lasts so long */
static const double fc_least_ticks = 100.0; /* a sample is so many steps of the clock at least */
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
static inline double fc_shortest_batch(const struct fc_world *world, const struct fc_rule *rule,
                                       const struct fc_subject *subject,
                                       unsigned long long repetitions, double wanted)
{
    double shortest = fc_batch(world, subject, repetitions);
    for (int i = 0; i < 2 && shortest >= wanted && shortest < 0.05 * rule->max_seconds; i++) {
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
    const double wanted = by_clock > rule->min_batch ? by_clock : rule->min_batch;
    unsigned long long repetitions = 1;
    for (;;) {
        const double seconds = fc_shortest_batch(world, rule, subject, repetitions, wanted);
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

#endif
